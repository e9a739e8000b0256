import { open, readdir, stat } from "node:fs/promises";
import { join } from "node:path";

export const exists = (path: string) =>
  stat(path).then(
    () => true,
    () => false,
  );

/** Syncs a file or a complete folder to disk, so that it survives a power failure. */
export async function syncTree(path: string): Promise<void> {
  const file = await open(path, "r");
  try {
    if ((await file.stat()).isDirectory()) for (const name of await readdir(path)) await syncTree(join(path, name));
    await file.sync();
  } finally {
    await file.close();
  }
}
