import type { Context } from "hono";
import type { ApiError } from "../_shared/http/api-error.ts";
import { ofProxy } from "../_shared/http/behind-proxy.ts";
import { publicAddress } from "../_shared/http/own-addresses.ts";
import { respond } from "../_shared/http/serve.ts";
import { environment } from "../_shared/runtime/environment.ts";
import { log } from "../_shared/runtime/log.ts";
import { type AgentRequest, admit, agentRequest } from "./agent-request.ts";
import type { EventStream } from "./event-stream.ts";
import { toRpcError } from "./json-rpc.ts";

/** The URL prefix before /api: as the client called it, or where the platform publishes functions. */
export function baseUrlOf(c: Context): string {
  return environment.port && !ofProxy(c) ? new URL(c.req.url).origin : publicAddress;
}

export function sendEvents(request: AgentRequest, route: string, stream: EventStream): Response {
  logStream(request, route, 200);
  const { headers } = respond(request.c, request.id, { status: 200, json: "" }, request.verdict);
  headers.set("Content-Type", "text/event-stream; charset=utf-8");
  // Tells proxies not to buffer events.
  headers.set("X-Accel-Buffering", "no");
  return new Response(stream.body, { headers });
}

/** Error of a stream request: a JSON-RPC error without a call id. */
export function sendStreamError(request: AgentRequest, route: string, error: unknown): Response {
  const { code, message, data, status, headers } = toRpcError(error, request.id);
  const isMissing = data.code === "NOT_FOUND" ? 404 : data.code === "GONE" ? 410 : undefined;
  const shown = isMissing ?? (status === 200 ? 400 : status);
  logStream(request, route, shown);
  const json = JSON.stringify({ jsonrpc: "2.0", id: null, error: { code, message, data } });
  return respond(request.c, request.id, { status: shown, json, headers }, request.verdict);
}

/** Answers every request with an error. An invalid key takes precedence, and both are charged. */
export const refusing = (route: string, error: ApiError) => async (c: Context) => {
  const request = agentRequest(c);
  const shown = await admit(request).then(
    () => error,
    (refusal: unknown) => refusal,
  );
  return sendStreamError(request, route, shown);
};

function logStream({ c, id, startedAt }: AgentRequest, route: string, status: number) {
  log({ requestId: id, method: c.req.method, route, caller: "agent", status, startedAt });
}
