import { describe, expect, it } from "vitest";
import { commentCreatedAnswer } from "../../shared/comments.ts";
import { submissionCreatedAnswer, submissionCreatedByKey } from "../../shared/submissions.ts";
import { commentVoteAnswer, voteAnswer } from "../../shared/votes.ts";
import { sql } from "../stack.ts";
import { api, type Caller, expectError, expectJson, expectLowercaseError } from "./client.ts";
import { longEnough, newComment, newKey, newOrganization, newSubmission, newUser, stored } from "./world.ts";

const organization = await newOrganization();
const key = await newKey(organization, ["submissions:write"]);
const user = await newUser();

const idea = { title: "A dark theme", description: longEnough, type: "idea" };
const once = (name: string, body: unknown = idea, as: Caller = key, path = "/api/submissions") =>
  api("POST", path, { as, on: organization, body, headers: { "idempotency-key": name } });
const fresh = () => crypto.randomUUID();
const countOf = async (title: string) =>
  (await sql`select 1 from public.submissions where organization_id = ${organization.id} and title = ${title}`).length;

describe("a POST by a key with an Idempotency-Key", () => {
  it("sent twice returns the same response and creates one row", async () => {
    const [name, title] = [fresh(), `Once only ${fresh()}`];
    const first = await once(name, { ...idea, title });
    const second = await once(name, { ...idea, title });
    expectJson(first, 201, submissionCreatedByKey);
    expect([second.status, second.body]).toEqual([first.status, first.body]);
    expect(await countOf(title)).toBe(1);
  });

  it("sent ten times concurrently returns the same response and creates one row", async () => {
    const [name, title] = [fresh(), `At once ${fresh()}`];
    const answers = await Promise.all(Array.from({ length: 10 }, () => once(name, { ...idea, title })));
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expectJson(answers[0] as (typeof answers)[0], 201, submissionCreatedByKey);
    expect(await countOf(title)).toBe(1);
  });

  it("returns the same response after the created row was deleted", async () => {
    const name = fresh();
    const { id } = expectJson(await once(name), 201, submissionCreatedByKey);
    await sql`delete from public.submissions where id = ${id}`;
    expect(expectJson(await once(name), 201, submissionCreatedByKey).id).toBe(id);
    expect(await stored("submissions", id)).toBeUndefined();
  });

  it("is a conflict with another body, and creates nothing", async () => {
    const name = fresh();
    expectJson(await once(name), 201, submissionCreatedByKey);
    const title = `Another body ${fresh()}`;
    expectLowercaseError(await once(name, { ...idea, title }), "CONFLICT");
    expect(await countOf(title)).toBe(0);
  });

  it("is a conflict on another path", async () => {
    const name = fresh();
    expectJson(await once(name), 201, submissionCreatedByKey);
    const id = await newSubmission(organization, user);
    expectError(await once(name, { body: "Hello" }, key, `/api/submissions/${id}/comments`), "CONFLICT");
    expect(await stored("submissions", id)).toMatchObject({ comment_count: 0 });
  });

  it("is a conflict for another row of the same path", async () => {
    const name = fresh();
    const [one, two] = [await newSubmission(organization, user), await newSubmission(organization, user)];
    expectJson(await once(name, {}, key, `/api/submissions/${one}/vote`), 201, voteAnswer);
    expectError(await once(name, {}, key, `/api/submissions/${two}/vote`), "CONFLICT");
    expect(await stored("submissions", two)).toMatchObject({ vote_count: 1 });
  });

  it("accepts the same body with reordered fields or other white space", async () => {
    const name = fresh();
    const { id } = expectJson(await once(name), 201, submissionCreatedByKey);
    const { type, description, title } = idea;
    expect(
      expectJson(await once(name, { type, description, title: ` ${title} ` }), 201, submissionCreatedByKey).id,
    ).toBe(id);
  });

  it("creates separate rows for different values", async () => {
    const title = `Apart ${fresh()}`;
    const ids = [];
    for (const name of [fresh(), fresh()])
      ids.push(expectJson(await once(name, { ...idea, title }), 201, submissionCreatedByKey).id);
    expect(new Set(ids).size).toBe(2);
    expect(await countOf(title)).toBe(2);
  });

  it("belongs to one key", async () => {
    const name = fresh();
    const another = await newKey(organization, ["submissions:write"]);
    const ids = [];
    for (const as of [key, another]) ids.push(expectJson(await once(name, idea, as), 201, submissionCreatedByKey).id);
    expect(new Set(ids).size).toBe(2);
  });

  it("that was rejected can be sent again with a valid body", async () => {
    const name = fresh();
    expectLowercaseError(await once(name, { ...idea, title: "x" }), "VALIDATION_ERROR", "title");
    expectJson(await once(name), 201, submissionCreatedByKey);
  });

  it("that failed in the database can be sent again", async () => {
    const small = await newOrganization({ max_submissions: 0 });
    const its = await newKey(small, ["submissions:write"]);
    const name = fresh();
    const send = () => api("POST", "/api/submissions", { as: its, body: idea, headers: { "idempotency-key": name } });
    expectLowercaseError(await send(), "PLAN_LIMIT_REACHED");
    await sql`update public.organizations set max_submissions = 1 where id = ${small.id}`;
    const first = expectJson(await send(), 201, submissionCreatedByKey);
    expect(expectJson(await send(), 201, submissionCreatedByKey)).toEqual(first);
  });

  it("returns the stored status of a vote and of a comment, not the current one", async () => {
    const id = await newSubmission(organization, user);
    const comment = await newComment(id, user);
    const author_email = `${fresh()}@example.org`;
    const calls = [
      [`/api/submissions/${id}/vote`, { author_email }, voteAnswer],
      [`/api/comments/${comment}/vote`, { author_email }, commentVoteAnswer],
      [`/api/submissions/${id}/comments`, { author_email, body: "Once" }, commentCreatedAnswer],
    ] as const;
    for (const [path, body, schema] of calls) {
      const name = fresh();
      const first = await once(name, body, key, path);
      expectJson(first, 201, schema);
      expect((await once(name, body, key, path)).body).toEqual(first.body);
      expectJson(await once(name, body, key, path), 201, schema);
    }
    expect(await stored("submissions", id)).toMatchObject({ vote_count: 2, comment_count: 2 });
  });

  it.each(["", "x".repeat(201), "two words", "tab\there"])("rejects the value %j", async (name) => {
    expectLowercaseError(await once(name), "VALIDATION_ERROR", "Idempotency-Key");
  });

  it("accepts a value of 200 characters", async () => {
    const name = fresh().padEnd(200, "~");
    const { id } = expectJson(await once(name), 201, submissionCreatedByKey);
    expect(expectJson(await once(name), 201, submissionCreatedByKey).id).toBe(id);
  });

  it("does not return its response to a credential that has lost its permissions", async () => {
    const name = fresh();
    const doomed = await newKey(organization, ["submissions:write"]);
    expectJson(await once(name, idea, doomed), 201, submissionCreatedByKey);
    await sql`update private.api_keys set scopes = '{submissions:read}' where id = ${doomed.id}`;
    expectLowercaseError(await once(name, idea, doomed), "FORBIDDEN");
    await sql`update private.api_keys set revoked_at = now() where id = ${doomed.id}`;
    expectLowercaseError(await once(name, idea, doomed), "UNAUTHORIZED");
  });
});

describe("an Idempotency-Key", () => {
  it("is ignored for a user", async () => {
    const name = fresh();
    const ids = [];
    for (let n = 0; n < 2; n++)
      ids.push(expectJson(await once(name, idea, user), 201, submissionCreatedAnswer).data.id);
    expect(new Set(ids).size).toBe(2);
  });

  it("is never stored in the responses of others", async () => {
    const secret = fresh();
    const answer = await once(secret);
    expect(answer.text).not.toContain(secret);
    expect(Object.values(answer.headers).join(" ")).not.toContain(secret);
  });
});
