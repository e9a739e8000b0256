import { submissionPage, surveyPage } from "../http/web-pages.ts";

type Data = Record<string, unknown>;

/** Public id of an event. */
export const eventId = (id: string) => `evt_${id.replaceAll("-", "")}`;

/** An event as webhooks and streams deliver it. */
export function envelopeOf(
  event: string,
  of: { event_id: string; organization_id: string; timestamp: string; data: Data },
) {
  const { event_id, organization_id, timestamp, data } = of;
  return { id: eventId(event_id), event, org_id: organization_id, timestamp, data: withPage(data) };
}

/** Adds page URLs of submissions and surveys, which the database does not know. */
export function withPage(data: Data): Data {
  const { submission, survey } = data as Record<string, { id: string } | undefined>;
  if (submission) return { ...data, submission: { ...submission, url: submissionPage(submission.id) } };
  if (survey) return { ...data, survey: { ...survey, url: surveyPage(survey.id) } };
  return data;
}
