import { randomBytes } from "node:crypto";
import { chown, mkdir, open, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { exists } from "../folders/files.ts";
import { type ChildProcessHandle, spawnChild } from "../processes/child-process.ts";
import { commandOf } from "../processes/identity.ts";
import { choosePort } from "../processes/ports.ts";
import { restartOnExit, Unrecoverable } from "../processes/restart-on-exit.ts";
import { StartError } from "../processes/start-error.ts";
import { type PostgresFiles, postgresFiles } from "./files.ts";
import { postgresUser, type RunAs } from "./user.ts";

export interface PostgresOptions {
  /** The stack's data folder; Postgres uses `postgres` in it. */
  folder: string;
  port: number;
  superuserPassword: string;
  settings?: Record<string, string | number>;
  /** Replaces the file postgres.log. */
  log?: Writable | undefined;
  onWarning(message: string): void;
  /** Called with the reason when the server has ended and cannot be restarted. */
  onLost(reason: Unrecoverable): void;
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
  // With the SQLSTATE.
  log_line_prefix: "%m [%p] %e ",
  // Terse logs: DETAIL, HINT, CONTEXT and statements quote rows, and rejected requests could fill the disk.
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
  if (!(await exists(join(data, "PG_VERSION")))) await initialise(data, files, runAs, options.superuserPassword);
  // Postgres recovers by itself. Remaining backends of a killed server, or a full disk, can delay its restart.
  const start = async () => {
    await mustExist(data);
    const server = await launch(data, files, runAs, port, options);
    const ended = server.ended.then(async (code) => {
      await mustExist(data);
      return `Postgres ended (code ${code}) and starts again`;
    });
    // No listener is left while the stack stops.
    ended.catch(() => undefined);
    return { ended, stop: () => server.stop(20_000) };
  };
  const supervised = restartOnExit(await start(), start, options.onWarning, options.onLost);
  return {
    port,
    url: (role, password) => `postgresql://${role}:${password}@127.0.0.1:${port}/postgres`,
    stop: supervised.stop,
  };
}

async function mustExist(data: string): Promise<void> {
  if (await exists(join(data, "PG_VERSION"))) return;
  throw new Unrecoverable(
    `the data folder ${dirname(data)} was removed while the stack ran: restore it from a backup, or start again with an empty one`,
  );
}

/** A server that outlived its launcher still uses the folder: shut it down cleanly. */
export async function endOrphan(data: string): Promise<void> {
  const pidFile = join(data, "postmaster.pid");
  const pid = await postmasterPid(pidFile);
  if (pid === null) return;
  const isServer = async () => (await commandOf(pid))?.includes(`-D ${data} `) ?? false;
  if (!(await isServer())) {
    // Another process has its pid, which would block the start of Postgres.
    await rm(pidFile, { force: true });
    return;
  }
  for (let waited = 0; waited < 20_000; waited += 50) {
    // Usually requested already; a second request is harmless.
    if (!(await isServer())) return;
    try {
      if (waited === 200) process.kill(pid, "SIGINT");
    } catch {
      // It has ended meanwhile.
    }
    await sleep(50);
  }
  throw new StartError(`an earlier Postgres (process ${pid}) still runs on ${data} and does not stop: end it`);
}

async function postmasterPid(pidFile: string): Promise<number | null> {
  const text = await readFile(pidFile, "utf8").catch(() => "");
  const pid = Number.parseInt(text, 10);
  return Number.isInteger(pid) && pid > 0 ? pid : null;
}

/** Created in a temporary folder and renamed, so that an interrupted first start leaves no partial folder. */
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
    const initdb = spawnChild(command, {
      ...runAs.process,
      signal: "TERM",
      env: environment(),
      output: ["pipe", "pipe"],
    });
    let output = "";
    initdb.stdout?.resume();
    initdb.stderr?.on("data", (chunk: Buffer) => {
      output += chunk.toString();
    });
    if ((await initdb.ended) !== 0) {
      const reason = output.match(/(?:error|FATAL): +(.*)/)?.[1] ?? output.trim().split("\n").at(-1);
      throw new StartError(`Postgres could not be set up in ${data}: ${reason}`);
    }
  } finally {
    await rm(passwordFile, { force: true });
  }
  await rename(draft, data);
}

/** Leftovers of killed starts. One that is still ending may write to its folder, which the next start removes. */
async function removeDrafts(data: string): Promise<void> {
  for (const name of await readdir(dirname(data))) {
    if (!/^postgres\.[0-9a-f]+\.new$/.test(name)) continue;
    await rm(join(dirname(data), name), { recursive: true, force: true }).catch(() => undefined);
  }
}

// Byte order collation and Unicode character classes, regardless of LANG. macOS has no locale C.UTF-8.
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
): Promise<ChildProcessHandle> {
  const logPath = join(options.folder, "postgres.log");
  const log = options.log ? null : await open(logPath, "a", 0o600);
  const logged = (await log?.stat())?.size ?? 0;
  const pidFile = join(data, "postmaster.pid");
  // The status file of a killed server would say ready.
  const dead = await postmasterPid(pidFile);
  const settings = Object.entries({ ...defaults, ...options.settings, port });
  const server = spawnChild(
    [...runAs.prefix, files.postgres, "-D", data, ...settings.flatMap(([name, value]) => ["-c", `${name}=${value}`])],
    { ...runAs.process, signal: "INT", env: environment(), output: log ? [log.fd, log.fd] : ["pipe", "pipe"] },
  );
  await log?.close();
  let said = "";
  server.stdout?.resume();
  server.stderr?.on("data", (chunk: Buffer) => {
    said = (said + chunk.toString()).slice(-4000);
    options.log?.write(chunk);
  });
  const deadline = performance.now() + 60_000;
  while (server.running() && performance.now() < deadline) {
    const lines = (await readFile(pidFile, "utf8").catch(() => "")).split("\n");
    if (Number(lines[0]) !== dead && lines[7]?.trim() === "ready") return server;
    await sleep(20);
  }
  await server.stop(5_000);
  // A folder that was removed during the start is permanent; its log is gone too.
  await mustExist(data);
  const output = options.log ? said : (await readFile(logPath, "utf8")).slice(logged);
  const reason = output.match(/(?:FATAL|PANIC|error): +(.*)/)?.[1] ?? "it did not become ready within 60 seconds";
  throw new StartError(`Postgres did not start: ${reason}${options.log ? "" : ` (more in ${logPath})`}`);
}
