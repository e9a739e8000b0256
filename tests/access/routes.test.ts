import { beforeAll, describe, expect, test } from "vitest";
import { scopes as allScopes, type Scope } from "../../shared/scopes.ts";
import { newSubmission } from "../api/world.ts";
import { tableUnder, textOf } from "../docs/markdown.ts";
import { type Board, call, callers, newBoard, newSecret, type Route, statusesOf } from "./callers.ts";
import { routesOfTheService } from "./service.ts";

// Compares the access tables of docs/security.md with the routes and with a running stack.

const page = "docs/security.md";
const nameOf = ({ method, path }: Route) => `\`${method} ${path}\``;
const tables = { public: "On a public board", private: "On a private board" } as const;
// These routes belong to no board.
const isOfTheService = ({ path }: Route) =>
  /^\/api\/(health|ready|docs|openapi\.json|imports\/run|mcp($|\/.*))$/.test(path);

const routes = await routesOfTheService();
const boards = {} as Record<keyof typeof tables, Board>;

beforeAll(async () => {
  [boards.public, boards.private] = [await newBoard("public"), await newBoard("private")];
});

function headOf(heading: string): string[] {
  const [, section = ""] = textOf(page).split(new RegExp(`^#+ ${heading}$`, "m"));
  const [head = ""] = section.split("\n").filter((line) => line.startsWith("|"));
  return head
    .split("|")
    .slice(1, -1)
    .map((cell) => cell.trim());
}

describe.each(Object.keys(tables) as (keyof typeof tables)[])("on a %s board", (visibility) => {
  const heading = tables[visibility];
  const ofBoard = routes.filter((route) => visibility === "public" || !isOfTheService(route));
  const documented = new Map(tableUnder(page, heading).map(([route = "", ...statuses]) => [route, statuses]));

  test("the table has every kind of caller", () => {
    expect(headOf(heading)).toEqual(["Route", ...callers]);
  });

  test("the table has every route of the service exactly once, and no other route", () => {
    expect(tableUnder(page, heading).map(([route]) => route)).toEqual(ofBoard.map(nameOf));
  });

  test.each(ofBoard.map((route) => ({ name: nameOf(route), route })))(
    "$name responds to each caller as the table specifies",
    async ({ name, route }) => {
      const statuses = await statusesOf(route, boards[visibility]);
      expect(Object.fromEntries(callers.map((caller, n) => [caller, statuses[n]]))).toEqual(
        Object.fromEntries(callers.map((caller, n) => [caller, documented.get(name)?.[n]])),
      );
    },
  );
});

describe("scopes", () => {
  const isMissingScope = (text: string) =>
    text.includes("lacks the scope") || text === '{"error":"forbidden"}';

  test("the table lists the routes that each scope opens", () => {
    const opened = (scope: Scope) =>
      routes
        .filter((route) => route.scopes.includes(scope))
        .map(nameOf)
        .join(", ");
    const expected = allScopes.map((scope) => [`\`${scope}\``, opened(scope) || "–"]);
    expect(tableUnder(page, "Scopes").map(([scope, routes]) => [scope, routes])).toEqual(expected);
  });

  test.each(
    routes.filter((route) => route.scopes.length > 0).map((route) => ({ name: nameOf(route), route })),
  )(
    "$name accepts a key with only one of its scopes, and rejects a key with all other scopes",
    async ({ route }) => {
      const board = boards.public;
      for (const scope of route.scopes) {
        const answer = await call(route, await newSecret(board, [scope]), board);
        expect(isMissingScope(answer.text), `${scope}: ${answer.text}`).toBe(false);
      }
      const others = allScopes.filter((scope) => !route.scopes.includes(scope));
      const answer = await call(route, await newSecret(board, others), board);
      expect(answer.status).toBe(403);
      expect(isMissingScope(answer.text), answer.text).toBe(true);
    },
  );
});

test("a list on a private board is empty for a key without read access", async () => {
  const { organization, people } = boards.private;
  await newSubmission(organization, people.author);
  const count = async (path: string, token: string) => {
    const { body } = await call({ method: "GET", path, scopes: [] }, token, boards.private);
    return (body as { data: unknown[] }).data.length;
  };
  const key = await newSecret(boards.private, ["submissions:write"]);
  for (const path of ["/api/submissions", "/api/submissions/search"]) {
    expect(await count(path, people.member.token)).toBeGreaterThan(0);
    expect(await count(path, key)).toBe(0);
  }
});
