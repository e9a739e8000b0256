import type { Statement } from "../database.ts";
import type { Data } from "./shapes.ts";

type Leave = { tool: string; scope: string; destructive: boolean; confirmed: boolean };

/** Raises unless the agent's key has the scope and its policies allow the tool. */
export function beginCall({ tool, scope, destructive, confirmed }: Leave): Statement {
  return (sql) => sql`select private.begin_call(${tool}, ${scope}, ${destructive}, ${confirmed})`;
}

/** Within the transaction of a call that changes something. */
export function recordCall(
  requestId: string,
  tool: string,
  scope: string,
  argumentNames: string[],
  address: string | null,
): Statement {
  return (sql) =>
    sql`select private.record_call(${requestId}, ${tool}, ${scope}, ${argumentNames}, ${address})`;
}

/** As the login role. */
export function recordCalls(calls: object[]): Statement {
  return (sql) => sql`select private.record_calls(${JSON.stringify(calls)}::text::jsonb)`;
}

export function agentSelf(): Statement<Data> {
  return (sql) => sql`select private.agent_self()::text as data`;
}
