import { deletedAnswer } from "../../../shared/submissions.ts";
import {
  surveyAnalyticsAnswer,
  surveyAnalyticsQuery,
  surveyCreate,
  surveyCreatedAnswer,
  surveyDeleteQuery,
  surveyDetailAnswer,
  surveyDetailQuery,
  surveyListAnswer,
  surveyListQuery,
  surveyPatch,
} from "../../../shared/surveys.ts";
import { notFound } from "../../_shared/api-error.ts";
import { listMeta } from "../../_shared/cursor.ts";
import { answer, endpoint } from "../../_shared/endpoint.ts";
import type { Data } from "../../_shared/statements/shapes.ts";
import {
  changeSurveyStatus,
  createSurvey,
  createSurveyVersion,
  deleteSurvey,
  listSurveys,
  requireSurvey,
  requireSurveyReader,
  type SurveyAction,
  surveyAnalytics,
  surveyDetail,
  updateSurvey,
} from "../../_shared/statements/surveys.ts";
import { surveyPage } from "../../_shared/web-pages.ts";

const tag = "Surveys";
const missing = () => notFound("survey");

function shown(status: number, detail: Data | undefined) {
  if (!detail) throw missing();
  return answer(status, detail.data);
}

export const surveys = [
  endpoint({
    method: "get",
    path: "/surveys",
    tag,
    access: "caller",
    scopes: ["surveys:read"],
    summary: "List surveys, newest first, as an admin",
    query: surveyListQuery,
    answers: { 200: surveyListAnswer },
    call: ({ query }) => [requireSurveyReader(), listSurveys(query)],
    respond: ([, [list]], { query }) => {
      if (!list) throw missing();
      return answer(200, list.data, listMeta(list, query, "created_at", "desc"));
    },
  }),
  endpoint({
    method: "post",
    path: "/surveys",
    tag,
    access: "caller",
    scopes: ["surveys:write"],
    summary: "Make a survey, as an admin; it begins as a draft",
    body: surveyCreate,
    answers: { 201: surveyCreatedAnswer },
    call: ({ body }) => [createSurvey(body)],
    respond: ([[made]]) => {
      if (!made) throw missing();
      return answer(201, JSON.stringify({ id: made.id, status: "draft", url: surveyPage(made.id) }));
    },
  }),
  endpoint({
    method: "get",
    path: "/surveys/:id",
    tag,
    access: "public",
    summary: "Show a survey; a draft to its team",
    query: surveyDetailQuery,
    answers: { 200: surveyDetailAnswer },
    call: ({ params, query }) => [requireSurvey(params.id, null), surveyDetail(params.id, query.expand)],
    respond: ([, [detail]]) => shown(200, detail),
  }),
  endpoint({
    method: "patch",
    path: "/surveys/:id",
    tag,
    access: "caller",
    scopes: ["surveys:write"],
    summary: "Change a draft, as an admin",
    query: surveyDetailQuery,
    body: surveyPatch,
    answers: { 200: surveyDetailAnswer },
    call: ({ params, query, body }) => [updateSurvey(params.id, body), surveyDetail(params.id, query.expand)],
    respond: ([, [detail]]) => shown(200, detail),
  }),
  endpoint({
    method: "delete",
    path: "/surveys/:id",
    tag,
    access: "caller",
    scopes: ["surveys:write"],
    summary: "Delete a survey, as an admin; with its responses where force is true",
    query: surveyDeleteQuery,
    answers: { 200: deletedAnswer },
    call: ({ params, query }) => [deleteSurvey(params.id, query.force)],
    respond: () => answer(200, `{"deleted":true}`),
  }),
  changing("publish", "Publish a draft, as an admin; of a version, the old one is archived"),
  changing("pause", "Pause a published survey, as an admin"),
  changing("resume", "Resume a paused survey, as an admin"),
  changing("archive", "Archive a survey for good, as an admin"),
  endpoint({
    method: "post",
    path: "/surveys/:id/versions",
    tag,
    access: "caller",
    scopes: ["surveys:publish"],
    summary: "Make a draft of a published or paused survey, to change its questions, as an admin",
    query: surveyDetailQuery,
    answers: { 201: surveyDetailAnswer },
    call: ({ params, query, newId }) => [
      createSurveyVersion(params.id, newId),
      surveyDetail(newId, query.expand),
    ],
    respond: ([, [detail]]) => shown(201, detail),
  }),
  endpoint({
    method: "get",
    path: "/surveys/:id/analytics",
    runsLong: true,
    tag,
    access: "caller",
    scopes: ["analytics:read"],
    summary: "Tell the numbers of a survey, as an admin",
    query: surveyAnalyticsQuery,
    answers: { 200: surveyAnalyticsAnswer },
    call: ({ params, query }) => [surveyAnalytics(params.id, query.metrics)],
    respond: ([[numbers]]) => {
      if (!numbers) throw missing();
      return answer(200, numbers.data);
    },
  }),
];

function changing(action: SurveyAction, summary: string) {
  return endpoint({
    method: "post",
    path: `/surveys/:id/${action}`,
    tag,
    access: "caller",
    scopes: ["surveys:publish"],
    summary,
    query: surveyDetailQuery,
    answers: { 200: surveyDetailAnswer },
    call: ({ params, query }) => [
      changeSurveyStatus(params.id, action),
      surveyDetail(params.id, query.expand),
    ],
    respond: ([, [detail]]) => shown(200, detail),
  });
}
