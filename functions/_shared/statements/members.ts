import { digestOf, type NewApiKey } from "../../../shared/api-keys.ts";
import type { InviteCreate, RoleChange } from "../../../shared/members.ts";
import type { MemberRole } from "../../../shared/organizations.ts";
import type { PageQuery } from "../../../shared/pagination.ts";
import { readInviteLink } from "../callers/mail-links.ts";
import type { Statement } from "../database/run.ts";
import { idOf } from "./organizations.ts";
import type { Data } from "./shapes.ts";

type List = { total: number; data: string };

/** Without an id, for the request's organization. */
export function listMembers(id: string | undefined, { page, limit }: PageQuery): Statement<List> {
  return (sql) =>
    sql`select total, data::text from private.admin_members(${idOf(sql, id)}, ${limit}, ${(page - 1) * limit})`;
}

/** A member of the request's organization; no row if the team has no such member. */
export function showMember(userId: string): Statement<Data> {
  return (sql) => sql`
    select m.value::text as data
    from private.admin_members(private.current_organization_id(), 10000, 0) l, json_array_elements(l.data) m
    where m.value ->> 'user_id' = ${userId}::uuid::text`;
}

/** What the member made that works on without them, for admins. */
export function madeBy(userId: string): Statement<Data> {
  return (sql) => sql`select private.made_by(private.current_organization_id(), ${userId})::text as data`;
}

export function changeRole(id: string, userId: string, { role, revoke }: RoleChange): Statement<Data> {
  return (sql) => sql`select private.admin_change_role(${id}, ${userId}, ${role}, ${revoke})::text as data`;
}

export function removeMember(id: string, userId: string, revoke: boolean): Statement<Data> {
  return (sql) => sql`select private.admin_remove_member(${id}, ${userId}, ${revoke})::text as data`;
}

export function transferOwnership(id: string, userId: string): Statement<Data> {
  return (sql) => sql`select private.admin_transfer_ownership(${id}, ${userId})::text as data`;
}

export function resetSecondFactor(id: string, userId: string): Statement<Data> {
  return (sql) => sql`select private.reset_second_factor(${id}, ${userId})::text as data`;
}

/** Without an id, for the request's organization. */
export function listInvites(id: string | undefined, { page, limit }: PageQuery): Statement<List> {
  return (sql) =>
    sql`select total, data::text from private.admin_invites(${idOf(sql, id)}, ${limit}, ${(page - 1) * limit})`;
}

export function createInvite(
  id: string,
  { email, role }: InviteCreate,
  { digest }: NewApiKey,
): Statement<Data> {
  return (sql) => sql`select private.admin_invite(${id}, ${email}, ${role}, ${digest})::text as data`;
}

export function revokeInvite(id: string, inviteId: string): Statement<{ data: string | null }> {
  return (sql) => sql`select private.admin_revoke_invite(${id}, ${inviteId})::text as data`;
}

export type ShownInvite =
  | { is_for_caller: false }
  | {
      is_for_caller: true;
      status: "open" | "accepted" | "revoked" | "expired";
      role: MemberRole;
      organization: string;
    };

/** Shows the invite of a token: the one returned at its creation, or the signed one of its mail. */
export function showInvite(token: string): Statement<{ data: ShownInvite | null }> {
  const id = readInviteLink(token, "invite") ?? null;
  return (sql) => sql`select private.show_invite(${digestOf(token)}, ${id}::uuid) as data`;
}

/** Accepts the invite of a token, like showInvite. */
export function acceptInvite(token: string): Statement<Data & { joined: boolean }> {
  const id = readInviteLink(token, "invite") ?? null;
  return (sql) => sql`select joined, data::text from private.accept_invite(${digestOf(token)}, ${id}::uuid)`;
}
