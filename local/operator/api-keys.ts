import { agentKeyPrefix, newApiKey, orgKeyPrefix } from "../../shared/api-keys.ts";
import type { Runner } from "../postgres/database.ts";

/** Creates an organization key and returns its secret, which is stored nowhere. */
export async function createApiKey(
  sql: Runner,
  organizationId: string,
  name: string,
  scopes: readonly string[],
  expiresAt: Date | null = null,
): Promise<string> {
  const { secret, prefix, lastFour, digest } = await newApiKey(orgKeyPrefix);
  await sql`select private.create_api_key(${organizationId}, ${name}, ${scopes}, ${digest}, ${prefix}, ${lastFour}, ${expiresAt})`;
  return secret;
}

/** Creates an agent with a key and returns the key's secret. */
export async function createAgentKey(
  sql: Runner,
  organizationId: string,
  name: string,
  tier: string,
  scopes: readonly string[],
  expiresAt: Date | null = null,
): Promise<string> {
  const { secret, prefix, lastFour, digest } = newApiKey(agentKeyPrefix);
  await sql`select private.create_agent_key(private.create_agent(${organizationId}, ${name}, ${tier}),
    ${name}, ${scopes}, ${digest}, ${prefix}, ${lastFour}, ${expiresAt})`;
  return secret;
}
