/** A log limit: events (console calls) in an interval, and characters in an event. */
export interface LogLimit {
  events: number;
  milliseconds: number;
  characters: number;
  /** How long a line waits to share an event with others. */
  delay: number;
}

/** Hosted Supabase keeps 100 events of a worker in 10 seconds and silently drops the rest. */
export const hostedLimit: LogLimit = { events: 100, milliseconds: 10_000, characters: 10_000, delay: 250 };
export const noLimit: LogLimit = {
  events: Number.POSITIVE_INFINITY,
  milliseconds: 0,
  characters: Number.POSITIVE_INFINITY,
  delay: 20,
};

const maxQueued = 2000;
/** The remaining events are reserved for errors. */
const shareOfRequests = 0.6;

type Print = { line(text: string): void; error(text: string): void };

/**
 * Writes errors at once and request lines in batches. Lines above the limit wait; lines that cannot wait are dropped,
 * counted and the count logged.
 */
export function createLogWriter(limit: LogLimit, print: Print) {
  const errors: string[] = [];
  const requests: string[] = [];
  let dropped = 0;
  let writtenAt: number[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;

  function add(line: string, to: string[]) {
    if (to.length < maxQueued) to.push(line);
    else dropped++;
  }

  function admitDropped() {
    if (dropped > 0) requests.unshift(JSON.stringify({ at: new Date().toISOString(), dropped_lines: dropped }));
    dropped = 0;
  }

  function remaining(share: number): boolean {
    const since = performance.now() - limit.milliseconds;
    writtenAt = writtenAt.filter((at) => at > since);
    return writtenAt.length < limit.events * share;
  }

  function write(from: string[], share: number, printed: (text: string) => void) {
    while (from.length > 0 && remaining(share)) {
      if (limit.milliseconds > 0) writtenAt.push(performance.now());
      printed(nextBatch(from));
    }
  }

  function nextBatch(from: string[]): string {
    let size = 0;
    let count = 0;
    for (const line of from) {
      size += line.length + 1;
      if (count > 0 && size > limit.characters) break;
      count++;
    }
    return from.splice(0, count).join("\n");
  }

  function writeAllowed() {
    clearTimeout(timer);
    timer = undefined;
    write(errors, 1, print.error);
    if (remaining(shareOfRequests)) admitDropped();
    write(requests, shareOfRequests, print.line);
    if (errors.length + requests.length > 0) plan();
  }

  function plan() {
    timer ??= setTimeout(writeAllowed, limit.delay);
  }

  return {
    request(line: string) {
      add(line, requests);
      plan();
    },
    error(line: string) {
      add(line, errors);
      write(errors, 1, print.error);
      if (errors.length > 0) plan();
    },
    /** At the end of the process: writes everything, regardless of the limit. */
    flush() {
      clearTimeout(timer);
      timer = undefined;
      admitDropped();
      if (errors.length > 0) print.error(errors.splice(0).join("\n"));
      if (requests.length > 0) print.line(requests.splice(0).join("\n"));
    },
  };
}
