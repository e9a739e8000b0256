import { z } from "zod";
import { counted } from "./validation.ts";

/** Unicode white space with U+FEFF. */
export const whiteSpace =
  " \t\n\u000B\f\r\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000\uFEFF";

const isWhiteSpace = new Set(whiteSpace);
// Blanks of scripts and some marks of format are invisible too, though Unicode does not tell programs to ignore them.
// NUL counts as visible, because a text with it has an error of its own.
const visible =
  /[^\p{White_Space}\p{Cc}\p{Default_Ignorable_Code_Point}\u070F\u2800\uFFF9-\uFFFB\u{13430}-\u{13442}\u{16FE4}\u{1D159}]|\0/u;

/** Without white space at both ends; empty if no character is visible. The same as private.trim_text in Postgres. */
// Not a regular expression: one anchored only at the end takes quadratic time on long runs of inner spaces.
export function trimText(value: string): string {
  if (!visible.test(value)) return "";
  let start = 0;
  let end = value.length;
  while (start < end && isWhiteSpace.has(value.charAt(start))) start++;
  while (end > start && isWhiteSpace.has(value.charAt(end - 1))) end--;
  return value.slice(start, end);
}

/** Number of code points, as char_length in Postgres counts. */
export function characterCount(value: string): number {
  let count = 0;
  for (const _ of value) count++;
  return count;
}

/** Why Postgres cannot store a text; undefined if it can. */
export function unstorable(value: string): string | undefined {
  if (value.includes("\0")) return "must not contain the NUL character (U+0000)";
  if (/\p{Surrogate}/u.test(value))
    return "must not contain half of a surrogate pair; send complete Unicode characters";
}

const maxNesting = 64;

/** Checks all keys and texts of a JSON value of at most 64 levels. */
export function unstorableWithin(value: unknown): string | undefined {
  let level = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > maxNesting) return `must not be nested deeper than ${maxNesting} levels`;
    for (const part of level) {
      const complaint = typeof part === "string" ? unstorable(part) : undefined;
      if (complaint) return complaint;
    }
    level = level.flatMap((part) =>
      typeof part === "object" && part !== null ? [...Object.keys(part), ...Object.values(part)] : [],
    );
  }
}

/** Text: trimmed, min to max code points, storable in Postgres. */
export function text({ min, max }: { min: number; max: number }) {
  return z
    .string()
    .overwrite(trimText)
    .check((ctx) => {
      const complaint = unstorable(ctx.value) ?? wrongLength(ctx.value, min, max);
      const params = { rule: "length", min, max };
      if (complaint) ctx.issues.push({ code: "custom", message: complaint, params, input: ctx.value });
    })
    .meta({ ...(min > 0 && { minLength: min }), maxLength: max });
}

/** The bounds of a text schema, in code points. */
export function lengthOf(schema: z.ZodType): { min: number; max: number } {
  const { minLength = 0, maxLength = Number.POSITIVE_INFINITY } = schema.meta() ?? {};
  return { min: Number(minLength), max: Number(maxLength) };
}

function wrongLength(value: string, min: number, max: number): string | undefined {
  const count = value.length > 2 * max ? max + 1 : characterCount(value);
  if (count >= min && count <= max) return;
  return `must be ${min > 0 ? `${min} to` : "at most"} ${counted(max, "character")} long`;
}
