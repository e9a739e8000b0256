import { z } from "zod";
import { comment } from "./comments.ts";
import { dataOf, listOf } from "./envelopes.ts";
import {
  count,
  expandOf,
  moderationState,
  onBehalfFields,
  patchOf,
  slug,
  timestamp,
  uuid,
  webAddress,
  wholeNumber,
} from "./fields.ts";
import {
  cursor,
  fullMeta,
  isWithinMaxOffset,
  maxOffsetMessage,
  order,
  pageFields,
  totalIsCapped,
} from "./pagination.ts";
import { author, category, tagReference } from "./taxonomy.ts";
import { text } from "./text.ts";

const submissionTypes = ["idea", "problem"] as const;
export const submissionStatuses = [
  "open",
  "under_review",
  "planned",
  "in_progress",
  "completed",
  "declined",
  "duplicate",
] as const;

export const submissionType = z.enum(submissionTypes).meta({ id: "SubmissionType" });
export const submissionStatus = z
  .enum(submissionStatuses)
  .meta({ id: "SubmissionStatus", description: "`duplicate` is set by a merge only." });

export type SubmissionStatus = z.infer<typeof submissionStatus>;

export const submissionText = {
  title: text({ min: 5, max: 200 }).describe("5 to 200 characters (code points), trimmed."),
  description: text({ min: 20, max: 5000 }).describe("20 to 5000 characters (code points), trimmed."),
};
const { title, description } = submissionText;
export const submissionSource = text({ min: 1, max: 64 });
export const statusNote = text({ min: 0, max: 2000 });
export const searchText = text({ min: 1, max: 200 }).describe("Search query, 1 to 200 characters.");

// In ------------------------------------------------------------------------------------------------------------

const categoryReference = z
  .string()
  .regex(/^[A-Za-z0-9-]{1,64}$/, "must be the id or the slug of a category")
  .describe("Id or slug of a category.");

/** A refinement of the list's query. */
export const isRelevanceOfWords = (query: { sort: string; order: string; q?: string | undefined }) =>
  query.sort !== "relevance" || (query.q !== undefined && query.order === "desc");
export const relevanceMessage = { path: ["sort"], error: "can be relevance only with q and without order" };

export const submissionListQuery = z
  .object({
    ...pageFields,
    cursor: cursor.optional(),
    status: submissionStatus.optional(),
    type: submissionType.optional(),
    category: categoryReference.optional(),
    tag: slug.optional(),
    author: uuid.optional().describe("Id of the author."),
    q: searchText.optional(),
    sort: z
      .enum(["created_at", "votes", "comments", "title", "relevance"])
      .default("created_at")
      .describe("`relevance` needs `q`: best first, as search."),
    order: order.default("desc"),
  })
  .refine(isWithinMaxOffset, maxOffsetMessage)
  .refine(isRelevanceOfWords, relevanceMessage);

export type SubmissionListQuery = z.infer<typeof submissionListQuery>;

const submissionReferences = ["author", "category", "tags"] as const;

export const expandedSubmissionListQuery = submissionListQuery
  .safeExtend({ expand: expandOf(...submissionReferences) })
  .meta({
    id: "SubmissionListQuery",
    description: "Filters, sort, page and related resources of the list of submissions.",
  });

export const submissionSearchQuery = z
  .object({
    ...pageFields,
    cursor: cursor.optional(),
    q: searchText,
    status: submissionStatus.optional(),
    type: submissionType.optional(),
  })
  .refine(isWithinMaxOffset, maxOffsetMessage)
  .meta({ id: "SubmissionSearchQuery", description: "Parameters of a search." });

export type SubmissionSearchQuery = z.infer<typeof submissionSearchQuery>;

export const submissionDetailQuery = z
  .object({ expand: expandOf(...submissionReferences, "comments") })
  .meta({ id: "SubmissionDetailQuery", description: "Related resources of the submission to include." });

export type SubmissionDetailQuery = z.infer<typeof submissionDetailQuery>;

const submissionFields = {
  ...submissionText,
  type: submissionType,
  category_id: uuid.nullish().describe("Id of a category of the same organization."),
};

export const submissionCreate = z
  .object(submissionFields)
  .meta({ id: "SubmissionCreate", description: "A submission by the signed-in user." });

export const submissionCreateByKey = z
  .object({
    ...submissionFields,
    ...onBehalfFields,
    source: submissionSource.nullish().describe("Source, such as `ios-app`; 1 to 64 characters."),
  })
  .meta({
    id: "SubmissionCreateByKey",
    description: "A submission by an organization key, for itself or on behalf of a person.",
  });

export type SubmissionCreateByKey = z.infer<typeof submissionCreateByKey>;

export const submissionPatch = patchOf({
  title: title.optional(),
  description: description.optional(),
  category_id: uuid.nullable().optional().describe("Null removes the category."),
  tracker_issue_url: webAddress.nullable().optional().describe("Link to an external issue, http or https; Admin only."),
}).meta({ id: "SubmissionPatch", description: "Changed fields; at least one.", minProperties: 1 });

export type SubmissionPatch = z.infer<typeof submissionPatch>;

export const statusChangeCreate = z
  .object({
    status: submissionStatus.exclude(["duplicate"], {
      error: ({ input }) =>
        input === undefined
          ? "is required"
          : `must be one of ${submissionStatuses.filter((status) => status !== "duplicate").join(", ")}; merge the submission to make it a duplicate`,
    }),
    note: statusNote.nullish().describe("Public reason, up to 2000 characters."),
    notify: z.boolean().default(true).describe("Whether to notify followers."),
  })
  .meta({ id: "StatusChangeCreate", description: "The new status of a submission." });

export type StatusChangeCreate = z.infer<typeof statusChangeCreate>;

export const duplicateCheck = z
  .object({
    title: text({ min: 1, max: 200 }).describe("Draft title, 1 to 200 characters."),
    description: text({ min: 0, max: 5000 }).nullish().describe("Draft description, up to 5000 characters."),
    limit: wholeNumber(1, 20).default(5).describe("Maximum number of results, 1 to 20."),
  })
  .meta({ id: "DuplicateCheck", description: "A draft to compare with existing submissions." });

// Out -----------------------------------------------------------------------------------------------------------

const shownFields = {
  id: uuid,
  title: z.string(),
  description: z.string(),
  type: submissionType,
  status: submissionStatus,
  vote_count: count.describe("Including the author's own vote."),
  comment_count: count.describe("Including replies."),
};

const referenceFields = {
  author_id: uuid.optional().describe("Replaced by `author` when expanded."),
  author: author.optional().describe("With `expand=author`."),
  category_id: uuid.nullable().optional().describe("Replaced by `category` when expanded."),
  category: category.nullable().optional().describe("With `expand=category`."),
  tags: z.union([z.array(slug), z.array(tagReference)]).describe("Slugs; {name, slug} with `expand=tags`."),
};

/** A submission in a list without expand. */
export const submission = z.object({
  ...shownFields,
  author_id: uuid,
  category_id: uuid.nullable(),
  tags: z.array(slug).describe("Slugs."),
  created_at: timestamp,
  updated_at: timestamp,
});

const submissionInList = z
  .object({ ...shownFields, ...referenceFields, created_at: timestamp, updated_at: timestamp })
  .meta({ id: "Submission", description: "A submission in a list." });

export const submissionDetail = z
  .object({
    ...shownFields,
    ...referenceFields,
    comments: z.array(comment).optional().describe("With `expand=comments`: the first 50."),
    tracker_issue_url: z.string().nullable(),
    merged_into_id: uuid.nullable().describe("The merge target."),
    moderation_state: moderationState,
    is_following: z.boolean().describe("Whether the caller follows it."),
    user_vote: z.object({ created_at: timestamp }).nullable().describe("The caller's vote; null if there is none."),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: "SubmissionDetail", description: "A submission with the fields that the caller may see." });

export type SubmissionDetail = z.infer<typeof submissionDetail>;

const submissionCreated = z
  .object({ id: uuid, title: z.string(), status: submissionStatus, vote_count: count, url: z.string() })
  .meta({ id: "SubmissionCreated", description: "A submission created by a signed-in user." });

export const submissionCreatedByKey = z
  .object({ id: uuid, url: z.string().describe("URL of the submission's page.") })
  .meta({ id: "SubmissionCreatedByKey", description: "A submission created by a key, without envelope." });

const submissionHit = z
  .object({
    id: uuid,
    title: z.string(),
    description: z.string(),
    relevance: z.number().min(0).describe("Higher is better."),
    highlight: z
      .object({ title: z.string(), description: z.string() })
      .describe("HTML: escaped text with `<mark>` around matches."),
  })
  .meta({ id: "SubmissionHit", description: "A submission in search results." });

const statusChange = z
  .object({
    submission_id: uuid,
    previous_status: submissionStatus,
    new_status: submissionStatus,
    changed_by: z.string().describe("Name of the person who changed it."),
    note: z.string().nullable(),
    changed_at: timestamp,
  })
  .meta({ id: "StatusChange", description: "One status change of a submission." });

export type StatusChange = z.infer<typeof statusChange>;

const duplicates = z
  .object({
    has_duplicates: z.boolean(),
    similar: z.array(
      z.object({
        id: uuid,
        title: z.string(),
        similarity: z.number().min(0).max(1).describe("1 is the same."),
        vote_count: count,
        status: submissionStatus,
      }),
    ),
  })
  .meta({ id: "Duplicates", description: "Submissions similar to the draft, most similar first." });

const deleted = z.object({ deleted: z.literal(true) }).meta({ id: "Deleted", description: "The row was deleted." });

/** How a list with `q` was found. */
export const foundFields = {
  match: z
    .enum(["all", "any"])
    .describe("`any` if no submission has all words: those with the rarest and most of them, or similar words."),
  did_you_mean: z.string().optional().describe("The query with known words in place of unknown ones."),
};

const searchMeta = z
  .object({
    query: z.string(),
    total: count,
    total_is_capped: totalIsCapped,
    ...foundFields,
    next_cursor: z.string().nullable().describe("Pass as `cursor` for the next page; null at the end."),
  })
  .meta({ id: "SearchMeta", description: "The search query and the number of results." });

const submissionListMeta = fullMeta
  .extend({ ...foundFields, match: foundFields.match.optional() })
  .meta({ id: "SubmissionListMeta", description: "The position of a page; with `q` also how it matched." });

export const submissionListAnswer = listOf(submissionInList, submissionListMeta);
export const submissionSearchAnswer = listOf(submissionHit, searchMeta);
export const submissionDetailAnswer = dataOf(submissionDetail);
export const submissionCreatedAnswer = dataOf(submissionCreated);
export const statusChangeAnswer = dataOf(statusChange);
export const statusChangeListAnswer = dataOf(z.array(statusChange));
export const duplicatesAnswer = dataOf(duplicates);
export const deletedAnswer = dataOf(deleted);
