import { isUtf8 } from "node:buffer";
import { Agent, type IncomingMessage, type ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { networkOf } from "../../shared/network-address.ts";
import { identityOfToken, type Keys } from "../auth/identity.ts";
import type { DataApi } from "../data-api/postgrest.ts";
import { isAdminPath, isAuthPath, missingPath } from "../lite/paths.ts";
import { bufferBody } from "./body.ts";
import type { BufferedBytes } from "./buffered-bytes.ts";
import { credentialsOf } from "./credentials.ts";
import { rejectBody } from "./data-api-body.ts";
import { isDataApiPath, parametersOf, rejectQuery } from "./data-api-query.ts";
import {
  type GatewayError,
  lateBody,
  sendError,
  serviceUnavailable,
  tooManyRequests,
  tooMuchHeld,
  unknownPath,
} from "./errors.ts";
import { type BufferedRequest, type BufferedResponse, fetchBuffered } from "./forward.ts";
import { headersFor, valuesOf } from "./headers.ts";
import type { GatewayLimits } from "./limits.ts";
import { RequestQueue } from "./request-queue.ts";
import { SlowStatements } from "./slow-statements.ts";
import type { Target } from "./target.ts";

export interface DataOptions {
  addressHeader: string;
  limits: GatewayLimits;
  heldBytes: BufferedBytes;
  keys: Keys;
  /** Null while down. */
  authPort(): number | null;
  /** Auth is a program of Supabase Auth, which knows neither API keys nor the prefix of its paths. */
  authIsProgram?: boolean;
  /** Null while starting. */
  dataApi(): Omit<DataApi, "stop"> | null;
}

/** Bytes of a response. */
const maxAnswerBytes = 10 * 1024 * 1024;
const pieceLength = 16 * 1024;

export const cors = {
  "access-control-allow-origin": "*",
  "access-control-expose-headers":
    "Content-Range, Content-Location, Preference-Applied, X-Total-Count, Link, Retry-After",
};

/** Clients of Supabase show the message of this form. */
export const unknownOfSupabase: GatewayError = { ...unknownPath, headers: cors, form: "rest" };

/** Handles /auth/v1 and /rest/v1: enforces all limits before using shared resources. */
export function createData(options: DataOptions) {
  const { addressHeader, limits, heldBytes, keys, authPort, authIsProgram, dataApi } = options;
  const queues = { auth: new RequestQueue(limits.auth), rest: new RequestQueue(limits.rest) };
  const slowWork = new SlowStatements(limits.slowWorkMs, limits.slowWorkWindowMs, limits.slowMs);
  const agent = new Agent({ keepAlive: true });
  let verifying: Promise<unknown> = Promise.resolve();

  return {
    async answer(
      name: "auth" | "rest",
      target: Target,
      address: string,
      incoming: IncomingMessage,
      response: ServerResponse,
    ) {
      const respond = (error: GatewayError) => sendError(response, { ...error, headers: cors, form: name });
      const { method = "" } = incoming;
      const network = networkOf(address);
      if (method === "OPTIONS") return preflight(incoming, response);
      if (!methods.has(method)) return respond(notThisMethod);
      const isServed = name === "rest" ? isDataApiPath(target.path) : authIsProgram || isAuthPath(target.path);
      if (!isServed && name === "auth") return respond({ ...unknownPath, ...missingPath(target.path) });
      if (!isServed)
        return respond({ ...unknownPath, postgrestCode: "PGRST125", message: "Invalid path specified in request URL" });
      const admit = name === "rest" ? admitToDataApi : authIsProgram ? admitToProgram : admitToAuth;
      const admitted = await admit(incoming, target, address);
      if ("status" in admitted) return respond(admitted);
      const maxBytes = name === "auth" ? limits.authBody : limits.restBody;
      const declared = Math.min(Number(incoming.headers["content-length"] ?? 0), maxBytes);
      const expected = incoming.headers["transfer-encoding"] === undefined ? declared : maxBytes;
      if (!heldBytes.hold(network, expected, response)) return respond(tooMuchHeld);
      const body = await bufferBody(incoming, maxBytes, limits.bodyMs);
      if (body === "late") return respond(lateBody(limits.bodyMs));
      if (!body.isWhole) return respond(tooLarge(`The body is larger than ${maxBytes >> 10} KiB.`));
      const content = /^(?:GET|HEAD)$/.test(method) ? Buffer.alloc(0) : Buffer.concat(body.chunks);
      const rejected = name === "rest" && rejectBody(target.path, incoming.headers["content-type"], content);
      if (rejected) return respond(rejected);
      const { person, path, headers } = admitted;
      const callers = [`address ${network}`, ...(person === null ? [] : [`person ${person}`])];
      const wait = name === "rest" ? slowWork.retryAfter(callers) : 0;
      if (wait > 0) return respond(tooManyRequests("Too many slow requests: ask for less at once, and later.", wait));
      const release = await queues[name].acquire(callers);
      if (release === null) return respond(tooManyRequests("Too many requests at once: send fewer in parallel.", 1));
      const startedAt = performance.now();
      const outgoing = { path, method, headers, body: content, agent };
      const answer = await (name === "auth" ? askAuthInTurn(outgoing) : askDataApi(outgoing)).finally(release);
      if (name === "rest") slowWork.charge(callers, performance.now() - startedAt);
      if ("code" in answer) return respond(answer);
      if (!heldBytes.hold(network, answer.body.length, response)) return respond(tooMuchHeld);
      const length = answer.body.length > 0 ? { "content-length": answer.body.length } : {};
      response.writeHead(answer.status, { ...answer.headers, ...length, ...cors });
      await pipeline(Readable.from(piecesOf(answer.body)), response);
    },
    close: () => agent.destroy(),
  };

  async function admitToAuth(
    incoming: IncomingMessage,
    { path, search }: Target,
    address: string,
  ): Promise<Admitted | GatewayError> {
    // Only the admin's calls need the secret key, which becomes the service's token.
    const admin = isAdminPath(path)
      ? await credentialsOf(keys, incoming, path, new URLSearchParams(search))
      : undefined;
    if (admin && "status" in admin) return admin;
    const token = /^Bearer ([\w-]+\.[\w-]+\.[\w-]+)$/i.exec(incoming.headers.authorization ?? "")?.[1] ?? "";
    const { person } = admin ?? (await identityOfToken(keys, token).catch(() => ({ person: null })));
    return {
      person,
      path: path + search,
      headers: [
        ...headersFor(incoming, addressHeader, "host", "content-length", ...(admin ? ["authorization"] : [])),
        ...(admin?.authorization ? ["authorization", admin.authorization] : []),
        ...[addressHeader, address],
      ],
    };
  }

  async function admitToProgram(
    incoming: IncomingMessage,
    target: Target,
    address: string,
  ): Promise<Admitted | GatewayError> {
    const query = parametersOf(target.search);
    if ("status" in query) return query;
    const credentials = await credentialsOf(keys, incoming, target.path, query);
    if ("status" in credentials) return credentials;
    const { person, authorization } = credentials;
    return {
      person,
      path: `${target.path.replace("/auth/v1", "") || "/"}?${query}`,
      headers: [
        ...headersFor(incoming, addressHeader, ...replaced),
        ...(authorization ? ["authorization", authorization] : []),
        // Auth's limits count by the first header; its sessions show the second.
        ...[addressHeader, networkOf(address), "x-forwarded-for", address],
      ],
    };
  }

  async function admitToDataApi(incoming: IncomingMessage, target: Target): Promise<Admitted | GatewayError> {
    const { method = "", rawHeaders } = incoming;
    const type = incoming.headers["content-type"];
    const query = parametersOf(target.search);
    if ("status" in query) return query;
    const credentials = await credentialsOf(keys, incoming, target.path, query);
    if ("status" in credentials) return credentials;
    const { person, authorization } = credentials;
    // PostgREST passes only the last of several to the database.
    const prefer = valuesOf(rawHeaders, "prefer").join(", ");
    const problem = rejectQuery(method, target.path, query, prefer);
    if (problem) return problem;
    if (!isUtf8(Buffer.from(rawHeaders.join(), "latin1"))) return unreadable;
    return {
      person,
      path: `${target.path.replace("/rest/v1", "")}?${query}`,
      headers: [
        ...headersFor(incoming, ...replaced, "content-type"),
        // PostgREST knows media types in lower case only.
        ...(type ? ["content-type", type.toLowerCase()] : []),
        ...(prefer ? ["prefer", prefer] : []),
        ...(authorization ? ["authorization", authorization] : []),
      ],
    };
  }

  // Supabase Auth reads and uses a token without a lock: the same half of a change of address could count for both.
  function askAuthInTurn(request: BufferedRequest) {
    if (!authIsProgram || !request.path.startsWith("/verify")) return askAuth(request);
    const answer = verifying.then(() => askAuth(request));
    verifying = answer.catch(() => undefined);
    return answer;
  }

  async function askAuth(request: BufferedRequest): Promise<BufferedResponse | GatewayError> {
    const port = authPort();
    if (port === null) return serviceUnavailable("Auth is");
    const listener = { host: "127.0.0.1", port };
    return (await fetchBuffered(listener, request, maxAnswerBytes, limits.answerMs)) ?? tooMuch;
  }

  async function askDataApi(request: BufferedRequest): Promise<BufferedResponse | GatewayError> {
    const api = dataApi();
    const listener = api?.listener();
    if (!api || !listener) return api?.reasonOff ? { ...dataApiOff, message: api.reasonOff } : dataApiDown;
    const end = api.begin();
    try {
      const answer = await fetchBuffered(listener, request, maxAnswerBytes, limits.answerMs);
      return answer === null ? tooMuch : (failureOf(answer) ?? answer);
    } catch {
      return dataApiDown;
    } finally {
      end();
    }
  }
}

/** A request that may be sent upstream. */
interface Admitted {
  /** User id. */
  person: string | null;
  path: string;
  headers: string[];
}

/** Headers that PostgREST and Supabase Auth get from the gateway, or not at all. */
const replaced = ["host", "content-length", "apikey", "authorization", "cookie", "prefer"];

const tooLarge = (message: string): GatewayError => ({ status: 413, code: "PAYLOAD_TOO_LARGE", message });
const tooMuch = tooLarge(
  `The response is larger than ${maxAnswerBytes >> 20} MiB: request fewer rows or columns, or pages with limit and offset.`,
);
const dataApiDown = serviceUnavailable("The data API is");
const dataApiOff = { status: 503, code: "SERVICE_UNAVAILABLE" } as const;
const unreadable: GatewayError = {
  status: 400,
  code: "VALIDATION_ERROR",
  message: "The data API cannot read the request: its headers are too long, or not UTF-8.",
};

/**
 * Replaces three kinds of errors of PostgREST: those that contain the database's address, statements that backends.ts
 * canceled, and plain-text errors of PostgREST's HTTP server.
 */
function failureOf({ status, headers, body }: BufferedResponse): GatewayError | undefined {
  if (status < 400) return undefined;
  if (!String(headers["content-type"]).includes("json")) return status < 500 ? unreadable : dataApiDown;
  const text = body.toString();
  if (/"code":"PGRST00[0-2]"/.test(text)) return dataApiDown;
  const isTooMuch = /canceling statement due to user request|"code":"53200"/.test(text);
  return isTooMuch ? tooMuch : undefined;
}

const methods = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]);
const notThisMethod: GatewayError = {
  status: 405,
  code: "VALIDATION_ERROR",
  message: "The method is not supported: use GET, HEAD, POST, PUT, PATCH or DELETE.",
};

/** In many chunks, so that the amount that the client has read is known. */
function* piecesOf(body: Buffer): Generator<Buffer> {
  for (let at = 0; at < body.length; at += pieceLength) yield body.subarray(at, at + pieceLength);
}

export function preflight(incoming: IncomingMessage, response: ServerResponse): void {
  response.writeHead(200, {
    ...cors,
    "access-control-allow-methods": "GET,HEAD,PUT,PATCH,POST,DELETE,OPTIONS",
    "access-control-allow-headers":
      incoming.headers["access-control-request-headers"] ??
      "authorization, apikey, content-type, prefer, x-client-info",
    "access-control-max-age": "3600",
    "content-length": "0",
  });
  response.end();
}
