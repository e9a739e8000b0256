import { isDeepStrictEqual } from "node:util";
import { keptText } from "../_shared/http/compression.ts";
import type { JsonResponse } from "../_shared/http/endpoint.ts";
import type { View } from "./view.ts";
import type { Visit } from "./visit.ts";

const maxKept = 50;
const maxKeptBytes = 8_000_000;

/** The last response for each URL, language and theme, with the rows that it was rendered from. */
const kept = new Map<string, Rendered>();
type Rendered = { rows: unknown; answer: JsonResponse; bytes: number };
let keptBytes = 0;

/** Whether a page depends on nothing of the visit except its URL, language and theme. */
export const isForAnybody = ({ session, isSignedIn, form, answered, refused }: Visit) =>
  session.credential.kind === "none" &&
  session.cookies.length === 0 &&
  !(session.temporaryError || isSignedIn || form || answered || refused);

/** Whether browsers may keep a page for going back: what anybody may find, and forms without passwords. */
export const mayBeKept = ({ noindex, status = 200 }: View, visit: Visit) =>
  noindex === false && status === 200 && isForAnybody(visit);

/**
 * The cached response for the same URL, language, theme and rows, otherwise the result of `render`. The rows are queried
 * for each request, so the response is neither stale nor shown to visitors who may not see it.
 */
export function renderOnce(rows: unknown, visit: Visit, render: () => JsonResponse): JsonResponse {
  const { path, query, locale, theme } = visit;
  const key = `${locale} ${theme} ${path}?${query}`;
  const known = kept.get(key);
  if (known) {
    kept.delete(key);
    keptBytes -= known.bytes;
    if (isDeepStrictEqual(known.rows, rows)) return keep(key, known);
  }
  const { status, json, headers } = render();
  return keep(key, { rows, answer: { ...keptText({ text: json }, headers), status }, bytes: json.length });
}

/** Stores a response and removes the least recently used ones above the limits. */
function keep(key: string, entry: Rendered) {
  kept.set(key, entry);
  keptBytes += entry.bytes;
  for (const [oldest, { bytes }] of kept) {
    if (kept.size <= maxKept && keptBytes <= maxKeptBytes) break;
    kept.delete(oldest);
    keptBytes -= bytes;
  }
  return entry.answer;
}
