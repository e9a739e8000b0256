import { type ErrorCode, errors } from "../../../shared/errors.ts";
import { log } from "../runtime/log.ts";
import { type ApiError, toApiError } from "./api-error.ts";
import type { JsonResponse } from "./endpoint.ts";

/**
 * The response for an error. Unexpected errors are logged with details and reported with the request id only.
 * `lowercase` selects the envelope of the submission flow.
 */
export function errorResponse(error: unknown, requestId: string, lowercase: boolean): JsonResponse {
  const known = toApiError(error);
  if (!known || known.code === "INTERNAL_ERROR") {
    log({ requestId, error });
    return envelopeOf("INTERNAL_ERROR", "An internal error occurred.", [], { request_id: requestId }, lowercase);
  }
  if (known.code === "SERVICE_UNAVAILABLE") log({ requestId, error });
  const extra = known.code === "SERVICE_UNAVAILABLE" ? { request_id: requestId } : known.extra;
  const response = envelopeOf(known.code, known.message, known.details, extra, lowercase);
  return { ...response, headers: { ...response.headers, ...known.headers } };
}

function envelopeOf(
  code: ErrorCode,
  message: string,
  details: ApiError["details"],
  extra: Record<string, unknown>,
  lowercase: boolean,
): JsonResponse {
  const body = lowercase
    ? {
        error: errors[code].lowercase,
        ...(code === "VALIDATION_ERROR" && { details }),
        ...(code === "RATE_LIMIT_EXCEEDED" && extra),
      }
    : { error: { code, message, details, ...extra } };
  const wait = code === "SERVICE_UNAVAILABLE" ? 1 : extra.retry_after;
  return {
    status: errors[code].status,
    json: JSON.stringify(body),
    headers: wait ? { "Retry-After": String(wait) } : {},
  };
}
