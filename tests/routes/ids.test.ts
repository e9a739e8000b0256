import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import {
  filled,
  isNamedByRow,
  newBoard,
  type Prepared,
  prepare,
  type Route,
  tokenOf,
} from "../access/callers.ts";
import { routesOfTheService } from "../access/service.ts";
import { type Answer, expectError, send } from "../api/client.ts";
import { only } from "../api/world.ts";
import { hashedRows } from "../hashed-rows.ts";

// Ids of the path that the caller cannot see have one response: those of nothing, of text that is no id, and of the rows
// of another organization.

const routes = (await routesOfTheService())
  .filter(({ path }) => path.includes(":") && !path.startsWith("/api/mcp/"))
  .map((route) => ({ name: `${route.method} ${route.path}`, route }));
const [own, foreign] = [await newBoard("public"), await newBoard("private")];
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

describe.each(routes)("$name: a row of another organization", ({ name, route }) => {
  /** Sends the ids of one's own rows and of hidden ones, mixed in every way. */
  const expectHidden = async (token: string, expectRefusal: (answer: Answer, changed: string) => void) => {
    const hidden = await prepare(route, token, foreign);
    const request = await prepare(route, token, own);
    const before = await hashedRows(foreign.organization);
    for (const [parameter, id] of Object.entries(hidden.ids))
      for (const others of [request.ids, hidden.ids]) {
        const answer = await sendTo(route, request, { ...others, [parameter]: id });
        const unknown = await sendTo(route, request, { ...others, [parameter]: unknownLike(id) });
        expect([answer.status, answer.text]).toEqual([unknown.status, unknown.text]);
        expectRefusal(answer, parameter);
      }
    expect(await hashedRows(foreign.organization)).toEqual(before);
  };

  test("is missing for an admin", async () => {
    await expectHidden(admin, (answer, changed) => {
      if (!unread[name]?.includes(changed)) expectError(answer, "NOT_FOUND");
    });
  });

  test("is missing for a key, or forbidden like all rows", async () => {
    const key = only(await tokenOf("key with scope", route, own));
    await expectHidden(key, ({ status }) => {
      expect(status).toBe(route.endpoint?.access === "person" ? 403 : 404);
    });
  });

  if (isNamedByRow(route.path))
    test("is missing for its owner who names another organization", async () => {
      const request = await prepare(route, foreign.people.admin.token, foreign);
      const before = await hashedRows(foreign.organization);
      const call = { ...request.call, on: own.organization };
      expectError(await send(request.method, request.path, call), "NOT_FOUND");
      expect(await hashedRows(foreign.organization)).toEqual(before);
    });
});
