import { environment } from "../runtime/environment.ts";

/** Whether the pages are at an https address, so that their cookies are `Secure`. */
export const isSecure = environment.siteUrl.startsWith("https:");

/**
 * The name of a cookie of ours. Browsers accept a name with `__Host-` only from this host itself; other names can be
 * set by every host below the same domain.
 */
export const hostCookie = (name: string) => (isSecure ? `__Host-${name}` : name);

/**
 * The cookies of a request. A name that occurs twice has the value null, because two sites have set it and one may be
 * hostile.
 */
export function readCookies(header = ""): Map<string, string | null> {
  const cookies = new Map<string, string | null>();
  for (const pair of header.split(";")) {
    const at = pair.indexOf("=");
    const name = trimmed(pair.slice(0, at));
    if (at >= 0) cookies.set(name, cookies.has(name) ? null : decoded(trimmed(pair.slice(at + 1))));
  }
  return cookies;
}

/**
 * Trims only what HTTP calls white space: browsers do not recognize `__Host-` behind other white space, such as U+00A0.
 */
function trimmed(text: string): string {
  let [start, end] = [0, text.length];
  while (isSpace(text[start])) start++;
  while (end > start && isSpace(text[end - 1])) end--;
  return text.slice(start, end);
}

const isSpace = (character: string | undefined) => character === " " || character === "\t";

function decoded(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}
