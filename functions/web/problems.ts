import type { z } from "zod";
import { type ErrorDetail, validationDetails } from "../../shared/validation.ts";
import { ApiError, InvalidInput } from "../_shared/http/api-error.ts";
import type { Messages } from "../words/index.ts";
import type { Visit } from "./visit.ts";

/** A refusal that a page words itself, in the visitor's language. */
export class WordedError extends ApiError {}

type Problem = { message: string; details: ErrorDetail[] };

/** The errors of a form in the visitor's language. The API's messages are in English and more specific. */
export function problemOf(error: ApiError, { locale, messages }: Pick<Visit, "locale" | "messages">): Problem {
  // A form was posted twice: see components/form-id.tsx.
  if (error.details.some(({ field }) => field === "Idempotency-Key"))
    return { message: messages.forms.sent, details: [] };
  if (error instanceof WordedError) return { message: error.message, details: error.details };
  const { problems } = messages;
  const said = (message: string) => textOf(message, messages) ?? (locale === "en" ? message : problems.invalid);
  return {
    message: sentenceOf(error, { locale, messages }),
    details:
      error instanceof InvalidInput
        ? validationDetails(error, (issue) => explanation(issue, problems) ?? said(issue.message))
        : // Errors of the database.
          error.details.map(({ field, message }) => ({
            field,
            message: error.extra.reason === "name_of_team_member" ? problems.nameOfTeamMember : said(message),
          })),
  };
}

/** Codes whose messages are for programs in English too. */
const forPrograms = new Set(["SUBMISSION_MERGED", "SURVEY_HAS_RESPONSES", "VALIDATION_ERROR"]);

/** An error of the API in the visitor's language. In English, most messages of the API are good for people too. */
export function sentenceOf(
  { code, message }: { code: string; message: string },
  { locale, messages }: Pick<Visit, "locale" | "messages">,
): string {
  const said = textOf(message, messages);
  if (said || (locale === "en" && !forPrograms.has(code))) return said ?? message;
  const { codes } = messages.problems;
  return codes[code as keyof typeof codes] ?? messages.errors.refused;
}

const textOf = (message: string, { errorTexts }: Messages): string | undefined =>
  errorTexts[message as keyof typeof errorTexts];

/** The message for the issue's code, or for the rule of a custom check; undefined if there is none. */
function explanation(issue: z.core.$ZodIssue, problems: Messages["problems"]): string | undefined {
  if (issue.code === "custom") {
    const { rule, min, max } = issue.params ?? {};
    if (rule === "length") return min > 0 ? problems.length(min, max) : problems.atMost(max);
    if (rule === "bytes") return problems.bytes(max);
    if (rule === "email") return problems.email;
    return rule === "web_address" ? problems.webAddress : undefined;
  }
  if (issue.code === "too_small") {
    if (issue.origin === "string") return problems.atLeast(Number(issue.minimum));
    return issue.origin === "array" ? problems.required : problems.minimum(Number(issue.minimum));
  }
  if (issue.code === "too_big")
    return issue.origin === "string" ? problems.atMost(Number(issue.maximum)) : problems.maximum(Number(issue.maximum));
  // An empty field is absent, and what a select or checkbox did not choose is too.
  return issue.code === "invalid_type" || issue.code === "invalid_value" || issue.code === "invalid_union"
    ? problems.required
    : undefined;
}
