import { afterEach, expect, test } from "vitest";
import WebSocket from "ws";
import { manyUsers, sql, stack, type User } from "../stack.ts";
import { until } from "../until.ts";
import { client, comment, hangUp, joined, listen, newSubmission, settled, subscribed, vote } from "./listening.ts";

const crowd = await manyUsers(500);
const submission = await newSubmission(crowd[0]);
await settled();
afterEach(hangUp);

test("500 concurrent votes arrive once each, in commit order, at every client", async () => {
  const asked = { table: "votes", filter: `submission_id=eq.${submission}` };
  const listeners = await Promise.all([
    listen(client(), asked),
    listen(client(undefined, { vsn: "1.0.0" }), asked),
    listen(client(crowd[1]), asked),
  ]);
  const counts = await listen(client(), { table: "submissions", filter: `id=eq.${submission}` });
  const votes = await Promise.all(crowd.slice(1).map((user) => vote(submission, user)));
  await until(
    () => listeners.every((received) => received.length >= votes.length) && counts.length >= votes.length,
    40_000,
  );
  for (const received of listeners) {
    expect(received.map((change) => change.new.id).sort()).toEqual([...votes].sort());
    const times = received.map((change) => change.commit_timestamp);
    expect(times).toEqual([...times].sort());
  }
  expect(listeners[1]).toEqual(listeners[0]);
  // Each vote locks the submission's row: the counts show the commit order.
  expect(counts.map((change) => change.new.vote_count)).toEqual(votes.map((_, index) => index + 2));
});

test("a transaction is sent at commit, complete and in its order; a rolled back one is not", async () => {
  const received = await listen(client(), { table: "comments", filter: `submission_id=eq.${submission}` });
  const [author] = crowd as [User];
  await sql
    .begin(async (transaction) => {
      await comment(submission, author, "never", transaction as never);
      throw new Error("undone");
    })
    .catch(() => undefined);
  await sql.begin(async (transaction) => {
    await comment(submission, author, "one", transaction as never);
    await comment(submission, author, "two", transaction as never);
    await settled();
    expect(received).toEqual([]);
  });
  await until(() => received.length === 2);
  expect(received.map((change) => change.new.body)).toEqual(["one", "two"]);
});

/** A raw socket that joins and then does not read. */
async function stalledSocket(submission: string): Promise<WebSocket> {
  const url = `${stack.supabase_url.replace("http", "ws")}/realtime/v1/websocket?apikey=${stack.publishable_key}&vsn=2.0.0`;
  const socket = new WebSocket(url);
  await new Promise((resolve) => socket.on("open", resolve));
  const asked = { event: "*", schema: "public", table: "comments", filter: `submission_id=eq.${submission}` };
  socket.send(JSON.stringify(["1", "1", "realtime:deaf", "phx_join", { config: { postgres_changes: [asked] } }]));
  await new Promise((resolve) => socket.once("message", resolve));
  socket.pause();
  return socket;
}

test("a client that does not read is disconnected, and delays no one", async () => {
  const [author] = crowd as [User];
  const submission = await newSubmission(author);
  const stalled = await stalledSocket(submission);
  const closed = new Promise((resolve) => stalled.on("close", resolve));
  const received = await listen(client(), {
    event: "INSERT",
    table: "comments",
    filter: `submission_id=eq.${submission}`,
  });
  const body = "語".repeat(2000);
  let sent = 0;
  for (let round = 0; round < 20; round++) {
    await sql`insert into comments (submission_id, author_id, body)
      select ${submission}, ${author.id}, ${body} from generate_series(1, 100)`;
    sent += 100;
    await until(() => received.length === sent);
  }
  // It detects the closed connection when it reads again.
  stalled.resume();
  await closed;
});

test("many sockets open concurrently, and none is lost", async () => {
  const asked = { table: "votes", filter: `submission_id=eq.${await newSubmission()}` };
  const received = await Promise.all(Array.from({ length: 100 }, () => listen(client(), asked)));
  await vote(asked.filter.slice("submission_id=eq.".length), crowd[0] as User);
  await until(() => received.every((one) => one.some((change) => change.eventType === "INSERT")));
});

test("clients can leave and rejoin channels", async () => {
  const own = client();
  const filter = `submission_id=eq.${submission}`;
  for (let round = 0; round < 3; round++) {
    const received: unknown[] = [];
    const channel = own
      .channel(`comments:submission=${submission}`)
      .on("postgres_changes", { event: "INSERT", schema: "public", table: "comments", filter }, (change) =>
        received.push(change),
      );
    await subscribed(channel);
    await comment(submission, crowd[0] as User, `turn ${round}`);
    await until(() => received.length === 1);
    expect(await own.removeChannel(channel)).toBe("ok");
    await comment(submission, crowd[0] as User, "after leaving");
    await settled();
    expect(received).toHaveLength(1);
  }
});

test("a socket may join 100 channels and no more", async () => {
  const own = client();
  await Promise.all(Array.from({ length: 100 }, (_, n) => joined(own.channel(`room ${n}`))));
  await expect(joined(own.channel("one more"))).rejects.toThrow(/Too many channels/);
});

test.each([
  ["text that is no message", "hello"],
  ["an object where an array belongs", "{}"],
  ["bytes that mean nothing", Buffer.from([9, 9, 9])],
  ["a message of a megabyte", JSON.stringify(["1", "1", "realtime:x", "broadcast", { pad: "x".repeat(1_000_000) }])],
])("%s closes only that socket", async (_, message) => {
  const url = `${stack.supabase_url.replace("http", "ws")}/realtime/v1/websocket?apikey=${stack.publishable_key}&vsn=2.0.0`;
  const socket = new WebSocket(url);
  socket.on("error", () => undefined);
  await new Promise((resolve) => socket.on("open", resolve));
  const closed = new Promise((resolve) => socket.on("close", resolve));
  socket.send(message);
  await closed;
  await joined(client().channel("still here"));
});

test("a flood of messages closes only that socket", async () => {
  const url = `${stack.supabase_url.replace("http", "ws")}/realtime/v1/websocket?apikey=${stack.publishable_key}&vsn=2.0.0`;
  const socket = new WebSocket(url);
  socket.on("error", () => undefined);
  await new Promise((resolve) => socket.on("open", resolve));
  const closed = new Promise<number>((resolve) => socket.on("close", resolve));
  for (let n = 0; n < 3000; n++) socket.send(JSON.stringify([null, String(n), "phoenix", "heartbeat", {}]));
  expect(await closed).toBe(1008);
  await joined(client().channel("still here"));
});
