import { type AdminArea, doneByAdmins, forAdmins } from "./callers.ts";

export const mailArea: AdminArea = {
  name: "mail",
  pages: [["/settings/mail", forAdmins]],
  forms: [
    ["/settings/mail", { _method: "patch", "mail_defaults.comment": "weekly" }, doneByAdmins],
    ["/settings/mail/:bounced", { _method: "delete" }, doneByAdmins],
  ],
  ids: {
    ":bounced": async ({ organization, authorId }) => {
      const { sql } = await import("../../stack.ts");
      await sql`
        insert into private.mail_suppressions (organization_id, address_hash, reason, profile_id)
        values (${organization.id}, ${authorId}, 'bounced', ${authorId}) on conflict do nothing`;
      return authorId;
    },
  },
  places: async () => [{ name: "admin, mail", path: "/admin/settings/mail", as: "owner" }],
};
