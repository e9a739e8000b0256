import { z } from "zod";
import { dataOf, listOf } from "./envelopes.ts";
import { calendarDay, dayOrMoment, shortArrayOf, timestamp, uuid } from "./fields.ts";
import { locale } from "./locales.ts";
import { cursor, fullMeta, pageFields } from "./pagination.ts";
import { author } from "./taxonomy.ts";
import { text } from "./text.ts";

export const sentiment = z
  .enum(["positive", "neutral", "negative"])
  .meta({ id: "Sentiment", description: "positive from 0.2, negative from -0.2 down, otherwise neutral." });

export const sentimentScore = z.number().min(-1).max(1).describe("From -1 to 1.");

// In ------------------------------------------------------------------------------------------------------------

export const answerText = text({ min: 0, max: 5000 });

const answerValue = z
  .nonoptional(
    z.union([z.number(), answerText, shortArrayOf(text({ min: 1, max: 200 }), 100), z.null()], { error: complaintOf }),
  )
  .describe(
    "A number for nps and rating; text for text and email; the id or text of an option for multiple_choice, or an array if several may be chosen. Null and empty values do not answer.",
  );

/** The error in a text or array, if any. */
function complaintOf({ input, errors = [] }: { input?: unknown; errors?: z.core.$ZodIssue[][] }): string {
  if (input === undefined) return "is required";
  const own = errors.flat().find(({ code }) => code === "custom");
  return own?.message ?? "must be a number, a string, or an array of options, depending on the question";
}

export const surveyResponseCreate = z
  .object({
    answers: shortArrayOf(z.object({ question_id: uuid, value: answerValue }), 200).describe(
      "At most one for each question; at least one non-empty.",
    ),
  })
  .meta({ id: "SurveyResponseCreate", description: "Answers of the signed-in user." });

export type SurveyResponseCreate = z.infer<typeof surveyResponseCreate>;

export const surveyResponseListQuery = z
  .object({
    ...pageFields,
    cursor: cursor.optional(),
    start_date: dayOrMoment.optional().describe("Submitted at or after; a date starts at 00:00 UTC."),
    end_date: dayOrMoment.optional().describe("Submitted at or before; a date ends at 24:00 UTC."),
    sentiment: sentiment.optional(),
    format: z
      .enum(["json", "csv"])
      .default("json")
      .describe("csv: all responses that match the filters, regardless of page and limit."),
  })
  .refine(
    ({ start_date, end_date }) =>
      start_date === undefined || end_date === undefined || Date.parse(start_date) <= endOf(end_date),
    { path: ["end_date"], error: "must not be before start_date" },
  )
  .meta({ id: "SurveyResponseListQuery", description: "Filter and page of responses, newest first." });

export type SurveyResponseListQuery = z.infer<typeof surveyResponseListQuery>;

function endOf(date: string): number {
  return Date.parse(date) + (calendarDay.safeParse(date).success ? 24 * 3600 * 1000 - 1 : 0);
}

// Out -----------------------------------------------------------------------------------------------------------

export const answerGiven = z.object({
  question_id: uuid,
  value: z.union([z.number(), z.string(), z.array(z.string())]),
});

export const surveyResponse = z
  .object({
    id: uuid,
    respondent: author
      .nullable()
      .describe(
        "Anonymous if the person was erased; null if the profile is gone, and for keys without submissions:moderate if the audience is voters or followers.",
      ),
    answers: z.array(answerGiven).describe("In question order, with option texts; unanswered questions are omitted."),
    started_at: timestamp.nullable().describe("Null if the person neither started nor read the survey before."),
    submitted_at: timestamp,
    duration_seconds: z.number().min(0).nullable().describe("From start to submission, in seconds."),
    sentiment: sentiment.nullable().describe("Null without numeric or text answers."),
    sentiment_score: sentimentScore.nullable(),
    locale: locale.nullable(),
  })
  .meta({ id: "SurveyResponse", description: "A response to a survey; Admin only." });

const surveyResponseCreated = z
  .object({ response_id: uuid, survey_id: uuid, submitted_at: timestamp })
  .meta({ id: "SurveyResponseCreated", description: "A created response." });

const surveyStarted = z
  .object({ survey_id: uuid, started_at: timestamp.describe("Time of the first call.") })
  .meta({ id: "SurveyStarted", description: "When the caller started to answer." });

export const surveyResponseListAnswer = listOf(surveyResponse, fullMeta);
export const surveyResponseCreatedAnswer = dataOf(surveyResponseCreated);
export const surveyStartedAnswer = dataOf(surveyStarted);
