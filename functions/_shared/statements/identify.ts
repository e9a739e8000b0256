import type { NewApiKey } from "../../../shared/api-keys.ts";
import type {
  IdentifyClaims,
  identifyAnswer,
  identifySecretListAnswer,
  newIdentifySecretAnswer,
} from "../../../shared/identify.ts";
import type { Statement } from "../database/pipeline.ts";
import { siteAddress } from "./requests.ts";
import { call, type Data, type DataOf, read } from "./shapes.ts";

/** An organization and its signing secrets, encrypted. */
export type Signer = {
  organization_id: string;
  /** Former ones too. */
  slugs: string[];
  is_public: boolean;
  secrets: { id: string; encrypted: string; last_four: string }[];
};

/** The organization with this id or slug; for the login role. */
export const signerNamed = (organization: string) => read<Signer | null>("signing_secrets", organization);

/** The organization of the request, for its admins. */
export const ownSigner = () => read<Signer | null>("admin_signing_secrets");

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
  { organizationId, secretId, claims: { sub, email, name, avatar_url }, tokenDigest, tokenEndsAt }: VerifiedToken,
  { digest }: NewApiKey,
  lifetimeSeconds: number,
): Statement<Data<Omit<DataOf<typeof identifyAnswer>, "access_token"> | null>> {
  return (sql) => sql`
    select private.open_session(${organizationId}, ${secretId}, ${sub}, ${email}, ${name ?? null}, ${avatar_url ?? null},
      ${tokenDigest}, ${tokenEndsAt.toISOString()}, ${digest}, ${`${lifetimeSeconds} seconds`})::text as data
    from ${siteAddress(sql)}`;
}

export const endSession = (digest: Uint8Array) => read<boolean>("end_session", digest);

export const listIdentifySecrets = () => call<DataOf<typeof identifySecretListAnswer>>("admin_list_identify_secrets");

export const createIdentifySecret = (id: string, encrypted: string, lastFour: string) =>
  call<Omit<DataOf<typeof newIdentifySecretAnswer>, "secret">>("admin_create_identify_secret", id, encrypted, lastFour);

export const deleteIdentifySecret = (id: string) => read<boolean>("admin_delete_identify_secret", id);
