-- Mail: a queue next to that of webhooks. Notifications and digests add rows; functions/mail-dispatch claims,
-- writes and sends them. Due mail is dropped if its recipient may not see its content or has turned it off.

create table private.mails (
  id uuid primary key default gen_random_uuid(),
  organization_id uuid not null references public.organizations (id) on delete cascade,
  profile_id uuid references public.profiles (id) on delete cascade,
  invite_id uuid,
  kind text not null,
  event_ids uuid[] not null,
  is_confirmed boolean not null default false,
  status text not null default 'pending',
  attempt_count integer not null default 0,
  counted_from integer not null default 0,
  next_attempt_at timestamptz not null default now(),
  claimed_at timestamptz,
  last_error text,
  created_at timestamptz not null default now(),
  finished_at timestamptz,
  constraint kind_is_known check (private.is_mail_kind(kind)),
  constraint all_but_invites_are_to_a_profile check ((kind = 'invite') = (profile_id is null)),
  constraint only_invites_have_an_invite check (kind = 'invite' or invite_id is null),
  constraint status_is_known check (status in ('pending', 'sending', 'sent', 'failed', 'dropped')),
  constraint sending_ones_are_claimed check ((status = 'sending') = (claimed_at is not null)),
  constraint finished_ones_say_when check
    ((status in ('sent', 'failed', 'dropped')) = (finished_at is not null)),
  constraint error_is_short check (char_length(last_error) <= 500)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.05);
comment on table private.mails is
  'Mails to be: pending, sending (claimed until next_attempt_at, when the lease ends), sent, failed, or '
  'dropped because its recipient may not see it or does not want it any more. event_ids are those of the '
  'notifications, for kind team the submissions, for survey the survey, twice for a reminder. An invite goes '
  'to the address of the invite, which may have no profile; without invite_id its address was erased. The id '
  'is in the Message-ID. is_confirmed: private.is_confirmed_recipient when it was queued; such mails are '
  'claimed first. Finished mails are kept for private.retention(mails).';
create unique index one_mail_an_event_and_person on private.mails (profile_id, (event_ids[1]))
  where kind not in ('digest', 'team', 'survey');
create index mails_invite_idx on private.mails (invite_id) where invite_id is not null;
create index mails_waiting_idx on private.mails (organization_id, is_confirmed, next_attempt_at)
  where status in ('pending', 'sending');
create index mails_organization_idx on private.mails (organization_id, profile_id);
create index mails_of_a_day_idx on private.mails (profile_id, created_at);
create index mails_finished_idx on private.mails (finished_at) where finished_at is not null;

create table private.mail_items (
  profile_id uuid not null references public.profiles (id) on delete cascade,
  event_id uuid not null,
  organization_id uuid not null references public.organizations (id) on delete cascade,
  is_of_team boolean not null,
  due_at timestamptz not null,
  created_at timestamptz not null default now(),
  primary key (profile_id, event_id)
);
comment on table private.mail_items is
  'Pending entries of digests: notifications of a person, or (is_of_team) new submissions for the summary of '
  'a team member. Rows are only added and taken, so that transactions do not wait for each other.';
create index mail_items_due_idx on private.mail_items (due_at);
create index mail_items_digest_idx on private.mail_items (organization_id, profile_id, is_of_team, due_at);

-- Queue -----------------------------------------------------------------------------------------------------

-- Starts functions/mail-dispatch when this transaction commits.
create function private.wake_mailer() returns void
language plpgsql set search_path = pg_temp as $$
begin
  perform private.wake_function('/mail-dispatch', 'mails');
end
$$;

-- Trigger: adds an immediate mail or a digest entry for each notification, if the organization sends mail and
-- the person wants it. Beyond 20 mails per person and day the rest goes into the digest.
-- definer: notifications are written with few rights, and the queue is private.
create function private.queue_mails() returns trigger
language plpgsql security definer set search_path = pg_temp as $$
declare at_once integer;
begin
  if not exists (select from added n join public.organizations o on o.id = n.organization_id
    where o.mail_enabled) then return null; end if;
  with wanted as materialized (
    select n.organization_id, n.user_id, n.event_id, k.kind, o.time_zone,
      private.mail_choice(n.organization_id, n.user_id, k.kind) as choice
    from added n join public.organizations o on o.id = n.organization_id and o.mail_enabled
      cross join lateral (select private.mail_kind(n.type) as kind) k
    where k.kind is not null and not private.is_muted(n.organization_id, n.submission_id, n.user_id)
  ), timed as materialized (
    select w.*, case when w.choice = 'at_once' and (select count(*) from private.mails m
        where m.profile_id = w.user_id and m.created_at > now() - interval '1 day') >= 20
      then 'daily' else w.choice end as timing
    from wanted w
  ), later as (
    insert into private.mail_items (profile_id, event_id, organization_id, is_of_team, due_at)
    select t.user_id, t.event_id, t.organization_id, false,
      private.next_digest(t.timing, t.time_zone, now())
    from timed t where t.timing in ('daily', 'weekly')
    on conflict do nothing
  ), made as (
    insert into private.mails (organization_id, profile_id, kind, event_ids)
    select t.organization_id, t.user_id, t.kind, array[t.event_id] from timed t where t.timing = 'at_once'
    on conflict do nothing returning 1
  )
  select count(*) into at_once from made;
  if at_once > 0 then perform private.wake_mailer(); end if;
  return null;
end
$$;
create trigger queue_mails after insert on public.notifications
  referencing new table as added for each statement execute function private.queue_mails();

-- Trigger: records new submissions for the team's summaries.
-- definer: reads memberships and writes the private queue.
create function private.queue_summaries() returns trigger
language plpgsql security definer set search_path = pg_temp as $$
begin
  if private.is_importing() then return null; end if;
  insert into private.mail_items (profile_id, event_id, organization_id, is_of_team, due_at)
  select m.user_id, s.id, s.organization_id, true, private.next_digest(c.choice, o.time_zone, now())
  from added s join public.organizations o on o.id = s.organization_id and o.mail_enabled
    join public.memberships m on m.organization_id = s.organization_id and m.user_id <> s.author_id
    cross join lateral (select private.mail_choice(m.organization_id, m.user_id, 'team') as choice) c
  where c.choice in ('daily', 'weekly')
  on conflict do nothing;
  return null;
end
$$;
create trigger queue_summaries after insert on public.submissions
  referencing new table as added for each statement execute function private.queue_summaries();

-- The next digest: at eight in the morning of a time zone, every day or (weekly) on Mondays.
create function private.next_digest(choice text, time_zone text, at timestamptz) returns timestamptz
language plpgsql stable set search_path = pg_temp as $$
declare day timestamp := date_trunc('day', at at time zone time_zone); due timestamptz;
begin
  for n in 0..8 loop
    due := (day + make_interval(days => n, hours => 8)) at time zone time_zone;
    if due > at and (choice <> 'weekly' or extract(isodow from day + make_interval(days => n)) = 1) then
      return due;
    end if;
  end loop;
  return at + interval '1 day';
end
$$;

-- Creates one mail for each person from due entries that are not older than private.retention(mails). For
-- private.run_schedule; returns the number of mails.
create function private.gather_digests(max_people integer default 500) returns integer
language plpgsql set search_path = pg_temp as $$
declare made integer;
begin
  with due as materialized (
    select distinct i.organization_id, i.profile_id, i.is_of_team from (
      select * from private.mail_items o where o.due_at <= now() order by o.due_at limit max_people * 20) i
    limit max_people
  ), taken as (
    delete from private.mail_items i where i.ctid = any (array(
      select o.ctid from due d join private.mail_items o
        on (o.organization_id, o.profile_id, o.is_of_team) = (d.organization_id, d.profile_id, d.is_of_team)
      where o.due_at <= now() for update of o skip locked))
    returning i.*
  ), written as (
    -- A digest has a limited length; the newest entries are shown first.
    insert into private.mails (organization_id, profile_id, kind, event_ids)
    select t.organization_id, t.profile_id, case when t.is_of_team then 'team' else 'digest' end,
      (array_agg(t.event_id order by t.created_at desc))[1:200]
    from taken t where t.created_at > now() - private.retention('mails')
    group by t.organization_id, t.profile_id, t.is_of_team returning 1
  )
  select count(*) into made from written;
  if made > 0 then perform private.wake_mailer(); end if;
  return made;
end
$$;

-- Ids of the organizations with due mails; reads two rows of an index for each that has mails in the queue.
create function private.senders_of_due_mails() returns setof uuid
language plpgsql stable set search_path = pg_temp as $$
begin
  return query
    with recursive waiting (id) as (
      (select m.organization_id from private.mails m where m.status in ('pending', 'sending')
        order by m.organization_id limit 1)
      union all
      select (select m.organization_id from private.mails m
        where m.status in ('pending', 'sending') and m.organization_id > w.id
        order by m.organization_id limit 1)
      from waiting w where w.id is not null
    )
    select w.id from waiting w
    where exists (select from unnest(array[true, false]) lane cross join lateral (
        select m.next_attempt_at from private.mails m
        where m.organization_id = w.id and m.is_confirmed = lane and m.status in ('pending', 'sending')
        order by m.next_attempt_at limit 1) first
      where first.next_attempt_at <= now());
end
$$;

-- Content of mails ------------------------------------------------------------------------------------------

-- The recipient of a mail: the person's address, or the invited address of an invite; null for none.
create function private.address_of(mail private.mails) returns text
language plpgsql stable set search_path = pg_temp as $$
begin
  return case mail.kind when 'invite' then (select i.email from private.invites i where i.id = mail.invite_id)
    else private.mail_address(mail.profile_id) end;
end
$$;

-- The content of a mail about a notification: {kind, submission_id, title, comment_id?, status?, text?, by?,
-- is_official?, is_read}. Null if the person may not see it or no longer wants it.
create function private.mail_event(profile_id uuid, event_id uuid) returns jsonb
language plpgsql stable set search_path = pg_temp as $$
begin
  return (
    select jsonb_strip_nulls(jsonb_build_object(
      'kind', k.kind,
      'submission_id', s.id,
      'title', s.title,
      'comment_id', c.id,
      'is_read', n.read_at is not null,
      'status', h.new_status,
      'text', left(coalesce(c.body, h.note), 2000),
      'is_official', c.is_official,
      'by', (select coalesce(a.name, 'Anonymous') from public.profiles a where a.id = c.author_id)))
    from public.notifications n
      join public.submissions s on (s.organization_id, s.id) = (n.organization_id, n.submission_id)
      left join public.comments c on c.id = n.comment_id
      left join public.status_changes h on h.id = n.event_id and n.type = 'status_changed'
      cross join lateral (select private.mail_kind(n.type) as kind) k
    where n.user_id = mail_event.profile_id and n.event_id = mail_event.event_id
      and (s.is_public or s.author_id = n.user_id or private.is_member(s.organization_id, n.user_id))
      and case when n.type = 'status_changed' then h.id is not null
        else c.moderation_state = 'approved' end
      and private.mail_choice(n.organization_id, n.user_id, k.kind) <> 'never'
      and not private.is_muted(n.organization_id, s.id, n.user_id));
end
$$;

-- The events of a mail, as a list; null if there are none, in which case the mail is not sent.
create function private.mail_content(mail private.mails) returns jsonb
language plpgsql stable set search_path = pg_temp as $$
begin
  if mail.kind = 'team' then
    return (select jsonb_agg(jsonb_build_object(
      'kind', 'team',
      'submission_id', s.id,
      'title', s.title,
      'text', left(s.description, 300),
      'by', coalesce(a.name, 'Anonymous')) order by s.created_at desc)
      from public.submissions s join public.profiles a on a.id = s.author_id
      where s.organization_id = mail.organization_id and s.id = any (mail.event_ids)
        and s.moderation_state in ('approved', 'pending') and s.merged_into_id is null
        and private.is_member(mail.organization_id, mail.profile_id)
        and private.mail_choice(mail.organization_id, mail.profile_id, 'team') <> 'never');
  end if;
  if mail.kind = 'survey' then
    return (select jsonb_build_array(jsonb_build_object(
      'kind', 'survey',
      'survey_id', s.id,
      'title', s.title,
      'text', left(s.description, 2000),
      'is_reminder', cardinality(mail.event_ids) > 1))
      from public.surveys s join public.organizations o on o.id = s.organization_id
      where s.organization_id = mail.organization_id and s.id = mail.event_ids[1]
        and s.status = 'published' and coalesce(s.closes_at > now(), true)
        and (o.visibility = 'public' or private.is_member(o.id, mail.profile_id))
        and not exists (select from public.survey_responses r
          where r.survey_id = s.id and r.user_id = mail.profile_id)
        and private.mail_choice(mail.organization_id, mail.profile_id, 'survey') <> 'never');
  end if;
  if mail.kind = 'invite' then
    return (select jsonb_build_array(jsonb_build_object(
      'kind', 'invite',
      'invite_id', i.id,
      'role', i.role,
      'by', coalesce(p.name, 'Anonymous'),
      'expires_at', i.expires_at))
      from private.invites i join public.profiles p on p.id = i.invited_by
      where i.id = mail.invite_id and private.invite_status(i) = 'open');
  end if;
  return (select jsonb_agg(e.told order by i.place)
    from unnest(mail.event_ids) with ordinality as i (event_id, place)
      cross join lateral (select private.mail_event(mail.profile_id, i.event_id) as told) e
    -- A digest omits what was read on the pages.
    where e.told is not null and not (mail.kind = 'digest' and (e.told ->> 'is_read')::boolean));
end
$$;

-- Whether an e-mail author is informed by another mail, to the user with the same address.
create function private.has_same_mail(mail private.mails) returns boolean
language plpgsql stable set search_path = pg_temp as $$
begin
  return exists (
    select from public.profiles p join public.profiles u
      on u.kind = 'user' and lower(u.email) = lower(p.email)
      join private.mails m on m.profile_id = u.id and m.event_ids[1] = mail.event_ids[1]
        and m.kind not in ('digest', 'team')
    where p.id = mail.profile_id and p.kind = 'email' and mail.kind not in ('digest', 'team')
      and lower(private.mail_address(u.id)) = lower(p.email));
end
$$;

-- Sending ---------------------------------------------------------------------------------------------------

-- Records results of claimed mails: [{id, attempt, outcome, error, retry_after in seconds}]. outcome is sent;
-- retry; unavailable, if the server accepts no mail at all; failed; or refused, if the address does not
-- accept mail, and gets none from now on.
create function private.record_mails(results jsonb) returns void
language plpgsql set search_path = pg_temp as $$
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
      -- An unavailable server proves nothing about the mail: the retry schedule does not count the attempt.
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
$$;

-- Claims due mails for two minutes, including those with expired claims, drops those without content, and
-- postpones those to unconfirmed recipients beyond the budget of their organization; wakes the mailer again
-- if it only dropped or postponed mails. Concurrent dispatchers never claim the same mail.
create function private.claim_mails(max_rows integer) returns table (id uuid, attempt integer, kind text,
  created_at timestamptz, address text, profile jsonb, organization jsonb, events jsonb)
language plpgsql set search_path = pg_temp as $$
#variable_conflict use_column
declare
  sender public.organizations;
  mail private.mails;
  recipient text;
  told jsonb;
  confirmed boolean;
  counted boolean;
  claimed integer := 0;
  removed boolean := false;
  lane boolean; -- private.mails.is_confirmed: confirmed recipients first
  due uuid[];
  share integer;
begin
  if max_rows <= 0 then return; end if;
  due := array(select private.senders_of_due_mails());
  -- Dropped or postponed mails do not count against max_rows: a share for each organization bounds the scan.
  share := greatest(1000 / greatest(cardinality(due), 1), 1);
  -- Organizations in random order, so that the many mails of one do not delay those of others.
  for sender in select o.* from public.organizations o where o.id = any (due) order by random() loop
    foreach lane in array array[true, false] loop
      for mail in
        select m.* from private.mails m
        where m.organization_id = sender.id and m.is_confirmed = lane and m.status in ('pending', 'sending')
          and m.next_attempt_at <= now()
        order by m.next_attempt_at limit share for update skip locked
      loop
        if claimed >= max_rows then return; end if;
        recipient := private.address_of(mail);
        told := null;
        if recipient is not null and sender.mail_enabled
          and not private.is_suppressed(mail.organization_id, recipient)
          and not private.has_same_mail(mail) then
          told := private.mail_content(mail);
        end if;
        if told is null then
          update private.mails m set status = 'dropped', finished_at = now(), claimed_at = null
            where m.id = mail.id;
          removed := true;
          continue;
        end if;
        confirmed := private.is_confirmed_recipient(sender.id, mail.profile_id);
        if not confirmed and lane then
          update private.mails m set is_confirmed = false where m.id = mail.id;
          continue;
        end if;
        if not confirmed and mail.attempt_count = 0 then
          counted := private.take_unconfirmed_mail(sender);
          if not counted then
            perform private.put_off_mails(sender, share);
            removed := true;
          end if;
          exit when counted is not true;
        end if;
        claimed := claimed + 1;
        update private.mails m set status = 'sending', claimed_at = now(),
          next_attempt_at = now() + interval '2 minutes', attempt_count = m.attempt_count + 1,
          -- An expired claim proves nothing about the server: the retry schedule does not count it.
          counted_from = m.counted_from + (m.status = 'sending')::integer
        where m.id = mail.id returning m.* into mail;
        return query
          select mail.id, mail.attempt_count, mail.kind, mail.created_at, recipient,
            (select jsonb_build_object(
              'id', p.id,
              'kind', p.kind,
              'name', p.name,
              'is_confirmed', confirmed,
              'locale', private.mail_locale(p.id, sender.id))
              from public.profiles p where p.id = mail.profile_id),
            jsonb_build_object(
              'id', sender.id,
              'slug', sender.slug,
              'name', sender.name,
              'brand_color', sender.brand_color,
              'logo_url', sender.logo_url,
              'default_locale', sender.default_locale,
              'time_zone', sender.time_zone,
              'is_default', sender.id = private.default_organization_id()), told;
      end loop;
    end loop;
  end loop;
  -- A dispatcher stops when it gets no claims, but more mails may be due beyond the shares.
  if removed and claimed = 0 then perform private.wake_mailer(); end if;
end
$$;

-- One round of a dispatcher: records results and claims due mails.
create function private.record_and_claim_mails(results jsonb, max_rows integer) returns table (id uuid,
  attempt integer, kind text, created_at timestamptz, address text, profile jsonb, organization jsonb,
  events jsonb)
language plpgsql security definer set search_path = pg_temp as $$ -- definer: private tables
begin
  perform private.record_mails(results);
  return query select * from private.claim_mails(max_rows);
end
$$;

-- Stops mail to an address that the provider reports as bounced or complained. Returns the number of affected
-- people; zero for an address that got no mail.
create function private.record_mail_report(address text, reason text) returns integer
language plpgsql security definer set search_path = pg_temp as $$ -- definer: private tables
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
$$;

grant execute on function private.record_and_claim_mails, private.record_mail_report to feedback_mail;
