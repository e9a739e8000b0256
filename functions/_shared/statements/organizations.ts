import type { OrganizationPatch, organizationDetailAnswer } from "../../../shared/organizations.ts";
import type { Statement } from "../database/run.ts";
import { call, type DataOf, organizationOf } from "./shapes.ts";

export type Organization = DataOf<typeof organizationDetailAnswer>;

/** Without an id, for the request's organization. */
export const organizationDetail = (id?: string) => call<Organization>("admin_organization", organizationOf(id));

/** The current logo, before a change. For admins only. */
export function logoOf(id?: string): Statement<{ id: string; logo_url: string | null }> {
  return (sql) => sql`select * from private.admin_logo(${organizationOf(id)})`;
}

/** Removes the given paths from the list of removed logos; returns up to 20 of the remaining ones, oldest first. */
export function removedLogos(deleted: string[]): Statement<{ path: string }> {
  return (sql) => sql`select path from private.take_removed_logos(${deleted}) path`;
}

/** Changes settings; logo_url is the path of an uploaded logo. */
export const updateOrganization = (id: string | undefined, fields: OrganizationPatch | { logo_url: string }) =>
  call<Organization>("admin_update_organization", organizationOf(id), fields);
