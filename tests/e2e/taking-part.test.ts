import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import { callable } from "../hostile/expected.ts";
import { client, done, expectCode, expectError, idea, newcomer, type Person, submit } from "./web-app.ts";

// Other tests cover the rules (tests/database and tests/hostile); these show that an app can follow them with
// supabase-js.
const [ada, ben] = await Promise.all([newcomer("Ada"), newcomer("Ben")]);

it("a session is returned by signUp, and later by signInWithPassword", async () => {
  const app = client();
  const credentials = { email: `${randomUUID()}@app.example`, password: randomUUID() };
  const joined = await app.auth.signUp({ ...credentials, options: { data: { name: "Cleo" } } });
  const id = joined.data.user?.id;
  const own = await app.from("profiles").select("id,kind,name,avatar_url").eq("id", id).single();
  expect(done(own)).toEqual({ id, kind: "user", name: "Cleo", avatar_url: null });
  await app.auth.signOut();
  expectCode(await app.rpc("create_submission", idea()), "42501");
  const back = await app.auth.signInWithPassword(credentials);
  expect(back.data.user?.id).toBe(id);
  expect(done(await app.rpc("create_submission", idea()))).toEqual(expect.any(String));
});

it("an author and a voter call each function, and read what it did", async () => {
  const submission_id = done(await ada.app.rpc("create_submission", idea()));
  // surveys.test.ts covers the functions of surveys.
  const called = new Set(["start_survey", "submit_survey_response", "create_submission", "create_comment"]);
  const run = async (calls: [Person, string, Record<string, unknown>, unknown][]) => {
    for (const [by, name, args, expected] of calls) {
      called.add(name);
      expect(done(await by.app.rpc(name, args)), name).toEqual(expected);
    }
  };
  const profile = { name: "Ada Author", avatar_url: "https://img.example/a.png" };
  const title = "A title that is better than before";

  await run([
    [ada, "update_profile", { changes: profile }, true],
    [ada, "update_submission", { id: submission_id, changes: { title } }, true],
    [ben, "vote", { submission_id }, true],
    [
      ben,
      "my_votes",
      { submission_ids: [submission_id, randomUUID()] },
      [{ submission_id, voted_at: expect.any(String) }],
    ],
    [ben, "unfollow", { submission_id }, true],
    [ben, "follow", { submission_id }, true],
  ]);
  const first = done(await ben.app.rpc("create_comment", { submission_id, body: "First." }));
  const reply = done(await ada.app.rpc("create_comment", { submission_id, parent_id: first, body: "A reply." }));
  await run([
    [ben, "update_comment", { id: first, body: "Better said." }, true],
    [ada, "vote_comment", { comment_id: first }, true],
  ]);
  const { organization_id } = done(
    await ben.app.from("submissions").select("organization_id").eq("id", submission_id).single(),
  );
  const found = expect.objectContaining({ id: submission_id, title, match: "all" });
  await run([[ben, "search_submissions", { q: `"${title}"`, organization_id, max_results: 1 }, [found]]]);
  const read = () =>
    ada.app
      .from("submissions")
      .select(
        "title,vote_count,comment_count,author:profiles!author_id(name,avatar_url),comments(id,body,vote_count,reply_count)",
      )
      .eq("id", submission_id)
      .order("created_at", { referencedTable: "comments" });
  expect(done(await read().single())).toEqual({
    title,
    vote_count: 2,
    comment_count: 2,
    author: profile,
    comments: [
      { id: first, body: "Better said.", vote_count: 1, reply_count: 1 },
      { id: reply, body: "A reply.", vote_count: 0, reply_count: 0 },
    ],
  });
  const received = async (table: "notifications" | "follows", column: string, by: Person) =>
    done(await by.app.from(table).select(column).eq("submission_id", submission_id).order("created_at"));
  expect(await received("notifications", "type", ada)).toEqual([{ type: "vote" }, { type: "comment" }]);
  expect(await received("notifications", "type", ben)).toEqual([{ type: "reply" }]);
  expect(await received("follows", "reason", ada)).toEqual([{ reason: "author" }]);
  expect(await received("follows", "reason", ben)).toEqual([{ reason: "manual" }]);

  await run([
    [ada, "mark_notifications_read", {}, 2],
    [ada, "unvote_comment", { comment_id: first }, true],
    [ben, "unvote", { submission_id }, true],
    [ben, "delete_comment", { id: first }, true],
  ]);
  expect(done(await read().single())).toMatchObject({ vote_count: 1, comment_count: 0, comments: [] });
  await run([[ada, "delete_submission", { id: submission_id }, true]]);
  expect(done(await read())).toEqual([]);
  expect([...called].sort()).toEqual(callable);
});

it("nobody chooses an id, so that none is used again", async () => {
  const id = await submit(ada);
  done(await ada.app.rpc("delete_submission", { id }));
  const choices = [id, randomUUID()].map((chosen) =>
    ben.app.rpc("create_submission", { ...idea(), ...{ id: chosen } }),
  );
  for (const outcome of await Promise.all(choices)) expectCode(outcome, "PGRST202");
});

it("the error for a broken rule has JSON details", async () => {
  const changes = { email: "other@app.example" };
  const details = { code: "VALIDATION_ERROR", field: "changes.email" };
  expectError(await ada.app.rpc("update_profile", { changes }), "FB400", details);
});

it.each([
  ["a constraint", ada.app, { ...idea(), title: "Four" }, 400, "23514", /title_has_5_to_200_characters/],
  ["a missing session", client(), idea(), 401, "42501", /permission denied/],
])("the error for %s has Postgres's code and message", async (_, app, args, status, code, message) => {
  const outcome = await app.rpc("create_submission", args);
  expect(outcome).toMatchObject({ status, error: { code, message: expect.stringMatching(message) } });
});
