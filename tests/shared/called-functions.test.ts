import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const textsIn = (folder: string) =>
  readdirSync(folder)
    .map((file) => readFileSync(`${folder}/${file}`, "utf8"))
    .join("\n");

test("every function that a statement calls by name exists in schema private", () => {
  const statements = textsIn("functions/_shared/statements");
  const names = [...statements.matchAll(/(?:call|read|run)(?:<[^()]*>)?\(\s*"(\w+)"/g)].map(([, name]) => name);
  const schema = textsIn("supabase/schemas");
  expect(names.length).toBeGreaterThan(100);
  expect(names.filter((name) => !schema.includes(`function private.${name}(`))).toEqual([]);
});
