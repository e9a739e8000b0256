-- Responses can be read and erased by their respondent, and exported by the organization; every count stays
-- exact.
begin;
set local search_path = public, extensions;
select plan(38);
create function pg_temp.asked(who text, organization text, call text) returns text language plpgsql as $$
begin
  return tests.see(who, format('select %s from (select set_config(''feedback.organization_id'', %L, true)) o', call, tests.id(organization)));
end
$$;
create function pg_temp.answer(who text, survey text, variadic answers jsonb[]) returns void language plpgsql as $$
begin
  perform tests.see(who, format('select private.submit_survey_response(%L, %L, null, null)', tests.id(survey), tests.answers(survey, variadic answers)));
end
$$;
create function pg_temp.kept(survey text) returns text language sql as $$
  select string_agg(concat(coalesce(p.name, 'nobody'), ': ', (select string_agg(a ->> 'value', ', ' order by n) from jsonb_array_elements(r.answers) with ordinality as t (a, n))), '; ' order by r.answers::text = '[]' desc, r.answers -> 0 ->> 'value' desc)
  from public.survey_responses r left join public.profiles p on p.id = r.user_id where r.survey_id = tests.id(survey)
$$;
create function pg_temp.told(survey text) returns text language sql as $$
  select response_count || ' ' || completion_rate from private.survey_figures(array[tests.id(survey)])
$$;
do $$
declare asked text := '[{"type": "nps", "text": "N?"}, {"type": "text", "text": "Why?"}, {"type": "email", "text": "Where?"}]';
begin
  perform tests.start();
  perform tests.survey('Mails', questions => asked::jsonb), tests.survey('Often', questions => asked::jsonb, settings => '{"settings": {"allow_multiple_responses": true}}'),
    tests.survey('Begun'), tests.survey('Theirs', organization => 'rival', questions => asked::jsonb), tests.survey('Draft', 'draft');
  perform pg_temp.answer('alice', 'Mails', '9', '"Nice"', '"alice@example.org"'), pg_temp.answer('bob', 'Mails', '2', '"Meh"', '"bob@example.org"'),
    pg_temp.answer('alice', 'Often', '"-"', '"-"', '"alice@example.org"'), pg_temp.answer('alice', 'Often', '7'),
    pg_temp.answer('alice', 'Theirs', '10', '"-"', '"alice@example.org"');
  perform tests.see('alice', format('select private.start_survey(%L)', tests.id('Begun'))), tests.see('carol', format('select private.start_survey(%L)', tests.id('Begun')));
  insert into public.profiles (id, kind, organization_id, email) values (tests.id('emma'), 'email', tests.id('acme'), 'emma@example.org');
  insert into public.survey_responses (organization_id, survey_id, user_id, answers) values
    (tests.id('acme'), tests.id('Mails'), tests.id('emma'), tests.answers('Mails', '5', '"-"', '"emma@example.org"'));
  perform set_config('tests.agent', private.create_agent(tests.id('acme'), 'Robin')::text, true);
end $$;

-- Reading
create temporary table seen as select tests.see('alice', 'select private.my_personal_data()')::jsonb as own,
  pg_temp.asked('adam', 'acme', format('private.admin_personal_data(%L)', tests.id('alice')))::jsonb as here;
select is(jsonb_array_length(own -> 'survey_responses'), 4, 'personal data of a user has all their responses') from seen;
select is(jsonb_array_length(here -> 'survey_responses'), 3, 'personal data for an organization has the responses there') from seen;
select is(r -> 'answers', jsonb_build_array(
    jsonb_build_object('question_id', tests.question('Mails', 1), 'question', 'N?', 'value', 9),
    jsonb_build_object('question_id', tests.question('Mails', 2), 'question', 'Why?', 'value', 'Nice'),
    jsonb_build_object('question_id', tests.question('Mails', 3), 'question', 'Where?', 'value', 'alice@example.org')), 'responses have the questions')
from seen, jsonb_array_elements(here -> 'survey_responses') r where r ->> 'survey_title' = 'Mails';
select is((here -> 'survey_starts') #- '{0,started_at}', jsonb_build_array(jsonb_build_object('organization_id', tests.id('acme'), 'survey_id', tests.id('Begun'))), 'personal data has started surveys') from seen;
select is(private.is_person_of_organization(tests.id(who), tests.id(organization)), is_known, format('%s at %s', who, organization)) from (values
  ('alice', 'acme', true), ('carol', 'acme', true), ('alice', 'rival', true), ('carol', 'rival', false), ('bob', 'rival', false)) as t (who, organization, is_known);

-- An agent is not a person
select is(pg_temp.asked('adam', 'acme', format(call, current_setting('tests.agent'))), null, format('%s of an agent finds nobody', call))
from unnest(array['private.admin_erase_person(%L)', 'private.admin_personal_data(%L)']) call;
select is((select name from public.profiles where id = current_setting('tests.agent')::uuid), 'Robin', 'another person is unchanged');

-- Erasure by the organization
select is(pg_temp.told('Mails') || ', ' || pg_temp.told('Often') || ', ' || pg_temp.told('Begun'), '3 1, 2 1, 0 0', 'counts before the erasure');
select is(pg_temp.asked('adam', 'acme', format('private.admin_erase_person(%L)', tests.id(who)))::jsonb -> 'erased', 'true', format('%s is forgotten', who))
from unnest(array['alice', 'emma', 'carol']) who;
select is(pg_temp.kept('Mails'), 'nobody: 9, Nice; nobody: 5; Bob: 2, Meh, bob@example.org', 'responses are kept without a person and without e-mail addresses');
select is(pg_temp.kept('Often'), 'nobody: ; nobody: 7', 'a response whose only answer was an address is kept empty');
select is(pg_temp.kept('Theirs'), 'Alice: 10, alice@example.org', 'responses in other organizations are unchanged');
select is_empty($$ select from private.survey_starts $$, 'starts are deleted');
select is(pg_temp.told('Mails') || ', ' || pg_temp.told('Often') || ', ' || coalesce(pg_temp.told('Begun'), ''), '3 1, 2 1, 0 0', 'responses are still counted');
select is_empty($$ select * from private.count_discrepancies() $$, 'all counters are correct');
select is((tests.see('alice', 'select private.my_personal_data()')::jsonb) #>> '{survey_responses,0,survey_title}', 'Theirs', 'the responses are not in the user''s personal data');
select is((pg_temp.asked('adam', 'acme', format('private.admin_erase_person(%L)', tests.id('alice'))))::jsonb -> 'erased', 'true', 'a repeated erasure changes nothing');

-- Deleting the account
select is(tests.see('alice', 'select private.erase_me()'), '', 'a user deletes their account');
select is(pg_temp.kept('Theirs'), 'nobody: 10', 'their addresses are deleted in all organizations');
select is_empty($$ select * from private.count_discrepancies() $$, 'all counters are correct after it');
update public.survey_responses set user_id = null where user_id = tests.id('bob');

-- Export by the organization
create function pg_temp.copy(what text, max_rows integer) returns setof jsonb language plpgsql as $$
declare page record; place text[];
begin
  loop
    perform tests.become('olga'), set_config('feedback.organization_id', tests.id('acme')::text, true);
    select * into page from private.admin_export_page(what, place, max_rows);
    perform tests.leave();
    return query select line::jsonb from string_to_table(page.records, E'\n') line;
    exit when page.total < max_rows;
    place := page.last;
  end loop;
end
$$;
select results_eq($$ select c ->> 'title', c -> 'questions' -> 0 ->> 'text' from pg_temp.copy('surveys', 3) c order by 1 $$,
  $$ values ('Begun', 'Would you recommend us?'), ('Draft', 'Would you recommend us?'), ('Mails', 'N?'), ('Often', 'N?') $$, 'the export has surveys with their questions');
select set_eq(format($$ select c ->> 'id' from pg_temp.copy('survey_responses', %s) c $$, max_rows),
  $$ select id::text from public.survey_responses where organization_id = tests.id('acme') $$, format('has every response once, %s a page', max_rows))
from unnest(array[1, 2, 5]) max_rows;
select is((select c ->> 'author_id' from pg_temp.copy('survey_responses', 9) c where c @> '{"answers": [{"value": "bob@example.org"}]}'), null, 'the export has responses without a person');

-- One function defines what is personal, another who sees voters: changing it changes every use
create or replace function private.voters_scope() returns text language sql immutable return 'keys:none';
discard plans;
select is(pg_temp.asked('acme key with submissions:moderate responses:read', 'acme', format('(select count(*) from private.admin_export_page(%L, null, 9))', what)), '0', format('a key exports no %s without the scope of voters', what))
from unnest(array['votes', 'comment_votes', 'follows']) what;
do $$ begin
  perform tests.submission('A wish', 'bob');
  perform tests.survey('Voters', settings => jsonb_build_object('targeting', jsonb_build_object('audience', 'voters', 'submission_id', tests.id('A wish'))));
  perform pg_temp.answer('bob', 'Voters', '5');
end $$;
select is(pg_temp.asked('acme key with submissions:moderate responses:read', 'acme', format(
  '(select bool_or(r::jsonb ?| ''{author_email,author_id}'') from private.admin_export_page(''survey_responses'', null, 99), string_to_table(records, E''\n'') r where r::jsonb ->> ''survey_id'' = %L)',
  tests.id('Voters'))), 'false', 'nor the respondents of a survey for voters');
create or replace function private.is_personal_answer(question_type text) returns boolean language sql immutable return question_type in ('text', 'email');
select lives_ok($$ select pg_temp.answer('bob', 'Theirs', '3', '"Secret"', '"bob@example.org"'), private.anonymize_responses(tests.id('bob'), null, tests.id('bob')) $$, 'a person is forgotten');
select is(pg_temp.kept('Theirs'), 'Bob: 3; nobody: 10', 'without the answers of each type that is personal');
select * from finish();
rollback;
