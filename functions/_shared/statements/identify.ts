import type { NewApiKey } from "../../../shared/api-keys.ts";
import type { IdentifyClaims } from "../../../shared/identify.ts";
import type { Statement } from "../database/run.ts";

type MaybeData = { data: string | null };

/** An organization and its signing secrets, encrypted. */
export type Signer = {
  organization_id: string;
  slug: string;
  is_public: boolean;
  secrets: { id: string; encrypted: string; last_four: string }[];
};

/** The organization with this id or slug; for the login role. */
export function signerNamed(organization: string): Statement<{ data: Signer | null }> {
  return (sql) => sql`select private.signing_secrets(${organization}) as data`;
}

/** The organization of the request, for its admins. */
export function ownSigner(): Statement<{ data: Signer | null }> {
  return (sql) => sql`select private.admin_signing_secrets() as data`;
}

/** A verified token. */
export type VerifiedToken = {
  organizationId: string;
  secretId: string;
  claims: IdentifyClaims;
  tokenDigest: Uint8Array | null;
  /** The time from which the token counts as expired. */
  tokenEndsAt: Date;
};

/** Opens a session for the person of a verified token; for the login role. */
export function openSession(
  { organizationId, secretId, claims, tokenDigest, tokenEndsAt }: VerifiedToken,
  { digest }: NewApiKey,
  lifetimeSeconds: number,
): Statement<MaybeData> {
  const { sub, email, name = null, avatar_url = null } = claims;
  return (sql) => sql`
    select private.open_session(${organizationId}::uuid, ${secretId}::uuid, ${sub}, ${email}, ${name}, ${avatar_url},
      ${tokenDigest}::bytea, ${tokenEndsAt.toISOString()}::text::timestamptz, ${digest}::bytea,
      make_interval(secs => ${lifetimeSeconds}))::text as data`;
}

export function endSession(digest: Uint8Array): Statement<{ ended: boolean }> {
  return (sql) => sql`select private.end_session(${digest}) as ended`;
}

export function listIdentifySecrets(): Statement<MaybeData> {
  return (sql) => sql`select private.admin_list_identify_secrets()::text as data`;
}

export function createIdentifySecret(id: string, encrypted: string, lastFour: string): Statement<MaybeData> {
  return (sql) =>
    sql`select private.admin_create_identify_secret(${id}, ${encrypted}, ${lastFour})::text as data`;
}

export function deleteIdentifySecret(id: string): Statement<{ deleted: boolean }> {
  return (sql) => sql`select private.admin_delete_identify_secret(${id}) as deleted`;
}
