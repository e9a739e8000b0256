import { type AdminArea, type AdminWorld, doneByAdmins, forAdmins } from "./callers.ts";

const newKey = async ({ organization }: AdminWorld) => {
  const { sql } = await import("../../stack.ts");
  const [key] = await sql<{ id: string }[]>`
    select private.create_api_key(${organization.id}, 'Key of a test', '{}', sha256(gen_random_uuid()::text::bytea),
      'fcs_org_', 'abcd') as id`;
  return key?.id ?? "";
};

/** Expected of a form whose response shows a secret instead of redirecting. */
export const shownToAdmins = forAdmins;

export const apiKeysArea: AdminArea = {
  name: "API keys",
  pages: [
    ["/settings/api-keys", forAdmins],
    ["/settings/api-keys/new", forAdmins],
    ["/settings/api-keys/:key/rotate", forAdmins],
    ["/settings/api-keys/:key/revoke", forAdmins],
  ],
  forms: [
    ["/settings/api-keys", { name: "backend", scopes: "submissions:read" }, shownToAdmins],
    ["/settings/api-keys/:key/rotate", { overlap_seconds: "3600" }, shownToAdmins],
    ["/settings/api-keys/:key", { _method: "delete" }, doneByAdmins],
  ],
  ids: { ":key": newKey },
  places: async () => [
    { name: "admin, API keys", path: "/admin/settings/api-keys", as: "owner" },
    { name: "admin, new API key", path: "/admin/settings/api-keys/new", as: "owner" },
  ],
};
