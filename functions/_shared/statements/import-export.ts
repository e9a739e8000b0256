import type { ApplyOptions } from "../../../shared/import-fields.ts";
import type { ImportQuery, importAnswer, importListAnswer } from "../../../shared/imports.ts";
import type { Statement } from "../database/run.ts";
import { type Chunk, recordsOf } from "../files/import/chunks.ts";
import type { FileType, Position } from "../files/import/rows.ts";
import { call, type Data, type DataOf, read } from "./shapes.ts";

export type Import = DataOf<typeof importAnswer>;

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

export const startExport = (what: string, format: string) => call("admin_start_export", what, format);

export function exportPage(rows: ExportedRows, after: string[] | null, limit: number): Statement<ExportPage> {
  return (sql) => sql`select total, last, records from private.admin_export_page(${rows}, ${after}, ${limit})`;
}

export const startImport = (query: ImportQuery, fileType: JobFileType) =>
  read<string>("admin_start_import", query, fileType);

export const finishImport = (id: string, problem: string | null) => call<Import>("admin_finish_import", id, problem);

/** Stores one part of an import's file. */
export const addImportFilePart = (id: string, n: number, bytes: Uint8Array) =>
  call("admin_add_import_file_part", id, n, bytes);

/** Marks the upload as complete. */
export const beginImport = (id: string) => call<Import>("admin_begin_import", id);

/** Imports the file of a completed dry run, or checks it again. */
export const applyImport = (id: string, changes: ApplyOptions) => call<Import>("admin_apply_import", id, changes);

export const cancelImport = (id: string) => call<Import>("admin_cancel_import", id);

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

export const importJob = (id: string) => read<Job | null>("admin_import_job", id);

export const importFilePart = (id: string, n: number) => read<Uint8Array | null>("admin_import_file_part", id, n);

/** The chunk to write at a position; with the last chunk also the next position and the remaining anonymous votes. */
export type Step = { at: number; chunk: number; next?: Position; namelessVotes?: number };

/** What Postgres cannot store must not stop the import. */
const storable = (_: string, value: unknown) =>
  typeof value === "string" ? value.toWellFormed().replaceAll("\0", "\uFFFD") : value;

/** Writes the chunk, or a part of it in a bounded time. */
export const runImport = (id: string, chunk: Chunk, { at, chunk: n, next, namelessVotes }: Step) =>
  read<{ is_written: boolean }>(
    "admin_run_import",
    id,
    JSON.stringify(recordsOf(chunk), storable),
    JSON.stringify(chunk.refused, storable),
    at,
    n,
    next,
    namelessVotes,
  );

/** An import to run, with the sender's credential; both null if the sender is no longer allowed to import. */
export type Claimed = { id: string; organization_id: string; user_id: string | null; digest: Uint8Array | null };

/** Releases the previous import, or fails it with a problem, and claims the next one if `takes`. */
export function claimImport(previous: string | null, problem: string | null, takes: boolean): Statement<Claimed> {
  return (sql) =>
    sql`select id, organization_id, user_id, digest from private.claim_import(${previous}, ${problem}, ${takes})`;
}

export const listImports = () => call<DataOf<typeof importListAnswer>>("admin_imports", null);

export function showImport(id: string): Statement<Data<Import>> {
  return (sql) =>
    sql`select value::text as data from json_array_elements(private.admin_imports(${id})) where json_typeof(value) = 'object'`;
}
