import WebSocket from "ws";

// A process of many clients: each joins, counts messages and measures their latency since the commit.

export interface Crowd {
  url: string;
  /** One socket each, with the messages to send first; ready after a response, or at once without messages. */
  clients: { query: string; join: string | null }[];
  /** A message that contains the first text counts; its timestamp follows the second. */
  mark: string;
  timeAfter: string;
}

export interface Heard {
  received: number;
  p50: number;
  p99: number;
  longest: number;
}

export type Order =
  | { type: "connect"; crowd: Crowd }
  | { type: "count" }
  | { type: "report" }
  | { type: "end" };
export type Answer =
  | { type: "connected" }
  | { type: "counted"; received: number }
  | { type: "heard"; heard: Heard };

const sockets: WebSocket[] = [];
let latencies: number[] = [];

async function connect({ url, clients, mark, timeAfter }: Crowd): Promise<void> {
  const waiting = [...clients];
  // Searches bytes instead of parsing, to keep up with thousands of messages.
  const note = (data: Buffer) => {
    const at = data.indexOf(timeAfter, data.indexOf(mark) + 1 || data.length, "latin1") + timeAfter.length;
    if (at < timeAfter.length) return false;
    const now = performance.timeOrigin + performance.now();
    latencies.push(now - Date.parse(data.toString("latin1", at, data.indexOf('"', at))));
    return true;
  };
  const next = async () => {
    for (let client = waiting.pop(); client; client = waiting.pop()) await open(url, client, note);
  };
  await Promise.all(Array.from({ length: 50 }, next));
}

function open(
  url: string,
  { query, join }: Crowd["clients"][number],
  note: (data: Buffer) => boolean,
): Promise<void> {
  return new Promise((resolve, reject) => {
    // On Linux all of 127/8 is local, and one address may open a thousand connections.
    const spread = process.platform === "linux" && {
      localAddress: `127.0.1.${1 + Math.floor(sockets.length / 500)}`,
    };
    const settings = { perMessageDeflate: false, skipUTF8Validation: true, ...spread };
    const socket = new WebSocket(`${url}${query}`, settings);
    sockets.push(socket);
    socket.on("error", reject);
    socket.on("open", () => (join === null ? resolve() : socket.send(join)));
    socket.on("message", (data: Buffer) => {
      if (note(data)) return;
      const text = data.toString();
      if (!text.includes('"phx_reply"')) return;
      if (text.includes('"status":"ok"')) resolve();
      else reject(new Error(text));
    });
  });
}

function collectReport(): Heard {
  const sorted = Float64Array.from(latencies).sort();
  const at = (share: number) =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
  latencies = [];
  return { received: sorted.length, p50: at(0.5), p99: at(0.99), longest: at(1) };
}

process.on("message", async (order: Order) => {
  const answer = (message: Answer) => process.send?.(message);
  if (order.type === "connect") {
    await connect(order.crowd);
    answer({ type: "connected" });
  } else if (order.type === "count") answer({ type: "counted", received: latencies.length });
  else if (order.type === "report") answer({ type: "heard", heard: collectReport() });
  else process.exit(0);
});
process.on("disconnect", () => process.exit(0));
