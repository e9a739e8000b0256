import { z } from "zod";
import { type EventName, eventNames } from "../../../../shared/events.ts";
import { cursor } from "../../../../shared/pagination.ts";
import { decodePlace, encodePlace } from "../../../_shared/http/cursor.ts";
import { eventsBefore } from "../../../_shared/statements/change-feed.ts";
import { DataTable } from "../../components/admin/table.tsx";
import { Field } from "../../components/field.tsx";
import { momentFormat } from "../../format.ts";
import { dataMessages, webhooksMessages } from "../../messages/admin/index.ts";
import { withoutEmpty } from "../../page.tsx";
import { submissionPath } from "../../paths.ts";
import type { Visit } from "../../visit.ts";
import { adminPage } from "./admin-page.tsx";

type Shown = {
  id: string;
  event: EventName;
  timestamp: string;
  data: {
    submission?: { id: string; title: string };
    submission_id?: string;
    comment?: { submission_id: string; body: string };
    member?: { name: string };
    survey?: { id: string; title: string };
    survey_id?: string;
  };
};

const feedQuery = z.preprocess(
  withoutEmpty,
  z.object({ type: z.enum(eventNames).optional(), cursor: cursor.optional() }),
);
const perPage = 50;

export const events = adminPage({
  area: "events",
  words: (locale) => dataMessages(locale).events,
  query: feedQuery,
  call: ({ query: { type, cursor } }) => [
    eventsBefore(type ? [type] : null, cursor ? decodePlace(cursor, "cursor") : null, perPage),
  ],
  view: ([[page]], { query, words, visit }) => {
    const shown: Shown[] = JSON.parse(page?.data ?? "[]");
    const moment = momentFormat(visit.locale, "UTC");
    const texts = webhooksMessages(visit.locale).eventTexts;
    return {
      title: words.title,
      content: (
        <>
          <p class="quiet">{words.intro}</p>
          <form method="get" action={visit.path} class="card filter-bar">
            <Field
              name="type"
              label={words.event}
              value={query.type}
              options={[
                { value: "", label: words.any },
                ...eventNames.map((name) => ({ value: name, label: texts[name] })),
              ]}
              visit={visit}
            />
            <div class="buttons">
              <button type="submit" class="button main">
                {words.show}
              </button>
            </div>
          </form>
          <DataTable
            id="events"
            caption={words.title}
            rows={shown}
            rowId={({ id }) => id}
            columns={[
              {
                key: "at",
                label: words.when,
                cell: ({ timestamp }) => <time datetime={timestamp}>{moment(timestamp)}</time>,
              },
              {
                key: "event",
                label: words.event,
                cell: ({ event }) => <span title={event}>{texts[event]}</span>,
              },
              { key: "what", label: words.what, cell: (event) => <About of={event} visit={visit} /> },
              {
                key: "data",
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
            next={page?.more ? encodePlace(page) : null}
            visit={visit}
          />
        </>
      ),
    };
  },
});

const About = ({ of: { data }, visit }: { of: Shown; visit: Visit }) => {
  const { nouns } = dataMessages(visit.locale).audit;
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
const shortened = (text: string) =>
  [...text].length > maxShown ? `${[...text].slice(0, maxShown).join("")}…` : text;
