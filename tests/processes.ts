import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import type { OwnStack } from "./own-stack.ts";

interface Process {
  pid: number;
  parent: number;
  command: string;
}

async function allProcesses(): Promise<Process[]> {
  const { stdout } = await promisify(execFile)("ps", ["-eo", "pid=,ppid=,args="], {
    maxBuffer: 8 * 1024 * 1024,
  });
  return [...stdout.matchAll(/^\s*(\d+)\s+(\d+)\s+(.*)$/gm)].map(([, pid, parent, command = ""]) => ({
    pid: Number(pid),
    parent: Number(parent),
    command,
  }));
}

/** The one descendant of this process whose command line is like that. */
async function descendant(like: RegExp): Promise<number> {
  const all = await allProcesses();
  const parents = new Map(all.map(({ pid, parent }) => [pid, parent]));
  const isOurs = (pid: number): boolean => {
    for (let at: number | undefined = pid; at; at = parents.get(at)) if (at === process.pid) return true;
    return false;
  };
  const found = all.filter(({ pid, command }) => like.test(command) && isOurs(pid));
  if (found.length !== 1) throw new Error(`${found.length} processes here are like ${like}`);
  return found[0]?.pid ?? 0;
}

/** The process of Deno that serves a function of this stack. */
export const functionsPid = (name = "api") =>
  descendant(new RegExp(`^\\S*deno run .*functions/${name}/index\\.ts`));

/** The process of auth or of the data API. */
export const litePid = (name: "auth" | "rest") => descendant(new RegExp(`feedback/${name}-\\w+\\.mjs`));

export const realtimePid = () => descendant(/realtime\/process\.ts/);

export async function postgresPid(own: OwnStack): Promise<number> {
  return Number.parseInt(await readFile(join(own.folder, "postgres", "postmaster.pid"), "utf8"), 10);
}

/** Processes that name the folder in their command line, such as its Postgres. */
export async function processesOf(path: string): Promise<Process[]> {
  return (await allProcesses()).filter(({ command }) => command.includes(path));
}

/** Waits a moment for processes that are on their way out; answers those that stay. */
export async function noneLeft(path: string): Promise<string[]> {
  for (let waited = 0; waited < 5_000; waited += 50) {
    if ((await processesOf(path)).length === 0) return [];
    await sleep(50);
  }
  return (await processesOf(path)).map(({ command }) => command);
}
