import { apiKeyAnswer, apiKeyListAnswer, apiKeyRotate, newApiKeyAnswer } from "../../../shared/admin.ts";
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
} from "../../../shared/agents.ts";
import { agentKeyPrefix, newApiKey } from "../../../shared/api-keys.ts";
import { notFound } from "../../_shared/api-error.ts";
import { answer, endpoint } from "../../_shared/endpoint.ts";
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
} from "../../_shared/statements/agents.ts";
import { withSecret } from "./admin.ts";

const tag = "Agents";

export const agents = [
  endpoint({
    method: "get",
    path: "/admin/agents",
    tag,
    access: "person",
    summary: "List the organization's agents, as an admin",
    answers: { 200: agentListAnswer },
    call: () => [listAgents()],
    respond: ([[list]]) => answer(200, list?.data ?? "[]"),
  }),
  endpoint({
    method: "post",
    path: "/admin/agents",
    tag,
    access: "person",
    summary: "Make an agent; it calls once it has a key",
    body: agentCreate,
    answers: { 201: agentAnswer },
    call: ({ body }) => [createAgent(body)],
    respond: ([[made]]) => answer(201, shown(made)),
  }),
  endpoint({
    method: "patch",
    path: "/admin/agents/:id",
    tag,
    access: "person",
    summary: "Change an agent's name, tier or description",
    body: agentPatch,
    answers: { 200: agentAnswer },
    call: ({ params, body }) => [updateAgent(params.id, body)],
    respond: ([[changed]]) => answer(200, shown(changed)),
  }),
  endpoint({
    method: "delete",
    path: "/admin/agents/:id",
    tag,
    access: "person",
    summary: "Retire an agent with its keys, for good; what it wrote stays",
    answers: { 200: agentAnswer },
    call: ({ params }) => [retireAgent(params.id)],
    respond: ([[retired]]) => answer(200, shown(retired)),
  }),
  endpoint({
    method: "get",
    path: "/admin/agents/:id/policies",
    tag,
    access: "person",
    summary: "Show what narrows an agent",
    answers: { 200: agentPoliciesAnswer },
    call: ({ params }) => [agentPolicies(params.id, null)],
    respond: ([[policies]]) => answer(200, shown(policies)),
  }),
  endpoint({
    method: "put",
    path: "/admin/agents/:id/policies",
    tag,
    access: "person",
    summary: "Set what narrows an agent",
    body: agentPoliciesUpdate,
    answers: { 200: agentPoliciesAnswer },
    call: ({ params, body }) => [agentPolicies(params.id, body)],
    respond: ([[policies]]) => answer(200, shown(policies)),
  }),
  endpoint({
    method: "get",
    path: "/admin/agents/:id/keys",
    tag,
    access: "person",
    summary: "List an agent's keys",
    answers: { 200: apiKeyListAnswer },
    call: ({ params }) => [listAgentKeys(params.id)],
    respond: ([[keys]]) => answer(200, shown(keys)),
  }),
  endpoint({
    method: "post",
    path: "/admin/agents/:id/keys",
    tag,
    access: "person",
    summary: "Make a key for an agent; its secret is shown this once",
    body: agentKeyCreate,
    answers: { 201: newApiKeyAnswer },
    prepare: () => newApiKey(agentKeyPrefix),
    call: ({ params, body, prepared }) => [createAgentKey(params.id, body, prepared)],
    respond: ([[key]], { prepared }) => answer(201, withSecret(key?.data, prepared.secret)),
  }),
  endpoint({
    method: "post",
    path: "/admin/agents/:id/keys/:key_id/rotate",
    tag,
    access: "person",
    summary: "Give an agent's key a new secret; the old one stays valid for a while",
    body: apiKeyRotate,
    answers: { 201: newApiKeyAnswer },
    prepare: () => newApiKey(agentKeyPrefix),
    call: ({ params, body, prepared }) => [rotateAgentKey(params.id, params.key_id, body, prepared)],
    respond: ([[key]], { prepared }) => answer(201, withSecret(key?.data, prepared.secret)),
  }),
  endpoint({
    method: "delete",
    path: "/admin/agents/:id/keys/:key_id",
    tag,
    access: "person",
    summary: "Revoke an agent's key, at once and for good; the agent stays",
    answers: { 200: apiKeyAnswer },
    call: ({ params }) => [revokeAgentKey(params.id, params.key_id)],
    respond: ([[key]]) => {
      if (!key?.data) throw notFound("key");
      return answer(200, key.data);
    },
  }),
  endpoint({
    method: "get",
    path: "/admin/agents/:id/audit",
    tag,
    access: "person",
    summary: "List what an agent called, newest first",
    query: agentAuditQuery,
    answers: { 200: agentAuditAnswer },
    call: ({ params, query }) => [agentAudit(params.id, query)],
    respond: ([[calls]], { query }) => {
      const list = JSON.parse(shown(calls)) as { id: number }[];
      const next_before = list.length === query.limit ? (list.at(-1)?.id ?? null) : null;
      return answer(200, JSON.stringify(list), { next_before });
    },
  }),
];

function shown(row: { data: string } | undefined): string {
  if (!row) throw notFound("agent");
  return row.data;
}
