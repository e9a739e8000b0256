import type { Locale } from "../../../shared/locales.ts";
import type { SurveyResponseCreate, SurveyResponseListQuery } from "../../../shared/survey-responses.ts";
import { decodeCursor, type Page } from "../cursor.ts";
import type { Sql, Statement } from "../database.ts";
import type { Sentiment } from "../sentiment/answers.ts";
import type { Data } from "./shapes.ts";

export function startSurvey(id: string): Statement<{ made: boolean; data: string }> {
  return (sql) => sql`
    select started_at = now() as made, json_build_object('survey_id', ${id}::uuid, 'started_at', started_at)::text as data
    from private.start_survey(${id}) as s (started_at)`;
}

export function submitResponse(
  id: string,
  { answers }: SurveyResponseCreate,
  locale: Locale,
  sentiment: Sentiment,
): Statement<Data> {
  return (sql) => sql`
    select private.submit_survey_response(${id}, ${JSON.stringify(answers)}::text::jsonb, ${locale},
      ${JSON.stringify(sentiment)}::text::jsonb)::text as data`;
}

/** The questions whose answers are there to be read: not addresses, not options. */
export function textQuestions(surveyId: string): Statement<{ id: string }> {
  return (sql) =>
    sql`select id from public.survey_questions where survey_id = ${surveyId}::uuid and type = 'text'`;
}

/** Scores by question id. */
export type Judged = { engine: string; scores: Record<string, number> };

export function judgeResponse(id: string, judged: Judged): Statement {
  return (sql) => sql`select private.judge_survey_response(${id}, ${JSON.stringify(judged)}::text::jsonb)`;
}

type Filter = Pick<SurveyResponseListQuery, "start_date" | "end_date" | "sentiment">;

const since = (sql: Sql, { start_date }: Filter) => sql`${start_date ?? null}::text::timestamptz`;

// A date without a time ends with its day.
const until = (sql: Sql, { end_date }: Filter) =>
  end_date?.includes("T") === false
    ? sql`${end_date}::text::timestamptz + interval '1 day' - interval '1 microsecond'`
    : sql`${end_date ?? null}::text::timestamptz`;

const matches = (sql: Sql, id: string, filter: Filter) => sql`r.survey_id = ${id}::uuid
  ${filter.sentiment ? sql`and r.sentiment = ${filter.sentiment}` : sql``}
  ${filter.start_date ? sql`and r.submitted_at >= ${since(sql, filter)}` : sql``}
  ${filter.end_date ? sql`and r.submitted_at <= ${until(sql, filter)}` : sql``}`;

/** Null where the caller may not know who answered the survey. */
const respondent = (sql: Sql, id: string) =>
  sql`case when (select private.names_respondents(${id})) then r.user_id end as user_id`;

const duration = (sql: Sql) => sql`round(extract(epoch from r.submitted_at - r.started_at), 1)`;

/** Newest first. One page, one row more than asked to know whether there is another, and where that would start. */
export function listResponses(
  id: string,
  { page, limit, cursor, ...filter }: SurveyResponseListQuery,
): Statement<Page> {
  const from = cursor === undefined ? undefined : decodeCursor(cursor, "submitted_at", "desc");
  return (sql) => {
    const after = from
      ? sql`and (r.submitted_at, r.id) < (${from.value}::text::timestamptz, ${from.id}::uuid)`
      : sql``;
    return sql`
      with page as materialized (
        select r.id, r.organization_id, ${respondent(sql, id)}, r.answers, r.started_at, r.submitted_at, r.sentiment, r.sentiment_score, r.locale
        from public.survey_responses r where ${matches(sql, id, filter)} ${after}
        order by r.submitted_at desc, r.id desc limit ${limit + 1} offset ${from ? 0 : (page - 1) * limit}
      ), shown as (
        select r.id, private.author(r.user_id, r.organization_id) as respondent, r.answers, r.started_at, r.submitted_at,
          ${duration(sql)} as duration_seconds, r.sentiment, r.sentiment_score, r.locale
        from page r order by r.submitted_at desc, r.id desc limit ${limit}
      )
      select private.count_survey_responses(${id}, ${filter.sentiment ?? null}, ${since(sql, filter)}, ${until(sql, filter)}) as total,
        coalesce((select json_agg(r) from shown r), '[]')::text as data,
        (select count(*) from page) > ${limit} as more,
        (select array[r.submitted_at::text, r.id::text] from page r order by r.submitted_at desc, r.id desc limit 1 offset ${limit - 1}) as last`;
  };
}

const mostRows = 5000;
const mostBytes = 4_000_000;
// As they are stored, compressed: so that none is unpacked in vain.
const mostStoredBytes = 2_000_000;

/** Records are JSON, one a line: what we know of the response, then its answers. */
export type ExportedPart = { questions: { id: string; text: string }[]; records: string; next: Last | null };
type Last = readonly [submittedAt: string, id: string];

/** As many responses as fit one part of an export, newest first, and where the next one starts. */
export function exportResponses(id: string, filter: Filter, after?: Last): Statement<ExportedPart> {
  return (sql) => {
    const start = after
      ? sql`and (r.submitted_at, r.id) < (${after[0]}::text::timestamptz, ${after[1]}::uuid)`
      : sql``;
    const newest = sql`r.submitted_at desc, r.id desc`;
    const before = sql`over (order by ${newest} rows between unbounded preceding and 1 preceding)`;
    return sql`
      with page as materialized (
        select r.*, coalesce(sum(pg_column_size(r.answers)) ${before}, 0) as stored_before
        from (
          select r.id, ${respondent(sql, id)}, r.answers, r.started_at, r.submitted_at, r.sentiment, r.sentiment_score, r.locale
          from public.survey_responses r where ${matches(sql, id, filter)} ${start} order by ${newest} limit ${mostRows}) r
      ), sized as (
        select r.*, coalesce(sum(octet_length(r.answers::text)) ${before}, 0) as bytes_before
        from page r where r.stored_before < ${mostStoredBytes}
      ), part as materialized (
        select * from sized where bytes_before < ${mostBytes}
      )
      select
        (select coalesce(json_agg(json_build_object('id', q.id, 'text', q.text) order by q.position), '[]')
          from public.survey_questions q where q.survey_id = ${id}::uuid) as questions,
        coalesce((
          select string_agg(json_build_array(r.id, r.user_id, private.author(r.user_id, null) ->> 'name', r.locale, r.started_at,
            r.submitted_at, ${duration(sql)}, r.sentiment, r.sentiment_score, r.answers)::text, E'\n' order by ${newest})
          from part r), '') as records,
        (select array[r.submitted_at::text, r.id::text] from part r
          where (select count(*) from page) = ${mostRows} or (select count(*) from part) < (select count(*) from page)
          order by r.submitted_at, r.id limit 1) as next`;
  };
}
