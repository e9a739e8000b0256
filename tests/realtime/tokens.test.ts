import { afterEach, beforeAll, describe, expect, test } from "vitest";
import WebSocket from "ws";
import { accessToken, manyUsers, sql, stack, type User } from "../stack.ts";
import { until } from "../until.ts";
import { client, comment, hangUp, joined, listen, newSubmission, settled, subscribed } from "./listening.ts";

let author: User;
let stranger: User;
let hidden: string;
beforeAll(async () => {
  [author, stranger] = (await manyUsers(2)) as [User, User];
  hidden = await newSubmission(author);
  await sql`update submissions set moderation_state = 'pending' where id = ${hidden}`;
  await settled();
});
afterEach(hangUp);

/** What the handshake answers to a raw upgrade. */
function handshake(query: string): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(`${stack.supabase_url.replace("http", "ws")}/realtime/v1/websocket${query}`);
    socket.on("open", () => {
      socket.close();
      resolve({ status: 101, body: "" });
    });
    socket.on("unexpected-response", (_, response) => {
      let body = "";
      response.on("data", (chunk) => {
        body += chunk;
      });
      response.on("end", () => resolve({ status: response.statusCode ?? 0, body }));
    });
    socket.on("error", reject);
  });
}

describe("the handshake", () => {
  test.each([
    ["without a key", () => "?vsn=2.0.0"],
    ["with a wrong key", () => "?apikey=sb_publishable_wrong&vsn=2.0.0"],
    ["with an organization's API key", () => `?apikey=${stack.demo?.api_keys.full}&vsn=2.0.0`],
    ["with a session's token in place of a key", () => `?apikey=${author.token}`],
  ])("%s is 401, in JSON", async (_, query) => {
    const answer = await handshake(query());
    expect(answer.status).toBe(401);
    expect(JSON.parse(answer.body)).toEqual({ error: expect.any(String) });
  });
  test("of an unknown serializer is 400", async () => {
    expect((await handshake(`?apikey=${stack.publishable_key}&vsn=9.9.9`)).status).toBe(400);
  });
  test("with either key is let in", async () => {
    expect((await handshake(`?apikey=${stack.publishable_key}`)).status).toBe(101);
    expect((await handshake(`?apikey=${stack.secret_key}&vsn=2.0.0`)).status).toBe(101);
  });
});

describe("a token is refused", () => {
  const unsigned = (claims: object) =>
    `${[{ alg: "none", typ: "JWT" }, claims].map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".")}.`;
  test.each([
    ["that has expired", () => accessToken({ sub: author.id }, -10), /expired/],
    ["signed by another", () => accessToken({ sub: author.id }, 600, "x".repeat(48)), /signature/],
    ["of a role that is no API role", () => accessToken({ sub: author.id, role: "postgres" }), /role/],
    ["of a role with a quote", () => accessToken({ sub: author.id, role: '"; reset role; --' }), /role/],
    ["without a role", () => accessToken({ sub: author.id, role: undefined }), /role/],
    ["of another issuer", () => accessToken({ sub: author.id, iss: "https://other/auth/v1" }), /iss/],
    ["of no issuer", () => accessToken({ sub: author.id, iss: undefined }), /iss/],
    ["for another audience", () => accessToken({ sub: author.id, aud: "other" }), /aud/],
    ["for no audience", () => accessToken({ sub: author.id, aud: undefined }), /aud/],
    ["that is not signed", () => unsigned({ role: "service_role", exp: 4102444800 }), /./],
    ["that is none", () => "nonsense", /not a valid JWT/],
  ])("%s", async (_, token, message) => {
    const mine = client();
    await mine.realtime.setAuth(await token());
    await expect(joined(mine.channel("votes:any"))).rejects.toThrow(message);
  });

  test("with its claims changed after signing", async () => {
    const [head, body, signature] = (await accessToken({ sub: author.id })).split(".") as [
      string,
      string,
      string,
    ];
    const claims = { ...JSON.parse(Buffer.from(body, "base64url").toString()), role: "service_role" };
    const mine = client();
    await mine.realtime.setAuth(
      `${head}.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.${signature}`,
    );
    await expect(joined(mine.channel("votes:any"))).rejects.toThrow(/signature/);
  });
});

test("what a channel hears follows its token, without leaving", async () => {
  const mine = client();
  await mine.realtime.setAuth(stranger.token);
  const heard: unknown[] = [];
  const channel = mine
    .channel("mine")
    .on(
      "postgres_changes",
      { event: "*", schema: "public", table: "comments", filter: `submission_id=eq.${hidden}` },
      (change) => heard.push(change.new),
    );
  await subscribed(channel);
  await comment(hidden, author, "not for strangers");
  await settled();
  expect(heard).toEqual([]);
  const renewed = new Promise((resolve) => channel.on("system", {}, resolve));
  await mine.realtime.setAuth(author.token);
  await renewed;
  await comment(hidden, author, "mine");
  await until(() => heard.length === 1);
});

test("a token that is renewed in time leaves no gap", async () => {
  const mine = client();
  await mine.realtime.setAuth(await accessToken({ sub: author.id }, 3));
  const heard = await listenOn(mine);
  const statuses: string[] = [];
  mine.getChannels()[0]?.on("system", {}, (message: { message: string }) => statuses.push(message.message));
  for (let turn = 0; turn < 20; turn++) {
    if (turn % 4 === 0) await mine.realtime.setAuth(await accessToken({ sub: author.id, turn }, 30));
    await comment(hidden, author, `turn ${turn}`);
    await new Promise((resume) => setTimeout(resume, 200));
  }
  await until(() => heard.length === 20);
  expect(heard).toEqual(Array.from({ length: 20 }, (_, turn) => `turn ${turn}`));
  expect(statuses.every((message) => message === "Subscribed to PostgreSQL")).toBe(true);
});

async function listenOn(mine: ReturnType<typeof client>): Promise<unknown[]> {
  const heard: unknown[] = [];
  const channel = mine
    .channel("kept")
    .on(
      "postgres_changes",
      { event: "INSERT", schema: "public", table: "comments", filter: `submission_id=eq.${hidden}` },
      (change) => heard.push(change.new.body),
    );
  await subscribed(channel);
  return heard;
}

test("a token that expires ends the channel with a reason", async () => {
  const mine = client();
  await mine.realtime.setAuth(await accessToken({ sub: author.id }, 2));
  const messages: { status: string; message: string }[] = [];
  let closed = false;
  const channel = mine.channel("short").on("system", {}, (message) => messages.push(message));
  channel.subscribe((status) => {
    if (status === "CLOSED") closed = true;
  });
  await until(() => closed, 8000);
  expect(messages).toMatchObject([
    { extension: "system", status: "error", message: expect.stringMatching(/expired/) },
  ]);
});

test("a bad token in place of a good one ends the channel", async () => {
  const mine = client(author);
  await mine.realtime.setAuth(author.token);
  const channel = await joined(mine.channel("ends"));
  const ended = new Promise<{ status: string }>((resolve) => channel.on("system", {}, resolve));
  await mine.realtime.setAuth(await accessToken({ sub: author.id, role: "supabase_admin" }));
  expect((await ended).status).toBe("error");
});

test("an upgrade at another address is 404, and the server goes on", async () => {
  const answer = await new Promise<number>((resolve) => {
    const socket = new WebSocket(`${stack.supabase_url.replace("http", "ws")}/realtime/v1/elsewhere`);
    socket.on("unexpected-response", (_, response) => resolve(response.statusCode ?? 0));
    socket.on("error", () => resolve(0));
  });
  expect(answer).toBe(404);
  await listen(client(), { table: "votes" });
});
