import type { Context } from "hono";
import { type Locale, negotiateLocale } from "../../shared/locales.ts";
import { agentCredentialOf, type Credential } from "../_shared/credential.ts";
import { type Admission, run, type Verdict } from "../_shared/database.ts";
import { admissionOf } from "../_shared/request.ts";
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
  /** Of the latest call to the database. */
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

/** The arguments of private.enter. Pages of other origins call only where the organization allows theirs. */
export function admissionFor({ c, id, credential }: AgentRequest, operation?: string): Admission {
  const endpoint = { method: "get", path: "", access: "public", operation } as const;
  const admission = admissionOf(c, endpoint, id, credential, { params: {}, body: undefined });
  return { ...admission, access: "agent", needsOrigin: admission.origin !== null };
}

/** Admits and charges a request that calls no tool, and answers the tools its agent may call. */
export async function admit(request: AgentRequest): Promise<Agent> {
  const [[row]] = await run(admissionFor(request), [agentSelf()], hearing(request));
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

export function hearing(request: AgentRequest) {
  return (verdict: Verdict) => {
    request.verdict = verdict;
  };
}

/** What a process counts by: the key that calls, or its address. */
export function callerOf(request: AgentRequest): string {
  const { digest, address } = admissionFor(request);
  return digest ? digest.join() : (address ?? "");
}
