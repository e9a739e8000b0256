import { randomUUID } from "node:crypto";
import { afterAll, describe, expect, test } from "vitest";
import { filled, isNamedByRow, newBoard, type Prepared, prepare, tokenOf } from "../access/callers.ts";
import type { Route } from "../access/service.ts";
import { routesOfTheService } from "../access/service.ts";
import { type Answer, expectError, send } from "../api/client.ts";
import { only } from "../api/world.ts";
import { hashedRows } from "../hashed-rows.ts";

// All ids in a path that the caller cannot see get the same response: unknown ids, malformed ids, and ids of rows of
// another organization.

const routes = (await routesOfTheService())
  .filter(({ path }) => path.includes(":") && !path.startsWith("/api/mcp/"))
  .map((route) => ({ name: `${route.method} ${route.path}`, route }));
const [own, foreign] = [await newBoard("public"), await newBoard("private")];
// A key sees nothing of another organization, not even public content.
const visible = await newBoard("public");
const admin = own.people.admin.token;

const unknownLike = (id: string) => {
  const prefix = /^[a-z]+_/.exec(id)?.[0];
  return prefix ? prefix + randomUUID().replaceAll("-", "") : randomUUID();
};
const sendTo = ({ path }: Route, { method, call }: Prepared, ids: Record<string, string>) =>
  send(method, filled(path, ids), call);

// An admin is refused whatever the member, since only an owner is accepted.
const unread: Record<string, string[]> = {
  "DELETE /api/organizations/:id/members/:user_id/second-factor": ["user_id"],
};

test.each(routes)("$name: 404 for an id of nothing", async ({ name, route }) => {
  const request = await prepare(route, admin, own);
  const accepted = new Set<string>();
  for (const [parameter, id] of Object.entries(request.ids))
    for (const other of [unknownLike(id), "nonsense"]) {
      const answer = await sendTo(route, request, { ...request.ids, [parameter]: other });
      if (answer.status === 404) expectError(answer, "NOT_FOUND");
      else accepted.add(parameter);
    }
  expect([...accepted]).toEqual(unread[name] ?? []);
});

describe("a row of another organization", async () => {
  const ownerToken = foreign.people.admin.token;
  // All rows are created first: from then on, no request changes any of them.
  const requests = await Promise.all(
    routes.map(async ({ name, route }) => {
      const key = only(await tokenOf("key with scope", route, own));
      return {
        name,
        route,
        byAdmin: [await prepare(route, admin, own), await prepare(route, admin, foreign)] as const,
        byKey: [await prepare(route, key, own), await prepare(route, key, visible)] as const,
        byOwner: await prepare(route, ownerToken, foreign),
      };
    }),
  );
  const rows = () => Promise.all([foreign, visible].map(({ organization }) => hashedRows(organization)));
  const before = await rows();
  afterAll(async () => {
    expect(await rows()).toEqual(before);
  });

  /** Sends the ids of one's own rows and of hidden ones, mixed in every way. */
  async function expectHidden(
    route: Route,
    [request, hidden]: readonly [Prepared, Prepared],
    expectRefusal: (answer: Answer, changed: string) => void,
  ) {
    for (const [parameter, id] of Object.entries(hidden.ids))
      for (const others of [request.ids, hidden.ids]) {
        const answer = await sendTo(route, request, { ...others, [parameter]: id });
        const unknown = await sendTo(route, request, { ...others, [parameter]: unknownLike(id) });
        expect([answer.status, answer.text]).toEqual([unknown.status, unknown.text]);
        expectRefusal(answer, parameter);
      }
  }

  test.concurrent.each(requests)("$name: is missing for an admin", async ({ name, route, byAdmin }) => {
    await expectHidden(route, byAdmin, (answer, changed) => {
      if (!unread[name]?.includes(changed)) expectError(answer, "NOT_FOUND");
    });
  });

  test.concurrent.each(requests)(
    "$name: is missing for a key, or forbidden like all rows",
    async ({ route, byKey }) => {
      await expectHidden(route, byKey, ({ status }) => {
        expect(status).toBe(route.endpoint?.access === "person" ? 403 : 404);
      });
    },
  );

  test.concurrent.each(requests.filter(({ route }) => isNamedByRow(route.path)))(
    "$name: is missing for its owner who names another organization",
    async ({ byOwner: { method, path, call } }) => {
      expectError(await send(method, path, { ...call, on: own.organization }), "NOT_FOUND");
    },
  );
});
