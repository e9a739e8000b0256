import WebSocket from "ws";

// A process of many clients: each joins, counts what it gets and notes how long that took since the commit.

export interface Crowd {
  url: string;
  /** One socket each: the messages to say first; it is there when it has an answer (or at once, when it says nothing). */
  clients: { query: string; join: string | null }[];
  /** What counts, found in the text; the time stands behind it. */
  marks: string;
}

export interface Heard {
  received: number;
  p50: number;
  p99: number;
  longest: number;
}

export type Order = { type: "connect"; crowd: Crowd } | { type: "report" } | { type: "end" };
export type Answer = { type: "connected" } | { type: "heard"; heard: Heard };

const sockets: WebSocket[] = [];
let latencies: number[] = [];

async function connect({ url, clients, marks }: Crowd): Promise<void> {
  const waiting = [...clients];
  const time = new RegExp(`${marks}"([^"]+)"`);
  const next = async () => {
    for (let client = waiting.pop(); client; client = waiting.pop()) await open(url, client, time);
  };
  await Promise.all(Array.from({ length: 50 }, next));
}

function open(url: string, { query, join }: Crowd["clients"][number], time: RegExp): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(`${url}${query}`, { perMessageDeflate: false, skipUTF8Validation: true });
    sockets.push(socket);
    socket.on("error", reject);
    socket.on("open", () => (join === null ? resolve() : socket.send(join)));
    socket.on("message", (data: Buffer) => {
      const now = performance.timeOrigin + performance.now();
      const text = data.toString();
      const at = time.exec(text)?.[1];
      if (at !== undefined) latencies.push(now - Date.parse(at));
      else if (text.includes('"phx_reply"')) {
        if (text.includes('"status":"ok"')) resolve();
        else reject(new Error(text));
      }
    });
  });
}

function heard(): Heard {
  const sorted = Float64Array.from(latencies).sort();
  const at = (share: number) =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
  latencies = [];
  return { received: sorted.length, p50: at(0.5), p99: at(0.99), longest: at(1) };
}

process.on("message", async (order: Order) => {
  const answer = (said: Answer) => process.send?.(said);
  if (order.type === "connect") {
    await connect(order.crowd);
    answer({ type: "connected" });
  } else if (order.type === "report") answer({ type: "heard", heard: heard() });
  else process.exit(0);
});
process.on("disconnect", () => process.exit(0));
