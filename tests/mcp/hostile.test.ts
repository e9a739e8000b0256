import { beforeAll, describe, expect, test } from "vitest";
import { send } from "../api/client.ts";
import { newComment, newOrganization, newSubmission, newUser } from "../api/world.ts";
import { sql } from "../stack.ts";
import { type Agent, callTool, newAgent, rpc } from "./agents.ts";

const secret = "Nobody else may read this";
let agent: Agent;
/** Rows of another organization, on a private board, by the name of the argument that could name them. */
const foreign: Record<string, string> = {};
let own: string;
let twin: string;

beforeAll(async () => {
  agent = await newAgent();
  const other = await newOrganization({ visibility: "private" });
  const author = await newUser("Ann Author", { organization: other, role: "owner" });
  const [category] = await sql<{ id: string }[]>`
    insert into public.categories (organization_id, name, slug) values (${other.id}, ${secret}, 'secret') returning id`;
  foreign.submission_id = await newSubmission(other, author, { title: secret });
  foreign.parent_id = await newComment(foreign.submission_id, author);
  foreign.category_id = category?.id ?? "";
  foreign.category = foreign.category_id;
  foreign.target_id = foreign.submission_id;
  foreign.source_ids = foreign.submission_id;
  foreign.author = author.id;
  const [survey] = await sql<{ id: string }[]>`
    insert into public.surveys (organization_id, title) values (${other.id}, ${secret}) returning id`;
  foreign.survey_id = survey?.id ?? "";
  [own, twin] = [
    await newSubmission(agent.organization, agent),
    await newSubmission(agent.organization, agent),
  ];
});

/** What each tool takes besides the argument under attack. */
const others: Record<string, object> = {
  search_submissions: { q: secret },
  find_similar_submissions: { title: secret },
  create_submission: { title: "A title", description: "A description that is long enough.", type: "idea" },
  update_submission: { title: "Mine now" },
  update_survey: { title: "Mine now" },
  delete_survey: { force: true },
  set_submission_status: { status: "declined" },
  add_comment: { body: "Mine now" },
};

/** What depends on rows of the agent's own. */
const withOwn = (name: string) =>
  name === "merge_submissions" ? { source_ids: [twin], target_id: own } : others[name];

test("another organization's ids, in every argument of every tool, reach nothing and change nothing", async () => {
  const state = () => sql`
    select s.title, s.status, s.vote_count, s.comment_count, s.updated_at, (select count(*) from public.follows f where f.submission_id = s.id) as follows
    from public.submissions s where id = ${foreign.submission_id ?? ""}`;
  const before = await state();
  const { tools } = (await rpc(agent, "tools/list")).result as {
    tools: { name: string; inputSchema: { properties: Record<string, { format?: string }> } }[];
  };
  let attacks = 0;
  for (const { name, inputSchema } of tools) {
    const names = Object.entries(inputSchema.properties).flatMap(([argument, { format }]) =>
      format === "uuid" ||
      argument === "category" ||
      JSON.stringify(inputSchema.properties[argument]).includes('"uuid"')
        ? [argument]
        : [],
    );
    for (const argument of names) {
      expect(
        Object.keys(foreign),
        `${name} takes ${argument}: this test has to know a foreign one`,
      ).toContain(argument);
      const args = {
        ...(names.includes("submission_id") && !names.includes("survey_id") && { submission_id: own }),
        ...withOwn(name),
        [argument]: argument === "source_ids" ? [foreign[argument]] : foreign[argument],
      };
      const { status, result, error } = await callTool(agent, name, args);
      attacks++;
      const told = `${name} ${argument}: ${status} ${JSON.stringify(result ?? error)}`;
      expect(told).not.toContain(secret);
      if (error) expect(error.code, told).toBe(-32602);
      else expect(result, told).toMatchObject({ total: 0 });
    }
    // And what asks for no id at all.
    expect(
      JSON.stringify((await callTool(agent, name, { submission_id: own, ...others[name] })).result ?? {}),
    ).not.toContain("secret");
  }
  expect(attacks).toBeGreaterThan(10);
  expect(await state()).toEqual(before);
});

describe("input without measure", () => {
  const post = (raw: string | string[]) =>
    send("POST", "/api/mcp/tools", { as: agent, raw, headers: { "content-type": "application/json" } });
  const call = (args: string) =>
    `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search_submissions","arguments":${args}}}`;

  test.each([
    ["ten megabytes", call(JSON.stringify({ q: "x".repeat(10 * 1024 * 1024) })), 413, -32600],
    [
      "ten megabytes in chunks of unknown number",
      Array.from({ length: 40 }, () => " ".repeat(256 * 1024)),
      413,
      -32600,
    ],
    ["100,000 levels", call(`${'{"q":'.repeat(100_000)}1${"}".repeat(100_000)}`), 400, -32600],
    ["100,000 levels of arrays", call(`${"[".repeat(100_000)}${"]".repeat(100_000)}`), 400, -32600],
    [
      "100,000 arguments",
      call(`{${Array.from({ length: 60_000 }, (_, n) => `"a${n}":1`).join()}}`),
      200,
      -32602,
    ],
    ["a query of a megabyte", call(JSON.stringify({ q: "x".repeat(900_000) })), 200, -32602],
    ["NUL", call('{"q":"a\\u0000b"}'), 200, -32602],
    ["half a character", call('{"q":"\\ud83d"}'), 200, -32602],
    ["a prototype", call('{"__proto__":{"q":"x"},"constructor":1}'), 200, -32602],
  ])("%s is refused in the right code", async (_, raw, status, code) => {
    const told = await post(raw);
    expect([told.status, told.body]).toMatchObject([status, { error: { code } }]);
    expect(told.text.length).toBeLessThan(20_000);
  });

  test("a body that is no declared JSON is refused", async () => {
    const told = await send("POST", "/api/mcp/tools", {
      as: agent,
      raw: "{}",
      headers: { "content-type": "text/plain" },
    });
    expect([told.status, told.body]).toMatchObject([415, { error: { code: -32600 } }]);
  });
});

test("calls at once never pass the day's limit", async () => {
  const busy = await newAgent({ policies: { calls_a_day: 5 } });
  const told = await Promise.all(Array.from({ length: 20 }, () => callTool(busy, "list_categories")));
  expect(told.filter(({ status }) => status === 200)).toHaveLength(5);
  expect(new Set(told.map(({ error }) => error?.code))).toEqual(new Set([undefined, -32002]));
});

test("a second key does not double an agent's limit", async () => {
  const busy = await newAgent({ policies: { calls_a_day: 2 } });
  const { createAgentKey } = await import("../../local/api-keys.ts");
  const elsewhere = await createAgentKey(sql, busy.organization.id, "Another agent", "standard", []);
  const { newApiKey, agentKeyPrefix } = await import("../../shared/api-keys.ts");
  const second = newApiKey(agentKeyPrefix);
  await sql`select private.create_agent_key(${busy.id}, 'Second', '{}', ${second.digest}, ${agentKeyPrefix}, 'last')`;
  expect((await rpc(busy, "tools/list")).status).toBe(200);
  expect((await rpc({ token: second.secret }, "tools/list")).status).toBe(200);
  expect((await rpc({ token: second.secret }, "tools/list")).status).toBe(429);
  expect((await rpc({ token: elsewhere }, "tools/list")).status).toBe(200);
});

test("an agent that names another organization finds none", async () => {
  const other = await newOrganization();
  const told = await send("POST", "/api/mcp/tools", {
    as: agent,
    on: other,
    body: { jsonrpc: "2.0", id: 1, method: "tools/list" },
  });
  expect([told.status, told.body]).toMatchObject([200, { error: { code: -32602 } }]);
});

test("an error of the service says nothing of its insides", async () => {
  const told = await send("POST", "/api/mcp/tools", {
    as: agent,
    body: {
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: "create_submission", arguments: { ...others.create_submission, category_id: own } },
    },
  });
  expect(told.body).toMatchObject({
    error: {
      code: -32602,
      data: { validation_errors: ["category_id is not a category of this organization"] },
    },
  });
  expect(told.text).not.toMatch(/constraint|sql|private\./i);
});
