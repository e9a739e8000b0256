import { expect, it } from "vitest";
import { surveyDetailAnswer } from "../../shared/surveys.ts";
import { sql } from "../stack.ts";
import { api, type Caller, expectJson } from "./client.ts";
import { change, detailOf, newSurvey, respond } from "./survey-world.ts";
import { newOrganization, newUser, newUsers } from "./world.ts";

it("a concurrent start and response count as responded, not as started only", async () => {
  const organization = await newOrganization();
  const admin = await newUser("Admin", { organization, role: "admin" });
  const survey = await newSurvey(admin, organization);
  const crowd = await newUsers(25);
  const start = (as: Caller) => api("POST", `/api/surveys/${survey.id}/start`, { as });
  await Promise.all(crowd.map(start));
  await Promise.all(crowd.flatMap((as) => [start(as), respond(survey, as, { 0: 9 }), start(as), start(as)]));
  expect(await detailOf(survey.id, admin)).toMatchObject({ response_count: 25, completion_rate: 1 });
});

it("concurrent responses, starts, pauses, versions and an account deletion leave exact counts and one live version", async () => {
  const organization = await newOrganization();
  const admin = await newUser("Admin", { organization, role: "admin" });
  const crowd = await newUsers(40);
  const first = await newSurvey(admin, organization);
  const second = expectJson(await change(first.id, "versions", admin), 201, surveyDetailAnswer).data.id;
  const calls = [
    ...crowd.flatMap((person, n) => [
      () => api("POST", `/api/surveys/${first.id}/start`, { as: person }),
      () => respond(first, person, { 0: n % 11, 1: 1 + (n % 5), 3: ["Votes"], 5: `p${n}@example.org` }),
      () => respond(first, person, { 0: 9 }),
    ]),
    ...(["pause", "resume", "pause", "resume", "versions"] as const).map(
      (action) => () => change(first.id, action, admin),
    ),
  ];
  const [user] = crowd;
  const [answers] = await Promise.all([
    Promise.all(calls.map((call) => call())),
    sql`delete from auth.users where id = ${user?.id ?? ""}`,
  ]);
  const [last] = await Promise.all([
    change(second, "publish", admin),
    change(first.id, "pause", admin),
    ...crowd.map((person) => respond(first, person, { 0: 10 })),
  ]);
  expectJson(last, 200, surveyDetailAnswer);
  for (const { status, text } of answers) expect([200, 201, 401, 409], text).toContain(status);

  const { n } = (
    await sql<{ n: number }[]>`select count(*)::int as n from public.survey_responses where survey_id = ${first.id}`
  )[0] ?? { n: -1 };
  expect(await detailOf(first.id, admin)).toMatchObject({ status: "archived", response_count: n });
  expect(await detailOf(second, admin)).toMatchObject({ status: "published", response_count: 0 });
  const mistakes = await sql`
    select m.* from private.survey_count_discrepancies() m
    where m.id in (select id from public.surveys where organization_id = ${organization.id}
      union all select id from public.survey_questions where organization_id = ${organization.id})`;
  expect([...mistakes]).toEqual([]);
});

it("a concurrent response and account deletion leave no address behind", async () => {
  const organization = await newOrganization();
  const admin = await newUser("Admin", { organization, role: "admin" });
  const survey = await newSurvey(admin, organization);
  const crowd = await newUsers(15);
  const erase = (as: Caller) => api("DELETE", "/api/me?confirm=erase", { as });
  const answers = await Promise.all(
    crowd.flatMap((as) => [
      api("POST", `/api/surveys/${survey.id}/start`, { as }),
      respond(survey, as, { 0: 9, 5: "me@example.org" }),
      erase(as),
    ]),
  );
  for (const { status, text } of answers) expect([200, 201, 401, 409], text).toContain(status);
  const left = await sql`
    select from public.survey_responses where survey_id = ${survey.id} and answers::text like '%me@example.org%'
    union all select from private.survey_starts where survey_id = ${survey.id}`;
  expect(left).toHaveLength(0);
  expect(await sql`select from private.survey_count_discrepancies() where id = ${survey.id}`).toHaveLength(0);
});
