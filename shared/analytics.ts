import { z } from "zod";
import { dataOf } from "./envelopes.ts";
import { count, slug, uuid } from "./fields.ts";
import { submissionStatus } from "./submissions.ts";

const day = z
  .union(
    [z.iso.date(), z.iso.datetime({ offset: true })],
    "must be a date such as 2027-01-31, or a time with an offset",
  )
  .optional();

export const analyticsQuery = z
  .object({
    from: day.describe("First day, in the organization's time zone; 29 days before `to` by default."),
    to: day.describe("Last day, included; today by default."),
    interval: z
      .enum(["day", "week", "month"])
      .default("day")
      .describe("What the series is by; weeks begin on Monday. At most 400 of them."),
  })
  .meta({ id: "AnalyticsQuery", description: "Which time to look at." });

export type AnalyticsQuery = z.infer<typeof analyticsQuery>;

const counts = {
  submissions: count,
  votes: count.describe("For submissions, those of their authors too."),
  comments: count,
  active_people: count.describe("Who submitted, voted or commented."),
};
const seconds = z.number().nullable().describe("Null where there is none.");

export const analyticsAnswer = dataOf(
  z
    .object({
      from: z.iso.date(),
      to: z.iso.date(),
      interval: z.enum(["day", "week", "month"]),
      time_zone: z.string(),
      totals: z.object(counts),
      series: z
        .array(z.object({ start: z.iso.date(), ...counts }))
        .describe("Every interval, empty ones too."),
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
            votes: count.describe("Within the time."),
            vote_count: count.describe("In all."),
          }),
        )
        .describe("The 10 submissions that got most votes within the time, of those the caller may read."),
      first_official_reply: z
        .object({ submissions: count, median_seconds: seconds, average_seconds: seconds })
        .describe(
          "From submission to the team's first comment, of submissions made within the time and answered by now.",
        ),
    })
    .meta({
      id: "Analytics",
      description: "What happened within a time; submissions by what they are now.",
    }),
);
