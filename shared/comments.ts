import { z } from "zod";
import { dataOf, listOf } from "./envelopes.ts";
import { count, expandOf, followField, moderationState, onBehalfFields, timestamp, uuid } from "./fields.ts";
import { order, pageFields, totalMeta } from "./pagination.ts";
import { author, authorReference } from "./taxonomy.ts";
import { text } from "./text.ts";

const body = text({ min: 1, max: 2000 }).describe("1 to 2000 characters (code points), trimmed.");

// In ------------------------------------------------------------------------------------------------------------

export const commentListQuery = z
  .object({
    ...pageFields,
    parent_id: uuid.optional().describe("List the replies to this comment instead of top-level comments."),
    sort: z
      .enum(["created_at", "votes"])
      .default("created_at")
      .describe("Sort order after official comments, which come first."),
    order: order.default("asc"),
  })
  .meta({ id: "CommentListQuery", description: "Level, order and page of a list of comments." });

export type CommentListQuery = z.infer<typeof commentListQuery>;

export const commentDetailQuery = z
  .object({ expand: expandOf("replies") })
  .meta({ id: "CommentDetailQuery", description: "Related resources of the comment to include." });

const commentFields = { body, parent_id: uuid.nullish().describe("The comment to reply to, on the same submission.") };

export const commentCreate = z
  .object(commentFields)
  .meta({ id: "CommentCreate", description: "A comment by the signed-in user." });

export const commentCreateByKey = z
  .object({ ...commentFields, ...onBehalfFields, follow: followField })
  .meta({
    id: "CommentCreateByKey",
    description: "A comment by an organization key, for itself or on behalf of a person.",
  });

export type CommentCreateByKey = z.infer<typeof commentCreateByKey>;

export const commentPatch = z
  .object({ body })
  .meta({ id: "CommentPatch", description: "New text of a comment that can still be edited." });

// Out -----------------------------------------------------------------------------------------------------------

export const comment = z
  .object({
    id: uuid,
    submission_id: uuid,
    parent_id: uuid.nullable().describe("Null at the top level."),
    body: z.string(),
    author,
    is_official: z.boolean().describe("Whether the author was a team member when writing."),
    moderation_state: moderationState,
    vote_count: count,
    reply_count: count.describe("Direct replies."),
    created_at: timestamp,
    updated_at: timestamp,
    get replies() {
      return z.array(comment).optional().describe("With `expand=replies` on a single comment.");
    },
  })
  .meta({ id: "Comment", description: "A comment on a submission." });

export type Comment = z.infer<typeof comment>;

const commentCreated = z
  .object({ id: uuid, body: z.string(), author: authorReference, is_official: z.boolean(), created_at: timestamp })
  .meta({ id: "CommentCreated", description: "A created comment." });

export const commentListAnswer = listOf(comment, totalMeta);
export const commentAnswer = dataOf(comment);
export const commentCreatedAnswer = dataOf(commentCreated);
