import type { MailPreferences } from "../../../shared/mail.ts";
import type { MailLink } from "../callers/mail-links.ts";
import type { Statement } from "../database/run.ts";
import type { Data } from "./shapes.ts";
import { named } from "./submissions.ts";

type Preferences = { data: MailPreferences | null };
type Changes = {
  choices?: Record<string, string>;
  stop?: string;
  stopped?: boolean;
  mute?: string;
  unmute?: string;
};

/** Mail preferences of the caller in the current organization. */
export function myMailPreferences(): Statement<Preferences> {
  return (sql) => sql`select private.my_mail_preferences() as data`;
}

export function changeMyMailPreferences(changes: Changes): Statement<Preferences> {
  return (sql) =>
    sql`select private.change_my_mail_preferences(${JSON.stringify(changes)}::text::jsonb) as data`;
}

/** Mail preferences of the recipient of a signed link; null if the person was erased. */
export function mailPreferencesByLink(link: MailLink): Statement<Preferences> {
  return (sql) =>
    sql`select private.mail_preferences_by_link(${link.organizationId}::uuid, ${link.profileId}::uuid) as data`;
}

export function changeMailPreferencesByLink(link: MailLink, changes: Changes): Statement<Preferences> {
  return (sql) => sql`
    select private.change_mail_preferences_by_link(${link.organizationId}::uuid, ${link.profileId}::uuid,
      ${JSON.stringify(changes)}::text::jsonb) as data`;
}

/** One row if the caller sees the submission. */
export function muteSubmission(id: string, muted: boolean): Statement<Data> {
  return (sql) => sql`
    select json_build_object('submission_id', s.id, 'is_muted', ${muted}::boolean)::text as data,
      private.mute_submission(s.id, ${muted}::boolean)
    from public.submissions s where ${named(sql, id)}`;
}

/** The organization of an invite, and whether its mail to the invited address is stopped; null without the invite. */
type InviteSender = { data: { name: string; is_stopped: boolean } | null };

export function refusingInvites(inviteId: string): Statement<InviteSender> {
  return (sql) => sql`select private.refusing_invites(${inviteId}::uuid) as data`;
}

/** Stops the organization's mail to the invited address. */
export function refuseInvites(inviteId: string): Statement<InviteSender> {
  return (sql) => sql`select private.refuse_invites(${inviteId}::uuid) as data`;
}

export function mailSuppressions(email?: string): Statement<Data> {
  return (sql) => sql`select private.admin_mail_suppressions(${email ?? null})::text as data`;
}

export function liftMailSuppression(
  of: { id: string } | { email: string },
): Statement<{ data: string | null }> {
  const [id, email] = "id" in of ? [of.id, null] : [null, of.email];
  return (sql) => sql`select private.admin_lift_mail_suppression(${id}, ${email})::text as data`;
}

/** The contributions that an e-mail author may claim. */
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
export function openClaim(link: MailLink): Statement<{ data: OpenClaim | null }> {
  return (sql) =>
    sql`select private.open_claim(${link.organizationId}::uuid, ${link.profileId}::uuid) as data`;
}

export function claimAuthor(link: MailLink): Statement {
  return (sql) => sql`select private.claim_author(${link.organizationId}::uuid, ${link.profileId}::uuid)`;
}
