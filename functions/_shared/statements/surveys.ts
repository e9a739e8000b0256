import type {
  SurveyCreate,
  SurveyExpansions,
  SurveyListQuery,
  SurveyPatch,
  surveyAnalyticsAnswer,
  surveyDetailAnswer,
  surveyListAnswer,
  surveyMailAnswer,
} from "../../../shared/surveys.ts";
import type { Sql, Statement } from "../database/run.ts";
import { decodeCursor, type Page } from "../http/cursor.ts";
import { surveyPage } from "../http/web-pages.ts";
import { call, type Data, type DataOf, organizationOf, read, run } from "./shapes.ts";
import type { Submission } from "./submissions.ts";

export type Survey = DataOf<typeof surveyListAnswer>[number];
export type SurveyDetail = DataOf<typeof surveyDetailAnswer>;

/** Raises FORBIDDEN unless the caller is Admin of the current organization. */
export const requireSurveyReader = () => call("require_admin", organizationOf(), "surveys:read");

/**
 * Raises NOT_FOUND if the caller does not see the survey; with a scope, UNAUTHORIZED or FORBIDDEN unless the caller is
 * Admin.
 */
export const requireSurvey = (id: string, scope: string | null) => run("require_survey", id, scope);

/** One page, plus one row to detect a following page and its cursor. */
export function listSurveys({ status, page, limit, cursor }: SurveyListQuery): Statement<Page<Survey>> {
  const from = cursor === undefined ? undefined : decodeCursor(cursor, "created_at", "desc");
  return (sql) => {
    const matches = sql`s.organization_id = (select private.current_organization_id())
      ${status ? sql`and s.status = ${status}` : sql``}`;
    const after = from ? sql`and (s.created_at, s.id) < (${from.value}::text::timestamptz, ${from.id}::uuid)` : sql``;
    return sql`
      with page as materialized (
        select s.id, s.title, s.status, s.created_at, s.closes_at from public.surveys s where ${matches} ${after}
        order by s.created_at desc, s.id desc limit ${limit + 1} offset ${from ? 0 : (page - 1) * limit}
      ), shown as (
        select s.id, s.title, s.status, f.response_count, f.start_count, f.completion_rate, s.created_at, s.closes_at
        from page s join private.survey_figures(array(select id from page)) f on f.survey_id = s.id
        order by s.created_at desc, s.id desc limit ${limit}
      )
      select (select count(*) from public.surveys s where ${matches}) as total,
        coalesce((select json_strip_nulls(json_agg(s)) from shown s), '[]')::text as data,
        (select count(*) from page) > ${limit} as more,
        (select array[s.created_at::text, s.id::text] from page s order by s.created_at desc, s.id desc limit 1 offset ${limit - 1}) as last`;
  };
}

export type Expanded<Name extends SurveyExpansions[number]> = SurveyDetail & Required<Pick<SurveyDetail, Name>>;

/** A survey with all detail fields; no row if the caller sees none. */
export function surveyDetail<const Name extends SurveyExpansions[number] = never>(
  id: string,
  expand: Name[],
): Statement<Data<Expanded<Name>>> {
  const shows = (name: SurveyExpansions[number]) => (expand as SurveyExpansions).includes(name);
  return (sql) => sql`
    select (select json_object_agg(key, value) from json_each(json_build_object(
      'id', s.id, 'title', s.title, 'description', s.description, 'status', s.status,
      'settings', json_strip_nulls(json_build_object('allow_multiple_responses', s.allow_multiple_responses,
        'show_branding', s.show_branding, 'redirect_url', s.redirect_url)),
      'response_count', f.response_count, 'start_count', f.start_count, 'completion_rate', f.completion_rate,
      'timed_count', f.timed_count, 'avg_completion_time', f.avg_completion_time,
      ${shows("questions") ? sql`'questions', ${questions(sql)},` : sql``}
      ${shows("targeting") ? sql`'targeting', private.survey_targeting(s.id),` : sql``}
      ${shows("analytics") ? sql`'analytics', private.survey_analytics(s.id),` : sql``}
      'version_of', s.version_of, 'url', ${surveyPage(id)}::text, 'closes_at', s.closes_at, 'published_at', s.published_at,
      'closed_at', s.closed_at, 'created_at', s.created_at, 'updated_at', s.updated_at))
      where key <> 'closes_at' or s.closes_at is not null)::text as data
    from public.surveys s, private.survey_figures(array[s.id]) f
    where s.id = ${id}::uuid and private.in_organization(s.organization_id)`;
}

const questions = (sql: Sql) => sql`coalesce((
  select json_agg(json_strip_nulls(json_build_object('id', q.id, 'type', q.type, 'text', q.text, 'required', q.required, 'order', q.position,
    'options', case when q.type = 'multiple_choice' then coalesce((
      select json_agg(json_build_object('id', o.id, 'text', o.text, 'order', o.position) order by o.position)
      from public.survey_options o where o.question_id = q.id), '[]') end,
    'multiple', case when q.type = 'multiple_choice' then q.multiple end, 'scale', q.scale)) order by q.position)
  from public.survey_questions q where q.survey_id = s.id), '[]')`;

export type Candidate = Pick<Submission, "id" | "title" | "vote_count">;

/** Submissions to choose a survey's audience from: the stored one, the chosen one, and up to ten search results. */
export function audienceSubmissions(
  id: string | undefined,
  chosenId: string | undefined,
  words: string | undefined,
): Statement<Data<Candidate[]>> {
  return (sql) => sql`
    with found (submission_id, rank) as materialized (
      select n, 'infinity'::real from unnest(array[${chosenId ?? null}::uuid,
        ${id ? sql`(private.survey_targeting(${id}) ->> 'submission_id')::uuid` : sql`null`}]) n
      ${
        words
          ? sql`union all (select h.submission_id, -h.rank
              from private.find_submissions(private.current_organization_id(), ${words}, null, null, null, null, null, null, 10) f
                cross join unnest(f.hits) with ordinality h (submission_id, class, votes, relevance, rank))`
          : sql``
      })
    select coalesce(json_agg(json_build_object('id', s.id, 'title', s.title, 'vote_count', s.vote_count)
      order by f.rank desc, s.id), '[]')::text as data
    from (select submission_id, max(rank) as rank from found group by 1) f
      join public.submissions s on s.id = f.submission_id
    where s.organization_id = (select private.current_organization_id())
      and (s.merged_into_id is null or f.rank = 'infinity')`;
}

export const createSurvey = (survey: SurveyCreate) => read<string>("create_survey", survey);

export const updateSurvey = (id: string, changes: SurveyPatch) => call("update_survey", id, changes);

export type SurveyAction = "publish" | "pause" | "resume" | "archive";

export const changeSurveyStatus = (id: string, action: SurveyAction) => call("change_survey_status", id, action);

/** Invites the audience by mail, or reminds those who did not answer. */
export const mailSurvey = (id: string, isReminder: boolean) =>
  call<DataOf<typeof surveyMailAnswer>>("mail_survey", id, isReminder);

/** A draft copy with a new id. */
export const createSurveyVersion = (id: string, newId: string) => call("create_survey_version", id, newId);

export const deleteSurvey = (id: string, force: boolean) => call("delete_survey", id, force);

/** The count that tells a metric of 0 from a survey without measurements. */
const countOf: Record<string, string> = {
  completion_rate: "start_count",
  avg_completion_time: "timed_count",
  nps_score: "nps_count",
};

/** All metrics if none is named; each with its count. */
export function surveyAnalytics(
  id: string,
  metrics: readonly string[],
): Statement<Data<DataOf<typeof surveyAnalyticsAnswer>>> {
  return (sql) =>
    metrics.length === 0
      ? sql`select private.survey_analytics(${id})::text as data`
      : sql`select json_object_agg(key, value)::text as data from json_each(private.survey_analytics(${id}))
          where key = any (${metrics.flatMap((name) => [name, countOf[name] ?? name])}::text[])`;
}
