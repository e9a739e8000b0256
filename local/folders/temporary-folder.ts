import { mkdtemp, rm, statfs } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

const memory = "/dev/shm";
const tmpfs = 0x01021994;
const minFreeBytes = 4 * 1024 ** 3;

/**
 * A new folder for data that is deleted soon, in memory if Linux has 4 GB for it. A database has more than 1,000 files,
 * which take more CPU time to create on a disk than everything else at its start.
 */
export async function makeTemporaryFolder(name: string): Promise<string> {
  const found = await statfs(memory).catch(() => null);
  const hasRoom = found?.type === tmpfs && found.bavail * found.bsize >= minFreeBytes;
  return mkdtemp(join(hasRoom ? memory : tmpdir(), `feedback-${name}-`));
}

export async function withTemporaryFolder<Result>(
  use: (path: string) => Promise<Result>,
  make = () => makeTemporaryFolder("temporary"),
): Promise<Result> {
  const path = await make();
  try {
    return await use(path);
  } finally {
    await rm(path, { recursive: true, force: true });
  }
}
