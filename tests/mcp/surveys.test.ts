import { expect, test } from "vitest";
import { api } from "../api/client.ts";
import { newSubmission, newUser } from "../api/world.ts";
import { callTool, Listener, newAgent, resultOf, rpc } from "./agents.ts";

const agent = await newAgent();

type Shown = { survey: { id: string; status: string; questions: { id: string; options?: { text: string }[] }[] } };
const questions = [
  { type: "nps", text: "Would you recommend it?", required: true },
  { type: "multiple_choice", text: "Which part?", options: ["Search", "Lists"] },
  { type: "text", text: "Why?" },
];

test("a survey is created, changed, published, answered by people, read, and deleted with its responses", async () => {
  const created = await resultOf<{ survey_id: string }>(agent, "create_survey", { title: "How was it?", questions });
  expect(created).toEqual({
    survey_id: expect.any(String),
    status: "draft",
    url: expect.stringContaining(created.survey_id),
  });
  const { survey_id } = created;
  await resultOf(agent, "update_survey", { survey_id, title: "How is it?", settings: { show_branding: false } });
  expect(await resultOf(agent, "list_surveys", { status: "draft" })).toMatchObject({
    surveys: [{ id: survey_id, title: "How is it?" }],
  });
  const response = await rpc(agent, "subscribe", { events: ["survey.response.created"], filters: { survey_id } });
  const listener = new Listener(String(response.result?.stream_url), agent);
  for (let n = 0; n < 2; n++)
    expect(await resultOf(agent, "publish_survey", { survey_id })).toMatchObject({ survey: { status: "published" } });
  const { survey } = await resultOf<Shown>(agent, "get_survey", { survey_id });
  const [nps, choice, why] = survey.questions.map(({ id }) => id);
  const body = {
    answers: [
      { question_id: nps, value: 10 },
      { question_id: choice, value: "Search" },
      { question_id: why, value: "I love it." },
    ],
  };
  const answered = await api("POST", `/api/surveys/${survey_id}/responses`, { as: await newUser("Una User"), body });
  expect(answered.status).toBe(201);
  expect(await resultOf(agent, "list_survey_responses", { survey_id })).toMatchObject({
    responses: [
      { respondent: { name: "Una User" }, answers: [{ value: 10 }, { value: "Search" }, { value: "I love it." }] },
    ],
    total: 1,
    untrusted_text: expect.arrayContaining(["responses.answers.value"]),
  });
  expect(await resultOf(agent, "get_survey_analytics", { survey_id })).toMatchObject({
    analytics: { response_count: 1, nps_score: 100 },
  });
  expect(await resultOf(agent, "analyze_sentiment", { survey_id })).toMatchObject({
    sentiment: "positive",
    positive_count: 1,
  });
  await listener.until(({ events }) => events.length > 0);
  expect(listener.events).toMatchObject([{ event: "survey.response.created", data: { data: { survey_id } } }]);
  listener.close();
  expect((await callTool(agent, "update_survey", { survey_id, title: "Too late" })).error).toMatchObject({
    code: -32602,
    data: { code: "CONFLICT" },
  });
  expect((await callTool(agent, "delete_survey", { survey_id })).error).toMatchObject({
    code: -32602,
    data: { code: "SURVEY_HAS_RESPONSES" },
  });
  expect(await resultOf(agent, "delete_survey", { survey_id, force: true })).toEqual({ deleted: true, survey_id });
});

test("an invalid question is reported with its position", async () => {
  const { error } = await callTool(agent, "create_survey", {
    title: "",
    questions: [{ type: "nps" }, { type: "multiple_choice", text: "Which?" }],
  });
  expect(error.data.validation_errors).toEqual([
    expect.stringMatching(/^title /),
    "questions.0.text is required",
    "questions.1.options needs at least 1 option",
  ]);
  expect((await callTool(agent, "create_survey", { title: "None" })).error.data.validation_errors).toEqual([
    "questions is required",
  ]);
});

test("agents cannot respond to surveys for people", async () => {
  const { survey_id } = await resultOf<{ survey_id: string }>(agent, "create_survey", {
    title: "Not for it",
    questions,
  });
  await resultOf(agent, "publish_survey", { survey_id });
  expect((await api("POST", `/api/surveys/${survey_id}/responses`, { as: agent, body: { answers: [] } })).status).toBe(
    401,
  );
});

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

test("sentiment of texts is returned in their order, that of a submission with its comments", async () => {
  const texts = ["I love it", "It crashes all the time and I hate it", "It is blue"];
  const response = await resultOf<{ items: { sentiment: string }[] }>(agent, "analyze_sentiment", {
    texts,
    locale: "en",
  });
  expect(response.items.map(({ sentiment }) => sentiment)).toEqual(["positive", "negative", "neutral"]);
  expect(response).toMatchObject({
    engine: expect.any(String),
    positive_count: 1,
    neutral_count: 1,
    negative_count: 1,
  });
  const submission_id = await newSubmission(agent.organization, agent, {
    title: "I love this so much",
    description: "It is wonderful, thank you.",
  });
  expect(await resultOf(agent, "analyze_sentiment", { submission_id })).toMatchObject({
    sentiment: "positive",
    positive_count: 1,
  });
  for (const args of [{}, { texts, submission_id }, { texts: [] }, { texts: Array.from({ length: 101 }, () => "x") }])
    expect((await callTool(agent, "analyze_sentiment", args)).error.code).toBe(-32602);
});
