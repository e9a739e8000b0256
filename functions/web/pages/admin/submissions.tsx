import type { Child } from "hono/jsx";
import { z } from "zod";
import { isUuid } from "../../../../shared/fields.ts";
import type { bulkAnswer } from "../../../../shared/moderation.ts";
import { queryInteger } from "../../../../shared/pagination.ts";
import { type SubmissionListQuery, submissionListQuery, submissionStatuses } from "../../../../shared/submissions.ts";
import type { categoryList } from "../../../../shared/taxonomy.ts";
import { nextCursor } from "../../../_shared/http/cursor.ts";
import { type DataOf, parsed } from "../../../_shared/statements/shapes.ts";
import {
  chosenSubmissions,
  filterNames,
  type Listed,
  listSubmissions,
} from "../../../_shared/statements/submissions.ts";
import { listTaxonomy } from "../../../_shared/statements/taxonomy.ts";
import { adminModeration } from "../../../endpoints/admin-moderation.ts";
import { Confirm } from "../../components/admin/confirm.tsx";
import { DataTable, day, number } from "../../components/admin/table.tsx";
import { Button } from "../../components/button.tsx";
import { Dot } from "../../components/dot.tsx";
import { Field } from "../../components/field.tsx";
import { Form } from "../../components/form.tsx";
import { Icon } from "../../components/icon.tsx";
import { SearchField } from "../../components/search-field.tsx";
import { Status } from "../../components/status.tsx";
import type { IconName } from "../../icons.ts";
import { bestFirst, endpointOf } from "../../page.tsx";
import { adminPath, hrefWith, linkWith, submissionPath } from "../../paths.ts";
import { sentenceOf } from "../../problems.ts";
import { useVisit, useWords } from "../../rendering.ts";
import type { Visit } from "../../visit.ts";
import { adminPage } from "./admin-page.tsx";

type Results = z.output<typeof bulkAnswer>;
type Label = DataOf<typeof categoryList>[number];

const bulk = endpointOf(adminModeration, "post", "/admin/bulk");
const statusesToSet = submissionStatuses.filter((status) => status !== "duplicate");

/** The query of the API's list; with words, best first. */
const tableQuery = z.preprocess(
  bestFirst,
  submissionListQuery.safeExtend({ limit: queryInteger(1, 100).prefault(25) }),
);

export const adminSubmissions = adminPage({
  area: "submissions",
  query: tableQuery,
  read: ({ query, locale }) => [
    listSubmissions(query),
    listTaxonomy(undefined, "categories", locale),
    listTaxonomy(undefined, "tags", locale),
  ],
  view: ([list, categories, tags], { query, words, visit }) => {
    const next = nextCursor(list, query.sort, query.order);
    const props: Props = { query, rows: list.data, total: list.total, next, categories, tags };
    return {
      title: words.title,
      status: visit.answered ? 422 : undefined,
      actions: (
        <div class="buttons">
          <Button kind="small" href={adminPath(visit, "/submissions/similar")} label={words.similar} />
          <Button kind="small" href={adminPath(visit, "/submissions/merged")} label={words.merged} />
        </div>
      ),
      content: (
        <>
          <Failures {...props} />
          <Filters {...props} />
          <Table {...props} />
          {props.rows.length > 0 && <Bulk {...props} />}
        </>
      ),
    };
  },
  actions: [
    {
      of: bulk,
      isShown: (json) => parsed<Results>(json).meta.failed > 0,
      readForm: bulkOf,
      done: ({ json }, { visit: { form } }) => ({
        done: (form instanceof URLSearchParams && form.get("action")) || "",
        count: parsed<Results>(json).meta.succeeded,
      }),
      next: (_response, { visit }) => hrefWith(visit, {}),
    },
  ],
});

/** The body of the API: each change has a value of its own. */
function bulkOf(form: URLSearchParams): object {
  const action = form.get("action");
  const chosen = { ids: form.getAll("ids"), action };
  if (action === "set_status")
    return {
      ...chosen,
      value: form.get("status"),
      note: form.get("note") || null,
      notify: form.get("notify") === "true",
    };
  if (action === "set_category") return { ...chosen, value: form.get("category") || null };
  return action === "delete" ? chosen : { ...chosen, value: form.getAll("tags") };
}

type Props = {
  query: SubmissionListQuery;
  rows: Listed[];
  total: number;
  next: string | null;
  categories: Label[];
  tags: Label[];
};

/** Failures of a bulk change, or the error that no submission was selected. */
const Failures = ({ rows }: Props) => {
  const words = useWords("submissions");
  const visit = useVisit();
  if (visit.refused)
    return (
      <div class="notice problem" role="alert">
        {visit.refused.typed.has("ids") ? visit.refused.message : words.chooseFirst}
        <ul>{visit.refused.typed.has("ids") && visit.refused.details.map(({ message }) => <li>{message}</li>)}</ul>
      </div>
    );
  if (!visit.answered) return null;
  const { data, meta } = parsed<Results>(visit.answered);
  return (
    <div class="notice problem" role="alert">
      <p>{words.failed(meta.failed)}</p>
      <ul class="lost">
        {data.map(
          ({ id, error }) =>
            error && (
              <li>{`${rows.find((row) => row.id === id)?.title ?? id}${words.colon}${sentenceOf(error, visit)}`}</li>
            ),
        )}
      </ul>
      {meta.succeeded > 0 && <p>{words.succeeded(meta.succeeded)}</p>}
    </div>
  );
};

const isFilteredBy = (query: SubmissionListQuery) => filterNames.some((name) => query[name]);

const Filters = ({ query, categories, tags, total }: Props) => {
  const words = useWords("submissions");
  const visit = useVisit();
  const { statuses, types, board } = visit.messages;
  const named = (labels: Label[]) => labels.map(({ slug, name }) => [slug, name]);
  const choices = [
    ["status", board.status, statusesToSet.map((status) => [status, statuses[status]])],
    ["type", board.type, Object.entries(types)],
    ["category", board.category, named(categories)],
    ["tag", words.tag, named(tags)],
  ] as const;
  return (
    <search>
      <form method="get" action={visit.path} class="filter-bar" id="filters" data-turbo-action="replace">
        {query.author && <input type="hidden" name="author" value={query.author} />}
        {(["sort", "order"] as const).map(
          (name) => visit.query.get(name) && <input type="hidden" name={name} value={visit.query.get(name) ?? ""} />,
        )}
        <SearchField label={board.search} value={query.q} />
        {choices.map(([name, label, options]) => (
          <label class="filter">
            <span>{label}</span>
            <select name={name}>
              <option value="">{words.any}</option>
              {options.map(([value, text]) => (
                <option value={value} selected={query[name] === value}>
                  {text}
                </option>
              ))}
            </select>
          </label>
        ))}
        <Button>{board.filter}</Button>
      </form>
      <p class="chosen">
        <span class="quiet" role="status">
          {board.results(total)}
        </span>
        {query.author && (
          <a class="chip" {...linkWith(visit, { author: null })}>
            {words.ofOneAuthor}
            <Icon name="x" />
          </a>
        )}
        {isFilteredBy(query) && (
          <a class="link" href={visit.path}>
            {board.clear}
          </a>
        )}
      </p>
    </search>
  );
};

const Table = ({ query, rows, next, categories, tags }: Props) => {
  const words = useWords("submissions");
  const visit = useVisit();
  const { board } = visit.messages;
  return (
    <DataTable
      id="submissions"
      caption={words.title}
      rows={rows}
      rowId={({ id }) => id}
      select={{ form: "bulk", name: "ids", value: ({ id }) => id, label: ({ title }) => title, bar: "bulk" }}
      sorted={{ by: query.sort, order: query.order }}
      next={next}
      columns={[
        {
          label: words.submission,
          sort: "title",
          cell: ({ id, title, type, tags: own }) => (
            <div class="title-cell">
              <a href={submissionPath(id, title)}>{title}</a>
              {(type === "problem" || own.length > 0) && (
                <span class="facts">
                  {type === "problem" && <span>{visit.messages.types.problem}</span>}
                  {own.map((slug) => (
                    <a class="tag" {...linkWith(visit, { tag: slug })}>
                      {tags.find((known) => known.slug === slug)?.name ?? slug}
                    </a>
                  ))}
                </span>
              )}
            </div>
          ),
        },
        { label: board.status, cell: ({ status }) => <Status status={status} messages={visit.messages} /> },
        {
          label: board.category,
          cell: ({ category_id }) => {
            const category = categories.find(({ id }) => id === category_id);
            return category ? (
              <span class="with-dot">
                <Dot color={category.color} />
                {category.name}
              </span>
            ) : (
              <span class="quiet">–</span>
            );
          },
        },
        number("vote_count", words.votes, { sort: "votes" }),
        number("comment_count", words.comments, { sort: "comments" }),
        day("created_at", words.submitted, { sort: "created_at" }),
      ]}
      empty={
        isFilteredBy(query) ? (
          <>
            <h2>{board.noneTitle}</h2>
            <p>{words.none}</p>
          </>
        ) : (
          <h2>{board.emptyTitle}</h2>
        )
      }
    />
  );
};

type BulkGroupProps = {
  id: string;
  name: string;
  label: string;
  options: readonly (readonly [value: string, label: string])[];
  /** Buttons by what they do. */
  does: Record<string, string>;
  children?: Child;
};

/** A value for the selected submissions. */
const BulkGroup = ({ id, name, label, options, does, children }: BulkGroupProps) => (
  <div class="bulk-group">
    <label for={id}>{label}</label>
    <select id={id} name={name}>
      {options.map(([value, text]) => (
        <option value={value}>{text}</option>
      ))}
    </select>
    {Object.entries(does).map(([action, text]) => (
      <Button kind="small" name="action" value={action} label={text} />
    ))}
    {children}
  </div>
);

/** Actions for the selected submissions. */
const Bulk = ({ categories, tags }: Props) => {
  const words = useWords("submissions");
  const visit = useVisit();
  const { statuses, board } = visit.messages;
  const other = (path: string, label: string, icon: IconName, kind = "button small") => (
    <button
      type="submit"
      class={kind}
      formmethod="get"
      formaction={adminPath(visit, `/submissions/${path}`)}
      data-turbo-action="advance"
    >
      <Icon name={icon} />
      {label}
    </button>
  );
  return (
    <Form
      to={hrefWith({ ...visit, path: adminPath(visit, "/submissions") }, {})}
      id="bulk"
      class="bulk-bar card"
      aria-label={words.bulk}
      data-turbo-action="replace"
      hasProblem={false}
    >
      <p>
        <b class="number" data-chosen /> {words.bulk}
      </p>
      <BulkGroup
        id="bulk-status"
        name="status"
        label={board.status}
        options={statusesToSet.map((status) => [status, statuses[status]])}
        does={{ set_status: words.set }}
      >
        <details class="action" id="bulk-note">
          <summary>{words.noteAndNotice}</summary>
          <div class="stack">
            <Field name="note" label={words.note} rows={2} />
            <label class="check">
              <input type="checkbox" name="notify" value="true" checked />
              {words.notify}
            </label>
          </div>
        </details>
      </BulkGroup>
      {categories.length > 0 && (
        <BulkGroup
          id="bulk-category"
          name="category"
          label={board.category}
          options={[["", words.noCategory], ...categories.map(({ id, name }) => [id, name] as const)]}
          does={{ set_category: words.set }}
        />
      )}
      {tags.length > 0 && (
        <BulkGroup
          id="bulk-tag"
          name="tags"
          label={words.tag}
          options={tags.map(({ slug, name }) => [slug, name])}
          does={{ add_tags: words.add, remove_tags: words.remove }}
        />
      )}
      <div class="bulk-group">
        {other("merge", words.merge, "merge")}
        {other("delete", words.delete, "trash-2", "button small danger")}
      </div>
    </Form>
  );
};

/** The ids that the address names. */
export const idsOf = ({ query }: Visit, name: string, most: number) =>
  [...new Set(query.getAll(name))].filter(isUuid).slice(0, most);

export const deleteSubmissions = adminPage({
  area: "submissions",
  path: "/delete",
  read: ({ visit }) => [chosenSubmissions(idsOf(visit, "ids", 100))],
  view: ([rows], { words, visit }) => {
    const sum = (name: "vote_count" | "comment_count") => rows.reduce((total, row) => total + row[name], 0);
    const back = adminPath(visit, "/submissions");
    return {
      title: words.deleteTitle,
      trail: [],
      content:
        rows.length === 0 ? (
          <NothingChosen />
        ) : (
          <Confirm
            text={words.deleteText}
            lost={[
              <>
                {words.lostSubmissions(rows.length)}
                <ul>
                  {rows.map(({ id, title }) => (
                    <li>
                      <a href={submissionPath(id, title)}>{title}</a>
                    </li>
                  ))}
                </ul>
              </>,
              words.lostVotes(sum("vote_count")),
              words.lostComments(sum("comment_count")),
            ]}
            of={bulk}
            to={back}
            hidden={{ action: "delete", ids: rows.map(({ id }) => id) }}
            submit={words.deleteNow(rows.length)}
            back={back}
          />
        ),
    };
  },
});

export const NothingChosen = () => {
  const words = useWords("submissions");
  const visit = useVisit();
  return (
    <div class="empty">
      <p>{words.chooseFirst}</p>
      <Button href={adminPath(visit, "/submissions")}>{words.title}</Button>
    </div>
  );
};
