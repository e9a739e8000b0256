import { setTimeout as sleep, setImmediate as yieldToOthers } from "node:timers/promises";
import { canonicalEventName, type EventAlias, type EventName } from "../../shared/events.ts";
import { runStatement } from "../_shared/database.ts";
import { envelopeOf } from "../_shared/event-envelope.ts";
import { log } from "../_shared/log.ts";
import { eventsAfter } from "../_shared/statements/agent-streams.ts";
import type { EventStream } from "./event-stream.ts";

/** A position in the outbox. Commit order is (xid, id); id alone is not. */
type Cursor = { xid: bigint; id: bigint };

/** An open stream and its events. */
export type Follower = {
  stream: EventStream;
  organization_id: string;
  agent_id: string;
  key_id: string;
  /** When the agent last changed. A policy change closes the stream; the client reopens it under the new policies. */
  version: string;
  /** Event names as requested, including aliases. */
  events: (EventName | EventAlias)[];
  survey_id: string | null;
  category_ids: string[] | null;
  survey_ids: string[] | null;
  expires_at: string;
  cursor: Cursor;
};

type OutboxEvent = {
  xid: string;
  id: number;
  event_id: string;
  organization_id: string;
  type: EventName;
  timestamp: string;
  data: Record<string, unknown>;
  survey_id: string | null;
  category_id: string | null;
};

const pollMs = 100;
// While idle: a poll costs a millisecond of CPU, so ten a second would be too expensive for one silent stream.
const idlePollMs = 1_250;
const checkMs = 1_000;
const maxEvents = 500;
/** Number of streams that are served before other requests run. */
const maxFollowersAtOnce = 50;
const maxFailures = 5;
const afterFailureMs = 1_000;

// One polling loop for all streams of the process: a thousand streams cost the database as much as one.
const followers = new Set<Follower>();
let reading = false;

let wakeUp = () => {};

/** Never before the creation of the subscription, regardless of Last-Event-ID. */
export function cursorOf(lastEventId: string | undefined, since: string): Cursor {
  const start = { xid: BigInt(since), id: 0n };
  const match = /^(\d{1,20})-(\d{1,19})$/.exec(lastEventId ?? "");
  if (!match?.[1] || !match[2]) return start;
  const position = { xid: BigInt(match[1]), id: BigInt(match[2]) };
  return isAfter(position, start) && position.xid < 2n ** 63n ? position : start;
}

export function follow(follower: Follower): void {
  followers.add(follower);
  wakeUp();
  if (reading) return;
  reading = true;
  readAll().finally(() => {
    reading = false;
  });
}

/** Reads from the position of the stream furthest behind; streams at the same position share each page. */
async function readAll(): Promise<void> {
  let checkedAt = 0;
  let failures = 0;
  let wait = pollMs;
  while (followers.size > 0) {
    for (const follower of followers) if (!follower.stream.isOpen) followers.delete(follower);
    try {
      const isCheckDue = Date.now() - checkedAt >= checkMs;
      const { isFull, isEmpty } = await readPage(isCheckDue);
      if (isCheckDue) checkedAt = Date.now();
      failures = 0;
      wait = isEmpty ? Math.min(wait * 2, idlePollMs) : pollMs;
      if (!isFull) await sleepUntilWake(wait);
    } catch (error) {
      log({ requestId: "", error });
      // Streams that end can resume in another process, which may have more capacity.
      if (++failures >= maxFailures) for (const { stream } of followers) stream.close();
      await sleep(afterFailureMs);
    }
  }
}

/** Wakes up early for a new stream, which may have pending events. */
async function sleepUntilWake(ms: number): Promise<void> {
  const abort = new AbortController();
  wakeUp = () => abort.abort();
  await sleep(ms, undefined, { signal: abort.signal }).catch(() => {});
}

async function readPage(isCheckDue: boolean): Promise<{ isFull: boolean; isEmpty: boolean }> {
  // Streams that were added during the query were not part of it.
  const present = [...followers];
  const [first, ...others] = present;
  if (!first) return { isFull: false, isEmpty: true };
  const from = others.reduce((least, { cursor }) => (isAfter(least, cursor) ? cursor : least), first.cursor);
  const organizations = [...new Set(present.map(({ organization_id }) => organization_id))];
  const keys = isCheckDue ? [...new Set(present.map(({ key_id }) => key_id))] : [];
  const cursor = { xid: String(from.xid), id: String(from.id) };
  const [row] = await runStatement(eventsAfter(cursor, organizations, maxEvents, keys));
  if (!row) return { isFull: false, isEmpty: true };
  const { head, events } = JSON.parse(row.data) as { head: string; events: OutboxEvent[] };
  const isFull = events.length === maxEvents;
  const last = events.at(-1);
  const reached = isFull && last ? positionOf(last) : { xid: BigInt(head), id: 0n };
  const byOrganization = new Map<string, OutboxEvent[]>(organizations.map((id) => [id, []]));
  for (const event of events) byOrganization.get(event.organization_id)?.push(event);
  if (isCheckDue) endRevoked(present, row.living);
  for (const [n, follower] of present.entries()) {
    if (events.length > 0 && n % maxFollowersAtOnce === maxFollowersAtOnce - 1) await yieldToOthers();
    for (const event of byOrganization.get(follower.organization_id) ?? []) deliver(follower, event);
    if (isAfter(reached, follower.cursor)) follower.cursor = reached;
  }
  return { isFull, isEmpty: events.length === 0 };
}

function deliver(follower: Follower, event: OutboxEvent): void {
  const position = positionOf(event);
  if (!isAfter(position, follower.cursor)) return;
  follower.cursor = position;
  const name = follower.events.find((alias) => canonicalEventName(alias) === event.type);
  if (!name || !isWithin(follower, event)) return;
  follower.stream.send({ id: `${event.xid}-${event.id}`, event: name, data: envelopeOf(name, event) });
}

function isWithin({ survey_id, survey_ids, category_ids }: Follower, event: OutboxEvent): boolean {
  if (survey_id && event.survey_id !== survey_id) return false;
  if (event.survey_id) return survey_ids === null || survey_ids.includes(event.survey_id);
  return category_ids === null || (event.category_id !== null && category_ids.includes(event.category_id));
}

/** The key ended, a policy changed, or the subscription expired. */
function endRevoked(present: Follower[], living: Record<string, string>): void {
  for (const { key_id, version, expires_at, stream } of present) {
    const current = living[key_id];
    const isSame = current !== undefined && Date.parse(current) === Date.parse(version);
    if (!isSame || Date.parse(expires_at) <= Date.now()) stream.close();
  }
}

const positionOf = ({ xid, id }: { xid: string; id: number }): Cursor => ({
  xid: BigInt(xid),
  id: BigInt(id),
});

function isAfter(a: Cursor, b: Cursor): boolean {
  return a.xid > b.xid || (a.xid === b.xid && a.id > b.id);
}
