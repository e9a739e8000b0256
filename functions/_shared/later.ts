import { type Admission, run } from "./database.ts";
import type { Answer } from "./endpoint.ts";
import { keepAlive } from "./keep-alive.ts";
import { log } from "./log.ts";

/** At most so many at a time: what comes above that is left undone, so that a slow service piles nothing up. */
const mostAtOnce = 50;
let running = 0;

/** Does what an answer left for later, as the same caller. Its failure is logged and changes nothing that was answered. */
export function doLater(later: NonNullable<Answer["later"]>, admission: Admission): void {
  if (running >= mostAtOnce) return;
  running++;
  const work = perform(later, admission).finally(() => {
    running--;
  });
  keepAlive(work);
}

async function perform(later: NonNullable<Answer["later"]>, admission: Admission): Promise<void> {
  try {
    const statements = await later();
    if (statements.length > 0) await run({ ...admission, operations: [] }, statements, () => {});
  } catch (error) {
    log({ requestId: admission.requestId, error });
  }
}
