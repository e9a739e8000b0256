import { locales } from "../../../shared/locales.ts";
import { patternOf } from "../../../shared/path-parameters.ts";
import { type Parameter, resolve, type Schema } from "./model.ts";

/** Parameters shared by many operations, as components. */
export function sharedParameters(organization: Schema) {
  const optional = { required: false };
  const { description: _, ...reference } = organization;
  return {
    Organization: {
      ...optional,
      name: "X-Organization",
      in: "header",
      description: "Id or slug of the organization, required if there are several.",
      schema: reference,
    },
    OrganizationInQuery: {
      ...optional,
      name: "organization",
      in: "query",
      description: "Like `X-Organization`, which takes precedence.",
      schema: reference,
    },
    AcceptLanguage: {
      ...optional,
      name: "Accept-Language",
      in: "header",
      description: `Language of the names of categories and tags: ${locales.join(", ")}; English if none matches.`,
      schema: { type: "string" },
    },
    IdempotencyKey: {
      ...optional,
      name: "Idempotency-Key",
      in: "header",
      description:
        "For keys: a repeated request with the same key within a day returns the first response and has no further effect.",
      schema: { type: "string", pattern: "^[\\x21-\\x7e]{1,200}$" },
    },
  } satisfies Record<string, Parameter>;
}

export function pathParameters(path: string): Parameter[] {
  const parts = path.split("/");
  return parts.flatMap((part, i) =>
    part.startsWith(":")
      ? [
          {
            name: part.slice(1),
            in: "path" as const,
            required: true,
            description: `Id of the ${singular(parts[i - 1] ?? "")}.`,
            schema: schemaOf(part.slice(1)),
          },
        ]
      : [],
  );
}

function schemaOf(name: string): Schema {
  const pattern = patternOf(name);
  return pattern ? { type: "string", pattern } : { type: "string", format: "uuid" };
}

function singular(resource: string): string {
  return resource.replaceAll("-", " ").replace(/ies$/, "y").replace(/s$/, "");
}

/** One query parameter for each field. */
export function queryParameters(query: Schema, schemas: Record<string, Schema>): Parameter[] {
  const { properties = {}, required = [] } = resolve(query, schemas);
  return Object.entries(properties).map(([name, property]) => {
    const { description, ...schema } = property as Schema;
    return { name, in: "query", required: required.includes(name), ...(description && { description }), schema };
  });
}
