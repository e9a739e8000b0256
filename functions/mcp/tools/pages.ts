import { z } from "zod";
import { count, wholeNumber } from "../../../shared/fields.ts";
import { maxPage, totalIsCapped } from "../../../shared/pagination.ts";

/** Small pages, to save the agent's context. */
export const pageInput = {
  page: wholeNumber(1, maxPage).default(1).describe("Page to read, from 1."),
  limit: wholeNumber(1, 100).default(20).describe("Items per page, 1 to 100; 20 by default."),
};

export const pageOutput = {
  page: z.int(),
  total: count.describe("Items in the whole list."),
  total_is_capped: totalIsCapped,
  has_next: z.boolean().describe("Whether there is another page."),
};

/** `meta` of a list. */
export type Found = {
  total: number;
  total_is_capped?: boolean;
  match?: "all" | "any";
  did_you_mean?: string;
  next_cursor?: string | null;
};

export function pageOf(
  { page, limit }: { page: number; limit: number },
  { total, total_is_capped, match, did_you_mean, next_cursor }: Found,
) {
  const has_next = total_is_capped ? next_cursor !== null : page * limit < total;
  return { page, total, total_is_capped, has_next, match, did_you_mean };
}

const maxLength = 200;

/** The item of a list with a short description. */
export const described = <Item extends { description: string }>(item: Item): Item => ({
  ...item,
  description: shortened(item.description),
});

/** Truncates a text by code points; the single item has the full text. */
export function shortened(text: string): string {
  if (text.length <= maxLength) return text;
  let cut = 0;
  let at = 0;
  for (let n = 0; n < maxLength && at < text.length; n++) {
    if (n === maxLength - 1) cut = at;
    at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
  }
  return at < text.length ? `${text.slice(0, cut)}…` : text;
}

/** Note in lists that texts may be truncated. */
export const shortText = z.string().describe(`Up to ${maxLength} characters; … where it goes on.`);
