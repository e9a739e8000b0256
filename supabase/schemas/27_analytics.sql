-- What happened on a board, for its admins: by the API for a time, and as views.

create function private.day_of(value text, time_zone text) returns date
language plpgsql stable set search_path = '' as $$
begin
  return case when value ~ '^\d{4}-\d\d-\d\d$' then value::date else (value::timestamptz at time zone time_zone)::date end;
end
$$;
comment on function private.day_of(text, text) is 'A date, or the day that a time falls on in a time zone.';

-- definer: reads what everybody did; shows titles only of what the caller sees.
-- Compiling the statement would take longer than running it.
create function private.admin_analytics(from_day text, to_day text, step text) returns json
language plpgsql stable security definer set search_path = '' set jit = off set work_mem = '32MB' as $$
declare
  own_id uuid := private.current_organization_id();
  zone text := (select o.time_zone from public.organizations o where o.id = own_id);
  last_day date := coalesce(private.day_of(to_day, zone), (now() at time zone zone)::date);
  first_day date := coalesce(private.day_of(from_day, zone), last_day - 29);
  starts timestamptz := first_day::timestamp at time zone zone;
  ends timestamptz := (last_day + 1)::timestamp at time zone zone;
  on_team boolean;
  answer json;
begin
  perform private.require_admin(own_id, 'analytics:read');
  if first_day > last_day then
    perform private.raise_error('VALIDATION_ERROR', 'must not be after the end', 'from');
  elsif first_day < '2000-01-01' or last_day >= '2100-01-01' then
    perform private.raise_error('VALIDATION_ERROR', 'must be within 2000 to 2099', case when first_day < '2000-01-01' then 'from' else 'to' end);
  elsif (last_day - first_day) / (case step when 'day' then 1 when 'week' then 7 else 28 end) >= 400 then
    perform private.raise_error('VALIDATION_ERROR', 'must be at most 400 intervals before the end: choose a longer one', 'from');
  end if;
  on_team := own_id = any (private.team_organization_ids());
  with spans as (
    -- The first and the last of them may be parts.
    select t::date as start, greatest(t, first_day::timestamp) at time zone zone as from_at,
      least(t + ('1 ' || step)::interval, (last_day + 1)::timestamp) at time zone zone as to_at
    from generate_series(date_trunc(step, first_day::timestamp), last_day::timestamp, ('1 ' || step)::interval) t
  ), done as materialized (
    -- Span by span, so that no more people are looked at together than one of them has.
    select t.start, d.* from spans t cross join lateral (
      select sum(p.submissions) as submissions, sum(p.votes) as votes, sum(p.comments) as comments, count(*) as people from (
        select sum(a.submissions) as submissions, sum(a.votes) as votes, sum(a.comments) as comments
        from private.person_activity a where a.organization_id = own_id and a.slot >= t.from_at and a.slot < t.to_at
        group by a.user_id having sum(a.submissions) > 0 or sum(a.votes) > 0 or sum(a.comments) > 0) p) d
  ), made as materialized (
    select a.status, a.category_id, a.source, sum(a.total) as total from private.submission_activity a
    where a.organization_id = own_id and a.slot >= starts and a.slot < ends
    group by 1, 2, 3 having sum(a.total) > 0
  ), moved as (
    select s.id, s.title, s.status, s.vote_count, v.votes from (
      select v.submission_id, count(*) as votes from public.votes v
      where v.organization_id = own_id and v.created_at >= starts and v.created_at < ends group by 1
      -- Of more than are shown, since some may be hidden from the caller.
      order by 2 desc, 1 limit 1000
    ) v join public.submissions s on s.id = v.submission_id
    where s.merged_into_id is null and (s.is_public or on_team)
    order by v.votes desc, s.created_at desc, s.id limit 10
  ), answered as materialized (
    select extract(epoch from f.first_at - s.created_at) as seconds from (
      select c.submission_id, min(c.created_at) as first_at
      from public.comments c join public.submissions s on s.id = c.submission_id
      where c.organization_id = own_id and c.created_at >= starts and c.is_official and c.moderation_state = 'approved'
        and c.author_id <> s.author_id and s.created_at >= starts and s.created_at < ends and c.created_at >= s.created_at
      group by 1
    ) f join public.submissions s on s.id = f.submission_id
  )
  select json_build_object(
    'from', first_day, 'to', last_day, 'interval', step, 'time_zone', zone,
    'totals', (select json_build_object('submissions', coalesce(sum(d.submissions), 0), 'votes', coalesce(sum(d.votes), 0),
      'comments', coalesce(sum(d.comments), 0), 'active_people', (select count(*) from (
        select from private.person_activity a where a.organization_id = own_id and a.slot >= starts and a.slot < ends
        group by a.user_id having sum(a.submissions) > 0 or sum(a.votes) > 0 or sum(a.comments) > 0) p)) from done d),
    'series', (select json_agg(json_build_object('start', d.start, 'submissions', coalesce(d.submissions, 0), 'votes', coalesce(d.votes, 0),
      'comments', coalesce(d.comments, 0), 'active_people', d.people) order by d.start) from done d),
    'by_status', (select coalesce(json_agg(json_build_object('status', m.status, 'submissions', m.total) order by m.total desc, m.status), '[]')
      from (select m.status, sum(m.total) as total from made m group by 1) m),
    'by_category', (select coalesce(json_agg(json_build_object('category_id', m.category_id, 'name', m.name, 'slug', m.slug, 'submissions', m.total)
        order by m.total desc, m.slug nulls last), '[]')
      from (select m.category_id, c.name, c.slug, sum(m.total) as total from made m left join public.categories c on c.id = m.category_id
        group by 1, 2, 3) m),
    'by_source', (select coalesce(json_agg(json_build_object('source', m.source, 'submissions', m.total) order by m.total desc, m.source nulls last), '[]')
      from (select m.source, sum(m.total) as total from made m group by 1 order by 2 desc, 1 nulls last limit 100) m),
    'top_movers', (select coalesce(json_agg(json_build_object('submission_id', m.id, 'title', m.title, 'status', m.status,
        'votes', m.votes, 'vote_count', m.vote_count) order by m.votes desc, m.id), '[]') from moved m),
    'first_official_reply', (select json_build_object('submissions', count(*), 'median_seconds', round(percentile_cont(0.5) within group (order by a.seconds)),
      'average_seconds', round(avg(a.seconds))) from answered a))
  into answer;
  return answer;
end
$$;
comment on function private.admin_analytics(text, text, text) is 'The current organization from one day to another, both included, in its time zone: what was submitted, voted and said by day, week or month, by how many people; submissions by what they are now; what gained most votes; how long the first official reply took. Admins, or keys with analytics:read.';
grant execute on function private.admin_analytics(text, text, text) to authenticated, service_key;

-- Views --------------------------------------------------------------------------------------------------------

create function private.measured_organizations() returns table (organization_id uuid, time_zone text)
language plpgsql stable security definer set search_path = '' as $$ -- definer: settings of a private organization
begin
  return query select o.id, o.time_zone from public.organizations o
    where o.id = any (private.admin_organization_ids('analytics:read'))
      -- An operator, whom no policy binds.
      or coalesce(current_setting('role', true), 'none') not in ('anon', 'authenticated', 'service_key');
end
$$;
comment on function private.measured_organizations() is 'Organizations whose analytics the caller may see: those they administer; all for an operator.';

create function private.analytics_days() returns table (organization_id uuid, day date, submissions bigint, votes bigint, comments bigint, active_people bigint)
language plpgsql stable security definer set search_path = '' as $$ -- definer: the activity of people is granted to nobody
begin
  return query
    select d.organization_id, d.day, sum(d.submissions)::bigint, sum(d.votes)::bigint, sum(d.comments)::bigint, count(*) from (
      select a.organization_id, (a.slot at time zone o.time_zone)::date as day, a.user_id,
        sum(a.submissions) as submissions, sum(a.votes) as votes, sum(a.comments) as comments
      from private.measured_organizations() o join private.person_activity a on a.organization_id = o.organization_id
      group by 1, 2, 3 having sum(a.submissions) > 0 or sum(a.votes) > 0 or sum(a.comments) > 0) d
    group by 1, 2;
end
$$;
comment on function private.analytics_days() is 'What public.analytics_days shows.';

create function private.analytics_submissions() returns table (organization_id uuid, day date, status text, category_id uuid, source text, submissions bigint)
language plpgsql stable security definer set search_path = '' as $$ -- definer: as above
begin
  return query
    select a.organization_id, (a.slot at time zone o.time_zone)::date, a.status, a.category_id, a.source, sum(a.total)::bigint
    from private.measured_organizations() o join private.submission_activity a on a.organization_id = o.organization_id
    group by 1, 2, 3, 4, 5 having sum(a.total) > 0;
end
$$;
comment on function private.analytics_submissions() is 'What public.analytics_submissions shows.';
grant execute on function private.analytics_days(), private.analytics_submissions() to authenticated, service_role, service_key;

create view public.analytics_days with (security_invoker = true) as select * from private.analytics_days();
comment on view public.analytics_days is 'Submissions, votes and comments of each day, and how many people they are of, in the organization''s time zone; for its admins.';
create view public.analytics_submissions with (security_invoker = true) as select * from private.analytics_submissions();
comment on view public.analytics_submissions is 'Submissions made each day, by what they are now; for admins of the organization.';
revoke all on public.analytics_days, public.analytics_submissions from public, anon, authenticated, service_role, service_key;
grant select on public.analytics_days, public.analytics_submissions to authenticated, service_role, service_key;
