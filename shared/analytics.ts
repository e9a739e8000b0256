import { z } from "zod";
import { dataOf } from "./envelopes.ts";
import { count, dayOrMoment, slug, uuid } from "./fields.ts";
import { submissionStatus } from "./submissions.ts";

export const analyticsQuery = z
  .object({
    from: dayOrMoment
      .optional()
      .describe("First day, in the organization's time zone; 29 days before `to` by default."),
    to: dayOrMoment.optional().describe("Last day, inclusive; today by default."),
    interval: z
      .enum(["day", "week", "month"])
      .default("day")
      .describe("Interval of the series; weeks begin on Monday. At most 400 intervals."),
  })
  .meta({ id: "AnalyticsQuery", description: "Range and interval of analytics." });

export type AnalyticsQuery = z.infer<typeof analyticsQuery>;

const counts = {
  submissions: count,
  votes: count.describe("For submissions, includes votes of their authors."),
  comments: count,
  active_people: count.describe("Distinct people who submitted, voted or commented."),
};
const seconds = z.number().nullable().describe("Null without data.");

export const analyticsAnswer = dataOf(
  z
    .object({
      from: z.iso.date(),
      to: z.iso.date(),
      interval: z.enum(["day", "week", "month"]),
      time_zone: z.string(),
      totals: z.object(counts),
      series: z.array(z.object({ start: z.iso.date(), ...counts })).describe("Every interval, including empty ones."),
      by_status: z.array(z.object({ status: submissionStatus, submissions: count })),
      by_category: z.array(
        z.object({
          category_id: uuid.nullable(),
          name: z.string().nullable(),
          slug: slug.nullable(),
          submissions: count,
        }),
      ),
      by_source: z
        .array(z.object({ source: z.string().nullable(), submissions: count }))
        .describe("The 100 most frequent."),
      top_movers: z
        .array(
          z.object({
            submission_id: uuid,
            title: z.string(),
            status: submissionStatus,
            votes: count.describe("Within the range."),
            vote_count: count.describe("Over all intervals."),
          }),
        )
        .describe("The 10 submissions with the most votes gained in the range, of those the caller may read."),
      first_official_reply: z
        .object({ submissions: count, median_seconds: seconds, average_seconds: seconds })
        .describe("Time from submission to the team's first comment, for submissions of the range that have one."),
    })
    .meta({ id: "Analytics", description: "Analytics of a range; submissions by their current state." }),
);
