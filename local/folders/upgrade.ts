import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { copyFile, mkdir, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { endOrphan } from "../postgres/process.ts";
import { codeOf, messageOf, StartError } from "../processes/start-error.ts";
import { exists, syncTree } from "./files.ts";

// While before-upgrade/postgres exists, the upgrade is incomplete and the next start restores the copy.
const copyOf = (folder: string) => join(folder, "before-upgrade");
const unique = () => randomBytes(4).toString("hex");
const leftover = /^(before-upgrade\.[0-9a-f]{8}\.(new|old)|postgres\.[0-9a-f]{8}\.old)$/;

/** Copies the stopped database and its secrets before an upgrade. */
export async function createBackupCopy(folder: string): Promise<void> {
  const draft = `${copyOf(folder)}.${unique()}.new`;
  try {
    await mkdir(draft, { mode: 0o700 });
    // -a: the files belong to the user that runs Postgres.
    await promisify(execFile)("cp", ["-a", join(folder, "postgres"), draft]);
    await copyFile(join(folder, "secrets.json"), join(draft, "secrets.json"));
    await syncTree(draft);
    await rename(draft, copyOf(folder));
    await syncTree(copyOf(folder));
  } catch (error) {
    await rm(draft, { recursive: true, force: true }).catch(() => undefined);
    throw new StartError(
      `the data could not be copied before the upgrade (${messageOf(error)}): make room for a second copy of ${join(folder, "postgres")}`,
    );
  }
}

/** Replaces a database whose upgrade is incomplete by its copy; false if there is none. */
export async function restoreBackupCopy(folder: string): Promise<boolean> {
  const copy = copyOf(folder);
  const isUnfinished = await exists(join(copy, "postgres"));
  if (isUnfinished) {
    await endOrphan(join(folder, "postgres"));
    const secrets = join(folder, `secrets.json.${unique()}.new`);
    await copyFile(join(copy, "secrets.json"), secrets);
    await syncTree(secrets);
    await rename(secrets, join(folder, "secrets.json"));
    await rename(join(folder, "postgres"), join(folder, `postgres.${unique()}.old`)).catch(unlessMissing);
    await rename(join(copy, "postgres"), join(folder, "postgres"));
  }
  await discardCopy(folder);
  return isUnfinished;
}

/** After the upgrade has succeeded. */
export async function discardCopy(folder: string): Promise<void> {
  // Renames it first: a partial copy must not be restored.
  await rename(copyOf(folder), `${copyOf(folder)}.${unique()}.old`).catch(unlessMissing);
  for (const name of await readdir(folder).catch(() => []))
    if (leftover.test(name)) await rm(join(folder, name), { recursive: true, force: true });
}

export const isUpgrading = (folder: string) => exists(copyOf(folder));

function unlessMissing(error: unknown): void {
  if (codeOf(error) !== "ENOENT") throw error;
}
