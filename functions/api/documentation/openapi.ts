import { z } from "zod";
import { type ErrorStatus, errorEnvelope, lowercaseErrorEnvelope } from "../../../shared/errors.ts";
import { isoTime } from "../../../shared/fields.ts";
import { locales } from "../../../shared/locales.ts";
import { organizationReference } from "../../../shared/organizations.ts";
import { category, tag, tagReference } from "../../../shared/taxonomy.ts";
import { version } from "../../../shared/version.ts";
import type { EndpointDescription } from "../../_shared/http/endpoint.ts";
import { descriptionOf, securityOf } from "./access.ts";
import { codesOf, errorResponses, errorStatusesOf } from "./error-responses.ts";
import { exampleOf } from "./example.ts";
import type { Header, OpenApi, Operation, Reference, RequestBody, Response, Schema } from "./model.ts";
import { pathParameters, queryParameters, sharedParameters } from "./parameters.ts";

const introduction = `Product feedback for many organizations: submissions, votes, comments, followers and notifications, and surveys.

Requests and responses are JSON in UTF-8. A successful response is \`{data, meta}\`, an error \`{error: {code, message, details}}\`. Responses may gain fields. Unknown fields of a body are ignored.

The caller is a signed-in user, an organization's key, or anonymous. An invalid credential is a 401, also on public routes. A row that the caller may not see is a 404.

If a deployment has several organizations, \`X-Organization\` or the parameter \`organization\` selects one by id or slug. A key always acts for its own organization.

A parameter that is sent empty counts as not sent; one that is sent twice, and \`expand\` where it is not listed, is a 400.

Lists accept \`page\` and \`limit\`. Every response has \`X-Request-Id\` and the rate limit headers of the counter with the fewest remaining requests.`;

const bearer = { type: "http", scheme: "bearer" };
const securitySchemes = {
  session: {
    ...bearer,
    bearerFormat: "JWT",
    description: "Access token of a signed-in user, issued by the auth service.",
  },
  apiKey: {
    ...bearer,
    bearerFormat: "fcs_org_…",
    description: "Key of an organization; each operation lists the scopes it accepts.",
  },
};

const text: Schema = { type: "string" };
const headers: Record<string, Header> = {
  "X-RateLimit-Limit": { description: "Requests allowed in the window.", schema: { type: "integer", minimum: 0 } },
  "X-RateLimit-Remaining": {
    description: "Requests remaining in the window.",
    schema: { type: "integer", minimum: 0 },
  },
  "X-RateLimit-Reset": { description: "End of the window in Unix seconds.", schema: { type: "integer", minimum: 0 } },
  "X-Request-Id": {
    description: "Id of this request in the service's log.",
    schema: { type: "string", format: "uuid" },
  },
  "Content-Language": {
    description: "Language of names in the response.",
    schema: { type: "string", enum: [...locales] },
  },
  Vary: { description: "`Accept-Language`: caches store one response for each language.", schema: text },
  "Retry-After": { description: "Seconds to wait before a retry.", schema: { type: "integer", minimum: 0 } },
};
const commonHeaders = referencesTo("X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "X-Request-Id");

/**
 * The OpenAPI 3.1 document of the endpoints at an address, generated from the schemas that validate requests. Generated
 * clients put the address before the path, as text.
 */
export function openApi(endpoints: readonly EndpointDescription[], address: string): OpenApi {
  const schemas: Record<string, Schema> = {};
  const responses: Record<string, Response> = {};
  const paths: OpenApi["paths"] = {};

  for (const endpoint of endpoints) {
    const path = pathOf(endpoint);
    paths[path] = { ...paths[path], [endpoint.method]: operationOf(endpoint) };
  }
  Object.assign(paths, pathsOfHealth(show));

  return {
    openapi: "3.1.0",
    info: { title: "Feedback collection service", version, description: introduction },
    servers: [{ url: address, description: "The address of this installation." }],
    tags: [
      ...new Set(
        Object.values(paths)
          .flatMap(Object.values<Operation>)
          .flatMap(({ tags }) => tags),
      ),
    ].map((name) => ({ name })),
    paths,
    components: {
      securitySchemes,
      parameters: sharedParameters(show(organizationReference, "input")),
      headers,
      responses,
      schemas: usedOf(schemas, [paths, responses]),
    },
  };

  /** The schema as JSON Schema; a schema with an id becomes a component. */
  function show(schema: z.ZodType, io: "input" | "output"): Schema {
    const {
      $schema: _,
      $defs,
      ...shown
    } = asComponents(z.toJSONSchema(schema, { io, override: io === "input" ? asRefused : tidy }));
    for (const [id, definition] of Object.entries($defs ?? {})) {
      const known = schemas[id];
      if (known && JSON.stringify(known) !== JSON.stringify(definition)) {
        throw new Error(`Two schemas have the id ${id}: an input and an output schema need different ids.`);
      }
      schemas[id] = definition;
    }
    return shown;
  }

  function operationOf(endpoint: EndpointDescription): Operation {
    const { method, access, tag, summary, responses } = endpoint;
    const shownResponses = Object.entries(responses).map(
      ([status, schema]) => [status, show(schema, "output")] as const,
    );
    const localized = method === "get" && shownResponses.some(([, schema]) => isLocalized(schema, schemas));
    const requestBody = requestBodyOf(endpoint);
    return {
      operationId: operationIdOf(endpoint),
      tags: [tag],
      summary,
      description: descriptionOf(endpoint),
      security: securityOf(endpoint),
      parameters: [
        ...pathParameters(endpoint.path),
        ...(endpoint.query ? queryParameters(show(endpoint.query, "input"), schemas) : []),
        ...(localized ? [parameter("AcceptLanguage")] : []),
        ...(method === "post" && access !== "person" && !endpoint.showsSecret && !endpoint.consumes
          ? [parameter("IdempotencyKey")]
          : []),
        parameter("Organization"),
        parameter("OrganizationInQuery"),
      ],
      ...(requestBody && { requestBody }),
      responses: {
        ...Object.fromEntries(
          shownResponses.map(([status, schema]) => [
            status,
            {
              description: meaningOf(status, responses),
              headers: { ...commonHeaders, ...(localized && referencesTo("Content-Language", "Vary")) },
              content: { "application/json": { schema }, ...asText(endpoint.produces) },
            },
          ]),
        ),
        ...Object.fromEntries(
          errorStatusesOf(endpoint).map((status) => [
            String(status),
            errorResponseOf(status, endpoint.lowercaseErrorsToKeys),
          ]),
        ),
      },
    };
  }

  function requestBodyOf({ body, bodyByKey, consumes }: EndpointDescription): RequestBody | undefined {
    if (consumes)
      return {
        description: "A file, which is read as a stream.",
        required: true,
        content: { ...asText(consumes), "application/json": { schema: { type: "array", items: { type: "object" } } } },
      };
    const byPerson = body && hasFields(body) && show(body, "input");
    const byKey = bodyByKey && show(bodyByKey, "input");
    if (!byPerson && !byKey) return undefined;
    const examples = {
      ...(byPerson && { person: { summary: "By a signed-in user", value: exampleOf(byPerson, schemas, "required") } }),
      ...(byKey && { key: { summary: "By an organization's key", value: exampleOf(byKey, schemas, "all") } }),
    };
    return {
      ...(!byPerson && { description: "For keys; users send no body." }),
      required: ![body, bodyByKey].some((schema) => schema?.safeParse({}).success),
      content: {
        "application/json": {
          schema: byPerson && byKey ? { anyOf: [byPerson, byKey] } : byPerson || byKey || {},
          examples,
        },
      },
    };
  }

  function errorResponseOf(status: ErrorStatus, lowercaseToKeys = false): Reference {
    const name = `${errorResponses[status].name}${lowercaseToKeys ? "InEitherForm" : ""}`;
    if (!responses[name]) {
      const general = show(errorEnvelope, "output");
      const schema = lowercaseToKeys ? { anyOf: [general, show(lowercaseErrorEnvelope, "output")] } : general;
      responses[name] = {
        description: `${errorResponses[status].description} ${lowercaseToKeys ? "Keys get the lowercase form. " : ""}${codesOf(status)}`,
        headers: { ...commonHeaders, ...(status === 429 || status === 503 ? referencesTo("Retry-After") : {}) },
        content: { "application/json": { schema } },
      };
    }
    return { $ref: `#/components/responses/${name}` };
  }
}

const asText = (types: readonly string[] = []): Record<string, { schema: Schema }> =>
  Object.fromEntries(types.map((type) => [type, { schema: text }]));

function asComponents(schema: Schema): Schema {
  return JSON.parse(JSON.stringify(schema).replaceAll('"#/$defs/', '"#/components/schemas/'));
}

/** Removes details of zod: closed objects, safe integer bounds, patterns of values with a format. */
function tidy({ jsonSchema }: { jsonSchema: Schema }) {
  if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
  if (jsonSchema.format) delete jsonSchema.pattern;
}

const patternsOfFormats: Record<string, string> = {
  date: "^[1-9]",
  "date-time": isoTime.source,
  uri: "^\\s*[Hh][Tt][Tt][Pp][Ss]?://[^\\s\\\\/?#@]+([/?#][^\\s\\\\]*)?\\s*$",
};

/** Input: as much of what is refused as a pattern can say. */
function asRefused(shown: { jsonSchema: Schema }) {
  tidy(shown);
  const { jsonSchema } = shown;
  const { type, format, maxLength } = jsonSchema;
  const ofFormat = format && patternsOfFormats[format];
  if (ofFormat) jsonSchema.pattern = ofFormat;
  else if (type === "string" && maxLength !== undefined && !format) jsonSchema.pattern ??= patternOfText(jsonSchema);
}

/** A text without NUL, which is trimmed before it is counted. */
function patternOfText({ minLength = 0 }: Schema): string {
  if (minLength === 0) return "^[^\\u0000]*$";
  if (minLength === 1) return "^[^\\u0000]*[^\\s\\u0000][^\\u0000]*$";
  return `^\\s*[^\\s\\u0000][^\\u0000]{${minLength - 2},}[^\\s\\u0000]\\s*$`;
}

/** Components sorted by name, without query schemas, whose fields are parameters. */
function usedOf(schemas: Record<string, Schema>, elsewhere: unknown[]): Record<string, Schema> {
  const users = JSON.stringify([schemas, ...elsewhere]);
  const used = Object.entries(schemas).filter(([id]) => users.includes(`"#/components/schemas/${id}"`));
  return Object.fromEntries(used.sort(([a], [b]) => (a < b ? -1 : 1)));
}

function pathOf({ path }: EndpointDescription): string {
  return `/api${path.replaceAll(/:(\w+)/g, "{$1}")}`;
}

/** Method and path in camel case: stable and unique. */
function operationIdOf({ method, path }: EndpointDescription): string {
  const words = path
    .split("/")
    .filter(Boolean)
    .flatMap((part) => (part.startsWith(":") ? ["by", ...part.slice(1).split("_")] : part.split("-")));
  return [method, ...words].map((word, i) => (i === 0 ? word : word.charAt(0).toUpperCase() + word.slice(1))).join("");
}

function referencesTo(...names: (keyof typeof headers)[]): Record<string, Reference> {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

function parameter(name: keyof ReturnType<typeof sharedParameters>): Reference {
  return { $ref: `#/components/parameters/${name}` };
}

const localizedIds = [category, tag, tagReference].map((schema) => schema.meta()?.id);

/** Whether the schema contains localized names of categories or tags. */
function isLocalized(schema: Schema, schemas: Record<string, Schema>): boolean {
  const seen = new Set<string>();
  const visit = (text: string) => {
    for (const [, id = ""] of text.matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
      if (seen.has(id)) continue;
      seen.add(id);
      visit(JSON.stringify(schemas[id]));
    }
  };
  visit(JSON.stringify(schema));
  return localizedIds.some((id) => id !== undefined && seen.has(id));
}

function meaningOf(status: string, responses: EndpointDescription["responses"]): string {
  if (status === "201") return "Created.";
  return 201 in responses ? "The row existed already." : "OK.";
}

/** Whether the body schema has any fields. */
function hasFields(body: z.ZodType): boolean {
  return !(body instanceof z.ZodObject) || Object.keys(body.shape).length > 0;
}

const readiness = z.object({
  status: z.enum(["ready", "unavailable"]),
  database: z.enum(["ok", "unreachable"]),
  migrations: z
    .enum(["current", "behind"])
    .describe("Whether the database has every migration that the functions need."),
  unset_variables: z
    .array(z.string())
    .describe("Environment variables that the operator should set (docs/deploy.md); the service works without them."),
});

function pathsOfHealth(show: (schema: z.ZodType, io: "output") => Schema): OpenApi["paths"] {
  const answer = (description: string, shape: z.ZodType): Response => ({
    description,
    headers: commonHeaders,
    content: { "application/json": { schema: show(shape, "output") } },
  });
  const common = { tags: ["Service"], description: "Public; not rate limited.", security: [{}], parameters: [] };
  return {
    "/api/health": {
      get: {
        operationId: "getHealth",
        summary: "Check whether the service runs",
        ...common,
        responses: { 200: answer("It does.", z.object({ status: z.literal("ok"), version: z.string() })) },
      },
    },
    "/api/ready": {
      get: {
        operationId: "getReady",
        summary: "Check whether the service is ready: the database responds and is migrated",
        ...common,
        responses: { 200: answer("It can.", readiness), 503: answer("Not ready.", readiness) },
      },
    },
  };
}
