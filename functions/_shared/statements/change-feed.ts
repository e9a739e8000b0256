import type { Statement } from "../database/run.ts";

/** Position after which a page starts; `at` shows whether later events may have been deleted. */
export type Position = { xid: string; id: string; at: string };

type Page = { more: boolean; xid: string; id: string; at: string; data: string };

export function eventsAfter(
  types: string[] | null,
  position: Position | null,
  limit: number,
): Statement<Page> {
  return (sql) => sql`
    select more, next_xid::text as xid, next_id::text as id, next_at::text as at, data::text
    from private.admin_events(${types}::text[], ${position?.xid ?? null}::text::xid8, ${position?.id ?? null}::text::bigint, ${position?.at ?? null}::text::timestamptz, ${limit})`;
}

/** A page of events, newest first; the position is null at the end. */
export function eventsBefore(
  types: string[] | null,
  position: Position | null,
  limit: number,
): Statement<{ data: string } & ({ more: true; xid: string; id: string; at: string } | { more: false })> {
  return (sql) => sql`
    select more, next_xid::text as xid, next_id::text as id, next_at::text as at, data::text
    from private.admin_newest_events(${types}::text[], ${position?.xid ?? null}::text::xid8, ${position?.id ?? null}::text::bigint, ${limit})`;
}
