import { expect, test, vi } from "vitest";
import { withDatabase } from "../../local/postgres/database.ts";
import { watchMachine } from "../../local/processes/machine.ts";
import { ownStack } from "../own-stack.ts";
import { until } from "../until.ts";

const own = await ownStack({ parts: ["auth"] });

// A window that begins in the future is what a clock leaves that went back.
test.each([
  ["an hour", "1 hour"],
  ["a day", "1 day"],
])("limits of requests and of sign-in hold nobody for %s when the clock goes back by it", async (_, jump) => {
  const charge = async () => {
    const [state] = await own.sql`select (private.charge('clock', 2, 60, 'someone', 1)).allowed`;
    return state?.allowed;
  };
  await own.sql`delete from private.rate_counters where rule = 'clock'`;
  expect([await charge(), await charge(), await charge()]).toEqual([true, true, false]);
  await own.sql`update private.rate_counters set started_at = started_at + ${jump}::interval where rule = 'clock'`;
  expect([await charge(), await charge(), await charge()]).toEqual([true, true, false]);

  const attempt = async () => {
    const answer = await fetch(`${own.supabase_url}/auth/v1/token?grant_type=password`, {
      method: "POST",
      headers: { apikey: own.publishable_key, "content-type": "application/json" },
      body: JSON.stringify({ email: `${jump.replace(" ", "-")}@clock.example`, password: "not the one" }),
    });
    return answer.status;
  };
  for (let n = 0; n < 10; n++) expect(await attempt()).toBe(400);
  expect(await attempt()).toBe(429);
  await withDatabase(
    own.superuserUrl,
    (superuser) => superuser`update auth_limits.counters set started_at = started_at + ${jump}::interval`,
  );
  expect(await attempt()).toBe(400);
});

test("a small window stays exact when its start is a moment in the future", async () => {
  await own.sql`select private.charge('moment', 1, 60, 'someone', 1)`;
  await own.sql`update private.rate_counters set started_at = clock_timestamp() + interval '5 seconds' where rule = 'moment'`;
  const [state] = await own.sql`select (private.charge('moment', 1, 60, 'someone', 1)).allowed`;
  expect(state?.allowed).toBe(false);
});

test("a webhook that was made before the clock went back gets the events after it", async () => {
  const author = await own.person();
  await own.sql`
    insert into private.webhooks (id, organization_id, url, events, encrypted_secret, enabled_at)
    values (gen_random_uuid(), ${own.organization.id}, 'https://hook.example', '{submission.created}', 'first.secret', now() + interval '1 hour')`;
  const id = await own.submission(author);
  await until(async () => {
    await own.sql`select private.fan_out_events()`;
    const found = await own.sql`
      select from private.webhook_deliveries d join private.outbox o on o.event_id = d.event_id where o.subject_id = ${id}`;
    return found.length === 1;
  });
});

test("the log tells once when the clock jumps, and when the disk fills up and has room again", async () => {
  vi.useFakeTimers();
  const warnings: string[] = [];
  let free = 10_000;
  const watch = watchMachine(
    "/data",
    (message) => warnings.push(message),
    async () => free * 1024 ** 2,
  );
  const pass = async (change: Partial<{ free: number; jump: number }> = {}) => {
    free = change.free ?? free;
    vi.setSystemTime(Date.now() + (change.jump ?? 0) * 1000);
    await vi.advanceTimersByTimeAsync(10_000);
    return warnings.splice(0);
  };
  try {
    expect(await pass()).toEqual([]);
    expect(await pass({ jump: 86_400 })).toEqual([expect.stringMatching(/^the clock went forward by 86400 s/)]);
    expect(await pass({ jump: -3_600 })).toEqual([expect.stringMatching(/^the clock went back by 3600 s/)]);
    expect(await pass({ jump: 1 })).toEqual([]);
    expect(await pass({ free: 400 })).toEqual([expect.stringMatching(/nearly full \(400 MB left\): make room/)]);
    expect(await pass({ free: 600 })).toEqual([]);
    expect(await pass({ free: 3 })).toEqual([expect.stringMatching(/is full \(3 MB left\): make room.*503/)]);
    expect(await pass({ free: 0 })).toEqual([]);
    expect(await pass({ free: 20_000 })).toEqual(["the disk of /data has room again (20000 MB left)"]);
  } finally {
    watch.stop();
    vi.useRealTimers();
  }
});
