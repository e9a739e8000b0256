import { readdirSync } from "node:fs";
import { expect, test } from "vitest";
import { root } from "../../local/postgres/database-server.ts";
import { tableUnder, textOf } from "./markdown.ts";

// Files generated from the schemas contain every name.
const generated = ["shared/database.types.ts", "functions/web/assets.generated.ts"];

const sources = ["functions", "local", "shared", "supabase/schemas"].flatMap((folder) =>
  readdirSync(`${root}/${folder}`, { recursive: true, encoding: "utf8" })
    .map((name) => `${folder}/${name}`)
    .filter((path) => /\.(tsx?|sql|css)$/.test(path) && !generated.includes(path)),
);
const coded = (cell: string) => [...cell.matchAll(/`([^`]+)`/g)].map(([, text = ""]) => text);
const changes = tableUnder("CONTRIBUTING.md", "A change, and the files it takes").map(
  ([change = "", files = "", example = ""]) => [change, coded(files), coded(example)] as const,
);

test("the table of changes contains the usual ones", () => {
  expect(changes.length).toBeGreaterThan(9);
  expect(sources.length).toBeGreaterThan(200);
});

test.each(changes)("%s: the listed files contain the example, and no other source does", (_, files, examples) => {
  const names = new RegExp(examples.join("|"));
  const naming = sources.filter((path) => names.test(textOf(path)));
  const pages = files.filter((path) => path.endsWith(".md"));
  // A file matches itself, a folder the files in it.
  const listed = naming.map((path) => files.find((file) => file.endsWith("/") && path.startsWith(file)) ?? path);
  expect([...new Set(listed)].toSorted()).toEqual(files.filter((path) => !pages.includes(path)).toSorted());
  expect(pages.filter((page) => !names.test(textOf(page)))).toEqual([]);
});
