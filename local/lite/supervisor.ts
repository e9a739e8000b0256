import { compileProgram } from "../compile.mjs";
import { startNodeProcess } from "../processes/node-process.ts";
import type { AuthOptions } from "./process.ts";

export interface AuthProcess {
  /** Null while down. */
  port(): number | null;
  stop(): Promise<void>;
}

interface AuthProcessOptions extends AuthOptions {
  /** Milliseconds without a response after which the process counts as hanging; all requests wait for it. */
  maxSilenceMs?: number | undefined;
  onWarning(message: string): void;
}

const memoryMegabytes = 256;

/** Runs auth in a process of its own with a memory limit, and restarts it when it exits or hangs. */
export async function startAuth({
  maxSilenceMs = 8_000,
  onWarning,
  ...options
}: AuthProcessOptions): Promise<AuthProcess> {
  const { port, stop } = await startNodeProcess({
    name: "auth",
    program: compileProgram("local/lite/auth.ts"),
    // Traces of lite may contain codes, links and rows.
    stderr: "ignore",
    execArgv: ["--expose-gc", `--max-old-space-size=${memoryMegabytes}`],
    options,
    maxSilenceMs,
    onWarning,
  });
  return { port, stop };
}
