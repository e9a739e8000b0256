import { toApiError } from "../http/api-error.ts";
import type { Execute } from "../http/endpoint.ts";

const maxAttempts = 10;

/**
 * Retries after rate limits and temporary database errors, so that started work completes, unless the signal is
 * aborted.
 */
export function withRetry(execute: Execute, signal?: AbortSignal): Execute {
  return async (statements) => {
    for (let attempt = 1; ; attempt++) {
      try {
        return await execute(statements);
      } catch (error) {
        const known = toApiError(error);
        const isRetryable = known?.code === "RATE_LIMIT_EXCEEDED" || known?.code === "SERVICE_UNAVAILABLE";
        if (!isRetryable || attempt === maxAttempts || signal?.aborted) throw error;
        const seconds = Number(known.extra.retry_after ?? attempt / 5);
        await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
      }
    }
  };
}
