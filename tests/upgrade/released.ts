import { copyFile, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { brotliDecompressSync } from "node:zlib";
import { readReleases } from "../../local/development/releases.ts";
import { bundleFunctions } from "../../local/operator/bundle.ts";
import { defaultMigrations, root } from "../../local/postgres/database-server.ts";

/** The migrations and functions of the newest release; before the first release, those of this tree. */
export interface Released {
  functions: string;
  seedFile: string;
  /** Its functions of the embedded realtime server, in SQL. */
  realtimeFile: string;
  migrations: string;
  /** The migrations of this tree, and one more. */
  next: string;
}

export async function released(folder: string): Promise<Released> {
  const releases = await readReleases();
  const version = Object.keys(releases).at(-1);
  const functions = join(folder, "functions");
  const migrations = join(folder, "released");
  const next = join(folder, "next");
  const seedFile = join(folder, "supabase", "seed.sql");
  const realtimeFile = join(folder, "realtime.sql");
  for (const path of [functions, migrations, next, join(folder, "supabase")]) await mkdir(path);
  const all = (await readdir(defaultMigrations)).filter((file) => file.endsWith(".sql"));
  const old = version === undefined ? all : Object.values(releases).flatMap(Object.keys);
  for (const file of old) await copyFile(join(defaultMigrations, file), join(migrations, file));
  for (const file of all) await copyFile(join(defaultMigrations, file), join(next, file));
  const fixture = new URL("next-migration.sql", import.meta.url);
  await writeFile(join(next, "99990101000000_next.sql"), await readFile(fixture));
  await writeFile(join(functions, "deno.json"), "{}");
  if (version === undefined) {
    await bundleFunctions(functions);
    await copyFile(join(root, "supabase", "seed.sql"), seedFile);
    await copyFile(join(root, "local", "realtime", "database.sql"), realtimeFile);
  } else {
    const folder = join(root, "tests", "upgrade", "releases", version);
    const unpack = async (name: string, path: string) =>
      writeFile(path, brotliDecompressSync(await readFile(join(folder, `${name}.br`))));
    // A function that is newer than the release is not part of it.
    const released = (await readdir(folder)).filter((name) => name.endsWith(".ts.br"));
    for (const name of released.map((file) => file.replace(".ts.br", ""))) {
      await mkdir(join(functions, name));
      await unpack(`${name}.ts`, join(functions, name, "index.ts"));
    }
    await unpack("seed.sql", seedFile);
    await unpack("realtime.sql", realtimeFile);
  }
  return { functions, seedFile, realtimeFile, migrations, next };
}
