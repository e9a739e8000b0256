import { setTimeout as sleep, setImmediate as yieldToOthers } from "node:timers/promises";
import { canonicalEventName, type EventAlias, type EventName } from "../../shared/events.ts";
import { runStatement } from "../_shared/database/run.ts";
import { envelopeOf } from "../_shared/dispatch/event-envelope.ts";
import { log } from "../_shared/runtime/log.ts";
import { eventsAfter } from "../_shared/statements/agent-streams.ts";
import { type EventStream, encodeEvent } from "./event-stream.ts";

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
  /** Number of events read for streams that are behind. */
  replayed?: number;
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
  /** Of the submission at the time of the event. */
  former_category_id: string | null;
  position: Cursor;
  /** By the requested name: encoded once for all streams. */
  encoded: Map<string, Uint8Array>;
};

type Page = { events: OutboxEvent[]; reached: Cursor; isFull: boolean; living: Record<string, string> };

const pollMs = 100;
// While idle: a poll costs a millisecond of CPU, so ten a second would be too expensive for one silent stream.
const idlePollMs = 1_250;
const checkMs = 1_000;
const maxEvents = 500;
const maxEventsBehind = 50;
/** Then the stream closes: each further part costs the agent a request. */
const maxReplayed = 10_000;
/** Number of streams that are served before other requests run. */
const maxFollowersAtOnce = 50;
const maxFailures = 5;
const afterFailureMs = 1_000;

// One polling loop for all streams of the process: a thousand streams cost the database as much as one.
const followers = new Set<Follower>();
let reading = false;
/** Position up to which new events were read. Streams before it are behind. */
let head: Cursor | undefined;

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
    head = undefined;
  });
}

/** In turns: new events, for the streams that have all earlier ones, and a page for streams that are behind. */
async function readAll(): Promise<void> {
  let checkedAt = Number.NEGATIVE_INFINITY;
  let failures = 0;
  let wait = pollMs;
  while (followers.size > 0) {
    for (const follower of followers) if (!follower.stream.isOpen) followers.delete(follower);
    try {
      const isCheckDue = performance.now() - checkedAt >= checkMs;
      const { isFull, events } = await readNew(isCheckDue);
      if (isCheckDue) checkedAt = performance.now();
      const hasRead = await readBehind();
      failures = 0;
      wait = events.length > 0 || isAnyBehind() ? pollMs : Math.min(wait * 2, idlePollMs);
      if (!isFull && !hasRead) await sleepUntilWake(wait);
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

async function readNew(isCheckDue: boolean): Promise<Page> {
  head ??= (await readPage({ xid: 0n, id: 0n }, [], 0, [])).reached;
  // Streams that were added during the query were not part of it.
  const present = [...followers];
  const live = present.filter(({ cursor }) => !isBehind(cursor));
  const page = await readPage(head, live, maxEvents, isCheckDue ? present : []);
  if (isCheckDue) endRevoked(present, page.living);
  await deliverAll(live, page);
  head = page.reached;
  return page;
}

/** Reads for the streams at one position, of an organization chosen at random. Returns whether there were any. */
async function readBehind(): Promise<boolean> {
  const behind = [...followers].filter(({ cursor, stream }) => isBehind(cursor) && !stream.isFull);
  const organization = anyOf([...new Set(behind.map(({ organization_id }) => organization_id))]);
  const own = behind.filter(({ organization_id }) => organization_id === organization);
  const cursor = anyOf(own)?.cursor;
  if (!cursor) return false;
  const readers = own.filter((one) => one.cursor.xid === cursor.xid && one.cursor.id === cursor.id);
  const page = await readPage(cursor, readers, maxEventsBehind, readers);
  endRevoked(readers, page.living);
  await deliverAll(readers, page);
  for (const reader of readers) {
    reader.replayed = (reader.replayed ?? 0) + page.events.length;
    if (reader.replayed > maxReplayed) reader.stream.close();
  }
  return true;
}

async function readPage(from: Cursor, readers: Follower[], limit: number, checked: Follower[]): Promise<Page> {
  const organizations = [...new Set(readers.map(({ organization_id }) => organization_id))];
  const keys = [...new Set(checked.map(({ key_id }) => key_id))];
  const cursor = { xid: String(from.xid), id: String(from.id) };
  const [row] = await runStatement(eventsAfter(cursor, organizations, limit, keys));
  const { head, events } = JSON.parse(row?.data ?? "") as { head: string; events: OutboxEvent[] };
  for (const event of events) {
    event.position = { xid: BigInt(event.xid), id: BigInt(event.id) };
    event.encoded = new Map();
  }
  const last = events.at(-1);
  const isFull = events.length === limit && last !== undefined;
  return { events, isFull, reached: isFull ? last.position : { xid: BigInt(head), id: 0n }, living: row?.living ?? {} };
}

async function deliverAll(readers: Follower[], { events, reached }: Page): Promise<void> {
  const byOrganization = new Map<string, OutboxEvent[]>(readers.map(({ organization_id }) => [organization_id, []]));
  for (const event of events) byOrganization.get(event.organization_id)?.push(event);
  for (const [n, reader] of readers.entries()) {
    if (events.length > 0 && n % maxFollowersAtOnce === maxFollowersAtOnce - 1) await yieldToOthers();
    deliver(reader, byOrganization.get(reader.organization_id) ?? [], reached);
  }
}

/** Up to the first event for which the stream has no room: the rest is read again when its reader has read. */
function deliver(follower: Follower, events: OutboxEvent[], reached: Cursor): void {
  for (const event of events) {
    if (!isAfter(event.position, follower.cursor)) continue;
    if (follower.stream.isFull) return;
    follower.cursor = event.position;
    const name = follower.events.find((alias) => canonicalEventName(alias) === event.type);
    if (name && isWithin(follower, event)) follower.stream.write(encodedOf(event, name));
  }
  if (isAfter(reached, follower.cursor)) follower.cursor = reached;
}

function encodedOf(event: OutboxEvent, name: EventName | EventAlias): Uint8Array {
  const known = event.encoded.get(name);
  if (known) return known;
  const encoded = encodeEvent({ id: `${event.xid}-${event.id}`, event: name, data: envelopeOf(name, event) });
  event.encoded.set(name, encoded);
  return encoded;
}

function isWithin({ survey_id, survey_ids, category_ids }: Follower, event: OutboxEvent): boolean {
  if (survey_id && event.survey_id !== survey_id) return false;
  if (event.survey_id) return survey_ids === null || survey_ids.includes(event.survey_id);
  // The text of an event was written for its category of then.
  const categories = [event.category_id, event.former_category_id];
  return category_ids === null || categories.every((id) => id !== null && category_ids.includes(id));
}

/** The key ended, a policy changed, or the subscription expired. */
function endRevoked(present: Follower[], living: Record<string, string>): void {
  for (const { key_id, version, expires_at, stream } of present) {
    const current = living[key_id];
    const isSame = current !== undefined && Date.parse(current) === Date.parse(version);
    if (!isSame || Date.parse(expires_at) <= Date.now()) stream.close();
  }
}

const isBehind = (cursor: Cursor) => head !== undefined && isAfter(head, cursor);
const isAnyBehind = () => [...followers].some(({ cursor }) => isBehind(cursor));
const anyOf = <Item>(items: Item[]) => items[Math.floor(Math.random() * items.length)];

function isAfter(a: Cursor, b: Cursor): boolean {
  return a.xid > b.xid || (a.xid === b.xid && a.id > b.id);
}
