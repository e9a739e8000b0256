import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { root } from "../postgres/database-server.ts";
import { withTemporaryDatabase } from "../postgres/temporary-database.ts";
import { runCommand } from "../processes/command.ts";

export const typesFile = join(root, "shared", "database.types.ts");

/** TypeScript types of schema public, in the format of the Supabase CLI. */
export async function databaseTypes(databaseUrl: string): Promise<string> {
  const cli = join(root, "node_modules", ".bin", "supabase");
  const words = ["gen", "types", "typescript", "--schema", "public", `--remote=${databaseUrl}?sslmode=disable`];
  const env = { ...process.env, DO_NOT_TRACK: "1" };
  const { stdout } = await promisify(execFile)(cli, words, { cwd: root, env, maxBuffer: 32 * 1024 * 1024 });
  return format(stdout.slice(stdout.indexOf("export type Json")));
}

/** Under another name, because the linter ignores the file itself. */
async function format(text: string): Promise<string> {
  const biome = join(root, "node_modules", ".bin", "biome");
  const formatting = promisify(execFile)(biome, ["format", "--stdin-file-path=generated.ts"], {
    cwd: root,
    maxBuffer: 32 * 1024 * 1024,
  });
  formatting.child.stdin?.end(text);
  return (await formatting).stdout;
}

await runCommand(import.meta.url, () =>
  withTemporaryDatabase(async ({ ownerUrl }) => writeFile(typesFile, await databaseTypes(ownerUrl))),
);
