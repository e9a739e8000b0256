import { type auditAnswer, auditQuery } from "../../../../shared/audit.ts";
import { nextCursor } from "../../../_shared/http/cursor.ts";
import { auditChoices, listAudit } from "../../../_shared/statements/audit.ts";
import type { DataOf } from "../../../_shared/statements/shapes.ts";
import type { AreaTexts } from "../../../words/index.ts";
import { Details } from "../../components/admin/details.tsx";
import { Filters } from "../../components/admin/filters.tsx";
import { Moment } from "../../components/admin/moment.tsx";
import { DataTable } from "../../components/admin/table.tsx";
import { Field } from "../../components/field.tsx";
import { hrefWith, submissionPath } from "../../paths.ts";
import { useVisit, useWords } from "../../rendering.ts";
import { adminPage } from "./admin-page.tsx";

type Entry = DataOf<typeof auditAnswer>[number];

export const audit = adminPage({
  area: "audit",
  query: auditQuery,
  read: ({ query }) => [listAudit(query), auditChoices()],
  view: ([{ data: entries, ...place }, { actions, actors }], { query, words }) => ({
    title: words.title,
    content: (
      <>
        <p class="quiet">{words.intro}</p>
        <Filters submit={words.show} reset={words.reset} keeps={["target_id"]}>
          <Field
            name="actor_id"
            label={words.who}
            options={{ "": words.anyone, ...Object.fromEntries(actors.map(({ id, name }) => [id, name])) }}
          />
          <Field
            name="action"
            label={words.action}
            options={{
              "": words.any,
              ...Object.fromEntries(actions.map((action) => [action, wordsOf(action, words)])),
            }}
          />
          <Field name="from" type="date" label={words.from} />
          <Field name="to" type="date" label={words.to} />
        </Filters>
        {query.target_id && <p class="quiet small">{words.onlyTarget}</p>}
        <DataTable
          id="audit"
          caption={words.title}
          rows={entries}
          columns={[
            { label: words.when, cell: ({ at }) => <Moment at={at} /> },
            { label: words.who, cell: (entry) => <Who of={entry} /> },
            { label: words.action, cell: ({ action }) => <span title={action}>{wordsOf(action, words)}</span> },
            { label: words.target, cell: (entry) => <Target of={entry} /> },
            { label: words.details, cell: ({ details }) => <Details of={details} /> },
          ]}
          empty={
            <>
              <h2>{words.none}</h2>
              <p>{words.noneText}</p>
            </>
          }
          next={nextCursor(place, "created_at", "desc")}
        />
      </>
    ),
  }),
});

/** The action in the visitor's language; its code if there is no translation. */
function wordsOf(action: string, { nouns, verbs, colon }: AreaTexts["audit"]): string {
  const [noun = "", verb = ""] = action.split(".");
  return nouns[noun] && verbs[verb] ? `${nouns[noun]}${colon}${verbs[verb]}` : action;
}

const Who = ({ of: { actor, key_id } }: { of: Entry }) => {
  const words = useWords("audit");
  const visit = useVisit();
  return actor ? (
    <span>
      <a class="link" href={hrefWith(visit, { actor_id: actor.id })}>
        {actor.name}
      </a>
      {key_id && <span class="quiet small"> {words.byKey}</span>}
    </span>
  ) : (
    <span class="quiet">{words.operator}</span>
  );
};

const Target = ({ of: { target_type, target_id } }: { of: Entry }) => {
  const words = useWords("audit");
  const visit = useVisit();
  return (
    <span>
      {target_type === "submission" && target_id ? (
        <a class="link" href={submissionPath(target_id, "")}>
          {words.nouns.submission}
        </a>
      ) : (
        (words.nouns[target_type] ?? target_type)
      )}
      {target_id && visit.query.get("target_id") !== target_id && (
        <>
          <br />
          <a class="small quiet" href={hrefWith(visit, { target_id })}>
            {words.only}
          </a>
        </>
      )}
    </span>
  );
};
