import { type ChildProcess, fork } from "node:child_process";
import type { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { fileURLToPath } from "node:url";
import { restartOnExit } from "../restart-on-exit.ts";
import { StartError } from "../start-error.ts";
import type { Order, Report } from "./process.ts";
import type { RealtimeOptions } from "./server.ts";

export interface RealtimeProcess {
  /** Passes the socket itself, so that its data does not flow through this process. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): boolean;
  /** Port of its HTTP side; null while down. */
  port(): number | null;
  stop(): Promise<void>;
}

/** Runs realtime in a process of its own, isolated from auth and the data API, and restarts it when it exits. */
export async function startRealtimeProcess(options: RealtimeOptions): Promise<RealtimeProcess> {
  const { onWarning, ...rest } = options;
  let current: ChildProcess;
  let port: number | null = null;
  const pending = new Map<number, Socket>();
  let lastId = 0;

  const start = () => {
    const child = fork(fileURLToPath(new URL("process.ts", import.meta.url)), {
      execArgv: ["--import", "tsx"],
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    current = child;
    let failure = "";
    const ended = new Promise<string>((resolve) => {
      child.once("exit", (code) => {
        port = null;
        for (const socket of pending.values()) socket.destroy();
        pending.clear();
        failure ||= `it ended (code ${code})`;
        resolve("realtime ended and starts again");
      });
    });
    const ready = new Promise<void>((resolve) => {
      child.on("message", (report: Report) => {
        if (report.type === "ready") {
          port = report.port;
          resolve();
        } else if (report.type === "received") {
          // The remaining socket object is closed here; the gateway still counts it.
          pending.get(report.id)?.destroy();
          pending.delete(report.id);
          send(child, { type: "proceed", id: report.id });
        } else if (report.type === "failed") failure = report.message;
        else onWarning(report.message);
      });
    });
    send(child, { type: "start", options: rest });
    const stop = async () => {
      if (child.exitCode === null) send(child, { type: "stop" });
      const forced = setTimeout(() => child.kill("SIGKILL"), 3000);
      await ended;
      clearTimeout(forced);
    };
    return { started: Promise.race([ready, ended]), failure: () => failure, ended, stop };
  };

  const first = start();
  await first.started;
  if (port === null) throw new StartError(`realtime did not start: ${first.failure()}`);
  const supervised = restartOnExit(first, start, onWarning);
  return {
    port: () => port,
    upgrade(request, socket, head) {
      if (port === null || !(socket instanceof Socket)) return false;
      const { url = "/", headers } = request;
      pending.set(++lastId, socket);
      // Otherwise Node would ask the child about the socket when the gateway closes, and wait forever if it has exited.
      Object.assign(socket, { server: null });
      send(current, { type: "upgrade", id: lastId, url, headers, head: head.toString("base64") }, socket);
      return true;
    },
    stop: supervised.stop,
  };
}

function send(child: ChildProcess, order: Order, socket?: Socket): void {
  child.send(order, socket, (error) => {
    if (error) socket?.destroy();
  });
}
