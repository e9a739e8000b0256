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

export function pageOf({ page, limit }: { page: number; limit: number }, total: number, isCapped = false) {
  return { page, total, ...(isCapped && { total_is_capped: true as const }), has_next: page * limit < total };
}

const maxLength = 200;

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

export function listOf<Item>(json: string | undefined): Item[] {
  return JSON.parse(json ?? "[]");
}
