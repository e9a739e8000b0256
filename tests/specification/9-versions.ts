import { expect } from "vitest";
import { section } from "./row.ts";

export default section("9 Versions", [
  ["9.1", "nobody", "GET /submissions", 200, ({ headers }) => expect(Object.keys(headers).filter((name) => /version/i.test(name))).toEqual([])],
  ["9.1", "nobody", "GET /v1/submissions", "NOT_FOUND"],
  ["9.2", "admin", ["POST /surveys/:open/versions"], 201, { status: "draft" }],
]);
