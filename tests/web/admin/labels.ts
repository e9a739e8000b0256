import { randomUUID } from "node:crypto";
import { type AdminArea, type AdminWorld, doneByAdmins, forAdmins } from "./callers.ts";

const newLabel =
  (kind: "categories" | "tags") =>
  async ({ organization }: AdminWorld) => {
    const { sql } = await import("../../stack.ts");
    const [created] = await sql<{ id: string }[]>`
      insert into public.${sql(kind)} ${sql({ organization_id: organization.id, name: "A label", slug: `l-${randomUUID()}` })}
      returning id`;
    return created?.id ?? "";
  };

export const labelsArea: AdminArea = {
  name: "categories and tags",
  pages: [
    ["/settings/categories", forAdmins],
    ["/settings/categories/new", forAdmins],
    ["/settings/categories/:category", forAdmins],
    ["/settings/categories/:category/delete", forAdmins],
    ["/settings/tags", forAdmins],
    ["/settings/tags/new", forAdmins],
    ["/settings/tags/:tag", forAdmins],
    ["/settings/tags/:tag/delete", forAdmins],
  ],
  forms: [
    ["/settings/categories/new", { name: "Billing" }, doneByAdmins],
    ["/settings/categories/:category", { _method: "patch", name: "Invoices" }, doneByAdmins],
    ["/settings/categories/order", { _method: "put", ids: ":category" }, doneByAdmins],
    ["/settings/categories/:category/merge", { into_id: ":into" }, doneByAdmins],
    ["/settings/categories/:category/delete", { _method: "delete" }, doneByAdmins],
    ["/settings/tags/new", { name: "mobile" }, doneByAdmins],
    ["/settings/tags/:tag", { _method: "patch", name: "phones" }, doneByAdmins],
    ["/settings/tags/:tag/merge", { into_id: ":other" }, doneByAdmins],
    ["/settings/tags/:tag/delete", { _method: "delete" }, doneByAdmins],
  ],
  ids: {
    ":category": newLabel("categories"),
    ":into": newLabel("categories"),
    ":tag": newLabel("tags"),
    ":other": newLabel("tags"),
  },
  places: async (first) => {
    const category = await first("/admin/categories");
    return [
      { name: "admin, categories", path: "/admin/settings/categories", as: "owner" },
      { name: "admin, category", path: `/admin/settings/categories/${category}`, as: "owner" },
      { name: "admin, category deleted", path: `/admin/settings/categories/${category}/delete`, as: "owner" },
      { name: "admin, tags", path: "/admin/settings/tags", as: "owner" },
      { name: "admin, new tag", path: "/admin/settings/tags/new", as: "owner" },
    ];
  },
};
