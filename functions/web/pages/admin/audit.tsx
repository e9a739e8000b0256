import { z } from "zod";
import { type auditAnswer, auditQuery } from "../../../../shared/audit.ts";
import { nextCursor } from "../../../_shared/http/cursor.ts";
import { type AuditChoices, auditChoices, listAudit } from "../../../_shared/statements/audit.ts";
import { Details } from "../../components/admin/details.tsx";
import { DataTable } from "../../components/admin/table.tsx";
import { Field } from "../../components/field.tsx";
import { momentFormat } from "../../format.ts";
import { type DataMessages, dataMessages } from "../../messages/admin/index.ts";
import { withoutEmpty } from "../../page.tsx";
import { hrefWith, submissionPath } from "../../paths.ts";
import type { Visit } from "../../visit.ts";
import { adminPage } from "./admin-page.tsx";

type Entry = z.output<typeof auditAnswer>["data"][number];
type AuditQuery = z.output<typeof auditQuery>;

export const audit = adminPage({
  area: "audit",
  words: (locale) => dataMessages(locale).audit,
  query: z.preprocess(withoutEmpty, auditQuery),
  call: ({ query }) => [listAudit(query), auditChoices()],
  view: ([[list], [found]], { query, words, visit }) => {
    const entries: Entry[] = JSON.parse(list?.data ?? "[]");
    const choices = found?.data ?? { time_zone: "UTC", actions: [], actors: [] };
    const moment = momentFormat(visit.locale, choices.time_zone);
    return {
      title: words.title,
      content: (
        <>
          <p class="quiet">{words.intro}</p>
          <Filters query={query} choices={choices} words={words} visit={visit} />
          <DataTable
            id="audit"
            caption={words.title}
            rows={entries}
            rowId={({ id }) => id}
            columns={[
              {
                key: "at",
                label: `${words.when} (${choices.time_zone})`,
                cell: ({ at }) => <time datetime={at}>{moment(at)}</time>,
              },
              {
                key: "who",
                label: words.who,
                cell: (entry) => <Who of={entry} words={words} visit={visit} />,
              },
              {
                key: "action",
                label: words.action,
                cell: ({ action }) => <span title={action}>{wordsOf(action, words)}</span>,
              },
              {
                key: "target",
                label: words.target,
                cell: (entry) => <Target of={entry} words={words} visit={visit} />,
              },
              { key: "details", label: words.details, cell: ({ details }) => <Details of={details} /> },
            ]}
            empty={
              <>
                <h2>{words.none}</h2>
                <p>{words.noneText}</p>
              </>
            }
            next={list ? nextCursor(list, "created_at", "desc") : null}
            visit={visit}
          />
        </>
      ),
    };
  },
});

type Props = { words: DataMessages["audit"]; visit: Visit };

/** In the visitor's language; the code of one without words. */
function wordsOf(action: string, { nouns, verbs }: Props["words"]): string {
  const [noun = "", verb = ""] = action.split(".");
  return nouns[noun] && verbs[verb] ? `${nouns[noun]}: ${verbs[verb]}` : action;
}

const Filters = ({
  query,
  choices: { actions, actors },
  words,
  visit,
}: Props & { query: AuditQuery; choices: AuditChoices }) => (
  <form method="get" action={visit.path} class="card filter-bar">
    <Field
      name="actor_id"
      label={words.who}
      value={query.actor_id}
      options={[
        { value: "", label: words.anyone },
        ...actors.map(({ id, name }) => ({ value: id, label: name })),
      ]}
      visit={visit}
    />
    <Field
      name="action"
      label={words.action}
      value={query.action}
      options={[
        { value: "", label: words.any },
        ...actions.map((name) => ({ value: name, label: wordsOf(name, words) })),
      ]}
      visit={visit}
    />
    <Field name="from" type="date" label={words.from} value={query.from} visit={visit} />
    <Field name="to" type="date" label={words.to} value={query.to} visit={visit} />
    {query.target_id && <input type="hidden" name="target_id" value={query.target_id} />}
    <div class="buttons">
      <button type="submit" class="button main">
        {words.show}
      </button>
      {(query.actor_id || query.action || query.from || query.to || query.target_id) && (
        <a class="link" href={visit.path}>
          {words.reset}
        </a>
      )}
    </div>
    {query.target_id && <p class="quiet small">{words.onlyTarget}</p>}
  </form>
);

const Who = ({ of: { actor, key_id }, words, visit }: Props & { of: Entry }) =>
  actor ? (
    <span>
      <a class="link" href={hrefWith(visit, { actor_id: actor.id })}>
        {actor.name}
      </a>
      {key_id && <span class="quiet small"> {words.byKey}</span>}
    </span>
  ) : (
    <span class="quiet">{words.operator}</span>
  );

const Target = ({ of: { target_type, target_id }, words, visit }: Props & { of: Entry }) => (
  <span>
    {target_type === "submission" && target_id ? (
      <a class="link" href={submissionPath(target_id, "")}>
        {words.nouns.submission}
      </a>
    ) : (
      (words.nouns[target_type] ?? target_type)
    )}
    {target_id && visit.query.get("target_id") !== target_id && <br />}
    {target_id && visit.query.get("target_id") !== target_id && (
      <a class="small quiet" href={hrefWith(visit, { target_id })}>
        {words.only}
      </a>
    )}
  </span>
);
