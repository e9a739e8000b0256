import { describe, expect, it } from "vitest";
import { submissionListAnswer } from "../../shared/submissions.ts";
import { sql } from "../stack.ts";
import { type Answer, api, expectError, expectJson } from "./client.ts";
import { longEnough, newOrganization, newSubmission, newUser, newUsers } from "./world.ts";

const total = 23;
const organization = await newOrganization();
const author = await newUser();
// Many have the same title and time, so that only the id distinguishes them.
await sql`insert into public.submissions (organization_id, author_id, title, description, type, created_at)
    select ${organization.id}, ${author.id}, 'Title number ' || n / 4, ${longEnough}, 'idea', timestamptz '2026-01-01' + n / 3 * interval '1 day'
    from generate_series(1, ${total}) n`;

const get = (query: string, on = organization) => api("GET", `/api/submissions?${query}`, { on });
const page = (answer: Answer) => expectJson(answer, 200, submissionListAnswer);

const busyBoard = await newOrganization();
const admin = await newUser("Olga", { organization: busyBoard, role: "admin" });
const busy = await newSubmission(busyBoard, author);
const voters = (await newUsers(total - 1)).map(({ id }) => id);
await sql`insert into public.votes (submission_id, user_id) select ${busy}, unnest(${voters}::uuid[])`;
await sql`insert into public.comments (submission_id, author_id, body)
    select submission_id, user_id, 'Yes' from public.votes where submission_id = ${busy}`;

it.each([
  ["/api/submissions?", "id", { on: organization }],
  ["/api/submissions/search?q=number&", "id", { on: organization }],
  [`/api/submissions/${busy}/comments?`, "id", {}],
  [`/api/submissions/${busy}/voters?`, "user_id", { as: admin }],
])("the pages of %s have each row once", async (path, key, call) => {
  const found: unknown[] = [];
  for (const n of [1, 2, 3, 4, 5]) {
    const { body } = await api("GET", `${path}limit=5&page=${n}`, call);
    const { data, meta } = body as { data: Record<string, unknown>[]; meta: { total: number } };
    expect(meta.total).toBe(total);
    found.push(...data.map((row) => row[key]));
  }
  expect([found.length, new Set(found).size]).toEqual([total, total]);
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
