import { dirname, join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { capturedMails } from "../../local/functions/mail-capture.ts";
import { api } from "../api/client.ts";
import { type Key, newKey, newOrganization, newUser, type Organization, type User } from "../api/world.ts";
import { sql, stack } from "../stack.ts";
import { until } from "../until.ts";
import { newVisitor, type Visitor } from "../web/pages.ts";

// An author known by address claims what they wrote, by the link of a captured mail.

let organization: Organization;
let admin: User;
let key: Key;
beforeAll(async () => {
  organization = await newOrganization();
  admin = await newUser("Ada Admin", { organization, role: "admin" });
  key = await newKey(organization, ["submissions:write", "submissions:read"]);
  await api("PATCH", `/api/organizations/${organization.id}`, { as: admin, body: { mail_enabled: true } });
});

const mailFolder = join(dirname(stack.mailPath), "mail");
const idOf = (body: unknown) => (body as { id: string }).id;
let people = 0;

const submit = async (author_email: string | undefined) => {
  const made = await api("POST", "/api/submissions", {
    as: key,
    body: { type: "idea", title: "Offline job sheets", description: "A description that is long.", author_email },
  });
  expect(made.status, made.text).toBe(201);
  return idOf(made.body);
};
const vote = (id: string, author_email: string) =>
  api("POST", `/api/submissions/${id}/vote`, { as: key, body: { author_email } });

/** Somebody whose address a key sent, with the claim link from the mail that they got. */
async function author(email = `claims-${process.pid}-${people++}@customer.example`) {
  const id = await submit(email);
  await api("PATCH", `/api/submissions/${id}/status`, { as: admin, body: { status: "completed" } });
  const mail = await until(async () =>
    (await capturedMails(mailFolder, 500)).find(
      ({ to, text }) => to.includes(email) && text?.includes(`/submissions/${id}`),
    ),
  );
  const link = new RegExp(`${stack.site_url}(/claim\\?\\S+)`).exec(mail.text ?? "")?.[1] ?? "no link";
  return { email, id, link, text: mail.text ?? "" };
}

async function signedUp(email: string): Promise<Visitor> {
  const visitor = newVisitor();
  const answer = await visitor.post("/sign-up", { name: "Grace", email, password: "correct horse battery" });
  expect(answer.status, answer.text).toBe(303);
  return visitor;
}
const authorOf = async (id: string) =>
  (
    await sql`select p.kind, p.email from public.submissions s join public.profiles p on p.id = s.author_id where s.id = ${id}`
  )[0];
const wrongCounts = () => sql`
  select s.id from public.submissions s where s.organization_id = ${organization.id}
    and s.vote_count <> (select count(*) from public.votes v where v.submission_id = s.id)`;

test("a link of the mail leads to an account, and makes what its author wrote the account's", async () => {
  const { email, id, link } = await author();
  const stranger = newVisitor();
  const asked = await stranger.get(link);
  expect(asked.status).toBe(200);
  expect(asked.text).not.toContain(email);
  const signUp = asked.html.querySelector('a[href^="/sign-up?"]')?.getAttribute("href") ?? "";
  expect(new URLSearchParams(signUp.split("?")[1]).get("return_to")).toBe(link);
  expect(asked.html.querySelector(`form[action="${link}"]`)).toBe(null);

  const grace = await signedUp(email);
  const open = await grace.get(link);
  const done = await grace.submit(open.html.querySelector(`form[action="${link}"]`));
  expect([done.status, done.location]).toEqual([303, "/me"]);
  expect(await authorOf(id)).toEqual({ kind: "user", email });
  expect((await grace.get("/me")).text).toContain(`/submissions/${id}`);
  const again = await grace.get(link);
  expect(again.status).toBe(200);
  expect(again.html.querySelector(`form[action="${link}"]`)).toBe(null);
  expect((await grace.post(link)).status).toBe(422);
});

describe("nothing is claimed", () => {
  test("with another account, or without one", async () => {
    const { id, email, link } = await author();
    const eve = await signedUp(`eve-of-claims-${process.pid}-${people++}@customer.example`);
    const shown = await eve.get(link);
    expect(shown.html.querySelector(`form[action="${link}"]`)).toBe(null);
    expect((await eve.post(link)).status).toBe(403);
    expect((await newVisitor().post(link)).status).toBe(303);
    expect(await authorOf(id)).toEqual({ kind: "email", email });
  });

  test("with an address that is not confirmed", async () => {
    const { id, email, link } = await author();
    const grace = await signedUp(email);
    await sql`update auth.users set email_confirmed_at = null where email = ${email}`;
    expect((await grace.post(link)).status).toBe(403);
    expect(await authorOf(id)).toEqual({ kind: "email", email });
  });

  test("by a link for something else, or one that was changed", async () => {
    const { id, email, link, text } = await author();
    const grace = await signedUp(email);
    const token = new URLSearchParams(link.split("?")[1]).get("token") ?? "";
    const settings = /\/mail\?token=([\w.-]+)/.exec(text)?.[1] ?? "";
    const [keyId, payload = "", mac] = token.split(".");
    const forged = Buffer.from(payload, "base64url").toString().replace(organization.id, admin.id);
    for (const other of [settings, `${keyId}.${Buffer.from(forged).toString("base64url")}.${mac}`, `${token}x`, ""])
      expect((await grace.post(`/claim?token=${other}`)).status, other).toBe(404);
    expect((await grace.get(`/mail?token=${token}`)).status).toBe(404);
    expect((await grace.post(`/unsubscribe?token=${token}`, { "List-Unsubscribe": "One-Click" })).status).toBe(404);
    expect(await authorOf(id)).toEqual({ kind: "email", email });
  });

  test("from another site", async () => {
    const { email, link } = await author();
    const grace = await signedUp(email);
    expect((await grace.post(link, {}, { origin: "https://evil.example" })).status).toBe(403);
  });
});

test("of concurrent claims one succeeds, and votes given meanwhile by address and account count once each", async () => {
  const { email, link } = await author();
  const grace = await signedUp(email);
  const ids = await Promise.all(Array.from({ length: 6 }, () => submit(undefined)));
  const [before, ...others] = ids;
  await vote(before ?? "", email);
  const answers = await Promise.all([
    ...Array.from({ length: 4 }, () => grace.post(link)),
    ...ids.map((id) => vote(id, email)),
    ...others.map((id) => grace.post(`/submissions/${id}/vote`)),
  ]);
  expect(
    answers
      .slice(0, 4)
      .map(({ status }) => status)
      .sort(),
  ).toEqual([303, 422, 422, 422]);
  // Address and account are one person, whose second vote is a conflict.
  for (const { status } of answers.slice(4)) expect([200, 201, 303, 409]).toContain(status);
  expect(await wrongCounts()).toEqual([]);
  const nameless = await sql`
    select v.submission_id from public.votes v join public.profiles p on p.id = v.user_id
    where p.kind = 'anonymous' and v.submission_id = any (${ids})`;
  expect(nameless).toEqual([]);
  const again = await author(email);
  expect((await grace.post(again.link)).status).toBe(303);
  const twice = await sql`
    select v.submission_id from public.votes v join public.profiles p on p.id = v.user_id
    where lower(p.email) = ${email} and v.submission_id = any (${ids}) group by 1 having count(*) <> 1`;
  expect(twice).toEqual([]);
  const [{ voted } = { voted: 0 }] = await sql<{ voted: number }[]>`
    select count(*)::integer as voted from public.votes v join public.profiles p on p.id = v.user_id
    where p.email = ${email} and p.kind = 'user' and v.submission_id = any (${ids})`;
  expect(voted).toBe(6);
  expect(await wrongCounts()).toEqual([]);
});
