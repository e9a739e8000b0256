import { type ChildProcess, fork } from "node:child_process";
import { restartOnExit } from "../restart-on-exit.ts";
import { StartError } from "../start-error.ts";
import { compile } from "./compile.ts";
import { type AuthOptions, launcherAddress, type Order, type Report } from "./process.ts";

export interface AuthProcess {
  /** Null while down. */
  port(): number | null;
  /** A call of the launcher, without address and limits. */
  fetch(request: Request): Promise<Response>;
  stop(): Promise<void>;
}

interface AuthProcessOptions extends AuthOptions {
  /** Milliseconds without a response after which the process counts as hanging; all requests wait for it. */
  maxSilenceMs?: number | undefined;
  onWarning(message: string): void;
}

const memoryMegabytes = 256;
const pingMs = 1_000;
const maxStartMs = 60_000;

/** Runs auth in a process of its own with a memory limit, and restarts it when it exits or hangs. */
export async function startAuth({
  maxSilenceMs = 8_000,
  onWarning,
  ...options
}: AuthProcessOptions): Promise<AuthProcess> {
  const program = await compile();
  let port: number | null = null;

  const start = () => {
    const child = fork(program, {
      execArgv: ["--enable-source-maps", `--max-old-space-size=${memoryMegabytes}`],
      stdio: ["ignore", "ignore", "ignore", "ipc"],
    });
    let failure = "";
    let heardAt = 0;
    const ended = new Promise<string>((resolve) => {
      child.once("exit", (code, signal) => {
        port = null;
        failure ||= `it ended (${signal ?? `code ${code}`})`;
        resolve(`auth starts again: ${failure}`);
      });
    });
    const ready = new Promise<void>((resolve) => {
      child.on("message", (report: Report) => {
        heardAt = Date.now();
        if (report.type === "failed") failure = report.message;
        if (report.type === "warning") onWarning(report.message);
        if (report.type !== "ready") return;
        port = report.port;
        resolve();
      });
    });
    send(child, { type: "start", options });
    const watching = watch(
      child,
      maxSilenceMs,
      () => heardAt,
      () => {
        failure = "it hung";
      },
    );
    ended.then(() => clearInterval(watching));
    const stop = async () => {
      if (child.exitCode === null) send(child, { type: "stop" });
      const forced = setTimeout(() => child.kill("SIGKILL"), 3_000);
      await ended;
      clearTimeout(forced);
    };
    return { started: Promise.race([ready, ended]), failure: () => failure, ended, stop };
  };

  const first = start();
  await first.started;
  if (port === null) throw new StartError(`auth did not start: ${first.failure()}`);
  const supervised = restartOnExit(first, start, onWarning);
  return {
    port: () => port,
    fetch(request) {
      const { pathname, search } = new URL(request.url);
      const call = new Request(`http://127.0.0.1:${port}${pathname}${search}`, request);
      call.headers.set(options.addressHeader, launcherAddress);
      return fetch(call);
    },
    stop: supervised.stop,
  };
}

/** Kills the process if a ping stays unanswered. */
function watch(
  child: ChildProcess,
  maxSilenceMs: number,
  heardAt: () => number,
  onHang: () => void,
): NodeJS.Timeout {
  let askedAt = 0;
  return setInterval(() => {
    if (askedAt <= heardAt()) {
      askedAt = Date.now();
      send(child, { type: "ping" });
    } else if (Date.now() - askedAt > (heardAt() === 0 ? maxStartMs : maxSilenceMs)) {
      onHang();
      child.kill("SIGKILL");
    }
  }, pingMs);
}

function send(child: ChildProcess, order: Order): void {
  child.send(order, () => undefined);
}
