import { createHash } from "node:crypto";
import { compactVerify, decodeJwt, decodeProtectedHeader, errors, type JWTPayload } from "jose";
import { newApiKey, sessionPrefix, signingPrefix } from "../../../shared/api-keys.ts";
import type { ErrorCode } from "../../../shared/errors.ts";
import {
  type IdentifyClaims,
  type IdentifyRefusal,
  identifyClaims,
  identifyRefusals,
  type TokenCheck,
} from "../../../shared/identify.ts";
import { type ErrorDetail, validationDetails } from "../../../shared/validation.ts";
import { runStatement, withLockRetry } from "../database/run.ts";
import { ApiError, toApiError } from "../http/api-error.ts";
import { environment } from "../runtime/environment.ts";
import { openSession, type Signer, signerNamed, type VerifiedToken } from "../statements/identify.ts";
import { decryptSecret, encryptSecret } from "./stored-secrets.ts";

/** Tolerated clock skew between the organization's backend and this service. */
const skewSeconds = 60;
const maxLifetimeSeconds = 3600;
/** Lifetime of a session. */
export const sessionSeconds = 24 * 3600;

/** A rejected token, with its reason. */
export class RefusedToken extends ApiError {
  constructor(
    readonly reason: IdentifyRefusal,
    message: string,
    details: ErrorDetail[] = [{ field: "token", message }],
    code: ErrorCode = "UNAUTHORIZED",
  ) {
    super(code, message, details, { reason });
  }
}

type VerifyOptions = {
  /** A token in a URL may leak, so it must be usable once only. */
  needsJti?: boolean;
  /** Id of the only organization whose tokens are accepted. */
  organizationId?: string;
  now?: Date;
};

/** Verifies a token for the organization that it names. Throws RefusedToken. */
export async function verifyToken(token: string, options: VerifyOptions = {}): Promise<VerifiedToken> {
  const audience = audienceOf(readToken(token));
  if (audience === undefined || audience.length > 100 || audience.includes("\0")) throw wrongAudience();
  const [row] = await withLockRetry(() => runStatement(signerNamed(audience)));
  const found = row?.data ?? undefined;
  const signer =
    found && (options.organizationId ?? found.organization_id) === found.organization_id ? found : undefined;
  if (signer?.is_public) return verifyBy(signer, token, options);
  // A caller without a valid signature must not learn that a private board exists, not even from the response time.
  return verifyBy(withDecoys(signer, audience), token, options).catch(() => Promise.reject(wrongAudience()));
}

const maxSecrets = 2;
let decoys: Signer["secrets"] | undefined;

/**
 * A private organization, or one that does not exist, padded with decoys to the maximum number of secrets.
 * @public for a test
 */
export function withDecoys(signer: Signer | undefined, audience: string): Signer {
  decoys ??= Array.from({ length: environment.webhookSecretsKeys ? maxSecrets : 0 }, () => {
    const id = crypto.randomUUID();
    return { id, encrypted: encryptSecret(newApiKey(signingPrefix).secret, id), last_four: "" };
  });
  return {
    ...(signer ?? { organization_id: "", slugs: [audience.toLowerCase()], is_public: false }),
    secrets: [...(signer?.secrets ?? []), ...decoys].slice(0, maxSecrets),
  };
}

/** Verifies a token with the secrets of an organization. Throws RefusedToken. */
async function verifyBy(
  signer: Signer,
  token: string,
  { needsJti = false, now = new Date() }: VerifyOptions = {},
): Promise<VerifiedToken> {
  const unverified = readToken(token);
  if (decodeProtectedHeader(token).alg !== "HS256")
    throw new RefusedToken("algorithm", 'The token must be signed with HS256 (the header\'s "alg").');
  const audience = audienceOf(unverified)?.toLowerCase() ?? "";
  if (audience !== signer.organization_id && !signer.slugs.includes(audience)) throw wrongAudience();
  if (signer.secrets.length === 0)
    throw new RefusedToken("no_secret", "The organization has no signing secret. An admin must create one.");
  const { payload, secretId } = await verifySignature(signer, token);
  const expiresAt = checkTimes(payload, now);
  const claims = checkClaims(payload);
  if (needsJti && !claims.jti)
    throw new RefusedToken("jti_missing", "A token in a link needs a jti of its own, because it works only once.");
  return {
    organizationId: signer.organization_id,
    secretId,
    claims,
    tokenDigest: claims.jti ? createHash("sha256").update(claims.jti).digest() : null,
    // A minute longer than the token is accepted.
    tokenEndsAt: new Date((expiresAt + 2 * skewSeconds) * 1000),
  };
}

/** Decodes the claims without verification. */
function readToken(token: string): JWTPayload {
  try {
    // Reject extensions of the format, such as an unencoded payload.
    if (decodeProtectedHeader(token).crit === undefined) return decodeJwt(token);
  } catch {
    // Reported below.
  }
  throw malformed();
}

const malformed = () =>
  new RefusedToken("malformed", "The token is not a JSON Web Token (three parts in base64url, joined by dots).");

const audienceOf = ({ aud }: JWTPayload) => {
  const [only, ...others] = Array.isArray(aud) ? aud : [aud];
  return others.length === 0 && typeof only === "string" ? only : undefined;
};

const wrongAudience = () =>
  new RefusedToken("audience", "The token's aud must be the id or the slug of the organization, and only that.");

async function verifySignature(signer: Signer, token: string) {
  for (const { id, encrypted } of signer.secrets) {
    const key = new TextEncoder().encode(decryptSecret(encrypted, id));
    try {
      const { payload } = await compactVerify(token, key, { algorithms: ["HS256"] });
      return { payload: JSON.parse(new TextDecoder().decode(payload)) as JWTPayload, secretId: id };
    } catch (error) {
      if (!(error instanceof errors.JWSSignatureVerificationFailed)) throw malformed();
    }
  }
  throw new RefusedToken(
    "signature",
    "The signature is wrong. Sign with a current signing secret of the organization, using all of it as it was shown.",
  );
}

/** Returns the expiry of the token in Unix seconds. */
function checkTimes({ iat, exp, nbf }: JWTPayload, now: Date): number {
  const seconds = now.getTime() / 1000;
  const wrong = Object.entries({ iat, exp, ...(nbf !== undefined && nbf !== null && { nbf }) })
    .filter(([, value]) => typeof value !== "number" || !Number.isFinite(value))
    .map(([name, value]) => ({
      field: `token.${name}`,
      message: value === undefined ? "is required" : "must be a number (a time in Unix seconds)",
    }));
  if (wrong.length > 0) throw wrongClaims(wrong);
  const [issuedAt, expiresAt] = [Number(iat), Number(exp)];
  if (issuedAt > seconds + skewSeconds)
    throw new RefusedToken("issued_in_future", "The token's iat is in the future. Set the clock of the host.");
  if (Number(nbf ?? 0) > seconds + skewSeconds)
    throw new RefusedToken("not_yet_valid", "The token's nbf is in the future.");
  if (expiresAt + skewSeconds <= seconds)
    throw new RefusedToken("expired", "The token has expired (exp). Sign a new one for each sign-in.");
  if (expiresAt - issuedAt > maxLifetimeSeconds)
    throw new RefusedToken("lifetime", "The token's exp must be at most one hour after its iat.");
  return expiresAt;
}

function checkClaims(payload: JWTPayload): IdentifyClaims {
  const result = identifyClaims.safeParse(payload);
  if (result.success) return result.data;
  throw wrongClaims(
    validationDetails({ issues: result.error.issues }).map(({ field, message }) => ({
      field: `token.${field}`,
      message,
    })),
  );
}

const wrongClaims = (details: ErrorDetail[]) =>
  new RefusedToken("claims", "Claims of the token are missing or not valid. See details.", details);

/** Exchanges a token for a session. `data` is JSON: expires_at and profile. Throws RefusedToken. */
export async function identify(token: string, options: VerifyOptions = {}): Promise<{ secret: string; data: string }> {
  return startSession(await verifyToken(token, options));
}

/** Opens a session for the person of a verified token, which is then used. Throws RefusedToken. */
export async function startSession(verified: VerifiedToken): Promise<{ secret: string; data: string }> {
  const session = newApiKey(sessionPrefix);
  const [row] = await withLockRetry(() => runStatement(openSession(verified, session, sessionSeconds))).catch(refused);
  return { secret: session.secret, data: row?.data ?? "{}" };
}

/** Converts the database's rejection of a token to RefusedToken. */
function refused(error: unknown): never {
  const known = toApiError(error);
  const reason = identifyRefusals.find((name) => name === known?.extra.reason);
  if (!known || !reason) throw error;
  throw new RefusedToken(reason, known.message, known.details, known.code);
}

/** The result of checking a token, for an admin of its organization. */
export async function checkToken(signer: Signer, token: string): Promise<TokenCheck> {
  const found: TokenCheck = { valid: false, reason: null, message: null, details: [], claims: null, signed_with: null };
  try {
    found.claims = readToken(token);
    const { secretId } = await verifyBy(signer, token);
    found.signed_with = signer.secrets.find(({ id }) => id === secretId)?.last_four ?? null;
    if (!signer.is_public) throw new RefusedToken("private_board", "This board is private. Only its team can sign in.");
    return { ...found, valid: true };
  } catch (error) {
    if (!(error instanceof RefusedToken)) throw error;
    const { reason, message, details } = error;
    return { ...found, reason, message, details: reason === "claims" ? details : [] };
  }
}
