import { log } from "../runtime/log.ts";
import { countOutcome } from "./outcomes.ts";

/** The queue of a dispatcher: how to claim, send and record its items. */
export type Queue<Claim, Result> = {
  /** Name in logs. */
  name: string;
  maxConcurrent: number;
  /** Fills the queue. more: it is not complete; held_back: it waits for the end of an open transaction. */
  prepare?: () => Promise<{ more: boolean; held_back: boolean }>;
  /** Records results and claims due items. */
  reportAndClaim(results: readonly Result[], capacity: number): Promise<readonly Claim[]>;
  /** Sends once; never throws. */
  send(claim: Claim): Promise<Result>;
  /** What metrics count a result as. */
  outcomeOf(result: Result): string;
  /** Milliseconds until the next claim, if a provider requested a pause. */
  pausedMs?: () => number;
  /** Called when the queue is empty. */
  onIdle?: () => void;
};

// Hosted Supabase stops a worker after 150 seconds: a run ends earlier, and the next run claims the rest.
const maxRunMs = "EdgeRuntime" in globalThis ? 100_000 : Number.POSITIVE_INFINITY;
const pollGapMs = 8;
const firstPauseMs = 5;
const maxPauseMs = 2_000;

/** Claims, sends and records items until the queue is empty. */
export function createDispatcher<Claim, Result>(queue: Queue<Claim, Result>) {
  const { name: requestId, pausedMs = () => 0 } = queue;
  let running: Promise<void> | undefined;
  let isWakeRequested = false;
  let stopping = false;
  let wakeUp = () => {};

  async function run(): Promise<void> {
    const endsAt = performance.now() + maxRunMs;
    let finished: Result[] = [];
    let inFlight = 0;
    let failures = 0;
    let heldBackMs = firstPauseMs;

    const send = async (claimed: Claim) => {
      inFlight++;
      const result = await queue.send(claimed);
      countOutcome(queue.outcomeOf(result));
      // Read `finished` after the send: the loop replaces the array.
      finished.push(result);
      inFlight--;
      wakeUp();
    };

    for (;;) {
      isWakeRequested = false;
      const results = finished;
      finished = [];
      let idle: boolean;
      let soon = false;
      try {
        const mayClaim = !stopping && performance.now() < endsAt && pausedMs() <= 0;
        const { more, held_back } = (mayClaim && (await queue.prepare?.())) || nothing;
        const capacity = mayClaim ? queue.maxConcurrent - inFlight : 0;
        const claimed = await reportAndClaimAll(results, capacity);
        for (const one of claimed) send(one);
        idle = claimed.length === 0 && !more;
        soon = held_back;
        failures = 0;
      } catch (error) {
        // Record the results when the database is back; after the lease the items would be sent again.
        log({ requestId, error });
        finished = [...results, ...finished];
        if (++failures > 30 || stopping) throw error;
        await pause(Math.min(100 * 2 ** failures, maxPauseMs));
        continue;
      }
      if (idle && !isWakeRequested && finished.length === 0) {
        if (inFlight === 0 && !soon) break;
        // Do not poll continuously for the end of a long transaction.
        heldBackMs = soon ? Math.min(heldBackMs * 2, 500) : firstPauseMs;
        await waitForWake(soon ? heldBackMs : maxPauseMs);
      }
      // A few large batches cost the database less than many small ones.
      await pause(pollGapMs);
    }
    queue.onIdle?.();
  }

  /** A result that the database rejects must not prevent recording the others. */
  async function reportAndClaimAll(results: Result[], capacity: number): Promise<readonly Claim[]> {
    try {
      return await queue.reportAndClaim(results, capacity);
    } catch (error) {
      if (!isOfData(error)) throw error;
      for (const result of results) {
        await queue.reportAndClaim([result], 0).catch((failure) => {
          if (!isOfData(failure)) throw failure;
          log({ requestId, error: failure });
        });
      }
      return [];
    }
  }

  /** Waits until a delivery ends or a run is requested, with a timeout. */
  function waitForWake(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        wakeUp = () => {};
        resolve();
      };
      const timer = setTimeout(done, ms);
      wakeUp = done;
    });
  }

  return {
    /** Sends all due items. A call during a run triggers another check. */
    dispatch(): Promise<void> {
      isWakeRequested = true;
      wakeUp();
      running ??= run().finally(() => {
        running = undefined;
      });
      return running;
    },
    /** Stops claiming; resolves when the items in flight are recorded. */
    async finish(): Promise<void> {
      stopping = true;
      wakeUp();
      await running;
    },
  };
}

const nothing = { more: false, held_back: false };

const isOfData = (error: unknown) => error instanceof Error && "code" in error && /^2[23]/.test(String(error.code));

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
