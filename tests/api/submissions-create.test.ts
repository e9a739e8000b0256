import { describe, expect, it } from "vitest";
import { submissionCreatedAnswer, submissionCreatedByKey, submissionDetailAnswer } from "../../shared/submissions.ts";
import { sql } from "../stack.ts";
import { api, expectJson } from "./client.ts";
import { longEnough, newKey, newOrganization, newUser, only, stored } from "./world.ts";

const organization = await newOrganization();
const user = await newUser("Ada Author");
const key = await newKey(organization, ["submissions:write"]);

const idea = { title: "A dark theme", description: longEnough, type: "idea" };
const byUser = (body: unknown = idea) => api("POST", "/api/submissions", { as: user, on: organization, body });
const byKey = (body: unknown = idea, as: { token: string } = key) => api("POST", "/api/submissions", { as, body });

describe("a submission by a signed-in user", () => {
  it("publishes one event, and none for the author's own vote and follow", async () => {
    const { data } = expectJson(await byUser(), 201, submissionCreatedAnswer);
    const events = await sql`select type from private.outbox where subject_id = ${data.id}`;
    const notifications = await sql`select type from public.notifications where submission_id = ${data.id}`;
    expect([events.map(({ type }) => type), notifications.length]).toEqual([["submission.created"], 0]);
  });
});

describe("a submission by an organization's key", () => {
  it("stores source and the author by e-mail, whose address no response contains", async () => {
    const author_email = `Grace.${crypto.randomUUID()}@Example.org`;
    const body = { ...idea, author_email, author_name: "Grace Hopper", source: "ios-app" };
    const { id } = expectJson(await byKey(body), 201, submissionCreatedByKey);
    const row = only(await stored("submissions", id));
    expect(row).toMatchObject({ source: "ios-app", vote_count: 1 });
    const [profile] =
      await sql`select kind, email, name, auth_user_id from public.profiles where id = ${String(row.author_id)}`;
    expect(profile).toEqual({
      kind: "email",
      email: author_email.toLowerCase(),
      name: "Grace Hopper",
      auth_user_id: null,
    });
    const answer = await api("GET", `/api/submissions/${id}?expand=author,comments`);
    expect(expectJson(answer, 200, submissionDetailAnswer).data.author?.name).toBe("Grace Hopper");
    expect(answer.text.toLowerCase()).not.toContain(author_email.toLowerCase());
  });
});
