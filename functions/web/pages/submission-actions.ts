import { commentAddress } from "../../_shared/http/web-pages.ts";
import { adminModeration } from "../../endpoints/admin-moderation.ts";
import { comments } from "../../endpoints/comments.ts";
import { follows } from "../../endpoints/follows.ts";
import { submissions } from "../../endpoints/submissions.ts";
import { action, endpointOf } from "../page.tsx";
import { personLink } from "../paths.ts";

// The actions of the forms on a submission's page.

export const follow = endpointOf(follows, "post", "/submissions/:id/follow");
export const unfollow = endpointOf(follows, "delete", "/submissions/:id/follow");
export const addComment = endpointOf(comments, "post", "/submissions/:id/comments");
export const changeStatus = endpointOf(submissions, "patch", "/submissions/:id/status");
export const moderate = endpointOf(adminModeration, "post", "/admin/moderation");
export const unmerge = endpointOf(adminModeration, "post", "/admin/unmerge");

export const submissionActions = [
  action(follow, { formPage: undefined }),
  action(unfollow, { formPage: undefined }),
  action(addComment, {
    redirectTo: ({ json }, { params, visit }) =>
      personLink(visit, commentAddress(`/submissions/${params.id}`, JSON.parse(json).data.id)).href,
  }),
  action(changeStatus, { isEmbeddable: false }),
  action(moderate, { path: "/submissions/:id/moderation", isEmbeddable: false }),
  action(unmerge, { path: "/submissions/:id/unmerge", isEmbeddable: false }),
];
