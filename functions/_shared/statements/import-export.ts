import type { ImportQuery } from "../../../shared/imports.ts";
import type { Statement } from "../database/run.ts";
import { type Chunk, recordsOf } from "../files/import/chunks.ts";
import type { FileType, Position } from "../files/import/rows.ts";

/** Parts of an export; merged submissions follow their targets. */
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

/** JSON records, one on each line, and the position of the last. */
export type ExportPage = { total: number; last: string[] | null; records: string | null };

export function startExport(what: string, format: string): Statement {
  return (sql) => sql`select private.admin_start_export(${what}, ${format})`;
}

export function exportPage(rows: ExportedRows, after: string[] | null, limit: number): Statement<ExportPage> {
  return (sql) =>
    sql`select total, last, records from private.admin_export_page(${rows}, ${after}::text[], ${limit})`;
}

export function startImport(query: ImportQuery, fileType: JobFileType): Statement<{ id: string }> {
  return (sql) =>
    sql`select private.admin_start_import(${JSON.stringify(query)}::text::jsonb, ${fileType}) as id`;
}

export function finishImport(id: string, problem: string | null): Statement<{ data: string }> {
  return (sql) => sql`select private.admin_finish_import(${id}, ${problem})::text as data`;
}

/** Stores one part of an import's file. */
export function addImportFilePart(id: string, n: number, bytes: Uint8Array): Statement {
  return (sql) => sql`select private.admin_add_import_file_part(${id}, ${n}, ${bytes})`;
}

/** Marks the upload as complete. */
export function beginImport(id: string): Statement<{ data: string }> {
  return (sql) => sql`select private.admin_begin_import(${id})::text as data`;
}

/** Imports the file of a completed dry run. */
export function applyImport(id: string): Statement<{ data: string }> {
  return (sql) => sql`select private.admin_apply_import(${id})::text as data`;
}

export function cancelImport(id: string): Statement<{ data: string }> {
  return (sql) => sql`select private.admin_cancel_import(${id})::text as data`;
}

/** Type of the stored file: rows of a zip are stored one on each line. */
export type JobFileType = FileType | "rows";

/** State of an import job. */
export type Job = {
  state: string;
  query: ImportQuery;
  file_type: JobFileType;
  position: Position;
  /** Number of written chunks of the rows at this position. */
  chunks_done: number;
  nameless_votes: number | null;
};

export function importJob(id: string): Statement<{ job: Job | null }> {
  return (sql) => sql`select private.admin_import_job(${id}) as job`;
}

export function importFilePart(id: string, n: number): Statement<{ bytes: Uint8Array | null }> {
  return (sql) => sql`select private.admin_import_file_part(${id}, ${n}) as bytes`;
}

/** The chunk to write at a position; with the last chunk also the next position and the remaining anonymous votes. */
export type Step = { at: number; chunk: number; next?: Position; namelessVotes?: number };

/** Writes the chunk, or a part of it in a bounded time. */
export function runImport(
  id: string,
  chunk: Chunk,
  { at, chunk: n, next, namelessVotes }: Step,
): Statement<{ is_written: boolean }> {
  return (sql) =>
    sql`select (private.admin_run_import(${id}, ${JSON.stringify(recordsOf(chunk))}::text::jsonb, ${JSON.stringify(chunk.refused)}::text::jsonb,
      ${at}, ${n}, ${next ? JSON.stringify(next) : null}::text::jsonb, ${namelessVotes ?? null}) ->> 'is_written')::boolean as is_written`;
}

/** An import to run, with the sender's credential; both null if the sender is no longer allowed to import. */
export type Claimed = {
  id: string;
  organization_id: string;
  user_id: string | null;
  digest: Uint8Array | null;
};

/** Releases the previous import, or fails it with a problem, and claims the next one if `takes`. */
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
