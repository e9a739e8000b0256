import { type Agent, type IncomingMessage, request, type ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import { networkOf } from "../../shared/network-address.ts";
import type { Listener } from "../processes/program.ts";
import type { BufferedBody } from "./body.ts";
import type { BufferedBytes } from "./buffered-bytes.ts";
import { sendError, tooMuchHeld } from "./errors.ts";
import { headersFor, hopByHop } from "./headers.ts";

export interface Upstream {
  port: number;
  path: string;
  /** Header for the address of the client. */
  addressHeader: string;
  address: string;
  agent: Agent;
}

/** Smaller bodies and responses fit into the socket buffers and do not count. */
export const minCountedBytes = 64 * 1024;
/** Assumed size without Content-Length: of a compressed response, a part of an export, or a body. */
const assumedBytes = 1024 * 1024;

/** The bytes of a body or response that a function keeps in memory. */
function heldOf({ headers }: IncomingMessage): number {
  // Event streams have their own limits.
  if (headers["content-type"]?.startsWith("text/event-stream")) return 0;
  const bytes = headers["content-length"] === undefined ? assumedBytes : Number(headers["content-length"]);
  return bytes > minCountedBytes ? bytes : 0;
}

/**
 * Streams a request, including the part already read, and its response; refuses it if its address leaves too much unread.
 */
export function forward(
  incoming: IncomingMessage,
  bufferedBody: BufferedBody,
  response: ServerResponse,
  upstream: Upstream,
  heldBytes: BufferedBytes,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const { port, path, agent, addressHeader, address } = upstream;
    const network = networkOf(address);
    // The function has a body as bytes and parsed; larger ones it streams.
    const bodyBytes = bufferedBody.isWhole ? 0 : 2 * Math.min(heldOf(incoming), assumedBytes);
    if (!heldBytes.hold(network, bodyBytes, response)) {
      sendError(response, tooMuchHeld);
      return resolve();
    }
    const headers = [...headersFor(incoming, addressHeader), addressHeader, address];
    if (incoming.headers["transfer-encoding"]) headers.push("transfer-encoding", "chunked");
    if (incoming.headers.host === undefined) headers.push("host", `127.0.0.1:${port}`);
    const outgoing = request({ host: "127.0.0.1", port, path, method: incoming.method, agent, headers });
    outgoing.on("response", (answer) => {
      // The response to a committed write is never replaced by an error.
      if (!heldBytes.hold(network, heldOf(answer), answer, incoming.method === "GET")) {
        outgoing.destroy();
        sendError(response, tooMuchHeld);
        return resolve();
      }
      const headers = Object.entries(answer.headers).filter(([name]) => !hopByHop.has(name));
      response.writeHead(answer.statusCode ?? 502, Object.fromEntries(headers));
      // Event streams: flush headers and each write at once.
      response.flushHeaders();
      pipeline(answer, response).then(() => {
        // The response came before the body was read.
        if (!outgoing.writableFinished) {
          incoming.unpipe(outgoing).resume();
          outgoing.destroy();
        }
        resolve();
      }, reject);
    });
    outgoing.on("error", reject);
    response.on("close", () => response.writableFinished || outgoing.destroy());
    for (const chunk of bufferedBody.chunks) outgoing.write(chunk);
    if (bufferedBody.isWhole) outgoing.end();
    else incoming.pipe(outgoing);
  });
}

export interface BufferedResponse {
  status: number;
  headers: Record<string, string | string[]>;
  body: Buffer;
}

export interface BufferedRequest {
  path: string;
  method: string;
  /** Without Host and Content-Length. */
  headers: string[];
  body: Buffer;
  agent: Agent;
}

/** Reads a response into memory; null if it is too large. Continues if the client disconnects. */
export function fetchBuffered(
  listener: Listener,
  { body, headers, ...rest }: BufferedRequest,
  maxBytes: number,
  timeMs: number,
): Promise<BufferedResponse | null> {
  return new Promise((resolve, reject) => {
    const length = body.length > 0 ? ["content-length", String(body.length)] : [];
    const outgoing = request({ ...listener, ...rest, headers: [...headers, "host", "127.0.0.1", ...length] });
    const timer = setTimeout(() => outgoing.destroy(new Error("no answer in time")), timeMs);
    outgoing.on("close", () => clearTimeout(timer));
    outgoing.on("error", reject);
    outgoing.on("response", (answer) => {
      const chunks: Buffer[] = [];
      let length = 0;
      answer.on("data", (chunk: Buffer) => {
        length += chunk.length;
        chunks.push(chunk);
        if (length <= maxBytes) return;
        outgoing.destroy();
        resolve(null);
      });
      answer.on("error", reject);
      answer.on("end", () => {
        const headers = Object.entries(answer.headers).filter(
          (header): header is [string, string | string[]] => header[1] !== undefined && !hopByHop.has(header[0]),
        );
        resolve({
          status: answer.statusCode ?? 502,
          headers: Object.fromEntries(headers),
          body: Buffer.concat(chunks),
        });
      });
    });
    outgoing.end(body);
  });
}
