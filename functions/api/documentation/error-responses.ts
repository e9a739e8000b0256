import { type ErrorStatus, errorCodes, errors } from "../../../shared/errors.ts";
import type { EndpointDescription } from "../../_shared/http/endpoint.ts";

/** Description of each error status. */
export const errorResponses: Record<ErrorStatus, { name: string; description: string }> = {
  400: { name: "ValidationError", description: "The request is not valid; `details` names each field." },
  401: { name: "Unauthorized", description: "The credential is missing, invalid, expired or revoked." },
  402: { name: "PlanLimitReached", description: "The organization has reached a limit of its plan." },
  403: { name: "Forbidden", description: "The caller may not do this, or the key lacks the scope." },
  404: { name: "NotFound", description: "The resource does not exist, or the caller may not see it." },
  405: { name: "MethodNotAllowed", description: "The path does not have this method; `Allow` names those it has." },
  409: { name: "Conflict", description: "The request conflicts with the current state; the code is more specific." },
  410: { name: "Gone", description: "The resource existed but has expired, or was used or revoked." },
  413: {
    name: "PayloadTooLarge",
    description: "The body is larger than 1 MiB, or a file to import larger than 64 MiB.",
  },
  415: { name: "UnsupportedMediaType", description: "The media type is not supported." },
  429: { name: "RateLimitExceeded", description: "Too many requests: retry after the seconds in `Retry-After`." },
  500: { name: "InternalError", description: "An internal error; report its `request_id` to the operator." },
  503: {
    name: "ServiceUnavailable",
    description: "The service is temporarily unavailable: retry after `Retry-After`.",
  },
};

// Resources with a plan limit.
const limitedByPlan = new Set([
  "/submissions",
  "/surveys",
  "/surveys/:id/versions",
  "/admin/import",
  "/organizations/:id/invites",
  "/invites/accept",
]);
// Resources with limited retention.
const passes = new Set(["/admin/events", "/invites/accept"]);

/** The error statuses of an operation in order. */
export function errorStatusesOf({
  method,
  path,
  access,
  body,
  bodyByKey,
  consumes,
}: EndpointDescription): ErrorStatus[] {
  const takesBody = body !== undefined || bodyByKey !== undefined || consumes !== undefined;
  const possible: Record<ErrorStatus, boolean> = {
    400: true,
    401: true,
    402: method === "post" && limitedByPlan.has(path),
    403: access !== "public",
    404: true,
    405: false,
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

/** The error codes of a status, for its description. */
export function codesOf(status: ErrorStatus): string {
  return errorCodes
    .filter((code) => errors[code].status === status)
    .map((code) => `\`${code}\``)
    .join(", ");
}
