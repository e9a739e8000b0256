import { z } from "zod";
import { ApiError } from "./api-error.ts";

const maxFields = 5000;

/** The fields of a form as browsers send it, at most 5,000. They are counted before they are read. */
export function parseForm(text: string): URLSearchParams {
  let fields = 1;
  for (let at = text.indexOf("&"); at !== -1; at = text.indexOf("&", at + 1))
    if (++fields > maxFields) throw new ApiError("PAYLOAD_TOO_LARGE", "The form has more than 5,000 fields.");
  return new URLSearchParams(text);
}

/**
 * The value that the schema is to check, of the fields of a form: names as in the API, `name.part` within objects. An
 * empty field is null where the schema takes it, else absent; of a repeated one the last counts, but in arrays.
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
  const { core, takesNull } = unwrapped(schema);
  if (core instanceof z.ZodObject) return objectOf(core, form, `${name}.`);
  const sent = form.getAll(name);
  if (core instanceof z.ZodArray) {
    if (sent.length === 0) return undefined;
    return sent.filter((text) => text !== "").map((text) => scalarOf(core.element as z.ZodType, text));
  }
  const text = sent.at(-1);
  if (text === undefined) return undefined;
  return text === "" ? (takesNull ? null : undefined) : scalarOf(core, text);
}

function scalarOf(schema: z.ZodType, text: string): unknown {
  const { core } = unwrapped(schema);
  // What is no number or boolean goes on as it is, so that the schema says what is wrong with it.
  if (core instanceof z.ZodBoolean) return text === "true" ? true : text === "false" ? false : text;
  if (core instanceof z.ZodNumber) return /^-?\d{1,15}(\.\d{1,15})?$/.test(text.trim()) ? Number(text) : text;
  return text;
}

/** The schema without what says that a value may be missing or null. */
function unwrapped(schema: z.ZodType): { core: z.ZodType; takesNull: boolean } {
  let core = schema;
  let takesNull = false;
  for (;;) {
    if (core instanceof z.ZodNullable) takesNull = true;
    else if (core instanceof z.ZodPipe) {
      // What is preprocessed says by its other end what it shall be.
      core = (core.in instanceof z.ZodTransform ? core.out : core.in) as z.ZodType;
      continue;
    } else if (
      !(core instanceof z.ZodOptional || core instanceof z.ZodDefault || core instanceof z.ZodPrefault)
    )
      return { core, takesNull };
    core = core.unwrap() as z.ZodType;
  }
}
