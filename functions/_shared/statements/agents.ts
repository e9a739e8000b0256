import type { apiKeyListAnswer } from "../../../shared/admin.ts";
import type {
  AgentAuditQuery,
  AgentCreate,
  AgentKeyCreate,
  AgentPatch,
  AgentPolicies,
  agentAnswer,
  agentAuditAnswer,
  agentListAnswer,
  agentPoliciesAnswer,
} from "../../../shared/agents.ts";
import type { NewApiKey } from "../../../shared/api-keys.ts";
import type { ApiKey } from "./admin.ts";
import { call, type DataOf } from "./shapes.ts";

export type Agent = DataOf<typeof agentAnswer>;

export const listAgents = () => call<DataOf<typeof agentListAnswer>>("admin_list_agents");

export const createAgent = ({ name, tier, description }: AgentCreate) =>
  call<Agent>("admin_create_agent", name, tier, description || null);

export const updateAgent = (id: string, { name, tier, description }: AgentPatch) =>
  call<Agent>("admin_update_agent", id, name, tier, description === null ? "" : description);

export const retireAgent = (id: string) => call<Agent>("admin_retire_agent", id);

/** Replaces the policies if given. */
export const agentPolicies = (id: string, policies: AgentPolicies | null) =>
  call<DataOf<typeof agentPoliciesAnswer>>("admin_agent_policies", id, policies);

export const listAgentKeys = (id: string) => call<DataOf<typeof apiKeyListAnswer>>("admin_list_agent_keys", id);

export const createAgentKey = (
  id: string,
  { name, scopes, expires_at }: AgentKeyCreate,
  { digest, prefix, lastFour }: NewApiKey,
) => call<ApiKey>("admin_create_agent_key", id, name, scopes, digest, prefix, lastFour, expires_at);

export const agentAudit = (id: string, { before, tool, outcome, limit }: AgentAuditQuery) =>
  call<DataOf<typeof agentAuditAnswer>>("admin_agent_audit", id, before, tool, outcome, limit);
