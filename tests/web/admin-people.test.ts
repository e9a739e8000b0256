import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { joinTeam, newComment, newOrganization, newSubmission, newUser, type Organization } from "../api/world.ts";
import { sql } from "../stack.ts";
import { newVisitor, type Person, signedIn, type Visitor } from "./pages.ts";

// The team, its users and the settings of a board, on the dashboard without JavaScript.

let organization: Organization;
let owner: Person;
let at: string;

async function newBoard() {
  const created = await newOrganization();
  await joinTeam(owner.userId, created, "owner");
  return { ...created, at: `/o/${created.slug}/admin` };
}

beforeAll(async () => {
  owner = await signedIn();
  ({ at, ...organization } = await newBoard());
});

const emailOf = async (id: string) =>
  (await sql<{ email: string }[]>`select email from public.profiles where id = ${id}`)[0]?.email ?? "";
const roleOf = async (id: string, of = organization) =>
  (
    await sql<{ role: string }[]>`
      select role from public.memberships where organization_id = ${of.id} and user_id = ${id}`
  )[0]?.role;
const settingsOf = async ({ id }: Organization) =>
  (await sql`select * from public.organizations where id = ${id}`)[0] ?? {};
const said = ({ html }: Awaited<ReturnType<Visitor["get"]>>) => html.querySelector(".notice.done")?.text.trim();

test("whoever is on other teams only is shown them at /admin, and nobody else is shown any", async () => {
  const stranger = await signedIn();
  expect((await stranger.get("/admin")).status).toBe(403);
  const { html, status } = await owner.get("/admin/settings/brand");
  expect(status).toBe(200);
  expect(html.querySelectorAll("#teams a").map((link) => link.getAttribute("href"))).toContain(`${at}/settings/brand`);
});

test("a member of the team gets a page that says it is for admins, with links to what they may open", async () => {
  const [member, stranger] = [await signedIn(), await signedIn()];
  await joinTeam(member.userId, organization, "member");
  const refused = await member.get(`${at}/settings/brand`);
  expect(refused.status).toBe(403);
  expect(refused.html.querySelector("main h1")?.text).toBe("This page is for admins");
  const links = refused.html.querySelectorAll("#teams a").map((link) => link.getAttribute("href"));
  expect(links).toEqual([`${at}/people`]);
  expect((await member.get(`${at}/people`)).status).toBe(200);
  // Callers without a team learn nothing about the organization's team; members of another team get a link to the same
  // page of theirs.
  expect((await stranger.get(`${at}/settings/brand`)).html.querySelector("#teams")).toBeNull();
  const board = await newBoard();
  await sql`delete from public.memberships where user_id = ${member.userId}`;
  await joinTeam(member.userId, board, "admin");
  const elsewhere = await member.get(`${at}/settings/brand`);
  expect([elsewhere.status, elsewhere.html.querySelector("#teams a")?.getAttribute("href")]).toEqual([
    403,
    `${board.at}/settings/brand`,
  ]);
});

test("an admin gets 404 for a missing row, and a plain 403 for a page of owners", async () => {
  const admin = await signedIn({ organization, role: "admin" });
  const pages: [string, number][] = [
    [`${at}/surveys/${randomUUID()}`, 404],
    [`${at}/people/members/${owner.userId}/transfer`, 403],
  ];
  for (const [path, status] of pages) {
    const refused = await admin.get(path);
    expect([refused.status, refused.html.querySelector("#teams")]).toEqual([status, null]);
  }
});

describe("the team", () => {
  test("an invite shows its link once, for the address alone", async () => {
    const [invited, other] = [await signedIn(), await signedIn()];
    const { html } = await owner.get(`${at}/people/invites/new`);
    const form = html.querySelector("main form");
    const created = await owner.submit(form, { email: await emailOf(invited.userId), role: "admin" });
    expect(created.status).toBe(200);
    const link = new URL(created.html.querySelector("#invite-link code")?.text ?? "");
    const token = link.searchParams.get("token") ?? "";
    expect(token.length).toBeGreaterThan(30);
    expect((await owner.get(`${at}/people/invites`)).text).not.toContain(token);
    // Sending the same form again creates no second invite and shows no link.
    const repeated = await owner.submit(form, { email: await emailOf(invited.userId), role: "admin" });
    expect(repeated.text).not.toContain(token);
    expect(repeated.html.querySelector("#invite-link")?.text).toContain("was shown once");

    const path = link.pathname + link.search;
    expect((await newVisitor().get(path)).location).toMatch(/^\/sign-in/);
    const forAnother = "This invite is for another email address. Sign out, then sign in with the invited address.";
    const shown = (await other.get(path)).html.querySelector("main");
    expect(shown?.querySelector("p")?.text).toBe(forAnother);
    expect(shown?.querySelector("form")?.getAttribute("action")).toBe("/sign-out");
    const refused = await other.post("/invite", { token });
    expect([refused.status, refused.html.querySelector("main p:not(.error-code)")?.text]).toEqual([403, forAnother]);
    expect(await roleOf(other.userId)).toBeUndefined();
    const invite = (await invited.get(path)).html.querySelector("main");
    expect(invite?.querySelector("p")?.text).toContain("invites you to its team. Your role: Admin.");
    const joined = await invited.submit(invite?.querySelector("form") ?? null);
    expect(joined.location).toBe(`${at}/people`);
    expect(await roleOf(invited.userId)).toBe("admin");
    expect((await invited.get(joined.location ?? "")).status).toBe(200);
    const used = (await invited.get(path)).html.querySelector("main");
    expect(used?.text).toContain("This invite was already used, was revoked, or has expired.");
    expect(used?.querySelector("form")).toBeNull();
  });

  test("the link of an invite that nobody made says so", async () => {
    for (const path of ["/invite", "/invite?token=unknown"]) {
      const main = (await owner.get(path)).html.querySelector("main");
      expect(main?.text).toContain("This invite link isn’t valid.");
      expect(main?.querySelector("form")).toBeNull();
    }
  });

  test("an owner changes roles, transfers the board and cannot leave as the last owner", async () => {
    const board = await newBoard();
    const member = await newUser("Max Member", { organization: board, role: "member" });
    const page = await owner.get(`${board.at}/people/members/${member.id}`);
    const changed = await owner.submit(page.html.querySelector("form.settings-form"), { role: "admin" });
    expect(said(await owner.get(changed.location ?? ""))).toBe("Role changed.");
    expect(await roleOf(member.id, board)).toBe("admin");

    const leave = await owner.get(`${board.at}/people/members/${owner.userId}/remove`);
    const refused = await owner.submit(leave.html.querySelector("form.stack"));
    expect(refused.status).toBe(422);
    expect(refused.html.querySelector("[role=alert]")?.text).toContain("needs at least one owner");
    expect(await roleOf(owner.userId, board)).toBe("owner");

    const transfer = await owner.get(`${board.at}/people/members/${member.id}/transfer`);
    expect((await owner.submit(transfer.html.querySelector("form.stack"))).status).toBe(303);
    expect([await roleOf(member.id, board), await roleOf(owner.userId, board)]).toEqual(["owner", "admin"]);
    const left = await owner.submit(leave.html.querySelector("form.stack"));
    expect(left.location).toMatch(/^\/me/);
    expect((await owner.get(`${board.at}/people`)).status).toBe(403);
  });

  test("an admin is offered neither the role owner nor the removal of an owner", async () => {
    const admin = await signedIn({ organization, role: "admin" });
    const { html } = await admin.get(`${at}/people/invites/new`);
    const offered = html.querySelectorAll("#role option").map((option) => option.getAttribute("value"));
    expect(offered).toEqual(["member", "admin"]);
    const of = await admin.get(`${at}/people/members/${owner.userId}`);
    expect(of.html.querySelector("main form, main .danger")).toBeNull();
    // An owner's invite may be revoked, but not created again.
    const board = await newBoard();
    for (const role of ["owner", "admin"]) {
      const inviting = await owner.get(`${board.at}/people/invites/new`);
      await owner.submit(inviting.html.querySelector("main form"), { email: `${role}@invites.example`, role });
    }
    await joinTeam(admin.userId, board, "admin");
    const formsFor = async (person: Visitor) =>
      (await person.get(`${board.at}/people/invites`)).html
        .querySelectorAll("main tbody form button")
        .map((button) => button.getAttribute("aria-label"))
        .sort();
    const revoking = ["Revoke: admin@invites.example", "Revoke: owner@invites.example"];
    expect(await formsFor(admin)).toEqual(["Invite again: admin@invites.example", ...revoking]);
    expect(await formsFor(owner)).toEqual([
      "Invite again: admin@invites.example",
      "Invite again: owner@invites.example",
      ...revoking,
    ]);
    const forced = await admin.post(`${at}/people/members/${owner.userId}/remove`, {
      _method: "delete",
      organization_id: organization.id,
    });
    expect(forced.status).toBe(403);
    expect(await roleOf(owner.userId)).toBe("owner");
  });

  test("a member sees the team without addresses, and can leave", async () => {
    const member = await signedIn({ organization, role: "member" });
    const { text, html } = await member.get(`${at}/people`);
    expect(text).not.toContain(await emailOf(owner.userId));
    expect(html.querySelector("main .tabs")).toBeNull();
    const leave = await member.get(`${at}/people/members/${member.userId}/remove`);
    const left = await member.submit(leave.html.querySelector("form.stack"));
    expect(left.status).toBe(303);
    const { html: mine } = await member.get(left.location ?? "");
    expect(mine.querySelector("[role=status]")?.text.trim()).toBe("You left the team.");
    expect(await roleOf(member.userId)).toBeUndefined();
  });
});

describe("users", () => {
  test("are found by name or address, and only those of the board", async () => {
    const author = await newUser("Zacharias Finder");
    await newSubmission(organization, author, { title: "Found by its author" });
    await newUser("Zacharias Elsewhere");
    const names = async (search: string) =>
      (await owner.get(`${at}/people/users?search=${encodeURIComponent(search)}`)).html
        .querySelectorAll("#people tbody a")
        .map(({ text }) => text);
    expect(await names("ZACHARIAS")).toEqual(["Zacharias Finder"]);
    expect(await names(await emailOf(author.id))).toEqual(["Zacharias Finder"]);
    expect(await names("%")).toEqual([]);
    expect(await names("")).toContain("Zacharias Finder");
  });

  test("show what they did, and are trusted, exported and erased", async () => {
    const author = await newUser("Edda Eraser");
    const id = await newSubmission(organization, author, { title: "Wants a darker night" });
    await newComment(id, author, { body: "A comment of Edda" });
    const path = `${at}/people/users/${author.id}`;
    const shown = await owner.get(path);
    expect(shown.text).toContain("Wants a darker night");
    expect(shown.text).toContain("A comment of Edda");
    const trusted = await owner.post(`${path}/trust`, { _method: "put", trusted: "true" });
    const after = await owner.get(trusted.location ?? "");
    expect(said(after)).toBe("Approval setting saved.");
    expect(after.html.querySelector("dl.properties")?.text).toContain("Needs no approval");
    const forgotten = await owner.post(`${path}/trust`, { _method: "put", trusted: "" });
    expect((await owner.get(forgotten.location ?? "")).text).toContain("Needs approval");

    const data = await owner.get(`${path}/data.json`);
    expect(data.headers["content-disposition"]).toContain("attachment");
    expect(JSON.parse(data.text).submissions[0].title).toBe("Wants a darker night");

    const erase = await owner.get(`${path}/erase`);
    expect((await owner.submit(erase.html.querySelector("form.stack"))).status).toBe(303);
    const [left] = await sql<{ author_id: string }[]>`select author_id from public.submissions where id = ${id}`;
    expect(left?.author_id).not.toBe(author.id);
    expect((await owner.get(path)).status).toBe(404);
  });
});

describe("general settings", () => {
  test("are saved, and lead to the new address", async () => {
    const board = await newBoard();
    const slug = `${board.slug}-new`.slice(-40);
    const { html } = await owner.get(`${board.at}/settings/general`);
    const saved = await owner.submit(html.querySelector("form.settings-form"), {
      name: "Renamed",
      slug,
      visibility: "private",
      require_approval: "true",
      trust_after: "3",
      time_zone: "Europe/Berlin",
      default_locale: "de",
      anonymous_may: "vote",
      allow_indexing: "false",
    });
    expect(saved.location).toBe(`/o/${slug}/admin/settings/general?done=saved`);
    expect(await settingsOf(board)).toMatchObject({
      name: "Renamed",
      slug,
      visibility: "private",
      require_approval: true,
      trust_after: 3,
      time_zone: "Europe/Berlin",
      default_locale: "de",
      anonymous_may: "vote",
      allow_indexing: false,
    });
    expect((await owner.get(saved.location ?? "")).status).toBe(200);
  });

  test("a former address leads to the present one, with its query, also in a frame", async () => {
    const board = await newBoard();
    const slug = `${board.slug}-new`.slice(-40);
    await sql`update public.organizations set slug = ${slug} where slug = ${board.slug}`;
    for (const path of ["?q=a%20b&page=2", "/roadmap", "/admin/settings/general"])
      expect((await owner.get(`/o/${board.slug}${path}`)).location).toBe(`/o/${slug}${path.replace("%20", "+")}`);
    expect((await owner.get(`/embed/o/${board.slug}/new?theme=dark`)).location).toBe(`/embed/o/${slug}/new?theme=dark`);
    expect((await owner.get(`/o/${slug}`)).status).toBe(200);
  });

  test("a refused field says why, and what was typed stays", async () => {
    const { html } = await owner.get(`${at}/settings/general`);
    const refused = await owner.submit(html.querySelector("form.settings-form"), {
      name: "Typed",
      slug: "Not A Slug",
      visibility: "public",
    });
    expect(refused.status).toBe(422);
    expect(refused.html.querySelector("#slug-problem")).not.toBeNull();
    expect(refused.html.querySelector("#name")?.getAttribute("value")).toBe("Typed");
    expect((await settingsOf(organization)).name).not.toBe("Typed");
  });

  test("the default language is for browsers that name none of ours", async () => {
    const board = await newBoard();
    await sql`update public.organizations set default_locale = 'it' where id = ${board.id}`;
    const language = async (accept: string | undefined, path = `/o/${board.slug}`) => {
      const visitor = newVisitor();
      const { html } = await visitor.get(path, accept ? { "accept-language": accept } : {});
      expect(visitor.cookie("lang")).toBeUndefined();
      return html.querySelector("html")?.getAttribute("lang");
    };
    expect(await language(undefined)).toBe("it");
    expect(await language("sv, *;q=0.5")).toBe("it");
    expect(await language("fr-CH, sv")).toBe("fr");
    expect(await language("en")).toBe("en");
    expect(await language("sv", `/o/${board.slug}?lang=ja`)).toBe("ja");
    expect(await language("sv", `/o/${organization.slug}`)).toBe("en");
  });
});

describe("the brand", () => {
  test("takes a colour and an https logo, and nothing else", async () => {
    const { html } = await owner.get(`${at}/settings/brand`);
    const form = html.querySelector("form.settings-form");
    const saved = await owner.submit(form, { brand_color: "#0f766e", logo_url: "https://cdn.example.org/logo.png" });
    const after = await owner.get(saved.location ?? "");
    expect(said(after)).toBe("Brand saved.");
    expect(after.html.querySelector(".brand-logo")?.getAttribute("src")).toBe("https://cdn.example.org/logo.png");
    for (const logo_url of ["http://example.org/logo.png", "javascript:alert(1)", "data:image/png;base64,AA"]) {
      const refused = await owner.submit(form, { brand_color: "red", logo_url });
      expect(refused.status, logo_url).toBe(422);
      expect(refused.html.querySelectorAll("#logo_url-problem, #brand_color-problem")).toHaveLength(2);
    }
    await owner.submit(form, { brand_color: "", logo_url: "" });
    expect(await settingsOf(organization)).toMatchObject({ brand_color: null, logo_url: null });
  });
});

describe("mail", () => {
  test("says when today's mails to unconfirmed addresses are used up", async () => {
    const board = await newBoard();
    const words = "You’ve reached today’s limit for emails to unconfirmed addresses";
    const allow = (mails: number) =>
      sql`update public.organizations set max_unconfirmed_mails = ${mails} where id = ${board.id}`;
    await sql`insert into private.mail_budgets (organization_id, day, used)
      select id, private.budget_day(), 2 from public.organizations where id = ${board.id}`;
    await allow(3);
    expect((await owner.get(`${board.at}/settings/mail`)).text).not.toContain(words);
    await allow(2);
    expect((await owner.get(`${board.at}/settings/mail`)).text).toContain(words);
    expect((await owner.get(`${board.at}/settings/limits`)).text).toMatch(
      /unconfirmed addresses today[\s\S]*2[\s\S]*of 2[\s\S]*Reached/,
    );
  });

  test("is turned on with its defaults, and goes on to whom it bounced, not to who refused it", async () => {
    const board = await newBoard();
    const path = `${board.at}/settings/mail`;
    const { html } = await owner.get(path);
    const chosen = (page: typeof html) =>
      page
        .querySelectorAll(".settings-form select")
        .map((field) => [
          field.getAttribute("name")?.split(".")[1],
          field.querySelector("[selected]")?.getAttribute("value"),
        ]);
    const usual = {
      status: "at_once",
      official: "at_once",
      reply: "at_once",
      comment: "daily",
      survey: "at_once",
      team: "daily",
    };
    expect(Object.fromEntries(chosen(html))).toEqual(usual);
    const saved = await owner.submit(html.querySelector("form.settings-form"), {
      mail_enabled: "true",
      ...Object.fromEntries(Object.entries(usual).map(([kind, timing]) => [`mail_defaults.${kind}`, timing])),
      "mail_defaults.comment": "weekly",
    });
    const after = await owner.get(saved.location ?? "");
    expect(said(after)).toBe("Settings saved.");
    expect(Object.fromEntries(chosen(after.html))).toEqual({ ...usual, comment: "weekly" });
    expect(await settingsOf(board)).toMatchObject({ mail_enabled: true });

    const address = `${randomUUID()}@test.example`;
    const people = await Promise.all(["Bo Bounced", "Rea Refused"].map((name) => newUser(name)));
    for (const [index, reason] of ["bounced", "refused"].entries())
      await sql`select private.suppress_address(${board.id}, ${people[index]?.id ?? ""},
        ${index === 0 ? address : `${randomUUID()}@test.example`}, ${reason})`;
    const listed = (await owner.get(path)).html;
    expect(listed.querySelectorAll("#suppressions tbody tr")).toHaveLength(2);
    expect(listed.text).not.toContain(address);
    const found = (await owner.get(`${path}?email=${encodeURIComponent(address.toUpperCase())}`)).html;
    expect(found.querySelectorAll("#suppressions tbody tr td:first-child").map(({ text }) => text.trim())).toEqual([
      "Bo Bounced",
    ]);
    expect((await owner.get(`${path}?email=nobody@test.example`)).html.querySelector("#suppressions tbody")).toBeNull();
    expect((await owner.post(`${path}/${people[1]?.id}`, { _method: "delete" })).status).toBe(422);
    const lifted = await owner.submit(found.querySelector("#suppressions form"));
    expect(said(await owner.get(lifted.location ?? ""))).toBe("Emails to this address resumed.");
    expect(await sql`select reason from private.mail_suppressions where organization_id = ${board.id}`).toEqual([
      { reason: "refused" },
    ]);

    // An invite that bounced is listed without a name; an admin resumes its mail by entering the address.
    await sql`select private.suppress_address(${board.id}, null, ${address}, 'bounced')`;
    expect((await owner.get(path)).html.querySelector("#suppressions form")).toBeNull();
    const invited = (await owner.get(`${path}?email=${encodeURIComponent(address)}`)).html;
    const resumed = await owner.submit(invited.querySelector("#suppressions form"));
    expect(said(await owner.get(resumed.location ?? ""))).toBe("Emails to this address resumed.");
    expect(await sql`select reason from private.mail_suppressions where organization_id = ${board.id}`).toEqual([
      { reason: "refused" },
    ]);
  });
});

describe("categories and tags", () => {
  const names = async (of: string) =>
    (await owner.get(of)).html.querySelectorAll("#labels tbody a.link").map(({ text }) => text);

  test("are made with translations, ordered, changed and deleted", async () => {
    const board = await newBoard();
    const path = `${board.at}/settings/categories`;
    for (const name of ["Billing", "Search"]) {
      const { html } = await owner.get(`${path}/new`);
      const created = await owner.submit(html.querySelector("form.settings-form"), {
        name,
        "translations.de": `${name} auf Deutsch`,
      });
      expect(said(await owner.get(created.location ?? ""))).toBe("Added.");
    }
    expect(await names(path)).toEqual(["Billing", "Search"]);
    const list = await owner.get(path);
    const up = list.html.querySelectorAll("button[id^=up-]")[1];
    await owner.submit(up?.closest("form") ?? null);
    expect(await names(path)).toEqual(["Search", "Billing"]);

    const [billing] = await sql<{ id: string; translations: object }[]>`
      select id, translations from public.categories where organization_id = ${board.id} and name = 'Billing'`;
    expect(billing?.translations).toEqual({ de: "Billing auf Deutsch" });
    const edit = await owner.get(`${path}/${billing?.id}`);
    await owner.submit(edit.html.querySelector("form.settings-form"), {
      name: "Invoices",
      "translations.de": "",
      "translations.ja": "請求",
    });
    const [changed] = await sql`select name, translations from public.categories where id = ${billing?.id ?? ""}`;
    expect(changed).toEqual({ name: "Invoices", translations: { ja: "請求" } });

    const remove = await owner.get(`${path}/${billing?.id}/delete`);
    expect(remove.html.querySelector(".lost")?.text).toContain("The record of which submissions had it");
    await owner.submit(remove.html.querySelector(".confirm form"));
    expect(await names(path)).toEqual(["Search"]);
  });

  test("a refused translation says so at its field", async () => {
    const { html } = await owner.get(`${at}/settings/tags/new`);
    const refused = await owner.submit(html.querySelector("form.settings-form"), {
      name: "mobile",
      "translations.fr": "x".repeat(101),
    });
    expect(refused.status).toBe(422);
    expect(refused.text).toContain('id="translations.fr-problem"');
    expect(await names(`${at}/settings/tags`)).toEqual([]);
  });

  test("a tag goes into another with its submissions", async () => {
    const author = await newUser();
    const id = await newSubmission(organization, author);
    const [from, into] = await sql<{ id: string }[]>`
      insert into public.tags (organization_id, name, slug) values
        (${organization.id}, 'Old', 'old'), (${organization.id}, 'New', 'new') returning id`;
    await sql`insert into public.submission_tags (organization_id, submission_id, tag_id)
      values (${organization.id}, ${id}, ${from?.id ?? ""})`;
    const merged = await owner.post(`${at}/settings/tags/${from?.id}/merge`, { into_id: into?.id ?? "" });
    expect(said(await owner.get(merged.location ?? ""))).toBe("Merged.");
    const tags = await sql`select tag_id from public.submission_tags where submission_id = ${id}`;
    expect(tags).toEqual([{ tag_id: into?.id }]);
  });
});
