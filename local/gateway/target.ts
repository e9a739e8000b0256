import type { IncomingMessage } from "node:http";
import { type GatewayError, malformedRequest, unknownPath } from "./errors.ts";
import { valuesOf } from "./headers.ts";

export interface Target {
  /** Undecoded, so that two spellings of a path stay different. */
  path: string;
  /** With the question mark, or empty. */
  search: string;
}

// A host and port without characters that could end the host part of a URL.
const host = /^(?:[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_.])?|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/;
// The functions read the URL of a request: 127.0.0.1:99999 makes none.
const isHost = (named: string) => host.test(named) && URL.canParse(`http://${named}`);
// Without characters that URL parsers interpret differently.
const visible = /^\/[!$%&'()*+,\-./:;=@\w~]*(?:\?[\x21\x22\x24-\x7e]*)?$/;
const dots = /(?:\/|%2f|%5c)(?:\.|%2e){1,2}(?:\/|%2f|%5c|$)/i;

/** Parses the request target; returns an error if it or the Host header is malformed. Neither is taken from a parsed URL. */
export function readTarget({ url = "", rawHeaders, httpVersion }: IncomingMessage): Target | GatewayError {
  const hosts = valuesOf(rawHeaders, "host");
  const [named] = hosts;
  if (hosts.length > 1 || (named === undefined ? httpVersion !== "1.0" : !isHost(named))) return malformedRequest;
  // For an absolute-form target only the path counts.
  const text = url.replace(/^https?:\/\/[^/?#]*(?=\/)/i, "");
  const [path = "", ...rest] = text.split("?");
  if (!visible.test(text)) return malformedRequest;
  if (dots.test(path)) return unknownPath;
  return { path, search: rest.length > 0 ? `?${rest.join("?")}` : "" };
}
