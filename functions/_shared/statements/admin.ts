import type {
  ApiKeyCreate,
  ApiKeyRotate,
  apiKeyAnswer,
  apiKeyListAnswer,
  originsAnswer,
} from "../../../shared/admin.ts";
import type { NewApiKey } from "../../../shared/api-keys.ts";
import type { Statement } from "../database/run.ts";
import type { Organization } from "./organizations.ts";
import { call, type Data, type DataOf } from "./shapes.ts";

export type ApiKey = DataOf<typeof apiKeyAnswer>;

export const listApiKeys = () => call<DataOf<typeof apiKeyListAnswer>>("admin_list_api_keys");

export const createApiKey = ({ name, scopes, expires_at }: ApiKeyCreate, { digest, prefix, lastFour }: NewApiKey) =>
  call<ApiKey>("admin_create_api_key", name, scopes, digest, prefix, lastFour, expires_at);

/** Of an agent, if its id is given. */
export const rotateApiKey = (
  id: string,
  { overlap_seconds }: ApiKeyRotate,
  { digest, prefix, lastFour }: NewApiKey,
  agentId: string | null = null,
) => call<ApiKey>("admin_rotate_api_key", id, digest, prefix, lastFour, `${overlap_seconds} seconds`, agentId);

/** Of an agent, if its id is given. */
export const revokeApiKey = (id: string, agentId: string | null = null) =>
  call<ApiKey | null>("admin_revoke_api_key", id, agentId);

/** Replaces the origins if given. */
export const allowedOrigins = (origins: string[] | null) =>
  call<DataOf<typeof originsAnswer>>("admin_origins", origins);

export type RateLimitRule = { name: string; max_requests: number; window_seconds: number };

/** The rate limit rules, and the plan and usage of the request's organization. */
export function limitsInForce(): Statement<Data<{ rates: RateLimitRule[]; plan: Organization["plan"] }>> {
  return (sql) => sql`select json_build_object('rates', private.rate_limits(),
    'plan', private.admin_organization(private.current_organization_id()) -> 'plan')::text as data`;
}
