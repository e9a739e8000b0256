import { z } from "zod";
import { count, wholeNumber } from "../../../shared/fields.ts";
import { largestPage } from "../../../shared/pagination.ts";

/** Pages are small, so that a list does not fill what an agent can keep in mind. */
export const pageInput = {
  page: wholeNumber(1, largestPage).default(1).describe("Page to read, from 1."),
  limit: wholeNumber(1, 100).default(20).describe("Items a page, 1 to 100; 20 by default."),
};

export const pageOutput = {
  page: z.int(),
  total: count.describe("Items in the whole list."),
  has_next: z.boolean().describe("Whether there is another page."),
};

export function pageOf({ page, limit }: { page: number; limit: number }, total: number) {
  return { page, total, has_next: page * limit < total };
}

const longest = 200;

/** The beginning of a long text, by code points: the whole is in the single item. */
export function shortened(text: string): string {
  if (text.length <= longest) return text;
  // A code point is one or two units: twice the length is enough to look at.
  const characters = [...text.slice(0, 2 * longest + 1)];
  return characters.length <= longest ? text : `${characters.slice(0, longest - 1).join("")}…`;
}

/** How lists say that a text may be cut. */
export const shortText = z.string().describe(`Up to ${longest} characters; … where it goes on.`);

export function listOf<Item>(json: string | undefined): Item[] {
  return JSON.parse(json ?? "[]");
}
