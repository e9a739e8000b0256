import { randomUUID } from "node:crypto";
import { decodeJwt } from "jose";
import { beforeAll, describe, expect, test } from "vitest";
import { messagesOf } from "../../functions/words/index.ts";
import {
  joinTeam,
  newComment,
  newOrganization,
  newSubmission,
  newUser,
  type Organization,
  only,
} from "../api/world.ts";
import { accessToken, sql, stack } from "../stack.ts";
import { until } from "../until.ts";
import { mailTo, newVisitor, signedIn, type Visitor } from "./pages.ts";

const sessionCookie = "sb-127-auth-token";
let organization: Organization;

beforeAll(async () => {
  organization = await newOrganization();
});

async function signUp(visitor: Visitor = newVisitor()) {
  const fields = { name: "Wanda", email: `${randomUUID()}@web.example`, password: randomUUID() };
  const created = await visitor.post("/sign-up", fields);
  expect(created.status, created.text).toBe(303);
  return { ...fields, visitor };
}

const mainForm = async (visitor: Visitor, path: string) => (await visitor.get(path)).html.querySelector("main form");
const isSignedIn = async (visitor: Visitor) => (await visitor.get("/")).html.querySelector(".menu-name") !== null;

describe("a password", () => {
  test("is reset with a code from a mail, and other sessions end", async () => {
    const { email, password } = await signUp();
    const visitor = newVisitor();
    const asked = await visitor.submit(await mainForm(visitor, "/reset?return_to=/roadmap"), { email });
    expect([asked.status, asked.location]).toEqual([303, "/reset/code?return_to=%2Froadmap"]);
    const form = await mainForm(visitor, asked.location ?? "");
    expect(form?.querySelector("#email")?.getAttribute("value")).toBe(email);
    const wrong = await visitor.submit(form, { email, code: "000000" });
    expect(wrong.status).toBe(422);
    expect(wrong.html.querySelector("[role=alert]")?.text).toContain("expired");
    const { code } = await mailTo(email);
    const verified = await visitor.submit(form, { email, code });
    expect([verified.status, verified.location]).toEqual([303, "/reset/password?return_to=%2Froadmap"]);
    const short = await visitor.submit(await mainForm(visitor, "/reset/password"), { password: "short" });
    expect(short.status).toBe(422);
    const changed = await visitor.submit(await mainForm(visitor, verified.location ?? ""), {
      password: "a new password",
    });
    expect([changed.status, changed.location], changed.text).toEqual([303, "/roadmap"]);
    const sessions = await sql`
      select distinct t.session_id from auth.refresh_tokens t join auth.users u on u.id = t.user_id::uuid
      where u.email = ${email} and not t.revoked`;
    expect(sessions).toHaveLength(1);
    expect(await isSignedIn(visitor)).toBe(true);
    expect((await newVisitor().post("/sign-in", { email, password })).status).toBe(422);
    expect((await newVisitor().post("/sign-in", { email, password: "a new password" })).status).toBe(303);
  });

  test("is confirmed in the settings, without a page to return to", async () => {
    const visitor = await signedIn();
    const changed = await visitor.submit(await mainForm(visitor, "/reset/password"), { password: "a new password" });
    expect([changed.status, changed.location], changed.text).toEqual([303, "/settings?saved=true"]);
    expect((await visitor.get(changed.location ?? "")).html.querySelector("[role=status]")?.text).toContain("saved");
  });

  test("cannot be changed without signing in", async () => {
    const { status, location } = await newVisitor().post("/reset/password", { password: "a new password" });
    expect(status).toBe(303);
    expect(location).toMatch(/^\/sign-in/);
  });
});

describe("signing in by mail", () => {
  test("accepts the code, or the link, which is confirmed by a button", async () => {
    const { email } = await signUp();
    for (const way of ["code", "link"] as const) {
      const visitor = newVisitor();
      const asked = await visitor.submit(await mainForm(visitor, "/sign-in/email?return_to=/me"), { email });
      const mail = await mailTo(email);
      if (way === "code") {
        const done = await visitor.submit(await mainForm(visitor, asked.location ?? ""), { email, code: mail.code });
        expect([done.status, done.location], done.text).toEqual([303, "/me"]);
      } else {
        const path = mail.link.replace(stack.site_url, "");
        expect(path).toMatch(/^\/auth\/confirm\?token_hash=/);
        await newVisitor().get(path);
        const done = await visitor.submit(await mainForm(visitor, path));
        expect(done.status, done.text).toBe(303);
        expect((await newVisitor().submit(await mainForm(newVisitor(), path))).status).toBe(422);
      }
      expect(await isSignedIn(visitor)).toBe(true);
    }
  });

  test("does not reveal whether an account exists, and creates none", async () => {
    const email = `${randomUUID()}@web.example`;
    const { status, location } = await newVisitor().post("/sign-in/email", { email });
    expect([status, location]).toEqual([303, "/sign-in/code"]);
    expect(await sql`select from auth.users where email = ${email}`).toHaveLength(0);
  });
});

describe("a session", () => {
  test("that has expired is refreshed once for concurrent requests", async () => {
    const { visitor, email } = await signUp();
    const value = only(visitor.cookie(sessionCookie));
    const session = JSON.parse(Buffer.from(value.slice("base64-".length), "base64url").toString());
    const access_token = await accessToken({ sub: decodeJwt(session.access_token).sub }, -10);
    const expired = JSON.stringify({ ...session, access_token, expires_at: 1, expires_in: 0 });
    const cookie = { name: sessionCookie, value: `base64-${Buffer.from(expired).toString("base64url")}` };
    const tabs = Array.from({ length: 8 }, () => newVisitor([cookie]));
    expect(await Promise.all(tabs.map(isSignedIn))).toEqual(tabs.map(() => true));
    const kept = new Set(tabs.map((tab) => tab.cookie(sessionCookie)));
    expect(kept.size).toBe(1);
    expect(kept).not.toContain(cookie.value);
    const [tokens] = await sql`
      select count(*)::int as n from auth.refresh_tokens t join auth.users u on u.id = t.user_id::uuid where u.email = ${email}`;
    expect(tokens?.n).toBe(2);
  });

  test("is stored in HttpOnly cookies", async () => {
    const created = await newVisitor().post("/sign-up", {
      name: "Wanda",
      email: `${randomUUID()}@web.example`,
      password: randomUUID(),
    });
    for (const line of [created.headers["set-cookie"] ?? []].flat())
      expect(line).toMatch(/HttpOnly.*SameSite=Lax|SameSite=Lax.*HttpOnly/i);
  });
});

describe("the page of the user's contributions", () => {
  test("has a list of each kind, from all boards, paginated by cursor", async () => {
    const visitor = await signedIn();
    const other = await newOrganization();
    const own = await newSubmission(organization, { id: visitor.userId }, { title: "Submitted by me" });
    const foreign = await newSubmission(other, await newUser(), { title: "Somebody else's" });
    await visitor.post(`/submissions/${foreign}/vote`);
    await visitor.post(`/submissions/${foreign}/follow`);
    await newComment(own, { id: visitor.userId }, { body: "Said by me" });
    const titles = async (list: string) =>
      (await visitor.get(`/me?list=${list}`)).html.querySelectorAll(".row h2").map(({ text }) => text.trim());
    expect(await titles("submissions")).toEqual(["Submitted by me"]);
    expect(await titles("votes")).toEqual(["Somebody else's", "Submitted by me"]);
    expect(await titles("follows")).toEqual(["Somebody else's", "Submitted by me"]);
    expect(await titles("comments")).toEqual(["Submitted by me"]);
    expect(await titles("answers")).toEqual([]);
    for (let n = 0; n < 22; n++)
      await newSubmission(organization, { id: visitor.userId }, { title: `Number ${n} of many` });
    const first = await visitor.get("/me");
    const next = first.html.querySelector("a[rel=next]")?.getAttribute("href") ?? "";
    const second = await visitor.get(next.replaceAll("&amp;", "&"));
    const all = [first, second].flatMap(({ html }) => html.querySelectorAll(".row h2").map(({ text }) => text));
    expect(all).toHaveLength(23);
    expect(new Set(all).size).toBe(23);
    expect(second.html.querySelector("a[rel=next]")).toBeNull();
  });

  test("shows surveys that the user responded to, also closed ones, and of no other user", async () => {
    const [visitor, other] = [await signedIn(), await signedIn()];
    const survey = { id: randomUUID(), organization_id: organization.id, title: "How was it?" };
    await sql`insert into public.surveys ${sql(survey)}`;
    await sql`insert into public.survey_questions ${sql({ id: survey.id, survey_id: survey.id, type: "nps", text: "Well?", position: 1 })}`;
    await sql`update public.surveys set status = 'published' where id = ${survey.id}`;
    await sql`insert into public.survey_responses ${sql({ organization_id: organization.id, survey_id: survey.id, user_id: visitor.userId, answers: sql.json([{ question_id: survey.id, value: 9 }]) })}`;
    await sql`update public.surveys set status = 'archived' where id = ${survey.id}`;
    const shown = async (who: Visitor) => (await who.get("/me?list=answers")).html.querySelector(".row")?.text;
    expect(await shown(visitor)).toContain("How was it?");
    expect(await shown(other)).toBeUndefined();
  });
});

describe("notifications", () => {
  test("are counted in the header, and marked as read individually or all together", async () => {
    const visitor = await signedIn();
    const id = await newSubmission(organization, { id: visitor.userId }, { title: "Told about" });
    for (let n = 0; n < 3; n++) await newComment(id, await newUser(), { body: `Comment ${n}` });
    const unread = async () => {
      const { html } = await visitor.get("/notifications?unread=true");
      return { rows: html.querySelectorAll(".row"), badge: html.querySelector(".badge")?.text };
    };
    await until(async () => (await unread()).rows.length === 3);
    const { rows, badge } = await unread();
    expect(badge).toBe("3");
    expect(rows[0]?.querySelector("h2")?.text).toBe("Told about");
    expect(rows[0]?.querySelector(".kind")?.text).toContain("New comment");
    const one = await visitor.submit(rows[0]?.querySelector("form") ?? null, { return_to: "/notifications" });
    expect([one.status, one.location]).toEqual([303, "/notifications"]);
    expect((await unread()).badge).toBe("2");
    await visitor.submit((await visitor.get("/notifications")).html.querySelector("#mark-all"));
    expect((await unread()).rows).toHaveLength(0);
    expect((await visitor.get("/notifications")).html.querySelectorAll(".row")).toHaveLength(3);
  });
});

describe("settings", () => {
  test("change name and picture, and show validation errors", async () => {
    const visitor = await signedIn();
    const form = async () => (await visitor.get("/settings")).html.querySelector("#profile");
    const done = await visitor.submit(await form(), {
      name: "  New Name ",
      avatar_url: "https://avatars.githubusercontent.com/u/1",
    });
    expect([done.status, done.location], done.text).toEqual([303, "/settings?saved=true"]);
    const { html } = await visitor.get("/settings?saved=true");
    expect(html.querySelector(".menu-name")?.text).toBe("New Name");
    expect(html.querySelector(".menu img")?.getAttribute("src")).toBe("https://avatars.githubusercontent.com/u/1");
    const wrong = await visitor.submit(await form(), { name: " ", avatar_url: "javascript:alert(1)" });
    expect(wrong.status).toBe(422);
    expect(wrong.html.querySelectorAll(".field [aria-invalid]")).toHaveLength(2);
    expect(wrong.html.querySelector("#avatar_url")?.getAttribute("value")).toBe("javascript:alert(1)");
    const cleared = await visitor.submit(await form(), { name: "New Name", avatar_url: "" });
    expect(cleared.status).toBe(303);
    const [profile] = await sql`select avatar_url from public.profiles where id = ${visitor.userId}`;
    expect(profile?.avatar_url).toBeNull();
  });

  test("take no name that looks like that of a team member where the person wrote something", async () => {
    const member = await newUser("Ingrid Halvorsen", { organization, role: "member" });
    const visitor = await signedIn();
    const taken = "\u0406ngr\u0456d  Halv\u043ersen\u2060";
    const form = async () => (await visitor.get("/settings")).html.querySelector("#profile");
    const id = await newSubmission(organization, { id: visitor.userId });
    await visitor.post("/preferences", { lang: "de" });
    const own = { name: "Wanda", avatar_url: "" };
    expect((await visitor.submit(await form(), own)).status).toBe(303);
    const refused = await visitor.submit(await form(), { ...own, name: taken });
    expect(refused.status).toBe(422);
    const marked = { ...own, name: "Ingrid Halvorsen (Team)" };
    expect((await visitor.submit(await form(), marked)).status).toBe(422);
    expect(refused.html.querySelector("#name-problem")?.text).toContain("Teammitglieds");
    await sql`update public.profiles set name = ${taken} where id = ${visitor.userId}`;
    const page = async (id: string) => (await visitor.get(`/submissions/${id}-a-submission`)).html;
    const unofficial = await page(id);
    expect(unofficial.querySelector(".facts")?.text).toContain("Halv");
    expect(unofficial.querySelector(".tag.team")).toBeNull();
    const official = await page(await newSubmission(organization, member));
    for (const place of [".facts", ".history"])
      expect(official.querySelector(`${place} .tag.team`)?.text, place).toBe("Team");
  });

  test("show errors in the visitor's language", async () => {
    const visitor = await signedIn();
    const form = (await visitor.get("/settings?lang=de")).html.querySelector("#profile");
    await visitor.post("/preferences", { lang: "de" });
    const { html } = await visitor.submit(form, { name: "x".repeat(101), avatar_url: "nowhere" });
    expect(html.querySelector("#name-problem")?.text).toBe("Name: 1 bis 100 Zeichen");
    expect(html.querySelector("#avatar_url-problem")?.text).toBe(`Bild: ${messagesOf("de").problems.webAddress}`);
    const out = newVisitor();
    await out.post("/preferences", { lang: "fr" });
    const refused = await out.post("/sign-up", { name: "", email: "no address", password: "short" });
    const problems = refused.html.querySelectorAll("p.problem").map(({ text }) => text);
    expect(problems).toEqual([
      "Nom : obligatoire",
      "Adresse e-mail : adresse e-mail non valide",
      "Mot de passe : au moins 8 caractères",
    ]);
  });

  test("store the language with the account, and it takes precedence over the browser's", async () => {
    const { visitor, email, password } = await signUp();
    const language = async (who: Visitor, path = "/me", header = "fr") =>
      (await who.get(path, { "accept-language": header })).html.querySelector("html")?.getAttribute("lang");
    expect(await language(visitor)).toBe("fr");
    await visitor.post("/preferences", { lang: "ja" });
    const elsewhere = newVisitor();
    await elsewhere.post("/sign-in", { email, password });
    expect(await language(elsewhere)).toBe("ja");
    expect(elsewhere.cookie("lang")).toBe("ja");
    expect(await language(elsewhere, "/me?lang=it")).toBe("it");
    await visitor.post("/preferences", { lang: "ru" });
    expect(await language(elsewhere)).toBe("ru");
  });

  test("export all data about the user as a file", async () => {
    const visitor = await signedIn();
    await newSubmission(organization, { id: visitor.userId }, { title: "In the file" });
    const { status, headers, text } = await visitor.get("/settings/data.json");
    expect(status).toBe(200);
    expect(headers["content-disposition"]).toBe('attachment; filename="feedback-data.json"');
    const data = JSON.parse(text);
    expect([data.profile.id, data.submissions[0].title]).toEqual([visitor.userId, "In the file"]);
  });

  test("delete the account only after confirmation", async () => {
    const visitor = await signedIn();
    const id = await newSubmission(organization, { id: visitor.userId });
    const unconfirmed = await visitor.post("/settings/erase");
    expect(unconfirmed.status).toBe(422);
    const form = await mainForm(visitor, "/settings/erase");
    expect(form?.querySelector("input[type=checkbox]")?.hasAttribute("checked")).toBe(false);
    const done = await visitor.submit(form);
    expect([done.status, done.location], done.text).toEqual([303, "/goodbye"]);
    expect(visitor.cookie(sessionCookie)).toBeUndefined();
    expect(await sql`select from auth.users where id = ${visitor.userId}`).toHaveLength(0);
    const [kept] = await sql`
      select p.name from public.submissions s join public.profiles p on p.id = s.author_id where s.id = ${id}`;
    expect(kept).toEqual({ name: null });
  });

  test("do not delete the account of an organization's last owner, and show the reason", async () => {
    const visitor = await signedIn();
    const own = await newOrganization();
    await joinTeam(visitor.userId, own, "owner");
    const { status, html } = await visitor.post("/settings/erase", { confirm: "erase" });
    expect(status).toBe(422);
    expect(html.querySelector("[role=alert]")?.text).toContain("owner");
    expect(await sql`select from auth.users where id = ${visitor.userId}`).toHaveLength(1);
  });
});
