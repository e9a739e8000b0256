import { alone } from "./database.ts";
import { deleteLogo, hasStorage } from "./logos.ts";
import { removedLogos } from "./statements/organizations.ts";

/** Deletes the files of logos that were replaced, or whose organization was deleted; what fails is tried again later. */
export async function deleteRemovedLogos(): Promise<void> {
  if (!hasStorage()) return;
  let deleted: string[] = [];
  do {
    const removed = await alone(removedLogos(deleted));
    deleted = [];
    for (const { path } of removed) if (await deleteLogo(path)) deleted.push(path);
  } while (deleted.length > 0);
}
