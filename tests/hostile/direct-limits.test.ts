import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type OwnStack, type Person, startOwnStack } from "../own-stack.ts";
import { rest, rpc } from "./rest.ts";

// The real limits: 30 votes, 20 comments, 10 edits and 10 deletions an hour.
let stack: OwnStack;
let author: Person;
let submissions: string[];
beforeAll(async () => {
  stack = await startOwnStack({ parts: ["rest"] });
  author = await stack.person();
  const created = await stack.sql<{ id: string }[]>`
    insert into submissions (organization_id, author_id, title, description, type)
    select ${stack.organization.id}, ${author.id}, 'Submission ' || n, 'A description that is long enough.', 'idea'
    from generate_series(1, 40) n returning id`;
  submissions = created.map(({ id }) => id);
});
afterAll(() => stack.remove());

const as = (person: Person) => ({ token: person.token, against: stack });
const votesOf = async (person: Person) =>
  (await stack.sql<{ n: number }[]>`select count(*)::int as n from votes where user_id = ${person.id}`)[0]?.n;

/**
 * Runs calls one after the other until one is rejected; returns how many succeeded, and the code of the
 * rejection.
 */
async function callUntilLimited(calls: (() => ReturnType<typeof rpc>)[]): Promise<[number, string | null]> {
  for (const [passed, call] of calls.entries()) {
    const answer = await call();
    if (answer.status >= 300) return [passed, answer.code];
  }
  return [calls.length, null];
}

describe("a client of the data API is charged per row", () => {
  it("30 votes are accepted and no more, and writes to the table are forbidden", async () => {
    const person = await stack.person();
    const rows = submissions.map((submission_id) => ({ submission_id }));
    expect((await rest("votes", { ...as(person), body: rows })).code).toBe("FB403");
    expect(await callUntilLimited(rows.map((row) => () => rpc("vote", row, as(person))))).toEqual([
      30,
      "FB429",
    ]);
    const one = await rpc("vote", { submission_id: submissions[35] }, as(person));
    expect(JSON.parse(JSON.parse(one.text).details)).toMatchObject({
      code: "RATE_LIMIT_EXCEEDED",
      retry_after: expect.any(Number),
    });
    expect(await votesOf(person)).toBe(30);
  });

  it("votes by API and by data API share one bucket", async () => {
    const person = await stack.person();
    for (const id of submissions.slice(0, 10)) {
      expect((await stack.call("POST", `/api/submissions/${id}/vote`, { token: person.token })).status).toBe(
        201,
      );
    }
    const calls = submissions
      .slice(10)
      .map((submission_id) => () => rpc("vote", { submission_id }, as(person)));
    expect(await callUntilLimited(calls)).toEqual([20, "FB429"]);
    const over = await stack.call("POST", `/api/submissions/${submissions[39]}/vote`, {
      token: person.token,
    });
    expect([over.status, await votesOf(person)]).toEqual([429, 30]);
  });

  it("20 comments are accepted and no more", async () => {
    const person = await stack.person();
    const calls = Array.from(
      { length: 22 },
      (_, n) => () =>
        rpc("create_comment", { submission_id: submissions[0], body: `Comment ${n}` }, as(person)),
    );
    expect(await callUntilLimited(calls)).toEqual([20, "FB429"]);
    const [count] = await stack.sql`select count(*)::int as n from comments where author_id = ${person.id}`;
    expect(count?.n).toBe(20);
  });

  it("10 edits and 10 deletions of own comments are accepted and no more", async () => {
    const person = await stack.person();
    const created = await stack.sql<{ id: string }[]>`
      insert into comments (submission_id, author_id, body)
      select ${submissions[1] ?? ""}, ${person.id}, 'Comment ' || n from generate_series(1, 11) n returning id`;
    const edits = created.map(
      ({ id }) =>
        () =>
          rpc("update_comment", { id, body: "All the same." }, as(person)),
    );
    expect(await callUntilLimited(edits)).toEqual([10, "FB429"]);
    const deletions = created.map(
      ({ id }) =>
        () =>
          rpc("delete_comment", { id }, as(person)),
    );
    expect(await callUntilLimited(deletions)).toEqual([10, "FB429"]);
    const left = await stack.sql`select body from comments where author_id = ${person.id}`;
    expect(left.map(({ body }) => body)).toEqual(["Comment 11"]);
  });

  it("deleting a comment with replies of others is charged as one deletion", async () => {
    const person = await stack.person();
    const [first] = await stack.sql<{ id: string }[]>`
      insert into comments (submission_id, author_id, body) values (${submissions[2] ?? ""}, ${person.id}, 'First') returning id`;
    await stack.sql`
      insert into comments (submission_id, author_id, body, parent_id)
      select ${submissions[2] ?? ""}, ${author.id}, 'Reply ' || n, ${first?.id ?? ""} from generate_series(1, 15) n`;
    await stack.sql`
      insert into comment_votes (comment_id, user_id)
      select c.id, ${author.id} from comments c where c.submission_id = ${submissions[2] ?? ""}`;
    expect((await rpc("delete_comment", { id: first?.id }, as(person))).text).toBe("true");
  });

  it("deleting an own submission is not charged for the votes and comments of others", async () => {
    const owner = await stack.person();
    const crowd = await stack.people(40);
    const id = await stack.submission(owner);
    await stack.sql`insert into votes (submission_id, user_id) select ${id}, unnest(${crowd.map((person) => person.id)}::uuid[])`;
    await stack.sql`insert into comments (submission_id, author_id, body) select ${id}, unnest(${crowd.map((person) => person.id)}::uuid[]), 'Said.'`;
    const answer = await rpc("delete_submission", { id }, as(owner));
    expect([answer.status, answer.text]).toEqual([200, "true"]);
    expect(await stack.sql`select 1 from votes where submission_id = ${id}`).toHaveLength(0);
  });

  it("concurrent requests cannot exceed the limit", async () => {
    const person = await stack.person();
    await Promise.all(submissions.map((submission_id) => rpc("vote", { submission_id }, as(person))));
    expect(await votesOf(person)).toBe(30);
  });
});

it("counters are exact afterwards", async () => {
  expect(await stack.sql`select * from private.count_discrepancies()`).toEqual([]);
});
