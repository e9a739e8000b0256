import { request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { createAgentKey, createApiKey } from "../local/operator/api-keys.ts";
import type { Sql } from "../local/postgres/database.ts";
import type { Stack } from "../local/stack.ts";
import { localName, writeResults } from "./about.ts";
import { type Board, loadBoard } from "./board.ts";
import { startGenerator } from "./generator.ts";
import { cpuSeconds, functionsPid } from "./process.ts";
import { compare, type Measurement, summarize, table } from "./report.ts";
import { onOwnStack, say } from "./stack.ts";

// Compares tool calls with the same REST requests, and measures the cost of idle subscriptions and the time from the
// commit of an event to its delivery on a thousand open subscriptions.

const { values: flags } = parseArgs({
  options: {
    seconds: { type: "string", default: "4" },
    rounds: { type: "string", default: "5" },
    subscriptions: { type: "string", default: "1000" },
    events: { type: "string", default: "50" },
    /** In seconds, for each number of open subscriptions. */
    silence: { type: "string", default: "30" },
    /** Name of the result file in bench/results; *.local.json is not committed. */
    name: { type: "string", default: localName("mcp") },
  },
});
const settings = {
  submissions: 10_000,
  seconds: Number(flags.seconds),
  rounds: Number(flags.rounds),
  subscriptions: Number(flags.subscriptions),
  events: Number(flags.events),
  silence: Number(flags.silence),
  connections: 16,
  database_connections: 8,
};

const maxStreamsPerAgent = 100;

await onOwnStack(bench, {
  functionsEnvironment: { DATABASE_CONNECTIONS: String(settings.database_connections) },
});

async function bench(stack: Stack, sql: Sql): Promise<void> {
  const board = await loadBoard(sql, stack, settings.submissions);
  await sql`update private.rate_limit_rules set max_requests = 1000000`;
  const results = [summarize(await besideRest(stack, sql, board))];
  console.log(table(results));
  const silence = await listenToNothing(stack, sql, board);
  console.table(silence);
  const delivery = await deliver(stack, sql, board);
  console.log(delivery);
  await writeResults(flags.name, sql, settings, { results, silence, delivery });
}

/** The measured side is the tool, the reference side is REST. */
async function besideRest(stack: Stack, sql: Sql, board: Board): Promise<Measurement> {
  const callers = async (secret: () => Promise<string>) =>
    Promise.all(Array.from({ length: 16 }, async () => ({ id: "", token: await secret() })));
  const agents = await callers(() => newAgent(sql, board));
  const keys = await callers(() => createApiKey(sql, board.organizationId, "Bench", ["submissions:read"]));
  const sides = {
    api: { generator: startGenerator({ ...board, callers: agents }), name: "list, by an agent" },
    floor: { generator: startGenerator({ ...board, callers: keys }), name: "list, by a key" },
  } as const;
  const run = (side: keyof typeof sides, seconds: number) => {
    const { generator, name } = sides[side];
    return generator.measure({ origin: stack.base_url, name, connections: settings.connections, seconds });
  };
  try {
    return await compare({ name: "tools/call list_submissions", aim: 0.8 }, settings, run);
  } finally {
    for (const { generator } of Object.values(sides)) generator.stop();
  }
}

/** CPU of the functions and of their connections while nothing happens, by the number of open subscriptions. */
async function listenToNothing(stack: Stack, sql: Sql, board: Board) {
  const pid = await functionsPid();
  const token = await newAgent(sql, board);
  const measured = [];
  const streams: { destroy(): void }[] = [];
  for (const count of [0, 1, maxStreamsPerAgent]) {
    while (streams.length < count) streams.push(await listen(await subscribe(stack, token), token, () => {}));
    // Wait for the work of opening them, which is not measured.
    await sleep(3_000);
    const functionsBefore = await cpuSeconds(pid);
    const databaseBefore = await secondsOfBackends(sql);
    await sleep(settings.silence * 1000);
    const functions = (await cpuSeconds(pid)) - functionsBefore;
    let database = 0;
    for (const [backend, seconds] of await secondsOfBackends(sql))
      database += seconds - (databaseBefore.get(backend) ?? 0);
    const perSecond = (used: number) => Math.round((used / settings.silence) * 10_000) / 10;
    measured.push({
      streams: count,
      functions_ms_a_second: perSecond(functions),
      database_ms_a_second: perSecond(database),
    });
  }
  for (const stream of streams) stream.destroy();
  return measured;
}

/** CPU of the backends that serve the functions, by pid. */
async function secondsOfBackends(sql: Sql): Promise<Map<number, number>> {
  const backends = await sql<{ pid: number }[]>`
    select pid from pg_stat_activity where application_name = 'feedback-functions'`;
  return new Map(await Promise.all(backends.map(async ({ pid }) => [pid, await cpuSeconds(pid)] as const)));
}

/** Milliseconds from the commit's response to the event on each stream; all streams subscribe to every event. */
async function deliver(stack: Stack, sql: Sql, board: Board) {
  const latencies: number[] = [];
  const committedAt = new Map<string, number>();
  const early = new Map<string, number[]>();
  const open = await Promise.all(
    Array.from({ length: Math.ceil(settings.subscriptions / maxStreamsPerAgent) }, async () => {
      const token = await newAgent(sql, board);
      const count = Math.min(maxStreamsPerAgent, settings.subscriptions);
      const streams = [];
      // Opened one by one; opening is not measured.
      for (let n = 0; n < count; n++)
        streams.push(await listen(await subscribe(stack, token), token, record));
      return streams;
    }),
  );
  const streams = open.flat();
  say(`${streams.length} subscriptions open`);

  function record(id: string | undefined) {
    if (id === undefined) return;
    const now = performance.now();
    const at = committedAt.get(id);
    if (at === undefined) early.set(id, [...(early.get(id) ?? []), now]);
    else latencies.push(now - at);
  }

  for (let n = 0; n < settings.events; n++) {
    const id = crypto.randomUUID();
    await sql`select private.emit_event(${board.organizationId}, 'survey.closed', ${id}, ${sql.json({ survey_id: id, response_count: 0 })})`;
    const now = performance.now();
    committedAt.set(id, now);
    latencies.push(...(early.get(id) ?? []).map((at) => Math.max(0, at - now)));
    await sleep(130);
  }
  for (
    const deadline = Date.now() + 10_000;
    latencies.length < streams.length * settings.events;
    await sleep(50)
  )
    if (Date.now() > deadline)
      throw new Error(`received ${latencies.length} of ${streams.length * settings.events} events`);
  for (const stream of streams) stream.destroy();
  const sorted = Float64Array.from(latencies).sort();
  const at = (share: number) => Math.round(sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN);
  return {
    streams: streams.length,
    events: settings.events,
    p50_ms: at(0.5),
    p99_ms: at(0.99),
    max_ms: at(1),
  };
}

function newAgent(sql: Sql, board: Board): Promise<string> {
  return createAgentKey(sql, board.organizationId, "Bench", "enterprise", [
    "submissions:read",
    "surveys:read",
  ]);
}

async function subscribe(stack: Stack, token: string): Promise<string> {
  const response = await fetch(`${stack.base_url}/api/mcp/tools`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "subscribe",
      params: { events: ["survey.closed"] },
    }),
  });
  const { result, error } = (await response.json()) as { result?: { stream_url: string }; error?: object };
  if (!result) throw new Error(JSON.stringify(error));
  return result.stream_url;
}

function listen(
  url: string,
  token: string,
  record: (id: string | undefined) => void,
): Promise<{ destroy(): void }> {
  return new Promise((resolve, reject) => {
    const outgoing = request(
      url,
      { headers: { authorization: `Bearer ${token}` }, agent: false },
      (incoming) => {
        if (incoming.statusCode !== 200) return reject(new Error(`a stream answered ${incoming.statusCode}`));
        incoming.setEncoding("utf8");
        let rest = "";
        incoming.on("data", (chunk: string) => {
          const lines = (rest + chunk).split("\n");
          rest = lines.pop() ?? "";
          for (const line of lines) record(/"survey_id":"([^"]+)"/.exec(line)?.[1]);
        });
        resolve(outgoing);
      },
    );
    outgoing.on("error", reject);
    outgoing.end();
  });
}
