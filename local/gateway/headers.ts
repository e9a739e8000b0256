import type { IncomingMessage } from "node:http";

const untrusted = /^(?:x-forwarded-.*|forwarded|x-real-ip|cf-connecting-ip|true-client-ip)$/;
export const hopByHop = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "expect",
]);

/** All headers with this name: Node keeps only one of some. */
export const valuesOf = (rawHeaders: string[], name: string) =>
  rawHeaders.filter((_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === name);

/** Headers for upstream: the client's without those that the gateway sets. */
export function headersFor(incoming: IncomingMessage, ...leaveOut: string[]): string[] {
  const headers: string[] = [];
  for (let index = 0; index + 1 < incoming.rawHeaders.length; index += 2) {
    const name = (incoming.rawHeaders[index] ?? "").toLowerCase();
    if (hopByHop.has(name) || untrusted.test(name) || leaveOut.includes(name)) continue;
    headers.push(name, incoming.rawHeaders[index + 1] ?? "");
  }
  return headers;
}
