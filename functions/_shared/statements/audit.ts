import type { AuditQuery } from "../../../shared/audit.ts";
import { decodeCursor } from "../cursor.ts";
import type { Statement } from "../database.ts";

/** A page of the organization's audit trail, newest first, and where the next one starts. */
export function listAudit({
  limit,
  cursor,
  target_id,
  actor_id,
}: AuditQuery): Statement<{ data: string; more: boolean; last: [string, string] | null }> {
  const from = cursor === undefined ? undefined : decodeCursor(cursor, "created_at", "desc");
  return (sql) => sql`
    select data::text as data, more, last
    from private.admin_audit(${target_id ?? null}, ${actor_id ?? null}, ${from?.value ?? null}::text::timestamptz, ${from?.id ?? null}, ${limit})`;
}
