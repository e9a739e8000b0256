import { surveyPage } from "../../_shared/http/web-pages.ts";
import type { PersonClaim } from "../database.ts";
import { Button, Quote, type Wording, type Written } from "./layout.tsx";

/** A team asks voters or followers of a submission to answer a survey. */
export function surveyMail({ events, organization }: PersonClaim, { messages: { mail } }: Wording): Written {
  const [{ survey_id = "", title, text, is_reminder }] = events as [PersonClaim["events"][number]];
  const asks = (is_reminder ? mail.surveyReminder : mail.newSurvey)(organization.name);
  return {
    subject: title,
    preview: asks,
    content: (
      <>
        <p class="kind">{asks}</p>
        <h1 dir="auto">{title}</h1>
        {text && <Quote text={text} />}
        <Button href={surveyPage(survey_id)}>{mail.answerSurvey}</Button>
      </>
    ),
  };
}
