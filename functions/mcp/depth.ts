import { invalidRequest } from "./json-rpc.ts";

const deepest = 64;

/** Refuses JSON nested deeper than any call is: what walks it later does so by recursion. */
export function assertShallow(value: unknown): void {
  let level = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > deepest) throw invalidRequest(`JSON is nested deeper than ${deepest} levels.`);
    level = level.flatMap((item) => (typeof item === "object" && item !== null ? Object.values(item) : []));
  }
}
