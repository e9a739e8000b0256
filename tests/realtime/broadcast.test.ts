import { randomUUID } from "node:crypto";
import type { RealtimeChannel } from "@supabase/supabase-js";
import { afterEach, beforeAll, describe, expect, test } from "vitest";
import { withDatabase } from "../../local/postgres/database.ts";
import { joinTeam, newOrganization, newUser } from "../api/world.ts";
import { alterSchema, manyUsers, sql, stack, type User } from "../stack.ts";
import { until } from "../until.ts";
import { client, comment, hangUp, joined, newSubmission, vote } from "./listening.ts";

interface Message {
  event: string;
  payload: Record<string, unknown>;
  meta?: { id: string };
}
const [author, stranger] = (await manyUsers(2)) as [User, User];
afterEach(hangUp);

async function receive(channel: RealtimeChannel, event = "*"): Promise<Message[]> {
  const received: Message[] = [];
  channel.on("broadcast", { event }, (message) => received.push(message as never));
  await joined(channel);
  return received;
}

const pause = () => new Promise((resume) => setTimeout(resume, 150));

describe.each(["1.0.0", "2.0.0"])("what the embedded stack lacks, serializer %s", (vsn) => {
  const broadcast = { type: "broadcast", event: "cursor", payload: { x: 1 } } as const;

  test("a broadcast of a client is refused and reaches nobody", async () => {
    const topic = randomUUID();
    const others = await receive(client(undefined, { vsn }).channel(topic));
    const sender = client(undefined, { vsn }).channel(topic, { config: { broadcast: { ack: true } } });
    await joined(sender);
    expect(await sender.send(broadcast)).toBe("error");
    expect(await sender.send({ ...broadcast, payload: new Uint8Array([1, 2]).buffer })).toBe("error");
    await sql`select realtime.send('{"n": 1}'::jsonb, 'news', ${topic}, false)`;
    await until(() => others.length > 0);
    expect(others).toMatchObject([{ event: "news" }]);
  });

  test("a broadcast over HTTP is refused with a sentence", async () => {
    const channel = client(undefined, { vsn }).channel(randomUUID());
    await expect(channel.httpSend("ping", { n: 1 })).rejects.toThrow(/broadcasts from clients.*hosted Supabase/);
    expect(await channel.send(broadcast)).toBe("error");
  });

  test("presence is refused with a sentence; its default settings are accepted", async () => {
    const channel = client(undefined, { vsn }).channel(randomUUID());
    await joined(channel);
    expect(await channel.track({ here: true })).toBe("error");
    const wanting = client(undefined, { vsn })
      .channel(randomUUID())
      .on("presence", { event: "sync" }, () => undefined);
    await expect(joined(wanting)).rejects.toThrow(/presence.*hosted Supabase/);
  });
});

test("a message sent in the database arrives at commit, and not after a rollback", async () => {
  const topic = randomUUID();
  const received = await receive(client().channel(topic), "news");
  await sql
    .begin(async (transaction) => {
      await transaction`select realtime.send('{"n": 1}'::jsonb, 'news', ${topic}, false)`;
      throw new Error("undone");
    })
    .catch(() => undefined);
  await sql.begin(async (transaction) => {
    await transaction`select realtime.send('{"n": 2}'::jsonb, 'news', ${topic}, false)`;
    await pause();
    expect(received).toEqual([]);
  });
  await until(() => received.length === 1);
  expect(received[0]?.payload).toMatchObject({ n: 2 });
  expect(received[0]?.meta?.id).toEqual(expect.any(String));
});

describe("the topic of a submission", () => {
  const privately = { config: { private: true } };
  let submission: string;
  beforeAll(async () => {
    submission = await newSubmission(author);
  });

  test.each([
    ["anon", () => undefined],
    ["someone signed in", () => stranger],
  ])("sends votes, comments and status changes to %s", async (_, who) => {
    const own = client(who());
    await own.realtime.setAuth();
    const received = await receive(own.channel(`submission:${submission}`, privately));
    const [voter] = (await manyUsers(1)) as [User];
    const id = await vote(submission, voter);
    await comment(submission, author, "told to all");
    await sql`insert into status_changes (submission_id, new_status) values (${submission}, 'planned')`;
    await sql`delete from votes where id = ${id}`;
    await sql`insert into status_changes (submission_id, new_status) values (${submission}, 'open')`;
    await until(() => received.filter(({ payload }) => payload.table === "submissions").length === 2);
    expect(received.filter(({ payload }) => payload.table !== "submissions")).toMatchObject([
      {
        event: "INSERT",
        payload: { table: "votes", record: { id }, old_record: null, submission: { id: submission } },
      },
      { event: "INSERT", payload: { table: "comments", record: { body: "told to all" } } },
      { event: "DELETE", payload: { table: "votes", record: null, old_record: { id, submission_id: submission } } },
    ]);
    const states = received.flatMap(({ payload }) => (payload.table === "submissions" ? [payload.record] : []));
    expect(states.map((record) => (record as { status: string }).status)).toContain("planned");
    expect(JSON.stringify(received)).not.toContain(voter.id);
  });

  test("rejects callers who cannot see the submission, and accepts its team", async () => {
    const organization = await newOrganization({ visibility: "private" });
    await joinTeam(author.id, organization, "member");
    const secret = await newSubmission(author, sql, organization.id);
    for (const topic of [`submission:${secret}`, `submission:${secret}:team`, `submission:${submission}:team`, "any"]) {
      for (const who of [undefined, stranger]) {
        const foreign = client(who);
        await foreign.realtime.setAuth();
        await expect(joined(foreign.channel(topic, privately))).rejects.toThrow(/permissions to read/);
      }
    }
    const own = client(author);
    await own.realtime.setAuth();
    const received = await receive(own.channel(`submission:${secret}:team`, privately));
    await comment(secret, author, "among us");
    await until(() => received.some(({ payload }) => payload.table === "comments"));
  });

  test("rejects messages of clients, and does not send to a public channel of its name", async () => {
    const own = client(author);
    await own.realtime.setAuth();
    const received = await receive(client().channel(`submission:${submission}`, privately));
    const open = await receive(client().channel(`submission:${submission}`));
    const forging = own.channel(`submission:${submission}`, privately);
    await joined(forging);
    await forging.send({ type: "broadcast", event: "INSERT", payload: { table: "votes", forged: true } });
    const sending = own.channel(`submission:${submission}`, privately).httpSend("INSERT", { forged: true });
    await expect(sending).rejects.toThrow(/hosted Supabase/);
    expect(await forging.track({ forged: true })).toBe("error");
    await comment(submission, author, "real");
    await until(() => received.some(({ payload }) => payload.table === "comments"));
    await pause();
    expect(JSON.stringify(received)).not.toContain("forged");
    expect(open).toEqual([]);
  });
});

describe("the topic of a board", () => {
  const privately = { config: { private: true } };

  test("sends new submissions, statuses, comments and, by the schedule, votes; privately once the board is private", async () => {
    const organization = await newOrganization();
    const board = organization.id;
    const [member, voter] = await Promise.all([newUser("Member", { organization, role: "member" }), newUser()]);
    const received = await receive(client().channel(`organization:${board}`, privately));
    const foreign = client(member);
    await foreign.realtime.setAuth();
    const team = await receive(foreign.channel(`organization:${board}:team`, privately));

    const submission = await newSubmission(author, sql, board);
    await sql`insert into status_changes (submission_id, new_status) values (${submission}, 'planned')`;
    await comment(submission, author, "told by its count");
    await vote(submission, voter);
    await until(async () => {
      await sql`select private.broadcast_counts()`;
      return received.some(({ event }) => event === "COUNTS");
    });
    expect(received).toMatchObject([
      { event: "INSERT", payload: { table: "submissions", record: { id: submission, vote_count: 1 } } },
      { event: "UPDATE", payload: { record: { id: submission, status: "planned" } } },
      { event: "UPDATE", payload: { record: { id: submission, comment_count: 1 } } },
      { event: "COUNTS", payload: { records: [{ id: submission, vote_count: 2, comment_count: 1 }] } },
    ]);
    expect(JSON.stringify(received)).not.toContain(voter.id);
    expect(JSON.stringify(received)).not.toContain("description");

    await sql`update organizations set visibility = 'private' where id = ${board}`;
    await newSubmission(member, sql, board);
    await sql`insert into status_changes (submission_id, new_status) values (${submission}, 'completed')`;
    await until(() => team.some(({ payload }) => (payload.record as { status?: string })?.status === "completed"));
    expect(received.slice(4)).toMatchObject([
      { event: "DELETE", payload: { record: null, old_record: { id: submission } } },
    ]);
    const late = client(stranger);
    await late.realtime.setAuth();
    await expect(joined(late.channel(`organization:${board}`, privately))).rejects.toThrow(/permissions to read/);
  });
});

test("policies decide who may join a private topic: one that permits is enough, each restrictive one is needed", async () => {
  const change = (statements: string) =>
    // On hosted Supabase, an extension lets the role postgres create policies too.
    withDatabase(stack.superuserUrl, (superuser) => alterSchema(statements, superuser));
  await change(`
    create policy "test members read" on realtime.messages for select to authenticated using (realtime.topic() = 'test-room');
    create policy "test others read" on realtime.messages for select to authenticated using (topic = 'test-hall');
    create policy "test only one" on realtime.messages as restrictive for select using (topic <> 'test-hall'
      or (select auth.uid()) = '${author.id}')`);
  try {
    const privately = { config: { private: true } };
    const [one, two] = [client(author), client(stranger)];
    await Promise.all([one.realtime.setAuth(), two.realtime.setAuth()]);
    const received = await receive(one.channel("test-room", privately));
    await joined(two.channel("test-room", privately));
    await joined(one.channel("test-hall", privately));
    await sql`select realtime.send('{}'::jsonb, 'hi', 'test-room', true)`;
    await until(() => received.length === 1);
    for (const channel of [client().channel("test-room", privately), two.channel("test-hall", privately)])
      await expect(joined(channel)).rejects.toThrow(/permissions to read/);
    await joined(client(undefined, { key: stack.secret_key }).channel("any-room", privately));
  } finally {
    await change(`drop policy "test members read" on realtime.messages; drop policy "test others read" on realtime.messages;
      drop policy "test only one" on realtime.messages`);
  }
});
