import { expect, test } from "vitest";
import { send } from "../api/client.ts";
import { newKey } from "../api/world.ts";
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

test("counts of options are in the survey's order, whatever the options look like", async () => {
  const options = ["2026", "2025", "10", "9", "Earlier", "__proto__", "-1", "1.5", "0", "4294967295", "constructor"];
  const { survey_id } = await resultOf<{ survey_id: string }>(agent, "create_survey", {
    title: "Since when",
    questions: [{ type: "multiple_choice", text: "Customer since", options }],
  });
  await resultOf(agent, "publish_survey", { survey_id });
  const params = { name: "get_survey_analytics", arguments: { survey_id } };
  const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params };
  const expected = `"responses":{${options.map((option) => `"${option}":0`).join(",")}}`;
  const counts = options.map((value) => ({ value, count: 0 }));
  for (const path of ["/api/mcp/tools", "/api/mcp"]) {
    const { text } = await send("POST", path, { as: agent, body: call, headers: { accept: "application/json" } });
    expect(text).toContain(expected);
    if (path === "/api/mcp") expect(text).toContain(JSON.stringify(expected).slice(1, -1));
    expect(text).toContain(`"counts":${JSON.stringify(counts)}`);
  }
  const key = await newKey(agent.organization, ["analytics:read"]);
  const { text } = await send("GET", `/api/surveys/${survey_id}/analytics`, { as: key });
  expect([...text.matchAll(/"([^"]+)" ?: ?0[,} ]/g)].map(([, name]) => name)).toEqual(expect.arrayContaining(options));
  expect(JSON.parse(text).data.breakdown_by_question[0].counts).toEqual(counts);
});
