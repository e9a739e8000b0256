import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { agentKeyPrefix, digestOf, newApiKey } from "../../shared/api-keys.ts";
import { send } from "../api/client.ts";
import { newSubmission, newUser } from "../api/world.ts";
import { sql, stack } from "../stack.ts";
import { until } from "../until.ts";
import { callTool, newAgent, readStream, resultOf, rpc } from "./agents.ts";

const agent = await newAgent();

type Opened = { request_id: string; stream_url: string };
async function open(as: { token: string }, name?: string, args?: object, params: object = {}): Promise<Opened> {
  const response = await rpc(as, "tools/call", { name, arguments: args, stream: true, ...params });
  if (!response.result) throw new Error(JSON.stringify(response.error));
  return response.result as Opened;
}
const names = ({ events }: { events: { event: string }[] }) => events.map(({ event }) => event);

test("it runs once for several concurrent readers, and each receives the same", async () => {
  const args = { title: "Made once only", description: "However many listen to how it is made.", type: "idea" };
  const { stream_url } = await open(agent, "create_submission", args);
  const streams = await Promise.all(Array.from({ length: 8 }, () => readStream(stream_url, agent)));
  for (const stream of streams) expect(stream.events).toEqual(streams[0]?.events);
  const [created] =
    await sql`select count(*)::integer as n from public.submissions where title = ${args.title} and organization_id = ${agent.organization.id}`;
  expect(created).toEqual({ n: 1 });
});

test("a reader that reconnects with Last-Event-ID receives the rest", async () => {
  const { stream_url } = await open(agent, "list_categories");
  const whole = await readStream(stream_url, agent);
  const rest = await readStream(stream_url, agent, whole.events[1]?.id);
  expect(rest.events).toEqual(whole.events.slice(2));
});

test("texts that cannot be stored are refused before a stream exists", async () => {
  for (const args of [{ q: "a\0" }, { "a\0": 1 }, { q: ["\ud800"] }])
    expect((await callTool(agent, "list_submissions", args, { stream: true })).error.data).toMatchObject({
      code: "VALIDATION_ERROR",
      validation_errors: [expect.stringMatching(/^arguments must not contain /)],
    });
});

test("a stream of wrong arguments or without the confirmation ends with the error of the call and success: false", async () => {
  const careful = await newAgent({ policies: { confirm_destructive: true } });
  for (const [name, args] of [
    ["list_submissions", { limit: 0, q: "x" }],
    ["remove_vote", { submission_id: randomUUID() }],
  ] as const) {
    const { error } = await callTool(careful, name, args);
    const { stream_url } = await open(careful, name, args);
    const stream = await readStream(stream_url, careful);
    expect(names(stream)).toEqual(["progress", "result", "done"]);
    expect(stream.events[1]?.data).toEqual({ error });
    expect(stream.events[2]?.data).toEqual({ success: false });
    expect((await readStream(stream_url, careful)).events).toEqual(stream.events);
    const calls = await until(async () => {
      const rows = await sql`
        select tool, scope, outcome, argument_names, address from private.agent_audit
        where agent_id = ${careful.id} and tool = ${name}`;
      return rows.length === 2 ? rows : undefined;
    });
    expect(calls[0]).toEqual(calls[1]);
  }
});

describe("a streamed sentence", () => {
  const say = async (as: { token: string }, input: string, params: object = {}) =>
    open(as, undefined, undefined, { mode: "natural_language", input, ...params });

  test("sends what was understood with the result, and counts as two calls and the reading", async () => {
    const own = await newAgent({ organization: agent.organization, policies: { calls_a_day: 1000 } });
    const { stream_url } = await say(own, "List submissions");
    const stream = await readStream(stream_url, own);
    expect(names(stream)).toEqual(["progress", "progress", "result", "done"]);
    const { parsed_tool, parsed_params, execution_result, ...rest } = stream.events[2]?.data ?? {};
    expect([parsed_tool, rest, stream.events[3]?.data]).toEqual(["list_submissions", {}, { success: true }]);
    expect(execution_result).toEqual(await resultOf(own, "list_submissions", parsed_params as object));
    const [counter] =
      await sql`select used from private.rate_counters where rule = 'agent_day' and subject = ${own.id}`;
    expect(counter).toEqual({ used: 4 });
    expect((await readStream(stream_url, own)).events).toEqual(stream.events);
  });

  test("that was refused counts as a pending stream", async () => {
    const own = await newAgent();
    await say(own, "xyzzy plugh");
    expect(await sql`select from private.agent_streams where agent_id = ${own.id}`).toHaveLength(1);
  });
});

test("a stream belongs to its agent, and expires after ten minutes", async () => {
  const { request_id, stream_url } = await open(agent, "list_categories");
  const other = await newAgent({ organization: agent.organization });
  for (const [url, as, status] of [
    [stream_url, other, 404],
    [stream_url, { token: "garbage" }, 401],
    [`${stack.base_url}/api/mcp/stream/${randomUUID()}`, agent, 404],
    [`${stack.base_url}/api/mcp/stream/none`, agent, 404],
  ] as const)
    expect((await readStream(url, as)).status).toBe(status);
  await sql`update private.agent_streams set expires_at = now() where id = ${request_id}`;
  expect((await readStream(stream_url, agent)).status).toBe(404);
});

test("a key without the tool's scope neither runs a call, nor reads its result, nor keeps another from it", async () => {
  const { stream_url } = await open(agent, "vote_submission", {
    submission_id: await newSubmission(agent.organization, await newUser()),
  });
  const { secret, digest } = newApiKey(agentKeyPrefix);
  await sql`select private.create_agent_key(${agent.id}, 'Reader', '{submissions:read}', ${digest}, ${agentKeyPrefix}, 'last')`;
  const statusOf = async () => (await readStream(stream_url, { token: secret })).status;
  expect(await statusOf()).toBe(403);
  expect((await readStream(stream_url, agent)).events.at(-1)?.data).toEqual({ success: true });
  expect(await statusOf()).toBe(403);
});

test("a stored result is not read after the agent's policies changed", async () => {
  const own = await newAgent();
  const { stream_url } = await open(own, "list_categories");
  expect((await readStream(stream_url, own)).status).toBe(200);
  await sql`update private.agents set category_ids = '{}' where id = ${own.id}`;
  expect((await readStream(stream_url, own)).status).toBe(404);
});

test("another method than GET of a stream is 405 and runs nothing", async () => {
  const { request_id, stream_url } = await open(agent, "list_categories");
  for (const method of ["HEAD", "POST"] as const) {
    const { status, headers } = await send(method, new URL(stream_url).pathname, { as: agent });
    expect([status, headers.allow]).toEqual([405, "GET"]);
  }
  expect(await sql`select events from private.agent_streams where id = ${request_id}`).toEqual([{ events: null }]);
});

test("a key that was revoked meanwhile runs nothing", async () => {
  const own = await newAgent();
  const { stream_url } = await open(own, "list_categories");
  await sql`update private.api_keys set revoked_at = now() where digest = ${digestOf(own.token)}`;
  expect((await readStream(stream_url, own)).status).toBe(401);
});

test("an agent has at most 100 pending streams, and the next is -32002", async () => {
  const busy = await newAgent();
  await sql`
    insert into private.agent_streams (id, organization_id, agent_id, tool, arguments, confirmed, locale)
    select gen_random_uuid(), ${busy.organization.id}, ${busy.id}, 'list_categories', '{}', false, 'en' from generate_series(1, 99)`;
  const response = await Promise.all(
    Array.from({ length: 4 }, () => callTool(busy, "list_categories", {}, { stream: true })),
  );
  expect(response.map(({ error }) => error?.code).toSorted()).toEqual([-32002, -32002, -32002, undefined]);
});
