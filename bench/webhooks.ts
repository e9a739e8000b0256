import { type ChildProcess, execFileSync, fork } from "node:child_process";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { makeWorkerUtils } from "graphile-worker";
import { type Functions, startFunctions } from "../local/functions/process.ts";
import { createApiKey } from "../local/operator/api-keys.ts";
import type { Sql } from "../local/postgres/database.ts";
import { root } from "../local/postgres/database-server.ts";
import type { Stack } from "../local/stack.ts";
import { localName, writeResults } from "./about.ts";
import { median, rounded } from "./report.ts";
import { onOwnStack, say } from "./stack.ts";

// Events delivered per second from a full outbox with one and with four dispatchers, compared to graphile-worker with
// one HTTP POST for each job on the same Postgres and receivers. Then the delay that dead receivers cause for others.

const { values: flags } = parseArgs({
  options: {
    events: { type: "string", default: "10000" },
    rounds: { type: "string", default: "5" },
    /** To read the memory of a dispatcher. */
    many: { type: "string", default: "100000" },
    /** Name of the result file in bench/results; *.local.json is not committed. */
    name: { type: "string", default: localName("webhooks") },
  },
});
const settings = {
  events: Number(flags.events),
  rounds: Number(flags.rounds),
  many: Number(flags.many),
  endpoints: 10,
};

/** Each endpoint subscribes to its own event, so that an event is one delivery. */
const eventNames = [
  "submission.created",
  "submission.updated",
  "submission.status_changed",
  "submission.vote_added",
  "submission.vote_removed",
  "comment.created",
  "member.joined",
  "org.updated",
  "survey.published",
  "survey.closed",
];

await onOwnStack(bench, { functionsEnvironment: { WEBHOOK_ALLOWED_HOSTS: "127.0.0.1" }, connections: 4 });

async function bench(stack: Stack, sql: Sql, folder: string): Promise<void> {
  await sql`update private.rate_limit_rules set max_requests = 2000000000`;
  // No scheduled trimming during the runs, for equal conditions.
  const receivers = await startReceivers(settings.endpoints);
  const organization = await newOrganization(sql, "bench");
  await register(stack, sql, organization, receivers.urls);
  const others = await Promise.all([1, 2, 3].map((n) => startDispatcher(stack, folder, n)));
  const worker = await startWorker(stack, receivers.urls);

  const sides: Record<string, () => Promise<number>> = {
    "one dispatcher": () => drain(sql, receivers, organization, settings.events, []),
    "four dispatchers": () => drain(sql, receivers, organization, settings.events, others),
    "graphile-worker": () => work(sql, receivers, worker, settings.events),
  };
  const rates: Record<string, number[]> = Object.fromEntries(Object.keys(sides).map((name) => [name, []]));
  for (const run of Object.values(sides)) await run();
  for (let round = 0; round < settings.rounds; round++) {
    // Alternate the order: the machine may be shared.
    const names = Object.keys(sides);
    for (const name of round % 2 === 0 ? names : names.reverse()) {
      const rate = (await sides[name]?.()) ?? Number.NaN;
      rates[name]?.push(Math.round(rate));
      say(`round ${round + 1}, ${name}: ${Math.round(rate)} a second`);
    }
  }
  await worker.stop();
  await Promise.all(others.map((one) => one.dispatcher.stop()));
  const throughput = Object.fromEntries(
    Object.entries(rates).map(([name, measured]) => [
      name,
      { events_per_second: median(measured), rounds: measured },
    ]),
  );
  const memory = await drainMany(sql, receivers, organization);
  const fairness = await deadAmongHealthy(stack, sql);
  await receivers.close();

  // Ratios within one round, because the load may differ between rounds.
  const toGraphile = (name: string) =>
    rounded(
      median(
        (rates[name] ?? []).map((rate, round) => rate / (rates["graphile-worker"]?.[round] ?? Number.NaN)),
      ),
      2,
    );
  const ratios = {
    one_to_graphile: toGraphile("one dispatcher"),
    four_to_graphile: toGraphile("four dispatchers"),
  };
  const results = { throughput, ratios, memory, fairness };
  console.log(JSON.stringify(results, null, 2));
  await writeResults(flags.name, sql, settings, results);
}

// Receivers -----------------------------------------------------------------------------------------------------

interface Receivers {
  urls: string[];
  count: number;
  /** Called with each request body. */
  onBody: (body: string) => void;
  close(): Promise<void>;
}

async function startReceivers(count: number): Promise<Receivers> {
  const receivers: Receivers = { urls: [], count: 0, onBody: () => undefined, close: async () => undefined };
  const servers = Array.from({ length: count }, () =>
    createServer((request, response) => {
      let body = "";
      request.setEncoding("utf8");
      request.on("data", (chunk: string) => {
        body += chunk;
      });
      request.on("end", () => {
        receivers.count++;
        receivers.onBody(body);
        response.writeHead(204).end();
      });
    }),
  );
  for (const server of servers) {
    server.listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    receivers.urls.push(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  }
  receivers.close = async () => {
    for (const server of servers) server.close().closeAllConnections();
  };
  return receivers;
}

async function arrived(receivers: Receivers, count: number): Promise<void> {
  for (const until = Date.now() + 600_000; receivers.count < count; await sleep(2))
    if (Date.now() > until) throw new Error(`${receivers.count} of ${count} came within ten minutes`);
}

// Ours ----------------------------------------------------------------------------------------------------------

async function newOrganization(sql: Sql, slug: string): Promise<string> {
  const [row] = await sql<{ id: string }[]>`
    insert into public.organizations (slug, name) values (${slug}, 'Bench') returning id`;
  return row?.id ?? "";
}

async function register(
  stack: Stack,
  sql: Sql,
  organization: string,
  urls: string[],
  events = eventNames,
): Promise<void> {
  const key = await createApiKey(sql, organization, "Bench", ["webhooks:write"], null);
  for (const [i, url] of urls.entries()) {
    const response = await fetch(`${stack.base_url}/api/organizations/${organization}/webhooks`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ url, events: [events[i % events.length]] }),
    });
    if (response.status !== 201) throw new Error(await response.text());
  }
}

/** Emits `count` events in one transaction, a tenth for each endpoint. */
async function fillOutbox(sql: Sql, organization: string, count: number): Promise<void> {
  await sql`
    insert into private.outbox (organization_id, type, subject_id, data)
    select ${organization}, (${eventNames}::text[])[1 + n % 10], gen_random_uuid(),
      jsonb_build_object('submission_id', gen_random_uuid(), 'vote_count', n, 'note', repeat('x', 200))
    from generate_series(1, ${count}::int) n`;
}

async function drain(
  sql: Sql,
  receivers: Receivers,
  organization: string,
  events: number,
  others: { wake(): Promise<unknown> }[],
): Promise<number> {
  const goal = receivers.count + events;
  await fillOutbox(sql, organization, events);
  const startedAt = performance.now();
  await sql`select pg_notify('webhooks', '')`;
  await Promise.all(others.map((other) => other.wake()));
  await arrived(receivers, goal);
  const rate = events / ((performance.now() - startedAt) / 1000);
  for (;;) {
    const [row] = await sql<{ left: number }[]>`
      select count(*)::int as left from private.webhook_deliveries where status in ('pending', 'sending')`;
    if (row?.left === 0) break;
    await sleep(20);
  }
  await cleanUp(sql);
  return rate;
}

/** Each run starts with an empty outbox and the usual log of each endpoint. */
async function cleanUp(sql: Sql): Promise<void> {
  await sql`select private.trim_deliveries(1000000)`;
  await sql`delete from private.outbox`;
  await sql`vacuum (analyze) private.webhook_deliveries, private.outbox`;
}

async function startDispatcher(
  stack: Stack,
  folder: string,
  n: number,
): Promise<{ dispatcher: Functions; wake(): Promise<unknown> }> {
  const secrets = JSON.parse(await readFile(join(folder, "secrets.json"), "utf8")) as Record<string, string>;
  const url = new URL(stack.db_url);
  url.username = "feedback_webhooks";
  url.password = secrets.webhook_database_password ?? "";
  const dispatcher = await startFunctions({
    root,
    name: `dispatcher ${n}`,
    entry: join(root, "functions", "webhook-dispatch", "index.ts"),
    healthPath: "/webhook-dispatch/health",
    environment: {
      SUPABASE_URL: stack.supabase_url,
      WEBHOOK_DATABASE_URL: url.href,
      WEBHOOK_DISPATCH_SECRET: secrets.webhook_dispatch_secret ?? "",
      WEBHOOK_SECRETS_KEYS: secrets.webhook_secrets_key ?? "",
      WEBHOOK_ALLOWED_HOSTS: "127.0.0.1",
    },
    logPath: join(folder, `dispatcher-${n}.log`),
    onWarning: say,
  });
  return {
    dispatcher,
    wake: () =>
      fetch(`http://127.0.0.1:${dispatcher.port}/webhook-dispatch`, {
        method: "POST",
        headers: { authorization: `Bearer ${secrets.webhook_dispatch_secret}` },
      }).then((response) => response.arrayBuffer()),
  };
}

async function drainMany(sql: Sql, receivers: Receivers, organization: string): Promise<object> {
  const before = dispatcherMemory();
  let most = before;
  const timer = setInterval(() => {
    most = Math.max(most, dispatcherMemory());
  }, 250);
  const rate = await drain(sql, receivers, organization, settings.many, []);
  clearInterval(timer);
  say(`${settings.many} drained`);
  return {
    events: settings.many,
    events_per_second: Math.round(rate),
    resident_mb_before: before,
    resident_mb_most: most,
  };
}

/** Resident memory of the stack's own dispatcher in MB. */
function dispatcherMemory(): number {
  const rows = execFileSync("ps", ["-eo", "rss=,pid=,ppid=,args="], { encoding: "utf8", maxBuffer: 2 ** 24 });
  const found = [...rows.matchAll(/^\s*(\d+)\s+(\d+)\s+(\d+)\s+(.*)$/gm)];
  const parents = new Map(found.map(([, , pid, parent]) => [Number(pid), Number(parent)]));
  const isOurs = (pid: number): boolean => {
    for (let at: number | undefined = pid; at; at = parents.get(at)) if (at === process.pid) return true;
    return false;
  };
  const ours = found.find(
    ([, , pid, , args]) => /^\S*deno run .*webhook-dispatch/.test(args ?? "") && isOurs(Number(pid)),
  );
  return Math.round(Number(ours?.[1] ?? 0) / 1024);
}

// graphile-worker -----------------------------------------------------------------------------------------------

interface Worker {
  start(): void;
  stop(): Promise<void>;
}

async function startWorker(stack: Stack, urls: string[]): Promise<Worker> {
  const utils = await makeWorkerUtils({ connectionString: stack.db_url });
  await utils.migrate();
  await utils.release();
  const child: ChildProcess = fork(join(import.meta.dirname, "webhooks-graphile.ts"), [
    stack.db_url,
    JSON.stringify(urls),
  ]);
  await new Promise((resolve) => child.once("message", resolve));
  return {
    start: () => child.send("start"),
    async stop() {
      child.send("stop");
      await new Promise((resolve) => child.once("exit", resolve));
    },
  };
}

async function work(sql: Sql, receivers: Receivers, worker: Worker, jobs: number): Promise<number> {
  const goal = receivers.count + jobs;
  await sql`
    select graphile_worker.add_jobs(array(
      select json_populate_record(null::graphile_worker.job_spec, json_build_object('identifier', 'post', 'payload', json_build_object(
        'n', n, 'submission_id', gen_random_uuid(), 'vote_count', n, 'note', repeat('x', 200))))
      from generate_series(1, ${jobs}::int) n))`;
  const startedAt = performance.now();
  worker.start();
  await arrived(receivers, goal);
  const rate = jobs / ((performance.now() - startedAt) / 1000);
  for (;;) {
    const [row] = await sql<{ left: number }[]>`select count(*)::int as left from graphile_worker.jobs`;
    if (row?.left === 0) break;
    await sleep(20);
  }
  return rate;
}

// Fairness ------------------------------------------------------------------------------------------------------

/** 100 endpoints, 5 of them dead, 10,000 events over time: milliseconds from commit to the healthy receivers. */
async function deadAmongHealthy(stack: Stack, sql: Sql): Promise<object> {
  const healthy = await startReceivers(95);
  const silent = createServer(() => undefined);
  silent.listen(0, "127.0.0.1");
  await new Promise((resolve) => silent.once("listening", resolve));
  const dead = `http://127.0.0.1:${(silent.address() as AddressInfo).port}/`;
  const organizations: string[] = [];
  for (let n = 0; n < 100; n++) {
    const organization = await newOrganization(sql, `bench-${n}`);
    organizations.push(organization);
    await register(
      stack,
      sql,
      organization,
      [n < 5 ? dead : (healthy.urls[n - 5] ?? "")],
      ["submission.updated"],
    );
  }
  const delays: number[] = [];
  healthy.onBody = (body) => {
    const { data } = JSON.parse(body) as { data: { sent_at?: number } };
    if (data.sent_at) delays.push(Date.now() - data.sent_at);
  };
  // 100 transactions in 20 seconds, each with one event for each endpoint.
  for (let batch = 0; batch < 100; batch++) {
    const at = Date.now();
    await sql`
      with told as (
        insert into private.outbox (organization_id, type, subject_id, data)
        select o, 'submission.updated', gen_random_uuid(), jsonb_build_object('sent_at', ${at}::bigint)
        from unnest(${organizations}::uuid[]) o)
      select pg_notify('webhooks', '')`;
    await sleep(Math.max(0, 200 - (Date.now() - at)));
  }
  await arrived(healthy, 100 * 95);
  await healthy.close();
  silent.close().closeAllConnections();
  delays.sort((a, b) => a - b);
  const at = (share: number) => delays[Math.floor(delays.length * share)];
  return {
    events: 10_000,
    endpoints: 100,
    dead: 5,
    healthy_p50_ms: at(0.5),
    healthy_p99_ms: at(0.99),
    healthy_most_ms: delays.at(-1),
  };
}
