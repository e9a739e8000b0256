import { fork } from "node:child_process";
import { once } from "node:events";
import { type Agent, Agent as HttpAgent } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { createAgentKey } from "../local/operator/api-keys.ts";
import type { Sql } from "../local/postgres/database.ts";
import type { Stack } from "../local/stack.ts";
import { localName, writeResults } from "./about.ts";
import { ask } from "./ask.ts";
import type { Order, Report, Target } from "./attacks.ts";
import { addUsers, loadBoard, signIn } from "./board.ts";
import { onOwnStack, say } from "./stack.ts";

// Latency of health, lists and votes of other clients during attacks on the gateway, compared to idle phases.

const { values: flags } = parseArgs({
  options: {
    seconds: { type: "string", default: "10" },
    /** Runs only attacks whose name contains this text. */
    only: { type: "string", default: "" },
    /** Name of the result file in bench/results; *.local.json is not committed. */
    name: { type: "string", default: localName("hostile") },
  },
});
const seconds = Number(flags.seconds);
const aim = 5;
/** Requests of each kind per second: few, so that the attack determines the load. */
const pauseMs = 20;

type Kind = "health" | "list" | "vote";
type Latencies = Record<Kind, { calls: number; failed: number; p50_ms: number; p99_ms: number }>;

async function bench(stack: Stack, sql: Sql): Promise<void> {
  await sql`update private.rate_limit_rules set max_requests = 2000000000`;
  const board = await loadBoard(sql, stack, 500);
  const [voter, attacker] = await signIn(stack, await addUsers(sql, "other", 2));
  if (!voter || !attacker) throw new Error("the users are missing");
  const [submission] = await sql<{ id: string }[]>`select id from public.submissions limit 1`;
  await sql`
    insert into public.comments (submission_id, author_id, body)
    select ${submission?.id ?? ""}, ${attacker.id}, repeat('ab', 900) || 'cz' from generate_series(1, 900)`;
  const agent = new HttpAgent({ keepAlive: true });
  const others = { stack, agent, token: voter.token, submissionId: submission?.id ?? "" };
  await measure(others, 2);
  const agents = await Promise.all(
    Array.from({ length: 3 }, () =>
      createAgentKey(sql, board.organizationId, "Attacker", "enterprise", ["submissions:read"]),
    ),
  );
  const attackers = await startAttackers({
    url: stack.supabase_url,
    publishableKey: stack.publishable_key,
    token: attacker.token,
    agents,
  });
  const results = [];
  for (const name of attackers.names.filter((known) => known.includes(flags.only))) {
    // Each attack has its own idle phase, because the load of the machine varies.
    const quiet = await measure(others, seconds);
    await attackers.send({ begin: name });
    await sleep(200);
    const during = await measure(others, seconds);
    await attackers.send({ end: true });
    say(`quiet: ${summarize(quiet)}`);
    const ratio = Object.fromEntries(
      (Object.keys(during) as Kind[]).map((kind) => [
        kind,
        Math.round((during[kind].p99_ms / quiet[kind].p99_ms) * 10) / 10,
      ]),
    );
    say(`${name}: ${summarize(during)}; p99 to quiet ${JSON.stringify(ratio)}`);
    results.push({ name, quiet, during, p99_to_quiet: ratio });
    await sleep(2_000);
  }
  attackers.stop();
  await writeResults(flags.name, sql, { seconds, submissions: board.submissionIds.length, aim }, { results });
}

async function startAttackers(target: Target) {
  // In a session of its own: Linux shares the CPU between sessions, so the attackers do not reduce the gateway's share.
  const child = fork(fileURLToPath(new URL("attacks.ts", import.meta.url)), {
    execArgv: ["--import", "tsx"],
    detached: true,
  });
  const send = async (order: Order): Promise<Report> => {
    child.send(order);
    const [report] = (await once(child, "message")) as [Report];
    if ("problem" in report) throw new Error(report.problem);
    return report;
  };
  const report = await send({ target });
  return { names: "names" in report ? report.names : [], send, stop: () => child.disconnect() };
}

interface Others {
  stack: Stack;
  agent: Agent;
  token: string;
  submissionId: string;
}

async function measure({ stack, agent, token, submissionId }: Others, forSeconds: number): Promise<Latencies> {
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
    const at = (share: number) => Math.round((sorted[Math.floor(sorted.length * share)] ?? Number.NaN) * 10) / 10;
    return [kind, { calls: sorted.length, failed, p50_ms: at(0.5), p99_ms: at(0.99) }] as const;
  };
  return Object.fromEntries(await Promise.all((Object.keys(calls) as Kind[]).map(one))) as Latencies;
}

const summarize = (latencies: Latencies) =>
  Object.entries(latencies)
    .map(([kind, { p99_ms, failed }]) => `${kind} p99 ${p99_ms} ms${failed > 0 ? ` (${failed} failed)` : ""}`)
    .join(", ");

await onOwnStack(bench);
