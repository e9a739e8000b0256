import { alone } from "../_shared/database.ts";
import { log } from "../_shared/log.ts";
import { recordCalls } from "../_shared/statements/tool-calls.ts";

/** A call that only read, or that was refused. One that changed something is recorded in its own transaction. */
export type AuditedCall = {
  /** Of the key, in hex. */
  digest: string;
  request_id: string;
  tool: string;
  scope: string | null;
  /** ok, or the code of the error. */
  outcome: string;
  duration_ms: number;
  argument_names: string[];
  address: string | null;
};

// Hosted Supabase ends a worker that has answered unless it is told to wait.
const { EdgeRuntime: edgeRuntime } = globalThis as {
  EdgeRuntime?: { waitUntil(work: Promise<void>): void };
};
let collected: AuditedCall[] = [];
let writing: Promise<void> | undefined;
const floods = new Map<string, number>();
const floodPauseMs = 60_000;

/** Goes to the database with what others collected meanwhile, off the way of the answer. */
export function audit(call: AuditedCall): void {
  if (isFlood(call)) return;
  collected.push(call);
  if (writing) return;
  writing = write();
  edgeRuntime?.waitUntil(writing);
}

/** Waits for what is collected; call it before the process ends. */
export function flushAudit(): Promise<void> | undefined {
  return writing;
}

// Who is refused for calling too often, or with a key that ended, is told of once a minute.
function isFlood({ digest, outcome }: AuditedCall): boolean {
  if (outcome !== "RATE_LIMIT_EXCEEDED" && outcome !== "UNAUTHORIZED") return false;
  const last = floods.get(digest);
  if (last !== undefined && Date.now() - last < floodPauseMs) return true;
  if (floods.size >= 10_000) floods.clear();
  floods.set(digest, Date.now());
  return false;
}

async function write(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 20));
  while (collected.length > 0) {
    const calls = collected;
    collected = [];
    try {
      await alone(recordCalls(calls));
    } catch (error) {
      log({ requestId: calls[0]?.request_id ?? "", error });
    }
  }
  writing = undefined;
}
