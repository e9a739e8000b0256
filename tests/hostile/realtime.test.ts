import { once } from "node:events";
import { readFileSync } from "node:fs";
import { afterEach, beforeAll, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { withDatabase } from "../../local/postgres/database.ts";
import { ownStack } from "../own-stack.ts";
import { realtimePid } from "../processes.ts";
import { comment, newSubmission } from "../realtime/listening.ts";
import { changes, closeRawClients, RawClient, type Reply } from "../realtime/raw-client.ts";
import { manyUsers, type User } from "../stack.ts";
import { until } from "../until.ts";

// Attacks of a client with the publishable key on the realtime server, its memory and the delivery for others.

const own = await ownStack({
  parts: ["realtime"],
  realtimeLimits: { socketsPerAddress: 60, keptBytesPerAddress: 20_000, keptBytes: 400_000 },
  onWarning: (message) => warnings.push(message),
});
let author: User;
let submission: string;
const warnings: string[] = [];
beforeAll(async () => {
  [author] = (await manyUsers(1, own.sql)) as [User];
  submission = await newSubmission(author, own.sql);
});
afterEach(closeRawClients);

const open = (from?: string) => RawClient.open(own, from);

describe("the memory", () => {
  test("of the process has a limit", async () => {
    const command = readFileSync(`/proc/${await realtimePid()}/cmdline`, "utf8");
    expect(command).toContain("--max-old-space-size=");
  });

  test("does not grow with the text of joins, of which only the options are kept", async () => {
    const residentMegabytes = () =>
      Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024;
    const pid = await realtimePid();
    const before = residentMegabytes();
    const filler = "x".repeat(4900);
    for (let n = 0; n < 120; n++) {
      const client = await open(`127.0.7.${1 + n}`);
      const joins = Array.from({ length: 100 }, (_, channel) => client.join(`${channel}`, {}, { filler }));
      for (const { status } of await Promise.all(joins)) expect(status).toBe("ok");
      client.messages.length = 0;
    }
    // 58 MB were sent. What the messages used is collected when the process waits.
    await until(() => residentMegabytes() - before < 40);
  });

  test("a join over 16 KiB is refused with a reason, and the socket stays open", async () => {
    const client = await open();
    const refused = await client.join("large", {}, { filler: "x".repeat(16 * 1024) });
    expect(refused).toEqual({ status: "error", response: { reason: expect.stringContaining("16384") } });
    expect((await client.join("large")).status).toBe("ok");
  });

  test("a message over 48 KiB closes the socket, before it has arrived", async () => {
    const { socket } = await open();
    socket.send("x".repeat(49 * 1024));
    const [code] = await once(socket, "close");
    expect(code).toBe(1009);
  });

  test("an unfinished message in many parts closes the socket, and so does a flood of control frames", async () => {
    const parts = await open();
    for (let n = 0; n < 6; n++) parts.socket.send("x", { fin: false });
    const [code] = await once(parts.socket, "close");
    expect(code).toBe(1008);
    const pongs = await open();
    const closed = once(pongs.socket, "close");
    const flood = setInterval(() => {
      if (pongs.socket.readyState === WebSocket.OPEN) for (let n = 0; n < 200; n++) pongs.socket.pong("x".repeat(100));
    }, 1);
    await closed;
    clearInterval(flood);
  });

  test("a socket has a budget for its filters, which leaving gives back", async () => {
    const client = await open();
    const filters = (name: string) => changes("comments", Array(10).fill(`body=neq.${name}`).join(","));
    const replies: Reply[] = [];
    for (let n = 0; n < 10; n++) replies.push(await client.join(`${n}`, filters(`${n}`)));
    const accepted = replies.filter(({ status }) => status === "ok").length;
    expect([accepted > 0, accepted < 10]).toEqual([true, true]);
    expect(replies.at(-1)?.response.reason).toMatch(/too many channels and filters/);
    await client.ask("0", "phx_leave", "{}");
    expect((await client.join("10", filters("10"))).status).toBe("ok");
    expect((await client.join("11", filters("11"))).status).toBe("error");
  });

  test("an address has a budget for all its sockets, which closing gives back; another has its own", async () => {
    const fill = async (from: string) => {
      const client = await open(from);
      const reply = await client.join("many", changes("comments", Array(6).fill("body=neq.x").join(",")));
      return { client, ok: reply.status === "ok" };
    };
    const clients = [];
    while (clients.at(-1)?.ok !== false) clients.push(await fill("127.0.6.2"));
    expect(clients.length).toBeGreaterThan(3);
    expect((await fill("127.0.6.3")).ok).toBe(true);
    clients[0]?.client.socket.close();
    await until(async () => (await fill("127.0.6.2")).ok);
  });

  test("refusals are logged once, not each", async () => {
    const client = await open();
    for (let n = 0; n < 5; n++) await client.join("large", {}, { filler: "x".repeat(16 * 1024) });
    const about = (part: string) => warnings.filter((message) => message.includes(part)).length;
    await until(() => about("16384") > 0);
    expect([about("over 16384"), about("over 49152"), about("for a socket"), about("for an address")]).toEqual([
      1, 1, 1, 1,
    ]);
  });
});

test("what a binding contains besides its options does not make another text of the change", async () => {
  const clients = [await open(), await open()];
  for (const [n, client] of clients.entries())
    await client.join("same", changes("comments", `submission_id=eq.${submission}`, { anything: n }));
  await comment(submission, author, "one text", own.sql);
  const texts = await until(() => {
    const found = clients.map(({ messages }) => messages.find((message) => message.includes("one text")));
    return found.every(Boolean) && found;
  });
  expect(texts[0]).toBe(texts[1]);
});

test("joins of an address wait for each other, and those of another address do not", async () => {
  const filter = Array(20).fill("body=eq.x").join(",");
  const many = { postgres_changes: Array(20).fill(changes("comments", filter).postgres_changes[0]) };
  const clients = await Promise.all(Array.from({ length: 30 }, () => open("127.0.6.7")));
  let joined = 0;
  const joins = clients.map((client) => client.join("many", many).then(({ status }) => status === "ok" && joined++));
  await until(() => joined > 0);
  expect((await (await open("127.0.6.8")).join("one", changes("comments", filter))).status).toBe("ok");
  expect(joined).toBeLessThan(clients.length);
  // A socket whose message does not fit in the budget of the address is closed without a reply.
  for (const join of joins) join.catch(() => undefined);
});

test("many changes reach an address with one channel before those with a hundred", async () => {
  const listener = await open("127.0.6.9");
  const filter = changes("comments", `submission_id=eq.${submission}`);
  await listener.subscribe("one", filter);
  const attackers = await Promise.all(Array.from({ length: 60 }, (_, n) => open(`127.0.6.${20 + (n % 6)}`)));
  for (let n = 0; n < 11; n++) await Promise.all(attackers.map((attacker) => attacker.join(`${n}`, filter)));
  const mark = `Of many ${Math.random()}`;
  await own.sql`
    insert into comments (submission_id, author_id, body)
    select ${submission}, ${author.id}, ${mark} || n from generate_series(1, 200) n`;
  const heard = ({ messages }: RawClient) => messages.filter((message) => message.includes(mark)).length;
  await until(() => heard(listener) === 200);
  const ofAttackers = attackers.reduce((sum, attacker) => sum + heard(attacker), 0);
  expect(ofAttackers).toBeLessThan((60 * 11 * 200) / 2);
  const bodies = listener.messages.flatMap((message) => new RegExp(`${mark}(\\d+)`).exec(message)?.[1] ?? []);
  expect(bodies.map(Number)).toEqual(Array.from({ length: 200 }, (_, n) => n + 1));
});

test("private joins that wait do not delay changes", async () => {
  const listener = await open("127.0.6.9");
  await listener.join("open", changes("comments", `submission_id=eq.${submission}`));
  await withDatabase(
    own.superuserUrl,
    (superuser) =>
      superuser`create policy "test waits" on realtime.messages for select using (exists (select from public.surveys))`,
  );
  await own.sql.begin(async (transaction) => {
    await transaction`lock table surveys`;
    const waiting = await open();
    const joins = Array.from({ length: 20 }, () =>
      open().then((client) => client.join(`submission:${crypto.randomUUID()}`, { private: true })),
    );
    joins.push(waiting.join(`submission:${crypto.randomUUID()}`, { private: true }));
    await until(async () => {
      const [row] = await transaction<{ waiting: number }[]>`
        select count(*)::integer as waiting from pg_locks where relation = 'surveys'::regclass and not granted`;
      return (row?.waiting ?? 0) > 0;
    });
    await comment(submission, author, "meanwhile", own.sql);
    await until(() => listener.messages.some((message) => message.includes("meanwhile")));
    for (const join of joins) join.catch(() => undefined);
  });
});

test("a text that was removed before the row became public is not sent with an earlier change", async () => {
  const listener = await open();
  await listener.join("all", changes("comments", `submission_id=eq.${submission}`));
  const pid = await realtimePid();
  process.kill(pid, "SIGSTOP");
  try {
    const [row] = await own.sql<{ id: string }[]>`
      insert into comments (submission_id, author_id, body, moderation_state)
      values (${submission}, ${author.id}, 'call me at the harbour', 'pending') returning id`;
    const id = row?.id ?? "";
    await own.sql`update comments set moderation_state = 'pending' where id = ${id}`;
    await own.sql`update comments set body = 'call me' where id = ${id}`;
    await own.sql`update comments set moderation_state = 'approved' where id = ${id}`;
  } finally {
    process.kill(pid, "SIGCONT");
  }
  await until(() => listener.messages.some((message) => message.includes("call me")));
  expect(listener.messages.filter((message) => message.includes("harbour"))).toEqual([]);
});
