import { isUtf8 } from "node:buffer";
import type { GatewayError } from "./errors.ts";

const maxNesting = 64;
/** Bytes of all names of arguments: PostgREST compares unknown ones with each function, in quadratic time. */
export const maxNameBytes = 1_000;

/** The error of a body that PostgREST would parse at a high cost. Only JSON: it repeats the header of CSV in each row. */
export function rejectBody(path: string, contentType: string | undefined, body: Buffer): GatewayError | undefined {
  if (body.length === 0) return undefined;
  if (!/^application\/(?:vnd\.pgrst\.(?:object|array)\+)?json\s*(?:;|$)/i.test(contentType ?? "application/json"))
    return {
      status: 415,
      code: "UNSUPPORTED_MEDIA_TYPE",
      message: "The data API takes JSON. Send Content-Type: application/json.",
    };
  if (!isUtf8(body)) return invalid("The body is not valid UTF-8.");
  const { nesting, nameBytes } = shapeOf(body);
  if (nesting > maxNesting) return invalid(`The body is nested more than ${maxNesting} levels deep.`);
  if (path.startsWith("/rest/v1/rpc/") && nameBytes > maxNameBytes)
    return invalid(`The names of the arguments are longer than ${maxNameBytes} bytes in all.`);
  return undefined;
}

/** Without parsing: the deepest brackets outside of strings, and the length of the names in the outer two levels. */
function shapeOf(body: Buffer): { nesting: number; nameBytes: number } {
  let [depth, nesting, nameBytes] = [0, 0, 0];
  let [textStart, textLength] = [-1, 0];
  for (let at = 0; at < body.length && nesting <= maxNesting; at++) {
    const byte = body[at];
    if (textStart >= 0) {
      if (byte === 0x5c) at++;
      else if (byte === 0x22) [textStart, textLength] = [-1, at - textStart];
    } else if (byte === 0x22) textStart = at;
    else if (byte === 0x3a && depth <= 2) nameBytes += textLength;
    else if (byte === 0x5b || byte === 0x7b) nesting = Math.max(nesting, ++depth);
    else if (byte === 0x5d || byte === 0x7d) depth--;
  }
  return { nesting, nameBytes };
}

const invalid = (message: string): GatewayError => ({ status: 400, code: "VALIDATION_ERROR", message });
