import { z } from "zod";
import { text, trimText } from "./text.ts";
import "./validation.ts";

/** Whether Postgres takes the text as a UUID, of any version. */
export function isUuid(text: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text);
}

/** Any UUID Postgres takes, whatever its version; in a path a malformed one is a 404, which the route decides. */
export const uuid = z.guid({
  error: ({ input }) => (input === undefined ? "is required" : "must be a UUID"),
});

export const slug = z
  .string()
  .regex(/^[a-z0-9-]{1,64}$/, "must be a slug: 1 to 64 lowercase letters, digits and hyphens")
  .describe("Lowercase letters, digits and hyphens.");

/** In only: a time somebody chose, within the years Postgres and every client can hold. */
export const moment = z.iso
  .datetime({ offset: true, error: "must be an ISO 8601 time with an offset, such as 2027-01-31T00:00:00Z" })
  .refine((value) => /^[1-9]/.test(value), "must be in the years 1000 to 9999");

/** Out only: as Postgres writes it, in UTC with an offset. */
export const timestamp = z.iso.datetime({ offset: true }).describe("ISO 8601 with an offset.");

export const count = z.int().min(0);

export const moderationState = z
  .enum(["approved", "pending", "rejected", "spam"])
  .describe("What is not approved is seen by its author and the team alone.");

export function wholeNumber(min: number, max: number) {
  const error = ({ input }: { input?: unknown }) =>
    input === undefined ? "is required" : `must be a whole number from ${min} to ${max}`;
  return z.int({ error }).min(min, { error }).max(max, { error });
}

/** Linear: each piece is checked by one character class, never by a pattern within a pattern. */
function isEmailAddress(value: string): boolean {
  if (value.length > 254) return false;
  const at = value.lastIndexOf("@");
  const local = value.slice(0, Math.max(at, 0));
  const labels = value.slice(at + 1).split(".");
  return (
    local.length <= 64 &&
    local.split(".").every((atom) => /^[\w!#$%&'*+/=?^`{|}~-]+$/.test(atom)) &&
    labels.length > 1 &&
    labels.every(
      (label) => /^[a-z0-9-]{1,63}$/i.test(label) && !label.startsWith("-") && !label.endsWith("-"),
    ) &&
    /[a-z]/i.test(labels.at(-1) ?? "")
  );
}

export const emailAddress = z
  .string()
  .overwrite(trimText)
  .refine(isEmailAddress, "must be an e-mail address of at most 254 characters, such as name@example.org")
  .meta({ format: "email", maxLength: 254 });

/** A link people will follow: http or https, no user name or password in it. */
export const webAddress = text({ min: 1, max: 2000 })
  .overwrite((value) => value.replace(/^https?:/i, (scheme) => scheme.toLowerCase()))
  .refine(isWebAddress, "must be a web address that starts with http:// or https:// and holds no password")
  .meta({ format: "uri" });

function isWebAddress(value: string): boolean {
  // The parser forgives spaces and missing slashes, Postgres's constraint does not.
  if (!/^https?:\/\/[^\s\p{Cc}\\]+$/u.test(value) || !URL.canParse(value)) return false;
  const { username, password } = new URL(value);
  return username === "" && password === "";
}

export const personName = text({ min: 1, max: 100 });

/** For whom a key acts; without an address, for itself. */
export const onBehalfFields = {
  author_email: emailAddress.nullish().describe("Whom the key acts for; never in a public answer."),
  author_name: personName.nullish().describe("Display name, 1 to 100 characters."),
};

/** A comma-separated query parameter as an array of distinct names; an unknown name is an error of the parameter itself. */
export function expandOf<const Name extends string>(...names: [Name, ...Name[]]) {
  const message = `must be a comma-separated list of ${names.join(", ")}`;
  return z
    .string()
    .optional()
    .transform((value, ctx): Name[] => {
      if (value === undefined) return [];
      const asked = value.length > 200 ? [""] : value.split(",").map(trimText);
      const known = names.filter((name) => asked.includes(name));
      if (asked.every((name) => known.some((one) => one === name))) return known;
      ctx.issues.push({ code: "custom", message, input: value });
      return z.NEVER;
    })
    .describe(`Related resources to include, comma-separated: ${names.join(", ")}.`);
}

/** An array refused by its length before its items are looked at, so that a huge one costs nothing. */
export function shortArrayOf<Item extends z.ZodType>(item: Item, most: number) {
  const array = z.preprocess((value, ctx) => {
    if (!Array.isArray(value) || value.length <= most) return value;
    ctx.issues.push({ code: "custom", message: `must have at most ${most} items`, input: value });
    return z.NEVER;
  }, z.array(item).max(most));
  // What is preprocessed counts as optional in JSON Schema, though it is not.
  Object.defineProperty(array._zod, "optin", { value: undefined });
  return array;
}
