-- Sentiment scores that a language model computes after the response is stored.

-- Replaces the scores of a response that the caller submitted in the last ten minutes. judged is {engine,
-- scores}, with scores of text questions by question id. definer: responses are not writable.
create function private.score_survey_response(response_id uuid, judged jsonb) returns void
language plpgsql security definer set search_path = pg_temp as $$
declare response public.survey_responses; numbers numeric; texts numeric;
begin
  -- Lock the survey first: deleting it deletes its responses.
  perform 1 from public.surveys s
  where s.id = (select r.survey_id from public.survey_responses r where r.id = response_id) for key share;
  select * into response from public.survey_responses r
  where r.id = response_id and r.user_id = private.caller_id()
    and r.submitted_at > now() - interval '10 minutes'
  for no key update;
  if response.id is null then return; end if;
  select avg(private.sentiment_of_number(q, (a.answer ->> 'value')::integer)) filter
    (where private.answer_kind(q.type) = 'number'),
    avg(greatest(-1, least(1, (judged -> 'scores' ->> q.id::text)::numeric))) filter (where q.type = 'text')
  into numbers, texts
  from jsonb_array_elements(response.answers) as a (answer)
  join public.survey_questions q on q.id = (a.answer ->> 'question_id')::uuid;
  if texts is null then return; end if;
  update public.survey_responses r set
    sentiment_score = private.sentiment_of_response(numbers, texts),
    sentiment_engine = judged ->> 'engine'
  where r.id = response.id;
end
$$;

grant execute on function private.score_survey_response to authenticated;
