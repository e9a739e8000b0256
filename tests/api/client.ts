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
  /** The organization to select with X-Organization. */
  on?: { slug: string } | undefined;
  /** Sent as JSON. */
  body?: unknown;
  /** Sent unchanged; an array is sent in chunks, without a Content-Length. */
  raw?: string | Uint8Array | string[];
  headers?: Record<string, string>;
  /** The functions' own listener, or the gateway. */
  base?: string;
  /** For requests that share a connection. */
  agent?: Agent;
};

const anyConnection = new Agent({ keepAlive: true });
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Sends one request to the API. Every response is JSON, and has its request id and the caller's limits. */
export async function api(method: Method, path: string, call: Call = {}): Promise<Answer> {
  const answer = await send(method, path, call);
  const summary = `${method} ${path.slice(0, 200)} → ${answer.status} ${answer.text.slice(0, 500)}`;
  expect(answer.headers["x-request-id"], summary).toMatch(uuid);
  for (const name of ["limit", "remaining", "reset"]) {
    expect(answer.headers[`x-ratelimit-${name}`], `${summary}: x-ratelimit-${name}`).toMatch(/^\d+$/);
  }
  expect(answer.headers["content-type"], summary).toMatch(/^application\/json/);
  return answer;
}

export function send(method: Method, path: string, call: Call = {}): Promise<Answer> {
  const { as, on, base = stack.base_url, agent = anyConnection, ...rest } = call;
  const headers = { ...(on && { "x-organization": on.slug }), ...call.headers };
  return sendTo(method, base + path, { ...rest, agent, token: as?.token, headers });
}

/** The body of a response with the status and exactly the fields of the schema. */
export function expectJson<Schema extends z.ZodType>(answer: Answer, status: number, schema: Schema): z.output<Schema> {
  expect(answer.status, answer.text.slice(0, 1000)).toBe(status);
  const known = schema.parse(answer.body);
  // The schema drops unknown fields.
  expect(answer.body).toStrictEqual(JSON.parse(JSON.stringify(known)));
  return known;
}

/** The body of a GET that succeeds. */
export async function getJson<Schema extends z.ZodType>(
  path: string,
  schema: Schema,
  call: Call = {},
): Promise<z.output<Schema>> {
  return expectJson(await api("GET", path, call), 200, schema);
}

/** Expects the general error envelope: the status of its code, and details with the names of the fields. */
export function expectError(answer: Answer, code: ErrorCode, ...fields: string[]): ErrorEnvelope["error"] {
  const { error } = expectJson(answer, errors[code].status, errorEnvelope);
  expect(error.code).toBe(code);
  expect(error.message).not.toBe("");
  if (fields.length > 0 || code === "VALIDATION_ERROR") {
    expect(error.details.map(({ field }) => field).sort()).toEqual([...fields].sort());
  }
  return error;
}

/** Expects the error envelope of submission creation by a key. */
export function expectLowercaseError(answer: Answer, code: ErrorCode, ...fields: string[]): LowercaseErrorEnvelope {
  const body = expectJson(answer, errors[code].status, lowercaseErrorEnvelope);
  expect(body.error).toBe(errors[code].lowercase);
  if (code === "VALIDATION_ERROR") {
    expect(Object.keys(answer.body as object).sort()).toEqual(["details", "error"]);
    expect(body.details?.map(({ field }) => field).sort()).toEqual([...fields].sort());
  }
  return body;
}
