-- What runs on a schedule, and the check of what must always hold.

create function private.run_schedule() returns jsonb
language plpgsql set search_path = '' as $$
declare fanouts integer; activity integer; surveys integer; counters integer; keys integer; events integer; deliveries integer; streams integer;
begin
  -- What is deleted is found once and by its place: joined, by a plan made while a table was empty, it would be looked for again row after row.
  -- What may be renewed meanwhile is locked first.
  fanouts := private.run_fanouts();
  activity := private.sum_activity();
  surveys := private.close_surveys();
  delete from private.rate_counters c where ctid = any (array(
    select o.ctid from private.rate_counters o where o.started_at < now() - case o.rule when 'agent_day' then interval '1 day' else interval '2 hours' end limit 5000 for update skip locked));
  get diagnostics counters = row_count;
  delete from private.idempotency_keys k where ctid = any (array(
    select o.ctid from private.idempotency_keys o where o.created_at < now() - interval '1 day' limit 5000));
  get diagnostics keys = row_count;
  delete from private.outbox e where ctid = any (array(
    select o.ctid from private.outbox o where o.created_at < now() - interval '30 days' limit 5000));
  get diagnostics events = row_count;
  delete from private.invites i where ctid = any (array(
    select o.ctid from private.invites o where o.expires_at < now() - interval '30 days' limit 5000));
  deliveries := private.trim_deliveries();
  delete from private.agent_streams s where ctid = any (array(
    select o.ctid from private.agent_streams o where o.expires_at < now() limit 5000 for update skip locked));
  get diagnostics streams = row_count;
  delete from private.agent_subscriptions s where ctid = any (array(
    select o.ctid from private.agent_subscriptions o where o.expires_at < now() - interval '1 day' limit 5000 for update skip locked));
  delete from private.agent_audit t where ctid = any (array(
    select o.ctid from private.agent_audit o where o.created_at < now() - interval '400 days' limit 5000));
  return jsonb_build_object('fanouts', fanouts, 'activity', activity, 'surveys', surveys, 'rate_counters', counters, 'idempotency_keys', keys, 'events', events, 'deliveries', deliveries, 'agent_streams', streams);
end
$$;
comment on function private.run_schedule() is 'Every few seconds, by pg_cron on hosted Supabase and by a timer in the embedded stack: writes waiting notifications, closes surveys whose time has passed and deletes what has expired, in bounded batches. Idempotent; says what it did.';

-- Hosted Supabase has pg_cron; the embedded stack has not.
do $$
begin
  if exists (select from pg_available_extensions where name = 'pg_cron') then
    create extension if not exists pg_cron;
    perform cron.schedule('feedback-schedule', '10 seconds', 'select private.run_schedule()');
  end if;
end
$$;

create function private.count_mistakes() returns table (subject text, id uuid, stored bigint, truth bigint)
language sql stable set search_path = ''
begin atomic
  select 'submissions.vote_count', s.id, s.vote_count, v.n
  from public.submissions s cross join lateral (select count(*) as n from public.votes v where v.submission_id = s.id) v
  where s.vote_count <> v.n
  union all
  select 'submissions.comment_count', s.id, s.comment_count, c.n
  from public.submissions s cross join lateral (
    select count(*) as n from public.comments c where c.submission_id = s.id and c.moderation_state = 'approved') c
  where s.comment_count <> c.n
  union all
  select 'comments.reply_count', p.id, p.reply_count, c.n
  from public.comments p cross join lateral (
    select count(*) as n from public.comments c where c.parent_id = p.id and c.moderation_state = 'approved') c
  where p.reply_count <> c.n
  union all
  select 'comments.vote_count', c.id, c.vote_count, v.n
  from public.comments c cross join lateral (select count(*) as n from public.comment_votes v where v.comment_id = c.id) v
  where c.vote_count <> v.n
  union all
  select 'submission_counts', coalesce(c.organization_id, t.organization_id), c.total, t.total
  from private.submission_counts c full join (
    select s.organization_id, s.is_public, s.status, s.type, s.category_id, count(*) as total
    from public.submissions s where s.merged_into_id is null group by 1, 2, 3, 4, 5) t
    on (c.organization_id, c.is_public, c.status, c.type) = (t.organization_id, t.is_public, t.status, t.type)
      and coalesce(c.category_id, c.organization_id) = coalesce(t.category_id, t.organization_id)
  where coalesce(c.total, 0) <> coalesce(t.total, 0)
  union all
  select 'submission_activity', coalesce(a.organization_id, t.organization_id), a.total, t.total
  from (select a.organization_id, a.slot, a.status, a.category_id, a.source, sum(a.total)::bigint as total
    from private.submission_activity a group by 1, 2, 3, 4, 5) a full join (
    select s.organization_id, private.slot(s.created_at) as slot, s.status, s.category_id, s.source, count(*) as total
    from public.submissions s group by 1, 2, 3, 4, 5) t
    on (a.organization_id, a.slot, a.status, coalesce(a.source, '')) = (t.organization_id, t.slot, t.status, coalesce(t.source, ''))
      and coalesce(a.category_id, a.organization_id) = coalesce(t.category_id, t.organization_id)
  where coalesce(a.total, 0) <> coalesce(t.total, 0)
  union all
  select 'person_activity.' || kind, coalesce(a.organization_id, t.organization_id), stored, truth
  from (select a.organization_id, a.slot, a.user_id, sum(a.submissions)::bigint as submissions, sum(a.votes)::bigint as votes, sum(a.comments)::bigint as comments
    from private.person_activity a group by 1, 2, 3) a full join (
    select d.organization_id, d.slot, d.user_id, sum(d.submissions) as submissions, sum(d.votes) as votes, sum(d.comments) as comments from (
      select s.organization_id, private.slot(s.created_at) as slot, s.author_id as user_id, 1 as submissions, 0 as votes, 0 as comments from public.submissions s
      union all
      select v.organization_id, private.slot(v.created_at), v.user_id, 0, 1, 0 from public.votes v
      union all
      select c.organization_id, private.slot(c.created_at), c.author_id, 0, 0, 1 from public.comments c) d
    group by 1, 2, 3) t
    on (a.organization_id, a.slot, a.user_id) = (t.organization_id, t.slot, t.user_id)
  cross join lateral (values ('submissions', coalesce(a.submissions, 0), coalesce(t.submissions, 0)), ('votes', coalesce(a.votes, 0), coalesce(t.votes, 0)),
    ('comments', coalesce(a.comments, 0), coalesce(t.comments, 0))) counted (kind, stored, truth)
  where stored <> truth
  union all
  select * from private.survey_count_mistakes();
end;
comment on function private.count_mistakes() is 'Rows whose counter differs from the truth: none, ever.';
