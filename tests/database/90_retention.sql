-- private.retention is the only definition of retention: if it is halved, every deletion uses the half.
begin;
set local search_path = public, extensions;
select plan(15);
do $$
declare agent_id uuid;
begin
  perform tests.start();
  agent_id := private.create_agent(tests.id('acme'), 'Agent');
  perform private.create_agent_key(agent_id, 'Key', '{submissions:read}', sha256('secret'), 'fcs_agt_', 'last', null);
  delete from private.outbox;
  -- Each row is older than half its retention, and younger than the whole.
  -- The event has the id of a transaction that ended long ago: readers do not see events of this one.
  insert into private.outbox (xid, organization_id, type, subject_id, data, created_at)
  values ('2', tests.id('acme'), 'survey.closed', tests.id('x'), '{}', now() - 0.6 * private.retention('events'));
  insert into private.agent_audit
    (organization_id, agent_id, key_id, request_id, tool, outcome, duration_ms, argument_names, created_at)
  values (tests.id('acme'), agent_id, agent_id, tests.id('x'), 'tool', 'ok', 1, '{}', now() - 0.6 * private.retention('agent_calls'));
  insert into private.idempotency_keys (organization_id, profile_id, key, request, created_at)
  select k.organization_id, k.profile_id, 'key', sha256('x'), now() - 0.6 * private.retention('idempotency_keys')
  from private.api_keys k where k.profile_id = agent_id;
  insert into private.rate_counters (rule, subject, started_at, used)
  values ('vote_create', 'subject', now() - 0.6 * private.retention('rate_counters'), 1);
  insert into private.invites (organization_id, email, role, digest, invited_by, expires_at)
  values (tests.id('acme'), 'x@example.test', 'member', sha256('x'), tests.id('olga'), now() - 0.6 * private.retention('expired_invites'));
  insert into private.agent_subscriptions (id, organization_id, agent_id, events, expires_at)
  values (tests.id('x'), tests.id('acme'), agent_id, '{survey.closed}', now() - 0.6 * private.retention('expired_subscriptions'));
  insert into private.imports (organization_id, source, format, is_dry_run, makes_missing, query, state, updated_at)
  select tests.id('acme'), 'feedback', 'feedback', false, true, '{}', state, now() - 0.6 * private.retention(kind)
  from (values ('receiving', 'stalled_uploads'), ('running', 'stalled_imports')) as k (state, kind);
  insert into private.imports (id, organization_id, source, format, is_dry_run, makes_missing, state, updated_at)
  values (tests.id('a dry run'), tests.id('acme'), 'feedback', 'feedback', true, true, 'completed',
    now() - 0.6 * private.retention('checked_imports'));
  insert into private.import_file_parts (organization_id, import_id, n, bytes)
  values (tests.id('acme'), tests.id('a dry run'), 0, 'x');
  insert into private.mails (organization_id, profile_id, kind, event_ids, status, finished_at)
  values (tests.id('acme'), tests.id('alice'), 'status', array[tests.id('x')], 'sent', now() - 0.6 * private.retention('mails'));
  insert into private.stopped_account_mail (address_hash, stopped_at)
  values ('x', now() - 0.6 * private.retention('stopped_account_mail'));
  insert into private.account_undos (link_hash, user_id, email, created_at)
  values ('x', tests.id('alice'), 'x@example.test', now() - 0.6 * private.retention('account_undos'));
  insert into auth.audit_log_entries (id, payload, created_at)
  values (tests.id('x'), '{}', now() - 0.6 * private.retention('auth_log'));
  insert into cron.job_run_details (jobid, username, status, start_time, end_time)
  select j.jobid, current_user, 'succeeded', now() - age, now() - age
  from cron.job j, lateral (select 0.6 * private.retention('cron_log') as age) a where j.jobname = 'feedback-schedule';
end $$;

-- The kinds whose row still exists after the schedule ran.
create function pg_temp.kept() returns text language plpgsql as $$
begin
  discard plans;
  perform private.run_schedule(), private.trim_logs();
  return concat_ws(' ',
    (select 'account_undos' from private.account_undos),
    (select 'agent_calls' from private.agent_audit),
    (select 'auth_log' from auth.audit_log_entries),
    (select 'checked_imports' from private.import_file_parts),
    (select 'cron_log' from cron.job_run_details),
    (select 'events' from private.outbox where type = 'survey.closed'),
    (select 'expired_invites' from private.invites),
    (select 'expired_subscriptions' from private.agent_subscriptions),
    (select 'idempotency_keys' from private.idempotency_keys),
    (select 'mails' from private.mails),
    (select 'rate_counters' from private.rate_counters),
    (select 'stalled_imports' from private.imports where state = 'running'),
    (select 'stalled_uploads' from private.imports where state = 'receiving'),
    (select 'stopped_account_mail' from private.stopped_account_mail));
end
$$;
-- The result of an admin's change feed page from a given age: the number of its events, or the SQLSTATE.
create function pg_temp.page(age interval) returns text language sql as $$
  select tests.see('acme key with surveys:read', format(
    'select json_array_length(data) from private.admin_events(null, %L, %L, %L, 10)',
    case when age is not null then '1' end, case when age is not null then '0' end, now() - age))
$$;
create function pg_temp.kinds() returns setof text language sql as $$
  select k[1] from regexp_matches(pg_get_functiondef('private.retention(text)'::regprocedure), $r$when '(\w+)'$r$, 'g') k order by 1
$$;

select cmp_ok(private.retention('events'), '>', interval '2 days', 'a page of the change feed is readable for at least one more day');
select is(pg_temp.page(private.retention('events') - interval '61 minutes'), '1', 'a cursor within the retention is accepted');
select is(pg_temp.page(private.retention('events') - interval '59 minutes'), 'FB410', 'a cursor near the end of the retention is rejected');
select is(pg_temp.page(null), '1', 'a first page has the retained events');
select is(tests.try('operator', 'delete from private.agent_audit'), 'FB403', 'newer entries of the agents'' audit trail cannot be deleted');
select is(pg_temp.kept(), (select string_agg(k, ' ') from pg_temp.kinds() k), 'the schedule keeps what is younger, of every kind');

do $$ begin
  execute replace(pg_get_functiondef('private.retention(text)'::regprocedure), 'return interval', 'return 0.5 * interval');
end $$;
select is(private.retention('events'), interval '15 days', 'the retention of events is halved');
discard plans;
select is(pg_temp.page(private.retention('events') - interval '61 minutes'), '1', 'a cursor within the shorter retention is accepted');
select is(pg_temp.page(private.retention('events') - interval '59 minutes'), 'FB410', 'an older cursor is rejected');
select is(pg_temp.page(null), '0', 'a first page has no older events');
select matches(tests.refusal('acme key with surveys:read',
  $$ select private.admin_events(null, '1', 0, now() - interval '20 days', 10) $$)::text, 'GONE', 'the error code is GONE');
select is(pg_temp.kept(), '', 'the schedule deletes expired rows of every kind');
select results_eq('select state, problem ~ ''1 min|stopped'' or problem ~ ''3 days 12:00:00'' from private.imports where not is_dry_run order by 1, 2',
  $$ values ('failed', true), ('failed', true) $$, 'stalled imports fail');
select throws_ok($$ select private.retention('unknown') $$, '20000', null, 'an unknown kind raises an error');
select is_empty($$
  select p.oid::regprocedure, m from pg_proc p, regexp_matches(
    coalesce(pg_get_function_sqlbody(p.oid), p.prosrc), $r$private\.retention\('(\w+)'\)$r$, 'g') m
  where p.pronamespace = 'private'::regnamespace and m[1] not in (select pg_temp.kinds()) $$, 'every kind in use exists');

select * from finish();
rollback;
