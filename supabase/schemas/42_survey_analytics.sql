-- Survey results as counters maintained by triggers, so that reading them does not read responses.
--
-- The counters of a survey are split into shards; a value is the sum over all shards. A transaction locks a
-- free shard or inserts a new one, so concurrent responses never wait for each other. A survey without
-- concurrent responses has one shard.

create table private.survey_counts (
  organization_id uuid not null,
  survey_id uuid not null,
  shard integer not null,
  responses bigint not null default 0,
  starts bigint not null default 0,
  timed bigint not null default 0,
  milliseconds bigint not null default 0,
  positive bigint not null default 0,
  neutral bigint not null default 0,
  negative bigint not null default 0,
  score numeric not null default 0,
  primary key (survey_id, shard),
  constraint survey_counts_survey_is_of_the_same_organization foreign key (organization_id, survey_id)
    references public.surveys (organization_id, id) on delete cascade
) with (fillfactor = 20);
comment on table private.survey_counts is
  'Counters of responses: count, starts without a response, timed responses and their total duration, '
  'sentiment.';

create table private.survey_answer_counts (
  organization_id uuid not null,
  survey_id uuid not null,
  question_id uuid not null,
  value text not null,
  shard integer not null,
  total bigint not null,
  primary key (question_id, value, shard),
  constraint survey_answer_counts_question_is_of_the_same_survey foreign key
    (organization_id, survey_id, question_id)
    references public.survey_questions (organization_id, survey_id, id) on delete cascade
) with (fillfactor = 50);
comment on table private.survey_answer_counts is
  'Number of answers for each value of a question: a number or an option text. The empty value counts '
  'answers of text, email and multiple-selection questions.';

-- Returns the counter shard of the survey that this transaction has locked; locks or inserts one on the
-- first call.
create function private.claim_shard(organization_id uuid, survey_id uuid) returns integer
language plpgsql set search_path = pg_temp as $$
declare
  own text[] := string_to_array(current_setting('feedback.survey_shard', true), ' ');
  taken integer;
begin
  if own[1] = survey_id::text then return own[2]; end if;
  select c.shard into taken from private.survey_counts c where c.survey_id = claim_shard.survey_id
  order by c.shard limit 1 for no key update skip locked;
  if taken is null then
    insert into private.survey_counts (organization_id, survey_id, shard)
    values (claim_shard.organization_id, claim_shard.survey_id, (random() * 2147483647)::integer)
      returning shard into taken;
  end if;
  perform set_config('feedback.survey_shard', survey_id || ' ' || taken, true);
  return taken;
end
$$;

-- The values of a response that private.survey_answer_counts counts.
create function private.counted_answers(answers jsonb) returns table (question_id uuid, value text)
language sql stable
begin atomic
  select q.id, v.value
  from jsonb_array_elements(answers) as a (answer)
  join public.survey_questions q on q.id = (a.answer ->> 'question_id')::uuid
  cross join lateral (
    select a.answer ->> 'value' where private.answer_kind(q.type) in ('number', 'choice') and not q.multiple
    union all
    select '' where private.answer_kind(q.type) = 'text' or q.multiple
    union all
    select jsonb_array_elements_text(case when q.multiple then a.answer -> 'value' else '[]' end)) v (value);
end;

-- Trigger: adds changed responses to the counters of their surveys or subtracts them.
-- definer: no client may write counters. Responses deleted with their survey are not subtracted, because the
-- counters are deleted too.
create function private.count_responses() returns trigger
language plpgsql security definer set search_path = pg_temp as $$
declare change record; sign integer := tg_argv[0]; own_shard integer;
begin
  for change in
    select c.organization_id, c.survey_id, count(*) as responses, count(c.started_at) as timed,
      coalesce(sum((extract(epoch from c.submitted_at - c.started_at) * 1000)::bigint), 0) as milliseconds,
      count(*) filter (where c.sentiment = 'positive') as positive,
        count(*) filter (where c.sentiment = 'neutral') as neutral,
      count(*) filter (where c.sentiment = 'negative') as negative,
        coalesce(sum(c.sentiment_score), 0) as score
    from changed c where exists (select from public.surveys s where s.id = c.survey_id)
    group by 1, 2 order by 2
  loop
    own_shard := private.claim_shard(change.organization_id, change.survey_id);
    update private.survey_counts c
      set responses = c.responses + sign * change.responses, timed = c.timed + sign * change.timed,
      milliseconds = c.milliseconds + sign * change.milliseconds,
        positive = c.positive + sign * change.positive,
      neutral = c.neutral + sign * change.neutral, negative = c.negative + sign * change.negative,
        score = c.score + sign * change.score
    where c.survey_id = change.survey_id and c.shard = own_shard;
    insert into private.survey_answer_counts as k
      (organization_id, survey_id, question_id, value, shard, total)
    select change.organization_id, change.survey_id, a.question_id, a.value, own_shard, sign * count(*)
    from changed c cross join lateral private.counted_answers(c.answers) a
      where c.survey_id = change.survey_id
    group by a.question_id, a.value
    on conflict on constraint survey_answer_counts_pkey do update set total = k.total + excluded.total;
  end loop;
  return null;
end
$$;
create trigger count_added after insert on public.survey_responses
  referencing new table as changed for each statement execute function private.count_responses('1');
create trigger count_removed after delete on public.survey_responses
  referencing old table as changed for each statement execute function private.count_responses('-1');
create trigger count_before after update on public.survey_responses
  referencing old table as changed for each statement execute function private.count_responses('-1');
create trigger count_after after update on public.survey_responses
  referencing new table as changed for each statement execute function private.count_responses('1');

-- Trigger: counts starts without a response, like private.count_responses.
-- definer: reads counters, after checking the caller's rights.
create function private.count_starts() returns trigger
language plpgsql security definer set search_path = pg_temp as $$
declare change record; sign integer := tg_argv[0]; own_shard integer;
begin
  for change in
    select c.organization_id, c.survey_id, count(*) as starts
    from changed c where exists (select from public.surveys s where s.id = c.survey_id) group by 1, 2
      order by 2
  loop
    own_shard := private.claim_shard(change.organization_id, change.survey_id);
    update private.survey_counts c set starts = c.starts + sign * change.starts
      where c.survey_id = change.survey_id and c.shard = own_shard;
  end loop;
  return null;
end
$$;
create trigger count_added after insert on private.survey_starts
  referencing new table as changed for each statement execute function private.count_starts('1');
create trigger count_removed after delete on private.survey_starts
  referencing old table as changed for each statement execute function private.count_starts('-1');

create view private.survey_actual_counts with (security_invoker = true) as
  select s.organization_id, s.id as survey_id, r.*, (select count(*) from private.survey_starts b
    where b.survey_id = s.id) as starts
  from public.surveys s cross join lateral (
    select count(*) as responses, count(r.started_at) as timed,
      coalesce(sum((extract(epoch from r.submitted_at - r.started_at) * 1000)::bigint), 0) as milliseconds,
      count(*) filter (where r.sentiment = 'positive') as positive,
        count(*) filter (where r.sentiment = 'neutral') as neutral,
      count(*) filter (where r.sentiment = 'negative') as negative,
        coalesce(sum(r.sentiment_score), 0) as score
    from public.survey_responses r where r.survey_id = s.id) r;
comment on view private.survey_actual_counts is
  'Values that private.survey_counts must add up to, computed from the responses.';

-- For operators, after triggers were disabled: recounts the responses of a survey.
create function private.recount_survey(survey_id uuid) returns void
language plpgsql set search_path = pg_temp as $$
begin
  perform 1 from public.surveys s where s.id = recount_survey.survey_id for no key update;
  delete from private.survey_answer_counts c where c.survey_id = recount_survey.survey_id;
  delete from private.survey_counts c where c.survey_id = recount_survey.survey_id;
  perform set_config('feedback.survey_shard', '', true);
  insert into private.survey_counts
    (organization_id, survey_id, shard, responses, timed, milliseconds, positive, neutral, negative, score,
    starts)
  select t.organization_id, t.survey_id, 0, t.responses, t.timed, t.milliseconds, t.positive, t.neutral,
    t.negative, t.score, t.starts
  from private.survey_actual_counts t where t.survey_id = recount_survey.survey_id;
  insert into private.survey_answer_counts (organization_id, survey_id, question_id, value, shard, total)
  select r.organization_id, r.survey_id, a.question_id, a.value, 0, count(*)
  from public.survey_responses r cross join lateral private.counted_answers(r.answers) a
  where r.survey_id = recount_survey.survey_id group by 1, 2, 3, 4;
end
$$;

-- Numbers ---------------------------------------------------------------------------------------------------

-- The quotient, rounded; 0 if count is 0, so that results are never null. The count tells the difference.
create function private.quotient(total numeric, count numeric, digits integer) returns numeric
language sql immutable
return coalesce(trim_scale(round(total / nullif(count, 0), digits)), 0);

-- Number of responses and of starts (a response without a start counts as started), completion rate (0 to 1),
-- number of timed responses, and their mean completion time in seconds.
-- definer: reads counters. Call it only for surveys the caller sees; their response counts are public.
create function private.survey_figures(survey_ids uuid[])
returns table (survey_id uuid, response_count bigint, start_count bigint, completion_rate numeric,
  timed_count bigint, avg_completion_time numeric)
language plpgsql stable security definer set search_path = pg_temp rows 50 as $$
begin
  return query
    select asked.id, coalesce(sum(c.responses), 0)::bigint, coalesce(sum(c.responses + c.starts), 0)::bigint,
      private.quotient(sum(c.responses), sum(c.responses + c.starts), 4),
      coalesce(sum(c.timed), 0)::bigint, private.quotient(sum(c.milliseconds) / 1000, sum(c.timed), 1)
    from unnest(survey_ids) asked (id) left join private.survey_counts c on c.survey_id = asked.id
    group by asked.id;
end
$$;

-- Whether the caller may read analytics: Admin or key with the scope, operator, or service role.
create function private.can_read_analytics(organization_id uuid) returns boolean
language plpgsql stable set search_path = pg_temp as $$
begin
  return coalesce(current_setting('role', true), 'none') in ('none', '', 'service_role')
    or private.is_admin(organization_id, 'analytics:read');
end
$$;

-- Mean sentiment score, number of responses with a score, and by sentiment; no row without the right to read
-- analytics.
-- definer: reads counters, after checking the caller's rights.
create function private.survey_sentiment(survey_id uuid)
returns table (overall numeric, scored_count bigint, positive_count bigint, neutral_count bigint,
  negative_count bigint)
language plpgsql stable security definer set search_path = pg_temp rows 1 as $$
begin
  return query
    select private.quotient(sum(c.score), sum(c.positive + c.neutral + c.negative), 3),
      coalesce(sum(c.positive + c.neutral + c.negative), 0)::bigint, coalesce(sum(c.positive), 0)::bigint,
      coalesce(sum(c.neutral), 0)::bigint, coalesce(sum(c.negative), 0)::bigint
    from public.surveys s left join private.survey_counts c on c.survey_id = s.id
    where s.id = survey_sentiment.survey_id and private.can_read_analytics(s.organization_id)
    group by s.id;
end
$$;

-- Number of answers for each value of each question, including zero; no rows without the right to read
-- analytics. definer: reads counters, after checking the caller's rights.
create function private.survey_breakdown(survey_id uuid)
  returns table (question_id uuid, question_position integer, type text,
  question_text text, value_position integer, value text, total bigint)
language plpgsql stable security definer set search_path = pg_temp rows 50 as $$
begin
  return query
    select q.id, q.position, q.type, q.text, v.position, v.value,
      coalesce((select sum(c.total) from private.survey_answer_counts c
        where c.question_id = q.id and c.value = v.value), 0)::bigint
    from public.surveys s
    join public.survey_questions q on q.survey_id = s.id
    cross join lateral (
      select n, n::text from generate_series(private.lowest_answer(q.type), coalesce(q.scale, 10)) n
      where private.answer_kind(q.type) = 'number'
      union all
      select o.position, o.text from public.survey_options o where o.question_id = q.id
      union all
      select null, '' where private.answer_kind(q.type) = 'text' or q.multiple) v (position, value)
    where s.id = survey_breakdown.survey_id and private.can_read_analytics(s.organization_id);
end
$$;

create view public.survey_question_results with (security_invoker = true) as
  select s.organization_id, s.id as survey_id, b.*
  from public.surveys s cross join lateral private.survey_breakdown(s.id) b;
comment on view public.survey_question_results is
  'Number of answers for each value of each question, including zero, for Admin. The empty value counts the '
  'answers of text, email and multiple-selection questions.';

create view public.survey_results with (security_invoker = true) as
  select s.organization_id, s.id as survey_id, f.response_count, f.start_count, f.completion_rate, f.timed_count,
    f.avg_completion_time, n.nps_count, n.nps_score,
    m.overall as sentiment_overall, m.scored_count, m.positive_count, m.neutral_count, m.negative_count
  from public.surveys s
  cross join lateral private.survey_sentiment(s.id) m
  cross join lateral private.survey_figures(array[s.id]) f
  cross join lateral (
    select coalesce(sum(b.total), 0)::bigint as nps_count, private.quotient(
      100 * sum(case when b.value_position >= 9 then b.total when b.value_position <= 6 then -b.total
        else 0 end), sum(b.total), 1) as nps_score
    from private.survey_breakdown(s.id) b where b.type = 'nps') n;
comment on view public.survey_results is
  'Results of surveys for Admin: the numbers of GET /api/surveys/:id/analytics. A rate, mean or score is 0 if '
  'its count is 0.';

grant select on public.survey_question_results, public.survey_results to authenticated, service_key,
  service_role;

-- Analytics of a survey; requires Admin (private.require_survey).
create function private.survey_analytics(survey_id uuid) returns json
language plpgsql stable set search_path = pg_temp as $$
begin
  perform private.require_survey(survey_id, 'analytics:read');
  return (
    select json_build_object(
      'response_count', r.response_count,
      'start_count', r.start_count,
      'completion_rate', r.completion_rate,
      'timed_count', r.timed_count,
      'avg_completion_time', r.avg_completion_time,
      'nps_count', r.nps_count,
      'nps_score', r.nps_score,
      'sentiment', json_build_object(
        'overall', r.sentiment_overall,
        'scored_count', r.scored_count,
        'positive_count', r.positive_count,
        'neutral_count', r.neutral_count,
        'negative_count', r.negative_count),
      'breakdown_by_question', coalesce((
        select json_agg(json_build_object(
          'question_id', b.question_id,
          'question_text', b.question_text,
          'type', b.type,
          'answer_count', b.answer_count,
          'responses', b.responses,
          'counts', b.counts) order by b.question_position)
        from (
          select q.question_id, q.question_position, q.question_text, q.type,
            coalesce(sum(q.total) filter (where q.value = ''), sum(q.total)) as answer_count,
            coalesce(json_object_agg(q.value, q.total order by q.value_position) filter (where q.value <> ''),
              '{}') as responses,
            coalesce(json_agg(json_build_object('value', q.value, 'count', q.total) order by q.value_position)
              filter (where q.value <> ''), '[]') as counts
          from public.survey_question_results q where q.survey_id = r.survey_id group by 1, 2, 3, 4) b),
            '[]'))
    from public.survey_results r where r.survey_id = survey_analytics.survey_id);
end
$$;

-- Number of responses in a list for Admin; null matches every sentiment and leaves the range open. The range
-- is inclusive. definer: reads counters without a date range and an index with one.
create function private.count_survey_responses(survey_id uuid, sentiment text, since timestamptz,
  until timestamptz) returns bigint
language plpgsql stable security definer set search_path = pg_temp as $$
begin
  if not coalesce(private.is_admin((select s.organization_id from public.surveys s where s.id = survey_id),
    'responses:read'), false) then
    return 0;
  elsif since is null and until is null then
    return coalesce((
      select sum(case sentiment when 'positive' then c.positive when 'neutral' then c.neutral when 'negative'
        then c.negative else c.responses end)
      from private.survey_counts c where c.survey_id = count_survey_responses.survey_id), 0);
  end if;
  return (select count(*) from public.survey_responses r
    where r.survey_id = count_survey_responses.survey_id
      and (count_survey_responses.sentiment is null or r.sentiment = count_survey_responses.sentiment)
      and r.submitted_at >= coalesce(since, '-infinity') and r.submitted_at <= coalesce(until, 'infinity'));
end
$$;

-- Survey part of private.count_discrepancies; scores in thousandths.
create function private.survey_count_discrepancies()
  returns table (subject text, id uuid, stored bigint, truth bigint)
language sql stable set search_path = pg_temp as $$
  select 'surveys.' || n.name, t.survey_id, n.stored, n.truth
  from private.survey_actual_counts t
  cross join lateral (
    select coalesce(sum(c.responses), 0) as responses, coalesce(sum(c.starts), 0) as starts,
      coalesce(sum(c.timed), 0) as timed,
      coalesce(sum(c.milliseconds), 0) as milliseconds, coalesce(sum(c.positive), 0) as positive,
        coalesce(sum(c.neutral), 0) as neutral,
      coalesce(sum(c.negative), 0) as negative, coalesce(sum(c.score), 0) as score
    from private.survey_counts c where c.survey_id = t.survey_id) c
  cross join lateral (values
    ('responses', c.responses, t.responses), ('starts', c.starts, t.starts), ('timed', c.timed, t.timed),
    ('milliseconds', c.milliseconds, t.milliseconds), ('positive', c.positive, t.positive),
      ('neutral', c.neutral, t.neutral),
    ('negative', c.negative, t.negative), ('score', 1000 * c.score, 1000 * t.score)) n (name, stored, truth)
  where n.stored <> n.truth
  union all
  select 'survey_answer_counts', coalesce(c.question_id, t.question_id), coalesce(c.total, 0),
    coalesce(t.total, 0)
  from (select k.question_id, k.value, sum(k.total) as total from private.survey_answer_counts k
    group by 1, 2) c
  full join (
    select a.question_id, a.value, count(*) as total
    from public.survey_responses r cross join lateral private.counted_answers(r.answers) a group by 1, 2) t
    on (c.question_id, c.value) = (t.question_id, t.value)
  where coalesce(c.total, 0) <> coalesce(t.total, 0);
$$;

grant execute on function private.survey_figures to anon, authenticated, service_key, service_role;
grant execute on function private.survey_analytics to anon, authenticated, service_key;
grant execute on function private.quotient, private.survey_sentiment, private.survey_breakdown to authenticated,
  service_key, service_role;
grant execute on function private.count_survey_responses to authenticated, service_key;
