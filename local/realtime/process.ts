import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import type { CommonOrder, CommonReport } from "../processes/node-process.ts";
import { messageOf } from "../processes/start-error.ts";
import { type Realtime, type RealtimeOptions, startRealtime } from "./server.ts";

/** Messages from the launcher; an upgrade carries its socket. */
export type Order =
  | CommonOrder<Omit<RealtimeOptions, "onWarning">>
  | { type: "upgrade"; id: number; url: string; headers: IncomingMessage["headers"]; head: string }
  | { type: "proceed"; id: number };

export type Report = CommonReport | { type: "received"; id: number } | { type: "sockets"; open: number };

const send = (message: Report) => process.send?.(message);
const warn = (message: string) => send({ type: "warning", message });

let realtime: Realtime | undefined;

async function handleMessage(order: Order, socket: unknown): Promise<void> {
  switch (order.type) {
    case "start":
      return start(order.options);
    case "upgrade":
      if (socket instanceof Socket) receive(order, socket);
      return;
    case "proceed":
      return upgrade(order.id);
    case "stop":
      await realtime?.stop();
      process.exit(0);
  }
}

async function start(options: Omit<RealtimeOptions, "onWarning">): Promise<void> {
  realtime = await startRealtime({ ...options, onWarning: warn, onSockets: (open) => send({ type: "sockets", open }) });
  // It gets its sockets from the launcher and listens on no port.
  send({ type: "ready", port: 0 });
}

const pending = new Map<number, { request: IncomingMessage; socket: Socket; head: Buffer }>();

/** Do not respond until the launcher has released the socket, which it may still read. */
function receive(order: Order & { type: "upgrade" }, socket: Socket): void {
  const { id, url, headers, head } = order;
  socket.on("error", () => socket.destroy());
  const request = Object.assign(new IncomingMessage(socket), { method: "GET", url, headers });
  pending.set(id, { request, socket, head: Buffer.from(head, "base64") });
  send({ type: "received", id });
}

function upgrade(id: number): void {
  const callbacks = pending.get(id);
  pending.delete(id);
  if (callbacks && realtime) realtime.upgrade(callbacks.request, callbacks.socket, callbacks.head);
  else callbacks?.socket.destroy();
}

process.on("message", (order: Order, socket) => {
  handleMessage(order, socket).catch((error: unknown) => {
    if (realtime !== undefined) return warn(`realtime: ${messageOf(error)}`);
    send({ type: "failed", message: messageOf(error) });
    process.exit(1);
  });
});
// Ctrl-C in a terminal reaches this process too. Ignore it: the launcher stops processes in order.
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => undefined);
process.on("disconnect", () => process.exit(0));
