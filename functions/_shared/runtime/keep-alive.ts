/** API of Supabase's edge runtime, which otherwise stops an idle worker. */
declare const EdgeRuntime: { waitUntil(work: Promise<void>): void } | undefined;

const kept = new Set<Promise<void>>();

/** Keeps a hosted worker alive until the work after the response is done. */
export function keepAlive(work: Promise<void>): void {
  kept.add(work);
  const forget = () => kept.delete(work);
  work.then(forget, forget);
  if (typeof EdgeRuntime !== "undefined") EdgeRuntime.waitUntil(work);
}

/** Waits for the work after responses, before a process ends; at most four seconds. */
export const keptWork = () =>
  Promise.race([Promise.allSettled(kept), new Promise((resolve) => setTimeout(resolve, 4_000))]);
