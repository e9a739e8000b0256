import createClient, { type MaybeOptionalInit, type ParseAs } from "openapi-fetch";
import { errorOf, FeedbackError } from "./errors.ts";
import { type RetryOptions, retrying } from "./retry.ts";
import type { paths } from "./schema.ts";

export type ClientOptions = RetryOptions & {
  /** Where the service is, without /api: `https://feedback.example.org`. */
  url: string;
  /** An access token, a session of identify or an organization's key; a function is asked before each call. */
  token?: string | (() => string | undefined | Promise<string | undefined>) | undefined;
  /** Id or slug of the organization, where the service has several. */
  organization?: string | undefined;
  /** Language of the names of categories and tags. */
  language?: string | undefined;
  fetch?: (request: Request) => Promise<Response>;
};

type Verb = "get" | "post" | "put" | "patch" | "delete";

/** The paths that have a method. */
export type PathOf<Method extends Verb> = {
  [Path in keyof paths]: paths[Path] extends Record<Method, object> ? Path : never;
}[keyof paths];

/** What a call is given: `params` (path, query, header), `body`, `signal`, `headers`, `parseAs`. */
export type Init<Method extends Verb, Path extends PathOf<Method>> = MaybeOptionalInit<paths[Path], Method>;

type BodyOf<Method extends Verb, Path extends PathOf<Method>> =
  paths[Path] extends Record<Method, { responses: infer Responses }> ? SuccessOf<Responses> : never;

type SuccessOf<Responses> = {
  [Status in keyof Responses & (200 | 201 | 202)]: Responses[Status] extends {
    content: { "application/json": infer Body };
  }
    ? Body
    : never;
}[keyof Responses & (200 | 201 | 202)];

type Unwrapped<Body> = Body extends { data: infer Data } ? Data : Body;
type MetaOf<Body> = Body extends { meta: infer Meta } ? Meta : undefined;

/** The data that a call returns. */
export type DataOf<Method extends Verb, Path extends PathOf<Method>> = Unwrapped<BodyOf<Method, Path>>;

/** Either `data`, with `meta` of a list, or `error`. */
export type Outcome<Data, Meta = undefined> =
  | { data: Data; meta: Meta; error?: undefined; response: Response }
  | { data?: undefined; meta?: undefined; error: FeedbackError; response?: Response | undefined };

type Parsed<Given, Body> = Given extends { parseAs: "text" }
  ? Outcome<string>
  : Given extends { parseAs: "stream" }
    ? Outcome<Response["body"]>
    : Given extends { parseAs: "blob" }
      ? Outcome<Blob>
      : Given extends { parseAs: "arrayBuffer" }
        ? Outcome<ArrayBuffer>
        : Outcome<Unwrapped<Body>, MetaOf<Body>>;

type Call<Method extends Verb> = <Path extends PathOf<Method>, Given extends Init<Method, Path>>(
  path: Path,
  ...init: undefined extends Init<Method, Path> ? [Given?] : [Given]
) => Promise<Parsed<Given, BodyOf<Method, Path>>>;

export type Client = {
  GET: Call<"get">;
  POST: Call<"post">;
  PUT: Call<"put">;
  PATCH: Call<"patch">;
  DELETE: Call<"delete">;
};

/**
 * A client of the service. Its calls resolve to `{ data, meta }` or `{ error }` and reject only when the caller's
 * signal aborts them.
 */
export function createFeedbackClient({
  url,
  token,
  organization,
  language,
  fetch = (request) => globalThis.fetch(request),
  ...retry
}: ClientOptions): Client {
  const client = createClient<paths>({
    baseUrl: url,
    fetch: retrying(retry, fetch),
    headers: { "X-Organization": organization, "Accept-Language": language },
  });
  client.use({
    async onRequest({ request }) {
      const bearer = typeof token === "function" ? await token() : token;
      if (bearer !== undefined) request.headers.set("Authorization", `Bearer ${bearer}`);
      // The service keeps responses for keys only.
      if (
        request.method === "POST" &&
        bearer?.startsWith("fcs_org_") &&
        !request.headers.has("Idempotency-Key")
      )
        request.headers.set("Idempotency-Key", crypto.randomUUID());
    },
  });
  type Answer = { data?: unknown; error?: unknown; response: Response };
  type Send = (path: string, init?: object) => Promise<Answer>;
  const call =
    (send: Send) =>
    async (path: string, init: { parseAs?: ParseAs; signal?: AbortSignal | null } = {}) => {
      let answer: Answer;
      try {
        answer = await send(path, init);
      } catch (error) {
        if (init.signal?.aborted) throw error;
        return { error: failureOf(error) };
      }
      const { data, error, response } = answer;
      if (!response.ok) return { error: errorOf(response, error), response };
      if (init.parseAs && init.parseAs !== "json") return { data, meta: undefined, response };
      // Submissions created by key, and exports, have no envelope.
      return isEnvelope(data) ? { ...data, response } : { data, meta: undefined, response };
    };
  return {
    GET: call(client.GET as Send),
    POST: call(client.POST as Send),
    PUT: call(client.PUT as Send),
    PATCH: call(client.PATCH as Send),
    DELETE: call(client.DELETE as Send),
  } as Client;
}

function isEnvelope(body: unknown): body is { data: unknown; meta?: unknown } {
  return typeof body === "object" && body !== null && "data" in body;
}

/** Of what was thrown before or while a response was read. */
function failureOf(cause: unknown): FeedbackError {
  return cause instanceof SyntaxError
    ? new FeedbackError("UNEXPECTED_RESPONSE", "The response is not JSON.", { cause })
    : new FeedbackError("NETWORK_ERROR", cause instanceof Error ? cause.message : String(cause), { cause });
}
