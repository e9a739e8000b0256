import { type ErrorCode, errors } from "../../shared/errors.ts";
import { type ApiError, toApiError } from "./api-error.ts";
import type { Answer } from "./endpoint.ts";
import { log } from "./log.ts";

/** The answer to any error; one nobody foresaw is logged whole and told by its request id alone. `lowercase` is the form of the submission-creation flow. */
export function refusal(error: unknown, requestId: string, lowercase: boolean): Answer {
  const known = toApiError(error);
  if (!known || known.code === "INTERNAL_ERROR") {
    log({ requestId, error });
    return refused(
      "INTERNAL_ERROR",
      "Something went wrong on our side.",
      [],
      { request_id: requestId },
      lowercase,
    );
  }
  if (known.code === "SERVICE_UNAVAILABLE") log({ requestId, error });
  const extra = known.code === "SERVICE_UNAVAILABLE" ? { request_id: requestId } : known.extra;
  return refused(known.code, known.message, known.details, extra, lowercase);
}

function refused(
  code: ErrorCode,
  message: string,
  details: ApiError["details"],
  extra: Record<string, unknown>,
  lowercase: boolean,
): Answer {
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
