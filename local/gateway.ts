import { Agent, createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { clientAddress } from "./client-address.ts";
import { holdBody } from "./gateway/body.ts";
import { limitConnections } from "./gateway/connections.ts";
import { createData, type DataOptions } from "./gateway/data.ts";
import { forward } from "./gateway/forward.ts";
import { defaultLimits, type GatewayLimits } from "./gateway/limits.ts";
import { cutSlowReader } from "./gateway/readers.ts";
import { isDown, nothingHere, type Refusal, refuse } from "./gateway/refuse.ts";
import { readTarget } from "./gateway/target.ts";

export interface GatewayOptions extends Pick<DataOptions, "personOf"> {
  /** Carries the caller's address upstream; its name is secret, so that no client can send it. */
  addressHeader: string;
  /** In which the operator's own proxy writes the client's address; without one it is the socket's. */
  proxyHeader?: string | undefined;
  /** Of auth and the data API, or null while they are down. */
  litePort: DataOptions["port"];
  /** The port of a function by name, or null while it is down; undefined when there is none of that name. */
  functionPort(name: string): number | null | undefined;
  /** Of realtime's HTTP side, or null while it is down. */
  realtimePort?(): number | null;
  /** Takes over a websocket upgrade and says so, or leaves it. */
  upgrade?(request: IncomingMessage, socket: Duplex, head: Buffer): boolean;
  limits?: Partial<GatewayLimits>;
}

// A session cookie in many chunks passes, as it does at the functions' own listener.
const largestHeaders = 64 * 1024;
/** Of a body for the functions, which is passed on from here on as it comes. */
const heldOfBody = 64 * 1024;

type Gateway = Required<Pick<GatewayOptions, "addressHeader" | "functionPort">> &
  Pick<GatewayOptions, "realtimePort" | "proxyHeader"> & {
    limits: GatewayLimits;
    data: ReturnType<typeof createData>;
    agent: Agent;
  };

export function createGateway(options: GatewayOptions): Server {
  const limits = { ...defaultLimits, ...options.limits };
  const { litePort: port, ...rest } = options;
  const gateway: Gateway = {
    ...rest,
    limits,
    data: createData({ ...rest, limits, port }),
    // A socket for each request: what a few do not finish keeps none from the others.
    agent: new Agent({ keepAlive: true }),
  };
  const server = createServer({ maxHeaderSize: largestHeaders }, (incoming, response) => {
    cutSlowReader(response, limits.readBytes, limits.readMs);
    route(incoming, response, gateway).catch(() => refuse(response, unavailable));
  });
  server.keepAliveTimeout = 65_000;
  server.headersTimeout = 20_000;
  // A file to import comes in as fast as the database writes it.
  server.requestTimeout = 3_600_000;
  limitConnections(server, limits);
  server.on("upgrade", (incoming, socket, head) => {
    socket.on("error", () => undefined);
    if ("status" in readTarget(incoming) || !options.upgrade?.(incoming, socket, head)) {
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

const unavailable: Refusal = {
  status: 503,
  code: "SERVICE_UNAVAILABLE",
  message: "The service is not available; try again shortly.",
  retryAfter: 1,
};
const tooLarge: Refusal = {
  status: 413,
  code: "PAYLOAD_TOO_LARGE",
  message: "The body is larger than 64 MiB.",
};
const late: Refusal = {
  status: 400,
  code: "VALIDATION_ERROR",
  message: "The body did not arrive within 10 seconds.",
};

async function route(incoming: IncomingMessage, response: ServerResponse, gateway: Gateway): Promise<void> {
  const target = readTarget(incoming);
  if ("status" in target) return refuse(response, target);
  const address = clientAddress(incoming, gateway.proxyHeader) || "unknown";
  const [, lite] = /^\/(auth|rest)\/v1(?:\/|$)/.exec(target.path) ?? [];
  if (lite === "auth" || lite === "rest")
    return gateway.data.answer(lite, target, address, incoming, response);
  const path = target.path.replace(/^\/functions\/v1(?=\/)/, "");
  const isRealtime = path.startsWith("/realtime/v1/api/");
  const isFunction = path !== target.path || /^\/api(?:\/|$)/.test(path);
  const port = isRealtime
    ? (gateway.realtimePort?.() ?? null)
    : isFunction
      ? gateway.functionPort(path.split("/")[1] ?? "")
      : undefined;
  if (port === undefined) return refuse(response, nothingHere);
  if (port === null) return refuse(response, isDown(isRealtime ? "Realtime is" : "The functions are"));
  const { addressHeader, agent, limits } = gateway;
  if (Number(incoming.headers["content-length"]) > limits.functionsBody) return refuse(response, tooLarge);
  const held = await holdBody(incoming, heldOfBody, limits.bodyMs);
  if (held === "late") return refuse(response, late);
  return forward(incoming, held, response, {
    port,
    path: path + target.search,
    addressHeader,
    address,
    agent,
  });
}
