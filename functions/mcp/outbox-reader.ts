import { setTimeout as sleep } from "node:timers/promises";
import { canonicalEventName, type EventAlias, type EventName } from "../../shared/events.ts";
import { alone } from "../_shared/database.ts";
import { envelopeOf } from "../_shared/event-envelope.ts";
import { log } from "../_shared/log.ts";
import { eventsAfter, livingKeys } from "../_shared/statements/agent-streams.ts";
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
const checkMs = 2_000;
const mostAtOnce = 500;
const mostFailures = 5;
const afterFailureMs = 1_000;
const mostOfOneAgent = 100;
const mostOfAll = 5_000;

// One loop for all streams of the process: a thousand of them cost the database what one does.
const followers = new Set<Follower>();
let reading = false;

export function isFull(agentId: string): boolean {
  if (followers.size >= mostOfAll) return true;
  let own = 0;
  for (const { agent_id } of followers) if (agent_id === agentId) own++;
  return own >= mostOfOneAgent;
}

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
  while (followers.size > 0) {
    for (const follower of followers) if (!follower.stream.isOpen) followers.delete(follower);
    try {
      const page = await readPage();
      if (Date.now() - checkedAt > checkMs) {
        await endThoseThatMayNot();
        checkedAt = Date.now();
      }
      failures = 0;
      if (!page.isFull) await sleep(pollMs);
    } catch (error) {
      log({ requestId: "", error });
      // Streams that end resume where they stopped, at a process that may be better off.
      if (++failures >= mostFailures) for (const { stream } of followers) stream.close();
      await sleep(afterFailureMs);
    }
  }
}

async function readPage(): Promise<{ isFull: boolean }> {
  const [first, ...others] = followers;
  if (!first) return { isFull: false };
  const from = others.reduce((least, { cursor }) => (isAfter(least, cursor) ? cursor : least), first.cursor);
  const organizations = [...new Set([...followers].map(({ organization_id }) => organization_id))];
  const present = [...followers];
  const cursor = { xid: String(from.xid), id: String(from.id) };
  const [row] = await alone(eventsAfter(cursor, organizations, mostAtOnce));
  if (!row) return { isFull: false };
  const { head, events } = JSON.parse(row.data) as { head: string; events: OutboxEvent[] };
  const isFull = events.length === mostAtOnce;
  const last = events.at(-1);
  const reached = isFull && last ? placeOf(last) : { xid: BigInt(head), id: 0n };
  const byOrganization = new Map<string, OutboxEvent[]>(organizations.map((id) => [id, []]));
  for (const event of events) byOrganization.get(event.organization_id)?.push(event);
  for (const follower of present) {
    for (const event of byOrganization.get(follower.organization_id) ?? []) tell(follower, event);
    if (isAfter(reached, follower.cursor)) follower.cursor = reached;
  }
  return { isFull };
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
async function endThoseThatMayNot(): Promise<void> {
  // Who comes while the database is asked was not asked about.
  const present = [...followers];
  const keys = [...new Set(present.map(({ key_id }) => key_id))];
  if (keys.length === 0) return;
  const living = new Map((await alone(livingKeys(keys))).map(({ key_id, version }) => [key_id, version]));
  for (const { key_id, version, expires_at, stream } of present) {
    const current = living.get(key_id);
    const isSame = current !== undefined && Date.parse(current) === Date.parse(version);
    if (!isSame || Date.parse(expires_at) <= Date.now()) stream.close();
  }
}

const placeOf = ({ xid, id }: { xid: string; id: number }): Cursor => ({ xid: BigInt(xid), id: BigInt(id) });

function isAfter(a: Cursor, b: Cursor): boolean {
  return a.xid > b.xid || (a.xid === b.xid && a.id > b.id);
}
