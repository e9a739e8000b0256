import { z } from "zod";
import {
  deletedAnswer,
  duplicateCheck,
  duplicatesAnswer,
  expandedSubmissionListQuery,
  statusChangeAnswer,
  statusChangeCreate,
  statusChangeListAnswer,
  submissionCreate,
  submissionCreateByKey,
  submissionCreatedAnswer,
  submissionCreatedByKey,
  submissionDetailAnswer,
  submissionDetailQuery,
  submissionListAnswer,
  submissionPatch,
  submissionSearchAnswer,
  submissionSearchQuery,
} from "../../shared/submissions.ts";
import { forbidden, notFound } from "../_shared/http/api-error.ts";
import { foundMeta, listMeta, nextCursor } from "../_shared/http/cursor.ts";
import { dataResponse, endpointsOf } from "../_shared/http/endpoint.ts";
import { submissionPage } from "../_shared/http/web-pages.ts";
import {
  changeStatus,
  createdSubmission,
  createSubmission,
  deleteSubmission,
  findSubmission,
  listSubmissions,
  requireAdminOf,
  searchSubmissions,
  similarSubmissions,
  statusHistory,
  submissionDetail,
  unchangedStatus,
  updateSubmission,
} from "../_shared/statements/submissions.ts";

const { get, post, patch, del } = endpointsOf({ tag: "Submissions", access: "public" });
const missing = () => notFound("submission");
const localizedHeaders = (locale: string) => ({ "Content-Language": locale, Vary: "Accept-Language" });

export const submissions = [
  get("/submissions", {
    summary: "List submissions, filtered and sorted",
    query: expandedSubmissionListQuery,
    responses: { 200: submissionListAnswer },
    call: ({ query, locale }) => [listSubmissions(query, { expand: query.expand, locale })],
    respond: ([[page]], { query, locale }) => {
      if (!page) throw missing();
      // Tools of agents expand nothing.
      const headers = query.expand?.length > 0 ? localizedHeaders(locale) : {};
      return dataResponse(200, page.data, listMeta(page, query, query.sort, query.order), headers);
    },
  }),
  get("/submissions/search", {
    summary: "Search titles and descriptions, best first",
    query: submissionSearchQuery,
    responses: { 200: submissionSearchAnswer },
    call: ({ query }) => [searchSubmissions(query)],
    respond: ([[found]], { query }) => {
      if (!found) throw missing();
      const { data, total, total_is_capped } = found;
      return dataResponse(200, data, {
        query: query.q,
        total,
        ...(total_is_capped && { total_is_capped }),
        ...foundMeta(found),
        next_cursor: nextCursor(found, "relevance", "desc"),
      });
    },
  }),
  post("/submissions/check-duplicates", {
    operation: "duplicate_check",
    summary: "Find submissions similar to a draft",
    body: duplicateCheck,
    responses: { 200: duplicatesAnswer },
    call: ({ body }) => [similarSubmissions(body.title, body.description, body.limit)],
    respond: ([[similar]]) => {
      const list = similar?.data ?? "[]";
      return dataResponse(200, `{"has_duplicates":${list !== "[]"},"similar":${list}}`);
    },
  }),
  post("/submissions", {
    access: "caller",
    scopes: ["submissions:write"],
    operation: "submission_create",
    summary: "Submit an idea or a problem",
    body: submissionCreate,
    bodyByKey: submissionCreateByKey,
    lowercaseErrorsToKeys: true,
    responses: { 201: z.union([submissionCreatedAnswer, submissionCreatedByKey]) },
    call: ({ newId, body, byKey }) => [
      createSubmission(newId, body, byKey),
      createdSubmission(newId, submissionPage(newId)),
    ],
    respond: ([, [created]], { newId, byKey }) => {
      if (byKey) return { status: 201, json: JSON.stringify({ id: newId, url: submissionPage(newId) }) };
      if (!created) throw missing();
      return dataResponse(201, created.data);
    },
  }),
  get("/submissions/:id", {
    summary: "Show a submission",
    query: submissionDetailQuery,
    responses: { 200: submissionDetailAnswer },
    call: ({ params, query, locale }) => [submissionDetail(params.id, query.expand, locale)],
    respond: ([[shown]], { locale }) => {
      if (!shown) throw missing();
      return dataResponse(200, shown.data, undefined, localizedHeaders(locale));
    },
  }),
  patch("/submissions/:id", {
    access: "caller",
    scopes: ["submissions:write", "submissions:moderate"],
    operation: "submission_update",
    summary: "Edit a submission, as its author or an admin",
    body: submissionPatch,
    responses: { 200: submissionDetailAnswer },
    call: ({ params, body, locale }) => [updateSubmission(params.id, body), submissionDetail(params.id, [], locale)],
    respond: ([updated, [shown]]) => {
      if (!shown) throw missing();
      if (updated.length === 0) throw forbidden("Only its author and the organization's admins can edit a submission.");
      return dataResponse(200, shown.data);
    },
  }),
  del("/submissions/:id", {
    access: "caller",
    scopes: ["submissions:write", "submissions:moderate"],
    summary: "Delete a submission with its votes and comments, as its author or an admin",
    responses: { 200: deletedAnswer },
    call: ({ params }) => [deleteSubmission(params.id), findSubmission(params.id)],
    respond: ([deleted, remaining]) => {
      if (deleted.length === 0)
        throw remaining.length
          ? forbidden("Only its author and the organization's admins can delete a submission.")
          : missing();
      return dataResponse(200, `{"deleted":true}`);
    },
  }),
  patch("/submissions/:id/status", {
    access: "caller",
    scopes: ["submissions:moderate"],
    summary: "Change the status, as an admin",
    body: statusChangeCreate,
    responses: { 200: statusChangeAnswer },
    call: ({ params, body }) => [requireAdminOf(params.id), changeStatus(params.id, body), unchangedStatus(params.id)],
    respond: ([admin, [changed], [unchanged]]) => {
      const state = changed ?? unchanged;
      if (admin.length === 0 || !state) throw missing();
      return dataResponse(200, state.data);
    },
  }),
  get("/submissions/:id/status-changes", {
    summary: "List the status history, newest first",
    responses: { 200: statusChangeListAnswer },
    call: ({ params }) => [findSubmission(params.id), statusHistory(params.id)],
    respond: ([found, [history]]) => {
      if (found.length === 0) throw missing();
      return dataResponse(200, history?.data ?? "[]");
    },
  }),
];
