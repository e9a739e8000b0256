import { z } from "zod";
import { patchOf, uuid } from "../../../shared/fields.ts";
import type { PageQuery } from "../../../shared/pagination.ts";
import { surveyResponse, surveyResponseListQuery } from "../../../shared/survey-responses.ts";
import {
  survey,
  surveyAnalytics,
  surveyCreate,
  surveyDetail,
  surveyListQuery,
  surveyPatch,
  surveyStatus,
} from "../../../shared/surveys.ts";
import { endpointOf } from "../../_shared/http/endpoint.ts";
import { surveyResponses } from "../../endpoints/survey-responses.ts";
import { surveys } from "../../endpoints/surveys.ts";
import { type Answer, fromEndpoint, idNamed } from "../from-endpoint.ts";
import { additive, confirm, idempotent, idempotentDestructive, readOnly } from "../tool.ts";
import { pageInput, pageOf, pageOutput, shortened } from "./pages.ts";

const { targeting: _, ...patchFields } = surveyPatch.shape;
const { start_date, end_date, sentiment } = surveyResponseListQuery.shape;

/** A survey as agents see it. */
const withQuestions = {
  query: { expand: ["questions"] },
  output: { survey: surveyDetail.omit({ targeting: true, analytics: true }).required({ questions: true }) },
  untrusted: [],
  answer: ({ data }: Answer) => ({ survey: data }),
};

type Count = { value: string; count: number };

/** The counts by value. Its JSON keeps their order, also of values that look like numbers, which objects have first. */
const inOrder = (counts: Count[]) =>
  new Proxy(Object.fromEntries(counts.map(({ value, count }) => [value, count])), {
    ownKeys: () => counts.map(({ value }) => value),
  });

export const surveyTools = [
  fromEndpoint(endpointOf(surveys, "get", "/surveys"), {
    name: "list_surveys",
    title: "List surveys",
    description: "List surveys of the organization, newest first, with their response counts.",
    input: z.object({ status: surveyListQuery.shape.status, ...pageInput }),
    output: { surveys: z.array(survey), ...pageOutput },
    scope: "surveys:read",
    annotations: readOnly,
    untrusted: [],
    answer: ({ data, meta }, query: PageQuery) => ({ surveys: data, ...pageOf(query, meta) }),
  }),
  fromEndpoint(endpointOf(surveys, "get", "/surveys/:id"), {
    ...withQuestions,
    name: "get_survey",
    title: "Show a survey",
    description: "Show one survey with questions and options.",
    id: "survey_id",
    scope: "surveys:read",
    annotations: readOnly,
  }),
  fromEndpoint(endpointOf(surveys, "post", "/surveys"), {
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
    output: { survey_id: uuid, status: surveyStatus, url: z.string() },
    scope: "surveys:write",
    annotations: additive,
    untrusted: [],
    answer: ({ data: { id, ...created } }) => ({ survey_id: id, ...created }),
  }),
  fromEndpoint(endpointOf(surveys, "patch", "/surveys/:id"), {
    ...withQuestions,
    name: "update_survey",
    title: "Change a draft survey",
    description: "Change a survey draft. Questions are replaced as a whole.",
    id: "survey_id",
    input: patchOf(patchFields, { ...idNamed("survey_id"), confirm }),
    scope: "surveys:write",
    annotations: idempotentDestructive,
  }),
  fromEndpoint(endpointOf(surveys, "delete", "/surveys/:id"), {
    name: "delete_survey",
    title: "Delete a survey",
    description: "Delete a survey permanently. With responses only if force is true.",
    id: "survey_id",
    input: z.object({
      ...idNamed("survey_id"),
      force: z.boolean().default(false).describe("Whether to delete its responses as well."),
      confirm,
    }),
    output: { deleted: z.literal(true), survey_id: uuid },
    scope: "surveys:write",
    annotations: idempotentDestructive,
    untrusted: [],
    answer: ({ data }, { survey_id }: { survey_id: string }) => ({ ...data, survey_id }),
  }),
  fromEndpoint(endpointOf(surveys, "post", "/surveys/:id/publish"), {
    ...withQuestions,
    name: "publish_survey",
    title: "Publish a survey",
    description: "Open a draft for responses; its questions can no longer change. Idempotent.",
    id: "survey_id",
    scope: "surveys:publish",
    annotations: idempotent,
  }),
  fromEndpoint(endpointOf(surveyResponses, "get", "/surveys/:id/responses"), {
    name: "list_survey_responses",
    title: "List responses to a survey",
    description: "List responses, newest first, with long texts truncated. For aggregates call get_survey_analytics.",
    id: "survey_id",
    input: z.object({ ...idNamed("survey_id"), start_date, end_date, sentiment, ...pageInput }),
    output: { responses: z.array(surveyResponse), ...pageOutput },
    scope: "responses:read",
    annotations: readOnly,
    untrusted: ["responses.answers.value", "responses.respondent.name"],
    answer: ({ data, meta }, query: PageQuery) => ({
      responses: data.map((response: z.infer<typeof surveyResponse>) => ({
        ...response,
        answers: response.answers.map(({ value, ...answer }) => ({
          ...answer,
          value: typeof value === "string" ? shortened(value) : value,
        })),
      })),
      ...pageOf(query, meta),
    }),
  }),
  fromEndpoint(endpointOf(surveys, "get", "/surveys/:id/analytics"), {
    name: "get_survey_analytics",
    title: "Get survey analytics",
    description:
      "Response count, completion rate, completion time, net promoter score, sentiment, and the answers to each question.",
    id: "survey_id",
    query: { metrics: [] },
    output: { analytics: surveyAnalytics.required() },
    scope: "analytics:read",
    annotations: readOnly,
    untrusted: [],
    answer: ({ data: { breakdown_by_question: questions, ...rest } }) => ({
      analytics: {
        ...rest,
        breakdown_by_question: questions.map((question: { counts: Count[] }) => ({
          ...question,
          responses: inOrder(question.counts),
        })),
      },
    }),
  }),
];
