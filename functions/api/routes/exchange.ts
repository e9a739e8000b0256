import {
  exportAnswer,
  exportQuery,
  type ImportQuery,
  importAnswer,
  importListAnswer,
  importQuery,
} from "../../../shared/imports.ts";
import { ApiError, invalid, notFound } from "../../_shared/api-error.ts";
import { piecesOf, problemOfLength } from "../../_shared/body.ts";
import { answer, endpoint, longEndpoint } from "../../_shared/endpoint.ts";
import { exportText, exportTypes } from "../../_shared/export.ts";
import { problemOf } from "../../_shared/import/chunks.ts";
import { fiderRows } from "../../_shared/import/fider.ts";
import { filePieces, rowLines, runJob } from "../../_shared/import/job.ts";
import type { FileType, Row } from "../../_shared/import/rows.ts";
import { heldBytes } from "../../_shared/import/zip.ts";
import { patient } from "../../_shared/patient.ts";
import {
  beginImport,
  cancelImport,
  exportPage,
  finishImport,
  listImports,
  receiveImport,
  showImport,
  startExport,
  startImport,
} from "../../_shared/statements/exchange.ts";

const tag = "Import and export";
const scopes = ["submissions:moderate"] as const;

const fileTypes: Record<string, FileType | "zip"> = {
  "text/csv": "csv",
  "application/json": "json",
  "application/x-ndjson": "jsonl",
  "application/zip": "zip",
};
const file = {
  largest: 64 * 1024 * 1024,
  tooLarge: "The file is larger than 64 MiB: send it in parts.",
  timed: "piece",
} as const;
/** Bytes held of one zip with what is kept of it, and of all. */
const mostHeldOfOne = 1.5 * file.largest;
const mostHeld = 2 * file.largest;
/** An import that writes nothing for two minutes counts as broken off. */
const longestUploadMs = 100_000;
/** Hosted Supabase ends a request that used 2 s of CPU. */
const step = { chunks: 12, milliseconds: 1000 };

/** What the file is, or why it is not even begun with. */
function fileTypeOf(request: Request, format: ImportQuery["format"]): FileType | "zip" | ApiError {
  const problem = problemOfLength(request, file);
  if (problem) return problem;
  const [given = ""] = (request.headers.get("Content-Type") ?? "").split(";");
  const type = fileTypes[given.trim().toLowerCase()];
  if (type === "zip" && format !== "fider")
    return invalid("format", "must be fider for a zip: only Fider's backup is read from one");
  return (
    type ??
    new ApiError("UNSUPPORTED_MEDIA_TYPE", `Say what the file is: ${Object.keys(fileTypes).join(", ")}.`)
  );
}

let held = 0;

/** The rows of a zip, which is held whole: what it has is told at its end. */
async function* zipRows(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Row> {
  const whole = heldBytes();
  const endsAt = performance.now() + longestUploadMs;
  let own = 0;
  const hold = (size: number) => {
    if (own + size > mostHeldOfOne)
      throw new ApiError("PAYLOAD_TOO_LARGE", "The backup has more people and posts than are read at once.");
    if (held + size > mostHeld)
      throw new ApiError("SERVICE_UNAVAILABLE", "Other backups are being read: try again in a minute.");
    own += size;
    held += size;
  };
  try {
    for await (const part of bytes) {
      if (performance.now() > endsAt) throw invalid("body", "did not arrive within 100 seconds");
      hold(part.length);
      whole.add(part);
    }
    yield* fiderRows(whole, file.largest, hold);
  } finally {
    held -= own;
  }
}

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
    answers: { 202: importAnswer },
    work: async ({ input: { query }, request, ask }) => {
      const type = fileTypeOf(request, query.format);
      if (typeof type !== "string") {
        await ask([]);
        throw type;
      }
      const [[started]] = await ask([startImport(query, type === "zip" ? "rows" : type)]);
      if (!started) throw notFound("import");
      const { id } = started;
      const again = patient(ask);
      const bytes = piecesOf(request, file);
      try {
        let n = 0;
        for await (const piece of filePieces(type === "zip" ? rowLines(zipRows(bytes)) : bytes))
          await again([receiveImport(id, n++, piece)]);
      } catch (error) {
        await again([finishImport(id, problemOf(error))]).catch(() => {});
        throw error;
      }
      const [[begun]] = await again([beginImport(id)]);
      return answer(202, begun?.data ?? "null", undefined, { Location: `imports/${id}` });
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
    call: () => [listImports()],
    respond: ([[imports]]) => answer(200, imports?.data ?? "[]"),
  }),
  longEndpoint({
    method: "post",
    path: "/admin/imports/:id/run",
    tag,
    access: "caller",
    scopes: [...scopes],
    summary: "Go on with an import at once, for about a second",
    answers: { 200: importAnswer },
    work: async ({ input: { params }, ask }) => {
      await runJob(params.id, step, ask);
      const [[shown]] = await ask([showImport(params.id)]);
      if (!shown) throw notFound("import");
      return answer(200, shown.data);
    },
  }),
  endpoint({
    method: "get",
    path: "/admin/imports/:id",
    tag,
    access: "caller",
    scopes: [...scopes],
    summary: "Show how far an import came, and what was wrong with which line",
    answers: { 200: importAnswer },
    call: ({ params }) => [showImport(params.id)],
    respond: ([[shown]]) => {
      if (!shown) throw notFound("import");
      return answer(200, shown.data);
    },
  }),
  endpoint({
    method: "delete",
    path: "/admin/imports/:id",
    tag,
    access: "caller",
    scopes: [...scopes],
    summary: "Cancel an import that has not ended; what it wrote stays",
    answers: { 200: importAnswer },
    call: ({ params }) => [cancelImport(params.id)],
    respond: ([[canceled]]) => answer(200, canceled?.data ?? "null"),
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
