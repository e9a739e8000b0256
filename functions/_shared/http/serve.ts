import type { Context } from "hono";
import { isSession } from "../../../shared/api-keys.ts";
import type { RateLimitedOperation } from "../../../shared/rate-limits.ts";
import { bearerToken, type Credential, isJwt } from "../callers/credential.ts";
import { type Admission, run, runOnce, type Verdict } from "../database/run.ts";
import { environment } from "../runtime/environment.ts";
import { log } from "../runtime/log.ts";
import { runAfterResponse } from "./after-response.ts";
import { readableStream } from "./body-stream.ts";
import { bodyOf, encoded, isRevealing } from "./compression.ts";
import { corsHeaders } from "./cors.ts";
import type { ApiResponse, Execute, ExecuteAs, Route, StatementHandler } from "./endpoint.ts";
import { errorResponse } from "./error-response.ts";
import { withoutSecret } from "./idempotency.ts";
import { isOwnOrigin } from "./own-addresses.ts";
import { rateHeaders } from "./rate-headers.ts";
import { admissionOf, type InputReader, jsonReader, type ParsedRequest, parse, readCredential } from "./request.ts";

/** How requests are read and responses written: JSON for the API, forms and HTML for the pages. */
export type Presentation = {
  credential(c: Context): Credential | Promise<Credential>;
  input: InputReader;
  /** Whether the request counts as one that names no organization. */
  namesNoOrganization?: boolean;
  /** Charged in addition to the endpoint's own operation; the rule `page` replaces the caller's level. */
  operations: readonly RateLimitedOperation[];
  /** What is served in the same request in place of an error or of a response, if anything. */
  insteadOf?(error: unknown): Pass | undefined;
  after?(response: ApiResponse): Pass | undefined;
  errorResponse(error: unknown, requestId: string, c: Context, route: Route): ApiResponse;
  respond(c: Context, requestId: string, response: ApiResponse, verdict?: Verdict, body?: BodyInit): Response;
};

/** Most requests are answered in one pass, some pages in two. */
export type Pass = { route: Route; presentation: Presentation };

export const asJson: Presentation = {
  credential: readCredential,
  input: jsonReader,
  operations: [],
  errorResponse: (error, requestId, c, endpoint) =>
    errorResponse(error, requestId, endpoint.lowercaseErrorsToKeys === true && showsKey(c)),
  respond,
};

/** Handles a request: authenticate, parse, admit and run, respond. */
export async function serve(c: Context, endpoint: Route, presentation: Presentation = asJson): Promise<Response> {
  const startedAt = performance.now();
  const requestId = crypto.randomUUID();
  let verdict: Verdict | undefined;
  let caller: string | undefined;
  let bodyStream: ReadableStream | undefined;

  const attempt = async ({ route, presentation }: Pass): Promise<ApiResponse> => {
    const credential = await presentation.credential(c);
    caller ??= credential.kind;
    const request = await parse(c, route, credential, presentation.input);
    const admission = admissionOf(c, route, requestId, credential, request.input);
    admission.operations.unshift(...presentation.operations);
    if (presentation.namesNoOrganization) admission.organization = null;
    admission.isCharged = verdict !== undefined;
    // The next pass is charged, if it is another attempt at the same.
    admission.isTriedAgain = (error) => presentation.insteadOf?.(error)?.route.method === route.method;
    const onVerdict = (received: Verdict) => {
      verdict = received;
    };
    const execute: Execute = (batch) => run(admission, batch, onVerdict);
    const executeAs: ExecuteAs = (signedIn) => {
      const asked = admissionOf(c, route, requestId, signedIn, request.input);
      return (batch) => run({ ...asked, isCharged: true }, batch, () => {});
    };
    if (request.problem) {
      await execute([]);
      throw request.problem;
    }
    const response = route.work
      ? await route.work({ input: request.input, request: c.req.raw, execute, executeAs } as never)
      : await runStatements(route, request, admission, onVerdict);
    if ("bodyStream" in response) bodyStream = readableStream(response.bodyStream, admission);
    else if (response.afterResponse) runAfterResponse(response.afterResponse, admission);
    return response;
  };

  const answer = async (pass: Pass): Promise<Response> => {
    const { route, presentation } = pass;
    let response: ApiResponse;
    let next: Pass | undefined;
    try {
      response = await attempt(pass);
      next = presentation.after?.(response);
    } catch (error) {
      next = presentation.insteadOf?.(error);
      if (next) return answer(next);
      response = presentation.errorResponse(error, requestId, c, route);
    }
    if (next) return answer(next);
    log({ requestId, method: c.req.method, route: endpoint.path, caller, status: response.status, startedAt });
    const sent = encoded(c.req.raw, response, isRevealing(c.req.raw, route));
    return presentation.respond(c, requestId, sent, verdict, bodyStream);
  };
  return answer({ route: endpoint, presentation });
}

async function runStatements(
  endpoint: StatementHandler & Pick<Route, "showsSecret">,
  { input, statements, idempotency }: ParsedRequest,
  admission: Admission,
  onVerdict: (verdict: Verdict) => void,
): Promise<ApiResponse> {
  if (endpoint.precheck) {
    await run(admission, [endpoint.precheck.authorize(input as never)], onVerdict);
    await endpoint.precheck.check(input as never);
    admission = { ...admission, isCharged: true };
  }
  const respondWith = (results: unknown) => endpoint.respond(results as never, input as never);
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
