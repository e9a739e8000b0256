import { beforeAll, describe, expect, test } from "vitest";
import {
  joinTeam,
  newComment,
  newOrganization,
  newSubmission,
  newUser,
  type Organization,
  textOf,
} from "../api/world.ts";
import { sql } from "../stack.ts";
import { type Person, signedIn } from "./pages.ts";

// A team's daily work on the dashboard without JavaScript: overview, inbox, submissions.

let organization: Organization;
let admin: Person;
let author: { id: string };
let at: string;

beforeAll(async () => {
  organization = await newOrganization();
  admin = await signedIn({ organization, role: "admin" });
  author = await newUser("Paula Poster");
  at = `/o/${organization.slug}/admin`;
});

const waiting = async (title: string) => {
  const id = await newSubmission(organization, author, { title });
  await sql`update public.submissions set moderation_state = 'pending' where id = ${id}`;
  return id;
};
const stateOf = async (id: string) => {
  const [row] = await sql<{ state: string }[]>`
    select moderation_state as state from public.submissions where id = ${id}
    union all select moderation_state from public.comments where id = ${id}`;
  return row?.state;
};
const rowOf = async (id: string) =>
  (
    await sql<{ status: string; category_id: string | null; merged_into_id: string | null }[]>`
      select status, category_id, merged_into_id from public.submissions where id = ${id}`
  )[0];
const form = (fields: [string, string][]) => new URLSearchParams(fields).toString();

describe("the overview", () => {
  test("counts a time of one's choice, against the time before", async () => {
    const own = await newOrganization();
    await joinTeam(admin.userId, own, "owner");
    const submitted = (days: number) =>
      newSubmission(own, author, { created_at: new Date(Date.now() - days * 86_400_000) });
    for (const days of [1, 2, 3, 10]) await submitted(days);
    const { html } = await admin.get(`/o/${own.slug}/admin?days=7`);
    const stats = html.querySelectorAll(".stat").map(({ text }) => text.replace(/\s+/g, " ").trim());
    expect(stats[0]).toBe("Submissions3+200%");
    expect(html.querySelectorAll("#plot-numbers tbody tr")).toHaveLength(7);
    expect(html.querySelector("svg[role=img]")?.getAttribute("aria-label")).toMatch(/^Votes: 0–\d$/);
    expect(html.querySelector("#by-status")?.text).toContain("Open");
    const named = await admin.get(`/o/${own.slug}/admin?from=2025-01-01&to=2025-12-31&plot=comments`);
    expect(named.status).toBe(200);
    // Grouped by weeks: a plot of 365 days is not legible.
    expect(named.html.querySelectorAll("#plot-numbers tbody tr").length).toBeLessThan(60);
    expect(named.html.querySelector(".stat")?.text).toContain("no change");
  });

  test("takes an address with nonsense for the usual one", async () => {
    for (const query of ["days=x", "days=-1", "from=yesterday", "plot=constructor"])
      expect((await admin.get(`${at}?${query}`)).status, query).toBe(200);
  });
});

const read = async (type: string, id: string) => `${type}:${id}@${await textOf(id)}`;

describe("the inbox", () => {
  test("shows what waits, with its author and trust, and takes a verdict and its undoing", async () => {
    const id = await waiting("Waits for a verdict");
    const { html } = await admin.get(`${at}/inbox`);
    const entry = html.querySelector(`#item-${id}`);
    expect(entry?.text).toContain("Paula Poster");
    expect(entry?.text).toContain("Not trusted");
    expect(html.querySelector("#waiting-count")?.text).toMatch(/\d/);
    const sent = await admin.submit(entry?.querySelector("form") ?? null, { action: "reject" });
    expect(sent.status).toBe(303);
    expect(await stateOf(id)).toBe("rejected");
    const after = await admin.get(sent.location ?? "");
    expect(after.html.querySelector(".notice.done")?.text).toContain("1 rejected.");
    expect(after.html.querySelector(`#item-${id}`)).toBeNull();
    const undone = await admin.submit(after.html.querySelector(".notice.done form"), { action: "reopen" });
    expect(undone.status).toBe(303);
    expect(await stateOf(id)).toBe("pending");
    expect((await admin.get(undone.location ?? "")).html.querySelector(`#item-${id}`)).not.toBeNull();
  });

  test("takes one verdict for several, says what could not be done, and trusts an author with an approval", async () => {
    const on = await newSubmission(organization, author, { title: "Discussed" });
    const [first, root] = [await waiting("In bulk"), await newComment(on, await newUser("Rita Root"))];
    const reply = await newComment(on, await newUser("Rob Reply"), { parent_id: root });
    await sql`update public.comments set moderation_state = 'pending' where id in (${root}, ${reply})`;
    const refused = await admin.postRaw(
      `${at}/inbox`,
      form([
        ["items", await read("submission", first)],
        ["items", await read("comment", reply)],
        ["action", "approve"],
        ["trust_author", "true"],
      ]),
    );
    expect(refused.status).toBe(422);
    expect(refused.html.querySelector("[role=alert]")?.text).toContain("1 item couldn’t be updated");
    expect([await stateOf(first), await stateOf(reply)]).toEqual(["approved", "pending"]);
    const done = await admin.postRaw(
      `${at}/inbox`,
      form([
        ["items", await read("comment", root)],
        ["items", await read("comment", reply)],
        ["action", "approve"],
      ]),
    );
    expect(done.location).toContain("done=approve&count=2");
    expect([await stateOf(root), await stateOf(reply)]).toEqual(["approved", "approved"]);
    const next = await waiting("By a trusted author");
    const { html } = await admin.get(`${at}/inbox?type=submission`);
    expect(html.querySelector(`#item-${next}`)?.text).toContain("Trusted author");
  });

  test("approves no text that was changed after it was read, and shows the present one", async () => {
    const id = await waiting("A harmless request");
    const form = (await admin.get(`${at}/inbox`)).html.querySelector(`#item-${id} form`);
    await sql`update public.submissions set title = 'Nobody has read this' where id = ${id}`;
    const { status, html } = await admin.submit(form, { action: "approve" });
    expect(status).toBe(422);
    expect(html.querySelector("[role=alert]")?.text).toContain("1 item was edited after you read it");
    expect(html.querySelector(`#item-${id}`)?.text).toMatch(/Nobody has read this.*edited/s);
    expect(await stateOf(id)).toBe("pending");
  });

  test("undoes nothing that an address makes up", async () => {
    const { html } = await admin.get(`${at}/inbox?done=approve&undo=submission:x,"><script>`);
    expect(html.querySelector(".notice.done form")).toBeNull();
    expect((await admin.get(`${at}/inbox?done=constructor`)).html.querySelector(".notice.done")).toBeNull();
    for (const items of ["", "submission:1", "survey:00000000-0000-0000-0000-000000000000"])
      expect((await admin.post(`${at}/inbox`, { items, action: "approve" })).status, items).toBe(422);
  });
});

describe("the table of submissions", () => {
  test("has all filters and the order in its address", async () => {
    const id = await newSubmission(organization, author, { title: "Zebra stripes", type: "problem" });
    await newSubmission(organization, author, { title: "Aardvark snouts" });
    const { html } = await admin.get(`${at}/submissions?q=zebra&type=problem&status=open&sort=title&order=asc`);
    expect(html.querySelectorAll("#submissions tbody tr").map((row) => row.id)).toEqual([`row-${id}`]);
    expect(html.querySelector("th[aria-sort]")?.getAttribute("aria-sort")).toBe("ascending");
    expect(html.querySelector("th[aria-sort] a")?.getAttribute("href")).toContain("order=desc");
    expect(html.querySelector("#filters select[name=type] option[selected]")?.getAttribute("value")).toBe("problem");
    expect((await admin.get(`${at}/submissions?status=&category=`)).status).toBe(200);
  });

  test("changes what is chosen and keeps the filters", async () => {
    const ids = [await newSubmission(organization, author), await newSubmission(organization, author)];
    const [category] = await sql<{ id: string }[]>`
      insert into public.categories (organization_id, name, slug, color) values (${organization.id}, 'Kind', ${`k-${ids[0]}`}, '#123456') returning id`;
    const chosen = ids.map((id): [string, string] => ["ids", id]);
    const status = await admin.postRaw(
      `${at}/submissions?type=idea`,
      form([...chosen, ["action", "set_status"], ["status", "planned"], ["note", "Soon"]]),
    );
    expect(status.location).toBe(`${at}/submissions?type=idea&done=set_status&count=2`);
    expect((await admin.get(status.location ?? "")).html.querySelector(".notice.done")?.text).toContain(
      "Status set for 2 submissions.",
    );
    await admin.postRaw(
      `${at}/submissions`,
      form([...chosen, ["action", "set_category"], ["category", category?.id ?? ""]]),
    );
    expect(await Promise.all(ids.map(rowOf))).toMatchObject([
      { status: "planned", category_id: category?.id },
      { status: "planned", category_id: category?.id },
    ]);
  });

  test("says what failed of several, by title, and that something has to be chosen", async () => {
    const elsewhere = await newSubmission(await newOrganization(), author);
    const id = await newSubmission(organization, author, { title: "Of our own" });
    const mixed = await admin.postRaw(
      `${at}/submissions`,
      form([
        ["ids", id],
        ["ids", elsewhere],
        ["action", "set_status"],
        ["status", "declined"],
      ]),
    );
    expect(mixed.status).toBe(422);
    expect(mixed.html.querySelector("[role=alert]")?.text).toMatch(
      /1 submission wasn’t changed:[\s\S]*1 other was changed/,
    );
    expect([(await rowOf(id))?.status, (await rowOf(elsewhere))?.status]).toEqual(["declined", "open"]);
    const none = await admin.post(`${at}/submissions`, { action: "set_category", category: "" });
    expect(none.status).toBe(422);
    expect(none.html.querySelector("[role=alert]")?.text).toContain("Select at least one");
  });

  test("says what is lost before it deletes", async () => {
    const id = await newSubmission(organization, author, { title: "About to go" });
    await newComment(id, author);
    const { html } = await admin.get(`${at}/submissions/delete?ids=${id}&ids=nonsense`);
    const asked = html.querySelector(".confirm");
    expect(asked?.text).toMatch(/About to go[\s\S]*1 vote[\s\S]*1 comment/);
    const gone = await admin.submit(asked?.querySelector("form") ?? null);
    expect(gone.location).toContain("done=delete&count=1");
    expect(await rowOf(id)).toBeUndefined();
  });
});

describe("a merge", () => {
  test("is planned, looked at, done and undone", async () => {
    const [target, source, third] = [
      await newSubmission(organization, author, { title: "Dark colors at night" }),
      await newSubmission(organization, await newUser(), { title: "Dark colours for nights" }),
      await newSubmission(organization, author, { title: "Invoices as documents" }),
    ];
    await sql`insert into public.votes (organization_id, submission_id, user_id) values (${organization.id}, ${source}, ${author.id})`;
    const picked = await admin.get(`${at}/submissions/merge?ids=${source}`);
    const into = picked.html
      .querySelectorAll("a")
      .find((link) => link.getAttribute("aria-label") === "Merge into this: Dark colors at night");
    expect(into).toBeDefined();
    const found = await admin.get(`${at}/submissions/merge?ids=${source}&q=invoices`);
    expect(found.html.querySelector("main")?.text).toContain("Invoices as documents");
    expect(third).toBeDefined();
    const plan = await admin.get(into?.getAttribute("href")?.replaceAll("&amp;", "&") ?? "");
    // The author of the target voted for both.
    expect(plan.html.querySelector("#merge-makes")?.text).toMatch(/2 votes in total[\s\S]*1 duplicate vote/);
    const merged = await admin.submit(plan.html.querySelector(".confirm form"));
    expect(merged.location).toBe(`${at}/submissions/merged?done=merged&count=1`);
    expect((await rowOf(source))?.merged_into_id).toBe(target);
    const list = await admin.get(merged.location ?? "");
    const undone = await admin.submit(list.html.querySelector(`#row-${source} form`));
    expect(undone.location).toBe(`${at}/submissions/merged?done=unmerged`);
    expect((await rowOf(source))?.merged_into_id).toBeNull();
  });

  test("is offered for those that look alike", async () => {
    const own = await newOrganization();
    await joinTeam(admin.userId, own, "owner");
    for (const title of [
      "Export the board as a spreadsheet",
      "Export board as spreadsheet",
      "Export a board as a spreadsheet file",
    ])
      await newSubmission(own, author, { title });
    await newSubmission(own, author, {
      title: "Quieter notifications on phones",
      description: "Mine ring all day, and I cannot hear myself think.",
    });
    const { html } = await admin.get(`/o/${own.slug}/admin/submissions/similar`);
    expect(html.querySelectorAll("main section h2").map(({ text }) => text)).toEqual(["3 similar submissions"]);
    expect(html.querySelectorAll("main section li")).toHaveLength(3);
  });

  test("does not show what is of another organization", async () => {
    const foreign = await newSubmission(await newOrganization(), author, { title: "Of strangers" });
    const own = await newSubmission(organization, author);
    const { html } = await admin.get(`${at}/submissions/merge?ids=${foreign}&ids=${own}`);
    expect(html.querySelector("main")?.text).not.toContain("Of strangers");
  });
});
