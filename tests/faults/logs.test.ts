import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createClient } from "@supabase/supabase-js";
import { beforeAll, describe, expect, test } from "vitest";
import WebSocket from "ws";
import { ownStack, type Person } from "../own-stack.ts";
import { accessToken } from "../stack.ts";
import { until } from "../until.ts";

// Every secret and personal value has a marker, and is sent through every interface.
const mark = (what: string) => `marked-${what}-${randomUUID().slice(0, 8)}`;
const marks = {
  body: mark("body"),
  query: mark("query"),
  path: mark("path"),
  header: mark("header"),
  organization: mark("organization"),
  cookie: mark("cookie"),
  email: `${mark("email")}@own.example`,
  name: mark("name"),
  idempotency: mark("idempotency"),
  agent: mark("agent"),
  origin: `https://${mark("origin")}.example`,
};

const own = await ownStack({ parts: ["auth", "rest"] });
let person: Person;
let expired: string;
let key: string;
let secrets: string[];
let functionsLog: string;
let postgresLog: string;

type Line = {
  at: string;
  requestId: string;
  method?: string;
  route?: string;
  caller?: string;
  status?: number;
  duration_ms?: number;
  error?: object;
};
let lines: Line[];

beforeAll(async () => {
  await own.sql`update private.rate_limit_rules set max_requests = 2000000000`;
  [person, key] = [await own.person(), await own.key(["submissions:write"])];
  expired = await accessToken({ sub: person.id, email: marks.email }, -60, own.jwtSecret);
  const typo = `${key.slice(0, -1)}${key.endsWith("0") ? "1" : "0"}`;
  secrets = [person.token, key, expired, typo, own.jwtSecret, own.publishable_key, own.secret_key];
  await callEverything([person.token, key, expired, typo, "garbage", undefined]);
  await callDirectly();
  await causeFailures();
  // Lines are written in their order.
  const { headers } = await own.call("GET", "/api/submissions");
  await logged(String(headers["x-request-id"]));
  functionsLog = await own.functionsLog();
  postgresLog = await readFile(join(own.folder, "postgres.log"), "utf8");
  lines = functionsLog
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Line);
});

/** Waits until the functions have logged the request. */
const logged = (requestId: string) => until(async () => (await own.functionsLog()).includes(requestId));

async function callEverything(tokens: (string | undefined)[]): Promise<void> {
  await own.call("GET", "/api/submissions");
  const submissionId = await own.submission(person);
  const headers = {
    "x-marked": marks.header,
    "user-agent": marks.agent,
    referer: `https://own.example/${marks.header}`,
    origin: marks.origin,
    cookie: `session=${marks.cookie}; sb-127-auth-token=${marks.cookie}`,
    "idempotency-key": marks.idempotency,
  };
  const good = {
    title: `A title ${marks.body}`,
    description: `A description that is long enough: ${marks.body}`,
    type: "idea",
  };
  const onBehalf = { author_email: marks.email, author_name: marks.name };
  for (const token of tokens) {
    for (const base of [own.base_url, own.supabase_url]) {
      const call = (method: string, path: string, body?: unknown, more = {}) =>
        own.call(method, path, { token, base, body, headers: { ...headers, ...more }, from: "127.0.0.99" });
      await call("POST", "/api/submissions", { ...good, ...onBehalf });
      await call("POST", "/api/submissions", { title: marks.body });
      await call("POST", "/api/submissions", `{"title": "${marks.body}`);
      await call("POST", `/api/submissions/${submissionId}/comments`, { body: marks.body, ...onBehalf });
      await call("POST", `/api/submissions/${submissionId}/vote`, onBehalf);
      await call("PATCH", `/api/submissions/${submissionId}`, {
        title: `Changed ${marks.body}`,
        category_id: randomUUID(),
      });
      await call("GET", `/api/submissions/search?q=${marks.query}&access_token=${marks.query}`);
      await call("GET", `/api/submissions?q=${marks.query}&author=${marks.query}`);
      await call("GET", `/api/${marks.path}`);
      await call("GET", `/api/submissions/${marks.path}`);
      await call("GET", "/api/submissions", undefined, { "x-organization": marks.organization });
      await call("OPTIONS", "/api/submissions");
    }
  }
}

/** Postgres quotes the values that it rejects. */
async function callDirectly(): Promise<void> {
  const app = createClient(own.supabase_url, own.publishable_key, {
    auth: { persistSession: false, autoRefreshToken: false },
    accessToken: async () => person.token,
    realtime: { transport: WebSocket as never },
  });
  const submissionId = await own.submission(person);
  await app.rpc("create_comment", { submission_id: submissionId, body: marks.body.repeat(200) });
  await app.rpc("create_submission", {
    organization_id: own.organization.id,
    title: marks.body,
    description: marks.body,
    type: marks.body,
  });
  await app.rpc("update_profile", { changes: { avatar_url: marks.body } });
  await app.from("profiles").select("email").eq("email", marks.email);
  await app.from("profiles").select("email").eq("id", marks.email);
  await app.from("profiles").select(`"${marks.name}"`);
  await fetch(`${own.supabase_url}/auth/v1/signup`, {
    method: "POST",
    headers: { apikey: own.publishable_key, "content-type": "application/json" },
    body: JSON.stringify({ email: marks.email, password: marks.body, data: { name: marks.name } }),
  });
  await fetch(`${own.supabase_url}/auth/v1/token?grant_type=password`, {
    method: "POST",
    headers: { apikey: own.publishable_key, "content-type": "application/json" },
    body: JSON.stringify({ email: marks.email, password: marks.header }),
  });
}

/** Unexpected errors, whose statements and rows contain markers. */
async function causeFailures(): Promise<void> {
  const submissionId = await own.submission(person);
  const broken = async (sql: string, undo: string, call: () => Promise<{ status: number }>, status: number) => {
    await own.sql.unsafe(sql);
    expect((await call()).status).toBe(status);
    await own.sql.unsafe(undo);
  };
  const comment = () =>
    own.call("POST", `/api/submissions/${submissionId}/comments`, { token: person.token, body: { body: marks.body } });
  await broken(
    "alter table public.comments add constraint test_broken check (body !~ 'marked') not valid",
    "alter table public.comments drop constraint test_broken",
    comment,
    400,
  );
  await broken(
    "alter table public.follows rename to test_follows",
    "alter table public.test_follows rename to follows",
    comment,
    500,
  );
  await broken(
    `create function private.test_broken() returns trigger language plpgsql as $$ begin perform (new.body)::jsonb; return new; end $$;
     create trigger test_broken before insert on public.comments for each row execute function private.test_broken()`,
    "drop trigger test_broken on public.comments; drop function private.test_broken()",
    comment,
    400,
  );
  await broken(
    `create function private.test_broken() returns trigger language plpgsql as $$ begin raise 'cannot do this' using detail = new.body, hint = new.body; end $$;
     create trigger test_broken before insert on public.comments for each row execute function private.test_broken()`,
    "drop trigger test_broken on public.comments; drop function private.test_broken()",
    comment,
    500,
  );
}

describe("the functions' log", () => {
  test("has a line of JSON for each request, with id, route, kind of caller, status and duration", () => {
    const requests = lines.filter(({ error }) => error === undefined);
    expect(requests.length).toBeGreaterThan(100);
    for (const line of requests) {
      expect(Object.keys(line).sort(), JSON.stringify(line)).toEqual([
        "at",
        "caller",
        "duration_ms",
        "method",
        "requestId",
        "route",
        "status",
      ]);
      expect(line.requestId).toMatch(/^[0-9a-f-]{36}$/);
      expect(line.at).toMatch(/^\d{4}-\d\d-\d\dT.*Z$/);
      expect(["none", "user", "key", "invalid"]).toContain(line.caller);
      expect(line.duration_ms).toBeGreaterThanOrEqual(0);
    }
    expect(new Set(requests.map(({ caller }) => caller))).toEqual(new Set(["none", "user", "key", "invalid"]));
    expect(new Set(requests.map(({ requestId }) => requestId)).size).toBe(requests.length);
  });

  test("has routes as patterns, without ids or paths of clients", () => {
    for (const { route } of lines) if (route) expect(route).toMatch(/^(\*|\/[a-z/:-]+)$/);
    expect(lines.some(({ route }) => route === "*")).toBe(true);
  });

  test("has one line for an unexpected error, with the request's id, the message of Postgres and its position", () => {
    const errors = lines.filter(({ error }) => error !== undefined);
    expect(errors.length).toBeGreaterThan(0);
    for (const { requestId, error } of errors) {
      expect(error).toMatchObject({ name: expect.any(String), message: expect.any(String) });
      expect(lines.find((line) => line.requestId === requestId && line.error === undefined)).toMatchObject({
        status: 500,
      });
    }
  });

  test("has the request id of the response", async () => {
    const { headers } = await own.call("GET", "/api/submissions");
    await logged(String(headers["x-request-id"]));
  });
});

describe.each([
  ["the functions' log", () => functionsLog],
  ["Postgres's log", () => postgresLog],
])("%s contains", (_which, log) => {
  test.each(Object.entries(marks))("no %s that was sent", (_what, text) => {
    expect(log()).not.toContain(text);
  });

  test("no token, key or secret, complete or partial", () => {
    for (const secret of secrets) {
      expect(log().includes(secret)).toBe(false);
      expect(log().includes(secret.split(".").at(-1) ?? secret)).toBe(false);
    }
    expect(log()).not.toMatch(/fcs_(org|agt)_|sb_(secret|publishable)_|eyJ[A-Za-z0-9_-]{10}|Bearer/);
  });

  test("no IP address and no e-mail address", () => {
    expect(log()).not.toMatch(/127\.0\.0\.99/);
    expect(log()).not.toMatch(/[\w.+-]+@[\w-]+\.[\w.]+/);
  });
});
