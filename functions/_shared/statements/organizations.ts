import type { OrganizationPatch } from "../../../shared/organizations.ts";
import type { Statement } from "../database.ts";
import type { Data } from "./shapes.ts";

export function organizationDetail(id: string): Statement<Data> {
  return (sql) => sql`select private.admin_organization(${id})::text as data`;
}

export function updateOrganization(id: string, fields: OrganizationPatch): Statement<Data> {
  return (sql) =>
    sql`select private.admin_update_organization(${id}, ${JSON.stringify(fields)}::text::jsonb)::text as data`;
}
