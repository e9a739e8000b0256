-- Surveys and responses written by an import.

-- Writes surveys with questions in their status; of the versions of a survey only one is open.
create function private.import_surveys(import private.imports, records jsonb) returns private.import_outcome
language plpgsql set search_path = pg_temp as $$
declare
  outcome private.import_outcome := row(0, 0, '[]')::private.import_outcome;
  r record; row_id uuid; family uuid; audience_id uuid; state text;
begin
  for r in
    select * from jsonb_to_recordset(records) as s
      (line integer, n integer, id text, title text, description text, status text, questions jsonb,
      allow_multiple_responses boolean, show_branding boolean, redirect_url text, audience text,
        audience_submission_id text, locales jsonb,
      closes_at timestamptz, version_of text, published_at timestamptz, closed_at timestamptz,
        created_at timestamptz, updated_at timestamptz)
    order by s.n
  loop
    if private.imported_row(import, 'survey', r.id) is not null then
      outcome.skipped := outcome.skipped + 1;
      continue;
    end if;
    audience_id := private.imported_row(import, 'submission', r.audience_submission_id);
    if r.audience_submission_id is not null and audience_id is null then
      outcome.failures := outcome.failures || private.unknown_reference(r.line, 'audience_submission_id',
        'submission');
      continue;
    end if;
    row_id := gen_random_uuid();
    family := coalesce((select s.family_id from public.surveys s
      where s.id = private.imported_row(import, 'survey', r.version_of)), row_id);
    state := r.status;
    if state in ('published', 'paused')
      and exists (select from public.surveys s
      where s.family_id = family and s.status in ('published', 'paused')) then
      state := 'archived';
      outcome.failures := outcome.failures || jsonb_build_object(
        'line', r.line,
        'field', 'status',
        'kept', true,
        'message', 'cannot be published or paused beside an open version; imported as archived');
    end if;
    insert into public.surveys (id, organization_id, title, description, status, allow_multiple_responses,
      show_branding, redirect_url, audience,
      audience_submission_id, locales, closes_at, version_of, family_id, published_at, closed_at, created_at,
        updated_at)
    select row_id, import.organization_id, r.title, r.description, state, r.allow_multiple_responses,
      r.show_branding, r.redirect_url, r.audience,
      case when r.audience <> 'everyone' then audience_id end, case
        when r.locales is not null then array(select jsonb_array_elements_text(r.locales)) end,
      r.closes_at, private.imported_row(import, 'survey', r.version_of), family, t.published, case
        when t.published is not null then coalesce(r.closed_at,
        case when state = 'archived' then t.updated when r.closes_at <= now() then r.closes_at end) end,
          t.created, t.updated
    from (select c.created, coalesce(r.updated_at, c.created) as updated,
        coalesce(r.published_at, case when r.status in ('published', 'paused')
          then c.created end) as published
      from (select coalesce(r.created_at, now()) as created) c) t;
    insert into private.external_ids (organization_id, source, kind, external_id, survey_id)
    values (import.organization_id, import.source, 'survey', r.id, row_id);
    with q as materialized (
      select gen_random_uuid() as question_id, q.value, q.n
        from jsonb_array_elements(r.questions) with ordinality as q (value, n)
    ), asked as (
      insert into public.survey_questions
        (id, organization_id, survey_id, type, text, required, position, multiple, scale)
      select q.question_id, import.organization_id, row_id, q.value ->> 'type', q.value ->> 'text',
        (q.value ->> 'required')::boolean, q.n,
        coalesce((q.value ->> 'multiple')::boolean, false), (q.value ->> 'scale')::integer
      from q
    ), offered as (
      insert into public.survey_options (organization_id, survey_id, question_id, text, position)
      select import.organization_id, row_id, q.question_id, o.value, o.n
      from q cross join lateral jsonb_array_elements_text(nullif(q.value -> 'options', 'null'))
        with ordinality as o (value, n)
    )
    insert into private.external_ids (organization_id, source, kind, external_id, question_id)
    select import.organization_id, import.source, 'question',
      r.id || '/' || coalesce(q.value ->> 'id', q.n::text), q.question_id from q
    -- If two questions share an id, answers belong to the first.
    order by q.n on conflict do nothing;
    outcome.created := outcome.created + 1;
  end loop;
  return outcome;
end
$$;

-- Validates answers and returns them as stored, or an error. No answer is required: an erased respondent
-- may have none.
create function private.imported_answers(import private.imports, survey_id uuid, named text, answers jsonb)
  returns private.checked_answer
language plpgsql stable set search_path = pg_temp as $$
declare kept jsonb[] := '{}'; item record; checked private.checked_answer;
begin
  for item in
    select q as question, a.value -> 'value' as value,
      row_number() over (partition by q.id order by a.n) as nth
    from jsonb_array_elements(answers) with ordinality as a (value, n)
    left join private.external_ids e on e.organization_id = import.organization_id
      and e.source = import.source and e.kind = 'question'
      and e.external_id = named || '/' || (a.value ->> 'question_id')
    left join public.survey_questions q on q.survey_id = imported_answers.survey_id
      and (q.id = e.question_id or q.id::text = a.value ->> 'question_id')
    order by q.position, a.n
  loop
    if (item.question).id is null then
      return row(null, 'is not a question of this survey')::private.checked_answer;
    elsif item.nth > 1 then
      return row(null, 'answers a question twice')::private.checked_answer;
    end if;
    checked := private.check_answer(item.question, item.value);
    if checked.complaint is not null then
      return row(null, format('of question %s %s', (item.question).position,
        checked.complaint))::private.checked_answer;
    elsif checked.value is not null then
      kept := kept || jsonb_build_object('question_id', (item.question).id, 'value', checked.value);
    end if;
  end loop;
  return row(to_jsonb(kept), null)::private.checked_answer;
end
$$;

-- Writes responses to existing surveys, whether open or not; one for each person if the survey allows one.
create function private.import_survey_responses(import private.imports, people jsonb, records jsonb)
  returns private.import_outcome
language plpgsql set search_path = pg_temp as $$
declare outcome private.import_outcome;
begin
  -- Waits for people who are answering: a user with the address of a respondent counts once.
  perform 1 from public.surveys s where s.id in (
    select private.imported_row(import, 'survey', r.survey_id)
    from (select distinct r.survey_id from jsonb_to_recordset(records) as r (survey_id text)) r)
  order by s.id for no key update;
  with r as materialized (
    select r.*, (people ->> r.author)::uuid as user_id,
      private.imported_row(import, 'response', r.id) as known_id,
      private.imported_row(import, 'survey', r.survey_id) as target_id,
        row_number() over (partition by r.id order by r.n) as nth,
      private.ordered_id() as row_id
    from jsonb_to_recordset(records) as r
      (line integer, n integer, id text, survey_id text, author text, answers jsonb, locale text,
      sentiment_score numeric, sentiment_engine text, started_at timestamptz, submitted_at timestamptz,
        seen boolean)
  ), fresh as materialized (
    select r.*, not s.allow_multiple_responses as is_only, (a.answers).value as kept, (a.answers).complaint
    from r join public.surveys s on s.id = r.target_id
    cross join lateral (select private.imported_answers(import, r.target_id, r.survey_id, r.answers)
      as answers) a
    where r.known_id is null and r.nth = 1
  ), added as (
    insert into public.survey_responses
      (id, organization_id, survey_id, user_id, answers, locale, started_at, submitted_at, sentiment_score,
      sentiment_engine, is_only)
    select f.row_id, import.organization_id, f.target_id, f.user_id, f.kept, f.locale, f.started_at,
      coalesce(f.submitted_at, now()),
      f.sentiment_score, case when f.sentiment_score is not null then coalesce(f.sentiment_engine, 'import')
        end, f.is_only
    from fresh f
    where f.complaint is null
      -- A user with this address may have answered already.
      and not (f.is_only and exists (select from public.profiles p
        join public.survey_responses x on x.user_id = p.id
        where p.kind = 'user' and lower(p.email) = f.author and x.survey_id = f.target_id))
    order by f.n
    on conflict (survey_id, user_id) where is_only do nothing
    returning id
  ), named as (
    insert into private.external_ids (organization_id, source, kind, external_id, response_id)
    select import.organization_id, import.source, 'response', f.id, f.row_id from fresh f
      join added a on a.id = f.row_id
  )
  select (select count(*) from added) + count(*) filter
    (where r.known_id is null and r.nth = 1 and r.target_id is null and r.seen),
    count(*) filter (where r.known_id is not null or r.nth > 1)
      + (select count(*) from fresh f where f.complaint is null) - (select count(*) from added),
    coalesce(jsonb_agg(private.unknown_reference(r.line, 'survey_id', 'survey'))
      filter (where r.known_id is null and r.nth = 1 and r.target_id is null and r.seen is not true), '[]')
    || coalesce((select jsonb_agg(jsonb_build_object(
      'line', f.line,
      'field', 'answers',
      'message', f.complaint))
      from fresh f where f.complaint is not null), '[]')
  into outcome from r;
  return outcome;
end
$$;
