import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { openDataFolder, type Secrets } from "../local/folders/data-folder.ts";
import { defaultMigrations, startDatabase } from "../local/postgres/database-server.ts";

/** Settings under which a killed Postgres still recovers, and only a machine that goes down loses anything. */
export const unsynced = { fsync: "off", full_page_writes: "off" };

/** A data folder with the platform and our migrations, and nothing else; every stack of a run begins as a copy of it. */
export async function makeTemplate(path: string): Promise<void> {
  const folder = await openDataFolder(path, "none");
  const database = await startDatabase({
    folder,
    port: 0,
    migrations: defaultMigrations,
    settings: { ...unsynced, synchronous_commit: "off" },
    onProgress: () => undefined,
  });
  await database.stop();
  await folder.release();
}

/** Makes `dataDir`, which must not be there yet. */
export async function copyTemplate(template: string, dataDir: string, seed: Secrets["seed"]): Promise<void> {
  // As the programs of Postgres may run as another user, the files' owners are kept.
  await promisify(execFile)("cp", ["-a", template, dataDir]);
  const file = join(dataDir, "secrets.json");
  const secrets = JSON.parse(await readFile(file, "utf8")) as Secrets;
  await writeFile(file, JSON.stringify({ ...secrets, seed }));
}
