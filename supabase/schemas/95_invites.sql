-- Invites to a team, and their mails.

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
create index invites_address_idx on private.invites (email);
-- The mail of an erased invite stays, without the address, because it counts toward the daily limit.
alter table private.mails add constraint mails_invite_id_fkey
  foreign key (invite_id) references private.invites (id) on delete set null;

-- Whether the inviter could create the invite now; an invite of a removed admin is not valid.
create function private.inviter_is_authorized(invite private.invites) returns boolean
language sql stable
return exists (select from public.memberships m where m.organization_id = invite.organization_id
  and m.user_id = invite.invited_by
  and (m.role = 'owner' or m.role = 'admin' and invite.role <> 'owner'));

-- accepted, revoked (also by the inviter's loss of the role), expired or open.
create function private.invite_status(invite private.invites) returns text
language sql stable
return case when invite.accepted_at is not null then 'accepted'
  when invite.revoked_at is not null or not private.inviter_is_authorized(invite) then 'revoked'
  when invite.expires_at <= now() then 'expired' else 'open' end;

-- JSON of an invite for Admin, without the digest.
create function private.invite_shape(invite private.invites) returns json
language sql stable
return json_build_object(
  'id', invite.id,
  'email', invite.email,
  'role', invite.role,
  'status', private.invite_status(invite),
  'invited_by', (select json_build_object('id', p.id, 'name', coalesce(p.name, 'Anonymous'))
    from public.profiles p where p.id = invite.invited_by),
  'created_at', invite.created_at,
  'expires_at', invite.expires_at);

-- Invites to the team, newest first, for Admin and keys with members:write. definer: private tables.
create function private.admin_invites(organization_id uuid, max_rows integer, skipped integer)
  returns table (total bigint, data json)
language plpgsql stable security definer set search_path = pg_temp as $$
declare own_id uuid := private.require_organization_admin(organization_id, 'members:write');
begin
  return query select
    (select count(*) from private.invites i where i.organization_id = own_id),
    coalesce((select json_agg(private.invite_shape(i) order by i.created_at desc, i.id desc)
      from (select * from private.invites i where i.organization_id = own_id
        order by i.created_at desc, i.id desc limit max_rows offset skipped) i), '[]');
end
$$;

-- Queues the mail of an invite if its organization sends mail: at most 100 a day, and 3 to one mailbox.
-- Returns whether it was queued. The caller must hold the team's lock.
create function private.queue_invite(invite private.invites) returns boolean
language plpgsql set search_path = pg_temp as $$
declare made_today integer; made_to_address integer;
begin
  if not (select o.mail_enabled from public.organizations o where o.id = invite.organization_id) then
    return false;
  end if;
  -- An erased invite counts as one to this address, so that an erasure does not allow additional mails.
  select count(*),
    count(*) filter (where i.id is null or private.mailbox(i.email) = private.mailbox(invite.email))
  into made_today, made_to_address
  from private.mails m left join private.invites i on i.id = m.invite_id
  where m.organization_id = invite.organization_id and m.profile_id is null
    and m.created_at > now() - interval '1 day';
  if made_today >= 100 or made_to_address >= 3 then return false; end if;
  insert into private.mails (organization_id, kind, event_ids, invite_id)
  values (invite.organization_id, 'invite', '{}', invite.id);
  perform private.wake_mailer();
  return true;
end
$$;

-- Invites an e-mail address for 7 days and replaces an earlier invite of the address. Takes the digest of the
-- token. Admins may invite admins and members; owners may also invite owners. is_mailed: whether the invite
-- is sent to the address.
create function private.admin_invite(organization_id uuid, email text, role text, digest bytea) returns json
language plpgsql security definer set search_path = pg_temp
as $$ -- definer: clients may only read memberships
declare organization public.organizations; own_role text; address text := lower(email); invite
  private.invites; expected bigint;
begin
  perform private.require_visible_organization(organization_id);
  perform private.lock_team(organization_id);
  own_role := private.require_person_admin(organization_id);
  select * into organization from public.organizations o where o.id = organization_id;
  if role = 'owner' and own_role <> 'owner' then
    perform private.raise_error('FORBIDDEN', 'Only an owner can invite an owner.', 'role');
  end if;
  if exists (select from public.memberships m join public.profiles p on p.id = m.user_id
      where m.organization_id = organization.id and lower(p.email) = address) then
    perform private.raise_error('CONFLICT', 'This person is already a team member.', 'email');
  end if;
  update private.invites i set revoked_at = now()
  where i.organization_id = organization.id and i.email = address
    and i.accepted_at is null and i.revoked_at is null;
  expected := (select count(*) from public.memberships m where m.organization_id = organization.id)
    + (select count(*) from private.invites i where i.organization_id = organization.id
        and i.accepted_at is null and i.revoked_at is null and i.expires_at > now()
          and private.inviter_is_authorized(i));
  if expected >= organization.max_members then
    perform private.raise_error('PLAN_LIMIT_REACHED',
      format('The plan allows %s %s. With open invites there are already %s. Revoke an invite, or ask the '
        'operator for more.', to_char(organization.max_members, 'FM9,999,999,990'),
        case organization.max_members when 1 then 'member' else 'members' end, expected));
  end if;
  if expected >= 10000 then
    perform private.raise_error('CONFLICT',
      'A team can have at most 10,000 members and invites. Revoke an invite first.');
  end if;
  insert into private.invites (organization_id, email, role, digest, invited_by)
  values (organization.id, address, role, digest, private.caller_id()) returning * into invite;
  perform private.audit('invite.create', 'invite', invite.id, jsonb_build_object('role', role),
    organization.id);
  return private.invite_shape(invite)::jsonb
    || jsonb_build_object('is_mailed', private.queue_invite(invite));
end
$$;

-- Revokes an invite; repeating it is not an error. Returns null if there is no such invite.
create function private.admin_revoke_invite(organization_id uuid, invite_id uuid) returns json
language plpgsql security definer set search_path = pg_temp
as $$ -- definer: clients may only read memberships
declare own_id uuid := private.require_organization_admin(organization_id, 'members:write'); invite
  private.invites;
begin
  perform private.lock_team(own_id);
  select * into invite from private.invites i where i.organization_id = own_id and i.id = invite_id;
  if invite.id is null then return null; end if;
  if invite.accepted_at is not null then
    perform private.raise_error('CONFLICT', 'This invite was accepted. Remove the member instead.');
  end if;
  if invite.revoked_at is null then
    update private.invites i set revoked_at = now() where i.id = invite.id returning * into invite;
    perform private.audit('invite.revoke', 'invite', invite.id, '{}', own_id);
  end if;
  return private.invite_shape(invite);
end
$$;

-- The invite of a token, for the signed-in user: {is_for_caller, status, role, organization}; for another
-- address only is_for_caller. Null for an unknown token. Same arguments as private.accept_invite.
-- definer: private tables; only the invited address learns more than that the invite exists.
create function private.show_invite(digest bytea, invite_id uuid default null) returns json
language plpgsql stable security definer set search_path = pg_temp as $$
declare invite private.invites;
begin
  invite_id := coalesce(invite_id,
    (select i.id from private.invites i where i.digest = show_invite.digest));
  select * into invite from private.invites i where i.id = show_invite.invite_id;
  if invite.id is null then return null; end if;
  if not private.has_address(private.caller_id(), invite.email) then
    return json_build_object('is_for_caller', false);
  end if;
  return json_build_object(
    'is_for_caller', true,
    'status', private.invite_status(invite),
    'role', invite.role,
    'organization', (select o.name from public.organizations o where o.id = invite.organization_id));
end
$$;

-- The signed-in user joins the team that invited their confirmed address; repeating it is not an error.
-- Takes the digest of the token, or the id that the edge functions read in the signed link of a mail.
-- Raises NOT_FOUND for an unknown token, FORBIDDEN for another address, GONE if revoked, expired or used.
create function private.accept_invite(digest bytea, invite_id uuid default null)
  returns table (joined boolean, data json)
-- definer: private tables; checks the invited address
language plpgsql security definer set search_path = pg_temp as $$
declare invite private.invites; member public.memberships; own_id uuid := private.caller_id(); was_new boolean
  := false;
begin
  invite_id := coalesce(invite_id,
    (select i.id from private.invites i where i.digest = accept_invite.digest));
  perform private.lock_team((select i.organization_id from private.invites i
    where i.id = accept_invite.invite_id));
  select * into invite from private.invites i where i.id = accept_invite.invite_id;
  if invite.id is null then
    perform private.raise_error('NOT_FOUND', 'There is no such invite.', 'token');
  end if;
  if not private.has_address(own_id, invite.email) then
    perform private.raise_error('FORBIDDEN',
      'This invite is for another email address. Sign in with that address.');
  end if;
  select * into member from public.memberships m where m.organization_id = invite.organization_id
    and m.user_id = own_id;
  if invite.accepted_at is not null and member.user_id is null or invite.accepted_by <> own_id then
    perform private.raise_error('GONE', 'This invite was already used. Ask for another one.', 'token');
  elsif invite.accepted_at is null then
    if private.invite_status(invite) <> 'open' then
      perform private.raise_error('GONE', 'This invite is no longer valid. Ask for another one.', 'token');
    end if;
    if member.user_id is null then
      was_new := true;
      insert into public.memberships (organization_id, user_id, role)
        values (invite.organization_id, own_id, invite.role) returning * into member;
      perform private.emit_event(invite.organization_id, 'member.joined', own_id,
        (select jsonb_build_object(
          'member', jsonb_build_object(
            'user_id', p.id,
            'name', coalesce(p.name, 'Anonymous'),
            'role', member.role,
            'joined_at', member.created_at)) from public.profiles p where p.id = own_id));
    end if;
    update private.invites i set accepted_at = now(), accepted_by = own_id where i.id = invite.id;
    perform private.audit('invite.accept', 'invite', invite.id,
      jsonb_build_object('role', member.role, 'user_id', own_id), invite.organization_id);
  end if;
  return query select was_new, json_build_object(
    'organization', (select json_build_object('id', o.id, 'slug', o.slug, 'name', o.name)
      from public.organizations o where o.id = invite.organization_id),
    'role', member.role,
    'joined_at', member.created_at);
end
$$;

grant execute on function private.admin_invites, private.admin_revoke_invite to authenticated,
  service_key;
grant execute on function private.admin_invite, private.show_invite, private.accept_invite
  to authenticated;

-- Stopping mails as an invited person -----------------------------------------------------------------------

-- JSON of the inviting organization: {name, is_stopped: whether it must not mail the address}; null if there
-- is no such invite. definer: private tables. The edge functions call it for the bearer of a signed link of
-- an invite's mail.
create function private.refusing_invites(invite_id uuid) returns json
language sql stable security definer set search_path = pg_temp
return (select json_build_object('name', o.name, 'is_stopped', private.is_suppressed(o.id, i.email))
  from private.invites i join public.organizations o on o.id = i.organization_id
  where i.id = refusing_invites.invite_id);

-- Stops all mail of the organization to the address that it invited; returns private.refusing_invites.
-- definer: private tables. The edge functions call it for the bearer of a signed link.
create function private.refuse_invites(invite_id uuid) returns json
language plpgsql security definer set search_path = pg_temp as $$
begin
  perform private.suppress_address(i.organization_id, null, i.email, 'refused')
  from private.invites i where i.id = refuse_invites.invite_id;
  return private.refusing_invites(invite_id);
end
$$;
grant execute on function private.refusing_invites, private.refuse_invites to anon, authenticated;
