import type { Comment } from "../../../shared/comments.ts";
import type { SubmissionDetail } from "../../../shared/submissions.ts";
import { forbidden, notFound } from "../../_shared/http/api-error.ts";
import { commentDetail } from "../../_shared/statements/comments.ts";
import { submissionDetail } from "../../_shared/statements/submissions.ts";
import { Problem } from "../components/field.tsx";
import { LinkedText } from "../components/linked-text.tsx";
import { page } from "../page.tsx";
import { boardLink, isAdmin, personForm, personLink, submissionPath } from "../paths.ts";
import type { Visit } from "../visit.ts";

/** Confirms deleting a submission. */
export const deleteSubmissionPage = page({
  path: "/submissions/:id/delete",
  access: "person",
  isEmbeddable: true,
  frame: ({ params }) => ({ resource: "submissions", id: params.id }),
  call: ({ params, locale }) => [submissionDetail(params.id, ["author"], locale)],
  view: ([[shown]], { visit }, frame) => {
    if (!shown) throw notFound("submission");
    const { id, title, author }: SubmissionDetail = JSON.parse(shown.data);
    if (!isAdmin(frame) && author?.id !== frame.viewer?.id)
      throw forbidden("Only its author and the organization's admins delete a submission.");
    const words = visit.messages.submission;
    return {
      title: words.deleteTitle,
      content: (
        <Confirmation
          title={words.deleteTitle}
          text={words.deleteText}
          quote={title}
          action={`/submissions/${id}`}
          back={submissionPath(id, title)}
          then={boardLink(visit, frame).href}
          visit={visit}
        />
      ),
    };
  },
});

/** Confirms deleting a comment and its replies. */
export const deleteCommentPage = page({
  path: "/comments/:id/delete",
  access: "person",
  isEmbeddable: true,
  frame: ({ params }) => ({ resource: "comments", id: params.id }),
  call: ({ params }) => [commentDetail(params.id, false)],
  view: ([[shown]], { visit }, frame) => {
    if (!shown) throw notFound("comment");
    const { id, submission_id, body, author }: Comment = JSON.parse(shown.data);
    if (!isAdmin(frame) && author.id !== frame.viewer?.id)
      throw forbidden("Only its author and the organization's admins delete a comment.");
    const words = visit.messages.comments;
    return {
      title: words.deleteTitle,
      content: (
        <Confirmation
          title={words.deleteTitle}
          text={words.deleteText}
          quote={body}
          action={`/comments/${id}`}
          back={`/submissions/${submission_id}#comment-${id}`}
          then={personLink(visit, `/submissions/${submission_id}#comments`).href}
          visit={visit}
        />
      ),
    };
  },
});

type Props = {
  title: string;
  text: string;
  quote: string;
  action: string;
  back: string;
  then: string;
  visit: Visit;
};

const Confirmation = ({ title, text, quote, action, back, then, visit }: Props) => (
  <section class="card narrow">
    <h1>{title}</h1>
    <Problem visit={visit} />
    <blockquote>
      <LinkedText text={quote} />
    </blockquote>
    <p>{text}</p>
    <form {...personForm(visit, action)} class="buttons">
      <input type="hidden" name="_method" value="delete" />
      <input type="hidden" name="return_to" value={then} />
      <button type="submit" class="button danger">
        {visit.messages.submission.delete}
      </button>
      <a class="button" {...personLink(visit, back)}>
        {visit.messages.submission.cancel}
      </a>
    </form>
  </section>
);
