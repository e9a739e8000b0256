import { readdirSync, readFileSync } from "node:fs";
import { beforeAll, expect, test, vi } from "vitest";
import type { DocumentedEndpoint } from "../../functions/api/documentation/model.ts";
import { root } from "../../local/database-server.ts";
import { errorCodes, errors } from "../../shared/errors.ts";
import { rateLimits } from "../../shared/rate-limits.ts";
import { scopes } from "../../shared/scopes.ts";
import { sql } from "../stack.ts";
import { tableUnder, textOf } from "./markdown.ts";

let endpoints: DocumentedEndpoint[];

beforeAll(async () => {
  // All the app takes of Deno before a request comes.
  vi.stubGlobal("Deno", {
    env: { get: (name: string) => (name === "DATABASE_URL" ? "postgres://127.0.0.1:1" : undefined) },
  });
  const app = (await import(new URL("../../functions/api/app.ts", import.meta.url).href)) as {
    endpoints: DocumentedEndpoint[];
  };
  endpoints = app.endpoints;
});

const code = (text: string) => `\`${text}\``;
const quoted = (text: string) => [...text.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name);

test("docs/api.md tells every route, who may call it, with what scope and under which rate rule", () => {
  const who = { public: "anyone", person: "person", caller: "person, key" };
  const expected = endpoints.map(({ method, path, access, scopes = [], operation, summary }) => [
    code(`${method.toUpperCase()} /api${path}`),
    who[access],
    access === "caller" ? scopes.map(code).join(" or ") : "–",
    operation ? code(operation) : "–",
    summary,
  ]);
  expect(tableUnder("docs/api.md", "Routes")).toEqual(expected);
});

test("docs/api.md tells the limits of a fresh installation", () => {
  const told = tableUnder("docs/api.md", "Rate limits").map((row) => row.slice(0, 3));
  expect(told).toEqual(
    Object.entries(rateLimits).map(([name, rule]) => [
      code(name),
      String(rule.max_requests),
      String(rule.window_seconds),
    ]),
  );
});

test("docs/security.md tells the limits on signing in of a fresh installation", () => {
  const rules = [
    ...textOf("local/auth/limits.sql").matchAll(/\('(\w+)', '(\w+)', '(\w+)', (\d+), (\d+)\)/g),
  ].map(([, action, by, counts, most, seconds]) => `${action} ${by}: ${most} ${counts} in ${seconds} s`);
  const columns = ["address_and_account", "address", "account"];
  const told = tableUnder("docs/security.md", "Limits on signing in").flatMap(([action = "", , ...cells]) =>
    cells.flatMap((cell, at) => (cell === "–" ? [] : [`${quoted(action)} ${columns[at]}: ${cell}`])),
  );
  expect(told).toEqual(rules);
});

test("docs/api.md names every scope and no other", () => {
  const [, sentence = ""] = /^Scopes that exist: ([\s\S]*?)\n\n/m.exec(textOf("docs/api.md")) ?? [];
  expect(quoted(sentence).toSorted()).toEqual([...scopes].toSorted());
});

test("docs/errors.md has the codes, statuses and SQLSTATEs of shared/errors.ts", () => {
  const told = tableUnder("docs/errors.md", "Codes");
  expect(told.map((row) => row.slice(0, 4))).toEqual(
    errorCodes.map((name) => {
      const { status, lowercase, sqlstate } = errors[name];
      return [code(name), String(status), code(lowercase), code(sqlstate)];
    }),
  );
  expect(told.filter(([, , , , advice]) => !advice)).toEqual([]);
});

test("docs/deploy.md names the variables the code reads, and no others", () => {
  const told = new Set(
    [...textOf("docs/deploy.md").matchAll(/^\| `([A-Z_]+)` \|/gm)].map(([, name]) => name),
  );
  expect([...told].toSorted()).toEqual([...variablesRead()].toSorted());
});

/** By the functions, the launcher and the operator's commands. */
function variablesRead(): Set<string> {
  const text = (path: string) => readFileSync(`${root}/${path}`, "utf8");
  const local = readdirSync(`${root}/local`)
    .filter((name) => name.endsWith(".ts"))
    .map((name) => text(`local/${name}`))
    .join("\n");
  const names = [
    ...[...text("functions/_shared/environment.ts").matchAll(/\bread\("([A-Z_]+)"\)/g)].map(
      ([, name = ""]) => name,
    ),
    ...[...local.matchAll(/process\.env\.([A-Z_]+)\b|portFrom\("([A-Z_]+)"/g)].map(
      ([, name, port]) => name ?? port ?? "",
    ),
    ...[...local.matchAll(/const \{([^}]+)\} = process\.env/g)].flatMap(([, list = ""]) =>
      list.split(",").map((name) => name.trim()),
    ),
  ];
  // The machine's own, which nobody sets for us.
  return new Set(names.filter((name) => name !== "" && name !== "PATH"));
}

test("the README and docs/deploy.md tell the same ports and defaults of npm start", () => {
  const told = (page: string, heading: string) =>
    tableUnder(page, heading).map(([name, value = ""]) => [name, value.replaceAll("`", "")]);
  const deploy = textOf("docs/deploy.md");
  for (const [name, value] of told("README.md", "Run it"))
    expect(deploy, name).toMatch(new RegExp(`\\| ${name} \\| \`?${value?.replace(".", "\\.")}\`? \\|`));
});

test("docs/data-model.md names every table, and no other", async () => {
  const rows = await sql<{ name: string }[]>`
    select case n.nspname when 'public' then c.relname else 'private.' || c.relname end as name
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname in ('public', 'private') and c.relkind in ('r', 'p') order by name`;
  const told = ["Organizations and people", "Feedback", "Surveys", "Internals"].flatMap((heading) =>
    tableUnder("docs/data-model.md", heading).flatMap(([name = ""]) => quoted(name)),
  );
  expect(told.toSorted()).toEqual(rows.map(({ name }) => name).toSorted());
});

test("docs/data-model.md tells every function clients write by, with its arguments", async () => {
  const rows = await sql<{ told: string }[]>`
    select p.proname || ': ' || array_to_string(array(
      select name || case when n > p.pronargs - p.pronargdefaults then '?' else '' end
      from unnest(p.proargnames) with ordinality as a (name, n)), ', ') as told
    from pg_proc p where p.pronamespace = 'public'::regnamespace and p.provolatile = 'v'`;
  const told = tableUnder("docs/data-model.md", "From a web app").flatMap(([names = "", given = ""]) =>
    quoted(names).map((name) => `${name}: ${given.replaceAll(/ \{.*?\}| \(.*?\)/g, "")}`),
  );
  expect(told.toSorted()).toEqual(rows.map((row) => row.told).toSorted());
});

test("docs/data-model.md tells what a signed-in client is granted", async () => {
  const rows = await sql<
    { name: string; unreadable: string[]; insertable: string[]; updatable: string[]; deletable: boolean }[]
  >`
    select c.relname as name,
      array_remove(array_agg(case when not has_column_privilege('authenticated', c.oid, a.attnum, 'select') then a.attname end), null) as unreadable,
      array_remove(array_agg(case when has_column_privilege('authenticated', c.oid, a.attnum, 'insert') then a.attname end), null) as insertable,
      array_remove(array_agg(case when has_column_privilege('authenticated', c.oid, a.attnum, 'update') then a.attname end), null) as updatable,
      has_table_privilege('authenticated', c.oid, 'delete') as deletable
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' group by c.oid, c.relname`;
  const granted = Object.fromEntries(
    rows.map(({ name, unreadable, insertable, updatable, deletable }) => [
      name,
      [unreadable.toSorted(), insertable.toSorted(), updatable.toSorted(), deletable],
    ]),
  );
  const names = (cell = "") => (cell === "–" ? [] : cell.split(", ").toSorted());
  const told = Object.fromEntries(
    tableUnder("docs/data-model.md", "Columns").map(
      ([table = "", unreadable, insertable, updatable, deletable]) => [
        table.replaceAll("`", ""),
        [names(unreadable), names(insertable), names(updatable), deletable === "yes"],
      ],
    ),
  );
  expect(told).toEqual(granted);
});

test("a file of tests/database has the number of the schema it is about, from 10 on", () => {
  const numbers = (folder: string) => readdirSync(`${root}/${folder}`).map((name) => name.slice(0, 2));
  const schemas = new Set(numbers("supabase/schemas"));
  const tests = numbers("tests/database").filter((number) => Number(number) >= 10);
  expect(tests.length).toBeGreaterThan(20);
  expect(tests.filter((number) => !schemas.has(number))).toEqual([]);
});
