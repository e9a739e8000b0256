import { type Admission, run } from "./database.ts";
import type { Answer } from "./endpoint.ts";
import { log } from "./log.ts";
import { patient } from "./patient.ts";

const encoder = new TextEncoder();

/**
 * A long answer as its reader takes it: one piece is in memory at a time, and no connection is held between two.
 * A failure cuts the answer off, so that nobody takes half of it for the whole.
 */
export function streamOf(
  pieces: NonNullable<Answer["pieces"]>,
  admission: Admission,
): ReadableStream<Uint8Array> {
  const cancelled = new AbortController();
  const rest = pieces(patient((statements) => run(admission, statements, () => {}), cancelled.signal));
  return new ReadableStream(
    {
      async pull(controller) {
        try {
          const piece = await rest.next();
          if (piece.done) controller.close();
          else controller.enqueue(encoder.encode(piece.value));
        } catch (error) {
          log({ requestId: admission.requestId, error });
          controller.error(new Error("The answer ends here."));
        }
      },
      cancel() {
        cancelled.abort();
      },
    },
    { highWaterMark: 0 },
  );
}
