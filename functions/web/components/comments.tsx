import type { ThreadComment } from "../../_shared/statements/comments.ts";
import { frameTarget, personForm, personLink } from "../paths.ts";
import { useVisit } from "../rendering.ts";
import { versionOf } from "../version.ts";
import type { Visit } from "../visit.ts";
import { Avatar } from "./avatar.tsx";
import { Day } from "./day.tsx";
import { Field, forForm, Problem } from "./field.tsx";
import { FormId } from "./form-id.tsx";
import { LinkedText } from "./linked-text.tsx";
import { ModerationForm } from "./moderation-form.tsx";
import { VoteButton } from "./vote-button.tsx";

type Props = {
  comments: ThreadComment[];
  /** Path of the submission's page. */
  path: string;
  submissionId: string;
  /** Parent of the first level; null for the submission. */
  parentId: string | null;
  viewerId: string | undefined;
  isAdmin: boolean;
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
  const { comment, byParent, depth, path } = props;
  const { comments } = visit.messages;
  const { id, author, moderation_state: state } = comment;
  const replies = byParent.get(id)?.length ?? 0;
  return (
    <li>
      <article
        class={comment.is_official ? "comment official" : "comment"}
        id={`comment-${id}`}
        data-version={versionOf(comment)}
      >
        <Avatar name={author.name} url={author.avatar} />
        <div>
          <header>
            <b>{author.name}</b>
            {comment.is_official && <span class="tag team">{comments.team}</span>}
            <a class="quiet" href={`#comment-${id}`} target={frameTarget(visit)}>
              <Day at={comment.created_at} locale={visit.locale} />
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

const Actions = ({
  comment,
  path,
  submissionId,
  viewerId,
  isAdmin,
  isOpen,
}: LevelProps & { comment: ThreadComment }) => {
  const visit = useVisit();
  const { comments, submission } = visit.messages;
  const { id, author, moderation_state: state, seconds_to_edit } = comment;
  const isOwn = author.id === viewerId;
  const isReply = visit.refused?.typed.get("parent_id") === id;
  return (
    <div class="actions">
      {isOpen && (
        <VoteButton
          path={`/comments/${id}`}
          votes={comment.vote_count}
          hasVoted={comment.has_voted ?? false}
          returnTo={`${path}#comment-${id}`}
          class="vote-small"
        />
      )}
      {isOpen && viewerId && state === "approved" && (
        <details class="action" open={isReply}>
          <summary aria-label={comments.replyTo(author.name)}>{comments.reply}</summary>
          <CommentForm
            submissionId={submissionId}
            path={path}
            parentId={id}
            label={comments.replyTo(author.name)}
            visit={forForm(visit, () => isReply)}
          />
        </details>
      )}
      {isOwn && (seconds_to_edit ?? 0) > 0 && (
        <a {...personLink(visit, `/comments/${id}/edit`)}>
          {comments.edit(Math.ceil((seconds_to_edit ?? 0) / 60))}
        </a>
      )}
      {(isOwn || isAdmin) && <a {...personLink(visit, `/comments/${id}/delete`)}>{submission.delete}</a>}
      {isAdmin && (
        <details class="action" open={state === "pending" || visit.refused?.typed.get("target_id") === id}>
          <summary>{visit.messages.manage.moderation}</summary>
          <ModerationForm
            submissionId={submissionId}
            type="comment"
            id={id}
            updatedAt={comment.updated_at}
            state={state}
            returnTo={`${path}#comment-${id}`}
          />
        </details>
      )}
    </div>
  );
};

type FormProps = { submissionId: string; path: string; parentId?: string; label: string; visit: Visit };

/** The form of a comment or a reply; a script stores its input. */
export const CommentForm = ({ submissionId, path, parentId, label, visit }: FormProps) => {
  const { comments } = visit.messages;
  const id = `body-${parentId ?? submissionId}`;
  return (
    <form
      {...personForm(visit, `/submissions/${submissionId}/comments`)}
      class="stack"
      id={`form-${parentId ?? submissionId}`}
      data-island="draft"
    >
      {visit.refused && <Problem />}
      <input type="hidden" name="return_to" value={path} />
      <FormId />
      {parentId && <input type="hidden" name="parent_id" value={parentId} />}
      <Field
        name="body"
        id={id}
        label={label}
        placeholder={parentId ? undefined : comments.hint}
        rows={3}
        required
        maxlength={2000}
        visit={visit}
      />
      <div>
        <button type="submit" class={parentId ? "button" : "button main"}>
          {parentId ? comments.reply : comments.send}
        </button>
      </div>
    </form>
  );
};
