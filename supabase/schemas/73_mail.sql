-- Mail: a queue beside the webhooks'. Notifications and digests add rows, functions/mail-dispatch claims,
-- writes and sends them. Due mail is dropped if its recipient may not see its content or has turned it off.

do $$
begin
  if not exists (select from pg_roles where rolname = 'feedback_mail') then
    create role feedback_mail login noinherit;
  end if;
end
$$;
comment on role feedback_mail is
  'Login role of functions/mail-dispatch. Owns nothing. May only claim mails, which hold the addresses of '
  'their recipients, and record their results.';
grant usage on schema private to feedback_mail;
-- Nested loops over indexes only: a plan made while a table was empty must also suit a full table.
alter role feedback_mail set plan_cache_mode = 'force_generic_plan';
alter role feedback_mail set enable_seqscan = off;
alter role feedback_mail set enable_bitmapscan = off;
alter role feedback_mail set enable_hashjoin = off;
alter role feedback_mail set enable_mergejoin = off;
alter role feedback_mail set statement_timeout = '15s';
alter role feedback_mail set lock_timeout = '2s';
alter role feedback_mail set idle_in_transaction_session_timeout = '15s';
-- A pooler may drop settings that the client sends when it connects.
alter role feedback_mail set timezone = 'UTC';

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
  constraint kind_is_known check
    (kind in ('status', 'official', 'reply', 'comment', 'digest', 'team', 'survey', 'invite')),
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

create table private.mail_budgets (
  organization_id uuid primary key references public.organizations (id) on delete cascade,
  day date not null,
  used integer not null
);
comment on table private.mail_budgets is
  'Mails of an organization to unconfirmed recipients on the newest day (UTC) on which it sent any: '
  'at most organizations.max_unconfirmed_mails.';

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

create table private.survey_requests (
  survey_id uuid not null,
  profile_id uuid not null references public.profiles (id) on delete cascade,
  organization_id uuid not null,
  created_at timestamptz not null default now(),
  reminded_at timestamptz,
  primary key (survey_id, profile_id),
  constraint survey_requests_survey_is_of_the_same_organization foreign key (organization_id, survey_id)
    references public.surveys (organization_id, id) on delete cascade
);
comment on table private.survey_requests is
  'Whom a team asked by mail to answer a survey, and reminded: each once.';
create index survey_requests_profile_idx on private.survey_requests (profile_id);
create index survey_requests_survey_idx on private.survey_requests (organization_id, survey_id);

-- Preferences -----------------------------------------------------------------------------------------------

-- The kind of mail about notifications of a type; null for those that no mail is about.
create function private.mail_kind(notification_type text) returns text
language sql immutable
return case notification_type when 'status_changed' then 'status' when 'official_comment' then 'official'
  when 'reply' then 'reply' when 'comment' then 'comment' end;

-- When a person gets a kind of mail: at_once, daily, weekly or never; by their choice, the default of the
-- organization, or ours.
create function private.mail_choice(organization_id uuid, profile_id uuid, kind text) returns text
language plpgsql stable set search_path = pg_temp as $$
begin
  return coalesce(
    (select c.choice from private.mail_choices c where c.organization_id = mail_choice.organization_id
      and c.profile_id = mail_choice.profile_id and c.kind = mail_choice.kind),
    (select o.mail_defaults ->> mail_choice.kind from public.organizations o
      where o.id = mail_choice.organization_id),
    case when mail_choice.kind in ('comment', 'team') then 'daily' else 'at_once' end);
end
$$;

-- Whether the person wants no mail about the submission.
create function private.is_muted(organization_id uuid, submission_id uuid, profile_id uuid) returns boolean
language plpgsql stable set search_path = pg_temp as $$
begin
  return exists (select from private.mail_mutes m where m.organization_id = is_muted.organization_id
    and m.submission_id = is_muted.submission_id and m.profile_id = is_muted.profile_id);
end
$$;

-- The address for mail to a person: the confirmed address of a user, or that of an e-mail author; null
-- for nowhere.
create function private.mail_address(profile_id uuid) returns text
language plpgsql stable set search_path = pg_temp as $$
begin
  return (select case p.kind when 'email' then p.email
    when 'user' then (select u.email from auth.users u where u.id = p.auth_user_id
      and u.email_confirmed_at is not null and u.deleted_at is null and not u.is_anonymous) end
    from public.profiles p where p.id = mail_address.profile_id);
end
$$;

-- The recipient of a mail: the person's address, or the invited address of an invite; null for none.
create function private.address_of(mail private.mails) returns text
language plpgsql stable set search_path = pg_temp as $$
begin
  return case mail.kind when 'invite' then (select i.email from private.invites i where i.id = mail.invite_id)
    else private.mail_address(mail.profile_id) end;
end
$$;

-- The language of a mail: the one that the person chose, or signed up in, or the organization's default.
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

-- Whether the organization may not write to the address.
create function private.is_suppressed(organization_id uuid, address text) returns boolean
language plpgsql stable set search_path = pg_temp as $$
begin
  return exists (select from private.mail_suppressions s
    where s.address_hash = private.address_hash(is_suppressed.address)
      and (s.organization_id = is_suppressed.organization_id or s.reason <> 'refused'));
end
$$;

-- Stops mail to an address: refused, bounced or complained.
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

-- Queue -----------------------------------------------------------------------------------------------------

-- Starts functions/mail-dispatch when this transaction commits.
create function private.wake_mailer() returns void
language plpgsql set search_path = pg_temp as $$
begin
  perform private.wake_function('/mail-dispatch', 'mails');
end
$$;

-- Trigger: for each notification a mail at once or an entry for the digest, where the organization sends
-- mail and the person wants it. Beyond 20 mails a day and person the rest goes into the digest.
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

-- Trigger: notes new submissions for the summaries of the team.
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

-- Queues a mail to each user of the survey's audience who was not asked yet, or to each who was asked
-- more than a day ago, did not answer and was not reminded; for Admin or keys with surveys:publish. JSON
-- {survey_id, queued, asked, reminded}. SURVEY_NOT_OPEN, or CONFLICT if its audience is everyone or the
-- organization sends no mail.
-- definer: reads who voted and follows, and writes the private queue.
create function private.mail_survey(survey_id uuid, is_reminder boolean default false) returns json
language plpgsql security definer set search_path = pg_temp as $$
#variable_conflict use_variable
declare
  own_id uuid := private.require_survey(survey_id, 'surveys:publish');
  survey public.surveys;
  submission uuid;
  queued integer;
begin
  select * into survey from public.surveys s where s.id = survey_id for share;
  perform private.require_accepts_responses(survey);
  submission := (select coalesce(s.merged_into_id, s.id) from public.submissions s
    where s.id = survey.audience_submission_id);
  if survey.audience = 'everyone' or submission is null then
    perform private.raise_error('CONFLICT',
      'Only voters or followers of a submission are asked by mail: choose them in the survey''s targeting.',
      'targeting');
  end if;
  if not (select o.mail_enabled from public.organizations o where o.id = own_id) then
    perform private.raise_error('CONFLICT', 'The organization sends no mail: set mail_enabled first.',
      'mail_enabled');
  end if;
  if is_reminder then
    with reminded as (
      update private.survey_requests q set reminded_at = now()
      where q.organization_id = own_id and q.survey_id = survey_id and q.reminded_at is null
        and q.created_at < now() - interval '1 day' and not exists (select from public.survey_responses r
          where r.survey_id = survey_id and r.user_id = q.profile_id)
      returning q.profile_id
    ), made as (
      insert into private.mails (organization_id, profile_id, kind, event_ids)
      select own_id, r.profile_id, 'survey', array[survey_id, survey_id] from reminded r returning 1
    )
    select count(*) into queued from made;
  else
    with asked as (
      insert into private.survey_requests (survey_id, profile_id, organization_id)
      select survey_id, p.id, own_id from public.profiles p
      where p.kind = 'user' and p.auth_user_id is not null and p.id in (
        select v.user_id from public.votes v where survey.audience = 'voters' and v.submission_id = submission
        union all select f.user_id from public.follows f
          where survey.audience = 'followers' and f.submission_id = any (private.with_sources(submission)))
      on conflict do nothing returning profile_id
    ), made as (
      insert into private.mails (organization_id, profile_id, kind, event_ids)
      select own_id, a.profile_id, 'survey', array[survey_id] from asked a returning 1
    )
    select count(*) into queued from made;
  end if;
  if queued > 0 then
    perform private.audit('survey.mail', 'survey', survey_id,
      jsonb_build_object('is_reminder', is_reminder, 'people', queued), own_id);
    perform private.wake_mailer();
  end if;
  return (select json_build_object('survey_id', survey_id, 'queued', queued, 'asked', count(*),
    'reminded', count(q.reminded_at)) from private.survey_requests q
    where q.organization_id = own_id and q.survey_id = survey_id);
end
$$;
grant execute on function private.mail_survey(uuid, boolean) to authenticated, service_key;

-- Makes one mail of what is due for each person and not older than private.retention(mails). For
-- private.run_schedule; returns how many.
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
    -- A digest shows what it has room for; the newest are the first to be shown.
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

-- Deletes mails that finished longer ago than private.retention(mails). For private.run_schedule.
create function private.trim_mails(max_rows integer default 5000) returns integer
language plpgsql set search_path = pg_temp as $$
declare trimmed integer;
begin
  delete from private.mails m where m.ctid = any (array(
    select o.ctid from private.mails o where o.finished_at < now() - private.retention('mails')
      limit max_rows));
  get diagnostics trimmed = row_count;
  return trimmed;
end
$$;

-- Ids of the organizations with due mails; reads two rows of an index for each that has mails in the
-- queue.
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

-- Calls functions/mail-dispatch if a mail is due; returns whether it did.
create function private.call_mailer() returns boolean
language plpgsql set search_path = pg_temp as $$
begin
  if not exists (select from private.senders_of_due_mails()) then return false; end if;
  return private.call_function('/mail-dispatch');
end
$$;

-- Content of mails ------------------------------------------------------------------------------------------

-- The content of a mail about a notification: {kind, submission_id, title, comment_id?, status?, text?,
-- by?, is_official?, is_read}. Null where they may not see it or do not want it now.
create function private.mail_event(profile_id uuid, event_id uuid) returns jsonb
language plpgsql stable set search_path = pg_temp as $$
begin
  return (
    select jsonb_strip_nulls(jsonb_build_object('kind', k.kind, 'submission_id', s.id, 'title', s.title,
      'comment_id', c.id, 'is_read', n.read_at is not null,
      'status', h.new_status, 'text', left(coalesce(c.body, h.note), 2000), 'is_official', c.is_official,
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

-- The events of a mail, as a list; null for none: then it is not sent.
create function private.mail_content(mail private.mails) returns jsonb
language plpgsql stable set search_path = pg_temp as $$
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
$$;

-- Whether an e-mail author is told by another mail, to the user with the same address.
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

-- The budget ------------------------------------------------------------------------------------------------

-- Whether the recipient of mail is more than an address that others entered: an account, which has
-- confirmed its address (by a claim too); a person whom the organization's application identified; or an
-- e-mail author who saved by the link of a mail which mail they want. Not those who only stop mail, which
-- mail programs do too, and not who is invited.
create function private.is_confirmed_recipient(organization_id uuid, profile_id uuid) returns boolean
language plpgsql stable set search_path = pg_temp as $$
begin
  return exists (select from public.profiles p where p.id = is_confirmed_recipient.profile_id and (
    p.kind = 'user'
    or exists (select from private.identified_people i where i.profile_id = p.id)
    or exists (select from private.mail_choices c
      where c.organization_id = is_confirmed_recipient.organization_id and c.profile_id = p.id
        and c.choice <> 'never')));
end
$$;

-- Trigger: sets is_confirmed of a new mail.
-- definer: private tables.
create function private.note_confirmation() returns trigger
language plpgsql security definer set search_path = pg_temp as $$
begin
  new.is_confirmed := private.is_confirmed_recipient(new.organization_id, new.profile_id);
  return new;
end
$$;
create trigger note_confirmation before insert on private.mails
  for each row execute function private.note_confirmation();

-- Today in UTC: in the time zone of the organization a change of the zone would begin another day.
create function private.budget_day() returns date
language sql stable
return (now() at time zone 'UTC')::date;

-- How many mails the organization sent to unconfirmed recipients today.
-- definer: private tables.
create function private.unconfirmed_mails(organization public.organizations) returns integer
language plpgsql stable security definer set search_path = pg_temp as $$
begin
  return coalesce((select b.used from private.mail_budgets b where b.organization_id = organization.id
    and b.day = private.budget_day()), 0);
end
$$;

-- Counts a mail to an unconfirmed recipient; false if the organization's budget of today is used up, null
-- if another dispatcher counts now.
create function private.take_unconfirmed_mail(organization public.organizations) returns boolean
language plpgsql set search_path = pg_temp as $$
begin
  if organization.max_unconfirmed_mails is null then return true; end if;
  -- A dispatcher counts the mails of several organizations in any order: waiting for another could deadlock.
  if not pg_try_advisory_xact_lock(hashtextextended('unconfirmed mails of ' || organization.id, 0)) then
    return null;
  end if;
  insert into private.mail_budgets as b (organization_id, day, used)
  select organization.id, private.budget_day(), 1 where organization.max_unconfirmed_mails > 0
  on conflict on constraint mail_budgets_pkey do update set day = excluded.day,
    used = case when excluded.day > b.day then 1 else b.used + 1 end
  where excluded.day > b.day or b.used < organization.max_unconfirmed_mails;
  return found;
end
$$;

-- When the budget is used up: moves due mails to unconfirmed recipients that were not attempted into the
-- first daily digest of a later day; invites wait for that time as they are.
create function private.put_off_mails(organization public.organizations, max_rows integer) returns void
language plpgsql set search_path = pg_temp as $$
declare later timestamptz := private.next_digest('daily', organization.time_zone,
  (private.budget_day() + 1)::timestamp at time zone 'UTC');
begin
  with due as materialized (
    select m.id, m.profile_id, m.event_ids, m.kind in ('invite', 'survey') as stays,
      private.is_confirmed_recipient(m.organization_id, m.profile_id) as confirmed
    from private.mails m
    where m.organization_id = organization.id and not m.is_confirmed and m.status in ('pending', 'sending')
      and m.attempt_count = 0 and m.next_attempt_at <= now()
    order by m.next_attempt_at limit max_rows for update skip locked
  ), kept as (
    update private.mails m set is_confirmed = d.confirmed,
      next_attempt_at = case when d.confirmed then m.next_attempt_at else later end
    from due d where m.id = d.id and (d.confirmed or d.stays)
  ), moved as (
    insert into private.mail_items (profile_id, event_id, organization_id, is_of_team, due_at, created_at)
    select n.user_id, n.event_id, n.organization_id, false, later, n.created_at
    from due d join public.notifications n on n.user_id = d.profile_id and n.event_id = any (d.event_ids)
    where not (d.confirmed or d.stays)
    on conflict do nothing
  )
  delete from private.mails m using due d where m.id = d.id and not (d.confirmed or d.stays);
end
$$;

-- Sending ---------------------------------------------------------------------------------------------------

-- Records results of claimed mails: [{id, attempt, outcome, error, retry_after in seconds}]. outcome:
-- sent; retry; unavailable, where the server takes no mail at all; failed; or refused, where the address
-- does not take mail, and gets none from now on.
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
$$;

-- Claims due mails for two minutes, including expired claims, drops those with nothing to tell, and puts
-- off those to unconfirmed recipients beyond the budget of their organization; wakes the mailer again if
-- it only did the latter. Concurrent dispatchers never claim the same mail.
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
  -- Mails that are dropped or put off do not count against max_rows: a share for each bounds the scan.
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
          -- An expired claim says nothing about the server: the retry schedule does not count it.
          counted_from = m.counted_from + (m.status = 'sending')::integer
        where m.id = mail.id returning m.* into mail;
        return query
          select mail.id, mail.attempt_count, mail.kind, mail.created_at, recipient,
            (select jsonb_build_object('id', p.id, 'kind', p.kind, 'name', p.name,
                'is_confirmed', confirmed, 'locale', private.mail_locale(p.id, sender.id))
              from public.profiles p where p.id = mail.profile_id),
            jsonb_build_object('id', sender.id, 'slug', sender.slug, 'name', sender.name,
              'brand_color', sender.brand_color, 'logo_url', sender.logo_url,
              'default_locale', sender.default_locale,
              'is_default', sender.id = private.default_organization_id()), told;
      end loop;
    end loop;
  end loop;
  -- A dispatcher takes no claims for an empty queue, but there may be more than the shares.
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

-- Stops mail to an address about which the provider reports: bounced or complained. Returns for how many
-- people; none for an address that got no mail.
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

grant execute on function private.record_and_claim_mails(jsonb, integer),
  private.record_mail_report(text, text) to feedback_mail;

-- Choices ---------------------------------------------------------------------------------------------------

-- JSON of the mail that a person gets of an organization: {organization, mail_enabled, choices by kind,
-- muted submissions, stopped: refused, bounced, complained or null}; null if there is no such person.
create function private.mail_preferences(organization_id uuid, profile_id uuid) returns json
language plpgsql stable set search_path = pg_temp as $$
declare own_address text := private.mail_address(mail_preferences.profile_id);
begin
  return (select json_build_object(
    'organization', json_build_object('id', o.id, 'slug', o.slug, 'name', o.name),
    'mail_enabled', o.mail_enabled,
    'choices', (select json_object_agg(k.kind, private.mail_choice(o.id, mail_preferences.profile_id, k.kind)
        order by k.place)
      from unnest(array['status', 'official', 'reply', 'comment', 'survey', 'team'])
        with ordinality k (kind, place)
      where k.kind <> 'team' or private.is_member(o.id, mail_preferences.profile_id)),
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

-- Changes {choices: {kind: choice}, stop: kind of mail, or digest, stopped: boolean for all mail, mute,
-- unmute: id of a submission}, and returns private.mail_preferences; null if there is no such person.
-- VALIDATION_ERROR for an unknown choice.
create function private.change_mail_preferences(organization_id uuid, profile_id uuid, changes jsonb)
  returns json
language plpgsql set search_path = pg_temp as $$
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
  -- From a link of a digest: all that comes in digests.
  insert into private.mail_choices as m (organization_id, profile_id, kind, choice)
  select change_mail_preferences.organization_id, change_mail_preferences.profile_id, k.kind, 'never'
  from unnest(array['status', 'official', 'reply', 'comment', 'team', 'survey']) k (kind)
  where case when changes ->> 'stop' = 'digest' then k.kind <> 'team' and private.mail_choice(
      change_mail_preferences.organization_id, change_mail_preferences.profile_id, k.kind)
      in ('daily', 'weekly')
    else k.kind = changes ->> 'stop' end
  on conflict on constraint mail_choices_pkey do update set choice = excluded.choice;
  delete from private.mail_mutes m where m.organization_id = change_mail_preferences.organization_id
    and m.profile_id = change_mail_preferences.profile_id
    and m.submission_id = (changes ->> 'unmute')::uuid;
  return private.mail_preferences(organization_id, profile_id);
exception when check_violation then
  perform private.raise_error('VALIDATION_ERROR', 'must be a choice that this kind of mail has', 'choices');
  return null;
end
$$;

-- The caller's mail preferences in the current organization.
-- definer: private tables.
create function private.my_mail_preferences() returns json
language plpgsql stable security definer set search_path = pg_temp as $$
begin
  return private.mail_preferences(private.current_organization_id(), private.caller_id());
end
$$;

-- Raises FORBIDDEN for an identified person: a host may name any address, and would resume mail that its
-- owner stopped.
create function private.require_own_mailbox() returns void
language plpgsql stable set search_path = pg_temp as $$
begin
  if (select p.kind from public.profiles p where p.id = private.caller_id()) = 'email' then
    perform private.raise_error('FORBIDDEN',
      'Only a link in a mail resumes mail: the application that signed you in does not prove the address.');
  end if;
end
$$;

-- Changes the caller's mail preferences in the current organization. An identified person may only stop
-- mail.
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

-- The mail preferences of the person whom a link in a mail names.
-- definer: private tables. The edge functions call it for the bearer of a signed link, whoever is signed in.
create function private.mail_preferences_by_link(organization_id uuid, profile_id uuid) returns json
language plpgsql stable security definer set search_path = pg_temp as $$
begin
  return private.mail_preferences(organization_id, profile_id);
end
$$;

-- Changes the mail preferences of the person whom a link in a mail names.
-- definer: private tables. The edge functions call it for the bearer of a signed link.
create function private.change_mail_preferences_by_link(organization_id uuid, profile_id uuid, changes jsonb)
  returns json
language plpgsql security definer set search_path = pg_temp as $$
begin
  return private.change_mail_preferences(organization_id, profile_id, changes);
end
$$;

-- The newest 1000 people of the current organization who get no mail, and why, without their addresses;
-- with an address, who it is of.
-- definer: private tables.
create function private.admin_mail_suppressions(email text default null) returns json
language plpgsql stable security definer set search_path = pg_temp as $$
declare own_id uuid := private.require_admin(private.current_organization_id(), 'members:write');
begin
  return coalesce((select json_agg(json_build_object('profile', case when p.id is not null
      then json_build_object('id', p.id, 'name', coalesce(p.name, 'Anonymous')) end,
      'reason', s.reason, 'created_at', s.created_at) order by s.created_at desc)
    from (select * from private.mail_suppressions o where o.organization_id = own_id
        and (email is null or o.address_hash = private.address_hash(admin_mail_suppressions.email))
      order by o.created_at desc limit 1000) s left join public.profiles p on p.id = s.profile_id), '[]');
end
$$;

-- Sends mail again to a person whose address bounced, or to an address that bounced, such as that of an
-- invite; null if mail to them is not stopped. Raises CONFLICT if they refused it or complained.
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
    perform private.raise_error('CONFLICT', 'They want no mail: only they can change that.');
  end if;
  delete from private.mail_suppressions s
  where s.organization_id = own_id and s.address_hash = any (found_hashes) and s.reason = 'bounced';
  perform private.audit('mail.resume', 'profile', profile_id, '{}', own_id);
  return json_build_object('deleted', true);
end
$$;

-- JSON of the organization that invited: {name, is_stopped: whether the address gets no mail of it}; null
-- if there is no such invite.
-- definer: private tables. The edge functions call it for the bearer of a signed link of an invite's mail.
create function private.refusing_invites(invite_id uuid) returns json
language plpgsql stable security definer set search_path = pg_temp as $$
begin
  return (select json_build_object('name', o.name, 'is_stopped', private.is_suppressed(o.id, i.email))
    from private.invites i join public.organizations o on o.id = i.organization_id
    where i.id = refusing_invites.invite_id);
end
$$;

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
grant execute on function private.refusing_invites(uuid), private.refuse_invites(uuid)
  to anon, authenticated;

grant execute on function private.my_mail_preferences(), private.change_my_mail_preferences(jsonb),
  private.mute_submission(uuid, boolean) to authenticated;
grant execute on function private.mail_preferences_by_link(uuid, uuid),
  private.change_mail_preferences_by_link(uuid, uuid, jsonb) to anon, authenticated;
grant execute on function private.admin_mail_suppressions(text),
  private.admin_lift_mail_suppression(uuid, text) to authenticated, service_key;
