import { Agent, type IncomingMessage, type ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { largestAnswer } from "../lite/limits.ts";
import { isServedBy, type LiteName } from "../lite/paths.ts";
import { deepestBody, holdBody, isNestedTooDeep } from "./body.ts";
import { problemOfQuery } from "./data-query.ts";
import { ask } from "./forward.ts";
import { valuesOf } from "./headers.ts";
import { HeldBytes } from "./held-bytes.ts";
import type { GatewayLimits } from "./limits.ts";
import { isDown, nothingHere, type Refusal, refuse, tooMany } from "./refuse.ts";
import { SlowWork } from "./slow-work.ts";
import type { Target } from "./target.ts";
import { Turns } from "./turns.ts";

export interface DataOptions {
  addressHeader: string;
  limits: GatewayLimits;
  /** Null while it is down. */
  port(name: LiteName): number | null;
  /** Whom a valid access token names. */
  personOf?(token: string): Promise<string | null>;
}

const pieceLength = 16 * 1024;

const cors = {
  "access-control-allow-origin": "*",
  "access-control-expose-headers":
    "Content-Range, Content-Location, Preference-Applied, X-Total-Count, Link, Retry-After",
};

/** Answers /auth/v1 and /rest/v1: everything is bounded before it takes anything that others need. */
export function createData({ addressHeader, limits, port, personOf }: DataOptions) {
  const turns = { auth: new Turns(limits.auth), rest: new Turns(limits.rest) };
  const slowWork = new SlowWork(limits.slowWorkMs, limits.slowWorkWindowMs, limits.slowMs);
  const heldBytes = new HeldBytes(limits);
  const agent = new Agent({ keepAlive: true });

  return {
    async answer(
      name: LiteName,
      target: Target,
      address: string,
      incoming: IncomingMessage,
      response: ServerResponse,
    ) {
      const say = (refusal: Refusal) => refuse(response, { ...refusal, headers: cors, form: name });
      if (incoming.method === "OPTIONS") return preflight(incoming, response);
      // lite takes any other method for GET.
      if (!methods.has(incoming.method ?? "")) return say(notThisMethod);
      if (!isServedBy(name, target.path)) return refuse(response, { ...nothingHere, headers: cors });
      const problem =
        name === "rest" && problemOfQuery(target.search, valuesOf(incoming.rawHeaders, "prefer").join(","));
      if (problem) return say({ ...problem, status: 400 });
      const largest = name === "auth" ? limits.authBody : limits.restBody;
      const declared = Math.min(Number(incoming.headers["content-length"] ?? 0), largest);
      const expected = incoming.headers["transfer-encoding"] === undefined ? declared : largest;
      if (!heldBytes.hold(address, expected, response)) return say(tooMuchHeld);
      const held = await holdBody(incoming, largest, limits.bodyMs);
      if (held === "late")
        return say({
          status: 400,
          code: "VALIDATION_ERROR",
          message: "The body did not arrive within 10 seconds.",
        });
      if (!held.isWhole)
        return say({
          status: 413,
          code: "PAYLOAD_TOO_LARGE",
          message: `The body is larger than ${largest >> 10} KiB.`,
        });
      const isCsv = /^text\/csv/i.test(incoming.headers["content-type"] ?? "");
      if (name === "rest" && !isCsv && isNestedTooDeep(held.chunks))
        return say({
          status: 400,
          code: "VALIDATION_ERROR",
          message: `The body is nested more than ${deepestBody} levels deep.`,
        });
      const callers = await callersOf(incoming, address);
      const wait = name === "rest" ? slowWork.retryAfter(callers) : 0;
      if (wait > 0) return say(tooMany("Too many slow requests: ask for less at once, and later.", wait));
      const release = await turns[name].take(callers);
      if (release === null) return say(tooMany("Too many requests at once: send fewer in parallel.", 1));
      const startedAt = performance.now();
      let answer: Awaited<ReturnType<typeof ask>>;
      try {
        const upstream = port(name);
        if (upstream === null) return say(isDown(name === "auth" ? "Auth is" : "The data API is"));
        answer = await ask(
          incoming,
          /^(?:GET|HEAD)$/.test(incoming.method ?? "") ? Buffer.alloc(0) : Buffer.concat(held.chunks),
          { port: upstream, path: target.path + target.search, addressHeader, address, agent },
          largestAnswer * 2,
          limits.answerMs,
        );
      } finally {
        release();
        if (name === "rest") slowWork.charge(callers, performance.now() - startedAt);
      }
      if (answer === null)
        return say({
          status: 413,
          code: "PAYLOAD_TOO_LARGE",
          message: "The answer is too large: ask for fewer rows.",
        });
      if (!heldBytes.hold(address, answer.body.length, response)) return say(tooMuchHeld);
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
const notThisMethod: Refusal = {
  status: 405,
  code: "VALIDATION_ERROR",
  message: "The method is not offered: use GET, HEAD, POST, PUT, PATCH or DELETE.",
};
const tooMuchHeld = tooMany("Too many bodies and answers are on their way: read what was answered first.", 1);

/** In one piece nobody could tell how much of it was read. */
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
