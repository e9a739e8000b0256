import { runStatement } from "../_shared/database/run.ts";
import { log } from "../_shared/runtime/log.ts";
import { recordToolCalls } from "../_shared/statements/tool-calls.ts";

/** A call that only read or that failed. A writing call is recorded in its own transaction. */
export type AuditedCall = {
  /** Digest of the key, in hex. */
  digest: string;
  request_id: string;
  tool: string;
  scope: string | null;
  /** ok, or the error code. */
  outcome: string;
  duration_ms: number;
  argument_names: string[];
  address: string | null;
};

// Without waitUntil, hosted Supabase stops a worker after the response.
const { EdgeRuntime: edgeRuntime } = globalThis as { EdgeRuntime?: { waitUntil(work: Promise<void>): void } };
let collected: AuditedCall[] = [];
let writing: Promise<void> | undefined;
const floods = new Map<string, number>();
const floodPauseMs = 60_000;

/** Written to the database in batches, outside of the request. */
export function audit(call: AuditedCall): void {
  if (isFlood(call)) return;
  collected.push(call);
  if (writing) return;
  writing = write();
  edgeRuntime?.waitUntil(writing);
}

/** Waits until the batch is written; call it before the process ends. */
export function flushAudit(): Promise<void> | undefined {
  return writing;
}

// Repeated failures (rate limit, expired key) are recorded once a minute.
function isFlood({ digest, outcome }: AuditedCall): boolean {
  if (outcome !== "RATE_LIMIT_EXCEEDED" && outcome !== "UNAUTHORIZED") return false;
  const last = floods.get(digest);
  if (last !== undefined && performance.now() - last < floodPauseMs) return true;
  if (floods.size >= 10_000) floods.clear();
  floods.set(digest, performance.now());
  return false;
}

async function write(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 20));
  while (collected.length > 0) {
    const calls = collected;
    collected = [];
    try {
      await runStatement(recordToolCalls(calls));
    } catch (error) {
      log({ requestId: calls[0]?.request_id ?? "", error });
    }
  }
  writing = undefined;
}
