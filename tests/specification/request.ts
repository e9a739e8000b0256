import type { PostgrestSingleResponse, SupabaseClient } from "@supabase/supabase-js";
import { expect } from "vitest";
import type { Database } from "../../shared/database.types.ts";
import { type ErrorCode, errorOfSqlState, errors } from "../../shared/errors.ts";
import { api, expectError, expectLowercaseError, type Method, send as sendAny } from "../api/client.ts";
import type { HttpAnswer } from "../http.ts";
import { type Asked, client, listen, type ReceivedChange, settled } from "../realtime/listening.ts";
import { stack, supabase, type User } from "../stack.ts";
import type { CallerName } from "./makers/index.ts";
import type { Scene } from "./scene.ts";

type Tables = keyof (Database["public"]["Tables"] & Database["public"]["Views"]);
type Functions = keyof Database["public"]["Functions"];
type Table = ReturnType<SupabaseClient["from"]>;

type Options = {
  headers?: Record<string, string>;
  /** Sent unchanged in place of the body. */
  raw?: string | string[];
  /** Names of things that must exist. */
  needs?: string;
  /** Without the header that selects the scene's organization. */
  anywhere?: true;
};

/**
 * The first word is the way. A method calls REST below /api; `rpc`, `from` and `listen` use supabase-js with the ids of
 * the named things; `tool` and `method` call JSON-RPC; `page` gets a page.
 */
export type Request =
  | `${Method} /${string}`
  | readonly [`${Method} /${string}`, body?: unknown, options?: Options]
  | readonly [`rpc ${Functions}`, args: object]
  | readonly [`from ${Tables}`, ids: readonly string[], query: (table: Table, ...ids: string[]) => PromiseLike<unknown>]
  | readonly [`listen ${Tables}`, asked: Omit<Asked, "table"> & { channel?: string }]
  | `tool ${string}`
  | readonly [`tool ${string}`, args?: object, params?: object]
  | `method ${string}`
  | readonly [`method ${string}`, params?: object]
  | `page /${string}`;

/** An error code of REST, with the fields of its details: it is the same error in every way of asking. */
type ServiceError = ErrorCode | `${ErrorCode} ${string}`;
type JsonRpcError = -32700 | -32600 | -32601 | -32602 | -32603 | -32000 | -32001 | -32002;

/**
 * What must come: a status, an error of the service, or the code of another refusal: of JSON-RPC, Postgres or
 * PostgREST.
 */
export type Comes = Status | JsonRpcError | ServiceError | `sqlstate ${string}`;
type Status = 200 | 201 | 204 | 301 | 302 | 303 | 304 | 400 | 401 | 404 | 405;

/** An answer in the same form for every way of asking. */
export type Answer = {
  status: number;
  headers: HttpAnswer["headers"];
  text: string;
  body: unknown;
  data: unknown;
  meta?: unknown;
  /** The object of the error. */
  error?: unknown;
  /** Changes that arrive at a `listen` row. */
  heard?: ReceivedChange[];
  expectComes(comes: Comes): void;
  /** For the page of examples: the body that was sent, and this step with all later ones. */
  sent?: unknown;
  steps?: { as: CallerName; request: Request; answer: Answer }[];
};

export async function send(as: CallerName, request: Request, scene: Scene): Promise<Answer> {
  const [what, ...rest] = typeof request === "string" ? [request] : request;
  const [way = "", ...words] = what.split(" ");
  const target = words.join(" ");
  const caller = as === "nobody" ? undefined : await scene.get(as);
  const token = caller?.token;
  if (way === "rpc") return bySupabase(await app(caller).rpc(target as Functions, rest[0] as never));
  if (way === "from") {
    const [ids, query] = rest as [string[], (table: Table, ...ids: string[]) => PromiseLike<unknown>];
    return bySupabase((await query(app(caller).from(target), ...ids)) as Outcome);
  }
  if (way === "listen") return hearing(caller, { ...(rest[0] as Asked), table: target });
  if (way === "tool") {
    const [args = {}, { needs: _, ...params } = {}] = rest as [object?, { needs?: string }?];
    return byJsonRpc("tools/call", { name: target, arguments: args, ...params }, token);
  }
  if (way === "method") return byJsonRpc(target, rest[0], token);
  if (way === "page") return byHttp(await sendAny("GET", target, { base: stack.site_url }));
  const [body, options = {}] = rest as [unknown, Options?];
  return byRest(way as Method, target, { body, token, ...options }, scene);
}

type Call = Options & { body: unknown; token: string | undefined };

async function byRest(method: Method, path: string, call: Call, scene: Scene): Promise<Answer> {
  const { body, token, anywhere, raw, headers } = call;
  const isKey = token?.startsWith("fcs_") ?? false;
  const answer = await api(method, `/api${path}`, {
    as: token === undefined ? undefined : { token },
    on: isKey || anywhere ? undefined : await scene.organization,
    ...(raw === undefined ? { body } : { raw }),
    headers: { ...(raw !== undefined && { "content-type": "application/json" }), ...headers },
  });
  // A token that is no access token is taken for a key.
  const isLowercase = token?.split(".").length === 1 && method === "POST" && path.split("?")[0] === "/submissions";
  return {
    ...byHttp(answer),
    sent: raw ?? body,
    expectComes(comes) {
      if (typeof comes === "number") {
        expectStatus(answer, comes);
        const hasEnvelope = Object.hasOwn((answer.body ?? {}) as object, "data");
        if (hasEnvelope) expect(answer.body, answer.text.slice(0, 1000)).toMatchObject({ meta: expect.any(Object) });
        return;
      }
      const [code, ...fields] = comes.split(" ");
      (isLowercase ? expectLowercaseError : expectError)(answer, code as ErrorCode, ...fields);
    },
  };
}

function byHttp(answer: HttpAnswer): Answer {
  const body = answer.body as { data?: unknown; meta?: unknown; error?: unknown } | undefined;
  const { data = body, meta, error } = body ?? {};
  return { ...answer, data, meta, error, expectComes: (comes) => expectStatus(answer, comes) };
}

const expectStatus = (answer: { status: number; text: string }, comes: Comes) =>
  expect(answer.status, answer.text.slice(0, 1000)).toBe(comes);

type Outcome = Omit<PostgrestSingleResponse<unknown>, "error"> & { error: { code: string; details: string } | null };

const app = (caller: object | undefined) => supabase(caller as User | undefined) as SupabaseClient;

/** An answer of supabase-js: a service error has its SQLSTATE as the code, and a JSON of code and field as details. */
function bySupabase({ data, error, status }: Outcome): Answer {
  const text = JSON.stringify(error ?? data);
  const details = error && errorOfSqlState(error.code) ? JSON.parse(error.details) : error;
  return {
    ...{ status, headers: {}, text, body: data, data, error: details },
    expectComes(comes) {
      if (typeof comes === "number") return expectStatus({ status, text }, comes);
      const [code, field] = comes.split(" ");
      if (code === "sqlstate") return expect(error?.code, text).toBe(field);
      expect(error?.code, text).toBe(errors[code as ErrorCode].sqlstate);
      if (field !== undefined) expect(details?.field, text).toBe(field);
    },
  };
}

async function byJsonRpc(method: string, params: unknown, token: string | undefined): Promise<Answer> {
  const call = { jsonrpc: "2.0", id: 1, method, params };
  const answer = await sendAny("POST", "/api/mcp/tools", {
    as: token === undefined ? undefined : { token },
    body: call,
  });
  const body = answer.body as { result?: unknown; error?: { code: number; data: Record<string, unknown> } } | undefined;
  return {
    ...answer,
    sent: call,
    ...{ body, data: body?.result, error: body?.error?.data },
    expectComes(comes) {
      if (comes === 200)
        return expect([answer.status, body?.error], answer.text.slice(0, 1000)).toEqual([200, undefined]);
      expect(body, answer.text.slice(0, 1000)).toMatchObject({
        jsonrpc: "2.0",
        error: { message: expect.any(String) },
      });
      if (typeof comes === "number") return expect(body?.error?.code, answer.text).toBe(comes);
      const [code, ...fields] = comes.split(" ");
      expect([body?.error?.code, body?.error?.data.code], answer.text).toEqual([
        errors[code as ErrorCode].jsonRpc,
        code,
      ]);
      const messages = (body?.error?.data.validation_errors ?? []) as string[];
      if (fields.length > 0) expect(messages.map((message) => message.split(" ")[0])).toEqual(fields);
    },
  };
}

async function hearing(
  caller: object | undefined,
  { channel, ...asked }: Asked & { channel?: string },
): Promise<Answer> {
  await settled(); // Changes before this are not heard.
  const heard = await listen(client(caller as User | undefined), asked, channel);
  const nothing = { status: 200, headers: {}, text: "", body: undefined, data: undefined };
  return { ...nothing, heard, expectComes: (comes) => expectStatus(nothing, comes) };
}
