-- Generated from supabase/schemas by npm run db:baseline until its release; later changes are migrations of their own.

-- Roles, schemas, error codes and shared helpers.
-- Functions that are security definer or set search_path are written in plpgsql: Postgres cannot inline them,
-- and it would plan a SQL version again in every statement that calls it. Functions written in SQL here are
-- inlined.

create schema if not exists private;
comment on schema private is
  'Internal schema; the data API does not expose it. API roles have USAGE and may execute only the helpers '
  'granted below.';

create extension if not exists pg_trgm with schema extensions;
create extension if not exists unaccent with schema extensions;
create extension if not exists btree_gin with schema extensions;

-- Older hosted projects grant all privileges to the API roles by default. Revoke them; grants below are
-- explicit.
alter default privileges in schema public revoke all on tables from anon, authenticated, service_role;
alter default privileges in schema public revoke all on sequences from anon, authenticated, service_role;
alter default privileges in schema public revoke all on functions from anon, authenticated, service_role;
alter default privileges revoke execute on functions from public;

do $$
begin
  if not exists (select from pg_roles where rolname = 'service_key') then
    create role service_key nologin noinherit;
  end if;
  if not exists (select from pg_roles where rolname = 'feedback_api') then
    create role feedback_api login noinherit;
  end if;
end
$$;
comment on role service_key is
  'Role of requests with an organization API key or an agent key. No bypassrls: policies read the key''s '
  'organization and scopes from transaction-local settings.';
comment on role feedback_api is
  'Login role of the edge functions. Owns nothing. May execute private.admit_request and '
  'private.assume_caller and switch to an API role.';
grant anon, authenticated, service_key to feedback_api;
-- Since Postgres 16 the creator of a role cannot SET ROLE to it without a grant. Tests need it.
grant service_key to current_user;
-- Each filter combination has its own statement text, so a custom plan per parameter value gains nothing.
alter role feedback_api set plan_cache_mode = 'force_generic_plan';
alter role feedback_api set statement_timeout = '8s';
-- A short lock timeout: the function releases the connection and retries the request once (database.ts).
alter role feedback_api set lock_timeout = '200ms';
alter role feedback_api set idle_in_transaction_session_timeout = '15s';
-- A pooler may drop settings that the client sends when it connects.
alter role feedback_api set timezone = 'UTC';

grant usage on schema private to anon, authenticated, service_role, service_key, feedback_api;
grant usage on schema public to service_key;

-- Errors ----------------------------------------------------------------------------------------------------

create function private.error_state(code text) returns text
language sql immutable
return case code
  when 'VALIDATION_ERROR' then 'FB400'
  when 'UNAUTHORIZED' then 'FB401'
  when 'PLAN_LIMIT_REACHED' then 'FB402'
  when 'FORBIDDEN' then 'FB403'
  when 'NOT_FOUND' then 'FB404'
  when 'CONFLICT' then 'FB409'
  when 'GONE' then 'FB410'
  when 'PAYLOAD_TOO_LARGE' then 'FB413'
  when 'UNSUPPORTED_MEDIA_TYPE' then 'FB415'
  when 'RATE_LIMIT_EXCEEDED' then 'FB429'
  when 'SUBMISSION_MERGED' then 'FBM09'
  when 'SURVEY_NOT_OPEN' then 'FBS09'
  when 'ALREADY_RESPONDED' then 'FBR09'
  when 'SURVEY_HAS_RESPONSES' then 'FBH09'
  when 'SERVICE_UNAVAILABLE' then 'FB503'
  else 'FB500'
end;
comment on function private.error_state(text) is
  'SQLSTATE of an error code. shared/errors.ts holds the same table; a test compares both.';

create function private.raise_error(code text, message text, field text default null,
  extra jsonb default '{}') returns void
language plpgsql set search_path = '' as $$
begin
  raise exception using
    errcode = private.error_state(code),
    message = message,
    detail = (jsonb_build_object('code', code, 'field', field) || extra)::text;
end
$$;
comment on function private.raise_error(text, text, text, jsonb) is
  'Raises an API error: the SQLSTATE of the code, the message, and DETAIL as JSON {code, field, …extra}. '
  'All SQL code raises errors through this function.';

-- Retention -------------------------------------------------------------------------------------------------

create function private.retention(kind text) returns interval
language plpgsql immutable set search_path = '' as $$
begin
  -- No ELSE: an unknown kind must raise an error; null would keep its rows forever.
  case kind
    -- More than two days: subscriptions last one day, and the first page of the change feed leaves a day to
    -- continue.
    when 'events' then return interval '30 days';
    when 'agent_calls' then return interval '400 days';
    when 'idempotency_keys' then return interval '1 day';
    when 'rate_counters' then return interval '2 hours';
    when 'expired_invites' then return interval '30 days';
    when 'expired_subscriptions' then return interval '1 day';
    when 'stalled_uploads' then return interval '2 minutes';
    when 'stalled_imports' then return interval '7 days';
    when 'cron_log' then return interval '1 day';
  end case;
end
$$;
comment on function private.retention(text) is
  'How long rows of a kind are kept; everything that deletes them or answers for it reads it here. '
  'docs/data-model.md lists the kinds. CASE_NOT_FOUND for an unknown one.';

-- Text ------------------------------------------------------------------------------------------------------

create function private.trim_text(value text) returns text
language sql immutable
return btrim(value,
  E' \t\n\u000B\f\r\u0085\u00A0\u1680\u2000\u2001\u2002\u2003'
    '\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000\uFEFF');
comment on function private.trim_text(text) is
  'Trims white space, including Unicode white space, from both ends. Same characters as shared/text.ts.';

create function private.is_slug(value text) returns boolean
language sql immutable
return value ~ '^[a-z0-9]+(-[a-z0-9]+)*$' and char_length(value) <= 64;
comment on function private.is_slug(text) is
  'Lowercase ASCII letters, digits and single hyphens, at most 64 characters. ASCII only, so that slugs '
  'cannot imitate each other.';

create function private.are_origins(value text[]) returns boolean
language sql immutable
return cardinality(value) <= 50 and array_position(value, null) is null
  and not exists (select from unnest(value) as origin where origin !~ '^https?://[a-z0-9.:\[\]-]+$');
comment on function private.are_origins(text[]) is
  'At most 50 origins, each scheme, host and optional port; no wildcard and no null.';

create function private.locales() returns text[]
language sql immutable
return array['en', 'es', 'fr', 'de', 'ru', 'pt-BR', 'ja', 'it'];
comment on function private.locales() is 'The languages of the service: the same as shared/locales.ts.';

create function private.are_translations(value jsonb) returns boolean
language sql immutable
return jsonb_typeof(value) = 'object'
  and not exists (select from jsonb_each(value) as t (locale, name)
    where jsonb_typeof(name) <> 'string' or locale <> all (private.locales()));
comment on function private.are_translations(jsonb) is
  'A JSON object that maps locales of shared/locales.ts to text.';

create function private.localized(name text, translations jsonb, locale text) returns text
language sql immutable
return coalesce(nullif(translations ->> locale, ''), name);
comment on function private.localized(text, jsonb, text) is
  'The translation for the locale, or the English name if there is none.';

-- Who is calling --------------------------------------------------------------------------------------------

-- private.assume_caller sets these settings for one transaction. Clients of the data API cannot set them.

create function private.is_key() returns boolean
language sql stable
return coalesce(current_setting('role', true), '') = 'service_key';
comment on function private.is_key() is
  'Whether the caller is an organization key or an agent key, not a user.';

create function private.has_scope(scope text) returns boolean
language sql stable
return private.is_key() and scope = any
  (string_to_array(coalesce(current_setting('feedback.scopes', true), ''), ' '));
comment on function private.has_scope(text) is 'Whether the caller is a key that has the scope.';

create function private.key_organization_id() returns uuid
language sql stable
return case when private.is_key()
  then nullif(current_setting('feedback.organization_id', true), '')::uuid end;
comment on function private.key_organization_id() is
  'Organization of the calling key; null for other callers.';

-- plpgsql, so that service_key needs no privileges on schema auth.
create function private.caller_id() returns uuid
language plpgsql stable set search_path = '' as $$
begin
  if private.is_key() then
    return nullif(current_setting('feedback.profile_id', true), '')::uuid;
  end if;
  return auth.uid();
end
$$;
comment on function private.caller_id() is
  'Profile id of the caller: the signed-in user, or the profile of the key; null for an anonymous request.';

create function private.agent_id() returns uuid
language sql stable
return case when private.is_key() then nullif(current_setting('feedback.agent_id', true), '')::uuid end;
comment on function private.agent_id() is
  'Id of the calling agent, which equals its profile id; null for other callers.';

create function private.events_suppressed() returns boolean
language sql stable
return coalesce(current_setting('feedback.suppress_events', true), '') in ('on', 'import');
comment on function private.events_suppressed() is
  'Whether the current statement is part of a larger operation (creation, merge, import) that emits its own '
  'event, so that row triggers emit none.';

create function private.is_importing() returns boolean
language sql stable
return coalesce(current_setting('feedback.suppress_events', true), '') = 'import';
comment on function private.is_importing() is
  'Whether an import is writing. Triggers then emit no events, require no approval and add no automatic '
  'vote or follow.';

create function private.is_direct() returns boolean
language sql stable
return session_user <> 'feedback_api'
  and coalesce(current_setting('role', true), '') in ('anon', 'authenticated')
  and pg_trigger_depth() = 1
  and not private.events_suppressed();
comment on function private.is_direct() is
  'In a trigger: whether a client of the data API made this change itself. False for the edge functions '
  '(private.admit_request charges their rate limits), cascades and operators.';

create function private.editable_columns(of_table regclass) returns text[]
language plpgsql stable set search_path = '' as $$
begin
  return array(select a.attname::text from pg_catalog.pg_attribute a
    where a.attrelid = of_table and a.attnum > 0 and not a.attisdropped
      and has_column_privilege('authenticated', of_table, a.attnum, 'update') order by a.attnum);
end
$$;
comment on function private.editable_columns(regclass) is
  'The columns of a table that its grants let a signed-in person change.';

create function private.touch_updated_at() returns trigger
language plpgsql set search_path = '' as $$
begin
  new.updated_at := now();
  return new;
end
$$;
comment on function private.touch_updated_at() is 'Trigger: sets updated_at when content changes.';

grant execute on function private.error_state(text), private.raise_error(text, text, text, jsonb),
  private.is_key(), private.caller_id() to anon, authenticated, service_role, service_key, feedback_api;
grant execute on function private.trim_text(text), private.is_direct(), private.events_suppressed(),
  private.is_importing() to authenticated, service_role, service_key, feedback_api;
grant execute on function private.is_slug(text), private.are_origins(text[]),
  private.are_translations(jsonb) to service_role, feedback_api;
grant execute on function private.locales() to authenticated, service_role, service_key, feedback_api;
grant execute on function private.editable_columns(regclass) to authenticated;
grant execute on function private.localized(text, jsonb, text)
  to anon, authenticated, service_key, feedback_api;
grant execute on function private.has_scope(text) to authenticated, service_key, feedback_api;
grant execute on function private.key_organization_id() to service_key, feedback_api;
grant execute on function private.agent_id() to feedback_api;

-- Organizations, profiles, memberships, categories and tags.

-- Organizations ---------------------------------------------------------------------------------------------


create function private.is_time_zone(value text) returns boolean
language plpgsql immutable set search_path = '' as $$
begin
  perform now() at time zone value;
  return value ~ '^[A-Za-z][A-Za-z0-9_+/-]{0,63}$';
exception when invalid_parameter_value then
  return false;
end
$$;
comment on function private.is_time_zone(text) is 'Whether Postgres knows a time zone with this name.';

create table public.organizations (
  id uuid primary key default gen_random_uuid(),
  slug text not null constraint organization_slugs_are_unique unique,
  name text not null,
  visibility text not null default 'public',
  is_default boolean not null default false,
  require_approval boolean not null default false,
  trust_after integer,
  anonymous_may text not null default 'read',
  time_zone text not null default 'UTC',
  allowed_origins text[] not null default '{}',
  settings jsonb not null default '{}',
  brand_color text,
  logo_url text,
  allow_indexing boolean not null default true,
  max_submissions integer,
  max_members integer,
  max_surveys integer,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint slug_is_lowercase_ascii check (private.is_slug(slug)),
  constraint name_has_1_to_100_characters check (char_length(name) between 1 and 100),
  constraint visibility_is_public_or_private check (visibility in ('public', 'private')),
  constraint time_zone_is_known check (private.is_time_zone(time_zone)),
  constraint settings_are_a_small_object check
    (jsonb_typeof(settings) = 'object' and octet_length(settings::text) <= 20000),
  constraint trust_after_is_1_to_1000 check (trust_after between 1 and 1000),
  constraint anonymous_may_is_known check (anonymous_may in ('read', 'vote', 'participate')),
  constraint allowed_origins_are_origins check (private.are_origins(allowed_origins)),
  constraint brand_color_is_a_hex_triplet check (brand_color ~ '^#[0-9a-f]{6}$'),
  constraint logo_url_is_an_https_address check
    (logo_url ~ '^https://\S+$' and char_length(logo_url) <= 2000),
  constraint plan_limits_are_not_negative check (least(max_submissions, max_members, max_surveys) >= 0)
);
comment on table public.organizations is
  'A tenant: one board of feedback, its surveys and its team. settings are the team''s own, which the '
  'service keeps and does not read. brand_color and logo_url are for its pages, null for the service''s '
  'own; allow_indexing is whether search engines may list these pages, where the board is public. '
  'anonymous_may is what users without an account of their own may do. Plan limits are null for none.';
create unique index at_most_one_default_organization on public.organizations (is_default) where is_default;
create trigger touch_updated_at before update on public.organizations
  for each row execute function private.touch_updated_at();

-- People ----------------------------------------------------------------------------------------------------


create table public.profiles (
  id uuid primary key default gen_random_uuid(),
  kind text not null default 'user',
  auth_user_id uuid constraint one_profile_a_user unique references auth.users (id) on delete set null,
  organization_id uuid references public.organizations (id) on delete cascade,
  email text,
  name text,
  avatar_url text,
  locale text,
  is_anonymous boolean not null default false,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint kind_is_known check (kind in ('user', 'email', 'key', 'agent', 'anonymous')),
  constraint only_users_span_organizations check ((kind = 'user') = (organization_id is null)),
  constraint email_authors_have_an_email check (kind <> 'email' or email is not null),
  constraint name_has_1_to_100_characters check (char_length(name) between 1 and 100),
  constraint avatar_url_is_a_web_address check
    (avatar_url ~ '^https?://\S+$' and char_length(avatar_url) <= 2000),
  constraint locale_is_known check (locale = any (private.locales()))
);
comment on table public.profiles is
  'Actors: a user, an e-mail author known to one organization, an API key, an agent, or a profile without '
  'address (erased, or imported by name). The id of a user profile equals the auth user id. email is never '
  'granted to clients. locale: the language chosen for the pages, read by nobody else. is_anonymous: the '
  'user signed in anonymously (Supabase anonymous sign-ins).';
create unique index one_email_author_an_organization on public.profiles (organization_id, lower(email))
  where kind = 'email';
create index profiles_email_idx on public.profiles (lower(email)) where kind = 'user';
create trigger touch_updated_at before update on public.profiles
  for each row execute function private.touch_updated_at();

-- definer: the role of the auth service has no write privileges in schema public.
create function private.sync_profile_of_user() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if new.deleted_at is not null then
    update public.profiles set auth_user_id = null where auth_user_id = new.id;
    return null;
  end if;
  insert into public.profiles as p (id, kind, auth_user_id, email, name, is_anonymous)
  values (
    new.id, 'user', new.id, new.email,
    left(nullif(private.person_name(coalesce(new.raw_user_meta_data ->> 'name',
      new.raw_user_meta_data ->> 'full_name')), ''), 100),
    new.is_anonymous
  )
  on conflict (id) do update set email = excluded.email, is_anonymous = excluded.is_anonymous
  where p.auth_user_id is not null;
  return null;
end
$$;
comment on function private.sync_profile_of_user() is
  'Trigger on auth.users: keeps one profile with the same id for each user. The name comes from sign-up, '
  'never from the address. A soft-deleted user is anonymized like a deleted one.';
create trigger keep_profile after insert or update of email, is_anonymous, deleted_at on auth.users
  for each row execute function private.sync_profile_of_user();

create function private.person_name(value text) returns text
language sql immutable
return private.trim_text(regexp_replace(value, '[[:cntrl:]\u200B\u202A-\u202E\u2066-\u2069]', '', 'g'));
comment on function private.person_name(text) is
  'A display name: trimmed, without invisible characters that could imitate another name.';

create function private.clean_name() returns trigger
language plpgsql set search_path = '' as $$
begin
  new.name := private.person_name(new.name);
  return new;
end
$$;
comment on function private.clean_name() is 'Trigger: normalizes names with private.person_name.';
create trigger clean_name before insert or update of name on public.profiles
  for each row execute function private.clean_name();

-- definer: deletes the memberships of the user.
create function private.anonymize_deleted_user() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  delete from public.memberships where user_id = new.id;
  new.email := null;
  new.name := null;
  new.avatar_url := null;
  new.locale := null;
  return new;
end
$$;
comment on function private.anonymize_deleted_user() is
  'Trigger: when an auth user is deleted, the profile stays without name and address, so that counts and '
  'threads stay complete.';
create trigger forget_person before update of auth_user_id on public.profiles
  for each row when (old.auth_user_id is not null and new.auth_user_id is null)
  execute function private.anonymize_deleted_user();

create table public.memberships (
  organization_id uuid not null references public.organizations (id) on delete cascade,
  user_id uuid not null references public.profiles (id) on delete cascade,
  role text not null default 'member',
  created_at timestamptz not null default now(),
  primary key (organization_id, user_id),
  constraint role_is_known check (role in ('owner', 'admin', 'member'))
);
comment on table public.memberships is
  'Team of an organization. Every membership makes a team member; owner and admin count as Admin.';
create index memberships_user_id_idx on public.memberships (user_id, organization_id);

-- definer: policies call it, so it must read memberships without applying policies.
create function private.team_organization_ids() returns uuid[]
language plpgsql stable security definer set search_path = '' as $$
declare own_id uuid := auth.uid();
begin
  if private.is_key() then
    return case
      when private.has_scope('submissions:read') or private.has_scope('submissions:moderate')
        then array[private.key_organization_id()]
      else '{}'
    end;
  end if;
  if own_id is null then return '{}'; end if;
  return array(select organization_id from public.memberships where user_id = own_id);
end
$$;
comment on function private.team_organization_ids() is
  'Organizations whose private boards and pending posts the caller may read: memberships of a user; the '
  'organization of a key with submissions:read or submissions:moderate.';

-- definer: policies call it, so it must read memberships without applying policies.
create function private.admin_organization_ids(scope text) returns uuid[]
language plpgsql stable security definer set search_path = '' as $$
begin
  if private.is_key() then
    return case when private.has_scope(scope) then array[private.key_organization_id()] else '{}' end;
  end if;
  return coalesce((select array_agg(organization_id) from public.memberships
    where user_id = auth.uid() and role in ('owner', 'admin')), '{}');
end
$$;
comment on function private.admin_organization_ids(text) is
  'Organizations the caller administers: where a user is owner or admin; the organization of a key with the '
  'given scope.';

create function private.is_admin(organization_id uuid, scope text) returns boolean
language plpgsql stable set search_path = '' as $$
begin
  return organization_id = any (private.admin_organization_ids(scope));
end
$$;
comment on function private.is_admin(uuid, text) is
  'Whether the caller is Admin of the organization: an owner or admin, or a key with the scope.';

create function private.require_admin(organization_id uuid, scope text) returns uuid
language plpgsql stable set search_path = '' as $$
begin
  if not private.is_admin(organization_id, scope) then
    perform private.raise_error('FORBIDDEN', case
      when private.is_key() then format('This key lacks the scope %s.', scope)
      else 'Only admins of the organization may do this.' end);
  end if;
  return organization_id;
end
$$;
comment on function private.require_admin(uuid, text) is
  'Returns the organization if the caller is its Admin (a key needs the scope); raises FORBIDDEN otherwise.';

-- definer: reads memberships, which non-members cannot see; everyone sees the team badge.
create function private.is_member(organization_id uuid, profile_id uuid) returns boolean
language plpgsql stable security definer set search_path = '' as $$
begin
  return exists (select from public.memberships m where m.organization_id = is_member.organization_id
    and m.user_id = profile_id);
end
$$;
comment on function private.is_member(uuid, uuid) is
  'Whether the profile has a membership in the organization.';

-- definer: reads organization settings that are not granted.
create function private.needs_approval(organization_id uuid, profile_id uuid) returns boolean
language plpgsql stable security definer set search_path = '' as $$
begin
  return private.caller_id() is not null
    and exists (select from public.organizations o
      where o.id = needs_approval.organization_id and o.require_approval)
    and not private.is_member(organization_id, profile_id)
      and not private.is_trusted(organization_id, profile_id);
end
$$;
comment on function private.needs_approval(uuid, uuid) is
  'Whether new content of the profile requires approval: the organization requires it, and the profile is '
  'neither on its team nor trusted. Never for operators.';

-- definer: reads profiles. Call it only for rows the caller can see.
create function private.author(profile_id uuid, organization_id uuid) returns json
language plpgsql stable security definer set search_path = '' as $$
begin
  return (
  select json_build_object(
    'id', p.id, 'name', coalesce(p.name, 'Anonymous'), 'avatar', p.avatar_url,
    'is_team_member', exists (select from public.memberships m
      where m.organization_id = author.organization_id and m.user_id = p.id))
  from public.profiles p where p.id = profile_id
);
end
$$;
comment on function private.author(uuid, uuid) is
  'Public JSON of a profile: {id, name, avatar, is_team_member}.';

-- definer: profiles are not readable as a whole. Volatile, so that it sees an author that
-- private.author_of_key inserted in the same statement.
create function private.is_author_of_key(profile_id uuid) returns boolean
language plpgsql volatile security definer set search_path = '' as $$
begin
  return private.is_key() and exists (
  select from public.profiles p
  where p.id = profile_id and p.organization_id = private.key_organization_id()
    and (p.id = private.caller_id() or p.kind = 'email' and private.agent_id() is null));
end
$$;
comment on function private.is_author_of_key(uuid) is
  'Whether a key may act as the profile: its own profile, or an e-mail author of its organization; never a '
  'user. An agent acts as itself only.';

create function private.may_act_as(profile_id uuid) returns boolean
language plpgsql volatile set search_path = '' as $$
begin
  return coalesce(case when private.is_key()
    then private.has_scope('submissions:write') and private.is_author_of_key(profile_id)
  else profile_id = private.caller_id() end, false);
end
$$;
comment on function private.may_act_as(uuid) is
  'Whether the caller may vote, comment and submit as the profile: a user as themselves, a key with '
  'submissions:write as its own profile or as an e-mail author.';

-- definer: inserts profiles, which keys cannot.
create function private.author_of_key(email text, name text) returns uuid
language plpgsql security definer set search_path = '' as $$
#variable_conflict use_column
declare author_id uuid;
begin
  if author_of_key.email is null then return private.caller_id(); end if;
  if not private.has_scope('submissions:write') then
    perform private.raise_error('FORBIDDEN', 'This key lacks the scope submissions:write.');
  end if;
  select p.id into author_id from public.profiles p
  where p.kind = 'email' and p.organization_id = private.key_organization_id()
    and lower(p.email) = lower(author_of_key.email);
  if author_id is null then
    insert into public.profiles as p (kind, organization_id, email, name)
    values ('email', private.key_organization_id(), lower(author_of_key.email), author_of_key.name)
    on conflict (organization_id, lower(email)) where kind = 'email'
      do update set name = coalesce(p.name, excluded.name)
    returning id into author_id;
  elsif author_of_key.name is not null then
    update public.profiles p set name = author_of_key.name
      where p.id = author_id and p.name is distinct from author_of_key.name;
  end if;
  return author_id;
end
$$;
comment on function private.author_of_key(text, text) is
  'Profile a key acts as: the e-mail author with this address, inserted when new; without an address the '
  'profile of the key.';

create function private.default_organization_id() returns uuid
-- definer: the only organization may be private
language plpgsql stable security definer set search_path = '' as $$
declare ids uuid[];
begin
  ids := array(select id from public.organizations limit 2);
  return case when cardinality(ids) = 1 then ids[1]
    else (select id from public.organizations where is_default) end;
end
$$;
comment on function private.default_organization_id() is
  'The only organization, or the one with is_default; null if there is neither.';

-- definer: reads memberships and private organizations to decide visibility.
create function private.find_organization(hint text, caller_id uuid) returns uuid
language plpgsql stable security definer set search_path = '' as $$
declare found_id uuid; found_visibility text;
begin
  if hint is null then
    found_id := private.default_organization_id();
  elsif hint ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then
    found_id := hint::uuid;
  else
    found_id := (select id from public.organizations where slug = lower(hint));
  end if;
  found_visibility := (select visibility from public.organizations where id = found_id);
  return case when found_visibility = 'public' or found_visibility = 'private'
    and private.is_member(found_id, caller_id) then found_id end;
end
$$;
comment on function private.find_organization(text, uuid) is
  'Organization by id or slug (null: the default organization) if the profile may see it; null otherwise.';

create function private.requested_organization_id() returns uuid
language sql stable
return nullif(current_setting('feedback.organization_id', true), '')::uuid;
comment on function private.requested_organization_id() is
  'Organization of this request: that of the key, the one named by header or parameter, or the default. Set '
  'by private.assume_caller.';

create function private.current_organization_id() returns uuid
language plpgsql stable set search_path = '' as $$
declare current_id uuid := private.requested_organization_id();
begin
  if current_id is null then
    perform private.raise_error('NOT_FOUND',
      'Name an organization you can see in X-Organization, by id or slug.', 'organization');
  end if;
  return current_id;
end
$$;
comment on function private.current_organization_id() is
  'Like private.requested_organization_id, but raises NOT_FOUND instead of returning null.';

-- What an agent's policies narrow (60_agents.sql) -----------------------------------------------------------


-- definer: agents are not granted. Read in each statement, so that a policy change takes effect at once.
create function private.agent_category_ids() returns uuid[]
language plpgsql stable security definer set search_path = '' as $$
declare own_id uuid := private.agent_id();
begin
  return case when own_id is not null then (select a.category_ids from private.agents a where a.id = own_id)
    end;
end
$$;
comment on function private.agent_category_ids() is
  'Categories the calling agent is restricted to; null without restriction and for other callers.';

create function private.agent_survey_ids() returns uuid[]
language plpgsql stable security definer set search_path = '' as $$ -- definer: accesses private tables
declare own_id uuid := private.agent_id();
begin
  return case when own_id is not null then (select a.survey_ids from private.agents a where a.id = own_id)
    end;
end
$$;
comment on function private.agent_survey_ids() is
  'Surveys the calling agent is restricted to; null without restriction and for other callers.';

grant execute on function private.agent_category_ids(), private.agent_survey_ids() to service_key;

-- Categories and tags ---------------------------------------------------------------------------------------


create table public.categories (
  id uuid primary key default gen_random_uuid(),
  organization_id uuid not null references public.organizations (id) on delete cascade,
  name text not null,
  slug text not null,
  color text not null default '#6b7280',
  position integer not null default 0,
  translations jsonb not null default '{}',
  created_at timestamptz not null default now(),
  constraint category_slugs_are_unique unique (organization_id, slug),
  constraint categories_belong_to_their_organization unique (organization_id, id),
  constraint slug_is_lowercase_ascii check (private.is_slug(slug)),
  constraint name_has_1_to_100_characters check (char_length(name) between 1 and 100),
  constraint color_is_a_hex_triplet check (color ~ '^#[0-9a-f]{6}$'),
  constraint translations_are_by_locale check
    (private.are_translations(translations) and char_length(translations::text) <= 4000)
);
comment on table public.categories is
  'Categories of an organization; a submission has at most one. name is English; translations maps locales '
  'to names.';

create table public.tags (
  id uuid primary key default gen_random_uuid(),
  organization_id uuid not null references public.organizations (id) on delete cascade,
  name text not null,
  slug text not null,
  color text not null default '#6b7280',
  translations jsonb not null default '{}',
  created_at timestamptz not null default now(),
  constraint tag_slugs_are_unique unique (organization_id, slug),
  constraint tags_belong_to_their_organization unique (organization_id, id),
  constraint slug_is_lowercase_ascii check (private.is_slug(slug)),
  constraint name_has_1_to_100_characters check (char_length(name) between 1 and 100),
  constraint color_is_a_hex_triplet check (color ~ '^#[0-9a-f]{6}$'),
  constraint translations_are_by_locale check
    (private.are_translations(translations) and char_length(translations::text) <= 4000)
);
comment on table public.tags is
  'Tags of an organization; a submission has any number. name is English; translations maps locales to '
  'names.';

-- Operators -------------------------------------------------------------------------------------------------


create function private.create_organization(name text, slug text, visibility text, owner_email text)
  returns uuid
language plpgsql set search_path = '' as $$
declare owner_id uuid; organization_id uuid;
begin
  select id into owner_id from public.profiles p
    where p.kind = 'user' and lower(p.email) = lower(owner_email);
  if owner_id is null then
    perform private.raise_error('NOT_FOUND', format('No user signs in with the address %s.', owner_email),
      'owner_email');
  end if;
  insert into public.organizations (name, slug, visibility) values (name, slug, visibility)
    returning id into organization_id;
  insert into public.memberships (organization_id, user_id, role) values (organization_id, owner_id, 'owner');
  return organization_id;
end
$$;
comment on function private.create_organization(text, text, text, text) is
  'For operators: creates an organization owned by the user with this e-mail address. Raises NOT_FOUND if '
  'there is no such user.';

-- Rights ----------------------------------------------------------------------------------------------------


alter table public.organizations enable row level security;
alter table public.profiles enable row level security;
alter table public.memberships enable row level security;
alter table public.categories enable row level security;
alter table public.tags enable row level security;

revoke all on public.organizations, public.profiles, public.memberships, public.categories, public.tags
  from public, anon, authenticated, service_role, service_key;
grant select (id, slug, name, visibility, time_zone, allow_indexing, created_at) on public.organizations to
  anon, authenticated, service_key;
grant select (id, kind, name, avatar_url, created_at) on public.profiles to anon, authenticated, service_key;
grant update (name, avatar_url, locale) on public.profiles to authenticated;
grant select on public.memberships to authenticated;
grant select on public.categories, public.tags to anon, authenticated, service_key;
grant select, insert, update, delete on public.organizations, public.profiles, public.memberships,
  public.categories, public.tags
  to service_role;

grant execute on function private.is_time_zone(text) to service_role;
grant execute on function private.person_name(text) to authenticated, service_role;
grant execute on function private.team_organization_ids(), private.author(uuid, uuid),
  private.author_of_key(text, text), private.current_organization_id() to anon, authenticated, service_key;
grant execute on function private.admin_organization_ids(text), private.is_admin(uuid, text),
  private.require_admin(uuid, text), private.requested_organization_id()
  to anon, authenticated, service_role, service_key;
grant execute on function private.is_author_of_key(uuid), private.may_act_as(uuid)
  to authenticated, service_key;
grant execute on function private.default_organization_id() to authenticated, service_role, service_key;

create policy "a public board is seen by all, a private one by its team" on public.organizations
  for select to anon, authenticated using (
    visibility = 'public' or id = any ((select private.team_organization_ids())::uuid[]));
create policy "a key sees its organization" on public.organizations
  for select to service_key using (id = (select private.key_organization_id()));

create policy "members see their team" on public.memberships
  for select to authenticated using (
    user_id = (select auth.uid()) or organization_id = any
      ((select private.team_organization_ids())::uuid[]));

create policy "members see their team's profiles" on public.profiles
  for select to authenticated using (
    exists (select from public.memberships m where m.user_id = profiles.id));
create policy "people change their own profile" on public.profiles
  for update to authenticated using (auth_user_id = (select auth.uid()))
    with check (auth_user_id = (select auth.uid()));

create policy "categories are seen with their organization" on public.categories
  for select to anon, authenticated, service_key using (
    exists (select from public.organizations o where o.id = organization_id));
create policy "tags are seen with their organization" on public.tags
  for select to anon, authenticated, service_key using (
    exists (select from public.organizations o where o.id = organization_id));
-- The policies on profiles are in 22_comments.sql: a profile is visible if something it wrote is visible.

-- Submissions, their tags, status history and visibility. Foreign keys to profiles are deferred, so that an
-- organization can be deleted with all its rows in any order.

create table public.submissions (
  id uuid primary key default gen_random_uuid(),
  organization_id uuid not null default private.requested_organization_id() references public.organizations
    (id) on delete cascade,
  title text not null,
  description text not null,
  type text not null,
  status text not null default 'open',
  vote_count integer not null default 0,
  comment_count integer not null default 0,
  author_id uuid not null default private.caller_id() references public.profiles (id) deferrable initially
    deferred,
  category_id uuid,
  source text,
  tracker_issue_url text,
  moderation_state text not null default 'approved',
  is_public boolean not null default false,
  merged_into_id uuid,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint submissions_belong_to_their_organization unique (organization_id, id),
  constraint submissions_category_is_of_the_same_organization foreign key (organization_id, category_id)
    references public.categories (organization_id, id) on delete set null (category_id),
  constraint submissions_merge_target_is_of_the_same_organization foreign key
    (organization_id, merged_into_id)
    references public.submissions (organization_id, id),
  constraint title_has_5_to_200_characters check (char_length(title) between 5 and 200),
  constraint description_has_20_to_5000_characters check (char_length(description) between 20 and 5000),
  constraint type_is_idea_or_problem check (type in ('idea', 'problem')),
  constraint status_is_known check (
    status in ('open', 'under_review', 'planned', 'in_progress', 'completed', 'declined', 'duplicate')),
  constraint only_merged_submissions_are_duplicates check
    ((status = 'duplicate') = (merged_into_id is not null)),
  constraint moderation_state_is_known check
    (moderation_state in ('approved', 'pending', 'rejected', 'spam')),
  constraint source_has_1_to_64_characters check (char_length(source) between 1 and 64),
  constraint tracker_issue_url_is_a_web_address check
    (tracker_issue_url ~ '^https?://\S+$' and char_length(tracker_issue_url) <= 2000),
  constraint counts_are_not_negative check (vote_count >= 0 and comment_count >= 0)
);
comment on table public.submissions is
  'Feedback: an idea or a problem. Triggers maintain vote_count and comment_count (approved comments). '
  'is_public: anyone may see it, because the board is public and the submission is approved. merged_into_id '
  'points to the merge target; merged submissions are excluded from lists.';

-- One index for each sort order, led by the columns that every list filters by.
create index submissions_newest_idx on public.submissions (organization_id, created_at desc, id desc)
  where merged_into_id is null;
create index submissions_most_voted_idx on public.submissions (organization_id, vote_count desc, id desc)
  where merged_into_id is null;
create index submissions_most_commented_idx on public.submissions
  (organization_id, comment_count desc, id desc) where merged_into_id is null;
create index submissions_title_idx on public.submissions (organization_id, title desc, id desc)
  where merged_into_id is null;
create index submissions_status_idx on public.submissions (organization_id, status, created_at desc, id desc)
  where merged_into_id is null;
create index submissions_status_votes_idx on public.submissions
  (organization_id, status, vote_count desc, id desc) where merged_into_id is null;
-- Serves selective filters, for which a scan of a sorted index would read most of the board.
create index submissions_kind_idx on public.submissions (organization_id, type, status, category_id)
  where merged_into_id is null;
create index submissions_category_idx on public.submissions
  (organization_id, category_id, created_at desc, id desc);
create index submissions_author_idx on public.submissions
  (author_id, organization_id, created_at desc, id desc);
create index submissions_merged_idx on public.submissions (organization_id, merged_into_id)
  where merged_into_id is not null;
create index submissions_not_public_idx on public.submissions (organization_id, author_id)
  where not is_public;

create table public.submission_tags (
  organization_id uuid not null default private.requested_organization_id(),
  submission_id uuid not null,
  tag_id uuid not null,
  merged_from uuid,
  primary key (organization_id, submission_id, tag_id),
  constraint one_of_each_tag unique (submission_id, tag_id),
  constraint submission_tags_submission_is_of_the_same_organization foreign key
    (organization_id, submission_id)
    references public.submissions (organization_id, id) on delete cascade,
  constraint submission_tags_tag_is_of_the_same_organization foreign key (organization_id, tag_id)
    references public.tags (organization_id, id) on delete cascade
);
comment on table public.submission_tags is
  'Tags of submissions. merged_from: the merged source the tag came from (92_merge.sql); null for the '
  'submission''s own tags.';
create index submission_tags_tag_idx on public.submission_tags (organization_id, tag_id, submission_id);

create table public.status_changes (
  id uuid primary key default gen_random_uuid(),
  organization_id uuid not null default private.requested_organization_id(),
  submission_id uuid not null,
  previous_status text not null default 'open',
  new_status text not null,
  changed_by uuid references public.profiles (id) deferrable initially deferred,
  note text,
  notify boolean not null default true,
  created_at timestamptz not null default now(),
  constraint status_changes_submission_is_of_the_same_organization foreign key
    (organization_id, submission_id)
    references public.submissions (organization_id, id) on delete cascade,
  constraint status_is_known check (
    new_status in ('open', 'under_review', 'planned', 'in_progress', 'completed', 'declined', 'duplicate')),
  constraint note_has_1_to_2000_characters check (char_length(note) between 1 and 2000)
);
comment on table public.status_changes is
  'Public status history. Inserting a row changes the status; a row that would not change it is dropped.';
create index status_changes_submission_idx on public.status_changes (submission_id, created_at desc, id desc);
create index status_changes_changed_by_idx on public.status_changes (changed_by);

-- Who sees a submission -------------------------------------------------------------------------------------

-- Inlined into policies. The two caller arguments are evaluated once for each statement.
create function private.can_see_submission(is_public boolean, author_id uuid, organization_id uuid,
  caller_id uuid, team_ids uuid[])
returns boolean language sql immutable
return is_public or author_id = caller_id or organization_id = any (team_ids);
comment on function private.can_see_submission(boolean, uuid, uuid, uuid, uuid[]) is
  'The visibility rule of submissions and their comments: public rows for everyone, own rows for the '
  'author, all rows of the organization for its team.';

alter table public.submissions enable row level security;
alter table public.submission_tags enable row level security;
alter table public.status_changes enable row level security;
revoke all on public.submissions, public.submission_tags, public.status_changes
  from public, anon, authenticated, service_role, service_key;
grant execute on function private.can_see_submission(boolean, uuid, uuid, uuid, uuid[])
  to anon, authenticated, service_key;

create policy "a submission is seen by whoever may see it" on public.submissions
  for select to anon, authenticated, service_key using (private.can_see_submission(
    is_public, author_id, organization_id,
    (select private.caller_id()), (select private.team_organization_ids())::uuid[]));
create policy "a key stays in its organization" on public.submissions
  as restrictive to service_key using (organization_id = (select private.key_organization_id()));
create policy "an agent keeps to its categories" on public.submissions
  as restrictive to service_key using (
    (select private.agent_category_ids()) is null or category_id = any
      ((select private.agent_category_ids())::uuid[]));
create policy "users submit as themselves to boards they see" on public.submissions
  for insert to authenticated with check (
    author_id = (select auth.uid())
      and exists (select from public.organizations o where o.id = organization_id));
create policy "keys submit for themselves and their e-mail authors" on public.submissions
  for insert to service_key with check (
    private.may_act_as(author_id));
create policy "authors and admins edit" on public.submissions
  for update to authenticated, service_key using (
    private.may_act_as(author_id)
    or organization_id = any ((select private.admin_organization_ids('submissions:moderate'))::uuid[]));
create policy "authors and admins delete" on public.submissions
  for delete to authenticated, service_key using (
    private.may_act_as(author_id)
    or organization_id = any ((select private.admin_organization_ids('submissions:moderate'))::uuid[]));

create policy "tags are seen with their submission" on public.submission_tags
  for select to anon, authenticated, service_key using (
    exists (select from public.submissions s where s.id = submission_id));
create policy "admins tag" on public.submission_tags
  for insert to authenticated, service_key with check (
    organization_id = any ((select private.admin_organization_ids('submissions:moderate'))::uuid[]));
create policy "admins untag" on public.submission_tags
  for delete to authenticated, service_key using (
    organization_id = any ((select private.admin_organization_ids('submissions:moderate'))::uuid[]));

create policy "history is seen with its submission" on public.status_changes
  for select to anon, authenticated, service_key using (
    exists (select from public.submissions s where s.id = submission_id));
create policy "admins change the status" on public.status_changes
  for insert to authenticated, service_key with check (
    organization_id = any ((select private.admin_organization_ids('submissions:moderate'))::uuid[]));

grant select (id, organization_id, title, description, type, status, vote_count, comment_count, author_id,
  category_id, source,
  tracker_issue_url, moderation_state, is_public, merged_into_id, created_at, updated_at)
  on public.submissions to anon, authenticated, service_key;
grant insert (id, organization_id, title, description, type, category_id),
  update (title, description, category_id, tracker_issue_url), delete
  on public.submissions to authenticated;
grant insert (id, organization_id, title, description, type, category_id, author_id, source),
  update (title, description, category_id, tracker_issue_url), delete
  on public.submissions to service_key;
grant select (organization_id, submission_id, tag_id) on public.submission_tags to anon, authenticated,
  service_key;
grant insert (organization_id, submission_id, tag_id), delete on public.submission_tags to authenticated,
  service_key;
grant select (id, organization_id, submission_id, previous_status, new_status, changed_by, note, created_at)
  on public.status_changes to anon, authenticated, service_key;
grant insert (organization_id, submission_id, new_status, note, notify) on public.status_changes to
  authenticated, service_key;
grant select, insert, delete, update (title, description, type, category_id, source, tracker_issue_url,
  moderation_state)
  on public.submissions to service_role;
grant select, insert, update, delete on public.submission_tags, public.status_changes to service_role;

-- What happens when one is made -----------------------------------------------------------------------------

-- definer: reads settings of private organizations. The row lock serializes this insert with changes of
-- visibility.
create function private.prepare_submission() returns trigger
language plpgsql security definer set search_path = '' as $$
declare organization public.organizations;
begin
  new.organization_id := coalesce(new.organization_id, private.default_organization_id());
  new.title := private.trim_text(new.title);
  new.description := private.trim_text(new.description);
  if new.organization_id is null then
    perform private.raise_error('VALIDATION_ERROR', 'Name the organization: there is more than one.',
      'organization_id');
  end if;
  select * into organization from public.organizations where id = new.organization_id for key share;
  if private.is_direct() then perform private.charge_direct('submission_create_user', 1); end if;
  if not private.is_importing() then
    if private.needs_approval(new.organization_id, new.author_id) then
      new.moderation_state := 'pending';
    end if;
    new.vote_count := 1;
  end if;
  new.is_public := organization.visibility = 'public' and new.moderation_state = 'approved';
  return new;
end
$$;
comment on function private.prepare_submission() is
  'Trigger: sets organization, author, moderation state and visibility, and starts vote_count at the '
  'author''s vote.';
create trigger prepare before insert on public.submissions
  for each row execute function private.prepare_submission();

-- definer: reads plan limits, which are not granted. The row lock serializes concurrent inserts.
create function private.enforce_submission_limit() returns trigger
language plpgsql security definer set search_path = '' as $$
declare organization public.organizations; used bigint;
begin
  for organization in
    select * from public.organizations o
    where o.max_submissions is not null and o.id in (select organization_id from added)
      order by o.id for no key update
  loop
    select count(*) into used from public.submissions s where s.organization_id = organization.id;
    if used > organization.max_submissions then
      perform private.raise_error('PLAN_LIMIT_REACHED',
        format('The plan allows %s submissions.', organization.max_submissions));
    end if;
  end loop;
  return null;
end
$$;
comment on function private.enforce_submission_limit() is 'Trigger: enforces the plan limit on submissions.';
create trigger keep_plan_limit after insert on public.submissions
  referencing new table as added for each statement execute function private.enforce_submission_limit();

-- definer: inserts the author's vote and follow and emits the event.
create function private.start_submission() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if private.is_importing() then return null; end if;
  perform set_config('feedback.suppress_events', 'on', true);
  insert into public.votes (organization_id, submission_id, user_id, created_at)
  values (new.organization_id, new.id, new.author_id, new.created_at);
  insert into public.follows (organization_id, submission_id, user_id, reason, created_at)
  values (new.organization_id, new.id, new.author_id, 'author', new.created_at);
  perform set_config('feedback.suppress_events', 'off', true);
  return null;
end
$$;
comment on function private.start_submission() is
  'Trigger: the author votes for and follows the new submission.';
create trigger start after insert on public.submissions
  for each row execute function private.start_submission();

-- definer: emits the event.
create function private.announce_submission() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if private.is_importing() then return null; end if;
  if tg_op = 'INSERT' or not private.is_announced('submission.created', new.id) then
    perform private.emit_event(new.organization_id, 'submission.created', new.id,
      jsonb_build_object('submission', jsonb_build_object(
      'id', new.id, 'title', new.title, 'description', new.description, 'type', new.type, 'status',
        new.status,
      'vote_count', new.vote_count, 'created_at', new.created_at)));
  end if;
  return null;
end
$$;
comment on function private.announce_submission() is
  'Trigger: emits submission.created once, when the submission is approved.';
create trigger announce after insert on public.submissions
  for each row when (new.moderation_state = 'approved') execute function private.announce_submission();
create trigger announce_approval after update of moderation_state on public.submissions
  for each row when (old.moderation_state <> 'approved' and new.moderation_state = 'approved')
  execute function private.announce_submission();

create function private.edit_submission() returns trigger
language plpgsql set search_path = '' as $$
begin
  new.title := private.trim_text(new.title);
  new.description := private.trim_text(new.description);
  if new.tracker_issue_url is distinct from old.tracker_issue_url and private.caller_id() is not null then
    perform private.require_admin(new.organization_id, 'submissions:moderate');
  end if;
  new.updated_at := now();
  return new;
end
$$;
comment on function private.edit_submission() is 'Trigger: trims text; only Admin may set tracker_issue_url.';
create trigger edit before update of title, description, category_id, tracker_issue_url on public.submissions
  for each row execute function private.edit_submission();

-- definer: writes rate limit counters.
create function private.charge_submission_edit() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if private.is_direct() then perform private.charge_direct('submission_update_user', 1); end if;
  return new;
end
$$;
comment on function private.charge_submission_edit() is
  'Trigger: charges the rate limit for edits by direct clients before the row changes.';
create trigger charge_edit before update of title, description, category_id,
  tracker_issue_url on public.submissions
  for each row execute function private.charge_submission_edit();

create function private.updated_submission(submission public.submissions) returns jsonb
language sql stable
return jsonb_build_object('submission', jsonb_build_object(
  'id', (submission).id, 'title', (submission).title, 'description', (submission).description, 'type',
    (submission).type,
  'status', (submission).status, 'vote_count', (submission).vote_count, 'category_id',
    (submission).category_id,
  'merged_into_id', (submission).merged_into_id, 'created_at', (submission).created_at, 'updated_at',
    (submission).updated_at));
comment on function private.updated_submission(public.submissions) is 'Payload of submission.updated.';

-- definer: emits the event.
create function private.announce_edit() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if private.events_suppressed() then return null; end if;
  if (new.title, new.description) is distinct from (old.title, old.description)
    and private.needs_approval(new.organization_id, private.caller_id()) then
    update public.submissions set moderation_state = 'pending' where id = new.id;
    return null;
  end if;
  perform private.emit_event(new.organization_id, 'submission.updated', new.id,
    private.updated_submission(new));
  return null;
end
$$;
comment on function private.announce_edit() is
  'Trigger: emits submission.updated. A text change of content that required approval makes it pending '
  'again.';
create trigger announce_edit after update of title, description, category_id,
  tracker_issue_url on public.submissions
  for each row when (new.moderation_state = 'approved'
    and (old.title, old.description, old.category_id, old.tracker_issue_url)
      is distinct from (new.title, new.description, new.category_id, new.tracker_issue_url))
  execute function private.announce_edit();

-- A merge target holds votes of its sources. Deleting it would lose them, so unmerge first.
create function private.protect_merge_target() returns trigger
language plpgsql security definer set search_path = '' as $$ -- definer: the caller may not see all sources
begin
  if exists (select from public.submissions
    where organization_id = old.organization_id and merged_into_id = old.id)
    and exists (select from public.organizations where id = old.organization_id) then
    perform private.raise_error('CONFLICT',
      'Other submissions are merged into this one: unmerge them first.');
  end if;
  return old;
end
$$;
comment on function private.protect_merge_target() is
  'Trigger: rejects the deletion of a submission that is a merge target.';
create trigger keep_merge_target before delete on public.submissions
  for each row execute function private.protect_merge_target();

-- definer: skips the policies on tags. Call it only for submissions the caller can see.
create function private.tags_of(submission_ids uuid[]) returns table (submission_id uuid, slugs json)
language plpgsql stable security definer set search_path = '' rows 50 as $$
begin
  return query
    select st.submission_id, json_agg(t.slug order by t.slug)
    from public.submission_tags st join public.tags t on t.id = st.tag_id
    where st.submission_id = any (submission_ids) group by 1;
end
$$;
comment on function private.tags_of(uuid[]) is 'Tag slugs of submissions that the caller can see.';
grant execute on function private.tags_of(uuid[]) to anon, authenticated, service_key;

-- Status ----------------------------------------------------------------------------------------------------

-- Invoker: rows the caller cannot see are not found, and the lock requires permission to update.
create function private.prepare_status_change() returns trigger
language plpgsql set search_path = '' as $$
declare submission public.submissions;
begin
  -- Imports and merges write the history themselves.
  if private.events_suppressed() then return new; end if;
  select * into submission from public.submissions where id = new.submission_id for no key update;
  if submission.id is null then
    if exists (select from public.submissions where id = new.submission_id) then
      perform private.raise_error('FORBIDDEN', 'Only admins of the organization may do this.');
    end if;
    perform private.raise_error('NOT_FOUND', 'There is no such submission.', 'submission_id');
  end if;
  new.organization_id := submission.organization_id;
  if private.caller_id() is not null then
    perform private.require_admin(submission.organization_id, 'submissions:moderate');
  end if;
  if submission.merged_into_id is not null and new.new_status <> 'duplicate' then
    perform private.raise_error('SUBMISSION_MERGED', 'This submission was merged into another.', null,
      jsonb_build_object('merged_into_id', submission.merged_into_id));
  end if;
  if submission.merged_into_id is null and new.new_status = 'duplicate' then
    perform private.raise_error('VALIDATION_ERROR', 'Only a merge sets the status duplicate.', 'status');
  end if;
  if submission.status = new.new_status then
    return null;
  end if;
  new.previous_status := submission.status;
  new.changed_by := coalesce(private.caller_id(), new.changed_by);
  new.note := nullif(private.trim_text(new.note), '');
  return new;
end
$$;
comment on function private.prepare_status_change() is
  'Trigger: sets previous status and author; drops a change to the current status.';
create trigger prepare before insert on public.status_changes
  for each row execute function private.prepare_status_change();

-- definer: updates the status, which is not granted, and writes notifications and events.
create function private.apply_status_change() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if private.is_importing() then return null; end if;
  if not private.events_suppressed() then
    update public.submissions set status = new.new_status, updated_at = new.created_at
      where id = new.submission_id;
    perform private.audit('submission.set_status', 'submission', new.submission_id,
      jsonb_build_object('status', jsonb_build_object('from', new.previous_status, 'to', new.new_status)),
        new.organization_id);
  end if;
  perform private.emit_event(new.organization_id, 'submission.status_changed', new.submission_id,
    jsonb_build_object(
    'submission_id', new.submission_id, 'previous_status', new.previous_status, 'new_status', new.new_status,
    'changed_by', coalesce((select coalesce(name, 'Anonymous') from public.profiles
      where id = new.changed_by), 'System'),
    'note', coalesce(new.note, '')))
  from public.submissions s where s.id = new.submission_id and s.moderation_state = 'approved';
  if new.notify then
    perform private.notify_followers(new.organization_id, new.submission_id, 'status_changed', new.id, null,
      new.changed_by);
  end if;
  return null;
end
$$;
comment on function private.apply_status_change() is
  'Trigger: applies the new status, notifies followers, emits the event and writes the audit log.';
create trigger apply after insert on public.status_changes
  for each row execute function private.apply_status_change();

-- Visibility follows the board ------------------------------------------------------------------------------

-- These row locks conflict with the key-share locks of foreign keys, which serializes them with inserts that
-- read the old visibility.
create function private.lock_board() returns trigger
language plpgsql set search_path = '' as $$
begin
  perform 1 from public.organizations where id = new.id for update;
  return new;
end
$$;
comment on function private.lock_board() is
  'Trigger: waits for concurrent inserts before the visibility of a board changes.';
create trigger lock_board before update of visibility on public.organizations
  for each row when (old.visibility <> new.visibility) execute function private.lock_board();

create function private.propagate_visibility() returns trigger
language plpgsql security definer set search_path = '' as $$ -- definer: is_public is not granted
begin
  perform 1 from public.submissions where organization_id = new.id order by id for update;
  perform set_config('feedback.suppress_events', 'on', true);
  update public.submissions set is_public = (new.visibility = 'public' and moderation_state = 'approved')
  where organization_id = new.id;
  perform set_config('feedback.suppress_events', 'off', true);
  perform private.recount_submissions(new.id);
  return null;
end
$$;
comment on function private.propagate_visibility() is
  'Trigger: a change of the board''s visibility updates is_public of its submissions.';
create trigger spread_visibility after update of visibility on public.organizations
  for each row when (old.visibility <> new.visibility) execute function private.propagate_visibility();

create function private.sync_is_public() returns trigger
language plpgsql security definer set search_path = '' as $$ -- definer: the organization may be private
begin
  new.is_public := new.moderation_state = 'approved'
    and exists (select from public.organizations where id = new.organization_id and visibility = 'public');
  return new;
end
$$;
comment on function private.sync_is_public() is 'Trigger: derives is_public from the moderation state.';
create trigger follow_moderation before update of moderation_state on public.submissions
  for each row execute function private.sync_is_public();

-- Votes and follows. Only Admin may read who voted: user_id is not granted.
--
-- Lock order everywhere: organization (merges, visibility changes), submission, comment, dependent rows, list
-- counters; several rows of one table in id order. Lock the submission before the vote row: a merge that
-- holds the submission must not wait for a vote whose transaction waits for the submission. Inserts lock in
-- their trigger. A delete holds its row before any trigger fires, so its policy takes the lock. Follows are
-- not moved by merges and take no lock.

create table public.votes (
  id uuid not null default gen_random_uuid(),
  organization_id uuid not null default private.requested_organization_id(),
  submission_id uuid not null,
  user_id uuid not null default private.caller_id() references public.profiles (id) deferrable initially
    deferred,
  created_at timestamptz not null default now(),
  merged_from uuid,
  primary key (submission_id, id),
  constraint one_vote_a_person_and_submission unique (submission_id, user_id) include (created_at),
  constraint votes_submission_is_of_the_same_organization foreign key (organization_id, submission_id)
    references public.submissions (organization_id, id) on delete cascade
);
comment on table public.votes is
  'Votes, one for each person and submission. The primary key starts with submission_id, so that a DELETE '
  'reaches realtime subscribers of the submission and carries only ids. merged_from: the merged source the '
  'vote came from (92_merge.sql); null for the submission''s own votes.';
create index votes_submission_newest_idx on public.votes (submission_id, created_at desc, user_id);
create index votes_user_idx on public.votes (user_id, created_at desc, submission_id desc);

create table public.follows (
  organization_id uuid not null default private.requested_organization_id(),
  submission_id uuid not null,
  user_id uuid not null default private.caller_id() references public.profiles (id) on delete cascade,
  reason text not null default 'manual',
  created_at timestamptz not null default now(),
  primary key (submission_id, user_id),
  constraint follows_submission_is_of_the_same_organization foreign key (organization_id, submission_id)
    references public.submissions (organization_id, id) on delete cascade,
  constraint reason_is_known check (reason in ('author', 'vote', 'comment', 'manual'))
);
comment on table public.follows is
  'Followers of submissions, with the reason. Readable by the follower only. Follows stay on the submission '
  'where they were made; followers of a merged source also follow its target.';
create index follows_user_idx on public.follows (user_id, created_at desc);

-- Rules of voting -------------------------------------------------------------------------------------------

-- Invoker: rows the caller cannot see are not found.
create function private.prepare_vote() returns trigger
language plpgsql set search_path = '' as $$
begin
  if private.events_suppressed() then return new; end if;
  new.organization_id := (select s.organization_id from public.submissions s where s.id = new.submission_id);
  if new.organization_id is null then
    perform private.raise_error('NOT_FOUND', 'There is no such submission.', 'submission_id');
  end if;
  if tg_table_name = 'follows' then
    -- No lock: merges do not move follows, and a client that follows many submissions must not hold locks on
    -- all of them.
    perform private.require_open_submission(new.submission_id);
  else
    -- Charge before the lock, so that a client over its limit is rejected without locking.
    if private.is_direct() then perform private.charge_direct_vote(new.submission_id); end if;
    perform private.lock_open_submission(new.submission_id);
  end if;
  return new;
end
$$;
comment on function private.prepare_vote() is
  'Trigger on votes and follows: the submission must be visible to the caller and not merged.';

-- definer: the caller may not see the merge target.
create function private.require_open_submission(submission_id uuid) returns void
language plpgsql security definer set search_path = '' as $$
declare target_id uuid := (select s.merged_into_id from public.submissions s
  where s.id = require_open_submission.submission_id);
begin
  if target_id is not null then
    perform private.raise_error('SUBMISSION_MERGED',
      'This submission was merged into another: use merged_into_id.', null,
      jsonb_build_object('merged_into_id', target_id));
  end if;
end
$$;
comment on function private.require_open_submission(uuid) is
  'Raises SUBMISSION_MERGED if the submission was merged into another.';

-- definer: locks a submission the caller may not update.
create function private.lock_submission(submission_id uuid) returns boolean
language plpgsql security definer set search_path = '' cost 10000 as $$
begin
  perform 1 from public.submissions s where s.id = lock_submission.submission_id for no key update;
  return found;
end
$$;
comment on function private.lock_submission(uuid) is
  'Locks the submission before dependent rows are added or deleted; false if it does not exist.';

create function private.lock_open_submission(submission_id uuid) returns void
language plpgsql set search_path = '' as $$
begin
  perform private.lock_submission(submission_id);
  perform private.require_open_submission(submission_id);
end
$$;
comment on function private.lock_open_submission(uuid) is
  'Locks the submission before a dependent row is added; raises SUBMISSION_MERGED if it was merged.';

-- definer: writes rate limit counters.
create function private.charge_direct_vote(submission_id uuid) returns void
language plpgsql security definer set search_path = '' as $$
begin
  if private.my_vote(submission_id) is null then perform private.charge_direct('vote_create', 1); end if;
end
$$;
comment on function private.charge_direct_vote(uuid) is
  'Charges a vote by a direct client, unless the vote exists already.';

create trigger prepare before insert on public.votes
  for each row execute function private.prepare_vote();
create trigger prepare before insert on public.follows
  for each row execute function private.prepare_vote();

-- definer: writes counts, follows, notifications and events.
create function private.count_added_votes() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if private.events_suppressed() then return null; end if;
  perform private.lock_submissions((select array_agg(submission_id) from added));
  update public.submissions s set vote_count = vote_count + d.votes
  from (select submission_id, count(*) as votes from added group by 1) d where s.id = d.submission_id;
  perform set_config('feedback.suppress_events', 'on', true);
  insert into public.follows (organization_id, submission_id, user_id, reason)
  select organization_id, submission_id, user_id, 'vote' from added order by submission_id, user_id
  on conflict do nothing;
  perform set_config('feedback.suppress_events', 'off', true);
  insert into public.notifications (organization_id, user_id, type, submission_id, event_id)
  select v.organization_id, s.author_id, 'vote', v.submission_id, v.id
  from added v join public.submissions s on s.id = v.submission_id
    join public.profiles p on p.id = s.author_id
  where s.author_id <> v.user_id and p.kind in ('user', 'email');
  perform private.emit_event(v.organization_id, 'submission.vote_added', v.submission_id,
    jsonb_build_object('submission_id', v.submission_id, 'vote_count', s.vote_count))
  from added v join public.submissions s on s.id = v.submission_id where s.moderation_state = 'approved';
  return null;
end
$$;
comment on function private.count_added_votes() is
  'Trigger: updates vote_count, adds the voter''s follow, notifies the author and emits '
  'submission.vote_added, which does not name the voter. Pending submissions emit nothing.';
create trigger count_added after insert on public.votes
  referencing new table as added for each statement execute function private.count_added_votes();

-- definer: writes counts and events.
create function private.count_removed_votes() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if private.events_suppressed() then return null; end if;
  if private.is_direct() then
    -- Skip votes that a cascade deleted with their submission: triggers of a cascade run at the same depth as
    -- those of the client's statement.
    perform private.charge_direct('vote_delete', (
      select count(*) from removed r
        where exists (select from public.submissions s where s.id = r.submission_id)));
  end if;
  perform private.lock_submissions((select array_agg(submission_id) from removed));
  update public.submissions s set vote_count = vote_count - d.votes
  from (select submission_id, count(*) as votes from removed group by 1) d where s.id = d.submission_id;
  perform private.emit_event(v.organization_id, 'submission.vote_removed', v.submission_id,
    jsonb_build_object('submission_id', v.submission_id, 'vote_count', s.vote_count))
  from removed v join public.submissions s on s.id = v.submission_id where s.moderation_state = 'approved';
  return null;
end
$$;
comment on function private.count_removed_votes() is
  'Trigger: updates vote_count and emits submission.vote_removed; votes deleted with their submission emit '
  'nothing.';
create trigger count_removed after delete on public.votes
  referencing old table as removed for each statement execute function private.count_removed_votes();

-- definer: the caller may not see all sources.
create function private.with_sources(submission_id uuid) returns uuid[]
language plpgsql stable security definer set search_path = '' as $$
begin
  return submission_id || array(
    select s.id from public.submissions target
      join public.submissions s on (s.organization_id, s.merged_into_id) = (target.organization_id, target.id)
    where target.id = submission_id);
end
$$;
comment on function private.with_sources(uuid) is
  'A submission and all submissions merged into it. A follower of one of them follows it.';

create function private.is_follower(submission_id uuid, profile_id uuid) returns boolean
language plpgsql stable set search_path = '' as $$
begin
  return exists (select from public.follows f where f.submission_id = is_follower.submission_id
    and f.user_id = profile_id)
    or exists (select from public.follows f
      where f.submission_id = any (private.with_sources(is_follower.submission_id))
      and f.user_id = profile_id);
end
$$;
comment on function private.is_follower(uuid, uuid) is
  'Whether the profile follows the submission or one merged into it.';

create function private.lock_submissions(ids uuid[]) returns void
language plpgsql set search_path = '' as $$
begin
  if cardinality(ids) > 1 then
    perform 1 from public.submissions where id = any (ids) order by id for no key update;
  end if;
end
$$;
comment on function private.lock_submissions(uuid[]) is
  'Locks submissions in id order, so that concurrent statements cannot deadlock.';

-- What the caller did ---------------------------------------------------------------------------------------

-- definer: user_id is not granted. Returns data of the caller only.
create function private.my_vote(submission_id uuid) returns timestamptz
language plpgsql stable security definer set search_path = '' as $$
begin
  return (select v.created_at from public.votes v where v.submission_id = my_vote.submission_id
    and v.user_id = private.caller_id());
end
$$;
comment on function private.my_vote(uuid) is
  'Time of the caller''s vote for the submission; null if there is none.';

create function private.vote_of(submission_id uuid, profile_id uuid) returns timestamptz
language plpgsql stable security definer set search_path = '' as $$
begin
  return (select v.created_at from public.votes v where v.submission_id = vote_of.submission_id
    and v.user_id = profile_id
  and (profile_id = private.caller_id() or private.is_author_of_key(profile_id)));
end
$$;
comment on function private.vote_of(uuid, uuid) is
  'Time of the profile''s vote; available to the profile itself and to a key that may act as it.';

create function private.is_following(submission_id uuid) returns boolean
language plpgsql stable security definer set search_path = '' as $$
begin
  return private.is_follower(submission_id, private.caller_id());
end
$$;
comment on function private.is_following(uuid) is 'Whether the caller follows the submission.';

create function private.my_votes() returns table (submission_id uuid, voted_at timestamptz)
language plpgsql stable security definer set search_path = '' as $$
begin
  return query
    select v.submission_id, v.created_at from public.votes v where v.user_id = private.caller_id();
end
$$;
comment on function private.my_votes() is 'All votes of the caller.';

create function public.my_votes(submission_ids uuid[])
  returns table (submission_id uuid, voted_at timestamptz)
language sql stable set search_path = ''
begin atomic
  select v.submission_id, v.voted_at from private.my_votes() v where v.submission_id = any (submission_ids);
end;
comment on function public.my_votes(uuid[]) is
  'The signed-in user''s votes for the given submissions: submission_id and created_at (timestamptz). Never '
  'returns votes of other users.';

create function private.remove_vote(submission_id uuid, profile_id uuid) returns void
language plpgsql security definer set search_path = '' as $$
begin
  if private.may_act_as(profile_id) then
    perform private.lock_submission(remove_vote.submission_id);
    delete from public.votes v where v.submission_id = remove_vote.submission_id and v.user_id = profile_id;
  end if;
end
$$;
comment on function private.remove_vote(uuid, uuid) is
  'Deletes the vote of the caller, or of a profile the key may act as. No effect if there is none.';

create function private.voters_scope() returns text
language sql immutable
return 'submissions:moderate';
comment on function private.voters_scope() is
  'Who voted is for admins, and for keys with this scope; also where it would follow from who answered a '
  'survey.';

create function private.submission_voters(submission_id uuid, max_rows integer, skipped integer)
returns table (user_id uuid, name text, email text, voted_at timestamptz)
language plpgsql stable security definer set search_path = '' as $$
begin
  perform private.require_admin(s.organization_id, private.voters_scope())
  from public.submissions s where s.id = submission_voters.submission_id;
  return query
    select p.id, coalesce(p.name, 'Anonymous'), p.email, v.created_at
    from (
      select v.user_id, v.created_at from public.votes v
        where v.submission_id = submission_voters.submission_id
      order by v.created_at desc, v.user_id limit max_rows offset skipped) v
        join public.profiles p on p.id = v.user_id;
end
$$;
comment on function private.submission_voters(uuid, integer, integer) is
  'Newest voters with e-mail addresses, for Admin; raises FORBIDDEN for other callers.';

-- Rights ----------------------------------------------------------------------------------------------------

alter table public.votes enable row level security;
alter table public.follows enable row level security;
revoke all on public.votes, public.follows from public, anon, authenticated, service_role, service_key;
grant select (id, organization_id, submission_id, created_at) on public.votes to anon, authenticated,
  service_key;
grant insert (submission_id), delete on public.votes to authenticated;
grant insert (submission_id, user_id) on public.votes to service_key;
grant select (organization_id, submission_id, user_id, reason, created_at),
  delete on public.follows to authenticated;
grant insert (submission_id) on public.follows to authenticated;
grant select, insert, delete on public.votes, public.follows to service_role;
grant execute on function public.my_votes(uuid[]) to authenticated;
grant execute on function private.my_vote(uuid),
  private.vote_of(uuid, uuid), private.is_following(uuid), private.my_votes(),
    private.remove_vote(uuid, uuid), private.submission_voters(uuid, integer, integer)
  to anon, authenticated, service_key;
grant execute on function private.with_sources(uuid) to authenticated;
grant execute on function private.require_open_submission(uuid), private.lock_open_submission(uuid),
  private.lock_submission(uuid), private.charge_direct_vote(uuid) to authenticated, service_role, service_key;

create policy "votes are seen with their submission" on public.votes
  for select to anon, authenticated, service_key using (
    exists (select from public.submissions s where s.id = submission_id));
create policy "users vote as themselves" on public.votes
  for insert to authenticated with check (user_id = (select auth.uid()));
create policy "keys vote for themselves and their e-mail authors" on public.votes
  for insert to service_key with check (
    organization_id = (select private.key_organization_id())
    and private.may_act_as(user_id));
create policy "users take back their own vote" on public.votes
  for delete to authenticated using (user_id = (select auth.uid())
    and private.lock_submission(submission_id));

create policy "people see what they follow" on public.follows
  for select to authenticated using (user_id = (select auth.uid()));
create policy "people follow for themselves" on public.follows
  for insert to authenticated with check (user_id = (select auth.uid()));
create policy "people stop following" on public.follows
  for delete to authenticated using (user_id = (select auth.uid()));

-- Threaded comments and votes for them.

create table public.comments (
  id uuid primary key default gen_random_uuid(),
  organization_id uuid not null default private.requested_organization_id(),
  submission_id uuid not null,
  parent_id uuid,
  author_id uuid not null default private.caller_id() references public.profiles (id) deferrable initially
    deferred,
  body text not null,
  is_official boolean not null default false,
  vote_count integer not null default 0,
  reply_count integer not null default 0,
  moderation_state text not null default 'approved',
  is_public boolean not null default false,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint comments_belong_to_their_submission unique (submission_id, id),
  constraint comments_submission_is_of_the_same_organization foreign key (organization_id, submission_id)
    references public.submissions (organization_id, id) on delete cascade,
  -- Deferred: remove_replies deletes a subtree level by level, without recursion, at any nesting.
  constraint comments_parent_is_of_the_same_submission foreign key (submission_id, parent_id)
    references public.comments (submission_id, id) deferrable initially deferred,
  constraint body_has_1_to_2000_characters check (char_length(body) between 1 and 2000),
  constraint moderation_state_is_known check
    (moderation_state in ('approved', 'pending', 'rejected', 'spam')),
  constraint counts_are_not_negative check (vote_count >= 0 and reply_count >= 0)
);
comment on table public.comments is
  'Comments on submissions. is_official: the author was on the team when writing. is_public: anyone may see '
  'it.';
-- Official comments sort first in both directions, so each direction has its own index.
create index comments_oldest_idx on public.comments (submission_id, is_official desc, created_at, id)
  where parent_id is null;
create index comments_newest_idx on public.comments
  (submission_id, is_official desc, created_at desc, id desc) where parent_id is null;
create index comments_least_voted_idx on public.comments (submission_id, is_official desc, vote_count, id)
  where parent_id is null;
create index comments_most_voted_idx on public.comments
  (submission_id, is_official desc, vote_count desc, id desc) where parent_id is null;
create index comments_replies_idx on public.comments (parent_id, is_official desc, created_at, id)
  where parent_id is not null;
create index comments_author_idx on public.comments (author_id, created_at desc);

create table public.comment_votes (
  id uuid not null default gen_random_uuid(),
  -- Set by the prepare trigger; the default lets clients omit it.
  submission_id uuid not null default '00000000-0000-0000-0000-000000000000',
  comment_id uuid not null,
  user_id uuid not null default private.caller_id() references public.profiles (id) deferrable initially
    deferred,
  organization_id uuid not null default private.requested_organization_id(),
  created_at timestamptz not null default now(),
  primary key (comment_id, id),
  constraint one_vote_a_person_and_comment unique (comment_id, user_id),
  constraint comment_votes_comment_is_of_the_same_submission foreign key (submission_id, comment_id)
    references public.comments (submission_id, id) on delete cascade on update cascade
);
comment on table public.comment_votes is
  'Votes for comments, one for each person and comment; user_id is not granted.';
create index comment_votes_user_idx on public.comment_votes (user_id);

-- Writing ---------------------------------------------------------------------------------------------------

-- Invoker: a submission or parent the caller cannot see is not found.
create function private.prepare_comment() returns trigger
language plpgsql set search_path = '' as $$
declare parent record;
begin
  new.organization_id := (select s.organization_id from public.submissions s where s.id = new.submission_id);
  if new.organization_id is null then
    perform private.raise_error('NOT_FOUND', 'There is no such submission.', 'submission_id');
  end if;
  new.body := private.trim_text(new.body);
  new := private.charge_comment(new);
  -- After the lock, so that a concurrent merge or rejection of the parent is seen. Imports validate the
  -- parent themselves; it may be inserted by the same statement.
  if new.parent_id is not null and not private.is_importing() then
    select c.id, c.moderation_state into parent from public.comments c
      where c.id = new.parent_id and c.submission_id = new.submission_id;
    if parent.id is null then
      perform private.raise_error('NOT_FOUND', 'There is no such comment to reply to on this submission.',
        'parent_id');
    end if;
    if parent.moderation_state <> 'approved' and private.caller_id() is not null then
      perform private.raise_error('CONFLICT', 'Only an approved comment can be replied to.', 'parent_id');
    end if;
  end if;
  return new;
end
$$;
comment on function private.prepare_comment() is
  'Trigger: the submission must be visible and not merged; a parent must belong to the same submission.';

-- definer: reads settings of the organization. The lock serializes this insert with visibility changes and
-- precedes the lock on the parent.
create function private.charge_comment(comment public.comments) returns public.comments
language plpgsql security definer set search_path = '' as $$
declare submission_is_public boolean;
begin
  -- Charge each row before locking, so that a client over its limit is rejected without locking.
  if private.is_direct() then perform private.charge_direct('comment_create', 1); end if;
  perform private.lock_open_submission(comment.submission_id);
  submission_is_public := (select s.is_public from public.submissions s where s.id = comment.submission_id);
  if not private.is_importing() then
    comment.is_official := private.is_member(comment.organization_id, comment.author_id);
    if private.needs_approval(comment.organization_id, comment.author_id) then
      comment.moderation_state := 'pending';
    end if;
  end if;
  comment.is_public := coalesce(submission_is_public, false) and comment.moderation_state = 'approved';
  return comment;
end
$$;
comment on function private.charge_comment(public.comments) is
  'Trigger: charges a comment by a direct client, locks the submission, and sets is_official, moderation '
  'state and visibility.';
create trigger prepare before insert on public.comments
  for each row execute function private.prepare_comment();

create function private.edit_comment() returns trigger
language plpgsql set search_path = '' as $$
begin
  if old.created_at < now() - private.comment_edit_window() then
    perform private.raise_error('FORBIDDEN', 'The time to edit this comment has passed.', 'body');
  end if;
  new.body := private.trim_text(new.body);
  new.updated_at := now();
  return new;
end
$$;
comment on function private.edit_comment() is 'Trigger: rejects edits after private.comment_edit_window().';
-- definer: writes rate limit counters.
create function private.review_comment_edit() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if private.is_direct() then perform private.charge_direct('comment_update', 1); end if;
  if new.body <> old.body and new.moderation_state = 'approved'
    and private.needs_approval(new.organization_id, new.author_id) then
    update public.comments set moderation_state = 'pending' where id = new.id;
  end if;
  return null;
end
$$;
comment on function private.review_comment_edit() is
  'Trigger: charges edits by direct clients. An edit of content that required approval makes it pending '
  'again.';
create trigger follow_edit after update of body on public.comments
  for each row execute function private.review_comment_edit();

create function private.comment_edit_window() returns interval
language sql immutable
return interval '15 minutes';
comment on function private.comment_edit_window() is 'How long after creation the author may edit a comment.';
create trigger edit before update of body on public.comments
  for each row execute function private.edit_comment();

-- definer: writes counts, follows, notifications and events.
create function private.count_added_comments() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  perform private.lock_submissions((select array_agg(distinct submission_id) from added));
  update public.submissions s set comment_count = comment_count + d.comments
  from (select submission_id, count(*) as comments from added where moderation_state = 'approved' group by 1)
    d
  where s.id = d.submission_id;
  perform private.lock_comments((select array_agg(distinct parent_id) from added
    where parent_id is not null));
  update public.comments c set reply_count = reply_count + d.replies
  from (select parent_id, count(*) as replies from added where moderation_state = 'approved' group by 1) d
  where c.id = d.parent_id;
  if private.is_importing() then return null; end if;
  perform set_config('feedback.suppress_events', 'on', true);
  insert into public.follows (organization_id, submission_id, user_id, reason)
  select distinct organization_id, submission_id, author_id, 'comment' from added order by 2, 3
  on conflict do nothing;
  perform set_config('feedback.suppress_events', 'off', true);
  perform private.announce_comment(a.id) from added a where a.moderation_state = 'approved';
  return null;
end
$$;
comment on function private.count_added_comments() is
  'Trigger: updates comment_count and reply_count, adds the author''s follow, and announces approved '
  'comments.';
create trigger count_added after insert on public.comments
  referencing new table as added for each statement execute function private.count_added_comments();

create function private.lock_comments(ids uuid[]) returns void
language plpgsql set search_path = '' as $$
begin
  if cardinality(ids) > 1 then
    perform 1 from public.comments where id = any (ids) order by id for no key update;
  end if;
end
$$;
comment on function private.lock_comments(uuid[]) is
  'Locks comments in id order, so that concurrent statements cannot deadlock.';

create function private.announce_comment(comment_id uuid) returns void
language plpgsql set search_path = '' as $$
declare comment public.comments;
begin
  select * into comment from public.comments where id = comment_id;
  perform private.emit_event(comment.organization_id, 'comment.created', comment.id, jsonb_build_object(
    'comment', jsonb_build_object('id', comment.id, 'submission_id', comment.submission_id, 'parent_id',
      comment.parent_id,
      'body', comment.body, 'is_official', comment.is_official, 'created_at', comment.created_at,
      'author', (select jsonb_build_object('id', p.id, 'name', coalesce(p.name, 'Anonymous'))
        from public.profiles p where p.id = comment.author_id))));
  perform private.notify_followers(comment.organization_id, comment.submission_id,
    case when comment.is_official then 'official_comment'
      else 'comment' end, comment.id, comment.id, comment.author_id);
end
$$;
comment on function private.announce_comment(uuid) is
  'Emits comment.created and its notifications, once the comment is approved.';

-- definer: deletes replies by other authors. Each level's delete fires the trigger again until no reply is
-- left.
create function private.remove_replies() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  -- A delete of no rows fires the trigger as well; stop here to end the recursion.
  if not exists (select from removed) then return null; end if;
  if private.is_direct() then
    perform private.charge_direct('comment_delete', (
      select count(*) from removed r
        where exists (select from public.submissions s where s.id = r.submission_id)));
  end if;
  perform private.lock_submissions((select array_agg(distinct submission_id) from removed));
  update public.submissions s set comment_count = comment_count - d.comments
  from (select submission_id, count(*) as comments from removed where moderation_state = 'approved'
    group by 1) d
  where s.id = d.submission_id;
  perform private.lock_comments((select array_agg(distinct parent_id) from removed
    where parent_id is not null));
  update public.comments c set reply_count = reply_count - d.replies
  from (select parent_id, count(*) as replies from removed where moderation_state = 'approved' group by 1) d
  where c.id = d.parent_id;
  delete from public.comments where id in (
    with recursive subtree as (
      select c.id from public.comments c join removed r on c.parent_id = r.id
      union
      select c.id from public.comments c join subtree s on c.parent_id = s.id)
    select id from subtree);
  return null;
end
$$;
comment on function private.remove_replies() is
  'Trigger: deletes the replies of a deleted comment and updates the counts.';
create trigger remove_replies after delete on public.comments
  referencing old table as removed for each statement execute function private.remove_replies();

-- definer: locks a submission the caller may not update.
create function private.lock_thread(comment_id uuid) returns boolean
language plpgsql security definer set search_path = '' cost 10000 as $$
declare thread_id uuid;
begin
  loop
    select c.submission_id into thread_id from public.comments c where c.id = comment_id;
    if thread_id is null then return false; end if;
    -- A subtransaction: if a concurrent merge moved the comment while this waited, its rollback releases the
    -- lock.
    begin
      perform private.lock_submission(thread_id);
      if exists (select from public.comments c where c.id = comment_id and c.submission_id = thread_id)
        then return true; end if;
      raise exception using errcode = 'FBMOV';
    exception when sqlstate 'FBMOV' then null;
    end;
  end loop;
end
$$;
comment on function private.lock_thread(uuid) is
  'Locks the submission of a comment before the comment itself; false if the comment does not exist.';

-- definer: the caller may not see the submission.
create function private.sync_comment_is_public() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  new.is_public := new.moderation_state = 'approved'
    and coalesce((select s.is_public from public.submissions s where s.id = new.submission_id), false);
  return new;
end
$$;
comment on function private.sync_comment_is_public() is
  'Trigger: derives is_public from the moderation state.';
create trigger follow_moderation before update of moderation_state on public.comments
  for each row execute function private.sync_comment_is_public();

create function private.moderate_comment() returns trigger
language plpgsql security definer set search_path = '' as $$ -- definer: the caller may not see the submission
declare change integer := (new.moderation_state = 'approved')::integer
  - (old.moderation_state = 'approved')::integer;
begin
  update public.submissions set comment_count = comment_count + change
    where id = new.submission_id and change <> 0;
  update public.comments set reply_count = reply_count + change where id = new.parent_id and change <> 0;
  if change = 1 and not private.is_announced('comment.created', new.id) then
    perform private.announce_comment(new.id);
  end if;
  return null;
end
$$;
comment on function private.moderate_comment() is
  'Trigger: an approved comment is counted and announced; other states are not counted.';
create trigger moderate after update of moderation_state on public.comments
  for each row when (old.moderation_state <> new.moderation_state)
    execute function private.moderate_comment();

create function private.propagate_visibility_to_comments() returns trigger
language plpgsql security definer set search_path = '' as $$ -- definer: is_public is not granted
begin
  update public.comments set is_public = new.is_public and moderation_state = 'approved'
    where submission_id = new.id;
  return null;
end
$$;
comment on function private.propagate_visibility_to_comments() is
  'Trigger: a change of the submission''s visibility updates is_public of its comments.';
create trigger spread_visibility after update of is_public, moderation_state on public.submissions
  for each row when (old.is_public <> new.is_public)
    execute function private.propagate_visibility_to_comments();

-- Votes on comments -----------------------------------------------------------------------------------------

create function private.prepare_comment_vote() returns trigger
language plpgsql set search_path = '' as $$
begin
  new.organization_id := (select c.organization_id from public.comments c where c.id = new.comment_id);
  new.submission_id := case when new.organization_id is not null then private.lock_comment(new.comment_id)
    end;
  if new.submission_id is null then
    perform private.raise_error('NOT_FOUND', 'There is no such comment.', 'comment_id');
  end if;
  return new;
end
$$;
comment on function private.prepare_comment_vote() is 'Trigger: the comment must be visible to the caller.';
-- definer: locks a comment the caller may not update.
create function private.lock_comment(comment_id uuid) returns uuid
language plpgsql security definer set search_path = '' cost 10000 as $$
declare current_id uuid;
begin
  select c.submission_id into current_id from public.comments c
    where c.id = lock_comment.comment_id for no key update;
  return current_id;
end
$$;
comment on function private.lock_comment(uuid) is
  'Locks the comment before a vote for it is added or deleted. Returns its current submission, which a '
  'merge may have changed.';

create trigger prepare before insert on public.comment_votes
  for each row execute function private.prepare_comment_vote();

-- definer: updates vote_count.
create function private.count_added_comment_votes() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if private.is_direct() then
    perform private.charge_direct('vote_create', (select count(*) from added));
  end if;
  perform private.lock_comments((select array_agg(comment_id) from added));
  update public.comments c set vote_count = vote_count + d.votes
  from (select comment_id, count(*) as votes from added group by 1) d where c.id = d.comment_id;
  return null;
end
$$;
comment on function private.count_added_comment_votes() is 'Trigger: decreases vote_count of comments.';
create trigger count_added after insert on public.comment_votes
  referencing new table as added for each statement execute function private.count_added_comment_votes();

-- definer: updates vote_count.
create function private.count_removed_comment_votes() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if private.is_direct() then
    perform private.charge_direct('vote_delete', (
      select count(*) from removed r where exists (select from public.comments c where c.id = r.comment_id)));
  end if;
  perform private.lock_comments((select array_agg(comment_id) from removed));
  update public.comments c set vote_count = vote_count - d.votes
  from (select comment_id, count(*) as votes from removed group by 1) d where c.id = d.comment_id;
  return null;
end
$$;
comment on function private.count_removed_comment_votes() is 'Trigger: decreases vote_count of comments.';
create trigger count_removed after delete on public.comment_votes
  referencing old table as removed for each statement execute function private.count_removed_comment_votes();

-- definer: user_id is not granted. Returns data of the caller, or of a profile the key may act as.
create function private.comment_vote_of(comment_id uuid, profile_id uuid) returns timestamptz
language plpgsql stable security definer set search_path = '' as $$
begin
  return (select v.created_at from public.comment_votes v where v.comment_id = comment_vote_of.comment_id
    and v.user_id = profile_id
  and (profile_id = private.caller_id() or private.is_author_of_key(profile_id)));
end
$$;
comment on function private.comment_vote_of(uuid, uuid) is
  'Time of the profile''s vote for the comment; available to the profile itself and to a key that may act '
  'as it.';

create function private.remove_comment_vote(comment_id uuid, profile_id uuid) returns void
language plpgsql security definer set search_path = '' as $$
begin
  if private.may_act_as(profile_id) then
    perform private.lock_comment(remove_comment_vote.comment_id);
    delete from public.comment_votes v where v.comment_id = remove_comment_vote.comment_id
      and v.user_id = profile_id;
  end if;
end
$$;
comment on function private.remove_comment_vote(uuid, uuid) is
  'Deletes the vote of the caller, or of a profile the key may act as.';

-- definer: a key with submissions:write only cannot read its own comment on a private board.
create function private.written_comment(comment_id uuid) returns json
language plpgsql stable security definer set search_path = '' as $$
begin
  return (
  select json_build_object('id', c.id, 'body', c.body, 'author',
    json_build_object('id', p.id, 'name', coalesce(p.name, 'Anonymous')),
    'is_official', c.is_official, 'created_at', c.created_at)
  from public.comments c join public.profiles p on p.id = c.author_id
  where c.id = comment_id and (c.author_id = private.caller_id() or private.is_author_of_key(c.author_id))
);
end
$$;
comment on function private.written_comment(uuid) is
  'A comment the caller has just written: {id, body, author: {id, name}, is_official, created_at}.';

-- Rights ----------------------------------------------------------------------------------------------------

alter table public.comments enable row level security;
alter table public.comment_votes enable row level security;
revoke all on public.comments, public.comment_votes
  from public, anon, authenticated, service_role, service_key;
grant select on public.comments to anon, authenticated, service_key;
grant insert (id, submission_id, parent_id, body), update (body), delete on public.comments to authenticated;
grant insert (id, submission_id, parent_id, body, author_id), delete on public.comments to service_key;
grant select (id, organization_id, submission_id, comment_id, created_at) on public.comment_votes to anon,
  authenticated, service_key;
grant insert (comment_id), delete on public.comment_votes to authenticated;
grant insert (comment_id, user_id) on public.comment_votes to service_key;
grant select, insert, delete, update (body, is_official, moderation_state) on public.comments to service_role;
grant select, insert, delete on public.comment_votes to service_role;
grant execute on function private.comment_edit_window(), private.lock_comment(uuid),
  private.charge_comment(public.comments) to authenticated, service_role, service_key;
grant execute on function private.lock_thread(uuid) to authenticated, service_key;
grant execute on function private.written_comment(uuid), private.comment_vote_of(uuid, uuid),
  private.remove_comment_vote(uuid, uuid) to anon, authenticated, service_key;

create policy "a comment is seen by whoever may see it" on public.comments
  for select to anon, authenticated, service_key using (private.can_see_submission(
    is_public, author_id, organization_id,
    (select private.caller_id()), (select private.team_organization_ids())::uuid[]));
create policy "a key stays in its organization" on public.comments
  as restrictive to service_key using (organization_id = (select private.key_organization_id()));
create policy "an agent keeps to the comments of its categories" on public.comments
  as restrictive to service_key using (
    (select private.agent_category_ids()) is null or exists (select from public.submissions s
      where s.id = submission_id));
create policy "users comment as themselves" on public.comments
  for insert to authenticated with check (author_id = (select auth.uid()));
create policy "keys comment for themselves and their e-mail authors" on public.comments
  for insert to service_key with check (
    private.may_act_as(author_id));
create policy "authors edit" on public.comments
  for update to authenticated using (author_id = (select auth.uid()) and private.lock_thread(id))
  with check (author_id = (select auth.uid()));
create policy "authors and admins delete" on public.comments
  for delete to authenticated using (
    (author_id = (select auth.uid())
      or organization_id = any ((select private.admin_organization_ids(''))::uuid[]))
    and private.lock_thread(id));
create policy "keys delete of their e-mail authors, and as admins" on public.comments
  for delete to service_key using (
    (private.may_act_as(author_id)
      or organization_id = any ((select private.admin_organization_ids('submissions:moderate'))::uuid[]))
    and private.lock_thread(id));

create policy "votes are seen with their comment" on public.comment_votes
  for select to anon, authenticated, service_key using (
    exists (select from public.comments c where c.id = comment_id));
create policy "users vote as themselves" on public.comment_votes
  for insert to authenticated with check (user_id = (select auth.uid()));
create policy "keys vote for themselves and their e-mail authors" on public.comment_votes
  for insert to service_key with check (
    private.may_act_as(user_id));
create policy "users take back their own vote" on public.comment_votes
  for delete to authenticated using (user_id = (select auth.uid()) and private.lock_comment(comment_id)
    is not null);

-- Here and not in 10_organizations.sql, because it reads the tables of content.
create policy "people are seen through what they wrote" on public.profiles
  for select to anon, authenticated, service_key using (
    id = (select private.caller_id())
    or exists (select from public.submissions s where s.author_id = profiles.id)
    or exists (select from public.comments c where c.author_id = profiles.id));

-- Moderation: pending and rejected content, and trusted authors. Triggers in 20_submissions.sql and
-- 22_comments.sql apply a state change whoever makes it; this file holds the team's operations.

create index submissions_moderation_idx on public.submissions
  (organization_id, moderation_state, created_at, id) where moderation_state <> 'approved';
create index comments_moderation_idx on public.comments (organization_id, moderation_state, created_at, id)
  where moderation_state <> 'approved';

-- Trust -----------------------------------------------------------------------------------------------------

create table private.author_trust (
  organization_id uuid not null references public.organizations (id) on delete cascade,
  user_id uuid not null references public.profiles (id) on delete cascade,
  is_trusted boolean not null,
  created_at timestamptz not null default now(),
  primary key (organization_id, user_id)
);
comment on table private.author_trust is
  'Authors the team decided about: trusted authors need no approval; the others always need it, regardless '
  'of earlier approvals.';
create index author_trust_user_idx on private.author_trust (user_id);
alter table private.author_trust enable row level security;
revoke all on private.author_trust from public, anon, authenticated, service_role, service_key;

create function private.is_trusted(organization_id uuid, profile_id uuid) returns boolean
language plpgsql stable set search_path = '' as $$
declare wanted integer;
begin
  return coalesce(
    (select t.is_trusted from private.author_trust t where t.organization_id = is_trusted.organization_id
      and t.user_id = profile_id),
    (select o.trust_after <= (
        select count(*) from (
          (select from public.submissions s where s.author_id = profile_id and s.organization_id = o.id
            and s.moderation_state = 'approved' limit o.trust_after)
          union all
          (select from public.comments c where c.author_id = profile_id and c.organization_id = o.id
            and c.moderation_state = 'approved' limit o.trust_after)) approved)
      from public.organizations o where o.id = is_trusted.organization_id),
    false);
end
$$;
comment on function private.is_trusted(uuid, uuid) is
  'Whether content of the profile needs no approval: the team trusts it, or trust_after of its '
  'contributions are approved. For definer functions.';

-- Threads ---------------------------------------------------------------------------------------------------

create table private.hidden_replies (
  comment_id uuid primary key references public.comments (id) on delete cascade,
  organization_id uuid not null,
  under_id uuid not null references public.comments (id) on delete cascade
);
comment on table private.hidden_replies is
  'Replies that were rejected only because an ancestor was rejected; approving the ancestor restores them.';
create index hidden_replies_under_idx on private.hidden_replies (under_id);
alter table private.hidden_replies enable row level security;
revoke all on private.hidden_replies from public, anon, authenticated, service_role, service_key;

-- definer: updates replies by other authors.
create function private.moderate_replies() returns trigger
language plpgsql security definer set search_path = '' as $$
declare replies uuid[];
begin
  if new.moderation_state = 'approved' then
    replies := array(
      with recursive thread as (
        select h.comment_id from private.hidden_replies h join public.comments c on c.id = h.comment_id
        where h.under_id = new.id and c.parent_id = new.id
        union all
        select h.comment_id from thread t join public.comments c on c.parent_id = t.comment_id
          join private.hidden_replies h on h.comment_id = c.id and h.under_id = new.id)
      select t.comment_id from thread t);
    delete from private.hidden_replies where comment_id = any (replies || new.id);
    update public.comments set moderation_state = 'approved' where id = any (replies);
  elsif old.moderation_state = 'approved' then
    with recursive thread as (
      select c.id, c.moderation_state from public.comments c where c.parent_id = new.id
      union all
      select c.id, c.moderation_state from public.comments c join thread t on c.parent_id = t.id)
    select array_agg(t.id) into replies from thread t where t.moderation_state = 'approved';
    if replies is null then return null; end if;
    insert into private.hidden_replies (comment_id, organization_id, under_id) select id, new.organization_id,
      new.id from unnest(replies) as id;
    update public.comments set moderation_state = new.moderation_state where id = any (replies);
  else
    -- The comment now has its own decision: replies below it depend on it, no longer on its ancestor.
    with own as (delete from private.hidden_replies where comment_id = new.id returning under_id),
      thread as (
        with recursive below as (
          select c.id from public.comments c where c.parent_id = new.id
          union all
          select c.id from public.comments c join below b on c.parent_id = b.id)
        select id from below)
    update private.hidden_replies h set under_id = new.id from own, thread
      where h.under_id = own.under_id and h.comment_id = thread.id;
  end if;
  return null;
end
$$;
comment on function private.moderate_replies() is
  'Trigger: rejecting a comment rejects its replies; approving it restores them.';
create trigger moderate_replies after update of moderation_state on public.comments
  for each row when (old.moderation_state <> new.moderation_state)
    execute function private.moderate_replies();

-- The team --------------------------------------------------------------------------------------------------

-- definer: reads pending content; requires Admin.
create function private.admin_moderation_queue(state text, type text, before_at timestamptz, before_id uuid,
  max_rows integer)
returns table (total bigint, more boolean, last text[], data json)
language plpgsql stable security definer set search_path = '' as $$
#variable_conflict use_column
declare own_id uuid := private.current_organization_id();
begin
  perform private.require_admin(own_id, 'submissions:moderate');
  return query
    with page as (
      (select 'submission' as type, s.id, s.id as submission_id, s.title, s.description as body, s.author_id,
        s.moderation_state as state, s.created_at
      from public.submissions s
      where admin_moderation_queue.type is distinct from 'comment' and s.organization_id = own_id
        and s.moderation_state = admin_moderation_queue.state and s.moderation_state <> 'approved'
        and (before_at is null or (s.created_at, s.id) > (before_at, before_id))
      order by s.created_at, s.id limit max_rows + 1)
      union all
      (select 'comment', c.id, c.submission_id, null, c.body, c.author_id, c.moderation_state, c.created_at
      from public.comments c
      where admin_moderation_queue.type is distinct from 'submission' and c.organization_id = own_id
        and c.moderation_state = admin_moderation_queue.state and c.moderation_state <> 'approved'
        and (before_at is null or (c.created_at, c.id) > (before_at, before_id))
      order by c.created_at, c.id limit max_rows + 1)
    ), shown as (
      select * from page order by created_at, id limit max_rows
    )
    select
      (select count(*) from public.submissions s where admin_moderation_queue.type is distinct from 'comment'
        and s.organization_id = own_id and s.moderation_state = admin_moderation_queue.state
          and s.moderation_state <> 'approved')
      + (select count(*) from public.comments c
        where admin_moderation_queue.type is distinct from 'submission'
        and c.organization_id = own_id and c.moderation_state = admin_moderation_queue.state
          and c.moderation_state <> 'approved'),
      (select count(*) from page) > max_rows,
      (select array[s.created_at::text, s.id::text] from shown s
        order by s.created_at desc, s.id desc limit 1),
      coalesce((select json_agg(json_build_object('type', s.type, 'id', s.id, 'submission_id',
        s.submission_id, 'title', s.title, 'body', s.body,
        'author', private.author(s.author_id, own_id), 'is_trusted', private.is_trusted(own_id, s.author_id),
          'state', s.state, 'created_at', s.created_at)
        order by s.created_at, s.id) from shown s), '[]');
end
$$;
comment on function private.admin_moderation_queue(text, text, timestamptz, uuid, integer) is
  'Pending, rejected or spam submissions and comments of the current organization, oldest first, for Admin '
  'or keys with submissions:moderate. Pages by (before_at, before_id).';

-- definer: moderation states and trust are not granted.
create function private.admin_moderate(target_type text, target_id uuid, action text, reason text,
  trust_author boolean) returns json
language plpgsql security definer set search_path = '' as $$
declare
  wanted text := case action when 'approve' then 'approved' when 'reject' then 'rejected' else 'spam' end;
  own_id uuid;
  subject record;
begin
  if target_type = 'comment' then
    select c.organization_id, c.is_public, c.author_id into subject from public.comments c
      where c.id = target_id;
  else
    select s.organization_id, s.is_public, s.author_id into subject from public.submissions s
      where s.id = target_id;
  end if;
  own_id := private.require_moderator(subject.organization_id, subject.is_public, subject.author_id,
    target_type, 'target_id');
  if target_type = 'comment' then perform private.lock_thread(target_id);
    else perform private.lock_submission(target_id); end if;
  if target_type = 'comment' then
    select c.moderation_state as state, p.moderation_state as above, c.author_id into subject
    from public.comments c left join public.comments p on p.id = c.parent_id where c.id = target_id;
  else
    select s.moderation_state as state, 'approved' as above, s.author_id into subject
      from public.submissions s where s.id = target_id;
  end if;
  if subject.state is null then
    perform private.raise_error('NOT_FOUND', format('There is no such %s.', target_type), 'target_id');
  elsif wanted = 'approved' and subject.above <> 'approved' then
    perform private.raise_error('CONFLICT', 'The comment it replies to is not approved: approve that first.',
      'target_id');
  end if;
  if wanted = 'spam' or trust_author then
    insert into private.author_trust as t (organization_id, user_id, is_trusted)
      values (own_id, subject.author_id, wanted <> 'spam')
    on conflict on constraint author_trust_pkey do update set is_trusted = excluded.is_trusted,
      created_at = now();
  end if;
  if subject.state <> wanted then
    if target_type = 'comment' then
      update public.comments set moderation_state = wanted where id = target_id;
    else
      update public.submissions set moderation_state = wanted where id = target_id;
    end if;
  end if;
  if subject.state <> wanted or trust_author then
    perform private.audit(target_type || '.' || action, target_type, target_id,
      jsonb_strip_nulls(jsonb_build_object(
      'state', jsonb_build_object('from', subject.state, 'to', wanted), 'reason', reason, 'trust_author',
        trust_author)), own_id);
  end if;
  return json_build_object('target_type', target_type, 'target_id', target_id, 'previous_state',
    subject.state, 'state', wanted);
end
$$;
comment on function private.admin_moderate(text, uuid, text, text, boolean) is
  'Approves, rejects or marks as spam a submission or comment; repeating it is not an error. Spam revokes '
  'the author''s trust; trust_author grants it.';
grant execute on function private.admin_moderation_queue(text, text, timestamptz, uuid, integer),
  private.admin_moderate(text, uuid, text, text, boolean)
  to authenticated, service_key;

-- Counters for list totals, so that the cost of a page does not grow with the board.

create table private.submission_counts (
  organization_id uuid not null references public.organizations (id) on delete cascade,
  is_public boolean not null,
  status text not null,
  type text not null,
  category_id uuid,
  total bigint not null,
  constraint one_count_of_a_kind
    unique nulls not distinct (organization_id, is_public, status, type, category_id)
);
comment on table private.submission_counts is
  'Number of listed (not merged) submissions by status, type, category and visibility. Maintained by '
  'triggers; private.count_discrepancies compares it with the rows.';
alter table private.submission_counts enable row level security;
revoke all on private.submission_counts from public, anon, authenticated, service_role, service_key;

-- Counter rows are locked in key order, after the submission. definer: no client may write counters.
create function private.count_changed_submissions() returns trigger
language plpgsql security definer set search_path = '' as $$
declare sign integer := case tg_op when 'INSERT' then 1 else -1 end;
begin
  insert into private.submission_counts as c (organization_id, is_public, status, type, category_id, total)
  select s.organization_id, s.is_public, s.status, s.type, s.category_id, sign * count(*)
  from changed s where s.merged_into_id is null
    and exists (select from public.organizations o where o.id = s.organization_id)
  group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5
  on conflict on constraint one_count_of_a_kind do update set total = c.total + excluded.total;
  return null;
end
$$;
comment on function private.count_changed_submissions() is
  'Trigger: counts inserted and deleted submissions.';
create trigger count_created after insert on public.submissions
  referencing new table as changed for each statement execute function private.count_changed_submissions();
create trigger count_deleted after delete on public.submissions
  referencing old table as changed for each statement execute function private.count_changed_submissions();

-- A row trigger, because only row triggers can name columns, which keeps it off vote updates. definer: no
-- client may write counters.
create function private.count_moved_submission() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if private.events_suppressed() then return null; end if;
  insert into private.submission_counts as c (organization_id, is_public, status, type, category_id, total)
  select m.organization_id, m.is_public, m.status, m.type, m.category_id, sum(m.change)
  from (values
    (old.organization_id, old.is_public, old.status, old.type, old.category_id, case
      when old.merged_into_id is null then -1 else 0 end),
    (new.organization_id, new.is_public, new.status, new.type, new.category_id, case
      when new.merged_into_id is null then 1 else 0 end)
  ) m (organization_id, is_public, status, type, category_id, change)
  group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5
  on conflict on constraint one_count_of_a_kind do update set total = c.total + excluded.total;
  return null;
end
$$;
comment on function private.count_moved_submission() is
  'Trigger: moves a changed submission from one counter to another.';
create trigger count_moved after update of is_public, moderation_state, status, type, category_id,
  merged_into_id on public.submissions
  for each row when ((old.is_public, old.status, old.type, old.category_id, old.merged_into_id)
    is distinct from (new.is_public, new.status, new.type, new.category_id, new.merged_into_id))
  execute function private.count_moved_submission();

create function private.recount_submissions(organization_id uuid) returns void
language plpgsql set search_path = '' as $$
begin
  delete from private.submission_counts c where c.organization_id = recount_submissions.organization_id;
  insert into private.submission_counts (organization_id, is_public, status, type, category_id, total)
  select s.organization_id, s.is_public, s.status, s.type, s.category_id, count(*)
  from public.submissions s where s.organization_id = recount_submissions.organization_id
    and s.merged_into_id is null
  group by 1, 2, 3, 4, 5;
end
$$;
comment on function private.recount_submissions(uuid) is
  'Recounts the submissions of an organization. The caller holds their locks.';

-- definer: reads counters. Applies the rule of private.can_see_submission to sums.
create function private.count_submissions(organization_id uuid, status text, type text, category_ids uuid[])
  returns bigint
language plpgsql stable security definer set search_path = '' as $$
#variable_conflict use_column
declare
  all_of_them boolean := count_submissions.organization_id = any (private.team_organization_ids());
  caller uuid := private.caller_id();
  kept_to uuid[] := private.agent_category_ids();
begin
  return coalesce((
    select sum(c.total) from private.submission_counts c
    where c.organization_id = count_submissions.organization_id and (c.is_public or all_of_them)
      and (count_submissions.status is null or c.status = count_submissions.status)
      and (count_submissions.type is null or c.type = count_submissions.type)
      and (category_ids is null or c.category_id = any (category_ids))
      and (kept_to is null or c.category_id = any (kept_to))), 0)
  + case when all_of_them or caller is null then 0 else (
    select count(*) from public.submissions s
    where s.organization_id = count_submissions.organization_id and s.author_id = caller and not s.is_public
      and s.merged_into_id is null
      and (count_submissions.status is null or s.status = count_submissions.status)
      and (count_submissions.type is null or s.type = count_submissions.type)
      and (category_ids is null or s.category_id = any (category_ids))
      and (kept_to is null or s.category_id = any (kept_to))) end;
end
$$;
comment on function private.count_submissions(uuid, text, text, uuid[]) is
  'Number of listed submissions the caller can see; null matches every status, type or category.';
grant execute on function private.count_submissions(uuid, text, text, uuid[]) to anon, authenticated,
  service_key;

-- Full-text search and similarity. Search data is kept outside of submissions, so that a vote stays a small
-- update.

create text search configuration private.plain (copy = pg_catalog.simple);
alter text search configuration private.plain
  alter mapping for asciiword, asciihword, hword_asciipart, word, hword, hword_part
  with extensions.unaccent, pg_catalog.simple;
comment on text search configuration private.plain is
  'Words without accents and case; one configuration for all locales.';

create table private.submission_search (
  submission_id uuid primary key references public.submissions (id) on delete cascade,
  organization_id uuid not null,
  document tsvector not null,
  title text not null,
  content text not null
);
comment on table private.submission_search is
  'Search data of submissions: document for full-text search; title and content (lowercase, without '
  'accents) for trigrams, which also serve languages without spaces.';
create index submission_search_document_idx on private.submission_search
  using gin (organization_id, document);
create index submission_search_title_idx on private.submission_search
  using gin (organization_id, title extensions.gin_trgm_ops);
create index submission_search_content_idx on private.submission_search
  using gin (organization_id, content extensions.gin_trgm_ops);
alter table private.submission_search enable row level security;

-- plpgsql, because unaccent is only stable and a SQL wrapper would not be inlined.
create function private.plain_text(value text) returns text
language plpgsql immutable set search_path = '' as $$
begin
  return lower(extensions.unaccent('extensions.unaccent'::regdictionary, value));
end
$$;
comment on function private.plain_text(text) is 'Lowercase text without accents.';

-- definer: clients may not write to private.
create function private.index_submission() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  insert into private.submission_search (submission_id, organization_id, document, title, content)
  values (new.id, new.organization_id,
    setweight(to_tsvector('private.plain', new.title), 'A') ||
      setweight(to_tsvector('private.plain', new.description), 'D'),
    private.plain_text(new.title), private.plain_text(new.title || ' ' || new.description))
  on conflict (submission_id) do update set
    document = excluded.document, title = excluded.title, content = excluded.content;
  return null;
end
$$;
comment on function private.index_submission() is 'Trigger: updates the search data of a submission.';
create trigger index_text after insert or update of title, description on public.submissions
  for each row execute function private.index_submission();

create function private.search_query(q text) returns tsquery
language plpgsql immutable set search_path = '' as $$
declare words tsquery;
begin
  -- Runs of hyphens would nest negations deeper than Postgres allows.
  words := websearch_to_tsquery('private.plain', regexp_replace(q, '-(\s*-)+', ' ', 'g'));
  if right(words::text, 1) = '''' then return (words::text || ':*')::tsquery; end if;
  return words;
exception when internal_error or syntax_error then
  return plainto_tsquery('private.plain', q);
end
$$;
comment on function private.search_query(text) is
  'Query with words, "phrases", -exclusions and OR. The last word matches as a prefix, for search as you '
  'type.';

create function private.like_pattern(q text) returns text
language sql immutable
return '%' || replace(replace(replace(private.plain_text(q), '\', '\\'), '%', '\%'), '_', '\_') || '%';
comment on function private.like_pattern(text) is
  'LIKE pattern that matches the text anywhere, with wildcards escaped.';

create function private.relevance(document tsvector, title text, content text, words tsquery, pattern text)
  returns real
language sql immutable
return (ts_rank(document, words) + case when title like pattern then 0.5 when content like pattern then 0.1
  else 0 end)::real;
comment on function private.relevance(tsvector, text, text, tsquery, text) is
  'Relevance of a submission for a query; higher is better.';

create function private.board_size(organization_id uuid) returns bigint
language sql stable security definer set search_path = '' -- definer: counters are not granted
return (select coalesce(sum(c.total), 0) from private.submission_counts c
  where c.organization_id = board_size.organization_id);
comment on function private.board_size(uuid) is
  'Number of listed submissions of an organization, regardless of visibility.';

create function private.indexed_submissions() returns double precision
-- definer: reads statistics of private.submission_search
language sql stable security definer set search_path = ''
return (select greatest(c.reltuples, 0) from pg_catalog.pg_class c
  where c.oid = 'private.submission_search'::regclass);
comment on function private.indexed_submissions() is
  'Estimated number of submissions of all organizations in the search indexes.';

-- The full-text index reads all entries of a word before it returns the first, so use it only for rare words.
-- The newest submissions serve as a sample to estimate word frequency; no counter for each word is needed.
-- definer: reads private.submission_search.
create function private.newest_texts(organization_id uuid, out documents tsvector[], out contents text[])
language plpgsql stable security definer set search_path = '' set enable_seqscan = off as $$
begin
  select array_agg(c.document), array_agg(c.content) into documents, contents
  from (select s.id from public.submissions s
      where s.organization_id = newest_texts.organization_id and s.merged_into_id is null
      order by s.created_at desc, s.id desc limit 200) s
    cross join lateral (select c.document, c.content from private.submission_search c
      where c.submission_id = s.id offset 0) c;
end
$$;
comment on function private.newest_texts(uuid) is
  'The newest 200 submissions of an organization in search form: the sample for word frequencies.';

-- A prefix of one or two letters matches too many words for the index, and an exclusion matches nearly all
-- rows.
create function private.indexed_words(words tsquery) returns tsquery
language plpgsql immutable set search_path = '' as $$
declare
  short_prefix constant text := '''[^'']{1,2}'':\*';
  positive constant text := regexp_replace(querytree(words), ' (&|<->) ' || short_prefix || '$', '');
begin
  if positive in ('', 'T') or positive ~ ('(^| )' || short_prefix) or numnode(words) > 60
    then return null; end if;
  return positive::tsquery;
end
$$;
comment on function private.indexed_words(tsquery) is
  'The part of a query to look up in the full-text index; the rest only filters. Null if no part is '
  'suitable.';

create function private.word_selectivity(words tsquery, documents tsvector[]) returns double precision
language sql immutable
return (
  select coalesce(sum(a.rarest), 0) from (
    select (
      select min((select count(*) from unnest(documents) d where d @@ lexeme[1]::tsquery))
      from regexp_matches(alternative, '''(?:[^'']|'''')+''(?::\*)?', 'g') lexeme) as rarest
    from regexp_split_to_table(words::text, ' \| ') alternative) a)::double precision
      / greatest(cardinality(documents), 1);
comment on function private.word_selectivity(tsquery, tsvector[]) is
  'Estimated share of index entries that a query reads: for each alternative, those of its rarest word.';

create function private.rarest_trigrams(plain text, contents text[], out patterns text[],
  out share double precision)
language sql immutable set search_path = '' as $$
  select (array_agg('%' || r.part || '%' order by r.n, r.part))[1:2],
    min(r.n)::double precision / greatest(cardinality(contents), 1)
  from (
    select t.part, (select count(*) from unnest(contents) content where position(t.part in content) > 0) as n
    from (select distinct substr(plain, n, 3) as part
      from generate_series(1, least(char_length(plain), 42) - 2) n) t
    where t.part ~ '^[[:alnum:]]{3}$') r
$$;
comment on function private.rarest_trigrams(text, text[]) is
  'The two rarest trigrams of a text as patterns, and the share of texts that contain the rarest. Null if '
  'the text has no trigram.';

-- Boards of up to 4,000 submissions are searched completely. On larger boards the indexes return up to 1,001
-- matches each, which is enough to know that there are more than 1,000. If the indexes are incomplete or a
-- word is too common for them, the newest and most voted submissions are searched. definer: reads
-- private.submission_search; the caller joins the ids with submissions, where policies apply.
create function private.find_submissions(organization_id uuid, q text, status text, max_scanned integer,
  out submission_ids uuid[], out relevances real[], out is_complete boolean, out is_cut boolean)
language plpgsql stable security definer
set search_path = '' set enable_seqscan = off set plan_cache_mode = force_custom_plan as $$
#variable_conflict use_column
declare
  own_id constant uuid := find_submissions.organization_id;
  words constant tsquery := private.search_query(q);
  indexed constant tsquery := private.indexed_words(words);
  pattern constant text := private.like_pattern(q);
  size constant bigint := private.board_size(own_id);
  -- The indexes cover all organizations.
  everything constant double precision := greatest(private.indexed_submissions(), size);
  is_alone constant boolean := size * 2 > everything;
  max_matches constant integer := case when size <= 4000 then 4000 else 1001 end;
  asks_words boolean := false;
  asks_text boolean := false;
  rare_parts text[];
  at_newest integer;
begin
  if size > 500 then
    select numnode(words) = 0 or indexed is not null and private.word_selectivity(indexed, n.documents)
      * everything <= 150000,
      coalesce(t.share * size <= 5000 and t.share * everything <= 150000, false), t.patterns
    into asks_words, asks_text, rare_parts
    from private.newest_texts(own_id) n, private.rarest_trigrams(private.plain_text(q), n.contents) t;
  end if;
  at_newest := case when size <= 4000 then 4000 when asks_words then max_scanned / 4 else max_scanned end;
  with by_words as materialized (
    select c.submission_id, private.relevance(c.document, c.title, c.content, words, pattern) as relevance
    from private.submission_search c
    where asks_words and (is_alone or c.organization_id = own_id)
      and c.document operator(pg_catalog.@@) indexed
      and (c.organization_id = own_id and c.document operator(pg_catalog.@@) words) is true limit max_matches
  ), by_text as materialized (
    select c.submission_id, private.relevance(c.document, c.title, c.content, words, pattern) as relevance
    from private.submission_search c
    where asks_text and (is_alone or c.organization_id = own_id)
      and c.content operator(pg_catalog.~~) rare_parts[1]
      and c.content operator(pg_catalog.~~) coalesce(rare_parts[2], rare_parts[1])
      and (c.organization_id = own_id and c.content operator(pg_catalog.~~) pattern) is true limit max_matches
  ), told as materialized (
    select asks_words and asks_text and (size <= 4000
      or (select count(*) from by_words) < max_matches and (select count(*) from by_text) < max_matches)
        as everything
  ), newest as materialized (
    select s.id from public.submissions s
    where not (select everything from told) and s.organization_id = own_id and s.merged_into_id is null
      and (find_submissions.status is null or s.status = find_submissions.status)
    order by s.created_at desc, s.id desc limit at_newest
  ), top_voted as materialized (
    select s.id from public.submissions s
    where not (select everything from told) and size > 4000 and s.organization_id = own_id
      and s.merged_into_id is null
      and (find_submissions.status is null or s.status = find_submissions.status)
    order by s.vote_count desc, s.id desc limit at_newest
  ), found as (
    select * from by_words union select * from by_text
    union
    select l.id, c.relevance from (select id from newest union select id from top_voted) l
      cross join lateral (
        select private.relevance(c.document, c.title, c.content, words, pattern) as relevance
        from private.submission_search c
        where c.submission_id = l.id and
          (c.document operator(pg_catalog.@@) words or c.content operator(pg_catalog.~~) pattern)
        offset 0) c
  )
  select coalesce(array_agg(f.submission_id), '{}'), coalesce(array_agg(f.relevance), '{}'),
    (select everything from told) or size <= 4000 or (select count(*) from newest) < at_newest,
    size > 4000 and (not asks_words or (select count(*) from by_words) = max_matches
      or (select count(*) from by_text) = max_matches)
  into submission_ids, relevances, is_complete, is_cut from found f;
  is_cut := is_cut and not is_complete;
end
$$;
comment on function private.find_submissions(uuid, text, text, integer) is
  'Ids and relevance of submissions of an organization that match the words or contain the text. '
  'is_complete: all matches (with that status) are returned; otherwise matches of the indexes, of the '
  'newest max_scanned and of the most voted max_scanned submissions. is_cut: more matches exist.';

-- definer: reads private.submission_search.
create function private.submissions_with_text(submission_ids uuid[], q text) returns uuid[]
language plpgsql stable security definer set search_path = '' set enable_seqscan = off as $$
declare
  words constant tsquery := private.search_query(q);
  pattern constant text := private.like_pattern(q);
begin
  return array(
    select c.submission_id from unnest(submission_ids) l (id)
      cross join lateral (
        select c.submission_id from private.submission_search c
        where c.submission_id = l.id and
          (c.document operator(pg_catalog.@@) words or c.content operator(pg_catalog.~~) pattern)
        offset 0) c);
end
$$;
comment on function private.submissions_with_text(uuid[], text) is
  'Which of the given submissions match the words or contain the text.';

-- A filtered list is read either by scanning the index of its sort order, which is fast if many rows match,
-- or by sorting the matches, which is fast if few match. A scan reads about page size × board size / matches
-- rows; both cost the same when the number of matches is the square root of 50 × board size. definer: reads
-- counters and private.submission_search; the caller joins the ids with submissions, where policies apply.
create function private.candidate_submissions(organization_id uuid, status text, type text, category_id uuid,
  tag_id uuid, author_id uuid, q text,
  out submission_ids uuid[], out is_complete boolean, out is_few boolean)
language plpgsql stable security definer
set search_path = '' set enable_seqscan = off set plan_cache_mode = force_custom_plan as $$
#variable_conflict use_column
declare
  own_id constant uuid := candidate_submissions.organization_id;
  few constant double precision := least(sqrt(50 * private.board_size(own_id)), 2000);
  max_matches constant integer := 5000;
  max_texts constant integer := 1000;
  carry_tag boolean := tag_id is null;
begin
  if (status is not null or type is not null or category_id is not null) and coalesce((
    select sum(c.total) from private.submission_counts c
    where c.organization_id = own_id
      and (candidate_submissions.status is null or c.status = candidate_submissions.status)
      and (candidate_submissions.type is null or c.type = candidate_submissions.type)
      and (candidate_submissions.category_id is null or c.category_id = candidate_submissions.category_id)),
        0) <= few then
    submission_ids := array(
      select s.id from (
        select distinct c.status, c.type, c.category_id from private.submission_counts c
        where c.organization_id = own_id
          and (candidate_submissions.status is null or c.status = candidate_submissions.status)
          and (candidate_submissions.type is null or c.type = candidate_submissions.type)
          and (candidate_submissions.category_id
            is null or c.category_id = candidate_submissions.category_id)) k
        cross join lateral (
          select s.id from public.submissions s
          where s.organization_id = own_id and s.merged_into_id is null and s.status = k.status
            and s.type = k.type
            and s.category_id = k.category_id
          union all
          select s.id from public.submissions s
          where s.organization_id = own_id and s.merged_into_id is null and s.status = k.status
            and s.type = k.type
            and s.category_id is null and k.category_id is null) s);
    is_complete := true;
  elsif author_id is not null then
    submission_ids := array(select s.id from public.submissions s
      where s.author_id = candidate_submissions.author_id and s.organization_id = own_id
        limit max_matches + 1);
  elsif tag_id is not null then
    submission_ids := array(select st.submission_id from public.submission_tags st
      where st.organization_id = own_id and st.tag_id = candidate_submissions.tag_id limit max_matches + 1);
    carry_tag := true;
  end if;
  is_complete := coalesce(is_complete or cardinality(submission_ids) <= max_matches, false);
  -- With a second filter a scan may read many rows that only one of them matches.
  is_few := is_complete and (cardinality(submission_ids) <= few
    or num_nonnulls(status, type, category_id, tag_id, author_id) > 1);
  if not is_complete then submission_ids := submission_ids[1:1001]; end if;
  if q is not null and is_complete and cardinality(submission_ids) <= max_texts then
    submission_ids := private.submissions_with_text(submission_ids, q);
    is_few := true;
  elsif q is not null then
    select f.submission_ids, f.is_complete, not f.is_cut into submission_ids, is_complete, is_few
    from private.find_submissions(own_id, q, candidate_submissions.status, 500) f;
    carry_tag := tag_id is null;
  end if;
  if not carry_tag then
    submission_ids := array(
      select l.id from unnest(submission_ids) l (id) cross join lateral (
        select from public.submission_tags st
          where st.submission_id = l.id and st.tag_id = candidate_submissions.tag_id offset 0) st);
  end if;
end
$$;
comment on function private.candidate_submissions(uuid, text, text, uuid, uuid, uuid, text) is
  'Ids of a superset of the submissions that match the filters, if is_complete. is_few: sorting them is '
  'cheaper than scanning a sorted index.';

create function private.escape_html(value text) returns text
language sql immutable
return replace(replace(replace(replace(replace(value, '&', '&amp;'), '<', '&lt;'), '>', '&gt;'), '"',
  '&quot;'), '''', '&#39;');
comment on function private.escape_html(text) is 'Escapes text for HTML.';

create function private.highlight(value text, q text, words tsquery, whole boolean) returns text
language plpgsql immutable set search_path = '' as $$
declare
  marked text := ts_headline('private.plain', private.escape_html(value), words,
    'StartSel=<mark>, StopSel=</mark>, ' || case when whole then 'HighlightAll=true'
      else 'MaxWords=35, MinWords=15, ShortWord=0' end);
  found integer;
begin
  -- In languages without spaces a sentence is one word. There, and if no word matched, mark the literal text.
  if position('<mark>' in marked) > 0 and q !~ '[\u3040-\u30ff\u3400-\u9fff]' then return marked; end if;
  found := position(lower(q) in lower(value));
  if found = 0 then return marked; end if;
  return private.escape_html(case when whole then left(value, found - 1)
    else substr(value, greatest(1, found - 80), least(80, found - 1)) end)
    || '<mark>' || private.escape_html(substr(value, found, char_length(q))) || '</mark>'
    || private.escape_html(case when whole then substr(value, found + char_length(q))
      else substr(value, found + char_length(q), 120) end);
end
$$;
comment on function private.highlight(text, text, tsquery, boolean) is
  'HTML-escaped text with <mark> around matches: the whole text, or the fragment around the match. words is '
  'private.search_query(q), computed once for many texts.';

-- definer: reads private.submission_search.
create function private.rare_title_terms(organization_id uuid, title text, out words text[], out parts text[])
language plpgsql stable security definer set search_path = '' as $$
declare
  everything constant double precision := private.indexed_submissions();
  plain constant text := private.plain_text(title);
  documents tsvector[]; contents text[]; sampled integer;
begin
  select n.documents, n.contents, greatest(cardinality(n.documents), 1) into documents, contents, sampled
  from private.newest_texts(rare_title_terms.organization_id) n;
  words := array(
    select quote_literal(w.lexeme) from (
      select l.lexeme, (select count(*) from unnest(documents) d
        where d operator(pg_catalog.@@) quote_literal(l.lexeme)::tsquery) as n
      from unnest(to_tsvector('private.plain', rare_title_terms.title)) l
        where l.lexeme ~ '^[[:alnum:]]{4,}$' limit 30) w
    where w.n * everything / sampled <= 60000 order by w.n, w.lexeme limit 5);
  parts := array(
    select '%' || p.part || '%' from (
      select t.part, (select count(*) from unnest(contents) c where position(t.part in c) > 0) as n
      from (select distinct substr(plain, i, 3) as part
        from generate_series(1, least(char_length(plain), 62) - 2) i) t
      where t.part ~ '^[[:alnum:]]{3}$') p
    where p.n * everything / sampled <= 15000 order by p.n, p.part limit 8);
end
$$;
comment on function private.rare_title_terms(uuid, text) is
  'The rarest words and trigrams of a title as patterns, rarest first, without common ones.';

-- On a large board the candidates share the rarest words or trigrams with the title, as many words as
-- possible, or are new or have the most votes; their number is bounded. Candidates are compared like all
-- submissions of a small board. definer: reads private.submission_search.
create function private.similar_candidates(organization_id uuid, title text) returns uuid[]
language plpgsql stable security definer
set search_path = '' set enable_seqscan = off set plan_cache_mode = force_custom_plan as $$
#variable_conflict use_column
declare
  own_id constant uuid := similar_candidates.organization_id;
  is_alone constant boolean := private.board_size(own_id) * 2 > private.indexed_submissions();
  wanted constant text := private.plain_text(similar_candidates.title);
  rare_words text[]; rare_parts text[]; some_words tsquery; part text; found uuid[];
begin
  select r.words, r.parts into rare_words, rare_parts
    from private.rare_title_terms(own_id, similar_candidates.title) r;
  found := array(
    select c.submission_id
    from (
      (select s.id from public.submissions s where s.organization_id = own_id and s.merged_into_id is null
        order by s.created_at desc, s.id desc limit 150)
      union
      (select s.id from public.submissions s where s.organization_id = own_id and s.merged_into_id is null
        order by s.vote_count desc, s.id desc limit 150)) l
      cross join lateral (select c.submission_id from private.submission_search c
        where c.submission_id = l.id and c.title operator(extensions.%) wanted offset 0) c
    limit 60);
  for n in reverse cardinality(rare_words)..1 loop
    exit when cardinality(found) >= 120;
    some_words := array_to_string(rare_words[1:n], ' & ')::tsquery;
    found := found || array(
      select c.submission_id from (
        select c.submission_id, c.title from private.submission_search c
        where (is_alone or c.organization_id = own_id) and c.document operator(pg_catalog.@@) some_words
          and (c.organization_id = own_id) is true limit 150) c
      order by extensions.similarity(c.title, wanted) desc limit 40);
  end loop;
  foreach part in array rare_parts loop
    exit when cardinality(found) >= 150;
    found := found || array(
      select c.submission_id from (
        select c.submission_id, c.title from private.submission_search c
        where (is_alone or c.organization_id = own_id) and c.title operator(pg_catalog.~~) part
          and (c.organization_id = own_id) is true limit 150) c
      order by extensions.similarity(c.title, wanted) desc limit 25);
  end loop;
  return found;
end
$$;
comment on function private.similar_candidates(uuid, text) is
  'At most 175 submissions of a large board that may be similar to the described one.';

-- definer: reads private.submission_search.
create function private.similar_submissions(organization_id uuid, title text, description text)
  returns table (submission_id uuid, similarity real)
language plpgsql stable security definer set search_path = '' rows 50 as $$
declare
  own_id constant uuid := similar_submissions.organization_id;
  wanted constant text := private.plain_text(title);
  candidates uuid[];
  words tsquery;
begin
  if private.board_size(own_id) > 4000 then
    candidates := private.similar_candidates(own_id, title);
  else
    words := (select string_agg(quote_literal(lexeme), ' | ')::tsquery
      from unnest(to_tsvector('private.plain', similar_submissions.title))
        where lexeme ~ '^[[:alnum:]]{4,}$');
    candidates := array(
      (select c.submission_id from private.submission_search c
        where c.organization_id = own_id and c.title operator(extensions.%) wanted limit 200)
      union
      (select c.submission_id from private.submission_search c
        where c.organization_id = own_id and c.document @@ words
        order by ts_rank(c.document, words) desc limit 50));
  end if;
  return query
    select s.submission_id,
      greatest(extensions.similarity(s.title, wanted),
        0.8 * extensions.strict_word_similarity(wanted, s.content),
        case when description is not null
          then 0.9 * extensions.similarity(s.content, wanted || ' ' || private.plain_text(description))
          end)::real as score
    from private.submission_search s where s.submission_id = any (candidates)
    order by score desc
    limit 50;
end
$$;
comment on function private.similar_submissions(uuid, text, text) is
  'At most 50 similar submissions with a similarity from 0 to 1, best first.';

revoke all on private.submission_search from public, anon, authenticated, service_role, service_key;
grant execute on function private.find_submissions(uuid, text, text, integer),
  private.highlight(text, text, tsquery, boolean), private.escape_html(text),
  private.similar_submissions(uuid, text, text), private.search_query(text),
  private.candidate_submissions(uuid, text, text, uuid, uuid, uuid, text),
    private.submissions_with_text(uuid[], text)
  to anon, authenticated, service_key;

-- Activity of people by day, aggregated incrementally. Analytics reads these tables and never the source
-- rows.
--
-- Triggers append entries, so that transactions do not wait for each other. The schedule
-- (private.run_schedule) folds the entries into days every few seconds; it is the only writer of the day
-- tables. Readers add the entries that are not folded yet.
--
-- An entry belongs to a quarter of an hour, since every time zone's day starts on one. A day is a day in the
-- organization's time zone; when the zone changes, the schedule recounts.

create function private.quarter_hour(at timestamptz) returns timestamptz
language sql immutable
return date_bin('15 minutes', at, '2000-01-01 00:00:00+00');
comment on function private.quarter_hour(timestamptz) is
  'Start of the quarter of an hour that contains the time.';

create table private.person_activity (
  organization_id uuid not null references public.organizations (id) on delete cascade,
  slot timestamptz not null,
  -- No foreign key: reassigning a row to another person appends an entry for both.
  user_id uuid not null,
  submissions integer not null default 0,
  votes integer not null default 0,
  comments integer not null default 0
);
comment on table private.person_activity is
  'Entries not yet folded into private.person_days: submissions, votes for submissions and comments of a '
  'person, added or (negative) removed.';
create index person_activity_organization_idx on private.person_activity (organization_id);

create table private.submission_activity (
  organization_id uuid not null references public.organizations (id) on delete cascade,
  slot timestamptz not null,
  status text not null,
  category_id uuid,
  source text,
  total integer not null
);
comment on table private.submission_activity is
  'Entries not yet folded into private.submission_days: submissions of a kind, added or (negative) removed.';
create index submission_activity_organization_idx on private.submission_activity (organization_id);

create table private.activity_zones (
  organization_id uuid primary key references public.organizations (id) on delete cascade,
  time_zone text not null
);
comment on table private.activity_zones is
  'Time zone in which the days of an organization are counted: its current one, except for seconds after a '
  'change until the recount. Deleting the row deletes the days.';

-- No foreign keys from here on: checking each row would dominate the cost of a recount.
create table private.person_days (
  organization_id uuid not null,
  user_id uuid not null,
  day date not null,
  previous_day date not null,
  submissions integer not null,
  votes integer not null,
  comments integer not null,
  primary key (organization_id, user_id, day)
);
comment on table private.person_days is
  'Number of existing submissions, votes for submissions and comments of a person by creation day. '
  'previous_day: the latest earlier day with any; -infinity if none.';

-- A person who was active between two days has exactly one day in that range whose previous day is before the
-- range. Counting these days counts distinct people for any range without reading people.
create table private.day_activity (
  organization_id uuid not null,
  day date not null,
  previous_day date not null,
  people integer not null,
  submissions integer not null,
  votes integer not null,
  comments integer not null,
  primary key (organization_id, day, previous_day)
);
comment on table private.day_activity is
  'Aggregate of private.person_days: number of people for each pair of day and previous day, and their '
  'activity on the day.';

create table private.submission_days (
  organization_id uuid not null,
  span text not null,
  day date not null,
  status text not null,
  category_id uuid,
  source text,
  total integer not null,
  constraint one_row_a_span_and_kind
    unique nulls not distinct (organization_id, span, day, status, category_id, source)
);
comment on table private.submission_days is
  'Submissions by creation day or month (span), with their current status, category and source.';

create function private.histogram_bucket(milliseconds bigint) returns integer
language sql immutable
return floor(4 * ln(milliseconds + 1) / ln(2))::integer;
comment on function private.histogram_bucket(bigint) is
  'Histogram bucket of a duration, four for each doubling. The median is found by reading the rows of one '
  'bucket.';

create table private.first_replies (
  submission_id uuid primary key,
  organization_id uuid not null,
  submitted_at timestamptz not null,
  milliseconds bigint not null
);
comment on table private.first_replies is
  'Time from a submission to the first approved official comment by another author that still exists.';
create index first_replies_magnitude_idx on private.first_replies
  (organization_id, private.histogram_bucket(milliseconds), submitted_at)
  include (milliseconds, submission_id);

create table private.reply_days (
  organization_id uuid not null,
  day date not null,
  magnitude integer not null,
  replies integer not null,
  milliseconds bigint not null,
  primary key (organization_id, day, magnitude)
);
comment on table private.reply_days is
  'Aggregate of private.first_replies by creation day of the submission and histogram bucket.';

create table private.replies_due (
  organization_id uuid not null references public.organizations (id) on delete cascade,
  submission_id uuid not null
);
comment on table private.replies_due is 'Submissions whose first reply must be recomputed.';
create index replies_due_organization_idx on private.replies_due (organization_id, submission_id);

alter table private.person_activity enable row level security;
alter table private.submission_activity enable row level security;
alter table private.activity_zones enable row level security;
alter table private.person_days enable row level security;
alter table private.day_activity enable row level security;
alter table private.submission_days enable row level security;
alter table private.first_replies enable row level security;
alter table private.reply_days enable row level security;
alter table private.replies_due enable row level security;
revoke all on private.person_activity, private.submission_activity, private.activity_zones,
  private.person_days, private.day_activity,
  private.submission_days, private.first_replies, private.reply_days, private.replies_due
    from public, anon, authenticated, service_role, service_key;

-- definer: no client may write counters.
create function private.delete_activity() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  delete from private.person_days d using gone g where d.organization_id = g.organization_id;
  delete from private.day_activity d using gone g where d.organization_id = g.organization_id;
  delete from private.submission_days d using gone g where d.organization_id = g.organization_id;
  delete from private.first_replies r using gone g where r.organization_id = g.organization_id;
  delete from private.reply_days d using gone g where d.organization_id = g.organization_id;
  return null;
end
$$;
comment on function private.delete_activity() is 'Trigger: deletes the days with their organization.';
create trigger forget_days after delete on private.activity_zones
  referencing old table as gone for each statement execute function private.delete_activity();

-- definer: no client may write counters.
create function private.track_submissions() returns trigger
language plpgsql security definer set search_path = '' as $$
declare sign integer := case tg_op when 'INSERT' then 1 else -1 end;
begin
  insert into private.submission_activity (organization_id, slot, status, category_id, source, total)
  select c.organization_id, private.quarter_hour(c.created_at), c.status, c.category_id, c.source,
    sign * count(*)
  from changed c where exists (select from public.organizations o where o.id = c.organization_id)
  group by 1, 2, 3, 4, 5;
  insert into private.person_activity (organization_id, slot, user_id, submissions)
  select c.organization_id, private.quarter_hour(c.created_at), c.author_id, sign * count(*)
  from changed c where exists (select from public.organizations o where o.id = c.organization_id)
  group by 1, 2, 3;
  return null;
end
$$;
comment on function private.track_submissions() is
  'Trigger: appends activity entries for added and removed submissions, by author and by kind.';
create trigger track_added after insert on public.submissions
  referencing new table as changed for each statement execute function private.track_submissions();
create trigger track_removed after delete on public.submissions
  referencing old table as changed for each statement execute function private.track_submissions();

create function private.track_votes() returns trigger
language plpgsql security definer set search_path = '' as $$ -- definer: no client may write counters
declare sign integer := case tg_op when 'INSERT' then 1 else -1 end;
begin
  insert into private.person_activity (organization_id, slot, user_id, votes)
  select c.organization_id, private.quarter_hour(c.created_at), c.user_id, sign * count(*)
  from changed c where exists (select from public.organizations o where o.id = c.organization_id)
  group by 1, 2, 3;
  return null;
end
$$;
comment on function private.track_votes() is 'Trigger: appends activity entries for added and removed votes.';
create trigger track_added after insert on public.votes
  referencing new table as changed for each statement execute function private.track_votes();
create trigger track_removed after delete on public.votes
  referencing old table as changed for each statement execute function private.track_votes();

create function private.track_comments() returns trigger
language plpgsql security definer set search_path = '' as $$ -- definer: no client may write counters
declare sign integer := case tg_op when 'INSERT' then 1 else -1 end;
begin
  insert into private.person_activity (organization_id, slot, user_id, comments)
  select c.organization_id, private.quarter_hour(c.created_at), c.author_id, sign * count(*)
  from changed c where exists (select from public.organizations o where o.id = c.organization_id)
  group by 1, 2, 3;
  insert into private.replies_due (organization_id, submission_id)
  select distinct c.organization_id, c.submission_id
  from changed c where c.is_official
    and exists (select from public.organizations o where o.id = c.organization_id);
  return null;
end
$$;
comment on function private.track_comments() is
  'Trigger: appends activity entries for added and removed comments; an official comment may change the '
  'first reply.';
create trigger track_added after insert on public.comments
  referencing new table as changed for each statement execute function private.track_comments();
create trigger track_removed after delete on public.comments
  referencing old table as changed for each statement execute function private.track_comments();

-- Row triggers, because only row triggers can name columns, which keeps them off vote updates.
create function private.track_moved_submission() returns trigger
language plpgsql security definer set search_path = '' as $$ -- definer: no client may write counters
begin
  insert into private.submission_activity (organization_id, slot, status, category_id, source, total) values
    (old.organization_id, private.quarter_hour(old.created_at), old.status, old.category_id, old.source, -1),
    (new.organization_id, private.quarter_hour(new.created_at), new.status, new.category_id, new.source, 1);
  return null;
end
$$;
comment on function private.track_moved_submission() is
  'Trigger: moves a submission whose kind changes from one counter to another.';
create trigger track_moved after update of status, category_id, source, created_at on public.submissions
  for each row when ((old.status, old.category_id, old.source, old.created_at) is distinct
    from (new.status, new.category_id, new.source, new.created_at))
  execute function private.track_moved_submission();

create function private.track_reassigned() returns trigger
language plpgsql security definer set search_path = '' as $$ -- definer: no client may write counters
declare column_name text := case tg_table_name when 'votes' then 'user_id' else 'author_id' end;
begin
  insert into private.person_activity (organization_id, slot, user_id, submissions, votes, comments)
  select new.organization_id, private.quarter_hour(m.created_at), m.user_id::uuid,
    case tg_table_name when 'submissions' then m.change else 0 end,
    case tg_table_name when 'votes' then m.change else 0 end,
    case tg_table_name when 'comments' then m.change else 0 end
  from (values (to_jsonb(old) ->> column_name, old.created_at, -1),
    (to_jsonb(new) ->> column_name, new.created_at, 1)) m (user_id, created_at, change);
  return null;
end
$$;
comment on function private.track_reassigned() is
  'Trigger: moves activity when a row changes its author (erasure) or its time.';
create trigger track_corrected after update of author_id, created_at on public.submissions
  for each row when ((old.author_id, old.created_at) <> (new.author_id, new.created_at))
    execute function private.track_reassigned();
create trigger track_corrected after update of user_id, created_at on public.votes
  for each row when ((old.user_id, old.created_at) <> (new.user_id, new.created_at))
    execute function private.track_reassigned();
create trigger track_corrected after update of author_id, created_at on public.comments
  for each row when ((old.author_id, old.created_at) <> (new.author_id, new.created_at))
    execute function private.track_reassigned();

create function private.track_replies() returns trigger
language plpgsql security definer set search_path = '' as $$ -- definer: no client may write counters
declare key text := case tg_table_name when 'submissions' then 'id' else 'submission_id' end;
begin
  insert into private.replies_due (organization_id, submission_id)
  select new.organization_id, (to_jsonb(old) ->> key)::uuid
    union select new.organization_id, (to_jsonb(new) ->> key)::uuid;
  return null;
end
$$;
comment on function private.track_replies() is
  'Trigger: marks submissions whose first reply may have changed.';
create trigger track_replies after update of author_id, created_at on public.submissions
  for each row when ((old.author_id, old.created_at) <> (new.author_id, new.created_at))
    execute function private.track_replies();
create trigger track_replies after update of submission_id, author_id, is_official, moderation_state,
  created_at on public.comments
  for each row when ((old.is_official or new.is_official)
    and (old.submission_id, old.author_id, old.is_official, old.moderation_state, old.created_at)
      <> (new.submission_id, new.author_id, new.is_official, new.moderation_state, new.created_at))
  execute function private.track_replies();

-- Into days -------------------------------------------------------------------------------------------------

create function private.activity_zone(organization_id uuid) returns text
language plpgsql stable set search_path = '' as $$
begin
  return coalesce((select z.time_zone from private.activity_zones z
    where z.organization_id = activity_zone.organization_id),
    (select o.time_zone from public.organizations o where o.id = activity_zone.organization_id));
end
$$;
comment on function private.activity_zone(uuid) is
  'The time zone in which the days of an organization are counted.';

create function private.person_day_changes(entries private.person_activity[])
returns table (sign integer, organization_id uuid, user_id uuid, day date, previous_day date,
  submissions integer, votes integer, comments integer)
language plpgsql stable set search_path = '' rows 20000 as $$
#variable_conflict use_column
begin
  return query
    with changes as (
      select e.organization_id, e.user_id, (e.slot at time zone z.time_zone)::date as day,
        sum(e.submissions)::integer as submissions, sum(e.votes)::integer as votes,
          sum(e.comments)::integer as comments
      from unnest(entries) e join (
        select o.organization_id, private.activity_zone(o.organization_id) as time_zone
        from (select distinct e.organization_id from unnest(entries) e) o) z using (organization_id)
      group by 1, 2, 3
    ), before as materialized (
      -- Include the neighbours of changed days: the following day's previous_day changes too.
      select d.*, s.first_day
      from (select c.organization_id, c.user_id, min(c.day) as first_day, max(c.day) as last_day
        from changes c group by 1, 2) s
      cross join lateral (
        select * from private.person_days p
          where (p.organization_id, p.user_id) = (s.organization_id, s.user_id)
          and p.day >= coalesce((select max(n.day) from private.person_days n
            where (n.organization_id, n.user_id) = (s.organization_id, s.user_id) and n.day < s.first_day),
              s.first_day)
          and p.day <= coalesce((select min(n.day) from private.person_days n
            where (n.organization_id, n.user_id) = (s.organization_id, s.user_id) and n.day > s.last_day),
              s.last_day)) d
    )
    select -1, b.organization_id, b.user_id, b.day, b.previous_day, b.submissions, b.votes, b.comments
      from before b
    union all
    select 1, a.organization_id, a.user_id, a.day,
      coalesce(lag(a.day) over (partition by a.organization_id, a.user_id order by a.day), a.previous_day,
        '-infinity'), a.submissions, a.votes, a.comments
    from (
      select r.organization_id, r.user_id, r.day, min(r.previous_day) as previous_day,
        sum(r.submissions)::integer as submissions, sum(r.votes)::integer as votes,
          sum(r.comments)::integer as comments
      from (
        select b.organization_id, b.user_id, b.day, case when b.day < b.first_day
          then b.previous_day end as previous_day, b.submissions, b.votes, b.comments
        from before b
        union all
        select c.organization_id, c.user_id, c.day, null, c.submissions, c.votes, c.comments from changes c) r
      group by 1, 2, 3 having sum(r.submissions) <> 0 or sum(r.votes) <> 0 or sum(r.comments) <> 0) a;
end
$$;
comment on function private.person_day_changes(private.person_activity[]) is
  'Changes to private.person_days for the given entries: affected rows before (sign -1) and after (sign 1).';

create function private.sum_people(batch integer) returns integer
language plpgsql set search_path = '' as $$
declare entries private.person_activity[];
begin
  with taken as (
    delete from private.person_activity a where a.ctid = any (array(
      select e.ctid from private.person_activity e join private.activity_zones z using (organization_id)
        limit batch
      for update of e skip locked))
    returning a
  ) select array_agg(t.a) into entries from taken t;
  if entries is null then return 0; end if;
  with days as materialized (
    select * from private.person_day_changes(entries)
  ), written as (
    insert into private.person_days as p
      (organization_id, user_id, day, previous_day, submissions, votes, comments)
    select d.organization_id, d.user_id, d.day, d.previous_day, d.submissions, d.votes, d.comments from days d
      where d.sign = 1
    except
    select d.organization_id, d.user_id, d.day, d.previous_day, d.submissions, d.votes, d.comments from days d
      where d.sign = -1
    on conflict on constraint person_days_pkey do update set
      previous_day = excluded.previous_day, submissions = excluded.submissions, votes = excluded.votes,
        comments = excluded.comments
  ), gone as (
    delete from private.person_days p using (
      select d.organization_id, d.user_id, d.day from days d group by 1, 2, 3 having max(d.sign) = -1) g
    where (p.organization_id, p.user_id, p.day) = (g.organization_id, g.user_id, g.day)
  )
  insert into private.day_activity as a
    (organization_id, day, previous_day, people, submissions, votes, comments)
  select d.organization_id, d.day, d.previous_day, sum(d.sign), sum(d.sign * d.submissions),
    sum(d.sign * d.votes), sum(d.sign * d.comments)
  from days d group by 1, 2, 3
  having sum(d.sign) <> 0 or sum(d.sign * d.submissions) <> 0 or sum(d.sign * d.votes) <> 0
    or sum(d.sign * d.comments) <> 0
  on conflict on constraint day_activity_pkey do update set people = a.people + excluded.people,
    submissions = a.submissions + excluded.submissions, votes = a.votes + excluded.votes,
      comments = a.comments + excluded.comments;
  return cardinality(entries);
end
$$;
comment on function private.sum_people(integer) is
  'Folds entries of people into their days and the aggregate; returns the number of entries.';

create function private.sum_submissions(batch integer) returns integer
language plpgsql set search_path = '' as $$
declare summed integer;
begin
  with entries as (
    delete from private.submission_activity a where a.ctid = any (array(
      select e.ctid from private.submission_activity e join private.activity_zones z using (organization_id)
        limit batch
      for update of e skip locked))
    returning *
  ), summing as (
    insert into private.submission_days as d (organization_id, span, day, status, category_id, source, total)
    select e.organization_id, span, date_trunc(span, e.slot at time zone z.time_zone)::date, e.status,
      e.category_id, e.source, sum(e.total)
    from entries e join private.activity_zones z using (organization_id)
      cross join unnest(array['day', 'month']) span
    group by 1, 2, 3, 4, 5, 6 having sum(e.total) <> 0
    on conflict on constraint one_row_a_span_and_kind do update set total = d.total + excluded.total
  ) select count(*) into summed from entries;
  return summed;
end
$$;
comment on function private.sum_submissions(integer) is
  'Folds entries of submissions into days and months; returns the number of entries.';

-- The truth -------------------------------------------------------------------------------------------------

create function private.compute_person_days(own_id uuid)
returns table (organization_id uuid, user_id uuid, day date, previous_day date, submissions bigint,
  votes bigint, comments bigint)
language plpgsql stable set search_path = '' as $$
#variable_conflict use_column
declare zone text := private.activity_zone(own_id);
begin
  return query
    select own_id, d.user_id, d.day,
      coalesce(lag(d.day) over (partition by d.user_id order by d.day), '-infinity'), d.submissions, d.votes,
      d.comments
    from (
      select m.user_id, (m.created_at at time zone zone)::date as day,
        count(*) filter (where m.kind = 's') as submissions,
        count(*) filter (where m.kind = 'v') as votes, count(*) filter (where m.kind = 'c') as comments
      from (
        select 's' as kind, s.author_id as user_id, s.created_at from public.submissions s
          where s.organization_id = own_id
        union all
        select 'v', v.user_id, v.created_at from public.votes v where v.organization_id = own_id
        union all
        select 'c', c.author_id, c.created_at from public.comments c where c.organization_id = own_id) m
      group by 1, 2) d;
end
$$;
comment on function private.compute_person_days(uuid) is
  'Expected content of private.person_days when no entries are left.';

create function private.compute_submission_days(own_id uuid)
returns table (organization_id uuid, span text, day date, status text, category_id uuid, source text,
  total bigint)
language plpgsql stable set search_path = '' as $$
#variable_conflict use_column
declare zone text := private.activity_zone(own_id);
begin
  return query
    select own_id, span, date_trunc(span, s.created_at at time zone zone)::date, s.status, s.category_id,
      s.source, count(*)
    from public.submissions s cross join unnest(array['day', 'month']) span where s.organization_id = own_id
      group by 2, 3, 4, 5, 6;
end
$$;
comment on function private.compute_submission_days(uuid) is
  'Expected content of private.submission_days when no entries are left.';

create function private.compute_first_replies(submission_ids uuid[])
returns table (submission_id uuid, organization_id uuid, submitted_at timestamptz, milliseconds bigint)
language plpgsql stable set search_path = '' as $$
begin
  return query
    select s.id, s.organization_id, s.created_at,
      (extract(epoch from f.first_at - s.created_at) * 1000)::bigint
    from public.submissions s cross join lateral (
      select min(c.created_at) as first_at from public.comments c
      where c.submission_id = s.id and c.is_official and c.moderation_state = 'approved'
        and c.author_id <> s.author_id and c.created_at >= s.created_at) f
    where s.id = any (submission_ids) and f.first_at is not null;
end
$$;
comment on function private.compute_first_replies(uuid[]) is
  'Expected content of private.first_replies for the given submissions.';

create function private.recount_days(organization_id uuid) returns void
language plpgsql set search_path = '' as $$
#variable_conflict use_column
declare own_id uuid := recount_days.organization_id;
begin
  insert into private.activity_zones (organization_id, time_zone)
  select o.id, o.time_zone from public.organizations o where o.id = own_id
  on conflict (organization_id) do update set time_zone = excluded.time_zone;
  delete from private.person_days d where d.organization_id = own_id;
  delete from private.day_activity d where d.organization_id = own_id;
  delete from private.submission_days d where d.organization_id = own_id;
  delete from private.reply_days d where d.organization_id = own_id;
  -- Delete the entries in the statement that recounts: both use one snapshot.
  with entries as (
    delete from private.person_activity a where a.organization_id = own_id
  )
  insert into private.person_days (organization_id, user_id, day, previous_day, submissions, votes, comments)
  select * from private.compute_person_days(own_id);
  insert into private.day_activity (organization_id, day, previous_day, people, submissions, votes, comments)
  select own_id, d.day, d.previous_day, count(*), sum(d.submissions), sum(d.votes), sum(d.comments)
  from private.person_days d where d.organization_id = own_id group by 2, 3;
  with entries as (
    delete from private.submission_activity a where a.organization_id = own_id
  )
  insert into private.submission_days (organization_id, span, day, status, category_id, source, total)
  select * from private.compute_submission_days(own_id);
  insert into private.reply_days (organization_id, day, magnitude, replies, milliseconds)
  select own_id, (r.submitted_at at time zone private.activity_zone(own_id))::date,
    private.histogram_bucket(r.milliseconds), count(*), sum(r.milliseconds)
  from private.first_replies r where r.organization_id = own_id group by 2, 3;
end
$$;
comment on function private.recount_days(uuid) is
  'Recounts the days of an organization in its current time zone.';

create function private.sum_replies(batch integer) returns integer
language plpgsql set search_path = '' as $$
declare summed integer;
begin
  with entries as (
    delete from private.replies_due d where d.ctid = any (array(
      select e.ctid from private.replies_due e join private.activity_zones z using (organization_id)
        limit batch
      for update of e skip locked))
    returning *
  ), due as (
    select distinct e.submission_id from entries e
  ), before as (
    select r.* from private.first_replies r join due using (submission_id)
  ), after as materialized (
    select * from private.compute_first_replies(array(select d.submission_id from due d))
  ), written as (
    insert into private.first_replies (submission_id, organization_id, submitted_at, milliseconds) select *
      from after
    on conflict (submission_id) do update set submitted_at = excluded.submitted_at,
      milliseconds = excluded.milliseconds
  ), gone as (
    delete from private.first_replies r using before b
    where r.submission_id = b.submission_id
      and not exists (select from after a where a.submission_id = b.submission_id)
  ), added as (
    insert into private.reply_days as d (organization_id, day, magnitude, replies, milliseconds)
    select r.organization_id, (r.submitted_at at time zone z.time_zone)::date,
      private.histogram_bucket(r.milliseconds), sum(r.sign), sum(r.sign * r.milliseconds)
    from (select *, 1 as sign from after union all select *, -1 from before) r
      join private.activity_zones z using (organization_id)
    group by 1, 2, 3 having sum(r.sign) <> 0 or sum(r.sign * r.milliseconds) <> 0
    on conflict on constraint reply_days_pkey do update set replies = d.replies + excluded.replies,
      milliseconds = d.milliseconds + excluded.milliseconds
  ) select count(*) into summed from entries;
  return summed;
end
$$;
comment on function private.sum_replies(integer) is
  'Recomputes first replies that may have changed and updates their aggregate; returns how many.';

create function private.sum_activity(batch integer default 20000) returns integer
language plpgsql set search_path = '' as $$
begin
  -- One at a time: only the schedule writes the day tables.
  if not pg_try_advisory_xact_lock(hashtextextended('private.sum_activity', 0)) then return 0; end if;
  -- If the organization is being deleted, its rows are deleted with it.
  perform from private.activity_zones z order by z.organization_id for key share;
  perform private.recount_days(z.organization_id)
  from private.activity_zones z join public.organizations o on o.id = z.organization_id
    where o.time_zone <> z.time_zone;
  insert into private.activity_zones (organization_id, time_zone)
  select o.id, o.time_zone from public.organizations o
  where exists (select from private.person_activity a where a.organization_id = o.id)
    or exists (select from private.submission_activity a where a.organization_id = o.id)
    or exists (select from private.replies_due d where d.organization_id = o.id)
  on conflict do nothing;
  return private.sum_people(batch) + private.sum_submissions(batch) + private.sum_replies(batch);
end
$$;
comment on function private.sum_activity(integer) is
  'Folds entries into days, which changes the number of rows to read and no result; returns how many '
  'entries.';

-- Indexes for top movers and reply times.
create index votes_newest_idx on public.votes (organization_id, created_at, submission_id);
create index comments_official_idx on public.comments (submission_id, created_at) where is_official;

-- Analytics of a board for Admin: a function for the API, and views.

create function private.local_date(value text, time_zone text) returns date
language plpgsql stable set search_path = '' as $$
begin
  return case when value ~ '^\d{4}-\d\d-\d\d$' then value::date
    else (value::timestamptz at time zone time_zone)::date end;
end
$$;
comment on function private.local_date(text, text) is
  'A date as it is, or the local date of a time in a time zone.';

create function private.day_start(day date, time_zone text) returns timestamptz
language sql stable
-- Where clocks go back at midnight, midnight occurs twice; a day that a zone skipped starts where it would
-- have started.
return (select coalesce(min(t), day::timestamp at time zone time_zone)
  from (values (day::timestamp at time zone time_zone),
  (day::timestamp at time zone time_zone - interval '1 hour')) s (t)
  where (t at time zone time_zone)::date = day);
comment on function private.day_start(date, text) is 'Start of a day in a time zone.';

create function private.activity_by_interval(organization_id uuid, first_day date, last_day date, step text)
returns table (start date, submissions bigint, votes bigint, comments bigint, people bigint,
  new_people bigint)
language plpgsql stable set search_path = '' as $$
#variable_conflict use_column
declare own_id uuid := activity_by_interval.organization_id;
begin
  return query
    with days as (
      select d.day, d.previous_day, d.people, d.submissions, d.votes, d.comments
      from private.day_activity d where d.organization_id = own_id and d.day between first_day and last_day
      union all
      select c.day, c.previous_day, c.sign, c.sign * c.submissions, c.sign * c.votes, c.sign * c.comments
      from private.person_day_changes(array(select a from private.person_activity a
        where a.organization_id = own_id)) c where c.day between first_day and last_day
    ), starts as (
      select d.*, greatest(date_trunc(step, d.day::timestamp)::date, first_day) as start from days d
    )
    select s.start, sum(s.submissions), sum(s.votes), sum(s.comments),
      coalesce(sum(s.people) filter (where s.previous_day < s.start), 0),
        coalesce(sum(s.people) filter (where s.previous_day < first_day), 0)
    from starts s group by 1;
end
$$;
comment on function private.activity_by_interval(uuid, date, date, text) is
  'Activity from one day to another by day, week or month. people: distinct people in the interval; '
  'new_people: those active in no earlier interval. The first interval may be partial and starts on the '
  'first day.';

create function private.submissions_of(organization_id uuid, span text, first_day date, last_day date)
returns table (day date, status text, category_id uuid, source text, total integer)
language sql stable
begin atomic
  select d.day, d.status, d.category_id, d.source, d.total from private.submission_days d
  where d.organization_id = submissions_of.organization_id and d.span = submissions_of.span
    and d.day between first_day and last_day
  union all
  select e.day, e.status, e.category_id, e.source, e.total
  from (select a.*, date_trunc(submissions_of.span,
    a.slot at time zone private.activity_zone(a.organization_id))::date as day
    from private.submission_activity a) e
  where e.organization_id = submissions_of.organization_id and e.day between first_day and last_day;
end;
comment on function private.submissions_of(uuid, text, date, date) is
  'Submissions by kind and day or month (span) within the range; to be summed.';

create function private.submission_kinds(organization_id uuid, first_day date, last_day date)
returns table (status text, category_id uuid, source text, total bigint)
language plpgsql stable set search_path = '' as $$
#variable_conflict use_column
declare
  own_id uuid := submission_kinds.organization_id;
  -- Complete months from the month rows, the remainder from the day rows.
  months_end date := date_trunc('month', last_day + 1);
  months_start date := least(date_trunc('month', first_day - 1) + interval '1 month', months_end);
begin
  if months_start < first_day then months_start := first_day; months_end := first_day; end if;
  return query
    select s.status, s.category_id, s.source, sum(s.total) from (
      select * from private.submissions_of(own_id, 'day', first_day, months_start - 1)
      union all
      select * from private.submissions_of(own_id, 'month', months_start, months_end - 1)
      union all
      select * from private.submissions_of(own_id, 'day', months_end, last_day)) s
    group by 1, 2, 3 having sum(s.total) > 0;
end
$$;
comment on function private.submission_kinds(uuid, date, date) is
  'Submissions created from one day to another, by current status, type, category and source.';

create function private.reply_times(organization_id uuid, first_day date, last_day date)
returns table (submissions bigint, median_seconds numeric, average_seconds numeric)
language plpgsql stable set search_path = '' as $$
#variable_conflict use_column
declare
  own_id uuid := reply_times.organization_id; zone text := private.activity_zone(own_id);
  starts timestamptz := private.day_start(first_day, zone); ends timestamptz
    := private.day_start(last_day + 1, zone);
  due uuid[] := array(select distinct d.submission_id from private.replies_due d
    where d.organization_id = own_id);
  -- The histogram buckets that contain the median, and the count below them.
  middle integer[]; below bigint;
begin
  with days as (
    select d.magnitude, d.replies, d.milliseconds from private.reply_days d
      where d.organization_id = own_id and d.day between first_day and last_day
    union all
    select private.histogram_bucket(r.milliseconds), -1, -r.milliseconds from private.first_replies r
    where r.submission_id = any (due) and r.submitted_at >= starts and r.submitted_at < ends
    union all
    select private.histogram_bucket(r.milliseconds), 1, r.milliseconds
      from private.compute_first_replies(due) r
    where r.submitted_at >= starts and r.submitted_at < ends
  ), magnitudes as (
    select d.magnitude, sum(d.replies) as replies, sum(d.milliseconds) as milliseconds,
      sum(sum(d.replies)) over (order by d.magnitude) as up_to, sum(sum(d.replies)) over () as all_of_them
    from days d group by 1 having sum(d.replies) > 0
  )
  select coalesce(sum(m.replies), 0), round(sum(m.milliseconds) / sum(m.replies) / 1000),
    array_agg(m.magnitude) filter (where m.up_to >= floor((m.all_of_them + 1) / 2)
      and m.up_to - m.replies < floor(m.all_of_them / 2) + 1),
    coalesce(sum(m.replies) filter (where m.up_to < floor((m.all_of_them + 1) / 2)), 0)
  into submissions, average_seconds, middle, below from magnitudes m;
  select round(avg(r.milliseconds) / 1000) into median_seconds from (
    select r.milliseconds from (
      select r.submission_id, r.submitted_at, r.milliseconds from private.first_replies r
      where r.organization_id = own_id and private.histogram_bucket(r.milliseconds) = any (middle)
        and r.submission_id <> all (due)
      union all
      select r.submission_id, r.submitted_at, r.milliseconds from private.compute_first_replies(due) r
        where private.histogram_bucket(r.milliseconds) = any (middle)) r
    where r.submitted_at >= starts and r.submitted_at < ends
    order by 1 offset greatest((submissions + 1) / 2 - below - 1, 0) limit case when submissions % 2 = 1
      then 1 else 2 end) r;
  return next;
end
$$;
comment on function private.reply_times(uuid, date, date) is
  'Number of submissions with an official reply among those created from one day to another, and the times '
  'to the first reply.';

create function private.top_movers(organization_id uuid, starts timestamptz, ends timestamptz,
  votes_within bigint, hidden_too boolean)
returns table (submission_id uuid, votes bigint)
language plpgsql stable set search_path = '' as $$
#variable_conflict use_column
declare
  own_id uuid := top_movers.organization_id;
  top_voted uuid[]; candidates uuid[]; tenth bigint; to_read bigint;
begin
  -- A submission cannot gain more votes in a range than it has. Take the gain of the tenth of the most voted
  -- as a lower bound: only submissions with more votes than that can beat it.
  top_voted := array(select s.id from public.submissions s
    where s.organization_id = own_id and s.merged_into_id is null and (s.is_public or hidden_too)
      order by s.vote_count desc, s.id desc limit 100);
  tenth := coalesce((select g.votes from private.votes_gained(top_voted, starts, ends) g
    order by g.votes desc offset 9 limit 1), 0);
  select array_agg(c.id), sum(c.vote_count) into candidates, to_read
  from (select s.id, s.vote_count from public.submissions s
    where s.organization_id = own_id and s.merged_into_id is null and (s.is_public or hidden_too)
      and s.vote_count > tenth
    order by s.vote_count desc limit 10000) c;
  if coalesce(cardinality(candidates), 0) < 10000 and coalesce(to_read, 0) < votes_within then
    candidates := array(select unnest(candidates) union select unnest(top_voted));
    return query
      select g.submission_id, g.votes from private.votes_gained(candidates, starts, ends) g
        join public.submissions s on s.id = g.submission_id
      where g.votes > 0 order by g.votes desc, s.vote_count desc, s.id desc limit 10;
  else
    -- A short range has fewer votes than the candidates have.
    return query
      select s.id, g.votes from (
        select v.submission_id, count(*) as votes from public.votes v
        where v.organization_id = own_id and v.created_at >= starts and v.created_at < ends
          group by 1 having count(*) >= tenth) g
      join public.submissions s on s.id = g.submission_id
      where s.merged_into_id is null and (s.is_public or hidden_too)
      order by g.votes desc, s.vote_count desc, s.id desc limit 10;
  end if;
end
$$;
comment on function private.top_movers(uuid, timestamptz, timestamptz, bigint, boolean) is
  'The ten submissions that gained the most votes in a range; total is the number of votes in the range.';

create function private.votes_gained(submission_ids uuid[], starts timestamptz, ends timestamptz)
  returns table (submission_id uuid, votes bigint)
language plpgsql stable set search_path = '' as $$
begin
  return query
    select s.id, v.votes from unnest(submission_ids) as s (id) cross join lateral (
      select count(*) as votes from public.votes v where v.submission_id = s.id and v.created_at >= starts
        and v.created_at < ends) v;
end
$$;
comment on function private.votes_gained(uuid[], timestamptz, timestamptz) is
  'Votes cast in a range, for each of the submissions.';

-- definer: reads activity of all people; returns titles only of submissions the caller sees. No JIT:
-- compiling would take longer than running. Custom plans: the best plan depends on the range.
create function private.admin_analytics(from_day text, to_day text, step text) returns json
language plpgsql stable security definer set search_path = '' set jit = off set work_mem = '32MB'
  set plan_cache_mode = 'force_custom_plan' as $$
declare
  own_id uuid := private.current_organization_id();
  zone text := private.activity_zone(own_id);
  last_day date := coalesce(private.local_date(to_day, zone), (now() at time zone zone)::date);
  first_day date := coalesce(private.local_date(from_day, zone), last_day - 29);
  starts timestamptz := private.day_start(first_day, zone);
  ends timestamptz := private.day_start(last_day + 1, zone);
  answer json;
begin
  perform private.require_admin(own_id, 'analytics:read');
  if first_day > last_day then
    perform private.raise_error('VALIDATION_ERROR', 'must not be after the end', 'from');
  elsif first_day < '2000-01-01' or last_day >= '2100-01-01' then
    perform private.raise_error('VALIDATION_ERROR', 'must be within 2000 to 2099', case
      when first_day < '2000-01-01' then 'from' else 'to' end);
  elsif (last_day - first_day) / (case step when 'day' then 1 when 'week' then 7 else 28 end) >= 400 then
    perform private.raise_error('VALIDATION_ERROR',
      'must be at most 400 intervals before the end: choose a longer one', 'from');
  end if;
  with done as materialized (
    select * from private.activity_by_interval(own_id, first_day, last_day, step)
  ), spans as (
    -- The first and the last interval may be partial.
    select t::date as first_of, d.*
      from generate_series(date_trunc(step, first_day::timestamp), last_day::timestamp,
      ('1 ' || step)::interval) t
      left join done d on d.start = greatest(t::date, first_day)
  ), made as materialized (
    select * from private.submission_kinds(own_id, first_day, last_day)
  )
  select json_build_object(
    'from', first_day, 'to', last_day, 'interval', step, 'time_zone', zone,
    'totals', (select json_build_object('submissions', coalesce(sum(d.submissions), 0), 'votes',
      coalesce(sum(d.votes), 0),
      'comments', coalesce(sum(d.comments), 0), 'active_people', coalesce(sum(d.new_people), 0)) from done d),
    'series', (select json_agg(json_build_object('start', s.first_of, 'submissions',
      coalesce(s.submissions, 0), 'votes', coalesce(s.votes, 0),
      'comments', coalesce(s.comments, 0), 'active_people', coalesce(s.people, 0)) order by s.first_of)
        from spans s),
    'by_status', (select coalesce(json_agg(json_build_object('status', m.status, 'submissions', m.total)
      order by m.total desc, m.status), '[]')
      from (select m.status, sum(m.total) as total from made m group by 1) m),
    'by_category', (select coalesce(json_agg(json_build_object('category_id', m.category_id, 'name', m.name,
      'slug', m.slug, 'submissions', m.total)
        order by m.total desc, m.slug nulls last), '[]')
      from (select m.category_id, c.name, c.slug, sum(m.total) as total from made m
        left join public.categories c on c.id = m.category_id
        group by 1, 2, 3) m),
    'by_source', (select coalesce(json_agg(json_build_object('source', m.source, 'submissions', m.total)
      order by m.total desc, m.source nulls last), '[]')
      from (select m.source, sum(m.total) as total from made m group by 1
        order by 2 desc, 1 nulls last limit 100) m),
    'top_movers', (select coalesce(json_agg(json_build_object('submission_id', s.id, 'title', s.title,
      'status', s.status,
        'votes', m.votes, 'vote_count', s.vote_count) order by m.votes desc, s.vote_count desc, s.id desc),
          '[]')
      from private.top_movers(own_id, starts, ends, (select coalesce(sum(d.votes), 0)::bigint from done d),
        own_id = any (private.team_organization_ids())) m
        join public.submissions s on s.id = m.submission_id),
    'first_official_reply', (select row_to_json(r) from private.reply_times(own_id, first_day, last_day) r))
  into answer;
  return answer;
end
$$;
comment on function private.admin_analytics(text, text, text) is
  'Analytics of the current organization from one day to another, inclusive, in its time zone: submissions, '
  'votes, comments and people by interval; submissions by current kind; top movers; time to first official '
  'reply. For Admin or keys with analytics:read.';
grant execute on function private.admin_analytics(text, text, text) to authenticated, service_key;

-- Views -----------------------------------------------------------------------------------------------------

create function private.measured_organizations() returns table (organization_id uuid)
-- definer: reads settings of private organizations
language plpgsql stable security definer set search_path = '' as $$
begin
  return query select o.id from public.organizations o
    where o.id = any (private.admin_organization_ids('analytics:read'))
      -- Operators bypass policies.
      or coalesce(current_setting('role', true), 'none') not in ('anon', 'authenticated', 'service_key');
end
$$;
comment on function private.measured_organizations() is
  'Organizations whose analytics the caller may see: those the caller administers; all for an operator.';

create function private.analytics_days()
  returns table (organization_id uuid, day date, submissions bigint, votes bigint, comments bigint,
  active_people bigint)
-- definer: activity of people is not granted
language plpgsql stable security definer set search_path = '' as $$
begin
  return query
    select o.organization_id, d.start, d.submissions, d.votes, d.comments, d.people
    from private.measured_organizations() o
      cross join lateral private.activity_by_interval(o.organization_id, '-infinity', 'infinity', 'day') d
    where d.people > 0;
end
$$;
comment on function private.analytics_days() is 'Rows of public.analytics_days.';

create function private.analytics_submissions()
  returns table (organization_id uuid, day date, status text, category_id uuid, source text,
  submissions bigint)
-- definer: activity of people is not granted
language plpgsql stable security definer set search_path = '' as $$
begin
  return query
    select o.organization_id, s.day, s.status, s.category_id, s.source, sum(s.total)
    from private.measured_organizations() o
      cross join lateral private.submissions_of(o.organization_id, 'day', '-infinity', 'infinity') s
    group by 1, 2, 3, 4, 5 having sum(s.total) > 0;
end
$$;
comment on function private.analytics_submissions() is 'Rows of public.analytics_submissions.';
grant execute on function private.analytics_days(), private.analytics_submissions() to authenticated,
  service_role, service_key;

create view public.analytics_days with (security_invoker = true) as select * from private.analytics_days();
comment on view public.analytics_days is
  'Submissions, votes, comments and active people by day in the organization''s time zone, for Admin.';
create view public.analytics_submissions with (security_invoker = true) as select *
  from private.analytics_submissions();
comment on view public.analytics_submissions is
  'Submissions by day and current kind, for Admin of the organization.';
revoke all on public.analytics_days, public.analytics_submissions
  from public, anon, authenticated, service_role, service_key;
grant select on public.analytics_days, public.analytics_submissions to authenticated, service_role,
  service_key;

-- In-product notifications: never to the actor, at most one for each person and event, and only for content
-- the person may see.

create table public.notifications (
  id uuid primary key default gen_random_uuid(),
  organization_id uuid not null,
  user_id uuid not null references public.profiles (id) on delete cascade,
  type text not null,
  submission_id uuid not null,
  comment_id uuid references public.comments (id) on delete cascade,
  event_id uuid not null,
  read_at timestamptz,
  created_at timestamptz not null default now(),
  constraint notifications_submission_is_of_the_same_organization foreign key (organization_id, submission_id)
    references public.submissions (organization_id, id) on delete cascade,
  constraint one_notification_a_person_and_event unique (user_id, event_id),
  constraint type_is_known check
    (type in ('vote', 'comment', 'reply', 'official_comment', 'status_changed', 'merged'))
);
comment on table public.notifications is
  'Notifications of users. event_id is the id of the vote, comment, status change or merge; notifications '
  'about votes do not name the voter.';
create index notifications_newest_idx on public.notifications (user_id, created_at desc, id desc);
create index notifications_unread_idx on public.notifications (user_id, created_at desc, id desc)
  where read_at is null;
create index notifications_submission_idx on public.notifications (organization_id, submission_id);
create index notifications_comment_idx on public.notifications (comment_id) where comment_id is not null;

create table private.fanouts (
  event_id uuid primary key,
  organization_id uuid not null references public.organizations (id) on delete cascade,
  submission_id uuid not null references public.submissions (id) on delete cascade,
  comment_id uuid references public.comments (id) on delete cascade,
  type text not null,
  actor_id uuid,
  after_user_id uuid not null default '00000000-0000-0000-0000-000000000000',
  created_at timestamptz not null default now()
);
comment on table private.fanouts is
  'Pending notification batches: an event on a submission with more than 500 followers is delivered in '
  'batches, resumed after the last notified follower.';
alter table private.fanouts enable row level security;
revoke all on private.fanouts from public, anon, authenticated, service_role, service_key;

-- rows: with the default estimate of 1000 the join with profiles would read all profiles.
create function private.next_recipients(fanout private.fanouts, max_rows integer) returns setof uuid
language plpgsql stable set search_path = '' rows 20 as $$
declare followed uuid[];
begin
  if fanout.type = 'merged' then
    followed := array(
      select source.source_id from private.merges m
        cross join lateral (select m.source_id union all select t.source_id
          from private.merge_tree(m.source_id) t) source
      where m.event_id = fanout.event_id);
  else
    followed := private.with_sources(fanout.submission_id);
  end if;
  return query
    select distinct f.user_id from unnest(followed) as id cross join lateral (
      select f.user_id from public.follows f
      where f.submission_id = id and f.user_id > fanout.after_user_id
      order by f.user_id limit max_rows) f
    order by f.user_id limit max_rows;
end
$$;
comment on function private.next_recipients(private.fanouts, integer) is
  'Next recipients of an event in notification order: followers of the submission, or of the sources of a '
  'merge.';

create function private.notify_batch(fanout private.fanouts, batch integer) returns uuid
language plpgsql set search_path = '' as $$
declare last_id uuid;
begin
  with next as (
    select user_id from private.next_recipients(fanout, batch) as user_id
  ), told as (
    insert into public.notifications (organization_id, user_id, type, submission_id, comment_id, event_id)
    select fanout.organization_id, n.user_id, fanout.type, fanout.submission_id, fanout.comment_id,
      fanout.event_id
    from next n join public.profiles p on p.id = n.user_id
      join public.submissions s on s.id = fanout.submission_id
    where n.user_id is distinct from fanout.actor_id and p.kind in ('user', 'email')
      and (s.is_public or s.author_id = p.id or private.is_member(s.organization_id, p.id))
    on conflict (user_id, event_id) do nothing
  )
  select case when count(*) = batch then max(user_id::text)::uuid end into last_id from next;
  return last_id;
end
$$;
comment on function private.notify_batch(private.fanouts, integer) is
  'Notifies the next batch of followers; returns the last one, or null when done.';

-- Called by definer triggers only.
create function private.notify_followers(organization_id uuid, submission_id uuid, type text, event_id uuid,
  comment_id uuid, actor_id uuid)
returns void language plpgsql set search_path = '' as $$
declare fanout private.fanouts;
begin
  fanout := row(event_id, organization_id, submission_id, comment_id, type, actor_id,
    '00000000-0000-0000-0000-000000000000', now());
  -- Notify the authors first, with the notification type that concerns them; each person gets one.
  insert into public.notifications (organization_id, user_id, type, submission_id, comment_id, event_id)
  select distinct on (p.id) notify_followers.organization_id, p.id, told.type, notify_followers.submission_id,
    notify_followers.comment_id, notify_followers.event_id
  from (
    select parent.author_id as user_id, 'reply' as type, 1 as rank
    from public.comments c join public.comments parent on parent.id = c.parent_id
      where c.id = notify_followers.comment_id
    union all
    select s.author_id, notify_followers.type, 2 from public.submissions s
      where s.id = notify_followers.submission_id
  ) told join public.profiles p on p.id = told.user_id
    join public.submissions s on s.id = notify_followers.submission_id
  where p.id is distinct from actor_id and p.kind in ('user', 'email')
    and (s.is_public or s.author_id = p.id or private.is_member(s.organization_id, p.id))
  order by p.id, told.rank
  on conflict on constraint one_notification_a_person_and_event do nothing;
  fanout.after_user_id := private.notify_batch(fanout, 500);
  if fanout.after_user_id is not null then
    insert into private.fanouts values (fanout.*);
  end if;
end
$$;
comment on function private.notify_followers(uuid, uuid, text, uuid, uuid, uuid) is
  'Notifies the author of the parent comment, the author of the submission and the followers, each once and '
  'never the actor. Beyond 500 followers private.run_fanouts does the rest.';

-- Called by a definer function only.
create function private.notify_merge(organization_id uuid, target_id uuid, event_id uuid) returns void
language plpgsql set search_path = '' as $$
declare fanout private.fanouts;
begin
  fanout := row(event_id, organization_id, target_id, null, 'merged', private.caller_id(),
    '00000000-0000-0000-0000-000000000000', now());
  fanout.after_user_id := private.notify_batch(fanout, 500);
  if fanout.after_user_id is not null then
    insert into private.fanouts values (fanout.*);
  end if;
end
$$;
comment on function private.notify_merge(uuid, uuid, uuid) is
  'Notifies the followers of merged sources once each about the merge.';

create function private.run_fanouts(batch integer default 5000) returns integer
language plpgsql set search_path = '' as $$
declare fanout private.fanouts; done integer := 0;
begin
  for fanout in select * from private.fanouts order by created_at limit 20 for update skip locked loop
    fanout.after_user_id := private.notify_batch(fanout, batch);
    if fanout.after_user_id is null then
      delete from private.fanouts where event_id = fanout.event_id;
    else
      update private.fanouts set after_user_id = fanout.after_user_id where event_id = fanout.event_id;
    end if;
    done := done + 1;
  end loop;
  return done;
end
$$;
comment on function private.run_fanouts(integer) is
  'Processes the next batch of each pending fan-out. Idempotent; safe to run concurrently.';

-- Rights ----------------------------------------------------------------------------------------------------

alter table public.notifications enable row level security;
revoke all on public.notifications from public, anon, authenticated, service_role, service_key;
grant select (id, organization_id, user_id, type, submission_id, comment_id, read_at, created_at),
  update (read_at)
  on public.notifications to authenticated;
grant select, insert, update, delete on public.notifications to service_role;
grant select (id) on public.notifications to anon;

create policy "people see their own notifications" on public.notifications
  for select to authenticated using (
    user_id = (select auth.uid()) and exists (select from public.submissions s where s.id = submission_id)
    and (comment_id is null or exists (select from public.comments c where c.id = comment_id)));
create policy "people mark their own notifications read" on public.notifications
  for update to authenticated using (user_id = (select auth.uid()))
    with check (user_id = (select auth.uid()));

-- What the pages need besides what the API reads.

-- definer: memberships and notifications are read for nobody too, who has none.
create function private.page_frame(organization_id uuid) returns json
language plpgsql stable security definer set search_path = '' as $$
declare caller uuid := private.caller_id();
begin
  return json_build_object(
    'organization', (
      select json_build_object('id', o.id, 'slug', o.slug, 'name', o.name, 'is_default',
        o.id = private.default_organization_id(),
        'visibility', o.visibility, 'brand_color', o.brand_color, 'logo_url', o.logo_url, 'allow_indexing',
          o.allow_indexing,
        'allowed_origins', o.allowed_origins)
      from public.organizations o where o.id = page_frame.organization_id
        and (o.visibility = 'public' or private.is_member(o.id, caller))),
    'viewer', (
      select json_build_object('id', p.id, 'name', coalesce(p.name, 'Anonymous'), 'avatar_url', p.avatar_url,
        'locale', p.locale,
        'role', (select m.role from public.memberships m where m.organization_id = page_frame.organization_id
          and m.user_id = p.id),
        'unread_count', (select count(*) from (
          select from public.notifications n where n.user_id = p.id and n.read_at is null limit 100) n))
      from public.profiles p where p.id = caller and p.kind = 'user'));
end
$$;
comment on function private.page_frame(uuid) is
  'For the pages: {organization, viewer}. The organization is null where the caller may not see it, the '
  'viewer where nobody signed in; unread_count is at most 100.';

-- definer: reads counts, by the same rule as private.count_submissions.
create function private.board_counts(organization_id uuid) returns json
language plpgsql stable security definer set search_path = '' as $$
declare
  all_of_them boolean := board_counts.organization_id = any (private.team_organization_ids());
  caller uuid := private.caller_id();
begin
  return (
    with kinds as materialized (
      select c.status, c.type, c.category_id, c.total from private.submission_counts c
      where c.organization_id = board_counts.organization_id and (c.is_public or all_of_them)
      union all
      select s.status, s.type, s.category_id, 1 from public.submissions s
      where not all_of_them and s.organization_id = board_counts.organization_id and s.author_id = caller
        and not s.is_public and s.merged_into_id is null
    )
    select json_build_object(
      'total', (select coalesce(sum(total), 0) from kinds),
      'statuses', (select coalesce(json_object_agg(k.status, k.n), '{}')
        from (select status, sum(total) as n from kinds group by 1) k),
      'types', (select coalesce(json_object_agg(k.type, k.n), '{}')
        from (select type, sum(total) as n from kinds group by 1) k),
      'categories', (select coalesce(json_object_agg(k.category_id, k.n), '{}') from (
        select category_id, sum(total) as n from kinds where category_id is not null group by 1) k)));
end
$$;
comment on function private.board_counts(uuid) is
  'For the board: how many submissions the caller sees in lists, {total, statuses, types, categories}, each '
  'by name or id.';

-- definer: address and language are granted to nobody.
create function private.my_profile() returns json
language plpgsql stable security definer set search_path = '' as $$
begin
  return (select json_build_object('name', p.name, 'email', p.email, 'avatar_url', p.avatar_url)
    from public.profiles p where p.id = private.caller_id());
end
$$;
comment on function private.my_profile() is
  'What the caller may change of themselves, {name, email, avatar_url}: null where it is not known.';

-- definer: a survey that is over is not seen any more, but what somebody answered stays theirs.
create function private.my_responses()
  returns table (id uuid, survey_id uuid, survey_title text, submitted_at timestamptz)
language plpgsql stable security definer set search_path = '' as $$
begin
  return query
    select r.id, r.survey_id, s.title, r.submitted_at
    from public.survey_responses r join public.surveys s on s.id = r.survey_id
      where r.user_id = private.caller_id();
end
$$;
comment on function private.my_responses() is 'The surveys that the caller answered, and when.';

grant execute on function private.page_frame(uuid), private.board_counts(uuid) to anon, authenticated,
  service_key;
grant execute on function private.my_profile(), private.my_responses() to authenticated;

-- Surveys, their questions and their lifecycle: draft → published ⇄ paused, any → archived. Only drafts can
-- be changed.
--
-- Lock order: a version, the survey it is a version of, the respondent (profile, then advisory lock), the
-- start, responses, counters (in shards that are never waited for, 42_survey_analytics.sql). Writers of a
-- survey or its questions lock its row FOR NO KEY UPDATE. Respondents lock it FOR SHARE: they run
-- concurrently and exclude a concurrent close. Erasure locks the profile first and surveys FOR KEY SHARE,
-- which does not conflict with respondents.

create table public.surveys (
  id uuid primary key default gen_random_uuid(),
  organization_id uuid not null default private.requested_organization_id() references public.organizations
    (id) on delete cascade,
  title text not null,
  description text not null default '',
  status text not null default 'draft',
  allow_multiple_responses boolean not null default false,
  show_branding boolean not null default true,
  redirect_url text,
  audience text not null default 'everyone',
  audience_submission_id uuid,
  locales text[],
  closes_at timestamptz,
  version_of uuid,
  family_id uuid not null,
  published_at timestamptz,
  closed_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint surveys_belong_to_their_organization unique (organization_id, id),
  constraint surveys_version_of_is_of_the_same_organization foreign key (organization_id, version_of)
    references public.surveys (organization_id, id) on delete set null (version_of),
  constraint surveys_audience_submission_is_of_the_same_organization foreign key
    (organization_id, audience_submission_id)
    references public.submissions (organization_id, id) on delete set null (audience_submission_id),
  constraint title_has_1_to_200_characters check (char_length(title) between 1 and 200),
  constraint description_has_at_most_5000_characters check (char_length(description) <= 5000),
  constraint status_is_known check (status in ('draft', 'published', 'paused', 'archived')),
  constraint redirect_url_is_a_web_address check
    (redirect_url ~ '^https?://\S+$' and char_length(redirect_url) <= 2000),
  constraint closes_at_is_a_day_of_the_calendar check
    (closes_at >= '2000-01-01T00:00:00Z' and closes_at < '9999-12-31T00:00:00Z'),
  constraint audience_is_known check (audience in ('everyone', 'voters', 'followers')),
  constraint everyone_needs_no_submission check (audience <> 'everyone' or audience_submission_id is null),
  constraint locales_are_known check (
    cardinality(locales) between 1 and cardinality(private.locales()) and locales <@ private.locales())
);
comment on table public.surveys is
  'Surveys of an organization. audience and locales restrict who may answer and are visible to Admin only. '
  'family_id is shared by all versions of a survey. closed_at: when the survey closed for good; its event '
  'is emitted once. Results are in public.survey_results.';
create index surveys_newest_idx on public.surveys (organization_id, created_at desc, id desc);
create index surveys_status_idx on public.surveys (organization_id, status, created_at desc, id desc);
create index surveys_version_of_idx on public.surveys (version_of) where version_of is not null;
create index surveys_audience_idx on public.surveys (audience_submission_id)
  where audience_submission_id is not null;
create index surveys_family_idx on public.surveys (family_id);
create index surveys_closing_idx on public.surveys (closes_at)
  where closed_at is null and status in ('published', 'paused');
create unique index one_live_version_a_survey on public.surveys (family_id)
  where status in ('published', 'paused');

create table public.survey_questions (
  id uuid primary key default gen_random_uuid(),
  organization_id uuid not null default private.requested_organization_id(),
  survey_id uuid not null,
  type text not null,
  text text not null,
  required boolean not null default false,
  position integer not null,
  multiple boolean not null default false,
  scale integer,
  constraint questions_belong_to_their_survey unique (survey_id, id),
  constraint one_question_a_position unique (survey_id, position),
  constraint survey_questions_survey_is_of_the_same_organization foreign key (organization_id, survey_id)
    references public.surveys (organization_id, id) on delete cascade,
  constraint type_is_known check (type in ('nps', 'rating', 'multiple_choice', 'text', 'email')),
  constraint text_has_1_to_1000_characters check (char_length(text) between 1 and 1000),
  constraint a_survey_has_at_most_200_questions check (position between 1 and 200),
  constraint only_choices_are_multiple check (not multiple or type = 'multiple_choice'),
  constraint ratings_have_a_scale_of_2_to_10 check (case when type = 'rating'
    then scale is not null and scale between 2 and 10 else scale is null end)
);
comment on table public.survey_questions is
  'Questions of a survey, ordered by position. multiple: several options may be chosen. scale: the highest '
  'rating.';

create table public.survey_options (
  id uuid primary key default gen_random_uuid(),
  organization_id uuid not null default private.requested_organization_id(),
  survey_id uuid not null,
  question_id uuid not null,
  text text not null,
  position integer not null,
  constraint one_option_a_text unique (question_id, text),
  constraint one_option_a_position unique (question_id, position),
  constraint survey_options_question_is_of_the_same_survey foreign key (survey_id, question_id)
    references public.survey_questions (survey_id, id) on delete cascade,
  constraint survey_options_survey_is_of_the_same_organization foreign key (organization_id, survey_id)
    references public.surveys (organization_id, id) on delete cascade,
  constraint text_has_1_to_200_characters check (char_length(text) between 1 and 200),
  constraint a_question_has_at_most_100_options check (position between 1 and 100)
);
comment on table public.survey_options is 'Options of a multiple_choice question, ordered by position.';
create index survey_options_survey_idx on public.survey_options (survey_id);

-- Who sees and writes ---------------------------------------------------------------------------------------

-- definer: policies call it, so it must read memberships without applying policies.
create function private.survey_organization_ids(scopes text[]) returns uuid[]
language plpgsql stable security definer set search_path = '' as $$
begin
  if private.is_key() then
    return case when scopes && string_to_array(current_setting('feedback.scopes', true), ' ')
      then array[private.key_organization_id()] else '{}' end;
  end if;
  return coalesce((select array_agg(organization_id) from public.memberships where user_id = auth.uid()),
    '{}');
end
$$;
comment on function private.survey_organization_ids(text[]) is
  'Organizations whose surveys the caller sees as a team member: memberships of a user; the organization of '
  'a key with one of the scopes.';

alter table public.surveys enable row level security;
alter table public.survey_questions enable row level security;
alter table public.survey_options enable row level security;
revoke all on public.surveys, public.survey_questions, public.survey_options
  from public, anon, authenticated, service_role, service_key;
grant execute on function private.survey_organization_ids(text[]) to anon, authenticated, service_key;

create policy "a survey is seen as its board is, a draft by the team" on public.surveys
  for select to anon, authenticated, service_key using (
    organization_id = any ((select
      private.survey_organization_ids('{surveys:read,surveys:write,surveys:publish}'))::uuid[])
    or status <> 'draft' and (
      organization_id = any ((select
        private.survey_organization_ids('{responses:read,analytics:read}'))::uuid[])
      or exists (select from public.organizations o
        where o.id = organization_id and o.visibility = 'public')));
create policy "a key stays in its organization" on public.surveys
  as restrictive to service_key using (organization_id = (select private.key_organization_id()));
create policy "an agent keeps to its surveys" on public.surveys
  as restrictive to service_key using (
    (select private.agent_survey_ids()) is null or id = any ((select private.agent_survey_ids())::uuid[]));
create policy "admins make surveys" on public.surveys
  for insert to authenticated, service_key with check (
    organization_id = any ((select private.admin_organization_ids('surveys:write'))::uuid[]));
create policy "admins change surveys" on public.surveys
  for update to authenticated, service_key using (
    organization_id = any ((select private.admin_organization_ids('surveys:write'))::uuid[])
    or organization_id = any ((select private.admin_organization_ids('surveys:publish'))::uuid[]));
create policy "admins delete surveys" on public.surveys
  for delete to authenticated, service_key using (
    organization_id = any ((select private.admin_organization_ids('surveys:write'))::uuid[]));

create policy "questions are seen with their survey" on public.survey_questions
  for select to anon, authenticated, service_key using (
    exists (select from public.surveys s where s.id = survey_id));
create policy "admins write questions" on public.survey_questions
  for insert to authenticated, service_key with check (
    organization_id = any ((select private.admin_organization_ids('surveys:write'))::uuid[]));
create policy "admins change questions" on public.survey_questions
  for update to authenticated, service_key using (
    organization_id = any ((select private.admin_organization_ids('surveys:write'))::uuid[]));
create policy "admins delete questions" on public.survey_questions
  for delete to authenticated, service_key using (
    organization_id = any ((select private.admin_organization_ids('surveys:write'))::uuid[]));

create policy "options are seen with their survey" on public.survey_options
  for select to anon, authenticated, service_key using (
    exists (select from public.surveys s where s.id = survey_id));
create policy "admins write options" on public.survey_options
  for insert to authenticated, service_key with check (
    organization_id = any ((select private.admin_organization_ids('surveys:write'))::uuid[]));
create policy "admins change options" on public.survey_options
  for update to authenticated, service_key using (
    organization_id = any ((select private.admin_organization_ids('surveys:write'))::uuid[]));
create policy "admins delete options" on public.survey_options
  for delete to authenticated, service_key using (
    organization_id = any ((select private.admin_organization_ids('surveys:write'))::uuid[]));

grant select (id, organization_id, title, description, status, allow_multiple_responses, show_branding,
  redirect_url, closes_at,
  version_of, published_at, closed_at, created_at, updated_at) on public.surveys to anon, authenticated,
    service_key;
grant insert (id, organization_id, title, description, allow_multiple_responses, show_branding, redirect_url,
  closes_at, audience,
    audience_submission_id, locales),
  update (title, description, status, allow_multiple_responses, show_branding, redirect_url, closes_at,
    audience,
    audience_submission_id, locales), delete
  on public.surveys to authenticated, service_key, service_role;
grant select on public.surveys to service_role;
grant select, insert, update, delete on public.survey_questions, public.survey_options to service_role;
grant select on public.survey_questions, public.survey_options to anon, authenticated, service_key;
grant insert (id, organization_id, survey_id, type, text, required, position, multiple, scale),
  update (type, text, required, position, multiple, scale), delete
  on public.survey_questions to authenticated, service_key;
grant insert (id, organization_id, survey_id, question_id, text, position), update (text, position), delete
  on public.survey_options to authenticated, service_key;

-- Life ------------------------------------------------------------------------------------------------------

create function private.prepare_survey() returns trigger
language plpgsql set search_path = '' as $$
begin
  new.organization_id := coalesce(new.organization_id, private.default_organization_id());
  if new.organization_id is null then
    perform private.raise_error('VALIDATION_ERROR', 'Name the organization: there is more than one.',
      'organization_id');
  end if;
  if new.status <> 'draft' and not private.is_importing() then
    perform private.raise_error('CONFLICT', 'A new survey is a draft: publish it afterwards.', 'status');
  end if;
  new.title := private.trim_text(new.title);
  new.description := private.trim_text(new.description);
  new.family_id := coalesce(new.family_id, new.id);
  return new;
end
$$;
comment on function private.prepare_survey() is
  'Trigger: sets the organization. A new survey is a draft, except in an import.';
create trigger prepare before insert on public.surveys
  for each row execute function private.prepare_survey();

-- definer: reads plan limits, which are not granted. The row lock serializes concurrent inserts.
create function private.enforce_survey_limit() returns trigger
language plpgsql security definer set search_path = '' as $$
declare allowed integer; used bigint;
begin
  select max_surveys into allowed from public.organizations where id = new.organization_id;
  if allowed is not null then
    select max_surveys into allowed from public.organizations
      where id = new.organization_id for no key update;
    select count(distinct family_id) into used from public.surveys
      where organization_id = new.organization_id and status <> 'archived';
    if used > allowed then
      perform private.raise_error('PLAN_LIMIT_REACHED',
        format('The plan allows %s surveys that are not archived.', allowed));
    end if;
  end if;
  return null;
end
$$;
comment on function private.enforce_survey_limit() is
  'Trigger: enforces the plan limit on surveys. Archived surveys do not count; all versions of a survey '
  'count as one.';
create trigger keep_plan_limit after insert on public.surveys
  for each row execute function private.enforce_survey_limit();

-- definer: reads questions and archives other versions, whoever publishes.
create function private.enforce_survey_status() returns trigger
language plpgsql security definer set search_path = '' as $$
declare
  acts boolean := private.caller_id() is not null;
  -- The submission of the audience can be deleted while the survey runs; then nobody may answer.
  old_submission uuid := (select s.id from public.submissions s where s.id = old.audience_submission_id);
begin
  new.title := private.trim_text(new.title);
  new.description := private.trim_text(new.description);
  if (new.title, new.description, new.allow_multiple_responses, new.show_branding, new.redirect_url,
    new.closes_at, new.audience,
        new.audience_submission_id, new.locales)
      is distinct from (old.title, old.description, old.allow_multiple_responses, old.show_branding,
        old.redirect_url, old.closes_at, old.audience,
        case when new.audience_submission_id is null then old_submission
          else old.audience_submission_id end, old.locales) then
    if acts then perform private.require_admin(old.organization_id, 'surveys:write'); end if;
    perform private.require_draft(old.status);
    new.updated_at := now();
  end if;
  if new.status = old.status then return new; end if;

  if acts then perform private.require_admin(old.organization_id, 'surveys:publish'); end if;
  if new.status <> 'archived' and (old.status, new.status) not
    in (('draft', 'published'), ('published', 'paused'), ('paused', 'published')) then
    perform private.raise_error('CONFLICT',
      format('A survey that is %s cannot become %s.', old.status, new.status), 'status');
  end if;
  new.updated_at := now();
  if new.status = 'published' and new.closes_at <= now() then
    perform private.raise_error('CONFLICT', 'The time at which this survey closes has passed.', 'closes_at');
  end if;
  if old.status = 'draft' and new.status = 'published' then
    perform private.check_questions(new.id);
    if new.audience <> 'everyone' and new.audience_submission_id is null then
      perform private.raise_error('CONFLICT', format('Name the submission whose %s are asked.', new.audience),
        'targeting.submission_id');
    end if;
    -- Serializes two versions of one survey. The waiting transaction holds only a draft, which the other one
    -- never locks.
    perform pg_advisory_xact_lock(hashtextextended(new.family_id::text, 0));
    update public.surveys set status = 'archived'
      where family_id = new.family_id and status in ('published', 'paused');
    new.published_at := now();
  end if;
  if new.status = 'archived' and old.published_at is not null then
    new.closed_at := coalesce(old.closed_at, now());
  end if;
  return new;
end
$$;
comment on function private.enforce_survey_status() is
  'Trigger: enforces the lifecycle. Only the content of a draft may change; publishing a version archives '
  'the previous one.';
create trigger keep_life before update on public.surveys
  for each row execute function private.enforce_survey_status();

create function private.require_draft(status text) returns void
language plpgsql immutable set search_path = '' as $$
begin
  if status <> 'draft' then
    perform private.raise_error('CONFLICT',
      format('This survey is %s: only a draft can be changed. Make a new version of it.', status), 'status');
  end if;
end
$$;
comment on function private.require_draft(text) is 'Raises CONFLICT unless the status is draft.';

create function private.check_questions(survey_id uuid) returns void
language plpgsql stable set search_path = '' as $$
declare question record; asked boolean := false;
begin
  for question in
    select q.type, q.position, exists (select from public.survey_options o
      where o.question_id = q.id) as has_options
    from public.survey_questions q where q.survey_id = check_questions.survey_id order by q.position
  loop
    asked := true;
    if (question.type = 'multiple_choice') <> question.has_options then
      perform private.raise_error('CONFLICT',
        format(case when question.has_options then 'Question %s has options and is not multiple_choice.'
        else 'Question %s is multiple_choice and has no options.' end, question.position),
          format('questions.%s.options', question.position - 1));
    end if;
  end loop;
  if not asked then
    perform private.raise_error('CONFLICT', 'A survey without questions cannot be published.', 'questions');
  end if;
end
$$;
comment on function private.check_questions(uuid) is
  'Raises CONFLICT unless the survey has questions and each question is complete.';

-- definer: emits events.
create function private.announce_survey() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if old.published_at is null and new.published_at is not null then
    perform private.emit_event(new.organization_id, 'survey.published', new.id,
      jsonb_build_object('survey', jsonb_build_object('id', new.id, 'title', new.title)));
  end if;
  if old.closed_at is null and new.closed_at is not null then
    perform private.emit_event(new.organization_id, 'survey.closed', new.id,
      jsonb_build_object('survey_id', new.id,
      'response_count', (select f.response_count from private.survey_figures(array[new.id]) f)));
  end if;
  return null;
end
$$;
comment on function private.announce_survey() is
  'Trigger: emits survey.published and survey.closed, each once.';
create trigger announce after update on public.surveys
  for each row execute function private.announce_survey();

create function private.close_surveys() returns integer
language plpgsql set search_path = '' as $$
declare closed integer;
begin
  update public.surveys s set closed_at = now() where s.id in (
    select d.id from public.surveys d
    where d.closes_at <= now() and d.closed_at is null and d.status in ('published', 'paused')
    order by d.closes_at limit 500 for no key update skip locked);
  get diagnostics closed = row_count;
  return closed;
end
$$;
comment on function private.close_surveys() is
  'Closes surveys whose closes_at has passed and returns how many; for private.run_schedule.';

-- definer: the deleter may not see responses. The row lock excludes concurrent responses.
create function private.protect_responses() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if coalesce(current_setting('feedback.force', true), '') <> 'on'
    and exists (select from public.survey_responses where survey_id = old.id)
    and exists (select from public.organizations where id = old.organization_id) then
    perform private.raise_error('SURVEY_HAS_RESPONSES',
      'This survey has responses: force=true deletes them with it.');
  end if;
  return old;
end
$$;
comment on function private.protect_responses() is
  'Trigger: rejects the deletion of a survey with responses, except by private.delete_survey with force.';
create trigger keep_responses before delete on public.surveys
  for each row execute function private.protect_responses();

-- Questions -------------------------------------------------------------------------------------------------

create function private.prepare_question() returns trigger
language plpgsql set search_path = '' as $$
begin
  new.text := private.trim_text(new.text);
  if new.organization_id is null then
    new.organization_id := (select s.organization_id from public.surveys s where s.id = new.survey_id);
  end if;
  return new;
end
$$;
comment on function private.prepare_question() is
  'Trigger on questions and options: trims text and sets the organization.';
create trigger prepare before insert or update on public.survey_questions
  for each row execute function private.prepare_question();
create trigger prepare before insert or update on public.survey_options
  for each row execute function private.prepare_question();

create function private.prepare_rating() returns trigger
language plpgsql set search_path = '' as $$
begin
  new.scale := coalesce(new.scale, 5);
  return new;
end
$$;
comment on function private.prepare_rating() is 'Trigger: the default scale of a rating is 5.';
create trigger prepare_rating before insert or update on public.survey_questions
  for each row when (new.type = 'rating') execute function private.prepare_rating();

-- definer: locks the survey, which serializes the change with publication.
create function private.protect_questions() returns trigger
language plpgsql security definer set search_path = '' as $$
declare found_status text;
begin
  if private.is_importing() then return null; end if;
  for found_status in
    select s.status from public.surveys s where s.id in (select c.survey_id from changed c)
      order by s.id for no key update
  loop
    perform private.require_draft(found_status);
  end loop;
  return null;
end
$$;
comment on function private.protect_questions() is
  'Trigger: questions and options change only while the survey is a draft. Deleting the survey deletes '
  'them; an import inserts them with their survey.';
create trigger keep_added after insert on public.survey_questions
  referencing new table as changed for each statement execute function private.protect_questions();
create trigger keep_before after update on public.survey_questions
  referencing old table as changed for each statement execute function private.protect_questions();
create trigger keep_after after update on public.survey_questions
  referencing new table as changed for each statement execute function private.protect_questions();
create trigger keep_removed after delete on public.survey_questions
  referencing old table as changed for each statement execute function private.protect_questions();
create trigger keep_added after insert on public.survey_options
  referencing new table as changed for each statement execute function private.protect_questions();
create trigger keep_before after update on public.survey_options
  referencing old table as changed for each statement execute function private.protect_questions();
create trigger keep_after after update on public.survey_options
  referencing new table as changed for each statement execute function private.protect_questions();
create trigger keep_removed after delete on public.survey_options
  referencing old table as changed for each statement execute function private.protect_questions();

-- What admins do --------------------------------------------------------------------------------------------

-- Invoker: a survey the caller cannot see is not found.
create function private.require_survey(survey_id uuid, scope text) returns uuid
language plpgsql stable set search_path = '' as $$
declare found_id uuid := (select s.organization_id from public.surveys s
  where s.id = require_survey.survey_id and private.in_organization(s.organization_id));
begin
  if found_id is null then
    perform private.raise_error('NOT_FOUND', 'There is no such survey.');
  end if;
  if scope is not null then perform private.require_admin(found_id, scope); end if;
  return found_id;
end
$$;
comment on function private.require_survey(uuid, text) is
  'Returns the organization of a survey the caller sees; raises NOT_FOUND otherwise. With a scope, raises '
  'FORBIDDEN unless the caller is Admin.';

create function private.lock_survey(survey_id uuid) returns text
language plpgsql set search_path = '' as $$
declare found_status text;
begin
  select s.status into found_status from public.surveys s
    where s.id = lock_survey.survey_id for no key update;
  if found_status is null then
    perform private.raise_error('NOT_FOUND', 'There is no such survey.');
  end if;
  return found_status;
end
$$;
comment on function private.lock_survey(uuid) is
  'Locks a survey and returns its status; raises NOT_FOUND if it was deleted.';

create function private.write_questions(organization_id uuid, survey_id uuid, questions jsonb) returns void
language plpgsql set search_path = '' as $$
begin
  with asked as materialized (
    select gen_random_uuid() as id, q, n from jsonb_array_elements(questions) with ordinality as a (q, n)
  ), written as (
    insert into public.survey_questions
      (id, organization_id, survey_id, type, text, required, position, multiple, scale)
    select id, write_questions.organization_id, write_questions.survey_id, q ->> 'type', q ->> 'text',
      coalesce((q ->> 'required')::boolean, false), n,
      coalesce((q ->> 'multiple')::boolean, false), (q ->> 'scale')::integer
    from asked
  )
  insert into public.survey_options (organization_id, survey_id, question_id, text, position)
  select write_questions.organization_id, write_questions.survey_id, id, o, p
  from asked cross join lateral jsonb_array_elements_text(coalesce(nullif(q -> 'options', 'null'), '[]'))
    with ordinality as b (o, p);
end
$$;
comment on function private.write_questions(uuid, uuid, jsonb) is
  'Adds questions [{type, text, required, multiple, scale, options: [text]}] to a draft without questions.';

create function private.write_settings(survey_id uuid, changes jsonb) returns void
language plpgsql set search_path = '' as $$
declare settings jsonb := coalesce(nullif(changes -> 'settings', 'null'), '{}'); targeting jsonb
  := coalesce(nullif(changes -> 'targeting', 'null'), '{}');
begin
  update public.surveys s set
    title = case when changes ? 'title' then changes ->> 'title' else s.title end,
    description = case when changes ? 'description' then coalesce(changes ->> 'description', '')
      else s.description end,
    closes_at = case when changes ? 'closes_at' then (changes ->> 'closes_at')::timestamptz
      else s.closes_at end,
    allow_multiple_responses = coalesce((settings ->> 'allow_multiple_responses')::boolean,
      s.allow_multiple_responses),
    show_branding = coalesce((settings ->> 'show_branding')::boolean, s.show_branding),
    redirect_url = case when settings ? 'redirect_url' then settings ->> 'redirect_url'
      else s.redirect_url end
  where s.id = write_settings.survey_id;
  if changes ? 'targeting' then
    update public.surveys s set
      audience = coalesce(targeting ->> 'audience', 'everyone'),
      audience_submission_id = (targeting ->> 'submission_id')::uuid,
      locales = case when jsonb_typeof(targeting -> 'locales') = 'array'
        then array(select jsonb_array_elements_text(targeting -> 'locales')) end
    where s.id = write_settings.survey_id;
  end if;
end
$$;
comment on function private.write_settings(uuid, jsonb) is
  'Sets the given fields: title, description, closes_at; settings key by key; targeting as a whole.';

create function private.create_survey(survey jsonb) returns uuid
language plpgsql set search_path = '' as $$
declare own_id uuid := private.current_organization_id(); new_id uuid := gen_random_uuid();
begin
  perform private.require_admin(own_id, 'surveys:write');
  insert into public.surveys (id, organization_id, title) values (new_id, own_id, survey ->> 'title');
  perform private.write_settings(new_id, survey);
  perform private.write_questions(own_id, new_id, coalesce(nullif(survey -> 'questions', 'null'), '[]'));
  return new_id;
end
$$;
comment on function private.create_survey(jsonb) is
  'Creates a draft in the current organization from {title, description, questions, settings, targeting, '
  'closes_at}; returns its id.';

create function private.update_survey(survey_id uuid, changes jsonb) returns void
language plpgsql set search_path = '' as $$
declare own_id uuid := private.require_survey(survey_id, 'surveys:write');
begin
  perform private.require_draft(private.lock_survey(survey_id));
  perform private.write_settings(survey_id, changes);
  if jsonb_typeof(changes -> 'questions') = 'array' then
    delete from public.survey_questions q where q.survey_id = update_survey.survey_id;
    perform private.write_questions(own_id, survey_id, changes -> 'questions');
  end if;
end
$$;
comment on function private.update_survey(uuid, jsonb) is
  'Changes a draft; questions are replaced as a whole. Raises CONFLICT if the survey is not a draft.';

create function private.change_survey_status(survey_id uuid, action text) returns void
language plpgsql set search_path = '' as $$
declare
  target text := case action when 'pause' then 'paused' when 'archive' then 'archived' else 'published' end;
  present text;
begin
  perform private.require_survey(survey_id, 'surveys:publish');
  present := private.lock_survey(survey_id);
  if present = target then return; end if;
  if action <> 'archive' and present <> (case action when 'publish' then 'draft' when 'pause' then 'published'
    else 'paused' end) then
    perform private.raise_error('CONFLICT', format('A survey that is %s cannot be %s.', present,
      case action when 'publish' then 'published' || case present when 'paused' then ': resume it' else '' end
        when 'pause' then 'paused' else 'resumed' end), 'status');
  end if;
  update public.surveys s set status = target where s.id = change_survey_status.survey_id;
end
$$;
comment on function private.change_survey_status(uuid, text) is
  'Applies publish, pause, resume or archive. No effect if already in that status; raises CONFLICT if the '
  'lifecycle does not allow it.';

create function private.create_survey_version(survey_id uuid, new_id uuid default gen_random_uuid())
  returns uuid
language plpgsql set search_path = '' as $$
begin
  perform private.require_survey(survey_id, 'surveys:publish');
  return private.clone_survey(survey_id, new_id);
end
$$;
comment on function private.create_survey_version(uuid, uuid) is
  'Creates a draft with the questions of a published or paused survey. Publishing the draft archives that '
  'survey.';

-- definer: version_of and family_id are not granted.
create function private.clone_survey(survey_id uuid, new_id uuid default gen_random_uuid()) returns uuid
language plpgsql security definer set search_path = '' as $$
declare source public.surveys;
begin
  perform private.lock_survey(survey_id);
  select * into source from public.surveys s where s.id = clone_survey.survey_id;
  perform private.require_admin(source.organization_id, 'surveys:publish');
  if source.status not in ('published', 'paused') then
    perform private.raise_error('CONFLICT',
      format('Only a published or paused survey can have a new version; this one is %s.', source.status),
      'status');
  end if;
  insert into public.surveys (id, organization_id, title, description, allow_multiple_responses,
    show_branding, redirect_url, audience,
    audience_submission_id, locales, closes_at, version_of, family_id)
  values (new_id, source.organization_id, source.title, source.description, source.allow_multiple_responses,
    source.show_branding, source.redirect_url,
    source.audience, source.audience_submission_id, source.locales, case when source.closes_at > now()
      then source.closes_at end, source.id, source.family_id);
  with copied as materialized (
    select gen_random_uuid() as new_question_id, q.* from public.survey_questions q
      where q.survey_id = source.id
  ), written as (
    insert into public.survey_questions
      (id, organization_id, survey_id, type, text, required, position, multiple, scale)
    select new_question_id, organization_id, new_id, type, text, required, position, multiple, scale
      from copied
  )
  insert into public.survey_options (organization_id, survey_id, question_id, text, position)
  select o.organization_id, new_id, c.new_question_id, o.text, o.position
  from copied c join public.survey_options o on o.question_id = c.id;
  return new_id;
end
$$;
comment on function private.clone_survey(uuid, uuid) is
  'Implementation of private.create_survey_version; requires Admin.';

create function private.delete_survey(survey_id uuid, force boolean) returns void
language plpgsql set search_path = '' as $$
begin
  perform private.require_survey(survey_id, 'surveys:write');
  -- Lock a version before the survey it is a version of, in the order of publishing.
  perform 1 from public.surveys s where s.version_of = delete_survey.survey_id
    order by s.id for no key update;
  if force then perform set_config('feedback.force', 'on', true); end if;
  delete from public.surveys s where s.id = delete_survey.survey_id;
  if not found then perform private.raise_error('NOT_FOUND', 'There is no such survey.'); end if;
  perform set_config('feedback.force', '', true);
end
$$;
comment on function private.delete_survey(uuid, boolean) is
  'Deletes a survey with its responses; raises SURVEY_HAS_RESPONSES if it has any and force is not true.';

-- definer: targeting is visible to Admin only, so its columns are not granted.
create function private.survey_targeting(survey_id uuid) returns json
language plpgsql stable security definer set search_path = '' as $$
begin
  perform private.require_admin((select s.organization_id from public.surveys s
    where s.id = survey_targeting.survey_id), 'surveys:read');
  return (
    select json_build_object('audience', s.audience, 'submission_id', s.audience_submission_id, 'locales',
      s.locales)
    from public.surveys s where s.id = survey_targeting.survey_id);
end
$$;
comment on function private.survey_targeting(uuid) is
  'Targeting of a survey {audience, submission_id, locales}, for Admin; raises FORBIDDEN otherwise.';

grant execute on function private.require_survey(uuid, text), private.survey_targeting(uuid) to anon,
  authenticated, service_key;
grant execute on function private.require_draft(text), private.lock_survey(uuid),
  private.write_questions(uuid, uuid, jsonb), private.write_settings(uuid, jsonb),
  private.create_survey(jsonb), private.update_survey(uuid, jsonb), private.change_survey_status(uuid, text),
  private.create_survey_version(uuid, uuid), private.clone_survey(uuid, uuid),
    private.delete_survey(uuid, boolean)
  to authenticated, service_key;

-- Survey responses. A response is one row; its answers are one JSON value that is validated as a whole, so a
-- response is stored completely or not at all.

-- Time-ordered ids keep inserts at one end of the index.
create function private.ordered_id() returns uuid
language sql volatile
return encode(
  set_bit(set_bit(overlay(uuid_send(gen_random_uuid())
    placing substring(int8send((extract(epoch from clock_timestamp()) * 1000)::bigint) from 3) from 1 for 6),
      52, 1), 53, 1), 'hex')::uuid;
comment on function private.ordered_id() is 'A UUID version 7.';

create table public.survey_responses (
  id uuid primary key default private.ordered_id(),
  organization_id uuid not null default private.requested_organization_id(),
  survey_id uuid not null,
  user_id uuid default private.caller_id() references public.profiles (id) on delete
    set null deferrable initially deferred,
  answers jsonb not null,
  locale text,
  started_at timestamptz,
  submitted_at timestamptz not null default now(),
  sentiment_score numeric(4, 3),
  sentiment text generated always as (
    case when sentiment_score >= 0.2 then 'positive' when sentiment_score <= -0.2 then 'negative'
      when sentiment_score is not null then 'neutral' end) stored,
  sentiment_engine text,
  is_only boolean not null default true,
  constraint survey_responses_survey_is_of_the_same_organization foreign key (organization_id, survey_id)
    references public.surveys (organization_id, id) on delete cascade,
  constraint answers_are_an_array check (jsonb_typeof(answers) = 'array'),
  constraint locale_is_known check (locale = any (private.locales())),
  constraint one_starts_before_one_submits check (started_at <= submitted_at),
  constraint sentiment_score_is_from_minus_1_to_1 check (sentiment_score between -1 and 1),
  constraint sentiment_has_an_engine check ((sentiment_score is null) = (sentiment_engine is null)),
  constraint sentiment_engine_has_1_to_100_characters check (char_length(sentiment_engine) between 1 and 100)
);
comment on table public.survey_responses is
  'Responses. answers is [{question_id, value}] in question order: a number for nps and rating, text for '
  'text and email, the option text or an array of option texts for multiple_choice; unanswered questions '
  'are absent. Readable by Admin and by the respondent. is_only: the survey allows one response for each '
  'person.';
create unique index one_response_a_person_and_survey on public.survey_responses (survey_id, user_id)
  where is_only;
create index survey_responses_newest_idx on public.survey_responses (survey_id, submitted_at desc, id desc);
create index survey_responses_sentiment_idx on public.survey_responses
  (survey_id, sentiment, submitted_at desc, id desc);
create index survey_responses_user_idx on public.survey_responses (user_id, survey_id);

create table private.survey_starts (
  organization_id uuid not null,
  survey_id uuid not null,
  user_id uuid not null references public.profiles (id) on delete cascade,
  started_at timestamptz not null default now(),
  primary key (survey_id, user_id),
  constraint survey_starts_survey_is_of_the_same_organization foreign key (organization_id, survey_id)
    references public.surveys (organization_id, id) on delete cascade
);
comment on table private.survey_starts is
  'Surveys that a user has started and not answered yet. Submitting moves started_at to the response.';
create index survey_starts_user_idx on private.survey_starts (user_id);

create view public.survey_answers with (security_invoker = true) as
  select r.organization_id, r.survey_id, r.id as response_id, q.id as question_id, q.type,
    a.value -> 'value' as value, r.submitted_at
  from public.survey_responses r
  cross join lateral jsonb_array_elements(r.answers) as a (value)
  join public.survey_questions q on q.id = (a.value ->> 'question_id')::uuid;
comment on view public.survey_answers is 'One row for each answer of the responses the caller may read.';

-- Who sees and answers --------------------------------------------------------------------------------------


alter table public.survey_responses enable row level security;
alter table private.survey_starts enable row level security;
revoke all on public.survey_responses, public.survey_answers, private.survey_starts
  from public, anon, authenticated, service_role, service_key;
grant select (id, organization_id, survey_id, user_id, answers, locale, started_at, submitted_at,
  sentiment_score, sentiment, sentiment_engine)
  on public.survey_responses to authenticated, service_key;
grant insert (survey_id, answers, locale) on public.survey_responses to authenticated;
grant select, insert, delete on public.survey_responses to service_role;
grant select on public.survey_answers to authenticated, service_key, service_role;

create policy "a response is seen by admins and by who gave it" on public.survey_responses
  for select to authenticated using (
    user_id = (select auth.uid()) or organization_id = any
      ((select private.admin_organization_ids('responses:read'))::uuid[]));
create policy "a key sees the responses of its organization" on public.survey_responses
  for select to service_key using
    (organization_id = any ((select private.admin_organization_ids('responses:read'))::uuid[]));
create policy "an agent keeps to the responses of its surveys" on public.survey_responses
  as restrictive to service_key using (
    (select private.agent_survey_ids())
      is null or survey_id = any ((select private.agent_survey_ids())::uuid[]));
create policy "people answer for themselves" on public.survey_responses
  for insert to authenticated with check (user_id = (select auth.uid()));

-- definer: the audience is not granted.
create function private.can_see_respondents(survey_id uuid) returns boolean
language plpgsql stable security definer set search_path = '' as $$
begin
  return not private.is_key() or private.has_scope(private.voters_scope())
    or exists (select from public.surveys s
      where s.id = can_see_respondents.survey_id and s.audience = 'everyone');
end
$$;
comment on function private.can_see_respondents(uuid) is
  'Whether the caller may see respondents. If the audience is voters or followers, respondents reveal them, '
  'so a key needs submissions:moderate, as for the list of voters.';
grant execute on function private.can_see_respondents(uuid) to authenticated, service_key;

-- Starting --------------------------------------------------------------------------------------------------


create function private.start_survey(survey_id uuid) returns timestamptz
language plpgsql set search_path = '' as $$
begin
  perform private.require_survey(survey_id, null);
  return private.record_survey_start(survey_id);
end
$$;
comment on function private.start_survey(uuid) is
  'Records that the caller started the survey and returns the time of the first start.';

-- definer: starts are not granted.
create function private.record_survey_start(survey_id uuid) returns timestamptz
language plpgsql security definer set search_path = '' as $$
declare survey public.surveys; began timestamptz;
begin
  if private.is_key() or private.caller_id() is null then
    perform private.raise_error('FORBIDDEN', 'Only signed-in users may do this.');
  end if;
  survey := private.require_open_survey(survey_id, private.caller_id());
  insert into private.survey_starts as s (organization_id, survey_id, user_id)
    values (survey.organization_id, survey.id, private.caller_id())
  on conflict on constraint survey_starts_pkey do nothing returning s.started_at into began;
  return coalesce(began, (select s.started_at from private.survey_starts s
    where s.survey_id = survey.id and s.user_id = private.caller_id()));
end
$$;
comment on function private.record_survey_start(uuid) is
  'Implementation of private.start_survey, which checks that the caller sees the survey.';

create function public.start_survey(survey_id uuid) returns timestamptz
language sql set search_path = ''
begin atomic
  select private.start_survey(survey_id);
end;
comment on function public.start_survey(uuid) is
  'Call it when the signed-in user starts to answer: completion time is measured from the first call. '
  'Repeated calls have no effect.';

-- Answering -------------------------------------------------------------------------------------------------


create function private.require_accepts_responses(survey public.surveys) returns void
language plpgsql stable set search_path = '' as $$
begin
  if survey.status <> 'published' then
    perform private.raise_error('SURVEY_NOT_OPEN',
      format('This survey is %s: it accepts no responses.', survey.status));
  elsif survey.closes_at <= clock_timestamp() then
    perform private.raise_error('SURVEY_NOT_OPEN', 'This survey has closed.');
  end if;
end
$$;
comment on function private.require_accepts_responses(public.surveys) is
  'Raises SURVEY_NOT_OPEN unless the survey is published and has not closed.';

create function private.targets_locale(survey public.surveys, locale text) returns boolean
language sql immutable
return (survey).locales is null or coalesce(locale = any ((survey).locales), false);
comment on function private.targets_locale(public.surveys, text) is
  'Whether the survey may be answered in the language.';

-- definer: locks the survey and reads targeting, votes and follows.
create function private.require_open_survey(survey_id uuid, user_id uuid) returns public.surveys
language plpgsql security definer set search_path = '' as $$
declare survey public.surveys; asked boolean := true; submission uuid;
begin
  select * into survey from public.surveys s where s.id = require_open_survey.survey_id for share;
  if survey.id is null then
    perform private.raise_error('NOT_FOUND', 'There is no such survey.');
  end if;
  perform private.require_accepts_responses(survey);
  -- Serializes with the erasure of the respondent.
  perform 1 from public.profiles p
    where p.id = require_open_survey.user_id
    and (p.kind <> 'user' or p.auth_user_id is not null) for key share;
  if not found and user_id = private.caller_id() then
    perform private.raise_error('UNAUTHORIZED', 'This account was deleted.');
  end if;
  if not survey.allow_multiple_responses then
    -- Serializes responses of one person; otherwise a start could be recorded after the response. Operators
    -- insert in bulk and record no start.
    if user_id = private.caller_id() then
      perform pg_advisory_xact_lock(hashtextextended(survey.id::text || user_id, 0));
    end if;
    if exists (select from public.survey_responses r
      where r.survey_id = survey.id and r.user_id = require_open_survey.user_id) then
      perform private.raise_error('ALREADY_RESPONDED', 'You answered this survey already.');
    end if;
  end if;
  if survey.audience <> 'everyone' then
    submission := (select coalesce(s.merged_into_id, s.id) from public.submissions s
      where s.id = survey.audience_submission_id);
    asked := case survey.audience
      when 'voters' then exists (select from public.votes v
        where v.submission_id = submission and v.user_id = require_open_survey.user_id)
      else private.is_follower(submission, require_open_survey.user_id) end;
  end if;
  if not asked then
    perform private.raise_error('FORBIDDEN',
      format('This survey is for %s of a submission.', survey.audience));
  end if;
  return survey;
end
$$;
comment on function private.require_open_survey(uuid, uuid) is
  'Returns the survey, locked for this transaction, if the profile may answer it now; raises '
  'SURVEY_NOT_OPEN, ALREADY_RESPONDED or FORBIDDEN otherwise.';

create function private.is_email(value text) returns boolean
language sql immutable
return char_length(value) <= 254 and position('@' in value) <= 65
  and value ~ '^[A-Za-z0-9_!#$%&''*+/=?^`{|}~-]+(\.[A-Za-z0-9_!#$%&''*+/=?^`{|}~-]+)*'
    '@([A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+'
    '(?=[0-9-]*[A-Za-z])[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?$';
comment on function private.is_email(text) is
  'Whether the text is an e-mail address by the rule of shared/fields.ts.';

create function private.answer_kind(question_type text) returns text
language sql immutable
return case
  when question_type in ('nps', 'rating') then 'number'
  when question_type = 'multiple_choice' then 'choice'
  when question_type in ('text', 'email') then 'text'
end;
comment on function private.answer_kind(text) is
  'Kind of answers to a question type, which determines how they are counted: number, choice or text. '
  'Null for an unknown type.';

create function private.lowest_answer(question_type text) returns integer
language sql immutable
return case question_type when 'nps' then 0 when 'rating' then 1 end;
comment on function private.lowest_answer(text) is
  'The lowest number that answers a question; null if the question takes no number.';

create type private.checked_answer as (value jsonb, complaint text);
comment on type private.checked_answer is
  'A validated answer as stored, or an error message; both null for an empty answer.';

create function private.check_answer(question public.survey_questions, value jsonb)
  returns private.checked_answer
language plpgsql stable set search_path = '' as $$
declare
  kind text := jsonb_typeof(value);
  plain text := private.trim_text(value #>> '{}');
  lowest integer := private.lowest_answer(question.type);
  highest integer := coalesce(question.scale, 10);
  chosen text[]; named text[];
begin
  if value is null or kind = 'null' or plain = '' or value = '[]' then return null; end if;
  case question.type
    when 'nps', 'rating' then
      if kind <> 'number' or plain::numeric <> trunc(plain::numeric) or plain::numeric not between lowest
        and highest then
        return row(null, format('must be a whole number from %s to %s', lowest,
          highest))::private.checked_answer;
      end if;
      return row(to_jsonb(plain::numeric::integer), null)::private.checked_answer;
    when 'multiple_choice' then
      if kind = 'array' and not question.multiple then
        return row(null, 'must be one option')::private.checked_answer;
      elsif kind not in ('string', 'array') or kind = 'array'
        and jsonb_path_exists(value, 'strict $[*] ? (@.type() != "string")') then
        return row(null, case when question.multiple then 'must be options, by id or text'
          else 'must be an option, by id or text' end)::private.checked_answer;
      end if;
      chosen := case kind when 'string' then array[plain]
        else array(select private.trim_text(c) from jsonb_array_elements_text(value) c limit 101) end;
      named := array(select o.text from public.survey_options o
        where o.question_id = question.id and (o.text = any (chosen) or o.id::text = any (chosen))
          order by o.position);
      if exists (select from unnest(chosen) c where not exists (
          select from public.survey_options o
            where o.question_id = question.id and c in (o.text, o.id::text))) then
        return row(null, 'must be one of the options, by id or text')::private.checked_answer;
      elsif cardinality(named) < cardinality(chosen) then
        return row(null, 'must not name an option twice')::private.checked_answer;
      end if;
      return row(case when question.multiple then to_jsonb(named)
        else to_jsonb(named[1]) end, null)::private.checked_answer;
    when 'email' then
      if kind <> 'string' or not private.is_email(plain) then
        return row(null,
          'must be an e-mail address of at most 254 characters, such as name@example.org'
        )::private.checked_answer;
      end if;
    -- No ELSE: a question type without validation must raise an error.
    when 'text' then
      if kind <> 'string' or char_length(plain) > 5000 then
        return row(null, 'must be text of at most 5000 characters')::private.checked_answer;
      end if;
  end case;
  return row(to_jsonb(plain), null)::private.checked_answer;
end
$$;
comment on function private.check_answer(public.survey_questions, jsonb) is
  'Validates a value against its question and returns it as stored; null if it is empty.';

create function private.sentiment_of_number(question public.survey_questions, value integer) returns numeric
language sql immutable
return case
  when (question).type = 'rating' then 2.0 * (value - 1) / ((question).scale - 1) - 1
  when (question).type = 'nps' and value <= 6 then (value - 8) / 8.0
  when (question).type = 'nps' then (array[-0.1, 0.1, 0.6, 1])[value - 6]
end;
comment on function private.sentiment_of_number(public.survey_questions, integer) is
  'Sentiment of a rating or nps answer from -1 to 1. nps: detractors are negative, passives neutral, '
  'promoters positive.';

create function private.sentiment_of_response(numbers numeric, texts numeric) returns numeric
language sql immutable
return round(coalesce(0.7 * numbers + 0.3 * texts, numbers, texts), 3);
comment on function private.sentiment_of_response(numeric, numeric) is
  'Sentiment of a response: the mean of the mean of its numeric answers and the mean of its text scores, as '
  'far as present.';

-- definer: reads the questions for any respondent.
create function private.check_response(response public.survey_responses) returns public.survey_responses
language plpgsql security definer set search_path = '' as $$
declare
  survey public.surveys;
  -- Scores {engine, scores} that the edge functions computed, one for each sent answer. Clients of the data
  -- API cannot send them.
  judged jsonb := nullif(current_setting('feedback.sentiment', true), '')::jsonb;
  item record;
  checked private.checked_answer;
  kept jsonb[] := '{}';
  complaints jsonb[] := '{}';
  numbers numeric[] := '{}';
  texts numeric[] := '{}';
begin
  survey := private.require_open_survey(response.survey_id, response.user_id);
  if not private.targets_locale(survey, response.locale) then
    perform private.raise_error('FORBIDDEN',
      format('This survey can be answered in %s only.', array_to_string(survey.locales, ', ')));
  end if;
  if coalesce(jsonb_typeof(response.answers), '') <> 'array' or jsonb_array_length(response.answers) > 200
    then
    perform private.raise_error('VALIDATION_ERROR', 'must be an array of at most 200 answers', 'answers');
  end if;
  for item in
    select asked.question, a.n - 1 as index, a.answer -> 'value' as value,
      row_number() over (partition by asked.id order by a.n) as nth
    from jsonb_array_elements(response.answers) with ordinality as a (answer, n)
    full join (select q as question, q.id, q.position from public.survey_questions q
      where q.survey_id = survey.id) asked
      on asked.id::text = lower(a.answer ->> 'question_id')
    order by asked.position, a.n
  loop
    if item.index is not null and (item.question).id is null then
      complaints := complaints || jsonb_build_object('field', format('answers.%s.question_id', item.index),
        'message', 'is not a question of this survey');
      continue;
    elsif item.nth > 1 then
      complaints := complaints || jsonb_build_object('field', format('answers.%s.question_id', item.index),
        'message', 'is answered twice');
      continue;
    end if;
    checked := private.check_answer(item.question, item.value);
    if checked.complaint is not null then
      complaints := complaints || jsonb_build_object('field', format('answers.%s.value', item.index),
        'message', checked.complaint);
    elsif checked.value is not null then
      kept := kept || jsonb_build_object('question_id', (item.question).id, 'value', checked.value);
      if private.answer_kind((item.question).type) = 'number' then
        numbers := numbers || private.sentiment_of_number(item.question, checked.value::integer);
      elsif (item.question).type = 'text'
        and jsonb_typeof(judged -> 'scores' -> item.index::integer) = 'number' then
        texts := texts || greatest(-1, least(1, (judged -> 'scores' ->> item.index::integer)::numeric));
      end if;
    elsif (item.question).required then
      complaints := complaints || jsonb_build_object('field', format('questions.%s', (item.question).id),
        'message', format('needs an answer: %s', left((item.question).text, 100)));
    end if;
  end loop;
  if cardinality(complaints) = 0 and cardinality(kept) = 0 then
    complaints := array[jsonb_build_object('field', 'answers', 'message', 'must answer a question')];
  end if;
  if cardinality(complaints) > 0 then
    perform private.raise_error('VALIDATION_ERROR', 'Some answers are not valid.', null,
      jsonb_build_object('details', to_jsonb(complaints[1:50])));
  end if;
  response.organization_id := survey.organization_id;
  response.answers := to_jsonb(kept);
  response.is_only := not survey.allow_multiple_responses;
  if response.started_at is null then
    select least(s.started_at, response.submitted_at) into response.started_at from private.survey_starts s
    where s.survey_id = survey.id and s.user_id = response.user_id for update;
  end if;
  if response.sentiment_score is null then
    response.sentiment_score := private.sentiment_of_response(private.mean(numbers), private.mean(texts));
    response.sentiment_engine := case when cardinality(texts) > 0 then judged ->> 'engine'
      when cardinality(numbers) > 0 then 'answers' end;
  end if;
  return response;
end
$$;
comment on function private.check_response(public.survey_responses) is
  'Validates a response and returns it as stored. Raises one error with all details: answers.N.value or '
  'answers.N.question_id for sent answers, questions.<id> for missing ones.';

create function private.mean(numbers numeric[]) returns numeric
language plpgsql immutable set search_path = '' as $$
begin
  return (select avg(n) from unnest(numbers) n);
end
$$;
comment on function private.mean(numeric[]) is 'The mean; null if count is 0.';

-- Invoker: a survey the caller cannot see is not found.
create function private.prepare_response() returns trigger
language plpgsql set search_path = '' as $$
begin
  -- private.imported_answers has validated it, and the survey may be closed.
  if private.is_importing() then return new; end if;
  if not exists (select from public.surveys s where s.id = new.survey_id) then
    perform private.raise_error('NOT_FOUND', 'There is no such survey.');
  end if;
  return private.check_response(new);
end
$$;
comment on function private.prepare_response() is
  'Trigger: validates a response to an open survey that the caller sees, one for each person unless the '
  'survey allows more.';
create trigger prepare before insert on public.survey_responses
  for each row execute function private.prepare_response();

-- definer: deletes the start and emits the event.
create function private.finish_responses() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if private.is_direct() then
    perform private.charge_direct('survey_response_create', (select count(*) from added));
  end if;
  delete from private.survey_starts s using added r where s.survey_id = r.survey_id and s.user_id = r.user_id;
  if not private.events_suppressed() then
    perform private.emit_event(r.organization_id, 'survey.response.created', r.survey_id,
      jsonb_build_object('survey_id', r.survey_id,
      'response_id', r.id, 'submitted_at', r.submitted_at, 'sentiment', r.sentiment, 'sentiment_score',
        r.sentiment_score))
    from added r;
  end if;
  return null;
end
$$;
comment on function private.finish_responses() is
  'Trigger: deletes the respondent''s start and emits survey.response.created, which contains no answers.';
create trigger finish after insert on public.survey_responses
  referencing new table as added for each statement execute function private.finish_responses();

create function private.submit_survey_response(survey_id uuid, answers jsonb, locale text, sentiment jsonb)
  returns json
language plpgsql set search_path = '' as $$
declare response record;
begin
  perform private.require_survey(survey_id, null);
  perform set_config('feedback.sentiment', coalesce(sentiment::text, ''), true);
  insert into public.survey_responses as r (survey_id, answers, locale)
  values (submit_survey_response.survey_id, submit_survey_response.answers, submit_survey_response.locale)
  returning r.id, r.submitted_at into response;
  perform set_config('feedback.sentiment', '', true);
  return json_build_object('response_id', response.id, 'survey_id', survey_id, 'submitted_at',
    response.submitted_at);
-- Two concurrent responses: the unique index rejects one.
exception when unique_violation then
  perform private.raise_error('ALREADY_RESPONDED', 'You answered this survey already.');
end
$$;
comment on function private.submit_survey_response(uuid, jsonb, text, jsonb) is
  'Submits a response of the caller. sentiment is {engine, scores}: one score or null for each answer in '
  'sent order.';

-- Its page --------------------------------------------------------------------------------------------------


-- definer: targeting and starts are not granted.
create function private.open_survey_page(survey_id uuid, locale text, response_id uuid) returns json
language plpgsql security definer set search_path = '' as $$
declare survey public.surveys; refusal text; is_own boolean;
begin
  select * into survey from public.surveys s where s.id = open_survey_page.survey_id;
  is_own := response_id is not null and exists (select from public.survey_responses r
    where r.id = response_id and r.survey_id = survey.id and r.user_id = private.caller_id());
  -- The confirmation after a response is no start of the next one.
  if not is_own then
    begin
      perform private.require_accepts_responses(survey);
      if not private.targets_locale(survey, locale) then
        refusal := 'LOCALE';
      elsif private.caller_id() is null then
        refusal := 'UNAUTHORIZED';
      else
        perform private.record_survey_start(survey.id);
      end if;
    exception when others then
      refusal := case sqlstate when private.error_state('SURVEY_NOT_OPEN') then 'SURVEY_NOT_OPEN'
        when private.error_state('ALREADY_RESPONDED') then 'ALREADY_RESPONDED'
          when private.error_state('FORBIDDEN') then 'FORBIDDEN' end;
      if refusal is null then raise; end if;
    end;
  end if;
  return json_build_object('refusal', refusal, 'locales', survey.locales, 'is_own_response', is_own);
end
$$;
comment on function private.open_survey_page(uuid, text, uuid) is
  'Implementation of private.survey_page, which checks that the caller sees the survey.';

create function private.survey_page(survey_id uuid, locale text, response_id uuid) returns json
language plpgsql set search_path = '' as $$
begin
  perform private.require_survey(survey_id, null);
  return private.open_survey_page(survey_id, locale, response_id);
end
$$;
comment on function private.survey_page(uuid, text, uuid) is
  'For the page of a survey: {refusal, locales, is_own_response}. A caller who may answer has started; '
  'otherwise refusal is SURVEY_NOT_OPEN, LOCALE (only the given locales are asked), UNAUTHORIZED (sign in '
  'first), ALREADY_RESPONDED or FORBIDDEN. is_own_response: response_id is a response of the caller. '
  'NOT_FOUND where the caller does not see the survey.';

-- Forgetting ------------------------------------------------------------------------------------------------


create function private.anonymize_responses(profile_id uuid, organization_id uuid, heir_id uuid) returns void
language plpgsql set search_path = '' as $$
begin
  perform 1 from public.profiles p where p.id = profile_id for update;
  -- Lock surveys before starts and responses: deleting a survey deletes both.
  perform 1 from public.surveys s
  where s.id in (
      select r.survey_id from public.survey_responses r where r.user_id = profile_id
      union all select b.survey_id from private.survey_starts b where b.user_id = profile_id)
    and (anonymize_responses.organization_id
      is null or s.organization_id = anonymize_responses.organization_id)
  order by s.id for key share;
  delete from private.survey_starts b
  where b.user_id = profile_id and
    (anonymize_responses.organization_id is null or b.organization_id = anonymize_responses.organization_id);
  update public.survey_responses r set user_id = heir_id, answers = coalesce((
    select jsonb_agg(a.value order by a.n)
      from jsonb_array_elements(r.answers) with ordinality as a (value, n)
    join public.survey_questions q on q.id = (a.value ->> 'question_id')::uuid where q.type <> 'email'), '[]')
  where r.user_id = profile_id and
    (anonymize_responses.organization_id is null or r.organization_id = anonymize_responses.organization_id)
    and (heir_id <> profile_id or exists (select from public.survey_questions q
      where q.survey_id = r.survey_id and q.type = 'email'
      and r.answers @> jsonb_build_array(jsonb_build_object('question_id', q.id))));
end
$$;
comment on function private.anonymize_responses(uuid, uuid, uuid) is
  'Reassigns a person''s responses, in one organization or (null) in all, to a nameless profile, removes '
  'e-mail answers, and deletes the person''s starts.';

-- definer: the response stays when its respondent is deleted.
create function private.anonymize_respondent() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  perform private.anonymize_responses(old.id, null, old.id);
  return old;
end
$$;
comment on function private.anonymize_respondent() is
  'Trigger: removes e-mail answers when the respondent is deleted.';
create trigger forget_respondent after update of auth_user_id on public.profiles
  for each row when (old.auth_user_id is not null and new.auth_user_id is null)
    execute function private.anonymize_respondent();
create trigger forget_respondent_of_deleted before delete on public.profiles
  for each row execute function private.anonymize_respondent();

grant execute on function private.ordered_id(), private.check_response(public.survey_responses)
  to authenticated, service_role;
grant execute on function private.start_survey(uuid), private.record_survey_start(uuid),
  public.start_survey(uuid),
  private.submit_survey_response(uuid, jsonb, text, jsonb) to authenticated;
grant execute on function private.survey_page(uuid, text, uuid), private.open_survey_page(uuid, text, uuid) to
  anon, authenticated;

-- Survey results as counters maintained by triggers, so that reading them does not read responses.
--
-- The counters of a survey are split into shards; a value is the sum over all shards. A transaction locks a
-- free shard or inserts a new one, so concurrent responses never wait for each other. A survey without
-- concurrent responses has one shard.

create table private.survey_counts (
  organization_id uuid not null,
  survey_id uuid not null,
  shard integer not null,
  responses bigint not null default 0,
  starts bigint not null default 0,
  timed bigint not null default 0,
  milliseconds bigint not null default 0,
  positive bigint not null default 0,
  neutral bigint not null default 0,
  negative bigint not null default 0,
  score numeric not null default 0,
  primary key (survey_id, shard),
  constraint survey_counts_survey_is_of_the_same_organization foreign key (organization_id, survey_id)
    references public.surveys (organization_id, id) on delete cascade
) with (fillfactor = 20);
comment on table private.survey_counts is
  'Counters of responses: count, starts without a response, timed responses and their total duration, '
  'sentiment.';

create table private.survey_answer_counts (
  organization_id uuid not null,
  survey_id uuid not null,
  question_id uuid not null,
  value text not null,
  shard integer not null,
  total bigint not null,
  primary key (question_id, value, shard),
  constraint survey_answer_counts_question_is_of_the_same_survey foreign key (survey_id, question_id)
    references public.survey_questions (survey_id, id) on delete cascade
) with (fillfactor = 50);
comment on table private.survey_answer_counts is
  'Number of answers for each value of a question: a number or an option text. The empty value counts '
  'answers of text, email and multiple-selection questions.';
alter table private.survey_counts enable row level security;
alter table private.survey_answer_counts enable row level security;
revoke all on private.survey_counts, private.survey_answer_counts
  from public, anon, authenticated, service_role, service_key;

create function private.claim_shard(organization_id uuid, survey_id uuid) returns integer
language plpgsql set search_path = '' as $$
declare
  own text[] := string_to_array(current_setting('feedback.survey_shard', true), ' ');
  taken integer;
begin
  if own[1] = survey_id::text then return own[2]; end if;
  select c.shard into taken from private.survey_counts c where c.survey_id = claim_shard.survey_id
  order by c.shard limit 1 for no key update skip locked;
  if taken is null then
    insert into private.survey_counts (organization_id, survey_id, shard)
    values (claim_shard.organization_id, claim_shard.survey_id, (random() * 2147483647)::integer)
      returning shard into taken;
  end if;
  perform set_config('feedback.survey_shard', survey_id || ' ' || taken, true);
  return taken;
end
$$;
comment on function private.claim_shard(uuid, uuid) is
  'Returns the counter shard of the survey that this transaction has locked; locks or inserts one on the '
  'first call.';

create function private.counted_answers(answers jsonb) returns table (question_id uuid, value text)
language sql stable
begin atomic
  select q.id, v.value
  from jsonb_array_elements(answers) as a (answer)
  join public.survey_questions q on q.id = (a.answer ->> 'question_id')::uuid
  cross join lateral (
    select a.answer ->> 'value' where private.answer_kind(q.type) in ('number', 'choice') and not q.multiple
    union all
    select '' where private.answer_kind(q.type) = 'text' or q.multiple
    union all
    select jsonb_array_elements_text(case when q.multiple then a.answer -> 'value' else '[]' end)) v (value);
end;
comment on function private.counted_answers(jsonb) is
  'The values of a response that private.survey_answer_counts counts.';

-- definer: no client may write counters. Responses deleted with their survey are not subtracted, because the
-- counters are deleted too.
create function private.count_responses() returns trigger
language plpgsql security definer set search_path = '' as $$
declare change record; sign integer := tg_argv[0]; own_shard integer;
begin
  for change in
    select c.organization_id, c.survey_id, count(*) as responses, count(c.started_at) as timed,
      coalesce(sum((extract(epoch from c.submitted_at - c.started_at) * 1000)::bigint), 0) as milliseconds,
      count(*) filter (where c.sentiment = 'positive') as positive,
        count(*) filter (where c.sentiment = 'neutral') as neutral,
      count(*) filter (where c.sentiment = 'negative') as negative,
        coalesce(sum(c.sentiment_score), 0) as score
    from changed c where exists (select from public.surveys s where s.id = c.survey_id)
    group by 1, 2 order by 2
  loop
    own_shard := private.claim_shard(change.organization_id, change.survey_id);
    update private.survey_counts c
      set responses = c.responses + sign * change.responses, timed = c.timed + sign * change.timed,
      milliseconds = c.milliseconds + sign * change.milliseconds,
        positive = c.positive + sign * change.positive,
      neutral = c.neutral + sign * change.neutral, negative = c.negative + sign * change.negative,
        score = c.score + sign * change.score
    where c.survey_id = change.survey_id and c.shard = own_shard;
    insert into private.survey_answer_counts as k
      (organization_id, survey_id, question_id, value, shard, total)
    select change.organization_id, change.survey_id, a.question_id, a.value, own_shard, sign * count(*)
    from changed c cross join lateral private.counted_answers(c.answers) a
      where c.survey_id = change.survey_id
    group by a.question_id, a.value
    on conflict on constraint survey_answer_counts_pkey do update set total = k.total + excluded.total;
  end loop;
  return null;
end
$$;
comment on function private.count_responses() is
  'Trigger: adds changed responses to the counters of their surveys or subtracts them.';
create trigger count_added after insert on public.survey_responses
  referencing new table as changed for each statement execute function private.count_responses('1');
create trigger count_removed after delete on public.survey_responses
  referencing old table as changed for each statement execute function private.count_responses('-1');
create trigger count_before after update on public.survey_responses
  referencing old table as changed for each statement execute function private.count_responses('-1');
create trigger count_after after update on public.survey_responses
  referencing new table as changed for each statement execute function private.count_responses('1');

-- definer: reads counters, after checking the caller's rights.
create function private.count_starts() returns trigger
language plpgsql security definer set search_path = '' as $$
declare change record; sign integer := tg_argv[0]; own_shard integer;
begin
  for change in
    select c.organization_id, c.survey_id, count(*) as starts
    from changed c where exists (select from public.surveys s where s.id = c.survey_id) group by 1, 2
      order by 2
  loop
    own_shard := private.claim_shard(change.organization_id, change.survey_id);
    update private.survey_counts c set starts = c.starts + sign * change.starts
      where c.survey_id = change.survey_id and c.shard = own_shard;
  end loop;
  return null;
end
$$;
comment on function private.count_starts() is
  'Trigger: counts starts without a response, like private.count_responses.';
create trigger count_added after insert on private.survey_starts
  referencing new table as changed for each statement execute function private.count_starts('1');
create trigger count_removed after delete on private.survey_starts
  referencing old table as changed for each statement execute function private.count_starts('-1');

create view private.survey_actual_counts with (security_invoker = true) as
  select s.organization_id, s.id as survey_id, r.*, (select count(*) from private.survey_starts b
    where b.survey_id = s.id) as starts
  from public.surveys s cross join lateral (
    select count(*) as responses, count(r.started_at) as timed,
      coalesce(sum((extract(epoch from r.submitted_at - r.started_at) * 1000)::bigint), 0) as milliseconds,
      count(*) filter (where r.sentiment = 'positive') as positive,
        count(*) filter (where r.sentiment = 'neutral') as neutral,
      count(*) filter (where r.sentiment = 'negative') as negative,
        coalesce(sum(r.sentiment_score), 0) as score
    from public.survey_responses r where r.survey_id = s.id) r;
comment on view private.survey_actual_counts is
  'Values that private.survey_counts must add up to, computed from the responses.';
revoke all on private.survey_actual_counts from public, anon, authenticated, service_role, service_key;

create function private.recount_survey(survey_id uuid) returns void
language plpgsql set search_path = '' as $$
begin
  perform 1 from public.surveys s where s.id = recount_survey.survey_id for no key update;
  delete from private.survey_answer_counts c where c.survey_id = recount_survey.survey_id;
  delete from private.survey_counts c where c.survey_id = recount_survey.survey_id;
  perform set_config('feedback.survey_shard', '', true);
  insert into private.survey_counts
    (organization_id, survey_id, shard, responses, timed, milliseconds, positive, neutral, negative, score,
    starts)
  select t.organization_id, t.survey_id, 0, t.responses, t.timed, t.milliseconds, t.positive, t.neutral,
    t.negative, t.score, t.starts
  from private.survey_actual_counts t where t.survey_id = recount_survey.survey_id;
  insert into private.survey_answer_counts (organization_id, survey_id, question_id, value, shard, total)
  select r.organization_id, r.survey_id, a.question_id, a.value, 0, count(*)
  from public.survey_responses r cross join lateral private.counted_answers(r.answers) a
  where r.survey_id = recount_survey.survey_id group by 1, 2, 3, 4;
end
$$;
comment on function private.recount_survey(uuid) is
  'For operators, after triggers were disabled: recounts the responses of a survey.';

-- Numbers ---------------------------------------------------------------------------------------------------

-- definer: reads counters. Call it only for surveys the caller sees; their response counts are public.
create function private.survey_figures(survey_ids uuid[])
returns table (survey_id uuid, response_count bigint, completion_rate numeric, avg_completion_time numeric)
language plpgsql stable security definer set search_path = '' rows 50 as $$
begin
  return query
    select asked.id, coalesce(sum(c.responses), 0)::bigint,
      trim_scale(round(sum(c.responses) / nullif(sum(c.responses + c.starts), 0), 4)),
      trim_scale(round(sum(c.milliseconds) / 1000 / nullif(sum(c.timed), 0), 1))
    from unnest(survey_ids) asked (id) left join private.survey_counts c on c.survey_id = asked.id
    group by asked.id;
end
$$;
comment on function private.survey_figures(uuid[]) is
  'Number of responses, completion rate (0 to 1) and mean completion time in seconds.';

create function private.can_read_analytics(organization_id uuid) returns boolean
language plpgsql stable set search_path = '' as $$
begin
  return coalesce(current_setting('role', true), 'none') in ('none', '', 'service_role')
    or private.is_admin(organization_id, 'analytics:read');
end
$$;
comment on function private.can_read_analytics(uuid) is
  'Whether the caller may read analytics: Admin or key with the scope, operator, or service role.';

-- definer: reads counters, after checking the caller's rights.
create function private.survey_sentiment(survey_id uuid)
returns table (overall numeric, positive_count bigint, neutral_count bigint, negative_count bigint)
language plpgsql stable security definer set search_path = '' rows 1 as $$
begin
  return query
    select trim_scale(round(sum(c.score) / nullif(sum(c.positive + c.neutral + c.negative), 0), 3)),
      coalesce(sum(c.positive), 0)::bigint, coalesce(sum(c.neutral), 0)::bigint,
        coalesce(sum(c.negative), 0)::bigint
    from public.surveys s left join private.survey_counts c on c.survey_id = s.id
    where s.id = survey_sentiment.survey_id and private.can_read_analytics(s.organization_id)
    group by s.id;
end
$$;
comment on function private.survey_sentiment(uuid) is
  'Mean sentiment score and number of responses by sentiment; no row without the right to read analytics.';

-- definer: reads counters, after checking the caller's rights.
create function private.survey_breakdown(survey_id uuid)
  returns table (question_id uuid, question_position integer, type text,
  question_text text, value_position integer, value text, total bigint)
language plpgsql stable security definer set search_path = '' rows 50 as $$
begin
  return query
    select q.id, q.position, q.type, q.text, v.position, v.value,
      coalesce((select sum(c.total) from private.survey_answer_counts c
        where c.question_id = q.id and c.value = v.value), 0)::bigint
    from public.surveys s
    join public.survey_questions q on q.survey_id = s.id
    cross join lateral (
      select n, n::text from generate_series(private.lowest_answer(q.type), coalesce(q.scale, 10)) n
      where private.answer_kind(q.type) = 'number'
      union all
      select o.position, o.text from public.survey_options o where o.question_id = q.id
      union all
      select null, '' where private.answer_kind(q.type) = 'text' or q.multiple) v (position, value)
    where s.id = survey_breakdown.survey_id and private.can_read_analytics(s.organization_id);
end
$$;
comment on function private.survey_breakdown(uuid) is
  'Number of answers for each value of each question, including zero; no rows without the right to read '
  'analytics.';

create view public.survey_question_results with (security_invoker = true) as
  select s.organization_id, s.id as survey_id, b.*
  from public.surveys s cross join lateral private.survey_breakdown(s.id) b;
comment on view public.survey_question_results is
  'Number of answers for each value of each question, including zero, for Admin. The empty value counts the '
  'answers of text, email and multiple-selection questions.';

create view public.survey_results with (security_invoker = true) as
  select s.organization_id, s.id as survey_id, f.response_count, f.completion_rate, f.avg_completion_time,
    n.nps_score,
    m.overall as sentiment_overall, m.positive_count, m.neutral_count, m.negative_count
  from public.surveys s
  cross join lateral private.survey_sentiment(s.id) m
  cross join lateral private.survey_figures(array[s.id]) f
  cross join lateral (
    select trim_scale(round(
      100.0 * sum(case when b.value_position >= 9 then b.total when b.value_position <= 6 then -b.total
        else 0 end) / nullif(sum(b.total), 0), 1)) as nps_score
    from private.survey_breakdown(s.id) b where b.type = 'nps') n;
comment on view public.survey_results is
  'Results of surveys for Admin: the numbers of GET /api/surveys/:id/analytics.';

revoke all on public.survey_question_results, public.survey_results
  from public, anon, authenticated, service_role, service_key;
grant select on public.survey_question_results, public.survey_results to authenticated, service_key,
  service_role;

create function private.survey_analytics(survey_id uuid) returns json
language plpgsql stable set search_path = '' as $$
begin
  perform private.require_survey(survey_id, 'analytics:read');
  return (
    select json_build_object('response_count', r.response_count, 'completion_rate', r.completion_rate,
      'avg_completion_time', r.avg_completion_time,
      'nps_score', r.nps_score,
      'sentiment', json_build_object('overall', r.sentiment_overall, 'positive_count', r.positive_count,
        'neutral_count', r.neutral_count,
        'negative_count', r.negative_count),
      'breakdown_by_question', coalesce((
        select json_agg(json_build_object('question_id', b.question_id, 'question_text', b.question_text,
          'type', b.type,
          'answer_count', b.answer_count, 'responses', b.responses) order by b.question_position)
        from (
          select q.question_id, q.question_position, q.question_text, q.type,
            coalesce(sum(q.total) filter (where q.value = ''), sum(q.total)) as answer_count,
            coalesce(json_object_agg(q.value, q.total order by q.value_position) filter (where q.value <> ''),
              '{}') as responses
          from public.survey_question_results q where q.survey_id = r.survey_id group by 1, 2, 3, 4) b),
            '[]'))
    from public.survey_results r where r.survey_id = survey_analytics.survey_id);
end
$$;
comment on function private.survey_analytics(uuid) is
  'Analytics of a survey for Admin; raises NOT_FOUND or FORBIDDEN otherwise.';

-- definer: reads counters without a date range and an index with one.
create function private.count_survey_responses(survey_id uuid, sentiment text, since timestamptz,
  until timestamptz) returns bigint
language plpgsql stable security definer set search_path = '' as $$
begin
  if not coalesce(private.is_admin((select s.organization_id from public.surveys s where s.id = survey_id),
    'responses:read'), false) then
    return 0;
  elsif since is null and until is null then
    return coalesce((
      select sum(case sentiment when 'positive' then c.positive when 'neutral' then c.neutral when 'negative'
        then c.negative else c.responses end)
      from private.survey_counts c where c.survey_id = count_survey_responses.survey_id), 0);
  end if;
  return (select count(*) from public.survey_responses r
    where r.survey_id = count_survey_responses.survey_id
      and (count_survey_responses.sentiment is null or r.sentiment = count_survey_responses.sentiment)
      and r.submitted_at >= coalesce(since, '-infinity') and r.submitted_at <= coalesce(until, 'infinity'));
end
$$;
comment on function private.count_survey_responses(uuid, text, timestamptz, timestamptz) is
  'Number of responses in a list for Admin; null matches every sentiment and leaves the range open. The '
  'range is inclusive.';

create function private.survey_count_discrepancies()
  returns table (subject text, id uuid, stored bigint, truth bigint)
language sql stable set search_path = ''
begin atomic
  select 'surveys.' || n.name, t.survey_id, n.stored, n.truth
  from private.survey_actual_counts t
  cross join lateral (
    select coalesce(sum(c.responses), 0) as responses, coalesce(sum(c.starts), 0) as starts,
      coalesce(sum(c.timed), 0) as timed,
      coalesce(sum(c.milliseconds), 0) as milliseconds, coalesce(sum(c.positive), 0) as positive,
        coalesce(sum(c.neutral), 0) as neutral,
      coalesce(sum(c.negative), 0) as negative, coalesce(sum(c.score), 0) as score
    from private.survey_counts c where c.survey_id = t.survey_id) c
  cross join lateral (values
    ('responses', c.responses, t.responses), ('starts', c.starts, t.starts), ('timed', c.timed, t.timed),
    ('milliseconds', c.milliseconds, t.milliseconds), ('positive', c.positive, t.positive),
      ('neutral', c.neutral, t.neutral),
    ('negative', c.negative, t.negative), ('score', 1000 * c.score, 1000 * t.score)) n (name, stored, truth)
  where n.stored <> n.truth
  union all
  select 'survey_answer_counts', coalesce(c.question_id, t.question_id), coalesce(c.total, 0),
    coalesce(t.total, 0)
  from (select k.question_id, k.value, sum(k.total) as total from private.survey_answer_counts k
    group by 1, 2) c
  full join (
    select a.question_id, a.value, count(*) as total
    from public.survey_responses r cross join lateral private.counted_answers(r.answers) a group by 1, 2) t
    on (c.question_id, c.value) = (t.question_id, t.value)
  where coalesce(c.total, 0) <> coalesce(t.total, 0);
end;
comment on function private.survey_count_discrepancies() is
  'Survey part of private.count_discrepancies; scores in thousandths.';

grant execute on function private.survey_figures(uuid[]) to anon, authenticated, service_key, service_role;
grant execute on function private.survey_analytics(uuid) to anon, authenticated, service_key;
grant execute on function private.survey_sentiment(uuid), private.survey_breakdown(uuid)
  to authenticated, service_key, service_role;
grant execute on function private.count_survey_responses(uuid, text, timestamptz, timestamptz) to
  authenticated, service_key;

-- Sentiment scores that a language model computes after the response is stored.

-- definer: responses are not writable.
create function private.score_survey_response(response_id uuid, judged jsonb) returns void
language plpgsql security definer set search_path = '' as $$
declare response public.survey_responses; numbers numeric; texts numeric;
begin
  -- Lock the survey first: deleting it deletes its responses.
  perform 1 from public.surveys s
  where s.id = (select r.survey_id from public.survey_responses r where r.id = response_id) for key share;
  select * into response from public.survey_responses r
  where r.id = response_id and r.user_id = private.caller_id()
    and r.submitted_at > now() - interval '10 minutes'
  for no key update;
  if response.id is null then return; end if;
  select avg(private.sentiment_of_number(q, (a.answer ->> 'value')::integer)) filter
    (where private.answer_kind(q.type) = 'number'),
    avg(greatest(-1, least(1, (judged -> 'scores' ->> q.id::text)::numeric))) filter (where q.type = 'text')
  into numbers, texts
  from jsonb_array_elements(response.answers) as a (answer)
  join public.survey_questions q on q.id = (a.answer ->> 'question_id')::uuid;
  if texts is null then return; end if;
  update public.survey_responses r set
    sentiment_score = private.sentiment_of_response(numbers, texts),
    sentiment_engine = judged ->> 'engine'
  where r.id = response.id;
end
$$;
comment on function private.score_survey_response(uuid, jsonb) is
  'Replaces the scores of a response that the caller gave in the last ten minutes. judged is {engine, '
  'scores}, with scores of text questions by question id.';

grant execute on function private.score_survey_response(uuid, jsonb) to authenticated;

-- Write functions for clients of the data API. Each returns a single value.
--
-- A client can make a write to a table arbitrarily slow: PostgREST evaluates filters of an UPDATE for each
-- row and embeds related rows into the result after the write, in one transaction that keeps its locks, its
-- unique index entries and its transaction id (which outbox readers wait for). The result of a function that
-- returns a boolean, number or uuid can be neither embedded nor filtered.

-- The edge functions use the same roles, so grants cannot distinguish them from clients; the session user
-- does.
create function private.reject_table_write() returns trigger
language plpgsql set search_path = '' as $$
begin
  if private.is_direct() and coalesce(current_setting('feedback.by_function', true), '') <> 'on' then
    perform private.raise_error('FORBIDDEN',
      format('Clients cannot write the table %s: call the function %s.', tg_table_name, tg_argv[0]));
  end if;
  return null;
end
$$;
comment on function private.reject_table_write() is
  'Trigger: rejects direct writes by clients of the data API. The argument names the function to call '
  'instead.';

create trigger by_function_only before insert on public.submissions for each statement
  when (session_user <> 'feedback_api') execute function private.reject_table_write('create_submission');
create trigger by_function_only_update before update on public.submissions for each statement
  when (session_user <> 'feedback_api') execute function private.reject_table_write('update_submission');
create trigger by_function_only_delete before delete on public.submissions for each statement
  when (session_user <> 'feedback_api') execute function private.reject_table_write('delete_submission');
create trigger by_function_only before insert on public.votes for each statement
  when (session_user <> 'feedback_api') execute function private.reject_table_write('vote');
create trigger by_function_only_delete before delete on public.votes for each statement
  when (session_user <> 'feedback_api') execute function private.reject_table_write('unvote');
create trigger by_function_only before insert on public.follows for each statement
  when (session_user <> 'feedback_api') execute function private.reject_table_write('follow');
create trigger by_function_only_delete before delete on public.follows for each statement
  when (session_user <> 'feedback_api') execute function private.reject_table_write('unfollow');
create trigger by_function_only before insert on public.comments for each statement
  when (session_user <> 'feedback_api') execute function private.reject_table_write('create_comment');
create trigger by_function_only_update before update on public.comments for each statement
  when (session_user <> 'feedback_api') execute function private.reject_table_write('update_comment');
create trigger by_function_only_delete before delete on public.comments for each statement
  when (session_user <> 'feedback_api') execute function private.reject_table_write('delete_comment');
create trigger by_function_only before insert on public.comment_votes for each statement
  when (session_user <> 'feedback_api') execute function private.reject_table_write('vote_comment');
create trigger by_function_only_delete before delete on public.comment_votes for each statement
  when (session_user <> 'feedback_api') execute function private.reject_table_write('unvote_comment');
create trigger by_function_only_update before update on public.notifications for each statement
  when (session_user <> 'feedback_api')
    execute function private.reject_table_write('mark_notifications_read');
create trigger by_function_only_update before update on public.profiles for each statement
  when (session_user <> 'feedback_api') execute function private.reject_table_write('update_profile');
create trigger by_function_only before insert on public.survey_responses for each statement
  when (session_user <> 'feedback_api') execute function private.reject_table_write('submit_survey_response');

create function private.reject_unknown_changes(changes jsonb, known text[]) returns void
language plpgsql immutable set search_path = '' as $$
declare unknown text;
begin
  if coalesce(jsonb_typeof(changes), '') <> 'object' then
    perform private.raise_error('VALIDATION_ERROR', 'must be an object of what to change', 'changes');
  end if;
  unknown := (select key from jsonb_object_keys(changes) as key where key <> all (known)
    order by key limit 1);
  if unknown is not null then
    perform private.raise_error('VALIDATION_ERROR', format('must be one of %s', array_to_string(known, ', ')),
      'changes.' || unknown);
  end if;
  -- A number or an object would be stored as its JSON text.
  unknown := (select key from jsonb_each(changes) where jsonb_typeof(value) not in ('string', 'null')
    order by key limit 1);
  if unknown is not null then
    perform private.raise_error('VALIDATION_ERROR', 'must be text or null', 'changes.' || unknown);
  end if;
end
$$;
comment on function private.reject_unknown_changes(jsonb, text[]) is
  'Raises VALIDATION_ERROR unless changes is an object with known keys and values that are text or null.';

-- Submissions -----------------------------------------------------------------------------------------------

create function public.create_submission(title text, description text, type text,
  category_id uuid default null,
  organization_id uuid default null, id uuid default gen_random_uuid()) returns uuid
language plpgsql set search_path = '' as $$
begin
  perform set_config('feedback.by_function', 'on', true);
  insert into public.submissions (id, organization_id, title, description, type, category_id)
  values (create_submission.id, create_submission.organization_id, create_submission.title,
    create_submission.description,
    create_submission.type, create_submission.category_id);
  perform set_config('feedback.by_function', 'off', true);
  return create_submission.id;
end
$$;
comment on function public.create_submission(text, text, text, uuid, uuid, uuid) is
  'Creates an idea or a problem as the signed-in user, who votes for it and follows it; returns its id. '
  'organization_id is required if there is more than one organization.';

create function public.update_submission(id uuid, changes jsonb) returns boolean
language plpgsql set search_path = '' as $$
declare was_changed boolean;
begin
  perform private.reject_unknown_changes(changes, private.editable_columns('public.submissions'));
  perform set_config('feedback.by_function', 'on', true);
  update public.submissions s set
    title = case when changes ? 'title' then changes ->> 'title' else s.title end,
    description = case when changes ? 'description' then changes ->> 'description' else s.description end,
    category_id = case when changes ? 'category_id' then (changes ->> 'category_id')::uuid
      else s.category_id end,
    tracker_issue_url = case when changes ? 'tracker_issue_url' then changes ->> 'tracker_issue_url'
      else s.tracker_issue_url end
  where s.id = update_submission.id;
  was_changed := found;
  perform set_config('feedback.by_function', 'off', true);
  return was_changed;
end
$$;
comment on function public.update_submission(uuid, jsonb) is
  'Updates title, description, category_id or (Admin) tracker_issue_url: the keys of changes. Returns false '
  'if the caller has no such submission.';

create function public.delete_submission(id uuid) returns boolean
language plpgsql set search_path = '' as $$
declare was_deleted boolean;
begin
  perform set_config('feedback.by_function', 'on', true);
  delete from public.submissions s where s.id = delete_submission.id;
  was_deleted := found;
  perform set_config('feedback.by_function', 'off', true);
  return was_deleted;
end
$$;
comment on function public.delete_submission(uuid) is
  'Deletes a submission with its votes and comments. Returns false if the caller has no such submission.';

-- Votes and follows -----------------------------------------------------------------------------------------

create function public.vote(submission_id uuid) returns boolean
language plpgsql set search_path = '' as $$
declare was_made boolean;
begin
  if private.my_vote(submission_id) is not null then return false; end if;
  perform set_config('feedback.by_function', 'on', true);
  insert into public.votes (submission_id) values (vote.submission_id) on conflict do nothing;
  was_made := found;
  perform set_config('feedback.by_function', 'off', true);
  return was_made;
end
$$;
comment on function public.vote(uuid) is
  'Votes for a submission as the signed-in user. Returns false if the vote exists already.';

create function public.unvote(submission_id uuid) returns boolean
language plpgsql set search_path = '' as $$
begin
  -- Before the lock, so that callers without a vote lock nothing.
  if private.my_vote(submission_id) is null then return false; end if;
  perform set_config('feedback.by_function', 'on', true);
  perform private.remove_vote(submission_id, private.caller_id());
  perform set_config('feedback.by_function', 'off', true);
  return true;
end
$$;
comment on function public.unvote(uuid) is
  'Removes the signed-in user''s vote. Returns false if there is none.';

create function public.follow(submission_id uuid) returns boolean
language plpgsql set search_path = '' as $$
declare was_made boolean;
begin
  if private.is_following(submission_id) then return false; end if;
  perform set_config('feedback.by_function', 'on', true);
  insert into public.follows (submission_id) values (follow.submission_id) on conflict do nothing;
  was_made := found;
  perform set_config('feedback.by_function', 'off', true);
  return was_made;
end
$$;
comment on function public.follow(uuid) is
  'Follows a submission as the signed-in user. Returns false if already following.';

create function public.unfollow(submission_id uuid) returns boolean
language plpgsql set search_path = '' as $$
declare was_removed boolean;
begin
  perform set_config('feedback.by_function', 'on', true);
  delete from public.follows f where f.submission_id = any (private.with_sources(unfollow.submission_id));
  was_removed := found;
  perform set_config('feedback.by_function', 'off', true);
  return was_removed;
end
$$;
comment on function public.unfollow(uuid) is
  'Unfollows a submission and those merged into it. Returns false if the signed-in user follows none of '
  'them.';

-- Comments --------------------------------------------------------------------------------------------------

create function public.create_comment(submission_id uuid, body text, parent_id uuid default null,
  id uuid default gen_random_uuid())
returns uuid
language plpgsql set search_path = '' as $$
begin
  perform set_config('feedback.by_function', 'on', true);
  insert into public.comments (id, submission_id, parent_id, body)
  values (create_comment.id, create_comment.submission_id, create_comment.parent_id, create_comment.body);
  perform set_config('feedback.by_function', 'off', true);
  return create_comment.id;
end
$$;
comment on function public.create_comment(uuid, text, uuid, uuid) is
  'Comments on a submission, or replies to its comment parent_id, as the signed-in user; returns the '
  'comment''s id.';

create function public.update_comment(id uuid, body text) returns boolean
language plpgsql set search_path = '' as $$
declare was_changed boolean;
begin
  perform set_config('feedback.by_function', 'on', true);
  update public.comments c set body = update_comment.body where c.id = update_comment.id;
  was_changed := found;
  perform set_config('feedback.by_function', 'off', true);
  return was_changed;
end
$$;
comment on function public.update_comment(uuid, text) is
  'Updates a comment of the signed-in user within private.comment_edit_window(). Returns false if there is '
  'no such comment of theirs.';

create function public.delete_comment(id uuid) returns boolean
language plpgsql set search_path = '' as $$
declare was_deleted boolean;
begin
  perform set_config('feedback.by_function', 'on', true);
  delete from public.comments c where c.id = delete_comment.id;
  was_deleted := found;
  perform set_config('feedback.by_function', 'off', true);
  return was_deleted;
end
$$;
comment on function public.delete_comment(uuid) is
  'Deletes a comment with all replies. Returns false if the caller has no such comment.';

create function public.vote_comment(comment_id uuid) returns boolean
language plpgsql set search_path = '' as $$
declare was_made boolean;
begin
  if private.comment_vote_of(comment_id, private.caller_id()) is not null then return false; end if;
  perform set_config('feedback.by_function', 'on', true);
  insert into public.comment_votes (comment_id) values (vote_comment.comment_id) on conflict do nothing;
  was_made := found;
  perform set_config('feedback.by_function', 'off', true);
  return was_made;
end
$$;
comment on function public.vote_comment(uuid) is
  'Votes for a comment as the signed-in user. Returns false if the vote exists already.';

create function public.unvote_comment(comment_id uuid) returns boolean
language plpgsql set search_path = '' as $$
begin
  if private.comment_vote_of(comment_id, private.caller_id()) is null then return false; end if;
  perform set_config('feedback.by_function', 'on', true);
  perform private.remove_comment_vote(comment_id, private.caller_id());
  perform set_config('feedback.by_function', 'off', true);
  return true;
end
$$;
comment on function public.unvote_comment(uuid) is
  'Removes the signed-in user''s vote for a comment. Returns false if there is none.';

-- One's own -------------------------------------------------------------------------------------------------

create function public.mark_notifications_read(ids uuid[] default null) returns integer
language plpgsql set search_path = '' as $$
declare marked integer;
begin
  perform set_config('feedback.by_function', 'on', true);
  update public.notifications n set read_at = now()
  where n.user_id = private.caller_id() and n.read_at is null and (ids is null or n.id = any (ids));
  get diagnostics marked = row_count;
  perform set_config('feedback.by_function', 'off', true);
  return marked;
end
$$;
comment on function public.mark_notifications_read(uuid[]) is
  'Marks notifications of the signed-in user as read, the given ones or all; returns how many.';

create function public.update_profile(changes jsonb) returns boolean
language plpgsql set search_path = '' as $$
declare was_changed boolean;
begin
  perform private.reject_unknown_changes(changes, array['name', 'avatar_url', 'locale']);
  perform set_config('feedback.by_function', 'on', true);
  update public.profiles p set
    name = case when changes ? 'name' then changes ->> 'name' else p.name end,
    avatar_url = case when changes ? 'avatar_url' then changes ->> 'avatar_url' else p.avatar_url end
  where p.id = private.caller_id();
  was_changed := found;
  -- By itself, since nobody may read it.
  if changes ? 'locale' then
    update public.profiles p set locale = changes ->> 'locale' where p.id = private.caller_id();
  end if;
  perform set_config('feedback.by_function', 'off', true);
  return was_changed;
end
$$;
comment on function public.update_profile(jsonb) is
  'Updates name, avatar_url or locale of the signed-in user''s profile: the keys of changes.';

create function public.submit_survey_response(survey_id uuid, answers jsonb, locale text default null)
  returns uuid
language plpgsql set search_path = '' as $$
declare response json;
begin
  perform set_config('feedback.by_function', 'on', true);
  response := private.submit_survey_response(survey_id, answers, locale, null);
  perform set_config('feedback.by_function', 'off', true);
  return (response ->> 'response_id')::uuid;
end
$$;
comment on function public.submit_survey_response(uuid, jsonb, text) is
  'Answers a survey as the signed-in user: answers is [{question_id, value}]; returns the response''s id.';

-- Every request ---------------------------------------------------------------------------------------------

create function private.before_request() returns void
language plpgsql set search_path = '' as $$
begin
  -- The planner's estimate includes rows the caller may not see.
  if nullif(current_setting('request.headers', true), '')::json ->> 'prefer'
    ~* 'count\s*=\s*"?(planned|estimated)' then
    perform private.raise_error('VALIDATION_ERROR',
      'Use count=exact: the planner''s estimate includes rows you cannot see.', 'Prefer');
  end if;
  if current_setting('request.method', true) not in ('GET', 'HEAD') and current_setting('role')
    in ('anon', 'authenticated') then
    perform set_config('statement_timeout', '2s', true), set_config('lock_timeout', '1s', true);
  end if;
end
$$;
comment on function private.before_request() is
  'PostgREST calls it before each request (pgrst.db_pre_request). Writes get a statement timeout of 2 s and '
  'a lock timeout of 1 s. Rejects Prefer: count=planned and count=estimated.';

-- Rights ----------------------------------------------------------------------------------------------------

grant execute on function private.before_request() to anon, authenticated, service_role;
grant execute on function private.reject_unknown_changes(jsonb, text[]) to authenticated;
grant execute on function public.create_submission(text, text, text, uuid, uuid, uuid),
  public.update_submission(uuid, jsonb),
  public.delete_submission(uuid), public.vote(uuid), public.unvote(uuid), public.follow(uuid),
    public.unfollow(uuid),
  public.create_comment(uuid, text, uuid, uuid), public.update_comment(uuid, text),
    public.delete_comment(uuid),
  public.vote_comment(uuid), public.unvote_comment(uuid), public.mark_notifications_read(uuid[]),
  public.update_profile(jsonb), public.submit_survey_response(uuid, jsonb, text) to authenticated;

-- API keys of organizations: create, list, rotate, revoke.

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
comment on table private.api_keys is
  'API keys of organizations and of agents (which act as the agent''s profile). Stores only the SHA-256 '
  'digest of the secret, its prefix and its last four characters.';
create index api_keys_organization_idx on private.api_keys (organization_id, created_at desc);
alter table private.api_keys enable row level security;
revoke all on private.api_keys from public, anon, authenticated, service_role, service_key;

create function private.create_api_key(
  organization_id uuid, name text, scopes text[], digest bytea, prefix text, last_four text,
  expires_at timestamptz default null, created_by uuid default null)
returns uuid language plpgsql set search_path = '' as $$
declare key_profile uuid; key_id uuid;
begin
  insert into public.profiles (kind, organization_id, name) values ('key', organization_id, name)
    returning id into key_profile;
  insert into private.api_keys (organization_id, profile_id, name, scopes, digest, prefix, last_four,
    expires_at, created_by)
  values (organization_id, key_profile, name, scopes, digest, prefix, last_four, expires_at, created_by)
    returning id into key_id;
  return key_id;
end
$$;
comment on function private.create_api_key(uuid, text, text[], bytea, text, text, timestamptz, uuid) is
  'Creates a key and the profile it acts as. The caller generates the secret, which never reaches the '
  'database; digest is its SHA-256.';

-- Administration --------------------------------------------------------------------------------------------

create function private.api_key_shape(key private.api_keys) returns json
language sql stable
return json_build_object('id', (key).id, 'name', (key).name, 'scopes', (key).scopes, 'prefix', (key).prefix,
  'last_four', (key).last_four,
  'expires_at', (key).expires_at, 'revoked_at', (key).revoked_at, 'last_used_at', (key).last_used_at,
    'created_at', (key).created_at);
comment on function private.api_key_shape(private.api_keys) is 'JSON of a key for Admin, without the digest.';

-- definer: private tables. Requires a signed-in Admin: a key can never create keys.
create function private.require_key_admin() returns uuid
language plpgsql stable set search_path = '' as $$
declare organization_id uuid := private.current_organization_id();
begin
  if private.is_key() then
    perform private.raise_error('FORBIDDEN', 'Only signed-in users may create keys.');
  end if;
  perform private.require_admin(organization_id, '');
  return organization_id;
end
$$;
comment on function private.require_key_admin() is
  'Returns the current organization for a signed-in Admin; raises FORBIDDEN otherwise.';

create function private.admin_list_api_keys() returns json
language plpgsql stable security definer set search_path = '' as $$ -- definer: private tables
declare own_id uuid := private.require_key_admin();
begin
  return coalesce((select json_agg(private.api_key_shape(k) order by k.created_at desc, k.id)
    from (select * from private.api_keys k where k.organization_id = own_id and k.prefix = 'fcs_org_'
      order by k.created_at desc, k.id limit 500) k), '[]');
end
$$;
comment on function private.admin_list_api_keys() is
  'The organization''s newest 500 keys, including revoked and expired ones, for Admin.';

create function private.admin_create_api_key(name text, scopes text[], digest bytea, prefix text,
  last_four text, expires_at timestamptz)
returns json language plpgsql security definer set search_path = '' as $$ -- definer: private tables
declare own_id uuid := private.require_key_admin(); key_id uuid;
begin
  key_id := private.create_api_key(own_id, name, scopes, digest, prefix, last_four, expires_at,
    private.caller_id());
  perform private.audit('api_key.create', 'api_key', key_id,
    jsonb_build_object('scopes', scopes, 'expires_at', expires_at), own_id);
  return (select private.api_key_shape(k) from private.api_keys k where k.id = key_id);
end
$$;
comment on function private.admin_create_api_key(text, text[], bytea, text, text, timestamptz) is
  'Creates a key of the current organization from the digest of a secret.';

create function private.admin_rotate_api_key(
  key_id uuid, digest bytea, prefix text, last_four text, overlap interval, agent_id uuid default null)
returns json language plpgsql security definer set search_path = '' as $$ -- definer: private tables
declare own_id uuid := private.require_key_admin(); key private.api_keys; new_id uuid;
begin
  select * into key from private.api_keys k
  where k.id = key_id and k.organization_id = own_id and k.prefix = admin_rotate_api_key.prefix
    and (agent_id is null or k.profile_id = agent_id) for no key update;
  if key.id is null then return null; end if;
  if key.revoked_at is not null or key.expires_at <= now() then
    perform private.raise_error('CONFLICT', 'This key is no longer valid: make a new one.');
  end if;
  insert into private.api_keys (organization_id, profile_id, name, scopes, digest, prefix, last_four,
    expires_at, created_by)
  values (key.organization_id, key.profile_id, key.name, key.scopes, digest, prefix, last_four,
    key.expires_at, private.caller_id())
  returning id into new_id;
  update private.api_keys k set expires_at = least(k.expires_at, now() + overlap) where k.id = key.id;
  perform private.audit('api_key.rotate', 'api_key', key.id, jsonb_build_object('new_key_id', new_id),
    own_id);
  return (select private.api_key_shape(k) from private.api_keys k where k.id = new_id);
end
$$;
comment on function private.admin_rotate_api_key(uuid, bytea, text, text, interval, uuid) is
  'Replaces the secret and keeps prefix, name, scopes, expiry and profile. The old secret stays valid for '
  'the overlap. Returns null if there is no such key.';

create function private.admin_revoke_api_key(key_id uuid, agent_id uuid default null) returns json
language plpgsql security definer set search_path = '' as $$ -- definer: private tables
declare own_id uuid := private.require_key_admin(); key private.api_keys;
begin
  update private.api_keys k set revoked_at = coalesce(k.revoked_at, now())
  where k.id = key_id and k.organization_id = own_id
    and case when agent_id is null then k.prefix = 'fcs_org_' else k.profile_id = agent_id end
  returning k.* into key;
  if key.id is not null then perform private.audit('api_key.revoke', 'api_key', key.id, '{}', own_id); end if;
  return case when key.id is not null then private.api_key_shape(key) end;
end
$$;
comment on function private.admin_revoke_api_key(uuid, uuid) is
  'Revokes a key immediately and permanently; repeating it is not an error. Returns null if there is no '
  'such key.';

grant execute on function private.admin_list_api_keys(),
  private.admin_create_api_key(text, text[], bytea, text, text, timestamptz),
  private.admin_rotate_api_key(uuid, bytea, text, text, interval, uuid),
    private.admin_revoke_api_key(uuid, uuid) to authenticated;

-- Rate limits: rules as data, and exact fixed-window counters.

create table private.rate_limit_rules (
  name text primary key,
  max_requests integer not null constraint max_requests_is_positive check (max_requests > 0),
  window_seconds integer not null constraint window_is_positive check (window_seconds > 0)
);
comment on table private.rate_limit_rules is
  'Rate limit rules; changes take effect at once. A rule <operation>_<kind of caller> takes precedence over '
  '<operation>: it counts by key, the other one by the person the key acts for.';
alter table private.rate_limit_rules enable row level security;
insert into private.rate_limit_rules (name, max_requests, window_seconds) values
  ('page', 600, 60),
  ('level_public', 30, 60), ('level_user', 100, 60), ('level_admin', 300, 60), ('level_key', 300, 60),
  ('agent_standard', 60, 60), ('agent_professional', 300, 60), ('agent_enterprise', 1000, 60),
  ('submission_create_key', 100, 60), ('submission_create_agent', 100, 60),
    ('submission_create_user', 300, 60), ('submission_update_user', 300, 60),
  ('duplicate_check_public', 30, 60), ('duplicate_check_user', 100, 60), ('duplicate_check_key', 100, 60),
    ('duplicate_check_agent', 100, 60),
  ('comment_create', 20, 3600), ('comment_update', 10, 3600), ('comment_delete', 10, 3600),
    ('comment_list', 100, 60),
  ('vote_create', 30, 3600), ('vote_delete', 30, 3600), ('vote_list', 100, 60),
  ('survey_response_create', 100, 60);

create unlogged table private.rate_counters (
  rule text not null,
  subject text not null,
  started_at timestamptz not null,
  used integer not null,
  primary key (rule, subject)
) with (fillfactor = 20);
comment on table private.rate_counters is
  'Calls in the current window by rule and subject. Unlogged: a crash empties it. Subjects are ids or keyed '
  'hashes, never addresses.';
alter table private.rate_counters enable row level security;
revoke all on private.rate_limit_rules, private.rate_counters
  from public, anon, authenticated, service_role, service_key;

create type private.rate_state as (max_requests integer, remaining integer, reset_at timestamptz,
  allowed boolean);
comment on type private.rate_state is
  'State of a counter after a charge: remaining calls, end of the window, and whether the charge was '
  'allowed.';

create function private.charge(rule text, max_requests integer, window_seconds integer, subject text,
  calls integer)
returns private.rate_state
language plpgsql set search_path = '' as $$
declare
  at timestamptz := clock_timestamp();
  length interval := make_interval(secs => window_seconds);
  used integer;
  reset_at timestamptz;
begin
  -- A charge above the limit changes nothing and returns no row.
  insert into private.rate_counters as c (rule, subject, started_at, used) values (rule, subject, at, calls)
  on conflict on constraint rate_counters_pkey do update set
    started_at = case when c.started_at + length <= at then at else c.started_at end,
    used = case when c.started_at + length <= at then calls else c.used + calls end
    where c.started_at + length <= at or c.used + calls <= charge.max_requests
  returning c.used, c.started_at + length into used, reset_at;
  if used is null then
    select c.used, c.started_at + length into used, reset_at from private.rate_counters c
    where c.rule = charge.rule and c.subject = charge.subject;
    return (max_requests, greatest(0, max_requests - used), coalesce(reset_at, at + length), false);
  end if;
  return (max_requests, greatest(0, max_requests - used), reset_at, used <= max_requests);
end
$$;
comment on function private.charge(text, integer, integer, text, integer) is
  'Charges calls of a subject against a rule. Concurrent charges never exceed the limit.';

create function private.charge_direct(operation text, calls bigint) returns void
language plpgsql set search_path = '' as $$
declare rule private.rate_limit_rules; state private.rate_state;
begin
  select * into rule from private.rate_limit_rules r where r.name = operation;
  if rule.name is null or calls = 0 then return; end if;
  state := private.charge(rule.name, rule.max_requests, rule.window_seconds,
    coalesce(private.caller_id()::text, 'nobody'), calls::integer);
  if not state.allowed then
    perform private.raise_error('RATE_LIMIT_EXCEEDED', 'Too many requests: wait and try again.', null,
      jsonb_build_object(
      'retry_after', greatest(1, ceil(extract(epoch from state.reset_at - clock_timestamp()))::integer)));
  end if;
end
$$;
comment on function private.charge_direct(text, bigint) is
  'For triggers: charges a client of the data API for each row, in the same counter as the API.';

-- Start of every request (authenticate, resolve the organization, rate limit), allowed origins, and
-- idempotent requests.

create type private.caller as (kind text, profile_id uuid, organization_id uuid, key_id uuid, scopes text[],
  level text, valid boolean);
comment on type private.caller is
  'Authenticated caller. kind: public, user, key or agent. level: the rate limit rule that counts all calls '
  'of the caller.';

create type private.admission as (code text, message text, field text, retry_after integer, kind text,
  profile_id uuid,
  organization_id uuid, named boolean, key_id uuid, scopes text[], max_requests integer, remaining integer,
    reset_at bigint,
  origin_allowed boolean);
comment on type private.admission is
  'Decision on a request. code: null, or the error code; retry_after in seconds; max_requests, remaining '
  'and reset_at (Unix seconds): the charged counter with the fewest remaining calls.';

create function private.resolve_caller(user_id uuid, digest bytea) returns private.caller
language plpgsql set search_path = '' as $$
declare who private.caller; key private.api_keys; tier text; reads boolean; retired boolean;
begin
  if user_id is not null then
    who.kind := 'user';
    select p.id, case when exists (select from public.memberships m
      where m.user_id = p.id and m.role in ('owner', 'admin'))
      then 'level_admin' else 'level_user' end
    into who.profile_id, who.level from public.profiles p where p.auth_user_id = user_id;
    who.valid := who.profile_id is not null;
  elsif digest is not null then
    who.kind := 'key';
    who.level := 'level_key';
    select * into key from private.api_keys k where k.digest = resolve_caller.digest;
    who.valid := key.id is not null and key.revoked_at
      is null and (key.expires_at is null or key.expires_at > now());
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
comment on function private.resolve_caller(uuid, bytea) is
  'Resolves a credential: the auth user id, the SHA-256 of a key, or neither for an anonymous request. '
  'Unknown, revoked and expired keys are indistinguishable. A read-only agent keeps only its read scopes.';

-- definer: the login role has no other access to credentials, organizations or counters.
create function private.admit_request(
  user_id uuid,              -- from a verified access token
  digest bytea,              -- SHA-256 of a key
  invalid_credential boolean, -- the request has a credential that is not valid
  address text,              -- keyed hash of the client's address; null if unknown
  operations text[],         -- rules to charge in addition to the caller's level
  organization text,         -- id or slug named by the request
  on_behalf text,            -- keyed hash of the person a key acts for, who has own counters
  origin text,               -- origin of the calling page, if it is not the site's own
  needs_origin boolean,      -- a write authenticated by cookie: the origin must be allowed
  resource text,             -- table of the row named by the path
  resource_id uuid,
  charge boolean             -- false if the request was charged before
) returns private.admission
language plpgsql security definer set search_path = '' as $$
declare
  who private.caller := private.resolve_caller(user_id, digest);
  answer private.admission;
  subject text;
  operation text;
  rule text;
  bucket_size integer;
  seconds integer;
  state private.rate_state;
  tightest private.rate_state;
begin
  if invalid_credential or not who.valid then
    answer.code := 'UNAUTHORIZED';
    answer.message := 'The credential is not valid.';
    who := ('public', null, null, null, null, 'level_public', false);
    operations := '{}';
  end if;
  if who.kind = 'user' or who.kind = 'public' then on_behalf := null; end if;

  if charge then
    -- All keys of an agent share one counter.
    subject := case when who.kind = 'agent' then who.profile_id::text
      else coalesce(who.key_id::text, who.profile_id::text, address) end;
    if who.kind = 'agent' then operations := operations || 'agent_day'::text; end if;
    -- Always in this order, so that parallel calls of one caller do not wait for each other in a circle.
    -- A page is charged to its own rule in the place of the level.
    foreach operation in array case when 'page' = any (operations) then operations
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
      -- A row named by its id determines the organization.
      if organization is not null or resource is null then
        answer.organization_id := private.find_organization(organization, who.profile_id);
      end if;
    elsif organization is null or exists (
        select from public.organizations o where o.id = who.organization_id and lower(organization)
          in (o.slug, o.id::text)) then
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
    -- Computed for errors as well: a page can read a 401 or 429 only with CORS headers.
    answer.origin_allowed := coalesce((select admit_request.origin = any (o.allowed_origins)
      from public.organizations o
      where o.id = coalesce(private.organization_of(resource, resource_id, who), answer.organization_id,
        who.organization_id,
        private.find_organization(organization, who.profile_id))), false);
    if needs_origin and not answer.origin_allowed and answer.code is null then
      answer.code := 'FORBIDDEN';
      answer.message := 'This origin may not write: an admin can allow it at /api/admin/origins.';
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
comment on function private.admit_request(uuid, bytea, boolean, text, text[], text, text, text, boolean, text,
  uuid, boolean) is
  'Authenticates a request, resolves its organization and charges its rate limits. private.assume_caller '
  'calls it; it is called alone for requests that failed or may run long.';

create function private.organization_of(resource text, id uuid, who private.caller) returns uuid
language plpgsql stable set search_path = '' as $$
declare
  team_ids uuid[] := case when who.organization_id is not null then array[who.organization_id]
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
comment on function private.organization_of(text, uuid, private.caller) is
  'Organization of a row by table and id if the caller may see the row; for private.admit_request.';

-- definer: allowed origins are readable by Admin only.
create function private.is_allowed_origin(origin text) returns boolean
language plpgsql stable security definer set search_path = '' as $$
begin
  return exists (select from public.organizations o where is_allowed_origin.origin = any (o.allowed_origins));
end
$$;
comment on function private.is_allowed_origin(text) is
  'Whether any organization allows this origin; for preflight requests, which name no organization.';

-- Invoker: a definer function cannot SET ROLE. The following statements of the transaction run with that
-- role.
create function private.assume_caller(
  request_id text, user_id uuid, digest bytea, invalid_credential boolean, address text, operations text[],
    organization text, on_behalf text,
  origin text, needs_origin boolean, resource text, resource_id uuid, charge boolean,
  access text,               -- public, person, caller or agent
  required_scopes text[],    -- if access is caller, a key needs one of them
  out max_requests integer, out remaining integer, out reset_at bigint, out origin_allowed boolean)
language plpgsql set search_path = '' as $$
declare
  admission private.admission := private.admit_request(user_id, digest, invalid_credential, address,
    operations, organization, on_behalf, origin,
    needs_origin, resource, resource_id, charge);
  ignored text; -- an assignment is cheaper than PERFORM
begin
  if admission.code is not null then
    perform private.raise_error(admission.code, admission.message, admission.field,
      case when admission.retry_after is null then '{}'
        else jsonb_build_object('retry_after', admission.retry_after) end);
  elsif (access = 'agent') <> (admission.kind = 'agent') then
    perform private.raise_error('UNAUTHORIZED', case when access = 'agent'
      then 'Send the key of an agent: Authorization: Bearer fcs_agt_…'
      else 'Agent keys work under /api/mcp only.' end);
  elsif access <> 'public' and admission.kind = 'public' then
    perform private.raise_error('UNAUTHORIZED', 'Sign in, or send a key: Authorization: Bearer <token>.');
  elsif access = 'person' and admission.kind <> 'user' then
    perform private.raise_error('FORBIDDEN', 'Only signed-in users may do this, not keys.');
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
  ignored := set_config('feedback.suppress_events', 'off', true);
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
comment on function private.assume_caller(text, uuid, bytea, boolean, text, text[], text, text, text, boolean,
  text, uuid, boolean, text, text[]) is
  'First statement of a request''s transaction: runs private.admit_request and assumes the caller''s claims '
  'and role until the transaction ends. Raises UNAUTHORIZED, RATE_LIMIT_EXCEEDED, FORBIDDEN or NOT_FOUND.';

create function private.in_organization(organization_id uuid) returns boolean
language sql stable
return private.is_key() or coalesce(current_setting('feedback.organization_named', true), '') <> 'true'
  or organization_id = private.requested_organization_id();
comment on function private.in_organization(uuid) is
  'Whether a row named by id belongs to the organization that the request named, if it named one.';

grant execute on function private.admit_request(uuid, bytea, boolean, text, text[], text, text, text, boolean,
  text, uuid, boolean),
  private.assume_caller(text, uuid, bytea, boolean, text, text[], text, text, text, boolean, text, uuid,
    boolean, text, text[]),
  private.is_allowed_origin(text) to feedback_api;
grant execute on function private.in_organization(uuid) to anon, authenticated, service_key;

-- Pages of other origins ------------------------------------------------------------------------------------

-- definer: settings of organizations are not granted.
create function private.admin_origins(origins text[]) returns json
language plpgsql security definer set search_path = '' as $$
declare own_id uuid := private.current_organization_id();
begin
  perform private.require_admin(own_id, 'organization:write');
  if origins is not null then
    update public.organizations o set allowed_origins = origins where o.id = own_id;
  end if;
  return (select json_build_object('origins', o.allowed_origins) from public.organizations o
    where o.id = own_id);
end
$$;
comment on function private.admin_origins(text[]) is
  'Origins allowed to call the API for this organization; an array replaces them. For Admin or keys with '
  'organization:write.';
grant execute on function private.admin_origins(text[]) to authenticated, service_key;

-- Requests that may be repeated -----------------------------------------------------------------------------

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
comment on table private.idempotency_keys is
  'Responses to POST requests with an Idempotency-Key, kept for a day. request is the SHA-256 of route, '
  'path, query and body.';
create index idempotency_keys_age_idx on private.idempotency_keys (created_at);
alter table private.idempotency_keys enable row level security;
revoke all on private.idempotency_keys from public, anon, authenticated, service_role, service_key;

-- definer: private tables.
create function private.find_idempotent_response(key text, request bytea) returns text
language plpgsql security definer set search_path = '' as $$
declare earlier private.idempotency_keys; own_id uuid
  := nullif(current_setting('feedback.key_id', true), '')::uuid;
begin
  insert into private.idempotency_keys as k (organization_id, key_id, key, request)
  values (private.key_organization_id(), own_id, find_idempotent_response.key,
    find_idempotent_response.request)
  on conflict on constraint idempotency_keys_pkey do nothing;
  if found then return null; end if;
  select * into earlier from private.idempotency_keys k
    where k.key_id = own_id and k.key = find_idempotent_response.key;
  if earlier.request is distinct from find_idempotent_response.request then
    perform private.raise_error('CONFLICT', 'This Idempotency-Key was used for another request.',
      'Idempotency-Key');
  end if;
  return earlier.answer;
end
$$;
comment on function private.find_idempotent_response(text, bytea) is
  'Returns the stored response for the key and the same request; null the first time. Waits for a '
  'concurrent first request.';

create function private.save_idempotent_response(key text, answer text) returns void
language plpgsql security definer set search_path = '' as $$
begin
  update private.idempotency_keys k set answer = save_idempotent_response.answer
  where k.key_id = nullif(current_setting('feedback.key_id', true), '')::uuid
    and k.key = save_idempotent_response.key;
end
$$;
comment on function private.save_idempotent_response(text, text) is
  'Stores the response for private.find_idempotent_response, in the transaction of the request.';
grant execute on function private.find_idempotent_response(text, bytea),
  private.save_idempotent_response(text, text) to service_key;

-- Readiness -------------------------------------------------------------------------------------------------

-- definer: the login role cannot read the list of migrations.
create function private.latest_migration() returns text
language plpgsql stable security definer set search_path = '' as $$
begin
  return (select max(version) from supabase_migrations.schema_migrations);
end
$$;
comment on function private.latest_migration() is
  'Version of the newest applied migration, for the readiness check.';
grant execute on function private.latest_migration() to feedback_api;

-- Access of deleted and of anonymous users.

-- Deleted accounts ------------------------------------------------------------------------------------------

-- Access tokens of deleted users stay valid until they expire. The API rejects them in private.assume_caller;
-- these policies reject them for clients of the data API and realtime.

-- definer: profiles are not readable as a whole.
create function private.has_account() returns boolean
language plpgsql stable security definer set search_path = '' as $$
begin
  return exists (select from public.profiles p where p.auth_user_id = auth.uid());
end
$$;
comment on function private.has_account() is 'Whether the auth user of the access token still exists.';

create function private.is_active_user() returns boolean
language sql stable
return session_user = 'feedback_api' or private.has_account();
comment on function private.is_active_user() is
  'Whether the user exists; always true in the edge functions, which have checked it.';
grant execute on function private.has_account(), private.is_active_user() to authenticated;

do $$
declare name text;
begin
  for name in
    select c.relname from pg_class c
    where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' order by c.relname
  loop
    execute format('create policy "a deleted user sees and changes nothing" on public.%I
      as restrictive to authenticated using ((select private.is_active_user()))', name);
  end loop;
end
$$;

-- Anonymous sign-ins ----------------------------------------------------------------------------------------

-- Anyone can create any number of anonymous users. The row of the auth service decides, not the claim: it
-- changes the moment an address is linked, and the API does not pass claims on.

-- definer: profiles and settings of organizations are not readable as a whole.
create function private.require_participation() returns trigger
language plpgsql security definer set search_path = '' as $$
declare allowed text;
begin
  if private.is_key() or private.events_suppressed()
    or not exists (select from public.profiles p where p.id = auth.uid() and p.is_anonymous) then
    return new;
  end if;
  allowed := (select o.anonymous_may from public.organizations o where o.id = new.organization_id);
  if allowed <> 'participate' and allowed <> tg_argv[0] then
    perform private.raise_error('FORBIDDEN', case allowed
      when 'vote' then 'Anonymous users may read and vote here: sign up to do more.'
      else 'Anonymous users may only read here: sign up to take part.' end);
  end if;
  return new;
end
$$;
comment on function private.require_participation() is
  'Trigger: anonymous users may do what organizations.anonymous_may allows. The argument is the required '
  'level: vote or participate.';

-- Trigger names sort after prepare, which sets the organization.
create trigger require_participation before insert on public.votes
  for each row execute function private.require_participation('vote');
create trigger require_participation before insert on public.comment_votes
  for each row execute function private.require_participation('vote');
create trigger require_participation before insert on public.follows
  for each row execute function private.require_participation('vote');
create trigger require_participation before insert or update of title, description on public.submissions
  for each row execute function private.require_participation('participate');
create trigger require_participation before insert or update of body on public.comments
  for each row execute function private.require_participation('participate');
create trigger require_participation before insert on public.survey_responses
  for each row execute function private.require_participation('participate');
create trigger require_participation before insert on private.survey_starts
  for each row execute function private.require_participation('participate');

-- Agents: policies, keys and the audit trail of tool calls.

create table private.agents (
  id uuid primary key references public.profiles (id) on delete cascade deferrable initially deferred,
  organization_id uuid not null references public.organizations (id) on delete cascade,
  tier text not null default 'standard',
  description text,
  read_only boolean not null default false,
  confirm_destructive boolean not null default false,
  tools text[],
  category_ids uuid[],
  survey_ids uuid[],
  calls_a_day integer,
  retired_at timestamptz,
  created_by uuid references public.profiles (id) deferrable initially deferred,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint tier_is_known check (tier in ('standard', 'professional', 'enterprise')),
  constraint description_has_1_to_500_characters check (char_length(description) between 1 and 500),
  constraint tools_are_snake_case check
    (cardinality(tools) <= 100 and array_to_string(tools, ' ') ~ '^([a-z_]{1,64}( [a-z_]{1,64})*)?$'),
  constraint lists_are_short check (greatest(cardinality(category_ids), cardinality(survey_ids)) <= 200),
  constraint calls_a_day_is_positive check (calls_a_day > 0)
);
comment on table private.agents is
  'Agents of an organization. id is the profile the agent acts as. tier names its rate limit rule. '
  'read_only to calls_a_day are policies that restrict its keys; null means no restriction.';
create index agents_organization_idx on private.agents (organization_id, created_at desc, id);
alter table private.agents enable row level security;
revoke all on private.agents from public, anon, authenticated, service_role, service_key;
create trigger touch_updated_at before update on private.agents
  for each row execute function private.touch_updated_at();

create function private.create_agent(organization_id uuid, name text, tier text default 'standard',
  description text default null, created_by uuid default null)
returns uuid language plpgsql set search_path = '' as $$
declare agent_id uuid;
begin
  insert into public.profiles (kind, organization_id, name) values ('agent', organization_id, name)
    returning id into agent_id;
  insert into private.agents (id, organization_id, tier, description, created_by)
  values (agent_id, organization_id, tier, description, created_by);
  return agent_id;
end
$$;
comment on function private.create_agent(uuid, text, text, text, uuid) is
  'Creates an agent and the profile it acts as.';

create function private.create_agent_key(
  agent_id uuid, name text, scopes text[], digest bytea, prefix text, last_four text,
  expires_at timestamptz default null, created_by uuid default null)
returns uuid language plpgsql set search_path = '' as $$
declare key_id uuid;
begin
  insert into private.api_keys (organization_id, profile_id, name, scopes, digest, prefix, last_four,
    expires_at, created_by)
  select a.organization_id, a.id, coalesce(create_agent_key.name, p.name), scopes, digest, prefix, last_four,
    expires_at, create_agent_key.created_by
  from private.agents a join public.profiles p on p.id = a.id where a.id = agent_id
  returning id into key_id;
  return key_id;
end
$$;
comment on function private.create_agent_key(uuid, text, text[], bytea, text, text, timestamptz, uuid) is
  'Creates a key of an agent: a row of api_keys that acts as the agent''s profile. Returns null if there is '
  'no such agent.';

-- A call ----------------------------------------------------------------------------------------------------

-- definer: reads the agent's policies.
create function private.authorize_tool_call(tool text, scope text, destructive boolean, confirmed boolean)
  returns void
language plpgsql stable security definer set search_path = '' as $$
declare agent private.agents;
begin
  if not private.has_scope(scope) then
    perform private.raise_error('FORBIDDEN', format('This key lacks the scope %s.', scope), null,
      jsonb_build_object('scope', scope));
  end if;
  select * into agent from private.agents a where a.id = private.agent_id();
  if tool <> all (agent.tools) then
    perform private.raise_error('FORBIDDEN', format('The agent''s policies do not allow %s.', tool));
  end if;
  if destructive and agent.confirm_destructive and not confirmed then
    perform private.raise_error('VALIDATION_ERROR',
      'This tool updates or deletes data: call it again with confirm: true.', 'confirm');
  end if;
end
$$;
comment on function private.authorize_tool_call(text, text, boolean, boolean) is
  'Raises FORBIDDEN unless the calling agent''s key has the scope and its policies allow the tool. Scopes, '
  'row-level security and private.admit_request enforce read_only, categories, surveys and calls_a_day.';

create table private.agent_audit (
  id bigint generated always as identity primary key,
  organization_id uuid not null,
  agent_id uuid not null,
  key_id uuid not null,
  request_id uuid not null,
  tool text not null,
  scope text,
  outcome text not null,
  duration_ms real not null,
  argument_names text[] not null,
  address text,
  created_at timestamptz not null default now()
);
comment on table private.agent_audit is
  'Audit trail of agent calls: append-only, kept for private.retention(agent_calls). Stores argument names '
  'without values and the address as a keyed hash; outcome is ok or an error code. No foreign keys: each '
  'call would lock the agent''s row.';
create index agent_audit_agent_idx on private.agent_audit (agent_id, id desc);
create index agent_audit_age_idx on private.agent_audit using brin (created_at);
alter table private.agent_audit enable row level security;
revoke all on private.agent_audit from public, anon, authenticated, service_role, service_key;

create function private.protect_agent_audit() returns trigger
language plpgsql set search_path = '' as $$
begin
  if tg_op = 'DELETE' and old.created_at < now() - private.retention('agent_calls') then
    return old;
  end if;
  perform private.raise_error('FORBIDDEN', 'The audit trail is append-only.');
end
$$;
comment on function private.protect_agent_audit() is
  'Trigger: rejects changes, and deletion within private.retention(agent_calls).';
create trigger keep before update or delete on private.agent_audit
  for each row execute function private.protect_agent_audit();

-- definer: the audit trail is not granted.
create function private.record_tool_call(request_id uuid, tool text, scope text, argument_names text[],
  address text) returns void
language plpgsql security definer set search_path = '' as $$
begin
  insert into private.agent_audit
    (organization_id, agent_id, key_id, request_id, tool, scope, outcome, duration_ms, argument_names,
    address)
  values (private.key_organization_id(), private.agent_id(), current_setting('feedback.key_id')::uuid,
    request_id, tool, scope, 'ok',
    extract(epoch from clock_timestamp() - now()) * 1000, argument_names, address);
end
$$;
comment on function private.record_tool_call(uuid, text, text, text[], text) is
  'Appends a writing call to the audit trail in the transaction of the call.';

-- definer: called by the login role after the transaction of the call.
create function private.record_tool_calls(calls jsonb) returns void
language plpgsql security definer set search_path = '' as $$
begin
  perform set_config('synchronous_commit', 'off', true);
  insert into private.agent_audit
    (organization_id, agent_id, key_id, request_id, tool, scope, outcome, duration_ms, argument_names,
    address)
  select k.organization_id, k.profile_id, k.id, c.request_id, c.tool, c.scope, c.outcome, c.duration_ms,
    c.argument_names, c.address
  from jsonb_to_recordset(calls) as c
    (digest text, request_id uuid, tool text, scope text, outcome text, duration_ms real,
    argument_names text[], address text)
  join private.api_keys k on k.digest = decode(c.digest, 'hex') join private.agents a on a.id = k.profile_id;
end
$$;
comment on function private.record_tool_calls(jsonb) is
  'Appends calls that only read or that failed. They changed nothing, so the commit does not wait for the '
  'disk.';

-- definer: agents are not granted.
create function private.agent_self() returns json
language plpgsql stable security definer set search_path = '' as $$
begin
  return (
    select json_build_object('id', a.id, 'name', p.name, 'tier', a.tier,
      'scopes', string_to_array(coalesce(current_setting('feedback.scopes', true), ''), ' '), 'tools',
        a.tools)
    from private.agents a join public.profiles p on p.id = a.id where a.id = private.agent_id());
end
$$;
comment on function private.agent_self() is
  'The calling agent with its effective scopes and tools after its policies; tools is null for all.';

grant execute on function private.authorize_tool_call(text, text, boolean, boolean),
  private.record_tool_call(uuid, text, text, text[], text),
  private.agent_self() to service_key;
grant execute on function private.record_tool_calls(jsonb) to feedback_api;

-- Administration --------------------------------------------------------------------------------------------

create function private.agent_shape(agent private.agents) returns json
language plpgsql stable set search_path = '' as $$
begin
  return json_build_object('id', agent.id, 'name',
    (select p.name from public.profiles p where p.id = agent.id), 'description', agent.description,
    'tier', agent.tier, 'retired_at', agent.retired_at, 'created_at', agent.created_at);
end
$$;
comment on function private.agent_shape(private.agents) is 'JSON of an agent for Admin.';

create function private.find_agent(agent_id uuid) returns private.agents
language plpgsql stable set search_path = '' as $$
declare own_id uuid := private.require_key_admin(); agent private.agents;
begin
  select * into agent from private.agents a where a.id = agent_id and a.organization_id = own_id;
  if agent.id is null then
    perform private.raise_error('NOT_FOUND', 'There is no such agent.');
  end if;
  return agent;
end
$$;
comment on function private.find_agent(uuid) is
  'Returns an agent of the current organization for a signed-in Admin; raises FORBIDDEN or NOT_FOUND '
  'otherwise.';

create function private.admin_list_agents() returns json
-- definer: private tables; each function below requires Admin
language plpgsql stable security definer set search_path = '' as $$
declare own_id uuid := private.require_key_admin();
begin
  return coalesce((select json_agg(private.agent_shape(a) order by a.created_at desc, a.id)
    from (select * from private.agents a where a.organization_id = own_id
      order by a.created_at desc, a.id limit 500) a), '[]');
end
$$;
comment on function private.admin_list_agents() is
  'The organization''s newest 500 agents, including retired ones.';

create function private.admin_create_agent(name text, tier text, description text) returns json
language plpgsql security definer set search_path = '' as $$ -- definer: agents are not granted
declare made uuid := private.create_agent(private.require_key_admin(), name, tier, description,
  private.caller_id());
begin
  perform private.audit('agent.create', 'agent', made, jsonb_build_object('tier', tier));
  return (select private.agent_shape(a) from private.agents a where a.id = made);
end
$$;
comment on function private.admin_create_agent(text, text, text) is
  'Creates an agent in the current organization.';

create function private.admin_update_agent(agent_id uuid, name text, tier text, description text) returns json
language plpgsql security definer set search_path = '' as $$ -- definer: agents are not granted
declare agent private.agents := private.find_agent(agent_id);
begin
  update public.profiles p set name = admin_update_agent.name
    where p.id = agent.id and admin_update_agent.name is not null;
  update private.agents a set tier = coalesce(admin_update_agent.tier, a.tier),
    description = case when admin_update_agent.description is null then a.description
      else nullif(admin_update_agent.description, '') end
  where a.id = agent.id returning a.* into agent;
  perform private.audit('agent.update', 'agent', agent.id, jsonb_build_object('tier', agent.tier));
  return private.agent_shape(agent);
end
$$;
comment on function private.admin_update_agent(uuid, text, text, text) is
  'Sets the arguments that are not null; an empty description removes it.';

create function private.admin_retire_agent(agent_id uuid) returns json
language plpgsql security definer set search_path = '' as $$ -- definer: agents are not granted
declare agent private.agents := private.find_agent(agent_id);
begin
  update private.api_keys k set revoked_at = now() where k.profile_id = agent.id and k.revoked_at is null;
  update private.agents a set retired_at = coalesce(a.retired_at, now()) where a.id = agent.id
    returning a.* into agent;
  perform private.audit('agent.retire', 'agent', agent.id);
  return private.agent_shape(agent);
end
$$;
comment on function private.admin_retire_agent(uuid) is
  'Retires the agent and revokes its keys permanently; it stays as the author of its content.';

create function private.admin_agent_policies(agent_id uuid, policies jsonb) returns json
language plpgsql security definer set search_path = '' as $$ -- definer: agents are not granted
declare agent private.agents := private.find_agent(agent_id);
begin
  if policies is not null then
    update private.agents a set
      read_only = (policies ->> 'read_only')::boolean,
      confirm_destructive = (policies ->> 'confirm_destructive')::boolean,
      calls_a_day = (policies ->> 'calls_a_day')::integer,
      tools = private.text_array(policies -> 'tools'),
      category_ids = private.text_array(policies -> 'category_ids')::uuid[],
      survey_ids = private.text_array(policies -> 'survey_ids')::uuid[]
    where a.id = agent.id returning a.* into agent;
    if exists (select from unnest(agent.category_ids) as wanted
      where not exists (select from public.categories c
        where c.id = wanted and c.organization_id = agent.organization_id)) then
      perform private.raise_error('VALIDATION_ERROR', 'has one that is not a category of this organization',
        'category_ids');
    end if;
    if exists (select from unnest(agent.survey_ids) as wanted
      where not exists (select from public.surveys s
        where s.id = wanted and s.organization_id = agent.organization_id)) then
      perform private.raise_error('VALIDATION_ERROR', 'has one that is not a survey of this organization',
        'survey_ids');
    end if;
    perform private.audit('agent.set_policies', 'agent', agent.id, policies);
  end if;
  return json_build_object('read_only', agent.read_only, 'confirm_destructive', agent.confirm_destructive,
    'tools', agent.tools,
    'category_ids', agent.category_ids, 'survey_ids', agent.survey_ids, 'calls_a_day', agent.calls_a_day);
end
$$;
comment on function private.admin_agent_policies(uuid, jsonb) is
  'Policies of an agent; an object replaces all of them.';

create function private.text_array(value jsonb) returns text[]
language plpgsql immutable set search_path = '' as $$
begin
  return case when jsonb_typeof(value) = 'array' then array(select jsonb_array_elements_text(value)) end;
end
$$;
comment on function private.text_array(jsonb) is 'A JSON array of text as a text array; null for null.';

create function private.admin_list_agent_keys(agent_id uuid) returns json
language plpgsql stable security definer set search_path = '' as $$ -- definer: agents are not granted
declare agent private.agents := private.find_agent(agent_id);
begin
  return coalesce((select json_agg(private.api_key_shape(k) order by k.created_at desc, k.id)
    from (select * from private.api_keys k where k.organization_id = agent.organization_id
      and k.profile_id = agent.id
      order by k.created_at desc, k.id limit 500) k), '[]');
end
$$;
comment on function private.admin_list_agent_keys(uuid) is
  'The agent''s newest 500 keys, including revoked and expired ones.';

create function private.admin_create_agent_key(
  agent_id uuid, name text, scopes text[], digest bytea, prefix text, last_four text, expires_at timestamptz)
returns json language plpgsql security definer set search_path = '' as $$ -- definer: agents are not granted
declare agent private.agents := private.find_agent(agent_id); key_id uuid;
begin
  if agent.retired_at is not null then
    perform private.raise_error('CONFLICT', 'This agent is retired: make another.');
  end if;
  key_id := private.create_agent_key(agent.id, name, scopes, digest, prefix, last_four, expires_at,
    private.caller_id());
  perform private.audit('agent_key.create', 'api_key', key_id,
    jsonb_build_object('agent_id', agent.id, 'scopes', scopes));
  return (select private.api_key_shape(k) from private.api_keys k where k.id = key_id);
end
$$;
comment on function private.admin_create_agent_key(uuid, text, text[], bytea, text, text, timestamptz) is
  'Creates a key of an agent from the digest of a secret.';

create function private.admin_agent_audit(agent_id uuid, before bigint, tool text, outcome text,
  max_rows integer) returns json
language plpgsql stable security definer set search_path = '' as $$ -- definer: agents are not granted
declare agent private.agents := private.find_agent(agent_id);
begin
  return coalesce((select json_agg(json_build_object('id', t.id, 'key_id', t.key_id, 'request_id',
    t.request_id, 'tool', t.tool, 'scope', t.scope,
      'outcome', t.outcome, 'duration_ms', round(t.duration_ms::numeric, 1), 'argument_names',
        t.argument_names, 'address', t.address,
      'created_at', t.created_at) order by t.id desc)
    from (select * from private.agent_audit t
      where t.agent_id = agent.id and t.organization_id = agent.organization_id
        and (before is null or t.id < before)
        and (admin_agent_audit.tool is null or t.tool = admin_agent_audit.tool)
        and (admin_agent_audit.outcome is null or t.outcome = admin_agent_audit.outcome)
      order by t.id desc limit max_rows) t), '[]');
end
$$;
comment on function private.admin_agent_audit(uuid, bigint, text, text, integer) is
  'Calls of an agent, newest first, below the given id.';

grant execute on function private.admin_list_agents(), private.admin_create_agent(text, text, text),
  private.admin_update_agent(uuid, text, text, text),
  private.admin_retire_agent(uuid), private.admin_agent_policies(uuid, jsonb),
    private.admin_list_agent_keys(uuid),
  private.admin_create_agent_key(uuid, text, text[], bytea, text, text, timestamptz),
  private.admin_agent_audit(uuid, bigint, text, text, integer) to authenticated;

-- Streams and subscriptions of agents, stored as rows, so that any process can serve what another one opened.

create table private.agent_streams (
  id uuid primary key,
  organization_id uuid not null references public.organizations (id) on delete cascade,
  agent_id uuid not null references private.agents (id) on delete cascade,
  tool text not null,
  arguments jsonb not null,
  confirmed boolean not null,
  locale text not null,
  events jsonb,
  expires_at timestamptz not null default now() + interval '10 minutes'
);
comment on table private.agent_streams is
  'Tool calls that run when their stream is first read; kept ten minutes. events is [name, data] after the '
  'run, stored in the transaction of the call.';
create index agent_streams_agent_idx on private.agent_streams (agent_id);
create index agent_streams_organization_idx on private.agent_streams (organization_id);
create index agent_streams_expiry_idx on private.agent_streams (expires_at);

create table private.agent_subscriptions (
  id uuid primary key,
  organization_id uuid not null references public.organizations (id) on delete cascade,
  agent_id uuid not null references private.agents (id) on delete cascade,
  events text[] not null,
  survey_id uuid,
  xid xid8 not null default pg_snapshot_xmin(pg_current_snapshot()),
  expires_at timestamptz not null default now() + interval '1 day'
);
comment on table private.agent_subscriptions is
  'Event subscriptions of agents, kept for a day. xid is the outbox position at creation: later events are '
  'delivered, including those before the stream is opened.';
create index agent_subscriptions_agent_idx on private.agent_subscriptions (agent_id);
create index agent_subscriptions_organization_idx on private.agent_subscriptions (organization_id);
create index agent_subscriptions_expiry_idx on private.agent_subscriptions (expires_at);

create unlogged table private.open_streams (
  id uuid primary key,
  organization_id uuid not null,
  agent_id uuid not null,
  address text,
  expires_at timestamptz not null default now() + interval '30 seconds'
);
comment on table private.open_streams is
  'Open subscription streams of all processes, for global limits. A process renews its streams; those of a '
  'crashed process expire. address is a keyed hash.';
create index open_streams_expiry_idx on private.open_streams (expires_at);

alter table private.open_streams enable row level security;
revoke all on private.open_streams from public, anon, authenticated, service_role, service_key;
alter table private.agent_streams enable row level security;
alter table private.agent_subscriptions enable row level security;
revoke all on private.agent_streams, private.agent_subscriptions
  from public, anon, authenticated, service_role, service_key;

-- definer: private tables. Each function accesses rows of the calling agent only.
create function private.open_stream(id uuid, tool text, arguments jsonb, confirmed boolean, locale text)
  returns void
language plpgsql security definer set search_path = '' as $$
declare own_id uuid := private.agent_id();
begin
  perform private.check_stream_limit('private.agent_streams', own_id);
  insert into private.agent_streams (id, organization_id, agent_id, tool, arguments, confirmed, locale)
  values (id, private.key_organization_id(), own_id, tool, arguments, confirmed, locale);
end
$$;
comment on function private.open_stream(uuid, text, jsonb, boolean, text) is
  'Stores a call until its stream is read.';

create function private.check_stream_limit(kind regclass, agent_id uuid) returns void
language plpgsql set search_path = '' as $$
declare max_open constant integer := 100; open integer;
begin
  -- Serializes by agent, so that the limit holds.
  perform 1 from private.agents a where a.id = agent_id for no key update;
  execute format('select count(*) from %s where agent_id = $1 and expires_at > now()', kind) into open
    using agent_id;
  if open >= max_open then
    perform private.raise_error('RATE_LIMIT_EXCEEDED',
      format('An agent may have at most %s of these open at a time: read them or wait until they expire.',
      max_open), null,
      jsonb_build_object('retry_after', 60));
  end if;
end
$$;
comment on function private.check_stream_limit(regclass, uuid) is
  'Raises RATE_LIMIT_EXCEEDED if an agent has 100 pending streams or subscriptions.';

create function private.claim_stream(id uuid) returns json
-- definer: private tables; only the agent and the functions know the id
language plpgsql security definer set search_path = '' as $$
declare stream private.agent_streams;
begin
  select * into stream from private.agent_streams s
  where s.id = claim_stream.id and s.agent_id = private.agent_id()
    and s.expires_at > now() for update skip locked;
  if stream.id is null then
    return case when exists (select from private.agent_streams s
      where s.id = claim_stream.id and s.agent_id = private.agent_id() and s.expires_at > now())
      then json_build_object('state', 'running') end;
  end if;
  return json_build_object('state', case when stream.events is null then 'waiting' else 'finished' end,
    'tool', stream.tool, 'arguments', stream.arguments, 'confirmed', stream.confirmed, 'locale',
      stream.locale, 'events', stream.events);
end
$$;
comment on function private.claim_stream(uuid) is
  'Locks a stream of the calling agent and returns its state: finished, running in another transaction, or '
  'pending and then locked by this one. Returns null if there is none.';

create function private.finish_stream(id uuid, events jsonb) returns void
-- definer: private tables; only the agent and the functions know the id
language plpgsql security definer set search_path = '' as $$
begin
  update private.agent_streams s set events = finish_stream.events
    where s.id = finish_stream.id and s.events is null;
end
$$;
comment on function private.finish_stream(uuid, jsonb) is
  'Stores the events of a finished stream for later reads.';

create function private.stream_events(id uuid) returns jsonb
-- definer: private tables; only the agent and the functions know the id
language plpgsql stable security definer set search_path = '' as $$
begin
  return (select s.events from private.agent_streams s
    where s.id = stream_events.id and s.expires_at > now());
end
$$;
comment on function private.stream_events(uuid) is 'Events of a finished stream; null before.';

create function private.open_subscription(id uuid, events text[], needs jsonb, survey_id uuid) returns void
-- definer: private tables; only the agent and the functions know the id
language plpgsql security definer set search_path = '' as $$
declare own_id uuid := private.agent_id(); need record; allowed text[] := (select a.tools
  from private.agents a where a.id = own_id);
begin
  for need in select * from jsonb_to_recordset(needs) as n (event text, scope text, tools text[]) loop
    if not private.has_scope(need.scope) then
      perform private.raise_error('FORBIDDEN', format('This key lacks the scope %s.', need.scope), null,
        jsonb_build_object('scope', need.scope));
    end if;
    if not allowed && need.tools then
      perform private.raise_error('FORBIDDEN',
        format('The agent''s policies allow no tool that reads %s.', need.event));
    end if;
  end loop;
  perform private.check_stream_limit('private.agent_subscriptions', own_id);
  insert into private.agent_subscriptions (id, organization_id, agent_id, events, survey_id)
  values (id, private.key_organization_id(), own_id, events, survey_id);
end
$$;
comment on function private.open_subscription(uuid, text[], jsonb, uuid) is
  'Creates a subscription of the calling agent. needs is [{event, scope, tools}]: its key must have the '
  'scope, and its policies must allow one of the tools.';

create function private.read_subscription(id uuid) returns json
-- definer: private tables; only the agent and the functions know the id
language plpgsql stable security definer set search_path = '' as $$
begin
  return (
    select json_build_object('organization_id', s.organization_id, 'agent_id', a.id, 'events', s.events,
      'survey_id', s.survey_id, 'xid', s.xid::text,
      'expires_at', s.expires_at, 'expired', s.expires_at <= now(), 'key_id',
        current_setting('feedback.key_id'),
      'version', a.updated_at, 'category_ids', a.category_ids, 'survey_ids', a.survey_ids,
      'scopes', string_to_array(current_setting('feedback.scopes'), ' '), 'tools', a.tools)
    from private.agent_subscriptions s join private.agents a on a.id = s.agent_id
    where s.id = read_subscription.id and s.agent_id = private.agent_id());
end
$$;
comment on function private.read_subscription(uuid) is
  'A subscription of the calling agent with its current policies and scopes; null if there is none.';

create function private.register_stream(id uuid, address text) returns void
-- definer: private tables; only the agent and the functions know the id
language plpgsql security definer set search_path = '' as $$
declare own_id uuid := private.agent_id(); own_organization_id uuid := private.key_organization_id(); too_many
  text;
begin
  -- Serializes opening streams, so that the limits hold.
  perform pg_advisory_xact_lock(hashtextextended('private.open_streams', 0));
  delete from private.open_streams s where s.expires_at < now();
  select case
      when count(*) filter (where s.agent_id = own_id) >= 100 then 'of this agent'
      when count(*) filter (where s.organization_id = own_organization_id) >= 300
        then 'of this organization''s agents'
      when count(*) filter (where s.address = register_stream.address) >= 500 then 'from this address'
    end into too_many
  from private.open_streams s;
  if too_many is not null then
    perform private.raise_error('RATE_LIMIT_EXCEEDED',
      format('Too many streams %s are open: close some.', too_many), null,
      jsonb_build_object('retry_after', 5));
  end if;
  insert into private.open_streams (id, organization_id, agent_id, address)
    values (id, own_organization_id, own_id, address);
end
$$;
comment on function private.register_stream(uuid, text) is
  'Registers an open stream of the calling agent; raises RATE_LIMIT_EXCEEDED above 100 for an agent, 300 '
  'for an organization and 500 for an address.';
grant execute on function private.register_stream(uuid, text) to service_key;

create function private.renew_streams(renewed_ids uuid[], closed_ids uuid[]) returns void
-- definer: private tables; only the process that opened the streams knows their ids
language plpgsql security definer set search_path = '' as $$
begin
  delete from private.open_streams s where s.id = any (closed_ids);
  update private.open_streams s set expires_at = now() + interval '30 seconds' where s.id = any (renewed_ids);
end
$$;
comment on function private.renew_streams(uuid[], uuid[]) is
  'Renews the registration of open streams and removes closed ones.';
grant execute on function private.renew_streams(uuid[], uuid[]) to feedback_api;

grant execute on function private.open_stream(uuid, text, jsonb, boolean, text), private.claim_stream(uuid),
  private.finish_stream(uuid, jsonb),
  private.open_subscription(uuid, text[], jsonb, uuid), private.read_subscription(uuid) to service_key;

-- For the process that serves open streams: it asks for all of them at once, as the login role --------------

create function private.events_after(xid xid8, id bigint, organization_ids uuid[], max_rows integer)
  returns json
language plpgsql stable security definer set search_path = '' as $$ -- definer: the outbox is not granted
begin
  return json_build_object('head', pg_snapshot_xmin(pg_current_snapshot())::text, 'events', coalesce((
    select json_agg(json_build_object('xid', e.xid::text, 'id', e.id, 'event_id', e.event_id,
      'organization_id', e.organization_id, 'type', e.type,
      'timestamp', e.created_at, 'data', e.data, 'survey_id',
        coalesce(e.data ->> 'survey_id', e.data -> 'survey' ->> 'id'),
      'category_id', (select s.category_id from public.submissions s
        where s.id = coalesce(e.data ->> 'submission_id', e.data -> 'submission' ->> 'id',
          e.data -> 'comment' ->> 'submission_id')::uuid))
      order by e.xid, e.id)
    from (
      select * from private.outbox o
      where (o.xid, o.id) > (events_after.xid, events_after.id)
        and o.xid < pg_snapshot_xmin(pg_current_snapshot())
        and o.organization_id = any (organization_ids)
      order by o.xid, o.id limit max_rows) e), '[]'));
end
$$;
comment on function private.events_after(xid8, bigint, uuid[], integer) is
  'Events of the given organizations after a cursor in commit order, and the current outbox position; with '
  'survey and category for policies.';

create function private.active_keys(key_ids uuid[]) returns table (key_id uuid, version timestamptz)
language plpgsql stable security definer set search_path = '' as $$ -- definer: keys are not granted
begin
  return query select k.id, a.updated_at from private.api_keys k join private.agents a on a.id = k.profile_id
  where k.id = any (key_ids) and k.revoked_at is null and (k.expires_at is null or k.expires_at > now())
    and a.retired_at is null;
end
$$;
comment on function private.active_keys(uuid[]) is
  'Which of the given agent keys are still valid, and when each agent last changed. A stream closes when '
  'its key ends or its agent''s policies change.';

grant execute on function private.finish_stream(uuid, jsonb), private.stream_events(uuid),
  private.events_after(xid8, bigint, uuid[], integer),
  private.active_keys(uuid[]) to feedback_api;

-- The outbox: every mutation inserts its event in its own transaction. Webhooks, agent streams and the change
-- feed read it.

create table private.outbox (
  xid xid8 not null default pg_current_xact_id(),
  id bigint generated always as identity,
  event_id uuid not null default gen_random_uuid(),
  organization_id uuid not null references public.organizations (id) on delete cascade,
  type text not null,
  subject_id uuid not null,
  data jsonb not null,
  created_at timestamptz not null default now(),
  primary key (xid, id)
);
comment on table private.outbox is
  'Events in commit order: readers select xid < pg_snapshot_xmin(pg_current_snapshot()) ordered by (xid, '
  'id); that pair is the cursor. Kept for private.retention(events).';
create index outbox_organization_idx on private.outbox (organization_id, xid, id);
create index outbox_created_idx on private.outbox (subject_id)
  where type in ('submission.created', 'comment.created');
create index outbox_age_idx on private.outbox using brin (created_at);
alter table private.outbox enable row level security;
revoke all on private.outbox from public, anon, authenticated, service_role, service_key;

create function private.emit_event(organization_id uuid, type text, subject_id uuid, data jsonb) returns void
language plpgsql set search_path = '' as $$
begin
  insert into private.outbox (organization_id, type, subject_id, data)
    values (organization_id, type, subject_id, data);
  perform private.wake_dispatcher(organization_id);
end
$$;
comment on function private.emit_event(uuid, text, uuid, jsonb) is
  'Inserts an event of this transaction. For definer triggers.';

create function private.is_announced(type text, subject_id uuid) returns boolean
language plpgsql stable set search_path = '' as $$
begin
  return exists (select from private.outbox o
    where o.subject_id = is_announced.subject_id and o.type = is_announced.type
  and o.type in ('submission.created', 'comment.created'));
end
$$;
comment on function private.is_announced(text, uuid) is
  'Whether the creation event of a submission or comment was emitted before, so that a second approval does '
  'not repeat it.';

-- Webhook endpoints of organizations. The edge functions encrypt the secrets; neither plain secrets nor the
-- encryption key are in the database.

create table private.webhooks (
  id uuid primary key,
  organization_id uuid not null references public.organizations (id) on delete cascade,
  url text not null,
  events text[] not null,
  encrypted_secret text not null,
  previous_encrypted_secret text,
  previous_secret_until timestamptz,
  is_enabled boolean not null default true,
  disabled_reason text,
  is_healthy boolean not null default false,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint webhooks_belong_to_their_organization unique (organization_id, id),
  constraint url_is_a_web_address check (url ~ '^https?://[^\s[:cntrl:]]+$' and char_length(url) <= 2000),
  constraint events_are_names check
    (cardinality(events) between 1 and 30 and array_position(events, null) is null
    and array_to_string(events, ' ') ~ '^[a-z_]+(\.[a-z_]+)+( [a-z_]+(\.[a-z_]+)+)*$'),
  constraint secrets_are_encrypted check
    (encrypted_secret ~ '^[\w-]+\.[A-Za-z0-9_-]+$'
    and previous_encrypted_secret ~ '^[\w-]+\.[A-Za-z0-9_-]+$'),
  constraint a_previous_secret_ends check
    ((previous_encrypted_secret is null) = (previous_secret_until is null)),
  constraint disabled_ones_say_why check (is_enabled = (disabled_reason is null)),
  constraint disabled_reason_is_known check (disabled_reason in ('admin', 'gone'))
);
comment on table private.webhooks is
  'Webhook endpoints, at most 100 for an organization. events holds the requested names, including aliases. '
  'Secrets are encrypted with AES-256-GCM as <key id>.<base64url>. is_healthy: the last response was a '
  'success, so several deliveries may be in flight.';
alter table private.webhooks enable row level security;
revoke all on private.webhooks from public, anon, authenticated, service_role, service_key;
create trigger touch_updated_at before update of url, events, is_enabled, encrypted_secret on private.webhooks
  for each row execute function private.touch_updated_at();

create function private.canonical_event(name text) returns text
language sql immutable
return case name when 'vote.created' then 'submission.vote_added' when 'status.changed'
  then 'submission.status_changed' else name end;
comment on function private.canonical_event(text) is
  'The event that a name or alias refers to; the same names as eventAliases in shared/events.ts.';

-- Administration --------------------------------------------------------------------------------------------

create function private.webhook_shape(webhook private.webhooks) returns json
language sql stable set search_path = ''
return json_build_object('id', 'wh_' || replace((webhook).id::text, '-', ''), 'url', (webhook).url, 'events',
  (webhook).events,
  'enabled', (webhook).is_enabled, 'disabled_reason', (webhook).disabled_reason,
  'previous_secret_expires_at', case when (webhook).previous_secret_until > now()
    then (webhook).previous_secret_until end,
  'created_at', (webhook).created_at, 'updated_at', (webhook).updated_at);
comment on function private.webhook_shape(private.webhooks) is
  'JSON of a webhook for Admin, without the secret.';

-- definer: reads memberships and private organizations. Every function below checks the caller's rights with
-- it.
create function private.require_webhook_admin(organization_id uuid, scope text) returns void
language plpgsql stable security definer set search_path = '' as $$
begin
  if not private.in_organization(organization_id) or not exists (
      select from public.organizations o where o.id = organization_id and case when private.is_key()
        then o.id = private.key_organization_id()
        else o.visibility = 'public' or private.is_member(o.id, private.caller_id()) end) then
    perform private.raise_error('NOT_FOUND', 'There is no such organization.', 'organization');
  end if;
  perform private.require_admin(organization_id, scope);
end
$$;
comment on function private.require_webhook_admin(uuid, text) is
  'Raises NOT_FOUND if the caller cannot see the organization and FORBIDDEN without the required rights.';

create function private.host_of(url text) returns text
language sql immutable
return substring(url from '^https?://(?:[^/?#]*@)?([^/?#]*)');
comment on function private.host_of(text) is 'Host and port of a URL.';

create function private.audit_webhook(action text, webhook private.webhooks, details jsonb default '{}')
  returns void
language plpgsql set search_path = '' as $$
begin
  perform private.audit('webhook.' || action, 'webhook', webhook.id,
    jsonb_build_object('host', private.host_of(webhook.url)) || details, webhook.organization_id);
end
$$;
comment on function private.audit_webhook(text, private.webhooks, jsonb) is
  'Writes a webhook change to the audit log with the host only: the rest of a URL may contain a secret.';

create function private.admin_list_webhooks(organization_id uuid) returns json
language plpgsql stable security definer set search_path = '' as $$ -- definer: private tables
begin
  perform private.require_webhook_admin(organization_id, 'webhooks:read');
  return coalesce((select json_agg(private.webhook_shape(w) order by w.created_at desc, w.id)
    from private.webhooks w where w.organization_id = admin_list_webhooks.organization_id), '[]');
end
$$;
comment on function private.admin_list_webhooks(uuid) is 'The organization''s webhooks, newest first.';

create function private.admin_show_webhook(organization_id uuid, webhook_id uuid) returns json
language plpgsql stable security definer set search_path = '' as $$ -- definer: accesses private tables
begin
  perform private.require_webhook_admin(organization_id, 'webhooks:read');
  return (select private.webhook_shape(w) from private.webhooks w
    where w.organization_id = admin_show_webhook.organization_id and w.id = webhook_id);
end
$$;
comment on function private.admin_show_webhook(uuid, uuid) is
  'One webhook; null if the organization has none with this id.';

create function private.admin_create_webhook(organization_id uuid, webhook_id uuid, url text, events text[],
  encrypted_secret text) returns json
language plpgsql security definer set search_path = '' as $$ -- definer: accesses private tables
#variable_conflict use_column
declare made private.webhooks;
begin
  perform private.require_webhook_admin(organization_id, 'webhooks:write');
  -- Serializes registrations, so that the limit holds.
  perform 1 from public.organizations o where o.id = admin_create_webhook.organization_id for no key update;
  if (select count(*) from private.webhooks w where w.organization_id = admin_create_webhook.organization_id)
    >= 100 then
    perform private.raise_error('CONFLICT', 'An organization has at most 100 webhooks: delete one first.');
  end if;
  insert into private.webhooks (id, organization_id, url, events, encrypted_secret)
  values (webhook_id, organization_id, url, events, encrypted_secret) returning * into made;
  perform private.audit_webhook('create', made, jsonb_build_object('events', made.events));
  return private.webhook_shape(made);
end
$$;
comment on function private.admin_create_webhook(uuid, uuid, text, text[], text) is
  'Registers an endpoint for future events.';

create function private.admin_update_webhook(organization_id uuid, webhook_id uuid, url text, events text[],
  enabled boolean) returns json
language plpgsql security definer set search_path = '' as $$ -- definer: accesses private tables
declare before private.webhooks; changed private.webhooks;
begin
  perform private.require_webhook_admin(organization_id, 'webhooks:write');
  select * into before from private.webhooks w
  where w.organization_id = admin_update_webhook.organization_id and w.id = webhook_id for no key update;
  if before.id is null then return null; end if;
  update private.webhooks w set
    url = coalesce(admin_update_webhook.url, w.url),
    -- A new URL has to prove its health again.
    is_healthy = w.is_healthy and coalesce(admin_update_webhook.url = w.url, true),
    events = coalesce(admin_update_webhook.events, w.events),
    is_enabled = coalesce(enabled, w.is_enabled),
    disabled_reason = case when not coalesce(enabled, w.is_enabled)
      then coalesce(w.disabled_reason, 'admin') end
  where w.id = before.id returning w.* into changed;
  perform private.audit_webhook('update', changed, jsonb_strip_nulls(jsonb_build_object(
    'previous_host', case when changed.url <> before.url then private.host_of(before.url) end,
    'events', case when changed.events <> before.events then changed.events end,
    'enabled', case when changed.is_enabled <> before.is_enabled then changed.is_enabled end)));
  return private.webhook_shape(changed);
end
$$;
comment on function private.admin_update_webhook(uuid, uuid, text, text[], boolean) is
  'Sets the arguments that are not null. Returns null if the organization has no such webhook.';

create function private.admin_delete_webhook(organization_id uuid, webhook_id uuid) returns boolean
language plpgsql security definer set search_path = '' as $$ -- definer: accesses private tables
declare deleted private.webhooks;
begin
  perform private.require_webhook_admin(organization_id, 'webhooks:write');
  delete from private.webhooks w where w.organization_id = admin_delete_webhook.organization_id
    and w.id = webhook_id
  returning w.* into deleted;
  if deleted.id is null then return false; end if;
  perform private.audit_webhook('delete', deleted);
  return true;
end
$$;
comment on function private.admin_delete_webhook(uuid, uuid) is
  'Deletes a webhook with its delivery log; returns whether it existed.';

create function private.admin_rotate_webhook(organization_id uuid, webhook_id uuid, encrypted_secret text,
  overlap interval) returns json
language plpgsql security definer set search_path = '' as $$ -- definer: accesses private tables
declare changed private.webhooks;
begin
  perform private.require_webhook_admin(organization_id, 'webhooks:write');
  update private.webhooks w set
    previous_encrypted_secret = w.encrypted_secret, previous_secret_until = now() + overlap,
      encrypted_secret = admin_rotate_webhook.encrypted_secret
  where w.organization_id = admin_rotate_webhook.organization_id and w.id = webhook_id
  returning w.* into changed;
  if changed.id is null then return null; end if;
  perform private.audit_webhook('rotate', changed,
    jsonb_build_object('previous_secret_until', changed.previous_secret_until));
  return private.webhook_shape(changed);
end
$$;
comment on function private.admin_rotate_webhook(uuid, uuid, text, interval) is
  'Replaces the secret; deliveries are also signed with the previous one until the overlap ends. Returns '
  'null if the organization has no such webhook.';

grant execute on function private.require_webhook_admin(uuid, text), private.admin_list_webhooks(uuid),
  private.admin_show_webhook(uuid, uuid),
  private.admin_create_webhook(uuid, uuid, text, text[], text),
    private.admin_update_webhook(uuid, uuid, text, text[], boolean),
  private.admin_delete_webhook(uuid, uuid), private.admin_rotate_webhook(uuid, uuid, text, interval) to
    authenticated, service_key;

-- Webhook deliveries: one row for each event and endpoint, created from the outbox, claimed by dispatchers,
-- kept as the delivery log.

do $$
begin
  if not exists (select from pg_roles where rolname = 'feedback_webhooks') then
    create role feedback_webhooks login noinherit;
  end if;
end
$$;
comment on role feedback_webhooks is
  'Login role of functions/webhook-dispatch. Owns nothing. May only fan out events, claim deliveries and '
  'record their results.';
grant usage on schema private to feedback_webhooks;
-- Nested loops over indexes only: a plan made while a table was empty must also suit a full table.
alter role feedback_webhooks set plan_cache_mode = 'force_generic_plan';
alter role feedback_webhooks set enable_seqscan = off;
alter role feedback_webhooks set enable_bitmapscan = off;
alter role feedback_webhooks set enable_hashjoin = off;
alter role feedback_webhooks set enable_mergejoin = off;
alter role feedback_webhooks set statement_timeout = '15s';
alter role feedback_webhooks set lock_timeout = '2s';
alter role feedback_webhooks set idle_in_transaction_session_timeout = '15s';
-- A pooler may drop settings that the client sends when it connects.
alter role feedback_webhooks set timezone = 'UTC';

create table private.webhook_deliveries (
  organization_id uuid not null,
  webhook_id uuid not null,
  event_id uuid not null,
  event text not null,
  outbox_xid xid8,
  outbox_id bigint,
  data jsonb,
  status text not null default 'pending',
  attempt_count integer not null default 0,
  counted_from integer not null default 0,
  next_attempt_at timestamptz not null default now(),
  claimed_at timestamptz,
  attempts jsonb not null default '[]',
  created_at timestamptz not null default now(),
  finished_at timestamptz,
  primary key (event_id, webhook_id),
  constraint deliveries_go_to_a_webhook_of_their_organization foreign key (organization_id, webhook_id)
    references private.webhooks (organization_id, id) on delete cascade,
  constraint status_is_known check (status in ('pending', 'sending', 'delivered', 'failed')),
  constraint sending_ones_are_claimed check ((status = 'sending') = (claimed_at is not null)),
  constraint finished_ones_say_when check ((status in ('delivered', 'failed')) = (finished_at is not null)),
  constraint payload_is_here_or_in_the_outbox check
    ((data is null) = (outbox_id is not null) and (outbox_xid is null) = (outbox_id is null))
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.05);
comment on table private.webhook_deliveries is
  'Deliveries by event and endpoint: pending, sending (claimed until next_attempt_at, when the lease ends), '
  'delivered or failed. event is the subscribed name. attempts is the log of the newest 20 attempts; the '
  'retry schedule counts attempts after counted_from. The newest 100 finished deliveries of an endpoint are '
  'kept.';
create index webhook_deliveries_log_idx on private.webhook_deliveries (webhook_id, created_at desc);
create index webhook_deliveries_due_idx on private.webhook_deliveries (webhook_id, status, next_attempt_at)
  where status in ('pending', 'sending');

create table private.webhook_cursor (
  is_only boolean primary key default true constraint there_is_one_cursor check (is_only),
  xid xid8 not null,
  id bigint not null,
  trimmed uuid not null default '00000000-0000-0000-0000-000000000000'
);
comment on table private.webhook_cursor is
  'Outbox position up to which deliveries exist, and the webhook id up to which logs were trimmed.';
insert into private.webhook_cursor (xid, id) values ('0', 0);

alter table private.webhook_deliveries enable row level security;
alter table private.webhook_cursor enable row level security;
revoke all on private.webhook_deliveries, private.webhook_cursor
  from public, anon, authenticated, service_role, service_key;

-- Dispatch --------------------------------------------------------------------------------------------------

create function private.fan_out_events(max_rows integer default 500)
  returns table (events integer, held_back boolean)
language plpgsql security definer set search_path = '' as $$ -- definer: private tables
declare at private.webhook_cursor;
begin
  events := 0;
  select * into at from private.webhook_cursor;
  held_back := exists (select from private.outbox o where (o.xid, o.id) > (at.xid, at.id));
  if not held_back then
    return next;
    return;
  end if;
  -- One fan-out at a time; a concurrent caller retries soon.
  select * into at from private.webhook_cursor for update skip locked;
  if at.xid is null then
    return next;
    return;
  end if;
  -- A crash would lose only this progress, which is repeated: commits need not wait for the disk.
  perform set_config('synchronous_commit', 'off', true);
  with batch as materialized (
    select o.xid, o.id, o.event_id, o.organization_id, o.type, o.created_at from private.outbox o
    where (o.xid, o.id) > (at.xid, at.id) and o.xid < pg_snapshot_xmin(pg_current_snapshot())
    order by o.xid, o.id limit max_rows
  ), made as (
    insert into private.webhook_deliveries
      (organization_id, webhook_id, event_id, event, outbox_xid, outbox_id)
    select w.organization_id, w.id, b.event_id, asked.name, b.xid, b.id
    from batch b join private.webhooks w on w.organization_id = b.organization_id and w.is_enabled
      and w.created_at <= b.created_at
    cross join lateral (
      select n.name from unnest(w.events) with ordinality n (name, position)
      where private.canonical_event(n.name) = b.type order by n.position limit 1) asked
    on conflict do nothing
  ), moved as (
    update private.webhook_cursor c set xid = l.xid, id = l.id
    from (select b.xid, b.id from batch b order by b.xid desc, b.id desc limit 1) l
  )
  select count(*) into events from batch;
  -- A committed event may be behind one of an open transaction; retry soon.
  held_back := events < max_rows and exists (
    select from private.outbox o where (o.xid, o.id) > (at.xid, at.id)
      and o.xid >= pg_snapshot_xmin(pg_current_snapshot()));
  return next;
end
$$;
comment on function private.fan_out_events(integer) is
  'Creates deliveries for the next outbox events, in order and exactly once. held_back: more events wait '
  'for an open transaction.';

create function private.logged(attempts jsonb, attempt jsonb) returns jsonb
language sql stable
return case when jsonb_array_length(attempts) < 20 then attempts else attempts - 0 end || attempt;
comment on function private.logged(jsonb, jsonb) is 'Appends an attempt to the log, which keeps 20.';

create function private.logged_attempt(number integer, started_at timestamptz, duration_ms integer,
  status_code integer, response_body text, error text)
returns jsonb language sql stable
return jsonb_build_object('number', number, 'started_at', started_at, 'duration_ms', duration_ms,
  'status_code', status_code,
  'response_body', response_body, 'error', error);
comment on function private.logged_attempt(integer, timestamptz, integer, integer, text, text) is
  'JSON of one attempt.';

-- Unhealthy endpoints get one delivery at a time, and together at most max_unproven: a slow or dead endpoint
-- must not delay healthy ones.
create function private.claim_deliveries(max_rows integer, max_unproven integer) returns table (
  webhook_id uuid, event_id uuid, attempt integer, claimed_at timestamptz, is_healthy boolean, url text,
  encrypted_secret text, previous_encrypted_secret text, organization_id uuid, event text,
    occurred_at timestamptz, data jsonb)
language plpgsql set search_path = '' as $$
#variable_conflict use_column
declare endpoint record; room integer := max_rows; unproven_room integer := max_unproven; taken integer;
begin
  for endpoint in
    with recursive waiting (id) as (
      (select d.webhook_id from private.webhook_deliveries d where d.status in ('pending', 'sending')
        order by d.webhook_id limit 1)
      union all
      select (select d.webhook_id from private.webhook_deliveries d
        where d.status in ('pending', 'sending') and d.webhook_id > w.id order by d.webhook_id limit 1)
      from waiting w where w.id is not null
    )
    select w.*, case when w.is_healthy then 32
      else 1 end - (select count(*)::integer from private.webhook_deliveries d
      where d.webhook_id = w.id and d.status = 'sending' and d.next_attempt_at > now()) as slots
    from waiting join private.webhooks w on w.id = waiting.id and w.is_enabled
    -- One index lookup for each webhook, regardless of the number of its deliveries.
    where least(
      (select d.next_attempt_at from private.webhook_deliveries d
        where d.webhook_id = w.id and d.status = 'pending' order by d.next_attempt_at limit 1),
      (select d.next_attempt_at from private.webhook_deliveries d
        where d.webhook_id = w.id and d.status = 'sending' order by d.next_attempt_at limit 1)
    ) <= now()
    order by w.is_healthy desc, random()
  loop
    exit when room <= 0;
    continue when endpoint.slots <= 0 or not endpoint.is_healthy and unproven_room <= 0;
    return query
      with due as materialized (
        select lost.row from (
          select d.ctid as row from private.webhook_deliveries d
          where d.webhook_id = endpoint.id and d.status = 'sending' and d.next_attempt_at <= now()
          order by d.next_attempt_at limit least(endpoint.slots, room) for update skip locked) lost
        union all
        select waiting.row from (
          select d.ctid as row from private.webhook_deliveries d
          where d.webhook_id = endpoint.id and d.status = 'pending' and d.next_attempt_at <= now()
          order by d.next_attempt_at limit least(endpoint.slots, room) for update skip locked) waiting
        limit least(endpoint.slots, room)
      ), claimed as (
        update private.webhook_deliveries d set
          status = 'sending', claimed_at = now(), next_attempt_at = now() + interval '30 seconds',
            attempt_count = d.attempt_count + 1,
          -- An expired claim says nothing about the receiver: the attempt is logged, and the retry schedule
          -- does not count it.
          counted_from = d.counted_from + (d.status = 'sending')::integer,
          attempts = case when d.status = 'pending' then d.attempts
            else private.logged(d.attempts, private.logged_attempt(
            d.attempt_count, d.claimed_at, null, null, null,
              'The dispatcher ended before it recorded an answer.')) end
        where d.ctid = any (array(select due.row from due))
        returning d.*
      )
      select c.webhook_id, c.event_id, c.attempt_count, c.claimed_at, endpoint.is_healthy, endpoint.url,
        endpoint.encrypted_secret,
        case when endpoint.previous_secret_until > now() then endpoint.previous_encrypted_secret end,
        c.organization_id, c.event, coalesce(o.created_at, c.created_at), coalesce(c.data, o.data)
      from claimed c left join private.outbox o on o.xid = c.outbox_xid and o.id = c.outbox_id;
    get diagnostics taken = row_count;
    room := room - taken;
    if not endpoint.is_healthy then unproven_room := unproven_room - taken; end if;
  end loop;
end
$$;
comment on function private.claim_deliveries(integer, integer) is
  'Claims due deliveries for 30 seconds, including expired claims: at most 32 in flight for a healthy '
  'endpoint and one for others. Concurrent dispatchers never claim the same delivery.';

create function private.record_deliveries(results jsonb) returns void
language plpgsql set search_path = '' as $$
begin
  -- Update webhooks whose health changed before their deliveries and in id order, like a delete locks them,
  -- which avoids deadlocks.
  perform 1 from private.webhooks w where w.id in (
    select r.webhook_id from jsonb_to_recordset(results) as r
      (webhook_id uuid, status_code integer, error text)
    where w.is_healthy is distinct from (r.error is null and r.status_code between 200 and 299))
  order by w.id for no key update;
  with results as (
    select r.*, r.error is null and r.status_code between 200
      and 299 as succeeded, r.error is null and r.status_code = 410 as gone,
      coalesce(r.is_final, false) or r.error is null and r.status_code = 410 as is_last
    from jsonb_to_recordset(results) as r
      (webhook_id uuid, event_id uuid, attempt integer, duration_ms integer, status_code integer,
      response_body text, error text, retry_after integer, is_final boolean)
  ), recorded as (
    update private.webhook_deliveries d set
      status = case
        when r.succeeded then 'delivered'
        when r.is_last or private.retry_delay(d.attempt_count - d.counted_from) is null then 'failed'
        else 'pending' end,
      finished_at = case when r.succeeded or r.is_last
        or private.retry_delay(d.attempt_count - d.counted_from) is null then now() end,
      claimed_at = null,
      next_attempt_at = now() + greatest(coalesce(private.retry_delay(d.attempt_count - d.counted_from), '0')
        * (1 + random() * 0.1), case when r.retry_after > 0
        then least(make_interval(secs => r.retry_after), interval '6 hours') end),
      attempts = private.logged(d.attempts,
        private.logged_attempt(d.attempt_count, d.claimed_at, r.duration_ms, r.status_code, r.response_body,
        r.error))
    from results r
    -- Skip deliveries that were claimed again meanwhile. Written so that the planner uses the primary key,
    -- not an index over all deliveries of the endpoint.
    where d.event_id = r.event_id and d.webhook_id is not distinct from r.webhook_id
      and d.claimed_at is not null and d.attempt_count = r.attempt
    returning d.webhook_id, r.succeeded, r.gone
  )
  update private.webhooks w set
    is_healthy = t.succeeded,
    is_enabled = w.is_enabled and not t.gone,
    disabled_reason = case when w.is_enabled and t.gone then 'gone' else w.disabled_reason end
  from (
    select r.webhook_id, bool_or(r.succeeded) as succeeded, bool_or(r.gone) as gone
    from recorded r group by r.webhook_id) t
  where w.id = t.webhook_id and (w.is_healthy <> t.succeeded or t.gone);
end
$$;
comment on function private.record_deliveries(jsonb) is
  'Records results of claimed attempts: [{webhook_id, event_id, attempt, duration_ms, status_code, '
  'response_body, error, retry_after in seconds, is_final}]. A 410 disables the endpoint.';

create function private.retry_delay(attempts integer) returns interval
language sql immutable
return (array['1 minute', '5 minutes', '30 minutes', '2 hours', '6 hours']::interval[])[attempts];
comment on function private.retry_delay(integer) is
  'Delay before the next attempt after the given number of attempts; null after the last.';

create function private.record_and_claim_deliveries(results jsonb, max_rows integer, max_unproven integer)
  returns table (
  webhook_id uuid, event_id uuid, attempt integer, claimed_at timestamptz, is_healthy boolean, url text,
  encrypted_secret text, previous_encrypted_secret text, organization_id uuid, event text,
    occurred_at timestamptz, data jsonb)
language plpgsql security definer set search_path = '' as $$ -- definer: private tables
begin
  perform private.record_deliveries(results);
  return query select * from private.claim_deliveries(max_rows, max_unproven);
end
$$;
comment on function private.record_and_claim_deliveries(jsonb, integer, integer) is
  'One round of a dispatcher: records results and claims due deliveries.';

grant execute on function private.fan_out_events(integer),
  private.record_and_claim_deliveries(jsonb, integer, integer) to feedback_webhooks;

-- The dispatcher is woken -----------------------------------------------------------------------------------

create function private.call_function(path text) returns boolean
language plpgsql set search_path = '' as $$
declare dispatcher text; password text;
begin
  if to_regclass('vault.decrypted_secrets') is null or to_regnamespace('net') is null then return false; end
    if;
  dispatcher := (select s.decrypted_secret from vault.decrypted_secrets s
    where s.name = 'webhook_dispatch_url');
  password := (select s.decrypted_secret from vault.decrypted_secrets s
    where s.name = 'webhook_dispatch_secret');
  if dispatcher is null or password is null then return false; end if;
  perform net.http_post(url => regexp_replace(dispatcher, '/webhook-dispatch/?$', path), body => '{}'::jsonb,
    headers => jsonb_build_object('Content-Type', 'application/json', 'Authorization', 'Bearer ' || password),
    timeout_milliseconds => 5000);
  return true;
end
$$;
comment on function private.call_function(text) is
  'Calls an edge function through pg_net, which sends after this transaction commits. Vault holds the URL '
  'of functions/webhook-dispatch (the other functions are next to it) and the password as '
  'webhook_dispatch_url and webhook_dispatch_secret; returns false without them.';

create function private.call_dispatcher() returns boolean
language plpgsql set search_path = '' as $$
begin
  return private.call_function('/webhook-dispatch');
end
$$;
comment on function private.call_dispatcher() is
  'Calls functions/webhook-dispatch; returns false if Vault has no URL.';

create function private.wake_dispatcher(organization_id uuid) returns void
language plpgsql set search_path = '' as $$
begin
  if not exists (select from private.webhooks w where w.organization_id = wake_dispatcher.organization_id
    and w.is_enabled) then return; end if;
  if coalesce(current_setting('feedback.dispatcher_called', true), '') = pg_current_xact_id()::text
    then return; end if;
  perform set_config('feedback.dispatcher_called', pg_current_xact_id()::text, true);
  begin
    if not private.call_dispatcher() then perform pg_notify('webhooks', ''); end if;
  -- An error here must not roll back the caller's change; the schedule calls the dispatcher anyway.
  exception when others then
    raise warning 'the dispatcher was not called: %', sqlerrm;
  end;
end
$$;
comment on function private.wake_dispatcher(uuid) is
  'If the organization has webhooks, starts a dispatcher when this transaction commits: through pg_net if '
  'Vault has its URL, otherwise through NOTIFY.';

-- The log ---------------------------------------------------------------------------------------------------

create function private.delivery_shape(delivery private.webhook_deliveries) returns jsonb
language sql stable set search_path = ''
return jsonb_build_object('id', 'evt_' || replace((delivery).event_id::text, '-', ''), 'event',
  (delivery).event,
  'status', case (delivery).status when 'sending' then 'pending'
    else (delivery).status end, 'attempt_count', (delivery).attempt_count,
  'status_code', (delivery).attempts -> -1 -> 'status_code', 'response_body',
    (delivery).attempts -> -1 -> 'response_body',
  'error', (delivery).attempts -> -1 -> 'error',
  'next_attempt_at', case when (delivery).status = 'pending' then (delivery).next_attempt_at end,
  'created_at', (delivery).created_at, 'finished_at', (delivery).finished_at);
comment on function private.delivery_shape(private.webhook_deliveries) is
  'JSON of a delivery in the log, with its newest attempt.';

create function private.admin_list_deliveries(organization_id uuid, webhook_id uuid, page integer,
  page_size integer) returns table (total integer, data json)
language plpgsql stable security definer set search_path = '' as $$ -- definer: private tables
begin
  perform private.require_webhook_admin(organization_id, 'webhooks:read');
  return query
    with log as materialized (
      select d.* from private.webhook_deliveries d
      where d.webhook_id = admin_list_deliveries.webhook_id
        and d.organization_id = admin_list_deliveries.organization_id
      order by d.created_at desc, d.event_id limit 100
    )
    select (select count(*)::integer from log),
      coalesce((select json_agg(private.delivery_shape(shown::private.webhook_deliveries)) from (
      select l.* from log l order by l.created_at desc, l.event_id
        limit page_size offset (page - 1) * page_size) shown), '[]')
    from private.webhooks w where w.id = admin_list_deliveries.webhook_id
      and w.organization_id = admin_list_deliveries.organization_id;
end
$$;
comment on function private.admin_list_deliveries(uuid, uuid, integer, integer) is
  'A page of the newest 100 deliveries of an endpoint; no row if the organization has no such endpoint.';

create function private.admin_show_delivery(organization_id uuid, webhook_id uuid, event_id uuid)
  returns jsonb
language plpgsql stable security definer set search_path = '' as $$ -- definer: accesses private tables
begin
  perform private.require_webhook_admin(organization_id, 'webhooks:read');
  return (select private.delivery_shape(d) || jsonb_build_object('attempts', d.attempts, 'data',
    coalesce(d.data, o.data))
    from private.webhook_deliveries d left join private.outbox o on o.xid = d.outbox_xid
      and o.id = d.outbox_id
    where d.webhook_id = admin_show_delivery.webhook_id and d.event_id = admin_show_delivery.event_id
      and d.organization_id = admin_show_delivery.organization_id);
end
$$;
comment on function private.admin_show_delivery(uuid, uuid, uuid) is
  'A delivery with its attempts and payload; null if the endpoint has none with this id.';

create function private.admin_test_webhook(organization_id uuid, webhook_id uuid) returns jsonb
language plpgsql security definer set search_path = '' as $$ -- definer: accesses private tables
#variable_conflict use_column
declare webhook private.webhooks; made private.webhook_deliveries;
begin
  perform private.require_webhook_admin(organization_id, 'webhooks:write');
  webhook := private.enabled_webhook(organization_id, webhook_id);
  if webhook.id is null then return null; end if;
  insert into private.webhook_deliveries (organization_id, webhook_id, event_id, event, data)
  values (organization_id, webhook_id, gen_random_uuid(), 'webhook.test',
    jsonb_build_object('webhook_id', 'wh_' || replace(webhook_id::text, '-', '')))
  returning * into made;
  perform private.wake_dispatcher(organization_id);
  return private.delivery_shape(made);
end
$$;
comment on function private.admin_test_webhook(uuid, uuid) is
  'Sends the event webhook.test to one endpoint. Returns null if the organization has no such endpoint.';

create function private.admin_redeliver(organization_id uuid, webhook_id uuid, event_id uuid) returns jsonb
language plpgsql security definer set search_path = '' as $$ -- definer: accesses private tables
#variable_conflict use_column
declare delivery private.webhook_deliveries;
begin
  perform private.require_webhook_admin(organization_id, 'webhooks:write');
  select d.* into delivery from private.webhook_deliveries d
  where d.webhook_id = admin_redeliver.webhook_id and d.event_id = admin_redeliver.event_id
    and d.organization_id = admin_redeliver.organization_id for no key update;
  if delivery.event_id is null then return null; end if;
  perform private.enabled_webhook(organization_id, webhook_id);
  if delivery.data is null and not exists (select from private.outbox o
    where o.xid = delivery.outbox_xid and o.id = delivery.outbox_id) then
    perform private.raise_error('GONE', 'This event was deleted after its retention period.');
  end if;
  -- Leave a delivery that is in flight.
  if delivery.status <> 'sending' then
    update private.webhook_deliveries d
      set status = 'pending', counted_from = d.attempt_count, next_attempt_at = now(), finished_at = null
    where d.webhook_id = delivery.webhook_id and d.event_id = delivery.event_id returning d.* into delivery;
    perform private.wake_dispatcher(organization_id);
  end if;
  return private.delivery_shape(delivery);
end
$$;
comment on function private.admin_redeliver(uuid, uuid, uuid) is
  'Sends an event to its endpoint again, with the same id and a new retry schedule. Returns null if the '
  'endpoint has no such delivery.';

create function private.enabled_webhook(organization_id uuid, webhook_id uuid) returns private.webhooks
language plpgsql stable set search_path = '' as $$
declare webhook private.webhooks;
begin
  select w.* into webhook from private.webhooks w where w.organization_id = enabled_webhook.organization_id
    and w.id = webhook_id;
  if not webhook.is_enabled then
    perform private.raise_error('CONFLICT', 'This webhook is disabled: enable it first.');
  end if;
  return webhook;
end
$$;
comment on function private.enabled_webhook(uuid, uuid) is
  'Returns the webhook of the organization; raises CONFLICT if it is disabled.';

grant execute on function private.admin_list_deliveries(uuid, uuid, integer, integer),
  private.admin_show_delivery(uuid, uuid, uuid),
  private.admin_test_webhook(uuid, uuid), private.admin_redeliver(uuid, uuid, uuid) to authenticated,
    service_key;

-- Upkeep ----------------------------------------------------------------------------------------------------

create function private.trim_deliveries(max_rows integer default 20000) returns integer
language plpgsql set search_path = '' set enable_seqscan = off as $$
declare at uuid := (select c.trimmed from private.webhook_cursor c); seen uuid; trimmed integer := 0; here
  integer;
begin
  -- Pending deliveries of disabled endpoints fail.
  update private.webhook_deliveries d set status = 'failed', finished_at = now(),
    attempts = private.logged(d.attempts,
      private.logged_attempt(d.attempt_count, null, null, null, null, 'The webhook was switched off.'))
  where d.ctid = any (array(
    select o.ctid from private.webhooks w join private.webhook_deliveries o on o.webhook_id = w.id
      and o.status = 'pending'
    where not w.is_enabled and w.updated_at < now() - interval '1 minute'
      limit max_rows for update of o skip locked));
  -- A few webhooks at a time, starting over after the last.
  for seen in select w.id from private.webhooks w where w.id > at order by w.id limit 200 loop
    delete from private.webhook_deliveries d where d.ctid = any (array(
      select o.ctid from private.webhook_deliveries o
        where o.webhook_id = seen and o.status in ('delivered', 'failed')
      order by o.created_at desc, o.event_id offset 100 limit max_rows - trimmed))
      -- Skip deliveries that were queued again meanwhile.
      and d.status in ('delivered', 'failed');
    get diagnostics here = row_count;
    trimmed := trimmed + here;
    exit when trimmed >= max_rows;
    at := seen;
  end loop;
  if trimmed < max_rows and not exists (select from private.webhooks w where w.id > at) then
    at := '00000000-0000-0000-0000-000000000000';
  end if;
  update private.webhook_cursor c set trimmed = at where c.trimmed <> at;
  return trimmed;
end
$$;
comment on function private.trim_deliveries(integer) is
  'Keeps the newest 100 finished deliveries of each endpoint and fails pending deliveries of disabled ones. '
  'For private.run_schedule.';

-- The change feed: outbox events by cursor. A reader misses no committed event and sees no uncommitted one.

create function private.feed_scopes(type text) returns text[]
language sql immutable
return case split_part(type, '.', 1)
  when 'submission' then array['submissions:read', 'submissions:moderate']
  when 'comment' then array['submissions:read', 'submissions:moderate']
  when 'survey' then array['surveys:read', 'responses:read']
  when 'member' then array['members:write']
  when 'org' then array['organization:write']
  else '{}'
end;
comment on function private.feed_scopes(text) is
  'Scopes that allow a key to read events of a type: those that allow reading the data in the event.';

create function private.can_read_event(type text) returns boolean
language sql stable
return not private.is_key() or private.feed_scopes(type) &&
  string_to_array(coalesce(current_setting('feedback.scopes', true), ''), ' ');
comment on function private.can_read_event(text) is
  'Whether the caller, an Admin or a key, may read events of a type.';

-- definer: the outbox is not granted.
create function private.admin_events(types text[], after_xid xid8, after_id bigint, after_at timestamptz,
  max_rows integer)
returns table (more boolean, next_xid xid8, next_id bigint, next_at timestamptz, data json)
language plpgsql stable security definer set search_path = '' as $$
declare
  own_id uuid := private.current_organization_id();
  settled xid8 := pg_snapshot_xmin(pg_current_snapshot());
  refused text;
begin
  if not private.is_key() then perform private.require_admin(own_id, ''); end if;
  refused := (select type from unnest(types) as type where not private.can_read_event(type) limit 1);
  if refused is not null then
    perform private.raise_error('FORBIDDEN', format('This key lacks the scope %s, which reads %s.',
      coalesce(nullif(array_to_string(private.feed_scopes(refused), ' or '), ''), 'that'), refused), 'types');
  end if;
  -- An hour before events are deleted, so that no event after a valid cursor is missing.
  if after_at < now() - private.retention('events') + interval '1 hour' then
    perform private.raise_error('GONE', format('Events are kept for %s, and this cursor is older: '
      'read everything anew, then follow without after.', private.retention('events')), 'after');
  end if;
  return query
    -- A page scans a bounded part of the feed, however rare the requested types are.
    with looked_at as materialized (
      select o.* from private.outbox o
      where o.organization_id = own_id and o.xid < settled
        and (o.xid, o.id) > (coalesce(after_xid, '0'), coalesce(after_id, 0))
        -- A first page without events still returns a cursor.
        and (after_xid is not null or o.created_at >= now() - private.retention('events') + interval '1 day')
      order by o.xid, o.id limit 10000
    ), wanted as materialized (
      select l.* from looked_at l
      where case when types is null then private.can_read_event(l.type) else l.type = any (types) end
      order by l.xid, l.id limit max_rows
    ), ended as (
      select w.xid, w.id, w.created_at from wanted w where (select count(*) from wanted) = max_rows
      union all
      select l.xid, l.id, l.created_at from looked_at l
      where (select count(*) from wanted) < max_rows and (select count(*) from looked_at) = 10000
    ), place as (
      select e.xid, e.id, e.created_at, true as more from ended e
      union all
      -- At the end of the feed: everything that commits later comes after this cursor.
      select settled, 0::bigint, now(), false where not exists (select from ended)
      order by 1 desc, 2 desc limit 1
    )
    select p.more, p.xid, p.id, p.created_at,
      coalesce((select json_agg(json_build_object('id', 'evt_' || replace(w.event_id::text, '-', ''), 'event',
        w.type, 'org_id', w.organization_id,
        'timestamp', w.created_at, 'data', w.data) order by w.xid, w.id) from wanted w), '[]')
    from place p;
end
$$;
comment on function private.admin_events(text[], xid8, bigint, timestamptz, integer) is
  'The next events of the current organization after a cursor in commit order, and the next cursor. For '
  'Admin, and for keys within their scopes. Raises GONE if events after the cursor may have been deleted.';
grant execute on function private.admin_events(text[], xid8, bigint, timestamptz, integer) to authenticated,
  service_key;

-- Realtime: row changes through the publication, and the same changes as broadcasts.

-- Row changes -----------------------------------------------------------------------------------------------

-- DELETE events skip row-level security and carry the columns of the replica identity for filters and the
-- primary key as payload. Replica identities therefore contain opaque ids only, never a person or the full
-- row, and start with the columns clients filter by. The primary key of votes has this form already.

alter table public.comments replica identity using index comments_belong_to_their_submission;
alter table public.submissions replica identity using index submissions_belong_to_their_organization;

-- Hosted Supabase creates the publication empty; a project may have added tables in the dashboard.
do $$
declare published text;
begin
  foreach published in array array['submissions', 'votes', 'comments', 'notifications'] loop
    if not exists (select from pg_publication_tables
      where pubname = 'supabase_realtime' and schemaname = 'public' and tablename = published) then
      execute format('alter publication supabase_realtime add table public.%I', published);
    end if;
  end loop;
end
$$;

-- Broadcasts ------------------------------------------------------------------------------------------------

-- Broadcasts for boards with many viewers: row changes cost one policy check for each viewer and change, a
-- topic one for each join. Public changes go to submission:<id>, team-only changes to submission:<id>:team.
-- The topic is chosen for each message, so a viewer who joined a public board receives nothing after it
-- becomes private. organization:<id> is the board, with the columns a list shows.

create table private.feature_flags (
  name text primary key,
  is_on boolean not null
);
comment on table private.feature_flags is
  'Flags an operator sets with SQL; read by each statement. broadcast_changes: also broadcast changes to '
  'the topics of their submissions.';
alter table private.feature_flags enable row level security;
revoke all on private.feature_flags from public, anon, authenticated, service_role, service_key;
insert into private.feature_flags values ('broadcast_changes', true);

create function private.broadcasts_changes() returns boolean
language plpgsql stable set search_path = '' as $$
begin
  return not private.is_importing()
    and coalesce((select is_on from private.feature_flags where name = 'broadcast_changes'), false);
end
$$;
comment on function private.broadcasts_changes() is
  'Whether changes are broadcast: the flag is set and no import is running.';

create function private.submission_topic(submission_id uuid, is_public boolean) returns text
language sql immutable
return 'submission:' || submission_id::text || case when is_public then '' else ':team' end;
comment on function private.submission_topic(uuid, boolean) is
  'Topic of a submission''s row: public or team.';

create function private.board_topic(organization_id uuid, is_public boolean) returns text
language sql immutable
return 'organization:' || organization_id::text || case when is_public then '' else ':team' end;
comment on function private.board_topic(uuid, boolean) is
  'Topic of a board for a submission: public or team.';

create function private.counts_of(submission public.submissions) returns jsonb
language sql immutable set search_path = ''
return jsonb_build_object('id', (submission).id, 'vote_count', (submission).vote_count, 'comment_count',
  (submission).comment_count);
comment on function private.counts_of(public.submissions) is
  'Current counts, sent with each vote and comment, so that they need no message of their own.';

create function private.broadcast_reload(changed_table text, topics text[]) returns void
language plpgsql set search_path = '' as $$
begin
  perform realtime.send(
    jsonb_build_object('schema', 'public', 'table', changed_table, 'operation', 'RELOAD'), 'RELOAD',
      told.topic, true)
  from (select distinct topic from unnest(topics) as topic where topic is not null order by topic limit 100)
    told;
end
$$;
comment on function private.broadcast_reload(text, text[]) is
  'Sends RELOAD to up to 100 topics, boards first: too many rows changed at once to send each.';

create function private.broadcast(changed_table text, changes jsonb) returns void
language plpgsql set search_path = '' as $$
begin
  if changes is null then return; end if;
  if jsonb_array_length(changes) > 100 then
    perform private.broadcast_reload(changed_table, array(
      select topic from jsonb_array_elements(changes) c
        cross join lateral (values (c ->> 'old_topic'), (c ->> 'topic')) told (topic)));
    return;
  end if;
  perform realtime.send(
    jsonb_build_object('schema', 'public', 'table', changed_table, 'operation', operation,
      'record', case when operation <> 'DELETE' then c -> 'record' end, 'old_record', case
        when operation <> 'INSERT' then c -> 'key' end)
      -- Do not send counts of a submission that became private.
      || case when starts_with(topic, c ->> 'home') then jsonb_build_object('submission', c -> 'submission')
        else '{}' end,
    operation, topic, true)
  from jsonb_array_elements(changes) with ordinality as changed (c, position) cross join lateral (
    select 'UPDATE' as operation, c ->> 'topic' as topic where c ->> 'topic' = c ->> 'old_topic'
    union all
    select 'DELETE', c ->> 'old_topic' where c ->> 'topic' is distinct from c ->> 'old_topic'
    union all
    select 'INSERT', c ->> 'topic' where c ->> 'topic' is distinct from c ->> 'old_topic') told
  where topic is not null
  order by position;
-- A failed broadcast must not roll back the change.
exception when others then
  raise warning 'changes of % were not broadcast: %', changed_table, sqlerrm;
end
$$;
comment on function private.broadcast(text, jsonb) is
  'Broadcasts changes [{old_topic, topic, key, record, submission, home}] in the payload format of '
  'realtime.broadcast_changes. A row that moves to another topic is a DELETE there and an INSERT here. More '
  'than 100 rows in one statement send one RELOAD for each topic.';

-- definer: clients may not write to realtime.messages. Payloads name no voter.
create function private.broadcast_votes() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if private.events_suppressed() or not private.broadcasts_changes() then return null; end if;
  if (select count(*) from changed) > 100 then
    perform private.broadcast_reload('votes', array(
      select private.submission_topic(s.id, s.is_public) from public.submissions s
      where s.id in (select submission_id from changed)));
    return null;
  end if;
  -- Not through private.broadcast: votes are the most frequent change and never move to another topic.
  perform realtime.send(jsonb_build_object('schema', 'public', 'table', 'votes', 'operation', tg_op,
      'record', case when tg_op = 'INSERT'
        then jsonb_build_object('id', v.id, 'organization_id', v.organization_id,
        'submission_id', v.submission_id, 'created_at', v.created_at) end,
      'old_record', case when tg_op = 'DELETE'
        then jsonb_build_object('submission_id', v.submission_id, 'id', v.id) end,
      'submission', private.counts_of(s)), tg_op, private.submission_topic(s.id, s.is_public), true)
  from changed v join public.submissions s on s.id = v.submission_id;
  return null;
-- A failed broadcast must not roll back the change.
exception when others then
  raise warning 'votes were not broadcast: %', sqlerrm;
  return null;
end
$$;
comment on function private.broadcast_votes() is
  'Trigger: broadcasts votes on the topic of their submission. Votes that are part of a creation or merge '
  'are covered by its counts.';
create trigger tell_added after insert on public.votes
  referencing new table as changed for each statement execute function private.broadcast_votes();
create trigger tell_removed after delete on public.votes
  referencing old table as changed for each statement execute function private.broadcast_votes();

create function private.comment_topic(comment public.comments) returns text
language sql immutable
return private.submission_topic((comment).submission_id, (comment).is_public);
comment on function private.comment_topic(public.comments) is 'Topic of a comment: public or team.';

-- definer: clients may not write to realtime.messages.
create function private.broadcast_comments() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if not private.broadcasts_changes() then return null; end if;
  case tg_op
    when 'INSERT' then
      perform private.broadcast('comments', jsonb_agg(jsonb_build_object(
        'topic', private.comment_topic(n), 'home', private.submission_topic(s.id, s.is_public), 'submission',
          private.counts_of(s), 'record', to_jsonb(n))))
      from new_rows n join public.submissions s on s.id = n.submission_id;
    when 'UPDATE' then
      perform private.broadcast('comments', jsonb_agg(jsonb_build_object(
        'old_topic', private.comment_topic(o), 'topic', private.comment_topic(n), 'home',
          private.submission_topic(s.id, s.is_public), 'submission', private.counts_of(s),
        'key', jsonb_build_object('submission_id', o.submission_id, 'id', o.id), 'record', to_jsonb(n))))
      from old_rows o join new_rows n using (id) join public.submissions s on s.id = n.submission_id
        where o is distinct from n;
    else
      perform private.broadcast('comments', jsonb_agg(jsonb_build_object(
        'old_topic', private.comment_topic(o), 'home', private.submission_topic(s.id, s.is_public),
          'submission', private.counts_of(s),
        'key', jsonb_build_object('submission_id', o.submission_id, 'id', o.id))))
      from old_rows o join public.submissions s on s.id = o.submission_id;
  end case;
  return null;
end
$$;
comment on function private.broadcast_comments() is
  'Trigger: broadcasts comments. Approval is an INSERT on the public topic, rejection a DELETE.';
create trigger tell_added after insert on public.comments
  referencing new table as new_rows for each statement execute function private.broadcast_comments();
create trigger tell_changed after update on public.comments
  referencing old table as old_rows new table as new_rows for each statement
    execute function private.broadcast_comments();
create trigger tell_removed after delete on public.comments
  referencing old table as old_rows for each statement execute function private.broadcast_comments();

-- definer: clients may not write to realtime.messages.
create function private.broadcast_submission_shape(submission public.submissions) returns jsonb
language sql immutable set search_path = ''
return jsonb_build_object('id', (submission).id, 'organization_id', (submission).organization_id,
  'title', (submission).title, 'type', (submission).type, 'status', (submission).status,
  'vote_count', (submission).vote_count, 'comment_count', (submission).comment_count,
  'category_id', (submission).category_id, 'merged_into_id', (submission).merged_into_id,
  'created_at', (submission).created_at, 'updated_at', (submission).updated_at);
comment on function private.broadcast_submission_shape(public.submissions) is
  'A submission in broadcasts, without its description.';

-- definer: clients may not write to realtime.messages.
create function private.broadcast_submissions() returns trigger
language plpgsql security definer set search_path = '' as $$
declare own jsonb; board jsonb;
begin
  -- Checked first: most updates come from votes.
  if tg_op = 'UPDATE' and not private.events_suppressed() then
    if not exists (
      select from old_rows o join new_rows n using (id)
      where (o.is_public, o.title, o.type, o.status, o.category_id, o.merged_into_id, o.updated_at,
        o.comment_count) is distinct
        from (n.is_public, n.title, n.type, n.status, n.category_id, n.merged_into_id, n.updated_at,
          n.comment_count)) then
      return null;
    end if;
  end if;
  if not private.broadcasts_changes() then return null; end if;
  case tg_op
    when 'INSERT' then
      select jsonb_agg(jsonb_build_object('topic', private.board_topic(n.organization_id, n.is_public),
        'record', private.broadcast_submission_shape(n))) into board
      from new_rows n;
    when 'UPDATE' then
      select jsonb_agg(c.change || jsonb_build_object(
          'old_topic', private.submission_topic(c.id, c.was_public), 'topic',
            private.submission_topic(c.id, c.is_public)))
          filter (where not c.only_comments),
        jsonb_agg(c.change || jsonb_build_object(
          'old_topic', private.board_topic(c.organization_id, c.was_public),
          'topic', private.board_topic(c.organization_id, c.is_public)))
      into own, board
      from (
        select n.id, n.organization_id, o.is_public as was_public, n.is_public,
          not (changed or private.events_suppressed() and (o.vote_count, o.comment_count)
            is distinct from (n.vote_count, n.comment_count)) as only_comments,
          jsonb_build_object('key', jsonb_build_object('organization_id', o.organization_id, 'id', o.id),
            'record', private.broadcast_submission_shape(n)) as change
        from old_rows o join new_rows n using (id)
        cross join lateral (select
          (o.is_public, o.title, o.type, o.status, o.category_id, o.merged_into_id, o.updated_at)
            is distinct from (n.is_public, n.title, n.type, n.status, n.category_id, n.merged_into_id,
              n.updated_at)) t (changed)
        -- A merge moves votes without broadcasting each. Other votes broadcast themselves; the board gets
        -- their counts later.
        where changed or o.comment_count <> n.comment_count or private.events_suppressed()
          and o.vote_count <> n.vote_count) c;
    else
      select jsonb_agg(d.change || jsonb_build_object('old_topic',
        private.submission_topic(d.id, d.is_public))),
        jsonb_agg(d.change || jsonb_build_object('old_topic',
          private.board_topic(d.organization_id, d.is_public)))
      into own, board
      from (
        select o.*, jsonb_build_object('key',
          jsonb_build_object('organization_id', o.organization_id, 'id', o.id)) as change
        from old_rows o) d;
  end case;
  perform private.broadcast('submissions', own);
  perform private.broadcast('submissions', board);
  return null;
end
$$;
comment on function private.broadcast_submissions() is
  'Trigger: broadcasts a submission on its own topic and on its board''s. Counts changed by votes and '
  'comments go with those messages; the board gets comment counts at once and vote counts through '
  'private.broadcast_counts.';
create trigger tell_added after insert on public.submissions
  referencing new table as new_rows for each statement execute function private.broadcast_submissions();
create trigger tell_changed after update on public.submissions
  referencing old table as old_rows new table as new_rows for each statement
    execute function private.broadcast_submissions();
create trigger tell_removed after delete on public.submissions
  referencing old table as old_rows for each statement execute function private.broadcast_submissions();

create table private.broadcast_cursor (
  is_only boolean primary key default true constraint there_is_one_cursor check (is_only),
  xid xid8 not null,
  id bigint not null
);
comment on table private.broadcast_cursor is 'Outbox position up to which vote counts were sent to boards.';
insert into private.broadcast_cursor (xid, id) values ('0', 0);
alter table private.broadcast_cursor enable row level security;
revoke all on private.broadcast_cursor from public, anon, authenticated, service_role, service_key;

create function private.broadcast_counts() returns integer
language plpgsql set search_path = '' as $$
declare at private.broadcast_cursor; last record; told integer := 0;
begin
  select * into at from private.broadcast_cursor for update skip locked;
  if at.xid is null then return 0; end if;
  select e.xid, e.id into last from (
    select o.xid, o.id from private.outbox o
    where (o.xid, o.id) > (at.xid, at.id) and o.xid < pg_snapshot_xmin(pg_current_snapshot())
    order by o.xid, o.id limit 10000) e
  order by e.xid desc, e.id desc limit 1;
  if last.xid is null then return 0; end if;
  if private.broadcasts_changes() then
    perform realtime.send(jsonb_build_object('schema', 'public', 'table', 'submissions', 'operation',
      'COUNTS',
      'records', page.records), 'COUNTS', page.topic, true)
    from (
      select n.topic, jsonb_agg(n.counts) as records
      from (
        select private.board_topic(s.organization_id, s.is_public) as topic, private.counts_of(s) as counts,
          row_number() over (partition by s.organization_id, s.is_public order by s.id) / 100 as page
        from public.submissions s
        where s.id in (
          select o.subject_id from private.outbox o
          where (o.xid, o.id) > (at.xid, at.id) and (o.xid, o.id) <= (last.xid, last.id)
            and o.type in ('submission.vote_added', 'submission.vote_removed'))) n
      group by n.topic, n.page) page;
    get diagnostics told = row_count;
  end if;
  update private.broadcast_cursor c set xid = last.xid, id = last.id where c.is_only;
  return told;
end
$$;
comment on function private.broadcast_counts() is
  'For the schedule: sends each board the vote counts that changed since the last run, up to 100 in one '
  'message, so that a vote costs the board''s viewers no message.';

-- Responses go to survey:<id>, for Admin, without answers. They are not in the publication, because deleting
-- a survey would send all its response ids to every subscriber. definer: clients may not write to
-- realtime.messages.
create function private.broadcast_responses() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if private.events_suppressed() or not private.broadcasts_changes() then return null; end if;
  perform private.broadcast('survey_responses',
    jsonb_agg(jsonb_build_object('topic', 'survey:' || r.survey_id, 'record', jsonb_build_object(
    'id', r.id, 'organization_id', r.organization_id, 'survey_id', r.survey_id, 'submitted_at',
      r.submitted_at, 'locale', r.locale,
    'sentiment', r.sentiment, 'sentiment_score', r.sentiment_score))))
  from changed r;
  return null;
end
$$;
comment on function private.broadcast_responses() is
  'Trigger: broadcasts new responses on the topic of their survey.';
create trigger tell_added after insert on public.survey_responses
  referencing new table as changed for each statement execute function private.broadcast_responses();

-- Who may listen --------------------------------------------------------------------------------------------

create function private.may_listen(topic text) returns boolean
language plpgsql stable set search_path = '' as $$
declare part text[] := regexp_match(topic,
  '^(submission|organization|survey):([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(:team)?$');
begin
  if part is null then return false; end if;
  if part[1] = 'survey' then
    return part[3] is null and exists (select from public.surveys s where s.id = part[2]::uuid
      and s.organization_id = any (private.admin_organization_ids('responses:read')));
  elsif part[1] = 'organization' then
    return exists (select from public.organizations o where o.id = part[2]::uuid
      and (part[3] is null or o.id = any (private.team_organization_ids())));
  end if;
  return exists (select from public.submissions s where s.id = part[2]::uuid
    and (part[3] is null or s.organization_id = any (private.team_organization_ids())));
end
$$;
comment on function private.may_listen(text) is
  'Whether the caller may join a private topic: submission:<id> and organization:<id> if they see the row, '
  'with :team if they are on its team, survey:<id> if they are Admin.';
grant execute on function private.may_listen(text) to anon, authenticated;

-- No policy allows sending: messages on these topics come from the triggers only.
create policy "who may listen hears" on realtime.messages
  for select to anon, authenticated
    using (extension = 'broadcast' and (select private.may_listen(realtime.topic())));

-- Scheduled jobs, and a consistency check of all counters.

create function private.run_schedule() returns jsonb
language plpgsql set search_path = '' as $$
declare fanouts integer; activity integer; surveys integer; counters integer; keys integer; events integer;
  deliveries integer; streams integer; labels integer; boards integer; imports integer;
begin
  -- Deletes find their rows once, by ctid: joined by key, a plan made while a table was empty would scan for
  -- each row. Rows that may be renewed concurrently are locked first.
  fanouts := private.run_fanouts();
  activity := private.sum_activity();
  surveys := private.close_surveys();
  boards := private.broadcast_counts();
  delete from private.rate_counters c where ctid = any (array(
    -- Windows without a rule of their own (calls_a_day of agents) last at most a day.
    select o.ctid from private.rate_counters o
    where o.started_at < now() - greatest(private.retention('rate_counters'), coalesce(
      (select make_interval(secs => r.window_seconds) from private.rate_limit_rules r where r.name = o.rule),
      interval '1 day')) limit 5000 for update skip locked));
  get diagnostics counters = row_count;
  delete from private.idempotency_keys k where ctid = any (array(
    select o.ctid from private.idempotency_keys o
      where o.created_at < now() - private.retention('idempotency_keys') limit 5000));
  get diagnostics keys = row_count;
  delete from private.outbox e where ctid = any (array(
    select o.ctid from private.outbox o where o.created_at < now() - private.retention('events') limit 5000));
  get diagnostics events = row_count;
  delete from private.invites i where ctid = any (array(
    select o.ctid from private.invites o where o.expires_at < now() - private.retention('expired_invites')
      limit 5000));
  deliveries := private.trim_deliveries();
  imports := private.end_idle_imports();
  perform private.call_importer();
  delete from private.agent_streams s where ctid = any (array(
    select o.ctid from private.agent_streams o where o.expires_at < now() limit 5000 for update skip locked));
  get diagnostics streams = row_count;
  delete from private.agent_subscriptions s where ctid = any (array(
    select o.ctid from private.agent_subscriptions o
    where o.expires_at < now() - private.retention('expired_subscriptions')
      limit 5000 for update skip locked));
  delete from private.agent_audit t where ctid = any (array(
    select o.ctid from private.agent_audit o where o.created_at < now() - private.retention('agent_calls')
      limit 5000));
  -- Last, because it locks submissions until the transaction ends.
  labels := private.run_retirements();
  return jsonb_build_object('fanouts', fanouts, 'activity', activity, 'surveys', surveys, 'rate_counters',
    counters, 'idempotency_keys', keys, 'events', events, 'deliveries', deliveries, 'agent_streams', streams,
    'labels', labels, 'boards', boards, 'imports', imports);
end
$$;
comment on function private.run_schedule() is
  'Runs every few seconds, by pg_cron on hosted Supabase and by a timer in the embedded stack. Sends '
  'pending notifications and board counts, resumes imports, closes expired surveys and deletes expired '
  'rows, in bounded batches. Idempotent; returns what it did.';

-- Hosted Supabase provides these extensions, but a new project has not created them. If one cannot be
-- created, the schema works without it.
do $$
declare
  extension record;
  pause text;
begin
  for extension in
    select e.name, w.options
    from (values ('pg_net', 'with schema extensions'), ('supabase_vault', ''), ('pg_cron', '')) as w
      (name, options)
    join pg_available_extensions e using (name) where e.installed_version is null
  loop
    begin
      execute format('create extension %I %s', extension.name, extension.options);
    exception when others then
      raise warning '% was not created: % (docs/deploy.md, step 7)', extension.name, sqlerrm;
    end;
  end loop;
  -- Before pg_cron 1.5 a schedule cannot use seconds.
  pause := (select case when string_to_array(substring(extversion from '^\d+\.\d+'), '.')::integer[] <
    array[1, 5]
      then '* * * * *' else '10 seconds' end
    from pg_extension where extname = 'pg_cron');
  if pause is not null then
    perform cron.schedule('feedback-schedule', pause, 'select private.run_schedule()');
    perform cron.schedule('feedback-webhooks', pause, 'select private.call_dispatcher()');
    -- pg_cron keeps a row for each run forever.
    perform cron.schedule('feedback-cron-log', '17 * * * *', 'select private.trim_cron_log()');
  end if;
end
$$;

create function private.trim_cron_log() returns bigint
language plpgsql set search_path = '' as $$
declare deleted bigint;
begin
  delete from cron.job_run_details d
    where coalesce(d.end_time, d.start_time) < now() - private.retention('cron_log')
    and d.jobid in (select j.jobid from cron.job j where j.jobname like 'feedback-%');
  get diagnostics deleted = row_count;
  return deleted;
end
$$;
comment on function private.trim_cron_log() is
  'Deletes pg_cron logs of our jobs older than private.retention(cron_log); returns how many rows.';

create function private.count_discrepancies()
  returns table (subject text, id uuid, stored bigint, truth bigint)
language sql stable set search_path = ''
begin atomic
  select 'submissions.vote_count', s.id, s.vote_count, v.n
  from public.submissions s cross join lateral (select count(*) as n from public.votes v
    where v.submission_id = s.id) v
  where s.vote_count <> v.n
  union all
  select 'submissions.comment_count', s.id, s.comment_count, c.n
  from public.submissions s cross join lateral (
    select count(*) as n from public.comments c
      where c.submission_id = s.id and c.moderation_state = 'approved') c
  where s.comment_count <> c.n
  union all
  select 'comments.reply_count', p.id, p.reply_count, c.n
  from public.comments p cross join lateral (
    select count(*) as n from public.comments c where c.parent_id = p.id and c.moderation_state = 'approved')
      c
  where p.reply_count <> c.n
  union all
  select 'comments.vote_count', c.id, c.vote_count, v.n
  from public.comments c cross join lateral (select count(*) as n from public.comment_votes v
    where v.comment_id = c.id) v
  where c.vote_count <> v.n
  union all
  select 'submission_counts', coalesce(c.organization_id, t.organization_id), c.total, t.total
  from private.submission_counts c full join (
    select s.organization_id, s.is_public, s.status, s.type, s.category_id, count(*) as total
    from public.submissions s where s.merged_into_id is null group by 1, 2, 3, 4, 5) t
    on (c.organization_id, c.is_public, c.status, c.type) = (t.organization_id, t.is_public, t.status, t.type)
      and coalesce(c.category_id, c.organization_id) = coalesce(t.category_id, t.organization_id)
  where coalesce(c.total, 0) <> coalesce(t.total, 0)
  union all
  select 'submission_days', coalesce(d.organization_id, t.organization_id), d.total, t.total
  from (select o.id as organization_id, span, s.day, s.status, s.category_id, s.source,
    sum(s.total)::bigint as total
    from public.organizations o cross join unnest(array['day', 'month']) span
      cross join lateral private.submissions_of(o.id, span, '-infinity', 'infinity') s
        group by 1, 2, 3, 4, 5, 6) d full join (
    select t.* from public.organizations o cross join lateral private.compute_submission_days(o.id) t) t
    on (d.organization_id, d.span, d.day, d.status, coalesce(d.source, '')) =
      (t.organization_id, t.span, t.day, t.status, coalesce(t.source, ''))
      and coalesce(d.category_id, d.organization_id) = coalesce(t.category_id, t.organization_id)
  where coalesce(d.total, 0) <> coalesce(t.total, 0)
  union all
  select 'person_days.' || kind, coalesce(d.organization_id, t.organization_id), stored, truth
  from (select r.organization_id, r.user_id, r.day, sum(r.submissions)::bigint as submissions,
    sum(r.votes)::bigint as votes, sum(r.comments)::bigint as comments
    from (
      select p.organization_id, p.user_id, p.day, p.submissions, p.votes, p.comments
        from private.person_days p
      union all
      select a.organization_id, a.user_id,
        (a.slot at time zone private.activity_zone(a.organization_id))::date, a.submissions, a.votes,
        a.comments
      from private.person_activity a) r
    group by 1, 2, 3) d full join (
    select t.* from public.organizations o cross join lateral private.compute_person_days(o.id) t) t
    on (d.organization_id, d.user_id, d.day) = (t.organization_id, t.user_id, t.day)
  cross join lateral (values ('submissions', coalesce(d.submissions, 0), coalesce(t.submissions, 0)),
    ('votes', coalesce(d.votes, 0), coalesce(t.votes, 0)),
    ('comments', coalesce(d.comments, 0), coalesce(t.comments, 0))) counted (kind, stored, truth)
  where stored <> truth
  union all
  select 'day_activity.' || kind, coalesce(d.organization_id, t.organization_id), stored, truth
  from private.day_activity d full join (
    select p.organization_id, p.day, p.previous_day, count(*) as people, sum(p.submissions) as submissions,
      sum(p.votes) as votes, sum(p.comments) as comments
    from (
      select p.organization_id, p.day, p.submissions, p.votes, p.comments,
        coalesce(lag(p.day) over (partition by p.organization_id, p.user_id order by p.day), '-infinity')
          as previous_day
      from private.person_days p) p
    group by 1, 2, 3) t
    on (d.organization_id, d.day, d.previous_day) = (t.organization_id, t.day, t.previous_day)
  cross join lateral (values ('people', coalesce(d.people, 0), coalesce(t.people, 0)),
    ('submissions', coalesce(d.submissions, 0), coalesce(t.submissions, 0)),
    ('votes', coalesce(d.votes, 0), coalesce(t.votes, 0)),
      ('comments', coalesce(d.comments, 0), coalesce(t.comments, 0))) counted (kind, stored, truth)
  where stored <> truth
  union all
  select 'first_replies', coalesce(r.organization_id, t.organization_id), r.milliseconds, t.milliseconds
  from private.first_replies r full
    join private.compute_first_replies(array(select s.id from public.submissions s)) t using (submission_id)
  where (r.submitted_at, r.milliseconds) is distinct from (t.submitted_at, t.milliseconds)
    and not exists (select from private.replies_due d
      where d.submission_id = coalesce(r.submission_id, t.submission_id))
  union all
  select 'reply_days.' || kind, coalesce(d.organization_id, t.organization_id), stored, truth
  from private.reply_days d full join (
    select r.organization_id, (r.submitted_at at time zone z.time_zone)::date as day,
      private.histogram_bucket(r.milliseconds) as magnitude,
      count(*) as replies, sum(r.milliseconds)::bigint as milliseconds
    from private.first_replies r join private.activity_zones z using (organization_id) group by 1, 2, 3) t
    on (d.organization_id, d.day, d.magnitude) = (t.organization_id, t.day, t.magnitude)
  cross join lateral (values ('replies', coalesce(d.replies, 0), coalesce(t.replies, 0)),
    ('milliseconds', coalesce(d.milliseconds, 0), coalesce(t.milliseconds, 0))) counted (kind, stored, truth)
  where stored <> truth
  union all
  select * from private.survey_count_discrepancies();
end;
comment on function private.count_discrepancies() is
  'Rows whose counter differs from the counted value; always empty.';

-- Audit log of an organization: written in the transaction of the change and append-only.

create table private.audit_log (
  organization_id uuid not null references public.organizations (id) on delete cascade,
  id uuid not null default gen_random_uuid(),
  -- No foreign keys: entries outlive the rows they reference.
  actor_id uuid,
  key_id uuid,
  action text not null,
  target_type text not null,
  target_id uuid,
  request_id text,
  details jsonb not null,
  -- Not now(): entries of one transaction keep their order.
  created_at timestamptz not null default clock_timestamp(),
  primary key (organization_id, id),
  constraint action_is_noun_dot_verb check (action ~ '^[a-z_]+\.[a-z_]+$'),
  constraint details_are_a_small_object check
    (jsonb_typeof(details) = 'object' and octet_length(details::text) <= 20000)
);
comment on table private.audit_log is
  'Audit log of the team and its keys. actor_id: the acting profile (null: an operator); key_id: the key it '
  'used. details describes the change without personal data. Append-only; deleted with the organization.';
create index audit_log_newest_idx on private.audit_log (organization_id, created_at desc, id desc);
create index audit_log_target_idx on private.audit_log (organization_id, target_id, created_at desc, id desc);
create index audit_log_actor_idx on private.audit_log (organization_id, actor_id, created_at desc, id desc);
alter table private.audit_log enable row level security;
revoke all on private.audit_log from public, anon, authenticated, service_role, service_key;

create function private.protect_audit_log() returns trigger
language plpgsql set search_path = '' as $$
begin
  if tg_op = 'DELETE' and not exists (select from public.organizations where id = old.organization_id)
    then return old; end if;
  perform private.raise_error('FORBIDDEN', 'The audit log is append-only.');
end
$$;
comment on function private.protect_audit_log() is
  'Trigger: rejects changes and deletion, even by the table owner, unless the organization is being '
  'deleted.';
create trigger keep before update or delete on private.audit_log
  for each row execute function private.protect_audit_log();
create trigger keep_all before truncate on private.audit_log
  for each statement execute function private.protect_audit_log();

create function private.request_id() returns text
language plpgsql stable set search_path = '' as $$
begin
  if session_user <> 'feedback_api' then return null; end if;
  return nullif(current_setting('feedback.request_id', true), '');
end
$$;
comment on function private.request_id() is 'The X-Request-Id of this transaction; null outside of the API.';

create function private.mask_email_addresses(value jsonb) returns jsonb
language plpgsql immutable set search_path = '' as $$
begin
  return case jsonb_typeof(value)
    when 'string' then to_jsonb(regexp_replace(value #>> '{}', '[^\s"@]+@[^\s"@]+', '***', 'g'))
    when 'array' then coalesce((select jsonb_agg(private.mask_email_addresses(e.item) order by e.n)
      from jsonb_array_elements(value) with ordinality e (item, n)), '[]')
    when 'object' then coalesce((select jsonb_object_agg(e.name, private.mask_email_addresses(e.item))
      from jsonb_each(value) e (name, item)), '{}')
    else value end;
end
$$;
comment on function private.mask_email_addresses(jsonb) is
  'The JSON with e-mail addresses masked at any nesting.';

create function private.audit(action text, target_type text, target_id uuid, details jsonb default '{}',
  organization_id uuid default null) returns void
language plpgsql set search_path = '' as $$
begin
  details := private.mask_email_addresses(details);
  -- Oversized details must not reject the change.
  if octet_length(details::text) > 20000 then details := '{"left_out": "more than 20,000 bytes"}'; end if;
  insert into private.audit_log (organization_id, actor_id, key_id, action, target_type, target_id,
    request_id, details)
  values (coalesce(audit.organization_id, private.current_organization_id()), private.caller_id(),
    case when private.is_key() then nullif(current_setting('feedback.key_id', true), '')::uuid end,
    audit.action, audit.target_type, audit.target_id, private.request_id(),
    details);
end
$$;
comment on function private.audit(text, text, uuid, jsonb, uuid) is
  'Appends to the audit log; for definer functions. action is noun.verb, such as invite.create. details '
  'holds field names, ids and states, never people; e-mail addresses are masked. organization_id defaults '
  'to that of the request.';

-- definer: the audit log is not granted.
create function private.admin_audit(target_id uuid, actor_id uuid, before_at timestamptz, before_id uuid,
  max_rows integer) returns table (more boolean, last text[], data json)
language plpgsql stable security definer set search_path = '' as $$
declare own_id uuid := private.current_organization_id();
begin
  if private.is_key() then
    perform private.raise_error('FORBIDDEN', 'Only signed-in users may read the audit log.');
  end if;
  perform private.require_admin(own_id, '');
  return query
    with page as (
      select * from private.audit_log a
      where a.organization_id = own_id
        and (admin_audit.target_id is null or a.target_id = admin_audit.target_id)
        and (admin_audit.actor_id is null or a.actor_id = admin_audit.actor_id)
        and (before_at is null or (a.created_at, a.id) < (before_at, before_id))
      order by a.created_at desc, a.id desc limit max_rows + 1
    ), shown as (
      select * from page order by created_at desc, id desc limit max_rows
    )
    select (select count(*) from page) > max_rows,
      (select array[s.created_at::text, s.id::text] from shown s order by s.created_at, s.id limit 1),
      coalesce((select json_agg(json_build_object(
        'id', s.id, 'action', s.action, 'target_type', s.target_type, 'target_id', s.target_id,
        'actor', (select json_build_object('id', p.id, 'name', coalesce(p.name, 'Anonymous'))
          from public.profiles p where p.id = s.actor_id),
        'key_id', s.key_id, 'request_id', s.request_id, 'details', s.details, 'at', s.created_at)
        order by s.created_at desc, s.id desc) from shown s), '[]');
end
$$;
comment on function private.admin_audit(uuid, uuid, timestamptz, uuid, integer) is
  'Audit log of the current organization, newest first, for signed-in Admin; target_id and actor_id filter. '
  'Pages by (before_at, before_id).';
grant execute on function private.admin_audit(uuid, uuid, timestamptz, uuid, integer) to authenticated;

-- What others wrote -----------------------------------------------------------------------------------------

create function private.is_moderating(author_id uuid) returns boolean
language plpgsql stable set search_path = '' as $$
begin
  -- Changes by definer functions and foreign keys are logged by the operation that caused them.
  return current_user in ('authenticated', 'service_key') and author_id is distinct from private.caller_id();
end
$$;
comment on function private.is_moderating(uuid) is
  'In a trigger: whether the caller itself changes content of another author.';
grant execute on function private.is_moderating(uuid) to authenticated, service_role, service_key;

-- definer: writes the audit log.
create function private.audit_edit() returns trigger
language plpgsql security definer set search_path = '' as $$
declare changed text[] := (
  select array_agg(n.key order by n.key) from jsonb_each(to_jsonb(new)) n
    join jsonb_each(to_jsonb(old)) o using (key)
  where n.value <> o.value and n.key = any (private.editable_columns(tg_relid)));
begin
  if changed is not null then
    perform private.audit('submission.update', 'submission', new.id, jsonb_build_object('changed', changed),
      new.organization_id);
  end if;
  return null;
end
$$;
comment on function private.audit_edit() is
  'Trigger: logs the names of fields that an Admin or a key changed in another author''s submission.';
-- Names no columns: its condition holds for nothing but an edit, since counters are written by definers.
create trigger audit_edit after update on public.submissions
  for each row when (private.is_moderating(old.author_id)) execute function private.audit_edit();

-- definer: writes the audit log.
create function private.audit_delete() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if tg_table_name = 'submissions' then
    perform private.audit('submission.delete', 'submission', old.id, '{}', old.organization_id);
  else
    perform private.audit('comment.delete', 'comment', old.id,
      jsonb_build_object('submission_id', old.submission_id), old.organization_id);
  end if;
  return null;
end
$$;
comment on function private.audit_delete() is
  'Trigger: logs the deletion of another author''s content by an Admin or a key.';
create trigger audit_delete after delete on public.submissions
  for each row when (private.is_moderating(old.author_id)) execute function private.audit_delete();
create trigger audit_delete after delete on public.comments
  for each row when (private.is_moderating(old.author_id)) execute function private.audit_delete();

-- Merging duplicate submissions, and unmerging.
--
-- Votes and tags of a source are copied to the target and marked merged_from. Those the target has already
-- are recorded in a journal. Unmerge removes the former and restores from the journal, so each row exists
-- exactly once, and later additions belong to the target. Follows stay on the source; its followers are
-- notified about the target (private.with_sources).
--
-- Merges form a tree: merges.parent_id is the direct target, submissions.merged_into_id the root. If several
-- sources have the same vote or tag, the first merged one provides it.
--
-- Lock order: the organization (serializes its merges), submissions by id, comments, list counters.

create table private.merges (
  source_id uuid primary key,
  organization_id uuid not null,
  parent_id uuid not null,
  place bigint generated always as identity,
  event_id uuid not null,
  previous_status text not null,
  created_at timestamptz not null default now(),
  constraint merges_source_is_of_the_same_organization foreign key (organization_id, source_id)
    references public.submissions (organization_id, id) on delete cascade,
  -- Deferred, so that an organization and its merges can be deleted in any order.
  constraint merges_parent_is_of_the_same_organization foreign key (organization_id, parent_id)
    references public.submissions (organization_id, id) deferrable initially deferred
);
comment on table private.merges is
  'Direct merges of submissions; event_id identifies the operation. place is the order of merges.';
create index merges_source_idx on private.merges (organization_id, source_id);
create index merges_parent_idx on private.merges (organization_id, parent_id);
create index merges_children_idx on private.merges (parent_id);
create index merges_event_idx on private.merges (event_id);

-- No foreign keys to people or merges: checking them would dominate the cost of merging 50,000 votes. The
-- trigger below maintains the references.
create table private.merged_votes (
  source_id uuid not null,
  user_id uuid not null,
  organization_id uuid not null,
  id uuid not null,
  created_at timestamptz not null,
  primary key (source_id, user_id)
);
comment on table private.merged_votes is
  'Merge journal: votes of a source by people who vote for the target as well.';
create table private.merged_tags (
  source_id uuid not null,
  tag_id uuid not null,
  organization_id uuid not null,
  primary key (source_id, tag_id),
  constraint merged_tags_tag_is_of_the_same_organization foreign key (organization_id, tag_id)
    references public.tags (organization_id, id) on delete cascade
);
comment on table private.merged_tags is 'Merge journal: tags of a source that the target has as well.';
create index merged_tags_tag_idx on private.merged_tags (organization_id, tag_id);
create table private.merged_comments (
  source_id uuid not null,
  comment_id uuid primary key references public.comments (id) on delete cascade,
  organization_id uuid not null
);
comment on table private.merged_comments is
  'Merge journal: top-level comments of a source; their replies, including later ones, move with them.';
create index merged_comments_source_idx on private.merged_comments (source_id);

alter table private.merges enable row level security;
alter table private.merged_votes enable row level security;
alter table private.merged_tags enable row level security;
alter table private.merged_comments enable row level security;
revoke all on private.merges, private.merged_votes, private.merged_tags, private.merged_comments
  from public, anon, authenticated, service_role, service_key;

create function private.delete_merge_journal() returns trigger
-- definer: an author may delete their merged source
language plpgsql security definer set search_path = '' as $$
begin
  delete from private.merged_votes j using gone g where j.source_id = g.source_id;
  delete from private.merged_tags j using gone g where j.source_id = g.source_id;
  delete from private.merged_comments j using gone g where j.source_id = g.source_id;
  return null;
end
$$;
comment on function private.delete_merge_journal() is 'Trigger: deletes the journal with its merge.';
create trigger forget after delete on private.merges
  referencing old table as gone for each statement execute function private.delete_merge_journal();

-- definer: an author may delete a source that has sources itself.
create function private.reparent_merge_sources() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if not exists (select from public.organizations where id = old.organization_id) then return old; end if;
  update private.merges set parent_id = old.merged_into_id where parent_id = old.id;
  update public.votes set merged_from = null where submission_id = old.merged_into_id
    and merged_from = old.id;
  perform set_config('feedback.suppress_events', 'on', true);
  insert into public.follows (organization_id, submission_id, user_id, reason, created_at)
  select f.organization_id, old.merged_into_id, f.user_id, f.reason, f.created_at from public.follows f
    where f.submission_id = old.id
  on conflict do nothing;
  perform set_config('feedback.suppress_events', 'off', true);
  update public.submission_tags set merged_from = null where submission_id = old.merged_into_id
    and merged_from = old.id;
  return old;
end
$$;
comment on function private.reparent_merge_sources() is
  'Trigger: when a source is deleted, its copied votes and tags become the target''s own, and sources '
  'merged into it earlier become direct sources of the target.';
create trigger pass_on_sources before delete on public.submissions
  for each row when (old.merged_into_id is not null) execute function private.reparent_merge_sources();

-- Removing a vote removes it for all merged submissions. Fires after the delete triggers of 21_votes.sql.
-- definer: no client may write the journal.
create function private.delete_merged_votes() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if private.events_suppressed() then return null; end if;
  delete from private.merged_votes j using removed r, public.submissions s
  where s.organization_id = r.organization_id and s.merged_into_id = r.submission_id and j.source_id = s.id
    and j.user_id = r.user_id;
  return null;
end
$$;
comment on function private.delete_merged_votes() is
  'Trigger: a vote removed at the target is not restored by an unmerge.';
create trigger forget_merged after delete on public.votes
  referencing old table as removed for each statement execute function private.delete_merged_votes();

-- definer: moves rows of other authors.
create function private.delete_merged_tags() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if private.events_suppressed() then return null; end if;
  delete from private.merged_tags j using removed r, public.submissions s
  where s.organization_id = r.organization_id and s.merged_into_id = r.submission_id and j.source_id = s.id
    and j.tag_id = r.tag_id;
  return null;
end
$$;
comment on function private.delete_merged_tags() is
  'Trigger: a tag removed at the target is not restored by an unmerge.';
create trigger forget_merged after delete on public.submission_tags
  referencing old table as removed for each statement execute function private.delete_merged_tags();

-- The two operations ----------------------------------------------------------------------------------------

create function private.merge_tree(root uuid) returns table (source_id uuid, path bigint[])
language plpgsql stable set search_path = '' rows 20 as $$
begin
  return query
    with recursive tree as (
      select m.source_id, array[m.place] as path from private.merges m where m.parent_id = root
      union all
      select m.source_id, t.path || m.place from private.merges m join tree t on m.parent_id = t.source_id)
    select t.source_id, t.path from tree t;
end
$$;
comment on function private.merge_tree(uuid) is
  'Direct and indirect sources of a submission, ordered by path, which is the order of precedence.';

create function private.copy_votes_to_target(root uuid, sources uuid[], voters uuid[]) returns void
language plpgsql set search_path = '' as $$
begin
  with lent as (
    delete from private.merged_votes j
    using (
      select distinct on (o.user_id) o.source_id, o.user_id
      from private.merge_tree(root) t join private.merged_votes o on o.source_id = t.source_id
      where o.source_id = any (sources) and (voters is null or o.user_id in (select unnest(voters)))
        and not exists (select from public.votes r where r.submission_id = root and r.user_id = o.user_id)
      order by o.user_id, t.path) first
    where j.source_id = first.source_id and j.user_id = first.user_id
    returning j.*)
  insert into public.votes (organization_id, submission_id, id, user_id, created_at, merged_from)
  select l.organization_id, root, l.id, l.user_id, l.created_at, l.source_id from lent l;
end
$$;
comment on function private.copy_votes_to_target(uuid, uuid[], uuid[]) is
  'Copies votes from the journals of its sources to a submission, for people who have no vote on it; for '
  'all or the given people.';

create function private.copy_tags_to_target(root uuid, sources uuid[], tags uuid[]) returns void
language plpgsql set search_path = '' as $$
begin
  with lent as (
    delete from private.merged_tags j
    using (
      select distinct on (o.tag_id) o.source_id, o.tag_id
      from private.merge_tree(root) t join private.merged_tags o on o.source_id = t.source_id
      where o.source_id = any (sources) and (tags is null or o.tag_id in (select unnest(tags)))
        and not exists (select from public.submission_tags r
          where r.submission_id = root and r.tag_id = o.tag_id)
      order by o.tag_id, t.path) first
    where j.source_id = first.source_id and j.tag_id = first.tag_id
    returning j.*)
  insert into public.submission_tags (organization_id, submission_id, tag_id, merged_from)
  select l.organization_id, root, l.tag_id, l.source_id from lent l;
end
$$;
comment on function private.copy_tags_to_target(uuid, uuid[], uuid[]) is
  'Copies tags from the journals of its sources to a submission, like private.copy_votes_to_target.';

create function private.move_threads(threads uuid[], target_id uuid) returns void
language plpgsql set search_path = '' as $$
begin
  threads := array(
    with recursive thread as (
      select id from public.comments where id = any (threads)
      union all
      select r.id from public.comments r join thread t on r.parent_id = t.id)
    select id from thread);
  perform 1 from public.comments where id = any (threads) order by id for update;
  update public.comments c set submission_id = target_id, is_public = s.is_public
    and c.moderation_state = 'approved'
  from public.submissions s where s.id = target_id and c.id = any (threads);
end
$$;
comment on function private.move_threads(uuid[], uuid) is
  'Moves top-level comments with all replies to another submission; votes for comments follow by their '
  'foreign key.';

create function private.recount(ids uuid[]) returns void
language plpgsql set search_path = '' as $$
begin
  update public.submissions s set
    vote_count = (select count(*) from public.votes v where v.submission_id = s.id),
    comment_count = (select count(*) from public.comments c
      where c.submission_id = s.id and c.moderation_state = 'approved'),
    updated_at = now()
  where s.id = any (ids);
end
$$;
comment on function private.recount(uuid[]) is
  'Recounts votes and comments of submissions. The caller holds their locks, so no row is added '
  'concurrently; rows being deleted still count.';

create function private.lock_counts(organization_id uuid) returns void
language plpgsql set search_path = '' as $$
begin
  perform 1 from private.submission_counts c where c.organization_id = lock_counts.organization_id
  order by c.is_public, c.status, c.type, c.category_id for no key update;
end
$$;
comment on function private.lock_counts(uuid) is
  'Locks list counters before several submissions of an organization change kind in one transaction, to '
  'prevent deadlocks.';

create function private.announce_merge(ids uuid[]) returns void
language plpgsql set search_path = '' as $$
begin
  perform private.emit_event(s.organization_id, 'submission.updated', s.id, private.updated_submission(s))
  from public.submissions s where s.id = any (ids) and s.moderation_state = 'approved' order by s.id;
end
$$;
comment on function private.announce_merge(uuid[]) is
  'Emits submission.updated for all submissions whose counts or target changed; moved votes and comments '
  'emit nothing.';

create function private.require_moderator(organization_id uuid, is_public boolean, author_id uuid, what text,
  field text) returns uuid
language plpgsql stable set search_path = '' as $$
begin
  if organization_id is null or not private.in_organization(organization_id)
    or not private.can_see_submission(is_public, author_id, organization_id, private.caller_id(),
      private.team_organization_ids())
    or private.is_key() and organization_id <> private.key_organization_id() then
    perform private.raise_error('NOT_FOUND', format('There is no such %s.', what), field);
  end if;
  perform private.require_admin(organization_id, 'submissions:moderate');
  return organization_id;
end
$$;
comment on function private.require_moderator(uuid, boolean, uuid, text, text) is
  'Returns the organization of a row the caller may moderate; raises NOT_FOUND if the caller cannot see it, '
  'FORBIDDEN if not Admin. For definer functions.';

create function private.require_submission_moderator(submission_id uuid, field text) returns uuid
language plpgsql stable set search_path = '' as $$
declare submission public.submissions;
begin
  select * into submission from public.submissions s where s.id = submission_id;
  return private.require_moderator(submission.organization_id, submission.is_public, submission.author_id,
    'submission', field);
end
$$;
comment on function private.require_submission_moderator(uuid, text) is
  'Like private.require_moderator, for a submission by id.';

-- definer: moves rows of other authors.
create function private.admin_merge(source_ids uuid[], target_id uuid) returns json
language plpgsql security definer set search_path = '' as $$
declare
  own_id uuid := private.require_submission_moderator(target_id, 'target_id');
  categories uuid[] := private.agent_category_ids();
  event uuid := gen_random_uuid();
  grandchildren uuid[];
  submission public.submissions;
  found_ids uuid[] := '{}';
begin
  perform 1 from public.organizations where id = own_id for no key update;
  source_ids := array(select id from unnest(source_ids) with ordinality as s (id, place) group by id
    order by min(place));
  if target_id = any (source_ids) then
    perform private.raise_error('VALIDATION_ERROR', 'A submission cannot be merged into itself.',
      'source_ids');
  end if;
  grandchildren := array(select s.id from public.submissions s
    where s.organization_id = own_id and s.merged_into_id = any (source_ids));
  for submission in
    select * from public.submissions s
    where s.organization_id = own_id and s.id = any (source_ids || grandchildren || target_id)
      order by s.id for no key update
  loop
    continue when submission.id <> all (source_ids || target_id);
    -- Rows hidden from an agent by policy must be hidden in a definer function as well.
    continue when categories is not null and not coalesce(submission.category_id = any (categories), false);
    found_ids := found_ids || submission.id;
    if submission.merged_into_id is not null then
      perform private.raise_error('SUBMISSION_MERGED',
        'It was merged before: unmerge it first, or use its merge target.',
        case when submission.id = target_id then 'target_id'
          else 'source_ids' end, jsonb_build_object('merged_into_id', submission.merged_into_id));
    elsif submission.moderation_state <> 'approved' then
      perform private.raise_error('CONFLICT', 'Only approved submissions can be merged: approve it first.',
        case when submission.id = target_id then 'target_id' else 'source_ids' end);
    end if;
  end loop;
  if not found_ids @> (source_ids || target_id) then
    perform private.raise_error('NOT_FOUND', 'There is no such submission.', case
      when target_id = any (found_ids) then 'source_ids' else 'target_id' end);
  end if;

  perform set_config('feedback.suppress_events', 'on', true);
  insert into private.merges (source_id, organization_id, parent_id, event_id, previous_status)
  select s.id, own_id, admin_merge.target_id, event, s.status
  from public.submissions s where s.id = any (source_ids) order by array_position(source_ids, s.id);
  insert into public.status_changes
    (organization_id, submission_id, previous_status, new_status, changed_by, notify)
  select own_id, m.source_id, m.previous_status, 'duplicate', private.caller_id(), false from private.merges m
    where m.event_id = event order by m.place;
  with double as (
    delete from public.votes v
    where v.submission_id = any (source_ids) and exists (
      select from (
        select t.user_id, 0 as place from public.votes t where t.submission_id = admin_merge.target_id
        union all
        select o.user_id, array_position(source_ids, o.submission_id) from public.votes o
          where o.submission_id = any (source_ids)) first
      where first.user_id = v.user_id and first.place < array_position(source_ids, v.submission_id))
    returning case when v.merged_from = any (grandchildren) then v.merged_from
      else v.submission_id end as source_id,
      v.user_id, v.organization_id, v.id, v.created_at)
  insert into private.merged_votes (source_id, user_id, organization_id, id, created_at) select * from double;
  update public.votes v set submission_id = admin_merge.target_id,
    merged_from = case when v.merged_from = any (grandchildren) then v.merged_from else v.submission_id end
  where v.submission_id = any (source_ids);

  with gone as (
    delete from public.submission_tags st where st.submission_id = any (source_ids)
    returning case when st.merged_from = any (grandchildren) then st.merged_from
      else st.submission_id end as source_id,
      st.tag_id, st.organization_id)
  insert into private.merged_tags (source_id, tag_id, organization_id) select * from gone;
  perform private.copy_tags_to_target(target_id, source_ids || grandchildren, null);

  insert into private.merged_comments (source_id, comment_id, organization_id)
  select c.submission_id, c.id, c.organization_id from public.comments c
    where c.submission_id = any (source_ids) and c.parent_id is null
  on conflict do nothing;
  perform private.move_threads(array(
    select c.id from public.comments c where c.submission_id = any (source_ids) and c.parent_id is null),
      target_id);
  perform set_config('feedback.suppress_events', 'off', true);

  perform private.lock_counts(own_id);
  update public.submissions set status = 'duplicate', merged_into_id = admin_merge.target_id
    where id = any (source_ids || grandchildren);
  perform private.recount(source_ids || target_id);
  perform private.announce_merge(source_ids || target_id);
  perform private.notify_merge(own_id, target_id, event);
  perform private.audit('submission.merge', 'submission', target_id,
    jsonb_build_object('source_ids', source_ids), own_id);
  return (select json_build_object('target_id', s.id, 'source_ids', source_ids, 'vote_count', s.vote_count,
    'comment_count', s.comment_count)
    from public.submissions s where s.id = target_id);
end
$$;
comment on function private.admin_merge(uuid[], uuid) is
  'Merges submissions into another: moves votes, tags and threads without duplicates and notifies '
  'followers. The sources and their earlier sources leave the lists and point to the target. For Admin or '
  'keys with submissions:moderate.';

-- definer: moves rows of other authors.
create function private.admin_unmerge(submission_id uuid) returns json
language plpgsql security definer set search_path = '' as $$
#variable_conflict use_variable
declare
  source_id uuid := submission_id;
  own_id uuid := private.require_submission_moderator(source_id, 'submission_id');
  root uuid;
  undone private.merges;
  subtree uuid[];
  others uuid[];
  vacant uuid[];
begin
  perform 1 from public.organizations where id = own_id for no key update;
  root := (select s.merged_into_id from public.submissions s where s.id = source_id);
  if root is null then
    perform private.raise_error('CONFLICT', 'It is not merged into another submission.', 'submission_id');
  end if;
  subtree := array(select t.source_id from private.merge_tree(source_id) t);
  others := array(select t.source_id from private.merge_tree(root) t
    where t.source_id <> source_id and t.source_id <> all (subtree));
  perform 1 from public.submissions s where s.id = any (subtree || source_id || root)
    order by s.id for no key update;
  select * into undone from private.merges m where m.source_id = source_id;
  if undone.source_id is null then
    perform private.raise_error('NOT_FOUND', 'There is no such submission.', 'submission_id');
  end if;

  perform set_config('feedback.suppress_events', 'on', true);
  insert into public.status_changes
    (organization_id, submission_id, previous_status, new_status, changed_by, notify)
  values (own_id, source_id, 'duplicate', undone.previous_status, private.caller_id(), false);
  with back as (
    update public.votes v set submission_id = source_id, merged_from = nullif(v.merged_from, source_id)
    where v.submission_id = root and v.merged_from = any (subtree || source_id)
    returning v.user_id)
  select array_agg(b.user_id) into vacant from back b;
  insert into public.votes (organization_id, submission_id, id, user_id, created_at)
  select j.organization_id, j.source_id, j.id, j.user_id, j.created_at from private.merged_votes j
    where j.source_id = source_id;
  perform private.copy_votes_to_target(source_id, subtree, null);
  perform private.copy_votes_to_target(root, others, coalesce(vacant, '{}'));

  -- The source may have received the tag again while merged.
  delete from public.submission_tags st using public.submission_tags o
  where st.submission_id = source_id and o.submission_id = root and o.merged_from = any (subtree || source_id)
    and o.tag_id = st.tag_id;
  with back as (
    update public.submission_tags st
      set submission_id = source_id, merged_from = nullif(st.merged_from, source_id)
    where st.submission_id = root and st.merged_from = any (subtree || source_id)
    returning st.tag_id)
  select array_agg(b.tag_id) into vacant from back b;
  insert into public.submission_tags (organization_id, submission_id, tag_id)
  select j.organization_id, j.source_id, j.tag_id from private.merged_tags j where j.source_id = source_id
  on conflict do nothing;
  perform private.copy_tags_to_target(source_id, subtree, null);
  perform private.copy_tags_to_target(root, others, coalesce(vacant, '{}'));

  perform private.move_threads(array(
    select j.comment_id from private.merged_comments j where j.source_id = any (subtree || source_id)),
      source_id);
  perform set_config('feedback.suppress_events', 'off', true);

  perform private.lock_counts(own_id);
  delete from private.merges m where m.source_id = source_id;
  update public.submissions s set status = undone.previous_status, merged_into_id = null
    where s.id = source_id;
  update public.submissions s set merged_into_id = source_id where s.id = any (subtree);
  perform private.recount(array[source_id, root]);
  perform private.announce_merge(array[source_id, root]);
  perform private.audit('submission.unmerge', 'submission', source_id, jsonb_build_object('target_id', root),
    own_id);
  return (select json_build_object('submission_id', s.id, 'target_id', root, 'status', s.status, 'vote_count',
    s.vote_count, 'comment_count', s.comment_count)
    from public.submissions s where s.id = source_id);
end
$$;
comment on function private.admin_unmerge(uuid) is
  'Unmerges a submission together with its own earlier sources. Later votes and tags stay with the target; '
  'replies stay with their thread; a vote or follow removed at the target stays removed.';
grant execute on function private.admin_merge(uuid[], uuid), private.admin_unmerge(uuid) to authenticated,
  service_key;

-- Organization settings, and access to them.

-- definer: reads private organizations to decide visibility.
create function private.require_visible_organization(organization_id uuid) returns uuid
language plpgsql stable security definer set search_path = '' as $$
begin
  if not private.in_organization(organization_id)
    or (case when private.is_key() then organization_id is distinct from private.key_organization_id()
      else private.find_organization(organization_id::text, private.caller_id()) is null end) then
    perform private.raise_error('NOT_FOUND', 'There is no such organization.');
  end if;
  return organization_id;
end
$$;
comment on function private.require_visible_organization(uuid) is
  'Returns the organization named by a path if the caller may see it; raises NOT_FOUND otherwise.';

create function private.require_organization_admin(organization_id uuid, scope text) returns uuid
language plpgsql stable set search_path = '' as $$
begin
  perform private.require_admin(private.require_visible_organization(organization_id), scope);
  return organization_id;
end
$$;
comment on function private.require_organization_admin(uuid, text) is
  'Returns the organization named by a path for Admin; raises NOT_FOUND if the caller cannot see it, '
  'FORBIDDEN if not Admin.';

create function private.require_team_member(organization_id uuid, scope text) returns uuid
language plpgsql stable set search_path = '' as $$
begin
  if private.is_key() or not private.is_member(private.require_visible_organization(organization_id),
    private.caller_id()) then
    perform private.require_organization_admin(organization_id, scope);
  end if;
  return organization_id;
end
$$;
comment on function private.require_team_member(uuid, text) is
  'Returns the organization named by a path for team members or keys with the scope; raises NOT_FOUND or '
  'FORBIDDEN otherwise.';

-- How others hear of it -------------------------------------------------------------------------------------


create function private.emit_organization_update(organization_id uuid, changed text[],
  changes jsonb default '{}') returns void
language plpgsql set search_path = '' as $$
begin
  perform private.emit_event(o.id, 'org.updated', o.id, jsonb_build_object(
    'organization', jsonb_build_object('id', o.id, 'slug', o.slug, 'name', o.name), 'changed', changed,
      'changes', changes))
  from public.organizations o where o.id = emit_organization_update.organization_id;
end
$$;
comment on function private.emit_organization_update(uuid, text[], jsonb) is
  'Emits org.updated after changes to settings, categories, tags or members. For definer functions.';

-- definer: emits the event and writes the audit log.
create function private.announce_organization() returns trigger
language plpgsql security definer set search_path = '' as $$
declare changed text[]; changes jsonb;
begin
  -- settings may contain anything, so only the names of changed keys are published.
  select array_agg(n.key order by n.key),
    coalesce(jsonb_object_agg(n.key, jsonb_build_object('from', o.value, 'to', n.value)) filter
    (where n.key <> 'settings'), '{}')
  into changed, changes
  from jsonb_each(to_jsonb(new)) n join jsonb_each(to_jsonb(old)) o using (key)
  where n.value <> o.value and n.key <> 'updated_at';
  perform private.emit_organization_update(new.id, changed, changes);
  perform private.audit('organization.update', 'organization', new.id,
    jsonb_build_object('changed', changed, 'changes', changes), new.id);
  return null;
end
$$;
comment on function private.announce_organization() is
  'Trigger: emits org.updated and logs old and new values.';
create trigger announce after update on public.organizations
  for each row when ((old.slug, old.name, old.visibility, old.is_default, old.require_approval,
    old.trust_after, old.anonymous_may, old.time_zone, old.allowed_origins, old.settings,
      old.brand_color, old.logo_url, old.allow_indexing,
      old.max_submissions, old.max_members, old.max_surveys)
    is distinct from (new.slug, new.name, new.visibility, new.is_default, new.require_approval,
      new.trust_after, new.anonymous_may, new.time_zone, new.allowed_origins, new.settings,
      new.brand_color, new.logo_url, new.allow_indexing,
      new.max_submissions, new.max_members, new.max_surveys))
  execute function private.announce_organization();

-- What the team asks ----------------------------------------------------------------------------------------


create function private.organization_shape(organization public.organizations) returns json
language plpgsql stable set search_path = '' as $$
begin
  return json_build_object('id', organization.id, 'slug', organization.slug, 'name', organization.name,
    'visibility', organization.visibility,
    'require_approval', organization.require_approval, 'trust_after', organization.trust_after,
    'anonymous_may', organization.anonymous_may, 'time_zone', organization.time_zone, 'settings',
      organization.settings,
    'brand_color', organization.brand_color, 'logo_url', organization.logo_url, 'allow_indexing',
      organization.allow_indexing,
    'role', (select m.role from public.memberships m
      where m.organization_id = organization.id and m.user_id = private.caller_id()),
    'plan', json_build_object(
      'submissions', (select coalesce(sum(c.total), 0) from private.submission_counts c
        where c.organization_id = organization.id)
        + (select count(*) from public.submissions s
          where s.organization_id = organization.id and s.merged_into_id is not null),
      'max_submissions', organization.max_submissions,
      'members', (select count(*) from public.memberships m where m.organization_id = organization.id),
      'max_members', organization.max_members,
      'surveys', (select count(distinct s.family_id) from public.surveys s
        where s.organization_id = organization.id and s.status <> 'archived'),
      'max_surveys', organization.max_surveys),
    'created_at', organization.created_at, 'updated_at', organization.updated_at);
end
$$;
comment on function private.organization_shape(public.organizations) is
  'JSON of an organization for its team, with the caller''s role and plan limits.';

-- definer: settings are not granted.
create function private.admin_organization(organization_id uuid) returns json
language plpgsql stable security definer set search_path = '' as $$
declare own_id uuid := private.require_team_member(organization_id, 'organization:write');
begin
  return (select private.organization_shape(o) from public.organizations o where o.id = own_id);
end
$$;
comment on function private.admin_organization(uuid) is
  'An organization, for its team and keys with organization:write.';

create function private.admin_update_organization(organization_id uuid, fields jsonb) returns json
language plpgsql security definer set search_path = '' as $$ -- definer: settings are not granted
declare own_id uuid := private.require_organization_admin(organization_id, 'organization:write');
begin
  if not coalesce(private.is_time_zone(fields ->> 'time_zone'), true) then
    perform private.raise_error('VALIDATION_ERROR', 'must be a time zone such as Europe/Berlin', 'time_zone');
  end if;
  -- A visibility change updates the board's submissions, so take the strongest lock first.
  perform 1 from public.organizations o where o.id = own_id for update;
  update public.organizations o set
    name = coalesce(fields ->> 'name', o.name), slug = coalesce(fields ->> 'slug', o.slug),
    visibility = coalesce(fields ->> 'visibility', o.visibility),
    require_approval = coalesce((fields ->> 'require_approval')::boolean, o.require_approval),
    trust_after = case when fields ? 'trust_after' then (fields ->> 'trust_after')::integer
      else o.trust_after end,
    anonymous_may = coalesce(fields ->> 'anonymous_may', o.anonymous_may),
    time_zone = coalesce(fields ->> 'time_zone', o.time_zone),
    brand_color = case when fields ? 'brand_color' then fields ->> 'brand_color' else o.brand_color end,
    logo_url = case when fields ? 'logo_url' then fields ->> 'logo_url' else o.logo_url end,
    allow_indexing = coalesce((fields ->> 'allow_indexing')::boolean, o.allow_indexing),
    settings = coalesce((select jsonb_object_agg(s.key, s.value)
      from jsonb_each(o.settings || coalesce(fields -> 'settings', '{}')) s
      where s.value <> 'null'), '{}')
  where o.id = own_id;
  return (select private.organization_shape(o) from public.organizations o where o.id = own_id);
exception
  when unique_violation then
    perform private.raise_error('CONFLICT', 'Another organization has this slug.', 'slug');
  when check_violation then
    perform private.raise_error('VALIDATION_ERROR', 'must be an object of at most 20,000 bytes as JSON',
      'settings');
end
$$;
comment on function private.admin_update_organization(uuid, jsonb) is
  'Sets the given fields; in settings the given keys, where null removes a key. For Admin or keys with '
  'organization:write.';

grant execute on function private.admin_organization(uuid), private.admin_update_organization(uuid, jsonb) to
  authenticated, service_key;

-- Administration of categories and tags. kind is one of the two tables, label a row of either.

create function private.require_taxonomy_admin(kind text) returns uuid
language plpgsql stable set search_path = '' as $$
declare own_id uuid := private.require_admin(private.current_organization_id(), 'organization:write');
begin
  if kind not in ('categories', 'tags') then
    perform private.raise_error('NOT_FOUND', 'There is no such kind: use categories or tags.');
  end if;
  return own_id;
end
$$;
comment on function private.require_taxonomy_admin(text) is
  'Returns the current organization for Admin and keys with organization:write; raises FORBIDDEN otherwise '
  'and NOT_FOUND for an unknown kind.';

create function private.label_noun(kind text) returns text
language sql immutable
return case kind when 'categories' then 'category' else 'tag' end;
comment on function private.label_noun(text) is 'Singular name of a kind.';

create function private.label_shape(label jsonb) returns jsonb
language sql immutable
return label - 'organization_id';
comment on function private.label_shape(jsonb) is
  'JSON of a category or tag for Admin, with all translations.';

create function private.find_label(kind text, organization_id uuid, label_id uuid,
  stays boolean default false) returns jsonb
language plpgsql set search_path = '' as $$
declare label jsonb;
begin
  execute format('select to_jsonb(l) from public.%I l where l.organization_id = $1 and l.id = $2 for %s',
    kind,
    case when stays then 'key share' else 'update' end)
  into label using organization_id, label_id;
  if label is null then
    perform private.raise_error('NOT_FOUND', format('There is no such %s.', private.label_noun(kind)), case
      when stays then 'into_id' end);
  end if;
  return label;
end
$$;
comment on function private.find_label(text, uuid, uuid, boolean) is
  'Locks and returns a category or tag. stays: lock it only against deletion, not against new references.';

create function private.free_slug(kind text, organization_id uuid, name text) returns text
language plpgsql stable set search_path = '' as $$
declare
  base text := btrim(left(btrim(regexp_replace(private.plain_text(name), '[^a-z0-9]+', '-', 'g'), '-'), 56),
    '-');
  slug text;
  taken boolean;
begin
  -- A name without Latin letters.
  if base = '' then base := private.label_noun(kind); end if;
  for number in 1..1000 loop
    slug := base || case when number = 1 then '' else '-' || number end;
    execute format('select exists (select from public.%I l where l.organization_id = $1 and l.slug = $2)',
      kind) into taken using organization_id, slug;
    exit when not taken;
  end loop;
  return slug;
end
$$;
comment on function private.free_slug(text, uuid, text) is 'An unused slug derived from the name.';

create function private.record_label_change(kind text, organization_id uuid, action text, label_id uuid,
  details jsonb default '{}') returns void
language plpgsql set search_path = '' as $$
begin
  perform private.emit_organization_update(organization_id, array[kind]);
  perform private.audit(private.label_noun(kind) || '.' || action, private.label_noun(kind), label_id,
    details, organization_id);
end
$$;
comment on function private.record_label_change(text, uuid, text, uuid, jsonb) is
  'Emits the event and writes the audit log for a change to categories or tags.';

-- definer: clients may only read categories and tags.
create function private.admin_labels(kind text) returns json
language plpgsql stable security definer set search_path = '' as $$
declare own_id uuid := private.require_taxonomy_admin(kind); labels json;
begin
  execute format('select coalesce(json_agg(private.label_shape(to_jsonb(l)) order by %s), ''[]'')
      from public.%I l where l.organization_id = $1',
    case kind when 'categories' then 'l.position, l.slug' else 'l.slug' end, kind) into labels using own_id;
  return labels;
end
$$;
comment on function private.admin_labels(text) is
  'All categories or tags of the current organization with translations.';

create function private.admin_create_label(kind text, fields jsonb) returns jsonb
-- definer: clients may only read categories and tags
language plpgsql security definer set search_path = '' as $$
declare own_id uuid := private.require_taxonomy_admin(kind); label jsonb; used bigint; last integer;
begin
  -- Lock the organization, so that concurrent creations with one name get different slugs.
  perform 1 from public.organizations o where o.id = own_id for no key update;
  execute format('select count(*) from public.%I l where l.organization_id = $1', kind) into used
    using own_id;
  if used >= 1000 then
    perform private.raise_error('CONFLICT',
      format('An organization has at most 1,000 %s: merge or delete some.', kind));
  end if;
  fields := jsonb_build_object('slug', private.free_slug(kind, own_id, fields ->> 'name')) ||
    jsonb_strip_nulls(fields);
  last := (select coalesce(max(c.position), -1) from public.categories c where c.organization_id = own_id);
  execute format('insert into public.%1$I as l
      select (jsonb_populate_record(null::public.%1$I, $1)).* returning to_jsonb(l)', kind)
  into label using jsonb_build_object('id', gen_random_uuid(), 'color', '#6b7280', 'translations',
    '{}'::jsonb, 'position', last + 1, 'created_at', now())
    || fields || jsonb_build_object('organization_id', own_id);
  perform private.record_label_change(kind, own_id, 'create', (label ->> 'id')::uuid,
    jsonb_build_object('slug', label -> 'slug'));
  return private.label_shape(label);
exception when unique_violation then
  perform private.raise_error('CONFLICT', format('Another %s has this slug.', private.label_noun(kind)),
    'slug');
end
$$;
comment on function private.admin_create_label(text, jsonb) is
  'Creates a category or tag in the current organization; the slug defaults to one derived from the name, '
  'the position to the last.';

create function private.admin_update_label(kind text, label_id uuid, fields jsonb) returns jsonb
-- definer: clients may only read categories and tags
language plpgsql security definer set search_path = '' as $$
declare own_id uuid := private.require_taxonomy_admin(kind); before jsonb; label jsonb; changes jsonb;
begin
  perform 1 from public.organizations o where o.id = own_id for no key update;
  before := private.find_label(kind, own_id, label_id);
  -- null removes a translation.
  fields := jsonb_strip_nulls(fields ||
    jsonb_build_object('translations',
    (before -> 'translations') || coalesce(fields -> 'translations', '{}')));
  execute format('update public.%I l set (name, slug, color, translations%s) = (
      select r.name, r.slug, r.color, r.translations%s from jsonb_populate_record(l, $2) r)
      where l.id = $1 returning to_jsonb(l)',
    kind, case kind when 'categories' then ', position' end, case kind when 'categories'
      then ', r.position' end)
  into label using label_id, fields;
  changes := (select jsonb_object_agg(n.key, jsonb_build_object('from', o.value, 'to', n.value))
    from jsonb_each(label) n join jsonb_each(before) o using (key) where n.value <> o.value);
  if changes is not null then perform private.record_label_change(kind, own_id, 'update', label_id, changes);
    end if;
  return private.label_shape(label);
exception when unique_violation then
  perform private.raise_error('CONFLICT', format('Another %s has this slug.', private.label_noun(kind)),
    'slug');
end
$$;
comment on function private.admin_update_label(text, uuid, jsonb) is
  'Sets the given fields of a category or tag; in translations the given locales, where null removes one.';

create function private.admin_order_categories(ids uuid[]) returns json
-- definer: clients may only read categories and tags
language plpgsql security definer set search_path = '' as $$
declare own_id uuid := private.require_taxonomy_admin('categories');
begin
  perform 1 from public.organizations o where o.id = own_id for no key update;
  if exists (select from unnest(ids) as wanted
    where wanted not in (select c.id from public.categories c where c.organization_id = own_id)) then
    perform private.raise_error('NOT_FOUND', 'There is no such category.', 'ids');
  end if;
  with placed as (
    select c.id, row_number() over (order by array_position(ids, c.id) nulls last, c.position, c.slug)
      - 1 as position
    from public.categories c where c.organization_id = own_id)
  update public.categories c set position = p.position from placed p
    where p.id = c.id and c.position <> p.position;
  if found then perform private.record_label_change('categories', own_id, 'order', null); end if;
  return private.admin_labels('categories');
end
$$;
comment on function private.admin_order_categories(uuid[]) is
  'Sets the order of categories: the given ones first, then the others in their current order.';

-- A label is removed from its submissions in batches; the schedule continues beyond the first. Submissions
-- emit no event; org.updated announces the label.
create table private.retired_labels (
  label_id uuid primary key,
  organization_id uuid not null references public.organizations (id) on delete cascade,
  kind text not null,
  into_id uuid,
  retired_at timestamptz not null default now(),
  constraint kind_is_known check (kind in ('categories', 'tags'))
);
comment on table private.retired_labels is
  'Deleted or merged categories and tags that still have submissions. The schedule moves these to into_id, '
  'or to none, and then deletes the label.';
create index retired_labels_organization_idx on private.retired_labels (organization_id);
alter table private.retired_labels enable row level security;
revoke all on private.retired_labels from public, anon, authenticated, service_role, service_key;

create function private.move_to_category(organization_id uuid, from_id uuid, to_id uuid, batch integer)
  returns integer
language plpgsql set search_path = '' as $$
declare ids uuid[];
begin
  -- Skip rows locked by others; a later batch moves them.
  ids := array(select s.id from public.submissions s
    where s.organization_id = move_to_category.organization_id and s.category_id = from_id
      limit batch for no key update skip locked);
  if ids = '{}' then return 0; end if;
  perform private.lock_counts(organization_id);
  perform set_config('feedback.suppress_events', 'on', true);
  update public.submissions s set category_id = to_id where s.id = any (ids);
  perform set_config('feedback.suppress_events', 'off', true);
  insert into private.submission_counts as c (organization_id, is_public, status, type, category_id, total)
  select s.organization_id, s.is_public, s.status, s.type, m.category_id, sum(m.change)
  from public.submissions s cross join (values (from_id, -1), (to_id, 1)) m (category_id, change)
  where s.id = any (ids) and s.merged_into_id is null group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5
  on conflict on constraint one_count_of_a_kind do update set total = c.total + excluded.total;
  return cardinality(ids);
end
$$;
comment on function private.move_to_category(uuid, uuid, uuid, integer) is
  'Moves a batch of submissions from a category to another or to none; returns how many.';

create function private.replace_tag(organization_id uuid, from_id uuid, to_id uuid, batch integer)
  returns integer
language plpgsql set search_path = '' as $$
declare ids uuid[];
begin
  ids := array(select st.submission_id from public.submission_tags st
    join public.submissions s on s.id = st.submission_id
    where st.organization_id = replace_tag.organization_id and st.tag_id = from_id limit batch
    for key share of s skip locked for update of st skip locked);
  -- The submission's own tag takes precedence over a merged one, which is then recorded in the journal.
  insert into private.merged_tags (source_id, tag_id, organization_id)
  select coalesce(f.merged_from, t.merged_from), to_id, f.organization_id
  from public.submission_tags f join public.submission_tags t on t.submission_id = f.submission_id
    and t.tag_id = to_id
  where f.submission_id = any (ids) and f.tag_id = from_id and f.merged_from is distinct from t.merged_from
  on conflict do nothing;
  insert into public.submission_tags as st (organization_id, submission_id, tag_id, merged_from)
  select f.organization_id, f.submission_id, to_id, f.merged_from from public.submission_tags f
  where f.submission_id = any (ids) and f.tag_id = from_id and to_id is not null order by f.submission_id
  on conflict on constraint one_of_each_tag do update set merged_from = null where excluded.merged_from
    is null;
  -- Merge journals keep the tag: they move with the last batch or are deleted with the label.
  perform set_config('feedback.suppress_events', 'on', true);
  delete from public.submission_tags st where st.submission_id = any (ids) and st.tag_id = from_id;
  perform set_config('feedback.suppress_events', 'off', true);
  return cardinality(ids);
end
$$;
comment on function private.replace_tag(uuid, uuid, uuid, integer) is
  'Replaces a tag by another or removes it in a batch of submissions; returns how many.';

create function private.retire_label(kind text, organization_id uuid, label_id uuid, into_id uuid,
  batch integer default 2000) returns integer
language plpgsql set search_path = '' as $$
declare moved integer; is_left boolean;
begin
  if kind = 'categories' then
    moved := private.move_to_category(organization_id, label_id, into_id, batch);
    is_left := exists (select from public.submissions s where s.organization_id = retire_label.organization_id
      and s.category_id = label_id);
  else
    moved := private.replace_tag(organization_id, label_id, into_id, batch);
    is_left := exists (select from public.submission_tags st
      where st.organization_id = retire_label.organization_id and st.tag_id = label_id);
  end if;
  if is_left then
    insert into private.retired_labels as r (label_id, organization_id, kind, into_id)
      values (label_id, organization_id, kind, into_id)
    on conflict on constraint retired_labels_pkey do update set into_id = excluded.into_id;
    return moved;
  end if;
  -- Also update the journals, which an unmerge restores.
  insert into private.merged_tags (source_id, tag_id, organization_id)
  select j.source_id, into_id, j.organization_id from private.merged_tags j
  where kind = 'tags' and into_id is not null and j.organization_id = retire_label.organization_id
    and j.tag_id = label_id
  on conflict do nothing;
  execute format('delete from public.%I l where l.id = $1', kind) using label_id;
  delete from private.retired_labels r where r.label_id = retire_label.label_id;
  return moved;
end
$$;
comment on function private.retire_label(text, uuid, uuid, uuid, integer) is
  'Moves a batch of submissions of a label and deletes the label when none is left; returns how many. The '
  'caller holds the locks of organization and label, so no row is added.';

create function private.run_retirements() returns integer
language plpgsql set search_path = '' as $$
declare retired private.retired_labels; is_there boolean; is_free boolean; moved integer := 0;
begin
  -- Lock the organization first; skip labels that are locked.
  for retired in
    select r.* from private.retired_labels r join public.organizations o on o.id = r.organization_id
    order by r.retired_at, r.label_id limit 1 for no key update of o skip locked
  loop
    execute format('select exists (select from public.%I l where l.id = $1)', retired.kind) into is_there
      using retired.label_id;
    execute format('select true from public.%I l where l.id = $1 for update skip locked', retired.kind)
      into is_free using retired.label_id;
    if is_free then
      execute format('select l.id from public.%I l where l.id = $1', retired.kind) into retired.into_id
        using retired.into_id;
      moved := private.retire_label(retired.kind, retired.organization_id, retired.label_id, retired.into_id);
      execute format('select exists (select from public.%I l where l.id = $1)', retired.kind) into is_there
        using retired.label_id;
      if not is_there then perform private.emit_organization_update(retired.organization_id,
        array[retired.kind]); end if;
    end if;
    if not is_there then delete from private.retired_labels r where r.label_id = retired.label_id; end if;
  end loop;
  return moved;
end
$$;
comment on function private.run_retirements() is
  'Processes a batch of the oldest label deletion or merge that was too large for one request; returns the '
  'number of submissions.';

create function private.admin_delete_label(kind text, label_id uuid) returns void
-- definer: clients may only read categories and tags
language plpgsql security definer set search_path = '' as $$
declare own_id uuid := private.require_taxonomy_admin(kind); label jsonb;
begin
  perform 1 from public.organizations o where o.id = own_id for no key update;
  label := private.find_label(kind, own_id, label_id);
  update private.retired_labels r set into_id = null where r.into_id = admin_delete_label.label_id;
  perform private.retire_label(kind, own_id, label_id, null);
  perform private.record_label_change(kind, own_id, 'delete', label_id,
    jsonb_build_object('slug', label -> 'slug'));
end
$$;
comment on function private.admin_delete_label(text, uuid) is
  'Deletes a category or tag; submissions stay without it.';

create function private.admin_merge_labels(kind text, label_id uuid, into_id uuid) returns jsonb
-- definer: clients may only read categories and tags
language plpgsql security definer set search_path = '' as $$
declare own_id uuid := private.require_taxonomy_admin(kind); label jsonb; target jsonb; moved bigint;
begin
  if label_id = into_id then
    perform private.raise_error('VALIDATION_ERROR',
      format('A %s cannot be merged into itself.', private.label_noun(kind)), 'into_id');
  end if;
  perform 1 from public.organizations o where o.id = own_id for no key update;
  label := private.find_label(kind, own_id, label_id);
  target := private.find_label(kind, own_id, into_id, true);
  if exists (select from private.retired_labels r where r.label_id = admin_merge_labels.into_id) then
    perform private.raise_error('CONFLICT', format('This %s is being deleted.', private.label_noun(kind)),
      'into_id');
  end if;
  if kind = 'categories' then
    select count(*) into moved from public.submissions s
      where s.organization_id = own_id and s.category_id = label_id;
  else
    select count(*) into moved from public.submission_tags st
      where st.organization_id = own_id and st.tag_id = label_id;
  end if;
  update private.retired_labels r set into_id = admin_merge_labels.into_id
    where r.into_id = admin_merge_labels.label_id;
  perform private.retire_label(kind, own_id, label_id, into_id);
  perform private.record_label_change(kind, own_id, 'merge', label_id,
    jsonb_build_object('slug', label -> 'slug', 'into_id', into_id, 'submissions', moved));
  return private.label_shape(target) || jsonb_build_object('moved', moved);
end
$$;
comment on function private.admin_merge_labels(text, uuid, uuid) is
  'Merges a category or tag into another of the same organization and deletes it. moved: number of '
  'submissions it had.';

grant execute on function private.admin_labels(text), private.admin_create_label(text, jsonb),
  private.admin_update_label(text, uuid, jsonb),
  private.admin_order_categories(uuid[]), private.admin_delete_label(text, uuid),
    private.admin_merge_labels(text, uuid, uuid) to authenticated, service_key;

-- Team members, roles and invites.
--
-- Changes of a team lock its organization before memberships and invites.

-- What always holds -----------------------------------------------------------------------------------------

-- definer: plan limits and memberships are not granted.
create function private.enforce_owner() returns trigger
language plpgsql security definer set search_path = '' as $$
declare organization uuid;
begin
  for organization in select distinct r.organization_id from removed r where r.role = 'owner' order by 1 loop
    -- An update, not only a lock: of two transactions that read the same owners, at any isolation level, one
    -- waits and re-reads, or fails.
    update public.organizations o set updated_at = now() where o.id = organization;
    if found and not exists (select from public.memberships m
      where m.organization_id = organization and m.role = 'owner') then
      perform private.raise_error('CONFLICT',
        'An organization needs an owner: make another member owner first.', 'role');
    end if;
  end loop;
  return null;
end
$$;
comment on function private.enforce_owner() is 'Trigger: the last owner can neither leave nor lose the role.';
create trigger keep_owner_changed after update on public.memberships
  referencing old table as removed for each statement execute function private.enforce_owner();
create trigger keep_owner_removed after delete on public.memberships
  referencing old table as removed for each statement execute function private.enforce_owner();

create function private.enforce_member_limit() returns trigger
language plpgsql security definer set search_path = '' as $$ -- definer: clients may only read memberships
declare organization public.organizations; used bigint;
begin
  for organization in
    select * from public.organizations o
    where o.max_members is not null and o.id in (select organization_id from added)
      order by o.id for no key update
  loop
    select count(*) into used from public.memberships m where m.organization_id = organization.id;
    if used > organization.max_members then
      perform private.raise_error('PLAN_LIMIT_REACHED',
        format('The plan allows %s members.', organization.max_members));
    end if;
  end loop;
  return null;
end
$$;
comment on function private.enforce_member_limit() is 'Trigger: enforces the plan limit on members.';
create trigger keep_member_limit after insert on public.memberships
  referencing new table as added for each statement execute function private.enforce_member_limit();

-- Members ---------------------------------------------------------------------------------------------------

create function private.member_shape(member public.memberships, with_email boolean) returns json
language plpgsql stable set search_path = '' as $$
begin
  return (select json_build_object('user_id', p.id, 'name', coalesce(p.name, 'Anonymous'), 'avatar',
    p.avatar_url,
    'email', case when with_email then p.email end, 'role', member.role, 'joined_at', member.created_at)
    from public.profiles p where p.id = member.user_id);
end
$$;
comment on function private.member_shape(public.memberships, boolean) is
  'JSON of a member; the e-mail address for Admin only.';

-- definer: e-mail addresses are not granted.
create function private.admin_members(organization_id uuid, max_rows integer, skipped integer)
  returns table (total bigint, data json)
language plpgsql stable security definer set search_path = '' as $$
declare
  own_id uuid := private.require_team_member(organization_id, 'members:write');
  for_admin boolean := private.is_admin(own_id, 'members:write');
begin
  return query select
    (select count(*) from public.memberships m where m.organization_id = own_id),
    coalesce((select json_agg(private.member_shape(m, for_admin)
      order by array_position(array['owner', 'admin', 'member'], m.role), m.created_at, m.user_id)
      from (select * from public.memberships m where m.organization_id = own_id
        order by array_position(array['owner', 'admin', 'member'], m.role), m.created_at, m.user_id
          limit max_rows offset skipped) m), '[]');
end
$$;
comment on function private.admin_members(uuid, integer, integer) is
  'Members of a team, owners first, for the team and keys with members:write; addresses for Admin.';

create function private.require_person_admin(organization_id uuid) returns text
language plpgsql stable set search_path = '' as $$
begin
  if private.is_key() then
    perform private.raise_error('FORBIDDEN', 'Only signed-in users may change roles.');
  end if;
  perform private.require_organization_admin(organization_id, '');
  return (select m.role from public.memberships m
    where m.organization_id = require_person_admin.organization_id and m.user_id = private.caller_id());
end
$$;
comment on function private.require_person_admin(uuid) is
  'Returns the role of the calling signed-in Admin; raises NOT_FOUND or FORBIDDEN otherwise.';

create function private.lock_team(organization_id uuid) returns void
language plpgsql set search_path = '' as $$
begin
  perform 1 from public.organizations o where o.id = organization_id for no key update;
end
$$;
comment on function private.lock_team(uuid) is 'Serializes changes of one team.';

create function private.find_member(organization_id uuid, user_id uuid) returns public.memberships
language plpgsql set search_path = '' as $$
declare member public.memberships;
begin
  select * into member from public.memberships m
  where m.organization_id = find_member.organization_id and m.user_id = find_member.user_id for no key update;
  if member.user_id is null then
    perform private.raise_error('NOT_FOUND', 'There is no such member.');
  end if;
  return member;
end
$$;
comment on function private.find_member(uuid, uuid) is
  'Locks and returns a membership; raises NOT_FOUND if there is none.';

create function private.record_member_change(organization_id uuid, action text, user_id uuid, details jsonb)
  returns void
language plpgsql set search_path = '' as $$
begin
  perform private.emit_organization_update(organization_id, '{members}');
  perform private.audit(action, 'profile', user_id, details, organization_id);
end
$$;
comment on function private.record_member_change(uuid, text, uuid, jsonb) is
  'Emits the event and writes the audit log for a change of the team.';

-- definer: clients may only read memberships.
create function private.admin_change_role(organization_id uuid, user_id uuid, role text) returns json
language plpgsql security definer set search_path = '' as $$
declare member public.memberships; own_role text; former text;
begin
  perform private.require_visible_organization(organization_id);
  perform private.lock_team(organization_id);
  own_role := private.require_person_admin(organization_id);
  member := private.find_member(organization_id, user_id);
  if own_role <> 'owner' and 'owner' in (member.role, role) then
    perform private.raise_error('FORBIDDEN', 'Only an owner may grant or change the role owner.');
  end if;
  former := member.role;
  if former <> role then
    update public.memberships m set role = admin_change_role.role
    where m.organization_id = admin_change_role.organization_id and m.user_id = admin_change_role.user_id
      returning m.* into member;
    perform private.record_member_change(organization_id, 'member.change_role', user_id,
      jsonb_build_object('role', jsonb_build_object('from', former, 'to', role)));
  end if;
  return private.member_shape(member, true);
end
$$;
comment on function private.admin_change_role(uuid, uuid, text) is
  'Changes a member''s role. Admins may change admins and members, owners everyone, keys nobody.';

create function private.admin_remove_member(organization_id uuid, user_id uuid) returns void
language plpgsql security definer set search_path = '' as $$ -- definer: clients may only read memberships
declare member public.memberships; leaves boolean := not private.is_key() and user_id = private.caller_id();
begin
  perform private.require_team_member(organization_id, 'members:write');
  perform private.lock_team(organization_id);
  if not leaves then perform private.require_organization_admin(organization_id, 'members:write'); end if;
  member := private.find_member(organization_id, user_id);
  if not leaves and (case when private.is_key() then member.role <> 'member'
      else member.role = 'owner' and private.require_person_admin(organization_id) <> 'owner' end) then
    perform private.raise_error('FORBIDDEN', case when private.is_key()
      then 'A key may remove plain members only.' else 'Only an owner may remove an owner.' end);
  end if;
  delete from public.memberships m where m.organization_id = member.organization_id
    and m.user_id = member.user_id;
  perform private.record_member_change(organization_id, case when leaves then 'member.leave'
    else 'member.remove' end, user_id, jsonb_build_object('role', member.role));
end
$$;
comment on function private.admin_remove_member(uuid, uuid) is
  'Removes a member: members may remove themselves, admins anyone but owners, owners anyone, keys with '
  'members:write plain members.';

create function private.admin_transfer_ownership(organization_id uuid, user_id uuid) returns json
language plpgsql security definer set search_path = '' as $$ -- definer: clients may only read memberships
declare member public.memberships; own_id uuid := private.caller_id();
begin
  perform private.require_visible_organization(organization_id);
  perform private.lock_team(organization_id);
  if private.require_person_admin(organization_id) <> 'owner' then
    perform private.raise_error('FORBIDDEN', 'Only an owner may transfer the organization.');
  end if;
  member := private.find_member(organization_id, user_id);
  if user_id <> own_id then
    update public.memberships m set role = case when m.user_id = own_id then 'admin' else 'owner' end
    where m.organization_id = member.organization_id and m.user_id
      in (own_id, admin_transfer_ownership.user_id);
    perform private.record_member_change(organization_id, 'member.transfer', user_id,
      jsonb_build_object('role', jsonb_build_object('from', member.role, 'to', 'owner')));
    member.role := 'owner';
  end if;
  return private.member_shape(member, true);
end
$$;
comment on function private.admin_transfer_ownership(uuid, uuid) is
  'The calling owner makes another member owner and becomes admin.';

-- Invites ---------------------------------------------------------------------------------------------------

create table private.invites (
  id uuid primary key default gen_random_uuid(),
  organization_id uuid not null references public.organizations (id) on delete cascade,
  email text not null,
  role text not null,
  digest bytea not null constraint invite_digests_are_unique unique,
  invited_by uuid not null references public.profiles (id) on delete cascade,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null default now() + interval '7 days',
  revoked_at timestamptz,
  accepted_at timestamptz,
  accepted_by uuid references public.profiles (id) on delete cascade,
  constraint role_is_known check (role in ('owner', 'admin', 'member')),
  constraint email_is_lower_case check (email = lower(email)),
  constraint digest_is_sha256 check (octet_length(digest) = 32),
  constraint accepted_by_somebody check ((accepted_at is null) = (accepted_by is null)),
  constraint accepted_or_revoked check (accepted_at is null or revoked_at is null)
);
comment on table private.invites is
  'Pending and past invites to a team. Stores only the SHA-256 of the token.';
create unique index one_open_invite_an_address on private.invites (organization_id, email)
  where accepted_at is null and revoked_at is null;
create index invites_newest_idx on private.invites (organization_id, created_at desc, id desc);
create index invites_invited_by_idx on private.invites (invited_by);
create index invites_accepted_by_idx on private.invites (accepted_by);
create index invites_age_idx on private.invites (expires_at);
alter table private.invites enable row level security;
revoke all on private.invites from public, anon, authenticated, service_role, service_key;

create function private.invite_shape(invite private.invites) returns json
language plpgsql stable set search_path = '' as $$
begin
  return json_build_object('id', invite.id, 'email', invite.email, 'role', invite.role,
    'status', case when invite.accepted_at is not null then 'accepted'
      when invite.revoked_at is not null or not private.inviter_is_authorized(invite) then 'revoked'
      when invite.expires_at <= now() then 'expired' else 'open' end,
    'invited_by', (select json_build_object('id', p.id, 'name', coalesce(p.name, 'Anonymous'))
      from public.profiles p where p.id = invite.invited_by),
    'created_at', invite.created_at, 'expires_at', invite.expires_at);
end
$$;
comment on function private.invite_shape(private.invites) is
  'JSON of an invite for Admin, without the digest.';

-- definer: private tables.
create function private.admin_invites(organization_id uuid, max_rows integer, skipped integer)
  returns table (total bigint, data json)
language plpgsql stable security definer set search_path = '' as $$
declare own_id uuid := private.require_organization_admin(organization_id, 'members:write');
begin
  return query select
    (select count(*) from private.invites i where i.organization_id = own_id),
    coalesce((select json_agg(private.invite_shape(i) order by i.created_at desc, i.id desc)
      from (select * from private.invites i where i.organization_id = own_id
        order by i.created_at desc, i.id desc limit max_rows offset skipped) i), '[]');
end
$$;
comment on function private.admin_invites(uuid, integer, integer) is
  'Invites to the team, newest first, for Admin and keys with members:write.';

create function private.admin_invite(organization_id uuid, email text, role text, digest bytea) returns json
language plpgsql security definer set search_path = '' as $$ -- definer: clients may only read memberships
declare organization public.organizations; own_role text; address text := lower(email); invite
  private.invites; expected bigint;
begin
  perform private.require_visible_organization(organization_id);
  perform private.lock_team(organization_id);
  own_role := private.require_person_admin(organization_id);
  select * into organization from public.organizations o where o.id = organization_id;
  if role = 'owner' and own_role <> 'owner' then
    perform private.raise_error('FORBIDDEN', 'Only an owner may invite an owner.', 'role');
  end if;
  if exists (select from public.memberships m join public.profiles p on p.id = m.user_id
      where m.organization_id = organization.id and lower(p.email) = address) then
    perform private.raise_error('CONFLICT', 'This person is a team member already.', 'email');
  end if;
  update private.invites i set revoked_at = now()
  where i.organization_id = organization.id and i.email = address and i.accepted_at is null and i.revoked_at
    is null;
  expected := (select count(*) from public.memberships m where m.organization_id = organization.id)
    + (select count(*) from private.invites i where i.organization_id = organization.id
        and i.accepted_at is null and i.revoked_at is null and i.expires_at > now()
          and private.inviter_is_authorized(i));
  if expected >= organization.max_members then
    perform private.raise_error('PLAN_LIMIT_REACHED',
      format('The plan allows %s members, and with those invited there are %s.', organization.max_members,
      expected));
  end if;
  if expected >= 10000 then
    perform private.raise_error('CONFLICT', 'A team has at most 10,000 members and invites.');
  end if;
  insert into private.invites (organization_id, email, role, digest, invited_by)
  values (organization.id, address, role, digest, private.caller_id()) returning * into invite;
  perform private.audit('invite.create', 'invite', invite.id, jsonb_build_object('role', role),
    organization.id);
  return private.invite_shape(invite);
end
$$;
comment on function private.admin_invite(uuid, text, text, bytea) is
  'Invites an e-mail address for 7 days and replaces an earlier invite of it. Takes the digest of the '
  'token. Admins may invite admins and members, owners also owners.';

create function private.admin_revoke_invite(organization_id uuid, invite_id uuid) returns json
language plpgsql security definer set search_path = '' as $$ -- definer: clients may only read memberships
declare own_id uuid := private.require_organization_admin(organization_id, 'members:write'); invite
  private.invites;
begin
  perform private.lock_team(own_id);
  select * into invite from private.invites i where i.organization_id = own_id and i.id = invite_id;
  if invite.id is null then return null; end if;
  if invite.accepted_at is not null then
    perform private.raise_error('CONFLICT', 'This invite was accepted: remove the member instead.');
  end if;
  if invite.revoked_at is null then
    update private.invites i set revoked_at = now() where i.id = invite.id returning * into invite;
    perform private.audit('invite.revoke', 'invite', invite.id, '{}', own_id);
  end if;
  return private.invite_shape(invite);
end
$$;
comment on function private.admin_revoke_invite(uuid, uuid) is
  'Revokes an invite; repeating it is not an error. Returns null if there is no such invite.';

create function private.inviter_is_authorized(invite private.invites) returns boolean
language plpgsql stable set search_path = '' as $$
begin
  return exists (select from public.memberships m where m.organization_id = invite.organization_id
    and m.user_id = invite.invited_by
    and (m.role = 'owner' or m.role = 'admin' and invite.role <> 'owner'));
end
$$;
comment on function private.inviter_is_authorized(private.invites) is
  'Whether the inviter could create the invite now; an invite of a removed admin is not valid.';

create function private.accept_invite(digest bytea) returns table (joined boolean, data json)
-- definer: private tables; checks the invited address
language plpgsql security definer set search_path = '' as $$
declare invite private.invites; member public.memberships; own_id uuid := private.caller_id(); was_new boolean
  := false;
begin
  perform private.lock_team((select i.organization_id from private.invites i
    where i.digest = accept_invite.digest));
  select * into invite from private.invites i where i.digest = accept_invite.digest;
  if invite.id is null then
    perform private.raise_error('NOT_FOUND', 'There is no such invite.', 'token');
  end if;
  if not exists (select from public.profiles p
    where p.id = own_id and p.kind = 'user' and lower(p.email) = invite.email) then
    perform private.raise_error('FORBIDDEN',
      'This invite is for another e-mail address: sign in with that address.');
  end if;
  select * into member from public.memberships m where m.organization_id = invite.organization_id
    and m.user_id = own_id;
  if invite.accepted_at is not null and member.user_id is null or invite.accepted_by <> own_id then
    perform private.raise_error('GONE', 'This invite was used: ask for another.', 'token');
  elsif invite.accepted_at is null then
    if invite.revoked_at is not null or invite.expires_at <= now()
      or not private.inviter_is_authorized(invite) then
      perform private.raise_error('GONE', 'This invite is no longer valid: ask for another.', 'token');
    end if;
    if member.user_id is null then
      was_new := true;
      insert into public.memberships (organization_id, user_id, role)
        values (invite.organization_id, own_id, invite.role) returning * into member;
      perform private.emit_event(invite.organization_id, 'member.joined', own_id,
        (select jsonb_build_object('member', jsonb_build_object(
        'user_id', p.id, 'name', coalesce(p.name, 'Anonymous'), 'role', member.role, 'joined_at',
          member.created_at)) from public.profiles p where p.id = own_id));
    end if;
    update private.invites i set accepted_at = now(), accepted_by = own_id where i.id = invite.id;
    perform private.audit('invite.accept', 'invite', invite.id,
      jsonb_build_object('role', member.role, 'user_id', own_id), invite.organization_id);
  end if;
  return query select was_new, json_build_object(
    'organization', (select json_build_object('id', o.id, 'slug', o.slug, 'name', o.name)
      from public.organizations o where o.id = invite.organization_id),
    'role', member.role, 'joined_at', member.created_at);
end
$$;
comment on function private.accept_invite(bytea) is
  'The signed-in user joins the team that invited their address; repeating it is not an error. Raises '
  'NOT_FOUND for an unknown token, FORBIDDEN for another address, GONE if revoked, expired or used.';

grant execute on function private.admin_members(uuid, integer, integer),
  private.admin_remove_member(uuid, uuid),
  private.admin_invites(uuid, integer, integer), private.admin_revoke_invite(uuid, uuid) to authenticated,
    service_key;
grant execute on function private.admin_change_role(uuid, uuid, text),
  private.admin_transfer_ownership(uuid, uuid),
  private.admin_invite(uuid, text, text, bytea), private.accept_invite(bytea) to authenticated;

-- Bulk changes of submissions, each applied on its own.

create function private.bulk_item(submission_id uuid, action text, wanted text[], ids uuid[], note text,
  notify boolean) returns bigint
language plpgsql set search_path = '' as $$
declare changed bigint;
begin
  case action
    when 'set_status' then
      insert into public.status_changes (organization_id, submission_id, new_status, note, notify)
      select s.organization_id, s.id, wanted[1], bulk_item.note, bulk_item.notify from public.submissions s
        where s.id = bulk_item.submission_id;
    when 'set_category' then
      update public.submissions s set category_id = ids[1]
        where s.id = bulk_item.submission_id and s.category_id is distinct from ids[1];
    when 'add_tags' then
      insert into public.submission_tags (organization_id, submission_id, tag_id)
      select s.organization_id, s.id, t from public.submissions s, unnest(ids) t
        where s.id = bulk_item.submission_id
      on conflict do nothing;
    when 'remove_tags' then
      delete from public.submission_tags st where st.submission_id = bulk_item.submission_id
        and st.tag_id = any (ids);
    when 'delete' then
      delete from public.submissions s where s.id = bulk_item.submission_id;
  end case;
  get diagnostics changed = row_count;
  return changed;
end
$$;
comment on function private.bulk_item(uuid, text, text[], uuid[], text, boolean) is
  'Applies a bulk operation to one submission through the same tables and triggers as a single change; '
  'returns the number of changed rows.';

create function private.ids_of(what text, organization_id uuid, wanted text[]) returns uuid[]
language plpgsql stable set search_path = '' as $$
declare ids uuid[]; unknown text;
begin
  if what = 'category' then
    ids := array(select c.id from public.categories c where c.organization_id = ids_of.organization_id
      and (c.slug = any (wanted) or c.id::text = any (wanted)));
  else
    ids := array(select t.id from public.tags t where t.organization_id = ids_of.organization_id
      and (t.slug = any (wanted) or t.id::text = any (wanted)) order by t.id);
  end if;
  if cardinality(ids) < cardinality(wanted) then
    perform private.raise_error('VALIDATION_ERROR',
      format('names a %s that this organization does not have', what), 'value');
  end if;
  return ids;
end
$$;
comment on function private.ids_of(text, uuid, text[]) is
  'Ids of categories or tags of an organization by id or slug; raises VALIDATION_ERROR for an unknown one.';

-- definer: applies team operations; requires Admin.
create function private.admin_bulk(submission_ids uuid[], action text, wanted text[], note text,
  notify boolean) returns json
language plpgsql security definer set search_path = '' as $$
declare
  own_id uuid := private.current_organization_id();
  ids uuid[];
  submission_id uuid;
  changed bigint;
  results jsonb := '[]';
  state text; message text; detail text;
begin
  perform private.require_admin(own_id, 'submissions:moderate');
  wanted := array(select distinct lower(w) from unnest(wanted) w);
  if action = 'set_category' then ids := private.ids_of('category', own_id, wanted);
  elsif action in ('add_tags', 'remove_tags') then ids := private.ids_of('tag', own_id, wanted);
  end if;
  -- Take all locks first and in order, to prevent deadlocks.
  perform 1 from public.submissions s where s.organization_id = own_id and s.id = any (submission_ids)
    order by s.id for no key update;
  perform private.lock_counts(own_id);
  for submission_id in select s.id from unnest(submission_ids) with ordinality as s (id, place) group by s.id
    order by min(s.place) loop
    begin
      if not exists (select from public.submissions s
        where s.id = submission_id and s.organization_id = own_id) then
        perform private.raise_error('NOT_FOUND', 'There is no such submission.', 'ids');
      end if;
      changed := private.bulk_item(submission_id, action, wanted, ids, note, notify);
      -- A status change emits its own event.
      if changed > 0 and action <> 'set_status' then
        perform private.audit('submission.' || action, 'submission', submission_id,
          jsonb_strip_nulls(jsonb_build_object(
          'value', case when action <> 'delete' then to_jsonb(wanted) end)), own_id);
      end if;
      results := results || jsonb_build_object('id', submission_id, 'ok', true, 'changed', changed > 0);
    exception when others then
      get stacked diagnostics state = returned_sqlstate, message = message_text, detail = pg_exception_detail;
      -- Only API errors become item results; any other error fails the request.
      if state not like 'FB%' or state in ('FB500', 'FB503') then raise; end if;
      results := results || jsonb_build_object('id', submission_id, 'ok', false, 'changed', false,
        'error', jsonb_build_object('code', detail::jsonb ->> 'code', 'message', message));
    end;
  end loop;
  return results;
end
$$;
comment on function private.admin_bulk(uuid[], text, text[], text, boolean) is
  'Applies set_status, set_category, add_tags, remove_tags or delete to submissions of the current '
  'organization, each completely or not at all, independent of the others. For Admin or keys with '
  'submissions:moderate.';
grant execute on function private.admin_bulk(uuid[], text, text[], text, boolean) to authenticated,
  service_key;

-- Export of an organization as records, in pages. private.write_import reads the same records, except
-- members.

create function private.person_record(profile_id uuid) returns jsonb
language plpgsql stable set search_path = '' as $$
declare person public.profiles;
begin
  select * into person from public.profiles p where p.id = profile_id;
  return jsonb_build_object('author_email', person.email, 'author_name', person.name, 'author_id', case
    when person.email is null then
    coalesce(private.exported_id('person', person.id), person.id::text) end);
end
$$;
comment on function private.person_record(uuid) is
  'How a record names a person: by e-mail address, or without one by id.';

create function private.exported_id(kind text, row_id uuid) returns text
language plpgsql stable set search_path = '' as $$
begin
  -- Use the id of the first export, so that a copy of a copy has equal ids.
  return case kind
    when 'submission' then (select e.external_id from private.external_ids e
      where e.submission_id = row_id and e.source = 'feedback' order by 1 limit 1)
    when 'comment' then (select e.external_id from private.external_ids e
      where e.comment_id = row_id and e.source = 'feedback' order by 1 limit 1)
    when 'survey' then (select e.external_id from private.external_ids e
      where e.survey_id = row_id and e.source = 'feedback' order by 1 limit 1)
    when 'response' then (select e.external_id from private.external_ids e
      where e.response_id = row_id and e.source = 'feedback' order by 1 limit 1)
    else (select e.external_id from private.external_ids e
      where e.profile_id = row_id and e.source = 'feedback' order by 1 limit 1)
  end;
end
$$;
comment on function private.exported_id(text, uuid) is
  'External id of an imported row in its source; null otherwise.';

create function private.exported_questions(survey_id uuid) returns jsonb
language plpgsql stable set search_path = '' as $$
declare named text := private.exported_id('survey', survey_id);
begin
  return coalesce((
    select jsonb_object_agg(q.id, coalesce(substr(e.external_id, char_length(named) + 2), q.id::text))
    from public.survey_questions q left join private.external_ids e on e.question_id = q.id
      and e.source = 'feedback'
    where q.survey_id = exported_questions.survey_id), '{}');
end
$$;
comment on function private.exported_questions(uuid) is
  'Question ids of a survey in an export: {id: external id, or its own id}.';

create function private.export_rows(organization_id uuid, what text, after text[], max_rows integer)
  returns table (at text[], record jsonb)
language plpgsql stable set search_path = '' as $$
declare
  nil constant uuid := '00000000-0000-0000-0000-000000000000';
  asked_id uuid;
  left_over integer := max_rows;
  asked jsonb;
  told integer;
  first_id uuid := case when what not in ('categories', 'tags', 'submissions', 'merged', 'surveys')
    then coalesce(after[1], nil::text)::uuid end;
begin
  case what
    when 'organization' then
      return query select array['1'], to_jsonb(o) - 'id' - 'is_default' || '{"kind": "organization"}'
      from public.organizations o where o.id = export_rows.organization_id and after is null;
    when 'members' then
      return query select array[m.user_id::text],
        jsonb_build_object('kind', 'member', 'email', p.email, 'name', p.name, 'role', m.role, 'created_at',
        m.created_at)
      from public.memberships m join public.profiles p on p.id = m.user_id
      where m.organization_id = export_rows.organization_id and m.user_id > first_id
        order by m.user_id limit max_rows;
    when 'categories' then
      return query select array[c.slug],
        jsonb_build_object('kind', 'category', 'slug', c.slug, 'name', c.name, 'color', c.color,
        'position', c.position, 'translations', c.translations)
      from public.categories c where c.organization_id = export_rows.organization_id
        and c.slug > coalesce(after[1], '') order by c.slug limit max_rows;
    when 'tags' then
      return query select array[t.slug],
        jsonb_build_object('kind', 'tag', 'slug', t.slug, 'name', t.name, 'color', t.color, 'translations',
        t.translations)
      from public.tags t where t.organization_id = export_rows.organization_id
        and t.slug > coalesce(after[1], '') order by t.slug limit max_rows;
    when 'submissions' then
      return query select array[s.created_at::text, s.id::text], private.submission_record(s)
        from public.submissions s
      where s.organization_id = export_rows.organization_id and s.merged_into_id is null
        and (s.created_at, s.id) > (coalesce(after[1], '-infinity')::timestamptz,
          coalesce(after[2], nil::text)::uuid)
      order by s.created_at, s.id limit max_rows;
    when 'merged' then
      return query select array[s.created_at::text, s.id::text], private.submission_record(s)
        from public.submissions s
      where s.organization_id = export_rows.organization_id and s.merged_into_id is not null
        and (s.created_at, s.id) > (coalesce(after[1], '-infinity')::timestamptz,
          coalesce(after[2], nil::text)::uuid)
      order by s.created_at, s.id limit max_rows;
    when 'follows' then
      return query select array[s.id::text, f.user_id::text],
        private.person_record(f.user_id) || jsonb_build_object('kind', 'follow',
        'submission_id', coalesce(private.exported_id('submission', s.id), s.id::text), 'reason', f.reason,
          'created_at', f.created_at)
      from public.submissions s join public.follows f on f.submission_id = s.id
      where s.organization_id = export_rows.organization_id and s.id >= first_id
        and (s.id, f.user_id) > (first_id, coalesce(after[2], nil::text)::uuid)
      order by s.id, f.user_id limit max_rows;
    when 'comments' then
      -- Parents before replies, also if both have the same time.
      return query select array[s.id::text, c.created_at::text, coalesce(c.parent_id, nil)::text, c.id::text],
        private.person_record(c.author_id) || jsonb_build_object('kind', 'comment', 'id',
          coalesce(private.exported_id('comment', c.id), c.id::text),
        'submission_id', coalesce(private.exported_id('submission', s.id), s.id::text),
        'parent_id', coalesce(private.exported_id('comment', c.parent_id), c.parent_id::text), 'body', c.body,
          'is_official', c.is_official,
        'moderation_state', c.moderation_state, 'vote_count', c.vote_count, 'created_at', c.created_at,
          'updated_at', c.updated_at,
        'follow', exists (select from public.follows f
          where f.submission_id = s.id and f.user_id = c.author_id))
      from public.submissions s join public.comments c on c.submission_id = s.id
      where s.organization_id = export_rows.organization_id and s.id >= first_id
        and (s.id, c.created_at, coalesce(c.parent_id, nil), c.id) >
          (first_id, coalesce(after[2], '-infinity')::timestamptz,
          coalesce(after[3], nil::text)::uuid, coalesce(after[4], nil::text)::uuid)
      order by s.id, c.created_at, coalesce(c.parent_id, nil), c.id limit max_rows;
    when 'votes' then
      return query select array[s.id::text, v.id::text],
        private.person_record(v.user_id) || jsonb_build_object('kind', 'vote',
        'submission_id', coalesce(private.exported_id('submission', s.id), s.id::text), 'created_at',
          v.created_at,
        'follow', exists (select from public.follows f
          where f.submission_id = s.id and f.user_id = v.user_id))
      from public.submissions s join public.votes v on v.submission_id = s.id
      where s.organization_id = export_rows.organization_id and s.id >= first_id
        and (s.id, v.id) > (first_id, coalesce(after[2], nil::text)::uuid)
      order by s.id, v.id limit max_rows;
    when 'comment_votes' then
      return query select array[s.id::text, c.id::text, v.id::text],
        private.person_record(v.user_id) || jsonb_build_object('kind', 'comment_vote',
        'comment_id', coalesce(private.exported_id('comment', c.id), c.id::text), 'created_at', v.created_at)
      from public.submissions s join public.comments c on c.submission_id = s.id
        join public.comment_votes v on v.comment_id = c.id
      where s.organization_id = export_rows.organization_id and s.id >= first_id
        and (s.id, c.id, v.id) > (first_id, coalesce(after[2], nil::text)::uuid,
          coalesce(after[3], nil::text)::uuid)
      order by s.id, c.id, v.id limit max_rows;
    when 'surveys' then
      return query select array[s.created_at::text, s.id::text], private.survey_record(s)
        from public.surveys s
      where s.organization_id = export_rows.organization_id
        and (s.created_at, s.id) > (coalesce(after[1], '-infinity')::timestamptz,
          coalesce(after[2], nil::text)::uuid)
      order by s.created_at, s.id limit max_rows;
    when 'survey_responses' then
      -- Survey by survey, so that each page starts with an index lookup.
      for asked_id in select s.id from public.surveys s where s.organization_id = export_rows.organization_id
        and s.id >= first_id order by s.id loop
        asked := private.exported_questions(asked_id);
        return query select array[r.survey_id::text, r.submitted_at::text, r.id::text],
          case when r.user_id is null then '{}'
            else private.person_record(r.user_id) end || jsonb_build_object('kind', 'survey_response',
          'id', coalesce(private.exported_id('response', r.id), r.id::text),
          'survey_id', coalesce(private.exported_id('survey', r.survey_id), r.survey_id::text),
          'answers', (select coalesce(jsonb_agg(a.value ||
            jsonb_build_object('question_id', asked -> (a.value ->> 'question_id')) order by a.n), '[]')
            from jsonb_array_elements(r.answers) with ordinality as a (value, n)),
          'locale', r.locale, 'sentiment', r.sentiment, 'sentiment_score', r.sentiment_score,
            'sentiment_engine', r.sentiment_engine,
          'started_at', r.started_at, 'submitted_at', r.submitted_at)
        from public.survey_responses r
        where r.survey_id = asked_id and (r.submitted_at, r.id) > (
          case when asked_id = first_id then after[2]
            else '-infinity' end::timestamptz, coalesce(after[3], nil::text)::uuid)
        order by r.submitted_at, r.id limit left_over;
        get diagnostics told = row_count;
        left_over := left_over - told;
        exit when left_over = 0;
      end loop;
    else
      return query select array[s.id::text, h.created_at::text, h.id::text],
        case when h.changed_by is null then '{}'
          else private.person_record(h.changed_by) end || jsonb_build_object('kind', 'status_change',
        'submission_id', coalesce(private.exported_id('submission', s.id), s.id::text), 'previous_status',
          h.previous_status,
        'new_status', h.new_status, 'note', h.note, 'created_at', h.created_at)
      from public.submissions s join public.status_changes h on h.submission_id = s.id
      where s.organization_id = export_rows.organization_id and s.id >= first_id
        and (s.id, h.created_at, h.id) > (first_id, coalesce(after[2], '-infinity')::timestamptz,
          coalesce(after[3], nil::text)::uuid)
      order by s.id, h.created_at, h.id limit max_rows;
  end case;
end
$$;
comment on function private.export_rows(uuid, text, text[], integer) is
  'The next rows of a kind after a position, as records with their positions.';

create function private.submission_record(submission public.submissions) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return private.person_record(submission.author_id) || jsonb_build_object('kind', 'submission',
    'id', coalesce(private.exported_id('submission', submission.id), submission.id::text),
    'title', submission.title, 'description', submission.description, 'type', submission.type, 'status',
      submission.status,
    'category', (select c.slug from public.categories c where c.id = submission.category_id),
    'tags', array(select t.slug from public.submission_tags st join public.tags t on t.id = st.tag_id
      where st.submission_id = submission.id order by t.slug),
    'source', submission.source, 'tracker_issue_url', submission.tracker_issue_url, 'moderation_state',
      submission.moderation_state,
    'merged_into_id', coalesce(private.exported_id('submission', submission.merged_into_id),
      submission.merged_into_id::text),
    'vote_count', submission.vote_count, 'comment_count', submission.comment_count,
    'created_at', submission.created_at, 'updated_at', submission.updated_at,
    'author_votes', exists (select from public.votes v
      where v.submission_id = submission.id and v.user_id = submission.author_id
        and v.created_at = submission.created_at),
    'follow', exists (select from public.follows f
      where f.submission_id = submission.id and f.user_id = submission.author_id));
end
$$;
comment on function private.submission_record(public.submissions) is
  'A submission as a record. author_votes: whether the author''s creation vote exists; other votes are '
  'separate records.';

create function private.survey_record(survey public.surveys) returns jsonb
language plpgsql stable set search_path = '' as $$
declare asked jsonb := private.exported_questions(survey.id);
begin
  return jsonb_build_object('kind', 'survey', 'id',
    coalesce(private.exported_id('survey', survey.id), survey.id::text), 'title', survey.title, 'description',
    survey.description, 'status', survey.status,
    'questions', coalesce((
      select jsonb_agg(jsonb_build_object('id', asked -> q.id::text, 'type', q.type, 'text', q.text,
        'required', q.required, 'multiple', q.multiple, 'scale', q.scale,
        'options', (select jsonb_agg(o.text order by o.position) from public.survey_options o
          where o.question_id = q.id)) order by q.position)
      from public.survey_questions q where q.survey_id = survey.id), '[]'),
    'allow_multiple_responses', survey.allow_multiple_responses, 'show_branding', survey.show_branding,
      'redirect_url', survey.redirect_url,
    'audience', survey.audience, 'audience_submission_id',
    coalesce(private.exported_id('submission', survey.audience_submission_id),
      survey.audience_submission_id::text),
    'locales', survey.locales, 'closes_at', survey.closes_at,
    'version_of', coalesce(private.exported_id('survey', survey.version_of), survey.version_of::text),
      'published_at', survey.published_at,
    'closed_at', survey.closed_at, 'created_at', survey.created_at, 'updated_at', survey.updated_at);
end
$$;
comment on function private.survey_record(public.surveys) is
  'A survey as a record, with its questions in order.';

create function private.export_page(organization_id uuid, what text, after text[], max_rows integer)
  returns table (total bigint, last text[], records text)
language plpgsql stable set search_path = '' as $$
begin
  return query
    with page as materialized (
      select p.at, p.record, p.nth from
        private.export_rows(export_page.organization_id, what, after, max_rows) with ordinality as p
        (at, record, nth)
    )
    select (select count(*) from page), (select p.at from page p order by p.nth desc limit 1),
      (select string_agg(jsonb_strip_nulls(p.record)::text, E'\n' order by p.nth) from page p);
end
$$;
comment on function private.export_page(uuid, text, text[], integer) is
  'A page of an export: one JSON record on each line, and the position of the last.';

create function private.export_scope(what text) returns text
language sql immutable
return case what
  when 'organization' then 'organization:write'
  when 'members' then 'members:write'
  when 'surveys' then 'surveys:read'
  when 'survey_responses' then 'responses:read'
  else 'submissions:moderate'
end;
comment on function private.export_scope(text) is
  'Scope a key needs to export rows of a kind, in addition to submissions:moderate.';

-- definer: e-mail addresses and voters are not granted; requires Admin for each page.
create function private.admin_export_page(what text, after text[], max_rows integer)
  returns table (total bigint, last text[], records text)
language plpgsql stable security definer set search_path = '' as $$
declare own_id uuid := private.current_organization_id();
begin
  perform private.require_admin(own_id, 'submissions:moderate');
  -- An export of everything contains what the key may read.
  if private.is_admin(own_id, private.export_scope(what)) then
    return query select * from private.export_page(own_id, what, after, max_rows);
  end if;
end
$$;
comment on function private.admin_export_page(text, text[], integer) is
  'A page of an export of the current organization for Admin and keys with submissions:moderate. Empty for '
  'keys without private.export_scope.';

-- definer: the audit log is not granted.
create function private.admin_start_export(what text, format text) returns void
language plpgsql security definer set search_path = '' as $$
declare own_id uuid := private.current_organization_id();
begin
  perform private.require_admin(own_id, 'submissions:moderate');
  perform private.require_admin(own_id, private.export_scope(what));
  perform private.audit('organization.export', 'organization', own_id,
    jsonb_build_object('what', what, 'format', format), own_id);
end
$$;
comment on function private.admin_start_export(text, text) is 'Logs the start of an export in the audit log.';
grant execute on function private.admin_start_export(text, text),
  private.admin_export_page(text, text[], integer) to authenticated, service_key;

-- Imports, and their files as they are received. Steps write what is in them (98_import_4_steps.sql).

create table private.imports (
  id uuid primary key default gen_random_uuid(),
  organization_id uuid not null references public.organizations (id) on delete cascade,
  source text not null,
  format text not null,
  is_dry_run boolean not null,
  makes_missing boolean not null,
  state text not null default 'running',
  processed integer not null default 0,
  created integer not null default 0,
  skipped integer not null default 0,
  failed integer not null default 0,
  problem text,
  query jsonb,
  file_type text,
  profile_id uuid,
  key_id uuid,
  bytes bigint not null default 0,
  position jsonb not null default '{"at": 0, "line": 1}',
  chunks_done integer not null default 0,
  nameless_votes integer,
  claimed_until timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint imports_belong_to_their_organization unique (organization_id, id),
  constraint source_is_a_slug check (private.is_slug(source)),
  constraint state_is_known check (state in ('receiving', 'running', 'completed', 'failed', 'canceled'))
);
comment on table private.imports is
  'Imports and their progress. processed = created + skipped + failed; problem: why an import failed. A job '
  'has a query: its file is stored first and then written in steps with the credential that sent it. '
  'position: where the next rows start in the file; chunks_done: number of written chunks of these rows; '
  'claimed_until: lease of the schedule.';
create index imports_newest_idx on private.imports (organization_id, created_at desc, id desc);
create index imports_running_idx on private.imports (updated_at) where state in ('receiving', 'running');

create table private.import_errors (
  organization_id uuid not null,
  import_id uuid not null,
  id bigint generated always as identity,
  file text,
  line integer not null,
  field text,
  message text not null,
  primary key (organization_id, import_id, id),
  constraint import_errors_import_is_of_the_same_organization foreign key (organization_id, import_id)
    references private.imports (organization_id, id) on delete cascade
);
comment on table private.import_errors is
  'The first 100 errors of an import by line, without values from the file.';

create table private.import_file_parts (
  organization_id uuid not null,
  import_id uuid not null,
  n integer not null,
  bytes bytea not null,
  primary key (organization_id, import_id, n),
  constraint import_file_parts_import_is_of_the_same_organization foreign key (organization_id, import_id)
    references private.imports (organization_id, id) on delete cascade
);
comment on table private.import_file_parts is 'The file of an unfinished import, in parts of 1 MiB.';

create table private.import_ids (
  organization_id uuid not null,
  import_id uuid not null,
  kind text not null,
  external_id text not null,
  primary key (organization_id, import_id, kind, external_id),
  constraint import_ids_import_is_of_the_same_organization foreign key (organization_id, import_id)
    references private.imports (organization_id, id) on delete cascade
);
comment on table private.import_ids is 'Ids seen in earlier chunks of a dry run, which rolls back its rows.';

alter table private.imports enable row level security;
alter table private.import_errors enable row level security;
alter table private.import_file_parts enable row level security;
alter table private.import_ids enable row level security;
revoke all on private.imports, private.import_errors, private.import_file_parts, private.import_ids
  from public, anon, authenticated, service_role, service_key;

create function private.start_import(organization_id uuid, format text, source text, is_dry_run boolean,
  makes_missing boolean) returns uuid
language plpgsql set search_path = '' as $$
declare import_id uuid;
begin
  insert into private.imports (organization_id, format, source, is_dry_run, makes_missing)
  values (organization_id, format, source, is_dry_run, makes_missing) returning id into import_id;
  perform private.audit('import.start', 'import', import_id,
    jsonb_build_object('format', format, 'source', source, 'dry_run', is_dry_run), organization_id);
  return import_id;
end
$$;
comment on function private.start_import(uuid, text, text, boolean, boolean) is
  'Starts an import; call private.run_import for each chunk, then private.finish_import.';

create function private.finish_import(import_id uuid, problem text) returns json
language plpgsql set search_path = '' as $$
begin
  update private.imports i set
    state = case when finish_import.problem is null then 'completed' else 'failed' end,
    problem = finish_import.problem, updated_at = clock_timestamp()
  where i.id = import_id and i.state in ('receiving', 'running');
  perform private.drop_import_file(import_id);
  return (select private.import_shape(i) from private.imports i where i.id = import_id);
end
$$;
comment on function private.finish_import(uuid, text) is
  'Finishes an import; problem says why it failed, or null.';

create function private.drop_import_file(import_id uuid) returns void
language plpgsql set search_path = '' as $$
begin
  delete from private.import_file_parts p using private.imports i
  where i.id = drop_import_file.import_id and p.organization_id = i.organization_id and p.import_id = i.id;
  delete from private.import_ids d using private.imports i
  where i.id = drop_import_file.import_id and d.organization_id = i.organization_id and d.import_id = i.id;
end
$$;
comment on function private.drop_import_file(uuid) is 'Deletes the stored file of an import.';

create function private.import_shape(import private.imports) returns json
language plpgsql stable set search_path = '' as $$
begin
  return json_build_object('id', import.id, 'format', import.format, 'source', import.source, 'dry_run',
    import.is_dry_run,
    'state', import.state, 'bytes', import.bytes,
    'bytes_read', case when import.state = 'completed' then import.bytes
      else (import.position ->> 'at')::bigint end,
    'processed', import.processed, 'created', import.created, 'skipped', import.skipped, 'failed',
      import.failed, 'problem', import.problem,
    'errors', coalesce((select json_agg(jsonb_strip_nulls(jsonb_build_object('file', e.file))
        || jsonb_build_object('line', e.line, 'field', e.field, 'message', e.message) order by e.id)
      from private.import_errors e where e.organization_id = import.organization_id
        and e.import_id = import.id), '[]'),
    'created_at', import.created_at, 'updated_at', import.updated_at);
end
$$;
comment on function private.import_shape(private.imports) is
  'JSON of an import for Admin, with the first 100 errors.';

create function private.end_idle_imports(organization_id uuid default null) returns integer
language plpgsql set search_path = '' as $$
declare ended integer;
begin
  perform private.finish_import(i.id, case i.state when 'receiving'
    then 'The file stopped arriving: send it again.'
    else format('It made no progress for %s: send the file again.', private.retention('stalled_imports')) end)
  from (
    select w.id, w.state from private.imports w
    where w.state in ('receiving', 'running') and w.query is not null
      and (end_idle_imports.organization_id is null or w.organization_id = end_idle_imports.organization_id)
      and w.updated_at < now() - private.retention(case w.state
        when 'receiving' then 'stalled_uploads' else 'stalled_imports' end)
    -- An import that is still progressing is not idle.
    for update skip locked) i;
  get diagnostics ended = row_count;
  return ended;
end
$$;
comment on function private.end_idle_imports(uuid) is
  'Ends imports, of one organization or all, whose upload stopped (private.retention stalled_uploads) or '
  'that make no progress (stalled_imports).';

-- For admins ------------------------------------------------------------------------------------------------

create function private.lock_import(import_id uuid) returns private.imports
language plpgsql set search_path = '' as $$
declare own_id uuid := private.require_admin(private.current_organization_id(), 'submissions:moderate');
  import private.imports;
begin
  select * into import from private.imports i
    where i.id = import_id and i.organization_id = own_id for no key update;
  if import.id is null then perform private.raise_error('NOT_FOUND', 'There is no such import.'); end if;
  return import;
end
$$;
comment on function private.lock_import(uuid) is
  'Locks and returns an import of the current organization; raises NOT_FOUND if there is none.';

-- definer: private tables; each call requires Admin.
create function private.admin_start_import(query jsonb, file_type text) returns uuid
language plpgsql security definer set search_path = '' as $$
declare own_id uuid := private.require_admin(private.current_organization_id(), 'submissions:moderate');
  import_id uuid;
begin
  perform pg_advisory_xact_lock(hashtextextended('imports of ' || own_id, 0));
  perform private.end_idle_imports(own_id);
  if (select count(*) >= 5 from private.imports i
      where i.organization_id = own_id and i.state in ('receiving', 'running') and i.query is not null) then
    perform private.raise_error('CONFLICT',
      'Five imports of this organization have not ended: wait for one, or cancel it.');
  end if;
  import_id := private.start_import(own_id, query ->> 'format',
    coalesce(query ->> 'source', query ->> 'format'),
    (query ->> 'dry_run')::boolean, (query ->> 'create_missing')::boolean);
  update private.imports i set state = 'receiving', query = admin_start_import.query,
    file_type = admin_start_import.file_type,
    profile_id = nullif(current_setting('feedback.profile_id', true), '')::uuid,
    key_id = nullif(current_setting('feedback.key_id', true), '')::uuid
  where i.id = import_id;
  return import_id;
end
$$;
comment on function private.admin_start_import(jsonb, text) is
  'Starts an import into the current organization; the file parts follow.';

create function private.admin_add_import_file_part(import_id uuid, n integer, bytes bytea) returns void
-- definer: reads statistics of private.submission_search
language plpgsql security definer set search_path = '' as $$
declare import private.imports := private.lock_import(import_id);
begin
  if import.state <> 'receiving'
    then perform private.raise_error('CONFLICT', 'This import has ended: start another.'); end if;
  insert into private.import_file_parts (organization_id, import_id, n, bytes)
    values (import.organization_id, import.id, n, bytes);
  update private.imports i set bytes = i.bytes + octet_length(admin_add_import_file_part.bytes),
    updated_at = clock_timestamp()
  where i.id = import.id;
end
$$;
comment on function private.admin_add_import_file_part(uuid, integer, bytea) is
  'Stores one part of an import''s file.';

create function private.admin_begin_import(import_id uuid) returns json
-- definer: reads statistics of private.submission_search
language plpgsql security definer set search_path = '' as $$
declare import private.imports := private.lock_import(import_id);
begin
  update private.imports i set state = 'running', updated_at = clock_timestamp()
  where i.id = import.id and i.state = 'receiving' returning i.* into import;
  if import.id is null then perform private.raise_error('CONFLICT', 'This import has ended: start another.');
    end if;
  perform private.call_importer();
  return private.import_shape(import);
end
$$;
comment on function private.admin_begin_import(uuid) is 'Marks the upload as complete and starts the import.';

create function private.admin_finish_import(import_id uuid, problem text) returns json
-- definer: reads statistics of private.submission_search
language plpgsql security definer set search_path = '' as $$
begin
  if not exists (select from private.imports i
    where i.id = import_id and i.organization_id = private.require_admin(private.current_organization_id(),
    'submissions:moderate')) then
    perform private.raise_error('NOT_FOUND', 'There is no such import.');
  end if;
  return private.finish_import(import_id, problem);
end
$$;
comment on function private.admin_finish_import(uuid, text) is
  'Finishes an import of the current organization.';

create function private.admin_cancel_import(import_id uuid) returns json
-- definer: reads statistics of private.submission_search
language plpgsql security definer set search_path = '' as $$
declare import private.imports := private.lock_import(import_id);
begin
  if import.state not in ('receiving', 'running', 'canceled') then
    perform private.raise_error('CONFLICT', 'This import has ended: there is nothing to cancel.');
  end if;
  update private.imports i set state = 'canceled', updated_at = clock_timestamp() where i.id = import.id
    returning i.* into import;
  perform private.drop_import_file(import.id);
  perform private.audit('import.cancel', 'import', import.id, '{}', import.organization_id);
  return private.import_shape(import);
end
$$;
comment on function private.admin_cancel_import(uuid) is
  'Cancels an import of the current organization; written rows stay.';

create function private.admin_imports(import_id uuid) returns json
-- definer: reads statistics of private.submission_search
language plpgsql stable security definer set search_path = '' as $$
declare own_id uuid := private.require_admin(private.current_organization_id(), 'submissions:moderate');
begin
  return coalesce((select json_agg(private.import_shape(i) order by i.created_at desc, i.id desc) from (
    select * from private.imports i
      where i.organization_id = own_id and (import_id is null or i.id = import_id)
    order by i.created_at desc, i.id desc limit 50) i), '[]');
end
$$;
comment on function private.admin_imports(uuid) is
  'The import with this id, or the newest 50, of the current organization.';

grant execute on function private.admin_start_import(jsonb, text),
  private.admin_add_import_file_part(uuid, integer, bytea), private.admin_begin_import(uuid),
  private.admin_finish_import(uuid, text), private.admin_cancel_import(uuid), private.admin_imports(uuid)
  to authenticated, service_key;

-- What an import writes. A row keeps the id it had elsewhere, so that whatever is sent again (after a crash,
-- twice, two at once) makes nothing twice. Rows keep their time and are announced to nobody.

create table private.external_ids (
  organization_id uuid not null references public.organizations (id) on delete cascade,
  source text not null,
  kind text not null,
  external_id text not null,
  submission_id uuid references public.submissions (id) on delete cascade,
  comment_id uuid references public.comments (id) on delete cascade,
  profile_id uuid references public.profiles (id) on delete cascade,
  survey_id uuid references public.surveys (id) on delete cascade,
  question_id uuid references public.survey_questions (id) on delete cascade,
  response_id uuid references public.survey_responses (id) on delete cascade,
  primary key (organization_id, source, kind, external_id),
  constraint kind_is_known check
    (kind in ('submission', 'comment', 'person', 'survey', 'question', 'response')),
  constraint an_id_names_one_row_of_its_kind check (
    num_nonnulls(submission_id, comment_id, profile_id, survey_id, question_id, response_id) = 1
    and case kind when 'submission' then submission_id when 'comment' then comment_id when 'person'
      then profile_id
      when 'survey' then survey_id when 'question' then question_id else response_id end is not null)
);
comment on table private.external_ids is
  'Maps ids of external services to rows. source separates services. The external id of a question is '
  'prefixed with its survey''s id and a slash.';
create index external_ids_submission_idx on private.external_ids (submission_id)
  where submission_id is not null;
create index external_ids_comment_idx on private.external_ids (comment_id) where comment_id is not null;
create index external_ids_profile_idx on private.external_ids (profile_id) where profile_id is not null;
create index external_ids_survey_idx on private.external_ids (survey_id) where survey_id is not null;
create index external_ids_question_idx on private.external_ids (question_id) where question_id is not null;
create index external_ids_response_idx on private.external_ids (response_id) where response_id is not null;

alter table private.external_ids enable row level security;
revoke all on private.external_ids from public, anon, authenticated, service_role, service_key;

-- What an id means ------------------------------------------------------------------------------------------

create function private.imported_row(import private.imports, kind text, external_id text) returns uuid
language plpgsql stable set search_path = '' as $$
declare found_id uuid; own_id uuid;
begin
  if external_id is null then return null; end if;
  select coalesce(e.submission_id, e.comment_id, e.profile_id, e.survey_id, e.response_id) into found_id
    from private.external_ids e
  where e.organization_id = import.organization_id and e.source = import.source
    and e.kind = imported_row.kind and e.external_id = imported_row.external_id;
  if found_id is not null or external_id !~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
    then return found_id; end if;
  -- Records exported from this organization carry its own ids.
  own_id := external_id::uuid;
  return case imported_row.kind
    when 'submission' then (select s.id from public.submissions s
      where s.id = own_id and s.organization_id = import.organization_id)
    when 'comment' then (select c.id from public.comments c
      where c.id = own_id and c.organization_id = import.organization_id)
    when 'survey' then (select s.id from public.surveys s
      where s.id = own_id and s.organization_id = import.organization_id)
    when 'response' then (select r.id from public.survey_responses r
      where r.id = own_id and r.organization_id = import.organization_id)
    else (select p.id from public.profiles p
      where p.id = own_id and (p.organization_id = import.organization_id
      or p.auth_user_id is null and p.kind = 'user' and (
        exists (select from public.votes v
          where v.user_id = p.id and v.organization_id = import.organization_id)
        or exists (select from public.submissions s
          where s.author_id = p.id and s.organization_id = import.organization_id)
        or exists (select from public.comments c
          where c.author_id = p.id and c.organization_id = import.organization_id))))
  end;
end
$$;
comment on function private.imported_row(private.imports, text, text) is
  'The row with this external id, imported earlier or exported from this organization; null if unknown.';

create function private.import_target(import private.imports, external_id text) returns uuid
language plpgsql stable set search_path = '' as $$
begin
  return (select coalesce(s.merged_into_id, s.id) from public.submissions s
    where s.id = private.imported_row(import, 'submission', external_id));
end
$$;
comment on function private.import_target(private.imports, text) is
  'The submission that votes and comments of an external id belong to: the merge target of a merged one.';

create function private.import_targets(import private.imports, records jsonb,
  field text default 'submission_id') returns void
language plpgsql set search_path = '' as $$
begin
  perform 1 from public.submissions s
  where s.id in (select private.import_target(import, r.id) from (
    select distinct value ->> field as id from jsonb_array_elements(records)) r)
  order by s.id for no key update;
end
$$;
comment on function private.import_targets(private.imports, jsonb, text) is
  'Locks the submissions that the records reference, in id order.';

create type private.import_outcome as (created bigint, skipped bigint, failures jsonb);
comment on type private.import_outcome is
  'Result of writing records. failures is an array of {line, field, message, kept}; kept: the record was '
  'written nevertheless.';

create function private.unknown_reference(line integer, field text, what text) returns jsonb
language sql immutable
return jsonb_build_object('line', line, 'field', field, 'message',
  format('names no %s of this file or organization', what));
comment on function private.unknown_reference(integer, text, text) is
  'Failure of a record that references an unknown row.';

-- Each kind of record ---------------------------------------------------------------------------------------

create function private.import_people(import private.imports, people jsonb) returns jsonb
language plpgsql set search_path = '' as $$
begin
  insert into public.profiles as p (kind, organization_id, email, name)
  select 'email', import.organization_id, k.key, nullif(left(private.person_name(k.value), 100), '')
  from jsonb_each_text(people) k where not starts_with(k.key, '#') order by k.key
  on conflict (organization_id, lower(email)) where kind = 'email'
    do update set name = excluded.name where p.name is null and excluded.name is not null;
  with unknown as materialized (
    select substr(k.key, 2) as external_id, gen_random_uuid() as id,
      nullif(left(private.person_name(k.value), 100), '') as name
    from jsonb_each_text(people) k
    where starts_with(k.key, '#') and private.imported_row(import, 'person', substr(k.key, 2)) is null
  ), made as (
    insert into public.profiles (id, kind, organization_id, name)
    select u.id, 'anonymous', import.organization_id, u.name from unknown u
  )
  insert into private.external_ids (organization_id, source, kind, external_id, profile_id)
  select import.organization_id, import.source, 'person', u.external_id, u.id from unknown u;
  return coalesce((
    select jsonb_object_agg(k.key, case when starts_with(k.key, '#')
      then private.imported_row(import, 'person', substr(k.key, 2))
      else (select p.id from public.profiles p
        where p.kind = 'email' and p.organization_id = import.organization_id and lower(p.email) = k.key) end)
    from jsonb_object_keys(people) as k (key)), '{}');
end
$$;
comment on function private.import_people(private.imports, jsonb) is
  'Finds or creates profiles of authors: {key: name} to {key: id}. A key is a lowercase e-mail address, or '
  '# and an external id. Never matches users.';

create function private.import_taxonomy(import private.imports, records jsonb) returns private.import_outcome
language plpgsql set search_path = '' as $$
declare outcome private.import_outcome; made bigint; last integer;
begin
  last := (select coalesce(max(c.position), -1) from public.categories c
    where c.organization_id = import.organization_id);
  insert into public.categories (organization_id, slug, name, color, position, translations)
  select import.organization_id, r.slug, r.name, coalesce(r.color, '#6b7280'), coalesce(r.position, last + 1),
    coalesce(r.translations, '{}')
  from jsonb_to_recordset(records -> 'category') as r
    (slug text, name text, color text, position integer, translations jsonb)
  on conflict on constraint category_slugs_are_unique do nothing;
  get diagnostics made = row_count;
  outcome.created := made;
  insert into public.tags (organization_id, slug, name, color, translations)
  select import.organization_id, r.slug, r.name, coalesce(r.color, '#6b7280'), coalesce(r.translations, '{}')
  from jsonb_to_recordset(records -> 'tag') as r (slug text, name text, color text, translations jsonb)
  on conflict on constraint tag_slugs_are_unique do nothing;
  get diagnostics made = row_count;
  outcome.created := outcome.created + made;
  outcome.skipped := coalesce(jsonb_array_length(records -> 'category'), 0)
    + coalesce(jsonb_array_length(records -> 'tag'), 0) - outcome.created;
  if import.makes_missing then
    last := (select coalesce(max(c.position), -1) from public.categories c
      where c.organization_id = import.organization_id);
    insert into public.categories (organization_id, slug, name, position)
    select import.organization_id, c.key, c.value, last + 1 from jsonb_each_text(records -> 'categories') c
    on conflict on constraint category_slugs_are_unique do nothing;
    insert into public.tags (organization_id, slug, name)
    select import.organization_id, t.key, t.value from jsonb_each_text(records -> 'tags') t
    on conflict on constraint tag_slugs_are_unique do nothing;
  end if;
  return outcome;
end
$$;
comment on function private.import_taxonomy(private.imports, jsonb) is
  'Writes categories and tags: those given as records and, with create_missing, those that submissions '
  'name.';

create function private.import_submissions(import private.imports, people jsonb, records jsonb)
  returns private.import_outcome
language plpgsql set search_path = '' as $$
declare outcome private.import_outcome;
begin
  perform private.import_targets(import, records, 'merged_into_id');
  with r as materialized (
    select r.*, (people ->> r.author)::uuid as author_id,
      private.imported_row(import, 'submission', r.id) as known_id,
      row_number() over (partition by r.id order by r.n) as nth, c.id as category_id,
        gen_random_uuid() as row_id,
      coalesce(r.created_at, now() + r.n * interval '1 microsecond') as at,
      private.import_target(import, r.merged_into_id) as target_id,
      r.category is not null and c.id is null as lacks_category,
      (select min(t.slug) from jsonb_array_elements_text(r.tags) as t (slug)
        where not exists (select from public.tags k where k.organization_id = import.organization_id
          and k.slug = t.slug)) is not null as lacks_tag
    from jsonb_to_recordset(records) as r
      (line integer, n integer, id text, author text, title text, description text, type text, status text,
      category text, tags jsonb, source text, tracker_issue_url text, moderation_state text,
        created_at timestamptz, updated_at timestamptz,
      author_votes boolean, follow boolean, merged_into_id text)
    left join public.categories c on c.organization_id = import.organization_id and c.slug = r.category
  ), fresh as materialized (
    select * from r where known_id is null and nth = 1 and not lacks_category and not lacks_tag
  ), made as (
    insert into public.submissions
      (id, organization_id, title, description, type, status, vote_count, author_id, category_id, source,
      tracker_issue_url, moderation_state, merged_into_id, created_at, updated_at)
    select row_id, import.organization_id, title, description, type,
      case when target_id is not null then 'duplicate' when status = 'duplicate' then 'declined'
        else status end, (author_votes and target_id is null)::integer, author_id,
      category_id, source, tracker_issue_url, moderation_state, target_id, at, coalesce(updated_at, at)
    from fresh order by n
  ), named as (
    insert into private.external_ids (organization_id, source, kind, external_id, submission_id)
    select import.organization_id, import.source, 'submission', id, row_id from fresh
  ), merged as (
    insert into private.merges (source_id, organization_id, parent_id, event_id, previous_status)
    select row_id, import.organization_id, target_id, gen_random_uuid(), 'open' from fresh
      where target_id is not null order by n
  ), voted as (
    -- A merged submission copies its vote to the target, as a merge does.
    insert into public.votes (organization_id, submission_id, user_id, created_at, merged_from)
    select import.organization_id, coalesce(target_id, row_id), author_id, at, case
      when target_id is not null then row_id end
    from fresh where author_votes order by n
    on conflict on constraint one_vote_a_person_and_submission do nothing
    returning submission_id, merged_from
  ), doubled as (
    insert into private.merged_votes (source_id, user_id, organization_id, id, created_at)
    select f.row_id, f.author_id, import.organization_id, gen_random_uuid(), f.at from fresh f
    where f.author_votes and f.target_id is not null and not exists (select from voted v
      where v.merged_from = f.row_id)
  ), counted as (
    update public.submissions s set vote_count = vote_count + d.votes
    from (select submission_id, count(*) as votes from voted group by 1) d where s.id = d.submission_id
  ), followed as (
    insert into public.follows (organization_id, submission_id, user_id, reason, created_at)
    select import.organization_id, row_id, author_id, 'author', at from fresh where follow
  ), tagged as (
    insert into public.submission_tags (organization_id, submission_id, tag_id)
    select distinct import.organization_id, f.row_id, t.id
    from fresh f cross join lateral jsonb_array_elements_text(f.tags) as w (slug)
    join public.tags t on t.organization_id = import.organization_id and t.slug = w.slug
  )
  select (select count(*) from fresh), count(*) filter (where known_id is not null or nth > 1),
    coalesce(jsonb_agg(private.unknown_reference(line, case when lacks_category then 'category'
      else 'tags' end,
      case when lacks_category then 'category' else 'tag' end)) filter
        (where known_id is null and nth = 1 and (lacks_category or lacks_tag)), '[]')
  into outcome from r;
  return outcome;
end
$$;
comment on function private.import_submissions(private.imports, jsonb, jsonb) is
  'Writes submissions with their tags and the author''s vote and follow. A merged one points to its target '
  'if the target is known.';

create function private.import_comments(import private.imports, people jsonb, records jsonb)
  returns private.import_outcome
language plpgsql set search_path = '' as $$
declare outcome private.import_outcome;
begin
  perform private.import_targets(import, records);
  with r as materialized (
    select r.*, (people ->> r.author)::uuid as author_id,
      private.imported_row(import, 'comment', r.id) as known_id,
      private.import_target(import, r.submission_id) as target_id,
        private.imported_row(import, 'comment', r.parent_id) as known_parent_id,
      row_number() over (partition by r.id order by r.n) as nth, gen_random_uuid() as row_id,
      coalesce(r.created_at, now() + r.n * interval '1 microsecond') as at
    from jsonb_to_recordset(records) as r
      (line integer, n integer, id text, submission_id text, parent_id text, author text, body text,
      is_official boolean, moderation_state text, created_at timestamptz, updated_at timestamptz,
        follow boolean, seen boolean)
  ), fresh as materialized (
    select r.*, coalesce(p.id, q.row_id) as parent_row_id
    from r left join public.comments p on p.id = r.known_parent_id and p.submission_id = r.target_id
    -- A parent must be earlier in the chunk, which excludes cycles.
    left join r q on q.id = r.parent_id and q.known_id is null and q.nth = 1 and q.target_id = r.target_id
      and q.n < r.n
    where r.known_id is null and r.nth = 1 and r.target_id is not null
  ), made as (
    insert into public.comments (id, organization_id, submission_id, parent_id, author_id, body, is_official,
      moderation_state, created_at, updated_at)
    select row_id, import.organization_id, target_id, parent_row_id, author_id, body, is_official,
      moderation_state, at, coalesce(updated_at, at)
    from fresh order by n
  ), named as (
    insert into private.external_ids (organization_id, source, kind, external_id, comment_id)
    select import.organization_id, import.source, 'comment', id, row_id from fresh
  ), followed as (
    insert into public.follows (organization_id, submission_id, user_id, reason, created_at)
    select distinct on (target_id, author_id) import.organization_id, target_id, author_id, 'comment', at
      from fresh
    where follow order by target_id, author_id, at
    on conflict do nothing
  )
  select (select count(*) from fresh) + count(*) filter
    (where known_id is null and nth = 1 and target_id is null and seen),
    count(*) filter (where known_id is not null or nth > 1),
    coalesce(jsonb_agg(private.unknown_reference(line, 'submission_id', 'submission'))
      filter (where known_id is null and nth = 1 and target_id is null and seen is not true), '[]')
    || coalesce((select jsonb_agg(jsonb_build_object('line', f.line, 'field', 'parent_id', 'kept', true,
      'message', 'names no earlier comment of the submission: the reply stands at the top level'))
      from fresh f where f.parent_id is not null and f.parent_row_id is null), '[]')
  into outcome from r;
  return outcome;
end
$$;
comment on function private.import_comments(private.imports, jsonb, jsonb) is
  'Writes comments, parents before replies. A reply to an unknown comment becomes a top-level comment.';

create function private.import_votes(import private.imports, people jsonb, records jsonb)
  returns private.import_outcome
language plpgsql set search_path = '' as $$
declare outcome private.import_outcome;
begin
  perform private.import_targets(import, records);
  with r as materialized (
    select r.*, (people ->> r.author)::uuid as user_id,
      private.import_target(import, r.submission_id) as target_id
    from jsonb_to_recordset(records) as r
      (line integer, n integer, submission_id text, author text, created_at timestamptz, follow boolean,
      seen boolean)
  ), added as (
    insert into public.votes (organization_id, submission_id, user_id, created_at)
    select distinct on (r.target_id, r.user_id) import.organization_id, r.target_id, r.user_id,
      coalesce(r.created_at, now())
    from r where r.target_id is not null
      -- A user with this address may have voted already.
      and not exists (select from public.profiles p join public.votes v on v.user_id = p.id
        where p.kind = 'user' and lower(p.email) = r.author and v.submission_id = r.target_id)
      and not private.participated(r.author, private.with_sources(r.target_id))
    order by r.target_id, r.user_id, r.n
    on conflict on constraint one_vote_a_person_and_submission do nothing
    returning submission_id, user_id, created_at
  ), followed as (
    insert into public.follows (organization_id, submission_id, user_id, reason, created_at)
    select import.organization_id, a.submission_id, a.user_id, 'vote', a.created_at from added a
    where exists (select from r where r.target_id = a.submission_id and r.user_id = a.user_id and r.follow)
    order by a.submission_id, a.user_id
    on conflict do nothing
  ), counted as (
    update public.submissions s set vote_count = vote_count + d.votes
    from (select submission_id, count(*) as votes from added group by 1) d where s.id = d.submission_id
  )
  select (select count(*) from added) + count(*) filter (where target_id is null and seen),
    count(*) filter (where target_id is not null) - (select count(*) from added),
    coalesce(jsonb_agg(private.unknown_reference(line, 'submission_id', 'submission')) filter
      (where target_id is null and seen is not true), '[]')
  into outcome from r;
  return outcome;
end
$$;
comment on function private.import_votes(private.imports, jsonb, jsonb) is
  'Writes votes, one for each person and submission, and the voters'' follows.';

create function private.import_comment_votes(import private.imports, people jsonb, records jsonb)
  returns private.import_outcome
language plpgsql set search_path = '' as $$
declare outcome private.import_outcome;
begin
  with r as materialized (
    select r.*, (people ->> r.author)::uuid as user_id,
      private.imported_row(import, 'comment', r.comment_id) as target_id
    from jsonb_to_recordset(records) as r
      (line integer, n integer, comment_id text, author text, created_at timestamptz, seen boolean)
  ), added as (
    insert into public.comment_votes (organization_id, comment_id, user_id, created_at)
    select distinct on (r.target_id, r.user_id) import.organization_id, r.target_id, r.user_id,
      coalesce(r.created_at, now())
    from r where r.target_id is not null
      and not exists (select from public.profiles p join public.comment_votes v on v.user_id = p.id
        where p.kind = 'user' and lower(p.email) = r.author and v.comment_id = r.target_id)
      and not private.participated(r.author, array[r.target_id])
    order by r.target_id, r.user_id, r.n
    on conflict on constraint one_vote_a_person_and_comment do nothing
    returning comment_id
  )
  select (select count(*) from added) + count(*) filter (where target_id is null and seen),
    count(*) filter (where target_id is not null) - (select count(*) from added),
    coalesce(jsonb_agg(private.unknown_reference(line, 'comment_id', 'comment')) filter
      (where target_id is null and seen is not true), '[]')
  into outcome from r;
  return outcome;
end
$$;
comment on function private.import_comment_votes(private.imports, jsonb, jsonb) is
  'Writes votes for comments, one for each person and comment.';

create function private.import_follows(import private.imports, people jsonb, records jsonb)
  returns private.import_outcome
language plpgsql set search_path = '' as $$
declare outcome private.import_outcome;
begin
  with r as materialized (
    select r.*, (people ->> r.author)::uuid as user_id,
      private.imported_row(import, 'submission', r.submission_id) as target_id
    from jsonb_to_recordset(records) as r
      (line integer, n integer, submission_id text, author text, reason text, created_at timestamptz,
      seen boolean)
  ), added as (
    insert into public.follows as f (organization_id, submission_id, user_id, reason, created_at)
    select distinct on (r.target_id, r.user_id) import.organization_id, r.target_id, r.user_id, r.reason,
      coalesce(r.created_at, now())
    from r where r.target_id is not null
      and not exists (select from public.profiles p
        where p.kind = 'user' and lower(p.email) = r.author and private.is_follower(r.target_id, p.id))
    order by r.target_id, r.user_id, r.n
    -- An explicit follow record takes precedence over the follow that a vote or comment added.
    on conflict (submission_id, user_id) do update set reason = excluded.reason,
      created_at = excluded.created_at
      where (f.reason, f.created_at) is distinct from (excluded.reason, excluded.created_at)
    returning 1
  )
  select (select count(*) from added) + count(*) filter (where target_id is null and seen),
    count(*) filter (where target_id is not null) - (select count(*) from added),
    coalesce(jsonb_agg(private.unknown_reference(line, 'submission_id', 'submission')) filter
      (where target_id is null and seen is not true), '[]')
  into outcome from r;
  return outcome;
end
$$;
comment on function private.import_follows(private.imports, jsonb, jsonb) is
  'Writes follows with their reasons, also of merged submissions.';

create function private.import_status_changes(import private.imports, people jsonb, records jsonb)
  returns private.import_outcome
language plpgsql set search_path = '' as $$
declare outcome private.import_outcome;
begin
  with r as materialized (
    select r.*, (people ->> r.author)::uuid as changed_by,
      private.imported_row(import, 'submission', r.submission_id) as target_id
    from jsonb_to_recordset(records) as r
      (line integer, n integer, submission_id text, author text, previous_status text, new_status text,
      note text,
      created_at timestamptz, seen boolean)
  ), added as (
    insert into public.status_changes
      (organization_id, submission_id, previous_status, new_status, changed_by, note, notify, created_at)
    select distinct on (r.target_id, r.created_at, r.new_status)
      import.organization_id, r.target_id, r.previous_status, r.new_status, r.changed_by, r.note, false,
        r.created_at
    from r where r.target_id is not null and not exists (select from public.status_changes c
      where c.submission_id = r.target_id and c.created_at = r.created_at and c.new_status = r.new_status)
    order by r.target_id, r.created_at, r.new_status, r.n
    returning 1
  )
  select (select count(*) from added) + count(*) filter (where target_id is null and seen),
    count(*) filter (where target_id is not null) - (select count(*) from added),
    coalesce(jsonb_agg(private.unknown_reference(line, 'submission_id', 'submission')) filter
      (where target_id is null and seen is not true), '[]')
  into outcome from r;
  return outcome;
end
$$;
comment on function private.import_status_changes(private.imports, jsonb, jsonb) is
  'Writes the status history, also of merged submissions; the current status comes from the submission''s '
  'record. The same change at the same time is skipped.';

-- Surveys and responses that an import writes.

create function private.import_surveys(import private.imports, records jsonb) returns private.import_outcome
language plpgsql set search_path = '' as $$
declare
  outcome private.import_outcome := row(0, 0, '[]')::private.import_outcome;
  r record; row_id uuid; family uuid; audience_id uuid; state text;
begin
  for r in
    select * from jsonb_to_recordset(records) as s
      (line integer, n integer, id text, title text, description text, status text, questions jsonb,
      allow_multiple_responses boolean, show_branding boolean, redirect_url text, audience text,
        audience_submission_id text, locales jsonb,
      closes_at timestamptz, version_of text, published_at timestamptz, closed_at timestamptz,
        created_at timestamptz, updated_at timestamptz)
    order by s.n
  loop
    if private.imported_row(import, 'survey', r.id) is not null then
      outcome.skipped := outcome.skipped + 1;
      continue;
    end if;
    audience_id := private.imported_row(import, 'submission', r.audience_submission_id);
    if r.audience_submission_id is not null and audience_id is null then
      outcome.failures := outcome.failures || private.unknown_reference(r.line, 'audience_submission_id',
        'submission');
      continue;
    end if;
    row_id := gen_random_uuid();
    family := coalesce((select s.family_id from public.surveys s
      where s.id = private.imported_row(import, 'survey', r.version_of)), row_id);
    state := r.status;
    if state in ('published', 'paused')
      and exists (select from public.surveys s
      where s.family_id = family and s.status in ('published', 'paused')) then
      state := 'archived';
      outcome.failures := outcome.failures || jsonb_build_object('line', r.line, 'field', 'status', 'kept',
        true,
        'message', 'is of a version while another one is open here: this one is archived');
    end if;
    insert into public.surveys (id, organization_id, title, description, status, allow_multiple_responses,
      show_branding, redirect_url, audience,
      audience_submission_id, locales, closes_at, version_of, family_id, published_at, closed_at, created_at,
        updated_at)
    select row_id, import.organization_id, r.title, r.description, state, r.allow_multiple_responses,
      r.show_branding, r.redirect_url, r.audience,
      case when r.audience <> 'everyone' then audience_id end, case
        when r.locales is not null then array(select jsonb_array_elements_text(r.locales)) end,
      r.closes_at, private.imported_row(import, 'survey', r.version_of), family, t.published, case
        when t.published is not null then coalesce(r.closed_at,
        case when state = 'archived' then t.updated when r.closes_at <= now() then r.closes_at end) end,
          t.created, t.updated
    from (select c.created, coalesce(r.updated_at, c.created) as updated,
        coalesce(r.published_at, case when r.status in ('published', 'paused')
          then c.created end) as published
      from (select coalesce(r.created_at, now()) as created) c) t;
    insert into private.external_ids (organization_id, source, kind, external_id, survey_id)
    values (import.organization_id, import.source, 'survey', r.id, row_id);
    with q as materialized (
      select gen_random_uuid() as question_id, q.value, q.n
        from jsonb_array_elements(r.questions) with ordinality as q (value, n)
    ), asked as (
      insert into public.survey_questions
        (id, organization_id, survey_id, type, text, required, position, multiple, scale)
      select q.question_id, import.organization_id, row_id, q.value ->> 'type', q.value ->> 'text',
        (q.value ->> 'required')::boolean, q.n,
        coalesce((q.value ->> 'multiple')::boolean, false), (q.value ->> 'scale')::integer
      from q
    ), offered as (
      insert into public.survey_options (organization_id, survey_id, question_id, text, position)
      select import.organization_id, row_id, q.question_id, o.value, o.n
      from q cross join lateral jsonb_array_elements_text(nullif(q.value -> 'options', 'null'))
        with ordinality as o (value, n)
    )
    insert into private.external_ids (organization_id, source, kind, external_id, question_id)
    select import.organization_id, import.source, 'question',
      r.id || '/' || coalesce(q.value ->> 'id', q.n::text), q.question_id from q
    -- If two questions share an id, answers belong to the first.
    order by q.n on conflict do nothing;
    outcome.created := outcome.created + 1;
  end loop;
  return outcome;
end
$$;
comment on function private.import_surveys(private.imports, jsonb) is
  'Writes surveys with questions in their status; of the versions of a survey only one is open.';

create function private.imported_answers(import private.imports, survey_id uuid, named text, answers jsonb)
  returns private.checked_answer
language plpgsql stable set search_path = '' as $$
declare kept jsonb[] := '{}'; item record; checked private.checked_answer;
begin
  for item in
    select q as question, a.value -> 'value' as value,
      row_number() over (partition by q.id order by a.n) as nth
    from jsonb_array_elements(answers) with ordinality as a (value, n)
    left join private.external_ids e on e.organization_id = import.organization_id
      and e.source = import.source and e.kind = 'question'
      and e.external_id = named || '/' || (a.value ->> 'question_id')
    left join public.survey_questions q on q.survey_id = imported_answers.survey_id
      and (q.id = e.question_id or q.id::text = a.value ->> 'question_id')
    order by q.position, a.n
  loop
    if (item.question).id is null then
      return row(null, 'names no question of the survey')::private.checked_answer;
    elsif item.nth > 1 then
      return row(null, 'answers a question twice')::private.checked_answer;
    end if;
    checked := private.check_answer(item.question, item.value);
    if checked.complaint is not null then
      return row(null, format('of question %s %s', (item.question).position,
        checked.complaint))::private.checked_answer;
    elsif checked.value is not null then
      kept := kept || jsonb_build_object('question_id', (item.question).id, 'value', checked.value);
    end if;
  end loop;
  return row(to_jsonb(kept), null)::private.checked_answer;
end
$$;
comment on function private.imported_answers(private.imports, uuid, text, jsonb) is
  'Validates answers and returns them as stored, or an error. No answer is required: an erased respondent '
  'may have none.';

create function private.import_survey_responses(import private.imports, people jsonb, records jsonb)
  returns private.import_outcome
language plpgsql set search_path = '' as $$
declare outcome private.import_outcome;
begin
  with r as materialized (
    select r.*, (people ->> r.author)::uuid as user_id,
      private.imported_row(import, 'response', r.id) as known_id,
      private.imported_row(import, 'survey', r.survey_id) as target_id,
        row_number() over (partition by r.id order by r.n) as nth,
      private.ordered_id() as row_id
    from jsonb_to_recordset(records) as r
      (line integer, n integer, id text, survey_id text, author text, answers jsonb, locale text,
      sentiment_score numeric, sentiment_engine text, started_at timestamptz, submitted_at timestamptz,
        seen boolean)
  ), fresh as materialized (
    select r.*, not s.allow_multiple_responses as is_only, (a.answers).value as kept, (a.answers).complaint
    from r join public.surveys s on s.id = r.target_id
    cross join lateral (select private.imported_answers(import, r.target_id, r.survey_id, r.answers)
      as answers) a
    where r.known_id is null and r.nth = 1
  ), added as (
    insert into public.survey_responses
      (id, organization_id, survey_id, user_id, answers, locale, started_at, submitted_at, sentiment_score,
      sentiment_engine, is_only)
    select f.row_id, import.organization_id, f.target_id, f.user_id, f.kept, f.locale, f.started_at,
      coalesce(f.submitted_at, now()),
      f.sentiment_score, case when f.sentiment_score is not null then coalesce(f.sentiment_engine, 'import')
        end, f.is_only
    from fresh f
    where f.complaint is null
      -- A user with this address may have answered already.
      and not (f.is_only and exists (select from public.profiles p
        join public.survey_responses x on x.user_id = p.id
        where p.kind = 'user' and lower(p.email) = f.author and x.survey_id = f.target_id))
      and not (f.is_only and private.participated(f.author, array[f.target_id]))
    order by f.n
    on conflict (survey_id, user_id) where is_only do nothing
    returning id
  ), named as (
    insert into private.external_ids (organization_id, source, kind, external_id, response_id)
    select import.organization_id, import.source, 'response', f.id, f.row_id from fresh f
      join added a on a.id = f.row_id
  )
  select (select count(*) from added) + count(*) filter
    (where r.known_id is null and r.nth = 1 and r.target_id is null and r.seen),
    count(*) filter (where r.known_id is not null or r.nth > 1)
      + (select count(*) from fresh f where f.complaint is null) - (select count(*) from added),
    coalesce(jsonb_agg(private.unknown_reference(r.line, 'survey_id', 'survey'))
      filter (where r.known_id is null and r.nth = 1 and r.target_id is null and r.seen is not true), '[]')
    || coalesce((select jsonb_agg(jsonb_build_object('line', f.line, 'field', 'answers', 'message',
      f.complaint))
      from fresh f where f.complaint is not null), '[]')
  into outcome from r;
  return outcome;
end
$$;
comment on function private.import_survey_responses(private.imports, jsonb, jsonb) is
  'Writes responses to existing surveys, whether open or not; one for each person if the survey allows one.';

-- The steps of an import: chunks of its file, in a transaction each.

create function private.write_import(import private.imports, records jsonb) returns private.import_outcome
language plpgsql set search_path = '' as $$
declare
  people jsonb; part private.import_outcome; kind text;
  outcome private.import_outcome := row(0, 0, '[]')::private.import_outcome;
begin
  -- Block merges, which must see all rows of the submissions they merge.
  perform 1 from public.organizations o where o.id = import.organization_id for no key update;
  perform set_config('feedback.suppress_events', 'import', true);
  people := private.import_people(import, records -> 'people');
  foreach kind in array array['taxonomy', 'submission', 'merged', 'follow', 'comment', 'vote', 'comment_vote',
    'status_change',
    'survey', 'survey_response'] loop
    continue when kind <> 'taxonomy' and not records ? kind;
    part := case kind
      when 'taxonomy' then private.import_taxonomy(import, records)
      when 'submission' then private.import_submissions(import, people, records -> kind)
      when 'merged' then private.import_submissions(import, people, records -> kind)
      when 'follow' then private.import_follows(import, people, records -> kind)
      when 'comment' then private.import_comments(import, people, records -> kind)
      when 'vote' then private.import_votes(import, people, records -> kind)
      when 'comment_vote' then private.import_comment_votes(import, people, records -> kind)
      when 'status_change' then private.import_status_changes(import, people, records -> kind)
      when 'survey' then private.import_surveys(import, records -> kind)
      else private.import_survey_responses(import, people, records -> kind)
    end;
    outcome := row(outcome.created + part.created, outcome.skipped + part.skipped,
      outcome.failures || coalesce(part.failures, '[]'))::private.import_outcome;
  end loop;
  perform set_config('feedback.suppress_events', 'off', true);
  return outcome;
end
$$;
comment on function private.write_import(private.imports, jsonb) is
  'Writes records kind by kind, without events.';

create function private.slice_records(records jsonb, first integer, past integer) returns jsonb
language plpgsql immutable set search_path = '' as $$
declare part jsonb;
begin
  part := coalesce((
    select jsonb_object_agg(l.kind, l.list) from (
      select r.key as kind, jsonb_agg(e.value order by e.place) as list
      from jsonb_each(records) r
        cross join jsonb_array_elements(case jsonb_typeof(r.value) when 'array' then r.value else '[]' end)
          with ordinality e (value, place)
      where (e.value ->> 'n')::integer >= first and (e.value ->> 'n')::integer < past group by r.key) l),
        '{}');
  return part || jsonb_build_object('people', coalesce((
      select jsonb_object_agg(p.key, p.value) from jsonb_each(records -> 'people') p
      where p.key in (select e ->> 'author' from jsonb_each(part) l, jsonb_array_elements(l.value) e)), '{}'),
    'categories', coalesce((
      select jsonb_object_agg(c.key, c.value) from jsonb_each(records -> 'categories') c
      where c.key in (select e ->> 'category' from jsonb_each(part) l, jsonb_array_elements(l.value) e)),
        '{}'),
    'tags', coalesce((
      select jsonb_object_agg(t.key, t.value) from jsonb_each(records -> 'tags') t
      where exists (select from jsonb_each(part) l, jsonb_array_elements(l.value) e
        where e -> 'tags' ? t.key)), '{}'));
end
$$;
comment on function private.slice_records(jsonb, integer, integer) is
  'The records of a chunk within a range, with the people, categories and tags they reference.';

create function private.write_valid_records(import private.imports, records jsonb)
  returns private.import_outcome
language plpgsql set search_path = '' as $$
declare
  first integer; last integer; middle integer; one private.import_outcome; other private.import_outcome;
begin
  begin
    return private.write_import(import, records);
  exception when sqlstate 'FB400' or check_violation or string_data_right_truncation
    or invalid_text_representation
    or untranslatable_character or character_not_in_repertoire or invalid_datetime_format
      or datetime_field_overflow then
    null;
  end;
  select min((e ->> 'n')::integer), max((e ->> 'n')::integer) into first, last from jsonb_each(records) r
    cross join jsonb_array_elements(case jsonb_typeof(r.value) when 'array' then r.value else '[]' end) e;
  if first = last then
    return row(0, 0, (
      select jsonb_build_array(jsonb_build_object('line', e -> 'line', 'message',
        'was refused by the database')) from jsonb_each(records) r
        cross join jsonb_array_elements(case jsonb_typeof(r.value) when 'array' then r.value else '[]' end)
          e))::private.import_outcome;
  end if;
  middle := (first + last + 1) / 2;
  one := private.write_valid_records(import, private.slice_records(records, first, middle));
  other := private.write_valid_records(import, private.slice_records(records, middle, last + 1));
  return row(one.created + other.created, one.skipped + other.skipped,
    one.failures || other.failures)::private.import_outcome;
end
$$;
comment on function private.write_valid_records(private.imports, jsonb) is
  'Like private.write_import; if the database rejects records, splits them in half down to the rejected one '
  'and reports it as a failure.';

create function private.mark_dry_run_ids(import private.imports, records jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare noted jsonb;
begin
  noted := coalesce((
    select jsonb_object_agg(r.key, case jsonb_typeof(r.value) when 'array' then (
        select coalesce(jsonb_agg(e.value
            - case when known.parent then 'parent_id' else '' end
            - case when known.audience then 'audience_submission_id' else '' end
            || jsonb_build_object('seen', known.target) order by e.place), '[]')
        from jsonb_array_elements(r.value) with ordinality e (value, place)
          cross join lateral (
            select coalesce(bool_or(i.kind = 'comment' and i.external_id = e.value ->> 'parent_id'), false)
              as parent,
              coalesce(bool_or(i.kind = 'submission'
                and i.external_id = e.value ->> 'audience_submission_id'), false) as audience,
              coalesce(bool_or(i.external_id = e.value ->> (i.kind || '_id')), false) as target
            from private.import_ids i
            where i.organization_id = import.organization_id and i.import_id = import.id
              and (i.kind, i.external_id) in (('comment', e.value ->> 'parent_id'),
                ('submission', e.value ->> 'audience_submission_id'),
                ('submission', e.value ->> 'submission_id'), ('comment', e.value ->> 'comment_id'),
                  ('survey', e.value ->> 'survey_id'))) known
      ) else r.value end)
    from jsonb_each(records) r), '{}');
  insert into private.import_ids (organization_id, import_id, kind, external_id)
  select import.organization_id, import.id, case r.key when 'merged' then 'submission'
    else r.key end, e ->> 'id'
  from jsonb_each(records) r cross join jsonb_array_elements(r.value) e
  where r.key in ('submission', 'merged', 'comment', 'survey') and e ->> 'id' is not null
  on conflict do nothing;
  return noted;
end
$$;
comment on function private.mark_dry_run_ids(private.imports, jsonb) is
  'Adapts records of a dry run to its earlier chunks, whose ids count as seen, and stores their ids.';

create function private.run_import(import_id uuid, records jsonb, refused jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  import private.imports; outcome private.import_outcome := row(0, 0, '[]')::private.import_outcome;
  failures jsonb; wrong integer; told integer;
begin
  -- One chunk of an organization at a time, so that concurrent imports of one file see each other's rows.
  perform pg_advisory_xact_lock(hashtextextended('import ' || i.organization_id, 0)) from private.imports i
    where i.id = import_id;
  select * into import from private.imports i where i.id = import_id for no key update;
  if import.state is distinct from 'running' then
    perform private.raise_error('CONFLICT', 'This import has ended: start another.');
  end if;
  if import.is_dry_run then records := private.mark_dry_run_ids(import, records); end if;
  begin
    outcome := private.write_valid_records(import, records);
    if import.is_dry_run then raise exception using errcode = 'FBDRY'; end if;
  exception when sqlstate 'FBDRY' then null;
  end;
  failures := refused || outcome.failures;
  wrong := (select count(*) from jsonb_array_elements(failures) f where f -> 'kept' is null);
  told := (select count(*) from private.import_errors e where e.organization_id = import.organization_id
    and e.import_id = import.id);
  insert into private.import_errors (organization_id, import_id, file, line, field, message)
  select import.organization_id, import.id, records ->> 'file', f.line, f.field, f.message
  from jsonb_to_recordset(failures) as f (line integer, field text, message text)
  order by f.line limit greatest(0, 100 - told);
  update private.imports i set processed = i.processed + outcome.created + outcome.skipped + wrong,
    created = i.created + outcome.created,
    skipped = i.skipped + outcome.skipped, failed = i.failed + wrong, updated_at = clock_timestamp()
  where i.id = import.id returning i.* into import;
  return jsonb_build_object('processed', import.processed, 'created', import.created, 'skipped',
    import.skipped, 'failed', import.failed);
end
$$;
comment on function private.run_import(uuid, jsonb, jsonb) is
  'Writes a chunk: {kind: [record]} with people, categories, tags and, for a zip, the file name; refused '
  'holds records that validation rejected, [{line, field, message}]. A dry run rolls back.';

-- Who runs the steps ----------------------------------------------------------------------------------------

create function private.call_importer() returns boolean
language plpgsql set search_path = '' as $$
begin
  if not exists (select from private.imports i where i.state = 'running' and i.query is not null
      and (i.claimed_until is null or i.claimed_until < now())) then return false; end if;
  begin
    if not private.call_function('/api/imports/run') then perform pg_notify('imports', ''); end if;
    return true;
  -- An error here must not roll back the caller's change; the schedule runs imports anyway.
  exception when others then
    raise warning 'the importer was not called: %', sqlerrm;
    return false;
  end;
end
$$;
comment on function private.call_importer() is
  'Starts pending imports in functions/api when this transaction commits: through pg_net if Vault has the '
  'URL of the functions, otherwise through NOTIFY.';

-- definer: the login role has no other access to imports. The role may act as any user already; it receives
-- the digest of a key only if that key sent an import.
create function private.claim_import(previous_id uuid, problem text, takes boolean)
returns table (id uuid, organization_id uuid, user_id uuid, digest bytea)
language plpgsql security definer set search_path = '' as $$
begin
  if problem is not null then
    perform private.finish_import(previous_id, problem);
  else
    update private.imports i set claimed_until = null where i.id = previous_id;
  end if;
  return query
    with claimed as (
      update private.imports i set claimed_until = now() + interval '10 seconds'
      where i.id = (
        select w.id from private.imports w
        where takes and w.state = 'running'
          and w.query is not null and (w.claimed_until is null or w.claimed_until < now())
        order by w.updated_at limit 1 for update skip locked)
      returning i.*)
    select c.id, c.organization_id, p.auth_user_id, k.digest from claimed c
    left join public.profiles p on p.id = c.profile_id and c.key_id is null
    left join private.api_keys k on k.id = c.key_id;
end
$$;
comment on function private.claim_import(uuid, text, boolean) is
  'Releases the previous import, or fails it with a problem. If takes, claims the import that has waited '
  'longest, for ten seconds or until its next chunk, and returns its sender''s credential.';
grant execute on function private.claim_import(uuid, text, boolean) to feedback_api;

-- definer: private tables; each asks for an admin.
create function private.admin_run_import(
  import_id uuid, records jsonb, refused jsonb,
  at bigint, chunk integer,  -- position of its rows, and the number of their chunk
  next jsonb,                -- with the last chunk of these rows: the next position
  nameless_votes integer     -- remaining after these rows
) returns jsonb
language plpgsql security definer set search_path = '' as $$
declare own_id uuid := private.require_admin(private.current_organization_id(), 'submissions:moderate');
  import private.imports; told jsonb;
begin
  if not exists (select from private.imports i where i.id = import_id and i.organization_id = own_id) then
    perform private.raise_error('NOT_FOUND', 'There is no such import.');
  end if;
  -- Fail instead of waiting: waiting imports of one organization would hold all connections.
  if not pg_try_advisory_xact_lock(hashtextextended('import ' || own_id, 0)) then
    perform private.raise_error('SERVICE_UNAVAILABLE',
      'Another import of this organization is being written: try again.');
  end if;
  select * into import from private.imports i where i.id = import_id for no key update;
  if (import.position ->> 'at')::bigint <> at or import.chunks_done <> chunk then
    perform private.raise_error('CONFLICT', 'Another request is running this import.');
  end if;
  -- As in exports, a key without survey scopes imports everything else.
  if records ?| array['survey', 'survey_response']
    and not (private.is_admin(own_id, 'surveys:write') and private.is_admin(own_id, 'surveys:publish')) then
    refused := refused || coalesce((
      select jsonb_agg(jsonb_build_object('line', r.value -> 'line', 'message',
        'needs a key with surveys:write and surveys:publish'))
      from jsonb_array_elements(coalesce(records -> 'survey', '[]') ||
        coalesce(records -> 'survey_response', '[]')) r), '[]');
    records := records - 'survey' - 'survey_response';
  end if;
  told := private.run_import(import_id, records, refused);
  -- In the transaction of the chunk, so that nothing is written or counted twice.
  update private.imports i set
    position = coalesce(next, i.position),
    chunks_done = case when next is null then i.chunks_done + 1 else 0 end,
    nameless_votes = case when next is null then i.nameless_votes else admin_run_import.nameless_votes end,
    claimed_until = case when i.claimed_until is not null then clock_timestamp() + interval '10 seconds' end
  where i.id = import_id;
  return told;
end
$$;
comment on function private.admin_run_import(uuid, jsonb, jsonb, bigint, integer, jsonb, integer) is
  'Writes a chunk of an import of the current organization and records its progress; raises CONFLICT if '
  'another process wrote it.';

create function private.admin_import_job(import_id uuid) returns json
-- definer: reads statistics of private.submission_search
language plpgsql stable security definer set search_path = '' as $$
declare own_id uuid := private.require_admin(private.current_organization_id(), 'submissions:moderate');
begin
  return (select json_build_object('state', i.state, 'query', i.query, 'file_type', i.file_type, 'position',
    i.position,
      'chunks_done', i.chunks_done, 'nameless_votes', i.nameless_votes)
    from private.imports i where i.id = import_id and i.organization_id = own_id and i.query is not null);
end
$$;
comment on function private.admin_import_job(uuid) is
  'State of an import job of the current organization for its next step; null if there is none.';

create function private.admin_import_file_part(import_id uuid, n integer) returns bytea
-- definer: reads statistics of private.submission_search
language plpgsql stable security definer set search_path = '' as $$
declare own_id uuid := private.require_admin(private.current_organization_id(), 'submissions:moderate');
begin
  return (select p.bytes from private.import_file_parts p
    where p.organization_id = own_id and p.import_id = admin_import_file_part.import_id
      and p.n = admin_import_file_part.n);
end
$$;
comment on function private.admin_import_file_part(uuid, integer) is
  'One part of an import''s file; null after the last.';

grant execute on function private.admin_run_import(uuid, jsonb, jsonb, bigint, integer, jsonb, integer),
  private.admin_import_job(uuid), private.admin_import_file_part(uuid, integer) to authenticated, service_key;

-- Prevents erased people from voting or answering twice: their participations are kept as keyed hashes, one
-- for each row.

create table private.erasure_key (
  key bytea not null,
  is_only boolean primary key default true,
  constraint there_is_one_key check (is_only)
);
comment on table private.erasure_key is
  'Key of the hashes if there is no Vault. Created by the first erasure or change of address; no API role '
  'can read it.';

create table private.erased_participations (
  hash bytea primary key,
  organization_id uuid not null references public.organizations (id) on delete cascade,
  row_id uuid not null,
  hashed_id uuid not null
);
comment on table private.erased_participations is
  'Votes and survey responses of erased people as hashes. row_id is the submission, comment or survey. hash '
  'is HMAC-SHA-256 of the account (its id, and its e-mail address) and hashed_id, the first row_id.';
create index erased_participations_row_idx on private.erased_participations (row_id, hashed_id);
create index erased_participations_organization_idx on private.erased_participations (organization_id);

create table private.former_addresses (
  profile_id uuid not null references public.profiles (id) on delete cascade,
  hash text not null,
  primary key (profile_id, hash)
);
comment on table private.former_addresses is
  'Former e-mail addresses of existing accounts as keyed hashes; an erasure covers them too.';
alter table private.erasure_key enable row level security;
alter table private.erased_participations enable row level security;
alter table private.former_addresses enable row level security;
revoke all on private.erasure_key, private.erased_participations, private.former_addresses
  from public, anon, authenticated, service_role, service_key;

create function private.read_erasure_key() returns bytea
language plpgsql stable set search_path = '' as $$
declare key bytea := (select k.key from private.erasure_key k);
begin
  if key is null and to_regclass('vault.decrypted_secrets') is not null then
    execute $query$ select decode(s.decrypted_secret, 'hex') from vault.decrypted_secrets s
      where s.name = 'feedback_erasure_key' $query$ into key;
  end if;
  return key;
end
$$;
comment on function private.read_erasure_key() is
  'Key of erased participations, from the table or Vault; null before it is created.';

create function private.make_erasure_key() returns bytea
language plpgsql set search_path = '' as $$
begin
  if private.read_erasure_key() is null then
    -- Serializes two first erasures, which must not create two keys.
    lock table private.erasure_key in exclusive mode;
    if private.read_erasure_key() is not null then
      null;
    elsif to_regprocedure('vault.create_secret(text, text, text, uuid)') is not null then
      execute 'select vault.create_secret($1, $2)' using encode(extensions.gen_random_bytes(32), 'hex'),
        'feedback_erasure_key';
    else
      insert into private.erasure_key (key) values (extensions.gen_random_bytes(32));
    end if;
  end if;
  return private.read_erasure_key();
end
$$;
comment on function private.make_erasure_key() is
  'Returns the key of erased participations and creates it if needed, in Vault if available.';

create function private.erasure_hash(key bytea, account text, row_id uuid) returns bytea
language sql immutable
return extensions.hmac(convert_to(account || ' ' || row_id, 'UTF8'), key, 'sha256');
comment on function private.erasure_hash(bytea, text, uuid) is
  'Hash of an account for one row. Hashes of one account for different rows cannot be linked.';

create function private.address_hash(address text) returns text
language plpgsql stable set search_path = '' as $$
begin
  return encode(extensions.hmac(convert_to(lower(address), 'UTF8'), private.read_erasure_key(), 'sha256'),
    'hex');
end
$$;
comment on function private.address_hash(text) is
  'Hash of a user''s e-mail address. Null before the key exists.';

create function private.accounts_of(person public.profiles) returns text[]
language plpgsql stable set search_path = '' as $$
begin
  return case person.kind
    when 'user' then array_remove(array['user ' || person.id, 'user ' || private.address_hash(person.email)],
      null)
      || array(select 'user ' || f.hash from private.former_addresses f where f.profile_id = person.id)
    when 'email' then array['author ' || lower(person.email)]
    else '{}'
  end;
end
$$;
comment on function private.accounts_of(public.profiles) is
  'Identifiers of a person after an erasure: id and all addresses of a user, who may sign up again; the '
  'address of an e-mail author.';

-- definer: private tables.
create function private.record_former_address() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  perform private.make_erasure_key();
  insert into private.former_addresses (profile_id, hash) values (old.id, private.address_hash(old.email))
    on conflict do nothing;
  return null;
end
$$;
comment on function private.record_former_address() is
  'Trigger: stores the hash of a former address, so that a user who changed it, was erased and signs up '
  'with it again is recognized.';
create trigger keep_former_address after update of email on public.profiles
  for each row when (new.auth_user_id is not null and lower(old.email) <> lower(new.email))
  execute function private.record_former_address();

create function private.record_participations(person public.profiles, organization_id uuid) returns void
language plpgsql set search_path = '' as $$
declare key bytea := private.make_erasure_key(); accounts text[] := private.accounts_of(person);
begin
  insert into private.erased_participations (hash, organization_id, row_id, hashed_id)
  select private.erasure_hash(key, account, t.row_id), t.organization_id, t.row_id, t.row_id
  from (
    select v.organization_id, coalesce(v.merged_from, v.submission_id) as row_id from public.votes v
      where v.user_id = person.id
    union
    select j.organization_id, j.source_id
    from public.votes v join public.submissions s on (s.organization_id, s.merged_into_id) =
      (v.organization_id, v.submission_id)
      join private.merged_votes j on j.source_id = s.id and j.user_id = v.user_id
    where v.user_id = person.id
    union
    select v.organization_id, v.comment_id from public.comment_votes v where v.user_id = person.id
    union
    select r.organization_id, r.survey_id from public.survey_responses r
      where r.user_id = person.id and r.is_only) t
  cross join unnest(accounts) account
  where record_participations.organization_id
    is null or t.organization_id = record_participations.organization_id
  on conflict do nothing;
end
$$;
comment on function private.record_participations(public.profiles, uuid) is
  'Before a person is erased, in one organization or (null) in all: stores hashes of their votes and single '
  'responses. The caller has locked the profile.';

-- definer: private tables.
create function private.record_participations_of_account() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  -- Waits for concurrent votes, which lock the profile too.
  perform 1 from public.profiles p where p.id = old.id for update;
  perform private.record_participations(old, null);
  delete from private.former_addresses f where f.profile_id = old.id;
  return new;
end
$$;
comment on function private.record_participations_of_account() is
  'Trigger: stores the participations of an account before it is deleted in any way.';
create trigger keep_participations before update of auth_user_id on public.profiles
  for each row when (old.auth_user_id is not null and new.auth_user_id is null)
  execute function private.record_participations_of_account();

create function private.participated(accounts text[], row_ids uuid[]) returns boolean
language plpgsql stable set search_path = '' as $$
declare key bytea := private.read_erasure_key();
begin
  -- A row has one hashed_id, and one more for each source that was deleted: the index is asked for the next,
  -- however many were erased.
  return exists (
    with recursive hashed as (
      select r.row_id, first.hashed_id
      from unnest(row_ids) r (row_id) cross join lateral (
        select e.hashed_id from private.erased_participations e where e.row_id = r.row_id
          order by e.hashed_id limit 1) first
      union all
      select h.row_id, next.hashed_id
      from hashed h cross join lateral (
        select e.hashed_id from private.erased_participations e
          where e.row_id = h.row_id and e.hashed_id > h.hashed_id
        order by e.hashed_id limit 1) next
    )
    select from hashed h cross join unnest(accounts) account
    where exists (select from private.erased_participations e
      where e.hash = private.erasure_hash(key, account, h.hashed_id)));
end
$$;
comment on function private.participated(text[], uuid[]) is
  'Whether one of the accounts participated in one of the rows before an erasure.';

create function private.participated(profile_id uuid, row_ids uuid[]) returns boolean
language plpgsql stable set search_path = '' as $$
begin
  return private.participated((select private.accounts_of(p) from public.profiles p where p.id = profile_id),
    row_ids);
end
$$;
comment on function private.participated(uuid, uuid[]) is
  'Whether the account participated in one of the rows before an erasure.';

create function private.participated(address text, row_ids uuid[]) returns boolean
language plpgsql stable set search_path = '' as $$
begin
  -- Checked first: most imported rows have no such hash.
  return exists (select from private.erased_participations e where e.row_id = any (row_ids))
    and private.participated(array['author ' || address, 'user ' || private.address_hash(address)], row_ids);
end
$$;
comment on function private.participated(text, uuid[]) is
  'For imports: whether an author or user with the lowercase address participated before an erasure.';

-- definer: private tables.
create function private.reject_second_participation() returns trigger
language plpgsql security definer set search_path = '' as $$
declare is_erased boolean;
begin
  if private.events_suppressed() then return null; end if;
  -- Lock until commit to serialize with an erasure; an erased user may still hold a token.
  select bool_or(p.kind = 'user' and coalesce(p.auth_user_id::text, p.email, p.name) is null) into is_erased
  from (select * from public.profiles where id in (select a.user_id from added a) for key share) p;
  if is_erased then
    perform private.raise_error('UNAUTHORIZED', 'This account was deleted.');
  end if;
  if not exists (select from added a join private.erased_participations e using (organization_id))
    then return null; end if;
  case tg_table_name
    when 'votes' then
      if exists (select from added a
        where private.participated(a.user_id, private.with_sources(a.submission_id))) then
        perform private.raise_error('CONFLICT',
          'You voted for this submission before you were erased, and that vote still counts.',
          'submission_id');
      end if;
    when 'comment_votes' then
      if exists (select from added a where private.participated(a.user_id, array[a.comment_id])) then
        perform private.raise_error('CONFLICT',
          'You voted for this comment before you were erased, and that vote still counts.', 'comment_id');
      end if;
    else
      if exists (select from added a where a.is_only and private.participated(a.user_id, array[a.survey_id]))
        then
        perform private.raise_error('ALREADY_RESPONDED',
          'You answered this survey before you were erased, and that response still counts.');
      end if;
  end case;
  return null;
end
$$;
comment on function private.reject_second_participation() is
  'Trigger: rejects a second vote or response after an erasure, from the same account or from a new one '
  'with the same address.';
create trigger refuse_second after insert on public.votes
  referencing new table as added for each statement execute function private.reject_second_participation();
create trigger refuse_second after insert on public.comment_votes
  referencing new table as added for each statement execute function private.reject_second_participation();
create trigger refuse_second after insert on public.survey_responses
  referencing new table as added for each statement execute function private.reject_second_participation();

-- definer: private tables.
create function private.delete_erased_participations() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if tg_table_name = 'submissions' then
    -- Votes copied from a merged submission stay with the target, and so do these hashes.
    update private.erased_participations e set row_id = g.merged_into_id
    from gone g join public.submissions s on s.id = g.merged_into_id where e.row_id = g.id;
  end if;
  delete from private.erased_participations e using gone g where e.row_id = g.id;
  return null;
end
$$;
comment on function private.delete_erased_participations() is 'Trigger: deletes the hashes of a deleted row.';
create trigger trim_participations after delete on public.submissions
  referencing old table as gone for each statement execute function private.delete_erased_participations();
create trigger trim_participations after delete on public.comments
  referencing old table as gone for each statement execute function private.delete_erased_participations();
create trigger trim_participations after delete on public.surveys
  referencing old table as gone for each statement execute function private.delete_erased_participations();

-- Access to and erasure of personal data. Content, votes and answers stay without the person.

create function private.personal_data(profile_id uuid, organization_id uuid) returns json
language plpgsql stable set search_path = '' as $$
begin
  return (
  select json_build_object(
    'profile', json_build_object('id', p.id, 'kind', p.kind, 'name', p.name, 'email', p.email, 'avatar_url',
      p.avatar_url,
      'locale', p.locale, 'created_at', p.created_at),
    'memberships', coalesce((select
      json_agg(json_build_object('organization_id', m.organization_id, 'role', m.role, 'created_at',
      m.created_at))
      from public.memberships m where m.user_id = p.id
        and (personal_data.organization_id is null or m.organization_id = personal_data.organization_id)),
        '[]'),
    'trust', coalesce((select json_agg(json_build_object('organization_id', t.organization_id, 'is_trusted',
      t.is_trusted, 'created_at', t.created_at))
      from private.author_trust t where t.user_id = p.id
        and (personal_data.organization_id is null or t.organization_id = personal_data.organization_id)),
        '[]'),
    'submissions', coalesce((select json_agg(s order by s.created_at desc) from (
      select s.id, s.organization_id, s.title, s.description, s.type, s.status, s.source, s.created_at,
        s.updated_at from public.submissions s
      where s.author_id = p.id and (personal_data.organization_id
        is null or s.organization_id = personal_data.organization_id)
      order by s.created_at desc limit 10000) s), '[]'),
    'comments', coalesce((select json_agg(c order by c.created_at desc) from (
      select c.id, c.organization_id, c.submission_id, c.parent_id, c.body, c.created_at, c.updated_at
        from public.comments c
      where c.author_id = p.id and (personal_data.organization_id
        is null or c.organization_id = personal_data.organization_id)
      order by c.created_at desc limit 10000) c), '[]'),
    'votes', coalesce((select json_agg(v order by v.created_at desc) from (
      select v.organization_id, v.submission_id, v.created_at from public.votes v
      where v.user_id = p.id and (personal_data.organization_id
        is null or v.organization_id = personal_data.organization_id)
      order by v.created_at desc limit 10000) v), '[]'),
    'comment_votes', coalesce((select json_agg(v order by v.created_at desc) from (
      select v.organization_id, v.comment_id, v.created_at from public.comment_votes v
      where v.user_id = p.id and (personal_data.organization_id
        is null or v.organization_id = personal_data.organization_id)
      order by v.created_at desc limit 10000) v), '[]'),
    'follows', coalesce((select json_agg(f order by f.created_at desc) from (
      select f.organization_id, f.submission_id, f.reason, f.created_at from public.follows f
      where f.user_id = p.id and (personal_data.organization_id
        is null or f.organization_id = personal_data.organization_id)
      order by f.created_at desc limit 10000) f), '[]'),
    'notifications', coalesce((select json_agg(n order by n.created_at desc) from (
      select n.organization_id, n.type, n.submission_id, n.comment_id, n.read_at, n.created_at
        from public.notifications n
      where n.user_id = p.id and (personal_data.organization_id
        is null or n.organization_id = personal_data.organization_id)
      order by n.created_at desc limit 10000) n), '[]'),
    'survey_responses', coalesce((select json_agg(r order by r.submitted_at desc) from (
      select r.id, r.organization_id, r.survey_id, s.title as survey_title, coalesce((
          select json_agg(json_build_object('question_id', q.id, 'question', q.text, 'value',
            a.answer -> 'value') order by q.position)
          from jsonb_array_elements(r.answers) as a (answer)
            join public.survey_questions q on q.id = (a.answer ->> 'question_id')::uuid), '[]') as answers,
        r.locale, r.started_at, r.submitted_at, r.sentiment, r.sentiment_score
      from public.survey_responses r join public.surveys s on s.id = r.survey_id
      where r.user_id = p.id and (personal_data.organization_id
        is null or r.organization_id = personal_data.organization_id)
      order by r.submitted_at desc limit 10000) r), '[]'),
    'survey_starts', coalesce((select json_agg(b order by b.started_at desc) from (
      select b.organization_id, b.survey_id, b.started_at from private.survey_starts b
      where b.user_id = p.id and (personal_data.organization_id
        is null or b.organization_id = personal_data.organization_id)
      order by b.started_at desc limit 10000) b), '[]'))
  from public.profiles p where p.id = profile_id);
end
$$;
comment on function private.personal_data(uuid, uuid) is
  'Personal data of a profile in one organization or (null) in all: the newest 10,000 rows of each kind.';

create function private.is_person_of_organization(profile_id uuid, organization_id uuid) returns boolean
language plpgsql stable set search_path = '' as $$
begin
  return exists (select from public.profiles p
    where p.id = profile_id and p.organization_id = is_person_of_organization.organization_id and p.kind
    in ('email', 'anonymous'))
    or exists (select from public.profiles p where p.id = profile_id and p.kind = 'user') and (
      exists (select from public.memberships m
        where m.user_id = profile_id and m.organization_id = is_person_of_organization.organization_id)
      or exists (select from public.submissions s
        where s.author_id = profile_id and s.organization_id = is_person_of_organization.organization_id)
      or exists (select from public.comments c
        where c.author_id = profile_id and c.organization_id = is_person_of_organization.organization_id)
      or exists (select from public.votes v
        where v.user_id = profile_id and v.organization_id = is_person_of_organization.organization_id)
      or exists (select from public.comment_votes v
        where v.user_id = profile_id and v.organization_id = is_person_of_organization.organization_id)
      or exists (select from public.follows f
        where f.user_id = profile_id and f.organization_id = is_person_of_organization.organization_id)
      or exists (select from public.survey_responses r
        where r.user_id = profile_id and r.organization_id = is_person_of_organization.organization_id)
      or exists (select from private.survey_starts b
        where b.user_id = profile_id and b.organization_id = is_person_of_organization.organization_id));
end
$$;
comment on function private.is_person_of_organization(uuid, uuid) is
  'Whether a profile is a person of the organization: an e-mail or imported author, or a user who wrote, '
  'voted, follows or answered there. Never agents and keys.';

-- Forgetting ------------------------------------------------------------------------------------------------

create function private.lock_personal_rows(profile_id uuid, organization_id uuid) returns void
language plpgsql set search_path = '' as $$
begin
  perform 1 from public.organizations o where o.id = lock_personal_rows.organization_id for no key update;
  perform 1 from public.submissions s
  where s.id in (
      select o.id from public.submissions o where o.author_id = profile_id
      union all select v.submission_id from public.votes v where v.user_id = profile_id
      union all select f.submission_id from public.follows f where f.user_id = profile_id
      union all select c.submission_id from public.comments c where c.author_id = profile_id
      union all select v.submission_id from public.comment_votes v where v.user_id = profile_id)
    and (lock_personal_rows.organization_id is null or s.organization_id = lock_personal_rows.organization_id)
  order by s.id for no key update;
end
$$;
comment on function private.lock_personal_rows(uuid, uuid) is
  'Locks all rows a person participated in, in one organization (whose merges wait) or in all.';

create function private.delete_personal_rows(profile_id uuid, organization_id uuid) returns void
language plpgsql set search_path = '' as $$
begin
  delete from public.notifications n
    where n.user_id = profile_id and
    (delete_personal_rows.organization_id
    is null or n.organization_id = delete_personal_rows.organization_id);
  delete from public.follows f where f.user_id = profile_id
    and (delete_personal_rows.organization_id
    is null or f.organization_id = delete_personal_rows.organization_id);
  -- Keep a mark as spam while the account exists: users must not remove it themselves.
  delete from private.author_trust t
  where t.user_id = profile_id and
    (delete_personal_rows.organization_id is null or t.organization_id = delete_personal_rows.organization_id
    and t.is_trusted);
  delete from private.invites i using public.profiles p
  where p.id = profile_id and (i.accepted_by = p.id or i.email = lower(p.email))
    and (delete_personal_rows.organization_id
      is null or i.organization_id = delete_personal_rows.organization_id);
  update private.outbox o set data =
    jsonb_set(o.data, '{comment,author}', '{"id": null, "name": "Anonymous"}')
  where o.type = 'comment.created' and o.subject_id in (
    select c.id from public.comments c where c.author_id = profile_id
      and (delete_personal_rows.organization_id
        is null or c.organization_id = delete_personal_rows.organization_id));
end
$$;
comment on function private.delete_personal_rows(uuid, uuid) is
  'Deletes rows that served only the person, in one organization or in all, and the name from undelivered '
  'events.';

create function private.erase_person(profile_id uuid, organization_id uuid) returns void
language plpgsql set search_path = '' as $$
declare person public.profiles; nobody uuid := profile_id;
begin
  perform private.lock_personal_rows(profile_id, organization_id);
  select * into person from public.profiles p where p.id = profile_id for update;
  if exists (select from public.memberships m
    where m.user_id = profile_id and m.organization_id = erase_person.organization_id) then
    perform private.raise_error('CONFLICT', 'This person is a team member: remove them first.');
  end if;
  perform private.record_participations(person, organization_id);
  perform private.delete_personal_rows(profile_id, organization_id);
  if person.kind = 'user' then
    -- The account may belong to other organizations too: in this one a nameless profile replaces it.
    insert into public.profiles (kind, organization_id) values ('anonymous', organization_id)
      returning id into nobody;
  end if;
  perform private.anonymize_responses(profile_id, organization_id, nobody);
  if person.kind <> 'user' then
    delete from private.external_ids e where e.profile_id = erase_person.profile_id;
    delete from private.author_trust t where t.user_id = erase_person.profile_id;
    update public.profiles p set kind = 'anonymous', email = null, name = null, avatar_url = null
      where p.id = profile_id;
    return;
  end if;
  perform set_config('feedback.suppress_events', 'on', true);
  update public.submissions s set author_id = nobody
    where s.author_id = profile_id and s.organization_id = erase_person.organization_id;
  update public.comments c set author_id = nobody
    where c.author_id = profile_id and c.organization_id = erase_person.organization_id;
  update public.votes v set user_id = nobody
    where v.user_id = profile_id and v.organization_id = erase_person.organization_id;
  update private.merged_votes v set user_id = nobody
    where v.user_id = profile_id and v.organization_id = erase_person.organization_id;
  update public.comment_votes v set user_id = nobody
    where v.user_id = profile_id and v.organization_id = erase_person.organization_id;
  update public.status_changes h set changed_by = nobody
    where h.changed_by = profile_id and h.organization_id = erase_person.organization_id;
  perform set_config('feedback.suppress_events', 'off', true);
end
$$;
comment on function private.erase_person(uuid, uuid) is
  'Erases a person in one organization: content, votes and answers stay without a person. Repeating it is '
  'not an error.';

-- For admins ------------------------------------------------------------------------------------------------

-- definer: e-mail addresses are not granted.
create function private.admin_find_people(email text) returns json
language plpgsql stable security definer set search_path = '' as $$
declare own_id uuid := private.require_admin(private.current_organization_id(), 'members:write');
begin
  return coalesce((select json_agg(json_build_object('id', p.id, 'kind', p.kind, 'name',
    coalesce(p.name, 'Anonymous'), 'created_at', p.created_at) order by p.kind, p.id)
    from (
      select * from public.profiles p where p.kind = 'email' and p.organization_id = own_id
        and lower(p.email) = lower(admin_find_people.email)
      union all
      select * from public.profiles p
        where p.kind = 'user' and lower(p.email) = lower(admin_find_people.email)
        and private.is_person_of_organization(p.id, own_id)
      limit 20) p), '[]');
end
$$;
comment on function private.admin_find_people(text) is
  'Profiles with this e-mail address in the current organization: an e-mail author, a user who '
  'participated, or both.';

create function private.admin_personal_data(profile_id uuid) returns json
language plpgsql security definer set search_path = '' as $$ -- definer: e-mail addresses are not granted
declare own_id uuid := private.require_admin(private.current_organization_id(), 'members:write');
begin
  if not private.is_person_of_organization(profile_id, own_id) then return null; end if;
  perform private.audit('person.export', 'profile', profile_id, '{}', own_id);
  return private.personal_data(profile_id, own_id);
end
$$;
comment on function private.admin_personal_data(uuid) is
  'Personal data of a person in the current organization; null if there is no such person.';

create function private.admin_erase_person(profile_id uuid) returns json
language plpgsql security definer set search_path = '' as $$ -- definer: writes private tables
declare own_id uuid := private.require_admin(private.current_organization_id(), 'members:write');
begin
  if not private.is_person_of_organization(profile_id, own_id) and not exists (
    select from private.audit_log a where a.organization_id = own_id and a.target_id = profile_id
      and a.action = 'person.erase') then
    return null;
  end if;
  perform private.erase_person(profile_id, own_id);
  perform private.audit('person.erase', 'profile', profile_id, '{}', own_id);
  return json_build_object('id', profile_id, 'erased', true);
end
$$;
comment on function private.admin_erase_person(uuid) is
  'Erases a person in the current organization; repeating it is not an error. Returns null if there is no '
  'such person.';

-- For oneself -----------------------------------------------------------------------------------------------

create function private.named_organization_id() returns uuid
language sql stable
return case when current_setting('feedback.organization_named', true) = 'true'
  then private.requested_organization_id() end;
comment on function private.named_organization_id() is
  'Organization named by the request or by the origin of the calling page; null if the request covers all.';

-- definer: reads personal data of the caller only.
create function private.my_personal_data() returns json
language plpgsql stable security definer set search_path = '' as $$
begin
  return private.personal_data(private.caller_id(), private.named_organization_id());
end
$$;
comment on function private.my_personal_data() is
  'Personal data of the caller in the named organization, or in all.';

-- definer: writes private tables and deletes the account.
create function private.erase_me() returns void
language plpgsql security definer set search_path = '' as $$
declare own_id uuid := private.caller_id(); named_id uuid := private.named_organization_id(); membership
  public.memberships;
begin
  if named_id is not null then
    -- A user without rows in the organization has nothing to erase, and its team is not notified.
    if private.is_person_of_organization(own_id, named_id) then
      perform private.erase_person(own_id, named_id);
      perform private.audit('person.erase', 'profile', own_id, '{}', named_id);
    end if;
    return;
  end if;
  for membership in select * from public.memberships m where m.user_id = own_id
    order by m.organization_id loop
    -- Check before the membership is deleted with the account: the last owner cannot leave.
    perform 1 from public.organizations o where o.id = membership.organization_id for no key update;
    perform private.audit('person.erase', 'profile', own_id, '{}', membership.organization_id);
  end loop;
  perform private.lock_personal_rows(own_id, null);
  perform private.delete_personal_rows(own_id, null);
  delete from private.rate_counters c where c.subject = own_id::text;
  delete from auth.users u where u.id = (select p.auth_user_id from public.profiles p where p.id = own_id);
end
$$;
comment on function private.erase_me() is
  'Erases the caller: in the named organization only, or in all by deleting the account with name, address, '
  'memberships, follows and notifications. Content and votes stay without a person. Raises CONFLICT for the '
  'last owner of an organization.';

grant execute on function private.admin_find_people(text), private.admin_personal_data(uuid),
  private.admin_erase_person(uuid) to authenticated, service_key;
grant execute on function private.my_personal_data(), private.erase_me() to authenticated;
