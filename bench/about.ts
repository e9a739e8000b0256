import { readFile } from "node:fs/promises";
import { cpus, totalmem } from "node:os";
import { join } from "node:path";
import type { Sql } from "../local/database.ts";
import { root } from "../local/database-server.ts";

/** What results were measured on. */
export function machine() {
  return {
    cores: cpus().length,
    processor: cpus()[0]?.model.trim(),
    memory_gb: Math.round(totalmem() / 2 ** 30),
    platform: `${process.platform}-${process.arch}`,
  };
}

export async function versions(sql: Sql): Promise<Record<string, string>> {
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
