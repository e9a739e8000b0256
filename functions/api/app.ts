import { type Context, Hono, type MiddlewareHandler } from "hono";
import { showsSchedulePassword } from "../_shared/callers/schedule-password.ts";
import { runImports } from "../_shared/files/import/importer.ts";
import { deleteRemovedLogos } from "../_shared/files/removed-logos.ts";
import { ApiError, notFound, wrongMethod } from "../_shared/http/api-error.ts";
import { preflight } from "../_shared/http/cors.ts";
import { dataResponse, type Endpoint, type Route } from "../_shared/http/endpoint.ts";
import { errorResponse } from "../_shared/http/error-response.ts";
import { rateHeaders } from "../_shared/http/rate-headers.ts";
import { firstOf, jsonReader } from "../_shared/http/request.ts";
import { asJson, respond, serve } from "../_shared/http/serve.ts";
import { keepAlive } from "../_shared/runtime/keep-alive.ts";
import { log } from "../_shared/runtime/log.ts";
import { admin } from "../endpoints/admin.ts";
import { adminAnalytics } from "../endpoints/admin-analytics.ts";
import { adminAudit } from "../endpoints/admin-audit.ts";
import { adminEvents } from "../endpoints/admin-events.ts";
import { adminModeration } from "../endpoints/admin-moderation.ts";
import { adminTaxonomy } from "../endpoints/admin-taxonomy.ts";
import { agents } from "../endpoints/agents.ts";
import { comments } from "../endpoints/comments.ts";
import { follows } from "../endpoints/follows.ts";
import { health } from "../endpoints/health.ts";
import { adminIdentify, identify } from "../endpoints/identify.ts";
import { importExport } from "../endpoints/import-export.ts";
import { mail } from "../endpoints/mail.ts";
import { members } from "../endpoints/members.ts";
import { notifications } from "../endpoints/notifications.ts";
import { organizations } from "../endpoints/organizations.ts";
import { people } from "../endpoints/people.ts";
import { submissions } from "../endpoints/submissions.ts";
import { surveyResponses } from "../endpoints/survey-responses.ts";
import { surveys } from "../endpoints/surveys.ts";
import { taxonomy } from "../endpoints/taxonomy.ts";
import { votes } from "../endpoints/votes.ts";
import { webhooks } from "../endpoints/webhooks.ts";
import { mcp } from "../mcp/app.ts";
import { documentation } from "./documentation.ts";

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

// A slash at the end of a path does not count.
export const app = new Hono({ strict: false }).basePath("/api");

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
  return respond(c, requestId, dataResponse(202, '{"running":true}'));
});

const methodsOf = new Map<string, string[]>();
for (const { method, path } of [...app.routes, ...endpoints]) {
  const own = path.replace(/^\/api(?=\/)/, "");
  // The agent endpoints have errors of their own.
  if (method === "ALL" || own.startsWith("/mcp/")) continue;
  methodsOf.set(own, [...(methodsOf.get(own) ?? []), method.toUpperCase()]);
}
/** Refuses the methods that a path does not have. */
const refuseOthers = ([path, methods]: [string, string[]]) => {
  const allowed = [...new Set([...methods, ...(methods.includes("GET") ? ["HEAD"] : []), "OPTIONS"])];
  const refusal = refusing(() => wrongMethod(allowed));
  app.all(path, (c, next) => (allowed.includes(c.req.method) ? next() : refusal(c)));
};

app.options("*", uncharged, (c) => preflight(c));
// Before the endpoints, as /submissions/search is not an id of /submissions/:id.
const isFixed = (path: string) => !path.includes(":");
[...methodsOf].filter(([path]) => isFixed(path)).forEach(refuseOthers);
for (const endpoint of endpoints) {
  app.on(endpoint.method.toUpperCase(), endpoint.path, (c) => serve(c, endpoint));
}
[...methodsOf].filter(([path]) => !isFixed(path)).forEach(refuseOthers);

// Errors of the paths above; endpoints handle their own.
app.onError((error, c) => {
  const requestId = crypto.randomUUID();
  return respond(c, requestId, errorResponse(error, requestId, false));
});
app.route("/mcp", mcp);
app.notFound(refusing(() => notFound("path")));

/** Answers with an error to every caller who is admitted. */
function refusing(error: () => ApiError): (c: Context) => Promise<Response> {
  const respond = () => {
    throw error();
  };
  const route: Route = { method: "get", path: "*", access: "public", call: () => [], respond };
  return (c) => serve(c, route, { ...asJson, input: { ...jsonReader, query: firstOf } });
}
