import { newOrganization, newSubmission, only } from "../../api/world.ts";
import { sql } from "../../stack.ts";
import type { Made, Maker, Thing } from "./maker.ts";

async function label(
  table: "categories" | "tags",
  { id }: { id: string },
  name: string,
  translations = {},
): Promise<Thing> {
  const row = { organization_id: id, name, slug: name.toLowerCase(), translations: sql.json(translations) };
  const [made] = await sql<{ id: string }[]>`insert into public.${sql(table)} ${sql(row)} returning id`;
  return { id: only(made).id, name, slug: row.slug };
}

const mobile = { de: "Handy", fr: "Portable", es: "Móvil", ru: "Мобильный", "pt-BR": "Celular", ja: "モバイル" };
const here = (scene: Made) => scene.organization;

export const organizations = {
  organization: async (scene) => ({ ...(await here(scene)) }),
  /** "Mobile", with names in all languages but Italian. */
  category: async (scene) => label("categories", await here(scene), "Mobile", mobile),
  /** "Speed", with a German name. */
  tag: async (scene) => label("tags", await here(scene), "Speed", { de: "Tempo", it: "" }),
  foreign_category: async () => label("categories", await newOrganization(), "Web"),
  /** A private organization with a submission by the author, which only its team sees. */
  private: async (scene) => {
    const organization = await newOrganization({ visibility: "private" });
    return { ...organization, submission: await newSubmission(organization, await scene.get("author")) };
  },
  /** An organization that approves submissions before they are shown. */
  moderated: async () => ({ ...(await newOrganization({ require_approval: true })) }),
  /** An organization whose plan allows no further submission. */
  full: async () => ({ ...(await newOrganization({ max_submissions: 0 })) }),
} satisfies Record<string, Maker>;
