import { connect, type Socket } from "node:net";
import type { Board } from "./board.ts";
import { type BenchRequest, type RequestName, requestOf } from "./requests.ts";

/** Messages from the parent: first the board, then loads. */
export type Order = { board: Board } | Load;

export interface Load {
  origin: string;
  name: RequestName;
  connections: number;
  seconds: number;
}

export interface Measured {
  requestsPerSecond: number;
  /** Milliseconds. */
  p50: number;
  p99: number;
}

export type Reply = { measured: Measured } | { problem: string };

let board: Board | undefined;
/** Number of sent requests by name, over all loads. */
const sent = new Map<string, number>();

process.on("message", (order: Order) => {
  if ("board" in order) {
    board = order.board;
    return;
  }
  run(order).then(
    (measured) => process.send?.({ measured } satisfies Reply),
    (error: unknown) =>
      process.send?.({ problem: error instanceof Error ? error.message : String(error) } satisfies Reply),
  );
});
process.on("disconnect", () => process.exit());

async function run({ origin, name, connections, seconds }: Load): Promise<Measured> {
  const { hostname, port, host } = new URL(origin);
  const clients = await Promise.all(Array.from({ length: connections }, (_, i) => open(hostname, Number(port), i)));
  const durations: number[] = [];
  const startedAt = performance.now();
  const until = startedAt + seconds * 1000;
  await Promise.all(
    clients.map(async (client) => {
      for (let before = performance.now(); before < until; ) {
        const request = next(name);
        const status = await client.send(textOf(request, host));
        if (status !== request.status)
          throw new Error(`${name}: ${request.path} answered ${status}, not ${request.status}`);
        const now = performance.now();
        durations.push(now - before);
        before = now;
      }
    }),
  );
  const elapsed = performance.now() - startedAt;
  for (const client of clients) client.close();
  return summary(durations, elapsed);
}

function next(name: RequestName): BenchRequest {
  if (!board) throw new Error("no board");
  const n = sent.get(name) ?? 0;
  sent.set(name, n + 1);
  return requestOf(name, board, n);
}

/** The floor verifies no token and gets the user id directly. */
function textOf({ method, path, caller, key, body }: BenchRequest, host: string): string {
  const person = caller === undefined ? undefined : board?.callers[caller];
  const token = person?.token ?? (key === undefined ? undefined : board?.keys[key]);
  const identity = token ? `Authorization: Bearer ${token}\r\nX-User: ${person?.id}\r\n` : "";
  const content =
    body === undefined ? "" : `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n`;
  return `${method} ${path} HTTP/1.1\r\nHost: ${host}\r\nAccept-Language: en\r\n${identity}${content}\r\n${body ?? ""}`;
}

function summary(durations: number[], elapsed: number): Measured {
  const sorted = Float64Array.from(durations).sort();
  const at = (share: number) => sorted[Math.floor(sorted.length * share)] ?? Number.NaN;
  return { requestsPerSecond: (durations.length / elapsed) * 1000, p50: at(0.5), p99: at(0.99) };
}

interface Client {
  /** Sends one request and waits for its whole answer; its status. */
  send(text: string): Promise<number>;
  close(): void;
}

/** Minimal keep-alive HTTP client, so that parsing costs little CPU. */
function open(host: string, port: number, number: number): Promise<Client> {
  // On Linux all of 127/8 is local: each connection is a separate caller to the rate limits.
  const local = process.platform === "linux" && host === "127.0.0.1" ? { localAddress: `127.0.0.${number + 2}` } : {};
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, noDelay: true, ...local });
    socket.once("error", reject);
    socket.once("connect", () => {
      socket.off("error", reject);
      resolve(clientOn(socket));
    });
  });
}

function clientOn(socket: Socket): Client {
  let waiting: { resolve(status: number): void; reject(error: Error): void } | undefined;
  let head: Buffer = Buffer.alloc(0);
  let status = 0;
  let missing = -1;
  socket.on("data", (chunk: Buffer) => {
    if (missing < 0) {
      head = head.length === 0 ? chunk : Buffer.concat([head, chunk]);
      const end = head.indexOf("\r\n\r\n");
      if (end < 0) return;
      const text = head.toString("latin1", 0, end);
      const length = /^content-length: (\d+)/im.exec(text)?.[1];
      if (length === undefined) return fail(new Error(`an answer without a length: ${text}`));
      status = Number(text.slice(9, 12));
      missing = end + 4 + Number(length) - head.length;
      head = Buffer.alloc(0);
    } else {
      missing -= chunk.length;
    }
    if (missing > 0) return;
    missing = -1;
    waiting?.resolve(status);
  });
  const fail = (error: Error) => waiting?.reject(error);
  socket.on("error", fail);
  socket.on("close", () => fail(new Error("the connection was closed")));
  return {
    send: (text) =>
      new Promise((resolve, reject) => {
        waiting = { resolve, reject };
        socket.write(text);
      }),
    close: () => socket.destroy(),
  };
}
