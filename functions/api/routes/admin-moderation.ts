import { merge, mergedAnswer, unmerge, unmergedAnswer } from "../../../shared/moderation.ts";
import { answer, endpoint } from "../../_shared/endpoint.ts";
import { mergeSubmissions, unmergeSubmission } from "../../_shared/statements/moderation.ts";

const tag = "Moderation";

export const adminModeration = [
  endpoint({
    method: "post",
    path: "/admin/merge",
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
    tag,
    access: "caller",
    scopes: ["submissions:moderate"],
    summary: "Take a merge back, as an admin",
    body: unmerge,
    answers: { 200: unmergedAnswer },
    call: ({ body }) => [unmergeSubmission(body.submission_id)],
    respond: ([[unmerged]]) => answer(200, unmerged?.data ?? "null"),
  }),
];
