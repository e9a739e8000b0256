import { describe, expect, it } from "vitest";
import { commentCreatedAnswer } from "../../shared/comments.ts";
import { statusChangeAnswer, statusChangeListAnswer } from "../../shared/submissions.ts";
import { sql } from "../stack.ts";
import { type Answer, api, type Caller, expectJson, getJson } from "./client.ts";
import {
  countMistakes,
  longEnough,
  newComment,
  newKey,
  newOrganization,
  newSubmission,
  newUser,
  newUsers,
  only,
  stored,
} from "./world.ts";

const organization = await newOrganization();
const author = await newUser("Ada");
const admin = await newUser("Adam", { organization, role: "admin" });
const crowd = await newUsers(100);

/** Runs all concurrently; each must succeed. */
async function runConcurrently(calls: (() => Promise<Answer>)[], ...statuses: number[]): Promise<Answer[]> {
  const answers = await Promise.all(calls.map((call) => call()));
  for (const { status, text } of answers) expect(statuses, text).toContain(status);
  return answers;
}

const vote = (path: string, as: Caller) => () => api("POST", `/api/${path}/vote`, { as });
const unvote = (path: string, as: Caller) => () => api("DELETE", `/api/${path}/vote`, { as });
const votes = (id: string) => sql`select user_id from public.votes where submission_id = ${id}`;

describe("concurrent votes", () => {
  it("200 votes and removals by 100 people on one submission leave exact counts", async () => {
    const id = await newSubmission(organization, author);
    const path = `submissions/${id}`;
    await runConcurrently(
      crowd.slice(0, 50).map((as) => vote(path, as)),
      201,
    );
    expect(await stored("submissions", id)).toMatchObject({ vote_count: 51 });
    // Fifty remove their vote while fifty others vote, each twice.
    const calls = crowd.flatMap((as, n) =>
      n < 50 ? [unvote(path, as), unvote(path, as)] : [vote(path, as), vote(path, as)],
    );
    expect(calls).toHaveLength(200);
    const answers = await runConcurrently(calls, 200, 201);
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(50);
    expect([(await stored("submissions", id))?.vote_count, (await votes(id)).length]).toEqual([51, 51]);
    expect(await countMistakes(organization)).toEqual([]);
  });

  it("votes and removals by the same people in any order leave exact counts", async () => {
    const id = await newSubmission(organization, author);
    const calls = crowd.slice(0, 50).flatMap((as) => [vote(`submissions/${id}`, as), unvote(`submissions/${id}`, as)]);
    await runConcurrently([...calls, ...calls], 200, 201);
    const rows = await votes(id);
    expect(await stored("submissions", id)).toMatchObject({ vote_count: rows.length });
    expect(await countMistakes(organization)).toEqual([]);
  });

  it.each(["user", "key", "key for somebody"] as const)(
    "two identical votes of a %s create one row",
    async (callers) => {
      const key = await newKey(organization, ["submissions:write"]);
      for (let round = 0; round < 5; round++) {
        const id = await newSubmission(organization, author);
        const as = callers === "user" ? only(crowd[round]) : key;
        const body = callers === "key for somebody" ? { author_email: `${crypto.randomUUID()}@example.org` } : {};
        const call = () => api("POST", `/api/submissions/${id}/vote`, { as, body });
        const answers = await runConcurrently([call, call], 200, 201);
        expect(answers.map(({ status }) => status).sort()).toEqual([200, 201]);
        expect([(await stored("submissions", id))?.vote_count, (await votes(id)).length]).toEqual([2, 2]);
        const [{ told: notified }] = await sql<
          [{ told: number }]
        >`select count(*)::int as told from public.notifications where submission_id = ${id}`;
        expect(notified).toBe(1);
      }
    },
  );

  it("votes on a comment leave exact counts", async () => {
    const comment = await newComment(await newSubmission(organization, author), author);
    const path = `comments/${comment}`;
    await runConcurrently(
      crowd.slice(0, 40).flatMap((as) => [vote(path, as), vote(path, as)]),
      200,
      201,
    );
    await runConcurrently(
      crowd.slice(0, 40).flatMap((as, n) => (n % 2 ? [unvote(path, as), unvote(path, as)] : [vote(path, as)])),
      200,
    );
    expect(await stored("comments", comment)).toMatchObject({ vote_count: 20 });
    expect(await countMistakes(organization)).toEqual([]);
  });

  it("votes on many submissions in opposite orders do not deadlock", async () => {
    const ids = await Promise.all(Array.from({ length: 6 }, () => newSubmission(organization, author)));
    const calls = crowd
      .slice(0, 12)
      .flatMap((as, n) => (n % 2 ? ids : ids.toReversed()).map((id) => vote(`submissions/${id}`, as)));
    await runConcurrently(calls, 201);
    for (const id of ids) expect(await stored("submissions", id)).toMatchObject({ vote_count: 13 });
  });

  it("votes on a submission that is being deleted succeed or return 404", async () => {
    const id = await newSubmission(organization, author);
    const removal = () => api("DELETE", `/api/submissions/${id}`, { as: author });
    const calls = crowd.slice(0, 30).map((as) => vote(`submissions/${id}`, as));
    await runConcurrently([...calls.slice(0, 15), removal, ...calls.slice(15)], 200, 201, 404);
    expect([await stored("submissions", id), (await votes(id)).length]).toEqual([undefined, 0]);
    expect(await countMistakes(organization)).toEqual([]);
  });
});

describe("concurrent follows", () => {
  it("by one person create one row", async () => {
    const id = await newSubmission(organization, author);
    const as = only(crowd[0]);
    const call = () => api("POST", `/api/submissions/${id}/follow`, { as });
    const answers = await runConcurrently([call, call, call, vote(`submissions/${id}`, as)], 200, 201);
    expect(answers.slice(0, 3).filter(({ status }) => status === 201).length).toBeLessThanOrEqual(1);
    expect(await sql`select 1 from public.follows where submission_id = ${id} and user_id = ${as.id}`).toHaveLength(1);
  });
});

describe("a thread", () => {
  const post = (id: string, as: Caller, parent_id?: string) => () =>
    api("POST", `/api/submissions/${id}/comments`, { as, body: { body: "Hello", parent_id } });
  const remove = (comment: string, as: Caller) => () => api("DELETE", `/api/comments/${comment}`, { as });

  it("has exact counts after concurrent comments and replies", async () => {
    const id = await newSubmission(organization, author);
    const parent = await newComment(id, author);
    await runConcurrently(
      crowd.slice(0, 60).map((as, n) => post(id, as, n % 2 ? parent : undefined)),
      201,
    );
    expect(await stored("submissions", id)).toMatchObject({ comment_count: 61 });
    expect(await stored("comments", parent)).toMatchObject({ reply_count: 30 });
    expect(await countMistakes(organization)).toEqual([]);
  });

  it("has exact counts after concurrent creates and deletes at every level", async () => {
    for (let round = 0; round < 3; round++) {
      const id = await newSubmission(organization, author);
      const top = await newComment(id, author);
      const middle = await newComment(id, author, { parent_id: top });
      const low = await newComment(id, author, { parent_id: middle });
      const writers = crowd.slice(0, 30).map((as, n) => post(id, as, [top, middle, low, undefined][n % 4]));
      const removals = [remove(low, author), remove(middle, admin), remove(top, author), remove(middle, author)];
      await runConcurrently([...writers.slice(0, 10), ...removals, ...writers.slice(10)], 200, 201, 404);
      const rows = await sql<
        { parent_id: string | null }[]
      >`select id, parent_id from public.comments where submission_id = ${id}`;
      expect(rows.every(({ parent_id }) => parent_id === null)).toBe(true);
      expect(await stored("submissions", id)).toMatchObject({ comment_count: rows.length });
    }
    expect(await countMistakes(organization)).toEqual([]);
  });

  it("counts each deletion once when all callers delete it at the same time", async () => {
    const id = await newSubmission(organization, author);
    const comment = await newComment(id, author);
    for (let n = 0; n < 5; n++) await newComment(id, only(crowd[n]), { parent_id: comment });
    const answers = await runConcurrently(
      Array.from({ length: 8 }, (_, n) => remove(comment, n % 2 ? author : admin)),
      200,
      404,
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(await stored("submissions", id)).toMatchObject({ comment_count: 0 });
  });

  it("accepts concurrent votes, edits and deletes without an error", async () => {
    const id = await newSubmission(organization, author);
    const created = await runConcurrently(
      crowd.slice(0, 10).map((as) => post(id, as)),
      201,
    );
    const ids = created.map((answer) => expectJson(answer, 201, commentCreatedAnswer).data.id);
    const calls = ids.flatMap((comment, n) => [
      ...crowd.slice(20, 25).map((as) => vote(`comments/${comment}`, as)),
      () => api("PATCH", `/api/comments/${comment}`, { as: only(crowd[n]), body: { body: "Edited" } }),
      ...(n % 2 ? [remove(comment, only(crowd[n]))] : []),
    ]);
    await runConcurrently(calls, 200, 201, 404);
    expect(await stored("submissions", id)).toMatchObject({ comment_count: 5 });
    expect(await countMistakes(organization)).toEqual([]);
  });
});

describe("a status", () => {
  it("changed concurrently has a history without gaps", async () => {
    const id = await newSubmission(organization, author);
    const statuses = ["planned", "in_progress", "completed", "declined", "under_review"];
    const calls = Array.from(
      { length: 25 },
      (_, n) => () => api("PATCH", `/api/submissions/${id}/status`, { as: admin, body: { status: statuses[n % 5] } }),
    );
    const answers = await runConcurrently(calls, 200);
    const notified = answers.map((answer) => expectJson(answer, 200, statusChangeAnswer).data);
    const rows = await sql<{ previous_status: string; new_status: string }[]>`
      select previous_status, new_status from public.status_changes where submission_id = ${id}`;
    // Each change starts at the result of another one: an unbroken sequence from open to the current status.
    const arrivals = new Map<string, number>([["open", 1]]);
    for (const { previous_status, new_status } of rows) {
      expect(previous_status).not.toBe(new_status);
      arrivals.set(new_status, (arrivals.get(new_status) ?? 0) + 1);
      arrivals.set(previous_status, (arrivals.get(previous_status) ?? 0) - 1);
    }
    const left = [...arrivals].filter(([, count]) => count !== 0);
    expect(left).toEqual([[(await stored("submissions", id))?.status, 1]]);
    expect(notified.filter(({ previous_status, new_status }) => previous_status !== new_status)).toHaveLength(
      rows.length,
    );
    const shown = await getJson(`/api/submissions/${id}/status-changes`, statusChangeListAnswer);
    expect(shown.data).toHaveLength(rows.length);
  });

  it("changed concurrently to the same value changes once", async () => {
    const id = await newSubmission(organization, author);
    const call = () => api("PATCH", `/api/submissions/${id}/status`, { as: admin, body: { status: "planned" } });
    await runConcurrently(
      Array.from({ length: 8 }, () => call),
      200,
    );
    expect(await sql`select 1 from public.status_changes where submission_id = ${id}`).toHaveLength(1);
    expect(await sql`select 1 from public.notifications where submission_id = ${id}`).toHaveLength(1);
  });
});

describe("a plan's limit", () => {
  it.each([1, 3])("of %i is reached by concurrent creates and never exceeded", async (limit) => {
    for (let round = 0; round < 3; round++) {
      const small = await newOrganization({ max_submissions: limit });
      const key = await newKey(small, ["submissions:write"]);
      const body = { title: "One too many", description: longEnough, type: "idea" };
      const call = (as: Caller) => () => api("POST", "/api/submissions", { as, on: small, body });
      const answers = await runConcurrently([...crowd.slice(0, 6), key, key].map(call), 201, 402);
      expect(answers.filter(({ status }) => status === 201)).toHaveLength(limit);
      expect(await sql`select 1 from public.submissions where organization_id = ${small.id}`).toHaveLength(limit);
      expect(await sql`select 1 from private.outbox where organization_id = ${small.id}`).toHaveLength(limit);
    }
  });
});

describe("an author by e-mail", () => {
  it("used by many concurrent requests is one person", async () => {
    const key = await newKey(organization, ["submissions:write"]);
    const author_email = `${crypto.randomUUID()}@example.org`;
    const body = { title: "By e-mail", description: longEnough, type: "idea", author_email, author_name: "Grace" };
    await runConcurrently(
      Array.from({ length: 8 }, () => () => api("POST", "/api/submissions", { as: key, body })),
      201,
    );
    const people = await sql`select id from public.profiles where lower(email) = ${author_email}`;
    const authors =
      await sql`select distinct author_id from public.submissions where author_id = any (${people.map(({ id }) => id)})`;
    expect([people.length, authors.length]).toEqual([1, 1]);
  });
});

describe("an edit of a submission", () => {
  it("by many concurrent requests ends as exactly one of them", async () => {
    const id = await newSubmission(organization, author);
    const bodies = Array.from({ length: 8 }, (_, n) => ({ title: `Title ${n}`, description: `${n} ${longEnough}` }));
    await runConcurrently(
      bodies.map((body) => () => api("PATCH", `/api/submissions/${id}`, { as: author, body })),
      200,
    );
    const row = only(await stored("submissions", id));
    expect(bodies).toContainEqual({ title: row.title, description: row.description });
  });
});
