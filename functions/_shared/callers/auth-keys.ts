import {
  createLocalJWKSet,
  decodeProtectedHeader,
  errors,
  type JSONWebKeySet,
  type JWTPayload,
  type JWTVerifyGetKey,
  jwtVerify,
} from "jose";
import { ApiError } from "../http/api-error.ts";
import { environment } from "../runtime/environment.ts";
import { logWarning } from "../runtime/log.ts";

// The keys that sign access tokens: the project's secret, and the key set of auth, fetched again when it is old or
// lacks the key of a token.

// With the minute for which a verified token is kept, a revoked key ends within five minutes.
const maxAgeMs = 240_000;
const maxWaitMs = 3_000;
/** A token can name any key, and each unknown one asks auth again. */
const maxAsked = { times: 10, inMs: 30_000 };

const algorithms = ["ES256", "RS256", "EdDSA"];
// Audience and issuer: tokens signed with the same key for another purpose or project are not valid.
const claims = { audience: "authenticated", issuer: environment.jwtIssuers };
const secret = environment.jwtSecret ? new TextEncoder().encode(environment.jwtSecret) : undefined;
const address = new URL("/auth/v1/.well-known/jwks.json", environment.supabaseInternalUrl);

/** A set of keys, when auth was asked for it, and ids of keys that it lacks. */
type Keys = { text: string; size: number; find: JWTVerifyGetKey; at: number; missing: Set<string> };
let keys = environment.jwks ? keysOf(JSON.parse(environment.jwks), performance.now()) : undefined;
let asked: number[] = [];
let asking: Promise<boolean> | undefined;
/** Changes with the keys: results of earlier verifications are void. */
export let keysVersion = 0;

/** Supabase provides either an array of keys or a standard JWKS object. */
function keysOf(given: JSONWebKeySet | JSONWebKeySet["keys"], at: number): Keys {
  const set = Array.isArray(given) ? { keys: given } : given;
  const text = JSON.stringify(set);
  return { text, size: set.keys.length, find: createLocalJWKSet(set), at, missing: new Set() };
}

/** Asks auth for its keys and returns whether it answered; if not, the known ones stay. */
function ask(): Promise<boolean> {
  if (asking) return asking;
  const now = performance.now();
  asked = asked.filter((time) => time > now - maxAsked.inMs);
  if (asked.length >= maxAsked.times) return Promise.resolve(false);
  asked.push(now);
  asking = fetchKeys(now)
    .catch((error: unknown) => {
      logWarning(`auth did not answer for its keys: ${error instanceof Error ? error.message : error}`);
      return false;
    })
    .finally(() => {
      asking = undefined;
    });
  return asking;
}

async function fetchKeys(at: number): Promise<boolean> {
  const response = await fetch(address, { signal: AbortSignal.timeout(maxWaitMs) });
  if (!response.ok) throw new Error(`status ${response.status}`);
  const found = keysOf((await response.json()) as JSONWebKeySet, at);
  if (found.text !== keys?.text) keysVersion += 1;
  keys = found;
  return true;
}

async function currentKeys(): Promise<Keys> {
  const isOld = !keys || keys.at < performance.now() - maxAgeMs;
  // While auth does not answer, only one request in this time waits for it; without any keys, every request does.
  const isTried = keys && (asked.at(-1) ?? Number.NEGATIVE_INFINITY) > performance.now() - maxAsked.inMs;
  if (isOld && !isTried) await ask();
  if (!keys) throw unknown();
  return keys;
}

/** Neither valid nor invalid: the key may exist. */
const unknown = () =>
  new ApiError("SERVICE_UNAVAILABLE", "The access token cannot be verified now. Try again in a moment.");

/** The claims of an access token; undefined if it is not valid. Throws SERVICE_UNAVAILABLE if that is not known. */
export async function verifyAccessToken(token: string): Promise<JWTPayload | undefined> {
  const { alg = "", kid = "" } = headerOf(token);
  if (alg === "HS256" && secret) return verify(token, () => secret, [alg]).catch(() => undefined);
  if (alg === "HS256" && (await lacksSecret())) throw unknown();
  if (!algorithms.includes(alg)) return undefined;
  const known = await currentKeys();
  try {
    return await verify(token, known.find, algorithms);
  } catch (error) {
    if (!(error instanceof errors.JWKSNoMatchingKey) || known.missing.has(kid)) return undefined;
  }
  // A new key of auth, or of somebody else.
  if (!(await ask())) throw unknown();
  return verify(token, keys?.find ?? known.find, algorithms).catch((error: unknown) => {
    if (error instanceof errors.JWKSNoMatchingKey) keys?.missing.add(kid);
    return undefined;
  });
}

const verify = async (token: string, key: JWTVerifyGetKey, allowed: string[]) =>
  (await jwtVerify(token, key, { ...claims, algorithms: allowed })).payload;

function headerOf(token: string): { alg?: string; kid?: string } {
  try {
    return decodeProtectedHeader(token);
  } catch {
    return {};
  }
}

let isTold = false;

/** Whether auth signs with the project's secret, which this function does not have. */
export async function lacksSecret(): Promise<boolean> {
  if (secret || (await currentKeys()).size > 0) return false;
  if (!isTold) logWarning("auth has no public keys, so it signs with the project's secret: set JWT_SECRET");
  isTold = true;
  return true;
}
