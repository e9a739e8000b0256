import { z } from "zod";
import { count, wholeNumber } from "../../../shared/fields.ts";
import { largestPage, totalIsCapped } from "../../../shared/pagination.ts";

/** Pages are small, so that a list does not fill what an agent can keep in mind. */
export const pageInput = {
  page: wholeNumber(1, largestPage).default(1).describe("Page to read, from 1."),
  limit: wholeNumber(1, 100).default(20).describe("Items a page, 1 to 100; 20 by default."),
};

export const pageOutput = {
  page: z.int(),
  total: count.describe("Items in the whole list."),
  total_is_capped: totalIsCapped,
  has_next: z.boolean().describe("Whether there is another page."),
};

export function pageOf({ page, limit }: { page: number; limit: number }, total: number, isCapped = false) {
  return {
    page,
    total,
    ...(isCapped && { total_is_capped: true as const }),
    has_next: page * limit < total,
  };
}

const longest = 200;

/** The beginning of a long text, by code points: the whole is in the single item. */
export function shortened(text: string): string {
  if (text.length <= longest) return text;
  let cut = 0;
  let at = 0;
  for (let n = 0; n < longest && at < text.length; n++) {
    if (n === longest - 1) cut = at;
    at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
  }
  return at < text.length ? `${text.slice(0, cut)}…` : text;
}

/** How lists say that a text may be cut. */
export const shortText = z.string().describe(`Up to ${longest} characters; … where it goes on.`);

export function listOf<Item>(json: string | undefined): Item[] {
  return JSON.parse(json ?? "[]");
}
