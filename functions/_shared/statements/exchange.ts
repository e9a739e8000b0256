import type { ImportQuery } from "../../../shared/imports.ts";
import type { Statement } from "../database.ts";
import { type Chunk, recordsOf } from "../import/chunks.ts";
import type { FileType, Position } from "../import/rows.ts";

/** Files an export is made of; submissions that were merged follow those they were merged into. */
export type ExportedRows =
  | "organization"
  | "members"
  | "categories"
  | "tags"
  | "submissions"
  | "merged"
  | "follows"
  | "comments"
  | "votes"
  | "comment_votes"
  | "status_changes"
  | "surveys"
  | "survey_responses";

/** Records, one a line of JSON, and the place of the last. */
export type ExportPage = { total: number; last: string[] | null; records: string | null };

export function startExport(what: string, format: string): Statement {
  return (sql) => sql`select private.admin_start_export(${what}, ${format})`;
}

export function exportPage(rows: ExportedRows, after: string[] | null, most: number): Statement<ExportPage> {
  return (sql) =>
    sql`select total, last, records from private.admin_export_page(${rows}, ${after}::text[], ${most})`;
}

export function startImport(query: ImportQuery, fileType: JobFileType): Statement<{ id: string }> {
  return (sql) =>
    sql`select private.admin_start_import(${JSON.stringify(query)}::text::jsonb, ${fileType}) as id`;
}

export function finishImport(id: string, problem: string | null): Statement<{ data: string }> {
  return (sql) => sql`select private.admin_finish_import(${id}, ${problem})::text as data`;
}

/** Keeps a piece of an import's file. */
export function receiveImport(id: string, n: number, bytes: Uint8Array): Statement {
  return (sql) => sql`select private.admin_receive_import(${id}, ${n}, ${bytes})`;
}

/** The whole file is there. */
export function beginImport(id: string): Statement<{ data: string }> {
  return (sql) => sql`select private.admin_begin_import(${id})::text as data`;
}

export function cancelImport(id: string): Statement<{ data: string }> {
  return (sql) => sql`select private.admin_cancel_import(${id})::text as data`;
}

/** What a file is kept as: the rows of a zip are one a line. */
export type JobFileType = FileType | "rows";

/** An import as running it takes it. */
export type Job = {
  state: string;
  query: ImportQuery;
  file_type: JobFileType;
  position: Position;
  /** Of the rows at this position so many chunks are written. */
  chunks_done: number;
  nameless_votes: number | null;
};

export function importJob(id: string): Statement<{ job: Job | null }> {
  return (sql) => sql`select private.admin_import_job(${id}) as job`;
}

export function importPiece(id: string, n: number): Statement<{ bytes: Uint8Array | null }> {
  return (sql) => sql`select private.admin_import_piece(${id}, ${n}) as bytes`;
}

/** Which chunk of the rows at a position is written; with the last of them, where the next rows begin and how many nameless votes are left. */
export type Step = { at: number; chunk: number; next?: Position; namelessVotes?: number };

export function runImport(id: string, chunk: Chunk, { at, chunk: n, next, namelessVotes }: Step): Statement {
  return (sql) =>
    sql`select private.admin_run_import(${id}, ${JSON.stringify(recordsOf(chunk))}::text::jsonb, ${JSON.stringify(chunk.refused)}::text::jsonb,
      ${at}, ${n}, ${next ? JSON.stringify(next) : null}::text::jsonb, ${namelessVotes ?? null})`;
}

/** An import to run on, with the credential of who sent it; both null where they may no longer call. */
export type Claimed = {
  id: string;
  organization_id: string;
  user_id: string | null;
  digest: Uint8Array | null;
};

/** Gives back the import before, or ends it for a problem, and takes the next where it is to. */
export function claimImport(
  previous: string | null,
  problem: string | null,
  takes: boolean,
): Statement<Claimed> {
  return (sql) =>
    sql`select id, organization_id, user_id, digest from private.claim_import(${previous}, ${problem}, ${takes})`;
}

export function listImports(): Statement<{ data: string }> {
  return (sql) => sql`select private.admin_imports(null)::text as data`;
}

export function showImport(id: string): Statement<{ data: string }> {
  return (sql) =>
    sql`select value::text as data from json_array_elements(private.admin_imports(${id})) where json_typeof(value) = 'object'`;
}
