import { Agent } from "node:http";
import { expect } from "vitest";
import type { z } from "zod";
import {
  type ErrorCode,
  type ErrorEnvelope,
  errorEnvelope,
  errors,
  type LowercaseErrorEnvelope,
  lowercaseErrorEnvelope,
} from "../../shared/errors.ts";
import { type HttpAnswer, send as sendTo } from "../http.ts";
import { stack } from "../stack.ts";

export type Method = "GET" | "POST" | "PATCH" | "PUT" | "DELETE" | "OPTIONS" | "HEAD";
export type Caller = { token: string };
export type Answer = HttpAnswer;

export type Call = {
  as?: Caller | undefined;
  /** The organization to act on, named by X-Organization. */
  on?: { slug: string } | undefined;
  /** Sent as JSON. */
  body?: unknown;
  /** Sent as it is; an array goes out in chunks, without a Content-Length. */
  raw?: string | Uint8Array | string[];
  headers?: Record<string, string>;
  /** The functions' own listener, or the gateway. */
  base?: string;
  /** For calls that share a connection. */
  agent?: Agent;
};

const anyConnection = new Agent({ keepAlive: true });
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** One call of the API. Every answer is JSON, names its request and tells the caller's limits. */
export async function api(method: Method, path: string, call: Call = {}): Promise<Answer> {
  const answer = await send(method, path, call);
  const told = `${method} ${path.slice(0, 200)} → ${answer.status} ${answer.text.slice(0, 500)}`;
  expect(answer.headers["x-request-id"], told).toMatch(uuid);
  for (const name of ["limit", "remaining", "reset"]) {
    expect(answer.headers[`x-ratelimit-${name}`], `${told}: x-ratelimit-${name}`).toMatch(/^\d+$/);
  }
  expect(answer.headers["content-type"], told).toMatch(/^application\/json/);
  return answer;
}

export function send(method: Method, path: string, call: Call = {}): Promise<Answer> {
  const { as, on, base = stack.base_url, agent = anyConnection, ...rest } = call;
  const headers = { ...(on && { "x-organization": on.slug }), ...call.headers };
  return sendTo(method, base + path, { ...rest, agent, token: as?.token, headers });
}

/** The body of an answer that has the status and exactly the fields of the schema. */
export function answered<Schema extends z.ZodType>(
  answer: Answer,
  status: number,
  schema: Schema,
): z.output<Schema> {
  expect(answer.status, answer.text.slice(0, 1000)).toBe(status);
  const known = schema.parse(answer.body);
  // The schema leaves out what it does not know.
  expect(answer.body).toStrictEqual(JSON.parse(JSON.stringify(known)));
  return known;
}

/** Checks a refusal in the general form: its status follows from its code, and details name the fields. */
export function refused(answer: Answer, code: ErrorCode, ...fields: string[]): ErrorEnvelope["error"] {
  const { error } = answered(answer, errors[code].status, errorEnvelope);
  expect(error.code).toBe(code);
  expect(error.message).not.toBe("");
  if (fields.length > 0 || code === "VALIDATION_ERROR") {
    expect(error.details.map(({ field }) => field).sort()).toEqual([...fields].sort());
  }
  return error;
}

/** Checks a refusal in the form of the submission-creation flow. */
export function refusedToKey(answer: Answer, code: ErrorCode, ...fields: string[]): LowercaseErrorEnvelope {
  const body = answered(answer, errors[code].status, lowercaseErrorEnvelope);
  expect(body.error).toBe(errors[code].lowercase);
  if (code === "VALIDATION_ERROR") {
    expect(Object.keys(answer.body as object).sort()).toEqual(["details", "error"]);
    expect(body.details?.map(({ field }) => field).sort()).toEqual([...fields].sort());
  }
  return body;
}
