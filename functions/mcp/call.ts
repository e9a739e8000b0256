import { Buffer } from "node:buffer";
import type { z } from "zod";
import { validationDetails } from "../../shared/validation.ts";
import { ApiError, notFound, toApiError } from "../_shared/api-error.ts";
import { run, type Statement } from "../_shared/database.ts";
import { beginCall, recordCall } from "../_shared/statements/tool-calls.ts";
import { type AgentRequest, admissionFor, hearing } from "./agent-request.ts";
import { audit } from "./audit.ts";
import { toolByName } from "./registry.ts";
import type { Tool, ToolContext } from "./tool.ts";

/** What an agent asks for, not yet checked. */
export type Asked = { name: string; arguments: unknown; confirmed: boolean };

/** A call whose arguments fit the tool. */
export type ToolCall = { tool: Tool; args: never; confirmed: boolean; context: ToolContext };

/** Runs a tool for the agent of the request, in one round trip: what REST does with other envelopes around it. */
export async function callTool(request: AgentRequest, asked: Asked): Promise<object> {
  const tool = toolByName.get(asked.name);
  return audited(request, tool, asked, async () => {
    const call = check(request, tool, asked);
    const isCall = !(call instanceof ApiError);
    const statements = isCall
      ? [beginCall(leaveFor(call)), ...call.tool.call(call.args, call.context), ...trail(request, call)]
      : [];
    const [, ...results] = await run(admissionFor(request, tool?.operation), statements, hearing(request));
    if (!isCall) throw call;
    return answerOf(call, results);
  });
}

/** The call, or what is wrong with it: told only after the caller was admitted and charged. */
export function check(request: AgentRequest, tool: Tool | undefined, asked: Asked): ToolCall | ApiError {
  if (!tool) return notFound("tool");
  const parsed = tool.input.safeParse(asked.arguments ?? {});
  if (!parsed.success)
    return new ApiError("VALIDATION_ERROR", "The arguments are not valid.", argumentDetails(parsed.error));
  const context = { locale: request.locale, newId: crypto.randomUUID() };
  const confirmed = asked.confirmed || parsed.data.confirm === true;
  return { tool, args: parsed.data as never, confirmed, context };
}

const argumentDetails = (error: z.ZodError) =>
  validationDetails(error).map(({ field, message }) => ({
    field: field === "body" ? "arguments" : field,
    message,
  }));

export function leaveFor({ tool, confirmed }: ToolCall) {
  const { name, scope, annotations } = tool;
  return { tool: name, scope, destructive: annotations.destructiveHint, confirmed };
}

/** Of what changes something: in its own transaction. */
export function trail(request: AgentRequest, { tool, args }: ToolCall): Statement[] {
  if (tool.annotations.readOnlyHint) return [];
  const { address } = admissionFor(request);
  return [recordCall(request.id, tool.name, tool.scope, argumentNames(tool, args), address)];
}

export function answerOf(
  { tool, args, context }: ToolCall,
  results: readonly unknown[],
): object | Promise<object> {
  const answer = tool.respond(results as never, args, context);
  return answer instanceof Promise ? answer.then((known) => marked(tool, known)) : marked(tool, answer);
}

const marked = ({ untrusted }: Tool, answer: object) =>
  untrusted.length === 0 ? answer : { ...answer, untrusted_text: untrusted };

/** Leaves a trail of what only reads and of what is refused; what changes something leaves its own. */
export async function audited<Result>(
  request: AgentRequest,
  tool: Tool | undefined,
  asked: Asked,
  work: () => Promise<Result>,
): Promise<Result> {
  const leave = (outcome: string) => {
    if (request.credential.kind !== "key") return;
    audit({
      digest: Buffer.from(request.credential.digest).toString("hex"),
      request_id: request.id,
      // A name that is none of ours may be anything.
      tool: tool?.name ?? "unknown",
      scope: tool?.scope ?? null,
      outcome,
      duration_ms: Math.round((performance.now() - request.startedAt) * 10) / 10,
      argument_names: tool ? argumentNames(tool, asked.arguments) : [],
      address: admissionFor(request).address,
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

/** Those the tool knows; others could be anything. */
function argumentNames(tool: Tool, args: unknown): string[] {
  const given = typeof args === "object" && args !== null ? args : {};
  return Object.keys(tool.input.shape).filter((name) => Object.hasOwn(given, name));
}
