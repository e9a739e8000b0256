import { z } from "zod";
import { ApiError } from "./api-error.ts";

const maxFields = 5000;

/** Parses a URL-encoded form of at most 5,000 fields, which are counted before parsing. */
export function parseForm(text: string): URLSearchParams {
  let fields = 1;
  for (let at = text.indexOf("&"); at !== -1; at = text.indexOf("&", at + 1))
    if (++fields > maxFields) throw new ApiError("PAYLOAD_TOO_LARGE", "The form has more than 5,000 fields.");
  return new URLSearchParams(text);
}

/**
 * Converts form fields to the value that the schema validates: names as in the API, `name.part` for nested objects. An
 * empty field is null if the schema is nullable, otherwise absent. Only arrays use repeated fields; others take the
 * last.
 */
export function valueOfForm(schema: z.ZodType, form: URLSearchParams): unknown {
  return objectOf(schema, form, "") ?? {};
}

function objectOf(schema: z.ZodType, form: URLSearchParams, prefix: string): object | undefined {
  const { core } = unwrapped(schema);
  if (!(core instanceof z.ZodObject)) return undefined;
  const values: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(core.shape as Record<string, z.ZodType>)) {
    const value = fieldOf(field, form, prefix + name);
    if (value !== undefined) values[name] = value;
  }
  return Object.keys(values).length > 0 ? values : undefined;
}

function fieldOf(schema: z.ZodType, form: URLSearchParams, name: string): unknown {
  const { core, isNullable } = unwrapped(schema);
  if (core instanceof z.ZodObject) return objectOf(core, form, `${name}.`);
  if (core instanceof z.ZodRecord) return recordOf(core, form, `${name}.`);
  const sent = form.getAll(name);
  if (core instanceof z.ZodArray) {
    if (sent.length === 0) return undefined;
    return sent.filter((text) => text !== "").map((text) => scalarOf(core.element as z.ZodType, text));
  }
  const text = sent.at(-1);
  if (text === undefined) return undefined;
  return text === "" ? (isNullable ? null : undefined) : scalarOf(core, text);
}

function recordOf(schema: z.ZodRecord, form: URLSearchParams, prefix: string): object | undefined {
  const keys = [...new Set(form.keys())].filter((key) => key.startsWith(prefix));
  if (keys.length === 0) return undefined;
  const valueType = schema.valueType as z.ZodType;
  return Object.fromEntries(keys.map((key) => [key.slice(prefix.length), fieldOf(valueType, form, key)]));
}

function scalarOf(schema: z.ZodType, text: string): unknown {
  const { core } = unwrapped(schema);
  // An invalid number or boolean stays a text, which the schema then rejects.
  if (core instanceof z.ZodBoolean) return text === "true" ? true : text === "false" ? false : text;
  if (core instanceof z.ZodNumber) return /^-?\d{1,15}(\.\d{1,15})?$/.test(text.trim()) ? Number(text) : text;
  return text;
}

/** The schema without its optional, default and nullable wrappers. */
function unwrapped(schema: z.ZodType): { core: z.ZodType; isNullable: boolean } {
  let core = schema;
  let isNullable = false;
  for (;;) {
    if (core instanceof z.ZodNullable) isNullable = true;
    else if (core instanceof z.ZodPipe) {
      // A preprocessed schema has its type at the output.
      core = (core.in instanceof z.ZodTransform ? core.out : core.in) as z.ZodType;
      continue;
    } else if (!(core instanceof z.ZodOptional || core instanceof z.ZodDefault || core instanceof z.ZodPrefault))
      return { core, isNullable };
    core = core.unwrap() as z.ZodType;
  }
}
