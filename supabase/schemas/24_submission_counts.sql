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
  return null;
end
$$;
create trigger count_moved after update of is_public, moderation_state, status, type, category_id,
  merged_into_id on public.submissions
  for each row when ((old.is_public, old.status, old.type, old.category_id, old.merged_into_id)
    is distinct from (new.is_public, new.status, new.type, new.category_id, new.merged_into_id))
  execute function private.count_moved_submission();

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
end
$$;

-- Number of listed submissions the caller can see; null matches every status, type or category.
-- definer: reads counters. Applies the rule of private.can_see_submission to sums.
create function private.count_submissions(organization_id uuid, status text, type text, category_ids uuid[])
  returns bigint
language plpgsql stable security definer set search_path = pg_temp as $$
#variable_conflict use_column
declare
  all_of_them boolean := count_submissions.organization_id = any (private.team_organization_ids());
  caller uuid := private.caller_id();
  kept_to uuid[] := private.agent_category_ids();
begin
  return coalesce((
    select sum(c.total) from private.submission_counts c
    where c.organization_id = count_submissions.organization_id and (c.is_public or all_of_them)
      and (count_submissions.status is null or c.status = count_submissions.status)
      and (count_submissions.type is null or c.type = count_submissions.type)
      and (category_ids is null or c.category_id = any (category_ids))
      and (kept_to is null or c.category_id = any (kept_to))), 0)
  + case when all_of_them or caller is null then 0 else (
    select count(*) from public.submissions s
    where s.organization_id = count_submissions.organization_id and s.author_id = caller and not s.is_public
      and s.merged_into_id is null
      and (count_submissions.status is null or s.status = count_submissions.status)
      and (count_submissions.type is null or s.type = count_submissions.type)
      and (category_ids is null or s.category_id = any (category_ids))
      and (kept_to is null or s.category_id = any (kept_to))) end;
end
$$;
grant execute on function private.count_submissions to anon, authenticated, service_key;
