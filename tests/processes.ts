import { execFile } from "node:child_process";
import { readdir, readFile, readlink } from "node:fs/promises";
import { isIPv6 } from "node:net";
import { basename, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import postgres from "postgres";
import type { OwnStack } from "./own-stack.ts";
import { until } from "./until.ts";

interface Process {
  pid: number;
  parent: number;
  command: string;
}

async function allProcesses(): Promise<Process[]> {
  const { stdout } = await promisify(execFile)("ps", ["-eo", "pid=,ppid=,args="], { maxBuffer: 8 * 1024 * 1024 });
  return [...stdout.matchAll(/^\s*(\d+)\s+(\d+)\s+(.*)$/gm)].map(([, pid, parent, command = ""]) => ({
    pid: Number(pid),
    parent: Number(parent),
    command,
  }));
}

/** This process and all its descendants. */
export async function descendants(): Promise<Process[]> {
  const all = await allProcesses();
  const parents = new Map(all.map(({ pid, parent }) => [pid, parent]));
  return all.filter(({ pid }) => {
    for (let at: number | undefined = pid; at; at = parents.get(at)) if (at === process.pid) return true;
    return false;
  });
}

/** The TCP sockets on which processes listen, by the program's name and "address:port"; Linux only. */
export async function listenersOf(processes: Process[]): Promise<{ name: string; address: string }[]> {
  const tables = await Promise.all(["tcp", "tcp6"].map((name) => readFile(`/proc/net/${name}`, "utf8")));
  const listening = new Map(
    tables
      .flatMap((table) => table.split("\n").slice(1))
      .map((line) => line.trim().split(/\s+/))
      .filter(([, , , state]) => state === "0A")
      .map((fields) => [`socket:[${fields[9]}]`, addressOf(fields[1] ?? "")]),
  );
  const found = new Map<string, { name: string; address: string }>();
  for (const { pid } of processes) {
    const name = basename((await readlink(`/proc/${pid}/exe`).catch(() => "")) || "?");
    for (const descriptor of await readdir(`/proc/${pid}/fd`).catch(() => [])) {
      const socket = await readlink(`/proc/${pid}/fd/${descriptor}`).catch(() => "");
      const address = listening.get(socket);
      if (address) found.set(address, { name, address });
    }
  }
  return [...found.values()];
}

/** "0100007F:D431", where each four bytes are in the machine's order. */
function addressOf(hex: string): string {
  const [host = "", port = ""] = hex.split(":");
  const bytes = (host.match(/.{8}/g) ?? []).flatMap((word) => (word.match(/../g) ?? []).reverse());
  const address =
    bytes.length === 4
      ? bytes.map((byte) => Number.parseInt(byte, 16)).join(".")
      : bytes.join("").replace(/(.{4})(?=.)/g, "$1:");
  return `${isIPv6(address) ? `[${address}]` : address}:${Number.parseInt(port, 16)}`;
}

/** The only descendant of this process with such a command line. Waits for one that is just being restarted. */
async function descendant(like: RegExp): Promise<number> {
  return await until(async () => {
    const found = (await descendants()).filter(({ command }) => like.test(command));
    return found.length === 1 && found[0]?.pid;
  });
}

export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** The process of Deno that serves a function of this stack. */
export const functionsPid = (name = "api") => descendant(new RegExp(`^\\S*deno run .*functions-${name}-\\w+\\.mjs`));

export const authPid = () => descendant(/feedback\/local-lite-auth-\w+\.mjs/);

export const dataApiPid = () => descendant(/^\S*\/postgrest$/);

export const realtimePid = () => descendant(/feedback\/local-realtime-\w+\.mjs/);

export async function postgresPid(own: OwnStack): Promise<number> {
  return Number.parseInt(await readFile(join(own.folder, "postgres", "postmaster.pid"), "utf8"), 10);
}

/**
 * Kills Postgres, and waits until a new one answers. The connections of the test are not used until then: a
 * statement sent on a dying one may never end.
 */
export async function killPostgres(own: OwnStack): Promise<void> {
  const dead = await postgresPid(own);
  process.kill(dead, "SIGKILL");
  await until(() => isBack(own, dead).catch(() => false));
}

async function isBack(own: OwnStack, dead: number): Promise<boolean> {
  if ((await postgresPid(own)) === dead) return false;
  const probe = postgres(own.db_url, { max: 1, onnotice: () => undefined });
  try {
    return (await probe`select 1`).length === 1;
  } finally {
    await probe.end({ timeout: 0 });
  }
}

/** Processes that name the folder in their command line, such as its Postgres. */
export async function processesOf(path: string): Promise<Process[]> {
  return (await allProcesses()).filter(({ command }) => command.includes(path));
}

/** Waits a moment for processes that are exiting; returns those that stay. */
export async function noneLeft(path: string): Promise<string[]> {
  for (let waited = 0; waited < 20_000; waited += 50) {
    if ((await processesOf(path)).length === 0) return [];
    await sleep(50);
  }
  return (await processesOf(path)).map(({ command }) => command);
}
