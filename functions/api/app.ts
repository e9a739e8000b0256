import { Hono, type MiddlewareHandler } from "hono";
import { ApiError, notFound } from "../_shared/api-error.ts";
import { preflight } from "../_shared/cors.ts";
import type { Endpoint } from "../_shared/endpoint.ts";
import { errorResponse } from "../_shared/error-response.ts";
import { runImports } from "../_shared/import/importer.ts";
import { keepAlive } from "../_shared/keep-alive.ts";
import { log } from "../_shared/log.ts";
import { rateHeaders } from "../_shared/rate-headers.ts";
import { deleteRemovedLogos } from "../_shared/removed-logos.ts";
import { showsSchedulePassword } from "../_shared/schedule-password.ts";
import { respond, serve } from "../_shared/serve.ts";
import { mcp } from "../mcp/app.ts";
import { documentation } from "./documentation.ts";
import { admin } from "./routes/admin.ts";
import { adminAnalytics } from "./routes/admin-analytics.ts";
import { adminAudit } from "./routes/admin-audit.ts";
import { adminEvents } from "./routes/admin-events.ts";
import { adminModeration } from "./routes/admin-moderation.ts";
import { adminTaxonomy } from "./routes/admin-taxonomy.ts";
import { agents } from "./routes/agents.ts";
import { comments } from "./routes/comments.ts";
import { follows } from "./routes/follows.ts";
import { health } from "./routes/health.ts";
import { adminIdentify, identify } from "./routes/identify.ts";
import { importExport } from "./routes/import-export.ts";
import { mail } from "./routes/mail.ts";
import { members } from "./routes/members.ts";
import { notifications } from "./routes/notifications.ts";
import { organizations } from "./routes/organizations.ts";
import { people } from "./routes/people.ts";
import { submissions } from "./routes/submissions.ts";
import { surveyResponses } from "./routes/survey-responses.ts";
import { surveys } from "./routes/surveys.ts";
import { taxonomy } from "./routes/taxonomy.ts";
import { votes } from "./routes/votes.ts";
import { webhooks } from "./routes/webhooks.ts";

export const endpoints: Endpoint[] = [
  ...submissions,
  ...votes,
  ...comments,
  ...follows,
  ...notifications,
  ...mail,
  ...surveys,
  ...surveyResponses,
  ...taxonomy,
  ...adminTaxonomy,
  ...organizations,
  ...members,
  ...webhooks,
  ...admin,
  ...identify,
  ...adminIdentify,
  ...adminAnalytics,
  ...adminEvents,
  ...adminModeration,
  ...adminAudit,
  ...importExport,
  ...people,
  ...agents,
];

export const app = new Hono().basePath("/api");

// Not rate limited: health, readiness and preflight requests.
const uncharged: MiddlewareHandler = async (c, next) => {
  await next();
  const headers = { "X-Request-Id": crypto.randomUUID(), ...rateHeaders() };
  for (const [name, value] of Object.entries(headers)) c.header(name, value);
};
for (const path of ["/health", "/ready", "/mcp/health"]) app.get(path, uncharged);
app.route("/", health);
app.route("/", documentation(endpoints));

// For the schedule, authenticated by password: runs imports and deletes the files of removed logos. Responds at once and
// continues in the background.
app.post("/imports/run", (c) => {
  const requestId = crypto.randomUUID();
  if (!showsSchedulePassword(c.req.raw))
    return respond(
      c,
      requestId,
      errorResponse(new ApiError("UNAUTHORIZED", "The dispatch secret is not valid."), requestId, false),
    );
  // Sequential, so that the schedule needs only one connection.
  keepAlive(runImports().then(() => deleteRemovedLogos().catch((error) => log({ requestId, error }))));
  return respond(c, requestId, { status: 202, json: '{"data":{"running":true}}' });
});

app.options("*", uncharged, (c) => preflight(c));
for (const endpoint of endpoints) {
  app.on(endpoint.method.toUpperCase(), endpoint.path, (c) => serve(c, endpoint));
}

// Errors of the paths above; endpoints handle their own.
app.onError((error, c) => {
  const requestId = crypto.randomUUID();
  return respond(c, requestId, errorResponse(error, requestId, false));
});
app.route("/mcp", mcp);
app.notFound((c) => serve(c, unknownRoute));

const unknownRoute: Endpoint = {
  method: "get",
  path: "*",
  tag: "",
  summary: "",
  access: "public",
  responses: {},
  call: () => [],
  respond: () => {
    throw notFound("path");
  },
};
