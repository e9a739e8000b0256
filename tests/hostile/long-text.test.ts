import { expect, test } from "vitest";
import { withLinks } from "../../functions/web/links.ts";

// Work that grew with the square of the length took minutes here: such tests fail at their time limit.

test.each([
  ["addresses without a host", "http://".repeat(100_000)],
  ["full stops", `http://x.example/${".".repeat(500_000)}a`],
  ["full stops at the end", `http://x.example/${".".repeat(500_000)}`],
  ["opened brackets", `http://x.example/${"(".repeat(500_000)}`],
  ["closed brackets", `http://x.example/${")".repeat(500_000)}`],
  ["both brackets", `http://x.example/${"(".repeat(250_000)}${")".repeat(250_000)}`],
  ["brackets and full stops", `http://x.example/${").".repeat(250_000)}`],
  ["brackets alone", "(".repeat(500_000)],
  ["half an address", "https:/".repeat(100_000)],
])("links are found in a long text of %s", (_, text) => {
  const parts = withLinks(text).map(({ part }) => part);
  expect(parts.join("") === text).toBe(true);
});

test.each([
  ["See http://x.example/a.", "http://x.example/a", "."],
  ["(http://x.example/a)", "http://x.example/a", ")"],
  ["http://x.example/a_(b)", "http://x.example/a_(b)", ""],
  ["http://x.example/a_(b)).", "http://x.example/a_(b)", ")."],
  ["http://x.example/a?b=(c", "http://x.example/a?b=(c", ""],
  ["http://x.example/!?*_'", "http://x.example/", "!?*_'"],
])("the link of %j ends where its sentence does not", (text, link, after) => {
  expect(withLinks(text).slice(-2)).toEqual([
    { part: link, isLink: true },
    { part: after, isLink: false },
  ]);
});
