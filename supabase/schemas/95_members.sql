-- Team members, roles and invites.
--
-- Changes of a team lock its organization before memberships and invites.

-- Invariants ------------------------------------------------------------------------------------------------

-- Trigger: the last owner can neither leave nor lose the role.
-- definer: plan limits and memberships are not granted.
create function private.enforce_owner() returns trigger
language plpgsql security definer set search_path = pg_temp as $$
declare organization uuid;
begin
  for organization in select distinct r.organization_id from removed r where r.role = 'owner' order by 1 loop
    -- An update, not only a lock: of two transactions that read the same owners, at any isolation level, one
    -- waits and re-reads, or fails.
    update public.organizations o set updated_at = now() where o.id = organization;
    if found and not exists (select from public.memberships m
      where m.organization_id = organization and m.role = 'owner') then
      if session_user in ('supabase_auth_admin', 'embedded_auth') then
        -- The auth service tells the message of this SQLSTATE, with status 409.
        raise exception 'An organization needs an owner: make another member owner first.'
          using errcode = 'PT409';
      end if;
      perform private.raise_error('CONFLICT',
        'An organization needs an owner: make another member owner first.', 'role');
    end if;
  end loop;
  return null;
end
$$;
create trigger keep_owner_changed after update on public.memberships
  referencing old table as removed for each statement execute function private.enforce_owner();
create trigger keep_owner_removed after delete on public.memberships
  referencing old table as removed for each statement execute function private.enforce_owner();

-- Trigger: enforces the plan limit on members.
create function private.enforce_member_limit() returns trigger
language plpgsql security definer set search_path = pg_temp
as $$ -- definer: clients may only read memberships
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
create trigger keep_member_limit after insert on public.memberships
  referencing new table as added for each statement execute function private.enforce_member_limit();

-- Members ---------------------------------------------------------------------------------------------------

-- Whether the caller is a signed-in owner of the organization.
create function private.is_own_team(organization_id uuid) returns boolean
language plpgsql stable set search_path = pg_temp as $$
begin
  return not private.is_key() and exists (select from public.memberships m
    where m.organization_id = is_own_team.organization_id and m.user_id = private.caller_id()
      and m.role = 'owner');
end
$$;

-- JSON of a member; the e-mail address for Admin only, and whether there is a second factor for owners.
create function private.member_shape(member public.memberships, with_email boolean, for_owner boolean)
  returns json
language plpgsql stable set search_path = pg_temp as $$
begin
  return (select json_build_object('user_id', p.id, 'name', coalesce(p.name, 'Anonymous'), 'avatar',
    p.avatar_url,
    'email', case when with_email then p.email end, 'role', member.role, 'joined_at', member.created_at,
    'has_second_factor', case when for_owner
      then exists (select from auth.mfa_factors f where f.user_id = p.auth_user_id
        and f.status = 'verified') end)
    from public.profiles p where p.id = member.user_id);
end
$$;

-- Members of a team, owners first, for the team and keys with members:write; addresses for Admin.
-- definer: e-mail addresses are not granted.
create function private.admin_members(organization_id uuid, max_rows integer, skipped integer)
  returns table (total bigint, data json)
language plpgsql stable security definer set search_path = pg_temp as $$
declare
  own_id uuid := private.require_team_member(organization_id, 'members:write');
  for_admin boolean := private.is_admin(own_id, 'members:write');
  for_owner boolean := private.is_own_team(own_id);
begin
  return query select
    (select count(*) from public.memberships m where m.organization_id = own_id),
    coalesce((select json_agg(private.member_shape(m, for_admin, for_owner)
      order by array_position(array['owner', 'admin', 'member'], m.role), m.created_at, m.user_id)
      from (select * from public.memberships m where m.organization_id = own_id
        order by array_position(array['owner', 'admin', 'member'], m.role), m.created_at, m.user_id
          limit max_rows offset skipped) m), '[]');
end
$$;

-- Returns the role of the calling signed-in Admin; raises NOT_FOUND or FORBIDDEN otherwise.
create function private.require_person_admin(organization_id uuid) returns text
language plpgsql stable set search_path = pg_temp as $$
begin
  if private.is_key() then
    perform private.raise_error('FORBIDDEN', 'Only signed-in users may change roles.');
  end if;
  perform private.require_organization_admin(organization_id, '');
  return (select m.role from public.memberships m
    where m.organization_id = require_person_admin.organization_id and m.user_id = private.caller_id());
end
$$;

-- Serializes changes of one team.
create function private.lock_team(organization_id uuid) returns void
language plpgsql set search_path = pg_temp as $$
begin
  perform 1 from public.organizations o where o.id = organization_id for no key update;
end
$$;

-- Locks and returns a membership; raises NOT_FOUND if there is none.
create function private.find_member(organization_id uuid, user_id uuid) returns public.memberships
language plpgsql set search_path = pg_temp as $$
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

-- Emits the event and writes the audit log for a change of the team.
create function private.record_member_change(organization_id uuid, action text, user_id uuid, details jsonb)
  returns void
language plpgsql set search_path = pg_temp as $$
begin
  perform private.emit_organization_update(organization_id, '{members}');
  perform private.audit(action, 'profile', user_id, details, organization_id);
end
$$;

-- What works on without the person who made it: valid keys, signing secrets, webhooks and agents, as
-- [{type, id, name}]. Empty unless the caller is a signed-in Admin.
-- definer: private tables.
create function private.made_by(organization_id uuid, user_id uuid) returns jsonb
language plpgsql stable security definer set search_path = pg_temp as $$
begin
  if private.is_key() or not private.is_admin(organization_id, '') then return '[]'; end if;
  return (select coalesce(jsonb_agg(m order by m.type, m.name, m.id), '[]') from (
    select 'api_key' as type, k.id::text, k.name from private.api_keys k
    where k.organization_id = made_by.organization_id and k.created_by = made_by.user_id
      and k.revoked_at is null and (k.expires_at is null or k.expires_at > now())
    union all
    select 'identify_secret', s.id::text, '…' || s.last_four from private.identify_secrets s
    where s.organization_id = made_by.organization_id and s.created_by = made_by.user_id
    union all
    select 'webhook', private.webhook_shape(w) ->> 'id', private.host_of(w.url) from private.webhooks w
    where w.organization_id = made_by.organization_id and w.created_by = made_by.user_id and w.is_enabled
    union all
    select 'agent', a.id::text, p.name from private.agents a join public.profiles p on p.id = a.id
    where a.organization_id = made_by.organization_id and a.created_by = made_by.user_id
      and a.retired_at is null) m);
end
$$;

-- Ends what private.made_by lists, and returns it: keys are revoked, signing secrets deleted, webhooks
-- disabled, agents retired. For a signed-in Admin.
create function private.end_made_by(organization_id uuid, user_id uuid) returns jsonb
language plpgsql set search_path = pg_temp as $$
declare made jsonb := private.made_by(organization_id, user_id); item record;
begin
  perform private.require_person_admin(organization_id);
  for item in select m.type, replace(m.id, 'wh_', '')::uuid as id
    from jsonb_to_recordset(made) as m (type text, id text) loop
    case item.type
      when 'api_key' then update private.api_keys k set revoked_at = now() where k.id = item.id;
      when 'identify_secret' then delete from private.identify_secrets s where s.id = item.id;
      when 'webhook' then
        update private.webhooks w set is_enabled = false, disabled_reason = 'admin' where w.id = item.id;
      when 'agent' then perform private.retire_agent(item.id);
    end case;
    perform private.audit(item.type || case item.type when 'api_key' then '.revoke'
        when 'identify_secret' then '.delete' when 'webhook' then '.update' else '.retire' end,
      item.type, item.id, jsonb_build_object('made_by', user_id), organization_id);
  end loop;
  return made;
end
$$;

-- Trigger: what an admin or their key makes while the admin is removed is refused, or ended with the
-- rest.
-- definer: clients may only read memberships.
create function private.keep_maker_in_team() returns trigger
language plpgsql security definer set search_path = pg_temp as $$
begin
  if private.is_key() or new.created_by = private.caller_id() then
    -- Removing the person waits until this is made, or this until the person is removed.
    perform private.lock_team(new.organization_id);
    if not private.is_key() then
      perform private.require_admin(new.organization_id, '');
    elsif exists (select from private.api_keys k
      where k.id = private.key_id() and k.revoked_at is not null) then
      perform private.raise_error('UNAUTHORIZED', 'This key was revoked.');
    end if;
  end if;
  return new;
end
$$;
create trigger keep_maker before insert on private.api_keys
  for each row execute function private.keep_maker_in_team();
create trigger keep_maker before insert on private.identify_secrets
  for each row execute function private.keep_maker_in_team();
create trigger keep_maker before insert or update of created_by on private.webhooks
  for each row execute function private.keep_maker_in_team();
create trigger keep_maker before insert on private.agents
  for each row execute function private.keep_maker_in_team();

-- Changes a member's role. Admins may change admins and members, owners everyone, keys nobody. revoke:
-- with the role member, private.end_made_by.
-- definer: clients may only read memberships.
create function private.admin_change_role(organization_id uuid, user_id uuid, role text,
  revoke boolean default false) returns json
language plpgsql security definer set search_path = pg_temp as $$
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
  if role = 'member' and revoke then perform private.end_made_by(organization_id, user_id); end if;
  if former <> role then
    update public.memberships m set role = admin_change_role.role
    where m.organization_id = admin_change_role.organization_id and m.user_id = admin_change_role.user_id
      returning m.* into member;
    perform private.record_member_change(organization_id, 'member.change_role', user_id,
      jsonb_build_object('role', jsonb_build_object('from', former, 'to', role)));
  end if;
  return private.member_shape(member, true, private.is_own_team(organization_id));
end
$$;

-- Removes a member: members may remove themselves, admins anyone but owners, owners anyone, keys with
-- members:write plain members. revoke: private.end_made_by. Returns what was revoked and what works on.
create function private.admin_remove_member(organization_id uuid, user_id uuid, revoke boolean default false)
  returns json
language plpgsql security definer set search_path = pg_temp
as $$ -- definer: clients may only read memberships
declare
  member public.memberships;
  leaves boolean := not private.is_key() and user_id = private.caller_id();
  revoked jsonb := '[]';
  still_valid jsonb;
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
  if revoke then revoked := private.end_made_by(organization_id, user_id); end if;
  still_valid := private.made_by(organization_id, user_id);
  delete from public.memberships m where m.organization_id = member.organization_id
    and m.user_id = member.user_id;
  perform private.record_member_change(organization_id, case when leaves then 'member.leave'
    else 'member.remove' end, user_id, jsonb_build_object('role', member.role));
  return json_build_object('deleted', true, 'revoked', revoked, 'still_valid', still_valid);
end
$$;

-- The calling owner makes another member owner and becomes admin.
create function private.admin_transfer_ownership(organization_id uuid, user_id uuid) returns json
language plpgsql security definer set search_path = pg_temp
as $$ -- definer: clients may only read memberships
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
  return private.member_shape(member, true, private.is_own_team(organization_id));
end
$$;

-- Second factors --------------------------------------------------------------------------------------------

-- The caller's verified second factors: [{id, name, created_at}], oldest first.
-- definer: the tables of auth are not granted.
create function private.my_second_factors() returns json
language plpgsql stable security definer set search_path = pg_temp as $$
begin
  return (select coalesce(json_agg(json_build_object('id', f.id, 'name', f.friendly_name,
    'created_at', f.created_at) order by f.created_at, f.id), '[]')
    from public.profiles p join auth.mfa_factors f on f.user_id = p.auth_user_id
    where p.id = private.caller_id() and f.status = 'verified');
end
$$;

-- An owner removes all second factors of a member who lost them, and ends the member's sessions. Raises
-- CONFLICT if the member is on a team of which the caller is no owner.
-- definer: the tables of auth are not granted.
create function private.reset_second_factor(organization_id uuid, user_id uuid) returns json
language plpgsql security definer set search_path = pg_temp as $$
declare member public.memberships; auth_id uuid;
begin
  perform private.require_visible_organization(organization_id);
  perform private.lock_team(organization_id);
  if private.require_person_admin(organization_id) <> 'owner' then
    perform private.raise_error('FORBIDDEN', 'Only an owner may remove the second factor of a member.');
  end if;
  member := private.find_member(organization_id, user_id);
  -- A second factor protects every team of its person.
  if exists (select from public.memberships m where m.user_id = member.user_id
      and not private.is_own_team(m.organization_id)) then
    perform private.raise_error('CONFLICT',
      'This person is also on a team that you do not own: its owner must remove them first.');
  end if;
  auth_id := (select p.auth_user_id from public.profiles p where p.id = member.user_id);
  delete from auth.mfa_factors f where f.user_id = auth_id;
  if found then
    -- Sessions that somebody else may have opened need a new sign-in.
    delete from auth.sessions s where s.user_id = auth_id;
    perform private.audit('member.reset_second_factor', 'profile', member.user_id, '{}', organization_id);
  end if;
  return private.member_shape(member, true, private.is_own_team(organization_id));
end
$$;

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
create index invites_address_idx on private.invites (email);
-- An erased invite leaves its mail, without the address: it counts for the limit of the day.
alter table private.mails add constraint mails_invite_id_fkey
  foreign key (invite_id) references private.invites (id) on delete set null;

-- accepted, revoked (also by the inviter's loss of the role), expired or open.
create function private.invite_status(invite private.invites) returns text
language plpgsql stable set search_path = pg_temp as $$
begin
  return case when invite.accepted_at is not null then 'accepted'
    when invite.revoked_at is not null or not private.inviter_is_authorized(invite) then 'revoked'
    when invite.expires_at <= now() then 'expired' else 'open' end;
end
$$;

-- JSON of an invite for Admin, without the digest.
create function private.invite_shape(invite private.invites) returns json
language plpgsql stable set search_path = pg_temp as $$
begin
  return json_build_object('id', invite.id, 'email', invite.email, 'role', invite.role,
    'status', private.invite_status(invite),
    'invited_by', (select json_build_object('id', p.id, 'name', coalesce(p.name, 'Anonymous'))
      from public.profiles p where p.id = invite.invited_by),
    'created_at', invite.created_at, 'expires_at', invite.expires_at);
end
$$;

-- Invites to the team, newest first, for Admin and keys with members:write.
-- definer: private tables.
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

-- Queues the mail of an invite, where its organization sends mail: at most 100 in a day, and 3 to one
-- mailbox. Returns whether it did. Call it with the team locked.
create function private.queue_invite(invite private.invites) returns boolean
language plpgsql set search_path = pg_temp as $$
declare made_today integer; made_to_address integer;
begin
  if not (select o.mail_enabled from public.organizations o where o.id = invite.organization_id) then
    return false;
  end if;
  -- An erased invite may have been to this address: else an erasure would make room for more.
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

-- Invites an e-mail address for 7 days and replaces an earlier invite of it. Takes the digest of the
-- token. Admins may invite admins and members, owners also owners. is_mailed: whether the invite goes to
-- the address by mail.
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
    perform private.raise_error('CONFLICT', 'This invite was accepted: remove the member instead.');
  end if;
  if invite.revoked_at is null then
    update private.invites i set revoked_at = now() where i.id = invite.id returning * into invite;
    perform private.audit('invite.revoke', 'invite', invite.id, '{}', own_id);
  end if;
  return private.invite_shape(invite);
end
$$;

-- Whether the inviter could create the invite now; an invite of a removed admin is not valid.
create function private.inviter_is_authorized(invite private.invites) returns boolean
language plpgsql stable set search_path = pg_temp as $$
begin
  return exists (select from public.memberships m where m.organization_id = invite.organization_id
    and m.user_id = invite.invited_by
    and (m.role = 'owner' or m.role = 'admin' and invite.role <> 'owner'));
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
  return json_build_object('is_for_caller', true, 'status', private.invite_status(invite),
    'role', invite.role, 'organization', (select o.name from public.organizations o
      where o.id = invite.organization_id));
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
      'This invite is for another e-mail address: sign in with that address.');
  end if;
  select * into member from public.memberships m where m.organization_id = invite.organization_id
    and m.user_id = own_id;
  if invite.accepted_at is not null and member.user_id is null or invite.accepted_by <> own_id then
    perform private.raise_error('GONE', 'This invite was used: ask for another.', 'token');
  elsif invite.accepted_at is null then
    if private.invite_status(invite) <> 'open' then
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

grant execute on function private.admin_members(uuid, integer, integer),
  private.admin_remove_member(uuid, uuid, boolean),
  private.admin_invites(uuid, integer, integer), private.admin_revoke_invite(uuid, uuid) to authenticated,
    service_key;
grant execute on function private.made_by(uuid, uuid), private.admin_change_role(uuid, uuid, text, boolean),
  private.admin_transfer_ownership(uuid, uuid),
  private.my_second_factors(), private.reset_second_factor(uuid, uuid),
  private.admin_invite(uuid, text, text, bytea), private.show_invite(bytea, uuid),
  private.accept_invite(bytea, uuid) to authenticated;
