import { createReadStream, createWriteStream, statSync } from "node:fs";
import { extname } from "node:path";
import { pipeline } from "node:stream/promises";
import { exportText } from "../../functions/_shared/files/export.ts";
import { chunksOf, problemOf, recordsOf } from "../../functions/_shared/files/import/chunks.ts";
import { fiderRows } from "../../functions/_shared/files/import/fider.ts";
import { fileTypesByName } from "../../functions/_shared/files/import/receive.ts";
import { rowsOf } from "../../functions/_shared/files/import/rows.ts";
import type { Bytes } from "../../functions/_shared/files/import/zip.ts";
import type { ExportPage } from "../../functions/_shared/statements/import-export.ts";
import type { ExportQuery, ImportQuery } from "../../shared/imports.ts";
import type { Sql } from "../postgres/database.ts";
import { StartError } from "../processes/start-error.ts";

export type Imported = {
  state: string;
  processed: number;
  created: number;
  skipped: number;
  failed: number;
  problem: string | null;
  errors: { file?: string; line: number; field: string | null; message: string }[];
};

/** Like POST /api/admin/import without its limits: writes chunks directly to the database. */
export async function importFile(
  sql: Sql,
  organizationId: string,
  path: string,
  query: ImportQuery,
  progress: (processed: number) => void,
): Promise<Imported> {
  const type = fileTypesByName[extname(path).toLowerCase()];
  if (!type)
    throw new StartError(`${path}: the name has to end in one of ${Object.keys(fileTypesByName).join(", ")}`);
  if (type === "zip" && query.format !== "fider")
    throw new StartError("--format has to be fider for a zip: only Fider's backup is read from one");
  const rows =
    type === "zip"
      ? fiderRows(bytesOf(path), Number.MAX_SAFE_INTEGER, () => {})
      : rowsOf(createReadStream(path), type);
  const { format, source = format, dry_run, create_missing } = query;
  const [started] = await sql<{ id: string }[]>`
    select private.start_import(${organizationId}, ${format}, ${source}, ${dry_run}, ${create_missing}) as id`;
  const id = started?.id ?? "";
  let problem: string | null = null;
  try {
    for await (const chunk of chunksOf(rows, query)) {
      for (let isWritten = false; !isWritten; ) {
        const [job] = await sql<{ done: { processed: number; is_written: boolean } }[]>`
          select private.run_import(${id}, ${JSON.stringify(recordsOf(chunk))}::text::jsonb, ${JSON.stringify(chunk.refused)}::text::jsonb) as done`;
        progress(job?.done.processed ?? 0);
        isWritten = job?.done.is_written ?? true;
      }
    }
  } catch (error) {
    problem = problemOf(error, String(error));
  }
  const [ended] = await sql<{ shown: Imported }[]>`select private.finish_import(${id}, ${problem}) as shown`;
  if (!ended) throw new StartError("the import is gone: its organization was deleted meanwhile");
  return ended.shown;
}

function bytesOf(path: string): Bytes {
  const read = (start: number, end: number) =>
    end > start ? createReadStream(path, { start, end: end - 1 }) : [];
  return { size: statSync(path).size, read };
}

/** Like GET /api/admin/export, to a file or to the standard output. */
export async function exportFile(
  sql: Sql,
  organizationId: string,
  path: string | undefined,
  query: ExportQuery,
): Promise<void> {
  const details = { what: query.what ?? "all", format: query.format };
  await sql`select private.audit('organization.export', 'organization', ${organizationId}, ${sql.json(details)}, ${organizationId})`;
  const out = path === undefined ? process.stdout : createWriteStream(path);
  const text = exportText(query, async (rows, after, limit) => {
    const [page] = await sql<ExportPage[]>`
      select total::integer, last, records from private.export_page(${organizationId}, ${rows}, ${after}::text[], ${limit})`;
    return page;
  });
  await pipeline(text, out, { end: path !== undefined });
}
