import { createClient, type SupabaseClient } from "@supabase/supabase-js";
import { beforeAll, expect, test } from "vitest";
import WebSocket from "ws";
import { withDatabase } from "../../local/postgres/database.ts";
import { ownStack, type Person } from "../own-stack.ts";

const own = await ownStack({ parts: ["rest"] });
let author: Person;
let submissionId: string;

beforeAll(async () => {
  // A longer statement timeout: on a busy machine the data API gets CPU time last.
  await withDatabase(
    own.superuserUrl,
    (superuser) => superuser`alter role authenticated set statement_timeout = '60s'`,
  );
  author = await own.person();
  submissionId = await own.submission(author);
});

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

async function newComments({ id }: Person, count: number, at = submissionId): Promise<string[]> {
  const rows = await own.sql<{ id: string }[]>`
    insert into public.comments (submission_id, author_id, body)
    select ${at}, ${id}, 'Prepared' from generate_series(1, ${count}) returning id`;
  return rows.map((row) => row.id);
}

const newSubmissions = (count: number) => Promise.all(Array.from({ length: count }, () => own.submission(author)));

async function used(rule: Buckets, person: Person): Promise<number> {
  const [row] = await own.sql<{ used: number }[]>`
    select used from private.rate_counters where rule = ${rule} and subject = ${person.id}`;
  return row?.used ?? 0;
}

/** An action by supabase-js; it is the nth of as many as the limit needs. */
interface Action {
  rule: Buckets;
  limit: number;
  prepare(count: number): Promise<string[]>;
  direct(app: SupabaseClient, thing: string): PromiseLike<Outcome>;
}

const actions = {
  "a comment": {
    rule: "comment_create",
    limit: 20,
    prepare: async (count) => Array.from({ length: count }, () => submissionId),
    direct: (app, id) => app.rpc("create_comment", { submission_id: id, body: "Direct" }),
  },
  "a vote": {
    rule: "vote_create",
    limit: 30,
    prepare: newSubmissions,
    direct: (app, id) => app.rpc("vote", { submission_id: id }),
  },
} satisfies Record<string, Action>;

test("many rows in one statement are rejected, not charged and not written", async () => {
  const person = await own.person();
  const app = browser(person);
  const ids = await newComments(person, 5);
  const rows = ids.map(() => ({ submission_id: submissionId, body: "One of many" }));
  const votes = (await newSubmissions(5)).map((submission_id) => ({ submission_id }));
  const outcomes: Outcome[] = await Promise.all([
    app.from("comments").insert(rows),
    app.from("votes").insert(votes),
    app.from("comments").delete().in("id", ids),
    app.from("comments").update({ body: "All alike" }).in("id", ids),
  ]);
  expect(outcomes.map(({ error }) => error?.code)).toEqual(["FB403", "FB403", "FB403", "FB403"]);
  const bodies = await own.sql`select body from public.comments where author_id = ${person.id}`;
  expect(bodies.map(({ body }) => body)).toEqual(ids.map(() => "Prepared"));
  for (const rule of ["comment_create", "comment_update", "comment_delete", "vote_create"] as const) {
    expect(await used(rule, person), rule).toBe(0);
  }
});

test.each(["a comment", "a vote"] as const)("of 40 times %s at once exactly the limit succeeds", async (what) => {
  const { rule, limit, prepare, direct }: Action = actions[what];
  const person = await own.person();
  const app = browser(person);
  const outcomes = await Promise.all((await prepare(40)).map((thing) => direct(app, thing)));
  expect(outcomes.filter((outcome) => isLimited(outcome)).length).toBe(40 - limit);
  expect(await used(rule, person)).toBe(limit);
  const [written] = await own.sql`
      select (select count(*)::int from public.comments where author_id = ${person.id})
        + (select count(*)::int from public.votes where user_id = ${person.id}) as n`;
  expect(written?.n).toBe(limit);
});

test.each([
  ["submission", 0],
  ["comment", 1],
])("deleting an own %s with replies and votes is charged as %i deletions of comments", async (what, charged) => {
  const [person, crowd] = await Promise.all([own.person(), own.people(15)]);
  const submission = await own.submission(person);
  const [comment = ""] = await newComments(person, 1, submission);
  const others = [...crowd, person].map(({ id }) => id);
  await own.sql`
      insert into public.comments (submission_id, author_id, body, parent_id)
      select ${submission}, unnest(${others}::uuid[]), 'Goes along', ${comment}`;
  await own.sql`insert into public.comment_votes (comment_id, user_id) select ${comment}, unnest(${others}::uuid[])`;
  await own.sql`insert into public.votes (submission_id, user_id) select ${submission}, unnest(${others}::uuid[]) on conflict do nothing`;
  const id = what === "submission" ? submission : comment;
  expect((await browser(person).rpc(`delete_${what}`, { id })).data).toBe(true);
  expect(await own.sql`select from public.comments where submission_id = ${submission}`).toHaveLength(0);
  expect(await used("comment_delete", person)).toBe(charged);
  expect(await used("vote_delete", person)).toBe(0);
});

test("counts stay exact", async () => {
  expect(await own.sql`select * from private.count_discrepancies()`).toEqual([]);
});
