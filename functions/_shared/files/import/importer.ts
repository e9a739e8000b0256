import { type Admission, run, runStatement } from "../../database/run.ts";
import { toApiError } from "../../http/api-error.ts";
import { log } from "../../runtime/log.ts";
import { type Claimed, claimImport } from "../../statements/import-export.ts";
import { problemOf } from "./chunks.ts";
import { runJob } from "./job.ts";

const isHosted = "EdgeRuntime" in globalThis;
// Hosted Supabase stops a request after 2 s of CPU or 150 s; a chunk took 70 ms of CPU on a busy machine.
const budget = { chunks: 12, milliseconds: isHosted ? 60_000 : 2_000 };

let running: Promise<void> | undefined;
let isRequested = false;

/** Runs pending imports in turn: one on hosted Supabase, all elsewhere. */
export function runImports(): Promise<void> {
  isRequested = true;
  running ??= runAll()
    .catch((error) => log({ requestId: "imports", error }))
    .finally(() => {
      running = undefined;
    });
  return running;
}

async function runAll(): Promise<void> {
  let previous: string | null = null;
  let problem: string | null = null;
  for (let round = 0; ; round++) {
    isRequested = false;
    const takes = !(isHosted && round > 0);
    const [claimed]: readonly Claimed[] = await runStatement(claimImport(previous, problem, takes));
    [previous, problem] = [null, null];
    if (claimed) {
      const outcome = await runClaimed(claimed);
      if (outcome !== "later") previous = claimed.id;
      if (typeof outcome === "object") problem = outcome.problem;
    } else if (!isRequested || !takes) return;
  }
}

/** Retryable: another process runs it, or a temporary error occurred; it is claimed again in a few seconds. */
async function runClaimed(claimed: Claimed): Promise<"ran" | "later" | { problem: string }> {
  const admission = admissionOf(claimed);
  try {
    const ran = await runJob(claimed.id, budget, (statements) => run(admission, statements, () => {}));
    return ran ? "ran" : "later";
  } catch (error) {
    const code = toApiError(error)?.code ?? "INTERNAL_ERROR";
    if (code === "UNAUTHORIZED" || code === "FORBIDDEN" || code === "NOT_FOUND")
      return { problem: `Whoever sent it can no longer import: ${problemOf(error)}` };
    if (code !== "INTERNAL_ERROR") return "later";
    // Another try would meet it again.
    log({ requestId: admission.requestId, error });
    return { problem: problemOf(error) };
  }
}

/** Runs with the credential that sent the import: charges it, and fails if the caller may no longer import. */
function admissionOf({ organization_id, user_id, digest }: Claimed): Admission {
  return {
    requestId: crypto.randomUUID(),
    userId: user_id,
    // The request that sent the import came from a session that was checked.
    sessionId: null,
    aal: "aal2",
    digest,
    isSession: false,
    invalidCredential: false,
    address: null,
    operations: [],
    organization: organization_id,
    onBehalf: null,
    origin: null,
    needsOrigin: false,
    resource: null,
    resourceId: null,
    access: "caller",
    scopes: ["submissions:moderate"],
    chargeFirst: true,
  };
}
