import { z } from "zod";
import { dataOf, listOf } from "./envelopes.ts";
import { eventName } from "./events.ts";
import { count, timestamp, uuid, webAddress, wholeNumber } from "./fields.ts";
import { fullMeta, pageFields, totalMeta } from "./pagination.ts";

// In ------------------------------------------------------------------------------------------------------------

const url = webAddress.describe(
  "Where events are sent by POST: https, no user name or password in it, not a private or local address.",
);

const subscription = z
  .array(eventName)
  .min(1)
  .max(30)
  .transform((names) => [...new Set(names)])
  .describe("Names of the events to send.");

const secret = z
  .string()
  .regex(/^[\x21-\x7e]{8,256}$/, "must be 8 to 256 visible ASCII characters without spaces")
  .describe("Signs deliveries; never shown again. Without it one is made and shown this once.");

export const webhookCreate = z
  .object({ url, events: subscription, secret: secret.nullish() })
  .meta({ id: "WebhookCreate", description: "An endpoint that wants to hear of events." });

export const webhookPatch = z
  .object({
    url: url.optional(),
    events: subscription.optional(),
    enabled: z
      .boolean()
      .optional()
      .describe("Whether events are sent; what happens meanwhile is not sent later."),
  })
  .meta({ id: "WebhookPatch", description: "What to change; the rest stays." });

export type WebhookPatch = z.infer<typeof webhookPatch>;

const longestOverlap = 7 * 24 * 3600;

export const webhookRotate = z
  .object({
    secret: secret.nullish(),
    overlap_seconds: wholeNumber(0, longestOverlap)
      .default(24 * 3600)
      .describe("How long deliveries are signed with the old secret too; a day by default, a week at most."),
  })
  .meta({ id: "WebhookRotate", description: "How to change the secret." });

export const deliveryListQuery = z
  .object(pageFields)
  .meta({ id: "DeliveryListQuery", description: "Which page of the log." });

// Out -----------------------------------------------------------------------------------------------------------

const webhookFields = {
  id: z.string().regex(/^wh_[0-9a-f]{32}$/),
  url: z.string(),
  events: z.array(z.string()),
  enabled: z.boolean(),
  disabled_reason: z
    .enum(["admin", "gone"])
    .nullable()
    .describe("`gone`: the receiver answered 410. Null while enabled."),
  previous_secret_expires_at: timestamp
    .nullable()
    .describe("Until when deliveries are signed with the secret before as well."),
  created_at: timestamp,
  updated_at: timestamp,
};

const webhook = z
  .object(webhookFields)
  .meta({ id: "Webhook", description: "An endpoint, without its secret, which nobody can read again." });

const newWebhook = z
  .object({
    ...webhookFields,
    secret: z.string().optional().describe("Shown this once, where it was made here."),
  })
  .meta({ id: "NewWebhook", description: "An endpoint with a new secret." });

const deliveryFields = {
  id: z
    .string()
    .regex(/^evt_[0-9a-f]{32}$/)
    .describe("Of the event, as the receiver sees it."),
  event: z.string().describe("The name it is sent under."),
  status: z.enum(["pending", "delivered", "failed"]),
  attempt_count: count,
  status_code: z.int().nullable().describe("Of the newest attempt; null where no answer came."),
  response_body: z.string().nullable().describe("Of the newest attempt, its first 8 KiB."),
  error: z.string().nullable().describe("Why the newest attempt has no whole answer."),
  next_attempt_at: timestamp.nullable().describe("While pending and not just being sent."),
  created_at: timestamp,
  finished_at: timestamp.nullable(),
};

const delivery = z
  .object(deliveryFields)
  .meta({ id: "WebhookDelivery", description: "An event on its way to an endpoint, or there." });

const attempt = z
  .object({
    number: count,
    started_at: timestamp.nullable(),
    duration_ms: count.nullable(),
    status_code: z.int().nullable(),
    response_body: z.string().nullable(),
    error: z.string().nullable(),
  })
  .meta({ id: "WebhookAttempt", description: "One request to the receiver, and what came of it." });

const deliveryDetail = z
  .object({
    ...deliveryFields,
    attempts: z.array(attempt).describe("The newest 20."),
    data: z.unknown().describe("Of the event; null where it is no longer kept."),
  })
  .meta({ id: "WebhookDeliveryDetail", description: "A delivery with its attempts and what it carries." });

/** What a receiver is sent; `data` is as shared/events.ts says for the event. */
export const webhookEnvelope = z
  .object({
    id: deliveryFields.id,
    event: z.string(),
    org_id: uuid,
    timestamp,
    data: z.record(z.string(), z.unknown()),
  })
  .meta({ id: "WebhookEvent", description: "The body of a delivery." });

export const webhookListAnswer = listOf(webhook, totalMeta);
export const webhookAnswer = dataOf(webhook);
export const newWebhookAnswer = dataOf(newWebhook);
export const deliveryListAnswer = listOf(delivery, fullMeta);
export const deliveryAnswer = dataOf(delivery);
export const deliveryDetailAnswer = dataOf(deliveryDetail);
