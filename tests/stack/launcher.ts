import { type ChildProcess, spawn } from "node:child_process";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { inject, onTestFinished } from "vitest";
import { makeTemporaryFolder } from "../../local/folders/temporary-folder.ts";
import type { StackAddresses } from "../../local/stack.ts";
import { copyTemplate } from "../data-template.ts";
import { noneLeft } from "../processes.ts";

/** `npm start` as a separate process, which is stopped when the test ends. */
export interface Launcher {
  pid: number;
  output(): string;
  /** Its standard error: one line if it cannot continue. */
  errors(): string;
  ended: Promise<number | null>;
  ready(): Promise<StackAddresses>;
  /** Waits until it is ready, or exits. */
  says(text: string): Promise<void>;
  kill(signal: NodeJS.Signals): Promise<number | null>;
  /** Signals the launcher and its process group, as a terminal or a supervisor does. */
  killGroup(signal: NodeJS.Signals): Promise<number | null>;
}

/** `atEnd` registers the function that stops the launcher. */
export function launch(
  dataDir: string,
  environment: Record<string, string | undefined> = {},
  atEnd: (stop: () => Promise<void>) => void = onTestFinished,
): Launcher {
  const child = spawn(process.execPath, ["--expose-gc", "local/start.mjs"], {
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
    detached: true,
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
  atEnd(() => end(child, ended));
  const prints = async (text: string) => {
    while (!output.includes(text) && child.exitCode === null && child.signalCode === null) await sleep(10);
  };
  return {
    pid: child.pid as number,
    output: () => output,
    errors: () => errors,
    ended,
    says: prints,
    async ready() {
      await prints("Stop with Ctrl-C");
      if (!output.includes("Stop with Ctrl-C")) throw new Error(`it did not start: ${output}${errors}`);
      return JSON.parse(await readFile(join(dataDir, "stack.json"), "utf8")) as StackAddresses;
    },
    async kill(signal) {
      child.kill(signal);
      return ended;
    },
    async killGroup(signal) {
      // Process 0 is this process's own group.
      if (!child.pid) throw new Error("it did not start");
      process.kill(-child.pid, signal);
      return ended;
    },
  };
}

async function end(child: ChildProcess, ended: Promise<unknown>): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) child.kill("SIGTERM");
  await ended;
}

/** An empty folder for one test, removed after its processes. */
export async function temporaryFolder(): Promise<string> {
  const path = await makeTemporaryFolder("start");
  onTestFinished(async () => {
    await noneLeft(path);
    await rm(path, { recursive: true, force: true });
  });
  return path;
}

/** A data folder for one test that an earlier start without demo data has migrated. */
export async function migratedFolder(): Promise<string> {
  const path = await temporaryFolder();
  await rm(path, { recursive: true });
  await copyTemplate(inject("template"), path, "none");
  return path;
}
