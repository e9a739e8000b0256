import { randomUUID } from "node:crypto";
import { withDatabase } from "../../../local/postgres/database.ts";
import type { Place } from "../../browsers/demo.ts";
import { shownToAdmins } from "./api-keys.ts";
import { type AdminArea, type AdminWorld, doneByAdmins, forAdmins } from "./callers.ts";

/** An endpoint without a receiver; its events never happen. */
export async function newWebhook({ organization }: AdminWorld): Promise<string> {
  const { sql } = await import("../../stack.ts");
  const id = randomUUID();
  await sql`insert into private.webhooks (id, organization_id, url, events, encrypted_secret)
    values (${id}, ${organization.id}, 'https://hooks.example.org/in', '{survey.closed}', 'test.secret')`;
  return `wh_${id.replaceAll("-", "")}`;
}

/** The webhook and a delivery of it, as their pages name them. */
async function newDelivery(world: AdminWorld): Promise<string> {
  const { sql } = await import("../../stack.ts");
  const webhook = await newWebhook(world);
  const id = randomUUID();
  await sql`insert into private.webhook_deliveries
      (organization_id, webhook_id, event_id, event, data, status, attempt_count, attempts, finished_at)
    values (${world.organization.id}, ${webhook.slice(3)}::uuid, ${id}, 'survey.closed', '{"survey_id": "1"}', 'failed', 1,
      jsonb_build_array(private.logged_attempt(1, now(), 1234, 500, 'not <b>now</b>', null)), now())`;
  return `${webhook}/deliveries/evt_${id.replaceAll("-", "")}`;
}

const base = "/settings/webhooks";

/** A paused webhook of the demo data with a delivery that failed, and their pages. */
async function shownWebhook(databaseUrl: string): Promise<Place[]> {
  const id = "5b6b6a8e-3c1f-4a57-9d0c-1f0e5d9a7b36";
  await withDatabase(databaseUrl, async (sql) => {
    await sql`insert into private.webhooks (id, organization_id, url, events, encrypted_secret, is_enabled, disabled_reason)
      select ${id}, o.id, 'https://hooks.example.org/feedback', '{submission.created,comment.created}', 'demo.secret', false,
        'admin' from public.organizations o where o.is_default on conflict do nothing`;
    await sql`insert into private.webhook_deliveries
        (organization_id, webhook_id, event_id, event, data, status, attempt_count, attempts, finished_at)
      select w.organization_id, w.id, w.id, 'submission.created', '{"submission": {"title": "Job sheets that work offline"}}',
        'failed', 2, jsonb_build_array(
          private.logged_attempt(1, now(), 1234, 503, '<h1>Unavailable</h1>', null),
          private.logged_attempt(2, now(), 10000, null, null, 'No response within 10 seconds.')), now()
      from private.webhooks w where w.id = ${id} on conflict do nothing`;
  });
  const path = `/admin/settings/webhooks/wh_${id.replaceAll("-", "")}`;
  const delivery = `${path}/deliveries/evt_${id.replaceAll("-", "")}`;
  return [
    { name: "admin, webhook", path, as: "owner" },
    { name: "admin, webhook delivery", path: delivery, as: "owner" },
    { name: "admin, webhook deleted", path: `${path}/delete`, as: "owner" },
  ];
}

export const webhooksArea: AdminArea = {
  name: "webhooks",
  pages: [
    [base, forAdmins],
    [`${base}/new`, forAdmins],
    [`${base}/:webhook`, forAdmins],
    [`${base}/:webhook/edit`, forAdmins],
    [`${base}/:webhook/rotate`, forAdmins],
    [`${base}/:webhook/delete`, forAdmins],
    [`${base}/:delivery`, forAdmins],
  ],
  forms: [
    [base, { url: "https://192.0.2.1/hooks", events: "survey.closed" }, "in 403 403 422 422 403"],
    [base, { url: "http://127.0.0.1/hooks", events: "survey.closed" }, shownToAdmins],
    [`${base}/:webhook/edit`, { _method: "patch", events: "survey.published" }, doneByAdmins],
    [`${base}/:webhook/rotate`, {}, shownToAdmins],
    [`${base}/:webhook/test`, {}, doneByAdmins],
    [`${base}/:webhook`, { _method: "patch", enabled: "false" }, doneByAdmins],
    [`${base}/:delivery/redeliver`, {}, doneByAdmins],
    [`${base}/:webhook`, { _method: "delete" }, doneByAdmins],
  ],
  ids: { ":webhook": newWebhook, ":delivery": newDelivery },
  places: async (_first, { db_url }) => [
    ...(await shownWebhook(db_url)),
    { name: "admin, webhooks", path: "/admin/settings/webhooks", as: "owner" },
    { name: "admin, new webhook", path: "/admin/settings/webhooks/new", as: "owner" },
  ],
};
