import type { JSX } from "hono/jsx/jsx-runtime";
import { environment } from "../_shared/environment.ts";
import { signMailLink } from "../_shared/mail-links.ts";
import { messagesOf } from "../web/messages/index.ts";
import type { Claim } from "./database.ts";
import type { Message } from "./message.ts";
import { commentMail } from "./templates/comment.tsx";
import { digestMail } from "./templates/digest.tsx";
import { MailLayout } from "./templates/layout.tsx";
import { statusMail } from "./templates/status.tsx";
import { surveyMail } from "./templates/survey.tsx";
import { teamMail } from "./templates/team.tsx";
import { textOfMail } from "./text.ts";

/** What a template makes: the subject, what mail programs show beside it, and what the mail says. */
export type Written = { subject: string; preview: string; content: JSX.Element };

const templates = {
  status: statusMail,
  official: commentMail,
  reply: commentMail,
  comment: commentMail,
  digest: digestMail,
  team: teamMail,
  survey: surveyMail,
};

export function writeMail(claim: Claim, from: string): Message {
  const { id, kind, profile, organization, address, created_at, events } = claim;
  const locale = profile.locale ?? "en";
  const messages = messagesOf(locale);
  const { subject, preview, content } = templates[kind](claim, { messages, locale });
  const token = signMailLink({ profileId: profile.id, organizationId: organization.id, kind }, created_at);
  const unsubscribe = `${environment.siteUrl}/unsubscribe?token=${token}`;
  // Mail about one submission is one thread.
  const thread = kind === "digest" || kind === "team" ? undefined : events[0]?.submission_id;
  const choices = `${environment.siteUrl}/mail?token=${token}`;
  const links = {
    unsubscribe,
    choices,
    mute: thread && `${choices}&mute=${thread}`,
    claim:
      profile.kind === "email"
        ? `${environment.siteUrl}/claim?token=${signMailLink({ profileId: profile.id, organizationId: organization.id, kind }, created_at, "claim")}`
        : undefined,
  };
  const html = `<!doctype html>${(
    <MailLayout
      claim={claim}
      messages={messages}
      locale={locale}
      subject={subject}
      preview={preview}
      links={links}
    >
      {content}
    </MailLayout>
  )}`;
  const domain = from.slice(from.lastIndexOf("@") + 1);
  return {
    id,
    from: { name: oneLine(organization.name), address: from },
    to: address,
    subject: oneLine(subject),
    html,
    text: textOfMail(html),
    messageId: `<${id}@${domain}>`,
    references: thread && `<submission.${thread}.${profile.id}@${domain}>`,
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

/** Without what could begin another header or hide the rest. */
const oneLine = (text: string) =>
  // By characters: half of one is no text that a provider takes.
  [...text.replace(/[\p{Cc}\p{Zl}\p{Zp}\u200B\u202A-\u202E\u2066-\u2069]+/gu, " ").trim()]
    .slice(0, 250)
    .join("");
