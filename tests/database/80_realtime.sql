-- Row changes and broadcasts, and their subscribers.
begin;
set local search_path = public, extensions;
select plan(66);
do $$ begin
  perform tests.start();
  perform tests.submission('An idea', 'alice');
  perform tests.submission('Waiting', 'alice');
  update submissions set moderation_state = 'pending' where id = tests.id('Waiting');
  perform tests.submission('In the vault', 'vic', 'vault');
end $$;

-- Row changes
select set_eq($$ select tablename from pg_publication_tables where pubname = 'supabase_realtime' and schemaname = 'public' $$,
  array['submissions', 'votes', 'comments', 'notifications'], 'the publication has exactly these tables');
create temporary view identities as
  select c.relname, c.relreplident, a.attname from pg_publication_tables t join pg_class c on c.oid = format('%I.%I', schemaname, tablename)::regclass
  join pg_index i on i.indrelid = c.oid and case c.relreplident when 'i' then i.indisreplident else i.indisprimary end
  join pg_attribute a on a.attrelid = c.oid and a.attnum = any (i.indkey)
  where pubname = 'supabase_realtime' and schemaname = 'public';
select is_empty($$ select relname from identities where relreplident not in ('d', 'i') $$, 'no table has replica identity full');
select is_empty($$ select relname, attname from identities where attname not in ('id', 'submission_id', 'organization_id') $$,
  'old rows contain only opaque ids');
select is_empty($$ select name from unnest(array['votes', 'comments']) as name
  where not exists (select from identities where relname = name and attname = 'submission_id') $$, 'old rows pass a filter by submission');

-- Authorization of subscriptions
select is(tests.see(who, format('select private.may_listen(%L)', 'submission:' || tests.id(submission) || topic)), may::text,
  format('%s %s to %s%s', who, case when may then 'listens' else 'does not listen' end, submission, topic)) from (values
  ('anon', 'An idea', '', true), ('anon', 'An idea', ':team', false), ('anon', 'Waiting', '', false), ('anon', 'Nowhere', '', false),
  ('bob', 'An idea', '', true), ('bob', 'An idea', ':team', false), ('bob', 'In the vault', '', false), ('bob', 'In the vault', ':team', false),
  ('alice', 'Waiting', '', true), ('alice', 'Waiting', ':team', false),
  ('mia', 'An idea', ':team', true), ('mia', 'Waiting', ':team', true), ('mia', 'In the vault', ':team', false),
  ('rita', 'An idea', ':team', false), ('vic', 'In the vault', ':team', true), ('vic', 'An idea', ':team', false)) as t (who, submission, topic, may);
select is(tests.see(who, format('select private.may_listen(%L)', 'organization:' || tests.id(board) || topic)), may::text,
  format('%s %s to the board %s%s', who, case when may then 'listens' else 'does not listen' end, board, topic)) from (values
  ('anon', 'acme', '', true), ('anon', 'acme', ':team', false), ('anon', 'vault', '', false), ('bob', 'acme', ':team', false), ('bob', 'vault', '', false),
  ('mia', 'acme', ':team', true), ('mia', 'vault', ':team', false), ('vic', 'vault', '', true), ('vic', 'vault', ':team', true)) as t (who, board, topic, may);
select is(tests.see('mia', format('select private.may_listen(%L)', topic)), 'false', format('a member cannot join %L', topic))
from unnest(array['', 'submission:', 'submission:*', 'submission:not-an-id', 'submission:' || tests.id('An idea') || ':team:more',
  'organization:*', 'organizations:' || tests.id('acme'), 'x submission:' || tests.id('An idea'), 'submission:' || upper(tests.id('An idea')::text), null]) as topic
where topic is not null;
select is(tests.try(who, format('select set_config(''realtime.topic'', %L, true); insert into realtime.messages (topic, extension, event, payload, private)
    values (%1$L, ''broadcast'', ''INSERT'', ''{}'', true)', 'submission:' || tests.id('An idea'))), '42501', format('%s sends nothing there', who))
from unnest(array['anon', 'alice', 'adam']) as who;

-- Broadcasts: event, table and topic of those sent since the last call
create temporary table heard as select id from realtime.messages;
create function pg_temp.news() returns setof realtime.messages language sql as $$
  with new as (select m.* from realtime.messages m where not exists (select from heard h where h.id = m.id)),
    noted as (insert into heard select id from new) select * from new
$$;
create function pg_temp.messages() returns text language sql as $$
  select string_agg(format('%s %s to %s%s', event, payload ->> 'table', coalesce(s.title, o.slug), substr(topic, length(part[1]) + 37)), ', '
    order by event, payload ->> 'table', coalesce(s.title, o.slug), topic)
  from pg_temp.news() m cross join regexp_match(topic, '^(submission:|organization:)(.{36})') part
  left join submissions s on s.id = part[2]::uuid left join organizations o on o.id = part[2]::uuid
$$;
create function pg_temp.after(who text, statement text) returns text language plpgsql as $$
declare outcome text := tests.try(who, statement);
begin
  if outcome !~ '^\d{1,4}$' then raise exception '% could not: % (%)', who, statement, outcome; end if;
  return coalesce(pg_temp.messages(), 'nothing');
end
$$;
select is(pg_temp.after(who, statement), told, claim) from (values
  ('bob', $$ insert into votes (submission_id) values (tests.id('An idea')) $$, 'INSERT votes to An idea',
    'a vote is broadcast with the new count'),
  ('bob', $$ insert into votes (submission_id) values (tests.id('An idea')) on conflict do nothing $$, 'nothing', 'once'),
  ('bob', $$ delete from votes $$, 'DELETE votes to An idea', 'its removal too'),
  ('bob', $$ insert into comments (submission_id, body) values (tests.id('An idea'), 'A comment') $$, 'INSERT comments to An idea, UPDATE submissions to acme',
    'a comment, and its count to the board'),
  ('bob', $$ update comments set body = 'Changed' $$, 'UPDATE comments to An idea', 'its edit'),
  ('service_role', $$ update comments set moderation_state = 'spam' $$,
    'DELETE comments to An idea, INSERT comments to An idea:team, MODERATION comments to acme:team, UPDATE submissions to acme', 'spam moves from the public topic to the team topic'),
  ('vera', $$ insert into votes (submission_id) values (tests.id('In the vault')) $$, 'INSERT votes to In the vault:team',
    'changes of a private board are broadcast to its team only'),
  ('mia', $$ insert into comments (submission_id, body) values (tests.id('Waiting'), 'Not yet') $$, 'INSERT comments to Waiting:team, UPDATE submissions to acme:team',
    'pending content is broadcast to the team only'),
  ('operator', $$ update submissions set moderation_state = 'approved' where title = 'Waiting' $$,
    'DELETE comments to Waiting:team, DELETE submissions to Waiting:team, DELETE submissions to acme:team, INSERT comments to Waiting, INSERT submissions to Waiting, INSERT submissions to acme, MODERATION submissions to acme:team',
      'an approved submission appears on the public topic, with its comments'),
  ('service_role', $$ update organizations set visibility = 'private' where slug = 'acme' $$,
    'DELETE comments to Waiting, DELETE submissions to An idea, DELETE submissions to Waiting, DELETE submissions to acme, DELETE submissions to acme, INSERT comments to Waiting:team, INSERT submissions to An idea:team, INSERT submissions to Waiting:team, INSERT submissions to acme:team, INSERT submissions to acme:team',
    'a board that turns private disappears for everyone'),
  ('service_role', $$ update organizations set visibility = 'public' where slug = 'acme' $$,
    'DELETE comments to Waiting:team, DELETE submissions to An idea:team, DELETE submissions to Waiting:team, DELETE submissions to acme:team, DELETE submissions to acme:team, INSERT comments to Waiting, INSERT submissions to An idea, INSERT submissions to Waiting, INSERT submissions to acme, INSERT submissions to acme',
    'and comes back'),
  ('alice', $$ insert into submissions (organization_id, title, description, type) values (tests.id('acme'), 'Brand new', 'A description that is long enough.', 'idea') $$, 'INSERT submissions to acme',
    'the board hears of what is new'),
  ('alice', $$ delete from submissions where title = 'Brand new' $$, 'DELETE submissions to acme, DELETE submissions to ', 'a deleted submission is told once, without its votes'))
  as t (who, statement, told, claim);

-- Broadcasts to boards by the schedule
create function pg_temp.counts() returns text language sql as $$
  select string_agg(format('%s to %s%s', (
      select string_agg(format('%s %s %s', s.title, r ->> 'vote_count', r ->> 'comment_count'), ' and ' order by s.title)
      from jsonb_array_elements(payload -> 'records') r join submissions s on s.id = (r ->> 'id')::uuid),
    o.slug, substr(topic, 50)), ', ' order by o.slug)
  from pg_temp.news() m left join organizations o on o.id = substr(topic, 14, 36)::uuid where m.event = 'COUNTS'
$$;
-- Rows of this transaction become readable after it has ended, which is simulated here.
create function pg_temp.end_of_transaction() returns void language sql as $$ update private.outbox set xid = '1' $$;
do $$ begin
  perform tests.try('vera', 'delete from votes');
  perform pg_temp.end_of_transaction(), private.broadcast_counts(), pg_temp.messages();
  perform tests.try(who, $q$ insert into votes (submission_id) select id from submissions on conflict do nothing $q$) from unnest(array['bob', 'vera']) who;
  update private.outbox set xid = '2' where xid > '1';
  perform pg_temp.messages();
end $$;
select is(private.broadcast_counts(), 2, 'counters are broadcast in one message per board; those of a private board to its team');
select is(pg_temp.counts(), 'An idea 3 0 and Waiting 3 1 to acme, In the vault 2 0 to vault:team', 'each submission is in the message once, with both counters');
select is(private.broadcast_counts(), 0, 'a second run broadcasts nothing');
do $$ begin
  delete from votes where user_id in (tests.id('bob'), tests.id('vera'));
  update private.outbox set xid = '3' where xid > '2';
  perform private.broadcast_counts();
end $$;

-- Payloads
do $$ begin
  update submissions set description = 'A secret told to subscribers of nothing.' where id = tests.id('An idea');
  perform tests.try('bob', $q$ insert into votes (submission_id) values (tests.id('An idea')) $q$);
  perform tests.try('bob', $q$ delete from votes where submission_id = tests.id('An idea') $q$);
end $$;
select set_eq($$ select distinct key from pg_temp.news() m, jsonb_object_keys(coalesce(nullif(m.payload -> 'record', 'null'), m.payload -> 'old_record')) as key
  where m.payload ->> 'table' = 'votes' $$, array['id', 'organization_id', 'submission_id'], 'the broadcast of a vote contains neither the voter nor the time');
select is_empty($$ select from realtime.messages where payload::text like '%' || tests.id('bob')::text || '%' and payload ->> 'table' = 'votes' $$,
  'the voter''s id is nowhere in the message');
select is_empty($$ select from realtime.messages where payload::text ~ 'A secret told|@example.test' and payload ->> 'table' = 'submissions' $$,
  'the broadcast of a submission does not contain the description');
select is_empty('select from realtime.messages where not private', 'all broadcasts are private');

select is((select m.payload -> 'submission' ->> 'vote_count' from realtime.messages m
  where m.payload ->> 'table' = 'votes' and m.event = 'DELETE' and topic = 'submission:' || tests.id('An idea')
  order by m.payload -> 'submission' ->> 'vote_count' limit 1),
  (select vote_count::text from submissions where id = tests.id('An idea')), 'the broadcast of a vote has the new count');
select is_empty($$ select from realtime.messages m join submissions s on m.topic = 'submission:' || s.id
  where m.event = 'DELETE' and m.payload ->> 'table' = 'comments' and not s.is_public and m.payload ? 'submission' $$,
  'without the count if the submission is private');

-- Many in one statement
do $$ begin
  perform tests.submission('Popular', 'alice');
  insert into profiles (name) select 'Voter ' || n from generate_series(1, 101) as n;
  perform pg_temp.messages();
  insert into votes (submission_id, user_id) select tests.id('Popular'), id from profiles where name like 'Voter %';
end $$;
select is(pg_temp.messages(), 'RELOAD votes to Popular', 'more than 100 changes are broadcast as one RELOAD');

-- A plan that the connection made for one row must not be used to join many rows.
set constraints all immediate;
alter table submissions disable trigger user;
insert into submissions (organization_id, author_id, title, description, type, is_public)
select tests.id('rival'), tests.id('alice'), 'Number ' || n, 'A description that is long enough.', 'idea', true from generate_series(1, 20000) n;
alter table submissions enable trigger user;
set constraints all deferred;
do $$ begin
  update submissions set title = title || '!' where id = tests.id('An idea');
  perform set_config('statement_timeout', '30s', true), pg_temp.messages();
end $$;
select is(tests.try('operator', $$ update organizations set visibility = 'private' where slug = 'rival' $$), '1', 'a board of 20,000 submissions becomes private');
reset statement_timeout;
select is((select string_agg(distinct m.event || ' ' || split_part(m.topic, ':', 1), ', ') || ' ' || count(*) from pg_temp.news() m where m.payload ->> 'table' = 'submissions'),
  'RELOAD organization, RELOAD submission 100', 'its change is broadcast as one RELOAD to each of 100 topics, the boards first');

select * from finish();
rollback;
