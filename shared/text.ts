import { z } from "zod";

/** White space as Unicode has it, with U+FEFF: the characters private.trim_text takes off in Postgres. */
export const whiteSpace =
  " \t\n\u000B\f\r\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000\uFEFF";

const isWhiteSpace = new Set(whiteSpace);

// Not a pattern: one anchored at the end alone takes quadratic time on a long run of inner spaces.
export function trimText(value: string): string {
  let start = 0;
  let end = value.length;
  while (start < end && isWhiteSpace.has(value.charAt(start))) start++;
  while (end > start && isWhiteSpace.has(value.charAt(end - 1))) end--;
  return value.slice(start, end);
}

/** Characters as Postgres's char_length counts them: code points, so an emoji of two UTF-16 units is one. */
export function characterCount(value: string): number {
  let count = 0;
  for (const _ of value) count++;
  return count;
}

/** What Postgres cannot store as text, in words; undefined where it can. */
export function unstorable(value: string): string | undefined {
  if (value.includes("\0")) return "must not contain the NUL character (U+0000)";
  if (/\p{Surrogate}/u.test(value))
    return "must not contain half of a surrogate pair: send whole Unicode characters";
}

const deepest = 64;

/** The same of all names and texts in what was JSON, which may be nested 64 levels deep. */
export function unstorableWithin(value: unknown): string | undefined {
  let level = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > deepest) return `must not be nested deeper than ${deepest} levels`;
    for (const part of level) {
      const complaint = typeof part === "string" ? unstorable(part) : undefined;
      if (complaint) return complaint;
    }
    level = level.flatMap((part) =>
      typeof part === "object" && part !== null ? [...Object.keys(part), ...Object.values(part)] : [],
    );
  }
}

/** Text for people: trimmed, min to max code points, nothing Postgres could not store. */
export function text({ min, max }: { min: number; max: number }) {
  return z
    .string()
    .overwrite(trimText)
    .check((ctx) => {
      const complaint = unstorable(ctx.value) ?? wrongLength(ctx.value, min, max);
      if (complaint) ctx.issues.push({ code: "custom", message: complaint, input: ctx.value });
    })
    .meta({ ...(min > 0 && { minLength: min }), maxLength: max });
}

function wrongLength(value: string, min: number, max: number): string | undefined {
  const count = value.length > 2 * max ? max + 1 : characterCount(value);
  if (count >= min && count <= max) return;
  return min > 0 ? `must be ${min} to ${max} characters` : `must be at most ${max} characters`;
}
