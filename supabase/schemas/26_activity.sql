-- Activity of people by day, aggregated incrementally. Analytics reads these tables and never the source
-- rows.
--
-- Triggers append entries, so that transactions do not wait for each other. The schedule
-- (private.run_schedule) folds the entries into days every few seconds; it is the only writer of the day
-- tables. Readers add the entries that are not folded yet.
--
-- An entry belongs to a quarter of an hour, since every time zone's day starts on one. A day is a day in the
-- organization's time zone; when the zone changes, the schedule recounts.

-- Start of the quarter of an hour that contains the time.
create function private.quarter_hour(at timestamptz) returns timestamptz
language sql immutable
return date_bin('15 minutes', at, '2000-01-01 00:00:00+00');

create table private.person_activity (
  organization_id uuid not null references public.organizations (id) on delete cascade,
  slot timestamptz not null,
  -- No foreign key: reassigning a row to another person appends an entry for both.
  user_id uuid not null,
  submissions integer not null default 0,
  votes integer not null default 0,
  comments integer not null default 0
);
comment on table private.person_activity is
  'Entries not yet folded into private.person_days: submissions, votes for submissions and comments of a '
  'person, added or (negative) removed.';
create index person_activity_organization_idx on private.person_activity (organization_id);

create table private.submission_activity (
  organization_id uuid not null references public.organizations (id) on delete cascade,
  slot timestamptz not null,
  status text not null,
  category_id uuid,
  source text,
  total integer not null
);
comment on table private.submission_activity is
  'Entries not yet folded into private.submission_days: submissions of a kind, added or (negative) removed.';
create index submission_activity_organization_idx on private.submission_activity (organization_id);

create table private.activity_zones (
  organization_id uuid primary key references public.organizations (id) on delete cascade,
  time_zone text not null
);
comment on table private.activity_zones is
  'Time zone in which the days of an organization are counted: its current one, except for seconds after a '
  'change until the recount. Deleting the row deletes the days.';

-- No foreign keys from here on: checking each row would dominate the cost of a recount.
create table private.person_days (
  organization_id uuid not null,
  user_id uuid not null,
  day date not null,
  previous_day date not null,
  submissions integer not null,
  votes integer not null,
  comments integer not null,
  primary key (organization_id, user_id, day)
);
comment on table private.person_days is
  'Number of existing submissions, votes for submissions and comments of a person by creation day. '
  'previous_day: the latest earlier day with any; -infinity if none.';

-- A person who was active between two days has exactly one day in that range whose previous day is before the
-- range. Counting these days counts distinct people for any range without reading people.
create table private.day_activity (
  organization_id uuid not null,
  day date not null,
  previous_day date not null,
  people integer not null,
  submissions integer not null,
  votes integer not null,
  comments integer not null,
  primary key (organization_id, day, previous_day)
);
comment on table private.day_activity is
  'Aggregate of private.person_days: number of people for each pair of day and previous day, and their '
  'activity on the day.';

create table private.submission_days (
  organization_id uuid not null,
  span text not null,
  day date not null,
  status text not null,
  category_id uuid,
  source text,
  total integer not null,
  constraint one_row_a_span_and_kind
    unique nulls not distinct (organization_id, span, day, status, category_id, source)
);
comment on table private.submission_days is
  'Submissions by creation day or month (span), with their current status, category and source.';

-- Histogram bucket of a duration, four for each doubling. The median is found by reading the rows of one
-- bucket.
create function private.histogram_bucket(milliseconds bigint) returns integer
language sql immutable
return floor(4 * ln(milliseconds + 1) / ln(2))::integer;

create table private.first_replies (
  submission_id uuid primary key,
  organization_id uuid not null,
  submitted_at timestamptz not null,
  milliseconds bigint not null
);
comment on table private.first_replies is
  'Time from a submission to the first approved official comment by another author that still exists.';
create index first_replies_magnitude_idx on private.first_replies
  (organization_id, private.histogram_bucket(milliseconds), submitted_at)
  include (milliseconds, submission_id);

create table private.reply_days (
  organization_id uuid not null,
  day date not null,
  magnitude integer not null,
  replies integer not null,
  milliseconds bigint not null,
  primary key (organization_id, day, magnitude)
);
comment on table private.reply_days is
  'Aggregate of private.first_replies by creation day of the submission and histogram bucket.';

create table private.replies_due (
  organization_id uuid not null references public.organizations (id) on delete cascade,
  submission_id uuid not null
);
comment on table private.replies_due is 'Submissions whose first reply must be recomputed.';
create index replies_due_organization_idx on private.replies_due (organization_id, submission_id);

-- Trigger: deletes the days with their organization.
-- definer: no client may write counters.
create function private.delete_activity() returns trigger
language plpgsql security definer set search_path = pg_temp as $$
begin
  delete from private.person_days d using gone g where d.organization_id = g.organization_id;
  delete from private.day_activity d using gone g where d.organization_id = g.organization_id;
  delete from private.submission_days d using gone g where d.organization_id = g.organization_id;
  delete from private.first_replies r using gone g where r.organization_id = g.organization_id;
  delete from private.reply_days d using gone g where d.organization_id = g.organization_id;
  return null;
end
$$;
create trigger forget_days after delete on private.activity_zones
  referencing old table as gone for each statement execute function private.delete_activity();

-- Trigger: appends activity entries for added and removed submissions, by author and by kind.
-- definer: no client may write counters.
create function private.track_submissions() returns trigger
language plpgsql security definer set search_path = pg_temp as $$
declare sign integer := case tg_op when 'INSERT' then 1 else -1 end;
begin
  insert into private.submission_activity (organization_id, slot, status, category_id, source, total)
  select c.organization_id, private.quarter_hour(c.created_at), c.status, c.category_id, c.source,
    sign * count(*)
  from changed c where exists (select from public.organizations o where o.id = c.organization_id)
  group by 1, 2, 3, 4, 5;
  insert into private.person_activity (organization_id, slot, user_id, submissions)
  select c.organization_id, private.quarter_hour(c.created_at), c.author_id, sign * count(*)
  from changed c where exists (select from public.organizations o where o.id = c.organization_id)
  group by 1, 2, 3;
  return null;
end
$$;
create trigger track_added after insert on public.submissions
  referencing new table as changed for each statement execute function private.track_submissions();
create trigger track_removed after delete on public.submissions
  referencing old table as changed for each statement execute function private.track_submissions();

-- Trigger: appends activity entries for added and removed votes.
create function private.track_votes() returns trigger
language plpgsql security definer set search_path = pg_temp as $$ -- definer: no client may write counters
declare sign integer := case tg_op when 'INSERT' then 1 else -1 end;
begin
  insert into private.person_activity (organization_id, slot, user_id, votes)
  select c.organization_id, private.quarter_hour(c.created_at), c.user_id, sign * count(*)
  from changed c where exists (select from public.organizations o where o.id = c.organization_id)
  group by 1, 2, 3;
  return null;
end
$$;
create trigger track_added after insert on public.votes
  referencing new table as changed for each statement execute function private.track_votes();
create trigger track_removed after delete on public.votes
  referencing old table as changed for each statement execute function private.track_votes();

-- Trigger: appends activity entries for added and removed comments; an official comment may change the
-- first reply.
create function private.track_comments() returns trigger
language plpgsql security definer set search_path = pg_temp as $$ -- definer: no client may write counters
declare sign integer := case tg_op when 'INSERT' then 1 else -1 end;
begin
  insert into private.person_activity (organization_id, slot, user_id, comments)
  select c.organization_id, private.quarter_hour(c.created_at), c.author_id, sign * count(*)
  from changed c where exists (select from public.organizations o where o.id = c.organization_id)
  group by 1, 2, 3;
  insert into private.replies_due (organization_id, submission_id)
  select distinct c.organization_id, c.submission_id
  from changed c where c.is_official
    and exists (select from public.organizations o where o.id = c.organization_id);
  return null;
end
$$;
create trigger track_added after insert on public.comments
  referencing new table as changed for each statement execute function private.track_comments();
create trigger track_removed after delete on public.comments
  referencing old table as changed for each statement execute function private.track_comments();

-- Trigger: moves a submission whose kind changes from one counter to another.
-- Row triggers, because only row triggers can name columns, which keeps them off vote updates.
create function private.track_moved_submission() returns trigger
language plpgsql security definer set search_path = pg_temp as $$ -- definer: no client may write counters
begin
  insert into private.submission_activity (organization_id, slot, status, category_id, source, total) values
    (old.organization_id, private.quarter_hour(old.created_at), old.status, old.category_id, old.source, -1),
    (new.organization_id, private.quarter_hour(new.created_at), new.status, new.category_id, new.source, 1);
  return null;
end
$$;
create trigger track_moved after update of status, category_id, source, created_at on public.submissions
  for each row when ((old.status, old.category_id, old.source, old.created_at) is distinct
    from (new.status, new.category_id, new.source, new.created_at))
  execute function private.track_moved_submission();

-- Trigger: moves activity when a row changes its author (erasure) or its time.
create function private.track_reassigned() returns trigger
language plpgsql security definer set search_path = pg_temp as $$ -- definer: no client may write counters
declare column_name text := case tg_table_name when 'votes' then 'user_id' else 'author_id' end;
begin
  insert into private.person_activity (organization_id, slot, user_id, submissions, votes, comments)
  select new.organization_id, private.quarter_hour(m.created_at), m.user_id::uuid,
    case tg_table_name when 'submissions' then m.change else 0 end,
    case tg_table_name when 'votes' then m.change else 0 end,
    case tg_table_name when 'comments' then m.change else 0 end
  from (values (to_jsonb(old) ->> column_name, old.created_at, -1),
    (to_jsonb(new) ->> column_name, new.created_at, 1)) m (user_id, created_at, change);
  return null;
end
$$;
create trigger track_corrected after update of author_id, created_at on public.submissions
  for each row when ((old.author_id, old.created_at) <> (new.author_id, new.created_at))
    execute function private.track_reassigned();
create trigger track_corrected after update of user_id, created_at on public.votes
  for each row when ((old.user_id, old.created_at) <> (new.user_id, new.created_at))
    execute function private.track_reassigned();
create trigger track_corrected after update of author_id, created_at on public.comments
  for each row when ((old.author_id, old.created_at) <> (new.author_id, new.created_at))
    execute function private.track_reassigned();

-- Trigger: marks submissions whose first reply may have changed.
create function private.track_replies() returns trigger
language plpgsql security definer set search_path = pg_temp as $$ -- definer: no client may write counters
declare key text := case tg_table_name when 'submissions' then 'id' else 'submission_id' end;
begin
  insert into private.replies_due (organization_id, submission_id)
  select new.organization_id, (to_jsonb(old) ->> key)::uuid
    union select new.organization_id, (to_jsonb(new) ->> key)::uuid;
  return null;
end
$$;
create trigger track_replies after update of author_id, created_at on public.submissions
  for each row when ((old.author_id, old.created_at) <> (new.author_id, new.created_at))
    execute function private.track_replies();
create trigger track_replies after update of submission_id, author_id, is_official, moderation_state,
  created_at on public.comments
  for each row when ((old.is_official or new.is_official)
    and (old.submission_id, old.author_id, old.is_official, old.moderation_state, old.created_at)
      <> (new.submission_id, new.author_id, new.is_official, new.moderation_state, new.created_at))
  execute function private.track_replies();

-- Aggregation into days -------------------------------------------------------------------------------------

-- The time zone in which the days of an organization are counted.
create function private.activity_zone(organization_id uuid) returns text
language plpgsql stable set search_path = pg_temp as $$
begin
  return coalesce((select z.time_zone from private.activity_zones z
    where z.organization_id = activity_zone.organization_id),
    (select o.time_zone from public.organizations o where o.id = activity_zone.organization_id));
end
$$;

-- Changes to private.person_days for the given entries: affected rows before (sign -1) and after (sign
-- 1).
create function private.person_day_changes(entries private.person_activity[])
returns table (sign integer, organization_id uuid, user_id uuid, day date, previous_day date,
  submissions integer, votes integer, comments integer)
language plpgsql stable set search_path = pg_temp rows 20000 as $$
#variable_conflict use_column
begin
  return query
    with changes as (
      select e.organization_id, e.user_id, (e.slot at time zone z.time_zone)::date as day,
        sum(e.submissions)::integer as submissions, sum(e.votes)::integer as votes,
          sum(e.comments)::integer as comments
      from unnest(entries) e join (
        select o.organization_id, private.activity_zone(o.organization_id) as time_zone
        from (select distinct e.organization_id from unnest(entries) e) o) z using (organization_id)
      group by 1, 2, 3
    ), before as materialized (
      -- Include the neighbours of changed days: the following day's previous_day changes too.
      select d.*, s.first_day
      from (select c.organization_id, c.user_id, min(c.day) as first_day, max(c.day) as last_day
        from changes c group by 1, 2) s
      cross join lateral (
        select * from private.person_days p
          where (p.organization_id, p.user_id) = (s.organization_id, s.user_id)
          and p.day >= coalesce((select max(n.day) from private.person_days n
            where (n.organization_id, n.user_id) = (s.organization_id, s.user_id) and n.day < s.first_day),
              s.first_day)
          and p.day <= coalesce((select min(n.day) from private.person_days n
            where (n.organization_id, n.user_id) = (s.organization_id, s.user_id) and n.day > s.last_day),
              s.last_day)) d
    )
    select -1, b.organization_id, b.user_id, b.day, b.previous_day, b.submissions, b.votes, b.comments
      from before b
    union all
    select 1, a.organization_id, a.user_id, a.day,
      coalesce(lag(a.day) over (partition by a.organization_id, a.user_id order by a.day), a.previous_day,
        '-infinity'), a.submissions, a.votes, a.comments
    from (
      select r.organization_id, r.user_id, r.day, min(r.previous_day) as previous_day,
        sum(r.submissions)::integer as submissions, sum(r.votes)::integer as votes,
          sum(r.comments)::integer as comments
      from (
        select b.organization_id, b.user_id, b.day, case when b.day < b.first_day
          then b.previous_day end as previous_day, b.submissions, b.votes, b.comments
        from before b
        union all
        select c.organization_id, c.user_id, c.day, null, c.submissions, c.votes, c.comments from changes c) r
      group by 1, 2, 3 having sum(r.submissions) <> 0 or sum(r.votes) <> 0 or sum(r.comments) <> 0) a;
end
$$;

-- Folds entries of people into their days and the aggregate; returns the number of entries.
create function private.sum_people(batch integer) returns integer
language plpgsql set search_path = pg_temp as $$
declare entries private.person_activity[];
begin
  with taken as (
    delete from private.person_activity a where a.ctid = any (array(
      select e.ctid from private.person_activity e join private.activity_zones z using (organization_id)
        limit batch
      for update of e skip locked))
    returning a
  ) select array_agg(t.a) into entries from taken t;
  if entries is null then return 0; end if;
  with days as materialized (
    select * from private.person_day_changes(entries)
  ), written as (
    insert into private.person_days as p
      (organization_id, user_id, day, previous_day, submissions, votes, comments)
    select d.organization_id, d.user_id, d.day, d.previous_day, d.submissions, d.votes, d.comments from days d
      where d.sign = 1
    except
    select d.organization_id, d.user_id, d.day, d.previous_day, d.submissions, d.votes, d.comments from days d
      where d.sign = -1
    on conflict on constraint person_days_pkey do update set
      previous_day = excluded.previous_day, submissions = excluded.submissions, votes = excluded.votes,
        comments = excluded.comments
  ), gone as (
    delete from private.person_days p using (
      select d.organization_id, d.user_id, d.day from days d group by 1, 2, 3 having max(d.sign) = -1) g
    where (p.organization_id, p.user_id, p.day) = (g.organization_id, g.user_id, g.day)
  )
  insert into private.day_activity as a
    (organization_id, day, previous_day, people, submissions, votes, comments)
  select d.organization_id, d.day, d.previous_day, sum(d.sign), sum(d.sign * d.submissions),
    sum(d.sign * d.votes), sum(d.sign * d.comments)
  from days d group by 1, 2, 3
  having sum(d.sign) <> 0 or sum(d.sign * d.submissions) <> 0 or sum(d.sign * d.votes) <> 0
    or sum(d.sign * d.comments) <> 0
  on conflict on constraint day_activity_pkey do update set people = a.people + excluded.people,
    submissions = a.submissions + excluded.submissions, votes = a.votes + excluded.votes,
      comments = a.comments + excluded.comments;
  return cardinality(entries);
end
$$;

-- Folds entries of submissions into days and months; returns the number of entries.
create function private.sum_submissions(batch integer) returns integer
language plpgsql set search_path = pg_temp as $$
declare summed integer;
begin
  with entries as (
    delete from private.submission_activity a where a.ctid = any (array(
      select e.ctid from private.submission_activity e join private.activity_zones z using (organization_id)
        limit batch
      for update of e skip locked))
    returning *
  ), summing as (
    insert into private.submission_days as d (organization_id, span, day, status, category_id, source, total)
    select e.organization_id, span, date_trunc(span, e.slot at time zone z.time_zone)::date, e.status,
      e.category_id, e.source, sum(e.total)
    from entries e join private.activity_zones z using (organization_id)
      cross join unnest(array['day', 'month']) span
    group by 1, 2, 3, 4, 5, 6 having sum(e.total) <> 0
    on conflict on constraint one_row_a_span_and_kind do update set total = d.total + excluded.total
  ) select count(*) into summed from entries;
  return summed;
end
$$;

-- Recount from the source rows ------------------------------------------------------------------------------

-- Expected content of private.person_days when no entries are left.
create function private.compute_person_days(own_id uuid)
returns table (organization_id uuid, user_id uuid, day date, previous_day date, submissions bigint,
  votes bigint, comments bigint)
language plpgsql stable set search_path = pg_temp as $$
#variable_conflict use_column
declare zone text := private.activity_zone(own_id);
begin
  return query
    select own_id, d.user_id, d.day,
      coalesce(lag(d.day) over (partition by d.user_id order by d.day), '-infinity'), d.submissions, d.votes,
      d.comments
    from (
      select m.user_id, (m.created_at at time zone zone)::date as day,
        count(*) filter (where m.kind = 's') as submissions,
        count(*) filter (where m.kind = 'v') as votes, count(*) filter (where m.kind = 'c') as comments
      from (
        select 's' as kind, s.author_id as user_id, s.created_at from public.submissions s
          where s.organization_id = own_id
        union all
        select 'v', v.user_id, v.created_at from public.votes v where v.organization_id = own_id
        union all
        select 'c', c.author_id, c.created_at from public.comments c where c.organization_id = own_id) m
      group by 1, 2) d;
end
$$;

-- Expected content of private.submission_days when no entries are left.
create function private.compute_submission_days(own_id uuid)
returns table (organization_id uuid, span text, day date, status text, category_id uuid, source text,
  total bigint)
language plpgsql stable set search_path = pg_temp as $$
#variable_conflict use_column
declare zone text := private.activity_zone(own_id);
begin
  return query
    select own_id, span, date_trunc(span, s.created_at at time zone zone)::date, s.status, s.category_id,
      s.source, count(*)
    from public.submissions s cross join unnest(array['day', 'month']) span where s.organization_id = own_id
      group by 2, 3, 4, 5, 6;
end
$$;

-- Expected content of private.first_replies for the given submissions.
create function private.compute_first_replies(submission_ids uuid[])
returns table (submission_id uuid, organization_id uuid, submitted_at timestamptz, milliseconds bigint)
language plpgsql stable set search_path = pg_temp as $$
begin
  return query
    select s.id, s.organization_id, s.created_at,
      (extract(epoch from f.first_at - s.created_at) * 1000)::bigint
    from public.submissions s cross join lateral (
      select min(c.created_at) as first_at from public.comments c
      where c.submission_id = s.id and c.is_official and c.moderation_state = 'approved'
        and c.author_id <> s.author_id and c.created_at >= s.created_at) f
    where s.id = any (submission_ids) and f.first_at is not null;
end
$$;

-- Recounts the days of an organization in its current time zone.
create function private.recount_days(organization_id uuid) returns void
language plpgsql set search_path = pg_temp as $$
#variable_conflict use_column
declare own_id uuid := recount_days.organization_id;
begin
  insert into private.activity_zones (organization_id, time_zone)
  select o.id, o.time_zone from public.organizations o where o.id = own_id
  on conflict (organization_id) do update set time_zone = excluded.time_zone;
  delete from private.person_days d where d.organization_id = own_id;
  delete from private.day_activity d where d.organization_id = own_id;
  delete from private.submission_days d where d.organization_id = own_id;
  delete from private.reply_days d where d.organization_id = own_id;
  -- Delete the entries in the statement that recounts: both use one snapshot.
  with entries as (
    delete from private.person_activity a where a.organization_id = own_id
  )
  insert into private.person_days (organization_id, user_id, day, previous_day, submissions, votes, comments)
  select * from private.compute_person_days(own_id);
  insert into private.day_activity (organization_id, day, previous_day, people, submissions, votes, comments)
  select own_id, d.day, d.previous_day, count(*), sum(d.submissions), sum(d.votes), sum(d.comments)
  from private.person_days d where d.organization_id = own_id group by 2, 3;
  with entries as (
    delete from private.submission_activity a where a.organization_id = own_id
  )
  insert into private.submission_days (organization_id, span, day, status, category_id, source, total)
  select * from private.compute_submission_days(own_id);
  insert into private.reply_days (organization_id, day, magnitude, replies, milliseconds)
  select own_id, (r.submitted_at at time zone private.activity_zone(own_id))::date,
    private.histogram_bucket(r.milliseconds), count(*), sum(r.milliseconds)
  from private.first_replies r where r.organization_id = own_id group by 2, 3;
end
$$;

-- Recomputes first replies that may have changed and updates their aggregate; returns how many.
create function private.sum_replies(batch integer) returns integer
language plpgsql set search_path = pg_temp as $$
declare summed integer;
begin
  with entries as (
    delete from private.replies_due d where d.ctid = any (array(
      select e.ctid from private.replies_due e join private.activity_zones z using (organization_id)
        limit batch
      for update of e skip locked))
    returning *
  ), due as (
    select distinct e.submission_id from entries e
  ), before as (
    select r.* from private.first_replies r join due using (submission_id)
  ), after as materialized (
    select * from private.compute_first_replies(array(select d.submission_id from due d))
  ), written as (
    insert into private.first_replies (submission_id, organization_id, submitted_at, milliseconds) select *
      from after
    on conflict (submission_id) do update set submitted_at = excluded.submitted_at,
      milliseconds = excluded.milliseconds
  ), gone as (
    delete from private.first_replies r using before b
    where r.submission_id = b.submission_id
      and not exists (select from after a where a.submission_id = b.submission_id)
  ), added as (
    insert into private.reply_days as d (organization_id, day, magnitude, replies, milliseconds)
    select r.organization_id, (r.submitted_at at time zone z.time_zone)::date,
      private.histogram_bucket(r.milliseconds), sum(r.sign), sum(r.sign * r.milliseconds)
    from (select *, 1 as sign from after union all select *, -1 from before) r
      join private.activity_zones z using (organization_id)
    group by 1, 2, 3 having sum(r.sign) <> 0 or sum(r.sign * r.milliseconds) <> 0
    on conflict on constraint reply_days_pkey do update set replies = d.replies + excluded.replies,
      milliseconds = d.milliseconds + excluded.milliseconds
  ) select count(*) into summed from entries;
  return summed;
end
$$;

-- Folds entries into days and returns how many. Reduces the rows that analytics reads; results do not
-- change.
create function private.sum_activity(batch integer default 20000) returns integer
language plpgsql set search_path = pg_temp as $$
begin
  -- One at a time: only the schedule writes the day tables.
  if not pg_try_advisory_xact_lock(hashtextextended('private.sum_activity', 0)) then return 0; end if;
  -- If the organization is being deleted, its rows are deleted with it.
  perform from private.activity_zones z order by z.organization_id for key share;
  perform private.recount_days(z.organization_id)
  from private.activity_zones z join public.organizations o on o.id = z.organization_id
    where o.time_zone <> z.time_zone;
  insert into private.activity_zones (organization_id, time_zone)
  select o.id, o.time_zone from public.organizations o
  where exists (select from private.person_activity a where a.organization_id = o.id)
    or exists (select from private.submission_activity a where a.organization_id = o.id)
    or exists (select from private.replies_due d where d.organization_id = o.id)
  on conflict do nothing;
  return private.sum_people(batch) + private.sum_submissions(batch) + private.sum_replies(batch);
end
$$;

-- Indexes for top movers and reply times.
create index votes_newest_idx on public.votes (organization_id, created_at, submission_id);
create index comments_official_idx on public.comments (submission_id, created_at) where is_official;
