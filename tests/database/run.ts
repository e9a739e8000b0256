import { readdir, readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import { withDatabase } from "../../local/postgres/database.ts";
import { root } from "../../local/postgres/database-server.ts";
import { postgresFiles } from "../../local/postgres/files.ts";
import { withTemporaryDatabase } from "../../local/postgres/temporary-database.ts";
import { messageOf } from "../../local/processes/start-error.ts";
import { addPgtap } from "./pgtap.ts";

export const folder = join(root, "tests", "database");

interface Outcome {
  passed: number;
  failures: string[];
}

/** Each file as role postgres on a new connection; it begins and rolls back its transaction. */
export async function runFile(url: string, file: string): Promise<Outcome> {
  const text = await readFile(file, "utf8");
  const outcome: Outcome = { passed: 0, failures: [] };
  try {
    const results = await withDatabase(url, (sql) => sql.unsafe(text));
    const lines = results.flat().flatMap((row: unknown) => Object.values(row as object).map(String));
    readTap(lines, outcome);
  } catch (error) {
    outcome.failures.push(`line ${errorLine(text, error)}: ${messageOf(error)}`);
  }
  return outcome;
}

function readTap(lines: string[], outcome: Outcome): void {
  let planned = false;
  for (const line of lines.flatMap((text) => text.split("\n"))) {
    if (/^ok\b/.test(line)) outcome.passed++;
    else if (/^not ok\b/.test(line) || /^# Looks like/.test(line)) outcome.failures.push(line);
    else if (/^#/.test(line) && outcome.failures.length > 0) outcome.failures.push(`  ${line}`);
    else if (/^1\.\.\d+$/.test(line)) planned = true;
  }
  if (!planned) outcome.failures.push("# Looks like there is no plan");
}

function errorLine(text: string, error: unknown): number | string {
  const position = error instanceof Error && "position" in error ? Number(error.position) : 0;
  return position > 0 ? [...text].slice(0, position - 1).filter((character) => character === "\n").length + 1 : "?";
}

/** Adds pgTAP and the helpers of the files to a database. */
export async function prepare({ ownerUrl, superuserUrl }: { ownerUrl: string; superuserUrl: string }): Promise<void> {
  await addPgtap(await postgresFiles());
  // Tests delete broadcast messages; on hosted Supabase postgres may not.
  await withDatabase(superuserUrl, (sql) => sql`grant delete on realtime.messages to postgres`);
  const helpers = (await readdir(join(folder, "helpers"))).filter((name) => name.endsWith(".sql")).sort();
  await withDatabase(ownerUrl, async (sql) => {
    await sql`create extension if not exists pgtap with schema extensions`;
    for (const helper of helpers) await sql.unsafe(await readFile(join(folder, "helpers", helper), "utf8"));
  });
}

async function main(): Promise<number> {
  const filters = process.argv.slice(2);
  const names = (await readdir(folder)).filter((name) => name.endsWith(".sql")).sort();
  const files = names.filter((name) => filters.length === 0 || filters.some((part) => name.includes(part)));
  let passed = 0;
  let failed = 0;
  await withTemporaryDatabase(async (urls) => {
    await prepare(urls);
    for (const file of files) {
      const outcome = await runFile(urls.ownerUrl, join(folder, file));
      passed += outcome.passed;
      failed += outcome.failures.filter((line) => !line.startsWith("  ")).length;
      for (const line of outcome.failures) console.log(`${basename(file)}: ${line}`);
    }
  });
  console.log(`pgTAP: ${passed} passed, ${failed} failed`);
  return failed === 0 && passed > 0 ? 0 : 1;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) process.exitCode = await main();
