import type { IncomingMessage, ServerResponse } from "node:http";
import { type Identity, identityOfKey, identityOfToken, TokenError } from "../identity.ts";
import { addressOf } from "../request-address.ts";
import type { Core } from "./core.ts";
import { BytesFrame, broadcastFrame } from "./frames.ts";
import { apiKeyOf } from "./handshake.ts";
import { isObject } from "./protocol.ts";
import { topicKey } from "./topics.ts";

interface Sent {
  topic: string;
  event: string;
  isPrivate: boolean;
  payload: unknown;
}

class HttpError extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

const maxMessages = 100;

/** Broadcasts over HTTP: `channel.httpSend()`, and `channel.send()` of a client that has not joined. */
export function answerHttp(core: Core, request: IncomingMessage, response: ServerResponse): void {
  answer(core, request)
    .catch((error: unknown) =>
      error instanceof HttpError ? error : new HttpError(500, "An internal error occurred"),
    )
    .then((outcome) => {
      const [status, body] =
        outcome instanceof HttpError
          ? [outcome.status, JSON.stringify({ error: outcome.message })]
          : [outcome, ""];
      response.writeHead(status, {
        "access-control-allow-origin": "*",
        "access-control-allow-headers": "authorization, apikey, content-type, x-client-info",
        "access-control-allow-methods": "POST, OPTIONS",
        "content-type": "application/json",
      });
      response.end(body);
    });
}

async function answer(core: Core, request: IncomingMessage): Promise<number> {
  const url = addressOf(request);
  const path = /^\/realtime\/v1\/api\/broadcast(?:\/([^/]+)\/events\/([^/]+))?\/?$/.exec(url.pathname);
  if (path === null) throw new HttpError(404, "The route does not exist");
  const [, topic, event] = path;
  if (request.method === "OPTIONS") return 200;
  if (request.method !== "POST") throw new HttpError(404, "The route does not exist");
  const identity = await identify(core, request, url);
  const body = await readBody(request, core.limits.messageSize);
  const messages =
    topic !== undefined && event !== undefined
      ? [oneMessage(topic, event, url, request, body)]
      : readMessages(parse(body));
  for (const message of messages) await send(core, identity, message);
  return 202;
}

async function identify(core: Core, request: IncomingMessage, url: URL): Promise<Identity> {
  const apiKey = apiKeyOf(request, url);
  const guest = apiKey === null ? null : identityOfKey(core.keys, apiKey);
  if (guest === null) throw new HttpError(401, "Invalid API key");
  const token = /^Bearer (.+)$/i.exec(request.headers.authorization ?? "")?.[1];
  if (token === undefined || token.startsWith("sb_")) return guest;
  return identityOfToken(core.keys, token).catch((error: unknown) => {
    throw new HttpError(401, error instanceof TokenError ? error.message : "Invalid token");
  });
}

async function readBody(request: IncomingMessage, limit: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request) {
    length += chunk.length;
    if (length > limit) throw new HttpError(413, "The body is too large");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString());
  } catch {
    throw new HttpError(400, "The body is not valid JSON");
  }
}

function oneMessage(topic: string, event: string, url: URL, request: IncomingMessage, body: Buffer): Sent {
  const isBytes = request.headers["content-type"]?.startsWith("application/octet-stream");
  return {
    topic: decoded(topic),
    event: decoded(event),
    isPrivate: url.searchParams.get("private") === "true",
    payload: isBytes ? body : parse(body),
  };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw new HttpError(400, "The URL is not percent-encoded correctly");
  }
}

function readMessages(body: unknown): Sent[] {
  const list = isObject(body) && Array.isArray(body.messages) ? body.messages : [];
  if (list.length === 0 || list.length > maxMessages)
    throw new HttpError(422, `messages must have 1 to ${maxMessages} entries`);
  return list.map((message: unknown) => {
    if (!isObject(message) || typeof message.topic !== "string" || typeof message.event !== "string")
      throw new HttpError(422, "a message must have topic, event and payload");
    return {
      topic: message.topic,
      event: message.event,
      isPrivate: message.private === true,
      payload: message.payload ?? {},
    };
  });
}

/** As hosted: unauthorized messages are silently dropped. */
async function send(
  core: Core,
  identity: Identity,
  { topic, event, isPrivate, payload }: Sent,
): Promise<void> {
  if (isPrivate && !(await core.authorization.toWrite(identity, topic)).broadcast) return;
  const frame = Buffer.isBuffer(payload)
    ? new BytesFrame(event, payload)
    : broadcastFrame(event, JSON.stringify(payload));
  core.topics.broadcast(topicKey(topic, isPrivate), frame);
}
