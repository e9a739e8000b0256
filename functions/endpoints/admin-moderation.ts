import type { z } from "zod";
import {
  bulk,
  bulkAnswer,
  type bulkResult,
  merge,
  mergedAnswer,
  moderation,
  moderationAnswer,
  moderationQuery,
  moderationQueueAnswer,
  unmerge,
  unmergedAnswer,
} from "../../shared/moderation.ts";
import { nextCursor } from "../_shared/http/cursor.ts";
import { dataResponse, endpoint } from "../_shared/http/endpoint.ts";
import {
  changeMany,
  mergeSubmissions,
  moderate,
  moderationQueue,
  unmergeSubmission,
} from "../_shared/statements/moderation.ts";

const tag = "Moderation";

export const adminModeration = [
  endpoint({
    method: "post",
    path: "/admin/merge",
    runsLong: true,
    tag,
    access: "caller",
    scopes: ["submissions:moderate"],
    summary: "Merge submissions into another, as an admin",
    body: merge,
    responses: { 200: mergedAnswer },
    call: ({ body }) => [mergeSubmissions(body)],
    respond: ([[merged]]) => dataResponse(200, merged?.data ?? "null"),
  }),
  endpoint({
    method: "post",
    path: "/admin/unmerge",
    runsLong: true,
    tag,
    access: "caller",
    scopes: ["submissions:moderate"],
    summary: "Undo a merge, as an admin",
    body: unmerge,
    responses: { 200: unmergedAnswer },
    call: ({ body }) => [unmergeSubmission(body.submission_id)],
    respond: ([[unmerged]]) => dataResponse(200, unmerged?.data ?? "null"),
  }),
  endpoint({
    method: "get",
    path: "/admin/moderation",
    tag,
    access: "caller",
    scopes: ["submissions:moderate"],
    summary: "List pending, rejected and spam content, as an admin",
    query: moderationQuery,
    responses: { 200: moderationQueueAnswer },
    call: ({ query }) => [moderationQueue(query)],
    respond: ([[page]]) =>
      dataResponse(200, page?.data ?? "[]", {
        total: page?.total ?? 0,
        next_cursor: page ? nextCursor(page, "created_at", "asc") : null,
      }),
  }),
  endpoint({
    method: "post",
    path: "/admin/moderation",
    tag,
    access: "caller",
    scopes: ["submissions:moderate"],
    summary: "Approve, reject or mark as spam, as an admin",
    body: moderation,
    responses: { 200: moderationAnswer },
    call: ({ body }) => [moderate(body)],
    respond: ([[done]]) => dataResponse(200, done?.data ?? "null"),
  }),
  endpoint({
    method: "post",
    path: "/admin/bulk",
    runsLong: true,
    tag,
    access: "caller",
    scopes: ["submissions:moderate"],
    summary: "Change many submissions, with a result for each, as an admin",
    body: bulk,
    responses: { 200: bulkAnswer },
    call: ({ body }) => [changeMany(body)],
    respond: ([[done]]) => {
      const results = JSON.parse(done?.data ?? "[]") as z.infer<typeof bulkResult>[];
      const succeeded = results.filter(({ ok }) => ok).length;
      return dataResponse(200, JSON.stringify(results), { succeeded, failed: results.length - succeeded });
    },
  }),
];
