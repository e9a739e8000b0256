import { describe, expect, it } from "vitest";
import { submissionListAnswer, submissionStatuses } from "../../shared/submissions.ts";
import { sql } from "../stack.ts";
import { api, type Caller, expectError, expectJson, getJson } from "./client.ts";
import {
  longEnough,
  merge,
  newComment,
  newKey,
  newOrganization,
  newSubmission,
  newUser,
  newUsers,
  type User,
} from "./world.ts";

const categories: Record<string, string> = {};

// The rows are in the order of creation; the additional votes and comments are by people other than the author.
const board = [
  { title: "Bigger buttons", type: "idea", by: "ada", category: "mobile", tags: ["design"], votes: 3, comments: 1 },
  {
    title: "Crash on start",
    type: "problem",
    by: "ben",
    category: "mobile",
    tags: ["speed", "bug"],
    votes: 1,
    comments: 0,
  },
  {
    title: "Dark theme",
    type: "idea",
    by: "ben",
    category: "web",
    tags: ["design"],
    votes: 4,
    comments: 2,
    status: "planned",
  },
  {
    title: "Export to CSV",
    type: "idea",
    by: "ada",
    category: null,
    tags: [],
    votes: 1,
    comments: 0,
    status: "in_progress",
  },
  { title: "Alarm is late", type: "problem", by: "ada", category: "web", tags: ["bug"], votes: 2, comments: 3 },
] as const;
const organization = await newOrganization();
const [ada, ben] = (await newUsers(2)) as [User, User];
const admin = await newUser("Olga", { organization, role: "owner" });
const voters = await newUsers(4);
for (const slug of ["mobile", "web"]) {
  const [created] = await sql<[{ id: string }]>`
      insert into public.categories (organization_id, name, slug) values (${organization.id}, ${slug}, ${slug}) returning id`;
  categories[slug] = created.id;
}
for (const slug of ["design", "speed", "bug"]) {
  await sql`insert into public.tags (organization_id, name, slug) values (${organization.id}, ${slug}, ${slug})`;
}
for (const [index, row] of board.entries()) {
  const id = await newSubmission(organization, row.by === "ada" ? ada : ben, {
    title: row.title,
    type: row.type,
    category_id: row.category && (categories[row.category] ?? null),
    created_at: new Date(Date.UTC(2026, 0, 1 + index)),
  });
  await sql`insert into public.submission_tags (organization_id, submission_id, tag_id)
      select ${organization.id}, ${id}, t.id from public.tags t where t.organization_id = ${organization.id} and t.slug = any (${[...row.tags]})`;
  for (const voter of voters.slice(0, row.votes - 1)) {
    await sql`insert into public.votes (submission_id, user_id) values (${id}, ${voter.id})`;
  }
  for (let n = 0; n < row.comments; n++) await newComment(id, voters[n] as User);
  if ("status" in row) {
    await sql`insert into public.status_changes (submission_id, new_status, changed_by) values (${id}, ${row.status}, ${admin.id})`;
  }
}

const list = async (query = "", as?: User) =>
  await getJson(`/api/submissions${query}`, submissionListAnswer, { as, on: organization });
const titles = async (query: string) => (await list(query)).data.map(({ title }) => title);

describe("the list of submissions", () => {
  it("returns every submission with all of its fields, newest first", async () => {
    const { data, meta } = await list();
    expect(data.map(({ title }) => title)).toEqual(board.map(({ title }) => title).toReversed());
    expect(meta).toEqual({
      page: 1,
      limit: 50,
      total: 5,
      total_pages: 1,
      has_next: false,
      has_prev: false,
      next_cursor: null,
    });
    expect(data.at(-1)).toEqual({
      id: expect.any(String),
      title: "Bigger buttons",
      description: expect.any(String),
      type: "idea",
      status: "open",
      vote_count: 3,
      comment_count: 1,
      author_id: ada.id,
      category_id: categories.mobile,
      tags: ["design"],
      created_at: "2026-01-01T00:00:00+00:00",
      updated_at: expect.any(String),
    });
  });

  it("returns the slugs of all tags of each", async () => {
    const { data } = await list();
    expect(data.map(({ tags }) => tags)).toEqual(board.map(({ tags }) => [...tags].sort()).toReversed());
  });

  it("expands authors, categories and tags in place of their ids and slugs", async () => {
    await sql`update public.tags set translations = '{"fr": "Conception"}' where organization_id = ${organization.id} and slug = 'design'`;
    const asked = await api("GET", "/api/submissions?expand=author,category,tags", {
      on: organization,
      headers: { "Accept-Language": "fr" },
    });
    const { data } = expectJson(asked, 200, submissionListAnswer);
    expect(asked.headers["content-language"]).toBe("fr");
    const plain = (await list()).data;
    for (const [index, { author_id, category_id, tags: _, ...same }] of plain.entries()) {
      const { author, category, tags, ...rest } = data[index] ?? {};
      expect(rest).toEqual(same);
      expect([author?.id, author?.is_team_member]).toEqual([author_id, false]);
      expect(category?.id ?? null).toBe(category_id);
      const detail = await api("GET", `/api/submissions/${same.id}?expand=author,category,tags`, {
        headers: { "Accept-Language": "fr" },
      });
      expect(detail.body).toMatchObject({ data: { author, category, tags } });
    }
    expect(data.at(-1)?.tags).toEqual([{ name: "Conception", slug: "design" }]);
    const ofOne = (await list("?expand=author")).data.at(-1);
    expect(ofOne).toMatchObject({ author: { id: ada.id }, category_id: categories.mobile, tags: ["design"] });
    expect(ofOne).not.toHaveProperty("author_id");
  });

  it("is the same for an anonymous caller", async () => {
    expect(await list("", await newUser())).toEqual(await list());
  });

  const named = (...names: (typeof board)[number]["title"][]) => names;
  it.each([
    ["status=open", named("Alarm is late", "Crash on start", "Bigger buttons")],
    ["status=planned", named("Dark theme")],
    ["status=in_progress", named("Export to CSV")],
    ["status=completed", named()],
    ["type=idea", named("Export to CSV", "Dark theme", "Bigger buttons")],
    ["type=problem", named("Alarm is late", "Crash on start")],
    ["category=mobile", named("Crash on start", "Bigger buttons")],
    ["category=nothing-such", named()],
    ["tag=design", named("Dark theme", "Bigger buttons")],
    ["tag=bug", named("Alarm is late", "Crash on start")],
    ["tag=nothing-such", named()],
    ["q=theme", named("Dark theme")],
    ["q=crash", named("Crash on start")],
    ["q=nowhere", named()],
    ["type=problem&category=web", named("Alarm is late")],
    ["type=idea&status=open&tag=design", named("Bigger buttons")],
    ["category=mobile&q=start", named("Crash on start")],
    ["tag=design&status=in_progress", named()],
  ])("filtered by %s", async (query, expected) => {
    const { data, meta } = await list(`?${query}`);
    expect(data.map(({ title }) => title)).toEqual(expected);
    expect(meta.total).toBe(expected.length);
  });

  it("filtered by a category's id, in upper case too, and by an author's", async () => {
    expect(await titles(`?category=${categories.mobile}`)).toEqual(["Crash on start", "Bigger buttons"]);
    expect(await titles(`?category=${categories.mobile?.toUpperCase()}`)).toEqual(["Crash on start", "Bigger buttons"]);
    expect(await titles(`?author=${ben.id}`)).toEqual(["Dark theme", "Crash on start"]);
    expect(await titles(`?author=${ben.id}&type=idea`)).toEqual(["Dark theme"]);
    expect(await titles("?author=00000000-0000-4000-8000-000000000000")).toEqual([]);
  });

  it.each([
    ["sort=created_at&order=asc", board.map(({ title }) => title)],
    ["sort=created_at", board.map(({ title }) => title).toReversed()],
    ["sort=title&order=asc", ["Alarm is late", "Bigger buttons", "Crash on start", "Dark theme", "Export to CSV"]],
    ["sort=title", ["Export to CSV", "Dark theme", "Crash on start", "Bigger buttons", "Alarm is late"]],
    ["order=asc", board.map(({ title }) => title)],
  ])("sorted by %s", async (query, expected) => {
    expect(await titles(`?${query}`)).toEqual(expected);
  });

  it.each([
    ["votes", "vote_count"],
    ["comments", "comment_count"],
  ] as const)("sorted by %s, most or fewest first", async (sort, field) => {
    const descending = board.map((row) => row[sort]).toSorted((a, b) => b - a);
    expect((await list(`?sort=${sort}`)).data.map((row) => row[field])).toEqual(descending);
    expect((await list(`?sort=${sort}&order=asc`)).data.map((row) => row[field])).toEqual(descending.toReversed());
  });

  it("sorts titles as people do, at pages and cursors", async () => {
    const words = ["apple", "Apple", "Banana", "Éclair", "éclair", "Fudge", "zebra", "Ärger", "日本"];
    const inOrder = ["apple", "Apple", "Ärger", "Banana", "éclair", "Éclair", "Fudge", "zebra", "日本"];
    const bakery = await newOrganization();
    for (const word of words) await newSubmission(bakery, ada, { title: `${word} pie wanted` });
    for (const order of ["asc", "desc"]) {
      const read: string[] = [];
      let cursor = "";
      do {
        const { data, meta } = await getJson(
          `/api/submissions?sort=title&order=${order}&limit=2${cursor}`,
          submissionListAnswer,
          { on: bakery },
        );
        read.push(...data.map(({ title }) => title.split(" ")[0] ?? ""));
        cursor = meta.next_cursor ? `&cursor=${meta.next_cursor}` : "";
      } while (cursor);
      expect(read).toEqual(order === "asc" ? inOrder : inOrder.toReversed());
    }
  });

  it("includes a new submission immediately", async () => {
    const busy = await newOrganization();
    await newSubmission(busy, ada, { title: "Brand new" });
    const { data } = await getJson("/api/submissions", submissionListAnswer, { on: busy });
    expect(data.map(({ title }) => title)).toEqual(["Brand new"]);
  });

  it("excludes merged submissions", async () => {
    const tidy = await newOrganization();
    const target = await newSubmission(tidy, ada, { title: "The target" });
    await merge(await newSubmission(tidy, ben, { title: "The source" }), target);
    const { data, meta } = await getJson("/api/submissions", submissionListAnswer, { on: tidy });
    expect([data.map(({ id }) => id), meta.total]).toEqual([[target], 1]);
  });

  it("has a total of the rows visible to the caller, for every filter and after every change", async () => {
    const board = await newOrganization({ require_approval: true });
    const [category] = await sql<[{ id: string }]>`
      insert into public.categories (organization_id, name, slug) values (${board.id}, 'Web', 'web') returning id`;
    const admin = await newUser("Adam", { organization: board, role: "admin" });
    const member = await newUser("Mia", { organization: board, role: "member" });
    const key = await newKey(board, ["submissions:read", "submissions:write"]);
    const body = { title: "Something", description: longEnough, type: "idea" };
    const post = async (as: Caller, more = {}) => {
      const answer = await api("POST", "/api/submissions", { as, on: board, body: { ...body, ...more } });
      return (answer.body as { data: { id: string } }).data.id;
    };
    const pending = [
      await post(ada),
      await post(ada, { category_id: category.id }),
      await post(ben, { type: "problem" }),
    ];
    const open = [
      await post(member),
      await post(member, { type: "problem", category_id: category.id }),
      await post(member),
    ];
    const change = (id: string | undefined, status: string) =>
      api("PATCH", `/api/submissions/${id}/status`, { as: admin, body: { status } });
    await change(open[0], "planned");
    await change(pending[1], "planned");
    await merge(String(open[2]), String(open[1]));
    const moderate = (id: string | undefined, state: string) =>
      sql`update public.submissions set moderation_state = ${state} where id = ${String(id)}`;

    const check = async () => {
      for (const as of [undefined, ada, ben, member, admin, key]) {
        for (const query of [
          "",
          "status=open",
          "status=planned",
          "type=idea",
          "type=problem",
          "category=web",
          "type=idea&status=open&category=web",
        ]) {
          const answer = await api("GET", `/api/submissions?limit=100&${query}`, { as, on: board });
          const { data, meta } = expectJson(answer, 200, submissionListAnswer);
          expect(meta.total, query).toBe(data.length);
        }
      }
    };
    const total = async (as?: Caller) =>
      (await getJson("/api/submissions", submissionListAnswer, { as, on: board })).meta.total;
    await check();
    expect([await total(), await total(ada), await total(ben), await total(member), await total(key)]).toEqual([
      2, 4, 3, 5, 5,
    ]);
    await moderate(pending[0], "approved");
    await moderate(pending[2], "spam");
    await api("PATCH", `/api/submissions/${pending[0]}`, { as: ada, body: { category_id: category.id } });
    await check();
    expect([await total(), await total(ada), await total(ben), await total(member)]).toEqual([3, 4, 4, 5]);
    await sql`delete from public.categories where id = ${category.id}`;
    await api("DELETE", `/api/submissions/${open[0]}`, { as: admin });
    await check();
    expect(await total()).toBe(2);
    await sql`update public.organizations set visibility = 'private' where id = ${board.id}`;
    expect([await total(member), await total(key)]).toEqual([4, 4]);
    await sql`update public.organizations set visibility = 'public' where id = ${board.id}`;
    await check();
    expect(await total()).toBe(2);
  });

  it("is empty for an organization without submissions", async () => {
    const { data, meta } = await getJson("/api/submissions", submissionListAnswer, { on: await newOrganization() });
    expect(data).toEqual([]);
    expect(meta).toMatchObject({ total: 0, total_pages: 0, has_next: false, has_prev: false, next_cursor: null });
  });

  it.each(submissionStatuses)("accepts the status %s as a filter", async (status) => {
    await list(`?status=${status}`);
  });

  it.each([
    ["status=nonsense", "status"],
    ["type=question", "type"],
    ["author=me", "author"],
    ["category=no%20such", "category"],
    ["tag=No_Slug", "tag"],
    ["sort=author", "sort"],
    ["sort=created_at;drop", "sort"],
    ["order=down", "order"],
    ["expand=author,votes", "expand"],
    ["expand=comments", "expand"],
    [`q=${"x".repeat(201)}`, "q"],
    ["q=%00", "q"],
  ])("rejects %s", async (query, field) => {
    expectError(await api("GET", `/api/submissions?${query}`, { on: organization }), "VALIDATION_ERROR", field);
  });

  it("returns every invalid field", async () => {
    expectError(
      await api("GET", "/api/submissions?page=0&limit=101&type=x&sort=y", { on: organization }),
      "VALIDATION_ERROR",
      "limit",
      "page",
      "sort",
      "type",
    );
  });

  it("ignores unknown parameters", async () => {
    expect(await titles("?type=problem&colour=red&page_size=1")).toEqual(["Alarm is late", "Crash on start"]);
  });
});
