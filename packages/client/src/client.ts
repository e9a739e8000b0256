import createClient, { type MaybeOptionalInit, type ParseAs } from "openapi-fetch";
import { errorOf, FeedbackError } from "./errors.ts";
import { type RetryOptions, retrying } from "./retry.ts";
import type { paths } from "./schema.ts";

/** Options of {@link createFeedbackClient}, with those of {@link RetryOptions}. */
export type ClientOptions = RetryOptions & {
  /** URL of the service, without /api: `https://feedback.example.org`. */
  url: string;
  /** An access token, a session of identify or an organization's key; a function is called before each call. */
  token?: string | (() => string | undefined | Promise<string | undefined>) | undefined;
  /** Id or slug of the organization, where the service has several. */
  organization?: string | undefined;
  /** Language of the names of categories and tags. */
  language?: string | undefined;
  /** Replaces the global fetch, for example for a proxy or in tests. */
  fetch?: (request: Request) => Promise<Response>;
};

type Verb = "get" | "post" | "put" | "patch" | "delete";

/**
 * The paths that have a method.
 *
 * @example
 * ```ts
 * import type { PathOf } from "@feedback-collection-service/client";
 *
 * const deletable: PathOf<"delete"> = "/api/submissions/{id}/vote";
 * ```
 */
export type PathOf<Method extends Verb> = {
  [Path in keyof paths]: paths[Path] extends Record<Method, object> ? Path : never;
}[keyof paths];

/**
 * Options of a call: `params` (path, query, header), `body`, `signal`, `headers`, `parseAs`.
 *
 * @example
 * ```ts
 * import type { Init } from "@feedback-collection-service/client";
 *
 * const newestIdeas: Init<"get", "/api/submissions"> = { params: { query: { type: "idea", sort: "created_at" } } };
 * ```
 */
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

/**
 * The data that a call returns, without the envelope.
 *
 * @example
 * ```ts
 * import type { DataOf } from "@feedback-collection-service/client";
 *
 * type Submission = DataOf<"get", "/api/submissions">[number];
 * const titleOf = ({ title, vote_count }: Submission) => `${title} (${vote_count})`;
 * ```
 */
export type DataOf<Method extends Verb, Path extends PathOf<Method>> = Unwrapped<BodyOf<Method, Path>>;

/**
 * The result of a call: either `data` with `meta`, which is `{}` where there is nothing to say, or `error`. `response` is
 * missing only if no response arrived.
 *
 * @example
 * ```ts
 * import type { Outcome } from "@feedback-collection-service/client";
 *
 * function must<Data>({ data, error }: Outcome<Data>): Data {
 *   if (error) throw error;
 *   return data;
 * }
 * ```
 */
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

/**
 * The calls, by method. Each takes a path of the OpenAPI document with its {@link Init}, and resolves to an
 * {@link Outcome}.
 */
export type Client = {
  /** Reads. Repeated after a lost connection, 502, 503 and 504. */
  GET: Call<"get">;
  /** Creates. With an organization's key it has an Idempotency-Key and is repeated like GET. */
  POST: Call<"post">;
  /** Replaces. Repeated like GET. */
  PUT: Call<"put">;
  /** Changes. Repeated only after a 429. */
  PATCH: Call<"patch">;
  /** Deletes. Repeated like GET. */
  DELETE: Call<"delete">;
};

/**
 * A client of the service. Its calls resolve to `{ data, meta }` or `{ error }` and reject only when the caller's
 * signal aborts them.
 *
 * @param options - URL of the service, credential, and limits of repeated calls.
 * @returns The calls, by method.
 *
 * @example
 * ```ts
 * import { createFeedbackClient } from "@feedback-collection-service/client";
 *
 * const feedback = createFeedbackClient({ url: "https://feedback.example.com", organization: "acme" });
 * const { data, meta, error } = await feedback.GET("/api/submissions", {
 *   params: { query: { sort: "votes", limit: 5 } },
 * });
 * if (error) console.error(error.code, error.message);
 * else console.log(`${data.length} of ${meta.total}`);
 * ```
 */
export function createFeedbackClient(options: ClientOptions): Client {
  const { url, token, organization, language, ...retry } = options;
  const { fetch = (request: Request) => globalThis.fetch(request) } = options;
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
      if (request.method === "POST" && bearer?.startsWith("fcs_org_") && !request.headers.has("Idempotency-Key"))
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
      return isEnvelope(data) ? { data: data.data, meta: data.meta, response } : { data, meta: undefined, response };
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

/** Wraps an error of the request or of reading its response. */
function failureOf(cause: unknown): FeedbackError {
  return cause instanceof SyntaxError
    ? new FeedbackError("UNEXPECTED_RESPONSE", "The response is not JSON.", { cause })
    : new FeedbackError("NETWORK_ERROR", cause instanceof Error ? cause.message : String(cause), { cause });
}
