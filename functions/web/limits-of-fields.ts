import { z } from "zod";
import type { Route } from "../_shared/http/endpoint.ts";

type Schema = {
  $ref?: string;
  $defs?: Record<string, Schema>;
  type?: string;
  format?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  pattern?: string;
  required?: string[];
  properties?: Record<string, Schema>;
  additionalProperties?: Schema;
  items?: Schema;
  anyOf?: Schema[];
  oneOf?: Schema[];
};

/** Attributes of a field by the schema of the body. A pattern is left to the server, whose message says what is wrong. */
export type Limits = {
  type?: "email" | "url" | "checkbox";
  required?: boolean;
  minlength?: number;
  maxlength?: number;
};

const schemas = new WeakMap<z.ZodType, Schema>();

function schemaOf(body: z.ZodType): Schema {
  const known = schemas.get(body);
  if (known) return known;
  const core = body instanceof z.ZodPipe && body.in instanceof z.ZodTransform ? (body.out as z.ZodType) : body;
  const made = z.toJSONSchema(core, { io: "input", unrepresentable: "any", reused: "inline" }) as Schema;
  schemas.set(body, made);
  return made;
}

/** What the body of a route allows in a field; names of nested fields and of items have dots. */
export function limitsOf({ body, method }: Pick<Route, "body" | "method">, name: string): Limits {
  const root = body && schemaOf(body);
  const resolved = (schema: Schema | undefined) =>
    schema?.$ref ? { ...root?.$defs?.[schema.$ref.replace("#/$defs/", "")], ...schema } : schema;
  let schema = resolved(root);
  let isNamed = false;
  for (const part of name.split(".")) {
    isNamed = schema?.required?.includes(part) ?? false;
    const variants = [schema, ...(schema?.oneOf ?? schema?.anyOf ?? []).map(resolved)];
    const object = variants.find((variant) => variant?.properties?.[part]);
    schema = resolved(object?.properties?.[part] || schema?.additionalProperties || schema?.items);
  }
  if (!schema) return {};
  const variants = schema.anyOf?.filter(({ type }) => type !== "null").map(resolved) ?? [schema];
  const isNullable = schema.anyOf !== undefined && variants.length < schema.anyOf.length;
  const [core] = variants;
  if (!core || variants.length > 1) return {};
  const { type, format, minimum = 0, maximum, pattern } = core;
  if (type === "boolean") return { type: "checkbox" };
  const [, shortest, longest] = /^\^\[[^\]]+\]\{(\d+),(\d+)\}\$$/.exec(pattern ?? "") ?? [];
  const digits = type === "integer" && maximum !== undefined && minimum >= 0 ? `${maximum}`.length : undefined;
  const minLength = core.minLength ?? (shortest ? Number(shortest) : undefined);
  const maxLength = core.maxLength ?? (longest ? Number(longest) : digits);
  // A change names only what it changes. A field that must not become empty is still needed in its form.
  const isNeeded = !isNullable && (method === "patch" ? minLength !== undefined || pattern !== undefined : isNamed);
  return {
    ...(format === "email" && { type: "email" }),
    ...(format === "uri" && { type: "url" }),
    ...(isNeeded && type === "string" && { required: true }),
    ...(minLength !== undefined && minLength > 1 && { minlength: minLength }),
    ...(maxLength !== undefined && { maxlength: maxLength }),
  };
}

/** The most characters that a field of this schema takes. */
export const maxLengthOf = (schema: z.ZodType) =>
  limitsOf({ body: z.object({ value: schema }), method: "post" }, "value").maxlength;
