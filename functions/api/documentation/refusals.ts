import { type ErrorStatus, errorCodes, errors } from "../../../shared/errors.ts";
import type { DocumentedEndpoint } from "./model.ts";

/** What each status means, whatever the operation. */
export const refusals: Record<ErrorStatus, { name: string; description: string }> = {
  400: { name: "ValidationError", description: "The request is not valid; `details` names each field." },
  401: { name: "Unauthorized", description: "No credential where one is needed, or one that is no good." },
  402: { name: "PlanLimitReached", description: "The organization's plan allows no more." },
  403: { name: "Forbidden", description: "The caller may not do this, or the key lacks the scope." },
  404: { name: "NotFound", description: "There is no such thing, or the caller may not see it." },
  409: { name: "Conflict", description: "It does not fit the state of things; the code says how." },
  410: { name: "Gone", description: "It was there and is no longer." },
  413: { name: "PayloadTooLarge", description: "The body is larger than 1 MiB, or an import than 64 MiB." },
  415: {
    name: "UnsupportedMediaType",
    description: "The body is not JSON, or not of a type an import takes.",
  },
  429: { name: "RateLimitExceeded", description: "Too many requests: wait as long as `Retry-After` says." },
  500: { name: "InternalError", description: "Something went wrong on our side; `request_id` names it." },
  503: { name: "ServiceUnavailable", description: "The service cannot answer just now: try again." },
};

// What a plan of the organization counts.
const limitedByPlan = new Set([
  "/submissions",
  "/surveys",
  "/surveys/:id/versions",
  "/admin/import",
  "/organizations/:id/invites",
  "/invites/accept",
]);
// What is kept for a while.
const passes = new Set(["/admin/events", "/invites/accept"]);

/** The refusals an operation can meet, in the order of their statuses. */
export function statusesOfRefusals({
  method,
  path,
  access,
  query,
  body,
  bodyByKey,
  takes,
}: DocumentedEndpoint): ErrorStatus[] {
  const takesBody = body !== undefined || bodyByKey !== undefined || takes !== undefined;
  const possible: Record<ErrorStatus, boolean> = {
    400: takesBody || query !== undefined,
    401: true,
    402: method === "post" && limitedByPlan.has(path),
    403: access !== "public",
    404: true,
    409: method !== "get" && (access !== "person" || /^\/(organizations|surveys|admin|me$)/.test(path)),
    410: passes.has(path),
    413: takesBody,
    415: takesBody,
    429: true,
    500: true,
    503: true,
  };
  return (Object.keys(possible).map(Number) as ErrorStatus[]).filter((status) => possible[status]);
}

/** The codes that answer with a status, for a description. */
export function codesOf(status: ErrorStatus): string {
  return errorCodes
    .filter((code) => errors[code].status === status)
    .map((code) => `\`${code}\``)
    .join(", ");
}
