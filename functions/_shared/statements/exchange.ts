import type { ImportQuery } from "../../../shared/imports.ts";
import type { Statement } from "../database.ts";
import { type Chunk, recordsOf } from "../import/chunks.ts";
import type { Row } from "../import/rows.ts";

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

export function startImport({
  format,
  source,
  dry_run,
  create_missing,
}: ImportQuery): Statement<{ id: string }> {
  return (sql) =>
    sql`select private.admin_start_import(${format}, ${source ?? format}, ${dry_run}, ${create_missing}) as id`;
}

export function runImport(id: string, chunk: Chunk): Statement {
  return (sql) =>
    sql`select private.admin_run_import(${id}, ${JSON.stringify(recordsOf(chunk))}::text::jsonb, ${JSON.stringify(chunk.refused)}::text::jsonb)`;
}

export function finishImport(id: string, problem: string | null): Statement<{ data: string }> {
  return (sql) => sql`select private.admin_finish_import(${id}, ${problem})::text as data`;
}

/** Keeps rows of a job; the first time without any. */
export function receiveImport(id: string, n: number, rows: Row[] | null, query: ImportQuery): Statement {
  return (sql) =>
    sql`select private.admin_receive_import(${id}, ${n}, ${rows && JSON.stringify(rows)}::text::json, ${JSON.stringify(query)}::text::jsonb)`;
}

export function beginImport(id: string): Statement<{ data: string }> {
  return (sql) => sql`select private.admin_begin_import(${id})::text as data`;
}

/** Rows of a job that are not yet written. */
export type Piece = {
  n: number;
  rows: Row[];
  chunks_done: number;
  query: ImportQuery;
  nameless_votes: number | null;
};

export function nextPiece(id: string): Statement<{ piece: Piece | null }> {
  return (sql) => sql`select private.admin_next_piece(${id}) as piece`;
}

/** Goes with the chunk it tells of; what is left of the nameless votes counts with the last. */
export function advancePiece(
  id: string,
  n: number,
  chunk: number,
  isLast: boolean,
  namelessVotes: number,
): Statement {
  return (sql) => sql`select private.admin_advance_piece(${id}, ${n}, ${chunk}, ${isLast}, ${namelessVotes})`;
}

export function listImports(): Statement<{ data: string }> {
  return (sql) => sql`select private.admin_imports(null)::text as data`;
}

export function showImport(id: string): Statement<{ data: string }> {
  return (sql) =>
    sql`select value::text as data from json_array_elements(private.admin_imports(${id})) where json_typeof(value) = 'object'`;
}
