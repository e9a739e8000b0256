import { expect, test } from "vitest";
import type { z } from "zod";
import { newBoard, prepare } from "../access/callers.ts";
import { routesOfTheService } from "../access/service.ts";
import { expectError, send } from "../api/client.ts";

// A query parameter that cannot be read is refused; the error contains its name.

const words = ["__proto__", "x", ""];
const bad: Record<string, string[]> = {
  page: ["0", "-1", "1.5", "1e9", "x", ""],
  limit: ["0", "-1", "1.5", "1e9", "x", ""],
  cursor: ["!", "abc", "eyJ9", `${"a".repeat(2001)}`],
  after: ["x", ""],
  before: ["x", ""],
  parent_id: ["x"],
  target_id: ["x"],
  actor_id: ["x"],
  from: ["yesterday", "2026-02-30"],
  to: ["yesterday", "2026-02-30"],
  start_date: ["yesterday", "2026-02-30", "0000-01-01", "2026-01-01T00:00:00"],
  end_date: ["yesterday", "2026-02-30", "0000-01-01", "2026-01-01T00:00:00"],
  unread: ["yes", "1", ""],
  force: ["yes", "1", ""],
  revoke: ["yes", "1", ""],
  dry_run: ["yes"],
  create_missing: ["yes"],
  follow: ["yes"],
  anonymous_votes: ["yes"],
  expand: ["voters", "", "author,,tags", `${"author,".repeat(60)}author`],
  metrics: ["median", "", "nps_score,", "NPS_SCORE"],
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
const routes = (await routesOfTheService()).flatMap((route) => {
  const query = route.endpoint?.query;
  const names = query && "shape" in query ? Object.keys(query.shape as Record<string, z.ZodType>) : [];
  return names.length > 0 ? [{ name: `${route.method} ${route.path}`, route, names }] : [];
});

test("every parameter has its bad values, or is for text of any kind", () => {
  const names = new Set(routes.flatMap(({ names }) => names));
  expect([...names].sort()).toEqual([...Object.keys(bad), ...free].sort());
});

test.each(routes)("$name rejects bad values, with the name of the parameter", async ({ route, names }) => {
  const { method, path, call } = await prepare(route, board.people.admin.token, board);
  await Promise.all(
    names.flatMap((name) =>
      [...(bad[name] ?? []), "\0"].map(async (value) => {
        const url = new URL(path, "http://localhost");
        // A search of people needs one of the two parameters.
        if (name === "search") url.searchParams.delete("email");
        url.searchParams.set(name, value);
        const answer = await send(method, url.pathname + url.search, call);
        expect([name, value, answer.status], answer.text.slice(0, 300)).toEqual([name, value, 400]);
        if (value !== "\0") expectError(answer, "VALIDATION_ERROR", name);
      }),
    ),
  );
});
