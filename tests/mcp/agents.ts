import { request as httpRequest, type IncomingMessage } from "node:http";
import { createAgentKey } from "../../local/operator/api-keys.ts";
import { scopes as allScopes, type Scope } from "../../shared/scopes.ts";
import { type Answer, send } from "../api/client.ts";
import { newOrganization, type Organization, only } from "../api/world.ts";
import { sql, stack } from "../stack.ts";

export type Agent = { id: string; token: string; organization: Organization };
type Settings = {
  organization?: Organization;
  scopes?: readonly Scope[];
  tier?: string;
  expiresAt?: Date;
  policies?: object;
};

/** An agent with a key of every scope, in an organization of its own. */
export async function newAgent(settings: Settings = {}): Promise<Agent> {
  const {
    organization = await newOrganization(),
    scopes = allScopes,
    tier = "standard",
    expiresAt,
    policies,
  } = settings;
  const token = await createAgentKey(sql, organization.id, "Agent of a test", tier, scopes, expiresAt ?? null);
  const [agent] = await sql<{ id: string }[]>`
    select id from private.agents where organization_id = ${organization.id} order by created_at desc limit 1`;
  const { id } = only(agent);
  if (policies) await sql`update private.agents set ${sql(policies)} where id = ${id}`;
  return { id, token, organization };
}

export type ToolResponse = {
  status: number;
  headers: Answer["headers"];
  id: unknown;
  result: Record<string, unknown>;
  error: { code: number; message: string; data: Record<string, unknown> };
};

/** One JSON-RPC call to the service's own endpoint. */
export async function rpc(
  as: { token: string },
  method: string,
  params?: object,
  id: unknown = 1,
): Promise<ToolResponse> {
  const body = { jsonrpc: "2.0", id, method, params };
  const { status, headers, body: result } = await send("POST", "/api/mcp/tools", { as, body });
  return { status, headers, ...(result as Omit<ToolResponse, "status" | "headers">) };
}

export function callTool(
  as: { token: string },
  name: string,
  args: object = {},
  params: object = {},
): Promise<ToolResponse> {
  return rpc(as, "tools/call", { name, arguments: args, ...params });
}

/** The result of a tool; fails if it was rejected. */
export async function resultOf<Result = Record<string, unknown>>(
  as: { token: string },
  name: string,
  args: object = {},
): Promise<Result> {
  const result = await callTool(as, name, args);
  if (!result.result) throw new Error(`${name}: ${JSON.stringify(result.error)}`);
  return result.result as Result;
}

export type ReceivedEvent = { id: string; event: string; data: Record<string, unknown> };

/** An open stream of events, with those received so far. */
export class Listener {
  readonly events: ReceivedEvent[] = [];
  status = 0;
  text = "";
  ended = false;
  private wake = () => {};
  private readonly outgoing;
  private incoming: IncomingMessage | undefined;

  constructor(url: string, as: { token: string }, lastEventId?: string) {
    const headers = {
      authorization: `Bearer ${as.token}`,
      ...(lastEventId !== undefined && { "last-event-id": lastEventId }),
    };
    this.outgoing = httpRequest(url, { headers, agent: false }, (incoming) => {
      this.status = incoming.statusCode ?? 0;
      this.incoming = incoming;
      incoming.setEncoding("utf8");
      let rest = "";
      incoming.on("data", (chunk: string) => {
        this.text += chunk;
        const blocks = (rest + chunk).split("\n\n");
        rest = blocks.pop() ?? "";
        this.events.push(...blocks.flatMap(eventOf));
        this.wake();
      });
      incoming.on("close", () => {
        this.ended = true;
        this.wake();
      });
      this.wake();
    });
    this.outgoing.on("error", () => {
      this.ended = true;
      this.wake();
    });
    this.outgoing.end();
  }

  /** Waits at most twenty seconds until the condition holds. */
  async until(holds: (listener: this) => boolean): Promise<this> {
    for (const deadline = Date.now() + 20_000; !holds(this); ) {
      if (Date.now() > deadline) throw new Error(`waited for ${holds} in vain: ${this.status} ${this.text}`);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, 1_000);
        this.wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    return this;
  }

  /** Stops reading. */
  pause(): void {
    this.incoming?.pause();
  }

  resume(): void {
    this.incoming?.resume();
  }

  close(): void {
    this.outgoing.destroy();
  }
}

function eventOf(block: string): ReceivedEvent[] {
  const field = (name: string) => new RegExp(`^${name}: (.*)$`, "m").exec(block)?.[1];
  const [id, event, data] = [field("id"), field("event"), field("data")];
  return event === undefined ? [] : [{ id: id ?? "", event, data: JSON.parse(data ?? "null") }];
}

/** All events of a stream that ends. */
export async function readStream(url: string, as: { token: string }, lastEventId?: string): Promise<Listener> {
  return new Listener(url, as, lastEventId).until(({ ended }) => ended);
}

export const mcpUrl = () => new URL(`${stack.base_url}/api/mcp`);
