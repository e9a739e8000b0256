import { expect, test } from "vitest";
import { cursor, fullMeta, pageMeta, pageQuery } from "../../shared/pagination.ts";
import { validationDetails } from "../../shared/validation.ts";

test("the default is the first page of 50", () => {
  expect(pageQuery.parse({})).toEqual({ page: 1, limit: 50 });
});

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

test.each([
  "0",
  "-1",
  "1.5",
  "1e2",
  "0x10",
  "",
  " 1",
  "one",
  "NaN",
  "Infinity",
  "1000001",
  "9".repeat(400),
  "١",
  "1,2",
])("page=%j is rejected with the range", (page) => {
  const result = pageQuery.safeParse({ page });
  expect(result.success ? [] : validationDetails(result.error)).toEqual([
    { field: "page", message: "must be a whole number from 1 to 1000000" },
  ]);
});

test.each(["0", "101", "-5", "50.0", "all"])("limit=%j is rejected with the range", (limit) => {
  const result = pageQuery.safeParse({ limit });
  expect(result.success ? [] : validationDetails(result.error)).toEqual([
    { field: "limit", message: "must be a whole number from 1 to 100" },
  ]);
});

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
