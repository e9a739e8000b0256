-- Pending content is visible to its author and the team only; rejected content hides its thread.
begin;
set local search_path = public, extensions;
select plan(73);
do $$ begin
  perform tests.start();
  update organizations set require_approval = true where slug = 'acme';
  perform tests.submission('An idea', 'mia');
  insert into votes (submission_id, user_id) values (tests.id('An idea'), tests.id('carol'));
  insert into follows (submission_id, user_id) values (tests.id('An idea'), tests.id('bob'));
  delete from private.outbox; delete from notifications; delete from realtime.messages;
end $$;

create function pg_temp.text_of(named uuid) returns timestamptz language sql as $$
  select updated_at from comments where id = named union all select updated_at from submissions where id = named $$;
create function pg_temp.moderate(what text, name text, action text, trust boolean default null) returns text language sql as $$
  select format('select private.admin_moderate(%L, %L, %L, %L, %L, %L)', what, tests.id(name), action, 'Because', trust, pg_temp.text_of(tests.id(name))) $$;
create function pg_temp.say(name text, parent text default null) returns text language sql as $$
  select format('insert into comments (id, submission_id, parent_id, body) values (%L, %L, %L, %L)', tests.id(name), tests.id('An idea'), tests.id(parent), name) $$;
create function pg_temp.submit(name text) returns text language sql as $$
  select format('insert into submissions (id, organization_id, title, description, type) values (%L, %L, %L, ''A description that is long enough.'', ''idea'')', tests.id(name), tests.id('acme'), name) $$;
create function pg_temp.state(name text) returns text language sql as $$
  select moderation_state from comments where id = tests.id(name) union all select moderation_state from submissions where id = tests.id(name) $$;
create function pg_temp.queue(state text, type text default null) returns text language sql as $$
  select format('select string_agg(coalesce(q ->> ''title'', q ->> ''body''), '', '' order by q ->> ''title'') from private.admin_moderation_queue(%L, %L, null, null, 50), json_array_elements(data) q', state, type) $$;

-- Which content is pending
select is(tests.try(who, pg_temp.submit(name)), '1', format('%s submits', who)) from (values ('alice', 'By Alice'), ('mia', 'By Mia')) as t (who, name);
select is(tests.try(who, pg_temp.say(name)), '1', format('%s comments', who)) from (values ('alice', 'alices'), ('mia', 'mias')) as t (who, name);
select is(pg_temp.state(name), state, format('%s is %s', name, state)) from (values
  ('By Alice', 'pending'), ('By Mia', 'approved'), ('alices', 'pending'), ('mias', 'approved')) as t (name, state);
select is(tests.see(who, $$ select count(*) from comments where id = tests.id('alices') $$), seen, format('%s sees %s of a comment that waits', who, seen))
from (values ('alice', '1'), ('mia', '1'), ('bob', '0'), ('rita', '0'), ('acme key', '0'), ('acme key with submissions:read', '1')) as t (who, seen);
select is((select comment_count from submissions where id = tests.id('An idea')), 1, 'it is not counted');
select is_empty($$ select from private.outbox where subject_id in (tests.id('alices'), tests.id('By Alice')) $$, 'pending content creates no event');
select is_empty($$ select from notifications where comment_id = tests.id('alices') $$, 'pending content creates no notification');
select is_empty($$ select from realtime.messages where payload::text like '%alices%' and topic not like '%:team' $$, 'pending content is broadcast to the team only');

-- The queue and its permissions
create function pg_temp.queue_of(who text, state text default 'pending', type text default null) returns text language plpgsql as $$ begin
  perform set_config('feedback.organization_id', tests.id('acme')::text, true); return tests.see(who, pg_temp.queue(state, type)); end $$;
select is(pg_temp.queue_of('adam', 'pending', type), found, format('an admin finds %s of type %s', found, type))
from (values (null, 'By Alice, alices'), ('submission', 'By Alice'), ('comment', 'alices')) as t (type, found);
select is(pg_temp.queue_of('adam', 'approved'), null, 'approved items are not in the queue');
select is(pg_temp.queue_of(who), 'FB403', format('%s does not see the queue', who)) from unnest(array['alice', 'mia', 'rita', 'acme key with submissions:read']) as who;
select is(tests.try(who, pg_temp.moderate('comment', 'alices', 'approve')), outcome, format('%s approves nothing', who)) from (values
  ('alice', 'FB403'), ('mia', 'FB403'), ('bob', 'FB404'), ('rita', 'FB404'), ('anon', '42501'), ('rival key with submissions:moderate', 'FB404'),
  ('acme key with submissions:write', 'FB404')) as t (who, outcome);
select is(tests.try('alice', $$ update comments set moderation_state = 'approved' where id = tests.id('alices') $$), '42501', 'the author cannot set the state');

-- Approved
do $$ begin delete from realtime.messages; end $$;
select is(tests.try('adam', pg_temp.moderate('comment', 'alices', 'approve')), '1', 'an admin approves a comment');
select is((select comment_count from submissions where id = tests.id('An idea')), 2, 'the approved comment is counted');
select is((select count(*) from private.outbox where type = 'comment.created' and subject_id = tests.id('alices')), 1::bigint, 'its approval creates an event');
select set_eq($$ select user_id from notifications where comment_id = tests.id('alices') $$, $$ select tests.id(who) from unnest(array['mia', 'bob', 'carol']) as who $$, 'its approval notifies the author and the followers');
select ok(exists (select from realtime.messages where event = 'INSERT' and topic = 'submission:' || tests.id('An idea') and payload::text like '%alices%'), 'its approval is broadcast');
select is(tests.try('acme key with submissions:moderate', pg_temp.moderate('submission', 'By Alice', 'approve')), '1', 'a key with submissions:moderate approves a submission');
select is((select count(*) from private.outbox where type = 'submission.created' and subject_id = tests.id('By Alice')), 1::bigint, 'the approval of a submission creates an event');
select is(tests.try('adam', pg_temp.moderate('submission', 'By Alice', 'approve')), '1', 'a repeated approval is accepted');
select results_eq($$ select action, target_id, details - 'reason' from private.audit_log where actor_id = tests.id('adam') $$,
  $$ values ('comment.approve', tests.id('alices'), '{"state": {"from": "pending", "to": "approved"}}'::jsonb) $$, 'a repeated approval adds no audit entry');

-- Threads
do $$ begin
  perform tests.try('mia', pg_temp.say('official', 'alices'));
  perform tests.comment('deep', 'bob', 'An idea', 'official');
  perform tests.comment('deeper', 'mia', 'An idea', 'deep');
  perform tests.try('adam', pg_temp.moderate('comment', 'deep', 'reject'));
  perform tests.try('adam', pg_temp.moderate('comment', 'alices', 'reject'));
end $$;
select is(tests.see('bob', $$ select count(*) from comments where body in ('alices', 'official', 'deeper') $$), '0', 'rejecting a comment hides its replies, official ones too');
select is(tests.see('bob', $$ select count(*) from notifications where comment_id in (tests.id('official'), tests.id('alices')) $$), '0', 'notifications of hidden comments are hidden');
select is((select comment_count from submissions where id = tests.id('An idea')), 1, 'replies of a spam comment are not counted');
select is(tests.try('adam', pg_temp.moderate('comment', 'official', 'approve')), 'FB409', 'a reply to a comment that is not approved cannot be approved');
do $$ begin perform tests.try('adam', pg_temp.moderate('comment', 'alices', 'approve')); end $$;
select is(pg_temp.state(name), state, format('after the approval of the first %s is %s', name, state)) from (values
  ('official', 'approved'), ('deep', 'rejected'), ('deeper', 'rejected')) as t (name, state);
do $$ begin
  perform tests.try('adam', pg_temp.moderate('comment', 'alices', 'reject'));
  perform tests.try('adam', pg_temp.moderate('comment', 'official', 'spam'));
  perform tests.try('adam', pg_temp.moderate('comment', 'alices', 'approve'));
end $$;
select is(pg_temp.state('official'), 'spam', 'a comment with a decision of its own keeps it');
select is((select count(*) from private.outbox where type = 'comment.created' and subject_id = tests.id('alices')), 1::bigint, 'no event is sent twice');

-- Trust
select is(tests.try('adam', pg_temp.moderate('comment', 'alices', 'approve', true)), '1', 'an admin may approve and trust an author');
do $$ begin perform tests.try('alice', pg_temp.submit('Trusted one')); end $$;
select is(pg_temp.state('Trusted one'), 'approved', 'submissions of a trusted author need no approval');
do $$ begin
  perform tests.try('adam', pg_temp.moderate('submission', 'Trusted one', 'spam'));
  perform tests.try('alice', pg_temp.submit('Spammer again'));
end $$;
select is(pg_temp.state('Spammer again'), 'pending', 'a spam verdict ends the trust');
do $$ begin
  update organizations set trust_after = 1 where slug = 'acme';
  perform tests.try('alice', pg_temp.submit('Spammer still'));
  perform tests.try('carol', pg_temp.submit('Carols first'));
end $$;
select is(pg_temp.state('Spammer still'), 'pending', 'spam verdicts count more than approvals');
select is(pg_temp.state('Carols first'), 'pending', 'submissions of an author without approvals are pending');
do $$ begin
  perform tests.try('adam', pg_temp.moderate('submission', 'Carols first', 'approve'));
  perform tests.try('carol', pg_temp.submit('Carols second'));
end $$;
select is(pg_temp.state('Carols second'), 'approved', 'submissions of an author with enough approvals are approved');
select is(private.is_trusted(tests.id('rival'), tests.id('carol')), false, 'trust applies to one organization');

-- Undone, and many at once
do $$ begin
  delete from realtime.messages;
  perform tests.try('adam', pg_temp.moderate('submission', 'Carols second', 'spam'));
end $$;
select is(private.is_trusted(tests.id('acme'), tests.id('carol')), false, 'a spam verdict ends trust by approvals');
select is(tests.try('adam', pg_temp.moderate('submission', 'Carols second', 'reopen')), '1', 'an admin may reopen a submission');
select is(pg_temp.state('Carols second'), 'pending', 'a reopened submission is pending');
select is(private.is_trusted(tests.id('acme'), tests.id('carol')), true, 'reopening restores the author''s trust');
select is((select jsonb_agg(m.payload -> 'record' ->> 'moderation_state' order by m.payload -> 'record' ->> 'moderation_state') from realtime.messages m
  where m.event = 'MODERATION' and m.payload -> 'record' ->> 'id' = tests.id('Carols second')::text), '["pending", "spam"]', 'each change is broadcast to the team');
select is_empty($$ select topic from realtime.messages where event = 'MODERATION' and topic <> 'organization:' || tests.id('acme') || ':team' $$, 'moderation messages go to the team''s topic only');
do $$ begin perform set_config('feedback.organization_id', tests.id('acme')::text, true); end $$;
create function pg_temp.many(types text[], names text[], action text) returns text language sql as $$
  select format('select private.admin_moderate_many(%L, %L, %L, null, null, %L)', types, array(select tests.id(n) from unnest(names) with ordinality as t (n, place) order by place), action,
    array(select pg_temp.text_of(tests.id(n)) from unnest(names) with ordinality as t (n, place) order by place)) $$;
select is(tests.try(who, pg_temp.many(array['submission'], array['Carols second'], 'approve')), outcome, format('%s decides many: %s', who, outcome)) from (values
  ('anon', '42501'), ('alice', 'FB403'), ('mia', 'FB403'), ('rita', 'FB403')) as t (who, outcome);
select is(tests.see('adam', 'select string_agg(r ->> ''ok'', '' '') from (' || pg_temp.many(array['submission', 'comment', 'comment'], array['Carols second', 'deep', 'nothing'], 'approve')
  || ') as m (results), json_array_elements(results) r'), 'true false false', 'each item has its own result');
select is(pg_temp.state('Carols second'), 'approved', 'valid items are changed');
select is(pg_temp.state('deep'), 'rejected', 'invalid items are unchanged');
select is_empty('select * from private.count_discrepancies()', 'all counters are correct');

select * from finish();
rollback;
