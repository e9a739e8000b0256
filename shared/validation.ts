import { z } from "zod";
import type { ErrorDetail } from "./errors.ts";

const mostDetails = 50;
const longestField = 200;

const typeNames: Record<string, string> = {
  string: "text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "an array",
  object: "an object",
  record: "an object",
};

// Every schema file comes through here, so every schema speaks this way; a schema's own message goes first.
z.config({ customError: explain });

/** What to do, said without the value that was sent. */
function explain(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case "invalid_type":
      return issue.input === undefined
        ? "is required"
        : `must be ${typeNames[issue.expected] ?? issue.expected}`;
    case "invalid_value":
      if (issue.input === undefined) return "is required";
      return issue.values.length === 1
        ? `must be ${String(issue.values[0])}`
        : `must be one of ${issue.values.join(", ")}`;
    case "too_small":
      return `must ${bound(issue.origin, "at least", Number(issue.minimum))}`;
    case "too_big":
      return `must ${bound(issue.origin, "at most", Number(issue.maximum))}`;
    case "invalid_union":
      return issue.input === undefined ? "is required" : "has none of the accepted shapes";
    case "unrecognized_keys":
      return "has fields that are not known";
    default:
      return undefined;
  }
}

function bound(origin: string, direction: string, limit: number): string {
  if (origin === "string") return `be ${direction} ${limit} characters`;
  if (origin === "array" || origin === "set") return `have ${direction} ${limit} items`;
  return `be ${direction} ${limit}`;
}

/** One entry for every field that was refused, with its first complaint; at most 50. */
export function validationDetails(error: z.ZodError): ErrorDetail[] {
  const messages = new Map<string, string>();
  for (const { path, message } of error.issues) {
    const field = fieldName(path);
    if (!messages.has(field)) messages.set(field, message);
    if (messages.size === mostDetails) break;
  }
  return [...messages].map(([field, message]) => ({ field, message }));
}

function fieldName(path: PropertyKey[]): string {
  if (path.length === 0) return "body";
  const name = path.map((part) => String(part).slice(0, longestField)).join(".");
  // A cut may have split a pair; the answer must stay valid UTF-8.
  return name.slice(0, longestField).replace(/\p{Surrogate}/gu, "\uFFFD");
}
