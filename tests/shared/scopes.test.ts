import { expect, test } from "vitest";
import { scopes } from "../../shared/scopes.ts";

test("a scope is a noun, a colon and an action, and is listed once", () => {
  for (const name of scopes) expect(name).toMatch(/^[a-z]+:(read|write|publish|moderate)$/);
  expect(new Set(scopes).size).toBe(scopes.length);
});
