import { expect, test } from "vitest";
import { z } from "zod";
import { sentimentOf } from "../../functions/_shared/sentiment/lexicon.ts";
import { apiKeyCreate } from "../../shared/admin.ts";
import { agentCreate } from "../../shared/agents.ts";
import { commentCreate } from "../../shared/comments.ts";
import { errorCodes, errors } from "../../shared/errors.ts";
import { canonicalEventName, type EventName, eventAliases, eventNames } from "../../shared/events.ts";
import { emailAddress, moderationState, newSlug, personName, webAddress } from "../../shared/fields.ts";
import { identifyClaims } from "../../shared/identify.ts";
import { recordSchemas } from "../../shared/imports.ts";
import { locales } from "../../shared/locales.ts";
import { mailKinds, mailPreferencesAnswer, timingsOf } from "../../shared/mail.ts";
import { notificationListAnswer } from "../../shared/notifications.ts";
import { memberRoles, organizationPatch } from "../../shared/organizations.ts";
import {
  statusChangeCreate,
  submissionCreateByKey,
  submissionPatch,
  submissionStatus,
  submissionType,
} from "../../shared/submissions.ts";
import { surveyCreate, surveyDetailAnswer, surveyStatus } from "../../shared/surveys.ts";
import { categoryCreate, tagCreate } from "../../shared/taxonomy.ts";
import { trimText, whiteSpace } from "../../shared/text.ts";
import { webhookAnswer, webhookCreate } from "../../shared/webhooks.ts";
import fc from "../fuzz.ts";
import { sql } from "../stack.ts";

// The database enforces the rules; shared/ repeats them, so that an error names the field.

const constraints = await sql<{ table: string; rule: string }[]>`
  select conrelid::regclass::text as table, pg_get_constraintdef(k.oid) as rule
  from pg_constraint k where contype = 'c' and connamespace in ('public'::regnamespace, 'private'::regnamespace)`;

/** The matches of each pattern in the check constraints of all tables, by table and column. */
function found<Value>(pattern: RegExp, read: (match: string[]) => Value): Map<string, Value> {
  return new Map(
    constraints.flatMap(({ table, rule }) => {
      const match = pattern.exec(rule);
      return match ? [[`${table}.${match[1]}`, read(match)] as const] : [];
    }),
  );
}

const takes = (schema: z.ZodType) => (value: unknown) => schema.safeParse(value).success;
const ofText = (schema: z.ZodType) => (length: number) => takes(schema)("x".repeat(length));
const ofAddress = (schema: z.ZodType) => (length: number) => takes(schema)("https://a.example/".padEnd(length, "x"));
const ofQuestion = (fields: (text: string) => object) => (length: number) =>
  takes(surveyCreate.shape.questions)([
    { type: "multiple_choice", text: "Which?", options: ["One"], ...fields("x".repeat(length)) },
  ]);
const submission = submissionCreateByKey.shape;

/** Whether shared/ accepts a text of that length. */
const lengths: Record<string, (length: number) => boolean> = {
  "organizations.name": ofText(organizationPatch.shape.name),
  "organizations.logo_url": ofAddress(organizationPatch.shape.logo_url),
  "profiles.name": ofText(personName),
  "profiles.avatar_url": ofAddress(webAddress),
  "private.api_keys.name": ofText(apiKeyCreate.shape.name),
  "private.agents.description": ofText(agentCreate.shape.description),
  "categories.name": ofText(categoryCreate.shape.name),
  "tags.name": ofText(tagCreate.shape.name),
  "submissions.title": ofText(submission.title),
  "submissions.description": ofText(submission.description),
  "submissions.source": ofText(submission.source),
  "submissions.tracker_issue_url": ofAddress(submissionPatch.shape.tracker_issue_url),
  "comments.body": ofText(commentCreate.shape.body),
  "status_changes.note": ofText(statusChangeCreate.shape.note),
  "surveys.title": ofText(surveyCreate.shape.title),
  "surveys.description": ofText(surveyCreate.shape.description),
  "surveys.redirect_url": ofAddress(webAddress),
  "survey_questions.text": ofQuestion((text) => ({ text })),
  "survey_options.text": ofQuestion((text) => ({ options: [text] })),
  "private.identified_people.subject": ofText(identifyClaims.shape.sub),
  "private.webhooks.url": ofAddress(webhookCreate.shape.url),
};
// An Idempotency-Key is not a field, and the engine of a score is written by the service.
const sampleData = ["private.idempotency_keys.key", "private.mails.last_error", "survey_responses.sentiment_engine"];

test("the length limits of texts match the constraints of the database", () => {
  const bounds = found(
    /char_length\((\w+)\) (?:>= (\d+)\) AND \(char_length\(\w+\) )?<= (\d+)\)+$/,
    ([, , least = "0", most = ""]) => ({ least: Number(least), most: Number(most) }),
  );
  expect([...bounds.keys()].toSorted()).toEqual([...Object.keys(lengths), ...sampleData].toSorted());
  for (const [name, fits] of Object.entries(lengths)) {
    const { least, most } = bounds.get(name) ?? { least: 0, most: 0 };
    const accepted = [least > 1 && fits(least - 1), fits(least), fits(most), fits(most + 1)];
    expect(accepted, name).toEqual([false, true, true, false]);
  }
});

function optionsOf(schema: z.ZodType): unknown[] {
  if (schema instanceof z.ZodEnum) return schema.options;
  return optionsOf((schema.def as unknown as { innerType: z.ZodType }).innerType);
}

test("the enumerations match the constraints of the database", () => {
  const lists = found(/\(?\(?(\w+) (?:= ANY|<@) \(?(ARRAY\[[^\]]*\])\)+$/, ([, , values = ""]) =>
    [...values.matchAll(/'([^']*)'/g)].map(([, value]) => value).toSorted(),
  );
  const targeting = surveyCreate.shape.targeting.unwrap().unwrap();
  const schemas: Record<string, readonly unknown[]> = {
    "organizations.anonymous_may": optionsOf(organizationPatch.shape.anonymous_may),
    "organizations.visibility": optionsOf(organizationPatch.shape.visibility),
    "memberships.role": memberRoles,
    "private.invites.role": memberRoles,
    "private.agents.tier": optionsOf(agentCreate.shape.tier),
    "submissions.type": submissionType.options,
    "submissions.status": submissionStatus.options,
    "submissions.moderation_state": moderationState.options,
    "status_changes.new_status": submissionStatus.options,
    "comments.moderation_state": moderationState.options,
    // Who unfollowed is in a table of its own.
    "follows.reason": optionsOf(recordSchemas.follow.shape.reason).filter((reason) => reason !== "unfollowed"),
    "notifications.type": notificationListAnswer.shape.data.element.shape.type.options,
    "surveys.status": surveyStatus.options,
    "surveys.audience": optionsOf(targeting.shape.audience),
    "survey_questions.type": surveyDetailAnswer.shape.data.shape.questions.unwrap().element.shape.type.options,
    "private.mail_suppressions.reason": optionsOf(mailPreferencesAnswer.shape.data.shape.stopped),
    "private.webhooks.disabled_reason": optionsOf(webhookAnswer.shape.data.shape.disabled_reason),
  };
  // The database stores more values of these types than it returns.
  const own = [
    "external_ids.kind",
    "imports.state",
    "mails.status",
    "retired_labels.kind",
    "webhook_deliveries.status",
  ].map((name) => `private.${name}`);
  expect([...lists.keys()].toSorted()).toEqual([...Object.keys(schemas), ...own, "profiles.kind"].toSorted());
  for (const [name, options] of Object.entries(schemas)) expect(lists.get(name), name).toEqual(options.toSorted());
});

test("the languages, events and editable fields of the database are those of shared/", async () => {
  const names = [...eventNames, ...Object.keys(eventAliases)];
  const [row] = await sql<{ locales: string[]; canonical: string[]; unscoped: string[]; editable: string[] }[]>`
    select private.locales() as locales,
      array(select private.canonical_event(name) from unnest(${names}::text[]) with ordinality e (name, n) order by n) as canonical,
      array(select name from unnest(${eventNames}::text[]) name where private.feed_scopes(name) = '{}') as unscoped,
      array(select attname::text from pg_attribute where attrelid = 'public.submissions'::regclass and attnum > 0
        and not attisdropped and has_column_privilege('authenticated', attrelid, attnum, 'update')) as editable`;
  expect(row?.locales).toEqual(locales);
  expect(row?.canonical).toEqual(names.map((name) => canonicalEventName(name as EventName)));
  expect(row?.unscoped).toEqual([]);
  expect(row?.editable.toSorted()).toEqual(Object.keys(submissionPatch.shape).toSorted());
});

test("the kinds of mail and their choices match", async () => {
  const rows = await sql<{ kind: string; choices: string[]; default_choice: string | null }[]>`
    select kind, choices, default_choice from private.mail_kinds() order by place`;
  expect(rows.filter(({ choices }) => choices.length > 0).map(({ kind, choices }) => [kind, choices])).toEqual(
    mailKinds.map((kind) => [kind, timingsOf(kind)]),
  );
  for (const { choices, default_choice } of rows)
    expect(choices).toEqual(choices.length > 0 ? expect.arrayContaining([default_choice]) : []);
});

test("names are translated into exactly the languages of shared/locales.ts", async () => {
  const letters = [..."abcdefghijklmnopqrstuvwxyz"];
  const codes = letters.flatMap((first) => letters.map((second) => first + second));
  const asked = [...new Set([...locales, ...codes, "EN", "de-AT", "pt-PT", ""])];
  const rows = await sql<{ locale: string }[]>`
    select locale from unnest(${asked}::text[]) as locale where private.are_translations(jsonb_build_object(locale, 'A name'))`;
  expect(rows.map(({ locale }) => locale).toSorted()).toEqual(locales.toSorted());
});

test("the thresholds of positive, neutral and negative scores match", async () => {
  const scores = [-1, -0.2, -0.199, 0, 0.199, 0.2, 1];
  const [{ rule } = { rule: "" }] = await sql<{ rule: string }[]>`
    select pg_get_expr(adbin, adrelid) as rule from pg_attrdef join pg_attribute a on a.attrelid = adrelid and a.attnum = adnum
    where adrelid = 'survey_responses'::regclass and a.attname = 'sentiment'`;
  const rows = await sql<{ sentiment: string }[]>`
    select ${sql.unsafe(rule)} as sentiment from unnest(${scores}::numeric[]) as sentiment_score`;
  expect(rows.map(({ sentiment }) => sentiment)).toEqual(scores.map(sentimentOf));
});

const madeOf = (...pieces: string[]) =>
  fc.array(fc.constantFrom(...pieces), { maxLength: 5 }).map((chosen) => chosen.join(""));
const addresses = fc
  .tuple(
    madeOf("a", "B", "9", ".", "-", "+", "é", "x".repeat(63)),
    fc.constantFrom("@", "@", "@", "", "@@"),
    madeOf("a", "B", "9", ".", "-", "_", "y.org", "x".repeat(63)),
  )
  .map((parts) => parts.join(""));

test.each([
  ["is_email", emailAddress, addresses],
  ["is_slug", newSlug, madeOf("a", "9", "-", "A", "_", "ü", "x".repeat(63))],
])("private.%s accepts the same values as shared/", async (name, schema, texts) => {
  const samples = [...new Set(fc.sample(texts, 20_000))];
  const rows = await sql<{ value: string }[]>`
    select value from unnest(${samples}::text[]) as value where private.${sql(name)}(value)`;
  expect(rows.map(({ value }) => value)).toEqual(samples.filter(takes(schema)));
  expect(rows.length).toBeGreaterThan(20);
});

const charactersFrom = (first: number, last: number) =>
  Array.from({ length: last - first + 1 }, (_, n) => first + n)
    .filter((code) => code < 0xd800 || code > 0xdfff)
    .map((code) => String.fromCodePoint(code));

test("private.trim_text trims the same characters as trimText, and knows the same characters as invisible", async () => {
  const samples = [
    ...[...whiteSpace, "\u200B", "\u2060"].map((space) => `${space}a${space}b${space}`),
    ...charactersFrom(1, 0x10ffff),
    ...["\u2060\u3164 \u00AD", "\u200Da", "\u{1F3F4}\u{E0067}\u{E007F}"],
  ];
  const rows = await sql<{ trimmed: string }[]>`
    select private.trim_text(value) as trimmed from unnest(${samples}::text[]) with ordinality as s (value, n) order by n`;
  const wrong = samples.filter((sample, n) => rows[n]?.trimmed !== trimText(sample));
  expect(wrong.map((sample) => sample.codePointAt(0)?.toString(16))).toEqual([]);
  expect(samples.filter((sample) => trimText(sample) === "").length).toBeGreaterThan(4000);
});

test("the database raises the SQLSTATEs of shared/errors.ts", async () => {
  const rows = await sql<{ code: string; sqlstate: string }[]>`
    select code, private.error_state(code) as sqlstate from unnest(${errorCodes}::text[]) as code`;
  expect(rows.map((row) => [row.code, row.sqlstate])).toEqual(errorCodes.map((name) => [name, errors[name].sqlstate]));
});
