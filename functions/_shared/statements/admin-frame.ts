import type { MemberRole } from "../../../shared/organizations.ts";
import type { Statement } from "../database.ts";

/** What stands around every page of the dashboard. */
export type AdminFrame = {
  organization_id: string;
  role: MemberRole;
  /** Those that the caller is on the team of. */
  organizations: { slug: string; name: string; is_default: boolean }[];
  /** Submissions and comments that wait for approval; 100 stands for more, 0 for a member. */
  waiting_count: number;
};

/** Raises where the caller has less than this role in the organization that the address names. */
export function adminFrame(least: MemberRole): Statement<{ data: AdminFrame }> {
  return (sql) => sql`select private.admin_frame(${least}) as data`;
}

/** Organizations that the caller is on the team of. */
export function myTeams(): Statement<{ id: string; slug: string; name: string; role: MemberRole }> {
  return (sql) => sql`
    select o.id, o.slug, o.name, m.role from public.memberships m join public.organizations o on o.id = m.organization_id
    where m.user_id = private.caller_id() order by lower(o.name), o.id limit 200`;
}
