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
} from "../../../shared/moderation.ts";
import { nextCursor } from "../../_shared/cursor.ts";
import { answer, endpoint } from "../../_shared/endpoint.ts";
import {
  changeMany,
  mergeSubmissions,
  moderate,
  moderationQueue,
  unmergeSubmission,
} from "../../_shared/statements/moderation.ts";

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
    answers: { 200: mergedAnswer },
    call: ({ body }) => [mergeSubmissions(body)],
    respond: ([[merged]]) => answer(200, merged?.data ?? "null"),
  }),
  endpoint({
    method: "post",
    path: "/admin/unmerge",
    runsLong: true,
    tag,
    access: "caller",
    scopes: ["submissions:moderate"],
    summary: "Take a merge back, as an admin",
    body: unmerge,
    answers: { 200: unmergedAnswer },
    call: ({ body }) => [unmergeSubmission(body.submission_id)],
    respond: ([[unmerged]]) => answer(200, unmerged?.data ?? "null"),
  }),
  endpoint({
    method: "get",
    path: "/admin/moderation",
    tag,
    access: "caller",
    scopes: ["submissions:moderate"],
    summary: "List what waits for approval or was turned away, as an admin",
    query: moderationQuery,
    answers: { 200: moderationQueueAnswer },
    call: ({ query }) => [moderationQueue(query)],
    respond: ([[page]]) =>
      answer(200, page?.data ?? "[]", {
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
    answers: { 200: moderationAnswer },
    call: ({ body }) => [moderate(body)],
    respond: ([[done]]) => answer(200, done?.data ?? "null"),
  }),
  endpoint({
    method: "post",
    path: "/admin/bulk",
    runsLong: true,
    tag,
    access: "caller",
    scopes: ["submissions:moderate"],
    summary: "Change many submissions, with a result each, as an admin",
    body: bulk,
    answers: { 200: bulkAnswer },
    call: ({ body }) => [changeMany(body)],
    respond: ([[done]]) => {
      const results = JSON.parse(done?.data ?? "[]") as z.infer<typeof bulkResult>[];
      const succeeded = results.filter(({ ok }) => ok).length;
      return answer(200, JSON.stringify(results), { succeeded, failed: results.length - succeeded });
    },
  }),
];
