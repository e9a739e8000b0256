/** How much may be written: so many events (calls of console) in a time, each of so many characters. */
export interface LogLimit {
  events: number;
  milliseconds: number;
  characters: number;
  /** How long a line waits for others to share its event. */
  delay: number;
}

/** Hosted Supabase keeps 100 events in 10 seconds of a worker and drops the rest without a word. */
export const hostedLimit: LogLimit = { events: 100, milliseconds: 10_000, characters: 10_000, delay: 250 };
export const noLimit: LogLimit = {
  events: Number.POSITIVE_INFINITY,
  milliseconds: 0,
  characters: Number.POSITIVE_INFINITY,
  delay: 20,
};

const mostWaiting = 2000;
/** The rest of the events is for errors. */
const shareOfRequests = 0.6;

type Print = { line(text: string): void; error(text: string): void };

/** Errors go at once, lines of requests in batches. What does not fit waits; what cannot wait is counted and the count logged. */
export function createLogWriter(limit: LogLimit, print: Print) {
  const errors: string[] = [];
  const requests: string[] = [];
  let dropped = 0;
  let writtenAt: number[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;

  function add(line: string, to: string[]) {
    if (to.length < mostWaiting) to.push(line);
    else dropped++;
  }

  function admitDropped() {
    if (dropped > 0)
      requests.unshift(JSON.stringify({ at: new Date().toISOString(), dropped_lines: dropped }));
    dropped = 0;
  }

  function room(share: number): boolean {
    const since = Date.now() - limit.milliseconds;
    writtenAt = writtenAt.filter((at) => at > since);
    return writtenAt.length < limit.events * share;
  }

  function write(from: string[], share: number, printed: (text: string) => void) {
    while (from.length > 0 && room(share)) {
      if (limit.milliseconds > 0) writtenAt.push(Date.now());
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

  function writeWhatFits() {
    clearTimeout(timer);
    timer = undefined;
    write(errors, 1, print.error);
    if (room(shareOfRequests)) admitDropped();
    write(requests, shareOfRequests, print.line);
    if (errors.length + requests.length > 0) plan();
  }

  function plan() {
    timer ??= setTimeout(writeWhatFits, limit.delay);
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
    /** For the end of the process: everything, whatever the limit. */
    flush() {
      clearTimeout(timer);
      timer = undefined;
      admitDropped();
      if (errors.length > 0) print.error(errors.splice(0).join("\n"));
      if (requests.length > 0) print.line(requests.splice(0).join("\n"));
    },
  };
}
