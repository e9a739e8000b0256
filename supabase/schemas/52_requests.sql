-- The two functions every request starts with, the origins of pages that may call, and requests that may be repeated.

create type private.caller as (kind text, profile_id uuid, organization_id uuid, key_id uuid, scopes text[], level text, valid boolean);
comment on type private.caller is 'kind: public, user, key or agent. level: the rule that counts all its calls.';

create type private.verdict as (request_id text, outcome text, kind text, profile_id uuid, organization_id uuid, named boolean,
  key_id uuid, scopes text[], retry_after integer);
comment on type private.verdict is 'What private.take leaves for private.enter. outcome: ok, or the code of the error to raise; retry_after in seconds.';

create function private.resolve_caller(user_id uuid, digest bytea) returns private.caller
language plpgsql set search_path = '' as $$
declare who private.caller; key private.api_keys; tier text; reads boolean; retired boolean;
begin
  if user_id is not null then
    who.kind := 'user';
    select p.id into who.profile_id from public.profiles p where p.auth_user_id = user_id;
    who.valid := who.profile_id is not null;
    who.level := case when exists (select from public.memberships m where m.user_id = who.profile_id and m.role in ('owner', 'admin'))
      then 'level_admin' else 'level_user' end;
  elsif digest is not null then
    who.kind := 'key';
    who.level := 'level_key';
    select * into key from private.api_keys k where k.digest = resolve_caller.digest;
    who.valid := key.id is not null and key.revoked_at is null and (key.expires_at is null or key.expires_at > now());
    who.profile_id := key.profile_id;
    who.organization_id := key.organization_id;
    who.key_id := key.id;
    who.scopes := key.scopes;
    if key.prefix = 'fcs_agt_' then
      who.kind := 'agent';
      select a.tier, a.read_only, a.retired_at is not null into tier, reads, retired from private.agents a where a.id = key.profile_id;
      who.level := 'agent_' || tier;
      who.valid := who.valid and not coalesce(retired, true);
      if reads then
        who.scopes := array(select s from unnest(key.scopes) s where s like '%:read');
      end if;
    end if;
    if who.valid and (key.last_used_at is null or key.last_used_at < now() - interval '1 minute') then
      update private.api_keys k set last_used_at = now()
      where k.id = (select l.id from private.api_keys l where l.id = key.id for update skip locked);
    end if;
  else
    who.kind := 'public';
    who.level := 'level_public';
    who.valid := true;
  end if;
  return who;
end
$$;
comment on function private.resolve_caller(uuid, bytea) is 'Whom a credential stands for: the auth user''s id, the SHA-256 of a key, or neither for nobody. Unknown, revoked and expired keys are alike. An agent that only reads has the scopes that read.';

-- definer: the login role may read nothing; this is its window on credentials, organizations and counters.
create function private.take(
  request_id text,           -- ties the verdict to the private.enter of the same request
  user_id uuid,              -- from a verified access token
  digest bytea,              -- SHA-256 of a key
  refused boolean,           -- a credential was there and was no good
  address text,              -- keyed hash of the client's address, null where none is known
  operations text[],         -- rules to charge besides the level
  organization text,         -- id or slug the request named
  on_behalf text,            -- keyed hash of whom a key acts for: has buckets of its own
  origin text,               -- of the web page that calls, where it is not the site's own
  needs_origin boolean,      -- a cookie is about to write: only for pages that may
  resource text,             -- table of the row the path names
  resource_id uuid
) returns table (max_requests integer, remaining integer, reset_at bigint, origin_allowed boolean)
language plpgsql security definer set search_path = '' as $$
declare
  who private.caller;
  subject text;
  rule private.rate_limit_rules;
  state private.rate_state;
  tightest private.rate_state;
  outcome text := 'ok';
  wanted text;
  organization_id uuid;
  allowed boolean := false;
  verdict private.verdict;
  ignored text; -- assigning is cheaper than perform
begin
  who := private.resolve_caller(take.user_id, take.digest);
  if refused or not who.valid then
    outcome := 'UNAUTHORIZED';
    who := row('public', null, null, null, null, 'level_public', false)::private.caller;
  end if;
  if who.kind = 'user' or who.kind = 'public' then on_behalf := null; end if;
  -- An agent has one bucket, however many keys it has.
  subject := case when who.kind = 'agent' then who.profile_id::text else coalesce(who.key_id::text, who.profile_id::text, address) end;
  foreach wanted in array array[who.level] || case when outcome = 'ok' then operations else '{}' end
    || case when who.kind = 'agent' then array['agent_day'] else '{}' end loop
    select * into rule from private.rate_limit_rules r where r.name = wanted || '_' || who.kind;
    if rule.name is null then
      select * into rule from private.rate_limit_rules r where r.name = wanted;
    end if;
    if wanted = 'agent_day' then
      select wanted, a.calls_a_day, 86400 into rule from private.agents a where a.id = who.profile_id and a.calls_a_day is not null;
    end if;
    continue when rule.name is null;
    if subject is null then
      state := row(rule.name, rule.max_requests, rule.max_requests, now() + make_interval(secs => rule.window_seconds), true)::private.rate_state;
    else
      state := private.charge(rule, case when wanted = who.level or rule.name <> wanted then subject else coalesce(who.organization_id || ':' || on_behalf, subject) end, 1);
    end if;
    if tightest.rule is null or not state.allowed or (tightest.allowed and state.remaining < tightest.remaining) then
      tightest := state;
    end if;
    if not state.allowed then
      outcome := 'RATE_LIMIT_EXCEEDED';
      exit;
    end if;
  end loop;
  if outcome = 'ok' then
    if who.kind = 'public' or who.kind = 'user' then
      -- A row named by its id brings its organization along.
      if organization is not null or resource is null then
        organization_id := private.find_organization(organization, who.profile_id);
      end if;
    elsif organization is null or exists (
        select from public.organizations o where o.id = who.organization_id and lower(organization) in (o.slug, o.id::text)) then
      organization_id := who.organization_id;
    end if;
    if organization_id is null and organization is not null then
      outcome := 'NOT_FOUND';
    end if;
  end if;
  if origin is not null then
    -- Whatever the outcome: a page can only act on a 401 or 429 it may read.
    allowed := coalesce((select take.origin = any (o.allowed_origins) from public.organizations o
      where o.id = coalesce(private.organization_of(resource, resource_id, who), organization_id, who.organization_id,
        private.find_organization(organization, who.profile_id))), false);
    if needs_origin and not allowed and outcome = 'ok' then
      outcome := 'FORBIDDEN';
    end if;
  end if;
  verdict := row(request_id, outcome, who.kind, who.profile_id, organization_id,
    organization is not null or (allowed and resource is null), who.key_id, who.scopes,
    greatest(1, ceil(extract(epoch from tightest.reset_at - clock_timestamp()))))::private.verdict;
  ignored := set_config('feedback.verdict', verdict::text, false);
  return query select tightest.max_requests, tightest.remaining, ceil(extract(epoch from tightest.reset_at))::bigint, allowed;
end
$$;
comment on function private.take(text, uuid, bytea, boolean, text, text[], text, text, text, boolean, text, uuid) is 'Charges a request and leaves its verdict in a session setting for private.enter. Commits by itself, so that failing calls are charged and no counter stays locked. reset_at is Unix seconds.';

create function private.organization_of(resource text, id uuid, who private.caller) returns uuid
language plpgsql stable set search_path = '' as $$
declare
  team_ids uuid[] := case when who.organization_id is not null then array[who.organization_id]
    else array(select m.organization_id from public.memberships m where m.user_id = who.profile_id) end;
begin
  return case resource
    when 'submissions' then (select s.organization_id from public.submissions s where s.id = organization_of.id
      and private.can_see_submission(s.is_public, s.author_id, s.organization_id, who.profile_id, team_ids))
    when 'comments' then (select c.organization_id from public.comments c where c.id = organization_of.id
      and private.can_see_submission(c.is_public, c.author_id, c.organization_id, who.profile_id, team_ids))
    when 'surveys' then (select s.organization_id from public.surveys s where s.id = organization_of.id
      and (s.organization_id = any (team_ids) or s.status <> 'draft'
        and exists (select from public.organizations o where o.id = s.organization_id and o.visibility = 'public')))
    when 'organizations' then (select o.id from public.organizations o where o.id = organization_of.id
      and (o.visibility = 'public' or o.id = any (team_ids)))
  end;
end
$$;
comment on function private.organization_of(text, uuid, private.caller) is 'The organization of a row named by its table and id, where the caller may see the row; for private.take.';

-- definer: which pages may call is for admins to read; that one may is not.
create function private.is_allowed_origin(origin text) returns boolean
language plpgsql stable security definer set search_path = '' as $$
begin
  return exists (select from public.organizations o where is_allowed_origin.origin = any (o.allowed_origins));
end
$$;
comment on function private.is_allowed_origin(text) is 'Whether any organization lets pages of this origin call: what a preflight asks, which names no organization.';

create function private.enter(request_id text, access text, scopes text[]) returns void
language plpgsql set search_path = '' as $$
declare
  verdict private.verdict := nullif(current_setting('feedback.verdict', true), '')::private.verdict;
  ignored text; -- assigning is cheaper than perform
begin
  if verdict.request_id is distinct from enter.request_id then
    perform private.raise_error('INTERNAL_ERROR', 'The request was not admitted.');
  end if;
  case verdict.outcome
    when 'ok' then null;
    when 'UNAUTHORIZED' then
      perform private.raise_error('UNAUTHORIZED', 'The credential is not valid.');
    when 'RATE_LIMIT_EXCEEDED' then
      perform private.raise_error('RATE_LIMIT_EXCEEDED', 'Too many requests: wait and try again.', null,
        jsonb_build_object('retry_after', verdict.retry_after));
    when 'FORBIDDEN' then
      perform private.raise_error('FORBIDDEN', 'Pages of this origin may not write here: an admin can allow it at /api/admin/origins.');
    else
      perform private.raise_error('NOT_FOUND', 'There is no such organization.', 'organization');
  end case;
  if (access = 'agent') <> (verdict.kind = 'agent') then
    perform private.raise_error('UNAUTHORIZED', case when access = 'agent'
      then 'Send the key of an agent: Authorization: Bearer fcs_agt_…'
      else 'Keys of agents work under /api/mcp only.' end);
  elsif access <> 'public' and verdict.kind = 'public' then
    perform private.raise_error('UNAUTHORIZED', 'Sign in, or send a key: Authorization: Bearer <token>.');
  elsif access = 'person' and verdict.kind <> 'user' then
    perform private.raise_error('FORBIDDEN', 'This is for people who signed in, not for keys.');
  elsif access = 'caller' and verdict.kind <> 'user' and not enter.scopes && verdict.scopes then
    perform private.raise_error('FORBIDDEN', format('This key lacks the scope %s.', array_to_string(enter.scopes, ' or ')));
  end if;
  ignored := set_config('feedback.organization_id', coalesce(verdict.organization_id::text, ''), true);
  ignored := set_config('feedback.organization_named', verdict.named::text, true);
  ignored := set_config('feedback.profile_id', coalesce(verdict.profile_id::text, ''), true);
  ignored := set_config('feedback.key_id', coalesce(verdict.key_id::text, ''), true);
  ignored := set_config('feedback.scopes', coalesce(array_to_string(verdict.scopes, ' '), ''), true);
  if verdict.kind = 'agent' then
    ignored := set_config('feedback.agent_id', verdict.profile_id::text, true);
  end if;
  ignored := set_config('feedback.quiet', 'off', true);
  ignored := set_config('request.jwt.claims', case verdict.kind
    when 'user' then format('{"sub":"%s","role":"authenticated"}', verdict.profile_id)
    else '{"role":"anon"}' end, true);
  ignored := set_config('role', case verdict.kind when 'public' then 'anon' when 'user' then 'authenticated' else 'service_key' end, true);
end
$$;
comment on function private.enter(text, text, text[]) is 'Within a transaction: becomes the caller that private.take found, or raises UNAUTHORIZED, RATE_LIMIT_EXCEEDED, FORBIDDEN or NOT_FOUND. access is public, person, caller or agent; a caller''s key needs one of the scopes. Invoker, for a definer may not set the role.';

create function private.in_organization(organization_id uuid) returns boolean
language sql stable
return private.is_key() or coalesce(current_setting('feedback.organization_named', true), '') <> 'true'
  or organization_id = private.requested_organization_id();
comment on function private.in_organization(uuid) is 'Whether a row named by its id belongs to the organization the request named, if it named one.';

grant execute on function private.take(text, uuid, bytea, boolean, text, text[], text, text, text, boolean, text, uuid), private.enter(text, text, text[]),
  private.is_allowed_origin(text) to feedback_api;
grant execute on function private.in_organization(uuid) to anon, authenticated, service_key;

-- Pages of other origins ------------------------------------------------------------------------------------------

-- definer: settings of an organization are not granted.
create function private.admin_origins(origins text[]) returns json
language plpgsql security definer set search_path = '' as $$
declare own_id uuid := private.current_organization_id();
begin
  perform private.require_admin(own_id, 'organization:write');
  if origins is not null then
    update public.organizations o set allowed_origins = origins where o.id = own_id;
  end if;
  return (select json_build_object('origins', o.allowed_origins) from public.organizations o where o.id = own_id);
end
$$;
comment on function private.admin_origins(text[]) is 'The origins whose pages may call for this organization; with an array, sets them first. Admins, or keys with organization:write.';
grant execute on function private.admin_origins(text[]) to authenticated, service_key;

-- Requests that may be repeated -----------------------------------------------------------------------------------

create table private.idempotency_keys (
  organization_id uuid not null references public.organizations (id) on delete cascade,
  key_id uuid not null references private.api_keys (id) on delete cascade,
  key text not null,
  request bytea not null,
  answer text,
  created_at timestamptz not null default now(),
  primary key (key_id, key),
  constraint key_has_1_to_200_characters check (char_length(key) between 1 and 200)
);
comment on table private.idempotency_keys is 'What a POST with an Idempotency-Key answered, for a day. request is the SHA-256 of its route, path, query and body.';
create index idempotency_keys_age_idx on private.idempotency_keys (created_at);
alter table private.idempotency_keys enable row level security;
revoke all on private.idempotency_keys from public, anon, authenticated, service_role, service_key;

-- definer: clients may not touch private tables.
create function private.replay(key text, request bytea) returns text
language plpgsql security definer set search_path = '' as $$
declare earlier private.idempotency_keys; own_id uuid := nullif(current_setting('feedback.key_id', true), '')::uuid;
begin
  insert into private.idempotency_keys as k (organization_id, key_id, key, request)
  values (private.key_organization_id(), own_id, replay.key, replay.request)
  on conflict on constraint idempotency_keys_pkey do nothing;
  if found then return null; end if;
  select * into earlier from private.idempotency_keys k where k.key_id = own_id and k.key = replay.key;
  if earlier.request is distinct from replay.request then
    perform private.raise_error('CONFLICT', 'This Idempotency-Key was used for another request.', 'Idempotency-Key');
  end if;
  return earlier.answer;
end
$$;
comment on function private.replay(text, bytea) is 'The answer this key gave to the same request before; null the first time. Waits for a first request still running.';

create function private.remember(key text, answer text) returns void
language plpgsql security definer set search_path = '' as $$
begin
  update private.idempotency_keys k set answer = remember.answer
  where k.key_id = nullif(current_setting('feedback.key_id', true), '')::uuid and k.key = remember.key;
end
$$;
comment on function private.remember(text, text) is 'Keeps the answer for private.replay, in the transaction that made it.';
grant execute on function private.replay(text, bytea), private.remember(text, text) to service_key;

-- Readiness -------------------------------------------------------------------------------------------------------

-- definer: the record of migrations is not readable by the login role.
create function private.latest_migration() returns text
language plpgsql stable security definer set search_path = '' as $$
begin
  return (select max(version) from supabase_migrations.schema_migrations);
end
$$;
comment on function private.latest_migration() is 'Version of the newest applied migration, for readiness.';
grant execute on function private.latest_migration() to feedback_api;
