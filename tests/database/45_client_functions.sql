-- Clients of the data API write through functions, and not to tables that others write to as well.
begin;
set local search_path = public, extensions;
select plan(67);
do $$ begin
  perform tests.start();
  perform tests.submission('An idea', 'alice');
  perform tests.submission('Merged away', 'alice');
  perform tests.submission('Merged into', 'alice');
  perform tests.merge('Merged away', 'Merged into');
  perform tests.submission('In the vault', 'vic', 'vault');
  perform tests.comment('A comment', 'bob', 'An idea');
  perform tests.survey('A survey', 'published');
end $$;

-- The database generates the ids.
create function pg_temp.made(named text) returns uuid language sql security definer as $$
  select id from public.comments where body = named union all select id from public.submissions where title = named $$;
grant execute on function pg_temp.made(text) to authenticated;
-- Calls as PostgREST makes them: without the marker of the edge functions.
create function pg_temp.try(who text, statement text) returns text language plpgsql as $$
declare answer text; state text;
begin
  perform tests.become(who);
  perform set_config('feedback.by_function', '', true);
  execute statement into answer;
  perform tests.leave();
  return coalesce(answer, 'null');
exception when others then
  get stacked diagnostics state = returned_sqlstate;
  return state;
end
$$;

-- Tables
select is(pg_temp.try('bob', statement), 'FB403', 'refused: ' || statement) from unnest(array[
  $$ insert into submissions (organization_id, title, description, type) values (tests.id('acme'), 'A title', 'A description that is long enough.', 'idea') $$,
  $$ update submissions set title = 'Another title' where false $$,
  $$ delete from submissions where false $$,
  $$ insert into votes (submission_id) values (tests.id('An idea')) $$,
  $$ insert into votes (submission_id) values (tests.id('An idea')) returning id $$,
  $$ delete from votes where submission_id = tests.id('An idea') $$,
  $$ insert into follows (submission_id) values (tests.id('An idea')) $$,
  $$ delete from follows where submission_id = tests.id('An idea') $$,
  $$ insert into comments (submission_id, body) values (tests.id('An idea'), 'By the table') $$,
  $$ update comments set body = 'By the table' where id = tests.id('A comment') $$,
  $$ delete from comments where id = tests.id('A comment') $$,
  $$ insert into comment_votes (comment_id) values (tests.id('A comment')) $$,
  $$ delete from comment_votes where comment_id = tests.id('A comment') $$,
  $$ update notifications set read_at = now() where user_id = tests.id('bob') $$,
  $$ update profiles set name = 'By the table' where id = tests.id('bob') $$,
  $$ insert into survey_responses (survey_id, answers) values (tests.id('A survey'), '[]') $$]) as statement;
select is(tests.try('anon', 'insert into votes (submission_id) values (tests.id(''An idea''))'), '42501', 'an anonymous user has no insert privilege');
select is(tests.try('service_role', $$ insert into votes (organization_id, submission_id, user_id) values (tests.id('acme'), tests.id('An idea'), tests.id('carol')) $$), '1',
  'the secret key writes tables');
select is(pg_temp.try('adam', $$ insert into status_changes (submission_id, new_status) values (tests.id('An idea'), 'planned') returning new_status $$), 'planned',
  'an admin changes a status, which changes the submission in a trigger');

-- Functions
select is(pg_temp.try(who, call), outcome, claim) from (values
  ('bob', $$ select vote(tests.id('An idea')) $$, 'true', 'a person votes'),
  ('bob', $$ select vote(tests.id('In the vault')) $$, 'FB404', 'an invisible submission takes no vote'),
  ('bob', $$ select unvote(tests.id('In the vault')) $$, 'false', 'removing a vote that does not exist has no effect'),
  ('bob', $$ select follow(tests.id('In the vault')) $$, 'FB404', 'an invisible submission takes no follow'),
  ('bob', $$ select follow(tests.id('Merged away')) $$, 'FBM09', 'a merged submission takes no follow'),
  ('bob', $$ select create_comment(tests.id('An idea'), ' Said. ') is not null $$, 'true', 'a person comments'),
  ('bob', $$ select create_comment(tests.id('An idea'), 'Replied.', pg_temp.made('Said.')) is not null $$, 'true', 'and replies'),
  ('bob', $$ select body from comments where id = pg_temp.made('Said.') $$, 'Said.', 'which is trimmed'),
  ('carol', $$ select vote_comment(tests.id('Nowhere')) $$, 'FB404', 'a missing comment takes no vote'),
  ('bob', $$ select delete_comment(pg_temp.made('Said.')) $$, 'true', 'a person deletes their own'),
  ('bob', $$ select count(*) from comments where body in ('Said.', 'Replied.') $$, '0', 'with its replies'),
  ('adam', $$ select delete_comment(tests.id('A comment')) $$, 'true', 'an admin can delete a comment of another user'),
  ('bob', $$ select create_submission('A new idea', 'A description that is long enough.', 'idea', organization_id => tests.id('acme')) is not null $$,
    'true', 'a person submits'),
  ('bob', $$ select create_submission('A new idea', 'A description that is long enough.', 'idea') $$, 'FB400', 'the organization is named where there are several'),
  ('bob', $$ select create_submission('A new idea', 'A description that is long enough.', 'idea', organization_id => tests.id('vault')) $$, '42501',
    'an invisible board takes no submission'),
  ('bob', $$ select update_submission(pg_temp.made('A new idea'), '{"title": " A better idea "}') $$, 'true', 'its author can edit it'),
  ('bob', $$ select title || ' ' || description from submissions where id = pg_temp.made('A better idea') $$, 'A better idea A description that is long enough.', 'only the given fields change'),
  ('adam', $$ select update_submission(pg_temp.made('A better idea'), '{"tracker_issue_url": "https://tracker.example/1"}') $$, 'true', 'an admin sets the link to a tracker'),
  ('bob', $$ select update_submission(pg_temp.made('A better idea'), '{"vote_count": 1000}') $$, 'FB400', 'vote_count cannot be changed'),
  ('bob', $$ select update_submission(pg_temp.made('A better idea'), '[]') $$, 'FB400', 'changes are an object'),
  ('bob', $$ select update_submission(pg_temp.made('A better idea'), null) $$, 'FB400', 'and have to be there'),
  ('alice', $$ select mark_notifications_read(array[tests.id('Nowhere')]) $$, '0', 'notifications are marked read by their ids'),
  ('bob', $$ select update_profile('{"name": "Robert"}') $$, 'true', 'a person has a name'),
  ('bob', $$ select name from profiles where id = tests.id('bob') $$, 'Robert', 'of their own choice'),
  ('bob', $$ select update_profile('{"name": {"first": "Robert"}}') $$, 'FB400', 'which is text'),
  ('bob', $$ select update_submission(tests.id('An idea'), '{"title": 1234567}') $$, 'FB400', 'as a title is'),
  ('bob', $$ select update_profile('{"email": "robert@example.test"}') $$, 'FB400', 'but changes no address here'),
  ('bob', $$ select submit_survey_response(tests.id('Nowhere'), '[]') $$, 'FB404', 'a missing survey takes no response'))
  as t (who, call, outcome, claim);
select is(pg_temp.try('alice', 'select mark_notifications_read() > 0'), 'true', 'all notifications of a person are marked read');
select is((select count(*) from notifications where user_id = tests.id('alice') and read_at is null), 0::bigint, 'and are read');
select is(tests.refusal('bob', $$ select update_profile('{"email": "x"}') $$) ->> 'field', 'changes.email', 'the error names the field that cannot be changed');
select is(pg_temp.try('bob', $$ with voted as (select vote(tests.id('An idea'))) insert into votes (submission_id) select tests.id('An idea') from voted $$), 'FB403',
  'a direct write after a function call is rejected');
select is_empty('select * from private.count_discrepancies()', 'counters are exact');

-- Charges
select is(pg_temp.try('carol', $$ select count(vote_comment(tests.id('Nobody'))) $$), 'FB404', 'a vote for a deleted comment is rejected');
do $$ begin
  insert into comments (id, submission_id, author_id, body)
  select md5('c' || n)::uuid, tests.id('An idea'), tests.id('mia'), 'One of many' from generate_series(1, 11) n;
end $$;
select is(pg_temp.try('mia', $$ select count(*) from (select delete_comment(md5('c' || n)::uuid) from generate_series(1, 11) n) t $$), 'FB429',
  'each call in a statement is charged');
select is((select count(*) from comments where author_id = tests.id('mia')), 11::bigint, 'a call over the limit rolls back the whole statement');
select is(pg_temp.try('mia', $$ select count(*) from (select delete_comment(md5('c' || n)::uuid) from generate_series(1, 10) n) t $$), '10', 'as many calls as the limit allows are accepted');

-- The check before every request
create function pg_temp.request(method text, headers text, who text default 'bob') returns text language plpgsql as $$
begin
  perform set_config('request.method', method, true), set_config('request.headers', headers, true),
    set_config('statement_timeout', '8s', true), set_config('lock_timeout', '0', true);
  return pg_temp.try(who, 'select private.before_request()') || ' ' || current_setting('statement_timeout') || ' ' || current_setting('lock_timeout');
end
$$;
select is(pg_temp.request(method, headers, who), outcome, format('%s %s by %s', method, headers, who)) from (values
  ('GET', '{}', 'anon', ' 8s 0'), ('HEAD', '{}', 'bob', ' 8s 0'),
  ('POST', '{}', 'bob', ' 2s 1s'), ('PATCH', '{"prefer": "return=minimal"}', 'bob', ' 2s 1s'), ('DELETE', '{}', 'anon', ' 2s 1s'),
  ('POST', '{}', 'service_role', ' 8s 0'),
  ('GET', '{"prefer": "count=exact"}', 'anon', ' 8s 0'),
  ('GET', '{"prefer": "count=planned"}', 'anon', 'FB400 8s 0'), ('GET', '{"prefer": "return=minimal, Count = Estimated"}', 'bob', 'FB400 8s 0'),
  ('POST', '{"prefer": "count=\"planned\""}', 'bob', 'FB400 8s 0'), ('GET', '', 'anon', ' 8s 0')) as t (method, headers, who, outcome);
select * from finish();
rollback;
