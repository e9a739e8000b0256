import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { codeOf, StartError } from "../processes/start-error.ts";

const version = "17";

/** Rejects a data folder of another Postgres version; a missing one is fine. */
export async function checkPostgresVersion(data: string): Promise<void> {
  const found = await readFile(join(data, "PG_VERSION"), "utf8").catch((error: unknown) => {
    if (codeOf(error) === "ENOENT") return version;
    throw new StartError(
      `the data folder ${data} cannot be read (${codeOf(error)}): start as the user who made it, or set DATA_DIR`,
    );
  });
  if (found.trim() !== version) {
    throw new StartError(
      `the data folder ${data} is of Postgres ${found.trim()}, this is Postgres ${version}: dump it with the old version and load it here, or set DATA_DIR to another folder`,
    );
  }
}
