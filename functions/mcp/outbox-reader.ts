import { setTimeout as sleep } from "node:timers/promises";
import { canonicalEventName, type EventAlias, type EventName } from "../../shared/events.ts";
import { alone } from "../_shared/database.ts";
import { envelopeOf } from "../_shared/event-envelope.ts";
import { log } from "../_shared/log.ts";
import { eventsAfter } from "../_shared/statements/agent-streams.ts";
import type { EventStream } from "./event-stream.ts";

/** Where somebody stands in the outbox: commits are in the order of (xid, id), ids alone are not. */
type Cursor = { xid: bigint; id: bigint };

/** An open stream and what it wants to hear. */
export type Follower = {
  stream: EventStream;
  organization_id: string;
  agent_id: string;
  key_id: string;
  /** When the agent last changed: with its policies the stream ends, to be opened anew under the new ones. */
  version: string;
  /** Names as they were asked for. */
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
// While nothing happens: a poll costs a millisecond of CPU, and ten a second would be the price of one silent stream.
const idlePollMs = 1_250;
const checkMs = 1_000;
const mostAtOnce = 500;
const mostFailures = 5;
const afterFailureMs = 1_000;

// One loop for all streams of the process: a thousand of them cost the database what one does.
const followers = new Set<Follower>();
let reading = false;

let wake = () => {};

/** Never earlier than the subscription itself, whatever the client says it has heard. */
export function cursorOf(lastEventId: string | undefined, since: string): Cursor {
  const start = { xid: BigInt(since), id: 0n };
  const match = /^(\d{1,20})-(\d{1,19})$/.exec(lastEventId ?? "");
  if (!match?.[1] || !match[2]) return start;
  const heard = { xid: BigInt(match[1]), id: BigInt(match[2]) };
  return isAfter(heard, start) && heard.xid < 2n ** 63n ? heard : start;
}

export function follow(follower: Follower): void {
  followers.add(follower);
  wake();
  if (reading) return;
  reading = true;
  readAll().finally(() => {
    reading = false;
  });
}

/** Reads from the cursor of who is furthest behind: those who are level share every page. */
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
      if (!isFull) await nap(wait);
    } catch (error) {
      log({ requestId: "", error });
      // Streams that end resume where they stopped, at a process that may be better off.
      if (++failures >= mostFailures) for (const { stream } of followers) stream.close();
      await sleep(afterFailureMs);
    }
  }
}

/** Ends early for a follower that comes: what it missed waits for it. */
async function nap(ms: number): Promise<void> {
  const woken = new AbortController();
  wake = () => woken.abort();
  await sleep(ms, undefined, { signal: woken.signal }).catch(() => {});
}

async function readPage(isCheckDue: boolean): Promise<{ isFull: boolean; isEmpty: boolean }> {
  // Who comes while the database is asked was not asked about.
  const present = [...followers];
  const [first, ...others] = present;
  if (!first) return { isFull: false, isEmpty: true };
  const from = others.reduce((least, { cursor }) => (isAfter(least, cursor) ? cursor : least), first.cursor);
  const organizations = [...new Set(present.map(({ organization_id }) => organization_id))];
  const keys = isCheckDue ? [...new Set(present.map(({ key_id }) => key_id))] : [];
  const cursor = { xid: String(from.xid), id: String(from.id) };
  const [row] = await alone(eventsAfter(cursor, organizations, mostAtOnce, keys));
  if (!row) return { isFull: false, isEmpty: true };
  const { head, events } = JSON.parse(row.data) as { head: string; events: OutboxEvent[] };
  const isFull = events.length === mostAtOnce;
  const last = events.at(-1);
  const reached = isFull && last ? placeOf(last) : { xid: BigInt(head), id: 0n };
  const byOrganization = new Map<string, OutboxEvent[]>(organizations.map((id) => [id, []]));
  for (const event of events) byOrganization.get(event.organization_id)?.push(event);
  if (isCheckDue) endThoseThatMayNot(present, row.living);
  for (const follower of present) {
    for (const event of byOrganization.get(follower.organization_id) ?? []) tell(follower, event);
    if (isAfter(reached, follower.cursor)) follower.cursor = reached;
  }
  return { isFull, isEmpty: events.length === 0 };
}

function tell(follower: Follower, event: OutboxEvent): void {
  const place = placeOf(event);
  if (!isAfter(place, follower.cursor)) return;
  follower.cursor = place;
  const name = follower.events.find((wanted) => canonicalEventName(wanted) === event.type);
  if (!name || !isWithin(follower, event)) return;
  follower.stream.send({ id: `${event.xid}-${event.id}`, event: name, data: envelopeOf(name, event) });
}

function isWithin({ survey_id, survey_ids, category_ids }: Follower, event: OutboxEvent): boolean {
  if (survey_id && event.survey_id !== survey_id) return false;
  if (event.survey_id) return survey_ids === null || survey_ids.includes(event.survey_id);
  return category_ids === null || (event.category_id !== null && category_ids.includes(event.category_id));
}

/** A key that ended, a policy that changed, a subscription that is over. */
function endThoseThatMayNot(present: Follower[], living: Record<string, string>): void {
  for (const { key_id, version, expires_at, stream } of present) {
    const current = living[key_id];
    const isSame = current !== undefined && Date.parse(current) === Date.parse(version);
    if (!isSame || Date.parse(expires_at) <= Date.now()) stream.close();
  }
}

const placeOf = ({ xid, id }: { xid: string; id: number }): Cursor => ({ xid: BigInt(xid), id: BigInt(id) });

function isAfter(a: Cursor, b: Cursor): boolean {
  return a.xid > b.xid || (a.xid === b.xid && a.id > b.id);
}
