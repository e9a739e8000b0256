import { decodeText } from "./base64url.ts";
import { environment } from "./environment.ts";

/** Name of the session cookie of @supabase/ssr, derived from the project like in supabase-js. */
export const sessionCookieName = `sb-${new URL(environment.supabaseUrl).hostname.split(".")[0]}-auth-token`;
const maxSessionLength = 32_000;

/**
 * The access token in the session cookie: whole or in chunks, JSON or base64url. Undefined without a cookie, "" if it
 * cannot be parsed.
 */
export function sessionToken(cookies: string | undefined): string | undefined {
  if (!cookies?.includes(sessionCookieName)) return undefined;
  const value = joinChunks(cookies);
  if (value === undefined) return undefined;
  try {
    const text = value.startsWith("base64-") ? decodeText(value.slice("base64-".length)) : value;
    const session: unknown = JSON.parse(text);
    const token = Array.isArray(session)
      ? session[0]
      : (session as { access_token?: unknown } | null)?.access_token;
    return typeof token === "string" ? token : "";
  } catch {
    return "";
  }
}

/** Cookie with the session of an identified person. */
export const identifiedCookieName = "feedback-session";

/** The session of an identified person in the cookies; undefined without one. */
export function identifiedToken(cookies: string | undefined): string | undefined {
  if (!cookies?.includes(identifiedCookieName)) return undefined;
  for (const pair of cookies.split(";")) {
    const at = pair.indexOf("=");
    if (at > 0 && pair.slice(0, at).trim() === identifiedCookieName) return pair.slice(at + 1).trim();
  }
}

function joinChunks(cookies: string): string | undefined {
  const values = new Map<string, string>();
  for (const pair of cookies.split(";")) {
    const at = pair.indexOf("=");
    const name = pair.slice(0, at).trim();
    if (at > 0 && name.startsWith(sessionCookieName)) values.set(name, decode(pair.slice(at + 1).trim()));
  }
  const value = values.get(sessionCookieName);
  if (value !== undefined) return value;
  let joined: string | undefined;
  for (let index = 0; ; index++) {
    const chunk = values.get(`${sessionCookieName}.${index}`);
    if (chunk === undefined || (joined?.length ?? 0) > maxSessionLength) return joined;
    joined = (joined ?? "") + chunk;
  }
}

function decode(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}
