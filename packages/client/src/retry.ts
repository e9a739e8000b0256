/** Limits of repeated calls, after a rate limit or without a response: docs/client.md. */
export type RetryOptions = {
  /** Maximum number of repetitions of a call; 2 by default, 0 for none. */
  retries?: number;
  /** The longest Retry-After to wait for, in seconds; 20 by default. After a longer one the call returns its error. */
  maxWaitSeconds?: number;
};

const idempotentMethods = new Set(["GET", "HEAD", "PUT", "DELETE"]);

/**
 * A fetch that repeats what may be repeated: a request that a rate limit rejected, and, after a lost connection or a
 * 502, 503 or 504, one that is idempotent by its method or its Idempotency-Key.
 */
export function retrying(
  { retries = 2, maxWaitSeconds = 20 }: RetryOptions,
  fetch: (request: Request) => Promise<Response>,
): (request: Request) => Promise<Response> {
  return async (request) => {
    const isSafe = idempotentMethods.has(request.method) || request.headers.has("Idempotency-Key");
    for (let attempt = 0; ; attempt++) {
      const isLast = attempt >= retries;
      const wait = (2 ** attempt * (0.5 + Math.random())) / 2;
      try {
        const response = await fetch(isLast ? request : request.clone());
        const isTemporary = response.status === 429 || (isSafe && [502, 503, 504].includes(response.status));
        const asked = Number(response.headers.get("Retry-After") ?? wait);
        if (isLast || !isTemporary || !(asked <= maxWaitSeconds)) return response;
        await response.body?.cancel();
        await pause(asked, request.signal);
      } catch (error) {
        if (isLast || !isSafe || request.signal.aborted) throw error;
        await pause(wait, request.signal);
      }
    }
  };
}

function pause(seconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", end);
      resolve();
    }, seconds * 1000);
    if (signal.aborted) end();
    else signal.addEventListener("abort", end, { once: true });
  });
}
