import { type Admission, run } from "../database/run.ts";
import { keepAlive } from "../runtime/keep-alive.ts";
import { log } from "../runtime/log.ts";
import type { JsonResponse } from "./endpoint.ts";

/** Upper bound of concurrent tasks. Further tasks are dropped, so that a slow service builds up no queue. */
const maxConcurrent = 50;
let running = 0;

/** Runs the response's afterResponse task as the same caller, who was charged for the request. A failure is logged and does not affect the response. */
export function runAfterResponse(
  afterResponse: NonNullable<JsonResponse["afterResponse"]>,
  admission: Admission,
): void {
  if (running >= maxConcurrent) return;
  running++;
  const work = perform(afterResponse, admission).finally(() => {
    running--;
  });
  keepAlive(work);
}

async function perform(prepare: NonNullable<JsonResponse["afterResponse"]>, admission: Admission): Promise<void> {
  try {
    const statements = await prepare();
    if (statements.length > 0) await run({ ...admission, isCharged: true }, statements, () => {});
  } catch (error) {
    log({ requestId: admission.requestId, error });
  }
}
