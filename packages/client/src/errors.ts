import type { components } from "./schema.ts";

type Envelope = components["schemas"]["Error"];
type LowercaseEnvelope = components["schemas"]["LowercaseError"];

/** An invalid field: its path in the request, such as `answers.0.value`, and a message that tells how to fix it. */
export type FieldError = components["schemas"]["ErrorDetail"];

/**
 * The service's error codes, and two of the client: NETWORK_ERROR (no response arrived; the request may have had its
 * effect) and UNEXPECTED_RESPONSE (not a response of the service, such as a proxy's page).
 */
export type FeedbackErrorCode = Envelope["error"]["code"] | "NETWORK_ERROR" | "UNEXPECTED_RESPONSE";

/**
 * The error of a failed call. Calls return it as `error`; iterators throw it. If no response arrived, `cause` is the
 * error of fetch.
 *
 * @example
 * ```ts
 * import { createFeedbackClient } from "@feedback-collection-service/client";
 *
 * const feedback = createFeedbackClient({ url: "https://feedback.example.com", token: "fcs_usr_…" });
 * const { error } = await feedback.POST("/api/submissions", {
 *   body: { type: "idea", title: "Dark theme", description: "White screens are too bright at night." },
 * });
 * if (error?.code === "VALIDATION_ERROR") for (const { field, message } of error.details) console.log(field, message);
 * else if (error?.retryAfter) console.log(`Try again in ${error.retryAfter} seconds.`);
 * ```
 */
export class FeedbackError extends Error {
  override readonly name = "FeedbackError";
  /** The kind of failure. Test the code, not the message. */
  readonly code: FeedbackErrorCode;
  /** HTTP status; 0 without a response. */
  readonly status: number;
  /** The invalid fields of a VALIDATION_ERROR. */
  readonly details: readonly FieldError[];
  /** Seconds to wait, with RATE_LIMIT_EXCEEDED and SERVICE_UNAVAILABLE. */
  readonly retryAfter: number | undefined;
  /** The merge target, with SUBMISSION_MERGED. */
  readonly mergedIntoId: string | undefined;
  /** X-Request-Id, to report to the operator. */
  readonly requestId: string | undefined;

  /** For your own tests; calls create the error from a response. */
  constructor(
    code: FeedbackErrorCode,
    message: string,
    given: {
      status?: number;
      details?: readonly FieldError[];
      retryAfter?: number | undefined;
      mergedIntoId?: string | undefined;
      requestId?: string | undefined;
      cause?: unknown;
    } = {},
  ) {
    super(message, { cause: given.cause });
    this.code = code;
    this.status = given.status ?? 0;
    this.details = given.details ?? [];
    this.retryAfter = given.retryAfter;
    this.mergedIntoId = given.mergedIntoId;
    this.requestId = given.requestId;
  }
}

/** The error in a response that is not a success. */
export function errorOf(response: Response, body: unknown): FeedbackError {
  const wait = Number(response.headers.get("Retry-After") ?? Number.NaN);
  const common = {
    status: response.status,
    retryAfter: Number.isFinite(wait) ? wait : undefined,
    requestId: response.headers.get("X-Request-Id") ?? undefined,
  };
  const { error, details } = (body && typeof body === "object" ? body : {}) as Partial<
    Envelope | (LowercaseEnvelope & { error: string })
  > & { details?: readonly FieldError[] };
  // The form in which a key learns why it could not create a submission.
  if (typeof error === "string")
    return new FeedbackError(codeOf(error), messageOf(error, details), { ...common, details: details ?? [] });
  if (error?.code)
    return new FeedbackError(error.code, error.message, {
      ...common,
      details: error.details,
      mergedIntoId: error.merged_into_id,
    });
  return new FeedbackError("UNEXPECTED_RESPONSE", `The response has status ${response.status}.`, common);
}

const codeOf = (lowercase: string) =>
  (lowercase === "rate_limited" ? "RATE_LIMIT_EXCEEDED" : lowercase.toUpperCase()) as FeedbackErrorCode;

const messageOf = (code: string, details: readonly FieldError[] = []) =>
  details.map(({ field, message }) => `${field}: ${message}`).join("; ") || code.replaceAll("_", " ");
