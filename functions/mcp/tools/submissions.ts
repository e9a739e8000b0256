import { z } from "zod";
import { patchOf, timestamp, uuid } from "../../../shared/fields.ts";
import { merge, merged } from "../../../shared/moderation.ts";
import { isWithinMaxOffset } from "../../../shared/pagination.ts";
import {
  duplicateCheck,
  duplicates,
  foundFields,
  isRelevanceOfWords,
  relevanceMessage,
  statusChange,
  statusChangeCreate,
  submission,
  submissionCreate,
  submissionDetail,
  submissionListQuery,
  submissionPatch,
  submissionSearchQuery,
  submissionStatus,
} from "../../../shared/submissions.ts";
import { category, tagReference } from "../../../shared/taxonomy.ts";
import { forbidden, notFound } from "../../_shared/http/api-error.ts";
import { foundMeta, type Page } from "../../_shared/http/cursor.ts";
import { submissionPage } from "../../_shared/http/web-pages.ts";
import { mergeSubmissions } from "../../_shared/statements/moderation.ts";
import {
  changeStatus,
  createdSubmission,
  createSubmission,
  submissionDetail as detailOf,
  listSubmissions,
  requireAdminOf,
  searchSubmissions,
  similarSubmissions,
  unchangedStatus,
  updateSubmission,
} from "../../_shared/statements/submissions.ts";
import { listTaxonomy } from "../../_shared/statements/taxonomy.ts";
import { additive, confirm, idempotentDestructive, readOnly, tool } from "../tool.ts";
import { listOf, pageInput, pageOf, pageOutput, shortened, shortText } from "./pages.ts";

const missing = () => notFound("submission");
export const submissionId = uuid.describe("Id of the submission.");

const tooDeep = {
  path: ["page"],
  error: "times limit must be at most 10000: filter the list to see the rest",
};
const foundOutput = { ...foundFields, match: foundFields.match.optional() };
const { page: _page, limit: _limit, cursor: _cursor, ...filters } = submissionListQuery.shape;
const listed = submission.omit({ description: true, updated_at: true }).extend({ description: shortText });

const list_submissions = tool({
  name: "list_submissions",
  title: "List submissions",
  description:
    "List submitted ideas and problems, filtered and sorted, newest first by default. Use search_submissions to find by words.",
  input: z
    .object({ ...pageInput, ...filters })
    .refine(isWithinMaxOffset, tooDeep)
    .refine(isRelevanceOfWords, relevanceMessage),
  output: z.object({ submissions: z.array(listed), ...pageOutput, ...foundOutput }),
  scope: "submissions:read",
  annotations: readOnly,
  untrusted: ["submissions.title", "submissions.description"],
  call: (query) => [listSubmissions({ ...query, cursor: undefined })],
  respond: ([[page]], query) => ({
    submissions: listOf<z.infer<typeof submission>>(page?.data).map(({ updated_at: _, ...item }) => ({
      ...item,
      description: shortened(item.description),
    })),
    ...placeOf(query, page),
  }),
});

const placeOf = (query: { page: number; limit: number }, page: Page | undefined) => ({
  ...pageOf(query, page?.total ?? 0, page?.total_is_capped),
  ...(page?.total_is_capped && { has_next: page.more }),
  ...(page && foundMeta(page)),
});

const shown = submissionDetail
  .omit({ author_id: true, category_id: true, is_following: true, user_vote: true, comments: true })
  .required({ author: true, category: true })
  .extend({
    tags: z.array(tagReference),
    url: z.string(),
    has_voted: z.boolean().describe("Whether this agent voted for it."),
  });

const get_submission = tool({
  name: "get_submission",
  title: "Show a submission",
  description: "Show one submission with author, category and tags. list_comments returns its comments.",
  input: z.object({ submission_id: submissionId }),
  output: z.object({ submission: shown }),
  scope: "submissions:read",
  annotations: readOnly,
  untrusted: ["submission.title", "submission.description", "submission.author.name"],
  call: ({ submission_id }, { locale }) => [detailOf(submission_id, ["author", "category", "tags"], locale)],
  respond: ([[row]], { submission_id }) => {
    if (!row) throw missing();
    return { submission: detailed(row.data, submission_id) };
  },
});

function detailed(json: string, id: string): z.infer<typeof shown> {
  const { is_following: _, user_vote, ...item } = JSON.parse(json);
  return { ...item, url: submissionPage(id), has_voted: user_vote !== null };
}

const { cursor: _from, ...searched } = submissionSearchQuery.shape;
const found = z.object({
  id: uuid,
  title: z.string(),
  description: shortText,
  relevance: z.number().describe("Higher is better."),
});

const search_submissions = tool({
  name: "search_submissions",
  title: "Search submissions",
  description:
    "Search titles and descriptions of submissions, best match first. match is any if none has all words: then the results have the rarest and most of them.",
  input: z.object({ ...searched, ...pageInput }).refine(isWithinMaxOffset, tooDeep),
  output: z.object({ submissions: z.array(found), ...pageOutput, ...foundFields }),
  scope: "submissions:read",
  annotations: readOnly,
  untrusted: ["submissions.title", "submissions.description"],
  call: (query) => [searchSubmissions({ ...query, cursor: undefined })],
  respond: ([[page]], query) => ({
    submissions: listOf<z.infer<typeof found>>(page?.data).map(({ id, title, description, relevance }) => ({
      id,
      title,
      description: shortened(description),
      relevance,
    })),
    match: "all" as const,
    ...placeOf(query, page),
  }),
});

const find_similar_submissions = tool({
  name: "find_similar_submissions",
  title: "Find similar submissions",
  description:
    "Find submissions similar to a draft. Call it before create_submission: if one matches, use vote_submission instead of creating a duplicate.",
  input: z.object({ ...duplicateCheck.shape }),
  output: z.object({ ...duplicates.shape }),
  scope: "submissions:read",
  annotations: readOnly,
  operation: "duplicate_check",
  untrusted: ["similar.title"],
  call: ({ title, description, limit }) => [similarSubmissions(title, description, limit)],
  respond: ([[row]]) => {
    const similar = listOf<z.infer<typeof duplicates>["similar"][number]>(row?.data);
    return { has_duplicates: similar.length > 0, similar };
  },
});

const list_categories = tool({
  name: "list_categories",
  title: "List categories",
  description: "List the categories of submissions, for category_id and the category filter.",
  input: z.object({}),
  output: z.object({ categories: z.array(category) }),
  scope: "submissions:read",
  annotations: readOnly,
  untrusted: [],
  call: (_, { locale }) => [listTaxonomy(undefined, "categories", locale)],
  respond: ([[row]]) => ({ categories: listOf<z.infer<typeof category>>(row?.data) }),
});

const create_submission = tool({
  name: "create_submission",
  title: "Submit an idea or a problem",
  description:
    "Submit an idea or a problem as this agent, which votes for it and follows it. Each call creates a submission: call find_similar_submissions first.",
  input: z.object({ ...submissionCreate.shape }),
  output: z.object({
    id: uuid,
    title: z.string(),
    status: submissionStatus,
    vote_count: z.int(),
    url: z.string(),
  }),
  scope: "submissions:write",
  annotations: additive,
  operation: "submission_create",
  untrusted: [],
  call: (body, { newId }) => [
    createSubmission(newId, { ...body, source: "agent" }, true),
    createdSubmission(newId, submissionPage(newId)),
  ],
  respond: ([, [created]]) => {
    if (!created) throw missing();
    return JSON.parse(created.data);
  },
});

const update_submission = tool({
  name: "update_submission",
  title: "Edit a submission",
  description:
    "Change title, description or category of a submission this agent wrote; with submissions:moderate of any, and its link to an issue too. Replaces what was there.",
  input: patchOf(submissionPatch.shape, { submission_id: submissionId, confirm }),
  output: z.object({ submission: shown }),
  scope: "submissions:write",
  annotations: idempotentDestructive,
  operation: "submission_update",
  untrusted: ["submission.title", "submission.description", "submission.author.name"],
  call: ({ submission_id, confirm: _, ...patch }, { locale }) => [
    updateSubmission(submission_id, patch),
    detailOf(submission_id, ["author", "category", "tags"], locale),
  ],
  respond: ([updated, [row]], { submission_id }) => {
    if (!row) throw missing();
    if (updated.length === 0)
      throw forbidden(
        "An agent may edit its own submissions, and others with the scope submissions:moderate.",
      );
    return { submission: detailed(row.data, submission_id) };
  },
});

const set_submission_status = tool({
  name: "set_submission_status",
  title: "Change a submission's status",
  description:
    "Change the status of a submission, with a public note. Notifies followers unless notify is false.",
  input: z.object({ submission_id: submissionId, ...statusChangeCreate.shape, confirm }),
  output: z.object({ ...statusChange.shape, changed_at: timestamp }),
  scope: "submissions:moderate",
  annotations: idempotentDestructive,
  untrusted: [],
  call: ({ submission_id, confirm: _, ...change }) => [
    requireAdminOf(submission_id),
    changeStatus(submission_id, change),
    unchangedStatus(submission_id),
  ],
  respond: ([admin, [changed], [unchanged]]) => {
    const state = changed ?? unchanged;
    if (admin.length === 0 || !state) throw missing();
    return JSON.parse(state.data);
  },
});

const merge_submissions = tool({
  name: "merge_submissions",
  title: "Merge submissions",
  description:
    "Merge up to 20 duplicate submissions into one: moves their votes, comments and followers. An admin can undo it.",
  input: z.object({ ...merge.shape, confirm }),
  output: z.object({ ...merged.shape }),
  scope: "submissions:moderate",
  annotations: idempotentDestructive,
  untrusted: [],
  call: (body) => [mergeSubmissions(body)],
  respond: ([[result]]) => {
    if (!result) throw missing();
    return JSON.parse(result.data);
  },
});

export const submissionTools = [
  list_submissions,
  get_submission,
  search_submissions,
  find_similar_submissions,
  list_categories,
  create_submission,
  update_submission,
  set_submission_status,
  merge_submissions,
];
