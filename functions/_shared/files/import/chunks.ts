import { createHash } from "node:crypto";
import type { Facts } from "../../../../shared/import-fields.ts";
import {
  dispensableFields,
  type ImportQuery,
  type RecordKind,
  recordSchemas,
  withDaysFirst,
} from "../../../../shared/imports.ts";
import { validationDetails } from "../../../../shared/validation.ts";
import { toApiError } from "../../http/api-error.ts";
import { type Allowance, type Draft, draftsOf, mailboxOf, maxVotes } from "./formats.ts";
import type { Row } from "./rows.ts";

type Fields = Record<string, unknown>;
/** `kept`: the record was imported without the failed part. */
type Failure = { line: number; field?: string; message: string; kept?: true | undefined };
type Entry = { line: number; kind: RecordKind | "merged"; fields: Fields };

/**
 * Input of private.admin_run_import: records by kind, the people, categories and tags they reference, and rejected
 * lines; for a zip, records of one file.
 */
export type Chunk = { file?: string; entries: Entry[]; refused: Failure[] };

const maxRecords = 500;
const maxCharacters = 1_000_000;

/**
 * Yields validated records in chunks, each for one transaction. If the file becomes unreadable, yields the records
 * before it first.
 */
export async function* chunksOf(
  rows: AsyncIterable<Row> | Iterable<Row>,
  query: ImportQuery,
  allowance: Allowance = { votes: maxVotes },
  facts?: Facts,
): AsyncGenerator<Chunk> {
  let chunk: Chunk = { entries: [], refused: [] };
  let characters = 0;
  let failure: { error: unknown } | undefined;
  const full = () =>
    chunk.entries.length >= maxRecords || chunk.refused.length >= maxRecords || characters >= maxCharacters;
  const isEmpty = () => chunk.entries.length === 0 && chunk.refused.length === 0;
  const finishChunk = () => {
    const finished = chunk;
    chunk = { ...(finished.file && { file: finished.file }), entries: [], refused: [] };
    characters = 0;
    return finished;
  };
  try {
    for await (const row of rows) {
      if (row.file && row.file !== chunk.file) {
        if (!isEmpty()) yield finishChunk();
        chunk.file = row.file;
      }
      if ("message" in row) chunk.refused.push({ line: row.line, message: row.message });
      else {
        // Records nested in a submission without id refer to its generated id.
        let submissionId: unknown;
        const rowQuery = row.what ? { ...query, what: row.what } : query;
        for (const draft of draftsOf(row.values, rowQuery, allowance, row.file ? undefined : facts, row.byField)) {
          if ("message" in draft) {
            chunk.refused.push({ line: row.line, kept: true, ...draft });
            continue;
          }
          const submission_id = draft.values.submission_id ?? submissionId;
          const checked = checkedOf({ ...draft, values: { ...draft.values, submission_id } }, row.line, query);
          if (draft.kind === "submission") submissionId = undefined;
          for (const part of checked) {
            if ("message" in part) chunk.refused.push(part);
            else {
              chunk.entries.push(part);
              characters += sizeOf(part.fields);
              if (draft.kind === "submission") submissionId = part.fields.id;
            }
          }
          if (full()) yield finishChunk();
        }
      }
      if (full()) yield finishChunk();
    }
  } catch (error) {
    failure = { error };
  }
  if (!isEmpty()) yield finishChunk();
  if (failure) throw failure.error;
}

function sizeOf(fields: Fields): number {
  const { description, body, questions, answers } = fields;
  return 200 + String(description ?? body ?? "").length + (JSON.stringify(questions ?? answers)?.length ?? 0);
}

/** The record, or why it is refused; then the omitted fields. */
function checkedOf({ kind, values: given }: Draft, line: number, query: ImportQuery): (Entry | Failure)[] {
  const values = withDaysFirst(given, query.dates);
  if (typeof values.author_email === "string") {
    const { name, address } = mailboxOf(values.author_email);
    values.author_email = address;
    values.author_name ??= name || undefined;
  }
  const details = validationDetails(recordSchemas[kind].safeParse(values).error ?? { issues: [] });
  const omitted = details.filter(({ field }) => dispensableFields.has(field));
  const refused = details.find((detail) => !omitted.includes(detail));
  if (refused) return [{ line, ...refused }];
  const address = values.author_email;
  for (const { field } of omitted) delete values[field];
  const fields: Fields = recordSchemas[kind].parse(values);
  // An unusable address still tells people apart.
  if (address && !fields.author_email && !fields.author_name) fields.author_id ??= digestOf(address);
  const entry = entryOf(kind, fields, line, query);
  if (!entry)
    return [
      { line, field: "author_email", message: omitted[0]?.message ?? "is required, because it identifies the person" },
    ];
  return [
    entry,
    ...omitted.map(
      ({ field, message }): Failure => ({ line, field, message: `${message}; imported without it`, kept: true }),
    ),
  ];
}

/** Undefined if it needs a person and has none. */
function entryOf(kind: RecordKind, given: Fields, line: number, query: ImportQuery): Entry | undefined {
  const { author_email, author_id, author_name, category, tags, ...fields } = given;
  const author = (author_email ?? asId(author_id ?? asName(author_name))) as string | undefined;
  if (!author && (kind === "vote" || kind === "comment_vote" || kind === "follow")) return;
  const labels = { category: category as string | undefined, tags: (tags ?? []) as string[] };
  const follow = author !== undefined && (fields.follow ?? query.follow);
  const entry = { ...fields, author: author ?? "#nobody", author_name };
  if (kind === "submission") {
    // Votes, comments and follows of a merged submission are exported with its target.
    const isMerged = fields.merged_into_id !== undefined;
    return {
      line,
      kind: isMerged ? "merged" : kind,
      fields: {
        ...entry,
        id: fields.id ?? digestOf(fields.title, author, fields.created_at, fields.description),
        former_id: fields.id ? undefined : digestOf(fields.title, author, fields.created_at),
        type: fields.type ?? query.type,
        author_votes: !isMerged && (fields.author_votes ?? author !== undefined),
        follow: !isMerged && follow,
        ...labels,
      },
    };
  }
  if (kind === "comment")
    return {
      line,
      kind,
      fields: {
        ...entry,
        follow,
        id: fields.id ?? digestOf(fields.submission_id, author, fields.created_at, fields.body),
      },
    };
  if (kind === "vote") return { line, kind, fields: { ...entry, follow } };
  const own = author === undefined ? fields : entry;
  if (kind === "survey")
    return { line, kind, fields: { ...own, id: fields.id ?? digestOf(fields.title, fields.created_at) } };
  if (kind === "survey_response") {
    const id = fields.id ?? digestOf(fields.survey_id, author, fields.submitted_at, fields.answers);
    return { line, kind, fields: { ...own, id } };
  }
  return { line, kind, fields: own };
}

const asId = (id: unknown) => (id === undefined ? undefined : `#${id}`);
const asName = (name: unknown) => (name === undefined ? undefined : `name ${String(name).toLowerCase()}`.slice(0, 200));

/** Id of a record without one: a digest of its content. */
function digestOf(...parts: unknown[]): string {
  return `sha256 ${createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 40)}`;
}

/** The chunk in the form of private.admin_run_import. */
export function recordsOf({ file, entries }: Chunk): Record<string, unknown> {
  const records: Record<string, Fields[]> = {};
  const people: Record<string, string | null> = {};
  const categories: Record<string, unknown> = {};
  const tags: Record<string, unknown> = {};
  for (const [n, { line, kind, fields }] of entries.entries()) {
    const { author_name, ...record } = fields;
    const { category, tags: labels } = record;
    if (typeof record.author === "string") people[record.author] ??= (author_name as string | undefined) ?? null;
    if (typeof category === "string") categories[category] = category;
    for (const tag of (labels ?? []) as string[]) tags[tag] = tag;
    records[kind] ??= [];
    records[kind].push({ line, n, ...record });
  }
  return { file, people, categories, tags, ...records };
}

/** The public description of why an import failed; other errors go to the log. */
export function problemOf(error: unknown, unknown = "An internal error occurred."): string {
  const known = toApiError(error);
  if (!known) return unknown;
  return known.details.map(({ field, message }) => `${field} ${message}`).join("; ") || known.message;
}
