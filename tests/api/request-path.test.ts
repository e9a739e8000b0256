import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { scopes } from "../../shared/scopes.ts";
import type { Person } from "../own-stack.ts";
import { type Answer, api, type Caller, type Method, send } from "./client.ts";
import { type CountedStack, startCountedStack } from "./counted-stack.ts";
import { longEnough } from "./world.ts";

let stack: CountedStack;
let user: Person;
let key: Caller;
let submissionId: string;
let commentId: string;

/** The log is written concurrently with the response, and on a busy machine after it. */
const logDelay = { timeout: 20_000 };

const idea = { title: "A dark theme", description: longEnough, type: "idea" };

beforeAll(async () => {
  stack = await startCountedStack();
  await stack.sql`update private.rate_limit_rules set max_requests = 1000000`;
  user = await stack.person("owner");
  key = { token: await stack.key(scopes) };
  submissionId = await stack.submission(user);
  [{ id: commentId }] = await stack.sql<[{ id: string }]>`
    insert into public.comments (submission_id, author_id, body) values (${submissionId}, ${user.id}, 'Yes') returning id`;
});

afterAll(() => stack?.remove());

const call = (method: Method, path: string, body?: unknown, as?: Caller) =>
  api(method, path, { as, body, base: stack.base_url });

const submission = () => `/api/submissions/${submissionId}`;
const comment = () => `/api/comments/${commentId}`;

// Repeatable requests, their callers and statuses: tests/routes/round-trips.test.ts has each route once.
const calls: [Method, string, () => string, unknown, "user" | "key" | "anonymous", number][] = [
  [
    "GET",
    "the list, filtered and sorted",
    () => "/api/submissions?status=open&category=web&tag=x&q=dark&sort=votes",
    undefined,
    "user",
    200,
  ],
  [
    "GET",
    "a detail with every expand",
    () => `${submission()}?expand=author,category,tags,comments`,
    undefined,
    "user",
    200,
  ],
  [
    "POST",
    "a submission by a key for somebody",
    () => "/api/submissions",
    { ...idea, author_email: "grace@example.org" },
    "key",
    201,
  ],
  ["POST", "a reply", () => `${submission()}/comments`, { body: "Yes", parent_id: "$comment" }, "key", 201],
  ["GET", "a comment with replies", () => `${comment()}?expand=replies`, undefined, "anonymous", 200],
  [
    "DELETE",
    "deleting an unknown submission",
    () => "/api/submissions/00000000-0000-4000-8000-000000000000",
    undefined,
    "user",
    404,
  ],
  ["GET", "a page that is out of range", () => "/api/submissions?page=0", undefined, "anonymous", 400],
  ["POST", "an anonymous vote", () => `${submission()}/vote`, undefined, "anonymous", 401],
  ["GET", "an unknown path", () => "/api/nothing", undefined, "anonymous", 404],
];

const callers = { user: () => user, key: () => key, anonymous: () => undefined };

describe("one network round trip to Postgres", () => {
  it.each(calls)("%s %s", async (method, _, path, body, as, status) => {
    const filled = body && JSON.parse(JSON.stringify(body).replace("$comment", commentId));
    const statuses = status === 201 ? [200, 201] : [status];
    // The first requests prepare the statements; the second may take another branch than the first.
    for (let n = 0; n < 3; n++) expect(statuses).toContain((await call(method, path(), filled, callers[as]())).status);
    const before = stack.flights();
    expect(statuses).toContain((await call(method, path(), filled, callers[as]())).status);
    // A missing permission is detected in the transaction: it is rolled back, and then the request is charged
    // separately.
    expect(stack.flights() - before).toBe(status === 401 ? 2 : 1);
  });

  it("is not used for health", async () => {
    const before = stack.flights();
    expect((await send("GET", "/api/health", { base: stack.base_url })).status).toBe(200);
    expect(stack.flights() - before).toBe(0);
  });

  it("becomes four with an Idempotency-Key, and two for a repeated response", async () => {
    const flightsOf = async (name: string) => {
      const before = stack.flights();
      const headers = { "idempotency-key": name };
      expect(
        (await api("POST", "/api/submissions", { as: key, body: idea, headers, base: stack.base_url })).status,
      ).toBe(201);
      return stack.flights() - before;
    };
    for (const name of ["warm", "warm", "warmer", "warmer"]) await flightsOf(name);
    expect(await flightsOf("first")).toBeLessThanOrEqual(4);
    expect(await flightsOf("first")).toBeLessThanOrEqual(2);
  });

  it("is enough for a caller who stays above a limit, until the limit is changed", async () => {
    const limit = (max: number) =>
      stack.sql`update private.rate_limit_rules set max_requests = ${max} where name = 'vote_list'`;
    const voters = async () => {
      const before = stack.flights();
      const { status } = await call("GET", `${submission()}/voters`, undefined, user);
      return [status, stack.flights() - before];
    };
    await limit(1);
    // One request may fit, and the next detects the limit in its transaction.
    await voters();
    await voters();
    expect(await voters()).toEqual([429, 1]);
    await limit(1_000_000);
    expect(await voters()).toEqual([200, 2]);
  });

  it("is enough for an invalid credential", async () => {
    const as = { token: "nonsense" };
    await call("GET", "/api/submissions", undefined, as);
    const before = stack.flights();
    expect((await call("GET", "/api/submissions", undefined, as)).status).toBe(401);
    expect(stack.flights() - before).toBe(1);
  });
});

describe("every response", () => {
  it.each(["/api/health", "/api/ready", "/api/openapi.json", "/api/docs", "/functions/v1/api/health"])(
    "%s has them too",
    async (path) => {
      const { status, headers } = await send("GET", path, { base: stack.supabase_url });
      expect(status).toBe(200);
      for (const name of ["x-request-id", "x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"]) {
        expect(headers[name], name).toBeDefined();
      }
    },
  );

  it("a preflight has them too", async () => {
    for (const base of [stack.base_url, stack.supabase_url]) {
      const { status, headers } = await send("OPTIONS", "/api/submissions", {
        base,
        headers: { origin: "https://elsewhere.example", "access-control-request-method": "POST" },
      });
      expect(status).toBe(204);
      expect(headers["x-request-id"]).toBeDefined();
      expect(headers["x-ratelimit-limit"]).toBeDefined();
      expect(headers["access-control-allow-origin"]).toBeUndefined();
    }
  });

  it("has an id generated by the server, whatever the client sends", async () => {
    const call = { base: stack.base_url, headers: { "x-request-id": "mine\u00e9" } };
    const answers = await Promise.all([1, 2].map(() => api("GET", "/api/submissions", call)));
    const [first, second] = answers.map(({ headers }) => headers["x-request-id"]);
    expect(first).not.toContain("mine");
    expect(first).not.toBe(second);
  });

  it("is logged in one line with its route, not its path, and without private data", async () => {
    const secret = "very.private@example.org";
    const { headers } = await api("POST", "/api/submissions", {
      base: stack.base_url,
      as: key,
      body: { ...idea, title: "Do not log me", author_email: secret, author_name: "Grace Hopper" },
    });
    const [log, line] = await vi.waitFor(async () => {
      const text = await stack.functionsLog();
      const found = text.split("\n").find((one) => one.includes(String(headers["x-request-id"])));
      expect(found, "the line of this request").toBeDefined();
      return [text, found] as const;
    }, logDelay);
    expect(JSON.parse(line ?? "null")).toMatchObject({
      method: "POST",
      route: "/submissions",
      status: 201,
      duration_ms: expect.any(Number),
    });
    for (const text of [secret, "Do not log me", "Grace Hopper", key.token, user.token, "127.0.0.1"])
      expect(log).not.toContain(text);
  });
});

describe("an unexpected error", () => {
  /** Injects a fault for the duration of one test. */
  async function without<Result>(name: string, use: () => Promise<Result>): Promise<Result> {
    const [{ signature }] = await stack.sql<[{ signature: string }]>`
      select oid::regprocedure::text as signature from pg_proc
      where pronamespace = 'private'::regnamespace and proname = ${name.replace("private.", "")}
      order by pronargs desc limit 1`; // an older one may serve upgrades
    const [, local] = name.split(".");
    const parameters = signature.slice(signature.indexOf("("));
    await stack.sql.unsafe(`alter function ${signature} rename to gone_for_a_test`);
    try {
      return await use();
    } finally {
      await stack.sql.unsafe(`alter function private.gone_for_a_test${parameters} rename to ${local}`);
    }
  }

  const fixed = ({ status, body, headers }: Answer) => {
    expect(status).toBe(500);
    expect(body).toEqual({
      error: { code: "INTERNAL_ERROR", message: expect.any(String), details: [], request_id: headers["x-request-id"] },
    });
    return (body as { error: { message: string } }).error.message;
  };

  it("returns 500 with a fixed message and the request's id, and is logged completely", async () => {
    const answer = await without("private.parse_search", () =>
      call("GET", "/api/submissions/search?q=unusual", undefined, user),
    );
    expect(fixed(answer)).toBe("An internal error occurred.");
    expect(answer.text).not.toMatch(/parse_search|select|function|private\.|42883|\bat /i);
    const lines = await vi.waitFor(async () => {
      const text = await stack.functionsLog();
      const found = text.split("\n").filter((one) => one.includes(String(answer.headers["x-request-id"])));
      expect(found.join()).toMatch(/parse_search.*42883|42883.*parse_search/s);
      return found;
    }, logDelay);
    expect(lines.join()).not.toContain(user.token);
    expect((await call("GET", "/api/submissions/search?q=unusual", undefined, user)).status).toBe(200);
  });

  it("has the same response for every cause", async () => {
    const messages = new Set<string>();
    messages.add(fixed(await without("private.assume_caller", () => call("GET", "/api/submissions"))));
    messages.add(fixed(await without("private.admit_request", () => call("GET", "/api/submissions"))));
    messages.add(fixed(await without("private.emit_event", () => call("POST", "/api/submissions", idea, user))));
    expect(messages.size).toBe(1);
  });

  it("has the lowercase form where a key creates a submission", async () => {
    const answer = await without("private.emit_event", () => call("POST", "/api/submissions", idea, key));
    expect(answer.status).toBe(500);
    expect(answer.body).toMatchObject({ error: "internal_error" });
    expect(answer.text).not.toMatch(/emit_event|private/);
  });

  it("leaves no rows behind", async () => {
    const count = async () => (await stack.sql`select id from public.submissions`).length;
    const before = await count();
    await without("private.emit_event", () => call("POST", "/api/submissions", idea, user));
    expect(await count()).toBe(before);
    expect((await call("POST", "/api/submissions", idea, user)).status).toBe(201);
    expect(await count()).toBe(before + 1);
  });

  it("does not leave its role to the next caller", async () => {
    await without("private.emit_event", () => call("POST", "/api/submissions", idea, user));
    expect((await call("POST", `${submission()}/vote`)).status).toBe(401);
    const shown = await call("GET", submission());
    expect(shown.body).toMatchObject({ data: { is_following: false, user_vote: null } });
  });
});

describe("a lost connection", () => {
  const cut = () => stack.sql`select pg_terminate_backend(pid) from pg_stat_activity where usename = 'feedback_api'`;

  it("causes no error after it was detected", async () => {
    expect((await call("GET", submission())).status).toBe(200);
    await cut();
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect((await call("GET", submission())).status).toBe(200);
  });

  it("causes at most a 503 before it is detected", async () => {
    await cut();
    const statuses: number[] = [];
    while (statuses.at(-1) !== 200 && statuses.length < 5) statuses.push((await call("GET", submission())).status);
    expect(statuses.at(-1)).toBe(200);
    expect(statuses.slice(0, -1).filter((status) => status !== 503)).toEqual([]);
  });

  it("during a request causes a 503 and changes nothing", async () => {
    const { sql } = stack;
    const [{ n: before }] = await sql<[{ n: number }]>`select count(*)::int as n from public.submissions`;
    await sql.begin(async (transaction) => {
      // The new row's event waits for this lock, in a request that has already written.
      await transaction`lock table private.outbox in access exclusive mode`;
      const pending = call("POST", "/api/submissions", idea, user);
      for (let waits = 0; waits === 0; ) {
        [{ n: waits }] = await sql<[{ n: number }]>`
          select count(*)::int as n from pg_stat_activity where usename = 'feedback_api' and wait_event_type = 'Lock'`;
      }
      await cut();
      const answer = await pending;
      expect(answer.status, answer.text).toBe(503);
      expect(answer.headers["retry-after"]).toBeDefined();
      expect(answer.body).toMatchObject({ error: { code: "SERVICE_UNAVAILABLE" } });
    });
    const [{ n: after }] = await sql<[{ n: number }]>`select count(*)::int as n from public.submissions`;
    expect(after).toBe(before);
    expect((await call("POST", "/api/submissions", idea, user)).status).toBe(201);
  });
});
