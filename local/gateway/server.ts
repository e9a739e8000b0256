import { Agent, createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { notHere } from "../realtime/protocol.ts";
import { bufferBody, dropRest } from "./body.ts";
import { BufferedBytes } from "./buffered-bytes.ts";
import { clientAddress } from "./client-address.ts";
import { limitConnections } from "./connections.ts";
import { cors, createData, type DataOptions, preflight, unknownOfSupabase } from "./data.ts";
import { type GatewayError, lateBody, sendError, serviceUnavailable, unknownPath } from "./errors.ts";
import { forward, minCountedBytes } from "./forward.ts";
import { inTurn } from "./in-turn.ts";
import { defaultLimits, type GatewayLimits } from "./limits.ts";
import { disconnectSlowReader } from "./slow-readers.ts";
import type { FileStorage } from "./storage.ts";
import { readTarget } from "./target.ts";
import { readWithoutUpgrade } from "./without-upgrade.ts";

export interface GatewayOptions extends Pick<DataOptions, "keys" | "authPort" | "authIsProgram" | "dataApi"> {
  /** Header that carries the client address upstream; its name is secret, so that clients cannot set it. */
  addressHeader: string;
  /** Header with the visitor's address in the pages' requests to auth; its name is secret too. */
  visitorHeader?: string;
  /** Header in which the operator's proxy writes the client address; without it the socket address is used. */
  proxyHeader?: string | undefined;
  /** Port of a function by name; null while down, undefined if there is none. */
  functionPort(name: string): number | null | undefined;
  /** Shows captured mail; returns whether it responded. */
  mailbox?(response: ServerResponse, path: string): boolean;
  /** Handles /storage/v1. */
  storage?: FileStorage["answer"];
  /** Handles a websocket upgrade; returns whether it did. */
  upgrade?(request: IncomingMessage, socket: Duplex, head: Buffer): boolean;
  limits?: Partial<GatewayLimits>;
  /** Gets each request before it is handled. */
  observe?(incoming: IncomingMessage, response: ServerResponse): void;
}

// Allows a session cookie in many chunks, like the functions' listener.
const maxHeaderBytes = 64 * 1024;

type Gateway = Required<Pick<GatewayOptions, "addressHeader" | "functionPort">> &
  Pick<GatewayOptions, "proxyHeader" | "visitorHeader" | "mailbox" | "storage"> & {
    limits: GatewayLimits;
    heldBytes: BufferedBytes;
    data: ReturnType<typeof createData>;
    agent: Agent;
  };

export function createGateway(options: GatewayOptions): Server {
  const limits = { ...defaultLimits, ...options.limits };
  const heldBytes = new BufferedBytes(limits);
  const gateway: Gateway = {
    ...options,
    limits,
    heldBytes,
    data: createData({ ...options, limits, heldBytes }),
    // One socket for each request, so that unfinished requests do not block others.
    agent: new Agent({ keepAlive: true }),
  };
  // By default Node checks for late heads every half minute.
  const settings = {
    maxHeaderSize: maxHeaderBytes,
    connectionsCheckingInterval: limits.headMs / 4,
    // Node 24 and newer; without it they read the body of a declined offer apart from its head.
    shouldUpgradeCallback: isWebsocket,
  };
  const server = createServer(settings, (incoming, response) =>
    inTurn(incoming, response, () => {
      options.observe?.(incoming, response);
      disconnectSlowReader(response, limits.readBytes, limits.readMs);
      response.once("finish", () => dropRest(incoming));
      route(incoming, response, gateway).catch(() => sendError(response, unavailable));
    }),
  );
  server.keepAliveTimeout = 65_000;
  server.headersTimeout = limits.headMs;
  // By default Node drops headers after the 2,000th, also Content-Length and the proxy's; their bytes are limited.
  server.maxHeadersCount = 0;
  // An import is read as fast as the database writes it.
  server.requestTimeout = 3_600_000;
  limitConnections(server, limits);
  server.on("upgrade", (incoming, socket, head) => {
    // An earlier request of the connection is not answered yet: the answers could change places.
    if ("_httpMessage" in socket && socket._httpMessage) return void socket.destroy();
    // Any other offer of a protocol, such as h2c, is declined by an ordinary answer.
    if (!isWebsocket(incoming)) return readWithoutUpgrade(server, incoming, socket, head);
    socket.on("error", () => undefined);
    if ("status" in readTarget(incoming) || !options.upgrade?.(incoming, socket, head)) {
      // Of a client that does not read.
      setTimeout(() => socket.destroy(), limits.readMs).unref();
      socket.once("finish", () => socket.destroy());
      socket.end("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    }
  });
  server.on("close", () => {
    gateway.agent.destroy();
    gateway.data.close();
  });
  return server;
}

const isWebsocket = ({ headers }: IncomingMessage) => headers.upgrade?.toLowerCase() === "websocket";

const unavailable: GatewayError = {
  status: 503,
  code: "SERVICE_UNAVAILABLE",
  message: "The service is not available; try again shortly.",
  retryAfter: 1,
};
const tooLarge: GatewayError = { status: 413, code: "PAYLOAD_TOO_LARGE", message: "The body is larger than 64 MiB." };

// supabase-js shows the message of this form.
const noBroadcasts: GatewayError = {
  status: 403,
  code: "FORBIDDEN",
  message: notHere("broadcasts from clients"),
  headers: cors,
  form: "rest",
};

async function route(incoming: IncomingMessage, response: ServerResponse, gateway: Gateway): Promise<void> {
  const target = readTarget(incoming);
  if ("status" in target) return sendError(response, target);
  if (gateway.mailbox?.(response, target.path)) return;
  const forwarded = gateway.visitorHeader && incoming.headers[gateway.visitorHeader];
  const address =
    (typeof forwarded === "string" && forwarded) || clientAddress(incoming, gateway.proxyHeader) || "unknown";
  const [, service] = /^\/(auth|rest)\/v1(?:\/|$)/.exec(target.path) ?? [];
  if (service === "auth" || service === "rest")
    return gateway.data.answer(service, target, address, incoming, response);
  if (gateway.storage && target.path.startsWith("/storage/v1/") && incoming.method !== "OPTIONS")
    return gateway.storage(incoming, response, target.path);
  if (target.path.startsWith("/realtime/v1/api/"))
    return incoming.method === "OPTIONS" ? preflight(incoming, response) : sendError(response, noBroadcasts);
  const path = target.path.replace(/^\/functions\/v1(?=\/)/, "");
  const isSupabase = /^\/(?:functions|storage|graphql|realtime)(?:\/|$)/.test(target.path);
  // All other paths are pages.
  const name = /^\/api(?:\/|$)/.test(path) || path !== target.path ? (path.split("/")[1] ?? "") : "web";
  const port = isSupabase && path === target.path ? undefined : gateway.functionPort(name);
  if (port === undefined && isSupabase)
    return incoming.method === "OPTIONS" ? preflight(incoming, response) : sendError(response, unknownOfSupabase);
  if (port === undefined) return sendError(response, unknownPath);
  if (port === null) return sendError(response, serviceUnavailable("The functions are"));
  const { addressHeader, agent, limits, heldBytes } = gateway;
  if (Number(incoming.headers["content-length"]) > limits.functionsBody) return sendError(response, tooLarge);
  const body = await bufferBody(incoming, minCountedBytes, limits.bodyMs);
  if (body === "late") return sendError(response, lateBody(limits.bodyMs));
  const upstream = { port, path: path + target.search, addressHeader, address, agent };
  return forward(incoming, body, response, upstream, heldBytes);
}
