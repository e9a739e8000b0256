import { z } from "zod";
import { type ErrorStatus, errorEnvelope, lowercaseErrorEnvelope } from "../../../shared/errors.ts";
import { locales } from "../../../shared/locales.ts";
import { organizationReference } from "../../../shared/organizations.ts";
import { category, tag, tagReference } from "../../../shared/taxonomy.ts";
import { descriptionOf, securityOf } from "./access.ts";
import { exampleOf } from "./example.ts";
import type {
  DocumentedEndpoint,
  Header,
  OpenApi,
  Operation,
  Reference,
  RequestBody,
  Response,
  Schema,
} from "./model.ts";
import { pathParameters, queryParameters, sharedParameters } from "./parameters.ts";
import { codesOf, refusals, statusesOfRefusals } from "./refusals.ts";

const introduction = `Product feedback for many organizations: submissions, votes, comments, followers and notifications, and surveys.

Requests and answers are JSON in UTF-8. An answer is \`{data, meta?}\`; a refusal is \`{error: {code, message, details}}\`. Answers may gain fields; fields of a body that are not known are ignored.

A caller is a signed-in person, an organization's key, or nobody. A credential that is sent and no good is refused with 401, also where none is needed. What the caller may not see answers 404.

Where a deployment holds several organizations, \`X-Organization\` or the parameter \`organization\` names one by id or slug; a key always acts for its own.

Lists take \`page\` and \`limit\`. Every answer carries \`X-Request-Id\` and the state of the rate limit that is closest to its end.`;

const bearer = { type: "http", scheme: "bearer" };
const securitySchemes = {
  session: {
    ...bearer,
    bearerFormat: "JWT",
    description: "The access token of a signed-in person, as the auth service issues it.",
  },
  apiKey: {
    ...bearer,
    bearerFormat: "fcs_org_…",
    description: "A key of an organization; each operation names the scopes it takes.",
  },
};

const text: Schema = { type: "string" };
const headers: Record<string, Header> = {
  "X-RateLimit-Limit": {
    description: "Requests the window allows.",
    schema: { type: "integer", minimum: 0 },
  },
  "X-RateLimit-Remaining": {
    description: "Requests left in the window.",
    schema: { type: "integer", minimum: 0 },
  },
  "X-RateLimit-Reset": {
    description: "When the window ends, in Unix seconds.",
    schema: { type: "integer", minimum: 0 },
  },
  "X-Request-Id": {
    description: "Names this request in the service's log.",
    schema: { type: "string", format: "uuid" },
  },
  "Content-Language": {
    description: "Language of the names in the answer.",
    schema: { type: "string", enum: [...locales] },
  },
  Vary: { description: "`Accept-Language`: a cache keeps one answer a language.", schema: text },
  "Retry-After": {
    description: "Seconds to wait before the next try.",
    schema: { type: "integer", minimum: 0 },
  },
};
const onEveryAnswer = referencesTo(
  "X-RateLimit-Limit",
  "X-RateLimit-Remaining",
  "X-RateLimit-Reset",
  "X-Request-Id",
);

/** The OpenAPI 3.1 document of the endpoints, from the very schemas that validate. */
export function openApi(endpoints: readonly DocumentedEndpoint[]): OpenApi {
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
    info: { title: "Feedback collection service", version: "0.1.0", description: introduction },
    // Wherever the document is served from, /api begins one step above it.
    servers: [{ url: "..", description: "What stands before /api in the address of this document." }],
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

  /** The schema as JSON Schema; what has an id becomes a component. */
  function show(schema: z.ZodType, io: "input" | "output"): Schema {
    const { $schema: _, $defs, ...shown } = asComponents(z.toJSONSchema(schema, { io, override: tidy }));
    for (const [id, definition] of Object.entries($defs ?? {})) {
      const known = schemas[id];
      if (known && JSON.stringify(known) !== JSON.stringify(definition)) {
        throw new Error(
          `Two schemas are called ${id}: one that is sent and one that is answered need two ids.`,
        );
      }
      schemas[id] = definition;
    }
    return shown;
  }

  function operationOf(endpoint: DocumentedEndpoint): Operation {
    const { method, access, tag, summary, answers } = endpoint;
    const shownAnswers = Object.entries(answers).map(
      ([status, answer]) => [status, show(answer, "output")] as const,
    );
    const localized = method === "get" && shownAnswers.some(([, schema]) => isLocalized(schema, schemas));
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
        ...(method === "post" && access !== "person" && !endpoint.showsSecret && !endpoint.takes
          ? [parameter("IdempotencyKey")]
          : []),
        parameter("Organization"),
        parameter("OrganizationInQuery"),
      ],
      ...(requestBody && { requestBody }),
      responses: {
        ...Object.fromEntries(
          shownAnswers.map(([status, schema]) => [
            status,
            {
              description: meaningOf(status, answers),
              headers: { ...onEveryAnswer, ...(localized && referencesTo("Content-Language", "Vary")) },
              content: { "application/json": { schema }, ...asText(endpoint.gives) },
            },
          ]),
        ),
        ...Object.fromEntries(
          statusesOfRefusals(endpoint).map((status) => [
            String(status),
            refusalOf(status, endpoint.lowercaseErrorsToKeys),
          ]),
        ),
      },
    };
  }

  function requestBodyOf({ body, bodyByKey, takes }: DocumentedEndpoint): RequestBody | undefined {
    if (takes)
      return {
        description: "A file, read as it comes in.",
        required: true,
        content: {
          ...asText(takes),
          "application/json": { schema: { type: "array", items: { type: "object" } } },
        },
      };
    const byPerson = body && isSomething(body) && show(body, "input");
    const byKey = bodyByKey && show(bodyByKey, "input");
    if (!byPerson && !byKey) return undefined;
    const examples = {
      ...(byPerson && {
        person: { summary: "By a signed-in person", value: exampleOf(byPerson, schemas, "required") },
      }),
      ...(byKey && { key: { summary: "By an organization's key", value: exampleOf(byKey, schemas, "all") } }),
    };
    return {
      ...(!byPerson && { description: "For keys; people send none." }),
      required: ![body, bodyByKey].some((schema) => schema?.safeParse({}).success),
      content: {
        "application/json": {
          schema: byPerson && byKey ? { anyOf: [byPerson, byKey] } : byPerson || byKey || {},
          examples,
        },
      },
    };
  }

  function refusalOf(status: ErrorStatus, lowercaseToKeys = false): Reference {
    const name = `${refusals[status].name}${lowercaseToKeys ? "InEitherForm" : ""}`;
    if (!responses[name]) {
      const general = show(errorEnvelope, "output");
      const schema = lowercaseToKeys ? { anyOf: [general, show(lowercaseErrorEnvelope, "output")] } : general;
      responses[name] = {
        description: `${refusals[status].description} ${lowercaseToKeys ? "Keys get the lowercase form. " : ""}${codesOf(status)}`,
        headers: {
          ...onEveryAnswer,
          ...(status === 429 || status === 503 ? referencesTo("Retry-After") : {}),
        },
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

/** Takes away what only zod needs to say: closed objects, the bounds of safe integers, patterns of what has a format. */
function tidy({ jsonSchema }: { jsonSchema: Schema }) {
  if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
  if (jsonSchema.format) delete jsonSchema.pattern;
}

/** In order of their names, without those only their fields are shown of: the queries. */
function usedOf(schemas: Record<string, Schema>, elsewhere: unknown[]): Record<string, Schema> {
  const users = JSON.stringify([schemas, ...elsewhere]);
  const used = Object.entries(schemas).filter(([id]) => users.includes(`"#/components/schemas/${id}"`));
  return Object.fromEntries(used.sort(([a], [b]) => (a < b ? -1 : 1)));
}

function pathOf({ path }: DocumentedEndpoint): string {
  return `/api${path.replaceAll(/:(\w+)/g, "{$1}")}`;
}

/** The method and the path in camel case: stable, and unique as they are. */
function operationIdOf({ method, path }: DocumentedEndpoint): string {
  const words = path
    .split("/")
    .filter(Boolean)
    .flatMap((part) => (part.startsWith(":") ? ["by", ...part.slice(1).split("_")] : part.split("-")));
  return [method, ...words]
    .map((word, i) => (i === 0 ? word : word.charAt(0).toUpperCase() + word.slice(1)))
    .join("");
}

function referencesTo(...names: (keyof typeof headers)[]): Record<string, Reference> {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

function parameter(name: keyof ReturnType<typeof sharedParameters>): Reference {
  return { $ref: `#/components/parameters/${name}` };
}

const localizedIds = [category, tag, tagReference].map((schema) => schema.meta()?.id);

/** Whether names of categories or tags are in it, however deep. */
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

function meaningOf(status: string, answers: DocumentedEndpoint["answers"]): string {
  if (status === "201") return "Created.";
  return 201 in answers ? "It was there already." : "OK.";
}

/** Whether a body can say anything at all. */
function isSomething(body: z.ZodType): boolean {
  return !(body instanceof z.ZodObject) || Object.keys(body.shape).length > 0;
}

const readiness = z.object({
  status: z.enum(["ready", "unavailable"]),
  database: z.enum(["ok", "unreachable"]),
  migrations: z
    .enum(["current", "behind"])
    .describe("Whether the database has every migration the functions need."),
  unset_variables: z
    .array(z.string())
    .describe(
      "Names of variables that the operator should set (docs/deploy.md); their absence keeps nothing from answering.",
    ),
});

function pathsOfHealth(show: (schema: z.ZodType, io: "output") => Schema): OpenApi["paths"] {
  const answer = (description: string, shape: z.ZodType): Response => ({
    description,
    headers: onEveryAnswer,
    content: { "application/json": { schema: show(shape, "output") } },
  });
  const common = {
    tags: ["Service"],
    description: "Open to everyone; no limit counts it.",
    security: [{}],
    parameters: [],
  };
  return {
    "/api/health": {
      get: {
        operationId: "getHealth",
        summary: "Whether the service runs",
        ...common,
        responses: { 200: answer("It does.", z.object({ status: z.literal("ok") })) },
      },
    },
    "/api/ready": {
      get: {
        operationId: "getReady",
        summary: "Whether it can answer: the database is there and migrated",
        ...common,
        responses: { 200: answer("It can.", readiness), 503: answer("It cannot just now.", readiness) },
      },
    },
  };
}
