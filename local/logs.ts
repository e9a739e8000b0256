import { constants } from "node:fs";
import { chmod, copyFile, stat, truncate } from "node:fs/promises";
import { join } from "node:path";

const names = ["postgres.log", "functions.log", "webhook-dispatch.log"];
const largest = 10 * 1024 * 1024;

/** Empties each log that has grown past `size` and keeps what stood in it as one older file: two of that size at most. */
export async function rotateLogs(folder: string, size = largest): Promise<void> {
  for (const name of names) {
    const log = join(folder, name);
    const found = await stat(log).catch(() => null);
    if (found === null || found.size <= size) continue;
    // Whoever writes goes on with the same file; what comes between the two steps is lost.
    await copyFile(log, `${log}.old`, constants.COPYFILE_FICLONE)
      .then(() => chmod(`${log}.old`, 0o600))
      .catch(() => undefined);
    await truncate(log).catch(() => undefined);
  }
}
