import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";

interface ReceivedRequest {
  headers: IncomingHttpHeaders;
  /** The body, unchanged. */
  raw: Buffer;
  body: { id: string; event: string; org_id: string; timestamp: string; data: Record<string, unknown> };
}

/** The receiver's handling of a request; it may also do nothing. */
export type Behaviour = (response: ServerResponse, received: ReceivedRequest) => unknown;

/** A real HTTP server on a free port that records its requests and behaves as configured. */
export interface Receiver {
  url: string;
  heard: ReceivedRequest[];
  behave: Behaviour;
  /** How often an event arrived, by its id. */
  counts(): Map<string, number>;
  close(): Promise<void>;
}

export const ok: Behaviour = (response) => response.writeHead(204).end();
export const refuse =
  (status: number, headers: Record<string, string> = {}): Behaviour =>
  (response) =>
    response.writeHead(status, headers).end("not now");
export const neverRespond: Behaviour = () => undefined;
export const reset: Behaviour = (response) => (response.socket as Socket).resetAndDestroy();
export const answerHalf: Behaviour = (response) => {
  response.writeHead(200, { "content-length": "100" }).write("only this");
  setTimeout(() => response.destroy(), 50);
};
/** One byte of an endless response at a time. */
export const drip: Behaviour = (response) => {
  response.writeHead(200, { "content-length": "1000000" });
  const timer = setInterval(() => response.write("."), 100);
  response.on("close", () => clearInterval(timer));
};

/** Raw bytes, the last part of them without end. */
export const endless =
  (begin: string, part: string): Behaviour =>
  ({ socket }) => {
    socket?.on("error", () => {});
    socket?.write(begin);
    const rest = part.repeat(Math.ceil(2_000 / part.length));
    const go = (): void => {
      if (!socket || socket.destroyed) return;
      if (socket.write(rest)) setImmediate(go);
      else socket.once("drain", go);
    };
    go();
  };

export async function startReceiver(behave: Behaviour = ok): Promise<Receiver> {
  const received: ReceivedRequest[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const raw = Buffer.concat(chunks);
      const one = { headers: request.headers, raw, body: JSON.parse(raw.toString()) as ReceivedRequest["body"] };
      received.push(one);
      receiver.behave(response, one);
    });
  });
  server.listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const receiver: Receiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks`,
    heard: received,
    behave,
    counts() {
      const counts = new Map<string, number>();
      for (const { body } of received) counts.set(body.id, (counts.get(body.id) ?? 0) + 1);
      return counts;
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return receiver;
}
