import { beforeAll, expect, test } from "vitest";
import { expectConsistent, expectUnavailable } from "../faults/storm.ts";
import { ownStack, type Person } from "../own-stack.ts";
import { until } from "../until.ts";

// The requests of one caller must not take the connections that others need.

const own = await ownStack({ functionsEnvironment: { DATABASE_IDLE_SECONDS: "2" } });
let attacker: Person;
let others: Person[];
let submissionId: string;

beforeAll(async () => {
  await own.sql`update private.rate_limit_rules set max_requests = 2000000000`;
  // Longer than a loaded machine needs to see that a request waits. It counts for new connections.
  await own.sql`alter role feedback_api set lock_timeout = '1s'`;
  [attacker, ...others] = (await own.people(20)) as [Person, ...Person[]];
  submissionId = await own.submission(others[0] as Person);
});

const vote = ({ token }: Person) => own.call("POST", `/api/submissions/${submissionId}/vote`, { token });
const read = ({ token }: Person) => own.call("GET", "/api/submissions", { token });
const used = async ({ id }: Person, rule: string) => {
  const [counter] = await own.sql<{ used: number }[]>`
    select used from private.rate_counters where subject = ${id} and rule = ${rule}`;
  return counter?.used ?? 0;
};

/** Connections of the functions that currently wait for a row lock. */
async function waitingForRows(): Promise<number> {
  const rows = await own.sql`
    select from pg_stat_activity where application_name = 'feedback-functions' and wait_event_type = 'Lock'`;
  return rows.length;
}

/** Locks the submission; `release` unlocks it. */
async function hold(): Promise<() => Promise<void>> {
  const transaction = await own.sql.reserve();
  await transaction`begin`;
  await transaction`select from public.submissions where id = ${submissionId} for update`;
  return async () => {
    await transaction`commit`;
    transaction.release();
  };
}

async function openConnections(): Promise<number> {
  const rows = await own.sql`select from pg_stat_activity where application_name = 'feedback-functions'`;
  return rows.length;
}

test("the functions open connections on demand, and close idle ones", async () => {
  const before = await openConnections();
  expect(before).toBeLessThanOrEqual(1);
  // Requests share a connection if each ends before the next arrives.
  const open = await until(async () => {
    await Promise.all(others.map(read));
    const now = await openConnections();
    return now > before ? now : undefined;
  });
  expect(open).toBeLessThanOrEqual(8);
  await until(async () => (await openConnections()) === 0);
  expect((await read(attacker)).status).toBe(200);
});

test("one caller has at most a quarter of the connections, with any number of waiting requests; others are served", async () => {
  const release = await hold();
  const asked = Promise.all(Array.from({ length: 30 }, () => vote(attacker)));
  await until(async () => (await waitingForRows()) > 0);
  for (let look = 0; look < 15; look++) {
    expect(await waitingForRows()).toBeLessThanOrEqual(2);
    expect((await read(others[look] as Person)).status).toBe(200);
  }
  await release();
  for (const answer of await asked) {
    if (answer.status === 503) expectUnavailable(answer);
    else expect([200, 201]).toContain(answer.status);
  }
  await expectConsistent(own);
});

test("a request that waits for a row lock releases its connection, retries once, and is charged once", async () => {
  const person = others[1] as Person;
  const before = await used(person, "vote_create");
  const release = await hold();
  const asked = vote(person);
  await until(async () => (await waitingForRows()) === 1);
  await until(async () => (await waitingForRows()) === 0);
  await release();
  expect((await asked).status).toBe(201);
  expect(await used(person, "vote_create")).toBe(before + 1);
});

test("a row that stays locked causes a 503 with Retry-After, and is charged", async () => {
  const person = others[2] as Person;
  const before = await used(person, "vote_create");
  const release = await hold();
  const startedAt = Date.now();
  expectUnavailable(await vote(person));
  expect(Date.now() - startedAt).toBeLessThan(5_000);
  await release();
  expect(await used(person, "vote_create")).toBe(before + 1);
});

test("a long request does not delay the caller's other requests", async () => {
  const person = others[3] as Person;
  await own.sql.unsafe(`
    create function private.test_slow() returns trigger language plpgsql as $$ begin perform pg_sleep(3); return old; end $$;
    create trigger test_slow before delete on public.follows for each statement execute function private.test_slow()`);
  try {
    let done = false;
    const erased = own.call("DELETE", "/api/me?confirm=erase", { token: person.token }).finally(() => (done = true));
    await until(async () => {
      const rows = await own.sql`
        select from pg_stat_activity where application_name = 'feedback-functions' and wait_event = 'PgSleep'`;
      return rows.length === 1;
    });
    expect((await read(person)).status).toBe(200);
    expect(done).toBe(false);
    await erased;
  } finally {
    await own.sql.unsafe("drop trigger test_slow on public.follows; drop function private.test_slow()");
  }
});
