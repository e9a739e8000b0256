-- Analytics of a board for Admin.

-- A date as it is, or the local date of a time in a time zone.
create function private.local_date(value text, time_zone text) returns date
language plpgsql stable set search_path = pg_temp as $$
begin
  return case when value ~ '^\d{4}-\d\d-\d\d$' then value::date
    else (value::timestamptz at time zone time_zone)::date end;
end
$$;

-- Start of a day in a time zone.
create function private.day_start(day date, time_zone text) returns timestamptz
language sql stable
-- Where clocks go back at midnight, midnight occurs twice; a day that a zone skipped starts where it would
-- have started.
return (select coalesce(min(t), day::timestamp at time zone time_zone)
  from (values (day::timestamp at time zone time_zone),
  (day::timestamp at time zone time_zone - interval '1 hour')) s (t)
  where (t at time zone time_zone)::date = day);

-- Activity from one day to another by day, week or month. people: distinct people in the interval;
-- new_people: those active in no earlier interval. The first interval may be partial and starts on the
-- first day.
create function private.activity_by_interval(organization_id uuid, first_day date, last_day date, step text)
returns table (start date, submissions bigint, votes bigint, comments bigint, people bigint,
  new_people bigint)
language plpgsql stable set search_path = pg_temp as $$
#variable_conflict use_column
declare own_id uuid := activity_by_interval.organization_id;
begin
  return query
    with days as (
      select d.day, d.previous_day, d.people, d.submissions, d.votes, d.comments
      from private.day_activity d where d.organization_id = own_id and d.day between first_day and last_day
      union all
      select c.day, c.previous_day, c.sign, c.sign * c.submissions, c.sign * c.votes, c.sign * c.comments
      from private.person_day_changes(array(select a from private.person_activity a
        where a.organization_id = own_id)) c where c.day between first_day and last_day
    ), starts as (
      select d.*, greatest(date_trunc(step, d.day::timestamp)::date, first_day) as start from days d
    )
    select s.start, sum(s.submissions), sum(s.votes), sum(s.comments),
      coalesce(sum(s.people) filter (where s.previous_day < s.start), 0),
        coalesce(sum(s.people) filter (where s.previous_day < first_day), 0)
    from starts s group by 1;
end
$$;

-- Submissions by kind and day or month (span) within the range; to be summed.
create function private.submissions_of(organization_id uuid, span text, first_day date, last_day date)
returns table (day date, status text, category_id uuid, source text, total integer)
language sql stable
begin atomic
  select d.day, d.status, d.category_id, d.source, d.total from private.submission_days d
  where d.organization_id = submissions_of.organization_id and d.span = submissions_of.span
    and d.day between first_day and last_day
  union all
  select e.day, e.status, e.category_id, e.source, e.total
  from (select a.*, date_trunc(submissions_of.span,
    a.slot at time zone private.activity_zone(a.organization_id))::date as day
    from private.submission_activity a) e
  where e.organization_id = submissions_of.organization_id and e.day between first_day and last_day;
end;

-- Submissions created from one day to another, by current status, type, category and source.
create function private.submission_kinds(organization_id uuid, first_day date, last_day date)
returns table (status text, category_id uuid, source text, total bigint)
language plpgsql stable set search_path = pg_temp as $$
#variable_conflict use_column
declare
  own_id uuid := submission_kinds.organization_id;
  -- Complete months from the month rows, the remainder from the day rows.
  months_end date := date_trunc('month', last_day + 1);
  months_start date := least(date_trunc('month', first_day - 1) + interval '1 month', months_end);
begin
  if months_start < first_day then months_start := first_day; months_end := first_day; end if;
  return query
    select s.status, s.category_id, s.source, sum(s.total) from (
      select * from private.submissions_of(own_id, 'day', first_day, months_start - 1)
      union all
      select * from private.submissions_of(own_id, 'month', months_start, months_end - 1)
      union all
      select * from private.submissions_of(own_id, 'day', months_end, last_day)) s
    group by 1, 2, 3 having sum(s.total) > 0;
end
$$;

-- The ten submissions that gained the most votes in a range; total is the number of votes in the range.
create function private.top_movers(organization_id uuid, starts timestamptz, ends timestamptz,
  votes_within bigint, hidden_too boolean)
returns table (submission_id uuid, votes bigint)
language plpgsql stable set search_path = pg_temp as $$
#variable_conflict use_column
declare
  own_id uuid := top_movers.organization_id;
  top_voted uuid[]; candidates uuid[]; tenth bigint; to_read bigint;
begin
  -- A submission cannot gain more votes in a range than it has. Take the gain of the tenth of the most voted
  -- as a lower bound: only submissions with more votes than that can beat it.
  top_voted := array(select s.id from public.submissions s
    where s.organization_id = own_id and s.merged_into_id is null and (s.is_public or hidden_too)
      order by s.vote_count desc, s.id desc limit 100);
  tenth := coalesce((select g.votes from private.votes_gained(top_voted, starts, ends) g
    order by g.votes desc offset 9 limit 1), 0);
  select array_agg(c.id), sum(c.vote_count) into candidates, to_read
  from (select s.id, s.vote_count from public.submissions s
    where s.organization_id = own_id and s.merged_into_id is null and (s.is_public or hidden_too)
      and s.vote_count > tenth
    order by s.vote_count desc limit 10000) c;
  if coalesce(cardinality(candidates), 0) < 10000 and coalesce(to_read, 0) < votes_within then
    candidates := array(select unnest(candidates) union select unnest(top_voted));
    return query
      select g.submission_id, g.votes from private.votes_gained(candidates, starts, ends) g
        join public.submissions s on s.id = g.submission_id
      where g.votes > 0 order by g.votes desc, s.vote_count desc, s.id desc limit 10;
  else
    -- A short range has fewer votes than the candidates have.
    return query
      select s.id, g.votes from (
        select v.submission_id, count(*) as votes from public.votes v
        where v.organization_id = own_id and v.created_at >= starts and v.created_at < ends
          group by 1 having count(*) >= tenth) g
      join public.submissions s on s.id = g.submission_id
      where s.merged_into_id is null and (s.is_public or hidden_too)
      order by g.votes desc, s.vote_count desc, s.id desc limit 10;
  end if;
end
$$;

-- Votes cast in a range, for each of the submissions.
create function private.votes_gained(submission_ids uuid[], starts timestamptz, ends timestamptz)
  returns table (submission_id uuid, votes bigint)
language plpgsql stable set search_path = pg_temp as $$
begin
  return query
    select s.id, v.votes from unnest(submission_ids) as s (id) cross join lateral (
      select count(*) as votes from public.votes v where v.submission_id = s.id and v.created_at >= starts
        and v.created_at < ends) v;
end
$$;

-- Analytics of the current organization from one day to another, inclusive, in its time zone:
-- submissions, votes, comments and people by interval; submissions by current kind; top movers; time to
-- first official reply. For Admin or keys with analytics:read.
-- definer: reads activity of all people; returns titles only of submissions the caller sees. No JIT:
-- compiling would take longer than running. Custom plans: the best plan depends on the range.
create function private.admin_analytics(from_day text, to_day text, step text) returns json
language plpgsql stable security definer set search_path = pg_temp set jit = off set work_mem = '32MB'
  set plan_cache_mode = 'force_custom_plan' as $$
declare
  own_id uuid := private.current_organization_id();
  zone text := private.activity_zone(own_id);
  last_day date := coalesce(private.local_date(to_day, zone), (now() at time zone zone)::date);
  first_day date := coalesce(private.local_date(from_day, zone), last_day - 29);
  starts timestamptz := private.day_start(first_day, zone);
  ends timestamptz := private.day_start(last_day + 1, zone);
  answer json;
begin
  perform private.require_admin(own_id, 'analytics:read');
  if first_day > last_day then
    perform private.raise_error('VALIDATION_ERROR', 'must not be after the end', 'from');
  elsif first_day < '2000-01-01' or last_day >= '2100-01-01' then
    perform private.raise_error('VALIDATION_ERROR', 'must be between the years 2000 and 2099', case
      when first_day < '2000-01-01' then 'from' else 'to' end);
  elsif (last_day - first_day) / (case step when 'day' then 1 when 'week' then 7 else 28 end) >= 400 then
    perform private.raise_error('VALIDATION_ERROR',
      'must be at most 400 intervals before the end; choose a longer interval or a shorter period', 'from');
  end if;
  with done as materialized (
    select * from private.activity_by_interval(own_id, first_day, last_day, step)
  ), spans as (
    -- The first and the last interval may be partial.
    select t::date as first_of, d.*
      from generate_series(date_trunc(step, first_day::timestamp), last_day::timestamp,
      ('1 ' || step)::interval) t
      left join done d on d.start = greatest(t::date, first_day)
  ), made as materialized (
    select * from private.submission_kinds(own_id, first_day, last_day)
  )
  select json_build_object(
    'from', first_day,
    'to', last_day,
    'interval', step,
    'time_zone', zone,
    'totals', (select json_build_object(
      'submissions', coalesce(sum(d.submissions), 0),
      'votes', coalesce(sum(d.votes), 0),
      'comments', coalesce(sum(d.comments), 0),
      'active_people', coalesce(sum(d.new_people), 0)) from done d),
    'series', (select json_agg(json_build_object(
      'start', s.first_of,
      'submissions', coalesce(s.submissions, 0),
      'votes', coalesce(s.votes, 0),
      'comments', coalesce(s.comments, 0),
      'active_people', coalesce(s.people, 0)) order by s.first_of)
        from spans s),
    'by_status', (select coalesce(json_agg(json_build_object('status', m.status, 'submissions', m.total)
      order by m.total desc, m.status), '[]')
      from (select m.status, sum(m.total) as total from made m group by 1) m),
    'by_category', (select coalesce(json_agg(json_build_object(
      'category_id', m.category_id,
      'name', m.name,
      'slug', m.slug,
      'submissions', m.total)
        order by m.total desc, m.slug nulls last), '[]')
      from (select m.category_id, c.name, c.slug, sum(m.total) as total from made m
        left join public.categories c on c.id = m.category_id
        group by 1, 2, 3) m),
    'by_source', (select coalesce(json_agg(json_build_object('source', m.source, 'submissions', m.total)
      order by m.total desc, m.source nulls last), '[]')
      from (select m.source, sum(m.total) as total from made m group by 1
        order by 2 desc, 1 nulls last limit 100) m),
    'top_movers', (select coalesce(json_agg(json_build_object(
      'submission_id', s.id,
      'title', s.title,
      'status', s.status,
      'votes', m.votes,
      'vote_count', s.vote_count) order by m.votes desc, s.vote_count desc, s.id desc),
          '[]')
      from private.top_movers(own_id, starts, ends, (select coalesce(sum(d.votes), 0)::bigint from done d),
        own_id = any (private.team_organization_ids())) m
        join public.submissions s on s.id = m.submission_id),
    'first_official_reply', (select json_build_object(
      'submissions', count(*),
      'median_seconds', round(percentile_cont(0.5) within group (order by r.milliseconds)::numeric / 1000),
      'average_seconds', round(avg(r.milliseconds) / 1000))
      from private.first_replies r
      where r.organization_id = own_id and r.submitted_at >= starts and r.submitted_at < ends))
  into answer;
  return answer;
end
$$;
grant execute on function private.admin_analytics to authenticated, service_key;
