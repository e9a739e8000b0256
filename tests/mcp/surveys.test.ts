import { expect, test } from "vitest";
import { callTool, newAgent, resultOf } from "./agents.ts";

const agent = await newAgent();

const questions = [
  { type: "nps", text: "Would you recommend it?", required: true },
  { type: "multiple_choice", text: "Which part?", options: ["Search", "Lists"] },
  { type: "text", text: "Why?" },
];

test("survey_ids restrict an agent to those surveys, in every tool", async () => {
  const make = async (title: string) =>
    (await resultOf<{ survey_id: string }>(agent, "create_survey", { title, questions })).survey_id;
  const [inside, outside] = [await make("Inside"), await make("Outside")];
  const restricted = await newAgent({ organization: agent.organization, policies: { survey_ids: [inside] } });
  expect(await resultOf(restricted, "list_surveys")).toMatchObject({ surveys: [{ id: inside }], total: 1 });
  for (const name of [
    "get_survey",
    "publish_survey",
    "delete_survey",
    "list_survey_responses",
    "get_survey_analytics",
    "analyze_sentiment",
  ])
    expect([name, (await callTool(restricted, name, { survey_id: outside })).error?.code]).toEqual([name, -32602]);
  expect((await callTool(restricted, "update_survey", { survey_id: outside, title: "Mine" })).error.code).toBe(-32602);
  expect((await callTool(restricted, "create_survey", { title: "Another", questions })).error.code).toBe(-32001);
  expect((await callTool(restricted, "publish_survey", { survey_id: inside })).result).toBeDefined();
});
