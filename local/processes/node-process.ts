import { type ChildProcess, fork } from "node:child_process";
import type { Socket } from "node:net";
import type { Writable } from "node:stream";
import { restartOnExit } from "./restart-on-exit.ts";
import { StartError } from "./start-error.ts";

/** Messages that every Node process of the stack gets and sends. */
export type CommonOrder<Options> = { type: "start"; options: Options } | { type: "stop" };
export type CommonReport = { type: "ready"; port: number } | { type: "failed" | "warning"; message: string };

interface NodeProcessOptions<Report> {
  /** In messages: auth, realtime. */
  name: string;
  program: string;
  execArgv: string[];
  stderr: "ignore" | "inherit" | Writable;
  options: object;
  /** Milliseconds without a response to a ping after which it counts as hanging. Without it no ping is sent. */
  maxSilenceMs?: number;
  onReport?(report: Report): void;
  onExit?(): void;
  onWarning(message: string): void;
}

const pingMs = 1_000;
const maxStartMs = 60_000;

/** Runs a Node process that listens on a port, and restarts it when it exits or hangs. */
export async function startNodeProcess<Order extends object, Report extends object>(given: NodeProcessOptions<Report>) {
  const { name, maxSilenceMs = Number.POSITIVE_INFINITY, onWarning } = given;
  let child: ChildProcess;
  let port: number | null = null;
  const send = (order: Order | CommonOrder<object> | { type: "ping" }, socket?: Socket) =>
    void child.send(order, socket, (error) => error && socket?.destroy());

  const start = () => {
    const stderr = typeof given.stderr === "string" ? given.stderr : "pipe";
    const own = fork(given.program, { execArgv: given.execArgv, stdio: ["ignore", "ignore", stderr, "ipc"] });
    if (typeof given.stderr !== "string") own.stderr?.pipe(given.stderr, { end: false });
    child = own;
    let failure = "";
    let [askedAt, heardAt] = [0, 0];
    const pinging = setInterval(() => {
      if (askedAt <= heardAt) {
        askedAt = performance.now();
        if (given.maxSilenceMs !== undefined) send({ type: "ping" });
      } else if (performance.now() - askedAt > (heardAt === 0 ? maxStartMs : maxSilenceMs)) {
        failure = "it hung";
        own.kill("SIGKILL");
      }
    }, pingMs);
    const ended = new Promise<string>((resolve) => {
      own.once("exit", (code, signal) => {
        port = null;
        clearInterval(pinging);
        given.onExit?.();
        resolve(failure || `it ended (${signal ?? `code ${code}`})`);
      });
    });
    const ready = new Promise<void>((resolve) => {
      own.on("message", (report: CommonReport | { type: "other" }) => {
        heardAt = performance.now();
        if (report.type === "failed") failure = report.message;
        else if (report.type === "warning") onWarning(report.message);
        else if (report.type !== "ready") given.onReport?.(report as Report);
        else {
          port = report.port;
          resolve();
        }
      });
    });
    send({ type: "start", options: given.options });
    const stop = async () => {
      if (own.exitCode === null) send({ type: "stop" });
      const forced = setTimeout(() => own.kill("SIGKILL"), 3_000);
      await ended;
      clearTimeout(forced);
    };
    const again = ended.then((reason) => `${name} starts again: ${reason}`);
    return { started: Promise.race([ready, ended]), ended: again, stop };
  };

  const first = start();
  const failure = await first.started;
  if (port === null) throw new StartError(`${name} did not start: ${failure}`);
  const { stop } = restartOnExit(first, start, onWarning);
  return { port: () => port, send, stop };
}
