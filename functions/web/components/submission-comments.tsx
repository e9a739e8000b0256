import { frameTarget, linkWith } from "../paths.ts";
import { useVisit } from "../rendering.ts";
import { withoutEmbed } from "../visit.ts";
import { Button } from "./button.tsx";
import { CommentForm, Threads } from "./comments.tsx";
import type { SubmissionProps } from "./submission-props.ts";

/** The comments on a submission, and the form that adds one. */
export const SubmissionComments = (props: SubmissionProps) => {
  const { submission, path, here, thread, named, page, pages, comments, frame, isAdmin } = props;
  const visit = useVisit();
  const { messages } = visit;
  return (
    <section id="comments" class="stack">
      <h2 aria-live="polite">{messages.votes.comments(submission.comment_count)}</h2>
      {named === null && <p class="notice">{messages.comments.missing}</p>}
      {(thread || page > 1) && (
        <a class="link" href={`${path}#comments`} target={frameTarget(visit)}>
          {messages.comments.all}
        </a>
      )}
      {comments.length > 0 ? (
        <Threads
          comments={comments}
          path={path}
          here={here}
          named={named ?? undefined}
          parentId={thread ?? null}
          viewerId={frame.viewer?.id}
          isAdmin={isAdmin}
          isOpen
        />
      ) : (
        <p class="quiet">{messages.comments.none}</p>
      )}
      {page < pages && (
        <a class="button" rel="next" {...linkWith(visit, { page: String(page + 1) })}>
          {messages.comments.more}
        </a>
      )}
      {frame.viewer ? (
        !thread && (
          <div class="card" id="write">
            <CommentForm path={path} label={messages.comments.add} />
          </div>
        )
      ) : (
        <p class="sign-in">
          <Button
            href={`/sign-in?return_to=${encodeURIComponent(`${withoutEmbed(path)}#write`)}`}
            rel="nofollow"
            label={messages.comments.signIn}
          />
        </p>
      )}
    </section>
  );
};
