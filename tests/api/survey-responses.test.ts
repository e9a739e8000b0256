import { describe, expect, it } from "vitest";
import { events } from "../../shared/events.ts";
import { scopes } from "../../shared/scopes.ts";
import {
  surveyResponseCreatedAnswer,
  surveyResponseListAnswer,
  surveyStartedAnswer,
} from "../../shared/survey-responses.ts";
import { sql } from "../stack.ts";
import { api, type Caller, send as download, expectError, expectJson, getJson } from "./client.ts";
import { answersTo, change, detailOf, newSurvey, respond } from "./survey-world.ts";
import { newKey, newOrganization, newSubmission, newUser, newUsers, only, type User } from "./world.ts";

const organization = await newOrganization();
const admin = await newUser("Ada Admin", { organization, role: "admin" });

const created = surveyResponseCreatedAnswer;
const start = (id: string, as?: Caller) => api("POST", `/api/surveys/${id}/start`, { as });
const list = (id: string, query = "", as: Caller = admin) => api("GET", `/api/surveys/${id}/responses${query}`, { as });
const listOf = async (id: string, query = "") => expectJson(await list(id, query), 200, surveyResponseListAnswer);

describe("responding to a survey", () => {
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
});

describe("listing responses", () => {
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
