import { runStatement } from "../database/run.ts";
import { removedLogos } from "../statements/organizations.ts";
import { deleteLogo, hasStorage } from "./logos.ts";

/**
 * Deletes the files of replaced logos, and of logos of deleted organizations. The path of a file that Storage did not
 * delete stays in the table, and the schedule tries again.
 */
export async function deleteRemovedLogos(): Promise<void> {
  if (!hasStorage()) return;
  let deleted: string[] = [];
  do {
    const removed = await runStatement(removedLogos(deleted));
    deleted = [];
    for (const { path } of removed) if (await deleteLogo(path)) deleted.push(path);
  } while (deleted.length > 0);
}
