import { beforeEach, describe, expect, it } from "vitest";
import { commentCreatedAnswer } from "../../shared/comments.ts";
import { notificationListAnswer, notificationsReadAnswer } from "../../shared/notifications.ts";
import { sql } from "../stack.ts";
import { api, type Caller, expectJson, getJson } from "./client.ts";
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

describe("the inbox", () => {
  it("keeps the time when each was first read", async () => {
    await vote(follower);
    await read(author);
    const { read_at } = only((await inbox(author)).data[0]);
    await read(author);
    expect((await inbox(author)).data[0]?.read_at).toBe(read_at);
  });
});
