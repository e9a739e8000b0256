// For receivers: needs nothing but Web Crypto, so copy it into a project on Node, Deno, Bun, workers or in a browser.

export type WebhookRequest = {
  /** The body as it came: text or bytes, never parsed and printed again. */
  body: string | Uint8Array;
  headers: Headers | Record<string, string | string[] | undefined>;
};

export type WebhookEvent = { id: string; event: string; org_id: string; timestamp: string; data: unknown };

/** Why a request is no delivery to be trusted: answer 401. */
export class WebhookVerificationError extends Error {}

const encoder = new TextEncoder();

/**
 * The event of a request, if one of the secrets signed it within the last five minutes; throws otherwise.
 * While a secret is rotated, give both. Remember the ids of events you have handled: each comes at least once.
 */
export async function verifyWebhook(
  request: WebhookRequest,
  secrets: string | readonly string[],
  { toleranceSeconds = 300, now = Date.now() }: { toleranceSeconds?: number; now?: number } = {},
): Promise<WebhookEvent> {
  const id = header(request, "webhook-id");
  const timestamp = header(request, "webhook-timestamp");
  const signatures = header(request, "webhook-signature")
    .split(" ")
    .flatMap((entry) => (entry.startsWith("v1,") ? [entry.slice(3)] : []));
  if (!/^\d{1,12}$/.test(timestamp) || Math.abs(now / 1000 - Number(timestamp)) > toleranceSeconds)
    throw new WebhookVerificationError("webhook-timestamp is not of now");
  const body = bytesOf(request.body);
  const signed = concatenated(encoder.encode(`${id}.${timestamp}.`), body);
  const made = await Promise.all(
    [secrets].flat().map(async (secret) => base64(await hmac(standardKey(secret), signed))),
  );
  if (!made.some((own) => signatures.some((theirs) => isSame(own, theirs))))
    throw new WebhookVerificationError("webhook-signature is not by this secret");
  const event = JSON.parse(new TextDecoder().decode(body)) as WebhookEvent;
  if (event.id !== id) throw new WebhookVerificationError("webhook-id is not the event's");
  return event;
}

/** Whether X-Service-Signature is the hex HMAC-SHA256 of the body. It signs no time: only `verifyWebhook` refuses a replay. */
export async function isServiceSignature(
  request: WebhookRequest,
  secrets: string | readonly string[],
): Promise<boolean> {
  const theirs = header(request, "x-service-signature");
  const body = bytesOf(request.body);
  const made = await Promise.all(
    [secrets].flat().map(async (secret) => hex(await hmac(encoder.encode(secret), body))),
  );
  return made.some((own) => isSame(own, theirs));
}

/** Standard Webhooks: the key stands base64-encoded after whsec_; any other secret is its own key. */
function standardKey(secret: string): Uint8Array {
  const encoded = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(secret)?.[1];
  if (encoded === undefined || encoded.length % 4 !== 0) return encoder.encode(secret);
  return Uint8Array.from(atob(encoded), (character) => character.charCodeAt(0));
}

async function hmac(key: Uint8Array, message: Uint8Array): Promise<Uint8Array> {
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const imported = await crypto.subtle.importKey("raw", key as BufferSource, algorithm, false, ["sign"]);
  return new Uint8Array(await crypto.subtle.sign("HMAC", imported, message as BufferSource));
}

/** Takes as long wherever the texts differ. */
function isSame(own: string, theirs: string): boolean {
  let difference = own.length ^ theirs.length;
  for (let i = 0; i < own.length; i++) difference |= own.charCodeAt(i) ^ theirs.charCodeAt(i);
  return difference === 0;
}

function header({ headers }: WebhookRequest, name: string): string {
  const value =
    headers instanceof Headers
      ? headers.get(name)
      : Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
  if (typeof value !== "string" || value === "") throw new WebhookVerificationError(`${name} is missing`);
  return value;
}

const bytesOf = (body: string | Uint8Array) => (typeof body === "string" ? encoder.encode(body) : body);
const base64 = (bytes: Uint8Array) => btoa(String.fromCharCode(...bytes));
const hex = (bytes: Uint8Array) => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");

function concatenated(first: Uint8Array, second: Uint8Array): Uint8Array {
  const whole = new Uint8Array(first.length + second.length);
  whole.set(first);
  whole.set(second, first.length);
  return whole;
}
