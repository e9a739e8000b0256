import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { type OwnStack, startOwnStack } from "../own-stack.ts";
import type { User } from "../stack.ts";
import { until } from "../until.ts";
import { newSubmission } from "./listening.ts";
import { changes, closeRawClients, RawClient } from "./raw-client.ts";

// Limits of the realtime server, some of them lowered.

let own: OwnStack;
let member: User;
let submission: string;
beforeAll(async () => {
  const realtimeLimits = { sockets: 4, silence: 4000, trust: 300 };
  own = await startOwnStack({ parts: ["realtime"], realtimeLimits });
  [member] = (await own.people(1, "member")) as [User];
  submission = await newSubmission(member, own.sql, own.organization.id);
});
afterAll(() => own?.remove());
afterEach(closeRawClients);
/** Opens a client as soon as those of the previous test are closed. */
const open = () => until(() => RawClient.open(own).catch(() => undefined));

test("the topic of a team is authorized again while the channel is open", async () => {
  const client = await open();
  const topic = `submission:${submission}:team`;
  const joined = await client.join(topic, { private: true }, { access_token: member.token });
  expect(joined.status).toBe("ok");
  const send = (text: string) => own.sql`select realtime.send(${own.sql.json({ text })}, 'said', ${topic}, true)`;
  await send("to the team");
  await client.hears("to the team");
  await own.sql`delete from memberships where user_id = ${member.id}`;
  await client.hears("You do not have permissions to read from this Channel topic");
  await client.hears("phx_close");
  await send("after the removal");
  expect((await client.ask(topic, "phx_leave", "{}")).status).toBe("ok");
  expect(client.messages.join()).not.toContain("after the removal");
  await own.sql`insert into memberships (organization_id, user_id) values (${own.organization.id}, ${member.id})`;
});

test("a channel has 50 bindings, and one more is refused", async () => {
  const client = await open();
  const bindings = (count: number) => ({
    postgres_changes: Array(count).fill(changes("comments").postgres_changes[0]),
  });
  expect((await client.join("many", bindings(50))).status).toBe("ok");
  expect(await client.join("more", bindings(51))).toMatchObject({
    status: "error",
    response: { reason: "Too many postgres_changes on one channel" },
  });
});

test("a topic has 255 bytes with its prefix, and a longer one is refused", async () => {
  const client = await open();
  const letters = 255 - "realtime:".length;
  expect((await client.join("t".repeat(letters))).status).toBe("ok");
  for (const topic of ["t".repeat(letters + 1), "ü".repeat(letters / 2 + 1)])
    expect((await client.join(topic)).response.reason).toBe("The topic is too long");
});

test("a client that is silent is disconnected, and one that sends heartbeats is not", async () => {
  const [silent, alive] = [await open(), await open()];
  const beats = setInterval(() => alive.socket.send('[null,"beat","phoenix","heartbeat",{}]', () => undefined), 100);
  await once(silent.socket, "close");
  expect(alive.isOpen()).toBe(true);
  clearInterval(beats);
});

test("of a row of more than 1 MiB only short values are sent", async () => {
  await own.sql.unsafe(`
    create table large (id uuid primary key, short text, long text);
    grant select on large to anon;
    alter publication supabase_realtime add table large`);
  const client = await open();
  await client.subscribe("large", changes("large"));
  for (const [short, length] of [
    ["below", 1024 * 1024 - 100],
    ["above", 1024 * 1024],
  ] as const)
    await own.sql`insert into large values (${randomUUID()}, ${short}, repeat('x', ${length}))`;
  await client.hears("above");
  const [below, above] = client.messages
    .filter((message) => message.includes('"large"') && message.includes("postgres_changes"))
    .flatMap((message) => JSON.parse(message)[4].data ?? []);
  expect([below.record.short, below.record.long.length, below.errors]).toEqual(["below", 1024 * 1024 - 100, null]);
  expect([above.record.short, above.record.long, above.errors]).toEqual([
    "above",
    undefined,
    ["Error 413: Payload Too Large"],
  ]);
  await own.sql`drop table large`;
});

test("sockets above the limit are refused, and accepted after one has closed", async () => {
  const clients = [await open(), await open(), await open(), await open()];
  await expect(RawClient.open(own)).rejects.toThrow("429");
  clients[0]?.socket.close();
  await open();
});
