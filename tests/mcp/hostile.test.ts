import { describe, expect, test } from "vitest";
import { send } from "../api/client.ts";
import { newComment, newOrganization, newSubmission, newUser } from "../api/world.ts";
import { sql } from "../stack.ts";
import { callTool, newAgent, rpc } from "./agents.ts";

const secret = "Nobody else may read this";
/** Rows of another organization on a private board, by the names of the arguments that accept their ids. */
const foreign: Record<string, string> = {};
const agent = await newAgent();
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
const [own, twin] = [await newSubmission(agent.organization, agent), await newSubmission(agent.organization, agent)];

/** The other arguments of each tool. */
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

/** Arguments that depend on rows of the agent. */
const withOwn = (name: string) =>
  name === "merge_submissions" ? { source_ids: [twin], target_id: own } : others[name];

test("ids of another organization, in every argument of every tool, read and change nothing", async () => {
  const state = () => sql`
    select s.title, s.status, s.vote_count, s.comment_count, s.updated_at, (select count(*) from public.follows f where f.submission_id = s.id) as follows
    from public.submissions s where id = ${foreign.submission_id ?? ""}`;
  const before = await state();
  const { tools } = (await rpc(agent, "tools/list")).result as {
    tools: { name: string; inputSchema: { properties: Record<string, object> } }[];
  };
  let attacks = 0;
  for (const { name, inputSchema } of tools) {
    const names = Object.keys(inputSchema.properties).filter((argument) => /_ids?$|^author$|^category$/.test(argument));
    for (const argument of names) {
      expect(Object.keys(foreign), `${name} takes ${argument}: this test has to know a foreign one`).toContain(
        argument,
      );
      const args = {
        ...(names.includes("submission_id") && !names.includes("survey_id") && { submission_id: own }),
        ...withOwn(name),
        [argument]: argument === "source_ids" ? [foreign[argument]] : foreign[argument],
      };
      const { status, result, error } = await callTool(agent, name, args);
      attacks++;
      const response = `${name} ${argument}: ${status} ${JSON.stringify(result ?? error)}`;
      expect(response).not.toContain(secret);
      if (error) expect(error.code, response).toBe(-32602);
      else expect(result, response).toMatchObject({ total: 0 });
    }
    // Tools without an id.
    expect(
      JSON.stringify(
        (
          await callTool(agent, name, {
            ...(names.includes("submission_id") && { submission_id: own }),
            ...others[name],
          })
        ).result ?? {},
      ),
    ).not.toContain("secret");
  }
  expect(attacks).toBeGreaterThan(10);
  expect(await state()).toEqual(before);
});

describe("oversized input", () => {
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
    ["100,000 arguments", call(`{${Array.from({ length: 60_000 }, (_, n) => `"a${n}":1`).join()}}`), 200, -32602],
    ["a query of a megabyte", call(JSON.stringify({ q: "x".repeat(900_000) })), 200, -32602],
    ["NUL", call('{"q":"a\\u0000b"}'), 200, -32602],
    ["half a character", call('{"q":"\\ud83d"}'), 200, -32602],
    ["a prototype", call('{"__proto__":{"q":"x"},"constructor":1}'), 200, -32602],
  ])("%s is rejected with the right code", async (_, raw, status, code) => {
    const response = await post(raw);
    expect([response.status, response.body]).toMatchObject([status, { error: { code } }]);
    expect(response.text.length).toBeLessThan(20_000);
  });

  test("a body without JSON as its content type is rejected", async () => {
    const response = await send("POST", "/api/mcp/tools", {
      as: agent,
      raw: "{}",
      headers: { "content-type": "text/plain" },
    });
    expect([response.status, response.body]).toMatchObject([415, { error: { code: -32600 } }]);
  });
});

test("concurrent calls never exceed the daily limit", async () => {
  const busy = await newAgent({ policies: { calls_a_day: 5 } });
  const response = await Promise.all(Array.from({ length: 20 }, () => callTool(busy, "list_categories")));
  expect(response.filter(({ status }) => status === 200)).toHaveLength(5);
  expect(new Set(response.map(({ error }) => error?.code))).toEqual(new Set([undefined, -32002]));
});

test("a second key does not double an agent's limit", async () => {
  const busy = await newAgent({ policies: { calls_a_day: 2 } });
  const { createAgentKey } = await import("../../local/operator/api-keys.ts");
  const elsewhere = await createAgentKey(sql, busy.organization.id, "Another agent", "standard", []);
  const { newApiKey, agentKeyPrefix } = await import("../../shared/api-keys.ts");
  const second = newApiKey(agentKeyPrefix);
  await sql`select private.create_agent_key(${busy.id}, 'Second', '{}', ${second.digest}, ${agentKeyPrefix}, 'last')`;
  expect((await rpc(busy, "tools/list")).status).toBe(200);
  expect((await rpc({ token: second.secret }, "tools/list")).status).toBe(200);
  expect((await rpc({ token: second.secret }, "tools/list")).status).toBe(429);
  expect((await rpc({ token: elsewhere }, "tools/list")).status).toBe(200);
});

test("an agent that selects another organization gets an error", async () => {
  const other = await newOrganization();
  const response = await send("POST", "/api/mcp/tools", {
    as: agent,
    on: other,
    body: { jsonrpc: "2.0", id: 1, method: "tools/list" },
  });
  expect([response.status, response.body]).toMatchObject([200, { error: { code: -32602 } }]);
});

test("an internal error reveals no details", async () => {
  const response = await send("POST", "/api/mcp/tools", {
    as: agent,
    body: {
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: "create_submission", arguments: { ...others.create_submission, category_id: own } },
    },
  });
  expect(response.body).toMatchObject({
    error: { code: -32602, data: { validation_errors: ["category_id is not a category of this organization"] } },
  });
  expect(response.text).not.toMatch(/constraint|sql|private\./i);
});

const long = "x".repeat(100_000);
const meta = { _meta: { progressToken: long } };
const version = { "io.modelcontextprotocol/protocolVersion": long };
test.each([
  ["/api/mcp/tools", { id: long, method: "tools/list" }],
  ["/api/mcp/tools", { id: long, result: {} }],
  ["/api/mcp", { id: long, method: "tools/list" }],
  ["/api/mcp", { id: 1, method: "tools/list", params: { _meta: version } }],
  ["/api/mcp", { id: 1, method: "tools/call", params: { name: "list_submissions", arguments: {}, ...meta } }],
  ["/api/mcp", { id: 1, method: "resources/read", params: { uri: `feedback://submissions/${long}` } }],
])("no answer of %s repeats a long text, also without a key: %.40j", async (path, call) => {
  for (const as of [agent, undefined]) {
    const answer = await send("POST", path, {
      as,
      body: { jsonrpc: "2.0", ...call },
      headers: { accept: "application/json, text/event-stream" },
    });
    expect(answer.status).toBe(as ? 400 : 401);
    expect(answer.text.length).toBeLessThan(1_000);
  }
});
