import { z } from "zod";
import {
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
import {
  type ExportedPart,
  exportResponses,
  listResponses,
  startSurvey,
  submitResponse,
} from "../../_shared/statements/survey-responses.ts";
import { requireSurvey } from "../../_shared/statements/surveys.ts";

const tag = "Survey responses";
const missing = () => notFound("survey");
const nothing = z.object({});

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
    ],
    respond: ([[response]]) => {
      if (!response) throw missing();
      return answer(201, response.data);
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
    csv: true,
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
