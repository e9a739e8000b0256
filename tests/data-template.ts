import { execFile } from "node:child_process";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { inject } from "vitest";
import { openDataFolder, type Secrets } from "../local/folders/data-folder.ts";
import { makeTemporaryFolder } from "../local/folders/temporary-folder.ts";
import { withDatabase } from "../local/postgres/database.ts";
import { type DatabaseServer, defaultMigrations, startDatabase } from "../local/postgres/database-server.ts";

/** Without syncing, a killed Postgres still recovers; only a crash of the machine loses data. */
export const unsynced = { fsync: "off", full_page_writes: "off" };

/** A data folder with the platform and our migrations, and nothing else; every stack of a run begins as a copy of it. */
export async function makeTemplate(path: string): Promise<void> {
  const database = await startIn(path);
  await withDatabase(database.ownerUrl, (sql) => sql.unsafe(addressesAreMasked));
  await database.stop();
}

/** In every database of a run, a request that writes an e-mail or IP address to an audit table fails. */
const anAddress = String.raw`@|(\d+\.){3}\d|::[0-9a-f]|[0-9a-f]::|([0-9a-f]+:){7}`;
const addressesAreMasked = `
  alter table private.audit_log add constraint addresses_are_masked_in_tests
    check (concat_ws(' ', action, target_type, request_id, details) !~* '${anAddress}');
  alter table private.agent_audit add constraint addresses_are_masked_in_tests
    check (concat_ws(' ', tool, scope, outcome, argument_names, address) !~* '${anAddress}')`;

async function startIn(path: string): Promise<DatabaseServer> {
  const folder = await openDataFolder(path, "none");
  const database = await startDatabase({
    folder,
    port: 0,
    migrations: defaultMigrations,
    settings: { ...unsynced, synchronous_commit: "off" },
    onProgress: () => undefined,
  });
  return { ...database, stop: () => database.stop().then(() => folder.release()) };
}

/** A migrated empty database without the rest of a stack; its folder is deleted when it stops. */
export async function startEmptyDatabase(): Promise<DatabaseServer & { path: string }> {
  const folder = await makeTemporaryFolder("database");
  const path = join(folder, "data");
  await copyTemplate(inject("template"), path, "none");
  const database = await startIn(path);
  const stop = () => database.stop().then(() => rm(folder, { recursive: true, force: true }));
  return { ...database, path, stop };
}

/** Creates `dataDir`, which must not exist yet. */
export async function copyTemplate(template: string, dataDir: string, seed: Secrets["seed"]): Promise<void> {
  // The programs of Postgres may run as another user, so the copy keeps the files' owners.
  await promisify(execFile)("cp", ["-a", template, dataDir]);
  const file = join(dataDir, "secrets.json");
  const secrets = JSON.parse(await readFile(file, "utf8")) as Secrets;
  await writeFile(file, JSON.stringify({ ...secrets, seed }));
}
