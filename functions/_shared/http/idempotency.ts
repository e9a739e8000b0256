import { createHash } from "node:crypto";
import { invalid } from "./api-error.ts";
import type { ApiResponse, Input, Route } from "./endpoint.ts";

export type Idempotency = { key: string; request: Uint8Array };

/** The idempotency key of a POST, with a digest of the request. */
export function idempotencyOf(
  endpoint: Pick<Route, "method" | "path" | "showsSecret">,
  input: Input,
  key: string | undefined,
  repeatsWithoutSecret = false,
): Idempotency | undefined {
  if (key === undefined || endpoint.method !== "post") return undefined;
  if (endpoint.showsSecret && !repeatsWithoutSecret) return undefined;
  if (!/^[\x21-\x7e]{1,200}$/.test(key)) throw invalid("Idempotency-Key", "must be 1 to 200 visible ASCII characters");
  const requestText = JSON.stringify([endpoint.path, input.params, input.query, input.body]);
  return { key, request: createHash("sha256").update(requestText).digest() };
}

/** The response as stored for an idempotency key: null instead of a secret. */
export function withoutSecret(response: ApiResponse): ApiResponse {
  if (!("json" in response)) return response;
  const { data, ...rest } = JSON.parse(response.json) as { data: Record<string, unknown> };
  const hidden = Object.fromEntries(["secret", "token"].filter((name) => name in data).map((name) => [name, null]));
  return { ...response, json: JSON.stringify({ ...rest, data: { ...data, ...hidden } }) };
}
