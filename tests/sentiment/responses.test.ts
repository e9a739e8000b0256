import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { type OwnStack, type Person, startOwnStack } from "../own-stack.ts";

let model: Server;
let stack: OwnStack;
let admin: Person;
let surveyId: string;
let questions: { id: string; type: string }[];
/** Texts sent to the model; it responds when released. */
const asked: string[][] = [];
let answerNow: () => void = () => {};
let pending = Promise.resolve();

beforeAll(async () => {
  model = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { messages } = JSON.parse(Buffer.concat(chunks).toString());
    const { texts } = JSON.parse(messages[1].content) as { texts: string[] };
    asked.push(texts);
    await pending;
    const judgements = texts.map((text) => ({ score: text.includes("tomatoes") ? -1 : 1, confidence: 1 }));
    response.end(JSON.stringify({ choices: [{ message: { content: JSON.stringify({ judgements }) } }] }));
  });
  await new Promise<void>((resolve) => model.listen(0, "127.0.0.1", resolve));
  stack = await startOwnStack({
    functionsEnvironment: {
      LANGUAGE_MODEL_URL: `http://127.0.0.1:${(model.address() as AddressInfo).port}/v1`,
      LANGUAGE_MODEL_NAME: "small",
    },
  });
  admin = await stack.person("owner");
  const created = await stack.call("POST", "/api/surveys", {
    token: admin.token,
    body: {
      title: "How was it?",
      questions: [
        { type: "text", text: "What do you say?" },
        { type: "nps", text: "Would you recommend us?" },
        { type: "email", text: "Who are you?" },
      ],
    },
  });
  surveyId = created.body.data?.id as string;
  await stack.call("POST", `/api/surveys/${surveyId}/publish`, { token: admin.token });
  const detail = await stack.call("GET", `/api/surveys/${surveyId}?expand=questions`);
  questions = detail.body.data?.questions as typeof questions;
});

afterAll(async () => {
  await stack?.remove();
  model?.closeAllConnections();
  model?.close();
});

async function respond(values: Record<string, unknown>): Promise<string> {
  const { token } = await stack.person();
  const answers = questions
    .filter(({ type }) => type in values)
    .map(({ id, type }) => ({ question_id: id, value: values[type] }));
  // The order of the request differs from that of the survey.
  const body = { answers: answers.reverse() };
  const answer = await stack.call("POST", `/api/surveys/${surveyId}/responses`, { token, body });
  expect(answer.status).toBe(201);
  return answer.body.data?.response_id as string;
}

const stored = async (id: string) =>
  (
    await stack.sql`
      select sentiment_score::float as score, sentiment, sentiment_engine as engine from public.survey_responses where id = ${id}`
  )[0];

test("a response is accepted and scored before the model has read it, and scored again afterwards", async () => {
  pending = new Promise((resolve) => {
    answerNow = resolve;
  });
  const id = await respond({ text: "I love it, tomatoes", nps: 10, email: "a@example.org" });
  const before = await stored(id);
  expect(before).toMatchObject({ sentiment: "positive", engine: "lexicon-1" });
  answerNow();
  // 0.7 of the number's 1, 0.3 of the model's -1.
  await vi.waitFor(
    async () => expect(await stored(id)).toEqual({ score: 0.4, sentiment: "positive", engine: "llm:small" }),
    20_000,
  );
  const negative = await respond({ text: "tomatoes" });
  await vi.waitFor(
    async () => expect(await stored(negative)).toEqual({ score: -1, sentiment: "negative", engine: "llm:small" }),
    20_000,
  );
  const { body } = await stack.call("GET", `/api/surveys/${surveyId}/analytics`, { token: admin.token });
  expect(body.data?.sentiment).toEqual({
    overall: -0.3,
    scored_count: 2,
    positive_count: 1,
    neutral_count: 0,
    negative_count: 1,
  });
});

test("numeric answers and e-mail addresses are not sent to the model", async () => {
  asked.length = 0;
  const id = await respond({ nps: 9 });
  const addressed = await respond({ nps: 9, email: "somebody@example.org" });
  const text = await respond({ text: "Fine" });
  await vi.waitFor(async () => expect(await stored(text)).toMatchObject({ engine: "llm:small" }), 20_000);
  expect(await stored(id)).toMatchObject({ score: 0.6, engine: "answers" });
  expect(await stored(addressed)).toMatchObject({ score: 0.6, engine: "answers" });
  expect(asked).toEqual([["Fine"]]);
});

test("a user cannot score another user's response", async () => {
  const id = await respond({ nps: 0 });
  const before = await stored(id);
  const other = await stack.person();
  await stack.sql.begin(async (sql) => {
    await sql`select set_config('request.jwt.claims', ${JSON.stringify({ sub: other.id, role: "authenticated" })}, true)`;
    await sql`set local role authenticated`;
    await sql`select private.score_survey_response(${id}, ${sql.json({ engine: "mine", scores: {} })})`;
  });
  expect(await stored(id)).toEqual(before);
});
