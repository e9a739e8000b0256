import { beforeEach, describe, expect, it } from "vitest";
import { commentCreatedAnswer } from "../../shared/comments.ts";
import { notificationListAnswer, notificationsReadAnswer } from "../../shared/notifications.ts";
import { sql } from "../stack.ts";
import { api, type Caller, expectError, expectJson, getJson } from "./client.ts";
import { newOrganization, newSubmission, newUser, only, type User } from "./world.ts";

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
const unfollow = (as?: Caller, on = id) => api("DELETE", `/api/submissions/${on}/follow`, { as });
const inbox = async (as: Caller, query = "") =>
  await getJson(`/api/me/notifications${query}`, notificationListAnswer, { as });
const types = async (as: Caller) => (await inbox(as)).data.map(({ type }) => type);
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

describe("recipients of notifications", () => {
  it("a vote notifies the author, without the voter's name", async () => {
    await vote(follower);
    const { data, meta } = await inbox(author);
    expect(data).toEqual([
      {
        id: expect.any(String),
        type: "vote",
        submission_id: id,
        comment_id: null,
        submission_title: "A dark theme",
        read_at: null,
        created_at: expect.any(String),
      },
    ]);
    expect(meta).toEqual({ total: 1 });
    expect([await types(follower), await types(other)]).toEqual([[], []]);
  });

  it("a reply notifies the author of the parent comment once", async () => {
    const parent = await comment(follower);
    await read(author);
    await comment(other, parent);
    expect(await types(follower)).toEqual(["reply"]);
    expect((await inbox(author, "?unread=true")).data.map(({ type }) => type)).toEqual(["comment"]);
  });

  it("an official reply notifies the author of the parent once", async () => {
    const parent = await comment(follower);
    await comment(admin, parent);
    expect(await types(follower)).toEqual(["reply"]);
  });

  it("a former follower is not notified", async () => {
    await follow(follower);
    await unfollow(follower);
    await comment(other);
    expect(await types(follower)).toEqual([]);
  });

  it("a repeated vote that changes nothing notifies nobody", async () => {
    await vote(follower);
    await vote(follower);
    expect(await types(author)).toEqual(["vote"]);
  });
});

describe("the inbox", () => {
  it("is paginated, newest first", async () => {
    await vote(follower);
    await comment(follower);
    await comment(admin);
    expect(await types(author)).toEqual(["official_comment", "comment", "vote"]);
    const second = await inbox(author, "?limit=1&page=2");
    expect([second.data.map(({ type }) => type), second.meta]).toEqual([["comment"], { total: 3 }]);
  });

  it("marks some or all as read, and returns how many were unread", async () => {
    await vote(follower);
    await comment(follower);
    await comment(admin);
    const first = only((await inbox(author)).data[0]).id;
    expect(await read(author, { ids: [first] })).toBe(1);
    expect(await read(author, { ids: [first] })).toBe(0);
    expect((await inbox(author, "?unread=true")).meta.total).toBe(2);
    expect((await inbox(author, "?unread=false")).data.map((row) => [row.id, row.read_at !== null])).toEqual([
      [first, true],
    ]);
    expect(await read(author)).toBe(2);
    expect(await read(author, {})).toBe(0);
    expect([(await inbox(author, "?unread=true")).meta.total, (await inbox(author)).meta.total]).toEqual([0, 3]);
  });

  it("of another person cannot be marked as read", async () => {
    await vote(follower);
    const foreign = only((await inbox(author)).data[0]).id;
    expect(await read(other, { ids: [foreign] })).toBe(0);
    expect(await read(other)).toBe(0);
    expect((await inbox(author)).data[0]?.read_at).toBeNull();
  });

  it("keeps the time when each was first read", async () => {
    await vote(follower);
    await read(author);
    const { read_at } = only((await inbox(author)).data[0]);
    await read(author);
    expect((await inbox(author)).data[0]?.read_at).toBe(read_at);
  });

  it.each([
    [{ ids: "all" }, ["ids"]],
    [{ ids: ["x"] }, ["ids.0"]],
    [{ ids: Array(101).fill("00000000-0000-4000-8000-000000000000") }, ["ids"]],
    [[], ["body"]],
  ])("rejects marking %j", async (body, fields) => {
    expectError(await api("POST", "/api/me/notifications/read", { as: author, body }), "VALIDATION_ERROR", ...fields);
  });

  it("marks none for an empty list of ids", async () => {
    await vote(follower);
    expect(await read(author, { ids: [] })).toBe(0);
    expect((await inbox(author, "?unread=true")).meta.total).toBe(1);
  });

  it("removes notifications about a deleted submission or comment", async () => {
    const deleted = await comment(follower);
    await vote(follower);
    await api("DELETE", `/api/comments/${deleted}`, { as: follower });
    expect(await types(author)).toEqual(["vote"]);
    await api("DELETE", `/api/submissions/${id}`, { as: author });
    expect(await inbox(author)).toEqual({ data: [], meta: { total: 0 } });
  });
});
