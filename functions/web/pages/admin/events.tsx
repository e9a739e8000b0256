import { z } from "zod";
import { eventNames } from "../../../../shared/events.ts";
import { cursor } from "../../../../shared/pagination.ts";
import { decodePlace, encodePlace } from "../../../_shared/http/cursor.ts";
import { eventsBefore, type ListedEvent } from "../../../_shared/statements/change-feed.ts";
import { Filters } from "../../components/admin/filters.tsx";
import { Moment } from "../../components/admin/moment.tsx";
import { DataTable } from "../../components/admin/table.tsx";
import { Field } from "../../components/field.tsx";
import { submissionPath } from "../../paths.ts";
import { useVisit } from "../../rendering.ts";
import { adminPage } from "./admin-page.tsx";

const feedQuery = z.object({ type: z.enum(eventNames).optional(), cursor: cursor.optional() });
const perPage = 50;

export const events = adminPage({
  area: "events",
  query: feedQuery,
  read: ({ query: { type, cursor } }) => [
    eventsBefore(type ? [type] : null, cursor ? decodePlace(cursor, "cursor") : null, perPage),
  ],
  view: ([{ data: shown, ...place }], { words, visit }) => {
    const texts = visit.messages.admin.webhooks.eventTexts;
    return {
      title: words.title,
      content: (
        <>
          <p class="quiet">{words.intro}</p>
          <Filters submit={words.show}>
            <Field
              name="type"
              label={words.event}
              options={{ "": words.any, ...Object.fromEntries(eventNames.map((name) => [name, texts[name]])) }}
            />
          </Filters>
          <DataTable
            id="events"
            caption={words.title}
            rows={shown}
            columns={[
              { label: words.when, cell: ({ timestamp }) => <Moment at={timestamp} /> },
              { label: words.event, cell: ({ event }) => <span title={event}>{texts[event]}</span> },
              { label: words.what, cell: (event) => <About of={event} /> },
              {
                label: words.data,
                cell: ({ id, data }) => (
                  <details id={`data-${id}`} class="event-data">
                    <summary class="link small">{words.data}</summary>
                    <pre class="code">{JSON.stringify(data, null, 2)}</pre>
                  </details>
                ),
              },
            ]}
            empty={
              <>
                <h2>{words.none}</h2>
                <p>{words.noneText}</p>
              </>
            }
            next={place.more ? encodePlace(place) : null}
          />
        </>
      ),
    };
  },
});

const About = ({ of: { data } }: { of: ListedEvent }) => {
  const visit = useVisit();
  const { nouns } = visit.messages.admin.audit;
  const { submission, comment, member, survey } = data;
  const submissionId = submission?.id ?? comment?.submission_id ?? data.submission_id;
  const surveyId = survey?.id ?? data.survey_id;
  const text = submission?.title ?? survey?.title ?? member?.name ?? (comment && shortened(comment.body));
  const href = submissionId
    ? submissionPath(submissionId, submission?.title ?? "")
    : surveyId && `/surveys/${surveyId}`;
  const label = text ?? (submissionId ? nouns.submission : surveyId && nouns.survey);
  return !label ? null : href ? (
    <a class="link" href={href}>
      {label}
    </a>
  ) : (
    <span>{label}</span>
  );
};

const maxShown = 120;
const shortened = (text: string) => ([...text].length > maxShown ? `${[...text].slice(0, maxShown).join("")}…` : text);
