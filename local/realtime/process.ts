import { createServer, IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { listen } from "../ports.ts";
import { messageOf } from "../start-error.ts";
import { answerHttp } from "./http.ts";
import { type Realtime, type RealtimeOptions, startRealtime } from "./server.ts";

/** What the launcher says; an upgrade comes with its socket. */
export type Order =
  | { type: "start"; options: Omit<RealtimeOptions, "onTrouble"> }
  | { type: "upgrade"; id: number; url: string; headers: IncomingMessage["headers"]; head: string }
  | { type: "proceed"; id: number }
  | { type: "stop" };

export type Report =
  | { type: "ready"; port: number }
  | { type: "received"; id: number }
  | { type: "failed"; message: string }
  | { type: "trouble"; message: string };

const report = (said: Report) => process.send?.(said);

let realtime: Realtime | undefined;

async function obey(order: Order, socket: unknown): Promise<void> {
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

async function start(options: Omit<RealtimeOptions, "onTrouble">): Promise<void> {
  const started = await startRealtime({
    ...options,
    onTrouble: (message) => report({ type: "trouble", message }),
  });
  realtime = started;
  const server = createServer((request, response) => answerHttp(started.core, request, response));
  await listen(server, 0, "PORT");
  const address = server.address();
  report({ type: "ready", port: typeof address === "object" && address ? address.port : 0 });
}

const handedOver = new Map<number, { request: IncomingMessage; socket: Socket; head: Buffer }>();

/** Until the launcher has let go of the socket it may read what is meant for us, so nobody is answered yet. */
function receive(order: Order & { type: "upgrade" }, socket: Socket): void {
  const { id, url, headers, head } = order;
  socket.on("error", () => socket.destroy());
  const request = Object.assign(new IncomingMessage(socket), { method: "GET", url, headers });
  handedOver.set(id, { request, socket, head: Buffer.from(head, "base64") });
  report({ type: "received", id });
}

function upgrade(id: number): void {
  const waiting = handedOver.get(id);
  handedOver.delete(id);
  if (waiting && realtime) realtime.upgrade(waiting.request, waiting.socket, waiting.head);
  else waiting?.socket.destroy();
}

process.on("message", (order: Order, socket) => {
  obey(order, socket).catch((error: unknown) => {
    report({ type: "failed", message: messageOf(error) });
    process.exit(1);
  });
});
// Ctrl-C in a terminal reaches this process too; the launcher stops things in order, and its death is the end here.
process.on("SIGINT", () => undefined);
process.on("disconnect", () => process.exit(0));
