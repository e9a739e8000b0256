import { z } from "zod";
import { dataOf } from "./envelopes.ts";
import { count, shortArrayOf, uuid } from "./fields.ts";
import { submissionStatus } from "./submissions.ts";

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

// Out -----------------------------------------------------------------------------------------------------------

export const merged = z
  .object({
    target_id: uuid,
    source_ids: z.array(uuid),
    vote_count: count.describe("Of the target, now."),
    comment_count: count.describe("Of the target, now."),
  })
  .meta({ id: "Merged", description: "The target after a merge." });

export const unmerged = z
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
