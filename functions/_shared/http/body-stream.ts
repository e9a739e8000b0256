import { type Admission, run } from "../database/run.ts";
import { withRetry } from "../database/with-retry.ts";
import { log } from "../runtime/log.ts";
import type { StreamResponse } from "./endpoint.ts";

const encoder = new TextEncoder();

/**
 * A streamed response body: one chunk is in memory at a time, and no database connection is held between chunks. An
 * error aborts the response, so that a client cannot mistake a part for the whole.
 */
export function readableStream(
  bodyStream: StreamResponse["bodyStream"],
  admission: Admission,
): ReadableStream<Uint8Array> {
  const cancelled = new AbortController();
  const rest = bodyStream(withRetry((statements) => run(admission, statements, () => {}), cancelled.signal));
  return new ReadableStream(
    {
      async pull(controller) {
        try {
          const chunk = await rest.next();
          if (chunk.done) controller.close();
          else controller.enqueue(encoder.encode(chunk.value));
        } catch (error) {
          log({ requestId: admission.requestId, error });
          controller.error(new Error("The response was aborted."));
        }
      },
      cancel() {
        cancelled.abort();
      },
    },
    { highWaterMark: 0 },
  );
}
