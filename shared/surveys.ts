import { z } from "zod";
import { dataOf, listOf } from "./envelopes.ts";
import { count, expandOf, moment, patchOf, shortArrayOf, timestamp, uuid, webAddress, wholeNumber } from "./fields.ts";
import { locale } from "./locales.ts";
import { cursor, fullMeta, pageFields, queryBoolean } from "./pagination.ts";
import { text } from "./text.ts";

export const surveyStatus = z
  .enum(["draft", "published", "paused", "archived"])
  .meta({ id: "SurveyStatus", description: "Only published surveys accept responses; only drafts can change." });

export const questionTypes = ["nps", "rating", "multiple_choice", "text", "email"] as const;

const questionType = z
  .enum(questionTypes)
  .meta({
    id: "QuestionType",
    description:
      "nps: 0 to 10. rating: 1 to `scale`. multiple_choice: of `options`. text: up to 5000 characters. email: an address.",
  });

export const audience = z
  .enum(["everyone", "voters", "followers"])
  .meta({
    id: "SurveyAudience",
    description: "The audience of a survey: everyone, or the voters or followers of one submission.",
  });

export const maxQuestions = 200;
export const maxOptions = 100;

const title = text({ min: 1, max: 200 }).describe("1 to 200 characters (code points), trimmed.");
export const surveyDescription = text({ min: 0, max: 5000 }).describe("Up to 5000 characters (code points), trimmed.");
export const closesAt = moment.refine(
  (value) => Date.parse(value) >= Date.UTC(2000) && Date.parse(value) < Date.UTC(9999, 11, 31),
  "must be between 2000-01-01 and 9999-12-30 (UTC)",
);
const questionText = text({ min: 1, max: 1000 }).describe("Question text, 1 to 1000 characters.");

// In ------------------------------------------------------------------------------------------------------------

export const questionCreate = z
  .object({
    type: questionType,
    text: questionText,
    required: z.boolean().default(false).describe("Whether an answer is required."),
    options: shortArrayOf(text({ min: 1, max: 200 }), maxOptions)
      .nullish()
      .describe("Required for multiple_choice: 1 to 100 distinct texts of 1 to 200 characters."),
    multiple: z.boolean().nullish().describe("For multiple_choice: whether several options may be chosen."),
    scale: wholeNumber(2, 10).nullish().describe("For rating: the highest one, 2 to 10; 5 by default."),
  })
  .check(({ value, issues }) => {
    const complain = (path: PropertyKey[], message: string) =>
      issues.push({ code: "custom", path, message, input: value });
    const { type, options, multiple, scale } = value;
    if (type === "multiple_choice") {
      if (!options?.length) complain(["options"], "must have at least one option");
      options?.forEach((option, i) => {
        if (options.indexOf(option) < i) complain(["options", i], "must not be repeated");
      });
    } else {
      if (options?.length) complain(["options"], "can be used only with multiple_choice");
      if (multiple) complain(["multiple"], "can be used only with multiple_choice");
    }
    if (type !== "rating" && typeof scale === "number") complain(["scale"], "can be used only with rating");
  })
  .meta({ id: "QuestionCreate", description: "A question; its position in the array is its order." });

const settings = z
  .object({
    allow_multiple_responses: z.boolean().optional().describe("Whether a person may respond repeatedly."),
    show_branding: z.boolean().optional(),
    redirect_url: webAddress.nullish().describe("Where to redirect respondents; null for nowhere."),
  })
  .meta({ id: "SurveySettingsUpdate", description: "Omitted settings do not change." });

const targeting = z
  .object({
    audience: audience.default("everyone"),
    submission_id: uuid
      .nullish()
      .describe("The submission whose voters or followers may answer; of the same organization."),
    locales: shortArrayOf(locale, locale.options.length)
      .refine((list) => list.length > 0, "must have at least one language; send null for all")
      .meta({ minItems: 1 })
      .nullish()
      .describe("Languages in which it may be answered; null for all."),
  })
  .check(({ value, issues }) => {
    const needsSubmission = value.audience !== "everyone";
    if (needsSubmission === (typeof value.submission_id === "string")) return;
    const message = needsSubmission
      ? "is required with the audiences voters and followers"
      : "can be used only with the audiences voters and followers";
    issues.push({ code: "custom", path: ["submission_id"], message, input: value });
  })
  .meta({ id: "SurveyTargetingUpdate", description: "The audience of a survey; replaced as a whole." });

const surveyFields = {
  title,
  description: surveyDescription.nullish(),
  questions: shortArrayOf(questionCreate, maxQuestions).optional().describe("At most 200, in order."),
  settings: settings.optional(),
  targeting: targeting.nullish(),
  closes_at: closesAt.nullish().describe("When it closes; null for never."),
};

export const surveyCreate = z
  .object(surveyFields)
  .meta({ id: "SurveyCreate", description: "A draft; missing fields can be added until it is published." });

export type SurveyCreate = z.infer<typeof surveyCreate>;

export const surveyPatch = patchOf({ ...surveyFields, title: title.optional() }).meta({
  id: "SurveyPatch",
  description: "Changes to a draft; questions are replaced as a whole.",
  minProperties: 1,
});

export type SurveyPatch = z.infer<typeof surveyPatch>;

export const surveyListQuery = z
  .object({ ...pageFields, cursor: cursor.optional(), status: surveyStatus.optional() })
  .meta({ id: "SurveyListQuery", description: "Filter and page of surveys, newest first." });

export type SurveyListQuery = z.infer<typeof surveyListQuery>;

export const surveyDetailQuery = z
  .object({ expand: expandOf("questions", "targeting", "analytics") })
  .meta({ id: "SurveyDetailQuery", description: "Related resources of the survey to include." });

export type SurveyExpansions = z.infer<typeof surveyDetailQuery>["expand"];

export const surveyDeleteQuery = z
  .object({ force: queryBoolean.default(false).describe("Whether to delete its responses as well.") })
  .meta({ id: "SurveyDeleteQuery", description: "Options of the deletion of a survey." });

export const surveyAnalyticsQuery = z
  .object({
    metrics: expandOf(
      "response_count",
      "completion_rate",
      "avg_completion_time",
      "nps_score",
      "sentiment",
      "breakdown_by_question",
    ).describe(
      "Metrics, comma-separated: response_count, completion_rate, avg_completion_time, nps_score, sentiment, breakdown_by_question; each with its count. All by default.",
    ),
  })
  .meta({ id: "SurveyAnalyticsQuery", description: "Metrics to return." });

// Out -----------------------------------------------------------------------------------------------------------

const figures = {
  response_count: count,
  start_count: count.describe("People who started, with a response or without; each response counts as started."),
  completion_rate: z.number().min(0).max(1).describe("Share of starts with a response, 0 to 1; 0 if start_count is 0."),
};

const closesAtOfSurvey = timestamp.optional().describe("When it closes; omitted if it does not.");

export const survey = z
  .object({
    id: uuid,
    title: z.string(),
    status: surveyStatus,
    ...figures,
    created_at: timestamp,
    closes_at: closesAtOfSurvey,
  })
  .meta({ id: "Survey", description: "A survey in a list." });

const option = z
  .object({ id: uuid, text: z.string(), order: z.int().min(1) })
  .meta({ id: "SurveyOption", description: "An option of a multiple_choice question." });

const question = z
  .object({
    id: uuid,
    type: questionType,
    text: z.string(),
    required: z.boolean(),
    order: z.int().min(1).describe("From 1."),
    options: z.array(option).optional().describe("Of multiple_choice only."),
    multiple: z.boolean().optional().describe("Of multiple_choice: whether several options may be chosen."),
    scale: z.int().min(2).max(10).optional().describe("Of rating: the highest one."),
  })
  .meta({ id: "SurveyQuestion", description: "A question of a survey." });

export type Question = z.infer<typeof question>;

const surveyTargeting = z
  .object({
    audience,
    submission_id: uuid
      .nullable()
      .describe("The submission of the audience; null with that audience if it was deleted: then nobody may answer."),
    locales: z.array(locale).nullable().describe("Null for all."),
  })
  .meta({ id: "SurveyTargeting", description: "The audience of a survey." });

const analyticsFields = {
  ...figures,
  timed_count: count.describe("Responses with a start, whose time is known."),
  avg_completion_time: z.number().min(0).describe("Mean seconds from start to submission; 0 if timed_count is 0."),
  nps_count: count.describe("Answers to nps questions."),
  nps_score: z
    .number()
    .min(-100)
    .max(100)
    .describe("Share of 9 and 10 minus share of 0 to 6 of nps answers, times 100; 0 if nps_count is 0."),
  sentiment: z
    .object({
      overall: z.number().min(-1).max(1).describe("Mean of the responses' scores; 0 if scored_count is 0."),
      scored_count: count.describe("Responses with a score: the sum of the following counts."),
      positive_count: count,
      neutral_count: count,
      negative_count: count,
    })
    .describe("Sentiment of responses, from numbers and texts."),
  breakdown_by_question: z.array(
    z.object({
      question_id: uuid,
      question_text: z.string(),
      type: questionType,
      answer_count: count.describe("Responses that answer it."),
      responses: z
        .record(z.string(), count)
        .describe("Answers by option or number, including zero; empty for text and email."),
      counts: z
        .array(z.object({ value: z.string(), count }))
        .describe("`responses` in order: parsers may move keys that look like numbers."),
    }),
  ),
};

export const surveyAnalytics = z
  .object(analyticsFields)
  .partial()
  .meta({ id: "SurveyAnalytics", description: "Metrics of a survey; with `metrics` only those." });

export const surveyDetail = z
  .object({
    id: uuid,
    title: z.string(),
    description: z.string(),
    status: surveyStatus,
    settings: z.object({
      allow_multiple_responses: z.boolean(),
      show_branding: z.boolean(),
      redirect_url: z.string().optional().describe("Where to redirect respondents; omitted for nowhere."),
    }),
    ...figures,
    timed_count: analyticsFields.timed_count,
    avg_completion_time: analyticsFields.avg_completion_time,
    questions: z.array(question).optional().describe("With `expand=questions`."),
    targeting: surveyTargeting.optional().describe("With `expand=targeting`; Admin only."),
    analytics: surveyAnalytics.optional().describe("With `expand=analytics`; Admin only."),
    version_of: uuid.nullable().describe("The survey it is a version of."),
    url: z.string().describe("URL of the survey's page."),
    closes_at: closesAtOfSurvey,
    published_at: timestamp.nullable(),
    closed_at: timestamp.nullable().describe("When it closed permanently."),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: "SurveyDetail", description: "A survey." });

const surveyCreated = z
  .object({ id: uuid, status: z.literal("draft"), url: z.string().describe("URL of the survey's page.") })
  .meta({ id: "SurveyCreated", description: "A created survey." });

export const surveyListAnswer = listOf(survey, fullMeta);
export const surveyDetailAnswer = dataOf(surveyDetail);
export const surveyCreatedAnswer = dataOf(surveyCreated);
export const surveyAnalyticsAnswer = dataOf(surveyAnalytics);

export const surveyMailBody = z
  .object({
    reminder: z
      .boolean()
      .default(false)
      .describe("Remind people who were invited at least a day ago and did not answer."),
  })
  .meta({ id: "SurveyMailRequest", description: "Options of a survey mail." });

export const surveyMailAnswer = dataOf(
  z
    .object({
      survey_id: uuid,
      queued: count.describe("Mails that this call queued."),
      asked: count.describe("People invited by mail so far."),
      reminded: count.describe("Of these, people reminded."),
    })
    .meta({ id: "SurveyMail", description: "Numbers of people invited to a survey by mail." }),
);
