import { digestOf, type NewApiKey } from "../../../shared/api-keys.ts";
import type {
  InviteCreate,
  inviteAnswer,
  joinedAnswer,
  MadeByMember,
  memberAnswer,
  memberRemovedAnswer,
  newInviteAnswer,
  RoleChange,
} from "../../../shared/members.ts";
import type { MemberRole } from "../../../shared/organizations.ts";
import type { PageQuery } from "../../../shared/pagination.ts";
import { readInviteLink } from "../callers/mail-links.ts";
import type { Statement } from "../database/run.ts";
import { call, type Data, type DataOf, type List, organizationOf, read } from "./shapes.ts";

export type Member = DataOf<typeof memberAnswer>;
export type Invite = DataOf<typeof inviteAnswer>;

/** Without an id, for the request's organization. */
export function listMembers(id: string | undefined, { page, limit }: PageQuery): Statement<List<Member>> {
  return (sql) =>
    sql`select total, data::text from private.admin_members(${organizationOf(id)}, ${limit}, ${(page - 1) * limit})`;
}

/** A member of the request's organization; no row if the team has no such member. */
export function showMember(userId: string): Statement<Data<Member>> {
  return (sql) => sql`
    select m.value::text as data
    from private.admin_members(private.current_organization_id(), 10000, 0) l, json_array_elements(l.data) m
    where m.value ->> 'user_id' = ${userId}::uuid::text`;
}

/** Items that the member created and that stay valid without them, for admins. */
export const madeBy = (userId: string) => call<MadeByMember[]>("made_by", organizationOf(), userId);

export const changeRole = (id: string | undefined, userId: string, { role, revoke }: RoleChange) =>
  call<Member>("admin_change_role", organizationOf(id), userId, role, revoke);

export const removeMember = (id: string | undefined, userId: string, revoke: boolean) =>
  call<DataOf<typeof memberRemovedAnswer>>("admin_remove_member", organizationOf(id), userId, revoke);

export const transferOwnership = (id: string | undefined, userId: string) =>
  call<Member>("admin_transfer_ownership", organizationOf(id), userId);

export const resetSecondFactor = (id: string | undefined, userId: string) =>
  call<Member>("reset_second_factor", organizationOf(id), userId);

/** Without an id, for the request's organization. */
export function listInvites(id: string | undefined, { page, limit }: PageQuery): Statement<List<Invite>> {
  return (sql) =>
    sql`select total, data::text from private.admin_invites(${organizationOf(id)}, ${limit}, ${(page - 1) * limit})`;
}

export const createInvite = (id: string | undefined, { email, role }: InviteCreate, { digest }: NewApiKey) =>
  call<Omit<DataOf<typeof newInviteAnswer>, "token">>("admin_invite", organizationOf(id), email, role, digest);

export const revokeInvite = (id: string | undefined, inviteId: string) =>
  call<Invite | null>("admin_revoke_invite", organizationOf(id), inviteId);

export type ShownInvite =
  | { is_for_caller: false }
  | {
      is_for_caller: true;
      status: "open" | "accepted" | "revoked" | "expired";
      role: MemberRole;
      organization: string;
    };

/** Shows the invite of a token: the one returned at its creation, or the signed one of its mail. */
export const showInvite = (token: string) =>
  read<ShownInvite | null>("show_invite", digestOf(token), readInviteLink(token, "invite"));

/** Accepts the invite of a token, like showInvite. */
export function acceptInvite(token: string): Statement<Data<DataOf<typeof joinedAnswer>> & { joined: boolean }> {
  const id = readInviteLink(token, "invite") ?? null;
  return (sql) => sql`select joined, data::text from private.accept_invite(${digestOf(token)}, ${id})`;
}
