import { dirname } from "node:path";
import { beforeEach, inject } from "vitest";
import { errorsSince } from "./error-logs.ts";

// A failing test prints the errors that the functions logged meanwhile. Other files share the stack, and may have
// caused some.
beforeEach(({ onTestFailed }) => {
  const startedAt = Date.now();
  onTestFailed(async () => {
    for (const line of await errorsSince(startedAt, dirname(inject("stack").mailPath)))
      console.error(line.slice(0, 4000));
  });
});
