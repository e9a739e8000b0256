import { Hono } from "hono";
import { isKnownHost, unknownHost } from "../_shared/http/own-addresses.ts";
import { hashedAddress } from "../_shared/http/request.ts";
import { log } from "../_shared/runtime/log.ts";
import { comments } from "../endpoints/comments.ts";
import { votes } from "../endpoints/votes.ts";
import { assetResponse, brandResponse, figureResponse, logoResponse, widgetResponse } from "./assets.ts";
import { action, type Page } from "./page.tsx";
import { adminPages } from "./pages/admin/index.ts";
import { board } from "./pages/board.tsx";
import { claim } from "./pages/claim.tsx";
import { linkPages } from "./pages/confirm-link.tsx";
import { deletePages } from "./pages/delete.tsx";
import { editComment } from "./pages/edit-comment.tsx";
import { editSubmission, tagSubmission } from "./pages/edit-submission.tsx";
import { factorPages } from "./pages/factors.tsx";
import { boardFeed, submissionFeed } from "./pages/feeds.ts";
import { acceptInvite } from "./pages/invite.tsx";
import { mailPages } from "./pages/mail.tsx";
import { me } from "./pages/me.tsx";
import { mergeSubmission } from "./pages/merge-submission.tsx";
import { newSubmission, similarToNew } from "./pages/new-submission.tsx";
import { news, unreadNews } from "./pages/news.tsx";
import { notificationsPage } from "./pages/notifications.tsx";
import { preferences } from "./pages/preferences.ts";
import { realtimeToken } from "./pages/realtime-token.ts";
import { passwordPages } from "./pages/reset-password.tsx";
import { roadmap } from "./pages/roadmap.tsx";
import { robots, sitemap, sitemapIndex } from "./pages/robots.ts";
import { settingsPages } from "./pages/settings.tsx";
import { setup } from "./pages/setup.tsx";
import { signInPages } from "./pages/sign-in.tsx";
import { mailSignInPages } from "./pages/sign-in-by-mail.tsx";
import { signUp } from "./pages/sign-up.tsx";
import { ssoPages } from "./pages/sso.tsx";
import { submission } from "./pages/submission.tsx";
import { survey } from "./pages/survey.tsx";
import { voters } from "./pages/voters.tsx";
import { identifyInWidget, leaveWidget } from "./pages/widget-session.ts";
import { securityHeaders } from "./security.ts";
import { notFoundPage, servePage, servePages } from "./serve-page.ts";
import { startVisit } from "./visit.ts";

/** Every page and every form, by path. A path of an organization is also at /o/:organization. */
export const pages: Page[] = [
  board,
  roadmap,
  news,
  survey,
  boardFeed,
  submissionFeed,
  robots,
  sitemapIndex,
  sitemap,
  ...signInPages,
  signUp,
  ...ssoPages,
  ...mailSignInPages,
  ...passwordPages,
  ...linkPages,
  acceptInvite,
  me,
  notificationsPage,
  ...settingsPages,
  ...factorPages,
  ...mailPages,
  claim,
  preferences,
  realtimeToken,
  newSubmission,
  similarToNew,
  submission,
  editSubmission,
  tagSubmission,
  ...deletePages,
  mergeSubmission,
  voters,
  editComment,
  ...[...votes, ...comments]
    .filter(({ method, path }) => method !== "get" && path.endsWith("/vote"))
    .map((endpoint) => action(endpoint, { isEmbeddable: true })),
  identifyInWidget,
  leaveWidget,
  unreadNews,
  setup,
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
app.get("/avatars/:file", (c) => figureResponse(c.req.param("file"), hashedAddress(c)));
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

app.all("/o/:organization/*", async (c) => servePage(c, notFoundPage, await startVisit(c)));
app.all("*", async (c) => servePage(c, notFoundPage, await startVisit(c)));

// Errors before the page is known. Errors of pages are HTML pages.
app.onError((error, c) => {
  const requestId = crypto.randomUUID();
  log({ requestId, error });
  return c.text(`Something went wrong on our side. If it happens again, tell us this code: ${requestId}`, 500);
});
