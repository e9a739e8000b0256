import { z } from "zod";
import { isUuid } from "../../../../shared/fields.ts";
import type { bulkAnswer } from "../../../../shared/moderation.ts";
import { queryInteger } from "../../../../shared/pagination.ts";
import {
  type SubmissionListQuery,
  type SubmissionStatus,
  submissionListQuery,
  submissionStatuses,
} from "../../../../shared/submissions.ts";
import { nextCursor } from "../../../_shared/http/cursor.ts";
import { type Chosen, chosenSubmissions, listSubmissions } from "../../../_shared/statements/submissions.ts";
import { listTaxonomy } from "../../../_shared/statements/taxonomy.ts";
import { adminModeration } from "../../../endpoints/admin-moderation.ts";
import { Confirm } from "../../components/admin/confirm.tsx";
import { DataTable } from "../../components/admin/table.tsx";
import { Day } from "../../components/day.tsx";
import { Dot } from "../../components/dot.tsx";
import { Icon } from "../../components/icon.tsx";
import { Status } from "../../components/status.tsx";
import { formatNumber } from "../../format.ts";
import { type SubmissionsMessages, submissionsMessages } from "../../messages/admin/index.ts";
import { bestFirst, endpointOf, type Page } from "../../page.tsx";
import { adminPath, hrefWith, linkWith, submissionPath } from "../../paths.ts";
import type { Visit } from "../../visit.ts";
import { adminAction, adminPage } from "./admin-page.tsx";

type Listed = {
  id: string;
  title: string;
  type: "idea" | "problem";
  status: SubmissionStatus;
  vote_count: number;
  comment_count: number;
  category_id: string | null;
  tags: string[];
  created_at: string;
};
type Label = { id: string; name: string; slug: string; color: string };
type Results = z.output<typeof bulkAnswer>;

/** The query of the API's list; with words, best first. */
const tableQuery = z.preprocess(
  bestFirst,
  submissionListQuery.safeExtend({ limit: queryInteger(1, 100).prefault(25) }),
);

const filterNames = ["q", "status", "type", "category", "tag", "author"] as const;

export const adminSubmissions: Page = adminPage({
  area: "submissions",
  words: submissionsMessages,
  query: tableQuery,
  call: ({ query, locale }) => [
    listSubmissions(query),
    listTaxonomy(undefined, "categories", locale),
    listTaxonomy(undefined, "tags", locale),
  ],
  view: ([[list], [categories], [tags]], { query, words, visit }) => {
    const props: Props = {
      query,
      words,
      visit,
      rows: JSON.parse(list?.data ?? "[]"),
      total: list?.total ?? 0,
      next: list ? nextCursor(list, query.sort, query.order) : null,
      categories: JSON.parse(categories?.data ?? "[]"),
      tags: JSON.parse(tags?.data ?? "[]"),
    };
    return {
      title: words.title,
      status: visit.answered ? 422 : undefined,
      actions: (
        <div class="buttons">
          <a class="button small" href={adminPath(visit, "/submissions/similar")}>
            {words.similar}
          </a>
          <a class="button small" href={adminPath(visit, "/submissions/merged")}>
            {words.merged}
          </a>
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
});

type Props = {
  query: SubmissionListQuery;
  words: SubmissionsMessages;
  visit: Visit;
  rows: Listed[];
  total: number;
  next: string | null;
  categories: Label[];
  tags: Label[];
};

/** Failures of a bulk change, or the error that no submission was selected. */
const Failures = ({ rows, words, visit }: Props) => {
  if (visit.refused)
    return (
      <div class="notice problem" role="alert">
        {visit.refused.typed.has("ids") ? visit.refused.message : words.chooseFirst}
        <ul>
          {visit.refused.typed.has("ids") && visit.refused.details.map(({ message }) => <li>{message}</li>)}
        </ul>
      </div>
    );
  if (!visit.answered) return null;
  const { data, meta }: Results = JSON.parse(visit.answered);
  return (
    <div class="notice problem" role="alert">
      <p>{words.failed(meta.failed)}</p>
      <ul class="lost">
        {data.map(
          ({ id, error }) =>
            error && (
              <li>
                {rows.find((row) => row.id === id)?.title ?? id}: {errorText(error, visit)}
              </li>
            ),
        )}
      </ul>
      {meta.succeeded > 0 && <p>{words.succeeded(meta.succeeded)}</p>}
    </div>
  );
};

function errorText(
  { code, message }: { code: string; message: string },
  { locale, messages }: Visit,
): string {
  const { codes } = messages.problems;
  return (locale !== "en" && codes[code as keyof typeof codes]) || message;
}

const isFilteredBy = (query: SubmissionListQuery) => filterNames.some((name) => query[name]);

const Filters = ({ query, words, visit, categories, tags, total }: Props) => {
  const { statuses, types, board } = visit.messages;
  const choice = (
    name: "status" | "type" | "category" | "tag",
    label: string,
    options: [string, string][],
  ) => (
    <label class="filter">
      <span>{label}</span>
      <select name={name}>
        <option value="">{board.all}</option>
        {options.map(([value, text]) => (
          <option value={value} selected={query[name] === value}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
  return (
    <search>
      <form method="get" action={visit.path} class="filter-bar" id="filters" data-turbo-action="replace">
        {query.author && <input type="hidden" name="author" value={query.author} />}
        {(["sort", "order"] as const).map(
          (name) =>
            visit.query.get(name) && <input type="hidden" name={name} value={visit.query.get(name) ?? ""} />,
        )}
        <label class="search grow">
          <Icon name="search" />
          <input
            type="search"
            name="q"
            value={query.q}
            maxlength={200}
            aria-label={board.search}
            placeholder={board.search}
          />
        </label>
        {choice(
          "status",
          board.status,
          submissionStatuses
            .filter((status) => status !== "duplicate")
            .map((status) => [status, statuses[status]]),
        )}
        {choice("type", board.type, [
          ["idea", types.idea],
          ["problem", types.problem],
        ])}
        {choice(
          "category",
          board.category,
          categories.map(({ slug, name }) => [slug, name]),
        )}
        {choice(
          "tag",
          words.tag,
          tags.map(({ slug, name }) => [slug, name]),
        )}
        <button type="submit" class="button">
          {board.filter}
        </button>
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

const Table = ({ query, words, visit, rows, next, categories, tags }: Props) => {
  const { board } = visit.messages;
  const number = (value: number) => formatNumber(value, visit.locale);
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
          key: "title",
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
        {
          key: "status",
          label: board.status,
          cell: ({ status }) => <Status status={status} messages={visit.messages} />,
        },
        {
          key: "category",
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
        {
          key: "votes",
          label: words.votes,
          sort: "votes",
          isNumber: true,
          cell: ({ vote_count }) => number(vote_count),
        },
        {
          key: "comments",
          label: words.comments,
          sort: "comments",
          isNumber: true,
          cell: ({ comment_count }) => number(comment_count),
        },
        {
          key: "created_at",
          label: words.submitted,
          sort: "created_at",
          cell: ({ created_at }) => <Day at={created_at} locale={visit.locale} />,
        },
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
      visit={visit}
    />
  );
};

/** Actions for the selected submissions. */
const Bulk = ({ words, visit, categories, tags }: Props) => {
  const { statuses, board } = visit.messages;
  const act = (action: string, label: string) => (
    <button type="submit" class="button small" name="action" value={action}>
      {label}
    </button>
  );
  return (
    <form
      method="post"
      action={hrefWith({ ...visit, path: adminPath(visit, "/submissions") }, {})}
      id="bulk"
      class="bulk-bar card"
      aria-label={words.bulk}
      data-turbo-action="replace"
    >
      <p>
        <b class="number" data-chosen /> {words.bulk}
      </p>
      <div class="bulk-group">
        <label for="bulk-status">{board.status}</label>
        <select id="bulk-status" name="status">
          {submissionStatuses
            .filter((status) => status !== "duplicate")
            .map((status) => (
              <option value={status}>{statuses[status]}</option>
            ))}
        </select>
        {act("set_status", words.set)}
        <details class="action" id="bulk-note">
          <summary>{words.noteAndNotice}</summary>
          <div class="stack">
            <div class="field">
              <label for="note">{words.note}</label>
              <textarea id="note" name="note" rows={2} maxlength={2000} />
            </div>
            <label class="check">
              <input type="checkbox" name="notify" value="true" checked />
              {words.notify}
            </label>
          </div>
        </details>
      </div>
      {categories.length > 0 && (
        <div class="bulk-group">
          <label for="bulk-category">{board.category}</label>
          <select id="bulk-category" name="category">
            <option value="">{words.noCategory}</option>
            {categories.map(({ id, name }) => (
              <option value={id}>{name}</option>
            ))}
          </select>
          {act("set_category", words.set)}
        </div>
      )}
      {tags.length > 0 && (
        <div class="bulk-group">
          <label for="bulk-tag">{words.tag}</label>
          <select id="bulk-tag" name="tags">
            {tags.map(({ slug, name }) => (
              <option value={slug}>{name}</option>
            ))}
          </select>
          {act("add_tags", words.add)}
          {act("remove_tags", words.remove)}
        </div>
      )}
      <div class="bulk-group">
        <button
          type="submit"
          class="button small"
          formmethod="get"
          formaction={adminPath(visit, "/submissions/merge")}
          data-turbo-action="advance"
        >
          <Icon name="merge" />
          {words.merge}
        </button>
        <button
          type="submit"
          class="button small danger"
          formmethod="get"
          formaction={adminPath(visit, "/submissions/delete")}
          data-turbo-action="advance"
        >
          <Icon name="trash-2" />
          {words.delete}
        </button>
      </div>
    </form>
  );
};

export const changeSubmissions = adminAction(endpointOf(adminModeration, "post", "/admin/bulk"), {
  area: "submissions",
  formPage: adminSubmissions,
  resultPage: adminSubmissions,
  isShown: (json) => (JSON.parse(json) as Results).meta.failed > 0,
  readForm: (form) => {
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
    if (action === "delete") return chosen;
    return { ...chosen, value: form.getAll("tags") };
  },
  doneMessage: ({ json }, { visit }) => ({
    done: (visit.form instanceof URLSearchParams && visit.form.get("action")) || "",
    count: (JSON.parse(json) as Results).meta.succeeded,
  }),
  redirectTo: (_response, { visit }) => hrefWith(visit, {}),
});

/** The ids that the address names. */
export const idsOf = ({ query }: Visit, name: string, most: number) =>
  [...new Set(query.getAll(name))].filter(isUuid).slice(0, most);

export const deleteSubmissions = adminPage({
  area: "submissions",
  path: "/delete",
  words: submissionsMessages,
  call: ({ visit }) => [chosenSubmissions(idsOf(visit, "ids", 100))],
  view: ([[chosen]], { words, visit }) => {
    const rows: Chosen[] = JSON.parse(chosen?.data ?? "[]");
    const sum = (name: "vote_count" | "comment_count") => rows.reduce((total, row) => total + row[name], 0);
    const back = adminPath(visit, "/submissions");
    return {
      title: words.deleteTitle,
      trail: [],
      content:
        rows.length === 0 ? (
          <NothingChosen words={words} visit={visit} />
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
            action={back}
            fields={[["action", "delete"], ...rows.map(({ id }): [string, string] => ["ids", id])]}
            submit={words.deleteNow(rows.length)}
            back={back}
            visit={visit}
          />
        ),
    };
  },
});

export const NothingChosen = ({ words, visit }: { words: SubmissionsMessages; visit: Visit }) => (
  <div class="empty">
    <p>{words.chooseFirst}</p>
    <a class="button" href={adminPath(visit, "/submissions")}>
      {words.title}
    </a>
  </div>
);
