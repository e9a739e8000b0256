import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { root } from "../postgres/database-server.ts";
import { runCommand } from "../processes/command.ts";
import { StartError } from "../processes/start-error.ts";
import { readReleases, releaseOf } from "./releases.ts";

const baseline = "20261121000000_baseline.sql";
const header =
  "-- Generated from supabase/schemas by npm run db:baseline until its release; later changes are migrations of their own.\n";

/** The desired schema: supabase/schemas/*.sql concatenated. */
export async function schemaText(project = root): Promise<string> {
  const folder = join(project, "supabase", "schemas");
  const files = (await readdir(folder)).filter((file) => file.endsWith(".sql")).sort();
  const texts = await Promise.all(files.map((file) => readFile(join(folder, file), "utf8")));
  return [header, ...texts].join("\n");
}

/** Writes the baseline from the schemas; fails if a release contains it. */
export async function writeBaseline(project = root): Promise<void> {
  const version = releaseOf(await readReleases(project), baseline);
  if (version !== undefined) {
    throw new StartError(
      `the baseline was released with ${version} and must not change: run npm run db:migration <name>`,
    );
  }
  await writeFile(join(project, "supabase", "migrations", baseline), await schemaText(project));
}

await runCommand(import.meta.url, () => writeBaseline());
