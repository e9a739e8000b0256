import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeAll, expect, test } from "vitest";
import { ownStack, type Person } from "../own-stack.ts";
import { functionsPid, killPostgres } from "../processes.ts";
import { until } from "../until.ts";
import {
  answerHalf,
  type Behaviour,
  drip,
  endless,
  neverRespond,
  ok,
  type Receiver,
  refuse,
  reset,
  startReceiver,
} from "./receivers.ts";

const own = await ownStack({
  parts: ["webhook-dispatch"],
  functionsEnvironment: { WEBHOOK_ALLOWED_HOSTS: "127.0.0.1" },
});
let admin: Person;
let author: Person;
const receivers: Receiver[] = [];

beforeAll(async () => {
  await own.sql`update private.rate_limit_rules set max_requests = 1000000`;
  admin = await own.person("owner");
  author = await own.person();
});
afterEach(async () => {
  // A running dispatcher locks deliveries before webhooks: after a deadlock, the statement is retried, as in the API.
  await until(() =>
    own.sql`delete from private.webhooks`.then(
      () => true,
      (error) => {
        if (error.code !== "40P01") throw error;
        return false;
      },
    ),
  );
  await Promise.all(receivers.splice(0).map((receiver) => receiver.close()));
});

interface Hook {
  id: string;
  receiver: Receiver;
}

async function register(behave: Behaviour = ok, events = ["submission.created"]): Promise<Hook> {
  const receiver = await startReceiver(behave);
  receivers.push(receiver);
  const answer = await own.call("POST", `/api/organizations/${own.organization.id}/webhooks`, {
    token: admin.token,
    body: { url: receiver.url, events },
  });
  expect(answer.status, answer.text).toBe(201);
  return { id: String(answer.body.data?.id), receiver };
}

/** Emits `count` events in one transaction; returns their ids as receivers see them. */
async function happen(count: number): Promise<string[]> {
  const titles = Array.from({ length: count }, () => randomUUID());
  const created = await own.sql<{ id: string }[]>`
    insert into public.submissions (organization_id, author_id, title, description, type)
    select ${own.organization.id}, ${author.id}, title, 'A description that is long enough.', 'idea'
    from unnest(${titles}::text[]) title returning id`;
  const events = await own.sql<{ id: string }[]>`
    select 'evt_' || replace(event_id::text, '-', '') as id from private.outbox
    where data -> 'submission' ->> 'id' = any (${created.map(({ id }) => id)})`;
  expect(events.length).toBe(count);
  return events.map(({ id }) => id);
}

interface Attempt {
  number: number;
  started_at: string;
  duration_ms: number | null;
  status_code: number | null;
  response_body: string | null;
  error: string | null;
}
interface Delivery {
  event: string;
  status: string;
  attempts: Attempt[];
  wait: number;
}

/** The log of an endpoint; wait: seconds from the end of the newest attempt to the next. */
async function deliveries(hook: Hook): Promise<Delivery[]> {
  return own.sql<Delivery[]>`
    select event_id::text as event, status, attempts, extract(epoch from next_attempt_at
      - ((attempts -> -1 ->> 'started_at')::timestamptz + make_interval(secs => coalesce((attempts -> -1 ->> 'duration_ms')::float / 1000, 0))))::float as wait
    from private.webhook_deliveries where webhook_id = ${uuidOf(hook)} order by created_at, event_id`;
}

const uuidOf = ({ id }: Hook) => id.slice("wh_".length);

/** Ends the waiting time of later attempts. */
async function skipRetryDelay(hook: Hook, status: "pending" | "sending" = "pending"): Promise<void> {
  await own.sql`update private.webhook_deliveries set next_attempt_at = now() where status = ${status} and webhook_id = ${uuidOf(hook)}`;
  await own.sql`select pg_notify('webhooks', '')`;
}

const settled = (hook: Hook, status: string) =>
  until(async () => (await deliveries(hook)).every((delivery) => delivery.status === status));

const tooLong = "The response is too long.";
const chunked = "HTTP/1.1 500 No\r\nTransfer-Encoding: chunked\r\n\r\n";

test("after any failure of a receiver, its event is sent again with the same id until it is accepted, and the log has every attempt", async () => {
  const behaviours: [Behaviour, Partial<Attempt>][] = [
    [refuse(500), { status_code: 500, response_body: "not now", error: null }],
    [refuse(302, { location: "http://127.0.0.1/" }), { status_code: 302, error: null }],
    [reset, { status_code: null, error: expect.stringMatching(/connection was (reset|closed)/) }],
    [answerHalf, { status_code: null, error: expect.stringContaining("closed") }],
    [neverRespond, { status_code: null, error: "No complete response within 10 seconds." }],
    [drip, { error: "No complete response within 10 seconds." }],
    [endless("", "HTTP/1.1 103 Early Hints\r\n\r\n"), { error: tooLong }],
    [endless("HTTP/1.1 200 OK\r\n", `x: ${"x".repeat(4_000)}\r\n`), { error: tooLong }],
    [endless("HTTP/1.1 200 OK\r\n", "x: y\r\n"), { error: "The response is not HTTP/1.1." }],
    [endless("HTTP/1.1 200 OK\r\n", "x"), { error: "The response is not HTTP/1.1." }],
    [endless(`${chunked}0\r\n`, "x: y\r\n"), { error: tooLong }],
    [endless(chunked, `1;${"x".repeat(4_000)}\r\n.\r\n`), { error: tooLong }],
    [endless(chunked, "1\r\n.\r\n"), { status_code: 500, response_body: ".".repeat(8 * 1024), error: null }],
    [endless("", "without a head\r\n"), { error: "The response is not HTTP/1.1." }],
  ];
  const healthy = await register();
  const broken = await Promise.all(behaviours.map(([behave]) => register(behave)));
  const [event = ""] = await happen(1);

  await until(() => healthy.receiver.heard.length === 1);
  for (const hook of broken) await until(async () => (await deliveries(hook))[0]?.attempts.length === 1);
  for (const [i, hook] of broken.entries()) {
    const [delivery] = await deliveries(hook);
    expect(delivery).toMatchObject({ status: "pending", attempts: [{ number: 1, ...behaviours[i]?.[1] }] });
    hook.receiver.behave = ok;
    await skipRetryDelay(hook);
  }
  for (const hook of broken) {
    await settled(hook, "delivered");
    expect(hook.receiver.counts()).toEqual(new Map([[event, 2]]));
    const [first, second] = hook.receiver.heard;
    expect(second?.raw.equals(first?.raw ?? Buffer.of())).toBe(true);
    expect((await deliveries(hook))[0]?.attempts).toMatchObject([{ number: 1 }, { number: 2, status_code: 204 }]);
  }
  expect(healthy.receiver.counts()).toEqual(new Map([[event, 1]]));
});

test("a receiver that is down for hours is retried after 1, 5 and 30 minutes, 2 and 6 hours, and then no more", async () => {
  const [late, gone] = [await register(refuse(503)), await register(refuse(503))];
  const [event = ""] = await happen(1);
  const minutes = [1, 5, 30, 120, 360];
  for (const [i, wait] of minutes.entries()) {
    for (const hook of [late, gone]) {
      await until(async () => (await deliveries(hook))[0]?.attempts.length === i + 1);
      const [delivery] = await deliveries(hook);
      expect(delivery?.status).toBe("pending");
      // With up to a tenth of jitter; the attempt's own times are in milliseconds.
      expect(delivery?.wait).toBeGreaterThan(wait * 60 - 1);
      expect(delivery?.wait).toBeLessThan(wait * 60 * 1.1 + 5);
    }
    if (wait === minutes.at(-1)) late.receiver.behave = ok;
    for (const hook of [late, gone]) await skipRetryDelay(hook);
  }
  await settled(late, "delivered");
  await settled(gone, "failed");
  expect(late.receiver.counts()).toEqual(new Map([[event, 6]]));
  expect((await deliveries(gone))[0]?.attempts.map(({ status_code }) => status_code)).toEqual(Array(6).fill(503));
});

test("a dispatcher killed between sending and recording sends again, and the log has both attempts", async () => {
  const hook = await register(neverRespond);
  const [event = ""] = await happen(1);
  await until(() => hook.receiver.heard.length === 1);
  const connections = await own.sql<{ pid: number }[]>`
    select pid from pg_stat_activity where application_name = 'feedback-webhooks'`;
  process.kill(await functionsPid("webhook-dispatch"), "SIGKILL");
  hook.receiver.behave = ok;
  // Until its connection has ended, a claim that it had sent may still run.
  await until(async () => {
    const open = await own.sql`
      select from pg_stat_activity where pid in ${own.sql(connections.map(({ pid }) => pid))}`;
    return open.length === 0;
  });
  // The delivery is not sent while the lease of the dead dispatcher runs.
  expect((await deliveries(hook))[0]?.status).toBe("sending");
  await skipRetryDelay(hook, "sending");
  await settled(hook, "delivered");
  expect(hook.receiver.counts()).toEqual(new Map([[event, 2]]));
  expect((await deliveries(hook))[0]?.attempts).toMatchObject([
    { number: 1, status_code: null, error: "The dispatcher ended before it recorded an answer." },
    { number: 2, status_code: 204, error: null },
  ]);
});

test("hanging receivers delay no one: all others have every event before the first of them times out", async () => {
  const hanging = await Promise.all(Array.from({ length: 5 }, () => register(neverRespond)));
  const healthy = await Promise.all(Array.from({ length: 15 }, () => register()));
  const events = new Set<string>();
  for (let times = 0; times < 5; times++) for (const event of await happen(20)) events.add(event);
  for (const { receiver } of healthy) {
    await until(() => receiver.heard.length >= events.size);
    expect(receiver.counts()).toEqual(new Map([...events].map((event) => [event, 1])));
  }
  for (const hook of hanging) {
    // One attempt is in progress, and none has ended.
    expect(hook.receiver.heard.length).toBeLessThanOrEqual(1);
    expect((await deliveries(hook)).flatMap(({ attempts }) => attempts)).toEqual([]);
  }
});

test("late receivers of one organization do not delay another's event, which arrives before the first of them times out", async () => {
  const late = await Promise.all(Array.from({ length: 40 }, () => register()));
  await happen(1);
  for (const { receiver } of late) await until(() => receiver.heard.length === 1);
  for (const { receiver } of late) receiver.behave = neverRespond;
  for (let times = 0; times < 5; times++) await happen(10);
  await until(() => late.reduce((sum, { receiver }) => sum + receiver.heard.length, 0) >= 40 + 190);
  const person = await own.person();
  const [other] = await own.sql<{ id: string }[]>`
    select private.create_organization('Other', ${`o-${randomUUID()}`}, 'public', ${person.id}) as id`;
  const quiet = await startReceiver();
  receivers.push(quiet);
  const answer = await own.call("POST", `/api/organizations/${other?.id}/webhooks`, {
    token: person.token,
    body: { url: quiet.url, events: ["submission.created"] },
  });
  expect(answer.status, answer.text).toBe(201);
  await own.sql`
    insert into public.submissions (organization_id, author_id, title, description, type)
    values (${other?.id ?? ""}, ${person.id}, 'Not delayed', 'A description that is long enough.', 'idea')`;
  await until(() => quiet.heard.length === 1);
  for (const hook of late)
    expect((await deliveries(hook)).flatMap(({ attempts }) => attempts).filter(({ error }) => error)).toEqual([]);
});

test("Retry-After is honored, and 410 disables the endpoint", async () => {
  const busy = await register(refuse(429, { "retry-after": "1800" }));
  const gone = await register(refuse(410));
  await happen(1);
  await until(async () => (await deliveries(busy))[0]?.attempts.length === 1);
  expect((await deliveries(busy))[0]?.wait).toBeGreaterThan(1799);
  await settled(gone, "failed");
  const answer = await own.call("GET", `/api/organizations/${own.organization.id}/webhooks/${gone.id}`, {
    token: admin.token,
  });
  expect(answer.body.data).toMatchObject({ enabled: false, disabled_reason: "gone" });
  await happen(1);
  // The dispatcher has reached the second event.
  await until(async () => {
    await skipRetryDelay(busy);
    return busy.receiver.heard.length > 1;
  });
  expect(gone.receiver.heard.length).toBe(1);
});

test("no event is lost when Postgres and the dispatcher are killed again and again under load", async () => {
  const hook = await register((response) => setTimeout(() => response.writeHead(200).end(), 5));
  const slow = await register((response) => setTimeout(() => response.writeHead(200).end(), 300));
  const events: string[] = [];
  for (let times = 0; times < 3; times++) {
    // 90 in all: a log keeps the newest 100.
    events.push(...(await happen(30)));
    await until(() => hook.receiver.heard.length > times * 30 + 5);
    process.kill(await functionsPid("webhook-dispatch"), "SIGKILL");
    await sleep(20);
    await killPostgres(own);
    for (const one of [hook, slow]) await skipRetryDelay(one, "sending");
  }
  for (const one of [hook, slow]) {
    await until(async () => {
      const rows = await deliveries(one);
      return rows.length === events.length && rows.every(({ status }) => status === "delivered");
    });
    expect(new Set(one.receiver.counts().keys())).toEqual(new Set(events));
    for (const { attempts } of await deliveries(one)) {
      expect(attempts.at(-1)).toMatchObject({ status_code: 200, error: null });
      expect(attempts.map(({ number }) => number)).toEqual(attempts.map((_, i) => i + 1));
    }
  }
});
