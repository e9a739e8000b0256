import { createHash } from "node:crypto";
import type { Context } from "hono";
import { invalid } from "./api-error.ts";
import type { Endpoint, Input } from "./endpoint.ts";

export type Idempotency = { key: string; request: Uint8Array };

/** The Idempotency-Key of a POST by an organization's key, with the digest of what it asks; undefined for all else. */
export function idempotencyOf(c: Context, endpoint: Endpoint, input: Input): Idempotency | undefined {
  const key = c.req.header("Idempotency-Key");
  if (key === undefined || !input.byKey || endpoint.method !== "post" || endpoint.showsSecret)
    return undefined;
  if (!/^[\x21-\x7e]{1,200}$/.test(key))
    throw invalid("Idempotency-Key", "must be 1 to 200 visible ASCII characters");
  const asked = JSON.stringify([endpoint.path, input.params, input.query, input.body]);
  return { key, request: createHash("sha256").update(asked).digest() };
}
