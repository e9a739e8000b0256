import { setTimeout as sleep } from "node:timers/promises";
import { decodeJwt, jwtVerify } from "jose";
import { networkOf } from "../../shared/network-address.ts";
import { messageOf } from "../processes/start-error.ts";
import { type Body, type Call, callOf, typeOf } from "./calls.ts";
import { goTrueError } from "./errors.ts";
import { createHashingQueue } from "./hashing-queue.ts";
import type { Charge, Limits, Subject } from "./limits.ts";
import { clientHeader } from "./mail-hook.ts";
import { codeHashOf, type TokenSecrets } from "./token-secrets.ts";

export interface AuthGuardOptions {
  limits: Limits;
  secrets: TokenSecrets;
  jwtSecret: string;
  publishableKey: string;
  /** Whether sign-up requires a confirmed address; its response is then the same with and without an account. */
  confirmsAddresses: boolean;
  onWarning(message: string): void;
}

/** Passes a request of /auth/v1 to lite or rejects it. */
export type AuthGuard = (
  request: Request,
  clientAddress: string,
  next: (request: Request) => Promise<Response>,
) => Promise<Response>;

const maxBodyBytes = 64 * 1024;
/** Longer than lite takes to mail or verify a code, so that the response time does not reveal which. */
const minDurationMs = 250;
/** Columns that store the code of a verification type. */
const codeKinds = new Map([
  ["signup", ["confirmation_token"]],
  ["magiclink", ["recovery_token", "confirmation_token"]],
  ["recovery", ["recovery_token"]],
  ["email_change", ["email_change_token_current", "email_change_token_new"]],
  ["reauthentication", ["reauthentication_token"]],
]);

const wrongCode = () => goTrueError(403, "otp_expired", "Token has expired or is invalid");
const busy = () => goTrueError(503, "request_timeout", "Too many sign-ins are in progress: try again.", 1);

export function createAuthGuard(options: AuthGuardOptions): AuthGuard {
  const { limits, secrets, publishableKey } = options;
  const queue = createHashingQueue({ running: 2, waiting: 64, waitingEach: 16, patience: 10_000 });
  const userKey = new TextEncoder().encode(options.jwtSecret);

  const accountOf = async (call: Call, body: Body, request: Request): Promise<string | null> => {
    if (body.email && call.limit !== "change") return limits.accountOf(body.email);
    if (call.limit === "refresh" && body.refresh_token)
      return limits.ownerOfRefreshToken(secrets.encryptRefreshToken(body.refresh_token));
    const token = /^Bearer (.*)$/.exec(request.headers.get("authorization") ?? "")?.[1];
    if (!token || (call.limit !== "change" && call.limit !== "mail")) return null;
    // lite rejects an invalid token.
    const verified = await jwtVerify(token, userKey, { algorithms: ["HS256"] }).catch(() => undefined);
    return verified?.payload.sub ?? null;
  };

  /** Compares the code here, where attempts are counted; lite then finds it by its hash. Returns what refuses it. */
  const tryCode = async (call: Call, body: Body, subject: Subject): Promise<Response | undefined> => {
    const { email, token, token_hash, type } = body;
    const kinds = codeKinds.get(type ?? "");
    // lite rejects a request without a code, and other types.
    if (token_hash || !email || !token || !kinds) return undefined;
    const charge = await limits.take("code", subject);
    if (!charge.allowed) return tooMany(call, charge);
    const stored = secrets.storedCode(codeHashOf(email, token));
    if (!(await limits.tryCode(email.toLowerCase(), kinds, stored))) return wrongCode();
    await limits.settle("code", subject, charge, "succeeded");
    return undefined;
  };

  return async (request, clientAddress, next) => {
    const url = new URL(request.url);
    const call = callOf(request.method, url);
    if (call === undefined) return goTrueError(404, "not_found", "The route does not exist.");
    const body = call.body === undefined ? {} : await readBody(request, call.body);
    if (body instanceof Response) return body;
    const address = limits.hash("address", networkOf(clientAddress));
    const canonical = requestFor(request, url, call, body, { publishableKey, client: address });

    const refused = call.refuse?.(body);
    if (refused) return refused;

    const subject: Subject = { address, account: null };
    const attempt = async () => {
      const refusal = await tryCode(call, body, subject);
      if (refusal) return refusal;
      const answer = await next(canonical);
      const isLate = body.email && body.token && answer.headers.get("x-sb-error-code") === "otp_expired";
      return isLate ? wrongCode() : answer;
    };
    const hashes = call.hashesPassword?.(body) === true;
    const run = () => (hashes ? queue.run(address, attempt) : attempt());
    try {
      if (call.limit === undefined) return answerOf(await run());
      subject.account = await accountOf(call, body, request);
      if (call.limit === "change" && body.app_metadata && subject.account)
        return goTrueError(403, "not_admin", "Updating app_metadata requires admin privileges");
      const charge = await limits.take(call.limit, subject);
      if (!charge.allowed) return tooMany(call, charge);
      const hides = call.hidesAccountExistence || (options.confirmsAddresses && call.limit === "sign_up");
      const answer = hides ? await withMinDuration(call, run) : await run();
      const outcome = outcomeOf(answer);
      if (outcome === "succeeded" && call.limit === "verify" && subject.account === null && answer !== "full")
        subject.account = await accountSignedIn(answer, limits);
      if (outcome) await limits.settle(call.limit, subject, charge, outcome);
      return answerOf(answer);
    } catch (error) {
      options.onWarning(`auth: ${messageOf(error)}`);
      return goTrueError(503, "request_timeout", "The service is not available; try again shortly.", 1);
    }
  };
}

const answerOf = (answer: Response | "full") => (answer === "full" ? busy() : answer);

/** Failures stay charged, except internal errors. */
function outcomeOf(answer: Response | "full"): "succeeded" | "not_made" | undefined {
  if (answer === "full" || answer.status >= 500) return "not_made";
  const failed = /[?#&]error=/.test(answer.headers.get("location") ?? "");
  return answer.status < 400 && !failed ? "succeeded" : undefined;
}

/** A link identifies no account before it is opened; afterwards its client address is known for the account. */
async function accountSignedIn(answer: Response, limits: Limits): Promise<string | null> {
  const fragment = answer.headers.get("location")?.split("#")[1];
  const session =
    fragment === undefined
      ? ((await answer
          .clone()
          .json()
          .catch(() => ({}))) as Record<string, unknown>)
      : Object.fromEntries(new URLSearchParams(fragment));
  const { access_token: token } = session;
  const { email } = typeof token === "string" ? decodeJwt(token) : {};
  return typeof email === "string" && email !== "" ? limits.accountOf(email) : null;
}

function tooMany(call: Call, { retry_after }: Charge): Response {
  const code = call.limit === "mail" ? "over_email_send_rate_limit" : "over_request_rate_limit";
  const seconds = retry_after ?? 1;
  return goTrueError(429, code, `Too many attempts. Try again in ${seconds} seconds.`, seconds);
}

/** The same response after the same time, whether the account exists or not. */
async function withMinDuration(call: Call, run: () => Promise<Response | "full">): Promise<Response | "full"> {
  const [answer] = await Promise.all([run(), sleep(minDurationMs)]);
  if (answer === "full") return answer;
  // These errors of lite reveal whether an account exists.
  const revealsAccount = call.limit === "mail" && (answer.status === 422 || answer.status === 429);
  return revealsAccount ? Response.json({}, { status: 200 }) : answer;
}

async function readBody(request: Request, schema: NonNullable<Call["body"]>): Promise<Body | Response> {
  const text = await request.text();
  if (Buffer.byteLength(text) > maxBodyBytes)
    return goTrueError(413, "validation_failed", "The body must be at most 64 KB.");
  let value: unknown;
  try {
    value = text === "" ? {} : JSON.parse(text);
  } catch {
    return goTrueError(400, "bad_json", "Could not parse request body as JSON");
  }
  const parsed = schema.safeParse(value);
  if (!parsed.success) {
    const message = parsed.error.issues[0]?.message ?? "";
    return goTrueError(
      400,
      "validation_failed",
      message.startsWith("Invalid input") ? "The body must be an object." : message,
    );
  }
  return Object.fromEntries(Object.entries(parsed.data).filter(([, field]) => field !== null));
}

/** A request built from the parsed fields, so that lite reads the same values. */
function requestFor(
  request: Request,
  from: URL,
  call: Call,
  body: Body,
  { publishableKey, client }: { publishableKey: string; client: string },
): Request {
  const url = new URL(from.pathname, from);
  url.search = "";
  for (const name of call.query ?? []) {
    const value = from.searchParams.get(name);
    if (value !== null) url.searchParams.set(name, name === "type" ? typeOf(value) : value);
  }
  const headers = new Headers(request.headers);
  headers.delete("content-length");
  headers.set(clientHeader, client);
  const apiKey = headers.get("apikey") ?? from.searchParams.get("apikey");
  // A mail link is opened by a browser without the API key.
  const key = apiKey ?? (request.method === "GET" && from.pathname === "/auth/v1/verify" ? publishableKey : null);
  if (key !== null) headers.set("apikey", key);
  if (call.body === undefined) return new Request(url, { method: request.method, headers });
  headers.set("content-type", "application/json");
  return new Request(url, { method: request.method, headers, body: JSON.stringify(body) });
}
