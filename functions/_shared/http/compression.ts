import { createHash } from "node:crypto";
import { readCookies } from "./cookies.ts";
import type { ApiResponse, JsonResponse, Route } from "./endpoint.ts";
import { type Coding, codingsOf, gzip, KeptBody, type Source } from "./kept-body.ts";

/** A text that is the same for everybody, which is not sent again to clients that have it. */
export function keptText(from: Source, headers?: Record<string, string>): JsonResponse {
  const digest = createHash("sha256").update("text" in from ? from.text : from.brotli);
  const ETag = `W/"${digest.digest("base64url").slice(0, 16)}"`;
  return { status: 200, json: "", kept: new KeptBody(from), headers: { ...headers, ETag } };
}

/** Cookies of ours that tell something of a person, unlike `lang` and `theme`. */
const personalCookie = /^(?:__Host-)?(?:sb-|feedback-|address$|form[.-])/;
// Of a board, a quarter of the time of the usual level for 3 KB more.
const fastest = 1;
/** A field named like a secret, also in an address that is the value of another field, such as `return_to`. */
const secretField = /(?:token|code|secret)\w*(?:=|%(?:25)*3d)/i;

/**
 * Whether the length of a response, once compressed, could reveal a secret in it (BREACH): only an answer to a GET without
 * secrets is compressed, and with the cookies of a person only if nobody else can have chosen its address or its time.
 */
export function isRevealing({ method, url, headers }: Request, { showsSecret }: Pick<Route, "showsSecret">): boolean {
  if (!["GET", "HEAD"].includes(method) || showsSecret) return true;
  const { searchParams } = new URL(url);
  if (secretField.test(`${searchParams}`)) return true;
  if (![...readCookies(headers.get("Cookie") ?? "").keys()].some((name) => personalCookie.test(name))) return false;
  // What our scripts ask for by themselves, when others write or choose the page: islands/refresh.ts and comment.ts.
  if (/no-transform/.test(headers.get("Cache-Control") ?? "") || searchParams.has("comment")) return true;
  // Others choose the address of a logo, which may be one of ours.
  if (headers.get("Sec-Fetch-Dest") === "image") return true;
  return !["same-origin", "none"].includes(headers.get("Sec-Fetch-Site") ?? "");
}

/** Forbids all that carry a response to compress it: Deno 2.1 and proxies do so of their own accord. */
export const noTransform = (cacheControl = "no-store") => `${cacheControl}, no-transform`;

/** The response as it is sent: 304 to a client that has it, compressed to one that takes it so. */
export function encoded<Sent extends ApiResponse>(request: Request, response: Sent, isKeptWhole: boolean): Sent {
  const { headers = {} } = response;
  if (isKeptWhole)
    return { ...response, headers: { ...headers, "Cache-Control": noTransform(headers["Cache-Control"]) } };
  return "json" in response ? { ...response, ...encodedText(request.headers, response) } : response;
}

function encodedText(asked: Headers, response: JsonResponse): JsonResponse {
  const { json, kept } = response;
  const codings = kept?.codings ?? codingsOf(json);
  if (codings.length === 1 && !response.headers?.ETag) return response;
  const Vary = [response.headers?.Vary, "Accept-Encoding"].filter(Boolean).join(", ");
  const headers: Record<string, string> = { ...response.headers, Vary };
  const tags = asked.get("If-None-Match")?.split(",") ?? [];
  if (response.status === 200 && tags.some((tag) => tag.trim().replace(/^(?!W\/)/, "W/") === headers.ETag))
    return { status: 304, json: "", headers };
  const coding = preferred(asked.get("Accept-Encoding"), codings);
  if (coding === "identity") return { ...response, headers };
  return {
    ...response,
    bytes: kept?.in(coding) ?? gzip(json, fastest),
    headers: { ...headers, "Content-Encoding": coding },
  };
}

/** The coding with the highest weight in `Accept-Encoding`, the first of equal ones. */
function preferred(header: string | null, codings: readonly Coding[]): Coding {
  const weights = new Map<string, number>();
  for (const part of (header ?? "").toLowerCase().split(",")) {
    const [name = "", ...parameters] = part.split(";").map((text) => text.trim());
    weights.set(name, Number(parameters.find((text) => text.startsWith("q="))?.slice(2) ?? 1));
  }
  const last = { br: 0, gzip: 0, identity: Number.MIN_VALUE };
  const weightOf = (coding: Coding) => weights.get(coding) ?? weights.get("*") ?? last[coding];
  const best = codings.reduce((best, coding) => (weightOf(coding) > weightOf(best) ? coding : best));
  return weightOf(best) > 0 ? best : "identity";
}

/** The body of a response: none where its status allows none. */
export const bodyOf = ({ status, json, bytes, kept }: JsonResponse) =>
  status === 304 ? null : (bytes ?? kept?.in("identity") ?? json);
