import { type Agent, Agent as HttpAgent, request } from "node:http";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import type { Sql } from "../local/database.ts";
import type { Stack } from "../local/stack.ts";
import { localName, writeResults } from "./about.ts";
import { addUsers, loadBoard, signIn } from "./board.ts";
import { onOwnStack, say } from "./stack.ts";

// How long health, a list and a vote of others take while somebody attacks the gateway, next to when nobody does.

const { values: flags } = parseArgs({
  options: {
    seconds: { type: "string", default: "10" },
    /** Of the file in bench/results; *.local.json is not committed. */
    name: { type: "string", default: localName("hostile") },
  },
});
const seconds = Number(flags.seconds);
const aim = 5;
/** Calls of each kind a second: others are few, so that the attack and not they fill the machine. */
const pauseMs = 20;

type Kind = "health" | "list" | "vote";
type Latencies = Record<Kind, { calls: number; failed: number; p50_ms: number; p99_ms: number }>;
type Attack = (isOver: () => boolean) => Promise<unknown>;

async function bench(stack: Stack, sql: Sql): Promise<void> {
  await sql`update private.rate_limit_rules set max_requests = 2000000000`;
  const board = await loadBoard(sql, stack, 500);
  const [voter, attacker] = await signIn(stack, await addUsers(sql, "other", 2));
  if (!voter || !attacker) throw new Error("nobody was made");
  const [submission] = await sql<{ id: string }[]>`select id from public.submissions limit 1`;
  await sql`
    insert into public.comments (submission_id, author_id, body)
    select ${submission?.id ?? ""}, ${attacker.id}, repeat('ab', 900) || 'cz' from generate_series(1, 900)`;
  const agent = new HttpAgent({ keepAlive: true });
  const others = { stack, agent, token: voter.token, submissionId: submission?.id ?? "" };
  await measure(others, 2);
  const results = [];
  for (const [name, attack] of Object.entries(attacks(stack, attacker.token))) {
    // Each next to quiet of its own, since other programs load the machine differently from minute to minute.
    const quiet = await measure(others, seconds);
    let over = false;
    const attacking = attack(() => over);
    await sleep(200);
    const during = await measure(others, seconds);
    over = true;
    await attacking;
    say(`quiet: ${told(quiet)}`);
    const ratio = Object.fromEntries(
      (Object.keys(during) as Kind[]).map((kind) => [
        kind,
        Math.round((during[kind].p99_ms / quiet[kind].p99_ms) * 10) / 10,
      ]),
    );
    say(`${name}: ${told(during)}; p99 to quiet ${JSON.stringify(ratio)}`);
    results.push({ name, quiet, during, p99_to_quiet: ratio });
    await sleep(2_000);
  }
  await writeResults(flags.name, sql, { seconds, submissions: board.submissionIds.length, aim }, { results });
}

/** Each by clients of addresses of their own, as long as it is measured. */
function attacks(stack: Stack, token: string): Record<string, Attack> {
  const { port } = new URL(stack.supabase_url);
  const headers = { apikey: stack.publishable_key, "content-type": "application/json" };
  const repeat =
    (clients: number, path: string, more: { method?: string; body?: string; token?: string } = {}): Attack =>
    async (isOver) => {
      const one = async (number: number) => {
        while (!isOver()) {
          const status = await ask(`${stack.supabase_url}${path}`, {
            ...more,
            headers,
            from: `127.0.2.${1 + (number % 200)}`,
          });
          if (status === 429) await sleep(50);
        }
      };
      await Promise.all(Array.from({ length: clients }, (_, number) => one(number)));
    };
  const open =
    (count: number, text: string): Attack =>
    async (isOver) => {
      const sockets = Array.from({ length: count }, () => {
        const socket = connect({ port: Number(port), host: "127.0.0.1", localAddress: "127.0.3.1" });
        socket.on("error", () => undefined);
        socket.pause();
        socket.write(text);
        return socket;
      });
      while (!isOver()) await sleep(50);
      for (const socket of sockets) socket.destroy();
    };
  const slow = "/rest/v1/comments?select=id&body=match.(.*)(.*)(.*)%5C1%5C2%5C3$";
  return {
    "nested conditions": repeat(
      8,
      `/rest/v1/submissions?or=(${"and(".repeat(1_000)}id.is.null${")".repeat(1_000)})`,
    ),
    "bodies that never come": open(
      700,
      `POST /api/submissions HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 900\r\n\r\n{`,
    ),
    "slow patterns of 8 clients of one address": async (isOver) => {
      const one = async () => {
        while (!isOver())
          if ((await ask(`${stack.supabase_url}${slow}`, { headers, from: "127.0.2.1" })) === 429)
            await sleep(50);
      };
      await Promise.all(Array.from({ length: 8 }, one));
    },
    "slow patterns of 8 addresses": repeat(8, slow),
    "slow patterns of a user at 4 addresses": repeat(4, slow, { token }),
    "large answers, read": repeat(4, "/rest/v1/submissions?select=id,comments!submission_id(body)"),
    "large answers, unread": open(
      100,
      `GET /rest/v1/comments?select=body,submissions!submission_id(id,comments!submission_id(body)) HTTP/1.1\r\nHost: a\r\napikey: ${stack.publishable_key}\r\n\r\n`,
    ),
    "wrong passwords of 8 clients": repeat(8, "/auth/v1/token?grant_type=password", {
      method: "POST",
      body: JSON.stringify({ email: "nobody@bench.example", password: "wrong" }),
    }),
  };
}

interface Others {
  stack: Stack;
  agent: Agent;
  token: string;
  submissionId: string;
}

async function measure(
  { stack, agent, token, submissionId }: Others,
  forSeconds: number,
): Promise<Latencies> {
  const until = performance.now() + forSeconds * 1000;
  const base = stack.supabase_url;
  const vote = `${base}/api/submissions/${submissionId}/vote`;
  const calls: Record<Kind, (n: number) => Promise<number>> = {
    health: () => ask(`${base}/api/health`, { agent }),
    list: () => ask(`${base}/api/submissions?limit=20`, { agent }),
    vote: (n) => ask(vote, { agent, token, method: n % 2 ? "DELETE" : "POST" }),
  };
  const one = async (kind: Kind) => {
    const durations: number[] = [];
    let failed = 0;
    for (let n = 0; performance.now() < until; n++) {
      const before = performance.now();
      if ((await calls[kind](n)) >= 400) failed++;
      durations.push(performance.now() - before);
      await sleep(pauseMs);
    }
    const sorted = durations.sort((a, b) => a - b);
    const at = (share: number) =>
      Math.round((sorted[Math.floor(sorted.length * share)] ?? Number.NaN) * 10) / 10;
    return [kind, { calls: sorted.length, failed, p50_ms: at(0.5), p99_ms: at(0.99) }] as const;
  };
  return Object.fromEntries(await Promise.all((Object.keys(calls) as Kind[]).map(one))) as Latencies;
}

interface Asked {
  agent?: Agent;
  method?: string;
  body?: string;
  token?: string;
  headers?: Record<string, string>;
  from?: string;
}

/** The status, after the whole answer; 0 where the connection broke. */
function ask(url: string, { agent, method = "GET", body, token, headers, from }: Asked): Promise<number> {
  return new Promise((resolve) => {
    const outgoing = request(
      url,
      {
        method,
        agent,
        headers: { ...headers, ...(token && { authorization: `Bearer ${token}` }) },
        ...(from && { localAddress: from }),
      },
      (incoming) => {
        incoming.resume();
        incoming.on("close", () => resolve(incoming.statusCode ?? 0));
      },
    );
    outgoing.on("error", () => resolve(0));
    outgoing.end(body);
  });
}

const told = (latencies: Latencies) =>
  Object.entries(latencies)
    .map(([kind, { p99_ms, failed }]) => `${kind} p99 ${p99_ms} ms${failed > 0 ? ` (${failed} failed)` : ""}`)
    .join(", ");

await onOwnStack(bench);
