import { type ChildProcess, type StdioOptions, spawn } from "node:child_process";

// The child gets a signal when the launcher's end of the pipe closes, so it also ends after kill -9 of the launcher.
const keeper = `exec 3<&0 </dev/null
signal=$1; shift
"$@" 3<&- &
child=$!
( read -r line <&3; kill -s "$signal" "$child" ) 2>/dev/null &
watch=$!
exec 3<&-
wait "$child"; code=$?
kill "$watch" 2>/dev/null
exit "$code"`;

export interface ChildProcessHandle {
  /** Resolves with the exit code when the process ends. */
  ended: Promise<number>;
  running(): boolean;
  stdout: ChildProcess["stdout"];
  stderr: ChildProcess["stderr"];
  /** Stops it, and kills it after `patience` milliseconds. */
  stop(patience: number): Promise<void>;
}

export interface ChildProcessOptions {
  signal: "INT" | "TERM";
  env: Record<string, string>;
  /** Output: file descriptors or "pipe". */
  output: ["pipe" | number, "pipe" | number];
  cwd?: string;
  uid?: number;
  gid?: number;
}

export function spawnChild(command: string[], options: ChildProcessOptions): ChildProcessHandle {
  const { signal, output, ...rest } = options;
  const stdio: StdioOptions = ["pipe", ...output];
  // detached: Ctrl-C in a terminal reaches only the launcher, which stops processes in order.
  const child = spawn("/bin/sh", ["-c", keeper, "keeper", signal, ...command], { ...rest, stdio, detached: true });
  child.stdin?.on("error", () => undefined);
  let running = true;
  const ended = new Promise<number>((resolve) => {
    const end = (code: number) => {
      running = false;
      child.stdin?.destroy();
      resolve(code);
    };
    child.once("error", () => end(127));
    child.once("exit", (code) => end(code ?? 137));
  });
  return {
    ended,
    running: () => running,
    stdout: child.stdout,
    stderr: child.stderr,
    async stop(patience) {
      child.stdin?.end();
      const timer = setTimeout(() => killGroup(child), patience);
      await ended;
      clearTimeout(timer);
    },
  };
}

function killGroup(child: ChildProcess): void {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
  } catch {
    // it ended by itself meanwhile
  }
}
