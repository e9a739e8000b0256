import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createApiKey } from "../../local/api-keys.ts";
import { type RateLimitName, rateLimits } from "../../shared/rate-limits.ts";
import { type Answer, type Call, type OwnStack, type Person, startOwnStack } from "../own-stack.ts";

let own: OwnStack;
let admin: Person;
let submissionId: string;
let commentId: string;
let fresh: { name: string; max_requests: number; window_seconds: number }[];

beforeAll(async () => {
  own = await startOwnStack();
  fresh = [
    ...(await own.sql<typeof fresh>`select name, max_requests, window_seconds from private.rate_limit_rules`),
  ];
  admin = await own.person("admin");
  submissionId = await own.submission(admin);
  const [comment] = await own.sql<{ id: string }[]>`
    insert into public.comments (submission_id, author_id, body) values (${submissionId}, ${admin.id}, 'First') returning id`;
  commentId = comment?.id ?? "";
});
afterAll(() => own?.remove());

// Each test finds full buckets and the rules of a fresh installation.
beforeEach(async () => {
  await own.sql`delete from private.rate_counters`;
  await own.sql`delete from private.rate_limit_rules`;
  await own.sql`insert into private.rate_limit_rules ${own.sql(Object.entries(rateLimits).map(([name, rule]) => ({ name, ...rule })))}`;
});

const list = "/api/submissions?limit=1";
const description = "A description that is long enough to be taken.";

function times(count: number, one: (n: number) => Promise<Answer>): Promise<Answer[]> {
  return Promise.all(Array.from({ length: count }, (_, n) => one(n)));
}

function howMany(answers: Answer[]): { passed: number; limited: number } {
  const limited = answers.filter(({ status }) => status === 429).length;
  return { passed: answers.length - limited, limited };
}

const limitOf = ({ headers }: Answer) => Number(headers["x-ratelimit-limit"]);
const remainingOf = ({ headers }: Answer) => Number(headers["x-ratelimit-remaining"]);
const resetOf = ({ headers }: Answer) => Number(headers["x-ratelimit-reset"]);

async function setRule(
  name: RateLimitName | "duplicate_check_key",
  max_requests: number,
  window_seconds: number,
) {
  await own.sql`insert into private.rate_limit_rules ${own.sql({ name, max_requests, window_seconds })}
    on conflict (name) do update set max_requests = excluded.max_requests, window_seconds = excluded.window_seconds`;
}

test("a fresh installation has the limits of shared/rate-limits.ts and no others", () => {
  expect(Object.fromEntries(fresh.map(({ name, ...rule }) => [name, rule]))).toEqual(rateLimits);
});

describe("every caller has a bucket by level", () => {
  const levels: [string, number, () => Promise<Call>][] = [
    ["nobody, by address", 30, async () => ({})],
    ["a user", 100, async () => ({ token: (await own.person()).token })],
    ["a member of a team", 100, async () => ({ token: (await own.person("member")).token })],
    ["an admin", 300, async () => ({ token: (await own.person("admin")).token })],
    ["an owner", 300, async () => ({ token: (await own.person("owner")).token })],
    ["a key", 300, async () => ({ token: await own.key(["submissions:read"]) })],
  ];

  test.each(levels)(
    "%s: %i calls a minute pass and no more, however many come at once",
    async (_who, limit, make) => {
      const call = await make();
      const answers = await times(limit + 20, () => own.call("GET", list, call));
      expect(howMany(answers)).toEqual({ passed: limit, limited: 20 });
      expect(new Set(answers.map(limitOf))).toEqual(new Set([limit]));
      expect(Math.min(...answers.map(remainingOf))).toBe(0);
    },
  );

  test("300 concurrent calls against a limit of 100 let through exactly 100, whichever way they come", async () => {
    const { token } = await own.person();
    const answers = await times(300, (n) =>
      own.call("GET", list, { token, base: n % 2 ? own.base_url : own.supabase_url }),
    );
    expect(howMany(answers)).toEqual({ passed: 100, limited: 200 });
    const [counter] = await own.sql`select used from private.rate_counters where rule = 'level_user'`;
    expect(counter?.used).toBe(100);
  });

  test("what is left counts down to zero, each number once", async () => {
    const { token } = await own.person();
    const answers = await times(100, () => own.call("GET", list, { token }));
    expect(answers.map(remainingOf).sort((a, b) => b - a)).toEqual(
      Array.from({ length: 100 }, (_, n) => 99 - n),
    );
  });

  test("one caller's calls cost another nothing", async () => {
    const [one, other] = await own.people(2);
    await times(101, () => own.call("GET", list, { token: one?.token }));
    const answer = await own.call("GET", list, { token: other?.token });
    expect([answer.status, remainingOf(answer)]).toEqual([200, 99]);
  });
});

describe("operations have a bucket of their own besides", () => {
  type Operation = [
    what: string,
    limit: number,
    rule: RateLimitName,
    make: () => Promise<(n: number) => Promise<Answer>>,
  ];
  const by = async (make: () => Promise<{ token: string } | string>) => {
    const made = await make();
    return typeof made === "string" ? made : made.token;
  };
  const comments = () => `/api/submissions/${submissionId}/comments`;
  const vote = () => `/api/submissions/${submissionId}/vote`;
  const operations: Operation[] = [
    [
      "POST comment",
      20,
      "comment_create",
      async () => {
        const token = await by(() => own.person());
        return () => own.call("POST", comments(), { token, body: { body: "Mine" } });
      },
    ],
    [
      "PATCH comment",
      10,
      "comment_update",
      async () => () =>
        own.call("PATCH", `/api/comments/${commentId}`, { token: admin.token, body: { body: "Changed" } }),
    ],
    [
      "DELETE comment",
      10,
      "comment_delete",
      async () => {
        const token = await by(() => own.person());
        return () => own.call("DELETE", `/api/comments/${randomUUID()}`, { token });
      },
    ],
    [
      "GET comments",
      100,
      "comment_list",
      async () => () => own.call("GET", comments(), { token: admin.token }),
    ],
    [
      "GET one comment",
      100,
      "comment_list",
      async () => () => own.call("GET", `/api/comments/${commentId}`, { token: admin.token }),
    ],
    [
      "POST vote",
      30,
      "vote_create",
      async () => {
        const token = await by(() => own.person());
        return () => own.call("POST", vote(), { token });
      },
    ],
    [
      "POST comment vote",
      30,
      "vote_create",
      async () => {
        const token = await by(() => own.person());
        return () => own.call("POST", `/api/comments/${commentId}/vote`, { token });
      },
    ],
    [
      "DELETE vote",
      30,
      "vote_delete",
      async () => {
        const token = await by(() => own.person());
        return () => own.call("DELETE", vote(), { token });
      },
    ],
    [
      "DELETE comment vote",
      30,
      "vote_delete",
      async () => {
        const token = await by(() => own.person());
        return () => own.call("DELETE", `/api/comments/${commentId}/vote`, { token });
      },
    ],
    [
      "GET my votes",
      100,
      "vote_list",
      async () => () => own.call("GET", "/api/me/votes", { token: admin.token }),
    ],
    [
      "GET voters",
      100,
      "vote_list",
      async () => () => own.call("GET", `/api/submissions/${submissionId}/voters`, { token: admin.token }),
    ],
    [
      "POST submission by a key",
      100,
      "submission_create_key",
      async () => {
        const token = await by(() => own.key(["submissions:write"]));
        return (n) =>
          own.call("POST", "/api/submissions", {
            token,
            body: { title: `Idea number ${n}`, description, type: "idea" },
          });
      },
    ],
    [
      "POST submission by a key for many authors",
      100,
      "submission_create_key",
      async () => {
        const token = await by(() => own.key(["submissions:write"]));
        return (n) =>
          own.call("POST", "/api/submissions", {
            token,
            body: {
              title: `Idea number ${n}`,
              description,
              type: "idea",
              author_email: `author-${n}@example.org`,
            },
          });
      },
    ],
    [
      "duplicate check by nobody",
      30,
      "duplicate_check_public",
      async () => {
        await setRule("level_public", 1000, 60);
        return () => own.call("POST", "/api/submissions/check-duplicates", { body: { title: "Dark mode" } });
      },
    ],
    [
      "duplicate check by a person",
      100,
      "duplicate_check_user",
      async () => () =>
        own.call("POST", "/api/submissions/check-duplicates", {
          token: admin.token,
          body: { title: "Dark mode" },
        }),
    ],
    [
      "duplicate check by a key",
      100,
      "duplicate_check_user",
      async () => {
        const token = await by(() => own.key([]));
        return () =>
          own.call("POST", "/api/submissions/check-duplicates", { token, body: { title: "Dark mode" } });
      },
    ],
  ];

  test.each(operations)("%s: %i pass and no more", async (_what, limit, rule, make) => {
    const one = await make();
    const answers = await times(limit + 5, one);
    expect(howMany(answers)).toEqual({ passed: limit, limited: 5 });
    const last = answers.filter(({ status }) => status === 429).at(-1) as Answer;
    expect(limitOf(last)).toBe(limit);
    const wait = resetOf(last) - Date.now() / 1000;
    expect(wait).toBeGreaterThan(0);
    expect(wait).toBeLessThanOrEqual(rateLimits[rule].window_seconds + 1);
  });

  test("a full operation leaves the rest of the level alone", async () => {
    const { token } = await own.person();
    await times(30, () => own.call("POST", vote(), { token }));
    expect((await own.call("POST", vote(), { token })).status).toBe(429);
    const answer = await own.call("GET", list, { token });
    expect([answer.status, limitOf(answer), remainingOf(answer)]).toEqual([200, 100, 68]);
  });

  test("the headers tell the bucket with the fewest left", async () => {
    const { token } = await own.person();
    const voted = await own.call("POST", vote(), { token });
    expect([limitOf(voted), remainingOf(voted)]).toEqual([30, 29]);
    await times(90, () => own.call("GET", list, { token }));
    const again = await own.call("POST", vote(), { token });
    expect([limitOf(again), remainingOf(again)]).toEqual([100, 8]);
  });

  test.each([
    ["not valid", { body: "" }, 400],
    ["not JSON", "{", 400],
  ])("a comment that is %s is charged like one that is taken", async (_what, body, status) => {
    const { token } = await own.person();
    const failed = await times(20, () => own.call("POST", comments(), { token, body }));
    expect(new Set(failed.map((answer) => answer.status))).toEqual(new Set([status]));
    expect((await own.call("POST", comments(), { token, body: { body: "Now a good one" } })).status).toBe(
      429,
    );
  });
});

describe("a key acting for e-mail authors", () => {
  const comment = (token: string, author_email?: string) =>
    own.call("POST", `/api/submissions/${submissionId}/comments`, {
      token,
      body: { body: "On behalf", author_email },
    });

  test("each author has buckets of their own, whatever key speaks for them", async () => {
    const [one, other] = [await own.key(["submissions:write"]), await own.key(["submissions:write"])];
    const answers = await times(22, (n) =>
      comment(n % 2 ? one : other, n % 3 ? "ann@example.org" : "Ann@Example.ORG"),
    );
    expect(howMany(answers)).toEqual({ passed: 20, limited: 2 });
    expect((await comment(one, "bob@example.org")).status).toBe(201);
    expect((await comment(one)).status).toBe(201);
  });

  test("the key's level counts all of them", async () => {
    await setRule("level_key", 10, 60);
    const token = await own.key(["submissions:write"]);
    const answers = await times(14, (n) => comment(token, `author-${n}@example.org`));
    expect(howMany(answers)).toEqual({ passed: 10, limited: 4 });
  });

  test("the same author at another organization is somebody else", async () => {
    await setRule("comment_create", 1, 60);
    const [made] = await own.sql<{ id: string }[]>`
      insert into public.organizations (slug, name) values (${`o-${randomUUID()}`}, 'Other') returning id`;
    const [theirs] = await own.sql<{ id: string }[]>`
      insert into public.submissions (organization_id, author_id, title, description, type)
      values (${made?.id ?? ""}, ${admin.id}, 'Their submission', ${description}, 'idea') returning id`;
    const other = await createApiKey(own.sql, made?.id ?? "", "Theirs", ["submissions:write"]);
    const body = { body: "On behalf", author_email: "eve@example.org" };
    expect((await comment(await own.key(["submissions:write"]), "eve@example.org")).status).toBe(201);
    expect(
      (await own.call("POST", `/api/submissions/${theirs?.id}/comments`, { token: other, body })).status,
    ).toBe(201);
    const subjects = await own.sql<
      { subject: string }[]
    >`select subject from private.rate_counters where rule = 'comment_create'`;
    expect(subjects.length).toBe(2);
    for (const { subject } of subjects) expect(subject).toMatch(/^[0-9a-f-]{36}:[0-9a-f]{32}$/);
  });
});

describe("what is charged", () => {
  const bad: [string, () => Promise<string>][] = [
    ["text that is no credential", async () => "not-a-token"],
    ["a key nobody was given", async () => `fcs_org_${"A".repeat(49)}`],
    [
      "a key that expired",
      async () => {
        const key = await own.key([]);
        await own.sql`update private.api_keys set expires_at = now() where last_four = ${key.slice(-4)}`;
        return key;
      },
    ],
    [
      "a key that was revoked",
      async () => {
        const key = await own.key([]);
        await own.sql`update private.api_keys set revoked_at = now() where last_four = ${key.slice(-4)}`;
        return key;
      },
    ],
    ["a token of another project", async () => `${admin.token.slice(0, -3)}abc`],
    [
      "a token of someone who is gone",
      async () => {
        const gone = await own.person();
        await own.sql`delete from auth.users where id = ${gone.id}`;
        return gone.token;
      },
    ],
  ];

  test.each(bad)("%s is charged to the address it came from", async (_what, make) => {
    const token = await make();
    const answers = await times(35, () => own.call("GET", list, { token }));
    expect(answers.filter(({ status }) => status === 401).length).toBe(30);
    expect(answers.filter(({ status }) => status === 429).length).toBe(5);
    expect((await own.call("GET", list)).status).toBe(429);
    expect((await own.call("GET", list, { token: admin.token })).status).toBe(200);
  });

  test.each<[string, string, string, Call, number]>([
    ["a row that is not there", "GET", `/api/submissions/${randomUUID()}`, {}, 404],
    ["a path that is not there", "GET", "/api/nowhere", {}, 404],
    ["a method that is not there", "PUT", "/api/submissions", {}, 404],
    ["a query that is not valid", "GET", "/api/submissions?limit=1000", {}, 400],
    ["a body that is not JSON", "POST", "/api/submissions/check-duplicates", { body: "{" }, 400],
    [
      "a body of another type",
      "POST",
      "/api/submissions/check-duplicates",
      { body: "a=1", headers: { "content-type": "text/plain" } },
      415,
    ],
    [
      "a body that is too large",
      "POST",
      "/api/submissions/check-duplicates",
      { body: `"${"x".repeat(1_100_000)}"` },
      413,
    ],
    ["what one has to sign in for", "POST", "/api/submissions", { body: {} }, 401],
    ["an organization that is not there", "GET", list, { headers: { "x-organization": "no-such" } }, 404],
  ])("%s costs a call", async (_what, method, path, call, status) => {
    const answer = await own.call(method, path, call);
    expect([answer.status, remainingOf(answer)]).toEqual([status, 29]);
    expect(remainingOf(await own.call("GET", list))).toBe(28);
  });

  test.each(["/api/health", "/api/ready", "/api/docs", "/api/openapi.json"])(
    "%s costs nothing and tells the level's limit",
    async (path) => {
      const answers = await times(40, () => own.call("GET", path));
      expect(
        new Set(answers.map((answer) => `${answer.status} ${limitOf(answer)} ${remainingOf(answer)}`)),
      ).toEqual(new Set(["200 30 30"]));
      expect(remainingOf(await own.call("GET", list))).toBe(29);
    },
  );

  test("a preflight costs nothing", async () => {
    const headers = { origin: "https://app.example.org", "access-control-request-method": "POST" };
    await times(40, () => own.call("OPTIONS", "/api/submissions", { headers }));
    expect(remainingOf(await own.call("GET", list))).toBe(29);
  });
});

describe("what a caller is told", () => {
  const everywhere: [string, string, string, () => Promise<Call>][] = [
    ["a list", "GET", list, async () => ({})],
    ["the head of a list", "HEAD", list, async () => ({})],
    ["a row that is not there", "GET", `/api/submissions/${randomUUID()}`, async () => ({})],
    ["a path that is not there", "GET", "/api/nowhere", async () => ({})],
    ["the root", "GET", "/api", async () => ({})],
    ["a path no decoder takes", "GET", "/api/submissions/%E0%A4%A", async () => ({})],
    ["a query that is not valid", "GET", "/api/submissions?page=0", async () => ({})],
    ["no credential", "POST", "/api/submissions", async () => ({ body: {} })],
    ["a bad credential", "GET", list, async () => ({ token: "nonsense" })],
    ["a key without scope", "POST", "/api/submissions", async () => ({ token: await own.key([]), body: {} })],
    [
      "a body too large",
      "POST",
      "/api/submissions",
      async () => ({ token: admin.token, body: `"${"x".repeat(1_100_000)}"` }),
    ],
    [
      "a body of another type",
      "POST",
      "/api/submissions",
      async () => ({ token: admin.token, body: "a", headers: { "content-type": "text/plain" } }),
    ],
    ["health", "GET", "/api/health", async () => ({})],
    ["readiness", "GET", "/api/ready", async () => ({})],
    ["the page of documentation", "GET", "/api/docs", async () => ({})],
    ["the OpenAPI document", "GET", "/api/openapi.json", async () => ({})],
    [
      "a preflight",
      "OPTIONS",
      "/api/submissions",
      async () => ({ headers: { origin: "https://x.example" } }),
    ],
  ];

  describe.each(["base_url", "supabase_url"] as const)("at %s", (base) => {
    test.each(everywhere)("%s: the three headers and the request's id", async (_what, method, path, make) => {
      const { headers } = await own.call(method, path, { ...(await make()), base: own[base] });
      expect(headers["x-ratelimit-limit"]).toMatch(/^[1-9]\d*$/);
      expect(headers["x-ratelimit-remaining"]).toMatch(/^\d+$/);
      expect(headers["x-ratelimit-reset"]).toMatch(/^\d{10}$/);
      expect(headers["x-request-id"]).toMatch(/^[0-9a-f-]{36}$/);
      const wait = Number(headers["x-ratelimit-reset"]) - Date.now() / 1000;
      expect(wait).toBeGreaterThan(-1);
      expect(wait).toBeLessThan(62);
    });
  });

  test("Reset is the end of the window, in Unix seconds: the same all through it, and then the bucket is full", async () => {
    await setRule("level_user", 3, 2);
    const { token } = await own.person();
    const answers = [];
    for (let n = 0; n < 5; n++) answers.push(await own.call("GET", list, { token }));
    expect(new Set(answers.map(resetOf)).size).toBe(1);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 429, 429]);
    const reset = resetOf(answers[0] as Answer) * 1000;
    expect(reset - Date.now()).toBeLessThanOrEqual(3000);
    await new Promise((resolve) => setTimeout(resolve, reset - Date.now() + 5));
    const after = await own.call("GET", list, { token });
    expect([after.status, remainingOf(after)]).toEqual([200, 2]);
  });

  test("who is limited hears how long to wait in the general envelope, and that wait suffices", async () => {
    await setRule("level_user", 1, 2);
    const { token } = await own.person();
    await own.call("GET", list, { token });
    const refused = await own.call("GET", list, { token });
    expect(refused.status).toBe(429);
    expect(refused.body).toEqual({
      error: {
        code: "RATE_LIMIT_EXCEEDED",
        message: expect.any(String),
        details: [],
        retry_after: expect.any(Number),
      },
    });
    const wait = refused.body.error?.retry_after as number;
    expect(refused.headers["retry-after"]).toBe(String(wait));
    expect(wait).toBeGreaterThanOrEqual(1);
    expect(wait).toBeLessThanOrEqual(2);
    await new Promise((resolve) => setTimeout(resolve, wait * 1000));
    expect((await own.call("GET", list, { token })).status).toBe(200);
  });

  test("a key creating submissions hears it in the lowercase form", async () => {
    await setRule("submission_create_key", 1, 60);
    const token = await own.key(["submissions:write"]);
    const create = () =>
      own.call("POST", "/api/submissions", { token, body: { title: "An idea", description, type: "idea" } });
    expect((await create()).status).toBe(201);
    const refused = await create();
    expect(refused.status).toBe(429);
    expect(refused.body).toEqual({ error: "rate_limited", retry_after: expect.any(Number) });
    expect(refused.headers["retry-after"]).toBe(String(refused.body.retry_after));
  });

  test("waiting is not prolonged by calling on", async () => {
    await setRule("level_user", 2, 2);
    const { token } = await own.person();
    const startedAt = Date.now();
    const statuses: number[] = [];
    while (statuses.filter((status) => status === 200).length < 3) {
      statuses.push((await own.call("GET", list, { token })).status);
      expect(Date.now() - startedAt, statuses.join(" ")).toBeLessThan(6000);
    }
    expect(Date.now() - startedAt).toBeGreaterThanOrEqual(2000);
    expect(statuses).toContain(429);
  });
});

describe("rules are data", () => {
  test("a limit an operator changes counts at once, up and down", async () => {
    const { token } = await own.person();
    expect(limitOf(await own.call("GET", list, { token }))).toBe(100);
    await own.sql`update private.rate_limit_rules set max_requests = 3 where name = 'level_user'`;
    const statuses = [];
    for (let n = 0; n < 3; n++) statuses.push((await own.call("GET", list, { token })).status);
    expect(statuses).toEqual([200, 200, 429]);
    await own.sql`update private.rate_limit_rules set max_requests = 1000 where name = 'level_user'`;
    const answer = await own.call("GET", list, { token });
    expect([answer.status, limitOf(answer), remainingOf(answer)]).toEqual([200, 1000, 996]);
  });

  test("a rule for one kind of caller goes before the rule for all", async () => {
    await own.sql`insert into private.rate_limit_rules values ('comment_list_user', 2, 60)`;
    const path = `/api/submissions/${submissionId}/comments`;
    const answers = await times(4, () => own.call("GET", path, { token: admin.token }));
    expect(howMany(answers)).toEqual({ passed: 2, limited: 2 });
    expect(howMany(await times(4, async () => own.call("GET", path)))).toEqual({ passed: 4, limited: 0 });
  });

  test("an operation without a rule is limited by its level alone", async () => {
    await own.sql`delete from private.rate_limit_rules where name = 'vote_create'`;
    const { token } = await own.person();
    const answers = await times(40, () =>
      own.call("POST", `/api/submissions/${submissionId}/vote`, { token }),
    );
    expect(howMany(answers)).toEqual({ passed: 40, limited: 0 });
  });

  test.each([0, -1])("a limit of %i is refused by the database", async (limit) => {
    await expect(own.sql`update private.rate_limit_rules set max_requests = ${limit}`).rejects.toThrow(
      /max_requests_is_positive/,
    );
  });
});
