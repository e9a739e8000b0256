-- Counters for list totals, so that the cost of a page does not grow with the board.

create table private.submission_counts (
  organization_id uuid not null references public.organizations (id) on delete cascade,
  is_public boolean not null,
  status text not null,
  type text not null,
  category_id uuid,
  total bigint not null,
  constraint one_count_of_a_kind
    unique nulls not distinct (organization_id, is_public, status, type, category_id)
);
comment on table private.submission_counts is
  'Number of listed (not merged) submissions by status, type, category and visibility. Maintained by '
  'triggers; private.count_discrepancies compares it with the rows.';

create type private.tag_change as (submission_id uuid, tag_id uuid, change integer);
comment on type private.tag_change is 'A tag of a submission that was added (change 1) or removed (-1).';

create table private.submission_subtotals (
  organization_id uuid not null references public.organizations (id) on delete cascade,
  author_id uuid,
  tag_id uuid,
  is_public boolean not null,
  status text not null,
  type text not null,
  category_id uuid,
  total bigint not null,
  is_sum boolean not null default false,
  constraint counts_an_author_or_a_tag check (num_nonnulls(author_id, tag_id) = 1)
);
comment on table private.submission_subtotals is
  'Numbers of listed submissions of an author, or with a tag: the sum of total. Triggers insert changes and '
  'update no row, so that no writer waits for another; the schedule replaces the rows of an author or a tag '
  'by their sums (is_sum).';
create index submission_subtotals_author_idx on private.submission_subtotals (author_id, organization_id)
  where author_id is not null;
create index submission_subtotals_tag_idx on private.submission_subtotals (organization_id, tag_id);
create index submission_subtotals_new_idx on private.submission_subtotals (organization_id) where not is_sum;

-- Trigger: counts inserted and deleted submissions.
-- Counter rows are locked in key order, after the submission. definer: no client may write counters.
create function private.count_changed_submissions() returns trigger
language plpgsql security definer set search_path = pg_temp as $$
declare sign integer := case tg_op when 'INSERT' then 1 else -1 end;
begin
  insert into private.submission_counts as c (organization_id, is_public, status, type, category_id, total)
  select s.organization_id, s.is_public, s.status, s.type, s.category_id, sign * count(*)
  from changed s where s.merged_into_id is null
    and exists (select from public.organizations o where o.id = s.organization_id)
  group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5
  on conflict on constraint one_count_of_a_kind do update set total = c.total + excluded.total;
  insert into private.submission_subtotals (organization_id, author_id, is_public, status, type, category_id,
    total)
  select s.organization_id, s.author_id, s.is_public, s.status, s.type, s.category_id, sign * count(*)
  from changed s where s.merged_into_id is null
    and exists (select from public.organizations o where o.id = s.organization_id)
  group by 1, 2, 3, 4, 5, 6;
  return null;
end
$$;
create trigger count_created after insert on public.submissions
  referencing new table as changed for each statement execute function private.count_changed_submissions();
create trigger count_deleted after delete on public.submissions
  referencing old table as changed for each statement execute function private.count_changed_submissions();

-- Trigger: moves a changed submission from one counter to another. A row trigger, because only row triggers
-- can name columns, which keeps it off vote updates. definer: no client may write counters.
create function private.count_moved_submission() returns trigger
language plpgsql security definer set search_path = pg_temp as $$
begin
  if private.is_internal_write() then return null; end if;
  insert into private.submission_counts as c (organization_id, is_public, status, type, category_id, total)
  select m.organization_id, m.is_public, m.status, m.type, m.category_id, sum(m.change)
  from (values
    (old.organization_id, old.is_public, old.status, old.type, old.category_id, case
      when old.merged_into_id is null then -1 else 0 end),
    (new.organization_id, new.is_public, new.status, new.type, new.category_id, case
      when new.merged_into_id is null then 1 else 0 end)
  ) m (organization_id, is_public, status, type, category_id, change)
  group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5
  on conflict on constraint one_count_of_a_kind do update set total = c.total + excluded.total;
  insert into private.submission_subtotals (organization_id, author_id, tag_id, is_public, status, type,
    category_id, total)
  select new.organization_id, l.author_id, l.tag_id, m.is_public, m.status, m.type, m.category_id, m.change
  from (values (old.is_public, old.status, old.type, old.category_id, old.merged_into_id, -1),
      (new.is_public, new.status, new.type, new.category_id, new.merged_into_id, 1))
      m (is_public, status, type, category_id, merged_into_id, change)
    cross join (select new.author_id, null::uuid as tag_id union all
      select null, t.tag_id from public.submission_tags t where t.submission_id = new.id) l
  where m.merged_into_id is null;
  return null;
end
$$;
create trigger count_moved after update of is_public, moderation_state, status, type, category_id,
  merged_into_id on public.submissions
  for each row when ((old.is_public, old.status, old.type, old.category_id, old.merged_into_id)
    is distinct from (new.is_public, new.status, new.type, new.category_id, new.merged_into_id))
  execute function private.count_moved_submission();

-- Trigger: counts the tags of a submission before they are deleted with it.
-- definer: no client may write counters.
create function private.count_tags_of_deleted() returns trigger
language plpgsql security definer set search_path = pg_temp as $$
begin
  insert into private.submission_subtotals (organization_id, tag_id, is_public, status, type, category_id,
    total)
  select old.organization_id, t.tag_id, old.is_public, old.status, old.type, old.category_id, -1
  from public.submission_tags t where t.submission_id = old.id
    and exists (select from public.organizations o where o.id = old.organization_id);
  return old;
end
$$;
create trigger uncount_tags before delete on public.submissions
  for each row when (old.merged_into_id is null) execute function private.count_tags_of_deleted();

-- Trigger: counts added, removed and moved tags. The locks keep the submissions from changing their kind
-- until the tags can be seen. definer: no client may write counters.
create function private.count_changed_tags() returns trigger
language plpgsql security definer set search_path = pg_temp as $$
declare changes private.tag_change[];
begin
  if tg_op = 'INSERT' then
    changes := array(select row(a.submission_id, a.tag_id, 1)::private.tag_change from added a);
  elsif tg_op = 'DELETE' then
    changes := array(select row(r.submission_id, r.tag_id, -1)::private.tag_change from removed r);
  else
    changes := array(select row(c.submission_id, c.tag_id, sum(c.change))::private.tag_change
      from (select a.submission_id, a.tag_id, 1 as change from added a
        union all select r.submission_id, r.tag_id, -1 from removed r) c
      group by c.submission_id, c.tag_id having sum(c.change) <> 0);
  end if;
  perform 1 from public.submissions s where s.id in (select c.submission_id from unnest(changes) c)
    order by s.id for no key update;
  insert into private.submission_subtotals (organization_id, tag_id, is_public, status, type, category_id,
    total)
  select s.organization_id, c.tag_id, s.is_public, s.status, s.type, s.category_id, sum(c.change)
  from unnest(changes) c join public.submissions s on s.id = c.submission_id
  where s.merged_into_id is null
    and exists (select from public.organizations o where o.id = s.organization_id)
  group by 1, 2, 3, 4, 5, 6;
  return null;
end
$$;
create trigger count_added after insert on public.submission_tags
  referencing new table as added for each statement execute function private.count_changed_tags();
create trigger count_removed after delete on public.submission_tags
  referencing old table as removed for each statement execute function private.count_changed_tags();
create trigger count_changed after update on public.submission_tags
  referencing old table as removed new table as added
  for each statement execute function private.count_changed_tags();

-- Replaces the subtotals of an organization's authors and tags that have changed by their sums; returns how
-- many rows. The lock keeps erasures and claims from giving the replaced rows to another person.
create function private.sum_subtotals() returns integer
language plpgsql set search_path = pg_temp as $$
declare own_id uuid; authors uuid[]; tags uuid[]; summed integer;
begin
  select o.id into own_id from public.organizations o
  where exists (select from private.submission_subtotals n where n.organization_id = o.id and not n.is_sum)
  order by random() limit 1 for no key update skip locked;
  select array_agg(distinct n.author_id), array_agg(distinct n.tag_id) into authors, tags
  from (select n.author_id, n.tag_id from private.submission_subtotals n
    where n.organization_id = own_id and not n.is_sum limit 5000) n;
  with replaced as (
    delete from private.submission_subtotals n
    where n.organization_id = own_id and (n.author_id = any (authors) or n.tag_id = any (tags))
    returning n.*
  )
  insert into private.submission_subtotals
  select r.organization_id, r.author_id, r.tag_id, r.is_public, r.status, r.type, r.category_id,
    sum(r.total), true
  from replaced r group by 1, 2, 3, 4, 5, 6, 7 having sum(r.total) <> 0;
  get diagnostics summed = row_count;
  return summed;
end
$$;

-- The true rows of private.submission_subtotals of an organization, or (null) of all.
create function private.compute_subtotals(organization_id uuid)
  returns setof private.submission_subtotals
language sql stable set search_path = pg_temp as $$
  select s.organization_id, l.author_id, l.tag_id, s.is_public, s.status, s.type, s.category_id, count(*), true
  from public.submissions s cross join lateral (select s.author_id, null::uuid as tag_id union all
    select null, t.tag_id from public.submission_tags t where t.submission_id = s.id) l
  where s.merged_into_id is null
    and (compute_subtotals.organization_id is null or s.organization_id = compute_subtotals.organization_id)
  group by 1, 2, 3, 4, 5, 6, 7
$$;

-- Recounts the submissions of an organization. The caller holds their locks.
create function private.recount_submissions(organization_id uuid) returns void
language plpgsql set search_path = pg_temp as $$
begin
  delete from private.submission_counts c where c.organization_id = recount_submissions.organization_id;
  insert into private.submission_counts (organization_id, is_public, status, type, category_id, total)
  select s.organization_id, s.is_public, s.status, s.type, s.category_id, count(*)
  from public.submissions s where s.organization_id = recount_submissions.organization_id
    and s.merged_into_id is null
  group by 1, 2, 3, 4, 5;
  delete from private.submission_subtotals n where n.organization_id = recount_submissions.organization_id;
  insert into private.submission_subtotals
  select n.* from private.compute_subtotals(recount_submissions.organization_id) n;
end
$$;
