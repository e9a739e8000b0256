import { afterEach, describe, expect, test } from "vitest";
import { manyUsers, sql, type User } from "../stack.ts";
import { until } from "../until.ts";
import { type Asked, client, comment, hangUp, listen, newSubmission, settled, subscribed } from "./listening.ts";

const [author] = (await manyUsers(1)) as [User];
const submission = await newSubmission(author);
await settled();
afterEach(hangUp);

describe("filters, on a new comment", () => {
  const body = 'fast "search", (beta) 速い';
  const operators: [filter: string, passes: boolean][] = [
    ["body=eq.nothing", false],
    ['body=eq."fast \\"search\\", (beta) 速い"', true],
    ["body=neq.nothing", true],
    ["body=not.eq.nothing", true],
    ["body=in.(nothing,other)", false],
    ["body=gt.fa", true],
    ["body=lt.fa", false],
    ["vote_count=lt.1", true],
    ["vote_count=lte.0", true],
    ["vote_count=gt.0", false],
    ["vote_count=gte.0", true],
    ["vote_count=in.(0,1,2)", true],
    ["vote_count=not.in.(0,1,2)", false],
    ["parent_id=is.null", true],
    ["parent_id=not.is.null", false],
    ["is_official=is.false", true],
    ["is_official=eq.false", true],
    ["is_official=eq.true", false],
    ["is_official=is.true", false],
    ["is_official=not.is.true", true],
    ["is_official=is.unknown", false],
    ["created_at=gt.2020-01-01", true],
    ["created_at=lt.2020-01-01", false],
    ["vote_count=eq.0,reply_count=eq.0", true],
    ["vote_count=eq.0,reply_count=eq.1", false],
    ["moderation_state=in.(approved,pending)", true],
  ];

  test.each(operators)("%s: %s", async (filter, passes) => {
    const own = client();
    const received = await listen(own, { table: "comments", filter: `submission_id=eq.${submission},${filter}` });
    const all = await listen(own, { table: "comments", filter: `submission_id=eq.${submission}` });
    await comment(submission, author, body);
    await until(() => all.length === 1 && received.length >= Number(passes));
    // A change that does not pass would have arrived by now, over the same socket.
    await new Promise((resume) => setTimeout(resume, 20));
    expect(received.map((change) => change.new.body)).toEqual(passes ? [body] : []);
  });

  test("a UUID matches in every notation", async () => {
    const received = await listen(client(), {
      table: "comments",
      filter: `submission_id=eq.${submission.toUpperCase()}`,
    });
    await comment(submission, author, "shouted");
    await until(() => received.length === 1);
  });

  test("each binding of a channel gets its own changes", async () => {
    const [inserts, updates]: [string[], string[]] = [[], []];
    const own = { schema: "public", table: "comments", filter: `submission_id=eq.${submission}` };
    const channel = client()
      .channel("both")
      .on("postgres_changes", { event: "INSERT", ...own }, (change) => inserts.push(String(change.new.body)))
      .on("postgres_changes", { event: "UPDATE", ...own }, (change) => updates.push(String(change.new.body)));
    await subscribed(channel);
    const id = await comment(submission, author, "first");
    await until(() => inserts.length === 1);
    await sql`update comments set body = 'second' where id = ${id}`;
    await until(() => updates.length === 1);
    expect([inserts, updates]).toEqual([["first"], ["second"]]);
  });

  test("select limits the payload to those columns and the key", async () => {
    const received = await listen(client(), {
      table: "comments",
      filter: `submission_id=eq.${submission}`,
      select: ["body"],
    });
    const id = await comment(submission, author, "short");
    await until(() => received.length === 1);
    expect(received[0]?.new).toEqual({ id, body: "short" });
  });
});

test("every table of the publication is received with a filter by schema, and one table of every schema", async () => {
  const received = await listen(client(), { schema: "*" });
  const named = await listen(client(), { schema: "*", table: "comments" });
  await comment(submission, author, "anywhere");
  await until(() => ["comments", "submissions"].every((table) => received.some((change) => change.table === table)));
  await until(() => named.some(({ table }) => table === "comments"));
});

describe("an invalid subscription", () => {
  const rejected: [Asked, RegExp][] = [
    [
      { table: "votes", filter: "user_id=eq.00000000-0000-0000-0000-000000000000" },
      /invalid column for filter user_id/,
    ],
    [{ table: "votes", filter: "nothing=eq.1" }, /invalid column for filter nothing/],
    ...["match", "imatch", "like", "ilike", "isdistinct"].map((operator): [Asked, RegExp] => [
      { table: "comments", filter: `body=${operator}.x` },
      new RegExp(`not support the filter ${operator}; hosted Supabase does`),
    ]),
    [{ table: "votes", filter: "id=is.true" }, /requires a boolean column/],
    [{ table: "comments", filter: "vote_count=eq.many" }, /invalid input syntax/],
    [{ table: "comments", filter: "body=almost.x" }, /almost/],
    [{ table: "comments", filter: "undefined" }, /undefined/],
    [{ table: "comments", filter: "vote_count=in.1,2" }, /parentheses/],
    [{ table: "comments", filter: `vote_count=in.(${Array.from({ length: 101 }, (_, n) => n)})` }, /Maximum 100/],
    [{ table: "profiles" }, /Please check Realtime is enabled/],
    [{ schema: "private", table: "outbox" }, /Please check Realtime is enabled/],
    [{ schema: "auth", table: "users" }, /Please check Realtime is enabled/],
    [{ table: "votes", select: ["user_id"] }, /invalid column for select user_id/],
    [{ table: "*", select: ["id"] }, /wildcard/],
  ];
  test.each(rejected)("%o", async (asked, message) => {
    await expect(listen(client(), asked)).rejects.toThrow(message);
  });

  test("does not affect others on the same socket", async () => {
    const own = client();
    await expect(listen(own, { table: "votes", filter: "user_id=eq.1" })).rejects.toThrow();
    const received = await listen(own, { table: "comments", filter: `submission_id=eq.${submission}` });
    await comment(submission, author, "still here");
    await until(() => received.length === 1);
  });
});
