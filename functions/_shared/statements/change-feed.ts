import type { Statement } from "../database.ts";

/** After which event a page begins; `at` tells whether what came after it may have been deleted. */
export type Place = { xid: string; id: string; at: string };

type Page = { more: boolean; xid: string; id: string; at: string; data: string };

export function eventsAfter(types: string[] | null, place: Place | null, limit: number): Statement<Page> {
  return (sql) => sql`
    select more, next_xid::text as xid, next_id::text as id, next_at::text as at, data::text
    from private.admin_events(${types}::text[], ${place?.xid ?? null}::text::xid8, ${place?.id ?? null}::text::bigint, ${place?.at ?? null}::text::timestamptz, ${limit})`;
}
