import { type Context, Hono } from "hono";
import { type ErrorCode, errors } from "../../shared/errors.ts";
import { type ApiError, notFound, toApiError } from "../_shared/api-error.ts";
import { corsHeaders, preflight } from "../_shared/cors.ts";
import { bearerToken, isJwt } from "../_shared/credential.ts";
import { run, runOnce, type Verdict } from "../_shared/database.ts";
import type { Answer, Endpoint } from "../_shared/endpoint.ts";
import { environment } from "../_shared/environment.ts";
import { idempotencyOf } from "../_shared/idempotency.ts";
import { log } from "../_shared/log.ts";
import { rateHeaders } from "../_shared/rate-headers.ts";
import { admissionOf, isOwnOrigin, parse, readCredential } from "../_shared/request.ts";
import { documentation } from "./documentation.ts";
import { admin } from "./routes/admin.ts";
import { comments } from "./routes/comments.ts";
import { follows } from "./routes/follows.ts";
import { health } from "./routes/health.ts";
import { notifications } from "./routes/notifications.ts";
import { submissions } from "./routes/submissions.ts";
import { taxonomy } from "./routes/taxonomy.ts";
import { votes } from "./routes/votes.ts";

export const endpoints: Endpoint[] = [
  ...submissions,
  ...votes,
  ...comments,
  ...follows,
  ...notifications,
  ...taxonomy,
  ...admin,
];

export const app = new Hono().basePath("/api");

// Not charged: health, readiness and the documents.
app.use(async (c, next) => {
  await next();
  if (c.res.headers.has("X-Request-Id")) return;
  for (const [name, value] of Object.entries({ "X-Request-Id": crypto.randomUUID(), ...rateHeaders() }))
    c.header(name, value);
});
app.route("/", health);
app.route("/", documentation(endpoints));

app.options("*", (c) => preflight(c));
for (const endpoint of endpoints) {
  app.on(endpoint.method.toUpperCase(), endpoint.path, (c) => serve(c, endpoint));
}

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

/** One request, from credential to answer. */
async function serve(c: Context, endpoint: Endpoint): Promise<Response> {
  const startedAt = performance.now();
  const requestId = crypto.randomUUID();
  const origin = c.req.header("Origin");
  let verdict: Verdict | undefined;
  let caller: string | undefined;
  let answer: Answer;
  try {
    const credential = await readCredential(c);
    caller = credential.kind;
    const { input, problem } = await parse(c, endpoint, credential);
    const admission = admissionOf(c, endpoint, requestId, credential, input);
    const hear = (heard: Verdict) => {
      verdict = heard;
    };
    if (problem) {
      await run(admission, [], hear);
      throw problem;
    }
    const idempotency = await idempotencyOf(c, endpoint, input);
    if (idempotency) {
      answer = JSON.parse(
        await runOnce(admission, endpoint.call(input), hear, {
          ...idempotency,
          answer: (results) => JSON.stringify(endpoint.respond(results as never, input)),
        }),
      ) as Answer;
    } else {
      answer = endpoint.respond((await run(admission, endpoint.call(input), hear)) as never, input);
    }
  } catch (error) {
    answer = refusal(error, requestId, endpoint.lowercaseErrorsToKeys === true && showsKey(c));
  }
  log({ requestId, method: c.req.method, route: endpoint.path, caller, status: answer.status, startedAt });
  return new Response(answer.json, {
    status: answer.status,
    headers: {
      "Content-Type": "application/json; charset=utf-8",
      "Cache-Control": "no-store",
      "X-Content-Type-Options": "nosniff",
      "X-Request-Id": requestId,
      ...rateHeaders(verdict),
      ...corsHeaders(
        origin,
        verdict?.origin_allowed === true ||
          (origin !== undefined && isOwnOrigin(origin, c.req.header("Host"))),
      ),
      ...answer.headers,
      Vary: answer.headers?.Vary ? `Origin, ${answer.headers.Vary}` : "Origin",
    },
  });
}

/** The answer to any error; one nobody foresaw is logged whole and told by its request id alone. */
function refusal(error: unknown, requestId: string, lowercase: boolean): Answer {
  const known = toApiError(error);
  if (!known || known.code === "INTERNAL_ERROR") {
    log({ requestId, error });
    return refused(
      "INTERNAL_ERROR",
      "Something went wrong on our side.",
      [],
      { request_id: requestId },
      lowercase,
    );
  }
  if (known.code === "SERVICE_UNAVAILABLE") log({ requestId, error });
  const extra = known.code === "SERVICE_UNAVAILABLE" ? { request_id: requestId } : known.extra;
  return refused(known.code, known.message, known.details, extra, lowercase);
}

function refused(
  code: ErrorCode,
  message: string,
  details: ApiError["details"],
  extra: Record<string, unknown>,
  lowercase: boolean,
): Answer {
  const body = lowercase
    ? {
        error: errors[code].lowercase,
        ...(code === "VALIDATION_ERROR" && { details }),
        ...(code === "RATE_LIMIT_EXCEEDED" && extra),
      }
    : { error: { code, message, details, ...extra } };
  const wait = code === "SERVICE_UNAVAILABLE" ? 1 : extra.retry_after;
  return {
    status: errors[code].status,
    json: JSON.stringify(body),
    headers: wait ? { "Retry-After": String(wait) } : {},
  };
}

function showsKey(c: Context): boolean {
  const token = bearerToken(c.req.header("Authorization") ?? "");
  return token !== undefined && !isJwt(token) && !environment.publicKeys.has(token);
}
