import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { api, sql, stack } from "../stack.ts";
import { client, done, idea, newcomer } from "./web-app.ts";

const ada = await newcomer("Ada");
const organization_id = stack.demo?.organization.id ?? "";

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
