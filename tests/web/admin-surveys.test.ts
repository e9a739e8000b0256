import { beforeAll, describe, expect, test } from "vitest";
import { detailOf, newDraft, newSurvey, oneOfEach, respond } from "../api/survey-world.ts";
import {
  newKey,
  newOrganization,
  newSubmission,
  newUser,
  newUsers,
  type Organization,
  type User,
} from "../api/world.ts";
import { sql } from "../stack.ts";
import { newVisitor, signedIn, type Visitor } from "./pages.ts";

let organization: Organization;
let admin: User;
let visitor: Visitor;
let base: string;

beforeAll(async () => {
  organization = await newOrganization();
  admin = await newUser("Ada Admin", { organization, role: "admin" });
  visitor = await signedIn({ organization, role: "admin" });
  base = `/o/${organization.slug}/admin/surveys`;
});

const rawOf = (fields: [string, string][]) => new URLSearchParams(fields).toString();
const question = (index: number, type: string, text: string, more: Record<string, string> = {}) =>
  Object.entries({ type, text, ...more }).map(([name, value]): [string, string] => [
    `questions.${index}.${name}`,
    value,
  ]);
type Page = Awaited<ReturnType<Visitor["get"]>>;
const textsIn = ({ html }: Page) =>
  html.querySelectorAll("input[name^=questions][name$='.text']").map((input) => input.getAttribute("value") ?? "");
const surveysCalled = (title: string) =>
  sql<{ id: string; status: string }[]>`select id, status from public.surveys
    where organization_id = ${organization.id} and title = ${title}`;

describe("the builder, without JavaScript", () => {
  const typed: [string, string][] = [
    ["title", "Typed so far"],
    ["description", "<b>not bold</b>"],
    ...question(0, "nps", "First"),
    ...question(7, "text", "Second"),
    ...question(3, "multiple_choice", "Third", { options: "A\nB" }),
  ];
  const press = (does: string) => visitor.postRaw(`${base}/new`, rawOf([...typed, ["do", does]]));

  test.each([
    ["up.3", ["First", "Third", "Second"]],
    ["up.0", ["First", "Second", "Third"]],
    ["down.0", ["Second", "First", "Third"]],
    ["down.3", ["First", "Second", "Third"]],
    ["remove.7", ["First", "Third"]],
    ["add.rating", ["First", "Second", "Third", ""]],
    ["add.nonsense", ["First", "Second", "Third"]],
    ["up.99", ["First", "Second", "Third"]],
    ["preview", ["First", "Second", "Third"]],
  ])("%s arranges the questions, and keeps what was typed", async (does, order) => {
    const page = await press(does);
    expect(page.status).toBe(200);
    expect(textsIn(page)).toEqual(order);
    expect(page.html.querySelector("#title")?.getAttribute("value")).toBe("Typed so far");
    expect(page.html.querySelector("#description")?.text).toBe("<b>not bold</b>");
    expect(page.text).not.toContain("<b>not bold");
  });

  test("nothing is stored before it is saved", async () => {
    await press("add.nps");
    expect(await surveysCalled("Typed so far")).toEqual([]);
  });

  test("the focus is on the button of the moved question, and on the text of a new one", async () => {
    const focusOf = async (does: string) => {
      const element = (await press(does)).html.querySelector("[autofocus]");
      return element?.getAttribute("value") || element?.getAttribute("name");
    };
    expect(await focusOf("down.0")).toBe("down.1");
    expect(await focusOf("up.7")).toBe("down.0");
    expect(await focusOf("add.text")).toBe("questions.3.text");
  });

  test("the preview shows the survey as respondents see it", async () => {
    const { html } = await press("preview");
    const preview = html.querySelector("turbo-frame#preview");
    expect(preview?.querySelectorAll("legend, label.question-text").length).toBe(3);
    expect(preview?.querySelectorAll("input[type=radio]").length).toBe(11 + 2);
    expect(preview?.querySelectorAll("form, button[type=submit]")).toEqual([]);
  });

  test("questions are stored in the order of the form, with the settings", async () => {
    const title = `Saved ${crypto.randomUUID()}`;
    const saved = await visitor.postRaw(
      base,
      rawOf([
        ...typed.filter(([name]) => name !== "title"),
        ["title", title],
        ...question(4, "rating", "Fourth", { scale: "7", required: "true", options: "of another type" }),
        ["targeting.audience", "everyone"],
        ["targeting.locales", "de"],
        ["targeting.locales", "fr"],
        ["settings.show_branding", "false"],
        ["settings.redirect_url", "https://example.org/thanks"],
        ["closes_at", "2999-12-31T23:30"],
      ]),
    );
    expect([saved.status, saved.location]).toEqual([303, expect.stringMatching(/\?done=created$/)]);
    const [{ id } = { id: "" }] = await surveysCalled(title);
    expect(saved.location).toBe(`${base}/${id}?done=created`);
    const stored = await detailOf(id, admin, "questions,targeting");
    expect(stored).toMatchObject({
      description: "<b>not bold</b>",
      targeting: { audience: "everyone", submission_id: null, locales: ["de", "fr"] },
      settings: { show_branding: false, redirect_url: "https://example.org/thanks" },
    });
    expect(Date.parse(stored.closes_at ?? "")).toBe(Date.parse("2999-12-31T23:30:00Z"));
    expect(
      stored.questions?.map(({ text, type, scale, options }) => [
        text,
        type,
        scale,
        options?.map((option) => option.text),
      ]),
    ).toEqual([
      ["First", "nps", undefined, undefined],
      ["Second", "text", undefined, undefined],
      ["Third", "multiple_choice", undefined, ["A", "B"]],
      ["Fourth", "rating", 7, undefined],
    ]);
    // The form shows the stored values.
    const repeated = await visitor.get(`${base}/${id}/edit`);
    expect(textsIn(repeated)).toEqual(["First", "Second", "Third", "Fourth"]);
    expect(repeated.html.querySelector("#closes_at")?.getAttribute("value")).toBe("2999-12-31T23:30");
    expect(
      repeated.html
        .querySelectorAll("input[name='targeting.locales'][checked]")
        .map((input) => input.getAttribute("value")),
    ).toEqual(["fr", "de"]);
  });

  test("a wrong question has its message at its field, and everything typed is still there", async () => {
    const wrong = await visitor.postRaw(
      base,
      rawOf([
        ["title", "Wrong"],
        ...question(5, "text", "Fine"),
        ...question(2, "text", " "),
        ...question(9, "multiple_choice", "Which?", { options: "Twice\nOnce\nTwice" }),
        ["closes_at", "soon"],
      ]),
    );
    expect(wrong.status).toBe(422);
    const problem = (id: string) => wrong.html.querySelector(`[id="${id}-problem"]`)?.text;
    expect(problem("questions.0.text")).toBeUndefined();
    expect(problem("questions.1.text")).toContain("1 to 1,000 characters");
    expect(problem("questions.2.options")).toContain("Option 3: must not be repeated");
    expect(problem("closes_at")).toBeTruthy();
    expect(wrong.html.querySelector("[id='questions.2.options']")?.text).toBe("Twice\nOnce\nTwice");
    for (const name of ["required", "multiple"])
      expect(wrong.html.querySelector(`[name="questions.2.${name}"][type=checkbox]`), name).not.toBeNull();
    expect(textsIn(wrong)).toEqual(["Fine", " ", "Which?"]);
    expect(await surveysCalled("Wrong")).toEqual([]);
  });

  test("a form that is posted twice makes one survey", async () => {
    const title = `Twice ${crypto.randomUUID()}`;
    const form = (await visitor.get(`${base}/new`)).html.querySelector("#survey-builder");
    const fields = { title, "targeting.audience": "everyone", "targeting.locales": "de" };
    const [first, second] = [await visitor.submit(form, fields), await visitor.submit(form, fields)];
    expect([first.status, second.status]).toEqual([303, 303]);
    expect(second.location).toBe(first.location);
    expect(await surveysCalled(title)).toHaveLength(1);
  });

  test("its audience is found by words, of this organization alone, and has to be chosen", async () => {
    const author = await newUser();
    const word = `zebra${crypto.randomUUID().slice(0, 8)}`;
    const [own] = [await newSubmission(organization, author, { title: `Stripes ${word}` })];
    await newSubmission(await newOrganization(), author, { title: `Foreign ${word}` });
    const found = await visitor.post(`${base}/new`, {
      title: "For voters",
      "targeting.audience": "voters",
      find: word,
      do: "find",
    });
    const choices = found.html.querySelectorAll("input[name='targeting.submission_id']");
    expect(choices.map((input) => input.getAttribute("value"))).toEqual([own]);
    const fields = { title: `For voters ${word}`, "targeting.audience": "voters" };
    const refused = await visitor.post(base, fields);
    expect(refused.status).toBe(422);
    expect(refused.html.querySelector("#audience-problem")?.text.trim()).toBe("Find a submission and choose it.");
    const saved = await visitor.post(base, { ...fields, "targeting.submission_id": own });
    expect(saved.status).toBe(303);
    const [{ id } = { id: "" }] = await surveysCalled(fields.title);
    expect((await detailOf(id, admin, "targeting")).targeting).toMatchObject({
      audience: "voters",
      submission_id: own,
    });
    const repeated = await visitor.get(`${base}/${id}/edit`);
    expect(repeated.html.querySelector("input[name='targeting.submission_id'][checked]")?.getAttribute("value")).toBe(
      own,
    );
  });

  test("what is published cannot be edited, and a draft that was published meanwhile says so", async () => {
    const survey = await newSurvey(admin, organization);
    const page = await visitor.get(`${base}/${survey.id}/edit`);
    expect([page.status, page.html.querySelector("#survey-builder")]).toEqual([200, null]);
    const late = await visitor.post(`${base}/${survey.id}/edit`, { _method: "patch", title: "Too late" });
    expect(late.status).toBe(422);
    expect(late.html.querySelector("[role=alert]")?.text).toContain("Only drafts can be changed");
    expect((await detailOf(survey.id, admin)).title).toBe("A survey");
  });
});

describe("the life of a survey", () => {
  test("a draft without questions is not published, and the page says why", async () => {
    const { id } = await newDraft(admin, organization, { questions: [] });
    const refused = await visitor.post(`${base}/${id}/publish`);
    expect(refused.status).toBe(422);
    expect(refused.html.querySelector("[role=alert]")?.text).toContain("Add a question before you publish the survey.");
    expect((await detailOf(id, admin)).status).toBe("draft");
  });

  test("it is published, paused, resumed, versioned and archived by its buttons", async () => {
    const { id } = await newDraft(admin, organization);
    const press = async (action: string) => {
      const { location = "" } = await visitor.post(`${base}/${id}/${action}`);
      const shown = await visitor.get(location);
      return [(await detailOf(id, admin)).status, shown.html.querySelector(".notice.done")?.text.trim()];
    };
    expect(await press("publish")).toEqual(["published", "Survey published. People can answer it now."]);
    expect(await press("pause")).toEqual(["paused", "Survey paused. It isn’t accepting responses."]);
    expect(await press("resume")).toEqual(["published", "Survey resumed. It accepts responses again."]);
    const page = await visitor.get(`${base}/${id}`);
    const form = page.html.querySelector(`form[action="${base}/${id}/versions"]`);
    const versioned = await visitor.submit(form);
    const version = /surveys\/([0-9a-f-]{36})\?done=versioned$/.exec(versioned.location ?? "")?.[1] ?? "";
    expect(await detailOf(version, admin)).toMatchObject({ status: "draft", version_of: id });
    expect((await visitor.submit(form)).location).toBe(versioned.location);
    expect(await press("archive")).toEqual(["archived", "Survey archived."]);
  });

  test("a deletion says what will be lost, and loses no response that it did not tell of", async () => {
    const survey = await newSurvey(admin, organization);
    const page = await visitor.get(`${base}/${survey.id}/delete`);
    const form = page.html.querySelector("form.stack");
    await respond(survey, await newUser(), { 0: 9 });
    const refused = await visitor.submit(form);
    expect(refused.status).toBe(422);
    expect(refused.html.querySelector(".lost")?.text).toContain("1 response");
    const deleted = await visitor.submit(refused.html.querySelector("form.stack"));
    expect(deleted.location).toBe(`${base}?done=deleted`);
    expect((await visitor.get(`${base}/${survey.id}`)).status).toBe(404);
  });
});

describe("results", () => {
  const script = "</blockquote><script>alert(1)</script> Slow";
  let survey: Awaited<ReturnType<typeof newSurvey>>;
  let path: string;

  beforeAll(async () => {
    survey = await newSurvey(admin, organization, { title: "Measured" });
    path = `${base}/${survey.id}`;
    const [a, b, c, d] = await newUsers(4, "Rita Respondent");
    await respond(survey, a, { 0: 10, 1: 5, 2: "Web", 3: ["Votes", "Surveys"], 4: "I love it, great" });
    await respond(survey, b, { 0: 9, 1: 4, 2: "Web", 4: "Fine and fast" });
    await respond(survey, c, { 0: 7, 2: "iOS" });
    await respond(survey, d, { 0: 0, 1: 1, 4: script });
    // The first one came a year before.
    await sql`update public.survey_responses set submitted_at = '2025-03-01T12:00:00Z', started_at = null
      where survey_id = ${survey.id} and user_id = ${a?.id ?? ""}`;
  });

  const rowsOf = ({ html }: Page, id: string) =>
    html
      .querySelectorAll(`[id="${id}"] tbody tr`)
      .map((row) => row.querySelectorAll("th, td.n").map((cell) => cell.text.trim()));

  test("are plots with their numbers, by question", async () => {
    const page = await visitor.get(path);
    const [nps, rating, choice, choices] = survey.questions.map(({ id }) => id);
    expect(page.html.querySelectorAll(".stat strong").map(({ text }) => text)[0]).toBe("4");
    expect(page.html.querySelector(`[id="result-${nps}"] .result-score`)?.text.trim()).toBe("NPS 25");
    expect(rowsOf(page, `parts-${nps}`)).toEqual([
      ["Promoters (9 and 10)", "2 (50%)"],
      ["Passives (7 and 8)", "1 (25%)"],
      ["Detractors (0 to 6)", "1 (25%)"],
    ]);
    expect(rowsOf(page, `answers-${nps}`).map(([, n]) => Number(n))).toEqual([1, 0, 0, 0, 0, 0, 0, 1, 0, 1, 1]);
    expect(page.html.querySelector(`[id="result-${rating}"] .result-score`)?.text.trim()).toBe("Average: 3.3 out of 5");
    expect(rowsOf(page, `answers-${choice}`)).toEqual([
      ["Web", "2 (67%)"],
      ["iOS", "1 (33%)"],
      ["Android", "0 (0%)"],
    ]);
    expect(rowsOf(page, `answers-${choices}`)[0]).toEqual(["Votes", "1 (100%)"]);
    expect(rowsOf(page, "sentiment-plot").map(([, n]) => Number(n))).toEqual([2, 1, 1]);
    // Over a year the points are weeks; all responses are in one of them.
    expect(page.html.querySelector("#by-time")?.text).toBe("Responses by week");
    const weeks = page.html.querySelectorAll("#responses-by-time-numbers tbody td").map(({ text }) => Number(text));
    expect([weeks.length > 50, weeks[0], weeks.at(-1), weeks.reduce((sum, n) => sum + n)]).toEqual([true, 1, 3, 4]);
    expect(page.text).not.toContain("<script>alert");
  });

  test("texts are found by words, sentiment and date, and are only ever text", async () => {
    const found = async (query: string) =>
      (await visitor.get(`${path}/texts?${query}`)).html
        .querySelectorAll(".text-answers blockquote")
        .map(({ text }) => text);
    expect(await found("")).toHaveLength(3);
    expect(await found("q=FAST")).toEqual(["Fine and fast"]);
    expect(await found("q=%25")).toEqual([]);
    expect(await found("sentiment=negative")).toHaveLength(1);
    expect(await found("end_date=2025-12-31&q=&sentiment=")).toEqual(["I love it, great"]);
    expect(await found(`question=${survey.questions[0]?.id}`), "no text question").toHaveLength(3);
    const page = await visitor.get(`${path}/texts?q=slow`);
    expect(page.text).not.toContain("<script>alert");
    expect(page.text).toContain("&lt;script&gt;");
    expect((await visitor.get(`${path}/texts?question=1`)).status).toBe(400);
  });

  test("responses are listed by filter and shown one by one", async () => {
    const listed = async (query: string) =>
      (await visitor.get(`${path}/responses?${query}`)).html
        .querySelectorAll("#responses tbody a")
        .map((link) => link.getAttribute("href") ?? "");
    const all = await listed("");
    expect(all).toHaveLength(4);
    expect(await listed("end_date=2025-03-01&start_date=")).toEqual([all[3]]);
    expect(await listed("sentiment=negative")).toHaveLength(1);
    const last = await visitor.get(all[3] ?? "");
    expect(last.html.querySelectorAll(".answer-text, .answer-options").map(({ text }) => text.trim())).toEqual([
      "10 of 10",
      "5 of 5",
      "Web",
      "VotesSurveys",
      "I love it, great",
    ]);
    expect(last.html.querySelectorAll(".admin-head nav a").map((link) => link.getAttribute("href"))).toEqual([all[2]]);
    const other = await newSurvey(admin, organization);
    const id = all[0]?.split("/").at(-1);
    expect((await visitor.get(`${base}/${other.id}/responses/${id}`)).status).toBe(404);
    expect((await visitor.get(`${path}/responses/nonsense`)).status).toBe(404);
  });

  test("CSV has what the filters leave", async () => {
    const csv = await visitor.get(`${path}/responses.csv`);
    expect(csv.headers["content-type"]).toBe("text/csv; charset=utf-8");
    expect(csv.headers["content-disposition"]).toContain("attachment");
    expect(csv.text.split("\r\n").filter(Boolean)).toHaveLength(5);
    const filtered = await visitor.get(`${path}/responses.csv?format=json&end_date=2025-12-31&sentiment=`);
    expect(filtered.text.split("\r\n").filter(Boolean)).toHaveLength(2);
    expect(filtered.text).toContain("I love it, great");
  });

  test("the share page offers mail to followers only if the organization sends mail", async () => {
    const board = await newOrganization();
    const own = await signedIn({ organization: board, role: "admin" });
    const boardAdmin = await newUser("Ada Admin", { organization: board, role: "admin" });
    const followed = await newSubmission(board, boardAdmin);
    const draft = await newDraft(boardAdmin, board, { targeting: { audience: "followers", submission_id: followed } });
    const share = `/o/${board.slug}/admin/surveys/${draft.id}/share`;
    const off = await own.get(share);
    expect(off.text).toContain("Your organization doesn’t send email.");
    expect(off.html.querySelector("form[action$='/mail']")).toBeNull();
    expect(off.html.querySelector("main a[href$='/settings/mail']")).not.toBeNull();
    await sql`update public.organizations set mail_enabled = true where id = ${board.id}`;
    const on = await own.get(share);
    expect(on.text).not.toContain("Your organization doesn’t send email.");
    expect(on.html.querySelectorAll("form[action$='/mail']")).toHaveLength(2);
  });

  test("the link and its QR code lead to the survey", async () => {
    const page = await visitor.get(`${path}/share`);
    const url = page.html.querySelector("#survey-link")?.text.trim() ?? "";
    expect(new URL(url).pathname).toBe(`/surveys/${survey.id}`);
    expect(page.html.querySelector("#survey-qr")?.getAttribute("aria-label")).toContain(url);
    const file = await visitor.get(`${path}/qr.svg`);
    expect(file.headers["content-type"]).toBe("image/svg+xml; charset=utf-8");
    expect(file.html.querySelector("svg path")?.getAttribute("d")).toBe(
      page.html.querySelector("#survey-qr path")?.getAttribute("d"),
    );
  });
});

test("another organization's admin finds and names no submission of this one", async () => {
  const other = await newOrganization();
  const stranger = await signedIn({ organization: other, role: "admin" });
  const own = `/o/${other.slug}/admin/surveys`;
  const submission = await newSubmission(organization, await newUser(), { title: "Secret plan" });
  const named = { title: "Peek", "targeting.audience": "voters", "targeting.submission_id": submission };
  const shown = await stranger.post(`${own}/new`, { ...named, do: "find", find: "Secret plan" });
  expect(shown.status).toBe(200);
  expect(shown.html.querySelectorAll("input[name='targeting.submission_id']")).toEqual([]);
  expect((await stranger.post(own, named)).status).not.toBe(303);
});

test("a key opens no page", async () => {
  const survey = await newSurvey(admin, organization);
  const key = await newKey(organization, ["surveys:read", "responses:read", "analytics:read"]);
  const answer = await newVisitor().get(`${base}/${survey.id}/responses.csv`, { authorization: `Bearer ${key.token}` });
  expect(answer.location).toMatch(/^\/sign-in/);
});

test("questions that fill the whole survey can be arranged and saved", async () => {
  const title = `Long ${crypto.randomUUID()}`;
  const fields: [string, string][] = [
    ["title", title],
    ...Array.from({ length: 200 }, (_, index) =>
      question(index, oneOfEach[0]?.type ?? "", `Question ${index}`, { required: "false", scale: "5" }),
    ).flat(),
  ];
  const full = await visitor.postRaw(`${base}/new`, rawOf([...fields, ["do", "add.nps"]]));
  expect(textsIn(full)).toHaveLength(200);
  expect((await visitor.postRaw(base, rawOf(fields))).status).toBe(303);
  const more = await visitor.postRaw(base, rawOf([...fields, ...question(200, "nps", "One more")]));
  expect(more.status).toBe(422);
});
