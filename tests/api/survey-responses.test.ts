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
import { answered, api, type Caller, send as download, refused } from "./client.ts";
import {
  answersTo,
  behindTriggers,
  change,
  detailOf,
  type MadeSurvey,
  newSurvey,
  respond,
} from "./survey-world.ts";
import {
  newKey,
  newOrganization,
  newSubmission,
  newUser,
  newUsers,
  type Organization,
  only,
  type User,
} from "./world.ts";

let organization: Organization;
let admin: User;
let survey: MadeSurvey;

beforeAll(async () => {
  organization = await newOrganization();
  admin = await newUser("Ada Admin", { organization, role: "admin" });
  survey = await newSurvey(admin, organization);
});

const made = surveyResponseCreatedAnswer;
const start = (id: string, as?: Caller) => api("POST", `/api/surveys/${id}/start`, { as });
const list = (id: string, query = "", as: Caller = admin) =>
  api("GET", `/api/surveys/${id}/responses${query}`, { as });
const listOf = async (id: string, query = "") =>
  answered(await list(id, query), 200, surveyResponseListAnswer);
const send = (answers: unknown, as?: Caller, to = survey) =>
  api("POST", `/api/surveys/${to.id}/responses`, { as, body: { answers } });
const optionOf = ({ questions }: MadeSurvey, question: number, option: number) =>
  only(questions[question]?.options?.[option]).id;

describe("answering a survey", () => {
  it("answers the response's id, and keeps what was said in question order", async () => {
    const person = await newUser("Rosa Respondent");
    const values = {
      5: " rosa@example.org ",
      4: "  Dark mode  ",
      3: ["Surveys", "Votes"],
      2: "iOS",
      1: 4,
      0: 10,
    };
    const { data } = answered(
      await respond(survey, person, values, { "accept-language": "de-AT, en;q=0.5" }),
      201,
      made,
    );
    expect(data.survey_id).toBe(survey.id);
    const kept = (await listOf(survey.id)).data.find(({ id }) => id === data.response_id);
    expect(kept).toMatchObject({
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

  it("takes options by their id too, and one alone where several may be chosen", async () => {
    const person = await newUser();
    const values = { 0: 7, 2: optionOf(survey, 2, 1), 3: optionOf(survey, 3, 2) };
    const { response_id } = answered(await respond(survey, person, values), 201, made).data;
    const kept = (await listOf(survey.id)).data.find(({ id }) => id === response_id);
    expect(kept?.answers).toEqual(answersTo(survey, { 0: 7, 2: "iOS", 3: ["Surveys"] }));
  });

  it("takes null, empty text and no options for no answer", async () => {
    const person = await newUser();
    const values = { 0: 0, 1: null, 2: "", 3: [], 4: "   ", 5: null };
    const { response_id } = answered(await respond(survey, person, values), 201, made).data;
    const kept = (await listOf(survey.id)).data.find(({ id }) => id === response_id);
    expect(kept?.answers).toEqual(answersTo(survey, { 0: 0 }));
  });

  it("takes a text of 5000 characters", async () => {
    answered(await respond(survey, await newUser(), { 0: 8, 4: "😀".repeat(5000) }), 201, made);
  });

  it("is the session's user, whatever the body says", async () => {
    const [person, other] = [await newUser(), await newUser()];
    const body = { user_id: other.id, respondent: other.id, answers: answersTo(survey, { 0: 5 }) };
    const answer = await api("POST", `/api/surveys/${survey.id}/responses`, { as: person, body });
    const { response_id } = answered(answer, 201, made).data;
    const [row] = await sql`select user_id from public.survey_responses where id = ${response_id}`;
    expect(row).toEqual({ user_id: person.id });
  });

  it.each<[what: string, values: Record<number, unknown>, fields: (on: MadeSurvey) => string[]]>([
    ["nothing", {}, (on) => [`questions.${on.questions[0]?.id}`]],
    ["all but what is required", { 4: "Hello" }, (on) => [`questions.${on.questions[0]?.id}`]],
    ["nothing of what is required", { 0: null, 4: "Hello" }, (on) => [`questions.${on.questions[0]?.id}`]],
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
    [
      "several wrong ones",
      { 0: 11, 1: 9, 5: "no" },
      () => ["answers.0.value", "answers.1.value", "answers.2.value"],
    ],
  ])("refuses %s, naming the answer, and stores nothing", async (_, values, fields) => {
    const person = await newUser();
    refused(await respond(survey, person, values), "VALIDATION_ERROR", ...fields(survey));
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
  ])("refuses %s", async (_, answers, fields) => {
    refused(await send(answers(survey), await newUser()), "VALIDATION_ERROR", ...fields);
  });

  it("refuses a question of another survey", async () => {
    const other = await newSurvey(admin, organization);
    const answers = [...answersTo(survey, { 0: 9 }), ...answersTo(other, { 4: "Hello" })];
    refused(await send(answers, await newUser()), "VALIDATION_ERROR", "answers.1.question_id");
  });

  it("refuses a response that answers nothing where nothing is required", async () => {
    const easy = await newSurvey(admin, organization, { questions: [{ type: "text", text: "Why?" }] });
    const person = await newUser();
    for (const values of [{}, { 0: "" }, { 0: null }]) {
      refused(await respond(easy, person, values), "VALIDATION_ERROR", "answers");
    }
  });

  it("is for people: keys get 403, nobody 401, and a key's scopes change nothing", async () => {
    const key = await newKey(organization, scopes);
    refused(await respond(survey, key, { 0: 9 }), "FORBIDDEN");
    refused(await start(survey.id, key), "FORBIDDEN");
    refused(await respond(survey, undefined, { 0: 9 }), "UNAUTHORIZED");
    refused(await start(survey.id), "UNAUTHORIZED");
  });

  it("is 404 where there is no survey, or none to see", async () => {
    const person = await newUser();
    refused(
      await api("POST", `/api/surveys/${randomUUID()}/responses`, { as: person, body: { answers: [] } }),
      "NOT_FOUND",
    );
    const { body } = await api("POST", "/api/surveys", {
      as: admin,
      on: organization,
      body: { title: "Draft" },
    });
    const { id } = (body as { data: { id: string } }).data;
    refused(await send([], person, { id, questions: [] }), "NOT_FOUND");
    refused(await start(id, person), "NOT_FOUND");
    refused(await send(answersTo(survey, { 0: 9 }), admin, { id, questions: [] }), "SURVEY_NOT_OPEN");
  });

  it("is over where the survey is paused or archived, or its time has passed", async () => {
    const person = await newUser();
    const open = await newSurvey(admin, organization, { closes_at: "2999-01-01T00:00:00Z" });
    const refusedNow = async () => {
      refused(await respond(open, person, { 0: 9 }), "SURVEY_NOT_OPEN");
      refused(await start(open.id, person), "SURVEY_NOT_OPEN");
    };
    await change(open.id, "pause", admin);
    await refusedNow();
    await change(open.id, "resume", admin);
    answered(await start(open.id, person), 201, surveyStartedAnswer);
    await behindTriggers((tx) => tx`update public.surveys set closes_at = now() where id = ${open.id}`);
    await refusedNow();
    await change(open.id, "archive", admin);
    await refusedNow();
  });

  it("is done once by a person, and again where the survey allows it", async () => {
    const person = await newUser();
    answered(await respond(survey, person, { 0: 9 }), 201, made);
    refused(await respond(survey, person, { 0: 3 }), "ALREADY_RESPONDED");
    refused(await start(survey.id, person), "ALREADY_RESPONDED");
    const often = await newSurvey(admin, organization, { settings: { allow_multiple_responses: true } });
    for (const value of [9, 3]) answered(await respond(often, person, { 0: value }), 201, made);
    expect(await detailOf(often.id)).toHaveProperty("response_count", 2);
  });

  it("done twenty times at once by one person leaves one", async () => {
    const person = await newUser();
    const fresh = await newSurvey(admin, organization);
    const answers = await Promise.all(Array.from({ length: 20 }, () => respond(fresh, person, { 0: 9 })));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    for (const answer of answers.filter(({ status }) => status !== 201)) refused(answer, "ALREADY_RESPONDED");
    expect(await detailOf(fresh.id)).toHaveProperty("response_count", 1);
  });

  it.each<["archive" | "delete"]>([["archive"], ["delete"]])(
    "while the survey is told to %s is whole or nothing",
    async (way) => {
      const fresh = await newSurvey(admin, organization);
      const people = await newUsers(10);
      const end = () =>
        way === "archive"
          ? change(fresh.id, "archive", admin)
          : api("DELETE", `/api/surveys/${fresh.id}?force=true`, { as: admin });
      const give = (person: User) => respond(fresh, person, { 0: 9, 3: ["Votes"] });
      const answers = await Promise.all([
        ...people.slice(0, 5).map(give),
        end(),
        ...people.slice(5).map(give),
      ]);
      for (const { status, text } of answers) expect([200, 201, 404, 409], text).toContain(status);
      const taken = answers.filter(({ status }) => status === 201).length;
      const rows = await sql`select answers from public.survey_responses where survey_id = ${fresh.id}`;
      expect(rows).toHaveLength(way === "archive" ? taken : 0);
      for (const row of rows) expect(row.answers).toHaveLength(2);
      if (way === "archive") expect(await detailOf(fresh.id)).toHaveProperty("response_count", taken);
    },
  );

  it("tells survey.response.created, without who answered and what", async () => {
    const person = await newUser();
    const fresh = await newSurvey(admin, organization);
    const { data } = answered(await respond(fresh, person, { 0: 10, 5: "me@example.org" }), 201, made);
    const rows = await sql<{ data: unknown }[]>`
      select data from private.outbox where type = 'survey.response.created' and subject_id = ${fresh.id}`;
    expect(rows).toHaveLength(1);
    expect(rows[0]?.data).toEqual({ ...data, sentiment: "positive", sentiment_score: 1 });
    expect(events["survey.response.created"].parse(rows[0]?.data)).toEqual(rows[0]?.data);
  });
});

describe("starting a survey", () => {
  it("is remembered from the first time on, and ends with the response", async () => {
    const person = await newUser();
    const fresh = await newSurvey(admin, organization);
    const first = answered(await start(fresh.id, person), 201, surveyStartedAnswer);
    expect(answered(await start(fresh.id, person), 200, surveyStartedAnswer)).toEqual(first);
    answered(await start(fresh.id, await newUser()), 201, surveyStartedAnswer);
    expect(await detailOf(fresh.id)).toMatchObject({ completion_rate: 0, response_count: 0 });
    await sql`update private.survey_starts set started_at = started_at - interval '90 seconds' where user_id = ${person.id}`;
    answered(await respond(fresh, person, { 0: 9 }), 201, made);
    const [kept] = (await listOf(fresh.id)).data;
    expect(kept?.duration_seconds).toBeGreaterThanOrEqual(90);
    expect(Date.parse(kept?.started_at ?? "")).toBe(Date.parse(first.data.started_at) - 90_000);
    const shown = await detailOf(fresh.id);
    expect(shown).toMatchObject({ completion_rate: 0.5, response_count: 1 });
    expect(shown.avg_completion_time).toBe(kept?.duration_seconds);
  });
});

describe("whom a survey asks", () => {
  it.each(["voters", "followers"] as const)(
    "%s of a submission are let in, and nobody else",
    async (audience) => {
      const [author, person, stranger] = [await newUser(), await newUser(), await newUser()];
      const submission = await newSubmission(organization, author);
      const targeted = await newSurvey(admin, organization, {
        targeting: { audience, submission_id: submission },
      });
      refused(await respond(targeted, stranger, { 0: 9 }), "FORBIDDEN");
      refused(await start(targeted.id, stranger), "FORBIDDEN");
      const path = `/api/submissions/${submission}/${audience === "voters" ? "vote" : "follow"}`;
      await api("POST", path, { as: person });
      answered(await respond(targeted, person, { 0: 9 }), 201, made);
      answered(await respond(targeted, author, { 0: 9 }), 201, made);
    },
  );

  it.each(["voters", "followers"] as const)(
    "a key learns who the %s are from the respondents only with submissions:moderate",
    async (audience) => {
      const voter = await newUser("Vera Voter");
      const targeting = { audience, submission_id: await newSubmission(organization, voter) };
      const targeted = await newSurvey(admin, organization, { targeting });
      answered(await respond(targeted, voter, { 0: 9 }), 201, made);
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
        const listed = answered(await api("GET", path, { as }), 200, surveyResponseListAnswer).data;
        expect(only(listed[0]).respondent?.id).toBe(named ? voter.id : undefined);
        const { text } = await download("GET", `${path}?format=csv`, { as });
        expect([text.includes(voter.id), text.includes(voter.name)]).toEqual([named, named]);
      }
    },
  );

  it("speakers of its languages are let in, by Accept-Language", async () => {
    const targeted = await newSurvey(admin, organization, { targeting: { locales: ["de", "ja"] } });
    const [german, french, unknown] = [await newUser(), await newUser(), await newUser()];
    refused(await respond(targeted, french, { 0: 9 }, { "accept-language": "fr" }), "FORBIDDEN");
    refused(await respond(targeted, unknown, { 0: 9 }), "FORBIDDEN");
    answered(await respond(targeted, german, { 0: 9 }, { "accept-language": "de-CH" }), 201, made);
  });
});

describe("listing responses", () => {
  let listed: MadeSurvey;
  const days = [
    "2026-01-01T00:00:00Z",
    "2026-01-15T12:00:00Z",
    "2026-01-31T23:59:59.999Z",
    "2026-02-01T00:00:00Z",
  ];
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
    return data.map(({ submitted_at }) =>
      days.findIndex((day) => Date.parse(day) === Date.parse(submitted_at)),
    );
  };

  it.each<[query: string, found: number[]]>([
    ["", [3, 2, 1, 0]],
    ["start_date=2026-01-15", [3, 2, 1]],
    ["start_date=2026-01-15T12:00:00Z", [3, 2, 1]],
    ["start_date=2026-01-15T12:00:01Z", [3, 2]],
    ["end_date=2026-01-31", [2, 1, 0]],
    ["end_date=2026-01-31T00:00:00Z", [1, 0]],
    ["end_date=2026-02-01T01:00:00%2B01:00", [3, 2, 1, 0]],
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
  ])("with %j finds those it should, newest first", async (query, found) => {
    expect(await daysOf(query)).toEqual(found);
  });

  it("goes on by cursor, without missing any", async () => {
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

  it.each([
    "start_date=yesterday",
    "start_date=2026-02-30",
    "start_date=0000-01-01",
    "end_date=2026-01-01T00:00:00",
    "sentiment=mixed",
    "format=xml",
    "limit=0",
    "page=x",
    "cursor=eyJ9",
  ])("refuses %s", async (query) => {
    refused(await list(listed.id, `?${query}`), "VALIDATION_ERROR", query.split("=")[0] as string);
  });

  it("refuses an end before the start", async () => {
    const query = "?start_date=2026-02-01&end_date=2026-01-31";
    refused(await list(listed.id, query), "VALIDATION_ERROR", "end_date");
  });

  it("is for admins and keys that read responses", async () => {
    const member = await newUser("Mel Member", { organization, role: "member" });
    const rival = await newUser("Rita Rival", { organization: await newOrganization(), role: "owner" });
    for (const as of [member, rival, await newUser()]) refused(await list(listed.id, "", as), "FORBIDDEN");
    refused(await api("GET", `/api/surveys/${listed.id}/responses`), "UNAUTHORIZED");
    const others = scopes.filter((scope) => scope !== "responses:read");
    refused(await list(listed.id, "", await newKey(organization, others)), "FORBIDDEN");
    const reading = await list(listed.id, "", await newKey(organization, ["responses:read"]));
    expect(answered(reading, 200, surveyResponseListAnswer).data).toHaveLength(4);
    refused(await list(listed.id, "", await newKey(await newOrganization(), scopes)), "NOT_FOUND");
  });

  it("names nobody once the person is gone, and keeps what they said but their address", async () => {
    const fresh = await newSurvey(admin, organization);
    const person = await newUser();
    answered(await respond(fresh, person, { 0: 9, 5: "me@example.org" }), 201, made);
    await sql`delete from auth.users where id = ${person.id}`;
    const [kept] = (await listOf(fresh.id)).data;
    expect(kept?.answers).toEqual(answersTo(fresh, { 0: 9 }));
    expect(kept?.respondent?.name).toBe("Anonymous");
  });
});
