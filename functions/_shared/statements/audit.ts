import type { AuditQuery } from "../../../shared/audit.ts";
import type { Statement } from "../database/run.ts";
import { decodeCursor } from "../http/cursor.ts";

/** A page of the audit log, newest first, and the cursor of the next page. */
export function listAudit({
  limit,
  cursor,
  target_id,
  actor_id,
  action,
  from: fromDay,
  to: toDay,
}: AuditQuery): Statement<{ data: string; more: boolean; last: [string, string] | null }> {
  const from = cursor === undefined ? undefined : decodeCursor(cursor, "created_at", "desc");
  return (sql) => sql`
    select data::text as data, more, last
    from private.admin_audit(${target_id ?? null}, ${actor_id ?? null}, ${from?.value ?? null}::text::timestamptz, ${from?.id ?? null}, ${limit},
      ${action ?? null}, ${fromDay ?? null}::text::date, ${toDay ?? null}::text::date)`;
}

/** Values of the audit log's filters. */
export type AuditChoices = {
  time_zone: string;
  actions: string[];
  actors: { id: string; name: string; kind: string }[];
};

export function auditChoices(): Statement<{ data: AuditChoices }> {
  return (sql) => sql`select private.admin_audit_choices() as data`;
}
