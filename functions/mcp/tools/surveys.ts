import { z } from "zod";
import { uuid } from "../../../shared/fields.ts";
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
import { notFound } from "../../_shared/api-error.ts";
import type { Data } from "../../_shared/statements/shapes.ts";
import { listResponses } from "../../_shared/statements/survey-responses.ts";
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
import { surveyPage } from "../../_shared/web-pages.ts";
import { adds, confirm, reads, settles, settlesOver, tool } from "../tool.ts";
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
  description: "List surveys of the organization, newest first, with how many people answered.",
  input: z.object({ status: surveyListQuery.shape.status, ...pageInput }),
  output: z.object({ surveys: z.array(survey), ...pageOutput }),
  scope: "surveys:read",
  annotations: reads,
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
  description: "Show one survey with its questions and their options.",
  input: z.object({ survey_id: surveyId }),
  output: z.object({ survey: shown }),
  scope: "surveys:read",
  annotations: reads,
  untrusted: [],
  call: ({ survey_id }) => [requireSurvey(survey_id, null), surveyDetail(survey_id, ["questions"])],
  respond: ([, [row]]) => surveyOf(row),
});

const create_survey = tool({
  name: "create_survey",
  title: "Make a survey",
  description: "Make a survey. It begins as a draft that nobody can answer: publish_survey opens it.",
  input: z.object({
    title: surveyCreate.shape.title,
    questions: surveyCreate.shape.questions.unwrap(),
    description: surveyCreate.shape.description,
    settings: surveyCreate.shape.settings,
    closes_at: surveyCreate.shape.closes_at,
  }),
  output: z.object({ survey_id: uuid, status: surveyStatus, url: z.string() }),
  scope: "surveys:write",
  annotations: adds,
  untrusted: [],
  call: (body) => [createSurvey(body)],
  respond: ([[made]]) => {
    if (!made) throw missing();
    return { survey_id: made.id, status: "draft" as const, url: surveyPage(made.id) };
  },
});

const { title, description, questions, settings, closes_at } = surveyPatch.shape;

const update_survey = tool({
  name: "update_survey",
  title: "Change a draft survey",
  description: "Change a survey that is still a draft. Questions are replaced as a whole.",
  input: z
    .object({ survey_id: surveyId, title, description, questions, settings, closes_at, confirm })
    .refine(({ survey_id: _, confirm: __, ...patch }) => Object.keys(patch).length > 0, {
      error: "must name at least one of title, description, questions, settings, closes_at",
    }),
  output: z.object({ survey: shown }),
  scope: "surveys:write",
  annotations: settlesOver,
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
  description:
    "Delete a survey for good. One that was answered only with force, and then with its responses.",
  input: z.object({
    survey_id: surveyId,
    force: z.boolean().default(false).describe("Whether responses go too, where there are any."),
    confirm,
  }),
  output: z.object({ deleted: z.literal(true), survey_id: uuid }),
  scope: "surveys:write",
  annotations: settlesOver,
  untrusted: [],
  call: ({ survey_id, force }) => [deleteSurvey(survey_id, force)],
  respond: (_, { survey_id }) => ({ deleted: true as const, survey_id }),
});

const publish_survey = tool({
  name: "publish_survey",
  title: "Publish a survey",
  description: "Open a draft for answers; its questions cannot change any more. Again is not an error.",
  input: z.object({ survey_id: surveyId }),
  output: z.object({ survey: shown }),
  scope: "surveys:publish",
  annotations: settles,
  untrusted: [],
  call: ({ survey_id }) => [changeSurveyStatus(survey_id, "publish"), surveyDetail(survey_id, ["questions"])],
  respond: ([, [row]]) => surveyOf(row),
});

const { start_date, end_date, sentiment } = surveyResponseListQuery.shape;

const list_survey_responses = tool({
  name: "list_survey_responses",
  title: "List responses to a survey",
  description:
    "List what people answered, newest first, with long texts cut. For numbers of the whole call get_survey_analytics.",
  input: z.object({ survey_id: surveyId, start_date, end_date, sentiment, ...pageInput }),
  output: z.object({ responses: z.array(surveyResponse), ...pageOutput }),
  scope: "responses:read",
  annotations: reads,
  untrusted: ["responses.answers.value", "responses.respondent.name"],
  call: ({ survey_id, ...query }) => [
    requireSurvey(survey_id, "responses:read"),
    listResponses(survey_id, { ...query, cursor: undefined, format: "json" }),
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
  title: "Tell the numbers of a survey",
  description:
    "How many answered, what share of those who began, how long it took, the net promoter score, sentiment, and the answers to each question.",
  input: z.object({ survey_id: surveyId }),
  output: z.object({ analytics: analytics.required() }),
  scope: "analytics:read",
  annotations: reads,
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
