import { setImmediate as otherWork, setTimeout as sleep } from "node:timers/promises";
import { messageOf } from "../start-error.ts";
import { isStatementError, type Job, type Notice, noticesOf } from "./changes.ts";
import type { Channel } from "./channel.ts";
import { type Core, topicKey } from "./core.ts";
import { Frame } from "./frames.ts";
import type { Change } from "./pgoutput.ts";
import { compared } from "./subscriptions.ts";

/** Delivers committed changes in order: rows to subscriptions, messages to topics. */
export async function deliver(core: Core, changes: Change[]): Promise<void> {
  for (const batch of batchesOf(core, changes)) {
    const notices = await decide(core, batch);
    const sendings = batch.flatMap(({ change }, index) =>
      change.relation.schema === "realtime" ? messages(core, change) : rows(notices[index] ?? []),
    );
    await send(inTurns(sendings));
  }
}

// Many listeners of many changes would fill the memory.
const maxWork = 50_000;

function* batchesOf(core: Core, changes: Change[]): Generator<Job<Channel>[]> {
  let batch: Job<Channel>[] = [];
  let work = 0;
  for (const change of changes) {
    const wanted = core.subscriptions.candidates(change);
    batch.push({ change, wanted });
    work += wanted.reduce((sum, subscription) => sum + 1 + compared(subscription).length, 0);
    if (work < maxWork) continue;
    yield batch;
    [batch, work] = [[], 0];
  }
  yield batch;
}

const maxRetryMs = 10_000;

/** Nothing was sent yet, so retry after connection errors; skip only a change that cannot be evaluated. */
async function decide(core: Core, batch: Job<Channel>[]): Promise<Notice<Channel>[][]> {
  for (const startedAt = Date.now(); ; await sleep(100)) {
    try {
      return await noticesOf(core.sql, core.catalog, batch);
    } catch (error) {
      if (!isStatementError(error)) {
        if (Date.now() - startedAt > maxRetryMs) throw error;
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

/** Addresses take turns, so that one with many channels does not delay the others. A channel's order is kept. */
export function inTurns<Receiver extends { addressName: string }, Sent>(
  sendings: [Receiver, Sent][],
): [Receiver, Sent][] {
  const turns = new Map<string, number>();
  const withTurn = sendings.map((sending): [number, [Receiver, Sent]] => {
    const turn = turns.get(sending[0].addressName) ?? 0;
    turns.set(sending[0].addressName, turn + 1);
    return [turn, sending];
  });
  return withTurn.sort(([a], [b]) => a - b).map(([, sending]) => sending);
}

// Then other clients are answered; a message costs more than its bytes.
const maxBytesAtOnce = 1024 * 1024;
const costOfMessage = 4096;

async function send(sendings: Sendings): Promise<void> {
  let bytes = 0;
  for (const [channel, frame] of sendings) {
    if (channel.isJoined()) bytes += costOfMessage + channel.send(frame);
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
function messages(core: Core, { type, record }: Change): Sendings {
  const [topic, event, payload, id] = ["topic", "event", "payload", "id"].map((name) => record?.get(name));
  if (type !== "INSERT" || !topic || !event || record?.get("extension") !== "broadcast") return [];
  const frame = new Frame(
    "broadcast",
    `{"type":"broadcast","event":${JSON.stringify(event)},"payload":${payload ?? "{}"},"meta":{"id":${JSON.stringify(id)}}}`,
  );
  const members = core.topics.get(topicKey(topic, record.get("private") === "t")) ?? [];
  return [...members].map((channel) => [channel, frame]);
}
