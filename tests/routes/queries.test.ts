import { expect, test } from "vitest";
import { newBoard, prepare } from "../access/callers.ts";
import { type Route, routesOfTheService } from "../access/service.ts";
import { expectError, send } from "../api/client.ts";

// A query parameter that cannot be read is refused; the error contains its name.

const words = ["__proto__", "x"];
const bad: Record<string, string[]> = {
  page: ["0", "-1", "1.5", "1e9", "x"],
  limit: ["0", "-1", "1.5", "1e9", "x"],
  cursor: ["!", "abc", "eyJ9", `${"a".repeat(2001)}`],
  after: ["x"],
  before: ["x"],
  parent_id: ["x"],
  target_id: ["x"],
  actor_id: ["x"],
  from: ["yesterday", "2026-02-30"],
  to: ["yesterday", "2026-02-30"],
  start_date: ["yesterday", "2026-02-30", "0000-01-01", "2026-01-01T00:00:00"],
  end_date: ["yesterday", "2026-02-30", "0000-01-01", "2026-01-01T00:00:00"],
  unread: ["yes", "1"],
  force: ["yes", "1"],
  revoke: ["yes", "1"],
  dry_run: ["yes"],
  create_missing: ["yes"],
  follow: ["yes"],
  dates: ["06/05/2024"],
  columns: ["description", "[]", "{}}", '{"a":"nope"}', `{"${"a".repeat(10_000)}":null}`],
  anonymous_votes: ["yes"],
  expand: ["voters", "author,,tags", `${"author,".repeat(60)}author`],
  metrics: ["median", "nps_score,", "NPS_SCORE"],
  confirm: words,
  format: words,
  interval: words,
  order: words,
  sentiment: words,
  sort: words,
  state: words,
  status: words,
  type: words,
  types: words,
};
/** Parameters for text of any kind. */
const free = ["action", "author", "category", "email", "outcome", "q", "search", "source", "tag", "tool", "what"];

const board = await newBoard("public");
const all = (await routesOfTheService()).flatMap((route) => {
  const shape = route.endpoint?.query && "shape" in route.endpoint.query ? route.endpoint.query.shape : {};
  return route.endpoint ? [{ name: `${route.method} ${route.path}`, route, names: Object.keys(shape as object) }] : [];
});
const routes = all.filter(({ names }) => names.length > 0);

const prepared = async (route: Route) => {
  const { method, path, call } = await prepare(route, board.people.admin.token, board);
  const { pathname, searchParams } = new URL(path, "http://localhost");
  return { sent: searchParams, ask: (query: string) => send(method, `${pathname}?${query}`, call) };
};

test("every parameter has its bad values, or is for text of any kind", () => {
  const names = new Set(routes.flatMap(({ names }) => names));
  expect([...names].sort()).toEqual([...Object.keys(bad), ...free].sort());
  // The central rules read the names of an object.
  expect(all.filter(({ route, names }) => route.endpoint?.query && names.length === 0)).toEqual([]);
});

test.each(routes)("$name rejects bad values, with the name of the parameter", async ({ route, names }) => {
  const { sent, ask } = await prepared(route);
  await Promise.all(
    names.flatMap((name) =>
      [...(bad[name] ?? []), "\0"].map(async (value) => {
        const query = new URLSearchParams(sent);
        // A search of people needs one of the two parameters.
        if (name === "search") query.delete("email");
        query.set(name, value);
        const answer = await ask(query.toString());
        expect([name, value, answer.status], answer.text.slice(0, 300)).toEqual([name, value, 400]);
        if (value !== "\0") expectError(answer, "VALIDATION_ERROR", name);
      }),
    ),
  );
});

test.each(routes)("$name takes empty parameters as missing", async ({ route, names }) => {
  const { sent, ask } = await prepared(route);
  const empty = names.filter((name) => !sent.has(name)).map((name) => `${name}=&${name}=+`);
  const answer = await ask([sent, ...empty].join("&"));
  expect(answer.status, answer.text).not.toBe(400);
  const needed = [...sent.keys()].filter(
    (name) => !route.endpoint?.query?.safeParse({ ...Object.fromEntries(sent), [name]: undefined }).success,
  );
  for (const name of needed) expectError(await ask(`${name}=`), "VALIDATION_ERROR", name);
});

test.each(all)("$name refuses a repeated parameter, and expand if it has none", async ({ route, names }) => {
  const { sent, ask } = await prepared(route);
  const { id } = board.organization;
  const encoded = (name: string) => `%${name.charCodeAt(0).toString(16)}${name.slice(1)}`;
  for (const name of [...names, "organization"])
    expectError(await ask(`${name}=${id}&unknown=1&unknown=2&${encoded(name)}=${id}`), "VALIDATION_ERROR", name);
  if (!names.includes("expand")) expectError(await ask("expand=author"), "VALIDATION_ERROR", "expand");
  expect((await ask([sent, "unknown=1&unknown=2&expand[]=1&expand[]=1"].join("&"))).status).not.toBe(400);
});
