import { beforeAll, describe, expect, test } from "vitest";
import { messagesOf } from "../../functions/words/index.ts";
import { joinTeam, newOrganization, newSubmission, newUser, type Organization } from "../api/world.ts";
import { sql } from "../stack.ts";
import { newVisitor, signedIn } from "./pages.ts";

let organization: Organization;
let path: string;

beforeAll(async () => {
  organization = await newOrganization();
  path = `/o/${organization.slug}`;
});

const titlesAt = async (at: string, visitor = newVisitor()) =>
  (await visitor.get(at)).html.querySelectorAll(".row h2").map((title) => title.text.trim());

async function submissionTitled(title: string, fields: object = {}): Promise<string> {
  const id = await newSubmission(organization, await newUser());
  await sql`update public.submissions set ${sql({ title, ...fields })} where id = ${id}`;
  return id;
}

describe("the board", () => {
  test("has instructions when it is empty", async () => {
    const empty = await newOrganization();
    const { status, html } = await newVisitor().get(`/o/${empty.slug}`);
    expect(status).toBe(200);
    expect(html.querySelector(".empty a")?.getAttribute("href")).toBe(`/o/${empty.slug}/new`);
  });

  test("is sorted and filtered by its query like the API's list", async () => {
    await submissionTitled("Alpha plans", { status: "planned" });
    await submissionTitled("Beta opens", { type: "problem" });
    expect(await titlesAt(`${path}?sort=title&order=asc`)).toEqual(["Alpha plans", "Beta opens"]);
    expect(await titlesAt(`${path}?status=planned`)).toEqual(["Alpha plans"]);
    expect(await titlesAt(`${path}?type=problem`)).toEqual(["Beta opens"]);
    const { html } = await newVisitor().get(`${path}?status=planned`);
    expect(html.querySelector(".filters a[aria-current] .status")?.text).toBe("Planned");
  });

  test("filtered by author names the author, also after a search", async () => {
    const author = await newUser();
    const id = await newSubmission(organization, author, { title: "Gamma of one author" });
    const { html } = await newVisitor().get(`${path}?author=${author.id}`);
    expect(html.querySelector(".chosen .chip")?.text).toBe(author.name);
    const search = html.querySelectorAll("search input");
    expect(search.map((input) => [input.getAttribute("name"), input.getAttribute("value")])).toContainEqual([
      "author",
      author.id,
    ]);
    await sql`update public.submissions set moderation_state = 'pending' where id = ${id}`;
    const hidden = await newVisitor().get(`${path}?author=${author.id}`);
    expect(hidden.html.querySelector(".chosen .chip")?.text).toBe(author.id);
  });

  test("highlights search matches, and shows user text as text", async () => {
    await submissionTitled("A <script>alert(1)</script> & pelican");
    const { html, text } = await newVisitor().get(`${path}?q=pelican`);
    expect(html.querySelector(".row h2 mark")?.text).toBe("pelican");
    expect(html.querySelector(".row h2")?.text.trim()).toBe("A <script>alert(1)</script> & pelican");
    expect(text).not.toContain("<script>alert");
  });

  test("comes best first with words, says when nothing has all of them, and links a known word", async () => {
    const board = await newOrganization();
    const author = await newUser();
    await newSubmission(board, author, { title: "Roadmap for mobile" });
    await newSubmission(board, author, { title: "Weekly summary", description: "The roadmap in a mail, please." });
    const at = `/o/${board.slug}`;
    const visitor = newVisitor();
    expect(await titlesAt(`${at}?q=roadmap`, visitor)).toEqual(["Roadmap for mobile", "Weekly summary"]);
    const { html } = await visitor.get(`${at}?q=roadmap`);
    expect(html.querySelector(".tabs a[aria-current]")?.text).toBe("Best match");
    const some = await visitor.get(`${at}?q=roadmap+bananas`);
    expect(some.html.querySelector(".chosen [role=status]")?.text).toBe(
      "No submission contains all of these words. These contain some of them.",
    );
    const typo = await visitor.get(`${at}?q=wekly`);
    const link = typo.html.querySelector(".chosen a[href*=weekly]");
    expect([link?.text, await titlesAt(link?.getAttribute("href") ?? "", visitor)]).toEqual([
      "weekly",
      ["Weekly summary"],
    ]);
  });

  test("is shown anew to each in their language, theme and session, and as it is now", async () => {
    const of = await newOrganization();
    const at = `/o/${of.slug}`;
    const id = await newSubmission(of, await newUser());
    const votes = async (visitor = newVisitor()) =>
      (await visitor.get(at)).html.querySelector(`#vote-${id} .number`)?.text;
    const dark = newVisitor([{ name: "theme", value: "dark" }]);
    const user = await signedIn();
    for (let round = 0; round < 2; round++) {
      expect((await newVisitor().get(at)).html.querySelector("html")?.getAttribute("data-theme")).toBeUndefined();
      expect((await dark.get(at)).html.querySelector("html")?.getAttribute("data-theme")).toBe("dark");
      expect((await newVisitor().get(at)).html.querySelector("html")?.getAttribute("lang")).toBe("en");
      expect(
        (await newVisitor().get(at, { "accept-language": "de" })).html.querySelector("html")?.getAttribute("lang"),
      ).toBe("de");
      expect((await user.get(at)).html.querySelector("#account")).not.toBeNull();
      expect((await newVisitor().get(at)).html.querySelector("#account")).toBeNull();
    }
    expect(await votes()).toBe("1");
    await user.post(`/submissions/${id}/vote`);
    expect([await votes(), await votes(), await votes(user)]).toEqual(["2", "2", "2"]);
    await sql`update public.organizations set visibility = 'private' where id = ${of.id}`;
    expect((await newVisitor().get(at)).status).toBe(404);
  });

  test("is paginated by cursor", async () => {
    const visitor = newVisitor();
    const first = await visitor.get(`${path}?limit=1&sort=title&order=asc`);
    const next = first.html.querySelector("a[rel=next]")?.getAttribute("href") ?? "";
    const [one] = first.html.querySelectorAll(".row h2").map((title) => title.text.trim());
    const [two] = await titlesAt(next.replaceAll("&amp;", "&"));
    expect(two).toBeDefined();
    expect(two).not.toBe(one);
  });

  test("responds to an invalid filter with a page that says so in words of a page", async () => {
    const { status, html } = await newVisitor().get(`${path}?status=bogus`);
    expect(status).toBe(400);
    expect(html.querySelector("main")?.textContent).toContain(messagesOf("en").problems.codes.VALIDATION_ERROR);
    expect(html.querySelector("main")?.textContent).not.toContain("status");
  });

  test("of a private organization is visible to its team only", async () => {
    const hidden = await newOrganization({ visibility: "private" });
    expect((await newVisitor().get(`/o/${hidden.slug}`)).status).toBe(404);
    const member = await signedIn();
    expect((await member.get(`/o/${hidden.slug}`)).status).toBe(404);
    await joinTeam(member.userId, hidden, "member");
    expect((await member.get(`/o/${hidden.slug}`)).status).toBe(200);
  });
});

describe("a vote on the board", () => {
  test("is created and removed by its button, without JavaScript", async () => {
    const id = await submissionTitled("Vote for this one");
    const visitor = await signedIn();
    const button = async () => (await visitor.get(path)).html.querySelector(`#vote-${id}`)?.querySelector("button");
    const form = async () => (await visitor.get(path)).html.querySelector(`#vote-${id}`);
    const before = Number((await button())?.text);
    const voted = await visitor.submit(await form(), { return_to: path });
    expect([voted.status, voted.location]).toEqual([303, path]);
    expect((await button())?.getAttribute("aria-pressed")).toBe("true");
    expect(Number((await button())?.text)).toBe(before + 1);
    await visitor.submit(await form());
    expect((await button())?.getAttribute("aria-pressed")).toBe("false");
    expect(Number((await button())?.text)).toBe(before);
  });

  test("redirects an anonymous visitor to sign-in and back", async () => {
    const id = await submissionTitled("Sign in for this one");
    const visitor = newVisitor();
    const { status, location } = await visitor.post(
      `/submissions/${id}/vote`,
      {},
      { referer: `${new URL(path, "http://x").pathname}` },
    );
    expect(status).toBe(303);
    expect(location).toMatch(/^\/sign-in\?return_to=/);
  });

  test.each([["https://host.example"], ["null"], [undefined]])(
    "is rejected when a form of %s posts it",
    async (origin) => {
      const id = await submissionTitled("Not by another site");
      const visitor = await signedIn();
      await sql`update public.organizations set allowed_origins = '{https://host.example}' where id = ${organization.id}`;
      const headers = origin === undefined ? { origin: "" } : { origin };
      expect((await visitor.post(`/submissions/${id}/vote`, {}, headers)).status).toBe(403);
      const votes = await sql`select from public.votes where submission_id = ${id} and user_id = ${visitor.userId}`;
      expect(votes).toHaveLength(0);
    },
  );
});
