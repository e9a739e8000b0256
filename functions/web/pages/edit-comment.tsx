import { forbidden } from "../../_shared/http/api-error.ts";
import { commentAddress } from "../../_shared/http/web-pages.ts";
import { commentDetail, secondsToEdit } from "../../_shared/statements/comments.ts";
import { comments as endpoints } from "../../endpoints/comments.ts";
import { Field } from "../components/field.tsx";
import { Form } from "../components/form.tsx";
import { action, endpointOf, page } from "../page.tsx";
import { personLink } from "../paths.ts";

/** Edits a comment, for its author during the edit window. */
export const editComment = page({
  path: "/comments/:id/edit",
  access: "person",
  isEmbeddable: true,
  frame: ({ params }) => ({ resource: "comments", id: params.id }),
  read: ({ params }) => [commentDetail(params.id, false), secondsToEdit(params.id)],
  view: ([comment, [left]], { visit }, { viewer }) => {
    const { id, submission_id, author } = comment;
    if (author.id !== viewer?.id) throw forbidden("Only its author can edit a comment.");
    const { comments, submission } = visit.messages;
    const back = personLink(visit, commentAddress(`/submissions/${submission_id}`, id));
    const seconds = left?.seconds ?? 0;
    return {
      title: comments.editTitle,
      content: (
        <section class="card narrow wide">
          <h1>{comments.editTitle}</h1>
          {seconds > 0 ? (
            <Form
              class="stack"
              island="draft"
              id="edit"
              values={comment}
              returnTo={back.href}
              submit={submission.save}
              back={back}
            >
              <Field name="body" label={comments.text} hint={comments.timeLeft(Math.ceil(seconds / 60))} rows={5} />
            </Form>
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
  actions: [action(endpointOf(endpoints, "patch", "/comments/:id"))],
});
