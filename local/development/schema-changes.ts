import { execFile } from "node:child_process";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { withTemporaryFolder } from "../folders/temporary-folder.ts";
import { withDatabase } from "../postgres/database.ts";
import { root } from "../postgres/database-server.ts";
import { withTemporaryDatabase } from "../postgres/temporary-database.ts";
import { schemaText } from "./baseline.ts";

/** The differences between supabase/schemas and supabase/migrations. */
export interface SchemaChanges {
  /** Statements by pg-delta: tables, functions, policies, grants, comments and so on. Empty if there are none. */
  sql: string;
  /** Tables with different rows, which pg-delta does not compare. */
  rows: string[];
}

const run = promisify(execFile);

/** The difference between two new databases, one created by the migrations and one by the schemas. */
export async function schemaChanges(project = root): Promise<SchemaChanges> {
  return withMigratedDatabase(project, (migratedUrl) =>
    withTemporaryFolder(async (folder) => {
      await writeFile(join(folder, "1_schemas.sql"), await schemaText(project));
      return withTemporaryDatabase(({ ownerUrl }) => compare(migratedUrl, ownerUrl), folder);
    }),
  );
}

export function withMigratedDatabase<Result>(
  project: string,
  use: (ownerUrl: string) => Promise<Result>,
): Promise<Result> {
  return withTemporaryDatabase(({ ownerUrl }) => use(ownerUrl), migrationsOf(project));
}

export const migrationsOf = (project = root) => join(project, "supabase", "migrations");

export async function migrationFiles(project = root): Promise<string[]> {
  return (await readdir(migrationsOf(project))).filter((file) => file.endsWith(".sql")).sort();
}

async function compare(source: string, desired: string): Promise<SchemaChanges> {
  const [sql, before, after] = await Promise.all([plannedSql(source, desired), rowsOf(source), rowsOf(desired)]);
  const tables = [...new Set([...before.keys(), ...after.keys()])].sort();
  // A table that is missing in one of them is in the statements.
  const isKnown = (table: string) => before.has(table) && after.has(table);
  return { sql, rows: tables.filter((table) => isKnown(table) && before.get(table) !== after.get(table)) };
}

async function plannedSql(source: string, desired: string): Promise<string> {
  const pgdelta = join(root, "node_modules", ".bin", "pgdelta");
  return withTemporaryFolder(async (folder) => {
    const plan = join(folder, "plan.json");
    const from = ["--source", source, "--desired", desired, "--renames", "off", "--out", plan];
    await run(pgdelta, ["plan", ...from]);
    const render = ["render", "--plan", plan, "--out", join(folder, "delta"), "--allow-drops"];
    const nothing = await run(pgdelta, render).then(
      () => false,
      (error: { code?: number; stderr?: string }) => {
        // 3: the plan has no actions.
        if (error.code === 3) return true;
        throw new Error(`pg-delta failed: ${error.stderr?.trim()}`);
      },
    );
    if (nothing) return "";
    const files = (await readdir(folder)).filter((file) => file.endsWith(".sql")).sort();
    const texts = await Promise.all(files.map((file) => readFile(join(folder, file), "utf8")));
    return texts.map((text) => text.trim()).join("\n\n");
  });
}

/** The initial rows of tables, such as limits, cursors and scheduled jobs, by table name. */
async function rowsOf(url: string): Promise<Map<string, string>> {
  return withDatabase(url, async (sql) => {
    const tables = await sql<{ name: string }[]>`
      select c.oid::regclass::text as name from pg_class c
      where c.relkind = 'r' and c.relnamespace = any (array(
        select oid from pg_namespace where nspname in ('public', 'private', 'cron')))`;
    const found = new Map<string, string>();
    for (const { name } of tables) {
      const [row] = await sql.unsafe<{ rows: string }[]>(
        `select coalesce(jsonb_agg(r order by r), '[]')::text as rows from (select to_jsonb(t) as r from ${name} t) t`,
      );
      found.set(name, row?.rows ?? "");
    }
    return found;
  });
}
