import { environment } from "../../_shared/runtime/environment.ts";
import { organizationPath } from "../../web/paths.ts";
import { isolated } from "../../words/index.ts";
import type { MailEvent, PersonClaim } from "../database.ts";
import { EventHeading, linkOf } from "./comment.tsx";
import { Button, Quote, type Wording, type Written } from "./layout.tsx";

const maxSubmissions = 20;
const maxOfOne = 3;
const maxCharacters = 280;

/** News of the submissions that a person follows, by submission. */
export function digestMail(claim: PersonClaim, wording: Wording): Written {
  const { mail } = wording.messages;
  return listMail(claim, wording, mail.digest(claim.organization.name), mail.digestText(claim.events.length));
}

/** Events by submission, the newest first; what has no room is counted. */
export function listMail(
  { events, organization }: PersonClaim,
  wording: Wording,
  subject: string,
  heading: string,
): Written {
  const { mail } = wording.messages;
  const bySubmission = new Map<string, MailEvent[]>();
  for (const event of events)
    bySubmission.set(event.submission_id, [...(bySubmission.get(event.submission_id) ?? []), event]);
  const shown = [...bySubmission.values()].slice(0, maxSubmissions);
  const left = events.length - shown.reduce((sum, of) => sum + Math.min(of.length, maxOfOne), 0);
  const { slug, is_default } = organization;
  const board = `${environment.siteUrl}${organizationPath({ slug, is_default })}/`;
  return {
    subject,
    preview: [...new Set(events.map(({ title }) => isolated(title)))].slice(0, 3).join(" · "),
    content: (
      <>
        <h1>{heading}</h1>
        {shown.map((ofOne) => {
          const [first] = ofOne as [MailEvent];
          return (
            <>
              <h2 dir="auto">
                <a href={linkOf({ ...first, comment_id: undefined })}>{first.title}</a>
              </h2>
              {ofOne.slice(0, maxOfOne).map((event) => (
                <>
                  <EventHeading event={event} wording={wording} />
                  {event.text && <Quote text={shortened(event.text)} />}
                </>
              ))}
            </>
          );
        })}
        {left > 0 && <p>{mail.more(left)}</p>}
        <Button href={board}>{mail.openBoard}</Button>
      </>
    ),
  };
}

const shortened = (text: string) => {
  const characters = [...text];
  return characters.length > maxCharacters ? `${characters.slice(0, maxCharacters).join("")}…` : text;
};
