import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { tokenIssuer } from "../../local/lite/auth-config.ts";
import { createApiKey } from "../../local/operator/api-keys.ts";
import { expectConsistent, expectNoLeak } from "../faults/storm.ts";
import { type OwnFunctions, startOwnFunctions } from "../mcp/own-functions.ts";
import { type Answer, ownStack, type Person } from "../own-stack.ts";
import { hasPgbouncer, startPgbouncer } from "./pgbouncer.ts";
import { startPooler } from "./pooler.ts";

// A pooler in transaction mode assigns a free server connection to each transaction: a request must not
// depend on session state.

const password = "known-to-the-test";
const size = 3;
const own = await ownStack();
let people: Person[];
let submissionOf: Map<string, string>;
let shared: string[];
let boards: { key: string; submissions: Set<string> }[];

beforeAll(async () => {
  await own.sql.unsafe(`alter role feedback_api password '${password}'`);
  await own.sql`update private.rate_limit_rules set max_requests = 2000000000`;
  people = await own.people(24);
  submissionOf = new Map();
  for (const person of people) submissionOf.set(person.id, await own.submission(person));
  // Each user has voted only for their own submission.
  const [host] = await own.people(1);
  shared = await Promise.all(Array.from({ length: 20 }, () => own.submission(host as Person)));
  boards = [await board("first"), await board("second")];
});

/** An organization with two submissions, and a key that sees nothing else. */
async function board(slug: string) {
  const [created] = await own.sql<{ id: string }[]>`
    insert into public.organizations (slug, name) values (${slug}, ${slug}) returning id`;
  const id = created?.id ?? "";
  const rows = await own.sql<{ id: string }[]>`
    insert into public.submissions (organization_id, author_id, title, description, type)
    select ${id}, ${people[0]?.id ?? ""}, 'Number ' || n, 'A description that is long enough.', 'idea' from generate_series(1, 2) n
    returning id`;
  return {
    key: await createApiKey(own.sql, id, slug, ["submissions:read", "submissions:write"], null),
    submissions: new Set(rows.map((row) => row.id)),
  };
}

const idsIn = ({ body }: Answer, name = "id") =>
  (body.data as unknown as Record<string, string>[]).map((row) => row[name]);

/** Requests that client n sends once, and that only its own responses can confirm. */
async function visit(base: string, n: number): Promise<void> {
  const person = people[n % people.length] as Person;
  const mine = submissionOf.get(person.id);
  const as = (token: string | undefined) => (method: string, path: string, body?: object) =>
    own.call(method, `/api${path}`, { base, token, body, from: `127.0.0.${2 + (n % 200)}` });
  if (n % 4 === 0) {
    const { key, submissions } = boards[(n / 4) % 2] as (typeof boards)[number];
    const call = as(key);
    const list = await call("GET", "/submissions");
    expect([list.status, new Set(idsIn(list))]).toEqual([200, submissions]);
    expect((await call("GET", `/submissions/${mine}`)).status).toBe(404);
    const unauthorized = await call("GET", "/surveys/00000000-0000-4000-8000-000000000000/responses");
    expect([403, 404]).toContain(unauthorized.status);
  } else if (n % 4 === 1) {
    const call = as(undefined);
    const detail = await call("GET", `/submissions/${mine}`);
    expect([detail.status, detail.body.data?.id, detail.body.data?.user_vote]).toEqual([200, mine, null]);
    expect((await call("POST", `/submissions/${mine}/vote`)).status).toBe(401);
    expect((await call("GET", "/submissions?page=0")).status).toBe(400);
  } else {
    const call = as(person.token);
    const votes = await call("GET", "/me/votes");
    const voted = idsIn(votes, "submission_id").filter((id) => !shared.includes(id ?? ""));
    expect([votes.status, voted]).toEqual([200, [mine]]);
    const vote = await call("POST", `/submissions/${shared[n % shared.length]}/vote`);
    expect([200, 201]).toContain(vote.status);
    expect(vote.body.data?.user_id).toBe(person.id);
    const detail = await call("GET", `/submissions/${mine}`);
    expect([detail.status, detail.body.data?.id, detail.body.data?.user_vote !== null]).toEqual([200, mine, true]);
    const comment = await call("POST", `/submissions/${mine}/comments`, { body: person.id });
    expect([comment.status, comment.body.data?.author]).toMatchObject([201, { id: person.id }]);
    expect((await call("DELETE", `/submissions/${submissionOf.get(other(person))}`)).status).toBe(403);
  }
}

const other = ({ id }: Person) => (people[0]?.id === id ? people[1] : people[0])?.id ?? "";

const poolers = {
  "that forgets prepared statements": {
    prepare: "false",
    start: (port: number) => startPooler(port, { size, tracksStatements: false }),
  },
  "that tracks prepared statements": {
    prepare: "true",
    start: (port: number) => startPooler(port, { size, tracksStatements: true }),
  },
  "PgBouncer, where it is installed": {
    prepare: "false",
    start: (port: number) => startPgbouncer(port, { user: "feedback_api", password, size }),
  },
};
const chosen = Object.entries(poolers).filter(([name]) => hasPgbouncer || !name.startsWith("PgBouncer"));

describe.each(chosen)("a pooler in transaction mode, %s", (_, { prepare, start }) => {
  let pooler: Awaited<ReturnType<typeof start>>;
  let workers: OwnFunctions[] = [];

  beforeAll(async () => {
    pooler = await start(Number(new URL(own.db_url).port));
    const environment = {
      DATABASE_URL: `postgresql://feedback_api:${password}@127.0.0.1:${pooler.port}/postgres`,
      DATABASE_PREPARE: prepare,
      // No request is rejected, however slow the machine is.
      DATABASE_WAIT_SECONDS: "60",
      SUPABASE_URL: own.supabase_url,
      JWT_SECRET: own.jwtSecret,
      JWT_ISSUERS: tokenIssuer,
    };
    workers = await Promise.all([startOwnFunctions(environment), startOwnFunctions(environment)]);
  });
  afterAll(async () => {
    await Promise.all(workers.map((worker) => worker.stop()));
    await pooler?.close();
  });

  test.each([
    [16, 8],
    [200, 1],
  ])("%i concurrent clients: nothing is rejected or mixed up, nothing is left open", async (clients, times) => {
    const base = (n: number) => `http://127.0.0.1:${workers[n % workers.length]?.port}`;
    await Promise.all(
      Array.from({ length: clients }, async (_, n) => {
        for (let time = 0; time < times; time++) await visit(base(n >> 2), n);
      }),
    );
    if ("handed" in pooler) {
      const { transactions, toAnother } = pooler.handed();
      expect(toAnother).toBeGreaterThan(transactions / 3);
      expect(pooler.held()).toBe(0);
    }
    await expectConsistent(own);
    await expectNoLeak(own, size + 1);
    const mismatched = await own.sql`select from public.comments where body <> author_id::text`;
    expect(mismatched).toHaveLength(0);
  });
});
