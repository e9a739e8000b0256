import { z } from "zod";
import { count, wholeNumber } from "./fields.ts";

const defaultLimit = 50;
const maxLimit = 100;
/** Keeps offsets within the integer range; use cursors for deep paging. */
export const maxPage = 1_000_000;

/** A whole number in a query string: digits only, without sign, exponent or space. */
export function queryInteger(min: number, max: number) {
  return z.preprocess(
    (value) => (typeof value === "string" && /^\d{1,9}$/.test(value) ? Number(value) : value),
    wholeNumber(min, max),
  );
}

export const queryBoolean = z.enum(["true", "false"], "must be true or false").transform((value) => value === "true");

export const pageFields = {
  page: queryInteger(1, maxPage).prefault(1).describe("Page to read, from 1."),
  limit: queryInteger(1, maxLimit).prefault(defaultLimit).describe("Items per page, 1 to 100."),
};

const maxOffset = 100_000;
/** As many matches of words are counted. */
const maxOffsetOfWords = 10_000;

/** For lists with a cursor: Postgres skips all rows before the page, so deep pages are expensive. */
export const isWithinMaxOffset = ({
  page,
  limit,
  cursor,
  q,
}: PageQuery & { cursor?: string | undefined; q?: string | undefined }) =>
  cursor !== undefined || page * limit <= (q === undefined ? maxOffset : maxOffsetOfWords);
export const maxOffsetMessage = {
  path: ["page"],
  error: `multiplied by limit must be at most ${maxOffset.toLocaleString("en")}, or ${maxOffsetOfWords.toLocaleString("en")} with q; to go on, send next_cursor as cursor`,
};

export const pageQuery = z.object(pageFields).meta({ id: "PageQuery", description: "Page of a list." });

export type PageQuery = z.infer<typeof pageQuery>;

export const cursor = z
  .string()
  .regex(/^[A-Za-z0-9+/=_-]{1,2000}$/, "must be the next_cursor of an earlier response")
  .describe("A `next_cursor` from an earlier response, instead of `page`.");

export const order = z.enum(["asc", "desc"]);

export const totalIsCapped = z
  .literal(true)
  .optional()
  .describe("Present if `total` is a lower bound: there may be more.");

export const fullMeta = z
  .object({
    page: z.int().min(1),
    limit: z.int().min(1).max(maxLimit),
    total: count.describe("Items in the list that the caller may see."),
    total_is_capped: totalIsCapped,
    total_pages: count,
    has_next: z.boolean(),
    has_prev: z.boolean(),
    next_cursor: z.string().nullable().optional().describe("Pass as `cursor` for the next page; null at the end."),
  })
  .meta({ id: "PageMeta", description: "The position of a page in its list." });

export type PageMeta = z.infer<typeof fullMeta>;

export const totalMeta = z
  .object({ total: count.describe("Items in the list that the caller may see.") })
  .meta({ id: "TotalMeta", description: "The length of a list." });

export function pageMeta(total: number, page: number, limit: number): PageMeta {
  const total_pages = Math.ceil(total / limit);
  return { page, limit, total, total_pages, has_next: page < total_pages, has_prev: page > 1 };
}
