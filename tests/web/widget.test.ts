import { beforeAll, describe, expect, test } from "vitest";
import { claimsOf, newSecret, signed } from "../api/identified.ts";
import { newSurvey } from "../api/survey-world.ts";
import { newOrganization, newSubmission, newUser, type Organization, type User } from "../api/world.ts";
import { api, sql } from "../stack.ts";
import { newVisitor, signedIn, type Visitor } from "./pages.ts";

let organization: Organization;
let owner: User;
let secret: string;
let base: string;

beforeAll(async () => {
  organization = await newOrganization();
  owner = await newUser("Olga", { organization, role: "owner" });
  secret = (await newSecret(organization, owner)).secret;
  base = `/embed/o/${organization.slug}`;
});

/** A visitor whose frame has a session, created with the requests that the widget sends. */
async function inWidget(changes: Record<string, unknown> = {}): Promise<Visitor> {
  const visitor = newVisitor();
  const token = await signed(claimsOf(organization, changes), secret);
  expect((await visitor.post(`${base}/identify`, { token })).location).toBe(`${base}/news`);
  return visitor;
}

describe("the session of the widget", () => {
  test("is a partitioned cookie that only embedded pages read, and no script", async () => {
    const token = await signed(claimsOf(organization), secret);
    const answer = await newVisitor().post(`${base}/identify`, { token });
    const [line = "", ...others] = [answer.headers["set-cookie"] ?? []].flat();
    expect(others).toEqual([]);
    expect(line.split("; ").slice(1).sort()).toEqual(
      ["HttpOnly", "Max-Age=86400", "Partitioned", "Path=/", "SameSite=None", "Secure"].sort(),
    );
    expect(answer.text).not.toContain("fcs_usr_");
    const visitor = newVisitor([{ name: "feedback-widget", value: /=([^;]*)/.exec(line)?.[1] ?? "" }]);
    expect((await visitor.get(`/o/${organization.slug}`)).html.querySelector(".menu-name")).toBeNull();
    expect((await visitor.get("/me")).location).toMatch(/^\/sign-in/);
  });

  test("votes, comments, writes and edits below /embed", async () => {
    const visitor = await inWidget();
    const id = await newSubmission(organization, owner);
    const board = await visitor.get(base);
    const form = board.html.querySelector(`#vote-${id}`);
    expect([form?.getAttribute("action"), form?.getAttribute("target")]).toEqual([
      `/embed/submissions/${id}/vote`,
      "_self",
    ]);
    expect((await visitor.submit(form)).status).toBe(303);
    const shown = await visitor.get((await visitor.get(`/embed/submissions/${id}`)).location ?? "");
    const commented = await visitor.submit(shown.html.querySelector(`#form-${id}`), { body: "From the frame." });
    expect(commented.location).toMatch(new RegExp(`^/embed/submissions/${id}\\?comment=`));
    const comment = commented.location?.split("#comment-")[1];
    const edit = await visitor.get(`/embed/comments/${comment}/edit`);
    const edited = await visitor.submit(edit.html.querySelector("#edit"), { body: "Edited in the frame." });
    expect(edited.location).toBe(`/embed/submissions/${id}?comment=${comment}#comment-${comment}`);
    const [row] = await sql`select body from public.comments where id = ${comment ?? ""}`;
    expect(row?.body).toBe("Edited in the frame.");

    const page = await visitor.get(`${base}/new`);
    const made = await visitor.submit(page.html.querySelector("#new"), {
      title: "From the widget of the host",
      description: "Written in the frame, by an identified person.",
    });
    expect(made.location).toMatch(/^\/embed\/submissions\/[^?]+-from-the-widget-of-the-host\?done=submission$/);
    const own = await visitor.get(made.location ?? "");
    for (const a of own.html.querySelectorAll(".actions a"))
      expect([a.getAttribute("href")?.startsWith("/embed/"), a.getAttribute("target")]).toEqual([true, "_self"]);
  });

  test("keeps the language and the theme of the host", async () => {
    const visitor = await inWidget();
    const id = await newSubmission(organization, owner);
    const { html } = await visitor.get(`${base}?lang=de&theme=dark`);
    expect([
      html.querySelector("html")?.getAttribute("lang"),
      html.querySelector("html")?.getAttribute("data-theme"),
    ]).toEqual(["de", "dark"]);
    const voted = await visitor.submit(html.querySelector(`#vote-${id}`));
    expect(new URL(voted.location ?? "", "http://x").searchParams.toString()).toBe("lang=de&theme=dark");
    expect(html.querySelector(`#submission-${id} h2 a`)?.getAttribute("href")).toMatch(/\?lang=de&theme=dark$/);
  });

  test("that has ended is nobody's, and a form of it leads back to its page", async () => {
    const visitor = await inWidget({ sub: "leaver" });
    const id = await newSubmission(organization, owner);
    await sql`delete from private.identify_sessions s using private.identified_people p
      where p.profile_id = s.profile_id and p.organization_id = ${organization.id} and p.subject = 'leaver'`;
    const voted = await visitor.post(`/embed/submissions/${id}/vote`, { return_to: base });
    expect([voted.status, voted.location]).toEqual([303, base]);
    expect(visitor.cookie("feedback-widget")).toBeUndefined();
    expect((await visitor.get(base)).html.querySelector("#widget-host")).toBeNull();
    const votes = await sql`select from public.votes where submission_id = ${id}`;
    expect(votes).toHaveLength(1);
  });

  test("ends when its host says so, also when it has ended before", async () => {
    const visitor = await inWidget({ sub: "quitter" });
    const left = await visitor.post(`${base}/leave`);
    expect([left.location, visitor.cookie("feedback-widget")]).toEqual([`${base}/news`, undefined]);
    const sessions =
      await sql`select from private.identify_sessions s join private.identified_people p using (profile_id)
      where p.subject = 'quitter' and p.organization_id = ${organization.id}`;
    expect(sessions).toEqual([]);
    expect((await visitor.post(`${base}/leave`)).status).toBe(303);
  });
});

describe("the exchange of a token", () => {
  const refusalOf = async (token: string, at = base) => {
    const visitor = newVisitor();
    const answer = await visitor.post(`${at}/identify`, { token });
    expect(visitor.cookie("feedback-widget")).toBeUndefined();
    return [answer.status, answer.headers["content-type"]?.includes("json") && JSON.parse(answer.text).reason];
  };

  test("says in JSON what is wrong with it", async () => {
    expect(await refusalOf("nothing")).toEqual([401, "malformed"]);
    expect(await refusalOf(await signed(claimsOf(organization), `${secret}x`))).toEqual([401, "signature"]);
    expect(await refusalOf(await signed(claimsOf(organization, { email: "x" }), secret))).toEqual([401, "claims"]);
  });

  test("refuses one of another organization, and one on a private board", async () => {
    const other = await newOrganization();
    const admin = await newUser("Otto", { organization: other, role: "owner" });
    const others = await newSecret(other, admin);
    const token = await signed(claimsOf(other), others.secret);
    expect(await refusalOf(token)).toEqual([401, "audience"]);
    await sql`update public.organizations set visibility = 'private' where id = ${other.id}`;
    expect((await refusalOf(token, `/embed/o/${other.slug}`))[0]).toBe(404);
  });

  test("and its end are for the service's own pages only", async () => {
    const token = await signed(claimsOf(organization), secret);
    const visitor = await inWidget();
    for (const [path, fields] of [
      ["identify", { token }],
      ["leave", {}],
    ] as const) {
      const answer = await visitor.post(`${base}/${path}`, fields, { origin: "https://evil.example" });
      expect([path, answer.status]).toEqual([path, 403]);
    }
    expect(visitor.cookie("feedback-widget")).toBeDefined();
  });
});

describe("the cookie of the widget", () => {
  test("is no credential of other pages and of the API, even if a client sends it there", async () => {
    const visitor = await inWidget();
    expect((await visitor.get("/me")).location).toMatch(/^\/sign-in/);
    const id = await newSubmission(organization, owner);
    expect((await visitor.post(`/submissions/${id}/vote`)).location).toMatch(/^\/sign-in/);
    const headers = { cookie: `feedback-widget=${visitor.cookie("feedback-widget")}` };
    expect((await api("/api/me/votes", { headers })).status).toBe(401);
  });

  test("is no credential of another organization's board", async () => {
    const other = await newOrganization();
    const id = await newSubmission(other, owner);
    const visitor = await inWidget();
    expect((await visitor.post(`/embed/submissions/${id}/vote`)).status).toBe(404);
  });
});

describe("what is new", () => {
  test("is first of what a person follows, with the unread ones, and then of the board", async () => {
    const followed = await newSubmission(organization, owner, { title: "A followed one" });
    const other = await newSubmission(organization, owner, { title: "Another one" });
    const visitor = await inWidget();
    await visitor.post(`/embed/submissions/${followed}/follow`);
    for (const id of [followed, other])
      await sql`insert into public.status_changes (organization_id, submission_id, new_status, note, changed_by)
        values (${organization.id}, ${id}, 'completed', 'Done in May.', ${owner.id})`;
    const { html } = await visitor.get(`${base}/news`);
    const news = html.querySelector("#news");
    expect(news?.getAttribute("data-unread")).toBe("1");
    const [first, second] = news?.querySelectorAll("section") ?? [];
    expect(first?.querySelectorAll("h3").map((title) => title.text.trim())).toEqual(["A followed one"]);
    expect(second?.text).toContain("Another one");
    const read = await visitor.submit(news?.querySelector("form") ?? null);
    expect(read.location).toBe(`${base}/news`);
    expect((await visitor.get(`${base}/news`)).html.querySelector("#news")?.getAttribute("data-unread")).toBe("0");
    expect((await newVisitor().get(`${base}/news`)).html.querySelectorAll("#news section")).toHaveLength(1);
  });

  test("has no news of submissions that the visitor may not see", async () => {
    const id = await newSubmission(organization, owner, { title: "A hidden one" });
    await sql`insert into public.status_changes (organization_id, submission_id, new_status, changed_by)
      values (${organization.id}, ${id}, 'planned', ${owner.id})`;
    await sql`update public.submissions set moderation_state = 'spam' where id = ${id}`;
    for (const visitor of [newVisitor(), await inWidget()])
      expect((await visitor.get(`${base}/news`)).text).not.toContain("A hidden one");
  });

  test("offers a survey to whom it is for, until it is answered", async () => {
    const board = await newOrganization();
    const admin = await newUser("Olga", { organization: board, role: "owner" });
    const voted = await newSubmission(board, admin);
    const offered = async (visitor: Visitor, lang = "en") =>
      (await visitor.get(`/embed/o/${board.slug}/news?lang=${lang}`)).html
        .querySelector("#news")
        ?.getAttribute("data-survey");
    const visitor = await signedIn();
    expect(await offered(visitor)).toBeUndefined();
    const survey = await newSurvey(admin, board, {
      targeting: { audience: "voters", submission_id: voted, locales: ["en"] },
    });
    expect(await offered(visitor)).toBeUndefined();
    await visitor.post(`/submissions/${voted}/vote`);
    expect(JSON.parse((await offered(visitor)) ?? "null")).toMatchObject({ id: survey.id });
    expect([await offered(visitor, "de"), await offered(newVisitor())]).toEqual([undefined, undefined]);
    await visitor.post(`/embed/surveys/${survey.id}`, { [`number.${survey.questions[0]?.id}`]: "9" });
    expect(await offered(visitor)).toBeUndefined();
  });
});
