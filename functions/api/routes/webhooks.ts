import { pageMeta } from "../../../shared/pagination.ts";
import { uuidOf } from "../../../shared/path-parameters.ts";
import { deletedAnswer } from "../../../shared/submissions.ts";
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
} from "../../../shared/webhooks.ts";
import { invalid, notFound } from "../../_shared/api-error.ts";
import { answer, endpoint } from "../../_shared/endpoint.ts";
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
} from "../../_shared/statements/webhooks.ts";
import { newWebhookSecret, sealSecret } from "../../_shared/webhook-secrets.ts";
import { complaintAboutNow } from "../../_shared/webhook-target.ts";

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

/** The webhook, and the secret where it was made here: shown this once. */
function withSecret(data: string, given: string | null | undefined, made: string): string {
  return given ? data : JSON.stringify({ ...JSON.parse(data), secret: made });
}

const vetUrl = {
  rights: ({ params }: { params: { id: string } }) => requireWebhookAdmin(params.id),
  async look({ body: { url } }: { body: { url?: string | undefined } }): Promise<void> {
    const complaint = url && (await complaintAboutNow(new URL(url)));
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
    answers: { 200: webhookListAnswer },
    call: ({ params }) => [listWebhooks(params.id)],
    respond: ([rows]) => {
      const data = shown(rows);
      return answer(200, data, { total: JSON.parse(data).length });
    },
  }),
  endpoint({
    method: "post",
    path: all,
    tag,
    access: "caller",
    scopes: ["webhooks:write"],
    summary: "Register an endpoint for events, as an admin",
    body: webhookCreate,
    answers: { 201: newWebhookAnswer },
    showsSecret: true,
    prepare: newWebhookSecret,
    vet: vetUrl,
    call: ({ params, body: { url, events, secret }, newId, prepared }) => [
      createWebhook(params.id, newId, { url, events, sealed: sealSecret(secret ?? prepared, newId) }),
    ],
    respond: ([rows], { body, prepared }) => answer(201, withSecret(shown(rows), body.secret, prepared)),
  }),
  endpoint({
    method: "get",
    path: one,
    tag,
    access: "caller",
    scopes: ["webhooks:read"],
    summary: "Show a webhook, as an admin",
    answers: { 200: webhookAnswer },
    call: ({ params }) => [showWebhook(params)],
    respond: ([rows]) => answer(200, shown(rows)),
  }),
  endpoint({
    method: "patch",
    path: one,
    tag,
    access: "caller",
    scopes: ["webhooks:write"],
    summary: "Change a webhook, or switch it on or off, as an admin",
    body: webhookPatch,
    answers: { 200: webhookAnswer },
    vet: vetUrl,
    call: ({ params, body }) => [updateWebhook(params, body)],
    respond: ([rows]) => answer(200, shown(rows)),
  }),
  endpoint({
    method: "delete",
    path: one,
    tag,
    access: "caller",
    scopes: ["webhooks:write"],
    summary: "Delete a webhook with its log, as an admin",
    answers: { 200: deletedAnswer },
    call: ({ params }) => [deleteWebhook(params)],
    respond: ([[gone]]) => {
      if (!gone?.deleted) throw missing();
      return answer(200, `{"deleted":true}`);
    },
  }),
  endpoint({
    method: "post",
    path: "/organizations/:id/webhooks/:webhook_id/rotate",
    tag,
    access: "caller",
    scopes: ["webhooks:write"],
    summary: "Give a webhook a new secret; the old one signs too for a while",
    body: webhookRotate,
    answers: { 200: newWebhookAnswer },
    showsSecret: true,
    prepare: newWebhookSecret,
    call: ({ params, body, prepared }) => [
      rotateWebhook(
        params,
        sealSecret(body.secret ?? prepared, uuidOf(params.webhook_id)),
        body.overlap_seconds,
      ),
    ],
    respond: ([rows], { body, prepared }) => answer(200, withSecret(shown(rows), body.secret, prepared)),
  }),
  endpoint({
    method: "post",
    path: "/organizations/:id/webhooks/:webhook_id/test",
    tag,
    access: "caller",
    scopes: ["webhooks:write"],
    summary: "Send the event webhook.test to a webhook, as an admin",
    answers: { 201: deliveryAnswer },
    call: ({ params }) => [testWebhook(params)],
    respond: ([rows]) => answer(201, shown(rows)),
  }),
  endpoint({
    method: "get",
    path: "/organizations/:id/webhooks/:webhook_id/deliveries",
    tag,
    access: "caller",
    scopes: ["webhooks:read"],
    summary: "List a webhook's newest 100 deliveries, as an admin",
    query: deliveryListQuery,
    answers: { 200: deliveryListAnswer },
    call: ({ params, query }) => [listDeliveries(params, query)],
    respond: ([[log]], { query: { page, limit } }) => {
      if (!log) throw missing();
      return answer(200, log.data, pageMeta(log.total, page, limit));
    },
  }),
  endpoint({
    method: "get",
    path: "/organizations/:id/webhooks/:webhook_id/deliveries/:event_id",
    tag,
    access: "caller",
    scopes: ["webhooks:read"],
    summary: "Show a delivery with its attempts, as an admin",
    answers: { 200: deliveryDetailAnswer },
    call: ({ params }) => [showDelivery(params)],
    respond: ([rows]) => answer(200, shown(rows, missingDelivery)),
  }),
  endpoint({
    method: "post",
    path: "/organizations/:id/webhooks/:webhook_id/deliveries/:event_id/redeliver",
    tag,
    access: "caller",
    scopes: ["webhooks:write"],
    summary: "Send an event to its webhook again, as an admin",
    answers: { 200: deliveryAnswer },
    call: ({ params }) => [redeliver(params)],
    respond: ([rows]) => answer(200, shown(rows, missingDelivery)),
  }),
];
