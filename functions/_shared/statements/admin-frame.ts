import type { MemberRole } from "../../../shared/organizations.ts";
import type { Statement } from "../database/run.ts";
import { read } from "./shapes.ts";

/** Data of the dashboard's frame. */
export type AdminFrame = {
  organization_id: string;
  role: MemberRole;
  /** Organizations whose team includes the caller. */
  organizations: { slug: string; name: string; is_default: boolean }[];
  /** Number of pending submissions and comments, counted up to 100; 0 for a member. */
  waiting_count: number;
};

/** Raises an error unless the caller has at least this role in the organization of the path. */
export const adminFrame = (least: MemberRole) => read<AdminFrame>("admin_frame", least);

/** Organizations whose team includes the caller, with the caller's role. */
export function myTeams(): Statement<{ id: string; slug: string; name: string; role: MemberRole }> {
  return (sql) => sql`
    select o.id, o.slug, o.name, m.role from public.memberships m join public.organizations o on o.id = m.organization_id
    where m.user_id = private.caller_id() order by o.name collate "und-x-icu", o.id limit 200`;
}
