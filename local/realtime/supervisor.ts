import type { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import type { Duplex, Writable } from "node:stream";
import { compileProgram } from "../compile.mjs";
import { startNodeProcess } from "../processes/node-process.ts";
import type { Order, Report } from "./process.ts";
import type { RealtimeOptions } from "./server.ts";

export interface RealtimeProcess {
  /** Passes the socket itself, so that its data does not flow through this process. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): boolean;
  up(): boolean;
  /** Number of open ones. */
  websockets(): number;
  stop(): Promise<void>;
}

const maxHeapMegabytes = 1024;

/** Runs realtime in a process of its own, isolated from auth and the data API, and restarts it when it exits. */
export async function startRealtimeProcess(
  options: RealtimeOptions & { log?: Writable | undefined },
): Promise<RealtimeProcess> {
  const { onWarning, log, ...rest } = options;
  const pending = new Map<number, Socket>();
  let lastId = 0;
  let open = 0;
  const { port, send, stop } = await startNodeProcess<Order, Report>({
    name: "realtime",
    program: compileProgram("local/realtime/process.ts"),
    execArgv: ["--expose-gc", `--max-old-space-size=${maxHeapMegabytes}`],
    stderr: log ?? "inherit",
    options: rest,
    onReport(report) {
      if (report.type === "sockets") open = report.open;
      if (report.type !== "received") return;
      // The remaining socket object is closed here; the gateway still counts it.
      pending.get(report.id)?.destroy();
      pending.delete(report.id);
      send({ type: "proceed", id: report.id });
    },
    onExit() {
      for (const socket of pending.values()) socket.destroy();
      pending.clear();
      open = 0;
    },
    onWarning,
  });
  return {
    upgrade(request, socket, head) {
      if (port() === null || !(socket instanceof Socket)) return false;
      const { url = "/", headers } = request;
      pending.set(++lastId, socket);
      // Otherwise Node would ask the child about the socket when the gateway closes, and wait forever if it has exited.
      Object.assign(socket, { server: null });
      send({ type: "upgrade", id: lastId, url, headers, head: head.toString("base64") }, socket);
      return true;
    },
    up: () => port() !== null,
    websockets: () => open,
    stop,
  };
}
