import { describe, expect, it } from "vitest";
import { surveyAnalyticsAnswer, surveyListAnswer } from "../../shared/surveys.ts";
import { sql } from "../stack.ts";
import { api, type Caller, expectJson, getJson } from "./client.ts";
import { change, detailOf, newSurvey, oneOfEach, respond } from "./survey-world.ts";
import { newOrganization, newUser, newUsers } from "./world.ts";

const get = (id: string, query = "", as: Caller | undefined = admin) =>
  api("GET", `/api/surveys/${id}/analytics${query}`, { as });
const numbersOf = async (id: string, query = "") => expectJson(await get(id, query), 200, surveyAnalyticsAnswer).data;

const values = [
  { 0: 10, 1: 5, 2: "Web", 3: ["Votes", "Comments"] },
  { 0: 9, 1: 4, 2: "Web", 3: ["Votes"], 5: "a@example.org" },
  { 0: 8, 2: "iOS" },
  { 0: 2, 1: 1 },
];
const organization = await newOrganization();
const admin = await newUser("Ada Admin", { organization, role: "owner" });
const survey = await newSurvey(admin, organization);
const people = await newUsers(6);
for (const person of people.slice(0, 2).concat(people.slice(4))) {
  await api("POST", `/api/surveys/${survey.id}/start`, { as: person });
}
await sql`update private.survey_starts set started_at = now() - interval '100 seconds' where user_id = ${people[0]?.id ?? null}`;
await sql`update private.survey_starts set started_at = now() - interval '50 seconds' where user_id = ${people[1]?.id ?? null}`;
for (const [n, answers] of values.entries()) expect((await respond(survey, people[n], answers)).status).toBe(201);

describe("the analytics of a survey", () => {
  it("are computed from its responses", async () => {
    const numbers = await numbersOf(survey.id);
    const id = (n: number) => survey.questions[n]?.id;
    const asked = (n: number) => ({ question_id: id(n), question_text: oneOfEach[n]?.text, type: oneOfEach[n]?.type });
    expect(numbers).toMatchObject({
      response_count: 4,
      // Four responded; two of them and two others had started.
      start_count: 6,
      completion_rate: 0.6667,
      timed_count: 2,
      nps_count: 4,
      nps_score: 25,
      sentiment: { scored_count: 4, positive_count: 2, neutral_count: 1, negative_count: 1 },
    });
    expect(numbers.avg_completion_time).toBeGreaterThanOrEqual(75);
    expect(numbers.avg_completion_time).toBeLessThan(85);
    expect(numbers.breakdown_by_question).toEqual([
      {
        ...asked(0),
        answer_count: 4,
        responses: { 0: 0, 1: 0, 2: 1, 3: 0, 4: 0, 5: 0, 6: 0, 7: 0, 8: 1, 9: 1, 10: 1 },
      },
      { ...asked(1), answer_count: 3, responses: { 1: 1, 2: 0, 3: 0, 4: 1, 5: 1 } },
      { ...asked(2), answer_count: 3, responses: { Web: 2, iOS: 1, Android: 0 } },
      { ...asked(3), answer_count: 2, responses: { Votes: 2, Comments: 1, Surveys: 0 } },
      { ...asked(4), answer_count: 0, responses: {} },
      { ...asked(5), answer_count: 1, responses: {} },
    ]);
  });

  it("include the numeric answers of a response in its sentiment", async () => {
    // (1 + 1) / 2, (0.6 + 0.5) / 2, 0.1, (-0.75 - 1) / 2
    const { sentiment } = await numbersOf(survey.id);
    expect(sentiment?.overall).toBeCloseTo((1 + 0.55 + 0.1 - 0.875) / 4, 3);
  });

  it("are the same in the list, in the detail, by expansion and in SQL", async () => {
    const numbers = await numbersOf(survey.id);
    const { response_count, start_count, completion_rate, timed_count, avg_completion_time, nps_score } = numbers;
    const listed = { response_count, start_count, completion_rate };
    const shown = await detailOf(survey.id, admin, "analytics");
    expect(shown).toMatchObject({ ...listed, timed_count, avg_completion_time, analytics: numbers });
    const { data } = await getJson("/api/surveys", surveyListAnswer, { as: admin, on: organization });
    expect(data.find(({ id }) => id === survey.id)).toMatchObject(listed);
    const [row] = await sql`select * from public.survey_results where survey_id = ${survey.id}`;
    expect(Number(row?.response_count)).toBe(response_count);
    expect([row?.completion_rate, row?.nps_score].map(Number)).toEqual([completion_rate, nps_score]);
  });

  it("are 0 without data, with every option at 0", async () => {
    const { id } = await newSurvey(admin, organization);
    const numbers = await numbersOf(id);
    expect(numbers).toMatchObject({
      response_count: 0,
      start_count: 0,
      completion_rate: 0,
      timed_count: 0,
      avg_completion_time: 0,
      nps_count: 0,
      nps_score: 0,
      sentiment: { overall: 0, scored_count: 0, positive_count: 0, neutral_count: 0, negative_count: 0 },
    });
    expect(numbers.breakdown_by_question?.[2]?.responses).toEqual({ Web: 0, iOS: 0, Android: 0 });
  });

  it.each([
    ["completion_rate", ["start_count", "completion_rate"]],
    ["sentiment,nps_score", ["nps_count", "nps_score", "sentiment"]],
    ["avg_completion_time", ["timed_count", "avg_completion_time"]],
    ["response_count, breakdown_by_question", ["response_count", "breakdown_by_question"]],
  ])("are those selected by metrics=%s", async (metrics, keys) => {
    const numbers = await numbersOf(survey.id, `?metrics=${encodeURIComponent(metrics)}`);
    expect(Object.keys(numbers).toSorted()).toEqual(keys.toSorted());
    expect(await numbersOf(survey.id)).toMatchObject(numbers);
  });

  it("are kept when the survey ends", async () => {
    const ended = await newSurvey(admin, organization);
    await respond(ended, await newUser(), { 0: 10 });
    await change(ended.id, "archive", admin);
    expect(await numbersOf(ended.id)).toMatchObject({ response_count: 1, nps_score: 100 });
  });
});
