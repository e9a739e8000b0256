import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { AuthKind, DataFolder } from "../folders/data-folder.ts";
import { authConfig } from "../lite/auth-config.ts";
import { loadLite } from "../lite/load.ts";
import { root } from "../root.ts";
import { withDatabase } from "./database.ts";

/**
 * Bootstraps what a hosted project provides before any migration, and the sign-in limits, once for each version of the
 * SQL files. `migrateAuth` is given if auth is a Supabase Auth program; it runs every time, because the program may be
 * newer than at the last start.
 */
export async function preparePlatform(
  superuserUrl: string,
  folder: Pick<DataFolder, "secrets" | "saveSecrets">,
  migrateAuth?: () => Promise<void>,
): Promise<void> {
  const { secrets } = folder;
  const run = (template: string) => {
    const { owner_password, data_api_password, auth_password } = secrets;
    const sql = template
      .replaceAll(":owner_password", `'${owner_password}'`)
      .replaceAll(":auth_password", `'${auth_password}'`)
      .replaceAll(":data_api_password", `'${data_api_password}'`);
    return withDatabase(superuserUrl, (database) => database.begin((transaction) => transaction.unsafe(sql)));
  };
  if (migrateAuth) {
    await run(await readSql("auth/program-login.sql"));
    await migrateAuth();
  }
  const { template, digest } = await readTemplate(secrets.auth);
  if (secrets.platform === digest) return;
  if (!migrateAuth) await createAuthTables(superuserUrl, folder);
  await run(template);
  await folder.saveSecrets({ platform: digest });
}

export async function isPlatformCurrent({ secrets }: Pick<DataFolder, "secrets">): Promise<boolean> {
  return secrets.platform === (await readTemplate(secrets.auth)).digest;
}

async function readTemplate(auth: AuthKind | undefined): Promise<{ template: string; digest: string }> {
  const template = await readSql("postgres/platform.sql", auth === "program" ? "auth/program.sql" : "auth/limits.sql");
  return { template, digest: createHash("sha256").update(template).digest("hex") };
}

async function readSql(...names: string[]): Promise<string> {
  const files = names.map((name) => readFile(join(root, "local", name), "utf8"));
  return (await Promise.all(files)).join("\n");
}

async function createAuthTables(superuserUrl: string, folder: Pick<DataFolder, "secrets">): Promise<void> {
  const { App, createPostgresConnection } = await loadLite();
  const connection = createPostgresConnection({ url: superuserUrl, postgresOptions: { onnotice: () => undefined } });
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
