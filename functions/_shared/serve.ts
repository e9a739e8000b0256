import type { Context } from "hono";
import { corsHeaders } from "./cors.ts";
import { bearerToken, isJwt } from "./credential.ts";
import { run, runOnce, type Verdict } from "./database.ts";
import type { Answer, Ask, Endpoint, Work } from "./endpoint.ts";
import { environment } from "./environment.ts";
import { doLater } from "./later.ts";
import { log } from "./log.ts";
import { rateHeaders } from "./rate-headers.ts";
import { refusal } from "./refusal.ts";
import { admissionOf, isOwnOrigin, parse, readCredential } from "./request.ts";
import { streamOf } from "./stream.ts";

/** One request, from credential to answer. */
export async function serve(c: Context, endpoint: Endpoint): Promise<Response> {
  const startedAt = performance.now();
  const requestId = crypto.randomUUID();
  let verdict: Verdict | undefined;
  let caller: string | undefined;
  let answer: Answer;
  let body: BodyInit | undefined;
  try {
    const credential = await readCredential(c);
    caller = credential.kind;
    const { input, statements, idempotency, problem } = await parse(c, endpoint, credential);
    const admission = admissionOf(c, endpoint, requestId, credential, input);
    const hear = (heard: Verdict) => {
      verdict = heard;
    };
    const answerOf = (results: unknown) => endpoint.respond(results as never, input);
    if (endpoint.vet && !problem) {
      await run(admission, [endpoint.vet.rights(input as never)], hear);
      await endpoint.vet.look(input as never);
    }
    if (endpoint.work && !problem) {
      const ask: Ask = (asked) => run(admission, asked, hear);
      answer = await endpoint.work({ input: input as Work["input"], request: c.req.raw, ask });
    } else if (idempotency && !problem) {
      const first = (results: unknown) => JSON.stringify(answerOf(results));
      answer = JSON.parse(await runOnce(admission, statements, hear, { ...idempotency, answer: first }));
    } else {
      const results = await run(admission, statements, hear);
      if (problem) throw problem;
      answer = answerOf(results);
    }
    if (answer.pieces) body = streamOf(answer.pieces, admission);
    if (answer.later) doLater(answer.later, admission);
  } catch (error) {
    answer = refusal(error, requestId, endpoint.lowercaseErrorsToKeys === true && showsKey(c));
  }
  log({ requestId, method: c.req.method, route: endpoint.path, caller, status: answer.status, startedAt });
  return respond(c, requestId, answer, verdict, body);
}

/** The answer as it goes out, with what every answer carries. */
export function respond(
  c: Context,
  requestId: string,
  answer: Answer,
  verdict?: Verdict,
  body: BodyInit = answer.json,
): Response {
  const origin = c.req.header("Origin");
  const allowed = verdict?.origin_allowed || (origin !== undefined && isOwnOrigin(origin, c.req.url));
  return new Response(body, {
    status: answer.status,
    headers: {
      "Content-Type": "application/json; charset=utf-8",
      "Cache-Control": "no-store",
      "X-Content-Type-Options": "nosniff",
      "X-Request-Id": requestId,
      ...rateHeaders(verdict),
      ...corsHeaders(origin, allowed),
      ...answer.headers,
      Vary: answer.headers?.Vary ? `Origin, ${answer.headers.Vary}` : "Origin",
    },
  });
}

function showsKey(c: Context): boolean {
  const token = bearerToken(c.req.header("Authorization") ?? "");
  return token !== undefined && !isJwt(token) && !environment.publicKeys.has(token);
}
