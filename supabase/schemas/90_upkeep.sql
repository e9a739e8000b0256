-- Scheduled jobs, and a consistency check of all counters.

-- Runs every few seconds, by pg_cron on hosted Supabase and by a timer in the embedded stack. Sends
-- pending notifications and board counts, makes digests, resumes imports, closes expired surveys and
-- deletes expired rows, in bounded batches. Idempotent; returns what it did.
create function private.run_schedule() returns jsonb
language plpgsql set search_path = pg_temp as $$
declare fanouts integer; activity integer; surveys integer; counters integer; keys integer; events integer;
  deliveries integer; streams integer; labels integer; boards integer; imports integer; mails integer;
  sessions integer;
begin
  -- Deletes find their rows once, by ctid: joined by key, a plan made while a table was empty would scan for
  -- each row. Rows that may be renewed concurrently are locked first.
  fanouts := private.run_fanouts();
  activity := private.sum_activity();
  surveys := private.close_surveys();
  boards := private.broadcast_counts();
  delete from private.rate_counters c where ctid = any (array(
    -- Windows without a rule of their own (calls_a_day of agents) last at most a day.
    select o.ctid from private.rate_counters o
    where o.started_at < now() - greatest(private.retention('rate_counters'), coalesce(
      (select make_interval(secs => r.window_seconds) from private.rate_limit_rules r where r.name = o.rule),
      interval '1 day')) limit 5000 for update skip locked));
  get diagnostics counters = row_count;
  delete from private.idempotency_keys k where ctid = any (array(
    select o.ctid from private.idempotency_keys o
      where o.created_at < now() - private.retention('idempotency_keys') limit 5000));
  get diagnostics keys = row_count;
  delete from private.outbox e where ctid = any (array(
    select o.ctid from private.outbox o where o.created_at < now() - private.retention('events') limit 5000));
  get diagnostics events = row_count;
  delete from private.invites i where ctid = any (array(
    select o.ctid from private.invites o where o.expires_at < now() - private.retention('expired_invites')
      limit 5000));
  deliveries := private.trim_deliveries();
  imports := private.end_idle_imports();
  perform private.call_importer();
  mails := private.gather_digests();
  perform private.trim_mails();
  delete from private.stopped_account_mail s where s.ctid = any (array(
    select o.ctid from private.stopped_account_mail o
    where o.stopped_at < now() - private.retention('stopped_account_mail')
      limit 5000 for update skip locked));
  delete from private.account_undos u where u.ctid = any (array(
    select o.ctid from private.account_undos o where o.created_at < now() - private.retention('account_undos')
      limit 5000 for update skip locked));
  sessions := private.trim_sessions();
  perform private.call_mailer();
  perform private.refresh_search();
  delete from private.agent_streams s where ctid = any (array(
    select o.ctid from private.agent_streams o where o.expires_at < now() limit 5000 for update skip locked));
  get diagnostics streams = row_count;
  delete from private.agent_subscriptions s where ctid = any (array(
    select o.ctid from private.agent_subscriptions o
    where o.expires_at < now() - private.retention('expired_subscriptions')
      limit 5000 for update skip locked));
  delete from private.agent_audit t where ctid = any (array(
    select o.ctid from private.agent_audit o where o.created_at < now() - private.retention('agent_calls')
      limit 5000));
  -- Last, because it locks submissions until the transaction ends.
  labels := private.run_retirements();
  return jsonb_build_object(
    'fanouts', fanouts,
    'activity', activity,
    'surveys', surveys,
    'rate_counters', counters,
    'idempotency_keys', keys,
    'events', events,
    'deliveries', deliveries,
    'agent_streams', streams,
    'labels', labels,
    'boards', boards,
    'imports', imports,
    'mails', mails,
    'sessions', sessions);
end
$$;

-- Hosted Supabase provides these extensions, but a new project has not created them. If one cannot be
-- created, the schema works without it.
do $$
declare
  extension record;
  pause text;
begin
  for extension in
    select e.name, w.options
    from (values ('pg_net', 'with schema extensions'), ('supabase_vault', ''), ('pg_cron', '')) as w
      (name, options)
    join pg_available_extensions e using (name) where e.installed_version is null
  loop
    begin
      execute format('create extension %I %s', extension.name, extension.options);
    exception when others then
      raise warning '% was not created: % (docs/deploy.md, step 7)', extension.name, sqlerrm;
    end;
  end loop;
  if to_regprocedure('vault.create_secret(text, text, text, uuid)') is not null then
    perform vault.create_secret(encode(extensions.gen_random_bytes(32), 'hex'), 'feedback_address_key');
  else
    insert into private.address_key (key) values (extensions.gen_random_bytes(32));
  end if;
  -- Before pg_cron 1.5 a schedule cannot use seconds.
  pause := (select case when string_to_array(substring(extversion from '^\d+\.\d+'), '.')::integer[] <
    array[1, 5]
      then '* * * * *' else '10 seconds' end
    from pg_extension where extname = 'pg_cron');
  if pause is not null then
    perform cron.schedule('feedback-schedule', pause, 'select private.run_schedule()');
    perform cron.schedule('feedback-webhooks', pause, 'select private.call_dispatcher()');
    -- pg_cron keeps a row for each run forever.
    perform cron.schedule('feedback-cron-log', '17 * * * *', 'select private.trim_logs()');
  end if;
end
$$;

-- Runs every hour, as pg_cron: deletes what pg_cron logged of our jobs, and the log of the auth service,
-- which has addresses, older than private.retention(cron_log) and private.retention(auth_log).
create function private.trim_logs() returns void
language plpgsql set search_path = pg_temp as $$
begin
  delete from cron.job_run_details d
    where coalesce(d.end_time, d.start_time) < now() - private.retention('cron_log')
    and d.jobid in (select j.jobid from cron.job j where j.jobname like 'feedback-%');
  delete from auth.audit_log_entries a where a.created_at < now() - private.retention('auth_log');
end
$$;

-- Rows whose counter differs from the counted value; always empty.
create function private.count_discrepancies()
  returns table (subject text, id uuid, stored bigint, truth bigint)
language sql stable set search_path = pg_temp
begin atomic
  select 'submissions.vote_count', s.id, s.vote_count, v.n
  from public.submissions s cross join lateral (select count(*) as n from public.votes v
    where v.submission_id = s.id) v
  where s.vote_count <> v.n
  union all
  select 'submissions.comment_count', s.id, s.comment_count, c.n
  from public.submissions s cross join lateral (
    select count(*) as n from public.comments c
      where c.submission_id = s.id and c.moderation_state = 'approved') c
  where s.comment_count <> c.n
  union all
  select 'comments.reply_count', p.id, p.reply_count, c.n
  from public.comments p cross join lateral (
    select count(*) as n from public.comments c where c.parent_id = p.id and c.moderation_state = 'approved')
      c
  where p.reply_count <> c.n
  union all
  select 'comments.vote_count', c.id, c.vote_count, v.n
  from public.comments c cross join lateral (select count(*) as n from public.comment_votes v
    where v.comment_id = c.id) v
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
  select 'submission_days', coalesce(d.organization_id, t.organization_id), d.total, t.total
  from (select o.id as organization_id, span, s.day, s.status, s.category_id, s.source,
    sum(s.total)::bigint as total
    from public.organizations o cross join unnest(array['day', 'month']) span
      cross join lateral private.submissions_of(o.id, span, '-infinity', 'infinity') s
        group by 1, 2, 3, 4, 5, 6) d full join (
    select t.* from public.organizations o cross join lateral private.compute_submission_days(o.id) t) t
    on (d.organization_id, d.span, d.day, d.status, coalesce(d.source, '')) =
      (t.organization_id, t.span, t.day, t.status, coalesce(t.source, ''))
      and coalesce(d.category_id, d.organization_id) = coalesce(t.category_id, t.organization_id)
  where coalesce(d.total, 0) <> coalesce(t.total, 0)
  union all
  select 'person_days.' || kind, coalesce(d.organization_id, t.organization_id), stored, truth
  from (select r.organization_id, r.user_id, r.day, sum(r.submissions)::bigint as submissions,
    sum(r.votes)::bigint as votes, sum(r.comments)::bigint as comments
    from (
      select p.organization_id, p.user_id, p.day, p.submissions, p.votes, p.comments
        from private.person_days p
      union all
      select a.organization_id, a.user_id,
        (a.slot at time zone private.activity_zone(a.organization_id))::date, a.submissions, a.votes,
        a.comments
      from private.person_activity a) r
    group by 1, 2, 3) d full join (
    select t.* from public.organizations o cross join lateral private.compute_person_days(o.id) t) t
    on (d.organization_id, d.user_id, d.day) = (t.organization_id, t.user_id, t.day)
  cross join lateral (values ('submissions', coalesce(d.submissions, 0), coalesce(t.submissions, 0)),
    ('votes', coalesce(d.votes, 0), coalesce(t.votes, 0)),
    ('comments', coalesce(d.comments, 0), coalesce(t.comments, 0))) counted (kind, stored, truth)
  where stored <> truth
  union all
  select 'day_activity.' || kind, coalesce(d.organization_id, t.organization_id), stored, truth
  from private.day_activity d full join (
    select p.organization_id, p.day, p.previous_day, count(*) as people, sum(p.submissions) as submissions,
      sum(p.votes) as votes, sum(p.comments) as comments
    from (
      select p.organization_id, p.day, p.submissions, p.votes, p.comments,
        coalesce(lag(p.day) over (partition by p.organization_id, p.user_id order by p.day), '-infinity')
          as previous_day
      from private.person_days p) p
    group by 1, 2, 3) t
    on (d.organization_id, d.day, d.previous_day) = (t.organization_id, t.day, t.previous_day)
  cross join lateral (values ('people', coalesce(d.people, 0), coalesce(t.people, 0)),
    ('submissions', coalesce(d.submissions, 0), coalesce(t.submissions, 0)),
    ('votes', coalesce(d.votes, 0), coalesce(t.votes, 0)),
      ('comments', coalesce(d.comments, 0), coalesce(t.comments, 0))) counted (kind, stored, truth)
  where stored <> truth
  union all
  select 'first_replies', coalesce(r.organization_id, t.organization_id), r.milliseconds, t.milliseconds
  from private.first_replies r full
    join private.compute_first_replies(array(select s.id from public.submissions s)) t using (submission_id)
  where (r.submitted_at, r.milliseconds) is distinct from (t.submitted_at, t.milliseconds)
    and not exists (select from private.replies_due d
      where d.submission_id = coalesce(r.submission_id, t.submission_id))
  union all
  select 'reply_days.' || kind, coalesce(d.organization_id, t.organization_id), stored, truth
  from private.reply_days d full join (
    select r.organization_id, (r.submitted_at at time zone z.time_zone)::date as day,
      private.histogram_bucket(r.milliseconds) as magnitude,
      count(*) as replies, sum(r.milliseconds)::bigint as milliseconds
    from private.first_replies r join private.activity_zones z using (organization_id) group by 1, 2, 3) t
    on (d.organization_id, d.day, d.magnitude) = (t.organization_id, t.day, t.magnitude)
  cross join lateral (values ('replies', coalesce(d.replies, 0), coalesce(t.replies, 0)),
    ('milliseconds', coalesce(d.milliseconds, 0), coalesce(t.milliseconds, 0))) counted (kind, stored, truth)
  where stored <> truth
  union all
  select * from private.survey_count_discrepancies();
end;
