import type { Locale } from "../../shared/locales.ts";
import type { ChosenMailKind } from "../../shared/mail.ts";
import type { memberRoles } from "../../shared/organizations.ts";
import type { SubmissionStatus } from "../../shared/submissions.ts";
import { dispatchDatabase } from "../_shared/dispatch/database.ts";
import { environment } from "../_shared/runtime/environment.ts";

type MailKind = ChosenMailKind | "digest" | "invite";

/** An event that a mail reports: a status change or comment on a submission, a new submission, or a survey. */
export type MailEvent = {
  kind: ChosenMailKind;
  /** Empty for a survey. */
  submission_id: string;
  survey_id?: string;
  is_reminder?: boolean;
  title: string;
  comment_id?: string;
  status?: SubmissionStatus;
  /** The note of the status, the comment, or the beginning of the description. */
  text?: string;
  by?: string;
  is_official?: boolean;
};

/** An invite to the team. */
type InviteEvent = {
  kind: "invite";
  invite_id: string;
  role: (typeof memberRoles)[number];
  by: string;
  expires_at: string;
};

type ClaimOf<Kind, Profile, Event> = {
  id: string;
  attempt: number;
  kind: Kind;
  created_at: Date;
  address: string;
  profile: Profile;
  organization: {
    id: string;
    slug: string;
    name: string;
    brand_color: string | null;
    logo_url: string | null;
    default_locale: Locale;
    time_zone: string;
    is_default: boolean;
  };
  /** At least one. */
  events: Event[];
};

/** A mail to be sent, with everything needed to write it; the claim lasts two minutes. */
export type PersonClaim = ClaimOf<
  Exclude<MailKind, "invite">,
  { id: string; kind: "user" | "email"; name: string | null; locale: Locale; is_confirmed: boolean },
  MailEvent
>;
/** The mail of an invite, whose address may have no profile. */
export type InviteClaim = ClaimOf<"invite", null, InviteEvent>;
export type Claim = PersonClaim | InviteClaim;

/** refused: the address takes no mail. unavailable: the server takes none at all. */
export type Outcome = {
  outcome: "sent" | "retry" | "unavailable" | "failed" | "refused";
  /** For the operator: without the address. */
  error?: string;
  /** Seconds. */
  retry_after?: number;
};

export type Result = Pick<Claim, "id" | "attempt"> & Outcome;

const query = dispatchDatabase("MAIL_DATABASE_URL", environment.mailDatabaseUrl, "feedback_mail");

/** Records results of mails and claims due ones. */
export function reportAndClaim(results: readonly Result[], limit: number): Promise<readonly Claim[]> {
  return query<Claim>(
    (sql) =>
      sql<Claim[]>`select * from private.record_and_claim_mails(${JSON.stringify(results)}::text::jsonb, ${limit})`,
  );
}

/** Stops mail to an address about which the provider reports. */
export async function recordReport(address: string, reason: "bounced" | "complained"): Promise<void> {
  await query((sql) => sql`select private.record_mail_report(${address}, ${reason})`);
}
