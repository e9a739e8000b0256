import type { Context } from "hono";
import { type Locale, negotiateLocale } from "../../shared/locales.ts";
import { agentCredentialOf, type Credential } from "../_shared/callers/credential.ts";
import { type Admission, run, type Verdict } from "../_shared/database/run.ts";
import { admissionOf } from "../_shared/http/request.ts";
import { agentSelf } from "../_shared/statements/tool-calls.ts";
import { tools } from "./registry.ts";
import type { Tool } from "./tool.ts";

/** One HTTP request under /api/mcp. */
export type AgentRequest = {
  c: Context;
  id: string;
  startedAt: number;
  credential: Credential;
  locale: Locale;
  /** Verdict of the latest database call. */
  verdict?: Verdict;
};

export function agentRequest(c: Context): AgentRequest {
  return {
    c,
    id: crypto.randomUUID(),
    startedAt: performance.now(),
    credential: agentCredentialOf(c.req.header("Authorization")),
    locale: negotiateLocale(c.req.header("Accept-Language")),
  };
}

/** Arguments of private.assume_caller. Pages of other origins may call only if the organization allows the origin. */
export function agentAdmission({ c, id, credential }: AgentRequest, operation?: Tool["operation"]): Admission {
  const endpoint = { method: "get", path: "", access: "public", operation } as const;
  const admission = admissionOf(c, endpoint, id, credential, { params: {}, body: undefined });
  return { ...admission, access: "agent", needsOrigin: admission.origin !== null };
}

/** Admits and charges a request that calls no tool; returns the agent and the tools it may call. */
export async function admit(request: AgentRequest): Promise<Agent> {
  const [[row]] = await run(agentAdmission(request), [agentSelf()], storeVerdict(request));
  const agent = JSON.parse(row?.data ?? "{}") as Omit<Agent, "allowed">;
  const allowed = tools.filter(
    ({ name, scope }) => agent.scopes.includes(scope) && (agent.tools?.includes(name) ?? true),
  );
  return { ...agent, allowed };
}

export type Agent = {
  id: string;
  name: string;
  scopes: string[];
  /** Null for all. */
  tools: string[] | null;
  allowed: Tool[];
};

export function storeVerdict(request: AgentRequest) {
  return (verdict: Verdict) => {
    request.verdict = verdict;
  };
}

/** Key of the in-process limits: the calling key, or its address. */
export function callerOf(request: AgentRequest): string {
  const { digest, address } = agentAdmission(request);
  return digest ? digest.join() : (address ?? "");
}
