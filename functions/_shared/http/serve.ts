import type { Context } from "hono";
import { isSession } from "../../../shared/api-keys.ts";
import type { RateLimitedOperation } from "../../../shared/rate-limits.ts";
import { bearerToken, type Credential, isJwt } from "../callers/credential.ts";
import { type Admission, run, runOnce, type Verdict } from "../database/run.ts";
import { environment } from "../runtime/environment.ts";
import { log } from "../runtime/log.ts";
import { runAfterResponse } from "./after-response.ts";
import { readableStream } from "./body-stream.ts";
import { corsHeaders } from "./cors.ts";
import type { ApiResponse, Endpoint, Execute, ExecuteAs, StatementEndpoint, Work } from "./endpoint.ts";
import { errorResponse } from "./error-response.ts";
import { withoutSecret } from "./idempotency.ts";
import { bodyOf } from "./kept-text.ts";
import { isOwnOrigin } from "./own-addresses.ts";
import { rateHeaders } from "./rate-headers.ts";
import {
  admissionOf,
  type InputReader,
  jsonReader,
  type ParsedRequest,
  parse,
  readCredential,
} from "./request.ts";

/** How requests are read and responses written: JSON for the API, forms and HTML for the pages. */
export type Presentation = {
  credential(c: Context): Credential | Promise<Credential>;
  input: InputReader;
  /** Charged in addition to the endpoint's own operation; the rule `page` replaces the caller's level. */
  operations: readonly RateLimitedOperation[];
  errorResponse(error: unknown, requestId: string, c: Context, endpoint: Endpoint): ApiResponse;
  respond(c: Context, requestId: string, response: ApiResponse, verdict?: Verdict, body?: BodyInit): Response;
};

export const asJson: Presentation = {
  credential: readCredential,
  input: jsonReader,
  operations: [],
  errorResponse: (error, requestId, c, endpoint) =>
    errorResponse(error, requestId, endpoint.lowercaseErrorsToKeys === true && showsKey(c)),
  respond,
};

/** Handles a request: authenticate, parse, admit and run, respond. */
export async function serve(
  c: Context,
  endpoint: Endpoint,
  presentation: Presentation = asJson,
): Promise<Response> {
  const startedAt = performance.now();
  const requestId = crypto.randomUUID();
  let verdict: Verdict | undefined;
  let caller: string | undefined;
  let response: ApiResponse;
  let bodyStream: ReadableStream | undefined;
  try {
    const credential = await presentation.credential(c);
    caller = credential.kind;
    const request = await parse(c, endpoint, credential, presentation.input);
    const admission = admissionOf(c, endpoint, requestId, credential, request.input);
    admission.operations.unshift(...presentation.operations);
    const onVerdict = (received: Verdict) => {
      verdict = received;
    };
    const execute: Execute = (batch) => run(admission, batch, onVerdict);
    const executeAs: ExecuteAs = (signedIn) => {
      const asked = admissionOf(c, endpoint, requestId, signedIn, request.input);
      return (batch) => run({ ...asked, isCharged: true }, batch, () => {});
    };
    if (request.problem) {
      await execute([]);
      throw request.problem;
    }
    response = endpoint.work
      ? await endpoint.work({ input: request.input as Work["input"], request: c.req.raw, execute, executeAs })
      : await runStatements(endpoint, request, admission, onVerdict);
    if ("bodyStream" in response) bodyStream = readableStream(response.bodyStream, admission);
    else if (response.afterResponse) runAfterResponse(response.afterResponse, admission);
  } catch (error) {
    response = presentation.errorResponse(error, requestId, c, endpoint);
  }
  log({ requestId, method: c.req.method, route: endpoint.path, caller, status: response.status, startedAt });
  return presentation.respond(c, requestId, response, verdict, bodyStream);
}

async function runStatements(
  endpoint: StatementEndpoint,
  { input, statements, idempotency }: ParsedRequest,
  admission: Admission,
  onVerdict: (verdict: Verdict) => void,
): Promise<ApiResponse> {
  if (endpoint.precheck) {
    await run(admission, [endpoint.precheck.authorize(input as never)], onVerdict);
    await endpoint.precheck.check(input as never);
    admission = { ...admission, isCharged: true };
  }
  const respondWith = (results: unknown) => endpoint.respond(results as never, input);
  if (!idempotency) return respondWith(await run(admission, statements, onVerdict));
  const answer = (results: unknown) => {
    const response = respondWith(results);
    const storedResponse = endpoint.showsSecret ? withoutSecret(response) : response;
    return { answer: JSON.stringify(response), stored: JSON.stringify(storedResponse) };
  };
  return JSON.parse(await runOnce(admission, statements, onVerdict, { ...idempotency, answer }));
}

/** Builds the HTTP response with the headers common to all responses. */
export function respond(
  c: Context,
  requestId: string,
  response: ApiResponse,
  verdict?: Verdict,
  bodyStream?: ReadableStream,
): Response {
  const origin = c.req.header("Origin");
  const allowed = verdict?.origin_allowed || (origin !== undefined && isOwnOrigin(origin, c.req.url));
  const body = "json" in response ? bodyOf(response) : bodyStream;
  return new Response(body, {
    status: response.status,
    headers: {
      "Content-Type": "application/json; charset=utf-8",
      "Cache-Control": "no-store",
      "X-Content-Type-Options": "nosniff",
      "X-Request-Id": requestId,
      ...rateHeaders(verdict),
      ...corsHeaders(origin, allowed),
      ...response.headers,
      Vary: response.headers?.Vary ? `Origin, ${response.headers.Vary}` : "Origin",
    },
  });
}

function showsKey(c: Context): boolean {
  const token = bearerToken(c.req.header("Authorization") ?? "");
  return token !== undefined && !isJwt(token) && !isSession(token) && !environment.publicKeys.has(token);
}
