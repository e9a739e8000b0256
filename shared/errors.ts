import { z } from "zod";
import { timestamp } from "./fields.ts";
import { identifyRefusals } from "./identify.ts";
import { errorDetail } from "./validation.ts";

/** All error codes. The database raises them by SQLSTATE; private.error_state holds the same pairs. */
export const errors = {
  VALIDATION_ERROR: { status: 400, sqlstate: "FB400", lowercase: "validation_error", jsonRpc: -32602 },
  UNAUTHORIZED: { status: 401, sqlstate: "FB401", lowercase: "unauthorized", jsonRpc: -32000 },
  PLAN_LIMIT_REACHED: { status: 402, sqlstate: "FB402", lowercase: "plan_limit_reached", jsonRpc: -32602 },
  FORBIDDEN: { status: 403, sqlstate: "FB403", lowercase: "forbidden", jsonRpc: -32001 },
  NOT_FOUND: { status: 404, sqlstate: "FB404", lowercase: "not_found", jsonRpc: -32602 },
  METHOD_NOT_ALLOWED: { status: 405, sqlstate: "FB405", lowercase: "method_not_allowed", jsonRpc: -32600 },
  CONFLICT: { status: 409, sqlstate: "FB409", lowercase: "conflict", jsonRpc: -32602 },
  SUBMISSION_MERGED: { status: 409, sqlstate: "FBM09", lowercase: "submission_merged", jsonRpc: -32602 },
  TEXT_CHANGED: { status: 409, sqlstate: "FBT09", lowercase: "text_changed", jsonRpc: -32602 },
  SURVEY_NOT_OPEN: { status: 409, sqlstate: "FBS09", lowercase: "survey_not_open", jsonRpc: -32602 },
  ALREADY_RESPONDED: { status: 409, sqlstate: "FBR09", lowercase: "already_responded", jsonRpc: -32602 },
  SURVEY_HAS_RESPONSES: { status: 409, sqlstate: "FBH09", lowercase: "survey_has_responses", jsonRpc: -32602 },
  GONE: { status: 410, sqlstate: "FB410", lowercase: "gone", jsonRpc: -32602 },
  PAYLOAD_TOO_LARGE: { status: 413, sqlstate: "FB413", lowercase: "payload_too_large", jsonRpc: -32600 },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, sqlstate: "FB415", lowercase: "unsupported_media_type", jsonRpc: -32600 },
  RATE_LIMIT_EXCEEDED: { status: 429, sqlstate: "FB429", lowercase: "rate_limited", jsonRpc: -32002 },
  INTERNAL_ERROR: { status: 500, sqlstate: "FB500", lowercase: "internal_error", jsonRpc: -32603 },
  SERVICE_UNAVAILABLE: { status: 503, sqlstate: "FB503", lowercase: "service_unavailable", jsonRpc: -32603 },
} as const;

export type ErrorCode = keyof typeof errors;
export type ErrorStatus = (typeof errors)[ErrorCode]["status"];

export const errorCodes = Object.keys(errors) as [ErrorCode, ...ErrorCode[]];

const codeBySqlState = new Map<string, ErrorCode>(errorCodes.map((code) => [errors[code].sqlstate, code]));

/** The error code of an SQLSTATE of the service; undefined for those of Postgres. */
export function errorOfSqlState(sqlstate: string): ErrorCode | undefined {
  return codeBySqlState.get(sqlstate);
}

export const errorEnvelope = z
  .object({
    error: z.object({
      code: z.enum(errorCodes).describe("Stable, for programs."),
      message: z.string().describe("Only for people."),
      details: z.array(errorDetail).describe("Invalid fields; empty if not applicable."),
      retry_after: z.int().min(0).optional().describe("Seconds to wait; only with RATE_LIMIT_EXCEEDED."),
      reason: z
        .enum(identifyRefusals)
        .optional()
        .describe("Why a token was refused, for programs; only of `/api/identify`."),
      current: z
        .object({ title: z.string().nullable(), body: z.string(), updated_at: timestamp })
        .optional()
        .describe("The present text; only with TEXT_CHANGED."),
      merged_into_id: z.guid().optional().describe("The merge target; only with SUBMISSION_MERGED."),
      request_id: z
        .string()
        .optional()
        .describe("To report to the operator; only with INTERNAL_ERROR and SERVICE_UNAVAILABLE."),
    }),
  })
  .meta({ id: "Error", description: "The general form of an error." });

export type ErrorEnvelope = z.infer<typeof errorEnvelope>;

export const lowercaseErrorEnvelope = z
  .object({
    error: z.enum(errorCodes.map((code) => errors[code].lowercase)),
    details: z.array(errorDetail).optional().describe("Only with validation_error."),
    retry_after: z.int().min(0).optional().describe("Seconds to wait; only with rate_limited."),
  })
  .meta({ id: "LowercaseError", description: "The form of errors if a key creates a submission." });

export type LowercaseErrorEnvelope = z.infer<typeof lowercaseErrorEnvelope>;
