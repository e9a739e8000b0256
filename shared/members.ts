import { z } from "zod";
import { dataOf, listOf } from "./envelopes.ts";
import { emailAddress, pictureAddress, timestamp, uuid } from "./fields.ts";
import { memberRoles, organization } from "./organizations.ts";
import { queryBoolean, totalMeta } from "./pagination.ts";
import { authorReference } from "./taxonomy.ts";

const role = z.enum(memberRoles);

// In ------------------------------------------------------------------------------------------------------------

export const roleChange = z
  .object({
    role: role.describe("Owners may grant and revoke the role owner, admins the other roles."),
    revoke: z
      .boolean()
      .default(false)
      .describe("With the role member: ends the keys, signing secrets, webhooks and agents they made."),
  })
  .meta({ id: "RoleChange", description: "The new role of a member." });

export type RoleChange = z.infer<typeof roleChange>;

export const memberRemoval = z
  .object({
    revoke: queryBoolean
      .default(false)
      .describe("Whether what they made ends: keys, signing secrets, webhooks and agents."),
  })
  .meta({ id: "MemberRemoval", description: "What ends with a membership." });

export const ownershipTransfer = z
  .object({ user_id: uuid.describe("A member of the team.") })
  .meta({ id: "OwnershipTransfer", description: "The member who becomes owner instead of the caller." });

export const inviteCreate = z
  .object({
    email: emailAddress.describe("Address of the user who may accept."),
    role: role.default("member").describe("Only owners may invite owners."),
  })
  .meta({ id: "InviteCreate", description: "A person to invite to the team." });

export type InviteCreate = z.infer<typeof inviteCreate>;

export const inviteAccept = z
  .object({
    token: z
      .string()
      .min(1)
      .max(200)
      .describe("The token returned when the invite was created, or that of the link in its mail."),
  })
  .meta({ id: "InviteAccept", description: "The invite to accept." });

// Out -----------------------------------------------------------------------------------------------------------

const member = z
  .object({
    user_id: uuid,
    name: z.string().describe("`Anonymous` without a name."),
    avatar: pictureAddress,
    email: z.string().nullable().describe("For admins; null for other callers."),
    role,
    joined_at: timestamp,
    has_second_factor: z.boolean().nullable().describe("For owners; null for other callers."),
  })
  .meta({ id: "Member", description: "A member of the team." });

const made = z
  .object({
    type: z.enum(["api_key", "identify_secret", "webhook", "agent"]),
    id: z.string().describe("As the endpoints of its kind name it."),
    name: z.string().describe("The host of a webhook, the last characters of a signing secret."),
  })
  .meta({ id: "MadeByMember", description: "What works on without the member who made it." });

export type MadeByMember = z.infer<typeof made>;

export const memberRemovedAnswer = dataOf(
  z
    .object({
      deleted: z.literal(true),
      revoked: z.array(made).describe("What was ended: webhooks are disabled, agents retired."),
      still_valid: z.array(made).describe("What they made and goes on; empty unless an admin asks, signed in."),
    })
    .meta({ id: "MemberRemoved", description: "The end of a membership." }),
);

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

const invite = z.object(inviteFields).meta({ id: "Invite", description: "An invite, without its token." });

export const inviteListAnswer = listOf(invite, totalMeta);
export const inviteAnswer = dataOf(invite);
export const newInviteAnswer = dataOf(
  z
    .object({
      ...inviteFields,
      token: z.string().describe("Returned only once: send it to the invited person."),
      is_mailed: z
        .boolean()
        .describe(
          "Whether the invite is also mailed to the address: if the organization has `mail_enabled`, at most 100 in a day and 3 to one address.",
        ),
    })
    .meta({ id: "NewInvite", description: "A created invite, with its token." }),
);

export const joinedAnswer = dataOf(
  z
    .object({ organization, role, joined_at: timestamp })
    .meta({ id: "Joined", description: "The team that the caller joined." }),
);
