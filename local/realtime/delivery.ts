import { setImmediate as otherWork, setTimeout as sleep } from "node:timers/promises";
import { messageOf } from "../processes/start-error.ts";
import { isStatementError, type Job, type Notice, noticesOf } from "./changes.ts";
import { type Channel, type Core, topicKey } from "./channel.ts";
import { Frame } from "./frames.ts";
import type { Change } from "./pgoutput.ts";
import { compared } from "./subscriptions.ts";

interface Delivery extends Job<Channel> {
  /** Of the topic of a message. */
  members: Channel[];
}

/** Delivers committed changes in order: rows to subscriptions, messages to topics. */
export async function deliver(core: Core, changes: Change[]): Promise<void> {
  const all = changes.map((change): Delivery => {
    return { change, wanted: core.subscriptions.candidates(change), members: membersOf(core, change) };
  });
  const places = placesOf(all);
  const placeOf = ({ connection }: Channel) => places.get(connection.addressName) ?? 0;
  for (const batch of batchesOf(all, places)) {
    const notices = await decide(core, batch);
    const sendings = batch.flatMap(({ change, members }, index): Sendings => {
      return [...messages(change, members), ...rows(notices[index] ?? [])];
    });
    await send(sendings.sort(([a], [b]) => placeOf(a) - placeOf(b)));
  }
}

const workOf = (wanted: Job<Channel>["wanted"]) => wanted.reduce((sum, each) => sum + 1 + compared(each).length, 0);

/** Addresses with less work come first, so that one with thousands of channels delays itself: all work until their end. */
function placesOf(all: Delivery[]): Map<string, number> {
  const work = new Map<string, number>();
  const add = ({ connection: { addressName } }: Channel, more: number) =>
    work.set(addressName, (work.get(addressName) ?? 0) + more);
  for (const { wanted, members } of all) {
    for (const each of wanted) add(each.owner, workOf([each]));
    for (const member of members) add(member, 1);
  }
  let sum = 0;
  for (const [name, own] of [...work].sort(([, a], [, b]) => a - b)) {
    sum += own;
    work.set(name, sum);
  }
  return work;
}

// Many listeners of many changes would fill the memory.
const maxWork = 50_000;

function* batchesOf(all: Delivery[], places: Map<string, number>): Generator<Delivery[]> {
  const groupOf = (place = 0) => Math.floor(place / maxWork);
  for (const group of new Set([...places.values()].map(groupOf))) {
    const isOf = ({ connection }: Channel) => groupOf(places.get(connection.addressName)) === group;
    let [batch, size]: [Delivery[], number] = [[], 0];
    for (const { change, ...to } of all) {
      const wanted = to.wanted.filter(({ owner }) => isOf(owner));
      const members = to.members.filter(isOf);
      batch.push({ change, wanted, members });
      size += workOf(wanted) + members.length;
      if (size < maxWork) continue;
      yield batch;
      [batch, size] = [[], 0];
    }
    yield batch;
  }
}

const maxRetryMs = 10_000;

/** Nothing was sent yet, so retry after connection errors; skip only a change that cannot be evaluated. */
async function decide(core: Core, batch: Job<Channel>[]): Promise<Notice<Channel>[][]> {
  for (const startedAt = performance.now(); ; await sleep(100)) {
    try {
      return await noticesOf(core.sql, core.catalog, batch);
    } catch (error) {
      if (!isStatementError(error)) {
        if (performance.now() - startedAt > maxRetryMs) throw error;
      } else if (batch.length > 1) {
        const each: Notice<Channel>[][] = [];
        for (const job of batch) each.push(...(await decide(core, [job])));
        return each;
      } else {
        const { table } = batch[0]?.change.relation ?? {};
        core.onWarning(`a change of ${table} was not delivered: ${messageOf(error)}`);
        return [[]];
      }
    }
  }
}

type Sendings = [Channel, Frame][];

// Then other clients are answered; a message costs more than its bytes.
const maxBytesAtOnce = 1024 * 1024;
const costOfMessage = 4096;

async function send(sendings: Sendings): Promise<void> {
  let bytes = 0;
  for (const [channel, frame] of sendings) {
    if (channel.joined) bytes += costOfMessage + channel.send(frame);
    if (bytes < maxBytesAtOnce) continue;
    bytes = 0;
    await otherWork();
  }
}

/** Equal messages are one frame, and receivers of a topic follow each other. */
function rows(notices: Notice<Channel>[]): Sendings {
  const frames = new Map<string, Map<string, Frame>>();
  const sendings = notices.map(({ owner, ids, data }): [Channel, Frame] => {
    const byIds = frames.get(data) ?? new Map<string, Frame>();
    frames.set(data, byIds);
    const list = ids.join(",");
    const frame = byIds.get(list) ?? new Frame("postgres_changes", `{"ids":[${list}],"data":${data}}`);
    byIds.set(list, frame);
    return [owner, frame];
  });
  return sendings.sort(([a], [b]) => (a.topic < b.topic ? -1 : Number(a.topic > b.topic)));
}

/** A row of realtime.messages, written by realtime.send(). */
function messages({ record }: Change, members: Channel[]): Sendings {
  if (members.length === 0) return [];
  const [event, payload, id] = ["event", "payload", "id"].map((name) => record?.get(name));
  const frame = new Frame(
    "broadcast",
    `{"type":"broadcast","event":${JSON.stringify(event)},"payload":${payload ?? "{}"},"meta":{"id":${JSON.stringify(id)}}}`,
  );
  return members.map((channel) => [channel, frame]);
}

function membersOf({ topics }: Core, { relation, type, record }: Change): Channel[] {
  const [topic, event, extension] = ["topic", "event", "extension"].map((name) => record?.get(name));
  if (relation.schema !== "realtime" || type !== "INSERT" || !topic || !event || extension !== "broadcast") return [];
  return [...(topics.get(topicKey(topic, record?.get("private") === "t")) ?? [])];
}
