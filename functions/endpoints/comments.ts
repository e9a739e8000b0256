import { z } from "zod";
import {
  commentAnswer,
  commentCreate,
  commentCreateByKey,
  commentCreatedAnswer,
  commentDetailQuery,
  commentListAnswer,
  commentListQuery,
  commentPatch,
} from "../../shared/comments.ts";
import { deletedAnswer } from "../../shared/submissions.ts";
import { commentVoteAnswer, commentVoteRemovedAnswer, voteByKey } from "../../shared/votes.ts";
import { forbidden, notFound } from "../_shared/http/api-error.ts";
import { dataResponse, endpointsOf, madeOrFound, row } from "../_shared/http/endpoint.ts";
import {
  castCommentVote,
  commentDetail,
  commentVoteRemovedResult,
  commentVoteResult,
  createComment,
  deleteComment,
  findComment,
  listComments,
  removeCommentVote,
  updateComment,
  writtenComment,
} from "../_shared/statements/comments.ts";
import { findSubmission } from "../_shared/statements/submissions.ts";
import { followFor } from "../_shared/statements/votes.ts";

const { get, post, patch, del } = endpointsOf({ tag: "Comments", access: "caller" });
const missing = () => notFound("comment");
const nothing = z.object({});

export const comments = [
  get("/submissions/:id/comments", {
    access: "public",
    operation: "comment_list",
    summary: "List comments, official ones first; parent_id lists replies",
    query: commentListQuery,
    responses: { 200: commentListAnswer },
    call: ({ params, query }) => [findSubmission(params.id), listComments(params.id, query)],
    respond: ([found, [list]]) => {
      if (found.length === 0 || !list) throw notFound("submission");
      return dataResponse(200, list.data, { total: list.total });
    },
  }),
  post("/submissions/:id/comments", {
    scopes: ["submissions:write"],
    operation: "comment_create",
    summary: "Comment on a submission, or reply to a comment",
    body: commentCreate,
    bodyByKey: commentCreateByKey,
    responses: { 201: commentCreatedAnswer },
    call: ({ params, body, byKey, newId }) => [
      createComment(newId, params.id, body, byKey),
      ...("follow" in body && body.follow ? [followFor(params.id, body, "comment")] : []),
      writtenComment(newId),
    ],
    respond: row("submission", 201),
  }),
  get("/comments/:id", {
    access: "public",
    operation: "comment_list",
    summary: "Show a comment",
    query: commentDetailQuery,
    responses: { 200: commentAnswer },
    call: ({ params, query }) => [commentDetail(params.id, query.expand.includes("replies"))],
    respond: row("comment"),
  }),
  patch("/comments/:id", {
    access: "person",
    operation: "comment_update",
    summary: "Edit a comment, as its author, soon after posting it",
    body: commentPatch,
    responses: { 200: commentAnswer },
    call: ({ params, body }) => [updateComment(params.id, body.body), commentDetail(params.id, false)],
    respond: ([updated, [shown]]) => {
      if (!shown) throw missing();
      if (updated.length === 0) throw forbidden("Only its author can edit a comment.");
      return dataResponse(200, shown.data);
    },
  }),
  del("/comments/:id", {
    scopes: ["submissions:write", "submissions:moderate"],
    operation: "comment_delete",
    summary: "Delete a comment with all replies, as its author or an admin",
    responses: { 200: deletedAnswer },
    call: ({ params }) => [deleteComment(params.id), findComment(params.id)],
    respond: ([deleted, remaining]) => {
      if (deleted.length === 0)
        throw remaining.length
          ? forbidden("Only its author and the organization's admins can delete a comment.")
          : missing();
      return dataResponse(200, `{"deleted":true}`);
    },
  }),
  post("/comments/:id/vote", {
    scopes: ["submissions:write"],
    operation: "vote_create",
    summary: "Vote for a comment (idempotent)",
    body: nothing,
    bodyByKey: voteByKey,
    responses: { 201: commentVoteAnswer, 200: commentVoteAnswer },
    call: ({ params, body, byKey }) => [castCommentVote(params.id, body, byKey), commentVoteResult(params.id, body)],
    respond: madeOrFound("comment"),
  }),
  del("/comments/:id/vote", {
    scopes: ["submissions:write"],
    operation: "vote_delete",
    summary: "Remove a vote for a comment (idempotent)",
    body: nothing,
    bodyByKey: voteByKey,
    responses: { 200: commentVoteRemovedAnswer },
    call: ({ params, body }) => [removeCommentVote(params.id, body), commentVoteRemovedResult(params.id, body)],
    respond: row("comment"),
  }),
];
