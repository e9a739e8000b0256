import { describe, expect, it } from "vitest";
import { commentListAnswer } from "../../shared/comments.ts";
import { submissionListAnswer, submissionSearchAnswer } from "../../shared/submissions.ts";
import { voterListAnswer } from "../../shared/votes.ts";
import { sql } from "../stack.ts";
import { type Answer, api, expectError, expectJson, getJson } from "./client.ts";
import { longEnough, newOrganization, newSubmission, newUser, newUsers } from "./world.ts";

const total = 23;
const organization = await newOrganization();
const author = await newUser();
const admin = await newUser("Olga", { organization, role: "admin" });
// Many have the same title and time, so that only the id distinguishes them.
await sql`insert into public.submissions (organization_id, author_id, title, description, type, created_at)
    select ${organization.id}, ${author.id}, 'Title number ' || n / 4, ${longEnough}, 'idea', timestamptz '2026-01-01' + n / 3 * interval '1 day'
    from generate_series(1, ${total}) n`;

const get = (query: string, on = organization) => api("GET", `/api/submissions?${query}`, { on });
const page = (answer: Answer) => expectJson(answer, 200, submissionListAnswer);

describe("pages", () => {
  it("cover the list without gaps or duplicates", async () => {
    const ids: string[] = [];
    for (const n of [1, 2, 3, 4, 5]) ids.push(...page(await get(`limit=5&page=${n}`)).data.map(({ id }) => id));
    expect(new Set(ids).size).toBe(total);
  });
});

describe("page and limit of the other lists", () => {
  it("paginate a search", async () => {
    const hits: string[] = [];
    for (const n of [1, 2, 3]) {
      const found = await getJson(`/api/submissions/search?q=number&limit=10&page=${n}`, submissionSearchAnswer, {
        on: organization,
      });
      expect(found.meta).toMatchObject({ query: "number", total, match: "all" });
      hits.push(...found.data.map(({ id }) => id));
    }
    expect(new Set(hits).size).toBe(total);
  });

  it("paginate comments and voters", async () => {
    const id = await newSubmission(organization, author, { title: "Something busy" });
    const people = await newUsers(6);
    for (const person of people) {
      await sql`insert into public.votes (submission_id, user_id) values (${id}, ${person.id})`;
      await sql`insert into public.comments (submission_id, author_id, body) values (${id}, ${person.id}, 'Yes')`;
    }
    const comments: string[] = [];
    const voters: string[] = [];
    for (const n of [1, 2, 3]) {
      const listed = await getJson(`/api/submissions/${id}/comments?limit=3&page=${n}`, commentListAnswer);
      const voted = await getJson(`/api/submissions/${id}/voters?limit=3&page=${n}`, voterListAnswer, { as: admin });
      expect([listed.meta.total, voted.meta.total]).toEqual([6, 7]);
      comments.push(...listed.data.map((comment) => comment.author.id));
      voters.push(...voted.data.map(({ user_id }) => user_id));
    }
    expect(comments.sort()).toEqual(people.map((person) => person.id).sort());
    expect(voters.sort()).toEqual([author.id, ...people.map((person) => person.id)].sort());
  });
});

describe("cursors", () => {
  const sorts = ["created_at", "votes", "comments", "title"] as const;
  const combinations = sorts.flatMap((sort) => (["asc", "desc"] as const).map((order) => [sort, order] as const));

  it.each(combinations)("by %s %s return every row exactly once while others are inserted", async (sort, order) => {
    const board = await newOrganization();
    const voters = await newUsers(3);
    await sql`insert into public.submissions (organization_id, author_id, title, description, type, created_at)
      select ${board.id}, ${author.id}, 'Títle "' || n / 3 || '" 😀', ${longEnough}, 'idea', timestamptz '2026-01-01' + n / 2 * interval '1 microsecond'
      from generate_series(1, 17) n`;
    await sql`insert into public.votes (submission_id, user_id)
      select s.id, v.id from unnest(${voters.map(({ id }) => id)}::uuid[]) with ordinality v (id, n)
      join (select id, row_number() over (order by id) as n from public.submissions where organization_id = ${board.id}) s on s.n % 4 >= v.n`;
    const there = await sql<{ id: string }[]>`select id from public.submissions where organization_id = ${board.id}`;
    const seen: string[] = [];
    let cursor: string | null | undefined;
    for (let step = 0; step < 30; step++) {
      const { data, meta } = page(
        await get(`sort=${sort}&order=${order}&limit=4${cursor ? `&cursor=${cursor}` : ""}`, board),
      );
      seen.push(...data.map(({ id }) => id));
      cursor = meta.next_cursor;
      expect(meta.has_next).toBe(cursor !== null);
      if (!cursor) break;
      // Before and after every possible cursor position.
      await newSubmission(board, author, { title: "Aaaaa", created_at: new Date(0) });
      await newSubmission(board, author, { title: "Zzzzz" });
    }
    expect(cursor).toBeNull();
    expect(new Set(seen).size).toBe(seen.length);
    const early = new Set(seen);
    expect(there.filter(({ id }) => !early.has(id))).toEqual([]);
  });

  it("start after page 1", async () => {
    const first = page(await get("limit=10"));
    const second = page(await get(`limit=10&cursor=${first.meta.next_cursor}`));
    expect(second.data).toEqual(page(await get("limit=10&page=2")).data);
    expect(second.meta).toMatchObject({ total: first.meta.total, has_next: true, has_prev: true });
  });

  it("keep the filters of their list", async () => {
    const first = page(await get("limit=2&q=number%205"));
    expect(first.meta.total).toBe(4);
    const second = page(await get(`limit=2&q=number%205&cursor=${first.meta.next_cursor}`));
    expect([...first.data, ...second.data].map(({ title }) => title)).toEqual(Array(4).fill("Title number 5"));
    expect(second.meta.next_cursor).toBeNull();
  });

  it("are rejected with another sort or order", async () => {
    const { meta } = page(await get("limit=2&sort=votes"));
    for (const query of ["sort=title", "sort=created_at", "", "sort=votes&order=asc"]) {
      expectError(await get(`${query}&cursor=${meta.next_cursor}`), "VALIDATION_ERROR", "cursor");
    }
  });

  const forged = (parts: unknown) => Buffer.from(JSON.stringify(parts)).toString("base64url");
  const id = "00000000-0000-4000-8000-000000000000";
  it.each([
    ["no base64", "%"],
    ["no JSON", "AAAA"],
    ["not an array", forged({})],
    ["too short", forged(["created_at", "desc"])],
    ["a time that is none", forged(["created_at", "desc", "yesterday", id])],
    ["a month that is none", forged(["created_at", "desc", "2026-13-45 00:00:00+00", id])],
    ["an id that is none", forged(["created_at", "desc", "2026-01-01 00:00:00+00", "-".repeat(36)])],
    ["a number too large", forged(["votes", "desc", "99999999999", id]), "votes"],
    ["a sort that is none", forged(["toString", "desc", "1", id])],
    ["SQL", forged(["created_at", "desc", "2026-01-01 00:00:00+00'; --", id])],
    ["very long", "A".repeat(2001)],
  ])("are rejected when %s", async (_, cursor, sort = "created_at") => {
    expectError(await get(`sort=${sort}&cursor=${cursor}`), "VALIDATION_ERROR", "cursor");
  });
});
