-- The mail that a person gets: choices, muted submissions, and addresses that get none.

create table private.mail_choices (
  organization_id uuid not null references public.organizations (id) on delete cascade,
  profile_id uuid not null references public.profiles (id) on delete cascade,
  kind text not null,
  choice text not null,
  primary key (organization_id, profile_id, kind),
  constraint choice_is_known check (private.are_mail_choices(jsonb_build_object(kind, choice)))
);
comment on table private.mail_choices is
  'A person''s choice for a kind of mail of an organization; without a row the default applies.';
create index mail_choices_profile_idx on private.mail_choices (profile_id);

create table private.mail_mutes (
  organization_id uuid not null,
  submission_id uuid not null,
  profile_id uuid not null references public.profiles (id) on delete cascade,
  created_at timestamptz not null default now(),
  primary key (organization_id, submission_id, profile_id),
  constraint mail_mutes_submission_is_of_the_same_organization foreign key (organization_id, submission_id)
    references public.submissions (organization_id, id) on delete cascade
);
comment on table private.mail_mutes is
  'Submissions of which a person wants no mail, also where they follow them.';
create index mail_mutes_profile_idx on private.mail_mutes (profile_id);

create table private.mail_suppressions (
  organization_id uuid not null references public.organizations (id) on delete cascade,
  address_hash text not null,
  reason text not null,
  profile_id uuid references public.profiles (id) on delete set null,
  created_at timestamptz not null default now(),
  primary key (organization_id, address_hash),
  constraint reason_is_known check (reason in ('refused', 'bounced', 'complained'))
);
comment on table private.mail_suppressions is
  'Addresses, as keyed hashes (private.address_hash), that get no mail: of this organization where their '
  'owner refused it, of none where mail bounced for good or was complained about. Stays after an erasure, '
  'without the profile.';
create index mail_suppressions_address_idx on private.mail_suppressions (address_hash);
create index mail_suppressions_profile_idx on private.mail_suppressions (profile_id)
  where profile_id is not null;

create table private.address_key (
  key bytea not null,
  is_only boolean primary key default true,
  constraint there_is_one_key check (is_only)
);
comment on table private.address_key is
  'The key of private.address_hash if there is no Vault (90_upkeep.sql creates it); no API role can read it.';

-- The kind of mail for notifications of a type; null if no mail covers the type.
create function private.mail_kind(notification_type text) returns text
language sql immutable
return (select k.kind from private.mail_kinds() k where k.notification_type = mail_kind.notification_type);

-- When a person gets a kind of mail: at_once, daily, weekly or never, as chosen by the person, by the
-- organization's default, or by ours. Null for a kind without choices.
create function private.mail_choice(organization_id uuid, profile_id uuid, kind text) returns text
language plpgsql stable set search_path = pg_temp as $$
begin
  return coalesce(
    (select c.choice from private.mail_choices c where c.organization_id = mail_choice.organization_id
      and c.profile_id = mail_choice.profile_id and c.kind = mail_choice.kind),
    (select o.mail_defaults ->> mail_choice.kind from public.organizations o
      where o.id = mail_choice.organization_id),
    (select k.default_choice from private.mail_kinds() k where k.kind = mail_choice.kind));
end
$$;

-- Whether the person wants no mail about the submission, or to hear nothing of it.
create function private.is_muted(organization_id uuid, submission_id uuid, profile_id uuid) returns boolean
language plpgsql stable set search_path = pg_temp as $$
begin
  return exists (select from private.mail_mutes m where m.organization_id = is_muted.organization_id
    and m.submission_id = is_muted.submission_id and m.profile_id = is_muted.profile_id)
    or private.is_silent(submission_id, profile_id);
end
$$;

-- The address for mail to a person: the confirmed address of a user, or the address of an e-mail author; null
-- if there is none.
create function private.mail_address(profile_id uuid) returns text
language plpgsql stable set search_path = pg_temp as $$
begin
  return (select case p.kind when 'email' then p.email
    when 'user' then (select u.email from auth.users u where u.id = p.auth_user_id
      and u.email_confirmed_at is not null and u.deleted_at is null and not u.is_anonymous) end
    from public.profiles p where p.id = mail_address.profile_id);
end
$$;

-- The language of a mail: the person's choice, or the language of their sign-up, or the organization's
-- default.
create function private.mail_locale(profile_id uuid, organization_id uuid) returns text
language plpgsql stable set search_path = pg_temp as $$
begin
  return coalesce(
    (select coalesce(p.locale, (select u.raw_user_meta_data ->> 'locale' from auth.users u
        where u.id = p.auth_user_id and u.raw_user_meta_data ->> 'locale' = any (private.locales())))
      from public.profiles p where p.id = mail_locale.profile_id),
    (select o.default_locale from public.organizations o where o.id = mail_locale.organization_id));
end
$$;

-- Addresses that get no mail --------------------------------------------------------------------------------

-- Keyed hash of an e-mail address. The key is in Vault (feedback_address_key), or in private.address_key.
create function private.address_hash(address text) returns text
language plpgsql stable set search_path = pg_temp as $$
declare key bytea := (select k.key from private.address_key k);
begin
  if key is null then
    execute $query$ select decode(s.decrypted_secret, 'hex') from vault.decrypted_secrets s
      where s.name = 'feedback_address_key' $query$ into key;
  end if;
  return encode(extensions.hmac(convert_to(lower(address), 'UTF8'), key, 'sha256'), 'hex');
end
$$;

-- Whether the organization must not write to the address.
create function private.is_suppressed(organization_id uuid, address text) returns boolean
language plpgsql stable set search_path = pg_temp as $$
begin
  return exists (select from private.mail_suppressions s
    where s.address_hash = private.address_hash(is_suppressed.address)
      and (s.organization_id = is_suppressed.organization_id or s.reason <> 'refused'));
end
$$;

-- Stops mail to an address; the reason is refused, bounced or complained.
create function private.suppress_address(organization_id uuid, profile_id uuid, address text, reason text)
  returns void
language plpgsql set search_path = pg_temp as $$
begin
  if address is null then return; end if;
  insert into private.mail_suppressions as s (organization_id, address_hash, reason, profile_id)
  values (organization_id, private.address_hash(address), reason, profile_id)
  on conflict on constraint mail_suppressions_pkey do update
    set reason = excluded.reason, profile_id = coalesce(excluded.profile_id, s.profile_id), created_at = now()
    -- Admins may resume mail that bounced, so a bounce does not replace a refusal.
    where array_position(array['bounced', 'refused', 'complained'], excluded.reason)
      >= array_position(array['bounced', 'refused', 'complained'], s.reason);
end
$$;

-- The newest 1000 people of the current organization who get no mail, with the reason but without their
-- addresses; with an address, only the person it belongs to. definer: private tables.
create function private.admin_mail_suppressions(email text default null) returns json
language plpgsql stable security definer set search_path = pg_temp as $$
declare own_id uuid := private.require_admin(private.current_organization_id(), 'members:write');
begin
  return coalesce((select json_agg(json_build_object(
    'profile', case when p.id is not null
      then json_build_object('id', p.id, 'name', coalesce(p.name, 'Anonymous')) end,
    'reason', s.reason,
    'created_at', s.created_at) order by s.created_at desc)
    from (select * from private.mail_suppressions o where o.organization_id = own_id
        and (email is null or o.address_hash = private.address_hash(admin_mail_suppressions.email))
      order by o.created_at desc limit 1000) s left join public.profiles p on p.id = s.profile_id), '[]');
end
$$;

-- Resumes mail to a person whose address bounced, or to an address that bounced, such as that of an invite;
-- returns null if mail to them is not stopped. Raises CONFLICT if they refused it or complained.
-- definer: private tables.
create function private.admin_lift_mail_suppression(profile_id uuid, email text default null) returns json
language plpgsql security definer set search_path = pg_temp as $$
declare own_id uuid := private.require_admin(private.current_organization_id(), 'members:write');
  found_hashes text[]; found_reasons text[];
begin
  select array_agg(s.address_hash), array_agg(distinct s.reason),
    coalesce(admin_lift_mail_suppression.profile_id, (array_agg(s.profile_id))[1])
  into found_hashes, found_reasons, profile_id from private.mail_suppressions s
  where s.organization_id = own_id and (s.profile_id = admin_lift_mail_suppression.profile_id
    or s.address_hash = private.address_hash(admin_lift_mail_suppression.email));
  if found_hashes is null then return null; end if;
  if found_reasons <> '{bounced}' then
    perform private.raise_error('CONFLICT',
      'This person unsubscribed or reported spam. Only they can resume emails.');
  end if;
  delete from private.mail_suppressions s
  where s.organization_id = own_id and s.address_hash = any (found_hashes) and s.reason = 'bounced';
  perform private.audit('mail.resume', 'profile', profile_id, '{}', own_id);
  return json_build_object('deleted', true);
end
$$;

grant execute on function private.admin_mail_suppressions, private.admin_lift_mail_suppression
  to authenticated, service_key;

-- Choices ---------------------------------------------------------------------------------------------------

-- JSON of the mail that a person gets from an organization: {organization, mail_enabled, choices by kind,
-- muted submissions, stopped: refused, bounced, complained or null}; null if there is no such person. The
-- edge functions pass a person only for the bearer of a signed link, whoever is signed in. definer: private
-- tables.
create function private.mail_preferences(organization_id uuid default private.current_organization_id(),
  profile_id uuid default private.caller_id()) returns json
language plpgsql stable security definer set search_path = pg_temp as $$
declare own_address text := private.mail_address(mail_preferences.profile_id);
begin
  return (select json_build_object(
    'organization', json_build_object('id', o.id, 'slug', o.slug, 'name', o.name),
    'mail_enabled', o.mail_enabled,
    'choices', (select json_object_agg(k.kind, private.mail_choice(o.id, mail_preferences.profile_id, k.kind)
        order by k.place)
      from private.mail_kinds() k
      where k.choices <> '{}'
        and (k.kind <> 'team' or private.is_member(o.id, mail_preferences.profile_id))),
    'muted', coalesce((select json_agg(json_build_object('id', s.id, 'title', s.title)
        order by m.created_at desc)
      from (select * from private.mail_mutes t where t.organization_id = o.id
        and t.profile_id = mail_preferences.profile_id order by t.created_at desc limit 100) m
        join public.submissions s on s.id = m.submission_id
      where s.is_public or s.author_id = mail_preferences.profile_id
        or private.is_member(o.id, mail_preferences.profile_id)), '[]'),
    'stopped', (select s.reason from private.mail_suppressions s
      where s.address_hash = private.address_hash(own_address)
        and (s.organization_id = o.id or s.reason <> 'refused')
      order by s.reason = 'refused' limit 1))
    from public.organizations o join public.profiles p on p.id = mail_preferences.profile_id
    where o.id = mail_preferences.organization_id
      and p.kind in ('user', 'email') and (p.organization_id is null or p.organization_id = o.id));
end
$$;

-- Applies {choices: {kind: choice}, stop: kind of mail, or digest, stopped: boolean for all mail, mute,
-- unmute: id of a submission}, and returns private.mail_preferences; null if there is no such person. Raises
-- VALIDATION_ERROR for an unknown choice. The edge functions call it for the bearer of a signed link.
-- definer: private tables.
create function private.change_mail_preferences(organization_id uuid, profile_id uuid, changes jsonb)
  returns json
language plpgsql security definer set search_path = pg_temp as $$
#variable_conflict use_column
declare own_address text := private.mail_address(change_mail_preferences.profile_id);
begin
  if private.mail_preferences(organization_id, profile_id) is null then return null; end if;
  insert into private.mail_choices as m (organization_id, profile_id, kind, choice)
  select change_mail_preferences.organization_id, change_mail_preferences.profile_id, c.kind, c.choice
  from jsonb_each_text(coalesce(changes -> 'choices', '{}')) c (kind, choice)
  on conflict on constraint mail_choices_pkey do update set choice = excluded.choice;
  if (changes ->> 'stopped')::boolean then
    perform private.suppress_address(organization_id, profile_id, own_address, 'refused');
  elsif not (changes ->> 'stopped')::boolean then
    delete from private.mail_suppressions s
    where s.organization_id = change_mail_preferences.organization_id and s.reason = 'refused'
      and s.address_hash = private.address_hash(own_address);
  end if;
  if changes ? 'mute' then
    insert into private.mail_mutes (organization_id, submission_id, profile_id)
    select s.organization_id, s.id, change_mail_preferences.profile_id from public.submissions s
    where s.organization_id = change_mail_preferences.organization_id
      and s.id = (changes ->> 'mute')::uuid
    on conflict do nothing;
  end if;
  -- The link of a digest stops all kinds that are sent in digests.
  insert into private.mail_choices as m (organization_id, profile_id, kind, choice)
  select change_mail_preferences.organization_id, change_mail_preferences.profile_id, k.kind, 'never'
  from private.mail_kinds() k
  where k.choices <> '{}'
    and case
      when changes ->> 'stop' = 'digest' then k.kind <> 'team' and private.mail_choice(
        change_mail_preferences.organization_id, change_mail_preferences.profile_id, k.kind)
        in ('daily', 'weekly')
      else k.kind = changes ->> 'stop'
    end
  on conflict on constraint mail_choices_pkey do update set choice = excluded.choice;
  delete from private.mail_mutes m where m.organization_id = change_mail_preferences.organization_id
    and m.profile_id = change_mail_preferences.profile_id
    and m.submission_id = (changes ->> 'unmute')::uuid;
  return private.mail_preferences(organization_id, profile_id);
exception when check_violation then
  perform private.raise_error('VALIDATION_ERROR',
    'must have only choices that the kind of email offers (of at_once, daily, weekly, and never)', 'choices');
  return null;
end
$$;

-- Raises FORBIDDEN for an identified person: a host may enter any address, and could otherwise resume mail
-- that the owner of the address stopped.
create function private.require_own_mailbox() returns void
language plpgsql stable set search_path = pg_temp as $$
begin
  if (select p.kind from public.profiles p where p.id = private.caller_id()) = 'email' then
    perform private.raise_error('FORBIDDEN',
      'Emails can be resumed only with a link in an email. The application that signed you in does not prove '
        'that the address is yours.');
  end if;
end
$$;

-- Changes the caller's mail preferences in the current organization. An identified person may only stop mail.
-- definer: private tables.
create function private.change_my_mail_preferences(changes jsonb) returns json
language plpgsql security definer set search_path = pg_temp as $$
begin
  if (changes ->> 'stopped')::boolean is false or changes ? 'unmute'
    or exists (select from private.mail_choices c
      where c.organization_id = private.current_organization_id() and c.profile_id = private.caller_id()
        and c.choice = 'never' and changes -> 'choices' ->> c.kind <> 'never') then
    perform private.require_own_mailbox();
  end if;
  return private.change_mail_preferences(private.current_organization_id(), private.caller_id(), changes);
end
$$;

-- Stops or resumes the caller's mail about a submission. Call it only for rows the caller can see.
-- definer: private tables.
create function private.mute_submission(submission_id uuid, muted boolean) returns void
language plpgsql security definer set search_path = pg_temp as $$
begin
  if not muted then perform private.require_own_mailbox(); end if;
  perform private.change_mail_preferences(s.organization_id, private.caller_id(),
    jsonb_build_object(case when muted then 'mute' else 'unmute' end, s.id))
  from public.submissions s where s.id = mute_submission.submission_id;
end
$$;

grant execute on function private.mail_preferences, private.change_mail_preferences to anon, authenticated;
grant execute on function private.change_my_mail_preferences, private.mute_submission to authenticated;
