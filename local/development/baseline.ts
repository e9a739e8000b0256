import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { defaultMigrations, root } from "../database-server.ts";

const header =
  "-- Generated from supabase/schemas by npm run db:baseline. Until the first release it is made anew; after it, reviewed deltas follow.\n";

/** The desired state: supabase/schemas/*.sql one after the other. */
export async function schemaText(): Promise<string> {
  const folder = join(root, "supabase", "schemas");
  const files = (await readdir(folder)).filter((file) => file.endsWith(".sql")).sort();
  const texts = await Promise.all(files.map((file) => readFile(join(folder, file), "utf8")));
  return [header, ...texts].join("\n");
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  await writeFile(join(defaultMigrations, "20261121000000_baseline.sql"), await schemaText());
}
