import { setTimeout as sleep } from "node:timers/promises";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type OwnStack, startOwnStack } from "../own-stack.ts";
import { isAlive, postgresPid } from "../processes.ts";
import { until } from "../until.ts";
import { expectClear, expectConsistent, expectNoLeak, expectUnavailable, recovered, startStorm } from "./storm.ts";

let own: OwnStack;
let superuser: postgres.Sql;
const warnings: string[] = [];

beforeAll(async () => {
  own = await startOwnStack({
    parts: ["rest"],
    postgresSettings: { max_connections: 60 },
    onWarning: (message) => warnings.push(message),
  });
  superuser = postgres(own.superuserUrl, { max: 1, onnotice: () => undefined });
  await own.sql`update private.rate_limit_rules set max_requests = 2000000000`;
});
afterAll(async () => {
  await superuser?.end({ timeout: 1 });
  await own?.remove();
});

describe("Postgres killed with -9 under load", () => {
  test("restarts; until then responses are 503 with a request id; no acknowledged write is lost", async () => {
    const storm = await startStorm(own);
    await sleep(1_000);
    process.kill(await postgresPid(own), "SIGKILL");
    await sleep(50);
    const [health, ready] = await Promise.all([own.call("GET", "/api/health"), own.call("GET", "/api/ready")]);
    expect(health.status).toBe(200);
    expect([200, 503]).toContain(ready.status);
    await recovered(own);
    await sleep(500);
    const shots = await storm.stop();
    expectClear(shots);
    expect(shots.some(({ answer }) => answer?.status === 503)).toBe(true);
    expect(shots.filter(({ answer }) => answer === undefined)).toEqual([]);
    await expectConsistent(own, shots);
    await expectNoLeak(own);
    expect(warnings.join("\n")).toMatch(/Postgres ended .* starts again/);
  });

  test("a single killed backend resets the others, and all recover", async () => {
    const storm = await startStorm(own);
    await sleep(500);
    const backends = await own.sql<{ pid: number }[]>`
      select pid from pg_stat_activity where application_name = 'feedback-functions'`;
    // Without a backend this throws; process 0 would be this process's own group.
    process.kill(backends[0]?.pid ?? Number.NaN, "SIGKILL");
    await until(() => backends.every(({ pid }) => !isAlive(pid)));
    await recovered(own);
    const shots = await storm.stop();
    expectClear(shots);
    await expectConsistent(own, shots);
    await expectNoLeak(own);
  });

  test("the auth service and the data API recover too", async () => {
    await until(async () => {
      const answer = await fetch(`${own.supabase_url}/rest/v1/submissions?select=id&limit=1`, {
        headers: { apikey: own.publishable_key },
      });
      return answer.status === 200;
    });
  });
});

test("connections used up by others: 503 immediately, and recovery when they close", async () => {
  const greedy: postgres.Sql[] = [];
  const openUntilFull = async () => {
    const more = Array.from({ length: 70 }, () =>
      postgres(own.db_url, { max: 1, onnotice: () => undefined, connect_timeout: 5 }),
    );
    greedy.push(...more);
    const connections = await Promise.allSettled(more.map((one) => one`select 1`));
    return connections.some(({ status }) => status === "fulfilled");
  };
  try {
    await Promise.all([own.sql`select 1`, superuser`select 1`]);
    const fill = async () => {
      // Locked out for a moment, so that the functions do not take back their connections.
      await superuser`alter role feedback_api connection limit 0`;
      await superuser`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'feedback-functions'`;
      // Waits until none is left: terminated backends free their slots with a delay.
      while (await openUntilFull());
      await superuser`alter role feedback_api connection limit -1`;
    };
    const ask = () => Promise.all(Array.from({ length: 16 }, () => own.call("GET", "/api/submissions")));
    await fill();
    // Enough rounds for each connection to retry many times, so that an increasing delay would be noticed.
    for (let round = 0, refills = 0; round < 8; round++) {
      const startedAt = Date.now();
      const answers = await ask();
      // Another part of the stack closed a connection, and the functions took its slot.
      if (answers.some(({ status }) => status === 200) && refills++ < 5) {
        await fill();
        round = -1;
        continue;
      }
      for (const answer of answers) expectUnavailable(answer);
      expect(Date.now() - startedAt, `round ${round}`).toBeLessThan(3_000);
    }
    expect((await own.call("GET", "/api/ready")).status).toBe(503);
  } finally {
    await superuser`alter role feedback_api connection limit -1`;
    await Promise.all(greedy.map((one) => one.end({ timeout: 1 })));
  }
  expect(await recovered(own)).toBeLessThan(10_000);
  await expectConsistent(own);
  await expectNoLeak(own);
});
