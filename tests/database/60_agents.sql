-- Agents: permissions of their keys, restrictions by policies, and the audit trail.
begin;
set local search_path = public, extensions;
select plan(35);
do $$ begin
  perform tests.start();
  insert into public.categories (id, organization_id, name, slug) values
    (tests.id('mobile'), tests.id('acme'), 'Mobile', 'mobile'), (tests.id('billing'), tests.id('acme'), 'Billing', 'billing');
  perform tests.submission('On mobile', 'alice');
  perform tests.submission('On billing', 'alice');
  perform tests.submission('In the vault', 'vic', 'vault');
  perform tests.comment('Of mobile', 'bob', 'On mobile');
  perform tests.comment('Of billing', 'bob', 'On billing');
  update public.submissions set category_id = tests.id('mobile') where id = tests.id('On mobile');
  update public.submissions set category_id = tests.id('billing') where id = tests.id('On billing');
  insert into public.profiles (id, kind, organization_id, email) values (tests.id('eve'), 'email', tests.id('acme'), 'eve@example.test');
  perform tests.submission('By e-mail', 'eve');
end $$;

-- Normally only definer functions call it; here roles call it.
grant execute on function private.agent_id() to authenticated, service_key;

create temporary table made (name text primary key, id uuid);
create function pg_temp.digest(secret text) returns bytea language sql as $$ select sha256(secret::bytea) $$;
create function pg_temp.agent(agent_name text, scopes text[], expires_at timestamptz default null) returns void language plpgsql as $$
declare agent_id uuid := private.create_agent(tests.id('acme'), agent_name);
begin
  insert into made values (agent_name, agent_id);
  perform private.create_agent_key(agent_id, agent_name, scopes, pg_temp.digest(agent_name), 'fcs_agt_', 'last', expires_at);
end
$$;
create function pg_temp.id(agent_name text) returns uuid language sql as $$ select id from made where name = agent_name $$;
create function pg_temp.entering(secret text, access text, person text default null) returns text language sql as $$
  select format($q$ select private.assume_caller('r1', %L, %L, false, 'an address', '{}', null, null, null, false, null, null, true, %L, '{}') $q$,
    tests.id(person), pg_temp.digest(secret), access)
$$;
create function pg_temp.charge(secret text) returns text language sql as $$
  select tests.see('feedback_api', format($q$ select private.admit_request(null, %L, false, 'an address', '{}', null, null, null, false, null, null, true) $q$, pg_temp.digest(secret)))
$$;
-- The result of a query by an agent that calls a tool, or its error.
create function pg_temp.call(secret text, query text default 'select ''leave''', tool text default 'list_submissions', scope text default 'submissions:read',
  destructive boolean default false, confirmed boolean default false) returns text language sql as $$
  select tests.see('feedback_api', format('%s; select private.authorize_tool_call(%L, %L, %L, %L); %s', pg_temp.entering(secret, 'agent'), tool, scope, destructive, confirmed, query))
$$;
create function pg_temp.assume_caller(access text, secret text default null, person text default null) returns text language sql as $$
  select tests.see('feedback_api', format($q$ %s; select current_setting('role') $q$, pg_temp.entering(secret, access, person)))
$$;

do $$ begin
  perform pg_temp.agent('full', '{submissions:read,submissions:write,submissions:moderate}');
  perform pg_temp.agent('writer', '{submissions:read,submissions:write}');
  perform pg_temp.agent('expired', '{submissions:read}', now());
  perform private.create_api_key(tests.id('acme'), 'backend', '{submissions:read}', pg_temp.digest('backend'), 'fcs_org_', 'last');
end $$;

-- Authentication
-- Open streams, counted over all processes
create function pg_temp.opens(stream text, address text) returns text language sql as $$
  select pg_temp.call('full', format('select ''opened'' from private.register_stream(%L, %L)', tests.id(stream), address)) $$;
create function pg_temp.have_opened(count integer, organization text default 'vault', agent text default 'other', address text default null) returns void language sql as $$
  delete from private.open_streams;
  insert into private.open_streams (id, organization_id, agent_id, address)
  select gen_random_uuid(), tests.id(organization), coalesce(pg_temp.id(agent), tests.id(agent)), address from generate_series(1, count) $$;
select pg_temp.have_opened(99, agent => 'full');
select is(pg_temp.opens('s1', 'here') || pg_temp.opens('s2', 'here'), 'openedFB429', 'an agent may open 100 streams');
select pg_temp.have_opened(299, organization => 'acme');
select is(pg_temp.opens('s1', 'here') || pg_temp.opens('s2', 'here'), 'openedFB429', 'the agents of an organization may open 300 streams');
select pg_temp.have_opened(499, address => 'here');
select is(pg_temp.opens('s1', 'here') || pg_temp.opens('s2', 'here'), 'openedFB429', 'one address may open 500 streams');
select is(pg_temp.opens('s3', 'there') || pg_temp.opens('s4', null), 'openedopened', 'other addresses may open more');
update private.open_streams set expires_at = now() - interval '1 second';
select is(pg_temp.opens('s1', 'here'), 'opened', 'streams of a crashed process do not count');

select is(pg_temp.assume_caller('agent', 'full'), 'service_key', 'a request with an agent''s key runs as service_key');
select is(pg_temp.assume_caller(access, 'full'), 'FB401', format('an agent''s key does not enter as %s', access))
from unnest(array['public', 'person', 'caller']) as access;
select is(pg_temp.call('full', 'select private.agent_id()::text'), pg_temp.id('full')::text, 'agent_id is the agent''s profile');
select is(pg_temp.call('full', 'select private.caller_id()::text'), pg_temp.id('full')::text, 'an agent acts as its profile');
select is(tests.see('acme key with submissions:read', 'select private.agent_id()::text'), null, 'agent_id of an organization''s key is null');
select is(tests.see('alice', format($q$ select set_config('feedback.agent_id', %L, true); select private.agent_id()::text $q$, pg_temp.id('full'))), null,
  'agent_id of a user who sets the setting is null');

-- Acting as itself
select is(pg_temp.call('writer', 'update public.submissions set title = ''Changed'' where id = tests.id(''By e-mail'') returning id::text'), null,
  'an agent cannot edit for e-mail authors, unlike an organization''s key');
select is(pg_temp.call('writer', 'insert into public.votes (submission_id, user_id) values (tests.id(''On mobile''), tests.id(''eve''))'), '42501',
  'an agent cannot vote for e-mail authors');
select is(pg_temp.call('writer', format('insert into public.votes (submission_id, user_id) values (tests.id(''On mobile''), %L) returning user_id::text', pg_temp.id('full'))),
  '42501', 'an agent cannot vote for another agent');
select is(pg_temp.call('writer', 'insert into public.votes (submission_id, user_id) values (tests.id(''On mobile''), private.caller_id()) returning ''1'''), '1',
  'an agent votes as itself');
select is(pg_temp.call('full', $$ select private.admin_list_api_keys()::text $$), '42501', 'an agent cannot list API keys');

-- Policies
update private.agents set read_only = true where id = pg_temp.id('full');
select is(pg_temp.call('full', $$ select current_setting('feedback.scopes') $$), 'submissions:read', 'the policy read_only keeps the reading scopes only');
select is(pg_temp.call('full', 'insert into public.votes (submission_id, user_id) values (tests.id(''On mobile''), private.caller_id())'), '42501',
  'read_only also rejects SQL writes');
update private.agents set read_only = false, category_ids = array[tests.id('mobile')] where id = pg_temp.id('full');
select is(pg_temp.call('full', $$ select string_agg(title, ', ') from public.submissions $$), 'On mobile', 'category_ids hide other submissions');
select is(pg_temp.call('full', $$ select string_agg(body, ', ') from public.comments $$), 'Of mobile', 'and their comments');
select is(pg_temp.call('full', $$ select private.count_submissions(tests.id('acme'), null, null, null)::text $$), '1', 'counts include only submissions of the allowed categories');
select is(pg_temp.call('full', $$ update public.submissions set category_id = tests.id('billing') where id = tests.id('On mobile') $$), '42501',
  'a submission cannot be moved out of the allowed categories');
update private.agents set category_ids = null where id = pg_temp.id('full');
select is(pg_temp.call('full', $$ select count(*)::text from public.submissions $$), '3', 'without the policy an agent sees all submissions of its organization');

-- Limits
update private.agents set calls_a_day = 2 where id = pg_temp.id('writer');
delete from private.rate_counters;
select is(array[pg_temp.call('writer'), pg_temp.call('writer'), pg_temp.call('writer')], array['leave', 'leave', 'FB429'], 'calls over calls_a_day are rejected');
-- The functions charge a rejected request in this way.
do $$ begin perform pg_temp.charge('writer'); end $$;
select is((select string_agg(rule || ' ' || used, ', ' order by rule) from private.rate_counters where subject = pg_temp.id('writer')::text),
  'agent_day 2, agent_standard 3', 'calls_a_day is charged to the agent, in addition to its tier');

-- The audit trail
do $$ begin
  perform pg_temp.call('full', $q$ select set_config('feedback.key_id', (select private.agent_id())::text, true);
    select private.record_tool_call(gen_random_uuid(), 'vote_submission', 'submissions:write', '{submission_id}', 'hash') $q$);
  perform tests.see('feedback_api', format($q$ select private.record_tool_calls('[{"digest": "%s", "request_id": "%s", "tool": "list_submissions", "outcome": "ok",
    "duration_ms": 1.5, "argument_names": ["q"]}, {"digest": "00", "request_id": "%2$s", "tool": "x", "outcome": "ok", "duration_ms": 1, "argument_names": []}]') $q$,
    encode(pg_temp.digest('full'), 'hex'), gen_random_uuid()));
end $$;
select results_eq($$ select tool, outcome, argument_names from private.agent_audit order by id $$,
  $$ values ('vote_submission', 'ok', '{submission_id}'::text[]), ('list_submissions', 'ok', '{q}') $$, 'the audit trail has the calls of agents, and none with unknown keys');
select is(tests.try('operator', $$ update private.agent_audit set outcome = 'ok' $$), 'FB403', 'audit entries cannot be updated, even by the table''s owner');
select is(tests.try('operator', $$ delete from private.agent_audit $$), 'FB403', 'audit entries cannot be deleted, even by the table''s owner');
do $$ begin
  insert into private.agent_audit (organization_id, agent_id, key_id, request_id, tool, outcome, duration_ms, argument_names, created_at)
  values (tests.id('acme'), pg_temp.id('full'), pg_temp.id('full'), gen_random_uuid(), 'old', 'ok', 1, '{}', now() - interval '401 days');
  insert into private.agent_streams (id, organization_id, agent_id, tool, arguments, confirmed, locale, expires_at)
  values (gen_random_uuid(), tests.id('acme'), pg_temp.id('full'), 'x', '{}', false, 'en', now() - interval '1 second');
  insert into private.agent_subscriptions (id, organization_id, agent_id, events, expires_at)
  values (gen_random_uuid(), tests.id('acme'), pg_temp.id('full'), '{submission.created}', now() - interval '2 days');
  update private.rate_counters set started_at = now() - interval '3 hours';
  perform private.run_schedule();
end $$;
select is_empty($$ select from private.agent_audit where tool = 'old' $$, 'audit entries are deleted after 400 days');
select is_empty($$ select from private.agent_streams union all select from private.agent_subscriptions $$, 'expired streams and subscriptions are deleted');
select is((select string_agg(rule, ', ') from private.rate_counters), 'agent_day', 'calls of a day are counted for a day');
select lives_ok($$ delete from public.organizations where id = tests.id('acme') $$, 'an organization with agents can be deleted');
select is_empty($$ select from private.agents $$, 'deleting an organization deletes its agents');

select * from finish();
rollback;
