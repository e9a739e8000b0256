import { describe, expect, it } from "vitest";
import { submissionCreatedAnswer, submissionCreatedByKey, submissionDetailAnswer } from "../../shared/submissions.ts";
import { signUp, sql, stack } from "../stack.ts";
import { api, expectError, expectJson, expectLowercaseError, getJson } from "./client.ts";
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

  it("is allowed for a new user, on the default board", async () => {
    const newcomer = await signUp("Newcomer");
    const answer = await api("POST", "/api/submissions", { as: newcomer, body: idea, base: stack.supabase_url });
    const { data } = expectJson(answer, 201, submissionCreatedAnswer);
    expect(await stored("submissions", data.id)).toMatchObject({
      organization_id: stack.demo?.organization.id,
      author_id: newcomer.id,
    });
    const shown = await api("GET", `/api/submissions/${data.id}?expand=author`);
    expect(expectJson(shown, 200, submissionDetailAnswer).data.author?.name).toBe("Newcomer");
  });

  it("is pending when the organization requires approval, visible to its author only", async () => {
    const moderated = await newOrganization({ require_approval: true });
    const { data } = expectJson(
      await api("POST", "/api/submissions", { as: user, on: moderated, body: idea }),
      201,
      submissionCreatedAnswer,
    );
    expectError(await api("GET", `/api/submissions/${data.id}`), "NOT_FOUND");
    await getJson(`/api/submissions/${data.id}`, submissionDetailAnswer, { as: user });
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

  it("counts its author's vote once", async () => {
    const author_email = `${crypto.randomUUID()}@example.org`;
    const { id } = expectJson(await byKey({ ...idea, author_email }), 201, submissionCreatedByKey);
    const repeated = await api("POST", `/api/submissions/${id}/vote`, { as: key, body: { author_email } });
    expect(repeated.status).toBe(200);
    expect(await stored("submissions", id)).toMatchObject({ vote_count: 1 });
  });
});

describe("the two error envelopes", () => {
  it("402 when the plan's limit is reached", async () => {
    const small = await newOrganization({ max_submissions: 1 });
    const itsKey = await newKey(small, ["submissions:write"]);
    const post = (as: { token: string }) => api("POST", "/api/submissions", { as, on: small, body: idea });
    expectJson(await post(user), 201, submissionCreatedAnswer);
    expectError(await post(user), "PLAN_LIMIT_REACHED");
    const answer = await post(itsKey);
    expectLowercaseError(answer, "PLAN_LIMIT_REACHED");
    expect(answer.body).toEqual({ error: "plan_limit_reached" });
    const [{ n }] = await sql<
      [{ n: number }]
    >`select count(*)::int as n from public.submissions where organization_id = ${small.id}`;
    expect(n).toBe(1);
  });

  it("429 when a limit is reached, with Retry-After", async () => {
    const busy = await newUser();
    const busyKey = await newKey(organization, ["submissions:write"]);
    for (const [rule, subject] of [
      ["level_user", busy.id],
      ["level_key", busyKey.profileId],
    ] as const) {
      await sql`insert into private.rate_counters (rule, subject, started_at, used)
        select name, ${subject}, now(), max_requests from private.rate_limit_rules where name = ${rule}`;
    }
    const general = await api("POST", "/api/submissions", { as: busy, on: organization, body: idea });
    const wait = expectError(general, "RATE_LIMIT_EXCEEDED").retry_after;
    expect(wait).toBeGreaterThan(50);
    expect(general.headers).toMatchObject({ "retry-after": String(wait), "x-ratelimit-remaining": "0" });
    const lowercase = await byKey(idea, busyKey);
    expectLowercaseError(lowercase, "RATE_LIMIT_EXCEEDED");
    expect(lowercase.body).toEqual({ error: "rate_limited", retry_after: Number(lowercase.headers["retry-after"]) });
  });
});
