import type { EventName } from "../../../shared/events.ts";
import type { Statement } from "../database/run.ts";
import type { Json } from "./shapes.ts";

/** Position after which a page starts; `at` shows whether later events may have been deleted. */
export type Position = { xid: string; id: string; at: string };

type Page = { more: boolean; xid: string; id: string; at: string; data: string };

export function eventsAfter(types: string[] | null, position: Position | null, limit: number): Statement<Page> {
  return (sql) => sql`
    select more, next_xid::text as xid, next_id::text as id, next_at::text as at, data::text
    from private.admin_events(${types}::text[], ${position?.xid ?? null}::text::xid8, ${position?.id ?? null}::text::bigint, ${position?.at ?? null}::text::timestamptz, ${limit})`;
}

/** An event, and what pages show of its data. */
export type ListedEvent = {
  id: string;
  event: EventName;
  timestamp: string;
  data: {
    submission?: { id: string; title: string };
    submission_id?: string;
    comment?: { submission_id: string; body: string };
    member?: { name: string };
    survey?: { id: string; title: string };
    survey_id?: string;
  };
};

/** A page of events, newest first; the position is null at the end. */
export function eventsBefore(
  types: string[] | null,
  position: Position | null,
  limit: number,
): Statement<{ data: Json<ListedEvent[]> } & ({ more: true; xid: string; id: string; at: string } | { more: false })> {
  return (sql) => sql`
    select more, next_xid::text as xid, next_id::text as id, next_at::text as at, data::text
    from private.admin_newest_events(${types}::text[], ${position?.xid ?? null}::text::xid8, ${position?.id ?? null}::text::bigint, ${limit})`;
}
