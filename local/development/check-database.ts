import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { root } from "../postgres/database-server.ts";
import { runCommand } from "../processes/command.ts";
import { schemaText } from "./baseline.ts";
import { databaseTypes, typesFile } from "./database-types.ts";
import { changedReleases, readReleases } from "./releases.ts";
import { migrationFiles, migrationsOf, schemaChanges, withMigratedDatabase } from "./schema-changes.ts";

/** Checks that supabase/migrations produce supabase/schemas, and that released migrations are unchanged. */
export async function schemaProblems(project = root): Promise<string[]> {
  const changed = await changedReleases(project);
  const [baseline, ...later] = await migrationFiles(project);
  const applied = later.length === 0 && (await readFile(join(migrationsOf(project), baseline ?? ""), "utf8"));
  if (applied === (await schemaText(project))) return changed;
  if (Object.keys(await readReleases(project)).length === 0 && later.length === 0)
    return ["supabase/migrations differ from supabase/schemas: run npm run db:baseline"];
  const { sql, rows } = await schemaChanges(project);
  if (sql) {
    changed.push(
      `supabase/migrations and supabase/schemas make different databases: run npm run db:migration <name>. Missing is:\n${sql}`,
    );
  }
  for (const table of rows)
    changed.push(`supabase/migrations fills ${table} differently than supabase/schemas: add it by hand`);
  return changed;
}

async function typeProblems(): Promise<string[]> {
  const types = await readFile(typesFile, "utf8").catch(() => "");
  const current = await withMigratedDatabase(root, databaseTypes);
  return types === current ? [] : ["shared/database.types.ts is not current: run npm run db:types"];
}

await runCommand(import.meta.url, async () => {
  const found = [...(await schemaProblems()), ...(await typeProblems())];
  for (const problem of found) console.error(problem);
  console.log(found.length === 0 ? "database: migrations, schemas and types agree" : "database: see above");
  return found.length === 0;
});
