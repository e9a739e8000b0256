-- How every request starts, the origins of pages that may call, and requests that may be repeated.

create type private.caller as (kind text, profile_id uuid, organization_id uuid, key_id uuid, scopes text[], level text, valid boolean);
comment on type private.caller is 'kind: public, user, key or agent. level: the rule that counts all its calls.';

create type private.admission as (code text, message text, field text, retry_after integer, kind text, profile_id uuid,
  organization_id uuid, named boolean, key_id uuid, scopes text[], max_requests integer, remaining integer, reset_at bigint,
  origin_allowed boolean);
comment on type private.admission is 'Whether a request may go on, as whom, and about which organization. code: null, or of the error that refuses it; retry_after in seconds; max_requests to reset_at: the tightest bucket it was charged to, in Unix seconds.';

create function private.resolve_caller(user_id uuid, digest bytea) returns private.caller
language plpgsql set search_path = '' as $$
declare who private.caller; key private.api_keys; tier text; reads boolean; retired boolean;
begin
  if user_id is not null then
    who.kind := 'user';
    select p.id, case when exists (select from public.memberships m where m.user_id = p.id and m.role in ('owner', 'admin'))
      then 'level_admin' else 'level_user' end
    into who.profile_id, who.level from public.profiles p where p.auth_user_id = user_id;
    who.valid := who.profile_id is not null;
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

-- definer: the login role reads no credentials, organizations or counters but by this.
create function private.admit(
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
  resource_id uuid,
  charge boolean             -- false where the request was charged before
) returns private.admission
language plpgsql security definer set search_path = '' as $$
declare
  who private.caller := private.resolve_caller(user_id, digest);
  answer private.admission;
  subject text;
  operation text;
  rule text;
  most integer;
  seconds integer;
  state private.rate_state;
  tightest private.rate_state;
begin
  if refused or not who.valid then
    answer.code := 'UNAUTHORIZED';
    answer.message := 'The credential is not valid.';
    who := ('public', null, null, null, null, 'level_public', false);
    operations := '{}';
  end if;
  if who.kind = 'user' or who.kind = 'public' then on_behalf := null; end if;

  if charge then
    -- An agent has one bucket, however many keys it has.
    subject := case when who.kind = 'agent' then who.profile_id::text
      else coalesce(who.key_id::text, who.profile_id::text, address) end;
    if who.kind = 'agent' then operations := operations || 'agent_day'::text; end if;
    -- Always in this order, so that parallel calls of one caller do not wait for each other in a circle.
    foreach operation in array who.level || operations loop
      if operation = 'agent_day' then
        select 'agent_day', a.calls_a_day, 86400 into rule, most, seconds from private.agents a where a.id = who.profile_id;
      else
        select r.name, r.max_requests, r.window_seconds into rule, most, seconds from private.rate_limit_rules r
        where r.name in (operation, operation || '_' || who.kind) order by r.name desc limit 1;
      end if;
      continue when most is null;
      if subject is null then
        state := (most, most, now() + make_interval(secs => seconds), true);
      elsif on_behalf is not null and operation <> who.level and rule = operation then
        state := private.charge(rule, most, seconds, who.organization_id || ':' || on_behalf, 1);
      else
        state := private.charge(rule, most, seconds, subject, 1);
      end if;
      if tightest.max_requests is null or not state.allowed or state.remaining < tightest.remaining then
        tightest := state;
      end if;
      if not state.allowed then
        answer.code := 'RATE_LIMIT_EXCEEDED';
        answer.message := 'Too many requests: wait and try again.';
        answer.retry_after := greatest(1, ceil(extract(epoch from state.reset_at - clock_timestamp())));
        exit;
      end if;
    end loop;
    answer.max_requests := tightest.max_requests;
    answer.remaining := tightest.remaining;
    answer.reset_at := ceil(extract(epoch from tightest.reset_at));
  end if;

  if answer.code is null then
    if who.kind = 'public' or who.kind = 'user' then
      -- A row named by its id brings its organization along.
      if organization is not null or resource is null then
        answer.organization_id := private.find_organization(organization, who.profile_id);
      end if;
    elsif organization is null or exists (
        select from public.organizations o where o.id = who.organization_id and lower(organization) in (o.slug, o.id::text)) then
      answer.organization_id := who.organization_id;
    end if;
    if answer.organization_id is null and organization is not null then
      answer.code := 'NOT_FOUND';
      answer.message := 'There is no such organization.';
      answer.field := 'organization';
    end if;
  end if;
  answer.origin_allowed := false;
  if origin is not null then
    -- Whatever the outcome: a page can only act on a 401 or 429 it may read.
    answer.origin_allowed := coalesce((select admit.origin = any (o.allowed_origins) from public.organizations o
      where o.id = coalesce(private.organization_of(resource, resource_id, who), answer.organization_id, who.organization_id,
        private.find_organization(organization, who.profile_id))), false);
    if needs_origin and not answer.origin_allowed and answer.code is null then
      answer.code := 'FORBIDDEN';
      answer.message := 'Pages of this origin may not write here: an admin can allow it at /api/admin/origins.';
    end if;
  end if;
  answer.kind := who.kind;
  answer.profile_id := who.profile_id;
  answer.named := organization is not null or answer.origin_allowed and resource is null;
  answer.key_id := who.key_id;
  answer.scopes := who.scopes;
  return answer;
end
$$;
comment on function private.admit(uuid, bytea, boolean, text, text[], text, text, text, boolean, text, uuid, boolean) is 'Finds the caller and the organization of a request and charges it. By itself it charges a request that failed, or one that may run long; private.enter calls it for the others.';

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
comment on function private.organization_of(text, uuid, private.caller) is 'The organization of a row named by its table and id, where the caller may see the row; for private.admit.';

-- definer: which pages may call is for admins to read; that one may is not.
create function private.is_allowed_origin(origin text) returns boolean
language plpgsql stable security definer set search_path = '' as $$
begin
  return exists (select from public.organizations o where is_allowed_origin.origin = any (o.allowed_origins));
end
$$;
comment on function private.is_allowed_origin(text) is 'Whether any organization lets pages of this origin call: what a preflight asks, which names no organization.';

-- Invoker: a definer may not set the role. What follows it in the transaction runs as that role.
create function private.enter(
  request_id text, user_id uuid, digest bytea, refused boolean, address text, operations text[], organization text, on_behalf text,
  origin text, needs_origin boolean, resource text, resource_id uuid, charge boolean,
  access text,               -- public, person, caller or agent
  required_scopes text[],    -- a key needs one of them where access is caller
  out max_requests integer, out remaining integer, out reset_at bigint, out origin_allowed boolean)
language plpgsql set search_path = '' as $$
declare
  admission private.admission := private.admit(user_id, digest, refused, address, operations, organization, on_behalf, origin,
    needs_origin, resource, resource_id, charge);
  ignored text; -- assigning is cheaper than perform
begin
  if admission.code is not null then
    perform private.raise_error(admission.code, admission.message, admission.field,
      case when admission.retry_after is null then '{}' else jsonb_build_object('retry_after', admission.retry_after) end);
  elsif (access = 'agent') <> (admission.kind = 'agent') then
    perform private.raise_error('UNAUTHORIZED', case when access = 'agent'
      then 'Send the key of an agent: Authorization: Bearer fcs_agt_…'
      else 'Keys of agents work under /api/mcp only.' end);
  elsif access <> 'public' and admission.kind = 'public' then
    perform private.raise_error('UNAUTHORIZED', 'Sign in, or send a key: Authorization: Bearer <token>.');
  elsif access = 'person' and admission.kind <> 'user' then
    perform private.raise_error('FORBIDDEN', 'This is for people who signed in, not for keys.');
  elsif access = 'caller' and admission.kind <> 'user' and not required_scopes && admission.scopes then
    perform private.raise_error('FORBIDDEN',
      format('This key lacks the scope %s.', array_to_string(required_scopes, ' or ')));
  end if;
  ignored := set_config('feedback.request_id', request_id, true);
  ignored := set_config('feedback.organization_id', coalesce(admission.organization_id::text, ''), true);
  ignored := set_config('feedback.organization_named', admission.named::text, true);
  ignored := set_config('feedback.profile_id', coalesce(admission.profile_id::text, ''), true);
  ignored := set_config('feedback.key_id', coalesce(admission.key_id::text, ''), true);
  ignored := set_config('feedback.scopes', coalesce(array_to_string(admission.scopes, ' '), ''), true);
  if admission.kind = 'agent' then
    ignored := set_config('feedback.agent_id', admission.profile_id::text, true);
  end if;
  ignored := set_config('feedback.quiet', 'off', true);
  ignored := set_config('request.jwt.claims', case admission.kind
    when 'user' then format('{"sub":"%s","role":"authenticated"}', admission.profile_id)
    else '{"role":"anon"}' end, true);
  ignored := set_config('role',
    case admission.kind when 'public' then 'anon' when 'user' then 'authenticated' else 'service_key' end, true);
  max_requests := admission.max_requests;
  remaining := admission.remaining;
  reset_at := admission.reset_at;
  origin_allowed := admission.origin_allowed;
end
$$;
comment on function private.enter(text, uuid, bytea, boolean, text, text[], text, text, text, boolean, text, uuid, boolean, text, text[]) is 'The first statement of a request''s transaction: admits it (private.admit) and becomes its caller until the transaction ends, or raises UNAUTHORIZED, RATE_LIMIT_EXCEEDED, FORBIDDEN or NOT_FOUND.';

create function private.in_organization(organization_id uuid) returns boolean
language sql stable
return private.is_key() or coalesce(current_setting('feedback.organization_named', true), '') <> 'true'
  or organization_id = private.requested_organization_id();
comment on function private.in_organization(uuid) is 'Whether a row named by its id belongs to the organization the request named, if it named one.';

grant execute on function private.admit(uuid, bytea, boolean, text, text[], text, text, text, boolean, text, uuid, boolean),
  private.enter(text, uuid, bytea, boolean, text, text[], text, text, text, boolean, text, uuid, boolean, text, text[]),
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
