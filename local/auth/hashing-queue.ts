/**
 * Password hashing takes 80 ms of CPU: limits concurrency and alternates between addresses, so that a flood delays only
 * itself.
 */
export interface HashingQueue {
  /** Runs the work, or rejects it if too many are queued. */
  run(address: string, work: () => Promise<Response>): Promise<Response | "full">;
}

interface QueueLimits {
  running: number;
  waiting: number;
  waitingEach: number;
  patience: number;
}

export function createHashingQueue({ running, waiting, waitingEach, patience }: QueueLimits): HashingQueue {
  // An address moves to the end after its turn.
  const waiters = new Map<string, ((start: boolean) => void)[]>();
  let [free, count] = [running, 0];

  const leave = (address: string, waiter: (start: boolean) => void) => {
    const left = (waiters.get(address) ?? []).filter((other) => other !== waiter);
    waiters.delete(address);
    if (left.length > 0) waiters.set(address, left);
    count -= 1;
  };
  const release = () => {
    const [next] = waiters;
    const first = next?.[1][0];
    if (next === undefined || first === undefined) {
      free += 1;
      return;
    }
    leave(next[0], first);
    first(true);
  };
  const wait = (address: string): Promise<boolean> => {
    const own = waiters.get(address) ?? [];
    if (count >= waiting || own.length >= waitingEach) return Promise.resolve(false);
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        leave(address, waiter);
        resolve(false);
      }, patience);
      const waiter = (start: boolean) => {
        clearTimeout(timer);
        resolve(start);
      };
      waiters.set(address, [...own, waiter]);
      count += 1;
    });
  };

  return {
    async run(address, work) {
      if (free > 0) free -= 1;
      else if (!(await wait(address))) return "full";
      try {
        return await work();
      } finally {
        release();
      }
    },
  };
}
