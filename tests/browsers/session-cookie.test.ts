import { beforeAll, describe, expect, test } from "vitest";
import { api, expectError } from "../api/client.ts";
import { newOrganization, newSubmission, newUser } from "../api/world.ts";
import { sql, stack } from "../stack.ts";
import { cookieHeader, type SessionForm, signUpOnTheWeb, type WebSession } from "./session.ts";

const allowed = "https://app.example.org";
const name = "sb-127-auth-token";
const organization = await newOrganization();
await sql`update public.organizations set allowed_origins = ${[allowed]} where id = ${organization.id}`;
const submissionId = await newSubmission(organization, await newUser());

const vote = (headers: Record<string, string>, base = stack.base_url) =>
  api("POST", `/api/submissions/${submissionId}/vote`, { headers, base });
const myVotes = (headers: Record<string, string>) => api("GET", "/api/me/votes", { headers });

async function hasVoted({ userId }: { userId: string }): Promise<boolean> {
  return (
    (await sql`select from public.votes where submission_id = ${submissionId} and user_id = ${userId}`).length === 1
  );
}

const forms: [string, SessionForm & { chunks: number }][] = [
  ["whole, base64url", { encoding: "base64url", chunks: 1 }],
  ["whole, raw JSON", { encoding: "raw", chunks: 1 }],
  ["in chunks, base64url", { encoding: "base64url", metadata: 500, chunks: 2 }],
  ["in chunks, raw JSON", { encoding: "raw", metadata: 500, chunks: 2 }],
];

describe.each(forms)("a session as @supabase/ssr writes it, %s", (_form, { chunks, ...form }) => {
  let session: WebSession;
  beforeAll(async () => {
    session = await signUpOnTheWeb(form);
  });

  test("has the shape that the test expects", () => {
    const names = session.cookies.map((cookie) => cookie.name);
    if (chunks === 1) expect(names).toEqual([name]);
    else {
      expect(names.length).toBeGreaterThanOrEqual(chunks);
      expect(names.every((one, index) => one === `${name}.${index}`)).toBe(true);
    }
    expect(session.cookies[0]?.value.startsWith("base64-")).toBe(form.encoding === "base64url");
    expect(session.cookies.map(({ options }) => options.sameSite)).toEqual(names.map(() => "lax"));
  });

  test("reads as that user", async () => {
    const cookie = cookieHeader(session.cookies);
    expect((await myVotes({ cookie })).status).toBe(200);
    expect((await api("GET", `/api/submissions/${submissionId}`, { headers: { cookie } })).status).toBe(200);
  });

  test("reads with cookies in any order, and between others", async () => {
    const cookie = `theme=dark; ${cookieHeader(session.cookies.toReversed())}; ${name}-code-verifier=x; other=a=b=c`;
    expect((await myVotes({ cookie })).status).toBe(200);
  });

  test("writes from the service's own and from allowed origins", async () => {
    const cookie = cookieHeader(session.cookies);
    expect((await vote({ cookie, origin: stack.base_url })).status).toBe(201);
    expect((await vote({ cookie, origin: stack.supabase_url })).status).toBe(200);
    expect((await vote({ cookie, origin: stack.supabase_url }, stack.supabase_url)).status).toBe(200);
    expect((await vote({ cookie, origin: allowed })).status).toBe(200);
    expect(await hasVoted(session)).toBe(true);
  });

  test("does not write from other origins, nor without one", async () => {
    const person = await signUpOnTheWeb(form);
    const cookie = cookieHeader(person.cookies);
    expectError(await vote({ cookie, origin: "https://evil.example" }), "FORBIDDEN");
    expectError(await vote({ cookie }), "FORBIDDEN");
    expect(await hasVoted(person)).toBe(false);
  });
});

test("a session of many chunks is read behind both listeners, among cookies of others", async () => {
  const session = await signUpOnTheWeb({ encoding: "base64url", metadata: 900 });
  const cookie = `other=${"x".repeat(9_000)}; ${cookieHeader(session.cookies)}`;
  expect(cookie.length).toBeGreaterThan(16 * 1024);
  for (const base of [stack.base_url, stack.supabase_url]) {
    expect((await api("GET", "/api/me/votes", { headers: { cookie }, base })).status, base).toBe(200);
  }
});

describe("an origin that resembles an allowed one", () => {
  test.each([
    "null",
    "https://app.example.org.evil.example",
    "https://evil-app.example.org",
    "https://app.example.org:8443",
    "http://app.example.org",
    "https://app.example.org/",
    "https://APP.example.org",
    "https://app.example.org@evil.example",
    "https://app.example.org https://evil.example",
    "https://app.example.org,https://evil.example",
    "https://*.example.org",
    "*",
    "",
    "file://",
    "https://аpp.example.org".normalize(),
    `https://app.example.org${"x".repeat(400)}`,
  ])("%j does not write", async (origin) => {
    const session = await signUpOnTheWeb({ encoding: "base64url" });
    const headers = { cookie: cookieHeader(session.cookies), origin: Buffer.from(origin).toString("latin1") };
    expectError(await vote(headers), "FORBIDDEN");
    expect(await hasVoted(session)).toBe(false);
  });

  test("the service's own host does not match with another port, scheme, prefix or suffix", async () => {
    const session = await signUpOnTheWeb({ encoding: "base64url" });
    const cookie = cookieHeader(session.cookies);
    const { port } = new URL(stack.base_url);
    for (const origin of [
      `http://127.0.0.1:${Number(port) ^ 1}`,
      "http://127.0.0.1",
      `http://127.0.0.1:${port}.evil.example`,
      `http://x@127.0.0.1:${port}@evil.example`,
      `http://localhost:${port}`,
      `ftp://127.0.0.1:${port}x`,
    ]) {
      expect((await vote({ cookie, origin })).status, origin).toBe(403);
    }
  });

  test("an origin allowed by another organization does not write here", async () => {
    const session = await signUpOnTheWeb({ encoding: "base64url" });
    const other = await newOrganization();
    await sql`update public.organizations set allowed_origins = '{https://other.example}' where id = ${other.id}`;
    const headers = {
      cookie: cookieHeader(session.cookies),
      origin: "https://other.example",
      "x-organization": other.slug,
    };
    expect((await vote(headers)).status).toBe(403);
    expect(await hasVoted(session)).toBe(false);
  });
});

describe("every writing method needs an origin", () => {
  test.each([
    ["POST", "/api/submissions"],
    ["POST", "/api/submissions/check-duplicates"],
    ["PATCH", "/api/submissions/:id"],
    ["DELETE", "/api/submissions/:id"],
    ["PATCH", "/api/submissions/:id/status"],
    ["POST", "/api/submissions/:id/follow"],
    ["DELETE", "/api/submissions/:id/vote"],
    ["PUT", "/api/admin/origins"],
    ["POST", "/api/admin/api-keys"],
    ["POST", "/api/me/notifications/read"],
  ] as const)("%s %s", async (method, path) => {
    const session = await signUpOnTheWeb({ encoding: "base64url" });
    const headers = { cookie: cookieHeader(session.cookies), origin: "https://evil.example" };
    const body = {
      title: "A good title",
      description: "A description that is long enough.",
      type: "idea",
      name: "x",
      scopes: [],
      origins: [],
      status: "planned",
    };
    expectError(await api(method, path.replace(":id", submissionId), { headers, on: organization, body }), "FORBIDDEN");
  });

  test("also with content types that need no preflight", async () => {
    const session = await signUpOnTheWeb({ encoding: "base64url" });
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"]) {
      const headers = { cookie: cookieHeader(session.cookies), origin: "https://evil.example", "content-type": type };
      const answer = await api("POST", `/api/submissions/${submissionId}/vote`, { headers, raw: "{}" });
      expect([403, 415], type).toContain(answer.status);
    }
    expect(await hasVoted(session)).toBe(false);
  });
});

// tests/hostile/credentials.test.ts has invalid sessions, and the header beside a session.
test("a Bearer token beside a session is the caller, and needs no origin", async () => {
  const [session, bearer] = [await signUpOnTheWeb({ encoding: "base64url" }), await newUser()];
  const cookie = cookieHeader(session.cookies);
  expect((await vote({ cookie, authorization: `Bearer ${bearer.token}` })).status).toBe(201);
  expect(await hasVoted(session)).toBe(false);
  expect(await hasVoted({ userId: bearer.id })).toBe(true);
});
