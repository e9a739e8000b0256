import { submissionPage } from "../../_shared/http/web-pages.ts";
import { isolated } from "../../words/index.ts";
import type { MailEvent, PersonClaim } from "../database.ts";
import { Button, Quote, type Wording, type Written } from "./layout.tsx";

/** A short description of the event, for a mail or an entry of a digest. The mark has its own line: no name has two. */
export const EventHeading = ({ event, wording }: { event: MailEvent; wording: Wording }) => (
  <>
    {event.kind === "reply" && event.is_official && (
      <p class="kind">
        <strong>{wording.messages.comments.team}</strong>
      </p>
    )}
    <p class="kind">{headingOf(event, wording)}</p>
  </>
);

function headingOf({ kind, by = "", status = "open" }: MailEvent, { messages }: Wording): string {
  switch (kind) {
    case "status":
      return messages.mail.newStatus(messages.statuses[status]);
    case "official":
      return messages.feeds.officialBy(by);
    case "reply":
      return messages.mail.replyBy(by);
    case "comment":
      return messages.feeds.commentBy(by);
    case "team":
      return messages.mail.submittedBy(by);
    case "survey":
      return messages.mail.surveys;
  }
}

export const linkOf = ({ submission_id, comment_id }: MailEvent) =>
  submissionPage(submission_id) + (comment_id ? `#comment-${comment_id}` : "");

/** An official answer, a reply, or another comment for people who get comments at once. */
export function commentMail({ events }: PersonClaim, wording: Wording): Written {
  const [event] = events as [MailEvent];
  const { words, notifications } = wording.messages;
  const { kinds } = notifications;
  const kind = { official: kinds.official_comment, reply: kinds.reply, comment: kinds.comment }[
    event.kind as "official" | "reply" | "comment"
  ];
  return {
    subject: `${kind}${words.colon}${isolated(event.title)}`,
    preview: event.text ?? "",
    content: (
      <>
        <EventHeading event={event} wording={wording} />
        <h1 dir="auto">{event.title}</h1>
        {event.text && <Quote text={event.text} />}
        <Button href={linkOf(event)}>{wording.messages.mail.open}</Button>
      </>
    ),
  };
}
