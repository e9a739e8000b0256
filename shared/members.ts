import { z } from "zod";
import { dataOf, listOf } from "./envelopes.ts";
import { emailAddress, timestamp, uuid } from "./fields.ts";
import { memberRoles, organization } from "./organizations.ts";
import { totalMeta } from "./pagination.ts";
import { authorReference } from "./taxonomy.ts";

const role = z.enum(memberRoles);

// In ------------------------------------------------------------------------------------------------------------

export const roleChange = z
  .object({ role: role.describe("Owners give and take the role owner, admins the others.") })
  .meta({ id: "RoleChange", description: "The new role of a member." });

export const ownershipTransfer = z
  .object({ user_id: uuid.describe("A member of the team.") })
  .meta({ id: "OwnershipTransfer", description: "Who becomes owner in the place of who calls." });

export const inviteCreate = z
  .object({
    email: emailAddress.describe("Who signs in with it may accept."),
    role: role.default("member").describe("Only owners invite owners."),
  })
  .meta({ id: "InviteCreate", description: "Somebody to join the team." });

export type InviteCreate = z.infer<typeof inviteCreate>;

export const inviteAccept = z
  .object({ token: z.string().min(1).max(200).describe("As the answer that made the invite showed it.") })
  .meta({ id: "InviteAccept", description: "The invite to accept." });

// Out -----------------------------------------------------------------------------------------------------------

const member = z
  .object({
    user_id: uuid,
    name: z.string().describe("`Anonymous` where the person gave none."),
    avatar: z.string().nullable(),
    email: z.string().nullable().describe("For admins; null for others."),
    role,
    joined_at: timestamp,
  })
  .meta({ id: "Member", description: "Somebody on the team." });

export const memberListAnswer = listOf(member, totalMeta);
export const memberAnswer = dataOf(member);

const inviteFields = {
  id: uuid,
  email: z.string(),
  role,
  status: z.enum(["open", "accepted", "revoked", "expired"]),
  invited_by: authorReference.nullable(),
  created_at: timestamp,
  expires_at: timestamp,
};

const invite = z
  .object(inviteFields)
  .meta({ id: "Invite", description: "An invite, without its token, which nobody can read again." });

export const inviteListAnswer = listOf(invite, totalMeta);
export const inviteAnswer = dataOf(invite);
export const newInviteAnswer = dataOf(
  z
    .object({ ...inviteFields, token: z.string().describe("Shown this once: send it to who is invited.") })
    .meta({ id: "NewInvite", description: "An invite just made, with its token." }),
);

export const joinedAnswer = dataOf(
  z
    .object({ organization, role, joined_at: timestamp })
    .meta({ id: "Joined", description: "The team the caller is on now." }),
);
