-- Team members and roles.
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
    -- An update, not only a lock: if two transactions read the same owners, at any isolation level, one of
    -- them waits and re-reads, or fails.
    update public.organizations o set updated_at = now() where o.id = organization;
    if found and not exists (select from public.memberships m
      where m.organization_id = organization and m.role = 'owner') then
      if session_user in ('supabase_auth_admin', 'embedded_auth') then
        -- The auth service returns the message of this SQLSTATE with status 409.
        raise exception 'An organization needs at least one owner. Make someone else an owner first.'
          using errcode = 'PT409';
      end if;
      perform private.raise_error('CONFLICT',
        'An organization needs at least one owner. Make someone else an owner first.', 'role');
    end if;
  end loop;
  return null;
end
$$;
create trigger keep_owner_changed after update on public.memberships
  referencing old table as removed for each statement execute function private.enforce_owner();
create trigger keep_owner_removed after delete on public.memberships
  referencing old table as removed for each statement execute function private.enforce_owner();

create trigger keep_member_limit after insert on public.memberships
  referencing new table as added for each statement execute function private.enforce_plan_limit();

-- Members ---------------------------------------------------------------------------------------------------

-- Whether the caller is a signed-in owner of the organization.
create function private.is_own_team(organization_id uuid) returns boolean
language sql stable
return not private.is_key() and exists (select from public.memberships m
  where m.organization_id = is_own_team.organization_id and m.user_id = private.caller_id()
    and m.role = 'owner');

-- JSON of a member; the e-mail address for Admin only, and whether there is a second factor for owners.
create function private.member_shape(member public.memberships, with_email boolean, for_owner boolean)
  returns json
language plpgsql stable set search_path = pg_temp as $$
begin
  return (select json_build_object(
    'user_id', p.id,
    'name', coalesce(p.name, 'Anonymous'),
    'avatar', private.avatar(p),
    'email', case when with_email then p.email end,
    'role', member.role,
    'joined_at', member.created_at,
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
    perform private.raise_error('FORBIDDEN', 'Only signed-in users can change roles.');
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

-- Emits the event and writes the audit trail for a change of the team.
create function private.record_member_change(organization_id uuid, action text, user_id uuid, details jsonb)
  returns void
language plpgsql set search_path = pg_temp as $$
begin
  perform private.emit_organization_update(organization_id, '{members}');
  perform private.audit(action, 'profile', user_id, details, organization_id);
end
$$;

-- Items that a member created and that stay valid without them: valid keys, signing secrets, webhooks and
-- agents, as [{type, id, name}]. Empty unless the caller is a signed-in Admin. definer: private tables.
create function private.made_by(organization_id uuid, user_id uuid) returns jsonb
language plpgsql stable security definer set search_path = pg_temp as $$
begin
  if private.is_key() or not private.is_admin(organization_id, '') then return '[]'; end if;
  return (select coalesce(jsonb_agg(m order by m.type, m.name collate "und-x-icu", m.id), '[]') from (
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

-- Ends the items that private.made_by lists, and returns them: keys are revoked, signing secrets deleted,
-- webhooks disabled, agents retired. For a signed-in Admin.
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

-- Trigger: a row that an admin or their key creates while the admin is being removed is refused, or ended with
-- the admin's other rows.
-- definer: clients may only read memberships.
create function private.keep_maker_in_team() returns trigger
language plpgsql security definer set search_path = pg_temp as $$
begin
  if private.is_key() or new.created_by = private.caller_id() then
    -- This insert and a removal of the person wait for each other.
    perform private.lock_team(new.organization_id);
    if not private.is_key() then
      perform private.require_admin(new.organization_id, '');
    elsif exists (select from private.api_keys k
      where k.id = private.key_id() and k.revoked_at is not null) then
      perform private.raise_error('UNAUTHORIZED', 'This key was revoked. Use another one.');
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

-- Changes a member's role. Admins may change admins and members, owners may change everyone, keys nobody.
-- revoke: calls private.end_made_by if the new role is member. definer: clients may only read memberships.
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
    perform private.raise_error('FORBIDDEN',
      'Only an owner can make someone an owner or change an owner''s role.');
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

-- Removes a member. Members may remove themselves, admins anyone except owners, owners anyone, and keys with
-- members:write plain members. revoke: calls private.end_made_by. Returns what was revoked and what remains
-- valid.
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
      then 'A key can remove only members, not admins or owners.' else 'Only an owner can remove an owner.'
      end);
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

-- The calling owner makes another member the owner and becomes an admin.
create function private.admin_transfer_ownership(organization_id uuid, user_id uuid) returns json
language plpgsql security definer set search_path = pg_temp
as $$ -- definer: clients may only read memberships
declare member public.memberships; own_id uuid := private.caller_id();
begin
  perform private.require_visible_organization(organization_id);
  perform private.lock_team(organization_id);
  if private.require_person_admin(organization_id) <> 'owner' then
    perform private.raise_error('FORBIDDEN', 'Only an owner can transfer the organization.');
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
  return (select coalesce(json_agg(json_build_object(
    'id', f.id,
    'name', f.friendly_name,
    'created_at', f.created_at) order by f.created_at, f.id), '[]')
    from public.profiles p join auth.mfa_factors f on f.user_id = p.auth_user_id
    where p.id = private.caller_id() and f.status = 'verified');
end
$$;

-- An owner removes all second factors of a member who lost them, and ends the member's sessions. Raises
-- CONFLICT if the member is on a team that the caller does not own. definer: the tables of auth are not
-- granted.
create function private.reset_second_factor(organization_id uuid, user_id uuid) returns json
language plpgsql security definer set search_path = pg_temp as $$
declare member public.memberships; auth_id uuid;
begin
  perform private.require_visible_organization(organization_id);
  perform private.lock_team(organization_id);
  if private.require_person_admin(organization_id) <> 'owner' then
    perform private.raise_error('FORBIDDEN', 'Only an owner can remove the second factor of a member.');
  end if;
  member := private.find_member(organization_id, user_id);
  -- A second factor protects every team of its person.
  if exists (select from public.memberships m where m.user_id = member.user_id
      and not private.is_own_team(m.organization_id)) then
    perform private.raise_error('CONFLICT',
      'This person is also on a team that you do not own. Its owner must remove them first.');
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

grant execute on function private.admin_members, private.admin_remove_member to authenticated,
  service_key;
grant execute on function private.made_by, private.admin_change_role, private.admin_transfer_ownership,
  private.my_second_factors, private.reset_second_factor to authenticated;
