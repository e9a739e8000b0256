import { shownToAdmins } from "./api-keys.ts";
import { type AdminArea, type AdminWorld, doneByAdmins, forAdmins } from "./callers.ts";

const newSecret = async ({ organization }: AdminWorld) => {
  const { sql } = await import("../../stack.ts");
  const [secret] = await sql<{ id: string }[]>`
    insert into private.identify_secrets (id, organization_id, encrypted_secret, last_four)
    values (gen_random_uuid(), ${organization.id}, 'none.none', 'abcd') returning id`;
  return secret?.id ?? "";
};

/** Deletes the secrets of earlier callers: an organization can have at most two. */
const afterOthers = async ({ organization }: AdminWorld) => {
  const { sql } = await import("../../stack.ts");
  await sql`delete from private.identify_secrets where organization_id = ${organization.id}`;
  return "none";
};

export const identifyArea: AdminArea = {
  name: "identify",
  pages: [
    ["/settings/identify", forAdmins],
    ["/settings/identify/:signing/delete", forAdmins],
  ],
  forms: [
    ["/settings/identify", { others: ":none" }, shownToAdmins],
    ["/settings/identify/check", { token: "of nobody" }, shownToAdmins],
    ["/settings/identify/:signing", { _method: "delete" }, doneByAdmins],
  ],
  ids: { ":signing": newSecret, ":none": afterOthers },
  places: async () => [{ name: "admin, identify", path: "/admin/settings/identify", as: "owner" }],
};
