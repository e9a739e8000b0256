import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openDataFolder } from "./data-folder.ts";
import { type DatabaseServer, defaultMigrations, startDatabase } from "./database-server.ts";

export async function withTemporaryFolder<Result>(use: (path: string) => Promise<Result>): Promise<Result> {
  const path = await mkdtemp(join(tmpdir(), "feedback-"));
  try {
    return await use(path);
  } finally {
    await rm(path, { recursive: true, force: true });
  }
}

/** A migrated database without data, for checks and tests; nothing of it stays. */
export function withTemporaryDatabase<Result>(
  use: (database: DatabaseServer) => Promise<Result>,
  migrations = defaultMigrations,
): Promise<Result> {
  return withTemporaryFolder(async (path) => {
    const folder = await openDataFolder(path, "none");
    // What is thrown away need not survive a power cut.
    const settings = { fsync: "off", synchronous_commit: "off", full_page_writes: "off" };
    const database = await startDatabase({
      folder,
      port: 0,
      migrations,
      settings,
      progress: () => undefined,
    });
    try {
      return await use(database);
    } finally {
      await database.stop();
      await folder.release();
    }
  });
}
