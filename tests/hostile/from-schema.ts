import fc from "../fuzz.ts";

/** The part of JSON Schema that the OpenAPI document uses. */
export interface Schema {
  $ref?: string;
  type?: string | string[];
  enum?: unknown[];
  const?: unknown;
  anyOf?: Schema[];
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  maxItems?: number;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  pattern?: string;
  format?: string;
}

/** Strings that have broken other software. */
export const nastyText = fc.oneof(
  { weight: 4, arbitrary: fc.string({ unit: "binary", maxLength: 40 }) },
  { weight: 2, arbitrary: fc.string({ unit: "grapheme", maxLength: 60 }) },
  { weight: 2, arbitrary: fc.stringMatching(/^["'()|&!:*<>%_\\-]{1,60}$/) },
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      "",
      " ",
      "\u0000",
      "\ud800",
      "\u202e",
      "'",
      '"',
      "\\",
      "%",
      "_",
      "null",
      "undefined",
      "NaN",
      "-1",
      "0",
      "1e999",
      "true",
      "[]",
      "{}",
      "__proto__",
      "constructor",
      "2026-13-45",
      "00000000-0000-0000-0000-000000000000",
      "x".repeat(300),
      "💡".repeat(101),
      "か".repeat(70),
      "https://x.example",
      "a@b.example",
      "-".repeat(90),
      "or or",
      '"a b" -c or d',
    ),
  },
);

/** Any JSON. */
export const nastyValue: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 3, arbitrary: nastyText },
  { weight: 2, arbitrary: fc.jsonValue({ maxDepth: 3 }) },
  { weight: 1, arbitrary: fc.constantFrom(null, true, 0, -1, 1.5, Number.MAX_SAFE_INTEGER, 1e308, [], {}, [[]]) },
);

const filler = fc.string({
  unit: fc.constantFrom("a", "b", " ", "é", "💡", "か", "<", "&", "'", "-", "\u0301"),
  maxLength: 260,
});

/** Mostly valid values of the schema; ids are taken from existing rows. */
export function fromSchema(schema: Schema, definitions: Record<string, Schema>, ids: string[]): fc.Arbitrary<unknown> {
  const recur = (inner: Schema) => fromSchema(inner, definitions, ids);
  if (schema.$ref) return recur(definitions[schema.$ref.split("/").at(-1) ?? ""] ?? {});
  if (schema.anyOf) return fc.oneof(...schema.anyOf.map(recur));
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum) return fc.constantFrom(...schema.enum);
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  switch (type) {
    case "object":
      return fc
        .tuple(
          fc.record(
            Object.fromEntries(
              Object.entries(schema.properties ?? {}).map(([name, inner]) => [name, almost(recur(inner))]),
            ),
            { requiredKeys: schema.required ?? [] },
          ),
          fc.dictionary(nastyText, nastyValue, { maxKeys: 2 }),
        )
        .map(([known, unknown]) => ({ ...unknown, ...known }));
    case "array":
      return fc.array(recur(schema.items ?? {}), { maxLength: Math.min(schema.maxItems ?? 5, 5) });
    case "integer":
    case "number":
      return fc.integer({ min: schema.minimum ?? 0, max: Math.min(schema.maximum ?? 1000, 1_000_000) });
    case "boolean":
      return fc.boolean();
    case "null":
      return fc.constant(null);
    case "string":
      if (schema.format === "uuid" || schema.pattern?.includes("0-9a-f")) return fc.constantFrom(...ids);
      if (schema.format === "date-time") return fc.date({ noInvalidDate: true }).map((date) => date.toISOString());
      return fc
        .oneof({ weight: 2, arbitrary: filler }, { weight: 1, arbitrary: nastyText })
        .map((text) => text.padEnd(schema.minLength ?? 0, "x"));
    default:
      return nastyValue;
  }
}

/** Sometimes an invalid value. */
export function almost<Value>(right: fc.Arbitrary<Value>): fc.Arbitrary<unknown> {
  return fc.oneof({ weight: 4, arbitrary: right }, { weight: 1, arbitrary: nastyValue });
}
