import { beforeAll, describe, expect, it } from "vitest";
import { commentCreatedAnswer } from "../../shared/comments.ts";
import { statusChangeAnswer, statusChangeListAnswer } from "../../shared/submissions.ts";
import { sql } from "../stack.ts";
import { type Answer, answered, api, type Caller } from "./client.ts";
import {
  countMistakes,
  longEnough,
  newComment,
  newKey,
  newOrganization,
  newSubmission,
  newUser,
  newUsers,
  type Organization,
  only,
  stored,
  type User,
} from "./world.ts";

let organization: Organization;
let author: User;
let admin: User;
let crowd: User[];

beforeAll(async () => {
  organization = await newOrganization();
  author = await newUser("Ada");
  admin = await newUser("Adam", { organization, role: "admin" });
  crowd = await newUsers(100);
});

/** All at once; each must have been answered well. */
async function together(calls: (() => Promise<Answer>)[], ...statuses: number[]): Promise<Answer[]> {
  const answers = await Promise.all(calls.map((call) => call()));
  for (const { status, text } of answers) expect(statuses, text).toContain(status);
  return answers;
}

const vote = (path: string, as: Caller) => () => api("POST", `/api/${path}/vote`, { as });
const unvote = (path: string, as: Caller) => () => api("DELETE", `/api/${path}/vote`, { as });
const votes = (id: string) => sql`select user_id from public.votes where submission_id = ${id}`;

describe("many votes at once", () => {
  it("200 votes and un-votes of 100 people on one submission leave exact counts", async () => {
    const id = await newSubmission(organization, author);
    const path = `submissions/${id}`;
    await together(
      crowd.slice(0, 50).map((as) => vote(path, as)),
      201,
    );
    expect(await stored("submissions", id)).toMatchObject({ vote_count: 51 });
    // Fifty take theirs back while fifty others vote, each twice.
    const calls = crowd.flatMap((as, n) =>
      n < 50 ? [unvote(path, as), unvote(path, as)] : [vote(path, as), vote(path, as)],
    );
    expect(calls).toHaveLength(200);
    const answers = await together(calls, 200, 201);
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(50);
    expect([(await stored("submissions", id))?.vote_count, (await votes(id)).length]).toEqual([51, 51]);
    expect(await countMistakes(organization)).toEqual([]);
  });

  it("votes and un-votes of the same people in any order leave exact counts", async () => {
    const id = await newSubmission(organization, author);
    const calls = crowd
      .slice(0, 50)
      .flatMap((as) => [vote(`submissions/${id}`, as), unvote(`submissions/${id}`, as)]);
    await together([...calls, ...calls], 200, 201);
    const rows = await votes(id);
    expect(await stored("submissions", id)).toMatchObject({ vote_count: rows.length });
    expect(await countMistakes(organization)).toEqual([]);
  });

  it.each(["user", "key", "key for somebody"] as const)(
    "two identical votes of a %s make one",
    async (who) => {
      const key = await newKey(organization, ["submissions:write"]);
      for (let round = 0; round < 5; round++) {
        const id = await newSubmission(organization, author);
        const as = who === "user" ? only(crowd[round]) : key;
        const body = who === "key for somebody" ? { author_email: `${crypto.randomUUID()}@example.org` } : {};
        const call = () => api("POST", `/api/submissions/${id}/vote`, { as, body });
        const answers = await together([call, call], 200, 201);
        expect(answers.map(({ status }) => status).sort()).toEqual([200, 201]);
        expect([(await stored("submissions", id))?.vote_count, (await votes(id)).length]).toEqual([2, 2]);
        const [{ told }] = await sql<
          [{ told: number }]
        >`select count(*)::int as told from public.notifications where submission_id = ${id}`;
        expect(told).toBe(1);
      }
    },
  );

  it("votes on a comment leave exact counts", async () => {
    const comment = await newComment(await newSubmission(organization, author), author);
    const path = `comments/${comment}`;
    await together(
      crowd.slice(0, 40).flatMap((as) => [vote(path, as), vote(path, as)]),
      200,
      201,
    );
    await together(
      crowd
        .slice(0, 40)
        .flatMap((as, n) => (n % 2 ? [unvote(path, as), unvote(path, as)] : [vote(path, as)])),
      200,
    );
    expect(await stored("comments", comment)).toMatchObject({ vote_count: 20 });
    expect(await countMistakes(organization)).toEqual([]);
  });

  it("votes on many submissions in opposite orders do not block each other", async () => {
    const ids = await Promise.all(Array.from({ length: 6 }, () => newSubmission(organization, author)));
    const calls = crowd
      .slice(0, 12)
      .flatMap((as, n) => (n % 2 ? ids : ids.toReversed()).map((id) => vote(`submissions/${id}`, as)));
    await together(calls, 201);
    for (const id of ids) expect(await stored("submissions", id)).toMatchObject({ vote_count: 13 });
  });

  it("votes on a submission that is deleted meanwhile are made or are 404", async () => {
    const id = await newSubmission(organization, author);
    const removal = () => api("DELETE", `/api/submissions/${id}`, { as: author });
    const calls = crowd.slice(0, 30).map((as) => vote(`submissions/${id}`, as));
    await together([...calls.slice(0, 15), removal, ...calls.slice(15)], 200, 201, 404);
    expect([await stored("submissions", id), (await votes(id)).length]).toEqual([undefined, 0]);
    expect(await countMistakes(organization)).toEqual([]);
  });
});

describe("many follows at once", () => {
  it("of one person make one", async () => {
    const id = await newSubmission(organization, author);
    const as = only(crowd[0]);
    const call = () => api("POST", `/api/submissions/${id}/follow`, { as });
    const answers = await together([call, call, call, vote(`submissions/${id}`, as)], 200, 201);
    expect(answers.slice(0, 3).filter(({ status }) => status === 201).length).toBeLessThanOrEqual(1);
    expect(
      await sql`select 1 from public.follows where submission_id = ${id} and user_id = ${as.id}`,
    ).toHaveLength(1);
  });
});

describe("a thread", () => {
  const post = (id: string, as: Caller, parent_id?: string) => () =>
    api("POST", `/api/submissions/${id}/comments`, { as, body: { body: "Hello", parent_id } });
  const remove = (comment: string, as: Caller) => () => api("DELETE", `/api/comments/${comment}`, { as });

  it("of many comments and replies at once is counted exactly", async () => {
    const id = await newSubmission(organization, author);
    const parent = await newComment(id, author);
    await together(
      crowd.slice(0, 60).map((as, n) => post(id, as, n % 2 ? parent : undefined)),
      201,
    );
    expect(await stored("submissions", id)).toMatchObject({ comment_count: 61 });
    expect(await stored("comments", parent)).toMatchObject({ reply_count: 30 });
    expect(await countMistakes(organization)).toEqual([]);
  });

  it("that is written and deleted at once, at every level, is counted exactly", async () => {
    for (let round = 0; round < 3; round++) {
      const id = await newSubmission(organization, author);
      const top = await newComment(id, author);
      const middle = await newComment(id, author, { parent_id: top });
      const low = await newComment(id, author, { parent_id: middle });
      const writers = crowd.slice(0, 30).map((as, n) => post(id, as, [top, middle, low, undefined][n % 4]));
      const removals = [
        remove(low, author),
        remove(middle, admin),
        remove(top, author),
        remove(middle, author),
      ];
      await together([...writers.slice(0, 10), ...removals, ...writers.slice(10)], 200, 201, 404);
      const rows = await sql<
        { parent_id: string | null }[]
      >`select id, parent_id from public.comments where submission_id = ${id}`;
      expect(rows.every(({ parent_id }) => parent_id === null)).toBe(true);
      expect(await stored("submissions", id)).toMatchObject({ comment_count: rows.length });
    }
    expect(await countMistakes(organization)).toEqual([]);
  });

  it("loses each comment once when all delete it at once", async () => {
    const id = await newSubmission(organization, author);
    const comment = await newComment(id, author);
    for (let n = 0; n < 5; n++) await newComment(id, only(crowd[n]), { parent_id: comment });
    const answers = await together(
      Array.from({ length: 8 }, (_, n) => remove(comment, n % 2 ? author : admin)),
      200,
      404,
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(await stored("submissions", id)).toMatchObject({ comment_count: 0 });
  });

  it("is voted on, edited and deleted at once without a mistake", async () => {
    const id = await newSubmission(organization, author);
    const made = await together(
      crowd.slice(0, 10).map((as) => post(id, as)),
      201,
    );
    const ids = made.map((answer) => answered(answer, 201, commentCreatedAnswer).data.id);
    const calls = ids.flatMap((comment, n) => [
      ...crowd.slice(20, 25).map((as) => vote(`comments/${comment}`, as)),
      () => api("PATCH", `/api/comments/${comment}`, { as: only(crowd[n]), body: { body: "Edited" } }),
      ...(n % 2 ? [remove(comment, only(crowd[n]))] : []),
    ]);
    await together(calls, 200, 201, 404);
    expect(await stored("submissions", id)).toMatchObject({ comment_count: 5 });
    expect(await countMistakes(organization)).toEqual([]);
  });
});

describe("a status", () => {
  it("changed by many at once has a history without a gap", async () => {
    const id = await newSubmission(organization, author);
    const statuses = ["planned", "in_progress", "completed", "declined", "under_review"];
    const calls = Array.from(
      { length: 25 },
      (_, n) => () =>
        api("PATCH", `/api/submissions/${id}/status`, { as: admin, body: { status: statuses[n % 5] } }),
    );
    const answers = await together(calls, 200);
    const told = answers.map((answer) => answered(answer, 200, statusChangeAnswer).data);
    const rows = await sql<{ previous_status: string; new_status: string }[]>`
      select previous_status, new_status from public.status_changes where submission_id = ${id}`;
    // Each step leaves the status another arrived at: an unbroken walk from open to where it stands.
    const arrivals = new Map<string, number>([["open", 1]]);
    for (const { previous_status, new_status } of rows) {
      expect(previous_status).not.toBe(new_status);
      arrivals.set(new_status, (arrivals.get(new_status) ?? 0) + 1);
      arrivals.set(previous_status, (arrivals.get(previous_status) ?? 0) - 1);
    }
    const left = [...arrivals].filter(([, count]) => count !== 0);
    expect(left).toEqual([[(await stored("submissions", id))?.status, 1]]);
    expect(told.filter(({ previous_status, new_status }) => previous_status !== new_status)).toHaveLength(
      rows.length,
    );
    const shown = answered(
      await api("GET", `/api/submissions/${id}/status-changes`),
      200,
      statusChangeListAnswer,
    );
    expect(shown.data).toHaveLength(rows.length);
  });

  it("changed to the same by many at once changes once", async () => {
    const id = await newSubmission(organization, author);
    const call = () =>
      api("PATCH", `/api/submissions/${id}/status`, { as: admin, body: { status: "planned" } });
    await together(
      Array.from({ length: 8 }, () => call),
      200,
    );
    expect(await sql`select 1 from public.status_changes where submission_id = ${id}`).toHaveLength(1);
    expect(await sql`select 1 from public.notifications where submission_id = ${id}`).toHaveLength(1);
  });
});

describe("a plan's limit", () => {
  it.each([1, 3])("of %i is met by many creators at once, and never passed", async (limit) => {
    for (let round = 0; round < 3; round++) {
      const small = await newOrganization({ max_submissions: limit });
      const key = await newKey(small, ["submissions:write"]);
      const body = { title: "One too many", description: longEnough, type: "idea" };
      const call = (as: Caller) => () => api("POST", "/api/submissions", { as, on: small, body });
      const answers = await together([...crowd.slice(0, 6), key, key].map(call), 201, 402);
      expect(answers.filter(({ status }) => status === 201)).toHaveLength(limit);
      expect(await sql`select 1 from public.submissions where organization_id = ${small.id}`).toHaveLength(
        limit,
      );
      expect(await sql`select 1 from private.outbox where organization_id = ${small.id}`).toHaveLength(limit);
    }
  });
});

describe("an author by e-mail", () => {
  it("named by many calls at once is one person", async () => {
    const key = await newKey(organization, ["submissions:write"]);
    const author_email = `${crypto.randomUUID()}@example.org`;
    const body = {
      title: "By e-mail",
      description: longEnough,
      type: "idea",
      author_email,
      author_name: "Grace",
    };
    await together(
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
  it("by many at once ends as one of them, whole", async () => {
    const id = await newSubmission(organization, author);
    const bodies = Array.from({ length: 8 }, (_, n) => ({
      title: `Title ${n}`,
      description: `${n} ${longEnough}`,
    }));
    await together(
      bodies.map((body) => () => api("PATCH", `/api/submissions/${id}`, { as: author, body })),
      200,
    );
    const row = only(await stored("submissions", id));
    expect(bodies).toContainEqual({ title: row.title, description: row.description });
  });
});
