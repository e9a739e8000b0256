import { z } from "zod";
import { commentPatch } from "./comments.ts";
import { dataOf } from "./envelopes.ts";
import {
  count,
  emailAddress,
  moment as isoMoment,
  moderationState,
  newSlug,
  personName,
  timestamp,
  uuid,
  webAddress,
  wholeNumber,
} from "./fields.ts";
import { splitList } from "./lists.ts";
import { locale, locales } from "./locales.ts";
import { statusNote, submissionSource, submissionStatus, submissionText, submissionType } from "./submissions.ts";
import { answerText } from "./survey-responses.ts";
import {
  audience,
  closesAt,
  maxQuestions,
  questionCreate,
  surveyCreate,
  surveyDescription,
  surveyStatus,
} from "./surveys.ts";
import { labelColor, labelName } from "./taxonomy.ts";
import { lengthOf, text, trimText } from "./text.ts";

// Records of imports and exports
// -----------------------------------------------------------------------------------

/** CSV has text only: an empty cell is no value; true and false are texts. */
const flag = z.preprocess((value) => ({ true: true, false: false })[String(value).toLowerCase()] ?? value, z.boolean());
const number = z.preprocess(
  (value) => (typeof value === "string" && /^-?\d{1,9}$/.test(value) ? Number(value) : value),
  wholeNumber(-1_000_000, 1_000_000),
);
const externalId = z
  .preprocess((value) => (typeof value === "number" ? String(value) : value), text({ min: 1, max: 200 }))
  .describe("External id in the source, 1 to 200 characters.");

const earliest = Date.parse("1970-01-01T00:00:00Z");
const months = "january february march april may june july august september october november december".split(" ");
/** Days that can be read in one way only: between dots the month is the second number. */
const dayForms = [
  /^(?<year>\d{4})([-/.])(?<month>\d\d?)\2(?<day>\d\d?)/,
  /^(?<day>\d\d?)\. ?(?<month>\d\d?)\. ?(?<year>\d{4})/,
  /^(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*,? )?(?<day>\d\d?)[ -](?<name>[a-z]{3,9})[ -](?<year>\d{4})/i,
  /^(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*,? )?(?<name>[a-z]{3,9}) (?<day>\d\d?),? (?<year>\d{4})/i,
];
const clockForm =
  /^(?:(?:T|,? )(?<hour>\d\d?):(?<minute>\d\d)(?<second>:\d\d(?:[.,]\d{1,9})?)?(?: ?(?<half>[AP]M))?)?(?: ?(?<zone>Z|(?:UTC|GMT)(?:[+-]\d\d(?::?\d\d)?)?|[+-]\d\d(?::?\d\d)?)(?: \(.*\))?)?$/i;

/** The time in ISO 8601, in UTC if it has no zone; undefined if it is none. */
function isoOf(written: string): string | undefined {
  const day = dayForms.map((form) => form.exec(written)).find((match) => match !== null);
  const clock = day && clockForm.exec(written.slice(day[0].length));
  if (!clock) return;
  const {
    year,
    name = "",
    month = String(1 + months.findIndex((one) => one.startsWith(name.toLowerCase()))),
  } = day.groups as Record<string, string | undefined>;
  const {
    hour = "0",
    minute = "00",
    second = ":00",
    half,
    zone = "",
  } = clock.groups as Record<string, string | undefined>;
  const hours = !half
    ? Number(hour)
    : Number(hour) > 12
      ? Number.NaN
      : (Number(hour) % 12) + (/p/i.test(half) ? 12 : 0);
  const [months_, days, hours_] = [month, day.groups?.day, hours].map((part) => String(part).padStart(2, "0"));
  const offset = zone.replace(/UTC|GMT/i, "").toUpperCase() || "Z";
  return isoMoment.safeParse(`${year}-${months_}-${days}T${hours_}:${minute}${second.replace(",", ".")}${offset}`).data;
}

const ambiguous = /^(\d\d?)([-/])(\d\d?)\2(?=\d{4}\b)/;
/** Kept as written, since ids of records without one are digests of it. */
const zonedForm = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d[\d:.]* ?(Z|UTC|[+-]\d\d(:?\d\d)?)$/;

/** As Postgres accepts it, with microseconds if given. */
export const moment = z.string().transform((value, ctx) => {
  const written = trimText(value).replaceAll(/\s+/g, " ");
  const iso = isoOf(written);
  const at = Date.parse(iso ?? "");
  if (at >= earliest && at <= Date.now() + 60_000)
    return zonedForm.test(written) ? written : new Date(at).toISOString();
  ctx.issues.push({
    code: "custom",
    input: value,
    message: iso
      ? "must be a time in the past, since 1970"
      : ambiguous.test(written)
        ? "may have the day or the month first; set the option dates to day_first or month_first"
        : "must be a time such as 2026-01-31T09:30:00Z or 31.01.2026 09:30, with the year in four digits",
  });
  return z.NEVER;
});

/** Times with the day before the month, as `moment` reads them. */
export function withDaysFirst<Values extends object>(values: Values, dates: ImportQuery["dates"]): Values {
  const order = { day_first: "$1.$3.", month_first: "$3.$1." };
  const entries = Object.entries(values).map(([name, value]) => [
    name,
    dates && name.endsWith("_at") && typeof value === "string"
      ? trimText(value).replace(ambiguous, order[dates])
      : value,
  ]);
  return Object.fromEntries(entries);
}

const person = {
  author_email: emailAddress.transform((value) => value.toLowerCase()).optional(),
  author_name: personName.optional(),
  author_id: externalId.optional(),
};
const taxonomyFields = {
  slug: newSlug.optional(),
  name: labelName,
  color: labelColor.optional(),
  translations: json(z.partialRecord(z.enum(locales), text({ min: 0, max: 400 }))).optional(),
};

/** In CSV, the text of a cell. */
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

/** In CSV one text, separated by commas. */
function list<Schema extends z.ZodType>(schema: Schema) {
  return z.preprocess((value) => (typeof value === "string" ? splitList(value) : value), schema);
}

const labels = list(z.array(labelName).max(50)).default([]).describe("Names or slugs.");

/** The same text, but not an empty one. */
const filled = (schema: z.ZodType) => text({ min: 1, max: lengthOf(schema).max });
const filledAnswer = filled(answerText);
const answers = json(
  z
    .array(
      z.object({ question_id: externalId, value: z.union([z.number(), filledAnswer, z.array(filledAnswer).max(100)]) }),
    )
    .max(maxQuestions),
).default([]);
const score = z.preprocess(
  (value) => (typeof value === "string" && value.length < 20 ? Number(value) : value),
  z.number().min(-1).max(1),
);

export const recordSchemas = {
  category: z.object({ ...taxonomyFields, position: number.optional() }),
  tag: z.object(taxonomyFields),
  submission: z.object({
    id: externalId.optional(),
    ...submissionText,
    type: submissionType.optional(),
    status: submissionStatus.default("open"),
    category: labelName.optional(),
    tags: labels,
    ...person,
    source: submissionSource.optional(),
    tracker_issue_url: webAddress.optional(),
    moderation_state: moderationState.default("approved"),
    merged_into_id: externalId.optional(),
    created_at: moment.optional(),
    updated_at: moment.optional(),
    author_votes: flag.optional(),
    follow: flag.optional(),
  }),
  comment: z.object({
    id: externalId.optional(),
    submission_id: externalId,
    parent_id: externalId.optional(),
    body: commentPatch.shape.body,
    is_official: flag.default(false),
    moderation_state: moderationState.default("approved"),
    created_at: moment.optional(),
    updated_at: moment.optional(),
    follow: flag.optional(),
    ...person,
  }),
  vote: z.object({ submission_id: externalId, created_at: moment.optional(), follow: flag.optional(), ...person }),
  comment_vote: z.object({ comment_id: externalId, created_at: moment.optional(), ...person }),
  follow: z.object({
    submission_id: externalId,
    reason: z.enum(["author", "vote", "comment", "manual", "unfollowed"]).default("manual"),
    created_at: moment.optional(),
    ...person,
  }),
  status_change: z.object({
    submission_id: externalId,
    previous_status: submissionStatus.default("open"),
    new_status: submissionStatus,
    note: filled(statusNote).optional(),
    created_at: moment,
    ...person,
  }),
  survey: z.object({
    id: externalId.optional(),
    title: surveyCreate.shape.title,
    description: surveyDescription.default(""),
    status: surveyStatus.default("draft"),
    questions: json(z.array(questionCreate.safeExtend({ id: externalId.optional() })).max(maxQuestions)).default([]),
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

/** A record is imported without one of these that cannot be used. */
export const dispensableFields = new Set(["author_email", "author_name", "color", "tracker_issue_url"]);

export type RecordKind = keyof typeof recordSchemas;

/** Record kinds a file may contain. */
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

export const recordFiles = Object.keys(kindOf) as [keyof typeof kindOf, ...(keyof typeof kindOf)[]];

// In ------------------------------------------------------------------------------------------------------------

export const importFormats = ["feedback", "canny", "fider"] as const;
const choice = z.enum(["true", "false"]).transform((value) => value === "true");

const maxName = 100;

/** A column's name as it is shown and mapped; without one its number. */
export const columnName = (name: string, index = 0): string =>
  [...trimText(name.replaceAll(/\0|\p{Surrogate}/gu, "").replaceAll(/\s+/g, " "))].slice(0, maxName).join("") ||
  `column ${index + 1}`;

const notAnObject = 'must be a JSON object such as {"Body text":"description"}';
/** A JSON object as the text of a parameter. */
export const columnMapping = z
  .string()
  .max(10_000)
  .regex(/^\s*\{[\s\S]*\}\s*$/, notAnObject)
  .transform(parsed)
  .pipe(
    z
      .record(
        text({ min: 1, max: maxName }).overwrite((name) => columnName(name)),
        text({ min: 1, max: 50 }).nullable(),
        { error: notAnObject },
      )
      .refine((columns) => Object.keys(columns).length <= 100, "must have at most 100 columns"),
  )
  .optional()
  .describe(
    'JSON object with the field of each column that is not found by its name, such as `{"Body text":"description","Notes":null}`; null ignores the column.',
  );

export const importQuery = z.object({
  format: z.enum(importFormats).default("feedback").describe("Source format of the file."),
  what: z.enum(recordFiles).default("submissions").describe("Kind of records without a `kind` field."),
  source: newSlug.optional().describe("Separates the external ids of several sources; defaults to the format."),
  dry_run: choice.default(false).describe("Validates and reports without writing."),
  create_missing: choice
    .default(true)
    .describe("Whether to create missing categories and tags; otherwise such a record fails."),
  type: submissionType.default("idea").describe("Type of submissions without one."),
  dates: z
    .enum(["day_first", "month_first"])
    .optional()
    .describe("What 06/05/2024 means, a day with slashes or dashes before its year; without it such a record fails."),
  follow: choice
    .default(false)
    .describe(
      "Whether authors, commenters and voters asked to follow the submissions, and so to get mail about them; for records without the field `follow`.",
    ),
  anonymous_votes: choice
    .default(false)
    .describe(
      "If a file contains vote counts only: whether to create that many anonymous votes, at most 10,000 a row and 1,000,000 a file.",
    ),
  columns: columnMapping,
});

export type ImportQuery = z.output<typeof importQuery>;

const exportFiles = ["all", ...recordFiles, "members"] as const;

export const exportQuery = z
  .object({
    format: z.enum(["json", "jsonl", "csv"]).default("json").describe("A CSV file has one kind of record."),
    what: z.enum(exportFiles).optional().describe("Defaults to `all`; for CSV to `submissions`."),
  })
  .refine(({ format, what }) => format !== "csv" || what !== "all", {
    path: ["what"],
    error: `must be one of ${exportFiles.slice(1).join(", ")}, because a CSV file has one kind of record`,
  })
  .meta({ id: "ExportQuery", description: "Format and records of an export." });

export type ExportQuery = z.output<typeof exportQuery>;

// Out -----------------------------------------------------------------------------------------------------------

const importShown = z
  .object({
    id: uuid,
    format: z.enum(importFormats),
    what: z.enum(recordFiles),
    source: z.string(),
    dry_run: z.boolean(),
    state: z
      .enum(["receiving", "running", "completed", "failed", "canceled"])
      .describe("`receiving`: the file is being uploaded. `running`: its records are being written."),
    bytes: count.describe("Received bytes of the file; for a zip, of its rows."),
    bytes_read: count.describe("Bytes processed."),
    processed: count.describe("Records processed: created, skipped and failed."),
    created: count,
    skipped: count.describe("Existed already."),
    failed: count,
    problem: z.string().nullable().describe("Why it failed."),
    errors: z
      .array(
        z.object({
          file: z.string().optional().describe("File within a zip."),
          line: z.int().describe("Line from 1; for a zip the number of the object in its file."),
          field: z.string().nullable(),
          message: z.string(),
        }),
      )
      .describe("The first 100 errors."),
    columns: z
      .object({
        unused: z.array(z.string()).describe("Columns, or fields of JSON records, that nothing uses."),
        missing: z.array(z.string()).describe("Fields that records need, but no column gives."),
        mapped: z.record(z.string(), z.string().nullable()).describe("The parameter `columns`."),
      })
      .describe("What was read of the file so far; at most the first 100 names, each of at most 100 characters."),
    can_check: z
      .boolean()
      .describe(
        "Whether the file of this dry run is still stored, to be checked again by `POST …/apply?dry_run=true`.",
      ),
    can_apply: z
      .boolean()
      .describe("Whether the file of this dry run is still stored, to be imported by `POST …/apply`."),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: "Import", description: "An import with its progress." });

export const importAnswer = dataOf(importShown);
export const importListAnswer = dataOf(z.array(importShown));

export const exportAnswer = z
  .array(z.object({ kind: z.string() }).loose())
  .describe("Records of all kinds in the order of an import, which ignores the organization and members.");
