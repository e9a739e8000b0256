import { digestOf, type NewApiKey } from "../../../shared/api-keys.ts";
import type { InviteCreate } from "../../../shared/members.ts";
import type { PageQuery } from "../../../shared/pagination.ts";
import type { Statement } from "../database.ts";
import type { Data } from "./shapes.ts";

type List = { total: number; data: string };

export function listMembers(id: string, { page, limit }: PageQuery): Statement<List> {
  return (sql) =>
    sql`select total, data::text from private.admin_members(${id}, ${limit}, ${(page - 1) * limit})`;
}

export function changeRole(id: string, userId: string, role: string): Statement<Data> {
  return (sql) => sql`select private.admin_change_role(${id}, ${userId}, ${role})::text as data`;
}

export function removeMember(id: string, userId: string): Statement {
  return (sql) => sql`select private.admin_remove_member(${id}, ${userId})`;
}

export function transferOwnership(id: string, userId: string): Statement<Data> {
  return (sql) => sql`select private.admin_transfer_ownership(${id}, ${userId})::text as data`;
}

export function listInvites(id: string, { page, limit }: PageQuery): Statement<List> {
  return (sql) =>
    sql`select total, data::text from private.admin_invites(${id}, ${limit}, ${(page - 1) * limit})`;
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

export function acceptInvite(token: string): Statement<Data & { joined: boolean }> {
  return (sql) => sql`select joined, data::text from private.accept_invite(${digestOf(token)})`;
}
