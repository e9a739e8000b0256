import type { Locale } from "../../../shared/locales.ts";
import type {
  SurveyResponseCreate,
  SurveyResponseListQuery,
  surveyResponseCreatedAnswer,
  surveyResponseListAnswer,
  surveyStartedAnswer,
} from "../../../shared/survey-responses.ts";
import type { Sql, Statement } from "../database/run.ts";
import { decodeCursor, type Page } from "../http/cursor.ts";
import type { Sentiment } from "../sentiment/answers.ts";
import { call, type Data, type DataOf, run } from "./shapes.ts";

export type SurveyResponse = DataOf<typeof surveyResponseListAnswer>[number];

export function startSurvey(id: string): Statement<Data<DataOf<typeof surveyStartedAnswer>> & { made: boolean }> {
  return (sql) => sql`
    select started_at = now() as made, json_build_object('survey_id', ${id}::uuid, 'started_at', started_at)::text as data
    from private.start_survey(${id}) as s (started_at)`;
}

/** Records a start of a user who reads the survey and has not started yet, if they may answer it; raises no error. */
export const startSurveyByReading = (id: string, locale: Locale) => run("start_survey_by_reading", id, locale);

export const submitResponse = (id: string, { answers }: SurveyResponseCreate, locale: Locale, sentiment: Sentiment) =>
  call<DataOf<typeof surveyResponseCreatedAnswer>>(
    "submit_survey_response",
    id,
    JSON.stringify(answers),
    locale,
    sentiment,
  );

/** Questions whose answers are free text. */
export function textQuestions(surveyId: string): Statement<{ id: string }> {
  return (sql) => sql`select id from public.survey_questions where survey_id = ${surveyId}::uuid and type = 'text'`;
}

/** Scores by question id. */
export type ResponseScores = { engine: string; scores: Record<string, number> };

export const rescoreResponse = (id: string, scored: ResponseScores) => call("score_survey_response", id, scored);

/** Days are those of UTC, or "local": those of the organization, as on its pages. */
type Filter = Pick<SurveyResponseListQuery, "start_date" | "end_date" | "sentiment"> & { days?: "local" };

const timeZone = (sql: Sql) =>
  sql`(select o.time_zone from public.organizations o where o.id = (select private.current_organization_id()))`;

const startOf = (sql: Sql, day: string, { days }: Filter, later = 0) =>
  sql`((${day}::text::date + ${later}::integer)::timestamp at time zone ${days ? timeZone(sql) : sql`'UTC'`})`;

const since = (sql: Sql, filter: Filter) =>
  filter.start_date?.includes("T") === false
    ? startOf(sql, filter.start_date, filter)
    : sql`${filter.start_date ?? null}::text::timestamptz`;

// A date without time covers the whole day.
const until = (sql: Sql, filter: Filter) =>
  filter.end_date?.includes("T") === false
    ? sql`${startOf(sql, filter.end_date, filter, 1)} - interval '1 microsecond'`
    : sql`${filter.end_date ?? null}::text::timestamptz`;

const matches = (sql: Sql, id: string, filter: Filter) => sql`r.survey_id = ${id}::uuid
  ${filter.sentiment ? sql`and r.sentiment = ${filter.sentiment}` : sql``}
  ${filter.start_date ? sql`and r.submitted_at >= ${since(sql, filter)}` : sql``}
  ${filter.end_date ? sql`and r.submitted_at <= ${until(sql, filter)}` : sql``}`;

/** Null if the caller may not see respondents. */
const respondent = (sql: Sql, id: string) =>
  sql`case when (select private.can_see_respondents(${id})) then r.user_id end as user_id`;

const duration = (sql: Sql) => sql`round(extract(epoch from r.submitted_at - r.started_at), 1)`;

const visibleColumns = (sql: Sql, id: string) => sql`
  r.id, r.organization_id, ${respondent(sql, id)}, r.answers, r.started_at, r.submitted_at, r.sentiment, r.sentiment_score, r.locale`;

/** JSON of a response `r` with the columns above. */
const shownColumns = (sql: Sql) => sql`
  r.id, private.author(r.user_id, r.organization_id) as respondent, r.answers, r.started_at, r.submitted_at,
  ${duration(sql)} as duration_seconds, r.sentiment, r.sentiment_score, r.locale`;

/** Newest first. One page, plus one row to detect a following page and its cursor. */
export function listResponses(
  id: string,
  { page, limit, cursor, ...filter }: SurveyResponseListQuery & Filter,
): Statement<Page<SurveyResponse>> {
  const from = cursor === undefined ? undefined : decodeCursor(cursor, "submitted_at", "desc");
  return (sql) => {
    const after = from ? sql`and (r.submitted_at, r.id) < (${from.value}::text::timestamptz, ${from.id}::uuid)` : sql``;
    return sql`
      with page as materialized (
        select ${visibleColumns(sql, id)}
        from public.survey_responses r where ${matches(sql, id, filter)} ${after}
        order by r.submitted_at desc, r.id desc limit ${limit + 1} offset ${from ? 0 : (page - 1) * limit}
      ), shown as (
        select ${shownColumns(sql)}
        from page r order by r.submitted_at desc, r.id desc limit ${limit}
      )
      select private.count_survey_responses(${id}, ${filter.sentiment ?? null}, ${since(sql, filter)}, ${until(sql, filter)}) as total,
        coalesce((select json_agg(r) from shown r), '[]')::text as data,
        (select count(*) from page) > ${limit} as more,
        (select array[r.submitted_at::text, r.id::text] from page r order by r.submitted_at desc, r.id desc limit 1 offset ${limit - 1}) as last`;
  };
}

/** A response as in the list, with the ids of the previous and next one. No row if it belongs to another survey. */
export function responseDetail(
  surveyId: string,
  id: string,
): Statement<Data<SurveyResponse> & { newer: string | null; older: string | null }> {
  return (sql) => {
    const neighbor = (beside: "newer" | "older") => sql`(
      select n.id from public.survey_responses n where n.survey_id = ${surveyId}::uuid
        and (n.submitted_at, n.id) ${beside === "newer" ? sql`>` : sql`<`} (r.submitted_at, r.id)
      order by ${beside === "newer" ? sql`n.submitted_at, n.id` : sql`n.submitted_at desc, n.id desc`} limit 1)`;
    return sql`
      with selected as materialized (
        select ${visibleColumns(sql, surveyId)}
        from public.survey_responses r where r.survey_id = ${surveyId}::uuid and r.id = ${id}::uuid)
      select (select row_to_json(s)::text from (select ${shownColumns(sql)}) s) as data,
        ${neighbor("newer")} as newer, ${neighbor("older")} as older
      from selected r`;
  };
}

export type ResponseSeries = { unit: "day" | "week" | "month"; points: { start: string; responses: number }[] };

/** Numbers of responses over time, in the time zone of the organization: by day, week or month, depending on the range. */
export function responseSeries(id: string): Statement<{ data: ResponseSeries }> {
  return (sql) => sql`
    with range as (
      select min(r.submitted_at at time zone ${timeZone(sql)}) as first, max(r.submitted_at at time zone ${timeZone(sql)}) as last
      from public.survey_responses r where r.survey_id = ${id}::uuid
    ), scale as (
      select first, last, case when last - first <= interval '92 days' then 'day'
        when last - first <= interval '730 days' then 'week' else 'month' end as unit
      from range
    ), counted as (
      select date_trunc(s.unit, r.submitted_at at time zone ${timeZone(sql)}) as start, count(*) as responses
      from scale s, public.survey_responses r where r.survey_id = ${id}::uuid group by 1
    )
    select json_build_object('unit', s.unit, 'points', coalesce((
      select json_agg(json_build_object('start', p.start::date, 'responses', coalesce(c.responses, 0)) order by p.start)
      from generate_series(date_trunc(s.unit, s.first), s.last, ('1 ' || s.unit)::interval) p (start)
        left join counted c on c.start = p.start), '[]')) as data
    from scale s`;
}

/** An answer to a text question; the sentiment is that of its response. */
export type TextAnswer = {
  response_id: string;
  question_id: string;
  value: string;
  submitted_at: string;
  sentiment: "positive" | "neutral" | "negative" | null;
};

const textAnswer = (sql: Sql) => sql`json_build_object('response_id', r.id, 'question_id', a.answer ->> 'question_id',
  'value', a.answer ->> 'value', 'submitted_at', r.submitted_at, 'sentiment', r.sentiment)`;

/** The newest answers to each text question of a survey, up to `limit` a question. */
export function newestTexts(id: string, limit: number): Statement<Data<TextAnswer[]>> {
  return (sql) => sql`
    select coalesce(json_agg(n.answer order by q.position, n.submitted_at desc, n.id desc), '[]')::text as data
    from public.survey_questions q cross join lateral (
      select r.id, r.submitted_at, ${textAnswer(sql)} as answer
      from public.survey_responses r cross join lateral jsonb_array_elements(r.answers) as a (answer)
      where r.survey_id = ${id}::uuid and a.answer ->> 'question_id' = q.id::text
      order by r.submitted_at desc, r.id desc limit ${limit}) n
    where q.survey_id = ${id}::uuid and q.type = 'text'`;
}

/** A page of answers to a text question (by default the first one), newest first, and whether more follow. */
export function listTexts(
  id: string,
  questionId: string | undefined,
  { q, cursor, limit, ...filter }: Filter & { q?: string; cursor?: string; limit: number },
): Statement<Pick<Page<TextAnswer>, "data" | "more" | "last">> {
  const from = cursor === undefined ? undefined : decodeCursor(cursor, "submitted_at", "desc");
  return (sql) => sql`
    with question as materialized (
      select q.id from public.survey_questions q where q.survey_id = ${id}::uuid and q.type = 'text'
      order by q.id is distinct from ${questionId ?? null}::uuid, q.position limit 1
    ), page as materialized (
      select r.id, r.submitted_at, ${textAnswer(sql)} as answer
      from public.survey_responses r cross join lateral jsonb_array_elements(r.answers) as a (answer)
      where ${matches(sql, id, filter)} and a.answer ->> 'question_id' = (select q.id::text from question q)
        ${q ? sql`and position(lower(${q}::text) in lower(a.answer ->> 'value')) > 0` : sql``}
        ${from ? sql`and (r.submitted_at, r.id) < (${from.value}::text::timestamptz, ${from.id}::uuid)` : sql``}
      order by r.submitted_at desc, r.id desc limit ${limit + 1}
    ), shown as (
      select * from page p order by p.submitted_at desc, p.id desc limit ${limit}
    )
    select coalesce((select json_agg(s.answer order by s.submitted_at desc, s.id desc) from shown s), '[]')::text as data,
      (select count(*) from page) > ${limit} as more,
      (select array[s.submitted_at::text, s.id::text] from shown s order by s.submitted_at, s.id limit 1) as last`;
}

/** Logs that the caller reads or exports responses. */
export const auditResponses = (id: string, action: "read" | "export") => run("audit_responses", id, action);

const maxRows = 5000;
const maxBytes = 4_000_000;
// Compressed size as stored, so that large values are not decompressed needlessly.
const maxStoredBytes = 2_000_000;

/** JSON records, one on each line: fields of the response, then its answers. */
export type ExportedPart = { questions: { id: string; text: string }[]; records: string; next: Last | null };
type Last = readonly [submittedAt: string, id: string];

/** As many responses as fit into one part of an export, newest first, and the cursor of the next part. */
export function exportResponses(id: string, filter: Filter, after?: Last): Statement<ExportedPart> {
  return (sql) => {
    const start = after ? sql`and (r.submitted_at, r.id) < (${after[0]}::text::timestamptz, ${after[1]}::uuid)` : sql``;
    const newest = sql`r.submitted_at desc, r.id desc`;
    const before = sql`over (order by ${newest} rows between unbounded preceding and 1 preceding)`;
    return sql`
      with page as materialized (
        select r.*, coalesce(sum(pg_column_size(r.answers)) ${before}, 0) as stored_before
        from (
          select r.id, ${respondent(sql, id)}, r.answers, r.started_at, r.submitted_at, r.sentiment, r.sentiment_score, r.locale
          from public.survey_responses r where ${matches(sql, id, filter)} ${start} order by ${newest} limit ${maxRows}) r
      ), sized as (
        select r.*, coalesce(sum(octet_length(r.answers::text)) ${before}, 0) as bytes_before
        from page r where r.stored_before < ${maxStoredBytes}
      ), part as materialized (
        select * from sized where bytes_before < ${maxBytes}
      )
      select
        (select coalesce(json_agg(json_build_object('id', q.id, 'text', q.text) order by q.position), '[]')
          from public.survey_questions q where q.survey_id = ${id}::uuid) as questions,
        coalesce((
          select string_agg(json_build_array(r.id, r.user_id, private.author(r.user_id, null) ->> 'name', r.locale, r.started_at,
            r.submitted_at, ${duration(sql)}, r.sentiment, r.sentiment_score, r.answers)::text, E'\n' order by ${newest})
          from part r), '') as records,
        (select array[r.submitted_at::text, r.id::text] from part r
          where (select count(*) from page) = ${maxRows} or (select count(*) from part) < (select count(*) from page)
          order by r.submitted_at, r.id limit 1) as next`;
  };
}
