// For receivers. Depends on Web Crypto only: copy it into a project on Node, Deno, Bun, workers or browsers.

/** A received request. */
export type WebhookRequest = {
  /** The raw body as text or bytes; do not parse and serialize it. */
  body: string | Uint8Array;
  /** All headers, in the format of Fetch or Node. */
  headers: Headers | Record<string, string | string[] | undefined>;
};

/** A delivered event: docs/webhooks.md. */
export type WebhookEvent = {
  /** The same in each attempt to deliver the event. */
  id: string;
  /** Its name, such as `submission.created`. */
  event: string;
  /** The id of the organization. */
  org_id: string;
  /** Time of the event, ISO 8601. */
  timestamp: string;
  /** Data of the event; the fields depend on `event`. */
  data: unknown;
};

/** Thrown by {@link verifyWebhook}. The request is not a trusted delivery: respond 401. */
export class WebhookVerificationError extends Error {}

const encoder = new TextEncoder();

/**
 * Returns the event of a request that one of the secrets signed within the last five minutes. Delivery is at least
 * once: remember the ids of handled events.
 *
 * @param request - The raw body and the headers.
 * @param secrets - The secret of the webhook; both during a rotation.
 * @param options - `toleranceSeconds` between the clocks, 300 by default; `now` in milliseconds, for tests.
 * @throws A {@link WebhookVerificationError} if a header is missing, the time is out of tolerance, no secret matches, or the
 * event has another id; a SyntaxError if a signed body is not JSON.
 *
 * @example
 * ```ts
 * import { verifyWebhook, WebhookVerificationError } from "@feedback-collection-service/client";
 *
 * export async function receive(request: Request): Promise<Response> {
 *   try {
 *     const body = new Uint8Array(await request.arrayBuffer());
 *     const { id, event } = await verifyWebhook({ body, headers: request.headers }, "whsec_…");
 *     console.log(id, event);
 *     return new Response(null, { status: 204 });
 *   } catch (error) {
 *     if (error instanceof WebhookVerificationError) return new Response(null, { status: 401 });
 *     throw error;
 *   }
 * }
 * ```
 */
export async function verifyWebhook(
  request: WebhookRequest,
  secrets: string | readonly string[],
  options: { toleranceSeconds?: number; now?: number } = {},
): Promise<WebhookEvent> {
  const event = JSON.parse(await verifySignature(request, secrets, options)) as WebhookEvent;
  if (event.id !== header(request, "webhook-id"))
    throw new WebhookVerificationError("webhook-id does not match the event");
  return event;
}

/** Returns the body of a request with a valid signature by Standard Webhooks; throws otherwise. */
export async function verifySignature(
  request: WebhookRequest,
  secrets: string | readonly string[],
  { toleranceSeconds = 300, now = Date.now() }: { toleranceSeconds?: number; now?: number } = {},
): Promise<string> {
  const id = header(request, "webhook-id");
  const timestamp = header(request, "webhook-timestamp");
  // Several are separated by spaces, or by commas as in any header that is sent twice; Supabase Auth writes ", ".
  const signatures = [...header(request, "webhook-signature").matchAll(/(?:^|[\s,])v1,([^\s,]+)/g)].map(
    ([, signature = ""]) => signature,
  );
  if (!/^\d{1,12}$/.test(timestamp) || Math.abs(now / 1000 - Number(timestamp)) > toleranceSeconds)
    throw new WebhookVerificationError("webhook-timestamp is too far from the current time");
  const body = bytesOf(request.body);
  const signed = concatenated(encoder.encode(`${id}.${timestamp}.`), body);
  const expected = await Promise.all(
    [secrets].flat().map(async (secret) => base64(await hmac(standardKey(secret), signed))),
  );
  if (!expected.some((own) => signatures.some((received) => isSame(own, received))))
    throw new WebhookVerificationError("webhook-signature does not match the secret");
  return new TextDecoder().decode(body);
}

/**
 * Whether X-Service-Signature is the hex HMAC-SHA256 of the body. It does not cover a timestamp: only
 * {@link verifyWebhook} rejects replays.
 *
 * @param request - The raw body and the headers.
 * @param secrets - The secret of the webhook; both during a rotation.
 * @throws A {@link WebhookVerificationError} if the header is missing.
 *
 * @example
 * ```ts
 * import { isServiceSignature } from "@feedback-collection-service/client";
 *
 * const headers = { "x-service-signature": "0d3c…" };
 * if (!(await isServiceSignature({ body: "{}", headers }, "whsec_…"))) console.log("not signed by the service");
 * ```
 */
export async function isServiceSignature(
  request: WebhookRequest,
  secrets: string | readonly string[],
): Promise<boolean> {
  const received = header(request, "x-service-signature");
  const body = bytesOf(request.body);
  const expected = await Promise.all(
    [secrets].flat().map(async (secret) => hex(await hmac(encoder.encode(secret), body))),
  );
  return expected.some((own) => isSame(own, received));
}

/** Standard Webhooks: the base64 key after whsec_; any other secret is used as it is. */
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

/** Constant-time comparison. */
function isSame(own: string, received: string): boolean {
  let difference = own.length ^ received.length;
  for (let i = 0; i < own.length; i++) difference |= own.charCodeAt(i) ^ received.charCodeAt(i);
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
