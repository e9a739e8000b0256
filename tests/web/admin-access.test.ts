import { beforeAll, describe, expect, test } from "vitest";
import { newOrganization, type Organization } from "../api/world.ts";
import { sql } from "../stack.ts";
import { adminAreas } from "./admin/areas.ts";
import { type AdminArea, type AdminWorld, adminCallers } from "./admin/callers.ts";
import { newVisitor, signedIn, type Visitor } from "./pages.ts";

// Which page of the dashboard answers whom with what, as the table of its area says (tests/web/admin/<area>.ts).

type Caller = (typeof adminCallers)[number];
type People = Record<Caller, Visitor & { userId?: string }>;
type Board = AdminWorld & { people: People };
const boards = {} as Record<"public" | "private", Board>;

async function newBoard(visibility: "public" | "private"): Promise<Board> {
  const [organization, other] = [await newOrganization({ visibility }), await newOrganization()];
  const onTeam = async (of: Organization, role: "member" | "admin" | "owner") => {
    const person = await signedIn();
    await sql`insert into public.memberships (organization_id, user_id, role) values (${of.id}, ${person.userId}, ${role})`;
    return person;
  };
  const member = await onTeam(organization, "member");
  return {
    organization,
    authorId: member.userId,
    people: {
      visitor: newVisitor(),
      user: await signedIn(),
      member,
      admin: await onTeam(organization, "admin"),
      owner: await onTeam(organization, "owner"),
      "other tenant's owner": await onTeam(other, "owner"),
    },
  };
}

beforeAll(async () => {
  [boards.public, boards.private] = [await newBoard("public"), await newBoard("private")];
});

const shown = ({ status, location }: { status: number; location: string | undefined }) =>
  location?.startsWith("/sign-in") ? "in" : String(status);

/** A private board does not exist for callers outside of its team. */
const expected = (answers: string, visibility: "public" | "private") =>
  answers.split(" ").map((answer, index) => {
    const caller = adminCallers[index];
    const isOutside = caller === "user" || caller === "other tenant's owner";
    return visibility === "private" && isOutside && answer === "403" ? "404" : answer;
  });

/** A text in which what it names is filled with new rows. */
async function filled(text: string, { ids = {} }: AdminArea, world: AdminWorld): Promise<string> {
  let full = text.replaceAll(":organization", world.organization.id);
  for (const [name, make] of Object.entries(ids))
    if (full.includes(name)) full = full.replaceAll(name, await make(world));
  return full;
}

describe.each(["public", "private"] as const)("on a %s board", (visibility) => {
  describe.each(adminAreas)("$name", (area) => {
    const base = () => `/o/${boards[visibility].organization.slug}/admin`;

    test.each(area.pages)("GET %s answers each of them as the table says", async (path, answers) => {
      const { people, ...world } = boards[visibility];
      const at = base() + (await filled(path, area, world));
      const received = await Promise.all(
        adminCallers.map(async (caller) => shown(await people[caller].get(at))),
      );
      expect(received).toEqual(expected(answers, visibility));
    });

    if (area.forms.length > 0)
      test.each(area.forms)("POST %s %j answers each as the table says", async (path, fields, answers) => {
        const { people, ...world } = boards[visibility];
        const received: string[] = [];
        for (const caller of adminCallers) {
          const [at, body] = [
            await filled(path, area, world),
            await filled(JSON.stringify(fields), area, world),
          ];
          received.push(shown(await people[caller].post(base() + at, JSON.parse(body))));
        }
        expect(received).toEqual(expected(answers, visibility));
      });
  });
});

test("every page of an area that is in the navigation has its row", async () => {
  const { organization, people } = boards.public;
  const { html } = await people.owner.get(`/o/${organization.slug}/admin`);
  const listed = html.querySelectorAll(".side nav a").map((link) => link.getAttribute("href") ?? "");
  const rows = adminAreas.flatMap(({ pages }) =>
    pages.map(([path]) => `/o/${organization.slug}/admin${path}`),
  );
  expect(listed.length).toBeGreaterThan(0);
  expect(rows).toEqual(expect.arrayContaining(listed));
});
