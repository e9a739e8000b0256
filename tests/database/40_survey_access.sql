-- Visibility of surveys, and attempts to read or write beyond it.
begin;
set local search_path = public, extensions;
select plan(120);
set constraints all immediate;
do $$ begin perform tests.start(); end $$;

do $$ begin
  perform tests.survey(o || ' ' || s, s, o, questions => '[{"type": "multiple_choice", "text": "Which?", "options": ["One", "Two"]}]')
  from unnest(array['acme', 'rival', 'vault']) o, unnest(array['draft', 'published', 'paused', 'archived']) s;
  insert into survey_responses (survey_id, user_id, answers) values
    (tests.id('acme published'), tests.id('alice'), tests.answers('acme published', '"One"')), (tests.id('rival published'), tests.id('alice'), tests.answers('rival published', '"One"')),
    (tests.id('acme published'), tests.id('bob'), tests.answers('acme published', '"Two"')), (tests.id('vault published'), tests.id('vic'), tests.answers('vault published', '"One"'));
end $$;

-- Visible rows of each caller: surveys by organization and number of states, then questions, options,
-- responses
select is(tests.see(who, $$ select coalesce(string_agg(slug || n, ' ' order by slug), 'none') from (
  select o.slug, count(*) as n from surveys s join organizations o on o.id = s.organization_id group by 1) t $$), surveys, format('%s sees surveys', who)) from (values
  ('anon', 'acme3 rival3'), ('alice', 'acme3 rival3'), ('mia', 'acme4 rival3'), ('olga', 'acme4 rival3'), ('rita', 'acme3 rival4'), ('vic', 'acme3 rival3 vault4'), ('vera', 'acme3 rival3 vault4'),
  ('acme key', 'acme3'), ('acme key with surveys:read', 'acme4'), ('acme key with surveys:publish', 'acme4'), ('acme key with responses:read', 'acme3'), ('acme key with submissions:read', 'acme3'),
  ('vault key', 'none'), ('vault key with submissions:read', 'none'), ('vault key with analytics:read', 'vault3'), ('vault key with surveys:write', 'vault4')) as t (who, surveys);
select is(tests.see(who, $$ select concat_ws(' ', (select count(*) from survey_questions), (select count(*) from survey_options)) $$),
  tests.see(who, $$ select concat_ws(' ', count(*), 2 * count(*)) from surveys $$), format('%s sees the questions of those', who))
from unnest(array['anon', 'alice', 'mia', 'olga', 'rita', 'vic', 'acme key', 'acme key with surveys:read', 'vault key']) who;
select is(tests.see(who, 'select count(*) from survey_responses'), responses, format('%s sees %s responses', who, responses)) from (values
  ('anon', '42501'), ('carol', '0'), ('alice', '2'), ('bob', '1'), ('mia', '0'), ('olga', '2'), ('adam', '2'), ('rita', '1'), ('vera', '1'), ('vic', '1'), ('acme key', '0'), ('acme key with surveys:read analytics:read', '0'),
  ('acme key with responses:read', '2'), ('vault key with responses:read', '1')) as t (who, responses);
select is(tests.see(who, format('select %I from %s limit 1', name, path)), '42501', format('%s does not read %s of %s', who, name, path)) from
  (values ('surveys', 'audience'), ('surveys', 'audience_submission_id'), ('surveys', 'locales'), ('surveys', 'family_id'), ('survey_responses', 'is_only'), ('private.survey_counts', 'responses'),
    ('private.survey_answer_counts', 'total'), ('private.survey_starts', 'user_id')) as t (path, name), unnest(array['olga', 'acme key with surveys:read responses:read']) who;
select is(tests.see(who, format('select private.survey_targeting(%L)', tests.id('acme published')))::text ~ '^\{', is_allowed, format('%s reads targeting', who)) from (values
  ('olga', true), ('acme key with surveys:read', true), ('mia', false), ('alice', false), ('rita', false), ('anon', false), ('acme key with responses:read', false), ('rival key with surveys:read', false)) as t (who, is_allowed);

-- Writing rows of others
create temporary table attempts (statement text);
insert into attempts values
  ($$ insert into surveys (organization_id, title) values (tests.id('acme'), 'Mine') $$),
  ($$ insert into survey_questions (organization_id, survey_id, type, text, position) values (tests.id('acme'), tests.id('acme draft'), 'text', 'Mine?', 7) $$),
  ($$ insert into survey_questions (survey_id, type, text, position) values (tests.id('acme draft'), 'text', 'Mine?', 7) $$),
  ($$ insert into survey_options (organization_id, survey_id, question_id, text, position) values (tests.id('acme'), tests.id('acme draft'), tests.question('acme draft', 1), 'Mine', 7) $$),
  ($$ update surveys set title = 'Mine' where id = tests.id('acme draft') $$), ($$ update surveys set status = 'archived' where organization_id = tests.id('acme') $$), ($$ delete from surveys where id = tests.id('acme draft') $$),
  ($$ update survey_questions set text = 'Mine?' where survey_id = tests.id('acme draft') $$), ($$ delete from survey_questions where survey_id = tests.id('acme draft') $$),
  ($$ update survey_options set text = 'Mine' where survey_id = tests.id('acme draft') $$), ($$ delete from survey_options where survey_id = tests.id('acme draft') $$),
  ($$ update survey_responses set answers = '[]' $$), ($$ delete from survey_responses $$),
  ($$ insert into survey_responses (survey_id, user_id, answers) values (tests.id('acme published'), tests.id('carol'), '[]') $$),
  ($$ insert into survey_responses (id, survey_id, answers) values (gen_random_uuid(), tests.id('acme published'), '[]') $$),
  ($$ insert into survey_answers (survey_id) values (tests.id('acme published')) $$), ($$ delete from survey_answers $$), ($$ update survey_results set response_count = 9 $$),
  ($$ insert into private.survey_counts (organization_id, survey_id, shard) values (tests.id('acme'), tests.id('acme published'), 1) $$), ($$ delete from private.survey_starts $$),
  ($$ select private.recount_survey(tests.id('acme published')) $$), ($$ select private.close_surveys() $$), ($$ select private.emit_event(tests.id('acme'), 'survey.closed', tests.id('acme'), '{}') $$);
select is_empty(format($$ select statement, tests.try(%L, statement) from attempts where tests.try(%L, statement) not in ('0', '42501', '55000', 'FB404') and tests.try(%L, statement) not like '23503%%' $$, who, who, who), format('%s writes nothing of theirs', who))
from unnest(array['anon', 'alice', 'rita', 'vera', 'acme key with surveys:read responses:read analytics:read submissions:read', 'rival key with surveys:write surveys:publish responses:read']) who;
select is_empty(format($$ select statement, tests.try(%L, statement) from attempts where tests.try(%L, statement) not in ('0', '42501', '55000') $$, who, who), format('%s writes nothing of theirs', who))
from unnest(array['mia']) who;
select is((select count(*) from surveys where title = 'Mine' or status = 'archived'), 3::bigint, 'and nothing changed');

-- References across tenants
select is(tests.try('olga', $$ insert into survey_questions (organization_id, survey_id, type, text, position) values (tests.id('acme'), tests.id('rival draft'), 'text', 'Here?', 7) $$),
  '23503 survey_questions_survey_is_of_the_same_organization', 'a question cannot be inserted into a survey of another organization');
select is(tests.try('olga', $$ insert into survey_options (organization_id, survey_id, question_id, text, position) values (tests.id('acme'), tests.id('acme draft'), tests.question('rival draft', 1), 'Here', 7) $$),
  '23503 survey_options_question_is_of_the_same_survey', 'an option cannot be inserted into a question of another survey');
do $$ begin perform tests.submission('Theirs', 'rita', 'rival'); end $$;
select is(tests.try('olga', $$ update surveys set audience = 'voters', audience_submission_id = tests.id('Theirs') where id = tests.id('acme draft') $$),
  '23503 surveys_audience_submission_is_of_the_same_organization', 'the audience cannot be the voters of a submission of another organization');

-- Functions, by caller
create temporary table calls (call text, scope text);
insert into calls values
  ('update_survey(%L, ''{"title": "Other"}'')', 'surveys:write'), ('delete_survey(%L, true)', 'surveys:write'), ('change_survey_status(%L, ''publish'')', 'surveys:publish'),
  ('change_survey_status(%L, ''archive'')', 'surveys:publish');
select is(tests.see(who, format($$ with done as materialized (select private.%s) select 'yes' from done $$, format(call, tests.id('acme draft')))), outcome,
  format('%s: %s', who, call)) from calls,
  (values ('mia', 'FB403'), ('alice', 'FB404'), ('rita', 'FB404'), ('vera', 'FB404'), ('rival key with surveys:read surveys:write surveys:publish analytics:read', 'FB404')) as t (who, outcome);
select is(tests.try('acme key with ' || held, format('select private.' || call, tests.id('acme draft'))), case when held = scope then '1' else 'FB403' end, format('a key with %s: %s', held, call))
from calls, unnest(array['surveys:read', 'surveys:write', 'surveys:publish']) held where call !~ 'delete|archive';
select is(tests.try('acme key with surveys:write', $$ update surveys set status = 'archived' where id = tests.id('acme paused') $$), 'FB403', 'surveys:write does not include publishing');
select is(tests.try('acme key with surveys:publish', $$ update surveys set title = 'Other' where id = tests.id('rival draft') $$), '0', 'a key cannot change surveys of another organization');
select is(tests.try('acme key with surveys:publish', format('select private.create_survey_version(%L)', tests.id('acme paused'))), '1', 'surveys:publish includes creating versions');
select is(tests.try('acme key with surveys:publish', format('update surveys set title = %L where version_of = %L', 'Other', tests.id('acme paused'))), 'FB403', 'surveys:publish does not include changing versions');
select is(tests.try('rita', format('select private.clone_survey(%L)', tests.id('acme paused'))), 'FB403', 'surveys of another organization cannot be copied');
select is(tests.see('alice', $$ with n as (select set_config('feedback.organization_id', tests.id('acme')::text, true)) select private.create_survey('{"title": "Mine"}') from n $$), 'FB403', 'a user outside the team cannot create a survey');
select is(tests.see('mia', $$ with n as (select set_config('feedback.organization_id', tests.id('acme')::text, true)) select private.create_survey('{"title": "Mine"}') from n $$), 'FB403', 'a member cannot create a survey');

-- Another organization's header
select is(tests.see('olga', format($$ with named as (select set_config('feedback.organization_id', %L, true), set_config('feedback.organization_named', 'true', true))
  select private.require_survey(%L, null) from named $$, tests.id(organization), tests.id('acme paused'))), outcome, format('in %s', organization)) from (values
  ('acme', tests.id('acme')::text), ('rival', 'FB404')) as t (organization, outcome);
select is((private.organization_of('surveys', tests.id(survey), row('user', tests.id(who), null, null, null, 'level_user', true)::private.caller)) is not null, is_seen, format('%s names %s', who, survey)) from (values
  ('alice', 'rival draft', false), ('mia', 'acme draft', true), ('alice', 'acme archived', true), ('alice', 'vault published', false), ('vic', 'vault draft', true)) as t (who, survey, is_seen);

-- A board that becomes private makes its surveys private
update organizations set visibility = 'private' where id = tests.id('acme');
select is(tests.see(who, $$ select count(*) from surveys where organization_id = tests.id('acme') and version_of is null $$), n, format('%s then sees %s', who, n)) from (values ('anon', '0'), ('alice', '0'), ('mia', '4'), ('acme key', '0')) as t (who, n);
select is(tests.see('alice', 'select count(*) from survey_responses'), '2', 'one''s own response stays readable');
select is(tests.try('carol', $$ insert into survey_responses (survey_id, answers) values (tests.id('acme published'), tests.answers('acme published', '"One"')) $$), 'FB404', 'a response to a survey of a private organization is rejected');

select * from finish();
rollback;
