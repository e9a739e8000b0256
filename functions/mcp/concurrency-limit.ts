import { runStatement } from "../_shared/database/run.ts";
import { ApiError } from "../_shared/http/api-error.ts";
import { log } from "../_shared/runtime/log.ts";
import { renewStreams } from "../_shared/statements/agent-streams.ts";

const renewMs = 10_000;
const running = new Set<string>();
let timer: ReturnType<typeof setInterval> | undefined;

/** Keeps a stream registered in the database (see private.register_stream) until `release` is called. */
export function keepRegistered(id: string): { release: () => void } {
  running.add(id);
  timer ??= setInterval(() => renew([...running], []), renewMs);
  return {
    release: () => {
      if (!running.delete(id)) return;
      renew([], [id]);
      if (running.size > 0) return;
      clearInterval(timer);
      timer = undefined;
    },
  };
}

function renew(renewed: string[], closed: string[]): void {
  // A registration that is not removed now expires by itself.
  runStatement(renewStreams(renewed, closed)).catch((error) => log({ requestId: "", error }));
}

/** Limits concurrent streams of this process, for each caller and in total. */
export class ConcurrencyLimit {
  private readonly taken = new Map<string, number>();
  private all = 0;
  constructor(
    private readonly maxPerCaller: number,
    private readonly max: number,
  ) {}

  /** Returns a function that releases the slot. */
  acquire(caller: string): () => void {
    const own = this.taken.get(caller) ?? 0;
    if (own >= this.maxPerCaller || this.all >= this.max) throw tooManyStreams();
    this.taken.set(caller, own + 1);
    this.all++;
    let isTaken = true;
    return () => {
      if (!isTaken) return;
      isTaken = false;
      this.all--;
      const left = (this.taken.get(caller) ?? 1) - 1;
      if (left > 0) this.taken.set(caller, left);
      else this.taken.delete(caller);
    };
  }
}

const tooManyStreams = () =>
  new ApiError("RATE_LIMIT_EXCEEDED", "Too many streams of this agent are open. Close some.", [], { retry_after: 5 });
