import { forbidden } from "../../_shared/http/api-error.ts";
import { commentAddress } from "../../_shared/http/web-pages.ts";
import { commentDetail } from "../../_shared/statements/comments.ts";
import { submissionDetail } from "../../_shared/statements/submissions.ts";
import { comments } from "../../endpoints/comments.ts";
import { submissions } from "../../endpoints/submissions.ts";
import { Form } from "../components/form.tsx";
import { LinkedText } from "../components/linked-text.tsx";
import { action, endpointOf, page } from "../page.tsx";
import { boardLink, isAdmin, personLink, submissionPath } from "../paths.ts";
import { useVisit } from "../rendering.ts";
import { Card } from "./account.tsx";

/** Confirms deleting a submission. */
const deleteSubmission = page({
  path: "/submissions/:id/delete",
  access: "person",
  isEmbeddable: true,
  frame: ({ params }) => ({ resource: "submissions", id: params.id }),
  read: ({ params, locale }) => [submissionDetail(params.id, ["author"], locale)],
  view: ([{ id, title, author }], { visit }, frame) => {
    if (!isAdmin(frame) && author?.id !== frame.viewer?.id)
      throw forbidden("Only its author and the organization's admins can delete a submission.");
    const words = visit.messages.submission;
    return {
      title: words.deleteTitle,
      content: (
        <Confirmation
          words={words}
          quote={title}
          back={submissionPath(id, title)}
          then={boardLink(visit, frame).href}
        />
      ),
    };
  },
  actions: [action(endpointOf(submissions, "delete", "/submissions/:id"))],
});

/** Confirms deleting a comment and its replies. */
const deleteComment = page({
  path: "/comments/:id/delete",
  access: "person",
  isEmbeddable: true,
  frame: ({ params }) => ({ resource: "comments", id: params.id }),
  read: ({ params }) => [commentDetail(params.id, false)],
  view: ([{ id, submission_id, body, author }], { visit }, frame) => {
    if (!isAdmin(frame) && author.id !== frame.viewer?.id)
      throw forbidden("Only its author and the organization's admins can delete a comment.");
    const words = visit.messages.comments;
    const path = `/submissions/${submission_id}`;
    return {
      title: words.deleteTitle,
      content: (
        <Confirmation
          words={words}
          quote={body}
          back={commentAddress(path, id)}
          then={personLink(visit, `${path}#comments`).href}
        />
      ),
    };
  },
  actions: [action(endpointOf(comments, "delete", "/comments/:id"))],
});

type Props = {
  words: { deleteTitle: string; deleteText: string };
  quote: string;
  /** Where the visitor came from. */
  back: string;
  /** The next page. */
  then: string;
};

const Confirmation = ({ words, quote, back, then }: Props) => {
  const visit = useVisit();
  return (
    <Card title={words.deleteTitle}>
      <blockquote>
        <LinkedText text={quote} />
      </blockquote>
      <p>{words.deleteText}</p>
      <Form
        class="stack"
        returnTo={then}
        submit={visit.messages.submission.delete}
        isDanger
        back={personLink(visit, back)}
      />
    </Card>
  );
};

export const deletePages = [deleteSubmission, deleteComment];
