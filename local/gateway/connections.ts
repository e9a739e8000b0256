import type { Server } from "node:http";
import type { Socket } from "node:net";
import { networkOf } from "../../shared/network-address.ts";
import type { GatewayLimits } from "./limits.ts";

/** Closes connections of an address above its limit. */
export function limitConnections(
  server: Server,
  { connections, connectionsPerAddress }: Pick<GatewayLimits, "connections" | "connectionsPerAddress">,
): void {
  server.maxConnections = connections;
  const open = new Map<string, number>();
  const counted = new WeakSet<Socket>();
  server.on("connection", (socket: Socket) => {
    if (counted.has(socket)) return;
    counted.add(socket);
    const address = networkOf(socket.remoteAddress ?? "");
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
