import type { ApiKeyCreate, ApiKeyRotate } from "../../../shared/admin.ts";
import type { NewApiKey } from "../../../shared/api-keys.ts";
import type { Statement } from "../database/run.ts";

type MaybeData = { data: string | null };

export function listApiKeys(): Statement<MaybeData> {
  return (sql) => sql`select private.admin_list_api_keys()::text as data`;
}

export function createApiKey(
  { name, scopes, expires_at = null }: ApiKeyCreate,
  { digest, prefix, lastFour }: NewApiKey,
): Statement<MaybeData> {
  return (sql) =>
    sql`select private.admin_create_api_key(${name}, ${scopes}, ${digest}, ${prefix}, ${lastFour}, ${expires_at})::text as data`;
}

export function rotateApiKey(
  id: string,
  { overlap_seconds }: ApiKeyRotate,
  { digest, prefix, lastFour }: NewApiKey,
): Statement<MaybeData> {
  return (sql) => sql`
    select private.admin_rotate_api_key(${id}, ${digest}, ${prefix}, ${lastFour}, make_interval(secs => ${overlap_seconds}))::text as data`;
}

export function revokeApiKey(id: string): Statement<MaybeData> {
  return (sql) => sql`select private.admin_revoke_api_key(${id})::text as data`;
}

/** Replaces the origins if given. */
export function allowedOrigins(origins: string[] | null): Statement<MaybeData> {
  return (sql) => sql`select private.admin_origins(${origins}::text[])::text as data`;
}

/** The rate limit rules, and the plan and usage of the request's organization. */
export function limitsInForce(): Statement<{ rates: string; plan: string }> {
  return (sql) => sql`select private.rate_limits()::text as rates,
    (private.admin_organization(private.current_organization_id()) -> 'plan')::text as plan`;
}
