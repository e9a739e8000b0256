import { z } from "zod";
import { type Comment, comment, commentListQuery } from "../../../shared/comments.ts";
import type { PageQuery } from "../../../shared/pagination.ts";
import { endpointOf } from "../../_shared/http/endpoint.ts";
import { comments } from "../../endpoints/comments.ts";
import { fromEndpoint, idNamed } from "../from-endpoint.ts";
import { additive, readOnly } from "../tool.ts";
import { pageInput, pageOf, pageOutput, shortened, shortText } from "./pages.ts";

const { parent_id, sort, order } = commentListQuery.shape;
const listed = comment.omit({ submission_id: true, updated_at: true, replies: true }).extend({ body: shortText });

export const commentTools = [
  fromEndpoint(endpointOf(comments, "get", "/submissions/:id/comments"), {
    name: "list_comments",
    title: "List comments",
    description: "List the comments of a submission, official ones first; with parent_id the replies to a comment.",
    id: "submission_id",
    input: z.object({ ...idNamed("submission_id"), parent_id, sort, order, ...pageInput }),
    output: { comments: z.array(listed), ...pageOutput },
    scope: "submissions:read",
    annotations: readOnly,
    untrusted: ["comments.body", "comments.author.name"],
    answer: ({ data, meta }, query: PageQuery) => ({
      comments: data.map(({ submission_id: _, updated_at: __, ...item }: Comment) => ({
        ...item,
        body: shortened(item.body),
      })),
      ...pageOf(query, meta),
    }),
  }),
  fromEndpoint(endpointOf(comments, "post", "/submissions/:id/comments"), {
    name: "add_comment",
    title: "Comment on a submission",
    description:
      "Comment on a submission, or reply to a comment with parent_id, as this agent. Notifies the author and followers.",
    id: "submission_id",
    scope: "submissions:write",
    annotations: additive,
    untrusted: [],
  }),
];
