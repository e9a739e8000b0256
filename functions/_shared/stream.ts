import { toApiError } from "./api-error.ts";
import { type Admission, run } from "./database.ts";
import type { Answer } from "./endpoint.ts";
import { log } from "./log.ts";

const encoder = new TextEncoder();

/**
 * A long answer as its reader takes it: one part is in memory at a time, and no connection is held between two.
 * Each part is admitted and charged like a request, and waits where the caller has no calls left. A failure cuts the answer off,
 * so that nobody takes half of it for the whole.
 */
export function streamOf(first: Answer, admission: Admission): ReadableStream<Uint8Array> {
  let part: Pick<Answer, "json" | "next"> = first;
  let cancelled = false;
  const ask = async (next: NonNullable<Answer["next"]>): Promise<typeof part> => {
    try {
      const results = await run(admission, next.statements, () => {});
      return next.respond(results as never);
    } catch (error) {
      const wait = toApiError(error)?.extra.retry_after;
      if (typeof wait !== "number" || cancelled) throw error;
      await new Promise((resolve) => setTimeout(resolve, wait * 1000));
      return ask(next);
    }
  };
  return new ReadableStream(
    {
      async pull(controller) {
        controller.enqueue(encoder.encode(part.json));
        if (!part.next) return controller.close();
        try {
          part = await ask(part.next);
        } catch (error) {
          log({ requestId: admission.requestId, error });
          controller.error(new Error("The answer ends here."));
        }
      },
      cancel() {
        cancelled = true;
      },
    },
    { highWaterMark: 0 },
  );
}
