import { describe, expect, it } from "vitest";
import { submissionCreatedAnswer, submissionCreatedByKey, submissionDetailAnswer } from "../../shared/submissions.ts";
import { signUp, sql, stack } from "../stack.ts";
import { api, expectError, expectJson, expectLowercaseError, getJson } from "./client.ts";
import { longEnough, newKey, newOrganization, newUser, only, stored, unknownKey } from "./world.ts";

const organization = await newOrganization();
const user = await newUser("Ada Author");
const key = await newKey(organization, ["submissions:write"]);

const idea = { title: "A dark theme", description: longEnough, type: "idea" };
const byUser = (body: unknown = idea) => api("POST", "/api/submissions", { as: user, on: organization, body });
const byKey = (body: unknown = idea, as: { token: string } = key) => api("POST", "/api/submissions", { as, body });
const url = (id: string) => `${stack.supabase_url}/submissions/${id}`;

describe("a submission by a signed-in user", () => {
  it("returns 201 in the envelope", async () => {
    const { data } = expectJson(await byUser(), 201, submissionCreatedAnswer);
    expect(data).toEqual({ id: data.id, title: "A dark theme", status: "open", vote_count: 1, url: url(data.id) });
  });

  it.each(["idea", "problem"])("can be of type %s, with the author's vote and follow", async (type) => {
    const { data: created } = expectJson(await byUser({ ...idea, type }), 201, submissionCreatedAnswer);
    const { data } = await getJson(`/api/submissions/${created.id}`, submissionDetailAnswer, { as: user });
    expect(data).toMatchObject({
      type,
      status: "open",
      vote_count: 1,
      comment_count: 0,
      author_id: user.id,
      category_id: null,
      tags: [],
      is_following: true,
      user_vote: { created_at: data.created_at },
    });
    expect(data.updated_at).toBe(data.created_at);
  });

  it("publishes one event, and none for the author's own vote and follow", async () => {
    const { data } = expectJson(await byUser(), 201, submissionCreatedAnswer);
    const events = await sql`select type from private.outbox where subject_id = ${data.id}`;
    const notifications = await sql`select type from public.notifications where submission_id = ${data.id}`;
    expect([events.map(({ type }) => type), notifications.length]).toEqual([["submission.created"], 0]);
  });

  it("accepts a category of the organization", async () => {
    const [category] = await sql<{ id: string }[]>`
      insert into public.categories (organization_id, name, slug) values (${organization.id}, 'Web', 'web') returning id`;
    const { data } = expectJson(
      await byUser({ ...idea, category_id: only(category).id }),
      201,
      submissionCreatedAnswer,
    );
    expect(await stored("submissions", data.id)).toMatchObject({ category_id: only(category).id });
    expectJson(await byUser({ ...idea, category_id: null }), 201, submissionCreatedAnswer);
  });

  it("rejects a category of another organization, and an unknown one", async () => {
    const [foreign] = await sql<{ id: string }[]>`
      insert into public.categories (organization_id, name, slug) values (${(await newOrganization()).id}, 'Web', 'web') returning id`;
    for (const category_id of [only(foreign).id, crypto.randomUUID()]) {
      expectError(await byUser({ ...idea, category_id }), "VALIDATION_ERROR", "category_id");
    }
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

  it("ignores fields that only a key may set", async () => {
    const { data } = expectJson(
      await byUser({ ...idea, author_email: "x@example.org", author_name: "Somebody", source: "web" }),
      201,
      submissionCreatedAnswer,
    );
    expect(await stored("submissions", data.id)).toMatchObject({ author_id: user.id, source: null });
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
  it("returns 201 with id and url, without an envelope", async () => {
    const answer = await byKey();
    const created = expectJson(answer, 201, submissionCreatedByKey);
    expect(Object.keys(answer.body as object)).toEqual(["id", "url"]);
    expect(created.url).toBe(url(created.id));
  });

  it("has the key as its author by default", async () => {
    const { id } = expectJson(await byKey(), 201, submissionCreatedByKey);
    expect(await stored("submissions", id)).toMatchObject({
      author_id: key.profileId,
      organization_id: organization.id,
      vote_count: 1,
      source: null,
    });
  });

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

  it("matches an author by e-mail address, ignoring case", async () => {
    const email = `${crypto.randomUUID()}@example.org`;
    const ids = [];
    for (const author_email of [email, email.toUpperCase()]) {
      ids.push(expectJson(await byKey({ ...idea, author_email }), 201, submissionCreatedByKey).id);
    }
    const rows = await Promise.all(ids.map((id) => stored("submissions", id)));
    expect(rows[0]?.author_id).toBe(rows[1]?.author_id);
  });

  it("does not derive a name from an address", async () => {
    const body = { ...idea, author_email: `secret.person.${crypto.randomUUID()}@example.org` };
    const { id } = expectJson(await byKey(body), 201, submissionCreatedByKey);
    const answer = await api("GET", `/api/submissions/${id}?expand=author`);
    expect(expectJson(answer, 200, submissionDetailAnswer).data.author?.name).toBe("Anonymous");
    expect(answer.text).not.toContain("secret.person");
  });

  it("does not act as a user with that address", async () => {
    const { id } = expectJson(await byKey({ ...idea, author_email: user.email }), 201, submissionCreatedByKey);
    expect((await stored("submissions", id))?.author_id).not.toBe(user.id);
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
  // Errors for a user have the general envelope, for a key the lowercase one.
  it.each([
    ["nothing at all", {}, ["description", "title", "type"]],
    ["no title", { ...idea, title: undefined }, ["title"]],
    ["a title of 4", { ...idea, title: "abcd" }, ["title"]],
    ["a title of 4 between blanks", { ...idea, title: "  abcd  " }, ["title"]],
    ["a title of 201", { ...idea, title: "x".repeat(201) }, ["title"]],
    ["a title that is a number", { ...idea, title: 12345 }, ["title"]],
    ["a title that is null", { ...idea, title: null }, ["title"]],
    ["a description of 19", { ...idea, description: "x".repeat(19) }, ["description"]],
    ["a description of 5001", { ...idea, description: "x".repeat(5001) }, ["description"]],
    ["an unknown type", { ...idea, type: "question" }, ["type"]],
    ["a type in capitals", { ...idea, type: "IDEA" }, ["type"]],
    ["a malformed category", { ...idea, category_id: "web" }, ["category_id"]],
    ["an unknown category", { ...idea, category_id: "00000000-0000-4000-8000-000000000000" }, ["category_id"]],
    [
      "everything wrong",
      { title: "", description: "", type: "", category_id: 1 },
      ["category_id", "description", "title", "type"],
    ],
    ["an array", [idea], ["body"]],
    ["a string", "idea", ["body"]],
    ["null", null, ["body"]],
  ])("400 for %s has the name of each field", async (_, body, fields) => {
    const general = expectError(await byUser(body), "VALIDATION_ERROR", ...fields);
    const lowercase = expectLowercaseError(await byKey(body), "VALIDATION_ERROR", ...fields);
    expect(lowercase.details).toEqual(general.details);
  });

  it.each([
    ["author_email", "no address"],
    ["author_email", ""],
    ["author_email", `${"x".repeat(65)}@example.org`],
    ["author_email", `a@${"x".repeat(300)}.org`],
    ["author_email", 5],
    ["author_name", ""],
    ["author_name", "x".repeat(101)],
    ["author_name", {}],
    ["source", ""],
    ["source", "x".repeat(65)],
    ["source", ["web"]],
  ])("400 for a key's %s %j", async (field, value) => {
    expectLowercaseError(await byKey({ ...idea, [field]: value }), "VALIDATION_ERROR", field);
  });

  it("401 for an invalid credential, in the envelope of its kind", async () => {
    const jwt = { token: "e30.e30.e30" };
    expectError(await api("POST", "/api/submissions", { as: jwt, body: idea }), "UNAUTHORIZED");
    for (const token of [(await unknownKey()).token, "fcs_org_x", `${key.token}x`, "sk_live_1234"]) {
      const answer = await byKey(idea, { token });
      expectLowercaseError(answer, "UNAUTHORIZED");
      expect(answer.body).toEqual({ error: "unauthorized" });
    }
  });

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

  it("404 for an unknown organization, or one of another key", async () => {
    const nowhere = { slug: `o-${crypto.randomUUID()}` };
    expectError(await api("POST", "/api/submissions", { as: user, on: nowhere, body: idea }), "NOT_FOUND");
    expectLowercaseError(
      await api("POST", "/api/submissions", { as: key, on: await newOrganization(), body: idea }),
      "NOT_FOUND",
    );
  });

  it("413 for more than 1 MiB", async () => {
    const body = { ...idea, padding: "x".repeat(1024 * 1024) };
    expectError(await byUser(body), "PAYLOAD_TOO_LARGE");
    const answer = await byKey(body);
    expectLowercaseError(answer, "PAYLOAD_TOO_LARGE");
    expect(answer.body).toEqual({ error: "payload_too_large" });
  });

  it("415 for other types than JSON", async () => {
    const call = { raw: "title=A dark theme", headers: { "content-type": "application/x-www-form-urlencoded" } };
    expectError(
      await api("POST", "/api/submissions", { as: user, on: organization, ...call }),
      "UNSUPPORTED_MEDIA_TYPE",
    );
    const answer = await api("POST", "/api/submissions", { as: key, ...call });
    expectLowercaseError(answer, "UNSUPPORTED_MEDIA_TYPE");
    expect(answer.body).toEqual({ error: "unsupported_media_type" });
  });

  it("429 when a limit is reached, with Retry-After", async () => {
    const busy = await newUser();
    const busyKey = await newKey(organization, ["submissions:write"]);
    for (const [rule, subject] of [
      ["level_user", busy.id],
      ["level_key", busyKey.id],
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

  it("use the lowercase form nowhere else", async () => {
    expectError(
      await api("POST", "/api/submissions/check-duplicates", { as: key, body: {} }),
      "VALIDATION_ERROR",
      "title",
    );
    expectError(await api("GET", "/api/submissions?page=0", { as: key }), "VALIDATION_ERROR", "page");
    expectError(await api("GET", "/api/submissions", { as: await unknownKey() }), "UNAUTHORIZED");
  });
});
