import { z } from "zod";
import { dataOf, listOf } from "./envelopes.ts";
import { count, expandOf, moment, shortArrayOf, timestamp, uuid, webAddress, wholeNumber } from "./fields.ts";
import { locale } from "./locales.ts";
import { cursor, fullMeta, pageFields, queryBoolean } from "./pagination.ts";
import { text } from "./text.ts";

export const surveyStatus = z.enum(["draft", "published", "paused", "archived"]).meta({
  id: "SurveyStatus",
  description: "Only a published survey takes responses, only a draft changes.",
});

const questionType = z.enum(["nps", "rating", "multiple_choice", "text", "email"]).meta({
  id: "QuestionType",
  description:
    "nps: 0 to 10. rating: 1 to `scale`. multiple_choice: of `options`. text: up to 5000 characters. email: an address.",
});

export const audience = z
  .enum(["everyone", "voters", "followers"])
  .meta({ id: "SurveyAudience", description: "Who may answer: everyone, or those of one submission." });

export const mostQuestions = 200;
const mostOptions = 100;

const title = text({ min: 1, max: 200 }).describe("1 to 200 characters (code points), trimmed.");
const description = text({ min: 0, max: 5000 }).describe("Up to 5000 characters (code points), trimmed.");
export const closesAt = moment.refine(
  (value) => Date.parse(value) >= Date.UTC(2000) && Date.parse(value) < Date.UTC(9999, 11, 31),
  "must be from 2000-01-01 to 9999-12-30, in UTC",
);
const questionText = text({ min: 1, max: 1000 }).describe("What is asked, 1 to 1000 characters.");

// In ------------------------------------------------------------------------------------------------------------

export const questionCreate = z
  .object({
    type: questionType,
    text: questionText,
    required: z.boolean().default(false).describe("Whether a response has to answer it."),
    options: shortArrayOf(text({ min: 1, max: 200 }), mostOptions)
      .nullish()
      .describe("For multiple_choice, which needs them: 1 to 100 texts of 1 to 200 characters, each once."),
    multiple: z.boolean().nullish().describe("For multiple_choice: whether several options may be chosen."),
    scale: wholeNumber(2, 10).nullish().describe("For rating: the highest one, 2 to 10; 5 without."),
  })
  .check(({ value, issues }) => {
    const complain = (path: PropertyKey[], message: string) =>
      issues.push({ code: "custom", path, message, input: value });
    const { type, options, multiple, scale } = value;
    if (type === "multiple_choice") {
      if (!options?.length) complain(["options"], "needs at least 1 option");
      options?.forEach((option, i) => {
        if (options.indexOf(option) < i) complain(["options", i], "is there twice");
      });
    } else {
      if (options?.length) complain(["options"], "is for multiple_choice only");
      if (multiple) complain(["multiple"], "is for multiple_choice only");
    }
    if (type !== "rating" && typeof scale === "number") complain(["scale"], "is for rating only");
  })
  .meta({ id: "QuestionCreate", description: "A question; its place in the array is its order." });

const settings = z
  .object({
    allow_multiple_responses: z.boolean().optional().describe("Whether one person may answer again."),
    show_branding: z.boolean().optional(),
    redirect_url: webAddress.nullish().describe("Where to send people who answered; null for nowhere."),
  })
  .meta({ id: "SurveySettingsUpdate", description: "What is not named stays as it is." });

const targeting = z
  .object({
    audience: audience.default("everyone"),
    submission_id: uuid
      .nullish()
      .describe("Whose voters or followers; a submission of the same organization."),
    locales: shortArrayOf(locale, locale.options.length)
      .refine((list) => list.length > 0, "must name at least 1 language, or be null for all")
      .nullish()
      .describe("Who answers in another language is refused; null for all."),
  })
  .check(({ value, issues }) => {
    const needsSubmission = value.audience !== "everyone";
    if (needsSubmission === (typeof value.submission_id === "string")) return;
    const message = needsSubmission
      ? "is required for voters and followers"
      : "is for voters and followers only";
    issues.push({ code: "custom", path: ["submission_id"], message, input: value });
  })
  .meta({ id: "SurveyTargetingUpdate", description: "Who may answer; replaced as a whole." });

const surveyFields = {
  title,
  description: description.nullish(),
  questions: shortArrayOf(questionCreate, mostQuestions).optional().describe("At most 200, in their order."),
  settings: settings.optional(),
  targeting: targeting.nullish(),
  closes_at: closesAt.nullish().describe("When it stops to take responses; null for never."),
};

export const surveyCreate = z
  .object(surveyFields)
  .meta({ id: "SurveyCreate", description: "A draft; what it lacks can be added until it is published." });

export type SurveyCreate = z.infer<typeof surveyCreate>;

export const surveyPatch = z
  .object({ ...surveyFields, title: title.optional() })
  .refine((patch) => Object.keys(patch).length > 0, {
    error: `must name at least one of ${Object.keys(surveyFields).join(", ")}`,
  })
  .meta({
    id: "SurveyPatch",
    description: "What to change of a draft; questions are replaced as a whole.",
    minProperties: 1,
  });

export type SurveyPatch = z.infer<typeof surveyPatch>;

export const surveyListQuery = z
  .object({ ...pageFields, cursor: cursor.optional(), status: surveyStatus.optional() })
  .meta({ id: "SurveyListQuery", description: "Which surveys to list, newest first." });

export type SurveyListQuery = z.infer<typeof surveyListQuery>;

export const surveyDetailQuery = z
  .object({ expand: expandOf("questions", "targeting", "analytics") })
  .meta({ id: "SurveyDetailQuery", description: "What to show beside the survey." });

export type SurveyExpansions = z.infer<typeof surveyDetailQuery>["expand"];

export const surveyDeleteQuery = z
  .object({ force: queryBoolean.default(false).describe("Whether responses go too, where there are any.") })
  .meta({ id: "SurveyDeleteQuery", description: "Whether to delete what has responses." });

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
      "Which to tell, comma-separated: response_count, completion_rate, avg_completion_time, nps_score, sentiment, breakdown_by_question. All without.",
    ),
  })
  .meta({ id: "SurveyAnalyticsQuery", description: "Which numbers to tell." });

// Out -----------------------------------------------------------------------------------------------------------

const completionRate = z
  .number()
  .min(0)
  .max(1)
  .nullable()
  .describe("Responses of those who started, 0 to 1; null where nobody did.");

const figures = {
  response_count: count,
  completion_rate: completionRate,
};

export const survey = z
  .object({
    id: uuid,
    title: z.string(),
    status: surveyStatus,
    ...figures,
    created_at: timestamp,
    closes_at: timestamp.nullable(),
  })
  .meta({ id: "Survey", description: "A survey as the list shows it." });

const option = z
  .object({ id: uuid, text: z.string(), order: z.int().min(1) })
  .meta({ id: "SurveyOption", description: "What a multiple_choice question offers." });

const question = z
  .object({
    id: uuid,
    type: questionType,
    text: z.string(),
    required: z.boolean(),
    order: z.int().min(1).describe("From 1."),
    options: z.array(option).optional().describe("Of multiple_choice."),
    multiple: z.boolean().optional().describe("Of multiple_choice: whether several may be chosen."),
    scale: z.int().min(2).max(10).optional().describe("Of rating: the highest one."),
  })
  .meta({ id: "SurveyQuestion", description: "What a survey asks." });

export type Question = z.infer<typeof question>;

const surveyTargeting = z
  .object({
    audience,
    submission_id: uuid
      .nullable()
      .describe("Whose voters or followers; null with those where it was deleted: then nobody is asked."),
    locales: z.array(locale).nullable().describe("Null for all."),
  })
  .meta({ id: "SurveyTargeting", description: "Who may answer." });

const analyticsFields = {
  ...figures,
  avg_completion_time: z
    .number()
    .min(0)
    .nullable()
    .describe("Seconds from start to submission, mean of the responses that were started; null at none."),
  nps_score: z
    .number()
    .min(-100)
    .max(100)
    .nullable()
    .describe("Share of 9 and 10 minus share of 0 to 6 of nps answers, times 100; null at none."),
  sentiment: z
    .object({
      overall: z.number().min(-1).max(1).nullable().describe("Mean of the responses' scores; null at none."),
      positive_count: count,
      neutral_count: count,
      negative_count: count,
    })
    .describe("How people feel, by their numbers and texts."),
  breakdown_by_question: z.array(
    z.object({
      question_id: uuid,
      question_text: z.string(),
      type: questionType,
      answer_count: count.describe("Responses that answer it."),
      responses: z
        .record(z.string(), count)
        .describe("Answers by option or number, those nobody gave too; empty for text and email."),
    }),
  ),
};

export const surveyAnalytics = z
  .object(analyticsFields)
  .partial()
  .meta({ id: "SurveyAnalytics", description: "Numbers of a survey; with `metrics` those alone." });

export const surveyDetail = z
  .object({
    id: uuid,
    title: z.string(),
    description: z.string(),
    status: surveyStatus,
    settings: z.object({
      allow_multiple_responses: z.boolean(),
      show_branding: z.boolean(),
      redirect_url: z.string().nullable(),
    }),
    ...figures,
    avg_completion_time: analyticsFields.avg_completion_time,
    questions: z.array(question).optional().describe("With `expand=questions`."),
    targeting: surveyTargeting.optional().describe("With `expand=targeting`; Admin only."),
    analytics: surveyAnalytics.optional().describe("With `expand=analytics`; Admin only."),
    version_of: uuid.nullable().describe("The survey it is a new version of."),
    url: z.string().describe("Page of the survey."),
    closes_at: timestamp.nullable(),
    published_at: timestamp.nullable(),
    closed_at: timestamp.nullable().describe("When it stopped to take responses for good."),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: "SurveyDetail", description: "A survey by itself." });

const surveyCreated = z
  .object({ id: uuid, status: z.literal("draft"), url: z.string().describe("Page of the survey.") })
  .meta({ id: "SurveyCreated", description: "A survey just made." });

export const surveyListAnswer = listOf(survey, fullMeta);
export const surveyDetailAnswer = dataOf(surveyDetail);
export const surveyCreatedAnswer = dataOf(surveyCreated);
export const surveyAnalyticsAnswer = dataOf(surveyAnalytics);
