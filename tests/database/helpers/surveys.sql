-- Creates surveys by name, as people.sql creates submissions.

create or replace function tests.survey(name text, status text default 'published', organization text default 'acme', settings jsonb default '{}',
  questions jsonb default '[{"type": "nps", "text": "Would you recommend us?", "required": true}, {"type": "text", "text": "Why?"}]') returns uuid
language plpgsql as $$
begin
  insert into public.surveys (id, organization_id, title) values (tests.id(name), tests.id(organization), name);
  perform private.write_settings(tests.id(name), settings);
  perform private.write_questions(tests.id(organization), tests.id(name), questions);
  if status <> 'draft' then update public.surveys set status = 'published' where id = tests.id(name); end if;
  if status not in ('draft', 'published') then update public.surveys set status = survey.status where id = tests.id(name); end if;
  return tests.id(name);
end
$$;
comment on function tests.survey(text, text, text, jsonb, jsonb) is 'A survey whose title is its name, made by an operator; asks nps and text unless told otherwise.';

create or replace function tests.question(survey text, at integer) returns uuid
language sql stable security definer
begin atomic
  select q.id from public.survey_questions q where q.survey_id = tests.id(survey) and q.position = at;
end;
comment on function tests.question(text, integer) is 'The id of a survey''s question, whoever asks.';

create or replace function tests.answers(survey text, variadic answers jsonb[]) returns jsonb
language sql stable
begin atomic
  select coalesce(jsonb_agg(jsonb_build_object('question_id', tests.question(survey, n::integer), 'value', answer) order by n) filter (where answer <> '"-"'), '[]')
  from unnest(answers) with ordinality as a (answer, n);
end;
comment on function tests.answers(text, jsonb[]) is 'Answers to a survey''s questions in their order; "-" leaves one out.';

grant execute on all functions in schema tests to public;
