import { describe, expect, test } from "vitest";
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
  await resultOf(as, "list_submissions", { q: "somebody@example.org", limit: 3 });
  await callTool(as, "list_submissions", { limit: 3, "x@example.org": 1 });
  await resultOf(as, "vote_submission", { submission_id: id });
  await callTool(as, "set_submission_status", { submission_id: id, status: "planned" });
  await callTool(as, "get_submission", { submission_id: "x@example.org" });
  await callTool(as, "x@example.org");
  const calls = async () => (await ask("GET", `/${agent.id}/audit`)).data as unknown as Record<string, unknown>[];
  await expect.poll(async () => (await calls()).length).toBe(6);
  const trail = await calls();
  expect(
    new Set(trail.map(({ tool, scope, outcome, argument_names }) => [tool, scope, outcome, argument_names].join(" "))),
  ).toEqual(
    new Set([
      "list_submissions submissions:read ok limit,q",
      "list_submissions submissions:read VALIDATION_ERROR limit",
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
