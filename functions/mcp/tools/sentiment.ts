import { z } from "zod";
import { count, shortArrayOf, uuid } from "../../../shared/fields.ts";
import { locale } from "../../../shared/locales.ts";
import { sentiment, sentimentScore } from "../../../shared/survey-responses.ts";
import { text } from "../../../shared/text.ts";
import type { Statement } from "../../_shared/database/run.ts";
import { ApiError, notFound } from "../../_shared/http/api-error.ts";
import { sentimentOf } from "../../_shared/sentiment/lexicon.ts";
import { scoreTexts } from "../../_shared/sentiment/score-texts.ts";
import { listComments } from "../../_shared/statements/comments.ts";
import { submissionDetail } from "../../_shared/statements/submissions.ts";
import { surveyAnalytics } from "../../_shared/statements/surveys.ts";
import { readOnly, tool } from "../tool.ts";

const newestComments = 100;

/** Aggregates, and a result for each sent text. */
const answer = z.object({
  engine: z.string().describe("Engine used. `stored`: the stored score of each response."),
  overall: z.number().min(-1).max(1).describe("Mean score, -1 to 1; 0 if scored_count is 0."),
  sentiment: sentiment.nullable().describe("Null if scored_count is 0."),
  scored_count: count.describe("The sum of the following counts."),
  positive_count: count,
  neutral_count: count,
  negative_count: count,
  items: z
    .array(z.object({ score: sentimentScore, sentiment, confidence: z.number() }))
    .optional()
    .describe("One result for each of `texts`, in order. Low confidence is neutral."),
});

export const sentimentTools = [
  tool({
    name: "analyze_sentiment",
    title: "Analyze sentiment",
    description:
      "Analyze sentiment: of texts you send, of the responses to a survey, or of a submission and its first 100 comments. Use it as a signal over many texts, not as a verdict on one.",
    input: z
      .object({
        texts: shortArrayOf(text({ min: 1, max: 5000 }), 100)
          .refine((texts) => texts.length > 0, "must have at least one text")
          .optional()
          .describe("1 to 100 texts of up to 5000 characters."),
        survey_id: uuid.optional().describe("A survey, including its NPS and rating answers."),
        submission_id: uuid.optional().describe("A submission with its comments."),
        locale: locale.optional().describe("Language of the texts; defaults to that of the request."),
      })
      .refine(
        ({ texts, survey_id, submission_id }) =>
          [texts, survey_id, submission_id].filter((one) => one !== undefined).length === 1,
        { error: "must include exactly one of texts, survey_id, and submission_id" },
      ),
    output: answer,
    scope: "analytics:read",
    annotations: readOnly,
    untrusted: [],
    call: ({ survey_id, submission_id }, { locale }): readonly Statement<{ data: string }>[] => {
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
      if (!submission_id) throw new ApiError("INTERNAL_ERROR", "There is no text to analyze.");
      const { title, description } = JSON.parse(first.data);
      const bodies = (JSON.parse(comments?.data ?? "[]") as { body: string }[]).map(({ body }) => body);
      return ofTexts([`${title}\n${description}`, ...bodies], locale).then(({ items: _, ...rest }) => rest);
    },
  }),
];

async function ofTexts(texts: string[], language: z.infer<typeof locale>) {
  const scored = await scoreTexts(texts, language);
  const items = scored.map(({ engine: _, ...item }) => item);
  const of = (value: string) => items.filter(({ sentiment }) => sentiment === value).length;
  const overall = Math.round((items.reduce((sum, { score }) => sum + score, 0) / items.length) * 1000) / 1000;
  return {
    engine: [...new Set(scored.map(({ engine }) => engine))].join(", "),
    overall,
    sentiment: sentimentOf(overall),
    scored_count: items.length,
    positive_count: of("positive"),
    neutral_count: of("neutral"),
    negative_count: of("negative"),
    items,
  };
}

function ofSurvey(row: { data: string } | undefined) {
  if (!row) throw notFound("survey");
  const { sentiment: numbers } = JSON.parse(row.data);
  return { engine: "stored", ...numbers, sentiment: numbers.scored_count === 0 ? null : sentimentOf(numbers.overall) };
}
