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
    const statements = call instanceof ApiError ? [] : statementsOf(request, call);
    const results = await run(admissionFor(request, tool?.operation), statements, hearing(request));
    if (call instanceof ApiError) throw call;
    return answerOf(call, results.slice(1));
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

/** The tool's own statements between the question whether it may run and, where it changes something, its trail. */
export function statementsOf(request: AgentRequest, call: ToolCall): Statement[] {
  const { tool, args, context } = call;
  return [allow(call), ...tool.call(args, context), ...trail(request, call)];
}

export function allow({ tool, confirmed }: ToolCall): Statement {
  return beginCall(tool.name, tool.scope, tool.annotations.destructiveHint, confirmed);
}

export function trail(request: AgentRequest, { tool, args }: ToolCall): Statement[] {
  if (tool.annotations.readOnlyHint) return [];
  const { address } = admissionFor(request);
  return [recordCall(request.id, tool.name, tool.scope, argumentNames(tool, args), address)];
}

export function answerOf({ tool, args, context }: ToolCall, results: readonly unknown[]): object {
  const answer = tool.respond(results as never, args, context);
  return tool.untrusted.length === 0 ? answer : { ...answer, untrusted_text: tool.untrusted };
}

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
