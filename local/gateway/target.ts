import type { IncomingMessage } from "node:http";
import { valuesOf } from "./headers.ts";
import { malformed, nothingHere, type Refusal } from "./refuse.ts";

export interface Target {
  /** As it came, so that no two spellings of a path are taken for one. */
  path: string;
  /** With its question mark, or nothing. */
  search: string;
}

// A name or an address, and a port: nothing that could end the host part of a URL.
const host = /^(?:[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_.])?|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/;
// Without what parsers of URLs disagree about.
const visible = /^\/[!$%&'()*+,\-./:;=@\w~]*(?:\?[\x21\x22\x24-\x7e]*)?$/;
const dots = /(?:\/|%2f|%5c)(?:\.|%2e){1,2}(?:\/|%2f|%5c|$)/i;

/** What the request line asks for, or a refusal where it or the Host header is malformed. Neither becomes part of a URL. */
export function readTarget({ url = "", rawHeaders, httpVersion }: IncomingMessage): Target | Refusal {
  const hosts = valuesOf(rawHeaders, "host");
  const [named] = hosts;
  if (hosts.length > 1 || (named === undefined ? httpVersion !== "1.0" : !host.test(named))) return malformed;
  // A client that takes us for a proxy sends the whole address, of which only the path counts.
  const text = url.replace(/^https?:\/\/[^/?#]*(?=\/)/i, "");
  const [path = "", ...rest] = text.split("?");
  if (!visible.test(text)) return malformed;
  if (dots.test(path)) return nothingHere;
  return { path, search: rest.length > 0 ? `?${rest.join("?")}` : "" };
}
