import { uuid } from "../../../shared/fields.ts";
import { type PageMeta, type PageQuery, pageMeta } from "../../../shared/pagination.ts";
import { unstorable } from "../../../shared/text.ts";
import type { Position } from "../statements/change-feed.ts";
import type { List } from "../statements/shapes.ts";
import { invalid } from "./api-error.ts";
import { decodeText, encodeText } from "./base64url.ts";

/** A page of a list. `more`: there is another page; `last`: where it starts. */
export type Page<Item = unknown> = List<Item> & {
  /** Set if there may be more rows than `total`. */
  total_is_capped?: boolean;
  /** With `q`: `any` if nothing has all words. */
  match?: "all" | "any";
  did_you_mean?: string | null;
  more: boolean;
  last: [string, string] | null;
};

/** `meta` of a list that pages by number or by cursor. */
export function listMeta(
  { total, total_is_capped = false, more, last, ...found }: Omit<Page, "data">,
  { page, limit, cursor }: PageQuery & { cursor?: string },
  sort: string,
  order: string,
): PageMeta {
  return {
    ...pageMeta(total, page, limit),
    ...(total_is_capped && { total_is_capped, has_next: more }),
    ...foundMeta(found),
    ...(cursor !== undefined && { has_next: more, has_prev: true }),
    next_cursor: nextCursor({ more, last }, sort, order),
  };
}

/** How a list with `q` was found. */
export const foundMeta = ({ match, did_you_mean }: Pick<Page, "match" | "did_you_mean">) => ({
  ...(match && { match }),
  ...(did_you_mean && { did_you_mean }),
});

/** Cursor of a sorted list: its sort, the last value as Postgres text, and the row id. Null at the end. */
export function nextCursor({ more, last }: Pick<Page, "more" | "last">, sort: string, order: string): string | null {
  return more && last ? encodeText(JSON.stringify([sort, order, ...last])) : null;
}

export function decodeCursor(cursor: string, sort: string, order: string): { value: string; id: string } {
  const parts = partsOf(cursor);
  if (!parts) throw invalid("cursor", "must be the next_cursor of an earlier response");
  if (parts[0] !== sort || parts[1] !== order)
    throw invalid("cursor", "belongs to another sort or order; send those of its list");
  return { value: parts[2], id: parts[3] };
}

const isTime = (value: string) =>
  /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,6})?\+00$/.test(value) &&
  !Number.isNaN(Date.parse(value.replace(" ", "T").replace("+00", "Z")));

const isValue: Record<string, (value: string) => boolean> = {
  created_at: isTime,
  submitted_at: isTime,
  votes: (value) => /^\d{1,9}$/.test(value),
  /** Class and votes, or class 8 and rank. */
  relevance: (value) => /^[1-8] \d{1,9}$/.test(value),
  comments: (value) => /^\d{1,9}$/.test(value),
  title: (value) => unstorable(value) === undefined && value.length <= 400,
};

function partsOf(cursor: string): [string, string, string, string] | undefined {
  try {
    const parts: unknown = JSON.parse(decodeText(cursor));
    if (!Array.isArray(parts) || parts.length !== 4 || !parts.every((part) => typeof part === "string")) return;
    const [sort, order, value, id] = parts as [string, string, string, string];
    if (!isValue[sort]?.(value) || !uuid.safeParse(id).success) return;
    return [sort, order, value, id];
  } catch {
    return undefined;
  }
}

/** Cursor of the change feed. */
export const encodePlace = ({ xid, id, at }: Position) => encodeText(JSON.stringify([xid, id, at]));

export function decodePlace(cursor: string, field = "after"): Position {
  try {
    const parts: unknown = JSON.parse(decodeText(cursor));
    if (Array.isArray(parts) && parts.length === 3) {
      const [xid, id, at] = parts.map(String) as [string, string, string];
      const isNumber = (part: string) => /^\d{1,18}$/.test(part);
      if (isNumber(xid) && isNumber(id) && /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,6})?\+00$/.test(at))
        return { xid, id, at };
    }
  } catch {
    // Documented below.
  }
  throw invalid(field, "must be the next_cursor of an earlier response");
}
