import { randomUUID } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { expectAccessible } from "../browsers/accessible.ts";
import { launchBrowser } from "../browsers/browser.ts";
import { type OwnStack, startOwnStack } from "../own-stack.ts";
import { newVisitor } from "./pages.ts";

// The first visit to a new installation, on a stack of its own.

let own: OwnStack;
let browser: Browser;

beforeAll(async () => {
  own = await startOwnStack({ parts: ["auth", "realtime", "web"], withOrganization: false });
  browser = await launchBrowser();
});
afterAll(async () => {
  await browser?.close();
  await own?.remove();
});
// Restores the data of a new installation.
beforeEach(async () => {
  await own.sql`delete from public.organizations`;
  await own.sql`delete from private.setup`;
});

const visitor = () => newVisitor([], own.site_url);
const slug = () => `s-${randomUUID().slice(0, 8)}`;
const fields = (more: Record<string, string> = {}): Record<string, string> => ({
  name: "Olive Owner",
  email: `${randomUUID()}@setup.example`,
  password: "correct horse battery",
  "organization.name": "Acme",
  "organization.slug": slug(),
  "organization.visibility": "public",
  ...more,
});
const organizations = () => own.sql<{ slug: string; is_default: boolean }[]>`
  select slug, is_default from public.organizations`;
/** The address that `npm start` prints. */
const printed = () => `/setup?token=${own.setupToken}`;
const posted = (form: Record<string, string>, headers: Record<string, string>) =>
  visitor().post("/setup", form, { origin: own.site_url, ...headers });

test("the token is in a file that its owner alone reads", async () => {
  const path = join(own.folder, "setup-token");
  expect((await readFile(path, "utf8")).trim()).toBe(own.setupToken);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect(own.setupToken?.length).toBeGreaterThanOrEqual(32);
});

test("the first visit leads to the setup, which makes owner and organization, and is over then for good", async () => {
  const browser = visitor();
  expect((await browser.get("/")).location).toBe("/setup");
  const { html, headers } = await browser.get(printed());
  expect(html.querySelector("input[name=token]")?.getAttribute("type")).toBe("hidden");
  expect(headers["referrer-policy"]).toBe("strict-origin");
  const form = fields();
  const done = await browser.submit(html.querySelector("main form"), form);
  expect(done.location).toBe("/admin/welcome");
  expect((await browser.get("/admin/welcome")).status).toBe(200);
  expect(await organizations()).toEqual([{ slug: form["organization.slug"], is_default: true }]);
  expect((await visitor().get("/")).status).toBe(200);
  expect((await visitor().get("/setup")).status).toBe(404);
  // An owner who requests a missing row gets a 404 page.
  const missing = await browser.get(`/admin/surveys/${randomUUID()}`);
  expect([missing.status, missing.html.querySelector("#teams")]).toEqual([404, null]);
  // A member of the team sees a link to a page that they may open instead.
  const member = visitor();
  const email = `${randomUUID()}@setup.example`;
  await member.post("/sign-up", { name: "Mia", email, password: "correct horse battery" });
  await own.sql`
    insert into public.memberships (organization_id, user_id, role)
    select o.id, u.id, 'member' from public.organizations o, auth.users u where u.email = ${email}`;
  const refused = (await member.get("/admin")).html.querySelector("main");
  expect(refused?.querySelector("h1")?.text).toBe("This page is for admins");
  const people = refused?.querySelector("#teams a")?.getAttribute("href") ?? "";
  expect(people).toBe(`/o/${form["organization.slug"]}/admin/people`);
  expect((await member.get(people)).status).toBe(200);
  // Even after the last organization was deleted, the token does not open the setup again.
  await own.sql`delete from public.organizations`;
  expect((await visitor().get("/")).status).toBe(404);
  expect((await visitor().get("/setup")).status).toBe(404);
  const repeated = await posted(fields({ token: own.setupToken ?? "" }), {});
  expect(repeated.status).toBe(404);
  expect(await organizations()).toEqual([]);
});

// Behind a proxy that sends no such header, such as nginx by default, every client appears to be on this machine.
test.each([
  ["from this machine", {}],
  ["through a proxy", { "x-forwarded-for": "203.0.113.7" }],
])("a visitor who comes %s needs the token", async (_how, headers) => {
  const before = await own.sql`select from auth.users`;
  for (const path of ["/setup", "/setup?token=wrong"]) {
    const { html } = await visitor().get(path, headers);
    expect(html.querySelector("input[name=token]")?.getAttribute("type")).toBe("password");
    expect(html.querySelector("input[name=token]")?.getAttribute("value") ?? "").toBe("");
  }
  for (const token of ["", "wrong", `${own.setupToken}x`, (own.setupToken ?? "").slice(1)]) {
    const refused = await posted(fields({ token }), headers);
    expect(refused.status).toBe(422);
    expect(refused.html.querySelector("#token-problem")?.text).toContain("Wrong token");
    expect(refused.text).not.toContain(own.setupToken);
  }
  expect(await organizations()).toEqual([]);
  expect(await own.sql`select from auth.users`).toHaveLength(before.length);
  const done = await posted(fields({ token: own.setupToken ?? "" }), headers);
  expect(done.location).toBe("/admin/welcome");
});

test("a visitor who comes by a name that is not configured sees and sets up nothing, and learns what to configure", async () => {
  const headers = { host: "feedback.example.org", origin: "http://feedback.example.org" };
  const page = await visitor().get("/setup", headers);
  expect([page.status, page.text]).toEqual([403, expect.stringContaining("SITE_URL")]);
  expect((await posted(fields({ token: own.setupToken ?? "" }), headers)).status).toBe(403);
  expect(await organizations()).toEqual([]);
});

test("a form of another site is refused on this machine too", async () => {
  const form = fields({ token: own.setupToken ?? "" });
  expect((await posted(form, { origin: "https://evil.example" })).status).toBe(403);
  expect(await organizations()).toEqual([]);
});

test("of several who set up at once, one does", async () => {
  const answers = await Promise.all(
    Array.from({ length: 4 }, () => posted(fields({ token: own.setupToken ?? "" }), {})),
  );
  expect(answers.filter(({ location }) => location === "/admin/welcome")).toHaveLength(1);
  expect(await organizations()).toHaveLength(1);
  expect(await own.sql`select from public.memberships`).toHaveLength(1);
});

test.each([
  ["organization.slug", "Not a slug"],
  ["organization.name", " "],
  ["email", "nobody"],
  ["password", "short"],
])("a wrong %s is said at its field, and makes no account", async (field, value) => {
  const form = fields({ token: own.setupToken ?? "", [field]: value });
  const { status, html } = await posted(form, {});
  expect(status).toBe(422);
  expect(html.querySelector(`[name="${field}"]`)?.getAttribute("aria-invalid")).toBe("true");
  expect(await own.sql`select from auth.users where email = ${form.email ?? ""}`).toHaveLength(0);
});

test("whoever is signed in already becomes the owner", async () => {
  const person = visitor();
  await person.post("/sign-up", {
    name: "Ann",
    email: `${randomUUID()}@setup.example`,
    password: "correct horse battery",
  });
  const { html } = await person.get(printed());
  expect(html.querySelector("input[name=password]")).toBeNull();
  const done = await person.submit(html.querySelector("main form"), {
    "organization.name": "Acme",
    "organization.slug": slug(),
    "organization.visibility": "private",
  });
  expect(done.location).toBe("/admin/welcome");
  expect((await person.get("/admin")).status).toBe(200);
});

test("in Chromium, with the token from elsewhere, from the first visit to a key that a backend uses", async () => {
  const page = await browser.newPage({
    baseURL: own.site_url,
    locale: "en-US",
    viewport: { width: 1280, height: 800 },
    reducedMotion: "reduce",
  });
  const complaints: string[] = [];
  page.on("console", (said) => said.type() === "error" && complaints.push(said.text()));
  page.on("pageerror", (error) => complaints.push(String(error)));
  await page.goto("/");
  await page.getByRole("heading", { name: "Set up this installation" }).waitFor();
  await expectAccessible(page);
  await page.getByLabel("Name", { exact: true }).fill("Olive Owner");
  await page.getByLabel("Email address").fill(`${randomUUID()}@setup.example`);
  await page.getByLabel("Password").fill("correct horse battery");
  await page.getByLabel("Organization name").fill("Acme");
  await page.getByLabel("Slug").fill("acme");
  await page.locator("[name=token]").fill(own.setupToken ?? "");
  await page.getByRole("button", { name: "Create organization" }).click();
  await page.getByRole("heading", { name: "Your board is ready" }).waitFor();

  await page.setViewportSize({ width: 1280, height: 800 });
  await page.locator(".steps a[href$='/settings/api-keys']").click();
  await page.getByRole("link", { name: "Create key" }).click();
  await page.getByLabel("Name", { exact: true }).fill("Backend");
  await page.locator("input[name=scopes][value='submissions:write']").check();
  await page.locator("main form button.main").click();
  const shown = page.getByText(/^fcs_org_[^…]+$/);
  const secret = (await shown.textContent()) ?? "";
  await page.goto("/admin/settings/api-keys");
  await page.getByText("Backend", { exact: true }).waitFor();
  expect(await page.content()).not.toContain(secret);

  const answer = await fetch(`${own.supabase_url}/api/submissions`, {
    method: "POST",
    headers: { Authorization: `Bearer ${secret}`, "Content-Type": "application/json" },
    body: JSON.stringify({
      type: "idea",
      title: "The first of many ideas",
      description: "A backend sent it with the key of the dashboard.",
      author_email: "grace@customer.example",
    }),
  });
  expect(answer.status).toBe(201);
  await page.goto("/");
  await page.getByRole("link", { name: "The first of many ideas" }).waitFor();
  expect(complaints).toEqual([]);
  await page.close();
});
