import { createHmac } from "node:crypto";
import {
  createLocalJWKSet,
  createRemoteJWKSet,
  type JSONWebKeySet,
  type JWTPayload,
  type JWTVerifyGetKey,
  jwtVerify,
} from "jose";
import { digestOf, isAgentKey, isApiKey, isSession } from "../../shared/api-keys.ts";
import { isUuid } from "../../shared/fields.ts";
import { environment } from "./environment.ts";

/** The credential of a request before the database resolves it. */
export type Credential =
  | { kind: "none" }
  | { kind: "user"; userId: string; aal: string }
  | { kind: "key"; digest: Uint8Array }
  /** Session of an identified person. */
  | { kind: "session"; digest: Uint8Array }
  | { kind: "invalid" };

const none: Credential = { kind: "none" };
const invalidCredential: Credential = { kind: "invalid" };

/**
 * An invalid credential is rejected and never treated as anonymous. The header takes precedence over the cookies, and
 * the session of an account over that of an identified person.
 */
export function credentialOf(
  authorization: string | undefined,
  sessionToken: string | undefined,
  identifiedToken?: string,
): Credential | Promise<Credential> {
  if (!authorization) {
    if (sessionToken !== undefined) return ofAccessToken(sessionToken);
    return identifiedToken === undefined ? none : ofSession(identifiedToken);
  }
  const token = bearerToken(authorization);
  if (!token) return invalidCredential;
  // supabase-js sends the publishable key as Bearer token for an anonymous user.
  if (environment.publicKeys.has(token)) return none;
  if (isJwt(token)) return ofAccessToken(token);
  if (isSession(token)) return ofSession(token);
  return isApiKey(token) && !isAgentKey(token) ? { kind: "key", digest: digestOf(token) } : invalidCredential;
}

const ofSession = (token: string): Credential =>
  isSession(token) ? { kind: "session", digest: digestOf(token) } : invalidCredential;

/** Credential of a request under /api/mcp: an agent key as Bearer, nothing else. */
export function agentCredentialOf(authorization: string | undefined): Credential {
  if (!authorization) return none;
  const token = bearerToken(authorization);
  return token && isAgentKey(token) ? { kind: "key", digest: digestOf(token) } : invalidCredential;
}

export function bearerToken(authorization: string): string | undefined {
  return /^Bearer ([\x21-\x7e]{1,8000})$/i.exec(authorization)?.[1];
}

export function isJwt(token: string): boolean {
  return token.split(".").length === 3;
}

// Verifying a signature costs more than most requests, so valid tokens are cached until they expire.
const checked = new Map<string, { userId: string; aal: string; expiresAt: number }>();

async function ofAccessToken(token: string): Promise<Credential> {
  const known = checked.get(token);
  if (known && known.expiresAt > Date.now()) return { kind: "user", userId: known.userId, aal: known.aal };
  const { sub: userId = "", role, exp, aal: level } = (await verify(token)) ?? {};
  if (role !== "authenticated" || !isUuid(userId) || !exp) return invalidCredential;
  const aal = level === "aal2" ? "aal2" : "aal1";
  if (checked.size >= 10_000) checked.clear();
  checked.set(token, { userId, aal, expiresAt: exp * 1000 });
  return { kind: "user", userId, aal };
}

const keySets: JWTVerifyGetKey[] = [];
if (environment.jwks) keySets.push(createLocalJWKSet(keySetOf(environment.jwks)));
// Fetched for keys that the environment does not list, such as rotated ones.
keySets.push(createRemoteJWKSet(new URL("/auth/v1/.well-known/jwks.json", environment.supabaseUrl)));
const secret = environment.jwtSecret ? new TextEncoder().encode(environment.jwtSecret) : undefined;

// Audience and issuer: tokens signed with the same key for another purpose or project are not valid.
const claims = { audience: "authenticated", issuer: environment.jwtIssuers };

/** Supabase provides either an array of keys or a standard JWKS object. */
function keySetOf(text: string): JSONWebKeySet {
  const keys = JSON.parse(text);
  return Array.isArray(keys) ? { keys } : keys;
}

async function verify(token: string): Promise<JWTPayload | undefined> {
  try {
    if (secret) return (await jwtVerify(token, secret, { ...claims, algorithms: ["HS256"] })).payload;
  } catch {
    // During a migration from a shared secret to signing keys, tokens of both kinds exist.
  }
  for (const keys of keySets) {
    try {
      return (await jwtVerify(token, keys, { ...claims, algorithms: ["ES256", "RS256", "EdDSA"] })).payload;
    } catch {
      // Not signed by this key set; try the next.
    }
  }
}

const hashKey = environment.addressHashKey ?? crypto.randomUUID();

/** Keyed hash, so that IP and e-mail addresses are not stored in plain text. */
export function keyedHash(value: string): string {
  return createHmac("sha256", hashKey).update(value).digest("hex").slice(0, 32);
}
