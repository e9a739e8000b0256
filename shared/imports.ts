import { z } from "zod";
import { dataOf } from "./envelopes.ts";
import {
  count,
  emailAddress,
  moderationState,
  personName,
  slug,
  timestamp,
  uuid,
  webAddress,
  wholeNumber,
} from "./fields.ts";
import { locale, locales } from "./locales.ts";
import { submissionStatus, submissionType } from "./submissions.ts";
import { audience, closesAt, mostQuestions, questionCreate, surveyStatus } from "./surveys.ts";
import { text, trimText } from "./text.ts";

// Records: what an import reads and an export writes --------------------------------------------------------------

/** CSV has only text: an empty cell is no value, true and false are words. */
const flag = z.preprocess(
  (value) => ({ true: true, false: false })[String(value).toLowerCase()] ?? value,
  z.boolean(),
);
const number = z.preprocess(
  (value) => (typeof value === "string" && /^-?\d{1,9}$/.test(value) ? Number(value) : value),
  wholeNumber(-1_000_000, 1_000_000),
);
const externalId = z
  .preprocess((value) => (typeof value === "number" ? String(value) : value), text({ min: 1, max: 200 }))
  .describe("What it is known by where it comes from, 1 to 200 characters.");

const earliest = Date.parse("1970-01-01T00:00:00Z");

/** As Postgres takes it; to the microsecond where it was written so. */
export const moment = z.string().transform((value, ctx) => {
  const written = trimText(value);
  const iso = /^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?)?( ?(Z|UTC|[+-]\d\d(:?\d\d)?))?$/.exec(
    written,
  );
  const at = Date.parse(iso && !iso[4] ? `${written.replace(" ", "T")}${iso[1] ? "Z" : ""}` : written);
  if (at >= earliest && at <= Date.now() + 60_000) return iso?.[4] ? written : new Date(at).toISOString();
  ctx.issues.push({
    code: "custom",
    input: value,
    message: Number.isNaN(at)
      ? "must be a time such as 2026-01-31T09:30:00Z"
      : "must be a time since 1970 that has passed",
  });
  return z.NEVER;
});

const person = {
  author_email: emailAddress.transform((value) => value.toLowerCase()).optional(),
  author_name: personName.optional(),
  author_id: externalId.optional(),
};
const taxonomyFields = {
  slug: slug.refine((value) => /^[a-z0-9]+(-[a-z0-9]+)*$/.test(value), "must be a slug, such as mobile-app"),
  name: text({ min: 1, max: 100 }),
  color: z
    .string()
    .regex(/^#[0-9a-f]{6}$/, "must be a hex triplet, such as #6b7280")
    .optional(),
  translations: json(z.partialRecord(z.enum(locales), text({ min: 0, max: 400 }))).optional(),
};

/** In CSV, as the text of a cell. */
function json<Schema extends z.ZodType>(schema: Schema) {
  return z.preprocess((value) => (typeof value === "string" ? parsed(value) : value), schema);
}

function parsed(value: string): unknown {
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

/** In CSV one text, with commas between. */
function list<Schema extends z.ZodType>(schema: Schema) {
  return z.preprocess(
    (value) => (typeof value === "string" ? value.split(",").map(trimText).filter(Boolean) : value),
    schema,
  );
}

const labels = list(z.array(text({ min: 1, max: 100 })).max(50))
  .default([])
  .describe("Names or slugs.");

const answerText = text({ min: 1, max: 5000 });
const answers = json(
  z
    .array(
      z.object({
        question_id: externalId,
        value: z.union([z.number(), answerText, z.array(answerText).max(100)]),
      }),
    )
    .max(mostQuestions),
);
const score = z.preprocess(
  (value) => (typeof value === "string" && value.length < 20 ? Number(value) : value),
  z.number().min(-1).max(1),
);

export const recordSchemas = {
  category: z.object({ ...taxonomyFields, position: number.optional() }),
  tag: z.object(taxonomyFields),
  submission: z.object({
    id: externalId.optional(),
    title: text({ min: 5, max: 200 }),
    description: text({ min: 20, max: 5000 }),
    type: submissionType.optional(),
    status: submissionStatus.default("open"),
    category: text({ min: 1, max: 100 }).optional(),
    tags: labels,
    source: text({ min: 1, max: 64 }).optional(),
    tracker_issue_url: webAddress.optional(),
    moderation_state: moderationState.default("approved"),
    merged_into_id: externalId.optional(),
    created_at: moment.optional(),
    updated_at: moment.optional(),
    author_votes: flag.optional(),
    follow: flag.optional(),
    ...person,
  }),
  comment: z.object({
    id: externalId.optional(),
    submission_id: externalId,
    parent_id: externalId.optional(),
    body: text({ min: 1, max: 2000 }),
    is_official: flag.default(false),
    moderation_state: moderationState.default("approved"),
    created_at: moment.optional(),
    updated_at: moment.optional(),
    follow: flag.default(true),
    ...person,
  }),
  vote: z.object({
    submission_id: externalId,
    created_at: moment.optional(),
    follow: flag.default(true),
    ...person,
  }),
  comment_vote: z.object({ comment_id: externalId, created_at: moment.optional(), ...person }),
  follow: z.object({
    submission_id: externalId,
    reason: z.enum(["author", "vote", "comment", "manual"]).default("manual"),
    created_at: moment.optional(),
    ...person,
  }),
  status_change: z.object({
    submission_id: externalId,
    previous_status: submissionStatus.default("open"),
    new_status: submissionStatus,
    note: text({ min: 1, max: 2000 }).optional(),
    created_at: moment,
    ...person,
  }),
  survey: z.object({
    id: externalId.optional(),
    title: text({ min: 1, max: 200 }),
    description: text({ min: 0, max: 5000 }).default(""),
    status: surveyStatus.default("draft"),
    questions: json(
      z.array(questionCreate.safeExtend({ id: externalId.optional() })).max(mostQuestions),
    ).default([]),
    allow_multiple_responses: flag.default(false),
    show_branding: flag.default(true),
    redirect_url: webAddress.optional(),
    audience: audience.default("everyone"),
    audience_submission_id: externalId.optional(),
    locales: list(z.array(locale).min(1).max(locales.length)).optional(),
    closes_at: closesAt.optional(),
    version_of: externalId.optional(),
    published_at: moment.optional(),
    closed_at: moment.optional(),
    created_at: moment.optional(),
    updated_at: moment.optional(),
  }),
  survey_response: z.object({
    id: externalId.optional(),
    survey_id: externalId,
    answers,
    locale: locale.optional(),
    sentiment_score: score.optional(),
    sentiment_engine: text({ min: 1, max: 100 }).optional(),
    started_at: moment.optional(),
    submitted_at: moment.optional(),
    ...person,
  }),
};

export type RecordKind = keyof typeof recordSchemas;

/** What a file holds, and the kind of record each line of it is. */
export const kindOf = {
  submissions: "submission",
  comments: "comment",
  votes: "vote",
  comment_votes: "comment_vote",
  follows: "follow",
  status_changes: "status_change",
  categories: "category",
  tags: "tag",
  surveys: "survey",
  survey_responses: "survey_response",
} as const satisfies Record<string, RecordKind>;

const recordFiles = Object.keys(kindOf) as [keyof typeof kindOf, ...(keyof typeof kindOf)[]];

// In ------------------------------------------------------------------------------------------------------------

const importFormats = ["feedback", "canny", "fider"] as const;
const choice = z.enum(["true", "false"]).transform((value) => value === "true");

export const importQuery = z
  .object({
    format: z.enum(importFormats).default("feedback").describe("Whose export the file is."),
    what: z
      .enum(recordFiles)
      .default("submissions")
      .describe("What a line is that does not say so itself in `kind`."),
    source: slug
      .refine((value) => /^[a-z0-9]+(-[a-z0-9]+)*$/.test(value), "must be a slug, such as old-board")
      .optional()
      .describe("Keeps the ids of several services apart; the format, if nothing is said."),
    dry_run: choice.default(false).describe("Tells what would happen, and changes nothing."),
    create_missing: choice
      .default(true)
      .describe("Whether categories and tags that are not there are made; else such a line fails."),
    type: submissionType.default("idea").describe("Of submissions that do not say it."),
    anonymous_votes: choice
      .default(false)
      .describe(
        "Where a file only counts votes: whether that many nameless people vote, at most 10,000 a row and 1,000,000 a file.",
      ),
  })
  .meta({ id: "ImportQuery", description: "How to read a file of feedback." });

export type ImportQuery = z.output<typeof importQuery>;

const exportFiles = ["all", ...recordFiles, "members"] as const;

export const exportQuery = z
  .object({
    format: z.enum(["json", "jsonl", "csv"]).default("json").describe("CSV has one kind of record a file."),
    what: z.enum(exportFiles).optional().describe("`all` by default; for CSV `submissions`."),
  })
  .refine(({ format, what }) => format !== "csv" || what !== "all", {
    path: ["what"],
    error: `must be one of ${exportFiles.slice(1).join(", ")}, since a CSV file holds one kind of record`,
  })
  .meta({ id: "ExportQuery", description: "What to take a copy of." });

export type ExportQuery = z.output<typeof exportQuery>;

// Out -----------------------------------------------------------------------------------------------------------

const importShown = z
  .object({
    id: uuid,
    format: z.enum(importFormats),
    source: z.string(),
    dry_run: z.boolean(),
    state: z
      .enum(["receiving", "running", "completed", "failed", "canceled"])
      .describe("`receiving`: the file is still being sent. `running`: it is written."),
    bytes: count.describe("Of the file, as far as it was received; of a zip, of its rows."),
    bytes_read: count.describe("So much of it is written."),
    processed: count.describe("Records read: created, skipped and failed together."),
    created: count,
    skipped: count.describe("They were there already."),
    failed: count,
    problem: z.string().nullable().describe("Why it could not go on."),
    errors: z
      .array(
        z.object({
          file: z.string().optional().describe("Of a zip: which of its files."),
          line: z.int().describe("From 1, as an editor counts; of a zip, which object of the file."),
          field: z.string().nullable(),
          message: z.string(),
        }),
      )
      .describe("The first 100."),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: "Import", description: "An import and how far it came." });

export const importAnswer = dataOf(importShown);
export const importListAnswer = dataOf(z.array(importShown));

export const exportAnswer = z
  .array(z.object({ kind: z.string() }).loose())
  .describe(
    "Records of all kinds, in the order an import wants them. It leaves out the organization and members.",
  );
