import { readdirSync, readFileSync } from "node:fs";
import { beforeAll, expect, test } from "vitest";
import type { EndpointDescription } from "../../functions/_shared/http/endpoint.ts";
import { root } from "../../local/postgres/database-server.ts";
import { errorCodes, errors } from "../../shared/errors.ts";
import { locales } from "../../shared/locales.ts";
import { rateLimits } from "../../shared/rate-limits.ts";
import { scopes } from "../../shared/scopes.ts";
import { submissionStatuses } from "../../shared/submissions.ts";
import { type ColumnRights, columnRights } from "../column-rights.ts";
import { importFunction } from "../import-function.ts";
import { sql } from "../stack.ts";
import { tableUnder, textOf } from "./markdown.ts";

let endpoints: EndpointDescription[];

beforeAll(async () => {
  ({ endpoints } = await importFunction<{ endpoints: EndpointDescription[] }>(
    new URL("../../functions/api/app.ts", import.meta.url),
  ));
});

const code = (text: string) => `\`${text}\``;
const quoted = (text: string) => [...text.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name);

test("docs/api.md lists every route with its access, scope and rate limit rule", () => {
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

test("docs/api.md lists the limits of a new installation", () => {
  const documented = tableUnder("docs/api.md", "Rate limits").map((row) => row.slice(0, 3));
  expect(documented).toEqual(
    Object.entries(rateLimits).map(([name, rule]) => [
      code(name),
      String(rule.max_requests),
      String(rule.window_seconds),
    ]),
  );
});

test("docs/security.md lists the sign-in limits of a new installation", () => {
  const rules = [...textOf("local/auth/limits.sql").matchAll(/\('(\w+)', '(\w+)', '(\w+)', (\d+), (\d+)\)/g)].map(
    ([, action, by, counts, most, seconds]) => `${action} ${by}: ${most} ${counts} in ${seconds} s`,
  );
  const columns = ["address_and_account", "address", "account", "everyone"];
  const documented = tableUnder("docs/security.md", "Limits on signing in").flatMap(([action = "", , ...cells]) =>
    cells.flatMap((cell, at) => (cell === "–" ? [] : [`${quoted(action)} ${columns[at]}: ${cell}`])),
  );
  expect(documented).toEqual(rules);
});

test("docs/api.md lists every scope and no other", () => {
  const [, sentence = ""] = /^Scopes that exist: ([\s\S]*?)\n\n/m.exec(textOf("docs/api.md")) ?? [];
  expect(quoted(sentence).toSorted()).toEqual([...scopes].toSorted());
});

test("docs/data-model.md lists every status, and docs/api.md every language", () => {
  const listed = (page: string, sentence: RegExp) =>
    (sentence.exec(textOf(page))?.[1] ?? "").split(/,\s(?:and\s)?|\sand\s/);
  expect(listed("docs/data-model.md", /^Statuses are ([\w,\s]+), which only a merge sets/m)).toEqual(
    submissionStatuses,
  );
  expect(listed("docs/api.md", /`Accept-Language` chooses among ([\w,\s-]+):/)).toEqual(locales);
});

test("docs/errors.md lists the codes, statuses and SQLSTATEs of shared/errors.ts", () => {
  const documented = tableUnder("docs/errors.md", "Codes");
  expect(documented.map((row) => row.slice(0, 4))).toEqual(
    errorCodes.map((name) => {
      const { status, lowercase, sqlstate } = errors[name];
      return [code(name), String(status), code(lowercase), code(sqlstate)];
    }),
  );
  expect(documented.filter(([, , , , advice]) => !advice)).toEqual([]);
});

test("docs/deploy.md lists the variables that the code reads, and no others", () => {
  const documented = new Set([...textOf("docs/deploy.md").matchAll(/^\| `([A-Z_]+)` \|/gm)].map(([, name]) => name));
  expect([...documented].toSorted()).toEqual([...variablesRead()].toSorted());
});

/** Variables that the functions, the launcher and the operator's commands read. */
function variablesRead(): Set<string> {
  const text = (path: string) => readFileSync(`${root}/${path}`, "utf8");
  const local = readdirSync(`${root}/local`, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => text(`local/${name}`))
    .join("\n");
  const names = [
    ...[...text("functions/_shared/runtime/environment.ts").matchAll(/\bread\w*\("([A-Z_]+)"/g)].map(
      ([, name = ""]) => name,
    ),
    ...[
      ...local.matchAll(
        /(?:process\.env|surroundings\.environment)\.([A-Z_]+)\b|(?:choice|number|port)From\("([A-Z_]+)"/g,
      ),
    ].map(([, name, port]) => name ?? port ?? ""),
    // Questions of npm run deploy.
    ...[...local.matchAll(/^ {2}([A-Z_]+): \{ asks:/gm)].map(([, name = ""]) => name),
    ...[...local.matchAll(/const \{([^}]+)\} = process\.env/g)].flatMap(([, list = ""]) =>
      list.split(",").map((name) => (name.split(":")[0] ?? "").trim()),
    ),
  ];
  // Set by the machine, not by an operator.
  return new Set(names.filter((name) => name !== "" && name !== "PATH"));
}

test("the README and docs/deploy.md list the same ports and defaults of npm start", () => {
  const documented = (page: string, heading: string) =>
    tableUnder(page, heading).map(([name, value = ""]) => [name, value.replaceAll("`", "")]);
  const deploy = textOf("docs/deploy.md");
  for (const [name, value] of documented("README.md", "Run it"))
    expect(deploy, name).toMatch(new RegExp(`\\| ${name} \\| \`?${value?.replace(".", "\\.")}\`? \\|`));
});

test("docs/data-model.md lists every table, and no other", async () => {
  const rows = await sql<{ name: string }[]>`
    select case n.nspname when 'public' then c.relname else 'private.' || c.relname end as name
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname in ('public', 'private') and c.relkind in ('r', 'p') order by name`;
  const documented = ["Organizations and people", "Feedback", "Surveys", "Internals"].flatMap((heading) =>
    tableUnder("docs/data-model.md", heading).flatMap(([name = ""]) => quoted(name)),
  );
  expect(documented.toSorted()).toEqual(rows.map(({ name }) => name).toSorted());
});

test("docs/data-model.md lists every function that clients write with, with its arguments", async () => {
  const rows = await sql<{ signature: string }[]>`
    select p.proname || ': ' || array_to_string(array(
      select name || case when n > p.pronargs - p.pronargdefaults then '?' else '' end
      from unnest(p.proargnames) with ordinality as a (name, n)), ', ') as signature
    from pg_proc p where p.pronamespace = 'public'::regnamespace and p.provolatile = 'v'`;
  const documented = tableUnder("docs/data-model.md", "From a web app").flatMap(([names = "", given = ""]) =>
    quoted(names).map((name) => `${name}: ${given.replaceAll(/ \{.*?\}| \(.*?\)/g, "")}`),
  );
  expect(documented.toSorted()).toEqual(rows.map((row) => row.signature).toSorted());
});

test("docs/data-model.md lists the grants of a signed-in client", async () => {
  const rights = await columnRights();
  const deletable = await sql<{ table: string; deletable: boolean }[]>`
    select relname as table, has_table_privilege('authenticated', oid, 'delete') as deletable
    from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'`;
  const granted = Object.fromEntries(
    deletable.map(({ table, deletable }) => {
      const columns = (is: (column: ColumnRights) => boolean) =>
        rights.filter((right) => right.table === table && is(right)).map(({ column }) => column);
      const lists = [
        columns(({ isReadable }) => !isReadable),
        columns(({ isInsertable }) => isInsertable),
        columns(({ isUpdatable }) => isUpdatable),
      ];
      return [table, [...lists.map((names) => names.toSorted()), deletable]];
    }),
  );
  const names = (cell = "") => (cell === "–" ? [] : cell.split(", ").toSorted());
  const documented = Object.fromEntries(
    tableUnder("docs/data-model.md", "Columns").map(([table = "", unreadable, insertable, updatable, deletable]) => [
      table.replaceAll("`", ""),
      [names(unreadable), names(insertable), names(updatable), deletable === "yes"],
    ]),
  );
  expect(documented).toEqual(granted);
});

test("docs/data-model.md lists the triggers of submissions in the order they fire", async () => {
  const rows = await sql<{ event: string; moment: string; triggers: string[] }[]>`
    select event, moment, array_agg(tgname::text order by tgname) as triggers
    from pg_trigger t
      cross join lateral (values (1, 4, 'insert'), (2, 16, 'update'), (3, 8, 'delete')) e (event_order, bit, event)
      cross join lateral (select t.tgtype & 2 > 0 as is_before, t.tgtype & 1 > 0 as is_row) k
      cross join lateral (select case when is_before and not is_row then 1 when is_before then 2 when is_row then 3 else 4 end
          as moment_order,
        case when tgdeferrable then 'at commit' when is_before then 'before' else 'after' end
          || case when is_row then ' each row' else ' the statement' end as moment) m
    where tgrelid = 'public.submissions'::regclass and not tgisinternal and t.tgtype & bit > 0
    group by event_order, event, moment_order, moment order by event_order, moment_order`;
  expect(tableUnder("docs/data-model.md", "Triggers of submissions").map((row) => row.slice(0, 3))).toEqual(
    rows.map(({ event, moment, triggers }) => [event, moment, triggers.map(code).join(", ")]),
  );
});

test("a file of tests/database has the number of its schema file, from 10 on", () => {
  const numbers = (folder: string) => readdirSync(`${root}/${folder}`).map((name) => name.slice(0, 2));
  const schemas = new Set(numbers("supabase/schemas"));
  const tests = numbers("tests/database").filter((number) => Number(number) >= 10);
  expect(tests.length).toBeGreaterThan(20);
  expect(tests.filter((number) => !schemas.has(number))).toEqual([]);
});
