import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { scoreText } from "../../functions/_shared/sentiment/lexicon.ts";
import { llmJudge } from "../../functions/_shared/sentiment/llm.ts";

type Asked = {
  path?: string;
  headers: IncomingHttpHeaders;
  body: { model: string; messages: { content: string }[] };
};

let server: Server;
let url: string;
let asked: Asked[] = [];
/** How the service answers: status and body, or nothing at all. */
let reply: (
  texts: string[],
) => { status: number; body: string; headers?: Record<string, string> } | undefined;

const says = (content: unknown) => ({
  status: 200,
  body: JSON.stringify({
    choices: [
      {
        message: {
          role: "assistant",
          content: typeof content === "string" ? content : JSON.stringify(content),
        },
      },
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
  llmJudge({ url, key: "of-the-operator", name: "small" }, report, 1_000);

test("the model judges each text, and says so", async () => {
  reply = (texts) =>
    says({ judgements: texts.map((_, i) => ({ score: i === 0 ? 0.9 : -0.51234, confidence: 0.8 })) });
  expect(await judge()(["Sick!", "Meh"], "en")).toEqual([
    { score: 0.9, sentiment: "positive", confidence: 0.8, engine: "llm:small" },
    { score: -0.512, sentiment: "negative", confidence: 0.8, engine: "llm:small" },
  ]);
  expect(asked).toHaveLength(1);
  expect(asked[0]?.path).toBe("/v1/chat/completions");
  expect(asked[0]?.headers.authorization).toBe("Bearer of-the-operator");
  expect(asked[0]?.body.model).toBe("small");
});

test("a model that is not sure is neutral", async () => {
  reply = () => says({ judgements: [{ score: -1, confidence: 0.4 }] });
  expect(await judge()(["?"], "en")).toEqual([
    { score: 0, sentiment: "neutral", confidence: 0.4, engine: "llm:small" },
  ]);
});

test("many texts are asked for fifty at a time, and come back in order", async () => {
  reply = (texts) =>
    says({ judgements: texts.map((text) => ({ score: Number(text) / 1000, confidence: 1 })) });
  const texts = Array.from({ length: 120 }, (_, i) => String(i));
  const judged = await judge()(texts, "en");
  expect(judged.map(({ score }) => score)).toEqual(texts.map((text) => Number(text) / 1000));
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
  "after %s the lexicon judges, and the service is left alone for a while",
  async (_, answer) => {
    reply = answer;
    const problems: string[] = [];
    const judging = judge((problem) => problems.push(problem));
    const lexicons = [scoreText("I love it", "en")];
    expect(await judging(["I love it"], "en")).toEqual(lexicons);
    expect(await judging(["I love it"], "en")).toEqual(lexicons);
    expect(asked).toHaveLength(1);
    expect(problems).toHaveLength(1);
  },
);

test.each([
  ["another shape", () => ({ status: 200, body: "{}" })],
  ["prose", () => says("It sounds positive to me.")],
  ["too few judgements", () => says({ judgements: [] })],
  ["a score out of range", () => says({ judgements: [{ score: 5, confidence: 1 }] })],
] satisfies [string, typeof reply][])(
  "after %s the lexicon judges, and the next text is the model's again: no text talks it out of its work",
  async (_, answer) => {
    reply = answer;
    const problems: string[] = [];
    const judging = judge((problem) => problems.push(problem));
    expect(await judging(["I love it"], "en")).toEqual([scoreText("I love it", "en")]);
    expect(problems).toEqual(["it answered something else than it was asked for"]);
    reply = () => says({ judgements: [{ score: -1, confidence: 1 }] });
    expect(await judging(["I love it"], "en")).toMatchObject([{ score: -1, engine: "llm:small" }]);
  },
);

test("a service that is not there is no error either", async () => {
  const nowhere = llmJudge({ url: "http://127.0.0.1:1", name: "small" });
  expect(await nowhere(["I love it"], "en")).toEqual([scoreText("I love it", "en")]);
});
