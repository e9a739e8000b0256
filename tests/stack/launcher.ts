import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { onTestFinished } from "vitest";
import type { StackAddresses } from "../../local/stack.ts";
import { noneLeft } from "../processes.ts";

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
