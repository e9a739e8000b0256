-- Survey responses. A response is one row; its answers are one JSON value that is validated as a whole, so a
-- response is stored completely or not at all.

-- A UUID version 7. Time-ordered ids keep inserts at one end of the index.
create function private.ordered_id() returns uuid
language sql volatile
return encode(
  set_bit(set_bit(overlay(uuid_send(gen_random_uuid())
    placing substring(int8send((extract(epoch from clock_timestamp()) * 1000)::bigint) from 3) from 1 for 6),
      52, 1), 53, 1), 'hex')::uuid;

create table public.survey_responses (
  id uuid primary key default private.ordered_id(),
  organization_id uuid not null default private.requested_organization_id(),
  survey_id uuid not null,
  user_id uuid default private.caller_id() references public.profiles (id) on delete
    set null deferrable initially deferred,
  answers jsonb not null,
  locale text,
  started_at timestamptz,
  submitted_at timestamptz not null default now(),
  sentiment_score numeric(4, 3),
  sentiment text generated always as (
    case when sentiment_score >= 0.2 then 'positive' when sentiment_score <= -0.2 then 'negative'
      when sentiment_score is not null then 'neutral' end) stored,
  sentiment_engine text,
  is_only boolean not null default true,
  constraint survey_responses_survey_is_of_the_same_organization foreign key (organization_id, survey_id)
    references public.surveys (organization_id, id) on delete cascade,
  constraint answers_are_an_array check (jsonb_typeof(answers) = 'array'),
  constraint locale_is_known check (locale = any (private.locales())),
  constraint one_starts_before_one_submits check (started_at <= submitted_at),
  constraint sentiment_score_is_from_minus_1_to_1 check (sentiment_score between -1 and 1),
  constraint sentiment_has_an_engine check ((sentiment_score is null) = (sentiment_engine is null)),
  constraint sentiment_engine_has_1_to_100_characters check (char_length(sentiment_engine) between 1 and 100)
);
comment on table public.survey_responses is
  'Responses. answers is [{question_id, value}] in question order: a number for nps and rating, text for '
  'text and email, the option text or an array of option texts for multiple_choice; unanswered questions '
  'are absent. Readable by Admin and by the respondent. is_only: the survey allows one response for each '
  'person.';
create unique index one_response_a_person_and_survey on public.survey_responses (survey_id, user_id)
  where is_only;
create index survey_responses_newest_idx on public.survey_responses (survey_id, submitted_at desc, id desc);
create index survey_responses_sentiment_idx on public.survey_responses
  (survey_id, sentiment, submitted_at desc, id desc);
create index survey_responses_user_idx on public.survey_responses (user_id, survey_id);

create table private.survey_starts (
  organization_id uuid not null,
  survey_id uuid not null,
  user_id uuid not null references public.profiles (id) on delete cascade,
  started_at timestamptz not null default now(),
  by_reading boolean not null default false,
  primary key (survey_id, user_id),
  constraint survey_starts_survey_is_of_the_same_organization foreign key (organization_id, survey_id)
    references public.surveys (organization_id, id) on delete cascade
);
comment on table private.survey_starts is
  'Surveys that a user has started and not answered yet. Submitting moves started_at to the response. '
  'by_reading: the user has read the survey and not called start_survey, which sets started_at anew.';
create index survey_starts_user_idx on private.survey_starts (user_id);

create view public.survey_answers with (security_invoker = true) as
  select r.organization_id, r.survey_id, r.id as response_id, q.id as question_id, q.type,
    a.value -> 'value' as value, r.submitted_at
  from public.survey_responses r
  cross join lateral jsonb_array_elements(r.answers) as a (value)
  join public.survey_questions q on q.id = (a.value ->> 'question_id')::uuid;
comment on view public.survey_answers is 'One row for each answer of the responses the caller may read.';

-- Visibility and audience -----------------------------------------------------------------------------------

grant select (id, organization_id, survey_id, user_id, answers, locale, started_at, submitted_at,
  sentiment_score, sentiment, sentiment_engine)
  on public.survey_responses to authenticated, service_key;
grant insert (survey_id, answers, locale) on public.survey_responses to authenticated;
grant select, insert, delete on public.survey_responses to service_role;
grant select on public.survey_answers to authenticated, service_key, service_role;

create policy "a response is seen by admins and by who gave it" on public.survey_responses
  for select to authenticated using (
    user_id = (select auth.uid()) or organization_id = any
      ((select private.admin_organization_ids('responses:read'))::uuid[]));
create policy "a key sees the responses of its organization" on public.survey_responses
  for select to service_key using
    (organization_id = any ((select private.admin_organization_ids('responses:read'))::uuid[]));
create policy "an agent keeps to the responses of its surveys" on public.survey_responses
  as restrictive to service_key using (
    (select private.agent_survey_ids()) is null
      or survey_id = any ((select private.agent_survey_ids())::uuid[]));
create policy "people answer for themselves" on public.survey_responses
  for insert to authenticated with check (user_id = (select auth.uid()));

-- Whether the caller may see respondents. If the audience is voters or followers, respondents reveal them, so
-- a key needs submissions:moderate, as for the list of voters. definer: the audience is not granted.
create function private.can_see_respondents(survey_id uuid) returns boolean
language plpgsql stable security definer set search_path = pg_temp as $$
begin
  return not private.is_key() or private.has_scope(private.voters_scope())
    or exists (select from public.surveys s
      where s.id = can_see_respondents.survey_id and s.audience = 'everyone');
end
$$;
grant execute on function private.can_see_respondents to authenticated, service_key;

-- Starting --------------------------------------------------------------------------------------------------

-- Records that the caller started the survey and returns the time of the first call.
create function private.start_survey(survey_id uuid) returns timestamptz
language plpgsql set search_path = pg_temp as $$
begin
  perform private.require_survey(survey_id, null);
  return private.record_survey_start(survey_id);
end
$$;

-- Implementation of private.start_survey, which checks that the caller sees the survey. A call replaces the
-- time of a start by reading.
-- definer: starts are not granted.
create function private.record_survey_start(survey_id uuid, by_reading boolean default false)
  returns timestamptz
language plpgsql security definer set search_path = pg_temp as $$
declare survey public.surveys; person uuid[]; began timestamptz;
begin
  if private.is_key() or private.caller_id() is null then
    perform private.raise_error('FORBIDDEN', 'Only signed-in users can do this.');
  end if;
  survey := private.require_open_survey(survey_id, private.caller_id());
  person := private.same_person(private.caller_id(), survey.organization_id);
  if not by_reading then
    update private.survey_starts s set started_at = default, by_reading = false
    where s.survey_id = survey.id and s.user_id = any (person) and s.by_reading;
  end if;
  began := (select min(s.started_at) from private.survey_starts s
    where s.survey_id = survey.id and s.user_id = any (person));
  if began is null then
    insert into private.survey_starts as s (organization_id, survey_id, user_id, by_reading)
      values (survey.organization_id, survey.id, private.caller_id(), record_survey_start.by_reading)
    on conflict on constraint survey_starts_pkey do nothing returning s.started_at into began;
  end if;
  return coalesce(began, (select s.started_at from private.survey_starts s
    where s.survey_id = survey.id and s.user_id = private.caller_id()));
end
$$;

-- Records a start of a user who reads a published survey that they may answer, and have neither started nor
-- answered; not of admins, who read it for other reasons. Call it after private.require_survey. Reading must not
-- fail or wait because of it: it gives up after a millisecond, and another read or the call start_survey can
-- still record the start.
-- definer: starts are not granted.
create function private.start_survey_by_reading(survey_id uuid, locale text) returns void
language plpgsql security definer set search_path = pg_temp set lock_timeout = '1ms' as $$
declare
  survey public.surveys;
  person uuid[];
begin
  select * into survey from public.surveys s where s.id = start_survey_by_reading.survey_id;
  person := private.same_person(private.caller_id(), survey.organization_id);
  if survey.status = 'published' and private.targets_locale(survey, locale)
    and not private.is_admin(survey.organization_id, '')
    and not exists (select from private.survey_starts s where s.survey_id = survey.id and s.user_id = any (person))
    and not exists (select from public.survey_responses r
      where r.survey_id = survey.id and r.user_id = any (person))
    and private.is_in_audience(survey, private.caller_id()) then
    perform private.record_survey_start(survey.id, by_reading => true);
  end if;
exception when others then
  return;
end
$$;

create function public.start_survey(survey_id uuid) returns timestamptz
language sql set search_path = pg_temp
begin atomic
  select private.start_survey(survey_id);
end;
comment on function public.start_survey(uuid) is
  'Call it when the signed-in user starts to answer: completion time is measured from the first call, '
  'without one from the first GET /api/surveys/:id. '
  'Repeated calls have no effect.';

-- Responding ------------------------------------------------------------------------------------------------

-- Raises SURVEY_NOT_OPEN unless the survey is published and has not closed.
create function private.require_accepts_responses(survey public.surveys) returns void
language plpgsql stable set search_path = pg_temp as $$
begin
  if survey.status <> 'published' then
    perform private.raise_error('SURVEY_NOT_OPEN', case survey.status
      when 'draft' then 'This survey is still a draft and does not accept responses yet.'
      when 'paused' then 'This survey is paused and does not accept responses now.'
      else 'This survey is archived and no longer accepts responses.' end);
  elsif survey.closes_at <= clock_timestamp() then
    perform private.raise_error('SURVEY_NOT_OPEN', 'This survey is closed and no longer accepts responses.');
  end if;
end
$$;

-- Whether the survey may be answered in the language.
create function private.targets_locale(survey public.surveys, locale text) returns boolean
language sql immutable
return (survey).locales is null or coalesce(locale = any ((survey).locales), false);

-- Whether the profile is in the audience of the survey now. After a merge the target counts; nobody is in the
-- audience of a deleted submission. definer: targeting, votes and follows are not granted.
create function private.is_in_audience(survey public.surveys, user_id uuid) returns boolean
language plpgsql stable security definer set search_path = pg_temp as $$
declare submission uuid := (select coalesce(s.merged_into_id, s.id) from public.submissions s
  where s.id = survey.audience_submission_id);
begin
  return case survey.audience
    when 'everyone' then true
    when 'voters' then exists (select from public.votes v
      where v.submission_id = submission and v.user_id = is_in_audience.user_id)
    else submission is not null and private.is_follower(submission, user_id) end;
end
$$;

-- Returns the survey, locked for this transaction, if the profile may answer it now; raises SURVEY_NOT_OPEN,
-- ALREADY_RESPONDED or FORBIDDEN otherwise. definer: locks the survey and reads targeting.
create function private.require_open_survey(survey_id uuid, user_id uuid) returns public.surveys
language plpgsql security definer set search_path = pg_temp as $$
declare survey public.surveys; person uuid[];
begin
  if user_id = private.caller_id() then perform private.lock_caller(); end if;
  select * into survey from public.surveys s where s.id = require_open_survey.survey_id for share;
  if survey.id is null then
    perform private.raise_error('NOT_FOUND', 'There is no such survey.');
  end if;
  perform private.require_accepts_responses(survey);
  -- Serializes with the erasure of the respondent.
  perform 1 from public.profiles p
    where p.id = require_open_survey.user_id
    and (p.kind <> 'user' or p.auth_user_id is not null) for key share;
  if not found and user_id = private.caller_id() then
    perform private.raise_error('UNAUTHORIZED', 'This account was deleted. Sign in with another account.');
  end if;
  if not survey.allow_multiple_responses then
    -- Serializes responses of one person; otherwise a start could be recorded after the response. Operators
    -- insert in bulk and record no start.
    if user_id = private.caller_id() then
      perform pg_advisory_xact_lock(hashtextextended(survey.id::text || private.person_of(p), 0))
      from public.profiles p where p.id = require_open_survey.user_id;
    end if;
    person := private.same_person(user_id, survey.organization_id);
    if exists (select from public.survey_responses r
      where r.survey_id = survey.id and r.user_id = any (person)) then
      perform private.raise_error('ALREADY_RESPONDED', 'You have already answered this survey.');
    end if;
  end if;
  if not private.is_in_audience(survey, user_id) then
    perform private.raise_error('FORBIDDEN', case survey.audience
      when 'voters' then 'Only people who voted for the submission can answer this survey.'
      else 'Only people who follow the submission can answer this survey.' end);
  end if;
  return survey;
end
$$;

-- Whether the text is an e-mail address by the rule of shared/fields.ts.
create function private.is_email(value text) returns boolean
language sql immutable
return char_length(value) <= 254 and position('@' in value) <= 65
  and value ~ '^[A-Za-z0-9_!#$%&''*+/=?^`{|}~-]+(\.[A-Za-z0-9_!#$%&''*+/=?^`{|}~-]+)*'
    '@([A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+'
    '(?=[0-9-]*[A-Za-z])[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?$';

-- Kind of answers to a question type, which determines how they are counted: number, choice or text. Null
-- for an unknown type.
create function private.answer_kind(question_type text) returns text
language sql immutable
return case
  when question_type in ('nps', 'rating') then 'number'
  when question_type = 'multiple_choice' then 'choice'
  when question_type in ('text', 'email') then 'text'
end;

-- Whether an answer to a question type can identify the respondent, so that an erasure removes it. Null for
-- an unknown type.
create function private.is_personal_answer(question_type text) returns boolean
language sql immutable
return case
  when question_type = 'email' then true
  when question_type in ('nps', 'rating', 'multiple_choice', 'text') then false
end;

-- The lowest number that answers a question; null if the question takes no number.
create function private.lowest_answer(question_type text) returns integer
language sql immutable
return case question_type when 'nps' then 0 when 'rating' then 1 end;

create type private.checked_answer as (value jsonb, complaint text);
comment on type private.checked_answer is
  'A validated answer as stored, or an error message; both null for an empty answer.';

-- Validates a value against its question and returns it as stored; null if it is empty.
create function private.check_answer(question public.survey_questions, value jsonb)
  returns private.checked_answer
language plpgsql stable set search_path = pg_temp as $$
declare
  kind text := jsonb_typeof(value);
  plain text := private.trim_text(value #>> '{}');
  lowest integer := private.lowest_answer(question.type);
  highest integer := coalesce(question.scale, 10);
  chosen text[]; named text[];
begin
  if value is null or kind = 'null' or plain = '' or value = '[]' then return null; end if;
  case question.type
    when 'nps', 'rating' then
      if kind <> 'number' or plain::numeric <> trunc(plain::numeric) or plain::numeric not between lowest
        and highest then
        return row(null, format('must be a whole number from %s to %s', lowest,
          highest))::private.checked_answer;
      end if;
      return row(to_jsonb(plain::numeric::integer), null)::private.checked_answer;
    when 'multiple_choice' then
      if kind = 'array' and not question.multiple then
        return row(null, 'must be a single option')::private.checked_answer;
      elsif kind not in ('string', 'array') or kind = 'array'
        and jsonb_path_exists(value, 'strict $[*] ? (@.type() != "string")') then
        return row(null, case when question.multiple then 'must be a list of options (id or text)'
          else 'must be one of the options (id or text)' end)::private.checked_answer;
      end if;
      chosen := case kind when 'string' then array[plain]
        else array(select private.trim_text(c) from jsonb_array_elements_text(value) c limit 101) end;
      named := array(select o.text from public.survey_options o
        where o.question_id = question.id and (o.text = any (chosen) or o.id::text = any (chosen))
          order by o.position);
      if exists (select from unnest(chosen) c where not exists (
          select from public.survey_options o
            where o.question_id = question.id and c in (o.text, o.id::text))) then
        return row(null, 'must be one of the options (id or text)')::private.checked_answer;
      elsif cardinality(named) < cardinality(chosen) then
        return row(null, 'must not repeat an option')::private.checked_answer;
      end if;
      return row(case when question.multiple then to_jsonb(named)
        else to_jsonb(named[1]) end, null)::private.checked_answer;
    when 'email' then
      if kind <> 'string' or not private.is_email(plain) then
        return row(null,
          'must be an email address of at most 254 characters, such as name@example.org'
        )::private.checked_answer;
      end if;
    -- No ELSE: a question type without validation must raise an error.
    when 'text' then
      if kind <> 'string' or char_length(plain) > 5000 then
        return row(null, 'must be a string of at most 5,000 characters')::private.checked_answer;
      end if;
  end case;
  return row(to_jsonb(plain), null)::private.checked_answer;
end
$$;

-- Sentiment of a rating or nps answer from -1 to 1. nps: detractors are negative, passives neutral,
-- promoters positive.
create function private.sentiment_of_number(question public.survey_questions, value integer) returns numeric
language sql immutable
return case
  when (question).type = 'rating' then 2.0 * (value - 1) / ((question).scale - 1) - 1
  when (question).type = 'nps' and value <= 6 then (value - 8) / 8.0
  when (question).type = 'nps' then (array[-0.1, 0.1, 0.6, 1])[value - 6]
end;

-- Sentiment of a response: the mean of two means, that of its numeric answers and that of its text scores, as
-- far as present.
create function private.sentiment_of_response(numbers numeric, texts numeric) returns numeric
language sql immutable
return round(coalesce(0.7 * numbers + 0.3 * texts, numbers, texts), 3);

-- Validates a response and returns it as stored. Raises one error with all details: answers.N.value or
-- answers.N.question_id for sent answers, questions.<id> for missing ones.
-- definer: reads the questions for any respondent.
create function private.check_response(response public.survey_responses) returns public.survey_responses
language plpgsql security definer set search_path = pg_temp as $$
declare
  survey public.surveys;
  -- Scores {engine, scores} that the edge functions computed, one for each sent answer. Clients of the data
  -- API cannot send them.
  judged jsonb := nullif(current_setting('feedback.sentiment', true), '')::jsonb;
  item record;
  checked private.checked_answer;
  kept jsonb[] := '{}';
  complaints jsonb[] := '{}';
  numbers numeric[] := '{}';
  texts numeric[] := '{}';
begin
  survey := private.require_open_survey(response.survey_id, response.user_id);
  if not private.targets_locale(survey, response.locale) then
    perform private.raise_error('FORBIDDEN',
      format('This survey is only for people who use one of these languages: %s.',
        array_to_string(survey.locales, ', ')));
  end if;
  if coalesce(jsonb_typeof(response.answers), '') <> 'array' or jsonb_array_length(response.answers) > 200
    then
    perform private.raise_error('VALIDATION_ERROR', 'must be an array of at most 200 answers', 'answers');
  end if;
  for item in
    select asked.question, a.n - 1 as index, a.answer -> 'value' as value,
      row_number() over (partition by asked.id order by a.n) as nth
    from jsonb_array_elements(response.answers) with ordinality as a (answer, n)
    full join (select q as question, q.id, q.position from public.survey_questions q
      where q.survey_id = survey.id) asked
      on asked.id::text = lower(a.answer ->> 'question_id')
    order by asked.position, a.n
  loop
    if item.index is not null and (item.question).id is null then
      complaints := complaints || jsonb_build_object(
        'field', format('answers.%s.question_id', item.index),
        'message', 'is not a question of this survey');
      continue;
    elsif item.nth > 1 then
      complaints := complaints || jsonb_build_object(
        'field', format('answers.%s.question_id', item.index),
        'message', 'must not be answered twice');
      continue;
    end if;
    checked := private.check_answer(item.question, item.value);
    if checked.complaint is not null then
      complaints := complaints || jsonb_build_object(
        'field', format('answers.%s.value', item.index),
        'message', checked.complaint);
    elsif checked.value is not null then
      kept := kept || jsonb_build_object('question_id', (item.question).id, 'value', checked.value);
      if private.answer_kind((item.question).type) = 'number' then
        numbers := numbers || private.sentiment_of_number(item.question, checked.value::integer);
      elsif (item.question).type = 'text'
        and jsonb_typeof(judged -> 'scores' -> item.index::integer) = 'number' then
        texts := texts || greatest(-1, least(1, (judged -> 'scores' ->> item.index::integer)::numeric));
      end if;
    elsif (item.question).required then
      complaints := complaints || jsonb_build_object(
        'field', format('questions.%s', (item.question).id),
        'message', format('needs an answer: %s', left((item.question).text, 100)));
    end if;
  end loop;
  if cardinality(complaints) = 0 and cardinality(kept) = 0 then
    complaints := array[jsonb_build_object('field', 'answers', 'message', 'must answer at least one question')];
  end if;
  if cardinality(complaints) > 0 then
    perform private.raise_error('VALIDATION_ERROR',
      'Some answers are missing or not valid. See details.', null,
      jsonb_build_object('details', to_jsonb(complaints[1:50])));
  end if;
  response.organization_id := survey.organization_id;
  response.answers := to_jsonb(kept);
  response.is_only := not survey.allow_multiple_responses;
  if response.started_at is null then
    select least(s.started_at, response.submitted_at) into response.started_at from private.survey_starts s
    where s.survey_id = survey.id
      and s.user_id = any (private.same_person(response.user_id, survey.organization_id))
    order by s.started_at limit 1 for update;
  end if;
  if response.sentiment_score is null then
    response.sentiment_score := private.sentiment_of_response(private.mean(numbers), private.mean(texts));
    response.sentiment_engine := case when cardinality(texts) > 0 then judged ->> 'engine'
      when cardinality(numbers) > 0 then 'answers' end;
  end if;
  return response;
end
$$;

-- The mean; null if count is 0.
create function private.mean(numbers numeric[]) returns numeric
language plpgsql immutable set search_path = pg_temp as $$
begin
  return (select avg(n) from unnest(numbers) n);
end
$$;

-- Trigger: validates a response to an open survey that the caller sees, one for each person unless the survey
-- allows more. Invoker: a survey the caller cannot see is not found.
create function private.prepare_response() returns trigger
language plpgsql set search_path = pg_temp as $$
begin
  -- private.imported_answers has already validated the response, and the survey may be closed.
  if private.is_importing() then return new; end if;
  if not exists (select from public.surveys s where s.id = new.survey_id) then
    perform private.raise_error('NOT_FOUND', 'There is no such survey.');
  end if;
  return private.check_response(new);
end
$$;
create trigger prepare before insert on public.survey_responses
  for each row execute function private.prepare_response();

-- Trigger: deletes the respondent's start and emits survey.response.created, which contains no answers.
-- definer: deletes the start and emits the event.
create function private.finish_responses() returns trigger
language plpgsql security definer set search_path = pg_temp as $$
begin
  if private.is_direct() then
    perform private.charge_direct('survey_response_create', (select count(*) from added));
  end if;
  delete from private.survey_starts s using added r
  where s.survey_id = r.survey_id and s.user_id = any (private.same_person(r.user_id, r.organization_id));
  if not private.is_internal_write() then
    perform private.emit_event(r.organization_id, 'survey.response.created', r.survey_id,
      jsonb_build_object(
        'survey_id', r.survey_id,
        'response_id', r.id,
        'submitted_at', r.submitted_at,
        'sentiment', r.sentiment,
        'sentiment_score', r.sentiment_score))
    from added r;
  end if;
  return null;
end
$$;
create trigger finish after insert on public.survey_responses
  referencing new table as added for each statement execute function private.finish_responses();

-- Submits a response of the caller. sentiment is {engine, scores}: one score or null for each answer in
-- sent order.
create function private.submit_survey_response(survey_id uuid, answers jsonb, locale text, sentiment jsonb)
  returns json
language plpgsql set search_path = pg_temp as $$
declare response record;
begin
  perform private.require_survey(survey_id, null);
  perform set_config('feedback.sentiment', coalesce(sentiment::text, ''), true);
  insert into public.survey_responses as r (survey_id, answers, locale)
  values (submit_survey_response.survey_id, submit_survey_response.answers, submit_survey_response.locale)
  returning r.id, r.submitted_at into response;
  perform set_config('feedback.sentiment', '', true);
  return json_build_object(
    'response_id', response.id,
    'survey_id', survey_id,
    'submitted_at', response.submitted_at);
-- Two concurrent responses: the unique index rejects one.
exception when unique_violation then
  perform private.raise_error('ALREADY_RESPONDED', 'You have already answered this survey.');
end
$$;

-- Survey page -----------------------------------------------------------------------------------------------

-- Implementation of private.survey_page, which checks that the caller sees the survey.
-- definer: targeting and starts are not granted.
create function private.open_survey_page(survey_id uuid, locale text, response_id uuid) returns json
language plpgsql security definer set search_path = pg_temp as $$
declare survey public.surveys; refusal text; is_own boolean;
begin
  select * into survey from public.surveys s where s.id = open_survey_page.survey_id;
  is_own := response_id is not null and exists (select from public.survey_responses r
    where r.id = response_id and r.survey_id = survey.id and r.user_id = private.caller_id());
  -- Viewing the confirmation after a response does not start the next one.
  if not is_own then
    begin
      perform private.require_accepts_responses(survey);
      if not private.targets_locale(survey, locale) then
        refusal := 'LOCALE';
      elsif private.caller_id() is null then
        refusal := 'UNAUTHORIZED';
      else
        perform private.record_survey_start(survey.id);
      end if;
    exception when others then
      refusal := case sqlstate when private.error_state('SURVEY_NOT_OPEN') then 'SURVEY_NOT_OPEN'
        when private.error_state('ALREADY_RESPONDED') then 'ALREADY_RESPONDED'
          when private.error_state('FORBIDDEN') then 'FORBIDDEN' end;
      if refusal is null then raise; end if;
    end;
  end if;
  return json_build_object('refusal', refusal, 'locales', survey.locales, 'is_own_response', is_own);
end
$$;

-- For the page of a survey: {refusal, locales, is_own_response}. If the caller may answer, refusal is
-- null and the start is recorded; otherwise it is SURVEY_NOT_OPEN, LOCALE (the survey is limited to
-- locales), UNAUTHORIZED (sign in first), ALREADY_RESPONDED or FORBIDDEN. is_own_response: response_id is
-- a response of the caller. Raises NOT_FOUND if the caller does not see the survey.
create function private.survey_page(survey_id uuid, locale text, response_id uuid) returns json
language plpgsql set search_path = pg_temp as $$
begin
  perform private.require_survey(survey_id, null);
  return private.open_survey_page(survey_id, locale, response_id);
end
$$;

-- The newest published survey of the current organization that targets the caller and that they have not
-- answered in any version, as {id, title}; null if there is none. For the widget.
-- definer: targeting is not granted.
create function private.offered_survey(locale text) returns json
language plpgsql stable security definer set search_path = pg_temp as $$
declare
  caller uuid := private.caller_id();
  own_id uuid := private.current_organization_id();
  person uuid[] := private.same_person(caller, own_id);
begin
  if caller is null or not exists (select from public.organizations o where o.id = own_id
    and (o.visibility = 'public' or private.is_member(o.id, caller))) then
    return null;
  end if;
  return (
    select json_build_object('id', s.id, 'title', s.title) from public.surveys s
    where s.organization_id = own_id and s.status = 'published'
      and (s.closes_at is null or s.closes_at > now())
      and private.targets_locale(s, offered_survey.locale)
      and not exists (select from public.survey_responses r join public.surveys version
          on version.id = r.survey_id
        where r.user_id = any (person) and version.family_id = s.family_id)
      and private.is_in_audience(s, caller)
    order by s.published_at desc, s.id limit 1);
end
$$;

-- Erasure ---------------------------------------------------------------------------------------------------

-- Reassigns a person's responses, in one organization or (null) in all, to a nameless profile, removes
-- personal answers, and deletes the person's starts.
create function private.anonymize_responses(profile_id uuid, organization_id uuid, heir_id uuid) returns void
language plpgsql set search_path = pg_temp as $$
begin
  perform 1 from public.profiles p where p.id = profile_id for update;
  -- Lock surveys before starts and responses: deleting a survey deletes both.
  perform 1 from public.surveys s
  where s.id in (
      select r.survey_id from public.survey_responses r where r.user_id = profile_id
      union all select b.survey_id from private.survey_starts b where b.user_id = profile_id)
    and (anonymize_responses.organization_id is null
      or s.organization_id = anonymize_responses.organization_id)
  order by s.id for key share;
  delete from private.survey_starts b
  where b.user_id = profile_id and
    (anonymize_responses.organization_id is null or b.organization_id = anonymize_responses.organization_id);
  update public.survey_responses r set user_id = heir_id, answers = coalesce((
    select jsonb_agg(a.value order by a.n)
      from jsonb_array_elements(r.answers) with ordinality as a (value, n)
    join public.survey_questions q on q.id = (a.value ->> 'question_id')::uuid
    where not private.is_personal_answer(q.type)), '[]')
  where r.user_id = profile_id and
    (anonymize_responses.organization_id is null or r.organization_id = anonymize_responses.organization_id)
    and (heir_id <> profile_id or exists (select from public.survey_questions q
      where q.survey_id = r.survey_id and private.is_personal_answer(q.type)
      and r.answers @> jsonb_build_array(jsonb_build_object('question_id', q.id))));
end
$$;

-- Trigger: removes personal answers when the respondent is deleted.
-- definer: the response stays when its respondent is deleted.
create function private.anonymize_respondent() returns trigger
language plpgsql security definer set search_path = pg_temp as $$
begin
  perform private.anonymize_responses(old.id, null, old.id);
  return old;
end
$$;
create trigger forget_respondent after update of auth_user_id on public.profiles
  for each row when (old.auth_user_id is not null and new.auth_user_id is null)
    execute function private.anonymize_respondent();
create trigger forget_respondent_of_deleted before delete on public.profiles
  for each row execute function private.anonymize_respondent();

grant execute on function private.ordered_id, private.check_response to authenticated, service_role;
grant execute on function private.start_survey, private.record_survey_start,
  private.start_survey_by_reading, public.start_survey, private.submit_survey_response to authenticated;
grant execute on function private.survey_page, private.open_survey_page to anon, authenticated;
grant execute on function private.offered_survey to authenticated;
