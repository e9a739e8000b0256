import { describe, expect, test } from "vitest";
import { identified, newSecret } from "../api/identified.ts";
import { tableUnder } from "../docs/markdown.ts";
import { newAgent } from "../mcp/agents.ts";
import { call, callers, newBoard } from "./callers.ts";
import { routesOfTheService } from "./service.ts";

// Agents' keys and sessions of identified persons on every route, compared with the columns of docs/security.md.

const routes = (await routesOfTheService()).map((route) => ({
  name: `${route.method} ${route.path}`,
  route,
}));
const documented = new Map(
  tableUnder("docs/security.md", "On a public board").map(([route = "", ...statuses]) => [
    route.replaceAll("`", ""),
    Object.fromEntries(callers.map((caller, n) => [caller, Number(statuses[n])])),
  ]),
);

describe("the key of an agent with every scope is an invalid token outside of /api/mcp", async () => {
  const board = await newBoard("public");
  const { token } = await newAgent({ organization: board.organization });
  test.each(routes.filter(({ name }) => !/ \/api\/mcp(\/|$)/.test(name)))(
    "$name",
    async ({ name, route }) => {
      expect((await call(route, token, board)).status).toBe(documented.get(name)?.["invalid token"]);
    },
  );
});

// The application that signs a person in does not prove the address.
const onlyByMail = { "DELETE /api/submissions/:id/mute": 403 } as Record<string, number>;

describe("an identified person is a user of their organization", async () => {
  const board = await newBoard("public");
  const { secret } = await newSecret(board.organization, board.people.admin);
  // Each has a session of its own: some routes end it.
  const sessions = await Promise.all(routes.map(() => identified(board.organization, secret)));
  test.each(routes.map((route, n) => ({ ...route, token: sessions[n]?.token })))(
    "$name",
    async ({ name, route, token }) => {
      expect((await call(route, token, board)).status).toBe(onlyByMail[name] ?? documented.get(name)?.user);
    },
  );
});
