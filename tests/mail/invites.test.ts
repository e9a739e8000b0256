import { beforeAll, expect, test } from "vitest";
import { newOrganization } from "../api/world.ts";
import { sql, stack } from "../stack.ts";
import { until } from "../until.ts";
import { newVisitor, signedIn, type Visitor } from "../web/pages.ts";
import { linkIn, mailsTo, mailTo } from "./captured.ts";

// Invites by the dashboard, and what the links of their mails lead to.

let owner: Visitor;
let at: string;
beforeAll(async () => {
  const organization = await newOrganization();
  owner = await signedIn({ organization, role: "owner" });
  at = `/o/${organization.slug}/admin/people/invites`;
  await sql`update public.organizations set mail_enabled = true where id = ${organization.id}`;
});

let people = 0;
const newAddress = () => `invited-${process.pid}-${people++}@customer.example`;

async function invite(email: string) {
  const { html } = await owner.get(`${at}/new`);
  return owner.submit(html.querySelector("main form"), { email, role: "admin" });
}

test("somebody without an account joins by the link of the mail", async () => {
  const email = newAddress();
  const made = await invite(email);
  expect(made.text).toContain("We also email the link to this address.");
  const { text, subject } = await mailTo(email);
  expect(subject).toBe("Invite to the Organization of a test team");
  const link = linkIn(text, "invite");
  expect((await newVisitor().get(link)).location).toBe(`/sign-in?return_to=${encodeURIComponent(link)}`);
  const visitor = newVisitor();
  await visitor.post("/sign-up", { name: "Grace", email, password: "correct horse battery" });
  const joined = await visitor.submit((await visitor.get(link)).html.querySelector("main form"));
  expect(joined.location).toMatch(/\/admin\/people$/);
  expect((await visitor.get(joined.location ?? "")).status).toBe(200);
});

test("an invite is sent again with a new link, and the earlier one ends", async () => {
  const email = newAddress();
  await invite(email);
  const first = await mailTo(email);
  const row = (await owner.get(at)).html.querySelectorAll("#invites tbody tr").at(0);
  expect(row?.text).toContain(email);
  await owner.submit(row?.querySelector(`form[action="${at}"]`) ?? null);
  const second = await mailTo(email, 1);
  const visitor = newVisitor();
  await visitor.post("/sign-up", { name: "Grace", email, password: "correct horse battery" });
  const ended = linkIn(first.text, "invite");
  expect((await visitor.get(ended)).html.querySelector("main form")).toBeNull();
  const token = new URL(ended, stack.site_url).searchParams.get("token") ?? "";
  expect((await visitor.post("/invite", { token })).status).toBe(410);
  const open = await visitor.get(linkIn(second.text, "invite"));
  expect((await visitor.submit(open.html.querySelector("main form"))).status).toBe(303);
});

test("who was invited stops all mail of the organization with one click, without signing in", async () => {
  const email = newAddress();
  await invite(email);
  const { text, headers } = await mailTo(email);
  const link = linkIn(text, "unsubscribe/invites");
  expect(headers?.["List-Unsubscribe"]).toBe(`<${stack.site_url}${link}>`);
  const visitor = newVisitor();
  const asked = await visitor.get(link);
  expect(asked.text).not.toContain(email);
  expect((await visitor.get(linkIn(text, "invite").replace("/invite?", "/unsubscribe/invites?"))).status).toBe(404);
  const done = await visitor.submit(asked.html.querySelector("main form"));
  expect(done.html.querySelector("[role=status]")?.text).toBe("You no longer get emails from Organization of a test.");
  await invite(email);
  const [again] = await until(() =>
    sql`
      select m.status from private.mails m join private.invites i on i.id = m.invite_id
      where i.email = ${email} and m.finished_at is not null order by m.created_at desc limit 1`.then((rows) =>
      rows[0]?.status === "dropped" ? rows : undefined,
    ),
  );
  expect(again?.status).toBe("dropped");
  expect(await mailsTo(email)).toHaveLength(1);
});
