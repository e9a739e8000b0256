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
