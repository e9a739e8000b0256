import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { DataFolder } from "./data-folder.ts";
import { withDatabase } from "./database.ts";
import { loadLite } from "./lite.ts";
import { migrate } from "./migrate.ts";
import { preparePlatform } from "./platform.ts";
import { startPostgres } from "./postgres.ts";

export const root = resolve(fileURLToPath(new URL("..", import.meta.url)));
export const defaultMigrations = join(root, "supabase", "migrations");

export interface DatabaseOptions {
  folder: DataFolder;
  port: number;
  migrations: string;
  settings?: Record<string, string | number>;
  progress(step: string): void;
  trouble?(message: string): void;
}

export interface DatabaseServer {
  /** Of the role postgres, which owns our tables and is not a superuser. */
  ownerUrl: string;
  superuserUrl: string;
  url(role: string, password: string): string;
  stop(): Promise<void>;
}

/** Postgres as a hosted project has it, with our migrations applied. */
export async function startDatabase(options: DatabaseOptions): Promise<DatabaseServer> {
  const { folder, progress } = options;
  const { secrets } = folder;
  progress("Postgres");
  const loading = loadLite();
  const postgres = await startPostgres({
    folder: folder.path,
    port: options.port,
    superuserPassword: secrets.superuser_password,
    onTrouble: options.trouble ?? (() => undefined),
    ...(options.settings ? { settings: options.settings } : {}),
  });
  try {
    const superuserUrl = postgres.url("supabase_admin", secrets.superuser_password);
    const ownerUrl = postgres.url("postgres", secrets.owner_password);
    progress("platform");
    await loading;
    await preparePlatform(superuserUrl, folder);
    progress("migrations");
    await withDatabase(superuserUrl, async (superuser) => {
      // So that migrations can make policies on realtime.messages, as an extension lets them on hosted Supabase.
      await superuser`grant supabase_realtime_admin to postgres`;
      await withDatabase(ownerUrl, (sql) => migrate(sql, options.migrations)).finally(
        () => superuser`revoke supabase_realtime_admin from postgres`,
      );
    });
    return { ownerUrl, superuserUrl, url: postgres.url, stop: postgres.stop };
  } catch (error) {
    await postgres.stop();
    throw error;
  }
}
