import type { PageQuery } from "../../../shared/pagination.ts";
import { uuidOf } from "../../../shared/path-parameters.ts";
import type { WebhookPatch } from "../../../shared/webhooks.ts";
import type { Sql, Statement } from "../database/run.ts";

type MaybeData = { data: string | null };
/** Organization and webhook of the path; the organization defaults to that of the request. */
type Named = { id?: string; webhook_id: string };

const organizationOf = (sql: Sql, id: string | undefined) =>
  id === undefined ? sql`private.current_organization_id()` : sql`${id}`;

/** Raises NOT_FOUND or FORBIDDEN unless the caller may manage webhooks of the organization. */
export function requireWebhookAdmin(organizationId: string): Statement {
  return (sql) => sql`select private.require_webhook_admin(${organizationId}, 'webhooks:write')`;
}

export function listWebhooks(organizationId?: string): Statement<MaybeData> {
  return (sql) =>
    sql`select private.admin_list_webhooks(${organizationOf(sql, organizationId)})::text as data`;
}

export function showWebhook({ id, webhook_id }: Named): Statement<MaybeData> {
  return (sql) =>
    sql`select private.admin_show_webhook(${organizationOf(sql, id)}, ${uuidOf(webhook_id)})::text as data`;
}

export function createWebhook(
  organizationId: string,
  webhookId: string,
  { url, events, encrypted }: { url: string; events: string[]; encrypted: string },
): Statement<MaybeData> {
  return (sql) =>
    sql`select private.admin_create_webhook(${organizationId}, ${webhookId}, ${url}, ${events}, ${encrypted})::text as data`;
}

export function updateWebhook(
  { id, webhook_id }: Required<Named>,
  {
    url = null,
    events = null,
    enabled = null,
  }: { [Field in keyof WebhookPatch]: WebhookPatch[Field] | null },
): Statement<MaybeData> {
  return (sql) =>
    sql`select private.admin_update_webhook(${id}, ${uuidOf(webhook_id)}, ${url}, ${events}, ${enabled})::text as data`;
}

export function deleteWebhook({ id, webhook_id }: Required<Named>): Statement<{ deleted: boolean }> {
  return (sql) => sql`select private.admin_delete_webhook(${id}, ${uuidOf(webhook_id)}) as deleted`;
}

export function rotateWebhook(
  { id, webhook_id }: Required<Named>,
  encrypted: string,
  overlapSeconds: number,
): Statement<MaybeData> {
  return (sql) => sql`
    select private.admin_rotate_webhook(${id}, ${uuidOf(webhook_id)}, ${encrypted}, make_interval(secs => ${overlapSeconds}))::text as data`;
}

export function testWebhook({ id, webhook_id }: Required<Named>): Statement<MaybeData> {
  return (sql) => sql`select private.admin_test_webhook(${id}, ${uuidOf(webhook_id)})::text as data`;
}

export function listDeliveries(
  { id, webhook_id }: Named,
  { page, limit }: PageQuery,
): Statement<{ total: number; data: string }> {
  return (sql) => sql`
    select d.total, d.data::text as data from private.admin_list_deliveries(${organizationOf(sql, id)}, ${uuidOf(webhook_id)}, ${page}, ${limit}) d`;
}

type NamedDelivery = Named & { event_id: string };

export function showDelivery({ id, webhook_id, event_id }: NamedDelivery): Statement<MaybeData> {
  return (sql) =>
    sql`select private.admin_show_delivery(${organizationOf(sql, id)}, ${uuidOf(webhook_id)}, ${uuidOf(event_id)})::text as data`;
}

export function redeliver({ id, webhook_id, event_id }: Required<NamedDelivery>): Statement<MaybeData> {
  return (sql) =>
    sql`select private.admin_redeliver(${id}, ${uuidOf(webhook_id)}, ${uuidOf(event_id)})::text as data`;
}
