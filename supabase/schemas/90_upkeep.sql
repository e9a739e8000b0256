-- What runs on a schedule, and the check of what must always hold.

create function private.run_schedule() returns jsonb
language plpgsql set search_path = '' as $$
declare fanouts integer; surveys integer; counters integer; keys integer; events integer; streams integer;
begin
  fanouts := private.run_fanouts();
  surveys := private.close_surveys();
  delete from private.rate_counters c where ctid in (
    select o.ctid from private.rate_counters o where o.started_at < now() - case o.rule when 'agent_day' then interval '1 day' else interval '2 hours' end limit 5000);
  get diagnostics counters = row_count;
  delete from private.idempotency_keys k where ctid in (
    select o.ctid from private.idempotency_keys o where o.created_at < now() - interval '1 day' limit 5000);
  get diagnostics keys = row_count;
  delete from private.outbox e where ctid in (
    select o.ctid from private.outbox o where o.created_at < now() - interval '30 days' limit 5000);
  get diagnostics events = row_count;
  delete from private.agent_streams s where ctid in (
    select o.ctid from private.agent_streams o where o.expires_at < now() limit 5000);
  get diagnostics streams = row_count;
  delete from private.agent_subscriptions s where ctid in (
    select o.ctid from private.agent_subscriptions o where o.expires_at < now() - interval '1 day' limit 5000);
  delete from private.agent_audit t where ctid in (
    select o.ctid from private.agent_audit o where o.created_at < now() - interval '400 days' limit 5000);
  return jsonb_build_object('fanouts', fanouts, 'surveys', surveys, 'agent_streams', streams, 'rate_counters', counters, 'idempotency_keys', keys, 'events', events);
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
  where s.vote_count <> v.n and s.merged_into_id is null
  union all
  select 'submissions.comment_count', s.id, s.comment_count, c.n
  from public.submissions s cross join lateral (
    select count(*) as n from public.comments c where c.submission_id = s.id and c.moderation_state = 'approved') c
  where s.comment_count <> c.n and s.merged_into_id is null
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
  select * from private.survey_count_mistakes();
end;
comment on function private.count_mistakes() is 'Rows whose counter differs from the truth: none, ever.';
