import { createHmac } from "node:crypto";
import {
  createLocalJWKSet,
  createRemoteJWKSet,
  type JSONWebKeySet,
  type JWTPayload,
  type JWTVerifyGetKey,
  jwtVerify,
} from "jose";
import { digestOf, isAgentKey, isApiKey } from "../../shared/api-keys.ts";
import { isUuid } from "../../shared/fields.ts";
import { environment } from "./environment.ts";

/** What a request shows of its caller, before the database says who that is. */
export type Credential =
  | { kind: "none" }
  | { kind: "user"; userId: string }
  | { kind: "key"; digest: Uint8Array }
  | { kind: "refused" };

const none: Credential = { kind: "none" };
const refused: Credential = { kind: "refused" };

/** A credential that is there and wrong is refused, never taken for nobody. The header goes before the cookie. */
export function credentialOf(
  authorization: string | undefined,
  sessionToken: string | undefined,
): Credential | Promise<Credential> {
  if (!authorization) return sessionToken === undefined ? none : ofAccessToken(sessionToken);
  const token = bearerToken(authorization);
  if (!token) return refused;
  // supabase-js sends the publishable key as a bearer when no one is signed in.
  if (environment.publicKeys.has(token)) return none;
  if (isJwt(token)) return ofAccessToken(token);
  return isApiKey(token) && !isAgentKey(token) ? { kind: "key", digest: digestOf(token) } : refused;
}

/** What a request under /api/mcp shows: the key of an agent, and nothing else but a Bearer header. */
export function agentCredentialOf(authorization: string | undefined): Credential {
  if (!authorization) return none;
  const token = bearerToken(authorization);
  return token && isAgentKey(token) ? { kind: "key", digest: digestOf(token) } : refused;
}

export function bearerToken(authorization: string): string | undefined {
  return /^Bearer ([\x21-\x7e]{1,8000})$/i.exec(authorization)?.[1];
}

export function isJwt(token: string): boolean {
  return token.split(".").length === 3;
}

// Checking a signature costs more than most requests; a token is checked once and remembered until it expires.
const checked = new Map<string, { userId: string; expiresAt: number }>();

async function ofAccessToken(token: string): Promise<Credential> {
  const known = checked.get(token);
  if (known && known.expiresAt > Date.now()) return { kind: "user", userId: known.userId };
  const { sub: userId = "", role, exp } = (await verify(token)) ?? {};
  if (role !== "authenticated" || !isUuid(userId) || !exp) return refused;
  if (checked.size >= 10_000) checked.clear();
  checked.set(token, { userId, expiresAt: exp * 1000 });
  return { kind: "user", userId };
}

const keySets: JWTVerifyGetKey[] = [];
if (environment.jwks) keySets.push(createLocalJWKSet(keySetOf(environment.jwks)));
// Asked for keys that the environment does not know: those of a rotation.
keySets.push(createRemoteJWKSet(new URL("/auth/v1/.well-known/jwks.json", environment.supabaseUrl)));
const secret = environment.jwtSecret ? new TextEncoder().encode(environment.jwtSecret) : undefined;

// A token that the same secret or key signed for another purpose or project is none of ours.
const claims = { audience: "authenticated", issuer: environment.jwtIssuers };

/** Supabase gives the keys alone, or in an object as the standard has it. */
function keySetOf(text: string): JSONWebKeySet {
  const keys = JSON.parse(text);
  return Array.isArray(keys) ? { keys } : keys;
}

async function verify(token: string): Promise<JWTPayload | undefined> {
  try {
    if (secret) return (await jwtVerify(token, secret, { ...claims, algorithms: ["HS256"] })).payload;
  } catch {
    // A project that rotates from a shared secret to signing keys has tokens of both kinds.
  }
  for (const keys of keySets) {
    try {
      return (await jwtVerify(token, keys, { ...claims, algorithms: ["ES256", "RS256", "EdDSA"] })).payload;
    } catch {
      // Not of this set: the next one may know the key.
    }
  }
}

const hashKey = environment.addressHashKey ?? crypto.randomUUID();

/** A keyed hash, so that neither an address nor an e-mail is kept as it is. */
export function keyedHash(value: string): string {
  return createHmac("sha256", hashKey).update(value).digest("hex").slice(0, 32);
}
