-- Start of every request (authenticate, resolve the organization, rate limit), allowed origins, and
-- idempotent requests.

create type private.caller as (kind text, profile_id uuid, organization_id uuid, key_id uuid, scopes text[],
  level text, valid boolean);
comment on type private.caller is
  'Authenticated caller. kind: public, user, key or agent. organization_id: that of a key, an agent or an '
  'identified person, who act nowhere else. level: the rate limit rule that counts all calls of the caller.';

create type private.admission as (code text, message text, field text, retry_after integer, kind text,
  profile_id uuid,
  organization_id uuid, named boolean, key_id uuid, scopes text[], max_requests integer, remaining integer,
    reset_at bigint,
  origin_allowed boolean);
comment on type private.admission is
  'Decision on a request. code: null, or the error code; retry_after in seconds; max_requests, remaining '
  'and reset_at (Unix seconds): the charged counter with the fewest remaining calls.';

-- Resolves a credential: the claims of an access token, the SHA-256 of a key or of an identified person's
-- session, or neither for an anonymous request. Unknown, revoked and expired ones are indistinguishable.
-- A read-only agent keeps only its read scopes.
create function private.resolve_caller(user_id uuid, session_id uuid, aal text, digest bytea)
  returns private.caller
language plpgsql set search_path = pg_temp as $$
declare who private.caller; key private.api_keys; tier text; reads boolean; retired boolean;
begin
  if user_id is not null then
    who.kind := 'user';
    select p.id, case when exists (select from public.memberships m
      where m.user_id = p.id and m.role in ('owner', 'admin'))
      then 'level_admin' else 'level_user' end
    into who.profile_id, who.level from public.profiles p where p.auth_user_id = user_id;
    who.valid := who.profile_id is not null
      and private.session_refusal(user_id, session_id, aal) is null;
  elsif digest is not null then
    select * into key from private.api_keys k where k.digest = resolve_caller.digest;
    if key.id is null then return private.resolve_session(digest); end if;
    who.kind := 'key';
    who.level := 'level_key';
    who.valid := key.id is not null and key.revoked_at is null
      and (key.expires_at is null or key.expires_at > now());
    who.profile_id := key.profile_id;
    who.organization_id := key.organization_id;
    who.key_id := key.id;
    who.scopes := key.scopes;
    if key.prefix = 'fcs_agt_' then
      who.kind := 'agent';
      select a.tier, a.read_only, a.retired_at is not null into tier, reads, retired from private.agents a
        where a.id = key.profile_id;
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

-- Authenticates a request, resolves its organization and charges its rate limits. private.assume_caller
-- calls it; it is called alone for requests that failed or may run long.
-- definer: the login role has no other access to credentials, organizations or counters.
create function private.admit_request(
  user_id uuid,              -- from a verified access token, like the next two
  session_id uuid,
  aal text,                  -- aal2 after the second factor
  digest bytea,              -- SHA-256 of a key or session
  invalid_credential boolean, -- the request has a credential that is not valid
  address text,              -- keyed hash of the client's address; null if unknown
  operations text[],         -- rules to charge in addition to the caller's level
  organization text,         -- id or slug named by the request
  on_behalf text,            -- keyed hash of the person a key acts for; this person has separate counters
  origin text,               -- origin of the calling page, if it is not the site's own
  needs_origin boolean,      -- a write authenticated by cookie: the origin must be allowed
  resource text,             -- table of the row named by the path
  resource_id uuid,
  charge boolean             -- false if the request was charged before
) returns private.admission
language plpgsql security definer set search_path = pg_temp as $$
declare
  who private.caller := private.resolve_caller(user_id, session_id, aal, digest);
  answer private.admission;
  caller text;
  subject text;
  operation text;
  refusal text;
  rule text;
  bucket_size integer;
  seconds integer;
  state private.rate_state;
  tightest private.rate_state;
  is_identified boolean;
begin
  if invalid_credential or not who.valid then
    answer.code := 'UNAUTHORIZED';
    refusal := case when not invalid_credential and user_id is not null
      then private.session_refusal(user_id, session_id, aal) end;
    answer.message := private.refusal_message(refusal);
    answer.field := case refusal when 'factor' then 'aal' end;
    who := ('public', null, null, null, null, 'level_public', false);
    operations := '{}';
  end if;
  if who.kind = 'user' or who.kind = 'public' then on_behalf := null; end if;
  is_identified := who.kind = 'user' and who.organization_id is not null;

  if charge then
    -- The secrets of a rotated key act as one profile, and so do all keys of an agent: they share one counter.
    caller := coalesce(who.profile_id::text, address);
    if who.kind = 'agent' then operations := operations || 'agent_day'::text; end if;
    -- The counters are always charged in this order, so that parallel calls of one caller cannot deadlock. A
    -- page or a token exchange is charged to its own rule instead of the level.
    foreach operation in array case
      when 'page' = any (operations) or 'token_exchange' = any (operations) then operations
      else who.level || operations end loop
      if operation = 'agent_day' then
        select 'agent_day', a.calls_a_day, 86400 into rule, bucket_size, seconds from private.agents a
          where a.id = who.profile_id;
      else
        select r.name, r.max_requests, r.window_seconds into rule, bucket_size, seconds
          from private.rate_limit_rules r
        where r.name in (operation, operation || '_' || who.kind) order by r.name desc limit 1;
      end if;
      continue when bucket_size is null;
      subject := case when private.is_counted_by_address(operation) then coalesce(address, caller)
        else caller end;
      if subject is null then
        state := (bucket_size, bucket_size, now() + make_interval(secs => seconds), true);
      elsif on_behalf is not null and operation <> who.level and rule = operation then
        state := private.charge(rule, bucket_size, seconds, who.organization_id || ':' || on_behalf, 1);
      else
        state := private.charge(rule, bucket_size, seconds, subject, 1);
      end if;
      if tightest.max_requests is null or not state.allowed or state.remaining < tightest.remaining then
        tightest := state;
      end if;
      if not state.allowed then
        answer.code := 'RATE_LIMIT_EXCEEDED';
        answer.message := 'Too many requests. Wait and try again.';
        answer.retry_after := greatest(1, ceil(extract(epoch from state.reset_at - clock_timestamp())));
        exit;
      end if;
    end loop;
    answer.max_requests := tightest.max_requests;
    answer.remaining := tightest.remaining;
    answer.reset_at := ceil(extract(epoch from tightest.reset_at));
  end if;

  if answer.code is null then
    if who.organization_id is null then
      -- A row named by its id determines the organization.
      if organization is not null or resource is null then
        answer.organization_id := private.find_organization(organization, who.profile_id);
      end if;
    elsif organization is null or private.organization_named(organization) = who.organization_id then
      answer.organization_id := who.organization_id;
    end if;
    if answer.organization_id is null and organization is not null then
      answer.code := 'NOT_FOUND';
      answer.message := 'There is no such organization.';
      answer.field := 'organization';
    end if;
    -- Rows of other organizations do not exist for an identified person.
    if is_identified and resource_id is not null and answer.code is null
      and resource in ('submissions', 'comments', 'surveys', 'organizations')
      and private.organization_of(resource, resource_id, who) is distinct from who.organization_id then
      answer.code := 'NOT_FOUND';
      answer.message := 'There is no such resource.';
    end if;
  end if;
  answer.origin_allowed := false;
  if origin is not null then
    -- Computed for errors as well: a page can read a 401 or 429 only with CORS headers.
    answer.origin_allowed := coalesce((select admit_request.origin = any (o.allowed_origins)
      from public.organizations o
      where o.id = coalesce(private.organization_of(resource, resource_id, who), answer.organization_id,
        who.organization_id,
        private.find_organization(organization, who.profile_id))), false);
    if needs_origin and not answer.origin_allowed and answer.code is null then
      answer.code := 'FORBIDDEN';
      answer.message := 'This origin is not allowed to write. An admin can allow it at /api/admin/origins.';
    end if;
  end if;
  answer.kind := who.kind;
  answer.profile_id := who.profile_id;
  answer.named := organization is not null or is_identified or answer.origin_allowed and resource is null;
  answer.key_id := who.key_id;
  answer.scopes := who.scopes;
  return answer;
end
$$;

-- Organization of a row by table and id if the caller may see the row; for private.admit_request.
create function private.organization_of(resource text, id uuid, who private.caller) returns uuid
language plpgsql stable set search_path = pg_temp as $$
declare
  team_ids uuid[] := case when who.kind in ('key', 'agent') then array[who.organization_id]
    else array(select m.organization_id from public.memberships m where m.user_id = who.profile_id) end;
begin
  return case resource
    when 'submissions' then (select s.organization_id from public.submissions s
      where s.id = organization_of.id
      and private.can_see_submission(s.is_public, s.author_id, s.organization_id, who.profile_id, team_ids))
    when 'comments' then (select c.organization_id from public.comments c where c.id = organization_of.id
      and private.can_see_submission(c.is_public, c.author_id, c.organization_id, who.profile_id, team_ids))
    when 'surveys' then (select s.organization_id from public.surveys s where s.id = organization_of.id
      and (s.organization_id = any (team_ids) or s.status <> 'draft'
        and exists (select from public.organizations o
          where o.id = s.organization_id and o.visibility = 'public')))
    when 'organizations' then (select o.id from public.organizations o where o.id = organization_of.id
      and (o.visibility = 'public' or o.id = any (team_ids)))
  end;
end
$$;

-- Whether any organization allows this origin; for preflight requests, which name no organization.
-- definer: allowed origins are readable by Admin only.
create function private.is_allowed_origin(origin text) returns boolean
language plpgsql stable security definer set search_path = pg_temp as $$
begin
  return exists (select from public.organizations o where is_allowed_origin.origin = any (o.allowed_origins));
end
$$;

-- First statement of a request's transaction: runs private.admit_request and assumes the caller's claims and
-- role until the transaction ends. Raises UNAUTHORIZED, RATE_LIMIT_EXCEEDED, FORBIDDEN or NOT_FOUND. Invoker:
-- a definer function cannot SET ROLE. The following statements of the transaction run with that role.
create function private.assume_caller(
  request_id text, user_id uuid, session_id uuid, aal text, digest bytea, invalid_credential boolean,
  address text, operations text[], organization text, on_behalf text,
  origin text, needs_origin boolean, resource text, resource_id uuid, charge boolean,
  access text,               -- public, person, caller or agent
  required_scopes text[],    -- if access is caller, a key needs one of them
  out max_requests integer, out remaining integer, out reset_at bigint, out origin_allowed boolean)
language plpgsql set search_path = pg_temp as $$
declare
  admission private.admission := private.admit_request(user_id, session_id, aal, digest, invalid_credential,
    address, operations, organization, on_behalf, origin, needs_origin, resource, resource_id, charge);
  ignored text; -- an assignment is cheaper than PERFORM
begin
  if admission.code is not null then
    perform private.raise_error(admission.code, admission.message, admission.field,
      case when admission.retry_after is null then '{}'
        else jsonb_build_object('retry_after', admission.retry_after) end);
  elsif (access = 'agent') <> (admission.kind = 'agent') then
    perform private.raise_error('UNAUTHORIZED', case when access = 'agent'
      then 'Send the key of an agent as Authorization: Bearer fcs_agt_…'
      else 'Agent keys work only under /api/mcp.' end);
  elsif access <> 'public' and admission.kind = 'public' then
    perform private.raise_error('UNAUTHORIZED', 'Sign in, or send a key as Authorization: Bearer <token>.');
  elsif access = 'person' and admission.kind <> 'user' then
    perform private.raise_error('FORBIDDEN',
      'Only signed-in users can do this, not keys. Use the pages, such as the dashboard, or an access '
        'token.');
  elsif access = 'caller' and admission.kind <> 'user' and not required_scopes && admission.scopes then
    perform private.raise_error('FORBIDDEN',
      format('This key needs the scope %s. Use a key that has it.',
        array_to_string(required_scopes, ' or ')));
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
  ignored := set_config('feedback.internal_write', 'off', true);
  ignored := set_config('request.jwt.claims', case admission.kind
    when 'user' then format('{"sub":"%s","role":"authenticated"}', admission.profile_id)
    else '{"role":"anon"}' end, true);
  ignored := set_config('role',
    case admission.kind when 'public' then 'anon' when 'user' then 'authenticated'
      else 'service_key' end, true);
  max_requests := admission.max_requests;
  remaining := admission.remaining;
  reset_at := admission.reset_at;
  origin_allowed := admission.origin_allowed;
end
$$;

-- Whether a row named by id belongs to the organization that the request named, if it named one.
create function private.in_organization(organization_id uuid) returns boolean
language sql stable
return private.is_key() or coalesce(current_setting('feedback.organization_named', true), '') <> 'true'
  or organization_id = private.requested_organization_id();

-- The admission of release 0.1.0, which does not pass the session.
-- The functions of release 0.1.0 call these during an upgrade; to be dropped with the release after the next.
-- definer: the login role has no other access to credentials, organizations or counters.
create function private.admit_request(user_id uuid, digest bytea, invalid_credential boolean, address text,
  operations text[], organization text, on_behalf text, origin text, needs_origin boolean, resource text,
  resource_id uuid, charge boolean) returns private.admission
language plpgsql security definer set search_path = pg_temp as $$
begin
  return private.admit_request(user_id, null, null, digest, invalid_credential, address, operations,
    organization, on_behalf, origin, needs_origin, resource, resource_id, charge);
end
$$;

-- The start of a request of release 0.1.0.
create function private.assume_caller(request_id text, user_id uuid, digest bytea, invalid_credential boolean,
  address text, operations text[], organization text, on_behalf text, origin text, needs_origin boolean,
  resource text, resource_id uuid, charge boolean, access text, required_scopes text[],
  out max_requests integer, out remaining integer, out reset_at bigint, out origin_allowed boolean)
language plpgsql set search_path = pg_temp as $$
begin
  select * into max_requests, remaining, reset_at, origin_allowed
  from private.assume_caller(request_id, user_id, null, null, digest, invalid_credential, address, operations,
    organization, on_behalf, origin, needs_origin, resource, resource_id, charge, access, required_scopes);
end
$$;

grant execute on function private.admit_request(uuid, uuid, text, bytea, boolean, text, text[], text, text,
  text, boolean, text, uuid, boolean),
  private.assume_caller(text, uuid, uuid, text, bytea, boolean, text, text[], text, text, text, boolean, text,
    uuid, boolean, text, text[]),
  private.admit_request(uuid, bytea, boolean, text, text[], text, text, text, boolean, text, uuid, boolean),
  private.assume_caller(text, uuid, bytea, boolean, text, text[], text, text, text, boolean, text, uuid,
    boolean, text, text[]),
  private.is_allowed_origin(text) to feedback_api;
grant execute on function private.in_organization to anon, authenticated, service_key;

-- Pages of other origins ------------------------------------------------------------------------------------

-- Origins allowed to call the API for this organization; an array replaces them. For Admin or keys with
-- organization:write. definer: settings of organizations are not granted.
create function private.admin_origins(origins text[]) returns json
language plpgsql security definer set search_path = pg_temp as $$
declare own_id uuid := private.require_admin(private.current_organization_id(), 'organization:write');
begin
  if origins is not null then
    update public.organizations o set allowed_origins = origins where o.id = own_id;
  end if;
  return (select json_build_object('origins', o.allowed_origins) from public.organizations o
    where o.id = own_id);
end
$$;
grant execute on function private.admin_origins to authenticated, service_key;

-- Requests that may be repeated -----------------------------------------------------------------------------

create table private.idempotency_keys (
  organization_id uuid references public.organizations (id) on delete cascade,
  key text not null,
  request bytea not null,
  answer text,
  created_at timestamptz not null default now(),
  profile_id uuid not null references public.profiles (id) on delete cascade,
  constraint idempotency_keys_are_of_a_caller unique (profile_id, key),
  constraint key_has_1_to_200_characters check (char_length(key) between 1 and 200)
);
comment on table private.idempotency_keys is
  'Responses to POST requests with an Idempotency-Key, by a key, or to a form with an id, by a person; kept '
  'for a day. profile_id: the person, or the profile of the key, which its rotation keeps. request is the '
  'SHA-256 of route, path, query and body.';
create index idempotency_keys_age_idx on private.idempotency_keys (created_at);

-- Returns the stored response for the key and the same request of the caller; null the first time. Raises
-- CONFLICT for another request. Waits for a concurrent first request. definer: private tables.
create function private.find_idempotent_response(key text, request bytea) returns text
language plpgsql security definer set search_path = pg_temp as $$
declare earlier private.idempotency_keys; own_id uuid := private.caller_id();
begin
  insert into private.idempotency_keys as k (organization_id, profile_id, key, request)
  values (private.key_organization_id(), own_id, find_idempotent_response.key,
    find_idempotent_response.request)
  on conflict do nothing;
  if found then return null; end if;
  select * into earlier from private.idempotency_keys k
    where k.profile_id = own_id and k.key = find_idempotent_response.key;
  if earlier.request is distinct from find_idempotent_response.request then
    perform private.raise_error('CONFLICT',
      'This Idempotency-Key was already used for another request. Send a new one.',
      'Idempotency-Key');
  end if;
  return earlier.answer;
end
$$;

-- Stores the response for private.find_idempotent_response, in the transaction of the request.
-- definer: stored responses are not granted.
create function private.save_idempotent_response(key text, answer text) returns void
language plpgsql security definer set search_path = pg_temp as $$
begin
  update private.idempotency_keys k set answer = save_idempotent_response.answer
  where k.profile_id = private.caller_id() and k.key = save_idempotent_response.key;
end
$$;
grant execute on function private.find_idempotent_response, private.save_idempotent_response
  to service_key, authenticated;

-- Readiness -------------------------------------------------------------------------------------------------

-- Version of the newest applied migration, for the readiness check.
-- definer: the login role cannot read the list of migrations.
create function private.latest_migration() returns text
language plpgsql stable security definer set search_path = pg_temp as $$
begin
  return (select max(version) from supabase_migrations.schema_migrations);
end
$$;
grant execute on function private.latest_migration to feedback_api;
