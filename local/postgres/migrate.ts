import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { messageOf, StartError } from "../processes/start-error.ts";
import type { Sql } from "./database.ts";

interface Migration {
  version: string;
  name: string;
  file: string;
  text: string;
}

export interface MigrationState {
  /** No migration has been applied. */
  isNew: boolean;
  pending: Migration[];
}

/** Applies new migrations, each in a transaction and recorded in the table of the Supabase CLI. */
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
    const recorded = applied.get(migration.version)?.join("\n") ?? migration.text;
    if (recorded !== migration.text && compared(recorded) !== compared(migration.text)) {
      throw new StartError(
        `migration ${migration.file} was changed after this database had it: remove the data folder, or set DATA_DIR to another`,
      );
    }
  }
  return { isNew: applied.size === 0, pending: migrations.filter(({ version }) => !applied.has(version)) };
}

/** The Supabase CLI and version 0.1.0 record each statement without its semicolon and the white space around it. */
const compared = (text: string) => text.replace(/--.*|[;\s]/g, "");

async function readMigrations(folder: string): Promise<Migration[]> {
  const files = (await readdir(folder)).filter((file) => /^\d+_.*\.sql$/.test(file)).sort();
  return Promise.all(
    files.map(async (file) => {
      const [, version = "", name = ""] = /^(\d+)_(.*)\.sql$/.exec(file) ?? [];
      return { version, name, file, text: await readFile(join(folder, file), "utf8") };
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
    try {
      await sql.begin(async (transaction) => {
        await transaction.unsafe(migration.text);
        await transaction`
          insert into supabase_migrations.schema_migrations (version, name, statements)
          values (${migration.version}, ${migration.name}, ${[migration.text]})`;
      });
      return;
    } catch (error) {
      const isDeadlock = error instanceof Error && "code" in error && error.code === deadlock;
      if (isDeadlock && attempt < maxAttempts) continue;
      throw new StartError(`migration ${migration.file} failed${placeOf(error, migration.text)}: ${describe(error)}`);
    }
  }
}

/** Postgres reports the character at which it refused the text, but none for an error while a statement runs. */
function placeOf(error: unknown, text: string): string {
  if (!(error instanceof Error) || !("position" in error)) return "";
  const before = [...text].slice(0, Number(error.position) - 1);
  return ` at line ${before.filter((character) => character === "\n").length + 1}`;
}

function describe(error: unknown): string {
  const code = error instanceof Error && "code" in error ? ` (${String(error.code)})` : "";
  return `${messageOf(error)}${code}`;
}
