import type { Context } from "hono";
import { corsHeaders } from "./cors.ts";
import { bearerToken, isJwt } from "./credential.ts";
import { run, runOnce, type Verdict } from "./database.ts";
import type { Answer, Endpoint } from "./endpoint.ts";
import { environment } from "./environment.ts";
import { log } from "./log.ts";
import { rateHeaders } from "./rate-headers.ts";
import { refusal } from "./refusal.ts";
import { admissionOf, isOwnOrigin, parse, readCredential } from "./request.ts";

/** One request, from credential to answer. */
export async function serve(c: Context, endpoint: Endpoint): Promise<Response> {
  const startedAt = performance.now();
  const requestId = crypto.randomUUID();
  const origin = c.req.header("Origin");
  let verdict: Verdict | undefined;
  let caller: string | undefined;
  let answer: Answer;
  try {
    const credential = await readCredential(c);
    caller = credential.kind;
    const { input, statements, idempotency, problem } = await parse(c, endpoint, credential);
    const admission = admissionOf(c, endpoint, requestId, credential, input);
    const hear = (heard: Verdict) => {
      verdict = heard;
    };
    const respond = (results: unknown) => endpoint.respond(results as never, input);
    if (idempotency && !problem) {
      const first = (results: unknown) => JSON.stringify(respond(results));
      answer = JSON.parse(await runOnce(admission, statements, hear, { ...idempotency, answer: first }));
    } else {
      const results = await run(admission, statements, hear);
      if (problem) throw problem;
      answer = respond(results);
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

function showsKey(c: Context): boolean {
  const token = bearerToken(c.req.header("Authorization") ?? "");
  return token !== undefined && !isJwt(token) && !environment.publicKeys.has(token);
}
