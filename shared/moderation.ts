import { z } from "zod";
import { dataOf, listOf } from "./envelopes.ts";
import { errorCodes } from "./errors.ts";
import { count, moderationState, moment, shortArrayOf, slug, timestamp, uuid } from "./fields.ts";
import { cursor, pageFields } from "./pagination.ts";
import { statusChangeCreate, submissionStatus } from "./submissions.ts";
import { author } from "./taxonomy.ts";
import { text } from "./text.ts";

// In ------------------------------------------------------------------------------------------------------------

const maxSources = 20;

export const merge = z
  .object({
    source_ids: shortArrayOf(uuid, maxSources, 1).describe(
      "Sources, up to 20; earlier ones take precedence if several have the same vote or tag.",
    ),
    target_id: uuid.describe("Target of votes, comments, followers and tags."),
  })
  .meta({ id: "Merge", description: "Duplicates of a submission." });

export type Merge = z.infer<typeof merge>;

export const unmerge = z
  .object({ submission_id: uuid.describe("A merged submission.") })
  .meta({ id: "Unmerge", description: "A merge to undo." });

const hiddenState = moderationState.exclude(["approved"]);
const moderated = z.enum(["submission", "comment"]);

export const moderationQuery = z
  .object({
    state: hiddenState.default("pending"),
    type: moderated.optional().describe("Both by default."),
    limit: pageFields.limit,
    cursor: cursor.optional(),
  })
  .meta({ id: "ModerationQuery", description: "Filter and page of the queue, oldest first." });

export type ModerationQuery = z.infer<typeof moderationQuery>;

export const moderation = z
  .object({
    target_type: moderated,
    target_id: uuid,
    action: z
      .enum(["approve", "reject", "spam", "reopen"])
      .describe("`reopen` makes it pending again, such as to undo."),
    updated_at: moment
      .nullish()
      .describe(
        "With approve: the `updated_at` of the text that was read. If the text was changed since, the answer is 409 with the present one; without `updated_at` too, if the author has changed it since submitting it.",
      ),
    reason: text({ min: 0, max: 500 }).nullish().describe("For the audit trail, up to 500 characters."),
    trust_author: z
      .boolean()
      .nullish()
      .describe("With approve: content of this author needs no approval from now on. Spam revokes it."),
  })
  .refine(({ action, trust_author }) => !trust_author || action === "approve", {
    path: ["trust_author"],
    error: "can be used only with approve",
  })
  .meta({ id: "Moderation", description: "A moderation decision about a submission or comment." });

export type Moderation = z.infer<typeof moderation>;

/** A decision about several items, as the dashboard's forms send it. */
export const verdict = z
  .object({
    items: shortArrayOf(z.string().regex(/^(submission|comment):[0-9a-f-]{36}(@[0-9T:.+-]{20,40})?$/), 100, 1),
    action: moderation.shape.action,
    reason: moderation.shape.reason,
    trust_author: moderation.shape.trust_author,
  })
  .meta({ id: "Verdict" });

const manyIds = shortArrayOf(uuid, 100, 1).describe("Submissions, up to 100.");
const labels = shortArrayOf(slug, 20, 1).describe("Ids or slugs of tags, up to 20.");

export const bulk = z
  .discriminatedUnion(
    "action",
    [
      z.object({
        ids: manyIds,
        action: z.literal("set_status"),
        value: statusChangeCreate.shape.status,
        note: statusChangeCreate.shape.note,
        notify: statusChangeCreate.shape.notify,
      }),
      z.object({
        ids: manyIds,
        action: z.literal("set_category"),
        value: slug.nullable().describe("Id or slug of a category; null removes it."),
      }),
      z.object({ ids: manyIds, action: z.enum(["add_tags", "remove_tags"]), value: labels }),
      z.object({ ids: manyIds, action: z.literal("delete") }),
    ],
    { error: "must be one of set_status, set_category, add_tags, remove_tags, delete" },
  )
  .meta({ id: "Bulk", description: "One change of many submissions." });

export type Bulk = z.infer<typeof bulk>;

// Out -----------------------------------------------------------------------------------------------------------

const merged = z
  .object({
    target_id: uuid,
    source_ids: z.array(uuid),
    vote_count: count.describe("Current count of the target."),
    comment_count: count.describe("Current count of the target."),
  })
  .meta({ id: "Merged", description: "The target after a merge." });

const unmerged = z
  .object({
    submission_id: uuid,
    target_id: uuid.describe("The former merge target."),
    status: submissionStatus.describe("Status before the merge."),
    vote_count: count,
    comment_count: count,
  })
  .meta({ id: "Unmerged", description: "A submission after an unmerge." });

export const mergedAnswer = dataOf(merged);
export const unmergedAnswer = dataOf(unmerged);

const moderationItem = z
  .object({
    type: moderated,
    id: uuid,
    submission_id: uuid.describe("The submission of a comment; a submission's own id."),
    submission_title: z.string(),
    title: z.string().nullable().describe("Null for a comment."),
    body: z.string(),
    author,
    is_trusted: z.boolean().describe("Whether new content of the author needs no approval."),
    state: hiddenState,
    created_at: timestamp,
    updated_at: timestamp.describe("Names this text when you approve it."),
  })
  .meta({ id: "ModerationItem", description: "A submission or comment that is pending, rejected or spam." });

const moderationDone = z
  .object({ target_type: moderated, target_id: uuid, previous_state: moderationState, state: moderationState })
  .meta({ id: "Moderated", description: "The current state of a submission or comment." });

export const bulkResult = z
  .object({
    id: uuid,
    ok: z.boolean(),
    changed: z.boolean().describe("False if unchanged."),
    error: z
      .object({ code: z.enum(errorCodes), message: z.string() })
      .optional()
      .describe("Why it failed."),
  })
  .meta({ id: "BulkResult", description: "The result for one submission of a bulk change." });

export const moderationQueueAnswer = listOf(
  moderationItem,
  z
    .object({
      total: count.describe("Items with this state and type."),
      next_cursor: z.string().nullable().describe("Pass as `cursor` for the next page; null at the end."),
    })
    .meta({ id: "ModerationMeta", description: "The length of the queue, and the cursor of its next page." }),
);
export const moderationAnswer = dataOf(moderationDone);
export const bulkAnswer = listOf(
  bulkResult,
  z.object({ succeeded: count, failed: count }).meta({ id: "BulkMeta", description: "The number of each kind." }),
);
