export {
  isServiceSignature,
  verifyWebhook,
  type WebhookEvent,
  type WebhookRequest,
  WebhookVerificationError,
} from "../../../shared/verify-webhook.ts";
export {
  type Client,
  type ClientOptions,
  createFeedbackClient,
  type DataOf,
  type Init,
  type Outcome,
  type PathOf,
} from "./client.ts";
export { FeedbackError, type FeedbackErrorCode, type FieldError } from "./errors.ts";
export { type LiveChange, type LiveSubscription, live, type RealtimeSource } from "./live.ts";
export { type ItemOf, items, type ListPath } from "./pagination.ts";
export type { RetryOptions } from "./retry.ts";
export type { components, operations, paths } from "./schema.ts";
