import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";

/** The socket's other end; where the operator names a header that their own proxy overwrites, its last entry. */
export function clientAddress(incoming: IncomingMessage, proxyHeader?: string): string {
  const named = proxyHeader && incoming.headers[proxyHeader];
  const last = [named].flat().join(",").split(",").at(-1)?.trim() ?? "";
  const address = isIP(last) ? last : (incoming.socket.remoteAddress ?? "");
  return address.replace(/^::ffff:/, "");
}
