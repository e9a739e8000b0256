import { deletedAnswer } from "../../shared/submissions.ts";
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
  surveyMailAnswer,
  surveyMailBody,
  surveyPatch,
} from "../../shared/surveys.ts";
import { notFound } from "../_shared/http/api-error.ts";
import { listMeta } from "../_shared/http/cursor.ts";
import { dataIn, dataResponse, endpointsOf, row } from "../_shared/http/endpoint.ts";
import { surveyPage } from "../_shared/http/web-pages.ts";
import { startSurveyByReading } from "../_shared/statements/survey-responses.ts";
import {
  changeSurveyStatus,
  createSurvey,
  createSurveyVersion,
  deleteSurvey,
  listSurveys,
  mailSurvey,
  requireSurvey,
  requireSurveyReader,
  type SurveyAction,
  surveyAnalytics,
  surveyDetail,
  updateSurvey,
} from "../_shared/statements/surveys.ts";

const { get, post, patch, del } = endpointsOf({ tag: "Surveys", access: "caller" });
const missing = () => notFound("survey");

export const surveys = [
  get("/surveys", {
    scopes: ["surveys:read"],
    summary: "List surveys, newest first, as an admin",
    query: surveyListQuery,
    responses: { 200: surveyListAnswer },
    call: ({ query }) => [requireSurveyReader(), listSurveys(query)],
    respond: ([, [list]], { query }) => {
      if (!list) throw missing();
      return dataResponse(200, list.data, listMeta(list, query, "created_at", "desc"));
    },
  }),
  post("/surveys", {
    scopes: ["surveys:write"],
    summary: "Create a survey draft, as an admin",
    body: surveyCreate,
    responses: { 201: surveyCreatedAnswer },
    call: ({ body }) => [createSurvey(body)],
    respond: ([[created]]) => {
      if (!created) throw missing();
      return dataResponse(201, JSON.stringify({ id: created.data, status: "draft", url: surveyPage(created.data) }));
    },
  }),
  get("/surveys/:id", {
    access: "public",
    summary: "Show a survey; a draft for its team only",
    query: surveyDetailQuery,
    responses: { 200: surveyDetailAnswer },
    call: ({ params, query, locale, isReadByUser }) => [
      requireSurvey(params.id, null),
      surveyDetail(params.id, query.expand),
      ...(isReadByUser ? [startSurveyByReading(params.id, locale)] : []),
    ],
    respond: ([, detail]) => dataResponse(200, dataIn(detail, "survey")),
  }),
  patch("/surveys/:id", {
    scopes: ["surveys:write"],
    summary: "Change a draft, as an admin",
    query: surveyDetailQuery,
    body: surveyPatch,
    responses: { 200: surveyDetailAnswer },
    call: ({ params, query, body }) => [updateSurvey(params.id, body), surveyDetail(params.id, query.expand)],
    respond: row("survey"),
  }),
  del("/surveys/:id", {
    scopes: ["surveys:write"],
    summary: "Delete a survey, as an admin; with responses if force is true",
    query: surveyDeleteQuery,
    responses: { 200: deletedAnswer },
    call: ({ params, query }) => [deleteSurvey(params.id, query.force)],
    respond: () => dataResponse(200, `{"deleted":true}`),
  }),
  changing("publish", "Publish a draft, as an admin; the previous version is archived"),
  changing("pause", "Pause a published survey, as an admin"),
  changing("resume", "Resume a paused survey, as an admin"),
  changing("archive", "Archive a survey permanently, as an admin"),
  post("/surveys/:id/mail", {
    scopes: ["surveys:publish"],
    summary: "Invite voters or followers by mail, each once, or remind them once, as an admin",
    body: surveyMailBody,
    responses: { 200: surveyMailAnswer },
    call: ({ params, body }) => [requireSurvey(params.id, "surveys:publish"), mailSurvey(params.id, body.reminder)],
    respond: row("survey"),
  }),
  post("/surveys/:id/versions", {
    scopes: ["surveys:publish"],
    summary: "Create a draft version of a published or paused survey, as an admin",
    query: surveyDetailQuery,
    responses: { 201: surveyDetailAnswer },
    call: ({ params, query, newId }) => [createSurveyVersion(params.id, newId), surveyDetail(newId, query.expand)],
    respond: row("survey", 201),
  }),
  get("/surveys/:id/analytics", {
    runsLong: true,
    scopes: ["analytics:read"],
    summary: "Get analytics of a survey, as an admin",
    query: surveyAnalyticsQuery,
    responses: { 200: surveyAnalyticsAnswer },
    call: ({ params, query }) => [surveyAnalytics(params.id, query.metrics)],
    respond: row("survey"),
  }),
];

function changing(action: SurveyAction, summary: string) {
  return post(`/surveys/:id/${action}`, {
    scopes: ["surveys:publish"],
    summary,
    query: surveyDetailQuery,
    responses: { 200: surveyDetailAnswer },
    call: ({ params, query }) => [changeSurveyStatus(params.id, action), surveyDetail(params.id, query.expand)],
    respond: row("survey"),
  });
}
