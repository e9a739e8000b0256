import { commentPatch } from "../../../../shared/comments.ts";
import { isEmailAddress, personName } from "../../../../shared/fields.ts";
import { type ImportQuery, kindOf, moment, type RecordKind, withDaysFirst } from "../../../../shared/imports.ts";
import { type SubmissionStatus, statusNote, submissionText } from "../../../../shared/submissions.ts";
import { labelName } from "../../../../shared/taxonomy.ts";
import { lengthOf, trimText } from "../../../../shared/text.ts";
import { textOfHtml } from "./html.ts";
import { nameOf } from "./rows.ts";

type Values = Record<string, unknown>;
/** A record from a file: its kind is known, its fields are not validated. */
export type Draft = { kind: RecordKind; values: Values };
/** Part of a record that is skipped, with the reason; the rest is imported. */
type Omission = { field: string; message: string };
/** Remaining anonymous votes that the file may still create. */
export type Allowance = { votes: number };

const lengths = {
  title: lengthOf(submissionText.title),
  description: lengthOf(submissionText.description),
  body: lengthOf(commentPatch.shape.body).max,
  note: lengthOf(statusNote).max,
  label: lengthOf(labelName).max,
  person: lengthOf(personName).max,
};
const kinds = new Set<string>(Object.values(kindOf));
const listNames = ["records", "data", "submissions", "posts", "votes", "comments"];

/** Records of one object in a file: a submission may contain votes and comments, an API page contains rows. */
export function* draftsOf(
  values: Values,
  query: ImportQuery,
  allowance: Allowance,
  depth = 0,
): Generator<Draft | Omission> {
  const list = isRecord(values) || depth > 2 ? undefined : listNames.find((name) => Array.isArray(values[name]));
  if (list) for (const row of objectsOf(values[list])) yield* draftsOf(row, query, allowance, depth + 1);
  else if (query.format === "feedback") yield* ownDrafts(values, query);
  else yield* foreignDrafts(normalized(values), query, query.format, allowance);
}

const isRecord = (values: Values) => "title" in values || "kind" in values;

function* ownDrafts(values: Values, { what, type, dates }: ImportQuery): Generator<Draft> {
  const kind = typeof values.kind === "string" && kinds.has(values.kind) ? values.kind : undefined;
  // An import does not change the organization record of an export.
  if (values.kind !== undefined && !kind) return;
  yield* withParts((kind as RecordKind | undefined) ?? kindOf[what], withoutNulls({ type, ...values }), dates);
}

/** A submission, then its comments in order, then its votes. */
function* withParts(kind: RecordKind, values: Values, dates: ImportQuery["dates"]): Generator<Draft> {
  yield { kind, values };
  if (kind !== "submission") return;
  const submission_id = values.id;
  for (const comment of inOrder(objectsOf(values.comments), dates))
    yield { kind: "comment", values: withoutNulls({ ...comment, submission_id }) };
  for (const vote of objectsOf(values.votes)) yield { kind: "vote", values: withoutNulls({ ...vote, submission_id }) };
}

/** The oldest first, since a parent must precede its replies. */
function inOrder(comments: Values[], dates: ImportQuery["dates"]): Values[] {
  const time = (row: Values) =>
    Date.parse(moment.safeParse(withDaysFirst({ created_at: createdAt(row) }, dates).created_at).data ?? "") || 0;
  return comments.sort((a, b) => time(a) - time(b));
}

const createdAt = (row: Values) => textOf(row, "created_at", "created");

// Other services
// --------------------------------------------------------------------------------------------------

const serviceNames = { canny: "Canny", fider: "Fider" };

function* foreignDrafts(
  row: Values,
  { type, what, dates, anonymous_votes }: ImportQuery,
  service: "canny" | "fider",
  allowance: Allowance,
): Generator<Draft | Omission> {
  if (what === "tags") return yield* tagOf(row);
  const post = textOf(row.post, "id") ?? textOf(row, "post_id", "post_url");
  if (what === "follows" && post) return yield followOf(row, post);
  const kind =
    row.voter !== undefined || (what === "votes" && post)
      ? "vote"
      : row.value !== undefined || (what === "comments" && post)
        ? "comment"
        : "submission";
  if (kind === "vote") return yield voteOf(row, post);
  if (kind === "comment") return yield* commentOf(row, post);
  const id = textOf(row, "number", "post_id", "id", "url", "post_url");
  const givenStatus = textOf(row, "status", "state", "post_status") ?? "open";
  const known = statuses.get(nameOf(givenStatus));
  if (!known) yield { field: "status", message: `"${shortened(givenStatus, 50)}" is not known; imported as open` };
  const status = known ?? "open";
  const author = authorOf(row, "author", "created_by", "user", "post_author");
  const created_at = textOf(row, "created_at", "created", "post_created", "date");
  yield {
    kind: "submission",
    values: withoutNulls({
      id,
      ...fittingTexts(
        textOf(row, "title", "post_title", "name", "headline") ?? "",
        textOf(row, "description", "details", "post_details", "content", "body") ?? "",
        serviceNames[service],
      ),
      type,
      status,
      category: nameIn(row.category) ?? textOf(row, "category_name", "post_category"),
      tags: tagsOf(row.tags ?? row.post_tags ?? row.labels),
      source: service,
      created_at,
      ...author,
      // Included if the source contains them, like a backup.
      moderation_state: row.moderation_state,
      merged_into_id: row.merged_into_id,
      author_votes: row.author_votes,
      follow: row.follow,
    }),
  };
  yield* responseOf(row, id, status, created_at);
  for (const comment of inOrder(objectsOf(row.comments).map(normalized), dates)) yield* commentOf(comment, id);
  for (const vote of objectsOf(row.votes)) yield voteOf(normalized(vote), id);
  if (anonymous_votes && !Array.isArray(row.votes)) yield* countedVotes(row, id, author, allowance);
}

function voteOf(row: Values, submission_id: unknown): Draft {
  const created_at = createdAt(row);
  return {
    kind: "vote",
    values: withoutNulls({
      submission_id,
      created_at,
      follow: row.follow,
      ...authorOf(row, "voter", "user", "author", "name"),
    }),
  };
}

function followOf(row: Values, submission_id: unknown): Draft {
  const created_at = createdAt(row);
  return { kind: "follow", values: withoutNulls({ submission_id, created_at, ...authorOf(row, "user") }) };
}

function* tagOf(row: Values): Generator<Draft> {
  // Internal notes of the team are skipped.
  if (row.is_public === false) return;
  const name = shortened(trimText(textOf(row, "name") ?? ""), lengths.label);
  const color = textOf(row, "color")?.replace(/^#?/, "#").toLowerCase();
  yield { kind: "tag", values: withoutNulls({ name, color }) };
}

function* commentOf(row: Values, submission_id: unknown): Generator<Draft> {
  // Internal notes of the team are skipped.
  if (row.internal === true || row.internal === "true" || row.private === true) return;
  const body = textOfHtml(textOf(row, "value", "content", "body", "comment") ?? "");
  yield {
    kind: "comment",
    values: withoutNulls({
      id: textOf(row, "id", "comment_id"),
      submission_id,
      parent_id: textOf(row, "parent_id"),
      body: shortened(body, lengths.body),
      created_at: createdAt(row),
      updated_at: textOf(row, "edited_at"),
      moderation_state: row.moderation_state,
      follow: row.follow,
      ...authorOf(row, "author", "user", "created_by"),
    }),
  };
}

/** Fider's official response becomes a note in the status history. */
function* responseOf(
  row: Values,
  submission_id: unknown,
  new_status: SubmissionStatus,
  created: unknown,
): Generator<Draft> {
  const answer: Values = isObject(row.response)
    ? normalized(row.response)
    : { text: row.response, responded_at: row.responded_at, user: row.responded_by };
  const note = textOfHtml(textOf(answer, "text") ?? "");
  if (note === "") return;
  yield {
    kind: "status_change",
    values: withoutNulls({
      submission_id,
      new_status,
      note: shortened(note, lengths.note),
      created_at: textOf(answer, "responded_at") ?? created,
      ...authorOf(answer, "user"),
    }),
  };
}

/** Limit for a whole file: 100 bytes of input could otherwise request thousands of votes. */
export const maxVotes = 1_000_000;
const maxVotesPerRow = 10_000;
const countNames = ["votes_count", "total_votes", "vote_count", "votes", "score", "upvotes"];

/** Digits in groups of three, as spreadsheets and services of any country write them. */
const countForm = /^\+?(\d+|\d{1,3}([,.'’ \u00A0\u2009\u202F])\d{3}(?:\2\d{3})*)([,.]0{1,2})?$/;

/** The author is included in the vote count of the file. */
function* countedVotes(
  row: Values,
  submission_id: unknown,
  author: Values,
  allowance: Allowance,
): Generator<Draft | Omission> {
  const field = countNames.find((name) => textOf(row, name) !== undefined);
  if (!field) return;
  const given = trimText(textOf(row, field) ?? "");
  const found = countForm.exec(given)?.[1]?.replaceAll(/\D/g, "");
  if (!found) {
    yield { field, message: `"${shortened(given, 50)}" is not a whole number; imported without these votes` };
    return;
  }
  const first = Object.keys(author).length > 0 ? 2 : 1;
  const last = Math.min(Number(found), maxVotesPerRow);
  const count = last - first + 1;
  if (count <= 0) return;
  if (count > allowance.votes) {
    const max = maxVotes.toLocaleString("en");
    yield {
      field,
      message: `was skipped, because a file can create at most ${max} anonymous votes; import the rest from another file`,
    };
    return;
  }
  if (Number(found) > maxVotesPerRow) {
    const max = maxVotesPerRow.toLocaleString("en");
    yield { field, message: `is more than ${max}; imported with ${max} votes` };
  }
  allowance.votes -= count;
  for (let n = first; n <= last; n++)
    yield { kind: "vote", values: { submission_id, author_id: `voter ${n}`, follow: false } };
}

/** Status names of other services by status of this service; normalized like nameOf. */
const statusNames: Record<SubmissionStatus, readonly string[]> = {
  open: ["open"],
  under_review: ["under_review", "reviewing"],
  planned: ["planned"],
  in_progress: ["in_progress", "started"],
  completed: ["complete", "completed", "done", "shipped"],
  // A file often does not contain the original of a duplicate.
  declined: ["closed", "declined", "rejected", "archived", "duplicate"],
  duplicate: [],
};
const statuses = new Map(
  Object.entries(statusNames).flatMap(([status, names]) =>
    names.map((name) => [name, status as SubmissionStatus] as const),
  ),
);

/**
 * Fits texts of other services into the limits: short ones are extended, long ones are cut, and the rest of a title
 * moves to the description.
 */
function fittingTexts(givenTitle: string, givenDescription: string, service: string) {
  const title = textOfHtml(givenTitle).replaceAll(/\s+/g, " ");
  const details = textOfHtml(givenDescription);
  const length = [...title].length;
  const text = length > lengths.title.max ? `${title}\n\n${details}` : details;
  const description =
    [...text].length < lengths.description.min ? trimText(`${text}\n\nImported from ${service}.`) : text;
  return {
    // A missing title is an error, not a short title.
    title: length > 0 && length < lengths.title.min ? `Idea: ${title}` : shortened(title, lengths.title.max),
    description: shortened(description, lengths.description.max),
  };
}

function shortened(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  const characters = [...text];
  return characters.length <= maxLength ? text : `${characters.slice(0, maxLength - 1).join("")}…`;
}

function authorOf(row: Values, ...names: string[]): Values {
  const who = names.map((name) => row[name]).find((value) => value !== undefined && value !== null);
  const given = isObject(who) ? normalized(who) : { ...row, name: who };
  const named = trimText(textOf(given, "name") ?? textOf(row, "author_name", "user_name", "voter_name") ?? "");
  const author_email = textOf(given, "email") ?? textOf(row, "author_email", "user_email", "voter_email", "email");
  const isAddress = isEmailAddress(mailboxOf(named).address);
  return withoutNulls({
    author_email: author_email ?? (isAddress ? named : undefined),
    author_name: isAddress ? mailboxOf(named).name : shortened(named, lengths.person),
    author_id: textOf(given, "author_id"),
  });
}

/** `Ann <ann@example.com>`, `mailto:ann@example.com` or an address. */
export function mailboxOf(written: string): { name: string; address: string } {
  const [, name = "", address = written] = /^([^<>]*)<([^<>]*)>$/.exec(trimText(written)) ?? [];
  return { name: trimText(name.replaceAll('"', "")), address: trimText(address).replace(/^mailto:([^?]*).*$/i, "$1") };
}

function tagsOf(value: unknown): string[] {
  const list = Array.isArray(value) ? value : typeof value === "string" ? value.split(",") : [];
  return list
    .map((tag) => shortened(trimText(nameIn(tag) ?? ""), lengths.label))
    .filter(Boolean)
    .slice(0, 50);
}

const nameIn = (value: unknown) => (typeof value === "string" ? value : textOf(value, "name", "slug"));

// Values ----------------------------------------------------------------------------------------------------------

function isObject(value: unknown): value is Values {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}

function objectsOf(value: unknown): Values[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

function normalized(values: Values): Values {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [nameOf(name), value]));
}

/** The first non-empty field. */
function textOf(values: unknown, ...names: string[]): string | undefined {
  if (!isObject(values)) return undefined;
  for (const name of names) {
    const value = values[name];
    if (typeof value === "number" || (typeof value === "string" && value !== "")) return String(value);
  }
}

function withoutNulls(values: Values): Values {
  return Object.fromEntries(
    Object.entries(values).filter(([, value]) => value !== null && value !== undefined && value !== ""),
  );
}
