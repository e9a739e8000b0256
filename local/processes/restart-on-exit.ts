import { setTimeout as sleep } from "node:timers/promises";
import { messageOf, StartError } from "./start-error.ts";

/** One run of a process. */
export interface Run {
  /** Resolves when it has ended, with a message for the operator; rejects if the end is permanent. */
  ended: Promise<string>;
  stop(): Promise<void>;
}

/** An error that a restart cannot fix. */
export class Unrecoverable extends StartError {
  override name = "Unrecoverable";
}

const minPauseMs = 100;
const maxPauseMs = 5_000;
/** A process that ran this long counts as started. */
const stableMs = 60_000;

/**
 * Restarts a process whenever it ends, with increasing pauses until it keeps running. A permanent end is
 * passed to `onLost`. `first` is running already.
 */
export function restartOnExit(
  first: Run,
  start: () => Run | Promise<Run>,
  onWarning: (message: string, kind: "restart") => void,
  onLost: (reason: Unrecoverable) => void = (reason) => onWarning(reason.message, "restart"),
): { stop(): Promise<void> } {
  let current = first;
  let stopping = false;
  const restart = async (): Promise<void> => {
    for (let pause = minPauseMs; !stopping; pause = Math.min(pause * 2, maxPauseMs)) {
      const startedAt = performance.now();
      const message = await current.ended;
      if (stopping) return;
      if (performance.now() - startedAt > stableMs) pause = minPauseMs;
      onWarning(message, "restart");
      await sleep(pause);
      if (stopping) return;
      try {
        current = await start();
      } catch (error) {
        if (error instanceof Unrecoverable) throw error;
        // A failed start is a run that ended at once.
        current = { ended: Promise.resolve(messageOf(error)), stop: async () => undefined };
      }
    }
    await current.stop();
  };
  const loop = restart().catch((error: unknown) => {
    if (!(error instanceof Unrecoverable)) throw error;
    if (!stopping) onLost(error);
  });
  return {
    async stop() {
      stopping = true;
      await current.stop();
      await loop;
    },
  };
}
