import { afterEach, describe, expect, test } from "vitest";
import WebSocket from "ws";
import { accessToken, manyUsers, sql, stack, type User } from "../stack.ts";
import { until } from "../until.ts";
import { client, comment, hangUp, joined, listen, newSubmission, settled, subscribed } from "./listening.ts";

const [author, stranger] = (await manyUsers(2)) as [User, User];
const hidden = await newSubmission(author);
await sql`update submissions set moderation_state = 'pending' where id = ${hidden}`;
await settled();
afterEach(hangUp);

/** The response of the handshake to a raw upgrade request. */
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
  ])("%s returns 401 in JSON", async (_, query) => {
    const answer = await handshake(query());
    expect(answer.status).toBe(401);
    expect(JSON.parse(answer.body)).toEqual({ error: expect.any(String) });
  });
  test("with an unknown serializer returns 400", async () => {
    expect((await handshake(`?apikey=${stack.publishable_key}&vsn=9.9.9`)).status).toBe(400);
  });
  test("succeeds with either key", async () => {
    expect((await handshake(`?apikey=${stack.publishable_key}`)).status).toBe(101);
    expect((await handshake(`?apikey=${stack.secret_key}&vsn=2.0.0`)).status).toBe(101);
  });
});

describe("a token is rejected", () => {
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
    const own = client();
    await own.realtime.setAuth(await token());
    await expect(joined(own.channel("votes:any"))).rejects.toThrow(message);
  });

  test("with its claims changed after signing", async () => {
    const [head, body, signature] = (await accessToken({ sub: author.id })).split(".") as [string, string, string];
    const claims = { ...JSON.parse(Buffer.from(body, "base64url").toString()), role: "service_role" };
    const own = client();
    await own.realtime.setAuth(`${head}.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.${signature}`);
    await expect(joined(own.channel("votes:any"))).rejects.toThrow(/signature/);
  });
});

test("the rows that a channel receives follow its current token, without rejoining", async () => {
  const own = client();
  await own.realtime.setAuth(stranger.token);
  const received: unknown[] = [];
  const channel = own
    .channel("mine")
    .on(
      "postgres_changes",
      { event: "*", schema: "public", table: "comments", filter: `submission_id=eq.${hidden}` },
      (change) => received.push(change.new),
    );
  await subscribed(channel);
  await comment(hidden, author, "not for strangers");
  await settled();
  expect(received).toEqual([]);
  const renewed = new Promise((resolve) => channel.on("system", {}, resolve));
  await own.realtime.setAuth(author.token);
  await renewed;
  await comment(hidden, author, "mine");
  await until(() => received.length === 1);
});

test("a token that is refreshed in time leaves no gap", async () => {
  const own = client();
  await own.realtime.setAuth(await accessToken({ sub: author.id }, 6));
  const received = await listenOn(own);
  const statuses: string[] = [];
  own.getChannels()[0]?.on("system", {}, (message: { message: string }) => statuses.push(message.message));
  for (let round = 0; round < 20; round++) {
    if (round % 4 === 0) await own.realtime.setAuth(await accessToken({ sub: author.id, turn: round }, 30));
    await comment(hidden, author, `turn ${round}`);
    await new Promise((resume) => setTimeout(resume, 350));
  }
  await until(() => received.length === 20);
  expect(received).toEqual(Array.from({ length: 20 }, (_, round) => `turn ${round}`));
  expect(statuses.every((message) => message === "Subscribed to PostgreSQL")).toBe(true);
});

async function listenOn(own: ReturnType<typeof client>): Promise<unknown[]> {
  const received: unknown[] = [];
  const channel = own
    .channel("kept")
    .on(
      "postgres_changes",
      { event: "INSERT", schema: "public", table: "comments", filter: `submission_id=eq.${hidden}` },
      (change) => received.push(change.new.body),
    );
  await subscribed(channel);
  return received;
}

test("a token that expires ends the channel with a reason", async () => {
  const own = client();
  await own.realtime.setAuth(await accessToken({ sub: author.id }, 5));
  const messages: { status: string; message: string }[] = [];
  let closed = false;
  const channel = own.channel("short").on("system", {}, (message) => messages.push(message));
  channel.subscribe((status) => {
    if (status === "CLOSED") closed = true;
  });
  await until(() => closed);
  expect(messages).toMatchObject([{ extension: "system", status: "error", message: expect.stringMatching(/expired/) }]);
});

test("replacing a valid token by an invalid one ends the channel", async () => {
  const own = client(author);
  await own.realtime.setAuth(author.token);
  const channel = await joined(own.channel("ends"));
  const ended = new Promise<{ status: string }>((resolve) => channel.on("system", {}, resolve));
  await own.realtime.setAuth(await accessToken({ sub: author.id, role: "supabase_admin" }));
  expect((await ended).status).toBe("error");
});

test("an upgrade at another path returns 404, and the server continues", async () => {
  const answer = await new Promise<number>((resolve) => {
    const socket = new WebSocket(`${stack.supabase_url.replace("http", "ws")}/realtime/v1/elsewhere`);
    socket.on("unexpected-response", (_, response) => resolve(response.statusCode ?? 0));
    socket.on("error", () => resolve(0));
  });
  expect(answer).toBe(404);
  await listen(client(), { table: "votes" });
});
