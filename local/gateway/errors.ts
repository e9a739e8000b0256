import { randomUUID } from "node:crypto";
import type { ServerResponse } from "node:http";
import { rateHeaders } from "../../functions/_shared/http/rate-headers.ts";
import type { ErrorCode } from "../../shared/errors.ts";

export interface GatewayError {
  status: number;
  code: ErrorCode;
  message: string;
  /** Seconds. */
  retryAfter?: number;
  headers?: Record<string, string>;
  /** Format for the client: clients of auth and the data API read a top-level message. */
  form?: "api" | "auth" | "rest";
  /** For clients of the data API; `postgrestCode` replaces `code`. */
  postgrestCode?: string;
  /** For clients of auth; replaces `code`. */
  authCode?: string;
  hint?: string;
}

export const unknownPath: GatewayError = { status: 404, code: "NOT_FOUND", message: "The route does not exist." };

export const malformedRequest: GatewayError = {
  status: 400,
  code: "VALIDATION_ERROR",
  message: "The URL or the Host header is malformed: percent-encode the URL.",
};

export const lateBody = (withinMs: number): GatewayError => ({
  status: 400,
  code: "VALIDATION_ERROR",
  message: `The body did not arrive within ${withinMs / 1000} seconds.`,
});

export const serviceUnavailable = (what: string): GatewayError => ({
  status: 503,
  code: "SERVICE_UNAVAILABLE",
  message: `${what} not running; try again shortly.`,
  retryAfter: 1,
});

export const tooManyRequests = (message: string, retryAfter: number): GatewayError => ({
  status: 429,
  code: "RATE_LIMIT_EXCEEDED",
  message,
  retryAfter,
});

export const tooMuchHeld = tooManyRequests(
  "Too many bodies and responses are in transit: read the earlier responses first.",
  1,
);

export function sendError(response: ServerResponse, error: GatewayError): void {
  const { status, retryAfter, headers } = error;
  if (response.headersSent) return void response.destroy();
  const requestId = randomUUID();
  const body = JSON.stringify(bodyOf(error, requestId));
  response.writeHead(status, {
    ...headers,
    ...rateHeaders(),
    ...(retryAfter !== undefined && { "retry-after": String(retryAfter) }),
    "x-request-id": requestId,
    "content-type": "application/json; charset=utf-8",
    "content-length": Buffer.byteLength(body),
  });
  response.end(body);
}

function bodyOf(
  { status, code, postgrestCode = code, authCode = code, message, hint, retryAfter, form = "api" }: GatewayError,
  requestId: string,
): object {
  if (form === "rest") return { code: postgrestCode, message, details: null, hint: hint ?? null };
  if (form === "auth") return { code: status, error_code: authCode.toLowerCase(), msg: message };
  return {
    error: {
      code,
      message,
      details: [],
      ...(status === 429 && { retry_after: retryAfter }),
      ...(status === 503 && { request_id: requestId }),
    },
  };
}
