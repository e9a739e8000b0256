import { beforeAll, describe, expect, test } from "vitest";
import { api } from "../api/client.ts";
import { newSurvey } from "../api/survey-world.ts";
import {
  joinTeam,
  newComment,
  newOrganization,
  newSubmission,
  newUser,
  type Organization,
  type User,
} from "../api/world.ts";
import { sql, stack } from "../stack.ts";
import { newVisitor, signedIn, type Visitor } from "./pages.ts";

let organization: Organization;
let admin: User;
let path: string;

beforeAll(async () => {
  organization = await newOrganization();
  admin = await newUser("Ada Admin", { organization, role: "admin" });
  path = `/o/${organization.slug}`;
});

const set = (fields: object, of = organization) =>
  sql`update public.organizations set ${sql(fields as { name: string })} where id = ${of.id}`;
const metaOf = async (at: string, visitor = newVisitor()) => {
  const { html } = await visitor.get(at);
  const meta = (name: string) =>
    html.querySelector(`meta[name="${name}"], meta[property="${name}"]`)?.getAttribute("content");
  return {
    robots: meta("robots"),
    title: meta("og:title"),
    url: meta("og:url"),
    canonical: html.querySelector("link[rel=canonical]")?.getAttribute("href"),
    feed: html.querySelector("link[rel=alternate]")?.getAttribute("href"),
    data: JSON.parse(html.querySelector('script[type="application/ld+json"]')?.text ?? "null"),
  };
};

describe("a page's metadata for machines", () => {
  test("has its title, URL and organization", async () => {
    const shown = await metaOf(`${path}?status=planned`);
    expect(shown).toMatchObject({
      robots: undefined,
      title: "Feedback",
      url: `${stack.site_url}${path}/`,
      canonical: `${stack.site_url}${path}/`,
      feed: `${path}/feed.xml`,
    });
    expect(shown.data).toMatchObject({ "@type": "CollectionPage", publisher: { name: "Organization of a test" } });
    expect((await metaOf(`${path}/roadmap`)).canonical).toBe(`${stack.site_url}${path}/roadmap`);
  });

  test("contains user text as data that cannot end its element", async () => {
    const name = `</script><script>alert("&")</script>`;
    const marked = await newOrganization();
    await set({ name }, marked);
    const { data } = await metaOf(`/o/${marked.slug}`);
    expect(data.publisher.name).toBe(name);
    expect((await newVisitor().get(`/o/${marked.slug}`)).text).not.toContain("<script>alert");
  });

  test("allows indexing only if the board is public and its organization wants it", async () => {
    const quiet = await newOrganization();
    const owner = await newUser("Olga", { organization: quiet, role: "owner" });
    const survey = await newSurvey(owner, quiet);
    const pages = [`/o/${quiet.slug}`, `/o/${quiet.slug}/roadmap`, `/surveys/${survey.id}`];
    const robots = async () => Promise.all(pages.map(async (page) => (await metaOf(page)).robots));
    expect(await robots()).toEqual([undefined, undefined, undefined]);
    const patched = await api("PATCH", `/api/organizations/${quiet.id}`, {
      as: owner,
      body: { allow_indexing: false },
    });
    expect(JSON.parse(patched.text).data.allow_indexing).toBe(false);
    expect(await robots()).toEqual(["noindex", "noindex", "noindex"]);
    expect((await newVisitor().get(`/o/${quiet.slug}/sitemap.xml`)).status).toBe(404);
    expect((await newVisitor().get("/sitemap.xml")).text).not.toContain(quiet.slug);
    expect((await metaOf("/nowhere")).robots).toBe("noindex");
  });

  describe("by meta element and header which pages not to list", () => {
    let at: Record<string, string>;
    let people: Record<"visitor" | "user" | "admin", Visitor>;
    beforeAll(async () => {
      const [hidden, author] = [await newOrganization({ visibility: "private" }), await newUser()];
      const [user, boss] = [await signedIn(), await signedIn()];
      for (const of of [organization, hidden]) await joinTeam(boss.userId, of, "admin");
      const waiting = await newSubmission(organization, author);
      await sql`update public.submissions set moderation_state = 'pending' where id = ${waiting}`;
      at = {
        board: path,
        hidden: `/o/${hidden.slug}`,
        submission: `/submissions/${await newSubmission(organization, author, { title: "To be listed" })}-to-be-listed`,
        waiting: `/submissions/${waiting}`,
      };
      people = { visitor: newVisitor(), user, admin: boss };
    });

    const table: [who: "visitor" | "user" | "admin", page: string, isListed: boolean][] = [
      ["visitor", "board", true],
      ["visitor", "board/roadmap", true],
      ["visitor", "submission", true],
      ["user", "board", true],
      ["visitor", "board/new", false],
      ["visitor", "board?status=bogus", false],
      ["admin", "hidden", false],
      ["admin", "hidden/roadmap", false],
      ["admin", "waiting", false],
      ["admin", "submission/edit", false],
      ["admin", "submission/delete", false],
      ["admin", "submission/merge", false],
      ["admin", "submission/voters", false],
      ["visitor", "/embed", false],
      ["visitor", "/sign-in", false],
      ["visitor", "/sign-up", false],
      ["visitor", "/reset", false],
      ["user", "/me", false],
      ["user", "/notifications", false],
      ["user", "/settings", false],
      ["user", "/settings/erase", false],
      ["visitor", "/goodbye", false],
      ["visitor", "/nowhere", false],
    ];
    test.each(table)("%s at %s: %s", async (who, page, isListed) => {
      const [, name = "", rest = ""] = /^(\w*)(.*)$/.exec(page) ?? [];
      // Paths of a submission's actions have the id without a title.
      const base = rest.startsWith("/") && name === "submission" ? at.submission?.slice(0, 49) : at[name];
      let answer = await people[who].get(`${base ?? ""}${rest}`);
      if (answer.status === 301) answer = await people[who].get(answer.location ?? "");
      const meta = answer.html.querySelector('meta[name="robots"]')?.getAttribute("content");
      expect([meta, answer.headers["x-robots-tag"]]).toEqual(
        isListed ? [undefined, undefined] : ["noindex", "noindex"],
      );
    });
  });
});

test("robots.txt lists the sitemap, which lists public boards, whose own sitemap lists their public content", async () => {
  const robots = await newVisitor().get("/robots.txt");
  expect(robots.headers["content-type"]).toMatch(/^text\/plain/);
  expect(robots.text).toContain(`Sitemap: ${stack.site_url}/sitemap.xml`);
  const id = await newSubmission(organization, admin, { title: "Fish & chips" });
  const pending = await newSubmission(organization, admin, { title: "Still pending" });
  await sql`update public.submissions set moderation_state = 'pending' where id = ${pending}`;
  const hidden = await newOrganization({ visibility: "private" });
  const index = await newVisitor().get("/sitemap.xml");
  expect(index.headers["content-type"]).toMatch(/^application\/xml/);
  expect(index.text).toContain(`<loc>${stack.site_url}${path}/sitemap.xml</loc>`);
  expect(index.text).not.toContain(hidden.slug);
  const { text } = await newVisitor().get(`${path}/sitemap.xml`);
  expect(text).toContain(`<loc>${stack.site_url}${path}/roadmap</loc>`);
  expect(text).toContain(`<loc>${stack.site_url}/submissions/${id}-fish-chips</loc>`);
  expect(text).not.toContain(pending);
});

describe("a feed", () => {
  test("of a board has new submissions, with any markup or control characters in them", async () => {
    const id = await newSubmission(organization, admin, { title: "<b>Fish</b> & “chips”" });
    await sql`update public.submissions set description = ${`]]></content>\u0001\u000b 😀, and more than that`} where id = ${id}`;
    const { text, headers } = await newVisitor().get(`${path}/feed.xml`);
    expect(headers["content-type"]).toBe("application/atom+xml; charset=utf-8");
    expect(text).toContain("<title>&#60;b&#62;Fish&#60;/b&#62; &#38; “chips”</title>");
    expect(text).toContain('<content type="text">]]&#62;&#60;/content&#62; 😀, and more than that</content>');
    expect(text).toContain(`<id>${stack.site_url}/submissions/${id}</id>`);
  });

  test("of a submission has its comments and statuses, newest first", async () => {
    const id = await newSubmission(organization, admin, { title: "Feed me" });
    const said = await newComment(id, await newUser("Carla"), { body: "A first word" });
    await api("PATCH", `/api/submissions/${id}/status`, { as: admin, body: { status: "planned", note: "Soon." } });
    const { text } = await newVisitor().get(`/submissions/${id}-feed-me/feed.xml`);
    const titles = [...text.matchAll(/<entry>\n<id>[^<]*<\/id>\n<title>([^<]*)/g)].map(([, title]) => title);
    expect(titles).toEqual(["Status: Planned", "Comment by Carla"]);
    expect(text).toContain(`/submissions/${id}#comment-${said}</id>`);
  });

  test("contains nothing private or pending, not even for callers who may see it", async () => {
    const author = await signedIn();
    const pending = await newSubmission(organization, { id: author.userId }, { title: "Unseen title" });
    await sql`update public.submissions set moderation_state = 'pending' where id = ${pending}`;
    expect((await author.get(path)).text).toContain("Unseen title");
    expect((await author.get(`${path}/feed.xml`)).text).not.toContain("Unseen title");
    expect((await author.get(`/submissions/${pending}/feed.xml`)).status).toBe(404);
    const hidden = await newOrganization({ visibility: "private" });
    const inside = await newSubmission(hidden, admin, { title: "Inside" });
    await joinTeam(author.userId, hidden, "owner");
    expect((await author.get(`/o/${hidden.slug}`)).status).toBe(200);
    for (const at of [
      `/o/${hidden.slug}/feed.xml`,
      `/o/${hidden.slug}/sitemap.xml`,
      `/submissions/${inside}/feed.xml`,
    ]) {
      const { status, text } = await author.get(at);
      expect([at, status]).toEqual([at, 404]);
      expect(text).not.toMatch(/Inside|Organization of a test/);
    }
    const { robots, feed } = await metaOf(`/o/${hidden.slug}`, author);
    expect([robots, feed]).toEqual(["noindex", undefined]);
  });

  test("of a merged submission is that of its target", async () => {
    const [source, target] = [await newSubmission(organization, admin), await newSubmission(organization, admin)];
    await api("POST", "/api/admin/merge", {
      as: admin,
      on: organization,
      body: { source_ids: [source], target_id: target },
    });
    const { status, location } = await newVisitor().get(`/submissions/${source}/feed.xml`);
    expect([status, location]).toEqual([303, `/submissions/${target}/feed.xml`]);
  });
});

describe("an embedded page", () => {
  const ancestorsAt = async (at: string) =>
    /frame-ancestors ([^;]*)/.exec(String((await newVisitor().get(at)).headers["content-security-policy"]))?.[1];

  test("may be framed by its organization's origins, and no other page by anyone", async () => {
    const host = await newOrganization();
    const owner = await newUser("Olga", { organization: host, role: "owner" });
    const survey = await newSurvey(owner, host);
    const embedded = [`/embed/o/${host.slug}`, `/embed/o/${host.slug}/roadmap`, `/embed/surveys/${survey.id}`];
    for (const at of embedded) expect([at, await ancestorsAt(at)]).toEqual([at, "'none'"]);
    const origins = ["https://app.example.org", "http://localhost:3000"];
    await sql`update public.organizations set allowed_origins = ${origins} where id = ${host.id}`;
    for (const at of embedded) expect([at, await ancestorsAt(at)]).toEqual([at, origins.join(" ")]);
    for (const at of [`/o/${host.slug}`, `/surveys/${survey.id}`, "/sign-in", `${path}/feed.xml`, "/embed/sign-in"])
      expect([at, await ancestorsAt(at)]).toEqual([at, "'none'"]);
  });

  test("has no header or footer, keeps its links inside and opens a window for other links", async () => {
    await newSubmission(organization, admin, { title: "Framed" });
    const { html, status } = await newVisitor().get(`/embed${path}?sort=title`);
    expect(status).toBe(200);
    expect(html.querySelector("header.top, footer.foot")).toBeNull();
    expect(html.querySelector("base")?.getAttribute("target")).toBe("_blank");
    const link = html.querySelectorAll(".row h2 a").find((a) => a.text.trim() === "Framed");
    expect(link?.getAttribute("href")).toMatch(/^\/embed\/submissions\/.*-framed$/);
    expect(link?.getAttribute("target")).toBe("_self");
    for (const a of html.querySelectorAll(`a[href^="/embed"]`))
      expect([a.getAttribute("href"), a.getAttribute("target")]).toEqual([a.getAttribute("href"), "_self"]);
    expect(html.querySelector("link[rel=canonical]")?.getAttribute("href")).toBe(`${stack.site_url}${path}/`);
    expect(html.querySelector('meta[name="robots"]')?.getAttribute("content")).toBe("noindex");
    expect(html.querySelector(".bar .main")?.getAttribute("href")).toBe(`${path}/new`);
  });

  test("of a survey accepts responses in place, and does not redirect by itself", async () => {
    const survey = await newSurvey(admin, organization, { settings: { redirect_url: "https://example.org/" } });
    const visitor = await signedIn();
    const at = `/embed/surveys/${survey.id}`;
    const form = (await visitor.get(at)).html.querySelector("#survey-form");
    expect([form?.getAttribute("action"), form?.getAttribute("target")]).toEqual([at, "_self"]);
    const sent = await visitor.post(at, { [`number.${survey.questions[0]?.id}`]: "9" });
    expect(sent.location).toMatch(new RegExp(`^${at}\\?answered=`));
    const { html } = await visitor.get(sent.location ?? "");
    expect(html.querySelector("meta[http-equiv]")).toBeNull();
    expect(html.querySelector(".survey-notice a.main")?.getAttribute("href")).toBe("https://example.org/");
  });

  test("whose form opened a window continues outside the frame", async () => {
    const id = await newSubmission(organization, admin);
    const visitor = await signedIn();
    const referer = `${stack.site_url}/embed${path}?sort=title`;
    const voted = await visitor.post(`/submissions/${id}/vote`, {}, { referer, "sec-fetch-dest": "document" });
    expect(voted.location).toBe(`${path}?sort=title`);
    const inside = await visitor.post(`/submissions/${id}/vote`, {}, { referer, "sec-fetch-dest": "iframe" });
    expect(inside.location).toBe(`/embed${path}?sort=title`);
  });
});
