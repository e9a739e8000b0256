import { z } from "zod";
import { patchOf, uuid } from "../../../shared/fields.ts";
import { isWithinMaxOffset, type PageQuery } from "../../../shared/pagination.ts";
import {
  foundFields,
  isRelevanceOfWords,
  relevanceMessage,
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
import { endpointOf } from "../../_shared/http/endpoint.ts";
import { submissionPage } from "../../_shared/http/web-pages.ts";
import {
  createdSubmission,
  createSubmission,
  submissionDetail as detailOf,
  updateSubmission,
} from "../../_shared/statements/submissions.ts";
import { adminModeration } from "../../endpoints/admin-moderation.ts";
import { submissions } from "../../endpoints/submissions.ts";
import { taxonomy } from "../../endpoints/taxonomy.ts";
import { fromEndpoint, idNamed } from "../from-endpoint.ts";
import { additive, confirm, idempotentDestructive, readOnly, tool } from "../tool.ts";
import { described, pageInput, pageOf, pageOutput, shortText } from "./pages.ts";

const missing = () => notFound("submission");
const tooDeep = {
  path: ["page"],
  error: "multiplied by limit must be at most 100,000, or 10,000 with words; filter the list to see the rest",
};
const { page: _page, limit: _limit, cursor: _cursor, ...filters } = submissionListQuery.shape;
const { cursor: _from, ...searched } = submissionSearchQuery.shape;
const listed = submission.omit({ description: true, updated_at: true }).extend({ description: shortText });
const found = z.object({
  id: uuid,
  title: z.string(),
  description: shortText,
  relevance: z.number().describe("Higher is better."),
});

const shown = submissionDetail
  .omit({ author_id: true, category_id: true, is_following: true, user_vote: true, comments: true })
  .required({ author: true, category: true })
  .extend({
    tags: z.array(tagReference),
    url: z.string(),
    has_voted: z.boolean().describe("Whether this agent voted for it."),
  });

type Detail = z.infer<typeof shown> & { is_following: boolean; user_vote: object | null };

/** A submission as this agent sees it. */
function seen({ is_following: _, user_vote, ...item }: Detail) {
  return { ...item, url: submissionPage(item.id), has_voted: user_vote !== null };
}

export const submissionTools = [
  fromEndpoint(endpointOf(submissions, "get", "/submissions"), {
    name: "list_submissions",
    title: "List submissions",
    description:
      "List submitted ideas and problems, filtered and sorted, newest first by default. Use search_submissions to find by words.",
    input: z
      .object({ ...pageInput, ...filters })
      .refine(isWithinMaxOffset, tooDeep)
      .refine(isRelevanceOfWords, relevanceMessage),
    output: { submissions: z.array(listed), ...pageOutput, ...foundFields, match: foundFields.match.optional() },
    scope: "submissions:read",
    annotations: readOnly,
    untrusted: ["submissions.title", "submissions.description"],
    answer: ({ data, meta }, query: PageQuery) => ({
      submissions: data.map(({ updated_at: _, ...item }: z.infer<typeof submission>) => described(item)),
      ...pageOf(query, meta),
    }),
  }),
  fromEndpoint(endpointOf(submissions, "get", "/submissions/:id"), {
    name: "get_submission",
    title: "Show a submission",
    description: "Show one submission with author, category and tags. list_comments returns its comments.",
    id: "submission_id",
    query: { expand: ["author", "category", "tags"] },
    output: { submission: shown },
    scope: "submissions:read",
    annotations: readOnly,
    untrusted: ["submission.title", "submission.description", "submission.author.name"],
    answer: ({ data }) => ({ submission: seen(data) }),
  }),
  fromEndpoint(endpointOf(submissions, "get", "/submissions/search"), {
    name: "search_submissions",
    title: "Search submissions",
    description:
      "Search titles and descriptions of submissions, best match first. match is any if none has all words: then the results have the rarest and most of them.",
    input: z.object({ ...searched, ...pageInput }).refine(isWithinMaxOffset, tooDeep),
    output: { submissions: z.array(found), ...pageOutput, ...foundFields },
    scope: "submissions:read",
    annotations: readOnly,
    untrusted: ["submissions.title", "submissions.description"],
    answer: ({ data, meta }, query: PageQuery) => ({
      submissions: data.map(({ id, title, description, relevance }: z.infer<typeof found>) =>
        described({ id, title, description, relevance }),
      ),
      ...pageOf(query, meta),
    }),
  }),
  fromEndpoint(endpointOf(submissions, "post", "/submissions/check-duplicates"), {
    name: "find_similar_submissions",
    title: "Find similar submissions",
    description:
      "Find submissions similar to a draft. Call it before create_submission: if one matches, use vote_submission instead of creating a duplicate.",
    scope: "submissions:read",
    annotations: readOnly,
    untrusted: ["similar.title"],
  }),
  fromEndpoint(endpointOf(taxonomy, "get", "/organizations/:id/categories"), {
    name: "list_categories",
    title: "List categories",
    description: "List the categories of submissions, for category_id and the category filter.",
    output: { categories: z.array(category) },
    scope: "submissions:read",
    annotations: readOnly,
    untrusted: [],
    answer: ({ data }) => ({ categories: data }),
  }),
  tool({
    name: "create_submission",
    title: "Submit an idea or a problem",
    description:
      "Submit an idea or a problem as this agent, which votes for it and follows it. Each call creates a submission: call find_similar_submissions first.",
    input: z.object({ ...submissionCreate.shape }),
    output: z.object({ id: uuid, title: z.string(), status: submissionStatus, vote_count: z.int(), url: z.string() }),
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
  }),
  tool({
    name: "update_submission",
    title: "Edit a submission",
    description:
      "Change title, description or category of a submission this agent wrote; with submissions:moderate of any, and its link to an issue too. Replaces what was there.",
    input: patchOf(submissionPatch.shape, { ...idNamed("submission_id"), confirm }),
    output: z.object({ submission: shown }),
    scope: "submissions:write",
    annotations: idempotentDestructive,
    operation: "submission_update",
    untrusted: ["submission.title", "submission.description", "submission.author.name"],
    call: ({ submission_id, confirm: _, ...patch }, { locale }) => [
      updateSubmission(submission_id, patch),
      detailOf(submission_id, ["author", "category", "tags"], locale),
    ],
    respond: ([updated, [row]]) => {
      if (!row) throw missing();
      if (updated.length === 0)
        throw forbidden("An agent can edit only its own submissions, or any with the scope submissions:moderate.");
      return { submission: seen(JSON.parse(row.data)) };
    },
  }),
  fromEndpoint(endpointOf(submissions, "patch", "/submissions/:id/status"), {
    name: "set_submission_status",
    title: "Change a submission's status",
    description: "Change the status of a submission, with a public note. Notifies followers unless notify is false.",
    id: "submission_id",
    scope: "submissions:moderate",
    annotations: idempotentDestructive,
    untrusted: [],
  }),
  fromEndpoint(endpointOf(adminModeration, "post", "/admin/merge"), {
    name: "merge_submissions",
    title: "Merge submissions",
    description:
      "Merge up to 20 duplicate submissions into one: moves their votes, comments and followers. An admin can undo it.",
    scope: "submissions:moderate",
    annotations: idempotentDestructive,
    untrusted: [],
  }),
];
