-- Organizations, profiles, memberships, categories and tags.

-- Organizations ---------------------------------------------------------------------------------------------

-- Whether Postgres knows a time zone with this name.
create function private.is_time_zone(value text) returns boolean
language plpgsql immutable set search_path = pg_temp as $$
begin
  perform now() at time zone value;
  return value ~ '^[A-Za-z][A-Za-z0-9_+/-]{0,63}$';
exception when invalid_parameter_value then
  return false;
end
$$;

-- Every kind of mail, in the order of the settings: its choices, the default choice, and the type of the
-- notifications that it covers. Digests (which collect others) and invites cannot be chosen.
create function private.mail_kinds()
  returns table (place integer, kind text, choices text[], default_choice text, notification_type text)
language sql immutable
begin atomic
  values
    (1, 'status', '{at_once,daily,weekly,never}'::text[], 'at_once', 'status_changed'),
    (2, 'official', '{at_once,daily,weekly,never}', 'at_once', 'official_comment'),
    (3, 'reply', '{at_once,daily,weekly,never}', 'at_once', 'reply'),
    (4, 'comment', '{at_once,daily,weekly,never}', 'daily', 'comment'),
    (5, 'survey', '{at_once,never}', 'at_once', null),
    (6, 'team', '{daily,weekly,never}', 'daily', null),
    (7, 'digest', '{}', null, null),
    (8, 'invite', '{}', null, null);
end;

-- Whether this kind of mail exists.
create function private.is_mail_kind(kind text) returns boolean
language sql immutable
return exists (select from private.mail_kinds() k where k.kind = is_mail_kind.kind);

-- A JSON object that maps kinds of mail to one of their choices.
create function private.are_mail_choices(value jsonb) returns boolean
language sql immutable
return jsonb_typeof(value) = 'object' and not exists (
  select from jsonb_each_text(value) as c (kind, choice)
  where not exists (select from private.mail_kinds() k where k.kind = c.kind and c.choice = any (k.choices)));

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
  default_locale text not null default 'en',
  allowed_origins text[] not null default '{}',
  settings jsonb not null default '{}',
  brand_color text,
  logo_url text,
  allow_indexing boolean not null default true,
  mail_enabled boolean not null default false,
  mail_defaults jsonb not null default '{}',
  max_submissions integer,
  max_members integer,
  max_surveys integer,
  max_unconfirmed_mails integer default 200,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint slug_is_lowercase_ascii check (private.is_slug(slug)),
  constraint name_has_1_to_100_characters check (char_length(name) between 1 and 100),
  constraint visibility_is_public_or_private check (visibility in ('public', 'private')),
  constraint time_zone_is_known check (private.is_time_zone(time_zone)),
  constraint default_locale_is_known check (default_locale = any (private.locales())),
  constraint settings_are_a_small_object check
    (jsonb_typeof(settings) = 'object' and octet_length(settings::text) <= 20000),
  constraint trust_after_is_1_to_1000 check (trust_after between 1 and 1000),
  constraint anonymous_may_is_known check (anonymous_may in ('read', 'vote', 'participate')),
  constraint allowed_origins_are_origins check (private.are_origins(allowed_origins)),
  constraint brand_color_is_a_hex_triplet check (brand_color ~ '^#[0-9a-f]{6}$'),
  constraint logo_url_is_an_https_address check ((logo_url ~ '^https://\S+$'
    or logo_url ~ ('^/logos/' || id || '/[0-9a-f]{32}\.(png|jpg|webp)$')) and char_length(logo_url) <= 2000),
  constraint mail_defaults_are_choices check (private.are_mail_choices(mail_defaults)),
  constraint plan_limits_are_not_negative check
    (least(max_submissions, max_members, max_surveys, max_unconfirmed_mails) >= 0)
);
comment on table public.organizations is
  'A tenant: one board of feedback, its surveys and its team. settings is free-form data of the team. '
  'brand_color and logo_url apply to its pages (null: defaults); a logo_url below /logos/ is the path of an '
  'uploaded image. default_locale: language of the pages for browsers without a supported language. '
  'allow_indexing: whether search engines may index the pages of a public board. mail_enabled: whether mail '
  'is sent; mail_defaults apply to people without their own preferences (73_mail_1_preferences.sql). '
  'anonymous_may: rights of anonymous users. Plan limits are null if unlimited; max_unconfirmed_mails: mails '
  'in a day to people whose address was only entered by others (private.is_confirmed_recipient).';
create unique index at_most_one_default_organization on public.organizations (is_default) where is_default;
create trigger touch_updated_at before update on public.organizations
  for each row execute function private.touch_updated_at();

create table private.organization_slugs (
  slug text primary key,
  organization_id uuid not null
);
comment on table private.organization_slugs is
  'Every slug that an organization has or had: links with a former one lead on, and no other organization '
  'can take it. Without a foreign key, since slugs of deleted organizations stay taken.';
create index organization_slugs_organization_idx on private.organization_slugs (organization_id);

-- Trigger: a slug belongs to its first organization forever.
-- definer: slugs of all organizations are not granted.
create function private.take_slug() returns trigger
language plpgsql security definer set search_path = pg_temp as $$
begin
  insert into private.organization_slugs (slug, organization_id) values (new.slug, new.id)
    on conflict do nothing;
  if not exists (select from private.organization_slugs s
    where s.slug = new.slug and s.organization_id = new.id) then
    perform private.raise_error('CONFLICT',
      'Another organization has or had this slug. Choose a different one.', 'slug');
  elsif (select count(*) from private.organization_slugs s where s.organization_id = new.id) > 10 then
    perform private.raise_error('CONFLICT',
      'An organization can have at most 10 slugs, including former ones. Use one of them again.', 'slug');
  end if;
  return new;
end
$$;
create trigger take_slug before insert or update of slug on public.organizations
  for each row execute function private.take_slug();

-- Id of an organization by id, or by current or former slug; it may be a deleted organization. For definer
-- functions.
create function private.organization_named(name text) returns uuid
language sql stable
return case when private.is_uuid(name) then name::uuid
  else (select s.organization_id from private.organization_slugs s where s.slug = lower(name)) end;

-- Trigger: enforces the plan limit on submissions, surveys or members. Archived surveys do not count; all
-- versions of a survey count as one. definer: reads plan limits, which are not granted. The row lock
-- serializes concurrent inserts.
create function private.enforce_plan_limit() returns trigger
language plpgsql security definer set search_path = pg_temp as $$
declare organization record; used bigint;
begin
  for organization in
    select o.id, l.allowed, case l.allowed when 1 then l.one else l.many end as what, l.advice
    from public.organizations o cross join lateral (values
      ('submissions', o.max_submissions, 'submission', 'submissions', 'Delete one'),
      ('memberships', o.max_members, 'member', 'members', 'Remove one'),
      ('surveys', o.max_surveys, 'survey that is not archived', 'surveys that are not archived',
        'Archive one')) l (relation, allowed, one, many, advice)
    where l.relation = tg_table_name and l.allowed is not null
      and o.id in (select organization_id from added)
    order by o.id for no key update of o
  loop
    used := case tg_table_name
      when 'submissions' then (
        select count(*) from public.submissions s where s.organization_id = organization.id)
      when 'memberships' then (
        select count(*) from public.memberships m where m.organization_id = organization.id)
      else (select count(distinct s.family_id) from public.surveys s
        where s.organization_id = organization.id and s.status <> 'archived') end;
    if used > organization.allowed then
      perform private.raise_error('PLAN_LIMIT_REACHED',
        format('The plan allows %s %s. %s, or ask the operator for more.',
          to_char(organization.allowed, 'FM9,999,999,990'), organization.what, organization.advice));
    end if;
  end loop;
  return null;
end
$$;

-- Profiles --------------------------------------------------------------------------------------------------

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
  named_by_key boolean not null default false,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint kind_is_known check (kind in ('user', 'email', 'key', 'agent', 'anonymous')),
  constraint only_users_span_organizations check ((kind = 'user') = (organization_id is null)),
  constraint email_authors_have_an_email check (kind <> 'email' or email is not null),
  constraint names_by_keys_have_no_address check (not named_by_key or kind = 'anonymous' and email is null),
  constraint name_has_1_to_100_characters check (char_length(name) between 1 and 100),
  constraint avatar_url_is_a_web_address check
    (avatar_url ~ '^https?://\S+$' and char_length(avatar_url) <= 2000),
  constraint locale_is_known check (locale = any (private.locales()))
);
comment on table public.profiles is
  'Actors: a user, an e-mail author of one organization, an API key, an agent, or a profile without address '
  '(erased, imported by name, or named by a key: named_by_key, one for each name of an organization). The '
  'profile of a key has the name of its organization. The id of a user profile equals the auth user id. '
  'email is never granted to clients. locale: the language chosen for the pages, readable by the user only. '
  'is_anonymous: the user signed in anonymously (Supabase anonymous sign-ins).';
create unique index one_email_author_an_organization on public.profiles (organization_id, lower(email))
  where kind = 'email';
create unique index one_author_a_name_of_keys on public.profiles (organization_id, name) where named_by_key;
create index profiles_email_idx on public.profiles (lower(email)) where kind = 'user';
create trigger touch_updated_at before update on public.profiles
  for each row execute function private.touch_updated_at();

-- Trigger on auth.users: keeps one profile with the same id for each user. The name and the picture come
-- from sign-up or a provider, never from the address, which the profile has once it is confirmed. A
-- soft-deleted user is anonymized like a deleted one.
-- definer: the role of the auth service has no write privileges in schema public.
create function private.sync_profile_of_user() returns trigger
language plpgsql security definer set search_path = pg_temp as $$
declare
  data jsonb := new.raw_user_meta_data;
  is_first boolean := tg_op = 'UPDATE' and new.email_confirmed_at is not null
    and (to_jsonb(old) ->> 'email_confirmed_at') is null;
  is_given boolean := is_first
    and coalesce(nullif(current_setting('feedback.given_account', true), '')::jsonb ->> 'id' = new.id::text,
      false);
begin
  if new.deleted_at is not null then
    update public.profiles set auth_user_id = null where auth_user_id = new.id;
    return null;
  end if;
  insert into public.profiles as p (id, kind, auth_user_id, email, name, avatar_url, is_anonymous)
  values (
    new.id, 'user', new.id, case when new.email_confirmed_at is not null then new.email end,
    coalesce(private.given_name(data -> 'name'), private.given_name(data -> 'full_name'),
      private.given_name(data -> 'user_name'), private.given_name(data -> 'preferred_username')),
    coalesce(private.given_picture(data -> 'avatar_url'), private.given_picture(data -> 'picture')),
    new.is_anonymous
  )
  on conflict (id) do update set email = excluded.email, is_anonymous = excluded.is_anonymous,
    -- Values from before the first confirmation may have been set by somebody else.
    name = case when is_given then excluded.name when is_first then coalesce(excluded.name, p.name)
      else p.name end,
    avatar_url = case when is_given then excluded.avatar_url
      when is_first then coalesce(excluded.avatar_url, p.avatar_url) else p.avatar_url end,
    locale = case when is_given then null else p.locale end
  where p.auth_user_id is not null;
  return null;
end
$$;
create trigger keep_profile after insert or update of email, is_anonymous, deleted_at on auth.users
  for each row execute function private.sync_profile_of_user();
-- This is a separate trigger, because only the auth service, which owns the table, may drop or change its
-- triggers.
create trigger keep_profile_confirmed after update of email_confirmed_at on auth.users
  for each row execute function private.sync_profile_of_user();

-- A display name: trimmed, without invisible characters that could imitate another name.
create function private.person_name(value text) returns text
language sql immutable
return private.trim_text(regexp_replace(
  regexp_replace(value, '[[:cntrl:]\u00AD\u034F\u061C\u070F\u115F\u1160\u17B4\u17B5\u180B-\u180F\u200B'
    '\u200E\u200F\u2028-\u202E\u2060-\u206F\u2800\u3164\uFEFF\uFFA0\uFFF0-\uFFFB'
    '\U00013430-\U00013442\U00016FE4\U0001BCA0-\U0001BCA3\U0001D159'
    '\U0001D173-\U0001D17A\U000E0000-\U000E00FF\U000E01F0-\U000E0FFF]', '', 'g'),
  -- Joiners shape letters of some scripts and emoji; variation selectors choose a form of the preceding
  -- character.
  '^[\s\u200C\u200D\uFE00-\uFE0F\U000E0100-\U000E01EF]+|(?<![\u0300-\U0010FFFF])[\u200C\u200D]+', '', 'g'));

-- The name that a host, a provider or a file gives a person: at most 100 characters, cut between the signs
-- that a reader sees; null if nothing is left of it.
create function private.given_name(value jsonb) returns text
language sql immutable
return case when jsonb_typeof(value) = 'string' then nullif(private.trim_text(substring(
  private.person_name(value #>> '{}') from '^.{0,99}(?:[^\u200D\U0001F1E6-\U0001F1FF]|[\U0001F1E6-\U0001F1FF]'
    '(?![\U0001F1E6-\U0001F1FF]))(?![\u0300-\u036F\u0483-\u0489\u0591-\u05BD\u064B-\u065F\u093C-\u094D\u200D'
    '\u20D0-\u20F0\u3099\u309A\uFE00-\uFE0F\U0001F3FB-\U0001F3FF])')), '') end;

-- The picture that a host or a provider gives a person; null in any other form than a URL with https://.
create function private.given_picture(value jsonb) returns text
language sql immutable
return case when jsonb_typeof(value) = 'string' and char_length(value #>> '{}') <= 2000 then substring(
  regexp_replace(private.trim_text(value #>> '{}'), '^https:', 'https:', 'i')
  from '^https://[^\s[:cntrl:]"<>\\@/?#]+(?:[/?#][^\s[:cntrl:]"<>\\]*)?$') end;

-- The visual form of a name: equal for names that differ only in case, accents, spaces and punctuation, in a
-- word for the team at the start or end, or in letters and digits that look alike. Covers the frequent
-- lookalikes of Latin, Cyrillic, Greek, Armenian, Lisu and Cherokee, not the whole list of Unicode.
create function private.name_skeleton(name text) returns text
language plpgsql immutable set search_path = pg_temp as $$
declare
  -- Capitals come first, because Greek capitals resemble other Latin letters than Greek lowercase does. Small
  -- capitals and letters of Lisu and Cherokee follow.
  latin text := private.plain_text(translate(regexp_replace(name, '\|(?=\w)', 'l', 'g'),
    'ΑАΒВСϹΕЕΗНҺΙІӀЈΚКΜМΝΟОΡРЅΤТΧХΥУҮΖ' || 'ᴀʙᴄᴅᴇꜰғɢʜɪᴊᴋʟᴍɴᴏᴘʀᴛᴜᴠᴡʏ'
      || 'ꓮꓐꓚꓓꓰꓝꓖꓧꓲꓙꓗꓡꓟꓠꓳꓑꓣꓢꓔꓴꓦꓪꓫꓬꓜ' || 'ᎪᏴᏟᎠᎬᏀᎻᎫᏦᏞᎷᏢᎡᏚᎢᏙᎳᏃ',
    'aabbcceehhhiiijkkmmnooppsttxxyyyz' || 'abcdeffghijklmnoprtuvwy'
      || 'abcdefghijklmnoprstuvwxyz' || 'abcdeghjklmprstvwz'));
  shape text := replace(replace(translate(
    regexp_replace(latin, '[\u0001-/:-`{-\u00BF\u2000-\u2BFF\u3000-\u303F\uE000-\uF8FF\uFE00-\uFE0F'
      '\U0001F000-\U0001FAFF\U000E0100-\U000E01EF]', '', 'g'),
    'i1ıɩιіӏ0οоօаαɑьƅсϲԁеєɡցһհјϳкκмոпрρԛզгѕꜱтτυսцνѵԝωхχуγүᴢ',
    'lllllllooooaaabbccdeegghhjjkkmnnppqqrssttuuuvvwwxxyyyz'), 'rn', 'm'), 'vv', 'w');
  -- The spellings of the team mark, in their visual form.
  team constant text := '(team|equlp[eo]|squadra|チーム|komaндa)';
begin
  return coalesce(nullif(regexp_replace(shape, '^' || team || '|' || team || '$', '', 'g'), ''),
    nullif(shape, ''), latin);
end
$$;

-- Trigger: normalizes names with private.person_name.
create function private.clean_name() returns trigger
language plpgsql set search_path = pg_temp as $$
begin
  new.name := private.person_name(new.name);
  return new;
end
$$;
create trigger clean_name before insert or update of name on public.profiles
  for each row execute function private.clean_name();
create trigger clean_name before insert or update of name on public.organizations
  for each row execute function private.clean_name();

-- Trigger: rejects a name that people choose for themselves if it looks like the name of a team member of an
-- organization in which they are not on the team: the organization of the request, or one where they wrote
-- something. definer: reads names of teams, and what the person wrote anywhere.
create function private.reject_name_of_team() returns trigger
language plpgsql security definer set search_path = pg_temp as $$
begin
  if exists (
    with taken_part as (
      select coalesce(private.requested_organization_id(), private.default_organization_id()) as id
      union select s.organization_id from public.submissions s where s.author_id = new.id
      union select c.organization_id from public.comments c where c.author_id = new.id
    )
    select from taken_part o
      join public.memberships m on m.organization_id = o.id
      join public.profiles p on p.id = m.user_id
    where not private.is_member(o.id, new.id)
      and private.name_skeleton(p.name) = private.name_skeleton(new.name))
  then
    perform private.raise_error('VALIDATION_ERROR',
      'This looks like the name of a team member. Choose a different one.', 'name',
      '{"reason": "name_of_team_member"}');
  end if;
  return new;
end
$$;

-- The name of this trigger sorts after clean_name, so it runs later.
create trigger reject_name_of_team before update of name on public.profiles
  for each row when (new.name <> old.name and new.id = private.caller_id() and new.kind <> 'key')
  execute function private.reject_name_of_team();

-- Trigger: when an auth user is deleted, the profile stays without name and address, so that counts and
-- threads stay complete.
-- definer: deletes the memberships of the user, and what the auth service logged about them.
create function private.anonymize_deleted_user() returns trigger
language plpgsql security definer set search_path = pg_temp as $$
begin
  delete from public.memberships where user_id = new.id;
  delete from auth.audit_log_entries a where old.auth_user_id::text
    in (a.payload ->> 'actor_id', a.payload -> 'traits' ->> 'user_id');
  -- This table has no foreign key, and contains tokens of providers.
  delete from auth.flow_state f where f.user_id = old.auth_user_id;
  new.email := null;
  new.name := null;
  new.avatar_url := null;
  new.locale := null;
  return new;
end
$$;

-- Trigger: copies the language that a user chose to the place where mails of the auth service read it.
-- definer: users belong to the auth service.
create function private.sync_language_of_user() returns trigger
language plpgsql security definer set search_path = pg_temp as $$
begin
  update auth.users u
  set raw_user_meta_data = coalesce(u.raw_user_meta_data, '{}') - 'locale'
    || case when new.locale is null then '{}' else jsonb_build_object('locale', new.locale) end
  where u.id = new.auth_user_id;
  return null;
end
$$;
create trigger sync_language_of_user after update of locale on public.profiles
  for each row when (new.locale is distinct from old.locale and new.auth_user_id is not null)
  execute function private.sync_language_of_user();

create trigger forget_person before update of auth_user_id on public.profiles
  for each row when (old.auth_user_id is not null and new.auth_user_id is null)
  execute function private.anonymize_deleted_user();

-- Trigger: others see a key under the name of its organization.
-- definer: profiles are not writable by who may rename the organization.
create function private.rename_keys() returns trigger
language plpgsql security definer set search_path = pg_temp as $$
begin
  update public.profiles p set name = new.name where p.kind = 'key'
    and p.id in (select k.profile_id from private.api_keys k where k.organization_id = new.id);
  return null;
end
$$;
create trigger rename_keys after update of name on public.organizations
  for each row when (new.name <> old.name) execute function private.rename_keys();

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

-- Organizations whose private boards and pending posts the caller may read: memberships of a user; the
-- organization of a key with submissions:read or submissions:moderate.
-- definer: policies call it, so it must read memberships without applying policies.
create function private.team_organization_ids() returns uuid[]
language plpgsql stable security definer set search_path = pg_temp as $$
declare own_id uuid := private.caller_id();
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

-- Organizations the caller administers: where a user is owner or admin; the organization of a key with the
-- given scope. definer: policies call it, so it must read memberships without applying policies.
create function private.admin_organization_ids(scope text) returns uuid[]
language plpgsql stable security definer set search_path = pg_temp as $$
begin
  if private.is_key() then
    return case when private.has_scope(scope) then array[private.key_organization_id()] else '{}' end;
  end if;
  return coalesce((select array_agg(organization_id) from public.memberships
    where user_id = private.caller_id() and role in ('owner', 'admin')), '{}');
end
$$;

-- Whether the caller is Admin of the organization: an owner or admin, or a key with the scope.
create function private.is_admin(organization_id uuid, scope text) returns boolean
language plpgsql stable set search_path = pg_temp as $$
begin
  return organization_id = any (private.admin_organization_ids(scope));
end
$$;

-- Returns the organization if the caller is its Admin (a key needs the scope). Otherwise raises FORBIDDEN, or
-- UNAUTHORIZED if there is no credential: signing in may help.
create function private.require_admin(organization_id uuid, scope text) returns uuid
language plpgsql stable set search_path = pg_temp as $$
begin
  if not private.is_admin(organization_id, scope) then
    if current_setting('role', true) = 'anon' then
      perform private.raise_error('UNAUTHORIZED', 'Sign in, or send a key as Authorization: Bearer <token>.');
    end if;
    perform private.raise_error('FORBIDDEN', case
      when private.is_key() then format('This key needs the scope %s. Use a key that has it.', scope)
      else 'Only admins of the organization can do this.' end);
  end if;
  return organization_id;
end
$$;

-- Whether the profile has a membership in the organization.
-- definer: reads memberships, which non-members cannot see; everyone sees the team badge.
create function private.is_member(organization_id uuid, profile_id uuid) returns boolean
language plpgsql stable security definer set search_path = pg_temp as $$
begin
  return exists (select from public.memberships m where m.organization_id = is_member.organization_id
    and m.user_id = profile_id);
end
$$;

-- Whether new content of the profile requires approval: the organization requires it, and the profile is
-- neither on its team nor trusted. Never for operators.
-- definer: reads organization settings that are not granted.
create function private.needs_approval(organization_id uuid, profile_id uuid) returns boolean
language plpgsql stable security definer set search_path = pg_temp as $$
begin
  return private.caller_id() is not null
    and exists (select from public.organizations o
      where o.id = needs_approval.organization_id and o.require_approval)
    and not private.is_member(organization_id, profile_id)
      and not private.is_trusted(organization_id, profile_id);
end
$$;

-- URL of a person's picture: their own, or the one that the pages make (functions/web/figure.ts). The edge
-- functions set the address of the pages in each transaction; null without it.
create function private.avatar(person public.profiles) returns text
language sql stable
return coalesce((person).avatar_url,
  nullif(current_setting('feedback.site_url', true), '') || '/avatars/' || (person).id || '.svg');

-- Public JSON of a profile: {id, name, avatar, is_team_member}.
-- definer: reads profiles. Call it only for rows the caller can see.
create function private.author(profile_id uuid, organization_id uuid) returns json
language plpgsql stable security definer set search_path = pg_temp as $$
begin
  return (
  select json_build_object(
    'id', p.id,
    'name', coalesce(p.name, 'Anonymous'),
    'avatar', private.avatar(p),
    'is_team_member', exists (select from public.memberships m
      where m.organization_id = author.organization_id and m.user_id = p.id))
  from public.profiles p where p.id = profile_id
);
end
$$;

-- Whether a key may act as the profile: its own profile, or an author of its organization whom keys named by
-- address or name; never a user. An agent acts as itself only. definer: profiles are not readable as a whole.
-- Volatile, so that it sees an author that private.author_of_key inserted in the same statement.
create function private.is_author_of_key(profile_id uuid) returns boolean
language plpgsql volatile security definer set search_path = pg_temp as $$
begin
  return private.is_key() and exists (
  select from public.profiles p
  where p.id = profile_id and p.organization_id = private.key_organization_id()
    and (p.id = private.caller_id()
      or (p.kind = 'email' or p.named_by_key) and private.agent_id() is null));
end
$$;

-- Whether the caller may vote, comment and submit as the profile: a user as themselves, a key with
-- submissions:write as its own profile or as an author whom keys name.
create function private.may_act_as(profile_id uuid) returns boolean
language plpgsql volatile set search_path = pg_temp as $$
begin
  return coalesce(case when private.is_key()
    then private.has_scope('submissions:write') and private.is_author_of_key(profile_id)
  else profile_id = private.caller_id() end, false);
end
$$;

-- Profile that a key acts as, inserted if missing: the e-mail author with this address; without an address,
-- the author whom keys gave exactly this name; without both, the key's own profile.
-- definer: inserts profiles, which keys cannot.
create function private.author_of_key(email text, name text) returns uuid
language plpgsql security definer set search_path = pg_temp as $$
#variable_conflict use_column
declare author_id uuid; known_name text;
begin
  if author_of_key.email is null and author_of_key.name is null then return private.caller_id(); end if;
  if not private.has_scope('submissions:write') then
    perform private.raise_error('FORBIDDEN',
      'This key needs the scope submissions:write. Use a key that has it.');
  end if;
  if author_of_key.email is null then
    -- The row is locked: an erasure waits, or this transaction waits for it and inserts another author.
    select p.id into author_id from public.profiles p
    where p.named_by_key and p.organization_id = private.key_organization_id()
      and p.name = private.person_name(author_of_key.name) for share;
    if author_id is null then
      insert into public.profiles as p (kind, organization_id, name, named_by_key)
      values ('anonymous', private.key_organization_id(), author_of_key.name, true)
      on conflict (organization_id, name) where named_by_key do update set name = p.name
      returning id into author_id;
    end if;
    return author_id;
  end if;
  select p.id, p.name into author_id, known_name from public.profiles p
  where p.kind = 'email' and p.organization_id = private.key_organization_id()
    and lower(p.email) = lower(author_of_key.email);
  -- The row is locked: a claim of the author (99_claims.sql) waits until this transaction ends, or this
  -- transaction waits for the claim, after which the address has another author.
  if author_id is not null and author_of_key.name is not null
    and known_name is distinct from author_of_key.name then
    update public.profiles p set name = author_of_key.name where p.id = author_id and p.kind = 'email'
    returning p.id into author_id;
  elsif author_id is not null then
    select p.id into author_id from public.profiles p where p.id = author_id and p.kind = 'email' for share;
  end if;
  if author_id is null then
    insert into public.profiles as p (kind, organization_id, email, name)
    values ('email', private.key_organization_id(), lower(author_of_key.email), author_of_key.name)
    on conflict (organization_id, lower(email)) where kind = 'email'
      do update set name = coalesce(p.name, excluded.name)
    returning id into author_id;
  end if;
  return author_id;
end
$$;

-- Identifies a person within an organization: profiles with the same address, which a user has confirmed,
-- are one person.
create function private.person_of(profile public.profiles) returns text
language sql immutable
return coalesce(lower((profile).email), (profile).id::text);

-- All profiles of a person in an organization, the given one first: the e-mail author and the users with the
-- same address. They count as one person. definer: addresses are not granted.
create function private.same_person(profile_id uuid, organization_id uuid) returns uuid[]
language plpgsql stable security definer set search_path = pg_temp as $$
declare address text := (select lower(p.email) from public.profiles p
  where p.id = profile_id and coalesce(p.organization_id, same_person.organization_id)
    = same_person.organization_id);
begin
  return profile_id || array(
    select u.id from public.profiles u
    where u.kind = 'user' and lower(u.email) = address and u.id <> profile_id
    union all
    select a.id from public.profiles a
    where a.kind = 'email' and a.organization_id = same_person.organization_id
      and lower(a.email) = address and a.id <> profile_id);
end
$$;

-- The profile of a user, or of an identified person; null if it was erased.
-- definer: profiles are not readable as a whole.
create function private.unless_erased(profile_id uuid) returns uuid
language plpgsql stable security definer set search_path = pg_temp as $$
begin
  return (select p.id from public.profiles p where p.id = profile_id
    and case p.kind when 'user' then p.auth_user_id is not null else p.email is not null end);
end
$$;

-- Called before rows of an identified person are added: a claim (99_claims.sql) waits until this transaction
-- ends, or this transaction waits for the claim, which ends the session. Call it before taking other locks.
-- definer: locks profiles, which clients cannot.
create function private.lock_caller() returns void
language plpgsql security definer set search_path = pg_temp as $$
declare own_id uuid := private.caller_id();
begin
  perform 1 from public.profiles p where p.id = own_id and p.kind = 'email' for share;
  if not found and exists (select from public.profiles p where p.id = own_id and p.kind = 'anonymous') then
    perform private.raise_error('UNAUTHORIZED', 'This session has ended. Sign in again.');
  end if;
end
$$;

-- The only organization, or the one with is_default; null if there is neither.
create function private.default_organization_id() returns uuid
-- definer: the only organization may be private
language plpgsql stable security definer set search_path = pg_temp as $$
declare ids uuid[];
begin
  ids := array(select id from public.organizations limit 2);
  return case when cardinality(ids) = 1 then ids[1]
    else (select id from public.organizations where is_default) end;
end
$$;

-- Organization by id or slug (null: the default organization) if the profile may see it; null otherwise.
-- definer: reads memberships and private organizations to decide visibility.
create function private.find_organization(hint text, caller_id uuid) returns uuid
language plpgsql stable security definer set search_path = pg_temp as $$
declare
  found_id uuid := case when hint is null then private.default_organization_id()
    else private.organization_named(hint) end;
  found_visibility text;
begin
  found_visibility := (select visibility from public.organizations where id = found_id);
  return case when found_visibility = 'public' or found_visibility = 'private'
    and private.is_member(found_id, caller_id) then found_id end;
end
$$;

-- Organization of this request: that of the key, the one named by header or parameter, or the default.
-- Set by private.assume_caller.
create function private.requested_organization_id() returns uuid
language sql stable
return nullif(current_setting('feedback.organization_id', true), '')::uuid;

-- Like private.requested_organization_id, but raises NOT_FOUND instead of returning null.
create function private.current_organization_id() returns uuid
language plpgsql stable set search_path = pg_temp as $$
declare current_id uuid := private.requested_organization_id();
begin
  if current_id is null then
    perform private.raise_error('NOT_FOUND',
      'Set the X-Organization header to the id or slug of an organization you have access to.',
      'organization');
  end if;
  return current_id;
end
$$;

-- Restrictions of an agent's policies (60_agents.sql) -------------------------------------------------------

-- Categories the calling agent is restricted to; null without restriction and for other callers.
-- definer: agents are not granted. Read in each statement, so that a policy change takes effect at once.
create function private.agent_category_ids() returns uuid[]
language plpgsql stable security definer set search_path = pg_temp as $$
declare own_id uuid := private.agent_id();
begin
  return case when own_id is not null then (select a.category_ids from private.agents a where a.id = own_id)
    end;
end
$$;

-- Surveys the calling agent is restricted to; null without restriction and for other callers.
create function private.agent_survey_ids() returns uuid[]
language plpgsql stable security definer set search_path = pg_temp as $$ -- definer: accesses private tables
declare own_id uuid := private.agent_id();
begin
  return case when own_id is not null then (select a.survey_ids from private.agents a where a.id = own_id)
    end;
end
$$;

grant execute on function private.agent_category_ids, private.agent_survey_ids to service_key;

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
  constraint name_is_visible check (private.trim_text(name) <> ''),
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
  constraint name_is_visible check (private.trim_text(name) <> ''),
  constraint color_is_a_hex_triplet check (color ~ '^#[0-9a-f]{6}$'),
  constraint translations_are_by_locale check
    (private.are_translations(translations) and char_length(translations::text) <= 4000)
);
comment on table public.tags is
  'Tags of an organization; a submission has any number. name is English; translations maps locales to '
  'names.';

-- Operators -------------------------------------------------------------------------------------------------

-- For operators: creates an organization owned by this user. Raises CONFLICT if the user has confirmed no
-- e-mail address.
create function private.create_organization(name text, slug text, visibility text, owner_id uuid)
  returns uuid
language plpgsql set search_path = pg_temp as $$
declare organization_id uuid;
begin
  if private.mail_address(owner_id) is null then
    perform private.raise_error('CONFLICT', 'The owner must confirm an email address first.', 'owner_id');
  end if;
  insert into public.organizations (name, slug, visibility) values (name, slug, visibility)
    returning id into organization_id;
  insert into public.memberships (organization_id, user_id, role) values (organization_id, owner_id, 'owner');
  return organization_id;
end
$$;

-- Rights ----------------------------------------------------------------------------------------------------

grant select (id, slug, name, visibility, time_zone, allow_indexing, created_at) on public.organizations to
  anon, authenticated, service_key;
grant select (id, kind, name, avatar_url) on public.profiles to anon, authenticated, service_key;
grant update (name, avatar_url, locale) on public.profiles to authenticated;
grant select on public.memberships to authenticated;
grant select on public.categories, public.tags to anon, authenticated, service_key;
grant select, insert, update, delete on public.organizations, public.profiles, public.memberships,
  public.categories, public.tags
  to service_role;

grant execute on function private.is_time_zone, private.are_mail_choices, private.mail_kinds to service_role;
grant execute on function private.person_name to authenticated, service_role;
grant execute on function private.team_organization_ids, private.author, private.author_of_key,
  private.current_organization_id to anon, authenticated, service_key;
grant execute on function private.admin_organization_ids, private.is_admin, private.require_admin,
  private.requested_organization_id to anon, authenticated, service_role, service_key;
grant execute on function private.is_author_of_key, private.may_act_as to authenticated, service_key;
grant execute on function private.unless_erased to anon, authenticated, service_role;
grant execute on function private.lock_caller to authenticated, service_role, service_key;
grant execute on function private.default_organization_id to authenticated, service_role, service_key;

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
