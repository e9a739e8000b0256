import { decodeText } from "./base64url.ts";
import { environment } from "./environment.ts";

/** The cookie @supabase/ssr keeps a session in, named after the project as supabase-js does. */
const cookieName = `sb-${new URL(environment.supabaseUrl).hostname.split(".")[0]}-auth-token`;
const largestSession = 32_000;

/** The access token in the session cookie: whole or in chunks, JSON or base64url of it. Undefined without one, "" for one that cannot be read. */
export function sessionToken(cookies: string | undefined): string | undefined {
  if (!cookies?.includes(cookieName)) return undefined;
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

function joinChunks(cookies: string): string | undefined {
  const values = new Map<string, string>();
  for (const pair of cookies.split(";")) {
    const at = pair.indexOf("=");
    const name = pair.slice(0, at).trim();
    if (at > 0 && name.startsWith(cookieName)) values.set(name, decode(pair.slice(at + 1).trim()));
  }
  const whole = values.get(cookieName);
  if (whole !== undefined) return whole;
  let joined: string | undefined;
  for (let index = 0; ; index++) {
    const chunk = values.get(`${cookieName}.${index}`);
    if (chunk === undefined || (joined?.length ?? 0) > largestSession) return joined;
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
