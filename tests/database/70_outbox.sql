-- Each event is emitted once, with its payload, in the transaction of its change.
begin;
set local search_path = public, extensions;
select plan(31);
do $$ begin perform tests.start(); end $$;

create function pg_temp.events() returns text language sql as $$
  with told as (delete from private.outbox returning id, type) select string_agg(type, ', ' order by id) from told
$$;
create function pg_temp.do(who text, statement text) returns text language plpgsql as $$
declare outcome text;
begin
  delete from private.outbox;
  outcome := tests.try(who, statement);
  if outcome !~ '^\d{1,4}$' then raise exception '% could not: % (%)', who, statement, outcome; end if;
  return coalesce((select string_agg(type, ', ' order by id) from private.outbox), 'nothing');
end
$$;

-- One event for each change
do $$ begin perform tests.submission('An idea', 'alice'); perform tests.comment('a comment', 'bob', 'An idea'); perform tests.comment('a reply', 'bob', 'An idea', 'a comment'); end $$;
select is(pg_temp.do(who, statement), events, format('%s emits %s', claim, events)) from (values
  ('alice', $$ insert into submissions (id, organization_id, title, description, type)
    values (tests.id('Told'), tests.id('acme'), 'Told as it is', 'A description that is long enough.', 'problem') $$, 'submission.created', 'a submission'),
  ('alice', $$ update submissions set title = 'Told anew' where id = tests.id('Told') $$, 'submission.updated', 'an edit'),
  ('alice', $$ update submissions set title = 'Told anew' where id = tests.id('Told') $$, 'nothing', 'the same edit again'),
  ('bob', $$ insert into votes (submission_id) values (tests.id('Told')) on conflict do nothing $$, 'submission.vote_added', 'a vote'),
  ('bob', $$ insert into votes (submission_id) values (tests.id('Told')) on conflict do nothing $$, 'nothing', 'the same vote again'),
  ('bob', $$ delete from votes where submission_id = tests.id('Told') $$, 'submission.vote_removed', 'its removal'),
  ('bob', $$ delete from votes where submission_id = tests.id('Told') $$, 'nothing', 'its removal again'),
  ('bob', $$ insert into comments (submission_id, body) values (tests.id('Told'), 'Hear, hear') $$, 'comment.created', 'a comment'),
  ('bob', $$ update comments set body = 'Hear!' where submission_id = tests.id('Told') $$, 'nothing', 'its edit'),
  ('bob', $$ insert into comment_votes (comment_id) values (tests.id('a comment')) $$, 'nothing', 'a vote for a comment'),
  ('bob', $$ insert into follows (submission_id) values (tests.id('Told')) on conflict do nothing $$, 'nothing', 'a follow'),
  ('adam', $$ insert into status_changes (submission_id, new_status) values (tests.id('Told'), 'planned') $$, 'submission.status_changed',
    'a change of status'),
  ('adam', $$ insert into status_changes (submission_id, new_status) values (tests.id('Told'), 'planned') $$, 'nothing', 'the same status again'),
  ('bob', $$ delete from comments where id = tests.id('a comment') $$, 'nothing', 'a deleted thread'),
  ('alice', $$ delete from submissions where id = tests.id('Told') $$, 'nothing', 'a deleted submission'))
  as t (who, statement, events, claim);

-- Payloads
do $$ begin
  delete from private.outbox;
  perform tests.submission('Another idea', 'alice');
  insert into votes (submission_id, user_id) values (tests.id('Another idea'), tests.id('bob'));
  perform tests.comment('official', 'mia', 'Another idea');
  perform tests.comment('answer', 'bob', 'Another idea', 'official');
  update submissions set description = 'Another description that is long enough.' where id = tests.id('Another idea');
  delete from votes where user_id = tests.id('bob');
end $$;
select is((select data #>> '{comment,parent_id}' from private.outbox where data #>> '{comment,id}' = tests.id('answer')::text), tests.id('official')::text,
  'and its parent');
select set_eq('select type, organization_id, subject_id from private.outbox', $$ select type, tests.id('acme') as organization_id, tests.id(subject) as subject_id from (values
    ('submission.created', 'Another idea'), ('submission.updated', 'Another idea'), ('submission.vote_added', 'Another idea'),
    ('submission.vote_removed', 'Another idea'), ('comment.created', 'official'), ('comment.created', 'answer')) as t (type, subject) $$,
  'every event has its organization and subject');
select is((select count(distinct event_id) from private.outbox), 6::bigint, 'every event has its own id');
select is((select count(*) from private.outbox where xid = pg_current_xact_id()), 6::bigint, 'every event has its transaction id');
select is_empty('select from private.outbox where xid < pg_snapshot_xmin(pg_current_snapshot())', 'readers skip events of open transactions');

-- No addresses
do $$ begin
  perform tests.become('acme key with submissions:write submissions:moderate');
  insert into submissions (id, organization_id, author_id, title, description, type) values
    (tests.id('By Eve'), tests.id('acme'), private.author_of_key('eve@example.test', null), 'By nobody named', 'A description that is long enough.', 'idea');
  insert into votes (submission_id, user_id) values (tests.id('Another idea'), private.author_of_key('eve@example.test', null));
  insert into comments (submission_id, author_id, body) values (tests.id('Another idea'), private.author_of_key('eve@example.test', null), 'From afar');
  insert into status_changes (submission_id, new_status) values (tests.id('By Eve'), 'planned');
  perform tests.leave();
end $$;
select is_empty($$ select data from private.outbox where data::text like '%@%' $$, 'no event has an e-mail address');
select is((select data #>> '{comment,author,name}' from private.outbox where data #>> '{comment,body}' = 'From afar'), 'Anonymous', 'no event has a name derived from an address');

-- Changes without effect create no event
do $$ begin delete from private.outbox; end $$;
select is(tests.try('alice', $$ with made as (
    insert into submissions (organization_id, title, description, type) values (tests.id('acme'), 'A fine title', 'A description that is long enough.', 'idea'))
  insert into comments (submission_id, body) values (tests.id('Another idea'), '') $$), '23514 body_has_1_to_2000_characters', 'a statement with an invalid comment fails');
select is_empty('select from private.outbox', 'a failed statement creates no event');
do $$ begin update organizations set max_submissions = 0 where slug = 'acme'; delete from private.outbox; end $$;
select is(tests.try('alice', $$ insert into submissions (organization_id, title, description, type)
  values (tests.id('acme'), 'One too many', 'A description that is long enough.', 'idea') $$), 'FB402', 'a submission over the plan''s limit is rejected');
select is_empty('select from private.outbox', 'a rejected submission creates no event');
do $$ begin update organizations set max_submissions = null where slug = 'acme'; end $$;

-- Approval
do $$ begin update organizations set require_approval = true where slug = 'acme'; end $$;
select is(pg_temp.do('bob', $$ insert into submissions (id, organization_id, title, description, type)
  values (tests.id('Waiting'), tests.id('acme'), 'Waiting here', 'A description that is long enough.', 'idea') $$), 'nothing',
    'a pending submission creates no event');
select is(pg_temp.do('bob', $$ update submissions set title = 'Still waiting' where id = tests.id('Waiting') $$), 'nothing', 'editing a pending submission creates no event');
select is(pg_temp.do('service_role', format('update submissions set moderation_state = %L where id = tests.id(''Waiting'')', state)), events, claim)
from (values
  ('rejected', 'nothing', 'rejection creates no event'),
  ('approved', 'submission.created', 'approval creates the event')) as t (state, events, claim);
do $$ begin
  update submissions set moderation_state = 'spam' where id = tests.id('Waiting');
  update submissions set moderation_state = 'approved' where id = tests.id('Waiting');
end $$;
select is((select count(*) from private.outbox where type = 'submission.created'), 1::bigint, 'an approved submission creates one event');

select * from finish();
rollback;
