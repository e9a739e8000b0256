import type { JSX } from "hono/jsx/jsx-runtime";
import type { Locale } from "../../shared/locales.ts";
import { signInviteLink, signMailLink } from "../_shared/callers/mail-links.ts";
import { environment } from "../_shared/runtime/environment.ts";
import { messagesOf } from "../words/index.ts";
import type { Claim, InviteClaim, PersonClaim } from "./database.ts";
import type { Message } from "./message.ts";
import { withPlainTexts } from "./plain-texts.ts";
import { commentMail } from "./templates/comment.tsx";
import { digestMail } from "./templates/digest.tsx";
import { inviteMail } from "./templates/invite.tsx";
import { InviteFoot, MailFrame, PersonFoot, type Written } from "./templates/layout.tsx";
import { statusMail } from "./templates/status.tsx";
import { surveyMail } from "./templates/survey.tsx";
import { teamMail } from "./templates/team.tsx";
import { textOfMail } from "./text.ts";

const templates = {
  status: statusMail,
  official: commentMail,
  reply: commentMail,
  comment: commentMail,
  digest: digestMail,
  team: teamMail,
  survey: surveyMail,
};

/** The parts of a mail that differ between a person and an invited address. */
type Parts = Written & {
  locale: Locale;
  foot: JSX.Element;
  /** URL for one-click unsubscribing. */
  unsubscribe: string;
  /** Id of the submission; its mails are one thread. */
  thread?: string | undefined;
};

export function writeMail(given: Claim, from: string): Message {
  const claim = withPlainTexts(given);
  const { id, kind, organization, address, created_at } = claim;
  const parts = claim.kind === "invite" ? partsOfInvite(claim) : partsForPerson(claim);
  const { subject, preview, content, locale, foot, unsubscribe, thread } = parts;
  const html = `<!doctype html>${(
    <MailFrame locale={locale} subject={subject} preview={preview} from={organization} foot={foot}>
      {content}
    </MailFrame>
  )}`;
  const domain = from.slice(from.lastIndexOf("@") + 1);
  return {
    id,
    from: { name: oneLine(organization.name), address: from },
    to: address,
    subject: oneLine(subject),
    html,
    text: textOfMail(html, messagesOf(locale).words),
    messageId: `<${id}@${domain}>`,
    references: thread && `<submission.${thread}.${claim.profile?.id}@${domain}>`,
    headers: {
      "Auto-Submitted": "auto-generated",
      "X-Auto-Response-Suppress": "All",
      "List-Id": `<${kind}.${organization.id}.${domain}>`,
      "List-Unsubscribe": `<${unsubscribe}>`,
      "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
    },
    date: created_at,
  };
}

function partsForPerson(claim: PersonClaim): Parts {
  const { kind, profile, organization, created_at, events } = claim;
  const { locale } = profile;
  const messages = messagesOf(locale);
  const link = { profileId: profile.id, organizationId: organization.id, kind };
  const token = signMailLink(link, created_at);
  const unsubscribe = `${environment.siteUrl}/unsubscribe?token=${token}`;
  const choices = `${environment.siteUrl}/mail?token=${token}`;
  const thread = kind === "digest" || kind === "team" ? undefined : events[0]?.submission_id;
  const links = {
    unsubscribe,
    choices,
    mute: thread && `${choices}&mute=${thread}`,
    claim:
      profile.kind === "email"
        ? `${environment.siteUrl}/claim?token=${signMailLink(link, created_at, "claim")}`
        : undefined,
  };
  return {
    ...templates[kind](claim, { messages, locale }),
    locale,
    foot: <PersonFoot claim={claim} messages={messages} links={links} />,
    unsubscribe,
    thread,
  };
}

function partsOfInvite(claim: InviteClaim): Parts {
  const { organization, created_at, events } = claim;
  const locale = organization.default_locale;
  const messages = messagesOf(locale);
  const token = signInviteLink(events[0]?.invite_id ?? "", created_at, "refuse invites");
  const unsubscribe = `${environment.siteUrl}/unsubscribe/invites?token=${token}`;
  return {
    ...inviteMail(claim, { messages, locale }),
    locale,
    foot: <InviteFoot claim={claim} messages={messages} unsubscribe={unsubscribe} />,
    unsubscribe,
  };
}

/** Removes characters that could start another header or hide text. */
const oneLine = (text: string) =>
  // Cut between characters: providers reject half a surrogate pair.
  [...text.replace(/[\p{Cc}\p{Zl}\p{Zp}\u200B\u202A-\u202E\u2066\u2067]+/gu, " ").trim()].slice(0, 250).join("");
