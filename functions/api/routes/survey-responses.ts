import { z } from "zod";
import type { Locale } from "../../../shared/locales.ts";
import {
  type SurveyResponseCreate,
  surveyResponseCreate,
  surveyResponseCreatedAnswer,
  surveyResponseListAnswer,
  surveyResponseListQuery,
  surveyStartedAnswer,
} from "../../../shared/survey-responses.ts";
import { notFound } from "../../_shared/api-error.ts";
import { listMeta } from "../../_shared/cursor.ts";
import { answer, endpoint } from "../../_shared/endpoint.ts";
import { scoreAnswers } from "../../_shared/sentiment/answers.ts";
import { hasModel, judgeTexts } from "../../_shared/sentiment/judge.ts";
import { lexiconEngine } from "../../_shared/sentiment/lexicon.ts";
import {
  exportResponses,
  judgeResponse,
  listResponses,
  startSurvey,
  submitResponse,
  textQuestions,
} from "../../_shared/statements/survey-responses.ts";
import { requireSurvey } from "../../_shared/statements/surveys.ts";
import { surveyCsv } from "../../_shared/survey-export.ts";

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
    runsLong: true,
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
      if ("records" in list) {
        return {
          status: 200,
          json: "",
          pieces: (ask) =>
            surveyCsv(list, async (last) => {
              const [, [part]] = await ask([
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
      return answer(200, list.data, listMeta(list, query, "submitted_at", "desc"));
    },
  }),
];
