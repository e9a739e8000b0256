import { type Agent, type IncomingMessage, request, type ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import type { Held } from "./body.ts";
import { headersFor, hopByHop } from "./headers.ts";

export interface Upstream {
  port: number;
  path: string;
  addressHeader: string;
  /** Of the client. */
  address: string;
  agent: Agent;
}

/** Passes a request on as it comes in, after what was read of it, and the answer as it comes out. */
export function forward(
  incoming: IncomingMessage,
  held: Held,
  response: ServerResponse,
  upstream: Upstream,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const { port, path, agent } = upstream;
    const headers = headersFor(incoming, upstream);
    if (incoming.headers["transfer-encoding"]) headers.push("transfer-encoding", "chunked");
    if (incoming.headers.host === undefined) headers.push("host", `127.0.0.1:${port}`);
    const outgoing = request({ host: "127.0.0.1", port, path, method: incoming.method, agent, headers });
    outgoing.on("response", (answer) => {
      const kept = Object.entries(answer.headers).filter(([name]) => !hopByHop.has(name));
      response.writeHead(answer.statusCode ?? 502, Object.fromEntries(kept));
      // Event streams: what is written goes out at once, and the head before it.
      response.flushHeaders();
      pipeline(answer, response).then(() => {
        // Answered before the whole body was read: the rest must not hold up the connection's next request.
        if (!outgoing.writableFinished) {
          incoming.unpipe(outgoing);
          incoming.resume();
          outgoing.destroy();
        }
        resolve();
      }, reject);
    });
    outgoing.on("error", reject);
    response.on("close", () => response.writableFinished || outgoing.destroy());
    for (const chunk of held.chunks) outgoing.write(chunk);
    if (held.isWhole) outgoing.end();
    else incoming.pipe(outgoing);
  });
}

export interface WholeAnswer {
  status: number;
  headers: Record<string, string | string[]>;
  body: Buffer;
}

/** Asks for an answer and holds it whole; null where it is larger than that. Goes on also when the client has left. */
export function ask(
  incoming: IncomingMessage,
  body: Buffer,
  upstream: Upstream,
  largest: number,
  timeMs: number,
): Promise<WholeAnswer | null> {
  return new Promise((resolve, reject) => {
    const { port, path, agent } = upstream;
    const headers = headersFor(incoming, upstream, ["content-length", "host"]);
    headers.push("host", `127.0.0.1:${port}`);
    if (body.length > 0) headers.push("content-length", String(body.length));
    const outgoing = request({ host: "127.0.0.1", port, path, method: incoming.method, agent, headers });
    const timer = setTimeout(() => outgoing.destroy(new Error("no answer in time")), timeMs);
    outgoing.on("close", () => clearTimeout(timer));
    outgoing.on("error", reject);
    outgoing.on("response", (answer) => {
      const chunks: Buffer[] = [];
      let length = 0;
      answer.on("data", (chunk: Buffer) => {
        length += chunk.length;
        chunks.push(chunk);
        if (length <= largest) return;
        outgoing.destroy();
        resolve(null);
      });
      answer.on("error", reject);
      answer.on("end", () => {
        const kept = Object.entries(answer.headers).filter(
          (header): header is [string, string | string[]] =>
            header[1] !== undefined && !hopByHop.has(header[0]),
        );
        resolve({
          status: answer.statusCode ?? 502,
          headers: Object.fromEntries(kept),
          body: Buffer.concat(chunks),
        });
      });
    });
    outgoing.end(body);
  });
}
