import type { Turns as Limits } from "./limits.ts";

interface Waiting {
  callers: string[];
  start(release: (() => void) | null): void;
}

/** Limits concurrent requests, in total and for each caller; further ones are queued. */
export class RequestQueue {
  #running = new Map<string, number>();
  #waitingOf = new Map<string, number>();
  #total = 0;
  #queue = new Set<Waiting>();

  constructor(private readonly limits: Limits) {}

  /** Resolves with a function that releases the slot, or with null after the timeout. */
  acquire(callers: string[]): Promise<(() => void) | null> {
    if (this.#mayRun(callers)) return Promise.resolve(this.#run(callers));
    const { waitingPerCaller, waitMs } = this.limits;
    if (callers.some((caller) => (this.#waitingOf.get(caller) ?? 0) >= waitingPerCaller)) return Promise.resolve(null);
    return new Promise((resolve) => {
      const waiting: Waiting = {
        callers,
        start: (release) => {
          clearTimeout(timer);
          this.#queue.delete(waiting);
          for (const caller of callers) add(this.#waitingOf, caller, -1);
          resolve(release);
        },
      };
      const timer = setTimeout(() => waiting.start(null), waitMs);
      for (const caller of callers) add(this.#waitingOf, caller, 1);
      this.#queue.add(waiting);
    });
  }

  #mayRun(callers: string[]): boolean {
    const { total, perCaller } = this.limits;
    return this.#total < total && callers.every((caller) => (this.#running.get(caller) ?? 0) < perCaller);
  }

  #run(callers: string[]): () => void {
    this.#total++;
    for (const caller of callers) add(this.#running, caller, 1);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.#total--;
      for (const caller of callers) add(this.#running, caller, -1);
      for (const waiting of this.#queue) {
        if (this.#total >= this.limits.total) return;
        if (this.#mayRun(waiting.callers)) waiting.start(this.#run(waiting.callers));
      }
    };
  }
}

function add(counts: Map<string, number>, key: string, difference: number): void {
  const count = (counts.get(key) ?? 0) + difference;
  if (count > 0) counts.set(key, count);
  else counts.delete(key);
}
