import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import postgres from "postgres";
import { expect, test } from "vitest";
import { startEmptyDatabase } from "../data-template.ts";

// Concurrent work of dispatchers in a database without other data. They send no requests here.

/** An empty database, its owner, and four logins of dispatchers. */
async function withDispatchers(
  use: (owner: postgres.Sql, dispatchers: postgres.Sql[]) => Promise<void>,
): Promise<void> {
  const { ownerUrl, stop } = await startEmptyDatabase();
  const owner = postgres(ownerUrl, { max: 8, onnotice: () => undefined });
  const connection = { role: "feedback_webhooks" };
  const dispatchers = [1, 2, 3, 4].map(() => postgres(ownerUrl, { max: 1, connection }));
  try {
    await owner`grant feedback_webhooks to current_user`;
    await use(owner, dispatchers);
  } finally {
    await Promise.all([owner, ...dispatchers].map((sql) => sql.end()));
    await stop();
  }
}

const endpoints = 12;
const events = 120;

async function newEndpoints(owner: postgres.Sql): Promise<string> {
  const organization = randomUUID();
  await owner`insert into public.organizations (id, slug, name) values (${organization}, ${`o-${organization}`}, 'Busy')`;
  await owner`
    insert into private.webhooks (id, organization_id, url, events, encrypted_secret, is_healthy)
    select gen_random_uuid(), ${organization}, 'https://receiver.example/', ${["org.updated"]}, 'none.none', n % 3 > 0
    from generate_series(1, ${endpoints}::integer) n`;
  return organization;
}

test("events of overlapping transactions that end in any order are fanned out once each by four dispatchers", () =>
  withDispatchers(async (owner, dispatchers) => {
    const organization = await newEndpoints(owner);
    let writing = true;
    const write = async (worker: number) => {
      for (let n = worker; n < events; n += 4) {
        await owner.begin(async (sql) => {
          await sql`select private.emit_event(${organization}, 'org.updated', ${randomUUID()}, '{}')`;
          // The later one sometimes commits first.
          await sleep((n * 7) % 5);
        });
      }
    };
    const fanOut = async (sql: postgres.Sql) => {
      for (let left = true; left; ) {
        const [row] = await sql<{ events: number; held_back: boolean }[]>`select * from private.fan_out_events(20)`;
        left = writing || row?.held_back === true || (row?.events ?? 0) > 0;
      }
    };
    const fanning = dispatchers.map(fanOut);
    await Promise.all([0, 1, 2, 3].map(write));
    writing = false;
    await Promise.all(fanning);
    const [delivery] = await owner`
    select count(*)::integer as deliveries, count(distinct event_id)::integer as events
    from private.webhook_deliveries where organization_id = ${organization}`;
    expect(delivery).toEqual({ deliveries: events * endpoints, events });
  }));

test("no delivery is claimed by two dispatchers at the same time, and all are claimed", () =>
  withDispatchers(async (owner, dispatchers) => {
    const organization = await newEndpoints(owner);
    await owner`
    insert into private.webhook_deliveries (organization_id, webhook_id, event_id, event, data)
    select organization_id, id, gen_random_uuid(), 'org.updated', '{}' from private.webhooks, generate_series(1, ${events}::integer)
    where organization_id = ${organization}`;
    type Claim = { webhook_id: string; event_id: string; attempt: number };
    const claimed: string[] = [];
    const work = async (sql: postgres.Sql) => {
      for (let idle = 0; idle < 20; ) {
        const claims: Claim[] = await sql<
          Claim[]
        >`select webhook_id, event_id, attempt from private.record_and_claim_deliveries('[]', 60)`;
        claimed.push(...claims.map(({ webhook_id, event_id, attempt }) => `${webhook_id} ${event_id} ${attempt}`));
        const results = claims.map((claim) => ({ ...claim, duration_ms: 1, status_code: 204 }));
        await sql`select count(*) from private.record_and_claim_deliveries(${JSON.stringify(results)}::text::jsonb, 0)`;
        idle = claims.length === 0 ? idle + 1 : 0;
      }
    };
    await Promise.all(dispatchers.map(work));
    expect(claimed).toHaveLength(endpoints * events);
    expect(new Set(claimed).size).toBe(endpoints * events);
    const rows = await owner`
    select status, attempt_count, count(*)::integer as count from private.webhook_deliveries
    where organization_id = ${organization} group by 1, 2`;
    expect(rows.map((row) => ({ ...row }))).toEqual([
      { status: "delivered", attempt_count: 1, count: endpoints * events },
    ]);
  }));
