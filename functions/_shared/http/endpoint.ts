import type { z } from "zod";
import type { Locale } from "../../../shared/locales.ts";
import type { RateLimitedOperation } from "../../../shared/rate-limits.ts";
import type { Scope } from "../../../shared/scopes.ts";
import type { Credential } from "../callers/credential.ts";
import type { Access, Results, Statement } from "../database/run.ts";
import { notFound } from "./api-error.ts";
import type { KeptBody } from "./kept-body.ts";

/** Input of a handler: parsed and validated; referenced rows may not exist. */
export type Input<Query = unknown, Body = unknown, Param extends string = string, Prepared = unknown> = {
  /** Ids in the path. */
  params: Record<Param, string>;
  query: Query;
  body: Body;
  locale: Locale;
  /** Whether an organization key calls, rather than a user or an anonymous client. */
  byKey: boolean;
  /** Whether a signed-in user gets the response to see it: not for HEAD, prefetches and links of other sites. */
  isReadByUser: boolean;
  /** Id for the row this request creates, if any. */
  newId: string;
  /** Result of the endpoint's `prepare`. */
  prepared: Prepared;
};

/** Runs statements as a separate request: admitted and charged again, in a transaction of its own. */
export type Execute = <const Statements extends readonly Statement[]>(
  statements: Statements,
) => Promise<Results<Statements>>;

/** Runs statements as another caller, who has just signed in, in the same request. */
export type ExecuteAs = (credential: Credential) => Execute;

/** The response. json is text, so that JSON built by Postgres is passed through. */
export type JsonResponse = {
  status: number;
  /** The body: JSON, or HTML or plain text with such a content type. */
  json: string;
  /** In place of `json`, where it is sent more than once. */
  kept?: KeptBody;
  /** The body as it is sent. */
  bytes?: Uint8Array<ArrayBuffer>;
  headers?: Record<string, string>;
  /** Runs in the background after the response is sent; its statements are a separate request. */
  afterResponse?: () => Promise<readonly Statement[]>;
};

/** A long body with the content type of its headers; each chunk is read after the client received the one before. */
export type StreamResponse = {
  status: number;
  headers: Record<string, string>;
  bodyStream: (execute: Execute) => AsyncIterator<string>;
};

export type ApiResponse = JsonResponse | StreamResponse;

/** Input of an endpoint that needs more than one round trip. */
export type Work<Query = unknown, Param extends string = string, Body = unknown> = {
  input: Input<Query, Body, Param>;
  request: Request;
  execute: Execute;
  executeAs: ExecuteAs;
};

type Precheck<Given> = { authorize: (input: Given) => Statement; check: (input: Given) => Promise<void> };

/** The static description of a route. */
type RouteDescription = {
  method: "get" | "post" | "patch" | "put" | "delete";
  /** Path in Hono syntax. Parameters are UUIDs unless shared/path-parameters.ts says otherwise. */
  path: string;
  /** The callers it accepts. The database authorizes rows. */
  access: Access;
  /** Scopes of a key, one of which is required if `access` is caller. */
  scopes?: Scope[];
  /** Rule in private.rate_limit_rules charged in addition to the caller's level. */
  operation?: RateLimitedOperation | undefined;
  query?: z.ZodType | undefined;
  body?: z.ZodType | undefined;
  /** Body of a request by key, which may have more fields. */
  bodyByKey?: z.ZodType | undefined;
  /**
   * May run for seconds: it is charged in a transaction of its own, so that the caller's other requests do not wait.
   */
  runsLong?: boolean | undefined;
  /** Errors for keys use the lowercase envelope of the submission flow. */
  lowercaseErrorsToKeys?: boolean;
  /**
   * The response contains a secret, so it is not stored for an Idempotency-Key; for the form of a page it is stored
   * without the secret.
   */
  showsSecret?: boolean;
};

/** Runs in one round trip: `call` builds the statements, `respond` the response from their rows. */
export type StatementHandler = {
  /** Creates a value for both `call` and `respond`, such as a secret that is stored as a digest and returned once. */
  prepare?: () => unknown;
  /**
   * Checks conditions outside of the database, such as an address; after `authorize`, so that other callers do not
   * learn the result.
   */
  precheck?: Precheck<never> | undefined;
  // The types of input and results are those of the declaration, which the functions below check.
  call: (input: never) => readonly Statement[];
  respond: (results: never, input: never) => ApiResponse;
  work?: undefined;
};

/** Runs in several round trips, each a separate transaction, such as one for each part of a file. */
type WorkHandler = { work: (work: never) => Promise<ApiResponse> };

/** One method of one path as data: what the API and the pages have in common, and what `serve` handles. */
export type Route = RouteDescription & (StatementHandler | WorkHandler);

/** What the API's documentation says of an endpoint. */
type Documentation = {
  tag: string;
  summary: string;
  responses: { [status: number]: z.ZodType };
  /** Media types of the body and of the response, other than JSON. */
  consumes?: readonly string[];
  produces?: readonly string[];
};

/** A documented route below /api, read by the router, the OpenAPI document and the access tests. */
export type EndpointDescription = RouteDescription & Documentation;
export type StatementEndpoint = EndpointDescription & StatementHandler;
type WorkEndpoint = EndpointDescription & WorkHandler;
export type Endpoint = StatementEndpoint | WorkEndpoint;

type ParamOf<Path extends string> = Path extends `${string}:${infer Param}/${infer Rest}`
  ? Param | ParamOf<Rest>
  : Path extends `${string}:${infer Param}`
    ? Param
    : never;

type Parsed<Schema> = Schema extends z.ZodType ? z.output<Schema> : undefined;

// Fields that only a key may send are absent from a user's body.
type BodyOf<Body, ByKey> = ByKey extends z.ZodType ? Partial<z.output<ByKey>> & Parsed<Body> : Parsed<Body>;

type Described<Query, Body> = Omit<
  EndpointDescription,
  "method" | "path" | "tag" | "access" | "query" | "body" | "bodyByKey"
> & { access?: Access; query?: Query; body?: Body };

type Method = EndpointDescription["method"];

/** Declares an endpoint whose `call` and `respond` know the types of its schemas and statements. */
type Declare = <
  const Path extends string,
  const Statements extends readonly Statement[],
  Query extends z.ZodType | undefined = undefined,
  Body extends z.ZodType | undefined = undefined,
  BodyByKey extends z.ZodType | undefined = undefined,
  Prepared = undefined,
>(
  path: Path,
  definition: Described<Query, Body> & {
    bodyByKey?: BodyByKey;
    prepare?: () => Prepared;
    precheck?: Precheck<Input<Parsed<Query>, BodyOf<Body, BodyByKey>, ParamOf<Path>, Prepared>>;
    call: (input: Input<Parsed<Query>, BodyOf<Body, BodyByKey>, ParamOf<Path>, Prepared>) => Statements;
    respond: (
      results: Results<Statements>,
      input: Input<Parsed<Query>, BodyOf<Body, BodyByKey>, ParamOf<Path>, Prepared>,
    ) => ApiResponse;
  },
) => StatementEndpoint;

/** Declares an endpoint that needs more than one round trip; each `execute` is charged. */
type DeclareWork = <
  const Path extends string,
  Query extends z.ZodType | undefined = undefined,
  Body extends z.ZodType | undefined = undefined,
>(
  method: Method,
  path: Path,
  definition: Described<Query, Body> & {
    work: (work: Work<Parsed<Query>, ParamOf<Path>, Parsed<Body>>) => Promise<ApiResponse>;
  },
) => WorkEndpoint;

/** Declares the endpoints of one tag: a function for each method. An endpoint may have an `access` of its own. */
export function endpointsOf(common: Pick<EndpointDescription, "tag" | "access" | "scopes">) {
  const declare =
    (method: Method): Declare =>
    (path, definition) =>
      ({ ...common, ...definition, method, path }) as unknown as StatementEndpoint;
  const work: DeclareWork = (method, path, definition) =>
    ({ ...common, ...definition, method, path }) as unknown as WorkEndpoint;
  return {
    get: declare("get"),
    post: declare("post"),
    put: declare("put"),
    patch: declare("patch"),
    del: declare("delete"),
    work,
  };
}

/** The endpoint that a page or a tool is made of. */
export function endpointOf<Kind extends EndpointDescription>(
  endpoints: readonly Kind[],
  method: Method,
  path: string,
): Kind {
  const found = endpoints.find((endpoint) => endpoint.method === method && endpoint.path === path);
  if (!found) throw new Error(`No endpoint ${method} ${path}.`);
  return found;
}

type Rows = readonly { data?: string | null; total?: number }[];

/** Responds with the row of the last statement; NOT_FOUND without it. */
export const row =
  (what: string, status = 200) =>
  (results: readonly Rows[]) =>
    dataResponse(status, dataIn(results.at(-1), what));

/** Responds like `row`, with 201 if the first statement made a row. */
export const madeOrFound = (what: string) => (results: readonly Rows[]) =>
  dataResponse(results[0]?.length ? 201 : 200, dataIn(results[1], what));

/** Responds with a list of the last statement and its total; NOT_FOUND without it. */
export const rows = (what: string) => (results: readonly Rows[]) =>
  dataResponse(200, dataIn(results.at(-1), what), { total: results.at(-1)?.[0]?.total });

/** JSON of the first row; NOT_FOUND without it. */
export function dataIn(found: Rows | undefined, what: string): string {
  const data = found?.[0]?.data;
  if (!data) throw notFound(what);
  return data;
}

/** `{data, meta}`, with data as JSON text from Postgres. */
export function dataResponse(
  status: number,
  data: string,
  meta: object = {},
  headers?: Record<string, string>,
): JsonResponse {
  return { status, json: `{"data":${data},"meta":${JSON.stringify(meta)}}`, headers };
}
