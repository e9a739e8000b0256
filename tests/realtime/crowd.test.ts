import { afterEach, beforeAll, expect, test } from "vitest";
import WebSocket from "ws";
import { manyUsers, sql, stack, type User } from "../stack.ts";
import { until } from "../until.ts";
import {
  client,
  comment,
  hangUp,
  joined,
  listen,
  newSubmission,
  settled,
  subscribed,
  vote,
} from "./listening.ts";

let crowd: User[];
let submission: string;
beforeAll(async () => {
  crowd = await manyUsers(500);
  submission = await newSubmission(crowd[0]);
  await settled();
});
afterEach(hangUp);

test("500 votes at once arrive once each, in the order they committed, at everyone", async () => {
  const asked = { table: "votes", filter: `submission_id=eq.${submission}` };
  const listeners = await Promise.all([
    listen(client(), asked),
    listen(client(undefined, { vsn: "1.0.0" }), asked),
    listen(client(crowd[1]), asked),
  ]);
  const counts = await listen(client(), { table: "submissions", filter: `id=eq.${submission}` });
  const votes = await Promise.all(crowd.slice(1).map((user) => vote(submission, user)));
  await until(
    () => listeners.every((heard) => heard.length >= votes.length) && counts.length >= votes.length,
    20_000,
  );
  for (const heard of listeners) {
    expect(heard.map((change) => change.new.id).sort()).toEqual([...votes].sort());
    const times = heard.map((change) => change.commit_timestamp);
    expect(times).toEqual([...times].sort());
  }
  expect(listeners[1]).toEqual(listeners[0]);
  // Each vote locks the submission's row: the counts tell the order of commits.
  expect(counts.map((change) => change.new.vote_count)).toEqual(votes.map((_, index) => index + 2));
});

test("a transaction is heard when it commits, whole and in its order; one that fails is not heard", async () => {
  const heard = await listen(client(), { table: "comments", filter: `submission_id=eq.${submission}` });
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
    expect(heard).toEqual([]);
  });
  await until(() => heard.length === 2);
  expect(heard.map((change) => change.new.body)).toEqual(["one", "two"]);
});

/** A raw socket that joins and then does not read. */
async function deafSocket(submission: string): Promise<WebSocket> {
  const url = `${stack.supabase_url.replace("http", "ws")}/realtime/v1/websocket?apikey=${stack.publishable_key}&vsn=2.0.0`;
  const socket = new WebSocket(url);
  await new Promise((resolve) => socket.on("open", resolve));
  const asked = { event: "*", schema: "public", table: "comments", filter: `submission_id=eq.${submission}` };
  socket.send(
    JSON.stringify(["1", "1", "realtime:deaf", "phx_join", { config: { postgres_changes: [asked] } }]),
  );
  await new Promise((resolve) => socket.once("message", resolve));
  socket.pause();
  return socket;
}

test("who does not read is cut off, and holds nobody up", async () => {
  const [author] = crowd as [User];
  const submission = await newSubmission(author);
  const deaf = await deafSocket(submission);
  const closed = new Promise((resolve) => deaf.on("close", resolve));
  const heard = await listen(client(), {
    event: "INSERT",
    table: "comments",
    filter: `submission_id=eq.${submission}`,
  });
  const body = "語".repeat(2000);
  let sent = 0;
  for (let turn = 0; turn < 20; turn++) {
    await sql`insert into comments (submission_id, author_id, body)
      select ${submission}, ${author.id}, ${body} from generate_series(1, 100)`;
    sent += 100;
    await until(() => heard.length === sent);
  }
  // It learns of its fate when it reads again.
  deaf.resume();
  await closed;
}, 60_000);

test("a crowd of sockets opens at once, none is lost", async () => {
  const asked = { table: "votes", filter: `submission_id=eq.${await newSubmission()}` };
  const heard = await Promise.all(Array.from({ length: 100 }, () => listen(client(), asked)));
  await vote(asked.filter.slice("submission_id=eq.".length), crowd[0] as User);
  await until(() => heard.every((one) => one.some((change) => change.eventType === "INSERT")));
});

test("channels are left and joined again", async () => {
  const mine = client();
  const filter = `submission_id=eq.${submission}`;
  for (let turn = 0; turn < 3; turn++) {
    const heard: unknown[] = [];
    const channel = mine
      .channel(`comments:submission=${submission}`)
      .on("postgres_changes", { event: "INSERT", schema: "public", table: "comments", filter }, (change) =>
        heard.push(change),
      );
    await subscribed(channel);
    await comment(submission, crowd[0] as User, `turn ${turn}`);
    await until(() => heard.length === 1);
    expect(await mine.removeChannel(channel)).toBe("ok");
    await comment(submission, crowd[0] as User, "after leaving");
    await settled();
    expect(heard).toHaveLength(1);
  }
});

test("a socket may join 100 channels and no more", async () => {
  const mine = client();
  await Promise.all(Array.from({ length: 100 }, (_, n) => joined(mine.channel(`room ${n}`))));
  await expect(joined(mine.channel("one more"))).rejects.toThrow(/Too many channels/);
});

test.each([
  ["text that is no message", "hello"],
  ["an object where an array belongs", "{}"],
  ["bytes that mean nothing", Buffer.from([9, 9, 9])],
  [
    "a message of a megabyte",
    JSON.stringify(["1", "1", "realtime:x", "broadcast", { pad: "x".repeat(1_000_000) }]),
  ],
])("%s closes that socket alone", async (_, message) => {
  const url = `${stack.supabase_url.replace("http", "ws")}/realtime/v1/websocket?apikey=${stack.publishable_key}&vsn=2.0.0`;
  const socket = new WebSocket(url);
  socket.on("error", () => undefined);
  await new Promise((resolve) => socket.on("open", resolve));
  const closed = new Promise((resolve) => socket.on("close", resolve));
  socket.send(message);
  await closed;
  await joined(client().channel("still here"));
});

test("a flood of messages closes that socket alone", async () => {
  const url = `${stack.supabase_url.replace("http", "ws")}/realtime/v1/websocket?apikey=${stack.publishable_key}&vsn=2.0.0`;
  const socket = new WebSocket(url);
  socket.on("error", () => undefined);
  await new Promise((resolve) => socket.on("open", resolve));
  const closed = new Promise<number>((resolve) => socket.on("close", resolve));
  for (let n = 0; n < 3000; n++) socket.send(JSON.stringify([null, String(n), "phoenix", "heartbeat", {}]));
  expect(await closed).toBe(1008);
  await joined(client().channel("still here"));
});
