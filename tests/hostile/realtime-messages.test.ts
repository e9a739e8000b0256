import { randomBytes } from "node:crypto";
import type { Socket } from "node:net";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { type OwnStack, startOwnStack } from "../own-stack.ts";
import { realtimePid } from "../processes.ts";
import { comment, newSubmission } from "../realtime/listening.ts";
import { changes, closeRawClients, RawClient } from "../realtime/raw-client.ts";
import { accessToken, manyUsers, type User } from "../stack.ts";
import { until } from "../until.ts";

// Nothing that a client or the database sends ends the process, or keeps an event from another client.

let own: OwnStack;
let author: User;
let submission: string;
beforeAll(async () => {
  const many = 1_000_000;
  const realtimeLimits = { messagesPerSecond: many, socketsPerAddress: many, keptBytesPerAddress: 64 };
  own = await startOwnStack({ parts: ["realtime"], realtimeLimits });
  [author] = (await manyUsers(1, own.sql)) as [User];
  submission = await newSubmission(author, own.sql);
});
afterAll(() => own?.remove());
afterEach(closeRawClients);

/** A client that gets an event after the attack on the socket that it had before. */
async function expectUnharmed(attack: () => Promise<void>) {
  const pid = await realtimePid();
  const listener = await RawClient.open(own, "127.0.6.9");
  await listener.subscribe("open", changes("comments", `submission_id=eq.${submission}`));
  await attack();
  const text = `After it ${Math.random()}`;
  await comment(submission, author, text, own.sql);
  await listener.hears(text);
  expect(await realtimePid()).toBe(pid);
}

const quoted = JSON.stringify;
const deepList = "[".repeat(20_000) + "]".repeat(20_000);
const deepObject = '{"x":'.repeat(7000) + 1 + "}".repeat(7000);
const texts = ['""', '"\\u0000"', '"\\ud800"', '"__proto__"', '"constructor"', quoted("'\"\\;$1%s")];
const odd = ["null", "true", "7", "1e999", "-0", "[]", "{}", '{"__proto__":{"x":1}}', ...texts];
const manyKeys = `{${Array.from({ length: 5000 }, (_, n) => `"${n}":0`).join()}}`;
const large = [deepList, deepObject, manyKeys, quoted("x".repeat(45_000)), `[${"0,".repeat(20_000)}0]`];
const values = [...odd, ...large];
/** Each of these values as one member of a message. */
const ofMember = (before: string, after: string, some = values) => some.map((value) => `${before}${value}${after}`);
const topics = ['"realtime:a"', '"phoenix"', '"realtime:"', '"realtime:\\u0000"', '"realtime:\\ud800"'];

const binding = (member: string) =>
  ofMember(`{"config":{"postgres_changes":[{"schema":"public","table":"comments",${quoted(member)}:`, "}]}}");
const payloads: Record<string, () => Promise<string[]> | string[]> = {
  phx_join: () => [
    ...ofMember('{"config":', "}"),
    ...ofMember('{"config":{"private":true,"presence":', "}}"),
    ...ofMember('{"config":{"postgres_changes":', "}}"),
    ...ofMember('{"config":{"postgres_changes":[', "]}}"),
    ...["event", "schema", "table", "filter", "select"].flatMap(binding),
    ...ofMember('{"access_token":', "}"),
    ...["body=eq.", "id=in.({{{", "body=in.()", "=eq.", "created_at=lt.infinity", "vote_count=gt.1e999"].map((filter) =>
      quoted({ config: changes("comments", filter) }),
    ),
  ],
  access_token: async () => {
    const nested: Record<string, unknown> = {};
    for (let at = nested, n = 0; n < 500; n++) at = at.x = {};
    const claims = [{ nested }, { sub: "\u0000" }, { sub: "\ud800" }, { sub: { x: 1 } }, { exp: 1e308 }];
    const tokens = claims.map((more) => accessToken(more, 600, own.jwtSecret));
    return [...(await Promise.all(tokens)).map((token) => quoted(token)), ...values].map(
      (token) => `{"access_token":${token}}`,
    );
  },
  heartbeat: () => [],
  phx_leave: () => [],
  broadcast: () => ofMember('{"type":"broadcast","event":"x","payload":', "}"),
  presence: () => ofMember('{"event":"track","payload":', "}"),
  phx_close: () => [],
  unknown: () => [],
  __proto__: () => [],
};

describe.each(["1.0.0", "2.0.0"])("serializer %s", (version) => {
  const encode = (joinRef: string, ref: string, topic: string, event: string, payload: string) =>
    version === "2.0.0"
      ? `[${joinRef},${ref},${topic},${event},${payload}]`
      : `{"join_ref":${joinRef},"ref":${ref},"topic":${topic},"event":${event},"payload":${payload}}`;

  /** Each on a joined channel, or on a new socket after one that was closed. */
  async function sendAll(messages: string[]) {
    let client = await RawClient.open(own, "127.0.6.1", version);
    for (const message of messages) {
      if (!client.isOpen()) client = await RawClient.open(own, "127.0.6.1", version);
      client.socket.send(encode('"1"', '"1"', '"realtime:a"', '"phx_join"', "{}"));
      client.socket.send(message);
    }
    // All were handled, unless the last one closed the socket.
    if (client.isOpen()) client.socket.send(encode("null", '"last"', '"phoenix"', '"heartbeat"', "{}"));
    await until(() => !client.isOpen() || client.messages.some((message) => message.includes('"last"')));
  }

  test.each([...Object.keys(payloads), "__proto__"])("%s with any payload, on any topic", async (event) => {
    const own = await (Object.hasOwn(payloads, event) ? payloads[event]?.() : []);
    const messages = topics.flatMap((topic) =>
      [...(own ?? []), ...values].map((payload) => encode('"1"', '"2"', topic, quoted(event), payload)),
    );
    await expectUnharmed(() => sendAll(messages));
  });

  test("any value as topic, event and references", async () => {
    const messages = values.flatMap((value) => [
      encode('"1"', '"2"', value, '"phx_join"', "{}"),
      encode('"1"', '"2"', '"realtime:a"', value, "{}"),
      encode(value, value, '"realtime:a"', '"phx_join"', "{}"),
      value,
    ]);
    for (const topic of ["submission:", "submission:x:team", "organization:\\u0000", "survey:{}", "a\\ud800"])
      messages.push(encode('"1"', '"2"', `"realtime:${topic}"`, '"phx_join"', '{"config":{"private":true}}'));
    await expectUnharmed(() => sendAll([...messages, "", "[", '{"topic"', "\u0000"]));
  });

  test("binary messages with any sizes", async () => {
    const frames = [0, 1, 6, 7, 30, 40_000].map((size) => randomBytes(size));
    for (const sizes of [
      [255, 255, 255, 255, 255, 1],
      [0, 0, 0, 0, 0, 0],
      [1, 1, 10, 0, 0, 0],
    ])
      frames.push(Buffer.from([3, ...sizes]), Buffer.concat([Buffer.from([3, ...sizes]), Buffer.alloc(300)]));
    await expectUnharmed(async () => {
      for (const frame of frames) {
        const client = await RawClient.open(own, "127.0.6.1", version);
        client.socket.send(frame);
        client.socket.ping();
        await until(() => !client.isOpen() || client.messages.length > 0);
      }
    });
  });
});

describe("frames", () => {
  /** A masked frame as RFC 6455 defines it, where the mask is zero. */
  const frame = (first: number, data: Buffer | string = "", masked = true) => {
    const body = Buffer.from(data);
    const size = body.length < 126 ? [body.length] : [126, body.length >> 8, body.length & 255];
    const mask = masked ? [0, 0, 0, 0] : [];
    return Buffer.concat([Buffer.from([first, (size[0] ?? 0) | (masked ? 128 : 0), ...size.slice(1), ...mask]), body]);
  };
  const heartbeat = '[null,"1","phoenix","heartbeat",{}]';
  test.each<[string, Buffer[]]>([
    ["a continuation of nothing", [frame(0x80, "x")]],
    ["a text inside of another", [frame(0x01, "["), frame(0x81, heartbeat)]],
    ["a close inside of a text", [frame(0x01, "["), frame(0x88)]],
    ["parts between pings", [frame(0x01, "["), frame(0x89, "x"), frame(0x00, "]"), frame(0x8a), frame(0x80)]],
    ["a text that is not UTF-8", [frame(0x81, Buffer.from([0xff, 0xfe, 0xc0, 0x80]))]],
    ["a text cut inside of a letter", [frame(0x01, Buffer.from([0xf0, 0x9f])), frame(0x80)]],
    ["reserved bits", [frame(0xf1, heartbeat)]],
    ["compressed data", [frame(0xc1, randomBytes(100))]],
    ["unknown operations", [frame(0x83), frame(0x8b), frame(0x8f)]],
    ["a frame without mask", [frame(0x81, heartbeat, false)]],
    ["a ping of 126 bytes", [frame(0x89, "x".repeat(126))]],
    ["a ping in parts", [frame(0x09, "x"), frame(0x80)]],
    ["a size of 2^63", [Buffer.from([0x81, 255, 128, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])]],
    ["a size below zero", [Buffer.from([0x81, 255, 255, 255, 255, 255, 255, 255, 255, 255, 0, 0, 0, 0])]],
    ["closing with one byte", [frame(0x88, "x")]],
    ["closing with code 0", [frame(0x88, Buffer.from([0, 0]))]],
    ["closing with a reason that is not UTF-8", [frame(0x88, Buffer.from([3, 232, 0xff]))]],
    ["closing twice, and a message", [frame(0x88), frame(0x88), frame(0x81, heartbeat)]],
    ["another request", [Buffer.from("GET / HTTP/1.1\r\nhost: x\r\n\r\n")]],
  ])("%s", async (_, frames) => {
    await expectUnharmed(async () => {
      for (const end of [false, true]) {
        const client = await RawClient.open(own);
        const { _socket: socket } = client.socket as unknown as { _socket: Socket };
        socket.write(Buffer.concat(frames));
        if (end) socket.resetAndDestroy();
      }
    });
  });
});

describe("what Postgres sends", () => {
  test("messages with odd events, payloads and topics", async () => {
    const client = await RawClient.open(own);
    for (const topic of ["a", "__proto__", "constructor"]) await client.join(topic);
    await expectUnharmed(async () => {
      for (const topic of ["a", "__proto__", "constructor"])
        for (const event of ["", "__proto__", "\u2028'\"\\", "x".repeat(100_000)])
          for (const payload of ['{"x":[]}', `{"x":${"[".repeat(3000)}${"]".repeat(3000)}}`, '{"__proto__":1}'])
            await own.sql`select realtime.send(${payload}::text::jsonb, ${event}, ${topic}, false)`;
      await own.sql`insert into realtime.messages (topic, extension, private) values ('a', 'broadcast', false), ('a', 'presence', true)`;
      await own.sql`select realtime.send(jsonb_build_object('x', repeat('x', 3000000)), 'large', 'a', false)`;
    });
    expect(client.messages.some((message) => /realtime:constructor.*"broadcast"/.test(message))).toBe(true);
  });

  test("rows with odd names and values, of a table that changes meanwhile", async () => {
    const table = `odd "table`;
    const name = own.sql(table);
    await own.sql`
      create table ${name} ("__proto__" uuid primary key default gen_random_uuid(), "a ""b'" jsonb, at timestamptz,
        n numeric, list text[], bytes bytea, point point, constructor text generated always as ('x') stored)`;
    await own.sql`grant select on ${name} to anon`;
    await own.sql`alter publication supabase_realtime add table ${name}`;
    const client = await RawClient.open(own);
    await client.subscribe("odd", changes(table));
    await expectUnharmed(async () => {
      await own.sql`
        insert into ${name} ("a ""b'", at, n, list, bytes, point)
        values ('"\\ud83d\\ude00"', 'infinity', 'NaN', '{NULL,"",","}', '\\x00ff', '(NaN,Infinity)')`;
      await own.sql`insert into ${name} (at, n) values ('-infinity', repeat('9', 10000)::numeric)`;
      await own.sql`insert into ${name} (at) select '4714-11-24 BC' from generate_series(1, 300)`;
      await client.hears('"infinity"');
      await own.sql`alter table ${name} alter n type text using 'x', drop at, add added integer default 1`;
      await own.sql`update ${name} set added = 2`;
      await own.sql`alter table ${name} drop constraint ${own.sql(`${table}_pkey`)}, replica identity full`;
      await own.sql`delete from ${name}`;
      await own.sql`truncate ${name}`;
      await own.sql`insert into ${name} (n) values ('last')`;
      await own.sql`drop table ${name}`;
    });
  });

  test.each([
    ["fails", "1 / (case when body = '' then 1 else 0 end) = 1"],
    ["is null", "null"],
    ["takes a role", "set_config('role', 'none', true) is null"],
    ["nests", `${"(body = '' or ".repeat(300)}false${")".repeat(300)}`],
  ])("a policy that %s hides rows from those whom it concerns only", async (_, condition) => {
    await own.sql.unsafe(
      `create policy odd on comments as restrictive for select to authenticated using (${condition})`,
    );
    try {
      const client = await RawClient.open(own);
      const token = await accessToken({ sub: author.id }, 600, own.jwtSecret);
      await client.subscribe("all", changes("comments"), { access_token: token });
      await expectUnharmed(async () => undefined);
      expect(client.messages.filter((message) => message.includes("After it"))).toEqual([]);
    } finally {
      await own.sql`drop policy odd on comments`;
    }
  });
});
