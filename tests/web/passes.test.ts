import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { type CountedStack, startCountedStack } from "../api/counted-stack.ts";
import { claimsOf, signed } from "../api/identified.ts";
import type { Person } from "../own-stack.ts";
import { newVisitor, type Visitor } from "./pages.ts";

// A page is one round trip to Postgres, also where the account or the board decides its language. What goes on after an
// error takes one more. Each request has one line in the log and is charged once, whatever happens.

let stack: CountedStack;
let secret: string;
const other = `other-${randomUUID()}`;
const hidden = `hidden-${randomUUID()}`;

beforeAll(async () => {
  stack = await startCountedStack({ parts: ["web"] });
  await stack.sql`update public.organizations set default_locale = 'it' where id = ${stack.organization.id}`;
  await stack.sql`insert into public.organizations (slug, name, visibility)
    values (${other}, 'Other', 'public'), (${hidden}, 'Hidden', 'private')`;
  const { token } = await stack.person("admin");
  const made = await stack.call("POST", "/api/admin/identify-secrets", { token, body: {} });
  secret = String(made.body.data?.secret);
});
afterAll(() => stack?.remove());

const visitorOf = ({ token }: Person) => {
  const session = {
    access_token: token,
    refresh_token: "unknown",
    expires_at: Math.floor(Date.now() / 1000) + 3600,
  };
  return newVisitor([{ name: "sb-127-auth-token", value: JSON.stringify(session) }], stack.site_url);
};

async function person(role?: "member" | "admin", change?: (person: Person) => Promise<unknown>) {
  const made = await stack.person(role);
  await change?.(made);
  return visitorOf(made);
}

const callers = {
  nobody: async () => newVisitor([], stack.site_url),
  user: () => person(),
  member: () => person("member"),
  admin: () => person("admin"),
  "a reader of German": () =>
    person(undefined, ({ id }) => stack.sql`update public.profiles set locale = 'de' where id = ${id}`),
  "a banned user": () =>
    person(
      undefined,
      ({ id }) => stack.sql`update auth.users set banned_until = now() + interval '1 hour' where id = ${id}`,
    ),
  "a user without the second factor": () =>
    person(
      undefined,
      ({
        id,
      }) => stack.sql`insert into auth.mfa_factors (id, user_id, factor_type, status, created_at, updated_at)
      values (gen_random_uuid(), ${id}, 'totp', 'verified', now(), now())`,
    ),
  "a person of a host": async () => {
    const signature = await signed(claimsOf(stack.organization), secret);
    const { body } = await stack.call("POST", "/api/identify", { body: { token: signature } });
    return newVisitor([{ name: "feedback-session", value: String(body.data?.access_token) }], stack.site_url);
  },
} satisfies Record<string, () => Promise<Visitor>>;

const english = { "accept-language": "en" };
const swedish = { "accept-language": "sv" };

// The status, the language of the page, and the round trips: one more for the charge of a refused request.
const requests: [
  title: string,
  who: keyof typeof callers,
  request: { path: string | (() => string); form?: Record<string, string>; headers?: Record<string, string> },
  expected: [status: number, language: string | undefined, flights: number],
][] = [
  ["a page", "nobody", { path: "/" }, [200, "en", 1]],
  ["the language of the account", "a reader of German", { path: "/" }, [200, "de", 1]],
  ["the language of the board", "nobody", { path: "/", headers: swedish }, [200, "it", 1]],
  ["the board after the session ended", "a banned user", { path: "/" }, [200, "en", 2]],
  ["a personal page after the session ended", "a banned user", { path: "/me" }, [303, undefined, 2]],
  ["a page before the second factor", "a user without the second factor", { path: "/" }, [303, undefined, 2]],
  [
    "the page of the second factor",
    "a user without the second factor",
    { path: "/sign-in/factor" },
    [200, "en", 2],
  ],
  [
    "a frame before the second factor",
    "a user without the second factor",
    { path: () => `/embed/o/${stack.organization.slug}` },
    [200, "en", 2],
  ],
  [
    "another board for a person of a host",
    "a person of a host",
    { path: `/o/${other}/roadmap` },
    [200, "en", 2],
  ],
  ["the dashboard for a member", "member", { path: "/admin/settings/webhooks" }, [200, "en", 2]],
  ["the dashboard for others", "user", { path: "/admin/settings/webhooks" }, [403, "en", 2]],
  ["a dashboard that nobody may know of", "user", { path: `/o/${hidden}/admin` }, [404, "en", 2]],
  ["an incomplete form", "user", { path: "/new", form: { title: "No" } }, [422, "en", 2]],
  [
    "a form that the database refuses",
    "admin",
    { path: "/admin/settings/categories/new", form: { name: "Twice", slug: "twice" } },
    [422, "en", 3],
  ],
  [
    "a secret that is shown once",
    "admin",
    { path: "/admin/settings/api-keys", form: { name: "Of a page", scopes: "submissions:read" } },
    [200, "en", 2],
  ],
];

const charges = async () => {
  const [row] = await stack.sql<[{ used: number }]>`
    select coalesce(sum(used), 0)::integer as used from private.rate_counters where rule in ('page', 'level_public')`;
  return row.used;
};

const asked: unknown[] = [];

test.each(requests)("%s: %s", async (_, who, { path, form, headers = english }, expected) => {
  const at = typeof path === "string" ? path : path();
  const ask = async () => {
    const visitor = await callers[who]();
    const before = { flights: stack.flights(), used: await charges() };
    const {
      status,
      html,
      headers: got,
    } = await (form ? visitor.post(at, form, headers) : visitor.get(at, headers));
    asked.push(got["x-request-id"]);
    const language = html.querySelector("html")?.getAttribute("lang");
    return [status, language, stack.flights() - before.flights, (await charges()) - before.used];
  };
  // The first requests prepare the statements.
  for (let n = 0; n < 2; n++) await ask();
  expect(await ask()).toEqual([...expected, 1]);
});

test("each has one line in the log", async () => {
  await vi.waitFor(
    async () => {
      const lines = (await readFile(join(stack.folder, "web.log"), "utf8")).split("\n");
      const ids = lines.flatMap((line) => (line.includes('"route"') ? [JSON.parse(line).requestId] : []));
      expect(ids.sort()).toEqual(asked.sort());
    },
    { timeout: 20_000 },
  );
});

test("a form is not written as nobody after the session ended, and its cookies go", async () => {
  const submission = await stack.submission(await stack.person());
  const [survey] = await stack.sql<[{ id: string }]>`
    insert into public.surveys (organization_id, title) values (${stack.organization.id}, 'Open') returning id`;
  for (const path of [`/submissions/${submission}/vote`, `/surveys/${survey.id}`]) {
    const visitor = await callers["a banned user"]();
    const { status, location } = await visitor.post(path, { return_to: "/roadmap" });
    expect([path, status, location]).toEqual([path, 303, "/sign-in?return_to=%2Froadmap"]);
    expect(visitor.cookie("sb-127-auth-token")).toBeUndefined();
  }
});
