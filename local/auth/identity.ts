import { timingSafeEqual } from "node:crypto";
import { errors, type JWK, type JWTPayload, jwtVerify, SignJWT } from "jose";

const roles = ["anon", "authenticated", "service_role"] as const;
export type Role = (typeof roles)[number];

/** Who sends a request. Identities with equal role and claims see the same. */
export interface Identity {
  key: string;
  role: Role;
  /** Value of request.jwt.claims in Postgres. */
  claims: string;
  /** User id; null for an API key. */
  person: string | null;
  /** Seconds since 1970; null for an API key, which does not expire. */
  expiresAt: number | null;
}

export interface Keys {
  publishableKey: string;
  secretKey: string;
  jwtSecret: string;
  /** Verifies tokens of a program of Supabase Auth (ES256). */
  publicKey?: JWK | undefined;
  /** Issuer of access tokens. */
  issuer: string;
}

/** The message is sent to the client. */
export class TokenError extends Error {
  constructor(
    message: string,
    /** What is wrong: the token itself or its signature, its claims, or its age. */
    readonly reason: "token" | "claims" | "expired" = "token",
  ) {
    super(message);
  }
}

const audience = "authenticated";

export function identityOfKey(keys: Keys, apiKey: string): Identity | null {
  if (same(apiKey, keys.publishableKey)) return identity("anon", { role: "anon" });
  if (same(apiKey, keys.secretKey)) return identity("service_role", { role: "service_role" });
  return null;
}

/** Of a token with a signature (HS256, or ES256 where there is a key for it), issuer, audience, expiry and role that are right. */
export async function identityOfToken(keys: Keys, token: string): Promise<Identity> {
  const { payload } = await verify(keys, token);
  const { role, exp } = payload;
  if (typeof role !== "string" || typeof exp !== "number")
    throw new TokenError("Fields `role` and `exp` are required in JWT", "claims");
  const known = roles.find((name) => name === role);
  if (known === undefined) throw new TokenError("The role of the token is not supported", "claims");
  return identity(known, payload);
}

/** A token that PostgREST accepts in place of the secret key. */
export function serviceToken({ jwtSecret, issuer }: Keys): Promise<string> {
  return new SignJWT({ role: "service_role" })
    .setProtectedHeader({ alg: "HS256" })
    .setIssuer(issuer)
    .setAudience(audience)
    .setExpirationTime("1m")
    .sign(new TextEncoder().encode(jwtSecret));
}

/** The shared secret as a key. */
export const sharedKey = (jwtSecret: string) =>
  ({ kty: "oct", alg: "HS256", k: Buffer.from(jwtSecret).toString("base64url") }) as const;

/** The keys in the form of PostgREST. */
export const verifyingKeys = ({ jwtSecret, publicKey }: Keys): string =>
  publicKey ? JSON.stringify({ keys: [publicKey, sharedKey(jwtSecret)] }) : jwtSecret;

async function verify(keys: Keys, token: string) {
  try {
    const { jwtSecret, publicKey, issuer } = keys;
    const secret = new TextEncoder().encode(jwtSecret);
    return await jwtVerify(token, ({ alg }) => (alg === "ES256" && publicKey) || secret, {
      algorithms: publicKey ? ["HS256", "ES256"] : ["HS256"],
      issuer,
      audience,
    });
  } catch (error) {
    if (error instanceof errors.JWTExpired) {
      const seconds = Math.floor(Date.now() / 1000) - Number(error.payload.exp ?? 0);
      throw new TokenError(`Token has expired ${seconds} seconds ago`, "expired");
    }
    if (error instanceof errors.JWSSignatureVerificationFailed || error instanceof errors.JOSEAlgNotAllowed)
      throw new TokenError("Failed to validate JWT signature");
    if (error instanceof errors.JWTClaimValidationFailed && /^(?:iss|aud)$/.test(error.claim))
      throw new TokenError(`The ${error.claim} of the token is not valid for this service`, "claims");
    throw new TokenError("The token provided is not a valid JWT");
  }
}

function identity(role: Role, payload: JWTPayload): Identity {
  const claims = JSON.stringify(payload);
  return { key: `${role} ${claims}`, role, claims, person: payload.sub ?? null, expiresAt: payload.exp ?? null };
}

/** Compares a secret in constant time. */
export function same(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}
