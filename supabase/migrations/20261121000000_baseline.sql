-- Generated from supabase/schemas by npm run db:baseline. Until the first release it is made anew; after it, reviewed deltas follow.

-- Roles, schemas, errors and the small helpers everything else stands on.
--
-- A function that is a definer or sets its search_path is written in plpgsql: SQL could not be inlined either,
-- and would be planned anew in every statement that calls it. What is in SQL here is inlined.

create schema if not exists private;
comment on schema private is 'Internals: not exposed by the data API. The API roles may use it and execute the helpers granted below, nothing else.';

create extension if not exists pg_trgm with schema extensions;
create extension if not exists unaccent with schema extensions;
create extension if not exists btree_gin with schema extensions;

-- Older hosted projects grant everything to the API roles by default: what we make starts with nothing.
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
comment on role service_key is 'Acts for an organization''s API key or agent key. No bypassrls: policies read the key''s organization and scopes from transaction-local settings.';
comment on role feedback_api is 'Login of the edge functions. Owns nothing and may do nothing but private.admit, private.enter and become one of the API roles.';
grant anon, authenticated, service_key to feedback_api;
-- From Postgres 16 on, making a role does not let its maker act as it; tests do.
grant service_key to current_user;
-- Each shape of a statement has a text of its own: planning it again for its values gains nothing.
alter role feedback_api set plan_cache_mode = 'force_generic_plan';
alter role feedback_api set statement_timeout = '8s';
-- A request that waits for a row holds a connection: it gives the connection up and tries once more (database.ts).
alter role feedback_api set lock_timeout = '200ms';
alter role feedback_api set idle_in_transaction_session_timeout = '15s';
-- A pooler may not pass on what a client sets when it connects.
alter role feedback_api set timezone = 'UTC';

grant usage on schema private to anon, authenticated, service_role, service_key, feedback_api;
grant usage on schema public to service_key;

-- Errors -------------------------------------------------------------------------------------------------------

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
comment on function private.error_state(text) is 'The SQLSTATE of an error code; shared/errors.ts holds the same table and a test compares the two.';

create function private.raise_error(code text, message text, field text default null, extra jsonb default '{}') returns void
language plpgsql set search_path = '' as $$
begin
  raise exception using
    errcode = private.error_state(code),
    message = message,
    detail = (jsonb_build_object('code', code, 'field', field) || extra)::text;
end
$$;
comment on function private.raise_error(text, text, text, jsonb) is 'The one way our SQL refuses: SQLSTATE by code, DETAIL is JSON {code, field, …extra}.';

-- Text ---------------------------------------------------------------------------------------------------------

create function private.trim_text(value text) returns text
language sql immutable
return btrim(value, E' \t\n\u000B\f\r\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000\uFEFF');
comment on function private.trim_text(text) is 'Without white space at either end, Unicode''s too: the same characters as shared/text.ts.';

create function private.is_slug(value text) returns boolean
language sql immutable
return value ~ '^[a-z0-9]+(-[a-z0-9]+)*$' and char_length(value) <= 64;
comment on function private.is_slug(text) is 'Lowercase ASCII letters, digits and single hyphens, at most 64: no look-alike characters.';

create function private.are_origins(value text[]) returns boolean
language sql immutable
return cardinality(value) <= 50 and array_position(value, null) is null
  and not exists (select from unnest(value) as origin where origin !~ '^https?://[a-z0-9.:\[\]-]+$');
comment on function private.are_origins(text[]) is 'At most 50 origins of web pages, each scheme, host and port; never * or null.';

create function private.are_translations(value jsonb) returns boolean
language sql immutable
return jsonb_typeof(value) = 'object'
  and not jsonb_path_exists(value, '$.keyvalue() ? (@.value.type() != "string" || !(@.key like_regex "^(en|es|fr|de|ru|pt-BR|ja|it)$"))');
comment on function private.are_translations(jsonb) is 'An object of locale to text, in the locales of shared/locales.ts.';

create function private.localized(name text, translations jsonb, locale text) returns text
language sql immutable
return coalesce(nullif(translations ->> locale, ''), name);
comment on function private.localized(text, jsonb, text) is 'The translation where there is one, else the English name.';

-- Who is calling -----------------------------------------------------------------------------------------------
-- private.enter sets these for the length of one transaction; clients of the data API cannot set them.

create function private.is_key() returns boolean
language sql stable
return coalesce(current_setting('role', true), '') = 'service_key';
comment on function private.is_key() is 'Whether the caller is an organization''s key rather than a person.';

create function private.has_scope(scope text) returns boolean
language sql stable
return private.is_key() and scope = any (string_to_array(coalesce(current_setting('feedback.scopes', true), ''), ' '));
comment on function private.has_scope(text) is 'Whether the caller is a key that holds the scope.';

create function private.key_organization_id() returns uuid
language sql stable
return case when private.is_key() then nullif(current_setting('feedback.organization_id', true), '')::uuid end;
comment on function private.key_organization_id() is 'The organization a key belongs to; null for everyone else.';

-- plpgsql, so that service_key needs no rights on schema auth.
create function private.caller_id() returns uuid
language plpgsql stable set search_path = '' as $$
begin
  if private.is_key() then
    return nullif(current_setting('feedback.profile_id', true), '')::uuid;
  end if;
  return auth.uid();
end
$$;
comment on function private.caller_id() is 'The profile that acts: the signed-in user, or the key''s own profile; null for nobody.';

create function private.agent_id() returns uuid
language sql stable
return case when private.is_key() then nullif(current_setting('feedback.agent_id', true), '')::uuid end;
comment on function private.agent_id() is 'The agent that calls, which is also the profile it acts as; null for everyone else.';

create function private.is_quiet() returns boolean
language sql stable
return coalesce(current_setting('feedback.quiet', true), '') in ('on', 'import');
comment on function private.is_quiet() is 'Whether votes and comments change as part of something larger (creation, merge, import), which tells of itself.';

create function private.is_importing() returns boolean
language sql stable
return coalesce(current_setting('feedback.quiet', true), '') = 'import';
comment on function private.is_importing() is 'Whether rows come with their own history: nothing is announced, approved or voted for on their behalf.';

create function private.is_direct() returns boolean
language sql stable
return session_user <> 'feedback_api'
  and coalesce(current_setting('role', true), '') in ('anon', 'authenticated')
  and pg_trigger_depth() = 1
  and not private.is_quiet();
comment on function private.is_direct() is 'In a trigger: whether a client of the data API itself does this, rather than the edge functions (which charge limits in private.admit), a cascade or an operator.';

create function private.touch_updated_at() returns trigger
language plpgsql set search_path = '' as $$
begin
  new.updated_at := now();
  return new;
end
$$;
comment on function private.touch_updated_at() is 'Trigger: updated_at is the time of the last change of content.';

grant execute on function private.error_state(text), private.raise_error(text, text, text, jsonb),
  private.is_key(), private.caller_id() to anon, authenticated, service_role, service_key, feedback_api;
grant execute on function private.trim_text(text), private.is_direct(), private.is_quiet(),
  private.is_importing() to authenticated, service_role, service_key, feedback_api;
grant execute on function private.is_slug(text), private.are_origins(text[]),
  private.are_translations(jsonb) to service_role, feedback_api;
grant execute on function private.localized(text, jsonb, text)
  to anon, authenticated, service_key, feedback_api;
grant execute on function private.has_scope(text) to authenticated, service_key, feedback_api;
grant execute on function private.key_organization_id() to service_key, feedback_api;
grant execute on function private.agent_id() to feedback_api;

-- Organizations, the people in them, and the categories and tags they file feedback under.

-- Organizations ------------------------------------------------------------------------------------------------

create function private.is_time_zone(value text) returns boolean
language plpgsql immutable set search_path = '' as $$
begin
  perform now() at time zone value;
  return value ~ '^[A-Za-z][A-Za-z0-9_+/-]{0,63}$';
exception when invalid_parameter_value then
  return false;
end
$$;
comment on function private.is_time_zone(text) is 'Whether Postgres knows a time zone of that name.';

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
  max_submissions integer,
  max_members integer,
  max_surveys integer,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint slug_is_lowercase_ascii check (private.is_slug(slug)),
  constraint name_has_1_to_100_characters check (char_length(name) between 1 and 100),
  constraint visibility_is_public_or_private check (visibility in ('public', 'private')),
  constraint time_zone_is_known check (private.is_time_zone(time_zone)),
  constraint settings_are_a_small_object check (jsonb_typeof(settings) = 'object' and octet_length(settings::text) <= 20000),
  constraint trust_after_is_1_to_1000 check (trust_after between 1 and 1000),
  constraint anonymous_may_is_known check (anonymous_may in ('read', 'vote', 'participate')),
  constraint allowed_origins_are_origins check (private.are_origins(allowed_origins)),
  constraint plan_limits_are_not_negative check (least(max_submissions, max_members, max_surveys) >= 0)
);
comment on table public.organizations is 'A tenant: one board of feedback, its surveys and its team. settings are the team''s own, which the service keeps and does not read. anonymous_may is what users without an account of their own may do. Plan limits are null for none.';
create unique index at_most_one_default_organization on public.organizations (is_default) where is_default;
create trigger touch_updated_at before update on public.organizations
  for each row execute function private.touch_updated_at();

-- People -------------------------------------------------------------------------------------------------------

create table public.profiles (
  id uuid primary key default gen_random_uuid(),
  kind text not null default 'user',
  auth_user_id uuid constraint one_profile_a_user unique references auth.users (id) on delete set null,
  organization_id uuid references public.organizations (id) on delete cascade,
  email text,
  name text,
  avatar_url text,
  is_anonymous boolean not null default false,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint kind_is_known check (kind in ('user', 'email', 'key', 'agent', 'anonymous')),
  constraint only_users_span_organizations check ((kind = 'user') = (organization_id is null)),
  constraint email_authors_have_an_email check (kind <> 'email' or email is not null),
  constraint name_has_1_to_100_characters check (char_length(name) between 1 and 100),
  constraint avatar_url_is_a_web_address check (avatar_url ~ '^https?://\S+$' and char_length(avatar_url) <= 2000)
);
comment on table public.profiles is 'Who acts: a user of the app, an author an organization knows by e-mail alone, an API key, an agent, or somebody without an address: erased, or imported by name. A user''s id is the auth user''s id; e-mail is never granted to clients. is_anonymous: the user signed in anonymously (Supabase''s anonymous sign-ins).';
create unique index one_email_author_an_organization on public.profiles (organization_id, lower(email)) where kind = 'email';
create index profiles_email_idx on public.profiles (lower(email)) where kind = 'user';
create trigger touch_updated_at before update on public.profiles
  for each row execute function private.touch_updated_at();

-- definer: the auth service's role may not write to public tables.
create function private.keep_profile_of_user() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if new.deleted_at is not null then
    update public.profiles set auth_user_id = null where auth_user_id = new.id;
    return null;
  end if;
  insert into public.profiles as p (id, kind, auth_user_id, email, name, is_anonymous)
  values (
    new.id, 'user', new.id, new.email,
    left(nullif(private.person_name(coalesce(new.raw_user_meta_data ->> 'name', new.raw_user_meta_data ->> 'full_name')), ''), 100),
    new.is_anonymous
  )
  on conflict (id) do update set email = excluded.email, is_anonymous = excluded.is_anonymous
  where p.auth_user_id is not null;
  return null;
end
$$;
comment on function private.keep_profile_of_user() is 'Trigger on auth.users: a user has a profile with the same id. The name is what the user gave at sign-up, never a part of the address. A soft-deleted user is forgotten as a deleted one.';
create trigger keep_profile after insert or update of email, is_anonymous, deleted_at on auth.users
  for each row execute function private.keep_profile_of_user();

create function private.person_name(value text) returns text
language sql immutable
return private.trim_text(regexp_replace(value, '[[:cntrl:]\u200B\u202A-\u202E\u2066-\u2069]', '', 'g'));
comment on function private.person_name(text) is 'A name as it is shown: trimmed, and nothing invisible that could make it look like another''s.';

create function private.clean_name() returns trigger
language plpgsql set search_path = '' as $$
begin
  new.name := private.person_name(new.name);
  return new;
end
$$;
comment on function private.clean_name() is 'Trigger: names are what they look like.';
create trigger clean_name before insert or update of name on public.profiles
  for each row execute function private.clean_name();

-- definer: memberships end with the person.
create function private.forget_person() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  delete from public.memberships where user_id = new.id;
  new.email := null;
  new.name := null;
  new.avatar_url := null;
  return new;
end
$$;
comment on function private.forget_person() is 'Trigger: when the auth user is deleted the profile stays, nameless, so that counts and threads stay whole.';
create trigger forget_person before update of auth_user_id on public.profiles
  for each row when (old.auth_user_id is not null and new.auth_user_id is null)
  execute function private.forget_person();

create table public.memberships (
  organization_id uuid not null references public.organizations (id) on delete cascade,
  user_id uuid not null references public.profiles (id) on delete cascade,
  role text not null default 'member',
  created_at timestamptz not null default now(),
  primary key (organization_id, user_id),
  constraint role_is_known check (role in ('owner', 'admin', 'member'))
);
comment on table public.memberships is 'The team of an organization. Any membership makes a team member; owner and admin are Admin.';
create index memberships_user_id_idx on public.memberships (user_id, organization_id);

-- definer: membership decides what one may see, so reading it cannot depend on what one may see.
create function private.team_organization_ids() returns uuid[]
language plpgsql stable security definer set search_path = '' as $$
begin
  if private.is_key() then
    return case
      when private.has_scope('submissions:read') or private.has_scope('submissions:moderate') then array[private.key_organization_id()]
      else '{}'
    end;
  end if;
  return coalesce((select array_agg(organization_id) from public.memberships where user_id = auth.uid()), '{}');
end
$$;
comment on function private.team_organization_ids() is 'Organizations whose private boards and waiting posts the caller may read: those a user is a member of; a key''s own, with submissions:read or submissions:moderate.';

-- definer: as above.
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
comment on function private.admin_organization_ids(text) is 'Organizations the caller administers: where a user is owner or admin; a key''s own, with the given scope.';

create function private.is_admin(organization_id uuid, scope text) returns boolean
language plpgsql stable set search_path = '' as $$
begin
  return organization_id = any (private.admin_organization_ids(scope));
end
$$;
comment on function private.is_admin(uuid, text) is 'Whether the caller is Admin of the organization, as a user or as a key with the scope.';

create function private.require_admin(organization_id uuid, scope text) returns void
language plpgsql stable set search_path = '' as $$
begin
  if not private.is_admin(organization_id, scope) then
    perform private.raise_error('FORBIDDEN', case
      when private.is_key() then format('This key lacks the scope %s.', scope)
      else 'This is for the organization''s admins.' end);
  end if;
end
$$;
comment on function private.require_admin(uuid, text) is 'Raises FORBIDDEN unless the caller is Admin of the organization.';

-- definer: a stranger sees the badge of a team member without seeing the team.
create function private.is_member(organization_id uuid, profile_id uuid) returns boolean
language plpgsql stable security definer set search_path = '' as $$
begin
  return exists (select from public.memberships m where m.organization_id = is_member.organization_id and m.user_id = profile_id);
end
$$;
comment on function private.is_member(uuid, uuid) is 'Whether the profile belongs to the organization''s team.';

-- definer: the setting is the organization's business.
create function private.needs_approval(organization_id uuid, profile_id uuid) returns boolean
language plpgsql stable security definer set search_path = '' as $$
begin
  return private.caller_id() is not null
    and exists (select from public.organizations o where o.id = needs_approval.organization_id and o.require_approval)
    and not private.is_member(organization_id, profile_id) and not private.is_trusted(organization_id, profile_id);
end
$$;
comment on function private.needs_approval(uuid, uuid) is 'Whether what a person or key writes now waits for approval: the organization asks for it, and the profile is neither on its team nor trusted. Operators need none.';

-- definer: an author is shown wherever what they wrote is shown; the caller has seen the row that names them.
create function private.author(profile_id uuid, organization_id uuid) returns json
language plpgsql stable security definer set search_path = '' as $$
begin
  return (
  select json_build_object(
    'id', p.id, 'name', coalesce(p.name, 'Anonymous'), 'avatar', p.avatar_url,
    'is_team_member', exists (select from public.memberships m where m.organization_id = author.organization_id and m.user_id = p.id))
  from public.profiles p where p.id = profile_id
);
end
$$;
comment on function private.author(uuid, uuid) is 'The public face of a profile: {id, name, avatar, is_team_member}.';

-- definer: profiles are not readable as a whole.
-- Volatile, to see an author that private.author_of_key made in the same statement.
create function private.is_author_of_key(profile_id uuid) returns boolean
language plpgsql volatile security definer set search_path = '' as $$
begin
  return private.is_key() and exists (
  select from public.profiles p
  where p.id = profile_id and p.organization_id = private.key_organization_id()
    and (p.id = private.caller_id() or p.kind = 'email' and private.agent_id() is null));
end
$$;
comment on function private.is_author_of_key(uuid) is 'Whether a key may act as the profile: its own, or one its organization knows by e-mail alone; never a user''s. An agent acts as itself only.';

create function private.may_act_as(profile_id uuid) returns boolean
language plpgsql volatile set search_path = '' as $$
begin
  return coalesce(case when private.is_key() then private.has_scope('submissions:write') and private.is_author_of_key(profile_id)
  else profile_id = private.caller_id() end, false);
end
$$;
comment on function private.may_act_as(uuid) is 'Whether the caller may vote, comment and submit as the profile: a person as themselves, a key with submissions:write as itself or an e-mail author.';

-- definer: writes profiles, which no key may.
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
  where p.kind = 'email' and p.organization_id = private.key_organization_id() and lower(p.email) = lower(author_of_key.email);
  if author_id is null then
    insert into public.profiles as p (kind, organization_id, email, name)
    values ('email', private.key_organization_id(), lower(author_of_key.email), author_of_key.name)
    on conflict (organization_id, lower(email)) where kind = 'email'
      do update set name = coalesce(p.name, excluded.name)
    returning id into author_id;
  elsif author_of_key.name is not null then
    update public.profiles p set name = author_of_key.name where p.id = author_id and p.name is distinct from author_of_key.name;
  end if;
  return author_id;
end
$$;
comment on function private.author_of_key(text, text) is 'The profile a key acts as: the organization''s author of that e-mail address, made at first sight, or without one the key''s own.';

create function private.default_organization_id() returns uuid
language plpgsql stable security definer set search_path = '' as $$ -- definer: a private organization can be the only one
declare default_id uuid := (select id from public.organizations where is_default); ids uuid[];
begin
  if default_id is not null then return default_id; end if;
  ids := array(select id from public.organizations limit 2);
  return case when cardinality(ids) = 1 then ids[1] end;
end
$$;
comment on function private.default_organization_id() is 'The only organization, or the one marked is_default; null where neither exists.';

-- definer: reads memberships and private organizations to decide what is visible.
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
  return case when found_visibility = 'public' or found_visibility = 'private' and private.is_member(found_id, caller_id) then found_id end;
end
$$;
comment on function private.find_organization(text, uuid) is 'The organization of an id or slug (null: the default one) if the profile may see it.';

create function private.requested_organization_id() returns uuid
language sql stable
return nullif(current_setting('feedback.organization_id', true), '')::uuid;
comment on function private.requested_organization_id() is 'The organization this request acts on: a key''s own, the one a header or parameter named, else the default; private.enter sets it.';

create function private.current_organization_id() returns uuid
language plpgsql stable set search_path = '' as $$
declare current_id uuid := private.requested_organization_id();
begin
  if current_id is null then
    perform private.raise_error('NOT_FOUND', 'Name an organization you can see: X-Organization takes its id or slug.', 'organization');
  end if;
  return current_id;
end
$$;
comment on function private.current_organization_id() is 'As requested_organization_id, for what needs one: NOT_FOUND without.';

-- Categories and tags ------------------------------------------------------------------------------------------

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
  constraint translations_are_by_locale check (private.are_translations(translations) and char_length(translations::text) <= 4000)
);
comment on table public.categories is 'What a submission is about, one each. name is English; translations is an object of locale to name.';

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
  constraint translations_are_by_locale check (private.are_translations(translations) and char_length(translations::text) <= 4000)
);
comment on table public.tags is 'Labels of submissions, any number each. name is English; translations is an object of locale to name.';

-- Operators ----------------------------------------------------------------------------------------------------

create function private.create_organization(name text, slug text, visibility text, owner_email text) returns uuid
language plpgsql set search_path = '' as $$
declare owner_id uuid; organization_id uuid;
begin
  select id into owner_id from public.profiles p where p.kind = 'user' and lower(p.email) = lower(owner_email);
  if owner_id is null then
    perform private.raise_error('NOT_FOUND', format('No user signs in with the address %s.', owner_email), 'owner_email');
  end if;
  insert into public.organizations (name, slug, visibility) values (name, slug, visibility) returning id into organization_id;
  insert into public.memberships (organization_id, user_id, role) values (organization_id, owner_id, 'owner');
  return organization_id;
end
$$;
comment on function private.create_organization(text, text, text, text) is 'For operators: an organization whose owner is the user of that e-mail address. NOT_FOUND without such a user.';

-- Rights -------------------------------------------------------------------------------------------------------

alter table public.organizations enable row level security;
alter table public.profiles enable row level security;
alter table public.memberships enable row level security;
alter table public.categories enable row level security;
alter table public.tags enable row level security;

revoke all on public.organizations, public.profiles, public.memberships, public.categories, public.tags
  from public, anon, authenticated, service_role, service_key;
grant select (id, slug, name, visibility, time_zone, created_at) on public.organizations to anon, authenticated, service_key;
grant select (id, kind, name, avatar_url, created_at) on public.profiles to anon, authenticated, service_key;
grant update (name, avatar_url) on public.profiles to authenticated;
grant select on public.memberships to authenticated;
grant select on public.categories, public.tags to anon, authenticated, service_key;
grant select, insert, update, delete on public.organizations, public.profiles, public.memberships, public.categories, public.tags
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
    user_id = (select auth.uid()) or organization_id = any ((select private.team_organization_ids())::uuid[]));

create policy "people change their own profile" on public.profiles
  for update to authenticated using (auth_user_id = (select auth.uid())) with check (auth_user_id = (select auth.uid()));

create policy "categories are seen with their organization" on public.categories
  for select to anon, authenticated, service_key using (
    exists (select from public.organizations o where o.id = organization_id));
create policy "tags are seen with their organization" on public.tags
  for select to anon, authenticated, service_key using (
    exists (select from public.organizations o where o.id = organization_id));
-- The policies that show profiles stand in 22_comments.sql: one is seen through what one wrote.

-- Submissions, what is said of their status, and who sees them.
-- References to profiles are deferred everywhere, so that an organization can be deleted with everything in it, in any order.

create table public.submissions (
  id uuid primary key default gen_random_uuid(),
  organization_id uuid not null default private.requested_organization_id() references public.organizations (id) on delete cascade,
  title text not null,
  description text not null,
  type text not null,
  status text not null default 'open',
  vote_count integer not null default 0,
  comment_count integer not null default 0,
  author_id uuid not null default private.caller_id() references public.profiles (id) deferrable initially deferred,
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
  constraint submissions_merge_target_is_of_the_same_organization foreign key (organization_id, merged_into_id)
    references public.submissions (organization_id, id),
  constraint title_has_5_to_200_characters check (char_length(title) between 5 and 200),
  constraint description_has_20_to_5000_characters check (char_length(description) between 20 and 5000),
  constraint type_is_idea_or_problem check (type in ('idea', 'problem')),
  constraint status_is_known check (
    status in ('open', 'under_review', 'planned', 'in_progress', 'completed', 'declined', 'duplicate')),
  constraint only_merged_submissions_are_duplicates check ((status = 'duplicate') = (merged_into_id is not null)),
  constraint moderation_state_is_known check (moderation_state in ('approved', 'pending', 'rejected', 'spam')),
  constraint source_has_1_to_64_characters check (char_length(source) between 1 and 64),
  constraint tracker_issue_url_is_a_web_address check (tracker_issue_url ~ '^https?://\S+$' and char_length(tracker_issue_url) <= 2000),
  constraint counts_are_not_negative check (vote_count >= 0 and comment_count >= 0)
);
comment on table public.submissions is 'Feedback: an idea or a problem. Triggers keep vote_count and comment_count (approved comments); is_public is whether anyone may see it: its board is public and it is approved. A merged source points to its target and leaves the lists.';

-- One index a sort, each led by what every list filters by.
create index submissions_newest_idx on public.submissions (organization_id, created_at desc, id desc) where merged_into_id is null;
create index submissions_most_voted_idx on public.submissions (organization_id, vote_count desc, id desc) where merged_into_id is null;
create index submissions_most_commented_idx on public.submissions (organization_id, comment_count desc, id desc) where merged_into_id is null;
create index submissions_title_idx on public.submissions (organization_id, title desc, id desc) where merged_into_id is null;
create index submissions_status_idx on public.submissions (organization_id, status, created_at desc, id desc) where merged_into_id is null;
create index submissions_status_votes_idx on public.submissions (organization_id, status, vote_count desc, id desc) where merged_into_id is null;
-- Finds the few of a kind that a walk through a sorted index would look for in vain.
create index submissions_kind_idx on public.submissions (organization_id, type, status, category_id) where merged_into_id is null;
create index submissions_category_idx on public.submissions (organization_id, category_id, created_at desc, id desc);
create index submissions_author_idx on public.submissions (author_id, organization_id, created_at desc, id desc);
create index submissions_merged_idx on public.submissions (organization_id, merged_into_id) where merged_into_id is not null;
create index submissions_not_public_idx on public.submissions (organization_id, author_id) where not is_public;

create table public.submission_tags (
  organization_id uuid not null default private.requested_organization_id(),
  submission_id uuid not null,
  tag_id uuid not null,
  merged_from uuid,
  primary key (organization_id, submission_id, tag_id),
  constraint one_of_each_tag unique (submission_id, tag_id),
  constraint submission_tags_submission_is_of_the_same_organization foreign key (organization_id, submission_id)
    references public.submissions (organization_id, id) on delete cascade,
  constraint submission_tags_tag_is_of_the_same_organization foreign key (organization_id, tag_id)
    references public.tags (organization_id, id) on delete cascade
);
comment on table public.submission_tags is 'Which tags a submission carries. merged_from is the source that lent it (92_merge.sql), null for its own.';
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
  constraint status_changes_submission_is_of_the_same_organization foreign key (organization_id, submission_id)
    references public.submissions (organization_id, id) on delete cascade,
  constraint status_is_known check (
    new_status in ('open', 'under_review', 'planned', 'in_progress', 'completed', 'declined', 'duplicate')),
  constraint note_has_1_to_2000_characters check (char_length(note) between 1 and 2000)
);
comment on table public.status_changes is 'The public history of a submission''s status. Inserting a row is how the status changes; a row that would change nothing is not kept.';
create index status_changes_submission_idx on public.status_changes (submission_id, created_at desc, id desc);
create index status_changes_changed_by_idx on public.status_changes (changed_by);

-- Who sees a submission ----------------------------------------------------------------------------------------

-- Inlined into the policy; the two arguments about the caller are computed once a statement.
create function private.can_see_submission(is_public boolean, author_id uuid, organization_id uuid, caller_id uuid, team_ids uuid[])
returns boolean language sql immutable
return is_public or author_id = caller_id or organization_id = any (team_ids);
comment on function private.can_see_submission(boolean, uuid, uuid, uuid, uuid[]) is 'The one rule of visibility, for submissions and their comments: everyone sees what is public; an author sees their own; the team sees everything of its organization.';

alter table public.submissions enable row level security;
alter table public.submission_tags enable row level security;
alter table public.status_changes enable row level security;
revoke all on public.submissions, public.submission_tags, public.status_changes from public, anon, authenticated, service_role, service_key;
grant execute on function private.can_see_submission(boolean, uuid, uuid, uuid, uuid[])
  to anon, authenticated, service_key;

create policy "a submission is seen by whoever may see it" on public.submissions
  for select to anon, authenticated, service_key using (private.can_see_submission(
    is_public, author_id, organization_id,
    (select private.caller_id()), (select private.team_organization_ids())::uuid[]));
create policy "a key stays in its organization" on public.submissions
  as restrictive to service_key using (organization_id = (select private.key_organization_id()));
create policy "users submit as themselves to boards they see" on public.submissions
  for insert to authenticated with check (
    author_id = (select auth.uid()) and exists (select from public.organizations o where o.id = organization_id));
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

grant select (id, organization_id, title, description, type, status, vote_count, comment_count, author_id, category_id, source,
  tracker_issue_url, moderation_state, is_public, merged_into_id, created_at, updated_at)
  on public.submissions to anon, authenticated, service_key;
grant insert (id, organization_id, title, description, type, category_id), update (title, description, category_id, tracker_issue_url), delete
  on public.submissions to authenticated;
grant insert (id, organization_id, title, description, type, category_id, author_id, source),
  update (title, description, category_id, tracker_issue_url), delete
  on public.submissions to service_key;
grant select (organization_id, submission_id, tag_id) on public.submission_tags to anon, authenticated, service_key;
grant insert (organization_id, submission_id, tag_id), delete on public.submission_tags to authenticated, service_key;
grant select (id, organization_id, submission_id, previous_status, new_status, changed_by, note, created_at)
  on public.status_changes to anon, authenticated, service_key;
grant insert (organization_id, submission_id, new_status, note, notify) on public.status_changes to authenticated, service_key;
grant select, insert, delete, update (title, description, type, category_id, source, tracker_issue_url, moderation_state)
  on public.submissions to service_role;
grant select, insert, update, delete on public.submission_tags, public.status_changes to service_role;

-- What happens when one is made --------------------------------------------------------------------------------

-- definer: reads settings of a private organization; its row lock orders this insert against a change of visibility.
create function private.prepare_submission() returns trigger
language plpgsql security definer set search_path = '' as $$
declare organization public.organizations;
begin
  new.organization_id := coalesce(new.organization_id, private.default_organization_id());
  new.title := private.trim_text(new.title);
  new.description := private.trim_text(new.description);
  if new.organization_id is null then
    perform private.raise_error('VALIDATION_ERROR', 'Name the organization: there is more than one.', 'organization_id');
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
comment on function private.prepare_submission() is 'Trigger: fills in organization, author, approval and visibility; the author''s own vote is the first.';
create trigger prepare before insert on public.submissions
  for each row execute function private.prepare_submission();

-- definer: limits of a plan are the organization's business; a row lock makes concurrent inserts take turns.
create function private.keep_plan_limit() returns trigger
language plpgsql security definer set search_path = '' as $$
declare organization public.organizations; used bigint;
begin
  for organization in
    select * from public.organizations o
    where o.max_submissions is not null and o.id in (select organization_id from added) order by o.id for no key update
  loop
    select count(*) into used from public.submissions s where s.organization_id = organization.id;
    if used > organization.max_submissions then
      perform private.raise_error('PLAN_LIMIT_REACHED', format('The plan allows %s submissions.', organization.max_submissions));
    end if;
  end loop;
  return null;
end
$$;
comment on function private.keep_plan_limit() is 'Trigger: an organization never has more submissions than its plan allows.';
create trigger keep_plan_limit after insert on public.submissions
  referencing new table as added for each statement execute function private.keep_plan_limit();

-- definer: makes the author's vote and follow, and the event, which no client may write.
create function private.start_submission() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if private.is_importing() then return null; end if;
  perform set_config('feedback.quiet', 'on', true);
  insert into public.votes (organization_id, submission_id, user_id, created_at)
  values (new.organization_id, new.id, new.author_id, new.created_at);
  insert into public.follows (organization_id, submission_id, user_id, reason, created_at)
  values (new.organization_id, new.id, new.author_id, 'author', new.created_at);
  perform set_config('feedback.quiet', 'off', true);
  return null;
end
$$;
comment on function private.start_submission() is 'Trigger: the author votes for and follows what they submit.';
create trigger start after insert on public.submissions
  for each row execute function private.start_submission();

-- definer: writes the event.
create function private.announce_submission() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if private.is_importing() then return null; end if;
  if tg_op = 'INSERT' or not private.is_announced('submission.created', new.id) then
    perform private.emit_event(new.organization_id, 'submission.created', new.id, jsonb_build_object('submission', jsonb_build_object(
      'id', new.id, 'title', new.title, 'description', new.description, 'type', new.type, 'status', new.status,
      'vote_count', new.vote_count, 'created_at', new.created_at)));
  end if;
  return null;
end
$$;
comment on function private.announce_submission() is 'Trigger: submission.created, once, when it is there for others to read.';
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
comment on function private.edit_submission() is 'Trigger: text is trimmed, and the link to an issue tracker is for admins.';
create trigger edit before update of title, description, category_id, tracker_issue_url on public.submissions
  for each row execute function private.edit_submission();

-- definer: counters are not a client's to write.
create function private.charge_submission_edit() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if private.is_direct() then perform private.charge_direct('submission_update_user', 1); end if;
  return new;
end
$$;
comment on function private.charge_submission_edit() is 'Trigger: edits by direct clients are counted, row by row, before they do anything.';
create trigger charge_edit before update of title, description, category_id, tracker_issue_url on public.submissions
  for each row execute function private.charge_submission_edit();

create function private.updated_submission(submission public.submissions) returns jsonb
language sql stable
return jsonb_build_object('submission', jsonb_build_object(
  'id', (submission).id, 'title', (submission).title, 'description', (submission).description, 'type', (submission).type,
  'status', (submission).status, 'vote_count', (submission).vote_count, 'category_id', (submission).category_id,
  'merged_into_id', (submission).merged_into_id, 'created_at', (submission).created_at, 'updated_at', (submission).updated_at));
comment on function private.updated_submission(public.submissions) is 'The data of submission.updated.';

-- definer: writes the event.
create function private.announce_edit() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if private.is_quiet() then return null; end if;
  if (new.title, new.description) is distinct from (old.title, old.description) and private.needs_approval(new.organization_id, private.caller_id()) then
    update public.submissions set moderation_state = 'pending' where id = new.id;
    return null;
  end if;
  perform private.emit_event(new.organization_id, 'submission.updated', new.id, private.updated_submission(new));
  return null;
end
$$;
comment on function private.announce_edit() is 'Trigger: submission.updated; but what needed approval needs it again when its text changes.';
create trigger announce_edit after update of title, description, category_id, tracker_issue_url on public.submissions
  for each row when (new.moderation_state = 'approved'
    and (old.title, old.description, old.category_id, old.tracker_issue_url)
      is distinct from (new.title, new.description, new.category_id, new.tracker_issue_url))
  execute function private.announce_edit();

-- A merge target holds its sources' votes: it can go only after they are given back.
create function private.keep_merge_target() returns trigger
language plpgsql security definer set search_path = '' as $$ -- definer: a source may be one the caller cannot see
begin
  if exists (select from public.submissions where organization_id = old.organization_id and merged_into_id = old.id)
    and exists (select from public.organizations where id = old.organization_id) then
    perform private.raise_error('CONFLICT', 'Other submissions are merged into this one: unmerge them first.');
  end if;
  return old;
end
$$;
comment on function private.keep_merge_target() is 'Trigger: a submission others are merged into cannot be deleted.';
create trigger keep_merge_target before delete on public.submissions
  for each row execute function private.keep_merge_target();

-- definer: the caller was shown these submissions; the policies of tags need not be asked again for each.
create function private.tags_of(submission_ids uuid[]) returns table (submission_id uuid, slugs json)
language plpgsql stable security definer set search_path = '' rows 50 as $$
begin
  return query
    select st.submission_id, json_agg(t.slug order by t.slug)
    from public.submission_tags st join public.tags t on t.id = st.tag_id
    where st.submission_id = any (submission_ids) group by 1;
end
$$;
comment on function private.tags_of(uuid[]) is 'Slugs of the tags of submissions the caller sees.';
grant execute on function private.tags_of(uuid[]) to anon, authenticated, service_key;

-- Status -------------------------------------------------------------------------------------------------------

-- Invoker: what the caller cannot see is not there; the lock shows only what they may edit.
create function private.prepare_status_change() returns trigger
language plpgsql set search_path = '' as $$
declare submission public.submissions;
begin
  -- Imports and merges write the history themselves.
  if private.is_quiet() then return new; end if;
  select * into submission from public.submissions where id = new.submission_id for no key update;
  if submission.id is null then
    if exists (select from public.submissions where id = new.submission_id) then
      perform private.raise_error('FORBIDDEN', 'This is for the organization''s admins.');
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
    perform private.raise_error('VALIDATION_ERROR', 'A submission becomes a duplicate by merging it.', 'status');
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
comment on function private.prepare_status_change() is 'Trigger: fills in what the status was and who changed it; a change to the same status is dropped.';
create trigger prepare before insert on public.status_changes
  for each row execute function private.prepare_status_change();

-- definer: the status is not granted to clients; notifications and events neither.
create function private.apply_status_change() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if private.is_importing() then return null; end if;
  if not private.is_quiet() then
    update public.submissions set status = new.new_status, updated_at = new.created_at where id = new.submission_id;
    perform private.audit('submission.set_status', 'submission', new.submission_id,
      jsonb_build_object('status', jsonb_build_object('from', new.previous_status, 'to', new.new_status)), new.organization_id);
  end if;
  perform private.emit_event(new.organization_id, 'submission.status_changed', new.submission_id, jsonb_build_object(
    'submission_id', new.submission_id, 'previous_status', new.previous_status, 'new_status', new.new_status,
    'changed_by', coalesce((select coalesce(name, 'Anonymous') from public.profiles where id = new.changed_by), 'System'),
    'note', coalesce(new.note, '')))
  from public.submissions s where s.id = new.submission_id and s.moderation_state = 'approved';
  if new.notify then
    perform private.notify_followers(new.organization_id, new.submission_id, 'status_changed', new.id, null, new.changed_by);
  end if;
  return null;
end
$$;
comment on function private.apply_status_change() is 'Trigger: the submission takes the new status; its followers, the outbox and the trail hear of it.';
create trigger apply after insert on public.status_changes
  for each row execute function private.apply_status_change();

-- Visibility follows the board ---------------------------------------------------------------------------------

-- Row locks stronger than a foreign key's order these changes against inserts that read the old visibility.
create function private.lock_board() returns trigger
language plpgsql set search_path = '' as $$
begin
  perform 1 from public.organizations where id = new.id for update;
  return new;
end
$$;
comment on function private.lock_board() is 'Trigger: waits for submissions in flight before a board''s visibility changes.';
create trigger lock_board before update of visibility on public.organizations
  for each row when (old.visibility <> new.visibility) execute function private.lock_board();

create function private.spread_visibility() returns trigger
language plpgsql security definer set search_path = '' as $$ -- definer: is_public is not granted to anyone
begin
  perform 1 from public.submissions where organization_id = new.id order by id for update;
  perform set_config('feedback.quiet', 'on', true);
  update public.submissions set is_public = (new.visibility = 'public' and moderation_state = 'approved')
  where organization_id = new.id;
  perform set_config('feedback.quiet', 'off', true);
  perform private.recount_submissions(new.id);
  return null;
end
$$;
comment on function private.spread_visibility() is 'Trigger: a board that turns private or public takes its submissions along.';
create trigger spread_visibility after update of visibility on public.organizations
  for each row when (old.visibility <> new.visibility) execute function private.spread_visibility();

create function private.follow_moderation() returns trigger
language plpgsql security definer set search_path = '' as $$ -- definer: a private organization
begin
  new.is_public := new.moderation_state = 'approved'
    and exists (select from public.organizations where id = new.organization_id and visibility = 'public');
  return new;
end
$$;
comment on function private.follow_moderation() is 'Trigger: is_public follows the moderation state.';
create trigger follow_moderation before update of moderation_state on public.submissions
  for each row execute function private.follow_moderation();

-- Votes and follows. Who voted is for admins only, by every way: user_id is granted to nobody.
--
-- Lock order, everywhere: organization (merges, changes of visibility), submission, comment, then rows that hang on them,
-- then counts of lists; several rows of one table by id. The lock comes before the row: a merge that holds the submission
-- must not meet the vote of somebody who waits for it. An insert locks in its trigger; a delete has its row before any
-- trigger, so its policy locks. Follows, which no merge moves, take no lock.

create table public.votes (
  id uuid not null default gen_random_uuid(),
  organization_id uuid not null default private.requested_organization_id(),
  submission_id uuid not null,
  user_id uuid not null default private.caller_id() references public.profiles (id) deferrable initially deferred,
  created_at timestamptz not null default now(),
  merged_from uuid,
  primary key (submission_id, id),
  constraint one_vote_a_person_and_submission unique (submission_id, user_id) include (created_at),
  constraint votes_submission_is_of_the_same_organization foreign key (organization_id, submission_id)
    references public.submissions (organization_id, id) on delete cascade
);
comment on table public.votes is 'One vote a person and submission. The primary key leads with submission_id so that a deleted vote still reaches realtime subscribers of that submission, carrying nothing but ids. merged_from is the source that lent it (92_merge.sql), null for its own.';
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
comment on table public.follows is 'Who hears of a submission, and why. Read by its owner only. A follow stays where it was made: who follows a submission follows what it is merged into.';
create index follows_user_idx on public.follows (user_id, created_at desc);

-- Rules of voting ----------------------------------------------------------------------------------------------

-- Invoker: what the caller cannot see is not there.
create function private.prepare_vote() returns trigger
language plpgsql set search_path = '' as $$
begin
  if private.is_quiet() then return new; end if;
  new.organization_id := (select s.organization_id from public.submissions s where s.id = new.submission_id);
  if new.organization_id is null then
    perform private.raise_error('NOT_FOUND', 'There is no such submission.', 'submission_id');
  end if;
  if tg_table_name = 'follows' then
    -- Stays where it is made, whatever is merged: no lock, which a client that follows thousands would hold of all.
    perform private.require_open_submission(new.submission_id);
  else
    -- Before the lock: a client that inserts thousands is refused at once.
    if private.is_direct() then perform private.charge_direct_vote(new.submission_id); end if;
    perform private.lock_open_submission(new.submission_id);
  end if;
  return new;
end
$$;
comment on function private.prepare_vote() is 'Trigger of votes and follows: the submission must be visible to the caller and not merged away.';

-- definer: a policy may keep the caller from the target.
create function private.require_open_submission(submission_id uuid) returns void
language plpgsql security definer set search_path = '' as $$
declare target_id uuid := (select s.merged_into_id from public.submissions s where s.id = require_open_submission.submission_id);
begin
  if target_id is not null then
    perform private.raise_error('SUBMISSION_MERGED', 'This submission was merged into another: go there.', null,
      jsonb_build_object('merged_into_id', target_id));
  end if;
end
$$;
comment on function private.require_open_submission(uuid) is 'Raises SUBMISSION_MERGED where the submission was merged into another.';

-- definer: locks a submission the caller may not edit.
create function private.lock_submission(submission_id uuid) returns boolean
language plpgsql security definer set search_path = '' cost 10000 as $$
begin
  perform 1 from public.submissions s where s.id = lock_submission.submission_id for no key update;
  return found;
end
$$;
comment on function private.lock_submission(uuid) is 'Takes the submission''s lock before something on it is added or deleted; whether it is there.';

create function private.lock_open_submission(submission_id uuid) returns void
language plpgsql set search_path = '' as $$
begin
  perform private.lock_submission(submission_id);
  perform private.require_open_submission(submission_id);
end
$$;
comment on function private.lock_open_submission(uuid) is 'Takes the submission''s lock before something is added to it; SUBMISSION_MERGED where a merge was there first.';

-- definer: counters are not a client's to write.
create function private.charge_direct_vote(submission_id uuid) returns void
language plpgsql security definer set search_path = '' as $$
begin
  if private.my_vote(submission_id) is null then perform private.charge_direct('vote_create', 1); end if;
end
$$;
comment on function private.charge_direct_vote(uuid) is 'Counts a vote by a client of the data API, unless it is there already.';

create trigger prepare before insert on public.votes
  for each row execute function private.prepare_vote();
create trigger prepare before insert on public.follows
  for each row execute function private.prepare_vote();

-- definer: counts, follows, notifications and events are not the voter's to write.
create function private.count_added_votes() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if private.is_quiet() then return null; end if;
  perform private.lock_submissions((select array_agg(submission_id) from added));
  update public.submissions s set vote_count = vote_count + d.votes
  from (select submission_id, count(*) as votes from added group by 1) d where s.id = d.submission_id;
  perform set_config('feedback.quiet', 'on', true);
  insert into public.follows (organization_id, submission_id, user_id, reason)
  select organization_id, submission_id, user_id, 'vote' from added order by submission_id, user_id
  on conflict do nothing;
  perform set_config('feedback.quiet', 'off', true);
  insert into public.notifications (organization_id, user_id, type, submission_id, event_id)
  select v.organization_id, s.author_id, 'vote', v.submission_id, v.id
  from added v join public.submissions s on s.id = v.submission_id join public.profiles p on p.id = s.author_id
  where s.author_id <> v.user_id and p.kind in ('user', 'email');
  perform private.emit_event(v.organization_id, 'submission.vote_added', v.submission_id,
    jsonb_build_object('submission_id', v.submission_id, 'vote_count', s.vote_count))
  from added v join public.submissions s on s.id = v.submission_id where s.moderation_state = 'approved';
  return null;
end
$$;
comment on function private.count_added_votes() is 'Trigger: vote_count, the voter''s follow, the author''s notification and submission.vote_added, which names no voter; of what waits for approval nothing is announced.';
create trigger count_added after insert on public.votes
  referencing new table as added for each statement execute function private.count_added_votes();

-- definer: as above.
create function private.count_removed_votes() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if private.is_quiet() then return null; end if;
  if private.is_direct() then
    -- Not those that went with their submission: triggers of a cascade are as deep as the client's own.
    perform private.charge_direct('vote_delete', (
      select count(*) from removed r where exists (select from public.submissions s where s.id = r.submission_id)));
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
comment on function private.count_removed_votes() is 'Trigger: vote_count and submission.vote_removed; a submission deleted with its votes announces none.';
create trigger count_removed after delete on public.votes
  referencing old table as removed for each statement execute function private.count_removed_votes();

-- definer: a policy may keep the caller from a source.
create function private.with_sources(submission_id uuid) returns uuid[]
language plpgsql stable security definer set search_path = '' as $$
begin
  return submission_id || array(
    select s.id from public.submissions target join public.submissions s on (s.organization_id, s.merged_into_id) = (target.organization_id, target.id)
    where target.id = submission_id);
end
$$;
comment on function private.with_sources(uuid) is 'A submission and all that are merged into it: who follows one of them follows it.';

create function private.is_follower(submission_id uuid, profile_id uuid) returns boolean
language plpgsql stable set search_path = '' as $$
begin
  return exists (select from public.follows f where f.submission_id = is_follower.submission_id and f.user_id = profile_id)
    or exists (select from public.follows f where f.submission_id = any (private.with_sources(is_follower.submission_id)) and f.user_id = profile_id);
end
$$;
comment on function private.is_follower(uuid, uuid) is 'Whether a person follows the submission.';

create function private.lock_submissions(ids uuid[]) returns void
language plpgsql set search_path = '' as $$
begin
  if cardinality(ids) > 1 then
    perform 1 from public.submissions where id = any (ids) order by id for no key update;
  end if;
end
$$;
comment on function private.lock_submissions(uuid[]) is 'Locks several submissions in the order of their ids, so that two statements over the same rows cannot deadlock.';

-- What the caller did ------------------------------------------------------------------------------------------

-- definer: user_id is granted to nobody; each answers for the caller alone.
create function private.my_vote(submission_id uuid) returns timestamptz
language plpgsql stable security definer set search_path = '' as $$
begin
  return (select v.created_at from public.votes v where v.submission_id = my_vote.submission_id and v.user_id = private.caller_id());
end
$$;
comment on function private.my_vote(uuid) is 'When the caller voted for the submission; null if they have not.';

create function private.vote_of(submission_id uuid, profile_id uuid) returns timestamptz
language plpgsql stable security definer set search_path = '' as $$
begin
  return (select v.created_at from public.votes v where v.submission_id = vote_of.submission_id and v.user_id = profile_id
  and (profile_id = private.caller_id() or private.is_author_of_key(profile_id)));
end
$$;
comment on function private.vote_of(uuid, uuid) is 'When the profile voted, for the profile itself or a key that acts as it.';

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

create function public.my_votes(submission_ids uuid[]) returns table (submission_id uuid, voted_at timestamptz)
language sql stable set search_path = ''
begin atomic
  select v.submission_id, v.voted_at from private.my_votes() v where v.submission_id = any (submission_ids);
end;
comment on function public.my_votes(uuid[]) is 'Which of the submissions the signed-in user voted for, and when (timestamptz). Rows of nobody else, ever.';

create function private.remove_vote(submission_id uuid, profile_id uuid) returns void
language plpgsql security definer set search_path = '' as $$
begin
  if private.may_act_as(profile_id) then
    perform private.lock_submission(remove_vote.submission_id);
    delete from public.votes v where v.submission_id = remove_vote.submission_id and v.user_id = profile_id;
  end if;
end
$$;
comment on function private.remove_vote(uuid, uuid) is 'Takes back the vote of the caller, or of a profile the key acts as. Nothing happens where there is none.';

create function private.submission_voters(submission_id uuid, most integer, skipped integer)
returns table (user_id uuid, name text, email text, voted_at timestamptz)
language plpgsql stable security definer set search_path = '' as $$
begin
  perform private.require_admin(s.organization_id, 'submissions:moderate') from public.submissions s where s.id = submission_voters.submission_id;
  return query
    select p.id, coalesce(p.name, 'Anonymous'), p.email, v.created_at
    from (
      select v.user_id, v.created_at from public.votes v where v.submission_id = submission_voters.submission_id
      order by v.created_at desc, v.user_id limit most offset skipped) v join public.profiles p on p.id = v.user_id;
end
$$;
comment on function private.submission_voters(uuid, integer, integer) is 'Who voted last, with e-mail addresses, for the organization''s admins; FORBIDDEN for anyone else.';

-- Rights -------------------------------------------------------------------------------------------------------

alter table public.votes enable row level security;
alter table public.follows enable row level security;
revoke all on public.votes, public.follows from public, anon, authenticated, service_role, service_key;
grant select (id, organization_id, submission_id, created_at) on public.votes to anon, authenticated, service_key;
grant insert (submission_id), delete on public.votes to authenticated;
grant insert (submission_id, user_id) on public.votes to service_key;
grant select (organization_id, submission_id, user_id, reason, created_at), delete on public.follows to authenticated;
grant insert (submission_id) on public.follows to authenticated;
grant select, insert, delete on public.votes, public.follows to service_role;
grant execute on function public.my_votes(uuid[]) to authenticated;
grant execute on function private.my_vote(uuid),
  private.vote_of(uuid, uuid), private.is_following(uuid), private.my_votes(), private.remove_vote(uuid, uuid), private.submission_voters(uuid, integer, integer)
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
  for delete to authenticated using (user_id = (select auth.uid()) and private.lock_submission(submission_id));

create policy "people see what they follow" on public.follows
  for select to authenticated using (user_id = (select auth.uid()));
create policy "people follow for themselves" on public.follows
  for insert to authenticated with check (user_id = (select auth.uid()));
create policy "people stop following" on public.follows
  for delete to authenticated using (user_id = (select auth.uid()));

-- Comments in threads, and votes on them.

create table public.comments (
  id uuid primary key default gen_random_uuid(),
  organization_id uuid not null default private.requested_organization_id(),
  submission_id uuid not null,
  parent_id uuid,
  author_id uuid not null default private.caller_id() references public.profiles (id) deferrable initially deferred,
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
  -- Deferred: remove_replies deletes a whole subtree level by level, however deep, without recursing.
  constraint comments_parent_is_of_the_same_submission foreign key (submission_id, parent_id)
    references public.comments (submission_id, id) deferrable initially deferred,
  constraint body_has_1_to_2000_characters check (char_length(body) between 1 and 2000),
  constraint moderation_state_is_known check (moderation_state in ('approved', 'pending', 'rejected', 'spam')),
  constraint counts_are_not_negative check (vote_count >= 0 and reply_count >= 0)
);
comment on table public.comments is 'What people say about a submission. is_official is whether the author was on the team when writing; is_public is whether anyone may see it.';
-- Official comments come first whichever way the rest is sorted, so each direction has its index.
create index comments_oldest_idx on public.comments (submission_id, is_official desc, created_at, id) where parent_id is null;
create index comments_newest_idx on public.comments (submission_id, is_official desc, created_at desc, id desc) where parent_id is null;
create index comments_least_voted_idx on public.comments (submission_id, is_official desc, vote_count, id) where parent_id is null;
create index comments_most_voted_idx on public.comments (submission_id, is_official desc, vote_count desc, id desc) where parent_id is null;
create index comments_replies_idx on public.comments (parent_id, is_official desc, created_at, id) where parent_id is not null;
create index comments_author_idx on public.comments (author_id, created_at desc);

create table public.comment_votes (
  id uuid not null default gen_random_uuid(),
  -- Filled in by prepare; the default lets clients leave it out.
  submission_id uuid not null default '00000000-0000-0000-0000-000000000000',
  comment_id uuid not null,
  user_id uuid not null default private.caller_id() references public.profiles (id) deferrable initially deferred,
  organization_id uuid not null default private.requested_organization_id(),
  created_at timestamptz not null default now(),
  primary key (comment_id, id),
  constraint one_vote_a_person_and_comment unique (comment_id, user_id),
  constraint comment_votes_comment_is_of_the_same_submission foreign key (submission_id, comment_id)
    references public.comments (submission_id, id) on delete cascade on update cascade
);
comment on table public.comment_votes is 'One vote a person and comment; who voted is granted to nobody.';
create index comment_votes_user_idx on public.comment_votes (user_id);

-- Writing ------------------------------------------------------------------------------------------------------

-- Invoker: a submission or parent the caller cannot see is not there.
create function private.prepare_comment() returns trigger
language plpgsql set search_path = '' as $$
declare parent record;
begin
  new.organization_id := (select s.organization_id from public.submissions s where s.id = new.submission_id);
  if new.organization_id is null then
    perform private.raise_error('NOT_FOUND', 'There is no such submission.', 'submission_id');
  end if;
  new.body := private.trim_text(new.body);
  new := private.rate_comment(new);
  -- After the lock, so that a parent is neither merged away nor rejected meanwhile.
  -- An import has checked the parent, which may be of the same statement.
  if new.parent_id is not null and not private.is_importing() then
    select c.id, c.moderation_state into parent from public.comments c where c.id = new.parent_id and c.submission_id = new.submission_id;
    if parent.id is null then
      perform private.raise_error('NOT_FOUND', 'There is no such comment to reply to on this submission.', 'parent_id');
    end if;
    if parent.moderation_state <> 'approved' and private.caller_id() is not null then
      perform private.raise_error('CONFLICT', 'The comment has to be approved before it is replied to.', 'parent_id');
    end if;
  end if;
  return new;
end
$$;
comment on function private.prepare_comment() is 'Trigger: the submission must be visible and not merged away, a parent must be of the same submission.';

-- definer: settings of the organization and the board's state; the lock orders this insert against a change of visibility, and comes before the parent's.
create function private.rate_comment(comment public.comments) returns public.comments
language plpgsql security definer set search_path = '' as $$
declare submission_is_public boolean;
begin
  -- Row by row and before the lock: a client that inserts thousands is refused at once.
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
comment on function private.rate_comment(public.comments) is 'Counts a direct client''s comment, locks the submission, and sets what the author cannot: is_official by membership, approval, visibility.';
create trigger prepare before insert on public.comments
  for each row execute function private.prepare_comment();

create function private.edit_comment() returns trigger
language plpgsql set search_path = '' as $$
begin
  if old.created_at < now() - private.comment_edit_window() then
    perform private.raise_error('FORBIDDEN', 'A comment can be edited for 15 minutes after it was posted.', 'body');
  end if;
  new.body := private.trim_text(new.body);
  new.updated_at := now();
  return new;
end
$$;
comment on function private.edit_comment() is 'Trigger: a comment is edited within 15 minutes or not at all.';
-- definer: counters are not a client's to write.
create function private.follow_comment_edit() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if private.is_direct() then perform private.charge_direct('comment_update', 1); end if;
  if new.body <> old.body and new.moderation_state = 'approved' and private.needs_approval(new.organization_id, new.author_id) then
    update public.comments set moderation_state = 'pending' where id = new.id;
  end if;
  return null;
end
$$;
comment on function private.follow_comment_edit() is 'Trigger: edits by direct clients are counted, and what needed approval needs it again.';
create trigger follow_edit after update of body on public.comments
  for each row execute function private.follow_comment_edit();

create function private.comment_edit_window() returns interval
language sql immutable
return interval '15 minutes';
comment on function private.comment_edit_window() is 'How long after posting a comment may be edited.';
create trigger edit before update of body on public.comments
  for each row execute function private.edit_comment();

-- definer: as in 21_votes.sql.
create function private.count_added_comments() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  perform private.lock_submissions((select array_agg(distinct submission_id) from added));
  update public.submissions s set comment_count = comment_count + d.comments
  from (select submission_id, count(*) as comments from added where moderation_state = 'approved' group by 1) d
  where s.id = d.submission_id;
  perform private.lock_comments((select array_agg(distinct parent_id) from added where parent_id is not null));
  update public.comments c set reply_count = reply_count + d.replies
  from (select parent_id, count(*) as replies from added where moderation_state = 'approved' group by 1) d
  where c.id = d.parent_id;
  if private.is_importing() then return null; end if;
  perform set_config('feedback.quiet', 'on', true);
  insert into public.follows (organization_id, submission_id, user_id, reason)
  select distinct organization_id, submission_id, author_id, 'comment' from added order by 2, 3
  on conflict do nothing;
  perform set_config('feedback.quiet', 'off', true);
  perform private.announce_comment(a.id) from added a where a.moderation_state = 'approved';
  return null;
end
$$;
comment on function private.count_added_comments() is 'Trigger: comment_count, reply_count and the author''s follow; an approved comment is announced.';
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
comment on function private.lock_comments(uuid[]) is 'Locks several comments in the order of their ids.';

create function private.announce_comment(comment_id uuid) returns void
language plpgsql set search_path = '' as $$
declare comment public.comments;
begin
  select * into comment from public.comments where id = comment_id;
  perform private.emit_event(comment.organization_id, 'comment.created', comment.id, jsonb_build_object(
    'comment', jsonb_build_object('id', comment.id, 'submission_id', comment.submission_id, 'parent_id', comment.parent_id,
      'body', comment.body, 'is_official', comment.is_official, 'created_at', comment.created_at,
      'author', (select jsonb_build_object('id', p.id, 'name', coalesce(p.name, 'Anonymous')) from public.profiles p where p.id = comment.author_id))));
  perform private.notify_followers(comment.organization_id, comment.submission_id,
    case when comment.is_official then 'official_comment' else 'comment' end, comment.id, comment.id, comment.author_id);
end
$$;
comment on function private.announce_comment(uuid) is 'comment.created and its notifications, once a comment is there for others to read.';

-- definer: deletes replies by others; each level's delete fires this again until none is left.
create function private.remove_replies() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  -- A delete of no rows fires this too, and would go on for ever.
  if not exists (select from removed) then return null; end if;
  if private.is_direct() then
    perform private.charge_direct('comment_delete', (
      select count(*) from removed r where exists (select from public.submissions s where s.id = r.submission_id)));
  end if;
  perform private.lock_submissions((select array_agg(distinct submission_id) from removed));
  update public.submissions s set comment_count = comment_count - d.comments
  from (select submission_id, count(*) as comments from removed where moderation_state = 'approved' group by 1) d
  where s.id = d.submission_id;
  perform private.lock_comments((select array_agg(distinct parent_id) from removed where parent_id is not null));
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
comment on function private.remove_replies() is 'Trigger: a deleted comment takes its whole subtree along, and the counts follow.';
create trigger remove_replies after delete on public.comments
  referencing old table as removed for each statement execute function private.remove_replies();

-- definer: locks a submission the caller may not edit.
create function private.lock_thread(comment_id uuid) returns boolean
language plpgsql security definer set search_path = '' cost 10000 as $$
declare thread_id uuid;
begin
  loop
    select c.submission_id into thread_id from public.comments c where c.id = comment_id;
    if thread_id is null then return false; end if;
    -- A block of its own: where a merge took the comment elsewhere while we waited, its end gives the lock back.
    begin
      perform private.lock_submission(thread_id);
      if exists (select from public.comments c where c.id = comment_id and c.submission_id = thread_id) then return true; end if;
      raise exception using errcode = 'FBMOV';
    exception when sqlstate 'FBMOV' then null;
    end;
  end loop;
end
$$;
comment on function private.lock_thread(uuid) is 'Takes the lock of the submission a comment stands on, before the comment''s own; whether the comment is there.';

-- definer: a submission the caller may not see.
create function private.follow_comment_moderation() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  new.is_public := new.moderation_state = 'approved'
    and coalesce((select s.is_public from public.submissions s where s.id = new.submission_id), false);
  return new;
end
$$;
comment on function private.follow_comment_moderation() is 'Trigger: is_public follows the moderation state.';
create trigger follow_moderation before update of moderation_state on public.comments
  for each row execute function private.follow_comment_moderation();

create function private.moderate_comment() returns trigger
language plpgsql security definer set search_path = '' as $$ -- definer: a submission the caller may not see
declare change integer := (new.moderation_state = 'approved')::integer - (old.moderation_state = 'approved')::integer;
begin
  update public.submissions set comment_count = comment_count + change where id = new.submission_id and change <> 0;
  update public.comments set reply_count = reply_count + change where id = new.parent_id and change <> 0;
  if change = 1 and not private.is_announced('comment.created', new.id) then
    perform private.announce_comment(new.id);
  end if;
  return null;
end
$$;
comment on function private.moderate_comment() is 'Trigger: an approved comment is counted and announced; a rejected one is not.';
create trigger moderate after update of moderation_state on public.comments
  for each row when (old.moderation_state <> new.moderation_state) execute function private.moderate_comment();

create function private.spread_visibility_to_comments() returns trigger
language plpgsql security definer set search_path = '' as $$ -- definer: is_public is not granted to anyone
begin
  update public.comments set is_public = new.is_public and moderation_state = 'approved' where submission_id = new.id;
  return null;
end
$$;
comment on function private.spread_visibility_to_comments() is 'Trigger: comments are hidden and shown with their submission.';
create trigger spread_visibility after update of is_public, moderation_state on public.submissions
  for each row when (old.is_public <> new.is_public) execute function private.spread_visibility_to_comments();

-- Votes on comments --------------------------------------------------------------------------------------------

create function private.prepare_comment_vote() returns trigger
language plpgsql set search_path = '' as $$
begin
  new.organization_id := (select c.organization_id from public.comments c where c.id = new.comment_id);
  new.submission_id := case when new.organization_id is not null then private.lock_comment(new.comment_id) end;
  if new.submission_id is null then
    perform private.raise_error('NOT_FOUND', 'There is no such comment.', 'comment_id');
  end if;
  return new;
end
$$;
comment on function private.prepare_comment_vote() is 'Trigger: the comment must be visible to the caller.';
-- definer: locks a comment the caller may not edit.
create function private.lock_comment(comment_id uuid) returns uuid
language plpgsql security definer set search_path = '' cost 10000 as $$
declare current_id uuid;
begin
  select c.submission_id into current_id from public.comments c where c.id = lock_comment.comment_id for no key update;
  return current_id;
end
$$;
comment on function private.lock_comment(uuid) is 'Takes the comment''s lock before a vote for it comes or goes; the submission it stands on now, which a merge may have changed.';

create trigger prepare before insert on public.comment_votes
  for each row execute function private.prepare_comment_vote();

-- definer: counts are not the voter's to write.
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
comment on function private.count_added_comment_votes() is 'Trigger: vote_count of comments.';
create trigger count_added after insert on public.comment_votes
  referencing new table as added for each statement execute function private.count_added_comment_votes();

-- definer: as above.
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
comment on function private.count_removed_comment_votes() is 'Trigger: vote_count of comments.';
create trigger count_removed after delete on public.comment_votes
  referencing old table as removed for each statement execute function private.count_removed_comment_votes();

-- definer: user_id is granted to nobody; each answers for the caller, or for a profile a key acts as.
create function private.comment_vote_of(comment_id uuid, profile_id uuid) returns timestamptz
language plpgsql stable security definer set search_path = '' as $$
begin
  return (select v.created_at from public.comment_votes v where v.comment_id = comment_vote_of.comment_id and v.user_id = profile_id
  and (profile_id = private.caller_id() or private.is_author_of_key(profile_id)));
end
$$;
comment on function private.comment_vote_of(uuid, uuid) is 'When the profile voted for the comment, for the profile itself or a key that acts as it.';

create function private.remove_comment_vote(comment_id uuid, profile_id uuid) returns void
language plpgsql security definer set search_path = '' as $$
begin
  if private.may_act_as(profile_id) then
    perform private.lock_comment(remove_comment_vote.comment_id);
    delete from public.comment_votes v where v.comment_id = remove_comment_vote.comment_id and v.user_id = profile_id;
  end if;
end
$$;
comment on function private.remove_comment_vote(uuid, uuid) is 'Takes back the vote of the caller, or of a profile the key acts as.';

-- definer: a key that may only write cannot read what it wrote on a private board.
create function private.written_comment(comment_id uuid) returns json
language plpgsql stable security definer set search_path = '' as $$
begin
  return (
  select json_build_object('id', c.id, 'body', c.body, 'author', json_build_object('id', p.id, 'name', coalesce(p.name, 'Anonymous')),
    'is_official', c.is_official, 'created_at', c.created_at)
  from public.comments c join public.profiles p on p.id = c.author_id
  where c.id = comment_id and (c.author_id = private.caller_id() or private.is_author_of_key(c.author_id))
);
end
$$;
comment on function private.written_comment(uuid) is 'A comment the caller has just written: {id, body, author: {id, name}, is_official, created_at}.';

-- Rights -------------------------------------------------------------------------------------------------------

alter table public.comments enable row level security;
alter table public.comment_votes enable row level security;
revoke all on public.comments, public.comment_votes from public, anon, authenticated, service_role, service_key;
grant select on public.comments to anon, authenticated, service_key;
grant insert (id, submission_id, parent_id, body), update (body), delete on public.comments to authenticated;
grant insert (id, submission_id, parent_id, body, author_id), delete on public.comments to service_key;
grant select (id, organization_id, submission_id, comment_id, created_at) on public.comment_votes to anon, authenticated, service_key;
grant insert (comment_id), delete on public.comment_votes to authenticated;
grant insert (comment_id, user_id) on public.comment_votes to service_key;
grant select, insert, delete, update (body, is_official, moderation_state) on public.comments to service_role;
grant select, insert, delete on public.comment_votes to service_role;
grant execute on function private.comment_edit_window(), private.lock_comment(uuid),
  private.rate_comment(public.comments) to authenticated, service_role, service_key;
grant execute on function private.lock_thread(uuid) to authenticated, service_key;
grant execute on function private.written_comment(uuid), private.comment_vote_of(uuid, uuid),
  private.remove_comment_vote(uuid, uuid) to anon, authenticated, service_key;

create policy "a comment is seen by whoever may see it" on public.comments
  for select to anon, authenticated, service_key using (private.can_see_submission(
    is_public, author_id, organization_id,
    (select private.caller_id()), (select private.team_organization_ids())::uuid[]));
create policy "a key stays in its organization" on public.comments
  as restrictive to service_key using (organization_id = (select private.key_organization_id()));
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
    (author_id = (select auth.uid()) or organization_id = any ((select private.admin_organization_ids(''))::uuid[]))
    and private.lock_thread(id));
create policy "keys delete of their e-mail authors, and as admins" on public.comments
  for delete to service_key using (
    (private.may_act_as(author_id) or organization_id = any ((select private.admin_organization_ids('submissions:moderate'))::uuid[]))
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
  for delete to authenticated using (user_id = (select auth.uid()) and private.lock_comment(comment_id) is not null);

create policy "people are seen through what they wrote" on public.profiles
  for select to anon, authenticated, service_key using (
    id = (select private.caller_id())
    or exists (select from public.submissions s where s.author_id = profiles.id)
    or exists (select from public.comments c where c.author_id = profiles.id));
create policy "members see their team's profiles" on public.profiles
  for select to authenticated using (
    exists (select from public.memberships m where m.user_id = profiles.id));

-- What waits, what is turned away, and who need not wait. States are kept by the triggers of 20_submissions.sql and
-- 22_comments.sql, so that they hold whoever changes a state; this is how a team does it.

create index submissions_moderation_idx on public.submissions (organization_id, moderation_state, created_at, id) where moderation_state <> 'approved';
create index comments_moderation_idx on public.comments (organization_id, moderation_state, created_at, id) where moderation_state <> 'approved';

-- Trust --------------------------------------------------------------------------------------------------------

create table private.author_trust (
  organization_id uuid not null references public.organizations (id) on delete cascade,
  user_id uuid not null references public.profiles (id) on delete cascade,
  is_trusted boolean not null,
  created_at timestamptz not null default now(),
  primary key (organization_id, user_id)
);
comment on table private.author_trust is 'Authors a team has decided on: trusted ones need no approval, others always do, whatever was approved of them before.';
create index author_trust_user_idx on private.author_trust (user_id);
alter table private.author_trust enable row level security;
revoke all on private.author_trust from public, anon, authenticated, service_role, service_key;

create function private.is_trusted(organization_id uuid, profile_id uuid) returns boolean
language plpgsql stable set search_path = '' as $$
declare wanted integer;
begin
  return coalesce(
    (select t.is_trusted from private.author_trust t where t.organization_id = is_trusted.organization_id and t.user_id = profile_id),
    (select o.trust_after <= (
        select count(*) from (
          (select from public.submissions s where s.author_id = profile_id and s.organization_id = o.id and s.moderation_state = 'approved' limit o.trust_after)
          union all
          (select from public.comments c where c.author_id = profile_id and c.organization_id = o.id and c.moderation_state = 'approved' limit o.trust_after)) approved)
      from public.organizations o where o.id = is_trusted.organization_id),
    false);
end
$$;
comment on function private.is_trusted(uuid, uuid) is 'Whether what a profile writes need not wait: the team said so, or trust_after of what it wrote is approved. For definers.';

-- Threads ------------------------------------------------------------------------------------------------------

create table private.hidden_replies (
  comment_id uuid primary key references public.comments (id) on delete cascade,
  organization_id uuid not null,
  under_id uuid not null references public.comments (id) on delete cascade
);
comment on table private.hidden_replies is 'Replies that were turned away only because a comment above them was; they come back with it.';
create index hidden_replies_under_idx on private.hidden_replies (under_id);
alter table private.hidden_replies enable row level security;
revoke all on private.hidden_replies from public, anon, authenticated, service_role, service_key;

-- definer: replies are by others.
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
    insert into private.hidden_replies (comment_id, organization_id, under_id) select id, new.organization_id, new.id from unnest(replies) as id;
    update public.comments set moderation_state = new.moderation_state where id = any (replies);
  else
    -- Decided by itself now: what hangs on it waits for it, not for the one above.
    with own as (delete from private.hidden_replies where comment_id = new.id returning under_id),
      thread as (
        with recursive below as (
          select c.id from public.comments c where c.parent_id = new.id
          union all
          select c.id from public.comments c join below b on c.parent_id = b.id)
        select id from below)
    update private.hidden_replies h set under_id = new.id from own, thread where h.under_id = own.under_id and h.comment_id = thread.id;
  end if;
  return null;
end
$$;
comment on function private.moderate_replies() is 'Trigger: a comment that is turned away takes the replies to it along, and brings them back when it is approved.';
create trigger moderate_replies after update of moderation_state on public.comments
  for each row when (old.moderation_state <> new.moderation_state) execute function private.moderate_replies();

-- The team -----------------------------------------------------------------------------------------------------

-- definer: the team's own; it asks for an admin.
create function private.admin_moderation_queue(state text, type text, before_at timestamptz, before_id uuid, most integer)
returns table (total bigint, more boolean, last text[], data json)
language plpgsql stable security definer set search_path = '' as $$
#variable_conflict use_column
declare own_id uuid := private.current_organization_id();
begin
  perform private.require_admin(own_id, 'submissions:moderate');
  return query
    with page as (
      (select 'submission' as type, s.id, s.id as submission_id, s.title, s.description as body, s.author_id, s.moderation_state as state, s.created_at
      from public.submissions s
      where admin_moderation_queue.type is distinct from 'comment' and s.organization_id = own_id
        and s.moderation_state = admin_moderation_queue.state and s.moderation_state <> 'approved'
        and (before_at is null or (s.created_at, s.id) > (before_at, before_id))
      order by s.created_at, s.id limit most + 1)
      union all
      (select 'comment', c.id, c.submission_id, null, c.body, c.author_id, c.moderation_state, c.created_at
      from public.comments c
      where admin_moderation_queue.type is distinct from 'submission' and c.organization_id = own_id
        and c.moderation_state = admin_moderation_queue.state and c.moderation_state <> 'approved'
        and (before_at is null or (c.created_at, c.id) > (before_at, before_id))
      order by c.created_at, c.id limit most + 1)
    ), shown as (
      select * from page order by created_at, id limit most
    )
    select
      (select count(*) from public.submissions s where admin_moderation_queue.type is distinct from 'comment'
        and s.organization_id = own_id and s.moderation_state = admin_moderation_queue.state and s.moderation_state <> 'approved')
      + (select count(*) from public.comments c where admin_moderation_queue.type is distinct from 'submission'
        and c.organization_id = own_id and c.moderation_state = admin_moderation_queue.state and c.moderation_state <> 'approved'),
      (select count(*) from page) > most,
      (select array[s.created_at::text, s.id::text] from shown s order by s.created_at desc, s.id desc limit 1),
      coalesce((select json_agg(json_build_object('type', s.type, 'id', s.id, 'submission_id', s.submission_id, 'title', s.title, 'body', s.body,
        'author', private.author(s.author_id, own_id), 'is_trusted', private.is_trusted(own_id, s.author_id), 'state', s.state, 'created_at', s.created_at)
        order by s.created_at, s.id) from shown s), '[]');
end
$$;
comment on function private.admin_moderation_queue(text, text, timestamptz, uuid, integer) is 'Submissions and comments of the current organization that are pending, rejected or spam, oldest first, for admins and keys with submissions:moderate. Goes on after (before_at, before_id).';

-- definer: states and trust are granted to nobody.
create function private.admin_moderate(target_type text, target_id uuid, action text, reason text, trust_author boolean) returns json
language plpgsql security definer set search_path = '' as $$
declare
  wanted text := case action when 'approve' then 'approved' when 'reject' then 'rejected' else 'spam' end;
  own_id uuid;
  subject record;
begin
  if target_type = 'comment' then
    select c.organization_id, c.is_public, c.author_id into subject from public.comments c where c.id = target_id;
  else
    select s.organization_id, s.is_public, s.author_id into subject from public.submissions s where s.id = target_id;
  end if;
  own_id := private.moderated(subject.organization_id, subject.is_public, subject.author_id, target_type, 'target_id');
  if target_type = 'comment' then perform private.lock_thread(target_id); else perform private.lock_submission(target_id); end if;
  if target_type = 'comment' then
    select c.moderation_state as state, p.moderation_state as above, c.author_id into subject
    from public.comments c left join public.comments p on p.id = c.parent_id where c.id = target_id;
  else
    select s.moderation_state as state, 'approved' as above, s.author_id into subject from public.submissions s where s.id = target_id;
  end if;
  if subject.state is null then
    perform private.raise_error('NOT_FOUND', format('There is no such %s.', target_type), 'target_id');
  elsif wanted = 'approved' and subject.above <> 'approved' then
    perform private.raise_error('CONFLICT', 'The comment it replies to is not approved: approve that first.', 'target_id');
  end if;
  if wanted = 'spam' or trust_author then
    insert into private.author_trust as t (organization_id, user_id, is_trusted) values (own_id, subject.author_id, wanted <> 'spam')
    on conflict on constraint author_trust_pkey do update set is_trusted = excluded.is_trusted, created_at = now();
  end if;
  if subject.state <> wanted then
    if target_type = 'comment' then
      update public.comments set moderation_state = wanted where id = target_id;
    else
      update public.submissions set moderation_state = wanted where id = target_id;
    end if;
  end if;
  if subject.state <> wanted or trust_author then
    perform private.audit(target_type || '.' || action, target_type, target_id, jsonb_strip_nulls(jsonb_build_object(
      'state', jsonb_build_object('from', subject.state, 'to', wanted), 'reason', reason, 'trust_author', trust_author)), own_id);
  end if;
  return json_build_object('target_type', target_type, 'target_id', target_id, 'previous_state', subject.state, 'state', wanted);
end
$$;
comment on function private.admin_moderate(text, uuid, text, text, boolean) is 'Approves, rejects or marks as spam a submission or comment; again is not an error. Spam takes the author''s trust away, trust_author gives it.';
grant execute on function private.admin_moderation_queue(text, text, timestamptz, uuid, integer), private.admin_moderate(text, uuid, text, text, boolean)
  to authenticated, service_key;

-- How many submissions a list has, without counting them: the cost of a page does not grow with the board.

create table private.submission_counts (
  organization_id uuid not null references public.organizations (id) on delete cascade,
  is_public boolean not null,
  status text not null,
  type text not null,
  category_id uuid,
  total bigint not null,
  constraint one_count_of_a_kind unique nulls not distinct (organization_id, is_public, status, type, category_id)
);
comment on table private.submission_counts is 'Submissions in lists (not merged away) of each kind. Triggers keep it; private.count_mistakes compares it with the truth.';
alter table private.submission_counts enable row level security;
revoke all on private.submission_counts from public, anon, authenticated, service_role, service_key;

-- Rows are locked in the order of their keys, after the submission's own.
-- definer: counts are nobody's to write.
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
comment on function private.count_changed_submissions() is 'Trigger: new submissions are counted, deleted ones no longer.';
create trigger count_created after insert on public.submissions
  referencing new table as changed for each statement execute function private.count_changed_submissions();
create trigger count_deleted after delete on public.submissions
  referencing old table as changed for each statement execute function private.count_changed_submissions();

-- A row trigger, because only one of a row can be kept off the path of votes: it names its columns.
-- definer: as above.
create function private.count_moved_submission() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if private.is_quiet() then return null; end if;
  insert into private.submission_counts as c (organization_id, is_public, status, type, category_id, total)
  select m.organization_id, m.is_public, m.status, m.type, m.category_id, sum(m.change)
  from (values
    (old.organization_id, old.is_public, old.status, old.type, old.category_id, case when old.merged_into_id is null then -1 else 0 end),
    (new.organization_id, new.is_public, new.status, new.type, new.category_id, case when new.merged_into_id is null then 1 else 0 end)
  ) m (organization_id, is_public, status, type, category_id, change)
  group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5
  on conflict on constraint one_count_of_a_kind do update set total = c.total + excluded.total;
  return null;
end
$$;
comment on function private.count_moved_submission() is 'Trigger: a submission that changes its kind moves from one count to another.';
create trigger count_moved after update of is_public, moderation_state, status, type, category_id, merged_into_id on public.submissions
  for each row when ((old.is_public, old.status, old.type, old.category_id, old.merged_into_id)
    is distinct from (new.is_public, new.status, new.type, new.category_id, new.merged_into_id))
  execute function private.count_moved_submission();

create function private.recount_submissions(organization_id uuid) returns void
language plpgsql set search_path = '' as $$
begin
  delete from private.submission_counts c where c.organization_id = recount_submissions.organization_id;
  insert into private.submission_counts (organization_id, is_public, status, type, category_id, total)
  select s.organization_id, s.is_public, s.status, s.type, s.category_id, count(*)
  from public.submissions s where s.organization_id = recount_submissions.organization_id and s.merged_into_id is null
  group by 1, 2, 3, 4, 5;
end
$$;
comment on function private.recount_submissions(uuid) is 'Counts an organization''s submissions anew; the caller holds them locked.';

-- definer: reads counts; what the caller may see of them is the rule of private.can_see_submission, added up.
create function private.count_submissions(organization_id uuid, status text, type text, category_ids uuid[]) returns bigint
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
    where s.organization_id = count_submissions.organization_id and s.author_id = caller and not s.is_public and s.merged_into_id is null
      and (count_submissions.status is null or s.status = count_submissions.status)
      and (count_submissions.type is null or s.type = count_submissions.type)
      and (category_ids is null or s.category_id = any (category_ids))
      and (kept_to is null or s.category_id = any (kept_to))) end;
end
$$;
comment on function private.count_submissions(uuid, text, text, uuid[]) is 'How many submissions of a kind the caller sees in lists; null counts every status, type or category.';
grant execute on function private.count_submissions(uuid, text, text, uuid[]) to anon, authenticated, service_key;

-- Full text and similarity. What search needs stands apart from submissions, so that a vote stays a small update.

create text search configuration private.plain (copy = pg_catalog.simple);
alter text search configuration private.plain
  alter mapping for asciiword, asciihword, hword_asciipart, word, hword, hword_part
  with extensions.unaccent, pg_catalog.simple;
comment on text search configuration private.plain is 'Words as they are, without accents or case: one configuration for all locales.';

create table private.submission_search (
  submission_id uuid primary key references public.submissions (id) on delete cascade,
  organization_id uuid not null,
  document tsvector not null,
  title text not null,
  content text not null
);
comment on table private.submission_search is 'A submission as search sees it: document for words, title and content (no accents, lower case) for trigrams, which also serve languages written without spaces.';
create index submission_search_document_idx on private.submission_search using gin (organization_id, document);
create index submission_search_title_idx on private.submission_search using gin (organization_id, title extensions.gin_trgm_ops);
create index submission_search_content_idx on private.submission_search using gin (organization_id, content extensions.gin_trgm_ops);
alter table private.submission_search enable row level security;

-- plpgsql, for unaccent is only stable: SQL around it would not be inlined.
create function private.plain_text(value text) returns text
language plpgsql immutable set search_path = '' as $$
begin
  return lower(extensions.unaccent('extensions.unaccent'::regdictionary, value));
end
$$;
comment on function private.plain_text(text) is 'Lower case, without accents.';

-- definer: clients may not write to private.
create function private.index_submission() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  insert into private.submission_search (submission_id, organization_id, document, title, content)
  values (new.id, new.organization_id,
    setweight(to_tsvector('private.plain', new.title), 'A') || setweight(to_tsvector('private.plain', new.description), 'D'),
    private.plain_text(new.title), private.plain_text(new.title || ' ' || new.description))
  on conflict (submission_id) do update set
    document = excluded.document, title = excluded.title, content = excluded.content;
  return null;
end
$$;
comment on function private.index_submission() is 'Trigger: what is written can be found at once.';
create trigger index_text after insert or update of title, description on public.submissions
  for each row execute function private.index_submission();

create function private.search_query(q text) returns tsquery
language plpgsql immutable set search_path = '' as $$
declare words tsquery;
begin
  -- Runs of hyphens nest negations deeper than Postgres goes.
  words := websearch_to_tsquery('private.plain', regexp_replace(q, '-(\s*-)+', ' ', 'g'));
  if right(words::text, 1) = '''' then return (words::text || ':*')::tsquery; end if;
  return words;
exception when internal_error or syntax_error then
  return plainto_tsquery('private.plain', q);
end
$$;
comment on function private.search_query(text) is 'Words, "phrases", -exclusions and or; the last word matches as a prefix, so that results come while typing.';

create function private.like_pattern(q text) returns text
language sql immutable
return '%' || replace(replace(replace(private.plain_text(q), '\', '\\'), '%', '\%'), '_', '\_') || '%';
comment on function private.like_pattern(text) is 'A LIKE pattern that finds the text itself anywhere.';

create function private.relevance(document tsvector, title text, content text, words tsquery, pattern text) returns real
language sql immutable
return (ts_rank(document, words) + case when title like pattern then 0.5 when content like pattern then 0.1 else 0 end)::real;
comment on function private.relevance(tsvector, text, text, tsquery, text) is 'How well a submission fits; higher fits better.';

create function private.board_size(organization_id uuid) returns bigint
language sql stable security definer set search_path = '' -- definer: counts are granted to nobody
return (select coalesce(sum(c.total), 0) from private.submission_counts c where c.organization_id = board_size.organization_id);
comment on function private.board_size(uuid) is 'How many submissions are in an organization''s lists, whoever may see them.';

create function private.indexed_submissions() returns double precision
language sql stable security definer set search_path = '' -- definer: as above
return (select greatest(c.reltuples, 0) from pg_catalog.pg_class c where c.oid = 'private.submission_search'::regclass);
comment on function private.indexed_submissions() is 'About how many submissions of all organizations the indexes of search hold.';

-- An index of words reads every entry of a word before it gives the first, so it is asked for rare words only.
-- The newest submissions tell which words are rare: no counter has to be kept for each word of each submission.
-- definer: reads private.submission_search.
create function private.newest_texts(organization_id uuid, out documents tsvector[], out contents text[])
language plpgsql stable security definer set search_path = '' set enable_seqscan = off as $$
begin
  select array_agg(c.document), array_agg(c.content) into documents, contents
  from (select s.id from public.submissions s
      where s.organization_id = newest_texts.organization_id and s.merged_into_id is null
      order by s.created_at desc, s.id desc limit 200) s
    cross join lateral (select c.document, c.content from private.submission_search c where c.submission_id = s.id offset 0) c;
end
$$;
comment on function private.newest_texts(uuid) is 'The newest 200 submissions of an organization as search sees them, a sample to tell rare words by.';

-- A prefix of one or two letters stands for more words than the index should read, and exclusions for nearly all.
create function private.indexed_words(words tsquery) returns tsquery
language plpgsql immutable set search_path = '' as $$
declare
  short_prefix constant text := '''[^'']{1,2}'':\*';
  positive constant text := regexp_replace(querytree(words), ' (&|<->) ' || short_prefix || '$', '');
begin
  if positive in ('', 'T') or positive ~ ('(^| )' || short_prefix) or numnode(words) > 60 then return null; end if;
  return positive::tsquery;
end
$$;
comment on function private.indexed_words(tsquery) is 'What of a query the index of words is asked for; the rest only narrows it. Null where that is nothing.';

create function private.share_of_words(words tsquery, documents tsvector[]) returns double precision
language sql immutable
return (
  select coalesce(sum(a.rarest), 0) from (
    select (
      select min((select count(*) from unnest(documents) d where d @@ lexeme[1]::tsquery))
      from regexp_matches(alternative, '''(?:[^'']|'''')+''(?::\*)?', 'g') lexeme) as rarest
    from regexp_split_to_table(words::text, ' \| ') alternative) a)::double precision / greatest(cardinality(documents), 1);
comment on function private.share_of_words(tsquery, tsvector[]) is 'The share of entries the index of words reads for a query: of each alternative those of its rarest word.';

create function private.rarest_trigrams(plain text, contents text[], out patterns text[], out share double precision)
language sql immutable set search_path = '' as $$
  select (array_agg('%' || r.part || '%' order by r.n, r.part))[1:2], min(r.n)::double precision / greatest(cardinality(contents), 1)
  from (
    select t.part, (select count(*) from unnest(contents) content where position(t.part in content) > 0) as n
    from (select distinct substr(plain, n, 3) as part from generate_series(1, least(char_length(plain), 42) - 2) n) t
    where t.part ~ '^[[:alnum:]]{3}$') r
$$;
comment on function private.rarest_trigrams(text, text[]) is 'The two rarest trigrams of a text, as patterns, and the share of texts that hold the rarest. Null where the text has none.';

-- Of a board of up to 4,000 all are found. Of a bigger one those the indexes give (1,001 of each, enough to know that there
-- are more than 1,000), and where these are not all, or a word is too common for the index, the newest and most voted ones.
-- definer: reads private.submission_search; the caller joins the ids with submissions, where policies apply.
create function private.find_submissions(organization_id uuid, q text, status text, most_looked_at integer,
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
  -- The indexes are of all organizations.
  everything constant double precision := greatest(private.indexed_submissions(), size);
  is_alone constant boolean := size * 2 > everything;
  most constant integer := case when size <= 4000 then 4000 else 1001 end;
  asks_words boolean := false;
  asks_text boolean := false;
  rare_parts text[];
  at_newest integer;
begin
  if size > 500 then
    select numnode(words) = 0 or indexed is not null and private.share_of_words(indexed, n.documents) * everything <= 150000,
      coalesce(t.share * size <= 5000 and t.share * everything <= 150000, false), t.patterns
    into asks_words, asks_text, rare_parts
    from private.newest_texts(own_id) n, private.rarest_trigrams(private.plain_text(q), n.contents) t;
  end if;
  at_newest := case when size <= 4000 then 4000 when asks_words then most_looked_at / 4 else most_looked_at end;
  with by_words as materialized (
    select c.submission_id, private.relevance(c.document, c.title, c.content, words, pattern) as relevance
    from private.submission_search c
    where asks_words and (is_alone or c.organization_id = own_id) and c.document operator(pg_catalog.@@) indexed
      and (c.organization_id = own_id and c.document operator(pg_catalog.@@) words) is true limit most
  ), by_text as materialized (
    select c.submission_id, private.relevance(c.document, c.title, c.content, words, pattern) as relevance
    from private.submission_search c
    where asks_text and (is_alone or c.organization_id = own_id) and c.content operator(pg_catalog.~~) rare_parts[1]
      and c.content operator(pg_catalog.~~) coalesce(rare_parts[2], rare_parts[1])
      and (c.organization_id = own_id and c.content operator(pg_catalog.~~) pattern) is true limit most
  ), told as materialized (
    select asks_words and asks_text and (size <= 4000
      or (select count(*) from by_words) < most and (select count(*) from by_text) < most) as everything
  ), newest as materialized (
    select s.id from public.submissions s
    where not (select everything from told) and s.organization_id = own_id and s.merged_into_id is null
      and (find_submissions.status is null or s.status = find_submissions.status)
    order by s.created_at desc, s.id desc limit at_newest
  ), most_voted as materialized (
    select s.id from public.submissions s
    where not (select everything from told) and size > 4000 and s.organization_id = own_id and s.merged_into_id is null
      and (find_submissions.status is null or s.status = find_submissions.status)
    order by s.vote_count desc, s.id desc limit at_newest
  ), found as (
    select * from by_words union select * from by_text
    union
    select l.id, c.relevance from (select id from newest union select id from most_voted) l
      cross join lateral (
        select private.relevance(c.document, c.title, c.content, words, pattern) as relevance
        from private.submission_search c
        where c.submission_id = l.id and (c.document operator(pg_catalog.@@) words or c.content operator(pg_catalog.~~) pattern)
        offset 0) c
  )
  select coalesce(array_agg(f.submission_id), '{}'), coalesce(array_agg(f.relevance), '{}'),
    (select everything from told) or size <= 4000 or (select count(*) from newest) < at_newest,
    size > 4000 and (not asks_words or (select count(*) from by_words) = most or (select count(*) from by_text) = most)
  into submission_ids, relevances, is_complete, is_cut from found f;
  is_cut := is_cut and not is_complete;
end
$$;
comment on function private.find_submissions(uuid, text, text, integer) is 'Ids and relevance of an organization''s submissions that hold the words or the text itself: all of them (of that status) where is_complete, else what the indexes give and what is found among most_looked_at of the newest and as many of the most voted; is_cut tells that more are known of.';

-- definer: as above.
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
        where c.submission_id = l.id and (c.document operator(pg_catalog.@@) words or c.content operator(pg_catalog.~~) pattern)
        offset 0) c);
end
$$;
comment on function private.submissions_with_text(uuid[], text) is 'Which of these submissions hold the words or the text itself.';

-- A list with a filter is read by walking the index of its sort, which is quick where many rows pass the filter, or by
-- sorting those that pass, which is quick where they are few. A walk reads a page's rows times the board's size divided by
-- the number that pass: both cost the same where that number is the root of 50 boards.
-- definer: reads counts and private.submission_search; the caller joins the ids with submissions, where policies apply.
create function private.narrow_submissions(organization_id uuid, status text, type text, category_id uuid, tag_id uuid, author_id uuid, q text,
  out submission_ids uuid[], out is_complete boolean, out is_few boolean)
language plpgsql stable security definer
set search_path = '' set enable_seqscan = off set plan_cache_mode = force_custom_plan as $$
#variable_conflict use_column
declare
  own_id constant uuid := narrow_submissions.organization_id;
  few constant double precision := least(sqrt(50 * private.board_size(own_id)), 2000);
  most constant integer := 5000;
  most_texts constant integer := 1000;
  carry_tag boolean := tag_id is null;
begin
  if (status is not null or type is not null or category_id is not null) and coalesce((
    select sum(c.total) from private.submission_counts c
    where c.organization_id = own_id and (narrow_submissions.status is null or c.status = narrow_submissions.status)
      and (narrow_submissions.type is null or c.type = narrow_submissions.type)
      and (narrow_submissions.category_id is null or c.category_id = narrow_submissions.category_id)), 0) <= few then
    submission_ids := array(
      select s.id from (
        select distinct c.status, c.type, c.category_id from private.submission_counts c
        where c.organization_id = own_id and (narrow_submissions.status is null or c.status = narrow_submissions.status)
          and (narrow_submissions.type is null or c.type = narrow_submissions.type)
          and (narrow_submissions.category_id is null or c.category_id = narrow_submissions.category_id)) k
        cross join lateral (
          select s.id from public.submissions s
          where s.organization_id = own_id and s.merged_into_id is null and s.status = k.status and s.type = k.type
            and s.category_id = k.category_id
          union all
          select s.id from public.submissions s
          where s.organization_id = own_id and s.merged_into_id is null and s.status = k.status and s.type = k.type
            and s.category_id is null and k.category_id is null) s);
    is_complete := true;
  elsif author_id is not null then
    submission_ids := array(select s.id from public.submissions s
      where s.author_id = narrow_submissions.author_id and s.organization_id = own_id limit most + 1);
  elsif tag_id is not null then
    submission_ids := array(select st.submission_id from public.submission_tags st
      where st.organization_id = own_id and st.tag_id = narrow_submissions.tag_id limit most + 1);
    carry_tag := true;
  end if;
  is_complete := coalesce(is_complete or cardinality(submission_ids) <= most, false);
  -- With a second filter a walk may look for what both leave in vain.
  is_few := is_complete and (cardinality(submission_ids) <= few
    or num_nonnulls(status, type, category_id, tag_id, author_id) > 1);
  if not is_complete then submission_ids := submission_ids[1:1001]; end if;
  if q is not null and is_complete and cardinality(submission_ids) <= most_texts then
    submission_ids := private.submissions_with_text(submission_ids, q);
    is_few := true;
  elsif q is not null then
    select f.submission_ids, f.is_complete, not f.is_cut into submission_ids, is_complete, is_few
    from private.find_submissions(own_id, q, narrow_submissions.status, 500) f;
    carry_tag := tag_id is null;
  end if;
  if not carry_tag then
    submission_ids := array(
      select l.id from unnest(submission_ids) l (id) cross join lateral (
        select from public.submission_tags st where st.submission_id = l.id and st.tag_id = narrow_submissions.tag_id offset 0) st);
  end if;
end
$$;
comment on function private.narrow_submissions(uuid, text, text, uuid, uuid, uuid, text) is 'Ids among which all submissions are that pass the filters, where is_complete; is_few tells whether sorting them costs less than walking a sorted index.';

create function private.escape_html(value text) returns text
language sql immutable
return replace(replace(replace(replace(replace(value, '&', '&amp;'), '<', '&lt;'), '>', '&gt;'), '"', '&quot;'), '''', '&#39;');
comment on function private.escape_html(text) is 'Text that is safe inside HTML.';

create function private.highlight(value text, q text, words tsquery, whole boolean) returns text
language plpgsql immutable set search_path = '' as $$
declare
  marked text := ts_headline('private.plain', private.escape_html(value), words,
    'StartSel=<mark>, StopSel=</mark>, ' || case when whole then 'HighlightAll=true' else 'MaxWords=35, MinWords=15, ShortWord=0' end);
  found integer;
begin
  -- In languages written without spaces a word is a whole sentence: there, and where no word matched, the text itself is marked.
  if position('<mark>' in marked) > 0 and q !~ '[\u3040-\u30ff\u3400-\u9fff]' then return marked; end if;
  found := position(lower(q) in lower(value));
  if found = 0 then return marked; end if;
  return private.escape_html(case when whole then left(value, found - 1) else substr(value, greatest(1, found - 80), least(80, found - 1)) end)
    || '<mark>' || private.escape_html(substr(value, found, char_length(q))) || '</mark>'
    || private.escape_html(case when whole then substr(value, found + char_length(q)) else substr(value, found + char_length(q), 120) end);
end
$$;
comment on function private.highlight(text, text, tsquery, boolean) is 'HTML-escaped text with <mark> around what was found; the whole text, or the part around the find. words is private.search_query(q), made once for many texts.';

-- definer: as above.
create function private.rare_in_title(organization_id uuid, title text, out words text[], out parts text[])
language plpgsql stable security definer set search_path = '' as $$
declare
  everything constant double precision := private.indexed_submissions();
  plain constant text := private.plain_text(title);
  documents tsvector[]; contents text[]; sampled integer;
begin
  select n.documents, n.contents, greatest(cardinality(n.documents), 1) into documents, contents, sampled
  from private.newest_texts(rare_in_title.organization_id) n;
  words := array(
    select quote_literal(w.lexeme) from (
      select l.lexeme, (select count(*) from unnest(documents) d where d operator(pg_catalog.@@) quote_literal(l.lexeme)::tsquery) as n
      from unnest(to_tsvector('private.plain', rare_in_title.title)) l where l.lexeme ~ '^[[:alnum:]]{4,}$' limit 30) w
    where w.n * everything / sampled <= 60000 order by w.n, w.lexeme limit 5);
  parts := array(
    select '%' || p.part || '%' from (
      select t.part, (select count(*) from unnest(contents) c where position(t.part in c) > 0) as n
      from (select distinct substr(plain, i, 3) as part from generate_series(1, least(char_length(plain), 62) - 2) i) t
      where t.part ~ '^[[:alnum:]]{3}$') p
    where p.n * everything / sampled <= 15000 order by p.n, p.part limit 8);
end
$$;
comment on function private.rare_in_title(uuid, text) is 'The rarest words of a title and its rarest trigrams, as patterns, rarest first; none that is common.';

-- Of a big board the candidates are those that share the rarest words or trigrams of the title, as many words as possible,
-- and those that are new or have most votes; their number is bounded. They are compared as all are on a small board.
-- definer: as above.
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
  select r.words, r.parts into rare_words, rare_parts from private.rare_in_title(own_id, similar_candidates.title) r;
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
comment on function private.similar_candidates(uuid, text) is 'At most 175 submissions of a big board that may be like the one described.';

-- definer: as above.
create function private.similar_submissions(organization_id uuid, title text, description text) returns table (submission_id uuid, similarity real)
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
      from unnest(to_tsvector('private.plain', similar_submissions.title)) where lexeme ~ '^[[:alnum:]]{4,}$');
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
        case when description is not null then 0.9 * extensions.similarity(s.content, wanted || ' ' || private.plain_text(description)) end)::real as score
    from private.submission_search s where s.submission_id = any (candidates)
    order by score desc
    limit 50;
end
$$;
comment on function private.similar_submissions(uuid, text, text) is 'At most 50 submissions like the one described, with a similarity from 0 to 1, best first.';

revoke all on private.submission_search from public, anon, authenticated, service_role, service_key;
grant execute on function private.find_submissions(uuid, text, text, integer),
  private.highlight(text, text, tsquery, boolean), private.escape_html(text),
  private.similar_submissions(uuid, text, text), private.search_query(text),
  private.narrow_submissions(uuid, text, text, uuid, uuid, uuid, text), private.submissions_with_text(uuid[], text)
  to anon, authenticated, service_key;

-- What people did and when, added up as it happens: analytics reads these and never the rows themselves.
--
-- Triggers append entries: they add up, and nobody waits for another's. Every few seconds the schedule puts them into days,
-- which it alone writes, so that no lock is held that another change could want. Who reads adds the entries that are left.
--
-- An entry is of a slot, a quarter of an hour, in which all time zones' days begin; a day is one of the organization's time
-- zone. Where that changes, the schedule counts the days anew.

create function private.slot(at timestamptz) returns timestamptz
language sql immutable
return date_bin('15 minutes', at, '2000-01-01 00:00:00+00');
comment on function private.slot(timestamptz) is 'The quarter of an hour a time is in.';

create table private.person_activity (
  organization_id uuid not null references public.organizations (id) on delete cascade,
  slot timestamptz not null,
  -- No foreign key: what is given to another person is an entry of each.
  user_id uuid not null,
  submissions integer not null default 0,
  votes integer not null default 0,
  comments integer not null default 0
);
comment on table private.person_activity is 'Entries: submissions, votes for submissions and comments of a person that came, or went (negative), and are not in private.person_days yet.';
create index person_activity_organization_idx on private.person_activity (organization_id);

create table private.submission_activity (
  organization_id uuid not null references public.organizations (id) on delete cascade,
  slot timestamptz not null,
  status text not null,
  category_id uuid,
  source text,
  total integer not null
);
comment on table private.submission_activity is 'Entries: submissions of a kind that came, or went (negative), and are not in private.submission_days yet.';
create index submission_activity_organization_idx on private.submission_activity (organization_id);

create table private.activity_zones (
  organization_id uuid primary key references public.organizations (id) on delete cascade,
  time_zone text not null
);
comment on table private.activity_zones is 'The time zone that an organization''s days are counted in: its own, but for the seconds until they are counted anew. Days go with it.';

-- No foreign keys from here on: a check a row is most of what counting anew costs.
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
comment on table private.person_days is 'How many submissions, votes for submissions and comments of a person were made on a day and are still there. previous_day is the last one before on which there are any; -infinity where there is none.';

-- Whoever was there between two days was so for the first time on one of them, on which their previous day is before the
-- two. So different people are counted, for any two days, without looking at one of them.
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
comment on table private.day_activity is 'private.person_days, added up: how many people have the two days, and what they did on the first.';

create table private.submission_days (
  organization_id uuid not null,
  span text not null,
  day date not null,
  status text not null,
  category_id uuid,
  source text,
  total integer not null,
  constraint one_row_a_span_and_kind unique nulls not distinct (organization_id, span, day, status, category_id, source)
);
comment on table private.submission_days is 'How many submissions made on a day, or in the month from it on (span), have a status, category and source now.';

create function private.magnitude(milliseconds bigint) returns integer
language sql immutable
return floor(4 * ln(milliseconds + 1) / ln(2))::integer;
comment on function private.magnitude(bigint) is 'Four to a doubling: the middle of many times is found by looking at those of one magnitude.';

create table private.first_replies (
  submission_id uuid primary key,
  organization_id uuid not null,
  submitted_at timestamptz not null,
  milliseconds bigint not null
);
comment on table private.first_replies is 'How long after a submission the first official comment by somebody else came that is approved and still there.';
create index first_replies_magnitude_idx on private.first_replies (organization_id, private.magnitude(milliseconds), submitted_at)
  include (milliseconds, submission_id);

create table private.reply_days (
  organization_id uuid not null,
  day date not null,
  magnitude integer not null,
  replies integer not null,
  milliseconds bigint not null,
  primary key (organization_id, day, magnitude)
);
comment on table private.reply_days is 'private.first_replies, added up by the day of the submission and their magnitude.';

create table private.replies_due (
  organization_id uuid not null references public.organizations (id) on delete cascade,
  submission_id uuid not null
);
comment on table private.replies_due is 'Submissions whose first reply has to be looked up again.';
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
revoke all on private.person_activity, private.submission_activity, private.activity_zones, private.person_days, private.day_activity,
  private.submission_days, private.first_replies, private.reply_days, private.replies_due from public, anon, authenticated, service_role, service_key;

-- definer: counts are nobody's to write.
create function private.forget_days() returns trigger
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
comment on function private.forget_days() is 'Trigger: days go with their organization.';
create trigger forget_days after delete on private.activity_zones
  referencing old table as gone for each statement execute function private.forget_days();

-- definer: as above.
create function private.track_submissions() returns trigger
language plpgsql security definer set search_path = '' as $$
declare sign integer := case tg_op when 'INSERT' then 1 else -1 end;
begin
  insert into private.submission_activity (organization_id, slot, status, category_id, source, total)
  select c.organization_id, private.slot(c.created_at), c.status, c.category_id, c.source, sign * count(*)
  from changed c where exists (select from public.organizations o where o.id = c.organization_id)
  group by 1, 2, 3, 4, 5;
  insert into private.person_activity (organization_id, slot, user_id, submissions)
  select c.organization_id, private.slot(c.created_at), c.author_id, sign * count(*)
  from changed c where exists (select from public.organizations o where o.id = c.organization_id)
  group by 1, 2, 3;
  return null;
end
$$;
comment on function private.track_submissions() is 'Trigger: submissions come and go in the activity of their author, and in that of their kind.';
create trigger track_added after insert on public.submissions
  referencing new table as changed for each statement execute function private.track_submissions();
create trigger track_removed after delete on public.submissions
  referencing old table as changed for each statement execute function private.track_submissions();

create function private.track_votes() returns trigger
language plpgsql security definer set search_path = '' as $$ -- definer: as above
declare sign integer := case tg_op when 'INSERT' then 1 else -1 end;
begin
  insert into private.person_activity (organization_id, slot, user_id, votes)
  select c.organization_id, private.slot(c.created_at), c.user_id, sign * count(*)
  from changed c where exists (select from public.organizations o where o.id = c.organization_id)
  group by 1, 2, 3;
  return null;
end
$$;
comment on function private.track_votes() is 'Trigger: votes come and go in the activity of who cast them.';
create trigger track_added after insert on public.votes
  referencing new table as changed for each statement execute function private.track_votes();
create trigger track_removed after delete on public.votes
  referencing old table as changed for each statement execute function private.track_votes();

create function private.track_comments() returns trigger
language plpgsql security definer set search_path = '' as $$ -- definer: as above
declare sign integer := case tg_op when 'INSERT' then 1 else -1 end;
begin
  insert into private.person_activity (organization_id, slot, user_id, comments)
  select c.organization_id, private.slot(c.created_at), c.author_id, sign * count(*)
  from changed c where exists (select from public.organizations o where o.id = c.organization_id)
  group by 1, 2, 3;
  insert into private.replies_due (organization_id, submission_id)
  select distinct c.organization_id, c.submission_id
  from changed c where c.is_official and exists (select from public.organizations o where o.id = c.organization_id);
  return null;
end
$$;
comment on function private.track_comments() is 'Trigger: comments come and go in the activity of their author; an official one may be the first reply, or have been.';
create trigger track_added after insert on public.comments
  referencing new table as changed for each statement execute function private.track_comments();
create trigger track_removed after delete on public.comments
  referencing old table as changed for each statement execute function private.track_comments();

-- Row triggers, because only one of a row can be kept off the path of votes: it names its columns.
create function private.track_moved_submission() returns trigger
language plpgsql security definer set search_path = '' as $$ -- definer: as above
begin
  insert into private.submission_activity (organization_id, slot, status, category_id, source, total) values
    (old.organization_id, private.slot(old.created_at), old.status, old.category_id, old.source, -1),
    (new.organization_id, private.slot(new.created_at), new.status, new.category_id, new.source, 1);
  return null;
end
$$;
comment on function private.track_moved_submission() is 'Trigger: a submission that changes its kind moves from one count to another.';
create trigger track_moved after update of status, category_id, source, created_at on public.submissions
  for each row when ((old.status, old.category_id, old.source, old.created_at) is distinct from (new.status, new.category_id, new.source, new.created_at))
  execute function private.track_moved_submission();

create function private.track_corrected() returns trigger
language plpgsql security definer set search_path = '' as $$ -- definer: as above
declare column_name text := case tg_table_name when 'votes' then 'user_id' else 'author_id' end;
begin
  insert into private.person_activity (organization_id, slot, user_id, submissions, votes, comments)
  select new.organization_id, private.slot(m.created_at), m.user_id::uuid,
    case tg_table_name when 'submissions' then m.change else 0 end,
    case tg_table_name when 'votes' then m.change else 0 end,
    case tg_table_name when 'comments' then m.change else 0 end
  from (values (to_jsonb(old) ->> column_name, old.created_at, -1), (to_jsonb(new) ->> column_name, new.created_at, 1)) m (user_id, created_at, change);
  return null;
end
$$;
comment on function private.track_corrected() is 'Trigger: what is given to another person, as by erasure, or another time takes its activity along.';
create trigger track_corrected after update of author_id, created_at on public.submissions
  for each row when ((old.author_id, old.created_at) <> (new.author_id, new.created_at)) execute function private.track_corrected();
create trigger track_corrected after update of user_id, created_at on public.votes
  for each row when ((old.user_id, old.created_at) <> (new.user_id, new.created_at)) execute function private.track_corrected();
create trigger track_corrected after update of author_id, created_at on public.comments
  for each row when ((old.author_id, old.created_at) <> (new.author_id, new.created_at)) execute function private.track_corrected();

create function private.track_replies() returns trigger
language plpgsql security definer set search_path = '' as $$ -- definer: as above
declare key text := case tg_table_name when 'submissions' then 'id' else 'submission_id' end;
begin
  insert into private.replies_due (organization_id, submission_id)
  select new.organization_id, (to_jsonb(old) ->> key)::uuid union select new.organization_id, (to_jsonb(new) ->> key)::uuid;
  return null;
end
$$;
comment on function private.track_replies() is 'Trigger: what decides on the first reply of a submission has changed.';
create trigger track_replies after update of author_id, created_at on public.submissions
  for each row when ((old.author_id, old.created_at) <> (new.author_id, new.created_at)) execute function private.track_replies();
create trigger track_replies after update of submission_id, author_id, is_official, moderation_state, created_at on public.comments
  for each row when ((old.is_official or new.is_official)
    and (old.submission_id, old.author_id, old.is_official, old.moderation_state, old.created_at)
      <> (new.submission_id, new.author_id, new.is_official, new.moderation_state, new.created_at))
  execute function private.track_replies();

-- Into days ----------------------------------------------------------------------------------------------------

create function private.activity_zone(organization_id uuid) returns text
language plpgsql stable set search_path = '' as $$
begin
  return coalesce((select z.time_zone from private.activity_zones z where z.organization_id = activity_zone.organization_id),
    (select o.time_zone from public.organizations o where o.id = activity_zone.organization_id));
end
$$;
comment on function private.activity_zone(uuid) is 'The time zone that an organization''s days are counted in.';

create function private.days_with(entries private.person_activity[])
returns table (sign integer, organization_id uuid, user_id uuid, day date, previous_day date, submissions integer, votes integer, comments integer)
language plpgsql stable set search_path = '' rows 20000 as $$
#variable_conflict use_column
begin
  return query
    with changes as (
      select e.organization_id, e.user_id, (e.slot at time zone z.time_zone)::date as day,
        sum(e.submissions)::integer as submissions, sum(e.votes)::integer as votes, sum(e.comments)::integer as comments
      from unnest(entries) e join (
        select o.organization_id, private.activity_zone(o.organization_id) as time_zone
        from (select distinct e.organization_id from unnest(entries) e) o) z using (organization_id)
      group by 1, 2, 3
    ), before as materialized (
      -- With the neighbours of what changes: the day before is the previous one of what follows, the day after is told its own.
      select d.*, s.first_day
      from (select c.organization_id, c.user_id, min(c.day) as first_day, max(c.day) as last_day from changes c group by 1, 2) s
      cross join lateral (
        select * from private.person_days p where (p.organization_id, p.user_id) = (s.organization_id, s.user_id)
          and p.day >= coalesce((select max(n.day) from private.person_days n
            where (n.organization_id, n.user_id) = (s.organization_id, s.user_id) and n.day < s.first_day), s.first_day)
          and p.day <= coalesce((select min(n.day) from private.person_days n
            where (n.organization_id, n.user_id) = (s.organization_id, s.user_id) and n.day > s.last_day), s.last_day)) d
    )
    select -1, b.organization_id, b.user_id, b.day, b.previous_day, b.submissions, b.votes, b.comments from before b
    union all
    select 1, a.organization_id, a.user_id, a.day,
      coalesce(lag(a.day) over (partition by a.organization_id, a.user_id order by a.day), a.previous_day, '-infinity'), a.submissions, a.votes, a.comments
    from (
      select r.organization_id, r.user_id, r.day, min(r.previous_day) as previous_day,
        sum(r.submissions)::integer as submissions, sum(r.votes)::integer as votes, sum(r.comments)::integer as comments
      from (
        select b.organization_id, b.user_id, b.day, case when b.day < b.first_day then b.previous_day end as previous_day, b.submissions, b.votes, b.comments
        from before b
        union all
        select c.organization_id, c.user_id, c.day, null, c.submissions, c.votes, c.comments from changes c) r
      group by 1, 2, 3 having sum(r.submissions) <> 0 or sum(r.votes) <> 0 or sum(r.comments) <> 0) a;
end
$$;
comment on function private.days_with(private.person_activity[]) is 'What becomes of private.person_days with these entries: rows around them as they are (sign -1) and as they will be (1).';

create function private.sum_people(batch integer) returns integer
language plpgsql set search_path = '' as $$
declare entries private.person_activity[];
begin
  with taken as (
    delete from private.person_activity a where a.ctid = any (array(
      select e.ctid from private.person_activity e join private.activity_zones z using (organization_id) limit batch
      for update of e skip locked))
    returning a
  ) select array_agg(t.a) into entries from taken t;
  if entries is null then return 0; end if;
  with days as materialized (
    select * from private.days_with(entries)
  ), written as (
    insert into private.person_days as p (organization_id, user_id, day, previous_day, submissions, votes, comments)
    select d.organization_id, d.user_id, d.day, d.previous_day, d.submissions, d.votes, d.comments from days d where d.sign = 1
    except
    select d.organization_id, d.user_id, d.day, d.previous_day, d.submissions, d.votes, d.comments from days d where d.sign = -1
    on conflict on constraint person_days_pkey do update set
      previous_day = excluded.previous_day, submissions = excluded.submissions, votes = excluded.votes, comments = excluded.comments
  ), gone as (
    delete from private.person_days p using (
      select d.organization_id, d.user_id, d.day from days d group by 1, 2, 3 having max(d.sign) = -1) g
    where (p.organization_id, p.user_id, p.day) = (g.organization_id, g.user_id, g.day)
  )
  insert into private.day_activity as a (organization_id, day, previous_day, people, submissions, votes, comments)
  select d.organization_id, d.day, d.previous_day, sum(d.sign), sum(d.sign * d.submissions), sum(d.sign * d.votes), sum(d.sign * d.comments)
  from days d group by 1, 2, 3
  having sum(d.sign) <> 0 or sum(d.sign * d.submissions) <> 0 or sum(d.sign * d.votes) <> 0 or sum(d.sign * d.comments) <> 0
  on conflict on constraint day_activity_pkey do update set people = a.people + excluded.people,
    submissions = a.submissions + excluded.submissions, votes = a.votes + excluded.votes, comments = a.comments + excluded.comments;
  return cardinality(entries);
end
$$;
comment on function private.sum_people(integer) is 'Puts entries of people into their days, and these into the days of all; how many it took.';

create function private.sum_submissions(batch integer) returns integer
language plpgsql set search_path = '' as $$
declare summed integer;
begin
  with entries as (
    delete from private.submission_activity a where a.ctid = any (array(
      select e.ctid from private.submission_activity e join private.activity_zones z using (organization_id) limit batch
      for update of e skip locked))
    returning *
  ), summing as (
    insert into private.submission_days as d (organization_id, span, day, status, category_id, source, total)
    select e.organization_id, span, date_trunc(span, e.slot at time zone z.time_zone)::date, e.status, e.category_id, e.source, sum(e.total)
    from entries e join private.activity_zones z using (organization_id) cross join unnest(array['day', 'month']) span
    group by 1, 2, 3, 4, 5, 6 having sum(e.total) <> 0
    on conflict on constraint one_row_a_span_and_kind do update set total = d.total + excluded.total
  ) select count(*) into summed from entries;
  return summed;
end
$$;
comment on function private.sum_submissions(integer) is 'Puts entries of submissions into their days and months; how many it took.';

-- The truth ----------------------------------------------------------------------------------------------------

create function private.find_person_days(own_id uuid)
returns table (organization_id uuid, user_id uuid, day date, previous_day date, submissions bigint, votes bigint, comments bigint)
language plpgsql stable set search_path = '' as $$
#variable_conflict use_column
declare zone text := private.activity_zone(own_id);
begin
  return query
    select own_id, d.user_id, d.day, coalesce(lag(d.day) over (partition by d.user_id order by d.day), '-infinity'), d.submissions, d.votes, d.comments
    from (
      select m.user_id, (m.created_at at time zone zone)::date as day, count(*) filter (where m.kind = 's') as submissions,
        count(*) filter (where m.kind = 'v') as votes, count(*) filter (where m.kind = 'c') as comments
      from (
        select 's' as kind, s.author_id as user_id, s.created_at from public.submissions s where s.organization_id = own_id
        union all
        select 'v', v.user_id, v.created_at from public.votes v where v.organization_id = own_id
        union all
        select 'c', c.author_id, c.created_at from public.comments c where c.organization_id = own_id) m
      group by 1, 2) d;
end
$$;
comment on function private.find_person_days(uuid) is 'What private.person_days has to be, once no entries are left.';

create function private.find_submission_days(own_id uuid)
returns table (organization_id uuid, span text, day date, status text, category_id uuid, source text, total bigint)
language plpgsql stable set search_path = '' as $$
#variable_conflict use_column
declare zone text := private.activity_zone(own_id);
begin
  return query
    select own_id, span, date_trunc(span, s.created_at at time zone zone)::date, s.status, s.category_id, s.source, count(*)
    from public.submissions s cross join unnest(array['day', 'month']) span where s.organization_id = own_id group by 2, 3, 4, 5, 6;
end
$$;
comment on function private.find_submission_days(uuid) is 'What private.submission_days has to be, once no entries are left.';

create function private.find_first_replies(submission_ids uuid[])
returns table (submission_id uuid, organization_id uuid, submitted_at timestamptz, milliseconds bigint)
language plpgsql stable set search_path = '' as $$
begin
  return query
    select s.id, s.organization_id, s.created_at, (extract(epoch from f.first_at - s.created_at) * 1000)::bigint
    from public.submissions s cross join lateral (
      select min(c.created_at) as first_at from public.comments c
      where c.submission_id = s.id and c.is_official and c.moderation_state = 'approved'
        and c.author_id <> s.author_id and c.created_at >= s.created_at) f
    where s.id = any (submission_ids) and f.first_at is not null;
end
$$;
comment on function private.find_first_replies(uuid[]) is 'What private.first_replies has to be of these submissions.';

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
  -- Entries go in the statement that counts: it sees those of what it counts, and no other.
  with entries as (
    delete from private.person_activity a where a.organization_id = own_id
  )
  insert into private.person_days (organization_id, user_id, day, previous_day, submissions, votes, comments)
  select * from private.find_person_days(own_id);
  insert into private.day_activity (organization_id, day, previous_day, people, submissions, votes, comments)
  select own_id, d.day, d.previous_day, count(*), sum(d.submissions), sum(d.votes), sum(d.comments)
  from private.person_days d where d.organization_id = own_id group by 2, 3;
  with entries as (
    delete from private.submission_activity a where a.organization_id = own_id
  )
  insert into private.submission_days (organization_id, span, day, status, category_id, source, total)
  select * from private.find_submission_days(own_id);
  insert into private.reply_days (organization_id, day, magnitude, replies, milliseconds)
  select own_id, (r.submitted_at at time zone private.activity_zone(own_id))::date, private.magnitude(r.milliseconds), count(*), sum(r.milliseconds)
  from private.first_replies r where r.organization_id = own_id group by 2, 3;
end
$$;
comment on function private.recount_days(uuid) is 'Counts an organization''s days anew, in the time zone it has now.';

create function private.sum_replies(batch integer) returns integer
language plpgsql set search_path = '' as $$
declare summed integer;
begin
  with entries as (
    delete from private.replies_due d where d.ctid = any (array(
      select e.ctid from private.replies_due e join private.activity_zones z using (organization_id) limit batch
      for update of e skip locked))
    returning *
  ), due as (
    select distinct e.submission_id from entries e
  ), before as (
    select r.* from private.first_replies r join due using (submission_id)
  ), after as materialized (
    select * from private.find_first_replies(array(select d.submission_id from due d))
  ), written as (
    insert into private.first_replies (submission_id, organization_id, submitted_at, milliseconds) select * from after
    on conflict (submission_id) do update set submitted_at = excluded.submitted_at, milliseconds = excluded.milliseconds
  ), gone as (
    delete from private.first_replies r using before b
    where r.submission_id = b.submission_id and not exists (select from after a where a.submission_id = b.submission_id)
  ), added as (
    insert into private.reply_days as d (organization_id, day, magnitude, replies, milliseconds)
    select r.organization_id, (r.submitted_at at time zone z.time_zone)::date, private.magnitude(r.milliseconds), sum(r.sign), sum(r.sign * r.milliseconds)
    from (select *, 1 as sign from after union all select *, -1 from before) r join private.activity_zones z using (organization_id)
    group by 1, 2, 3 having sum(r.sign) <> 0 or sum(r.sign * r.milliseconds) <> 0
    on conflict on constraint reply_days_pkey do update set replies = d.replies + excluded.replies, milliseconds = d.milliseconds + excluded.milliseconds
  ) select count(*) into summed from entries;
  return summed;
end
$$;
comment on function private.sum_replies(integer) is 'Looks up the first replies that may be others by now, and adds them to their days; how many.';

create function private.sum_activity(batch integer default 20000) returns integer
language plpgsql set search_path = '' as $$
begin
  -- One at a time: days are nobody else's to write.
  if not pg_try_advisory_xact_lock(hashtextextended('private.sum_activity', 0)) then return 0; end if;
  -- An organization that is deleted takes along what is there by then.
  perform from private.activity_zones z order by z.organization_id for key share;
  perform private.recount_days(z.organization_id)
  from private.activity_zones z join public.organizations o on o.id = z.organization_id where o.time_zone <> z.time_zone;
  insert into private.activity_zones (organization_id, time_zone)
  select o.id, o.time_zone from public.organizations o
  where exists (select from private.person_activity a where a.organization_id = o.id)
    or exists (select from private.submission_activity a where a.organization_id = o.id)
    or exists (select from private.replies_due d where d.organization_id = o.id)
  on conflict do nothing;
  return private.sum_people(batch) + private.sum_submissions(batch) + private.sum_replies(batch);
end
$$;
comment on function private.sum_activity(integer) is 'Puts entries into days, which changes nothing but how many rows there are to read; how many it took.';

-- What moved most, and what the team answered.
create index votes_newest_idx on public.votes (organization_id, created_at, submission_id);
create index comments_official_idx on public.comments (submission_id, created_at) where is_official;

-- What happened on a board, for its admins: by the API for a time, and as views.

create function private.day_of(value text, time_zone text) returns date
language plpgsql stable set search_path = '' as $$
begin
  return case when value ~ '^\d{4}-\d\d-\d\d$' then value::date else (value::timestamptz at time zone time_zone)::date end;
end
$$;
comment on function private.day_of(text, text) is 'A date, or the day that a time falls on in a time zone.';

create function private.start_of(day date, time_zone text) returns timestamptz
language sql stable
-- Where clocks are put back at midnight, it comes twice; a day that a zone left out begins where it would have.
return (select coalesce(min(t), day::timestamp at time zone time_zone) from (values (day::timestamp at time zone time_zone), (day::timestamp at time zone time_zone - interval '1 hour')) s (t)
  where (t at time zone time_zone)::date = day);
comment on function private.start_of(date, text) is 'The first moment of a day in a time zone.';

create function private.activity_of(organization_id uuid, first_day date, last_day date, step text)
returns table (start date, submissions bigint, votes bigint, comments bigint, people bigint, new_people bigint)
language plpgsql stable set search_path = '' as $$
#variable_conflict use_column
declare own_id uuid := activity_of.organization_id;
begin
  return query
    with days as (
      select d.day, d.previous_day, d.people, d.submissions, d.votes, d.comments
      from private.day_activity d where d.organization_id = own_id and d.day between first_day and last_day
      union all
      select c.day, c.previous_day, c.sign, c.sign * c.submissions, c.sign * c.votes, c.sign * c.comments
      from private.days_with(array(select a from private.person_activity a where a.organization_id = own_id)) c where c.day between first_day and last_day
    ), starts as (
      select d.*, greatest(date_trunc(step, d.day::timestamp)::date, first_day) as start from days d
    )
    select s.start, sum(s.submissions), sum(s.votes), sum(s.comments),
      coalesce(sum(s.people) filter (where s.previous_day < s.start), 0), coalesce(sum(s.people) filter (where s.previous_day < first_day), 0)
    from starts s group by 1;
end
$$;
comment on function private.activity_of(uuid, date, date, text) is 'What was done from one day to another, by day, week or month: people are those of the interval, new_people those of them that no interval before has. The first interval may be a part, and starts on the first day.';

create function private.submissions_of(organization_id uuid, span text, first_day date, last_day date)
returns table (day date, status text, category_id uuid, source text, total integer)
language sql stable
begin atomic
  select d.day, d.status, d.category_id, d.source, d.total from private.submission_days d
  where d.organization_id = submissions_of.organization_id and d.span = submissions_of.span and d.day between first_day and last_day
  union all
  select e.day, e.status, e.category_id, e.source, e.total
  from (select a.*, date_trunc(submissions_of.span, a.slot at time zone private.activity_zone(a.organization_id))::date as day from private.submission_activity a) e
  where e.organization_id = submissions_of.organization_id and e.day between first_day and last_day;
end;
comment on function private.submissions_of(uuid, text, date, date) is 'Submissions made by day or month (span) and kind, of those that begin from one day to another; to be added up.';

create function private.kinds_of(organization_id uuid, first_day date, last_day date)
returns table (status text, category_id uuid, source text, total bigint)
language plpgsql stable set search_path = '' as $$
#variable_conflict use_column
declare
  own_id uuid := kinds_of.organization_id;
  -- Whole months as such, what is before and after them by the day.
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
comment on function private.kinds_of(uuid, date, date) is 'Submissions made from one day to another, by what they are now.';

create function private.reply_times(organization_id uuid, first_day date, last_day date)
returns table (submissions bigint, median_seconds numeric, average_seconds numeric)
language plpgsql stable set search_path = '' as $$
#variable_conflict use_column
declare
  own_id uuid := reply_times.organization_id; zone text := private.activity_zone(own_id);
  starts timestamptz := private.start_of(first_day, zone); ends timestamptz := private.start_of(last_day + 1, zone);
  due uuid[] := array(select distinct d.submission_id from private.replies_due d where d.organization_id = own_id);
  -- Of the magnitudes with the middle one or two in them, and of those below.
  middle integer[]; below bigint;
begin
  with days as (
    select d.magnitude, d.replies, d.milliseconds from private.reply_days d where d.organization_id = own_id and d.day between first_day and last_day
    union all
    select private.magnitude(r.milliseconds), -1, -r.milliseconds from private.first_replies r
    where r.submission_id = any (due) and r.submitted_at >= starts and r.submitted_at < ends
    union all
    select private.magnitude(r.milliseconds), 1, r.milliseconds from private.find_first_replies(due) r
    where r.submitted_at >= starts and r.submitted_at < ends
  ), magnitudes as (
    select d.magnitude, sum(d.replies) as replies, sum(d.milliseconds) as milliseconds,
      sum(sum(d.replies)) over (order by d.magnitude) as up_to, sum(sum(d.replies)) over () as all_of_them
    from days d group by 1 having sum(d.replies) > 0
  )
  select coalesce(sum(m.replies), 0), round(sum(m.milliseconds) / sum(m.replies) / 1000),
    array_agg(m.magnitude) filter (where m.up_to >= floor((m.all_of_them + 1) / 2) and m.up_to - m.replies < floor(m.all_of_them / 2) + 1),
    coalesce(sum(m.replies) filter (where m.up_to < floor((m.all_of_them + 1) / 2)), 0)
  into submissions, average_seconds, middle, below from magnitudes m;
  select round(avg(r.milliseconds) / 1000) into median_seconds from (
    select r.milliseconds from (
      select r.submission_id, r.submitted_at, r.milliseconds from private.first_replies r
      where r.organization_id = own_id and private.magnitude(r.milliseconds) = any (middle) and r.submission_id <> all (due)
      union all
      select r.submission_id, r.submitted_at, r.milliseconds from private.find_first_replies(due) r where private.magnitude(r.milliseconds) = any (middle)) r
    where r.submitted_at >= starts and r.submitted_at < ends
    order by 1 offset greatest((submissions + 1) / 2 - below - 1, 0) limit case when submissions % 2 = 1 then 1 else 2 end) r;
  return next;
end
$$;
comment on function private.reply_times(uuid, date, date) is 'How many submissions made from one day to another have an official reply, and how long the first took.';

create function private.top_movers(organization_id uuid, starts timestamptz, ends timestamptz, votes_within bigint, hidden_too boolean)
returns table (submission_id uuid, votes bigint)
language plpgsql stable set search_path = '' as $$
#variable_conflict use_column
declare
  own_id uuid := top_movers.organization_id;
  most_voted uuid[]; candidates uuid[]; tenth bigint; to_read bigint;
begin
  -- Nobody gains more votes within a time than they have. So what ten of the most voted gained at least, only those can
  -- beat that have more votes.
  most_voted := array(select s.id from public.submissions s
    where s.organization_id = own_id and s.merged_into_id is null and (s.is_public or hidden_too) order by s.vote_count desc, s.id desc limit 100);
  tenth := coalesce((select g.votes from private.votes_gained(most_voted, starts, ends) g order by g.votes desc offset 9 limit 1), 0);
  select array_agg(c.id), sum(c.vote_count) into candidates, to_read
  from (select s.id, s.vote_count from public.submissions s
    where s.organization_id = own_id and s.merged_into_id is null and (s.is_public or hidden_too) and s.vote_count > tenth
    order by s.vote_count desc limit 10000) c;
  if coalesce(cardinality(candidates), 0) < 10000 and coalesce(to_read, 0) < votes_within then
    candidates := array(select unnest(candidates) union select unnest(most_voted));
    return query
      select g.submission_id, g.votes from private.votes_gained(candidates, starts, ends) g join public.submissions s on s.id = g.submission_id
      where g.votes > 0 order by g.votes desc, s.vote_count desc, s.id desc limit 10;
  else
    -- Of a short time there are fewer votes.
    return query
      select s.id, g.votes from (
        select v.submission_id, count(*) as votes from public.votes v
        where v.organization_id = own_id and v.created_at >= starts and v.created_at < ends group by 1 having count(*) >= tenth) g
      join public.submissions s on s.id = g.submission_id
      where s.merged_into_id is null and (s.is_public or hidden_too)
      order by g.votes desc, s.vote_count desc, s.id desc limit 10;
  end if;
end
$$;
comment on function private.top_movers(uuid, timestamptz, timestamptz, bigint, boolean) is 'The ten submissions that gained most votes within a time in which there were so many.';

create function private.votes_gained(submission_ids uuid[], starts timestamptz, ends timestamptz) returns table (submission_id uuid, votes bigint)
language plpgsql stable set search_path = '' as $$
begin
  return query
    select s.id, v.votes from unnest(submission_ids) as s (id) cross join lateral (
      select count(*) as votes from public.votes v where v.submission_id = s.id and v.created_at >= starts and v.created_at < ends) v;
end
$$;
comment on function private.votes_gained(uuid[], timestamptz, timestamptz) is 'How many of the votes of each were cast within a time.';

-- definer: reads what everybody did; shows titles only of what the caller sees.
-- Compiling a statement would take longer than running it, and which plan is best depends on the days.
create function private.admin_analytics(from_day text, to_day text, step text) returns json
language plpgsql stable security definer set search_path = '' set jit = off set work_mem = '32MB' set plan_cache_mode = 'force_custom_plan' as $$
declare
  own_id uuid := private.current_organization_id();
  zone text := private.activity_zone(own_id);
  last_day date := coalesce(private.day_of(to_day, zone), (now() at time zone zone)::date);
  first_day date := coalesce(private.day_of(from_day, zone), last_day - 29);
  starts timestamptz := private.start_of(first_day, zone);
  ends timestamptz := private.start_of(last_day + 1, zone);
  answer json;
begin
  perform private.require_admin(own_id, 'analytics:read');
  if first_day > last_day then
    perform private.raise_error('VALIDATION_ERROR', 'must not be after the end', 'from');
  elsif first_day < '2000-01-01' or last_day >= '2100-01-01' then
    perform private.raise_error('VALIDATION_ERROR', 'must be within 2000 to 2099', case when first_day < '2000-01-01' then 'from' else 'to' end);
  elsif (last_day - first_day) / (case step when 'day' then 1 when 'week' then 7 else 28 end) >= 400 then
    perform private.raise_error('VALIDATION_ERROR', 'must be at most 400 intervals before the end: choose a longer one', 'from');
  end if;
  with done as materialized (
    select * from private.activity_of(own_id, first_day, last_day, step)
  ), spans as (
    -- The first and the last of them may be parts.
    select t::date as first_of, d.* from generate_series(date_trunc(step, first_day::timestamp), last_day::timestamp, ('1 ' || step)::interval) t
      left join done d on d.start = greatest(t::date, first_day)
  ), made as materialized (
    select * from private.kinds_of(own_id, first_day, last_day)
  )
  select json_build_object(
    'from', first_day, 'to', last_day, 'interval', step, 'time_zone', zone,
    'totals', (select json_build_object('submissions', coalesce(sum(d.submissions), 0), 'votes', coalesce(sum(d.votes), 0),
      'comments', coalesce(sum(d.comments), 0), 'active_people', coalesce(sum(d.new_people), 0)) from done d),
    'series', (select json_agg(json_build_object('start', s.first_of, 'submissions', coalesce(s.submissions, 0), 'votes', coalesce(s.votes, 0),
      'comments', coalesce(s.comments, 0), 'active_people', coalesce(s.people, 0)) order by s.first_of) from spans s),
    'by_status', (select coalesce(json_agg(json_build_object('status', m.status, 'submissions', m.total) order by m.total desc, m.status), '[]')
      from (select m.status, sum(m.total) as total from made m group by 1) m),
    'by_category', (select coalesce(json_agg(json_build_object('category_id', m.category_id, 'name', m.name, 'slug', m.slug, 'submissions', m.total)
        order by m.total desc, m.slug nulls last), '[]')
      from (select m.category_id, c.name, c.slug, sum(m.total) as total from made m left join public.categories c on c.id = m.category_id
        group by 1, 2, 3) m),
    'by_source', (select coalesce(json_agg(json_build_object('source', m.source, 'submissions', m.total) order by m.total desc, m.source nulls last), '[]')
      from (select m.source, sum(m.total) as total from made m group by 1 order by 2 desc, 1 nulls last limit 100) m),
    'top_movers', (select coalesce(json_agg(json_build_object('submission_id', s.id, 'title', s.title, 'status', s.status,
        'votes', m.votes, 'vote_count', s.vote_count) order by m.votes desc, s.vote_count desc, s.id desc), '[]')
      from private.top_movers(own_id, starts, ends, (select coalesce(sum(d.votes), 0)::bigint from done d), own_id = any (private.team_organization_ids())) m
        join public.submissions s on s.id = m.submission_id),
    'first_official_reply', (select row_to_json(r) from private.reply_times(own_id, first_day, last_day) r))
  into answer;
  return answer;
end
$$;
comment on function private.admin_analytics(text, text, text) is 'The current organization from one day to another, both included, in its time zone: what was submitted, voted and said by day, week or month, by how many people; submissions by what they are now; what gained most votes; how long the first official reply took. Admins, or keys with analytics:read.';
grant execute on function private.admin_analytics(text, text, text) to authenticated, service_key;

-- Views --------------------------------------------------------------------------------------------------------

create function private.measured_organizations() returns table (organization_id uuid)
language plpgsql stable security definer set search_path = '' as $$ -- definer: settings of a private organization
begin
  return query select o.id from public.organizations o
    where o.id = any (private.admin_organization_ids('analytics:read'))
      -- An operator, whom no policy binds.
      or coalesce(current_setting('role', true), 'none') not in ('anon', 'authenticated', 'service_key');
end
$$;
comment on function private.measured_organizations() is 'Organizations whose analytics the caller may see: those they administer; all for an operator.';

create function private.analytics_days() returns table (organization_id uuid, day date, submissions bigint, votes bigint, comments bigint, active_people bigint)
language plpgsql stable security definer set search_path = '' as $$ -- definer: the activity of people is granted to nobody
begin
  return query
    select o.organization_id, d.start, d.submissions, d.votes, d.comments, d.people
    from private.measured_organizations() o cross join lateral private.activity_of(o.organization_id, '-infinity', 'infinity', 'day') d
    where d.people > 0;
end
$$;
comment on function private.analytics_days() is 'What public.analytics_days shows.';

create function private.analytics_submissions() returns table (organization_id uuid, day date, status text, category_id uuid, source text, submissions bigint)
language plpgsql stable security definer set search_path = '' as $$ -- definer: as above
begin
  return query
    select o.organization_id, s.day, s.status, s.category_id, s.source, sum(s.total)
    from private.measured_organizations() o cross join lateral private.submissions_of(o.organization_id, 'day', '-infinity', 'infinity') s
    group by 1, 2, 3, 4, 5 having sum(s.total) > 0;
end
$$;
comment on function private.analytics_submissions() is 'What public.analytics_submissions shows.';
grant execute on function private.analytics_days(), private.analytics_submissions() to authenticated, service_role, service_key;

create view public.analytics_days with (security_invoker = true) as select * from private.analytics_days();
comment on view public.analytics_days is 'Submissions, votes and comments of each day, and how many people they are of, in the organization''s time zone; for its admins.';
create view public.analytics_submissions with (security_invoker = true) as select * from private.analytics_submissions();
comment on view public.analytics_submissions is 'Submissions made each day, by what they are now; for admins of the organization.';
revoke all on public.analytics_days, public.analytics_submissions from public, anon, authenticated, service_role, service_key;
grant select on public.analytics_days, public.analytics_submissions to authenticated, service_role, service_key;

-- In-product notifications: never to oneself, one a person and event, and only of what the person may see.

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
  constraint type_is_known check (type in ('vote', 'comment', 'reply', 'official_comment', 'status_changed', 'merged'))
);
comment on table public.notifications is 'What a person should know. event_id is the vote, comment, status change or merge it tells of; a vote''s names no voter.';
create index notifications_newest_idx on public.notifications (user_id, created_at desc, id desc);
create index notifications_unread_idx on public.notifications (user_id, created_at desc, id desc) where read_at is null;
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
comment on table private.fanouts is 'Notifications still to be written: submissions with more than 500 followers are told in batches, resumed after the last follower told.';
alter table private.fanouts enable row level security;
revoke all on private.fanouts from public, anon, authenticated, service_role, service_key;

-- rows: with the default of 1000, the join with profiles reads all of them.
create function private.followers_after(fanout private.fanouts, most integer) returns setof uuid
language plpgsql stable set search_path = '' rows 20 as $$
declare followed uuid[];
begin
  if fanout.type = 'merged' then
    followed := array(
      select source.source_id from private.merges m
        cross join lateral (select m.source_id union all select t.source_id from private.merge_tree(m.source_id) t) source
      where m.event_id = fanout.event_id);
  else
    followed := private.with_sources(fanout.submission_id);
  end if;
  return query
    select distinct f.user_id from unnest(followed) as id cross join lateral (
      select f.user_id from public.follows f
      where f.submission_id = id and f.user_id > fanout.after_user_id
      order by f.user_id limit most) f
    order by f.user_id limit most;
end
$$;
comment on function private.followers_after(private.fanouts, integer) is 'The next an event concerns, in the order they are told: the submission''s followers, or those of the sources of a merge.';

create function private.notify_batch(fanout private.fanouts, batch integer) returns uuid
language plpgsql set search_path = '' as $$
declare last_id uuid;
begin
  with next as (
    select user_id from private.followers_after(fanout, batch) as user_id
  ), told as (
    insert into public.notifications (organization_id, user_id, type, submission_id, comment_id, event_id)
    select fanout.organization_id, n.user_id, fanout.type, fanout.submission_id, fanout.comment_id, fanout.event_id
    from next n join public.profiles p on p.id = n.user_id join public.submissions s on s.id = fanout.submission_id
    where n.user_id is distinct from fanout.actor_id and p.kind in ('user', 'email')
      and (s.is_public or s.author_id = p.id or private.is_member(s.organization_id, p.id))
    on conflict (user_id, event_id) do nothing
  )
  select case when count(*) = batch then max(user_id::text)::uuid end into last_id from next;
  return last_id;
end
$$;
comment on function private.notify_batch(private.fanouts, integer) is 'Tells the next followers; the last one told, or null when all have been.';

-- Called by triggers that are definers themselves.
create function private.notify_followers(organization_id uuid, submission_id uuid, type text, event_id uuid, comment_id uuid, actor_id uuid)
returns void language plpgsql set search_path = '' as $$
declare fanout private.fanouts;
begin
  fanout := row(event_id, organization_id, submission_id, comment_id, type, actor_id, '00000000-0000-0000-0000-000000000000', now());
  -- Who is concerned in person comes first: they are told of their own part, and once.
  insert into public.notifications (organization_id, user_id, type, submission_id, comment_id, event_id)
  select distinct on (p.id) notify_followers.organization_id, p.id, told.type, notify_followers.submission_id,
    notify_followers.comment_id, notify_followers.event_id
  from (
    select parent.author_id as user_id, 'reply' as type, 1 as rank
    from public.comments c join public.comments parent on parent.id = c.parent_id where c.id = notify_followers.comment_id
    union all
    select s.author_id, notify_followers.type, 2 from public.submissions s where s.id = notify_followers.submission_id
  ) told join public.profiles p on p.id = told.user_id join public.submissions s on s.id = notify_followers.submission_id
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
comment on function private.notify_followers(uuid, uuid, text, uuid, uuid, uuid) is 'Tells the parent comment''s author, the submission''s author and the followers of an event, each once, the actor never. Beyond 500 followers the rest is left to private.run_fanouts.';

-- Called by a definer.
create function private.notify_merge(organization_id uuid, target_id uuid, event_id uuid) returns void
language plpgsql set search_path = '' as $$
declare fanout private.fanouts;
begin
  fanout := row(event_id, organization_id, target_id, null, 'merged', private.caller_id(), '00000000-0000-0000-0000-000000000000', now());
  fanout.after_user_id := private.notify_batch(fanout, 500);
  if fanout.after_user_id is not null then
    insert into private.fanouts values (fanout.*);
  end if;
end
$$;
comment on function private.notify_merge(uuid, uuid, uuid) is 'Tells the followers of merged sources, once each, where what they follow went.';

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
comment on function private.run_fanouts(integer) is 'Writes the next batch of each waiting fan-out; idempotent, safe to run twice at once.';

-- Rights -------------------------------------------------------------------------------------------------------

alter table public.notifications enable row level security;
revoke all on public.notifications from public, anon, authenticated, service_role, service_key;
grant select (id, organization_id, user_id, type, submission_id, comment_id, read_at, created_at), update (read_at)
  on public.notifications to authenticated;
grant select, insert, update, delete on public.notifications to service_role;
grant select (id) on public.notifications to anon;

create policy "people see their own notifications" on public.notifications
  for select to authenticated using (
    user_id = (select auth.uid()) and exists (select from public.submissions s where s.id = submission_id)
    and (comment_id is null or exists (select from public.comments c where c.id = comment_id)));
create policy "people mark their own notifications read" on public.notifications
  for update to authenticated using (user_id = (select auth.uid())) with check (user_id = (select auth.uid()));

-- Surveys, their questions, and their life: draft → published ⇄ paused, any → archived. What is not a draft stays as it is.
--
-- Lock order: a version, the survey it is a version of, who answers it (their profile, an advisory lock), their start,
-- responses, and counters in a lane of their own, which are never waited for (42_survey_analytics.sql). Writers of a survey and
-- of its questions take its row for no key update; who answers takes it for share, so that nobody answers what another is about
-- to close, and many answer at once. Who forgets a person takes the profile first, and surveys for key share, which waits for
-- nobody who answers.

create table public.surveys (
  id uuid primary key default gen_random_uuid(),
  organization_id uuid not null default private.requested_organization_id() references public.organizations (id) on delete cascade,
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
  constraint surveys_audience_submission_is_of_the_same_organization foreign key (organization_id, audience_submission_id)
    references public.submissions (organization_id, id) on delete set null (audience_submission_id),
  constraint title_has_1_to_200_characters check (char_length(title) between 1 and 200),
  constraint description_has_at_most_5000_characters check (char_length(description) <= 5000),
  constraint status_is_known check (status in ('draft', 'published', 'paused', 'archived')),
  constraint redirect_url_is_a_web_address check (redirect_url ~ '^https?://\S+$' and char_length(redirect_url) <= 2000),
  constraint closes_at_is_a_day_of_the_calendar check (closes_at >= '2000-01-01T00:00:00Z' and closes_at < '9999-12-31T00:00:00Z'),
  constraint audience_is_known check (audience in ('everyone', 'voters', 'followers')),
  constraint everyone_needs_no_submission check (audience <> 'everyone' or audience_submission_id is null),
  constraint locales_are_known check (
    cardinality(locales) between 1 and 8 and locales <@ array['en', 'es', 'fr', 'de', 'ru', 'pt-BR', 'ja', 'it'])
);
comment on table public.surveys is 'Questions an organization asks. audience and locales say who may answer, for admins only; family_id is shared by the versions of a survey; closed_at is when it could no longer be answered for good, told once. How often it was answered stands in public.survey_results.';
create index surveys_newest_idx on public.surveys (organization_id, created_at desc, id desc);
create index surveys_status_idx on public.surveys (organization_id, status, created_at desc, id desc);
create index surveys_version_of_idx on public.surveys (version_of) where version_of is not null;
create index surveys_audience_idx on public.surveys (audience_submission_id) where audience_submission_id is not null;
create index surveys_family_idx on public.surveys (family_id);
create index surveys_closing_idx on public.surveys (closes_at) where closed_at is null and status in ('published', 'paused');
create unique index one_live_version_a_survey on public.surveys (family_id) where status in ('published', 'paused');

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
  constraint ratings_have_a_scale_of_2_to_10 check (case when type = 'rating' then scale is not null and scale between 2 and 10 else scale is null end)
);
comment on table public.survey_questions is 'What a survey asks, in the order of position. multiple: several options may be chosen; scale: the highest rating.';

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
comment on table public.survey_options is 'What a multiple_choice question offers, in the order of position.';
create index survey_options_survey_idx on public.survey_options (survey_id);

-- Who sees and writes ------------------------------------------------------------------------------------------

-- definer: membership decides what one may see, so reading it cannot depend on what one may see.
create function private.survey_organization_ids(scopes text[]) returns uuid[]
language plpgsql stable security definer set search_path = '' as $$
begin
  if private.is_key() then
    return case when scopes && string_to_array(current_setting('feedback.scopes', true), ' ') then array[private.key_organization_id()] else '{}' end;
  end if;
  return coalesce((select array_agg(organization_id) from public.memberships where user_id = auth.uid()), '{}');
end
$$;
comment on function private.survey_organization_ids(text[]) is 'Organizations whose surveys the caller sees as its team does: those a user is a member of; a key''s own, with any of the scopes.';

alter table public.surveys enable row level security;
alter table public.survey_questions enable row level security;
alter table public.survey_options enable row level security;
revoke all on public.surveys, public.survey_questions, public.survey_options from public, anon, authenticated, service_role, service_key;
grant execute on function private.survey_organization_ids(text[]) to anon, authenticated, service_key;

create policy "a survey is seen as its board is, a draft by the team" on public.surveys
  for select to anon, authenticated, service_key using (
    organization_id = any ((select private.survey_organization_ids('{surveys:read,surveys:write,surveys:publish}'))::uuid[])
    or status <> 'draft' and (
      organization_id = any ((select private.survey_organization_ids('{responses:read,analytics:read}'))::uuid[])
      or exists (select from public.organizations o where o.id = organization_id and o.visibility = 'public')));
create policy "a key stays in its organization" on public.surveys
  as restrictive to service_key using (organization_id = (select private.key_organization_id()));
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

grant select (id, organization_id, title, description, status, allow_multiple_responses, show_branding, redirect_url, closes_at,
  version_of, published_at, closed_at, created_at, updated_at) on public.surveys to anon, authenticated, service_key;
grant insert (id, organization_id, title, description, allow_multiple_responses, show_branding, redirect_url, closes_at, audience,
    audience_submission_id, locales),
  update (title, description, status, allow_multiple_responses, show_branding, redirect_url, closes_at, audience,
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

-- Life ---------------------------------------------------------------------------------------------------------

create function private.prepare_survey() returns trigger
language plpgsql set search_path = '' as $$
begin
  new.organization_id := coalesce(new.organization_id, private.default_organization_id());
  if new.organization_id is null then
    perform private.raise_error('VALIDATION_ERROR', 'Name the organization: there is more than one.', 'organization_id');
  end if;
  if new.status <> 'draft' and not private.is_importing() then
    perform private.raise_error('CONFLICT', 'A survey begins as a draft: publish it afterwards.', 'status');
  end if;
  new.title := private.trim_text(new.title);
  new.description := private.trim_text(new.description);
  new.family_id := coalesce(new.family_id, new.id);
  return new;
end
$$;
comment on function private.prepare_survey() is 'Trigger: fills in the organization; every survey begins as a draft, but one that is imported.';
create trigger prepare before insert on public.surveys
  for each row execute function private.prepare_survey();

-- definer: limits of a plan are the organization's business; a row lock makes concurrent inserts take turns.
create function private.keep_survey_plan_limit() returns trigger
language plpgsql security definer set search_path = '' as $$
declare allowed integer; used bigint;
begin
  select max_surveys into allowed from public.organizations where id = new.organization_id;
  if allowed is not null then
    select max_surveys into allowed from public.organizations where id = new.organization_id for no key update;
    select count(distinct family_id) into used from public.surveys where organization_id = new.organization_id and status <> 'archived';
    if used > allowed then
      perform private.raise_error('PLAN_LIMIT_REACHED', format('The plan allows %s surveys that are not archived.', allowed));
    end if;
  end if;
  return null;
end
$$;
comment on function private.keep_survey_plan_limit() is 'Trigger: an organization never has more surveys than its plan allows; archived ones do not count, and versions of a survey count once.';
create trigger keep_plan_limit after insert on public.surveys
  for each row execute function private.keep_survey_plan_limit();

-- definer: looks at questions and closes other versions, whoever publishes.
create function private.keep_survey_life() returns trigger
language plpgsql security definer set search_path = '' as $$
declare
  acts boolean := private.caller_id() is not null;
  -- The submission whose voters were asked can be deleted while the survey runs: then nobody is asked.
  old_submission uuid := (select s.id from public.submissions s where s.id = old.audience_submission_id);
begin
  new.title := private.trim_text(new.title);
  new.description := private.trim_text(new.description);
  if (new.title, new.description, new.allow_multiple_responses, new.show_branding, new.redirect_url, new.closes_at, new.audience,
        new.audience_submission_id, new.locales)
      is distinct from (old.title, old.description, old.allow_multiple_responses, old.show_branding, old.redirect_url, old.closes_at, old.audience,
        case when new.audience_submission_id is null then old_submission else old.audience_submission_id end, old.locales) then
    if acts then perform private.require_admin(old.organization_id, 'surveys:write'); end if;
    perform private.require_draft(old.status);
    new.updated_at := now();
  end if;
  if new.status = old.status then return new; end if;

  if acts then perform private.require_admin(old.organization_id, 'surveys:publish'); end if;
  if new.status <> 'archived' and (old.status, new.status) not in (('draft', 'published'), ('published', 'paused'), ('paused', 'published')) then
    perform private.raise_error('CONFLICT', format('A survey that is %s cannot become %s.', old.status, new.status), 'status');
  end if;
  new.updated_at := now();
  if new.status = 'published' and new.closes_at <= now() then
    perform private.raise_error('CONFLICT', 'The time at which this survey closes has passed.', 'closes_at');
  end if;
  if old.status = 'draft' and new.status = 'published' then
    perform private.check_questions(new.id);
    if new.audience <> 'everyone' and new.audience_submission_id is null then
      perform private.raise_error('CONFLICT', format('Name the submission whose %s are asked.', new.audience), 'targeting.submission_id');
    end if;
    -- Two versions of one survey take turns; who waits holds a draft, which the other never wants.
    perform pg_advisory_xact_lock(hashtextextended(new.family_id::text, 0));
    update public.surveys set status = 'archived' where family_id = new.family_id and status in ('published', 'paused');
    new.published_at := now();
  end if;
  if new.status = 'archived' and old.published_at is not null then
    new.closed_at := coalesce(old.closed_at, now());
  end if;
  return new;
end
$$;
comment on function private.keep_survey_life() is 'Trigger: draft → published ⇄ paused, any → archived, nothing else; only a draft''s content changes; publishing a version archives the one before.';
create trigger keep_life before update on public.surveys
  for each row execute function private.keep_survey_life();

create function private.require_draft(status text) returns void
language plpgsql immutable set search_path = '' as $$
begin
  if status <> 'draft' then
    perform private.raise_error('CONFLICT', format('This survey is %s: only a draft can be changed. Make a new version of it.', status), 'status');
  end if;
end
$$;
comment on function private.require_draft(text) is 'Raises CONFLICT unless the status is draft.';

create function private.check_questions(survey_id uuid) returns void
language plpgsql stable set search_path = '' as $$
declare question record; asked boolean := false;
begin
  for question in
    select q.type, q.position, exists (select from public.survey_options o where o.question_id = q.id) as has_options
    from public.survey_questions q where q.survey_id = check_questions.survey_id order by q.position
  loop
    asked := true;
    if (question.type = 'multiple_choice') <> question.has_options then
      perform private.raise_error('CONFLICT', format(case when question.has_options then 'Question %s has options and is not multiple_choice.'
        else 'Question %s is multiple_choice and has no options.' end, question.position), format('questions.%s.options', question.position - 1));
    end if;
  end loop;
  if not asked then
    perform private.raise_error('CONFLICT', 'A survey without questions cannot be published.', 'questions');
  end if;
end
$$;
comment on function private.check_questions(uuid) is 'Raises CONFLICT unless the survey has questions, each with what it needs.';

-- definer: writes events.
create function private.announce_survey() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if old.published_at is null and new.published_at is not null then
    perform private.emit_event(new.organization_id, 'survey.published', new.id,
      jsonb_build_object('survey', jsonb_build_object('id', new.id, 'title', new.title)));
  end if;
  if old.closed_at is null and new.closed_at is not null then
    perform private.emit_event(new.organization_id, 'survey.closed', new.id, jsonb_build_object('survey_id', new.id,
      'response_count', (select f.response_count from private.survey_figures(array[new.id]) f)));
  end if;
  return null;
end
$$;
comment on function private.announce_survey() is 'Trigger: survey.published and survey.closed, each once.';
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
comment on function private.close_surveys() is 'Closes for good the surveys whose time has passed, and says how many; for private.run_schedule.';

-- definer: responses are not the deleter's to see; the row is locked, so that no answer comes in between.
create function private.keep_responses() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if coalesce(current_setting('feedback.force', true), '') <> 'on'
    and exists (select from public.survey_responses where survey_id = old.id)
    and exists (select from public.organizations where id = old.organization_id) then
    perform private.raise_error('SURVEY_HAS_RESPONSES', 'This survey has responses: force=true deletes them with it.');
  end if;
  return old;
end
$$;
comment on function private.keep_responses() is 'Trigger: a survey that was answered is not deleted unless private.delete_survey is told to.';
create trigger keep_responses before delete on public.surveys
  for each row execute function private.keep_responses();

-- Questions ----------------------------------------------------------------------------------------------------

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
comment on function private.prepare_question() is 'Trigger of questions and options: trims, and fills in the survey''s organization.';
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
comment on function private.prepare_rating() is 'Trigger: ratings go to 5 where nothing else is said.';
create trigger prepare_rating before insert or update on public.survey_questions
  for each row when (new.type = 'rating') execute function private.prepare_rating();

-- definer: locks the survey, which orders this change against its publication.
create function private.keep_questions() returns trigger
language plpgsql security definer set search_path = '' as $$
declare found_status text;
begin
  if private.is_importing() then return null; end if;
  for found_status in
    select s.status from public.surveys s where s.id in (select c.survey_id from changed c) order by s.id for no key update
  loop
    perform private.require_draft(found_status);
  end loop;
  return null;
end
$$;
comment on function private.keep_questions() is 'Trigger: questions and options change while their survey is a draft, and go with it. An import brings them with their survey.';
create trigger keep_added after insert on public.survey_questions
  referencing new table as changed for each statement execute function private.keep_questions();
create trigger keep_before after update on public.survey_questions
  referencing old table as changed for each statement execute function private.keep_questions();
create trigger keep_after after update on public.survey_questions
  referencing new table as changed for each statement execute function private.keep_questions();
create trigger keep_removed after delete on public.survey_questions
  referencing old table as changed for each statement execute function private.keep_questions();
create trigger keep_added after insert on public.survey_options
  referencing new table as changed for each statement execute function private.keep_questions();
create trigger keep_before after update on public.survey_options
  referencing old table as changed for each statement execute function private.keep_questions();
create trigger keep_after after update on public.survey_options
  referencing new table as changed for each statement execute function private.keep_questions();
create trigger keep_removed after delete on public.survey_options
  referencing old table as changed for each statement execute function private.keep_questions();

-- What admins do -----------------------------------------------------------------------------------------------

-- Invoker: what the caller cannot see is not there.
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
comment on function private.require_survey(uuid, text) is 'The organization of a survey the caller sees, else NOT_FOUND; with a scope, FORBIDDEN unless they are Admin of it.';

create function private.lock_survey(survey_id uuid) returns text
language plpgsql set search_path = '' as $$
declare found_status text;
begin
  select s.status into found_status from public.surveys s where s.id = lock_survey.survey_id for no key update;
  if found_status is null then
    perform private.raise_error('NOT_FOUND', 'There is no such survey.');
  end if;
  return found_status;
end
$$;
comment on function private.lock_survey(uuid) is 'The status of a survey that nobody else changes until this transaction ends; NOT_FOUND where it is gone meanwhile.';

create function private.write_questions(organization_id uuid, survey_id uuid, questions jsonb) returns void
language plpgsql set search_path = '' as $$
begin
  with asked as materialized (
    select gen_random_uuid() as id, q, n from jsonb_array_elements(questions) with ordinality as a (q, n)
  ), written as (
    insert into public.survey_questions (id, organization_id, survey_id, type, text, required, position, multiple, scale)
    select id, write_questions.organization_id, write_questions.survey_id, q ->> 'type', q ->> 'text', coalesce((q ->> 'required')::boolean, false), n,
      coalesce((q ->> 'multiple')::boolean, false), (q ->> 'scale')::integer
    from asked
  )
  insert into public.survey_options (organization_id, survey_id, question_id, text, position)
  select write_questions.organization_id, write_questions.survey_id, id, o, p
  from asked cross join lateral jsonb_array_elements_text(coalesce(nullif(q -> 'options', 'null'), '[]')) with ordinality as b (o, p);
end
$$;
comment on function private.write_questions(uuid, uuid, jsonb) is 'Adds questions [{type, text, required, multiple, scale, options: [text]}] to a draft that has none.';

create function private.write_settings(survey_id uuid, changes jsonb) returns void
language plpgsql set search_path = '' as $$
declare settings jsonb := coalesce(nullif(changes -> 'settings', 'null'), '{}'); targeting jsonb := coalesce(nullif(changes -> 'targeting', 'null'), '{}');
begin
  update public.surveys s set
    title = case when changes ? 'title' then changes ->> 'title' else s.title end,
    description = case when changes ? 'description' then coalesce(changes ->> 'description', '') else s.description end,
    closes_at = case when changes ? 'closes_at' then (changes ->> 'closes_at')::timestamptz else s.closes_at end,
    allow_multiple_responses = coalesce((settings ->> 'allow_multiple_responses')::boolean, s.allow_multiple_responses),
    show_branding = coalesce((settings ->> 'show_branding')::boolean, s.show_branding),
    redirect_url = case when settings ? 'redirect_url' then settings ->> 'redirect_url' else s.redirect_url end
  where s.id = write_settings.survey_id;
  if changes ? 'targeting' then
    update public.surveys s set
      audience = coalesce(targeting ->> 'audience', 'everyone'),
      audience_submission_id = (targeting ->> 'submission_id')::uuid,
      locales = case when jsonb_typeof(targeting -> 'locales') = 'array' then array(select jsonb_array_elements_text(targeting -> 'locales')) end
    where s.id = write_settings.survey_id;
  end if;
end
$$;
comment on function private.write_settings(uuid, jsonb) is 'Changes what is named: title, description, closes_at, settings key by key, targeting as a whole.';

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
comment on function private.create_survey(jsonb) is 'A draft in the current organization, {title, description, questions, settings, targeting, closes_at}; its id.';

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
comment on function private.update_survey(uuid, jsonb) is 'Changes a draft; questions are replaced as a whole. CONFLICT for what is not a draft.';

create function private.change_survey_status(survey_id uuid, action text) returns void
language plpgsql set search_path = '' as $$
declare
  target text := case action when 'pause' then 'paused' when 'archive' then 'archived' else 'published' end;
  present text;
begin
  perform private.require_survey(survey_id, 'surveys:publish');
  present := private.lock_survey(survey_id);
  if present = target then return; end if;
  if action <> 'archive' and present <> (case action when 'publish' then 'draft' when 'pause' then 'published' else 'paused' end) then
    perform private.raise_error('CONFLICT', format('A survey that is %s cannot be %s.', present,
      case action when 'publish' then 'published' || case present when 'paused' then ': resume it' else '' end
        when 'pause' then 'paused' else 'resumed' end), 'status');
  end if;
  update public.surveys s set status = target where s.id = change_survey_status.survey_id;
end
$$;
comment on function private.change_survey_status(uuid, text) is 'publish, pause, resume or archive. Nothing happens where it is so already; CONFLICT where the survey''s life does not go there.';

create function private.create_survey_version(survey_id uuid, new_id uuid default gen_random_uuid()) returns uuid
language plpgsql set search_path = '' as $$
begin
  perform private.require_survey(survey_id, 'surveys:publish');
  return private.clone_survey(survey_id, new_id);
end
$$;
comment on function private.create_survey_version(uuid, uuid) is 'A draft with the questions of a survey that is published or paused; publishing it archives that one.';

-- definer: which survey a draft is a version of is nobody's to write.
create function private.clone_survey(survey_id uuid, new_id uuid default gen_random_uuid()) returns uuid
language plpgsql security definer set search_path = '' as $$
declare source public.surveys;
begin
  perform private.lock_survey(survey_id);
  select * into source from public.surveys s where s.id = clone_survey.survey_id;
  perform private.require_admin(source.organization_id, 'surveys:publish');
  if source.status not in ('published', 'paused') then
    perform private.raise_error('CONFLICT', format('A version is made of a survey that is published or paused; this one is %s.', source.status), 'status');
  end if;
  insert into public.surveys (id, organization_id, title, description, allow_multiple_responses, show_branding, redirect_url, audience,
    audience_submission_id, locales, closes_at, version_of, family_id)
  values (new_id, source.organization_id, source.title, source.description, source.allow_multiple_responses, source.show_branding, source.redirect_url,
    source.audience, source.audience_submission_id, source.locales, case when source.closes_at > now() then source.closes_at end, source.id, source.family_id);
  with copied as materialized (
    select gen_random_uuid() as new_question_id, q.* from public.survey_questions q where q.survey_id = source.id
  ), written as (
    insert into public.survey_questions (id, organization_id, survey_id, type, text, required, position, multiple, scale)
    select new_question_id, organization_id, new_id, type, text, required, position, multiple, scale from copied
  )
  insert into public.survey_options (organization_id, survey_id, question_id, text, position)
  select o.organization_id, new_id, c.new_question_id, o.text, o.position
  from copied c join public.survey_options o on o.question_id = c.id;
  return new_id;
end
$$;
comment on function private.clone_survey(uuid, uuid) is 'The work of private.create_survey_version; for admins of the survey''s organization.';

create function private.delete_survey(survey_id uuid, force boolean) returns void
language plpgsql set search_path = '' as $$
begin
  perform private.require_survey(survey_id, 'surveys:write');
  -- A version before what it is a version of, as who publishes it: deleting lets go of them.
  perform 1 from public.surveys s where s.version_of = delete_survey.survey_id order by s.id for no key update;
  if force then perform set_config('feedback.force', 'on', true); end if;
  delete from public.surveys s where s.id = delete_survey.survey_id;
  if not found then perform private.raise_error('NOT_FOUND', 'There is no such survey.'); end if;
  perform set_config('feedback.force', '', true);
end
$$;
comment on function private.delete_survey(uuid, boolean) is 'Deletes a survey with everything in it; SURVEY_HAS_RESPONSES where it was answered and force is not true.';

-- definer: targeting is for admins, so its columns are granted to nobody.
create function private.survey_targeting(survey_id uuid) returns json
language plpgsql stable security definer set search_path = '' as $$
begin
  perform private.require_admin((select s.organization_id from public.surveys s where s.id = survey_targeting.survey_id), 'surveys:read');
  return (
    select json_build_object('audience', s.audience, 'submission_id', s.audience_submission_id, 'locales', s.locales)
    from public.surveys s where s.id = survey_targeting.survey_id);
end
$$;
comment on function private.survey_targeting(uuid) is 'Whom a survey asks, {audience, submission_id, locales}, for admins; FORBIDDEN for anyone else.';

grant execute on function private.require_survey(uuid, text), private.survey_targeting(uuid) to anon, authenticated, service_key;
grant execute on function private.require_draft(text), private.lock_survey(uuid), private.write_questions(uuid, uuid, jsonb), private.write_settings(uuid, jsonb),
  private.create_survey(jsonb), private.update_survey(uuid, jsonb), private.change_survey_status(uuid, text),
  private.create_survey_version(uuid, uuid), private.clone_survey(uuid, uuid), private.delete_survey(uuid, boolean)
  to authenticated, service_key;

-- Responses. One is one row, its answers a value that is checked and put in order as a whole: nothing is half-stored.

-- Ids that grow with time keep the index of millions of responses warm at one end.
create function private.ordered_id() returns uuid
language sql volatile
return encode(
  set_bit(set_bit(overlay(uuid_send(gen_random_uuid())
    placing substring(int8send((extract(epoch from clock_timestamp()) * 1000)::bigint) from 3) from 1 for 6), 52, 1), 53, 1), 'hex')::uuid;
comment on function private.ordered_id() is 'A UUID of version 7.';

create table public.survey_responses (
  id uuid primary key default private.ordered_id(),
  organization_id uuid not null default private.requested_organization_id(),
  survey_id uuid not null,
  user_id uuid default private.caller_id() references public.profiles (id) on delete set null deferrable initially deferred,
  answers jsonb not null,
  locale text,
  started_at timestamptz,
  submitted_at timestamptz not null default now(),
  sentiment_score numeric(4, 3),
  sentiment text generated always as (
    case when sentiment_score >= 0.2 then 'positive' when sentiment_score <= -0.2 then 'negative' when sentiment_score is not null then 'neutral' end) stored,
  sentiment_engine text,
  is_only boolean not null default true,
  constraint survey_responses_survey_is_of_the_same_organization foreign key (organization_id, survey_id)
    references public.surveys (organization_id, id) on delete cascade,
  constraint answers_are_an_array check (jsonb_typeof(answers) = 'array'),
  constraint locale_is_known check (locale in ('en', 'es', 'fr', 'de', 'ru', 'pt-BR', 'ja', 'it')),
  constraint one_starts_before_one_submits check (started_at <= submitted_at),
  constraint sentiment_score_is_from_minus_1_to_1 check (sentiment_score between -1 and 1),
  constraint sentiment_has_an_engine check ((sentiment_score is null) = (sentiment_engine is null)),
  constraint sentiment_engine_has_1_to_100_characters check (char_length(sentiment_engine) between 1 and 100)
);
comment on table public.survey_responses is 'Who answered a survey, and what. answers is [{question_id, value}] in question order: a number for nps and rating, text for text and email, the text of the chosen option or an array of them for multiple_choice; what was not answered is not there. Read by admins and by the respondent. is_only: the survey takes one response a person.';
create unique index one_response_a_person_and_survey on public.survey_responses (survey_id, user_id) where is_only;
create index survey_responses_newest_idx on public.survey_responses (survey_id, submitted_at desc, id desc);
create index survey_responses_sentiment_idx on public.survey_responses (survey_id, sentiment, submitted_at desc, id desc);
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
comment on table private.survey_starts is 'Who opened a survey and has not answered it yet; answering moves started_at to the response.';
create index survey_starts_user_idx on private.survey_starts (user_id);

create view public.survey_answers with (security_invoker = true) as
  select r.organization_id, r.survey_id, r.id as response_id, q.id as question_id, q.type, a.value -> 'value' as value, r.submitted_at
  from public.survey_responses r
  cross join lateral jsonb_array_elements(r.answers) as a (value)
  join public.survey_questions q on q.id = (a.value ->> 'question_id')::uuid;
comment on view public.survey_answers is 'One row an answer, for whoever reads the response.';

-- Who sees and answers -----------------------------------------------------------------------------------------

alter table public.survey_responses enable row level security;
alter table private.survey_starts enable row level security;
revoke all on public.survey_responses, public.survey_answers, private.survey_starts from public, anon, authenticated, service_role, service_key;
grant select (id, organization_id, survey_id, user_id, answers, locale, started_at, submitted_at, sentiment_score, sentiment, sentiment_engine)
  on public.survey_responses to authenticated, service_key;
grant insert (survey_id, answers, locale) on public.survey_responses to authenticated;
grant select, insert, delete on public.survey_responses to service_role;
grant select on public.survey_answers to authenticated, service_key, service_role;

create policy "a response is seen by admins and by who gave it" on public.survey_responses
  for select to authenticated using (
    user_id = (select auth.uid()) or organization_id = any ((select private.admin_organization_ids('responses:read'))::uuid[]));
create policy "a key sees the responses of its organization" on public.survey_responses
  for select to service_key using (organization_id = any ((select private.admin_organization_ids('responses:read'))::uuid[]));
create policy "people answer for themselves" on public.survey_responses
  for insert to authenticated with check (user_id = (select auth.uid()));

-- definer: whom a survey asks is not granted.
create function private.names_respondents(survey_id uuid) returns boolean
language plpgsql stable security definer set search_path = '' as $$
begin
  return not private.is_key() or private.has_scope('submissions:moderate')
    or exists (select from public.surveys s where s.id = names_respondents.survey_id and s.audience = 'everyone');
end
$$;
comment on function private.names_respondents(uuid) is 'Whether the caller may see who answered. Of a survey for voters or followers the answer would tell a key who these are: it needs submissions:moderate, as for the list of voters.';
grant execute on function private.names_respondents(uuid) to authenticated, service_key;

-- Starting -----------------------------------------------------------------------------------------------------

create function private.start_survey(survey_id uuid) returns timestamptz
language plpgsql set search_path = '' as $$
begin
  perform private.require_survey(survey_id, null);
  return private.mark_start(survey_id);
end
$$;
comment on function private.start_survey(uuid) is 'Notes that the caller began to answer, and says since when; the first time counts.';

-- definer: starts are nobody's to read or write.
create function private.mark_start(survey_id uuid) returns timestamptz
language plpgsql security definer set search_path = '' as $$
declare survey public.surveys; began timestamptz;
begin
  if private.is_key() or private.caller_id() is null then
    perform private.raise_error('FORBIDDEN', 'This is for people who signed in.');
  end if;
  survey := private.open_survey(survey_id, private.caller_id());
  insert into private.survey_starts as s (organization_id, survey_id, user_id) values (survey.organization_id, survey.id, private.caller_id())
  on conflict on constraint survey_starts_pkey do nothing returning s.started_at into began;
  return coalesce(began, (select s.started_at from private.survey_starts s where s.survey_id = survey.id and s.user_id = private.caller_id()));
end
$$;
comment on function private.mark_start(uuid) is 'The work of private.start_survey, which knows that the caller sees the survey.';

create function public.start_survey(survey_id uuid) returns timestamptz
language sql set search_path = ''
begin atomic
  select private.start_survey(survey_id);
end;
comment on function public.start_survey(uuid) is 'Call it when the signed-in person begins to answer: the time until they submit is how long they took. Again changes nothing.';

-- Answering ----------------------------------------------------------------------------------------------------

-- definer: locks the survey, reads targeting, votes and follows.
create function private.open_survey(survey_id uuid, user_id uuid) returns public.surveys
language plpgsql security definer set search_path = '' as $$
declare survey public.surveys; asked boolean := true; submission uuid;
begin
  select * into survey from public.surveys s where s.id = open_survey.survey_id for share;
  if survey.id is null then
    perform private.raise_error('NOT_FOUND', 'There is no such survey.');
  elsif survey.status <> 'published' then
    perform private.raise_error('SURVEY_NOT_OPEN', format('This survey is %s: it takes no responses.', survey.status));
  elsif survey.closes_at <= clock_timestamp() then
    perform private.raise_error('SURVEY_NOT_OPEN', 'This survey has closed.');
  end if;
  -- Whoever forgets the person waits for what is written here, or was first.
  perform 1 from public.profiles p where p.id = open_survey.user_id and (p.kind <> 'user' or p.auth_user_id is not null) for key share;
  if not found and user_id = private.caller_id() then
    perform private.raise_error('UNAUTHORIZED', 'This account is gone.');
  end if;
  if not survey.allow_multiple_responses then
    -- One after the other, else a start could outlive the answer that ends it. Operators insert many at once, and start nothing.
    if user_id = private.caller_id() then
      perform pg_advisory_xact_lock(hashtextextended(survey.id::text || user_id, 0));
    end if;
    if exists (select from public.survey_responses r where r.survey_id = survey.id and r.user_id = open_survey.user_id) then
      perform private.raise_error('ALREADY_RESPONDED', 'You answered this survey already.');
    end if;
  end if;
  if survey.audience <> 'everyone' then
    submission := (select coalesce(s.merged_into_id, s.id) from public.submissions s where s.id = survey.audience_submission_id);
    asked := case survey.audience
      when 'voters' then exists (select from public.votes v where v.submission_id = submission and v.user_id = open_survey.user_id)
      else private.is_follower(submission, open_survey.user_id) end;
  end if;
  if not asked then
    perform private.raise_error('FORBIDDEN', format('This survey is for %s of a submission.', survey.audience));
  end if;
  return survey;
end
$$;
comment on function private.open_survey(uuid, uuid) is 'The survey, held open while this transaction lasts, if the profile may answer it now; else SURVEY_NOT_OPEN, ALREADY_RESPONDED or FORBIDDEN.';

create function private.is_email(value text) returns boolean
language sql immutable
return char_length(value) <= 254 and position('@' in value) <= 65
  and value ~ '^[A-Za-z0-9_!#$%&''*+/=?^`{|}~-]+(\.[A-Za-z0-9_!#$%&''*+/=?^`{|}~-]+)*@([A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+(?=[0-9-]*[A-Za-z])[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?$';
comment on function private.is_email(text) is 'Whether the text is an e-mail address, by the rule of shared/fields.ts.';

create type private.checked_answer as (value jsonb, complaint text);
comment on type private.checked_answer is 'An answer as it is stored, or what is wrong with it; neither where there is none.';

create function private.check_answer(question public.survey_questions, value jsonb) returns private.checked_answer
language plpgsql stable set search_path = '' as $$
declare
  kind text := jsonb_typeof(value);
  plain text := private.trim_text(value #>> '{}');
  lowest integer := case question.type when 'nps' then 0 else 1 end;
  highest integer := coalesce(question.scale, 10);
  chosen text[]; named text[];
begin
  if value is null or kind = 'null' or plain = '' or value = '[]' then return null; end if;
  case question.type
    when 'nps', 'rating' then
      if kind <> 'number' or plain::numeric <> trunc(plain::numeric) or plain::numeric not between lowest and highest then
        return row(null, format('must be a whole number from %s to %s', lowest, highest))::private.checked_answer;
      end if;
      return row(to_jsonb(plain::numeric::integer), null)::private.checked_answer;
    when 'multiple_choice' then
      if kind = 'array' and not question.multiple then
        return row(null, 'must be one option')::private.checked_answer;
      elsif kind not in ('string', 'array') or kind = 'array' and jsonb_path_exists(value, 'strict $[*] ? (@.type() != "string")') then
        return row(null, case when question.multiple then 'must be options, by id or text' else 'must be an option, by id or text' end)::private.checked_answer;
      end if;
      chosen := case kind when 'string' then array[plain] else array(select private.trim_text(c) from jsonb_array_elements_text(value) c limit 101) end;
      named := array(select o.text from public.survey_options o
        where o.question_id = question.id and (o.text = any (chosen) or o.id::text = any (chosen)) order by o.position);
      if exists (select from unnest(chosen) c where not exists (
          select from public.survey_options o where o.question_id = question.id and c in (o.text, o.id::text))) then
        return row(null, 'must be one of the options, by id or text')::private.checked_answer;
      elsif cardinality(named) < cardinality(chosen) then
        return row(null, 'must not name an option twice')::private.checked_answer;
      end if;
      return row(case when question.multiple then to_jsonb(named) else to_jsonb(named[1]) end, null)::private.checked_answer;
    when 'email' then
      if kind <> 'string' or not private.is_email(plain) then
        return row(null, 'must be an e-mail address of at most 254 characters, such as name@example.org')::private.checked_answer;
      end if;
    else
      if kind <> 'string' or char_length(plain) > 5000 then
        return row(null, 'must be text of at most 5000 characters')::private.checked_answer;
      end if;
  end case;
  return row(to_jsonb(plain), null)::private.checked_answer;
end
$$;
comment on function private.check_answer(public.survey_questions, jsonb) is 'A value that answers the question, in the form it is stored in; null where it answers nothing.';

create function private.sentiment_of_number(question public.survey_questions, value integer) returns numeric
language sql immutable
return case
  when (question).type = 'rating' then 2.0 * (value - 1) / ((question).scale - 1) - 1
  when value <= 6 then (value - 8) / 8.0
  else (array[-0.1, 0.1, 0.6, 1])[value - 6]
end;
comment on function private.sentiment_of_number(public.survey_questions, integer) is 'What a rating or nps answer says, from -1 to 1: of nps, detractors are negative, passives neutral, promoters positive.';

create function private.sentiment_of_response(numbers numeric, texts numeric) returns numeric
language sql immutable
return round(coalesce(0.7 * numbers + 0.3 * texts, numbers, texts), 3);
comment on function private.sentiment_of_response(numeric, numeric) is 'What a response says, of the means of its numbers and of its texts, where it has them.';

-- definer: reads what every respondent answers against, whoever answers.
create function private.check_response(response public.survey_responses) returns public.survey_responses
language plpgsql security definer set search_path = '' as $$
declare
  survey public.surveys;
  -- What the functions say of text answers: {engine, scores}, one a sent answer. Clients of the data API cannot.
  judged jsonb := nullif(current_setting('feedback.sentiment', true), '')::jsonb;
  item record;
  checked private.checked_answer;
  kept jsonb[] := '{}';
  complaints jsonb[] := '{}';
  numbers numeric[] := '{}';
  texts numeric[] := '{}';
begin
  survey := private.open_survey(response.survey_id, response.user_id);
  if survey.locales is not null and not coalesce(response.locale = any (survey.locales), false) then
    perform private.raise_error('FORBIDDEN', format('This survey is for people who use it in %s.', array_to_string(survey.locales, ', ')));
  end if;
  if coalesce(jsonb_typeof(response.answers), '') <> 'array' or jsonb_array_length(response.answers) > 200 then
    perform private.raise_error('VALIDATION_ERROR', 'must be an array of at most 200 answers', 'answers');
  end if;
  for item in
    select asked.question, a.n - 1 as index, a.answer -> 'value' as value, row_number() over (partition by asked.id order by a.n) as nth
    from jsonb_array_elements(response.answers) with ordinality as a (answer, n)
    full join (select q as question, q.id, q.position from public.survey_questions q where q.survey_id = survey.id) asked
      on asked.id::text = lower(a.answer ->> 'question_id')
    order by asked.position, a.n
  loop
    if item.index is not null and (item.question).id is null then
      complaints := complaints || jsonb_build_object('field', format('answers.%s.question_id', item.index), 'message', 'is not a question of this survey');
      continue;
    elsif item.nth > 1 then
      complaints := complaints || jsonb_build_object('field', format('answers.%s.question_id', item.index), 'message', 'is answered twice');
      continue;
    end if;
    checked := private.check_answer(item.question, item.value);
    if checked.complaint is not null then
      complaints := complaints || jsonb_build_object('field', format('answers.%s.value', item.index), 'message', checked.complaint);
    elsif checked.value is not null then
      kept := kept || jsonb_build_object('question_id', (item.question).id, 'value', checked.value);
      if (item.question).type in ('nps', 'rating') then
        numbers := numbers || private.sentiment_of_number(item.question, checked.value::integer);
      elsif (item.question).type = 'text' and jsonb_typeof(judged -> 'scores' -> item.index::integer) = 'number' then
        texts := texts || greatest(-1, least(1, (judged -> 'scores' ->> item.index::integer)::numeric));
      end if;
    elsif (item.question).required then
      complaints := complaints || jsonb_build_object('field', format('questions.%s', (item.question).id), 'message', format('needs an answer: %s', left((item.question).text, 100)));
    end if;
  end loop;
  if cardinality(complaints) = 0 and cardinality(kept) = 0 then
    complaints := array[jsonb_build_object('field', 'answers', 'message', 'must answer a question')];
  end if;
  if cardinality(complaints) > 0 then
    perform private.raise_error('VALIDATION_ERROR', 'Some answers were not accepted.', null, jsonb_build_object('details', to_jsonb(complaints[1:50])));
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
    response.sentiment_engine := case when cardinality(texts) > 0 then judged ->> 'engine' when cardinality(numbers) > 0 then 'answers' end;
  end if;
  return response;
end
$$;
comment on function private.check_response(public.survey_responses) is 'A response as it is stored. Raises with every complaint at once: answers.N.value or answers.N.question_id of what was sent, questions.<id> of what is missing.';

create function private.mean(numbers numeric[]) returns numeric
language plpgsql immutable set search_path = '' as $$
begin
  return (select avg(n) from unnest(numbers) n);
end
$$;
comment on function private.mean(numeric[]) is 'The mean; null of none.';

-- Invoker: what the caller cannot see is not there.
create function private.prepare_response() returns trigger
language plpgsql set search_path = '' as $$
begin
  -- private.imported_answers has checked it, and the survey may be over.
  if private.is_importing() then return new; end if;
  if not exists (select from public.surveys s where s.id = new.survey_id) then
    perform private.raise_error('NOT_FOUND', 'There is no such survey.');
  end if;
  return private.check_response(new);
end
$$;
comment on function private.prepare_response() is 'Trigger: who sees a survey that is open answers it, once unless it says otherwise, and with answers that fit its questions.';
create trigger prepare before insert on public.survey_responses
  for each row execute function private.prepare_response();

-- definer: ends the start, writes the event.
create function private.finish_responses() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if private.is_direct() then
    perform private.charge_direct('survey_response_create', (select count(*) from added));
  end if;
  delete from private.survey_starts s using added r where s.survey_id = r.survey_id and s.user_id = r.user_id;
  if not private.is_quiet() then
    perform private.emit_event(r.organization_id, 'survey.response.created', r.survey_id, jsonb_build_object('survey_id', r.survey_id,
      'response_id', r.id, 'submitted_at', r.submitted_at, 'sentiment', r.sentiment, 'sentiment_score', r.sentiment_score))
    from added r;
  end if;
  return null;
end
$$;
comment on function private.finish_responses() is 'Trigger: who answered is no longer only starting; survey.response.created, which holds no answers.';
create trigger finish after insert on public.survey_responses
  referencing new table as added for each statement execute function private.finish_responses();

create function private.submit_survey_response(survey_id uuid, answers jsonb, locale text, sentiment jsonb) returns json
language plpgsql set search_path = '' as $$
declare response record;
begin
  perform private.require_survey(survey_id, null);
  perform set_config('feedback.sentiment', coalesce(sentiment::text, ''), true);
  insert into public.survey_responses as r (survey_id, answers, locale)
  values (submit_survey_response.survey_id, submit_survey_response.answers, submit_survey_response.locale)
  returning r.id, r.submitted_at into response;
  perform set_config('feedback.sentiment', '', true);
  return json_build_object('response_id', response.id, 'survey_id', survey_id, 'submitted_at', response.submitted_at);
-- Two at once: the index lets one through.
exception when unique_violation then
  perform private.raise_error('ALREADY_RESPONDED', 'You answered this survey already.');
end
$$;
comment on function private.submit_survey_response(uuid, jsonb, text, jsonb) is 'The caller answers. sentiment is {engine, scores} of text answers, one score or null an answer in the order they are sent in.';

-- Forgetting ---------------------------------------------------------------------------------------------------

create function private.forget_answers(profile_id uuid, organization_id uuid, heir_id uuid) returns void
language plpgsql set search_path = '' as $$
begin
  perform 1 from public.profiles p where p.id = profile_id for update;
  -- Surveys before starts and responses: one that is being deleted takes its own along.
  perform 1 from public.surveys s
  where s.id in (
      select r.survey_id from public.survey_responses r where r.user_id = profile_id
      union all select b.survey_id from private.survey_starts b where b.user_id = profile_id)
    and (forget_answers.organization_id is null or s.organization_id = forget_answers.organization_id)
  order by s.id for key share;
  delete from private.survey_starts b
  where b.user_id = profile_id and (forget_answers.organization_id is null or b.organization_id = forget_answers.organization_id);
  update public.survey_responses r set user_id = heir_id, answers = coalesce((
    select jsonb_agg(a.value order by a.n) from jsonb_array_elements(r.answers) with ordinality as a (value, n)
    join public.survey_questions q on q.id = (a.value ->> 'question_id')::uuid where q.type <> 'email'), '[]')
  where r.user_id = profile_id and (forget_answers.organization_id is null or r.organization_id = forget_answers.organization_id)
    and (heir_id <> profile_id or exists (select from public.survey_questions q where q.survey_id = r.survey_id and q.type = 'email'
      and r.answers @> jsonb_build_array(jsonb_build_object('question_id', q.id))));
end
$$;
comment on function private.forget_answers(uuid, uuid, uuid) is 'Gives a person''s responses, in one organization or (null) in all, to somebody without a name, the addresses they hold taken out, and ends what the person began to answer.';

-- definer: the person goes, their response stays.
create function private.forget_respondent() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  perform private.forget_answers(old.id, null, old.id);
  return old;
end
$$;
comment on function private.forget_respondent() is 'Trigger: addresses a person gave in answers go with the person.';
create trigger forget_respondent after update of auth_user_id on public.profiles
  for each row when (old.auth_user_id is not null and new.auth_user_id is null) execute function private.forget_respondent();
create trigger forget_respondent_of_deleted before delete on public.profiles
  for each row execute function private.forget_respondent();

grant execute on function private.ordered_id(), private.check_response(public.survey_responses)
  to authenticated, service_role;
grant execute on function private.start_survey(uuid), private.mark_start(uuid), public.start_survey(uuid),
  private.submit_survey_response(uuid, jsonb, text, jsonb) to authenticated;

-- How a survey was answered, without reading what was answered: counters kept by triggers.
--
-- The counters of a survey stand in lanes, and a number is their sum. A transaction takes whichever lane is free and makes
-- one where none is, so concurrent responses never wait for each other, and a quiet survey has one lane.

create table private.survey_counts (
  organization_id uuid not null,
  survey_id uuid not null,
  lane integer not null,
  responses bigint not null default 0,
  starts bigint not null default 0,
  timed bigint not null default 0,
  milliseconds bigint not null default 0,
  positive bigint not null default 0,
  neutral bigint not null default 0,
  negative bigint not null default 0,
  score numeric not null default 0,
  primary key (survey_id, lane),
  constraint survey_counts_survey_is_of_the_same_organization foreign key (organization_id, survey_id)
    references public.surveys (organization_id, id) on delete cascade
) with (fillfactor = 20);
comment on table private.survey_counts is 'Responses of a survey, starts without one, how many were timed and how long they took together, and their sentiment.';

create table private.survey_answer_counts (
  organization_id uuid not null,
  survey_id uuid not null,
  question_id uuid not null,
  value text not null,
  lane integer not null,
  total bigint not null,
  primary key (question_id, value, lane),
  constraint survey_answer_counts_question_is_of_the_same_survey foreign key (survey_id, question_id)
    references public.survey_questions (survey_id, id) on delete cascade
) with (fillfactor = 50);
comment on table private.survey_answer_counts is 'How often a question was answered with a value: a number, or the text of an option; the empty value counts the answers of questions whose values are not counted, or not one each.';
alter table private.survey_counts enable row level security;
alter table private.survey_answer_counts enable row level security;
revoke all on private.survey_counts, private.survey_answer_counts from public, anon, authenticated, service_role, service_key;

create function private.take_lane(organization_id uuid, survey_id uuid) returns integer
language plpgsql set search_path = '' as $$
declare
  own text[] := string_to_array(current_setting('feedback.lane', true), ' ');
  taken integer;
begin
  if own[1] = survey_id::text then return own[2]; end if;
  select c.lane into taken from private.survey_counts c where c.survey_id = take_lane.survey_id
  order by c.lane limit 1 for no key update skip locked;
  if taken is null then
    insert into private.survey_counts (organization_id, survey_id, lane)
    values (take_lane.organization_id, take_lane.survey_id, (random() * 2147483647)::integer) returning lane into taken;
  end if;
  perform set_config('feedback.lane', survey_id || ' ' || taken, true);
  return taken;
end
$$;
comment on function private.take_lane(uuid, uuid) is 'The lane of the survey''s counters that this transaction counts in; nobody else does until it ends.';

create function private.counted_answers(answers jsonb) returns table (question_id uuid, value text)
language sql stable
begin atomic
  select q.id, v.value
  from jsonb_array_elements(answers) as a (answer)
  join public.survey_questions q on q.id = (a.answer ->> 'question_id')::uuid
  cross join lateral (
    select a.answer ->> 'value' where q.type in ('nps', 'rating') or q.type = 'multiple_choice' and not q.multiple
    union all
    select '' where q.type in ('text', 'email') or q.multiple
    union all
    select jsonb_array_elements_text(case when q.multiple then a.answer -> 'value' else '[]' end)) v (value);
end;
comment on function private.counted_answers(jsonb) is 'What private.survey_answer_counts counts of the answers of a response.';

-- definer: counts are nobody's to write. Responses that go with their survey are not counted down: their counts go too.
create function private.count_responses() returns trigger
language plpgsql security definer set search_path = '' as $$
declare change record; sign integer := tg_argv[0]; own_lane integer;
begin
  for change in
    select c.organization_id, c.survey_id, count(*) as responses, count(c.started_at) as timed,
      coalesce(sum((extract(epoch from c.submitted_at - c.started_at) * 1000)::bigint), 0) as milliseconds,
      count(*) filter (where c.sentiment = 'positive') as positive, count(*) filter (where c.sentiment = 'neutral') as neutral,
      count(*) filter (where c.sentiment = 'negative') as negative, coalesce(sum(c.sentiment_score), 0) as score
    from changed c where exists (select from public.surveys s where s.id = c.survey_id)
    group by 1, 2 order by 2
  loop
    own_lane := private.take_lane(change.organization_id, change.survey_id);
    update private.survey_counts c set responses = c.responses + sign * change.responses, timed = c.timed + sign * change.timed,
      milliseconds = c.milliseconds + sign * change.milliseconds, positive = c.positive + sign * change.positive,
      neutral = c.neutral + sign * change.neutral, negative = c.negative + sign * change.negative, score = c.score + sign * change.score
    where c.survey_id = change.survey_id and c.lane = own_lane;
    insert into private.survey_answer_counts as k (organization_id, survey_id, question_id, value, lane, total)
    select change.organization_id, change.survey_id, a.question_id, a.value, own_lane, sign * count(*)
    from changed c cross join lateral private.counted_answers(c.answers) a where c.survey_id = change.survey_id
    group by a.question_id, a.value
    on conflict on constraint survey_answer_counts_pkey do update set total = k.total + excluded.total;
  end loop;
  return null;
end
$$;
comment on function private.count_responses() is 'Trigger: adds the changed responses to the counters of their surveys, or takes them away.';
create trigger count_added after insert on public.survey_responses
  referencing new table as changed for each statement execute function private.count_responses('1');
create trigger count_removed after delete on public.survey_responses
  referencing old table as changed for each statement execute function private.count_responses('-1');
create trigger count_before after update on public.survey_responses
  referencing old table as changed for each statement execute function private.count_responses('-1');
create trigger count_after after update on public.survey_responses
  referencing new table as changed for each statement execute function private.count_responses('1');

-- definer: as above.
create function private.count_starts() returns trigger
language plpgsql security definer set search_path = '' as $$
declare change record; sign integer := tg_argv[0]; own_lane integer;
begin
  for change in
    select c.organization_id, c.survey_id, count(*) as starts
    from changed c where exists (select from public.surveys s where s.id = c.survey_id) group by 1, 2 order by 2
  loop
    own_lane := private.take_lane(change.organization_id, change.survey_id);
    update private.survey_counts c set starts = c.starts + sign * change.starts where c.survey_id = change.survey_id and c.lane = own_lane;
  end loop;
  return null;
end
$$;
comment on function private.count_starts() is 'Trigger: as private.count_responses, for who began and has not answered.';
create trigger count_added after insert on private.survey_starts
  referencing new table as changed for each statement execute function private.count_starts('1');
create trigger count_removed after delete on private.survey_starts
  referencing old table as changed for each statement execute function private.count_starts('-1');

create view private.survey_truths with (security_invoker = true) as
  select s.organization_id, s.id as survey_id, r.*, (select count(*) from private.survey_starts b where b.survey_id = s.id) as starts
  from public.surveys s cross join lateral (
    select count(*) as responses, count(r.started_at) as timed,
      coalesce(sum((extract(epoch from r.submitted_at - r.started_at) * 1000)::bigint), 0) as milliseconds,
      count(*) filter (where r.sentiment = 'positive') as positive, count(*) filter (where r.sentiment = 'neutral') as neutral,
      count(*) filter (where r.sentiment = 'negative') as negative, coalesce(sum(r.sentiment_score), 0) as score
    from public.survey_responses r where r.survey_id = s.id) r;
comment on view private.survey_truths is 'What private.survey_counts has to add up to, counted anew.';
revoke all on private.survey_truths from public, anon, authenticated, service_role, service_key;

create function private.recount_survey(survey_id uuid) returns void
language plpgsql set search_path = '' as $$
begin
  perform 1 from public.surveys s where s.id = recount_survey.survey_id for no key update;
  delete from private.survey_answer_counts c where c.survey_id = recount_survey.survey_id;
  delete from private.survey_counts c where c.survey_id = recount_survey.survey_id;
  perform set_config('feedback.lane', '', true);
  insert into private.survey_counts (organization_id, survey_id, lane, responses, timed, milliseconds, positive, neutral, negative, score, starts)
  select t.organization_id, t.survey_id, 0, t.responses, t.timed, t.milliseconds, t.positive, t.neutral, t.negative, t.score, t.starts
  from private.survey_truths t where t.survey_id = recount_survey.survey_id;
  insert into private.survey_answer_counts (organization_id, survey_id, question_id, value, lane, total)
  select r.organization_id, r.survey_id, a.question_id, a.value, 0, count(*)
  from public.survey_responses r cross join lateral private.counted_answers(r.answers) a
  where r.survey_id = recount_survey.survey_id group by 1, 2, 3, 4;
end
$$;
comment on function private.recount_survey(uuid) is 'For operators, after triggers were off: counts a survey''s responses anew.';

-- Numbers ------------------------------------------------------------------------------------------------------

-- definer: reads counts. The caller was shown these surveys, and may know how often they were answered.
create function private.survey_figures(survey_ids uuid[])
returns table (survey_id uuid, response_count bigint, completion_rate numeric, avg_completion_time numeric)
language plpgsql stable security definer set search_path = '' rows 50 as $$
begin
  return query
    select asked.id, coalesce(sum(c.responses), 0)::bigint, trim_scale(round(sum(c.responses) / nullif(sum(c.responses + c.starts), 0), 4)),
      trim_scale(round(sum(c.milliseconds) / 1000 / nullif(sum(c.timed), 0), 1))
    from unnest(survey_ids) asked (id) left join private.survey_counts c on c.survey_id = asked.id
    group by asked.id;
end
$$;
comment on function private.survey_figures(uuid[]) is 'How often surveys were answered, by what share of those who began, and in how many seconds.';

create function private.reads_analytics(organization_id uuid) returns boolean
language plpgsql stable set search_path = '' as $$
begin
  return coalesce(current_setting('role', true), 'none') in ('none', '', 'service_role') or private.is_admin(organization_id, 'analytics:read');
end
$$;
comment on function private.reads_analytics(uuid) is 'Whether the caller is Admin for analytics, an operator or the service role.';

-- definer: reads counts, for those who may.
create function private.survey_sentiment(survey_id uuid)
returns table (overall numeric, positive_count bigint, neutral_count bigint, negative_count bigint)
language plpgsql stable security definer set search_path = '' rows 1 as $$
begin
  return query
    select trim_scale(round(sum(c.score) / nullif(sum(c.positive + c.neutral + c.negative), 0), 3)),
      coalesce(sum(c.positive), 0)::bigint, coalesce(sum(c.neutral), 0)::bigint, coalesce(sum(c.negative), 0)::bigint
    from public.surveys s left join private.survey_counts c on c.survey_id = s.id
    where s.id = survey_sentiment.survey_id and private.reads_analytics(s.organization_id)
    group by s.id;
end
$$;
comment on function private.survey_sentiment(uuid) is 'Mean sentiment score, and responses by sentiment; no row for who may not know.';

-- definer: as above.
create function private.survey_breakdown(survey_id uuid) returns table (question_id uuid, question_position integer, type text,
  question_text text, value_position integer, value text, total bigint)
language plpgsql stable security definer set search_path = '' rows 50 as $$
begin
  return query
    select q.id, q.position, q.type, q.text, v.position, v.value,
      coalesce((select sum(c.total) from private.survey_answer_counts c where c.question_id = q.id and c.value = v.value), 0)::bigint
    from public.surveys s
    join public.survey_questions q on q.survey_id = s.id
    cross join lateral (
      select n, n::text from generate_series(case q.type when 'nps' then 0 else 1 end, case q.type when 'nps' then 10 else q.scale end) n
      where q.type in ('nps', 'rating')
      union all
      select o.position, o.text from public.survey_options o where o.question_id = q.id
      union all
      select null, '' where q.type in ('text', 'email') or q.multiple) v (position, value)
    where s.id = survey_breakdown.survey_id and private.reads_analytics(s.organization_id);
end
$$;
comment on function private.survey_breakdown(uuid) is 'How often each value of each question was answered, also where nobody did; no rows for who may not know.';

create view public.survey_question_results with (security_invoker = true) as
  select s.organization_id, s.id as survey_id, b.*
  from public.surveys s cross join lateral private.survey_breakdown(s.id) b;
comment on view public.survey_question_results is 'How often each value of each question was answered, also where nobody did, for admins. The empty value counts answers: of text and email, and of choices where several are possible.';

create view public.survey_results with (security_invoker = true) as
  select s.organization_id, s.id as survey_id, f.response_count, f.completion_rate, f.avg_completion_time, n.nps_score,
    m.overall as sentiment_overall, m.positive_count, m.neutral_count, m.negative_count
  from public.surveys s
  cross join lateral private.survey_sentiment(s.id) m
  cross join lateral private.survey_figures(array[s.id]) f
  cross join lateral (
    select trim_scale(round(
      100.0 * sum(case when b.value_position >= 9 then b.total when b.value_position <= 6 then -b.total else 0 end) / nullif(sum(b.total), 0), 1)) as nps_score
    from private.survey_breakdown(s.id) b where b.type = 'nps') n;
comment on view public.survey_results is 'What came of each survey, for admins: the numbers of GET /api/surveys/:id/analytics.';

revoke all on public.survey_question_results, public.survey_results from public, anon, authenticated, service_role, service_key;
grant select on public.survey_question_results, public.survey_results to authenticated, service_key, service_role;

create function private.survey_analytics(survey_id uuid) returns json
language plpgsql stable set search_path = '' as $$
begin
  perform private.require_survey(survey_id, 'analytics:read');
  return (
    select json_build_object('response_count', r.response_count, 'completion_rate', r.completion_rate, 'avg_completion_time', r.avg_completion_time,
      'nps_score', r.nps_score,
      'sentiment', json_build_object('overall', r.sentiment_overall, 'positive_count', r.positive_count, 'neutral_count', r.neutral_count,
        'negative_count', r.negative_count),
      'breakdown_by_question', coalesce((
        select json_agg(json_build_object('question_id', b.question_id, 'question_text', b.question_text, 'type', b.type,
          'answer_count', b.answer_count, 'responses', b.responses) order by b.question_position)
        from (
          select q.question_id, q.question_position, q.question_text, q.type,
            coalesce(sum(q.total) filter (where q.value = ''), sum(q.total)) as answer_count,
            coalesce(json_object_agg(q.value, q.total order by q.value_position) filter (where q.value <> ''), '{}') as responses
          from public.survey_question_results q where q.survey_id = r.survey_id group by 1, 2, 3, 4) b), '[]'))
    from public.survey_results r where r.survey_id = survey_analytics.survey_id);
end
$$;
comment on function private.survey_analytics(uuid) is 'The analytics of a survey, for admins: NOT_FOUND or FORBIDDEN for anyone else.';

-- definer: without dates the counters know, with them an index is read.
create function private.count_survey_responses(survey_id uuid, sentiment text, since timestamptz, until timestamptz) returns bigint
language plpgsql stable security definer set search_path = '' as $$
begin
  if not coalesce(private.is_admin((select s.organization_id from public.surveys s where s.id = survey_id), 'responses:read'), false) then
    return 0;
  elsif since is null and until is null then
    return coalesce((
      select sum(case sentiment when 'positive' then c.positive when 'neutral' then c.neutral when 'negative' then c.negative else c.responses end)
      from private.survey_counts c where c.survey_id = count_survey_responses.survey_id), 0);
  end if;
  return (select count(*) from public.survey_responses r
    where r.survey_id = count_survey_responses.survey_id and (count_survey_responses.sentiment is null or r.sentiment = count_survey_responses.sentiment)
      and r.submitted_at >= coalesce(since, '-infinity') and r.submitted_at <= coalesce(until, 'infinity'));
end
$$;
comment on function private.count_survey_responses(uuid, text, timestamptz, timestamptz) is 'How many responses an admin''s list has; null takes every sentiment, or has no end. Both ends belong to it.';

create function private.survey_count_mistakes() returns table (subject text, id uuid, stored bigint, truth bigint)
language sql stable set search_path = ''
begin atomic
  select 'surveys.' || n.name, t.survey_id, n.stored, n.truth
  from private.survey_truths t
  cross join lateral (
    select coalesce(sum(c.responses), 0) as responses, coalesce(sum(c.starts), 0) as starts, coalesce(sum(c.timed), 0) as timed,
      coalesce(sum(c.milliseconds), 0) as milliseconds, coalesce(sum(c.positive), 0) as positive, coalesce(sum(c.neutral), 0) as neutral,
      coalesce(sum(c.negative), 0) as negative, coalesce(sum(c.score), 0) as score
    from private.survey_counts c where c.survey_id = t.survey_id) c
  cross join lateral (values
    ('responses', c.responses, t.responses), ('starts', c.starts, t.starts), ('timed', c.timed, t.timed),
    ('milliseconds', c.milliseconds, t.milliseconds), ('positive', c.positive, t.positive), ('neutral', c.neutral, t.neutral),
    ('negative', c.negative, t.negative), ('score', 1000 * c.score, 1000 * t.score)) n (name, stored, truth)
  where n.stored <> n.truth
  union all
  select 'survey_answer_counts', coalesce(c.question_id, t.question_id), coalesce(c.total, 0), coalesce(t.total, 0)
  from (select k.question_id, k.value, sum(k.total) as total from private.survey_answer_counts k group by 1, 2) c
  full join (
    select a.question_id, a.value, count(*) as total
    from public.survey_responses r cross join lateral private.counted_answers(r.answers) a group by 1, 2) t
    on (c.question_id, c.value) = (t.question_id, t.value)
  where coalesce(c.total, 0) <> coalesce(t.total, 0);
end;
comment on function private.survey_count_mistakes() is 'The part of private.count_mistakes that is about surveys; scores in thousandths.';

grant execute on function private.survey_figures(uuid[]) to anon, authenticated, service_key, service_role;
grant execute on function private.survey_analytics(uuid) to anon, authenticated, service_key;
grant execute on function private.survey_sentiment(uuid), private.survey_breakdown(uuid)
  to authenticated, service_key, service_role;
grant execute on function private.count_survey_responses(uuid, text, timestamptz, timestamptz) to authenticated, service_key;

-- What a model says of texts that were stored already.

-- definer: responses are nobody's to change.
create function private.judge_survey_response(response_id uuid, judged jsonb) returns void
language plpgsql security definer set search_path = '' as $$
declare response public.survey_responses; numbers numeric; texts numeric;
begin
  -- The survey first: one that is being deleted takes its responses along.
  perform 1 from public.surveys s
  where s.id = (select r.survey_id from public.survey_responses r where r.id = response_id) for key share;
  select * into response from public.survey_responses r
  where r.id = response_id and r.user_id = private.caller_id() and r.submitted_at > now() - interval '10 minutes'
  for no key update;
  if response.id is null then return; end if;
  select avg(private.sentiment_of_number(q, (a.answer ->> 'value')::integer)) filter (where q.type in ('nps', 'rating')),
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
comment on function private.judge_survey_response(uuid, jsonb) is 'Scores a response the caller gave in the last ten minutes anew. judged is {engine, scores}, scores by question id, of text questions.';

grant execute on function private.judge_survey_response(uuid, jsonb) to authenticated;

-- How clients of the data API write: by functions that return a single value.
--
-- A write to a table can be made slow by whoever sends it: PostgREST evaluates the filters of an update between two rows
-- and the embedded rows of an answer after the write, all in one transaction, which keeps its locks, its rows in unique
-- indexes and its transaction id (which readers of the outbox wait for). Nothing can follow a function that returns
-- a boolean, number or uuid: it can neither be embedded in nor filtered by a pattern.

-- The edge functions use the same role, so that a grant cannot tell the two apart; their logins do.
create function private.refuse_table_write() returns trigger
language plpgsql set search_path = '' as $$
begin
  if private.is_direct() and coalesce(current_setting('feedback.by_function', true), '') <> 'on' then
    perform private.raise_error('FORBIDDEN', format('Clients do not write the table %s: call the function %s.', tg_table_name, tg_argv[0]));
  end if;
  return null;
end
$$;
comment on function private.refuse_table_write() is 'Trigger: clients of the data API write by functions. Its argument names the function to call instead.';

create trigger by_function_only before insert on public.submissions for each statement
  when (session_user <> 'feedback_api') execute function private.refuse_table_write('create_submission');
create trigger by_function_only_update before update on public.submissions for each statement
  when (session_user <> 'feedback_api') execute function private.refuse_table_write('update_submission');
create trigger by_function_only_delete before delete on public.submissions for each statement
  when (session_user <> 'feedback_api') execute function private.refuse_table_write('delete_submission');
create trigger by_function_only before insert on public.votes for each statement
  when (session_user <> 'feedback_api') execute function private.refuse_table_write('vote');
create trigger by_function_only_delete before delete on public.votes for each statement
  when (session_user <> 'feedback_api') execute function private.refuse_table_write('unvote');
create trigger by_function_only before insert on public.follows for each statement
  when (session_user <> 'feedback_api') execute function private.refuse_table_write('follow');
create trigger by_function_only_delete before delete on public.follows for each statement
  when (session_user <> 'feedback_api') execute function private.refuse_table_write('unfollow');
create trigger by_function_only before insert on public.comments for each statement
  when (session_user <> 'feedback_api') execute function private.refuse_table_write('create_comment');
create trigger by_function_only_update before update on public.comments for each statement
  when (session_user <> 'feedback_api') execute function private.refuse_table_write('update_comment');
create trigger by_function_only_delete before delete on public.comments for each statement
  when (session_user <> 'feedback_api') execute function private.refuse_table_write('delete_comment');
create trigger by_function_only before insert on public.comment_votes for each statement
  when (session_user <> 'feedback_api') execute function private.refuse_table_write('vote_comment');
create trigger by_function_only_delete before delete on public.comment_votes for each statement
  when (session_user <> 'feedback_api') execute function private.refuse_table_write('unvote_comment');
create trigger by_function_only_update before update on public.notifications for each statement
  when (session_user <> 'feedback_api') execute function private.refuse_table_write('mark_notifications_read');
create trigger by_function_only_update before update on public.profiles for each statement
  when (session_user <> 'feedback_api') execute function private.refuse_table_write('update_profile');
create trigger by_function_only before insert on public.survey_responses for each statement
  when (session_user <> 'feedback_api') execute function private.refuse_table_write('submit_survey_response');

create function private.refuse_unknown_changes(changes jsonb, known text[]) returns void
language plpgsql immutable set search_path = '' as $$
declare unknown text;
begin
  if coalesce(jsonb_typeof(changes), '') <> 'object' then
    perform private.raise_error('VALIDATION_ERROR', 'must be an object of what to change', 'changes');
  end if;
  unknown := (select key from jsonb_object_keys(changes) as key where key <> all (known) order by key limit 1);
  if unknown is not null then
    perform private.raise_error('VALIDATION_ERROR', format('must be one of %s', array_to_string(known, ', ')), 'changes.' || unknown);
  end if;
  -- A number or an object would be written as its JSON.
  unknown := (select key from jsonb_each(changes) where jsonb_typeof(value) not in ('string', 'null') order by key limit 1);
  if unknown is not null then
    perform private.raise_error('VALIDATION_ERROR', 'must be text or null', 'changes.' || unknown);
  end if;
end
$$;
comment on function private.refuse_unknown_changes(jsonb, text[]) is 'VALIDATION_ERROR unless changes is an object whose keys are known and whose values are text or null.';

-- Submissions --------------------------------------------------------------------------------------------------

create function public.create_submission(title text, description text, type text, category_id uuid default null,
  organization_id uuid default null, id uuid default gen_random_uuid()) returns uuid
language plpgsql set search_path = '' as $$
begin
  perform set_config('feedback.by_function', 'on', true);
  insert into public.submissions (id, organization_id, title, description, type, category_id)
  values (create_submission.id, create_submission.organization_id, create_submission.title, create_submission.description,
    create_submission.type, create_submission.category_id);
  perform set_config('feedback.by_function', 'off', true);
  return create_submission.id;
end
$$;
comment on function public.create_submission(text, text, text, uuid, uuid, uuid) is 'Submits an idea or a problem as the signed-in person, who votes for it and follows it; returns its id. Name the organization_id where there is more than one.';

create function public.update_submission(id uuid, changes jsonb) returns boolean
language plpgsql set search_path = '' as $$
declare was_changed boolean;
begin
  perform private.refuse_unknown_changes(changes, array['title', 'description', 'category_id', 'tracker_issue_url']);
  perform set_config('feedback.by_function', 'on', true);
  update public.submissions s set
    title = case when changes ? 'title' then changes ->> 'title' else s.title end,
    description = case when changes ? 'description' then changes ->> 'description' else s.description end,
    category_id = case when changes ? 'category_id' then (changes ->> 'category_id')::uuid else s.category_id end,
    tracker_issue_url = case when changes ? 'tracker_issue_url' then changes ->> 'tracker_issue_url' else s.tracker_issue_url end
  where s.id = update_submission.id;
  was_changed := found;
  perform set_config('feedback.by_function', 'off', true);
  return was_changed;
end
$$;
comment on function public.update_submission(uuid, jsonb) is 'Changes title, description, category_id or, for admins, tracker_issue_url: those that changes names. False where there is no such submission of yours or your organization''s.';

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
comment on function public.delete_submission(uuid) is 'Deletes a submission with everything on it. False where there is no such submission of yours or your organization''s.';

-- Votes and follows --------------------------------------------------------------------------------------------

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
comment on function public.vote(uuid) is 'Votes for a submission as the signed-in person. False where the vote was there already.';

create function public.unvote(submission_id uuid) returns boolean
language plpgsql set search_path = '' as $$
begin
  -- Before the lock: who has no vote holds nobody up.
  if private.my_vote(submission_id) is null then return false; end if;
  perform set_config('feedback.by_function', 'on', true);
  perform private.remove_vote(submission_id, private.caller_id());
  perform set_config('feedback.by_function', 'off', true);
  return true;
end
$$;
comment on function public.unvote(uuid) is 'Takes back the signed-in person''s vote. False where there is none.';

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
comment on function public.follow(uuid) is 'Follows a submission as the signed-in person. False where they follow it already.';

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
comment on function public.unfollow(uuid) is 'Stops following a submission and those merged into it. False where the signed-in person follows none of them.';

-- Comments -----------------------------------------------------------------------------------------------------

create function public.create_comment(submission_id uuid, body text, parent_id uuid default null, id uuid default gen_random_uuid())
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
comment on function public.create_comment(uuid, text, uuid, uuid) is 'Comments on a submission, or replies to the comment parent_id of it, as the signed-in person; returns the comment''s id.';

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
comment on function public.update_comment(uuid, text) is 'Edits a comment of the signed-in person, within 15 minutes. False where there is no such comment of theirs.';

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
comment on function public.delete_comment(uuid) is 'Deletes a comment with all replies to it. False where there is no such comment of yours or your organization''s.';

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
comment on function public.vote_comment(uuid) is 'Votes for a comment as the signed-in person. False where the vote was there already.';

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
comment on function public.unvote_comment(uuid) is 'Takes back the signed-in person''s vote for a comment. False where there is none.';

-- One's own ----------------------------------------------------------------------------------------------------

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
comment on function public.mark_notifications_read(uuid[]) is 'Marks notifications of the signed-in person read, those named or all; returns how many.';

create function public.update_profile(changes jsonb) returns boolean
language plpgsql set search_path = '' as $$
declare was_changed boolean;
begin
  perform private.refuse_unknown_changes(changes, array['name', 'avatar_url']);
  perform set_config('feedback.by_function', 'on', true);
  update public.profiles p set
    name = case when changes ? 'name' then changes ->> 'name' else p.name end,
    avatar_url = case when changes ? 'avatar_url' then changes ->> 'avatar_url' else p.avatar_url end
  where p.id = private.caller_id();
  was_changed := found;
  perform set_config('feedback.by_function', 'off', true);
  return was_changed;
end
$$;
comment on function public.update_profile(jsonb) is 'Changes name or avatar_url of the signed-in person''s profile: those that changes names.';

create function public.submit_survey_response(survey_id uuid, answers jsonb, locale text default null) returns uuid
language plpgsql set search_path = '' as $$
declare response json;
begin
  perform set_config('feedback.by_function', 'on', true);
  response := private.submit_survey_response(survey_id, answers, locale, null);
  perform set_config('feedback.by_function', 'off', true);
  return (response ->> 'response_id')::uuid;
end
$$;
comment on function public.submit_survey_response(uuid, jsonb, text) is 'Answers a survey as the signed-in person: answers is [{question_id, value}]; returns the response''s id.';

-- Every request ------------------------------------------------------------------------------------------------

create function private.before_request() returns void
language plpgsql set search_path = '' as $$
begin
  -- The planner's guess counts rows that the caller may not see.
  if nullif(current_setting('request.headers', true), '')::json ->> 'prefer' ~* 'count\s*=\s*"?(planned|estimated)' then
    perform private.raise_error('VALIDATION_ERROR', 'Ask for count=exact: the planner''s guess tells of rows you cannot see.', 'Prefer');
  end if;
  if current_setting('request.method', true) not in ('GET', 'HEAD') and current_setting('role') in ('anon', 'authenticated') then
    perform set_config('statement_timeout', '2s', true), set_config('lock_timeout', '1s', true);
  end if;
end
$$;
comment on function private.before_request() is 'PostgREST calls it before each request (pgrst.db_pre_request): what writes has 2 s, and waits 1 s for a lock; refuses Prefer: count=planned and estimated.';

-- Rights -------------------------------------------------------------------------------------------------------

grant execute on function private.before_request() to anon, authenticated, service_role;
grant execute on function private.refuse_unknown_changes(jsonb, text[]) to authenticated;
grant execute on function public.create_submission(text, text, text, uuid, uuid, uuid), public.update_submission(uuid, jsonb),
  public.delete_submission(uuid), public.vote(uuid), public.unvote(uuid), public.follow(uuid), public.unfollow(uuid),
  public.create_comment(uuid, text, uuid, uuid), public.update_comment(uuid, text), public.delete_comment(uuid),
  public.vote_comment(uuid), public.unvote_comment(uuid), public.mark_notifications_read(uuid[]),
  public.update_profile(jsonb), public.submit_survey_response(uuid, jsonb, text) to authenticated;

-- API keys of organizations, and how their admins make, rotate and revoke them.

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
comment on table private.api_keys is 'Keys of organizations'' backends, and of agents: those act as an agent''s profile. Only the SHA-256 of the secret is kept, with its prefix and last four characters.';
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

-- Administration --------------------------------------------------------------------------------------------------

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
    from (select * from private.api_keys k where k.organization_id = own_id and k.prefix = 'fcs_org_'
      order by k.created_at desc, k.id limit 500) k), '[]');
end
$$;
comment on function private.admin_list_api_keys() is 'The organization''s newest 500 keys, revoked and expired ones too, for its admins.';

create function private.admin_create_api_key(name text, scopes text[], digest bytea, prefix text, last_four text, expires_at timestamptz)
returns json language plpgsql security definer set search_path = '' as $$ -- definer: as above
declare own_id uuid := private.require_key_admin(); key_id uuid;
begin
  key_id := private.create_api_key(own_id, name, scopes, digest, prefix, last_four, expires_at, private.caller_id());
  perform private.audit('api_key.create', 'api_key', key_id, jsonb_build_object('scopes', scopes, 'expires_at', expires_at), own_id);
  return (select private.api_key_shape(k) from private.api_keys k where k.id = key_id);
end
$$;
comment on function private.admin_create_api_key(text, text[], bytea, text, text, timestamptz) is 'Makes a key of the current organization; its secret stays with the caller.';

create function private.admin_rotate_api_key(
  key_id uuid, digest bytea, prefix text, last_four text, overlap interval, agent_id uuid default null)
returns json language plpgsql security definer set search_path = '' as $$ -- definer: as above
declare own_id uuid := private.require_key_admin(); key private.api_keys; new_id uuid;
begin
  select * into key from private.api_keys k
  where k.id = key_id and k.organization_id = own_id and k.prefix = admin_rotate_api_key.prefix
    and (agent_id is null or k.profile_id = agent_id) for no key update;
  if key.id is null then return null; end if;
  if key.revoked_at is not null or key.expires_at <= now() then
    perform private.raise_error('CONFLICT', 'This key is no longer valid: make a new one.');
  end if;
  insert into private.api_keys (organization_id, profile_id, name, scopes, digest, prefix, last_four, expires_at, created_by)
  values (key.organization_id, key.profile_id, key.name, key.scopes, digest, prefix, last_four, key.expires_at, private.caller_id())
  returning id into new_id;
  update private.api_keys k set expires_at = least(k.expires_at, now() + overlap) where k.id = key.id;
  perform private.audit('api_key.rotate', 'api_key', key.id, jsonb_build_object('new_key_id', new_id), own_id);
  return (select private.api_key_shape(k) from private.api_keys k where k.id = new_id);
end
$$;
comment on function private.admin_rotate_api_key(uuid, bytea, text, text, interval, uuid) is 'A new secret with the same prefix, name, scopes, expiry and profile; the old one stays valid for the overlap. Null where there is no such key.';

create function private.admin_revoke_api_key(key_id uuid, agent_id uuid default null) returns json
language plpgsql security definer set search_path = '' as $$ -- definer: as above
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
comment on function private.admin_revoke_api_key(uuid, uuid) is 'The key stops working at once and for good; again is not an error. Null where there is no such key.';

grant execute on function private.admin_list_api_keys(), private.admin_create_api_key(text, text[], bytea, text, text, timestamptz),
  private.admin_rotate_api_key(uuid, bytea, text, text, interval, uuid), private.admin_revoke_api_key(uuid, uuid) to authenticated;

-- How often a caller may call: rules as data, and exact counters.

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
  ('submission_create_key', 100, 60), ('submission_create_agent', 100, 60), ('submission_create_user', 300, 60), ('submission_update_user', 300, 60),
  ('duplicate_check_public', 30, 60), ('duplicate_check_user', 100, 60), ('duplicate_check_key', 100, 60), ('duplicate_check_agent', 100, 60),
  ('comment_create', 20, 3600), ('comment_update', 10, 3600), ('comment_delete', 10, 3600), ('comment_list', 100, 60),
  ('vote_create', 30, 3600), ('vote_delete', 30, 3600), ('vote_list', 100, 60),
  ('survey_response_create', 100, 60);

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

create type private.rate_state as (max_requests integer, remaining integer, reset_at timestamptz, allowed boolean);
comment on type private.rate_state is 'A bucket after a charge: calls left in its window, when the window ends, and whether the charge fits.';

create function private.charge(rule text, max_requests integer, window_seconds integer, subject text, calls integer)
returns private.rate_state
language plpgsql set search_path = '' as $$
declare
  at timestamptz := clock_timestamp();
  length interval := make_interval(secs => window_seconds);
  used integer;
  reset_at timestamptz;
begin
  -- A charge that does not fit changes nothing and returns no row.
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
comment on function private.charge(text, integer, integer, text, integer) is 'Counts calls of a subject against a rule. Concurrent charges never let through more than the rule allows.';

create function private.charge_direct(operation text, calls bigint) returns void
language plpgsql set search_path = '' as $$
declare rule private.rate_limit_rules; state private.rate_state;
begin
  select * into rule from private.rate_limit_rules r where r.name = operation;
  if rule.name is null or calls = 0 then return; end if;
  state := private.charge(rule.name, rule.max_requests, rule.window_seconds,
    coalesce(private.caller_id()::text, 'nobody'), calls::integer);
  if not state.allowed then
    perform private.raise_error('RATE_LIMIT_EXCEEDED', 'Too many of these: wait and try again.', null, jsonb_build_object(
      'retry_after', greatest(1, ceil(extract(epoch from state.reset_at - clock_timestamp()))::integer)));
  end if;
end
$$;
comment on function private.charge_direct(text, bigint) is 'For triggers: charges a client of the data API by the rows it touched, in the bucket the API charges too.';

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

-- What users of the auth service lose: with their account everything, with an anonymous sign-in what the organization keeps for others.

-- Deleted accounts ---------------------------------------------------------------------------------------------
-- Their access tokens are valid until they expire. The API refuses them in private.enter; these policies refuse
-- them to clients of the data API and of realtime.

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
comment on function private.is_active_user() is 'As private.has_account, which the API knows already.';
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

-- Anonymous sign-ins -------------------------------------------------------------------------------------------
-- Anyone can make any number of them. The auth service's row counts, not the claim: it is right the moment somebody
-- links an address, and the API passes no claims on.

-- definer: neither profiles nor settings of an organization are readable as a whole.
create function private.require_participation() returns trigger
language plpgsql security definer set search_path = '' as $$
declare allowed text;
begin
  if private.is_key() or private.is_quiet()
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
comment on function private.require_participation() is 'Trigger: an anonymous user does what organizations.anonymous_may allows. The argument is what it takes: vote or participate.';

-- By their names these triggers run after prepare, which fills in the organization.
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

-- Agents: identities with their policies, the keys they call with, and the trail of what they did.

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
  constraint tools_are_snake_case check (cardinality(tools) <= 100 and array_to_string(tools, ' ') ~ '^([a-z_]{1,64}( [a-z_]{1,64})*)?$'),
  constraint lists_are_short check (greatest(cardinality(category_ids), cardinality(survey_ids)) <= 200),
  constraint calls_a_day_is_positive check (calls_a_day > 0)
);
comment on table private.agents is 'Agents of an organization. The id is that of the profile they act as; tier names their rate rule; read_only to calls_a_day are policies, which narrow what their keys may do; null narrows nothing.';
create index agents_organization_idx on private.agents (organization_id, created_at desc, id);
alter table private.agents enable row level security;
revoke all on private.agents from public, anon, authenticated, service_role, service_key;
create trigger touch_updated_at before update on private.agents
  for each row execute function private.touch_updated_at();

create function private.create_agent(organization_id uuid, name text, tier text default 'standard', description text default null, created_by uuid default null)
returns uuid language plpgsql set search_path = '' as $$
declare agent_id uuid;
begin
  insert into public.profiles (kind, organization_id, name) values ('agent', organization_id, name) returning id into agent_id;
  insert into private.agents (id, organization_id, tier, description, created_by)
  values (agent_id, organization_id, tier, description, created_by);
  return agent_id;
end
$$;
comment on function private.create_agent(uuid, text, text, text, uuid) is 'An agent, and the profile it acts as.';

create function private.create_agent_key(
  agent_id uuid, name text, scopes text[], digest bytea, prefix text, last_four text,
  expires_at timestamptz default null, created_by uuid default null)
returns uuid language plpgsql set search_path = '' as $$
declare key_id uuid;
begin
  insert into private.api_keys (organization_id, profile_id, name, scopes, digest, prefix, last_four, expires_at, created_by)
  select a.organization_id, a.id, coalesce(create_agent_key.name, p.name), scopes, digest, prefix, last_four, expires_at, create_agent_key.created_by
  from private.agents a join public.profiles p on p.id = a.id where a.id = agent_id
  returning id into key_id;
  return key_id;
end
$$;
comment on function private.create_agent_key(uuid, text, text[], bytea, text, text, timestamptz, uuid) is 'A key of an agent: a row of api_keys that acts as the agent''s profile. Null where there is no such agent.';

-- What policies narrow --------------------------------------------------------------------------------------------

-- definer: agents are not granted. Read in each statement, so that a policy counts at once.
create function private.agent_category_ids() returns uuid[]
language plpgsql stable security definer set search_path = '' as $$
declare own_id uuid := private.agent_id();
begin
  return case when own_id is not null then (select a.category_ids from private.agents a where a.id = own_id) end;
end
$$;
comment on function private.agent_category_ids() is 'The categories the calling agent is kept to; null where it is kept to none, and for everyone else.';

create function private.agent_survey_ids() returns uuid[]
language plpgsql stable security definer set search_path = '' as $$ -- definer: as above
declare own_id uuid := private.agent_id();
begin
  return case when own_id is not null then (select a.survey_ids from private.agents a where a.id = own_id) end;
end
$$;
comment on function private.agent_survey_ids() is 'The surveys the calling agent is kept to; null where it is kept to none, and for everyone else.';

grant execute on function private.agent_category_ids(), private.agent_survey_ids() to service_key;

create policy "an agent keeps to its categories" on public.submissions
  as restrictive to service_key using (
    (select private.agent_category_ids()) is null or category_id = any ((select private.agent_category_ids())::uuid[]));
create policy "an agent keeps to the comments of its categories" on public.comments
  as restrictive to service_key using (
    (select private.agent_category_ids()) is null or exists (select from public.submissions s where s.id = submission_id));
create policy "an agent keeps to its surveys" on public.surveys
  as restrictive to service_key using (
    (select private.agent_survey_ids()) is null or id = any ((select private.agent_survey_ids())::uuid[]));
create policy "an agent keeps to the responses of its surveys" on public.survey_responses
  as restrictive to service_key using (
    (select private.agent_survey_ids()) is null or survey_id = any ((select private.agent_survey_ids())::uuid[]));

-- A call ----------------------------------------------------------------------------------------------------------

-- definer: reads the agent's policies.
create function private.begin_call(tool text, scope text, destructive boolean, confirmed boolean) returns void
language plpgsql stable security definer set search_path = '' as $$
declare agent private.agents;
begin
  if not private.has_scope(scope) then
    perform private.raise_error('FORBIDDEN', format('This key lacks the scope %s.', scope), null, jsonb_build_object('scope', scope));
  end if;
  select * into agent from private.agents a where a.id = private.agent_id();
  if tool <> all (agent.tools) then
    perform private.raise_error('FORBIDDEN', format('The agent''s policies do not allow %s.', tool));
  end if;
  if destructive and agent.confirm_destructive and not confirmed then
    perform private.raise_error('VALIDATION_ERROR', 'This changes or removes what is there: call again with confirm: true if that is meant.', 'confirm');
  end if;
end
$$;
comment on function private.begin_call(text, text, boolean, boolean) is 'Raises unless the calling agent''s key has the scope and its policies allow the tool. What read_only, categories, surveys and calls_a_day narrow stands in scopes, row-level security and private.admit.';

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
comment on table private.agent_audit is 'What agents called: appended to, never changed, kept 400 days. Names of arguments and no values; the address as a keyed hash; outcome is ok or the code of the error. Without foreign keys: each call would lock its agent''s row.';
create index agent_audit_agent_idx on private.agent_audit (agent_id, id desc);
create index agent_audit_age_idx on private.agent_audit using brin (created_at);
alter table private.agent_audit enable row level security;
revoke all on private.agent_audit from public, anon, authenticated, service_role, service_key;

create function private.keep_audit() returns trigger
language plpgsql set search_path = '' as $$
begin
  if tg_op = 'DELETE' and old.created_at < now() - interval '400 days' then
    return old;
  end if;
  perform private.raise_error('FORBIDDEN', 'The audit trail is appended to, never changed.');
end
$$;
comment on function private.keep_audit() is 'Trigger: rows of the audit trail stay as they are until they are 400 days old.';
create trigger keep before update or delete on private.agent_audit
  for each row execute function private.keep_audit();

-- definer: the trail is not granted.
create function private.record_call(request_id uuid, tool text, scope text, argument_names text[], address text) returns void
language plpgsql security definer set search_path = '' as $$
begin
  insert into private.agent_audit (organization_id, agent_id, key_id, request_id, tool, scope, outcome, duration_ms, argument_names, address)
  values (private.key_organization_id(), private.agent_id(), current_setting('feedback.key_id')::uuid, request_id, tool, scope, 'ok',
    extract(epoch from clock_timestamp() - now()) * 1000, argument_names, address);
end
$$;
comment on function private.record_call(uuid, text, text, text[], text) is 'Appends a call that changes something to the audit trail, in its own transaction: what was done is in the trail.';

-- definer: called by the login role, for calls whose transaction is over.
create function private.record_calls(calls jsonb) returns void
language plpgsql security definer set search_path = '' as $$
begin
  perform set_config('synchronous_commit', 'off', true);
  insert into private.agent_audit (organization_id, agent_id, key_id, request_id, tool, scope, outcome, duration_ms, argument_names, address)
  select k.organization_id, k.profile_id, k.id, c.request_id, c.tool, c.scope, c.outcome, c.duration_ms, c.argument_names, c.address
  from jsonb_to_recordset(calls) as c (digest text, request_id uuid, tool text, scope text, outcome text, duration_ms real,
    argument_names text[], address text)
  join private.api_keys k on k.digest = decode(c.digest, 'hex') join private.agents a on a.id = k.profile_id;
end
$$;
comment on function private.record_calls(jsonb) is 'Appends calls that only read or that were refused, of keys that are or were an agent''s. They changed nothing, so their trail need not wait for the disk.';

-- definer: agents are not granted.
create function private.agent_self() returns json
language plpgsql stable security definer set search_path = '' as $$
begin
  return (
    select json_build_object('id', a.id, 'name', p.name, 'tier', a.tier,
      'scopes', string_to_array(coalesce(current_setting('feedback.scopes', true), ''), ' '), 'tools', a.tools)
    from private.agents a join public.profiles p on p.id = a.id where a.id = private.agent_id());
end
$$;
comment on function private.agent_self() is 'The calling agent, with the scopes its key has after its policies and the tools they leave it; null tools are all.';

grant execute on function private.begin_call(text, text, boolean, boolean), private.record_call(uuid, text, text, text[], text),
  private.agent_self() to service_key;
grant execute on function private.record_calls(jsonb) to feedback_api;

-- Administration --------------------------------------------------------------------------------------------------

create function private.agent_shape(agent private.agents) returns json
language plpgsql stable set search_path = '' as $$
begin
  return json_build_object('id', agent.id, 'name', (select p.name from public.profiles p where p.id = agent.id), 'description', agent.description,
    'tier', agent.tier, 'retired_at', agent.retired_at, 'created_at', agent.created_at);
end
$$;
comment on function private.agent_shape(private.agents) is 'An agent as admins see it.';

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
comment on function private.find_agent(uuid) is 'The agent of the current organization, for its signed-in admins; FORBIDDEN for others, NOT_FOUND where there is none.';

create function private.admin_list_agents() returns json
language plpgsql stable security definer set search_path = '' as $$ -- definer: private tables; asks for an admin, as all of these
declare own_id uuid := private.require_key_admin();
begin
  return coalesce((select json_agg(private.agent_shape(a) order by a.created_at desc, a.id)
    from (select * from private.agents a where a.organization_id = own_id order by a.created_at desc, a.id limit 500) a), '[]');
end
$$;
comment on function private.admin_list_agents() is 'The organization''s newest 500 agents, retired ones too.';

create function private.admin_create_agent(name text, tier text, description text) returns json
language plpgsql security definer set search_path = '' as $$ -- definer: as above
declare made uuid := private.create_agent(private.require_key_admin(), name, tier, description, private.caller_id());
begin
  perform private.audit('agent.create', 'agent', made, jsonb_build_object('tier', tier));
  return (select private.agent_shape(a) from private.agents a where a.id = made);
end
$$;
comment on function private.admin_create_agent(text, text, text) is 'An agent of the current organization.';

create function private.admin_update_agent(agent_id uuid, name text, tier text, description text) returns json
language plpgsql security definer set search_path = '' as $$ -- definer: as above
declare agent private.agents := private.find_agent(agent_id);
begin
  update public.profiles p set name = admin_update_agent.name where p.id = agent.id and admin_update_agent.name is not null;
  update private.agents a set tier = coalesce(admin_update_agent.tier, a.tier),
    description = case when admin_update_agent.description is null then a.description else nullif(admin_update_agent.description, '') end
  where a.id = agent.id returning a.* into agent;
  perform private.audit('agent.update', 'agent', agent.id, jsonb_build_object('tier', agent.tier));
  return private.agent_shape(agent);
end
$$;
comment on function private.admin_update_agent(uuid, text, text, text) is 'Changes what is not null; an empty description takes it away.';

create function private.admin_retire_agent(agent_id uuid) returns json
language plpgsql security definer set search_path = '' as $$ -- definer: as above
declare agent private.agents := private.find_agent(agent_id);
begin
  update private.api_keys k set revoked_at = now() where k.profile_id = agent.id and k.revoked_at is null;
  update private.agents a set retired_at = coalesce(a.retired_at, now()) where a.id = agent.id returning a.* into agent;
  perform private.audit('agent.retire', 'agent', agent.id);
  return private.agent_shape(agent);
end
$$;
comment on function private.admin_retire_agent(uuid) is 'Ends the agent and its keys for good; it stays as the author of what it wrote.';

create function private.admin_agent_policies(agent_id uuid, policies jsonb) returns json
language plpgsql security definer set search_path = '' as $$ -- definer: as above
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
      where not exists (select from public.categories c where c.id = wanted and c.organization_id = agent.organization_id)) then
      perform private.raise_error('VALIDATION_ERROR', 'has one that is not a category of this organization', 'category_ids');
    end if;
    if exists (select from unnest(agent.survey_ids) as wanted
      where not exists (select from public.surveys s where s.id = wanted and s.organization_id = agent.organization_id)) then
      perform private.raise_error('VALIDATION_ERROR', 'has one that is not a survey of this organization', 'survey_ids');
    end if;
    perform private.audit('agent.set_policies', 'agent', agent.id, policies);
  end if;
  return json_build_object('read_only', agent.read_only, 'confirm_destructive', agent.confirm_destructive, 'tools', agent.tools,
    'category_ids', agent.category_ids, 'survey_ids', agent.survey_ids, 'calls_a_day', agent.calls_a_day);
end
$$;
comment on function private.admin_agent_policies(uuid, jsonb) is 'An agent''s policies; with an object, sets all of them first.';

create function private.text_array(value jsonb) returns text[]
language plpgsql immutable set search_path = '' as $$
begin
  return case when jsonb_typeof(value) = 'array' then array(select jsonb_array_elements_text(value)) end;
end
$$;
comment on function private.text_array(jsonb) is 'A JSON array of text as an array; null for null.';

create function private.admin_list_agent_keys(agent_id uuid) returns json
language plpgsql stable security definer set search_path = '' as $$ -- definer: as above
declare agent private.agents := private.find_agent(agent_id);
begin
  return coalesce((select json_agg(private.api_key_shape(k) order by k.created_at desc, k.id)
    from (select * from private.api_keys k where k.organization_id = agent.organization_id and k.profile_id = agent.id
      order by k.created_at desc, k.id limit 500) k), '[]');
end
$$;
comment on function private.admin_list_agent_keys(uuid) is 'The agent''s newest 500 keys, revoked and expired ones too.';

create function private.admin_create_agent_key(
  agent_id uuid, name text, scopes text[], digest bytea, prefix text, last_four text, expires_at timestamptz)
returns json language plpgsql security definer set search_path = '' as $$ -- definer: as above
declare agent private.agents := private.find_agent(agent_id); key_id uuid;
begin
  if agent.retired_at is not null then
    perform private.raise_error('CONFLICT', 'This agent is retired: make another.');
  end if;
  key_id := private.create_agent_key(agent.id, name, scopes, digest, prefix, last_four, expires_at, private.caller_id());
  perform private.audit('agent_key.create', 'api_key', key_id, jsonb_build_object('agent_id', agent.id, 'scopes', scopes));
  return (select private.api_key_shape(k) from private.api_keys k where k.id = key_id);
end
$$;
comment on function private.admin_create_agent_key(uuid, text, text[], bytea, text, text, timestamptz) is 'Makes a key of an agent; its secret stays with the caller.';

create function private.admin_agent_audit(agent_id uuid, before bigint, tool text, outcome text, most integer) returns json
language plpgsql stable security definer set search_path = '' as $$ -- definer: as above
declare agent private.agents := private.find_agent(agent_id);
begin
  return coalesce((select json_agg(json_build_object('id', t.id, 'key_id', t.key_id, 'request_id', t.request_id, 'tool', t.tool, 'scope', t.scope,
      'outcome', t.outcome, 'duration_ms', round(t.duration_ms::numeric, 1), 'argument_names', t.argument_names, 'address', t.address,
      'created_at', t.created_at) order by t.id desc)
    from (select * from private.agent_audit t
      where t.agent_id = agent.id and t.organization_id = agent.organization_id and (before is null or t.id < before)
        and (admin_agent_audit.tool is null or t.tool = admin_agent_audit.tool)
        and (admin_agent_audit.outcome is null or t.outcome = admin_agent_audit.outcome)
      order by t.id desc limit most) t), '[]');
end
$$;
comment on function private.admin_agent_audit(uuid, bigint, text, text, integer) is 'What an agent called, newest first, from below an id.';

grant execute on function private.admin_list_agents(), private.admin_create_agent(text, text, text), private.admin_update_agent(uuid, text, text, text),
  private.admin_retire_agent(uuid), private.admin_agent_policies(uuid, jsonb), private.admin_list_agent_keys(uuid),
  private.admin_create_agent_key(uuid, text, text[], bytea, text, text, timestamptz),
  private.admin_agent_audit(uuid, bigint, text, text, integer) to authenticated;

-- Streams and subscriptions of agents: rows, so that one opened by one process is served by another.

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
comment on table private.agent_streams is 'Calls to be run when their stream is read, for ten minutes. events are [name, data] once it ran; they are there with what it did, or not at all.';
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
comment on table private.agent_subscriptions is 'Which events an agent asked for, for a day. xid is where the outbox stood: what came later is delivered, also what came before the stream was opened.';
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
comment on table private.open_streams is 'Open streams of subscriptions, of all processes, so that limits hold over all of them. A process renews its streams; those of one that died expire. address is a keyed hash.';
create index open_streams_expiry_idx on private.open_streams (expires_at);

alter table private.open_streams enable row level security;
revoke all on private.open_streams from public, anon, authenticated, service_role, service_key;
alter table private.agent_streams enable row level security;
alter table private.agent_subscriptions enable row level security;
revoke all on private.agent_streams, private.agent_subscriptions from public, anon, authenticated, service_role, service_key;

-- definer: as all of these, private tables; each touches rows of the calling agent only.
create function private.open_stream(id uuid, tool text, arguments jsonb, confirmed boolean, locale text) returns void
language plpgsql security definer set search_path = '' as $$
declare own_id uuid := private.agent_id();
begin
  perform private.make_room('private.agent_streams', own_id);
  insert into private.agent_streams (id, organization_id, agent_id, tool, arguments, confirmed, locale)
  values (id, private.key_organization_id(), own_id, tool, arguments, confirmed, locale);
end
$$;
comment on function private.open_stream(uuid, text, jsonb, boolean, text) is 'Keeps a call for the stream that will run it.';

create function private.make_room(kind regclass, agent_id uuid) returns void
language plpgsql set search_path = '' as $$
declare most constant integer := 100; open integer;
begin
  -- Of one agent they take turns, so that the limit holds.
  perform 1 from private.agents a where a.id = agent_id for no key update;
  execute format('select count(*) from %s where agent_id = $1 and expires_at > now()', kind) into open using agent_id;
  if open >= most then
    perform private.raise_error('RATE_LIMIT_EXCEEDED', format('An agent has at most %s of these open at a time: use or wait for them.', most), null,
      jsonb_build_object('retry_after', 60));
  end if;
end
$$;
comment on function private.make_room(regclass, uuid) is 'Raises RATE_LIMIT_EXCEEDED where an agent has 100 streams or subscriptions.';

create function private.claim_stream(id uuid) returns json
language plpgsql security definer set search_path = '' as $$ -- definer: as above
declare stream private.agent_streams;
begin
  select * into stream from private.agent_streams s
  where s.id = claim_stream.id and s.agent_id = private.agent_id() and s.expires_at > now() for update skip locked;
  if stream.id is null then
    return case when exists (select from private.agent_streams s
      where s.id = claim_stream.id and s.agent_id = private.agent_id() and s.expires_at > now())
      then json_build_object('state', 'running') end;
  end if;
  return json_build_object('state', case when stream.events is null then 'waiting' else 'finished' end,
    'tool', stream.tool, 'arguments', stream.arguments, 'confirmed', stream.confirmed, 'locale', stream.locale, 'events', stream.events);
end
$$;
comment on function private.claim_stream(uuid) is 'A stream of the calling agent: finished, running elsewhere, or waiting, and then this transaction''s to run. Null where there is none.';

create function private.finish_stream(id uuid, events jsonb) returns void
language plpgsql security definer set search_path = '' as $$ -- definer: as above; the id is known to its agent and the functions only
begin
  update private.agent_streams s set events = finish_stream.events where s.id = finish_stream.id and s.events is null;
end
$$;
comment on function private.finish_stream(uuid, jsonb) is 'Keeps what a stream told, for who reads it again.';

create function private.stream_events(id uuid) returns jsonb
language plpgsql stable security definer set search_path = '' as $$ -- definer: as above
begin
  return (select s.events from private.agent_streams s where s.id = stream_events.id and s.expires_at > now());
end
$$;
comment on function private.stream_events(uuid) is 'What a stream told; null until it ran.';

create function private.open_subscription(id uuid, events text[], needs jsonb, survey_id uuid) returns void
language plpgsql security definer set search_path = '' as $$ -- definer: as above
declare own_id uuid := private.agent_id(); need record; allowed text[] := (select a.tools from private.agents a where a.id = own_id);
begin
  for need in select * from jsonb_to_recordset(needs) as n (event text, scope text, tools text[]) loop
    if not private.has_scope(need.scope) then
      perform private.raise_error('FORBIDDEN', format('This key lacks the scope %s.', need.scope), null, jsonb_build_object('scope', need.scope));
    end if;
    if not allowed && need.tools then
      perform private.raise_error('FORBIDDEN', format('The agent''s policies leave it no tool that reads %s.', need.event));
    end if;
  end loop;
  perform private.make_room('private.agent_subscriptions', own_id);
  insert into private.agent_subscriptions (id, organization_id, agent_id, events, survey_id)
  values (id, private.key_organization_id(), own_id, events, survey_id);
end
$$;
comment on function private.open_subscription(uuid, text[], jsonb, uuid) is 'Keeps which events the calling agent wants from now on. needs are [{event, scope, tools}]: its key has to have the scope, and its policies to leave it one of the tools.';

create function private.read_subscription(id uuid) returns json
language plpgsql stable security definer set search_path = '' as $$ -- definer: as above
begin
  return (
    select json_build_object('organization_id', s.organization_id, 'agent_id', a.id, 'events', s.events, 'survey_id', s.survey_id, 'xid', s.xid::text,
      'expires_at', s.expires_at, 'expired', s.expires_at <= now(), 'key_id', current_setting('feedback.key_id'),
      'version', a.updated_at, 'category_ids', a.category_ids, 'survey_ids', a.survey_ids,
      'scopes', string_to_array(current_setting('feedback.scopes'), ' '), 'tools', a.tools)
    from private.agent_subscriptions s join private.agents a on a.id = s.agent_id
    where s.id = read_subscription.id and s.agent_id = private.agent_id());
end
$$;
comment on function private.read_subscription(uuid) is 'A subscription of the calling agent, with the policies and scopes that narrow it; null where there is none.';

create function private.hold_stream(id uuid, address text) returns void
language plpgsql security definer set search_path = '' as $$ -- definer: as above
declare own_id uuid := private.agent_id(); own_organization_id uuid := private.key_organization_id(); too_many text;
begin
  -- Streams are opened one after the other, so that limits hold.
  perform pg_advisory_xact_lock(hashtextextended('private.open_streams', 0));
  delete from private.open_streams s where s.expires_at < now();
  select case
      when count(*) filter (where s.agent_id = own_id) >= 100 then 'of this agent'
      when count(*) filter (where s.organization_id = own_organization_id) >= 300 then 'of this organization''s agents'
      when count(*) filter (where s.address = hold_stream.address) >= 500 then 'from this address'
    end into too_many
  from private.open_streams s;
  if too_many is not null then
    perform private.raise_error('RATE_LIMIT_EXCEEDED', format('Too many streams %s are open: close some.', too_many), null,
      jsonb_build_object('retry_after', 5));
  end if;
  insert into private.open_streams (id, organization_id, agent_id, address) values (id, own_organization_id, own_id, address);
end
$$;
comment on function private.hold_stream(uuid, text) is 'Counts a stream that the calling agent opens; RATE_LIMIT_EXCEEDED beyond 100 of an agent, 300 of an organization and 500 from an address.';
grant execute on function private.hold_stream(uuid, text) to service_key;

create function private.renew_streams(renewed_ids uuid[], closed_ids uuid[]) returns void
language plpgsql security definer set search_path = '' as $$ -- definer: as above; ids are known to the process that opened the streams only
begin
  delete from private.open_streams s where s.id = any (closed_ids);
  update private.open_streams s set expires_at = now() + interval '30 seconds' where s.id = any (renewed_ids);
end
$$;
comment on function private.renew_streams(uuid[], uuid[]) is 'Keeps streams counted that are still open, and no longer counts those that were closed.';
grant execute on function private.renew_streams(uuid[], uuid[]) to feedback_api;

grant execute on function private.open_stream(uuid, text, jsonb, boolean, text), private.claim_stream(uuid), private.finish_stream(uuid, jsonb),
  private.open_subscription(uuid, text[], jsonb, uuid), private.read_subscription(uuid) to service_key;

-- For the process that serves open streams: it asks for all of them at once, as the login role ---------------------

create function private.events_after(xid xid8, id bigint, organization_ids uuid[], most integer) returns json
language plpgsql stable security definer set search_path = '' as $$ -- definer: the outbox is not granted
begin
  return json_build_object('head', pg_snapshot_xmin(pg_current_snapshot())::text, 'events', coalesce((
    select json_agg(json_build_object('xid', e.xid::text, 'id', e.id, 'event_id', e.event_id, 'organization_id', e.organization_id, 'type', e.type,
      'timestamp', e.created_at, 'data', e.data, 'survey_id', coalesce(e.data ->> 'survey_id', e.data -> 'survey' ->> 'id'),
      'category_id', (select s.category_id from public.submissions s
        where s.id = coalesce(e.data ->> 'submission_id', e.data -> 'submission' ->> 'id', e.data -> 'comment' ->> 'submission_id')::uuid))
      order by e.xid, e.id)
    from (
      select * from private.outbox o
      where (o.xid, o.id) > (events_after.xid, events_after.id) and o.xid < pg_snapshot_xmin(pg_current_snapshot())
        and o.organization_id = any (organization_ids)
      order by o.xid, o.id limit most) e), '[]'));
end
$$;
comment on function private.events_after(xid8, bigint, uuid[], integer) is 'Events of organizations after a cursor, in commit order, and where the outbox stands; with the survey and category by which policies narrow.';

create function private.living_keys(key_ids uuid[]) returns table (key_id uuid, version timestamptz)
language plpgsql stable security definer set search_path = '' as $$ -- definer: keys are not granted
begin
  return query select k.id, a.updated_at from private.api_keys k join private.agents a on a.id = k.profile_id
  where k.id = any (key_ids) and k.revoked_at is null and (k.expires_at is null or k.expires_at > now()) and a.retired_at is null;
end
$$;
comment on function private.living_keys(uuid[]) is 'Those keys of agents that are still valid, and when their agent last changed: an open stream ends with its key, and with a change of its policies.';

grant execute on function private.finish_stream(uuid, jsonb), private.stream_events(uuid), private.events_after(xid8, bigint, uuid[], integer),
  private.living_keys(uuid[]) to feedback_api;

-- The outbox: every mutation writes its event in its own transaction. Webhooks, streams and the change feed read from it.

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
comment on table private.outbox is 'Events in commit order: readers take xid < pg_snapshot_xmin(pg_current_snapshot()) by (xid, id), and that pair is the cursor. Kept 30 days.';
create index outbox_organization_idx on private.outbox (organization_id, xid, id);
create index outbox_created_idx on private.outbox (subject_id) where type in ('submission.created', 'comment.created');
create index outbox_age_idx on private.outbox using brin (created_at);
alter table private.outbox enable row level security;
revoke all on private.outbox from public, anon, authenticated, service_role, service_key;

create function private.emit_event(organization_id uuid, type text, subject_id uuid, data jsonb) returns void
language plpgsql set search_path = '' as $$
begin
  insert into private.outbox (organization_id, type, subject_id, data) values (organization_id, type, subject_id, data);
  perform private.wake_dispatcher(organization_id);
end
$$;
comment on function private.emit_event(uuid, text, uuid, jsonb) is 'Announces what this transaction did, if it commits. For triggers that are definers.';

create function private.is_announced(type text, subject_id uuid) returns boolean
language plpgsql stable set search_path = '' as $$
begin
  return exists (select from private.outbox o where o.subject_id = is_announced.subject_id and o.type = is_announced.type
  and o.type in ('submission.created', 'comment.created'));
end
$$;
comment on function private.is_announced(text, uuid) is 'Whether the creation of a submission or comment was told already, so that a second approval is not.';

-- Endpoints that organizations have told of their events. Secrets come sealed by the functions: neither they nor the key
-- that opens them are ever in the database.

create table private.webhooks (
  id uuid primary key,
  organization_id uuid not null references public.organizations (id) on delete cascade,
  url text not null,
  events text[] not null,
  sealed_secret text not null,
  previous_sealed_secret text,
  previous_secret_until timestamptz,
  is_enabled boolean not null default true,
  disabled_reason text,
  is_healthy boolean not null default false,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint webhooks_belong_to_their_organization unique (organization_id, id),
  constraint url_is_a_web_address check (url ~ '^https?://[^\s[:cntrl:]]+$' and char_length(url) <= 2000),
  constraint events_are_names check (cardinality(events) between 1 and 30 and array_position(events, null) is null
    and array_to_string(events, ' ') ~ '^[a-z_]+(\.[a-z_]+)+( [a-z_]+(\.[a-z_]+)+)*$'),
  constraint secrets_are_sealed check (sealed_secret ~ '^[\w-]+\.[A-Za-z0-9_-]+$' and previous_sealed_secret ~ '^[\w-]+\.[A-Za-z0-9_-]+$'),
  constraint a_previous_secret_ends check ((previous_sealed_secret is null) = (previous_secret_until is null)),
  constraint disabled_ones_say_why check (is_enabled = (disabled_reason is null)),
  constraint disabled_reason_is_known check (disabled_reason in ('admin', 'gone'))
);
comment on table private.webhooks is 'Endpoints of receivers, at most 100 an organization. events holds the names asked for, aliases too; secrets are sealed with AES-256-GCM as <key id>.<base64url>. is_healthy: its last answer was a success, so it is trusted with several deliveries at once.';
alter table private.webhooks enable row level security;
revoke all on private.webhooks from public, anon, authenticated, service_role, service_key;
create trigger touch_updated_at before update of url, events, is_enabled, sealed_secret on private.webhooks
  for each row execute function private.touch_updated_at();

create function private.canonical_event(name text) returns text
language sql immutable
return case name when 'vote.created' then 'submission.vote_added' when 'status.changed' then 'submission.status_changed' else name end;
comment on function private.canonical_event(text) is 'The event a name stands for, alias or not: the same names as eventAliases in shared/events.ts.';

-- Administration --------------------------------------------------------------------------------------------------

create function private.webhook_shape(webhook private.webhooks) returns json
language sql stable set search_path = ''
return json_build_object('id', 'wh_' || replace((webhook).id::text, '-', ''), 'url', (webhook).url, 'events', (webhook).events,
  'enabled', (webhook).is_enabled, 'disabled_reason', (webhook).disabled_reason,
  'previous_secret_expires_at', case when (webhook).previous_secret_until > now() then (webhook).previous_secret_until end,
  'created_at', (webhook).created_at, 'updated_at', (webhook).updated_at);
comment on function private.webhook_shape(private.webhooks) is 'A webhook as admins see it: never a secret, sealed or not.';

-- definer: memberships and private organizations decide; each function below asks for the rights it needs by this one.
create function private.require_webhook_admin(organization_id uuid, scope text) returns void
language plpgsql stable security definer set search_path = '' as $$
begin
  if not private.in_organization(organization_id) or not exists (
      select from public.organizations o where o.id = organization_id and case when private.is_key() then o.id = private.key_organization_id()
        else o.visibility = 'public' or private.is_member(o.id, private.caller_id()) end) then
    perform private.raise_error('NOT_FOUND', 'There is no such organization.', 'organization');
  end if;
  perform private.require_admin(organization_id, scope);
end
$$;
comment on function private.require_webhook_admin(uuid, text) is 'Raises NOT_FOUND where the caller does not see the organization, FORBIDDEN where they see it and may not do this.';

create function private.host_of(url text) returns text
language sql immutable
return substring(url from '^https?://(?:[^/?#]*@)?([^/?#]*)');
comment on function private.host_of(text) is 'Host and port of a web address.';

create function private.audit_webhook(action text, webhook private.webhooks, details jsonb default '{}') returns void
language plpgsql set search_path = '' as $$
begin
  perform private.audit('webhook.' || action, 'webhook', webhook.id,
    jsonb_build_object('host', private.host_of(webhook.url)) || details, webhook.organization_id);
end
$$;
comment on function private.audit_webhook(text, private.webhooks, jsonb) is 'The trail of a webhook tells the host alone: the rest of an address may hold a secret.';

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
language plpgsql stable security definer set search_path = '' as $$ -- definer: as above
begin
  perform private.require_webhook_admin(organization_id, 'webhooks:read');
  return (select private.webhook_shape(w) from private.webhooks w
    where w.organization_id = admin_show_webhook.organization_id and w.id = webhook_id);
end
$$;
comment on function private.admin_show_webhook(uuid, uuid) is 'One webhook; null where the organization has none of that id.';

create function private.admin_create_webhook(organization_id uuid, webhook_id uuid, url text, events text[], sealed_secret text) returns json
language plpgsql security definer set search_path = '' as $$ -- definer: as above
#variable_conflict use_column
declare made private.webhooks;
begin
  perform private.require_webhook_admin(organization_id, 'webhooks:write');
  -- One registration at a time, so that the limit holds.
  perform 1 from public.organizations o where o.id = admin_create_webhook.organization_id for no key update;
  if (select count(*) from private.webhooks w where w.organization_id = admin_create_webhook.organization_id) >= 100 then
    perform private.raise_error('CONFLICT', 'An organization has at most 100 webhooks: delete one first.');
  end if;
  insert into private.webhooks (id, organization_id, url, events, sealed_secret)
  values (webhook_id, organization_id, url, events, sealed_secret) returning * into made;
  perform private.audit_webhook('create', made, jsonb_build_object('events', made.events));
  return private.webhook_shape(made);
end
$$;
comment on function private.admin_create_webhook(uuid, uuid, text, text[], text) is 'Registers an endpoint; from now on it is told of events.';

create function private.admin_update_webhook(organization_id uuid, webhook_id uuid, url text, events text[], enabled boolean) returns json
language plpgsql security definer set search_path = '' as $$ -- definer: as above
declare before private.webhooks; changed private.webhooks;
begin
  perform private.require_webhook_admin(organization_id, 'webhooks:write');
  select * into before from private.webhooks w
  where w.organization_id = admin_update_webhook.organization_id and w.id = webhook_id for no key update;
  if before.id is null then return null; end if;
  update private.webhooks w set
    url = coalesce(admin_update_webhook.url, w.url),
    -- Another address has not proved itself.
    is_healthy = w.is_healthy and coalesce(admin_update_webhook.url = w.url, true),
    events = coalesce(admin_update_webhook.events, w.events),
    is_enabled = coalesce(enabled, w.is_enabled),
    disabled_reason = case when not coalesce(enabled, w.is_enabled) then coalesce(w.disabled_reason, 'admin') end
  where w.id = before.id returning w.* into changed;
  perform private.audit_webhook('update', changed, jsonb_strip_nulls(jsonb_build_object(
    'previous_host', case when changed.url <> before.url then private.host_of(before.url) end,
    'events', case when changed.events <> before.events then changed.events end,
    'enabled', case when changed.is_enabled <> before.is_enabled then changed.is_enabled end)));
  return private.webhook_shape(changed);
end
$$;
comment on function private.admin_update_webhook(uuid, uuid, text, text[], boolean) is 'Changes what is not null. Null where the organization has none of that id.';

create function private.admin_delete_webhook(organization_id uuid, webhook_id uuid) returns boolean
language plpgsql security definer set search_path = '' as $$ -- definer: as above
declare deleted private.webhooks;
begin
  perform private.require_webhook_admin(organization_id, 'webhooks:write');
  delete from private.webhooks w where w.organization_id = admin_delete_webhook.organization_id and w.id = webhook_id
  returning w.* into deleted;
  if deleted.id is null then return false; end if;
  perform private.audit_webhook('delete', deleted);
  return true;
end
$$;
comment on function private.admin_delete_webhook(uuid, uuid) is 'Deletes a webhook with its log; whether there was one.';

create function private.admin_rotate_webhook(organization_id uuid, webhook_id uuid, sealed_secret text, overlap interval) returns json
language plpgsql security definer set search_path = '' as $$ -- definer: as above
declare changed private.webhooks;
begin
  perform private.require_webhook_admin(organization_id, 'webhooks:write');
  update private.webhooks w set
    previous_sealed_secret = w.sealed_secret, previous_secret_until = now() + overlap, sealed_secret = admin_rotate_webhook.sealed_secret
  where w.organization_id = admin_rotate_webhook.organization_id and w.id = webhook_id
  returning w.* into changed;
  if changed.id is null then return null; end if;
  perform private.audit_webhook('rotate', changed, jsonb_build_object('previous_secret_until', changed.previous_secret_until));
  return private.webhook_shape(changed);
end
$$;
comment on function private.admin_rotate_webhook(uuid, uuid, text, interval) is 'Another secret; deliveries are signed with the one before as well until the overlap has passed. Null where the organization has none of that id.';

grant execute on function private.require_webhook_admin(uuid, text), private.admin_list_webhooks(uuid), private.admin_show_webhook(uuid, uuid),
  private.admin_create_webhook(uuid, uuid, text, text[], text), private.admin_update_webhook(uuid, uuid, text, text[], boolean),
  private.admin_delete_webhook(uuid, uuid), private.admin_rotate_webhook(uuid, uuid, text, interval) to authenticated, service_key;

-- Deliveries: one an event and endpoint, made from the outbox, claimed by dispatchers, and kept as the endpoint's log.

do $$
begin
  if not exists (select from pg_roles where rolname = 'feedback_webhooks') then
    create role feedback_webhooks login noinherit;
  end if;
end
$$;
comment on role feedback_webhooks is 'Login of functions/webhook-dispatch. Owns nothing and may do nothing but fan out, claim and record deliveries.';
grant usage on schema private to feedback_webhooks;
-- Each statement has one way to go, by index and row after row: a plan made while a table is empty is right when it is full.
alter role feedback_webhooks set plan_cache_mode = 'force_generic_plan';
alter role feedback_webhooks set enable_seqscan = off;
alter role feedback_webhooks set enable_bitmapscan = off;
alter role feedback_webhooks set enable_hashjoin = off;
alter role feedback_webhooks set enable_mergejoin = off;
alter role feedback_webhooks set statement_timeout = '15s';
alter role feedback_webhooks set lock_timeout = '2s';
alter role feedback_webhooks set idle_in_transaction_session_timeout = '15s';
-- A pooler may not pass on what a client sets when it connects.
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
  constraint payload_is_here_or_in_the_outbox check ((data is null) = (outbox_id is not null) and (outbox_xid is null) = (outbox_id is null))
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.05);
comment on table private.webhook_deliveries is 'What an endpoint is told, once an event: pending, sending (claimed until next_attempt_at, when the lease ends), delivered or failed. event is the name that was asked for; attempts is the log, the newest 20; the schedule counts attempts after counted_from. Of those that ended the newest 100 an endpoint are kept.';
create index webhook_deliveries_log_idx on private.webhook_deliveries (webhook_id, created_at desc);
create index webhook_deliveries_due_idx on private.webhook_deliveries (webhook_id, status, next_attempt_at) where status in ('pending', 'sending');

create table private.webhook_cursor (
  is_only boolean primary key default true constraint there_is_one_cursor check (is_only),
  xid xid8 not null,
  id bigint not null,
  trimmed uuid not null default '00000000-0000-0000-0000-000000000000'
);
comment on table private.webhook_cursor is 'Up to where the outbox has been made into deliveries, and logs of webhooks have been trimmed, by their ids.';
insert into private.webhook_cursor (xid, id) values ('0', 0);

alter table private.webhook_deliveries enable row level security;
alter table private.webhook_cursor enable row level security;
revoke all on private.webhook_deliveries, private.webhook_cursor from public, anon, authenticated, service_role, service_key;

-- Dispatch -----------------------------------------------------------------------------------------------------

create function private.fan_out_events(most integer default 500) returns table (events integer, held_back boolean)
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
  -- One at a time: who comes second looks again soon.
  select * into at from private.webhook_cursor for update skip locked;
  if at.xid is null then
    return next;
    return;
  end if;
  -- Were it lost in a crash it would be done again: no commit waits for the disk.
  perform set_config('synchronous_commit', 'off', true);
  with batch as materialized (
    select o.xid, o.id, o.event_id, o.organization_id, o.type, o.created_at from private.outbox o
    where (o.xid, o.id) > (at.xid, at.id) and o.xid < pg_snapshot_xmin(pg_current_snapshot())
    order by o.xid, o.id limit most
  ), made as (
    insert into private.webhook_deliveries (organization_id, webhook_id, event_id, event, outbox_xid, outbox_id)
    select w.organization_id, w.id, b.event_id, asked.name, b.xid, b.id
    from batch b join private.webhooks w on w.organization_id = b.organization_id and w.is_enabled and w.created_at <= b.created_at
    cross join lateral (
      select n.name from unnest(w.events) with ordinality n (name, position)
      where private.canonical_event(n.name) = b.type order by n.position limit 1) asked
    on conflict do nothing
  ), moved as (
    update private.webhook_cursor c set xid = l.xid, id = l.id
    from (select b.xid, b.id from batch b order by b.xid desc, b.id desc limit 1) l
  )
  select count(*) into events from batch;
  -- Committed, but maybe behind one that is not: soon.
  held_back := events < most and exists (
    select from private.outbox o where (o.xid, o.id) > (at.xid, at.id) and o.xid >= pg_snapshot_xmin(pg_current_snapshot()));
  return next;
end
$$;
comment on function private.fan_out_events(integer) is 'Makes deliveries of the next events of the outbox, in its order and exactly once. held_back: others wait for a transaction that is still open.';

create function private.logged(attempts jsonb, attempt jsonb) returns jsonb
language sql stable
return case when jsonb_array_length(attempts) < 20 then attempts else attempts - 0 end || attempt;
comment on function private.logged(jsonb, jsonb) is 'The log with one more attempt, and of those before at most 19.';

create function private.logged_attempt(number integer, started_at timestamptz, duration_ms integer, status_code integer, response_body text, error text)
returns jsonb language sql stable
return jsonb_build_object('number', number, 'started_at', started_at, 'duration_ms', duration_ms, 'status_code', status_code,
  'response_body', response_body, 'error', error);
comment on function private.logged_attempt(integer, timestamptz, integer, integer, text, text) is 'An attempt as the log shows it.';

-- Endpoints that have not answered well last get one delivery at a time, and of a dispatcher's room only the second
-- number: who is dead or slow delays nobody who is not.
create function private.claim_deliveries(most integer, most_unproven integer) returns table (
  webhook_id uuid, event_id uuid, attempt integer, claimed_at timestamptz, is_healthy boolean, url text,
  sealed_secret text, previous_sealed_secret text, organization_id uuid, event text, occurred_at timestamptz, data jsonb)
language plpgsql set search_path = '' as $$
#variable_conflict use_column
declare endpoint record; room integer := most; unproven_room integer := most_unproven; taken integer;
begin
  for endpoint in
    with recursive waiting (id) as (
      (select d.webhook_id from private.webhook_deliveries d where d.status in ('pending', 'sending') order by d.webhook_id limit 1)
      union all
      select (select d.webhook_id from private.webhook_deliveries d
        where d.status in ('pending', 'sending') and d.webhook_id > w.id order by d.webhook_id limit 1)
      from waiting w where w.id is not null
    )
    select w.*, case when w.is_healthy then 32 else 1 end - (select count(*)::integer from private.webhook_deliveries d
      where d.webhook_id = w.id and d.status = 'sending' and d.next_attempt_at > now()) as slots
    from waiting join private.webhooks w on w.id = waiting.id and w.is_enabled
    -- The first in the index of each, however many there are.
    where least(
      (select d.next_attempt_at from private.webhook_deliveries d where d.webhook_id = w.id and d.status = 'pending' order by d.next_attempt_at limit 1),
      (select d.next_attempt_at from private.webhook_deliveries d where d.webhook_id = w.id and d.status = 'sending' order by d.next_attempt_at limit 1)
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
          status = 'sending', claimed_at = now(), next_attempt_at = now() + interval '30 seconds', attempt_count = d.attempt_count + 1,
          -- A dispatcher that died says nothing of the receiver: its attempt is logged and uses up none of the schedule.
          counted_from = d.counted_from + (d.status = 'sending')::integer,
          attempts = case when d.status = 'pending' then d.attempts else private.logged(d.attempts, private.logged_attempt(
            d.attempt_count, d.claimed_at, null, null, null, 'The dispatcher ended before it recorded an answer.')) end
        where d.ctid = any (array(select due.row from due))
        returning d.*
      )
      select c.webhook_id, c.event_id, c.attempt_count, c.claimed_at, endpoint.is_healthy, endpoint.url, endpoint.sealed_secret,
        case when endpoint.previous_secret_until > now() then endpoint.previous_sealed_secret end,
        c.organization_id, c.event, coalesce(o.created_at, c.created_at), coalesce(c.data, o.data)
      from claimed c left join private.outbox o on o.xid = c.outbox_xid and o.id = c.outbox_id;
    get diagnostics taken = row_count;
    room := room - taken;
    if not endpoint.is_healthy then unproven_room := unproven_room - taken; end if;
  end loop;
end
$$;
comment on function private.claim_deliveries(integer, integer) is 'Takes due deliveries for 30 seconds, those of a dispatcher that died too: at most 32 at once of an endpoint that answers well, one of any other. Concurrent dispatchers never take the same.';

create function private.record_deliveries(results jsonb) returns void
language plpgsql set search_path = '' as $$
begin
  -- Those that turn out otherwise than they were, before their deliveries and by their ids, as a delete locks them: nobody waits in a circle.
  perform 1 from private.webhooks w where w.id in (
    select r.webhook_id from jsonb_to_recordset(results) as r (webhook_id uuid, status_code integer, error text)
    where w.is_healthy is distinct from (r.error is null and r.status_code between 200 and 299))
  order by w.id for no key update;
  with results as (
    select r.*, r.error is null and r.status_code between 200 and 299 as succeeded, r.error is null and r.status_code = 410 as gone,
      coalesce(r.is_final, false) or r.error is null and r.status_code = 410 as is_last
    from jsonb_to_recordset(results) as r (webhook_id uuid, event_id uuid, attempt integer, duration_ms integer, status_code integer,
      response_body text, error text, retry_after integer, is_final boolean)
  ), recorded as (
    update private.webhook_deliveries d set
      status = case
        when r.succeeded then 'delivered'
        when r.is_last or private.retry_wait(d.attempt_count - d.counted_from) is null then 'failed'
        else 'pending' end,
      finished_at = case when r.succeeded or r.is_last or private.retry_wait(d.attempt_count - d.counted_from) is null then now() end,
      claimed_at = null,
      next_attempt_at = now() + greatest(coalesce(private.retry_wait(d.attempt_count - d.counted_from), '0') * (1 + random() * 0.1), case when r.retry_after > 0 then least(make_interval(secs => r.retry_after), interval '6 hours') end),
      attempts = private.logged(d.attempts, private.logged_attempt(d.attempt_count, d.claimed_at, r.duration_ms, r.status_code, r.response_body, r.error))
    from results r
    -- Not what was claimed anew meanwhile. Written so that only the primary key serves, not an index that has all of the endpoint's.
    where d.event_id = r.event_id and d.webhook_id is not distinct from r.webhook_id and d.claimed_at is not null and d.attempt_count = r.attempt
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
comment on function private.record_deliveries(jsonb) is 'What came of attempts that were claimed: [{webhook_id, event_id, attempt, duration_ms, status_code, response_body, error, retry_after in seconds, is_final}]. A 410 switches the endpoint off.';

create function private.retry_wait(attempts integer) returns interval
language sql immutable
return (array['1 minute', '5 minutes', '30 minutes', '2 hours', '6 hours']::interval[])[attempts];
comment on function private.retry_wait(integer) is 'How long to wait after that many attempts; null after the last.';

create function private.exchange_deliveries(results jsonb, most integer, most_unproven integer) returns table (
  webhook_id uuid, event_id uuid, attempt integer, claimed_at timestamptz, is_healthy boolean, url text,
  sealed_secret text, previous_sealed_secret text, organization_id uuid, event text, occurred_at timestamptz, data jsonb)
language plpgsql security definer set search_path = '' as $$ -- definer: private tables
begin
  perform private.record_deliveries(results);
  return query select * from private.claim_deliveries(most, most_unproven);
end
$$;
comment on function private.exchange_deliveries(jsonb, integer, integer) is 'One turn of a dispatcher: what came of its deliveries for others that are due.';

grant execute on function private.fan_out_events(integer), private.exchange_deliveries(jsonb, integer, integer) to feedback_webhooks;

-- The dispatcher is woken --------------------------------------------------------------------------------------

create function private.call_function(path text) returns boolean
language plpgsql set search_path = '' as $$
declare dispatcher text; password text;
begin
  if to_regclass('vault.decrypted_secrets') is null or to_regnamespace('net') is null then return false; end if;
  dispatcher := (select s.decrypted_secret from vault.decrypted_secrets s where s.name = 'webhook_dispatch_url');
  password := (select s.decrypted_secret from vault.decrypted_secrets s where s.name = 'webhook_dispatch_secret');
  if dispatcher is null or password is null then return false; end if;
  perform net.http_post(url => regexp_replace(dispatcher, '/webhook-dispatch/?$', path), body => '{}'::jsonb,
    headers => jsonb_build_object('Content-Type', 'application/json', 'Authorization', 'Bearer ' || password),
    timeout_milliseconds => 5000);
  return true;
end
$$;
comment on function private.call_function(text) is 'Asks a function to run, by pg_net, which sends once this transaction has committed. The Vault has the address of functions/webhook-dispatch, which the others stand beside, and the password as webhook_dispatch_url and webhook_dispatch_secret; false where it has not.';

create function private.call_dispatcher() returns boolean
language plpgsql set search_path = '' as $$
begin
  return private.call_function('/webhook-dispatch');
end
$$;
comment on function private.call_dispatcher() is 'Asks functions/webhook-dispatch to run; false where the Vault does not say where it is.';

create function private.wake_dispatcher(organization_id uuid) returns void
language plpgsql set search_path = '' as $$
begin
  if not exists (select from private.webhooks w where w.organization_id = wake_dispatcher.organization_id and w.is_enabled) then return; end if;
  if coalesce(current_setting('feedback.dispatcher_called', true), '') = pg_current_xact_id()::text then return; end if;
  perform set_config('feedback.dispatcher_called', pg_current_xact_id()::text, true);
  begin
    if not private.call_dispatcher() then perform pg_notify('webhooks', ''); end if;
  -- The schedule comes anyway; what was done must not be undone.
  exception when others then
    raise warning 'the dispatcher was not called: %', sqlerrm;
  end;
end
$$;
comment on function private.wake_dispatcher(uuid) is 'Once this transaction commits, a dispatcher runs if the organization has webhooks: by pg_net where the Vault has its address, by a notification elsewhere.';

-- The log ------------------------------------------------------------------------------------------------------

create function private.delivery_shape(delivery private.webhook_deliveries) returns jsonb
language sql stable set search_path = ''
return jsonb_build_object('id', 'evt_' || replace((delivery).event_id::text, '-', ''), 'event', (delivery).event,
  'status', case (delivery).status when 'sending' then 'pending' else (delivery).status end, 'attempt_count', (delivery).attempt_count,
  'status_code', (delivery).attempts -> -1 -> 'status_code', 'response_body', (delivery).attempts -> -1 -> 'response_body',
  'error', (delivery).attempts -> -1 -> 'error',
  'next_attempt_at', case when (delivery).status = 'pending' then (delivery).next_attempt_at end,
  'created_at', (delivery).created_at, 'finished_at', (delivery).finished_at);
comment on function private.delivery_shape(private.webhook_deliveries) is 'A delivery as its endpoint''s log lists it, with its newest attempt.';

create function private.admin_list_deliveries(organization_id uuid, webhook_id uuid, page integer, page_size integer) returns table (total integer, data json)
language plpgsql stable security definer set search_path = '' as $$ -- definer: private tables
begin
  perform private.require_webhook_admin(organization_id, 'webhooks:read');
  return query
    with log as materialized (
      select d.* from private.webhook_deliveries d
      where d.webhook_id = admin_list_deliveries.webhook_id and d.organization_id = admin_list_deliveries.organization_id
      order by d.created_at desc, d.event_id limit 100
    )
    select (select count(*)::integer from log), coalesce((select json_agg(private.delivery_shape(shown::private.webhook_deliveries)) from (
      select l.* from log l order by l.created_at desc, l.event_id limit page_size offset (page - 1) * page_size) shown), '[]')
    from private.webhooks w where w.id = admin_list_deliveries.webhook_id and w.organization_id = admin_list_deliveries.organization_id;
end
$$;
comment on function private.admin_list_deliveries(uuid, uuid, integer, integer) is 'The newest 100 deliveries of an endpoint, a page at a time; no row where the organization has none of that id.';

create function private.admin_show_delivery(organization_id uuid, webhook_id uuid, event_id uuid) returns jsonb
language plpgsql stable security definer set search_path = '' as $$ -- definer: as above
begin
  perform private.require_webhook_admin(organization_id, 'webhooks:read');
  return (select private.delivery_shape(d) || jsonb_build_object('attempts', d.attempts, 'data', coalesce(d.data, o.data))
    from private.webhook_deliveries d left join private.outbox o on o.xid = d.outbox_xid and o.id = d.outbox_id
    where d.webhook_id = admin_show_delivery.webhook_id and d.event_id = admin_show_delivery.event_id
      and d.organization_id = admin_show_delivery.organization_id);
end
$$;
comment on function private.admin_show_delivery(uuid, uuid, uuid) is 'A delivery with its attempts and the data it carries; null where the endpoint has none of that id.';

create function private.admin_test_webhook(organization_id uuid, webhook_id uuid) returns jsonb
language plpgsql security definer set search_path = '' as $$ -- definer: as above
#variable_conflict use_column
declare webhook private.webhooks; made private.webhook_deliveries;
begin
  perform private.require_webhook_admin(organization_id, 'webhooks:write');
  webhook := private.enabled_webhook(organization_id, webhook_id);
  if webhook.id is null then return null; end if;
  insert into private.webhook_deliveries (organization_id, webhook_id, event_id, event, data)
  values (organization_id, webhook_id, gen_random_uuid(), 'webhook.test', jsonb_build_object('webhook_id', 'wh_' || replace(webhook_id::text, '-', '')))
  returning * into made;
  perform private.wake_dispatcher(organization_id);
  return private.delivery_shape(made);
end
$$;
comment on function private.admin_test_webhook(uuid, uuid) is 'Sends the event webhook.test to one endpoint. Null where the organization has none of that id.';

create function private.admin_redeliver(organization_id uuid, webhook_id uuid, event_id uuid) returns jsonb
language plpgsql security definer set search_path = '' as $$ -- definer: as above
#variable_conflict use_column
declare delivery private.webhook_deliveries;
begin
  perform private.require_webhook_admin(organization_id, 'webhooks:write');
  select d.* into delivery from private.webhook_deliveries d
  where d.webhook_id = admin_redeliver.webhook_id and d.event_id = admin_redeliver.event_id
    and d.organization_id = admin_redeliver.organization_id for no key update;
  if delivery.event_id is null then return null; end if;
  perform private.enabled_webhook(organization_id, webhook_id);
  if delivery.data is null and not exists (select from private.outbox o where o.xid = delivery.outbox_xid and o.id = delivery.outbox_id) then
    perform private.raise_error('GONE', 'This event is older than events are kept.');
  end if;
  -- One that is on its way already goes its way.
  if delivery.status <> 'sending' then
    update private.webhook_deliveries d set status = 'pending', counted_from = d.attempt_count, next_attempt_at = now(), finished_at = null
    where d.webhook_id = delivery.webhook_id and d.event_id = delivery.event_id returning d.* into delivery;
    perform private.wake_dispatcher(organization_id);
  end if;
  return private.delivery_shape(delivery);
end
$$;
comment on function private.admin_redeliver(uuid, uuid, uuid) is 'Sends an event to its endpoint again, under the same id and with the schedule from its start. Null where the endpoint has none of that id.';

create function private.enabled_webhook(organization_id uuid, webhook_id uuid) returns private.webhooks
language plpgsql stable set search_path = '' as $$
declare webhook private.webhooks;
begin
  select w.* into webhook from private.webhooks w where w.organization_id = enabled_webhook.organization_id and w.id = webhook_id;
  if not webhook.is_enabled then
    perform private.raise_error('CONFLICT', 'This webhook is switched off: switch it on first.');
  end if;
  return webhook;
end
$$;
comment on function private.enabled_webhook(uuid, uuid) is 'The webhook, if the organization has one of that id; CONFLICT where it is switched off.';

grant execute on function private.admin_list_deliveries(uuid, uuid, integer, integer), private.admin_show_delivery(uuid, uuid, uuid),
  private.admin_test_webhook(uuid, uuid), private.admin_redeliver(uuid, uuid, uuid) to authenticated, service_key;

-- Upkeep -------------------------------------------------------------------------------------------------------

create function private.trim_deliveries(most integer default 20000) returns integer
language plpgsql set search_path = '' set enable_seqscan = off as $$
declare at uuid := (select c.trimmed from private.webhook_cursor c); seen uuid; trimmed integer := 0; here integer;
begin
  -- What waits for an endpoint that was switched off is given up.
  update private.webhook_deliveries d set status = 'failed', finished_at = now(),
    attempts = private.logged(d.attempts, private.logged_attempt(d.attempt_count, null, null, null, null, 'The webhook was switched off.'))
  where d.ctid = any (array(
    select o.ctid from private.webhooks w join private.webhook_deliveries o on o.webhook_id = w.id and o.status = 'pending'
    where not w.is_enabled and w.updated_at < now() - interval '1 minute' limit most for update of o skip locked));
  -- Some of the webhooks each time, and from the first again after the last.
  for seen in select w.id from private.webhooks w where w.id > at order by w.id limit 200 loop
    delete from private.webhook_deliveries d where d.ctid = any (array(
      select o.ctid from private.webhook_deliveries o where o.webhook_id = seen and o.status in ('delivered', 'failed')
      order by o.created_at desc, o.event_id offset 100 limit most - trimmed))
      -- Not what is to be sent again since.
      and d.status in ('delivered', 'failed');
    get diagnostics here = row_count;
    trimmed := trimmed + here;
    exit when trimmed >= most;
    at := seen;
  end loop;
  if trimmed < most and not exists (select from private.webhooks w where w.id > at) then
    at := '00000000-0000-0000-0000-000000000000';
  end if;
  update private.webhook_cursor c set trimmed = at where c.trimmed <> at;
  return trimmed;
end
$$;
comment on function private.trim_deliveries(integer) is 'Keeps the newest 100 deliveries that ended of each endpoint, and fails what waits for one that was switched off. For private.run_schedule.';

-- The outbox as a feed: whoever reads it by cursor misses nothing that committed and sees nothing that did not.

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
comment on function private.feed_scopes(text) is 'A key reads events of a type with one of these scopes: those that read what the events tell of.';

create function private.may_follow(type text) returns boolean
language sql stable
return not private.is_key() or private.feed_scopes(type) && string_to_array(coalesce(current_setting('feedback.scopes', true), ''), ' ');
comment on function private.may_follow(text) is 'Whether the caller, an admin or a key, is told of events of a type.';

-- definer: the outbox is granted to nobody.
create function private.admin_events(types text[], after_xid xid8, after_id bigint, after_at timestamptz, most integer)
returns table (more boolean, next_xid xid8, next_id bigint, next_at timestamptz, data json)
language plpgsql stable security definer set search_path = '' as $$
declare
  own_id uuid := private.current_organization_id();
  settled xid8 := pg_snapshot_xmin(pg_current_snapshot());
  refused text;
begin
  if not private.is_key() then perform private.require_admin(own_id, ''); end if;
  refused := (select type from unnest(types) as type where not private.may_follow(type) limit 1);
  if refused is not null then
    perform private.raise_error('FORBIDDEN', format('This key lacks the scope %s, which reads %s.',
      coalesce(nullif(array_to_string(private.feed_scopes(refused), ' or '), ''), 'that'), refused), 'types');
  end if;
  -- An hour before events are deleted: nothing a good cursor leads to is missing.
  if after_at < now() - interval '30 days' + interval '1 hour' then
    perform private.raise_error('GONE', 'Events are kept for 30 days, and this cursor is older: read everything anew, then follow without after.', 'after');
  end if;
  return query
    -- A page looks at a bounded part of the feed, however rare what it looks for.
    with looked_at as materialized (
      select o.* from private.outbox o
      where o.organization_id = own_id and o.xid < settled and (o.xid, o.id) > (coalesce(after_xid, '0'), coalesce(after_id, 0))
        -- A first page leaves a day to read on from it.
        and (after_xid is not null or o.created_at >= now() - interval '29 days')
      order by o.xid, o.id limit 10000
    ), wanted as materialized (
      select l.* from looked_at l
      where case when types is null then private.may_follow(l.type) else l.type = any (types) end
      order by l.xid, l.id limit most
    ), ended as (
      select w.xid, w.id, w.created_at from wanted w where (select count(*) from wanted) = most
      union all
      select l.xid, l.id, l.created_at from looked_at l
      where (select count(*) from wanted) < most and (select count(*) from looked_at) = 10000
    ), place as (
      select e.xid, e.id, e.created_at, true as more from ended e
      union all
      -- Read to the end: all that commits from now on comes after this place.
      select settled, 0::bigint, now(), false where not exists (select from ended)
      order by 1 desc, 2 desc limit 1
    )
    select p.more, p.xid, p.id, p.created_at,
      coalesce((select json_agg(json_build_object('id', 'evt_' || replace(w.event_id::text, '-', ''), 'event', w.type, 'org_id', w.organization_id,
        'timestamp', w.created_at, 'data', w.data) order by w.xid, w.id) from wanted w), '[]')
    from place p;
end
$$;
comment on function private.admin_events(text[], xid8, bigint, timestamptz, integer) is 'The next events of the current organization after a place, in the order they committed, and the place to go on from. For admins, and keys within their scopes. GONE where events after the place may have been deleted.';
grant execute on function private.admin_events(text[], xid8, bigint, timestamptz, integer) to authenticated, service_key;

-- What clients hear of the moment it commits: row changes through the publication, and the same changes as broadcasts.

-- Row changes --------------------------------------------------------------------------------------------------
-- A DELETE goes to subscribers without asking policies, with the replica identity's columns for filters to test and the
-- primary key to show. So identities hold opaque ids only, never a person, and never the full row; each leads with what
-- clients filter by. Votes have such a primary key already.

alter table public.comments replica identity using index comments_belong_to_their_submission;
alter table public.submissions replica identity using index submissions_belong_to_their_organization;

-- Hosted Supabase has the publication, empty; a project may have put tables into it from the dashboard.
do $$
declare published text;
begin
  foreach published in array array['submissions', 'votes', 'comments', 'notifications'] loop
    if not exists (select from pg_publication_tables where pubname = 'supabase_realtime' and schemaname = 'public' and tablename = published) then
      execute format('alter publication supabase_realtime add table public.%I', published);
    end if;
  end loop;
end
$$;

-- Broadcasts ---------------------------------------------------------------------------------------------------
-- For a board of many viewers: row changes cost a policy check a viewer and change, a topic one a join. What anyone may
-- see goes to submission:<id>, what only the team may see to submission:<id>:team, decided anew for each message: who
-- joined while a board was public hears nothing of it once it is private. organization:<id> is the board: what a list shows.

create table private.switches (
  name text primary key,
  is_on boolean not null
);
comment on table private.switches is 'What an operator turns on and off with SQL; counts from the next statement on. broadcast_changes: whether changes are also broadcast to the topics of their submissions.';
alter table private.switches enable row level security;
revoke all on private.switches from public, anon, authenticated, service_role, service_key;
insert into private.switches values ('broadcast_changes', true);

create function private.broadcasts_changes() returns boolean
language plpgsql stable set search_path = '' as $$
begin
  return not private.is_importing() and coalesce((select is_on from private.switches where name = 'broadcast_changes'), false);
end
$$;
comment on function private.broadcasts_changes() is 'Whether the operator wants changes broadcast; those of an import never are.';

create function private.submission_topic(submission_id uuid, is_public boolean) returns text
language sql immutable
return 'submission:' || submission_id::text || case when is_public then '' else ':team' end;
comment on function private.submission_topic(uuid, boolean) is 'Where a row is told of: to everyone, or to the team.';

create function private.board_topic(organization_id uuid, is_public boolean) returns text
language sql immutable
return 'organization:' || organization_id::text || case when is_public then '' else ':team' end;
comment on function private.board_topic(uuid, boolean) is 'Where a board hears of a submission: everyone, or the team.';

create function private.counts_of(submission public.submissions) returns jsonb
language sql immutable set search_path = ''
return jsonb_build_object('id', (submission).id, 'vote_count', (submission).vote_count, 'comment_count', (submission).comment_count);
comment on function private.counts_of(public.submissions) is 'What comes with each vote and comment, so that a count costs no message of its own.';

create function private.broadcast_reload(changed_table text, topics text[]) returns void
language plpgsql set search_path = '' as $$
begin
  perform realtime.send(
    jsonb_build_object('schema', 'public', 'table', changed_table, 'operation', 'RELOAD'), 'RELOAD', told.topic, true)
  from (select distinct topic from unnest(topics) as topic where topic is not null order by topic limit 100) told;
end
$$;
comment on function private.broadcast_reload(text, text[]) is 'Tells up to 100 topics that so much of a table changed at once that they had better read again; boards come first.';

create function private.broadcast(changed_table text, changes jsonb) returns void
language plpgsql set search_path = '' as $$
begin
  if changes is null then return; end if;
  if jsonb_array_length(changes) > 100 then
    perform private.broadcast_reload(changed_table, array(
      select topic from jsonb_array_elements(changes) c cross join lateral (values (c ->> 'old_topic'), (c ->> 'topic')) told (topic)));
    return;
  end if;
  perform realtime.send(
    jsonb_build_object('schema', 'public', 'table', changed_table, 'operation', operation,
      'record', case when operation <> 'DELETE' then c -> 'record' end, 'old_record', case when operation <> 'INSERT' then c -> 'key' end)
      -- Counts of a submission that is private by now are not for everyone.
      || case when starts_with(topic, c ->> 'home') then jsonb_build_object('submission', c -> 'submission') else '{}' end,
    operation, topic, true)
  from jsonb_array_elements(changes) with ordinality as changed (c, position) cross join lateral (
    select 'UPDATE' as operation, c ->> 'topic' as topic where c ->> 'topic' = c ->> 'old_topic'
    union all
    select 'DELETE', c ->> 'old_topic' where c ->> 'topic' is distinct from c ->> 'old_topic'
    union all
    select 'INSERT', c ->> 'topic' where c ->> 'topic' is distinct from c ->> 'old_topic') told
  where topic is not null
  order by position;
-- What cannot be told must not undo what happened.
exception when others then
  raise warning 'changes of % were not broadcast: %', changed_table, sqlerrm;
end
$$;
comment on function private.broadcast(text, jsonb) is 'Tells of changes [{old_topic, topic, key, record, submission, home}], in the payload of realtime.broadcast_changes. A row that moves from one topic to another is deleted there and inserted here. More than 100 rows at once are told as one RELOAD a topic.';

-- definer: clients may not write to realtime.messages. No voter is named.
create function private.broadcast_votes() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if private.is_quiet() or not private.broadcasts_changes() then return null; end if;
  if (select count(*) from changed) > 100 then
    perform private.broadcast_reload('votes', array(
      select private.submission_topic(s.id, s.is_public) from public.submissions s
      where s.id in (select submission_id from changed)));
    return null;
  end if;
  -- Not by private.broadcast: a vote never moves from one topic to another, and is what happens most.
  perform realtime.send(jsonb_build_object('schema', 'public', 'table', 'votes', 'operation', tg_op,
      'record', case when tg_op = 'INSERT' then jsonb_build_object('id', v.id, 'organization_id', v.organization_id,
        'submission_id', v.submission_id, 'created_at', v.created_at) end,
      'old_record', case when tg_op = 'DELETE' then jsonb_build_object('submission_id', v.submission_id, 'id', v.id) end,
      'submission', private.counts_of(s)), tg_op, private.submission_topic(s.id, s.is_public), true)
  from changed v join public.submissions s on s.id = v.submission_id;
  return null;
-- What cannot be told must not undo what happened.
exception when others then
  raise warning 'votes were not broadcast: %', sqlerrm;
  return null;
end
$$;
comment on function private.broadcast_votes() is 'Trigger: votes come and go on the topic of their submission; those that belong to a creation or merge are told by its counts.';
create trigger tell_added after insert on public.votes
  referencing new table as changed for each statement execute function private.broadcast_votes();
create trigger tell_removed after delete on public.votes
  referencing old table as changed for each statement execute function private.broadcast_votes();

create function private.comment_topic(comment public.comments) returns text
language sql immutable
return private.submission_topic((comment).submission_id, (comment).is_public);
comment on function private.comment_topic(public.comments) is 'Where a comment is told of.';

-- definer: as above.
create function private.broadcast_comments() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if not private.broadcasts_changes() then return null; end if;
  case tg_op
    when 'INSERT' then
      perform private.broadcast('comments', jsonb_agg(jsonb_build_object(
        'topic', private.comment_topic(n), 'home', private.submission_topic(s.id, s.is_public), 'submission', private.counts_of(s), 'record', to_jsonb(n))))
      from new_rows n join public.submissions s on s.id = n.submission_id;
    when 'UPDATE' then
      perform private.broadcast('comments', jsonb_agg(jsonb_build_object(
        'old_topic', private.comment_topic(o), 'topic', private.comment_topic(n), 'home', private.submission_topic(s.id, s.is_public), 'submission', private.counts_of(s),
        'key', jsonb_build_object('submission_id', o.submission_id, 'id', o.id), 'record', to_jsonb(n))))
      from old_rows o join new_rows n using (id) join public.submissions s on s.id = n.submission_id where o is distinct from n;
    else
      perform private.broadcast('comments', jsonb_agg(jsonb_build_object(
        'old_topic', private.comment_topic(o), 'home', private.submission_topic(s.id, s.is_public), 'submission', private.counts_of(s),
        'key', jsonb_build_object('submission_id', o.submission_id, 'id', o.id))))
      from old_rows o join public.submissions s on s.id = o.submission_id;
  end case;
  return null;
end
$$;
comment on function private.broadcast_comments() is 'Trigger: comments as their topics see them. One that is approved is an INSERT to everyone, one that is rejected a DELETE.';
create trigger tell_added after insert on public.comments
  referencing new table as new_rows for each statement execute function private.broadcast_comments();
create trigger tell_changed after update on public.comments
  referencing old table as old_rows new table as new_rows for each statement execute function private.broadcast_comments();
create trigger tell_removed after delete on public.comments
  referencing old table as old_rows for each statement execute function private.broadcast_comments();

-- definer: as above.
create function private.told_submission(submission public.submissions) returns jsonb
language sql immutable set search_path = ''
return jsonb_build_object('id', (submission).id, 'organization_id', (submission).organization_id,
  'title', (submission).title, 'type', (submission).type, 'status', (submission).status,
  'vote_count', (submission).vote_count, 'comment_count', (submission).comment_count,
  'category_id', (submission).category_id, 'merged_into_id', (submission).merged_into_id,
  'created_at', (submission).created_at, 'updated_at', (submission).updated_at);
comment on function private.told_submission(public.submissions) is 'A submission as broadcasts show it: without its description.';

-- definer: as above.
create function private.broadcast_submissions() returns trigger
language plpgsql security definer set search_path = '' as $$
declare own jsonb; board jsonb;
begin
  -- First, for most updates are a vote's.
  if tg_op = 'UPDATE' and not private.is_quiet() then
    if not exists (
      select from old_rows o join new_rows n using (id)
      where (o.is_public, o.title, o.type, o.status, o.category_id, o.merged_into_id, o.updated_at, o.comment_count) is distinct
        from (n.is_public, n.title, n.type, n.status, n.category_id, n.merged_into_id, n.updated_at, n.comment_count)) then
      return null;
    end if;
  end if;
  if not private.broadcasts_changes() then return null; end if;
  case tg_op
    when 'INSERT' then
      select jsonb_agg(jsonb_build_object('topic', private.board_topic(n.organization_id, n.is_public),
        'record', private.told_submission(n))) into board
      from new_rows n;
    when 'UPDATE' then
      select jsonb_agg(c.change || jsonb_build_object(
          'old_topic', private.submission_topic(c.id, c.was_public), 'topic', private.submission_topic(c.id, c.is_public)))
          filter (where not c.only_comments),
        jsonb_agg(c.change || jsonb_build_object(
          'old_topic', private.board_topic(c.organization_id, c.was_public),
          'topic', private.board_topic(c.organization_id, c.is_public)))
      into own, board
      from (
        select n.id, n.organization_id, o.is_public as was_public, n.is_public,
          not (changed or private.is_quiet() and (o.vote_count, o.comment_count)
            is distinct from (n.vote_count, n.comment_count)) as only_comments,
          jsonb_build_object('key', jsonb_build_object('organization_id', o.organization_id, 'id', o.id),
            'record', private.told_submission(n)) as change
        from old_rows o join new_rows n using (id)
        cross join lateral (select
          (o.is_public, o.title, o.type, o.status, o.category_id, o.merged_into_id, o.updated_at)
            is distinct from (n.is_public, n.title, n.type, n.status, n.category_id, n.merged_into_id, n.updated_at)) t (changed)
        -- A merge moves votes without telling of each. Otherwise a vote is told with itself, and to the board later.
        where changed or o.comment_count <> n.comment_count or private.is_quiet() and o.vote_count <> n.vote_count) c;
    else
      select jsonb_agg(d.change || jsonb_build_object('old_topic', private.submission_topic(d.id, d.is_public))),
        jsonb_agg(d.change || jsonb_build_object('old_topic', private.board_topic(d.organization_id, d.is_public)))
      into own, board
      from (
        select o.*, jsonb_build_object('key', jsonb_build_object('organization_id', o.organization_id, 'id', o.id)) as change
        from old_rows o) d;
  end case;
  perform private.broadcast('submissions', own);
  perform private.broadcast('submissions', board);
  return null;
end
$$;
comment on function private.broadcast_submissions() is 'Trigger: a submission on its own topic and on its board''s; counts that change by a vote or comment come with that, to the board comments at once and votes by private.broadcast_counts.';
create trigger tell_added after insert on public.submissions
  referencing new table as new_rows for each statement execute function private.broadcast_submissions();
create trigger tell_changed after update on public.submissions
  referencing old table as old_rows new table as new_rows for each statement execute function private.broadcast_submissions();
create trigger tell_removed after delete on public.submissions
  referencing old table as old_rows for each statement execute function private.broadcast_submissions();

create table private.broadcast_cursor (
  is_only boolean primary key default true constraint there_is_one_cursor check (is_only),
  xid xid8 not null,
  id bigint not null
);
comment on table private.broadcast_cursor is 'Up to where votes in the outbox have been told to their boards.';
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
    perform realtime.send(jsonb_build_object('schema', 'public', 'table', 'submissions', 'operation', 'COUNTS',
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
comment on function private.broadcast_counts() is 'For the schedule: tells each board the counts of the submissions that were voted for since the last time, up to 100 a message. So a vote costs the board''s audience no message of its own.';

-- Responses go to survey:<id>, for admins, without their answers; not through the publication, which would hand anyone the
-- ids of a million responses deleted with their survey.
-- definer: as above.
create function private.broadcast_responses() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if private.is_quiet() or not private.broadcasts_changes() then return null; end if;
  perform private.broadcast('survey_responses', jsonb_agg(jsonb_build_object('topic', 'survey:' || r.survey_id, 'record', jsonb_build_object(
    'id', r.id, 'organization_id', r.organization_id, 'survey_id', r.survey_id, 'submitted_at', r.submitted_at, 'locale', r.locale,
    'sentiment', r.sentiment, 'sentiment_score', r.sentiment_score))))
  from changed r;
  return null;
end
$$;
comment on function private.broadcast_responses() is 'Trigger: new responses on the topic of their survey.';
create trigger tell_added after insert on public.survey_responses
  referencing new table as changed for each statement execute function private.broadcast_responses();

-- Who may listen -----------------------------------------------------------------------------------------------

create function private.may_listen(topic text) returns boolean
language plpgsql stable set search_path = '' as $$
declare part text[] := regexp_match(topic, '^(submission|organization|survey):([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(:team)?$');
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
comment on function private.may_listen(text) is 'Whether the caller may join a private topic: submission:<id> if they see the submission, organization:<id> if they see the board, either with :team if they are on its team, survey:<id> if they are Admin of it.';
grant execute on function private.may_listen(text) to anon, authenticated;

-- Nobody is let to send: what comes by these topics comes from the triggers above.
create policy "who may listen hears" on realtime.messages
  for select to anon, authenticated using (extension = 'broadcast' and (select private.may_listen(realtime.topic())));

-- What runs on a schedule, and the check of what must always hold.

create function private.run_schedule() returns jsonb
language plpgsql set search_path = '' as $$
declare fanouts integer; activity integer; surveys integer; counters integer; keys integer; events integer; deliveries integer; streams integer; labels integer; boards integer; imports integer;
begin
  -- What is deleted is found once and by its place: joined, by a plan made while a table was empty, it would be looked for again row after row.
  -- What may be renewed meanwhile is locked first.
  fanouts := private.run_fanouts();
  activity := private.sum_activity();
  surveys := private.close_surveys();
  boards := private.broadcast_counts();
  delete from private.rate_counters c where ctid = any (array(
    -- A window that is no rule of its own (an agent's calls a day) has at most a day.
    select o.ctid from private.rate_counters o where o.started_at < now() - make_interval(secs => greatest(7200, coalesce(
      (select r.window_seconds from private.rate_limit_rules r where r.name = o.rule), 86400))) limit 5000 for update skip locked));
  get diagnostics counters = row_count;
  delete from private.idempotency_keys k where ctid = any (array(
    select o.ctid from private.idempotency_keys o where o.created_at < now() - interval '1 day' limit 5000));
  get diagnostics keys = row_count;
  delete from private.outbox e where ctid = any (array(
    select o.ctid from private.outbox o where o.created_at < now() - interval '30 days' limit 5000));
  get diagnostics events = row_count;
  delete from private.invites i where ctid = any (array(
    select o.ctid from private.invites o where o.expires_at < now() - interval '30 days' limit 5000));
  deliveries := private.trim_deliveries();
  imports := private.end_idle_imports();
  perform private.call_importer();
  delete from private.agent_streams s where ctid = any (array(
    select o.ctid from private.agent_streams o where o.expires_at < now() limit 5000 for update skip locked));
  get diagnostics streams = row_count;
  delete from private.agent_subscriptions s where ctid = any (array(
    select o.ctid from private.agent_subscriptions o where o.expires_at < now() - interval '1 day' limit 5000 for update skip locked));
  delete from private.agent_audit t where ctid = any (array(
    select o.ctid from private.agent_audit o where o.created_at < now() - interval '400 days' limit 5000));
  -- Last, for it holds submissions until the end.
  labels := private.run_retirements();
  return jsonb_build_object('fanouts', fanouts, 'activity', activity, 'surveys', surveys, 'rate_counters', counters, 'idempotency_keys', keys, 'events', events, 'deliveries', deliveries, 'agent_streams', streams, 'labels', labels, 'boards', boards, 'imports', imports);
end
$$;
comment on function private.run_schedule() is 'Every few seconds, by pg_cron on hosted Supabase and by a timer in the embedded stack: writes waiting notifications, tells boards their counts, has waiting imports go on, closes surveys whose time has passed and deletes what has expired, in bounded batches. Idempotent; says what it did.';

-- Hosted Supabase offers these extensions; a new project has not created them yet. Where one cannot be created, the rest
-- goes on without it.
do $$
declare
  extension record;
  pause text;
begin
  for extension in
    select e.name, w.options
    from (values ('pg_net', 'with schema extensions'), ('supabase_vault', ''), ('pg_cron', '')) as w (name, options)
    join pg_available_extensions e using (name) where e.installed_version is null
  loop
    begin
      execute format('create extension %I %s', extension.name, extension.options);
    exception when others then
      raise warning '% was not created: % (docs/deploy.md, step 7)', extension.name, sqlerrm;
    end;
  end loop;
  -- Before 1.5 a schedule has no seconds.
  pause := (select case when string_to_array(substring(extversion from '^\d+\.\d+'), '.')::integer[] < array[1, 5]
      then '* * * * *' else '10 seconds' end
    from pg_extension where extname = 'pg_cron');
  if pause is not null then
    perform cron.schedule('feedback-schedule', pause, 'select private.run_schedule()');
    perform cron.schedule('feedback-webhooks', pause, 'select private.call_dispatcher()');
    -- pg_cron keeps a row for each run for ever.
    perform cron.schedule('feedback-cron-log', '17 * * * *', 'select private.trim_cron_log()');
  end if;
end
$$;

create function private.trim_cron_log() returns bigint
language plpgsql set search_path = '' as $$
declare deleted bigint;
begin
  delete from cron.job_run_details d where coalesce(d.end_time, d.start_time) < now() - interval '1 day'
    and d.jobid in (select j.jobid from cron.job j where j.jobname like 'feedback-%');
  get diagnostics deleted = row_count;
  return deleted;
end
$$;
comment on function private.trim_cron_log() is 'Deletes what pg_cron logged of our jobs more than a day ago; says how many rows.';

create function private.count_mistakes() returns table (subject text, id uuid, stored bigint, truth bigint)
language sql stable set search_path = ''
begin atomic
  select 'submissions.vote_count', s.id, s.vote_count, v.n
  from public.submissions s cross join lateral (select count(*) as n from public.votes v where v.submission_id = s.id) v
  where s.vote_count <> v.n
  union all
  select 'submissions.comment_count', s.id, s.comment_count, c.n
  from public.submissions s cross join lateral (
    select count(*) as n from public.comments c where c.submission_id = s.id and c.moderation_state = 'approved') c
  where s.comment_count <> c.n
  union all
  select 'comments.reply_count', p.id, p.reply_count, c.n
  from public.comments p cross join lateral (
    select count(*) as n from public.comments c where c.parent_id = p.id and c.moderation_state = 'approved') c
  where p.reply_count <> c.n
  union all
  select 'comments.vote_count', c.id, c.vote_count, v.n
  from public.comments c cross join lateral (select count(*) as n from public.comment_votes v where v.comment_id = c.id) v
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
  from (select o.id as organization_id, span, s.day, s.status, s.category_id, s.source, sum(s.total)::bigint as total
    from public.organizations o cross join unnest(array['day', 'month']) span
      cross join lateral private.submissions_of(o.id, span, '-infinity', 'infinity') s group by 1, 2, 3, 4, 5, 6) d full join (
    select t.* from public.organizations o cross join lateral private.find_submission_days(o.id) t) t
    on (d.organization_id, d.span, d.day, d.status, coalesce(d.source, '')) = (t.organization_id, t.span, t.day, t.status, coalesce(t.source, ''))
      and coalesce(d.category_id, d.organization_id) = coalesce(t.category_id, t.organization_id)
  where coalesce(d.total, 0) <> coalesce(t.total, 0)
  union all
  select 'person_days.' || kind, coalesce(d.organization_id, t.organization_id), stored, truth
  from (select r.organization_id, r.user_id, r.day, sum(r.submissions)::bigint as submissions, sum(r.votes)::bigint as votes, sum(r.comments)::bigint as comments
    from (
      select p.organization_id, p.user_id, p.day, p.submissions, p.votes, p.comments from private.person_days p
      union all
      select a.organization_id, a.user_id, (a.slot at time zone private.activity_zone(a.organization_id))::date, a.submissions, a.votes, a.comments
      from private.person_activity a) r
    group by 1, 2, 3) d full join (
    select t.* from public.organizations o cross join lateral private.find_person_days(o.id) t) t
    on (d.organization_id, d.user_id, d.day) = (t.organization_id, t.user_id, t.day)
  cross join lateral (values ('submissions', coalesce(d.submissions, 0), coalesce(t.submissions, 0)), ('votes', coalesce(d.votes, 0), coalesce(t.votes, 0)),
    ('comments', coalesce(d.comments, 0), coalesce(t.comments, 0))) counted (kind, stored, truth)
  where stored <> truth
  union all
  select 'day_activity.' || kind, coalesce(d.organization_id, t.organization_id), stored, truth
  from private.day_activity d full join (
    select p.organization_id, p.day, p.previous_day, count(*) as people, sum(p.submissions) as submissions, sum(p.votes) as votes, sum(p.comments) as comments
    from (
      select p.organization_id, p.day, p.submissions, p.votes, p.comments,
        coalesce(lag(p.day) over (partition by p.organization_id, p.user_id order by p.day), '-infinity') as previous_day
      from private.person_days p) p
    group by 1, 2, 3) t
    on (d.organization_id, d.day, d.previous_day) = (t.organization_id, t.day, t.previous_day)
  cross join lateral (values ('people', coalesce(d.people, 0), coalesce(t.people, 0)), ('submissions', coalesce(d.submissions, 0), coalesce(t.submissions, 0)),
    ('votes', coalesce(d.votes, 0), coalesce(t.votes, 0)), ('comments', coalesce(d.comments, 0), coalesce(t.comments, 0))) counted (kind, stored, truth)
  where stored <> truth
  union all
  select 'first_replies', coalesce(r.organization_id, t.organization_id), r.milliseconds, t.milliseconds
  from private.first_replies r full join private.find_first_replies(array(select s.id from public.submissions s)) t using (submission_id)
  where (r.submitted_at, r.milliseconds) is distinct from (t.submitted_at, t.milliseconds)
    and not exists (select from private.replies_due d where d.submission_id = coalesce(r.submission_id, t.submission_id))
  union all
  select 'reply_days.' || kind, coalesce(d.organization_id, t.organization_id), stored, truth
  from private.reply_days d full join (
    select r.organization_id, (r.submitted_at at time zone z.time_zone)::date as day, private.magnitude(r.milliseconds) as magnitude,
      count(*) as replies, sum(r.milliseconds)::bigint as milliseconds
    from private.first_replies r join private.activity_zones z using (organization_id) group by 1, 2, 3) t
    on (d.organization_id, d.day, d.magnitude) = (t.organization_id, t.day, t.magnitude)
  cross join lateral (values ('replies', coalesce(d.replies, 0), coalesce(t.replies, 0)),
    ('milliseconds', coalesce(d.milliseconds, 0), coalesce(t.milliseconds, 0))) counted (kind, stored, truth)
  where stored <> truth
  union all
  select * from private.survey_count_mistakes();
end;
comment on function private.count_mistakes() is 'Rows whose counter differs from the truth: none, ever.';

-- Who did what for an organization: written with the change itself, and never changed afterwards.

create table private.audit_log (
  organization_id uuid not null references public.organizations (id) on delete cascade,
  id uuid not null default gen_random_uuid(),
  -- No foreign keys: the trail outlives whom and what it names.
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
  constraint details_are_a_small_object check (jsonb_typeof(details) = 'object' and octet_length(details::text) <= 20000)
);
comment on table private.audit_log is 'The trail of what the team and its keys did: actor_id is the profile that acted (null: an operator), key_id the key it acted by. details says what changed, without personal data. Rows are only ever added; they go with their organization.';
create index audit_log_newest_idx on private.audit_log (organization_id, created_at desc, id desc);
create index audit_log_target_idx on private.audit_log (organization_id, target_id, created_at desc, id desc);
create index audit_log_actor_idx on private.audit_log (organization_id, actor_id, created_at desc, id desc);
alter table private.audit_log enable row level security;
revoke all on private.audit_log from public, anon, authenticated, service_role, service_key;

create function private.keep_audit_log() returns trigger
language plpgsql set search_path = '' as $$
begin
  if tg_op = 'DELETE' and not exists (select from public.organizations where id = old.organization_id) then return old; end if;
  perform private.raise_error('FORBIDDEN', 'The audit trail is only added to.');
end
$$;
comment on function private.keep_audit_log() is 'Trigger: not even its owner changes the trail; it goes with its organization.';
create trigger keep before update or delete on private.audit_log
  for each row execute function private.keep_audit_log();
create trigger keep_all before truncate on private.audit_log
  for each statement execute function private.keep_audit_log();

create function private.request_id() returns text
language plpgsql stable set search_path = '' as $$
begin
  if session_user <> 'feedback_api' then return null; end if;
  return nullif(current_setting('feedback.request_id', true), '');
end
$$;
comment on function private.request_id() is 'The X-Request-Id this transaction answers; null where it does not come by the API.';

create function private.without_addresses(value jsonb) returns jsonb
language plpgsql immutable set search_path = '' as $$
begin
  return case jsonb_typeof(value)
    when 'string' then to_jsonb(regexp_replace(value #>> '{}', '[^\s"@]+@[^\s"@]+', '***', 'g'))
    when 'array' then coalesce((select jsonb_agg(private.without_addresses(e.item) order by e.n) from jsonb_array_elements(value) with ordinality e (item, n)), '[]')
    when 'object' then coalesce((select jsonb_object_agg(e.name, private.without_addresses(e.item)) from jsonb_each(value) e (name, item)), '{}')
    else value end;
end
$$;
comment on function private.without_addresses(jsonb) is 'The same with its e-mail addresses masked, however deep they stand.';

create function private.audit(action text, target_type text, target_id uuid, details jsonb default '{}', organization_id uuid default null) returns void
language plpgsql set search_path = '' as $$
begin
  details := private.without_addresses(details);
  -- What was done is not refused because there is much to say of it.
  if octet_length(details::text) > 20000 then details := '{"left_out": "more than 20,000 bytes"}'; end if;
  insert into private.audit_log (organization_id, actor_id, key_id, action, target_type, target_id, request_id, details)
  values (coalesce(audit.organization_id, private.current_organization_id()), private.caller_id(),
    case when private.is_key() then nullif(current_setting('feedback.key_id', true), '')::uuid end,
    audit.action, audit.target_type, audit.target_id, private.request_id(),
    details);
end
$$;
comment on function private.audit(text, text, uuid, jsonb, uuid) is 'Adds to the trail, for functions that are definers. action is noun.verb, such as invite.create; details name fields, ids and states, never people: e-mail addresses are masked. organization_id is of the row that changed; without it, the one the request acts on.';

-- definer: the trail is granted to nobody.
create function private.admin_audit(target_id uuid, actor_id uuid, before_at timestamptz, before_id uuid, most integer) returns table (more boolean, last text[], data json)
language plpgsql stable security definer set search_path = '' as $$
declare own_id uuid := private.current_organization_id();
begin
  if private.is_key() then
    perform private.raise_error('FORBIDDEN', 'The audit trail is read by people, not by keys.');
  end if;
  perform private.require_admin(own_id, '');
  return query
    with page as (
      select * from private.audit_log a
      where a.organization_id = own_id and (admin_audit.target_id is null or a.target_id = admin_audit.target_id)
        and (admin_audit.actor_id is null or a.actor_id = admin_audit.actor_id)
        and (before_at is null or (a.created_at, a.id) < (before_at, before_id))
      order by a.created_at desc, a.id desc limit most + 1
    ), shown as (
      select * from page order by created_at desc, id desc limit most
    )
    select (select count(*) from page) > most,
      (select array[s.created_at::text, s.id::text] from shown s order by s.created_at, s.id limit 1),
      coalesce((select json_agg(json_build_object(
        'id', s.id, 'action', s.action, 'target_type', s.target_type, 'target_id', s.target_id,
        'actor', (select json_build_object('id', p.id, 'name', coalesce(p.name, 'Anonymous')) from public.profiles p where p.id = s.actor_id),
        'key_id', s.key_id, 'request_id', s.request_id, 'details', s.details, 'at', s.created_at)
        order by s.created_at desc, s.id desc) from shown s), '[]');
end
$$;
comment on function private.admin_audit(uuid, uuid, timestamptz, uuid, integer) is 'The current organization''s trail, newest first, for its admins who signed in; with target_id, what was done to that row; with actor_id, by that profile. Goes on after (before_at, before_id).';
grant execute on function private.admin_audit(uuid, uuid, timestamptz, uuid, integer) to authenticated;

-- What others wrote --------------------------------------------------------------------------------------------

create function private.is_moderating(author_id uuid) returns boolean
language plpgsql stable set search_path = '' as $$
begin
  -- What a definer or a foreign key does is told by what began it.
  return current_user in ('authenticated', 'service_key') and author_id is distinct from private.caller_id();
end
$$;
comment on function private.is_moderating(uuid) is 'In a trigger: whether the caller itself changes what somebody else wrote.';
grant execute on function private.is_moderating(uuid) to authenticated, service_role, service_key;

-- definer: writes the trail.
create function private.audit_edit() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  perform private.audit('submission.update', 'submission', new.id, jsonb_build_object('changed', (
    select array_agg(n.key order by n.key) from jsonb_each(to_jsonb(new)) n join jsonb_each(to_jsonb(old)) o using (key)
    where n.value <> o.value and n.key in ('title', 'description', 'category_id', 'tracker_issue_url'))), new.organization_id);
  return null;
end
$$;
comment on function private.audit_edit() is 'Trigger: the trail names the fields an admin or key changed of what somebody else submitted.';
create trigger audit_edit after update of title, description, category_id, tracker_issue_url on public.submissions
  for each row when (private.is_moderating(old.author_id)
    and (old.title, old.description, old.category_id, old.tracker_issue_url)
      is distinct from (new.title, new.description, new.category_id, new.tracker_issue_url))
  execute function private.audit_edit();

-- definer: as above.
create function private.audit_delete() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if tg_table_name = 'submissions' then
    perform private.audit('submission.delete', 'submission', old.id, '{}', old.organization_id);
  else
    perform private.audit('comment.delete', 'comment', old.id, jsonb_build_object('submission_id', old.submission_id), old.organization_id);
  end if;
  return null;
end
$$;
comment on function private.audit_delete() is 'Trigger: the trail says what an admin or key deleted of what somebody else wrote.';
create trigger audit_delete after delete on public.submissions
  for each row when (private.is_moderating(old.author_id)) execute function private.audit_delete();
create trigger audit_delete after delete on public.comments
  for each row when (private.is_moderating(old.author_id)) execute function private.audit_delete();

-- Merging duplicates, and taking it back.
--
-- Votes and tags of a source are lent to the target, marked merged_from; what the target has already is put down in a
-- journal. Unmerging takes back the one and writes out the other. So each row is there exactly once, and what comes to the
-- target later is the target's own. Follows stay: who follows a source hears of the target (private.with_sources).
--
-- Merges form a tree: parent_id is what a source was merged into, submissions.merged_into_id its root. The first merged
-- comes first where several sources could lend.
--
-- Lock order: the organization (merges of one take turns), submissions by id, comments, then counts of lists.

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
  -- Deferred, as an organization goes with all its merges in any order.
  constraint merges_parent_is_of_the_same_organization foreign key (organization_id, parent_id)
    references public.submissions (organization_id, id) deferrable initially deferred
);
comment on table private.merges is 'Which submission was merged into which, directly; event_id is the call that did it. place is the order of merges.';
create index merges_source_idx on private.merges (organization_id, source_id);
create index merges_parent_idx on private.merges (organization_id, parent_id);
create index merges_children_idx on private.merges (parent_id);
create index merges_event_idx on private.merges (event_id);

-- No foreign keys to people or merges: a check a row is most of what merging 50,000 votes costs. The trigger below keeps them.
create table private.merged_votes (
  source_id uuid not null,
  user_id uuid not null,
  organization_id uuid not null,
  id uuid not null,
  created_at timestamptz not null,
  primary key (source_id, user_id)
);
comment on table private.merged_votes is 'The journal of merges: votes of a source whose people vote for the target anyway.';
create table private.merged_tags (
  source_id uuid not null,
  tag_id uuid not null,
  organization_id uuid not null,
  primary key (source_id, tag_id),
  constraint merged_tags_tag_is_of_the_same_organization foreign key (organization_id, tag_id)
    references public.tags (organization_id, id) on delete cascade
);
comment on table private.merged_tags is 'The journal of merges: tags of a source that the target has anyway.';
create index merged_tags_tag_idx on private.merged_tags (organization_id, tag_id);
create table private.merged_comments (
  source_id uuid not null,
  comment_id uuid primary key references public.comments (id) on delete cascade,
  organization_id uuid not null
);
comment on table private.merged_comments is 'The journal of merges: the top-level comments a source had; their replies, later ones too, go with them.';
create index merged_comments_source_idx on private.merged_comments (source_id);

alter table private.merges enable row level security;
alter table private.merged_votes enable row level security;
alter table private.merged_tags enable row level security;
alter table private.merged_comments enable row level security;
revoke all on private.merges, private.merged_votes, private.merged_tags, private.merged_comments
  from public, anon, authenticated, service_role, service_key;

create function private.forget_merges() returns trigger
language plpgsql security definer set search_path = '' as $$ -- definer: a source is deleted by its author
begin
  delete from private.merged_votes j using gone g where j.source_id = g.source_id;
  delete from private.merged_tags j using gone g where j.source_id = g.source_id;
  delete from private.merged_comments j using gone g where j.source_id = g.source_id;
  return null;
end
$$;
comment on function private.forget_merges() is 'Trigger: a journal ends with its merge.';
create trigger forget after delete on private.merges
  referencing old table as gone for each statement execute function private.forget_merges();

-- definer: an author deletes a source that has sources of its own.
create function private.pass_on_sources() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if not exists (select from public.organizations where id = old.organization_id) then return old; end if;
  update private.merges set parent_id = old.merged_into_id where parent_id = old.id;
  update public.votes set merged_from = null where submission_id = old.merged_into_id and merged_from = old.id;
  perform set_config('feedback.quiet', 'on', true);
  insert into public.follows (organization_id, submission_id, user_id, reason, created_at)
  select f.organization_id, old.merged_into_id, f.user_id, f.reason, f.created_at from public.follows f where f.submission_id = old.id
  on conflict do nothing;
  perform set_config('feedback.quiet', 'off', true);
  update public.submission_tags set merged_from = null where submission_id = old.merged_into_id and merged_from = old.id;
  return old;
end
$$;
comment on function private.pass_on_sources() is 'Trigger: what a deleted source lent is the target''s from then on; what was merged into it before it was merged itself belongs to the target directly.';
create trigger pass_on_sources before delete on public.submissions
  for each row when (old.merged_into_id is not null) execute function private.pass_on_sources();

-- Who takes back a vote means all that was merged. After 21_votes.sql, whose deletes this joins.
-- definer: journals are nobody's to write.
create function private.forget_merged_votes() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if private.is_quiet() then return null; end if;
  delete from private.merged_votes j using removed r, public.submissions s
  where s.organization_id = r.organization_id and s.merged_into_id = r.submission_id and j.source_id = s.id and j.user_id = r.user_id;
  return null;
end
$$;
comment on function private.forget_merged_votes() is 'Trigger: a vote taken back at the target does not come back with an unmerge.';
create trigger forget_merged after delete on public.votes
  referencing old table as removed for each statement execute function private.forget_merged_votes();

-- definer: as above.
create function private.forget_merged_tags() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if private.is_quiet() then return null; end if;
  delete from private.merged_tags j using removed r, public.submissions s
  where s.organization_id = r.organization_id and s.merged_into_id = r.submission_id and j.source_id = s.id and j.tag_id = r.tag_id;
  return null;
end
$$;
comment on function private.forget_merged_tags() is 'Trigger: nor does a tag.';
create trigger forget_merged after delete on public.submission_tags
  referencing old table as removed for each statement execute function private.forget_merged_tags();

-- The two operations -------------------------------------------------------------------------------------------

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
comment on function private.merge_tree(uuid) is 'All that was merged into a submission, directly or not; ordered by path, who lends before whom.';

create function private.lend_votes(root uuid, sources uuid[], voters uuid[]) returns void
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
comment on function private.lend_votes(uuid, uuid[], uuid[]) is 'Lends a submission, from the journals of sources merged into it, the votes of people it has none of; of all or of these people.';

create function private.lend_tags(root uuid, sources uuid[], tags uuid[]) returns void
language plpgsql set search_path = '' as $$
begin
  with lent as (
    delete from private.merged_tags j
    using (
      select distinct on (o.tag_id) o.source_id, o.tag_id
      from private.merge_tree(root) t join private.merged_tags o on o.source_id = t.source_id
      where o.source_id = any (sources) and (tags is null or o.tag_id in (select unnest(tags)))
        and not exists (select from public.submission_tags r where r.submission_id = root and r.tag_id = o.tag_id)
      order by o.tag_id, t.path) first
    where j.source_id = first.source_id and j.tag_id = first.tag_id
    returning j.*)
  insert into public.submission_tags (organization_id, submission_id, tag_id, merged_from)
  select l.organization_id, root, l.tag_id, l.source_id from lent l;
end
$$;
comment on function private.lend_tags(uuid, uuid[], uuid[]) is 'As lend_votes, tags.';

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
  update public.comments c set submission_id = target_id, is_public = s.is_public and c.moderation_state = 'approved'
  from public.submissions s where s.id = target_id and c.id = any (threads);
end
$$;
comment on function private.move_threads(uuid[], uuid) is 'Takes top-level comments with all replies to another submission; the votes for them follow by their foreign key.';

create function private.recount(ids uuid[]) returns void
language plpgsql set search_path = '' as $$
begin
  update public.submissions s set
    vote_count = (select count(*) from public.votes v where v.submission_id = s.id),
    comment_count = (select count(*) from public.comments c where c.submission_id = s.id and c.moderation_state = 'approved'),
    updated_at = now()
  where s.id = any (ids);
end
$$;
comment on function private.recount(uuid[]) is 'Counts votes and comments of submissions anew. The caller holds their locks, so nothing is added meanwhile, and what is being removed is still counted.';

create function private.lock_counts(organization_id uuid) returns void
language plpgsql set search_path = '' as $$
begin
  perform 1 from private.submission_counts c where c.organization_id = lock_counts.organization_id
  order by c.is_public, c.status, c.type, c.category_id for no key update;
end
$$;
comment on function private.lock_counts(uuid) is 'Before several submissions of an organization change their kind in one transaction, so that two of those cannot deadlock.';

create function private.announce_merge(ids uuid[]) returns void
language plpgsql set search_path = '' as $$
begin
  perform private.emit_event(s.organization_id, 'submission.updated', s.id, private.updated_submission(s))
  from public.submissions s where s.id = any (ids) and s.moderation_state = 'approved' order by s.id;
end
$$;
comment on function private.announce_merge(uuid[]) is 'submission.updated for all whose counts or target changed; votes and comments that moved have no events of theirs.';

create function private.moderated(organization_id uuid, is_public boolean, author_id uuid, what text, field text) returns uuid
language plpgsql stable set search_path = '' as $$
begin
  if organization_id is null or not private.in_organization(organization_id)
    or not private.can_see_submission(is_public, author_id, organization_id, private.caller_id(), private.team_organization_ids())
    or private.is_key() and organization_id <> private.key_organization_id() then
    perform private.raise_error('NOT_FOUND', format('There is no such %s.', what), field);
  end if;
  perform private.require_admin(organization_id, 'submissions:moderate');
  return organization_id;
end
$$;
comment on function private.moderated(uuid, boolean, uuid, text, text) is 'The organization of a row the caller moderates; NOT_FOUND where they do not see it, FORBIDDEN where they are no admin. For definers.';

create function private.moderated_organization(submission_id uuid, field text) returns uuid
language plpgsql stable set search_path = '' as $$
declare submission public.submissions;
begin
  select * into submission from public.submissions s where s.id = submission_id;
  return private.moderated(submission.organization_id, submission.is_public, submission.author_id, 'submission', field);
end
$$;
comment on function private.moderated_organization(uuid, text) is 'The same of a submission by its id.';

-- definer: moves what belongs to others.
create function private.admin_merge(source_ids uuid[], target_id uuid) returns json
language plpgsql security definer set search_path = '' as $$
declare
  own_id uuid := private.moderated_organization(target_id, 'target_id');
  categories uuid[] := private.agent_category_ids();
  event uuid := gen_random_uuid();
  grandchildren uuid[];
  submission public.submissions;
  found_ids uuid[] := '{}';
begin
  perform 1 from public.organizations where id = own_id for no key update;
  source_ids := array(select id from unnest(source_ids) with ordinality as s (id, place) group by id order by min(place));
  if target_id = any (source_ids) then
    perform private.raise_error('VALIDATION_ERROR', 'A submission cannot be merged into itself.', 'source_ids');
  end if;
  grandchildren := array(select s.id from public.submissions s where s.organization_id = own_id and s.merged_into_id = any (source_ids));
  for submission in
    select * from public.submissions s
    where s.organization_id = own_id and s.id = any (source_ids || grandchildren || target_id) order by s.id for no key update
  loop
    continue when submission.id <> all (source_ids || target_id);
    -- What a policy keeps an agent from does not exist for it, in a definer neither.
    continue when categories is not null and not coalesce(submission.category_id = any (categories), false);
    found_ids := found_ids || submission.id;
    if submission.merged_into_id is not null then
      perform private.raise_error('SUBMISSION_MERGED', 'It was merged already: unmerge it first, or name the one it was merged into.',
        case when submission.id = target_id then 'target_id' else 'source_ids' end, jsonb_build_object('merged_into_id', submission.merged_into_id));
    elsif submission.moderation_state <> 'approved' then
      perform private.raise_error('CONFLICT', 'Only approved submissions are merged: approve it first.',
        case when submission.id = target_id then 'target_id' else 'source_ids' end);
    end if;
  end loop;
  if not found_ids @> (source_ids || target_id) then
    perform private.raise_error('NOT_FOUND', 'There is no such submission.', case when target_id = any (found_ids) then 'source_ids' else 'target_id' end);
  end if;

  perform set_config('feedback.quiet', 'on', true);
  insert into private.merges (source_id, organization_id, parent_id, event_id, previous_status)
  select s.id, own_id, admin_merge.target_id, event, s.status
  from public.submissions s where s.id = any (source_ids) order by array_position(source_ids, s.id);
  insert into public.status_changes (organization_id, submission_id, previous_status, new_status, changed_by, notify)
  select own_id, m.source_id, m.previous_status, 'duplicate', private.caller_id(), false from private.merges m where m.event_id = event order by m.place;
  with double as (
    delete from public.votes v
    where v.submission_id = any (source_ids) and exists (
      select from (
        select t.user_id, 0 as place from public.votes t where t.submission_id = admin_merge.target_id
        union all
        select o.user_id, array_position(source_ids, o.submission_id) from public.votes o where o.submission_id = any (source_ids)) first
      where first.user_id = v.user_id and first.place < array_position(source_ids, v.submission_id))
    returning case when v.merged_from = any (grandchildren) then v.merged_from else v.submission_id end as source_id,
      v.user_id, v.organization_id, v.id, v.created_at)
  insert into private.merged_votes (source_id, user_id, organization_id, id, created_at) select * from double;
  update public.votes v set submission_id = admin_merge.target_id,
    merged_from = case when v.merged_from = any (grandchildren) then v.merged_from else v.submission_id end
  where v.submission_id = any (source_ids);

  with gone as (
    delete from public.submission_tags st where st.submission_id = any (source_ids)
    returning case when st.merged_from = any (grandchildren) then st.merged_from else st.submission_id end as source_id,
      st.tag_id, st.organization_id)
  insert into private.merged_tags (source_id, tag_id, organization_id) select * from gone;
  perform private.lend_tags(target_id, source_ids || grandchildren, null);

  insert into private.merged_comments (source_id, comment_id, organization_id)
  select c.submission_id, c.id, c.organization_id from public.comments c where c.submission_id = any (source_ids) and c.parent_id is null
  on conflict do nothing;
  perform private.move_threads(array(
    select c.id from public.comments c where c.submission_id = any (source_ids) and c.parent_id is null), target_id);
  perform set_config('feedback.quiet', 'off', true);

  perform private.lock_counts(own_id);
  update public.submissions set status = 'duplicate', merged_into_id = admin_merge.target_id where id = any (source_ids || grandchildren);
  perform private.recount(source_ids || target_id);
  perform private.announce_merge(source_ids || target_id);
  perform private.notify_merge(own_id, target_id, event);
  perform private.audit('submission.merge', 'submission', target_id, jsonb_build_object('source_ids', source_ids), own_id);
  return (select json_build_object('target_id', s.id, 'source_ids', source_ids, 'vote_count', s.vote_count, 'comment_count', s.comment_count)
    from public.submissions s where s.id = target_id);
end
$$;
comment on function private.admin_merge(uuid[], uuid) is 'Merges submissions into another: votes, tags and threads go there, once each, and who follows them hears of it; the sources leave the lists and point there, and so do those merged into them before. For admins, or keys with submissions:moderate.';

-- definer: as above.
create function private.admin_unmerge(submission_id uuid) returns json
language plpgsql security definer set search_path = '' as $$
#variable_conflict use_variable
declare
  source_id uuid := submission_id;
  own_id uuid := private.moderated_organization(source_id, 'submission_id');
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
  others := array(select t.source_id from private.merge_tree(root) t where t.source_id <> source_id and t.source_id <> all (subtree));
  perform 1 from public.submissions s where s.id = any (subtree || source_id || root) order by s.id for no key update;
  select * into undone from private.merges m where m.source_id = source_id;
  if undone.source_id is null then
    perform private.raise_error('NOT_FOUND', 'There is no such submission.', 'submission_id');
  end if;

  perform set_config('feedback.quiet', 'on', true);
  insert into public.status_changes (organization_id, submission_id, previous_status, new_status, changed_by, notify)
  values (own_id, source_id, 'duplicate', undone.previous_status, private.caller_id(), false);
  with back as (
    update public.votes v set submission_id = source_id, merged_from = nullif(v.merged_from, source_id)
    where v.submission_id = root and v.merged_from = any (subtree || source_id)
    returning v.user_id)
  select array_agg(b.user_id) into vacant from back b;
  insert into public.votes (organization_id, submission_id, id, user_id, created_at)
  select j.organization_id, j.source_id, j.id, j.user_id, j.created_at from private.merged_votes j where j.source_id = source_id;
  perform private.lend_votes(source_id, subtree, null);
  perform private.lend_votes(root, others, coalesce(vacant, '{}'));

  -- A source may have been given the tag anew while it was merged.
  delete from public.submission_tags st using public.submission_tags o
  where st.submission_id = source_id and o.submission_id = root and o.merged_from = any (subtree || source_id) and o.tag_id = st.tag_id;
  with back as (
    update public.submission_tags st set submission_id = source_id, merged_from = nullif(st.merged_from, source_id)
    where st.submission_id = root and st.merged_from = any (subtree || source_id)
    returning st.tag_id)
  select array_agg(b.tag_id) into vacant from back b;
  insert into public.submission_tags (organization_id, submission_id, tag_id)
  select j.organization_id, j.source_id, j.tag_id from private.merged_tags j where j.source_id = source_id
  on conflict do nothing;
  perform private.lend_tags(source_id, subtree, null);
  perform private.lend_tags(root, others, coalesce(vacant, '{}'));

  perform private.move_threads(array(
    select j.comment_id from private.merged_comments j where j.source_id = any (subtree || source_id)), source_id);
  perform set_config('feedback.quiet', 'off', true);

  perform private.lock_counts(own_id);
  delete from private.merges m where m.source_id = source_id;
  update public.submissions s set status = undone.previous_status, merged_into_id = null where s.id = source_id;
  update public.submissions s set merged_into_id = source_id where s.id = any (subtree);
  perform private.recount(array[source_id, root]);
  perform private.announce_merge(array[source_id, root]);
  perform private.audit('submission.unmerge', 'submission', source_id, jsonb_build_object('target_id', root), own_id);
  return (select json_build_object('submission_id', s.id, 'target_id', root, 'status', s.status, 'vote_count', s.vote_count, 'comment_count', s.comment_count)
    from public.submissions s where s.id = source_id);
end
$$;
comment on function private.admin_unmerge(uuid) is 'Gives a merged submission back what it had, and those merged into it before; what came to the target since stays there, but replies stay with their thread, and a vote or follow taken back there stays taken back.';
grant execute on function private.admin_merge(uuid[], uuid), private.admin_unmerge(uuid) to authenticated, service_key;

-- What an organization's team sets: who may, and how others hear of it.

-- definer: a private organization can be seen by its members before any policy is asked.
create function private.seen_organization(organization_id uuid) returns uuid
language plpgsql stable security definer set search_path = '' as $$
begin
  if not private.in_organization(organization_id) or (case when private.is_key() then organization_id is distinct from private.key_organization_id()
      else private.find_organization(organization_id::text, private.caller_id()) is null end) then
    perform private.raise_error('NOT_FOUND', 'There is no such organization.');
  end if;
  return organization_id;
end
$$;
comment on function private.seen_organization(uuid) is 'An organization a path names, if the caller may see it; NOT_FOUND otherwise.';

create function private.administered_organization(organization_id uuid, scope text) returns uuid
language plpgsql stable set search_path = '' as $$
begin
  perform private.require_admin(private.seen_organization(organization_id), scope);
  return organization_id;
end
$$;
comment on function private.administered_organization(uuid, text) is 'An organization a path names, if the caller administers it; NOT_FOUND where they do not see it, FORBIDDEN where they are no admin.';

create function private.team_organization(organization_id uuid, scope text) returns uuid
language plpgsql stable set search_path = '' as $$
begin
  if private.is_key() or not private.is_member(private.seen_organization(organization_id), private.caller_id()) then
    perform private.administered_organization(organization_id, scope);
  end if;
  return organization_id;
end
$$;
comment on function private.team_organization(uuid, text) is 'An organization a path names, if the caller is on its team, or a key with the scope; NOT_FOUND or FORBIDDEN otherwise.';

-- How others hear of it ----------------------------------------------------------------------------------------

create function private.emit_organization_update(organization_id uuid, changed text[], changes jsonb default '{}') returns void
language plpgsql set search_path = '' as $$
begin
  perform private.emit_event(o.id, 'org.updated', o.id, jsonb_build_object(
    'organization', jsonb_build_object('id', o.id, 'slug', o.slug, 'name', o.name), 'changed', changed, 'changes', changes))
  from public.organizations o where o.id = emit_organization_update.organization_id;
end
$$;
comment on function private.emit_organization_update(uuid, text[], jsonb) is 'org.updated: settings, or categories, tags or members, changed. For definers.';

-- definer: writes the event and the trail.
create function private.announce_organization() returns trigger
language plpgsql security definer set search_path = '' as $$
declare changed text[]; changes jsonb;
begin
  -- The team's own settings may hold anything, so that only their names are told.
  select array_agg(n.key order by n.key), coalesce(jsonb_object_agg(n.key, jsonb_build_object('from', o.value, 'to', n.value)) filter (where n.key <> 'settings'), '{}')
  into changed, changes
  from jsonb_each(to_jsonb(new)) n join jsonb_each(to_jsonb(old)) o using (key)
  where n.value <> o.value and n.key <> 'updated_at';
  perform private.emit_organization_update(new.id, changed, changes);
  perform private.audit('organization.update', 'organization', new.id, jsonb_build_object('changed', changed, 'changes', changes), new.id);
  return null;
end
$$;
comment on function private.announce_organization() is 'Trigger: org.updated and the trail say what changed, from what to what.';
create trigger announce after update on public.organizations
  for each row when ((old.slug, old.name, old.visibility, old.is_default, old.require_approval, old.trust_after, old.anonymous_may, old.time_zone, old.allowed_origins, old.settings,
      old.max_submissions, old.max_members, old.max_surveys)
    is distinct from (new.slug, new.name, new.visibility, new.is_default, new.require_approval, new.trust_after, new.anonymous_may, new.time_zone, new.allowed_origins, new.settings,
      new.max_submissions, new.max_members, new.max_surveys))
  execute function private.announce_organization();

-- What the team asks -------------------------------------------------------------------------------------------

create function private.organization_shape(organization public.organizations) returns json
language plpgsql stable set search_path = '' as $$
begin
  return json_build_object('id', organization.id, 'slug', organization.slug, 'name', organization.name, 'visibility', organization.visibility,
    'require_approval', organization.require_approval, 'trust_after', organization.trust_after,
    'anonymous_may', organization.anonymous_may, 'time_zone', organization.time_zone, 'settings', organization.settings,
    'role', (select m.role from public.memberships m where m.organization_id = organization.id and m.user_id = private.caller_id()),
    'plan', json_build_object(
      'submissions', (select coalesce(sum(c.total), 0) from private.submission_counts c where c.organization_id = organization.id)
        + (select count(*) from public.submissions s where s.organization_id = organization.id and s.merged_into_id is not null),
      'max_submissions', organization.max_submissions,
      'members', (select count(*) from public.memberships m where m.organization_id = organization.id),
      'max_members', organization.max_members,
      'surveys', (select count(distinct s.family_id) from public.surveys s where s.organization_id = organization.id and s.status <> 'archived'),
      'max_surveys', organization.max_surveys),
    'created_at', organization.created_at, 'updated_at', organization.updated_at);
end
$$;
comment on function private.organization_shape(public.organizations) is 'An organization as its team sees it, with the caller''s role and what the plan allows.';

-- definer: settings are not granted.
create function private.admin_organization(organization_id uuid) returns json
language plpgsql stable security definer set search_path = '' as $$
declare own_id uuid := private.team_organization(organization_id, 'organization:write');
begin
  return (select private.organization_shape(o) from public.organizations o where o.id = own_id);
end
$$;
comment on function private.admin_organization(uuid) is 'An organization, for its team and keys with organization:write.';

create function private.admin_update_organization(organization_id uuid, fields jsonb) returns json
language plpgsql security definer set search_path = '' as $$ -- definer: as above
declare own_id uuid := private.administered_organization(organization_id, 'organization:write');
begin
  if not coalesce(private.is_time_zone(fields ->> 'time_zone'), true) then
    perform private.raise_error('VALIDATION_ERROR', 'must be a time zone such as Europe/Berlin', 'time_zone');
  end if;
  -- What the board's submissions turn into is written with them: the strongest lock comes first.
  perform 1 from public.organizations o where o.id = own_id for update;
  update public.organizations o set
    name = coalesce(fields ->> 'name', o.name), slug = coalesce(fields ->> 'slug', o.slug),
    visibility = coalesce(fields ->> 'visibility', o.visibility),
    require_approval = coalesce((fields ->> 'require_approval')::boolean, o.require_approval),
    trust_after = case when fields ? 'trust_after' then (fields ->> 'trust_after')::integer else o.trust_after end,
    anonymous_may = coalesce(fields ->> 'anonymous_may', o.anonymous_may),
    time_zone = coalesce(fields ->> 'time_zone', o.time_zone),
    settings = coalesce((select jsonb_object_agg(s.key, s.value) from jsonb_each(o.settings || coalesce(fields -> 'settings', '{}')) s
      where s.value <> 'null'), '{}')
  where o.id = own_id;
  return (select private.organization_shape(o) from public.organizations o where o.id = own_id);
exception
  when unique_violation then
    perform private.raise_error('CONFLICT', 'Another organization has this slug.', 'slug');
  when check_violation then
    perform private.raise_error('VALIDATION_ERROR', 'must be an object of at most 20,000 bytes as JSON', 'settings');
end
$$;
comment on function private.admin_update_organization(uuid, jsonb) is 'Sets the fields that are there; of settings the names that are there, null removing one. Admins, or keys with organization:write.';

grant execute on function private.admin_organization(uuid), private.admin_update_organization(uuid, jsonb) to authenticated, service_key;

-- How an organization's admins keep its categories and tags. `kind` is one of the two tables.

create function private.require_librarian(kind text) returns uuid
language plpgsql stable set search_path = '' as $$
declare own_id uuid := private.current_organization_id();
begin
  perform private.require_admin(own_id, 'organization:write');
  if kind not in ('categories', 'tags') then
    perform private.raise_error('NOT_FOUND', 'There is no such kind.');
  end if;
  return own_id;
end
$$;
comment on function private.require_librarian(text) is 'The current organization, for its admins and keys with organization:write; FORBIDDEN otherwise.';

create function private.label_noun(kind text) returns text
language sql immutable
return case kind when 'categories' then 'category' else 'tag' end;
comment on function private.label_noun(text) is 'What one of a kind is called.';

create function private.label_shape(label jsonb) returns jsonb
language sql immutable
return label - 'organization_id';
comment on function private.label_shape(jsonb) is 'A category or tag as admins see it, with all its translations.';

create function private.find_label(kind text, organization_id uuid, label_id uuid, stays boolean default false) returns jsonb
language plpgsql set search_path = '' as $$
declare label jsonb;
begin
  execute format('select to_jsonb(l) from public.%I l where l.organization_id = $1 and l.id = $2 for %s', kind,
    case when stays then 'key share' else 'update' end)
  into label using organization_id, label_id;
  if label is null then
    perform private.raise_error('NOT_FOUND', format('There is no such %s.', private.label_noun(kind)), case when stays then 'into_id' end);
  end if;
  return label;
end
$$;
comment on function private.find_label(text, uuid, uuid, boolean) is 'A category or tag, locked: what would point to it waits, unless it stays.';

create function private.free_slug(kind text, organization_id uuid, name text) returns text
language plpgsql stable set search_path = '' as $$
declare
  base text := btrim(left(btrim(regexp_replace(private.plain_text(name), '[^a-z0-9]+', '-', 'g'), '-'), 56), '-');
  slug text;
  taken boolean;
begin
  -- A name without Latin letters.
  if base = '' then base := private.label_noun(kind); end if;
  for number in 1..1000 loop
    slug := base || case when number = 1 then '' else '-' || number end;
    execute format('select exists (select from public.%I l where l.organization_id = $1 and l.slug = $2)', kind) into taken using organization_id, slug;
    exit when not taken;
  end loop;
  return slug;
end
$$;
comment on function private.free_slug(text, uuid, text) is 'A slug of the name that no other category or tag of the organization has.';

create function private.tell_of_label(kind text, organization_id uuid, action text, label_id uuid, details jsonb default '{}') returns void
language plpgsql set search_path = '' as $$
begin
  perform private.emit_organization_update(organization_id, array[kind]);
  perform private.audit(private.label_noun(kind) || '.' || action, private.label_noun(kind), label_id, details, organization_id);
end
$$;
comment on function private.tell_of_label(text, uuid, text, uuid, jsonb) is 'The event and the trail of a change to categories or tags.';

-- definer: categories and tags are granted to clients for reading only.
create function private.admin_labels(kind text) returns json
language plpgsql stable security definer set search_path = '' as $$
declare own_id uuid := private.require_librarian(kind); labels json;
begin
  execute format('select coalesce(json_agg(private.label_shape(to_jsonb(l)) order by %s), ''[]'') from public.%I l where l.organization_id = $1',
    case kind when 'categories' then 'l.position, l.slug' else 'l.slug' end, kind) into labels using own_id;
  return labels;
end
$$;
comment on function private.admin_labels(text) is 'All categories or tags of the current organization, with their translations.';

create function private.admin_create_label(kind text, fields jsonb) returns jsonb
language plpgsql security definer set search_path = '' as $$ -- definer: as above
declare own_id uuid := private.require_librarian(kind); label jsonb; used bigint; last integer;
begin
  -- The organization's lock, so that two of the same name do not get the same slug.
  perform 1 from public.organizations o where o.id = own_id for no key update;
  execute format('select count(*) from public.%I l where l.organization_id = $1', kind) into used using own_id;
  if used >= 1000 then
    perform private.raise_error('CONFLICT', format('There are 1,000 %s, which is as many as there can be: merge or delete some.', kind));
  end if;
  fields := jsonb_build_object('slug', private.free_slug(kind, own_id, fields ->> 'name')) || jsonb_strip_nulls(fields);
  last := (select coalesce(max(c.position), -1) from public.categories c where c.organization_id = own_id);
  execute format('insert into public.%1$I as l select (jsonb_populate_record(null::public.%1$I, $1)).* returning to_jsonb(l)', kind)
  into label using jsonb_build_object('id', gen_random_uuid(), 'color', '#6b7280', 'translations', '{}'::jsonb, 'position', last + 1, 'created_at', now())
    || fields || jsonb_build_object('organization_id', own_id);
  perform private.tell_of_label(kind, own_id, 'create', (label ->> 'id')::uuid, jsonb_build_object('slug', label -> 'slug'));
  return private.label_shape(label);
exception when unique_violation then
  perform private.raise_error('CONFLICT', format('Another %s has this slug.', private.label_noun(kind)), 'slug');
end
$$;
comment on function private.admin_create_label(text, jsonb) is 'Makes a category or tag of the current organization; without a slug it takes one from its name, without a position the last.';

create function private.admin_update_label(kind text, label_id uuid, fields jsonb) returns jsonb
language plpgsql security definer set search_path = '' as $$ -- definer: as above
declare own_id uuid := private.require_librarian(kind); before jsonb; label jsonb; changes jsonb;
begin
  perform 1 from public.organizations o where o.id = own_id for no key update;
  before := private.find_label(kind, own_id, label_id);
  -- null removes a translation.
  fields := jsonb_strip_nulls(fields || jsonb_build_object('translations', (before -> 'translations') || coalesce(fields -> 'translations', '{}')));
  execute format('update public.%I l set (name, slug, color, translations%s) = (
      select r.name, r.slug, r.color, r.translations%s from jsonb_populate_record(l, $2) r) where l.id = $1 returning to_jsonb(l)',
    kind, case kind when 'categories' then ', position' end, case kind when 'categories' then ', r.position' end)
  into label using label_id, fields;
  changes := (select jsonb_object_agg(n.key, jsonb_build_object('from', o.value, 'to', n.value))
    from jsonb_each(label) n join jsonb_each(before) o using (key) where n.value <> o.value);
  if changes is not null then perform private.tell_of_label(kind, own_id, 'update', label_id, changes); end if;
  return private.label_shape(label);
exception when unique_violation then
  perform private.raise_error('CONFLICT', format('Another %s has this slug.', private.label_noun(kind)), 'slug');
end
$$;
comment on function private.admin_update_label(text, uuid, jsonb) is 'Sets the fields that are there of a category or tag; of translations the locales that are there, null removing one.';

create function private.admin_order_categories(ids uuid[]) returns json
language plpgsql security definer set search_path = '' as $$ -- definer: as above
declare own_id uuid := private.require_librarian('categories');
begin
  perform 1 from public.organizations o where o.id = own_id for no key update;
  if exists (select from unnest(ids) as wanted where wanted not in (select c.id from public.categories c where c.organization_id = own_id)) then
    perform private.raise_error('NOT_FOUND', 'There is no such category.', 'ids');
  end if;
  with placed as (
    select c.id, row_number() over (order by array_position(ids, c.id) nulls last, c.position, c.slug) - 1 as position
    from public.categories c where c.organization_id = own_id)
  update public.categories c set position = p.position from placed p where p.id = c.id and c.position <> p.position;
  if found then perform private.tell_of_label('categories', own_id, 'order', null); end if;
  return private.admin_labels('categories');
end
$$;
comment on function private.admin_order_categories(uuid[]) is 'The order categories are shown in: these first, then the others as they stood.';

-- A label goes with what is filed under it, so many at a time: with more of them the rest is the schedule's. Nobody is told
-- of each submission, org.updated tells of the label.
create table private.retired_labels (
  label_id uuid primary key,
  organization_id uuid not null references public.organizations (id) on delete cascade,
  kind text not null,
  into_id uuid,
  retired_at timestamptz not null default now(),
  constraint kind_is_known check (kind in ('categories', 'tags'))
);
comment on table private.retired_labels is 'Categories and tags that were deleted or merged, and still have submissions: the schedule moves them to into_id, or to none, and then deletes the label.';
create index retired_labels_organization_idx on private.retired_labels (organization_id);
alter table private.retired_labels enable row level security;
revoke all on private.retired_labels from public, anon, authenticated, service_role, service_key;

create function private.file_under(organization_id uuid, from_id uuid, to_id uuid, batch integer) returns integer
language plpgsql set search_path = '' as $$
declare ids uuid[];
begin
  -- What somebody else holds comes with a later batch: nothing waits for a submission here.
  ids := array(select s.id from public.submissions s
    where s.organization_id = file_under.organization_id and s.category_id = from_id limit batch for no key update skip locked);
  if ids = '{}' then return 0; end if;
  perform private.lock_counts(organization_id);
  perform set_config('feedback.quiet', 'on', true);
  update public.submissions s set category_id = to_id where s.id = any (ids);
  perform set_config('feedback.quiet', 'off', true);
  insert into private.submission_counts as c (organization_id, is_public, status, type, category_id, total)
  select s.organization_id, s.is_public, s.status, s.type, m.category_id, sum(m.change)
  from public.submissions s cross join (values (from_id, -1), (to_id, 1)) m (category_id, change)
  where s.id = any (ids) and s.merged_into_id is null group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5
  on conflict on constraint one_count_of_a_kind do update set total = c.total + excluded.total;
  return cardinality(ids);
end
$$;
comment on function private.file_under(uuid, uuid, uuid, integer) is 'Moves a batch of the submissions of a category to another, or to none; how many.';

create function private.tag_instead(organization_id uuid, from_id uuid, to_id uuid, batch integer) returns integer
language plpgsql set search_path = '' as $$
declare ids uuid[];
begin
  ids := array(select st.submission_id from public.submission_tags st join public.submissions s on s.id = st.submission_id
    where st.organization_id = tag_instead.organization_id and st.tag_id = from_id limit batch
    for key share of s skip locked for update of st skip locked);
  -- A tag of the submission's own goes before one that a merge lent it, which is in the journal from then on.
  insert into private.merged_tags (source_id, tag_id, organization_id)
  select coalesce(f.merged_from, t.merged_from), to_id, f.organization_id
  from public.submission_tags f join public.submission_tags t on t.submission_id = f.submission_id and t.tag_id = to_id
  where f.submission_id = any (ids) and f.tag_id = from_id and f.merged_from is distinct from t.merged_from
  on conflict do nothing;
  insert into public.submission_tags as st (organization_id, submission_id, tag_id, merged_from)
  select f.organization_id, f.submission_id, to_id, f.merged_from from public.submission_tags f
  where f.submission_id = any (ids) and f.tag_id = from_id and to_id is not null order by f.submission_id
  on conflict on constraint one_of_each_tag do update set merged_from = null where excluded.merged_from is null;
  -- What merges remember of the tag is not forgotten: it moves with the last batch, or goes with the label.
  perform set_config('feedback.quiet', 'on', true);
  delete from public.submission_tags st where st.submission_id = any (ids) and st.tag_id = from_id;
  perform set_config('feedback.quiet', 'off', true);
  return cardinality(ids);
end
$$;
comment on function private.tag_instead(uuid, uuid, uuid, integer) is 'Gives a batch of what carries a tag another, or none; how many.';

create function private.retire_label(kind text, organization_id uuid, label_id uuid, into_id uuid, batch integer default 2000) returns integer
language plpgsql set search_path = '' as $$
declare moved integer; is_left boolean;
begin
  if kind = 'categories' then
    moved := private.file_under(organization_id, label_id, into_id, batch);
    is_left := exists (select from public.submissions s where s.organization_id = retire_label.organization_id and s.category_id = label_id);
  else
    moved := private.tag_instead(organization_id, label_id, into_id, batch);
    is_left := exists (select from public.submission_tags st where st.organization_id = retire_label.organization_id and st.tag_id = label_id);
  end if;
  if is_left then
    insert into private.retired_labels as r (label_id, organization_id, kind, into_id) values (label_id, organization_id, kind, into_id)
    on conflict on constraint retired_labels_pkey do update set into_id = excluded.into_id;
    return moved;
  end if;
  -- Also what unmerging would bring back.
  insert into private.merged_tags (source_id, tag_id, organization_id)
  select j.source_id, into_id, j.organization_id from private.merged_tags j
  where kind = 'tags' and into_id is not null and j.organization_id = retire_label.organization_id and j.tag_id = label_id
  on conflict do nothing;
  execute format('delete from public.%I l where l.id = $1', kind) using label_id;
  delete from private.retired_labels r where r.label_id = retire_label.label_id;
  return moved;
end
$$;
comment on function private.retire_label(text, uuid, uuid, uuid, integer) is 'Moves a batch of what has a category or tag, and deletes it where none is left; how many. The caller holds the organization and the label locked, so that nothing new comes to it.';

create function private.run_retirements() returns integer
language plpgsql set search_path = '' as $$
declare retired private.retired_labels; is_there boolean; is_free boolean; moved integer := 0;
begin
  -- The organization first, as everywhere; who holds it or the label is not waited for.
  for retired in
    select r.* from private.retired_labels r join public.organizations o on o.id = r.organization_id
    order by r.retired_at, r.label_id limit 1 for no key update of o skip locked
  loop
    execute format('select exists (select from public.%I l where l.id = $1)', retired.kind) into is_there using retired.label_id;
    execute format('select true from public.%I l where l.id = $1 for update skip locked', retired.kind) into is_free using retired.label_id;
    if is_free then
      execute format('select l.id from public.%I l where l.id = $1', retired.kind) into retired.into_id using retired.into_id;
      moved := private.retire_label(retired.kind, retired.organization_id, retired.label_id, retired.into_id);
      execute format('select exists (select from public.%I l where l.id = $1)', retired.kind) into is_there using retired.label_id;
      if not is_there then perform private.emit_organization_update(retired.organization_id, array[retired.kind]); end if;
    end if;
    if not is_there then delete from private.retired_labels r where r.label_id = retired.label_id; end if;
  end loop;
  return moved;
end
$$;
comment on function private.run_retirements() is 'A batch of the oldest deletion or merge of a category or tag that was too large for one request; how many submissions it moved.';

create function private.admin_delete_label(kind text, label_id uuid) returns void
language plpgsql security definer set search_path = '' as $$ -- definer: as above
declare own_id uuid := private.require_librarian(kind); label jsonb;
begin
  perform 1 from public.organizations o where o.id = own_id for no key update;
  label := private.find_label(kind, own_id, label_id);
  update private.retired_labels r set into_id = null where r.into_id = admin_delete_label.label_id;
  perform private.retire_label(kind, own_id, label_id, null);
  perform private.tell_of_label(kind, own_id, 'delete', label_id, jsonb_build_object('slug', label -> 'slug'));
end
$$;
comment on function private.admin_delete_label(text, uuid) is 'A category or tag goes; submissions stay, without it.';

create function private.admin_merge_labels(kind text, label_id uuid, into_id uuid) returns jsonb
language plpgsql security definer set search_path = '' as $$ -- definer: as above
declare own_id uuid := private.require_librarian(kind); label jsonb; target jsonb; moved bigint;
begin
  if label_id = into_id then
    perform private.raise_error('VALIDATION_ERROR', format('A %s cannot be merged into itself.', private.label_noun(kind)), 'into_id');
  end if;
  perform 1 from public.organizations o where o.id = own_id for no key update;
  label := private.find_label(kind, own_id, label_id);
  target := private.find_label(kind, own_id, into_id, true);
  if exists (select from private.retired_labels r where r.label_id = admin_merge_labels.into_id) then
    perform private.raise_error('CONFLICT', format('This %s was deleted or merged, and is about to go.', private.label_noun(kind)), 'into_id');
  end if;
  if kind = 'categories' then
    select count(*) into moved from public.submissions s where s.organization_id = own_id and s.category_id = label_id;
  else
    select count(*) into moved from public.submission_tags st where st.organization_id = own_id and st.tag_id = label_id;
  end if;
  update private.retired_labels r set into_id = admin_merge_labels.into_id where r.into_id = admin_merge_labels.label_id;
  perform private.retire_label(kind, own_id, label_id, into_id);
  perform private.tell_of_label(kind, own_id, 'merge', label_id, jsonb_build_object('slug', label -> 'slug', 'into_id', into_id, 'submissions', moved));
  return private.label_shape(target) || jsonb_build_object('moved', moved);
end
$$;
comment on function private.admin_merge_labels(text, uuid, uuid) is 'Puts everything of a category or tag under another of the same organization, and deletes it. moved: how many submissions had it.';

grant execute on function private.admin_labels(text), private.admin_create_label(text, jsonb), private.admin_update_label(text, uuid, jsonb),
  private.admin_order_categories(uuid[]), private.admin_delete_label(text, uuid), private.admin_merge_labels(text, uuid, uuid) to authenticated, service_key;

-- The team: roles, and how one joins and leaves it.
--
-- What the team is, is decided under the organization's lock: it comes before memberships and invites.

-- What always holds --------------------------------------------------------------------------------------------

-- definer: plans and members are the organization's business.
create function private.keep_owner() returns trigger
language plpgsql security definer set search_path = '' as $$
declare organization uuid;
begin
  for organization in select distinct r.organization_id from removed r where r.role = 'owner' order by 1 loop
    -- Written to, not just locked: of two that read the same owners, at any isolation, one has to wait and look again, or fails.
    update public.organizations o set updated_at = now() where o.id = organization;
    if found and not exists (select from public.memberships m where m.organization_id = organization and m.role = 'owner') then
      perform private.raise_error('CONFLICT', 'An organization keeps an owner: make somebody else owner first.', 'role');
    end if;
  end loop;
  return null;
end
$$;
comment on function private.keep_owner() is 'Trigger: the last owner neither leaves nor becomes less, by whatever way.';
create trigger keep_owner_changed after update on public.memberships
  referencing old table as removed for each statement execute function private.keep_owner();
create trigger keep_owner_removed after delete on public.memberships
  referencing old table as removed for each statement execute function private.keep_owner();

create function private.keep_member_limit() returns trigger
language plpgsql security definer set search_path = '' as $$ -- definer: as above
declare organization public.organizations; used bigint;
begin
  for organization in
    select * from public.organizations o
    where o.max_members is not null and o.id in (select organization_id from added) order by o.id for no key update
  loop
    select count(*) into used from public.memberships m where m.organization_id = organization.id;
    if used > organization.max_members then
      perform private.raise_error('PLAN_LIMIT_REACHED', format('The plan allows %s members.', organization.max_members));
    end if;
  end loop;
  return null;
end
$$;
comment on function private.keep_member_limit() is 'Trigger: a team is never larger than its plan allows.';
create trigger keep_member_limit after insert on public.memberships
  referencing new table as added for each statement execute function private.keep_member_limit();

-- Members ------------------------------------------------------------------------------------------------------

create function private.member_shape(member public.memberships, with_email boolean) returns json
language plpgsql stable set search_path = '' as $$
begin
  return (select json_build_object('user_id', p.id, 'name', coalesce(p.name, 'Anonymous'), 'avatar', p.avatar_url,
    'email', case when with_email then p.email end, 'role', member.role, 'joined_at', member.created_at)
    from public.profiles p where p.id = member.user_id);
end
$$;
comment on function private.member_shape(public.memberships, boolean) is 'Somebody on the team; the e-mail address is for admins.';

-- definer: e-mail addresses are granted to nobody.
create function private.admin_members(organization_id uuid, most integer, skipped integer) returns table (total bigint, data json)
language plpgsql stable security definer set search_path = '' as $$
declare
  own_id uuid := private.team_organization(organization_id, 'members:write');
  for_admin boolean := private.is_admin(own_id, 'members:write');
begin
  return query select
    (select count(*) from public.memberships m where m.organization_id = own_id),
    coalesce((select json_agg(private.member_shape(m, for_admin) order by array_position(array['owner', 'admin', 'member'], m.role), m.created_at, m.user_id)
      from (select * from public.memberships m where m.organization_id = own_id
        order by array_position(array['owner', 'admin', 'member'], m.role), m.created_at, m.user_id limit most offset skipped) m), '[]');
end
$$;
comment on function private.admin_members(uuid, integer, integer) is 'The team, owners first, for whoever is on it and keys with members:write; addresses for admins.';

create function private.require_person_admin(organization_id uuid) returns text
language plpgsql stable set search_path = '' as $$
begin
  if private.is_key() then
    perform private.raise_error('FORBIDDEN', 'Roles are given by people, not by keys.');
  end if;
  perform private.administered_organization(organization_id, '');
  return (select m.role from public.memberships m where m.organization_id = require_person_admin.organization_id and m.user_id = private.caller_id());
end
$$;
comment on function private.require_person_admin(uuid) is 'The role of the signed-in admin who calls; NOT_FOUND or FORBIDDEN for others.';

create function private.lock_team(organization_id uuid) returns void
language plpgsql set search_path = '' as $$
begin
  perform 1 from public.organizations o where o.id = organization_id for no key update;
end
$$;
comment on function private.lock_team(uuid) is 'Changes of one team take turns.';

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
comment on function private.find_member(uuid, uuid) is 'Somebody on the team, locked; NOT_FOUND otherwise.';

create function private.tell_of_member(organization_id uuid, action text, user_id uuid, details jsonb) returns void
language plpgsql set search_path = '' as $$
begin
  perform private.emit_organization_update(organization_id, '{members}');
  perform private.audit(action, 'profile', user_id, details, organization_id);
end
$$;
comment on function private.tell_of_member(uuid, text, uuid, jsonb) is 'The event and the trail of a change of the team.';

-- definer: memberships are granted to clients for reading only.
create function private.admin_change_role(organization_id uuid, user_id uuid, role text) returns json
language plpgsql security definer set search_path = '' as $$
declare member public.memberships; own_role text; former text;
begin
  perform private.seen_organization(organization_id);
  perform private.lock_team(organization_id);
  own_role := private.require_person_admin(organization_id);
  member := private.find_member(organization_id, user_id);
  if own_role <> 'owner' and 'owner' in (member.role, role) then
    perform private.raise_error('FORBIDDEN', 'Only an owner makes somebody owner or changes what an owner is.');
  end if;
  former := member.role;
  if former <> role then
    update public.memberships m set role = admin_change_role.role
    where m.organization_id = admin_change_role.organization_id and m.user_id = admin_change_role.user_id returning m.* into member;
    perform private.tell_of_member(organization_id, 'member.change_role', user_id, jsonb_build_object('role', jsonb_build_object('from', former, 'to', role)));
  end if;
  return private.member_shape(member, true);
end
$$;
comment on function private.admin_change_role(uuid, uuid, text) is 'Gives a member another role. Admins change admins and members, owners everybody; keys nobody.';

create function private.admin_remove_member(organization_id uuid, user_id uuid) returns void
language plpgsql security definer set search_path = '' as $$ -- definer: as above
declare member public.memberships; leaves boolean := not private.is_key() and user_id = private.caller_id();
begin
  perform private.team_organization(organization_id, 'members:write');
  perform private.lock_team(organization_id);
  if not leaves then perform private.administered_organization(organization_id, 'members:write'); end if;
  member := private.find_member(organization_id, user_id);
  if not leaves and (case when private.is_key() then member.role <> 'member'
      else member.role = 'owner' and private.require_person_admin(organization_id) <> 'owner' end) then
    perform private.raise_error('FORBIDDEN', case when private.is_key() then 'A key removes plain members only.' else 'Only an owner removes an owner.' end);
  end if;
  delete from public.memberships m where m.organization_id = member.organization_id and m.user_id = member.user_id;
  perform private.tell_of_member(organization_id, case when leaves then 'member.leave' else 'member.remove' end, user_id, jsonb_build_object('role', member.role));
end
$$;
comment on function private.admin_remove_member(uuid, uuid) is 'Somebody leaves the team, or is removed: by an admin, an owner by an owner only, a plain member by a key with members:write too.';

create function private.admin_transfer_ownership(organization_id uuid, user_id uuid) returns json
language plpgsql security definer set search_path = '' as $$ -- definer: as above
declare member public.memberships; own_id uuid := private.caller_id();
begin
  perform private.seen_organization(organization_id);
  perform private.lock_team(organization_id);
  if private.require_person_admin(organization_id) <> 'owner' then
    perform private.raise_error('FORBIDDEN', 'Only an owner transfers the organization.');
  end if;
  member := private.find_member(organization_id, user_id);
  if user_id <> own_id then
    update public.memberships m set role = case when m.user_id = own_id then 'admin' else 'owner' end
    where m.organization_id = member.organization_id and m.user_id in (own_id, admin_transfer_ownership.user_id);
    perform private.tell_of_member(organization_id, 'member.transfer', user_id, jsonb_build_object('role', jsonb_build_object('from', member.role, 'to', 'owner')));
    member.role := 'owner';
  end if;
  return private.member_shape(member, true);
end
$$;
comment on function private.admin_transfer_ownership(uuid, uuid) is 'The owner who calls makes a member owner in their place, and stays as admin.';

-- Invites ------------------------------------------------------------------------------------------------------

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
comment on table private.invites is 'Who was asked to join a team, until when. Only the SHA-256 of the token is kept.';
create unique index one_open_invite_an_address on private.invites (organization_id, email) where accepted_at is null and revoked_at is null;
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
      when invite.revoked_at is not null or not private.may_still_invite(invite) then 'revoked'
      when invite.expires_at <= now() then 'expired' else 'open' end,
    'invited_by', (select json_build_object('id', p.id, 'name', coalesce(p.name, 'Anonymous')) from public.profiles p where p.id = invite.invited_by),
    'created_at', invite.created_at, 'expires_at', invite.expires_at);
end
$$;
comment on function private.invite_shape(private.invites) is 'An invite as admins see it: never the digest.';

-- definer: private tables.
create function private.admin_invites(organization_id uuid, most integer, skipped integer) returns table (total bigint, data json)
language plpgsql stable security definer set search_path = '' as $$
declare own_id uuid := private.administered_organization(organization_id, 'members:write');
begin
  return query select
    (select count(*) from private.invites i where i.organization_id = own_id),
    coalesce((select json_agg(private.invite_shape(i) order by i.created_at desc, i.id desc)
      from (select * from private.invites i where i.organization_id = own_id
        order by i.created_at desc, i.id desc limit most offset skipped) i), '[]');
end
$$;
comment on function private.admin_invites(uuid, integer, integer) is 'Invites to the team, newest first, for admins and keys with members:write.';

create function private.admin_invite(organization_id uuid, email text, role text, digest bytea) returns json
language plpgsql security definer set search_path = '' as $$ -- definer: as above
declare organization public.organizations; own_role text; address text := lower(email); invite private.invites; expected bigint;
begin
  perform private.seen_organization(organization_id);
  perform private.lock_team(organization_id);
  own_role := private.require_person_admin(organization_id);
  select * into organization from public.organizations o where o.id = organization_id;
  if role = 'owner' and own_role <> 'owner' then
    perform private.raise_error('FORBIDDEN', 'Only an owner invites an owner.', 'role');
  end if;
  if exists (select from public.memberships m join public.profiles p on p.id = m.user_id
      where m.organization_id = organization.id and lower(p.email) = address) then
    perform private.raise_error('CONFLICT', 'This person is on the team already.', 'email');
  end if;
  update private.invites i set revoked_at = now()
  where i.organization_id = organization.id and i.email = address and i.accepted_at is null and i.revoked_at is null;
  expected := (select count(*) from public.memberships m where m.organization_id = organization.id)
    + (select count(*) from private.invites i where i.organization_id = organization.id
        and i.accepted_at is null and i.revoked_at is null and i.expires_at > now() and private.may_still_invite(i));
  if expected >= organization.max_members then
    perform private.raise_error('PLAN_LIMIT_REACHED', format('The plan allows %s members, and with those invited there are %s.', organization.max_members, expected));
  end if;
  if expected >= 10000 then
    perform private.raise_error('CONFLICT', 'A team has at most 10,000 members and invites.');
  end if;
  insert into private.invites (organization_id, email, role, digest, invited_by)
  values (organization.id, address, role, digest, private.caller_id()) returning * into invite;
  perform private.audit('invite.create', 'invite', invite.id, jsonb_build_object('role', role), organization.id);
  return private.invite_shape(invite);
end
$$;
comment on function private.admin_invite(uuid, text, text, bytea) is 'Invites an address to the team for 7 days, in the place of an earlier invite of it. Its token stays with the caller. Admins invite admins and members, owners owners too.';

create function private.admin_revoke_invite(organization_id uuid, invite_id uuid) returns json
language plpgsql security definer set search_path = '' as $$ -- definer: as above
declare own_id uuid := private.administered_organization(organization_id, 'members:write'); invite private.invites;
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
comment on function private.admin_revoke_invite(uuid, uuid) is 'The token stops working; again is not an error. Null where there is no such invite.';

create function private.may_still_invite(invite private.invites) returns boolean
language plpgsql stable set search_path = '' as $$
begin
  return exists (select from public.memberships m where m.organization_id = invite.organization_id and m.user_id = invite.invited_by
    and (m.role = 'owner' or m.role = 'admin' and invite.role <> 'owner'));
end
$$;
comment on function private.may_still_invite(private.invites) is 'Whether who made an invite could make it today: one of a removed admin is worth nothing.';

create function private.accept_invite(digest bytea) returns table (joined boolean, data json)
language plpgsql security definer set search_path = '' as $$ -- definer: as above; asks for the invited address
declare invite private.invites; member public.memberships; own_id uuid := private.caller_id(); was_new boolean := false;
begin
  perform private.lock_team((select i.organization_id from private.invites i where i.digest = accept_invite.digest));
  select * into invite from private.invites i where i.digest = accept_invite.digest;
  if invite.id is null then
    perform private.raise_error('NOT_FOUND', 'There is no such invite.', 'token');
  end if;
  if not exists (select from public.profiles p where p.id = own_id and p.kind = 'user' and lower(p.email) = invite.email) then
    perform private.raise_error('FORBIDDEN', 'This invite is for another e-mail address: sign in with that one.');
  end if;
  select * into member from public.memberships m where m.organization_id = invite.organization_id and m.user_id = own_id;
  if invite.accepted_at is not null and member.user_id is null or invite.accepted_by <> own_id then
    perform private.raise_error('GONE', 'This invite was used: ask for another.', 'token');
  elsif invite.accepted_at is null then
    if invite.revoked_at is not null or invite.expires_at <= now() or not private.may_still_invite(invite) then
      perform private.raise_error('GONE', 'This invite is no longer valid: ask for another.', 'token');
    end if;
    if member.user_id is null then
      was_new := true;
      insert into public.memberships (organization_id, user_id, role) values (invite.organization_id, own_id, invite.role) returning * into member;
      perform private.emit_event(invite.organization_id, 'member.joined', own_id, (select jsonb_build_object('member', jsonb_build_object(
        'user_id', p.id, 'name', coalesce(p.name, 'Anonymous'), 'role', member.role, 'joined_at', member.created_at)) from public.profiles p where p.id = own_id));
    end if;
    update private.invites i set accepted_at = now(), accepted_by = own_id where i.id = invite.id;
    perform private.audit('invite.accept', 'invite', invite.id, jsonb_build_object('role', member.role, 'user_id', own_id), invite.organization_id);
  end if;
  return query select was_new, json_build_object(
    'organization', (select json_build_object('id', o.id, 'slug', o.slug, 'name', o.name) from public.organizations o where o.id = invite.organization_id),
    'role', member.role, 'joined_at', member.created_at);
end
$$;
comment on function private.accept_invite(bytea) is 'The signed-in person joins the team that invited their address, once; again is not an error. NOT_FOUND for an unknown token, FORBIDDEN for another''s, GONE for one that was revoked, expired or used.';

grant execute on function private.admin_members(uuid, integer, integer), private.admin_remove_member(uuid, uuid),
  private.admin_invites(uuid, integer, integer), private.admin_revoke_invite(uuid, uuid) to authenticated, service_key;
grant execute on function private.admin_change_role(uuid, uuid, text), private.admin_transfer_ownership(uuid, uuid),
  private.admin_invite(uuid, text, text, bytea), private.accept_invite(bytea) to authenticated;

-- One change for many submissions, each by itself.

create function private.bulk_item(submission_id uuid, action text, wanted text[], ids uuid[], note text, notify boolean) returns bigint
language plpgsql set search_path = '' as $$
declare changed bigint;
begin
  case action
    when 'set_status' then
      insert into public.status_changes (organization_id, submission_id, new_status, note, notify)
      select s.organization_id, s.id, wanted[1], bulk_item.note, bulk_item.notify from public.submissions s where s.id = bulk_item.submission_id;
    when 'set_category' then
      update public.submissions s set category_id = ids[1] where s.id = bulk_item.submission_id and s.category_id is distinct from ids[1];
    when 'add_tags' then
      insert into public.submission_tags (organization_id, submission_id, tag_id)
      select s.organization_id, s.id, t from public.submissions s, unnest(ids) t where s.id = bulk_item.submission_id
      on conflict do nothing;
    when 'remove_tags' then
      delete from public.submission_tags st where st.submission_id = bulk_item.submission_id and st.tag_id = any (ids);
    when 'delete' then
      delete from public.submissions s where s.id = bulk_item.submission_id;
  end case;
  get diagnostics changed = row_count;
  return changed;
end
$$;
comment on function private.bulk_item(uuid, text, text[], uuid[], text, boolean) is 'What a bulk change does to one submission, by the same tables and triggers as a single change; how many rows it changed.';

create function private.ids_of(what text, organization_id uuid, wanted text[]) returns uuid[]
language plpgsql stable set search_path = '' as $$
declare ids uuid[]; unknown text;
begin
  if what = 'category' then
    ids := array(select c.id from public.categories c where c.organization_id = ids_of.organization_id and (c.slug = any (wanted) or c.id::text = any (wanted)));
  else
    ids := array(select t.id from public.tags t where t.organization_id = ids_of.organization_id and (t.slug = any (wanted) or t.id::text = any (wanted)) order by t.id);
  end if;
  if cardinality(ids) < cardinality(wanted) then
    perform private.raise_error('VALIDATION_ERROR', format('names a %s this organization has not', what), 'value');
  end if;
  return ids;
end
$$;
comment on function private.ids_of(text, uuid, text[]) is 'Categories or tags of an organization by id or slug; VALIDATION_ERROR where one is not there.';

-- definer: the team's own; it asks for an admin.
create function private.admin_bulk(submission_ids uuid[], action text, wanted text[], note text, notify boolean) returns json
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
  -- All locks first, in their order: what follows waits for nobody who waits for us.
  perform 1 from public.submissions s where s.organization_id = own_id and s.id = any (submission_ids) order by s.id for no key update;
  perform private.lock_counts(own_id);
  for submission_id in select s.id from unnest(submission_ids) with ordinality as s (id, place) group by s.id order by min(s.place) loop
    begin
      if not exists (select from public.submissions s where s.id = submission_id and s.organization_id = own_id) then
        perform private.raise_error('NOT_FOUND', 'There is no such submission.', 'ids');
      end if;
      changed := private.bulk_item(submission_id, action, wanted, ids, note, notify);
      -- A status change tells of itself.
      if changed > 0 and action <> 'set_status' then
        perform private.audit('submission.' || action, 'submission', submission_id, jsonb_strip_nulls(jsonb_build_object(
          'value', case when action <> 'delete' then to_jsonb(wanted) end)), own_id);
      end if;
      results := results || jsonb_build_object('id', submission_id, 'ok', true, 'changed', changed > 0);
    exception when others then
      get stacked diagnostics state = returned_sqlstate, message = message_text, detail = pg_exception_detail;
      -- What is no refusal of ours is no result of one item: all of it fails.
      if state not like 'FB%' or state in ('FB500', 'FB503') then raise; end if;
      results := results || jsonb_build_object('id', submission_id, 'ok', false, 'changed', false,
        'error', jsonb_build_object('code', detail::jsonb ->> 'code', 'message', message));
    end;
  end loop;
  return results;
end
$$;
comment on function private.admin_bulk(uuid[], text, text[], text, boolean) is 'set_status, set_category, add_tags, remove_tags or delete, for submissions of the current organization; each is changed whole or not at all, and the others all the same. Admins, or keys with submissions:moderate.';
grant execute on function private.admin_bulk(uuid[], text, text[], text, boolean) to authenticated, service_key;

-- An organization as records, page by page. private.write_import takes them again, but for the team.

create function private.person_record(profile_id uuid) returns jsonb
language plpgsql stable set search_path = '' as $$
declare person public.profiles;
begin
  select * into person from public.profiles p where p.id = profile_id;
  return jsonb_build_object('author_email', person.email, 'author_name', person.name, 'author_id', case when person.email is null then
    coalesce(private.exported_id('person', person.id), person.id::text) end);
end
$$;
comment on function private.person_record(uuid) is 'A person as a record names them: by address; without one, by an id.';

create function private.exported_id(kind text, row_id uuid) returns text
language plpgsql stable set search_path = '' as $$
begin
  -- Named as where it was first exported, so that a copy of a copy is the same.
  return case kind
    when 'submission' then (select e.external_id from private.external_ids e where e.submission_id = row_id and e.source = 'feedback' order by 1 limit 1)
    when 'comment' then (select e.external_id from private.external_ids e where e.comment_id = row_id and e.source = 'feedback' order by 1 limit 1)
    when 'survey' then (select e.external_id from private.external_ids e where e.survey_id = row_id and e.source = 'feedback' order by 1 limit 1)
    when 'response' then (select e.external_id from private.external_ids e where e.response_id = row_id and e.source = 'feedback' order by 1 limit 1)
    else (select e.external_id from private.external_ids e where e.profile_id = row_id and e.source = 'feedback' order by 1 limit 1)
  end;
end
$$;
comment on function private.exported_id(text, uuid) is 'The id a row had in the export it came from; null where it came from none.';

create function private.exported_questions(survey_id uuid) returns jsonb
language plpgsql stable set search_path = '' as $$
declare named text := private.exported_id('survey', survey_id);
begin
  return coalesce((
    select jsonb_object_agg(q.id, coalesce(substr(e.external_id, char_length(named) + 2), q.id::text))
    from public.survey_questions q left join private.external_ids e on e.question_id = q.id and e.source = 'feedback'
    where q.survey_id = exported_questions.survey_id), '{}');
end
$$;
comment on function private.exported_questions(uuid) is 'The ids of a survey''s questions in an export: {id: id it had in the export it came from, else its own}.';

create function private.export_rows(organization_id uuid, what text, after text[], most integer) returns table (at text[], record jsonb)
language plpgsql stable set search_path = '' as $$
declare
  nil constant uuid := '00000000-0000-0000-0000-000000000000';
  asked_id uuid;
  left_over integer := most;
  asked jsonb;
  told integer;
  first_id uuid := case when what not in ('categories', 'tags', 'submissions', 'merged', 'surveys') then coalesce(after[1], nil::text)::uuid end;
begin
  case what
    when 'organization' then
      return query select array['1'], to_jsonb(o) - 'id' - 'is_default' || '{"kind": "organization"}'
      from public.organizations o where o.id = export_rows.organization_id and after is null;
    when 'members' then
      return query select array[m.user_id::text], jsonb_build_object('kind', 'member', 'email', p.email, 'name', p.name, 'role', m.role, 'created_at', m.created_at)
      from public.memberships m join public.profiles p on p.id = m.user_id
      where m.organization_id = export_rows.organization_id and m.user_id > first_id order by m.user_id limit most;
    when 'categories' then
      return query select array[c.slug], jsonb_build_object('kind', 'category', 'slug', c.slug, 'name', c.name, 'color', c.color,
        'position', c.position, 'translations', c.translations)
      from public.categories c where c.organization_id = export_rows.organization_id and c.slug > coalesce(after[1], '') order by c.slug limit most;
    when 'tags' then
      return query select array[t.slug], jsonb_build_object('kind', 'tag', 'slug', t.slug, 'name', t.name, 'color', t.color, 'translations', t.translations)
      from public.tags t where t.organization_id = export_rows.organization_id and t.slug > coalesce(after[1], '') order by t.slug limit most;
    when 'submissions' then
      return query select array[s.created_at::text, s.id::text], private.submission_record(s) from public.submissions s
      where s.organization_id = export_rows.organization_id and s.merged_into_id is null
        and (s.created_at, s.id) > (coalesce(after[1], '-infinity')::timestamptz, coalesce(after[2], nil::text)::uuid)
      order by s.created_at, s.id limit most;
    when 'merged' then
      return query select array[s.created_at::text, s.id::text], private.submission_record(s) from public.submissions s
      where s.organization_id = export_rows.organization_id and s.merged_into_id is not null
        and (s.created_at, s.id) > (coalesce(after[1], '-infinity')::timestamptz, coalesce(after[2], nil::text)::uuid)
      order by s.created_at, s.id limit most;
    when 'follows' then
      return query select array[s.id::text, f.user_id::text], private.person_record(f.user_id) || jsonb_build_object('kind', 'follow',
        'submission_id', coalesce(private.exported_id('submission', s.id), s.id::text), 'reason', f.reason, 'created_at', f.created_at)
      from public.submissions s join public.follows f on f.submission_id = s.id
      where s.organization_id = export_rows.organization_id and s.id >= first_id
        and (s.id, f.user_id) > (first_id, coalesce(after[2], nil::text)::uuid)
      order by s.id, f.user_id limit most;
    when 'comments' then
      -- Parents first, also where both were written at the same time.
      return query select array[s.id::text, c.created_at::text, coalesce(c.parent_id, nil)::text, c.id::text],
        private.person_record(c.author_id) || jsonb_build_object('kind', 'comment', 'id', coalesce(private.exported_id('comment', c.id), c.id::text),
        'submission_id', coalesce(private.exported_id('submission', s.id), s.id::text),
        'parent_id', coalesce(private.exported_id('comment', c.parent_id), c.parent_id::text), 'body', c.body, 'is_official', c.is_official,
        'moderation_state', c.moderation_state, 'vote_count', c.vote_count, 'created_at', c.created_at, 'updated_at', c.updated_at,
        'follow', exists (select from public.follows f where f.submission_id = s.id and f.user_id = c.author_id))
      from public.submissions s join public.comments c on c.submission_id = s.id
      where s.organization_id = export_rows.organization_id and s.id >= first_id
        and (s.id, c.created_at, coalesce(c.parent_id, nil), c.id) > (first_id, coalesce(after[2], '-infinity')::timestamptz,
          coalesce(after[3], nil::text)::uuid, coalesce(after[4], nil::text)::uuid)
      order by s.id, c.created_at, coalesce(c.parent_id, nil), c.id limit most;
    when 'votes' then
      return query select array[s.id::text, v.id::text], private.person_record(v.user_id) || jsonb_build_object('kind', 'vote',
        'submission_id', coalesce(private.exported_id('submission', s.id), s.id::text), 'created_at', v.created_at,
        'follow', exists (select from public.follows f where f.submission_id = s.id and f.user_id = v.user_id))
      from public.submissions s join public.votes v on v.submission_id = s.id
      where s.organization_id = export_rows.organization_id and s.id >= first_id
        and (s.id, v.id) > (first_id, coalesce(after[2], nil::text)::uuid)
      order by s.id, v.id limit most;
    when 'comment_votes' then
      return query select array[s.id::text, c.id::text, v.id::text], private.person_record(v.user_id) || jsonb_build_object('kind', 'comment_vote',
        'comment_id', coalesce(private.exported_id('comment', c.id), c.id::text), 'created_at', v.created_at)
      from public.submissions s join public.comments c on c.submission_id = s.id join public.comment_votes v on v.comment_id = c.id
      where s.organization_id = export_rows.organization_id and s.id >= first_id
        and (s.id, c.id, v.id) > (first_id, coalesce(after[2], nil::text)::uuid, coalesce(after[3], nil::text)::uuid)
      order by s.id, c.id, v.id limit most;
    when 'surveys' then
      return query select array[s.created_at::text, s.id::text], private.survey_record(s) from public.surveys s
      where s.organization_id = export_rows.organization_id
        and (s.created_at, s.id) > (coalesce(after[1], '-infinity')::timestamptz, coalesce(after[2], nil::text)::uuid)
      order by s.created_at, s.id limit most;
    when 'survey_responses' then
      -- Survey by survey, so that each page begins where the index says.
      for asked_id in select s.id from public.surveys s where s.organization_id = export_rows.organization_id and s.id >= first_id order by s.id loop
        asked := private.exported_questions(asked_id);
        return query select array[r.survey_id::text, r.submitted_at::text, r.id::text],
          case when r.user_id is null then '{}' else private.person_record(r.user_id) end || jsonb_build_object('kind', 'survey_response',
          'id', coalesce(private.exported_id('response', r.id), r.id::text),
          'survey_id', coalesce(private.exported_id('survey', r.survey_id), r.survey_id::text),
          'answers', (select coalesce(jsonb_agg(a.value || jsonb_build_object('question_id', asked -> (a.value ->> 'question_id')) order by a.n), '[]')
            from jsonb_array_elements(r.answers) with ordinality as a (value, n)),
          'locale', r.locale, 'sentiment', r.sentiment, 'sentiment_score', r.sentiment_score, 'sentiment_engine', r.sentiment_engine,
          'started_at', r.started_at, 'submitted_at', r.submitted_at)
        from public.survey_responses r
        where r.survey_id = asked_id and (r.submitted_at, r.id) > (
          case when asked_id = first_id then after[2] else '-infinity' end::timestamptz, coalesce(after[3], nil::text)::uuid)
        order by r.submitted_at, r.id limit left_over;
        get diagnostics told = row_count;
        left_over := left_over - told;
        exit when left_over = 0;
      end loop;
    else
      return query select array[s.id::text, h.created_at::text, h.id::text],
        case when h.changed_by is null then '{}' else private.person_record(h.changed_by) end || jsonb_build_object('kind', 'status_change',
        'submission_id', coalesce(private.exported_id('submission', s.id), s.id::text), 'previous_status', h.previous_status,
        'new_status', h.new_status, 'note', h.note, 'created_at', h.created_at)
      from public.submissions s join public.status_changes h on h.submission_id = s.id
      where s.organization_id = export_rows.organization_id and s.id >= first_id
        and (s.id, h.created_at, h.id) > (first_id, coalesce(after[2], '-infinity')::timestamptz, coalesce(after[3], nil::text)::uuid)
      order by s.id, h.created_at, h.id limit most;
  end case;
end
$$;
comment on function private.export_rows(uuid, text, text[], integer) is 'The next rows of a kind after a place, as records, each with its place.';

create function private.submission_record(submission public.submissions) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return private.person_record(submission.author_id) || jsonb_build_object('kind', 'submission',
    'id', coalesce(private.exported_id('submission', submission.id), submission.id::text),
    'title', submission.title, 'description', submission.description, 'type', submission.type, 'status', submission.status,
    'category', (select c.slug from public.categories c where c.id = submission.category_id),
    'tags', array(select t.slug from public.submission_tags st join public.tags t on t.id = st.tag_id where st.submission_id = submission.id order by t.slug),
    'source', submission.source, 'tracker_issue_url', submission.tracker_issue_url, 'moderation_state', submission.moderation_state,
    'merged_into_id', coalesce(private.exported_id('submission', submission.merged_into_id), submission.merged_into_id::text),
    'vote_count', submission.vote_count, 'comment_count', submission.comment_count,
    'created_at', submission.created_at, 'updated_at', submission.updated_at,
    'author_votes', exists (select from public.votes v
      where v.submission_id = submission.id and v.user_id = submission.author_id and v.created_at = submission.created_at),
    'follow', exists (select from public.follows f where f.submission_id = submission.id and f.user_id = submission.author_id));
end
$$;
comment on function private.submission_record(public.submissions) is 'A submission as a record. author_votes: whether the author''s vote is that of its creation; others are records of their own.';

create function private.survey_record(survey public.surveys) returns jsonb
language plpgsql stable set search_path = '' as $$
declare asked jsonb := private.exported_questions(survey.id);
begin
  return jsonb_build_object('kind', 'survey', 'id', coalesce(private.exported_id('survey', survey.id), survey.id::text), 'title', survey.title, 'description', survey.description, 'status', survey.status,
    'questions', coalesce((
      select jsonb_agg(jsonb_build_object('id', asked -> q.id::text, 'type', q.type, 'text', q.text, 'required', q.required, 'multiple', q.multiple, 'scale', q.scale,
        'options', (select jsonb_agg(o.text order by o.position) from public.survey_options o where o.question_id = q.id)) order by q.position)
      from public.survey_questions q where q.survey_id = survey.id), '[]'),
    'allow_multiple_responses', survey.allow_multiple_responses, 'show_branding', survey.show_branding, 'redirect_url', survey.redirect_url,
    'audience', survey.audience, 'audience_submission_id',
    coalesce(private.exported_id('submission', survey.audience_submission_id), survey.audience_submission_id::text),
    'locales', survey.locales, 'closes_at', survey.closes_at,
    'version_of', coalesce(private.exported_id('survey', survey.version_of), survey.version_of::text), 'published_at', survey.published_at,
    'closed_at', survey.closed_at, 'created_at', survey.created_at, 'updated_at', survey.updated_at);
end
$$;
comment on function private.survey_record(public.surveys) is 'A survey as a record, with its questions in order.';

create function private.export_page(organization_id uuid, what text, after text[], most integer) returns table (total bigint, last text[], records text)
language plpgsql stable set search_path = '' as $$
begin
  return query
    with page as materialized (
      select p.at, p.record, p.nth from private.export_rows(export_page.organization_id, what, after, most) with ordinality as p (at, record, nth)
    )
    select (select count(*) from page), (select p.at from page p order by p.nth desc limit 1),
      (select string_agg(jsonb_strip_nulls(p.record)::text, E'\n' order by p.nth) from page p);
end
$$;
comment on function private.export_page(uuid, text, text[], integer) is 'A page of an export: one record a line, and after which place the next one starts.';

create function private.export_scope(what text) returns text
language sql immutable
return case what
  when 'organization' then 'organization:write'
  when 'members' then 'members:write'
  when 'surveys' then 'surveys:read'
  when 'survey_responses' then 'responses:read'
  else 'submissions:moderate'
end;
comment on function private.export_scope(text) is 'What a key needs for rows of an export, besides submissions:moderate: the scope that reads them elsewhere.';

-- definer: e-mail addresses and who voted are granted to nobody; asks for an admin, page by page.
create function private.admin_export_page(what text, after text[], most integer) returns table (total bigint, last text[], records text)
language plpgsql stable security definer set search_path = '' as $$
declare own_id uuid := private.current_organization_id();
begin
  perform private.require_admin(own_id, 'submissions:moderate');
  -- In a copy of everything, a key finds what it may read.
  if private.is_admin(own_id, private.export_scope(what)) then
    return query select * from private.export_page(own_id, what, after, most);
  end if;
end
$$;
comment on function private.admin_export_page(text, text[], integer) is 'A page of an export of the current organization, for its admins and keys with submissions:moderate. Empty for keys that lack private.export_scope.';

-- definer: the trail is granted to nobody.
create function private.admin_start_export(what text, format text) returns void
language plpgsql security definer set search_path = '' as $$
declare own_id uuid := private.current_organization_id();
begin
  perform private.require_admin(own_id, 'submissions:moderate');
  perform private.require_admin(own_id, private.export_scope(what));
  perform private.audit('organization.export', 'organization', own_id, jsonb_build_object('what', what, 'format', format), own_id);
end
$$;
comment on function private.admin_start_export(text, text) is 'Notes in the trail that somebody takes a copy of the organization.';
grant execute on function private.admin_start_export(text, text), private.admin_export_page(text, text[], integer) to authenticated, service_key;

-- Feedback that comes from elsewhere, in chunks of a transaction each. A row keeps the id it had there, so that whatever is
-- sent again (after a crash, twice, two at once) makes nothing twice. Rows keep their time and are announced to nobody.

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
comment on table private.imports is 'Imports and how far they came. processed = created + skipped + failed; problem is what ended one that failed. A job has its query: its file is received first and written in steps, as the profile or key that sent it. position: where the next rows begin in the file; chunks_done: so many chunks of these rows are written. claimed_until: the schedule runs it.';
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
comment on table private.import_errors is 'What was wrong with which line of an import: the first 100. No value of the file is in it.';

create table private.import_pieces (
  organization_id uuid not null,
  import_id uuid not null,
  n integer not null,
  bytes bytea not null,
  primary key (organization_id, import_id, n),
  constraint import_pieces_import_is_of_the_same_organization foreign key (organization_id, import_id)
    references private.imports (organization_id, id) on delete cascade
);
comment on table private.import_pieces is 'The file of an import that has not ended, in pieces of 1 MiB.';

create table private.import_ids (
  organization_id uuid not null,
  import_id uuid not null,
  kind text not null,
  external_id text not null,
  primary key (organization_id, import_id, kind, external_id),
  constraint import_ids_import_is_of_the_same_organization foreign key (organization_id, import_id)
    references private.imports (organization_id, id) on delete cascade
);
comment on table private.import_ids is 'Ids that earlier chunks of a dry run brought, since it takes back what it writes.';

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
  constraint kind_is_known check (kind in ('submission', 'comment', 'person', 'survey', 'question', 'response')),
  constraint an_id_names_one_row_of_its_kind check (
    num_nonnulls(submission_id, comment_id, profile_id, survey_id, question_id, response_id) = 1
    and case kind when 'submission' then submission_id when 'comment' then comment_id when 'person' then profile_id
      when 'survey' then survey_id when 'question' then question_id else response_id end is not null)
);
comment on table private.external_ids is 'Which row an id of another service stands for here. source keeps the ids of several services apart. A question has the id of its survey before its own, with a slash between.';
create index external_ids_submission_idx on private.external_ids (submission_id) where submission_id is not null;
create index external_ids_comment_idx on private.external_ids (comment_id) where comment_id is not null;
create index external_ids_profile_idx on private.external_ids (profile_id) where profile_id is not null;
create index external_ids_survey_idx on private.external_ids (survey_id) where survey_id is not null;
create index external_ids_question_idx on private.external_ids (question_id) where question_id is not null;
create index external_ids_response_idx on private.external_ids (response_id) where response_id is not null;

alter table private.imports enable row level security;
alter table private.import_errors enable row level security;
alter table private.import_pieces enable row level security;
alter table private.import_ids enable row level security;
alter table private.external_ids enable row level security;
revoke all on private.imports, private.import_errors, private.import_pieces, private.import_ids, private.external_ids from public, anon, authenticated, service_role, service_key;

-- What an id means ---------------------------------------------------------------------------------------------

create function private.imported_row(import private.imports, kind text, external_id text) returns uuid
language plpgsql stable set search_path = '' as $$
declare found_id uuid; own_id uuid;
begin
  if external_id is null then return null; end if;
  select coalesce(e.submission_id, e.comment_id, e.profile_id, e.survey_id, e.response_id) into found_id from private.external_ids e
  where e.organization_id = import.organization_id and e.source = import.source
    and e.kind = imported_row.kind and e.external_id = imported_row.external_id;
  if found_id is not null or external_id !~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then return found_id; end if;
  -- What this organization exported names its rows by their own ids.
  own_id := external_id::uuid;
  return case imported_row.kind
    when 'submission' then (select s.id from public.submissions s where s.id = own_id and s.organization_id = import.organization_id)
    when 'comment' then (select c.id from public.comments c where c.id = own_id and c.organization_id = import.organization_id)
    when 'survey' then (select s.id from public.surveys s where s.id = own_id and s.organization_id = import.organization_id)
    when 'response' then (select r.id from public.survey_responses r where r.id = own_id and r.organization_id = import.organization_id)
    else (select p.id from public.profiles p where p.id = own_id and (p.organization_id = import.organization_id
      or p.auth_user_id is null and p.kind = 'user' and (
        exists (select from public.votes v where v.user_id = p.id and v.organization_id = import.organization_id)
        or exists (select from public.submissions s where s.author_id = p.id and s.organization_id = import.organization_id)
        or exists (select from public.comments c where c.author_id = p.id and c.organization_id = import.organization_id))))
  end;
end
$$;
comment on function private.imported_row(private.imports, text, text) is 'The row an external id stands for, imported earlier or exported from this organization; null where there is none.';

create function private.import_target(import private.imports, external_id text) returns uuid
language plpgsql stable set search_path = '' as $$
begin
  return (select coalesce(s.merged_into_id, s.id) from public.submissions s where s.id = private.imported_row(import, 'submission', external_id));
end
$$;
comment on function private.import_target(private.imports, text) is 'The submission that votes and comments of an external id belong to: where it was merged, the target.';

create function private.import_targets(import private.imports, records jsonb, field text default 'submission_id') returns void
language plpgsql set search_path = '' as $$
begin
  perform 1 from public.submissions s
  where s.id in (select private.import_target(import, r.id) from (
    select distinct value ->> field as id from jsonb_array_elements(records)) r)
  order by s.id for no key update;
end
$$;
comment on function private.import_targets(private.imports, jsonb, text) is 'Locks the submissions that records name, in the order of their ids.';

create type private.import_outcome as (created bigint, skipped bigint, failures jsonb);
comment on type private.import_outcome is 'What became of some records; failures is an array of {line, field, message, kept}, kept where the record was taken all the same.';

create function private.unknown_reference(line integer, field text, what text) returns jsonb
language sql immutable
return jsonb_build_object('line', line, 'field', field, 'message', format('names no %s of this file or organization', what));
comment on function private.unknown_reference(integer, text, text) is 'The failure of a record that points to a row nobody knows.';

-- Each kind of record ------------------------------------------------------------------------------------------

create function private.import_people(import private.imports, people jsonb) returns jsonb
language plpgsql set search_path = '' as $$
begin
  insert into public.profiles as p (kind, organization_id, email, name)
  select 'email', import.organization_id, k.key, nullif(left(private.person_name(k.value), 100), '')
  from jsonb_each_text(people) k where not starts_with(k.key, '#') order by k.key
  on conflict (organization_id, lower(email)) where kind = 'email'
    do update set name = excluded.name where p.name is null and excluded.name is not null;
  with unknown as materialized (
    select substr(k.key, 2) as external_id, gen_random_uuid() as id, nullif(left(private.person_name(k.value), 100), '') as name
    from jsonb_each_text(people) k
    where starts_with(k.key, '#') and private.imported_row(import, 'person', substr(k.key, 2)) is null
  ), made as (
    insert into public.profiles (id, kind, organization_id, name)
    select u.id, 'anonymous', import.organization_id, u.name from unknown u
  )
  insert into private.external_ids (organization_id, source, kind, external_id, profile_id)
  select import.organization_id, import.source, 'person', u.external_id, u.id from unknown u;
  return coalesce((
    select jsonb_object_agg(k.key, case when starts_with(k.key, '#') then private.imported_row(import, 'person', substr(k.key, 2))
      else (select p.id from public.profiles p
        where p.kind = 'email' and p.organization_id = import.organization_id and lower(p.email) = k.key) end)
    from jsonb_object_keys(people) as k (key)), '{}');
end
$$;
comment on function private.import_people(private.imports, jsonb) is 'Profiles of authors, made at first sight: {key: name} to {key: id}. A key is a lower-case e-mail address, or # and an external id. Nobody is taken for a user of the app.';

create function private.import_taxonomy(import private.imports, records jsonb) returns private.import_outcome
language plpgsql set search_path = '' as $$
declare outcome private.import_outcome; made bigint; last integer;
begin
  last := (select coalesce(max(c.position), -1) from public.categories c where c.organization_id = import.organization_id);
  insert into public.categories (organization_id, slug, name, color, position, translations)
  select import.organization_id, r.slug, r.name, coalesce(r.color, '#6b7280'), coalesce(r.position, last + 1), coalesce(r.translations, '{}')
  from jsonb_to_recordset(records -> 'category') as r (slug text, name text, color text, position integer, translations jsonb)
  on conflict on constraint category_slugs_are_unique do nothing;
  get diagnostics made = row_count;
  outcome.created := made;
  insert into public.tags (organization_id, slug, name, color, translations)
  select import.organization_id, r.slug, r.name, coalesce(r.color, '#6b7280'), coalesce(r.translations, '{}')
  from jsonb_to_recordset(records -> 'tag') as r (slug text, name text, color text, translations jsonb)
  on conflict on constraint tag_slugs_are_unique do nothing;
  get diagnostics made = row_count;
  outcome.created := outcome.created + made;
  outcome.skipped := coalesce(jsonb_array_length(records -> 'category'), 0) + coalesce(jsonb_array_length(records -> 'tag'), 0) - outcome.created;
  if import.makes_missing then
    last := (select coalesce(max(c.position), -1) from public.categories c where c.organization_id = import.organization_id);
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
comment on function private.import_taxonomy(private.imports, jsonb) is 'Categories and tags: those that are records of their own, and where missing ones are made those that submissions name.';

create function private.import_submissions(import private.imports, people jsonb, records jsonb) returns private.import_outcome
language plpgsql set search_path = '' as $$
declare outcome private.import_outcome;
begin
  perform private.import_targets(import, records, 'merged_into_id');
  with r as materialized (
    select r.*, (people ->> r.author)::uuid as author_id, private.imported_row(import, 'submission', r.id) as known_id,
      row_number() over (partition by r.id order by r.n) as nth, c.id as category_id, gen_random_uuid() as row_id,
      coalesce(r.created_at, now() + r.n * interval '1 microsecond') as at,
      private.import_target(import, r.merged_into_id) as target_id,
      r.category is not null and c.id is null as lacks_category,
      (select min(t.slug) from jsonb_array_elements_text(r.tags) as t (slug)
        where not exists (select from public.tags k where k.organization_id = import.organization_id and k.slug = t.slug)) is not null as lacks_tag
    from jsonb_to_recordset(records) as r (line integer, n integer, id text, author text, title text, description text, type text, status text,
      category text, tags jsonb, source text, tracker_issue_url text, moderation_state text, created_at timestamptz, updated_at timestamptz,
      author_votes boolean, follow boolean, merged_into_id text)
    left join public.categories c on c.organization_id = import.organization_id and c.slug = r.category
  ), fresh as materialized (
    select * from r where known_id is null and nth = 1 and not lacks_category and not lacks_tag
  ), made as (
    insert into public.submissions (id, organization_id, title, description, type, status, vote_count, author_id, category_id, source,
      tracker_issue_url, moderation_state, merged_into_id, created_at, updated_at)
    select row_id, import.organization_id, title, description, type,
      case when target_id is not null then 'duplicate' when status = 'duplicate' then 'declined' else status end, (author_votes and target_id is null)::integer, author_id,
      category_id, source, tracker_issue_url, moderation_state, target_id, at, coalesce(updated_at, at)
    from fresh order by n
  ), named as (
    insert into private.external_ids (organization_id, source, kind, external_id, submission_id)
    select import.organization_id, import.source, 'submission', id, row_id from fresh
  ), merged as (
    insert into private.merges (source_id, organization_id, parent_id, event_id, previous_status)
    select row_id, import.organization_id, target_id, gen_random_uuid(), 'open' from fresh where target_id is not null order by n
  ), voted as (
    -- One that is merged lends its vote, as a merge would have done.
    insert into public.votes (organization_id, submission_id, user_id, created_at, merged_from)
    select import.organization_id, coalesce(target_id, row_id), author_id, at, case when target_id is not null then row_id end
    from fresh where author_votes order by n
    on conflict on constraint one_vote_a_person_and_submission do nothing
    returning submission_id, merged_from
  ), doubled as (
    insert into private.merged_votes (source_id, user_id, organization_id, id, created_at)
    select f.row_id, f.author_id, import.organization_id, gen_random_uuid(), f.at from fresh f
    where f.author_votes and f.target_id is not null and not exists (select from voted v where v.merged_from = f.row_id)
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
    coalesce(jsonb_agg(private.unknown_reference(line, case when lacks_category then 'category' else 'tags' end,
      case when lacks_category then 'category' else 'tag' end)) filter (where known_id is null and nth = 1 and (lacks_category or lacks_tag)), '[]')
  into outcome from r;
  return outcome;
end
$$;
comment on function private.import_submissions(private.imports, jsonb, jsonb) is 'Submissions with their author''s vote and follow and their tags. One that says it is merged points to its target, if that is known.';

create function private.import_comments(import private.imports, people jsonb, records jsonb) returns private.import_outcome
language plpgsql set search_path = '' as $$
declare outcome private.import_outcome;
begin
  perform private.import_targets(import, records);
  with r as materialized (
    select r.*, (people ->> r.author)::uuid as author_id, private.imported_row(import, 'comment', r.id) as known_id,
      private.import_target(import, r.submission_id) as target_id, private.imported_row(import, 'comment', r.parent_id) as known_parent_id,
      row_number() over (partition by r.id order by r.n) as nth, gen_random_uuid() as row_id,
      coalesce(r.created_at, now() + r.n * interval '1 microsecond') as at
    from jsonb_to_recordset(records) as r (line integer, n integer, id text, submission_id text, parent_id text, author text, body text,
      is_official boolean, moderation_state text, created_at timestamptz, updated_at timestamptz, follow boolean, seen boolean)
  ), fresh as materialized (
    select r.*, coalesce(p.id, q.row_id) as parent_row_id
    from r left join public.comments p on p.id = r.known_parent_id and p.submission_id = r.target_id
    -- Earlier in the same chunk; only earlier, so that no thread bites its tail.
    left join r q on q.id = r.parent_id and q.known_id is null and q.nth = 1 and q.target_id = r.target_id and q.n < r.n
    where r.known_id is null and r.nth = 1 and r.target_id is not null
  ), made as (
    insert into public.comments (id, organization_id, submission_id, parent_id, author_id, body, is_official, moderation_state, created_at, updated_at)
    select row_id, import.organization_id, target_id, parent_row_id, author_id, body, is_official, moderation_state, at, coalesce(updated_at, at)
    from fresh order by n
  ), named as (
    insert into private.external_ids (organization_id, source, kind, external_id, comment_id)
    select import.organization_id, import.source, 'comment', id, row_id from fresh
  ), followed as (
    insert into public.follows (organization_id, submission_id, user_id, reason, created_at)
    select distinct on (target_id, author_id) import.organization_id, target_id, author_id, 'comment', at from fresh
    where follow order by target_id, author_id, at
    on conflict do nothing
  )
  select (select count(*) from fresh) + count(*) filter (where known_id is null and nth = 1 and target_id is null and seen),
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
comment on function private.import_comments(private.imports, jsonb, jsonb) is 'Comments, parents before replies. A reply to a comment nobody knows is kept at the top level.';

create function private.import_votes(import private.imports, people jsonb, records jsonb) returns private.import_outcome
language plpgsql set search_path = '' as $$
declare outcome private.import_outcome;
begin
  perform private.import_targets(import, records);
  with r as materialized (
    select r.*, (people ->> r.author)::uuid as user_id, private.import_target(import, r.submission_id) as target_id
    from jsonb_to_recordset(records) as r (line integer, n integer, submission_id text, author text, created_at timestamptz, follow boolean, seen boolean)
  ), added as (
    insert into public.votes (organization_id, submission_id, user_id, created_at)
    select distinct on (r.target_id, r.user_id) import.organization_id, r.target_id, r.user_id, coalesce(r.created_at, now())
    from r where r.target_id is not null
      -- Somebody who signs in with that address has voted already.
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
    coalesce(jsonb_agg(private.unknown_reference(line, 'submission_id', 'submission')) filter (where target_id is null and seen is not true), '[]')
  into outcome from r;
  return outcome;
end
$$;
comment on function private.import_votes(private.imports, jsonb, jsonb) is 'Votes, one a person and submission, and the voters'' follows.';

create function private.import_comment_votes(import private.imports, people jsonb, records jsonb) returns private.import_outcome
language plpgsql set search_path = '' as $$
declare outcome private.import_outcome;
begin
  with r as materialized (
    select r.*, (people ->> r.author)::uuid as user_id, private.imported_row(import, 'comment', r.comment_id) as target_id
    from jsonb_to_recordset(records) as r (line integer, n integer, comment_id text, author text, created_at timestamptz, seen boolean)
  ), added as (
    insert into public.comment_votes (organization_id, comment_id, user_id, created_at)
    select distinct on (r.target_id, r.user_id) import.organization_id, r.target_id, r.user_id, coalesce(r.created_at, now())
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
    coalesce(jsonb_agg(private.unknown_reference(line, 'comment_id', 'comment')) filter (where target_id is null and seen is not true), '[]')
  into outcome from r;
  return outcome;
end
$$;
comment on function private.import_comment_votes(private.imports, jsonb, jsonb) is 'Votes on comments, one a person and comment.';

create function private.import_follows(import private.imports, people jsonb, records jsonb) returns private.import_outcome
language plpgsql set search_path = '' as $$
declare outcome private.import_outcome;
begin
  with r as materialized (
    select r.*, (people ->> r.author)::uuid as user_id, private.imported_row(import, 'submission', r.submission_id) as target_id
    from jsonb_to_recordset(records) as r (line integer, n integer, submission_id text, author text, reason text, created_at timestamptz, seen boolean)
  ), added as (
    insert into public.follows as f (organization_id, submission_id, user_id, reason, created_at)
    select distinct on (r.target_id, r.user_id) import.organization_id, r.target_id, r.user_id, r.reason, coalesce(r.created_at, now())
    from r where r.target_id is not null
      and not exists (select from public.profiles p
        where p.kind = 'user' and lower(p.email) = r.author and private.is_follower(r.target_id, p.id))
    order by r.target_id, r.user_id, r.n
    -- The record knows better than the vote or comment that brought the follow along.
    on conflict (submission_id, user_id) do update set reason = excluded.reason, created_at = excluded.created_at
      where (f.reason, f.created_at) is distinct from (excluded.reason, excluded.created_at)
    returning 1
  )
  select (select count(*) from added) + count(*) filter (where target_id is null and seen),
    count(*) filter (where target_id is not null) - (select count(*) from added),
    coalesce(jsonb_agg(private.unknown_reference(line, 'submission_id', 'submission')) filter (where target_id is null and seen is not true), '[]')
  into outcome from r;
  return outcome;
end
$$;
comment on function private.import_follows(private.imports, jsonb, jsonb) is 'Who follows what, and why; also what is merged, where follows stay.';

create function private.import_status_changes(import private.imports, people jsonb, records jsonb) returns private.import_outcome
language plpgsql set search_path = '' as $$
declare outcome private.import_outcome;
begin
  with r as materialized (
    select r.*, (people ->> r.author)::uuid as changed_by, private.imported_row(import, 'submission', r.submission_id) as target_id
    from jsonb_to_recordset(records) as r (line integer, n integer, submission_id text, author text, previous_status text, new_status text, note text,
      created_at timestamptz, seen boolean)
  ), added as (
    insert into public.status_changes (organization_id, submission_id, previous_status, new_status, changed_by, note, notify, created_at)
    select distinct on (r.target_id, r.created_at, r.new_status)
      import.organization_id, r.target_id, r.previous_status, r.new_status, r.changed_by, r.note, false, r.created_at
    from r where r.target_id is not null and not exists (select from public.status_changes c
      where c.submission_id = r.target_id and c.created_at = r.created_at and c.new_status = r.new_status)
    order by r.target_id, r.created_at, r.new_status, r.n
    returning 1
  )
  select (select count(*) from added) + count(*) filter (where target_id is null and seen),
    count(*) filter (where target_id is not null) - (select count(*) from added),
    coalesce(jsonb_agg(private.unknown_reference(line, 'submission_id', 'submission')) filter (where target_id is null and seen is not true), '[]')
  into outcome from r;
  return outcome;
end
$$;
comment on function private.import_status_changes(private.imports, jsonb, jsonb) is 'The history of statuses, also of what was merged; what a submission''s status is now, its own record says. The same change at the same time is known.';

create function private.import_surveys(import private.imports, records jsonb) returns private.import_outcome
language plpgsql set search_path = '' as $$
declare
  outcome private.import_outcome := row(0, 0, '[]')::private.import_outcome;
  r record; row_id uuid; family uuid; audience_id uuid; state text;
begin
  for r in
    select * from jsonb_to_recordset(records) as s (line integer, n integer, id text, title text, description text, status text, questions jsonb,
      allow_multiple_responses boolean, show_branding boolean, redirect_url text, audience text, audience_submission_id text, locales jsonb,
      closes_at timestamptz, version_of text, published_at timestamptz, closed_at timestamptz, created_at timestamptz, updated_at timestamptz)
    order by s.n
  loop
    if private.imported_row(import, 'survey', r.id) is not null then
      outcome.skipped := outcome.skipped + 1;
      continue;
    end if;
    audience_id := private.imported_row(import, 'submission', r.audience_submission_id);
    if r.audience_submission_id is not null and audience_id is null then
      outcome.failures := outcome.failures || private.unknown_reference(r.line, 'audience_submission_id', 'submission');
      continue;
    end if;
    row_id := gen_random_uuid();
    family := coalesce((select s.family_id from public.surveys s where s.id = private.imported_row(import, 'survey', r.version_of)), row_id);
    state := r.status;
    if state in ('published', 'paused') and exists (select from public.surveys s where s.family_id = family and s.status in ('published', 'paused')) then
      state := 'archived';
      outcome.failures := outcome.failures || jsonb_build_object('line', r.line, 'field', 'status', 'kept', true,
        'message', 'is of a version while another one is open here: this one is archived');
    end if;
    insert into public.surveys (id, organization_id, title, description, status, allow_multiple_responses, show_branding, redirect_url, audience,
      audience_submission_id, locales, closes_at, version_of, family_id, published_at, closed_at, created_at, updated_at)
    select row_id, import.organization_id, r.title, r.description, state, r.allow_multiple_responses, r.show_branding, r.redirect_url, r.audience,
      case when r.audience <> 'everyone' then audience_id end, case when r.locales is not null then array(select jsonb_array_elements_text(r.locales)) end,
      r.closes_at, private.imported_row(import, 'survey', r.version_of), family, t.published, case when t.published is not null then coalesce(r.closed_at,
        case when state = 'archived' then t.updated when r.closes_at <= now() then r.closes_at end) end, t.created, t.updated
    from (select c.created, coalesce(r.updated_at, c.created) as updated,
        coalesce(r.published_at, case when r.status in ('published', 'paused') then c.created end) as published
      from (select coalesce(r.created_at, now()) as created) c) t;
    insert into private.external_ids (organization_id, source, kind, external_id, survey_id)
    values (import.organization_id, import.source, 'survey', r.id, row_id);
    with q as materialized (
      select gen_random_uuid() as question_id, q.value, q.n from jsonb_array_elements(r.questions) with ordinality as q (value, n)
    ), asked as (
      insert into public.survey_questions (id, organization_id, survey_id, type, text, required, position, multiple, scale)
      select q.question_id, import.organization_id, row_id, q.value ->> 'type', q.value ->> 'text', (q.value ->> 'required')::boolean, q.n,
        coalesce((q.value ->> 'multiple')::boolean, false), (q.value ->> 'scale')::integer
      from q
    ), offered as (
      insert into public.survey_options (organization_id, survey_id, question_id, text, position)
      select import.organization_id, row_id, q.question_id, o.value, o.n
      from q cross join lateral jsonb_array_elements_text(nullif(q.value -> 'options', 'null')) with ordinality as o (value, n)
    )
    insert into private.external_ids (organization_id, source, kind, external_id, question_id)
    select import.organization_id, import.source, 'question', r.id || '/' || coalesce(q.value ->> 'id', q.n::text), q.question_id from q
    -- Of two questions with one id, answers are to the first.
    order by q.n on conflict do nothing;
    outcome.created := outcome.created + 1;
  end loop;
  return outcome;
end
$$;
comment on function private.import_surveys(private.imports, jsonb) is 'Surveys with their questions, in the state they had; of the versions of one, only one is open.';

create function private.imported_answers(import private.imports, survey_id uuid, named text, answers jsonb) returns private.checked_answer
language plpgsql stable set search_path = '' as $$
declare kept jsonb[] := '{}'; item record; checked private.checked_answer;
begin
  for item in
    select q as question, a.value -> 'value' as value, row_number() over (partition by q.id order by a.n) as nth
    from jsonb_array_elements(answers) with ordinality as a (value, n)
    left join private.external_ids e on e.organization_id = import.organization_id and e.source = import.source and e.kind = 'question'
      and e.external_id = named || '/' || (a.value ->> 'question_id')
    left join public.survey_questions q on q.survey_id = imported_answers.survey_id and (q.id = e.question_id or q.id::text = a.value ->> 'question_id')
    order by q.position, a.n
  loop
    if (item.question).id is null then
      return row(null, 'names no question of the survey')::private.checked_answer;
    elsif item.nth > 1 then
      return row(null, 'answers a question twice')::private.checked_answer;
    end if;
    checked := private.check_answer(item.question, item.value);
    if checked.complaint is not null then
      return row(null, format('of question %s %s', (item.question).position, checked.complaint))::private.checked_answer;
    elsif checked.value is not null then
      kept := kept || jsonb_build_object('question_id', (item.question).id, 'value', checked.value);
    end if;
  end loop;
  return row(to_jsonb(kept), null)::private.checked_answer;
end
$$;
comment on function private.imported_answers(private.imports, uuid, text, jsonb) is 'Answers as they are stored, or what is wrong with them. None is required: who was forgotten has some no more.';

create function private.import_survey_responses(import private.imports, people jsonb, records jsonb) returns private.import_outcome
language plpgsql set search_path = '' as $$
declare outcome private.import_outcome;
begin
  with r as materialized (
    select r.*, (people ->> r.author)::uuid as user_id, private.imported_row(import, 'response', r.id) as known_id,
      private.imported_row(import, 'survey', r.survey_id) as target_id, row_number() over (partition by r.id order by r.n) as nth,
      private.ordered_id() as row_id
    from jsonb_to_recordset(records) as r (line integer, n integer, id text, survey_id text, author text, answers jsonb, locale text,
      sentiment_score numeric, sentiment_engine text, started_at timestamptz, submitted_at timestamptz, seen boolean)
  ), fresh as materialized (
    select r.*, not s.allow_multiple_responses as is_only, (a.answers).value as kept, (a.answers).complaint
    from r join public.surveys s on s.id = r.target_id
    cross join lateral (select private.imported_answers(import, r.target_id, r.survey_id, r.answers) as answers) a
    where r.known_id is null and r.nth = 1
  ), added as (
    insert into public.survey_responses (id, organization_id, survey_id, user_id, answers, locale, started_at, submitted_at, sentiment_score,
      sentiment_engine, is_only)
    select f.row_id, import.organization_id, f.target_id, f.user_id, f.kept, f.locale, f.started_at, coalesce(f.submitted_at, now()),
      f.sentiment_score, case when f.sentiment_score is not null then coalesce(f.sentiment_engine, 'import') end, f.is_only
    from fresh f
    where f.complaint is null
      -- Somebody who signs in with that address has answered already.
      and not (f.is_only and exists (select from public.profiles p join public.survey_responses x on x.user_id = p.id
        where p.kind = 'user' and lower(p.email) = f.author and x.survey_id = f.target_id))
      and not (f.is_only and private.participated(f.author, array[f.target_id]))
    order by f.n
    on conflict (survey_id, user_id) where is_only do nothing
    returning id
  ), named as (
    insert into private.external_ids (organization_id, source, kind, external_id, response_id)
    select import.organization_id, import.source, 'response', f.id, f.row_id from fresh f join added a on a.id = f.row_id
  )
  select (select count(*) from added) + count(*) filter (where r.known_id is null and r.nth = 1 and r.target_id is null and r.seen),
    count(*) filter (where r.known_id is not null or r.nth > 1)
      + (select count(*) from fresh f where f.complaint is null) - (select count(*) from added),
    coalesce(jsonb_agg(private.unknown_reference(r.line, 'survey_id', 'survey'))
      filter (where r.known_id is null and r.nth = 1 and r.target_id is null and r.seen is not true), '[]')
    || coalesce((select jsonb_agg(jsonb_build_object('line', f.line, 'field', 'answers', 'message', f.complaint))
      from fresh f where f.complaint is not null), '[]')
  into outcome from r;
  return outcome;
end
$$;
comment on function private.import_survey_responses(private.imports, jsonb, jsonb) is 'Responses to surveys that are here, whether or not these are still open; one a person where the survey takes one.';

-- A chunk ------------------------------------------------------------------------------------------------------

create function private.write_import(import private.imports, records jsonb) returns private.import_outcome
language plpgsql set search_path = '' as $$
declare
  people jsonb; part private.import_outcome; kind text;
  outcome private.import_outcome := row(0, 0, '[]')::private.import_outcome;
begin
  -- Merges wait, and see all that came to what they merge.
  perform 1 from public.organizations o where o.id = import.organization_id for no key update;
  perform set_config('feedback.quiet', 'import', true);
  people := private.import_people(import, records -> 'people');
  foreach kind in array array['taxonomy', 'submission', 'merged', 'follow', 'comment', 'vote', 'comment_vote', 'status_change',
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
    outcome := row(outcome.created + part.created, outcome.skipped + part.skipped, outcome.failures || coalesce(part.failures, '[]'))::private.import_outcome;
  end loop;
  perform set_config('feedback.quiet', 'off', true);
  return outcome;
end
$$;
comment on function private.write_import(private.imports, jsonb) is 'Writes records, kind by kind, with nothing announced.';

create function private.part_of_records(records jsonb, first integer, past integer) returns jsonb
language plpgsql immutable set search_path = '' as $$
declare part jsonb;
begin
  part := coalesce((
    select jsonb_object_agg(l.kind, l.list) from (
      select r.key as kind, jsonb_agg(e.value order by e.place) as list
      from jsonb_each(records) r
        cross join jsonb_array_elements(case jsonb_typeof(r.value) when 'array' then r.value else '[]' end) with ordinality e (value, place)
      where (e.value ->> 'n')::integer >= first and (e.value ->> 'n')::integer < past group by r.key) l), '{}');
  return part || jsonb_build_object('people', coalesce((
      select jsonb_object_agg(p.key, p.value) from jsonb_each(records -> 'people') p
      where p.key in (select e ->> 'author' from jsonb_each(part) l, jsonb_array_elements(l.value) e)), '{}'),
    'categories', coalesce((
      select jsonb_object_agg(c.key, c.value) from jsonb_each(records -> 'categories') c
      where c.key in (select e ->> 'category' from jsonb_each(part) l, jsonb_array_elements(l.value) e)), '{}'),
    'tags', coalesce((
      select jsonb_object_agg(t.key, t.value) from jsonb_each(records -> 'tags') t
      where exists (select from jsonb_each(part) l, jsonb_array_elements(l.value) e where e -> 'tags' ? t.key)), '{}'));
end
$$;
comment on function private.part_of_records(jsonb, integer, integer) is 'The records of a chunk from one number to before another, with the people, categories and tags they name.';

create function private.write_good_records(import private.imports, records jsonb) returns private.import_outcome
language plpgsql set search_path = '' as $$
declare
  first integer; last integer; middle integer; one private.import_outcome; other private.import_outcome;
begin
  begin
    return private.write_import(import, records);
  exception when sqlstate 'FB400' or check_violation or string_data_right_truncation or invalid_text_representation
    or untranslatable_character or character_not_in_repertoire or invalid_datetime_format or datetime_field_overflow then
    null;
  end;
  select min((e ->> 'n')::integer), max((e ->> 'n')::integer) into first, last from jsonb_each(records) r
    cross join jsonb_array_elements(case jsonb_typeof(r.value) when 'array' then r.value else '[]' end) e;
  if first = last then
    return row(0, 0, (
      select jsonb_build_array(jsonb_build_object('line', e -> 'line', 'message', 'was refused by the database')) from jsonb_each(records) r
        cross join jsonb_array_elements(case jsonb_typeof(r.value) when 'array' then r.value else '[]' end) e))::private.import_outcome;
  end if;
  middle := (first + last + 1) / 2;
  one := private.write_good_records(import, private.part_of_records(records, first, middle));
  other := private.write_good_records(import, private.part_of_records(records, middle, last + 1));
  return row(one.created + other.created, one.skipped + other.skipped, one.failures || other.failures)::private.import_outcome;
end
$$;
comment on function private.write_good_records(private.imports, jsonb) is 'As private.write_import. Where the database refuses records, their halves are written, down to the one it refuses, which is then a failure like any other.';

create function private.note_ids(import private.imports, records jsonb) returns jsonb
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
            select coalesce(bool_or(i.kind = 'comment' and i.external_id = e.value ->> 'parent_id'), false) as parent,
              coalesce(bool_or(i.kind = 'submission' and i.external_id = e.value ->> 'audience_submission_id'), false) as audience,
              coalesce(bool_or(i.external_id = e.value ->> (i.kind || '_id')), false) as target
            from private.import_ids i
            where i.organization_id = import.organization_id and i.import_id = import.id
              and (i.kind, i.external_id) in (('comment', e.value ->> 'parent_id'), ('submission', e.value ->> 'audience_submission_id'),
                ('submission', e.value ->> 'submission_id'), ('comment', e.value ->> 'comment_id'), ('survey', e.value ->> 'survey_id'))) known
      ) else r.value end)
    from jsonb_each(records) r), '{}');
  insert into private.import_ids (organization_id, import_id, kind, external_id)
  select import.organization_id, import.id, case r.key when 'merged' then 'submission' else r.key end, e ->> 'id'
  from jsonb_each(records) r cross join jsonb_array_elements(r.value) e
  where r.key in ('submission', 'merged', 'comment', 'survey') and e ->> 'id' is not null
  on conflict do nothing;
  return noted;
end
$$;
comment on function private.note_ids(private.imports, jsonb) is 'Records of a dry run as they stand after its earlier chunks, whose ids count as seen; notes the ids they bring.';

create function private.run_import(import_id uuid, records jsonb, refused jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  import private.imports; outcome private.import_outcome := row(0, 0, '[]')::private.import_outcome;
  failures jsonb; wrong integer; told integer;
begin
  -- One chunk of an organization at a time, so that two imports of the same file meet each other's rows.
  perform pg_advisory_xact_lock(hashtextextended('import ' || i.organization_id, 0)) from private.imports i where i.id = import_id;
  select * into import from private.imports i where i.id = import_id for no key update;
  if import.state is distinct from 'running' then
    perform private.raise_error('CONFLICT', 'This import has ended: start another.');
  end if;
  if import.is_dry_run then records := private.note_ids(import, records); end if;
  begin
    outcome := private.write_good_records(import, records);
    if import.is_dry_run then raise exception using errcode = 'FBDRY'; end if;
  exception when sqlstate 'FBDRY' then null;
  end;
  failures := refused || outcome.failures;
  wrong := (select count(*) from jsonb_array_elements(failures) f where f -> 'kept' is null);
  told := (select count(*) from private.import_errors e where e.organization_id = import.organization_id and e.import_id = import.id);
  insert into private.import_errors (organization_id, import_id, file, line, field, message)
  select import.organization_id, import.id, records ->> 'file', f.line, f.field, f.message
  from jsonb_to_recordset(failures) as f (line integer, field text, message text)
  order by f.line limit greatest(0, 100 - told);
  update private.imports i set processed = i.processed + outcome.created + outcome.skipped + wrong, created = i.created + outcome.created,
    skipped = i.skipped + outcome.skipped, failed = i.failed + wrong, updated_at = clock_timestamp()
  where i.id = import.id returning i.* into import;
  return jsonb_build_object('processed', import.processed, 'created', import.created, 'skipped', import.skipped, 'failed', import.failed);
end
$$;
comment on function private.run_import(uuid, jsonb, jsonb) is 'A chunk: {kind: [record]} with people, categories and tags, and of a zip its file; and what was refused of it before, [{line, field, message}]. A dry run is written and taken back.';

create function private.start_import(organization_id uuid, format text, source text, is_dry_run boolean, makes_missing boolean) returns uuid
language plpgsql set search_path = '' as $$
declare import_id uuid;
begin
  insert into private.imports (organization_id, format, source, is_dry_run, makes_missing)
  values (organization_id, format, source, is_dry_run, makes_missing) returning id into import_id;
  perform private.audit('import.start', 'import', import_id, jsonb_build_object('format', format, 'source', source, 'dry_run', is_dry_run), organization_id);
  return import_id;
end
$$;
comment on function private.start_import(uuid, text, text, boolean, boolean) is 'A new import, to be followed by private.run_import for each chunk and private.finish_import.';

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
comment on function private.finish_import(uuid, text) is 'Ends an import; problem says why it could not go on.';

create function private.drop_import_file(import_id uuid) returns void
language plpgsql set search_path = '' as $$
begin
  delete from private.import_pieces p using private.imports i
  where i.id = drop_import_file.import_id and p.organization_id = i.organization_id and p.import_id = i.id;
  delete from private.import_ids d using private.imports i
  where i.id = drop_import_file.import_id and d.organization_id = i.organization_id and d.import_id = i.id;
end
$$;
comment on function private.drop_import_file(uuid) is 'Deletes what an import kept of its file.';

create function private.import_shape(import private.imports) returns json
language plpgsql stable set search_path = '' as $$
begin
  return json_build_object('id', import.id, 'format', import.format, 'source', import.source, 'dry_run', import.is_dry_run,
    'state', import.state, 'bytes', import.bytes,
    'bytes_read', case when import.state = 'completed' then import.bytes else (import.position ->> 'at')::bigint end,
    'processed', import.processed, 'created', import.created, 'skipped', import.skipped, 'failed', import.failed, 'problem', import.problem,
    'errors', coalesce((select json_agg(jsonb_strip_nulls(jsonb_build_object('file', e.file))
        || jsonb_build_object('line', e.line, 'field', e.field, 'message', e.message) order by e.id)
      from private.import_errors e where e.organization_id = import.organization_id and e.import_id = import.id), '[]'),
    'created_at', import.created_at, 'updated_at', import.updated_at);
end
$$;
comment on function private.import_shape(private.imports) is 'An import as admins see it, with the first 100 errors.';

create function private.end_idle_imports(organization_id uuid default null) returns integer
language plpgsql set search_path = '' as $$
declare ended integer;
begin
  perform private.finish_import(i.id, case i.state when 'receiving' then 'The file stopped arriving: send it again.'
    else 'It did not go on for a week: send the file again.' end)
  from (
    select w.id, w.state from private.imports w
    where w.state in ('receiving', 'running') and w.query is not null
      and (end_idle_imports.organization_id is null or w.organization_id = end_idle_imports.organization_id)
      and w.updated_at < now() - case w.state when 'receiving' then interval '2 minutes' else interval '7 days' end
    -- One that just goes on is not idle.
    for update skip locked) i;
  get diagnostics ended = row_count;
  return ended;
end
$$;
comment on function private.end_idle_imports(uuid) is 'Ends imports, of one organization or all, whose file stopped arriving two minutes ago, and those that did not go on for a week.';

-- Who runs the steps ------------------------------------------------------------------------------------------

create function private.call_importer() returns boolean
language plpgsql set search_path = '' as $$
begin
  if not exists (select from private.imports i where i.state = 'running' and i.query is not null
      and (i.claimed_until is null or i.claimed_until < now())) then return false; end if;
  begin
    if not private.call_function('/api/imports/run') then perform pg_notify('imports', ''); end if;
    return true;
  -- The schedule comes again; what was done must not be undone.
  exception when others then
    raise warning 'the importer was not called: %', sqlerrm;
    return false;
  end;
end
$$;
comment on function private.call_importer() is 'Has functions/api run imports that wait, once this transaction commits: by pg_net where the Vault has the address of the functions, by a notification elsewhere.';

-- definer: the functions'' login reads no imports but by this. It may act as any user already; of keys it gets the digest of one that sends an import.
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
        where takes and w.state = 'running' and w.query is not null and (w.claimed_until is null or w.claimed_until < now())
        order by w.updated_at limit 1 for update skip locked)
      returning i.*)
    select c.id, c.organization_id, p.auth_user_id, k.digest from claimed c
    left join public.profiles p on p.id = c.profile_id and c.key_id is null
    left join private.api_keys k on k.id = c.key_id;
end
$$;
comment on function private.claim_import(uuid, text, boolean) is 'Gives back the import that was run before, or ends it for a problem; where takes, claims the one that waits longest, for ten seconds or until its next chunk: with the credential of who sent it.';
grant execute on function private.claim_import(uuid, text, boolean) to feedback_api;

-- For admins ---------------------------------------------------------------------------------------------------

create function private.require_importer() returns uuid
language plpgsql stable set search_path = '' as $$
declare own_id uuid := private.current_organization_id();
begin
  perform private.require_admin(own_id, 'submissions:moderate');
  return own_id;
end
$$;
comment on function private.require_importer() is 'The current organization, for its admins and keys with submissions:moderate; FORBIDDEN otherwise.';

-- definer: private tables; each asks for an admin, chunk by chunk.
create function private.admin_start_import(query jsonb, file_type text) returns uuid
language plpgsql security definer set search_path = '' as $$
declare own_id uuid := private.require_importer(); import_id uuid;
begin
  perform pg_advisory_xact_lock(hashtextextended('imports of ' || own_id, 0));
  perform private.end_idle_imports(own_id);
  if (select count(*) >= 5 from private.imports i
      where i.organization_id = own_id and i.state in ('receiving', 'running') and i.query is not null) then
    perform private.raise_error('CONFLICT', 'Five imports of this organization have not ended: wait for one, or cancel it.');
  end if;
  import_id := private.start_import(own_id, query ->> 'format', coalesce(query ->> 'source', query ->> 'format'),
    (query ->> 'dry_run')::boolean, (query ->> 'create_missing')::boolean);
  update private.imports i set state = 'receiving', query = admin_start_import.query, file_type = admin_start_import.file_type,
    profile_id = nullif(current_setting('feedback.profile_id', true), '')::uuid,
    key_id = nullif(current_setting('feedback.key_id', true), '')::uuid
  where i.id = import_id;
  return import_id;
end
$$;
comment on function private.admin_start_import(jsonb, text) is 'Starts an import into the current organization, whose file is received next.';

create function private.admin_run_import(
  import_id uuid, records jsonb, refused jsonb,
  at bigint, chunk integer,  -- where its rows begin, and which of their chunks it is
  next jsonb,                -- with the last chunk of these rows: where the next begin
  nameless_votes integer     -- left after these rows
) returns jsonb
language plpgsql security definer set search_path = '' as $$ -- definer: as above
declare own_id uuid := private.require_importer(); import private.imports; told jsonb;
begin
  if not exists (select from private.imports i where i.id = import_id and i.organization_id = own_id) then
    perform private.raise_error('NOT_FOUND', 'There is no such import.');
  end if;
  -- Who comes second waits without a connection: a few imports of one organization would have all of them.
  if not pg_try_advisory_xact_lock(hashtextextended('import ' || own_id, 0)) then
    perform private.raise_error('SERVICE_UNAVAILABLE', 'Another import of this organization is just being written.');
  end if;
  select * into import from private.imports i where i.id = import_id for no key update;
  if (import.position ->> 'at')::bigint <> at or import.chunks_done <> chunk then
    perform private.raise_error('CONFLICT', 'Somebody else is running this import.');
  end if;
  -- As with exports, a key that may not touch surveys brings the rest.
  if records ?| array['survey', 'survey_response']
    and not (private.is_admin(own_id, 'surveys:write') and private.is_admin(own_id, 'surveys:publish')) then
    refused := refused || coalesce((
      select jsonb_agg(jsonb_build_object('line', r.value -> 'line', 'message', 'needs a key with surveys:write and surveys:publish'))
      from jsonb_array_elements(coalesce(records -> 'survey', '[]') || coalesce(records -> 'survey_response', '[]')) r), '[]');
    records := records - 'survey' - 'survey_response';
  end if;
  told := private.run_import(import_id, records, refused);
  -- In the transaction that writes the chunk: nothing is written or counted twice.
  update private.imports i set
    position = coalesce(next, i.position),
    chunks_done = case when next is null then i.chunks_done + 1 else 0 end,
    nameless_votes = case when next is null then i.nameless_votes else admin_run_import.nameless_votes end,
    claimed_until = case when i.claimed_until is not null then clock_timestamp() + interval '10 seconds' end
  where i.id = import_id;
  return told;
end
$$;
comment on function private.admin_run_import(uuid, jsonb, jsonb, bigint, integer, jsonb, integer) is 'Writes a chunk of an import of the current organization and notes that it is written; CONFLICT where somebody else wrote it.';

create function private.admin_finish_import(import_id uuid, problem text) returns json
language plpgsql security definer set search_path = '' as $$ -- definer: as above
begin
  if not exists (select from private.imports i where i.id = import_id and i.organization_id = private.require_importer()) then
    perform private.raise_error('NOT_FOUND', 'There is no such import.');
  end if;
  return private.finish_import(import_id, problem);
end
$$;
comment on function private.admin_finish_import(uuid, text) is 'Ends an import of the current organization.';

create function private.own_import(import_id uuid) returns private.imports
language plpgsql set search_path = '' as $$
declare own_id uuid := private.require_importer(); import private.imports;
begin
  select * into import from private.imports i where i.id = import_id and i.organization_id = own_id for no key update;
  if import.id is null then perform private.raise_error('NOT_FOUND', 'There is no such import.'); end if;
  return import;
end
$$;
comment on function private.own_import(uuid) is 'An import of the current organization, locked; NOT_FOUND without.';

create function private.admin_receive_import(import_id uuid, n integer, bytes bytea) returns void
language plpgsql security definer set search_path = '' as $$ -- definer: as above
declare import private.imports := private.own_import(import_id);
begin
  if import.state <> 'receiving' then perform private.raise_error('CONFLICT', 'This import has ended: start another.'); end if;
  insert into private.import_pieces (organization_id, import_id, n, bytes) values (import.organization_id, import.id, n, bytes);
  update private.imports i set bytes = i.bytes + octet_length(admin_receive_import.bytes), updated_at = clock_timestamp()
  where i.id = import.id;
end
$$;
comment on function private.admin_receive_import(uuid, integer, bytea) is 'Keeps a piece of an import''s file.';

create function private.admin_begin_import(import_id uuid) returns json
language plpgsql security definer set search_path = '' as $$ -- definer: as above
declare import private.imports := private.own_import(import_id);
begin
  update private.imports i set state = 'running', updated_at = clock_timestamp()
  where i.id = import.id and i.state = 'receiving' returning i.* into import;
  if import.id is null then perform private.raise_error('CONFLICT', 'This import has ended: start another.'); end if;
  perform private.call_importer();
  return private.import_shape(import);
end
$$;
comment on function private.admin_begin_import(uuid) is 'The whole file of an import is there: it is run.';

create function private.admin_cancel_import(import_id uuid) returns json
language plpgsql security definer set search_path = '' as $$ -- definer: as above
declare import private.imports := private.own_import(import_id);
begin
  if import.state not in ('receiving', 'running', 'canceled') then
    perform private.raise_error('CONFLICT', 'This import has ended: there is nothing to cancel.');
  end if;
  update private.imports i set state = 'canceled', updated_at = clock_timestamp() where i.id = import.id returning i.* into import;
  perform private.drop_import_file(import.id);
  perform private.audit('import.cancel', 'import', import.id, '{}', import.organization_id);
  return private.import_shape(import);
end
$$;
comment on function private.admin_cancel_import(uuid) is 'Ends an import of the current organization; what it wrote stays.';

create function private.admin_import_job(import_id uuid) returns json
language plpgsql stable security definer set search_path = '' as $$ -- definer: as above
declare own_id uuid := private.require_importer();
begin
  return (select json_build_object('state', i.state, 'query', i.query, 'file_type', i.file_type, 'position', i.position,
      'chunks_done', i.chunks_done, 'nameless_votes', i.nameless_votes)
    from private.imports i where i.id = import_id and i.organization_id = own_id and i.query is not null);
end
$$;
comment on function private.admin_import_job(uuid) is 'What running an import of the current organization takes; null where there is none.';

create function private.admin_import_piece(import_id uuid, n integer) returns bytea
language plpgsql stable security definer set search_path = '' as $$ -- definer: as above
declare own_id uuid := private.require_importer();
begin
  return (select p.bytes from private.import_pieces p
    where p.organization_id = own_id and p.import_id = admin_import_piece.import_id and p.n = admin_import_piece.n);
end
$$;
comment on function private.admin_import_piece(uuid, integer) is 'A piece of the file of an import; null after the last.';

create function private.admin_imports(import_id uuid) returns json
language plpgsql stable security definer set search_path = '' as $$ -- definer: as above
declare own_id uuid := private.require_importer();
begin
  return coalesce((select json_agg(private.import_shape(i) order by i.created_at desc, i.id desc) from (
    select * from private.imports i where i.organization_id = own_id and (import_id is null or i.id = import_id)
    order by i.created_at desc, i.id desc limit 50) i), '[]');
end
$$;
comment on function private.admin_imports(uuid) is 'The import of that id, or the newest 50, of the current organization.';

grant execute on function private.admin_start_import(jsonb, text),
  private.admin_run_import(uuid, jsonb, jsonb, bigint, integer, jsonb, integer), private.admin_finish_import(uuid, text),
  private.admin_imports(uuid), private.admin_receive_import(uuid, integer, bytea), private.admin_begin_import(uuid),
  private.admin_cancel_import(uuid), private.admin_import_job(uuid), private.admin_import_piece(uuid, integer)
  to authenticated, service_key;

-- An account counts once, also after it was erased: what it took part in is kept as keyed hashes, one for each row.

create table private.erasure_key (
  key bytea not null,
  is_only boolean primary key default true,
  constraint there_is_one_key check (is_only)
);
comment on table private.erasure_key is 'Keys the hashes of erased participations where there is no Vault. Made at the first erasure or change of address; no API role reads it.';

create table private.erased_participations (
  hash bytea primary key,
  organization_id uuid not null references public.organizations (id) on delete cascade,
  row_id uuid not null,
  hashed_id uuid not null
);
comment on table private.erased_participations is 'Votes and survey responses of erased people, without the people. row_id is the submission, comment or survey. hash is an HMAC-SHA-256 of an account (by its id, and by its e-mail address) and hashed_id: the first row_id.';
create index erased_participations_row_idx on private.erased_participations (row_id, hashed_id);
create index erased_participations_organization_idx on private.erased_participations (organization_id);

create table private.former_addresses (
  profile_id uuid not null references public.profiles (id) on delete cascade,
  hash text not null,
  primary key (profile_id, hash)
);
comment on table private.former_addresses is 'E-mail addresses that living accounts had before, as keyed hashes: erased with the account, each counts as the account does.';
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
    execute $query$ select decode(s.decrypted_secret, 'hex') from vault.decrypted_secrets s where s.name = 'feedback_erasure_key' $query$ into key;
  end if;
  return key;
end
$$;
comment on function private.read_erasure_key() is 'The key of erased participations, from the table or from Vault. Null before it is made.';

create function private.make_erasure_key() returns bytea
language plpgsql set search_path = '' as $$
begin
  if private.read_erasure_key() is null then
    -- Two first erasures at once must not make two keys.
    lock table private.erasure_key in exclusive mode;
    if private.read_erasure_key() is not null then
      null;
    elsif to_regprocedure('vault.create_secret(text, text, text, uuid)') is not null then
      execute 'select vault.create_secret($1, $2)' using encode(extensions.gen_random_bytes(32), 'hex'), 'feedback_erasure_key';
    else
      insert into private.erasure_key (key) values (extensions.gen_random_bytes(32));
    end if;
  end if;
  return private.read_erasure_key();
end
$$;
comment on function private.make_erasure_key() is 'The key of erased participations, made where there is none: in Vault where the database has it.';

create function private.erasure_hash(key bytea, account text, row_id uuid) returns bytea
language sql immutable
return extensions.hmac(convert_to(account || ' ' || row_id, 'UTF8'), key, 'sha256');
comment on function private.erasure_hash(bytea, text, uuid) is 'Stands for an account on a row. Hashes of one account on two rows have nothing in common.';

create function private.address_hash(address text) returns text
language plpgsql stable set search_path = '' as $$
begin
  return encode(extensions.hmac(convert_to(lower(address), 'UTF8'), private.read_erasure_key(), 'sha256'), 'hex');
end
$$;
comment on function private.address_hash(text) is 'Stands for an e-mail address of a user. Null before the first erasure or change of address.';

create function private.accounts_of(person public.profiles) returns text[]
language plpgsql stable set search_path = '' as $$
begin
  return case person.kind
    when 'user' then array_remove(array['user ' || person.id, 'user ' || private.address_hash(person.email)], null)
      || array(select 'user ' || f.hash from private.former_addresses f where f.profile_id = person.id)
    when 'email' then array['author ' || lower(person.email)]
    else '{}'
  end;
end
$$;
comment on function private.accounts_of(public.profiles) is 'What identifies a person after an erasure: the id and all addresses of a user, who may sign up anew; the address of an author known by e-mail.';

-- definer: private tables.
create function private.keep_former_address() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  perform private.make_erasure_key();
  insert into private.former_addresses (profile_id, hash) values (old.id, private.address_hash(old.email)) on conflict do nothing;
  return null;
end
$$;
comment on function private.keep_former_address() is 'Trigger: a user who changes address, is erased, and signs up with the old one counts once.';
create trigger keep_former_address after update of email on public.profiles
  for each row when (new.auth_user_id is not null and lower(old.email) <> lower(new.email))
  execute function private.keep_former_address();

create function private.keep_participations(person public.profiles, organization_id uuid) returns void
language plpgsql set search_path = '' as $$
declare key bytea := private.make_erasure_key(); accounts text[] := private.accounts_of(person);
begin
  insert into private.erased_participations (hash, organization_id, row_id, hashed_id)
  select private.erasure_hash(key, account, t.row_id), t.organization_id, t.row_id, t.row_id
  from (
    select v.organization_id, coalesce(v.merged_from, v.submission_id) as row_id from public.votes v where v.user_id = person.id
    union
    select j.organization_id, j.source_id
    from public.votes v join public.submissions s on (s.organization_id, s.merged_into_id) = (v.organization_id, v.submission_id)
      join private.merged_votes j on j.source_id = s.id and j.user_id = v.user_id
    where v.user_id = person.id
    union
    select v.organization_id, v.comment_id from public.comment_votes v where v.user_id = person.id
    union
    select r.organization_id, r.survey_id from public.survey_responses r where r.user_id = person.id and r.is_only) t
  cross join unnest(accounts) account
  where keep_participations.organization_id is null or t.organization_id = keep_participations.organization_id
  on conflict do nothing;
end
$$;
comment on function private.keep_participations(public.profiles, uuid) is 'Before a person is erased, in one organization or (null) in all: keeps what they voted for and answered once, as keyed hashes. The caller has locked the profile.';

-- definer: private tables.
create function private.keep_participations_of_account() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  -- Waits for votes on their way, which lock the profile as well.
  perform 1 from public.profiles p where p.id = old.id for update;
  perform private.keep_participations(old, null);
  delete from private.former_addresses f where f.profile_id = old.id;
  return new;
end
$$;
comment on function private.keep_participations_of_account() is 'Trigger: an account that is deleted, by whatever way, and signs up again counts once.';
create trigger keep_participations before update of auth_user_id on public.profiles
  for each row when (old.auth_user_id is not null and new.auth_user_id is null)
  execute function private.keep_participations_of_account();

create function private.participated(accounts text[], row_ids uuid[]) returns boolean
language plpgsql stable set search_path = '' as $$
begin
  return exists (
    select from unnest(accounts) account
    cross join (select distinct e.hashed_id from private.erased_participations e where e.row_id = any (row_ids)) h
    join private.erased_participations e on e.hash = private.erasure_hash(private.read_erasure_key(), account, h.hashed_id));
end
$$;
comment on function private.participated(text[], uuid[]) is 'Whether one of the accounts took part in one of the rows before it was erased.';

create function private.participated(profile_id uuid, row_ids uuid[]) returns boolean
language plpgsql stable set search_path = '' as $$
begin
  return private.participated((select private.accounts_of(p) from public.profiles p where p.id = profile_id), row_ids);
end
$$;
comment on function private.participated(uuid, uuid[]) is 'Whether the account took part in one of the rows before it was erased.';

create function private.participated(address text, row_ids uuid[]) returns boolean
language plpgsql stable set search_path = '' as $$
begin
  -- First, for most rows of most imports have no such hash.
  return exists (select from private.erased_participations e where e.row_id = any (row_ids))
    and private.participated(array['author ' || address, 'user ' || private.address_hash(address)], row_ids);
end
$$;
comment on function private.participated(text, uuid[]) is 'For imports: whether an author or a user of the address, in lower case, took part before the erasure.';

-- definer: private tables.
create function private.refuse_second_participation() returns trigger
language plpgsql security definer set search_path = '' as $$
declare is_erased boolean;
begin
  if private.is_quiet() then return null; end if;
  -- Locked until the commit, for an erasure that runs at the same time; who is erased may still hold a token.
  select bool_or(p.kind = 'user' and coalesce(p.auth_user_id::text, p.email, p.name) is null) into is_erased
  from (select * from public.profiles where id in (select a.user_id from added a) for key share) p;
  if is_erased then
    perform private.raise_error('UNAUTHORIZED', 'This account was deleted.');
  end if;
  if not exists (select from added a join private.erased_participations e using (organization_id)) then return null; end if;
  case tg_table_name
    when 'votes' then
      if exists (select from added a where private.participated(a.user_id, private.with_sources(a.submission_id))) then
        perform private.raise_error('CONFLICT', 'You voted for this submission before you were erased, and that vote still counts.', 'submission_id');
      end if;
    when 'comment_votes' then
      if exists (select from added a where private.participated(a.user_id, array[a.comment_id])) then
        perform private.raise_error('CONFLICT', 'You voted for this comment before you were erased, and that vote still counts.', 'comment_id');
      end if;
    else
      if exists (select from added a where a.is_only and private.participated(a.user_id, array[a.survey_id])) then
        perform private.raise_error('ALREADY_RESPONDED', 'You answered this survey before you were erased, and that response still counts.');
      end if;
  end case;
  return null;
end
$$;
comment on function private.refuse_second_participation() is 'Trigger: who was erased does not vote or answer a second time, from the same account or from a new one of the same address.';
create trigger refuse_second after insert on public.votes
  referencing new table as added for each statement execute function private.refuse_second_participation();
create trigger refuse_second after insert on public.comment_votes
  referencing new table as added for each statement execute function private.refuse_second_participation();
create trigger refuse_second after insert on public.survey_responses
  referencing new table as added for each statement execute function private.refuse_second_participation();

-- definer: private tables.
create function private.trim_participations() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if tg_table_name = 'submissions' then
    -- Votes that a merged submission lent stay with the target, and so do these.
    update private.erased_participations e set row_id = g.merged_into_id
    from gone g join public.submissions s on s.id = g.merged_into_id where e.row_id = g.id;
  end if;
  delete from private.erased_participations e using gone g where e.row_id = g.id;
  return null;
end
$$;
comment on function private.trim_participations() is 'Trigger: what erased people took part in is forgotten with the row.';
create trigger trim_participations after delete on public.submissions
  referencing old table as gone for each statement execute function private.trim_participations();
create trigger trim_participations after delete on public.comments
  referencing old table as gone for each statement execute function private.trim_participations();
create trigger trim_participations after delete on public.surveys
  referencing old table as gone for each statement execute function private.trim_participations();

-- What is kept of a person, for those who ask for it, and how it is forgotten: what they wrote, voted for and answered stays, without them.

create function private.personal_data(profile_id uuid, organization_id uuid) returns json
language plpgsql stable set search_path = '' as $$
begin
  return (
  select json_build_object(
    'profile', json_build_object('id', p.id, 'kind', p.kind, 'name', p.name, 'email', p.email, 'avatar_url', p.avatar_url, 'created_at', p.created_at),
    'memberships', coalesce((select json_agg(json_build_object('organization_id', m.organization_id, 'role', m.role, 'created_at', m.created_at))
      from public.memberships m where m.user_id = p.id and (personal_data.organization_id is null or m.organization_id = personal_data.organization_id)), '[]'),
    'trust', coalesce((select json_agg(json_build_object('organization_id', t.organization_id, 'is_trusted', t.is_trusted, 'created_at', t.created_at))
      from private.author_trust t where t.user_id = p.id and (personal_data.organization_id is null or t.organization_id = personal_data.organization_id)), '[]'),
    'submissions', coalesce((select json_agg(s order by s.created_at desc) from (
      select s.id, s.organization_id, s.title, s.description, s.type, s.status, s.source, s.created_at, s.updated_at from public.submissions s
      where s.author_id = p.id and (personal_data.organization_id is null or s.organization_id = personal_data.organization_id)
      order by s.created_at desc limit 10000) s), '[]'),
    'comments', coalesce((select json_agg(c order by c.created_at desc) from (
      select c.id, c.organization_id, c.submission_id, c.parent_id, c.body, c.created_at, c.updated_at from public.comments c
      where c.author_id = p.id and (personal_data.organization_id is null or c.organization_id = personal_data.organization_id)
      order by c.created_at desc limit 10000) c), '[]'),
    'votes', coalesce((select json_agg(v order by v.created_at desc) from (
      select v.organization_id, v.submission_id, v.created_at from public.votes v
      where v.user_id = p.id and (personal_data.organization_id is null or v.organization_id = personal_data.organization_id)
      order by v.created_at desc limit 10000) v), '[]'),
    'comment_votes', coalesce((select json_agg(v order by v.created_at desc) from (
      select v.organization_id, v.comment_id, v.created_at from public.comment_votes v
      where v.user_id = p.id and (personal_data.organization_id is null or v.organization_id = personal_data.organization_id)
      order by v.created_at desc limit 10000) v), '[]'),
    'follows', coalesce((select json_agg(f order by f.created_at desc) from (
      select f.organization_id, f.submission_id, f.reason, f.created_at from public.follows f
      where f.user_id = p.id and (personal_data.organization_id is null or f.organization_id = personal_data.organization_id)
      order by f.created_at desc limit 10000) f), '[]'),
    'notifications', coalesce((select json_agg(n order by n.created_at desc) from (
      select n.organization_id, n.type, n.submission_id, n.comment_id, n.read_at, n.created_at from public.notifications n
      where n.user_id = p.id and (personal_data.organization_id is null or n.organization_id = personal_data.organization_id)
      order by n.created_at desc limit 10000) n), '[]'),
    'survey_responses', coalesce((select json_agg(r order by r.submitted_at desc) from (
      select r.id, r.organization_id, r.survey_id, s.title as survey_title, coalesce((
          select json_agg(json_build_object('question_id', q.id, 'question', q.text, 'value', a.answer -> 'value') order by q.position)
          from jsonb_array_elements(r.answers) as a (answer) join public.survey_questions q on q.id = (a.answer ->> 'question_id')::uuid), '[]') as answers,
        r.locale, r.started_at, r.submitted_at, r.sentiment, r.sentiment_score
      from public.survey_responses r join public.surveys s on s.id = r.survey_id
      where r.user_id = p.id and (personal_data.organization_id is null or r.organization_id = personal_data.organization_id)
      order by r.submitted_at desc limit 10000) r), '[]'),
    'survey_starts', coalesce((select json_agg(b order by b.started_at desc) from (
      select b.organization_id, b.survey_id, b.started_at from private.survey_starts b
      where b.user_id = p.id and (personal_data.organization_id is null or b.organization_id = personal_data.organization_id)
      order by b.started_at desc limit 10000) b), '[]'))
  from public.profiles p where p.id = profile_id);
end
$$;
comment on function private.personal_data(uuid, uuid) is 'What is kept of a person, in one organization or (null) in all: the newest 10,000 of each kind.';

create function private.takes_part(profile_id uuid, organization_id uuid) returns boolean
language plpgsql stable set search_path = '' as $$
begin
  return exists (select from public.profiles p where p.id = profile_id and p.organization_id = takes_part.organization_id and p.kind in ('email', 'anonymous'))
    or exists (select from public.profiles p where p.id = profile_id and p.kind = 'user') and (
      exists (select from public.memberships m where m.user_id = profile_id and m.organization_id = takes_part.organization_id)
      or exists (select from public.submissions s where s.author_id = profile_id and s.organization_id = takes_part.organization_id)
      or exists (select from public.comments c where c.author_id = profile_id and c.organization_id = takes_part.organization_id)
      or exists (select from public.votes v where v.user_id = profile_id and v.organization_id = takes_part.organization_id)
      or exists (select from public.comment_votes v where v.user_id = profile_id and v.organization_id = takes_part.organization_id)
      or exists (select from public.follows f where f.user_id = profile_id and f.organization_id = takes_part.organization_id)
      or exists (select from public.survey_responses r where r.user_id = profile_id and r.organization_id = takes_part.organization_id)
      or exists (select from private.survey_starts b where b.user_id = profile_id and b.organization_id = takes_part.organization_id));
end
$$;
comment on function private.takes_part(uuid, uuid) is 'Whether a profile is a person of the organization: one it knows by e-mail or import, or a user who wrote, voted, follows or answered there. Agents and keys are none.';

-- Forgetting ---------------------------------------------------------------------------------------------------

create function private.lock_traces(profile_id uuid, organization_id uuid) returns void
language plpgsql set search_path = '' as $$
begin
  perform 1 from public.organizations o where o.id = lock_traces.organization_id for no key update;
  perform 1 from public.submissions s
  where s.id in (
      select o.id from public.submissions o where o.author_id = profile_id
      union all select v.submission_id from public.votes v where v.user_id = profile_id
      union all select f.submission_id from public.follows f where f.user_id = profile_id
      union all select c.submission_id from public.comments c where c.author_id = profile_id
      union all select v.submission_id from public.comment_votes v where v.user_id = profile_id)
    and (lock_traces.organization_id is null or s.organization_id = lock_traces.organization_id)
  order by s.id for no key update;
end
$$;
comment on function private.lock_traces(uuid, uuid) is 'Locks what a person left something on before that is touched, in one organization, whose merges wait, or in all.';

create function private.forget_traces(profile_id uuid, organization_id uuid) returns void
language plpgsql set search_path = '' as $$
begin
  delete from public.notifications n where n.user_id = profile_id and (forget_traces.organization_id is null or n.organization_id = forget_traces.organization_id);
  delete from public.follows f where f.user_id = profile_id and (forget_traces.organization_id is null or f.organization_id = forget_traces.organization_id);
  -- Not a mark as spam, as long as the account is there to go on: nobody takes that off themselves.
  delete from private.author_trust t
  where t.user_id = profile_id and (forget_traces.organization_id is null or t.organization_id = forget_traces.organization_id and t.is_trusted);
  delete from private.invites i using public.profiles p
  where p.id = profile_id and (i.accepted_by = p.id or i.email = lower(p.email))
    and (forget_traces.organization_id is null or i.organization_id = forget_traces.organization_id);
  update private.outbox o set data = jsonb_set(o.data, '{comment,author}', '{"id": null, "name": "Anonymous"}')
  where o.type = 'comment.created' and o.subject_id in (
    select c.id from public.comments c where c.author_id = profile_id
      and (forget_traces.organization_id is null or c.organization_id = forget_traces.organization_id));
end
$$;
comment on function private.forget_traces(uuid, uuid) is 'Removes what only served the person, in one organization or in all, and their name from events still to be read.';

create function private.erase_person(profile_id uuid, organization_id uuid) returns void
language plpgsql set search_path = '' as $$
declare person public.profiles; nobody uuid := profile_id;
begin
  perform private.lock_traces(profile_id, organization_id);
  select * into person from public.profiles p where p.id = profile_id for update;
  if exists (select from public.memberships m where m.user_id = profile_id and m.organization_id = erase_person.organization_id) then
    perform private.raise_error('CONFLICT', 'This person is on the team: remove them from it first.');
  end if;
  perform private.keep_participations(person, organization_id);
  perform private.forget_traces(profile_id, organization_id);
  if person.kind = 'user' then
    -- They have an account, which may be of other organizations too: here, somebody without a name takes their place.
    insert into public.profiles (kind, organization_id) values ('anonymous', organization_id) returning id into nobody;
  end if;
  perform private.forget_answers(profile_id, organization_id, nobody);
  if person.kind <> 'user' then
    delete from private.external_ids e where e.profile_id = erase_person.profile_id;
    delete from private.author_trust t where t.user_id = erase_person.profile_id;
    update public.profiles p set kind = 'anonymous', email = null, name = null, avatar_url = null where p.id = profile_id;
    return;
  end if;
  perform set_config('feedback.quiet', 'on', true);
  update public.submissions s set author_id = nobody where s.author_id = profile_id and s.organization_id = erase_person.organization_id;
  update public.comments c set author_id = nobody where c.author_id = profile_id and c.organization_id = erase_person.organization_id;
  update public.votes v set user_id = nobody where v.user_id = profile_id and v.organization_id = erase_person.organization_id;
  update private.merged_votes v set user_id = nobody where v.user_id = profile_id and v.organization_id = erase_person.organization_id;
  update public.comment_votes v set user_id = nobody where v.user_id = profile_id and v.organization_id = erase_person.organization_id;
  update public.status_changes h set changed_by = nobody where h.changed_by = profile_id and h.organization_id = erase_person.organization_id;
  perform set_config('feedback.quiet', 'off', true);
end
$$;
comment on function private.erase_person(uuid, uuid) is 'An organization forgets a person. What they wrote, their votes and answers stay, by nobody; again is not an error.';

-- For admins ---------------------------------------------------------------------------------------------------

create function private.require_data_protector() returns uuid
language plpgsql stable set search_path = '' as $$
declare own_id uuid := private.current_organization_id();
begin
  perform private.require_admin(own_id, 'members:write');
  return own_id;
end
$$;
comment on function private.require_data_protector() is 'The current organization, for its admins and keys with members:write; FORBIDDEN otherwise.';

-- definer: e-mail addresses are granted to nobody.
create function private.admin_find_people(email text) returns json
language plpgsql stable security definer set search_path = '' as $$
declare own_id uuid := private.require_data_protector();
begin
  return coalesce((select json_agg(json_build_object('id', p.id, 'kind', p.kind, 'name', coalesce(p.name, 'Anonymous'), 'created_at', p.created_at) order by p.kind, p.id)
    from (
      select * from public.profiles p where p.kind = 'email' and p.organization_id = own_id and lower(p.email) = lower(admin_find_people.email)
      union all
      select * from public.profiles p where p.kind = 'user' and lower(p.email) = lower(admin_find_people.email) and private.takes_part(p.id, own_id)
      limit 20) p), '[]');
end
$$;
comment on function private.admin_find_people(text) is 'Who has the e-mail address in the current organization: an author it knows by it, a user who took part, or both.';

create function private.admin_personal_data(profile_id uuid) returns json
language plpgsql security definer set search_path = '' as $$ -- definer: as above
declare own_id uuid := private.require_data_protector();
begin
  if not private.takes_part(profile_id, own_id) then return null; end if;
  perform private.audit('person.export', 'profile', profile_id, '{}', own_id);
  return private.personal_data(profile_id, own_id);
end
$$;
comment on function private.admin_personal_data(uuid) is 'What the current organization keeps of a person. Null where there is no such person.';

create function private.admin_erase_person(profile_id uuid) returns json
language plpgsql security definer set search_path = '' as $$ -- definer: writes what no client may
declare own_id uuid := private.require_data_protector();
begin
  if not private.takes_part(profile_id, own_id) and not exists (
    select from private.audit_log a where a.organization_id = own_id and a.target_id = profile_id and a.action = 'person.erase') then
    return null;
  end if;
  perform private.erase_person(profile_id, own_id);
  perform private.audit('person.erase', 'profile', profile_id, '{}', own_id);
  return json_build_object('id', profile_id, 'erased', true);
end
$$;
comment on function private.admin_erase_person(uuid) is 'The current organization forgets a person; again is not an error. Null where there is no such person.';

-- For oneself --------------------------------------------------------------------------------------------------

create function private.named_organization_id() returns uuid
language sql stable
return case when current_setting('feedback.organization_named', true) = 'true' then private.requested_organization_id() end;
comment on function private.named_organization_id() is 'The organization a request names, or the page that calls is of; null where it is about all.';

-- definer: reads what is kept of the caller, and of nobody else.
create function private.my_personal_data() returns json
language plpgsql stable security definer set search_path = '' as $$
begin
  return private.personal_data(private.caller_id(), private.named_organization_id());
end
$$;
comment on function private.my_personal_data() is 'What is kept of the caller, in the organization the request names, or in all.';

-- definer: writes what no client may, and removes the account.
create function private.erase_me() returns void
language plpgsql security definer set search_path = '' as $$
declare own_id uuid := private.caller_id(); named_id uuid := private.named_organization_id(); membership public.memberships;
begin
  if named_id is not null then
    -- Where they never were there is nothing to forget, and nothing to tell the team.
    if private.takes_part(own_id, named_id) then
      perform private.erase_person(own_id, named_id);
      perform private.audit('person.erase', 'profile', own_id, '{}', named_id);
    end if;
    return;
  end if;
  for membership in select * from public.memberships m where m.user_id = own_id order by m.organization_id loop
    -- Before the membership, which goes with the account; an organization without another owner keeps it.
    perform 1 from public.organizations o where o.id = membership.organization_id for no key update;
    perform private.audit('person.erase', 'profile', own_id, '{}', membership.organization_id);
  end loop;
  perform private.lock_traces(own_id, null);
  perform private.forget_traces(own_id, null);
  delete from private.rate_counters c where c.subject = own_id::text;
  delete from auth.users u where u.id = (select p.auth_user_id from public.profiles p where p.id = own_id);
end
$$;
comment on function private.erase_me() is 'In the organization the request names: it forgets the caller. In all: the caller''s account goes, with name, address, memberships, follows and notifications; what they wrote and their votes stay, by nobody. CONFLICT for the last owner of an organization.';

grant execute on function private.admin_find_people(text), private.admin_personal_data(uuid), private.admin_erase_person(uuid) to authenticated, service_key;
grant execute on function private.my_personal_data(), private.erase_me() to authenticated;
