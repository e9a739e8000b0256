import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Sql, withDatabase } from "../../local/postgres/database.ts";
import { root } from "../../local/postgres/database-server.ts";
import { withTemporaryDatabase } from "../../local/postgres/temporary-database.ts";
import { folder, prepare, runFile } from "./run.ts";

// Removes one rule of the database at a time, and runs the pgTAP files until one fails: it prints the rules whose removal no file notices.
// npm run test:mutations [part of a name] [n: only each nth rule]

interface Mutation {
  name: string;
  apply: string;
  revert: string;
}

/** Policies that allow every row, disabled triggers, and false conditions before a `raise` or a refusal. */
async function mutations(sql: Sql): Promise<Mutation[]> {
  return [...(await policies(sql)), ...(await triggers(sql)), ...(await refusals(sql))];
}

async function policies(sql: Sql): Promise<Mutation[]> {
  const rows = await sql<{ name: string; table: string; qual: string | null; with_check: string | null }[]>`
    select quote_ident(policyname) as name, format('%I.%I', schemaname, tablename) as table, qual, with_check
    from pg_policies where schemaname in ('public', 'private', 'realtime') order by 2, 1`;
  return rows.flatMap(({ name, table, qual, with_check }) => {
    const alter = (clause: string, expression: string) => `alter policy ${name} on ${table} ${clause} (${expression})`;
    return (
      [
        ["using", qual],
        ["with check", with_check],
      ] as const
    ).flatMap(([clause, expression]) =>
      expression === null || expression === "true"
        ? []
        : [{ name: `${table}: ${clause} of ${name}`, apply: alter(clause, "true"), revert: alter(clause, expression) }],
    );
  });
}

async function triggers(sql: Sql): Promise<Mutation[]> {
  const rows = await sql<{ name: string; table: string }[]>`
    select quote_ident(t.tgname) as name, t.tgrelid::regclass::text as table
    from pg_trigger t join pg_class c on c.oid = t.tgrelid
    where not t.tgisinternal and t.tgparentid = 0 and c.relowner = current_user::regrole order by 2, 1`;
  return rows.map(({ name, table }) => ({
    name: `${table}: trigger ${name}`,
    apply: `alter table ${table} disable trigger ${name}`,
    revert: `alter table ${table} enable trigger ${name}`,
  }));
}

const refusal =
  /\bif ((?:(?!\bthen\b)[\s\S])+?) then(?=\s+(?:raise|perform private\.(?:refuse|raise)|return (?:false|null|old)\b))/g;

async function refusals(sql: Sql): Promise<Mutation[]> {
  const rows = await sql<{ name: string; definition: string }[]>`
    select oid::regprocedure::text as name, pg_get_functiondef(oid) as definition
    from pg_proc where pronamespace in ('public'::regnamespace, 'private'::regnamespace)
      and prokind = 'f' and proowner = current_user::regrole order by 1`;
  return rows.flatMap(({ name, definition }) =>
    [...definition.matchAll(refusal)].map((match) => ({
      name: `${name}: if ${match[1]?.replace(/\s+/g, " ")}`,
      apply: `${definition.slice(0, match.index)}if false then${definition.slice(match.index + match[0].length)}`,
      revert: definition,
    })),
  );
}

// Files that test all tables.
const general = /^(?:01|02|20|21|22|23|41|45_client)/;

/** The files of the same number, where most rules are tested, and the general ones. */
function filesFor(files: string[], { name }: Mutation, schemaOf: Map<string, string>): string[] {
  const subject = name.replace(/[(:].*/s, "").replace(/^(?:public|private)\./, "");
  const number = schemaOf.get(subject)?.slice(0, 2) ?? "00";
  const own = files.filter((file) => file.startsWith(number));
  return [...own, ...files.filter((file) => !file.startsWith(number) && general.test(file))];
}

/** The schema file that creates each table and function. */
async function schemas(): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  const schemaFolder = join(root, "supabase", "schemas");
  for (const file of await readdir(schemaFolder))
    for (const [, name = ""] of (await readFile(join(schemaFolder, file), "utf8")).matchAll(
      /^create (?:table|(?:or replace )?function) (?:public|private)\.(\w+)/gm,
    ))
      found.set(name, file);
  return found;
}

const missed: string[] = [];
let count = 0;
await withTemporaryDatabase(async (urls) => {
  await prepare(urls);
  const files = (await readdir(folder)).filter((name) => name.endsWith(".sql"));
  const schemaOf = await schemas();
  await withDatabase(urls.ownerUrl, async (sql) => {
    const chosen = (await mutations(sql))
      .filter(({ name }) => name.includes(process.argv[2] ?? ""))
      .filter((_mutation, index) => index % Number(process.argv[3] ?? 1) === 0);
    console.log(`${chosen.length} rules`);
    for (const mutation of chosen) {
      await sql.unsafe(mutation.apply);
      let caught = "";
      for (const file of filesFor(files, mutation, schemaOf)) {
        const { failures } = await runFile(urls.ownerUrl, join(folder, file));
        if (failures.length === 0) continue;
        caught = file;
        break;
      }
      await sql.unsafe(mutation.revert);
      count++;
      console.log(`${caught || "MISSED"}: ${mutation.name}`);
      if (!caught) missed.push(mutation.name);
    }
  });
});
console.log(`${count} rules removed, ${missed.length} of them unnoticed`);
