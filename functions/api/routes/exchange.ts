import {
  exportAnswer,
  exportQuery,
  importAnswer,
  importListAnswer,
  importQuery,
} from "../../../shared/imports.ts";
import { ApiError, invalid, notFound, toApiError } from "../../_shared/api-error.ts";
import { answer, endpoint, longEndpoint } from "../../_shared/endpoint.ts";
import { exportText, exportTypes } from "../../_shared/export.ts";
import { chunksOf, writeChunk } from "../../_shared/import/chunks.ts";
import { type FileType, rowsOf } from "../../_shared/import/rows.ts";
import { patient } from "../../_shared/patient.ts";
import {
  exportPage,
  finishImport,
  listImports,
  runImport,
  startExport,
  startImport,
} from "../../_shared/statements/exchange.ts";

const tag = "Import and export";
const scopes = ["submissions:moderate"] as const;

const fileTypes: Record<string, FileType> = {
  "text/csv": "csv",
  "application/json": "json",
  "application/x-ndjson": "jsonl",
};
const largestFile = 64 * 1024 * 1024;
const longestPauseMs = 10_000;

/** What the file is, or why it is not even begun with. */
function fileTypeOf(request: Request): FileType | ApiError {
  if (Number(request.headers.get("Content-Length")) > largestFile) return tooLarge();
  const [given = ""] = (request.headers.get("Content-Type") ?? "").split(";");
  return (
    fileTypes[given.trim().toLowerCase()] ??
    new ApiError("UNSUPPORTED_MEDIA_TYPE", `Say what the file is: ${Object.keys(fileTypes).join(", ")}.`)
  );
}

const tooLarge = () => new ApiError("PAYLOAD_TOO_LARGE", "The file is larger than 64 MiB: send it in parts.");

/** The body as it comes in; throws where it is too large, stops coming, or breaks off. */
async function* bytesOf(request: Request): AsyncGenerator<Uint8Array> {
  const reader = request.body?.getReader();
  if (!reader) return;
  let length = 0;
  try {
    for (;;) {
      const part = await inTime(reader.read());
      if (part.done) return;
      length += part.value.length;
      if (length > largestFile) throw tooLarge();
      yield part.value;
    }
  } catch (error) {
    throw error instanceof ApiError ? error : invalid("body", "did not arrive whole");
  } finally {
    reader.cancel().catch(() => {});
  }
}

function inTime<Result>(work: Promise<Result>): Promise<Result> {
  let timer: ReturnType<typeof setTimeout>;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(invalid("body", "paused for more than 10 seconds")), longestPauseMs);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}

const isBadRecord = (error: unknown) => toApiError(error)?.code === "VALIDATION_ERROR";

/** What an import that could not go on says of it; the rest is for the log. */
const problemOf = (error: unknown) => {
  const known = toApiError(error);
  if (!known) return "Something went wrong on our side.";
  return known.details.map(({ field, message }) => `${field} ${message}`).join("; ") || known.message;
};

export const exchange = [
  longEndpoint({
    method: "post",
    path: "/admin/import",
    tag,
    access: "caller",
    scopes: [...scopes],
    summary: "Import a file of feedback; sent again, it makes nothing twice",
    query: importQuery,
    takes: Object.keys(fileTypes),
    answers: { 201: importAnswer },
    work: async ({ input: { query }, request, ask }) => {
      const type = fileTypeOf(request);
      if (typeof type !== "string") {
        await ask([]);
        throw type;
      }
      const [[started]] = await ask([startImport(query)]);
      if (!started) throw notFound("import");
      const { id } = started;
      const again = patient(ask);
      try {
        for await (const chunk of chunksOf(rowsOf(bytesOf(request), type), query))
          await writeChunk(chunk, (part) => again([runImport(id, part)]), isBadRecord);
      } catch (error) {
        await again([finishImport(id, problemOf(error))]).catch(() => {});
        throw error;
      }
      const [[ended]] = await again([finishImport(id, null)]);
      return answer(201, ended?.data ?? "null");
    },
  }),
  endpoint({
    method: "get",
    path: "/admin/imports",
    tag,
    access: "caller",
    scopes: [...scopes],
    summary: "List the newest 50 imports, as an admin",
    answers: { 200: importListAnswer },
    call: () => [listImports(null)],
    respond: ([[imports]]) => answer(200, imports?.data ?? "[]"),
  }),
  endpoint({
    method: "get",
    path: "/admin/imports/:id",
    tag,
    access: "caller",
    scopes: [...scopes],
    summary: "Show how far an import came, and what was wrong with which line",
    answers: { 200: importAnswer },
    call: ({ params }) => [listImports(params.id)],
    respond: ([[imports]]) => {
      const list = imports?.data ?? "[]";
      if (list === "[]") throw notFound("import");
      return answer(200, list.slice(1, -1));
    },
  }),
  endpoint({
    method: "get",
    path: "/admin/export",
    tag,
    access: "caller",
    scopes: [...scopes],
    summary: "Take a copy of the organization, with e-mail addresses; an import reads it again",
    query: exportQuery,
    gives: ["application/x-ndjson", "text/csv"],
    answers: { 200: exportAnswer },
    call: ({ query }) => [startExport(query.what ?? "all", query.format)],
    respond: (_, { query }) => ({
      status: 200,
      json: "",
      pieces: (ask) =>
        exportText(query, async (rows, after, most) => (await ask([exportPage(rows, after, most)]))[0][0]),
      headers: {
        "Content-Type": exportTypes[query.format],
        "Content-Disposition": `attachment; filename="${query.what ?? "feedback"}.${query.format}"`,
      },
    }),
  }),
];
