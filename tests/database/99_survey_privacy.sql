-- What a person answered is theirs to read and to have forgotten, and an organization's to take along; every count stays exact.
begin;
set local search_path = public, extensions;
select plan(32);
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
select is(jsonb_array_length(own -> 'survey_responses'), 4, 'a person reads what they answered everywhere') from seen;
select is(jsonb_array_length(here -> 'survey_responses'), 3, 'an organization what they answered there') from seen;
select is(r -> 'answers', jsonb_build_array(
    jsonb_build_object('question_id', tests.question('Mails', 1), 'question', 'N?', 'value', 9),
    jsonb_build_object('question_id', tests.question('Mails', 2), 'question', 'Why?', 'value', 'Nice'),
    jsonb_build_object('question_id', tests.question('Mails', 3), 'question', 'Where?', 'value', 'alice@example.org')), 'with what was asked')
from seen, jsonb_array_elements(here -> 'survey_responses') r where r ->> 'survey_title' = 'Mails';
select is((here -> 'survey_starts') #- '{0,started_at}', jsonb_build_array(jsonb_build_object('organization_id', tests.id('acme'), 'survey_id', tests.id('Begun'))), 'and what they began') from seen;
select is(private.takes_part(tests.id(who), tests.id(organization)), is_known, format('%s at %s', who, organization)) from (values
  ('alice', 'acme', true), ('carol', 'acme', true), ('alice', 'rival', true), ('carol', 'rival', false), ('bob', 'rival', false)) as t (who, organization, is_known);

-- An agent is no person
select is(pg_temp.asked('adam', 'acme', format(call, current_setting('tests.agent'))), null, format('%s of an agent finds nobody', call))
from unnest(array['private.admin_erase_person(%L)', 'private.admin_personal_data(%L)']) call;
select is((select name from public.profiles where id = current_setting('tests.agent')::uuid), 'Robin', 'who stays who it is');

-- The organization forgets
select is(pg_temp.told('Mails') || ', ' || pg_temp.told('Often') || ', ' || pg_temp.told('Begun'), '3 1, 2 1, 0 0', 'before');
select is(pg_temp.asked('adam', 'acme', format('private.admin_erase_person(%L)', tests.id(who)))::jsonb -> 'erased', 'true', format('%s is forgotten', who))
from unnest(array['alice', 'emma', 'carol']) who;
select is(pg_temp.kept('Mails'), 'nobody: 9, Nice; nobody: 5; Bob: 2, Meh, bob@example.org', 'responses stay, by nobody, without the address');
select is(pg_temp.kept('Often'), 'nobody: ; nobody: 7', 'also where the address was all');
select is(pg_temp.kept('Theirs'), 'Alice: 10, alice@example.org', 'elsewhere nothing changes');
select is_empty($$ select from private.survey_starts $$, 'nobody is answering');
select is(pg_temp.told('Mails') || ', ' || pg_temp.told('Often') || ', ' || coalesce(pg_temp.told('Begun'), ''), '3 1, 2 1, ', 'responses count on');
select is_empty($$ select * from private.count_mistakes() $$, 'exactly');
select is((tests.see('alice', 'select private.my_personal_data()')::jsonb) #>> '{survey_responses,0,survey_title}', 'Theirs', 'and they are no longer theirs');
select is((pg_temp.asked('adam', 'acme', format('private.admin_erase_person(%L)', tests.id('alice'))))::jsonb -> 'erased', 'true', 'again changes nothing');

-- The account goes
select is(tests.see('alice', 'select private.erase_me()'), '', 'alice leaves');
select is(pg_temp.kept('Theirs'), 'nobody: 10', 'and takes her address along everywhere');
select is_empty($$ select * from private.count_mistakes() $$, 'counts stay exact');
update public.survey_responses set user_id = null where user_id = tests.id('bob');

-- The organization's own copy
create function pg_temp.copy(what text, most integer) returns setof jsonb language plpgsql as $$
declare page record; place text[];
begin
  loop
    select * into page from private.export_page(tests.id('acme'), what, place, most);
    return query select line::jsonb from string_to_table(page.records, E'\n') line;
    exit when page.total < most;
    place := page.last;
  end loop;
end
$$;
select results_eq($$ select c ->> 'title', c -> 'questions' -> 0 ->> 'text' from pg_temp.copy('surveys', 3) c order by 1 $$,
  $$ values ('Begun', 'Would you recommend us?'), ('Draft', 'Would you recommend us?'), ('Mails', 'N?'), ('Often', 'N?') $$, 'has its surveys with what they ask');
select set_eq(format($$ select c ->> 'id' from pg_temp.copy('survey_responses', %s) c $$, most),
  $$ select id::text from public.survey_responses where organization_id = tests.id('acme') $$, format('has every response once, %s a page', most))
from unnest(array[1, 2, 5]) most;
select is((select c ->> 'author_id' from pg_temp.copy('survey_responses', 9) c where c @> '{"answers": [{"value": "bob@example.org"}]}'), null, 'also of nobody at all');

select * from finish();
rollback;
