import { request } from "node:http";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { ask } from "./ask.ts";

// The attackers of bench/hostile.ts run in a process of their own, so that their work does not add to the measured
// latency. Each attack lasts until it is stopped.

export interface Target {
  url: string;
  publishableKey: string;
  /** Access token of a user. */
  token: string;
  /** Agent keys. */
  agents: string[];
}
/** Messages from the parent: the target, the attack to begin, and its end. */
export type Order = { target: Target } | { begin: string } | { end: true };
/** Replies: the names of all attacks, or the state of the current one. */
export type Report = { names: string[] } | { begun: true } | { ended: true } | { problem: string };

/** Starts the attack and returns a function that stops it. */
type Attack = () => Promise<() => Promise<unknown>>;

const report = (message: Report) => process.send?.(message);
let attacks: Record<string, Attack> = {};
let end: () => Promise<unknown> = async () => undefined;

process.on("message", (order: Order) => {
  handle(order).catch((error: unknown) => report({ problem: String(error) }));
});
process.on("disconnect", () => process.exit());

async function handle(order: Order): Promise<void> {
  if ("target" in order) {
    attacks = attacksOn(order.target);
    report({ names: Object.keys(attacks) });
  } else if ("begin" in order) {
    end = (await attacks[order.begin]?.()) ?? end;
    report({ begun: true });
  } else {
    await end();
    report({ ended: true });
  }
}

function attacksOn({ url, publishableKey, token, agents }: Target): Record<string, Attack> {
  const port = Number(new URL(url).port);
  const headers = { apikey: publishableKey, "content-type": "application/json" };
  /** Clients that repeat a request, each from its own address unless `from` is set. */
  const repeat =
    (
      clients: number,
      path: string,
      {
        headers: own = headers,
        ...more
      }: { method?: string; body?: string; token?: string; from?: string; headers?: Record<string, string> } = {},
    ): Attack =>
    async () => {
      let isOver = false;
      const one = async (number: number) => {
        const from = `127.0.2.${1 + number}`;
        while (!isOver) if ((await ask(`${url}${path}`, { headers: own, from, ...more })) === 429) await sleep(50);
      };
      const all = Promise.all(Array.from({ length: clients }, (_, number) => one(number)));
      return () => {
        isOver = true;
        return all;
      };
    };
  /** Connections of one address that send a text and never read. */
  const open =
    (count: number, text: string): Attack =>
    async () => {
      const sockets = Array.from({ length: count }, () => {
        const socket = connect({ port, host: "127.0.0.1", localAddress: "127.0.3.1" });
        socket.on("error", () => undefined);
        socket.pause();
        socket.write(text);
        return socket;
      });
      return async () => {
        for (const socket of sockets) socket.destroy();
      };
    };
  /** A form with distinct field names. */
  const form = (fields: number) => ({
    method: "POST",
    headers: { "content-type": "application/x-www-form-urlencoded", origin: new URL(url).origin },
    body: Array.from({ length: fields }, (_, at) => `a${at}=1`).join("&"),
  });
  const slow = "/rest/v1/comments?select=id&body=match.(.*)(.*)(.*)%5C1%5C2%5C3$";
  return {
    "nested conditions": repeat(8, `/rest/v1/submissions?or=(${"and(".repeat(1_000)}id.is.null${")".repeat(1_000)})`),
    "bodies that never come": open(
      700,
      `POST /api/submissions HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 900\r\n\r\n{`,
    ),
    "idle connections, as many as an address may have": open(1_000, ""),
    "slow patterns of 8 clients of one address": repeat(8, slow, { from: "127.0.2.1" }),
    "slow patterns of 8 addresses": repeat(8, slow),
    "slow patterns of a user at 4 addresses": repeat(4, slow, { token }),
    "large answers, read": repeat(4, "/rest/v1/submissions?select=id,comments!submission_id(body)"),
    "large answers, unread": open(
      100,
      `GET /rest/v1/comments?select=body,submissions!submission_id(id,comments!submission_id(body)) HTTP/1.1\r\nHost: a\r\napikey: ${publishableKey}\r\n\r\n`,
    ),
    "boards and lists, unread, as many as an address may have in a minute": open(
      30,
      "GET /api/submissions?limit=100 HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
    ),
    "forms of as many fields as there may be, of 4 clients": repeat(4, "/preferences", form(5_000)),
    "forms of 40,000 fields of 4 clients": repeat(4, "/preferences", form(40_000)),
    "colors of brands, of 4 clients": repeat(4, "/brand/336699.css"),
    "wrong passwords of 8 clients": repeat(8, "/auth/v1/token?grant_type=password", {
      method: "POST",
      body: JSON.stringify({ email: "nobody@bench.example", password: "wrong" }),
    }),
    "streams of 3 agents, as many as they may have": async () => {
      const streams = await Promise.all(agents.map((agent) => openStreams(url, agent, 100)));
      return async () => {
        for (const stream of streams.flat()) stream.destroy();
      };
    },
  };
}

/** Streams that receive every vote. */
async function openStreams(url: string, agent: string, count: number): Promise<{ destroy(): void }[]> {
  const headers = { authorization: `Bearer ${agent}`, "content-type": "application/json" };
  const streams = [];
  for (let n = 0; n < count; n++) {
    const tools = await fetch(`${url}/api/mcp/tools`, {
      method: "POST",
      headers,
      body: JSON.stringify({
        jsonrpc: "2.0",
        id: 1,
        method: "subscribe",
        params: { events: ["submission.vote_added"] },
      }),
    });
    const { result, error } = (await tools.json()) as { result?: { stream_url: string }; error?: object };
    if (!result) throw new Error(JSON.stringify(error));
    const { pathname } = new URL(result.stream_url);
    const stream = request(`${url}${pathname}`, { headers, agent: false });
    stream.on("error", () => undefined);
    const status = await new Promise<number>((resolve) => {
      stream.on("response", (incoming) => {
        incoming.resume();
        resolve(incoming.statusCode ?? 0);
      });
      stream.end();
    });
    if (status !== 200) throw new Error(`a stream answered ${status}`);
    streams.push(stream);
  }
  return streams;
}
