import { z } from "zod";
import { patchOf, uuid } from "../../../shared/fields.ts";
import { surveyResponse, surveyResponseListQuery } from "../../../shared/survey-responses.ts";
import {
  surveyAnalytics as analytics,
  surveyDetail as detail,
  survey,
  surveyCreate,
  surveyListQuery,
  surveyPatch,
  surveyStatus,
} from "../../../shared/surveys.ts";
import { notFound } from "../../_shared/http/api-error.ts";
import { surveyPage } from "../../_shared/http/web-pages.ts";
import type { Data } from "../../_shared/statements/shapes.ts";
import { auditResponses, listResponses } from "../../_shared/statements/survey-responses.ts";
import {
  changeSurveyStatus,
  createSurvey,
  deleteSurvey,
  listSurveys,
  requireSurvey,
  requireSurveyReader,
  surveyAnalytics,
  surveyDetail,
  updateSurvey,
} from "../../_shared/statements/surveys.ts";
import { additive, confirm, idempotent, idempotentDestructive, readOnly, tool } from "../tool.ts";
import { listOf, pageInput, pageOf, pageOutput, shortened } from "./pages.ts";

const missing = () => notFound("survey");
const surveyId = uuid.describe("Id of the survey.");
const shown = detail.omit({ targeting: true, analytics: true }).required({ questions: true });

function surveyOf(row: Data | undefined): { survey: z.infer<typeof shown> } {
  if (!row) throw missing();
  return { survey: JSON.parse(row.data) };
}

const list_surveys = tool({
  name: "list_surveys",
  title: "List surveys",
  description: "List surveys of the organization, newest first, with their response counts.",
  input: z.object({ status: surveyListQuery.shape.status, ...pageInput }),
  output: z.object({ surveys: z.array(survey), ...pageOutput }),
  scope: "surveys:read",
  annotations: readOnly,
  untrusted: [],
  call: (query) => [requireSurveyReader(), listSurveys({ ...query, cursor: undefined })],
  respond: ([, [page]], query) => ({
    surveys: listOf<z.infer<typeof survey>>(page?.data),
    ...pageOf(query, page?.total ?? 0),
  }),
});

const get_survey = tool({
  name: "get_survey",
  title: "Show a survey",
  description: "Show one survey with questions and options.",
  input: z.object({ survey_id: surveyId }),
  output: z.object({ survey: shown }),
  scope: "surveys:read",
  annotations: readOnly,
  untrusted: [],
  call: ({ survey_id }) => [requireSurvey(survey_id, null), surveyDetail(survey_id, ["questions"])],
  respond: ([, [row]]) => surveyOf(row),
});

const create_survey = tool({
  name: "create_survey",
  title: "Make a survey",
  description: "Create a survey draft. publish_survey opens it for responses.",
  input: z.object({
    title: surveyCreate.shape.title,
    questions: surveyCreate.shape.questions.unwrap(),
    description: surveyCreate.shape.description,
    settings: surveyCreate.shape.settings,
    closes_at: surveyCreate.shape.closes_at,
  }),
  output: z.object({ survey_id: uuid, status: surveyStatus, url: z.string() }),
  scope: "surveys:write",
  annotations: additive,
  untrusted: [],
  call: (body) => [createSurvey(body)],
  respond: ([[created]]) => {
    if (!created) throw missing();
    return { survey_id: created.id, status: "draft" as const, url: surveyPage(created.id) };
  },
});

const { targeting: _, ...patchFields } = surveyPatch.shape;

const update_survey = tool({
  name: "update_survey",
  title: "Change a draft survey",
  description: "Change a survey draft. Questions are replaced as a whole.",
  input: patchOf(patchFields, { survey_id: surveyId, confirm }),
  output: z.object({ survey: shown }),
  scope: "surveys:write",
  annotations: idempotentDestructive,
  untrusted: [],
  call: ({ survey_id, confirm: _, ...patch }) => [
    updateSurvey(survey_id, patch),
    surveyDetail(survey_id, ["questions"]),
  ],
  respond: ([, [row]]) => surveyOf(row),
});

const delete_survey = tool({
  name: "delete_survey",
  title: "Delete a survey",
  description: "Delete a survey permanently. With responses only if force is true.",
  input: z.object({
    survey_id: surveyId,
    force: z.boolean().default(false).describe("Whether to delete its responses as well."),
    confirm,
  }),
  output: z.object({ deleted: z.literal(true), survey_id: uuid }),
  scope: "surveys:write",
  annotations: idempotentDestructive,
  untrusted: [],
  call: ({ survey_id, force }) => [deleteSurvey(survey_id, force)],
  respond: (_, { survey_id }) => ({ deleted: true as const, survey_id }),
});

const publish_survey = tool({
  name: "publish_survey",
  title: "Publish a survey",
  description: "Open a draft for responses; its questions can no longer change. Idempotent.",
  input: z.object({ survey_id: surveyId }),
  output: z.object({ survey: shown }),
  scope: "surveys:publish",
  annotations: idempotent,
  untrusted: [],
  call: ({ survey_id }) => [changeSurveyStatus(survey_id, "publish"), surveyDetail(survey_id, ["questions"])],
  respond: ([, [row]]) => surveyOf(row),
});

const { start_date, end_date, sentiment } = surveyResponseListQuery.shape;

const list_survey_responses = tool({
  name: "list_survey_responses",
  title: "List responses to a survey",
  description:
    "List responses, newest first, with long texts truncated. For aggregates call get_survey_analytics.",
  input: z.object({ survey_id: surveyId, start_date, end_date, sentiment, ...pageInput }),
  output: z.object({ responses: z.array(surveyResponse), ...pageOutput }),
  scope: "responses:read",
  annotations: readOnly,
  untrusted: ["responses.answers.value", "responses.respondent.name"],
  call: ({ survey_id, ...query }) => [
    requireSurvey(survey_id, "responses:read"),
    listResponses(survey_id, { ...query, cursor: undefined, format: "json" }),
    auditResponses(survey_id, "read"),
  ],
  respond: ([, [page]], query) => ({
    responses: listOf<z.infer<typeof surveyResponse>>(page?.data).map((response) => ({
      ...response,
      answers: response.answers.map(({ value, ...answer }) => ({
        ...answer,
        value: typeof value === "string" ? shortened(value) : value,
      })),
    })),
    ...pageOf(query, page?.total ?? 0),
  }),
});

const get_survey_analytics = tool({
  name: "get_survey_analytics",
  title: "Get survey analytics",
  description:
    "Response count, completion rate, completion time, net promoter score, sentiment, and the answers to each question.",
  input: z.object({ survey_id: surveyId }),
  output: z.object({ analytics: analytics.required() }),
  scope: "analytics:read",
  annotations: readOnly,
  untrusted: [],
  call: ({ survey_id }) => [surveyAnalytics(survey_id, [])],
  respond: ([[numbers]]) => {
    if (!numbers) throw missing();
    return { analytics: JSON.parse(numbers.data) };
  },
});

export const surveyTools = [
  list_surveys,
  get_survey,
  create_survey,
  update_survey,
  delete_survey,
  publish_survey,
  list_survey_responses,
  get_survey_analytics,
];
