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
comment on role feedback_api is 'Login of the edge functions. Owns nothing and may do nothing but private.take, private.enter and become one of the API roles.';
grant anon, authenticated, service_key to feedback_api;
-- From Postgres 16 on, making a role does not let its maker act as it; tests do.
grant service_key to current_user;
-- Each shape of a statement has a text of its own: planning it again for its values gains nothing.
alter role feedback_api set plan_cache_mode = 'force_generic_plan';
alter role feedback_api set statement_timeout = '8s';
-- Not longer than a request waits for a connection: one contended row must not starve the others.
alter role feedback_api set lock_timeout = '2s';
alter role feedback_api set idle_in_transaction_session_timeout = '15s';

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

create function private.is_quiet() returns boolean
language sql stable
return coalesce(current_setting('feedback.quiet', true), '') = 'on';
comment on function private.is_quiet() is 'Whether votes and comments change as part of something larger (creation, merge), which tells of itself.';

create function private.is_direct() returns boolean
language sql stable
return session_user <> 'feedback_api'
  and coalesce(current_setting('role', true), '') in ('anon', 'authenticated')
  and pg_trigger_depth() = 1
  and not private.is_quiet();
comment on function private.is_direct() is 'In a trigger: whether a client of the data API itself does this, rather than the edge functions (which charge limits in private.take), a cascade or an operator.';

create function private.touch_updated_at() returns trigger
language plpgsql set search_path = '' as $$
begin
  new.updated_at := now();
  return new;
end
$$;
comment on function private.touch_updated_at() is 'Trigger: updated_at is the time of the last change of content.';

grant execute on function private.error_state(text), private.raise_error(text, text, text, jsonb), private.trim_text(text),
  private.is_slug(text), private.are_origins(text[]), private.are_translations(jsonb), private.localized(text, jsonb, text), private.is_key(),
  private.has_scope(text), private.key_organization_id(), private.caller_id(), private.is_direct(), private.is_quiet()
  to anon, authenticated, service_role, service_key, feedback_api;

-- Organizations, the people in them, and the categories and tags they file feedback under.

-- Organizations ------------------------------------------------------------------------------------------------

create table public.organizations (
  id uuid primary key default gen_random_uuid(),
  slug text not null constraint organization_slugs_are_unique unique,
  name text not null,
  visibility text not null default 'public',
  is_default boolean not null default false,
  require_approval boolean not null default false,
  time_zone text not null default 'UTC',
  allowed_origins text[] not null default '{}',
  max_submissions integer,
  max_members integer,
  max_surveys integer,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint slug_is_lowercase_ascii check (private.is_slug(slug)),
  constraint name_has_1_to_100_characters check (char_length(name) between 1 and 100),
  constraint visibility_is_public_or_private check (visibility in ('public', 'private')),
  constraint allowed_origins_are_origins check (private.are_origins(allowed_origins)),
  constraint plan_limits_are_not_negative check (least(max_submissions, max_members, max_surveys) >= 0)
);
comment on table public.organizations is 'A tenant: one board of feedback, its surveys and its team. Plan limits are null for none.';
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
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint kind_is_known check (kind in ('user', 'email', 'key', 'agent')),
  constraint only_users_span_organizations check ((kind = 'user') = (organization_id is null)),
  constraint email_authors_have_an_email check (kind <> 'email' or email is not null),
  constraint name_has_1_to_100_characters check (char_length(name) between 1 and 100),
  constraint avatar_url_is_a_web_address check (avatar_url ~ '^https?://\S+$' and char_length(avatar_url) <= 2000)
);
comment on table public.profiles is 'Who acts: a user of the app, an author an organization knows by e-mail alone, an API key or an agent. A user''s id is the auth user''s id; e-mail is never granted to clients.';
create unique index one_email_author_an_organization on public.profiles (organization_id, lower(email)) where kind = 'email';
create index profiles_email_idx on public.profiles (lower(email)) where kind = 'user';
create trigger touch_updated_at before update on public.profiles
  for each row execute function private.touch_updated_at();

-- definer: the auth service's role may not write to public tables.
create function private.keep_profile_of_user() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  insert into public.profiles (id, kind, auth_user_id, email, name)
  values (
    new.id, 'user', new.id, new.email,
    left(nullif(private.person_name(coalesce(new.raw_user_meta_data ->> 'name', new.raw_user_meta_data ->> 'full_name')), ''), 100)
  )
  on conflict (id) do update set email = excluded.email;
  return null;
end
$$;
comment on function private.keep_profile_of_user() is 'Trigger on auth.users: a user has a profile with the same id. The name is what the user gave at sign-up, never a part of the address.';
create trigger keep_profile after insert or update of email on auth.users
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
    and not private.is_member(organization_id, profile_id);
end
$$;
comment on function private.needs_approval(uuid, uuid) is 'Whether what a person or key writes now waits for approval: the organization asks for it and the profile is not on its team. Operators need none.';

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
    and (p.kind = 'email' or p.id = private.caller_id()));
end
$$;
comment on function private.is_author_of_key(uuid) is 'Whether a key may act as the profile: its own, or one its organization knows by e-mail alone; never a user''s.';

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

grant execute on function private.person_name(text), private.team_organization_ids(), private.admin_organization_ids(text), private.is_admin(uuid, text),
  private.require_admin(uuid, text), private.is_member(uuid, uuid), private.author(uuid, uuid), private.is_author_of_key(uuid),
  private.author_of_key(text, text), private.may_act_as(uuid),
  private.default_organization_id(), private.requested_organization_id(), private.current_organization_id()
  to anon, authenticated, service_role, service_key;

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
create index submissions_category_idx on public.submissions (organization_id, category_id, created_at desc, id desc);
create index submissions_author_idx on public.submissions (author_id, created_at desc, id desc);
create index submissions_merged_idx on public.submissions (organization_id, merged_into_id) where merged_into_id is not null;
create index submissions_not_public_idx on public.submissions (organization_id, author_id) where not is_public;

create table public.submission_tags (
  organization_id uuid not null default private.requested_organization_id(),
  submission_id uuid not null,
  tag_id uuid not null,
  primary key (organization_id, submission_id, tag_id),
  constraint one_of_each_tag unique (submission_id, tag_id),
  constraint submission_tags_submission_is_of_the_same_organization foreign key (organization_id, submission_id)
    references public.submissions (organization_id, id) on delete cascade,
  constraint submission_tags_tag_is_of_the_same_organization foreign key (organization_id, tag_id)
    references public.tags (organization_id, id) on delete cascade
);
comment on table public.submission_tags is 'Which tags a submission carries.';
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
grant execute on function private.can_see_submission(boolean, uuid, uuid, uuid, uuid[]) to anon, authenticated, service_role, service_key;

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
grant select on public.submission_tags to anon, authenticated, service_key;
grant insert, delete on public.submission_tags to authenticated, service_key;
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
  if private.needs_approval(new.organization_id, new.author_id) then
    new.moderation_state := 'pending';
  end if;
  new.is_public := organization.visibility = 'public' and new.moderation_state = 'approved';
  new.vote_count := 1;
  return new;
end
$$;
comment on function private.prepare_submission() is 'Trigger: fills in organization, author, approval and visibility; the author''s own vote is the first.';
create trigger prepare before insert on public.submissions
  for each row execute function private.prepare_submission();

-- definer: limits of a plan are the organization's business; a row lock makes concurrent inserts take turns.
create function private.keep_plan_limit() returns trigger
language plpgsql security definer set search_path = '' as $$
declare allowed integer; used bigint;
begin
  select max_submissions into allowed from public.organizations where id = new.organization_id;
  if allowed is not null then
    select max_submissions into allowed from public.organizations where id = new.organization_id for no key update;
    select count(*) into used from public.submissions where organization_id = new.organization_id;
    if used > allowed then
      perform private.raise_error('PLAN_LIMIT_REACHED', format('The plan allows %s submissions.', allowed));
    end if;
  end if;
  return null;
end
$$;
comment on function private.keep_plan_limit() is 'Trigger: an organization never has more submissions than its plan allows.';
create trigger keep_plan_limit after insert on public.submissions
  for each row execute function private.keep_plan_limit();

-- definer: makes the author's vote and follow, and the event, which no client may write.
create function private.start_submission() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
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

-- definer: writes the event.
create function private.announce_edit() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if (new.title, new.description) is distinct from (old.title, old.description) and private.needs_approval(new.organization_id, private.caller_id()) then
    update public.submissions set moderation_state = 'pending' where id = new.id;
    return null;
  end if;
  perform private.emit_event(new.organization_id, 'submission.updated', new.id, jsonb_build_object(
    'submission', jsonb_build_object('id', new.id, 'title', new.title, 'description', new.description, 'type', new.type,
      'status', new.status, 'vote_count', new.vote_count, 'category_id', new.category_id, 'created_at', new.created_at,
      'updated_at', new.updated_at)));
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
  if submission.status = new.new_status and not private.is_quiet() then
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
  if private.is_quiet() then return null; end if;
  update public.submissions set status = new.new_status, updated_at = new.created_at where id = new.submission_id;
  perform private.emit_event(new.organization_id, 'submission.status_changed', new.submission_id, jsonb_build_object(
    'submission_id', new.submission_id, 'previous_status', new.previous_status, 'new_status', new.new_status,
    'changed_by', coalesce((select coalesce(name, 'Anonymous') from public.profiles where id = new.changed_by), 'System'),
    'note', coalesce(new.note, '')));
  if new.notify then
    perform private.notify_followers(new.organization_id, new.submission_id, 'status_changed', new.id, null, new.changed_by);
  end if;
  return null;
end
$$;
comment on function private.apply_status_change() is 'Trigger: the submission takes the new status, its followers and the outbox hear of it.';
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
-- Lock order, everywhere: submission, then comment, then counters; several rows of one table by id.

create table public.votes (
  id uuid not null default gen_random_uuid(),
  organization_id uuid not null default private.requested_organization_id(),
  submission_id uuid not null,
  user_id uuid not null default private.caller_id() references public.profiles (id) deferrable initially deferred,
  created_at timestamptz not null default now(),
  primary key (submission_id, id),
  constraint one_vote_a_person_and_submission unique (submission_id, user_id),
  constraint votes_submission_is_of_the_same_organization foreign key (organization_id, submission_id)
    references public.submissions (organization_id, id) on delete cascade
);
comment on table public.votes is 'One vote a person and submission. The primary key leads with submission_id so that a deleted vote still reaches realtime subscribers of that submission, carrying nothing but ids.';
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
comment on table public.follows is 'Who hears of a submission, and why. Read by its owner only.';
create index follows_user_idx on public.follows (user_id, created_at desc);

-- Rules of voting ----------------------------------------------------------------------------------------------

-- Invoker: what the caller cannot see is not there.
create function private.prepare_vote() returns trigger
language plpgsql set search_path = '' as $$
declare submission record;
begin
  if private.is_quiet() then return new; end if;
  select s.organization_id, s.merged_into_id into submission from public.submissions s where s.id = new.submission_id;
  if submission.organization_id is null then
    perform private.raise_error('NOT_FOUND', 'There is no such submission.', 'submission_id');
  end if;
  if submission.merged_into_id is not null then
    perform private.raise_error('SUBMISSION_MERGED', 'This submission was merged into another: go there.', null,
      jsonb_build_object('merged_into_id', submission.merged_into_id));
  end if;
  new.organization_id := submission.organization_id;
  return new;
end
$$;
comment on function private.prepare_vote() is 'Trigger of votes and follows: the submission must be visible to the caller and not merged away.';
create trigger prepare before insert on public.votes
  for each row execute function private.prepare_vote();
create trigger prepare before insert on public.follows
  for each row execute function private.prepare_vote();

-- definer: counts, follows, notifications and events are not the voter's to write.
create function private.count_added_votes() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if private.is_quiet() then return null; end if;
  if private.is_direct() then
    perform private.charge_direct('vote_create', (select count(*) from added));
  end if;
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
  from added v join public.submissions s on s.id = v.submission_id;
  return null;
end
$$;
comment on function private.count_added_votes() is 'Trigger: vote_count, the voter''s follow, the author''s notification and submission.vote_added, which names no voter.';
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
  from removed v join public.submissions s on s.id = v.submission_id;
  return null;
end
$$;
comment on function private.count_removed_votes() is 'Trigger: vote_count and submission.vote_removed; a submission deleted with its votes announces none.';
create trigger count_removed after delete on public.votes
  referencing old table as removed for each statement execute function private.count_removed_votes();

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
  return exists (select from public.follows f where f.submission_id = is_following.submission_id and f.user_id = private.caller_id());
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
    delete from public.votes v where v.submission_id = remove_vote.submission_id and v.user_id = profile_id;
  end if;
end
$$;
comment on function private.remove_vote(uuid, uuid) is 'Takes back the vote of the caller, or of a profile the key acts as. Nothing happens where there is none.';

create function private.submission_voters(submission_id uuid) returns table (user_id uuid, name text, email text, voted_at timestamptz)
language plpgsql stable security definer set search_path = '' as $$
begin
  perform private.require_admin(s.organization_id, 'submissions:moderate') from public.submissions s where s.id = submission_voters.submission_id;
  return query
    select p.id, coalesce(p.name, 'Anonymous'), p.email, v.created_at
    from public.votes v join public.profiles p on p.id = v.user_id
    where v.submission_id = submission_voters.submission_id;
end
$$;
comment on function private.submission_voters(uuid) is 'Who voted, with e-mail addresses, for the organization''s admins; FORBIDDEN for anyone else.';

-- Rights -------------------------------------------------------------------------------------------------------

alter table public.votes enable row level security;
alter table public.follows enable row level security;
revoke all on public.votes, public.follows from public, anon, authenticated, service_role, service_key;
grant select (id, organization_id, submission_id, created_at) on public.votes to anon, authenticated, service_key;
grant insert (submission_id), delete on public.votes to authenticated;
grant insert (submission_id, user_id) on public.votes to service_key;
grant select, delete on public.follows to authenticated;
grant insert (submission_id) on public.follows to authenticated;
grant select, insert, delete on public.votes, public.follows to service_role;
grant execute on function public.my_votes(uuid[]) to authenticated;
grant execute on function private.my_vote(uuid),
  private.vote_of(uuid, uuid), private.is_following(uuid), private.my_votes(), private.remove_vote(uuid, uuid), private.submission_voters(uuid)
  to anon, authenticated, service_key;

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
  for delete to authenticated using (user_id = (select auth.uid()));

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
declare submission record; parent record;
begin
  select s.id, s.organization_id, s.merged_into_id into submission from public.submissions s where s.id = new.submission_id;
  if submission.id is null then
    perform private.raise_error('NOT_FOUND', 'There is no such submission.', 'submission_id');
  end if;
  if submission.merged_into_id is not null then
    perform private.raise_error('SUBMISSION_MERGED', 'This submission was merged into another: comment there.', null,
      jsonb_build_object('merged_into_id', submission.merged_into_id));
  end if;
  if new.parent_id is not null then
    select c.id, c.moderation_state into parent from public.comments c where c.id = new.parent_id and c.submission_id = new.submission_id;
    if parent.id is null then
      perform private.raise_error('NOT_FOUND', 'There is no such comment to reply to on this submission.', 'parent_id');
    end if;
    if parent.moderation_state <> 'approved' and private.caller_id() is not null then
      perform private.raise_error('CONFLICT', 'The comment has to be approved before it is replied to.', 'parent_id');
    end if;
  end if;
  new.organization_id := submission.organization_id;
  new.body := private.trim_text(new.body);
  return private.rate_comment(new);
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
  select s.is_public into submission_is_public from public.submissions s where s.id = comment.submission_id for no key update;
  comment.is_official := private.is_member(comment.organization_id, comment.author_id);
  if private.needs_approval(comment.organization_id, comment.author_id) then
    comment.moderation_state := 'pending';
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
create function private.lock_thread(comment_id uuid) returns void
language plpgsql security definer set search_path = '' as $$
begin
  perform 1 from public.submissions s
  where s.id = (select c.submission_id from public.comments c where c.id = comment_id) for no key update;
end
$$;
comment on function private.lock_thread(uuid) is 'Takes the submission''s lock before a comment''s own, so that deletes at several levels of a thread take turns. Without it they are as exact, but one of them may have to try again.';

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
declare comment record;
begin
  select c.organization_id, c.submission_id, s.merged_into_id into comment
  from public.comments c join public.submissions s on s.id = c.submission_id where c.id = new.comment_id;
  if comment.submission_id is null then
    perform private.raise_error('NOT_FOUND', 'There is no such comment.', 'comment_id');
  end if;
  if comment.merged_into_id is not null then
    perform private.raise_error('SUBMISSION_MERGED', 'The comment''s submission was merged into another: go there.', null,
      jsonb_build_object('merged_into_id', comment.merged_into_id));
  end if;
  new.organization_id := comment.organization_id;
  new.submission_id := comment.submission_id;
  return new;
end
$$;
comment on function private.prepare_comment_vote() is 'Trigger: the comment must be visible to the caller.';
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
grant execute on function private.comment_edit_window(), private.lock_thread(uuid), private.written_comment(uuid), private.comment_vote_of(uuid, uuid), private.remove_comment_vote(uuid, uuid), private.rate_comment(public.comments)
  to anon, authenticated, service_role, service_key;

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
  for update to authenticated using (author_id = (select auth.uid())) with check (author_id = (select auth.uid()));
create policy "authors and admins delete" on public.comments
  for delete to authenticated, service_key using (
    private.may_act_as(author_id)
    or organization_id = any ((select private.admin_organization_ids('submissions:moderate'))::uuid[]));

create policy "votes are seen with their comment" on public.comment_votes
  for select to anon, authenticated, service_key using (
    exists (select from public.comments c where c.id = comment_id));
create policy "users vote as themselves" on public.comment_votes
  for insert to authenticated with check (user_id = (select auth.uid()));
create policy "keys vote for themselves and their e-mail authors" on public.comment_votes
  for insert to service_key with check (
    private.may_act_as(user_id));
create policy "users take back their own vote" on public.comment_votes
  for delete to authenticated using (user_id = (select auth.uid()));

create policy "people are seen through what they wrote" on public.profiles
  for select to anon, authenticated, service_key using (
    id = (select private.caller_id())
    or exists (select from public.submissions s where s.author_id = profiles.id)
    or exists (select from public.comments c where c.author_id = profiles.id));
create policy "members see their team's profiles" on public.profiles
  for select to authenticated using (
    exists (select from public.memberships m where m.user_id = profiles.id));

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
begin
  return coalesce((
    select sum(c.total) from private.submission_counts c
    where c.organization_id = count_submissions.organization_id and (c.is_public or all_of_them)
      and (count_submissions.status is null or c.status = count_submissions.status)
      and (count_submissions.type is null or c.type = count_submissions.type)
      and (category_ids is null or c.category_id = any (category_ids))), 0)
  + case when all_of_them or caller is null then 0 else (
    select count(*) from public.submissions s
    where s.organization_id = count_submissions.organization_id and s.author_id = caller and not s.is_public and s.merged_into_id is null
      and (count_submissions.status is null or s.status = count_submissions.status)
      and (count_submissions.type is null or s.type = count_submissions.type)
      and (category_ids is null or s.category_id = any (category_ids))) end;
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

-- definer: reads private.submission_search; the caller joins the ids with submissions, where policies apply.
create function private.find_submissions(organization_id uuid, q text) returns table (submission_id uuid, relevance real)
language plpgsql stable security definer set search_path = '' rows 200 as $$
declare words tsquery := private.search_query(q); pattern text := private.like_pattern(q);
begin
  return query
    select s.submission_id,
      (ts_rank(s.document, words) + case when s.title like pattern then 0.5 when s.content like pattern then 0.1 else 0 end)::real
    from private.submission_search s
    where s.organization_id = find_submissions.organization_id
      and (s.document @@ words or s.content operator(pg_catalog.~~) pattern);
end
$$;
comment on function private.find_submissions(uuid, text) is 'Ids and relevance of an organization''s submissions that hold the words or the text itself.';

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
create function private.similar_submissions(organization_id uuid, title text, description text) returns table (submission_id uuid, similarity real)
language plpgsql stable security definer set search_path = '' rows 50 as $$
declare
  wanted text := private.plain_text(title);
  words tsquery := (select string_agg(quote_literal(lexeme), ' | ')::tsquery
    from unnest(to_tsvector('private.plain', similar_submissions.title)) where lexeme ~ '^[[:alnum:]]{4,}$');
begin
  return query
    select s.submission_id,
      greatest(extensions.similarity(s.title, wanted),
        0.8 * extensions.strict_word_similarity(wanted, s.content),
        case when description is not null then 0.9 * extensions.similarity(s.content, wanted || ' ' || private.plain_text(description)) end)::real as score
    from (
      (select c.* from private.submission_search c
        where c.organization_id = similar_submissions.organization_id and c.title operator(extensions.%) wanted limit 200)
      union
      (select c.* from private.submission_search c
        where c.organization_id = similar_submissions.organization_id and c.document @@ words
        order by ts_rank(c.document, words) desc limit 50)
    ) s
    order by score desc
    limit 50;
end
$$;
comment on function private.similar_submissions(uuid, text, text) is 'At most 50 submissions like the one described, with a similarity from 0 to 1, best first.';

revoke all on private.submission_search from public, anon, authenticated, service_role, service_key;
grant execute on function private.find_submissions(uuid, text), private.highlight(text, text, tsquery, boolean), private.escape_html(text),
  private.similar_submissions(uuid, text, text), private.search_query(text), private.plain_text(text) to anon, authenticated, service_key;

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
  constraint type_is_known check (type in ('vote', 'comment', 'reply', 'official_comment', 'status_changed'))
);
comment on table public.notifications is 'What a person should know. event_id is the vote, comment or status change it tells of; a vote''s names no voter.';
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

create function private.notify_batch(fanout private.fanouts, batch integer) returns uuid
language plpgsql set search_path = '' as $$
declare last_id uuid;
begin
  with next as (
    select f.user_id from public.follows f
    where f.submission_id = fanout.submission_id and f.user_id > fanout.after_user_id
    order by f.user_id limit batch
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
    user_id = (select auth.uid()) and exists (select from public.submissions s where s.id = submission_id));
create policy "people mark their own notifications read" on public.notifications
  for update to authenticated using (user_id = (select auth.uid())) with check (user_id = (select auth.uid()));

-- Surveys, their questions, and their life: draft → published ⇄ paused, any → archived. What is not a draft stays as it is.
--
-- Lock order: a version, the survey it is a version of, then who answers it (an advisory lock), their start, responses, and
-- counters in a lane of their own, which are never waited for (42_survey_analytics.sql). Writers of a survey and of its
-- questions take its row for no key update; who answers takes it for share, so that nobody answers what another is about to
-- close, and many answer at once.

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
grant execute on function private.survey_organization_ids(text[]) to anon, authenticated, service_role, service_key;

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
  if new.status <> 'draft' then
    perform private.raise_error('CONFLICT', 'A survey begins as a draft: publish it afterwards.', 'status');
  end if;
  new.title := private.trim_text(new.title);
  new.description := private.trim_text(new.description);
  new.family_id := coalesce(new.family_id, new.id);
  return new;
end
$$;
comment on function private.prepare_survey() is 'Trigger: fills in the organization; every survey begins as a draft.';
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
  for found_status in
    select s.status from public.surveys s where s.id in (select c.survey_id from changed c) order by s.id for no key update
  loop
    perform private.require_draft(found_status);
  end loop;
  return null;
end
$$;
comment on function private.keep_questions() is 'Trigger: questions and options change while their survey is a draft, and go with it.';
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
      else exists (select from public.follows f where f.submission_id = submission and f.user_id = open_survey.user_id) end;
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

-- definer: the person goes, their response stays.
create function private.forget_respondent() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  -- Surveys before responses: one that is being deleted takes its own along.
  perform 1 from public.surveys s where s.id in (select r.survey_id from public.survey_responses r where r.user_id = old.id)
  order by s.id for key share;
  update public.survey_responses r set answers = coalesce((
    select jsonb_agg(a.value order by a.n) from jsonb_array_elements(r.answers) with ordinality as a (value, n)
    join public.survey_questions q on q.id = (a.value ->> 'question_id')::uuid where q.type <> 'email'), '[]')
  where r.user_id = old.id and exists (select from public.survey_questions q where q.survey_id = r.survey_id and q.type = 'email');
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

create function private.recount_survey(survey_id uuid) returns void
language plpgsql set search_path = '' as $$
begin
  perform 1 from public.surveys s where s.id = recount_survey.survey_id for no key update;
  delete from private.survey_answer_counts c where c.survey_id = recount_survey.survey_id;
  delete from private.survey_counts c where c.survey_id = recount_survey.survey_id;
  perform set_config('feedback.lane', '', true);
  insert into private.survey_counts (organization_id, survey_id, lane, responses, timed, milliseconds, positive, neutral, negative, score, starts)
  select s.organization_id, s.id, 0, r.*, (select count(*) from private.survey_starts b where b.survey_id = s.id)
  from public.surveys s cross join lateral (
    select count(*), count(r.started_at), coalesce(sum((extract(epoch from r.submitted_at - r.started_at) * 1000)::bigint), 0),
      count(*) filter (where r.sentiment = 'positive'), count(*) filter (where r.sentiment = 'neutral'),
      count(*) filter (where r.sentiment = 'negative'), coalesce(sum(r.sentiment_score), 0)
    from public.survey_responses r where r.survey_id = s.id) r
  where s.id = recount_survey.survey_id;
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
  select 'surveys.' || n.name, s.id, n.stored, n.truth
  from public.surveys s
  cross join lateral (
    select coalesce(sum(c.responses), 0) as responses, coalesce(sum(c.starts), 0) as starts, coalesce(sum(c.timed), 0) as timed,
      coalesce(sum(c.milliseconds), 0) as milliseconds, coalesce(sum(c.positive), 0) as positive, coalesce(sum(c.neutral), 0) as neutral,
      coalesce(sum(c.negative), 0) as negative, coalesce(sum(c.score), 0) as score
    from private.survey_counts c where c.survey_id = s.id) c
  cross join lateral (
    select count(*) as responses, count(r.started_at) as timed,
      coalesce(sum((extract(epoch from r.submitted_at - r.started_at) * 1000)::bigint), 0) as milliseconds,
      count(*) filter (where r.sentiment = 'positive') as positive, count(*) filter (where r.sentiment = 'neutral') as neutral,
      count(*) filter (where r.sentiment = 'negative') as negative, coalesce(sum(r.sentiment_score), 0) as score
    from public.survey_responses r where r.survey_id = s.id) t
  cross join lateral (values
    ('responses', c.responses, t.responses), ('starts', c.starts, (select count(*) from private.survey_starts b where b.survey_id = s.id)),
    ('timed', c.timed, t.timed), ('milliseconds', c.milliseconds, t.milliseconds), ('positive', c.positive, t.positive),
    ('neutral', c.neutral, t.neutral), ('negative', c.negative, t.negative), ('score', 1000 * c.score, 1000 * t.score)) n (name, stored, truth)
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
grant execute on function private.reads_analytics(uuid), private.survey_sentiment(uuid), private.survey_breakdown(uuid)
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

grant execute on function private.admin_list_api_keys(), private.admin_create_api_key(text, text[], bytea, text, text, timestamptz),
  private.admin_rotate_api_key(uuid, bytea, text, text, interval), private.admin_revoke_api_key(uuid) to authenticated;

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
  ('submission_create_key', 100, 60), ('submission_create_user', 300, 60), ('submission_update_user', 300, 60),
  ('duplicate_check_public', 30, 60), ('duplicate_check_user', 100, 60), ('duplicate_check_key', 100, 60),
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

-- The two functions every request starts with, the origins of pages that may call, and requests that may be repeated.

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
-- joined while a board was public hears nothing of it once it is private.

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
  return coalesce((select is_on from private.switches where name = 'broadcast_changes'), false);
end
$$;
comment on function private.broadcasts_changes() is 'Whether the operator wants changes broadcast.';

create function private.submission_topic(submission_id uuid, is_public boolean) returns text
language sql immutable
return 'submission:' || submission_id::text || case when is_public then '' else ':team' end;
comment on function private.submission_topic(uuid, boolean) is 'Where a row is told of: to everyone, or to the team.';

create function private.counts_of(submission public.submissions) returns jsonb
language sql immutable set search_path = ''
return jsonb_build_object('id', (submission).id, 'vote_count', (submission).vote_count, 'comment_count', (submission).comment_count);
comment on function private.counts_of(public.submissions) is 'What comes with each vote and comment, so that a count costs no message of its own.';

create function private.broadcast(changed_table text, changes jsonb) returns void
language plpgsql set search_path = '' as $$
begin
  if jsonb_array_length(changes) > 100 then
    perform realtime.send(jsonb_build_object('schema', 'public', 'table', changed_table, 'operation', 'RELOAD'), 'RELOAD', topic, true)
    from (
      select distinct topic
      from jsonb_array_elements(changes) c cross join lateral (values (c ->> 'old_topic'), (c ->> 'topic')) as told (topic)
      where topic is not null
      limit 100) told;
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
  if tg_op = 'INSERT' then
    perform private.broadcast('votes', jsonb_agg(jsonb_build_object(
      'topic', private.submission_topic(s.id, s.is_public), 'home', private.submission_topic(s.id, s.is_public), 'submission', private.counts_of(s),
      'record', jsonb_build_object('id', v.id, 'organization_id', v.organization_id, 'submission_id', v.submission_id, 'created_at', v.created_at))))
    from changed v join public.submissions s on s.id = v.submission_id;
  else
    perform private.broadcast('votes', jsonb_agg(jsonb_build_object(
      'old_topic', private.submission_topic(s.id, s.is_public), 'home', private.submission_topic(s.id, s.is_public), 'submission', private.counts_of(s),
      'key', jsonb_build_object('submission_id', v.submission_id, 'id', v.id))))
    from changed v join public.submissions s on s.id = v.submission_id;
  end if;
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
create function private.broadcast_submissions() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if not private.broadcasts_changes() then return null; end if;
  if tg_op = 'UPDATE' then
    perform private.broadcast('submissions', jsonb_agg(jsonb_build_object(
      'old_topic', private.submission_topic(o.id, o.is_public), 'topic', private.submission_topic(n.id, n.is_public),
      'key', jsonb_build_object('organization_id', o.organization_id, 'id', o.id),
      'record', jsonb_build_object('id', n.id, 'organization_id', n.organization_id, 'title', n.title, 'type', n.type, 'status', n.status,
        'vote_count', n.vote_count, 'comment_count', n.comment_count, 'category_id', n.category_id,
        'merged_into_id', n.merged_into_id, 'created_at', n.created_at, 'updated_at', n.updated_at))))
    from old_rows o join new_rows n using (id)
    where (o.is_public, o.title, o.type, o.status, o.category_id, o.merged_into_id, o.updated_at)
        is distinct from (n.is_public, n.title, n.type, n.status, n.category_id, n.merged_into_id, n.updated_at)
      -- A merge moves votes without telling of each.
      or private.is_quiet() and (o.vote_count, o.comment_count) is distinct from (n.vote_count, n.comment_count);
  else
    perform private.broadcast('submissions', jsonb_agg(jsonb_build_object(
      'old_topic', private.submission_topic(o.id, o.is_public),
      'key', jsonb_build_object('organization_id', o.organization_id, 'id', o.id))))
    from old_rows o;
  end if;
  return null;
end
$$;
comment on function private.broadcast_submissions() is 'Trigger: a submission on its own topic, without its description; counts that change by a vote or comment come with that.';
create trigger tell_changed after update on public.submissions
  referencing old table as old_rows new table as new_rows for each statement execute function private.broadcast_submissions();
create trigger tell_removed after delete on public.submissions
  referencing old table as old_rows for each statement execute function private.broadcast_submissions();

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
declare part text[] := regexp_match(topic, '^(submission|survey):([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(:team)?$');
begin
  if part is null then return false; end if;
  if part[1] = 'survey' then
    return part[3] is null and exists (select from public.surveys s where s.id = part[2]::uuid
      and s.organization_id = any (private.admin_organization_ids('responses:read')));
  end if;
  return exists (select from public.submissions s where s.id = part[2]::uuid
    and (part[3] is null or s.organization_id = any (private.team_organization_ids())));
end
$$;
comment on function private.may_listen(text) is 'Whether the caller may join a private topic: submission:<id> if they see the submission, submission:<id>:team if they are on its team, survey:<id> if they are Admin of it.';
grant execute on function private.may_listen(text) to anon, authenticated;

-- Nobody is let to send: what comes by these topics comes from the triggers above.
create policy "who may listen hears" on realtime.messages
  for select to anon, authenticated using (extension = 'broadcast' and (select private.may_listen(realtime.topic())));

-- What runs on a schedule, and the check of what must always hold.

create function private.run_schedule() returns jsonb
language plpgsql set search_path = '' as $$
declare fanouts integer; surveys integer; counters integer; keys integer; events integer;
begin
  fanouts := private.run_fanouts();
  surveys := private.close_surveys();
  delete from private.rate_counters c where ctid in (
    select o.ctid from private.rate_counters o where o.started_at < now() - interval '2 hours' limit 5000);
  get diagnostics counters = row_count;
  delete from private.idempotency_keys k where ctid in (
    select o.ctid from private.idempotency_keys o where o.created_at < now() - interval '1 day' limit 5000);
  get diagnostics keys = row_count;
  delete from private.outbox e where ctid in (
    select o.ctid from private.outbox o where o.created_at < now() - interval '30 days' limit 5000);
  get diagnostics events = row_count;
  return jsonb_build_object('fanouts', fanouts, 'surveys', surveys, 'rate_counters', counters, 'idempotency_keys', keys, 'events', events);
end
$$;
comment on function private.run_schedule() is 'Every few seconds, by pg_cron on hosted Supabase and by a timer in the embedded stack: writes waiting notifications, closes surveys whose time has passed and deletes what has expired, in bounded batches. Idempotent; says what it did.';

-- Hosted Supabase has pg_cron; the embedded stack has not.
do $$
begin
  if exists (select from pg_available_extensions where name = 'pg_cron') then
    create extension if not exists pg_cron;
    perform cron.schedule('feedback-schedule', '10 seconds', 'select private.run_schedule()');
  end if;
end
$$;

create function private.count_mistakes() returns table (subject text, id uuid, stored bigint, truth bigint)
language sql stable set search_path = ''
begin atomic
  select 'submissions.vote_count', s.id, s.vote_count, v.n
  from public.submissions s cross join lateral (select count(*) as n from public.votes v where v.submission_id = s.id) v
  where s.vote_count <> v.n and s.merged_into_id is null
  union all
  select 'submissions.comment_count', s.id, s.comment_count, c.n
  from public.submissions s cross join lateral (
    select count(*) as n from public.comments c where c.submission_id = s.id and c.moderation_state = 'approved') c
  where s.comment_count <> c.n and s.merged_into_id is null
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
  select * from private.survey_count_mistakes();
end;
comment on function private.count_mistakes() is 'Rows whose counter differs from the truth: none, ever.';
