import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import type { JsonResponse } from "./endpoint.ts";

/**
 * Serves a text that is the same for everybody: encodes and compresses it once, and does not send it again to clients
 * that have it.
 */
export function keptText(text: string, headers: Record<string, string>): (request: Request) => JsonResponse {
  const ETag = `W/"${createHash("sha256").update(text).digest("base64url").slice(0, 16)}"`;
  const plain = new TextEncoder().encode(text);
  const packed = new Uint8Array(gzipSync(plain));
  const common = { ...headers, ETag, Vary: "Accept-Encoding" };
  return ({ headers: asked }) => {
    const known = asked.get("If-None-Match")?.split(",") ?? [];
    if (known.some((tag) => tag.trim().replace(/^(?!W\/)/, "W/") === ETag))
      return { status: 304, json: "", headers: common };
    const isPacked = /\bgzip\b(?!;\s*q=0(?:\.0*)?(?:\s|,|$))/i.test(asked.get("Accept-Encoding") ?? "");
    return isPacked
      ? { status: 200, json: "", bytes: packed, headers: { ...common, "Content-Encoding": "gzip" } }
      : { status: 200, json: "", bytes: plain, headers: common };
  };
}

/** The body of a response: none where its status allows none. */
export const bodyOf = ({ status, json, bytes }: JsonResponse) => (status === 304 ? null : (bytes ?? json));
