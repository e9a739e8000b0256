import { pageMeta } from "../../shared/pagination.ts";
import { uuidOf } from "../../shared/path-parameters.ts";
import { deletedAnswer } from "../../shared/submissions.ts";
import {
  deliveryAnswer,
  deliveryDetailAnswer,
  deliveryListAnswer,
  deliveryListQuery,
  newWebhookAnswer,
  webhookAnswer,
  webhookCreate,
  webhookCreatedAnswer,
  webhookListAnswer,
  webhookPatch,
  webhookRotate,
} from "../../shared/webhooks.ts";
import { encryptSecret, newWebhookSecret } from "../_shared/callers/stored-secrets.ts";
import { resolvedTargetError } from "../_shared/dispatch/webhook-target.ts";
import { invalid, notFound } from "../_shared/http/api-error.ts";
import { dataIn, dataResponse, endpointsOf, row } from "../_shared/http/endpoint.ts";
import {
  createWebhook,
  deleteWebhook,
  listDeliveries,
  listWebhooks,
  redeliver,
  requireWebhookAdmin,
  rotateWebhook,
  showDelivery,
  showWebhook,
  testWebhook,
  updateWebhook,
} from "../_shared/statements/webhooks.ts";

const { get, post, patch, del } = endpointsOf({ tag: "Webhooks", access: "caller" });
const all = "/organizations/:id/webhooks";
const one = "/organizations/:id/webhooks/:webhook_id";
const missing = () => notFound("webhook");

/** The webhook, with its secret if it was generated here. */
function withSecret(data: string, given: string | null | undefined, created: string): string {
  return given ? data : JSON.stringify({ ...JSON.parse(data), secret: created });
}

const precheckUrl = {
  authorize: ({ params }: { params: { id: string } }) => requireWebhookAdmin(params.id),
  async check({ body: { url } }: { body: { url?: string | undefined } }): Promise<void> {
    const complaint = url && (await resolvedTargetError(new URL(url)));
    if (complaint) throw invalid("url", complaint);
  },
};

export const webhooks = [
  get(all, {
    scopes: ["webhooks:read"],
    summary: "List the organization's webhooks, as an admin",
    responses: { 200: webhookListAnswer },
    call: ({ params }) => [listWebhooks(params.id)],
    respond: ([rows]) => {
      const data = dataIn(rows, "webhook");
      return dataResponse(200, data, { total: JSON.parse(data).length });
    },
  }),
  post(all, {
    scopes: ["webhooks:write"],
    summary: "Register a webhook endpoint, as an admin",
    body: webhookCreate,
    responses: { 201: webhookCreatedAnswer },
    showsSecret: true,
    prepare: newWebhookSecret,
    precheck: precheckUrl,
    call: ({ params, body: { url, events, secret }, newId, prepared }) => [
      createWebhook(params.id, newId, { url, events, encrypted: encryptSecret(secret ?? prepared, newId) }),
    ],
    respond: ([rows], { body, prepared }) => {
      const data = JSON.parse(withSecret(dataIn(rows, "webhook"), body.secret, prepared));
      const { id, url, events, created_at } = data;
      return { status: 201, json: JSON.stringify({ data, meta: {}, id, url, events, created_at }) };
    },
  }),
  get(one, {
    scopes: ["webhooks:read"],
    summary: "Show a webhook, as an admin",
    responses: { 200: webhookAnswer },
    call: ({ params }) => [showWebhook(params)],
    respond: row("webhook"),
  }),
  patch(one, {
    scopes: ["webhooks:write"],
    summary: "Update, enable or disable a webhook, as an admin",
    body: webhookPatch,
    responses: { 200: webhookAnswer },
    precheck: precheckUrl,
    call: ({ params, body }) => [updateWebhook(params, body)],
    respond: row("webhook"),
  }),
  del(one, {
    scopes: ["webhooks:write"],
    summary: "Delete a webhook with its delivery log, as an admin",
    responses: { 200: deletedAnswer },
    call: ({ params }) => [deleteWebhook(params)],
    respond: ([[deleted]]) => {
      if (!deleted?.data) throw missing();
      return dataResponse(200, `{"deleted":true}`);
    },
  }),
  post("/organizations/:id/webhooks/:webhook_id/rotate", {
    scopes: ["webhooks:write"],
    summary: "Rotate the secret of a webhook; the old one stays valid for an overlap",
    body: webhookRotate,
    responses: { 200: newWebhookAnswer },
    showsSecret: true,
    prepare: newWebhookSecret,
    call: ({ params, body, prepared }) => [
      rotateWebhook(params, encryptSecret(body.secret ?? prepared, uuidOf(params.webhook_id)), body.overlap_seconds),
    ],
    respond: ([rows], { body, prepared }) =>
      dataResponse(200, withSecret(dataIn(rows, "webhook"), body.secret, prepared)),
  }),
  post("/organizations/:id/webhooks/:webhook_id/test", {
    scopes: ["webhooks:write"],
    summary: "Send the event webhook.test to a webhook, as an admin",
    responses: { 201: deliveryAnswer },
    call: ({ params }) => [testWebhook(params)],
    respond: row("webhook", 201),
  }),
  get("/organizations/:id/webhooks/:webhook_id/deliveries", {
    access: "person",
    summary: "List a webhook's newest 100 deliveries, as an admin",
    query: deliveryListQuery,
    responses: { 200: deliveryListAnswer },
    call: ({ params, query }) => [listDeliveries(params, query)],
    respond: ([[log]], { query: { page, limit } }) => {
      if (!log) throw missing();
      return dataResponse(200, log.data, pageMeta(log.total, page, limit));
    },
  }),
  get("/organizations/:id/webhooks/:webhook_id/deliveries/:event_id", {
    access: "person",
    summary: "Show a delivery with its attempts, as an admin",
    responses: { 200: deliveryDetailAnswer },
    call: ({ params }) => [showDelivery(params)],
    respond: row("delivery"),
  }),
  post("/organizations/:id/webhooks/:webhook_id/deliveries/:event_id/redeliver", {
    access: "person",
    summary: "Resend an event to its webhook, as an admin",
    responses: { 200: deliveryAnswer },
    call: ({ params }) => [redeliver(params)],
    respond: row("delivery"),
  }),
];
