import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, it } from "vitest";
import { events } from "../../shared/events.ts";
import { scopes } from "../../shared/scopes.ts";
import {
  surveyResponseCreatedAnswer,
  surveyResponseListAnswer,
  surveyStartedAnswer,
} from "../../shared/survey-responses.ts";
import { sql } from "../stack.ts";
import { api, type Caller, send as download, expectError, expectJson, getJson } from "./client.ts";
import { answersTo, behindTriggers, change, detailOf, type MadeSurvey, newSurvey, respond } from "./survey-world.ts";
import { newKey, newOrganization, newSubmission, newUser, newUsers, only, type User } from "./world.ts";

const organization = await newOrganization();
const admin = await newUser("Ada Admin", { organization, role: "admin" });
const survey = await newSurvey(admin, organization);

const created = surveyResponseCreatedAnswer;
const start = (id: string, as?: Caller) => api("POST", `/api/surveys/${id}/start`, { as });
const list = (id: string, query = "", as: Caller = admin) => api("GET", `/api/surveys/${id}/responses${query}`, { as });
const listOf = async (id: string, query = "") => expectJson(await list(id, query), 200, surveyResponseListAnswer);
const send = (answers: unknown, as?: Caller, to = survey) =>
  api("POST", `/api/surveys/${to.id}/responses`, { as, body: { answers } });
const optionOf = ({ questions }: MadeSurvey, question: number, option: number) =>
  only(questions[question]?.options?.[option]).id;

describe("responding to a survey", () => {
  it("returns the response's id, and stores the answers in question order", async () => {
    const person = await newUser("Rosa Respondent");
    const values = { 5: " rosa@example.org ", 4: "  Dark mode  ", 3: ["Surveys", "Votes"], 2: "iOS", 1: 4, 0: 10 };
    const { data } = expectJson(
      await respond(survey, person, values, { "accept-language": "de-AT, en;q=0.5" }),
      201,
      created,
    );
    expect(data.survey_id).toBe(survey.id);
    const storedRow = (await listOf(survey.id)).data.find(({ id }) => id === data.response_id);
    expect(storedRow).toMatchObject({
      respondent: { id: person.id, name: "Rosa Respondent", is_team_member: false },
      answers: answersTo(survey, {
        0: 10,
        1: 4,
        2: "iOS",
        3: ["Votes", "Surveys"],
        4: "Dark mode",
        5: "rosa@example.org",
      }),
      started_at: null,
      submitted_at: data.submitted_at,
      duration_seconds: null,
      locale: "de",
    });
  });

  it("accepts options by id, and a single option for multiple choice", async () => {
    const person = await newUser();
    const values = { 0: 7, 2: optionOf(survey, 2, 1), 3: optionOf(survey, 3, 2) };
    const { response_id } = expectJson(await respond(survey, person, values), 201, created).data;
    const storedRow = (await listOf(survey.id)).data.find(({ id }) => id === response_id);
    expect(storedRow?.answers).toEqual(answersTo(survey, { 0: 7, 2: "iOS", 3: ["Surveys"] }));
  });

  it("accepts null, empty text and no options as no answer", async () => {
    const person = await newUser();
    const values = { 0: 0, 1: null, 2: "", 3: [], 4: "   ", 5: null };
    const { response_id } = expectJson(await respond(survey, person, values), 201, created).data;
    const storedRow = (await listOf(survey.id)).data.find(({ id }) => id === response_id);
    expect(storedRow?.answers).toEqual(answersTo(survey, { 0: 0 }));
  });

  it("accepts a text of 5000 characters", async () => {
    expectJson(await respond(survey, await newUser(), { 0: 8, 4: "😀".repeat(5000) }), 201, created);
  });

  it("belongs to the signed-in user, whatever the body contains", async () => {
    const [person, other] = [await newUser(), await newUser()];
    const body = { user_id: other.id, respondent: other.id, answers: answersTo(survey, { 0: 5 }) };
    const answer = await api("POST", `/api/surveys/${survey.id}/responses`, { as: person, body });
    const { response_id } = expectJson(answer, 201, created).data;
    const [row] = await sql`select user_id from public.survey_responses where id = ${response_id}`;
    expect(row).toEqual({ user_id: person.id });
  });

  it.each<[what: string, values: Record<number, unknown>, fields: (on: MadeSurvey) => string[]]>([
    ["nothing", {}, (on) => [`questions.${on.questions[0]?.id}`]],
    ["no required question", { 4: "Hello" }, (on) => [`questions.${on.questions[0]?.id}`]],
    ["null for the required question", { 0: null, 4: "Hello" }, (on) => [`questions.${on.questions[0]?.id}`]],
    ["an nps of -1", { 0: -1 }, () => ["answers.0.value"]],
    ["an nps of 11", { 0: 11 }, () => ["answers.0.value"]],
    ["an nps of 9.5", { 0: 9.5 }, () => ["answers.0.value"]],
    ["an nps in words", { 0: "nine" }, () => ["answers.0.value"]],
    ["an nps as text", { 0: "9" }, () => ["answers.0.value"]],
    ["an nps among others", { 0: ["9"] }, () => ["answers.0.value"]],
    ["a rating of 0", { 0: 9, 1: 0 }, () => ["answers.1.value"]],
    ["a rating above its scale", { 0: 9, 1: 6 }, () => ["answers.1.value"]],
    ["an option there is not", { 0: 9, 2: "Windows" }, () => ["answers.1.value"]],
    ["a number for an option", { 0: 9, 2: 1 }, () => ["answers.1.value"]],
    ["two options of one", { 0: 9, 2: ["Web", "iOS"] }, () => ["answers.1.value"]],
    ["an option there is not among others", { 0: 9, 3: ["Votes", "Polls"] }, () => ["answers.1.value"]],
    ["an option twice", { 0: 9, 3: ["Votes", "Votes"] }, () => ["answers.1.value"]],
    ["a number for a text", { 0: 9, 4: 42 }, () => ["answers.1.value"]],
    ["several texts", { 0: 9, 4: ["a", "b"] }, () => ["answers.1.value"]],
    ["a text of 5001 characters", { 0: 9, 4: "x".repeat(5001) }, () => ["answers.1.value"]],
    ["a text with a NUL", { 0: 9, 4: "a\0b" }, () => ["answers.1.value"]],
    ["no address", { 0: 9, 5: "me at home" }, () => ["answers.1.value"]],
    ["true", { 0: true }, () => ["answers.0.value"]],
    ["an object", { 0: { value: 9 } }, () => ["answers.0.value"]],
    ["several wrong ones", { 0: 11, 1: 9, 5: "no" }, () => ["answers.0.value", "answers.1.value", "answers.2.value"]],
  ])("rejects %s with the field of the answer, and stores nothing", async (_, values, fields) => {
    const person = await newUser();
    expectError(await respond(survey, person, values), "VALIDATION_ERROR", ...fields(survey));
    expect(await sql`select 1 from public.survey_responses where user_id = ${person.id}`).toHaveLength(0);
  });

  it.each<[what: string, answers: (on: MadeSurvey) => unknown, fields: string[]]>([
    ["no answers at all", () => undefined, ["answers"]],
    ["answers that are no array", () => ({}), ["answers"]],
    ["201 answers", (on) => Array.from({ length: 201 }, () => answersTo(on, { 0: 9 })[0]), ["answers"]],
    ["an answer that is no object", () => [9], ["answers.0"]],
    ["an answer to nothing", () => [{ value: 9 }], ["answers.0.question_id"]],
    ["a question by its number", () => [{ question_id: 1, value: 9 }], ["answers.0.question_id"]],
    ["an answer without a value", (on) => [{ question_id: on.questions[0]?.id }], ["answers.0.value"]],
    [
      "a question twice",
      (on) => [...answersTo(on, { 0: 9, 4: "a" }), ...answersTo(on, { 4: "b" })],
      ["answers.2.question_id"],
    ],
    [
      "a question of no survey",
      (on) => [...answersTo(on, { 0: 9 }), { question_id: randomUUID(), value: 1 }],
      ["answers.1.question_id"],
    ],
  ])("rejects %s", async (_, answers, fields) => {
    expectError(await send(answers(survey), await newUser()), "VALIDATION_ERROR", ...fields);
  });

  it("rejects a question of another survey", async () => {
    const other = await newSurvey(admin, organization);
    const answers = [...answersTo(survey, { 0: 9 }), ...answersTo(other, { 4: "Hello" })];
    expectError(await send(answers, await newUser()), "VALIDATION_ERROR", "answers.1.question_id");
  });

  it("rejects a response without answers when no question is required", async () => {
    const easy = await newSurvey(admin, organization, { questions: [{ type: "text", text: "Why?" }] });
    const person = await newUser();
    for (const values of [{}, { 0: "" }, { 0: null }]) {
      expectError(await respond(easy, person, values), "VALIDATION_ERROR", "answers");
    }
  });

  it("returns 404 for an unknown or invisible survey", async () => {
    const person = await newUser();
    expectError(
      await api("POST", `/api/surveys/${randomUUID()}/responses`, { as: person, body: { answers: [] } }),
      "NOT_FOUND",
    );
    const { body } = await api("POST", "/api/surveys", { as: admin, on: organization, body: { title: "Draft" } });
    const { id } = (body as { data: { id: string } }).data;
    expectError(await send([], person, { id, questions: [] }), "NOT_FOUND");
    expectError(await start(id, person), "NOT_FOUND");
    expectError(await send(answersTo(survey, { 0: 9 }), admin, { id, questions: [] }), "SURVEY_NOT_OPEN");
  });

  it("returns SURVEY_NOT_OPEN when the survey is paused, archived or closed by time", async () => {
    const person = await newUser();
    const open = await newSurvey(admin, organization, { closes_at: "2999-01-01T00:00:00Z" });
    const refusedNow = async () => {
      expectError(await respond(open, person, { 0: 9 }), "SURVEY_NOT_OPEN");
      expectError(await start(open.id, person), "SURVEY_NOT_OPEN");
    };
    await change(open.id, "pause", admin);
    await refusedNow();
    await change(open.id, "resume", admin);
    expectJson(await start(open.id, person), 201, surveyStartedAnswer);
    await behindTriggers((tx) => tx`update public.surveys set closes_at = now() where id = ${open.id}`);
    await refusedNow();
    await change(open.id, "archive", admin);
    await refusedNow();
  });

  it("is accepted once per person, and again if the survey allows it", async () => {
    const person = await newUser();
    expectJson(await respond(survey, person, { 0: 9 }), 201, created);
    expectError(await respond(survey, person, { 0: 3 }), "ALREADY_RESPONDED");
    expectError(await start(survey.id, person), "ALREADY_RESPONDED");
    const often = await newSurvey(admin, organization, { settings: { allow_multiple_responses: true } });
    for (const value of [9, 3]) expectJson(await respond(often, person, { 0: value }), 201, created);
    expect(await detailOf(often.id)).toHaveProperty("response_count", 2);
  });

  it("sent twenty times concurrently by one person stores one response", async () => {
    const person = await newUser();
    const fresh = await newSurvey(admin, organization);
    const answers = await Promise.all(Array.from({ length: 20 }, () => respond(fresh, person, { 0: 9 })));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    for (const answer of answers.filter(({ status }) => status !== 201)) expectError(answer, "ALREADY_RESPONDED");
    expect(await detailOf(fresh.id)).toHaveProperty("response_count", 1);
  });

  it.each<["archive" | "delete"]>([["archive"], ["delete"]])(
    "during %s of the survey is stored completely or not at all",
    async (way) => {
      const fresh = await newSurvey(admin, organization);
      const people = await newUsers(10);
      const end = () =>
        way === "archive"
          ? change(fresh.id, "archive", admin)
          : api("DELETE", `/api/surveys/${fresh.id}?force=true`, { as: admin });
      const give = (person: User) => respond(fresh, person, { 0: 9, 3: ["Votes"] });
      const answers = await Promise.all([...people.slice(0, 5).map(give), end(), ...people.slice(5).map(give)]);
      for (const { status, text } of answers) expect([200, 201, 404, 409], text).toContain(status);
      const accepted = answers.filter(({ status }) => status === 201).length;
      const rows = await sql`select answers from public.survey_responses where survey_id = ${fresh.id}`;
      expect(rows).toHaveLength(way === "archive" ? accepted : 0);
      for (const row of rows) expect(row.answers).toHaveLength(2);
      if (way === "archive") expect(await detailOf(fresh.id)).toHaveProperty("response_count", accepted);
    },
  );

  it("publishes survey.response.created, without respondent and answers", async () => {
    const person = await newUser();
    const fresh = await newSurvey(admin, organization);
    const { data } = expectJson(await respond(fresh, person, { 0: 10, 5: "me@example.org" }), 201, created);
    const rows = await sql<{ data: unknown }[]>`
      select data from private.outbox where type = 'survey.response.created' and subject_id = ${fresh.id}`;
    expect(rows).toHaveLength(1);
    expect(rows[0]?.data).toEqual({ ...data, sentiment: "positive", sentiment_score: 1 });
    expect(events["survey.response.created"].parse(rows[0]?.data)).toEqual(rows[0]?.data);
  });
});

describe("starting a survey", () => {
  it("is recorded once, and ends with the response", async () => {
    const person = await newUser();
    const fresh = await newSurvey(admin, organization);
    const first = expectJson(await start(fresh.id, person), 201, surveyStartedAnswer);
    expect(expectJson(await start(fresh.id, person), 200, surveyStartedAnswer)).toEqual(first);
    expectJson(await start(fresh.id, await newUser()), 201, surveyStartedAnswer);
    expect(await detailOf(fresh.id)).toMatchObject({ completion_rate: 0, response_count: 0 });
    await sql`update private.survey_starts set started_at = started_at - interval '90 seconds' where user_id = ${person.id}`;
    expectJson(await respond(fresh, person, { 0: 9 }), 201, created);
    const [storedRow] = (await listOf(fresh.id)).data;
    expect(storedRow?.duration_seconds).toBeGreaterThanOrEqual(90);
    expect(Date.parse(storedRow?.started_at ?? "")).toBe(Date.parse(first.data.started_at) - 90_000);
    const shown = await detailOf(fresh.id);
    expect(shown).toMatchObject({ completion_rate: 0.5, response_count: 1 });
    expect(shown.avg_completion_time).toBe(storedRow?.duration_seconds);
  });

  const startsOf = (id: string) => sql<{ user_id: string; by_reading: boolean }[]>`
    select user_id, by_reading from private.survey_starts where survey_id = ${id}`;
  const read = async (id: string, as?: Caller, query = "", headers = {}) =>
    (await api("GET", `/api/surveys/${id}${query}`, { as, headers })).status;

  it("happens by the first read, however many are concurrent, until the first call of start", async () => {
    const person = await newUser();
    const fresh = await newSurvey(admin, organization, { settings: { allow_multiple_responses: true } });
    expect(await Promise.all(Array.from({ length: 10 }, () => read(fresh.id, person)))).toEqual(Array(10).fill(200));
    expect(await startsOf(fresh.id)).toEqual([{ user_id: person.id, by_reading: true }]);
    await sql`update private.survey_starts set started_at = started_at - interval '1 hour' where survey_id = ${fresh.id}`;
    const { data } = expectJson(await start(fresh.id, person), 201, surveyStartedAnswer);
    expect(Date.now() - Date.parse(data.started_at)).toBeLessThan(1_800_000);
    expect(await read(fresh.id, person)).toBe(200);
    expect(await startsOf(fresh.id)).toEqual([{ user_id: person.id, by_reading: false }]);
    expectJson(await respond(fresh, person, { 0: 9 }), 201, created);
    expect(await read(fresh.id, person)).toBe(200);
    expect(await startsOf(fresh.id)).toEqual([]);
  });

  it("happens by reading for people who may answer only, and is part of the numbers", async () => {
    const fresh = await newSurvey(admin, organization);
    const person = await newUser();
    for (const as of [undefined, admin, await newKey(organization, [...scopes])]) await read(fresh.id, as);
    await api("HEAD", `/api/surveys/${fresh.id}`, { as: person });
    await read(fresh.id, person, "", { "Sec-Purpose": "prefetch;prerender" });
    const session = Buffer.from(JSON.stringify({ access_token: person.token })).toString("base64url");
    const cookie = `sb-127-auth-token=base64-${session}`;
    expect(await read(fresh.id, undefined, "?expand=analytics", { cookie, "Sec-Fetch-Site": "cross-site" })).toBe(403);
    expect(await read(fresh.id, undefined, "", { cookie, "Sec-Fetch-Site": "cross-site" })).toBe(200);
    expect(await read(fresh.id, person, "?expand=analytics")).toBe(403);
    await change(fresh.id, "pause", admin);
    expect(await read(fresh.id, person)).toBe(200);
    await change(fresh.id, "resume", admin);
    expect(await startsOf(fresh.id)).toEqual([]);
    for (const as of [person, await newUser()]) expect(await read(fresh.id, as, "?expand=questions")).toBe(200);
    expectJson(await respond(fresh, person, { 0: 9 }), 201, created);
    expect(await detailOf(fresh.id)).toMatchObject({ start_count: 2, completion_rate: 0.5, timed_count: 1 });
  });

  it("lets a read succeed at once while it cannot be recorded", async () => {
    const fresh = await newSurvey(admin, organization);
    const person = await newUser();
    await sql.begin(async (tx) => {
      await tx`select from public.surveys where id = ${fresh.id} for update`;
      expect(await read(fresh.id, person)).toBe(200);
      await tx`select from public.profiles where id = ${person.id} for update`;
      expect(await read(fresh.id, person)).toBe(200);
    });
    expect(await startsOf(fresh.id)).toEqual([]);
    expect(await read(fresh.id, person)).toBe(200);
    expect(await startsOf(fresh.id)).toHaveLength(1);
  });
});

describe("the audience of a survey", () => {
  it.each(["voters", "followers"] as const)("accepts %s of a submission, and nobody else", async (audience) => {
    const [author, person, stranger] = [await newUser(), await newUser(), await newUser()];
    const submission = await newSubmission(organization, author);
    const targeted = await newSurvey(admin, organization, { targeting: { audience, submission_id: submission } });
    expectError(await respond(targeted, stranger, { 0: 9 }), "FORBIDDEN");
    expectError(await start(targeted.id, stranger), "FORBIDDEN");
    const path = `/api/submissions/${submission}/${audience === "voters" ? "vote" : "follow"}`;
    await api("POST", path, { as: person });
    expectJson(await respond(targeted, person, { 0: 9 }), 201, created);
    expectJson(await respond(targeted, author, { 0: 9 }), 201, created);
  });

  it.each(["voters", "followers"] as const)(
    "shows the %s to a key through the respondents only with submissions:moderate",
    async (audience) => {
      const voter = await newUser("Vera Voter");
      const targeting = { audience, submission_id: await newSubmission(organization, voter) };
      const targeted = await newSurvey(admin, organization, { targeting });
      expectJson(await respond(targeted, voter, { 0: 9 }), 201, created);
      const without = await newKey(
        organization,
        scopes.filter((scope) => scope !== "submissions:moderate"),
      );
      const withIt = await newKey(organization, ["responses:read", "submissions:moderate"]);
      const path = `/api/surveys/${targeted.id}/responses`;
      for (const [as, named] of [
        [without, false],
        [withIt, true],
        [admin, true],
      ] as const) {
        const listed = (await getJson(path, surveyResponseListAnswer, { as })).data;
        expect(only(listed[0]).respondent?.id).toBe(named ? voter.id : undefined);
        const { text } = await download("GET", `${path}?format=csv`, { as });
        expect([text.includes(voter.id), text.includes(voter.name)]).toEqual([named, named]);
      }
    },
  );

  it("accepts its languages, by Accept-Language", async () => {
    const targeted = await newSurvey(admin, organization, { targeting: { locales: ["de", "ja"] } });
    const [german, french, unknown] = [await newUser(), await newUser(), await newUser()];
    expectError(await respond(targeted, french, { 0: 9 }, { "accept-language": "fr" }), "FORBIDDEN");
    expectError(await respond(targeted, unknown, { 0: 9 }), "FORBIDDEN");
    expectJson(await respond(targeted, german, { 0: 9 }, { "accept-language": "de-CH" }), 201, created);
  });
});

describe("listing responses", () => {
  let listed: MadeSurvey;
  const days = ["2026-01-01T00:00:00Z", "2026-01-15T12:00:00Z", "2026-01-31T23:59:59.999Z", "2026-02-01T00:00:00Z"];
  const scores = [10, 7, 0, 10];

  beforeAll(async () => {
    listed = await newSurvey(admin, organization, { settings: { allow_multiple_responses: true } });
    const person = await newUser("Rosa Respondent");
    for (const [n, submitted_at] of days.entries()) {
      await sql`insert into public.survey_responses ${sql({
        survey_id: listed.id,
        user_id: person.id,
        answers: sql.json(answersTo(listed, { 0: scores[n] }) as never),
        submitted_at,
      })}`;
    }
  });

  const daysOf = async (query: string) => {
    const { data, meta } = await listOf(listed.id, `?${query}`);
    if (!query.includes("limit")) expect(meta.total).toBe(data.length);
    return data.map(({ submitted_at }) => days.findIndex((day) => Date.parse(day) === Date.parse(submitted_at)));
  };

  it.each<[query: string, found: number[]]>([
    ["", [3, 2, 1, 0]],
    ["start_date=2026-01-15", [3, 2, 1]],
    ["start_date=2026-01-15T12:00:00Z", [3, 2, 1]],
    ["start_date=2026-01-15T12:00:01Z", [3, 2]],
    ["end_date=2026-01-31", [2, 1, 0]],
    ["end_date=2026-01-31T00:00:00Z", [1, 0]],
    ["end_date=2026-02-01T01:00:00%2B01:00", [3, 2, 1, 0]],
    ["end_date=2026-02-01T01:00:00+01:00", [3, 2, 1, 0]],
    ["start_date=2026-01-15T12:00Z&end_date=2026-01-15T14:00+0200", [1]],
    ["start_date=2026-01-02&end_date=2026-01-15", [1]],
    ["start_date=2026-01-15&end_date=2026-01-15", [1]],
    ["start_date=2030-01-01", []],
    ["sentiment=positive", [3, 0]],
    ["sentiment=neutral", [1]],
    ["sentiment=negative", [2]],
    ["sentiment=positive&end_date=2026-01-31", [0]],
    ["limit=2", [3, 2]],
    ["limit=2&page=2", [1, 0]],
    ["format=json&limit=1&page=4", [0]],
  ])("with %j returns the matching ones, newest first", async (query, found) => {
    expect(await daysOf(query)).toEqual(found);
  });

  it("is paginated by cursor without gaps", async () => {
    const seen: string[] = [];
    let cursor = "";
    for (let n = 0; n < 4; n++) {
      const { data, meta } = await listOf(listed.id, `?limit=1${cursor}`);
      seen.push(...data.map(({ id }) => id));
      expect(meta.total).toBe(4);
      cursor = `&cursor=${meta.next_cursor}`;
      if (n === 3) expect(meta.next_cursor).toBeNull();
    }
    expect(new Set(seen).size).toBe(4);
  });

  it("rejects an end before the start", async () => {
    const query = "?start_date=2026-02-01&end_date=2026-01-31";
    expectError(await list(listed.id, query), "VALIDATION_ERROR", "end_date");
  });

  it("is anonymous after the person is deleted, and keeps the answers without their address", async () => {
    const fresh = await newSurvey(admin, organization);
    const person = await newUser();
    expectJson(await respond(fresh, person, { 0: 9, 5: "me@example.org" }), 201, created);
    await sql`delete from auth.users where id = ${person.id}`;
    const [storedRow] = (await listOf(fresh.id)).data;
    expect(storedRow?.answers).toEqual(answersTo(fresh, { 0: 9 }));
    expect(storedRow?.respondent?.name).toBe("Anonymous");
  });
});
