-- Generated from supabase/schemas by npm run db:migration, then reviewed. It runs in one transaction, while functions
-- of the previous release serve requests: see "Release" in CONTRIBUTING.md.

set local check_function_bodies = off;

CREATE OR REPLACE FUNCTION private.accept_invite(digest bytea, invite_id uuid DEFAULT NULL::uuid)
 RETURNS TABLE(joined boolean, data json)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION private.queue_invite(invite private.invites)
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare made_today integer; made_to_address integer;
begin
  if not (select o.mail_enabled from public.organizations o where o.id = invite.organization_id) then
    return false;
  end if;
  -- An erased invite may have been to this address: else an erasure would make room for more.
  select count(*), count(*) filter (where i.id is null or i.email = invite.email)
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
$function$;

CREATE OR REPLACE FUNCTION private.show_invite(digest bytea, invite_id uuid DEFAULT NULL::uuid)
 RETURNS json
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
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
$function$;

COMMENT ON FUNCTION "private"."accept_invite"(bytea, uuid) IS 'The signed-in user joins the team that invited their confirmed address; repeating it is not an error. Takes the digest of the token, or the id that the edge functions read in the signed link of a mail. Raises NOT_FOUND for an unknown token, FORBIDDEN for another address, GONE if revoked, expired or used.';
