import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Sql } from "./database.ts";
import { type Statement, sqlStatements } from "./sql-statements.ts";
import { messageOf, StartError } from "./start-error.ts";

interface Migration {
  version: string;
  name: string;
  file: string;
  statements: Statement[];
}

/** Applies what is new, each file in a transaction and recorded as the Supabase CLI records it. */
export async function migrate(sql: Sql, folder: string): Promise<number> {
  const migrations = await readMigrations(folder);
  const applied = await appliedMigrations(sql);
  for (const version of applied.keys()) {
    if (!migrations.some((migration) => migration.version === version)) {
      throw new StartError(
        `the database has migration ${version}, which ${folder} does not: start the version of the service that made it, or set DATA_DIR`,
      );
    }
  }
  let done = 0;
  for (const migration of migrations) {
    const recorded = applied.get(migration.version);
    if (recorded === undefined) {
      await apply(sql, migration);
      done++;
    } else if (recorded !== null && recorded.join("\0") !== texts(migration).join("\0")) {
      throw new StartError(
        `migration ${migration.file} was changed after this database had it: remove the data folder, or set DATA_DIR to another`,
      );
    }
  }
  return done;
}

async function readMigrations(folder: string): Promise<Migration[]> {
  const files = (await readdir(folder)).filter((file) => /^\d+_.*\.sql$/.test(file)).sort();
  return Promise.all(
    files.map(async (file) => {
      const [, version = "", name = ""] = /^(\d+)_(.*)\.sql$/.exec(file) ?? [];
      return { version, name, file, statements: sqlStatements(await readFile(join(folder, file), "utf8")) };
    }),
  );
}

async function appliedMigrations(sql: Sql): Promise<Map<string, string[] | null>> {
  await sql.unsafe(`
    create schema if not exists supabase_migrations;
    create table if not exists supabase_migrations.schema_migrations (version text not null primary key);
    alter table supabase_migrations.schema_migrations add column if not exists statements text[];
    alter table supabase_migrations.schema_migrations add column if not exists name text;
    revoke all on schema supabase_migrations from public, anon, authenticated, service_role`);
  const rows = await sql<{ version: string; statements: string[] | null }[]>`
    select version, statements from supabase_migrations.schema_migrations`;
  return new Map(rows.map((row) => [row.version, row.statements]));
}

async function apply(sql: Sql, migration: Migration): Promise<void> {
  let current = migration.statements[0];
  try {
    await sql.begin(async (transaction) => {
      for (const statement of migration.statements) {
        current = statement;
        await transaction.unsafe(statement.text);
      }
      await transaction`
        insert into supabase_migrations.schema_migrations (version, name, statements)
        values (${migration.version}, ${migration.name}, ${texts(migration)})`;
    });
  } catch (error) {
    throw new StartError(
      `migration ${migration.file} failed at line ${lineOf(error, current)}: ${describe(error)}`,
    );
  }
}

const texts = (migration: Migration) => migration.statements.map(({ text }) => text);

/** Postgres counts characters from the statement's beginning; people count lines of the file. */
function lineOf(error: unknown, statement: Statement | undefined): number {
  if (statement === undefined) return 1;
  const position = error instanceof Error && "position" in error ? Number(error.position) : 1;
  return (
    statement.line +
    [...statement.text].slice(0, position - 1).filter((character) => character === "\n").length
  );
}

function describe(error: unknown): string {
  const code = error instanceof Error && "code" in error ? ` (${String(error.code)})` : "";
  return `${messageOf(error)}${code}`;
}
