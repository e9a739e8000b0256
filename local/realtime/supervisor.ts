import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { StartError } from "../start-error.ts";
import type { Order, Report } from "./process.ts";
import type { RealtimeOptions } from "./server.ts";

export interface RealtimeProcess {
  /** Hands the socket itself over, so that what it carries does not pass through here. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): boolean;
  /** Of its HTTP side; null while it is down. */
  port(): number | null;
  pid(): number | undefined;
  stop(): Promise<void>;
}

const longestPause = 5000;

/** Realtime in a process of its own: thousands of sockets do not slow auth and data API, and it starts again if it dies. */
export async function startRealtimeProcess(options: RealtimeOptions): Promise<RealtimeProcess> {
  const { onTrouble, ...rest } = options;
  let stopping = false;
  let child: ChildProcess | undefined;
  let port: number | null = null;
  const handedOver = new Map<number, Socket>();
  let lastId = 0;

  const run = async (): Promise<string | null> => {
    const started = fork(fileURLToPath(new URL("process.ts", import.meta.url)), {
      execArgv: ["--import", "tsx"],
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    child = started;
    const outcome = new Promise<string | null>((resolve) => {
      started.once("exit", (code) => resolve(`it ended (code ${code})`));
      started.on("message", (report: Report) => {
        if (report.type === "ready") {
          port = report.port;
          resolve(null);
        } else if (report.type === "received") {
          // What is left here is an empty shell, which the gateway still counts.
          handedOver.get(report.id)?.destroy();
          handedOver.delete(report.id);
          say(started, { type: "proceed", id: report.id });
        } else if (report.type === "failed") resolve(report.message);
        else onTrouble(report.message);
      });
    });
    say(started, { type: "start", options: rest });
    return outcome;
  };
  const keep = async (): Promise<void> => {
    for (let pause = 100; !stopping; pause = Math.min(pause * 2, longestPause)) {
      if (child && child.exitCode === null && child.signalCode === null) await once(child, "exit");
      port = null;
      for (const socket of handedOver.values()) socket.destroy();
      handedOver.clear();
      if (stopping) return;
      onTrouble("realtime ended and starts again");
      await sleep(pause);
      if (!stopping && (await run()) === null) pause = 100;
    }
  };

  const failure = await run();
  if (failure !== null) throw new StartError(`realtime did not start: ${failure}`);
  const keeping = keep();
  return {
    port: () => port,
    pid: () => child?.pid,
    upgrade(request, socket, head) {
      if (port === null || !child || !(socket instanceof Socket)) return false;
      const { url = "/", headers } = request;
      handedOver.set(++lastId, socket);
      // Else Node would ask the child about the socket when the gateway closes, and wait for ever if it is gone.
      Object.assign(socket, { server: null });
      say(child, { type: "upgrade", id: lastId, url, headers, head: head.toString("base64") }, socket);
      return true;
    },
    async stop() {
      stopping = true;
      if (child && child.exitCode === null) {
        say(child, { type: "stop" });
        const forced = setTimeout(() => child?.kill("SIGKILL"), 3000);
        await keeping;
        clearTimeout(forced);
      }
    },
  };
}

function say(child: ChildProcess, order: Order, socket?: Socket): void {
  child.send(order, socket, (error) => {
    if (error) socket?.destroy();
  });
}
