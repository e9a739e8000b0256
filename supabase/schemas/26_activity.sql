-- What people did and when, added up as it happens: analytics reads these and never the rows themselves.
--
-- A slot is a quarter of an hour, in which all time zones' days begin: a day of any of them is a sum of slots, and an
-- organization may change its time zone without anything being counted again.

create function private.slot(at timestamptz) returns timestamptz
language sql immutable
return date_bin('15 minutes', at, '2000-01-01 00:00:00+00');
comment on function private.slot(timestamptz) is 'The quarter of an hour a time is in.';

-- Rows are entries: they add up, and nobody waits for another's. Once in a while they are summed into one a key, by whom
-- alone sums are written, so that no lock is held that another change could want.

create table private.person_activity (
  organization_id uuid not null references public.organizations (id) on delete cascade,
  slot timestamptz not null,
  -- No foreign key: what is given to another person is an entry of each.
  user_id uuid not null,
  submissions integer not null default 0,
  votes integer not null default 0,
  comments integer not null default 0,
  is_sum boolean not null default false
);
comment on table private.person_activity is 'How many submissions, votes for submissions and comments of a person were made in a slot and are still there: the sum of its rows. Triggers add to it; private.count_mistakes compares it with the truth.';
create index person_activity_slot_idx on private.person_activity (organization_id, slot);
create unique index one_sum_a_slot_and_person on private.person_activity (organization_id, slot, user_id) where is_sum;
create index person_activity_entries_idx on private.person_activity (organization_id) where not is_sum;

create table private.submission_activity (
  organization_id uuid not null references public.organizations (id) on delete cascade,
  slot timestamptz not null,
  status text not null,
  category_id uuid,
  source text,
  total integer not null,
  is_sum boolean not null default false
);
comment on table private.submission_activity is 'How many submissions made in a slot have a status, category and source now: the sum of its rows. Triggers add to it; private.count_mistakes compares it with the truth.';
create index submission_activity_slot_idx on private.submission_activity (organization_id, slot);
create unique index one_sum_a_slot_and_kind on private.submission_activity (organization_id, slot, status, category_id, source)
  nulls not distinct where is_sum;
create index submission_activity_entries_idx on private.submission_activity (organization_id) where not is_sum;

alter table private.person_activity enable row level security;
alter table private.submission_activity enable row level security;
revoke all on private.person_activity, private.submission_activity from public, anon, authenticated, service_role, service_key;

-- definer: counts are nobody's to write.
create function private.track_submissions() returns trigger
language plpgsql security definer set search_path = '' as $$
declare sign integer := case tg_op when 'INSERT' then 1 else -1 end;
begin
  insert into private.submission_activity (organization_id, slot, status, category_id, source, total)
  select c.organization_id, private.slot(c.created_at), c.status, c.category_id, c.source, sign * count(*)
  from changed c where exists (select from public.organizations o where o.id = c.organization_id)
  group by 1, 2, 3, 4, 5;
  insert into private.person_activity (organization_id, slot, user_id, submissions)
  select c.organization_id, private.slot(c.created_at), c.author_id, sign * count(*)
  from changed c where exists (select from public.organizations o where o.id = c.organization_id)
  group by 1, 2, 3;
  return null;
end
$$;
comment on function private.track_submissions() is 'Trigger: submissions come and go in the activity of their author, and in that of their kind.';
create trigger track_added after insert on public.submissions
  referencing new table as changed for each statement execute function private.track_submissions();
create trigger track_removed after delete on public.submissions
  referencing old table as changed for each statement execute function private.track_submissions();

create function private.track_votes() returns trigger
language plpgsql security definer set search_path = '' as $$ -- definer: as above
declare sign integer := case tg_op when 'INSERT' then 1 else -1 end;
begin
  insert into private.person_activity (organization_id, slot, user_id, votes)
  select c.organization_id, private.slot(c.created_at), c.user_id, sign * count(*)
  from changed c where exists (select from public.organizations o where o.id = c.organization_id)
  group by 1, 2, 3;
  return null;
end
$$;
comment on function private.track_votes() is 'Trigger: votes come and go in the activity of who cast them.';
create trigger track_added after insert on public.votes
  referencing new table as changed for each statement execute function private.track_votes();
create trigger track_removed after delete on public.votes
  referencing old table as changed for each statement execute function private.track_votes();

create function private.track_comments() returns trigger
language plpgsql security definer set search_path = '' as $$ -- definer: as above
declare sign integer := case tg_op when 'INSERT' then 1 else -1 end;
begin
  insert into private.person_activity (organization_id, slot, user_id, comments)
  select c.organization_id, private.slot(c.created_at), c.author_id, sign * count(*)
  from changed c where exists (select from public.organizations o where o.id = c.organization_id)
  group by 1, 2, 3;
  return null;
end
$$;
comment on function private.track_comments() is 'Trigger: comments come and go in the activity of their author.';
create trigger track_added after insert on public.comments
  referencing new table as changed for each statement execute function private.track_comments();
create trigger track_removed after delete on public.comments
  referencing old table as changed for each statement execute function private.track_comments();

-- Row triggers, because only one of a row can be kept off the path of votes: it names its columns.
create function private.track_moved_submission() returns trigger
language plpgsql security definer set search_path = '' as $$ -- definer: as above
begin
  insert into private.submission_activity (organization_id, slot, status, category_id, source, total) values
    (old.organization_id, private.slot(old.created_at), old.status, old.category_id, old.source, -1),
    (new.organization_id, private.slot(new.created_at), new.status, new.category_id, new.source, 1);
  return null;
end
$$;
comment on function private.track_moved_submission() is 'Trigger: a submission that changes its kind moves from one count to another.';
create trigger track_moved after update of status, category_id, source, created_at on public.submissions
  for each row when ((old.status, old.category_id, old.source, old.created_at) is distinct from (new.status, new.category_id, new.source, new.created_at))
  execute function private.track_moved_submission();

create function private.track_corrected() returns trigger
language plpgsql security definer set search_path = '' as $$ -- definer: as above
declare column_name text := case tg_table_name when 'votes' then 'user_id' else 'author_id' end;
begin
  insert into private.person_activity (organization_id, slot, user_id, submissions, votes, comments)
  select new.organization_id, private.slot(m.created_at), m.user_id::uuid,
    case tg_table_name when 'submissions' then m.change else 0 end,
    case tg_table_name when 'votes' then m.change else 0 end,
    case tg_table_name when 'comments' then m.change else 0 end
  from (values (to_jsonb(old) ->> column_name, old.created_at, -1), (to_jsonb(new) ->> column_name, new.created_at, 1)) m (user_id, created_at, change);
  return null;
end
$$;
comment on function private.track_corrected() is 'Trigger: what is given to another person, as by erasure, or another time takes its activity along.';
create trigger track_corrected after update of author_id, created_at on public.submissions
  for each row when ((old.author_id, old.created_at) <> (new.author_id, new.created_at)) execute function private.track_corrected();
create trigger track_corrected after update of user_id, created_at on public.votes
  for each row when ((old.user_id, old.created_at) <> (new.user_id, new.created_at)) execute function private.track_corrected();
create trigger track_corrected after update of author_id, created_at on public.comments
  for each row when ((old.author_id, old.created_at) <> (new.author_id, new.created_at)) execute function private.track_corrected();

create function private.sum_activity(batch integer default 20000) returns integer
language plpgsql set search_path = '' as $$
declare summed integer; more integer;
begin
  -- One at a time: sums are nobody else's to lock.
  if not pg_try_advisory_xact_lock(hashtextextended('private.sum_activity', 0)) then return 0; end if;
  with entries as (
    delete from private.person_activity a where a.ctid in (select e.ctid from private.person_activity e where not e.is_sum limit batch) returning *
  ), summing as (
    insert into private.person_activity as a (organization_id, slot, user_id, submissions, votes, comments, is_sum)
    select e.organization_id, e.slot, e.user_id, sum(e.submissions), sum(e.votes), sum(e.comments), true from entries e group by 1, 2, 3
    on conflict (organization_id, slot, user_id) where is_sum do update set
      submissions = a.submissions + excluded.submissions, votes = a.votes + excluded.votes, comments = a.comments + excluded.comments
  ) select count(*) into summed from entries;
  with entries as (
    delete from private.submission_activity a where a.ctid in (select e.ctid from private.submission_activity e where not e.is_sum limit batch) returning *
  ), summing as (
    insert into private.submission_activity as a (organization_id, slot, status, category_id, source, total, is_sum)
    select e.organization_id, e.slot, e.status, e.category_id, e.source, sum(e.total), true from entries e group by 1, 2, 3, 4, 5
    on conflict (organization_id, slot, status, category_id, source) where is_sum do update set total = a.total + excluded.total
  ) select count(*) into more from entries;
  return summed + more;
end
$$;
comment on function private.sum_activity(integer) is 'Puts entries of activity into sums, which changes nothing but how many rows there are; how many it took.';

-- What moved most, and what the team answered, within a time.
create index votes_newest_idx on public.votes (organization_id, created_at, submission_id);
create index comments_official_idx on public.comments (organization_id, created_at) where is_official;
