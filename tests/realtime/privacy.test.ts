import { randomUUID } from "node:crypto";
import { afterEach, beforeAll, describe, expect, test } from "vitest";
import { manyUsers, sql, type User } from "../stack.ts";
import { until } from "../until.ts";
import { client, comment, type Heard, hangUp, listen, newSubmission, settled, vote } from "./listening.ts";

let author: User;
let voter: User;
let insider: User;
let open: string;
let vault: { organization: string; submission: string };

beforeAll(async () => {
  [author, voter, insider] = (await manyUsers(3)) as [User, User, User];
  open = await newSubmission(author);
  const [organization] = await sql<{ id: string }[]>`
    insert into organizations (slug, name, visibility) values (${`vault-${randomUUID().slice(0, 8)}`}, 'Vault', 'private') returning id`;
  await sql`insert into memberships (organization_id, user_id) values (${organization?.id ?? ""}, ${insider.id})`;
  vault = {
    organization: organization?.id ?? "",
    submission: await newSubmission(insider, sql, organization?.id),
  };
  await settled();
});
afterEach(hangUp);

const everything = (user?: User, key?: string) => listen(client(user, key ? { key } : {}), { schema: "*" });
const names = (heard: Heard[], id: string) => JSON.stringify(heard).includes(id);

describe.each([
  ["anon", () => undefined],
  ["a stranger", () => voter],
])("%s who listens to everything", (_, who) => {
  test("never learns who voted", async () => {
    const heard = await everything(who());
    const [other] = (await manyUsers(1)) as [User];
    const id = await vote(open, other);
    // Others vote at the same time, in other files.
    const told = (type: string) =>
      heard.find((change) => change.eventType === type && names([change], id) && change.table === "votes");
    await until(() => told("INSERT") !== undefined);
    await sql`delete from votes where id = ${id}`;
    await until(() => told("DELETE") !== undefined);
    expect(names(heard, other.id)).toBe(false);
    expect(told("INSERT")?.new).not.toHaveProperty("user_id");
    expect(told("DELETE")?.old).toEqual({ id, submission_id: open });
  });

  test("hears nothing of a private board but ids of what was deleted", async () => {
    const heard = await everything(who());
    const id = await comment(vault.submission, insider, "a secret");
    const voteId = await vote(vault.submission, author);
    await sql`update submissions set title = 'A secret title' where id = ${vault.submission}`;
    await settled();
    expect(names(heard, "secret")).toBe(false);
    expect(heard.filter((change) => names([change], vault.submission))).toEqual([]);
    await sql`delete from comments where id = ${id}`;
    await sql`delete from votes where id = ${voteId}`;
    await until(
      () => heard.some((change) => change.old.id === id) && heard.some((change) => change.old.id === voteId),
    );
    const deleted = heard.filter((change) => [id, voteId].includes(String(change.old.id)));
    expect(deleted.map(({ old, new: record }) => ({ old, record }))).toEqual([
      { old: { id }, record: {} },
      { old: { id: voteId, submission_id: vault.submission }, record: {} },
    ]);
  });

  test("hears nothing of a comment that waits for approval, until it is approved", async () => {
    const heard = await everything(who());
    const [waiting] = await sql<{ id: string }[]>`
      insert into comments (submission_id, author_id, body, moderation_state)
      values (${open}, ${author.id}, 'not yet', 'pending') returning id`;
    await sql`update comments set moderation_state = 'pending' where id = ${waiting?.id ?? ""}`;
    await settled();
    expect(names(heard, "not yet")).toBe(false);
    await sql`update comments set moderation_state = 'approved' where id = ${waiting?.id ?? ""}`;
    await until(() => heard.some((change) => change.new.body === "not yet" && change.new.is_public === true));
  });
});

test("a member hears of their private board", async () => {
  const heard = await listen(client(insider), {
    table: "comments",
    filter: `submission_id=eq.${vault.submission}`,
  });
  await comment(vault.submission, insider, "among us");
  await until(() => heard.some((change) => change.new.body === "among us"));
});

test("who leaves the team hears nothing more, on the socket that is open", async () => {
  const [guest] = (await manyUsers(1)) as [User];
  await sql`insert into memberships (organization_id, user_id) values (${vault.organization}, ${guest.id})`;
  const heard = await listen(client(guest), {
    table: "comments",
    filter: `submission_id=eq.${vault.submission}`,
  });
  await comment(vault.submission, insider, "while a guest");
  await until(() => heard.length === 1);
  await sql`delete from memberships where user_id = ${guest.id}`;
  await comment(vault.submission, insider, "after that");
  await settled();
  expect(names(heard, "after that")).toBe(false);
});

test("a board that turns private falls silent", async () => {
  const [organization] = await sql<{ id: string }[]>`
    insert into organizations (slug, name) values (${`open-${randomUUID().slice(0, 8)}`}, 'Open') returning id`;
  const submission = await newSubmission(author, sql, organization?.id);
  await settled();
  const heard = await listen(client(), { table: "votes", filter: `submission_id=eq.${submission}` });
  await vote(submission, voter);
  await until(() => heard.length === 1);
  await sql`update organizations set visibility = 'private' where id = ${organization?.id ?? ""}`;
  await vote(submission, insider);
  await settled();
  expect(heard).toHaveLength(1);
});

describe("notifications", () => {
  const notify = (user: User) => sql<{ id: string }[]>`
    insert into notifications (organization_id, user_id, type, submission_id, event_id)
    select organization_id, ${user.id}, 'vote', id, gen_random_uuid() from submissions where id = ${open} returning id`;

  test("are heard by their owner, without event_id", async () => {
    const heard = await listen(client(author), { table: "notifications", filter: `user_id=eq.${author.id}` });
    const [mine] = await notify(author);
    await until(() => heard.length === 1);
    expect(heard[0]?.new).toMatchObject({ id: mine?.id, user_id: author.id, type: "vote" });
    expect(heard[0]?.new).not.toHaveProperty("event_id");
    await sql`update notifications set read_at = now() where id = ${mine?.id ?? ""}`;
    await until(() => heard.some((change) => change.eventType === "UPDATE" && change.new.read_at !== null));
  });

  test("are not heard by another who filters by that person, or asks for all", async () => {
    const others = [
      await listen(client(voter), { table: "notifications", filter: `user_id=eq.${author.id}` }),
      await listen(client(voter), { table: "notifications" }),
      await listen(client(), { table: "notifications" }),
    ];
    const [row] = await notify(author);
    await settled();
    expect(others).toEqual([[], [], []]);
    await sql`delete from notifications where id = ${row?.id ?? ""}`;
    await until(() => others[1]?.length === 1 && others[2]?.length === 1);
    expect(others.map((heard) => heard.map(({ old }) => old))).toEqual([
      [],
      [{ id: row?.id }],
      [{ id: row?.id }],
    ]);
  });

  test("cannot be filtered by person from nobody", async () => {
    await expect(
      listen(client(), { table: "notifications", filter: `user_id=eq.${author.id}` }),
    ).rejects.toThrow(/invalid column for filter user_id/);
  });
});

test("a filter on a column a DELETE does not carry tells nothing of who deleted", async () => {
  const byAuthor = await listen(client(), {
    table: "comments",
    event: "DELETE",
    filter: `author_id=eq.${author.id}`,
  });
  const id = await comment(open, author, "to be gone");
  await sql`delete from comments where id = ${id}`;
  await settled();
  expect(byAuthor).toEqual([]);
});

test("the service role hears it all, the voter too", async () => {
  const { stack } = await import("../stack.ts");
  const heard = await everything(undefined, stack.secret_key);
  const [someone] = (await manyUsers(1)) as [User];
  await vote(vault.submission, someone);
  await until(() => heard.some((change) => change.new.user_id === someone.id));
});
