import { z } from "zod";
import { comment, commentCreate, commentCreated, commentListQuery } from "../../../shared/comments.ts";
import { notFound } from "../../_shared/http/api-error.ts";
import { createComment, listComments, writtenComment } from "../../_shared/statements/comments.ts";
import { findSubmission } from "../../_shared/statements/submissions.ts";
import { additive, readOnly, tool } from "../tool.ts";
import { listOf, pageInput, pageOf, pageOutput, shortened, shortText } from "./pages.ts";
import { submissionId } from "./submissions.ts";

const { parent_id, sort, order } = commentListQuery.shape;
const listed = comment
  .omit({ submission_id: true, updated_at: true, replies: true })
  .extend({ body: shortText });

const list_comments = tool({
  name: "list_comments",
  title: "List comments",
  description:
    "List the comments of a submission, official ones first; with parent_id the replies to a comment.",
  input: z.object({ submission_id: submissionId, parent_id, sort, order, ...pageInput }),
  output: z.object({ comments: z.array(listed), ...pageOutput }),
  scope: "submissions:read",
  annotations: readOnly,
  operation: "comment_list",
  untrusted: ["comments.body", "comments.author.name"],
  call: ({ submission_id, ...query }) => [findSubmission(submission_id), listComments(submission_id, query)],
  respond: ([found, [page]], query) => {
    if (found.length === 0) throw notFound("submission");
    const comments = listOf<z.infer<typeof comment>>(page?.data).map(
      ({ submission_id: _, updated_at: __, ...item }) => ({ ...item, body: shortened(item.body) }),
    );
    return { comments, ...pageOf(query, page?.total ?? 0) };
  },
});

const add_comment = tool({
  name: "add_comment",
  title: "Comment on a submission",
  description:
    "Comment on a submission, or reply to a comment with parent_id, as this agent. Notifies the author and followers.",
  input: z.object({ submission_id: submissionId, ...commentCreate.shape }),
  output: z.object({ ...commentCreated.shape }),
  scope: "submissions:write",
  annotations: additive,
  operation: "comment_create",
  untrusted: [],
  call: ({ submission_id, ...body }, { newId }) => [
    createComment(newId, submission_id, body, true),
    writtenComment(newId),
  ],
  respond: ([, [written]]) => {
    if (!written?.data) throw notFound("submission");
    return JSON.parse(written.data);
  },
});

export const commentTools = [list_comments, add_comment];
