import { afterAll, beforeAll, expect, test } from "vitest";
import { newSubmission, newUser } from "../api/world.ts";
import { sql } from "../stack.ts";
import { type Agent, callTool, Listener, newAgent, readStream, rpc } from "./agents.ts";
import { type OwnFunctions, startOwnFunctions } from "./own-functions.ts";

// What one process of the functions opened, another serves: nothing of it is in memory.

let second: OwnFunctions;
let agent: Agent;

beforeAll(async () => {
  second = await startOwnFunctions();
  agent = await newAgent();
});
afterAll(async () => {
  await second?.stop();
});

const elsewhere = (url: unknown) => {
  const there = new URL(String(url));
  there.port = String(second.port);
  return there.href;
};

test("a streamed call is run by whichever process is asked, once, and told again by the other", async () => {
  const args = { title: "Run by one of two", description: "And told by both of them.", type: "idea" };
  const { result } = await callTool(agent, "create_submission", args, { stream: true });
  const here = String(result.stream_url);
  const streams = await Promise.all(
    [here, elsewhere(here), here, elsewhere(here)].map((url) => readStream(url, agent)),
  );
  for (const { events } of streams) {
    expect(events.at(-1)?.data).toEqual({ success: true });
    expect(events).toEqual(streams[0]?.events);
  }
  const [made] = await sql`select count(*)::integer as n from public.submissions where title = ${args.title}`;
  expect(made).toEqual({ n: 1 });
});

test("a subscription goes on at another process where it broke off, and misses nothing", async () => {
  const { result } = await rpc(agent, "subscribe", { events: ["submission.created"] });
  const author = await newUser();
  const ids: string[] = [];
  const add = async () => ids.push(await newSubmission(agent.organization, author));
  const heard = ({ events }: Listener) =>
    events.map(({ data }) => (data as { data: { submission: { id: string } } }).data.submission.id);
  await add();
  const first = await new Listener(String(result.stream_url), agent).until(
    ({ events }) => events.length === 1,
  );
  first.close();
  await add();
  const next = new Listener(elsewhere(result.stream_url), agent, first.events[0]?.id);
  await next.until(({ events }) => events.length === 1);
  await add();
  await next.until(({ events }) => events.length === 2);
  next.close();
  expect([...heard(first), ...heard(next)]).toEqual(ids);
});

test("a process that is told to stop ends its open streams and stops", async () => {
  const { result } = await rpc(agent, "subscribe", { events: ["submission.created"] });
  const listener = await new Listener(elsewhere(result.stream_url), agent).until(
    ({ status }) => status === 200,
  );
  await second.stop();
  await listener.until(({ ended }) => ended);
});
