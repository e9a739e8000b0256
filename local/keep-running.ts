import { setTimeout as sleep } from "node:timers/promises";
import { messageOf } from "./start-error.ts";

/** One life of a process. */
export interface Run {
  /** Resolves when it has ended, with what an operator is told of it. */
  ended: Promise<string>;
  stop(): Promise<void>;
}

const shortestPause = 100;
const longestPause = 5_000;
/** Who lasted so long has not failed at starting. */
const lasting = 60_000;

/** Starts a process again whenever it ends, after pauses that grow until it lasts. `first` is running already. */
export function keepRunning(
  first: Run,
  start: () => Run | Promise<Run>,
  onTrouble: (message: string) => void,
): { stop(): Promise<void> } {
  let current = first;
  let stopping = false;
  const keep = async (): Promise<void> => {
    for (let pause = shortestPause; !stopping; pause = Math.min(pause * 2, longestPause)) {
      const startedAt = Date.now();
      const message = await current.ended;
      if (stopping) return;
      if (Date.now() - startedAt > lasting) pause = shortestPause;
      onTrouble(message);
      await sleep(pause);
      if (stopping) return;
      try {
        current = await start();
      } catch (error) {
        onTrouble(messageOf(error));
      }
    }
    await current.stop();
  };
  const kept = keep();
  return {
    async stop() {
      stopping = true;
      await current.stop();
      await kept;
    },
  };
}
