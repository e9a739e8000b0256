-- What clients may hear: the publication, what a DELETE tells, broadcasts and who may join their topics.
begin;
set local search_path = public, extensions;
select plan(45);
select tests.start();

-- Row changes
create temporary view published as
  select c.oid, c.relname as name, c.relreplident, c.relrowsecurity from pg_publication_tables p
  join pg_class c on c.oid = format('%I.%I', p.schemaname, p.tablename)::regclass where p.pubname = 'supabase_realtime';
create temporary view identity_columns as
  select p.name, string_agg(a.attname, ' ' order by k.position) as columns
  from published p
  join pg_index i on i.indrelid = p.oid and case p.relreplident when 'i' then i.indisreplident else i.indisprimary end
  cross join unnest(i.indkey::int2[]) with ordinality as k (attnum, position)
  join pg_attribute a on a.attrelid = p.oid and a.attnum = k.attnum group by 1;

select bag_eq('select name from published', array['submissions', 'votes', 'comments', 'notifications'], 'what a live board needs is published, nothing else');
select is_empty('select name from published where not relrowsecurity', 'every published table has row-level security');
select is((select pubinsert and pubupdate and pubdelete from pg_publication where pubname = 'supabase_realtime'), true, 'inserts, updates and deletes are published');
select is_empty($$ select name from published where relreplident in ('f', 'n') $$,
  'no identity is the full row, which a filter on a DELETE could question, and none is missing');
select bag_eq('select name || '': '' || columns from identity_columns', array[
  'submissions: organization_id id', 'votes: submission_id id', 'comments: submission_id id', 'notifications: id'],
  'a DELETE carries opaque ids, led by what clients filter by');
select bag_eq($$
  select p.name || ': ' || string_agg(a.attname, ' ' order by k.position) from published p
  join pg_index i on i.indrelid = p.oid and i.indisprimary cross join unnest(i.indkey::int2[]) with ordinality as k (attnum, position)
  join pg_attribute a on a.attrelid = p.oid and a.attnum = k.attnum group by p.name $$,
  array['submissions: id', 'votes: submission_id id', 'comments: id', 'notifications: id'], 'and what it shows is the primary key');
select is_empty($$
  select p.name, role, a.attname from published p cross join unnest(array['anon', 'authenticated', 'service_role']) as role
  join pg_index i on i.indrelid = p.oid and (i.indisprimary or i.indisreplident)
  join pg_attribute a on a.attrelid = p.oid and a.attnum = any (i.indkey)
  where not has_column_privilege(role, p.oid, a.attnum, 'select') and (p.name <> 'notifications' or i.indisprimary) $$,
  'every role may read the key and the identity, or its subscriptions fail');
select is_empty($$
  select role from unnest(array['anon', 'authenticated']) as role where has_column_privilege(role, 'public.votes', 'user_id', 'select') $$,
  'nobody can filter votes by voter');
select is(has_column_privilege('anon', 'public.notifications', 'user_id', 'select'), false, 'anon cannot filter notifications by person');
select is_empty($$
  select p.name from published p join pg_index i on i.indrelid = p.oid and i.indisreplident where not i.indimmediate or not i.indisvalid or i.indpred is not null $$,
  'identities are indexes that replication accepts');

-- No policy raises, whatever the claims
create function pg_temp.reads(role text, claims text) returns setof text language plpgsql as $$
declare name text;
begin
  for name in select p.name from published p loop
    perform set_config('request.jwt.claims', claims, true), set_config('role', role, true);
    begin
      execute format('select count(id) from public.%I', name);
    exception when others then
      return next role || ' ' || name || ': ' || sqlerrm;
    end;
    perform set_config('role', 'none', true);
  end loop;
end
$$;
select is_empty($$ select pg_temp.reads(role, claims) from unnest(array['anon', 'authenticated', 'service_role']) as role,
  unnest(array['', '{}', '{"role":"anon"}', '{"sub":null}', '{"sub":""}', '{"sub":"00000000-0000-0000-0000-000000000000"}']) as claims
  where claims <> '{"sub":""}' $$, 'policies of published tables raise for nobody');
select tests.leave();

-- Broadcasts
select tests.submission('open idea', 'alice');
select tests.submission('vault idea', 'vera', 'vault');
create temporary view sent as
  select topic, event, payload - 'id' as payload, private, extension from realtime.messages where topic like 'submission:%';
create function pg_temp.topic(name text) returns text language sql as $$ select 'submission:' || tests.id(name) $$;
create function pg_temp.keys(value jsonb) returns setof text language sql as $$
  select * from jsonb_object_keys(case jsonb_typeof(value) when 'object' then value else '{}' end) $$;
create function pg_temp.forget() returns void language sql as $$ delete from realtime.messages $$;

select is_empty('select * from sent', 'a creation is no news on its own topic');
select tests.try('bob', $$ insert into public.votes (submission_id) values (tests.id('open idea')) $$);
select results_eq($$ select topic, event, payload ->> 'table', (payload -> 'record' ->> 'vote_count') from sent order by 3 $$,
  $$ values (pg_temp.topic('open idea'), 'UPDATE', 'submissions', '2'), (pg_temp.topic('open idea'), 'INSERT', 'votes', null) $$,
  'a vote is told on the topic of its submission, and the new count with it');
select is_empty($$ select * from sent where not private or extension <> 'broadcast' $$, 'on private topics only');
select results_eq($$ select payload - 'record' from sent where payload ->> 'table' = 'votes' $$,
  $$ values ('{"table": "votes", "schema": "public", "operation": "INSERT", "old_record": null}'::jsonb) $$, 'as realtime.broadcast_changes tells it');
select is_empty($$ select * from sent where payload::text like '%' || tests.id('bob') || '%' $$, 'no message names the voter');
select is_empty($$
  select payload ->> 'table', key from sent, pg_temp.keys(payload -> 'record') as key
  where not has_column_privilege('anon', 'public.' || (payload ->> 'table'), key, 'select') $$,
  'nothing is told that anon may not select');
select pg_temp.forget();

select tests.try('bob', $$ delete from public.votes where submission_id = tests.id('open idea') $$);
select results_eq($$ select event, jsonb_object_keys(payload -> 'old_record'), payload -> 'record' from sent where payload ->> 'table' = 'votes' order by 2 $$,
  $$ values ('DELETE', 'id', 'null'::jsonb), ('DELETE', 'submission_id', 'null'::jsonb) $$, 'a vote taken back is two opaque ids');
select pg_temp.forget();

select tests.comment('hello', 'bob', 'open idea');
select is((select payload -> 'record' ->> 'body' from sent where event = 'INSERT' and topic = pg_temp.topic('open idea')), 'hello', 'a comment is told');
select is_empty($$ select key from sent, pg_temp.keys(payload -> 'record') as key
  where payload ->> 'table' = 'comments' and not has_column_privilege('anon', 'public.comments', key, 'select') $$, 'and no column of it that anon may not select');
select pg_temp.forget();
update public.comments set moderation_state = 'rejected' where id = tests.id('hello');
select set_eq($$ select event, topic from sent where payload ->> 'table' = 'comments' and event <> 'UPDATE' $$,
  $$ values ('DELETE', pg_temp.topic('open idea')), ('INSERT', pg_temp.topic('open idea') || ':team') $$,
  'a comment that is rejected is gone for everyone and there for the team');
select is_empty($$ select * from sent where topic = pg_temp.topic('open idea') and payload::text like '%hello%' $$, 'its text is not told to everyone again');
select pg_temp.forget();
update public.comments set moderation_state = 'approved' where id = tests.id('hello');
select is((select payload -> 'record' ->> 'body' from sent where event = 'INSERT' and topic = pg_temp.topic('open idea')), 'hello',
  'a comment that is approved is an INSERT for everyone');
select pg_temp.forget();
delete from public.comments where id = tests.id('hello');
select results_eq($$ select payload -> 'old_record' from sent where payload ->> 'table' = 'comments' $$,
  $$ values (jsonb_build_object('submission_id', tests.id('open idea'), 'id', tests.id('hello'))) $$, 'a deleted comment is two opaque ids');
select pg_temp.forget();

insert into public.status_changes (submission_id, new_status, changed_by) values (tests.id('open idea'), 'planned', tests.id('adam'));
select is((select payload -> 'record' ->> 'status' from sent where event = 'UPDATE'), 'planned', 'a new status is told');
select pg_temp.forget();

insert into public.votes (submission_id, user_id) values (tests.id('vault idea'), tests.id('vic'));
select tests.comment('secret', 'vic', 'vault idea');
select isnt_empty($$ select * from sent where topic = pg_temp.topic('vault idea') || ':team' and payload::text like '%secret%' $$, 'a private board tells its team');
select is_empty($$ select * from sent where topic not like '%:team' $$, 'and nobody else');
select pg_temp.forget();
update public.organizations set visibility = 'private' where id = tests.id('acme');
select results_eq($$ select event, payload -> 'record' from sent where topic = pg_temp.topic('open idea') $$, $$ values ('DELETE', 'null'::jsonb) $$,
  'of a board that turns private everyone hears nothing but that it is gone');
select pg_temp.forget();
insert into public.votes (submission_id, user_id) values (tests.id('open idea'), tests.id('mia'));
select is_empty($$ select * from sent where topic = pg_temp.topic('open idea') $$, 'who joined before hears nothing any more');
update public.organizations set visibility = 'public' where id = tests.id('acme');
select pg_temp.forget();

insert into auth.users (id, email) select tests.id('crowd ' || n), 'crowd' || n || '@example.test' from generate_series(1, 101) n;
insert into public.votes (submission_id, user_id) select tests.id('open idea'), tests.id('crowd ' || n) from generate_series(1, 101) n;
select results_eq($$ select event, payload ->> 'table' from sent where payload ->> 'table' = 'votes' $$, $$ values ('RELOAD', 'votes') $$,
  'many rows at once are one message');
select pg_temp.forget();

update private.switches set is_on = false where name = 'broadcast_changes';
select tests.comment('quiet', 'bob', 'open idea');
insert into public.votes (submission_id, user_id) values (tests.id('open idea'), tests.id('carol'));
delete from public.comments where id = tests.id('quiet');
select is_empty('select * from sent', 'one switch turns all of it off');
update private.switches set is_on = true where name = 'broadcast_changes';

savepoint without_send;
drop function realtime.send(jsonb, text, text, boolean);
set local client_min_messages = error;
insert into public.votes (submission_id, user_id) values (tests.id('open idea'), tests.id('bob'));
select is(count(*), 1::bigint, 'a vote counts even where broadcasting fails')
from public.votes where submission_id = tests.id('open idea') and user_id = tests.id('bob');
rollback to without_send;

-- Topics
create function pg_temp.joins(who text, joined text) returns text language plpgsql as $$
declare found boolean;
begin
  insert into realtime.messages (topic, extension) values (joined, 'broadcast');
  perform set_config('realtime.topic', joined, true);
  found := tests.see(who, format('select count(*) > 0 from realtime.messages where topic = %L', joined));
  delete from realtime.messages;
  return who || case when found then ' joins' else ' may not' end;
end
$$;
select is(pg_temp.joins(who, pg_temp.topic('open idea')), who || ' joins', who || ' listens to a public submission')
from unnest(array['anon', 'bob', 'rita']) as who;
select is(pg_temp.joins(who, pg_temp.topic('vault idea')), expected, 'private board: ' || expected)
from (values ('anon', 'anon may not'), ('bob', 'bob may not'), ('vic', 'vic joins')) as v (who, expected);
select is(pg_temp.joins(who, pg_temp.topic('open idea') || ':team'), expected, 'the team''s topic: ' || expected)
from (values ('anon', 'anon may not'), ('alice', 'alice may not'), ('mia', 'mia joins')) as v (who, expected);
select is(pg_temp.joins('olga', topic), 'olga may not', 'no other topic is private to us: ' || topic)
from unnest(array['', 'submission:', 'submission:x', pg_temp.topic('open idea') || ':team:team']) as topic where topic <> '';
select is(tests.try('olga', $$ insert into realtime.messages (topic, extension) values (pg_temp.topic('open idea'), 'broadcast') $$), '42501',
  'nobody sends on a topic of ours');
select * from finish();
rollback;
