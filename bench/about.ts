import { mkdir, readFile, writeFile } from "node:fs/promises";
import { cpus, loadavg, totalmem } from "node:os";
import { dirname, join } from "node:path";
import type { Sql } from "../local/postgres/database.ts";
import { root } from "../local/postgres/database-server.ts";
import { formatted } from "./report.ts";
import { say } from "./stack.ts";

/** The machine and versions of a measurement. */
function machine() {
  return {
    cores: cpus().length,
    processor: cpus()[0]?.model.trim(),
    memory_gb: Math.round(totalmem() / 2 ** 30),
    platform: `${process.platform}-${process.arch}`,
    load_average: loadavg().map((load) => Math.round(load * 10) / 10),
  };
}

async function versions(sql: Sql): Promise<Record<string, string>> {
  const [postgres] = await sql<{ server_version: string }[]>`show server_version`;
  const manifest = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as {
    dependencies: Record<string, string>;
  };
  const { deno, hono, postgres: driver } = manifest.dependencies;
  return {
    node: process.versions.node,
    deno: deno ?? "",
    postgres: postgres?.server_version ?? "",
    hono: hono ?? "",
    "postgres.js": driver ?? "",
  };
}

/** Files named *.local.json are not committed. */
export const localName = (bench?: string) =>
  `${[new Date().toISOString().slice(0, 10), ...(bench ? [bench] : [])].join("-")}.local`;

/** Writes results to bench/results together with the environment. */
export async function writeResults(name: string, sql: Sql, settings: object, results: object): Promise<void> {
  const path = join(root, "bench", "results", `${name}.json`);
  const about = { at: new Date().toISOString(), ...settings, machine: machine(), versions: await versions(sql) };
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, formatted({ ...about, ...results }));
  say(`written to ${path}`);
}
