-- Scheduled jobs, and a consistency check of all counters.

-- Deletes expired rows, up to 5,000 of each table; returns how many, by table.
create function private.trim_rows() returns jsonb
language plpgsql set search_path = pg_temp as $$
declare expired record; deleted integer; trimmed jsonb := '{}';
begin
  for expired in
    select * from (values
      ('private.idempotency_keys', 'created_at', private.retention('idempotency_keys')),
      ('private.outbox', 'created_at', private.retention('events')),
      ('private.invites', 'expires_at', private.retention('expired_invites')),
      ('private.mails', 'finished_at', private.retention('mails')),
      ('private.stopped_account_mail', 'stopped_at', private.retention('stopped_account_mail')),
      ('private.account_undos', 'created_at', private.retention('account_undos')),
      ('private.identify_sessions', 'expires_at', '0'),
      ('private.identify_tokens', 'expires_at', '0'),
      ('private.agent_streams', 'expires_at', '0'),
      ('private.agent_subscriptions', 'expires_at', private.retention('expired_subscriptions')),
      ('private.agent_audit', 'created_at', private.retention('agent_calls')),
      -- Windows without a rule of their own (calls_a_day of agents) last at most a day.
      ('private.rate_counters', $sql$ started_at + greatest(private.retention('rate_counters'), coalesce((
        select make_interval(secs => r.window_seconds) from private.rate_limit_rules r
        where r.name = o.rule), interval '1 day')) $sql$, '0')
    ) e (relation, ended_at, age)
  loop
    -- Locks them first: some may be renewed concurrently.
    execute format('delete from %1$s where ctid = any (array(select o.ctid from %1$s o
      where %2$s < now() - $1 limit 5000 for update skip locked))', expired.relation, expired.ended_at)
    using expired.age;
    get diagnostics deleted = row_count;
    trimmed := trimmed || jsonb_build_object(split_part(expired.relation, '.', 2), deleted);
  end loop;
  return trimmed;
end
$$;

-- Runs every few seconds, by pg_cron on hosted Supabase and by a timer in the embedded stack. Sends
-- pending notifications and board counts, makes digests, resumes imports, closes expired surveys and
-- deletes expired rows, in bounded batches. Idempotent; returns what it did.
create function private.run_schedule() returns jsonb
language plpgsql set search_path = pg_temp as $$
declare done jsonb; trimmed jsonb;
begin
  done := jsonb_build_object(
    'fanouts', private.run_fanouts(),
    'activity', private.sum_activity(),
    'surveys', private.close_surveys(),
    'boards', private.broadcast_counts());
  trimmed := private.trim_rows();
  done := done || jsonb_build_object(
    'rate_counters', trimmed -> 'rate_counters',
    'idempotency_keys', trimmed -> 'idempotency_keys',
    'events', trimmed -> 'outbox',
    'agent_streams', trimmed -> 'agent_streams',
    'sessions', trimmed -> 'identify_sessions',
    'deliveries', private.trim_deliveries(),
    'imports', private.end_idle_imports());
  perform private.call_importer();
  done := done || jsonb_build_object('mails', private.gather_digests());
  if exists (select from private.senders_of_due_mails()) then
    perform private.call_function('/mail-dispatch');
  end if;
  perform private.refresh_search();
  -- These run last, because they lock an organization and submissions until the transaction ends.
  return done || jsonb_build_object('subtotals', private.sum_subtotals(), 'labels', private.run_retirements());
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
  -- The block may run again, such as when pg_cron is created later.
  if exists (select from private.address_key) then
    null;
  elsif to_regprocedure('vault.create_secret(text, text, text, uuid)') is not null then
    if not exists (select from vault.secrets s where s.name = 'feedback_address_key') then
      perform vault.create_secret(encode(extensions.gen_random_bytes(32), 'hex'), 'feedback_address_key');
    end if;
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

-- Runs every hour through pg_cron: deletes pg_cron's log of our jobs and the auth service's log, which
-- contains addresses, after private.retention(cron_log) and private.retention(auth_log).
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
language sql stable set search_path = pg_temp as $$
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
  select 'submission_subtotals', n.organization_id, n.stored, n.truth from (
    select n.organization_id, sum(n.stored)::bigint as stored, sum(n.truth)::bigint as truth
    from (select n.*, n.total as stored, 0 as truth from private.submission_subtotals n
      union all select n.*, 0, n.total from private.compute_subtotals(null) n) n
    group by n.organization_id, n.author_id, n.tag_id, n.is_public, n.status, n.type, n.category_id) n
  where n.stored <> n.truth
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
  union all
  select * from private.survey_count_discrepancies();
$$;
