import { setTimeout } from "node:timers/promises";
import { parseArgs } from "node:util";
import type { Sql } from "../local/postgres/database.ts";
import type { Stack } from "../local/stack.ts";
import { localName, writeResults } from "./about.ts";
import { addUsers, type Board, signIn } from "./board.ts";
import { onOwnStack } from "./stack.ts";

// Duration of merging and unmerging two large submissions while others vote on them and on a third one.

const { values: flags } = parseArgs({
  options: {
    votes: { type: "string", default: "50000" },
    rounds: { type: "string", default: "3" },
    /** Name of the result file in bench/results; *.local.json is not committed. */
    name: { type: "string", default: localName("merge") },
  },
});
const votes = Number(flags.votes);
const rounds = Number(flags.rounds);
const voters = 8;
const pauseMs = 100;

type Operation = { name: string; aim_ms: number | null; ms: number[]; votes_meanwhile: Latency[] };
/** Calls that began or ended during the operation. */
type Latency = { calls: number; refused: number; p50_ms: number; slowest_ms: number };
type Caller = Board["callers"][number];

await onOwnStack(bench);

async function bench(stack: Stack, sql: Sql): Promise<void> {
  await sql`update private.rate_limit_rules set max_requests = 2000000000`;
  const [admin] = await signIn(stack, await addUsers(sql, "admin", 1));
  const callers = await signIn(stack, await addUsers(sql, "caller", voters));
  const people = await addUsers(sql, "person", votes * 2);
  const [organization] = await sql<{ id: string }[]>`
    select private.create_organization('Bench', 'bench', 'public', ${admin?.id ?? ""}) as id`;
  if (!admin || !organization) throw new Error("no organization was made");
  const operations: Operation[] = [];
  // Reference on a shared machine: the time to insert as many votes and follows.
  const writing: number[] = [];
  for (const shared of [0, 0.5]) {
    const title = `${votes.toLocaleString("en")} votes into as many, ${shared * 100} % by the same people`;
    const merged: Operation = { name: `merge of ${title}`, aim_ms: 2000, ms: [], votes_meanwhile: [] };
    const unmerged: Operation = { name: `unmerge of ${title}`, aim_ms: null, ms: [], votes_meanwhile: [] };
    const from = Math.round(votes * (1 - shared));
    const startedAt = performance.now();
    const source = await addSubmission(sql, organization.id, admin, people.slice(0, votes));
    writing.push(Math.round(performance.now() - startedAt));
    const target = await addSubmission(sql, organization.id, admin, people.slice(from, from + votes));
    const other = await addSubmission(sql, organization.id, admin, []);
    const board = [source, target, other];
    for (let round = 0; round < rounds; round++) {
      await sql`vacuum (analyze) public.votes`;
      await sql`vacuum (analyze) public.follows`;
      await timed(stack, merged, callers, board, () =>
        call(stack, admin, "POST", "/api/admin/merge", { source_ids: [source], target_id: target }),
      );
      await timed(stack, unmerged, callers, board, () =>
        call(stack, admin, "POST", "/api/admin/unmerge", { submission_id: source }),
      );
    }
    operations.push(merged, unmerged);
  }
  const mistakes = await sql`select * from private.count_discrepancies()`;
  if (mistakes.length > 0) throw new Error(`${mistakes.length} counts are wrong`);
  for (const { name, ms, votes_meanwhile } of operations)
    console.log(
      `${name}: ${ms.join(", ")} ms; slowest vote meanwhile ${Math.max(...votes_meanwhile.map(({ slowest_ms }) => slowest_ms))} ms`,
    );
  console.log(`writing ${votes.toLocaleString("en")} votes and follows: ${writing.join(", ")} ms`);
  await writeResults(
    flags.name,
    sql,
    { votes, voters, pause_ms: pauseMs },
    { writing_ms: writing, operations },
  );
}

/** Events are suppressed, and the count is set at the end. */
async function addSubmission(
  sql: Sql,
  organizationId: string,
  author: Caller,
  people: string[],
): Promise<string> {
  const [made] = await sql<{ id: string }[]>`
    insert into public.submissions (organization_id, author_id, title, description, type)
    values (${organizationId}, ${author.id}, 'Wanted by many', 'A description that is long enough.', 'idea') returning id`;
  if (!made) throw new Error("no submission was made");
  await sql.begin(async (transaction) => {
    await transaction`set local statement_timeout = 0`;
    await transaction`select set_config('feedback.suppress_events', 'on', true)`;
    await transaction`
      insert into public.votes (organization_id, submission_id, user_id, created_at)
      select ${organizationId}, ${made.id}, id, now() - n * interval '1 minute' from unnest(${people}::uuid[]) with ordinality as p (id, n)`;
    await transaction`
      insert into public.follows (organization_id, submission_id, user_id, reason)
      select ${organizationId}, ${made.id}, id, 'vote' from unnest(${people}::uuid[]) as p (id)`;
    await transaction`
      update public.submissions set vote_count = (select count(*) from public.votes where submission_id = ${made.id}) where id = ${made.id}`;
  });
  return made.id;
}

async function timed(
  stack: Stack,
  operation: Operation,
  callers: Caller[],
  board: string[],
  work: () => Promise<number>,
): Promise<void> {
  let running = true;
  const responses: { ms: number; status: number }[] = [];
  const voting = callers.map(async (caller, n) => {
    for (let turn = n; running; turn++) {
      const startedAt = performance.now();
      const path = `/api/submissions/${board[turn % board.length]}/vote`;
      const status = await call(stack, caller, turn % 2 ? "POST" : "DELETE", path, {});
      responses.push({ ms: performance.now() - startedAt, status });
      await setTimeout(pauseMs);
    }
  });
  const startedAt = performance.now();
  const status = await work();
  operation.ms.push(Math.round(performance.now() - startedAt));
  running = false;
  await Promise.all(voting);
  if (status !== 200) throw new Error(`${operation.name} answered ${status} after ${operation.ms.at(-1)} ms`);
  const sorted = responses.map(({ ms }) => ms).sort((a, b) => a - b);
  operation.votes_meanwhile.push({
    calls: responses.length,
    // A 409 from a merged source is expected.
    refused: responses.filter(({ status }) => status >= 400 && status !== 409).length,
    p50_ms: Math.round(sorted[Math.floor(sorted.length / 2)] ?? 0),
    slowest_ms: Math.round(sorted.at(-1) ?? 0),
  });
}

async function call(
  stack: Stack,
  caller: Caller,
  method: string,
  path: string,
  body: object,
): Promise<number> {
  const response = await fetch(stack.base_url + path, {
    method,
    headers: { authorization: `Bearer ${caller.token}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  await response.arrayBuffer();
  return response.status;
}
