import { expect, test } from "vitest";
import { sql } from "../stack.ts";
import { tableUnder, textOf } from "./markdown.ts";

const units: Record<string, number> = {
  ms: 1,
  s: 1000,
  second: 1000,
  minute: 60_000,
  hour: 3_600_000,
  day: 86_400_000,
  KiB: 1024,
  KB: 1000,
  kB: 1000,
  MiB: 1024 ** 2,
  MB: 1e6,
};
const quantity = /(\d[\d,]*(?:\.\d+)?)\s?(ms|s|seconds?|minutes?|hours?|days?|KiB|KB|kB|MiB|MB)?(?![\w])/g;

/** Every number in a text, in milliseconds, bytes or without a unit. */
function quantitiesIn(text: string): number[] {
  return [...text.matchAll(quantity)].map(([, number = "", unit = ""]) => {
    const factor = units[unit] ?? units[unit.replace(/s$/, "")] ?? 1;
    return Number(number.replaceAll(",", "")) * factor;
  });
}

/** The first number assigned to a name: a product such as 8 * 1024, or a literal in SQL. */
function setting(path: string, name: string): number | undefined {
  const words = name.replaceAll(/[()+]/g, "\\$&");
  const pattern = new RegExp(`(?<!\\w)${words}(?!\\w)[^\\n\\d]*?(?:'(\\d+ ?\\w+)'|(\\d[\\d_.]*(?: \\* [\\d_.]+)*))`);
  const [, literal, product] = pattern.exec(textOf(path)) ?? [];
  if (literal) return quantitiesIn(literal)[0];
  const value = product?.split(" * ").reduce((all, factor) => all * Number(factor.replaceAll("_", "")), 1);
  return value === undefined ? undefined : value * (name.endsWith("Seconds") ? 1000 : 1);
}

const bare = (cell = "") => cell.replaceAll("`", "");
const rows = tableUnder("docs/limits.md", "Limits");

test.each(rows)("%s: %s, as set in %s by %s", (_, value = "", path, name) => {
  expect(setting(bare(path), bare(name))).toBe(quantitiesIn(value)[0]);
});

test.each(
  rows.flatMap(([what, value = "", , , pages = ""]) =>
    pages
      .split(" ")
      .filter(Boolean)
      .map((page) => [`docs/${page}.md`, what, value] as const),
  ),
)("%s repeats the limit: %s, %s", (page, _, value) => {
  expect(quantitiesIn(textOf(page))).toContain(quantitiesIn(value)[0]);
});

test("docs/data-model.md lists every kind of retention", async () => {
  const [row] = await sql<{ body: string }[]>`
    select prosrc as body from pg_proc where oid = 'private.retention(text)'::regprocedure`;
  const documented = [...(row?.body ?? "").matchAll(/when '(\w+)' then return interval '([^']+)'/g)];
  expect(documented.length).toBeGreaterThan(5);
  expect(tableUnder("docs/data-model.md", "Retention").map(([kind, time]) => [bare(kind), time])).toEqual(
    documented.map(([, kind, time]) => [kind, time]),
  );
});

// A page that mentions the retention of events must contain the value of private.retention.
test("other pages contain the same retention", () => {
  const days = (kind: string) =>
    tableUnder("docs/data-model.md", "Retention").find(([name]) => bare(name) === kind)?.[1] ?? "";
  for (const [page, kind] of [
    ["docs/admin.md", "events"],
    ["docs/webhooks.md", "events"],
    ["docs/import-export.md", "events"],
    ["docs/mcp.md", "agent_calls"],
    ["docs/security.md", "agent_calls"],
  ] as const)
    expect(textOf(page), page).toContain(days(kind));
});
