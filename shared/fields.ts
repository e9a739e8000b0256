import { z } from "zod";
import { text, trimText } from "./text.ts";
import { counted, inDigits } from "./validation.ts";

/** Whether Postgres accepts the text as a UUID, of any version. */
export function isUuid(value: unknown): value is string {
  return typeof value === "string" && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(value);
}

/** Any UUID that Postgres accepts. In a path a malformed one is a 404 by the route. */
export const uuid = z.guid({ error: ({ input }) => (input === undefined ? "is required" : "must be a UUID") });

export const slug = z
  .string()
  .regex(/^[a-z0-9-]{1,64}$/, "must have 1 to 64 lowercase letters and digits, with single hyphens between them")
  .describe("Lowercase letters, digits and hyphens.");

/** Input only: a slug as private.is_slug accepts it, for a new or renamed row. */
export const newSlug = z
  .string()
  .regex(/^[a-z0-9]+(-[a-z0-9]+)*$/, "must have 1 to 64 lowercase letters and digits, with single hyphens between them")
  .max(64)
  .refine((value) => !isUuid(value), "must not be a UUID")
  .describe("Lowercase letters and digits, in words joined by single hyphens; at most 64 characters, and no UUID.");

/** Input only: a day within the years that Postgres and every client can represent. */
export const calendarDay = z.iso
  .date("must be a date such as 2027-01-31")
  .refine((value) => value >= "1000", "must be between the years 1000 and 9999");

// Postgres takes offsets of less than 16 hours.
export const isoTime =
  /^([1-9]\d{3}-\d\d-\d\d)T((?:[01]\d|2[0-3]):[0-5]\d)(:[0-5]\d(?:\.\d{1,9})?)?(?:Z|([+-](?:0\d|1[0-5]))(?::?([0-5]\d))?)$/;

/**
 * An ISO 8601 time with an offset as RFC 3339, Postgres and Date.parse read it: with seconds, and with minutes in the
 * offset. Undefined if the text is none.
 */
function timeOf(value: string): string | undefined {
  const [, date, minute, second = ":00", hours, minutes = "00"] = isoTime.exec(value) ?? [];
  if (!calendarDay.safeParse(date).success) return undefined;
  return `${date}T${minute}${second}${hours ? `${hours}:${minutes}` : "Z"}`;
}

const notATime = "must be an ISO 8601 time with an offset, such as 2027-01-31T00:00:00Z";

/** Input only. */
export const moment = z
  .string(notATime)
  .overwrite((value) => timeOf(value) ?? value)
  .refine((value) => timeOf(value) !== undefined, notATime)
  .meta({ format: "date-time" });

/** In a query: a day, or a time, in which a plus that was not percent-encoded has become a space. */
export const dayOrMoment = z
  .string()
  .overwrite((value) => timeOf(value.replace(/ (?=\d\d(:?\d\d)?$)/, "+")) ?? value)
  .refine(
    (value) => calendarDay.safeParse(value).success || timeOf(value) !== undefined,
    "must be an ISO 8601 date or time with an offset, such as 2027-01-31 or 2027-01-31T12:00:00Z",
  )
  .meta({
    anyOf: [
      { type: "string", format: "date", pattern: "^[1-9]" },
      { type: "string", format: "date-time", pattern: isoTime.source },
    ],
  });

/** Output only: as Postgres writes it, in UTC with an offset. */
export const timestamp = z.iso.datetime({ offset: true }).describe("ISO 8601 with an offset.");

export const count = z.int().min(0);

export const moderationState = z
  .enum(["approved", "pending", "rejected", "spam"])
  .describe("Unapproved content is visible to its author and the team only.");

export function wholeNumber(min: number, max: number) {
  const error = ({ input }: { input?: unknown }) =>
    input === undefined ? "is required" : `must be a whole number from ${inDigits(min)} to ${inDigits(max)}`;
  return z.int({ error }).min(min, { error }).max(max, { error });
}

/** Linear time: each part is matched by one character class, without nested patterns. */
export function isEmailAddress(value: string): boolean {
  if (value.length > 254) return false;
  const at = value.lastIndexOf("@");
  const local = value.slice(0, Math.max(at, 0));
  const labels = value.slice(at + 1).split(".");
  return (
    local.length <= 64 &&
    local.split(".").every((atom) => /^[\w!#$%&'*+/=?^`{|}~-]+$/.test(atom)) &&
    labels.length > 1 &&
    labels.every((label) => /^[a-z0-9-]{1,63}$/i.test(label) && !label.startsWith("-") && !label.endsWith("-")) &&
    /[a-z]/i.test(labels.at(-1) ?? "")
  );
}

export const emailAddress = z
  .string()
  .overwrite(trimText)
  .refine(isEmailAddress, {
    error: "must be an email address of at most 254 characters, such as name@example.org",
    params: { rule: "email" },
  })
  .meta({ format: "email", maxLength: 254 });

/** A link for people: http or https, without user name or password. */
export const webAddress = text({ min: 1, max: 2000 })
  .overwrite((value) => value.replace(/^https?:/i, (scheme) => scheme.toLowerCase()))
  .refine(isWebAddress, {
    error: "must be a URL that starts with http:// or https:// and has no password",
    params: { rule: "web_address" },
  })
  .meta({ format: "uri" });

function isWebAddress(value: string): boolean {
  // The URL parser accepts spaces and missing slashes; the constraint in Postgres does not.
  if (!/^https?:\/\/[^\s\p{Cc}\\]+$/u.test(value) || !URL.canParse(value)) return false;
  const { username, password } = new URL(value);
  return username === "" && password === "";
}

export const personName = text({ min: 1, max: 100 });

/** The author a key acts for: the person with the address, otherwise the author with the name, otherwise the key itself. */
export const onBehalfFields = {
  author_email: emailAddress.nullish().describe("The person the key acts for; never in a public response."),
  author_name: personName
    .nullish()
    .describe(
      "Display name, 1 to 100 characters. With `author_email` it renames that person everywhere; alone it is the author.",
    ),
};

/** The person's own picture, or one made by the pages. */
export const pictureAddress = z.string().describe("URL of a picture.");

/** What a key writes for a person who asked to hear what becomes of it. */
export const followField = z
  .boolean()
  .optional()
  .describe("Whether the person asked to follow the submission, and so to get mail about it. Default false.");

/** The pattern of a comma-separated list of the names. */
export function patternOfList(names: readonly string[]): string {
  const name = `\\s*(${names.join("|").replaceAll(".", "\\.")})\\s*`;
  return `^${name}(,${name})*$`;
}

/** A comma-separated query parameter as an array of distinct names; an unknown name is an error of the parameter. */
export function expandOf<const Name extends string>(...names: [Name, ...Name[]]) {
  const message = `must be a comma-separated list of ${names.join(", ")}`;
  return z
    .string()
    .optional()
    .transform((value, ctx): Name[] => {
      if (value === undefined) return [];
      const requested = value.length > 200 ? [""] : value.split(",").map(trimText);
      const known = names.filter((name) => requested.includes(name));
      if (requested.every((name) => known.some((one) => one === name))) return known;
      ctx.issues.push({ code: "custom", message, input: value });
      return z.NEVER;
    })
    .meta({ pattern: patternOfList(names), maxLength: 200 })
    .describe(`Related resources to include, comma-separated: ${names.join(", ")}.`);
}

/** Checks the length of an array before its items, so that a huge one costs nothing. */
export function shortArrayOf<Item extends z.ZodType>(item: Item, maxItems: number, minItems = 0) {
  const items = z.array(item).max(maxItems);
  const array = z.preprocess(
    (value, ctx) => {
      if (!Array.isArray(value) || value.length <= maxItems) return value;
      ctx.issues.push({ code: "custom", message: `must have at most ${counted(maxItems, "item")}`, input: value });
      return z.NEVER;
    },
    minItems > 0 ? items.min(minItems, `must have ${minItems} to ${counted(maxItems, "item")}`) : items,
  );
  // JSON Schema treats preprocessed fields as optional; mark them as required.
  Object.defineProperty(array._zod, "optin", { value: undefined });
  return array;
}

/** The body of a change: optional fields, at least one of them required in addition to those that identify the row. */
export function patchOf<Fields extends z.ZodRawShape, Others extends z.ZodRawShape = Record<never, never>>(
  fields: Fields,
  others = {} as Others,
) {
  const names = Object.keys(fields);
  return z
    .object({ ...others, ...fields })
    .refine((patch) => names.some((name) => name in patch), {
      error: `must include at least one of ${names.join(", ")}`,
    });
}
