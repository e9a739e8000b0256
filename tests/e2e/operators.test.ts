import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { api, sql, stack } from "../stack.ts";
import { client, demoOwner, done, expectError, idea, newcomer, submit } from "./web-app.ts";

const organization_id = stack.demo?.organization.id ?? "";
const [owner, ada] = await Promise.all([demoOwner(), newcomer("Ada")]);

describe("an admin with supabase-js", () => {
  it.each([
    ["with", { organization_id }],
    ["without", {}],
  ])("inserts a status change %s its organization, and everyone reads and receives it", async (_, named) => {
    const submission_id = await submit(ada);
    const change = { ...named, submission_id, new_status: "planned", note: "Next quarter." };
    const inserted = owner.app.from("status_changes").insert(change);
    expect(done(await inserted.select("previous_status,new_status,note").single())).toEqual({
      previous_status: "open",
      new_status: "planned",
      note: "Next quarter.",
    });
    const { body } = await api<{ data: { status: string } }>(`/api/submissions/${submission_id}`);
    expect(body.data.status).toBe("planned");
    expect(done(await ada.app.from("notifications").select("type").eq("submission_id", submission_id))).toEqual([
      { type: "status_changed" },
    ]);
  });

  it("cannot set the status duplicate directly", async () => {
    const change = { submission_id: await submit(ada), new_status: "duplicate" };
    const outcome = await owner.app.from("status_changes").insert(change);
    expectError(outcome, "FB400", { code: "VALIDATION_ERROR", field: "status" });
  });

  it("adds and removes tags", async () => {
    const submission_id = await submit(ada);
    const tags = owner.app.from("tags").select("id,slug").eq("organization_id", organization_id);
    const { id: tag_id, slug } = done(await tags.limit(1).single());
    const row = { organization_id, submission_id, tag_id };
    expect((await owner.app.from("submission_tags").insert(row)).error).toBeNull();
    const { body } = await api<{ data: { tags: string[] } }>(`/api/submissions/${submission_id}`);
    expect(body.data.tags).toEqual([slug]);
    expect((await owner.app.from("submission_tags").delete().match(row)).error).toBeNull();
    expect(await sql`select 1 from submission_tags where submission_id = ${submission_id}`).toHaveLength(0);
  });
});

describe("the secret key", () => {
  const service = client(stack.secret_key);

  it.each([
    "organizations",
    "memberships",
    "categories",
    "tags",
    "submission_tags",
    "comments",
    "comment_votes",
    "follows",
    "notifications",
    "status_changes",
    "votes",
    "profiles",
  ])("reads %s with all columns", async (table) => {
    expect(done(await service.from(table).select("*").limit(1))).toHaveLength(1);
  });

  it("writes, and triggers update the counters", async () => {
    const other = await newcomer("Other");
    const mine = { ...idea(), author_id: ada.id, organization_id };
    const { id: submission_id } = done(await service.from("submissions").insert(mine).select("id").single());
    const of = { submission_id, organization_id };
    const said = { ...of, author_id: other.id, body: "By hand." };
    expect((await service.from("votes").insert({ ...of, user_id: other.id })).error).toBeNull();
    expect((await service.from("comments").insert(said)).error).toBeNull();
    expect(await sql`select vote_count, comment_count from submissions where id = ${submission_id}`).toEqual([
      { vote_count: 2, comment_count: 1 },
    ]);
    expect((await service.from("submissions").delete().eq("id", submission_id)).error).toBeNull();
    const slug = `made-${randomUUID().slice(0, 8)}`;
    expect((await service.from("tags").insert({ organization_id, name: "Made", slug })).error).toBeNull();
    expect((await service.from("tags").delete().eq("slug", slug)).error).toBeNull();
  });

  it("is not a key of the API", async () => {
    expect((await api("/api/submissions", { token: stack.secret_key })).status).toBe(401);
  });
});
