import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { DataFolder } from "./data-folder.ts";
import { withDatabase } from "./database.ts";
import { authConfig } from "./lite/auth-config.ts";
import { loadLite } from "./lite/load.ts";

/**
 * Bootstraps what a hosted project provides before any migration, and the sign-in limits; once for each version of the
 * files.
 */
export async function preparePlatform(
  superuserUrl: string,
  folder: Pick<DataFolder, "secrets" | "saveSecrets">,
): Promise<void> {
  const { template, digest } = await readTemplate();
  if (folder.secrets.platform === digest) return;
  await createAuthTables(superuserUrl, folder);
  const { owner_password, data_api_password, auth_password } = folder.secrets;
  const sql = template
    .replaceAll(":owner_password", `'${owner_password}'`)
    .replaceAll(":auth_password", `'${auth_password}'`)
    .replaceAll(":data_api_password", `'${data_api_password}'`);
  await withDatabase(superuserUrl, (database) => database.begin((transaction) => transaction.unsafe(sql)));
  await folder.saveSecrets({ platform: digest });
}

export async function isPlatformCurrent({ secrets }: Pick<DataFolder, "secrets">): Promise<boolean> {
  return secrets.platform === (await readTemplate()).digest;
}

async function readTemplate(): Promise<{ template: string; digest: string }> {
  const template = await readSql("platform.sql", "auth/limits.sql");
  return { template, digest: createHash("sha256").update(template).digest("hex") };
}

async function readSql(...names: string[]): Promise<string> {
  const files = names.map((name) => readFile(new URL(name, import.meta.url), "utf8"));
  return (await Promise.all(files)).join("\n");
}

async function createAuthTables(superuserUrl: string, folder: Pick<DataFolder, "secrets">): Promise<void> {
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
