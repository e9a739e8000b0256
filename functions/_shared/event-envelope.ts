import { submissionPage, surveyPage } from "./web-pages.ts";

type Data = Record<string, unknown>;

/** The id of an event as everybody outside sees it. */
export const eventId = (id: string) => `evt_${id.replaceAll("-", "")}`;

/** An event as webhooks deliver it and streams tell it. */
export function envelopeOf(
  event: string,
  of: { event_id: string; organization_id: string; timestamp: string; data: Data },
) {
  const { event_id, organization_id, timestamp, data } = of;
  return { id: eventId(event_id), event, org_id: organization_id, timestamp, data: withPage(data) };
}

/** A submission or survey comes with the address of its page, which the database does not know. */
export function withPage(data: Data): Data {
  const { submission, survey } = data as Record<string, { id: string } | undefined>;
  if (submission) return { ...data, submission: { ...submission, url: submissionPage(submission.id) } };
  if (survey) return { ...data, survey: { ...survey, url: surveyPage(survey.id) } };
  return data;
}
