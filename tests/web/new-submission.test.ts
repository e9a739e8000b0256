import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { longEnough, newOrganization, newSubmission, newUser, type Organization } from "../api/world.ts";
import { sql } from "../stack.ts";
import { newVisitor, signedIn, type Visitor } from "./pages.ts";

let organization: Organization;
let path: string;

beforeAll(async () => {
  organization = await newOrganization();
  path = `/o/${organization.slug}/new`;
});

const fields = (title: string) => ({ type: "problem", title, description: longEnough });
const formOf = async (who: Visitor) => (await who.get(path)).html.querySelector("#new");
const titled = (title: string) =>
  sql`select id, type from public.submissions where organization_id = ${organization.id} and title = ${title}`;

test("the form creates a submission and redirects to its page", async () => {
  const who = await signedIn();
  const { status, location } = await who.submit(await formOf(who), fields("Octopus export"));
  const [created] = await titled("Octopus export");
  expect([status, location]).toEqual([303, `/submissions/${created?.id}-octopus-export`]);
  expect(created?.type).toBe("problem");
});

test("errors are shown at their field, with the entered text", async () => {
  const who = await signedIn();
  const typed = { ...fields("No"), description: "<b>short</b>" };
  const { status, html } = await who.submit(await formOf(who), typed);
  expect(status).toBe(422);
  expect(html.querySelector("#title-problem")).not.toBeNull();
  expect(html.querySelector("#description-problem")).not.toBeNull();
  expect(html.querySelector("#description")?.text).toBe("<b>short</b>");
  expect(html.querySelector("input[value=problem]")?.hasAttribute("checked")).toBe(true);
});

describe("a form posted again", () => {
  test("at once and later makes one submission, and leads to it each time", async () => {
    const who = await signedIn();
    const [form, typed] = [await formOf(who), fields(`Once ${randomUUID()}`)];
    const answers = await Promise.all(Array.from({ length: 4 }, () => who.submit(form, typed)));
    answers.push(await who.submit(form, typed));
    const [created] = await titled(typed.title);
    expect(answers.map(({ status, location }) => [status, location?.slice(0, 49)])).toEqual(
      answers.map(() => [303, `/submissions/${created?.id}`]),
    );
    expect(await titled(typed.title)).toHaveLength(1);
  });

  test("with other text is shown again with what was typed, and can then be sent", async () => {
    const who = await signedIn();
    const [form, first, second] = [await formOf(who), `First ${randomUUID()}`, `Second ${randomUUID()}`];
    expect((await who.submit(form, fields(first))).status).toBe(303);
    const refused = await who.submit(form, fields(second));
    expect(refused.status).toBe(422);
    expect(refused.html.querySelector("#new .notice.problem")?.text).toContain("already sent this form");
    expect(refused.html.querySelector("#title")?.getAttribute("value")).toBe(second);
    expect(await titled(second)).toHaveLength(0);
    const repeated = refused.html.querySelector("#new");
    expect((await who.submit(repeated, { ...fields(second), checked: "true" })).status).toBe(303);
    expect(await titled(second)).toHaveLength(1);
  });

  test("after it was refused is taken once it is right", async () => {
    const who = await signedIn();
    const [form, title] = [await formOf(who), `Corrected ${randomUUID()}`];
    expect((await who.submit(form, { ...fields(title), description: "short" })).status).toBe(422);
    expect((await who.submit(form, fields(title))).status).toBe(303);
    expect(await titled(title)).toHaveLength(1);
  });

  test("by somebody else is theirs, and without its id or with no id it is any other form", async () => {
    const [one, other, title] = [await signedIn(), await signedIn(), `Apart ${randomUUID()}`];
    const form = await formOf(one);
    for (const [who, form_id] of [
      [one, {}],
      [other, {}],
      [one, { form_id: "" }],
      [one, { form_id: "'; drop table" }],
    ] as const)
      expect((await who.submit(form, { ...fields(title), checked: "true", ...form_id })).status).toBe(303);
    expect(await titled(title)).toHaveLength(4);
  });
});

describe("with similar submissions", () => {
  let similarId: string;
  beforeAll(async () => {
    similarId = await newSubmission(organization, await newUser(), { title: "A dark theme for night shifts" });
  });

  test("they are shown first, and it is created after confirmation", async () => {
    const who = await signedIn();
    const typed = fields("Dark theme for night shifts");
    const shown = await who.submit(await formOf(who), typed);
    expect(shown.status).toBe(422);
    expect(shown.html.querySelector("#similar h3")?.text).toBe("A dark theme for night shifts");
    expect(await titled(typed.title)).toHaveLength(0);
    const button = shown.html.querySelector("#new button[name=checked]");
    expect(button?.getAttribute("value")).toBe("true");
    expect((await who.submit(shown.html.querySelector("#new"), { ...typed, checked: "true" })).status).toBe(303);
    expect(await titled(typed.title)).toHaveLength(1);
  });

  test("the visitor votes for one of them instead", async () => {
    const who = await signedIn();
    const { html } = await who.submit(await formOf(who), fields("A dark theme for shifts"));
    const voted = await who.submit(html.querySelector(`#vote-${similarId}`));
    expect(voted.location).toBe(`/submissions/${similarId}-a-dark-theme-for-night-shifts`);
    expect(
      await sql`select from public.votes where submission_id = ${similarId} and user_id = ${who.userId}`,
    ).toHaveLength(1);
  });

  test("they are found while the title is typed, only those that its author may see", async () => {
    const hidden = await newSubmission(organization, await newUser(), { title: "A dark theme for secrets" });
    await sql`update public.submissions set moderation_state = 'pending' where id = ${hidden}`;
    const { html } = await newVisitor().get(`${path}/similar?title=dark%20theme`);
    const found = html.querySelectorAll("turbo-frame#similar h3").map(({ text }) => text);
    expect(found).toContain("A dark theme for night shifts");
    expect(found).not.toContain("A dark theme for secrets");
    expect((await newVisitor().get(`${path}/similar?title=${"x".repeat(201)}`)).status).toBe(400);
    expect((await newVisitor().get(`${path}/similar`)).html.querySelector("h3")).toBeNull();
  });
});

test("a private board rejects submissions of callers without access", async () => {
  const hidden = await newOrganization({ visibility: "private" });
  const who = await signedIn();
  expect((await who.get(`/o/${hidden.slug}/new`)).status).toBe(404);
  expect((await who.post(`/o/${hidden.slug}/new`, { ...fields("Let me in"), checked: "true" })).status).toBe(404);
});
