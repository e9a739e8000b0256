import { withDatabase } from "../../../local/postgres/database.ts";
import { type AdminArea, doneByAdmins, forAdmins } from "./callers.ts";

export const dataArea: AdminArea = {
  name: "import, export, audit trail and events",
  pages: [
    ["/import", forAdmins],
    ["/import/:import", forAdmins],
    ["/export", forAdmins],
    ["/export/file?format=csv&what=tags", forAdmins],
    ["/audit", forAdmins],
    ["/events", forAdmins],
    ["/welcome", forAdmins],
  ],
  forms: [["/import/:import", { _method: "delete" }, doneByAdmins]],
  ids: {
    ":import": async ({ organization }) => {
      const { sql } = await import("../../stack.ts");
      const [created] = await sql<{ id: string }[]>`
        insert into private.imports (organization_id, format, source, is_dry_run, makes_missing)
        values (${organization.id}, 'feedback', 'feedback', false, true) returning id`;
      return created?.id ?? "";
    },
  },
  places: async (_first, { db_url }) => [
    { name: "admin, checked import", path: `/admin/import/${await checkedImport(db_url)}`, as: "owner" },
    { name: "admin, import", path: "/admin/import", as: "owner" },
    { name: "admin, export", path: "/admin/export", as: "owner" },
    { name: "admin, audit", path: "/admin/audit", as: "owner" },
    { name: "admin, events", path: "/admin/events", as: "owner" },
    { name: "admin, welcome", path: "/admin/welcome", as: "owner" },
  ],
};

/** A dry run of the demo with errors, whose file is kept. */
const checkedImport = (db_url: string): Promise<string> =>
  withDatabase(db_url, async (sql) => {
    const [made] = await sql<{ id: string; organization_id: string }[]>`
      insert into private.imports (organization_id, format, source, is_dry_run, makes_missing, state, query, file_type,
        processed, created, skipped, failed)
      select id, 'csv', 'csv', true, true, 'completed', '{}', 'csv', 240, 231, 6, 3 from public.organizations
      where is_default returning id, organization_id`;
    const { id = "", organization_id = "" } = made ?? {};
    await sql`
      insert into private.import_file_parts (organization_id, import_id, n, bytes)
      values (${organization_id}, ${id}, 0, 'id,title')`;
    await sql`
      insert into private.import_errors (organization_id, import_id, line, field, message)
      values (${organization_id}, ${id}, 17, 'title', 'must be 5 to 200 characters long'),
        (${organization_id}, ${id}, 95, 'status', 'must be open, under_review, planned, in_progress, completed or declined'),
        (${organization_id}, ${id}, 203, 'created_at', 'must be a date')`;
    return id;
  });
