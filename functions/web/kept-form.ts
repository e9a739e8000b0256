import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { deflateRawSync, inflateRawSync } from "node:zlib";
import type { Context } from "hono";
import { hostCookie, isSecure } from "../_shared/http/cookies.ts";
import { parseForm } from "../_shared/http/form.ts";
import { cookieOf, type Session } from "./session.ts";

// Browsers keep 4096 bytes a cookie, and servers take some 16 KB of headers.
const maxLength = 3800;
const maxParts = 3;
const keptSeconds = 30 * 60;
// A short cookie may unpack to anything. The longest text of a form is 5,000 characters.
const maxUnpacked = 128 * 1024;
const name = (part: number) => `form.${part}`;
const digest = (text: string) => createHash("sha256").update(text).digest("base64url");
/** The name of the cookie with the digest of a page's parts: those have a path, so that any host of the domain can set them. */
const seal = (path: string) => hostCookie(`form-${digest(path).slice(0, 8)}`);

const options = (path: string, maxAge: number) =>
  ({
    path,
    sameSite: "lax",
    httpOnly: true,
    secure: isSecure,
    maxAge,
  }) as const;

/**
 * Stores the input of a form during a sign-in, in cookies with the path of the form's page. Stores only the fields that
 * the page names; the draft island stores longer text.
 */
export function keepForm(
  { cookies }: Session,
  path: string,
  form: URLSearchParams,
  fields: readonly string[] = [],
) {
  const kept = [...form].filter(([field, text]) => fields.includes(field) && text !== "");
  if (kept.length === 0 || !isCookiePath(path)) return;
  const text = deflateRawSync(new URLSearchParams(kept).toString()).toString("base64url");
  if (text.length > maxLength * maxParts) return;
  cookies.push({ name: seal(path), value: digest(text), options: options("/", keptSeconds) });
  for (let part = 0; part * maxLength < text.length; part++)
    cookies.push({
      name: name(part),
      value: text.slice(part * maxLength, (part + 1) * maxLength),
      options: options(path, keptSeconds),
    });
}

/** The stored input of this page's form. */
export function keptForm(c: Context): URLSearchParams | undefined {
  const parts = Array.from({ length: maxParts }, (_, part) => cookieOf(c, name(part)) ?? "");
  const text = parts.join("");
  if (text === "" || cookieOf(c, seal(new URL(c.req.url).pathname)) !== digest(text)) return undefined;
  try {
    const packed = Buffer.from(text, "base64url");
    return parseForm(inflateRawSync(packed, { maxOutputLength: maxUnpacked }).toString());
  } catch {
    return undefined;
  }
}

/** Deletes the stored input, after the page has shown it again. */
export function forgetForm({ cookies }: Session, path: string) {
  if (!isCookiePath(path)) return;
  cookies.push({ name: seal(path), value: "", options: options("/", 0) });
  for (let part = 0; part < maxParts; part++)
    cookies.push({ name: name(part), value: "", options: options(path, 0) });
}

/** Whether a path is valid in a cookie's Path attribute: a semicolon would start another attribute. */
const isCookiePath = (path: string) => /^\/[^;\s]*$/.test(path);
