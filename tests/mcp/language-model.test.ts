import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { newSubmission } from "../api/world.ts";
import { type Agent, newAgent, readStream, type ToolResponse } from "./agents.ts";
import { type OwnFunctions, startOwnFunctions } from "./own-functions.ts";

// A process of the functions with a language model, and a mock of its service.

type Question = { sentence?: string; tools?: { name: string; inputSchema: object }[]; texts?: string[] };

let model: Server;
let functions: OwnFunctions;
let agent: Agent;
let asked: Question[] = [];
/** The model's response, or none at all. */
let reply: (question: Question) => unknown;

beforeAll(async () => {
  model = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { messages } = JSON.parse(Buffer.concat(chunks).toString());
    const question = JSON.parse(messages[1].content) as Question;
    asked.push(question);
    const result = await reply(question);
    response.end(JSON.stringify({ choices: [{ message: { content: JSON.stringify(result) } }] }));
  }).listen(0, "127.0.0.1");
  await once(model, "listening");
  functions = await startOwnFunctions({
    DATABASE_CONNECTIONS: "2",
    LANGUAGE_MODEL_URL: `http://127.0.0.1:${(model.address() as AddressInfo).port}/v1`,
    LANGUAGE_MODEL_NAME: "small",
  });
  agent = await newAgent();
});
afterAll(async () => {
  await functions?.stop();
  model?.closeAllConnections();
  model?.close();
});
beforeEach(() => {
  asked = [];
});

async function ask(params: object, as = agent): Promise<Pick<ToolResponse, "result" | "error">> {
  const response = await fetch(`http://127.0.0.1:${functions.port}/api/mcp/tools`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${as.token}` },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }),
  });
  return response.json();
}

const call = (input: string, params: object = {}, as = agent) =>
  ask({ mode: "natural_language", input, ...params }, as);
const parse = (args: object, params: object = {}) => ask({ name: "analyze_sentiment", arguments: args, ...params });

const unclear = "Xyzzy!";
const judgements = ({ texts = [] }: Question) => ({
  judgements: texts.map((text) => ({ score: text.includes("tomatoes") ? -1 : 1, confidence: 1 })),
});

test("a clear sentence is not sent to the model", async () => {
  reply = () => ({ tool: "list_surveys", arguments: {} });
  const { result } = await call("List the categories");
  expect(result).toMatchObject({ parsed_tool: "list_categories" });
  expect(asked).toEqual([]);
});

test("an unclear sentence is sent with the agent's tools, and the model's call is executed", async () => {
  reply = () => ({ tool: "list_submissions", arguments: { limit: 3 } });
  const { result } = await call(unclear);
  expect(result).toMatchObject({
    parsed_tool: "list_submissions",
    parsed_params: { limit: 3 },
    execution_result: { has_next: false },
  });
  expect(asked).toHaveLength(1);
  expect(asked[0]?.sentence).toBe(unclear);
  const reader = await newAgent({ scopes: ["surveys:read"] });
  expect((await call(unclear, {}, reader)).error).toMatchObject({ code: -32602 });
  expect(asked[1]?.tools?.map(({ name }) => name)).toEqual(["list_surveys", "get_survey"]);
  expect(asked[1]?.tools?.[0]?.inputSchema).toMatchObject({ type: "object" });
});

const id = "11111111-1111-4111-8111-111111111111";
test.each([
  ["no tool", { tool: null }],
  ["a tool there is not", { tool: "drop_everything", arguments: {} }],
  ["arguments the tool does not take", { tool: "list_submissions", arguments: { limit: "all" } }],
  ["an argument too few", { tool: "get_submission", arguments: {} }],
  ["an id that the sentence does not contain", { tool: "get_submission", arguments: { submission_id: id } }],
  ["another shape", ["list_submissions"]],
])("when it responds %s, the candidates are returned", async (_, result) => {
  reply = () => result;
  const { error } = await call(unclear);
  expect(error).toMatchObject({ code: -32602, data: { candidates: expect.any(Array) } });
  expect(asked).toHaveLength(1);
});

test("destructive calls require the user's confirmation, whatever the model responds", async () => {
  const submission_id = await newSubmission(agent.organization, agent);
  const args = { submission_id, status: "planned", confirm: true };
  reply = () => ({ tool: "set_submission_status", arguments: args });
  const sentence = `Xyzzy ${submission_id}!`;
  const { error } = await call(sentence);
  const parsed = { submission_id, status: "planned" };
  expect(error).toMatchObject({ code: -32602, data: { parsed_tool: "set_submission_status", parsed_params: parsed } });
  expect((await call(sentence, { confirm: true })).result).toMatchObject({ parsed_params: parsed });
});

test("analyze_sentiment returns the model's scores, in the order of the texts", async () => {
  reply = judgements;
  const texts = Array.from({ length: 60 }, (_, i) => (i === 57 ? "I love tomatoes" : "Fine"));
  const { result } = await parse({ texts });
  expect(result).toMatchObject({ engine: "llm:small", positive_count: 59, negative_count: 1 });
  expect((result.items as { score: number }[])[57]).toEqual({ score: -1, sentiment: "negative", confidence: 1 });
  expect(asked).toHaveLength(2);
});

test("waiting for the model holds no connection: others are served, by call and by stream", async () => {
  let answerNow = () => {};
  const pending = new Promise<void>((resolve) => {
    answerNow = resolve;
  });
  reply = async (question) => {
    await pending;
    return judgements(question);
  };
  const submission_id = await newSubmission(agent.organization, agent, { title: "About tomatoes" });
  const { result: opened } = await parse({ submission_id }, { stream: true });
  const url = new URL(String(opened.stream_url));
  url.port = String(functions.port);
  const streamed = [readStream(url.href, agent), readStream(url.href, agent)];
  const called = [parse({ submission_id }), parse({ submission_id })];
  while (asked.length < 3) {
    const { result } = await ask({ name: "list_categories", arguments: {} });
    expect(result).toBeDefined();
  }
  answerNow();
  const whole = { engine: "llm:small", negative_count: 1, positive_count: 0 };
  for (const { result } of await Promise.all(called)) expect(result).toMatchObject(whole);
  for (const { events } of await Promise.all(streamed)) {
    expect(events.find(({ event }) => event === "result")?.data).toMatchObject(whole);
    expect(events.at(-1)?.data).toEqual({ success: true });
  }
  asked = [];
  expect((await readStream(url.href, agent)).events.at(-1)?.data).toEqual({ success: true });
  expect(asked).toEqual([]);
});

test("for any other response of the model, the lexicon is used", async () => {
  reply = () => "It sounds positive to me.";
  const { result } = await parse({ texts: ["I love it"], locale: "en" });
  expect(result).toMatchObject({ engine: "lexicon-1", positive_count: 1 });
});
