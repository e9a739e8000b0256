import { Agent, type IncomingMessage, type ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { maxResultBytes } from "../lite/limits.ts";
import { isServedBy, type LiteName } from "../lite/paths.ts";
import { bufferBody, isNestedTooDeep, maxNesting } from "./body.ts";
import type { BufferedBytes } from "./buffered-bytes.ts";
import { validateQuery } from "./data-query.ts";
import {
  type GatewayError,
  lateBody,
  sendError,
  serviceUnavailable,
  tooManyRequests,
  tooMuchHeld,
  unknownPath,
} from "./errors.ts";
import { fetchBuffered } from "./forward.ts";
import { valuesOf } from "./headers.ts";
import type { GatewayLimits } from "./limits.ts";
import { RequestQueue } from "./request-queue.ts";
import { SlowStatements } from "./slow-statements.ts";
import type { Target } from "./target.ts";

export interface DataOptions {
  addressHeader: string;
  limits: GatewayLimits;
  heldBytes: BufferedBytes;
  /** Null while down. */
  port(name: LiteName): number | null;
  /** The user id of a valid access token. */
  personOf?(token: string): Promise<string | null>;
}

const pieceLength = 16 * 1024;

const cors = {
  "access-control-allow-origin": "*",
  "access-control-expose-headers":
    "Content-Range, Content-Location, Preference-Applied, X-Total-Count, Link, Retry-After",
};

/** Handles /auth/v1 and /rest/v1: enforces all limits before using shared resources. */
export function createData({ addressHeader, limits, heldBytes, port, personOf }: DataOptions) {
  const queues = { auth: new RequestQueue(limits.auth), rest: new RequestQueue(limits.rest) };
  const slowWork = new SlowStatements(limits.slowWorkMs, limits.slowWorkWindowMs, limits.slowMs);
  const agent = new Agent({ keepAlive: true });

  return {
    async answer(
      name: LiteName,
      target: Target,
      address: string,
      incoming: IncomingMessage,
      response: ServerResponse,
    ) {
      const respond = (error: GatewayError) => sendError(response, { ...error, headers: cors, form: name });
      if (incoming.method === "OPTIONS") return preflight(incoming, response);
      // lite treats other methods as GET.
      if (!methods.has(incoming.method ?? "")) return respond(notThisMethod);
      if (!isServedBy(name, target.path)) return sendError(response, { ...unknownPath, headers: cors });
      const problem =
        name === "rest" && validateQuery(target.search, valuesOf(incoming.rawHeaders, "prefer").join(","));
      if (problem) return respond({ ...problem, status: 400 });
      const maxBytes = name === "auth" ? limits.authBody : limits.restBody;
      const declared = Math.min(Number(incoming.headers["content-length"] ?? 0), maxBytes);
      const expected = incoming.headers["transfer-encoding"] === undefined ? declared : maxBytes;
      if (!heldBytes.hold(address, expected, response)) return respond(tooMuchHeld);
      const body = await bufferBody(incoming, maxBytes, limits.bodyMs);
      if (body === "late") return respond(lateBody(limits.bodyMs));
      if (!body.isWhole)
        return respond({
          status: 413,
          code: "PAYLOAD_TOO_LARGE",
          message: `The body is larger than ${maxBytes >> 10} KiB.`,
        });
      const isCsv = /^text\/csv/i.test(incoming.headers["content-type"] ?? "");
      if (name === "rest" && !isCsv && isNestedTooDeep(body.chunks))
        return respond({
          status: 400,
          code: "VALIDATION_ERROR",
          message: `The body is nested more than ${maxNesting} levels deep.`,
        });
      const callers = await callersOf(incoming, address);
      const wait = name === "rest" ? slowWork.retryAfter(callers) : 0;
      if (wait > 0)
        return respond(tooManyRequests("Too many slow requests: ask for less at once, and later.", wait));
      const release = await queues[name].acquire(callers);
      if (release === null)
        return respond(tooManyRequests("Too many requests at once: send fewer in parallel.", 1));
      const startedAt = performance.now();
      let answer: Awaited<ReturnType<typeof fetchBuffered>>;
      try {
        const upstream = port(name);
        if (upstream === null)
          return respond(serviceUnavailable(name === "auth" ? "Auth is" : "The data API is"));
        answer = await fetchBuffered(
          incoming,
          /^(?:GET|HEAD)$/.test(incoming.method ?? "") ? Buffer.alloc(0) : Buffer.concat(body.chunks),
          { port: upstream, path: target.path + target.search, addressHeader, address, agent },
          maxResultBytes * 2,
          limits.answerMs,
        );
      } finally {
        release();
        if (name === "rest") slowWork.charge(callers, performance.now() - startedAt);
      }
      if (answer === null)
        return respond({
          status: 413,
          code: "PAYLOAD_TOO_LARGE",
          message: "The response is too large: request fewer rows.",
        });
      if (!heldBytes.hold(address, answer.body.length, response)) return respond(tooMuchHeld);
      response.writeHead(answer.status, { ...answer.headers, ...cors });
      await pipeline(Readable.from(piecesOf(answer.body)), response);
    },
    close: () => agent.destroy(),
  };

  async function callersOf(incoming: IncomingMessage, from: string): Promise<string[]> {
    const token = /^Bearer ([\w-]+\.[\w-]+\.[\w-]+)$/i.exec(incoming.headers.authorization ?? "")?.[1];
    const person = token === undefined ? null : ((await personOf?.(token)) ?? null);
    const address = `address ${from}`;
    return person === null ? [address] : [address, `person ${person}`];
  }
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

function preflight(incoming: IncomingMessage, response: ServerResponse): void {
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
