import { setTimeout as sleep } from "node:timers/promises";
import { messageOf } from "../start-error.ts";
import { isStatementError, type Notice, noticesOf } from "./changes.ts";
import type { Channel } from "./channel.ts";
import type { Core } from "./core.ts";
import { broadcastFrame, Frame } from "./frames.ts";
import type { Change } from "./pgoutput.ts";
import { topicKey } from "./topics.ts";

/** Delivers committed changes in order: rows to subscriptions, messages to topics. */
export async function deliver(core: Core, changes: Change[]): Promise<void> {
  const notices = await decide(core, changes);
  changes.forEach((change, index) => {
    if (change.relation.schema === "realtime") sendMessage(core, change);
    else sendNotices(notices[index] ?? []);
  });
}

const maxRetryMs = 10_000;

/** Nothing was sent yet, so retry after connection errors; skip only a change that cannot be evaluated. */
async function decide(core: Core, changes: Change[]): Promise<Notice<Channel>[][]> {
  for (const startedAt = Date.now(); ; await sleep(100)) {
    try {
      return await noticesOf(core.sql, core.catalog, changes, (change) =>
        core.subscriptions.candidates(change),
      );
    } catch (error) {
      if (!isStatementError(error)) {
        if (Date.now() - startedAt > maxRetryMs) throw error;
      } else if (changes.length > 1) {
        const each: Notice<Channel>[][] = [];
        for (const change of changes) each.push(...(await decide(core, [change])));
        return each;
      } else {
        core.onWarning(`a change of ${changes[0]?.relation.table} was not delivered: ${messageOf(error)}`);
        return [[]];
      }
    }
  }
}

function sendNotices(notices: Notice<Channel>[]): void {
  const frames = new Map<string, Map<string, Frame>>();
  for (const { owner, ids, data } of notices) {
    if (!owner.isJoined()) continue;
    const byIds = frames.get(data) ?? new Map<string, Frame>();
    frames.set(data, byIds);
    const list = ids.join(",");
    const frame = byIds.get(list) ?? new Frame("postgres_changes", `{"ids":[${list}],"data":${data}}`);
    byIds.set(list, frame);
    owner.send(frame);
  }
}

/** A row of realtime.messages, written by realtime.send(). */
function sendMessage(core: Core, { type, record }: Change): void {
  const [topic, event, payload] = ["topic", "event", "payload"].map((name) => record?.get(name));
  if (type !== "INSERT" || !topic || !event || record?.get("extension") !== "broadcast") return;
  const frame = broadcastFrame(event, payload ?? "{}", record.get("id") ?? undefined);
  core.topics.broadcast(topicKey(topic, record.get("private") === "t"), frame);
}
