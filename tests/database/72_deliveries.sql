-- From the outbox to the endpoints: each event once, fairly, and with a log of each attempt.
begin;
set local search_path = public, extensions;
select plan(61);
do $$ begin perform tests.start(); end $$;

create function pg_temp.webhook(name text, organization text, events text[]) returns void language sql as $$
  insert into private.webhooks (id, organization_id, url, events, encrypted_secret)
  values (tests.id(name), tests.id(organization), 'https://receiver.example/', events, 'first.AAAA')
$$;
-- The events have the id of a transaction that ended long ago: readers do not see events of this one.
create function pg_temp.event(name text, type text, organization text default 'acme', happened_at timestamptz default now()) returns void language sql as $$
  insert into private.outbox (xid, event_id, organization_id, type, subject_id, data, created_at)
  values ('3', tests.id(name), tests.id(organization), type, tests.id(name), jsonb_build_object('name', name), happened_at)
$$;
create function pg_temp.state(hook text, told text) returns text language sql as $$
  select format('%s after %s', status, attempt_count) from private.webhook_deliveries where webhook_id = tests.id(hook) and event_id = tests.id(told)
$$;
create function pg_temp.claimed(max_rows integer default 100) returns bigint language sql as $$
  select count(*) from private.record_and_claim_deliveries('[]', max_rows)
$$;
create function pg_temp.record(webhook text, event text, attempt integer, outcome jsonb) returns void language sql as $$
  select private.record_deliveries(jsonb_build_array(jsonb_build_object('webhook_id', tests.id(webhook), 'event_id', tests.id(event), 'attempt', attempt,
    'duration_ms', 12) || outcome))
$$;
create function pg_temp.wait(hook text, told text) returns interval language sql as $$
  select next_attempt_at - now() from private.webhook_deliveries where webhook_id = tests.id(hook) and event_id = tests.id(told)
$$;
delete from private.outbox;

-- Fanning out
do $$ begin
  perform pg_temp.webhook('wide', 'acme', array['submission.created', 'submission.vote_added']);
  perform pg_temp.webhook('alias', 'acme', array['vote.created', 'status.changed']);
  perform pg_temp.webhook('both', 'acme', array['vote.created', 'submission.vote_added']);
  perform pg_temp.webhook('off', 'acme', array['submission.created']);
  perform pg_temp.webhook('foreign', 'rival', array['submission.created', 'submission.vote_added']);
  update private.webhooks set is_enabled = false, disabled_reason = 'admin' where id = tests.id('off');
  perform pg_temp.event('made', 'submission.created');
  perform pg_temp.event('voted', 'submission.vote_added');
  perform pg_temp.event('moved', 'submission.status_changed');
  perform pg_temp.event('before', 'submission.created', 'acme', now() - interval '1 second');
  perform tests.submission('Not committed', 'alice');
end $$;
select results_eq('select events, held_back from private.fan_out_events()', 'values (4, true)', 'committed events are fanned out; an open transaction holds back only its own events');
select set_eq('select webhook_id, event_id, event from private.webhook_deliveries', $$ select tests.id(webhook) as webhook_id, tests.id(event) as event_id, name from (values
    ('wide', 'made', 'submission.created'), ('wide', 'voted', 'submission.vote_added'),
    ('alias', 'voted', 'vote.created'), ('alias', 'moved', 'status.changed'), ('both', 'voted', 'vote.created')) as t (webhook, event, name) $$,
  'each webhook gets its events by the first matching name; not those of other organizations, before its creation or while disabled');
select results_eq('select events, held_back from private.fan_out_events()', 'values (0, true)', 'a second run has no events');
update private.webhook_cursor set xid = '0', id = 0;
select results_eq('select events from private.fan_out_events(3)', 'values (3)', 'after a reset of the cursor, events are read again in batches');
select is((select count(*) from private.webhook_deliveries), 5::bigint, 'no delivery is created twice');
do $$ begin perform private.fan_out_events(); end $$;
delete from private.webhooks where id in (tests.id('alias'), tests.id('both'), tests.id('off'), tests.id('foreign'));
select is((select count(*) from private.webhook_deliveries), 2::bigint, 'deleting a webhook deletes its deliveries');
do $$ begin
  perform pg_temp.webhook('again', 'acme', array['submission.created']);
  update private.webhooks set created_at = now() - interval '1 hour', enabled_at = now() - interval '1 hour', is_enabled = false, disabled_reason = 'admin'
  where id = tests.id('again');
  perform tests.see('adam', format('select private.admin_update_webhook(%L, %L, null, null, true)', tests.id('acme'), tests.id('again')));
  update private.webhook_cursor set xid = '0', id = 0;
  perform private.fan_out_events();
end $$;
select is((select array_agg(event_id) from private.webhook_deliveries where webhook_id = tests.id('again')), array[tests.id('made')],
  'what happened while a webhook was disabled is not sent after it was enabled again, however late events are read');
delete from private.webhooks where id = tests.id('again');
delete from private.outbox where xid = pg_current_xact_id();
select results_eq('select events, held_back from private.fan_out_events()', 'values (0, false)', 'no events are left');

-- Claims
select is(pg_temp.claimed(), 1::bigint, 'an unproven webhook gets one delivery at a time');
select is(pg_temp.claimed(), 0::bigint, 'an unproven webhook gets no second delivery before the first has ended');
select is((select count(*) from private.webhook_deliveries where status = 'sending' and next_attempt_at = now() + interval '30 seconds' and claimed_at = now()), 1::bigint,
  'a claim lasts 30 seconds');
do $$ begin
  perform pg_temp.record('wide', event, 1, '{"status_code": 204, "response_body": "thanks"}') from (values ('made'), ('voted')) as t (event);
end $$;
select is((select count(*) from private.webhook_deliveries where status = 'delivered' and finished_at = now()), 1::bigint, 'a success completes the delivery');
select is((select is_healthy from private.webhooks where id = tests.id('wide')), true, 'a success proves the webhook');
do $$ begin
  perform pg_temp.record('wide', 'made', 1, '{"status_code": 204}') from private.record_and_claim_deliveries('[]', 100);
  perform pg_temp.record('wide', 'voted', 1, '{"status_code": 204}');
  perform pg_temp.event('number ' || n, 'submission.created') from generate_series(1, 50) n;
  perform private.fan_out_events();
end $$;
select is(pg_temp.claimed(7), 4::bigint, 'an organization gets as much of a dispatcher''s capacity as it leaves');
select is(pg_temp.claimed(), 28::bigint, 'a proven webhook has at most 32 concurrent deliveries');
select is(pg_temp.claimed(), 0::bigint, 'no more are claimed');
do $$ begin
  perform pg_temp.webhook('other', 'acme', array['comment.created']);
  perform pg_temp.event('commented', 'comment.created');
  perform private.fan_out_events();
end $$;
select is((select claimed.webhook_id from private.record_and_claim_deliveries('[]', 100) claimed), tests.id('other'), 'a busy webhook does not delay another');
update private.webhooks set is_enabled = false, disabled_reason = 'admin' where id = tests.id('wide');
update private.webhook_deliveries set next_attempt_at = now();
select is((select count(*) from private.record_and_claim_deliveries('[]', 100) where webhook_id = tests.id('wide')), 0::bigint, 'a disabled webhook gets no deliveries');
delete from private.webhooks;
delete from private.outbox;

-- Between organizations
create function pg_temp.of(organization text, state text default 'pending') returns bigint language sql as $$
  select count(*) from private.webhook_deliveries where organization_id = tests.id(organization) and status = state
$$;
do $$ begin
  perform pg_temp.webhook('loud ' || n, 'acme', array['submission.created']) from generate_series(1, 60) n;
  perform pg_temp.webhook('quiet', 'rival', array['submission.created']);
  perform pg_temp.event('loud ' || n, 'submission.created') from generate_series(1, 120) n;
  perform pg_temp.event('quiet', 'submission.created', 'rival');
  perform private.fan_out_events();
end $$;
select is(pg_temp.of('rival'), 1::bigint, 'an event does not wait for thousands of deliveries of another organization');
select is(pg_temp.of('acme'), 1000::bigint, 'which are made a few at a time');
update private.webhooks set is_healthy = true where organization_id = tests.id('acme');
do $$ begin perform private.record_and_claim_deliveries('[]', 100); end $$;
select is(pg_temp.of('acme', 'sending') || ', ' || pg_temp.of('rival', 'sending'), '50, 1', 'many healthy endpoints of an organization leave room for another');
update private.webhooks set is_healthy = false;
update private.webhook_deliveries set next_attempt_at = now();
do $$ begin perform private.record_and_claim_deliveries('[]', 20); end $$;
select is((select count(*) from private.webhook_deliveries where organization_id = tests.id('acme') and next_attempt_at > now()), 10::bigint, 'and so do many unproven ones');
do $$ begin
  perform private.fan_out_events() from generate_series(1, 20);
end $$;
select is((select count(*) from private.webhook_deliveries where event_id <> tests.id('quiet')), 7200::bigint, 'each delivery is made in the end');
select is_empty('select from private.webhook_backlogs', 'then no endpoint is behind');
delete from private.webhooks where id <> tests.id('loud 1');
do $$ begin
  perform pg_temp.event('more ' || n, 'submission.created') from generate_series(1, 3000) n;
  perform private.fan_out_events() from generate_series(1, 20);
end $$;
select is((select count(*) <= 1600 from private.webhook_deliveries where status = 'pending'), true, 'the pending deliveries of an endpoint are bounded');
select is((select events from private.fan_out_events()), 0, 'a full endpoint keeps no dispatcher busy');
do $$ begin
  for n in 1..10 loop
    update private.webhook_deliveries set status = 'delivered', finished_at = now(), claimed_at = null;
    perform private.fan_out_events() from generate_series(1, 5);
  end loop;
end $$;
select is((select count(*) from private.webhook_deliveries), 3120::bigint, 'the others follow when these were sent');
delete from private.webhooks;
delete from private.outbox;
do $$ begin
  insert into public.organizations (id, slug, name) select tests.id('full ' || n), 'full-' || n, 'Full' from generate_series(1, 60) n;
  perform pg_temp.webhook('full ' || n, 'full ' || n, array['submission.created']) from generate_series(1, 60) n;
  insert into private.webhook_deliveries (organization_id, webhook_id, event_id, event, data)
  select w.organization_id, w.id, gen_random_uuid(), 'submission.created', '{}' from private.webhooks w, generate_series(1, 1001);
  perform pg_temp.webhook('quiet', 'rival', array['submission.created']);
  insert into private.webhook_backlogs select w.organization_id, w.id, '0', 0 from private.webhooks w;
  perform pg_temp.event('quiet', 'submission.created', 'rival');
  perform private.fan_out_events();
end $$;
select is(pg_temp.of('rival'), 1::bigint, 'full endpoints do not delay one with room');
delete from private.webhooks;
delete from private.outbox;

-- Retries
do $$ begin
  perform pg_temp.webhook('failing', 'acme', array['submission.created']);
  perform pg_temp.event('hard', 'submission.created');
  perform private.fan_out_events();
end $$;
create function pg_temp.fail(outcome jsonb default '{"status_code": 500, "response_body": "no"}') returns interval language plpgsql as $$
declare number integer;
begin
  update private.webhook_deliveries set next_attempt_at = now();
  select attempt into number from private.record_and_claim_deliveries('[]', 1);
  perform pg_temp.record('failing', 'hard', number, outcome);
  return pg_temp.wait('failing', 'hard');
end
$$;
do $$ begin perform pg_temp.fail() from generate_series(1, 6); end $$;
select is(pg_temp.state('failing', 'hard'), 'failed after 6', 'the sixth failure ends the delivery');
select is(tests.see('adam', format('select private.admin_redeliver(%L, %L, %L) ->> ''status''', tests.id('acme'), tests.id('failing'), tests.id('hard'))), 'pending', 'an admin can redeliver it');
select is(date_trunc('minute', pg_temp.fail()), interval '1 minute', 'a redelivery starts the retry schedule again');
select is(pg_temp.state('failing', 'hard'), 'pending after 7', 'attempts of a redelivery are counted on');
select is(tests.see(who, format('select private.admin_redeliver(%L, %L, %L)', tests.id(organization), tests.id('failing'), tests.id('hard'))), outcome, format('%s cannot redeliver', who))
from (values ('mia', 'acme', 'FB403'), ('acme key with webhooks:write', 'acme', '42501'), ('rita', 'rival', null)) as t (who, organization, outcome);
select is(date_trunc('second', pg_temp.fail('{"status_code": 429, "retry_after": 7200}')), interval '2 hours', 'Retry-After delays the next attempt');
select is(date_trunc('second', pg_temp.fail('{"status_code": 503, "retry_after": 999999999}')), interval '6 hours', 'Retry-After delays by at most six hours');
select ok(pg_temp.fail('{"status_code": 503, "retry_after": 1}') > interval '1 hour', 'Retry-After does not shorten the retry schedule');
do $$ begin
  update private.webhook_deliveries set next_attempt_at = now(), counted_from = attempt_count;
  perform private.record_and_claim_deliveries('[]', 1);
  perform pg_temp.record('failing', 'hard', 10, '{"status_code": 200}');
end $$;
select is(pg_temp.state('failing', 'hard'), 'sending after 11', 'a result of an outdated attempt changes nothing');
do $$ begin
  update private.webhook_deliveries set next_attempt_at = now();
  perform private.record_and_claim_deliveries('[]', 1);
end $$;
select is((select array[attempt_count::text, attempts -> -1 ->> 'number', attempts -> -1 ->> 'error'] from private.webhook_deliveries),
  array['12', '11', 'The dispatcher ended before it recorded an answer.'], 'a claim of a crashed dispatcher is claimed again, and the attempt is logged');
select ok((select next_attempt_at = now() + interval '30 seconds' from private.webhook_deliveries), 'the new claim lasts 30 seconds');
do $$ begin perform pg_temp.record('failing', 'hard', 12, '{"status_code": 500, "error": null}'); end $$;
select ok(pg_temp.wait('failing', 'hard') between interval '1 minute' and interval '66 seconds', 'an attempt of a crashed dispatcher does not count in the retry schedule');
do $$ begin perform pg_temp.fail('{"status_code": 410}'); end $$;
select is(pg_temp.state('failing', 'hard'), 'failed after 13', 'status 410 ends the delivery');
select is((select array[is_enabled::text, disabled_reason] from private.webhooks), array['false', 'gone'], 'status 410 disables the webhook');
select is(tests.see('adam', format('select private.admin_test_webhook(%L, %L)', tests.id('acme'), tests.id('failing'))), 'FB409', 'a disabled webhook cannot be tested');

-- The log
delete from private.webhooks;
do $$ begin
  perform pg_temp.webhook('busy', 'acme', array['submission.created']);
  perform pg_temp.webhook('paused', 'acme', array['submission.created']);
  insert into private.webhook_deliveries (organization_id, webhook_id, event_id, event, data, status, finished_at, created_at)
  select tests.id('acme'), tests.id('busy'), tests.id('past ' || n), 'submission.created', '{}', 'delivered', now(), now() - make_interval(mins => n) from generate_series(1, 250) n;
  insert into private.webhook_deliveries (organization_id, webhook_id, event_id, event, data)
  select tests.id('acme'), tests.id(hook), tests.id('waiting'), 'submission.created', '{}' from unnest(array['busy', 'paused']) hook;
  set constraints all immediate;
  alter table private.webhooks disable trigger touch_updated_at;
  update private.webhooks set is_enabled = false, disabled_reason = 'admin', updated_at = now() - interval '1 hour' where id = tests.id('paused');
end $$;
select is(private.trim_deliveries(100), 100, 'trim_deliveries deletes at most one batch');
select is(private.trim_deliveries(), 50, 'further runs delete the rest');
select is(private.trim_deliveries(), 0, 'then nothing is left to delete');
select is((select array[count(*), count(*) filter (where status = 'pending'), extract(epoch from now() - min(created_at))::bigint / 60] from private.webhook_deliveries where webhook_id = tests.id('busy')),
  array[101, 1, 100]::bigint[], 'the newest 100 finished deliveries and all pending ones are kept');
select is((select array[status, attempts -> -1 ->> 'error'] from private.webhook_deliveries where webhook_id = tests.id('paused')), array['failed', 'The webhook was disabled.'],
  'pending deliveries of a disabled webhook fail with the reason');
select is(tests.see('adam', format('select total from private.admin_list_deliveries(%L, %L, 1, 50)', tests.id('acme'), tests.id('busy'))), '100', 'the log lists 100 deliveries');
select is(tests.see('adam', format('select json_array_length(data) from private.admin_list_deliveries(%L, %L, 3, 40)', tests.id('acme'), tests.id('busy'))), '20', 'the log is paginated');

-- Cost, with plans made for nearly empty tables
create function pg_temp.reads(statement text) returns bigint language plpgsql as $$
declare before bigint := (select seq_tup_read + idx_tup_fetch from pg_stat_xact_all_tables where relid = 'private.webhook_deliveries'::regclass);
begin
  execute statement;
  return (select seq_tup_read + idx_tup_fetch - before from pg_stat_xact_all_tables where relid = 'private.webhook_deliveries'::regclass);
end
$$;
delete from private.webhooks;
discard plans;
set local plan_cache_mode = force_generic_plan;
do $$ begin
  perform pg_temp.webhook('loud', 'acme', array['submission.created']);
  perform private.trim_deliveries();
  perform set_config(name, 'off', true) from unnest(array['enable_seqscan', 'enable_bitmapscan', 'enable_hashjoin', 'enable_mergejoin']) name;
  perform pg_temp.record('loud', 'loud 1', 1, '{"status_code": 204}');
  insert into private.webhook_deliveries (organization_id, webhook_id, event_id, event, data)
  select tests.id('acme'), tests.id('loud'), tests.id('loud ' || n), 'submission.created', '{}' from generate_series(1, 2000) n;
  update private.webhook_deliveries set status = 'sending', claimed_at = now(), attempt_count = 1
  where event_id in (select tests.id('loud ' || n) from generate_series(1, 20) n);
end $$;
select cmp_ok(pg_temp.reads($$ select pg_temp.record('loud', 'loud ' || n, 1, '{"status_code": 204}') from generate_series(1, 20) n $$), '<', 50::bigint,
  'recording an attempt does not scan the log of its endpoint');
select is(pg_temp.state('loud', 'loud 20'), 'delivered after 1', 'all results are recorded');
delete from private.webhook_deliveries;
analyze private.webhook_deliveries, private.webhooks;
do $$ begin
  perform set_config(name, 'on', true) from unnest(array['enable_seqscan', 'enable_bitmapscan', 'enable_hashjoin', 'enable_mergejoin']) name;
  perform private.trim_deliveries();
  insert into private.webhook_deliveries (organization_id, webhook_id, event_id, event, data)
  select tests.id('acme'), tests.id('loud'), tests.id('loud ' || n), 'submission.created', '{}' from generate_series(1, 2000) n;
  update private.webhook_deliveries set status = 'delivered', finished_at = now() where event_id in (select tests.id('loud ' || n) from generate_series(1001, 2000) n);
end $$;
select cmp_ok(pg_temp.reads('select private.trim_deliveries()'), '<', 20000::bigint, 'trimming does not read the table once per delivery');
select is((select count(*) from private.webhook_deliveries where status = 'delivered'), 100::bigint, 'trimming keeps 100 deliveries');

-- The dispatcher is called: by NOTIFY, and by pg_net if Vault has its URL
select is(private.call_dispatcher(), false, 'without a URL the dispatcher is not called');
do $$ begin perform private.wake_dispatcher(tests.id('acme')); end $$;
select is((select count(*) from net.http_request_queue), 0::bigint, 'without a URL no request is queued');
do $$ begin
  perform vault.create_secret('https://project.example/functions/v1/webhook-dispatch', 'webhook_dispatch_url');
  perform vault.create_secret('pass', 'webhook_dispatch_secret');
  perform pg_temp.webhook('to wake for', 'acme', array['comment.created']);
  perform set_config('feedback.called_webhooks', '', true);
  perform private.wake_dispatcher(tests.id('acme')), private.wake_dispatcher(tests.id('acme'));
end $$;
select is((select count(*) from net.http_request_queue), 1::bigint, 'a transaction calls the dispatcher once');
select results_eq($$ select url, headers ->> 'Authorization', timeout_milliseconds from net.http_request_queue $$,
  $$ values ('https://project.example/functions/v1/webhook-dispatch', 'Bearer pass', 5000) $$, 'the call has the URL and the password');
select is(private.call_dispatcher(), true, 'the schedule calls the dispatcher');

select * from finish();
rollback;
