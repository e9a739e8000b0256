/** Of Supabase's workers, which stop when nothing waits for them. */
declare const EdgeRuntime: { waitUntil(work: Promise<void>): void } | undefined;

/** Has a worker of hosted Supabase that has answered wait for what goes on. */
export function keepAlive(work: Promise<void>): void {
  if (typeof EdgeRuntime !== "undefined") EdgeRuntime.waitUntil(work);
}
