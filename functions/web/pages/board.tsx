import { z } from "zod";
import { queryInteger } from "../../../shared/pagination.ts";
import {
  type SubmissionListQuery,
  type SubmissionStatus,
  submissionListQuery,
  submissionStatuses,
} from "../../../shared/submissions.ts";
import { nextCursor } from "../../_shared/http/cursor.ts";
import { boardOf, type Frame, type Board as Surroundings } from "../../_shared/statements/pages.ts";
import { filterNames, listSubmissions } from "../../_shared/statements/submissions.ts";
import { Day } from "../components/day.tsx";
import { Dot } from "../components/dot.tsx";
import { Icon } from "../components/icon.tsx";
import { liveBoard } from "../components/live.ts";
import { Marked } from "../components/marked.tsx";
import { NextPage } from "../components/next-page.tsx";
import { Status } from "../components/status.tsx";
import { VoteButton } from "../components/vote-button.tsx";
import { formatNumber } from "../format.ts";
import { bestFirst, page } from "../page.tsx";
import { frameTarget, linkWith, organizationPath, personLink, submissionLink } from "../paths.ts";
import { useVisit } from "../rendering.ts";
import { redirectToSetup } from "./setup.tsx";

type Listed = {
  id: string;
  title: string;
  description: string;
  type: "idea" | "problem";
  status: SubmissionStatus;
  vote_count: number;
  comment_count: number;
  category_id: string | null;
  tags: string[];
  created_at: string;
  has_voted: boolean;
  marked_title?: string;
  marked_description?: string;
};

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
  call: ({ query, locale, visit }) => [
    listSubmissions(query, { hasVoted: visit.isSignedIn, highlight: true, total: isFiltered(query) }),
    boardOf(locale, query.author),
  ],
  view: ([[list], [around]], { query, visit }, frame) => {
    const { board, nav } = visit.messages;
    const props: BoardProps = {
      query,
      frame,
      submissions: JSON.parse(list?.data ?? "[]"),
      total: list?.total ?? 0,
      isCapped: list?.total_is_capped ?? false,
      match: list?.match,
      didYouMean: list?.did_you_mean,
      next: list ? nextCursor(list, query.sort, query.order) : null,
      author: around?.author ?? query.author,
      ...(JSON.parse((around as { data: string }).data) as Surroundings),
    };
    return {
      title: nav.board,
      section: "board",
      noindex: false,
      canonical: `${organizationPath(frame.organization)}/`,
      feed: `${organizationPath(frame.organization)}/feed.xml`,
      structured: { "@type": "CollectionPage" },
      description: frame.organization
        ? `${frame.organization.name}: ${board.heading} ${board.intro}`
        : undefined,
      content: <Board {...props} />,
    };
  },
});

type BoardProps = Surroundings & {
  query: SubmissionListQuery;
  frame: Frame;
  submissions: Listed[];
  /** Number of matches of a filtered list. */
  total: number;
  isCapped: boolean;
  match: "all" | "any" | undefined;
  didYouMean: string | null | undefined;
  next: string | null;
  /** Name of the filter's author; the id of one whose submissions the caller does not see. */
  author: string | undefined;
};

const isFiltered = (query: SubmissionListQuery) => filterNames.some((name) => query[name]);

const Board = (props: BoardProps) => {
  const visit = useVisit();
  const { query, frame, submissions, next, counts } = props;
  const { board, nav, statuses } = visit.messages;
  const filters = filterNames.filter((name) => name !== "q" && query[name]).length;
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
              {[...filterNames.filter((name) => name !== "q"), "sort", "order", "lang", "theme"].map(
                (name) => {
                  const value = visit.query.get(name);
                  return value && <input type="hidden" name={name} value={value} />;
                },
              )}
              <label class="search">
                <Icon name="search" />
                <input
                  id="q"
                  type="search"
                  name="q"
                  value={query.q}
                  maxlength={200}
                  placeholder={board.searchHint(counts.total)}
                  aria-label={board.search}
                />
              </label>
            </form>
          </search>
          <Sorts query={query} />
          <a class="button main" {...personLink(visit, `${visit.base}/new`)}>
            <Icon name="plus" />
            {nav.submit}
          </a>
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
        {isFiltered(query) ? (
          <Chosen {...props} />
        ) : (
          <div class="announcement" role="status">
            <p class="fresh" hidden>
              {board.fresh} <b class="number" />
              <a class="link" {...linkWith(visit, { sort: "created_at" })}>
                {board.show}
              </a>
            </p>
          </div>
        )}
        {submissions.length > 0 ? (
          <ul class="list" id="submissions">
            {submissions.map((submission) => (
              <Row submission={submission} {...props} />
            ))}
          </ul>
        ) : (
          <div class="empty">
            <h2>{isFiltered(query) ? board.noneTitle : board.emptyTitle}</h2>
            <p>{isFiltered(query) ? board.noneText : board.emptyText}</p>
            <a class="button main" {...personLink(visit, `${visit.base}/new`)}>
              <Icon name="plus" />
              {nav.submit}
            </a>
          </div>
        )}
        <NextPage next={next} isFirst={!query.cursor} />
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
          {...linkWith(visit, {
            sort: sort === (query.q ? "relevance" : "votes") ? null : sort,
            order: null,
          })}
          aria-current={query.sort === sort ? "true" : undefined}
        >
          {label}
        </a>
      ))}
    </nav>
  );
};

const Filters = ({ query, categories, counts }: BoardProps) => {
  const visit = useVisit();
  const { board, statuses, types } = visit.messages;
  const item = (name: "status" | "type" | "category", value: string | null, label: unknown, n?: number) => (
    <li>
      <a
        {...linkWith(visit, { [name]: value })}
        aria-current={(query[name] ?? null) === value ? "true" : undefined}
      >
        {label}
        {n !== undefined && <span class="number">{formatNumber(n, visit.locale)}</span>}
      </a>
    </li>
  );
  const shown = submissionStatuses.filter((status) => status !== "duplicate");
  return (
    <div class="filters">
      <section class="card">
        <h2>{board.status}</h2>
        <ul>
          {item("status", null, <span>{board.all}</span>, counts.total)}
          {shown.map((status) =>
            item(
              "status",
              status,
              <span class={`status ${status}`}>{statuses[status]}</span>,
              counts.statuses[status] ?? 0,
            ),
          )}
        </ul>
      </section>
      <section class="card">
        <h2>{board.type}</h2>
        <ul>
          {item("type", null, <span>{board.all}</span>)}
          {item("type", "idea", <span>{types.idea}</span>, counts.types.idea ?? 0)}
          {item("type", "problem", <span>{types.problem}</span>, counts.types.problem ?? 0)}
        </ul>
      </section>
      {categories.length > 0 && (
        <section class="card">
          <h2>{board.category}</h2>
          <ul>
            {item("category", null, <span>{board.all}</span>)}
            {categories.map(({ id, slug, name, color }) =>
              item(
                "category",
                slug,
                <span class="with-dot">
                  <Dot color={color} />
                  {name}
                </span>,
                counts.categories[id] ?? 0,
              ),
            )}
          </ul>
        </section>
      )}
    </div>
  );
};

/** The active filters, each with a link that removes it. */
const Chosen = ({ query, categories, tags, total, isCapped, match, didYouMean, author }: BoardProps) => {
  const visit = useVisit();
  const { board, statuses, types } = visit.messages;
  const labels = {
    q: query.q && `“${query.q}”`,
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
        {isCapped
          ? board.resultsOrMore(total)
          : match === "any" && total > 0
            ? board.someWords
            : board.results(total)}
      </span>
      {didYouMean && (
        <span>
          {board.didYouMean}{" "}
          <a class="link" {...linkWith(visit, { q: didYouMean })}>
            {didYouMean}
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
      <VoteButton path={`/submissions/${id}`} votes={vote_count} hasVoted={submission.has_voted} />
      <div class="row-text">
        <h2>
          <a {...submissionLink(visit, id, title)}>
            {submission.marked_title ? <Marked html={submission.marked_title} text={title} /> : title}
          </a>
        </h2>
        <p>
          {submission.marked_description ? (
            <Marked html={submission.marked_description} text={description} />
          ) : (
            excerpt(description)
          )}
        </p>
        <div class="facts">
          <Status status={status} messages={messages} />
          {type === "problem" && <span>{messages.types.problem}</span>}
          {category && (
            <span class="with-dot">
              <Dot color={category.color} />
              {category.name}
            </span>
          )}
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
          <Day at={submission.created_at} locale={locale} />
        </div>
      </div>
    </li>
  );
};
