import { setTimeout as sleep } from "node:timers/promises";

/** Repeats until the result is neither undefined nor false; gives up after the timeout. */
export async function until<Found>(
  look: () => Found | Promise<Found>,
  patienceMs = 40_000,
): Promise<Exclude<Found, undefined | false>> {
  for (const deadline = Date.now() + patienceMs; ; await sleep(10)) {
    const found = await look();
    if (found !== undefined && found !== false) return found as Exclude<Found, undefined | false>;
    if (Date.now() > deadline) throw new Error(`not within ${patienceMs} ms: ${look}`);
  }
}
