import { timingSafeEqual } from "node:crypto";
import { errors, jwtVerify } from "jose";

const roles = ["anon", "authenticated", "service_role"] as const;
export type Role = (typeof roles)[number];

/** Identity of a channel. Channels with equal role and claims see the same. */
export interface Identity {
  key: string;
  role: Role;
  /** Value of request.jwt.claims in Postgres. */
  claims: string;
  /** Seconds since 1970; null for an API key, which does not expire. */
  expiresAt: number | null;
}

export interface Keys {
  publishableKey: string;
  secretKey: string;
  jwtSecret: string;
  /** Issuer of access tokens. */
  issuer: string;
}

/** The message is sent to the client. */
export class TokenError extends Error {}

export function identityOfKey(keys: Keys, apiKey: string): Identity | null {
  if (same(apiKey, keys.publishableKey)) return identity("anon", JSON.stringify({ role: "anon" }), null);
  if (same(apiKey, keys.secretKey))
    return identity("service_role", JSON.stringify({ role: "service_role" }), null);
  return null;
}

export async function identityOfToken(keys: Keys, token: string): Promise<Identity> {
  const { payload } = await verify(keys, token);
  const { role, exp } = payload;
  if (typeof role !== "string" || typeof exp !== "number")
    throw new TokenError("Fields `role` and `exp` are required in JWT");
  const known = roles.find((name) => name === role);
  if (known === undefined) throw new TokenError("The role of the token is not supported");
  return identity(known, JSON.stringify(payload), exp);
}

/** The user id of a valid token, or null. */
export async function personOf(keys: Keys, token: string): Promise<string | null> {
  const payload = await verify(keys, token).then(
    (verified) => verified.payload,
    () => null,
  );
  return payload?.sub ?? null;
}

async function verify(keys: Keys, token: string) {
  try {
    return await jwtVerify(token, new TextEncoder().encode(keys.jwtSecret), {
      algorithms: ["HS256"],
      issuer: keys.issuer,
      audience: "authenticated",
    });
  } catch (error) {
    if (error instanceof errors.JWTExpired) {
      const seconds = Math.floor(Date.now() / 1000) - Number(error.payload.exp ?? 0);
      throw new TokenError(`Token has expired ${seconds} seconds ago`);
    }
    if (error instanceof errors.JWSSignatureVerificationFailed || error instanceof errors.JOSEAlgNotAllowed)
      throw new TokenError("Failed to validate JWT signature");
    if (error instanceof errors.JWTClaimValidationFailed && /^(?:iss|aud)$/.test(error.claim))
      throw new TokenError(`The ${error.claim} of the token is not valid for this service`);
    throw new TokenError("The token provided is not a valid JWT");
  }
}

const identity = (role: Role, claims: string, expiresAt: number | null): Identity => ({
  key: `${role} ${claims}`,
  role,
  claims,
  expiresAt,
});

function same(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}
