import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Answer, type OwnStack, startOwnStack } from "../own-stack.ts";
import { functionsPid, isAlive, processesOf } from "../processes.ts";
import { until } from "../until.ts";
import { expectClear, expectConsistent, expectNoLeak, expectUnavailable, recovered, startStorm } from "./storm.ts";

let own: OwnStack;
const warnings: string[] = [];

beforeAll(async () => {
  own = await startOwnStack({ onWarning: (message) => warnings.push(message) });
});
afterAll(async () => {
  await own.remove();
  expect(await processesOf(own.folder)).toEqual([]);
});

/**
 * A request that runs until it is released: its vote waits in a trigger, because waiting for locks is short.
 */
async function slowRequest(base: string): Promise<{ answer: Promise<Answer>; letGo(): Promise<void> }> {
  const person = await own.person();
  const submissionId = await own.submission(person);
  const voter = await own.person();
  await own.sql.unsafe(`
    create or replace function private.wait_slowly() returns trigger language plpgsql security definer set search_path = '' as $$
    begin
      while not pg_try_advisory_xact_lock_shared(42) loop perform pg_sleep(0.02); end loop;
      return new;
    end $$;
    create or replace trigger wait_slowly before insert on public.votes for each row execute function private.wait_slowly()`);
  let letGo = () => {};
  let holds = () => {};
  const held = new Promise<void>((resolve) => {
    holds = resolve;
  });
  const lockHolder = own.sql.begin(async (transaction) => {
    await transaction`select pg_advisory_xact_lock(42)`;
    holds();
    await new Promise<void>((resolve) => {
      letGo = resolve;
    });
  });
  await held;
  const answer = own.call("POST", `/api/submissions/${submissionId}/vote`, { token: voter.token, base });
  answer.catch(() => undefined);
  await until(async () => {
    const [pending] = await own.sql`
      select 1 from pg_stat_activity where wait_event = 'PgSleep' and query like '%votes%'`;
    return pending !== undefined;
  });
  return {
    answer,
    async letGo() {
      letGo();
      await lockHolder;
    },
  };
}

test("after kill -9 under load they restart at the same address; until then the gateway returns 503 with a request id", async () => {
  const storm = await startStorm(own, 16, own.supabase_url);
  await sleep(500);
  process.kill(await functionsPid(), "SIGKILL");
  // The requests are sent at once: the functions take longer to restart than the gateway takes to answer.
  expectUnavailable(await own.call("GET", "/api/submissions", { base: own.supabase_url }));
  await recovered(own);
  await sleep(300);
  const shots = await storm.stop();
  expectClear(shots);
  // The gateway responds for them, also if they died during a request.
  expect(shots.filter(({ answer }) => answer === undefined)).toEqual([]);
  await expectConsistent(own, shots);
  await expectNoLeak(own);
  expect(warnings.join("\n")).toMatch(/the functions ended \(code 137\) and start again/);
});

test("after SIGTERM they finish requests in flight, accept no new ones and exit", async () => {
  const slow = await slowRequest(own.base_url);
  const pid = await functionsPid();
  process.kill(pid, "SIGTERM");
  await until(() =>
    fetch(`${own.base_url}/api/health`, { headers: { connection: "close" } }).then(
      () => false,
      () => true,
    ),
  );
  expect(isAlive(pid)).toBe(true);
  await slow.letGo();
  expect((await slow.answer).status).toBe(201);
  await until(() => !isAlive(pid));
  await recovered(own);
});

// This test is the last one, because it stops the stack.
test("a stopping stack finishes requests in flight", async () => {
  const slow = await slowRequest(own.supabase_url);
  const stopping = own.stop();
  await sleep(200);
  await slow.letGo();
  expect((await slow.answer).status).toBe(201);
  await stopping;
});
