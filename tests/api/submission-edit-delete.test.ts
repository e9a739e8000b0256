import { describe, expect, it } from "vitest";
import { deletedAnswer, submissionDetailAnswer } from "../../shared/submissions.ts";
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
  only,
  stored,
} from "./world.ts";

const organization = await newOrganization();
const author = await newUser("Ada");
const admin = await newUser("Adam", { organization, role: "admin" });
const stranger = await newUser("Sam");
const moderator = await newKey(organization, ["submissions:moderate"]);
const writer = await newKey(organization, ["submissions:write"]);

const patch = (id: string, body: unknown, as?: Caller) => api("PATCH", `/api/submissions/${id}`, { as, body });
const remove = (id: string, as?: Caller) => api("DELETE", `/api/submissions/${id}`, { as });
const newIdea = (by: { id: string } = author) => newSubmission(organization, by, { title: "As it was" });

describe("editing a submission", () => {
  it("returns the same detail as GET", async () => {
    const id = await newIdea();
    const { data } = expectJson(await patch(id, { title: "Another title" }, author), 200, submissionDetailAnswer);
    const shown = await getJson(`/api/submissions/${id}`, submissionDetailAnswer, { as: author });
    expect(data).toEqual(shown.data);
    expect(data).toMatchObject({ is_following: true, user_vote: { created_at: data.created_at } });
  });

  it("changes the given fields only", async () => {
    const [category] = await sql<{ id: string }[]>`
      insert into public.categories (organization_id, name, slug) values (${organization.id}, 'Web', 'web') returning id`;
    const category_id = only(category).id;
    const id = await newIdea();
    const before = only(await stored("submissions", id));
    for (const change of [
      { title: "New title" },
      { description: `New. ${longEnough}` },
      { category_id },
      { category_id: null },
    ]) {
      const { data } = expectJson(await patch(id, change, author), 200, submissionDetailAnswer);
      expect(data).toMatchObject(change);
    }
    const after = only(await stored("submissions", id));
    expect(after.updated_at).not.toEqual(before.updated_at);
    expect(after).toEqual({
      ...before,
      title: "New title",
      description: `New. ${longEnough}`,
      updated_at: after.updated_at,
      is_changed_by_author: true,
    });
  });

  it("trims text", async () => {
    const { data } = expectJson(
      await patch(await newIdea(), { title: " \u3000 Trimmed \uFEFF\n" }, author),
      200,
      submissionDetailAnswer,
    );
    expect(data.title).toBe("Trimmed");
  });

  it("sets the issue link for admins only", async () => {
    const id = await newIdea();
    const tracker_issue_url = "https://github.com/acme/app/issues/7";
    expectError(await patch(id, { tracker_issue_url }, author), "FORBIDDEN");
    for (const as of [admin, moderator]) {
      const { data } = expectJson(await patch(id, { tracker_issue_url }, as), 200, submissionDetailAnswer);
      expect(data.tracker_issue_url).toBe(tracker_issue_url);
      expect(
        expectJson(await patch(id, { tracker_issue_url: null }, as), 200, submissionDetailAnswer).data
          .tracker_issue_url,
      ).toBeNull();
    }
  });

  it("is found by its new text, and no longer by the old", async () => {
    const id = await newIdea();
    await patch(id, { title: "Xylophone support" }, author);
    const find = async (q: string) =>
      (await api("GET", `/api/submissions?author=${author.id}&q=${q}`, { on: organization })).text.includes(id);
    expect([await find("xylophone"), await find("was")]).toEqual([true, false]);
  });

  it.each([
    ["nothing", {}, ["body"]],
    ["only unknown fields", { colour: "red" }, ["body"]],
    ["read-only fields only", { status: "planned", vote_count: 9 }, ["body"]],
    ["a short title", { title: "abcd" }, ["title"]],
    ["a long title", { title: "x".repeat(201) }, ["title"]],
    ["a null title", { title: null }, ["title"]],
    ["a short description", { description: "short" }, ["description"]],
    ["a long description", { description: "x".repeat(5001) }, ["description"]],
    ["a malformed category", { category_id: "web" }, ["category_id"]],
    ["an unknown category", { category_id: "00000000-0000-4000-8000-000000000000" }, ["category_id"]],
    ["two at once", { title: "", description: "" }, ["description", "title"]],
  ])("rejects %s", async (_, body, fields) => {
    const id = await newIdea();
    const before = await stored("submissions", id);
    expectError(await patch(id, body, admin), "VALIDATION_ERROR", ...fields);
    expect(await stored("submissions", id)).toEqual(before);
  });

  it.each([
    "javascript:alert(1)",
    "ftp://example.org/1",
    "//example.org",
    "example.org",
    "https://",
    "https://user:password@example.org/",
    "https://example.org/a b",
    `https://example.org/${"x".repeat(2000)}`,
    "",
  ])("rejects %j as the issue link", async (tracker_issue_url) => {
    expectError(await patch(await newIdea(), { tracker_issue_url }, admin), "VALIDATION_ERROR", "tracker_issue_url");
  });
});

describe("deleting a submission", () => {
  it("deletes its votes, comments, follows and notifications", async () => {
    const id = await newIdea();
    await api("POST", `/api/submissions/${id}/vote`, { as: stranger });
    const comment = await newComment(id, stranger);
    await newComment(id, author, { parent_id: comment });
    expectJson(await remove(id, author), 200, deletedAnswer);
    const [left] = await sql`select
      (select count(*)::int from public.votes where submission_id = ${id}) as votes,
      (select count(*)::int from public.comments where submission_id = ${id}) as comments,
      (select count(*)::int from public.follows where submission_id = ${id}) as follows,
      (select count(*)::int from public.notifications where submission_id = ${id}) as notifications`;
    expect(left).toEqual({ votes: 0, comments: 0, follows: 0, notifications: 0 });
    expectError(await api("GET", `/api/submissions/${id}`), "NOT_FOUND");
    expectError(await api("GET", `/api/comments/${comment}`), "NOT_FOUND");
  });

  it("returns 404 the second time", async () => {
    const id = await newIdea();
    expectJson(await remove(id, author), 200, deletedAnswer);
    expectError(await remove(id, author), "NOT_FOUND");
  });

  it("is a conflict while other submissions are merged into it", async () => {
    const target = await newIdea();
    await merge(await newIdea(), target);
    expectError(await remove(target, admin), "CONFLICT");
    expect(await stored("submissions", target)).toBeDefined();
  });
});

describe("a submission created by a key", () => {
  it("can be edited and deleted by that key with submissions:write", async () => {
    const id = await newIdea({ id: writer.profileId });
    expectJson(await patch(id, { title: "By the key" }, writer), 200, submissionDetailAnswer);
    expectJson(await remove(id, writer), 200, deletedAnswer);
  });
});
