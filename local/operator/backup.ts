import { randomBytes } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { chmod, chown, type FileHandle, mkdir, open, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { text } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { createGunzip, createGzip } from "node:zlib";
import { type Extract, extract, type Pack, pack } from "tar-stream";
import { version } from "../../shared/version.ts";
import { lockHolderOf, type Secrets, takeLock } from "../folders/data-folder.ts";
import { exists, syncTree } from "../folders/files.ts";
import { restoreBackupCopy } from "../folders/upgrade.ts";
import { withDatabase } from "../postgres/database.ts";
import { postgresFiles } from "../postgres/files.ts";
import { endOrphan } from "../postgres/process.ts";
import { postgresUser, type RunAs } from "../postgres/user.ts";
import { runCommand } from "../processes/command.ts";
import { codeOf, messageOf, StartError } from "../processes/start-error.ts";
import type { StackAddresses } from "../stack.ts";

/** The first entry of a backup. */
interface Manifest {
  format: 1;
  version: string;
  /** Data files depend on the operating system and architecture. */
  machine: string;
  created_at: string;
}

const thisMachine = `${process.platform}-${process.arch}`;

// Postgres recreates these at start, or they belong to the running server.
const emptied = new Set([
  "pg_dynshmem",
  "pg_notify",
  "pg_replslot",
  "pg_serial",
  "pg_snapshots",
  "pg_stat_tmp",
  "pg_subtrans",
]);
const left = /^(postmaster\.(pid|opts)|backup_label|tablespace_map|pg_internal\.init.*|pgsql_tmp.*)$/;

/**
 * Writes the database, files and secrets of a data folder to a new gzipped tar with mode 0600. The stack may be running
 * or stopped; a running stack continues to serve, and the backup contains all commits before its end.
 */
export async function backup(dataDir: string, file: string): Promise<void> {
  const folder = resolve(dataDir);
  if (await exists(file)) throw new StartError(`${file} exists: choose another name`);
  if (!(await exists(join(folder, "secrets.json"))))
    throw new StartError(`there is no data folder ${folder}: set DATA_DIR`);
  if ((await lockHolderOf(folder)) !== null) {
    const url = await superuserUrl(folder);
    await writeArchive(folder, file, (archive) => addRunning(archive, join(folder, "postgres"), url));
    return;
  }
  const unlock = await takeLock(folder);
  try {
    await endOrphan(join(folder, "postgres"));
    await restoreBackupCopy(folder);
    await writeArchive(folder, file, (archive) => addFolder(archive, join(folder, "postgres"), "postgres"));
  } finally {
    await unlock();
  }
}

async function superuserUrl(folder: string): Promise<string> {
  const addresses = await readFile(join(folder, "stack.json"), "utf8").catch(() => null);
  if (addresses === null)
    throw new StartError(`the stack in ${folder} is starting or stopping: try again when it is ready`);
  const url = new URL((JSON.parse(addresses) as StackAddresses).db_url);
  url.username = "supabase_admin";
  url.password = (await readSecrets(folder)).superuser_password;
  return url.href;
}

const readSecrets = async (folder: string) =>
  JSON.parse(await readFile(join(folder, "secrets.json"), "utf8")) as Secrets;

/** Written atomically. */
async function writeArchive(
  folder: string,
  file: string,
  addDatabase: (archive: Pack) => Promise<void>,
): Promise<void> {
  const draft = `${file}.${randomBytes(4).toString("hex")}.new`;
  try {
    const output = createWriteStream(draft, { flags: "wx", mode: 0o600 });
    const archive = pack();
    const add = async () => {
      const manifest: Manifest = { format: 1, version, machine: thisMachine, created_at: new Date().toISOString() };
      await addText(archive, "backup.json", JSON.stringify(manifest));
      await addText(archive, "secrets.json", await readFile(join(folder, "secrets.json"), "utf8"));
      await addDatabase(archive);
      if (await exists(join(folder, "storage"))) await addFolder(archive, join(folder, "storage"), "storage");
      archive.finalize();
    };
    const adding = add().catch((error: unknown) => {
      archive.destroy(error instanceof Error ? error : new Error(String(error)));
      throw error;
    });
    const writing = pipeline(archive, createGzip({ level: 1 }), output);
    const failed = (await Promise.allSettled([writing, adding])).find(({ status }) => status === "rejected");
    if (failed?.status === "rejected") throw failed.reason;
    await syncTree(draft);
    await rename(draft, file);
    await syncFolder(dirname(resolve(file)));
  } catch (error) {
    await rm(draft, { force: true }).catch(() => undefined);
    if (error instanceof StartError) throw error;
    throw new StartError(`the backup ${file} was not written: ${messageOf(error)}`);
  }
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r");
  await folder.sync().finally(() => folder.close());
}

/** A base backup: the data files, and the WAL of changes while they were read. */
async function addRunning(archive: Pack, data: string, url: string): Promise<void> {
  await withDatabase(url, async (sql) => {
    // Retains the WAL; it ends with this session, the only one.
    const slot = `backup_${randomBytes(8).toString("hex")}`;
    await sql`select pg_create_physical_replication_slot(${slot}, true, true)`;
    await sql`select pg_backup_start('feedback', fast => true)`;
    await addFolder(archive, data, "postgres", (path) => path.startsWith("postgres/pg_wal/"));
    const [stopped] = await sql<{ labelfile: string; last: string }[]>`
      select labelfile, pg_walfile_name(lsn) as last from pg_backup_stop(wait_for_archive => false)`;
    if (!stopped) throw new Error("Postgres did not end the backup");
    await addText(archive, "postgres/backup_label", stopped.labelfile);
    await addLog(archive, join(data, "pg_wal"), stopped);
  });
}

async function addLog(
  archive: Pack,
  folder: string,
  { labelfile, last }: { labelfile: string; last: string },
): Promise<void> {
  const first = /^START WAL LOCATION: \S+ \(file ([0-9A-F]{24})\)$/m.exec(labelfile)?.[1] ?? "";
  const present = (await readdir(folder)).filter((name) => /^[0-9A-F]{24}$/.test(name)).sort();
  const needed = present.filter((name) => name >= first && name <= last);
  if (needed[0] !== first || needed.at(-1) !== last)
    throw new Error("the database wrote more during the backup than Postgres keeps: try again with less load");
  for (const name of needed) await addFile(archive, join(folder, name), `postgres/pg_wal/${name}`);
  const histories = (await readdir(folder)).filter((name) => /^[0-9A-F]{8}\.history$/.test(name));
  for (const name of histories) await addFile(archive, join(folder, name), `postgres/pg_wal/${name}`);
}

/** Folders and files below `path`, except those that match `skip`. */
async function addFolder(
  archive: Pack,
  path: string,
  name: string,
  skip: (path: string) => boolean = () => false,
): Promise<void> {
  archive.entry({ name, type: "directory", mode: 0o700 });
  const isEmptied = emptied.has(name.replace(/^postgres\//, ""));
  for (const entry of await readdir(path, { withFileTypes: true })) {
    if (isEmptied || left.test(entry.name)) continue;
    const [inside, called] = [join(path, entry.name), `${name}/${entry.name}`];
    if (entry.isDirectory()) await addFolder(archive, inside, called, skip);
    else if (entry.isFile() && !skip(called)) await addFile(archive, inside, called);
  }
}

/** The current length: later additions are in the WAL, and truncated parts are filled with zeros. */
async function addFile(archive: Pack, path: string, name: string): Promise<void> {
  const file = await open(path, "r").catch((error: unknown) => {
    // A table that was dropped meanwhile.
    if (codeOf(error) === "ENOENT") return null;
    throw error;
  });
  if (file === null) return;
  try {
    const { size } = await file.stat();
    await pipeline(blocksOf(file, size), archive.entry({ name, size, mode: 0o600 }));
  } finally {
    await file.close();
  }
}

async function* blocksOf(file: FileHandle, size: number): AsyncGenerator<Buffer> {
  for (let position = 0; position < size; ) {
    const block = Buffer.alloc(Math.min(size - position, 1024 * 1024));
    const { bytesRead } = await file.read(block, 0, block.length, position);
    const length = bytesRead || block.length;
    yield block.subarray(0, length);
    position += length;
  }
}

const addText = (archive: Pack, name: string, content: string) =>
  pipeline([Buffer.from(content)], archive.entry({ name, size: Buffer.byteLength(content), mode: 0o600 }));

/**
 * Creates a data folder from a backup. The folder must be missing or empty, and appears when it is complete: an
 * interrupted restore leaves only `<folder>.<8 digits>.new`.
 */
export async function restore(file: string, dataDir: string): Promise<void> {
  const folder = resolve(dataDir);
  const present = await readdir(folder).catch((error: unknown) => {
    if (codeOf(error) === "ENOENT") return [];
    throw new StartError(`${folder} cannot be read (${codeOf(error)}): set DATA_DIR to a new folder`);
  });
  if (present.length > 0) throw new StartError(`${folder} is not empty: set DATA_DIR to a new folder`);
  if (!(await exists(file))) throw new StartError(`there is no file ${file}`);
  const draft = `${folder}.${randomBytes(4).toString("hex")}.new`;
  try {
    await mkdir(draft, { recursive: true });
    // As in openDataFolder: Postgres may run as another user, who must be able to traverse it.
    await chmod(draft, 0o711);
    const runAs = await postgresUser([(await postgresFiles()).postgres, join(draft, "postgres")]);
    await extractArchive(file, draft, runAs);
    await writeFile(join(draft, ".gitignore"), "*\n");
    await syncTree(draft);
    await rename(draft, folder);
    await syncFolder(dirname(folder));
  } catch (error) {
    await rm(draft, { recursive: true, force: true }).catch(() => undefined);
    if (error instanceof StartError) throw error;
    throw new StartError(`${file} was not restored to ${folder}: ${messageOf(error)}`);
  }
}

async function extractArchive(file: string, folder: string, runAs: RunAs): Promise<void> {
  const entries = extract();
  const reading = pipeline(createReadStream(file), createGunzip(), entries);
  // The loop below ends for the same reason.
  reading.catch(() => undefined);
  let manifest: Manifest | undefined;
  for await (const entry of entries) {
    if (manifest !== undefined) await writeEntry(entry, folder, runAs);
    else manifest = await readManifest(entry, file);
  }
  await reading;
  for (const name of ["secrets.json", "postgres/PG_VERSION"])
    if (!(await exists(join(folder, name)))) throw new StartError(`${file} is no backup: it has no ${name}`);
}

type Entry = Extract extends AsyncIterable<infer Each> ? Each : never;

async function readManifest(entry: Entry, file: string): Promise<Manifest> {
  if (entry.header.name !== "backup.json") throw new StartError(`${file} is no backup of npm run backup`);
  const manifest = JSON.parse(await text(entry)) as Manifest;
  if (manifest.format !== 1) throw new StartError(`${file} was created by a newer version (${manifest.version})`);
  if (manifest.machine !== thisMachine)
    throw new StartError(
      `${file} was created on ${manifest.machine}, but this machine is ${thisMachine}: restore it on a machine of the same kind`,
    );
  return manifest;
}

async function writeEntry(entry: Entry, folder: string, { owner }: RunAs): Promise<void> {
  const { name, type } = entry.header;
  const isSafe = /^(secrets\.json|(postgres|storage)(\/[\w.-]+)*)\/?$/.test(name) && !name.split("/").includes("..");
  if (!isSafe || (type !== "file" && type !== "directory"))
    throw new StartError(`the backup has an entry ${JSON.stringify(name)}, which npm run backup does not create`);
  const path = join(folder, name);
  if (type === "directory") {
    await mkdir(path, { mode: 0o700 });
    entry.resume();
  } else {
    const output = await open(path, "wx", 0o600);
    await pipeline(entry, output.createWriteStream());
  }
  if (owner && name.startsWith("postgres")) await chown(path, owner.uid, owner.gid);
}

async function main([command, file]: string[]): Promise<void> {
  const dataDir = process.env.DATA_DIR || ".data";
  if (!file) throw new StartError(`name the file: npm run ${command} -- <file>.tar.gz`);
  if (command === "restore") {
    await restore(file, dataDir);
    console.log(`restored to ${resolve(dataDir)}: npm start`);
  } else {
    await backup(dataDir, file);
    console.log(`${file} has the data and the secrets of ${resolve(dataDir)}: protect it like a password`);
  }
}

await runCommand(import.meta.url, main);
