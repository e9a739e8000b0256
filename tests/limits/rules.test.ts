import { randomUUID } from "node:crypto";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createApiKey } from "../../local/operator/api-keys.ts";
import { type RateLimitName, rateLimits } from "../../shared/rate-limits.ts";
import { type Answer, type Call, ownStack, type Person } from "../own-stack.ts";

const own = await ownStack();
let admin: Person;
let submissionId: string;
let fresh: { name: string; max_requests: number; window_seconds: number }[];

beforeAll(async () => {
  fresh = [...(await own.sql<typeof fresh>`select name, max_requests, window_seconds from private.rate_limit_rules`)];
  admin = await own.person("admin");
  submissionId = await own.submission(admin);
});

// Each test starts with full buckets and the rules of a new installation.
beforeEach(async () => {
  await own.sql`delete from private.rate_counters`;
  await own.sql`delete from private.rate_limit_rules`;
  await own.sql`insert into private.rate_limit_rules ${own.sql(Object.entries(rateLimits).map(([name, rule]) => ({ name, ...rule })))}`;
});

const submissions = "/api/submissions";
const list = `${submissions}?limit=1`;
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

async function setRule(name: RateLimitName | "duplicate_check_key", max_requests: number, window_seconds: number) {
  await own.sql`insert into private.rate_limit_rules ${own.sql({ name, max_requests, window_seconds })}
    on conflict (name) do update set max_requests = excluded.max_requests, window_seconds = excluded.window_seconds`;
}

test("a new installation has the limits of shared/rate-limits.ts and no others", () => {
  expect(Object.fromEntries(fresh.map(({ name, ...rule }) => [name, rule]))).toEqual(rateLimits);
});

describe("every caller has a bucket for their level", () => {
  test("300 concurrent requests against a limit of 100: exactly 100 succeed, at both listeners", async () => {
    const { token } = await own.person();
    const answers = await times(300, (n) =>
      own.call("GET", list, { token, base: n % 2 ? own.base_url : own.supabase_url }),
    );
    expect(howMany(answers)).toEqual({ passed: 100, limited: 200 });
    const [counter] = await own.sql`select used from private.rate_counters where rule = 'level_user'`;
    expect(counter?.used).toBe(100);
  });

  test("the remaining count decreases to zero, each number once", async () => {
    const { token } = await own.person();
    const answers = await times(100, () => own.call("GET", list, { token }));
    expect(answers.map(remainingOf).sort((a, b) => b - a)).toEqual(Array.from({ length: 100 }, (_, n) => 99 - n));
  });
});

describe("operations have an additional bucket", () => {
  const vote = () => `/api/submissions/${submissionId}/vote`;

  test("the headers describe the bucket with the fewest remaining requests", async () => {
    const { token } = await own.person();
    const voted = await own.call("POST", vote(), { token });
    expect([limitOf(voted), remainingOf(voted)]).toEqual([30, 29]);
    await times(90, () => own.call("GET", list, { token }));
    const repeated = await own.call("POST", vote(), { token });
    expect([limitOf(repeated), remainingOf(repeated)]).toEqual([100, 8]);
  });
});

describe("a key acting for authors", () => {
  const comment = (token: string, author_email?: string, author_name?: string) => {
    const body = { body: "On behalf", author_email, author_name };
    return own.call("POST", `/api/submissions/${submissionId}/comments`, { token, body });
  };

  test("each author has their own buckets, whatever key is used", async () => {
    const [one, other] = [await own.key(["submissions:write"]), await own.key(["submissions:write"])];
    const answers = await times(22, (n) => comment(n % 2 ? one : other, n % 3 ? "ann@example.org" : "Ann@Example.ORG"));
    expect(howMany(answers)).toEqual({ passed: 20, limited: 2 });
    expect((await comment(one, "bob@example.org")).status).toBe(201);
    const named = await times(21, () => comment(one, undefined, "ann@example.org"));
    expect(howMany(named)).toEqual({ passed: 20, limited: 1 });
    expect((await comment(one)).status).toBe(201);
  });

  test("the key's level counts all of them", async () => {
    await setRule("level_key", 10, 60);
    const token = await own.key(["submissions:write"]);
    const answers = await times(14, (n) => comment(token, `author-${n}@example.org`));
    expect(howMany(answers)).toEqual({ passed: 10, limited: 4 });
  });

  test("the same author in another organization is another person", async () => {
    await setRule("comment_create", 1, 60);
    const [created] = await own.sql<{ id: string }[]>`
      insert into public.organizations (slug, name) values (${`o-${randomUUID()}`}, 'Other') returning id`;
    const [foreign] = await own.sql<{ id: string }[]>`
      insert into public.submissions (organization_id, author_id, title, description, type)
      values (${created?.id ?? ""}, ${admin.id}, 'Their submission', ${description}, 'idea') returning id`;
    const other = await createApiKey(own.sql, created?.id ?? "", "Theirs", ["submissions:write"]);
    const body = { body: "On behalf", author_email: "eve@example.org" };
    expect((await comment(await own.key(["submissions:write"]), "eve@example.org")).status).toBe(201);
    expect((await own.call("POST", `/api/submissions/${foreign?.id}/comments`, { token: other, body })).status).toBe(
      201,
    );
    const subjects = await own.sql<
      { subject: string }[]
    >`select subject from private.rate_counters where rule = 'comment_create'`;
    expect(subjects.length).toBe(2);
    for (const { subject } of subjects) expect(subject).toMatch(/^[0-9a-f-]{36}:[0-9a-f]{32}$/);
  });
});

describe("charged requests", () => {
  const bad: [string, () => Promise<string>][] = [
    ["text that is no credential", async () => "not-a-token"],
    ["a key that was never issued", async () => `fcs_org_${"A".repeat(49)}`],
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
      "a token of a deleted user",
      async () => {
        const gone = await own.person();
        await own.sql`delete from auth.users where id = ${gone.id}`;
        return gone.token;
      },
    ],
  ];

  test.each(bad)("%s is charged to the client address", async (_what, make) => {
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
    ["a method that is not there", "PUT", "/api/submissions", {}, 405],
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
    ["a request that requires a user", "POST", "/api/submissions", { body: {} }, 401],
    ["an organization that is not there", "GET", list, { headers: { "x-organization": "no-such" } }, 404],
  ])("%s is charged", async (_what, method, path, call, status) => {
    const answer = await own.call(method, path, call);
    expect([answer.status, remainingOf(answer)]).toEqual([status, 29]);
    expect(remainingOf(await own.call("GET", list))).toBe(28);
  });

  test.each(["/api/docs", "/api/openapi.json"])("%s is charged, whatever the credential", async (path) => {
    const answers = [await own.call("GET", path), await own.call("GET", path, { token: "nonsense" })];
    expect(answers.map((answer) => [answer.status, remainingOf(answer)])).toEqual([
      [200, 29],
      [200, 28],
    ]);
    expect((await times(40, () => own.call("GET", path))).map(({ status }) => status)).toContain(429);
  });

  test.each(["/api/health", "/api/ready"])("%s is not charged and returns the level's limit", async (path) => {
    const answers = await times(40, () => own.call("GET", path));
    expect(new Set(answers.map((answer) => `${answer.status} ${limitOf(answer)} ${remainingOf(answer)}`))).toEqual(
      new Set(["200 30 30"]),
    );
    expect(remainingOf(await own.call("GET", list))).toBe(29);
  });

  test("a preflight is not charged", async () => {
    const headers = { origin: "https://app.example.org", "access-control-request-method": "POST" };
    await times(40, () => own.call("OPTIONS", "/api/submissions", { headers }));
    expect(remainingOf(await own.call("GET", list))).toBe(29);
  });
});

describe("rate limit headers", () => {
  const everywhere: [what: string, method: string, path: string, call?: Call | (() => Promise<Call>)][] = [
    ["the head of a list", "HEAD", list],
    ["the root", "GET", "/api"],
    ["a path that cannot be decoded", "GET", "/api/submissions/%E0%A4%A"],
    ["no credential", "POST", "/api/submissions", { body: {} }],
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
    ["health", "GET", "/api/health"],
    ["readiness", "GET", "/api/ready"],
    ["the page of documentation", "GET", "/api/docs"],
    ["the OpenAPI document", "GET", "/api/openapi.json"],
    ["a preflight", "OPTIONS", "/api/submissions", { headers: { origin: "https://x.example" } }],
  ];

  describe.each(["base_url", "supabase_url"] as const)("at %s", (base) => {
    test.each(everywhere)("%s: the three headers and the request's id", async (_what, method, path, call) => {
      const options = typeof call === "function" ? await call() : call;
      const { headers } = await own.call(method, path, { ...options, base: own[base] });
      expect(headers["x-ratelimit-limit"]).toMatch(/^[1-9]\d*$/);
      expect(headers["x-ratelimit-remaining"]).toMatch(/^\d+$/);
      expect(headers["x-ratelimit-reset"]).toMatch(/^\d{10}$/);
      expect(headers["x-request-id"]).toMatch(/^[0-9a-f-]{36}$/);
      const wait = Number(headers["x-ratelimit-reset"]) - Date.now() / 1000;
      expect(wait).toBeGreaterThan(-1);
      expect(wait).toBeLessThan(62);
    });
  });

  test("Reset is the end of the window in Unix seconds: constant during the window, and then the bucket is full", async () => {
    await setRule("level_user", 3, 5);
    const { token } = await own.person();
    const answers = [];
    for (let n = 0; n < 5; n++) answers.push(await own.call("GET", list, { token }));
    expect(new Set(answers.map(resetOf)).size).toBe(1);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 429, 429]);
    const reset = resetOf(answers[0] as Answer) * 1000;
    expect(reset - Date.now()).toBeLessThanOrEqual(6000);
    await new Promise((resolve) => setTimeout(resolve, reset - Date.now() + 5));
    const after = await own.call("GET", list, { token });
    expect([after.status, remainingOf(after)]).toEqual([200, 2]);
  });

  test("the secrets of a key that is rotated twice share its counter", async () => {
    await setRule("submission_create_key", 3, 60);
    const rotated = async (path: string) => {
      const { body } = await own.call("POST", path, { token: admin.token, body: {} });
      return body.data as { id: string; secret: string };
    };
    const made = await own.call("POST", "/api/admin/api-keys", {
      token: admin.token,
      body: { name: "Rotated", scopes: ["submissions:write"] },
    });
    const first = made.body.data as { id: string; secret: string };
    const second = await rotated(`/api/admin/api-keys/${first.id}/rotate`);
    const third = await rotated(`/api/admin/api-keys/${second.id}/rotate`);
    const body = { title: "An idea", description, type: "idea" };
    const statuses: number[] = [];
    for (const { secret } of [first, second, third, first, second, third])
      statuses.push((await own.call("POST", "/api/submissions", { token: secret, body })).status);
    expect(statuses).toEqual([201, 201, 201, 429, 429, 429]);
    await own.sql`delete from private.rate_counters`;
    const headers = { "idempotency-key": "across the rotation" };
    const repeated = [first, third].map(({ secret }) =>
      own.call("POST", "/api/submissions", { token: secret, body, headers }),
    );
    const [one, two] = await Promise.all(repeated);
    expect([two?.status, two?.text]).toEqual([one?.status, one?.text]);
  });

  test("further requests do not extend the wait", async () => {
    await setRule("level_user", 2, 2);
    const { token } = await own.person();
    const startedAt = Date.now();
    const statuses: number[] = [];
    while (statuses.filter((status) => status === 200).length < 3) {
      statuses.push((await own.call("GET", list, { token })).status);
      expect(Date.now() - startedAt, statuses.join(" ")).toBeLessThan(15_000);
    }
    expect(Date.now() - startedAt).toBeGreaterThanOrEqual(2000);
    expect(statuses).toContain(429);
  });
});

describe("rules are rows", () => {
  test("a changed limit applies immediately, up and down", async () => {
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

  test("a rule for one kind of caller takes precedence over the general rule", async () => {
    await own.sql`insert into private.rate_limit_rules values ('comment_list_user', 2, 60)`;
    const path = `/api/submissions/${submissionId}/comments`;
    const answers = await times(4, () => own.call("GET", path, { token: admin.token }));
    expect(howMany(answers)).toEqual({ passed: 2, limited: 2 });
    expect(howMany(await times(4, async () => own.call("GET", path)))).toEqual({ passed: 4, limited: 0 });
  });

  test("an operation without a rule is limited by its level only", async () => {
    await own.sql`delete from private.rate_limit_rules where name = 'vote_create'`;
    const { token } = await own.person();
    const answers = await times(40, () => own.call("POST", `/api/submissions/${submissionId}/vote`, { token }));
    expect(howMany(answers)).toEqual({ passed: 40, limited: 0 });
  });

  test.each([0, -1])("a limit of %i is rejected by the database", async (limit) => {
    await expect(own.sql`update private.rate_limit_rules set max_requests = ${limit}`).rejects.toThrow(
      /max_requests_is_positive/,
    );
  });
});
