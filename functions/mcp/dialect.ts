import type { Context } from "hono";
import { z } from "zod";
import { text, unstorableWithin } from "../../shared/text.ts";
import { ApiError } from "../_shared/http/api-error.ts";
import { readJson } from "../_shared/http/body.ts";
import { respond } from "../_shared/http/serve.ts";
import { log } from "../_shared/runtime/log.ts";
import { type AgentRequest, admit, agentRequest } from "./agent-request.ts";
import { parseSent } from "./arguments.ts";
import { callTool } from "./call.ts";
import {
  type Call,
  type Id,
  idOf,
  invalidParams,
  messagesOf,
  methodNotFound,
  parseError,
  RpcError,
  readCall,
  toRpcError,
} from "./json-rpc.ts";
import { assertMaxNesting } from "./max-nesting.ts";
import { understand } from "./natural-language/understand.ts";
import { toolByName } from "./registry.ts";
import { openStream } from "./streams.ts";
import { openSubscription } from "./subscriptions.ts";
import { describeTool } from "./tool.ts";

/** POST /api/mcp/tools: JSON-RPC 2.0, one call for each request. */
export async function serveDialect(c: Context): Promise<Response> {
  const request = agentRequest(c);
  let id: Id | undefined = null;
  try {
    const body = await bodyOf(request);
    id = idOf(body);
    const call = readCall(body);
    const result = await (call instanceof RpcError ? refuse(request, call) : answer(request, call));
    return send(request, id, { result });
  } catch (error) {
    const { code, message, data, status, headers } = toRpcError(error, request.id);
    return send(request, id, { error: { code, message, data } }, status, headers);
  }
}

async function bodyOf(request: AgentRequest): Promise<unknown> {
  try {
    const body = await readJson(request.c.req.raw);
    assertMaxNesting(body);
    return body;
  } catch (error) {
    const isSyntax = error instanceof ApiError && error.code === "VALIDATION_ERROR";
    return refuse(request, isSyntax ? parseError(`The body ${error.details[0]?.message}.`) : error);
  }
}

function answer(request: AgentRequest, { method, params }: Call): Promise<object> {
  switch (method) {
    case "tools/call":
      return params.mode === "natural_language" ? callByNaturalLanguage(request, params) : call(request, params);
    case "tools/list":
      return list(request);
    case "subscribe":
      return openSubscription(request, params);
    default:
      return refuse(request, methodNotFound(`There is no method ${JSON.stringify(method.slice(0, 100))}.`));
  }
}

/** An invalid call is charged as well, and an invalid key takes precedence over an invalid call. */
async function refuse(request: AgentRequest, error: unknown): Promise<never> {
  await admit(request);
  throw error;
}

const callParams = z.object({
  name: z.string(),
  arguments: z.record(z.string(), z.unknown()).optional(),
  stream: z.boolean().default(false),
  confirm: z.boolean().default(false),
});

async function call(request: AgentRequest, params: object): Promise<object> {
  const parsed = parseSent(callParams, params);
  if (!parsed.success) return refuse(request, invalidParams(messagesOf(parsed.error)));
  const { name, arguments: given = {}, stream, confirm } = parsed.data;
  const requested = { name, arguments: given, confirmed: confirm };
  // A stream stores the arguments before they are checked.
  const complaint = stream ? unstorableWithin(given) : undefined;
  if (complaint) return refuse(request, invalidParams([`arguments ${complaint}`]));
  return stream ? openStream(request, requested) : callTool(request, requested);
}

async function list(request: AgentRequest): Promise<object> {
  const { allowed } = await admit(request);
  return { tools: allowed.map(describeTool) };
}

const sentence = z.object({
  input: text({ min: 1, max: 1000 }),
  stream: z.boolean().default(false),
  confirm: z.boolean().default(false),
});

/** Charged twice: one request to find the agent's tools, one to run the tool or to open its stream. */
async function callByNaturalLanguage(request: AgentRequest, params: object): Promise<object> {
  const parsed = parseSent(sentence, params);
  if (!parsed.success) return refuse(request, invalidParams(messagesOf(parsed.error)));
  const { input, stream, confirm } = parsed.data;
  const { allowed } = await admit(request);
  const understood = await understand(input, allowed, request.locale);
  const refusal = refusalOf(understood, confirm);
  const { tool: name, arguments: parsed_params } = { tool: "unknown", arguments: {}, ...understood };
  const requested = { name, arguments: parsed_params, confirmed: confirm };
  if (stream) return openStream(request, requested, { refusal });
  if (refusal) throw refusal;
  return { parsed_tool: name, parsed_params, execution_result: await callTool(request, requested) };
}

function refusalOf(understood: Awaited<ReturnType<typeof understand>>, confirm: boolean): RpcError | undefined {
  if ("candidates" in understood)
    return invalidParams(["input could not be understood as one tool with its arguments; name the tool"], understood);
  const { tool: parsed_tool, arguments: parsed_params } = understood;
  if (toolByName.get(parsed_tool)?.annotations.destructiveHint && !confirm)
    return invalidParams([`input means ${parsed_tool}, which updates or deletes data; send confirm: true`], {
      parsed_tool,
      parsed_params,
    });
}

function send(
  request: AgentRequest,
  id: Id | undefined,
  outcome: { result: object } | { error: object },
  status = 200,
  headers: Record<string, string> = {},
): Response {
  const { c, startedAt, verdict } = request;
  // A notification gets no response.
  const isSilent = id === undefined;
  const shown = isSilent && status === 200 ? 204 : status;
  log({ requestId: request.id, method: "POST", route: "/mcp/tools", caller: "agent", status: shown, startedAt });
  const json = JSON.stringify({ jsonrpc: "2.0", id, ...outcome });
  const response = respond(c, request.id, { status, json, headers }, verdict);
  if (!isSilent) return response;
  response.headers.delete("Content-Type");
  return new Response(null, { status: shown, headers: response.headers });
}
