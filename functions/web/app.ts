import { Hono } from "hono";
import { isKnownHost, unknownHost } from "../_shared/http/own-addresses.ts";
import { log } from "../_shared/runtime/log.ts";
import { adminModeration } from "../endpoints/admin-moderation.ts";
import { comments } from "../endpoints/comments.ts";
import { follows } from "../endpoints/follows.ts";
import { notifications } from "../endpoints/notifications.ts";
import { submissions } from "../endpoints/submissions.ts";
import { votes } from "../endpoints/votes.ts";
import { assetResponse, brandResponse, logoResponse, widgetResponse } from "./assets.ts";
import { action, endpointOf, type Page } from "./page.tsx";
import { adminPages } from "./pages/admin/index.ts";
import { board } from "./pages/board.tsx";
import { claim, claimForm } from "./pages/claim.tsx";
import {
  authCallback,
  confirmLink,
  confirmLinkForm,
  linkDone,
  rejectLinkForm,
  undoLink,
  undoLinkForm,
} from "./pages/confirm-link.tsx";
import { deleteCommentPage, deleteSubmissionPage } from "./pages/delete.tsx";
import { editComment } from "./pages/edit-comment.tsx";
import { editSubmission, tagSubmission } from "./pages/edit-submission.tsx";
import { factorPages } from "./pages/factors.tsx";
import { boardFeed, submissionFeed } from "./pages/feeds.ts";
import { acceptInvite } from "./pages/invite.tsx";
import {
  accountMail,
  accountMailForm,
  mail,
  mailForm,
  mailSettings,
  mailSettingsForm,
  refusal,
  refusalForm,
  unsubscribe,
  unsubscribeForm,
} from "./pages/mail.tsx";
import { me } from "./pages/me.tsx";
import { mergeSubmission } from "./pages/merge-submission.tsx";
import { newSubmission, newSubmissionForm, similarToNew } from "./pages/new-submission.tsx";
import { news, unreadNews } from "./pages/news.tsx";
import { notificationsPage } from "./pages/notifications.tsx";
import { preferences } from "./pages/preferences.ts";
import { realtimeToken } from "./pages/realtime-token.ts";
import {
  choosePassword,
  choosePasswordForm,
  reset,
  resetCode,
  resetCodeForm,
  resetForm,
} from "./pages/reset-password.tsx";
import { roadmap } from "./pages/roadmap.tsx";
import { robots, sitemap, sitemapIndex } from "./pages/robots.ts";
import { erase, eraseForm, goodbye, myData, settings, settingsForm } from "./pages/settings.tsx";
import { setup, setupForm } from "./pages/setup.tsx";
import { signIn, signInForm, signInWithProvider, signOut } from "./pages/sign-in.tsx";
import { mailSignIn, mailSignInForm, signInCode, signInCodeForm } from "./pages/sign-in-by-mail.tsx";
import { signUp, signUpForm } from "./pages/sign-up.tsx";
import { sso, ssoForm } from "./pages/sso.tsx";
import { submission } from "./pages/submission.tsx";
import { survey, surveyForm } from "./pages/survey.tsx";
import { voters } from "./pages/voters.tsx";
import { identifyInWidget, leaveWidget } from "./pages/widget-session.ts";
import { personLink } from "./paths.ts";
import { securityHeaders } from "./security.ts";
import { notFoundPage, servePage, servePages } from "./serve-page.ts";
import { startVisit } from "./visit.ts";

/** Every page and every form, by path. A path of an organization is also at /o/:organization. */
const pages: Page[] = [
  board,
  roadmap,
  news,
  survey,
  surveyForm,
  boardFeed,
  submissionFeed,
  robots,
  sitemapIndex,
  sitemap,
  signIn,
  signInForm,
  ...signInWithProvider,
  signUp,
  signUpForm,
  signOut,
  sso,
  ssoForm,
  mailSignIn,
  mailSignInForm,
  signInCode,
  signInCodeForm,
  reset,
  resetForm,
  resetCode,
  resetCodeForm,
  choosePassword,
  choosePasswordForm,
  confirmLink,
  confirmLinkForm,
  rejectLinkForm,
  undoLink,
  undoLinkForm,
  linkDone,
  authCallback,
  acceptInvite,
  me,
  notificationsPage,
  ...notifications
    .filter(({ method }) => method === "post")
    .map((endpoint) => action(endpoint, { path: "/notifications/read", isEmbeddable: true })),
  settings,
  settingsForm,
  ...factorPages,
  mailSettings,
  mailSettingsForm,
  mail,
  mailForm,
  claim,
  claimForm,
  accountMail,
  accountMailForm,
  refusal,
  refusalForm,
  unsubscribe,
  unsubscribeForm,
  myData,
  erase,
  eraseForm,
  goodbye,
  preferences,
  realtimeToken,
  newSubmission,
  newSubmissionForm,
  similarToNew,
  submission,
  editSubmission,
  tagSubmission,
  deleteSubmissionPage,
  mergeSubmission,
  voters,
  editComment,
  deleteCommentPage,
  ...[...votes, ...follows]
    .filter(({ method }) => method !== "get")
    .map((endpoint) => action(endpoint, { isEmbeddable: true })),
  action(endpointOf(submissions, "delete", "/submissions/:id"), {
    formPage: deleteSubmissionPage,
    isEmbeddable: true,
  }),
  action(endpointOf(submissions, "patch", "/submissions/:id/status"), { formPage: submission }),
  action(endpointOf(comments, "post", "/submissions/:id/comments"), {
    formPage: submission,
    isEmbeddable: true,
    redirectTo: ({ json }, { params, visit }) =>
      personLink(visit, `/submissions/${params.id}#comment-${JSON.parse(json).data.id}`).href,
  }),
  action(endpointOf(comments, "patch", "/comments/:id"), { formPage: editComment, isEmbeddable: true }),
  action(endpointOf(comments, "delete", "/comments/:id"), {
    formPage: deleteCommentPage,
    isEmbeddable: true,
  }),
  action(endpointOf(comments, "post", "/comments/:id/vote"), { isEmbeddable: true }),
  action(endpointOf(comments, "delete", "/comments/:id/vote"), { isEmbeddable: true }),
  action(endpointOf(adminModeration, "post", "/admin/merge"), {
    path: "/submissions/:id/merge",
    formPage: mergeSubmission,
  }),
  action(endpointOf(adminModeration, "post", "/admin/unmerge"), {
    path: "/submissions/:id/unmerge",
    formPage: submission,
  }),
  action(endpointOf(adminModeration, "post", "/admin/moderation"), {
    path: "/submissions/:id/moderation",
    formPage: submission,
  }),
  identifyInWidget,
  leaveWidget,
  unreadNews,
  setup,
  setupForm,
  ...adminPages,
];

export const app = new Hono({ strict: false });

app.get("/health", (c) => c.json({ status: "ok" }));
app.use(async (c, next) => {
  if (isKnownHost(c)) return next();
  return c.text(unknownHost, 403, { ...securityHeaders, "X-Request-Id": crypto.randomUUID() });
});
app.get("/assets/:name", (c) => assetResponse(c.req.param("name"), c.req.raw));
app.get("/brand/:file", (c) => brandResponse(c.req.param("file")));
app.get("/widget.js", (c) => widgetResponse(c.req.raw));
app.get("/logos/:organization/:name", (c) => logoResponse(c.req.param("organization"), c.req.param("name")));

const byPath = new Map<string, Page[]>();
for (const page of pages.flatMap((page) => [page, ...(page.actions ?? [])]))
  for (const path of pathsOf(page)) byPath.set(path, [...(byPath.get(path) ?? []), page]);
for (const [path, found] of byPath) {
  // A path that only takes forms has nothing to show.
  if (found.some(({ method }) => method === "get")) app.get(path, (c) => servePages(c, found));
  if (found.some(({ method }) => method !== "get"))
    app.post(path, (c) =>
      servePages(
        c,
        found.filter(({ method }) => method !== "get"),
      ),
    );
}

function pathsOf({ path, ofOrganization, isEmbeddable }: Page): string[] {
  const paths = ofOrganization ? [path, `/o/:organization${path}`.replace(/\/$/, "")] : [path];
  return isEmbeddable ? [...paths, ...paths.map((own) => `/embed${own}`.replace(/\/$/, ""))] : paths;
}

app.all("*", async (c) => servePage(c, notFoundPage, await startVisit(c)));

// Errors before the page is known. Errors of pages are HTML pages.
app.onError((error, c) => {
  const requestId = crypto.randomUUID();
  log({ requestId, error });
  return c.text(`Something went wrong on our side: ${requestId}`, 500);
});
