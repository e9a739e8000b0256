import { z } from "zod";
import { dataOf, listOf } from "./envelopes.ts";
import { count, expandOf, moderationState, onBehalfFields, timestamp, uuid } from "./fields.ts";
import { order, pageFields, totalMeta } from "./pagination.ts";
import { author, authorReference } from "./taxonomy.ts";
import { text } from "./text.ts";

const body = text({ min: 1, max: 2000 }).describe("1 to 2000 characters (code points), trimmed.");

// In ------------------------------------------------------------------------------------------------------------

export const commentListQuery = z
  .object({
    ...pageFields,
    parent_id: uuid.optional().describe("List the replies to this comment rather than the top level."),
    sort: z
      .enum(["created_at", "votes"])
      .default("created_at")
      .describe("After official comments, which come first."),
    order: order.default("asc"),
  })
  .meta({ id: "CommentListQuery", description: "Level, sort and page of a list of comments." });

export type CommentListQuery = z.infer<typeof commentListQuery>;

export const commentDetailQuery = z
  .object({ expand: expandOf("replies") })
  .meta({ id: "CommentDetailQuery", description: "What to show beside the comment." });

const commentFields = {
  body,
  parent_id: uuid.nullish().describe("The comment this replies to, of the same submission."),
};

export const commentCreate = z
  .object(commentFields)
  .meta({ id: "CommentCreate", description: "A comment by the signed-in user." });

export const commentCreateByKey = z.object({ ...commentFields, ...onBehalfFields }).meta({
  id: "CommentCreateByKey",
  description: "A comment by an organization's key, for itself or for somebody.",
});

export type CommentCreateByKey = z.infer<typeof commentCreateByKey>;

export const commentPatch = z
  .object({ body })
  .meta({ id: "CommentPatch", description: "New text, within 15 minutes of posting." });

// Out -----------------------------------------------------------------------------------------------------------

export const comment = z
  .object({
    id: uuid,
    submission_id: uuid,
    parent_id: uuid.nullable().describe("Null at the top level."),
    body: z.string(),
    author,
    is_official: z.boolean().describe("Whether the author was on the team when writing."),
    moderation_state: moderationState,
    vote_count: count,
    reply_count: count.describe("Direct replies."),
    created_at: timestamp,
    updated_at: timestamp,
    get replies() {
      return z.array(comment).optional().describe("With `expand=replies` on a single comment.");
    },
  })
  .meta({ id: "Comment", description: "What somebody said of a submission." });

export const commentCreated = z
  .object({
    id: uuid,
    body: z.string(),
    author: authorReference,
    is_official: z.boolean(),
    created_at: timestamp,
  })
  .meta({ id: "CommentCreated", description: "A comment just made." });

export const commentListAnswer = listOf(comment, totalMeta);
export const commentAnswer = dataOf(comment);
export const commentCreatedAnswer = dataOf(commentCreated);
