import { Agent } from "node:http";
import { beforeAll, describe, expect, test } from "vitest";
import { api } from "../api/client.ts";
import {
  type Key,
  newKey,
  newOrganization,
  newSubmission,
  newUser,
  type Organization,
  type User,
} from "../api/world.ts";
import { send } from "../http.ts";
import { sql, stack } from "../stack.ts";
import { until } from "../until.ts";
import { newVisitor, signedIn } from "../web/pages.ts";
import { linkIn, mailsTo, mailTo } from "./captured.ts";

// Preferences by links of captured mails and when signed in; attempts of others to change them.

const agent = new Agent();
let organization: Organization;
let admin: User;
let key: Key;

beforeAll(async () => {
  organization = await newOrganization();
  admin = await newUser("Ada Admin", { organization, role: "admin" });
  key = await newKey(organization, ["submissions:write", "submissions:read"]);
  const { status, body } = await api("PATCH", `/api/organizations/${organization.id}`, {
    as: admin,
    body: { mail_enabled: true },
  });
  expect([status, (body as { data: { mail_enabled: boolean } }).data.mail_enabled]).toEqual([200, true]);
});

let people = 0;
/** Creates feedback that a key sends for somebody, who gets a first mail about it. */
async function authorWithMail() {
  const email = `grace-${process.pid}-${people++}@customer.example`;
  const made = await api("POST", "/api/submissions", {
    as: key,
    body: {
      type: "idea",
      title: "Offline job sheets",
      description: "A description that is long enough.",
      author_email: email,
    },
  });
  expect(made.status, made.text).toBe(201);
  const { id } = made.body as unknown as { id: string };
  const change = (status: string) =>
    api("PATCH", `/api/submissions/${id}/status`, { as: admin, body: { status, note: "It is in 4.2." } });
  expect((await change("completed")).status).toBe(200);
  return { email, id, change, mail: await mailTo(email) };
}

const post = (path: string, raw: string, headers: Record<string, string> = {}) =>
  send("POST", stack.site_url + path, {
    agent,
    raw,
    headers: { "content-type": "application/x-www-form-urlencoded", ...headers },
  });
const oneClick = "List-Unsubscribe=One-Click";

/** Waits until the organization has no mail to send and none being sent. */
const settled = () =>
  until(async () => {
    const rows = await sql`
      select from private.mails where organization_id = ${organization.id} and status in ('pending', 'sending')`;
    return rows.length === 0;
  });

describe("a person who never signed up", () => {
  test("hears by mail that their idea was shipped, and stops it with one click", async () => {
    const { email, change, mail } = await authorWithMail();
    expect(mail.subject).toBe("Completed: Offline job sheets");
    // Text in a mail to an address that others entered contains joiners, so that no mail program turns it into links.
    expect(mail.text?.replaceAll("\u2060", "")).toContain("It is in 4.2.");
    expect(mail.text).toContain("gave us your email address with feedback from you");
    const header = mail.headers?.["List-Unsubscribe"]?.slice(1, -1) ?? "";
    expect(mail.headers?.["List-Unsubscribe-Post"]).toBe(oneClick);
    const path = header.replace(stack.site_url, "");
    // A mail scanner opens links.
    const asked = await newVisitor().get(path);
    expect(asked.status).toBe(200);
    await change("open");
    await mailTo(email, 1);
    const answer = await post(path, oneClick);
    expect([answer.status, answer.headers.location], answer.text).toEqual([200, undefined]);
    expect(answer.text).toContain("You’re unsubscribed from these emails");
    await change("planned");
    await settled();
    expect(await mailsTo(email)).toHaveLength(2);
  });

  test.each([
    ["multipart form data", { "content-type": "multipart/form-data; boundary=x" }],
    ["another site's page", { origin: "https://webmail.example" }],
  ])("stops it by %s", async (_, headers) => {
    const { email, change, mail } = await authorWithMail();
    const parts = `--x\r\nContent-Disposition: form-data; name="List-Unsubscribe"\r\n\r\nOne-Click\r\n--x--\r\n`;
    const path = linkIn(mail.text, "unsubscribe");
    const answer = await post(path, "content-type" in headers ? parts : oneClick, headers as Record<string, string>);
    expect(answer.status, answer.text).toBe(200);
    await change("open");
    await settled();
    expect(await mailsTo(email)).toHaveLength(1);
  });

  test("chooses, mutes a submission, stops all mail and gets it again without signing in", async () => {
    const { email, id, change, mail } = await authorWithMail();
    const visitor = newVisitor();
    const path = linkIn(mail.text, "mail");
    const form = async (at: string, name: string) => (await visitor.get(at)).html.querySelector(name);
    const chosen = await visitor.submit(await form(path, "#choices"), { "choices.status": "never" });
    expect([chosen.status, chosen.location?.endsWith("&saved=true")]).toEqual([303, true]);
    const select = (await visitor.get(path)).html.querySelector("select[name='choices.status'] option[selected]");
    expect(select?.getAttribute("value")).toBe("never");
    expect((await visitor.get(path)).html.querySelector("select[name='choices.team']")).toBeNull();
    await visitor.submit(await form(path, "#choices"), { "choices.status": "at_once" });

    await visitor.submit(await form(`${path}&mute=${id}`, "#mute"));
    expect((await visitor.get(path)).html.querySelector("#muted")?.text).toContain("Offline job sheets");
    await change("open");
    await settled();
    expect(await mailsTo(email)).toHaveLength(1);
    await visitor.submit(await form(path, "#muted form"));
    await change("planned");
    await mailTo(email, 1);

    await visitor.submit(await form(path, "#stop"));
    expect(await form(path, "#choices")).toBeNull();
    await change("in_progress");
    await settled();
    expect(await mailsTo(email)).toHaveLength(2);
    const listed = await api("GET", "/api/admin/mail-suppressions", { as: admin, on: organization });
    expect(JSON.stringify(listed.body)).toContain('"refused"');
    expect(listed.text).not.toContain("@");
    await visitor.submit(await form(path, "#resume"));
    await change("completed");
    await mailTo(email, 2);
  });
});

describe("a token", () => {
  test("that was changed in any part, or is of nobody, does nothing", async () => {
    const [one, other] = [await authorWithMail(), await authorWithMail()];
    const token = new URLSearchParams(linkIn(one.mail.text, "mail").split("?")[1]).get("token") ?? "";
    const [keyId = "", payload = "", mac = ""] = token.split(".");
    const told = Buffer.from(payload, "base64url").toString().split(" ");
    const forge = (at: number, value: string) =>
      `${keyId}.${Buffer.from(told.with(at, value).join(" ")).toString("base64url")}.${mac}`;
    const theirs = new URLSearchParams(linkIn(other.mail.text, "mail").split("?")[1]).get("token")?.split(".") ?? [];
    const [foreign] = [await newOrganization()];
    const forged = [
      forge(0, admin.id),
      forge(1, foreign.id),
      forge(2, "official"),
      forge(3, "9999999999"),
      `${keyId}.${theirs[1]}.${mac}`,
      `other.${payload}.${mac}`,
      `${keyId}.${payload}.${mac.slice(0, -2)}`,
      `${keyId}.${payload}.`,
      `${token}.x`,
      "",
      "%00",
      "x".repeat(400),
    ];
    for (const bad of forged) {
      for (const path of ["mail", "unsubscribe"]) {
        const at = `/${path}?token=${bad}`;
        expect((await newVisitor().get(at)).status, at).toBe(404);
        const fields = path === "mail" ? "stopped=true" : oneClick;
        expect([404, 422]).toContain((await post(at, fields, { origin: stack.site_url })).status);
      }
    }
    const rows =
      await sql`select from private.mail_choices where organization_id = ${organization.id} and profile_id = ${admin.id}`;
    expect(rows).toHaveLength(0);
  });

  test("signs nobody in, and unsubscribes by nothing but a POST that says so", async () => {
    const { mail } = await authorWithMail();
    const visitor = newVisitor();
    const path = linkIn(mail.text, "unsubscribe");
    expect((await visitor.get(path)).headers["set-cookie"]).toBeUndefined();
    expect((await visitor.get("/me")).location).toContain("/sign-in");
    expect((await post(path, "")).status).toBeGreaterThanOrEqual(400);
    expect((await post(path, "List-Unsubscribe=Two-Clicks")).status).toBeGreaterThanOrEqual(400);
    // The choices are sent with a form of our own page.
    const choices = linkIn(mail.text, "mail");
    expect((await post(choices, "stopped=true", { origin: "https://evil.example" })).status).toBe(403);
    expect((await newVisitor().get(choices)).html.querySelector("#choices")).not.toBeNull();
    const part = '--x\r\nContent-Disposition: form-data; name="a"; filename="a"\r\n\r\n1\r\n';
    const parts = `${part.repeat(200)}--x--\r\n`;
    const type = { "content-type": "multipart/form-data; boundary=x" };
    expect((await post(path, parts, type)).status).toBe(413);
  });
});

describe("signed in", () => {
  test("people choose by the page, and another organization is not touched", async () => {
    const visitor = await signedIn();
    const other = await newOrganization();
    const path = `/o/${organization.slug}/settings/mail`;
    const form = (await visitor.get(path)).html.querySelector("#choices");
    const saved = await visitor.submit(form, { "choices.comment": "weekly" });
    expect([saved.status, saved.location]).toEqual([303, `${path}?saved=true`]);
    const chosen = async (of: Organization) =>
      (await visitor.get(`/o/${of.slug}/settings/mail`)).html
        .querySelector("select[name='choices.comment'] option[selected]")
        ?.getAttribute("value");
    expect([await chosen(organization), await chosen(other)]).toEqual(["weekly", "daily"]);
  });

  test("the API says what somebody gets, changes it, and refuses what there is not", async () => {
    const user = await newUser();
    const call = (method: "GET" | "PATCH", body?: object, as = user) =>
      api(method, "/api/me/mail-preferences", { as, on: organization, ...(body && { body }) });
    expect((await call("GET")).body).toMatchObject({
      data: {
        mail_enabled: true,
        choices: { status: "at_once", official: "at_once", reply: "at_once", comment: "daily" },
        muted: [],
        stopped: null,
      },
    });
    for (const body of [{}, { choices: { team: "at_once" } }, { choices: { status: "hourly" } }])
      expect((await call("PATCH", body)).status).toBe(400);
    const changed = await call("PATCH", { choices: { status: "daily" } });
    expect(changed.body).toMatchObject({ data: { choices: { status: "daily", official: "at_once" } } });
    expect((await call("GET", undefined, admin)).body).toMatchObject({ data: { choices: { team: "daily" } } });
    expect((await call("PATCH", { choices: { status: "never" } }, key as unknown as User)).status).toBe(403);
  });

  test("nobody mutes what they do not see", async () => {
    const hidden = await newOrganization({ visibility: "private" });
    const member = await newUser("Member", { organization: hidden, role: "member" });
    const id = await newSubmission(hidden, member);
    const answer = await api("POST", `/api/submissions/${id}/mute`, { as: admin });
    expect(answer.status).toBe(404);
    expect(await sql`select from private.mail_mutes where submission_id = ${id}`).toHaveLength(0);
  });
});

describe("captured mail", () => {
  const get = (url: string, headers: Record<string, string> = {}) => send("GET", url, { agent, headers });
  const mails = stack.mails_url ?? "";

  test("is listed and shown at the address of stack.json, and runs nothing", async () => {
    const { email } = await authorWithMail();
    const list = await get(mails);
    expect(list.status).toBe(200);
    expect(list.text).toContain(email);
    const [, path = ""] = /href="(\/_mail\/[\w-]+\/[\w-]+)"/.exec(list.text) ?? [];
    for (const url of [stack.supabase_url + path, `${stack.supabase_url + path}.html`]) {
      const shown = await get(url);
      expect(shown.status).toBe(200);
      expect(shown.headers["content-security-policy"]).toContain("default-src 'none'");
      expect(shown.headers["referrer-policy"]).toBe("no-referrer");
    }
  });

  // Behind a proxy that sends no such header, such as nginx by default, every client appears to be on this machine.
  test("is shown to nobody without the secret of the address, and from no other folder", async () => {
    const list = await get(mails);
    const [, id] = /href="\/_mail\/[\w-]+\/([\w-]+)"/.exec(list.text) ?? [];
    for (const path of ["", `/${id}`, `/${id}.html`, "/none", `/${"x".repeat(32)}`, `/${"x".repeat(32)}/${id}`])
      expect((await get(`${stack.supabase_url}/_mail${path}`)).status, path).toBe(404);
    for (const path of ["/..%2fsecrets", "/x/y", "/none"])
      expect((await get(mails + path)).status, path).toBeGreaterThanOrEqual(400);
  });
});
