import { Buffer } from "node:buffer";
import { createHmac } from "node:crypto";
import { decryptSecret } from "../_shared/callers/stored-secrets.ts";
import { envelopeOf, eventId } from "../_shared/dispatch/event-envelope.ts";
import { log } from "../_shared/runtime/log.ts";
import type { Claim, Result } from "./database.ts";
import { NoResponse, post } from "./post.ts";

/** Sends a delivery once and returns the result; never throws. */
export async function deliver(claim: Claim): Promise<Result> {
  const { webhook_id, event_id, attempt } = claim;
  const startedAt = performance.now();
  const result = (outcome: Partial<Result>): Result => ({
    webhook_id,
    event_id,
    attempt,
    duration_ms: Math.round(performance.now() - startedAt),
    ...outcome,
  });
  try {
    if (!claim.data) return result({ error: "This event was deleted after its retention period.", is_final: true });
    const event = { ...claim, timestamp: claim.occurred_at.toISOString(), data: claim.data };
    const body = new TextEncoder().encode(JSON.stringify(envelopeOf(claim.event, event)));
    const { status, body: response_body, retryAfter } = await post(new URL(claim.url), headersOf(claim, body), body);
    return result({ status_code: status, response_body, retry_after: secondsOf(retryAfter) });
  } catch (error) {
    if (!(error instanceof NoResponse)) log({ requestId: eventId(event_id), error });
    return result({ error: error instanceof NoResponse ? error.message : "The delivery failed." });
  }
}

function headersOf(claim: Claim, body: Uint8Array): Record<string, string> {
  const id = eventId(claim.event_id);
  // Timestamps use the database's clock.
  const timestamp = String(Math.floor(claim.claimed_at.getTime() / 1000));
  const current = keysOf(claim.encrypted_secret, claim.webhook_id);
  const keys = [current];
  if (claim.previous_encrypted_secret) keys.push(keysOf(claim.previous_encrypted_secret, claim.webhook_id));
  const standard = (key: Uint8Array) =>
    `v1,${createHmac("sha256", key).update(`${id}.${timestamp}.`).update(body).digest("base64")}`;
  return {
    "Content-Type": "application/json; charset=utf-8",
    "User-Agent": "Feedback-Webhooks/1",
    "X-Service-Signature": createHmac("sha256", current.whole).update(body).digest("hex"),
    "webhook-id": id,
    "webhook-timestamp": timestamp,
    "webhook-signature": keys.map((key) => standard(key.standard)).join(" "),
  };
}

type Keys = { whole: string; standard: Uint8Array };

// Decrypting a secret takes longer than signing.
const decryptedKeys = new Map<string, Keys>();
const maxDecryptedKeys = 1000;

function keysOf(encrypted: string, webhookId: string): Keys {
  const cacheKey = `${webhookId} ${encrypted}`;
  const known = decryptedKeys.get(cacheKey);
  if (known) return known;
  const secret = decryptSecret(encrypted, webhookId);
  const keys = { whole: secret, standard: standardKey(secret) };
  if (decryptedKeys.size >= maxDecryptedKeys) decryptedKeys.clear();
  decryptedKeys.set(cacheKey, keys);
  return keys;
}

/** Standard Webhooks: the base64 key after whsec_; any other secret is used as it is. */
function standardKey(secret: string): Uint8Array {
  const encoded = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(secret)?.[1];
  return encoded !== undefined && encoded.length % 4 === 0
    ? Buffer.from(encoded, "base64")
    : Buffer.from(secret, "utf8");
}

/** Retry-After in either form, as seconds from now. */
function secondsOf(retryAfter: string | undefined): number | undefined {
  if (retryAfter === undefined) return undefined;
  const seconds = /^\d{1,9}$/.test(retryAfter) ? Number(retryAfter) : (Date.parse(retryAfter) - Date.now()) / 1000;
  return seconds > 0 ? Math.ceil(Math.min(seconds, 1e9)) : undefined;
}
