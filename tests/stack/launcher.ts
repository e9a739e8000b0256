import { type ChildProcess, execFile, spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { onTestFinished } from "vitest";
import type { StackAddresses } from "../../local/stack.ts";

/** `npm start` as a process of its own; the test's end takes it and its folder away. */
export interface Launcher {
  pid: number;
  output(): string;
  /** What it wrote to standard error: one line when it cannot go on. */
  errors(): string;
  ended: Promise<number | null>;
  ready(): Promise<StackAddresses>;
  /** Until it says so, or ends. */
  says(text: string): Promise<void>;
  kill(signal: NodeJS.Signals): Promise<number | null>;
}

export function launch(dataDir: string, environment: Record<string, string | undefined> = {}): Launcher {
  const child = spawn(process.execPath, ["--import", "tsx", "local/start.ts"], {
    env: {
      ...process.env,
      LANG: undefined,
      LC_ALL: undefined,
      PORT: "0",
      DB_PORT: "0",
      SEED: "none",
      DATA_DIR: dataDir,
      ...environment,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  let errors = "";
  child.stdout.on("data", (chunk: Buffer) => {
    output += chunk.toString();
  });
  child.stderr.on("data", (chunk: Buffer) => {
    errors += chunk.toString();
  });
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  onTestFinished(() => end(child, ended));
  const says = async (text: string) => {
    while (!output.includes(text) && child.exitCode === null && child.signalCode === null) await sleep(10);
  };
  return {
    pid: child.pid ?? 0,
    output: () => output,
    errors: () => errors,
    ended,
    says,
    async ready() {
      await says("Stop with Ctrl-C");
      if (!output.includes("Stop with Ctrl-C")) throw new Error(`it did not start: ${output}${errors}`);
      return JSON.parse(await readFile(join(dataDir, "stack.json"), "utf8")) as StackAddresses;
    },
    async kill(signal) {
      child.kill(signal);
      return ended;
    },
  };
}

async function end(child: ChildProcess, ended: Promise<unknown>): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) child.kill("SIGTERM");
  await ended;
}

/** An empty folder for one test, removed after what runs in it. */
export async function temporaryFolder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "feedback-start-"));
  onTestFinished(async () => {
    await noneLeft(path);
    await rm(path, { recursive: true, force: true });
  });
  return path;
}

/** Processes that name the folder in their command line, such as its Postgres. */
export async function processesOf(path: string): Promise<{ pid: number; command: string }[]> {
  const { stdout } = await promisify(execFile)("ps", ["-eo", "pid=,args="], { maxBuffer: 8 * 1024 * 1024 });
  const rows = stdout.split("\n").map((line) => /^\s*(\d+) (.*)$/.exec(line));
  return rows.flatMap((row) => (row?.[2]?.includes(path) ? [{ pid: Number(row[1]), command: row[2] }] : []));
}

/** Waits a moment for processes that are on their way out; answers those that stay. */
export async function noneLeft(path: string): Promise<string[]> {
  for (let waited = 0; waited < 5_000; waited += 50) {
    if ((await processesOf(path)).length === 0) return [];
    await sleep(50);
  }
  return (await processesOf(path)).map(({ command }) => command);
}
