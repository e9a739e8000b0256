import type { z } from "zod";

/** Validates what a caller sent. A null that a field does not accept is the same as a field that was not sent. */
export function parseSent<Schema extends z.ZodType>(
  schema: Schema,
  sent: unknown,
): z.ZodSafeParseResult<z.output<Schema>> {
  const args = structuredClone(sent);
  for (;;) {
    const parsed = schema.safeParse(args);
    if (parsed.success || !parsed.error.issues.map(({ path }) => removeNull(args, path)).includes(true)) return parsed;
  }
}

function removeNull(from: unknown, path: readonly PropertyKey[]): boolean {
  const fields = path
    .slice(0, -1)
    .reduce<unknown>((value, name) => (value as Record<PropertyKey, unknown>)[name], from);
  const name = path.at(-1);
  if (name === undefined || !isObject(fields) || fields[name] !== null) return false;
  return delete fields[name];
}

type JsonSchema = z.core.JSONSchema.BaseSchema;

/** The arguments that the schema does not have, at any depth, each with those that it has. */
export function unknownIn(schema: JsonSchema, sent: unknown, path: PropertyKey[] = []): z.core.$ZodIssue[] {
  const { properties, items } = schema.anyOf?.find(({ type }) => type !== "null") ?? schema;
  if (Array.isArray(sent) && items)
    return sent.flatMap((item, i) => unknownIn(items as JsonSchema, item, [...path, i]));
  if (!isObject(sent) || !properties) return [];
  return Object.entries(sent).flatMap(([name, value]) => {
    if (Object.hasOwn(properties, name)) return unknownIn(properties[name] as JsonSchema, value, [...path, name]);
    const known = Object.keys(properties).join(", ");
    const message = `is unknown; ${known ? `use one of ${known}` : "leave it out"}`;
    return value === null ? [] : [{ code: "custom", path: [...path, name], message, input: value }];
  });
}

const isObject = (value: unknown): value is Record<PropertyKey, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
