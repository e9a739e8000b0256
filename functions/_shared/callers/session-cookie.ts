import { decodeText } from "../http/base64url.ts";
import { hostCookie, isSecure, readCookies } from "../http/cookies.ts";
import { environment } from "../runtime/environment.ts";

/** The name that @supabase/ssr gives the session of an account by default, from the project like supabase-js. */
export const defaultSessionName = `sb-${new URL(environment.supabaseUrl).hostname.split(".")[0]}-auth-token`;
/** Name of the pages' cookie with the session of an account. */
export const sessionCookieName = hostCookie(defaultSessionName);
/** Cookie with the session of an identified person. */
export const identifiedCookieName = hostCookie("feedback-session");
/** An application on the host of the API may write the default name: docs/decisions/0309-cookies-and-hosts.md. */
export const namesForApi = [...new Set([sessionCookieName, defaultSessionName])];
/** The headers of a request have room for no more. */
const maxChunks = 20;

/** The names of the cookies with a session: whole, and in chunks. */
export const namesOfSession = (name: string): string[] => [
  name,
  ...Array.from({ length: maxChunks }, (_, index) => `${name}.${index}`),
];

/**
 * The access token in the session cookie: whole or in chunks, JSON or base64url. Undefined without a cookie, "" if it
 * cannot be parsed, null if more than one writer has set it.
 */
export function sessionToken(
  header: string | undefined,
  names: readonly string[] = namesForApi,
): string | null | undefined {
  if (!header?.includes(defaultSessionName)) return undefined;
  const cookies = readCookies(header);
  const found = names.map((name) => joinChunks(cookies, name)).filter((value) => value !== undefined);
  const [value] = found;
  if (value === undefined) return undefined;
  if (value === null || found.length > 1) return null;
  // Another host may have added the plain name to the session of an identified person.
  if (isSecure && joinChunks(cookies, sessionCookieName) === undefined && cookies.has(identifiedCookieName))
    return null;
  try {
    const text = value.startsWith("base64-") ? decodeText(value.slice("base64-".length)) : value;
    const session: unknown = JSON.parse(text);
    const token = Array.isArray(session) ? session[0] : (session as { access_token?: unknown } | null)?.access_token;
    return typeof token === "string" ? token : "";
  } catch {
    return "";
  }
}

/** The session of an identified person in the cookies; undefined without one, null if two writers have set it. */
export function identifiedToken(header: string | undefined): string | null | undefined {
  return header?.includes(identifiedCookieName) ? readCookies(header).get(identifiedCookieName) : undefined;
}

/** Undefined without the cookie, null if two writers have set it: a session is either whole or in chunks. */
function joinChunks(cookies: Map<string, string | null>, name: string): string | null | undefined {
  const [whole, ...chunks] = namesOfSession(name).map((part) => cookies.get(part));
  let joined: string | null | undefined;
  for (const chunk of chunks) {
    if (chunk === undefined) break;
    joined = joined === null || chunk === null ? null : (joined ?? "") + chunk;
  }
  return whole === undefined ? joined : joined === undefined ? whole : null;
}
