import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import type { OwnStack } from "../own-stack.ts";

/** The process of Deno that serves a function of this stack, among the descendants of this one. */
export async function functionsPid(name = "api"): Promise<number> {
  const { stdout } = await promisify(execFile)("ps", ["-eo", "pid=,ppid=,args="], {
    maxBuffer: 8 * 1024 * 1024,
  });
  const rows = [...stdout.matchAll(/^\s*(\d+)\s+(\d+)\s+(.*)$/gm)].map(([, pid, parent, args]) => ({
    pid: Number(pid),
    parent: Number(parent),
    args: args ?? "",
  }));
  const parents = new Map(rows.map(({ pid, parent }) => [pid, parent]));
  const isOurs = (pid: number): boolean => {
    for (let at: number | undefined = pid; at; at = parents.get(at)) if (at === process.pid) return true;
    return false;
  };
  const found = rows.filter(
    ({ pid, args }) =>
      /^\S*deno run /.test(args) && args.includes(`functions/${name}/index.ts`) && isOurs(pid),
  );
  if (found.length !== 1) throw new Error(`${found.length} processes serve ${name} here`);
  return found[0]?.pid ?? 0;
}

export async function postgresPid(own: OwnStack): Promise<number> {
  return Number.parseInt(await readFile(join(own.folder, "postgres", "postmaster.pid"), "utf8"), 10);
}
