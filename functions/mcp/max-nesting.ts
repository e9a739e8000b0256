import { invalidRequest } from "./json-rpc.ts";

const maxNesting = 64;

/** Rejects deeply nested JSON, which later code processes recursively. */
export function assertMaxNesting(value: unknown): void {
  let level = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > maxNesting) throw invalidRequest(`JSON is nested deeper than ${maxNesting} levels.`);
    level = level.flatMap((item) => (typeof item === "object" && item !== null ? Object.values(item) : []));
  }
}
