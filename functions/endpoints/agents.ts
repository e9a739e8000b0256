import { apiKeyAnswer, apiKeyListAnswer, apiKeyRotate, newApiKeyAnswer } from "../../shared/admin.ts";
import {
  agentAnswer,
  agentAuditAnswer,
  agentAuditQuery,
  agentCreate,
  agentKeyCreate,
  agentListAnswer,
  agentPatch,
  agentPoliciesAnswer,
  agentPoliciesUpdate,
} from "../../shared/agents.ts";
import { agentKeyPrefix, newApiKey } from "../../shared/api-keys.ts";
import { dataIn, dataResponse, endpointsOf, row } from "../_shared/http/endpoint.ts";
import { revokeApiKey, rotateApiKey } from "../_shared/statements/admin.ts";
import {
  agentAudit,
  agentPolicies,
  createAgent,
  createAgentKey,
  listAgentKeys,
  listAgents,
  retireAgent,
  updateAgent,
} from "../_shared/statements/agents.ts";
import { withSecret } from "./admin.ts";

const { get, post, put, patch, del } = endpointsOf({ tag: "Agents", access: "person" });
export const agents = [
  get("/admin/agents", {
    summary: "List the organization's agents, as an admin",
    responses: { 200: agentListAnswer },
    call: () => [listAgents()],
    respond: row("agent"),
  }),
  post("/admin/agents", {
    summary: "Create an agent; it needs a key to call",
    body: agentCreate,
    responses: { 201: agentAnswer },
    call: ({ body }) => [createAgent(body)],
    respond: row("agent", 201),
  }),
  patch("/admin/agents/:id", {
    summary: "Change an agent's name, tier or description",
    body: agentPatch,
    responses: { 200: agentAnswer },
    call: ({ params, body }) => [updateAgent(params.id, body)],
    respond: row("agent"),
  }),
  del("/admin/agents/:id", {
    summary: "Retire an agent and revoke its keys permanently; its content stays",
    responses: { 200: agentAnswer },
    call: ({ params }) => [retireAgent(params.id)],
    respond: row("agent"),
  }),
  get("/admin/agents/:id/policies", {
    summary: "Show the policies of an agent",
    responses: { 200: agentPoliciesAnswer },
    call: ({ params }) => [agentPolicies(params.id, null)],
    respond: row("agent"),
  }),
  put("/admin/agents/:id/policies", {
    summary: "Replace the policies of an agent",
    body: agentPoliciesUpdate,
    responses: { 200: agentPoliciesAnswer },
    call: ({ params, body }) => [agentPolicies(params.id, body)],
    respond: row("agent"),
  }),
  get("/admin/agents/:id/keys", {
    summary: "List an agent's keys",
    responses: { 200: apiKeyListAnswer },
    call: ({ params }) => [listAgentKeys(params.id)],
    respond: row("agent"),
  }),
  post("/admin/agents/:id/keys", {
    summary: "Create a key of an agent; its secret is returned once",
    body: agentKeyCreate,
    responses: { 201: newApiKeyAnswer },
    showsSecret: true,
    prepare: () => newApiKey(agentKeyPrefix),
    call: ({ params, body, prepared }) => [createAgentKey(params.id, body, prepared)],
    respond: ([[key]], { prepared }) => dataResponse(201, withSecret(key?.data, prepared.secret)),
  }),
  post("/admin/agents/:id/keys/:key_id/rotate", {
    summary: "Rotate the secret of an agent's key; the old one stays valid for an overlap",
    body: apiKeyRotate,
    responses: { 201: newApiKeyAnswer },
    showsSecret: true,
    prepare: () => newApiKey(agentKeyPrefix),
    call: ({ params, body, prepared }) => [rotateApiKey(params.key_id, body, prepared, params.id)],
    respond: ([[key]], { prepared }) => dataResponse(201, withSecret(key?.data, prepared.secret)),
  }),
  del("/admin/agents/:id/keys/:key_id", {
    summary: "Revoke an agent's key permanently; the agent stays",
    responses: { 200: apiKeyAnswer },
    call: ({ params }) => [revokeApiKey(params.key_id, params.id)],
    respond: row("key"),
  }),
  get("/admin/agents/:id/audit", {
    summary: "List the calls of an agent, newest first",
    query: agentAuditQuery,
    responses: { 200: agentAuditAnswer },
    call: ({ params, query }) => [agentAudit(params.id, query)],
    respond: ([calls], { query }) => {
      const list = JSON.parse(dataIn(calls, "agent")) as { id: number }[];
      const next_before = list.length === query.limit ? (list.at(-1)?.id ?? null) : null;
      return dataResponse(200, JSON.stringify(list), { next_before });
    },
  }),
];
