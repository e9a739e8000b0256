import { type ApplyOptions, problemOfColumns } from "../../../../shared/import-fields.ts";
import type { ImportQuery } from "../../../../shared/imports.ts";
import { withRetry } from "../../database/with-retry.ts";
import { ApiError, invalid, notFound } from "../../http/api-error.ts";
import type { Bounds } from "../../http/body.ts";
import type { Execute } from "../../http/endpoint.ts";
import {
  addImportFilePart,
  applyImport,
  beginImport,
  finishImport,
  importJob,
  startImport,
} from "../../statements/import-export.ts";
import { problemOf } from "./chunks.ts";
import { fiderRows } from "./fider.ts";
import { fileParts, rowLines } from "./job.ts";
import type { FileType, Row } from "./rows.ts";
import { HeldBytes } from "./zip.ts";

export type JobFile = FileType | "zip";

/** The format of a file by its extension. */
export const fileTypesByName: Record<string, JobFile> = {
  ".csv": "csv",
  ".json": "json",
  ".jsonl": "jsonl",
  ".ndjson": "jsonl",
  ".zip": "zip",
};

export const importFile: Bounds = {
  maxBytes: 64 * 1024 * 1024,
  tooLarge: "The file is larger than 64 MiB. Send it in parts.",
  timeout: "idle",
};
/** Limits of memory for one zip and for all of them, including the parsed data. */
const maxBytesPerZip = 1.5 * importFile.maxBytes;
const maxBytesOfAllZips = 2 * importFile.maxBytes;
/** An import without progress for two minutes counts as aborted. */
const maxUploadMs = 100_000;

export function problemOfType(type: JobFile, format: ImportQuery["format"]): ApiError | undefined {
  if (type === "zip" && format !== "fider")
    return invalid("format", "must be fider for a ZIP file; only backups of Fider can be read from one");
}

/** Stores the file of a new import and starts it. */
export async function receiveImport(
  query: ImportQuery,
  type: JobFile,
  bytes: AsyncIterable<Uint8Array>,
  execute: Execute,
): Promise<{ id: string; data: string }> {
  const [[started]] = await execute([startImport(query, type === "zip" ? "rows" : type)]);
  if (!started) throw notFound("import");
  const id = started.data;
  const executeWithRetry = withRetry(execute);
  try {
    let n = 0;
    for await (const filePart of fileParts(type === "zip" ? rowLines(zipRows(bytes)) : inUtf8(fileParts(bytes))))
      await executeWithRetry([addImportFilePart(id, n++, filePart)]);
  } catch (error) {
    await executeWithRetry([finishImport(id, problemOf(error))]).catch(() => {});
    throw error;
  }
  const [[begun]] = await executeWithRetry([beginImport(id)]);
  return { id, data: begun?.data ?? "null" };
}

/** Imports the file of a dry run, or checks it again, with these options. */
export async function applyStored(id: string, changes: ApplyOptions, execute: Execute) {
  const [[job]] = await execute([importJob(id)]);
  const problem = job?.data && problemOfColumns({ ...job.data.query, ...changes });
  if (problem) throw invalid("columns", problem);
  const [[applied]] = await execute([applyImport(id, changes)]);
  if (!applied?.data) throw notFound("import");
  return applied.data;
}

/** Spreadsheets write UTF-16 with a byte order mark. */
async function* inUtf8(parts: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let decoder: TextDecoder | undefined;
  let isFirst = true;
  for await (const part of parts) {
    const mark = isFirst ? `${part[0]} ${part[1]}` : "";
    isFirst = false;
    if (mark === "255 254" || mark === "254 255")
      decoder = new TextDecoder(mark === "255 254" ? "utf-16le" : "utf-16be");
    yield decoder ? new TextEncoder().encode(decoder.decode(part, { stream: true })) : part;
  }
}

let bufferedBytes = 0;

/** Rows of a zip, which is held in memory, because its directory is at the end. */
async function* zipRows(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Row> {
  const held = new HeldBytes();
  const endsAt = performance.now() + maxUploadMs;
  let own = 0;
  const hold = (size: number) => {
    if (own + size > maxBytesPerZip)
      throw new ApiError(
        "PAYLOAD_TOO_LARGE",
        "The backup has too many people and posts. Send them in parts as CSV or JSON.",
      );
    if (bufferedBytes + size > maxBytesOfAllZips)
      throw new ApiError("SERVICE_UNAVAILABLE", "Other backups are being read. Try again in a minute.");
    own += size;
    bufferedBytes += size;
  };
  try {
    for await (const part of bytes) {
      if (performance.now() > endsAt) throw invalid("body", "did not arrive within 100 seconds");
      hold(part.length);
      held.add(part);
    }
    yield* fiderRows(held, importFile.maxBytes, hold);
  } finally {
    bufferedBytes -= own;
  }
}
