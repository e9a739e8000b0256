import { commentPatch } from "../../../../shared/comments.ts";
import { isEmailAddress, personName } from "../../../../shared/fields.ts";
import {
  assign,
  type Facts,
  kindOfNames,
  lists,
  mappingOf,
  nameOf,
  wantedFields,
} from "../../../../shared/import-fields.ts";
import { type ImportQuery, kindOf, moment, type RecordKind, withDaysFirst } from "../../../../shared/imports.ts";
import { splitList } from "../../../../shared/lists.ts";
import { type SubmissionStatus, statusNote, submissionText } from "../../../../shared/submissions.ts";
import { labelName } from "../../../../shared/taxonomy.ts";
import { lengthOf, trimText } from "../../../../shared/text.ts";
import { textOfHtml } from "./html.ts";

type Values = Record<string, unknown>;
/** A record from a file: its kind is known, its fields are not validated. */
export type Draft = { kind: RecordKind; values: Values };
/** Part of a record that is skipped, with the reason; with `kept: undefined` all of it is, otherwise the rest is imported. */
type Omission = { field: string; message: string; kept?: undefined };
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

/**
 * Records of one object in a file: a submission may contain votes and comments, an API page contains rows. `kind` is
 * that of values by field, as in CSV; the names of others are assigned to fields and noted.
 */
export function* draftsOf(
  values: Values,
  query: ImportQuery,
  allowance: Allowance,
  facts?: Facts,
  byField?: { kind: RecordKind | undefined },
  depth = 0,
): Generator<Draft | Omission> {
  const list = isRecord(values, query) || depth > 2 ? undefined : listNames.find((name) => Array.isArray(values[name]));
  if (list)
    for (const row of objectsOf(values[list])) yield* draftsOf(row, query, allowance, facts, undefined, depth + 1);
  else if (query.format === "feedback") yield* ownDrafts(values, query, facts, byField !== undefined);
  else {
    const kind = byField ? byField.kind : kindOfNames(Object.keys(withoutNulls(values)), query);
    const parts = byField ? {} : partsOf(values, kind);
    const row = byField ? values : fieldsIn(values, query, kind, facts);
    yield* foreignDrafts({ ...row, ...parts }, kind, query, query.format, allowance, facts);
  }
}

const isRecord = (values: Values, query: ImportQuery) =>
  "title" in values || "kind" in values || [...mappingOf(query).keys()].some((name) => name in values);

function* ownDrafts(values: Values, query: ImportQuery, facts?: Facts, isByField = false): Generator<Draft | Omission> {
  const given = values.kind || kindOf[query.what];
  // An import does not change the organization and the members of an export.
  if (given === "organization" || given === "member") return;
  if (!kinds.has(given as string))
    return yield { field: "kind", message: `must be one of ${[...kinds].join(", ")}`, kept: undefined };
  const kind = given as RecordKind;
  const row = isByField ? values : fieldsIn(values, query, kind, facts);
  yield { kind, values: withoutNulls({ type: query.type, ...row }) };
  const { comments, votes } = isByField ? {} : partsOf(values, kind);
  const parts = (part: "comment" | "vote", list: unknown) =>
    objectsOf(list).map((one) => fieldsIn(one, query, part, facts, `${part}s.`));
  for (const comment of inOrder(parts("comment", comments), query.dates))
    yield { kind: "comment", values: { ...comment, submission_id: values.id } };
  for (const vote of parts("vote", votes)) yield { kind: "vote", values: { ...vote, submission_id: values.id } };
}

/** Lists of a submission that are records of their own. */
function partsOf({ comments, votes }: Values, kind: RecordKind | undefined): Values {
  if (kind !== "submission") return {};
  return { ...(Array.isArray(comments) && { comments }), ...(Array.isArray(votes) && { votes }) };
}

/** The values of a record by field. Notes the names that it has. */
function fieldsIn(
  values: Values,
  query: ImportQuery,
  kind: RecordKind | undefined,
  facts?: Facts,
  within = "",
): Values {
  const parts = partsOf(values, kind);
  const names = Object.keys(withoutNulls(values)).filter((name) => !Object.hasOwn(parts, name));
  const { shown, fields } = assign(names, query, kind);
  const row: Values = {};
  for (const [index, name] of names.entries()) {
    const field = fields[index];
    const isUsed = typeof field === "string" && (!Object.hasOwn(row, field) || lists.has(field));
    if (isUsed) row[field] = joined(row[field], values[name]);
    facts?.column(`${within}${shown[index]}`, isUsed || field === null);
  }
  if (within === "") {
    for (const name of mappingOf(query).keys()) if (Object.hasOwn(values, name)) facts?.column(name, true);
    for (const field of wantedFields(query, kind)) facts?.field(field, Object.hasOwn(row, field));
  }
  return row;
}

/** The oldest first, since a parent must precede its replies. */
function inOrder(comments: Values[], dates: ImportQuery["dates"]): Values[] {
  const time = (row: Values) =>
    Date.parse(
      moment.safeParse(withDaysFirst({ created_at: textOf(row, "created_at") }, dates).created_at).data ?? "",
    ) || 0;
  return comments.sort((a, b) => time(a) - time(b));
}

// Other services
// --------------------------------------------------------------------------------------------------

const serviceNames = { canny: "Canny", fider: "Fider" };

function* foreignDrafts(
  row: Values,
  kind: RecordKind | undefined,
  query: ImportQuery,
  service: "canny" | "fider",
  allowance: Allowance,
  facts?: Facts,
): Generator<Draft | Omission> {
  if (kind === "tag") return yield* tagOf(row);
  const post = textOf(row.submission_id, "id") ?? textOf(row, "submission_id");
  if (kind === "follow") return yield followOf(row, post);
  if (kind === "vote") return yield voteOf(row, post);
  if (kind === "comment") return yield* commentOf(row, post);
  const id = textOf(row, "id");
  const givenStatus = textOf(row, "status") ?? "open";
  const known = statuses.get(nameOf(givenStatus));
  if (!known) yield { field: "status", message: `"${shortened(givenStatus, 50)}" is not known; imported as open` };
  const status = known ?? "open";
  const author = authorOf(row);
  const created_at = textOf(row, "created_at");
  yield {
    kind: "submission",
    values: withoutNulls({
      id,
      ...fittingTexts(textOf(row, "title") ?? "", textOf(row, "description") ?? "", serviceNames[service]),
      type: query.type,
      status,
      category: nameIn(row.category),
      tags: tagsOf(row.tags),
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
  const comments = objectsOf(row.comments).map((comment) => fieldsIn(comment, query, "comment", facts, "comments."));
  for (const comment of inOrder(comments, query.dates)) yield* commentOf(comment, id);
  for (const vote of objectsOf(row.votes)) yield voteOf(fieldsIn(vote, query, "vote", facts, "votes."), id);
  if (query.anonymous_votes && !Array.isArray(row.votes)) yield* countedVotes(row, id, author, allowance);
}

function voteOf(row: Values, submission_id: unknown): Draft {
  const created_at = textOf(row, "created_at");
  return { kind: "vote", values: withoutNulls({ submission_id, created_at, follow: row.follow, ...authorOf(row) }) };
}

function followOf(row: Values, submission_id: unknown): Draft {
  const created_at = textOf(row, "created_at");
  return { kind: "follow", values: withoutNulls({ submission_id, reason: row.reason, created_at, ...authorOf(row) }) };
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
  const body = textOfHtml(textOf(row, "body") ?? "");
  yield {
    kind: "comment",
    values: withoutNulls({
      id: textOf(row, "id"),
      submission_id,
      parent_id: textOf(row, "parent_id"),
      body: shortened(body, lengths.body),
      created_at: textOf(row, "created_at"),
      updated_at: textOf(row, "updated_at"),
      moderation_state: row.moderation_state,
      follow: row.follow,
      ...authorOf(row),
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
      ...authorOf({ author: answer.user }),
    }),
  };
}

/** Limit for a whole file: 100 bytes of input could otherwise request thousands of votes. */
export const maxVotes = 1_000_000;
const maxVotesPerRow = 10_000;

/** Digits in groups of three, as spreadsheets and services of any country write them. */
const countForm = /^\+?(\d+|\d{1,3}([,.'’ \u00A0\u2009\u202F])\d{3}(?:\2\d{3})*)([,.]0{1,2})?$/;

/** The author is included in the vote count of the file. */
function* countedVotes(
  row: Values,
  submission_id: unknown,
  author: Values,
  allowance: Allowance,
): Generator<Draft | Omission> {
  const field = "vote_count";
  const given = trimText(textOf(row, field) ?? "");
  if (given === "") return;
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

function authorOf(row: Values): Values {
  const who = isObject(row.author) ? normalized(row.author) : { name: row.author };
  const named = trimText(textOf(who, "name") ?? textOf(row, "author_name") ?? "");
  const isAddress = isEmailAddress(mailboxOf(named).address);
  return withoutNulls({
    author_email: textOf(who, "email") ?? textOf(row, "author_email") ?? (isAddress ? named : undefined),
    author_name: isAddress ? mailboxOf(named).name : shortened(named, lengths.person),
    author_id: textOf(who, "author_id") ?? textOf(row, "author_id"),
  });
}

/** `Ann <ann@example.com>`, `mailto:ann@example.com` or an address. */
export function mailboxOf(written: string): { name: string; address: string } {
  const [, name = "", address = written] = /^([^<>]*)<([^<>]*)>$/.exec(trimText(written)) ?? [];
  return { name: trimText(name.replaceAll('"', "")), address: trimText(address).replace(/^mailto:([^?]*).*$/i, "$1") };
}

function tagsOf(value: unknown): string[] {
  const list = Array.isArray(value) ? value : typeof value === "string" ? splitList(value) : [];
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

/** Both values of a list, which a text separates by commas. */
function joined(one: unknown, other: unknown): unknown {
  if (one === undefined) return other;
  const [a, b] = [one, other].map((list) => (typeof list === "string" ? list.split(",") : list));
  return [a, b].flat();
}

function withoutNulls(values: Values): Values {
  return Object.fromEntries(
    Object.entries(values).filter(([, value]) => value !== null && value !== undefined && value !== ""),
  );
}
