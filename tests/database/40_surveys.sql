-- The status of a survey: allowed changes and callers, the same through every interface.
begin;
set local search_path = public, extensions;
select plan(75);
do $$ begin perform tests.start(); end $$;

create function pg_temp.act(name text, action text) returns text language sql as $$
  select format('select private.change_survey_status(%L, %L)', tests.id(name), action)
$$;
create function pg_temp.status(name text) returns text language sql as $$
  select status from public.surveys where id = tests.id(name)
$$;
create function pg_temp.events() returns text language sql as $$
  with emitted as (delete from private.outbox returning id, type) select coalesce(string_agg(type, ', ' order by id), 'nothing') from emitted
$$;

create temporary table states as select f as from_status, t as to_status from unnest(array['draft', 'published', 'paused', 'archived']) f, unnest(array['draft', 'published', 'paused', 'archived']) t;
do $$ begin perform tests.survey(from_status || ' to ' || to_status, from_status) from states; end $$;
select is(tests.try(who, format('update surveys set status = %L where id = %L', to_status, tests.id(from_status || ' to ' || to_status))),
  case when from_status = to_status or to_status = 'archived' or (from_status, to_status) in (('draft', 'published'), ('published', 'paused'), ('paused', 'published')) then '1' else 'FB409' end,
  format('an update by %s from %s to %s', who, from_status, to_status))
from states, unnest(array['adam']) who where from_status <> to_status;
select is(tests.try('service_role', format('update surveys set status = %L where id = %L', status, tests.id('archived to ' || status))), 'FB409',
  'an archived survey stays archived, for the service role too: ' || status) from unnest(array['draft', 'published', 'paused']) status;
select is(tests.try('operator', $$ insert into surveys (organization_id, title, status) values (tests.id('acme'), 'At once', 'published') $$), 'FB409', 'a new survey must be a draft');

-- Publishing
do $$ begin
  perform tests.survey('Empty', 'draft', questions => '[]');
  perform tests.survey('No options', 'draft', questions => '[{"type": "nps", "text": "a"}, {"type": "multiple_choice", "text": "b"}]');
  perform tests.survey('Stray options', 'draft', questions => '[{"type": "text", "text": "a", "options": ["x"]}]');
  perform tests.survey('Nobody', 'draft', settings => '{"targeting": {"audience": "voters"}}');
end $$;
select is(tests.refusal('olga', pg_temp.act(name, 'publish')) - 'details', jsonb_build_object('code', 'CONFLICT', 'field', field), claim) from (values
  ('Empty', 'questions', 'a survey without questions is not published'),
  ('No options', 'questions.1.options', 'a choice question needs options'),
  ('Stray options', 'questions.0.options', 'a text question has no options'),
  ('Nobody', 'targeting.submission_id', 'the audience voters needs a submission')) as t (name, field, claim);
do $$ begin perform tests.survey('Late resume', 'paused'); end $$;
alter table surveys disable trigger keep_life;
update surveys set closes_at = now() - interval '1 minute' where id = tests.id('Late resume');
alter table surveys enable trigger keep_life;
select is(tests.try('olga', pg_temp.act('Late resume', 'resume')), 'FB409', 'a survey past its closing time cannot be resumed');
delete from surveys where id = tests.id('Late resume');

-- Content
do $$ begin
  perform tests.survey(status, status, questions => '[{"type": "multiple_choice", "text": "Which?", "options": ["One", "Two"]}]')
  from unnest(array['draft', 'published', 'paused', 'archived']) status;
end $$;
create temporary table changes (statement text);
insert into changes values
  ($$ update surveys set title = 'Other' where id = %1$L $$), ($$ update surveys set description = 'Other' where id = %1$L $$),
  ($$ update surveys set allow_multiple_responses = true where id = %1$L $$), ($$ update surveys set show_branding = false where id = %1$L $$),
  ($$ update surveys set redirect_url = 'https://example.org' where id = %1$L $$), ($$ update surveys set closes_at = now() + interval '1 day' where id = %1$L $$),
  ($$ update surveys set audience = 'voters' where id = %1$L $$), ($$ update surveys set locales = '{de}' where id = %1$L $$),
  ($$ update survey_questions set text = 'Other?' where survey_id = %1$L $$), ($$ update survey_options set text = text || '!' where survey_id = %1$L $$),
  ($$ insert into survey_questions (survey_id, type, text, position) values (%1$L, 'text', 'And?', 9) $$),
  ($$ insert into survey_options (survey_id, question_id, text, position) select survey_id, id, 'More', 9 from survey_questions where survey_id = %1$L limit 1 $$),
  ($$ delete from survey_options where survey_id = %1$L and text like 'Two%%' $$), ($$ delete from survey_questions where survey_id = %1$L and position = 1 $$);
select is(tests.try(who, format(statement, tests.id(status))), 'FB409', format('%s, %s: %s', who, status, statement))
from changes, (values ('olga', 'published'), ('service_role', 'published'), ('operator', 'paused')) as t (who, status) where who = 'olga' or statement ~ '(insert|delete|title|options)';
select is(tests.try('adam', format('update surveys set closes_at = %L where id = %L', at, tests.id('draft'))), '23514 closes_at_is_a_day_of_the_calendar', 'no survey closes ' || at)
from unnest(array['infinity', '-infinity', '12000-01-01']) at;
select is((select count(*) from changes where tests.try('adam', format(statement, tests.id('draft'))) !~ '^[12]$'), 0::bigint, 'every change is accepted for a draft');
select is(tests.try('olga', format('update survey_questions set survey_id = %L where survey_id = %L', tests.id('draft'), tests.id('published'))), '42501', 'a question cannot be moved to another survey');

select is(tests.try('olga', format('select private.write_questions(%L, %L, (select jsonb_agg(jsonb_build_object(''type'', ''text'', ''text'', ''q'')) from generate_series(1, 201)))',
  tests.id('acme'), tests.id('Empty'))), '23514 a_survey_has_at_most_200_questions', 'more than 200 questions are rejected');
select is(tests.try('olga', format('select private.write_questions(%L, %L, jsonb_build_array(jsonb_build_object(''type'', ''multiple_choice'', ''text'', ''q'', ''options'', (select jsonb_agg(n::text) from generate_series(1, 101) n))))',
  tests.id('acme'), tests.id('Empty'))), '23514 a_question_has_at_most_100_options', 'more than 100 options are rejected');

-- Plans
update organizations set max_surveys = 1 where id = tests.id('rival');
do $$ begin perform tests.survey('Only', organization => 'rival'); end $$;
select is(tests.try('rita', $$ insert into surveys (organization_id, title) values (tests.id('rival'), 'Second') $$), 'FB402', 'a survey over the plan''s limit is rejected');
select is(tests.try('rita', format('select private.create_survey_version(%L)', tests.id('Only'))), '1', 'a version does not count as another survey');
select is(tests.try('rita', pg_temp.act('Only', 'archive')), '1', 'the survey is archived');
delete from surveys where version_of = tests.id('Only');
select is(tests.try('rita', $$ insert into surveys (organization_id, title) values (tests.id('rival'), 'Second') $$), '1', 'an archived survey does not count for the limit');

-- Versions
do $$ begin
  perform tests.survey('Version 1', settings => '{"description": "Old", "targeting": {"locales": ["fr"]}}', questions => '[{"type": "multiple_choice", "text": "Which?", "options": ["One", "Two"]}, {"type": "nps", "text": "?"}]');
end $$;
select is(tests.try('olga', format('select private.create_survey_version(%L) from generate_series(1, 2)', tests.id('Version 1'))), '2', 'two versions of one survey are created');
create temporary table versions as select id, row_number() over (order by id) as n from surveys where version_of = tests.id('Version 1');
select is((select string_agg(concat_ws(' ', s.status, s.title, s.description, s.locales, q.type, q.text, o.text), ', ' order by q.position, o.position)
  from surveys s join versions v on v.id = s.id and v.n = 1 join survey_questions q on q.survey_id = s.id left join survey_options o on o.question_id = q.id),
  'draft Version 1 Old {fr} multiple_choice Which? One, draft Version 1 Old {fr} multiple_choice Which? Two, draft Version 1 Old {fr} nps ?', 'a version copies settings, questions and options');
do $$ begin perform pg_temp.events(); end $$;
select is(tests.try('olga', format('update surveys set status = %L where id = %L', 'published', (select id from versions where n = 1))), '1', 'the first version is published');
select is(pg_temp.status('Version 1'), 'archived', 'publishing a version archives the published survey');
select is(pg_temp.events(), 'survey.closed, survey.published', 'both changes create events');
select is(tests.try('olga', format('select private.change_survey_status(%L, %L)', (select id from versions where n = 2), 'publish')), '1', 'the second version is published');
select is((select string_agg(s.status, ' ' order by v.n) from surveys s join versions v using (id)), 'archived published', 'one version of a survey is published at a time');
select is(tests.try('olga', format('delete from surveys where id = %L', tests.id('Version 1'))), '1', 'the original can be deleted');
select is((select count(*) from surveys s join versions v using (id) where s.version_of is null), 2::bigint, 'its versions are kept');

-- Closing
do $$ begin perform pg_temp.events(); perform tests.survey('Short', settings => jsonb_build_object('closes_at', now() + interval '1 hour')); end $$;
select is(pg_temp.events(), 'survey.published', 'publishing creates one event');
select is(tests.try('olga', pg_temp.act('Short', 'pause')) || pg_temp.events() || tests.try('olga', pg_temp.act('Short', 'resume')) || pg_temp.events(), '1nothing1nothing', 'pausing and resuming create no event');
select is(private.close_surveys(), 0, 'a survey is not closed before its closing time');
alter table surveys disable trigger keep_life;
update surveys set closes_at = now() where id = tests.id('Short');
alter table surveys enable trigger keep_life;
select is((private.run_schedule() ->> 'surveys')::integer, 1, 'the schedule closes an expired survey');
select is((select data from private.outbox), jsonb_build_object('survey_id', tests.id('Short'), 'response_count', 0), 'the event has the number of responses');
select is(private.close_surveys(), 0, 'a closed survey is not closed again');
do $$ begin perform pg_temp.events(); end $$;
select is(tests.try('olga', pg_temp.act('Short', 'archive')) || pg_temp.events(), '1nothing', 'archiving a closed survey creates no event');
select is(tests.try('olga', pg_temp.act('Empty', 'archive')) || pg_temp.events(), '1nothing', 'archiving a draft creates no event');

select * from finish();
rollback;
