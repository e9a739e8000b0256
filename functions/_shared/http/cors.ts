import type { Context } from "hono";
import { isAllowedOrigin } from "../database/run.ts";
import { isOwnOrigin } from "./own-addresses.ts";

const exposed =
  "X-Request-Id, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Retry-After, Content-Language";

/** CORS headers for pages of an allowed origin; never a wildcard. */
export function corsHeaders(origin: string | undefined, allowed: boolean): Record<string, string> {
  if (!origin || !allowed) return {};
  return {
    "Access-Control-Allow-Origin": origin,
    "Access-Control-Allow-Credentials": "true",
    "Access-Control-Expose-Headers": exposed,
  };
}

const remembered = new Map<string, { allowed: boolean; until: number }>();
const cacheMs = 5_000;

/** Answers a preflight request. It names no organization, so an origin allowed by any organization passes. */
export async function preflight(c: Context): Promise<Response> {
  const origin = c.req.header("Origin");
  const allowed =
    origin !== undefined && (isOwnOrigin(origin, c.req.url) || (await isAllowedSomewhere(origin.slice(0, 300))));
  return new Response(null, {
    status: 204,
    headers: {
      Vary: "Origin, Access-Control-Request-Method, Access-Control-Request-Headers",
      ...corsHeaders(origin, allowed),
      ...(allowed && {
        "Access-Control-Allow-Methods": "GET, POST, PATCH, PUT, DELETE",
        "Access-Control-Allow-Headers":
          "Authorization, Content-Type, Accept-Language, X-Organization, Idempotency-Key, apikey, x-client-info, Last-Event-ID, MCP-Protocol-Version, Mcp-Method, Mcp-Name",
        "Access-Control-Max-Age": "600",
      }),
    },
  });
}

async function isAllowedSomewhere(origin: string): Promise<boolean> {
  const known = remembered.get(origin);
  if (known && known.until > performance.now()) return known.allowed;
  if (remembered.size >= 1_000) remembered.clear();
  const allowed = await isAllowedOrigin(origin);
  remembered.set(origin, { allowed, until: performance.now() + cacheMs });
  return allowed;
}
