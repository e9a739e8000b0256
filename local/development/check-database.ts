import { execFile } from "node:child_process";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { defaultMigrations, root } from "../database-server.ts";
import { withTemporaryDatabase, withTemporaryFolder } from "../temporary-database.ts";
import { schemaText } from "./baseline.ts";
import { databaseTypes, typesFile } from "./database-types.ts";

/** Migrations apply from zero and make what supabase/schemas wants; the generated types are current. */
async function problems(): Promise<string[]> {
  return withTemporaryDatabase(async ({ ownerUrl }) => {
    const found: string[] = [];
    const difference = await schemaDifference(ownerUrl);
    if (difference !== null) found.push(difference);
    const types = await readFile(typesFile, "utf8").catch(() => "");
    if (types !== (await databaseTypes(ownerUrl))) {
      found.push("shared/database.types.ts is not current: run npm run db:types");
    }
    return found;
  });
}

async function schemaDifference(migratedUrl: string): Promise<string | null> {
  const files = (await readdir(defaultMigrations)).filter((file) => file.endsWith(".sql"));
  const wanted = await schemaText();
  const [baseline] = files;
  if (files.length === 1 && baseline !== undefined) {
    const same = (await readFile(join(defaultMigrations, baseline), "utf8")) === wanted;
    return same ? null : "supabase/migrations is not what supabase/schemas says: run npm run db:baseline";
  }
  return withTemporaryFolder(async (folder) => {
    await writeFile(join(folder, "1_schemas.sql"), wanted);
    return withTemporaryDatabase(async ({ ownerUrl }) => compare(migratedUrl, ownerUrl), folder);
  });
}

async function compare(source: string, desired: string): Promise<string | null> {
  const pgdelta = join(root, "node_modules", ".bin", "pgdelta");
  const { stdout } = await promisify(execFile)(pgdelta, ["diff", "--source", source, "--desired", desired]);
  if (stdout.includes("No differences found")) return null;
  return `supabase/migrations and supabase/schemas make different databases:\n${stdout.trim()}`;
}

const found = await problems();
for (const problem of found) console.error(problem);
console.log(found.length === 0 ? "database: migrations, schemas and types agree" : "database: see above");
process.exitCode = found.length === 0 ? 0 : 1;
