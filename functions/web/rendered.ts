import { isDeepStrictEqual } from "node:util";
import type { JsonResponse } from "../_shared/http/endpoint.ts";
import type { Visit } from "./visit.ts";

const maxKept = 50;
const maxKeptBytes = 8_000_000;

/** The last response for each URL, language and theme, with the rows that it was rendered from. */
const kept = new Map<string, { rows: unknown; answer: JsonResponse & { bytes: Uint8Array<ArrayBuffer> } }>();
let keptBytes = 0;

/** Whether a page depends on nothing of the visit except its URL, language and theme. */
export const isForAnybody = ({ session, form, answered, refused }: Visit) =>
  session.credential.kind === "none" && session.cookies.length === 0 && !form && !answered && !refused;

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
    keptBytes -= known.answer.bytes.length;
    if (isDeepStrictEqual(known.rows, rows)) return keep(key, known);
  }
  const answer = render();
  return keep(key, { rows, answer: { ...answer, bytes: new TextEncoder().encode(answer.json) } });
}

/** Stores a response and removes the least recently used ones above the limits. */
function keep(key: string, entry: { rows: unknown; answer: JsonResponse & { bytes: Uint8Array<ArrayBuffer> } }) {
  kept.set(key, entry);
  keptBytes += entry.answer.bytes.length;
  for (const [oldest, { answer }] of kept) {
    if (kept.size <= maxKept && keptBytes <= maxKeptBytes) break;
    kept.delete(oldest);
    keptBytes -= answer.bytes.length;
  }
  return entry.answer;
}
