import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { defaultMigrations } from "../../local/postgres/database-server.ts";
import { sqlStatements } from "../../local/postgres/sql-statements.ts";
import { sql } from "../stack.ts";

test.each([
  ["nothing", " -- only a comment;\n/* and ; another */ ;;", []],
  ["two", "select 1; select 2", ["select 1", "select 2"]],
  [
    "a semicolon in text",
    "select ';', 'it''s;', E'a\\';b', \"a;b\"",
    ["select ';', 'it''s;', E'a\\';b', \"a;b\""],
  ],
  [
    "dollar quotes",
    "do $x$ begin; $$ ; $$ end; $x$; select $1",
    ["do $x$ begin; $$ ; $$ end; $x$", "select $1"],
  ],
  ["nested comments", "select /* ; /* ; */ ; */ 1; select 2", ["select /* ; /* ; */ ; */ 1", "select 2"]],
  [
    "a body of statements",
    "create function f() returns int begin atomic select case when true then 1 end; select 2; end; select 3",
    [
      "create function f() returns int begin atomic select case when true then 1 end; select 2; end",
      "select 3",
    ],
  ],
  [
    "a transaction, which is no body",
    "begin; select 1; end; select 2",
    ["begin", "select 1", "end", "select 2"],
  ],
])("%s", (_, source, statements) => {
  expect(sqlStatements(source).map(({ text }) => text)).toEqual(statements);
});

test("a statement has its line number", () => {
  expect(sqlStatements("select 1;\n\n  select\n2; select 3").map(({ line }) => line)).toEqual([1, 3, 4]);
});

test("applied migrations are recorded as the Supabase CLI records them", async () => {
  const rows =
    await sql`select version, name, statements from supabase_migrations.schema_migrations order by version limit 1`;
  const source = await readFile(join(defaultMigrations, "20261121000000_baseline.sql"), "utf8");
  expect(rows[0]).toEqual({
    version: "20261121000000",
    name: "baseline",
    statements: sqlStatements(source).map(({ text }) => text),
  });
});
