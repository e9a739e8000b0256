import { z } from "zod";
import { dataOf, listOf } from "./envelopes.ts";
import { errorCodes } from "./errors.ts";
import { count, moderationState, shortArrayOf, slug, timestamp, uuid } from "./fields.ts";
import { cursor, pageFields } from "./pagination.ts";
import { statusChangeCreate, submissionStatus } from "./submissions.ts";
import { author } from "./taxonomy.ts";
import { text } from "./text.ts";

// In ------------------------------------------------------------------------------------------------------------

const mostSources = 20;

export const merge = z
  .object({
    source_ids: shortArrayOf(uuid, mostSources)
      .pipe(z.array(uuid).min(1, "must have 1 to 20 items"))
      .describe("What to merge, up to 20; the first goes before where several could give the same."),
    target_id: uuid.describe("Where votes, comments, followers and tags go."),
  })
  .meta({ id: "Merge", description: "Submissions that say the same as another." });

export type Merge = z.infer<typeof merge>;

export const unmerge = z
  .object({ submission_id: uuid.describe("One that was merged into another.") })
  .meta({ id: "Unmerge", description: "A merge to take back." });

const hiddenState = moderationState.exclude(["approved"]);
const moderated = z.enum(["submission", "comment"]);

export const moderationQuery = z
  .object({
    state: hiddenState.default("pending"),
    type: moderated.optional().describe("Both without."),
    limit: pageFields.limit,
    cursor: cursor.optional(),
  })
  .meta({ id: "ModerationQuery", description: "Which part of the queue to read, oldest first." });

export type ModerationQuery = z.infer<typeof moderationQuery>;

export const moderation = z
  .object({
    target_type: moderated,
    target_id: uuid,
    action: z.enum(["approve", "reject", "spam"]),
    reason: text({ min: 0, max: 500 }).nullish().describe("For the audit trail, up to 500 characters."),
    trust_author: z
      .boolean()
      .nullish()
      .describe("With approve: what this author writes need not wait any more. Spam takes that away."),
  })
  .refine(({ action, trust_author }) => !trust_author || action === "approve", {
    path: ["trust_author"],
    error: "goes with approve only",
  })
  .meta({ id: "Moderation", description: "What becomes of a submission or comment." });

export type Moderation = z.infer<typeof moderation>;

const manyIds = shortArrayOf(uuid, 100)
  .pipe(z.array(uuid).min(1, "must have 1 to 100 items"))
  .describe("Submissions, up to 100.");
const labels = shortArrayOf(slug, 20)
  .pipe(z.array(slug).min(1, "must have 1 to 20 items"))
  .describe("Ids or slugs of tags, up to 20.");

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
        value: slug.nullable().describe("Id or slug of a category; null takes it away."),
      }),
      z.object({ ids: manyIds, action: z.enum(["add_tags", "remove_tags"]), value: labels }),
      z.object({ ids: manyIds, action: z.literal("delete") }),
    ],
    { error: "must be one of set_status, set_category, add_tags, remove_tags, delete" },
  )
  .meta({ id: "Bulk", description: "One change for many submissions." });

export type Bulk = z.infer<typeof bulk>;

// Out -----------------------------------------------------------------------------------------------------------

export const merged = z
  .object({
    target_id: uuid,
    source_ids: z.array(uuid),
    vote_count: count.describe("Of the target, now."),
    comment_count: count.describe("Of the target, now."),
  })
  .meta({ id: "Merged", description: "The target after a merge." });

const unmerged = z
  .object({
    submission_id: uuid,
    target_id: uuid.describe("What it was merged into."),
    status: submissionStatus.describe("The status of before."),
    vote_count: count,
    comment_count: count,
  })
  .meta({ id: "Unmerged", description: "A submission that has back what it had." });

export const mergedAnswer = dataOf(merged);
export const unmergedAnswer = dataOf(unmerged);

const moderationItem = z
  .object({
    type: moderated,
    id: uuid,
    submission_id: uuid.describe("Where a comment stands; a submission's own id."),
    title: z.string().nullable().describe("Null for a comment."),
    body: z.string(),
    author,
    is_trusted: z.boolean().describe("Whether what the author writes now need not wait."),
    state: hiddenState,
    created_at: timestamp,
  })
  .meta({ id: "ModerationItem", description: "A submission or comment others do not see." });

const moderationDone = z
  .object({
    target_type: moderated,
    target_id: uuid,
    previous_state: moderationState,
    state: moderationState,
  })
  .meta({ id: "Moderated", description: "The state a submission or comment has now." });

export const bulkResult = z
  .object({
    id: uuid,
    ok: z.boolean(),
    changed: z.boolean().describe("False where it was so already, too."),
    error: z
      .object({ code: z.enum(errorCodes), message: z.string() })
      .optional()
      .describe("Why it was not done."),
  })
  .meta({ id: "BulkResult", description: "What became of one of many." });

export const moderationQueueAnswer = listOf(
  moderationItem,
  z
    .object({
      total: count.describe("Items of this state and type."),
      next_cursor: z.string().nullable().describe("Pass as `cursor` for the next page; null at the end."),
    })
    .meta({ id: "ModerationMeta", description: "How long the queue is, and where it goes on." }),
);
export const moderationAnswer = dataOf(moderationDone);
export const bulkAnswer = listOf(
  bulkResult,
  z.object({ succeeded: count, failed: count }).meta({ id: "BulkMeta", description: "How many of each." }),
);
