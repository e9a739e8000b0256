import { openDataFolder } from "../folders/data-folder.ts";
import { withTemporaryFolder } from "../folders/temporary-folder.ts";
import { type DatabaseServer, defaultMigrations, startDatabase } from "./database-server.ts";

/** A migrated empty database for checks and tests; deleted afterwards. */
export function withTemporaryDatabase<Result>(
  use: (database: DatabaseServer) => Promise<Result>,
  migrations = defaultMigrations,
): Promise<Result> {
  return withTemporaryFolder(async (path) => {
    const folder = await openDataFolder(path, "none");
    // No durability needed.
    const settings = { fsync: "off", synchronous_commit: "off", full_page_writes: "off" };
    const database = await startDatabase({ folder, port: 0, migrations, settings, onProgress: () => undefined });
    try {
      return await use(database);
    } finally {
      await database.stop();
      await folder.release();
    }
  });
}
