import type { MailPreferences, mailMuteAnswer, mailSuppressionsAnswer } from "../../../shared/mail.ts";
import type { MailLink } from "../callers/mail-links.ts";
import type { Statement } from "../database/run.ts";
import { call, type Data, type DataOf, read } from "./shapes.ts";
import { named } from "./submissions.ts";

type Changes = { choices?: Record<string, string>; stop?: string; stopped?: boolean; mute?: string; unmute?: string };

/** Mail preferences of the caller in the current organization. */
export const myMailPreferences = () => read<MailPreferences>("mail_preferences");

export const changeMyMailPreferences = (changes: Changes) =>
  read<MailPreferences>("change_my_mail_preferences", changes);

/** Mail preferences of the recipient of a signed link; null if the person was erased. */
export const mailPreferencesByLink = ({ organizationId, profileId }: MailLink) =>
  read<MailPreferences | null>("mail_preferences", organizationId, profileId);

export const changeMailPreferencesByLink = ({ organizationId, profileId }: MailLink, changes: Changes) =>
  read<MailPreferences | null>("change_mail_preferences", organizationId, profileId, changes);

/** One row if the caller sees the submission. */
export function muteSubmission(id: string, muted: boolean): Statement<Data<DataOf<typeof mailMuteAnswer>>> {
  return (sql) => sql`
    select json_build_object('submission_id', s.id, 'is_muted', ${muted}::boolean)::text as data,
      private.mute_submission(s.id, ${muted}::boolean)
    from public.submissions s where ${named(sql, id)}`;
}

/** The organization of an invite, and whether its mail to the invited address is stopped; null without the invite. */
type InviteSender = { name: string; is_stopped: boolean } | null;

export const refusingInvites = (inviteId: string) => read<InviteSender>("refusing_invites", inviteId);

/** Stops the organization's mail to the invited address. */
export const refuseInvites = (inviteId: string) => read<InviteSender>("refuse_invites", inviteId);

export const mailSuppressions = (email?: string) =>
  call<DataOf<typeof mailSuppressionsAnswer>>("admin_mail_suppressions", email);

export const liftMailSuppression = ({ id, email }: { id?: string; email?: string }) =>
  call<{ deleted: true } | null>("admin_lift_mail_suppression", id, email);

/** The contributions that an email author may claim. */
type OpenClaim = {
  organization: { id: string; slug: string; name: string };
  submissions: number;
  comments: number;
  votes: number;
  is_signed_in: boolean;
  /** Whether the caller has confirmed the author's address. */
  is_own_address: boolean;
};

/** The claim of a signed link's author; null if nothing is left to claim. */
export const openClaim = ({ organizationId, profileId }: MailLink) =>
  read<OpenClaim | null>("open_claim", organizationId, profileId);

export const claimAuthor = ({ organizationId, profileId }: MailLink) => call("claim_author", organizationId, profileId);
