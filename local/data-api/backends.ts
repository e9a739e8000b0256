import { execFile } from "node:child_process";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { setPriority } from "node:os";

export const niceness = 10;
/** A statement whose backend uses more is canceled: enough for a response of 10 MiB. */
const cancelMegabytes = 64;
/** A hard limit of the operating system, because some steps cannot be canceled. */
const limitMegabytes = 96;
const everyMs = 20;

/**
 * Follows the Postgres backends of the data API while requests run. They get a lower CPU priority and a limit of memory,
 * and statements that use too much are canceled: PostgREST limits rows, not bytes. Only on Linux, by /proc. Call the result
 * at the start of a request, and its result at the end.
 */
export function followBackends(pidFile: string): () => () => void {
  let running = 0;
  let timer: NodeJS.Timeout | undefined;
  let limited: string[] = [];
  let yielding: string[] = [];

  const check = () => {
    const server = Number.parseInt(read(pidFile), 10);
    const children = read(`/proc/${server}/task/${server}/children`).trim().split(" ");
    const backends = children.filter((pid) => read(`/proc/${pid}/cmdline`).startsWith("postgres: embedded_rest "));
    for (const pid of backends) if (!limited.includes(pid)) attempt(() => limitMemory(pid));
    limited = backends;
    yielding = backends.filter((pid) => yielding.includes(pid) || attempt(() => lowerPriority(pid)));
    for (const pid of backends) {
      const [, kilobytes] = /^RssAnon:\s+(\d+)/m.exec(read(`/proc/${pid}/status`)) ?? [];
      // The signal of pg_cancel_backend.
      if (Number(kilobytes) > cancelMegabytes * 1024) attempt(() => process.kill(Number(pid), "SIGINT"));
    }
  };

  return () => {
    if (running++ === 0) timer = setInterval(check, everyMs);
    return () => {
      if (--running === 0) clearInterval(timer);
    };
  };
}

function limitMemory(pid: string): void {
  const { uid, gid } = statSync(`/proc/${pid}`);
  const asOwner = process.getuid?.() === 0 ? { uid, gid } : {};
  execFile("prlimit", ["--pid", pid, `--data=${limitMegabytes << 20}`], asOwner, () => undefined);
}

function lowerPriority(pid: string): void {
  setPriority(Number(pid), niceness);
  // Linux shares CPU time between sessions first, and a backend is a session of its own.
  writeFileSync(`/proc/${pid}/autogroup`, String(niceness));
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

/**
 * The change may not be permitted or be limited by the kernel, or the process may have ended: no request fails because
 * of it.
 */
function attempt(change: () => void): boolean {
  try {
    change();
    return true;
  } catch {
    return false;
  }
}
