import { submissionPage } from "../../_shared/http/web-pages.ts";
import { isolated } from "../../words/index.ts";
import type { PersonClaim } from "../database.ts";
import { Button, Quote, type Wording, type Written } from "./layout.tsx";

export function statusMail({ events }: PersonClaim, { messages }: Wording): Written {
  const [{ submission_id, title, status = "open", text }] = events as [PersonClaim["events"][number]];
  const label = messages.statuses[status];
  return {
    subject: `${label}${messages.words.colon}${isolated(title)}`,
    preview: text ?? messages.mail.newStatus(label),
    content: (
      <>
        <p class="kind">{messages.mail.newStatus(label)}</p>
        <h1 dir="auto">{title}</h1>
        {text && <Quote text={text} />}
        <Button href={submissionPage(submission_id)}>{messages.mail.open}</Button>
      </>
    ),
  };
}
