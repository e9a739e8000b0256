import { z } from "zod";
import { count, wholeNumber } from "./fields.ts";

const defaultLimit = 50;
const largestLimit = 100;
/** So that an offset stays far below what an integer holds; deeper reading is what cursors are for. */
export const largestPage = 1_000_000;

/** A whole number in a query string: digits only, no sign, exponent or space. */
export function queryInteger(min: number, max: number) {
  return z.preprocess(
    (value) => (typeof value === "string" && /^\d{1,9}$/.test(value) ? Number(value) : value),
    wholeNumber(min, max),
  );
}

export const queryBoolean = z
  .enum(["true", "false"], "must be true or false")
  .transform((value) => value === "true");

export const pageFields = {
  page: queryInteger(1, largestPage).prefault(1).describe("Page to read, from 1."),
  limit: queryInteger(1, largestLimit).prefault(defaultLimit).describe("Items a page, 1 to 100."),
};

const largestOffset = 10_000;

/** For lists that read on by cursor: Postgres counts through all rows before a page, so a deep one costs as much as them all. */
export const isShallow = ({ page, limit, cursor }: PageQuery & { cursor?: string | undefined }) =>
  cursor !== undefined || page * limit <= largestOffset;
export const shallowOnly = {
  path: ["page"],
  error: `times limit must be at most ${largestOffset}: send next_cursor as cursor to read on`,
};

export const pageQuery = z.object(pageFields).meta({ id: "PageQuery", description: "Which page of a list." });

export type PageQuery = z.infer<typeof pageQuery>;

export const cursor = z
  .string()
  .regex(/^[A-Za-z0-9+/=_-]{1,2000}$/, "must be a next_cursor from the meta of an earlier answer")
  .describe("A `next_cursor` from an earlier answer; instead of `page`.");

export const order = z.enum(["asc", "desc"]);

export const totalIsCapped = z
  .literal(true)
  .optional()
  .describe("There where `total` is not exact: there are at least so many. It is 1,000 at most then.");

export const fullMeta = z
  .object({
    page: z.int().min(1),
    limit: z.int().min(1).max(largestLimit),
    total: count.describe("Items in the whole list that the caller may see."),
    total_is_capped: totalIsCapped,
    total_pages: count,
    has_next: z.boolean(),
    has_prev: z.boolean(),
    next_cursor: z
      .string()
      .nullable()
      .optional()
      .describe("Pass as `cursor` for the next page; null at the end."),
  })
  .meta({ id: "PageMeta", description: "Where a page stands in its list." });

export type PageMeta = z.infer<typeof fullMeta>;

export const totalMeta = z
  .object({ total: count.describe("Items in the whole list that the caller may see.") })
  .meta({ id: "TotalMeta", description: "How long a list is." });

export function pageMeta(total: number, page: number, limit: number): PageMeta {
  const total_pages = Math.ceil(total / limit);
  return { page, limit, total, total_pages, has_next: page < total_pages, has_prev: page > 1 };
}
