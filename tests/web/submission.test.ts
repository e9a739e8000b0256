import { beforeAll, describe, expect, test } from "vitest";
import {
  joinTeam,
  longEnough,
  merge,
  newComment,
  newOrganization,
  newSubmission,
  type Organization,
} from "../api/world.ts";
import { sql } from "../stack.ts";
import { newVisitor, type Person, signedIn, type Visitor } from "./pages.ts";

let organization: Organization;
let author: Person;
let user: Person;
let member: Person;
let admin: Person;
let stranger: Person;
const visitor = newVisitor();

beforeAll(async () => {
  organization = await newOrganization();
  [author, user, member, admin, stranger] = await Promise.all([
    signedIn(),
    signedIn(),
    signedIn({ organization, role: "member" }),
    signedIn({ organization, role: "admin" }),
    signedIn({ organization: await newOrganization(), role: "owner" }),
  ]);
});

const submit = (fields: object = {}, of = organization) => newSubmission(of, { id: author.userId }, fields);

/** The page at its canonical URL. */
async function pageOf(who: Visitor, id: string, query = "") {
  const first = await who.get(`/submissions/${id}${query}`);
  return first.status === 301 ? who.get(first.location ?? "") : first;
}

const formAt = async (who: Visitor, id: string, action: string) =>
  (await pageOf(who, id)).html.querySelector(`form[action="${action}"]`);

const statusOf = async (id: string) => (await sql`select status from public.submissions where id = ${id}`)[0]?.status;

describe("the address of a submission", () => {
  test("has the title after the id, and any other title redirects there with its query", async () => {
    const id = await submit({ title: "Über 100 % of cafés: don’t “stop”!" });
    const own = `/submissions/${id}-uber-100-of-cafes-don-t-stop`;
    for (const wrong of [`/submissions/${id}`, `/submissions/${id}-something-else`, `/submissions/${id}-%E0%A4%A`]) {
      const { status, location } = await visitor.get(`${wrong}?lang=de`);
      expect([status, location], wrong).toEqual([301, `${own}?lang=de`]);
    }
    const { status, html } = await visitor.get(own);
    expect(status).toBe(200);
    expect(html.querySelector("link[rel=canonical]")?.getAttribute("href")).toContain(own);
  });

  test("has a description that ends between characters, and a document's title that turns nothing else", async () => {
    const id = await submit({ title: "Turned \u202Etitle \u2067here", description: `${"a".repeat(159)}👍 and more` });
    const { html } = await pageOf(visitor, id);
    expect(html.querySelector("meta[name=description]")?.getAttribute("content")).toBe(`${"a".repeat(159)}👍`);
    expect(html.querySelector("title")?.text).toMatch(/^Turned title here · /);
  });

  test("keeps the letters of other scripts", async () => {
    const id = await submit({ title: "ガントチャートの表示 й" });
    const { location } = await visitor.get(`/submissions/${id}`);
    expect(decodeURIComponent(location ?? "")).toBe(`/submissions/${id}-ガントチャートの表示-й`);
  });

  test.each(["/submissions/nothing", "/submissions/00000000-0000-4000-8000-000000000000"])(
    "%s returns 404",
    async (path) => {
      expect((await visitor.get(path)).status).toBe(404);
    },
  );
});

describe("visibility", () => {
  const everyone = () => ({ visitor, user, stranger, author, member, admin });
  const seenBy = async (id: string) => {
    const seen: string[] = [];
    for (const [name, who] of Object.entries(everyone())) {
      const { status, text } = await pageOf(who, id);
      if (status === 200) seen.push(name);
      else expect([status, text.includes("A hidden title")], name).toEqual([404, false]);
    }
    return seen;
  };

  test("it is visible to everyone when approved on a public board", async () => {
    expect(await seenBy(await submit())).toEqual(Object.keys(everyone()));
  });

  test.each(["pending", "rejected", "spam"])(
    "it is visible to its author and the team while it is %s",
    async (state) => {
      const id = await submit({ title: "A hidden title" });
      await sql`update public.submissions set moderation_state = ${state} where id = ${id}`;
      expect(await seenBy(id)).toEqual(["author", "member", "admin"]);
      expect((await pageOf(author, id)).html.querySelector(".notice")).not.toBeNull();
    },
  );

  test("it is visible to its author and the team on a private board", async () => {
    const hidden = await newOrganization({ visibility: "private" });
    await joinTeam(admin.userId, hidden, "admin");
    const id = await newSubmission(hidden, { id: admin.userId }, { title: "A hidden title" });
    expect(await seenBy(id)).toEqual(["admin"]);
  });

  test("its team's pages are for admins only", async () => {
    const id = await submit();
    for (const path of ["edit", "delete", "merge", "voters"]) {
      const at = `/submissions/${id}/${path}`;
      expect((await visitor.get(at)).location, at).toMatch(/^\/sign-in/);
      expect((await user.get(at)).status, at).toBe(403);
      expect((await member.get(at)).status, at).toBe(403);
      expect((await stranger.get(at)).status, at).toBe(403);
      expect((await admin.get(at)).status, at).toBe(200);
      expect((await author.get(at)).status, at).toBe(["edit", "delete"].includes(path) ? 200 : 403);
    }
    const tools = (who: Visitor) => formAt(who, id, `/submissions/${id}/status`);
    expect(await tools(admin)).not.toBeNull();
    expect(await tools(member)).toBeNull();
    expect(await tools(author)).toBeNull();
  });
});

test("user text is text, and URLs in it are links with nofollow", async () => {
  const evil = `<img src=x onerror=alert(1)>"'><script>alert(1)</script>`;
  const id = await submit({
    title: `Title ${evil}`,
    description: `${evil} see (https://example.com/a_(b)?x=1&y=<b>) or https://example.org.\n\nNext javascript:alert(1)`,
  });
  await newComment(id, { id: user.userId }, { body: `${evil} http://example.net/` });
  await sql`update public.profiles set name = ${evil} where id = ${user.userId}`;
  await admin.submit(await formAt(admin, id, `/submissions/${id}/status`), { status: "planned", note: evil });
  const { html, text } = await pageOf(admin, id);
  expect(text).not.toMatch(/<img src=x|<script>alert/);
  expect(html.querySelector("h1")?.text).toBe(`Title ${evil}`);
  const links = html.querySelectorAll(".text a").map((link) => link.getAttribute("href"));
  expect(links).toEqual(["https://example.com/a_(b)?x=1&y=", "https://example.org", "http://example.net/"]);
  expect(html.querySelector(".text a")?.getAttribute("rel")).toBe("nofollow ugc noopener");
  expect(html.querySelectorAll(".detail-main > .text p")).toHaveLength(2);
  await sql`update public.profiles set name = 'Una' where id = ${user.userId}`;
});

describe("comments", () => {
  const write = (id: string) => `/submissions/${id}/comments`;

  test("are created and replied to by forms, official ones first", async () => {
    const id = await submit();
    const one = await user.submit(await formAt(user, id, write(id)), { body: "The first" });
    expect(one.status).toBe(303);
    expect(one.location).toMatch(new RegExp(`^/submissions/${id}\\?comment=(.{36})#comment-\\1$`));
    const reply = (await pageOf(author, id)).html.querySelector(".comment form[id^=form-]");
    expect((await author.submit(reply, { body: "A reply" })).status).toBe(303);
    await member.submit(await formAt(member, id, write(id)), { body: "From the team", parent_id: "" });
    const { html } = await pageOf(visitor, id);
    const bodies = html.querySelectorAll(".comment .text").map(({ text }) => text);
    expect(bodies).toEqual(["From the team", "The first", "A reply"]);
    expect(html.querySelector(".replies .text")?.text).toBe("A reply");
    expect(html.querySelector(".comment.official .team")).not.toBeNull();
    expect(html.querySelector("#comments h2")?.text).toBe("3 comments");
    expect(html.querySelector("form[action$=comments]")).toBeNull();
  });

  test("posted twice by one form are one", async () => {
    const [id, other] = [await submit(), await submit()];
    const form = await formAt(user, id, write(id));
    const answers = await Promise.all([1, 2, 3].map(() => user.submit(form, { body: "Twice" })));
    expect(new Set(answers.map(({ status, location }) => `${status} ${location}`)).size).toBe(1);
    expect(answers[0]?.location).toMatch(new RegExp(`^/submissions/${id}\\?comment=`));
    const edited = await user.submit(form, { body: "Twice, and longer" });
    expect(edited.status).toBe(422);
    expect(edited.html.querySelector(".notice.problem")?.text).toContain("already sent this form");
    expect(edited.text).toContain("Twice, and longer");
    const elsewhere = Object.fromEntries([
      ["form_id", form?.querySelector("[name=form_id]")?.getAttribute("value") ?? ""],
    ]);
    expect((await user.post(write(other), { body: "Twice", ...elsewhere })).status).toBe(422);
    const said = await sql`select submission_id, body from public.comments where submission_id in (${id}, ${other})`;
    expect(said).toEqual([{ submission_id: id, body: "Twice" }]);
  });

  test("that are rejected are shown again with the entered text, in place", async () => {
    const id = await submit();
    const parent = await newComment(id, { id: user.userId });
    const long = "x".repeat(2001);
    const { status, html } = await user.post(write(id), { body: long, parent_id: parent });
    expect(status).toBe(422);
    expect(html.querySelector(`#body-${parent}`)?.text).toBe(long);
    expect(html.querySelector(`#body-${parent}-problem`)).not.toBeNull();
    expect(html.querySelector(`#form-${parent}`)?.parentNode?.getAttribute("open")).toBeDefined();
    expect(html.querySelector(`#body-${id}`)?.text).toBe("");
  });

  test("are edited by their author within a quarter of an hour", async () => {
    const id = await submit();
    const comment = await newComment(id, { id: user.userId });
    const edit = `/comments/${comment}/edit`;
    expect((await pageOf(user, id)).html.querySelector(`a[href="${edit}"]`)?.text).toBe("Edit (15 min left)");
    expect((await pageOf(admin, id)).html.querySelector(`a[href="${edit}"]`)).toBeNull();
    expect((await admin.get(edit)).status).toBe(403);
    const form = (await user.get(edit)).html.querySelector("main form");
    const { status, location } = await user.submit(form, { body: "Changed" });
    expect([status, location]).toEqual([303, `/submissions/${id}?comment=${comment}#comment-${comment}`]);
    expect((await pageOf(visitor, id)).html.querySelector(`#comment-${comment}`)?.text).toMatch(/edited.*Changed/s);
    await sql`update public.comments set created_at = now() - interval '16 minutes' where id = ${comment}`;
    expect((await pageOf(user, id)).html.querySelector(`a[href="${edit}"]`)).toBeNull();
    expect((await user.get(edit)).html.querySelector("main form")).toBeNull();
    expect((await user.submit(form, { body: "Too late" })).status).toBe(403);
  });

  test("are deleted after a confirmation, with their replies", async () => {
    const id = await submit();
    const comment = await newComment(id, { id: user.userId });
    await newComment(id, { id: author.userId }, { parent_id: comment });
    expect((await author.get(`/comments/${comment}/delete`)).status).toBe(403);
    const form = (await user.get(`/comments/${comment}/delete`)).html.querySelector("main form");
    expect((await user.submit(form)).location).toBe(`/submissions/${id}#comments`);
    expect((await pageOf(visitor, id)).html.querySelectorAll(".comment")).toHaveLength(0);
  });

  test("are voted for, and the vote is removed", async () => {
    const id = await submit();
    const comment = await newComment(id, { id: user.userId });
    const button = async () => (await pageOf(author, id)).html.querySelector(`#vote-${comment} button`);
    const vote = async () => author.submit(await formAt(author, id, `/comments/${comment}/vote`));
    expect((await vote()).location).toContain(`#comment-${comment}`);
    expect((await button())?.getAttribute("aria-pressed")).toBe("true");
    expect((await button())?.getAttribute("aria-label")).toBe("Remove your vote: 1");
    await vote();
    expect((await button())?.getAttribute("aria-label")).toBe("Vote: 0");
  });

  test("that are pending are visible to their author and the team, until an admin approves them", async () => {
    const id = await submit();
    const comment = await newComment(id, { id: user.userId });
    await sql`update public.comments set moderation_state = 'pending' where id = ${comment}`;
    const isSeen = async (who: Visitor) => (await pageOf(who, id)).html.querySelector(`#comment-${comment}`) !== null;
    expect([await isSeen(visitor), await isSeen(author), await isSeen(user), await isSeen(member)]).toEqual([
      false,
      false,
      true,
      true,
    ]);
    const action = `/submissions/${id}/moderation?comment=${comment}#comment-${comment}`;
    expect(await formAt(member, id, action)).toBeNull();
    const fields = { target_type: "comment", target_id: comment, action: "approve" };
    expect((await user.post(action, fields)).status).toBe(403);
    expect((await admin.submit(await formAt(admin, id, action), { action: "approve" })).status).toBe(303);
    expect(await isSeen(visitor)).toBe(true);
  });

  test("are paginated, and long threads have their own page", async () => {
    const id = await submit();
    const root = await newComment(id, { id: user.userId }, { body: "The root" });
    const rows = (count: number, parent: string | null) => sql`
      insert into public.comments (submission_id, parent_id, body, author_id)
      select ${id}, ${parent}, 'Comment ' || n, ${user.userId} from generate_series(1, ${count}) n`;
    await rows(60, null);
    await rows(520, root);
    const { html } = await pageOf(visitor, id);
    expect(html.querySelectorAll(".comment")).toHaveLength(500);
    const more = html.querySelector(".more-replies")?.getAttribute("href") ?? "";
    const thread = await visitor.get(more.split("#")[0] ?? "");
    expect(thread.html.querySelectorAll(".comment")).toHaveLength(50);
    expect((await pageOf(visitor, id, "?page=2")).html.querySelectorAll(".comment")).toHaveLength(11);
  });
});

describe("the address of a comment", () => {
  /** Sixty threads, the last comment, and one at the end of a thread of 520 replies that are 60 deep at its last. */
  async function crowded() {
    const id = await submit();
    const rows = (count: number, parent: string | null) => sql`
      insert into public.comments (submission_id, parent_id, body, author_id)
      select ${id}, ${parent}, 'Comment ' || n, ${user.userId} from generate_series(1, ${count}) n`;
    const root = await newComment(id, { id: user.userId }, { body: "The root" });
    await rows(60, null);
    await rows(520, root);
    const last = await newComment(id, { id: user.userId }, { body: "The last" });
    let deep = root;
    for (let depth = 1; depth <= 60; depth++) deep = await newComment(id, { id: author.userId }, { parent_id: deep });
    return { id, root, last, deep };
  }
  const notice = "The comment you’re looking for can’t be shown. It may have been deleted.";
  const shown = async (who: Visitor, id: string, comment: string) => {
    const { html } = await pageOf(who, id, `?comment=${comment}`);
    return [
      html.querySelector("[aria-current=true].comment")?.getAttribute("id"),
      html.querySelectorAll("#comments > .notice").map(({ text }) => text),
    ];
  };

  test("shows it on whichever page it is, and however deep in a thread", async () => {
    const { id, root, last, deep } = await crowded();
    for (const comment of [root, last, deep, last.toUpperCase()])
      expect(await shown(visitor, id, comment)).toEqual([`comment-${comment.toLowerCase()}`, []]);
    const official = await newComment(id, { id: member.userId });
    expect(await shown(visitor, id, official)).toEqual([`comment-${official}`, []]);
    expect(await shown(visitor, id, last)).toEqual([`comment-${last}`, []]);
    const { html } = await pageOf(visitor, id, `?comment=${last}&page=1&thread=${root}`);
    expect(html.querySelector(`#comment-${last}`)).not.toBeNull();
    expect(html.querySelector("link[rel=canonical]")?.getAttribute("href")).not.toContain("?");
    expect(html.querySelector("#comments > .link")?.getAttribute("href")).toMatch(/#comments$/);
    const first = await pageOf(visitor, id, `?comment=${root}`);
    expect(first.html.querySelector("#comments > [rel=next]")?.getAttribute("href")).toMatch(/\?page=2$/);
  });

  test("is where whoever writes, votes, replies or edits arrives", async () => {
    const { id, last } = await crowded();
    const posted = await user.submit(await formAt(user, id, write(id)), { body: "Mine at the end" });
    const at = new URL(posted.location ?? "", "http://x");
    expect((await pageOf(user, id, at.search)).html.querySelector(at.hash)?.text).toContain("Mine at the end");
    const page = await pageOf(user, id, "?page=2");
    const voted = await user.submit(page.html.querySelector(`#vote-${last}`));
    expect(voted.location).toMatch(new RegExp(`\\?page=2#comment-${last}$`));
    const reply = page.html.querySelector(`#form-${last}`);
    const refused = await user.submit(reply, { body: "x".repeat(2001) });
    expect(refused.status).toBe(422);
    expect(refused.html.querySelector(`#body-${last}`)?.text).toHaveLength(2001);
    const answered = await user.submit(reply, { body: "A reply at the end" });
    const there = new URL(answered.location ?? "", "http://x");
    expect((await pageOf(visitor, id, there.search)).html.querySelector(there.hash)).not.toBeNull();
  });

  test("of none that the reader may see says so, and nothing else", async () => {
    const id = await submit();
    const [hidden, root] = [await newComment(id, { id: user.userId }), await newComment(id, { id: user.userId })];
    const below = await newComment(id, { id: author.userId }, { parent_id: root });
    await sql`update public.comments set moderation_state = 'rejected' where id in (${hidden}, ${root})`;
    const foreign = await newComment(
      await newSubmission(await newOrganization(), { id: author.userId }),
      { id: user.userId },
      { body: "From abroad" },
    );
    const elsewhere = await newComment(await submit(), { id: user.userId });
    const never = "00000000-0000-4000-8000-000000000000";
    for (const comment of [hidden, below, foreign, elsewhere, never])
      expect(await shown(visitor, id, comment), comment).toEqual([undefined, [notice]]);
    for (const comment of ["nothing", "", "1' or true --"])
      expect(await shown(visitor, id, encodeURIComponent(comment)), comment).toEqual([undefined, []]);
    expect(await shown(user, id, hidden)).toEqual([`comment-${hidden}`, []]);
    expect(await shown(admin, id, below)).toEqual([`comment-${below}`, []]);
  });

  test("leads on to the submission that its own was merged into, while it is", async () => {
    const [source, target] = [await submit({ title: "Source" }), await submit({ title: "Target" })];
    const comment = await newComment(source, { id: user.userId });
    await merge(source, target);
    for (const below of ["", "/embed"]) {
      const { status, location } = await visitor.get(`${below}/submissions/${source}-source?comment=${comment}`);
      expect([status, location]).toEqual([
        302,
        `${below}/submissions/${target}-target?comment=${comment}#comment-${comment}`,
      ]);
    }
    expect(
      (await pageOf(visitor, source, `?comment=${await newComment(await submit(), { id: user.userId })}`)).status,
    ).toBe(200);
  });

  const write = (id: string) => `/submissions/${id}/comments`;
});

describe("its author and followers", () => {
  test("follow and unfollow it", async () => {
    const id = await submit();
    const action = `/submissions/${id}/follow`;
    const state = async () => (await formAt(user, id, action))?.querySelector("button");
    expect((await state())?.getAttribute("aria-pressed")).toBe("false");
    await user.submit(await formAt(user, id, action));
    expect((await state())?.getAttribute("aria-pressed")).toBe("true");
    await user.submit(await formAt(user, id, action));
    expect((await state())?.getAttribute("aria-pressed")).toBe("false");
    expect(await formAt(visitor, id, action)).toBeNull();
  });

  test("edit and delete it, with errors at their fields", async () => {
    const id = await submit();
    const form = (await author.get(`/submissions/${id}/edit`)).html.querySelector("#edit");
    const refused = await author.submit(form, { title: "No", description: longEnough });
    expect(refused.status).toBe(422);
    expect(refused.html.querySelector("#title")?.getAttribute("value")).toBe("No");
    expect(refused.html.querySelector("#title-problem")).not.toBeNull();
    expect(refused.html.querySelector("#tracker_issue_url")).toBeNull();
    expect((await author.submit(form, { title: "A better title" })).status).toBe(303);
    expect((await pageOf(visitor, id)).html.querySelector("h1")?.text).toBe("A better title");
    expect((await author.submit(form, { tracker_issue_url: "https://tracker.example/1" })).status).toBe(403);
    const question = (await author.get(`/submissions/${id}/delete`)).html.querySelector("main form");
    expect((await author.submit(question)).location).toBe(`/o/${organization.slug}/`);
    expect((await pageOf(visitor, id)).status).toBe(404);
  });
});

describe("admins", () => {
  test("change the status, with a note in the history", async () => {
    const id = await submit();
    const action = `/submissions/${id}/status`;
    const form = await formAt(admin, id, action);
    expect((await admin.submit(form, { status: "planned", note: "In spring" })).status).toBe(303);
    const history = (await pageOf(visitor, id)).html.querySelector(".history");
    expect(history?.text).toMatch(/Planned.*In spring.*Submitted/s);
    const fields = { _method: "patch", status: "declined", notify: "true" };
    expect((await member.post(action, fields)).status).toBe(403);
    expect((await stranger.post(action, fields)).status).toBe(403);
    expect((await admin.post(action, { ...fields, status: "bogus" })).status).toBe(422);
    expect(await statusOf(id)).toBe("planned");
  });

  test("tag it, and the audit trail records it", async () => {
    const tag = (slug: string) =>
      sql`insert into public.tags (organization_id, name, slug) values (${organization.id}, ${slug}, ${slug})`;
    await tag("red");
    await tag("green");
    const id = await submit();
    const action = `/submissions/${id}/tags?organization=${organization.slug}`;
    const tags = async () => (await pageOf(visitor, id)).html.querySelectorAll("a.tag").map(({ text }) => text);
    expect((await admin.post(action, { tags: "red" })).status).toBe(303);
    expect(await tags()).toEqual(["red"]);
    expect((await admin.post(action, { had: "red", tags: "green" })).status).toBe(303);
    expect(await tags()).toEqual(["green"]);
    expect((await member.post(action, { had: "green" })).status).toBe(403);
    const trail = await sql`select action from private.audit_log where target_id = ${id} order by created_at`;
    expect(trail.map((entry) => entry.action)).toEqual([
      "submission.add_tags",
      "submission.add_tags",
      "submission.remove_tags",
    ]);
  });

  test("merge it into another found by text or URL, and revert that", async () => {
    const [source, target] = [await submit({ title: "Walrus export" }), await submit({ title: "Narwhal import" })];
    const other = await newSubmission(await newOrganization(), { id: author.userId }, { title: "Narwhal abroad" });
    const found = async (q: string) =>
      (await admin.get(`/submissions/${source}/merge?q=${encodeURIComponent(q)}`)).html
        .querySelectorAll(".row h2")
        .map(({ text }) => text);
    expect(await found("narwhal")).toEqual(["Narwhal import"]);
    expect(await found(`http://x/submissions/${target}-narwhal`)).toEqual(["Narwhal import"]);
    expect(await found(other)).toEqual([]);
    const form = (await admin.get(`/submissions/${source}/merge?q=narwhal`)).html.querySelector(".row form");
    const merged = await admin.submit(form);
    expect([merged.status, merged.location]).toEqual([303, `/submissions/${target}-narwhal-import`]);
    const page = await pageOf(visitor, source);
    expect(page.html.querySelector(".notice a")?.getAttribute("href")).toBe(merged.location);
    expect(page.html.querySelector("link[rel=canonical]")?.getAttribute("href")).toContain(target);
    expect(page.html.querySelector(".vote-form")).toBeNull();
    const undo = await formAt(admin, source, `/submissions/${source}/unmerge`);
    expect((await admin.submit(undo)).status).toBe(303);
    expect(await statusOf(source)).toBe("open");
  });

  test("see the voters with their names", async () => {
    const id = await submit();
    await user.post(`/submissions/${id}/vote`);
    const { html } = await admin.get(`/submissions/${id}/voters`);
    expect(html.querySelectorAll(".row b").map(({ text }) => text)).toContain("Una");
  });

  test("approve pending content", async () => {
    const id = await submit();
    await sql`update public.submissions set moderation_state = 'pending' where id = ${id}`;
    const action = `/submissions/${id}/moderation`;
    const read = await formAt(admin, id, action);
    await sql`update public.submissions set title = 'Nobody has read this' where id = ${id}`;
    const refused = await admin.submit(read, { action: "approve" });
    expect([refused.status, refused.html.querySelector("h1")?.text.trim()]).toEqual([422, "Nobody has read this"]);
    expect(refused.html.querySelector(".problem")?.text).toContain("changed after you read it");
    expect((await pageOf(visitor, id)).status).toBe(404);
    expect((await admin.submit(await formAt(admin, id, action), { action: "approve" })).status).toBe(303);
    expect((await pageOf(visitor, id)).status).toBe(200);
  });
});

test("a merged submission accepts no comments", async () => {
  const [source, target] = [await submit(), await submit()];
  await merge(source, target);
  const { status, html } = await user.post(`/submissions/${source}/comments`, { body: "Here?" });
  expect(status).toBe(422);
  expect(html.querySelector(".notice a")?.getAttribute("href")).toContain(target);
});

test("forms of another origin have no effect", async () => {
  const id = await submit();
  const comment = await newComment(id, { id: admin.userId });
  const [evil, target] = [{ origin: "https://evil.example" }, await submit()];
  const posts: [string, Record<string, string>][] = [
    [`/submissions/${id}/comments`, { body: "Evil" }],
    [`/submissions/${id}`, { _method: "delete" }],
    [`/submissions/${id}`, { _method: "patch", title: "Evil title" }],
    [`/submissions/${id}/status`, { _method: "patch", status: "declined" }],
    [`/submissions/${id}/merge`, { source_ids: id, target_id: target }],
    [`/submissions/${id}/moderation`, { target_type: "submission", target_id: id, action: "spam" }],
    [`/comments/${comment}`, { _method: "delete" }],
    [`/comments/${comment}/vote`, {}],
    [`/o/${organization.slug}/new`, { type: "idea", title: "Evil idea", description: longEnough, checked: "true" }],
  ];
  for (const [path, fields] of posts) expect((await admin.post(path, fields, evil)).status, path).toBe(403);
  const [kept] = await sql`
    select s.title, s.status, s.moderation_state, s.comment_count,
      (select vote_count from public.comments where id = ${comment}) as votes
    from public.submissions s where s.id = ${id}`;
  expect(kept).toEqual({
    title: "A submission",
    status: "open",
    moderation_state: "approved",
    comment_count: 1,
    votes: 0,
  });
});

test("the realtime token is returned only to signed-in users on pages of this site", async () => {
  expect(JSON.parse((await visitor.get("/realtime-token")).text)).toEqual({ token: null });
  const { text, headers } = await user.get("/realtime-token");
  const claims = JSON.parse(Buffer.from(JSON.parse(text).token.split(".")[1], "base64url").toString());
  expect(claims.sub).toBe(user.userId);
  expect(headers["cross-origin-resource-policy"]).toBe("same-origin");
  expect(headers["access-control-allow-origin"]).toBeUndefined();
});
