import { createHmac } from "node:crypto";
import { digestOf, isAgentKey, isApiKey, isSession } from "../../../shared/api-keys.ts";
import { isUuid } from "../../../shared/fields.ts";
import { environment } from "../runtime/environment.ts";
import { keysVersion, verifyAccessToken } from "./auth-keys.ts";

/** The credential of a request before the database resolves it. */
export type Credential =
  | { kind: "none" }
  /** The claims of a verified access token. sessionId: of auth; aal: aal2 after the second factor. */
  | { kind: "user"; userId: string; sessionId: string | null; aal: "aal2" | null }
  | { kind: "key"; digest: Uint8Array }
  /** Session of an identified person. */
  | { kind: "session"; digest: Uint8Array }
  | { kind: "invalid" };

const none: Credential = { kind: "none" };
const invalidCredential: Credential = { kind: "invalid" };

/**
 * An invalid credential is rejected and never treated as anonymous; null is a cookie that two sites have set. The
 * header takes precedence over the cookies, and the session of an account over that of an identified person. Throws
 * SERVICE_UNAVAILABLE while auth's keys are unknown.
 */
export function credentialOf(
  authorization: string | undefined,
  sessionToken: string | null | undefined,
  identifiedToken?: string | null,
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

const ofSession = (token: string | null): Credential =>
  token && isSession(token) ? { kind: "session", digest: digestOf(token) } : invalidCredential;

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

// Verifying a signature costs more than most requests, so results are kept; not for long, since keys are revoked.
const maxKeptMs = 60_000;
type Verified = { credential: Credential; expiresAt: number; keptUntil: number; version: number };
const verified = new Map<string, Verified>();

async function ofAccessToken(token: string | null): Promise<Credential> {
  if (!token) return invalidCredential;
  const known = verified.get(token);
  const isCurrent = known?.version === keysVersion && known.keptUntil > performance.now();
  if (isCurrent && known.expiresAt > Date.now()) return known.credential;
  const payload = (await verifyAccessToken(token)) ?? {};
  // As signed: a claim may have any type.
  const { sub: userId, role, exp, session_id: sessionId = null, aal = null } = payload as Record<string, unknown>;
  // A client_id: auth issued the token to another application that the person signed in to.
  if (role !== "authenticated" || payload.client_id !== undefined) return invalidCredential;
  if (!isUuid(userId) || !(sessionId === null || isUuid(sessionId)) || typeof exp !== "number")
    return invalidCredential;
  const credential: Credential = { kind: "user", userId, sessionId, aal: aal === "aal2" ? aal : null };
  if (verified.size >= 10_000) verified.clear();
  const keptUntil = performance.now() + maxKeptMs;
  verified.set(token, { credential, expiresAt: exp * 1000, keptUntil, version: keysVersion });
  return credential;
}

const hashKey = environment.addressHashKey ?? crypto.randomUUID();

/** Keyed hash, so that IP and email addresses are not stored in plain text. */
export function keyedHash(value: string): string {
  return createHmac("sha256", hashKey).update(value).digest("hex").slice(0, 32);
}
