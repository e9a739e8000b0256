import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import { sql } from "../stack.ts";
import { done, expectCode, expectError, newcomer } from "./web-app.ts";

it("an admin's app creates a survey and reads its results; a visitor's app responds to it", async () => {
  const [admin, visitor] = await Promise.all([newcomer("Ada"), newcomer("Vic")]);
  const [organization] = await sql<{ id: string }[]>`
    insert into organizations (slug, name) values (${`app-${randomUUID().slice(0, 8)}`}, 'App') returning id`;
  const organization_id = organization?.id ?? "";
  await sql`insert into memberships (organization_id, user_id, role) values (${organization_id}, ${admin.id}, 'admin')`;

  const survey = done(
    await admin.app.from("surveys").insert({ organization_id, title: "How is it?" }).select("id").single(),
  );
  const asked = { survey_id: survey.id, type: "rating", text: "How many stars?", position: 1 };
  const question = done(
    await admin.app.from("survey_questions").insert(asked).select("id,scale,organization_id").single(),
  );
  expect(question).toMatchObject({ scale: 5, organization_id });
  const publish = () =>
    admin.app.from("surveys").update({ status: "published" }).eq("id", survey.id).select("published_at");
  expect(done(await publish())).toEqual([{ published_at: expect.any(String) }]);
  expectError(await admin.app.from("survey_questions").update({ text: "?" }).eq("id", question.id), "FB409");

  expect(done(await visitor.app.rpc("start_survey", { survey_id: survey.id }))).toEqual(expect.any(String));
  const answer = (value: unknown) =>
    visitor.app.rpc("submit_survey_response", { survey_id: survey.id, answers: [{ question_id: question.id, value }] });
  expectError(await answer(6), "FB400", {
    details: [{ field: "answers.0.value", message: "must be a whole number from 1 to 5" }],
  });
  const id = done(await answer(5));
  const own = visitor.app.from("survey_responses").select("answers,sentiment,started_at").eq("id", id);
  expect(done(await own.single())).toEqual({
    answers: [{ question_id: question.id, value: 5 }],
    sentiment: "positive",
    started_at: expect.any(String),
  });
  expectError(await answer(5), "FBR09");
  const direct = visitor.app.from("survey_responses");
  expectCode(await direct.insert({ survey_id: survey.id, answers: [], user_id: admin.id }), "42501");

  const results = (by: typeof admin) =>
    by.app.from("survey_results").select("response_count,completion_rate").eq("survey_id", survey.id);
  expect(done(await results(admin))).toEqual([{ response_count: 1, completion_rate: 1 }]);
  expect(done(await results(visitor))).toEqual([]);
  expectError(await admin.app.from("surveys").delete().eq("id", survey.id), "FBH09");
});
