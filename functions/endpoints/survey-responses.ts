import { z } from "zod";
import type { Locale } from "../../shared/locales.ts";
import {
  type SurveyResponseCreate,
  surveyResponseCreate,
  surveyResponseCreatedAnswer,
  surveyResponseListAnswer,
  surveyResponseListQuery,
  surveyStartedAnswer,
} from "../../shared/survey-responses.ts";
import { surveyCsv } from "../_shared/files/survey-export.ts";
import { notFound } from "../_shared/http/api-error.ts";
import { listMeta } from "../_shared/http/cursor.ts";
import { dataResponse, endpointsOf } from "../_shared/http/endpoint.ts";
import { scoreAnswers } from "../_shared/sentiment/answers.ts";
import { lexiconEngine } from "../_shared/sentiment/lexicon.ts";
import { hasModel, scoreTexts } from "../_shared/sentiment/score-texts.ts";
import {
  auditResponses,
  exportResponses,
  listResponses,
  rescoreResponse,
  startSurvey,
  submitResponse,
  textQuestions,
} from "../_shared/statements/survey-responses.ts";
import { requireSurvey } from "../_shared/statements/surveys.ts";

const { get, post } = endpointsOf({ tag: "Survey responses", access: "person" });
const missing = () => notFound("survey");
const nothing = z.object({});

/** The lexicon's score is stored already; the model runs after the response and receives texts only. */
async function rescoreWithModel(
  responseId: string,
  questionIds: ReadonlySet<string>,
  { answers }: SurveyResponseCreate,
  locale: Locale,
) {
  const texts = answers.flatMap(({ question_id, value }) =>
    typeof value === "string" && value !== "" && questionIds.has(question_id.toLowerCase())
      ? [{ question_id, value }]
      : [],
  );
  if (texts.length === 0) return [];
  const scored = await scoreTexts(
    texts.map(({ value }) => value),
    locale,
  );
  const scores = texts.flatMap(({ question_id }, i) => {
    const score = scored[i];
    return score && score.engine !== lexiconEngine ? [[question_id.toLowerCase(), score] as const] : [];
  });
  const engine = scores[0]?.[1].engine;
  if (engine === undefined) return [];
  const byQuestion = Object.fromEntries(scores.map(([id, { score }]) => [id, score]));
  return [rescoreResponse(responseId, { engine, scores: byQuestion })];
}

export const surveyResponses = [
  post("/surveys/:id/start", {
    summary: "Record that the signed-in user starts to answer (idempotent)",
    body: nothing,
    responses: { 201: surveyStartedAnswer, 200: surveyStartedAnswer },
    call: ({ params }) => [startSurvey(params.id)],
    respond: ([[started]]) => {
      if (!started) throw missing();
      return dataResponse(started.made ? 201 : 200, started.data);
    },
  }),
  post("/surveys/:id/responses", {
    operation: "survey_response_create",
    summary: "Submit a response, as the signed-in user",
    body: surveyResponseCreate,
    responses: { 201: surveyResponseCreatedAnswer },
    call: ({ params, body, locale }) => [
      submitResponse(params.id, body, locale, scoreAnswers(body.answers, locale)),
      ...(hasModel ? [textQuestions(params.id)] : []),
    ],
    respond: ([[response], texts = []], { body, locale }) => {
      if (!response) throw missing();
      const created = dataResponse(201, response.data);
      if (!hasModel) return created;
      const questionIds = new Set(texts.map(({ id }) => id));
      return {
        ...created,
        afterResponse: () => rescoreWithModel(JSON.parse(response.data).response_id, questionIds, body, locale),
      };
    },
  }),
  get("/surveys/:id/responses", {
    runsLong: true,
    access: "caller",
    scopes: ["responses:read"],
    summary: "List responses, newest first, or export all, as an admin",
    query: surveyResponseListQuery,
    responses: { 200: surveyResponseListAnswer },
    produces: ["text/csv"],
    call: ({ params, query }) => [
      requireSurvey(params.id, "responses:read"),
      query.format === "csv" ? exportResponses(params.id, query) : listResponses(params.id, query),
      auditResponses(params.id, query.format === "csv" ? "export" : "read"),
    ],
    respond: ([, [list]], { params, query }) => {
      if (!list) throw missing();
      if ("records" in list) {
        return {
          status: 200,
          bodyStream: (execute) =>
            surveyCsv(list, async (last) => {
              const [, [part]] = await execute([
                requireSurvey(params.id, "responses:read"),
                exportResponses(params.id, query, last),
              ]);
              if (!part) throw missing();
              return part;
            }),
          headers: {
            "Content-Type": "text/csv; charset=utf-8",
            "Content-Disposition": `attachment; filename="survey-${params.id}.csv"`,
          },
        };
      }
      return dataResponse(200, list.data, listMeta(list, query, "submitted_at", "desc"));
    },
  }),
];
