import { randomUUID } from "node:crypto";
import type { ServerResponse } from "node:http";
import { rateHeaders } from "../../functions/_shared/rate-headers.ts";
import type { ErrorCode } from "../../shared/errors.ts";

export interface Refusal {
  status: number;
  code: ErrorCode;
  message: string;
  /** Seconds. */
  retryAfter?: number;
  headers?: Record<string, string>;
  /** Whose clients read it: those of auth and the data API look for a message at the top. */
  form?: "api" | "auth" | "rest";
}

export const nothingHere: Refusal = {
  status: 404,
  code: "NOT_FOUND",
  message: "There is nothing at this address.",
};

export const malformed: Refusal = {
  status: 400,
  code: "VALIDATION_ERROR",
  message: "The address or the Host header is malformed: percent-encode the address.",
};

export const isDown = (what: string): Refusal => ({
  status: 503,
  code: "SERVICE_UNAVAILABLE",
  message: `${what} not running; try again shortly.`,
  retryAfter: 1,
});

export const tooMany = (message: string, retryAfter: number): Refusal => ({
  status: 429,
  code: "RATE_LIMIT_EXCEEDED",
  message,
  retryAfter,
});

export function refuse(response: ServerResponse, refusal: Refusal): void {
  const { status, retryAfter, headers } = refusal;
  if (response.headersSent) return void response.destroy();
  dropBody(response);
  const requestId = randomUUID();
  const body = JSON.stringify(bodyOf(refusal, requestId));
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

/** Takes the rest of a body, so that the client gets to read the answer, but not for long. */
function dropBody({ req }: ServerResponse): void {
  if (req.complete) return;
  req.resume();
  const timer = setTimeout(() => req.destroy(), 2_000);
  req.once("close", () => clearTimeout(timer));
}

function bodyOf({ status, code, message, retryAfter, form = "api" }: Refusal, requestId: string): object {
  if (form === "rest") return { code, message, details: null, hint: null };
  if (form === "auth") return { code: status, error_code: code.toLowerCase(), msg: message };
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
