import type { Statement } from "../database/run.ts";

type MaybeData = { data: string | null };

export type NewStream = { id: string; tool: string; arguments: unknown; confirmed: boolean; locale: string };

export function openStream({ id, tool, arguments: args, confirmed, locale }: NewStream): Statement {
  return (sql) => sql`
    select private.open_stream(${id}, ${tool}, ${JSON.stringify(args)}::text::jsonb, ${confirmed}, ${locale})`;
}

/** Locks the stream until the transaction ends, so that one process runs it. */
export function claimStream(id: string): Statement<MaybeData> {
  return (sql) => sql`select private.claim_stream(${id})::text as data`;
}

export function finishStream(id: string, events: unknown): Statement {
  return (sql) => sql`select private.finish_stream(${id}, ${JSON.stringify(events)}::text::jsonb)`;
}

/** The result of a call; null until it ran. For the login role. */
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

/** Registers a stream about to open; raises RATE_LIMIT_EXCEEDED above a limit. */
export function holdStream(id: string, address: string | null): Statement {
  return (sql) => sql`select private.register_stream(${id}, ${address})`;
}

/** Runs as the login role. */
export function renewStreams(renewed: string[], closed: string[]): Statement {
  return (sql) => sql`select private.renew_streams(${renewed}::uuid[], ${closed}::uuid[])`;
}

/**
 * Runs as the login role: events of organizations after a cursor and the current outbox position; which keys are still
 * valid, and when their agents last changed.
 */
export function eventsAfter(
  { xid, id }: { xid: string; id: string },
  organizationIds: string[],
  limit: number,
  keyIds: string[],
): Statement<{ data: string; living: Record<string, string> }> {
  return (sql) => sql`
    select private.events_after(${xid}::text::xid8, ${id}::text::bigint, ${organizationIds}::uuid[], ${limit})::text as data,
      (select coalesce(json_object_agg(k.key_id, k.version), '{}') from private.active_keys(${keyIds}::uuid[]) k) as living`;
}
