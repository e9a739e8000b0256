import { call } from "./shapes.ts";

type Leave = { tool: string; scope: string; destructive: boolean; confirmed: boolean };

/** Raises FORBIDDEN unless the agent's key has the scope and its policies allow the tool. */
export const authorizeToolCall = ({ tool, scope, destructive, confirmed }: Leave) =>
  call("authorize_tool_call", tool, scope, destructive, confirmed);

/** Records a call in its transaction. */
export const recordToolCall = (
  requestId: string,
  tool: string,
  scope: string,
  argumentNames: string[],
  address: string | null,
) => call("record_tool_call", requestId, tool, scope, argumentNames, address);

/** Runs as the login role. */
export const recordToolCalls = (calls: object[]) => call("record_tool_calls", JSON.stringify(calls));

export const agentSelf = () => call("agent_self");
