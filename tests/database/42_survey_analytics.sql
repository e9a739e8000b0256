-- Every number equals a count of the responses, and is hidden from callers without permission.
begin;
set local search_path = public, extensions;
select plan(38);
set constraints all immediate;
do $$ begin perform tests.start(); end $$;

create function pg_temp.analytics(name text, who text default 'olga') returns jsonb language sql as $$
  select tests.see(who, format('select private.survey_analytics(%L)', tests.id(name)))::jsonb
$$;

-- Before the first response
do $$ begin
  perform tests.survey('All', settings => '{"settings": {"allow_multiple_responses": true}}', questions => '[{"type": "nps", "text": "N?"}, {"type": "rating", "text": "R?", "scale": 3},
    {"type": "multiple_choice", "text": "C?", "options": ["Zwei", "Eins"]}, {"type": "multiple_choice", "text": "M?", "multiple": true, "options": ["A", "B", "C"]},
    {"type": "text", "text": "X?"}, {"type": "email", "text": "E?"}]');
end $$;

-- Expected values that were computed by hand
do $$ begin
  insert into private.survey_starts (organization_id, survey_id, user_id, started_at)
  select tests.id('acme'), tests.id('All'), tests.id(name), now() - interval '30 seconds' from unnest(array['alice', 'bob', 'carol']) name;
  insert into survey_responses (survey_id, user_id, answers) values
    (tests.id('All'), tests.id('alice'), tests.answers('All', '10', '3', '"Eins"', '["A", "B"]', '"x"', '"a@b.co"')),
    (tests.id('All'), tests.id('bob'), tests.answers('All', '9', '1', '"Eins"', '["B"]')),
    (tests.id('All'), tests.id('rita'), tests.answers('All', '8', '"-"', '"-"', '"-"', '"y"')),
    (tests.id('All'), tests.id('rita'), tests.answers('All', '3')),
    (tests.id('All'), tests.id('mia'), tests.answers('All', '"-"', '"-"', '"Zwei"'));
end $$;
select is((select count(*) from survey_answers where survey_id = tests.id('All')), 14::bigint, 'survey_answers has a row per answer');
select is((select string_agg(value::text, ' ' order by value) from survey_answers where question_id = tests.question('All', 4)), '["B"] ["A", "B"]', 'survey_answers has the value of each answer');

-- The views have the same numbers
select is((select to_jsonb(r) - '{organization_id,survey_id,sentiment_overall,scored_count,positive_count,neutral_count,negative_count}'::text[]
    || jsonb_build_object('sentiment', jsonb_build_object('overall', sentiment_overall, 'scored_count', scored_count, 'positive_count', positive_count, 'neutral_count', neutral_count, 'negative_count', negative_count))
  from survey_results r where survey_id = tests.id('All')), pg_temp.analytics('All') - 'breakdown_by_question', 'survey_results equals the analytics');
select is((select jsonb_object_agg(value, total) from survey_question_results where question_id = tests.question('All', 2)), '{"1": 1, "2": 0, "3": 1}', 'survey_question_results equals the analytics');

-- Random responses, compared with a count
do $$ begin
  perform setseed(0.5);
  perform tests.survey('Many', settings => '{"settings": {"allow_multiple_responses": true}}', questions => '[{"type": "nps", "text": "N?"}, {"type": "rating", "text": "R?"},
    {"type": "multiple_choice", "text": "C?", "options": ["1", "2", "3"]}, {"type": "multiple_choice", "text": "M?", "multiple": true, "options": ["1", "2", "3"]}, {"type": "text", "text": "X?"}]');
  for n in 1..10 loop
    insert into survey_responses (survey_id, user_id, answers, started_at, submitted_at)
    select tests.id(s.name), tests.id('alice'), tests.answers(s.name, variadic array(
        select case when random() < 0.3 and q.position > 1 then '"-"'::jsonb else case q.position when 1 then to_jsonb(floor(random() * 11)::int) when 2 then to_jsonb(1 + floor(random() * 3)::int)
          when 3 then case s.name when 'Many' then '"2"' else '"Eins"' end::jsonb when 4 then case s.name when 'Many' then '["1", "3"]' else '["C", "A"]' end::jsonb else '"x"' end end
        from survey_questions q where q.survey_id = tests.id(s.name) and q.position < 6 and g > 0 order by q.position)),
      case when random() < 0.5 then now() - random() * interval '1 hour' end, now()
    from generate_series(1, 20) g, (values ('All'), ('Many')) s (name);
    delete from survey_responses where random() < 0.1;
  end loop;
end $$;
select is((select count(*) from private.count_discrepancies()), 0::bigint, 'counters are correct after statements over several surveys, and deletions');
select ok((select response_count > 100 from survey_results where survey_id = tests.id('Many')), 'the survey has more than 100 responses');
select is((select nps_score from survey_results where survey_id = tests.id('Many')), (
  select round(100.0 * (count(*) filter (where (value)::int >= 9) - count(*) filter (where (value)::int <= 6)) / count(*), 1) from survey_answers where question_id = tests.question('Many', 1)), 'nps_score is the share of promoters minus the share of detractors');
select is((select avg_completion_time from survey_results where survey_id = tests.id('Many')), (
  select round(avg((extract(epoch from submitted_at - started_at) * 1000)::bigint) / 1000, 1) from survey_responses where survey_id = tests.id('Many')), 'avg_completion_time is the mean of the responses with a start');
select is((select sentiment_overall from survey_results where survey_id = tests.id('Many')), (select round(avg(sentiment_score), 3) from survey_responses where survey_id = tests.id('Many')), 'sentiment_overall is the mean of the scores');
create temporary table before as select name, pg_temp.analytics(name) as analytics from unnest(array['All', 'Many']) name;
do $$ begin perform private.recount_survey(id) from surveys order by title; end $$;
select is(pg_temp.analytics(name), analytics, format('counting %s anew changes nothing', name)) from before;
update survey_responses set sentiment_score = -1, sentiment_engine = 'other', submitted_at = submitted_at + interval '1 second' where survey_id = tests.id('Many');
select is((select sentiment_overall || ' ' || negative_count from survey_results where survey_id = tests.id('Many')), (select '-1 ' || count(*) from survey_responses where survey_id = tests.id('Many')), 'changes by an operator are counted');
select is((select count(*) from private.count_discrepancies()), 0::bigint, 'all counters are correct after them');

-- Lists
select is(tests.see(who, format('select private.count_survey_responses(%L, %L, %L, %L)', tests.id('All'), sentiment, since, until)), (
  select count(*)::text from survey_responses r where r.survey_id = tests.id('All') and r.sentiment = coalesce(t.sentiment, r.sentiment) is not false
    and (t.sentiment is null or r.sentiment is not null) and submitted_at >= coalesce(since, '-infinity') and submitted_at <= coalesce(until, 'infinity') and who <> 'alice'),
  format('%s counts %s from %s to %s', who, coalesce(sentiment, 'all'), coalesce(since::date::text, 'ever'), coalesce(until::date::text, 'ever')))
from (values ('olga', null, null::timestamptz, null::timestamptz), ('olga', 'positive', null, null), ('olga', 'neutral', null, null), ('olga', 'negative', null, null),
  ('olga', 'negative', now() - interval '1 minute', null), ('olga', null, null, now() - interval '1 day'), ('olga', null, null, now()), ('acme key with responses:read', null, null, null),
  ('alice', null, null, null)) as t (who, sentiment, since, until);

-- Permissions
select is(tests.try(who, format('select private.survey_analytics(%L)', tests.id(survey))), outcome, format('%s gets %s', who, outcome)) from (values
  ('mia', 'All', 'FB403'), ('alice', 'All', 'FB403'), ('acme key with responses:read', 'All', 'FB403'), ('rival key with analytics:read', 'All', 'FB404'), ('olga', 'none', 'FB404')) as t (who, survey, outcome);
select is(concat_ws(' ', tests.see(who, 'select count(*) from survey_results'), tests.see(who, 'select count(*) from survey_question_results'), tests.see(who, 'select count(*) > 20 from survey_answers')), seen,
  format('%s reads the views', who)) from (values
  ('olga', '2 46 true'), ('service_role', '2 46 true'), ('operator', '2 46 true'), ('acme key with analytics:read', '2 46 false'), ('acme key with responses:read', '0 0 true'), ('mia', '0 0 false'), ('alice', '0 0 true'), ('rita', '0 0 false'), ('anon', '42501 42501 42501')) as t (who, seen);

-- The check detects wrong counters
update private.survey_counts set starts = starts + 1 where survey_id = tests.id('All');
update private.survey_answer_counts set total = total + 1 where question_id = tests.question('Many', 1) and value = '3';
update private.survey_counts set score = score + 0.001 where survey_id = tests.id('Many');
select is((select string_agg(subject || ' ' || stored - truth, ', ' order by subject collate "C") from private.count_discrepancies()), 'survey_answer_counts 1, surveys.score 1, surveys.starts 1', 'count_discrepancies finds wrong counters');

-- Shards
do $$ begin perform tests.survey('Shards'); insert into survey_responses (survey_id, user_id, answers) values (tests.id('Shards'), tests.id('alice'), tests.answers('Shards', '9')); end $$;
select is((select count(*) from private.survey_counts where survey_id = tests.id('Shards')), 1::bigint, 'a survey with few responses has one shard');

select * from finish();
rollback;
