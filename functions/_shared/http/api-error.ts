import postgres from "postgres";
import type { z } from "zod";
import { type ErrorCode, errorOfSqlState, errors } from "../../../shared/errors.ts";
import { type ErrorDetail, validationDetails } from "../../../shared/validation.ts";

/** An error that is reported to the client, in either envelope. */
export class ApiError extends Error {
  constructor(
    readonly code: ErrorCode,
    message: string,
    readonly details: ErrorDetail[] = [],
    /** Extra members of the error object: retry_after in seconds, merged_into_id, request_id. */
    readonly extra: Record<string, unknown> = {},
    readonly headers: Record<string, string> = {},
  ) {
    super(message);
  }

  get status() {
    return errors[this.code].status;
  }
}

/** Input that a schema rejected, with the schema's issues, which pages translate. */
export class InvalidInput extends ApiError {
  constructor(readonly issues: readonly z.core.$ZodIssue[]) {
    super("VALIDATION_ERROR", "The request is not valid. See details.", validationDetails({ issues }));
  }
}

export const notFound = (what: string) => new ApiError("NOT_FOUND", `There is no such ${what}.`);
export const wrongMethod = (allowed: readonly string[]) =>
  new ApiError(
    "METHOD_NOT_ALLOWED",
    `This address accepts only ${allowed.join(", ")}.`,
    [],
    {},
    { Allow: allowed.join(", ") },
  );
export const forbidden = (message: string) => new ApiError("FORBIDDEN", message);
export const unavailable = () =>
  new ApiError("SERVICE_UNAVAILABLE", "The service is temporarily unavailable. Try again in a moment.");

// API errors for foreign key violations of validated input, which usually mean a concurrent delete.
const meaningOfReference: [suffix: string, ApiError][] = [
  ["_category_is_of_the_same_organization", invalid("category_id", "is not a category of this organization")],
  [
    "_parent_is_of_the_same_submission",
    new ApiError("NOT_FOUND", "The comment to reply to is not on this submission."),
  ],
  [
    "_audience_submission_is_of_the_same_organization",
    invalid("targeting.submission_id", "is not a submission of this organization"),
  ],
  ["_submission_is_of_the_same_organization", notFound("submission")],
  ["_comment_is_of_the_same_submission", notFound("comment")],
];

export function invalid(field: string, message: string): ApiError {
  return new ApiError("VALIDATION_ERROR", "The request is not valid. See details.", [{ field, message }]);
}

/** The API error to report; undefined for an unexpected error. */
export function toApiError(error: unknown): ApiError | undefined {
  if (error instanceof ApiError) return error;
  if (isConnectionFailure(error)) return unavailable();
  if (error instanceof postgres.PostgresError) return ofPostgres(error);
}

/** Whether the connection to the database is lost. */
export function isConnectionFailure(error: unknown): boolean {
  return error instanceof Error && "code" in error && connectionFailures.has(String(error.code));
}

const connectionFailures = new Set([
  "CONNECTION_CLOSED",
  "CONNECTION_ENDED",
  "CONNECTION_DESTROYED",
  "CONNECT_TIMEOUT",
  "ECONNREFUSED",
  "ECONNRESET",
  "EPIPE",
  "ETIMEDOUT",
  "ENOTFOUND",
  // SQLSTATEs that Postgres sends when it shuts down, has crashed or is starting.
  "57P01",
  "57P02",
  "57P03",
]);

function ofPostgres(error: postgres.PostgresError): ApiError | undefined {
  const code = errorOfSqlState(error.code);
  if (code) return raisedByUs(code, error);
  switch (error.code) {
    case "23503":
      return meaningOfReference.find(([suffix]) => error.constraint_name?.endsWith(suffix))?.[1];
    case "23505":
      return new ApiError("CONFLICT", "This already exists. Check it before you try again.");
    case "23514":
    case "22001":
    case "22P02":
    case "22P05":
    case "22021":
    case "22007":
    case "22008":
      return new ApiError("VALIDATION_ERROR", "The request is not valid.");
    case "42501":
      return forbidden("You do not have permission to do this.");
    case "57014": // statement timeout
    case "55P03": // lock timeout
    case "40P01":
    case "40001":
      return unavailable();
  }
  // Too many connections, connection exceptions, rejected logins and databases that do not accept connections.
  if (/^(08|25006|28|3D|40|53|57P|58)/.test(error.code)) return unavailable();
}

function raisedByUs(code: ErrorCode, error: postgres.PostgresError): ApiError | undefined {
  if (code === "INTERNAL_ERROR") return undefined;
  const {
    field,
    details = field ? [{ field, message: error.message }] : [],
    code: _,
    ...extra
  } = JSON.parse(error.detail ?? "{}") as { field?: string | null; details?: ErrorDetail[]; code?: string };
  return new ApiError(code, error.message, details, extra);
}
