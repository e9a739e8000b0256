import {
  exportAnswer,
  exportQuery,
  type ImportQuery,
  importAnswer,
  importListAnswer,
  importQuery,
} from "../../shared/imports.ts";
import { exportText, exportTypes } from "../_shared/files/export.ts";
import { runJob } from "../_shared/files/import/job.ts";
import { importFile, type JobFile, problemOfType, receiveImport } from "../_shared/files/import/receive.ts";
import { ApiError, notFound } from "../_shared/http/api-error.ts";
import { bodyChunks, problemOfLength } from "../_shared/http/body.ts";
import { dataResponse, endpoint, longEndpoint } from "../_shared/http/endpoint.ts";
import {
  applyImport,
  cancelImport,
  exportPage,
  listImports,
  showImport,
  startExport,
} from "../_shared/statements/import-export.ts";

const tag = "Import and export";
const scopes = ["submissions:moderate"] as const;

const mediaTypes: Record<string, JobFile> = {
  "text/csv": "csv",
  "application/json": "json",
  "application/x-ndjson": "jsonl",
  "application/zip": "zip",
};
/** Hosted Supabase stops a request after 2 s of CPU. */
const step = { chunks: 12, milliseconds: 1000 };

/** The type of the file, or the error that rejects it. */
function fileTypeOf(request: Request, format: ImportQuery["format"]): JobFile | ApiError {
  const problem = problemOfLength(request, importFile);
  if (problem) return problem;
  const [given = ""] = (request.headers.get("Content-Type") ?? "").split(";");
  const type = mediaTypes[given.trim().toLowerCase()];
  if (!type)
    return new ApiError(
      "UNSUPPORTED_MEDIA_TYPE",
      `Say what the file is: ${Object.keys(mediaTypes).join(", ")}.`,
    );
  return problemOfType(type, format) ?? type;
}

export const importExport = [
  longEndpoint({
    method: "post",
    path: "/admin/import",
    tag,
    access: "caller",
    scopes: [...scopes],
    summary: "Import a file of feedback (idempotent by external id)",
    query: importQuery,
    consumes: Object.keys(mediaTypes),
    responses: { 202: importAnswer },
    work: async ({ input: { query }, request, execute }) => {
      const type = fileTypeOf(request, query.format);
      if (typeof type !== "string") {
        await execute([]);
        throw type;
      }
      const { id, data } = await receiveImport(query, type, bodyChunks(request, importFile), execute);
      return dataResponse(202, data, undefined, { Location: `imports/${id}` });
    },
  }),
  endpoint({
    method: "get",
    path: "/admin/imports",
    tag,
    access: "caller",
    scopes: [...scopes],
    summary: "List the newest 50 imports, as an admin",
    responses: { 200: importListAnswer },
    call: () => [listImports()],
    respond: ([[imports]]) => dataResponse(200, imports?.data ?? "[]"),
  }),
  longEndpoint({
    method: "post",
    path: "/admin/imports/:id/run",
    tag,
    access: "caller",
    scopes: [...scopes],
    summary: "Run an import for about a second",
    responses: { 200: importAnswer },
    work: async ({ input: { params }, execute }) => {
      await runJob(params.id, step, execute);
      const [[shown]] = await execute([showImport(params.id)]);
      if (!shown) throw notFound("import");
      return dataResponse(200, shown.data);
    },
  }),
  endpoint({
    method: "post",
    path: "/admin/imports/:id/apply",
    tag,
    access: "caller",
    scopes: [...scopes],
    summary: "Import the file of a completed dry run, which is stored for a day",
    responses: { 202: importAnswer },
    call: ({ params }) => [applyImport(params.id)],
    respond: ([[begun]]) => dataResponse(202, begun?.data ?? "null"),
  }),
  endpoint({
    method: "get",
    path: "/admin/imports/:id",
    tag,
    access: "caller",
    scopes: [...scopes],
    summary: "Show the progress and the errors of an import",
    responses: { 200: importAnswer },
    call: ({ params }) => [showImport(params.id)],
    respond: ([[shown]]) => {
      if (!shown) throw notFound("import");
      return dataResponse(200, shown.data);
    },
  }),
  endpoint({
    method: "delete",
    path: "/admin/imports/:id",
    tag,
    access: "caller",
    scopes: [...scopes],
    summary: "Cancel an unfinished import; written rows stay",
    responses: { 200: importAnswer },
    call: ({ params }) => [cancelImport(params.id)],
    respond: ([[canceled]]) => dataResponse(200, canceled?.data ?? "null"),
  }),
  endpoint({
    method: "get",
    path: "/admin/export",
    tag,
    access: "caller",
    scopes: [...scopes],
    summary: "Export the organization with e-mail addresses, for an import",
    query: exportQuery,
    produces: ["application/x-ndjson", "text/csv"],
    responses: { 200: exportAnswer },
    call: ({ query }) => [startExport(query.what ?? "all", query.format)],
    respond: (_, { query }) => ({
      status: 200,
      bodyStream: (execute) =>
        exportText(
          query,
          async (rows, after, limit) => (await execute([exportPage(rows, after, limit)]))[0][0],
        ),
      headers: {
        "Content-Type": exportTypes[query.format],
        "Content-Disposition": `attachment; filename="${query.what ?? "feedback"}.${query.format}"`,
      },
    }),
  }),
];
