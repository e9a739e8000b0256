import { describe, expect, test } from "vitest";
import { type Method, send } from "../api/client.ts";
import { newSubmission, newUser } from "../api/world.ts";
import { stack } from "../stack.ts";
import { callTool, newAgent, resultOf, rpc } from "./agents.ts";

// What clients and models send that is not quite a call.

const agent = await newAgent({ tier: "enterprise" });
const submission_id = await newSubmission(agent.organization, await newUser());
const both = "application/json, text/event-stream";

/** One message to the standard endpoint; undefined leaves a header out. */
async function post(message: object, headers: Record<string, string> = { accept: both }, path = "/api/mcp") {
  const {
    status,
    headers: received,
    text,
  } = await send("POST", path, { as: agent, body: { jsonrpc: "2.0", id: 1, ...message }, headers });
  const type = String(received["content-type"]);
  const { result, error } = JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? (text || "{}"));
  return { status, type, result, error, text };
}

const toolCall = (name: string, args: unknown) => ({ method: "tools/call", params: { name, arguments: args } });

/** What is wrong with a call, at both endpoints alike. */
async function complaints(name: string, args: unknown): Promise<string[]> {
  const { error } = await rpc(agent, "tools/call", { name, arguments: args });
  const { result } = await post(toolCall(name, args));
  const said = (error?.data.validation_errors ?? []) as string[];
  expect([result.isError ?? false, result.content[0].text.includes(said.join("\n"))]).toEqual([said.length > 0, true]);
  return said;
}

describe("null in place of an optional argument is the same as not sent", () => {
  const question = { type: "text", text: "Why?", required: null, options: null, multiple: null, scale: null };
  const settings = { allow_multiple_responses: null, show_branding: null, redirect_url: null };
  test.each<[string, object]>([
    [
      "list_submissions",
      {
        page: null,
        limit: null,
        status: null,
        type: null,
        category: null,
        tag: null,
        author: null,
        q: null,
        sort: null,
      },
    ],
    ["search_submissions", { q: "offline", page: null, limit: null }],
    ["list_comments", { submission_id, parent_id: null, sort: null, order: null, page: null, limit: null }],
    ["list_surveys", { status: null, page: null, limit: null }],
    ["find_similar_submissions", { title: "Faster exports", description: null }],
    ["add_comment", { submission_id, body: "On it.", parent_id: null }],
    ["set_submission_status", { submission_id, status: "planned", note: null, notify: null, confirm: null }],
    ["analyze_sentiment", { texts: ["I love it"], survey_id: null, submission_id: null, locale: null }],
    ["create_survey", { title: "T", questions: [question], settings, description: null, closes_at: null }],
    ["create_survey", { title: "T", questions: [], settings: null }],
    ["list_categories", { anything: null }],
  ])("%s %j", async (name, args) => {
    expect(await complaints(name, args)).toEqual([]);
  });

  test("but clears a field that can be empty, and nothing else", async () => {
    const url = "https://issues.example.org/1";
    const edit = (patch: object) => resultOf(agent, "update_submission", { submission_id, ...patch });
    expect(await edit({ tracker_issue_url: url })).toMatchObject({ submission: { tracker_issue_url: url } });
    expect(await edit({ tracker_issue_url: null, title: null })).toMatchObject({
      submission: { tracker_issue_url: null, title: expect.stringMatching(/./) },
    });
  });

  test("also of the call: arguments, params, stream, and confirm", async () => {
    for (const args of [null, undefined, {}]) expect(await complaints("list_categories", args)).toEqual([]);
    expect((await callTool(agent, "list_categories", {}, { stream: null, confirm: null })).error).toBeUndefined();
    expect((await post({ method: "tools/list", params: null })).result.tools.length).toBeGreaterThan(20);
    const listed = await send("POST", "/api/mcp/tools", {
      as: agent,
      body: { jsonrpc: "2.0", id: 1, method: "tools/list", params: null },
    });
    expect(listed.body).toMatchObject({ result: {} });
  });
});

describe("what is wrong is said in plain words", () => {
  test.each<[string, unknown, string[]]>([
    ["get_submission", { submission_id: null }, ["submission_id is required"]],
    ["search_submissions", { q: null, limit: null }, ["q is required"]],
    ["create_survey", { title: null, questions: null }, ["title is required", "questions is required"]],
    ["create_survey", { title: "T", questions: [null] }, ["questions.0 must be an object"]],
    ["create_survey", { title: "T", questions: [{ type: null, text: "Why?" }] }, ["questions.0.type is required"]],
    ["analyze_sentiment", { texts: [null] }, ["texts.0 must be a string"]],
    ["list_categories", [], ["arguments must be an object"]],
    ["list_categories", "x", ["arguments must be an object"]],
    ["list_categories", 5, ["arguments must be an object"]],
    ["list_categories", false, ["arguments must be an object"]],
  ])("%s %j: %j", async (name, args, said) => {
    expect(await complaints(name, args)).toEqual(said);
  });

  test.each<[string, string, string[]]>([
    [
      "a misspelled filter",
      '{"name":"list_surveys","arguments":{"stauts":"draft"}}',
      ["stauts is unknown; use one of status, page, limit"],
    ],
    [
      "one in place of a required argument",
      '{"name":"get_submission","arguments":{"id":"x"}}',
      ["id is unknown; use one of submission_id", "submission_id is required"],
    ],
    [
      "one of a tool without arguments",
      '{"name":"list_categories","arguments":{"limit":1}}',
      ["limit is unknown; leave it out"],
    ],
    [
      "names of objects in JavaScript",
      '{"name":"list_surveys","arguments":{"toString":{"status":"draft"},"constructor":1}}',
      ["toString is unknown; use one of status, page, limit", "constructor is unknown; use one of status, page, limit"],
    ],
    [
      "at any depth",
      '{"name":"create_survey","arguments":{"title":"T","questions":[{"type":"text","text":"Q","requird":true}],"settings":{"brand":1}}}',
      [
        "questions.0.requird is unknown; use one of type, text, required, options, multiple, scale",
        "settings.brand is unknown; use one of allow_multiple_responses, show_branding, redirect_url",
      ],
    ],
  ])("an unknown argument is named with the known ones: %s", async (_what, params, said) => {
    const raw = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`;
    const headers = { "content-type": "application/json" };
    const { body } = await send("POST", "/api/mcp/tools", { as: agent, raw, headers });
    expect((body as { error: { data: object } }).error.data).toMatchObject({ validation_errors: said });
    const { text } = await send("POST", "/api/mcp", { as: agent, raw, headers: { ...headers, accept: both } });
    for (const line of said) expect(text).toContain(line);
  });

  test.each([[null], [5], [undefined], [{}]])("a call of the tool %j", async (name) => {
    const { status, error, text } = await post({ method: "tools/call", params: { name } });
    expect([status, error.message, text.includes("invalid_type")]).toEqual([
      ...[400, "params.name must be the name of a tool."],
      false,
    ]);
  });

  test("3,000 unknown arguments make a short answer", async () => {
    const many = Object.fromEntries(Array.from({ length: 3000 }, (_, n) => [`k${n}${"x".repeat(300)}`, n]));
    expect((await post(toolCall("list_surveys", many))).text.length).toBeLessThan(25_000);
  });
});

describe("Accept is read as HTTP defines it", () => {
  const ping = { method: "ping" };
  const json = "application/json";
  const events = "text/event-stream";
  test.each([
    ["*/*", events],
    ["*", events],
    ["", events],
    ["text/event-stream, application/json", events],
    ["Application/JSON, Text/Event-Stream", events],
    ["application/json;q=0.2 , text/event-stream; q=0.9", events],
    ["text/*", events],
    ["application/json;q=0, */*", events],
    ["application/*", json],
    ["application/json", json],
    ["application/json; charset=utf-8", json],
    ["*/*;q=0, application/json", json],
    ["text/event-stream;q=0.0, */*;q=0.1", json],
  ])("%j is answered with %s", async (accept, expected) => {
    for (const message of [ping, toolCall("list_categories", {})]) {
      const { status, type, result } = await post(message, { accept });
      expect([status, type.split(";")[0], result !== undefined]).toEqual([200, expected, true]);
    }
  });

  test("without the header every media type is accepted", async () => {
    expect((await post(ping, {})).status).toBe(200);
  });

  test("the result alone is JSON, without the progress", async () => {
    const params = { name: "list_categories", _meta: { progressToken: "p" } };
    const { type, result } = await post({ method: "tools/call", params }, { accept: "application/json" });
    expect([type, result.structuredContent.categories]).toEqual([json, []]);
  });

  test("revision 2026-07-28 answers in events, if only these are accepted", async () => {
    const version = "2026-07-28";
    const prefix = "io.modelcontextprotocol/";
    const _meta = {
      [`${prefix}protocolVersion`]: version,
      [`${prefix}clientInfo`]: { name: "a", version: "1" },
      [`${prefix}clientCapabilities`]: {},
    };
    const named = { "mcp-protocol-version": version, "mcp-method": "tools/call", "mcp-name": "list_categories" };
    const call = { method: "tools/call", params: { name: "list_categories", arguments: null, _meta } };
    for (const [accept, expected] of [["*/*", json] as const, [events, events] as const]) {
      const { type, result } = await post(call, { accept, ...named });
      expect([type, result.structuredContent.categories]).toEqual([expected, []]);
    }
  });

  test.each(["text/html", "*/*;q=0", "application/json;q=0, text/event-stream;q=0.000", "image/*"])(
    "%s is a 406, after the key",
    async (accept) => {
      expect((await post(ping, { accept })).status).toBe(406);
      expect(
        (await send("POST", "/api/mcp", { as: { token: "fcs_agt_x" }, body: ping, headers: { accept } })).status,
      ).toBe(401);
    },
  );
});

describe("a good key is never called wrong", () => {
  test.each<[Method, string, number, allow?: string]>([
    ["POST", "/api/mcp/", 200],
    ["POST", "/functions/v1/api/mcp/", 200],
    ["POST", "/api/mcp/tools/", 200],
    ["GET", "/api/mcp/health/", 200],
    ["GET", "/api/mcp/", 405, "POST"],
    ["PUT", "/api/mcp", 405, "POST"],
    ["GET", "/api/mcp/tools", 405, "POST"],
    ["DELETE", "/api/mcp/tools/", 405, "POST"],
    ["POST", "/api/mcp/health", 405, "GET, HEAD"],
    ["POST", `/api/mcp/subscribe/${submission_id}/`, 405, "GET"],
    ["POST", "/api/mcp/tool", 404],
    ["POST", "/api/mcp/sse", 404],
    ["GET", "/api/mcp/stream", 404],
    ["POST", "/api/mcp//tools", 404],
    ["GET", "/api/mcp/.well-known/oauth-protected-resource", 404],
    ["GET", "/.well-known/oauth-protected-resource/api/mcp", 404],
  ])("%s %s is %i", async (method, path, status, allow) => {
    const body = method === "GET" ? undefined : { jsonrpc: "2.0", id: 1, method: "tools/list" };
    const answer = await send(method, path, { as: agent, body, headers: { accept: both }, base: stack.supabase_url });
    expect([answer.status, answer.headers.allow]).toEqual([status, allow]);
    if (status === 404 && path.startsWith("/api")) expect(answer.text).toContain("is at /api/mcp, and plain JSON-RPC");
  });

  test.each(["/api/mcps", "/api//mcp", "/api/submissions"])("at %s its own address is named", async (path) => {
    const { status, text } = await send("GET", path, { as: agent });
    expect([status, text]).toEqual([401, expect.stringContaining("Agent keys work only at /api/mcp.")]);
  });
});
