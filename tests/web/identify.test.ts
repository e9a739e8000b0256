import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { messagesOf } from "../../functions/words/index.ts";
import type { Locale } from "../../shared/locales.ts";
import { api } from "../api/client.ts";
import { claimsOf, identified, newSecret, nowSeconds, signed } from "../api/identified.ts";
import { newOrganization, newSubmission, newUser, type Organization, type User } from "../api/world.ts";
import { sql, stack } from "../stack.ts";
import { newVisitor, signedIn, type Visitor } from "./pages.ts";

const host = "https://app.example.org";
/** The headers of a link on a page of the host. */
const fromHost = { referer: `${host}/`, "sec-fetch-site": "cross-site", "sec-fetch-dest": "document" };

let organization: Organization;
let owner: User;
let secret: string;
let idea: string;

beforeAll(async () => {
  organization = await newOrganization();
  owner = await newUser("The owner", { organization, role: "owner" });
  ({ secret } = await newSecret(organization, owner));
  idea = await newSubmission(organization, owner, { title: "An idea of the team" });
  await sql`update public.organizations set allowed_origins = ${[host]} where id = ${organization.id}`;
});

const tokenOf = (changes: Record<string, unknown> = {}) =>
  signed(claimsOf(organization, { jti: randomUUID(), ...changes }), secret);
const ssoOf = (token: string, more = "") => `/o/${organization.slug}/sso?token=${token}${more}`;

describe("a link of the host's application", () => {
  test("signs its person in and leads on, and its token is in no page", async () => {
    const visitor = newVisitor();
    const address = `/submissions/${idea}-an-idea-of-the-team`;
    const token = await tokenOf({ name: "Grace Host" });
    const answer = await visitor.get(ssoOf(token, `&return_to=${address}`), fromHost);
    expect([answer.status, answer.location]).toEqual([303, address]);
    expect(answer.headers["referrer-policy"]).toBe("strict-origin");
    const [cookie] = [answer.headers["set-cookie"] ?? []].flat();
    expect(cookie).toMatch(/^feedback-session=fcs_usr_[\w-]+; Max-Age=86400; Path=\/; HttpOnly; SameSite=Lax$/);
    expect(answer.text).toBe("");

    const page = await visitor.get(address);
    expect(page.html.querySelector(".menu-name")?.textContent).toBe("Grace Host");
    expect(page.text).not.toContain(visitor.cookie("feedback-session"));
    expect((await visitor.post(`/submissions/${idea}/vote`)).status).toBe(303);
    expect((await visitor.get(address)).html.querySelector(".vote")?.getAttribute("aria-pressed")).toBe("true");
    expect((await visitor.post(`/submissions/${idea}/comments`, { body: "From our product" })).status).toBe(303);
    const written = { type: "idea", title: "By a link of the host", description: "Long enough to be taken as one." };
    expect((await visitor.post(`/o/${organization.slug}/new`, written)).status).toBe(303);
    for (const path of ["/me", "/notifications", "/settings", "/settings/data.json"])
      expect((await visitor.get(path)).status, path).toBe(200);
    const settings = await visitor.get("/settings");
    expect(settings.html.querySelector("#profile")).toBeNull();
    expect(settings.text).not.toContain("/reset/password");
    expect((await visitor.get("/realtime-token")).text).toBe('{"token":null}');
  });

  test("leads to pages of this site only", async () => {
    for (const to of ["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:alert(1)"]) {
      const path = ssoOf(await tokenOf(), `&return_to=${encodeURIComponent(to)}`);
      const answer = await newVisitor().get(path, fromHost);
      expect([answer.status, answer.location], to).toEqual([303, `/o/${organization.slug}/`]);
    }
  });

  test("that does not count leads to a page that says so, without the token", async () => {
    const other = await newOrganization();
    const used = await tokenOf();
    await newVisitor().get(ssoOf(used), fromHost);
    const wrong: [string, string, "ended" | "wrong", Locale][] = [
      [ssoOf(used), "replayed", "ended", "de"],
      [ssoOf(await tokenOf({ jti: undefined })), "jti_missing", "wrong", "en"],
      [ssoOf(await tokenOf({ exp: nowSeconds() - 100, iat: nowSeconds() - 200 })), "expired", "ended", "fr"],
      [ssoOf("garbage"), "malformed", "wrong", "ja"],
      [`/o/${other.slug}/sso?token=${await tokenOf()}`, "audience", "wrong", "ru"],
    ];
    for (const [path, reason, advice, lang] of wrong) {
      const visitor = newVisitor([{ name: "lang", value: lang }]);
      const { status, location = "" } = await visitor.get(path, fromHost);
      expect([status, location]).toEqual([303, `${path.split("?")[0]}?refused=${reason}`]);
      const page = await visitor.get(location);
      expect(page.status).toBe(409);
      expect(page.html.querySelector("main")?.textContent).toContain(messagesOf(lang).account.notIdentified[advice]);
      expect(page.html.querySelector("main")?.textContent).not.toContain(reason);
      expect(visitor.cookie("feedback-session")).toBeUndefined();
    }
    const bare = await newVisitor().get(`/o/${organization.slug}/sso?refused=<script>`);
    expect([bare.status, bare.text.includes("<script>")]).toEqual([409, false]);
    expect((await newVisitor().get("/o/nowhere/sso?token=x")).status).toBe(404);
  });
});

describe("a link that its person may not have followed asks first", () => {
  const nameOf = async (visitor: Visitor) =>
    (await visitor.get(`/o/${organization.slug}`)).html.querySelector(".menu-name")?.textContent;
  /** The button of the confirmation page, after checking that showing the page had no other effect. */
  const asked = async (visitor: Visitor, token: string, headers: Record<string, string> = {}) => {
    const before = await nameOf(visitor);
    const page = await visitor.get(ssoOf(token, "&return_to=/new"), headers);
    expect([page.status, page.headers["set-cookie"], await nameOf(visitor)]).toEqual([200, undefined, before]);
    return page;
  };
  const signedInByHost = async (changes: Record<string, unknown> = {}) => {
    const visitor = newVisitor();
    await visitor.get(ssoOf(await tokenOf(changes)), fromHost);
    return visitor;
  };

  test.each<[string, Record<string, string>]>([
    ["from another site", { referer: "https://evil.example/", "sec-fetch-site": "cross-site" }],
    ["from nowhere", { "sec-fetch-site": "none" }],
    ["without a word about it", {}],
    ["from a comment on our own pages", { referer: `${stack.site_url}/`, "sec-fetch-site": "same-origin" }],
    ["from a site that looks like the host's", { referer: `${host}.evil.example/` }],
    ["as a picture on a page of the host", { ...fromHost, "sec-fetch-dest": "image" }],
    ["as a browser that fetches it in advance", { ...fromHost, "sec-purpose": "prefetch" }],
    ["as a browser that shows it in advance", { ...fromHost, "sec-purpose": "prefetch;prerender" }],
    ["from a frame on a page of the host", { ...fromHost, "sec-fetch-dest": "iframe" }],
  ])("%s", async (_from, headers) => {
    const visitor = newVisitor();
    const page = await asked(visitor, await tokenOf({ name: "Mallory" }), headers);
    const text = page.html.querySelector("main")?.textContent;
    expect(text).toContain("Continue as Mallory");
    expect(text).toMatch(/This link from .+ signs you in as \S+@host\.example/);
    const done = await visitor.submit(page.html.querySelector("main form"));
    expect([done.status, done.location, await nameOf(visitor)]).toEqual([303, "/new", "Mallory"]);
  });

  test("over the session of another person, which ends only with the button", async () => {
    const visitor = await signedInByHost({ name: "Victoria" });
    const token = await tokenOf({ name: "Mallory" });
    const page = await asked(visitor, token, fromHost);
    expect(page.html.querySelector("main")?.textContent).toContain("You’re signed in as Victoria");
    expect(await nameOf(visitor)).toBe("Victoria");
    await visitor.submit(page.html.querySelector("main form"));
    expect(await nameOf(visitor)).toBe("Mallory");
    expect((await visitor.submit(page.html.querySelector("main form"))).location).toContain("refused=replayed");
  });

  test("over the session of an account, which the button replaces", async () => {
    const visitor = await signedIn();
    const before = await nameOf(visitor);
    const page = await asked(visitor, await tokenOf({ name: "Grace" }), fromHost);
    expect(await nameOf(visitor)).toBe(before);
    await visitor.submit(page.html.querySelector("main form"));
    expect(await nameOf(visitor)).toBe("Grace");
  });

  test("over the session of a person of another organization", async () => {
    const other = await newOrganization();
    const admin = await newUser("Another owner", { organization: other, role: "owner" });
    const session = await identified(other, (await newSecret(other, admin)).secret);
    await asked(newVisitor([{ name: "feedback-session", value: session.token }]), await tokenOf(), fromHost);
  });

  test("and the session of the same person goes on at once", async () => {
    const person = { sub: randomUUID(), email: `${randomUUID()}@host.example`, name: "Victoria" };
    const visitor = await signedInByHost(person);
    const again = await visitor.get(ssoOf(await tokenOf(person), "&return_to=/new"), fromHost);
    expect([again.status, again.location, await nameOf(visitor)]).toEqual([303, "/new", "Victoria"]);
  });

  test("and another site cannot press the button", async () => {
    const visitor = newVisitor();
    const fields = { token: await tokenOf({ name: "Mallory" }), return_to: "/new" };
    for (const origin of ["https://evil.example", host, "null", ""])
      expect((await visitor.post(`/o/${organization.slug}/sso`, fields, { origin })).status).toBe(403);
    expect(await nameOf(visitor)).toBeUndefined();
    expect((await visitor.post(`/o/${organization.slug}/sso`, fields)).location).toBe("/new");
  });
});

describe("the session of an identified person", () => {
  const visitorOf = async (changes = {}) => {
    const session = await identified(organization, secret, changes);
    return { session, visitor: newVisitor([{ name: "feedback-session", value: session.token }]) };
  };

  test("ends in the database too when they sign out", async () => {
    const { session, visitor } = await visitorOf();
    expect((await visitor.post("/sign-out")).location).toBe("/");
    expect(visitor.cookie("feedback-session")).toBeUndefined();
    expect((await api("GET", "/api/me/votes", { as: session })).status).toBe(401);
  });

  test("that has ended is forgotten: the visitor is nobody, and is asked to sign in where it matters", async () => {
    const { session, visitor } = await visitorOf();
    await api("POST", "/api/identify/sign-out", { as: session });
    const page = await visitor.get(`/o/${organization.slug}`);
    expect([page.status, page.html.querySelector(".menu-name")]).toEqual([200, null]);
    expect(visitor.cookie("feedback-session")).toBeUndefined();
    const broken = newVisitor([{ name: "feedback-session", value: "fcs_usr_garbage" }]);
    expect((await broken.get("/me")).location).toMatch(/^\/sign-in/);
    expect(broken.cookie("feedback-session")).toBeUndefined();
  });

  test("counts on the boards of their organization only: elsewhere they are nobody", async () => {
    const other = await newOrganization();
    const there = await newSubmission(other, await newUser(), { title: "Elsewhere" });
    const { visitor } = await visitorOf();
    for (const path of [`/o/${other.slug}`, `/submissions/${there}-elsewhere`, `/o/${other.slug}/roadmap`]) {
      const page = await visitor.get(path);
      expect([page.status, page.html.querySelector(".menu-name")], path).toEqual([200, null]);
    }
    expect((await visitor.post(`/submissions/${there}/vote`)).status).toBe(404);
    expect((await visitor.get(`/o/${organization.slug}`)).html.querySelector(".menu-name")).not.toBeNull();
  });

  test("opens no page of the dashboard, and not with the address of its owner", async () => {
    const { visitor } = await visitorOf({ email: owner.email });
    const base = `/o/${organization.slug}/admin`;
    for (const path of ["", "/people", "/settings/general", "/settings/identify"])
      expect((await visitor.get(base + path)).status, path).toBe(403);
    expect((await visitor.get(`/submissions/${idea}/voters`)).status).not.toBe(200);
  });

  test("goes after the session of an account", async () => {
    const { session } = await visitorOf();
    const account = await signedIn();
    const both = newVisitor([
      { name: "feedback-session", value: session.token },
      { name: "sb-127-auth-token", value: account.cookie("sb-127-auth-token") ?? "" },
    ]);
    expect((await both.get("/settings")).html.querySelector("#profile")).not.toBeNull();
    expect((await both.get("/realtime-token")).text).not.toBe('{"token":null}');
  });

  test("does not post a form from another site", async () => {
    const { visitor } = await visitorOf();
    for (const origin of ["https://evil.example", "null"])
      expect((await visitor.post(`/submissions/${idea}/vote`, {}, { origin })).status).toBe(403);
    expect((await visitor.post(`/submissions/${idea}/vote`, {}, { origin: stack.site_url })).status).toBe(303);
  });
});

describe("the dashboard", () => {
  test("makes a signing secret and shows it once, tests tokens with it, and deletes it", async () => {
    const board = await newOrganization();
    const admin = await signedIn({ organization: board, role: "admin" });
    const at = `/o/${board.slug}/admin/settings/identify`;
    const formOf = (page: Awaited<ReturnType<typeof admin.get>>, action: string) =>
      page.html.querySelector(`form[action="${action}"]`);

    const empty = await admin.get(at);
    const made = await admin.submit(formOf(empty, at));
    const shown = made.html.querySelector("#secret code")?.textContent ?? "";
    expect(shown).toMatch(/^fcs_sig_/);
    const again = await admin.submit(formOf(empty, at));
    expect([again.status, again.html.querySelector("#secret code"), again.text.includes(shown)]).toEqual([
      200,
      null,
      false,
    ]);
    const listed = await admin.get(at);
    expect(listed.text).toContain(`fcs_sig_…${shown.slice(-4)}`);
    expect(listed.text).not.toContain(shown);

    const check = async (token: string) => {
      const page = await admin.submit(formOf(listed, `${at}/check`), { token });
      return [page.status, page.html.querySelector("#checked strong")?.textContent, page.text.includes(token)];
    };
    expect(await check(await signed(claimsOf(board), shown))).toEqual([200, "The token is valid.", false]);
    const [, told] = await check(await signed(claimsOf(board), secret));
    expect(told).toContain("The signature doesn’t match");
    expect((await check("<script>alert(1)</script>"))[1]).toContain("isn’t a JSON Web Token");
    expect((await admin.submit(formOf(listed, `${at}/check`), { token: "" })).status).toBe(422);

    await admin.submit(formOf(await admin.get(at), at));
    const full = await admin.get(at);
    expect(formOf(full, at)).toBeNull();
    const third = await admin.post(at, { form_id: randomUUID() });
    expect(third.status).toBe(422);
    const path = full.html.querySelector("a.danger")?.getAttribute("href") ?? "";
    const confirm = await admin.get(path);
    const gone = await admin.submit(confirm.html.querySelector("section.confirm form"));
    expect([gone.status, gone.location]).toEqual([303, `${at}?done=removed`]);
    expect((await admin.get(at)).html.querySelectorAll("a.danger")).toHaveLength(1);
  });
});
