import { type ChildProcess, fork } from "node:child_process";
import type { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { fileURLToPath } from "node:url";
import { keepRunning } from "../keep-running.ts";
import { StartError } from "../start-error.ts";
import type { Order, Report } from "./process.ts";
import type { RealtimeOptions } from "./server.ts";

export interface RealtimeProcess {
  /** Hands the socket itself over, so that what it carries does not pass through here. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): boolean;
  /** Of its HTTP side; null while it is down. */
  port(): number | null;
  stop(): Promise<void>;
}

/** Realtime in a process of its own: thousands of sockets do not slow auth and data API, and it starts again if it dies. */
export async function startRealtimeProcess(options: RealtimeOptions): Promise<RealtimeProcess> {
  const { onTrouble, ...rest } = options;
  let current: ChildProcess;
  let port: number | null = null;
  const handedOver = new Map<number, Socket>();
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
        for (const socket of handedOver.values()) socket.destroy();
        handedOver.clear();
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
          // What is left here is an empty shell, which the gateway still counts.
          handedOver.get(report.id)?.destroy();
          handedOver.delete(report.id);
          say(child, { type: "proceed", id: report.id });
        } else if (report.type === "failed") failure = report.message;
        else onTrouble(report.message);
      });
    });
    say(child, { type: "start", options: rest });
    const stop = async () => {
      if (child.exitCode === null) say(child, { type: "stop" });
      const forced = setTimeout(() => child.kill("SIGKILL"), 3000);
      await ended;
      clearTimeout(forced);
    };
    return { started: Promise.race([ready, ended]), failure: () => failure, ended, stop };
  };

  const first = start();
  await first.started;
  if (port === null) throw new StartError(`realtime did not start: ${first.failure()}`);
  const kept = keepRunning(first, start, onTrouble);
  return {
    port: () => port,
    upgrade(request, socket, head) {
      if (port === null || !(socket instanceof Socket)) return false;
      const { url = "/", headers } = request;
      handedOver.set(++lastId, socket);
      // Else Node would ask the child about the socket when the gateway closes, and wait for ever if it is gone.
      Object.assign(socket, { server: null });
      say(current, { type: "upgrade", id: lastId, url, headers, head: head.toString("base64") }, socket);
      return true;
    },
    stop: kept.stop,
  };
}

function say(child: ChildProcess, order: Order, socket?: Socket): void {
  child.send(order, socket, (error) => {
    if (error) socket?.destroy();
  });
}
