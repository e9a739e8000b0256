import { Agent } from "node:http";
import { afterAll, beforeAll, expect, test } from "vitest";
import { send } from "../http.ts";
import { type OwnStack, startOwnStack } from "../own-stack.ts";

// DNS rebinding: a page of evil.example, whose name then leads to this machine. The browser sends its name as Host and,
// with what it posts, as Origin.

const agent = new Agent({ keepAlive: true });
const site = "https://feedback.example.org";
let own: OwnStack;

beforeAll(async () => {
  own = await startOwnStack({
    parts: ["auth", "web"],
    functionsEnvironment: { SITE_URL: site, ALLOWED_HOSTS: "inner.example", MCP_ALLOWED_HOSTS: "older.example" },
  });
});
afterAll(async () => {
  agent.destroy();
  await own?.remove();
});

const page = (method: string, path: string, host: string, origin?: string) =>
  send(method, own.site_url + path, {
    agent,
    headers: { host, ...(origin && { origin, "content-type": "application/x-www-form-urlencoded" }) },
    raw: origin && "lang=de&return_to=/",
  });
const port = () => new URL(own.site_url).port;

test.each(["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "feedback.example.org.evil.example"])(
  "a page of %s reads and writes nothing, and its operator learns what to set",
  async (name) => {
    for (const host of [name, `${name}:${port()}`]) {
      for (const path of ["/", `/o/${own.organization.slug}`, "/sign-in", "/setup", "/assets/x.css", "/widget.js"]) {
        const answer = await page("GET", path, host);
        expect([path, answer.status, answer.text]).toEqual([path, 403, expect.stringContaining("SITE_URL")]);
      }
      for (const path of ["/preferences", "/sign-up", "/sign-in"])
        expect((await page("POST", path, host, `http://${host}`)).status, path).toBe(403);
      for (const base of [own.base_url, own.supabase_url]) {
        const call = { agent, headers: { host } };
        expect((await send("GET", `${base}/api/submissions`, call)).status).toBe(403);
        const posted = { agent, headers: { host, origin: `http://${host}` }, body: { title: "A title" } };
        expect((await send("POST", `${base}/api/submissions/check-duplicates`, posted)).status).toBe(403);
        const { headers } = await send("OPTIONS", `${base}/api/submissions`, posted);
        expect(headers["access-control-allow-origin"]).toBeUndefined();
      }
    }
  },
);

test("the configured hosts and this machine are ours", async () => {
  for (const host of [
    "feedback.example.org",
    "FEEDBACK.example.org:443",
    "127.0.0.1",
    `localhost:${port()}`,
    "[::1]:80",
    "inner.example",
    "older.example",
  ])
    expect((await page("GET", "/sign-in", host)).status, host).toBe(200);
  for (const [host, origin] of [
    ["feedback.example.org", site],
    // A proxy may not pass the Host header on.
    [`127.0.0.1:${port()}`, site],
    [`localhost:${port()}`, `http://localhost:${port()}`],
  ] as const)
    expect((await page("POST", "/preferences", host, origin)).status, host).toBe(303);
  for (const [host, origin] of [
    ["feedback.example.org", "http://feedback.example.org"],
    ["inner.example", "http://inner.example"],
    [`localhost:${port()}`, "http://127.0.0.1:1"],
  ] as const)
    expect((await page("POST", "/preferences", host, origin)).status, host).toBe(403);
});

test.each(["127.999.999.999", "127.0.0.1:99999"])(
  "the malformed host %s is a 400, also with a credential",
  async (host) => {
    for (const path of ["/", "/sign-in"]) expect((await page("GET", path, host)).status, path).toBe(400);
    expect((await page("POST", "/preferences", host, `http://${host}`)).status).toBe(400);
    for (const path of ["/functions/v1/webhook-dispatch", "/webhook-dispatch", "/functions/v1/auth-mail/health"])
      expect((await send("POST", own.supabase_url + path, { agent, headers: { host } })).status, path).toBe(400);
    const token = await own.key(["submissions:read"]);
    for (const base of [own.base_url, own.supabase_url])
      for (const path of ["/api/submissions", "/api/mcp"])
        for (const more of [{}, { token }]) {
          const call = { agent, headers: { host, origin: `http://${host}` }, ...more };
          for (const method of ["GET", "POST"])
            expect((await send(method, base + path, call)).status, `${method} ${base}${path}`).toBe(400);
        }
  },
);

test.each([
  ["referer", "http://a:99999/"],
  ["origin", "http://[::1"],
  ["x-forwarded-host", "a:99999"],
  ["x-forwarded-proto", ":"],
  ["forwarded", "host=a:99999;proto=:"],
])("a malformed %s is no internal error", async (name, value) => {
  for (const [method, url] of [
    ["GET", `${own.supabase_url}/sign-in`],
    ["POST", `${own.supabase_url}/preferences`],
    ["GET", `${own.supabase_url}/o/${own.organization.slug}/sso?token=x`],
    ["GET", `${own.supabase_url}/api/submissions`],
    ["POST", `${own.supabase_url}/api/mcp`],
    ["OPTIONS", `${own.supabase_url}/api/submissions`],
    ["POST", `${own.supabase_url}/auth/v1/signup`],
  ] as const)
    expect((await send(method, url, { agent, headers: { [name]: value } })).status, url).toBeLessThan(500);
});

test("a program with a credential may call the API by any name, and checks of health too", async () => {
  const call = { agent, headers: { host: "10.1.2.3:8080" } };
  const token = await own.key(["submissions:read"]);
  expect((await send("GET", `${own.base_url}/api/submissions`, { ...call, token })).status).toBe(200);
  expect((await send("GET", `${own.base_url}/api/health`, call)).status).toBe(200);
  expect((await send("GET", `${own.site_url}/health`, call)).status).toBe(200);
});
