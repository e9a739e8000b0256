import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { api, sql, stack } from "../stack.ts";
import {
  client,
  counts,
  demoUser,
  done,
  expectCode,
  expectError,
  idea,
  newcomer,
  type Person,
  say,
  submit,
} from "./web-app.ts";

const organization_id = stack.demo?.organization.id ?? "";
const [owner, member, ada] = await Promise.all([demoUser("owner"), demoUser("member"), newcomer("Ada")]);

describe("an admin with supabase-js", () => {
  it("changes a status by inserting a status change, and everyone reads and receives it", async () => {
    const { id } = await submit(ada);
    const change = { submission_id: id, organization_id, new_status: "planned", note: "Next quarter." };
    const created = done(
      await owner.app
        .from("status_changes")
        .insert(change)
        .select("previous_status,new_status,note")
        .single(),
    );
    expect(created).toEqual({ previous_status: "open", new_status: "planned", note: "Next quarter." });
    const { body } = await api<{ data: { status: string } }>(`/api/submissions/${id}`);
    expect(body.data.status).toBe("planned");
    expect(done(await ada.app.from("notifications").select("type").eq("submission_id", id))).toEqual([
      { type: "status_changed" },
    ]);
  });

  it("does not have to select an organization", async () => {
    const { id } = await submit(ada);
    expect(
      (await owner.app.from("status_changes").insert({ submission_id: id, new_status: "declined" })).error,
    ).toBeNull();
    expect(await sql`select status from submissions where id = ${id}`).toEqual([{ status: "declined" }]);
  });

  it("cannot set the status duplicate directly", async () => {
    const { id } = await submit(ada);
    const outcome = await owner.app
      .from("status_changes")
      .insert({ submission_id: id, new_status: "duplicate" });
    expectError(outcome, "FB400", { code: "VALIDATION_ERROR", field: "status" });
  });

  it("adds and removes tags", async () => {
    const { id } = await submit(ada);
    const [tag] = done(
      await owner.app.from("tags").select("id,slug").eq("organization_id", organization_id).limit(1),
    );
    const row = { organization_id, submission_id: id, tag_id: tag?.id };
    expect((await owner.app.from("submission_tags").insert(row)).error).toBeNull();
    const { body } = await api<{ data: { tags: string[] } }>(`/api/submissions/${id}`);
    expect(body.data.tags).toEqual([tag?.slug]);
    expect((await owner.app.from("submission_tags").delete().match(row)).error).toBeNull();
    expect(await sql`select 1 from submission_tags where submission_id = ${id}`).toHaveLength(0);
  });

  it("sets the issue link, edits and deletes submissions of others", async () => {
    const { id } = await submit(ada);
    const comment = await say(ada, id);
    const edit = { tracker_issue_url: "https://tracker.example/42", title: "A title by the admin" };
    expect(done(await owner.app.rpc("update_submission", { id, changes: edit }))).toBe(true);
    expect(await sql`select tracker_issue_url, title from submissions where id = ${id}`).toEqual([edit]);
    expect(done(await owner.app.rpc("update_comment", { id: comment.id, body: "Not mine." }))).toBe(false);
    expect(done(await owner.app.rpc("delete_comment", { id: comment.id }))).toBe(true);
    expect(done(await owner.app.rpc("delete_submission", { id }))).toBe(true);
  });

  it("comments officially, and so does a member", async () => {
    const { id } = await submit(ada);
    expect(await say(owner, id)).toMatchObject({ is_official: true });
    expect(await say(member, id)).toMatchObject({ is_official: true });
    expect(await say(ada, id)).toMatchObject({ is_official: false });
  });

  it("reads the team; other users do not", async () => {
    const team = (by: Person) =>
      by.app.from("memberships").select("user_id,role").eq("organization_id", organization_id);
    expect(
      done(await team(owner))
        .map((row) => row.role)
        .sort(),
    ).toEqual(["member", "owner"]);
    expect(done(await team(ada))).toEqual([]);
  });
});

describe("a member who is not an admin", () => {
  it("cannot change status, tags or submissions of others", async () => {
    const { id } = await submit(ada);
    const [tag] = done(
      await member.app.from("tags").select("id").eq("organization_id", organization_id).limit(1),
    );
    expectError(
      await member.app
        .from("status_changes")
        .insert({ submission_id: id, organization_id, new_status: "planned" }),
      "FB403",
      { code: "FORBIDDEN" },
    );
    expectCode(
      await member.app
        .from("submission_tags")
        .insert({ organization_id, submission_id: id, tag_id: tag?.id }),
      "42501",
    );
    expect(done(await member.app.rpc("update_submission", { id, changes: { title: "By a member" } }))).toBe(
      false,
    );
    expect(done(await member.app.rpc("delete_submission", { id }))).toBe(false);
    expect(await sql`select status from submissions where id = ${id}`).toEqual([{ status: "open" }]);
  });
});

describe("the secret key", () => {
  const service = client(stack.secret_key);

  it("reads every table, hidden columns too", async () => {
    const { id } = await submit(ada);
    expect(done(await service.from("profiles").select("email").eq("id", ada.id).single())).toEqual({
      email: ada.email,
    });
    expect(done(await service.from("votes").select("user_id").eq("submission_id", id))).toEqual([
      { user_id: ada.id },
    ]);
    for (const table of [
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
    ]) {
      expect(done(await service.from(table).select("*").limit(1)), table).toHaveLength(1);
    }
  });

  it("writes, and triggers update the counters", async () => {
    const other = await newcomer("Other");
    const created = done(
      await service
        .from("submissions")
        .insert({ ...idea(), author_id: ada.id, organization_id })
        .select("id,vote_count")
        .single(),
    );
    expect(created.vote_count).toBe(1);
    expect(
      (await service.from("votes").insert({ submission_id: created.id, user_id: other.id, organization_id }))
        .error,
    ).toBeNull();
    const commented = await service
      .from("comments")
      .insert({ submission_id: created.id, author_id: other.id, organization_id, body: "By hand." });
    expect(commented.error).toBeNull();
    expect(await counts(created.id)).toEqual({ vote_count: 2, comment_count: 1 });
    expect((await service.from("submissions").delete().eq("id", created.id)).error).toBeNull();
    const slug = `made-${randomUUID().slice(0, 8)}`;
    expect((await service.from("tags").insert({ organization_id, name: "Made", slug })).error).toBeNull();
    expect((await service.from("tags").delete().eq("slug", slug)).error).toBeNull();
  });

  it("is not a key of the API", async () => {
    expect((await api("/api/submissions", { token: stack.secret_key })).status).toBe(401);
  });
});
