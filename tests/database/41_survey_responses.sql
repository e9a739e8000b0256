-- Responses: permissions, time, repetition and answers; each is stored completely or not at all.
begin;
set local search_path = public, extensions;
select plan(159);
set constraints all immediate;
do $$ begin perform tests.start(); end $$;

create function pg_temp.submit(survey text, answers jsonb, locale text default null, sentiment jsonb default null) returns text language sql as $$
  select format('select private.submit_survey_response(%L, %L, %L, %L)', tests.id(survey), answers, locale, sentiment)
$$;
create function pg_temp.details(who text, statement text) returns text language sql as $$
  select coalesce(string_agg(concat(d ->> 'field', ': ', d ->> 'message'), '; ' order by n), 'none')
  from jsonb_array_elements(tests.refusal(who, statement) -> 'details') with ordinality as a (d, n)
$$;

do $$ begin
  perform tests.survey('Open');
  perform tests.survey('All', settings => '{"settings": {"allow_multiple_responses": true}}', questions => '[{"type": "nps", "text": "N?"}, {"type": "rating", "text": "R?"}, {"type": "rating", "text": "T?", "scale": 10},
    {"type": "multiple_choice", "text": "C?", "options": ["One", "Two", "Drei"]}, {"type": "multiple_choice", "text": "M?", "multiple": true, "options": ["A", "B", "C"]},
    {"type": "text", "text": "X?"}, {"type": "email", "text": "E?"}]');
  perform tests.survey('Mails', questions => '[{"type": "email", "text": "E?"}, {"type": "nps", "text": "N?"}]');
end $$;

-- Every type of question is validated and counted, and no other
create function pg_temp.types() returns setof text language sql as $$
  select m[1] from pg_constraint k, regexp_matches(pg_get_constraintdef(k.oid), '''(\w+)''', 'g') m
  where k.conrelid = 'public.survey_questions'::regclass and k.conname = 'type_is_known'
$$;
create function pg_temp.checked(question_type text, value jsonb) returns private.checked_answer language sql as $$
  select private.check_answer(jsonb_populate_record(null::public.survey_questions, jsonb_build_object('type', question_type)), value)
$$;
select cmp_ok((select count(*) from pg_temp.types()), '>=', 5::bigint, 'the constraint lists the question types');
select is_empty('select t from pg_temp.types() t where private.answer_kind(t) is null', 'private.answer_kind handles each type');
select is_empty('select t from pg_temp.types() t where private.is_personal_answer(t) is null', 'private.is_personal_answer handles each type');
select lives_ok('select pg_temp.checked(t, ''"x"'') from pg_temp.types() t', 'private.check_answer handles each type');
select throws_ok('select pg_temp.checked(''unknown'', ''"x"'')', '20000', null, 'an unknown type raises an error');

-- Values: the stored value, or the error
create temporary table values_tried (at integer, sent jsonb, outcome text);
insert into values_tried values
  (1, '7.0', '7'), (1, '1e1', '10'), (1, '1e400', 'must be a whole number from 0 to 10'), (3, '10', '10'), (3, '11', 'must be a whole number from 1 to 10'),
  (4, '" Two "', '"Two"'), (4, '"two"', 'must be one of the options (id or text)'), (4, '["Two"]', 'must be a single option'), (4, '{"text": "Two"}', 'must be one of the options (id or text)'),
  (5, '["A", 1]', 'must be a list of options (id or text)'), (5, '["A", null]', 'must be a list of options (id or text)'), (5, '[["A"]]', 'must be a list of options (id or text)'), (5, '7', 'must be a list of options (id or text)'),
  (6, '7', 'must be a string of at most 5,000 characters'), (7, '"ann@localhost"', 'must be an email address of at most 254 characters, such as name@example.org');
insert into values_tried select 5, jsonb_build_array(id, 'B'), 'must not repeat an option' from survey_options where text = 'B';
insert into values_tried select 4, to_jsonb(id), 'must be one of the options (id or text)' from survey_options where text = 'B';
select is(
  coalesce((private.check_answer(q, sent)).value::text, (private.check_answer(q, sent)).complaint), outcome, format('%s answered with %s', q.text, left(sent::text, 40)))
from values_tried join survey_questions q on q.survey_id = tests.id('All') and q.position = at;
select is(private.is_email(address), is_one, address) from (values
  ('a@b.co', true), ('a.b+c@x-y.example', true), ('o''neil@example.org', true), ('a@b', false), ('a@b.1', false), ('@b.co', false), ('a@', false), ('a..b@c.de', false), ('.a@c.de', false),
  ('a@-b.de', false), ('a@b-.de', false), ('a b@c.de', false), ('ä@c.de', false), ('a@c.de' || chr(10), false), (repeat('a', 64) || '@c.de', true), (repeat('a', 65) || '@c.de', false),
  ('a@' || repeat('b', 63) || '.de', true), ('a@' || repeat('b', 64) || '.de', false), ('a@' || repeat('bcd.', 62) || 'de', true), ('a@' || repeat('bcd.', 63) || 'de', false)) as t (address, is_one);

-- All errors at once, each with its position
select is(pg_temp.details('alice', pg_temp.submit('Open', tests.answers('Open', '"-"', '3') || jsonb_build_array(
    jsonb_build_object('question_id', tests.question('All', 1), 'value', 3), '7'::jsonb, jsonb_build_object('question_id', tests.question('Open', 2), 'value', 'b')))),
  format('questions.%s: needs an answer: Would you recommend us?; answers.0.value: must be a string of at most 5,000 characters; answers.3.question_id: must not be answered twice; answers.1.question_id: is not a question of this survey; answers.2.question_id: is not a question of this survey',
    tests.question('Open', 1)), 'every error names its answer');
select is(pg_temp.details('alice', pg_temp.submit('Open', sent)), said, format('%s is refused', sent)) from (values
  ('{}'::jsonb, 'none'), ('"text"', 'none'), ('null', 'none'), ('[]', format('questions.%s: needs an answer: Would you recommend us?', tests.question('Open', 1)))) as t (sent, said);
select is(tests.refusal('alice', pg_temp.submit('Open', (select jsonb_agg(n) from generate_series(1, 201) n))) ->> 'field', 'answers', 'more than 200 answers are rejected without checking each');
select is(jsonb_array_length(tests.refusal('alice', pg_temp.submit('Open', (select jsonb_agg(n) from generate_series(1, 200) n))) -> 'details'), 50, 'at most 50 errors are returned');
select is((select count(*) from survey_responses), 0::bigint, 'a rejected response stores nothing');

-- Respondent, time, repetition
select is(tests.try('alice', pg_temp.submit('Open', tests.answers('Open', '9'))), '1', 'a user responds');
select is(tests.try('alice', $$ insert into survey_responses (survey_id, answers) values (tests.id('Open'), tests.answers('Open', '9')) $$), 'FBR09', 'a second response by insert is rejected');
select is(tests.try('bob', $$ insert into survey_responses (survey_id, answers, locale) values (tests.id('Open'), tests.answers('Open', '9'), 'de') $$), '1', 'a client responds by insert');
select is(tests.try('bob', $$ insert into survey_responses (survey_id, answers, locale) values (tests.id('Open'), tests.answers('Open', '19'), 'xx') $$), 'FBR09', 'its second response is rejected');
select is(tests.try('operator', $$ insert into survey_responses (survey_id, user_id, answers) values (tests.id('Open'), tests.id('carol'), tests.answers('Open', '19')) $$), 'FB400', 'a response inserted by an operator is validated');
alter table survey_responses disable trigger prepare;
select is(tests.try('operator', $$ insert into survey_responses (organization_id, survey_id, user_id, answers) values (tests.id('acme'), tests.id('Open'), tests.id('bob'), '[]') $$),
  '23505 one_response_a_person_and_survey', 'of two concurrent responses one is stored');
alter table survey_responses enable trigger prepare;
select is(tests.try('alice', pg_temp.submit('All', tests.answers('All', '9'))) || tests.try('alice', pg_temp.submit('All', tests.answers('All', '9'))), '11', 'a survey with multiple responses accepts several');
do $$ begin perform tests.survey(status, status) from unnest(array['draft', 'paused', 'archived']) status; perform tests.survey('Closed'); perform tests.survey('Secret', organization => 'vault'); end $$;
alter table surveys disable trigger keep_life;
update surveys set closes_at = clock_timestamp() where id = tests.id('Closed');
alter table surveys enable trigger keep_life;
select is(tests.try(who, pg_temp.submit(survey, tests.answers(survey, '9'))), outcome, format('%s, whose survey is %s', who, survey)) from (values
  ('mia', 'draft', 'FBS09'), ('carol', 'Secret', 'FB404'), ('vic', 'Secret', '1'), ('anon', 'Open', '42501'), ('acme key with surveys:read surveys:write surveys:publish responses:read', 'Open', '42501'),
  ('olga', 'Open', '1'), ('rita', 'Open', '1')) as t (who, survey, outcome);
select is(tests.try(who, format('select private.start_survey(%L)', tests.id(survey))), outcome, format('%s starts: %s', who, survey)) from (values
  ('carol', 'draft', 'FB404'), ('mia', 'draft', 'FBS09'), ('carol', 'paused', 'FBS09'), ('carol', 'Closed', 'FBS09'), ('carol', 'Secret', 'FB404'), ('alice', 'Open', 'FBR09'), ('carol', 'Open', '1'),
  ('carol', 'Open', '1'), ('anon', 'Open', '42501'), ('acme key with surveys:read', 'Open', '42501')) as t (who, survey, outcome);
select is(tests.try('carol', 'select start_survey(survey_id => gen_random_uuid())'), 'FB404', 'an unknown survey cannot be started');
select is((select count(*) from private.survey_starts), 1::bigint, 'a repeated start is stored once');

-- Time
update private.survey_starts set started_at = now() - interval '90.5 seconds';
select is(tests.see('carol', $$ select (start_survey(tests.id('Open')) = now() - interval '90.5 seconds')::text $$), 'true', 'a repeated start keeps the first time');
select is(tests.try('carol', pg_temp.submit('Open', tests.answers('Open', '9'))), '1', 'a user who started can respond');
select is((select extract(epoch from submitted_at - started_at) from survey_responses where user_id = tests.id('carol')), 90.5, 'the response has its duration');
select is((select count(*) from private.survey_starts), 0::bigint, 'the start is deleted with the response');
select is((select completion_rate || ' ' || avg_completion_time from private.survey_figures(array[tests.id('Open')])), '1 90.5', 'responses without a start are not in the average duration');
select is(tests.try('bob', $$ select start_survey(tests.id('All')) $$), '1', 'a user starts another survey');

-- Reading
create function pg_temp.read_by(who text, survey text, locale text default 'en') returns text language plpgsql as $$
declare outcome text := tests.try(who, format('select private.start_survey_by_reading(%L, %L)', tests.id(survey), locale));
begin
  return outcome || ' ' || (select count(*) from private.survey_starts where survey_id = tests.id(survey) and by_reading);
end
$$;
do $$ begin perform tests.survey('Read'); end $$;
select is(pg_temp.read_by(who, survey, locale), outcome, format('%s reads the survey %s', who, survey)) from (values
  (1, 'olga', 'Read', 'en', '1 0'), (2, 'acme key with surveys:read', 'Read', 'en', '42501 0'), (3, 'anon', 'Read', 'en', '42501 0'), (4, 'carol', 'Read', 'en', '1 1'), (5, 'carol', 'Read', 'en', '1 1'),
  (6, 'mia', 'Read', 'en', '1 2'), (7, 'mia', 'draft', 'en', '1 0'), (8, 'carol', 'paused', 'en', '1 0'), (9, 'carol', 'archived', 'en', '1 0'), (10, 'carol', 'Closed', 'en', '1 0'), (11, 'alice', 'Open', 'en', '1 0'),
  (12, 'alice', 'All', 'en', '1 0')) as t (n, who, survey, locale, outcome) order by n;
update private.survey_starts set started_at = now() - interval '20 seconds' where by_reading;
select is(tests.see('carol', $$ select (start_survey(tests.id('Read')) = now())::text $$), 'true', 'the first call replaces the time of the read');
select is(pg_temp.read_by('carol', 'Read'), '1 1', 'a read after the call changes nothing');
select is(tests.try('mia', pg_temp.submit('Read', tests.answers('Read', '9'))), '1', 'a reader answers');
select is((select start_count || ' ' || timed_count || ' ' || avg_completion_time from private.survey_figures(array[tests.id('Read')])), '2 1 20', 'whose time counts from the read');
select is(pg_temp.read_by('mia', 'Read'), '1 0', 'a read after the response starts nothing');
select is((select completion_rate from private.survey_figures(array[tests.id('All')])), 0.6667, 'an unfinished start lowers the completion rate');

-- A person answers once: by an account, or identified by an application with its address
do $$ begin
  insert into profiles (id, kind, organization_id, email, name) values
    (tests.id('carol of acme'), 'email', tests.id('acme'), 'CAROL@example.test', 'Carol'), (tests.id('mia of acme'), 'email', tests.id('acme'), 'mia@example.test', 'Mia');
  perform tests.survey('For persons');
end $$;
create function pg_temp.identified(who text, survey text) returns text language sql as $$
  select format('insert into survey_responses (survey_id, user_id, answers) values (%L, %L, %L)', tests.id(survey), tests.id(who), tests.answers(survey, '0'))
$$;
select is(tests.try(who, statement), outcome, claim) from (values
  ('operator', pg_temp.identified('carol of acme', 'Open'), 'FBR09', 'an identified person does not answer after the account'),
  ('operator', pg_temp.identified('carol of acme', 'All'), '1', 'but does where several responses are allowed'),
  ('operator', $$ insert into private.survey_starts (organization_id, survey_id, user_id) values (tests.id('acme'), tests.id('For persons'), tests.id('mia of acme')) $$, '1',
    'an identified person starts'),
  ('mia', format('select private.start_survey(%L)', tests.id('For persons')), '1', 'the account goes on'),
  ('mia', pg_temp.submit('For persons', tests.answers('For persons', '9')), '1', 'and answers'),
  ('operator', pg_temp.identified('mia of acme', 'For persons'), 'FBR09', 'after which the identified person does not')) as t (who, statement, outcome, claim);
select is((select count(*) from survey_responses where survey_id = tests.id('For persons') and started_at is not null), 1::bigint, 'the response has the start of the person');
select is((select count(*) from private.survey_starts where survey_id = tests.id('For persons')), 0::bigint, 'and no start is left');
select is((select completion_rate from private.survey_figures(array[tests.id('For persons')])), 1.0000, 'one person started, and answered');
delete from survey_responses where user_id = tests.id('carol of acme');

-- Audience
do $$ begin
  perform tests.submission('A wish', 'alice'), tests.submission('Target', 'mia');
  perform tests.survey('Voters', settings => jsonb_build_object('targeting', jsonb_build_object('audience', 'voters', 'submission_id', tests.id('A wish'))));
  perform tests.survey('Followers', settings => jsonb_build_object('targeting', jsonb_build_object('audience', 'followers', 'submission_id', tests.id('A wish'))));
  perform tests.survey('German', settings => '{"targeting": {"locales": ["de", "pt-BR"]}}');
  insert into public.follows (submission_id, user_id) values (tests.id('A wish'), tests.id('bob'));
end $$;
select is(tests.try(who, pg_temp.submit(survey, tests.answers(survey, '9'), locale)), outcome, format('%s answers %s in %s: %s', who, survey, coalesce(locale, 'no locale'), outcome)) from (values
  ('bob', 'Voters', null, 'FB403'), ('alice', 'Voters', null, '1'), ('olga', 'Voters', null, 'FB403'), ('carol', 'Followers', null, 'FB403'), ('bob', 'Followers', null, '1'),
  ('alice', 'German', 'en', 'FB403'), ('alice', 'German', 'pt-BR', '1'), ('bob', 'German', 'de', '1'), ('carol', 'German', 'xx', 'FB403'), ('carol', 'German', null, 'FB403'), ('carol', 'All', 'xx', '23514 locale_is_known'), ('carol', 'All', 'ja', '1')) as t (who, survey, locale, outcome);
select is(tests.try('bob', format('select private.start_survey(%L)', tests.id('Voters'))), 'FB403', 'a user outside the audience cannot start');
select is(pg_temp.read_by('bob', 'Voters'), '1 0', 'nor by reading');
select is(pg_temp.read_by('carol', 'German'), '1 0', 'nor by reading in a language in which it cannot be answered');
select is(pg_temp.read_by('carol', 'German', 'de'), '1 1', 'but in one in which it can');
do $$ begin insert into public.votes (submission_id, user_id) values (tests.id('Target'), tests.id('carol')); perform tests.merge('A wish', 'Target'); end $$;
select is(tests.try('carol', pg_temp.submit('Voters', tests.answers('Voters', '9'))), '1', 'voters of the merged submission belong to the audience');
delete from submissions where id = tests.id('A wish');
select is(tests.try('mia', pg_temp.submit('Voters', tests.answers('Voters', '9'))), 'FB403', 'without the submission the audience is empty');
select is((select status || ' ' || audience from surveys where id = tests.id('Voters')), 'published voters', 'deleting the submission does not change the survey');
select is(tests.try('olga', format('update surveys set audience_submission_id = %L where id = %L', tests.id('Target'), tests.id('Voters'))), 'FB409', 'the audience of a published survey cannot be changed');

-- Sentiment
create function pg_temp.sentiment(answers jsonb, sentiment jsonb) returns text language plpgsql as $$
declare response json := tests.see('mia', pg_temp.submit('All', answers, null, sentiment)); answer text;
begin
  select concat_ws(' ', r.sentiment_score::real, r.sentiment, r.sentiment_engine) into answer from public.survey_responses r where r.id = (response ->> 'response_id')::uuid;
  return answer;
end
$$;
select is(pg_temp.sentiment(tests.answers('All', variadic answers::jsonb[]), sentiment), said, claim) from (values
  (array['0'], null, '-1 negative answers', 'nps 0'), (array['6'], null, '-0.25 negative answers', 'the mildest detractor'), (array['7'], null, '-0.1 neutral answers', 'a passive'),
  (array['8'], null, '0.1 neutral answers', 'another'), (array['9'], null, '0.6 positive answers', 'a promoter'), (array['10'], null, '1 positive answers', 'nps 10'),
  (array['"-"', '1'], null, '-1 negative answers', 'the lowest rating'), (array['"-"', '3'], null, '0 neutral answers', 'the middle'), (array['"-"', '"-"', '10'], null, '1 positive answers', 'the highest'),
  (array['10', '1'], null, '0 neutral answers', 'the mean of both'),
  (array['"-"', '"-"', '"-"', '"-"', '"-"', '"good"'], '{"engine": "e", "scores": [0.5]}'::jsonb, '0.5 positive e', 'text alone'),
  (array['10', '"-"', '"-"', '"-"', '"-"', '"bad"'], '{"engine": "e", "scores": [-1, -1]}', '0.4 positive e', 'numbers weigh 0.7, text 0.3'),
  (array['10', '"-"', '"-"', '"-"', '"-"', '"bad"'], '{"engine": "e", "scores": [-1]}', '1 positive answers', 'text without a score does not count'),
  (array['10', '"-"', '"-"', '"-"', '"-"', '"bad"'], '{"engine": "e", "scores": [null, "x"]}', '1 positive answers', 'a score that is not a number does not count'),
  (array['"-"', '"-"', '"-"', '"-"', '"-"', '"good"'], '{"engine": "e", "scores": [99]}', '1 positive e', 'a score is at most 1'),
  (array['"-"', '"-"', '"-"', '"One"'], '{"engine": "e", "scores": [1]}', '', 'a choice does not count'),
  (array['"-"', '"-"', '"-"', '"-"', '"-"', '"-"', '"a@b.co"'], '{"engine": "e", "scores": [1]}', '', 'an e-mail answer does not count')) as t (answers, sentiment, said, claim);
select is(tests.try('mia', $$ insert into survey_responses (survey_id, answers, sentiment_score) values (tests.id('All'), tests.answers('All', '9'), 1) $$), '42501', 'clients cannot set the sentiment');

-- Events, limits, deletion, erasure
delete from private.outbox;
select is(tests.try('alice', pg_temp.submit('Mails', tests.answers('Mails', '"ann@example.org"', '10'))), '1', 'an e-mail address is accepted as an answer');
select is((select data - 'submitted_at' from private.outbox), (select jsonb_build_object('survey_id', survey_id, 'response_id', id, 'sentiment', 'positive', 'sentiment_score', 1.0)
  from survey_responses where survey_id = tests.id('Mails')), 'the event has no answers');
select is(tests.try('bob', $$ insert into survey_responses (survey_id, answers) select tests.id('All'), tests.answers('All', '9') from generate_series(1, 101) $$), 'FB429', 'a direct client has a limit');
select is(tests.try('service_role', format('delete from surveys where id = %L', tests.id('Mails'))), 'FBH09', 'the service role cannot delete a survey with responses either');
delete from auth.users where id = tests.id('alice');
select is((select r.answers -> 0 ->> 'value' || '' from survey_responses r where survey_id = tests.id('Mails')), '10', 'deleting a user deletes the e-mail addresses in their answers');
select is((select count(*) from private.count_discrepancies()), 0::bigint, 'all counters are correct');
select is(private.author(r.user_id, r.organization_id) ->> 'name', 'Anonymous', 'the response is kept with the author Anonymous') from survey_responses r where survey_id = tests.id('Mails');
delete from auth.users where id = tests.id('bob');
delete from profiles where id = tests.id('bob');
select is((select count(*) from survey_responses where survey_id = tests.id('Open') and user_id is null), 1::bigint, 'deleting a profile keeps its responses');
select is((select count(*) from private.count_discrepancies()), 0::bigint, 'all counters are correct without its starts');
select is(tests.try('olga', format('select private.delete_survey(%L, true)', tests.id('Mails'))), '1', 'an admin deletes a survey with force');
select is(tests.refusal('olga', format('delete from surveys where id = %L', tests.id('Open'))) ->> 'code', 'SURVEY_HAS_RESPONSES', 'force applies to that survey only');
delete from organizations where id in (tests.id('acme'), tests.id('vault'));
select is((select count(*) from surveys) + (select count(*) from private.survey_counts), 0::bigint, 'deleting an organization deletes its surveys');

select * from finish();
rollback;
