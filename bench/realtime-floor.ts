import { createServer } from "node:http";
import { type WebSocket, WebSocketServer } from "ws";

// Reference: a bare ws server that sends a text to all sockets of a group.

export type Order = { group: string; before: string; after: string };

const groups = new Map<string, Set<WebSocket>>();
const server = createServer();
new WebSocketServer({ server, perMessageDeflate: false }).on("connection", (socket, request) => {
  const group = new URL(request.url ?? "/", "http://127.0.0.1").searchParams.get("group") ?? "";
  const members = groups.get(group) ?? new Set();
  groups.set(group, members);
  members.add(socket);
  socket.on("close", () => members.delete(socket));
});
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  process.send?.({ port: typeof address === "object" && address ? address.port : 0 });
});
process.on("message", ({ group, before, after }: Order) => {
  const frame = Buffer.from(`${before}${new Date().toISOString()}${after}`);
  for (const socket of groups.get(group) ?? []) socket.send(frame, { binary: false });
});
process.on("disconnect", () => process.exit(0));
