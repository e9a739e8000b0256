import type { ApiKeyRotate } from "../../../shared/admin.ts";
import type {
  AgentAuditQuery,
  AgentCreate,
  AgentKeyCreate,
  AgentPatch,
  AgentPolicies,
} from "../../../shared/agents.ts";
import type { NewApiKey } from "../../../shared/api-keys.ts";
import type { Statement } from "../database/run.ts";
import type { Data } from "./shapes.ts";

type MaybeData = { data: string | null };

export function listAgents(): Statement<Data> {
  return (sql) => sql`select private.admin_list_agents()::text as data`;
}

export function createAgent({ name, tier, description }: AgentCreate): Statement<Data> {
  return (sql) =>
    sql`select private.admin_create_agent(${name}, ${tier}, ${description || null})::text as data`;
}

export function updateAgent(id: string, { name, tier, description }: AgentPatch): Statement<Data> {
  const text = description === undefined ? null : (description ?? "");
  return (sql) =>
    sql`select private.admin_update_agent(${id}, ${name ?? null}, ${tier ?? null}, ${text})::text as data`;
}

export function retireAgent(id: string): Statement<Data> {
  return (sql) => sql`select private.admin_retire_agent(${id})::text as data`;
}

/** Replaces the policies if given. */
export function agentPolicies(id: string, policies: AgentPolicies | null): Statement<Data> {
  const json = policies && JSON.stringify(policies);
  return (sql) => sql`select private.admin_agent_policies(${id}, ${json}::text::jsonb)::text as data`;
}

export function listAgentKeys(id: string): Statement<Data> {
  return (sql) => sql`select private.admin_list_agent_keys(${id})::text as data`;
}

export function createAgentKey(
  id: string,
  { name = null, scopes, expires_at = null }: AgentKeyCreate,
  { digest, prefix, lastFour }: NewApiKey,
): Statement<MaybeData> {
  return (sql) => sql`
    select private.admin_create_agent_key(${id}, ${name}, ${scopes}, ${digest}, ${prefix}, ${lastFour}, ${expires_at})::text as data`;
}

export function rotateAgentKey(
  id: string,
  keyId: string,
  { overlap_seconds }: ApiKeyRotate,
  { digest, prefix, lastFour }: NewApiKey,
): Statement<MaybeData> {
  return (sql) => sql`
    select private.admin_rotate_api_key(${keyId}, ${digest}, ${prefix}, ${lastFour}, make_interval(secs => ${overlap_seconds}), ${id})::text as data`;
}

export function revokeAgentKey(id: string, keyId: string): Statement<MaybeData> {
  return (sql) => sql`select private.admin_revoke_api_key(${keyId}, ${id})::text as data`;
}

export function agentAudit(id: string, { before, tool, outcome, limit }: AgentAuditQuery): Statement<Data> {
  return (sql) => sql`
    select private.admin_agent_audit(${id}, ${before ?? null}, ${tool ?? null}, ${outcome ?? null}, ${limit})::text as data`;
}
