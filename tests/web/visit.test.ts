import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { decodeJwt } from "jose";
import { describe, expect, test } from "vitest";
import { brandColors, ratio } from "../../functions/web/brand.ts";
import { newOrganization, newSubmission, newUser, type Organization } from "../api/world.ts";
import { accessToken, sql, stack } from "../stack.ts";
import { newVisitor, signedIn, type Visitor } from "./pages.ts";

const sessionCookie = "sb-127-auth-token";

test("a visitor signs up, out and in again, and returns to the page they came from", async () => {
  const visitor = newVisitor();
  const fields = { name: "Wanda", email: `${randomUUID()}@web.example`, password: randomUUID() };
  const form = async (path: string) => (await visitor.get(path)).html.querySelector("main form");
  const created = await visitor.submit(await form("/sign-up?return_to=/sign-in%3Fx=1"), fields);
  expect([created.status, created.location], created.text).toEqual([303, "/sign-in?x=1"]);
  expect((await visitor.get("/")).html.querySelector(".menu-name")?.text).toBe("Wanda");
  expect((await visitor.post("/sign-out")).status).toBe(303);
  expect(visitor.cookie(sessionCookie)).toBeUndefined();
  const wrong = await visitor.submit(await form("/sign-in"), { ...fields, password: "not this one" });
  expect(wrong.status).toBe(422);
  expect(wrong.html.querySelector("#email")?.getAttribute("value")).toBe(fields.email);
  expect(wrong.html.querySelector("#password")?.getAttribute("value")).toBeUndefined();
  expect(wrong.html.querySelector("[role=alert]")?.text).toContain("Wrong");
  const back = await visitor.submit(await form("/sign-in?return_to=/o/somewhere"), fields);
  expect([back.status, back.location]).toEqual([303, "/o/somewhere"]);
});

test.each(["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:alert(1)"])(
  "no redirect leads to %s",
  async (elsewhere) => {
    const visitor = newVisitor();
    const fields = { name: "Wanda", email: `${randomUUID()}@web.example`, password: randomUUID() };
    const { location } = await visitor.post("/sign-up", { ...fields, return_to: elsewhere });
    expect(location).toBe("/");
  },
);

test("an incomplete form is shown again with the entered text, and a message at each field", async () => {
  const { status, html } = await newVisitor().post("/sign-up", { name: "Wanda", email: "nowhere" });
  expect(status).toBe(422);
  expect(html.querySelector("#name")?.getAttribute("value")).toBe("Wanda");
  expect(html.querySelector("#email-problem")?.text).toContain("must be an email address");
  expect(html.querySelector("#email")?.getAttribute("aria-invalid")).toBe("true");
  expect(html.querySelector("#password-problem")?.text).toContain("required");
});

test("an expired session is refreshed, and an invalid one is removed", async () => {
  const visitor = newVisitor();
  const fields = { name: "Wanda", email: `${randomUUID()}@web.example`, password: randomUUID() };
  await visitor.post("/sign-up", fields);
  const text = visitor.cookie(sessionCookie) ?? "";
  const session = JSON.parse(Buffer.from(text.slice("base64-".length), "base64url").toString());
  const expired = (change: object) => ({
    name: sessionCookie,
    value: JSON.stringify({ ...session, expires_at: 1, expires_in: 0, ...change }),
  });
  const access_token = await accessToken({ sub: decodeJwt(session.access_token).sub }, -10);
  const later = newVisitor([expired({ access_token })]);
  expect((await later.get("/")).html.querySelector(".menu-name")?.text).toBe("Wanda");
  expect(later.cookie(sessionCookie)).not.toBe(expired({ access_token }).value);
  const forged = newVisitor([expired({ access_token, refresh_token: "forged" })]);
  const { status, html } = await forged.get("/");
  expect(status).toBe(200);
  expect(html.querySelector(".menu-items")).toBeNull();
  expect(forged.cookie(sessionCookie)).toBeUndefined();
});

test("the language is taken from the URL, else the cookie, else the browser", async () => {
  const visitor = newVisitor();
  const language = async (path: string, headers = {}) =>
    (await visitor.get(path, headers)).html.querySelector("html")?.getAttribute("lang");
  const french = { "accept-language": "fr" };
  expect(await language("/", french)).toBe("fr");
  await visitor.post("/preferences", { lang: "ja", theme: "dark", return_to: "/" });
  expect(await language("/", french)).toBe("ja");
  expect(await language("/?lang=ru", french)).toBe("ru");
  expect((await visitor.get("/")).html.querySelector("html")?.getAttribute("data-theme")).toBe("dark");
});

test("an unknown path returns a 404 page with the request id", async () => {
  const { status, html, headers } = await newVisitor().get("/nowhere/at/all");
  expect(status).toBe(404);
  expect(html.querySelector("h1")?.text).toBe("Page not found");
  expect(headers["content-type"]).toBe("text/html; charset=utf-8");
});

describe("the page of an error has the header of who is signed in", () => {
  const never = randomUUID();
  test.each<
    [string, number, (who: Visitor, organization: Organization, submission: string) => ReturnType<Visitor["get"]>]
  >([
    ["an unknown address", 404, (who) => who.get("/nowhere/at/all?x=1")],
    ["one of an organization", 404, (who, { slug }) => who.get(`/o/${slug}/nowhere`)],
    ["a form to an unknown address", 404, (who) => who.post("/nowhere", { a: "b" })],
    ["a form to one of an organization", 404, (who, { slug }) => who.post(`/o/${slug}/nowhere`, { a: "b" })],
    ["no submission", 404, (who) => who.get(`/submissions/${never}`)],
    ["no id", 404, (who) => who.get("/submissions/1234")],
    ["no organization", 404, (who) => who.get(`/o/${never.slice(0, 13)}`)],
    ["no survey", 404, (who) => who.get(`/surveys/${never}`)],
    ["an expired link", 404, (who) => who.get("/mail?token=x")],
    ["a page for others", 403, (who, _, id) => who.get(`/submissions/${id}/edit`)],
    ["the dashboard", 403, (who, { slug }) => who.get(`/o/${slug}/admin`)],
    ["a vote for nothing", 404, (who) => who.post(`/submissions/${never}/vote`)],
    ["a filter that there is not", 400, (who, { slug }) => who.get(`/o/${slug}?status=bogus`)],
    ["a form of another site", 403, (who) => who.post("/new", {}, { origin: "https://evil.example" })],
    ["an address that is too long", 413, (who) => who.get(`/?q=${"x".repeat(13_000)}`)],
  ])("%s", async (_, status, ask) => {
    const organization = await newOrganization();
    const submission = await newSubmission(organization, await newUser());
    const person = await signedIn();
    const answer = await ask(person, organization, submission);
    expect([answer.status, answer.html.querySelector(".menu-name")?.text]).toEqual([status, "Wanda Web 😀"]);
    expect(answer.html.querySelector(".error-page")).not.toBeNull();
    const anonymous = await ask(newVisitor(), organization, submission);
    expect(anonymous.html.querySelector(".menu-name")).toBeNull();
  });

  test("and the organization, if its reader may see it", async () => {
    const [open, hidden] = [await newOrganization(), await newOrganization({ visibility: "private" })];
    const named = async (of: Organization, name: string) => {
      await sql`update public.organizations set name = ${name} where id = ${of.id}`;
    };
    await Promise.all([named(open, "The open board"), named(hidden, "The hidden board")]);
    const [member, stranger] = [await signedIn({ organization: hidden, role: "admin" }), await signedIn()];
    const nameAt = async (who: Visitor, path: string) => (await who.get(path)).html.querySelector(".mark span")?.text;
    expect(await nameAt(member, `/o/${hidden.slug}/nowhere`)).toBe("The hidden board");
    expect(await nameAt(stranger, `/o/${hidden.slug}/nowhere`)).not.toBe("The hidden board");
    expect(await nameAt(stranger, `/o/${open.slug}/nowhere`)).toBe("The open board");
    const id = await newSubmission(open, await newUser());
    expect(await nameAt(stranger, `/submissions/${id}/edit`)).toBe("The open board");
    const concealed = await newSubmission(hidden, await newUser());
    expect((await stranger.get(`/submissions/${concealed}/edit`)).text).not.toContain("The hidden board");
  });
});

test("an organization's color and logo are on its pages, the color from a stylesheet", async () => {
  const { id, slug } = await newOrganization();
  await sql`update public.organizations set brand_color = '#ffcc00', logo_url = 'https://cdn.example/l.png' where id = ${id}`;
  const { html } = await newVisitor().get(`/o/${slug}`);
  expect(html.querySelector(".mark img")?.getAttribute("src")).toBe("https://cdn.example/l.png");
  expect(html.querySelector('link[href="/brand/ffcc00.css"]')).not.toBeNull();
  expect(html.querySelector("link[rel=icon]")?.getAttribute("href")).toBe("https://cdn.example/l.png");
});

test("a page without a logo has an icon in the brand color, or in the accent of the stylesheet", async () => {
  const { id, slug } = await newOrganization();
  const iconAt = async (path: string) => {
    const { html } = await newVisitor().get(path);
    return html.querySelector("link[rel=icon]")?.getAttribute("href") ?? "";
  };
  const icon = await iconAt(`/o/${slug}`);
  expect(await iconAt("/nowhere/at/all")).toMatch(/^\/brand\/[0-9a-f]{6}\.svg$/);
  const file = await fetch(stack.site_url + icon);
  expect([file.status, file.headers.get("content-type")]).toEqual([200, "image/svg+xml"]);
  const [, color] = /fill="(#[0-9a-f]{6})"/.exec(await file.text()) ?? [];
  expect(await readFile("functions/web/styles/tokens.css", "utf8")).toContain(`--accent: light-dark(${color},`);
  await sql`update public.organizations set brand_color = '#ffcc00' where id = ${id}`;
  expect(await iconAt(`/o/${slug}`)).toBe("/brand/ffcc00.svg");
});

test.each(["#ffcc00", "#000000", "#ffffff", "#5b5bd6", "#7f7f7f", "#ff0000", "#00ff00"])(
  "the accent of %s is readable in both themes",
  (color) => {
    const { light, dark, onLight, onDark } = brandColors(color);
    expect(ratio(light, "#ffffff")).toBeGreaterThanOrEqual(4.5);
    expect(ratio(dark, "#18181b")).toBeGreaterThanOrEqual(4.5);
    expect(ratio(light, onLight)).toBeGreaterThanOrEqual(4.5);
    expect(ratio(dark, onDark)).toBeGreaterThanOrEqual(4.5);
  },
);

test("a page is charged to its own rule, not to the caller's level", async () => {
  const visitor = await signedIn();
  await visitor.get("/");
  await visitor.get("/sign-in");
  const charged = await sql`select rule, used from private.rate_counters where subject = ${visitor.userId}`;
  expect([...charged]).toEqual([{ rule: "page", used: 2 }]);
});

describe("with the cookies of a session that ended", () => {
  const formerly = async () => {
    const visitor = await signedIn();
    await sql`delete from auth.sessions where user_id = ${visitor.userId}`;
    return visitor;
  };

  test("a new sign-up begins a new session", async () => {
    const visitor = await formerly();
    const email = `${randomUUID()}@example.org`;
    const account = { name: "Again", email, password: randomUUID() };
    expect((await visitor.post("/sign-up", account)).status).toBe(303);
    expect((await visitor.get("/settings")).text).toContain("Again");
  });

  test("a form that its link authorizes needs no sign-in", async () => {
    const visitor = await formerly();
    for (const [path, form] of [
      ["/auth/undo", { token: "unknown" }],
      ["/auth/reject", { token_hash: "0".repeat(56) }],
    ] as const)
      expect([path, (await visitor.post(path, form)).location]).toEqual([path, undefined]);
  });
});

test("a page of the dashboard that a parameter names an organization for moves to the organization's path", async () => {
  const organization = await newOrganization();
  const admin = await signedIn({ organization, role: "admin" });
  const named = `organization=${organization.slug}`;
  const moved = await admin.get(`/admin/people/invites/new?${named}&lang=de`);
  expect([moved.status, moved.location]).toEqual([302, `/o/${organization.slug}/admin/people/invites/new?lang=de`]);
  const refused = await admin.post(`/admin/people/invites?${named}`, { email: "nobody", role: "member" });
  expect(refused.status).toBe(422);
  expect(refused.html.querySelector("main form[method=post]")?.getAttribute("action")).toContain(named);
});
