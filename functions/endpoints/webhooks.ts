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
  webhookListAnswer,
  webhookPatch,
  webhookRotate,
} from "../../shared/webhooks.ts";
import { encryptSecret, newWebhookSecret } from "../_shared/callers/stored-secrets.ts";
import { resolvedTargetError } from "../_shared/dispatch/webhook-target.ts";
import { invalid, notFound } from "../_shared/http/api-error.ts";
import { dataResponse, endpoint } from "../_shared/http/endpoint.ts";
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

const tag = "Webhooks";
const all = "/organizations/:id/webhooks";
const one = "/organizations/:id/webhooks/:webhook_id";
const missing = () => notFound("webhook");
const missingDelivery = () => notFound("delivery");

type Rows = readonly { data: string | null }[];

function shown([row]: Rows, orElse = missing): string {
  if (!row?.data) throw orElse();
  return row.data;
}

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
  endpoint({
    method: "get",
    path: all,
    tag,
    access: "caller",
    scopes: ["webhooks:read"],
    summary: "List the organization's webhooks, as an admin",
    responses: { 200: webhookListAnswer },
    call: ({ params }) => [listWebhooks(params.id)],
    respond: ([rows]) => {
      const data = shown(rows);
      return dataResponse(200, data, { total: JSON.parse(data).length });
    },
  }),
  endpoint({
    method: "post",
    path: all,
    tag,
    access: "caller",
    scopes: ["webhooks:write"],
    summary: "Register a webhook endpoint, as an admin",
    body: webhookCreate,
    responses: { 201: newWebhookAnswer },
    showsSecret: true,
    prepare: newWebhookSecret,
    precheck: precheckUrl,
    call: ({ params, body: { url, events, secret }, newId, prepared }) => [
      createWebhook(params.id, newId, { url, events, encrypted: encryptSecret(secret ?? prepared, newId) }),
    ],
    respond: ([rows], { body, prepared }) =>
      dataResponse(201, withSecret(shown(rows), body.secret, prepared)),
  }),
  endpoint({
    method: "get",
    path: one,
    tag,
    access: "caller",
    scopes: ["webhooks:read"],
    summary: "Show a webhook, as an admin",
    responses: { 200: webhookAnswer },
    call: ({ params }) => [showWebhook(params)],
    respond: ([rows]) => dataResponse(200, shown(rows)),
  }),
  endpoint({
    method: "patch",
    path: one,
    tag,
    access: "caller",
    scopes: ["webhooks:write"],
    summary: "Update, enable or disable a webhook, as an admin",
    body: webhookPatch,
    responses: { 200: webhookAnswer },
    precheck: precheckUrl,
    call: ({ params, body }) => [updateWebhook(params, body)],
    respond: ([rows]) => dataResponse(200, shown(rows)),
  }),
  endpoint({
    method: "delete",
    path: one,
    tag,
    access: "caller",
    scopes: ["webhooks:write"],
    summary: "Delete a webhook with its delivery log, as an admin",
    responses: { 200: deletedAnswer },
    call: ({ params }) => [deleteWebhook(params)],
    respond: ([[deleted]]) => {
      if (!deleted?.deleted) throw missing();
      return dataResponse(200, `{"deleted":true}`);
    },
  }),
  endpoint({
    method: "post",
    path: "/organizations/:id/webhooks/:webhook_id/rotate",
    tag,
    access: "caller",
    scopes: ["webhooks:write"],
    summary: "Rotate the secret of a webhook; the old one stays valid for an overlap",
    body: webhookRotate,
    responses: { 200: newWebhookAnswer },
    showsSecret: true,
    prepare: newWebhookSecret,
    call: ({ params, body, prepared }) => [
      rotateWebhook(
        params,
        encryptSecret(body.secret ?? prepared, uuidOf(params.webhook_id)),
        body.overlap_seconds,
      ),
    ],
    respond: ([rows], { body, prepared }) =>
      dataResponse(200, withSecret(shown(rows), body.secret, prepared)),
  }),
  endpoint({
    method: "post",
    path: "/organizations/:id/webhooks/:webhook_id/test",
    tag,
    access: "caller",
    scopes: ["webhooks:write"],
    summary: "Send the event webhook.test to a webhook, as an admin",
    responses: { 201: deliveryAnswer },
    call: ({ params }) => [testWebhook(params)],
    respond: ([rows]) => dataResponse(201, shown(rows)),
  }),
  endpoint({
    method: "get",
    path: "/organizations/:id/webhooks/:webhook_id/deliveries",
    tag,
    access: "caller",
    scopes: ["webhooks:read"],
    summary: "List a webhook's newest 100 deliveries, as an admin",
    query: deliveryListQuery,
    responses: { 200: deliveryListAnswer },
    call: ({ params, query }) => [listDeliveries(params, query)],
    respond: ([[log]], { query: { page, limit } }) => {
      if (!log) throw missing();
      return dataResponse(200, log.data, pageMeta(log.total, page, limit));
    },
  }),
  endpoint({
    method: "get",
    path: "/organizations/:id/webhooks/:webhook_id/deliveries/:event_id",
    tag,
    access: "caller",
    scopes: ["webhooks:read"],
    summary: "Show a delivery with its attempts, as an admin",
    responses: { 200: deliveryDetailAnswer },
    call: ({ params }) => [showDelivery(params)],
    respond: ([rows]) => dataResponse(200, shown(rows, missingDelivery)),
  }),
  endpoint({
    method: "post",
    path: "/organizations/:id/webhooks/:webhook_id/deliveries/:event_id/redeliver",
    tag,
    access: "caller",
    scopes: ["webhooks:write"],
    summary: "Resend an event to its webhook, as an admin",
    responses: { 200: deliveryAnswer },
    call: ({ params }) => [redeliver(params)],
    respond: ([rows]) => dataResponse(200, shown(rows, missingDelivery)),
  }),
];
