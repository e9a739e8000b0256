import { constants } from "node:fs";
import { chmod, copyFile, stat, truncate } from "node:fs/promises";
import { join } from "node:path";

const writers = ["postgres", "functions", "web", "webhook-dispatch", "mail-dispatch", "auth"];
const maxBytes = 10 * 1024 * 1024;

/** Rotates logs larger than `size`, keeping one older file each. */
export async function rotateLogs(folder: string, size = maxBytes): Promise<void> {
  for (const name of writers) {
    const log = join(folder, `${name}.log`);
    const found = await stat(log).catch(() => null);
    if (found === null || found.size <= size) continue;
    // Writers keep their file handle: copy and truncate. Lines between the two steps are lost.
    await copyFile(log, `${log}.old`, constants.COPYFILE_FICLONE)
      .then(() => chmod(`${log}.old`, 0o600))
      .catch(() => undefined);
    await truncate(log).catch(() => undefined);
  }
}
