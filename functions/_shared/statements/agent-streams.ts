import type { Statement } from "../database.ts";
import type { Data } from "./shapes.ts";

type MaybeData = { data: string | null };

export type NewStream = { id: string; tool: string; arguments: unknown; confirmed: boolean; locale: string };

export function openStream({ id, tool, arguments: args, confirmed, locale }: NewStream): Statement {
  return (sql) => sql`
    select private.open_stream(${id}, ${tool}, ${JSON.stringify(args)}::text::jsonb, ${confirmed}, ${locale})`;
}

/** Locked until the transaction ends, so that one process runs it. */
export function claimStream(id: string): Statement<MaybeData> {
  return (sql) => sql`select private.claim_stream(${id})::text as data`;
}

export function finishStream(id: string, events: unknown): Statement {
  return (sql) => sql`select private.finish_stream(${id}, ${JSON.stringify(events)}::text::jsonb)`;
}

/** As the login role: null until it ran. */
export function streamEvents(id: string): Statement<MaybeData> {
  return (sql) => sql`select private.stream_events(${id})::text as data`;
}

export function openSubscription(
  id: string,
  events: string[],
  needs: object[],
  surveyId: string | null,
): Statement {
  return (sql) =>
    sql`select private.open_subscription(${id}, ${events}, ${JSON.stringify(needs)}::text::jsonb, ${surveyId})`;
}

export function readSubscription(id: string): Statement<MaybeData> {
  return (sql) => sql`select private.read_subscription(${id})::text as data`;
}

/** As the login role: events of organizations after a cursor, and where the outbox stands. */
export function eventsAfter(
  { xid, id }: { xid: string; id: string },
  organizationIds: string[],
  most: number,
): Statement<Data> {
  return (sql) => sql`
    select private.events_after(${xid}::text::xid8, ${id}::text::bigint, ${organizationIds}::uuid[], ${most})::text as data`;
}

/** As the login role: those still valid, and when their agent last changed. */
export function livingKeys(keyIds: string[]): Statement<{ key_id: string; version: string }> {
  return (sql) =>
    sql`select k.key_id, k.version::text as version from private.living_keys(${keyIds}::uuid[]) k`;
}
