import { beforeEach, describe, expect, it } from "vitest";
import { commentCreatedAnswer } from "../../shared/comments.ts";
import { notificationListAnswer, notificationsReadAnswer } from "../../shared/notifications.ts";
import { personalDataAnswer } from "../../shared/people.ts";
import { submissionDetailAnswer } from "../../shared/submissions.ts";
import { sql, supabase } from "../stack.ts";
import { api, type Caller, expectJson, getJson } from "./client.ts";
import { merge, newComment, newKey, newOrganization, newSubmission, newUser, only, type User } from "./world.ts";

let author: User;
let follower: User;
let other: User;
let id: string;
const organization = await newOrganization();
const admin = await newUser("Adam", { organization, role: "admin" });

beforeEach(async () => {
  [author, follower, other] = await Promise.all([newUser("Ada"), newUser("Fay"), newUser("Otto")]);
  id = await newSubmission(organization, author, { title: "A dark theme" });
});

const follow = (as?: Caller, on = id) => api("POST", `/api/submissions/${on}/follow`, { as });
const inbox = async (as: Caller, query = "") =>
  await getJson(`/api/me/notifications${query}`, notificationListAnswer, { as });
const read = async (as: Caller, body?: unknown) =>
  expectJson(await api("POST", "/api/me/notifications/read", { as, body }), 200, notificationsReadAnswer).data.read;
const vote = (as: Caller) => api("POST", `/api/submissions/${id}/vote`, { as });
const comment = async (as: Caller, parent_id?: string) => {
  const answer = await api("POST", `/api/submissions/${id}/comments`, { as, body: { body: "Hello", parent_id } });
  return expectJson(answer, 201, commentCreatedAnswer).data.id;
};

describe("a follow", () => {
  it("stores why it was created", async () => {
    await follow(follower);
    await vote(other);
    await comment(admin);
    const reasons = await sql`select user_id, reason from public.follows where submission_id = ${id}`;
    expect(Object.fromEntries(reasons.map(({ user_id, reason }) => [user_id, reason]))).toEqual({
      [author.id]: "author",
      [follower.id]: "manual",
      [other.id]: "vote",
      [admin.id]: "comment",
    });
  });
});

describe("an unfollow", () => {
  const unfollow = (as: Caller, on = id) => api("DELETE", `/api/submissions/${on}/follow`, { as });
  const heard = async (as: Caller) => (await inbox(as)).data.map(({ type }) => type);
  const isFollowing = async (as: Caller, on = id) =>
    (await getJson(`/api/submissions/${on}`, submissionDetailAnswer, { as })).data.is_following;
  const status = (on: string) =>
    api("PATCH", `/api/submissions/${on}/status`, { as: admin, body: { status: "planned" } });

  it.each([
    ["the API", () => unfollow(author)],
    ["the data API", () => supabase(author).rpc("unfollow", { submission_id: id })],
  ])("by %s is silence, for the author too", async (_, act) => {
    const own = await comment(author);
    await act();
    await vote(other);
    await comment(other);
    await comment(other, own);
    await api("POST", `/api/submissions/${id}/comments`, { as: admin, body: { body: "Soon", is_official: true } });
    await status(id);
    const source = await newSubmission(organization, other);
    await merge(source, id);
    expect(await heard(author)).toEqual([]);
    expect(await heard(other)).toContain("status_changed");
    expect(await isFollowing(author)).toBe(false);
  });

  it("stays when the person votes or comments, until they follow", async () => {
    await unfollow(other);
    await vote(other);
    await comment(other);
    await comment(follower);
    expect([await isFollowing(other), await heard(other)]).toEqual([false, []]);
    await api("DELETE", `/api/submissions/${id}/vote`, { as: other });
    expect((await follow(other)).status).toBe(201);
    await comment(follower);
    expect([await isFollowing(other), await heard(other)]).toEqual([true, ["comment"]]);
  });

  it("is not undone by a key that says follow for the person", async () => {
    const key = await newKey(organization, ["submissions:write"]);
    const email = `${crypto.randomUUID()}@x.example`;
    const body = { author_email: email, follow: true };
    const say = (text: string) =>
      api("POST", `/api/submissions/${id}/comments`, { as: key, body: { ...body, body: text } });
    await say("One");
    const [guest] = await sql<{ id: string }[]>`select id from public.profiles where email = ${email}`;
    await sql`insert into private.unfollows (organization_id, submission_id, user_id) values (${organization.id}, ${id}, ${only(guest).id})`;
    await sql`delete from public.follows where user_id = ${only(guest).id}`;
    await say("Two");
    expect(await sql`select from public.follows where user_id = ${only(guest).id}`).toHaveLength(0);
  });

  it("of a merged submission holds for its target, unless the person follows that", async () => {
    const source = await newSubmission(organization, author);
    await unfollow(author, source);
    await unfollow(follower, source);
    await follow(follower);
    const own = await newComment(source, author);
    await newComment(source, other, { parent_id: own });
    await merge(source, id);
    await sql`delete from public.follows where user_id = ${author.id}`;
    await comment(other, own);
    await comment(other);
    expect([await heard(author), await heard(follower)]).toEqual([[], ["comment", "comment"]]);
  });

  it("of a target holds for what is merged into it, and after the merge is undone", async () => {
    const source = await newSubmission(organization, author);
    await unfollow(other);
    await follow(other, source);
    await merge(source, id);
    await sql`delete from public.notifications where user_id = ${author.id}`;
    await unfollow(author);
    await comment(follower);
    expect([await heard(other), await heard(author)]).toEqual([[], []]);
    expect(await isFollowing(other)).toBe(false);
    await api("POST", "/api/admin/unmerge", { as: admin, on: organization, body: { submission_id: source } });
    await status(source);
    expect([await heard(other), await heard(author)]).toEqual([["status_changed"], []]);
    await follow(author);
    await status(id);
    expect(await heard(author)).toEqual(["status_changed"]);
  });

  it("moves to the target when the merged submission is deleted", async () => {
    const source = await newSubmission(organization, other);
    await unfollow(follower, source);
    await merge(source, id);
    await api("DELETE", `/api/submissions/${source}`, { as: admin });
    await vote(follower);
    await comment(other);
    expect(await heard(follower)).toEqual([]);
  });

  it("wins over a vote of the same person at the same time", async () => {
    const people = await Promise.all(Array.from({ length: 8 }, () => newUser()));
    await Promise.all(people.flatMap((person) => [vote(person), unfollow(person)]));
    await comment(follower);
    for (const person of people) expect([await isFollowing(person), await heard(person)]).toEqual([false, []]);
  });

  it("is part of the person's data, and of nobody else's", async () => {
    await unfollow(author);
    const { data } = await getJson("/api/me/export", personalDataAnswer, { as: author });
    expect(data.unfollows).toMatchObject([{ submission_id: id }]);
    expect(
      (
        await supabase(other)
          .from("unfollows" as never)
          .select()
      ).error,
    ).not.toBeNull();
  });
});

describe("the inbox", () => {
  it("keeps the time when each was first read", async () => {
    await vote(follower);
    await read(author);
    const { read_at } = only((await inbox(author)).data[0]);
    await read(author);
    expect((await inbox(author)).data[0]?.read_at).toBe(read_at);
  });
});
