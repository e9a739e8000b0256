import { beforeAll, describe, expect, it } from "vitest";
import { deletedAnswer, submissionDetailAnswer } from "../../shared/submissions.ts";
import { sql } from "../stack.ts";
import { answered, api, type Caller, refused } from "./client.ts";
import {
  type Key,
  longEnough,
  merge,
  newComment,
  newKey,
  newOrganization,
  newSubmission,
  newUser,
  type Organization,
  only,
  stored,
  type User,
  unknownKey,
} from "./world.ts";

let organization: Organization;
let author: User;
let admin: User;
let owner: User;
let member: User;
let stranger: User;
let moderator: Key;
let writer: Key;
let reader: Key;

beforeAll(async () => {
  organization = await newOrganization();
  author = await newUser("Ada");
  admin = await newUser("Adam", { organization, role: "admin" });
  owner = await newUser("Olga", { organization, role: "owner" });
  member = await newUser("Mia", { organization, role: "member" });
  stranger = await newUser("Sam");
  moderator = await newKey(organization, ["submissions:moderate"]);
  writer = await newKey(organization, ["submissions:write"]);
  reader = await newKey(organization, ["submissions:read", "surveys:write"]);
});

const patch = (id: string, body: unknown, as?: Caller) =>
  api("PATCH", `/api/submissions/${id}`, { as, body });
const remove = (id: string, as?: Caller) => api("DELETE", `/api/submissions/${id}`, { as });
const made = (by: { id: string } = author) => newSubmission(organization, by, { title: "As it was" });

const who: Record<string, () => Caller | undefined> = {
  nobody: () => undefined,
  "its author": () => author,
  "an admin": () => admin,
  "the owner": () => owner,
  "a member": () => member,
  "a stranger": () => stranger,
  "a key with submissions:moderate": () => moderator,
  "a key with submissions:write": () => writer,
  "a key without either": () => reader,
};

const rights = [
  ["nobody", "UNAUTHORIZED"],
  ["its author", undefined],
  ["an admin", undefined],
  ["the owner", undefined],
  ["a member", "FORBIDDEN"],
  ["a stranger", "FORBIDDEN"],
  ["a key with submissions:moderate", undefined],
  ["a key with submissions:write", "FORBIDDEN"],
  ["a key without either", "FORBIDDEN"],
] as const;

describe("editing a submission", () => {
  it.each(rights)("by %s: %s", async (name, refusal) => {
    const id = await made();
    const answer = await patch(id, { title: "As it is now" }, who[name]?.());
    const row = await stored("submissions", id);
    if (refusal) {
      refused(answer, refusal);
      expect(row?.title).toBe("As it was");
    } else {
      expect(answered(answer, 200, submissionDetailAnswer).data.title).toBe("As it is now");
      expect(row?.title).toBe("As it is now");
    }
  });

  it("answers with the same detail as GET", async () => {
    const id = await made();
    const { data } = answered(
      await patch(id, { title: "Another title" }, author),
      200,
      submissionDetailAnswer,
    );
    const shown = answered(
      await api("GET", `/api/submissions/${id}`, { as: author }),
      200,
      submissionDetailAnswer,
    );
    expect(data).toEqual(shown.data);
    expect(data).toMatchObject({ is_following: true, user_vote: { created_at: data.created_at } });
  });

  it("changes what is named, and nothing else", async () => {
    const [category] = await sql<{ id: string }[]>`
      insert into public.categories (organization_id, name, slug) values (${organization.id}, 'Web', 'web') returning id`;
    const category_id = only(category).id;
    const id = await made();
    const before = only(await stored("submissions", id));
    for (const change of [
      { title: "New title" },
      { description: `New. ${longEnough}` },
      { category_id },
      { category_id: null },
    ]) {
      const { data } = answered(await patch(id, change, author), 200, submissionDetailAnswer);
      expect(data).toMatchObject(change);
    }
    const after = only(await stored("submissions", id));
    expect(after.updated_at).not.toEqual(before.updated_at);
    expect(after).toEqual({
      ...before,
      title: "New title",
      description: `New. ${longEnough}`,
      updated_at: after.updated_at,
    });
  });

  it("trims text", async () => {
    const { data } = answered(
      await patch(await made(), { title: " \u3000 Trimmed \uFEFF\n" }, author),
      200,
      submissionDetailAnswer,
    );
    expect(data.title).toBe("Trimmed");
  });

  it("sets the link to an issue for admins alone", async () => {
    const id = await made();
    const tracker_issue_url = "https://github.com/acme/app/issues/7";
    refused(await patch(id, { tracker_issue_url }, author), "FORBIDDEN");
    for (const as of [admin, moderator]) {
      const { data } = answered(await patch(id, { tracker_issue_url }, as), 200, submissionDetailAnswer);
      expect(data.tracker_issue_url).toBe(tracker_issue_url);
      expect(
        answered(await patch(id, { tracker_issue_url: null }, as), 200, submissionDetailAnswer).data
          .tracker_issue_url,
      ).toBeNull();
    }
  });

  it("is found under its new text, and no longer under the old", async () => {
    const id = await made();
    await patch(id, { title: "Xylophone support" }, author);
    const find = async (q: string) =>
      (await api("GET", `/api/submissions?author=${author.id}&q=${q}`, { on: organization })).text.includes(
        id,
      );
    expect([await find("xylophone"), await find("was")]).toEqual([true, false]);
  });

  it.each([
    ["nothing", {}, ["body"]],
    ["only unknown fields", { colour: "red" }, ["body"]],
    ["only what nobody may set", { status: "planned", vote_count: 9 }, ["body"]],
    ["a short title", { title: "abcd" }, ["title"]],
    ["a long title", { title: "x".repeat(201) }, ["title"]],
    ["a null title", { title: null }, ["title"]],
    ["a short description", { description: "short" }, ["description"]],
    ["a long description", { description: "x".repeat(5001) }, ["description"]],
    ["a malformed category", { category_id: "web" }, ["category_id"]],
    ["an unknown category", { category_id: "00000000-0000-4000-8000-000000000000" }, ["category_id"]],
    ["two at once", { title: "", description: "" }, ["description", "title"]],
  ])("refuses %s", async (_, body, fields) => {
    const id = await made();
    const before = await stored("submissions", id);
    refused(await patch(id, body, admin), "VALIDATION_ERROR", ...fields);
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
  ])("refuses %j as the link to an issue", async (tracker_issue_url) => {
    refused(await patch(await made(), { tracker_issue_url }, admin), "VALIDATION_ERROR", "tracker_issue_url");
  });

  it("cannot change its author, counts, status, organization, id or dates", async () => {
    const id = await made();
    const before = only(await stored("submissions", id));
    const forged = {
      id: crypto.randomUUID(),
      author_id: stranger.id,
      user_id: stranger.id,
      organization_id: (await newOrganization()).id,
      status: "completed",
      type: "problem",
      vote_count: 99,
      comment_count: 99,
      is_official: true,
      is_public: false,
      moderation_state: "spam",
      merged_into_id: id,
      source: "forged",
      created_at: "2000-01-01T00:00:00Z",
      updated_at: "2000-01-01T00:00:00Z",
    };
    answered(await patch(id, { ...forged, title: "A new title" }, author), 200, submissionDetailAnswer);
    const after = only(await stored("submissions", id));
    expect(after).toEqual({ ...before, title: "A new title", updated_at: after.updated_at });
    expect(new Date(String(after.updated_at)).getUTCFullYear()).toBeGreaterThan(2000);
  });
});

describe("deleting a submission", () => {
  it.each(rights)("by %s: %s", async (name, refusal) => {
    const id = await made();
    const answer = await remove(id, who[name]?.());
    if (refusal) {
      refused(answer, refusal);
      expect(await stored("submissions", id)).toBeDefined();
    } else {
      expect(answered(answer, 200, deletedAnswer)).toEqual({ data: { deleted: true } });
      expect(await stored("submissions", id)).toBeUndefined();
    }
  });

  it("takes its votes, comments, follows and notifications along", async () => {
    const id = await made();
    await api("POST", `/api/submissions/${id}/vote`, { as: stranger });
    const comment = await newComment(id, stranger);
    await newComment(id, author, { parent_id: comment });
    answered(await remove(id, author), 200, deletedAnswer);
    const [left] = await sql`select
      (select count(*)::int from public.votes where submission_id = ${id}) as votes,
      (select count(*)::int from public.comments where submission_id = ${id}) as comments,
      (select count(*)::int from public.follows where submission_id = ${id}) as follows,
      (select count(*)::int from public.notifications where submission_id = ${id}) as notifications`;
    expect(left).toEqual({ votes: 0, comments: 0, follows: 0, notifications: 0 });
    refused(await api("GET", `/api/submissions/${id}`), "NOT_FOUND");
    refused(await api("GET", `/api/comments/${comment}`), "NOT_FOUND");
  });

  it("is 404 the second time", async () => {
    const id = await made();
    answered(await remove(id, author), 200, deletedAnswer);
    refused(await remove(id, author), "NOT_FOUND");
  });

  it("is a conflict while others are merged into it", async () => {
    const target = await made();
    await merge(await made(), target);
    refused(await remove(target, admin), "CONFLICT");
    expect(await stored("submissions", target)).toBeDefined();
  });
});

describe("what a key made", () => {
  it("can be edited and deleted by that key with submissions:write", async () => {
    const id = await made({ id: writer.profileId });
    answered(await patch(id, { title: "By the key" }, writer), 200, submissionDetailAnswer);
    answered(await remove(id, writer), 200, deletedAnswer);
  });
});

describe("what is not there", () => {
  it.each(["00000000-0000-4000-8000-000000000000", "nonsense"])(
    "%s is 404 for PATCH and DELETE",
    async (id) => {
      refused(await patch(id, { title: "A new title" }, admin), "NOT_FOUND");
      refused(await remove(id, admin), "NOT_FOUND");
    },
  );

  it("is not told of to a credential that is no good", async () => {
    refused(await patch("nonsense", {}, await unknownKey()), "UNAUTHORIZED");
    refused(await remove("nonsense", { token: "e30.e30.e30" }), "UNAUTHORIZED");
  });
});
