import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { messageOf, StartError } from "../processes/start-error.ts";
import type { Sql } from "./database.ts";
import { type Statement, sqlStatements } from "./sql-statements.ts";

interface Migration {
  version: string;
  name: string;
  file: string;
  statements: Statement[];
}

export interface MigrationState {
  /** No migration has been applied. */
  isNew: boolean;
  pending: Migration[];
}

/** Applies new migrations, each in a transaction and recorded like the Supabase CLI does. */
export async function migrate(sql: Sql, folder: string): Promise<void> {
  await sql.unsafe(`
    create schema if not exists supabase_migrations;
    create table if not exists supabase_migrations.schema_migrations (version text not null primary key);
    alter table supabase_migrations.schema_migrations add column if not exists statements text[];
    alter table supabase_migrations.schema_migrations add column if not exists name text;
    revoke all on schema supabase_migrations from public, anon, authenticated, service_role`);
  const { pending } = await migrationState(sql, folder);
  for (const migration of pending) await apply(sql, migration);
}

/** Compares a database with the migration files; rejects one that a newer version has migrated, or with other files. */
export async function migrationState(sql: Sql, folder: string): Promise<MigrationState> {
  const migrations = await readMigrations(folder);
  const applied = await appliedMigrations(sql);
  for (const version of applied.keys()) {
    if (!migrations.some((migration) => migration.version === version)) {
      throw new StartError(
        `the data folder is of a newer version of the service (migration ${version}): start that version, or set DATA_DIR to another folder`,
      );
    }
  }
  for (const migration of migrations) {
    const recorded = applied.get(migration.version);
    if (recorded && recorded.join("\0") !== texts(migration).join("\0")) {
      throw new StartError(
        `migration ${migration.file} was changed after this database had it: remove the data folder, or set DATA_DIR to another`,
      );
    }
  }
  return { isNew: applied.size === 0, pending: migrations.filter(({ version }) => !applied.has(version)) };
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
  const [table] = await sql<{ exists: boolean }[]>`
    select to_regclass('supabase_migrations.schema_migrations') is not null as exists`;
  if (!table?.exists) return new Map();
  const rows = await sql<{ version: string; statements: string[] | null }[]>`
    select version, statements from supabase_migrations.schema_migrations`;
  return new Map(rows.map((row) => [row.version, row.statements]));
}

const deadlock = "40P01";
const maxAttempts = 5;

/** Retries a migration that Postgres canceled because it and a request of the running service waited for each other. */
async function apply(sql: Sql, migration: Migration): Promise<void> {
  for (let attempt = 1; ; attempt++) {
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
      return;
    } catch (error) {
      const isDeadlock = error instanceof Error && "code" in error && error.code === deadlock;
      if (isDeadlock && attempt < maxAttempts) continue;
      throw new StartError(
        `migration ${migration.file} failed at line ${lineOf(error, current)}: ${describe(error)}`,
      );
    }
  }
}

const texts = (migration: Migration) => migration.statements.map(({ text }) => text);

/** Postgres reports a character position in the statement; convert it to a line of the file. */
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
