import { readdir, readFile, writeFile } from "node:fs/promises";

/** The child process of a function. */
export async function functionsPid(name = "api"): Promise<number> {
  const processes = new Map<number, { parent: number; command: string }>();
  for (const pid of (await readdir("/proc")).filter((name) => /^\d+$/.test(name))) {
    const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
    const command = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
    processes.set(Number(pid), { parent: Number(/PPid:\s+(\d+)/.exec(status)?.[1]), command });
  }
  const isOurs = (pid: number | undefined): boolean =>
    pid === process.pid || (pid !== undefined && pid > 1 && isOurs(processes.get(pid)?.parent));
  const pattern = new RegExp(`^[^\\0]*deno\\0.*functions/${name}`);
  const found = [...processes].find(([pid, { command }]) => pattern.test(command) && isOurs(pid));
  if (!found) throw new Error("the functions are not running");
  return found[0];
}

/** Since it started, or since `forgetPeak`. */
export async function peakMegabytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Math.round(Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / 1024);
}

export async function forgetPeak(pid: number): Promise<void> {
  await writeFile(`/proc/${pid}/clear_refs`, "5");
}

/** Used by all its threads, to a hundredth. */
export async function cpuSeconds(pid: number): Promise<number> {
  const [, rest = ""] = (await readFile(`/proc/${pid}/stat`, "utf8")).split(") ");
  const [user = 0, system = 0] = rest.split(" ").slice(11, 13).map(Number);
  return (user + system) / 100;
}
