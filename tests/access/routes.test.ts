import { beforeAll, describe, expect, test } from "vitest";
import { scopes as allScopes, type Scope } from "../../shared/scopes.ts";
import { type Answer, expectJson } from "../api/client.ts";
import { newSubmission } from "../api/world.ts";
import { tableUnder, textOf } from "../docs/markdown.ts";
import { hashedRows } from "../hashed-rows.ts";
import {
  type Board,
  type Caller,
  call,
  callers,
  newBoardWithIdentified,
  newSecret,
  type Prepared,
  prepare,
  sendPrepared,
  tokenOf,
} from "./callers.ts";
import { type Route, routesOfTheService } from "./service.ts";

// Compares the access tables of docs/security.md with the routes and with a running stack.

const page = "docs/security.md";
const nameOf = ({ method, path }: Route) => `\`${method} ${path}\``;
const tables = { public: "On a public board", private: "On a private board" } as const;
// These routes belong to no board.
const isOfTheService = ({ path }: Route) =>
  /^\/api\/(health|ready|docs|openapi\.json|imports\/run|mcp($|\/.*))$/.test(path);

const routes = await routesOfTheService();
type Visibility = keyof typeof tables;
const documented = (visibility: Visibility) =>
  new Map(tableUnder(page, tables[visibility]).map(([route = "", ...cells]) => [route, cells.map(Number)]));
const isRefusal = (status = 0) => status >= 400;

const boards = {} as Record<Visibility, Board>;
/** Every request to these boards is refused: not even background work changes their rows. */
const quietBoards = {} as Record<Visibility, Board>;

beforeAll(async () => {
  for (const visibility of ["public", "private"] as const) {
    const statuses = [...documented(visibility).values()].map((row) => row[callers.indexOf("identified person")]);
    const refusals = statuses.filter(isRefusal).length;
    boards[visibility] = await newBoardWithIdentified(visibility, statuses.length - refusals);
    quietBoards[visibility] = await newBoardWithIdentified(visibility, refusals);
  }
});

function headOf(heading: string): string[] {
  const [, section = ""] = textOf(page).split(new RegExp(`^#+ ${heading}$`, "m"));
  const [head = ""] = section.split("\n").filter((line) => line.startsWith("|"));
  return head
    .split("|")
    .slice(1, -1)
    .map((cell) => cell.trim());
}

describe.each(Object.keys(tables) as Visibility[])("on a %s board", (visibility) => {
  const ofBoard = routes.filter((route) => visibility === "public" || !isOfTheService(route));
  const statuses = documented(visibility);

  test("the table has every kind of caller", () => {
    expect(headOf(tables[visibility])).toEqual(["Route", ...callers]);
  });

  test("the table has every route of the service exactly once, and no other route", () => {
    expect(tableUnder(page, tables[visibility]).map(([route]) => route)).toEqual(ofBoard.map(nameOf));
  });

  test.each(ofBoard.map((route) => ({ name: nameOf(route), route })))(
    "$name responds to each caller as the table specifies, and a refused request changes no row",
    async ({ name, route }) => {
      const expected = new Map(callers.map((caller, n) => [caller, statuses.get(name)?.[n]]));
      const quiet = quietBoards[visibility];
      const requests = await Promise.all(
        callers.map(async (caller): Promise<[Caller, Prepared]> => {
          const board = isRefusal(expected.get(caller)) ? quiet : boards[visibility];
          return [caller, await prepare(route, await tokenOf(caller, route, board), board)];
        }),
      );
      const before = await hashedRows(quiet.organization);
      const answers = await Promise.all(
        requests.map(async ([caller, request]) => [caller, await sendPrepared(request)] as const),
      );
      expect(new Map(answers.map(([caller, { status }]) => [caller, status]))).toEqual(expected);
      expect(await hashedRows(quiet.organization)).toEqual(before);
      for (const [, answer] of answers) expectForm(answer, route);
    },
  );
});

/** The headers of every response, and exactly the fields of the schema that the OpenAPI document names. */
function expectForm(answer: Answer, { endpoint }: Route) {
  expect(answer.headers["x-request-id"]).toMatch(/^[0-9a-f-]{36}$/);
  for (const name of ["limit", "remaining", "reset"]) expect(answer.headers[`x-ratelimit-${name}`]).toMatch(/^\d+$/);
  const schema = endpoint?.responses[answer.status];
  if (schema && !endpoint?.produces) expectJson(answer, answer.status, schema);
}

describe("scopes", () => {
  const isMissingScope = (text: string) => text.includes("needs the scope") || text === '{"error":"forbidden"}';

  test("the table lists the routes that each scope opens", () => {
    const opened = (scope: Scope) =>
      routes
        .filter((route) => route.scopes.includes(scope))
        .map(nameOf)
        .join(", ");
    const expected = allScopes.map((scope) => [`\`${scope}\``, opened(scope) || "–"]);
    expect(tableUnder(page, "Scopes").map(([scope, routes]) => [scope, routes])).toEqual(expected);
  });

  test.each(routes.filter((route) => route.scopes.length > 0).map((route) => ({ name: nameOf(route), route })))(
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
