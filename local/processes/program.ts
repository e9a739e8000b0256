import { access, constants } from "node:fs/promises";
import { get } from "node:http";
import { resolve } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { spawnChild } from "./child-process.ts";
import { restartOnExit } from "./restart-on-exit.ts";
import { StartError } from "./start-error.ts";

/** A listener on this machine: a port of 127.0.0.1, or a Unix socket. */
export type Listener = { host: string; port: number } | { socketPath: string };

export interface ProgramOptions {
  /** In messages, such as "the data API". */
  name: string;
  command: string[];
  cwd?: string;
  /** Where a run listens. A new one for each run: an earlier run that is still ending may use or remove its own. */
  nextListener(): Promise<Listener>;
  environment(listener: Listener): Record<string, string>;
  /** Path that responds 200 while it works. */
  healthPath: string;
  /** Milliseconds without a successful response after which it counts as hanging. */
  maxSilenceMs?: number | undefined;
  /** In messages: what a program that hangs does not do. */
  hanging: string;
  /** Gets each line of its standard error; none is kept otherwise. */
  onLine?(line: string): void;
  /** Called at the end of a run. */
  onEnd?(listener: Listener): Promise<unknown>;
  onWarning(message: string): void;
}

export interface Program {
  /** Null while it is down. */
  listener(): Listener | null;
  stop(): Promise<void>;
}

const probeMs = 1_000;
const maxStartMs = 60_000;

/** The path of the program that a variable names. */
export async function runnable(variable: string, named: string): Promise<string> {
  const path = resolve(named);
  await access(path, constants.X_OK).catch(() => {
    throw new StartError(
      `${variable} is ${JSON.stringify(named)}: set it to the path of a program that this user may run`,
    );
  });
  return path;
}

/** Runs a program that serves HTTP on this machine, and restarts it when it exits or hangs. */
export async function startProgram(options: ProgramOptions): Promise<Program> {
  const { name, healthPath, maxSilenceMs = 5_000, onWarning } = options;
  let current: Listener | null = null;

  const start = async () => {
    const listener = await options.nextListener();
    const child = spawnChild(options.command, {
      signal: "TERM",
      env: options.environment(listener),
      output: ["pipe", "pipe"],
      ...(options.cwd && { cwd: options.cwd }),
    });
    child.stdout?.resume();
    let failure = "";
    const lines = child.stderr && createInterface(child.stderr);
    lines?.on("line", (line) => {
      options.onLine?.(line);
      // The last line says why it did not start.
      if (current !== listener && line.trim()) failure = messageIn(line);
    });
    const watch = async () => {
      for (let heardAt = performance.now(); child.running(); await sleep(current === listener ? probeMs : 25)) {
        if ((await answers(listener, healthPath)) && child.running()) {
          heardAt = performance.now();
          current = listener;
          failure = "";
          ready();
        } else if (performance.now() - heardAt > (current === listener ? maxSilenceMs : maxStartMs)) {
          failure = options.hanging;
          await child.stop(0);
        }
      }
    };
    let ready = () => {};
    const started = new Promise<void>((resolve) => {
      ready = resolve;
    });
    watch();
    const ended = child.ended.then(async (code) => {
      current = null;
      await options.onEnd?.(listener);
      return failure || `it ended (code ${code})`;
    });
    const again = ended.then((reason) => `${name} starts again: ${reason}`);
    return { started: Promise.race([started, ended]), ended: again, stop: () => child.stop(3_000) };
  };

  const first = await start();
  const why = await first.started;
  if (current === null) throw new StartError(`${name} did not start: ${why}`);
  const { stop } = restartOnExit(first, start, onWarning);
  return { listener: () => current, stop };
}

/** The line, or the message in it if the program writes JSON. */
export function messageIn(line: string): string {
  return String(fieldsOf(line)?.msg ?? line).trim();
}

/** A line of a log in JSON. */
export function fieldsOf(line: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

function answers(listener: Listener, path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = get({ ...listener, path, timeout: 2_000 }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    probe.on("timeout", () => probe.destroy());
    probe.on("error", () => resolve(false));
  });
}
