import { rateLimits } from "../../../shared/rate-limits.ts";
import type { RateState } from "../database/run.ts";

/** RateLimit headers of the strictest limit; without a verdict, those of the default public limit. */
export function rateHeaders(rate?: RateState): Record<string, string> {
  const { max_requests, window_seconds } = rateLimits.level_public;
  const {
    max_requests: limit,
    remaining,
    reset_at,
  } = rate ?? { max_requests, remaining: max_requests, reset_at: Math.ceil(Date.now() / 1000) + window_seconds };
  return {
    "X-RateLimit-Limit": String(limit),
    "X-RateLimit-Remaining": String(remaining),
    "X-RateLimit-Reset": String(reset_at),
  };
}
