import { beforeEach, describe, expect, it } from "vitest";
import { commentCreatedAnswer, commentListAnswer } from "../../shared/comments.ts";
import { sql } from "../stack.ts";
import { api, type Caller, expectError, expectJson, getJson } from "./client.ts";
import { newKey, newOrganization, newSubmission, newUser, stored } from "./world.ts";

let id: string;
const organization = await newOrganization();
const author = await newUser("Ada");
const commenter = await newUser("Carl Commenter");
const key = await newKey(organization, ["submissions:write"]);

beforeEach(async () => {
  id = await newSubmission(organization, author);
});

const post = (body: unknown, as: Caller | undefined = commenter, on = id) =>
  api("POST", `/api/submissions/${on}/comments`, { as, body });
const list = async (query = "", as?: Caller, on = id) =>
  await getJson(`/api/submissions/${on}/comments${query}`, commentListAnswer, { as });
const bodies = (comments: { body: string }[]) => comments.map(({ body }) => body);

describe("creating a comment", () => {
  it("by a key makes the author of the address follow only if they asked for it", async () => {
    const author_email = `${crypto.randomUUID()}@example.org`;
    const follows = () => sql`select f.reason from public.follows f join public.profiles p on p.id = f.user_id
      where f.submission_id = ${id} and p.email = ${author_email}`;
    expect((await post({ body: "By mail", author_email }, key)).status).toBe(201);
    expect(await follows()).toEqual([]);
    expect((await post({ body: "By mail", author_email, follow: true }, key)).status).toBe(201);
    expect(await follows()).toEqual([{ reason: "comment" }]);
  });

  it("is pending when the organization requires approval", async () => {
    const moderated = await newOrganization({ require_approval: true });
    const board = await newSubmission(moderated, author);
    const { data } = expectJson(await post({ body: "May I?" }, commenter, board), 201, commentCreatedAnswer);
    expect(bodies((await list("", undefined, board)).data)).toEqual([]);
    expect(bodies((await list("", commenter, board)).data)).toEqual(["May I?"]);
    expectError(await api("GET", `/api/comments/${data.id}`), "NOT_FOUND");
    expect(await stored("submissions", board)).toMatchObject({ comment_count: 0 });
  });
});
