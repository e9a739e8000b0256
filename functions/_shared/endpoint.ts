import type { z } from "zod";
import type { Locale } from "../../shared/locales.ts";
import type { Scope } from "../../shared/scopes.ts";
import type { Access, Results, Statement } from "./database.ts";

/** What a handler is given: everything parsed, nothing yet trusted to exist. */
export type Input<Query = unknown, Body = unknown, Param extends string = string, Prepared = unknown> = {
  /** Ids of the path. */
  params: Record<Param, string>;
  query: Query;
  body: Body;
  locale: Locale;
  /** Whether an organization's key calls, rather than a person or nobody. */
  byKey: boolean;
  /** For the row this request makes, if it makes one. */
  newId: string;
  /** What the endpoint's `prepare` made. */
  prepared: Prepared;
};

/** Statements as a request of their own: admitted and charged anew, in a transaction of their own. */
export type Ask = <const Statements extends readonly Statement[]>(
  statements: Statements,
) => Promise<Results<Statements>>;

/** JSON as text: what Postgres built is passed on as it is. */
export type Answer = {
  status: number;
  json: string;
  headers?: Record<string, string>;
  /** In the place of json: a long text, of the type its headers say, each piece asked for when the reader took the one before. */
  pieces?: (ask: Ask) => AsyncIterator<string>;
  /** What is worth doing when the caller has gone: it makes statements of a request of its own. */
  later?: () => Promise<readonly Statement[]>;
};

/** What takes more than one round trip before there is an answer. */
export type Work<Query = unknown, Param extends string = string> = {
  input: Input<Query, undefined, Param>;
  request: Request;
  ask: Ask;
};

type Vet<Given> = { rights: (input: Given) => Statement; look: (input: Given) => Promise<void> };

/** One method of one path, as data: the router, the OpenAPI document and the tests of access read it. */
export type Endpoint = {
  method: "get" | "post" | "patch" | "put" | "delete";
  /** Below /api, in Hono's form; every parameter is a UUID, or what shared/path-parameters.ts says of its name. */
  path: string;
  tag: string;
  summary: string;
  /** Who may try; what they may do with which row the database decides. */
  access: Access;
  /** A key needs one of these where `access` is caller. */
  scopes?: Scope[];
  /** The rule of private.rate_limit_rules that counts it, besides the caller's level. */
  operation?: string;
  query?: z.ZodType;
  body?: z.ZodType;
  /** The body of a key, where it may say more than a person. */
  bodyByKey?: z.ZodType;
  answers: { [status: number]: z.ZodType };
  /** May run for seconds: its charge commits first, so that the caller's other requests do not wait for it. */
  runsLong?: boolean;
  /** Errors to a key take the lowercase form of the submission-creation flow. */
  lowercaseErrorsToKeys?: boolean;
  /** Its answer shows a secret once: it is not kept for an Idempotency-Key. */
  showsSecret?: boolean;
  /** Makes what `call` and `respond` both need, such as a secret that is stored hashed and shown once. */
  prepare?: () => unknown;
  /** Refuses what only a look outside tells, before the statements run and after `rights` let the caller: nobody else learns what it finds. */
  vet?: Vet<never>;
  call: (input: Input) => readonly Statement[];
  respond: (results: never, input: Input) => Answer;
  /** In the place of call and respond. */
  work?: (work: Work) => Promise<Answer>;
  /** Media types of a body that `work` reads, or of the answer, other than JSON. */
  takes?: readonly string[];
  gives?: readonly string[];
};

type ParamOf<Path extends string> = Path extends `${string}:${infer Param}/${infer Rest}`
  ? Param | ParamOf<Rest>
  : Path extends `${string}:${infer Param}`
    ? Param
    : never;

type Parsed<Schema> = Schema extends z.ZodType ? z.output<Schema> : undefined;

// What only a key may say is absent from a person's body.
type BodyOf<Body, ByKey> = ByKey extends z.ZodType ? Partial<z.output<ByKey>> & Parsed<Body> : Parsed<Body>;

/** Declares an endpoint: `call` makes the statements of one round trip, `respond` makes the answer of their rows. */
export function endpoint<
  const Path extends string,
  const Statements extends readonly Statement[],
  Query extends z.ZodType | undefined = undefined,
  Body extends z.ZodType | undefined = undefined,
  BodyByKey extends z.ZodType | undefined = undefined,
  Prepared = undefined,
>(
  definition: Omit<
    Endpoint,
    "path" | "query" | "body" | "bodyByKey" | "prepare" | "vet" | "call" | "respond"
  > & {
    path: Path;
    query?: Query;
    body?: Body;
    bodyByKey?: BodyByKey;
    prepare?: () => Prepared;
    vet?: Vet<Input<Parsed<Query>, BodyOf<Body, BodyByKey>, ParamOf<Path>, Prepared>>;
    call: (input: Input<Parsed<Query>, BodyOf<Body, BodyByKey>, ParamOf<Path>, Prepared>) => Statements;
    respond: (
      results: Results<Statements>,
      input: Input<Parsed<Query>, BodyOf<Body, BodyByKey>, ParamOf<Path>, Prepared>,
    ) => Answer;
  },
): Endpoint {
  return definition as unknown as Endpoint;
}

/** Declares an endpoint that reads its body piece by piece. */
export function longEndpoint<const Path extends string, Query extends z.ZodType | undefined = undefined>(
  definition: Omit<
    Endpoint,
    "path" | "query" | "body" | "bodyByKey" | "prepare" | "call" | "respond" | "work"
  > & {
    path: Path;
    query?: Query;
    work: (work: Work<Parsed<Query>, ParamOf<Path>>) => Promise<Answer>;
  },
): Endpoint {
  const shown = { ...definition, runsLong: true, call: () => [], respond: () => answer(500, "null") };
  return shown as unknown as Endpoint;
}

/** `{data, meta?}`, with data as Postgres wrote it. */
export function answer(
  status: number,
  data: string,
  meta?: object,
  headers?: Record<string, string>,
): Answer {
  return {
    status,
    json: meta ? `{"data":${data},"meta":${JSON.stringify(meta)}}` : `{"data":${data}}`,
    headers,
  };
}
