import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import type { Answer, OwnStack, Person } from "../own-stack.ts";

export interface Shot {
  what: "submission" | "vote" | "comment" | "read";
  /** The id of a written row. */
  id: string;
  ms: number;
  /** Undefined if the connection broke. */
  answer: Answer | undefined;
}

export interface Storm {
  shots: Shot[];
  stop(): Promise<Shot[]>;
}

/** Users who submit, vote, comment and read without a pause until they are stopped. */
export async function startStorm(own: OwnStack, people = 16, base = own.base_url): Promise<Storm> {
  await own.sql`update private.rate_limit_rules set max_requests = 2000000000`;
  const callers = await own.people(people);
  const shots: Shot[] = [];
  let stopped = false;
  const running = callers.map(async (person) => {
    while (!stopped) await shootOnce(own, person, base, shots);
  });
  return {
    shots,
    async stop() {
      stopped = true;
      await Promise.all(running);
      return shots;
    },
  };
}

async function shootOnce(own: OwnStack, { token }: Person, base: string, shots: Shot[]): Promise<void> {
  const shoot = async (what: Shot["what"], method: string, path: string, body?: object) => {
    const startedAt = performance.now();
    const answer = await own.call(method, path, { token, body, base }).catch(() => undefined);
    const id = answer?.status === 201 ? String(answer.body.data?.id ?? answer.body.data?.submission_id) : "";
    shots.push({ what, id, ms: performance.now() - startedAt, answer });
    // Avoids a tight loop against a service that rejects immediately.
    if (!answer || answer.status >= 500) await sleep(20);
    return id;
  };
  const title = `Submission ${randomUUID()}`;
  const id = await shoot("submission", "POST", "/api/submissions", {
    title,
    description: "Made in a storm, long enough.",
    type: "idea",
  });
  await shoot("read", "GET", "/api/submissions?limit=5");
  if (!id) return;
  await shoot("vote", "DELETE", `/api/submissions/${id}/vote`);
  await shoot("vote", "POST", `/api/submissions/${id}/vote`);
  await shoot("comment", "POST", `/api/submissions/${id}/comments`, { body: "Made in a storm" });
}

/** Every response is a success or an expected error with its request id; none was slow. */
export function expectClear(shots: Shot[], longest = 10_500): void {
  for (const { answer, what, ms } of shots) {
    expect(ms, `${what} → ${answer?.status}`).toBeLessThan(longest);
    if (!answer || answer.status < 400) continue;
    expect(answer.status, answer.text).toBe(503);
    expectUnavailable(answer);
  }
}

export function expectUnavailable(answer: Answer): void {
  expect(answer.status, answer.text).toBe(503);
  expect(answer.body).toEqual({
    error: {
      code: "SERVICE_UNAVAILABLE",
      message: expect.any(String),
      details: [],
      request_id: answer.headers["x-request-id"],
    },
  });
  expect(answer.headers["x-request-id"]).toMatch(/^[0-9a-f-]{36}$/);
  expect(answer.headers["retry-after"]).toMatch(/^\d+$/);
  expect(answer.headers["x-ratelimit-limit"]).toMatch(/^\d+$/);
}

/** Waits, without any intervention, until a read and a write succeed again. */
export async function recovered(own: OwnStack, within = 20_000): Promise<number> {
  const startedAt = Date.now();
  const { person, submissionId } = await retryUntilSuccess(within, async () => {
    const person = await own.person();
    return { person, submissionId: await own.submission(person) };
  });
  for (;;) {
    const answers = await Promise.all(
      Array.from({ length: 8 }, () =>
        own.call("POST", `/api/submissions/${submissionId}/vote`, { token: person.token }).catch(() => undefined),
      ),
    );
    if (answers.every((answer) => answer !== undefined && answer.status < 300)) return Date.now() - startedAt;
    if (Date.now() - startedAt > within)
      throw new Error(`not within ${within} ms: ${answers.map((answer) => answer?.text).join("\n")}`);
    await sleep(50);
  }
}

async function retryUntilSuccess<Value>(within: number, attempt: () => Promise<Value>): Promise<Value> {
  for (const until = Date.now() + within; ; await sleep(50)) {
    try {
      return await attempt();
    } catch (error) {
      if (Date.now() > until) throw error;
    }
  }
}

/** Counters are exact, each change has its event, and every acknowledged write exists. */
export async function expectConsistent(own: OwnStack, shots: Shot[] = []): Promise<void> {
  expect(await own.sql`select * from private.count_discrepancies()`).toEqual([]);
  const lost = await own.sql`
    select s.id, 'submission.created' as type from public.submissions s
      where not exists (select from private.outbox o where o.subject_id = s.id and o.type = 'submission.created')
    union all
    select c.id, 'comment.created' from public.comments c
      where not exists (select from private.outbox o where o.subject_id = c.id and o.type = 'comment.created')
    union all
    select s.id, 'votes' from public.submissions s
      where s.vote_count <> 1 + (select count(*) filter (where o.type = 'submission.vote_added') - count(*) filter (where o.type = 'submission.vote_removed')
        from private.outbox o where o.subject_id = s.id)`;
  expect(lost).toEqual([]);
  const written = (what: Shot["what"]) =>
    shots.filter((shot) => shot.what === what && shot.id !== "").map(({ id }) => id);
  const missing = await own.sql`
    select id from unnest(${written("submission")}::uuid[]) id where not exists (select from public.submissions s where s.id = id)
    union all
    select id from unnest(${written("comment")}::uuid[]) id where not exists (select from public.comments c where c.id = id)`;
  expect(missing).toEqual([]);
}

/** No connection of the functions is left in a transaction or in use. */
export async function expectNoLeak(own: OwnStack, connections = 8): Promise<void> {
  for (let waited = 0; ; waited += 100) {
    const rows = await own.sql<{ state: string }[]>`
      select state from pg_stat_activity where application_name = 'feedback-functions'`;
    if (rows.length <= connections && rows.every(({ state }) => state === "idle")) return;
    if (waited > 12_000) expect(rows).toEqual([]);
    await sleep(100);
  }
}
