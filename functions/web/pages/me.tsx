import { z } from "zod";
import { cursor } from "../../../shared/pagination.ts";
import { nextCursor } from "../../_shared/http/cursor.ts";
import { commentAddress } from "../../_shared/http/web-pages.ts";
import {
  type Contribution,
  type ContributionKind,
  contributionKinds,
  myContributions,
} from "../../_shared/statements/people.ts";
import { Tabs } from "../components/admin/tabs.tsx";
import { Button } from "../components/button.tsx";
import { Day } from "../components/day.tsx";
import { Done } from "../components/done.tsx";
import { Empty } from "../components/empty.tsx";
import { NextPage } from "../components/next-page.tsx";
import { Status } from "../components/status.tsx";
import { page } from "../page.tsx";
import { hrefWith, submissionPath } from "../paths.ts";
import { useVisit } from "../rendering.ts";

/** The visitor's contributions on all boards, one list for each kind. */
export const me = page({
  path: "/me",
  access: "person",
  query: z.object({
    list: z.enum(contributionKinds).default("submissions"),
    cursor: cursor.optional(),
    done: z.literal("removed").optional(),
  }),
  read: ({ query }) => [myContributions(query.list, query.cursor)],
  view: ([listed], { query, visit }) => {
    const { me } = visit.messages;
    return {
      title: me.title,
      content: (
        <div class="single">
          <h1>{me.title}</h1>
          {query.done && <Done>{me.leftTeam}</Done>}
          <Tabs
            label={me.title}
            tabs={contributionKinds.map((kind) => ({
              href: hrefWith(visit, { list: kind === "submissions" ? null : kind }),
              label: me[kind],
              isHere: kind === query.list,
            }))}
          />
          {listed.data.length > 0 ? (
            <ul class="list" id="contributions">
              {listed.data.map((contribution) => (
                <Row contribution={contribution} kind={query.list} />
              ))}
            </ul>
          ) : (
            <Empty title={me.empty} text={me.emptyText}>
              <Button href="/" label={me.toBoard} />
            </Empty>
          )}
          <NextPage next={nextCursor(listed, "created_at", "desc")} isFirst={!query.cursor} />
        </div>
      ),
    };
  },
});

type RowProps = { contribution: Contribution; kind: ContributionKind };

const Row = ({ contribution, kind }: RowProps) => {
  const { messages } = useVisit();
  const { id, title, at, status, vote_count, moderation_state, comment_id, body } = contribution;
  const path = kind === "answers" ? `/surveys/${id}` : submissionPath(id, title);
  return (
    <li class="row plain">
      <div class="row-text">
        <h2 dir="auto">
          <a href={comment_id ? commentAddress(path, comment_id) : path}>{title}</a>
        </h2>
        {body && <p dir="auto">{body}</p>}
        <div class="facts">
          {status && <Status status={status} />}
          {moderation_state === "pending" && <span>{messages.me.pending}</span>}
          {vote_count !== undefined && <span>{messages.me.voteCount(vote_count)}</span>}
          <Day at={at} />
        </div>
      </div>
    </li>
  );
};
