import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { root } from "../../local/postgres/database-server.ts";

test.each(readdirSync(`${root}/supabase/schemas`))("%s has lines of at most 110 characters", (file) => {
  const lines = readFileSync(`${root}/supabase/schemas/${file}`, "utf8").split("\n");
  expect(lines.filter((line) => [...line].length > 110)).toEqual([]);
});
