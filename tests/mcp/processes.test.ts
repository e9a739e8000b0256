import { afterAll, beforeAll, expect, test } from "vitest";
import { newSubmission, newUser } from "../api/world.ts";
import { sql } from "../stack.ts";
import { type Agent, callTool, Listener, newAgent, readStream, rpc } from "./agents.ts";
import { type OwnFunctions, startOwnFunctions } from "./own-functions.ts";

// A stream opened by one process of the functions is served by another: none of its state is in memory.

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

test("a streamed call runs once, in the process that is asked first, and the other replays it", async () => {
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
  const [created] = await sql`select count(*)::integer as n from public.submissions where title = ${args.title}`;
  expect(created).toEqual({ n: 1 });
});

test("a subscription continues in another process where it was interrupted, without gaps", async () => {
  // The test has its own organization, because an event of the previous test may still arrive.
  const follower = await newAgent();
  const { result } = await rpc(follower, "subscribe", { events: ["submission.created"] });
  const author = await newUser();
  const ids: string[] = [];
  const add = async () => ids.push(await newSubmission(follower.organization, author));
  const eventIds = ({ events }: Listener) =>
    events.map(({ data }) => (data as { data: { submission: { id: string } } }).data.submission.id);
  await add();
  const first = await new Listener(String(result.stream_url), follower).until(({ events }) => events.length === 1);
  first.close();
  await add();
  const next = new Listener(elsewhere(result.stream_url), follower, first.events[0]?.id);
  await next.until(({ events }) => events.length === 1);
  await add();
  await next.until(({ events }) => events.length === 2);
  next.close();
  expect([...eventIds(first), ...eventIds(next)]).toEqual(ids);
});

test("a stopping process ends its open streams and exits", async () => {
  const { result } = await rpc(agent, "subscribe", { events: ["submission.created"] });
  const listener = await new Listener(elsewhere(result.stream_url), agent).until(({ status }) => status === 200);
  await second.stop();
  await listener.until(({ ended }) => ended);
});
