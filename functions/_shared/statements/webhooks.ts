import type { PageQuery } from "../../../shared/pagination.ts";
import { uuidOf } from "../../../shared/path-parameters.ts";
import type {
  deliveryAnswer,
  deliveryDetailAnswer,
  deliveryListAnswer,
  WebhookPatch,
  webhookAnswer,
  webhookListAnswer,
} from "../../../shared/webhooks.ts";
import type { Statement } from "../database/run.ts";
import { call, type DataOf, type List, organizationOf, read } from "./shapes.ts";

export type Webhook = DataOf<typeof webhookAnswer>;
export type Delivery = DataOf<typeof deliveryAnswer>;

/** Organization and webhook of the path; the organization defaults to that of the request. */
type Named = { id?: string; webhook_id: string };
type NamedDelivery = Named & { event_id: string };

const ofWebhook = ({ id, webhook_id }: Named) => [organizationOf(id), uuidOf(webhook_id)] as const;
const ofDelivery = (named: NamedDelivery) => [...ofWebhook(named), uuidOf(named.event_id)] as const;

/** Raises NOT_FOUND or FORBIDDEN unless the caller may manage webhooks of the organization. */
export const requireWebhookAdmin = (organizationId: string | undefined) =>
  call("require_webhook_admin", organizationOf(organizationId), "webhooks:write");

export const listWebhooks = (organizationId?: string) =>
  call<DataOf<typeof webhookListAnswer> | null>("admin_list_webhooks", organizationOf(organizationId));

export const showWebhook = (named: Named) => call<Webhook | null>("admin_show_webhook", ...ofWebhook(named));

export const createWebhook = (
  organizationId: string | undefined,
  webhookId: string,
  { url, events, encrypted }: { url: string; events: string[]; encrypted: string },
) => call<Webhook | null>("admin_create_webhook", organizationOf(organizationId), webhookId, url, events, encrypted);

export const updateWebhook = (named: Named, { url, events, enabled }: WebhookPatch) =>
  call<Webhook | null>("admin_update_webhook", ...ofWebhook(named), url, events, enabled);

export const deleteWebhook = (named: Named) => read<boolean>("admin_delete_webhook", ...ofWebhook(named));

export const rotateWebhook = (named: Named, encrypted: string, overlapSeconds: number) =>
  call<Webhook | null>("admin_rotate_webhook", ...ofWebhook(named), encrypted, `${overlapSeconds} seconds`);

export const testWebhook = (named: Named) => call<Delivery | null>("admin_test_webhook", ...ofWebhook(named));

export function listDeliveries(
  { id, webhook_id }: Named,
  { page, limit }: PageQuery,
): Statement<List<DataOf<typeof deliveryListAnswer>[number]>> {
  return (sql) => sql`
    select d.total, d.data::text as data
    from private.admin_list_deliveries(${organizationOf(id)}, ${uuidOf(webhook_id)}, ${page}, ${limit}) d`;
}

export const showDelivery = (named: NamedDelivery) =>
  call<DataOf<typeof deliveryDetailAnswer> | null>("admin_show_delivery", ...ofDelivery(named));

export const redeliver = (named: NamedDelivery) => call<Delivery | null>("admin_redeliver", ...ofDelivery(named));
