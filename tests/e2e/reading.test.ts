import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, it } from "vitest";
import { api, manyUsers, sql, stack } from "../stack.ts";
import { client, done, expectCode, newcomer, type Person, say, submit } from "./web-app.ts";

const visitor = client();
const organization_id = stack.demo?.organization.id ?? "";

/** A board that no other test writes to: 12 submissions, every fourth planned, every third a problem. */
const board = { id: "", slug: `reading-${randomUUID().slice(0, 8)}` };
beforeAll(async () => {
  const [created] = await sql<{ id: string }[]>`
    insert into organizations (slug, name) values (${board.slug}, 'Board to read') returning id`;
  board.id = created?.id ?? "";
  // Not of somebody whom another file may erase.
  const [author] = await manyUsers(1);
  await sql`
    insert into submissions (organization_id, author_id, title, description, type, status, created_at)
    select ${board.id}, ${author?.id ?? ""}::uuid, 'Idea number ' || n, 'One of twelve descriptions.',
      case when n % 3 = 0 then 'problem' else 'idea' end, case when n % 4 = 0 then 'planned' else 'open' end, now() - n % 5 * interval '1 hour'
    from generate_series(1, 12) n`;
});

describe("a visitor of a web app, without a session", () => {
  it("reads submissions with author, category and tags", async () => {
    const rows = done(
      await visitor
        .from("submissions")
        .select(
          "id,title,status,vote_count,author:profiles!author_id(id,name,avatar_url),category:categories(*),tags(slug,name)",
        )
        .eq("organization_id", organization_id)
        .not("category_id", "is", null)
        .order("vote_count", { ascending: false })
        .limit(5),
    ) as unknown as {
      title: string;
      author: { id: string; name: string };
      category: { slug: string; translations: object };
      tags: { slug: string }[];
    }[];
    expect(rows).toHaveLength(5);
    for (const row of rows) {
      expect(row.author).toMatchObject({ id: expect.any(String), name: expect.any(String) });
      expect(row.category).toMatchObject({ slug: expect.any(String), translations: expect.any(Object) });
      expect(Array.isArray(row.tags)).toBe(true);
    }
    expect(rows.some((row) => row.tags.length > 0)).toBe(true);
  });

  it.each([
    ["status", (q: Query) => q.eq("status", "planned"), 3],
    ["type", (q: Query) => q.eq("type", "problem"), 4],
    ["words of the title", (q: Query) => q.ilike("title", "%number 1%"), 4],
    ["several statuses", (q: Query) => q.in("status", ["planned", "open"]), 12],
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
    ["created_at", "created_at"],
    ["title", "title"],
  ])("reads pages by %s in the order of the API", async (column, sort) => {
    for (const [page, from] of [
      [1, 0],
      [3, 10],
    ] as const) {
      const [foreign, own] = await Promise.all([
        visitor
          .from("submissions")
          .select("id")
          .eq("organization_id", board.id)
          .order(column, { ascending: false })
          .order("id", { ascending: false })
          .range(from, from + 4),
        api<{ data: { id: string }[] }>(
          `/api/submissions?sort=${sort}&limit=5&page=${page}&organization=${board.slug}`,
        ),
      ]);
      expect(done(foreign).map((row) => row.id)).toEqual(own.body.data.map((row) => row.id));
      expect(own.body.data).toHaveLength(from === 0 ? 5 : 2);
    }
  });

  it("reads a thread: comments with their authors, replies by parent", async () => {
    const [busiest] = await sql<{ id: string; comment_count: number }[]>`
      select s.id, s.comment_count from submissions s where exists (select from comments c where c.submission_id = s.id and c.reply_count > 0)
      and s.is_public and s.organization_id = ${organization_id} order by comment_count desc limit 1`;
    const comments = done(
      await visitor
        .from("comments")
        .select("id,body,parent_id,is_official,reply_count,author:profiles!author_id(name)")
        .eq("submission_id", busiest?.id)
        .order("is_official", { ascending: false })
        .order("created_at"),
    );
    expect(comments).toHaveLength(busiest?.comment_count ?? -1);
    for (const comment of comments) {
      expect(comments.filter((reply) => reply.parent_id === comment.id)).toHaveLength(comment.reply_count);
    }
  });

  it("reads history, votes without voters, categories, tags and the public columns of the organization", async () => {
    expect(
      done(await visitor.from("status_changes").select("previous_status,new_status,note").limit(3)),
    ).toHaveLength(3);
    const [vote] = done(await visitor.from("votes").select("id,submission_id,created_at").limit(1));
    expect(Object.keys(vote ?? {})).toEqual(["id", "submission_id", "created_at"]);
    expect(
      done(await visitor.from("categories").select("*").eq("organization_id", organization_id)).length,
    ).toBeGreaterThan(1);
    expect(
      done(await visitor.from("tags").select("*").eq("organization_id", organization_id)).length,
    ).toBeGreaterThan(1);
    const shown = await visitor
      .from("organizations")
      .select("id,slug,name,visibility")
      .eq("slug", "demo")
      .single();
    expect(done(shown)).toEqual({
      id: organization_id,
      slug: "demo",
      name: "Routewell",
      visibility: "public",
    });
  });

  it("cannot write, vote or read its own votes", async () => {
    const [shown] = done(await visitor.from("submissions").select("id").limit(1));
    for (const outcome of [
      await visitor.rpc("create_submission", {
        title: "From nobody",
        description: "Nobody wrote this text.",
        type: "idea",
      }),
      await visitor.rpc("vote", { submission_id: shown?.id }),
      await visitor.rpc("create_comment", { submission_id: shown?.id, body: "From nobody" }),
      await visitor.rpc("update_submission", { id: shown?.id, changes: { title: "Changed by nobody" } }),
      await visitor.rpc("delete_submission", { id: shown?.id }),
      await visitor.rpc("my_votes", { submission_ids: [shown?.id] }),
      await visitor.from("votes").insert({ submission_id: shown?.id }),
      await visitor.from("submissions").delete().eq("id", shown?.id),
    ]) {
      expectCode(outcome, "42501");
      expect(outcome.status).toBe(401);
    }
  });
});

describe("a reader's view", () => {
  let author: Person;
  beforeAll(async () => {
    author = await newcomer("Ada Author");
  });

  it("has a new submission with one vote immediately, through every interface", async () => {
    const { id } = await submit(author);
    const direct = await visitor
      .from("submissions")
      .select("id,vote_count,author:profiles!author_id(name)")
      .eq("id", id)
      .single();
    expect(done(direct)).toEqual({ id, vote_count: 1, author: { name: "Ada Author" } });
    const detail = await api<{ data: object }>(`/api/submissions/${id}?expand=author`);
    expect(detail.body.data).toMatchObject({
      id,
      vote_count: 1,
      author: { id: author.id, name: "Ada Author" },
    });
  });

  it("has the same number of comments embedded and counted", async () => {
    const { id } = await submit(author);
    const first = await say(author, id);
    await say(author, id, first.id);
    const shown = await visitor
      .from("submissions")
      .select("comment_count,comments(count)")
      .eq("id", id)
      .single();
    expect(done(shown)).toEqual({ comment_count: 2, comments: [{ count: 2 }] });
  });
});

type Query = ReturnType<ReturnType<typeof visitor.from>["select"]>;
