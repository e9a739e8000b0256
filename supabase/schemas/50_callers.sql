-- Who calls, with what key, and how often: API keys, rate limits, and the two functions every request starts with.

-- API keys -----------------------------------------------------------------------------------------------------

create table private.api_keys (
  id uuid primary key default gen_random_uuid(),
  organization_id uuid not null references public.organizations (id) on delete cascade,
  profile_id uuid not null references public.profiles (id) deferrable initially deferred,
  name text not null,
  scopes text[] not null,
  digest bytea not null constraint digests_are_unique unique,
  prefix text not null,
  last_four text not null,
  expires_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz,
  created_by uuid references public.profiles (id) deferrable initially deferred,
  created_at timestamptz not null default now(),
  constraint name_has_1_to_100_characters check (char_length(name) between 1 and 100),
  constraint digest_is_sha256 check (octet_length(digest) = 32),
  constraint scopes_are_plural_noun_colon_action check (
    cardinality(scopes) <= 40 and array_to_string(scopes, ' ') ~ '^([a-z]+:[a-z]+( [a-z]+:[a-z]+)*)?$')
);
comment on table private.api_keys is 'Keys of organizations'' backends. Only the SHA-256 of the secret is kept, with its prefix and last four characters.';
create index api_keys_organization_idx on private.api_keys (organization_id, created_at desc);
alter table private.api_keys enable row level security;
revoke all on private.api_keys from public, anon, authenticated, service_role, service_key;

create function private.create_api_key(
  organization_id uuid, name text, scopes text[], digest bytea, prefix text, last_four text,
  expires_at timestamptz default null, created_by uuid default null)
returns uuid language plpgsql set search_path = '' as $$
declare key_profile uuid; key_id uuid;
begin
  insert into public.profiles (kind, organization_id, name) values ('key', organization_id, name) returning id into key_profile;
  insert into private.api_keys (organization_id, profile_id, name, scopes, digest, prefix, last_four, expires_at, created_by)
  values (organization_id, key_profile, name, scopes, digest, prefix, last_four, expires_at, created_by) returning id into key_id;
  return key_id;
end
$$;
comment on function private.create_api_key(uuid, text, text[], bytea, text, text, timestamptz, uuid) is 'A key and the profile it acts as. The secret is made by the caller and never reaches the database; digest is its SHA-256.';

-- Rate limits --------------------------------------------------------------------------------------------------

create table private.rate_limit_rules (
  name text primary key,
  max_requests integer not null constraint max_requests_is_positive check (max_requests > 0),
  window_seconds integer not null constraint window_is_positive check (window_seconds > 0)
);
comment on table private.rate_limit_rules is 'Limits, as data: an operator changes a row and it counts at once. A rule named <operation>_<kind of caller> goes before <operation>; it counts the key, the other one whom the key acts for.';
alter table private.rate_limit_rules enable row level security;
insert into private.rate_limit_rules (name, max_requests, window_seconds) values
  ('level_public', 30, 60), ('level_user', 100, 60), ('level_admin', 300, 60), ('level_key', 300, 60),
  ('agent_standard', 60, 60), ('agent_professional', 300, 60), ('agent_enterprise', 1000, 60),
  ('submission_create_key', 100, 60), ('submission_create_user', 300, 60), ('submission_update_user', 300, 60),
  ('duplicate_check_public', 30, 60), ('duplicate_check_user', 100, 60), ('duplicate_check_key', 100, 60),
  ('comment_create', 20, 3600), ('comment_update', 10, 3600), ('comment_delete', 10, 3600), ('comment_list', 100, 60),
  ('vote_create', 30, 3600), ('vote_delete', 30, 3600), ('vote_list', 100, 60);

create unlogged table private.rate_counters (
  rule text not null,
  subject text not null,
  started_at timestamptz not null,
  used integer not null,
  primary key (rule, subject)
) with (fillfactor = 20);
comment on table private.rate_counters is 'Calls in the current window of a rule and subject. Unlogged: empty after a crash, when everyone starts a new window. Subjects are ids or keyed hashes, never addresses.';
alter table private.rate_counters enable row level security;
revoke all on private.rate_limit_rules, private.rate_counters from public, anon, authenticated, service_role, service_key;

create type private.rate_state as (rule text, max_requests integer, remaining integer, reset_at timestamptz, allowed boolean);
comment on type private.rate_state is 'A bucket after a charge: calls left in its window, when the window ends, and whether this charge fits.';

create function private.charge(rule private.rate_limit_rules, subject text, calls integer) returns private.rate_state
language plpgsql set search_path = '' as $$
declare
  at timestamptz := clock_timestamp();
  length interval := make_interval(secs => rule.window_seconds);
  counter private.rate_counters;
begin
  -- A charge that does not fit leaves the counter as it is: the row comes back unlocked and unchanged.
  insert into private.rate_counters as c (rule, subject, started_at, used) values (rule.name, subject, at, calls)
  on conflict on constraint rate_counters_pkey do update set
    started_at = case when c.started_at + length <= at then at else c.started_at end,
    used = case when c.started_at + length <= at then calls else c.used + calls end
    where c.started_at + length <= at or c.used + calls <= rule.max_requests
  returning c.* into counter;
  if counter.rule is null then
    select c.* into counter from private.rate_counters c where c.rule = (charge.rule).name and c.subject = charge.subject;
    return row(rule.name, rule.max_requests, greatest(0, rule.max_requests - counter.used),
      coalesce(counter.started_at, at) + length, false)::private.rate_state;
  end if;
  return row(rule.name, rule.max_requests, greatest(0, rule.max_requests - counter.used), counter.started_at + length,
    counter.used <= rule.max_requests)::private.rate_state;
end
$$;
comment on function private.charge(private.rate_limit_rules, text, integer) is 'Counts calls against a rule for a subject. Concurrent charges never let through more than the rule allows.';

create function private.charge_direct(operation text, calls bigint) returns void
language plpgsql set search_path = '' as $$
declare rule private.rate_limit_rules; state private.rate_state;
begin
  select * into rule from private.rate_limit_rules r where r.name = operation;
  if rule.name is null or calls = 0 then return; end if;
  state := private.charge(rule, coalesce(private.caller_id()::text, 'nobody'), calls::integer);
  if not state.allowed then
    perform private.raise_error('RATE_LIMIT_EXCEEDED', 'Too many of these: wait and try again.', null, jsonb_build_object(
      'retry_after', greatest(1, ceil(extract(epoch from state.reset_at - clock_timestamp()))::integer)));
  end if;
end
$$;
comment on function private.charge_direct(text, bigint) is 'For triggers: charges a client of the data API by the rows it touched, in the bucket the API charges too.';

-- The start of a request ---------------------------------------------------------------------------------------

create type private.caller as (kind text, profile_id uuid, organization_id uuid, key_id uuid, scopes text[], level text, valid boolean);
comment on type private.caller is 'kind: public, user, key or agent. level: the rule that counts all its calls.';

create type private.verdict as (request_id text, outcome text, kind text, profile_id uuid, organization_id uuid, named boolean,
  key_id uuid, scopes text[], retry_after integer);
comment on type private.verdict is 'What private.take leaves for private.enter. outcome: ok, or the code of the error to raise; retry_after in seconds.';

create function private.resolve_caller(user_id uuid, digest bytea) returns private.caller
language plpgsql set search_path = '' as $$
declare who private.caller; key private.api_keys;
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
comment on function private.resolve_caller(uuid, bytea) is 'Whom a credential stands for: the auth user''s id, the SHA-256 of a key, or neither for nobody. Unknown, revoked and expired keys are alike.';

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
  subject := coalesce(who.key_id::text, who.profile_id::text, address);
  foreach wanted in array array[who.level] || case when outcome = 'ok' then operations else '{}' end loop
    select * into rule from private.rate_limit_rules r where r.name = wanted || '_' || who.kind;
    if rule.name is null then
      select * into rule from private.rate_limit_rules r where r.name = wanted;
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
  if access <> 'public' and verdict.kind = 'public' then
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
  ignored := set_config('feedback.quiet', 'off', true);
  ignored := set_config('request.jwt.claims', case verdict.kind
    when 'user' then format('{"sub":"%s","role":"authenticated"}', verdict.profile_id)
    else '{"role":"anon"}' end, true);
  ignored := set_config('role', case verdict.kind when 'public' then 'anon' when 'user' then 'authenticated' else 'service_key' end, true);
end
$$;
comment on function private.enter(text, text, text[]) is 'Within a transaction: becomes the caller that private.take found, or raises UNAUTHORIZED, RATE_LIMIT_EXCEEDED, FORBIDDEN or NOT_FOUND. access is public, person or caller; a caller''s key needs one of the scopes. Invoker, for a definer may not set the role.';

create function private.in_organization(organization_id uuid) returns boolean
language sql stable
return private.is_key() or coalesce(current_setting('feedback.organization_named', true), '') <> 'true'
  or organization_id = private.requested_organization_id();
comment on function private.in_organization(uuid) is 'Whether a row named by its id belongs to the organization the request named, if it named one.';

grant execute on function private.take(text, uuid, bytea, boolean, text, text[], text, text, text, boolean, text, uuid), private.enter(text, text, text[]),
  private.is_allowed_origin(text) to feedback_api;
grant execute on function private.in_organization(uuid) to anon, authenticated, service_key;

-- Administration of keys ---------------------------------------------------------------------------------------

create function private.api_key_shape(key private.api_keys) returns json
language sql stable
return json_build_object('id', (key).id, 'name', (key).name, 'scopes', (key).scopes, 'prefix', (key).prefix, 'last_four', (key).last_four,
  'expires_at', (key).expires_at, 'revoked_at', (key).revoked_at, 'last_used_at', (key).last_used_at, 'created_at', (key).created_at);
comment on function private.api_key_shape(private.api_keys) is 'A key as admins see it: never the digest.';

-- definer: private tables; each asks for an admin who signed in, so that a key can never make keys.
create function private.require_key_admin() returns uuid
language plpgsql stable set search_path = '' as $$
declare organization_id uuid := private.current_organization_id();
begin
  if private.is_key() then
    perform private.raise_error('FORBIDDEN', 'Keys are made by people, not by keys.');
  end if;
  perform private.require_admin(organization_id, '');
  return organization_id;
end
$$;
comment on function private.require_key_admin() is 'The current organization, if a signed-in admin of it calls; FORBIDDEN otherwise.';

create function private.admin_list_api_keys() returns json
language plpgsql stable security definer set search_path = '' as $$ -- definer: as above
declare own_id uuid := private.require_key_admin();
begin
  return coalesce((select json_agg(private.api_key_shape(k) order by k.created_at desc, k.id)
    from (select * from private.api_keys k where k.organization_id = own_id
      order by k.created_at desc, k.id limit 500) k), '[]');
end
$$;
comment on function private.admin_list_api_keys() is 'The organization''s newest 500 keys, revoked and expired ones too, for its admins.';

create function private.admin_create_api_key(name text, scopes text[], digest bytea, prefix text, last_four text, expires_at timestamptz)
returns json language plpgsql security definer set search_path = '' as $$ -- definer: as above
declare own_id uuid := private.require_key_admin(); key_id uuid;
begin
  key_id := private.create_api_key(own_id, name, scopes, digest, prefix, last_four, expires_at, private.caller_id());
  return (select private.api_key_shape(k) from private.api_keys k where k.id = key_id);
end
$$;
comment on function private.admin_create_api_key(text, text[], bytea, text, text, timestamptz) is 'Makes a key of the current organization; its secret stays with the caller.';

create function private.admin_rotate_api_key(key_id uuid, digest bytea, prefix text, last_four text, overlap interval)
returns json language plpgsql security definer set search_path = '' as $$ -- definer: as above
declare own_id uuid := private.require_key_admin(); key private.api_keys; new_id uuid;
begin
  select * into key from private.api_keys k
  where k.id = key_id and k.organization_id = own_id for no key update;
  if key.id is null then return null; end if;
  if key.revoked_at is not null or key.expires_at <= now() then
    perform private.raise_error('CONFLICT', 'This key is no longer valid: make a new one.');
  end if;
  insert into private.api_keys (organization_id, profile_id, name, scopes, digest, prefix, last_four, expires_at, created_by)
  values (key.organization_id, key.profile_id, key.name, key.scopes, digest, prefix, last_four, key.expires_at, private.caller_id())
  returning id into new_id;
  update private.api_keys k set expires_at = least(k.expires_at, now() + overlap) where k.id = key.id;
  return (select private.api_key_shape(k) from private.api_keys k where k.id = new_id);
end
$$;
comment on function private.admin_rotate_api_key(uuid, bytea, text, text, interval) is 'A new secret with the same name, scopes, expiry and profile; the old one stays valid for the overlap. Null where there is no such key.';

create function private.admin_revoke_api_key(key_id uuid) returns json
language plpgsql security definer set search_path = '' as $$ -- definer: as above
declare own_id uuid := private.require_key_admin(); key private.api_keys;
begin
  update private.api_keys k set revoked_at = coalesce(k.revoked_at, now())
  where k.id = key_id and k.organization_id = own_id returning k.* into key;
  return case when key.id is not null then private.api_key_shape(key) end;
end
$$;
comment on function private.admin_revoke_api_key(uuid) is 'The key stops working at once and for good; again is not an error. Null where there is no such key.';

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

grant execute on function private.admin_list_api_keys(), private.admin_create_api_key(text, text[], bytea, text, text, timestamptz),
  private.admin_rotate_api_key(uuid, bytea, text, text, interval), private.admin_revoke_api_key(uuid) to authenticated;
grant execute on function private.admin_origins(text[]) to authenticated, service_key;

-- definer: the record of migrations is not readable by the login role.
create function private.latest_migration() returns text
language plpgsql stable security definer set search_path = '' as $$
begin
  return (select max(version) from supabase_migrations.schema_migrations);
end
$$;
comment on function private.latest_migration() is 'Version of the newest applied migration, for readiness.';
grant execute on function private.latest_migration() to feedback_api;

-- Requests that may be repeated --------------------------------------------------------------------------------

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
