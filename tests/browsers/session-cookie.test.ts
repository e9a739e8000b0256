import { beforeAll, describe, expect, test } from "vitest";
import { api, refused } from "../api/client.ts";
import { newOrganization, newSubmission, newUser, type Organization } from "../api/world.ts";
import { accessToken, sql, stack } from "../stack.ts";
import { cookieHeader, type SessionForm, signUpOnTheWeb, type WebSession } from "./session.ts";

const allowed = "https://app.example.org";
const name = "sb-127-auth-token";

let organization: Organization;
let submissionId: string;

beforeAll(async () => {
  organization = await newOrganization();
  await sql`update public.organizations set allowed_origins = ${[allowed]} where id = ${organization.id}`;
  submissionId = await newSubmission(organization, await newUser());
});

const vote = (headers: Record<string, string>, base = stack.base_url) =>
  api("POST", `/api/submissions/${submissionId}/vote`, { headers, base });
const myVotes = (headers: Record<string, string>) => api("GET", "/api/me/votes", { headers });

async function hasVoted({ userId }: { userId: string }): Promise<boolean> {
  return (
    (await sql`select from public.votes where submission_id = ${submissionId} and user_id = ${userId}`)
      .length === 1
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

  test("is what the test means it to be", () => {
    const names = session.cookies.map((cookie) => cookie.name);
    if (chunks === 1) expect(names).toEqual([name]);
    else {
      expect(names.length).toBeGreaterThanOrEqual(chunks);
      expect(names.every((one, index) => one === `${name}.${index}`)).toBe(true);
    }
    expect(session.cookies[0]?.value.startsWith("base64-")).toBe(form.encoding === "base64url");
    expect(session.cookies.map(({ options }) => options.sameSite)).toEqual(names.map(() => "lax"));
  });

  test("reads as that person", async () => {
    const cookie = cookieHeader(session.cookies);
    expect((await myVotes({ cookie })).status).toBe(200);
    expect((await api("GET", `/api/submissions/${submissionId}`, { headers: { cookie } })).status).toBe(200);
  });

  test("reads whatever order the cookies come in, and between others", async () => {
    const cookie = `theme=dark; ${cookieHeader(session.cookies.toReversed())}; ${name}-code-verifier=x; other=a=b=c`;
    expect((await myVotes({ cookie })).status).toBe(200);
  });

  test("writes for a page of the service's own or of an allowed origin", async () => {
    const cookie = cookieHeader(session.cookies);
    expect((await vote({ cookie, origin: stack.base_url })).status).toBe(201);
    expect((await vote({ cookie, origin: stack.supabase_url })).status).toBe(200);
    expect((await vote({ cookie, origin: stack.supabase_url }, stack.supabase_url)).status).toBe(200);
    expect((await vote({ cookie, origin: allowed })).status).toBe(200);
    expect(await hasVoted(session)).toBe(true);
  });

  test("does not write for a page of any other origin, nor for none", async () => {
    const somebody = await signUpOnTheWeb(form);
    const cookie = cookieHeader(somebody.cookies);
    refused(await vote({ cookie, origin: "https://evil.example" }), "FORBIDDEN");
    refused(await vote({ cookie }), "FORBIDDEN");
    expect(await hasVoted(somebody)).toBe(false);
  });
});

test("a session of many chunks is read at either way in", async () => {
  const session = await signUpOnTheWeb({ encoding: "base64url", metadata: 3_000 });
  const cookie = cookieHeader(session.cookies);
  expect(cookie.length).toBeGreaterThan(16 * 1024);
  for (const base of [stack.base_url, stack.supabase_url]) {
    expect((await api("GET", "/api/me/votes", { headers: { cookie }, base })).status, base).toBe(200);
  }
});

describe("an origin that only looks like one", () => {
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
    refused(await vote(headers), "FORBIDDEN");
    expect(await hasVoted(session)).toBe(false);
  });

  test("the service's own host is no other port, scheme of another kind or name around it", async () => {
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

  test("an origin another organization allows does not write here", async () => {
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

describe("every method that writes needs an origin", () => {
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
    refused(
      await api(method, path.replace(":id", submissionId), { headers, on: organization, body }),
      "FORBIDDEN",
    );
  });

  test("also in forms a browser sends without asking first", async () => {
    const session = await signUpOnTheWeb({ encoding: "base64url" });
    for (const type of [
      "text/plain",
      "application/x-www-form-urlencoded",
      "multipart/form-data; boundary=x",
    ]) {
      const headers = {
        cookie: cookieHeader(session.cookies),
        origin: "https://evil.example",
        "content-type": type,
      };
      const answer = await api("POST", `/api/submissions/${submissionId}/vote`, { headers, raw: "{}" });
      expect([403, 415], type).toContain(answer.status);
    }
    expect(await hasVoted(session)).toBe(false);
  });
});

describe("a session that is no good", () => {
  const sessionOf = (token: unknown) =>
    cookieHeader([{ name, value: JSON.stringify({ access_token: token, token_type: "bearer" }) }]);

  test("an expired token is 401, also where nobody could read", async () => {
    const { id } = await newUser();
    const cookie = sessionOf(await accessToken({ sub: id }, -10));
    refused(await myVotes({ cookie }), "UNAUTHORIZED");
    refused(await api("GET", "/api/submissions", { headers: { cookie }, on: organization }), "UNAUTHORIZED");
  });

  test.each<[string, string]>([
    ["not JSON", `${name}=abc`],
    ["base64url of nothing", `${name}=base64-`],
    ["base64url that is none", `${name}=base64-!!!!`],
    ["base64url of bytes that are no text", `${name}=base64-_w`],
    ["JSON null", `${name}=null`],
    ["a number", `${name}=12`],
    ["an empty array", `${name}=${encodeURIComponent("[]")}`],
    ["an object without a token", `${name}=${encodeURIComponent("{}")}`],
    ["a token that is no text", sessionOf(12)],
    ["a key", sessionOf("fcs_org_x")],
    ["__proto__", `${name}=${encodeURIComponent('{"__proto__":{"access_token":"x.y.z"}}')}`],
    ["deep JSON", `${name}=${encodeURIComponent("[".repeat(5_000))}`],
    ["a broken percent sign", `${name}=%E0%A4%A`],
    ["the first chunk of two", `${name}.0=base64-eyJhY2Nlc3NfdG9r`],
  ])("%s is 401, not nobody", async (_what, cookie) => {
    refused(await api("GET", "/api/submissions", { headers: { cookie }, on: organization }), "UNAUTHORIZED");
  });

  test("a later chunk without the first is no session", async () => {
    const answer = await api("GET", "/api/submissions", {
      headers: { cookie: `${name}.1=abc` },
      on: organization,
    });
    expect(answer.status).toBe(200);
  });

  test("cookies of other projects and look-alikes are not read", async () => {
    const { token } = await newUser();
    const value = encodeURIComponent(JSON.stringify({ access_token: token }));
    for (const other of [
      "sb-128-auth-token",
      "sb-127-auth-tokens",
      "xsb-127-auth-token",
      "SB-127-AUTH-TOKEN",
    ]) {
      expect((await myVotes({ cookie: `${other}=${value}` })).status, other).toBe(401);
      expect(
        (await api("GET", "/api/submissions", { headers: { cookie: `${other}=${value}` }, on: organization }))
          .status,
        other,
      ).toBe(200);
    }
  });

  test("a thousand chunks cost no more than the first ones", async () => {
    const cookie = Array.from({ length: 1_000 }, (_, n) => `${name}.${n}=xxxxxxxx`).join("; ");
    const { status } = await api("GET", "/api/submissions", { headers: { cookie }, on: organization });
    expect([401, 431]).toContain(status);
  });
});

describe("the header goes before the cookie", () => {
  test("a Bearer beside a cookie is who calls, and needs no origin", async () => {
    const [session, bearer] = [await signUpOnTheWeb({ encoding: "base64url" }), await newUser()];
    const cookie = cookieHeader(session.cookies);
    expect((await vote({ cookie, authorization: `Bearer ${bearer.token}` })).status).toBe(201);
    expect(await hasVoted(session)).toBe(false);
    expect(await hasVoted({ userId: bearer.id })).toBe(true);
  });

  test("a Bearer works beside a broken cookie", async () => {
    const { token } = await newUser();
    expect((await myVotes({ cookie: `${name}=broken`, authorization: `Bearer ${token}` })).status).toBe(200);
  });

  test("a broken Bearer is not saved by a good cookie", async () => {
    const cookie = cookieHeader((await signUpOnTheWeb({ encoding: "base64url" })).cookies);
    for (const authorization of ["Bearer nonsense", "Basic abc", "Bearer"]) {
      refused(await myVotes({ cookie, authorization }), "UNAUTHORIZED");
    }
  });

  test("the publishable key as Bearer is nobody, whatever the cookie", async () => {
    const cookie = cookieHeader((await signUpOnTheWeb({ encoding: "base64url" })).cookies);
    refused(await myVotes({ cookie, authorization: `Bearer ${stack.publishable_key}` }), "UNAUTHORIZED");
  });
});
