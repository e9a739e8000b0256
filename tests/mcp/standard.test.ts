import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { Client as OldClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as OldTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { describe, expect, test } from "vitest";
import { send } from "../api/client.ts";
import { newSubmission, unknownKey } from "../api/world.ts";
import { sql } from "../stack.ts";
import { mcpUrl, newAgent } from "./agents.ts";

const about = { name: "tests", version: "1" };
const withKey = ({ token }: { token: string }) => ({ requestInit: { headers: { authorization: `Bearer ${token}` } } });

type AnyClient = Pick<Client, "listTools" | "readResource" | "listResourceTemplates" | "close"> & {
  call: (name: string, args: object, onProgress?: (progress: unknown) => void) => Promise<Answer>;
};
type Answer = { isError?: boolean; structuredContent?: unknown; content: { text?: string }[] };

const clients: Record<string, (as: { token: string }) => Promise<AnyClient>> = {
  "the current client, of 2026-07-28": (as) => connect(as, { mode: { pin: "2026-07-28" } }),
  "the current client with its defaults": (as) => connect(as),
  "the client of 2025": async (as) => {
    const client = new OldClient(about);
    await client.connect(new OldTransport(mcpUrl(), withKey(as)));
    const call = (name: string, args: object, onprogress?: (progress: unknown) => void) =>
      client.callTool({ name, arguments: { ...args } }, undefined, { onprogress }) as Promise<Answer>;
    return Object.assign(client, { call }) as unknown as AnyClient;
  },
};

async function connect(as: { token: string }, versionNegotiation?: { mode: { pin: string } }): Promise<AnyClient> {
  const client = new Client(about, { versionNegotiation });
  await client.connect(new StreamableHTTPClientTransport(mcpUrl(), withKey(as)));
  const call = (name: string, args: object, onprogress?: (progress: unknown) => void) =>
    client.callTool({ name, arguments: { ...args } }, { onprogress }) as Promise<Answer>;
  return Object.assign(client, { call }) as unknown as AnyClient;
}
const agent = await newAgent();
const submissionId = await newSubmission(agent.organization, agent, { title: "Dark mode at night" });

describe.each(Object.keys(clients))("%s", (name) => {
  const open = (as: { token: string }) => (clients[name] as (typeof clients)[string])(as);

  test("connects, lists the tools with all hints, and calls one", async () => {
    const client = await open(agent);
    const { tools } = await client.listTools();
    expect(tools.map((tool) => tool.name)).toContain("list_submissions");
    for (const tool of tools) {
      expect(tool.annotations, tool.name).toMatchObject({
        readOnlyHint: expect.any(Boolean),
        destructiveHint: expect.any(Boolean),
        idempotentHint: expect.any(Boolean),
        openWorldHint: false,
      });
      expect(tool.outputSchema, tool.name).toMatchObject({ type: "object" });
    }
    const progress: unknown[] = [];
    const answer = await client.call("list_submissions", { limit: 1 }, (step) => progress.push(step));
    expect(answer.structuredContent).toMatchObject({ submissions: [{ id: submissionId }], has_next: false });
    expect(JSON.parse(answer.content[0]?.text ?? "")).toEqual(answer.structuredContent);
    expect(progress).toEqual([expect.objectContaining({ progress: 100, total: 100 })]);
    await client.close();
  });

  test("gets errors in its arguments as the tool's result", async () => {
    const client = await open(agent);
    const answer = await client.call("list_submissions", { limit: 1000, sort: "age" });
    expect(answer.isError).toBe(true);
    expect(answer.content[0]?.text).toMatch(/limit must be a whole number from 1 to 100[\s\S]*sort must be one of/);
    await expect(client.call("drop_tables", {})).rejects.toThrow(/no such tool/);
    await client.close();
  });

  test("reads a submission as a resource", async () => {
    const client = await open(agent);
    const { resourceTemplates } = await client.listResourceTemplates();
    expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toContain("feedback://submissions/{id}");
    const uri = `feedback://submissions/${submissionId}`;
    const { contents } = await client.readResource({ uri });
    expect(JSON.parse((contents[0] as { text: string }).text).submission.title).toBe("Dark mode at night");
    await expect(client.readResource({ uri: "feedback://submissions/nowhere" })).rejects.toThrow();
    await client.close();
  });

  test("is rejected with a wrong key", async () => {
    for (const as of [await unknownKey(), { token: "garbage" }]) await expect(open(as)).rejects.toThrow();
  });

  test("is rejected for a tool whose scope its key lacks", async () => {
    const client = await open(await newAgent({ scopes: ["submissions:read"] }));
    const { tools } = await client.listTools();
    expect(tools.every((tool) => tool.annotations?.readOnlyHint)).toBe(true);
    await expect(client.call("vote_submission", { submission_id: submissionId })).rejects.toThrow();
    await client.close();
  });
});

describe("over HTTP", () => {
  const headers = { accept: "application/json, text/event-stream" };
  const body = (method: string, params: object = {}) => ({ jsonrpc: "2.0", id: 1, method, params });
  const post = (as: { token: string }, method: string, params?: object, more: object = {}) =>
    send("POST", "/api/mcp", { as, body: body(method, params), headers: { ...headers, ...more } });

  test("a wrong key is 401, a missing scope 403, both with WWW-Authenticate", async () => {
    const reader = await newAgent({ scopes: ["submissions:read"] });
    const call = { name: "vote_submission", arguments: { submission_id: submissionId } };
    const expired = await newAgent({ expiresAt: new Date(Date.now() - 1000) });
    for (const as of [expired, { token: "fcs_agt_x" }]) {
      for (const method of ["tools/list", "tools/call", "initialize", "ping"]) {
        const response = await post(as, method, call);
        expect([method, response.status]).toEqual([method, 401]);
        expect(response.headers["www-authenticate"]).toBe('Bearer error="invalid_token"');
      }
    }
    const told = await post(reader, "tools/call", call);
    expect(told.status).toBe(403);
    expect(told.headers["www-authenticate"]).toBe('Bearer error="insufficient_scope", scope="submissions:write"');
  });

  test("a call above the limit is 429 with Retry-After, and no JSON-RPC code of the other endpoint", async () => {
    const busy = await newAgent({ policies: { calls_a_day: 1 } });
    expect((await post(busy, "ping")).status).toBe(200);
    for (const method of ["ping", "tools/call"]) {
      const response = await post(busy, method, { name: "list_categories" });
      expect(response.status).toBe(429);
      expect(Number(response.headers["retry-after"])).toBeGreaterThan(80_000);
      expect((response.body as { error: { code: number } }).error.code).toBe(-32603);
    }
  });

  test("DNS rebinding is rejected by Host, and a page of another site by Origin", async () => {
    expect((await post(agent, "ping", {}, { host: "evil.example" })).status).toBe(403);
    expect((await post(agent, "ping", {}, { origin: "https://evil.example" })).status).toBe(403);
    await sql`update public.organizations set allowed_origins = '{https://agents.example}' where id = ${agent.organization.id}`;
    const response = await post(agent, "ping", {}, { origin: "https://agents.example" });
    expect([response.status, response.headers["access-control-allow-origin"]]).toEqual([200, "https://agents.example"]);
  });

  test("an organization's key and a session are rejected", async () => {
    const { newKey, newUser } = await import("../api/world.ts");
    for (const as of [await newKey(agent.organization, ["submissions:read"]), await newUser()])
      expect((await post(as, "ping")).status).toBe(401);
  });

  test("invalid JSON, a batch, and deep nesting are rejected", async () => {
    const raw = (text: string) =>
      send("POST", "/api/mcp", { as: agent, raw: text, headers: { ...headers, "content-type": "application/json" } });
    expect((await raw("{")).body).toMatchObject({ error: { code: -32700 } });
    expect((await raw(JSON.stringify([body("ping")]))).status).toBe(400);
    expect(
      (await raw(`{"jsonrpc":"2.0","id":1,"method":"ping","params":${"[".repeat(5000)}${"]".repeat(5000)}}`)).status,
    ).toBe(400);
    expect((await raw(JSON.stringify(body("ping", { x: "x".repeat(1024 * 1024) })))).status).toBe(413);
    for (const method of ["GET", "PUT", "PATCH", "DELETE"] as const) {
      const { status, headers: received } = await send(method, "/api/mcp", { as: agent, headers });
      expect([status, received.allow]).toEqual([405, "POST"]);
    }
  });
});
