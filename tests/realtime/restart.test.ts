import { afterEach, beforeAll, expect, test } from "vitest";
import { ownStack } from "../own-stack.ts";
import { realtimePid } from "../processes.ts";
import { manyUsers, type User } from "../stack.ts";
import { until } from "../until.ts";
import { client, comment, hangUp, newSubmission } from "./listening.ts";

const own = await ownStack({ parts: ["realtime"] });
let author: User;
let submission: string;
beforeAll(async () => {
  [author] = (await manyUsers(1, own.sql)) as [User];
  submission = await newSubmission(author, own.sql);
});
afterEach(hangUp);

interface Listening {
  bodies: unknown[];
  statuses: string[];
  /** How often the server confirmed that the channel receives changes. */
  timesSubscribed(): number;
}

/** Listens like an application: it stays connected, and is notified each time the channel is subscribed again. */
async function listenForGood(): Promise<Listening> {
  const listening = { bodies: [] as unknown[], statuses: [] as string[] };
  let confirmed = 0;
  client(undefined, { against: own })
    .channel(`comments:submission=${submission}`)
    .on(
      "postgres_changes",
      { event: "INSERT", schema: "public", table: "comments", filter: `submission_id=eq.${submission}` },
      (change) => listening.bodies.push(change.new.body),
    )
    .on("system", {}, ({ status }: { status: string }) => {
      if (status === "ok") confirmed++;
    })
    .subscribe((status) => listening.statuses.push(status));
  await until(() => confirmed === 1);
  return { ...listening, timesSubscribed: () => confirmed };
}

/** Sends until a message is received: a recovering database rejects requests for a while. */
async function expectDelivered(listening: Listening, body: string): Promise<void> {
  const end = Date.now() + 15_000;
  while (
    !(await comment(submission, author, body, own.sql).then(
      () => true,
      () => false,
    ))
  ) {
    if (Date.now() > end) throw new Error("the database did not come back");
    await new Promise((resume) => setTimeout(resume, 200));
  }
  await until(() => listening.bodies.includes(body));
  expect(listening.bodies.filter((received) => received === body)).toHaveLength(1);
}

test("after all connections to Postgres are lost, clients rejoin and continue to receive", async () => {
  const listening = await listenForGood();
  await expectDelivered(listening, "before");
  await own.sql`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'realtime'`;
  await until(() => listening.timesSubscribed() >= 2);
  await expectDelivered(listening, "after");
  expect(listening.statuses).toContain("CHANNEL_ERROR");
});

test("after a crash of Postgres too", async () => {
  const listening = await listenForGood();
  const [{ pid } = { pid: 0 }] = await own.sql<{ pid: number }[]>`select pg_backend_pid() as pid`;
  // A killed backend makes Postgres end all others and recover.
  process.kill(pid, "SIGKILL");
  await until(() => listening.timesSubscribed() >= 2);
  await expectDelivered(listening, "after the crash");
});

test("after realtime was killed too", async () => {
  const listening = await listenForGood();
  process.kill(await realtimePid(), "SIGKILL");
  await until(() => listening.timesSubscribed() >= 2);
  await expectDelivered(listening, "after the kill");
});

test("a disconnected client does not make Postgres retain WAL", async () => {
  const slots = () => own.sql<{ temporary: boolean }[]>`select temporary from pg_replication_slots`;
  await expect.poll(slots).toEqual([{ temporary: true }]);
  const [row] = await own.sql<{ setting: string }[]>`
    select setting from pg_settings where name = 'max_slot_wal_keep_size' and setting <> '-1'`;
  expect(Number(row?.setting)).toBeGreaterThan(0);
});
