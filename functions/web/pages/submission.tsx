import { z } from "zod";
import { uuid } from "../../../shared/fields.ts";
import { queryInteger } from "../../../shared/pagination.ts";
import type { SubmissionDetail } from "../../../shared/submissions.ts";
import { commentAddress } from "../../_shared/http/web-pages.ts";
import { commentThreads, pagesOfThreads } from "../../_shared/statements/comments.ts";
import { mergeTarget, statusHistory, submissionDetail } from "../../_shared/statements/submissions.ts";
import { Day } from "../components/day.tsx";
import { Dot } from "../components/dot.tsx";
import { Form } from "../components/form.tsx";
import { Icon } from "../components/icon.tsx";
import { LinkedText } from "../components/linked-text.tsx";
import { liveSubmission } from "../components/live.ts";
import { Status } from "../components/status.tsx";
import { StatusHistory } from "../components/status-history.tsx";
import { SubmissionComments } from "../components/submission-comments.tsx";
import type { SubmissionProps } from "../components/submission-props.ts";
import { TeamPanel } from "../components/team-panel.tsx";
import { VoteButton } from "../components/vote-button.tsx";
import { page } from "../page.tsx";
import {
  boardLink,
  isAdmin,
  isAt,
  personLink,
  submissionHere,
  submissionLink,
  submissionPath,
  withHostOptions,
  withOwnQuery,
} from "../paths.ts";
import { useVisit } from "../rendering.ts";
import { versionOf } from "../version.ts";
import { follow, submissionActions, unfollow } from "./submission-actions.ts";

/** With `thread`, the replies to that comment instead of all comments; with `comment`, the page of comments that has it. */
const query = z.object({
  thread: uuid.optional(),
  comment: uuid.toLowerCase().optional().catch(undefined),
  page: queryInteger(1, 1000).prefault(1),
});

export const submission = page({
  path: "/submissions/:id",
  isEmbeddable: true,
  isRenderedOnce: true,
  query,
  frame: ({ params }) => ({ resource: "submissions", id: params.id }),
  read: ({ params, query, locale, visit }) => [
    submissionDetail(params.id, ["author", "category", "tags"], locale),
    commentThreads(params.id, {
      parent_id: query?.comment ? undefined : query?.thread,
      comment: query?.comment,
      page: query?.page ?? 1,
      isSignedIn: visit.isSignedIn,
    }),
    statusHistory(params.id),
    mergeTarget(params.id),
  ],
  view: ([submission, threads, history, [target]], { query, visit }, frame) => {
    const { id, title, description } = submission;
    const own = submissionPath(id, title);
    const path = submissionHere(visit, id, title);
    if (!visit.refused && !isAt(visit, path))
      return { movedTo: path + (visit.query.size > 0 ? `?${visit.query}` : "") };
    const { comment } = query ?? {};
    if (target && comment && !visit.refused && threads.submission_of_comment === target.id)
      return {
        movedTo: withHostOptions(visit, commentAddress(submissionHere(visit, target.id, target.title), comment)),
        isForNow: true,
      };
    const props: SubmissionProps = {
      submission,
      path,
      here: withOwnQuery(visit, path),
      thread: comment ? undefined : query?.thread,
      named: comment && (threads.data.some((shown) => shown.id === comment) ? comment : null),
      page: Number(threads.page),
      pages: pagesOfThreads(threads.total),
      comments: threads.data,
      history,
      target: target ?? null,
      frame,
      isAdmin: isAdmin(frame),
    };
    return {
      title,
      description: [...description.replace(/\s+/g, " ")].slice(0, 160).join(""),
      canonical: target ? submissionPath(target.id, target.title) : own,
      feed: `/submissions/${id}/feed.xml`,
      noindex: submission.moderation_state !== "approved",
      structured: posting(submission),
      section: "board",
      content: <Submission {...props} />,
    };
  },
  actions: submissionActions,
});

const posting = ({ title, description, author, created_at, updated_at, ...counts }: SubmissionDetail) => ({
  "@type": "DiscussionForumPosting",
  headline: title,
  text: description,
  author: { "@type": "Person", name: author?.name },
  datePublished: created_at,
  dateModified: updated_at,
  commentCount: counts.comment_count,
  interactionStatistic: {
    "@type": "InteractionCounter",
    interactionType: "https://schema.org/LikeAction",
    userInteractionCount: counts.vote_count,
  },
});

const Submission = (props: SubmissionProps) => {
  const { submission, here, target, frame, isAdmin } = props;
  const visit = useVisit();
  const { messages } = visit;
  const { id, title, author, category, moderation_state: state } = submission;
  const words = messages.submission;
  const isOwn = author?.id === frame.viewer?.id;
  return (
    <div
      class="detail"
      id="submission"
      data-version={versionOf({ updated_at: submission.updated_at })}
      {...liveSubmission(submission, frame)}
    >
      <div class="detail-main" data-island="comment">
        <a class="quiet with-icon" {...boardLink(visit, frame)}>
          <Icon name="arrow-left" />
          {words.back}
        </a>
        {target && (
          <div class="notice">
            <p>{words.merged}</p>
            <a class="link" {...submissionLink(visit, target.id, target.title)}>
              {target.title}
            </a>
          </div>
        )}
        {state !== "approved" && <p class="notice">{words[state]}</p>}
        <div class="detail-head">
          {!target && (
            <VoteButton
              path={`/submissions/${id}`}
              votes={submission.vote_count}
              hasVoted={submission.user_vote !== null}
              returnTo={here}
            />
          )}
          <div>
            <h1 dir="auto">{title}</h1>
            <div class="facts">
              <Status status={submission.status} />
              {submission.type === "problem" && <span>{messages.types.problem}</span>}
              <span>
                <bdi>{author?.name}</bdi>
                {author?.is_team_member && <span class="tag team">{messages.comments.team}</span>},{" "}
                <Day at={submission.created_at} />
              </span>
              {category && (
                <a class="with-dot" {...boardLink(visit, frame, { category: category.slug })}>
                  <Dot color={category.color} />
                  {category.name}
                </a>
              )}
              {submission.tags.map(
                (tag) =>
                  typeof tag !== "string" && (
                    <a class="tag" {...boardLink(visit, frame, { tag: tag.slug })}>
                      {tag.name}
                    </a>
                  ),
              )}
            </div>
          </div>
        </div>
        <LinkedText text={submission.description} />
        {submission.tracker_issue_url && (
          <p>
            <a class="link with-icon" href={submission.tracker_issue_url} rel="nofollow noopener">
              {words.tracker}
              <Icon name="external-link" />
            </a>
          </p>
        )}
        {(isOwn || isAdmin) && (
          <div class="actions">
            <a {...personLink(visit, `/submissions/${id}/edit`)}>{words.edit}</a>
            <a {...personLink(visit, `/submissions/${id}/delete`)}>{words.delete}</a>
          </div>
        )}
      </div>
      <aside class="detail-side">
        {frame.viewer && !target && (
          <section class="card stack">
            <Form of={submission.is_following ? unfollow : follow} id="follow" returnTo={here} hasProblem={false}>
              <button type="submit" class="button wide" aria-pressed={submission.is_following ? "true" : "false"}>
                <Icon name={submission.is_following ? "check" : "bell"} />
                {submission.is_following ? words.following : words.follow}
              </button>
            </Form>
            <p class="quiet small">{words.followHint}</p>
          </section>
        )}
        {isAdmin && <TeamPanel {...props} />}
        <StatusHistory {...props} />
      </aside>
      {!target && <SubmissionComments {...props} />}
    </div>
  );
};
