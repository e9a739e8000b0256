import { z } from "zod";
import { queryInteger } from "../../../shared/pagination.ts";
import {
  type SubmissionListQuery,
  searchText,
  submissionListQuery,
  submissionStatuses,
} from "../../../shared/submissions.ts";
import { nextCursor, type Page } from "../../_shared/http/cursor.ts";
import { boardOf, type Board as Surroundings } from "../../_shared/statements/pages.ts";
import { filterNames, type Listed, listSubmissions } from "../../_shared/statements/submissions.ts";
import { Day } from "../components/day.tsx";
import { WithDot } from "../components/dot.tsx";
import { Empty } from "../components/empty.tsx";
import { Icon } from "../components/icon.tsx";
import { liveBoard } from "../components/live.ts";
import { Marked } from "../components/marked.tsx";
import { NextPage } from "../components/next-page.tsx";
import { Status } from "../components/status.tsx";
import { VoteButton } from "../components/vote-button.tsx";
import { formatNumber } from "../format.ts";
import { maxLengthOf } from "../limits-of-fields.ts";
import { bestFirst, page } from "../page.tsx";
import { frameTarget, linkWith, organizationPath, personLink, submissionLink } from "../paths.ts";
import { useRendering, useVisit } from "../rendering.ts";
import { redirectToSetup } from "./setup.tsx";

/** The query of the API's list, but sorted by votes or, with words, by relevance. */
const boardQuery = z
  .preprocess(
    bestFirst,
    submissionListQuery.safeExtend({
      sort: submissionListQuery.shape.sort.unwrap().default("votes"),
      limit: queryInteger(1, 100).prefault(20),
    }),
  )
  .meta({ id: "BoardQuery" });

export const board = page({
  path: "/",
  ofOrganization: true,
  isEmbeddable: true,
  isRenderedOnce: true,
  fallback: redirectToSetup,
  query: boardQuery,
  read: ({ query, locale, visit }) => [
    listSubmissions(query, { hasVoted: visit.isSignedIn, highlight: true }),
    boardOf(locale, query.author),
  ],
  view: ([list, around], { query, visit }, { organization }) => {
    const { board, nav, words } = visit.messages;
    return {
      title: nav.board,
      section: "board",
      noindex: false,
      canonical: `${organizationPath(organization)}/`,
      feed: `${organizationPath(organization)}/feed.xml`,
      structured: { "@type": "CollectionPage" },
      description: organization ? `${organization.name}${words.colon}${board.heading} ${board.intro}` : undefined,
      content: <Board query={query} list={list} {...around.data} author={around.author ?? query.author} />,
    };
  },
});

type BoardProps = Surroundings & {
  query: SubmissionListQuery;
  list: Omit<Page, "data"> & { data: Listed[] };
  /** Name of the filter's author; the id of one whose submissions the caller does not see. */
  author: string | undefined;
};

const isFiltered = (query: SubmissionListQuery) => filterNames.some((name) => query[name]);

const Board = (props: BoardProps) => {
  const { visit, frame } = useRendering();
  const { query, list, counts } = props;
  const { board, nav, statuses, words } = visit.messages;
  const isChosen = isFiltered(query);
  const filters = filterNames.filter((name) => name !== "q" && query[name]).length;
  const submit = (
    <a class="button main" {...personLink(visit, `${visit.base}/new`)}>
      <Icon name="plus" />
      {nav.submit}
    </a>
  );
  return (
    <div class="columns" id="board" {...liveBoard(frame)} data-statuses={JSON.stringify(statuses)}>
      <div class="column-head">
        <h1>{board.heading}</h1>
        <p class="quiet">{board.intro}</p>
        <div class="bar">
          <search class="grow">
            <form
              method="get"
              action={visit.path}
              target={frameTarget(visit)}
              data-island="search"
              data-turbo-action="replace"
            >
              {[...filterNames.filter((name) => name !== "q"), "sort", "order", "lang", "theme"].map((name) => {
                const value = visit.query.get(name);
                return value && <input type="hidden" name={name} value={value} />;
              })}
              <label class="search">
                <Icon name="search" />
                <input
                  id="q"
                  type="search"
                  name="q"
                  dir="auto"
                  value={query.q}
                  maxlength={maxLengthOf(searchText)}
                  placeholder={board.searchHint(counts.total)}
                  aria-label={board.search}
                />
              </label>
            </form>
          </search>
          <Sorts query={query} />
          {submit}
        </div>
      </div>
      <aside class="column-side" aria-label={board.filter}>
        <details class="filter-toggle">
          <summary class="button">
            <Icon name="sliders-horizontal" />
            {board.filter}
            {filters > 0 && <span class="badge">{filters}</span>}
          </summary>
          <Filters {...props} />
        </details>
      </aside>
      <div class="column-main">
        {isChosen ? (
          <Chosen {...props} />
        ) : (
          <div class="announcement" role="status">
            <p class="fresh" hidden>
              {board.fresh + words.colon}
              <b class="number" />
              <a class="link" {...linkWith(visit, { sort: "created_at" })}>
                {board.show}
              </a>
            </p>
          </div>
        )}
        {list.data.length > 0 ? (
          <ul class="list" id="submissions">
            {list.data.map((submission) => (
              <Row submission={submission} {...props} />
            ))}
          </ul>
        ) : (
          <Empty
            title={isChosen ? board.noneTitle : board.emptyTitle}
            text={isChosen ? board.noneText : board.emptyText}
          >
            {submit}
          </Empty>
        )}
        <NextPage next={nextCursor(list, query.sort, query.order)} isFirst={!query.cursor} />
      </div>
    </div>
  );
};

const Sorts = ({ query }: Pick<BoardProps, "query">) => {
  const visit = useVisit();
  const { board } = visit.messages;
  const sorts = {
    ...(query.q && { relevance: board.best }),
    votes: board.top,
    created_at: board.new,
    comments: board.discussed,
  };
  return (
    <nav class="tabs" aria-label={board.sort}>
      {Object.entries(sorts).map(([sort, label]) => (
        <a
          {...linkWith(visit, { sort: sort === (query.q ? "relevance" : "votes") ? null : sort, order: null })}
          aria-current={query.sort === sort ? "true" : undefined}
        >
          {label}
        </a>
      ))}
    </nav>
  );
};

const shownStatuses = submissionStatuses.filter((status) => status !== "duplicate");

const Filters = ({ query, categories, counts }: BoardProps) => {
  const visit = useVisit();
  const { board, statuses, types } = visit.messages;
  const groups = {
    status: shownStatuses.map((status) => ({
      value: status,
      label: <span class={`status ${status}`}>{statuses[status]}</span>,
      count: counts.statuses[status] ?? 0,
    })),
    type: (["idea", "problem"] as const).map((type) => ({
      value: type,
      label: <span>{types[type]}</span>,
      count: counts.types[type] ?? 0,
    })),
    category: categories.map((category) => ({
      value: category.slug,
      label: <WithDot of={category} />,
      count: counts.categories[category.id] ?? 0,
    })),
  };
  return (
    <div class="filters">
      {(["status", "type", "category"] as const)
        .filter((name) => groups[name].length > 0)
        .map((name) => {
          const all = {
            value: null,
            label: <span>{board.all}</span>,
            count: name === "status" ? counts.total : undefined,
          };
          return (
            <section class="card">
              <h2>{board[name]}</h2>
              <ul>
                {[all, ...groups[name]].map(({ value, label, count }) => (
                  <li>
                    <a
                      {...linkWith(visit, { [name]: value })}
                      aria-current={(query[name] ?? null) === value ? "true" : undefined}
                    >
                      {label}
                      {count !== undefined && <span class="number">{formatNumber(count, visit.locale)}</span>}
                    </a>
                  </li>
                ))}
              </ul>
            </section>
          );
        })}
    </div>
  );
};

/** The active filters, each with a link that removes it. */
const Chosen = ({ query, categories, tags, list, author }: BoardProps) => {
  const visit = useVisit();
  const { total, total_is_capped, match, did_you_mean } = list;
  const { board, statuses, types, words } = visit.messages;
  const labels = {
    q: query.q && words.quoted(query.q),
    status: query.status && statuses[query.status],
    type: query.type && types[query.type],
    category:
      query.category &&
      (categories.find(({ id, slug }) => [id, slug].includes(query.category ?? ""))?.name ?? query.category),
    tag: query.tag && `${board.tagged} ${tags.find(({ slug }) => slug === query.tag)?.name ?? query.tag}`,
    author: query.author && author,
  };
  return (
    <div class="chosen">
      <span class="quiet" role="status">
        {total_is_capped
          ? board.resultsOrMore(total)
          : match === "any" && total > 0
            ? board.someWords
            : board.results(total)}
      </span>
      {did_you_mean && (
        <span>
          {board.didYouMean + words.colon}
          <a class="link" {...linkWith(visit, { q: did_you_mean })}>
            {did_you_mean}
          </a>
        </span>
      )}
      {filterNames.map(
        (name) =>
          labels[name] && (
            <a class="chip" {...linkWith(visit, { [name]: null })}>
              {labels[name]}
              <Icon name="x" />
            </a>
          ),
      )}
      <a class="link" href={visit.path} target={frameTarget(visit)}>
        {board.clear}
      </a>
    </div>
  );
};

/** The beginning of a description, of which the stylesheet shows two lines. A cut surrogate pair would be malformed. */
const excerpt = (text: string) => (text.length > 300 ? text.slice(0, 300).toWellFormed() : text);

const Row = ({ submission, categories, tags }: { submission: Listed } & BoardProps) => {
  const visit = useVisit();
  const { id, title, description, type, status, vote_count, comment_count, category_id } = submission;
  const { messages, locale } = visit;
  const category = categories.find((known) => known.id === category_id);
  return (
    <li class="row" id={`submission-${id}`}>
      <VoteButton path={`/submissions/${id}`} votes={vote_count} hasVoted={submission.has_voted ?? false} />
      <div class="row-text">
        <h2 dir="auto">
          <a {...submissionLink(visit, id, title)}>
            {submission.marked_title ? <Marked html={submission.marked_title} text={title} /> : title}
          </a>
        </h2>
        <p dir="auto">
          {submission.marked_description ? (
            <Marked html={submission.marked_description} text={description} />
          ) : (
            excerpt(description)
          )}
        </p>
        <div class="facts">
          <Status status={status} />
          {type === "problem" && <span>{messages.types.problem}</span>}
          {category && <WithDot of={category} />}
          {submission.tags.map((slug) => (
            <a class="tag" {...linkWith(visit, { tag: slug })}>
              {tags.find((known) => known.slug === slug)?.name ?? slug}
            </a>
          ))}
          <span class="with-icon comments" hidden={comment_count === 0}>
            <Icon name="message-square" />
            <span class="unseen">{messages.comments.label}</span>
            <span class="number">{formatNumber(comment_count, locale)}</span>
          </span>
          <Day at={submission.created_at} />
        </div>
      </div>
    </li>
  );
};
