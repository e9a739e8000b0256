import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { scoreText } from "../../functions/_shared/sentiment/lexicon.ts";
import { llmScorer } from "../../functions/_shared/sentiment/llm.ts";

type Asked = { path?: string; headers: IncomingHttpHeaders; body: { model: string; messages: { content: string }[] } };

let server: Server;
let url: string;
let asked: Asked[] = [];
/** The response of the service: status and body, or none at all. */
let reply: (texts: string[]) => { status: number; body: string; headers?: Record<string, string> } | undefined;

const completionOf = (content: unknown) => ({
  status: 200,
  body: JSON.stringify({
    choices: [
      { message: { role: "assistant", content: typeof content === "string" ? content : JSON.stringify(content) } },
    ],
  }),
});

beforeAll(async () => {
  server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = JSON.parse(Buffer.concat(chunks).toString()) as Asked["body"];
    asked.push({ path: request.url, headers: request.headers, body });
    const answer = reply(JSON.parse(body.messages[1]?.content ?? "{}").texts);
    if (answer) response.writeHead(answer.status, answer.headers).end(answer.body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/`;
});

afterAll(() => {
  server.closeAllConnections();
  server.close();
});

beforeEach(() => {
  asked = [];
});

const judge = (report?: (problem: string) => void) =>
  llmScorer({ url, key: "of-the-operator", name: "small" }, report, 1_000);

test("the model scores each text, and is recorded as the engine", async () => {
  reply = (texts) =>
    completionOf({ judgements: texts.map((_, i) => ({ score: i === 0 ? 0.9 : -0.51234, confidence: 0.8 })) });
  expect(await judge()(["Sick!", "Meh"], "en")).toEqual([
    { score: 0.9, sentiment: "positive", confidence: 0.8, engine: "llm:small" },
    { score: -0.512, sentiment: "negative", confidence: 0.8, engine: "llm:small" },
  ]);
  expect(asked).toHaveLength(1);
  expect(asked[0]?.path).toBe("/v1/chat/completions");
  expect(asked[0]?.headers.authorization).toBe("Bearer of-the-operator");
  expect(asked[0]?.body.model).toBe("small");
});

test("an uncertain model is neutral", async () => {
  reply = () => completionOf({ judgements: [{ score: -1, confidence: 0.4 }] });
  expect(await judge()(["?"], "en")).toEqual([
    { score: 0, sentiment: "neutral", confidence: 0.4, engine: "llm:small" },
  ]);
});

test("many texts are sent in batches of fifty, and returned in order", async () => {
  reply = (texts) => completionOf({ judgements: texts.map((text) => ({ score: Number(text) / 1000, confidence: 1 })) });
  const texts = Array.from({ length: 120 }, (_, i) => String(i));
  const results = await judge()(texts, "en");
  expect(results.map(({ score }) => score)).toEqual(texts.map((text) => Number(text) / 1000));
  expect(asked).toHaveLength(3);
});

const elsewhere = () => ({ status: 307, body: "", headers: { Location: "/v1/elsewhere" } });
test.each([
  ["an error", () => ({ status: 500, body: "no" })],
  ["a refused key", () => ({ status: 401, body: "{}" })],
  ["no JSON", () => ({ status: 200, body: "<html>" })],
  ["a redirect", elsewhere],
  ["nothing in time", () => undefined],
] satisfies [string, typeof reply][])(
  "after %s the lexicon is used, and the service is not called for a while",
  async (_, answer) => {
    reply = answer;
    const problems: string[] = [];
    const scorer = judge((problem) => problems.push(problem));
    const lexicons = [scoreText("I love it", "en")];
    expect(await scorer(["I love it"], "en")).toEqual(lexicons);
    expect(await scorer(["I love it"], "en")).toEqual(lexicons);
    expect(asked).toHaveLength(1);
    expect(problems).toHaveLength(1);
  },
);

test.each([
  ["another shape", () => ({ status: 200, body: "{}" })],
  ["prose", () => completionOf("It sounds positive to me.")],
  ["too few judgements", () => completionOf({ judgements: [] })],
  ["a score out of range", () => completionOf({ judgements: [{ score: 5, confidence: 1 }] })],
] satisfies [string, typeof reply][])(
  "after %s the lexicon is used, and the next text is sent to the model again: no text can disable it",
  async (_, answer) => {
    reply = answer;
    const problems: string[] = [];
    const scorer = judge((problem) => problems.push(problem));
    expect(await scorer(["I love it"], "en")).toEqual([scoreText("I love it", "en")]);
    expect(problems).toEqual(["it answered something else than it was asked for"]);
    reply = () => completionOf({ judgements: [{ score: -1, confidence: 1 }] });
    expect(await scorer(["I love it"], "en")).toMatchObject([{ score: -1, engine: "llm:small" }]);
  },
);

test("an unreachable service is not an error either", async () => {
  const nowhere = llmScorer({ url: "http://127.0.0.1:1", name: "small" });
  expect(await nowhere(["I love it"], "en")).toEqual([scoreText("I love it", "en")]);
});
