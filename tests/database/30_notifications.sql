-- Recipients of notifications: once each, and never the actor.
begin;
set local search_path = public, extensions;
select plan(39);
do $$ begin
  perform tests.start();
  perform tests.submission('An idea', 'alice');
end $$;

create function pg_temp.notified() returns table (recipient text) language sql as $$
  select p.name || ': ' || n.type from notifications n join profiles p on p.id = n.user_id
$$;
create function pg_temp.forget() returns void language sql as $$ delete from notifications $$;

-- Votes
do $$ begin perform tests.try('bob', $q$ insert into votes (submission_id) values (tests.id('An idea')) $q$); end $$;
select is(tests.see('alice', 'select ' || hidden || ' from notifications'), '42501', 'but finds nothing of the voter in ' || hidden)
from unnest(array['event_id', '*', 'row_to_json(notifications)']) as hidden;
select is(tests.see('alice', $$ select count(*) from information_schema.columns
  where table_name = 'notifications' and column_name ~ 'actor|voter|author' $$), '0', 'notifications have no column for the actor');

-- Comments: Alice wrote the submission, Bob and Carol follow it
do $$ begin
  insert into follows (submission_id, user_id) values (tests.id('An idea'), tests.id('carol'));
  perform tests.comment('by bob', 'bob', 'An idea');
end $$;
do $$ begin perform pg_temp.forget(); perform tests.comment('to bob', 'carol', 'An idea', 'by bob'); end $$;
do $$ begin perform pg_temp.forget(); perform tests.comment('to carol', 'bob', 'An idea', 'to bob'); end $$;
select set_eq('select recipient from pg_temp.notified()', array['Alice: comment', 'Carol: reply'], 'a reply does not notify authors of earlier comments as a reply');
do $$ begin perform pg_temp.forget(); perform tests.comment('by alice', 'alice', 'An idea'); end $$;
do $$ begin perform pg_temp.forget(); perform tests.comment('to alice', 'bob', 'An idea', 'by alice'); end $$;
select bag_eq('select recipient from pg_temp.notified()', array['Alice: reply', 'Carol: comment'],
  'a user with several reasons gets one notification, of the reply');
do $$ begin
  delete from follows where user_id in (tests.id('alice'), tests.id('bob'), tests.id('mia'));
  perform pg_temp.forget();
  perform tests.comment('once more', 'carol', 'An idea', 'by bob');
end $$;
select set_eq('select recipient from pg_temp.notified()', array['Alice: comment', 'Bob: reply'],
  'the author and the parent''s author are notified without following; former followers are not');

-- One statement with several comments: one row for each comment and person
do $$ begin
  perform pg_temp.forget();
  insert into comments (submission_id, author_id, body) values (tests.id('An idea'), tests.id('bob'), 'One'), (tests.id('An idea'), tests.id('bob'), 'Two');
end $$;
select bag_eq('select recipient from pg_temp.notified()', array['Alice: comment', 'Alice: comment', 'Carol: comment', 'Carol: comment'], 'two comments create two notifications');

-- Keys and authors known by e-mail
do $$ begin
  perform pg_temp.forget();
  insert into profiles (id, kind, organization_id, email, name) values (tests.id('eve'), 'email', tests.id('acme'), 'eve@example.test', 'Eve');
  perform tests.submission('By a backend', 'acme key');
  perform tests.submission('By Eve', 'eve');
  insert into votes (submission_id, user_id) values (tests.id('By a backend'), tests.id('bob')), (tests.id('By Eve'), tests.id('bob'));
  perform tests.comment('on a backend''s', 'bob', 'By a backend');
end $$;
select set_eq('select recipient from pg_temp.notified()', array['Eve: vote'], 'keys get no notifications; those of an e-mail author are stored');

-- Reading
do $$ begin
  perform pg_temp.forget();
  perform tests.comment('to be read', 'bob', 'An idea');
  perform tests.comment('to be left', 'bob', 'An idea');
end $$;
select is(tests.see(who, 'select count(*) from notifications'), seen, format('%s sees %s notifications', who, seen)) from (values
  ('alice', '2'), ('carol', '2'), ('bob', '0'), ('mia', '0'), ('rita', '0'), ('anon', '0'), ('acme key with submissions:read submissions:moderate', '42501'))
  as t (who, seen);
select is(tests.try('alice', $$ update notifications set read_at = now() where comment_id = tests.id('to be read') $$), '1', 'a user marks a notification as read');
select is((select string_agg(p.name, ', ') from notifications n join profiles p on p.id = n.user_id where read_at is not null), 'Alice', 'for oneself alone');
select is(tests.try('alice', format('update notifications set %s', change)), '42501', 'a notification cannot be updated with ' || change)
from unnest(array['type = ''vote''', 'user_id = tests.id(''bob'')', 'comment_id = null', 'created_at = now()']) as change;
select is(tests.try('alice', 'delete from notifications'), '42501', 'users cannot delete notifications');
select is(tests.try('alice', $$ insert into notifications (organization_id, user_id, type, submission_id, event_id)
  values (tests.id('acme'), tests.id('bob'), 'vote', tests.id('An idea'), tests.id('event')) $$), '42501', 'users cannot insert notifications');

-- More than 500 followers
do $$ begin
  perform pg_temp.forget();
  perform tests.submission('A popular one', 'alice');
  insert into profiles (name) select 'Follower ' || n from generate_series(1, 1200) as n;
  insert into follows (submission_id, user_id) select tests.id('A popular one'), id from profiles where name like 'Follower %';
  insert into follows (submission_id, user_id) values (tests.id('A popular one'), tests.id('bob'));
  perform tests.comment('news', 'bob', 'A popular one');
end $$;
select is((select count(*) from notifications) between 500 and 501, true, 'the first 500 followers and the author are notified in the same transaction');
select isnt_empty($$ select from notifications where user_id = tests.id('alice') $$, 'the author is notified');
select is((select count(*) from private.fanouts), 1::bigint, 'the remaining followers are queued');
select is(private.run_fanouts(300), 1, 'a run notifies more followers');
select is((select count(*) from notifications) between 798 and 801, true, 'a run notifies at most 300');
select is((select count(*) from private.fanouts), 1::bigint, 'the queue keeps the position');
do $$ begin perform private.run_fanouts(300); perform private.run_fanouts(300); end $$;
select is((select count(*) from notifications), 1201::bigint, 'all followers are notified in the end');
select is_empty($$ select from notifications where user_id = tests.id('bob') $$, 'the person who made the change is not notified');
select is_empty('select user_id from notifications group by user_id having count(*) > 1', 'nobody is notified twice');
select is_empty('select from private.fanouts', 'the queue is empty');
select is(private.run_fanouts(300), 0, 'a further run does nothing');
select is((select count(*) from notifications), 1201::bigint, 'a further run creates no notifications');
do $$ begin perform tests.comment('more news', 'carol', 'A popular one'); delete from comments where id = tests.id('more news'); end $$;
select is_empty('select from private.fanouts', 'deleting a comment deletes its queue entry');
do $$ begin
  perform pg_temp.forget();
  perform tests.submission('Theirs', 'rita', 'rival');
  insert into follows (submission_id, user_id) select tests.id('Theirs'), id from profiles where name like 'Follower %' limit 3;
  insert into private.fanouts (event_id, organization_id, submission_id, type, created_at)
  select tests.id('burst ' || n), tests.id('acme'), tests.id('A popular one'), 'status_changed', now() - interval '1 hour' from generate_series(1, 30) n
  union all select tests.id('theirs'), tests.id('rival'), tests.id('Theirs'), 'status_changed', now();
  perform private.run_fanouts(100);
end $$;
select is((select count(*) from notifications where organization_id = tests.id('rival')), 4::bigint, 'many fan-outs of an organization do not delay another''s');
select is((select count(*) from notifications), 99::bigint, 'and a run notifies one batch of people in all');

select * from finish();
rollback;
