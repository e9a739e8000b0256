import { ApiError } from "../_shared/api-error.ts";
import { alone } from "../_shared/database.ts";
import { log } from "../_shared/log.ts";
import { renewStreams } from "../_shared/statements/agent-streams.ts";

const renewMs = 10_000;
const held = new Set<string>();
let timer: ReturnType<typeof setInterval> | undefined;

/** Keeps a stream counted in the database, where private.hold_stream counted it, until `release` is called. */
export function keepHeld(id: string): { release: () => void } {
  held.add(id);
  timer ??= setInterval(() => renew([...held], []), renewMs);
  return {
    release: () => {
      if (!held.delete(id)) return;
      renew([], [id]);
      if (held.size > 0) return;
      clearInterval(timer);
      timer = undefined;
    },
  };
}

function renew(renewed: string[], closed: string[]): void {
  // What is not told now expires by itself.
  alone(renewStreams(renewed, closed)).catch((error) => log({ requestId: "", error }));
}

/** Counts what is open in this process: of one caller and of all. */
export class Places {
  private readonly taken = new Map<string, number>();
  private all = 0;
  constructor(
    private readonly mostOfOne: number,
    private readonly mostOfAll: number,
  ) {}

  /** Returns what gives the place back. */
  take(caller: string): () => void {
    const own = this.taken.get(caller) ?? 0;
    if (own >= this.mostOfOne || this.all >= this.mostOfAll) throw tooManyStreams();
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
  new ApiError("RATE_LIMIT_EXCEEDED", "Too many streams of this agent are open: close some.", [], {
    retry_after: 5,
  });
