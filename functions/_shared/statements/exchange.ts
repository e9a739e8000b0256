import type { ImportQuery } from "../../../shared/imports.ts";
import type { Statement } from "../database.ts";
import { type Chunk, recordsOf } from "../import/chunks.ts";

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

/** The newest, or the one of that id. */
export function listImports(id: string | null): Statement<{ data: string }> {
  return (sql) => sql`select private.admin_imports(${id})::text as data`;
}
