import { expect, test } from "vitest";
import { cursor, fullMeta, pageMeta, pageQuery } from "../../shared/pagination.ts";

test.each([
  [
    { page: "1", limit: "1" },
    { page: 1, limit: 1 },
  ],
  [
    { page: "1000000", limit: "100" },
    { page: 1_000_000, limit: 100 },
  ],
  [{ page: "007" }, { page: 7, limit: 50 }],
])("%j is parsed as numbers", (query, expected) => expect(pageQuery.parse(query)).toEqual(expected));

test("the largest offset fits an integer of Postgres", () => {
  const { page, limit } = pageQuery.parse({ page: "1000000", limit: "100" });
  expect((page - 1) * limit).toBeLessThan(2 ** 31);
});

test.each(["eyJhIjoxfQ==", "abc-_+/", "a"])("%j has the format of a cursor", (value) =>
  expect(cursor.safeParse(value).success).toBe(true),
);

test.each(["", "a b", "'; drop table", "é", "a\0", "a".repeat(2001)])(
  "%j does not have the format of a cursor",
  (value) => expect(cursor.safeParse(value).success).toBe(false),
);

test.each([
  [0, 1, 50, { total_pages: 0, has_next: false, has_prev: false }],
  [1, 1, 50, { total_pages: 1, has_next: false, has_prev: false }],
  [50, 1, 50, { total_pages: 1, has_next: false, has_prev: false }],
  [51, 1, 50, { total_pages: 2, has_next: true, has_prev: false }],
  [51, 2, 50, { total_pages: 2, has_next: false, has_prev: true }],
  [51, 9, 50, { total_pages: 2, has_next: false, has_prev: true }],
])("for %i items, page %i of %i each", (total, page, limit, expected) => {
  expect(pageMeta(total, page, limit)).toEqual({ page, limit, total, ...expected });
  expect(fullMeta.safeParse(pageMeta(total, page, limit)).success).toBe(true);
});
