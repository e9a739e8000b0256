import { log } from "../_shared/log.ts";
import { type Claim, exchange, fanOut, type Result } from "./database.ts";
import { deliver } from "./delivery.ts";
import { closeIdle } from "./post.ts";

const mostAtOnce = 384;
// Endpoints that did not answer well last never hold more than this.
const mostUnprovenAtOnce = 128;
// Hosted Supabase ends a worker after 150 seconds: a run ends before, and what it left is claimed by the next.
const longestRunMs = "EdgeRuntime" in globalThis ? 100_000 : Number.POSITIVE_INFINITY;
const betweenTurnsMs = 8;
const firstPauseMs = 5;
const longestPauseMs = 2_000;

let running: Promise<void> | undefined;
let asked = false;
let stopping = false;
let wake = () => {};

/** Sends what is due, until nothing is; resolves then. Asked again meanwhile, it looks again at once. */
export function dispatch(): Promise<void> {
  asked = true;
  wake();
  running ??= run().finally(() => {
    running = undefined;
  });
  return running;
}

/** Claims nothing more; resolves when what is under way is recorded. */
export async function finish(): Promise<void> {
  stopping = true;
  wake();
  await running;
}

async function run(): Promise<void> {
  const endsAt = performance.now() + longestRunMs;
  let finished: Result[] = [];
  let inFlight = 0;
  let unproven = 0;
  let failures = 0;
  let heldBackMs = firstPauseMs;

  const send = async (claimed: Claim) => {
    inFlight++;
    if (!claimed.is_healthy) unproven++;
    const result = await deliver(claimed);
    finished.push(result);
    inFlight--;
    if (!claimed.is_healthy) unproven--;
    wake();
  };

  for (;;) {
    asked = false;
    const results = finished;
    finished = [];
    let idle: boolean;
    let soon = false;
    try {
      const mayClaim = !stopping && performance.now() < endsAt;
      const { more, held_back } = mayClaim ? await fanOut() : { more: false, held_back: false };
      const room = mayClaim ? mostAtOnce - inFlight : 0;
      const claimed = await exchangeAll(results, room, mostUnprovenAtOnce - unproven);
      for (const one of claimed) send(one);
      idle = claimed.length === 0 && !more;
      soon = held_back;
      failures = 0;
    } catch (error) {
      // What was sent is recorded once the database is back; after the lease it would be sent again.
      log({ requestId: "dispatch", error });
      finished = [...results, ...finished];
      if (++failures > 30 || stopping) throw error;
      await pause(Math.min(100 * 2 ** failures, longestPauseMs));
      continue;
    }
    if (idle && !asked && finished.length === 0) {
      if (inFlight === 0 && !soon) break;
      // A long transaction is not asked for its end all the time.
      heldBackMs = soon ? Math.min(heldBackMs * 2, 500) : firstPauseMs;
      await woken(soon ? heldBackMs : longestPauseMs);
    }
    // A few large turns cost the database less than many small ones.
    await pause(betweenTurnsMs);
  }
  closeIdle();
}

/** One result that the database refuses must not keep the others from being recorded. */
async function exchangeAll(results: Result[], room: number, unprovenRoom: number): Promise<readonly Claim[]> {
  try {
    return await exchange(results, room, unprovenRoom);
  } catch (error) {
    if (!isOfData(error)) throw error;
    for (const result of results) {
      await exchange([result], 0, 0).catch((failure) => {
        if (!isOfData(failure)) throw failure;
        log({ requestId: "dispatch", error: failure });
      });
    }
    return [];
  }
}

const isOfData = (error: unknown) =>
  error instanceof Error && "code" in error && /^2[23]/.test(String(error.code));

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** Until a delivery has ended or somebody asks, at most so long. */
function woken(ms: number): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      wake = () => {};
      resolve();
    };
    const timer = setTimeout(done, ms);
    wake = done;
  });
}
