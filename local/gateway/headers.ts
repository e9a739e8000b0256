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

/** Of all headers of that name: Node keeps but one of some. */
export const valuesOf = (rawHeaders: string[], name: string) =>
  rawHeaders.filter((_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === name);

/** What goes upstream: the client's headers but those that are ours to set, and the caller's address under a secret name. */
export function headersFor(
  incoming: IncomingMessage,
  { addressHeader, address }: { addressHeader: string; address: string },
  leaveOut: string[] = [],
): string[] {
  const headers: string[] = [];
  for (let index = 0; index + 1 < incoming.rawHeaders.length; index += 2) {
    const name = (incoming.rawHeaders[index] ?? "").toLowerCase();
    if (hopByHop.has(name) || untrusted.test(name) || name === addressHeader || leaveOut.includes(name))
      continue;
    headers.push(name, incoming.rawHeaders[index + 1] ?? "");
  }
  headers.push(addressHeader, address);
  return headers;
}
