import { commentAddress } from "../../_shared/http/web-pages.ts";
import type { ThreadComment } from "../../_shared/statements/comments.ts";
import { addComment } from "../pages/submission-actions.ts";
import { frameTarget, personLink } from "../paths.ts";
import { useRendering, useVisit } from "../rendering.ts";
import { versionOf } from "../version.ts";
import { Avatar } from "./avatar.tsx";
import { Day } from "./day.tsx";
import { Field } from "./field.tsx";
import { Form } from "./form.tsx";
import { LinkedText } from "./linked-text.tsx";
import { ModerationForm } from "./moderation-form.tsx";
import { VoteButton } from "./vote-button.tsx";

type Props = {
  comments: ThreadComment[];
  /** Path of the submission's page. */
  path: string;
  /** Address of the page of comments, for its forms to return to. */
  here: string;
  /** Parent of the first level; null for the submission. */
  parentId: string | null;
  viewerId: string | undefined;
  isAdmin: boolean;
  /** The comment that the address names. */
  named: string | undefined;
  /** Whether comments can be added: false for a merged submission. */
  isOpen: boolean;
};

/** Threads, each comment with its replies below it. */
export const Threads = (props: Props) => {
  const byParent = new Map<string | null, ThreadComment[]>();
  for (const comment of props.comments) {
    const siblings = byParent.get(comment.parent_id) ?? [];
    byParent.set(comment.parent_id, [...siblings, comment]);
  }
  return <Level {...props} byParent={byParent} depth={0} />;
};

type LevelProps = Props & { byParent: Map<string | null, ThreadComment[]>; depth: number };

// Deeper replies get no further indentation, because phones are narrow.
const maxIndent = 4;

const Level = (props: LevelProps) => (
  <ol class={props.depth === 0 ? "threads" : props.depth <= maxIndent ? "replies" : "replies flat"}>
    {(props.byParent.get(props.parentId) ?? []).map((comment) => (
      <Comment {...props} comment={comment} />
    ))}
  </ol>
);

const Comment = (props: LevelProps & { comment: ThreadComment }) => {
  const visit = useVisit();
  const { comment, byParent, depth, path, named } = props;
  const { comments } = visit.messages;
  const { id, author, moderation_state: state } = comment;
  const replies = byParent.get(id)?.length ?? 0;
  return (
    <li>
      <article
        class={comment.is_official ? "comment official" : "comment"}
        id={`comment-${id}`}
        data-version={versionOf(comment)}
        data-island={named === id ? "comment" : undefined}
        aria-current={named === id ? "true" : undefined}
      >
        <Avatar id={author.id} name={author.name} url={author.avatar} />
        <div>
          <header>
            <b dir="auto">{author.name}</b>
            {comment.is_official && <span class="tag team">{comments.team}</span>}
            <a class="quiet" href={commentAddress(path, id)} rel="nofollow" target={frameTarget(visit)}>
              <Day at={comment.created_at} />
            </a>
            {comment.updated_at !== comment.created_at && <span class="quiet">{comments.edited}</span>}
            {state !== "approved" && <span class="tag waiting">{comments[state]}</span>}
          </header>
          <LinkedText text={comment.body} />
          <Actions {...props} />
        </div>
      </article>
      {replies > 0 && <Level {...props} parentId={id} depth={depth + 1} />}
      {comment.reply_count > replies && (
        <a class="link more-replies" href={`${path}?thread=${id}#comments`} target={frameTarget(visit)}>
          {comments.moreReplies(comment.reply_count - replies)}
        </a>
      )}
    </li>
  );
};

const Actions = ({ comment, path, here, viewerId, isAdmin, isOpen }: LevelProps & { comment: ThreadComment }) => {
  const visit = useVisit();
  const { comments, submission } = visit.messages;
  const { id, author, moderation_state: state, seconds_to_edit } = comment;
  const isOwn = author.id === viewerId;
  const returnTo = `${here}#comment-${id}`;
  const isReply = visit.refused?.typed.get("parent_id") === id;
  return (
    <div class="actions">
      {isOpen && (
        <VoteButton
          path={`/comments/${id}`}
          votes={comment.vote_count}
          hasVoted={comment.has_voted ?? false}
          returnTo={returnTo}
          class="vote-small"
        />
      )}
      {isOpen && viewerId && state === "approved" && (
        <details class="action" open={isReply}>
          <summary aria-label={comments.replyTo(author.name)}>{comments.reply}</summary>
          <CommentForm path={path} parentId={id} label={comments.replyTo(author.name)} />
        </details>
      )}
      {isOwn && (seconds_to_edit ?? 0) > 0 && (
        <a {...personLink(visit, `/comments/${id}/edit`)}>{comments.edit(Math.ceil((seconds_to_edit ?? 0) / 60))}</a>
      )}
      {(isOwn || isAdmin) && <a {...personLink(visit, `/comments/${id}/delete`)}>{submission.delete}</a>}
      {isAdmin && (
        <details class="action" open={state === "pending" || visit.refused?.typed.get("target_id") === id}>
          <summary>{visit.messages.manage.moderation}</summary>
          <ModerationForm type="comment" id={id} updatedAt={comment.updated_at} state={state} returnTo={returnTo} />
        </details>
      )}
    </div>
  );
};

type FormProps = { path: string; parentId?: string; label: string };

/** The form of a comment or a reply; a script stores its input. */
export const CommentForm = ({ path, parentId, label }: FormProps) => {
  const { visit, params } = useRendering();
  const { comments } = visit.messages;
  const id = parentId ?? params.id;
  const to = `/submissions/${params.id}/comments`;
  return (
    <Form
      of={addComment}
      to={parentId ? commentAddress(to, parentId) : to}
      data-turbo-action="replace"
      class="stack"
      id={`form-${id}`}
      island="draft"
      hidden={parentId ? { parent_id: parentId } : {}}
      returnTo={path}
      isOnce
      isOwn={(typed) => (typed.get("parent_id") ?? undefined) === parentId}
    >
      <Field name="body" id={`body-${id}`} label={label} placeholder={parentId ? undefined : comments.hint} rows={3} />
      <div>
        <button type="submit" class={parentId ? "button" : "button main"}>
          {parentId ? comments.reply : comments.send}
        </button>
      </div>
    </Form>
  );
};
