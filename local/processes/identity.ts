import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { codeOf } from "./start-error.ts";

const run = promisify(execFile);

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) === "EPERM";
  }
}

/** Distinguishes processes that reuse a pid; null if there is no such process. */
export async function startOf(pid: number): Promise<string | null> {
  if (!isAlive(pid)) return null;
  if (process.platform === "linux") {
    const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => null);
    if (stat === null) return null;
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return fields[0] === "Z" ? null : (fields[19] ?? null);
  }
  return query("lstart=", pid);
}

/** Command line of a process; null if there is none. */
export async function commandOf(pid: number): Promise<string | null> {
  if (!isAlive(pid)) return null;
  if (process.platform === "linux") {
    const line = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => null);
    return line ? line.replaceAll("\0", " ").trim() : null;
  }
  return query("command=", pid);
}

async function query(field: string, pid: number): Promise<string | null> {
  const answer = await run("ps", ["-o", field, "-p", String(pid)]).catch(() => null);
  return answer?.stdout.trim() || null;
}
