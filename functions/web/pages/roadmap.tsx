import { z } from "zod";
import { uuid } from "../../../shared/fields.ts";
import { type SubmissionStatus, statusChangeCreate } from "../../../shared/submissions.ts";
import {
  type Board,
  boardOf,
  type RoadmapItem,
  type RoadmapItems,
  roadmapColumns,
  roadmapItem,
} from "../../_shared/statements/pages.ts";
import { Button } from "../components/button.tsx";
import { Done } from "../components/done.tsx";
import { WithDot } from "../components/dot.tsx";
import { Form } from "../components/form.tsx";
import { Icon } from "../components/icon.tsx";
import { Status } from "../components/status.tsx";
import { StatusFields } from "../components/status-fields.tsx";
import { VoteButton } from "../components/vote-button.tsx";
import { formatNumber } from "../format.ts";
import { page } from "../page.tsx";
import { frameTarget, hrefWith, isAdmin, organizationPath, submissionLink } from "../paths.ts";
import { useRendering, useVisit } from "../rendering.ts";
import { changeStatus } from "./submission-actions.ts";

const columns = ["under_review", "planned", "in_progress", "completed"] as const;
const maxItems = 30;

type Props = Board & {
  items: RoadmapItems;
  isAdmin: boolean;
  /** Id of the item that was just moved. */
  moved: string | undefined;
};

export const roadmap = page({
  path: "/roadmap",
  ofOrganization: true,
  isEmbeddable: true,
  isRenderedOnce: true,
  // `move` is the submission to move, `to` the proposed status, `moved` the submission that was just moved.
  query: z.object({ move: uuid.optional(), to: statusChangeCreate.shape.status.optional(), moved: uuid.optional() }),
  read: ({ query, locale, visit }) => [
    roadmapColumns(columns, maxItems, visit.isSignedIn),
    boardOf(locale),
    ...(query.move ? [roadmapItem(query.move)] : []),
  ],
  view: ([items, around, moving = []], { query, visit }, frame) => {
    const { roadmap, words } = visit.messages;
    const { organization } = frame;
    const [item] = moving;
    const props: Props = { ...around.data, items, isAdmin: isAdmin(frame) && !visit.isEmbedded, moved: query.moved };
    return {
      title: visit.messages.nav.roadmap,
      section: "roadmap",
      noindex: false,
      canonical: `${organizationPath(organization)}/roadmap`,
      description: organization ? `${organization.name}${words.colon}${roadmap.heading}. ${roadmap.intro}` : undefined,
      structured: { "@type": "CollectionPage" },
      content: (
        <>
          <div class="roadmap-head">
            <h1>{roadmap.heading}</h1>
            <p class="quiet">
              {roadmap.intro} {props.isAdmin && roadmap.dragHint}
            </p>
          </div>
          {props.isAdmin && item && <Move item={item} to={query.to} />}
          <Columns {...props} />
        </>
      ),
    };
  },
});

const Columns = (props: Props) => {
  const { visit, frame } = useRendering();
  const { items, counts, isAdmin, moved } = props;
  const { roadmap, statuses } = visit.messages;
  const movedTo = moved && columns.find((status) => items[status]?.some(({ id }) => id === moved));
  return (
    <>
      {movedTo && <Done>{roadmap.moved(statuses[movedTo])}</Done>}
      <nav class="roadmap-jump" aria-label={visit.messages.board.status}>
        {columns.map((status) => (
          <a href={`#column-${status}`} target={frameTarget(visit)}>
            <Status status={status} />
          </a>
        ))}
      </nav>
      <div class="roadmap" id="roadmap" data-island={isAdmin ? "roadmap" : undefined}>
        {columns.map((status) => {
          const total = counts.statuses[status] ?? 0;
          const shown = items[status] ?? [];
          return (
            <section class="roadmap-column" aria-labelledby={`column-${status}`} data-status={status}>
              <h2 id={`column-${status}`}>
                <Status status={status} />
                <span class="number quiet">{formatNumber(total, visit.locale)}</span>
              </h2>
              {shown.length > 0 ? (
                <ul>
                  {shown.map((item) => (
                    <Card item={item} {...props} />
                  ))}
                </ul>
              ) : (
                <p class="roadmap-empty">{roadmap.empty}</p>
              )}
              {total > shown.length && (
                <a class="link" href={`${organizationPath(frame.organization)}/?status=${status}`}>
                  {roadmap.all(total)}
                </a>
              )}
            </section>
          );
        })}
      </div>
    </>
  );
};

const Card = ({ item, categories, isAdmin, moved }: Props & { item: RoadmapItem }) => {
  const visit = useVisit();
  const { messages, locale } = visit;
  const { id, title, vote_count, comment_count } = item;
  const category = categories.find((known) => known.id === item.category_id);
  return (
    <li class={id === moved ? "roadmap-card moved" : "roadmap-card"} id={`submission-${id}`}>
      <VoteButton path={`/submissions/${id}`} votes={vote_count} hasVoted={item.has_voted} />
      <div class="row-text">
        <h3 dir="auto">
          <a {...submissionLink(visit, id, title)} autofocus={id === moved}>
            {title}
          </a>
        </h3>
        <div class="facts">
          {category && <WithDot of={category} />}
          {comment_count > 0 && (
            <span class="with-icon">
              <Icon name="message-square" />
              <span aria-hidden="true">{formatNumber(comment_count, locale)}</span>
              <span class="unseen">{messages.votes.comments(comment_count)}</span>
            </span>
          )}
          {isAdmin && (
            <a
              class="with-icon move"
              href={hrefWith(visit, { move: id, to: null, moved: null })}
              aria-label={messages.roadmap.moveThis(title)}
              data-turbo-action="replace"
            >
              <Icon name="move-horizontal" />
              {messages.roadmap.move}
            </a>
          )}
        </div>
      </div>
    </li>
  );
};

/** Asks for the new status and a note. Without JavaScript it is above the columns. */
const Move = ({ item, to }: { item: RoadmapItem; to: SubmissionStatus | undefined }) => {
  const visit = useVisit();
  const { roadmap } = visit.messages;
  const back = hrefWith(visit, { move: null, to: null, moved: null });
  return (
    <dialog open class="card move-dialog" id="move" aria-labelledby="move-title" data-island="dialog">
      <h2 id="move-title">{roadmap.moveThis(item.title)}</h2>
      <Form
        of={changeStatus}
        to={`/submissions/${item.id}/status`}
        class="stack"
        returnTo={hrefWith(visit, { move: null, to: null, moved: item.id })}
      >
        <StatusFields label={roadmap.moveTo} status={to ?? item.status} words={roadmap} autofocus />
        <div class="buttons">
          <Button kind="main" label={roadmap.move} />
          <Button href={back} data-close data-turbo-action="replace" label={roadmap.cancel} />
        </div>
      </Form>
    </dialog>
  );
};
