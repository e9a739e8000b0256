import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { root } from "../../local/postgres/database-server.ts";

const files = readdirSync(`${root}/supabase/schemas`).map((name) => ({
  name,
  text: readFileSync(`${root}/supabase/schemas/${name}`, "utf8"),
}));

/** The names that a pattern finds, each with its file. */
const found = (pattern: RegExp) =>
  files.flatMap(({ name, text }) => [...text.matchAll(pattern)].map((match) => ({ file: name, match })));

test("a policy is in the file of its table", () => {
  const fileOf = new Map(
    found(/^create table (public\.\w+)/gm).map(({ file, match: [, table = ""] }) => [table, file]),
  );
  const policies = found(/^create policy "([^"]+)" on (public\.\w+)/gm);
  expect(policies.length).toBeGreaterThan(40);
  const elsewhere = policies.filter(({ file, match: [, , table = ""] }) => fileOf.get(table) !== file);
  // It references the tables of user content, which are created after profiles.
  expect(elsewhere.map(({ match: [, name] }) => name)).toEqual(["people are seen through what they wrote"]);
});
