import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, it } from "vitest";
import { deletedAnswer } from "../../shared/submissions.ts";
import { surveyCreatedAnswer, surveyDetailAnswer, surveyListAnswer } from "../../shared/surveys.ts";
import { sql, stack } from "../stack.ts";
import { answered, api, refused } from "./client.ts";
import { change, detailOf, newDraft, newSurvey, oneOfEach, respond } from "./survey-world.ts";
import {
  type Key,
  newKey,
  newOrganization,
  newSubmission,
  newUser,
  type Organization,
  type User,
} from "./world.ts";

let organization: Organization;
let admin: User;
let member: User;
let stranger: User;
let rival: User;
let reader: Key;
let writer: Key;

beforeAll(async () => {
  organization = await newOrganization();
  admin = await newUser("Ada Admin", { organization, role: "admin" });
  member = await newUser("Mel Member", { organization, role: "member" });
  stranger = await newUser("Sam Stranger");
  rival = await newUser("Rita Rival", { organization: await newOrganization(), role: "owner" });
  reader = await newKey(organization, ["surveys:read"]);
  writer = await newKey(organization, ["surveys:write"]);
});

const create = (body: unknown, as = admin as { token: string }) =>
  api("POST", "/api/surveys", { as, on: organization, body });
const patch = (id: string, body: unknown, as = admin as { token: string }) =>
  api("PATCH", `/api/surveys/${id}`, { as, body });
const times = <Item>(count: number, item: (n: number) => Item) =>
  Array.from({ length: count }, (_, n) => item(n));
const question = (fields: object = {}) => ({ type: "text", text: "Why?", ...fields });
const choice = (fields: object = {}) =>
  question({ type: "multiple_choice", options: ["Yes", "No"], ...fields });

describe("making a survey", () => {
  it("answers a draft and the address of its page", async () => {
    const { data } = answered(await create({ title: "A survey" }), 201, surveyCreatedAnswer);
    expect(data).toEqual({ id: data.id, status: "draft", url: `${stack.supabase_url}/surveys/${data.id}` });
  });

  it("keeps everything that was said, in its order", async () => {
    const submission = await newSubmission(organization, member);
    const said = {
      title: "  Everything  ",
      description: "Of a survey",
      questions: oneOfEach,
      settings: {
        allow_multiple_responses: true,
        show_branding: false,
        redirect_url: "https://example.org/thanks",
      },
      targeting: { audience: "voters", submission_id: submission, locales: ["de", "pt-BR"] },
      closes_at: "2999-01-31T12:00:00+02:00",
    };
    const { id } = answered(await create(said), 201, surveyCreatedAnswer).data;
    const shown = await detailOf(id, admin, "questions,targeting");
    expect(shown).toMatchObject({
      id,
      title: "Everything",
      description: "Of a survey",
      status: "draft",
      settings: said.settings,
      targeting: said.targeting,
      response_count: 0,
      completion_rate: null,
      avg_completion_time: null,
      version_of: null,
      published_at: null,
      closed_at: null,
      url: `${stack.supabase_url}/surveys/${id}`,
    });
    expect(Date.parse(shown.closes_at ?? "")).toBe(Date.parse(said.closes_at));
    const made = { id: expect.any(String) };
    expect(shown.questions).toEqual(
      oneOfEach.map(({ type, text, required = false, multiple = false, options }, n) => ({
        ...made,
        type,
        text,
        required,
        order: n + 1,
        ...(type === "rating" && { scale: 5 }),
        ...(options && { multiple, options: options.map((text, i) => ({ ...made, text, order: i + 1 })) }),
      })),
    );
  });

  it("takes as many questions, options and characters as there may be", async () => {
    const questions = [
      choice({ text: "😀".repeat(1000), options: times(100, (n) => `${n}${"😀".repeat(195)}`) }),
      ...times(199, () => question()),
    ];
    const made = answered(
      await create({ title: "😀".repeat(200), description: "😀".repeat(5000), questions }),
      201,
      surveyCreatedAnswer,
    );
    const shown = await detailOf(made.data.id, admin, "questions");
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
    [
      "a question of another type",
      { title: "T", questions: [question({ type: "date" })] },
      ["questions.0.type"],
    ],
    [
      "a question without text",
      { title: "T", questions: [question(), { type: "text" }] },
      ["questions.1.text"],
    ],
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
    [
      "a choice without options",
      { title: "T", questions: [choice({ options: undefined })] },
      ["questions.0.options"],
    ],
    ["a choice of none", { title: "T", questions: [choice({ options: [] })] }, ["questions.0.options"]],
    [
      "a choice of 101",
      { title: "T", questions: [choice({ options: times(101, String) })] },
      ["questions.0.options"],
    ],
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
    [
      "options of a text",
      { title: "T", questions: [question({ options: ["Yes"] })] },
      ["questions.0.options"],
    ],
    [
      "a text of several",
      { title: "T", questions: [question({ multiple: true })] },
      ["questions.0.multiple"],
    ],
    ["a text with a scale", { title: "T", questions: [question({ scale: 5 })] }, ["questions.0.scale"]],
    [
      "a scale of 1",
      { title: "T", questions: [question({ type: "rating", scale: 1 })] },
      ["questions.0.scale"],
    ],
    [
      "a scale of 11",
      { title: "T", questions: [question({ type: "rating", scale: 11 })] },
      ["questions.0.scale"],
    ],
    [
      "a scale of 2.5",
      { title: "T", questions: [question({ type: "rating", scale: 2.5 })] },
      ["questions.0.scale"],
    ],
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
    [
      "a language that is none of ours",
      { title: "T", targeting: { locales: ["de", "tlh"] } },
      ["targeting.locales.1"],
    ],
    ["an end without an offset", { title: "T", closes_at: "2999-01-31T12:00:00" }, ["closes_at"]],
    ["an end in no year of ours", { title: "T", closes_at: "0000-01-31T12:00:00Z" }, ["closes_at"]],
    [
      "several at once",
      { title: "", questions: [question({ text: "" }), question({ type: "x" })] },
      ["title", "questions.0.text", "questions.1.type"],
    ],
  ])("refuses %s, naming the field", async (_, body, fields) => {
    refused(await create(body), "VALIDATION_ERROR", ...fields);
  });

  it.each([
    ["of nowhere", () => randomUUID()],
    ["of another organization", async () => newSubmission(await newOrganization(), stranger)],
  ])("refuses voters of a submission %s", async (_, submission) => {
    const targeting = { audience: "voters", submission_id: await submission() };
    refused(await create({ title: "T", targeting }), "VALIDATION_ERROR", "targeting.submission_id");
  });

  it("is for admins and keys that write surveys", async () => {
    for (const as of [member, stranger, rival]) refused(await create({ title: "T" }, as), "FORBIDDEN");
    refused(await api("POST", "/api/surveys", { on: organization, body: { title: "T" } }), "UNAUTHORIZED");
    refused(await api("POST", "/api/surveys", { as: reader, body: { title: "T" } }), "FORBIDDEN");
    answered(
      await api("POST", "/api/surveys", { as: writer, body: { title: "T" } }),
      201,
      surveyCreatedAnswer,
    );
  });

  it("cannot set what is not the caller's to set", async () => {
    const cheeky = {
      title: "T",
      id: randomUUID(),
      status: "published",
      response_count: 9,
      version_of: randomUUID(),
    };
    const { id } = answered(await create(cheeky), 201, surveyCreatedAnswer).data;
    expect(id).not.toBe(cheeky.id);
    expect(await detailOf(id, admin)).toMatchObject({ status: "draft", response_count: 0, version_of: null });
  });

  it("stops where the plan does", async () => {
    const small = await newOrganization();
    const owner = await newUser("Otto Owner", { organization: small, role: "owner" });
    await sql`update public.organizations set max_surveys = 1 where id = ${small.id}`;
    await newDraft(owner, small);
    refused(
      await api("POST", "/api/surveys", { as: owner, on: small, body: { title: "T" } }),
      "PLAN_LIMIT_REACHED",
    );
  });
});

describe("showing a survey", () => {
  it("shows questions, targeting and analytics where they are asked for", async () => {
    const { id } = await newDraft(admin, organization);
    expect(Object.keys(await detailOf(id, admin))).not.toContain("questions");
    const shown = await detailOf(id, admin, "questions,targeting,analytics");
    expect(shown.questions).toHaveLength(oneOfEach.length);
    expect(shown.targeting).toEqual({ audience: "everyone", submission_id: null, locales: null });
    expect(shown.analytics?.response_count).toBe(0);
  });

  it("shows a draft to the team, and to nobody else", async () => {
    const { id } = await newDraft(admin, organization);
    for (const as of [admin, member, reader, writer]) expect(await detailOf(id, as)).toHaveProperty("id", id);
    for (const as of [undefined, stranger, rival])
      refused(await api("GET", `/api/surveys/${id}`, { as }), "NOT_FOUND");
  });

  it("shows what is not a draft to everyone who sees the board, with its questions", async () => {
    const { id } = await newSurvey(admin, organization);
    for (const as of [undefined, stranger, rival, member]) {
      expect((await detailOf(id, as, "questions")).questions).toHaveLength(oneOfEach.length);
    }
  });

  it("shows a private board's survey to its team alone", async () => {
    const closed = await newOrganization({ visibility: "private" });
    const [owner, insider] = [
      await newUser("Otto Owner", { organization: closed, role: "owner" }),
      await newUser("Ines Insider", { organization: closed, role: "member" }),
    ];
    const survey = await newSurvey(owner, closed);
    expect(await detailOf(survey.id, insider)).toHaveProperty("id", survey.id);
    refused(await api("GET", `/api/surveys/${survey.id}`, { as: stranger }), "NOT_FOUND");
    refused(await respond(survey, stranger, { 0: 9 }), "NOT_FOUND");
    expect((await respond(survey, insider, { 0: 9 })).status).toBe(201);
  });

  it.each(["targeting", "analytics"])("shows %s to admins alone", async (what) => {
    const { id } = await newSurvey(admin, organization);
    const get = (as?: { token: string }) => api("GET", `/api/surveys/${id}?expand=${what}`, { as });
    for (const as of [undefined, stranger, rival, member]) {
      const { status, text } = await get(as);
      expect([403, 404], text).toContain(status);
    }
    const scope = what === "targeting" ? "surveys:read" : "analytics:read";
    refused(
      await get(await newKey(organization, ["surveys:write", "surveys:publish", "responses:read"])),
      "FORBIDDEN",
    );
    answered(await get(await newKey(organization, [scope])), 200, surveyDetailAnswer);
    answered(await get(admin), 200, surveyDetailAnswer);
  });

  it.each(["responses", "questions,", "Questions"])("refuses to expand %j", async (expand) => {
    const { id } = await newDraft(admin, organization);
    const path = `/api/surveys/${id}?expand=${encodeURIComponent(expand)}`;
    refused(await api("GET", path, { as: admin }), "VALIDATION_ERROR", "expand");
  });

  it("is 404 for an id of nothing, and for another organization beside it", async () => {
    const { id } = await newSurvey(admin, organization);
    for (const path of [randomUUID(), "7", "null"])
      expect(refused(await api("GET", `/api/surveys/${path}`), "NOT_FOUND").details).toEqual([]);
    refused(await api("GET", `/api/surveys/${id}`, { as: admin, on: await newOrganization() }), "NOT_FOUND");
  });
});

describe("listing surveys", () => {
  let own: Organization;
  let owner: User;
  const list = (query = "", as: { token: string } = owner) =>
    api("GET", `/api/surveys${query}`, { as, on: own });
  const idsOf = async (query: string) =>
    answered(await list(query), 200, surveyListAnswer).data.map(({ id }) => id);

  beforeAll(async () => {
    own = await newOrganization();
    owner = await newUser("Otto Owner", { organization: own, role: "owner" });
  });

  it("shows newest first, by page and by cursor, with numbers and a total", async () => {
    const made: string[] = [];
    for (const n of [1, 2, 3, 4, 5]) made.unshift((await newDraft(owner, own, { title: `Survey ${n}` })).id);
    const { data, meta } = answered(await list("?limit=2"), 200, surveyListAnswer);
    expect(data.map(({ id }) => id)).toEqual(made.slice(0, 2));
    expect(data[0]).toEqual({
      id: made[0],
      title: "Survey 5",
      status: "draft",
      response_count: 0,
      completion_rate: null,
      created_at: expect.any(String),
      closes_at: null,
    });
    expect(meta).toMatchObject({
      page: 1,
      limit: 2,
      total: 5,
      total_pages: 3,
      has_next: true,
      has_prev: false,
    });
    expect(await idsOf("?limit=2&page=3")).toEqual(made.slice(4));
    const second = answered(await list(`?limit=2&cursor=${meta.next_cursor}`), 200, surveyListAnswer);
    expect(second.data.map(({ id }) => id)).toEqual(made.slice(2, 4));
    const third = answered(await list(`?limit=2&cursor=${second.meta.next_cursor}`), 200, surveyListAnswer);
    expect(third.data.map(({ id }) => id)).toEqual(made.slice(4));
    expect(third.meta).toMatchObject({ total: 5, has_next: false, has_prev: true, next_cursor: null });
  });

  it("filters by status", async () => {
    const published = await newSurvey(owner, own);
    const paused = await newSurvey(owner, own);
    await change(paused.id, "pause", owner);
    expect(await idsOf("?status=published")).toEqual([published.id]);
    expect(await idsOf("?status=paused")).toEqual([paused.id]);
    expect(await idsOf("?status=archived")).toEqual([]);
    expect(answered(await list("?status=draft"), 200, surveyListAnswer).meta.total).toBe(5);
  });

  it.each(["status=open", "page=0", "limit=101", "cursor=!", "cursor=abc"])("refuses %s", async (query) => {
    refused(await list(`?${query}`), "VALIDATION_ERROR", query.split("=")[0] as string);
  });

  it("is for admins and keys that read surveys", async () => {
    for (const as of [member, stranger, admin]) refused(await list("", as), "FORBIDDEN");
    refused(await api("GET", "/api/surveys", { as: writer }), "FORBIDDEN");
    const own = answered(await api("GET", "/api/surveys?limit=100", { as: reader }), 200, surveyListAnswer);
    expect(own.data.length).toBeGreaterThan(0);
  });
});

describe("changing a draft", () => {
  it("changes what is named, and shows the whole", async () => {
    const { id } = await newDraft(admin, organization, {
      settings: { redirect_url: "https://example.org/" },
    });
    const changes = {
      title: "Another",
      settings: { show_branding: false },
      closes_at: "2999-01-01T00:00:00Z",
    };
    const shown = answered(await patch(id, changes), 200, surveyDetailAnswer).data;
    expect(shown).toMatchObject({
      title: "Another",
      description: "",
      settings: {
        allow_multiple_responses: false,
        show_branding: false,
        redirect_url: "https://example.org/",
      },
    });
    expect(shown).toEqual(await detailOf(id, admin));
    const cleared = { settings: { redirect_url: null }, closes_at: null, description: null, targeting: null };
    expect(answered(await patch(id, cleared), 200, surveyDetailAnswer).data).toMatchObject({
      title: "Another",
      description: "",
      closes_at: null,
      settings: { redirect_url: null, show_branding: false },
    });
  });

  it("replaces the questions as a whole", async () => {
    const { id, questions } = await newDraft(admin, organization);
    const path = `/api/surveys/${id}?expand=questions`;
    const answer = await api("PATCH", path, { as: admin, body: { questions: [choice(), question()] } });
    const now = answered(answer, 200, surveyDetailAnswer).data.questions ?? [];
    expect(now.map(({ type, order }) => [type, order])).toEqual([
      ["multiple_choice", 1],
      ["text", 2],
    ]);
    expect(now.some(({ id }) => questions.some((before) => before.id === id))).toBe(false);
    answered(await patch(id, { questions: [] }), 200, surveyDetailAnswer);
    expect((await detailOf(id, admin, "questions")).questions).toEqual([]);
  });

  it("keeps everything where one field is refused", async () => {
    const { id } = await newDraft(admin, organization);
    const before = await detailOf(id, admin, "questions,targeting");
    const targeting = { audience: "voters", submission_id: randomUUID() };
    refused(
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
  ])("refuses %j", async (body, fields) => {
    const { id } = await newDraft(admin, organization);
    refused(await patch(id, body), "VALIDATION_ERROR", ...fields);
  });

  it.each(["publish", "pause", "archive"] as const)("is over after %s", async (action) => {
    const { id } = await newSurvey(admin, organization);
    await change(id, action, admin);
    const before = await detailOf(id, admin, "questions");
    for (const body of [
      { title: "New" },
      { questions: [question()] },
      { closes_at: null },
      { settings: {} },
    ]) {
      refused(await patch(id, body), "CONFLICT");
    }
    expect(await detailOf(id, admin, "questions")).toEqual(before);
  });

  it("is for admins and keys that write surveys", async () => {
    const { id } = await newDraft(admin, organization);
    refused(await patch(id, { title: "New" }, member), "FORBIDDEN");
    refused(await patch(id, { title: "New" }, reader), "FORBIDDEN");
    for (const as of [stranger, rival]) refused(await patch(id, { title: "New" }, as), "NOT_FOUND");
    answered(await patch(id, { title: "By key" }, writer), 200, surveyDetailAnswer);
  });
});

describe("deleting a survey", () => {
  const remove = (id: string, query = "", as: { token: string } = admin) =>
    api("DELETE", `/api/surveys/${id}${query}`, { as });

  it("takes it away, with and without force, where nobody answered", async () => {
    for (const query of ["", "?force=false", "?force=true"]) {
      const { id } = await newSurvey(admin, organization);
      answered(await remove(id, query), 200, deletedAnswer);
      refused(await api("GET", `/api/surveys/${id}`, { as: admin }), "NOT_FOUND");
      refused(await remove(id, query), "NOT_FOUND");
    }
  });

  it("needs force where somebody answered, and takes the responses along", async () => {
    const survey = await newSurvey(admin, organization);
    expect((await respond(survey, stranger, { 0: 9 })).status).toBe(201);
    for (const query of ["", "?force=false"]) refused(await remove(survey.id, query), "SURVEY_HAS_RESPONSES");
    expect(await detailOf(survey.id, admin)).toHaveProperty("response_count", 1);
    answered(await remove(survey.id, "?force=true"), 200, deletedAnswer);
    expect(await sql`select 1 from public.survey_responses where survey_id = ${survey.id}`).toHaveLength(0);
  });

  it.each(["force=yes", "force=1", "force="])("refuses %s", async (query) => {
    const { id } = await newDraft(admin, organization);
    refused(await remove(id, `?${query}`), "VALIDATION_ERROR", "force");
  });

  it("is for admins and keys that write surveys", async () => {
    const { id } = await newSurvey(admin, organization);
    for (const as of [member, stranger, rival, reader])
      refused(await remove(id, "?force=true", as), "FORBIDDEN");
    answered(await remove(id, "", writer), 200, deletedAnswer);
  });
});
