import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";

/** The socket's remote address, or the last entry of the header that the operator's proxy overwrites. */
export function clientAddress(incoming: IncomingMessage, proxyHeader?: string): string {
  const named = proxyHeader && incoming.headers[proxyHeader];
  const last = [named].flat().join(",").split(",").at(-1)?.trim() ?? "";
  const address = isIP(last) ? last : (incoming.socket.remoteAddress ?? "");
  return address.replace(/^::ffff:/, "");
}
