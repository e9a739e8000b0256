import { resolve, type Schema } from "./model.ts";

const samples: Record<string, string> = {
  title: "Dark mode for the dashboard",
  description: "White pages are hard on the eyes at night: please add a dark theme.",
  body: "We would use this every day.",
  note: "Planned for the next release.",
  author_name: "Ada",
  source: "ios-app",
  name: "Backend",
  origins: "https://app.example.org",
};
const samplesOfFormat: Record<string, string> = {
  uuid: "5f0c8a52-3d4e-4b7a-9c1d-2e6f8a9b0c1d",
  email: "ada@example.org",
  uri: "https://example.org/issues/42",
  "date-time": "2026-01-31T12:00:00Z",
};

/** An example value of the schema; `required` omits optional fields. */
export function exampleOf(
  schema: Schema,
  schemas: Record<string, Schema>,
  fields: "required" | "all",
  name = "",
): unknown {
  const shape = resolve(schema, schemas);
  const first = shape.const ?? shape.default ?? shape.enum?.[0];
  if (first !== undefined) return first;
  const option = shape.anyOf?.[0] ?? shape.oneOf?.[0] ?? shape.allOf?.[0];
  if (option) return exampleOf(option, schemas, fields, name);
  switch (Array.isArray(shape.type) ? shape.type[0] : shape.type) {
    case "object":
      return Object.fromEntries(
        namesFor(shape, fields).map((key) => [key, exampleOf(shape.properties?.[key] as Schema, schemas, fields, key)]),
      );
    case "array":
      return [exampleOf(shape.items as Schema, schemas, fields, name)];
    case "integer":
    case "number":
      return shape.minimum ?? 1;
    case "boolean":
      return true;
    default:
      return samplesOfFormat[shape.format ?? ""] ?? samples[name] ?? "text";
  }
}

function namesFor({ properties = {}, required = [], minProperties = 0 }: Schema, fields: "required" | "all"): string[] {
  const names = Object.keys(properties);
  if (fields === "all") return names;
  return required.length > 0 ? required : names.slice(0, Number(minProperties));
}
