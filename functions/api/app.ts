import { Hono, type MiddlewareHandler } from "hono";
import { ApiError, notFound } from "../_shared/api-error.ts";
import { preflight } from "../_shared/cors.ts";
import type { Endpoint } from "../_shared/endpoint.ts";
import { runImports } from "../_shared/import/importer.ts";
import { keepAlive } from "../_shared/keep-alive.ts";
import { rateHeaders } from "../_shared/rate-headers.ts";
import { refusal } from "../_shared/refusal.ts";
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
import { exchange } from "./routes/exchange.ts";
import { follows } from "./routes/follows.ts";
import { health } from "./routes/health.ts";
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
  ...surveys,
  ...surveyResponses,
  ...taxonomy,
  ...adminTaxonomy,
  ...organizations,
  ...members,
  ...webhooks,
  ...admin,
  ...adminAnalytics,
  ...adminEvents,
  ...adminModeration,
  ...adminAudit,
  ...exchange,
  ...people,
  ...agents,
];

export const app = new Hono().basePath("/api");

// Not charged: health, readiness, the documents and preflights.
const uncharged: MiddlewareHandler = async (c, next) => {
  await next();
  const headers = { "X-Request-Id": crypto.randomUUID(), ...rateHeaders() };
  for (const [name, value] of Object.entries(headers)) c.header(name, value);
};
for (const path of ["/health", "/ready", "/openapi.json", "/docs", "/mcp/health"]) app.get(path, uncharged);
app.route("/", health);
app.route("/", documentation(endpoints));

// For the schedule, which shows a password: answers at once and goes on.
app.post("/imports/run", (c) => {
  const requestId = crypto.randomUUID();
  if (!showsSchedulePassword(c.req.raw))
    return respond(
      c,
      requestId,
      refusal(new ApiError("UNAUTHORIZED", "The password is not valid."), requestId, false),
    );
  keepAlive(runImports());
  return respond(c, requestId, { status: 202, json: '{"data":{"running":true}}' });
});

app.options("*", uncharged, (c) => preflight(c));
for (const endpoint of endpoints) {
  app.on(endpoint.method.toUpperCase(), endpoint.path, (c) => serve(c, endpoint));
}

// What the uncharged paths throw; the endpoints answer their own errors.
app.onError((error, c) => {
  const requestId = crypto.randomUUID();
  return respond(c, requestId, refusal(error, requestId, false));
});
app.route("/mcp", mcp);
app.notFound((c) => serve(c, nowhere));

const nowhere: Endpoint = {
  method: "get",
  path: "*",
  tag: "",
  summary: "",
  access: "public",
  answers: {},
  call: () => [],
  respond: () => {
    throw notFound("path");
  },
};
