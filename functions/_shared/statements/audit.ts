import type { AuditQuery, auditAnswer } from "../../../shared/audit.ts";
import type { Statement } from "../database/run.ts";
import { decodeCursor } from "../http/cursor.ts";
import { type DataOf, type Json, read } from "./shapes.ts";

/** A page of the audit trail, newest first, and the cursor of the next page. */
export function listAudit({
  limit,
  cursor,
  target_id,
  actor_id,
  action,
  from: fromDay,
  to: toDay,
}: AuditQuery): Statement<{ data: Json<DataOf<typeof auditAnswer>>; more: boolean; last: [string, string] | null }> {
  const from = cursor === undefined ? undefined : decodeCursor(cursor, "created_at", "desc");
  return (sql) => sql`
    select data::text as data, more, last
    from private.admin_audit(${target_id ?? null}, ${actor_id ?? null}, ${from?.value ?? null}, ${from?.id ?? null}, ${limit},
      ${action ?? null}, ${fromDay ?? null}, ${toDay ?? null})`;
}

/** Values of the audit trail's filters. */
export type AuditChoices = { actions: string[]; actors: { id: string; name: string; kind: string }[] };

export const auditChoices = () => read<AuditChoices>("admin_audit_choices");
