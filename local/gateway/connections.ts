import type { Server } from "node:http";
import type { Socket } from "node:net";
import type { GatewayLimits } from "./limits.ts";

/** Closes connections of an address above its limit. */
export function limitConnections(
  server: Server,
  { connections, connectionsPerAddress }: Pick<GatewayLimits, "connections" | "connectionsPerAddress">,
): void {
  server.maxConnections = connections;
  const open = new Map<string, number>();
  server.on("connection", (socket: Socket) => {
    const address = socket.remoteAddress ?? "";
    const count = (open.get(address) ?? 0) + 1;
    open.set(address, count);
    socket.once("close", () => {
      const left = (open.get(address) ?? 1) - 1;
      if (left > 0) open.set(address, left);
      else open.delete(address);
    });
    if (count > connectionsPerAddress) socket.destroy();
  });
}
