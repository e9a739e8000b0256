import { randomUUID } from "node:crypto";
import { describe, expect, onTestFinished, test } from "vitest";
import { digestOf } from "../../shared/api-keys.ts";
import { send } from "../api/client.ts";
import { newComment, newOrganization, newSubmission, newUser } from "../api/world.ts";
import { sql, stack } from "../stack.ts";
import { until } from "../until.ts";
import { type Agent, Listener, newAgent, readStream, rpc } from "./agents.ts";

const [agent, author] = [await newAgent(), await newUser("Ann Author")];

async function subscribe(as: { token: string }, events: string[], filters?: object): Promise<string> {
  const response = await rpc(as, "subscribe", { events, filters });
  if (!response.result) throw new Error(JSON.stringify(response.error));
  return String(response.result.stream_url);
}

function listen(url: string, as: { token: string }, lastEventId?: string): Listener {
  const listener = new Listener(url, as, lastEventId);
  onTestFinished(() => listener.close());
  return listener;
}

const emit = (type: string, data: object, organizationId = agent.organization.id) =>
  sql`select private.emit_event(${organizationId}, ${type}, ${randomUUID()}, ${sql.json(data as never)})`;

test("events between subscribing and connecting are sent, and so are those after Last-Event-ID", async () => {
  // One without earlier events: while a transaction is open, a subscription begins before events that followed it.
  const agent = await newAgent();
  const url = await subscribe(agent, ["submission.created"]);
  const ids = [];
  for (let n = 0; n < 3; n++) ids.push(await newSubmission(agent.organization, author));
  const idsOf = ({ events }: Listener) =>
    events.map(({ data }) => (data as { data: { submission: { id: string } } }).data.submission.id);
  const first = await listen(url, agent).until(({ events }) => events.length === 3);
  expect(idsOf(first)).toEqual(ids);
  const resumed = await listen(url, agent, first.events[0]?.id).until(({ events }) => events.length === 2);
  expect(idsOf(resumed)).toEqual(ids.slice(1));
  // Events before the subscription cannot be read, whatever Last-Event-ID a client sends.
  const forged = await listen(url, agent, "1-1").until(({ events }) => events.length === 3);
  expect(idsOf(forged)).toEqual(ids);
});

test("a transaction that began first and commits last is not skipped", async () => {
  const url = await subscribe(agent, ["survey.published"]);
  const listener = listen(url, agent);
  await sql.begin(async (slow) => {
    await slow`select private.emit_event(${agent.organization.id}, 'survey.published', ${randomUUID()}, '{"survey": {"title": "slow"}}')`;
    await emit("survey.published", { survey: { title: "fast" } });
  });
  await listener.until(({ events }) => events.length === 2);
  expect(
    listener.events.map(({ data }) => (data as { data: { survey: { title: string } } }).data.survey.title),
  ).toEqual(["slow", "fast"]);
});

test("events of another organization are never sent", async () => {
  const other = await newAgent();
  const url = await subscribe(agent, ["submission.created"]);
  const listener = listen(url, agent);
  await newSubmission(other.organization, author, { title: "Of somebody else" });
  await newSubmission(agent.organization, author, { title: "Of its own" });
  await listener.until(({ events }) => events.length > 0);
  expect(listener.text).not.toContain("Of somebody else");
});

test("an agent restricted to categories receives their events only", async () => {
  const organization = await newOrganization();
  const [category] = await sql<{ id: string }[]>`
    insert into public.categories (organization_id, name, slug) values (${organization.id}, 'Mobile', 'mobile') returning id`;
  const restricted = await newAgent({ organization, policies: { category_ids: [category?.id] } });
  const listener = listen(await subscribe(restricted, ["submission.created"]), restricted);
  await newSubmission(organization, author, { title: "About nothing" });
  await newSubmission(organization, author, { title: "About mobile", category_id: category?.id ?? null });
  await listener.until(({ events }) => events.length > 0);
  expect(listener.text).not.toContain("About nothing");
});

test("an agent restricted to categories receives no text written in another, also if its submission moved", async () => {
  const organization = await newOrganization();
  const [own, other] = await sql<{ id: string }[]>`
    insert into public.categories (organization_id, name, slug)
    values (${organization.id}, 'Own', 'own'), (${organization.id}, 'Other', 'other') returning id`;
  const restricted = await newAgent({ organization, policies: { category_ids: [own?.id] } });
  const url = await subscribe(restricted, ["submission.created", "submission.updated", "comment.created"]);
  const moved = await newSubmission(organization, author, { title: "Internal", category_id: other?.id ?? null });
  await newComment(moved, author);
  await sql`update public.submissions set title = 'Cleaned' where id = ${moved}`;
  await sql`update public.submissions set category_id = ${own?.id ?? ""} where id = ${moved}`;
  const { events } = await listen(url, restricted).until(({ events }) => events.length > 0);
  expect(events).toMatchObject([
    { event: "submission.updated", data: { data: { submission: { category_id: own?.id } } } },
  ]);
});

describe("streams that are behind", () => {
  const many = (own: Agent, count: number, text = "") =>
    sql`insert into private.outbox (organization_id, type, subject_id, data)
      select ${own.organization.id}, 'survey.published', gen_random_uuid(), jsonb_build_object('survey', jsonb_build_object('title', ${text}::text))
      from generate_series(1, ${count}::integer)`;

  test("do not delay another organization's, and close after 10,000 earlier events, to be resumed", async () => {
    const own = await newAgent();
    const url = await subscribe(own, ["survey.published"]);
    await many(own, 10_100);
    const current = listen(await subscribe(agent, ["survey.published"]), agent);
    await current.until(({ status }) => status === 200);
    const first = listen(url, own);
    await first.until(({ events }) => events.length > 0);
    await emit("survey.published", { survey: { title: "new" } });
    await current.until(({ events }) => events.length > 0);
    expect(first.events.length).toBeLessThan(10_000);
    await first.until(({ ended }) => ended);
    const rest = listen(url, own, first.events.at(-1)?.id);
    await rest.until(({ events }) => first.events.length + events.length === 10_100);
    expect(new Set([...first.events, ...rest.events].map(({ id }) => id)).size).toBe(10_100);
  });

  test("get nothing more once their key is revoked", async () => {
    const own = await newAgent();
    const url = await subscribe(own, ["survey.published"]);
    // Far more than the buffers of a connection hold.
    await many(own, 2_000, "x".repeat(10_000));
    const listener = listen(url, own);
    await listener.until(({ status }) => status === 200);
    listener.pause();
    await sql`update private.api_keys set revoked_at = now() where digest = ${digestOf(own.token)}`;
    listener.resume();
    await listener.until(({ ended }) => ended);
    expect(listener.events.length).toBeLessThan(2_000);
  });

  test("are bounded in bytes, and end if their reader stops reading", async () => {
    const own = await newAgent();
    const url = await subscribe(own, ["survey.published"]);
    // Far more than the buffers of a connection hold.
    await many(own, 2_000, "x".repeat(10_000));
    const listener = listen(url, own);
    await listener.until(({ status }) => status === 200);
    listener.pause();
    await until(async () => (await sql`select from private.open_streams where agent_id = ${own.id}`).length === 0);
    listener.resume();
    await listener.until(({ ended }) => ended);
    expect(listener.events.length).toBeLessThan(2_000);
    await listen(url, own, listener.events.at(-1)?.id).until(
      ({ events }) => listener.events.length + events.length === 2_000,
    );
  }, 60_000);
});

describe("rejected subscriptions", () => {
  test.each([
    ["search_submissions", ["submission.created", "status.changed", "vote.created"], "comment.created"],
    ["list_comments", ["comment.created"], "submission.updated"],
    ["get_survey", ["survey.published", "survey.closed"], "survey.response.created"],
    ["list_survey_responses", ["survey.response.created"], "survey.published"],
    ["vote_submission", [], "submission.vote_added"],
    [undefined, [], "comment.created"],
  ])("policies that allow %s permit an agent to subscribe to %j, and not to %s", async (tool, events, other) => {
    const narrow = await newAgent({ policies: { tools: tool ? [tool] : [] } });
    const { status, error } = await rpc(narrow, "subscribe", { events: [...events, other] });
    expect([status, error.code, error.message]).toEqual([403, -32001, expect.stringContaining(other)]);
    if (events.length > 0) await subscribe(narrow, events);
  });

  test("a subscription cannot be read after policies removed its tools", async () => {
    const own = await newAgent();
    const url = await subscribe(own, ["submission.created"]);
    await sql`update private.agents set tools = '{list_comments}' where id = ${own.id}`;
    expect((await readStream(url, own)).status).toBe(403);
    await sql`update private.agents set tools = '{list_submissions}' where id = ${own.id}`;
    await listen(url, own).until(({ status }) => status === 200);
  });

  test("a subscription belongs to its agent, and expires after a day", async () => {
    const url = await subscribe(agent, ["submission.created"]);
    const other = await newAgent({ organization: agent.organization });
    expect((await readStream(url, other)).status).toBe(404);
    expect((await readStream(`${stack.base_url}/api/mcp/subscribe/none`, agent)).status).toBe(404);
    expect((await readStream(url, { token: "garbage" })).status).toBe(401);
    await sql`update private.agent_subscriptions set expires_at = now() where id = ${url.slice(-36)}`;
    expect((await readStream(url, agent)).status).toBe(410);
  });

  test.concurrent.each<[string, (own: Agent) => PromiseLike<unknown>]>([
    [
      "is revoked",
      ({ token }) => sql`update private.api_keys set revoked_at = now() where digest = ${digestOf(token)}`,
    ],
    ["expires", ({ token }) => sql`update private.api_keys set expires_at = now() where digest = ${digestOf(token)}`],
    [
      "belongs to an agent that is retired",
      ({ id }) => sql`update private.agents set retired_at = now() where id = ${id}`,
    ],
    ["gets other policies", ({ id }) => sql`update private.agents set read_only = true where id = ${id}`],
  ])("an open stream ends soon after its key %s", async (_, end) => {
    const own = await newAgent();
    const listener = new Listener(await subscribe(own, ["submission.created"]), own);
    await listener.until(({ status }) => status === 200);
    await end(own);
    await listener.until(({ ended }) => ended);
  });

  test("an agent has at most 100 subscriptions and 100 open streams", async () => {
    const busy = await newAgent();
    await sql`
      insert into private.agent_subscriptions (id, organization_id, agent_id, events)
      select gen_random_uuid(), ${busy.organization.id}, ${busy.id}, '{submission.created}' from generate_series(1, 99)`;
    const url = await subscribe(busy, ["submission.created"]);
    const { status, error } = await rpc(busy, "subscribe", { events: ["submission.created"] });
    expect([status, error.code]).toEqual([429, -32002]);
    const listeners = Array.from({ length: 110 }, () => listen(url, busy));
    await Promise.all(listeners.map((listener) => listener.until(({ status }) => status > 0)));
    expect(listeners.filter(({ status }) => status === 429)).toHaveLength(10);
  });

  const openOnes = (of: Agent) =>
    sql`select id from private.open_streams where organization_id = ${of.organization.id} and agent_id = ${of.id}`;

  test("an organization's agents have at most 300 streams over all processes, until they close or their process dies", async () => {
    const own = await newAgent();
    const url = await subscribe(own, ["submission.created"]);
    const first = await listen(url, own).until(({ status }) => status === 200);
    const others = await sql<{ id: string }[]>`
      insert into private.open_streams (id, organization_id, agent_id, expires_at)
      select gen_random_uuid(), ${own.organization.id}, ${randomUUID()}, now() + interval '1 hour'
      from generate_series(1, 299) returning id`;
    const { status, headers } = await send("GET", new URL(url).pathname, { as: own });
    expect([status, headers["retry-after"]]).toEqual([429, "5"]);
    // Simulates a process that has stopped renewing them.
    await sql`update private.open_streams set expires_at = now() - interval '1 second' where id = ${others[0]?.id ?? ""}`;
    await listen(url, own).until(({ status }) => status === 200);
    expect((await readStream(url, own)).status).toBe(429);
    first.close();
    await until(async () => (await openOnes(own)).length === 1 || undefined);
    await listen(url, own).until(({ status }) => status === 200);
  });

  test("an address has at most 500 streams over all processes, of whichever organizations", async () => {
    const own = await newAgent();
    const url = await subscribe(own, ["submission.created"]);
    await listen(url, own).until(({ status }) => status === 200);
    const statusWith = async (others: number) => {
      await sql`
        insert into private.open_streams (id, organization_id, agent_id, address, expires_at)
        select gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), o.address, now() + interval '1 hour'
        from private.open_streams o, generate_series(1, ${others}::integer) where o.agent_id = ${own.id}`;
      const listener = await listen(url, own).until(({ status }) => status > 0);
      listener.close();
      return listener.status;
    };
    onTestFinished(async () => {
      await sql`delete from private.open_streams where expires_at > now() + interval '1 minute'`;
    });
    expect(await statusWith(300)).toBe(200);
    expect(await statusWith(500)).toBe(429);
  });

  test("HEAD of a subscription is 405 and leaves no open stream", async () => {
    const own = await newAgent();
    const url = new URL(await subscribe(own, ["submission.created"]));
    expect((await send("HEAD", url.pathname, { as: own })).status).toBe(405);
    expect(await openOnes(own)).toEqual([]);
  });

  test("open, pending and rejected streams do not block the API for others", async () => {
    const others = await newUser();
    const agents = await Promise.all([1, 2, 3].map(() => newAgent()));
    const listeners = await Promise.all(
      agents.map(async (own) => {
        const url = await subscribe(own, ["submission.created"]);
        return Array.from({ length: 85 }, () => listen(url, own));
      }),
    );
    await Promise.all(listeners.flat().map((one) => one.until(({ status }) => status === 200)));
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, n) =>
        n % 2 ? send("GET", "/api/submissions", { as: others }) : send("GET", "/api/health"),
      ),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  });
});
