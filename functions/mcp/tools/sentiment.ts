import { z } from "zod";
import { count, shortArrayOf, uuid } from "../../../shared/fields.ts";
import { locale } from "../../../shared/locales.ts";
import { sentiment, sentimentScore } from "../../../shared/survey-responses.ts";
import { text } from "../../../shared/text.ts";
import { ApiError, notFound } from "../../_shared/api-error.ts";
import type { Statement } from "../../_shared/database.ts";
import { judgeTexts } from "../../_shared/sentiment/judge.ts";
import { sentimentOf } from "../../_shared/sentiment/lexicon.ts";
import { listComments } from "../../_shared/statements/comments.ts";
import type { Data } from "../../_shared/statements/shapes.ts";
import { submissionDetail } from "../../_shared/statements/submissions.ts";
import { surveyAnalytics } from "../../_shared/statements/surveys.ts";
import { reads, tool } from "../tool.ts";

const newestComments = 100;

/** Numbers of the whole, and of each text where texts were sent. */
const answer = z.object({
  engine: z
    .string()
    .describe("What judged. `stored`: each response when it came, by its numbers before its texts."),
  overall: z
    .number()
    .min(-1)
    .max(1)
    .nullable()
    .describe("Mean score, -1 to 1; null where nothing was judged."),
  sentiment: sentiment.nullable(),
  positive_count: count,
  neutral_count: count,
  negative_count: count,
  items: z
    .array(z.object({ score: sentimentScore, sentiment, confidence: z.number() }))
    .optional()
    .describe("One for each of `texts`, in their order. Low confidence is neutral."),
});

export const sentimentTools = [
  tool({
    name: "analyze_sentiment",
    title: "Tell how people feel",
    description:
      "Tell how people feel: in texts you send, in the answers to a survey, or in a submission and its first 100 comments. A signal for many texts, not a verdict on one.",
    input: z
      .object({
        texts: shortArrayOf(text({ min: 1, max: 5000 }), 100)
          .refine((texts) => texts.length > 0, "must have at least 1 text")
          .optional()
          .describe("1 to 100 texts of up to 5000 characters."),
        survey_id: uuid.optional().describe("A survey, whose NPS and rating answers count first."),
        submission_id: uuid.optional().describe("A submission with its comments."),
        locale: locale.optional().describe("Language of the texts; by default that of the request."),
      })
      .refine(
        ({ texts, survey_id, submission_id }) =>
          [texts, survey_id, submission_id].filter((one) => one !== undefined).length === 1,
        { error: "must name one of texts, survey_id, submission_id, and one only" },
      ),
    output: answer,
    scope: "analytics:read",
    annotations: reads,
    untrusted: [],
    call: ({ survey_id, submission_id }, { locale }): readonly Statement<Data>[] => {
      if (survey_id) return [surveyAnalytics(survey_id, ["sentiment"])];
      if (!submission_id) return [];
      const query = { page: 1, limit: newestComments, sort: "created_at", order: "desc" } as const;
      return [submissionDetail(submission_id, [], locale), listComments(submission_id, query)];
    },
    respond: (results, args, context) => {
      const [first, comments] = results.map(([row]) => row);
      const { texts, survey_id, submission_id, locale = context.locale } = args;
      if (survey_id) return ofSurvey(first);
      if (texts) return ofTexts(texts, locale);
      if (!first) throw notFound("submission");
      if (!submission_id) throw new ApiError("INTERNAL_ERROR", "Nothing to judge.");
      const { title, description } = JSON.parse(first.data);
      const bodies = (JSON.parse(comments?.data ?? "[]") as { body: string }[]).map(({ body }) => body);
      return ofTexts([`${title}\n${description}`, ...bodies], locale).then(({ items: _, ...whole }) => whole);
    },
  }),
];

async function ofTexts(texts: string[], language: z.infer<typeof locale>) {
  const judged = await judgeTexts(texts, language);
  const items = judged.map(({ engine: _, ...item }) => item);
  const of = (wanted: string) => items.filter(({ sentiment }) => sentiment === wanted).length;
  const overall = Math.round((items.reduce((sum, { score }) => sum + score, 0) / items.length) * 1000) / 1000;
  return {
    engine: [...new Set(judged.map(({ engine }) => engine))].join(", "),
    overall,
    sentiment: sentimentOf(overall),
    positive_count: of("positive"),
    neutral_count: of("neutral"),
    negative_count: of("negative"),
    items,
  };
}

function ofSurvey(row: Data | undefined) {
  if (!row) throw notFound("survey");
  const { sentiment: numbers } = JSON.parse(row.data);
  return {
    engine: "stored",
    ...numbers,
    sentiment: numbers.overall === null ? null : sentimentOf(numbers.overall),
  };
}
