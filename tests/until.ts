import { setTimeout as sleep } from "node:timers/promises";

/** Looks again until it finds something, or what it says is true; then gives up. */
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
