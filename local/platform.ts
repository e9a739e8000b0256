import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { authConfig } from "./auth-config.ts";
import type { DataFolder } from "./data-folder.ts";
import { withDatabase } from "./database.ts";
import { loadLite } from "./lite.ts";

/** Gives the database what a hosted project has before any migration, and the limits on signing in; once for each version of the two files. */
export async function preparePlatform(superuserUrl: string, folder: DataFolder): Promise<void> {
  const template = await readSql("platform.sql", "auth/limits.sql");
  const digest = createHash("sha256").update(template).digest("hex");
  if (folder.secrets.platform === digest) return;
  await createAuthTables(superuserUrl, folder);
  const { owner_password, data_api_password } = folder.secrets;
  const sql = template
    .replaceAll(":owner_password", `'${owner_password}'`)
    .replaceAll(":data_api_password", `'${data_api_password}'`);
  await withDatabase(superuserUrl, (database) => database.begin((transaction) => transaction.unsafe(sql)));
  await folder.saveSecrets({ platform: digest });
}

async function readSql(...names: string[]): Promise<string> {
  const files = names.map((name) => readFile(new URL(name, import.meta.url), "utf8"));
  return (await Promise.all(files)).join("\n");
}

async function createAuthTables(superuserUrl: string, folder: DataFolder): Promise<void> {
  const { App, createPostgresConnection } = await loadLite();
  const connection = createPostgresConnection({
    url: superuserUrl,
    postgresOptions: { onnotice: () => undefined },
  });
  try {
    const app = new App({
      connection,
      auth: authConfig(folder.secrets, "http://127.0.0.1"),
      db: { migrations: { enabled: false } },
      storage: { enabled: false },
    });
    await app.ensureSystemSchema();
  } finally {
    await connection.close();
  }
}
