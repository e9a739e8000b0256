import { writeFileSync } from "node:fs";
import { setPriority } from "node:os";

/** Statements of data API clients may be deliberately slow: other requests have a higher CPU priority. */
const niceness = 10;
const lowered = new Set<number>();

export function lowerOwnPriority(): void {
  attempt(() => setPriority(niceness));
}

/** The priority of a Postgres backend that serves the data API. */
export function lowerBackendPriority(pid: number): void {
  if (lowered.has(pid)) return;
  const done = attempt(() => {
    setPriority(pid, niceness);
    // Linux shares CPU time between sessions first, and a backend is a session of its own.
    if (process.platform === "linux") writeFileSync(`/proc/${pid}/autogroup`, String(niceness));
  });
  if (done) lowered.add(pid);
}

/** Not permitted, or limited by the kernel: the next request tries again, and no request fails because of it. */
function attempt(change: () => void): boolean {
  try {
    change();
    return true;
  } catch {
    return false;
  }
}
