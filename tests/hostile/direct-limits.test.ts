import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type OwnStack, type Person, startOwnStack } from "../own-stack.ts";
import { rest } from "./rest.ts";

// The real limits: 30 votes, 20 comments, 10 edits and 10 deletions an hour.
let stack: OwnStack;
let author: Person;
let submissions: string[];
beforeAll(async () => {
  stack = await startOwnStack();
  author = await stack.person();
  const made = await stack.sql<{ id: string }[]>`
    insert into submissions (organization_id, author_id, title, description, type)
    select ${stack.organization.id}, ${author.id}, 'Submission ' || n, 'A description that is long enough.', 'idea'
    from generate_series(1, 40) n returning id`;
  submissions = made.map(({ id }) => id);
});
afterAll(() => stack.remove());

const as = (person: Person) => ({ token: person.token, against: stack });
const votesOf = async (person: Person) =>
  (await stack.sql<{ n: number }[]>`select count(*)::int as n from votes where user_id = ${person.id}`)[0]?.n;

describe("a direct client is charged by the rows it touches", () => {
  it("30 votes in one insert pass, 31 do not, and change nothing", async () => {
    const [greedy, exact] = await stack.people(2);
    if (!greedy || !exact) throw new Error("nobody was made");
    const bulk = (count: number) => submissions.slice(0, count).map((submission_id) => ({ submission_id }));
    const tooMany = await rest("votes", { ...as(greedy), body: bulk(31) });
    expect(tooMany.code).toBe("FB429");
    expect(await votesOf(greedy)).toBe(0);
    const enough = await rest("votes", { ...as(exact), body: bulk(30) });
    expect([enough.status, await votesOf(exact)]).toEqual([201, 30]);
    const one = await rest("votes", { ...as(exact), body: { submission_id: submissions[35] } });
    expect(one.code).toBe("FB429");
    expect(JSON.parse(JSON.parse(one.text).details)).toMatchObject({
      code: "RATE_LIMIT_EXCEEDED",
      retry_after: expect.any(Number),
    });
  });

  it("votes by API and by data API come from one bucket", async () => {
    const person = await stack.person();
    for (const id of submissions.slice(0, 10)) {
      expect((await stack.call("POST", `/api/submissions/${id}/vote`, { token: person.token })).status).toBe(
        201,
      );
    }
    const rows = submissions.slice(10, 31).map((submission_id) => ({ submission_id }));
    expect((await rest("votes", { ...as(person), body: rows })).code).toBe("FB429");
    expect((await rest("votes", { ...as(person), body: rows.slice(1) })).status).toBe(201);
    const over = await stack.call("POST", `/api/submissions/${submissions[39]}/vote`, {
      token: person.token,
    });
    expect([over.status, await votesOf(person)]).toEqual([429, 30]);
  });

  it("21 comments in one insert are refused, 20 pass", async () => {
    const person = await stack.person();
    const rows = (count: number) =>
      Array.from({ length: count }, (_, n) => ({ submission_id: submissions[0], body: `Comment ${n}` }));
    expect((await rest("comments", { ...as(person), body: rows(21) })).code).toBe("FB429");
    expect((await rest("comments", { ...as(person), body: rows(20) })).status).toBe(201);
    expect((await rest("comments", { ...as(person), body: rows(1) })).code).toBe("FB429");
    const [count] = await stack.sql`select count(*)::int as n from comments where author_id = ${person.id}`;
    expect(count?.n).toBe(20);
  });

  it("an update or delete of 11 own comments is refused", async () => {
    const person = await stack.person();
    await stack.sql`
      insert into comments (submission_id, author_id, body)
      select ${submissions[1] ?? ""}, ${person.id}, 'Comment ' || n from generate_series(1, 11) n`;
    const mine = `comments?author_id=eq.${person.id}`;
    const edit = await rest(mine, { ...as(person), method: "PATCH", body: { body: "All the same." } });
    expect(edit.code).toBe("FB429");
    expect((await rest(mine, { ...as(person), method: "DELETE" })).code).toBe("FB429");
    const [left] =
      await stack.sql`select count(*)::int as n from comments where author_id = ${person.id} and body like 'Comment%'`;
    expect(left?.n).toBe(11);
    await stack.sql`delete from comments where author_id = ${person.id} and body = 'Comment 11'`;
    expect((await rest(mine, { ...as(person), method: "DELETE" })).status).toBe(204);
  });

  it("one comment whose thread of others goes along is one deletion", async () => {
    const person = await stack.person();
    const [first] = await stack.sql<{ id: string }[]>`
      insert into comments (submission_id, author_id, body) values (${submissions[2] ?? ""}, ${person.id}, 'First') returning id`;
    await stack.sql`
      insert into comments (submission_id, author_id, body, parent_id)
      select ${submissions[2] ?? ""}, ${author.id}, 'Reply ' || n, ${first?.id ?? ""} from generate_series(1, 15) n`;
    await stack.sql`
      insert into comment_votes (comment_id, user_id)
      select c.id, ${author.id} from comments c where c.submission_id = ${submissions[2] ?? ""}`;
    expect((await rest(`comments?id=eq.${first?.id}`, { ...as(person), method: "DELETE" })).status).toBe(204);
  });

  it("deleting one's own submission costs no deletion of the votes and comments of others", async () => {
    const owner = await stack.person();
    const crowd = await stack.people(40);
    const id = await stack.submission(owner);
    await stack.sql`insert into votes (submission_id, user_id) select ${id}, unnest(${crowd.map((person) => person.id)}::uuid[])`;
    await stack.sql`insert into comments (submission_id, author_id, body) select ${id}, unnest(${crowd.map((person) => person.id)}::uuid[]), 'Said.'`;
    const answer = await rest(`submissions?id=eq.${id}`, { ...as(owner), method: "DELETE" });
    expect(answer.status, answer.text).toBe(204);
    expect(await stack.sql`select 1 from votes where submission_id = ${id}`).toHaveLength(0);
  });

  it("many at once pass no more than the limit", async () => {
    const person = await stack.person();
    await Promise.all(
      submissions.map((submission_id) => rest("votes", { ...as(person), body: { submission_id } })),
    );
    expect(await votesOf(person)).toBe(30);
  });

  it("refused rows of a bulk insert are not told one from another", async () => {
    const person = await stack.person();
    const rows = submissions.map((submission_id) => ({ submission_id }));
    const answer = await rest("votes?select=id", {
      ...as(person),
      headers: { prefer: "return=representation" },
      body: rows,
    });
    expect([answer.code, answer.rows]).toEqual(["FB429", []]);
  });
});

it("counters are exact after all of it", async () => {
  expect(await stack.sql`select * from private.count_mistakes()`).toEqual([]);
});
