import { applyOptions, importOptions } from "../../shared/import-fields.ts";
import { exportAnswer, exportQuery, type ImportQuery, importAnswer, importListAnswer } from "../../shared/imports.ts";
import { exportText, exportTypes } from "../_shared/files/export.ts";
import { runJob } from "../_shared/files/import/job.ts";
import {
  applyStored,
  importFile,
  type JobFile,
  problemOfType,
  receiveImport,
} from "../_shared/files/import/receive.ts";
import { ApiError, notFound } from "../_shared/http/api-error.ts";
import { bodyChunks, problemOfLength } from "../_shared/http/body.ts";
import { dataResponse, endpointsOf, row } from "../_shared/http/endpoint.ts";
import { cancelImport, exportPage, listImports, showImport, startExport } from "../_shared/statements/import-export.ts";

const { get, del, work } = endpointsOf({ tag: "Import and export", access: "caller" });
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
    return new ApiError("UNSUPPORTED_MEDIA_TYPE", `Set Content-Type to one of ${Object.keys(mediaTypes).join(", ")}.`);
  return problemOfType(type, format) ?? type;
}

export const importExport = [
  work("post", "/admin/import", {
    runsLong: true,
    scopes: [...scopes],
    summary: "Import a file of feedback (idempotent by external id)",
    query: importOptions,
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
  get("/admin/imports", {
    scopes: [...scopes],
    summary: "List the newest 50 imports, as an admin",
    responses: { 200: importListAnswer },
    call: () => [listImports()],
    respond: row("import"),
  }),
  work("post", "/admin/imports/:id/run", {
    runsLong: true,
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
  work("post", "/admin/imports/:id/apply", {
    scopes: [...scopes],
    summary: "Import the file of a completed dry run, which is stored for a day, or check it again",
    query: applyOptions,
    responses: { 202: importAnswer },
    work: async ({ input: { params, query }, execute }) =>
      dataResponse(202, await applyStored(params.id, query, execute)),
  }),
  get("/admin/imports/:id", {
    scopes: [...scopes],
    summary: "Show the progress and the errors of an import",
    responses: { 200: importAnswer },
    call: ({ params }) => [showImport(params.id)],
    respond: row("import"),
  }),
  del("/admin/imports/:id", {
    scopes: [...scopes],
    summary: "Cancel an unfinished import; written rows stay",
    responses: { 200: importAnswer },
    call: ({ params }) => [cancelImport(params.id)],
    respond: row("import"),
  }),
  get("/admin/export", {
    scopes: [...scopes],
    summary: "Export the organization with email addresses, for an import",
    query: exportQuery,
    produces: ["application/x-ndjson", "text/csv"],
    responses: { 200: exportAnswer },
    call: ({ query }) => [startExport(query.what ?? "all", query.format)],
    respond: (_, { query }) => ({
      status: 200,
      bodyStream: (execute) =>
        exportText(query, async (rows, after, limit) => (await execute([exportPage(rows, after, limit)]))[0][0]),
      headers: {
        "Content-Type": exportTypes[query.format],
        "Content-Disposition": `attachment; filename="${query.what ?? "feedback"}.${query.format}"`,
      },
    }),
  }),
];
