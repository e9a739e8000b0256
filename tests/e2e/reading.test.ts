import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, it } from "vitest";
import { api, manyUsers, sql, stack } from "../stack.ts";
import { client, done } from "./web-app.ts";

const visitor = client();
const organization_id = stack.demo?.organization.id ?? "";

/** A board that no other test writes to: 12 submissions, every fourth planned, every third a problem. */
const board = { id: "", slug: `reading-${randomUUID().slice(0, 8)}` };
beforeAll(async () => {
  const [created] = await sql<{ id: string }[]>`
    insert into organizations (slug, name) values (${board.slug}, 'Board to read') returning id`;
  board.id = created?.id ?? "";
  // The author is a new user, because another test file could erase a shared one.
  const [author] = await manyUsers(1);
  await sql`
    insert into submissions (organization_id, author_id, title, description, type, status, created_at)
    select ${board.id}, ${author?.id ?? ""}::uuid, 'Idea number ' || n, 'One of twelve descriptions.',
      case when n % 3 = 0 then 'problem' else 'idea' end, case when n % 4 = 0 then 'planned' else 'open' end, now() - n % 5 * interval '1 hour'
    from generate_series(1, 12) n`;
});

describe("a visitor of a web app, without a session", () => {
  it("reads submissions with author, category and tags", async () => {
    const columns = "id,author:profiles!author_id(id,name,avatar_url),category:categories(*),tags(slug,name)";
    const board = visitor.from("submissions").select(columns).eq("organization_id", organization_id);
    const most = board.not("category_id", "is", null).order("vote_count", { ascending: false }).limit(5);
    const rows = done(await most);
    expect(rows).toHaveLength(5);
    for (const row of rows) {
      expect(row.author).toMatchObject({ id: expect.any(String), name: expect.any(String) });
      expect(row.category).toMatchObject({ slug: expect.any(String), translations: expect.any(Object) });
      expect(Array.isArray(row.tags)).toBe(true);
    }
    expect(rows.some((row) => row.tags.length > 0)).toBe(true);
  });

  it.each([
    ["words of the title", (q: Query) => q.ilike("title", "%number 1%"), 4],
    ["several statuses", (q: Query) => q.in("status", ["planned", "completed"]), 3],
    ["either of two conditions", (q: Query) => q.or("status.eq.planned,type.eq.problem"), 6],
    ["neither of two", (q: Query) => q.not("status", "eq", "planned").neq("type", "problem"), 6],
  ])("filters by %s and counts the matches", async (_, filter, expected) => {
    const all = visitor.from("submissions").select("id", { count: "exact" }).eq("organization_id", board.id);
    const { data, count, error } = await filter(all as never);
    expect(error).toBeNull();
    expect(count).toBe(expected);
    expect(data).toHaveLength(expected);
  });

  it.each([
    ["created_at", 0, 5],
    ["created_at", 10, 2],
    ["title", 0, 5],
    ["title", 10, 2],
  ])("reads a page by %s from %d in the order of the API", async (sort, from, length) => {
    const page = visitor.from("submissions").select("id").eq("organization_id", board.id);
    const order = page.order(sort, { ascending: false }).order("id", { ascending: false });
    const foreign = done(await order.range(from, from + 4));
    const path = `/api/submissions?sort=${sort}&limit=5&page=${from / 5 + 1}&organization=${board.slug}`;
    const own = await api<{ data: { id: string }[] }>(path);
    expect(foreign.map((row) => row.id)).toEqual(own.body.data.map((row) => row.id));
    expect(foreign).toHaveLength(length);
  });

  it("reads a thread: comments with their authors, replies by parent", async () => {
    const [busiest] = await sql<{ id: string; comment_count: number }[]>`
      select s.id, s.comment_count from submissions s where exists (select from comments c where c.submission_id = s.id and c.reply_count > 0)
      and s.is_public and s.organization_id = ${organization_id} order by comment_count desc limit 1`;
    const columns = "id,body,parent_id,reply_count,author:profiles!author_id(name)";
    const thread = visitor.from("comments").select(columns).eq("submission_id", busiest?.id);
    const comments = done(await thread.order("is_official", { ascending: false }).order("created_at"));
    expect(comments).toHaveLength(busiest?.comment_count ?? -1);
    for (const comment of comments) {
      expect(comments.filter((reply) => reply.parent_id === comment.id)).toHaveLength(comment.reply_count);
    }
  });

  it("reads history, votes without voters, categories, tags and the public columns of the organization", async () => {
    const history = visitor.from("status_changes").select("previous_status,new_status,note");
    expect(done(await history.limit(3))).toHaveLength(3);
    const [vote] = done(await visitor.from("votes").select("id,submission_id").limit(1));
    expect(Object.keys(vote ?? {})).toEqual(["id", "submission_id"]);
    for (const table of ["categories", "tags"]) {
      const rows = visitor.from(table).select("*").eq("organization_id", organization_id);
      expect(done(await rows).length, table).toBeGreaterThan(1);
    }
    const shown = { id: organization_id, slug: "demo", name: "Routewell", visibility: "public" };
    const columns = "id,slug,name,visibility";
    expect(done(await visitor.from("organizations").select(columns).eq("slug", "demo").single())).toEqual(shown);
  });
});

type Query = ReturnType<ReturnType<typeof visitor.from>["select"]>;
