-- Generated from supabase/schemas by npm run db:migration, then reviewed. It runs in one transaction, while functions
-- of the previous release serve requests: see "Release" in CONTRIBUTING.md.

set local check_function_bodies = off;

ALTER TABLE "private"."mails" DROP CONSTRAINT "kind_is_known";

DROP FUNCTION "private"."accept_invite"(bytea);

ALTER TABLE "private"."mails" ADD COLUMN "invite_id" uuid;

-- squawk-ignore ban-drop-not-null -- no function reads a mail without a profile but those below.
ALTER TABLE "private"."mails" ALTER COLUMN "profile_id" DROP NOT NULL;

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
  if not exists (select from public.profiles p
    where p.id = own_id and p.kind = 'user' and lower(p.email) = invite.email) then
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

ALTER FUNCTION "private"."accept_invite"(bytea, uuid) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.address_of(mail private.mails)
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return case mail.kind when 'invite' then (select i.email from private.invites i where i.id = mail.invite_id)
    else private.mail_address(mail.profile_id) end;
end
$function$;

ALTER FUNCTION "private"."address_of"(private.mails) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.admin_invite(organization_id uuid, email text, role text, digest bytea)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$ -- definer: clients may only read memberships
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
$function$;

CREATE OR REPLACE FUNCTION private.claim_mails(max_rows integer)
 RETURNS TABLE(id uuid, attempt integer, kind text, created_at timestamp with time zone, address text, profile jsonb, organization jsonb, events jsonb)
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
#variable_conflict use_column
declare mail private.mails; recipient text; told jsonb; claimed integer := 0;
begin
  for mail in
    select m.* from private.mails m
    where m.status in ('pending', 'sending') and m.next_attempt_at <= now()
    -- What is dropped takes no room, but a claim is to end soon.
    order by m.next_attempt_at limit case when max_rows > 0 then 2000 else 0 end for update skip locked
  loop
    exit when claimed >= max_rows;
    recipient := private.address_of(mail);
    told := null;
    if recipient is not null and not private.is_suppressed(mail.organization_id, recipient)
      and exists (select from public.organizations o where o.id = mail.organization_id and o.mail_enabled)
      and not private.has_same_mail(mail) then
      told := private.mail_content(mail);
    end if;
    if told is null then
      update private.mails m set status = 'dropped', finished_at = now(), claimed_at = null
        where m.id = mail.id;
      continue;
    end if;
    claimed := claimed + 1;
    update private.mails m set status = 'sending', claimed_at = now(),
      next_attempt_at = now() + interval '2 minutes', attempt_count = m.attempt_count + 1,
      -- An expired claim says nothing about the server: the retry schedule does not count it.
      counted_from = m.counted_from + (m.status = 'sending')::integer
    where m.id = mail.id returning m.* into mail;
    return query
      select mail.id, mail.attempt_count, mail.kind, mail.created_at, recipient,
        (select jsonb_build_object('id', p.id, 'kind', p.kind, 'name', p.name,
            'locale', private.mail_locale(p.id, o.id))
          from public.profiles p where p.id = mail.profile_id),
        jsonb_build_object('id', o.id, 'slug', o.slug, 'name', o.name, 'brand_color', o.brand_color,
          'logo_url', o.logo_url, 'default_locale', o.default_locale,
          'is_default', o.id = private.default_organization_id()), told
      from public.organizations o where o.id = mail.organization_id;
  end loop;
end
$function$;

CREATE OR REPLACE FUNCTION private.invite_shape(invite private.invites)
 RETURNS json
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return json_build_object('id', invite.id, 'email', invite.email, 'role', invite.role,
    'status', private.invite_status(invite),
    'invited_by', (select json_build_object('id', p.id, 'name', coalesce(p.name, 'Anonymous'))
      from public.profiles p where p.id = invite.invited_by),
    'created_at', invite.created_at, 'expires_at', invite.expires_at);
end
$function$;

CREATE OR REPLACE FUNCTION private.invite_status(invite private.invites)
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return case when invite.accepted_at is not null then 'accepted'
    when invite.revoked_at is not null or not private.inviter_is_authorized(invite) then 'revoked'
    when invite.expires_at <= now() then 'expired' else 'open' end;
end
$function$;

ALTER FUNCTION "private"."invite_status"(private.invites) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.mail_content(mail private.mails)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  if mail.kind = 'team' then
    return (select jsonb_agg(jsonb_build_object('kind', 'team', 'submission_id', s.id, 'title', s.title,
      'text', left(s.description, 300), 'by', coalesce(a.name, 'Anonymous')) order by s.created_at desc)
      from public.submissions s join public.profiles a on a.id = s.author_id
      where s.organization_id = mail.organization_id and s.id = any (mail.event_ids)
        and s.moderation_state in ('approved', 'pending') and s.merged_into_id is null
        and private.is_member(mail.organization_id, mail.profile_id)
        and private.mail_choice(mail.organization_id, mail.profile_id, 'team') <> 'never');
  end if;
  if mail.kind = 'survey' then
    return (select jsonb_build_array(jsonb_build_object('kind', 'survey', 'survey_id', s.id, 'title', s.title,
        'text', left(s.description, 2000), 'is_reminder', cardinality(mail.event_ids) > 1))
      from public.surveys s join public.organizations o on o.id = s.organization_id
      where s.organization_id = mail.organization_id and s.id = mail.event_ids[1]
        and s.status = 'published' and coalesce(s.closes_at > now(), true)
        and (o.visibility = 'public' or private.is_member(o.id, mail.profile_id))
        and not exists (select from public.survey_responses r
          where r.survey_id = s.id and r.user_id = mail.profile_id)
        and private.mail_choice(mail.organization_id, mail.profile_id, 'survey') <> 'never');
  end if;
  if mail.kind = 'invite' then
    return (select jsonb_build_array(jsonb_build_object('kind', 'invite', 'invite_id', i.id, 'role', i.role,
        'by', coalesce(p.name, 'Anonymous'), 'expires_at', i.expires_at))
      from private.invites i join public.profiles p on p.id = i.invited_by
      where i.id = mail.invite_id and private.invite_status(i) = 'open');
  end if;
  return (select jsonb_agg(e.told order by i.place)
    from unnest(mail.event_ids) with ordinality as i (event_id, place)
      cross join lateral (select private.mail_event(mail.profile_id, i.event_id) as told) e
    -- A digest leaves out what was read on the pages.
    where e.told is not null and not (mail.kind = 'digest' and (e.told ->> 'is_read')::boolean));
end
$function$;

CREATE OR REPLACE FUNCTION private.mail_locale(profile_id uuid, organization_id uuid)
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return coalesce(
    (select coalesce(p.locale, (select u.raw_user_meta_data ->> 'locale' from auth.users u
        where u.id = p.auth_user_id and u.raw_user_meta_data ->> 'locale' = any (private.locales())))
      from public.profiles p where p.id = mail_locale.profile_id),
    (select o.default_locale from public.organizations o where o.id = mail_locale.organization_id));
end
$function$;

ALTER FUNCTION "private"."mail_locale"(uuid, uuid) OWNER TO "postgres";

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
  select count(*), count(*) filter (where i.email = invite.email) into made_today, made_to_address
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

ALTER FUNCTION "private"."queue_invite"(private.invites) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.record_mail_report(address text, reason text)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$ -- definer: private tables
declare person record; stopped integer := 0;
begin
  for person in
    select null::uuid as id, i.organization_id
    from private.invites i join private.mails m on m.invite_id = i.id
    where i.email = lower(record_mail_report.address)
    union
    select p.id, coalesce(p.organization_id, m.organization_id) as organization_id
    from public.profiles p
      left join lateral (select distinct o.organization_id from private.mails o where o.profile_id = p.id) m
        on p.organization_id is null
    where p.kind in ('user', 'email') and lower(p.email) = lower(record_mail_report.address)
  loop
    continue when person.organization_id is null;
    perform private.suppress_address(person.organization_id, person.id, record_mail_report.address, reason);
    stopped := stopped + 1;
  end loop;
  return stopped;
end
$function$;

CREATE OR REPLACE FUNCTION private.record_mails(results jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare refused record;
begin
  for refused in with results as (
    select r.* from jsonb_to_recordset(results) as r
      (id uuid, attempt integer, outcome text, error text, retry_after integer)
  ), timed as materialized (
    select r.*, case r.outcome when 'retry' then private.retry_delay(o.attempt_count - o.counted_from)
      when 'unavailable' then case when o.created_at > now() - interval '3 days' then interval '1 minute' end
      end as delay
    from results r join private.mails o on o.id = r.id
  ), recorded as (
    update private.mails m set
      status = case when r.outcome = 'sent' then 'sent' when r.delay is null then 'failed'
        else 'pending' end,
      finished_at = case when r.delay is null then now() end,
      claimed_at = null, last_error = left(r.error, 500),
      next_attempt_at = now() + coalesce(greatest(r.delay * (1 + random() * 0.1), case when r.retry_after > 0
        then least(make_interval(secs => r.retry_after), interval '6 hours') end), '0'),
      -- A server that is down says nothing about the mail: the retry schedule does not count it.
      counted_from = m.counted_from + (r.outcome = 'unavailable')::integer
    from timed r
    -- Skip mails that were claimed again meanwhile.
    where m.id = r.id and m.claimed_at is not null and m.attempt_count = r.attempt
    returning m.organization_id, m.profile_id, private.address_of(m) as address, r.outcome
  )
  select * from recorded r where r.outcome = 'refused' loop
    perform private.suppress_address(refused.organization_id, refused.profile_id, refused.address, 'bounced');
  end loop;
end
$function$;

CREATE OR REPLACE FUNCTION private.refuse_invites(invite_id uuid)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform private.suppress_address(i.organization_id, null, i.email, 'refused')
  from private.invites i where i.id = refuse_invites.invite_id;
  return private.refusing_invites(invite_id);
end
$function$;

ALTER FUNCTION "private"."refuse_invites"(uuid) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.refusing_invites(invite_id uuid)
 RETURNS json
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return (select json_build_object('name', o.name, 'is_stopped', private.is_suppressed(o.id, i.email))
    from private.invites i join public.organizations o on o.id = i.organization_id
    where i.id = refusing_invites.invite_id);
end
$function$;

ALTER FUNCTION "private"."refusing_invites"(uuid) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.suppress_address(organization_id uuid, profile_id uuid, address text, reason text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  if address is null then return; end if;
  perform private.make_erasure_key();
  insert into private.mail_suppressions as s (organization_id, address_hash, reason, profile_id)
  values (organization_id, private.address_hash(address), reason, profile_id)
  on conflict on constraint mail_suppressions_pkey do update
    set reason = excluded.reason, profile_id = coalesce(excluded.profile_id, s.profile_id), created_at = now()
    -- Admins may resume mail that bounced, so a bounce does not replace a refusal.
    where array_position(array['bounced', 'refused', 'complained'], excluded.reason)
      >= array_position(array['bounced', 'refused', 'complained'], s.reason);
end
$function$;

CREATE OR REPLACE FUNCTION private.sync_language_of_user()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  update auth.users u
  set raw_user_meta_data = coalesce(u.raw_user_meta_data, '{}') - 'locale'
    || case when new.locale is null then '{}' else jsonb_build_object('locale', new.locale) end
  where u.id = new.auth_user_id;
  return null;
end
$function$;

ALTER FUNCTION "private"."sync_language_of_user"() OWNER TO "postgres";

-- squawk-ignore constraint-missing-not-valid -- mails are kept for 30 days: the scan is short.
ALTER TABLE "private"."mails" ADD CONSTRAINT "all_but_invites_are_to_a_profile" CHECK (((kind = 'invite'::text) = (profile_id IS NULL)));

-- squawk-ignore constraint-missing-not-valid -- mails are kept for 30 days: the scan is short.
ALTER TABLE "private"."mails" ADD CONSTRAINT "kind_is_known" CHECK ((kind = ANY (ARRAY['status'::text, 'official'::text, 'reply'::text, 'comment'::text, 'digest'::text, 'team'::text, 'survey'::text, 'invite'::text])));

-- squawk-ignore constraint-missing-not-valid, adding-foreign-key-constraint -- of a column that is empty.
ALTER TABLE "private"."mails" ADD CONSTRAINT "mails_invite_id_fkey" FOREIGN KEY (invite_id) REFERENCES private.invites(id) ON DELETE SET NULL;

-- squawk-ignore constraint-missing-not-valid -- mails are kept for 30 days: the scan is short.
ALTER TABLE "private"."mails" ADD CONSTRAINT "only_invites_have_an_invite" CHECK (((kind = 'invite'::text) OR (invite_id IS NULL)));

-- squawk-ignore require-concurrent-index-creation -- invites are few.
CREATE INDEX invites_address_idx ON private.invites USING btree (email);

-- squawk-ignore require-concurrent-index-creation -- of a column that is empty.
CREATE INDEX mails_invite_idx ON private.mails USING btree (invite_id) WHERE (invite_id IS NOT NULL);

CREATE TRIGGER sync_language_of_user AFTER UPDATE OF locale ON public.profiles FOR EACH ROW WHEN (((new.locale IS DISTINCT FROM old.locale) AND (new.auth_user_id IS NOT NULL))) EXECUTE FUNCTION private.sync_language_of_user();

COMMENT ON FUNCTION "private"."accept_invite"(bytea, uuid) IS 'The signed-in user joins the team that invited their address; repeating it is not an error. Takes the digest of the token, or the id that the edge functions read in the signed link of a mail. Raises NOT_FOUND for an unknown token, FORBIDDEN for another address, GONE if revoked, expired or used.';

COMMENT ON FUNCTION "private"."address_of"(private.mails) IS 'Where a mail goes: to the person, or for an invite to the address that was invited; null for nowhere.';

COMMENT ON FUNCTION "private"."admin_invite"(uuid, text, text, bytea) IS 'Invites an e-mail address for 7 days and replaces an earlier invite of it. Takes the digest of the token. Admins may invite admins and members, owners also owners. is_mailed: whether the invite goes to the address by mail.';

COMMENT ON FUNCTION "private"."invite_status"(private.invites) IS 'accepted, revoked (also by the inviter''s loss of the role), expired or open.';

COMMENT ON FUNCTION "private"."mail_locale"(uuid, uuid) IS 'The language of a mail: the one that the person chose, or signed up in, or the organization''s default.';

COMMENT ON FUNCTION "private"."queue_invite"(private.invites) IS 'Queues the mail of an invite, where its organization sends mail: at most 100 in a day, and 3 to one address. Returns whether it did. Call it with the team locked.';

COMMENT ON FUNCTION "private"."refuse_invites"(uuid) IS 'Stops all mail of the organization to the address that it invited; returns private.refusing_invites.';

COMMENT ON FUNCTION "private"."refusing_invites"(uuid) IS 'JSON of the organization that invited: {name, is_stopped: whether the address gets no mail of it}; null if there is no such invite.';

COMMENT ON FUNCTION "private"."sync_language_of_user"() IS 'Trigger: writes the language that a user chose where the mails of the auth service read it.';

COMMENT ON TABLE "private"."mails" IS 'Mails to be: pending, sending (claimed until next_attempt_at, when the lease ends), sent, failed, or dropped because its recipient may not see it or does not want it any more. event_ids are those of the notifications, for kind team the submissions, for survey the survey, twice for a reminder. An invite goes to the address of the invite, which may have no profile; without invite_id its address was erased. The id is in the Message-ID. Finished mails are kept for private.retention(mails).';

REVOKE ALL ON FUNCTION "private"."accept_invite"(bytea, uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."accept_invite"(bytea, uuid) TO "authenticated";

REVOKE ALL ON FUNCTION "private"."accept_invite"(bytea, uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."accept_invite"(bytea, uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."address_of"(private.mails) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."address_of"(private.mails) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."address_of"(private.mails) TO "postgres";

REVOKE ALL ON FUNCTION "private"."invite_status"(private.invites) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."invite_status"(private.invites) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."invite_status"(private.invites) TO "postgres";

REVOKE ALL ON FUNCTION "private"."mail_locale"(uuid, uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."mail_locale"(uuid, uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."mail_locale"(uuid, uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."queue_invite"(private.invites) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."queue_invite"(private.invites) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."queue_invite"(private.invites) TO "postgres";

REVOKE ALL ON FUNCTION "private"."refuse_invites"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."refuse_invites"(uuid) TO "anon", "authenticated";

REVOKE ALL ON FUNCTION "private"."refuse_invites"(uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."refuse_invites"(uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."refusing_invites"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."refusing_invites"(uuid) TO "anon", "authenticated";

REVOKE ALL ON FUNCTION "private"."refusing_invites"(uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."refusing_invites"(uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."sync_language_of_user"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."sync_language_of_user"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."sync_language_of_user"() TO "postgres";

