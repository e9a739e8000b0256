import type { Statement } from "../database/run.ts";
import { call } from "./shapes.ts";

export type NewStream = {
  id: string;
  tool: string;
  arguments: unknown;
  confirmed: boolean;
  locale: string;
  /** Whether tool and arguments come from a sentence. */
  isSentence: boolean;
  /** Of a sentence that is refused. */
  events: unknown[] | null;
};

export const openStream = ({ id, tool, arguments: args, confirmed, locale, isSentence, events }: NewStream) =>
  call("open_stream", id, tool, JSON.stringify(args), confirmed, locale, isSentence, events && JSON.stringify(events));

/** Locks the stream until the transaction ends, so that one process runs it. */
export const claimStream = (id: string) => call<object | null>("claim_stream", id);

export const finishStream = (id: string, events: unknown) => call("finish_stream", id, JSON.stringify(events));

/** The result of a call; null until it ran. For the login role. */
export const streamEvents = (id: string) => call<object | null>("stream_events", id);

export const openSubscription = (id: string, events: string[], needs: object[], surveyId: string | null) =>
  call("open_subscription", id, events, JSON.stringify(needs), surveyId);

export const readSubscription = (id: string) => call<object | null>("read_subscription", id);

/** Registers a stream about to open; raises RATE_LIMIT_EXCEEDED above a limit. */
export const holdStream = (id: string, address: string | null) => call("register_stream", id, address);

/** Runs as the login role. */
export const renewStreams = (renewed: string[], closed: string[]) => call("renew_streams", renewed, closed);

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
    select private.events_after(${xid}, ${id}, ${organizationIds}, ${limit})::text as data,
      (select coalesce(json_object_agg(k.key_id, k.version), '{}') from private.active_keys(${keyIds}) k) as living`;
}
