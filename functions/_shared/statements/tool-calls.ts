import type { Statement } from "../database/run.ts";
import type { Data } from "./shapes.ts";

type Leave = { tool: string; scope: string; destructive: boolean; confirmed: boolean };

/** Raises FORBIDDEN unless the agent's key has the scope and its policies allow the tool. */
export function authorizeToolCall({ tool, scope, destructive, confirmed }: Leave): Statement {
  return (sql) => sql`select private.authorize_tool_call(${tool}, ${scope}, ${destructive}, ${confirmed})`;
}

/** Records a call in its transaction. */
export function recordToolCall(
  requestId: string,
  tool: string,
  scope: string,
  argumentNames: string[],
  address: string | null,
): Statement {
  return (sql) =>
    sql`select private.record_tool_call(${requestId}, ${tool}, ${scope}, ${argumentNames}, ${address})`;
}

/** Runs as the login role. */
export function recordToolCalls(calls: object[]): Statement {
  return (sql) => sql`select private.record_tool_calls(${JSON.stringify(calls)}::text::jsonb)`;
}

export function agentSelf(): Statement<Data> {
  return (sql) => sql`select private.agent_self()::text as data`;
}
