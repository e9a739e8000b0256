import { api } from "../../api/client.ts";
import { newOrganization, newSubmission, only } from "../../api/world.ts";
import { sql, stack } from "../../stack.ts";
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
  /** An invite of the guest. */
  invite: async (scene) => {
    const as = { token: "", ...(await scene.get("admin")) };
    const path = `/api/organizations/${(await scene.organization).id}/invites`;
    const body = { email: (await scene.get("guest")).email, role: "member" };
    const { data } = (await api("POST", path, { as, body })).body as { data: { id: string; token: string } };
    return { id: data.id, token: data.token };
  },
  /** The service's own pages; the id is their origin. */
  site: async () => ({ id: new URL(stack.site_url).origin }),
  /** A cookie with the user's session. */
  session: async (scene) => {
    const session = JSON.stringify({ access_token: (await scene.get("user")).token });
    return { id: `sb-127-auth-token=base64-${Buffer.from(session).toString("base64url")}` };
  },
} satisfies Record<string, Maker>;
