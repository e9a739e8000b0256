import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { sql } from "../stack.ts";
import {
  client,
  counts,
  done,
  expectCode,
  expectError,
  idea,
  newcomer,
  type Person,
  say,
  submit,
} from "./web-app.ts";

const [ada, ben] = await Promise.all([newcomer("Ada"), newcomer("Ben")]);

describe("a session", () => {
  it("is returned by signUp, and later by signInWithPassword", async () => {
    const app = client();
    const email = `${randomUUID()}@app.example`;
    const password = randomUUID();
    const joined = await app.auth.signUp({ email, password, options: { data: { name: "Cleo" } } });
    expect(joined.data.session?.access_token).toBeTruthy();
    await app.auth.signOut();
    expectCode(await app.rpc("create_submission", idea()), "42501");
    const back = await app.auth.signInWithPassword({ email, password });
    expect(back.data.user?.id).toBe(joined.data.user?.id);
    expect(done(await app.rpc("create_submission", idea()))).toEqual(expect.any(String));
  });

  it("has a profile with the name given at sign-up", async () => {
    const own = await ada.app.from("profiles").select("id,kind,name,avatar_url").eq("id", ada.id).single();
    expect(done(own)).toEqual({ id: ada.id, kind: "user", name: "Ada", avatar_url: null });
  });

  it("changes the name of its own profile only", async () => {
    const person = await newcomer("Before");
    const changes = { name: "After", avatar_url: "https://img.example/a.png" };
    expect(done(await person.app.rpc("update_profile", { changes }))).toBe(true);
    expect(
      done(await person.app.from("profiles").select("name,avatar_url").eq("id", person.id).single()),
    ).toEqual(changes);
    await submit(ada);
    expectError(
      await person.app.from("profiles").update({ name: "Taken" }).eq("id", ada.id).select("id"),
      "FB403",
      { code: "FORBIDDEN" },
    );
    expectCode(
      await person.app.rpc("update_profile", { changes: { avatar_url: "javascript:alert(1)" } }),
      "23514",
    );
    expectError(
      await person.app.rpc("update_profile", { changes: { email: "other@app.example" } }),
      "FB400",
      { code: "VALIDATION_ERROR", field: "changes.email" },
    );
    expectCode(
      await person.app.from("profiles").update({ email: "other@app.example" }).eq("id", person.id),
      "42501",
    );
    expect(await sql`select name from profiles where id = ${ada.id}`).toEqual([{ name: "Ada" }]);
  });
});

describe("a submission", () => {
  it("is inserted with the author's own vote and follow", async () => {
    const created = done(await ada.app.rpc("create_submission", idea()));
    const made = done(await ada.app.from("submissions").select().eq("id", created).single());
    expect(made).toMatchObject({ vote_count: 1, comment_count: 0, status: "open", author_id: ada.id });
    expect(done(await ada.app.from("follows").select("reason").eq("submission_id", made.id))).toEqual([
      { reason: "author" },
    ]);
    expect(done(await ada.app.rpc("my_votes", { submission_ids: [made.id] }))).toMatchObject([
      { submission_id: made.id },
    ]);
  });

  it.each([
    ["a title of four characters", { title: "Four" }],
    ["a title of spaces", { title: "          " }],
    ["a title of 201 characters", { title: "x".repeat(201) }],
    ["a description of 19 characters", { description: "x".repeat(19) }],
    ["a description of 5001 characters", { description: "x".repeat(5001) }],
    ["an unknown type", { type: "praise" }],
  ])("with %s is rejected by a constraint", async (_, change) => {
    expectCode(await ada.app.rpc("create_submission", { ...idea(), ...change }), "23514");
  });

  it("is limited in characters, not bytes, and trimmed", async () => {
    const id = done(
      await ada.app.rpc("create_submission", { ...idea(), title: `  ${"💡".repeat(200)}\u3000` }),
    );
    expect(await sql`select title from submissions where id = ${id}`).toEqual([{ title: "💡".repeat(200) }]);
  });

  it("is edited and deleted by its author only", async () => {
    const { id } = await submit(ada);
    const change = { title: "A better title than before" };
    expect(done(await ben.app.rpc("update_submission", { id, changes: change }))).toBe(false);
    expect(done(await ben.app.rpc("delete_submission", { id }))).toBe(false);
    expect(done(await ada.app.rpc("update_submission", { id, changes: change }))).toBe(true);
    expect(await sql`select title from submissions where id = ${id}`).toEqual([change]);
    expect(done(await ada.app.rpc("delete_submission", { id }))).toBe(true);
    expect(await sql`select 1 from votes where submission_id = ${id}`).toHaveLength(0);
  });

  it("does not accept an issue link from its author", async () => {
    const { id } = await submit(ada);
    const outcome = await ada.app.rpc("update_submission", {
      id: id,
      changes: { tracker_issue_url: "https://tracker.example/1" },
    });
    expectError(outcome, "FB403", { code: "FORBIDDEN" });
  });
});

describe("votes", () => {
  it("are created with the submission's id only, counted, and removed by it", async () => {
    const { id } = await submit(ada);
    expect(done(await ben.app.rpc("vote", { submission_id: id }))).toBe(true);
    expect(await counts(id)).toMatchObject({ vote_count: 2 });
    expect(done(await ben.app.rpc("my_votes", { submission_ids: [id, randomUUID()] }))).toEqual([
      { submission_id: id, voted_at: expect.any(String) },
    ]);
    expect((await ben.app.rpc("unvote", { submission_id: id })).error).toBeNull();
    expect(await counts(id)).toMatchObject({ vote_count: 1 });
    expect(done(await ben.app.rpc("my_votes", { submission_ids: [id] }))).toEqual([]);
  });

  it("do not change or count twice", async () => {
    const { id } = await submit(ada);
    expect(done(await ben.app.rpc("vote", { submission_id: id }))).toBe(true);
    expect(done(await ben.app.rpc("vote", { submission_id: id }))).toBe(false);
    expect(await counts(id)).toMatchObject({ vote_count: 2 });
  });

  it("of others are kept when one is removed", async () => {
    const { id } = await submit(ada);
    expect((await ben.app.rpc("unvote", { submission_id: id })).error).toBeNull();
    expect(await counts(id)).toMatchObject({ vote_count: 1 });
  });

  it("create a follow, which is kept when the vote is removed", async () => {
    const { id } = await submit(ada);
    await ben.app.rpc("vote", { submission_id: id });
    await ben.app.rpc("unvote", { submission_id: id });
    expect(done(await ben.app.from("follows").select("reason").eq("submission_id", id))).toEqual([
      { reason: "vote" },
    ]);
  });

  it("for a missing submission return an error", async () => {
    expectError(await ben.app.rpc("vote", { submission_id: randomUUID() }), "FB404", {
      code: "NOT_FOUND",
      field: "submission_id",
    });
  });

  it("for a merged submission return the id of the target", async () => {
    const [source, target] = [await submit(ada), await submit(ada)];
    await sql`update submissions set status = 'duplicate', merged_into_id = ${target.id} where id = ${source.id}`;
    const merged = { code: "SUBMISSION_MERGED", merged_into_id: target.id };
    expectError(await ben.app.rpc("vote", { submission_id: source.id }), "FBM09", merged);
    expectError(
      await ben.app.rpc("create_comment", { submission_id: source.id, body: "Here?" }),
      "FBM09",
      merged,
    );
  });

  it("for comments are counted, and removed by the comment's id", async () => {
    const { id } = await submit(ada);
    const comment = await say(ada, id);
    expect((await ben.app.rpc("vote_comment", { comment_id: comment.id })).error).toBeNull();
    expect(done(await ben.app.rpc("vote_comment", { comment_id: comment.id }))).toBe(false);
    expect(done(await ben.app.from("comments").select("vote_count").eq("id", comment.id).single())).toEqual({
      vote_count: 1,
    });
    expect((await ben.app.rpc("unvote_comment", { comment_id: comment.id })).error).toBeNull();
    expect(done(await ben.app.from("comments").select("vote_count").eq("id", comment.id).single())).toEqual({
      vote_count: 0,
    });
  });
});

describe("comments", () => {
  it("and replies are counted, and create a follow", async () => {
    const { id } = await submit(ada);
    const first = await say(ben, id, null, "  First of all.  ");
    expect(first).toMatchObject({ body: "First of all.", is_official: false, author_id: ben.id });
    await say(ada, id, first.id, "A reply.");
    expect(await counts(id)).toMatchObject({ comment_count: 2 });
    expect(done(await ada.app.from("comments").select("reply_count").eq("id", first.id).single())).toEqual({
      reply_count: 1,
    });
    expect(done(await ben.app.from("follows").select("reason").eq("submission_id", id))).toEqual([
      { reason: "comment" },
    ]);
  });

  it("are edited by their author only within the edit window", async () => {
    const { id } = await submit(ada);
    const comment = await say(ben, id);
    const edit = (by: Person) => by.app.rpc("update_comment", { id: comment.id, body: "Better said." });
    expect(done(await edit(ben))).toBe(true);
    expect(done(await edit(ada))).toBe(false);
    expect(await sql`select body from comments where id = ${comment.id}`).toEqual([{ body: "Better said." }]);
    await sql`update comments set created_at = now() - private.comment_edit_window() - interval '1 second' where id = ${comment.id}`;
    expectError(await edit(ben), "FB403", { code: "FORBIDDEN", field: "body" });
  });

  it("are deleted with all replies", async () => {
    const { id } = await submit(ada);
    const first = await say(ben, id);
    const reply = await say(ada, id, first.id);
    await say(ben, id, reply.id);
    await say(ada, id);
    expect(done(await ada.app.rpc("delete_comment", { id: first.id }))).toBe(false);
    expect(done(await ben.app.rpc("delete_comment", { id: first.id }))).toBe(true);
    expect(await counts(id)).toMatchObject({ comment_count: 1 });
  });

  it("reply only to an existing comment of the same submission", async () => {
    const [here, elsewhere] = [await submit(ada), await submit(ada)];
    const comment = await say(ada, elsewhere.id);
    for (const parent_id of [comment.id, randomUUID()]) {
      expectError(
        await ben.app.rpc("create_comment", { submission_id: here.id, parent_id, body: "To whom?" }),
        "FB404",
        { code: "NOT_FOUND", field: "parent_id" },
      );
    }
    expect(await counts(here.id)).toMatchObject({ comment_count: 0 });
  });

  it.each([
    ["nothing", ""],
    ["spaces", " \n\t "],
    ["2001 characters", "x".repeat(2001)],
  ])("of %s are rejected", async (_, body) => {
    const { id } = await submit(ada);
    expectCode(await ben.app.rpc("create_comment", { submission_id: id, body }), "23514");
  });
});

describe("follows", () => {
  it("are created, visible to their owner only, and deleted", async () => {
    const { id } = await submit(ada);
    expect((await ben.app.rpc("follow", { submission_id: id })).error).toBeNull();
    expect(
      done(await ben.app.from("follows").select("submission_id,user_id,reason").eq("submission_id", id)),
    ).toEqual([{ submission_id: id, user_id: ben.id, reason: "manual" }]);
    expect(done(await ada.app.from("follows").select("user_id").eq("submission_id", id))).toEqual([
      { user_id: ada.id },
    ]);
    expect((await ben.app.rpc("unfollow", { submission_id: id })).error).toBeNull();
    expect(await sql`select user_id from follows where submission_id = ${id}`).toEqual([{ user_id: ada.id }]);
  });
});

describe("notifications", () => {
  it("are created for the author of a submission and of a comment, never for the actor", async () => {
    const author = await newcomer("Author");
    const { id } = await submit(author);
    await ben.app.rpc("vote", { submission_id: id });
    const comment = await say(ben, id);
    await say(author, id, comment.id);
    const list = (by: Person) =>
      by.app
        .from("notifications")
        .select("type,submission_id,read_at")
        .eq("submission_id", id)
        .order("created_at");
    expect(done(await list(author)).map((row) => row.type)).toEqual(["vote", "comment"]);
    expect(done(await list(ben)).map((row) => row.type)).toEqual(["reply"]);
    expect(done(await list(ada))).toEqual([]);
  });

  it("are marked as read by their owner, one or all", async () => {
    const author = await newcomer("Author");
    const { id } = await submit(author);
    await say(ben, id);
    await say(ben, id);
    const [first] = done(await author.app.from("notifications").select("id,read_at").eq("submission_id", id));
    expect(first?.read_at).toBeNull();
    const read = async (by: Person, args = {}) => done(await by.app.rpc("mark_notifications_read", args));
    expect(await read(ben, { ids: [first?.id] })).toBe(0);
    expect(await read(author, { ids: [first?.id] })).toBe(1);
    expect(await read(author)).toBe(1);
    expect(done(await author.app.from("notifications").select("id").is("read_at", null))).toEqual([]);
  });
});
