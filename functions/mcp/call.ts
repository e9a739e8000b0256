import { Buffer } from "node:buffer";
import type { z } from "zod";
import { validationDetails } from "../../shared/validation.ts";
import { run, type Statement } from "../_shared/database/run.ts";
import { ApiError, notFound, toApiError } from "../_shared/http/api-error.ts";
import { authorizeToolCall, recordToolCall } from "../_shared/statements/tool-calls.ts";
import { type AgentRequest, agentAdmission, storeVerdict } from "./agent-request.ts";
import { parseSent, unknownIn } from "./arguments.ts";
import { audit } from "./audit.ts";
import { toolByName } from "./registry.ts";
import { describeTool, type Tool, type ToolContext } from "./tool.ts";

/** A tool call before validation. */
export type RequestedCall = { name: string; arguments: unknown; confirmed: boolean };

/** A validated tool call. */
export type ToolCall = { tool: Tool; args: never; confirmed: boolean; context: ToolContext };

/** Runs a tool for the calling agent in one round trip, with the same statements as REST. */
export async function callTool(request: AgentRequest, requested: RequestedCall): Promise<object> {
  const tool = toolByName.get(requested.name);
  return withAudit(request, tool, requested, async () => {
    const call = check(request, tool, requested);
    const isCall = !(call instanceof ApiError);
    const own = isCall ? call.tool.call(call.args, call.context) : [];
    const statements = isCall
      ? [authorizeToolCall(authorizationOf(call)), ...own, ...auditStatements(request, call)]
      : [];
    const results = await run(agentAdmission(request, tool?.operation), statements, storeVerdict(request));
    if (!isCall) throw call;
    return outputOf(call, results.slice(1, 1 + own.length));
  });
}

/** Validates a call. An error is reported only after the caller was admitted and charged. */
export function check(request: AgentRequest, tool: Tool | undefined, requested: RequestedCall): ToolCall | ApiError {
  if (!tool) return notFound("tool");
  const sent = requested.arguments ?? {};
  const parsed = parseSent(tool.input, sent);
  const unknown = unknownIn(describeTool(tool).inputSchema, sent);
  if (!parsed.success || unknown.length > 0)
    return new ApiError("VALIDATION_ERROR", "The arguments are not valid.", [
      ...validationDetails({ issues: unknown }),
      ...argumentDetails(parsed.error?.issues ?? []),
    ]);
  const context = { locale: request.locale, newId: crypto.randomUUID() };
  const confirmed = requested.confirmed || parsed.data.confirm === true;
  return { tool, args: parsed.data as never, confirmed, context };
}

const argumentDetails = (issues: readonly z.core.$ZodIssue[]) =>
  validationDetails({
    issues: issues.map((issue) => (issue.path.length > 0 ? issue : { ...issue, path: ["arguments"] })),
  });

/** The scope and policies of a tool, without its confirmation. */
export const accessTo = ({ name, scope }: Tool) => ({ tool: name, scope, destructive: false, confirmed: false });

export function authorizationOf({ tool, confirmed }: ToolCall) {
  return { ...accessTo(tool), destructive: tool.annotations.destructiveHint, confirmed };
}

/** Records a writing call, in the transaction of the call. */
export function auditStatements(request: AgentRequest, { tool, args }: ToolCall): Statement[] {
  if (tool.annotations.readOnlyHint) return [];
  const { address } = agentAdmission(request);
  return [recordToolCall(request.id, tool.name, tool.scope, argumentNames(tool, args), address)];
}

export function outputOf({ tool, args, context }: ToolCall, results: readonly unknown[]): object | Promise<object> {
  const answer = tool.respond(results as never, args, context);
  return answer instanceof Promise ? answer.then((known) => marked(tool, known)) : marked(tool, answer);
}

const marked = ({ untrusted }: Tool, answer: object) =>
  untrusted.length === 0 ? answer : { ...answer, untrusted_text: untrusted };

/** Records calls that only read or that failed; writing calls record themselves. */
export async function withAudit<Result>(
  request: AgentRequest,
  tool: Tool | undefined,
  requested: RequestedCall,
  work: () => Promise<Result>,
): Promise<Result> {
  const leave = (outcome: string) => {
    if (request.credential.kind !== "key") return;
    audit({
      digest: Buffer.from(request.credential.digest).toString("hex"),
      request_id: request.id,
      // An unknown tool name may be arbitrary text.
      tool: tool?.name ?? "unknown",
      scope: tool?.scope ?? null,
      outcome,
      duration_ms: Math.round((performance.now() - request.startedAt) * 10) / 10,
      argument_names: tool ? argumentNames(tool, requested.arguments) : [],
      address: agentAdmission(request).address,
    });
  };
  try {
    const result = await work();
    if (tool?.annotations.readOnlyHint) leave("ok");
    return result;
  } catch (error) {
    leave(toApiError(error)?.code ?? "INTERNAL_ERROR");
    throw error;
  }
}

/** Only known argument names; others may be arbitrary text. */
function argumentNames(tool: Tool, args: unknown): string[] {
  const given = typeof args === "object" && args !== null ? args : {};
  return Object.keys(tool.input.shape).filter((name) => Object.hasOwn(given, name));
}
