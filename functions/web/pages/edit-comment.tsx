import type { Comment } from "../../../shared/comments.ts";
import { forbidden, notFound } from "../../_shared/http/api-error.ts";
import { commentDetail, secondsToEdit } from "../../_shared/statements/comments.ts";
import { Field, Problem } from "../components/field.tsx";
import { page } from "../page.tsx";
import { personForm, personLink } from "../paths.ts";

/** Edits a comment, for its author during the edit window. */
export const editComment = page({
  path: "/comments/:id/edit",
  access: "person",
  isEmbeddable: true,
  frame: ({ params }) => ({ resource: "comments", id: params.id }),
  call: ({ params }) => [commentDetail(params.id, false), secondsToEdit(params.id)],
  view: ([[shown], [left]], { visit }, { viewer }) => {
    if (!shown) throw notFound("comment");
    const { id, submission_id, author, body }: Comment = JSON.parse(shown.data);
    if (author.id !== viewer?.id) throw forbidden("Only its author edits a comment.");
    const { comments, submission } = visit.messages;
    const back = personLink(visit, `/submissions/${submission_id}#comment-${id}`);
    const seconds = left?.seconds ?? 0;
    return {
      title: comments.editTitle,
      content: (
        <section class="card narrow wide">
          <h1>{comments.editTitle}</h1>
          {seconds > 0 ? (
            <form {...personForm(visit, `/comments/${id}`)} class="stack" data-island="draft" id="edit">
              <Problem visit={visit} />
              <input type="hidden" name="_method" value="patch" />
              <input type="hidden" name="return_to" value={back.href} />
              <Field
                name="body"
                label={comments.text}
                hint={comments.timeLeft(Math.ceil(seconds / 60))}
                value={body}
                rows={5}
                required
                maxlength={2000}
                visit={visit}
              />
              <div class="buttons">
                <button type="submit" class="button main">
                  {submission.save}
                </button>
                <a class="button" {...back}>
                  {submission.cancel}
                </a>
              </div>
            </form>
          ) : (
            <>
              <p>{comments.tooLate}</p>
              <a class="button" {...back}>
                {comments.all}
              </a>
            </>
          )}
        </section>
      ),
    };
  },
});
