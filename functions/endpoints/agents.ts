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
import { notFound } from "../_shared/http/api-error.ts";
import { dataResponse, endpoint } from "../_shared/http/endpoint.ts";
import {
  agentAudit,
  agentPolicies,
  createAgent,
  createAgentKey,
  listAgentKeys,
  listAgents,
  retireAgent,
  revokeAgentKey,
  rotateAgentKey,
  updateAgent,
} from "../_shared/statements/agents.ts";
import { withSecret } from "./admin.ts";

const tag = "Agents";

export const agents = [
  endpoint({
    method: "get",
    path: "/admin/agents",
    tag,
    access: "person",
    summary: "List the organization's agents, as an admin",
    responses: { 200: agentListAnswer },
    call: () => [listAgents()],
    respond: ([[list]]) => dataResponse(200, list?.data ?? "[]"),
  }),
  endpoint({
    method: "post",
    path: "/admin/agents",
    tag,
    access: "person",
    summary: "Create an agent; it needs a key to call",
    body: agentCreate,
    responses: { 201: agentAnswer },
    call: ({ body }) => [createAgent(body)],
    respond: ([[created]]) => dataResponse(201, shown(created)),
  }),
  endpoint({
    method: "patch",
    path: "/admin/agents/:id",
    tag,
    access: "person",
    summary: "Change an agent's name, tier or description",
    body: agentPatch,
    responses: { 200: agentAnswer },
    call: ({ params, body }) => [updateAgent(params.id, body)],
    respond: ([[changed]]) => dataResponse(200, shown(changed)),
  }),
  endpoint({
    method: "delete",
    path: "/admin/agents/:id",
    tag,
    access: "person",
    summary: "Retire an agent and revoke its keys permanently; its content stays",
    responses: { 200: agentAnswer },
    call: ({ params }) => [retireAgent(params.id)],
    respond: ([[retired]]) => dataResponse(200, shown(retired)),
  }),
  endpoint({
    method: "get",
    path: "/admin/agents/:id/policies",
    tag,
    access: "person",
    summary: "Show the policies of an agent",
    responses: { 200: agentPoliciesAnswer },
    call: ({ params }) => [agentPolicies(params.id, null)],
    respond: ([[policies]]) => dataResponse(200, shown(policies)),
  }),
  endpoint({
    method: "put",
    path: "/admin/agents/:id/policies",
    tag,
    access: "person",
    summary: "Replace the policies of an agent",
    body: agentPoliciesUpdate,
    responses: { 200: agentPoliciesAnswer },
    call: ({ params, body }) => [agentPolicies(params.id, body)],
    respond: ([[policies]]) => dataResponse(200, shown(policies)),
  }),
  endpoint({
    method: "get",
    path: "/admin/agents/:id/keys",
    tag,
    access: "person",
    summary: "List an agent's keys",
    responses: { 200: apiKeyListAnswer },
    call: ({ params }) => [listAgentKeys(params.id)],
    respond: ([[keys]]) => dataResponse(200, shown(keys)),
  }),
  endpoint({
    method: "post",
    path: "/admin/agents/:id/keys",
    tag,
    access: "person",
    summary: "Create a key of an agent; its secret is returned once",
    body: agentKeyCreate,
    responses: { 201: newApiKeyAnswer },
    showsSecret: true,
    prepare: () => newApiKey(agentKeyPrefix),
    call: ({ params, body, prepared }) => [createAgentKey(params.id, body, prepared)],
    respond: ([[key]], { prepared }) => dataResponse(201, withSecret(key?.data, prepared.secret)),
  }),
  endpoint({
    method: "post",
    path: "/admin/agents/:id/keys/:key_id/rotate",
    tag,
    access: "person",
    summary: "Rotate the secret of an agent's key; the old one stays valid for an overlap",
    body: apiKeyRotate,
    responses: { 201: newApiKeyAnswer },
    showsSecret: true,
    prepare: () => newApiKey(agentKeyPrefix),
    call: ({ params, body, prepared }) => [rotateAgentKey(params.id, params.key_id, body, prepared)],
    respond: ([[key]], { prepared }) => dataResponse(201, withSecret(key?.data, prepared.secret)),
  }),
  endpoint({
    method: "delete",
    path: "/admin/agents/:id/keys/:key_id",
    tag,
    access: "person",
    summary: "Revoke an agent's key permanently; the agent stays",
    responses: { 200: apiKeyAnswer },
    call: ({ params }) => [revokeAgentKey(params.id, params.key_id)],
    respond: ([[key]]) => {
      if (!key?.data) throw notFound("key");
      return dataResponse(200, key.data);
    },
  }),
  endpoint({
    method: "get",
    path: "/admin/agents/:id/audit",
    tag,
    access: "person",
    summary: "List the calls of an agent, newest first",
    query: agentAuditQuery,
    responses: { 200: agentAuditAnswer },
    call: ({ params, query }) => [agentAudit(params.id, query)],
    respond: ([[calls]], { query }) => {
      const list = JSON.parse(shown(calls)) as { id: number }[];
      const next_before = list.length === query.limit ? (list.at(-1)?.id ?? null) : null;
      return dataResponse(200, JSON.stringify(list), { next_before });
    },
  }),
];

function shown(row: { data: string } | undefined): string {
  if (!row) throw notFound("agent");
  return row.data;
}
