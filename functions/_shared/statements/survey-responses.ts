import type postgres from "postgres";
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
        select r.id, r.organization_id, r.user_id, r.answers, r.started_at, r.submitted_at, r.sentiment, r.sentiment_score, r.locale
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

// What a spreadsheet would take for a formula is made text.
const formula = "^[=+@\t\r\n＝＋＠－-]";

/** A cell of RFC 4180 with text in it; nothing for null. */
const cell = (sql: Sql, value: postgres.Fragment) => sql`(
  select coalesce('"' || case when v ~ ${formula}::text then '''' else '' end || replace(v, '"', '""') || '"', '') from (select ${value}) as c (v))`;

const columns =
  "id,respondent_id,respondent,locale,started_at,submitted_at,duration_seconds,sentiment,sentiment_score";

/** What each column holds: what we know, then the questions. */
const head = (sql: Sql) => sql`
  ${columns}::text || coalesce((select string_agg(',' || ${cell(sql, sql`q.text`)}, '' order by q.position) from asked q), '') || E'\r\n'`;

const mostRows = 5000;
const mostBytes = 4_000_000;
// As they are stored, compressed: so that none is unpacked in vain.
const mostStoredBytes = 2_000_000;

export type ExportedPart = { csv: string; next: [string, string] | null };

/** Responses as lines of CSV, as many as fit one part of the export, and where the next one starts; the first part begins with the head. */
export function exportResponses(
  id: string,
  filter: Filter,
  after?: readonly [string, string],
): Statement<ExportedPart> {
  return (sql) => {
    const start = after
      ? sql`and (r.submitted_at, r.id) < (${after[0]}::text::timestamptz, ${after[1]}::uuid)`
      : sql``;
    const newest = sql`r.submitted_at desc, r.id desc`;
    const before = sql`over (order by ${newest} rows between unbounded preceding and 1 preceding)`;
    return sql`
      with asked as materialized (
        select q.id::text, q.text, q.position from public.survey_questions q where q.survey_id = ${id}::uuid
      ), page as materialized (
        select r.*, coalesce(sum(pg_column_size(r.answers)) ${before}, 0) as stored_before
        from (
          select r.id, r.user_id, r.answers, r.started_at, r.submitted_at, r.sentiment, r.sentiment_score, r.locale
          from public.survey_responses r where ${matches(sql, id, filter)} ${start} order by ${newest} limit ${mostRows}) r
      ), sized as (
        select r.*, coalesce(sum(octet_length(r.answers::text)) ${before}, 0) as bytes_before
        from page r where r.stored_before < ${mostStoredBytes}
      ), part as materialized (
        select * from sized where bytes_before < ${mostBytes}
      ), lines as (
        select r.submitted_at, r.id, concat(r.id, ',', r.user_id, ',', ${cell(sql, sql`private.author(r.user_id, null) ->> 'name'`)}, ',',
          r.locale, ',', to_json(r.started_at) #>> '{}', ',', to_json(r.submitted_at) #>> '{}', ',', ${duration(sql)}, ',',
          r.sentiment, ',', r.sentiment_score, (
            select string_agg(',' || case jsonb_typeof(a.value)
              when 'number' then a.value #>> '{}'
              when 'array' then ${cell(sql, sql`(select string_agg(o, '; ' order by n) from jsonb_array_elements_text(a.value) with ordinality as t (o, n))`)}
              else ${cell(sql, sql`a.value #>> '{}'`)} end, '' order by q.position)
            from asked q left join (
              select a ->> 'question_id' as id, a -> 'value' as value from jsonb_array_elements(r.answers) a
            ) a using (id)), E'\r\n') as line
        from part r
      )
      select ${after ? sql`` : sql`${head(sql)} ||`} coalesce((select string_agg(line, '' order by ${newest}) from lines r), '') as csv,
        (select array[r.submitted_at::text, r.id::text] from part r
          where (select count(*) from page) = ${mostRows} or (select count(*) from part) < (select count(*) from page)
          order by r.submitted_at, r.id limit 1) as next`;
  };
}
