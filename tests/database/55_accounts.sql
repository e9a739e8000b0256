-- Permissions of deleted accounts and anonymous users.
begin;
set local search_path = public, extensions;
select plan(38);
do $$ begin
  perform tests.start();
  insert into auth.users (id, is_anonymous) values (tests.id('nobody'), true);
  perform tests.submission('An idea', 'alice');
  perform tests.comment('A comment', 'alice', 'An idea');
  perform tests.survey('Asked');
end $$;

-- Anonymous sign-ins
create temporary table acts (name text, statement text, takes text);
insert into acts values
  ('follow', $$ insert into follows (submission_id) values (tests.id('An idea')) $$, 'vote'),
  ('vote', $$ insert into votes (submission_id) values (tests.id('An idea')) $$, 'vote'),
  ('vote for a comment', $$ insert into comment_votes (comment_id) values (tests.id('A comment')) $$, 'vote'),
  ('comment', $$ insert into comments (submission_id, body) values (tests.id('An idea'), 'Theirs') $$, 'participate'),
  ('edit a comment', $$ update comments set body = 'Changed' where body = 'Theirs' $$, 'participate'),
  ('submit', $$ insert into submissions (organization_id, title, description, type)
    values (tests.id('acme'), 'Theirs', 'A description that is long enough.', 'idea') $$, 'participate'),
  ('edit a submission', $$ update submissions set title = 'Changed' where title = 'Theirs' $$, 'participate'),
  ('start a survey', $$ select start_survey(tests.id('Asked')) $$, 'participate'),
  ('answer a survey', format($$ insert into survey_responses (survey_id, answers) values (tests.id('Asked'), '[{"question_id": "%s", "value": 9}]') $$,
    (select id from survey_questions where survey_id = tests.id('Asked') and type = 'nps')), 'participate');
grant select on acts to public;
create function pg_temp.may(allowed text) returns setof text language plpgsql as $$
declare act acts;
begin
  update organizations set anonymous_may = allowed where id = tests.id('acme');
  for act in select * from acts loop
    continue when allowed <> 'participate' and act.name like 'edit%';
    return next is(tests.try('nobody', act.statement), case when act.takes = allowed or allowed = 'participate' then '1' else 'FB403' end,
      format('where anonymous users may %s, they %s %s', allowed, case when act.takes = allowed or allowed = 'participate' then 'do' else 'do not' end, act.name));
  end loop;
end
$$;
select is((select anonymous_may from organizations where id = tests.id('acme')), 'read', 'by default anonymous users may only read');
select is(tests.see('nobody', 'select count(*) from submissions'), '1', 'an anonymous user reads public content');
select * from pg_temp.may('read');
select * from pg_temp.may('vote');
do $$ begin
  perform tests.try('nobody', 'delete from votes');
  delete from votes where user_id = tests.id('nobody');
  delete from comment_votes;
  delete from follows where user_id = tests.id('nobody');
end $$;
select * from pg_temp.may('participate');
do $$ begin update organizations set anonymous_may = 'read' where id = tests.id('acme'); end $$;
select is(tests.try('nobody', $$ update comments set body = 'Again' where body = 'Changed' $$), 'FB403', 'without participate they cannot edit earlier comments');
select is(tests.try('nobody', $$ delete from votes where submission_id = tests.id('An idea') $$), '1', 'they can delete their votes');
do $$ begin update auth.users set is_anonymous = false, email = 'now@example.test' where id = tests.id('nobody'); end $$;
select is(tests.try('nobody', $$ insert into votes (submission_id) values (tests.id('An idea')) $$), '1', 'with an e-mail address they may vote immediately');

-- Deleted accounts
do $$ begin
  update auth.users set deleted_at = now(), email = 'scrambled-' || email where id in (tests.id('bob'), tests.id('mia'));
  delete from auth.users where id = tests.id('carol');
  update auth.users set email = 'scrambled-again' where id = tests.id('bob');
end $$;
select is((select (name, email, auth_user_id)::text from profiles where id = tests.id('bob')), '(,,)', 'a soft-deleted user has no name and no address');
select is_empty($$ select from memberships where user_id = tests.id('mia') $$, 'a soft-deleted user has no memberships');
select is(tests.see('feedback_api', format($$ select private.assume_caller(request_id => 'r', user_id => %L, digest => null, invalid_credential => false,
    address => null, operations => '{}', organization => null, on_behalf => null, origin => null, needs_origin => false,
    resource => null, resource_id => null, charge => true, access => 'public', required_scopes => null) $$, tests.id('bob'))),
  'FB401', 'the API rejects their token');
select is(tests.try(who, statement), outcome, format('%s, deleted: %s', who, statement)) from unnest(array['bob', 'carol']) as who, (values
  ('select from submissions', '0'), ('select from profiles', '0'),
  ('insert into votes (submission_id) values (tests.id(''An idea''))', 'FB404')) as t (statement, outcome);
select is_empty($$ select c.relname from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind = 'r'
  and not exists (select from pg_policy p where p.polrelid = c.oid and p.polname = 'only valid sessions see and change rows') $$,
  'every table has the policy for deleted users');

select * from finish();
rollback;
