import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, it } from "vitest";
import { deletedAnswer } from "../../shared/submissions.ts";
import { surveyCreatedAnswer, surveyDetailAnswer, surveyListAnswer } from "../../shared/surveys.ts";
import { sql, stack } from "../stack.ts";
import { api, expectError, expectJson } from "./client.ts";
import { change, detailOf, newDraft, newSurvey, oneOfEach, respond } from "./survey-world.ts";
import { newKey, newOrganization, newSubmission, newUser, type Organization, type User } from "./world.ts";

const organization = await newOrganization();
const admin = await newUser("Ada Admin", { organization, role: "admin" });
const member = await newUser("Mel Member", { organization, role: "member" });
const stranger = await newUser("Sam Stranger");
const rival = await newUser("Rita Rival", { organization: await newOrganization(), role: "owner" });
const reader = await newKey(organization, ["surveys:read"]);
const writer = await newKey(organization, ["surveys:write"]);

const create = (body: unknown, as = admin as { token: string }) =>
  api("POST", "/api/surveys", { as, on: organization, body });
const patch = (id: string, body: unknown, as = admin as { token: string }) =>
  api("PATCH", `/api/surveys/${id}`, { as, body });
const times = <Item>(count: number, item: (n: number) => Item) => Array.from({ length: count }, (_, n) => item(n));
const question = (fields: object = {}) => ({ type: "text", text: "Why?", ...fields });
const choice = (fields: object = {}) => question({ type: "multiple_choice", options: ["Yes", "No"], ...fields });

describe("creating a survey", () => {
  it("returns a draft and the address of its page", async () => {
    const { data } = expectJson(await create({ title: "A survey" }), 201, surveyCreatedAnswer);
    expect(data).toEqual({ id: data.id, status: "draft", url: `${stack.supabase_url}/surveys/${data.id}` });
  });

  it("stores all fields in their order", async () => {
    const submission = await newSubmission(organization, member);
    const expected = {
      title: "  Everything  ",
      description: "Of a survey",
      questions: oneOfEach,
      settings: { allow_multiple_responses: true, show_branding: false, redirect_url: "https://example.org/thanks" },
      targeting: { audience: "voters", submission_id: submission, locales: ["de", "pt-BR"] },
      closes_at: "2999-01-31T12:00:00+02:00",
    };
    const { id } = expectJson(await create(expected), 201, surveyCreatedAnswer).data;
    const shown = await detailOf(id, admin, "questions,targeting");
    expect(shown).toMatchObject({
      id,
      title: "Everything",
      description: "Of a survey",
      status: "draft",
      settings: expected.settings,
      targeting: expected.targeting,
      response_count: 0,
      start_count: 0,
      completion_rate: 0,
      timed_count: 0,
      avg_completion_time: 0,
      version_of: null,
      published_at: null,
      closed_at: null,
      url: `${stack.supabase_url}/surveys/${id}`,
    });
    expect(Date.parse(shown.closes_at ?? "")).toBe(Date.parse(expected.closes_at));
    const created = { id: expect.any(String) };
    expect(shown.questions).toEqual(
      oneOfEach.map(({ type, text, required = false, multiple = false, options }, n) => ({
        ...created,
        type,
        text,
        required,
        order: n + 1,
        ...(type === "rating" && { scale: 5 }),
        ...(options && { multiple, options: options.map((text, i) => ({ ...created, text, order: i + 1 })) }),
      })),
    );
  });

  it("accepts the maximum of questions, options and characters", async () => {
    const questions = [
      choice({ text: "😀".repeat(1000), options: times(100, (n) => `${n}${"😀".repeat(195)}`) }),
      ...times(199, () => question()),
    ];
    const created = expectJson(
      await create({ title: "😀".repeat(200), description: "😀".repeat(5000), questions }),
      201,
      surveyCreatedAnswer,
    );
    const shown = await detailOf(created.data.id, admin, "questions");
    expect(shown.questions).toHaveLength(200);
    expect(shown.questions?.[0]?.options).toHaveLength(100);
  });

  it.each<[what: string, body: unknown, fields: string[]]>([
    ["no title", {}, ["title"]],
    ["an empty title", { title: "  " }, ["title"]],
    ["a title of 201 characters", { title: "x".repeat(201) }, ["title"]],
    ["a title that is no text", { title: 7 }, ["title"]],
    ["a title with a NUL", { title: "a\0b" }, ["title"]],
    ["a description of 5001 characters", { title: "T", description: "x".repeat(5001) }, ["description"]],
    ["questions that are no array", { title: "T", questions: {} }, ["questions"]],
    ["201 questions", { title: "T", questions: times(201, () => question()) }, ["questions"]],
    ["a question that is no object", { title: "T", questions: ["Why?"] }, ["questions.0"]],
    ["a question of no type", { title: "T", questions: [{ text: "Why?" }] }, ["questions.0.type"]],
    ["a question of another type", { title: "T", questions: [question({ type: "date" })] }, ["questions.0.type"]],
    ["a question without text", { title: "T", questions: [question(), { type: "text" }] }, ["questions.1.text"]],
    [
      "a question of 1001 characters",
      { title: "T", questions: [question({ text: "x".repeat(1001) })] },
      ["questions.0.text"],
    ],
    [
      "a question required in words",
      { title: "T", questions: [question({ required: "yes" })] },
      ["questions.0.required"],
    ],
    ["a choice without options", { title: "T", questions: [choice({ options: undefined })] }, ["questions.0.options"]],
    ["a choice of none", { title: "T", questions: [choice({ options: [] })] }, ["questions.0.options"]],
    ["a choice of 101", { title: "T", questions: [choice({ options: times(101, String) })] }, ["questions.0.options"]],
    [
      "an empty option",
      { title: "T", questions: [question(), choice({ options: [" ", "No"] })] },
      ["questions.1.options.0"],
    ],
    [
      "an option of 201 characters",
      { title: "T", questions: [choice({ options: ["x".repeat(201)] })] },
      ["questions.0.options.0"],
    ],
    [
      "an option that is no text",
      { title: "T", questions: [choice({ options: ["Yes", null] })] },
      ["questions.0.options.1"],
    ],
    [
      "an option twice",
      { title: "T", questions: [choice({ options: ["Yes", "No", " Yes "] })] },
      ["questions.0.options.2"],
    ],
    ["options of a text", { title: "T", questions: [question({ options: ["Yes"] })] }, ["questions.0.options"]],
    ["a text of several", { title: "T", questions: [question({ multiple: true })] }, ["questions.0.multiple"]],
    ["a text with a scale", { title: "T", questions: [question({ scale: 5 })] }, ["questions.0.scale"]],
    ["a scale of 1", { title: "T", questions: [question({ type: "rating", scale: 1 })] }, ["questions.0.scale"]],
    ["a scale of 11", { title: "T", questions: [question({ type: "rating", scale: 11 })] }, ["questions.0.scale"]],
    ["a scale of 2.5", { title: "T", questions: [question({ type: "rating", scale: 2.5 })] }, ["questions.0.scale"]],
    ["settings that are no object", { title: "T", settings: true }, ["settings"]],
    ["a setting in words", { title: "T", settings: { show_branding: "no" } }, ["settings.show_branding"]],
    [
      "a redirect to a script",
      { title: "T", settings: { redirect_url: "javascript:alert(1)" } },
      ["settings.redirect_url"],
    ],
    ["another audience", { title: "T", targeting: { audience: "team" } }, ["targeting.audience"]],
    ["voters of nothing", { title: "T", targeting: { audience: "voters" } }, ["targeting.submission_id"]],
    [
      "everyone of a submission",
      { title: "T", targeting: { submission_id: randomUUID() } },
      ["targeting.submission_id"],
    ],
    ["no language at all", { title: "T", targeting: { locales: [] } }, ["targeting.locales"]],
    ["a language that is none of ours", { title: "T", targeting: { locales: ["de", "tlh"] } }, ["targeting.locales.1"]],
    ["an end without an offset", { title: "T", closes_at: "2999-01-31T12:00:00" }, ["closes_at"]],
    ["an end in no year of ours", { title: "T", closes_at: "0000-01-31T12:00:00Z" }, ["closes_at"]],
    ["an end long past", { title: "T", closes_at: "2000-01-01T00:00:00+01:00" }, ["closes_at"]],
    ["an end on the last day there is", { title: "T", closes_at: "9999-12-31T00:00:00Z" }, ["closes_at"]],
    [
      "several at once",
      { title: "", questions: [question({ text: "" }), question({ type: "x" })] },
      ["title", "questions.0.text", "questions.1.type"],
    ],
  ])("rejects %s with the name of the field", async (_, body, fields) => {
    expectError(await create(body), "VALIDATION_ERROR", ...fields);
  });

  it.each([
    ["of nowhere", () => randomUUID()],
    ["of another organization", async () => newSubmission(await newOrganization(), stranger)],
  ])("rejects voters of a submission %s", async (_, submission) => {
    const targeting = { audience: "voters", submission_id: await submission() };
    expectError(await create({ title: "T", targeting }), "VALIDATION_ERROR", "targeting.submission_id");
  });

  it("is limited by the plan", async () => {
    const small = await newOrganization();
    const owner = await newUser("Otto Owner", { organization: small, role: "owner" });
    await sql`update public.organizations set max_surveys = 1 where id = ${small.id}`;
    await newDraft(owner, small);
    expectError(
      await api("POST", "/api/surveys", { as: owner, on: small, body: { title: "T" } }),
      "PLAN_LIMIT_REACHED",
    );
  });
});

describe("reading a survey", () => {
  it("includes questions, targeting and analytics with expand", async () => {
    const { id } = await newDraft(admin, organization);
    expect(Object.keys(await detailOf(id, admin))).not.toContain("questions");
    const shown = await detailOf(id, admin, "questions,targeting,analytics");
    expect(shown.questions).toHaveLength(oneOfEach.length);
    expect(shown.targeting).toEqual({ audience: "everyone", submission_id: null, locales: null });
    expect(shown.analytics?.response_count).toBe(0);
  });

  it("returns a draft to the team only", async () => {
    const { id } = await newDraft(admin, organization);
    for (const as of [admin, member, reader, writer]) expect(await detailOf(id, as)).toHaveProperty("id", id);
    for (const as of [undefined, stranger, rival])
      expectError(await api("GET", `/api/surveys/${id}`, { as }), "NOT_FOUND");
  });

  it.each(["targeting", "analytics"])("returns %s to admins only", async (what) => {
    const { id } = await newSurvey(admin, organization);
    const get = (as?: { token: string }) => api("GET", `/api/surveys/${id}?expand=${what}`, { as });
    expectError(await get(), "UNAUTHORIZED");
    for (const as of [stranger, rival, member]) {
      const { message } = expectError(await get(as), "FORBIDDEN");
      expect(message).toBe("Only admins of the organization may do this.");
    }
    const scope = what === "targeting" ? "surveys:read" : "analytics:read";
    expectError(
      await get(await newKey(organization, ["surveys:write", "surveys:publish", "responses:read"])),
      "FORBIDDEN",
    );
    expectJson(await get(await newKey(organization, [scope])), 200, surveyDetailAnswer);
    expectJson(await get(admin), 200, surveyDetailAnswer);
  });

  it.each(["targeting", "analytics"])("rejects changes by a caller who may not see its %s", async (what) => {
    const { id } = await newDraft(admin, organization, { title: "Before" });
    const as = await newKey(organization, ["surveys:write", "surveys:publish"]);
    expectError(await api("PATCH", `/api/surveys/${id}?expand=${what}`, { as, body: { title: "After" } }), "FORBIDDEN");
    expectError(await api("POST", `/api/surveys/${id}/archive?expand=${what}`, { as }), "FORBIDDEN");
    expect(await detailOf(id, admin)).toMatchObject({ title: "Before", status: "draft" });
  });

  it("returns 404 for an unknown id, and under another organization", async () => {
    const { id } = await newSurvey(admin, organization);
    for (const path of [randomUUID(), "7", "null"])
      expect(expectError(await api("GET", `/api/surveys/${path}`), "NOT_FOUND").details).toEqual([]);
    expectError(await api("GET", `/api/surveys/${id}`, { as: admin, on: await newOrganization() }), "NOT_FOUND");
  });
});

describe("listing surveys", () => {
  let own: Organization;
  let owner: User;
  const list = (query = "", as: { token: string } = owner) => api("GET", `/api/surveys${query}`, { as, on: own });
  const idsOf = async (query: string) => expectJson(await list(query), 200, surveyListAnswer).data.map(({ id }) => id);

  beforeAll(async () => {
    own = await newOrganization();
    owner = await newUser("Otto Owner", { organization: own, role: "owner" });
  });

  it("returns newest first, by page and by cursor, with numbers and a total", async () => {
    const created: string[] = [];
    for (const n of [1, 2, 3, 4, 5]) created.unshift((await newDraft(owner, own, { title: `Survey ${n}` })).id);
    const { data, meta } = expectJson(await list("?limit=2"), 200, surveyListAnswer);
    expect(data.map(({ id }) => id)).toEqual(created.slice(0, 2));
    expect(data[0]).toEqual({
      id: created[0],
      title: "Survey 5",
      status: "draft",
      response_count: 0,
      start_count: 0,
      completion_rate: 0,
      created_at: expect.any(String),
    });
    expect(meta).toMatchObject({ page: 1, limit: 2, total: 5, total_pages: 3, has_next: true, has_prev: false });
    expect(await idsOf("?limit=2&page=3")).toEqual(created.slice(4));
    const second = expectJson(await list(`?limit=2&cursor=${meta.next_cursor}`), 200, surveyListAnswer);
    expect(second.data.map(({ id }) => id)).toEqual(created.slice(2, 4));
    const third = expectJson(await list(`?limit=2&cursor=${second.meta.next_cursor}`), 200, surveyListAnswer);
    expect(third.data.map(({ id }) => id)).toEqual(created.slice(4));
    expect(third.meta).toMatchObject({ total: 5, has_next: false, has_prev: true, next_cursor: null });
  });

  it("filters by status", async () => {
    const published = await newSurvey(owner, own);
    const paused = await newSurvey(owner, own);
    await change(paused.id, "pause", owner);
    expect(await idsOf("?status=published")).toEqual([published.id]);
    expect(await idsOf("?status=paused")).toEqual([paused.id]);
    expect(await idsOf("?status=archived")).toEqual([]);
    expect(expectJson(await list("?status=draft"), 200, surveyListAnswer).meta.total).toBe(5);
  });
});

describe("changing a draft", () => {
  it("changes the given fields, and returns the whole survey", async () => {
    const { id } = await newDraft(admin, organization, { settings: { redirect_url: "https://example.org/" } });
    const changes = { title: "Another", settings: { show_branding: false }, closes_at: "2999-01-01T00:00:00Z" };
    const shown = expectJson(await patch(id, changes), 200, surveyDetailAnswer).data;
    expect(shown).toMatchObject({
      title: "Another",
      description: "",
      settings: { allow_multiple_responses: false, show_branding: false, redirect_url: "https://example.org/" },
    });
    expect(shown).toEqual(await detailOf(id, admin));
    const again = expectJson(await patch(id, shown), 200, surveyDetailAnswer).data;
    expect(again).toEqual({ ...shown, updated_at: again.updated_at });
    const cleared = { settings: { redirect_url: null }, closes_at: null, description: null, targeting: null };
    expect(expectJson(await patch(id, cleared), 200, surveyDetailAnswer).data).toMatchObject({
      title: "Another",
      description: "",
      settings: { show_branding: false },
    });
    expect((await api("GET", `/api/surveys/${id}`, { as: admin })).text).not.toMatch(/redirect_url|closes_at/);
  });

  it("replaces the questions as a whole", async () => {
    const { id, questions } = await newDraft(admin, organization);
    const path = `/api/surveys/${id}?expand=questions`;
    const answer = await api("PATCH", path, { as: admin, body: { questions: [choice(), question()] } });
    const now = expectJson(answer, 200, surveyDetailAnswer).data.questions ?? [];
    expect(now.map(({ type, order }) => [type, order])).toEqual([
      ["multiple_choice", 1],
      ["text", 2],
    ]);
    expect(now.some(({ id }) => questions.some((before) => before.id === id))).toBe(false);
    expectJson(await patch(id, { questions: [] }), 200, surveyDetailAnswer);
    expect((await detailOf(id, admin, "questions")).questions).toEqual([]);
  });

  it("changes nothing when one field is rejected", async () => {
    const { id } = await newDraft(admin, organization);
    const before = await detailOf(id, admin, "questions,targeting");
    const targeting = { audience: "voters", submission_id: randomUUID() };
    expectError(
      await patch(id, { title: "New", questions: [], targeting }),
      "VALIDATION_ERROR",
      "targeting.submission_id",
    );
    expect(await detailOf(id, admin, "questions,targeting")).toEqual(before);
  });

  it.each<[body: unknown, fields: string[]]>([
    [{}, ["body"]],
    [{ status: "published" }, ["body"]],
    [[], ["body"]],
    [{ title: null }, ["title"]],
    [{ questions: null }, ["questions"]],
    [{ questions: [choice({ options: ["a", "a"] })] }, ["questions.0.options.1"]],
  ])("rejects %j", async (body, fields) => {
    const { id } = await newDraft(admin, organization);
    expectError(await patch(id, body), "VALIDATION_ERROR", ...fields);
  });

  it.each(["publish", "pause", "archive"] as const)("is rejected after %s", async (action) => {
    const { id } = await newSurvey(admin, organization);
    await change(id, action, admin);
    const before = await detailOf(id, admin, "questions");
    for (const body of [{ title: "New" }, { questions: [question()] }, { closes_at: null }, { settings: {} }]) {
      expectError(await patch(id, body), "CONFLICT");
    }
    expect(await detailOf(id, admin, "questions")).toEqual(before);
  });
});

describe("deleting a survey", () => {
  const remove = (id: string, query = "", as: { token: string } = admin) =>
    api("DELETE", `/api/surveys/${id}${query}`, { as });

  it("deletes it, with and without force, without responses", async () => {
    for (const query of ["", "?force=false", "?force=true"]) {
      const { id } = await newSurvey(admin, organization);
      expectJson(await remove(id, query), 200, deletedAnswer);
      expectError(await api("GET", `/api/surveys/${id}`, { as: admin }), "NOT_FOUND");
      expectError(await remove(id, query), "NOT_FOUND");
    }
  });

  it("requires force with responses, and deletes them", async () => {
    const survey = await newSurvey(admin, organization);
    expect((await respond(survey, stranger, { 0: 9 })).status).toBe(201);
    for (const query of ["", "?force=false"]) expectError(await remove(survey.id, query), "SURVEY_HAS_RESPONSES");
    expect(await detailOf(survey.id, admin)).toHaveProperty("response_count", 1);
    expectJson(await remove(survey.id, "?force=true"), 200, deletedAnswer);
    expect(await sql`select 1 from public.survey_responses where survey_id = ${survey.id}`).toHaveLength(0);
  });
});
