import { createHash } from "node:crypto";
import { type ImportQuery, kindOf, moment, type RecordKind } from "../../../shared/imports.ts";
import type { SubmissionStatus } from "../../../shared/submissions.ts";
import { trimText } from "../../../shared/text.ts";
import { nameOf } from "./rows.ts";

type Values = Record<string, unknown>;
/** A record as a file has it, its kind known and its fields still unchecked. */
export type Draft = { kind: RecordKind; values: Values };
/** What is left out of a record that is taken all the same, and why. */
type Omission = { field: string; message: string };
/** Nameless votes a file may still ask for. */
export type Allowance = { votes: number };

const kinds = new Set<string>(Object.values(kindOf));
const listNames = ["records", "data", "submissions", "posts", "votes", "comments"];

/** The records of one object of a file: a submission may hold its votes and comments, a page of an API its rows. */
export function* draftsOf(
  values: Values,
  query: ImportQuery,
  allowance: Allowance,
): Generator<Draft | Omission> {
  const list = isRecord(values) ? undefined : listNames.find((name) => Array.isArray(values[name]));
  if (list) for (const row of objectsOf(values[list])) yield* draftsOf(row, query, allowance);
  else if (query.format === "feedback") yield* ownDrafts(values, query);
  else yield* foreignDrafts(normalized(values), query, query.format, allowance);
}

const isRecord = (values: Values) => "title" in values || "kind" in values;

function* ownDrafts(values: Values, { what, type }: ImportQuery): Generator<Draft> {
  const kind = typeof values.kind === "string" && kinds.has(values.kind) ? values.kind : undefined;
  // What an export tells of the organization itself is not an import's to change.
  if (values.kind !== undefined && !kind) return;
  yield* withParts((kind as RecordKind | undefined) ?? kindOf[what], withoutNulls({ type, ...values }));
}

/** A submission, then its comments from the first on, then its votes. */
function* withParts(kind: RecordKind, values: Values): Generator<Draft> {
  yield { kind, values };
  if (kind !== "submission") return;
  const submission_id = values.id;
  const time = (comment: Values) => Date.parse(String(comment.created_at)) || 0;
  for (const comment of objectsOf(values.comments).sort((a, b) => time(a) - time(b)))
    yield { kind: "comment", values: withoutNulls({ ...comment, submission_id }) };
  for (const vote of objectsOf(values.votes))
    yield { kind: "vote", values: withoutNulls({ ...vote, submission_id }) };
}

// Of other services -----------------------------------------------------------------------------------------------

const serviceNames = { canny: "Canny", fider: "Fider" };

function* foreignDrafts(
  row: Values,
  { type, what, anonymous_votes }: ImportQuery,
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
  const status = statusOf(textOf(row, "status", "state", "post_status"));
  const author = authorOf(row, "author", "created_by", "user", "post_author");
  const created_at = timeOf(row, "created_at", "created", "post_created", "date");
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
      // Where they are known, as in a backup.
      moderation_state: row.moderation_state,
      merged_into_id: row.merged_into_id,
      author_votes: row.author_votes,
      follow: row.follow,
    }),
  };
  yield* responseOf(row, id, status, created_at);
  const comments = objectsOf(row.comments).map(normalized);
  for (const comment of comments.sort((a, b) => String(orderOf(a)).localeCompare(String(orderOf(b)))))
    yield* commentOf(comment, id);
  for (const vote of objectsOf(row.votes)) yield voteOf(normalized(vote), id);
  if (anonymous_votes && !Array.isArray(row.votes)) yield* countedVotes(row, id, allowance);
}

const orderOf = (row: Values) => timeOf(row, "created_at", "created");

function voteOf(row: Values, submission_id: unknown): Draft {
  const created_at = timeOf(row, "created_at", "created");
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
  const created_at = timeOf(row, "created_at", "created");
  return { kind: "follow", values: withoutNulls({ submission_id, created_at, ...authorOf(row, "user") }) };
}

function* tagOf(row: Values): Generator<Draft> {
  // What only the team may see has no place here.
  if (row.is_public === false) return;
  const name = shortened(trimText(textOf(row, "name") ?? ""), 100);
  const color = textOf(row, "color")?.replace(/^#?/, "#").toLowerCase();
  yield { kind: "tag", values: withoutNulls({ slug: slugOf(name), name, color }) };
}

function* commentOf(row: Values, submission_id: unknown): Generator<Draft> {
  // Notes of the team are not for everyone, and there is no place for them here.
  if (row.internal === true || row.internal === "true" || row.private === true) return;
  const body = trimText(textOf(row, "value", "content", "body", "comment") ?? "");
  yield {
    kind: "comment",
    values: withoutNulls({
      id: textOf(row, "id", "comment_id"),
      submission_id,
      parent_id: textOf(row, "parent_id"),
      body: shortened(body, 2000),
      created_at: orderOf(row),
      updated_at: timeOf(row, "edited_at"),
      moderation_state: row.moderation_state,
      follow: row.follow,
      ...authorOf(row, "author", "user", "created_by"),
    }),
  };
}

/** What the team answered in Fider stands in the history of the status, as a note. */
function* responseOf(
  row: Values,
  submission_id: unknown,
  new_status: SubmissionStatus,
  created: unknown,
): Generator<Draft> {
  const answer: Values = isObject(row.response)
    ? normalized(row.response)
    : { text: row.response, responded_at: row.responded_at, user: row.responded_by };
  const note = trimText(textOf(answer, "text") ?? "");
  if (note === "") return;
  yield {
    kind: "status_change",
    values: withoutNulls({
      submission_id,
      new_status,
      note: shortened(note, 2000),
      created_at: timeOf(answer, "responded_at") ?? created,
      ...authorOf(answer, "user"),
    }),
  };
}

/** All that one file may ask for: a row of a hundred characters asks for thousands. */
export const mostCounted = 1_000_000;
const mostCountedOfARow = 10_000;
const countNames = ["votes_count", "total_votes", "vote_count", "votes", "score", "upvotes"];

/** The author is one of those a file counts. */
function* countedVotes(
  row: Values,
  submission_id: unknown,
  allowance: Allowance,
): Generator<Draft | Omission> {
  const field = countNames.find((name) => textOf(row, name) !== undefined);
  if (!field) return;
  const hasAuthor = Object.keys(authorOf(row, "author", "created_by", "user", "post_author")).length > 0;
  const first = hasAuthor ? 2 : 1;
  const last = Math.min(Math.floor(Number(textOf(row, field))), mostCountedOfARow);
  if (!(last >= first)) return;
  const asked = last - first + 1;
  if (asked > allowance.votes) {
    const most = mostCounted.toLocaleString("en");
    yield {
      field,
      message: `is not imported: a file counts at most ${most} nameless votes. Send the rest in another file`,
    };
    return;
  }
  allowance.votes -= asked;
  for (let n = first; n <= last; n++)
    yield { kind: "vote", values: { submission_id, author_id: `voter ${n}`, follow: false } };
}

const statuses: Record<string, SubmissionStatus> = {
  under_review: "under_review",
  reviewing: "under_review",
  planned: "planned",
  in_progress: "in_progress",
  started: "in_progress",
  complete: "completed",
  completed: "completed",
  done: "completed",
  shipped: "completed",
  closed: "declined",
  declined: "declined",
  rejected: "declined",
  archived: "declined",
  // Of what, a file often does not say.
  duplicate: "declined",
};

/** A status of their own making is open here. */
const statusOf = (name = "open"): SubmissionStatus => statuses[nameOf(name)] ?? "open";

/** They take any length; what does not fit is completed or cut, and a cut title goes on in the description. */
function fittingTexts(givenTitle: string, givenDescription: string, service: string) {
  const title = trimText(givenTitle);
  const details = trimText(givenDescription);
  const length = [...title].length;
  const whole = length > 200 ? `${title}\n\n${details}` : details;
  const description = [...whole].length < 20 ? trimText(`${whole}\n\nImported from ${service}.`) : whole;
  return {
    // A line without a title is wrong, not short.
    title: length > 0 && length < 5 ? `Idea: ${title}` : shortened(title, 200),
    description: shortened(description, 5000),
  };
}

function shortened(text: string, most: number): string {
  if (text.length <= most) return text;
  const characters = [...text];
  return characters.length <= most ? text : `${characters.slice(0, most - 1).join("")}…`;
}

function authorOf(row: Values, ...names: string[]): Values {
  const who = names.map((name) => row[name]).find((value) => value !== undefined && value !== null);
  const given = isObject(who) ? normalized(who) : { ...row, name: who };
  const named = trimText(
    textOf(given, "name") ?? textOf(row, "author_name", "user_name", "voter_name") ?? "",
  );
  const author_email =
    textOf(given, "email") ?? textOf(row, "author_email", "user_email", "voter_email", "email");
  const author_name = named === "" || named.includes("@") ? undefined : shortened(named, 100);
  const address = author_email ?? (named.includes("@") ? named : undefined);
  return withoutNulls({ author_email: address, author_name, author_id: textOf(given, "author_id") });
}

function timeOf(row: Values, ...names: string[]): string | undefined {
  const value = textOf(row, ...names);
  return value === undefined ? undefined : (moment.safeParse(value).data ?? value);
}

function tagsOf(value: unknown): string[] {
  const list = Array.isArray(value) ? value : typeof value === "string" ? value.split(",") : [];
  return list
    .map((tag) => shortened(trimText(nameIn(tag) ?? ""), 100))
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

/** The first of the fields that says something. */
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

/** A name as a slug; one without a Latin letter is known by a digest. */
export function slugOf(name: string): string {
  const slug = name
    .normalize("NFKD")
    .replaceAll(/\p{Mark}/gu, "")
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .slice(0, 64)
    .replaceAll(/^-|-$/g, "");
  return slug || `n-${createHash("sha256").update(name).digest("hex").slice(0, 12)}`;
}
