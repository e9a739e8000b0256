import { z } from "zod";

export const errorDetail = z
  .object({
    field: z.string().describe("Path of the field, dotted: `answers.0.value`; `body` for the whole body."),
    message: z.string().describe("How to fix it, such as `must be 5 to 200 characters long`."),
  })
  .meta({ id: "ErrorDetail", description: "An invalid field and how to fix it." });

export type ErrorDetail = z.infer<typeof errorDetail>;

const maxDetails = 50;
const maxFieldLength = 200;

const typeNames: Record<string, string> = {
  string: "a string",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "an array",
  object: "an object",
  record: "an object",
};

// Every schema file imports this module, so all schemas use these messages; a schema's own message takes precedence.
z.config({ customError: explain });

/** How to fix the value, without quoting it. */
function explain(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case "invalid_type":
      return issue.input === undefined ? "is required" : `must be ${typeNames[issue.expected] ?? issue.expected}`;
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
      return issue.input === undefined
        ? "is required"
        : "has an unknown form; see the API reference for the accepted ones";
    case "unrecognized_keys":
      return `has unknown fields: ${issue.keys
        .slice(0, 10)
        .map((key) => fieldName([key]))
        .join(", ")}`;
    default:
      return undefined;
  }
}

function bound(origin: string, direction: string, limit: number): string {
  if (origin === "string") return `be ${direction} ${counted(limit, "character")} long`;
  if (origin === "array" || origin === "set") return `have ${direction} ${counted(limit, "item")}`;
  return `be ${direction} ${inDigits(limit)}`;
}

/** A number in a message, with commas: 5,000. */
export const inDigits = (value: number) => value.toLocaleString("en");

/** A number of things in a message: 1 item, 5,000 items. */
export const counted = (value: number, one: string) => `${inDigits(value)} ${value === 1 ? one : `${one}s`}`;

/** One entry for each invalid field with its first error; at most 50. */
export function validationDetails(
  { issues }: { issues: readonly z.core.$ZodIssue[] },
  messageOf = ({ message }: z.core.$ZodIssue) => message,
): ErrorDetail[] {
  const messages = new Map<string, string>();
  for (const issue of issues) {
    const field = fieldName(issue.path);
    if (!messages.has(field)) messages.set(field, messageOf(issue));
    if (messages.size === maxDetails) break;
  }
  return [...messages].map(([field, message]) => ({ field, message }));
}

function fieldName(path: PropertyKey[]): string {
  if (path.length === 0) return "body";
  const name = path.map((part) => String(part).slice(0, maxFieldLength)).join(".");
  // Truncation may split a surrogate pair; the response must be valid UTF-8.
  return name.slice(0, maxFieldLength).replace(/\p{Surrogate}/gu, "\uFFFD");
}
