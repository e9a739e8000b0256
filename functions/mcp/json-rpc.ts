import type { z } from "zod";
import { errors } from "../../shared/errors.ts";
import { validationDetails } from "../../shared/validation.ts";
import { ApiError, toApiError } from "../_shared/http/api-error.ts";
import { log } from "../_shared/runtime/log.ts";

export type Id = string | number | null;
/** A call without id is a notification and gets no response. */
export type Call = { id?: Id; method: string; params: Record<string, unknown> };

/** An error defined by JSON-RPC, or an API error in JSON-RPC form. */
export class RpcError extends Error {
  constructor(
    readonly code: number,
    message: string,
    readonly data: Record<string, unknown>,
    /** HTTP status. */
    readonly status = 200,
    readonly headers: Record<string, string> = {},
  ) {
    super(message);
  }
}

const isInvalid = { code: "VALIDATION_ERROR" };
export const parseError = (message: string) => new RpcError(-32700, message, isInvalid, 400);
export const invalidRequest = (message: string) => new RpcError(-32600, message, isInvalid, 400);
export const methodNotFound = (message: string) => new RpcError(-32601, message, { code: "NOT_FOUND" });
export const invalidParams = (messages: string[], data: Record<string, unknown> = {}) =>
  new RpcError(-32602, "Invalid params", { ...isInvalid, validation_errors: messages, ...data });

const maxRepeated = 255;

/** Parses the call in a body; returns an error if it is not valid. */
export function readCall(body: unknown): Call | RpcError {
  if (Array.isArray(body)) return invalidRequest("Batches are not supported. Send one call per request.");
  if (typeof body !== "object" || body === null) return invalidRequest("A call must be a JSON object.");
  const { jsonrpc, id, method, params: sent } = body as Record<string, unknown>;
  const params = sent ?? {};
  if (jsonrpc !== "2.0") return invalidRequest('jsonrpc must be "2.0".');
  if (id !== undefined && !isId(id))
    return invalidRequest(`id must be null, a number, or a string of at most ${maxRepeated} characters.`);
  if (typeof method !== "string") return invalidRequest("method must be a string.");
  if (typeof params !== "object") return invalidRequest("params must be an object.");
  if (Array.isArray(params)) return invalidParams(["params must be an object with named arguments"]);
  return { ...("id" in body && { id: id as Id }), method, params: params as Record<string, unknown> };
}

/** The id of a call; null if it cannot be determined, undefined for a notification. */
export function idOf(body: unknown): Id | undefined {
  if (typeof body !== "object" || body === null || Array.isArray(body)) return null;
  const { id, method } = body as Record<string, unknown>;
  if (id === undefined && typeof method === "string") return undefined;
  return isId(id) ? id : null;
}

function isId(id: unknown): id is Id {
  return id === null || typeof id === "number" || (typeof id === "string" && isRepeatable(id));
}

/** Whether a text is short enough for answers that repeat it. */
export const isRepeatable = (text: unknown) => typeof text !== "string" || text.length <= maxRepeated;

/** Converts any error to JSON-RPC. Unexpected errors are logged with details and reported with the request id only. */
export function toRpcError(error: unknown, requestId: string): RpcError {
  if (error instanceof RpcError) return error;
  const known = toApiError(error) ?? new ApiError("INTERNAL_ERROR", "An internal error occurred.");
  if (errors[known.code].jsonRpc === -32603) {
    log({ requestId, error });
    return new RpcError(-32603, known.code === "INTERNAL_ERROR" ? "Internal error" : known.message, {
      code: known.code,
      request_id: requestId,
    });
  }
  const { code, message, details, extra, headers } = known;
  const { jsonRpc, status } = errors[code];
  const wait = extra.retry_after;
  return new RpcError(
    jsonRpc,
    message,
    {
      code,
      ...extra,
      ...(jsonRpc === -32602 && {
        validation_errors: details.length ? details.map(({ field, message }) => `${field} ${message}`) : [message],
      }),
    },
    statuses[jsonRpc] ?? (jsonRpc === -32600 ? status : 200),
    { ...headers, ...(wait ? { "Retry-After": String(wait) } : {}) },
  );
}

const statuses: Record<number, number> = { [-32000]: 401, [-32001]: 403, [-32002]: 429 };

export function messagesOf(error: z.ZodError): string[] {
  return validationDetails(error).map(({ field, message }) => `${field} ${message}`);
}
