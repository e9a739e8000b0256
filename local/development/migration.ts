import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { root } from "../postgres/database-server.ts";
import { runCommand } from "../processes/command.ts";
import { StartError } from "../processes/start-error.ts";
import { readReleases } from "./releases.ts";
import { migrationFiles, migrationsOf, type SchemaChanges, schemaChanges } from "./schema-changes.ts";

/** Writes the migration that brings a released database to supabase/schemas; returns its path. */
export async function writeMigration(name: string, project = root, now = new Date()): Promise<string> {
  if (!/^[a-z][a-z0-9_]{0,59}$/.test(name)) {
    throw new StartError(
      `the name is ${JSON.stringify(name)}: use small letters, digits and underscores, such as add_vote_weight`,
    );
  }
  if (Object.keys(await readReleases(project)).length === 0)
    throw new StartError("there is no release yet: run npm run db:baseline instead");
  const version = now.toISOString().replace(/\D/g, "").slice(0, 14);
  const newest = (await migrationFiles(project)).at(-1) ?? "";
  if (newest.slice(0, 14) >= version)
    throw new StartError(
      `the clock is at ${version}, but supabase/migrations/${newest} is not older: correct the clock`,
    );
  const path = join(migrationsOf(project), `${version}_${name}.sql`);
  await writeFile(path, migrationText(await schemaChanges(project)), { flag: "wx" });
  await writeFile(
    join(project, "shared", "newest-migration.ts"),
    `/** Version of the newest file in supabase/migrations, which the functions need; a test compares the two. */\nexport const newestMigration = "${version}";\n`,
  );
  return path;
}

function migrationText({ sql, rows }: SchemaChanges): string {
  const filled = rows.map((table) => `--   ${table} is filled differently by supabase/schemas\n`).join("");
  return `-- Generated from supabase/schemas by npm run db:migration, then reviewed. It runs in one transaction, while functions
-- of the previous release serve requests: see "Release" in CONTRIBUTING.md.

${sql || "-- supabase/schemas has no other tables, functions, policies, grants or comments."}

-- By hand, where it applies; delete what does not:
${filled}--   rows of existing tables: update … set …, in batches where a table is large
--   rules, switches and cursors that the schemas insert: insert into … values … on conflict do nothing
--   jobs: select cron.schedule('feedback-…', …), inside a check that pg_cron is installed
--   a renamed column or table: the statements above drop one and add another; write alter … rename instead
`;
}

await runCommand(import.meta.url, ([name = ""]) => writeMigration(name).then(console.log));
