import { headers, section } from "./row.ts";

export default section("1 Service", [
  ["1.1", "nobody", ["GET /submissions", undefined, { needs: ":idea" }], 200, [{ id: ":idea" }]],
  ["1.1", "admin", "GET /surveys", 200],
  ["1.2", "nobody", "GET /submissions", 200, headers({ "content-type": /^application\/json/ })],
  ["1.2", "agent", ["method tools/list", {}], 200],
  ["1.2", "nobody", ["from submissions", [":idea"], (table, id) => table.select("id").eq("id", id)], 200, [{ id: ":idea" }]],
]);
