import { z } from "zod";
import { dataOf, listOf } from "./envelopes.ts";
import { eventName } from "./events.ts";
import { count, timestamp, uuid, webAddress, wholeNumber } from "./fields.ts";
import { fullMeta, pageFields, totalMeta } from "./pagination.ts";
import { author } from "./taxonomy.ts";

// In ------------------------------------------------------------------------------------------------------------

const url = webAddress.describe(
  "Receives events by POST: https, without user name or password, not a private or local address.",
);

const subscription = z
  .array(eventName)
  .min(1)
  .max(30)
  .transform((names) => [...new Set(names)])
  .describe("Names of the events to subscribe to.");

/** Whether the libraries of Standard Webhooks can read the key after `whsec_`; some refuse base64 of another form. */
function isStandardKey(encoded: string): boolean {
  try {
    const bytes = atob(encoded);
    return bytes.length >= 24 && bytes.length <= 64 && btoa(bytes) === encoded;
  } catch {
    return false;
  }
}

const secret = z
  .string()
  .regex(/^[\x21-\x7e]{8,256}$/, { error: "must be 8 to 256 visible ASCII characters without spaces", abort: true })
  .refine(
    (value) => !value.startsWith("whsec_") || isStandardKey(value.slice("whsec_".length)),
    "must have 24 to 64 bytes in standard base64 with padding after whsec_; begin a secret of another form with something else",
  )
  .describe(
    "Signs deliveries; never returned. After `whsec_` it must be the base64 of 24 to 64 bytes. Without it a secret is generated and returned once.",
  );

export const webhookCreate = z
  .object({ url, events: subscription, secret: secret.nullish() })
  .meta({ id: "WebhookCreate", description: "A webhook endpoint to register." });

export const webhookPatch = z
  .object({
    url: url.optional(),
    events: subscription.optional(),
    enabled: z.boolean().optional().describe("Whether events are sent; events while disabled are not sent later."),
  })
  .meta({ id: "WebhookPatch", description: "Changed fields; omitted fields stay unchanged." });

export type WebhookPatch = z.infer<typeof webhookPatch>;

const maxOverlapSeconds = 7 * 24 * 3600;

export const webhookRotate = z
  .object({
    secret: secret.nullish(),
    overlap_seconds: wholeNumber(0, maxOverlapSeconds)
      .default(24 * 3600)
      .describe("How long deliveries are also signed with the old secret; a day by default, at most a week."),
  })
  .meta({ id: "WebhookRotate", description: "Options of a rotation." });

export const deliveryListQuery = z
  .object(pageFields)
  .meta({ id: "DeliveryListQuery", description: "Page of the log." });

// Out -----------------------------------------------------------------------------------------------------------

const webhookFields = {
  id: z.string().regex(/^wh_[0-9a-f]{32}$/),
  url: z.string(),
  events: z.array(z.string()),
  enabled: z.boolean(),
  disabled_reason: z
    .enum(["admin", "gone"])
    .nullable()
    .describe("`gone`: the receiver responded 410. Null while enabled."),
  previous_secret_expires_at: timestamp
    .nullable()
    .describe("Until when deliveries are also signed with the previous secret."),
  created_at: timestamp,
  created_by: author.nullable().describe("The person, also behind a key, who gave it its URL and secret last."),
  updated_at: timestamp,
};

const webhook = z.object(webhookFields).meta({ id: "Webhook", description: "A webhook endpoint, without its secret." });

const newWebhook = z
  .object({ ...webhookFields, secret: z.string().optional().describe("Returned once, if it was generated.") })
  .meta({ id: "NewWebhook", description: "A webhook endpoint with a new secret." });

const deliveryFields = {
  id: z
    .string()
    .regex(/^evt_[0-9a-f]{32}$/)
    .describe("Public id of the event."),
  event: z.string().describe("Name under which it is sent."),
  status: z.enum(["pending", "delivered", "failed"]),
  attempt_count: count,
  status_code: z.int().nullable().describe("Status code of the newest attempt; null without a response."),
  response_body: z.string().nullable().describe("Response body of the newest attempt, its first 8 KiB."),
  error: z.string().nullable().describe("Why the newest attempt has no complete response."),
  duration_ms: count.nullable().describe("Duration of the newest attempt; null before the first."),
  next_attempt_at: timestamp.nullable().describe("Time of the next attempt, while pending."),
  created_at: timestamp,
  finished_at: timestamp.nullable(),
};

const delivery = z
  .object(deliveryFields)
  .meta({ id: "WebhookDelivery", description: "The delivery of an event to an endpoint." });

const attempt = z
  .object({
    number: count,
    started_at: timestamp.nullable(),
    duration_ms: count.nullable(),
    status_code: z.int().nullable(),
    response_body: z.string().nullable(),
    error: z.string().nullable(),
  })
  .meta({ id: "WebhookAttempt", description: "One request to the receiver, with its result." });

const deliveryDetail = z
  .object({
    ...deliveryFields,
    attempts: z.array(attempt).describe("The newest 20 attempts."),
    data: z.unknown().describe("Data of the event; null if it was deleted."),
  })
  .meta({ id: "WebhookDeliveryDetail", description: "A delivery with its attempts and payload." });

/** The request body a receiver gets; `data` follows the event's schema in shared/events.ts. */
export const webhookEnvelope = z
  .object({
    id: deliveryFields.id,
    event: z.string(),
    org_id: uuid,
    timestamp,
    data: z.record(z.string(), z.unknown()),
  })
  .meta({ id: "WebhookEvent", description: "The body of a webhook request." });

export const webhookListAnswer = listOf(webhook, totalMeta);
export const webhookAnswer = dataOf(webhook);
export const newWebhookAnswer = dataOf(newWebhook);
const { id, url: storedUrl, events, created_at } = webhookFields;
/** Named twice, because the specification has these fields without an envelope. */
export const webhookCreatedAnswer = newWebhookAnswer.extend({ id, url: storedUrl, events, created_at });
export const deliveryListAnswer = listOf(delivery, fullMeta);
export const deliveryAnswer = dataOf(delivery);
export const deliveryDetailAnswer = dataOf(deliveryDetail);
