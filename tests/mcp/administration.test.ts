import { describe, expect, test } from "vitest";
import { digestOf } from "../../shared/api-keys.ts";
import { api, type Method } from "../api/client.ts";
import { newOrganization, newSubmission, newUser } from "../api/world.ts";
import { sql } from "../stack.ts";
import { callTool, newAgent, resultOf, rpc } from "./agents.ts";

const organization = await newOrganization();
const admin = await newUser("Ada Admin", { organization, role: "admin" });

type Shown = Record<string, unknown> & { id: string; secret: string };
async function ask(method: Method, path: string, body?: object, as = admin): Promise<{ status: number; data: Shown }> {
  const answer = await api(method, `/api/admin/agents${path}`, { as, on: organization, body });
  return { status: answer.status, data: (answer.body as { data: Shown }).data };
}
const created = async (fields: object = {}) => (await ask("POST", "", { name: "Triage bot", ...fields })).data;
const newKey = async (id: string, fields: object = {}) =>
  (await ask("POST", `/${id}/keys`, { scopes: ["submissions:read"], ...fields })).data;
const works = async (token: string) => (await rpc({ token }, "tools/list")).status;

test("an agent is created, changed, listed and retired, and its content is kept", async () => {
  const { status, data: agent } = await ask("POST", "", {
    name: "Triage bot",
    tier: "professional",
    description: "Sorts",
  });
  expect([status, agent]).toMatchObject([201, { tier: "professional", description: "Sorts", retired_at: null }]);
  expect((await ask("PATCH", `/${agent.id}`, { name: "Sorter", description: null })).data).toMatchObject({
    name: "Sorter",
    tier: "professional",
    description: null,
  });
  const { secret: token } = await newKey(agent.id, { scopes: ["submissions:write", "submissions:read"] });
  const { id } = await resultOf<{ id: string }>({ token }, "create_submission", {
    title: "Made by an agent",
    description: "And there when it is gone.",
    type: "idea",
  });
  expect((await ask("DELETE", `/${agent.id}`)).data.retired_at).not.toBeNull();
  expect(await works(token)).toBe(401);
  const detail = await api("GET", `/api/submissions/${id}?expand=author`, {});
  expect(detail.body).toMatchObject({ data: { author: { id: agent.id, name: "Sorter" } } });
  expect((await ask("POST", `/${agent.id}/keys`, { scopes: [] })).status).toBe(409);
  expect((await ask("GET", "")).data).toContainEqual(expect.objectContaining({ id: agent.id, name: "Sorter" }));
});

test("a key returns its secret once, rotates with an overlap, and is revoked without affecting its agent", async () => {
  const agent = await created();
  const key = await newKey(agent.id);
  expect(key).toMatchObject({ prefix: "fcs_agt_", name: "Triage bot", secret: expect.stringMatching(/^fcs_agt_/) });
  const listed = await ask("GET", `/${agent.id}/keys`);
  expect(listed.data).toMatchObject([{ id: key.id, scopes: ["submissions:read"] }]);
  expect(JSON.stringify(listed.data)).not.toContain(key.secret);
  const rotated = await ask("POST", `/${agent.id}/keys/${key.id}/rotate`, {});
  expect([rotated.status, await works(key.secret), await works(rotated.data.secret)]).toEqual([201, 200, 200]);
  await ask("POST", `/${agent.id}/keys/${rotated.data.id}/rotate`, { overlap_seconds: 0 });
  expect(await works(rotated.data.secret)).toBe(401);
  expect((await ask("DELETE", `/${agent.id}/keys/${key.id}`)).data.revoked_at).not.toBeNull();
  expect(await works(key.secret)).toBe(401);
  const next = await newKey(agent.id, { expires_at: new Date(Date.now() + 60_000).toISOString() });
  expect(await works(next.secret)).toBe(200);
  const [stored] = await sql`select digest, last_four from private.api_keys where id = ${next.id}`;
  expect([Buffer.from(stored?.digest), stored?.last_four]).toEqual([
    Buffer.from(digestOf(next.secret)),
    next.secret.slice(-4),
  ]);
});

test("keys of agents and of the organization are separate", async () => {
  const agent = await created();
  const key = await newKey(agent.id);
  const other = await created();
  const keys = await api("GET", "/api/admin/api-keys", { as: admin, on: organization });
  expect(keys.text).not.toContain(key.id);
  const rest = (method: Method, path: string) =>
    api(method, `/api/admin/${path}`, { as: admin, on: organization, ...(method === "POST" && { body: {} }) });
  expect((await rest("POST", `api-keys/${key.id}/rotate`)).status).toBe(404);
  expect((await rest("DELETE", `api-keys/${key.id}`)).status).toBe(404);
  expect((await rest("POST", `agents/${other.id}/keys/${key.id}/rotate`)).status).toBe(404);
  expect((await rest("DELETE", `agents/${other.id}/keys/${key.id}`)).status).toBe(404);
  expect(await works(key.secret)).toBe(200);
});

describe("policies restrict an agent", () => {
  const policies = (id: string, body: object) => ask("PUT", `/${id}/policies`, body);
  const all = {
    read_only: false,
    confirm_destructive: false,
    tools: null,
    category_ids: null,
    survey_ids: null,
    calls_a_day: null,
  };

  test("omitted fields restrict nothing, and set fields can be reset", async () => {
    const agent = await created();
    expect((await ask("GET", `/${agent.id}/policies`)).data).toEqual(all);
    expect((await policies(agent.id, { read_only: true, tools: ["list_submissions"], calls_a_day: 5 })).data).toEqual({
      ...all,
      read_only: true,
      tools: ["list_submissions"],
      calls_a_day: 5,
    });
    expect((await policies(agent.id, {})).data).toEqual(all);
    expect((await policies(agent.id, { category_ids: [agent.id] })).status).toBe(400);
    expect((await policies(agent.id, { calls_a_day: 0 })).status).toBe(400);
  });

  test("read_only allows reading tools only, whatever the key's scopes", async () => {
    const reader = await newAgent({ policies: { read_only: true } });
    const { tools } = (await rpc(reader, "tools/list")).result as {
      tools: { name: string; annotations: { readOnlyHint: boolean } }[];
    };
    expect(tools.length).toBeGreaterThan(3);
    expect(tools.every(({ annotations }) => annotations.readOnlyHint)).toBe(true);
    const id = await newSubmission(reader.organization, admin);
    expect((await callTool(reader, "vote_submission", { submission_id: id })).error.code).toBe(-32001);
  });

  test("tools allows the listed ones only, in the list and in calls", async () => {
    const narrow = await newAgent({ policies: { tools: ["get_submission"] } });
    expect((await rpc(narrow, "tools/list")).result).toMatchObject({ tools: [{ name: "get_submission" }] });
    expect((await callTool(narrow, "list_submissions")).error).toMatchObject({ code: -32001, message: /policies/ });
  });

  test("confirm_destructive requires confirm: true, as an argument or beside the arguments", async () => {
    const confirming = await newAgent({ policies: { confirm_destructive: true } });
    const id = await newSubmission(confirming.organization, admin);
    const planned = (args: object, params = {}) =>
      callTool(confirming, "set_submission_status", { submission_id: id, status: "planned", ...args }, params);
    expect((await planned({})).error).toMatchObject({
      code: -32602,
      data: { validation_errors: [expect.stringMatching(/^confirm /)] },
    });
    expect((await planned({ confirm: true })).result).toMatchObject({ new_status: "planned" });
    expect((await planned({ status: "open" }, { confirm: true })).result).toMatchObject({ new_status: "open" });
    expect((await callTool(confirming, "vote_submission", { submission_id: id })).result).toBeDefined();
  });

  test("category_ids hide all other categories, in every tool and every count", async () => {
    const own = await newOrganization();
    const [mobile] = await sql<{ id: string }[]>`
      insert into public.categories (organization_id, name, slug) values (${own.id}, 'Mobile', 'mobile') returning id`;
    const restricted = await newAgent({ organization: own, policies: { category_ids: [mobile?.id] } });
    const inside = await newSubmission(own, admin, { title: "Inside of it", category_id: mobile?.id ?? null });
    const outside = await newSubmission(own, admin, { title: "Outside of it" });
    expect(await resultOf(restricted, "list_submissions")).toMatchObject({ submissions: [{ id: inside }], total: 1 });
    expect(await resultOf(restricted, "search_submissions", { q: "outside" })).toMatchObject({
      submissions: [],
      total: 0,
    });
    expect(
      await resultOf(restricted, "find_similar_submissions", { title: "Inside of it or outside of it" }),
    ).toMatchObject({ similar: [{ id: inside }] });
    for (const [tool, args] of [
      ["get_submission", {}],
      ["list_comments", {}],
      ["add_comment", { body: "There?" }],
      ["vote_submission", {}],
      ["remove_vote", {}],
      ["update_submission", { title: "Mine now" }],
      ["set_submission_status", { status: "planned" }],
    ] as const)
      expect([tool, (await callTool(restricted, tool, { submission_id: outside, ...args })).error?.code]).toEqual([
        tool,
        -32602,
      ]);
    for (const [source, target] of [
      [outside, inside],
      [inside, outside],
    ]) {
      const merged = await callTool(restricted, "merge_submissions", { source_ids: [source], target_id: target });
      expect(merged.error?.data).toMatchObject({ code: "NOT_FOUND" });
    }
    const idea = { title: "Another one", description: "In a category or in none.", type: "idea" };
    expect((await callTool(restricted, "create_submission", idea)).error.code).toBe(-32001);
    expect(
      (await callTool(restricted, "create_submission", { ...idea, category_id: mobile?.id })).result,
    ).toBeDefined();
    expect(
      (await callTool(restricted, "update_submission", { submission_id: inside, category_id: null })).error.code,
    ).toBe(-32001);
  });
});

test("the audit trail records caller, tool and outcome of each call, and no arguments", async () => {
  const agent = await created();
  const key = await newKey(agent.id, { scopes: ["submissions:read", "submissions:write"] });
  const as = { token: key.secret };
  const id = await newSubmission(organization, admin);
  await resultOf(as, "list_submissions", { q: "somebody@example.org", limit: 3, "an e-mail": "x@example.org" });
  await resultOf(as, "vote_submission", { submission_id: id });
  await callTool(as, "set_submission_status", { submission_id: id, status: "planned" });
  await callTool(as, "get_submission", { submission_id: "x@example.org" });
  await callTool(as, "x@example.org");
  const calls = async () => (await ask("GET", `/${agent.id}/audit`)).data as unknown as Record<string, unknown>[];
  await expect.poll(async () => (await calls()).length).toBe(5);
  const trail = await calls();
  expect(
    new Set(trail.map(({ tool, scope, outcome, argument_names }) => [tool, scope, outcome, argument_names].join(" "))),
  ).toEqual(
    new Set([
      "list_submissions submissions:read ok limit,q",
      "vote_submission submissions:write ok submission_id",
      "set_submission_status submissions:moderate FORBIDDEN submission_id,status",
      "get_submission submissions:read VALIDATION_ERROR submission_id",
      "unknown  NOT_FOUND ",
    ]),
  );
  for (const call of trail)
    expect(call).toMatchObject({ key_id: key.id, address: expect.stringMatching(/^[0-9a-f]{32}$/) });
  expect(JSON.stringify(trail)).not.toMatch(/example|127\.0\.0\.1/);
  const voted = await api("GET", `/api/admin/agents/${agent.id}/audit?tool=vote_submission&outcome=ok&limit=1`, {
    as: admin,
    on: organization,
  });
  expect(voted.body).toMatchObject({ data: [{ tool: "vote_submission" }], meta: { next_before: expect.any(Number) } });
  await expect(sql`update private.agent_audit set outcome = 'ok' where agent_id = ${agent.id}`).rejects.toMatchObject({
    code: "FB403",
  });
  await expect(sql`delete from private.agent_audit where agent_id = ${agent.id}`).rejects.toMatchObject({
    code: "FB403",
  });
});

test("attempts with a revoked key are recorded at most once a minute", async () => {
  const agent = await newAgent({ organization });
  await sql`update private.api_keys set revoked_at = now() where profile_id = ${agent.id}`;
  for (let n = 0; n < 5; n++) await callTool(agent, "list_submissions");
  const seen = () => sql`select outcome from private.agent_audit where agent_id = ${agent.id}`;
  await expect.poll(async () => (await seen()).length).toBe(1);
  expect(await seen()).toEqual([{ outcome: "UNAUTHORIZED" }]);
});
