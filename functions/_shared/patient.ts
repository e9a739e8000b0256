import { toApiError } from "./api-error.ts";
import type { Ask } from "./endpoint.ts";

const mostTries = 10;

/** Waits where a limit or a busy database asks for it: what is half done should not be given up for that, but if nobody wants it any more. */
export function patient(ask: Ask, unwanted?: AbortSignal): Ask {
  return async (statements) => {
    for (let tries = 1; ; tries++) {
      try {
        return await ask(statements);
      } catch (error) {
        const known = toApiError(error);
        const mayPass = known?.code === "RATE_LIMIT_EXCEEDED" || known?.code === "SERVICE_UNAVAILABLE";
        if (!mayPass || tries === mostTries || unwanted?.aborted) throw error;
        const seconds = Number(known.extra.retry_after ?? tries / 5);
        await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
      }
    }
  };
}
