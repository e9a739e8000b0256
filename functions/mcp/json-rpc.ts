import type { z } from "zod";
import { errors } from "../../shared/errors.ts";
import { validationDetails } from "../../shared/validation.ts";
import { ApiError, toApiError } from "../_shared/api-error.ts";
import { log } from "../_shared/log.ts";

export type Id = string | number | null;
/** Without an id it is a notification, which is never answered. */
export type Call = { id?: Id; method: string; params: Record<string, unknown> };

/** A refusal by JSON-RPC's own rules, or one of the service in JSON-RPC's form. */
export class RpcError extends Error {
  constructor(
    readonly code: number,
    message: string,
    readonly data?: Record<string, unknown>,
    /** Of the HTTP answer. */
    readonly status = 200,
    readonly headers: Record<string, string> = {},
  ) {
    super(message);
  }
}

export const parseError = (message: string) => new RpcError(-32700, message, undefined, 400);
export const invalidRequest = (message: string) => new RpcError(-32600, message, undefined, 400);
export const methodNotFound = (message: string) => new RpcError(-32601, message);
export const invalidParams = (messages: string[], data: Record<string, unknown> = {}) =>
  new RpcError(-32602, "Invalid params", { validation_errors: messages, ...data });

/** The call in a body, or what keeps it from being one. */
export function readCall(body: unknown): Call | RpcError {
  if (Array.isArray(body)) return invalidRequest("Batches are not taken: send one call a request.");
  if (typeof body !== "object" || body === null) return invalidRequest("A call is a JSON object.");
  const { jsonrpc, id, method, params = {} } = body as Record<string, unknown>;
  if (jsonrpc !== "2.0") return invalidRequest('jsonrpc must be "2.0".');
  if (id !== undefined && !isId(id)) return invalidRequest("id must be text, a number or null.");
  if (typeof method !== "string") return invalidRequest("method must be text.");
  if (typeof params !== "object" || params === null) return invalidRequest("params must be an object.");
  if (Array.isArray(params)) return invalidParams(["params must be an object: arguments go by name"]);
  return { ...("id" in body && { id: id as Id }), method, params: params as Record<string, unknown> };
}

/** Its id where it can be told; null where it cannot, and undefined for a notification. */
export function idOf(body: unknown): Id | undefined {
  if (typeof body !== "object" || body === null || Array.isArray(body)) return null;
  const { id, method } = body as Record<string, unknown>;
  if (id === undefined && typeof method === "string") return undefined;
  return isId(id) ? id : null;
}

function isId(id: unknown): id is Id {
  return id === null || typeof id === "string" || typeof id === "number";
}

/** Any error as JSON-RPC tells it; one nobody foresaw is logged whole and told by its request id alone. */
export function toRpcError(error: unknown, requestId: string): RpcError {
  if (error instanceof RpcError) return error;
  const known = toApiError(error) ?? new ApiError("INTERNAL_ERROR", "Something went wrong on our side.");
  if (errors[known.code].jsonRpc === -32603) {
    log({ requestId, error });
    return new RpcError(-32603, known.code === "INTERNAL_ERROR" ? "Internal error" : known.message, {
      request_id: requestId,
    });
  }
  const { code, message, details, extra } = known;
  const { jsonRpc, status } = errors[code];
  const wait = extra.retry_after;
  return new RpcError(
    jsonRpc,
    message,
    {
      code,
      ...extra,
      ...(jsonRpc === -32602 && {
        validation_errors: details.length
          ? details.map(({ field, message }) => `${field} ${message}`)
          : [message],
      }),
    },
    statuses[jsonRpc] ?? (jsonRpc === -32600 ? status : 200),
    wait ? { "Retry-After": String(wait) } : {},
  );
}

const statuses: Record<number, number> = { [-32000]: 401, [-32001]: 403, [-32002]: 429 };

export function messagesOf(error: z.ZodError): string[] {
  return validationDetails(error).map(({ field, message }) => `${field} ${message}`);
}
