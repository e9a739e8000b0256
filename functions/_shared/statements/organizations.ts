import type { OrganizationPatch } from "../../../shared/organizations.ts";
import type { Sql, Statement } from "../database/run.ts";
import type { Data } from "./shapes.ts";

export const idOf = (sql: Sql, id: string | undefined) =>
  id === undefined ? sql`private.current_organization_id()` : sql`${id}::uuid`;

/** Without an id, for the request's organization. */
export function organizationDetail(id?: string): Statement<Data> {
  return (sql) => sql`select private.admin_organization(${idOf(sql, id)})::text as data`;
}

/** The current logo, before a change. For admins only. */
export function logoOf(id?: string): Statement<{ id: string; logo_url: string | null }> {
  return (sql) => sql`select * from private.admin_logo(${idOf(sql, id)})`;
}

/** Removes the given paths from the list of removed logos; returns up to 20 of the remaining ones, oldest first. */
export function removedLogos(deleted: string[]): Statement<{ path: string }> {
  return (sql) => sql`select path from private.take_removed_logos(${deleted}) path`;
}

/** Sets the path of an uploaded logo. */
export function setLogo(id: string, path: string): Statement<Data> {
  return (sql) =>
    sql`select private.admin_update_organization(${id}, ${JSON.stringify({ logo_url: path })}::text::jsonb)::text as data`;
}

export function updateOrganization(id: string, fields: OrganizationPatch): Statement<Data> {
  return (sql) =>
    sql`select private.admin_update_organization(${id}, ${JSON.stringify(fields)}::text::jsonb)::text as data`;
}
