import { z } from "zod";
import { cursor } from "../../../shared/pagination.ts";
import { nextCursor } from "../../_shared/http/cursor.ts";
import {
  type Contribution,
  type ContributionKind,
  contributionKinds,
  myContributions,
} from "../../_shared/statements/people.ts";
import { Day } from "../components/day.tsx";
import { NextPage } from "../components/next-page.tsx";
import { Status } from "../components/status.tsx";
import { page } from "../page.tsx";
import { hrefWith, submissionPath } from "../paths.ts";
import type { Visit } from "../visit.ts";

/** The visitor's contributions on all boards, one list for each kind. */
export const me = page({
  path: "/me",
  access: "person",
  query: z.object({
    list: z.enum(contributionKinds).default("submissions"),
    cursor: cursor.optional(),
    done: z.literal("removed").optional(),
  }),
  call: ({ query }) => [myContributions(query.list, query.cursor)],
  view: ([[listed]], { query, visit }) => {
    const { me } = visit.messages;
    const contributions: Contribution[] = JSON.parse(listed?.data ?? "[]");
    return {
      title: me.title,
      content: (
        <div class="single">
          <h1>{me.title}</h1>
          {query.done && (
            <p class="notice" role="status">
              {me.leftTeam}
            </p>
          )}
          <Lists chosen={query.list} visit={visit} />
          {contributions.length > 0 ? (
            <ul class="list" id="contributions">
              {contributions.map((contribution) => (
                <Row contribution={contribution} kind={query.list} visit={visit} />
              ))}
            </ul>
          ) : (
            <div class="empty">
              <h2>{me.empty}</h2>
              <p>{me.emptyText}</p>
              <a class="button" href="/">
                {me.toBoard}
              </a>
            </div>
          )}
          <NextPage
            next={listed ? nextCursor(listed, "created_at", "desc") : null}
            isFirst={!query.cursor}
            visit={visit}
          />
        </div>
      ),
    };
  },
});

const Lists = ({ chosen, visit }: { chosen: ContributionKind; visit: Visit }) => {
  const { me } = visit.messages;
  return (
    <nav class="tabs" aria-label={me.title}>
      {contributionKinds.map((kind) => (
        <a
          href={hrefWith(visit, { list: kind === "submissions" ? null : kind })}
          aria-current={kind === chosen ? "page" : undefined}
        >
          {me[kind]}
        </a>
      ))}
    </nav>
  );
};

type RowProps = { contribution: Contribution; kind: ContributionKind; visit: Visit };

const Row = ({ contribution, kind, visit }: RowProps) => {
  const { id, title, at, status, vote_count, moderation_state, comment_id, body } = contribution;
  const { messages, locale } = visit;
  const path = kind === "answers" ? `/surveys/${id}` : submissionPath(id, title);
  return (
    <li class="row plain">
      <div class="row-text">
        <h2>
          <a href={comment_id ? `${path}#comment-${comment_id}` : path}>{title}</a>
        </h2>
        {body && <p>{body}</p>}
        <div class="facts">
          {status && <Status status={status} messages={messages} />}
          {moderation_state === "pending" && <span>{messages.me.pending}</span>}
          {vote_count !== undefined && <span>{messages.me.voteCount(vote_count)}</span>}
          <Day at={at} locale={locale} />
        </div>
      </div>
    </li>
  );
};
