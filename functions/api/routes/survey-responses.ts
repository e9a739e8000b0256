import { z } from "zod";
import type { Locale } from "../../../shared/locales.ts";
import {
  type SurveyResponseCreate,
  type SurveyResponseListQuery,
  surveyResponseCreate,
  surveyResponseCreatedAnswer,
  surveyResponseListAnswer,
  surveyResponseListQuery,
  surveyStartedAnswer,
} from "../../../shared/survey-responses.ts";
import { notFound } from "../../_shared/api-error.ts";
import { listMeta } from "../../_shared/cursor.ts";
import { type Answer, answer, endpoint } from "../../_shared/endpoint.ts";
import { scoreAnswers } from "../../_shared/sentiment/answers.ts";
import { hasModel, judgeTexts } from "../../_shared/sentiment/judge.ts";
import { lexiconEngine } from "../../_shared/sentiment/lexicon.ts";
import {
  type ExportedPart,
  exportResponses,
  judgeResponse,
  listResponses,
  startSurvey,
  submitResponse,
  textQuestions,
} from "../../_shared/statements/survey-responses.ts";
import { requireSurvey } from "../../_shared/statements/surveys.ts";

const tag = "Survey responses";
const missing = () => notFound("survey");
const nothing = z.object({});

/** The lexicon's score stands already; a model takes its time, and is sent texts only. */
async function judgeLater(
  responseId: string,
  asked: ReadonlySet<string>,
  { answers }: SurveyResponseCreate,
  locale: Locale,
) {
  const texts = answers.flatMap(({ question_id, value }) =>
    typeof value === "string" && value !== "" && asked.has(question_id.toLowerCase())
      ? [{ question_id, value }]
      : [],
  );
  if (texts.length === 0) return [];
  const judged = await judgeTexts(
    texts.map(({ value }) => value),
    locale,
  );
  const scores = texts.flatMap(({ question_id }, i) => {
    const judgement = judged[i];
    return judgement && judgement.engine !== lexiconEngine
      ? [[question_id.toLowerCase(), judgement] as const]
      : [];
  });
  const engine = scores[0]?.[1].engine;
  if (engine === undefined) return [];
  const byQuestion = Object.fromEntries(scores.map(([id, { score }]) => [id, score]));
  return [judgeResponse(responseId, { engine, scores: byQuestion })];
}

export const surveyResponses = [
  endpoint({
    method: "post",
    path: "/surveys/:id/start",
    tag,
    access: "person",
    summary: "Say that the signed-in person begins to answer; again is not an error",
    body: nothing,
    answers: { 201: surveyStartedAnswer, 200: surveyStartedAnswer },
    call: ({ params }) => [startSurvey(params.id)],
    respond: ([[started]]) => {
      if (!started) throw missing();
      return answer(started.made ? 201 : 200, started.data);
    },
  }),
  endpoint({
    method: "post",
    path: "/surveys/:id/responses",
    tag,
    access: "person",
    operation: "survey_response_create",
    summary: "Answer a survey, as the signed-in person",
    body: surveyResponseCreate,
    answers: { 201: surveyResponseCreatedAnswer },
    call: ({ params, body, locale }) => [
      submitResponse(params.id, body, locale, scoreAnswers(body.answers, locale)),
      ...(hasModel ? [textQuestions(params.id)] : []),
    ],
    respond: ([[response], texts = []], { body, locale }) => {
      if (!response) throw missing();
      const made = answer(201, response.data);
      if (!hasModel) return made;
      const asked = new Set(texts.map(({ id }) => id));
      return {
        ...made,
        later: () => judgeLater(JSON.parse(response.data).response_id, asked, body, locale),
      };
    },
  }),
  endpoint({
    method: "get",
    path: "/surveys/:id/responses",
    tag,
    access: "caller",
    scopes: ["responses:read"],
    summary: "List responses, newest first, as an admin; or export them all",
    query: surveyResponseListQuery,
    answers: { 200: surveyResponseListAnswer },
    gives: ["text/csv"],
    call: ({ params, query }) => [
      requireSurvey(params.id, "responses:read"),
      query.format === "csv" ? exportResponses(params.id, query) : listResponses(params.id, query),
    ],
    respond: ([, [list]], { params, query }) => {
      if (!list) throw missing();
      if ("csv" in list) {
        const file = `attachment; filename="survey-${params.id}.csv"`;
        const headers = { "Content-Type": "text/csv; charset=utf-8", "Content-Disposition": file };
        return { status: 200, headers, ...exported(list, params.id, query) };
      }
      return answer(200, list.data, listMeta(list, query, "submitted_at", "desc"));
    },
  }),
];

function exported(
  { csv, next }: ExportedPart,
  id: string,
  query: SurveyResponseListQuery,
): Pick<Answer, "json" | "next"> {
  if (!next) return { json: csv };
  return {
    json: csv,
    next: {
      statements: [requireSurvey(id, "responses:read"), exportResponses(id, query, next)],
      respond: ([, [part]]: [unknown, readonly ExportedPart[]]) => {
        if (!part) throw missing();
        return exported(part, id, query);
      },
    },
  };
}
