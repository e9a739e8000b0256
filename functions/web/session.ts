import { type CookieOptions, createServerClient } from "@supabase/ssr";
import type { Context } from "hono";
import { type Credential, credentialOf } from "../_shared/callers/credential.ts";
import {
  defaultSessionName,
  identifiedCookieName,
  identifiedToken,
  namesForApi,
  namesOfSession,
  sessionCookieName,
  sessionToken,
} from "../_shared/callers/session-cookie.ts";
import { ApiError } from "../_shared/http/api-error.ts";
import { hostCookie, isSecure, readCookies } from "../_shared/http/cookies.ts";
import { addressOf } from "../_shared/http/request.ts";
import { environment } from "../_shared/runtime/environment.ts";

/** A cookie to set with the response. */
export type NewCookie = { name: string; value: string; options: CookieOptions };

/** The visitor's credential, and the cookies to set with the response. */
export type Session = {
  credential: Credential;
  accessToken?: string;
  cookies: NewCookie[];
  /** A temporary error of auth while refreshing: the visitor is anonymous on this page and keeps the cookies. */
  temporaryError?: ApiError;
};

// Auth accepts a used refresh token again for this time, in case its response was lost.
const sharedRefreshMs = 10_000;

export const cookieOptions: CookieOptions = {
  path: "/",
  sameSite: "lax",
  // The pages need no script to read it.
  httpOnly: true,
  secure: isSecure,
};

/** The session of the cookies, refreshed if it has expired. Without a valid one the visitor is anonymous. */
export async function openSession(c: Context): Promise<Session> {
  const cookies: NewCookie[] = [];
  // Only below /embed, where the host page identifies the person.
  const inWidget = c.req.path.startsWith("/embed/") ? cookieOf(c, widgetCookieName) : undefined;
  if (inWidget !== undefined) return ofIdentified(c, inWidget);
  const token = ownSessionToken(c);
  if (token === undefined) return ofIdentified(c, identifiedToken(c.req.header("Cookie")));
  if (token === null) return ofTwoWriters();
  // Deletes session cookies with the default name, which the pages used before: the API ignores two sessions in one
  // request.
  if (isSecure) cookies.push(...sessionCookiesOf(c, defaultSessionName).map(([name]) => emptied(name)));
  try {
    let credential = await credentialOf(undefined, token);
    if (credential.kind === "user") return { credential, accessToken: token, cookies };
    const { session, error, set } = await refresh(c);
    if (!session && (!error || endsSession(error))) return { credential: { kind: "none" }, cookies: withoutAccount(c) };
    if (!session) throw temporaryErrorOf(error as AuthError);
    cookies.push(...set);
    credential = await credentialOf(undefined, session.access_token);
    // Auth issued a token that is not valid here: a key or an issuer is not configured. The visitor's session is not to
    // blame.
    if (credential.kind !== "user") throw notRenewed();
    return { credential, accessToken: session.access_token, cookies };
  } catch (error) {
    // The cookies stay for the next page.
    if (error instanceof ApiError) return { credential: { kind: "none" }, cookies, temporaryError: error };
    throw error;
  }
}

/** An anonymous visitor. Our cookie is not deleted, because then the other site's cookie would be the only one. */
const ofTwoWriters = (): Session => ({ credential: { kind: "none" }, cookies: [] });

/** The pages ignore a session whose cookie name another host could have set. */
const ownSessionToken = (c: Context) => sessionToken(c.req.header("Cookie"), [sessionCookieName]);

/** The session of an identified person. The session of an account takes precedence. */
async function ofIdentified(c: Context, token: string | null | undefined): Promise<Session> {
  if (token === null) return ofTwoWriters();
  const credential = await credentialOf(undefined, undefined, token);
  return credential.kind === "invalid"
    ? { credential: { kind: "none" }, cookies: forgotten(c) }
    : { credential, cookies: [] };
}

/** Codes of auth that mean the end of a session. Any other error is of auth, of its gateway or of a key. */
const endings = new Set([
  "refresh_token_not_found",
  "refresh_token_already_used",
  "session_not_found",
  "session_expired",
  "user_banned",
  "user_not_found",
  "bad_jwt",
  // The refresh token has a format that auth never issues.
  "validation_failed",
]);
const endsSession = ({ code = "", name }: AuthError) => endings.has(code) || name === "AuthSessionMissingError";

function temporaryErrorOf({ status, message }: AuthError): ApiError {
  if (status !== 429) return notRenewed();
  const retry_after = secondsToWait(message);
  return new ApiError("RATE_LIMIT_EXCEEDED", "Your session was renewed too often. Try again in a minute.", [], {
    retry_after,
  });
}

const notRenewed = () =>
  new ApiError("SERVICE_UNAVAILABLE", "Your session could not be renewed. Try again in a moment.");

/** Seconds to wait, from the message of a rate limit of auth. */
export const secondsToWait = (message: string) => Number(/(\d+) second/.exec(message)?.[1] ?? 60);

type AuthError = NonNullable<Awaited<ReturnType<ReturnType<typeof authOf>["getSession"]>>["error"]>;
type Refreshed = { session: { access_token: string } | null; error: AuthError | null; set: NewCookie[] };
const refreshing = new Map<string, Promise<Refreshed>>();

/** Pages that a browser asks for at once, such as two tabs, share one refresh: a token is for one use. */
function refresh(c: Context): Promise<Refreshed> {
  const held = JSON.stringify(sessionCookiesOf(c, sessionCookieName));
  let refreshed = refreshing.get(held);
  if (!refreshed) {
    refreshed = requestRefresh(c);
    refreshing.set(held, refreshed);
    const forget = () => refreshing.delete(held);
    refreshed.then(({ session }) => (session ? setTimeout(forget, sharedRefreshMs) : forget()), forget);
  }
  return refreshed;
}

async function requestRefresh(c: Context): Promise<Refreshed> {
  const set: NewCookie[] = [];
  const auth = authOf(c, set, fetchOnce);
  const given = ownSessionToken(c);
  let { data, error } = await auth.getSession();
  // It has not expired, and is not valid: its key was revoked.
  if (data.session?.access_token === given) ({ data, error } = await auth.refreshSession());
  return { session: data.session, error, set };
}

const maxRefreshMs = 5_000;
const maxAuthMs = 10_000;

/** A call of auth, which may hang. */
const fetchInTime: typeof fetch = (input, init) => fetch(input, { ...init, signal: AbortSignal.timeout(maxAuthMs) });

/**
 * The client repeats a failed refresh for half a minute. It does not repeat one with a status that it takes for a final
 * answer.
 */
const fetchOnce: typeof fetch = async (input, init) => {
  const answer = await fetch(input, { ...init, signal: AbortSignal.timeout(maxRefreshMs) }).catch(() => null);
  if (answer && answer.status < 500) return answer;
  await answer?.body?.cancel();
  return Response.json({ error_code: "auth_away", msg: "Auth did not answer." }, { status: 409 });
};

/**
 * Auth on behalf of the visitor; the cookies that it sets are added to the list. Auth asks a secret key for no CAPTCHA:
 * a call that the CAPTCHA protects has the publishable key where the project has one.
 */
export function authOf(c: Context, cookies: NewCookie[], fetchAuth: typeof fetch = fetchInTime, needsCaptcha = false) {
  const address = environment.authAddressHeader && addressOf(c);
  const [publishableKey = ""] = environment.publicKeys;
  // Once: the client asks for all cookies again for each part of a session.
  const given = [sessionCookieName, `${sessionCookieName}-code-verifier`]
    .flatMap((name) => sessionCookiesOf(c, name))
    .flatMap(([name, value]) => (value === null ? [] : [[name, value] as const]));
  const secretKey = needsCaptcha && environment.captcha ? undefined : environment.authApiKey;
  return createServerClient(environment.supabaseInternalUrl, secretKey ?? publishableKey, {
    cookieOptions: { ...cookieOptions, name: sessionCookieName },
    global: { fetch: fetchAuth, headers: address ? { [environment.authAddressHeader as string]: address } : {} },
    cookies: {
      // The user has metadata of any size.
      encode: "tokens-only",
      // Cookies of the response take precedence over those of the request.
      getAll: () =>
        [...new Map([...given, ...cookies.map(({ name, value }) => [name, value] as const)])].map(([name, value]) => ({
          name,
          value,
        })),
      setAll: (changed) => {
        cookies.push(...changed.map(({ name, value, options }) => ({ name, value, options })));
      },
    },
  }).auth;
}

export const widgetCookieName = hostCookie("feedback-widget");

/**
 * The session of the widget's frame, valid only on its host's site: docs/decisions/0265-session-cookie-of-the-widget.md.
 * Browsers take it on localhost without https too.
 */
export const widgetCookie = (value: string, maxAge: number): NewCookie => ({
  name: widgetCookieName,
  value,
  options: { path: "/", sameSite: "none", secure: true, httpOnly: true, partitioned: true, maxAge },
});

/** Cookies that end the sessions in this browser, of an account and of an identified person. */
export const forgotten = (c: Context): NewCookie[] => [
  ...(cookiesOf(c).has(widgetCookieName) ? [widgetCookie("", 0)] : []),
  ...withoutAccount(c),
  ...(cookiesOf(c).has(identifiedCookieName) ? [emptied(identifiedCookieName)] : []),
];

const withoutAccount = (c: Context) =>
  namesForApi.flatMap((named) => sessionCookiesOf(c, named).map(([name]) => emptied(name)));

const emptied = (name: string): NewCookie => ({ name, value: "", options: { ...cookieOptions, maxAge: 0 } });

function sessionCookiesOf(c: Context, named: string): [name: string, value: string | null][] {
  const cookies = cookiesOf(c);
  return namesOfSession(named).flatMap((name) => {
    const value = cookies.get(name);
    return value === undefined ? [] : [[name, value]];
  });
}

const cookiesOf = (c: Context) => readCookies(c.req.header("Cookie"));

/** A cookie of the request; undefined if two writers have set it. */
export const cookieOf = (c: Context, name: string) => cookiesOf(c).get(name) ?? undefined;
