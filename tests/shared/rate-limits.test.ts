import { expect, test } from "vitest";
import { rateLimits } from "../../shared/rate-limits.ts";

const minute = 60;
const hour = 3600;

test.each([
  ["level_public", 30, minute],
  ["level_user", 100, minute],
  ["level_admin", 300, minute],
  ["submission_create_key", 100, minute],
  ["duplicate_check_public", 30, minute],
  ["duplicate_check_user", 100, minute],
  ["comment_create", 20, hour],
  ["comment_update", 10, hour],
  ["comment_delete", 10, hour],
  ["comment_list", 100, minute],
  ["vote_create", 30, hour],
  ["vote_delete", 30, hour],
  ["vote_list", 100, minute],
] as const)("%s allows %i in %i seconds, as the specification says", (name, max_requests, window_seconds) => {
  expect(rateLimits[name]).toEqual({ max_requests, window_seconds });
});
