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
  return private.webhook_shape(made);
end
$$;
comment on function private.admin_create_webhook(uuid, uuid, text, text[], text) is 'Registers an endpoint; from now on it is told of events.';

create function private.admin_update_webhook(organization_id uuid, webhook_id uuid, url text, events text[], enabled boolean) returns json
language plpgsql security definer set search_path = '' as $$ -- definer: as above
declare changed private.webhooks;
begin
  perform private.require_webhook_admin(organization_id, 'webhooks:write');
  update private.webhooks w set
    url = coalesce(admin_update_webhook.url, w.url),
    -- Another address has not proved itself.
    is_healthy = w.is_healthy and coalesce(admin_update_webhook.url = w.url, true),
    events = coalesce(admin_update_webhook.events, w.events),
    is_enabled = coalesce(enabled, w.is_enabled),
    disabled_reason = case when not coalesce(enabled, w.is_enabled) then coalesce(w.disabled_reason, 'admin') end
  where w.organization_id = admin_update_webhook.organization_id and w.id = webhook_id
  returning w.* into changed;
  return case when changed.id is not null then private.webhook_shape(changed) end;
end
$$;
comment on function private.admin_update_webhook(uuid, uuid, text, text[], boolean) is 'Changes what is not null. Null where the organization has none of that id.';

create function private.admin_delete_webhook(organization_id uuid, webhook_id uuid) returns boolean
language plpgsql security definer set search_path = '' as $$ -- definer: as above
begin
  perform private.require_webhook_admin(organization_id, 'webhooks:write');
  delete from private.webhooks w where w.organization_id = admin_delete_webhook.organization_id and w.id = webhook_id;
  return found;
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
  return case when changed.id is not null then private.webhook_shape(changed) end;
end
$$;
comment on function private.admin_rotate_webhook(uuid, uuid, text, interval) is 'Another secret; deliveries are signed with the one before as well until the overlap has passed. Null where the organization has none of that id.';

grant execute on function private.admin_list_webhooks(uuid), private.admin_show_webhook(uuid, uuid),
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
  primary key (webhook_id, event_id),
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
    -- Not what was claimed anew meanwhile.
    where d.webhook_id = r.webhook_id and d.event_id = r.event_id and d.status = 'sending' and d.attempt_count = r.attempt
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

create function private.call_dispatcher() returns void
language plpgsql set search_path = '' as $$
declare
  dispatcher text := (select s.decrypted_secret from vault.decrypted_secrets s where s.name = 'webhook_dispatch_url');
  password text := (select s.decrypted_secret from vault.decrypted_secrets s where s.name = 'webhook_dispatch_secret');
begin
  if dispatcher is null or password is null then return; end if;
  perform net.http_post(url => dispatcher, body => '{}'::jsonb,
    headers => jsonb_build_object('Content-Type', 'application/json', 'Authorization', 'Bearer ' || password), timeout_milliseconds => 5000);
end
$$;
comment on function private.call_dispatcher() is 'Hosted Supabase: asks functions/webhook-dispatch to run, by pg_net, which sends once this transaction has committed. Address and password are in the Vault as webhook_dispatch_url and webhook_dispatch_secret.';

create function private.wake_dispatcher(organization_id uuid) returns void
language plpgsql set search_path = '' as $$
begin
  if not exists (select from private.webhooks w where w.organization_id = wake_dispatcher.organization_id and w.is_enabled) then return; end if;
  if to_regclass('vault.decrypted_secrets') is null or to_regnamespace('net') is null then
    perform pg_notify('webhooks', '');
  elsif coalesce(current_setting('feedback.dispatcher_called', true), '') <> pg_current_xact_id()::text then
    perform set_config('feedback.dispatcher_called', pg_current_xact_id()::text, true);
    begin
      perform private.call_dispatcher();
    -- The schedule comes anyway; what was done must not be undone.
    exception when others then
      raise warning 'the dispatcher was not called: %', sqlerrm;
    end;
  end if;
end
$$;
comment on function private.wake_dispatcher(uuid) is 'Once this transaction commits, a dispatcher runs if the organization has webhooks: by pg_net where there is one, by a notification elsewhere.';

-- Hosted Supabase has pg_cron, pg_net and the Vault; the embedded stack has a timer.
do $$
begin
  if (select count(*) from pg_available_extensions where name in ('pg_cron', 'pg_net', 'supabase_vault')) = 3 then
    create extension if not exists pg_net;
    create extension if not exists supabase_vault;
    perform cron.schedule('feedback-webhooks', '10 seconds', 'select private.call_dispatcher()');
  end if;
end
$$;

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
language plpgsql set search_path = '' as $$
declare at uuid := (select c.trimmed from private.webhook_cursor c); seen uuid; trimmed integer := 0; here integer;
begin
  -- What waits for an endpoint that was switched off is given up.
  update private.webhook_deliveries d set status = 'failed', finished_at = now(),
    attempts = private.logged(d.attempts, private.logged_attempt(d.attempt_count, null, null, null, null, 'The webhook was switched off.'))
  from (
    select d.webhook_id, d.event_id from private.webhooks w join private.webhook_deliveries d on d.webhook_id = w.id and d.status = 'pending'
    where not w.is_enabled and w.updated_at < now() - interval '1 minute' limit most for update of d skip locked) late
  where d.webhook_id = late.webhook_id and d.event_id = late.event_id;
  -- Some of the webhooks each time, and from the first again after the last.
  for seen in select w.id from private.webhooks w where w.id > at order by w.id limit 200 loop
    delete from private.webhook_deliveries d where d.webhook_id = seen and d.event_id in (
      select o.event_id from private.webhook_deliveries o where o.webhook_id = seen and o.status in ('delivered', 'failed')
      order by o.created_at desc, o.event_id offset 100 limit most - trimmed);
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

-- Who may listen -----------------------------------------------------------------------------------------------

create function private.may_listen(topic text) returns boolean
language plpgsql stable set search_path = '' as $$
declare part text[] := regexp_match(topic, '^submission:([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(:team)?$');
begin
  if part is null then return false; end if;
  return exists (select from public.submissions s where s.id = part[1]::uuid
    and (part[2] is null or s.organization_id = any (private.team_organization_ids())));
end
$$;
comment on function private.may_listen(text) is 'Whether the caller may join a private topic: submission:<id> if they see the submission, submission:<id>:team if they are on its team.';
grant execute on function private.may_listen(text) to anon, authenticated;

-- Nobody is let to send: what comes by these topics comes from the triggers above.
create policy "whoever sees a submission hears of it" on realtime.messages
  for select to anon, authenticated using (extension = 'broadcast' and (select private.may_listen(realtime.topic())));

-- What runs on a schedule, and the check of what must always hold.

create function private.run_schedule() returns jsonb
language plpgsql set search_path = '' as $$
declare fanouts integer; counters integer; keys integer; events integer; deliveries integer;
begin
  fanouts := private.run_fanouts();
  delete from private.rate_counters c where ctid in (
    select o.ctid from private.rate_counters o where o.started_at < now() - interval '2 hours' limit 5000);
  get diagnostics counters = row_count;
  delete from private.idempotency_keys k where ctid in (
    select o.ctid from private.idempotency_keys o where o.created_at < now() - interval '1 day' limit 5000);
  get diagnostics keys = row_count;
  delete from private.outbox e where ctid in (
    select o.ctid from private.outbox o where o.created_at < now() - interval '30 days' limit 5000);
  get diagnostics events = row_count;
  deliveries := private.trim_deliveries();
  return jsonb_build_object('fanouts', fanouts, 'rate_counters', counters, 'idempotency_keys', keys, 'events', events, 'deliveries', deliveries);
end
$$;
comment on function private.run_schedule() is 'Every few seconds, by pg_cron on hosted Supabase and by a timer in the embedded stack: writes waiting notifications and deletes what has expired, in bounded batches. Idempotent; says what it did.';

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
  where coalesce(c.total, 0) <> coalesce(t.total, 0);
end;
comment on function private.count_mistakes() is 'Rows whose counter differs from the truth: none, ever.';
