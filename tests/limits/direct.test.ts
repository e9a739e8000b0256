import { createClient, type SupabaseClient } from "@supabase/supabase-js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import WebSocket from "ws";
import { withDatabase } from "../../local/database.ts";
import { type OwnStack, type Person, startOwnStack } from "../own-stack.ts";

let own: OwnStack;
let author: Person;
let submissionId: string;

beforeAll(async () => {
  own = await startOwnStack({ parts: ["rest"] });
  // On a busy machine, the data API runs after the rest of it.
  await withDatabase(
    own.superuserUrl,
    (superuser) => superuser`alter role authenticated set statement_timeout = '60s'`,
  );
  author = await own.person();
  submissionId = await own.submission(author);
});
afterAll(() => own?.remove());

type Outcome = { error: { code: string; message: string; details: string | null } | null };
type Buckets = "comment_create" | "comment_update" | "comment_delete" | "vote_create" | "vote_delete";

function browser({ token }: Person): SupabaseClient {
  return createClient(own.supabase_url, own.publishable_key, {
    auth: { persistSession: false, autoRefreshToken: false, detectSessionInUrl: false },
    accessToken: async () => token,
    realtime: { transport: WebSocket as never },
  });
}

function isLimited({ error }: Outcome): boolean {
  if (error === null) return false;
  expect(error.message).toMatch(/too many/i);
  expect(error.code).toBe("FB429");
  const { retry_after } = JSON.parse(error.details ?? "{}") as { retry_after?: number };
  expect(retry_after).toBeGreaterThan(0);
  expect(retry_after).toBeLessThanOrEqual(3600);
  return true;
}

async function newComments(person: Person, count: number): Promise<string[]> {
  const rows = Array.from({ length: count }, () => ({
    submission_id: submissionId,
    author_id: person.id,
    body: "Prepared",
  }));
  return (await own.sql<{ id: string }[]>`insert into public.comments ${own.sql(rows)} returning id`).map(
    ({ id }) => id,
  );
}

async function newSubmissions(count: number): Promise<string[]> {
  return Promise.all(Array.from({ length: count }, () => own.submission(author)));
}

async function used(rule: Buckets, person: Person): Promise<number> {
  const [row] = await own.sql<{ used: number }[]>`
    select used from private.rate_counters where rule = ${rule} and subject = ${person.id}`;
  return row?.used ?? 0;
}

/** The same action through both interfaces, the nth of as many as the limit needs. */
interface Action {
  limit: number;
  prepare(person: Person, count: number): Promise<string[]>;
  byApi(person: Person, thing: string): Promise<{ status: number }>;
  direct(app: SupabaseClient, thing: string): PromiseLike<Outcome>;
}

const commentVoted = async (person: Person, count: number) => {
  const ids = await newComments(author, count);
  await own.sql`insert into public.comment_votes ${own.sql(ids.map((comment_id) => ({ comment_id, user_id: person.id })))}`;
  return ids;
};
const voted = async (person: Person, count: number) => {
  const ids = await newSubmissions(count);
  await own.sql`insert into public.votes ${own.sql(ids.map((submission_id) => ({ submission_id, user_id: person.id })))}`;
  return ids;
};

const actions: Record<string, Action & { rule: Buckets }> = {
  "a comment": {
    rule: "comment_create",
    limit: 20,
    prepare: async (_person, count) => Array.from({ length: count }, () => submissionId),
    byApi: ({ token }, id) =>
      own.call("POST", `/api/submissions/${id}/comments`, { token, body: { body: "By the API" } }),
    direct: (app, id) => app.rpc("create_comment", { submission_id: id, body: "Direct" }),
  },
  "an edit of a comment": {
    rule: "comment_update",
    limit: 10,
    prepare: newComments,
    byApi: ({ token }, id) =>
      own.call("PATCH", `/api/comments/${id}`, { token, body: { body: "By the API" } }),
    direct: (app, id) => app.rpc("update_comment", { id, body: "Direct" }),
  },
  "a comment's deletion": {
    rule: "comment_delete",
    limit: 10,
    prepare: newComments,
    byApi: ({ token }, id) => own.call("DELETE", `/api/comments/${id}`, { token }),
    direct: (app, id) => app.rpc("delete_comment", { id }),
  },
  "a vote": {
    rule: "vote_create",
    limit: 30,
    prepare: (_person, count) => newSubmissions(count),
    byApi: ({ token }, id) => own.call("POST", `/api/submissions/${id}/vote`, { token }),
    direct: (app, id) => app.rpc("vote", { submission_id: id }),
  },
  "deleting a vote": {
    rule: "vote_delete",
    limit: 30,
    prepare: voted,
    byApi: ({ token }, id) => own.call("DELETE", `/api/submissions/${id}/vote`, { token }),
    direct: (app, id) => app.rpc("unvote", { submission_id: id }),
  },
  "a comment's vote": {
    rule: "vote_create",
    limit: 30,
    prepare: (_person, count) => newComments(author, count),
    byApi: ({ token }, id) => own.call("POST", `/api/comments/${id}/vote`, { token }),
    direct: (app, id) => app.rpc("vote_comment", { comment_id: id }),
  },
  "deleting a vote for a comment": {
    rule: "vote_delete",
    limit: 30,
    prepare: commentVoted,
    byApi: ({ token }, id) => own.call("DELETE", `/api/comments/${id}/vote`, { token }),
    direct: (app, id) => app.rpc("unvote_comment", { comment_id: id }),
  },
};

describe.each(Object.entries(actions))("%s", (_what, { rule, limit, prepare, byApi, direct }) => {
  test(`after ${limit} by the API, supabase-js is refused the next`, async () => {
    const person = await own.person();
    const things = await prepare(person, limit + 1);
    const answers = await Promise.all(things.slice(0, limit).map((thing) => byApi(person, thing)));
    expect(answers.filter(({ status }) => status >= 300)).toEqual([]);
    expect(isLimited(await direct(browser(person), things[limit] ?? ""))).toBe(true);
    expect(await used(rule, person)).toBe(limit);
  });

  test(`after ${limit} by supabase-js, the API is refused the next`, async () => {
    const person = await own.person();
    const app = browser(person);
    const things = await prepare(person, limit + 1);
    // One after the other: they charge the same counter, and all at once wait longer than a client's statement may run.
    for (const thing of things.slice(0, limit)) expect((await direct(app, thing)).error).toBeNull();
    expect((await byApi(person, things[limit] ?? "")).status).toBe(429);
    expect(isLimited(await direct(app, things[limit] ?? ""))).toBe(true);
  });
});

describe("many rows in one statement", () => {
  const written = async (person: Person) =>
    Number((await own.sql`select count(*) as n from public.comments where author_id = ${person.id}`)[0]?.n);

  test("are rejected, are not charged and leave the limit unchanged", async () => {
    const person = await own.person();
    const app = browser(person);
    const ids = await newComments(person, 5);
    const rows = Array.from({ length: 5 }, () => ({ submission_id: submissionId, body: "One of many" }));
    const votes = (await newSubmissions(5)).map((submission_id) => ({ submission_id }));
    const outcomes: Outcome[] = await Promise.all([
      app.from("comments").insert(rows),
      app.from("votes").insert(votes),
      app.from("comments").delete().in("id", ids),
      app.from("comments").update({ body: "All alike" }).in("id", ids),
    ]);
    expect(outcomes.map(({ error }) => error?.code)).toEqual(["FB403", "FB403", "FB403", "FB403"]);
    expect(await written(person)).toBe(5);
    for (const rule of ["comment_create", "comment_update", "comment_delete", "vote_create"] as const) {
      expect(await used(rule, person), rule).toBe(0);
    }
  });
});

test("concurrent inserts by supabase-js succeed exactly up to the limit", async () => {
  const person = await own.person();
  const app = browser(person);
  const outcomes = await Promise.all(
    Array.from({ length: 40 }, () =>
      app.rpc("create_comment", { submission_id: submissionId, body: "At once" }),
    ),
  );
  expect(outcomes.filter((outcome) => isLimited(outcome)).length).toBe(20);
  expect(
    Number((await own.sql`select count(*) as n from public.comments where author_id = ${person.id}`)[0]?.n),
  ).toBe(20);
});

test("rows deleted with the caller's own submission are not charged", async () => {
  const person = await own.person();
  const id = await own.submission(person);
  const rows = Array.from({ length: 15 }, () => ({
    submission_id: id,
    author_id: person.id,
    body: "Goes along",
  }));
  await own.sql`insert into public.comments ${own.sql(rows)}`;
  expect((await browser(person).rpc("delete_submission", { id })).error).toBeNull();
  expect(await own.sql`select from public.comments where submission_id = ${id}`).toHaveLength(0);
  expect(await used("comment_delete", person)).toBe(0);
});

test("counts stay exact", async () => {
  expect(await own.sql`select * from private.count_discrepancies()`).toEqual([]);
});
