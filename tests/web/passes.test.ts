import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { type CountedStack, startCountedStack } from "../api/counted-stack.ts";
import { claimsOf, signed } from "../api/identified.ts";
import { newVisitor, type Visitor } from "./pages.ts";

// A page takes one round trip to Postgres, even if the account or the board decides its language. Continuing after an
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

/** Creates a visitor who is signed in, and changes the account. */
const user =
  (change: (id: string) => Promise<unknown> = async () => {}, role?: "member" | "admin") =>
  async () => {
    const { id, token } = await stack.person(role);
    await change(id);
    const session = { access_token: token, refresh_token: "unknown", expires_at: Date.now() };
    return newVisitor([{ name: "sb-127-auth-token", value: JSON.stringify(session) }], stack.site_url);
  };

const callers = {
  nobody: async () => newVisitor([], stack.site_url),
  user: user(),
  member: user(undefined, "member"),
  admin: user(undefined, "admin"),
  "a reader of German": user((id) => stack.sql`update public.profiles set locale = 'de' where id = ${id}`),
  "a banned user": user((id) => stack.sql`update auth.users set banned_until = 'infinity' where id = ${id}`),
  "who passed no factor": user(
    (id) => stack.sql`insert into auth.mfa_factors (id, user_id, factor_type, status, created_at, updated_at)
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
const label = { name: "Twice", slug: "twice" };
const key = { name: "Of a page", scopes: "submissions:read" };

type Request = {
  who: keyof typeof callers;
  path: string;
  form?: Record<string, string>;
  headers?: Record<string, string>;
};

// The status, the language of the page, and the round trips.
const requests: [title: string, Request, number, string | undefined, number][] = [
  ["a page", { who: "nobody", path: "/" }, 200, "en", 1],
  ["the language of the account", { who: "a reader of German", path: "/" }, 200, "de", 1],
  ["the language of the board", { who: "nobody", path: "/", headers: swedish }, 200, "it", 1],
  ["the board after the session ended", { who: "a banned user", path: "/" }, 200, "en", 2],
  ["a personal page after the session ended", { who: "a banned user", path: "/me" }, 303, undefined, 2],
  ["a page before the second factor", { who: "who passed no factor", path: "/" }, 303, undefined, 2],
  ["that of the second factor", { who: "who passed no factor", path: "/sign-in/factor" }, 200, "en", 1],
  ["a frame before the second factor", { who: "who passed no factor", path: `/embed/o/${other}` }, 200, "en", 2],
  ["another board", { who: "a person of a host", path: `/o/${other}/roadmap` }, 200, "en", 2],
  ["the dashboard for a member", { who: "member", path: "/admin/settings/webhooks" }, 200, "en", 2],
  // The last round trip is for the header of the person.
  ["the dashboard for others", { who: "user", path: "/admin/settings/webhooks" }, 403, "en", 3],
  ["a hidden dashboard", { who: "user", path: `/o/${hidden}/admin` }, 404, "en", 2],
  ["no page, for nobody", { who: "nobody", path: "/nowhere" }, 404, "en", 1],
  ["no page, for a person", { who: "a reader of German", path: "/nowhere" }, 404, "de", 2],
  ["no page, for a person of a host", { who: "a person of a host", path: "/nowhere" }, 404, "en", 2],
  ["no page, for a banned user", { who: "a banned user", path: "/nowhere" }, 404, "en", 2],
  ["an incomplete form", { who: "user", path: "/new", form: { title: "No" } }, 422, "en", 2],
  // The three round trips are the attempt, its charge, and the form.
  ["a refused form", { who: "admin", path: "/admin/settings/categories/new", form: label }, 422, "en", 3],
  ["a secret", { who: "admin", path: "/admin/settings/api-keys", form: key }, 200, "en", 2],
];

const charges = async () => {
  const [row] = await stack.sql<[{ used: number }]>`
    select coalesce(sum(used), 0)::integer as used from private.rate_counters where rule in ('page', 'level_public')`;
  return row.used;
};

const asked: unknown[] = [];

test.each(requests)("%s", async (_, { who, path, form, headers = english }, ...expected) => {
  const ask = async () => {
    const visitor = await callers[who]();
    const before = { flights: stack.flights(), used: await charges() };
    const answer = await (form ? visitor.post(path, form, headers) : visitor.get(path, headers));
    asked.push(answer.headers["x-request-id"]);
    const language = answer.html.querySelector("html")?.getAttribute("lang");
    return [answer.status, language, stack.flights() - before.flights, (await charges()) - before.used];
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
