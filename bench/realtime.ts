import { type ChildProcess, fork } from "node:child_process";
import { randomUUID } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { SignJWT } from "jose";
import { tokenIssuer } from "../local/lite/auth-config.ts";
import type { Sql } from "../local/postgres/database.ts";
import { root } from "../local/postgres/database-server.ts";
import type { Stack } from "../local/stack.ts";
import { localName, writeResults } from "./about.ts";
import type { Answer, Crowd, Heard, Order } from "./realtime-clients.ts";
import type { Order as FloorOrder } from "./realtime-floor.ts";
import { onOwnStack } from "./stack.ts";

/**
 * `npm run bench:realtime`: many websocket clients that receive votes, compared to a bare ws server in the
 * same run.
 */
interface Scenario {
  name: string;
  submissions: number;
  /** Clients on each topic. */
  clients: number;
  via: "row changes" | "broadcast" | "floor";
  /** All signed in as different users, or all anonymous. */
  signedIn?: boolean;
  votesPerSecond: number;
}

const crowds = [
  { submissions: 1, clients: 1000, votesPerSecond: 5 },
  { submissions: 1, clients: 5000, votesPerSecond: 5 },
  { submissions: 1000, clients: 5, votesPerSecond: 50 },
];
const plan: Scenario[] = [
  ...crowds.flatMap((crowd) =>
    (["floor", "row changes", "broadcast"] as const).map((via) => ({
      ...crowd,
      via,
      name: `${crowd.submissions} x ${crowd.clients}, ${via}`,
    })),
  ),
  {
    name: "1 x 1000, row changes, each signed in",
    submissions: 1,
    clients: 1000,
    via: "row changes",
    signedIn: true,
    votesPerSecond: 5,
  },
];

const { values: flags } = parseArgs({
  options: {
    seconds: { type: "string", default: "15" },
    only: { type: "string", default: "" },
    name: { type: "string", default: localName("realtime") },
  },
});
const seconds = Number(flags.seconds);

interface Result extends Heard {
  scenario: string;
  expected: number;
  delivered: number;
  connectSeconds: number;
  kilobytesAClient: number;
  /** Percent of one core during the votes. */
  cpu: number;
}

await onOwnStack(
  async (stack, sql) => {
    const results: Result[] = [];
    const board = await makeBoard(sql);
    for (const scenario of plan.filter(({ name }) => name.includes(flags.only))) {
      const result = await run(scenario, stack, sql, board);
      results.push(result);
      console.log(
        `${scenario.name.padEnd(40)} ${(100 * result.delivered).toFixed(2)} %  p50 ${result.p50.toFixed(1)} ms  p99 ${result.p99.toFixed(1)} ms  longest ${result.longest.toFixed(0)} ms  ${result.kilobytesAClient.toFixed(1)} kB a client  cpu ${(100 * result.cpu).toFixed(0)} %  connected in ${result.connectSeconds.toFixed(1)} s`,
      );
    }
    await writeResults(flags.name, sql, { seconds }, { results });
  },
  { connections: 4 },
);

interface Board {
  submissions: string[];
  voters: string[];
  /** Each user votes once. */
  next: number;
}

async function makeBoard(sql: Sql): Promise<Board> {
  await sql`update private.feature_flags set is_on = false where name = 'broadcast_changes'`;
  await sql`insert into organizations (slug, name) values ('bench', 'Bench')`;
  const people = await sql<{ id: string }[]>`
    insert into auth.users (id, email) select gen_random_uuid(), 'p' || n || '@bench.example' from generate_series(1, 2000) n returning id`;
  const submissions = await sql<{ id: string }[]>`
    insert into submissions (organization_id, author_id, title, description, type)
    select o.id, ${people[0]?.id ?? ""}, 'Watched by many ' || n, 'A description that is long enough.', 'idea'
    from organizations o, generate_series(1, 1000) n returning id`;
  return {
    submissions: submissions.map(({ id }) => id),
    voters: people.slice(1).map(({ id }) => id),
    next: 0,
  };
}

async function run(scenario: Scenario, stack: Stack, sql: Sql, board: Board): Promise<Result> {
  await sql`update private.feature_flags set is_on = ${scenario.via === "broadcast"} where name = 'broadcast_changes'`;
  const submissions = board.submissions.slice(0, scenario.submissions);
  const floor = scenario.via === "floor" ? await startFloor() : null;
  const server = floor?.process.pid ?? (await realtimePid());
  const crowd = floor
    ? floorCrowd(floor.port, scenario, submissions)
    : await realCrowd(stack, scenario, submissions, board);
  const clients = child("realtime-clients.ts");
  const memoryBefore = await residentKilobytes(server);
  const startedAt = performance.now();
  await ask(clients, { type: "connect", crowd });
  const connectSeconds = (performance.now() - startedAt) / 1000;
  await sleep(2000);
  const kilobytesAClient = ((await residentKilobytes(server)) - memoryBefore) / crowd.clients.length;
  await ask(clients, { type: "report" });
  const cpuBefore = await cpuSeconds(server);
  const votes = await vote(scenario, async (n) => {
    const submission = submissions[n % submissions.length] ?? "";
    if (floor) floor.process.send(floorFrame(submission));
    else if (scenario.via === "broadcast")
      await sql`insert into comments (submission_id, author_id, body) values (${submission}, ${board.voters[0] ?? ""}, 'News')`;
    else
      await sql`insert into votes (submission_id, user_id) values (${submission}, ${board.voters[board.next++ % board.voters.length] ?? ""})`;
  });
  const cpu = ((await cpuSeconds(server)) - cpuBefore) / seconds;
  await drained(clients, votes * scenario.clients);
  const answer = await ask(clients, { type: "report" });
  clients.kill();
  floor?.process.kill();
  // Switched off before the next crowd.
  await sql`update private.feature_flags set is_on = false where name = 'broadcast_changes'`;
  await sql`delete from votes v using submissions s where s.id = v.submission_id and v.user_id <> s.author_id`;
  await sleep(1000);
  if (answer.type !== "heard") throw new Error("the clients did not report");
  const expected = votes * scenario.clients;
  const { heard } = answer;
  return {
    scenario: scenario.name,
    ...heard,
    expected,
    delivered: heard.received / expected,
    connectSeconds,
    kilobytesAClient,
    cpu,
  };
}

/** Until all messages arrived, or none for ten seconds. */
async function drained(clients: ChildProcess, expected: number): Promise<void> {
  for (let [last, quiet] = [-1, 0]; quiet < 10; ) {
    const answer = await ask(clients, { type: "count" });
    if (answer.type !== "counted" || answer.received >= expected) return;
    quiet = answer.received === last ? quiet + 1 : 0;
    last = answer.received;
    await sleep(1000);
  }
}

/** Votes at a fixed rate, independent of their duration. */
async function vote(scenario: Scenario, cast: (n: number) => Promise<void>): Promise<number> {
  const count = seconds * scenario.votesPerSecond;
  const startedAt = performance.now();
  const casting: Promise<void>[] = [];
  for (let n = 0; n < count; n++) {
    await sleep(Math.max(0, startedAt + (n * 1000) / scenario.votesPerSecond - performance.now()));
    casting.push(cast(n));
  }
  await Promise.all(casting);
  return count;
}

async function realCrowd(
  stack: Stack,
  scenario: Scenario,
  submissions: string[],
  board: Board,
): Promise<Crowd> {
  const clients = [];
  for (const submission of submissions) {
    for (let n = 0; n < scenario.clients; n++) {
      const token = scenario.signedIn ? await tokenFor(stack, board.voters[n] ?? "") : undefined;
      clients.push({
        query: `/realtime/v1/websocket?apikey=${stack.publishable_key}&vsn=2.0.0`,
        join: joinMessage(scenario, submission, token),
      });
    }
  }
  const marks =
    scenario.via === "broadcast"
      ? // A comment, because a broadcast of a vote has no time.
        { mark: '"table": "comments"', timeAfter: '"created_at": "' }
      : { mark: '"type":"INSERT"', timeAfter: '"commit_timestamp":"' };
  return { url: stack.supabase_url.replace("http", "ws"), clients, ...marks };
}

function joinMessage({ via }: Scenario, submission: string, access_token?: string): string {
  const [topic, config] =
    via === "broadcast"
      ? [`realtime:submission:${submission}`, { private: true }]
      : [
          `realtime:votes:submission=${submission}`,
          {
            postgres_changes: [
              { event: "*", schema: "public", table: "votes", filter: `submission_id=eq.${submission}` },
            ],
          },
        ];
  return JSON.stringify(["1", "1", topic, "phx_join", { config, access_token }]);
}

function tokenFor(stack: Stack, sub: string): Promise<string> {
  return new SignJWT({
    sub,
    role: "authenticated",
    aud: "authenticated",
    iss: tokenIssuer,
  })
    .setProtectedHeader({ alg: "HS256", typ: "JWT" })
    .setIssuedAt()
    .setExpirationTime("1h")
    .sign(new TextEncoder().encode(stack.jwtSecret));
}

function floorCrowd(port: number, scenario: Scenario, submissions: string[]): Crowd {
  const clients = submissions.flatMap((submission) =>
    Array.from({ length: scenario.clients }, () => ({ query: `/?group=${submission}`, join: null })),
  );
  return {
    url: `ws://127.0.0.1:${port}`,
    clients,
    mark: '"type":"INSERT"',
    timeAfter: '"commit_timestamp":"',
  };
}

/** The exact frame of a vote. */
function floorFrame(submission: string): FloorOrder {
  const columns = [
    ["id", "uuid"],
    ["organization_id", "uuid"],
    ["submission_id", "uuid"],
    ["created_at", "timestamptz"],
  ].map(([name, type]) => ({ name, type }));
  const record = {
    id: randomUUID(),
    organization_id: randomUUID(),
    submission_id: submission,
    created_at: "2026-11-21T10:00:00.000000+00:00",
  };
  return {
    group: submission,
    before: `[null,null,"realtime:votes:submission=${submission}","postgres_changes",{"ids":[1234567890],"data":{"schema":"public","table":"votes","type":"INSERT","commit_timestamp":"`,
    after: `","columns":${JSON.stringify(columns)},"record":${JSON.stringify(record)},"errors":null}}]`,
  };
}

function child(file: string): ChildProcess {
  return fork(join(root, "bench", file), { execArgv: ["--import", "tsx"] });
}

function ask(clients: ChildProcess, order: Order): Promise<Answer> {
  return new Promise((resolve, reject) => {
    clients.once("message", (answer: Answer) => resolve(answer));
    clients.once("exit", () => reject(new Error("the clients ended")));
    clients.send(order);
  });
}

function startFloor(): Promise<{ process: ChildProcess; port: number }> {
  const process = child("realtime-floor.ts");
  return new Promise((resolve) => {
    process.once("message", ({ port }: { port: number }) => resolve({ process, port }));
  });
}

async function realtimePid(): Promise<number> {
  for (const pid of (await readdir("/proc")).filter((name) => /^\d+$/.test(name))) {
    const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
    const command = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
    if (status.includes(`PPid:\t${process.pid}\n`) && command.includes("realtime/process.ts"))
      return Number(pid);
  }
  throw new Error("realtime is not running");
}

async function residentKilobytes(pid: number | undefined): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]);
}

async function cpuSeconds(pid: number | undefined): Promise<number> {
  const fields = (await readFile(`/proc/${pid}/stat`, "utf8")).split(") ")[1]?.split(" ") ?? [];
  return (Number(fields[11]) + Number(fields[12])) / 100;
}
