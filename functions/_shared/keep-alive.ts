/** API of Supabase's edge runtime, which otherwise stops an idle worker. */
declare const EdgeRuntime: { waitUntil(work: Promise<void>): void } | undefined;

/** Keeps a hosted worker alive until the work after the response is done. */
export function keepAlive(work: Promise<void>): void {
  if (typeof EdgeRuntime !== "undefined") EdgeRuntime.waitUntil(work);
}
