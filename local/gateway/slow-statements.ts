/** Time of slow statements by caller in the current window, including failed ones. */
export class SlowStatements {
  #spent = new Map<string, { until: number; ms: number }>();

  constructor(
    private readonly allowedMs: number,
    private readonly windowMs: number,
    private readonly slowMs: number,
  ) {}

  charge(callers: string[], ms: number): void {
    if (ms < this.slowMs) return;
    const now = performance.now();
    if (this.#spent.size > 10_000) this.#forget(now);
    for (const caller of callers) {
      const spent = this.#spent.get(caller);
      if (spent && spent.until > now) spent.ms += ms;
      else this.#spent.set(caller, { until: now + this.windowMs, ms });
    }
  }

  /** Seconds until a caller over its limit may send requests again; 0 if allowed. */
  retryAfter(callers: string[]): number {
    const now = performance.now();
    const waits = callers.map((caller) => {
      const spent = this.#spent.get(caller);
      return spent && spent.ms >= this.allowedMs ? Math.ceil((spent.until - now) / 1000) : 0;
    });
    return Math.max(0, ...waits);
  }

  #forget(now: number): void {
    for (const [caller, { until }] of this.#spent) if (until <= now) this.#spent.delete(caller);
  }
}
