import { randomUUID } from "node:crypto";
import { afterEach, describe, expect, test } from "vitest";
import { joinTeam, newOrganization } from "../api/world.ts";
import { manyUsers, sql, type User } from "../stack.ts";
import { until } from "../until.ts";
import { client, comment, hangUp, listen, newSubmission, type ReceivedChange, settled, vote } from "./listening.ts";

const [author, voter, insider] = (await manyUsers(3)) as [User, User, User];
const open = await newSubmission(author);
const organization = await newOrganization({ visibility: "private" });
await joinTeam(insider.id, organization, "member");
const vault = { organization: organization.id, submission: await newSubmission(insider, sql, organization.id) };
await settled();
afterEach(hangUp);

const everything = (user?: User, key?: string) => listen(client(user, key ? { key } : {}), { schema: "*" });
const names = (received: ReceivedChange[], id: string) => JSON.stringify(received).includes(id);

describe.each([
  ["anon", () => undefined],
  ["a stranger", () => voter],
])("%s subscribed to everything", (_, who) => {
  test("never receives voters", async () => {
    const received = await everything(who());
    const [other] = (await manyUsers(1)) as [User];
    const id = await vote(open, other);
    // Tests in other files create votes at the same time.
    const messagesOf = (type: string) =>
      received.find((change) => change.eventType === type && names([change], id) && change.table === "votes");
    await until(() => messagesOf("INSERT") !== undefined);
    await sql`delete from votes where id = ${id}`;
    await until(() => messagesOf("DELETE") !== undefined);
    expect(names(received, other.id)).toBe(false);
    expect(messagesOf("INSERT")?.new).not.toHaveProperty("user_id");
    expect(messagesOf("DELETE")?.old).toEqual({ id, submission_id: open });
  });

  test("receives nothing of a private board except ids of deleted rows", async () => {
    const received = await everything(who());
    const id = await comment(vault.submission, insider, "a secret");
    const voteId = await vote(vault.submission, author);
    await sql`update submissions set title = 'A secret title' where id = ${vault.submission}`;
    await settled();
    expect(names(received, "secret")).toBe(false);
    expect(received.filter((change) => names([change], vault.submission))).toEqual([]);
    await sql`delete from comments where id = ${id}`;
    await sql`delete from votes where id = ${voteId}`;
    await until(
      () => received.some((change) => change.old.id === id) && received.some((change) => change.old.id === voteId),
    );
    const deleted = received.filter((change) => [id, voteId].includes(String(change.old.id)));
    expect(deleted.map(({ old, new: record }) => ({ old, record }))).toEqual([
      { old: { id }, record: {} },
      { old: { id: voteId, submission_id: vault.submission }, record: {} },
    ]);
  });

  test("receives nothing of a pending comment, until it is approved", async () => {
    const received = await everything(who());
    const [pending] = await sql<{ id: string }[]>`
      insert into comments (submission_id, author_id, body, moderation_state)
      values (${open}, ${author.id}, 'not yet', 'pending') returning id`;
    await sql`update comments set moderation_state = 'pending' where id = ${pending?.id ?? ""}`;
    await settled();
    expect(names(received, "not yet")).toBe(false);
    await sql`update comments set moderation_state = 'approved' where id = ${pending?.id ?? ""}`;
    await until(() => received.some((change) => change.new.body === "not yet" && change.new.is_public === true));
  });
});

test("a member receives changes of their private board", async () => {
  const received = await listen(client(insider), { table: "comments", filter: `submission_id=eq.${vault.submission}` });
  await comment(vault.submission, insider, "among us");
  await until(() => received.some((change) => change.new.body === "among us"));
});

test("a removed member receives nothing more on an open socket", async () => {
  const [guest] = (await manyUsers(1)) as [User];
  await joinTeam(guest.id, organization, "member");
  const received = await listen(client(guest), { table: "comments", filter: `submission_id=eq.${vault.submission}` });
  await comment(vault.submission, insider, "while a guest");
  await until(() => received.length === 1);
  await sql`delete from memberships where user_id = ${guest.id}`;
  await comment(vault.submission, insider, "after that");
  await settled();
  expect(names(received, "after that")).toBe(false);
});

test("a board that becomes private stops sending", async () => {
  const [organization] = await sql<{ id: string }[]>`
    insert into organizations (slug, name) values (${`open-${randomUUID().slice(0, 8)}`}, 'Open') returning id`;
  const submission = await newSubmission(author, sql, organization?.id);
  await settled();
  const received = await listen(client(), { table: "votes", filter: `submission_id=eq.${submission}` });
  await vote(submission, voter);
  await until(() => received.length === 1);
  await sql`update organizations set visibility = 'private' where id = ${organization?.id ?? ""}`;
  await vote(submission, insider);
  await settled();
  expect(received).toHaveLength(1);
});

describe("notifications", () => {
  const notify = (user: User) => sql<{ id: string }[]>`
    insert into notifications (organization_id, user_id, type, submission_id, event_id)
    select organization_id, ${user.id}, 'vote', id, gen_random_uuid() from submissions where id = ${open} returning id`;

  test("are received by their owner, without event_id", async () => {
    const received = await listen(client(author), { table: "notifications", filter: `user_id=eq.${author.id}` });
    const [own] = await notify(author);
    const inserted = await until(() => received.find((change) => change.new.id === own?.id));
    expect(inserted.new).toMatchObject({ id: own?.id, user_id: author.id, type: "vote" });
    expect(inserted.new).not.toHaveProperty("event_id");
    await sql`update notifications set read_at = now() where id = ${own?.id ?? ""}`;
    await until(() => received.some((change) => change.eventType === "UPDATE" && change.new.read_at !== null));
  });

  test("are not received by a user who filters by another person, or subscribes to all", async () => {
    const others = [
      await listen(client(voter), { table: "notifications", filter: `user_id=eq.${author.id}` }),
      await listen(client(voter), { table: "notifications" }),
      await listen(client(), { table: "notifications" }),
    ];
    const [row] = await notify(author);
    // Tests in other files delete notifications at the same time.
    const ofRow = () => others.map((received) => received.filter((change) => names([change], row?.id ?? "")));
    await settled();
    expect(ofRow()).toEqual([[], [], []]);
    await sql`delete from notifications where id = ${row?.id ?? ""}`;
    await until(() => ofRow()[1]?.length === 1 && ofRow()[2]?.length === 1);
    expect(ofRow().map((received) => received.map(({ old }) => old))).toEqual([
      [],
      [{ id: row?.id }],
      [{ id: row?.id }],
    ]);
  });

  test("cannot be filtered by user by an anonymous caller", async () => {
    await expect(listen(client(), { table: "notifications", filter: `user_id=eq.${author.id}` })).rejects.toThrow(
      /invalid column for filter user_id/,
    );
  });
});

test("a filter on a column that a DELETE does not contain does not reveal who deleted", async () => {
  const byAuthor = await listen(client(), { table: "comments", event: "DELETE", filter: `author_id=eq.${author.id}` });
  const id = await comment(open, author, "to be gone");
  await sql`delete from comments where id = ${id}`;
  await settled();
  expect(byAuthor).toEqual([]);
});

test("the service role receives everything, including voters", async () => {
  const { stack } = await import("../stack.ts");
  const received = await everything(undefined, stack.secret_key);
  const [user] = (await manyUsers(1)) as [User];
  await vote(vault.submission, user);
  await until(() => received.some((change) => change.new.user_id === user.id));
});
