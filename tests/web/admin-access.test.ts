import { beforeAll, describe, expect, test } from "vitest";
import { adminAreas } from "./admin/areas.ts";
import { adminCallers, filled } from "./admin/callers.ts";
import { type Board, newBoard, shown } from "./board.ts";

// The response of each dashboard page to each caller, compared with the table of its area (tests/web/admin/<area>.ts).

const boards = {} as Record<"public" | "private", Board>;

beforeAll(async () => {
  [boards.public, boards.private] = [await newBoard("public"), await newBoard("private")];
});

const outsiders = ["user", "other tenant's owner"];

/** Callers of a board and the expected answers: a private board does not exist for callers outside of its team. */
const expected = (answers: string, visibility: "public" | "private") => {
  const each = answers.split(" ");
  const all = adminCallers.map((caller, index) => [caller, each[index]] as const);
  if (visibility === "public") return all;
  // The other callers are tested on the public board only; the owner shows that the page exists.
  return all
    .filter(([caller]) => caller === "owner" || outsiders.includes(caller))
    .map(([caller, answer]) => [caller, caller !== "owner" && answer === "403" ? "404" : answer] as const);
};

describe.each(["public", "private"] as const)("on a %s board", (visibility) => {
  describe.each(adminAreas)("$name", (area) => {
    const base = () => `/o/${boards[visibility].organization.slug}/admin`;

    test.each(area.pages)("GET %s answers each of them as the table says", async (path, answers) => {
      const { people, ...world } = boards[visibility];
      const at = base() + (await filled(path, area, world));
      const table = expected(answers, visibility);
      const received = await Promise.all(table.map(async ([caller]) => [caller, shown(await people[caller].get(at))]));
      expect(received).toEqual(table);
    });

    if (area.forms.length > 0)
      test.each(area.forms)("POST %s %j answers each as the table says", async (path, fields, answers) => {
        const { people, ...world } = boards[visibility];
        const table = expected(answers, visibility);
        const received: unknown[] = [];
        for (const [caller] of table) {
          const [at, body] = [await filled(path, area, world), await filled(JSON.stringify(fields), area, world)];
          received.push([caller, shown(await people[caller].post(base() + at, JSON.parse(body)))]);
        }
        expect(received).toEqual(table);
      });
  });
});

test("every page of an area that is in the navigation has its row", async () => {
  const { organization, people } = boards.public;
  const { html } = await people.owner.get(`/o/${organization.slug}/admin`);
  const listed = html.querySelectorAll(".side nav a").map((link) => link.getAttribute("href") ?? "");
  const rows = adminAreas.flatMap(({ pages }) => pages.map(([path]) => `/o/${organization.slug}/admin${path}`));
  expect(listed.length).toBeGreaterThan(0);
  expect(rows).toEqual(expect.arrayContaining(listed));
});
