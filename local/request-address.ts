import type { IncomingMessage } from "node:http";

/** Parses path and query on a fixed host: `//a:99999` in a request line is no valid URL and must not throw. */
export function addressOf({ url: target = "/" }: IncomingMessage): URL {
  const url = new URL("http://127.0.0.1");
  const [path = "", ...rest] = target.split("?");
  url.pathname = path;
  url.search = rest.join("?");
  return url;
}
