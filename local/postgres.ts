import { randomBytes } from "node:crypto";
import { chown, mkdir, open, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { keepRunning } from "./keep-running.ts";
import { choosePort } from "./ports.ts";
import { type PostgresFiles, postgresFiles } from "./postgres-files.ts";
import { postgresUser, type RunAs } from "./postgres-user.ts";
import { commandOf } from "./process-identity.ts";
import { StartError } from "./start-error.ts";
import { spawnTied, type TiedProcess } from "./tied-process.ts";

export interface PostgresOptions {
  /** The stack's data folder; the server's own is `postgres` in it. */
  folder: string;
  port: number;
  superuserPassword: string;
  settings?: Record<string, string | number>;
  onTrouble(message: string): void;
}

export interface Postgres {
  port: number;
  url(role: string, password: string): string;
  stop(): Promise<void>;
}

const defaults = {
  listen_addresses: "127.0.0.1",
  unix_socket_directories: "",
  wal_level: "logical",
  max_wal_senders: 10,
  max_replication_slots: 10,
  max_slot_wal_keep_size: "1GB",
  max_connections: 100,
  shared_buffers: "128MB",
  random_page_cost: 1.1,
  jit: "off",
  timezone: "UTC",
  log_timezone: "UTC",
  log_min_messages: "warning",
  // DETAIL, HINT and CONTEXT quote rows, and so do statements; whoever is refused could fill the disk with them.
  log_error_verbosity: "terse",
  log_min_error_statement: "panic",
  password_encryption: "scram-sha-256",
};

export async function startPostgres(options: PostgresOptions): Promise<Postgres> {
  const files = await postgresFiles();
  const data = join(options.folder, "postgres");
  const runAs = await postgresUser([files.postgres, data]);
  await endOrphan(data);
  const port = await choosePort(options.port, "DB_PORT");
  if (!(await exists(join(data, "PG_VERSION"))))
    await initialise(data, files, runAs, options.superuserPassword);
  // Recovery is Postgres's own. Backends that outlive a killed server for a moment keep the next one from starting, and so does a full disk.
  const start = async () => {
    const server = await launch(data, files, runAs, port, options);
    return {
      ended: server.ended.then((code) => `Postgres ended (code ${code}) and starts again`),
      stop: () => server.stop(20_000),
    };
  };
  const kept = keepRunning(await start(), start, options.onTrouble);
  return {
    port,
    url: (role, password) => `postgresql://${role}:${password}@127.0.0.1:${port}/postgres`,
    stop: kept.stop,
  };
}

/** A server that outlived its launcher still holds the folder: it gets a clean shutdown. */
async function endOrphan(data: string): Promise<void> {
  const pidFile = join(data, "postmaster.pid");
  const pid = await postmasterPid(pidFile);
  if (pid === null) return;
  const isServer = async () => (await commandOf(pid))?.includes(`-D ${data} `) ?? false;
  if (!(await isServer())) {
    // Another process has its number now, which Postgres would take for itself.
    await rm(pidFile, { force: true });
    return;
  }
  for (let waited = 0; waited < 20_000; waited += 50) {
    // The server's keeper usually does this; a second request is harmless.
    if (waited === 200) process.kill(pid, "SIGINT");
    if (!(await isServer())) return;
    await sleep(50);
  }
  throw new StartError(
    `an earlier Postgres (process ${pid}) still runs on ${data} and does not stop: end it`,
  );
}

async function postmasterPid(pidFile: string): Promise<number | null> {
  const text = await readFile(pidFile, "utf8").catch(() => "");
  const pid = Number.parseInt(text, 10);
  return Number.isInteger(pid) && pid > 0 ? pid : null;
}

/** Made beside and renamed, so that an interrupted first start leaves nothing that looks whole. */
async function initialise(data: string, files: PostgresFiles, runAs: RunAs, password: string): Promise<void> {
  const draft = `${data}.${randomBytes(4).toString("hex")}.new`;
  const passwordFile = join(tmpdir(), `postgres-${randomBytes(8).toString("hex")}`);
  await rm(data, { recursive: true, force: true });
  await removeDrafts(data);
  await mkdir(draft, { mode: 0o700 });
  try {
    await writeFile(passwordFile, `${password}\n`, { mode: 0o600, flag: "wx" });
    if (runAs.owner) {
      await chown(draft, runAs.owner.uid, runAs.owner.gid);
      await chown(passwordFile, runAs.owner.uid, runAs.owner.gid);
    }
    const command = [
      ...runAs.prefix,
      files.initdb,
      `--pgdata=${draft}`,
      "--username=supabase_admin",
      "--auth=scram-sha-256",
      `--pwfile=${passwordFile}`,
      "--encoding=UTF8",
      ...localeFlags(),
    ];
    const initdb = spawnTied(command, {
      ...runAs.process,
      signal: "TERM",
      env: environment(),
      output: ["pipe", "pipe"],
    });
    let said = "";
    initdb.stdout?.resume();
    initdb.stderr?.on("data", (chunk: Buffer) => {
      said += chunk.toString();
    });
    if ((await initdb.ended) !== 0) {
      const reason = said.match(/(?:error|FATAL): +(.*)/)?.[1] ?? said.trim().split("\n").at(-1);
      throw new StartError(`Postgres could not be set up in ${data}: ${reason}`);
    }
  } finally {
    await rm(passwordFile, { force: true });
  }
  await rename(draft, data);
}

/** Of starts that were killed; one that is just ending may still write to its own, which the next start removes. */
async function removeDrafts(data: string): Promise<void> {
  for (const name of await readdir(dirname(data))) {
    if (!/^postgres\.[0-9a-f]+\.new$/.test(name)) continue;
    await rm(join(dirname(data), name), { recursive: true, force: true }).catch(() => undefined);
  }
}

// Byte order and Unicode character classes, whatever LANG is. macOS has no locale named C.UTF-8.
function localeFlags(): string[] {
  return process.platform === "darwin" ? ["--locale=C", "--lc-ctype=en_US.UTF-8"] : ["--locale=C.UTF-8"];
}

function environment(): Record<string, string> {
  return { PATH: process.env.PATH ?? "/usr/bin:/bin", LC_MESSAGES: "C", TZ: "UTC" };
}

async function launch(
  data: string,
  files: PostgresFiles,
  runAs: RunAs,
  port: number,
  options: PostgresOptions,
): Promise<TiedProcess> {
  const logPath = join(options.folder, "postgres.log");
  const log = await open(logPath, "a", 0o600);
  const { size: logged } = await log.stat();
  const pidFile = join(data, "postmaster.pid");
  // A killed server leaves its file, which says ready.
  const dead = await postmasterPid(pidFile);
  const settings = Object.entries({ ...defaults, ...options.settings, port });
  const server = spawnTied(
    [
      ...runAs.prefix,
      files.postgres,
      "-D",
      data,
      ...settings.flatMap(([name, value]) => ["-c", `${name}=${value}`]),
    ],
    {
      ...runAs.process,
      signal: "INT",
      env: environment(),
      output: [log.fd, log.fd],
    },
  );
  await log.close();
  const deadline = Date.now() + 60_000;
  while (server.running() && Date.now() < deadline) {
    const lines = (await readFile(pidFile, "utf8").catch(() => "")).split("\n");
    if (Number(lines[0]) !== dead && lines[7]?.trim() === "ready") return server;
    await sleep(20);
  }
  await server.stop(5_000);
  const said = (await readFile(logPath, "utf8")).slice(logged);
  const reason =
    said.match(/(?:FATAL|PANIC|error): +(.*)/)?.[1] ?? "it did not become ready within 60 seconds";
  throw new StartError(`Postgres did not start: ${reason} (more in ${logPath})`);
}

const exists = (path: string) =>
  stat(path).then(
    () => true,
    () => false,
  );
