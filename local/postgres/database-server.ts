import { join } from "node:path";
import type { Writable } from "node:stream";
import { type AuthProgram, authLogin, migrateAuth, needsAuthUpgrade } from "../auth/program.ts";
import type { DataFolder } from "../folders/data-folder.ts";
import { createBackupCopy } from "../folders/upgrade.ts";
import { loadLite } from "../lite/load.ts";
import type { Unrecoverable } from "../processes/restart-on-exit.ts";
import { root } from "../root.ts";
import { withDatabase } from "./database.ts";
import { migrate, migrationState } from "./migrate.ts";
import { isPlatformCurrent, preparePlatform } from "./platform.ts";
import { startPostgres } from "./process.ts";

export { root };
export const defaultMigrations = join(root, "supabase", "migrations");

export interface DatabaseOptions {
  folder: DataFolder;
  port: number;
  migrations: string;
  settings?: Record<string, string | number>;
  /** Replaces the file of Postgres's log. */
  log?: Writable | undefined;
  /** A program of Supabase Auth, which makes the tables of auth. */
  authProgram?: AuthProgram | null | undefined;
  onProgress(step: string): void;
  onWarning?(message: string): void;
  /** Called when Postgres has ended and cannot be restarted. */
  onLost?(reason: Unrecoverable): void;
}

export interface DatabaseServer {
  /** URL of the role postgres, which owns the tables and is not a superuser. */
  ownerUrl: string;
  superuserUrl: string;
  url(role: string, password: string): string;
  stop(): Promise<void>;
}

/** Postgres like a hosted project, with the migrations applied. An upgrade leaves a copy of the data: folders/upgrade.ts. */
export async function startDatabase(options: DatabaseOptions): Promise<DatabaseServer> {
  const { folder, authProgram: program, onProgress } = options;
  const { secrets } = folder;
  onProgress("Postgres");
  // Not needed for an existing database.
  const liteLoaded = secrets.platform === undefined && !program ? loadLite() : undefined;
  const start = () =>
    startPostgres({
      folder: folder.path,
      port: options.port,
      superuserPassword: secrets.superuser_password,
      log: options.log,
      onWarning: options.onWarning ?? (() => undefined),
      onLost: options.onLost ?? (() => undefined),
      ...(options.settings ? { settings: options.settings } : {}),
    });
  let postgres = await start();
  try {
    let superuserUrl = postgres.url("supabase_admin", secrets.superuser_password);
    if (await needsUpgrade(superuserUrl, options)) {
      onProgress("upgrade, with a copy of the data");
      await postgres.stop();
      await createBackupCopy(folder.path);
      postgres = await start();
      superuserUrl = postgres.url("supabase_admin", secrets.superuser_password);
    }
    const ownerUrl = postgres.url("postgres", secrets.owner_password);
    onProgress("platform");
    await liteLoaded;
    const databaseUrl = postgres.url(authLogin, secrets.auth_password);
    const migrateTables = program && (() => migrateAuth({ program, databaseUrl, folder: folder.path }));
    await preparePlatform(superuserUrl, folder, migrateTables ?? undefined);
    onProgress("migrations");
    await applyMigrations(superuserUrl, ownerUrl, options.migrations);
    return { ownerUrl, superuserUrl, url: postgres.url, stop: postgres.stop };
  } catch (error) {
    await postgres.stop();
    throw error;
  }
}

/** As the role that owns the tables, which is not a superuser. */
export async function applyMigrations(superuserUrl: string, ownerUrl: string, folder: string): Promise<void> {
  await withDatabase(superuserUrl, async (superuser) => {
    // Allows migrations to create policies on realtime.messages, like an extension does on hosted Supabase.
    await superuser`grant supabase_realtime_admin to postgres`;
    await withDatabase(ownerUrl, (sql) => migrate(sql, folder)).finally(
      () => superuser`revoke supabase_realtime_admin from postgres`,
    );
  });
}

/** Whether an existing database is about to be upgraded; rejects one of a newer version before anything changes. */
function needsUpgrade(superuserUrl: string, options: DatabaseOptions): Promise<boolean> {
  const { folder, migrations, authProgram } = options;
  return withDatabase(superuserUrl, async (sql) => {
    const { isNew, pending } = await migrationState(sql, migrations);
    if (isNew) return false;
    const needsAuth = authProgram ? await needsAuthUpgrade(authProgram, sql) : false;
    return needsAuth || pending.length > 0 || !(await isPlatformCurrent(folder));
  });
}
