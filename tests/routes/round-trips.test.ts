import { afterAll, beforeAll, expect, test } from "vitest";
import { newBoard, prepare, sendPrepared } from "../access/callers.ts";
import { routesOfTheService } from "../access/service.ts";
import { send } from "../api/client.ts";
import { startCountedFunctions } from "../api/counted-stack.ts";

// An endpoint that consists of statements takes one round trip to Postgres. A request that runs long, calls another
// host or is refused is charged in a separate transaction. An export reads in parts.

const routes = (await routesOfTheService()).flatMap((route) =>
  route.endpoint && !route.endpoint.work && route.path !== "/api/admin/export"
    ? [{ name: `${route.method} ${route.path}`, route, endpoint: route.endpoint }]
    : [],
);
const board = await newBoard("public");
let functions: Awaited<ReturnType<typeof startCountedFunctions>>;

beforeAll(async () => {
  functions = await startCountedFunctions();
  // This request opens the connection.
  await send("GET", "/api/ready", { base: functions.base });
});
afterAll(() => functions?.stop());

test.each(routes)("$name", async ({ route, endpoint }) => {
  const { author, admin } = board.people;
  // Only its author can edit a comment.
  const caller = route.method === "PATCH" && route.path === "/api/comments/:id" ? author : admin;
  const request = await prepare(route, caller.token, board);
  const before = functions.flights();
  const { status } = await sendPrepared({ ...request, call: { ...request.call, base: functions.base } });
  const isCharged = endpoint.runsLong || endpoint.precheck || status >= 400;
  expect(functions.flights() - before).toBe(isCharged ? 2 : 1);
});
