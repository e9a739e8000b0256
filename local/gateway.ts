import { randomUUID } from "node:crypto";
import {
  Agent,
  createServer,
  type IncomingMessage,
  request,
  type Server,
  type ServerResponse,
} from "node:http";
import type { Duplex } from "node:stream";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ReadableStream } from "node:stream/web";
import { rateHeaders } from "../functions/_shared/rate-headers.ts";
import type { ErrorCode } from "../shared/errors.ts";
import { clientAddress } from "./client-address.ts";

export interface GatewayOptions {
  /** Carries the caller's address to the functions; its name is secret, so that no client can send it. */
  addressHeader: string;
  /** In which the operator's own proxy writes the client's address; without one it is the socket's. */
  proxyHeader?: string | undefined;
  /** Auth and data API, once they are up. */
  data(): ((request: Request, clientAddress: string) => Promise<Response>) | null;
  /** The port of a function by name, or null while it is down; undefined when there is none of that name. */
  functionPort(name: string): number | null | undefined;
  /** Of realtime's HTTP side, or null while it is down. */
  realtimePort?(): number | null;
  /** Takes over a websocket upgrade and says so, or leaves it. */
  upgrade?(request: IncomingMessage, socket: Duplex, head: Buffer): boolean;
}

const largestBody = 10 * 1024 * 1024;
// A session cookie in many chunks passes, as it does at the functions' own listener.
const largestHeaders = 64 * 1024;
const untrusted = /^(?:x-forwarded-.*|forwarded|x-real-ip|cf-connecting-ip|true-client-ip)$/;
const hopByHop = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

export function createGateway(options: GatewayOptions): Server {
  const agent = new Agent({ keepAlive: true, maxSockets: 256 });
  const server = createServer({ maxHeaderSize: largestHeaders }, (incoming, response) => {
    route(incoming, response, options, agent).catch(() => {
      if (response.headersSent) response.destroy();
      else refuse(response, 503, "SERVICE_UNAVAILABLE", "The service is not available; try again shortly.");
    });
  });
  server.keepAliveTimeout = 65_000;
  // A file to import comes in as fast as the database writes it.
  server.requestTimeout = 3_600_000;
  server.on("upgrade", (incoming, socket, head) => {
    socket.on("error", () => undefined);
    if (!options.upgrade?.(incoming, socket, head)) {
      socket.end("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    }
  });
  server.on("close", () => agent.destroy());
  return server;
}

async function route(
  incoming: IncomingMessage,
  response: ServerResponse,
  options: GatewayOptions,
  agent: Agent,
): Promise<void> {
  const url = parse(incoming);
  if (url === null) return refuse(response, 404, "NOT_FOUND", "There is nothing at this address.");
  if (/^\/(?:auth|rest)\/v1(?:\/|$)/.test(url.pathname)) return answerData(incoming, response, url, options);
  const path = url.pathname.replace(/^\/functions\/v1(?=\/)/, "");
  const isRealtime = /^\/realtime\/v1\/api\//.test(path);
  const isFunction = path !== url.pathname || /^\/api(?:\/|$)/.test(path);
  const port = isRealtime
    ? (options.realtimePort?.() ?? null)
    : isFunction
      ? options.functionPort(path.split("/")[1] ?? "")
      : undefined;
  if (port === undefined) return refuse(response, 404, "NOT_FOUND", "There is nothing at this address.");
  if (port === null)
    return refuse(
      response,
      503,
      "SERVICE_UNAVAILABLE",
      `${isRealtime ? "Realtime is" : "The functions are"} not running; try again shortly.`,
    );
  return forward(incoming, response, {
    port,
    path: path + url.search,
    addressHeader: options.addressHeader,
    address: clientAddress(incoming, options.proxyHeader),
    agent,
  });
}

/** Normalised, so that no `..` leads past the prefixes that are served. */
function parse(incoming: IncomingMessage): URL | null {
  const target = incoming.url ?? "/";
  const text = target.startsWith("/") ? `http://127.0.0.1${target}` : target;
  return URL.canParse(text) ? new URL(text) : null;
}

async function answerData(
  incoming: IncomingMessage,
  response: ServerResponse,
  url: URL,
  options: GatewayOptions,
): Promise<void> {
  const cors = {
    "access-control-allow-origin": "*",
    "access-control-expose-headers":
      "Content-Range, Content-Location, Preference-Applied, X-Total-Count, Link, Retry-After",
  };
  if (incoming.method === "OPTIONS") {
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
    return;
  }
  const data = options.data();
  if (data === null)
    return refuse(response, 503, "SERVICE_UNAVAILABLE", "The service is starting; try again shortly.", cors);
  const body = await readBody(incoming);
  if (body === null)
    return refuse(response, 413, "PAYLOAD_TOO_LARGE", "The body is larger than 10 MiB.", cors);
  const answer = await data(
    new Request(`http://${incoming.headers.host ?? "127.0.0.1"}${url.pathname}${url.search}`, {
      method: incoming.method ?? "GET",
      headers: forwardedHeaders(incoming, options.addressHeader),
      ...(body.length > 0 ? { body: new Uint8Array(body) } : {}),
    }),
    clientAddress(incoming, options.proxyHeader),
  );
  response.writeHead(answer.status, { ...Object.fromEntries(answer.headers), ...cookies(answer), ...cors });
  if (answer.body === null) response.end();
  else await pipeline(Readable.fromWeb(answer.body as ReadableStream), response);
}

function cookies(answer: Response): Record<string, string[]> {
  const list = answer.headers.getSetCookie();
  return list.length > 0 ? { "set-cookie": list } : {};
}

async function readBody(incoming: IncomingMessage): Promise<Buffer | null> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of incoming) {
    length += chunk.length;
    if (length > largestBody) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function forwardedHeaders(incoming: IncomingMessage, addressHeader: string): [string, string][] {
  const headers: [string, string][] = [];
  for (let index = 0; index + 1 < incoming.rawHeaders.length; index += 2) {
    const name = (incoming.rawHeaders[index] ?? "").toLowerCase();
    if (hopByHop.has(name) || untrusted.test(name) || name === addressHeader) continue;
    headers.push([name, incoming.rawHeaders[index + 1] ?? ""]);
  }
  return headers;
}

interface Target {
  port: number;
  path: string;
  addressHeader: string;
  address: string;
  agent: Agent;
}

function forward(incoming: IncomingMessage, response: ServerResponse, target: Target): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = [
      ...forwardedHeaders(incoming, target.addressHeader),
      [target.addressHeader, target.address],
    ].flat();
    if (incoming.headers["transfer-encoding"]) headers.push("transfer-encoding", "chunked");
    const outgoing = request({
      host: "127.0.0.1",
      port: target.port,
      path: target.path,
      method: incoming.method,
      agent: target.agent,
      headers,
    });
    outgoing.on("response", (answer) => {
      const kept = Object.entries(answer.headers).filter(([name]) => !hopByHop.has(name));
      response.writeHead(answer.statusCode ?? 502, Object.fromEntries(kept));
      // Event streams: what is written goes out at once, and the head before it.
      response.flushHeaders();
      pipeline(answer, response).then(() => {
        // Answered before the whole body was read: the rest must not hold up the connection's next request.
        if (!outgoing.writableFinished) {
          incoming.unpipe(outgoing);
          incoming.resume();
          outgoing.destroy();
        }
        resolve();
      }, reject);
    });
    outgoing.on("error", reject);
    response.on("close", () => response.writableFinished || outgoing.destroy());
    incoming.pipe(outgoing);
  });
}

/** In the form of the API's own refusals, whoever was asked. */
function refuse(
  response: ServerResponse,
  status: number,
  code: ErrorCode,
  message: string,
  headers: Record<string, string> = {},
): void {
  const requestId = randomUUID();
  const isDown = code === "SERVICE_UNAVAILABLE";
  const error = { code, message, details: [], ...(isDown && { request_id: requestId }) };
  const body = JSON.stringify({ error });
  response.writeHead(status, {
    ...headers,
    ...rateHeaders(),
    ...(isDown && { "retry-after": "1" }),
    "x-request-id": requestId,
    "content-type": "application/json; charset=utf-8",
    "content-length": Buffer.byteLength(body),
  });
  response.end(body);
}
