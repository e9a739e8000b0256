import { describe, expect, test } from "vitest";
import { type Answer, api, type Call, send } from "../api/client.ts";
import { newKey, newOrganization, newSubmission, newUser } from "../api/world.ts";
import { accessToken, sql, stack } from "../stack.ts";

const origin = "https://board.example.org";
const foreign = "https://theirs.example.org";
const [organization, other] = [await newOrganization(), await newOrganization()];
await sql`update public.organizations set allowed_origins = ${[origin]} where id = ${organization.id}`;
await sql`update public.organizations set allowed_origins = ${[foreign]} where id = ${other.id}`;
const user = await newUser();
const submissionId = await newSubmission(organization, user);

const asked = {
  "access-control-request-method": "POST",
  "access-control-request-headers": "authorization,content-type,x-organization",
};
const preflight = (from: string | undefined, path = "/api/submissions", base = stack.base_url) =>
  send("OPTIONS", path, { base, headers: { ...asked, ...(from !== undefined && { origin: from }) } });
const words = (header: string | string[] | undefined) =>
  String(header ?? "")
    .toLowerCase()
    .split(/,\s*/)
    .filter(Boolean);

function opens(answer: Answer, to: string) {
  expect(answer.headers["access-control-allow-origin"], answer.text).toBe(to);
  expect(answer.headers["access-control-allow-credentials"]).toBe("true");
}

function isClosed({ headers }: Answer) {
  expect(Object.keys(headers).filter((name) => name.startsWith("access-control-"))).toEqual([]);
}

describe.each(["base_url", "supabase_url"] as const)("a preflight at %s", (base) => {
  test.each([
    ["an origin some organization allows", () => origin],
    ["the service's own", () => stack.supabase_url],
  ])("passes %s", async (_what, make) => {
    const answer = await preflight(make(), "/api/submissions", stack[base]);
    expect(answer.status).toBe(204);
    opens(answer, make());
    expect(words(answer.headers["access-control-allow-methods"])).toEqual(
      expect.arrayContaining(["get", "post", "patch", "put", "delete"]),
    );
    expect(words(answer.headers["access-control-allow-headers"])).toEqual(
      expect.arrayContaining([
        "authorization",
        "content-type",
        "accept-language",
        "x-organization",
        "idempotency-key",
        "apikey",
        "x-client-info",
      ]),
    );
    expect(words(answer.headers.vary)).toEqual(
      expect.arrayContaining(["origin", "access-control-request-method", "access-control-request-headers"]),
    );
    expect(Number(answer.headers["access-control-max-age"])).toBeLessThanOrEqual(600);
  });

  test("rejects the service's own host with another scheme", async () => {
    isClosed(await preflight(stack[base].replace("http:", "https:"), "/api/submissions", stack[base]));
  });

  test.each([
    "https://evil.example",
    "null",
    "*",
    `${origin}.evil.example`,
    `${origin}:8443`,
    origin.toUpperCase(),
    "",
  ])("rejects %j", async (from) => {
    const answer = await preflight(from, "/api/submissions", stack[base]);
    expect(answer.status).toBe(204);
    isClosed(answer);
    expect(words(answer.headers.vary)).toContain("origin");
  });

  test("returns no CORS headers for a request that is not a preflight", async () =>
    isClosed(await preflight(undefined, "/api/submissions", stack[base])));

  test("is the same for existing and unknown paths", async () => {
    const headersOf = async (path: string) => {
      const {
        date: _,
        "x-request-id": _id,
        "x-ratelimit-reset": _reset,
        ...rest
      } = (await preflight(origin, path, stack[base])).headers;
      return rest;
    };
    expect(await headersOf("/api/nowhere")).toEqual(await headersOf("/api/admin/api-keys"));
  });
});

describe("a request", () => {
  test("of an allowed origin is readable, with credentials and the rate limit headers", async () => {
    const answer = await api("GET", `/api/submissions/${submissionId}`, { headers: { origin } });
    expect(answer.status).toBe(200);
    opens(answer, origin);
    expect(words(answer.headers["access-control-expose-headers"])).toEqual(
      expect.arrayContaining([
        "x-request-id",
        "x-ratelimit-limit",
        "x-ratelimit-remaining",
        "x-ratelimit-reset",
        "retry-after",
        "content-language",
      ]),
    );
  });

  test.each<[string, () => [string, string, Call]]>([
    ["named by a header", () => ["GET", "/api/submissions", { on: organization }]],
    ["named by a parameter", () => ["GET", `/api/submissions?organization=${organization.slug}`, {}]],
    ["of the path's row", () => ["GET", `/api/submissions/${submissionId}`, {}]],
    ["of the path itself", () => ["GET", `/api/organizations/${organization.id}/tags`, {}]],
  ])("uses the allowed origins of the organization %s", async (_which, make) => {
    const [, path, call] = make();
    opens(await api("GET", path, { ...call, headers: { origin } }), origin);
    isClosed(await api("GET", path, { ...call, headers: { origin: foreign } }));
  });

  test("uses the allowed origins of the key's organization", async () => {
    const key = await newKey(organization, ["submissions:read"]);
    opens(await api("GET", "/api/submissions", { as: key, headers: { origin } }), origin);
    isClosed(await api("GET", "/api/submissions", { as: key, headers: { origin: foreign } }));
  });

  test.each<[string, number, () => Promise<[Parameters<typeof api>[0], string, Call]>]>([
    ["invalid", 400, async () => ["GET", "/api/submissions?limit=0", { on: organization }]],
    ["without a credential", 401, async () => ["POST", `/api/submissions/${submissionId}/vote`, {}]],
    [
      "with an expired token",
      401,
      async () => [
        "GET",
        "/api/submissions",
        { on: organization, as: { token: await accessToken({ sub: user.id }, -10) } },
      ],
    ],
    [
      "with an expired token on a row",
      401,
      async () => [
        "GET",
        `/api/submissions/${submissionId}`,
        { as: { token: await accessToken({ sub: user.id }, -10) } },
      ],
    ],
    [
      "of a caller without permission",
      403,
      async () => ["GET", `/api/submissions/${submissionId}/voters`, { as: user }],
    ],
    ["of a path that is not there", 404, async () => ["GET", "/api/nowhere", { on: organization }]],
    [
      "too large",
      413,
      async () => ["POST", "/api/submissions", { on: organization, as: user, raw: "x".repeat(1_100_000) }],
    ],
  ])("that is rejected, %s, is readable by its page: %i", async (_what, status, make) => {
    const [method, path, call] = await make();
    const answer = await api(method, path, { ...call, headers: { origin } });
    expect(answer.status).toBe(status);
    opens(answer, origin);
  });

  test("that is rate limited is readable by its page, with the time to wait", async () => {
    const poor = await newUser();
    await sql`insert into private.rate_counters (rule, subject, started_at, used) values ('level_user', ${poor.id}, now(), 2000000000)`;
    const answer = await api("GET", "/api/submissions", { as: poor, on: organization, headers: { origin } });
    expect(answer.status).toBe(429);
    opens(answer, origin);
  });
});

test("no response but the OpenAPI document has a wildcard, and all vary by Origin", async () => {
  const paths = [
    "/api/submissions",
    `/api/submissions/${submissionId}`,
    "/api/nowhere",
    "/api/health",
    "/api/ready",
    "/api/docs",
    "/api",
  ];
  for (const from of [undefined, origin, "https://evil.example", "null", stack.base_url]) {
    for (const path of paths) {
      for (const method of ["GET", "OPTIONS", "HEAD"] as const) {
        const { headers } = await send(method, path, { headers: from === undefined ? {} : { origin: from } });
        const headersOf = `${method} ${path} from ${from}`;
        expect(headers["access-control-allow-origin"], headersOf).not.toBe("*");
        if (headers["access-control-allow-origin"]) expect(words(headers.vary), headersOf).toContain("origin");
        if (path.startsWith("/api/submissions")) expect(words(headers.vary), headersOf).toContain("origin");
      }
    }
  }
});

test("pages of every origin read the OpenAPI document, without credentials", async () => {
  for (const from of [origin, "https://evil.example", "null", stack.base_url])
    for (const method of ["GET", "HEAD", "OPTIONS"] as const) {
      const { status, headers } = await send(method, "/api/openapi.json", { headers: { origin: from } });
      expect([method, from, status, headers["access-control-allow-origin"]]).toEqual([
        ...[method, from, method === "OPTIONS" ? 204 : 200],
        "*",
      ]);
      expect(headers["access-control-allow-credentials"]).toBeUndefined();
      expect(headers["x-request-id"]).toBeDefined();
    }
});

describe("allowed origins", () => {
  test("apply immediately when an admin adds them, and end when they are removed", async () => {
    const own = await newOrganization();
    const admin = await newUser("Ada Admin", { organization: own, role: "admin" });
    const page = "https://fresh.example.org";
    const set = (origins: string[]) => api("PUT", "/api/admin/origins", { as: admin, on: own, body: { origins } });
    const read = () => api("GET", "/api/submissions", { on: own, headers: { origin: page } });
    isClosed(await read());
    expect((await set([page])).body).toEqual({ data: { origins: [page] }, meta: {} });
    opens(await read(), page);
    opens(await preflight(page), page);
    await set([]);
    isClosed(await read());
    expect((await api("GET", "/api/admin/origins", { as: admin, on: own })).body).toEqual({
      data: { origins: [] },
      meta: {},
    });
  });

  test.each([
    "null",
    "https://*",
    "https://*.example.org",
    "https://example.org/",
    "https://example.org/path",
    "https://EXAMPLE.org",
    "example.org",
    "ftp://example.org",
    "https://user@example.org",
    "https://example.org:443",
    "http://example.org:80",
    "https://example.org:99999",
    "javascript:alert(1)",
    "https://exämple.org",
    "https://example.org?x",
    "https://example.org https://other.example",
    "",
    " https://example.org",
  ])("%j is not an origin", async (text) => {
    const own = await newOrganization();
    const admin = await newUser("Ada Admin", { organization: own, role: "admin" });
    const answer = await api("PUT", "/api/admin/origins", { as: admin, on: own, body: { origins: [text] } });
    expect(answer.status).toBe(400);
    expect(await sql`select allowed_origins from public.organizations where id = ${own.id}`).toEqual([
      { allowed_origins: [] },
    ]);
  });

  test.each([
    "{*}",
    "{null}",
    "{https://*.example.org}",
    "{https://example.org/}",
    '{"https://a.example https://b.example"}',
    "{NULL}",
  ])("the database rejects %s too", async (list) => {
    await expect(
      sql`update public.organizations set allowed_origins = ${list}::text[] where id = ${other.id}`,
    ).rejects.toThrow(/allowed_origins_are_origins/);
  });

  test("are not readable by other users", async () => {
    const outsider = await newUser("Ned Nobody");
    for (const as of [undefined, outsider, await newKey(organization, ["submissions:read"])]) {
      const { status } = await api("GET", "/api/admin/origins", {
        as,
        on: as && "profileId" in as ? undefined : organization,
      });
      expect([401, 403]).toContain(status);
    }
  });
});
